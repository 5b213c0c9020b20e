//! Conversions of single values: from Arrow arrays, to SQL literals, from parameters.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type, i256};
use pelorus_error::{Error, Result};
use pelorus_functions::Decimal;
use pelorus_functions::Value;
use pelorus_sql::{Mode, literal};
use pelorus_types::temporal::{DateTime, write_date, write_datetime, write_time};
use pelorus_types::{ColumnType, Flags, WireType, collation, number};

use crate::parameter::Parameter;

/// The value of a user variable with its type. Dates and times are text, as in MySQL.
pub type Typed = (Value, ColumnType);

/// The type of a user variable that was never set: bytes that may be NULL.
pub fn unset() -> Typed {
    (Value::Null, ColumnType::new(WireType::VarString, collation::BINARY, 65_532, 31))
}

/// Reads a row of an array whose MySQL type is known.
pub fn value_at(array: &dyn Array, ty: &ColumnType, row: usize) -> Result<Value> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok(Value::Null);
    }
    let units = |units: i256, scale: i8| {
        Value::Decimal(Decimal { units, scale: u8::try_from(scale).unwrap_or(0) })
    };
    Ok(match array.data_type() {
        DataType::Int64 => {
            let value = array.as_primitive::<Int64Type>().value(row);
            match ty.wire {
                WireType::Time => Value::Time(value),
                _ if ty.is_date() => Value::Date(value),
                _ => Value::Int(value),
            }
        }
        DataType::UInt64 => Value::UInt(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => {
            Value::Double(f64::from(array.as_primitive::<Float32Type>().value(row)))
        }
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let array = array.as_primitive::<arrow::datatypes::Decimal128Type>();
            units(i256::from_i128(array.value(row)), *scale)
        }
        DataType::Decimal256(_, scale) => {
            units(array.as_primitive::<arrow::datatypes::Decimal256Type>().value(row), *scale)
        }
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        other => return Err(Error::internal(format!("a value of Arrow type {other}"))),
    })
}

/// The value that a user variable stores: dates and times become text, and the type becomes that of
/// user variables.
pub fn for_variable(value: Value, ty: ColumnType) -> Typed {
    let text_type = |collation| ColumnType::varchar(16_383, collation);
    match value {
        Value::Null => unset(),
        Value::Int(_) => (value, ColumnType::bigint()),
        Value::UInt(_) => (value, ColumnType::bigint_unsigned()),
        Value::Double(_) => (value, ColumnType::double()),
        Value::Decimal(decimal) => {
            let precision = ty.precision().max(decimal.scale.saturating_add(1));
            (value, ColumnType::decimal(precision, decimal.scale))
        }
        Value::Date(_) | Value::Time(_) => {
            (Value::Text(text_of(&value, &ty)), text_type(collation::UTF8MB4_0900_AI_CI))
        }
        Value::Text(_) => {
            let collation =
                if ty.is_string() { ty.collation } else { collation::UTF8MB4_0900_AI_CI };
            (value, text_type(collation))
        }
        Value::Bytes(_) => {
            let mut ty = ColumnType::new(WireType::VarString, collation::BINARY, 65_532, 31);
            ty.flags = Flags::BINARY;
            (value, ty)
        }
    }
}

/// A value as text; NULL is empty.
pub fn text_of(value: &Value, ty: &ColumnType) -> String {
    let mut out = String::new();
    match value {
        Value::Null => {}
        Value::Int(value) => out = value.to_string(),
        Value::UInt(value) => out = value.to_string(),
        Value::Decimal(decimal) => out = decimal.to_text(),
        Value::Double(value) => number::write_double(&mut out, *value),
        Value::Text(text) => out.push_str(text),
        Value::Bytes(bytes) => out = String::from_utf8_lossy(bytes).into_owned(),
        Value::Date(packed) if ty.wire == WireType::Date => {
            write_date(&mut out, DateTime::unpack(*packed));
        }
        Value::Date(packed) => {
            write_datetime(&mut out, DateTime::unpack(*packed), ty.decimals.min(6));
        }
        Value::Time(micros) => write_time(&mut out, *micros, ty.decimals.min(6)),
    }
    out
}

