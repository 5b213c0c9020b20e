//! Writes JSON documents as text, as `CAST(j AS CHAR)` does.

use std::fmt::Write as _;

use pelorus_error::Result;
use pelorus_types::number::{write_decimal, write_double};
use pelorus_types::temporal::{DateTime, write_date, write_datetime, write_time};

use super::Json;
use crate::image::{opaque_decimal, packed_time};
use crate::reader::malformed;

/// The text of a value.
pub(super) fn text(json: &Json<'_>) -> Result<String> {
    let mut out = String::new();
    write(json, &mut out)?;
    Ok(out)
}

fn write(json: &Json<'_>, out: &mut String) -> Result<()> {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // A `String` accepts every write.
        Json::Int(value) => drop(write!(out, "{value}")),
        Json::UInt(value) => drop(write!(out, "{value}")),
        Json::Number(text) => out.push_str(text),
        Json::Double(value) => write_number(*value, out),
        Json::Text(text) => write_quoted(text, out)?,
        Json::Opaque(kind, bytes) => write_opaque(*kind, bytes, out)?,
        Json::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write(value, out)?;
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_quoted(key, out)?;
                out.push_str(": ");
                write(value, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// A DOUBLE; one that looks like an integer gets `.0`, so that it stays a DOUBLE when read again.
fn write_number(value: f64, out: &mut String) {
    let start = out.len();
    write_double(out, value);
    if !out[start..].contains(['.', 'e']) {
        out.push_str(".0");
    }
}

fn write_quoted(text: &[u8], out: &mut String) -> Result<()> {
    let text = std::str::from_utf8(text).map_err(|_| malformed("a JSON text is not UTF-8"))?;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{C}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    Ok(())
}

/// A value of another SQL type: numbers and dates as themselves, the rest in base 64.
fn write_opaque(kind: u8, bytes: &[u8], out: &mut String) -> Result<()> {
    let packed = || -> Result<i64> {
        bytes.try_into().map(i64::from_le_bytes).map_err(|_| malformed("a date in JSON"))
    };
    match kind {
        // NEWDECIMAL
        246 => {
            let (units, scale) = opaque_decimal(bytes)?;
            write_decimal(out, units, scale);
        }
        // DATE
        10 => {
            out.push('"');
            write_date(out, DateTime::unpack(packed()?));
            out.push('"');
        }
        // TIME
        11 => {
            out.push('"');
            write_time(out, packed_time(packed()?)?, 6);
            out.push('"');
        }
        // TIMESTAMP, DATETIME
        7 | 12 => {
            out.push('"');
            write_datetime(out, DateTime::unpack(packed()?), 6);
            out.push('"');
        }
        _ => {
            // A `String` accepts every write.
            write!(out, "\"base64:type{kind}:").ok();
            write_base64(bytes, out);
            out.push('"');
        }
    }
    Ok(())
}

fn write_base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    /// The server breaks lines after so many groups of four digits (76 characters).
    const LINE: usize = 19;
    for (number, chunk) in bytes.chunks(3).enumerate() {
        if number > 0 && number % LINE == 0 {
            out.push_str("\\n");
        }
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place <= chunk.len() {
                let digit = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
                out.push(char::from(DIGITS[digit]));
            } else {
                out.push('=');
            }
        }
    }
}
