//! Functions between text and numbers: `HEX`, `CONV`, `CHAR`, `FORMAT`, `INET_ATON`, base 64, and
//! those that return a text's charset.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_types::{Collation, WireType, collation};

use super::{longest, own_text, too_long};
use crate::call::Call;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::Input;
use crate::registry::errors::parameter_count;
use crate::scalar::cast::text_length;
use crate::types::result_type;
use crate::types::result_type::{bigint_type, null_if_any};
use crate::value::{Arg, Origin, Value};

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Binds `HEX`.
pub(crate) fn hex(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let number = arg.ty.is_numeric();
    let chars = if number {
        16
    } else if arg.ty.is_string() {
        arg.ty.length.saturating_mul(2)
    } else {
        text_length(arg).saturating_mul(2)
    };
    Ok(Call::rowwise(name, args, ctx, own_text(chars, ctx), move |batch, row| {
        let input = &batch.inputs[0];
        if number {
            return Ok(
                number_bits(input, row).map_or(Value::Null, |bits| text(format!("{bits:X}")))
            );
        }
        Ok(input.bytes(row)?.map_or(Value::Null, |bytes| text(hex_of(&bytes))))
    }))
}

fn number_bits(input: &Input<'_>, row: usize) -> Option<u64> {
    if input.ty.is_float() {
        let value = crate::decimal::rint(input.real(row)?);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        return Some(if value < 0.0 { value as i64 as u64 } else { value as u64 });
    }
    input.bits(row)
}

/// Binds `UNHEX`.
pub(crate) fn unhex(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let length = if arg.ty.is_string() { arg.ty.length } else { text_length(arg) };
    let ty = result_type::string_type(length.div_ceil(2), collation::BINARY).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let Some(digits) = batch.inputs[0].bytes(row)? else { return Ok(Value::Null) };
        match unhex_of(&digits) {
            Some(bytes) => Ok(Value::Bytes(bytes)),
            None => {
                let shown = String::from_utf8_lossy(&digits).into_owned();
                batch
                    .ctx
                    .warn(1411, format!("Incorrect string value: '{shown}' for function unhex"));
                Ok(Value::Null)
            }
        }
    }))
}

fn unhex_of(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut out = Vec::with_capacity(digits.len() / 2 + 1);
    let odd = digits.len() % 2;
    if odd == 1 {
        out.push(u8::try_from(digit(digits[0])?).ok()?);
    }
    for pair in digits[odd..].chunks(2) {
        out.push(u8::try_from(digit(pair[0])? * 16 + digit(*pair.get(1)?)?).ok()?);
    }
    Some(out)
}

/// Binds `CONV`, `BIN` and `OCT`.
pub(crate) fn conv(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let fixed = match name {
        "BIN" => Some(2),
        "OCT" => Some(8),
        _ => None,
    };
    if args.len() != if fixed.is_some() { 1 } else { 3 } {
        return Err(parameter_count(name));
    }
    let of_bits = args[0].ty.wire == WireType::Bit;
    let of_hex = args[0].is_hex() && args[0].ty.length > 0;
    if of_bits && args[0].origin != Origin::Column {
        return Err(Error::unsupported(format_args!("{name} of computed BIT values")));
    }
    Ok(Call::rowwise(name, args, ctx, own_text(65, ctx), move |batch, row| {
        let (from, to) = match fixed {
            Some(to) => (10, to),
            None => match (batch.inputs[1].int64(row), batch.inputs[2].int64(row)) {
                (Some(from), Some(to)) => (from, to),
                _ => return Ok(Value::Null),
            },
        };
        let input = &batch.inputs[0];
        let valid = |base: i64| (2..=36).contains(&base.abs());
        if !valid(from) || !valid(to) {
            return Ok(Value::Null);
        }
        if of_hex && !batch.ctx.of_mariadb {
            let bits = input.int(row).and_then(|it| u64::try_from(it).ok());
            return Ok(bits.map_or(Value::Null, |bits| text(write_base(bits, to))));
        }
        if of_bits {
            // The text of a BIT is bytes, no digits.
            return Ok(input.bits(row).map_or(Value::Null, |bits| text(write_base(bits, to))));
        }
        let Some(digits) = input.text(row)? else { return Ok(Value::Null) };
        if digits.is_empty() {
            return Ok(Value::Null);
        }
        let read = read_base(&digits, from);
        if read.overflow && batch.ctx.of_mariadb {
            return Err(Error::unsupported("digits beyond 64 bits as MariaDB has them"));
        }
        if read.overflow || (read.empty && fixed.is_none()) {
            input.warn_truncated("DECIMAL", digits.as_bytes());
        }
        Ok(text(write_base(read.bits, to)))
    }))
}

