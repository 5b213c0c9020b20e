//! Decodes the bytes of one value into its column.

use std::net::{Ipv4Addr, Ipv6Addr};

use arrow::datatypes::i256;
use pelorus_error::{Error, Result};

use super::plan::{Conversion, Step};
use super::{decimal, temporal};
use crate::compression;
use crate::reader::{Reader, malformed};
use pelorus_types::builder::{Builder, Values};

/// A value that its column's type cannot hold.
fn misfit(what: impl std::fmt::Display) -> Error {
    Error::unsupported(format_args!("value {what}"))
}

/// Appends a value.
#[inline]
pub(super) fn push(step: &Step, bytes: &[u8], builder: &mut Builder) -> Result<()> {
    match (&step.conversion, &mut builder.values) {
        (Conversion::Signed, Values::Int(values)) => values.push(signed(bytes)),
        (Conversion::Signed, Values::UInt(values)) => {
            let value = signed(bytes);
            values.push(u64::try_from(value).map_err(|_| misfit(value))?);
        }
        (Conversion::Unsigned, Values::UInt(values)) => values.push(unsigned(bytes)),
        (Conversion::Unsigned, Values::Int(values)) => {
            let value = unsigned(bytes);
            values.push(i64::try_from(value).map_err(|_| misfit(value))?);
        }
        (Conversion::Float, Values::Float(values)) => {
            values.push(f32::from_le_bytes(Reader::new(bytes).array()?));
        }
        (Conversion::Double, Values::Double(values)) => {
            values.push(f64::from_le_bytes(Reader::new(bytes).array()?));
        }
        (Conversion::Decimal { precision, scale, zeros }, Values::Decimal128(values)) => {
            let value = decimal::read128(bytes, *precision, *scale)?;
            values.push(value * 10_i128.pow(u32::from(*zeros)));
        }
        (Conversion::Decimal { precision, scale, zeros }, Values::Decimal256(values)) => {
            let value = decimal::read256(bytes, *precision, *scale)?;
            let factor = i256::from_i128(10_i128.pow(u32::from(*zeros)));
            values.push(value.wrapping_mul(factor));
        }
        (Conversion::Bit, Values::UInt(values)) => {
            values.push(Reader::new(bytes).uint_be(bytes.len())?);
        }
        (Conversion::Year, Values::UInt(values)) => values.push(match unsigned(bytes) {
            0 => 0,
            since => 1900 + since,
        }),
        (Conversion::Date, Values::Int(values)) => values.push(temporal::date(bytes)?),
        (Conversion::Time(digits), Values::Int(values)) => {
            values.push(temporal::time(bytes, *digits)?);
        }
        (Conversion::TimeOld, Values::Int(values)) => values.push(temporal::time_old(bytes)?),
        (Conversion::DateTime, Values::Int(values)) => values.push(temporal::datetime(bytes)?),
        (Conversion::DateTimeOld, Values::Int(values)) => {
            values.push(temporal::datetime_old(bytes)?);
        }
        (Conversion::Timestamp, Values::Int(values)) => values.push(temporal::timestamp(bytes)?),
        (Conversion::TimestampOld, Values::Int(values)) => {
            let seconds = Reader::new(bytes).u32()?;
            values.push(temporal::timestamp(&seconds.to_be_bytes())?);
        }
        (_, Values::Bytes { .. }) => return push_string(&step.conversion, bytes, builder),
        _ => return Err(Error::internal("a column of the log does not fit its array")),
    }
    builder.nulls.push(true);
    Ok(())
}

/// A signed integer of 1 to 8 bytes, the lowest first.
#[inline]
fn signed(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i64::from(i8::from_le_bytes([a])),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c] => i64::from(i32::from_le_bytes([0, a, b, c]) >> 8),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// An unsigned integer of 1 to 8 bytes, the lowest first.
#[inline]
fn unsigned(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}

