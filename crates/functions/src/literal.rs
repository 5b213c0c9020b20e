//! Literals with the types that MySQL gives them.

use pelorus_error::{Code, Error, Result};
use pelorus_types::temporal::DateTime;
use pelorus_types::{ColumnType, WireType, collation};

use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::scalar::datetime::parse;
use crate::scalar::datetime::read::at_offset;
use crate::types::common_type::temporal_type;
use crate::types::result_type;
use crate::value::{Arg, Value};

/// `NULL`.
pub fn null() -> Arg {
    Arg::literal(Value::Null, ColumnType::null(), "NULL")
}

/// `TRUE` and `FALSE`.
pub fn boolean(value: bool) -> Arg {
    let ty = ColumnType::boolean().not_null();
    Arg::literal(Value::Int(i64::from(value)), ty, if value { "true" } else { "false" })
}

/// A number as written, without sign: `12`, `1.50`, `1e3`.
pub fn number(text: &str) -> Result<Arg> {
    if text.bytes().any(|byte| matches!(byte, b'e' | b'E')) {
        return double(text);
    }
    if text.contains('.') {
        return decimal(text);
    }
    let digits = text.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if let Ok(value) = digits.parse::<i64>() {
        let ty = result_type::bigint_type(length + 1, false).not_null();
        return Ok(Arg::literal(Value::Int(value), ty, digits));
    }
    if let Ok(value) = digits.parse::<u64>() {
        let ty = result_type::bigint_type(length, true).not_null();
        return Ok(Arg::literal(Value::UInt(value), ty, digits));
    }
    decimal(text)
}

fn double(text: &str) -> Result<Arg> {
    let value: f64 = text.parse().map_err(|_| not_a_number(text))?;
    if value.is_infinite() {
        return Err(Error::new(
            Code::IllegalValueForType,
            format!("Illegal double '{text}' value found during parsing"),
        ));
    }
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let ty = result_type::double_type(length, result_type::NOT_FIXED).not_null();
    Ok(Arg::literal(Value::Double(value), ty, text))
}

fn decimal(text: &str) -> Result<Arg> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let kept = whole.trim_start_matches('0');
    let whole = if kept.is_empty() { &whole[..whole.len().min(1)] } else { kept };
    let scale = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
    let precision = u32::try_from(whole.len()).unwrap_or(u32::MAX).saturating_add(scale);
    if precision > 65 || scale > 38 {
        return Err(Error::unsupported(format_args!("the number {text} of more than 65 digits")));
    }
    let value = Decimal::parse_plain(text).ok_or_else(|| not_a_number(text))?;
    let ty = result_type::decimal_of(precision, scale, false).not_null();
    Ok(Arg::literal(Value::Decimal(value), ty, text))
}

fn not_a_number(text: &str) -> Error {
    Error::new(Code::Syntax, format!("'{text}' is not a number"))
}

/// `'text'` in the connection's collation.
pub fn text(value: impl Into<String>, ctx: &EvalContext) -> Arg {
    text_of(value, ctx.collation)
}

/// `_charset'text'`, or text whose collation is known otherwise.
pub fn text_of(value: impl Into<String>, collation: pelorus_types::Collation) -> Arg {
    let value = value.into();
    if collation == collation::BINARY {
        return bytes(value.into_bytes());
    }
    let chars = u32::try_from(value.chars().count()).unwrap_or(u32::MAX);
    let ty = result_type::text_type(chars, collation).not_null();
    let shown = format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    Arg::literal(Value::Text(value), ty, shown)
}