struct Read {
    bits: u64,
    overflow: bool,
    empty: bool,
}

/// Reads digits of a base after one sign, if any; a negative base reads them as a BIGINT.
fn read_base(digits: &str, base: i64) -> Read {
    let radix = u32::try_from(base.unsigned_abs()).unwrap_or(10);
    let trimmed = digits.trim_start();
    let negative = trimmed.starts_with('-');
    let body = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let (mut value, mut overflow, mut count) = (0_u64, false, 0);
    for digit in body.chars().map_while(|c| c.to_digit(radix)) {
        count += 1;
        let next = value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)));
        match next {
            Some(next) => value = next,
            None => {
                overflow = true;
                value = u64::MAX;
            }
        }
    }
    if base < 0 {
        let most = i64::MAX.unsigned_abs() + u64::from(negative);
        overflow |= value > most;
        value = value.min(most);
    } else if overflow {
        return Read { bits: if negative { 0 } else { u64::MAX }, overflow, empty: false };
    }
    let bits = if negative { value.wrapping_neg() } else { value };
    Read { bits, overflow, empty: count == 0 }
}

/// Writes in a base; a negative base writes a signed number.
fn write_base(bits: u64, base: i64) -> String {
    let radix = base.unsigned_abs();
    #[expect(clippy::cast_possible_wrap, reason = "two's complement")]
    let negative = base < 0 && (bits as i64) < 0;
    let mut value = if negative { bits.wrapping_neg() } else { bits };
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(value % radix).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0').to_ascii_uppercase());
        value /= radix;
        if value == 0 {
            break;
        }
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

/// Binds `CHAR` and `CHAR USING`, whose last argument is the charset's name.
pub(crate) fn char_of(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let using = name == "CHAR USING";
    let codes = if using { &args[..args.len().saturating_sub(1)] } else { args };
    if codes.is_empty() {
        return Err(parameter_count(name));
    }
    let mut target = collation::BINARY;
    if using {
        let charset = args.last().and_then(Arg::constant_text).unwrap_or_default();
        target = Collation::default_of(charset).ok_or_else(|| {
            Error::new(Code::UnknownCharset, format!("Unknown character set: '{charset}'"))
        })?;
        if !matches!(target.charset(), "utf8mb4" | "utf8mb3" | "binary") {
            return Err(Error::unsupported(format_args!("CHAR(... USING {charset})")));
        }
    }
    let count = u32::try_from(codes.len()).unwrap_or(u32::MAX);
    let ty = result_type::text_type(count.saturating_mul(4), target).nullable();
    let count = codes.len();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let mut out = Vec::new();
        for input in &batch.inputs[..count] {
            if let Some(bits) = input.bits(row) {
                let bytes = bits.to_be_bytes();
                let from = bytes[4..7].iter().position(|byte| *byte != 0).unwrap_or(3);
                out.extend_from_slice(&bytes[4 + from..]);
            }
        }
        if target == collation::BINARY {
            return Ok(Value::Bytes(out));
        }
        match String::from_utf8(out) {
            Ok(chars) => Ok(Value::Text(chars)),
            Err(error) => {
                let shown = hex_of(error.as_bytes());
                batch.ctx.warn(1300, format!("Invalid utf8mb4 character string: '{shown}'"));
                Ok(Value::Null)
            }
        }
    }))
}