#[inline]
fn push_string(conversion: &Conversion, bytes: &[u8], builder: &mut Builder) -> Result<()> {
    match conversion {
        Conversion::Text { charset, compressed: false } => {
            builder.push_with(|out| charset.append(bytes, out))
        }
        Conversion::Text { charset, compressed: true } => {
            let plain = decompressed(bytes)?;
            builder.push_with(|out| charset.append(&plain, out))
        }
        Conversion::Bytes { compressed: false } => builder.push_bytes(bytes),
        Conversion::Bytes { compressed: true } => builder.push_bytes(&decompressed(bytes)?),
        Conversion::Padded(length) => builder.push_with(|out| {
            out.extend_from_slice(bytes);
            out.resize(out.len() + length.saturating_sub(bytes.len()), 0);
            Ok(())
        }),
        Conversion::Enum(members) => match unsigned(bytes) {
            // What strict mode refuses and others store.
            0 => builder.push_bytes(b""),
            number => {
                let member = usize::try_from(number - 1).ok().and_then(|at| members.get(at));
                builder
                    .push_bytes(member.ok_or_else(|| misfit(format_args!("{number} of an ENUM")))?)
            }
        },
        Conversion::Set(members) => push_set(members, unsigned(bytes), builder),
        Conversion::Json => builder.push_bytes(crate::json::to_text(bytes)?.as_bytes()),
        Conversion::Uuid => builder.push_bytes(uuid(padded(bytes)?).as_bytes()),
        Conversion::Inet6 => builder.push_bytes(inet6(padded(bytes)?).as_bytes()),
        Conversion::Inet4 => {
            builder.push_bytes(Ipv4Addr::from(padded::<4>(bytes)?).to_string().as_bytes())
        }
        _ => Err(Error::internal("a column of the log does not fit its array")),
    }
}

/// The members of the set bits, with commas between them.
fn push_set(members: &[Vec<u8>], bits: u64, builder: &mut Builder) -> Result<()> {
    if bits.checked_shr(u32::try_from(members.len()).unwrap_or(64)).unwrap_or(0) != 0 {
        return Err(misfit(format_args!("{bits} of a SET")));
    }
    builder.push_with(|out| {
        let start = out.len();
        for (at, member) in members.iter().enumerate().take(64) {
            if bits >> at & 1 == 1 {
                if out.len() > start {
                    out.push(b',');
                }
                out.extend_from_slice(member);
            }
        }
        Ok(())
    })
}

/// Bytes of a fixed length, with the zeros at their end that the server strips.
fn padded<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    let mut all = [0; N];
    all.get_mut(..bytes.len())
        .ok_or_else(|| malformed("a value is too long"))?
        .copy_from_slice(bytes);
    Ok(all)
}

/// The text of MariaDB's INET6: the longest run of zero words is left out, even one alone; addresses
/// that begin with exactly six such words, or five and ffff, end like IPv4.
fn inet6(bytes: [u8; 16]) -> String {
    let words = Ipv6Addr::from(bytes).segments();
    let [.., a, b, c, d] = bytes;
    match words {
        [0, 0, 0, 0, 0, 0, six, _] if six != 0 => {
            return format!("::{}", Ipv4Addr::new(a, b, c, d));
        }
        [0, 0, 0, 0, 0, 0xFFFF, ..] => return format!("::ffff:{}", Ipv4Addr::new(a, b, c, d)),
        _ => {}
    }
    let (mut from, mut length) = (0, 0);
    for start in 0..words.len() {
        let run = words[start..].iter().take_while(|word| **word == 0).count();
        if run > length {
            (from, length) = (start, run);
        }
    }
    let hex =
        |words: &[u16]| words.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(":");
    if length == 0 {
        return hex(&words);
    }
    format!("{}::{}", hex(&words[..from]), hex(&words[from + length..]))
}

/// The text of MariaDB's UUID.
fn uuid(bytes: [u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    out
}

/// A value of MariaDB's compressed columns: 0 and the value, or a byte (the method, 8 for zlib, in
/// its upper half; 8 for a stream without zlib's header; the number of bytes of the length), the
/// length with its highest byte first, and the stream. Source: MariaDB's `field_comp.cc`.
fn decompressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut reader = Reader::new(bytes);
    if reader.is_empty() {
        return Ok(Vec::new());
    }
    let head = reader.u8()?;
    match head >> 4 {
        0 => Ok(reader.rest().to_vec()),
        8 => {
            let length = reader.uint_be(usize::from(head & 7))?;
            compression::zlib(reader.rest(), length, head & 8 == 0)
        }
        method => Err(Error::unsupported(format_args!("column compression {method}"))),
    }
}
