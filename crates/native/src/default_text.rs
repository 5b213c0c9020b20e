//! Defaults and expressions of columns as texts of the information schema and of SHOW.

use pelorus_functions::assignment::timestamp_from_utc;
use pelorus_functions::{TimeZone, Value};
use pelorus_result::scalar::text_of;
use pelorus_sql::ddl::Expression;
use pelorus_sql::literal::hexadecimal;
use pelorus_types::column::DECIMALS_NOT_FIXED;
use pelorus_types::number::write_float;
use pelorus_types::{Flags, WireType};

use super::definition::{DefaultValue, NativeDef};

/// `CURRENT_TIMESTAMP` with digits of the second.
pub(crate) fn now_text(digits: u32) -> String {
    match digits {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        digits => format!("CURRENT_TIMESTAMP({digits})"),
    }
}

/// The default of a column as text; `None` when it has none, or NULL.
pub(crate) fn default_text(def: &NativeDef, at: usize, zone: TimeZone) -> Option<String> {
    match def.defaults.get(at)? {
        DefaultValue::None => None,
        DefaultValue::CurrentTimestamp(digits) => Some(now_text(*digits)),
        DefaultValue::Expression(expression) => Some(printed(expression, def)),
        DefaultValue::Constant(Value::Null) => None,
        DefaultValue::Constant(value) => {
            let ty = &def.targets.get(at)?.ty;
            let text = match (value, ty.wire) {
                (Value::UInt(bits), WireType::Bit) => format!("b'{bits:b}'"),
                (Value::Bytes(bytes), _) if ty.is_binary_string() => bytes_text(bytes),
                #[expect(clippy::cast_possible_truncation, reason = "it came from a FLOAT")]
                (Value::Double(value), WireType::Float) if ty.decimals >= DECIMALS_NOT_FIXED => {
                    let mut text = String::new();
                    write_float(&mut text, *value as f32);
                    text
                }
                (Value::Double(value), _) if ty.decimals < DECIMALS_NOT_FIXED => {
                    format!("{value:.*}", usize::from(ty.decimals))
                }
                (Value::Date(packed), WireType::Timestamp) => {
                    text_of(&Value::Date(timestamp_from_utc(*packed, zone)), ty)
                }
                _ => text_of(value, ty),
            };
            // Zeros fill a number up as they do in results.
            let is_filled = ty.flags.has(Flags::ZEROFILL);
            let width = if is_filled { usize::try_from(ty.length).unwrap_or(0) } else { 0 };
            Some(format!("{text:0>width$}"))
        }
    }
}

/// A default of bytes as MySQL's information tables have it: hexadecimal, up to the first zero.
fn bytes_text(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return String::new();
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    hexadecimal(&bytes[..end])
}

/// An expression as MySQL's information tables have it: with backslashes before quotes.
pub(crate) fn printed(expression: &Expression, def: &NativeDef) -> String {
    expression.printed(def.mode).replace('\\', "\\\\").replace('\'', "\\'")
}