/// Binds `FORMAT`.
pub(crate) fn format(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() != 2 && args.len() != 3 {
        return Err(parameter_count(name));
    }
    let (point, group) = match args.get(2).map(Arg::constant_text) {
        None => ('.', ','),
        Some(Some("en_US" | "en_GB" | "ja_JP" | "zh_CN")) => ('.', ','),
        Some(Some("de_DE")) => (',', '.'),
        _ => return Err(Error::unsupported("FORMAT with this locale")),
    };
    let arg = &args[0];
    let length = text_length(arg);
    let exact = arg.ty.is_decimal() || arg.ty.is_integer();
    let ty = own_text(32 + length + length / 3, ctx);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (input, Some(places)) = (&batch.inputs[0], batch.inputs[1].int64(row)) else {
            return Ok(Value::Null);
        };
        if input.is_null(row) {
            return Ok(Value::Null);
        }
        let places = u8::try_from(places.clamp(0, 30)).unwrap_or(0);
        let digits = if exact {
            let value = input.decimal(row).unwrap_or(Decimal::from_i128(0));
            value.rescale(places).unwrap_or(value).to_text()
        } else {
            let value = input.real(row).unwrap_or(0.0);
            let value = crate::scalar::round::round_real(value, i64::from(places), false);
            format!("{value:.*}", usize::from(places))
        };
        Ok(text(grouped(&digits, point, group)))
    }))
}

fn grouped(digits: &str, point: char, group: char) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(group);
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push(point);
        out.push_str(fraction);
    }
    out
}

/// Binds `INET_ATON`.
pub(crate) fn inet_aton(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = bigint_type(21, true).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let Some(address) = batch.inputs[0].text(row)? else { return Ok(Value::Null) };
        Ok(match aton(&address) {
            Some(number) => Value::UInt(number),
            None => {
                batch.ctx.warn(
                    1411,
                    format!("Incorrect string value: ''{address}'' for function inet_aton"),
                );
                Value::Null
            }
        })
    }))
}

/// `a.b` is `a.0.0.b`, as in the C library of old. A part of no digits is 0, but for the last one.
fn aton(address: &str) -> Option<u64> {
    let parts: Vec<&str> = address.split('.').collect();
    if parts.len() > 4 || address.is_empty() {
        return None;
    }
    let mut numbers = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if part.is_empty() && at + 1 < parts.len() {
            numbers.push(0);
            continue;
        }
        let valid = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        numbers.push(part.parse::<u64>().ok().filter(|number| valid && *number <= 255)?);
    }
    let last = numbers.pop()?;
    let head = numbers.iter().fold(0, |value, number| value << 8 | number);
    let missing = u32::try_from(4 - parts.len()).ok()?;
    Some(head << (8 * (missing + 1)) | last)
}

/// Binds `INET_NTOA`.
pub(crate) fn inet_ntoa(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    Ok(Call::rowwise(name, args, ctx, own_text(31, ctx), |batch, row| {
        let Some(number) = batch.inputs[0].int(row) else { return Ok(Value::Null) };
        match u32::try_from(number) {
            Ok(number) => {
                let [a, b, c, d] = number.to_be_bytes();
                Ok(text(format!("{a}.{b}.{c}.{d}")))
            }
            Err(_) => {
                batch.ctx.warn(
                    1411,
                    format!("Incorrect integer value: '{number}' for function inet_ntoa"),
                );
                Ok(Value::Null)
            }
        }
    }))
}

/// Binds `IS_IPV4` and `IS_IPV6`.
pub(crate) fn is_address(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let four = name == "IS_IPV4";
    let ty = null_if_any(pelorus_types::ColumnType::boolean(), args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(address) = batch.inputs[0].text(row)? else { return Ok(Value::Null) };
        let valid = if four { is_ipv4(&address) } else { is_ipv6(&address) };
        Ok(Value::Int(i64::from(valid)))
    }))
}