/// A value as an SQL literal that gives the same value and type.
pub fn sql_of(value: &Value, ty: &ColumnType, mode: Mode) -> Result<String> {
    Ok(match value {
        Value::Null => "NULL".to_owned(),
        Value::Text(text) => literal::text(text, mode),
        Value::Bytes(value) => bytes(value),
        Value::Double(value) => double(*value)?,
        Value::Date(_) if ty.wire == WireType::Date => literal::date(&text_of(value, ty)),
        Value::Date(_) => literal::datetime(&text_of(value, ty)),
        Value::Time(_) => literal::time(&text_of(value, ty)),
        _ => text_of(value, ty),
    })
}

/// Bytes as a string of bytes: without the introducer they would be a number where one is needed.
fn bytes(value: &[u8]) -> String {
    format!("_binary {}", literal::bytes(value))
}

fn double(value: f64) -> Result<String> {
    literal::double(value).ok_or_else(|| Error::unsupported(format_args!("the number {value}")))
}

/// A bound parameter as an SQL literal.
pub fn sql_of_parameter(parameter: &Parameter, mode: Mode) -> Result<String> {
    Ok(match parameter {
        Parameter::Null => "NULL".to_owned(),
        Parameter::Int(value) => value.to_string(),
        Parameter::UInt(value) => value.to_string(),
        // As in MySQL, which compares it with a FLOAT column's value as it is.
        Parameter::Float(value) => double(f64::from(*value))?,
        Parameter::Double(value) => double(*value)?,
        Parameter::Decimal(text) if is_plain_number(text) => text.clone(),
        Parameter::Decimal(text) | Parameter::Text(text) => literal::text(text, mode),
        Parameter::Bytes(value) => bytes(value),
        Parameter::Date(packed) => {
            let mut text = String::new();
            write_date(&mut text, DateTime::unpack(*packed));
            literal::date(&text)
        }
        Parameter::DateTime(packed) => {
            let moment = DateTime::unpack(*packed);
            let mut text = String::new();
            write_datetime(&mut text, moment, if moment.micros == 0 { 0 } else { 6 });
            literal::datetime(&text)
        }
        Parameter::Time(micros) => {
            let mut text = String::new();
            write_time(&mut text, *micros, if micros % 1_000_000 == 0 { 0 } else { 6 });
            literal::time(&text)
        }
    })
}

/// Whether a text is digits with at most a sign and a point, which is safe as SQL.
fn is_plain_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    all(whole) && all(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_literals_that_cannot_break_out() {
        let sql = |parameter| sql_of_parameter(&parameter, Mode::default()).unwrap();
        assert_eq!(sql(Parameter::Null), "NULL");
        assert_eq!(sql(Parameter::Int(-5)), "-5");
        assert_eq!(sql(Parameter::Float(0.1)), "1.0000000149011612e-1");
        assert_eq!(sql(Parameter::Float(-2.5)), "-2.5e0");
        assert_eq!(sql(Parameter::Bytes(vec![0, 0x31])), "_binary x'0031'");
        assert_eq!(sql(Parameter::Bytes(Vec::new())), "_binary x''");
        assert_eq!(sql(Parameter::Decimal("-1.50".into())), "-1.50");
        assert_eq!(sql(Parameter::Decimal("1 OR 1".into())), "'1 OR 1'");
        let tricky = sql(Parameter::Text("a'b\\c".into()));
        let tokens = pelorus_sql::tokens(&tricky, Mode::default());
        assert_eq!(tokens.len(), 1, "{tricky}");
        assert_eq!(literal::text_of_token(&tricky, Mode::default()), "a'b\\c");
        let date = DateTime::date(2024, 2, 29).pack();
        assert_eq!(sql(Parameter::Date(date)), "DATE'2024-02-29'");
        assert_eq!(sql(Parameter::Time(-1_500_000)), "TIME'-00:00:01.500000'");
        assert!(sql_of_parameter(&Parameter::Double(f64::NAN), Mode::default()).is_err());
    }
}