/// `_binary'text'`: bytes that are a text where a number is required.
pub fn bytes(value: Vec<u8>) -> Arg {
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    let ty = result_type::text_type(length, collation::BINARY).not_null();
    let shown = match std::str::from_utf8(&value) {
        Ok(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Err(_) => value.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
    };
    Arg::literal(Value::Bytes(value), ty, shown)
}

/// A text literal whose bytes are no text of its charset; see [`Arg::broken`].
pub fn broken(value: Vec<u8>) -> Arg {
    Arg { broken: true, ..bytes(value) }
}

/// `x'4142'`, `0x4142`: bytes that are a number where a number is required.
pub fn hex(bytes: Vec<u8>) -> Arg {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bits_of(bytes, true, format!("0x{digits}"))
}

/// `b'101'`, `0b101`, given as its bytes.
pub fn bits(bytes: Vec<u8>) -> Arg {
    let digits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    bits_of(bytes, false, format!("0b{digits}"))
}

fn bits_of(bytes: Vec<u8>, unsigned: bool, shown: String) -> Arg {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let bits = pelorus_types::column::DECIMALS_OF_BITS;
    let mut ty = ColumnType::new(WireType::VarString, collation::BINARY, length, bits);
    ty.flags = pelorus_types::Flags::BINARY;
    if unsigned {
        ty.flags = ty.flags.with(pelorus_types::Flags::UNSIGNED);
    }
    Arg::literal(Value::Bytes(bytes), ty.not_null(), shown)
}

/// `DATE'2024-01-31'`.
pub fn date(text: &str, ctx: &EvalContext) -> Result<Arg> {
    let parsed = parse::datetime_with(text, ctx.sql_mode.allow_invalid_dates);
    let date = parsed
        .value
        .filter(|date| !parsed.truncated && !parsed.has_time && allowed(*date, ctx))
        .ok_or_else(|| wrong("DATE", text))?;
    let ty = temporal_type(WireType::Date, 0).not_null();
    Ok(Arg::literal(Value::Date(date.pack()), ty, format!("DATE'{text}'")))
}

/// `TIMESTAMP'2024-01-31 23:59:59.5'`.
pub fn timestamp(text: &str, ctx: &EvalContext) -> Result<Arg> {
    let parsed = parse::datetime_with(text, ctx.sql_mode.allow_invalid_dates);
    let here = |date: DateTime| match parsed.offset {
        Some(_) if !date.is_valid() => None,
        Some(offset) => at_offset(date, offset, ctx.time_zone),
        None => Some(date),
    };
    let date = parsed
        .value
        .filter(|date| !parsed.truncated && parsed.has_time && allowed(*date, ctx))
        .and_then(here)
        .ok_or_else(|| wrong("DATETIME", text))?;
    let ty = temporal_type(WireType::DateTime, parsed.fraction).not_null();
    Ok(Arg::literal(Value::Date(date.pack()), ty, format!("TIMESTAMP'{text}'")))
}

/// `TIME'23:59:59.5'`.
pub fn time(text: &str) -> Result<Arg> {
    let parsed = parse::time(text);
    let micros = parsed.value.filter(|_| !parsed.truncated).ok_or_else(|| wrong("TIME", text))?;
    let mut ty = temporal_type(WireType::Time, parsed.fraction).not_null();
    // A literal's sign takes no place of its own in the length that MySQL reports.
    ty.length = 10 + if parsed.fraction > 0 { u32::from(parsed.fraction) + 1 } else { 0 };
    Ok(Arg::literal(Value::Time(micros), ty, format!("TIME'{text}'")))
}

/// A text compared with dates that is the parameter of a prepared statement and, as a literal,
/// would be error 1525: MySQL makes a date of it, of any days and months up to 31 and 12, or NULL
/// with a warning. `None` for a text that compares unchanged. `are_days` says that none of the
/// dates has a time.
pub fn date_parameter(text: &str, are_days: bool, ctx: &EvalContext) -> Option<Arg> {
    let strict = parse::datetime_with(text, ctx.sql_mode.allow_invalid_dates);
    if strict.value.is_some_and(|date| allowed(date, ctx)) {
        return None;
    }
    let any = parse::datetime_with(text, true);
    if let Some(date) = any.value.filter(|_| !any.truncated && any.offset.is_none()) {
        let ty = temporal_type(WireType::DateTime, any.fraction).not_null();
        return Some(Arg::literal(Value::Date(date.pack()), ty, format!("'{text}'")));
    }
    let what = if are_days { "Truncated incorrect date" } else { "Incorrect datetime" };
    ctx.warn_once(1292, &format!("{what} value: '{text}'"));
    Some(null())
}

/// Whether the session's `sql_mode` lets a constant date be.
pub(crate) fn allowed(date: DateTime, ctx: &EvalContext) -> bool {
    let zero = date.year == 0 && date.month == 0 && date.day == 0;
    if zero {
        return !ctx.sql_mode.no_zero_date;
    }
    !ctx.sql_mode.no_zero_in_date || (date.month != 0 && date.day != 0)
}

fn wrong(kind: &str, text: &str) -> Error {
    Error::new(Code::WrongOptionValue, format!("Incorrect {kind} value: '{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_beside_dates() {
        let ctx = EvalContext::default();
        let of = |text| date_parameter(text, false, &ctx).map(|arg| arg.constant);
        assert_eq!(of("2019-02-28"), None);
        let day = |month, day| Value::Date(DateTime::date(2019, month, day).pack());
        assert_eq!(of("2019-02-30"), Some(Some(day(2, 30))));
        assert_eq!(of("2019-00-00"), Some(Some(day(0, 0))));
        assert!(ctx.take_warnings().is_empty());
        for text in ["2019", "abc", "", "2019-13-45", "2019-02-30x"] {
            assert_eq!(of(text), Some(null().constant), "{text}");
            let warning = (1292, format!("Incorrect datetime value: '{text}'"));
            assert_eq!(ctx.take_warnings(), [warning]);
        }
    }
}