/// Four numbers of up to three digits; leading zeros mean nothing.
fn is_ipv4(address: &str) -> bool {
    let is_byte = |part: &str| {
        (1..=3).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<u16>().is_ok_and(|number| number <= 255)
    };
    address.split('.').count() == 4 && address.split('.').all(is_byte)
}

fn is_ipv6(address: &str) -> bool {
    match address.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_ipv4(tail) && format!("{head}:0.0.0.0").parse::<std::net::Ipv6Addr>().is_ok()
        }
        _ => address.parse::<std::net::Ipv6Addr>().is_ok(),
    }
}

/// Binds `CHARSET`, `COLLATION` and `COERCIBILITY`.
pub(crate) fn about(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    if name == "COERCIBILITY" {
        let strength = arg.coercibility as i64;
        let ty = bigint_type(10, false).not_null();
        return Ok(Call::rowwise(name, args, ctx, ty, move |_, _| Ok(Value::Int(strength))));
    }
    let collation = if arg.ty.is_string() { arg.ty.collation } else { collation::BINARY };
    let answer = if name == "CHARSET" { collation.charset().to_owned() } else { collation.name() };
    // MySQL's internal text is utf8mb3, and its answer is as long as 64 characters.
    let ty = own_text(64, ctx);
    Ok(Call::rowwise(name, args, ctx, ty, move |_, _| Ok(text(answer.clone()))))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Binds `TO_BASE64`.
pub(crate) fn to_base64(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let bytes = if arg.ty.is_string() { arg.ty.length } else { longest(arg, false) };
    let encoded = bytes.div_ceil(3).saturating_mul(4);
    let chars = encoded.saturating_add(encoded.saturating_sub(1) / 76);
    Ok(Call::rowwise(name, args, ctx, own_text(chars, ctx), |batch, row| {
        let Some(bytes) = batch.inputs[0].bytes(row)? else { return Ok(Value::Null) };
        // MySQL counts the zero after the text too.
        let limit = batch.ctx.max_allowed_packet;
        if base64_length(bytes.len()).saturating_add(1) > limit {
            return Ok(too_long("to_base64", limit, batch.ctx));
        }
        Ok(text(base64_of(&bytes)))
    }))
}

/// How long so many bytes become in base 64, with their line feeds.
fn base64_length(bytes: usize) -> u64 {
    let encoded = u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(3).saturating_mul(4);
    encoded.saturating_add(encoded.saturating_sub(1) / 76)
}

fn base64_of(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut column = 0;
    for chunk in bytes.chunks(3) {
        if column == 76 {
            out.push('\n');
            column = 0;
        }
        let byte = |at: usize| chunk.get(at).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            if at <= chunk.len() {
                let digit = bits >> (18 - 6 * at) & 63;
                out.push(char::from(BASE64[usize::try_from(digit).unwrap_or(0)]));
            } else {
                out.push('=');
            }
        }
        column += 4;
    }
    out
}

/// Binds `FROM_BASE64`.
pub(crate) fn from_base64(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let length = if arg.ty.is_string() { arg.ty.length } else { longest(arg, false) };
    let ty = result_type::string_type(length.saturating_mul(3) / 4, collation::BINARY).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let Some(digits) = batch.inputs[0].bytes(row)? else { return Ok(Value::Null) };
        Ok(unbase64(&digits).map_or(Value::Null, Value::Bytes))
    }))
}

fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::new();
    let groups = digits.len() / 4;
    for (at, group) in digits.chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && at + 1 != groups) {
            return None;
        }
        let mut bits = 0_u32;
        for byte in &group[..4 - padding] {
            let digit = BASE64.iter().position(|digit| digit == byte)?;
            bits = bits << 6 | u32::try_from(digit).ok()?;
        }
        bits <<= 6 * u32::try_from(padding).ok()?;
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}
