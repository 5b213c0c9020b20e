//! The storage of a column builder: a conversion rule, and the array that it fills.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Decimal128Builder, Decimal256Builder, Float32Builder, Float64Builder,
    Int64Builder, StringBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, i256};
use pelorus_error::{Code, Error, Result};
use pelorus_types::{Flags, WireType};

use super::conversion_error::{Failure, Reporter};
use super::enum_set::Listed;
use super::integer::Integer;
use super::number::{Exact, Real};
use super::temporal::{Calendar, time};
use super::text::{Binary, Characters};
use super::year::{bit, year};
use super::{Incoming, Target, json};
use crate::value::Value;

/// The families of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers, YEAR and BIT included.
    Number,
    Temporal,
    Characters,
    Binary,
    Enum,
    Set,
    Json,
}

/// The family of a column, or error 1235.
pub(crate) fn kind(target: &Target) -> Result<Kind> {
    let ty = &target.ty;
    Ok(match ty.wire {
        WireType::Geometry | WireType::Vector | WireType::Null => {
            let (wire, name) = (ty.wire, &target.name);
            return Err(Error::unsupported(format_args!("values of type {wire:?} in '{name}'")));
        }
        WireType::Json => Kind::Json,
        WireType::Enum => Kind::Enum,
        WireType::Set => Kind::Set,
        _ if ty.flags.has(Flags::ENUM) => Kind::Enum,
        _ if ty.flags.has(Flags::SET) => Kind::Set,
        _ if ty.is_temporal() => Kind::Temporal,
        _ if ty.is_binary_string() => Kind::Binary,
        _ if ty.is_string() => Kind::Characters,
        _ => Kind::Number,
    })
}

/// A rule and the array that its values go to.
#[derive(Debug)]
pub(crate) enum Store {
    Int(Integer, Int64Builder),
    UInt(Integer, UInt64Builder),
    Year(UInt64Builder),
    Bit(u32, UInt64Builder),
    Exact(Exact, Decimal128Builder),
    WideExact(Exact, Decimal256Builder),
    Float(Real, Float32Builder),
    Double(Real, Float64Builder),
    Calendar(Calendar, Int64Builder),
    Time(u8, Int64Builder),
    Characters(Characters, StringBuilder),
    Binary(Binary, BinaryBuilder),
    Listed(Listed, StringBuilder),
    /// With the name that messages use.
    Json(String, StringBuilder),
}

impl Store {
    /// A rule with an array that has room for so many rows.
    pub(crate) fn of(target: &Target, rows: usize) -> Result<Self> {
        let ty = &target.ty;
        let storage = ty.arrow();
        let ints = || Int64Builder::with_capacity(rows);
        let uints = || UInt64Builder::with_capacity(rows);
        let texts = || StringBuilder::with_capacity(rows, rows);
        Ok(match kind(target)? {
            Kind::Temporal if ty.wire == WireType::Time => Store::Time(ty.decimals.min(6), ints()),
            Kind::Temporal => Store::Calendar(Calendar::of(ty), ints()),
            Kind::Characters => Store::Characters(Characters::of(target), texts()),
            Kind::Binary => {
                Store::Binary(Binary::of(target), BinaryBuilder::with_capacity(rows, rows))
            }
            Kind::Enum => Store::Listed(Listed::of(target, false), texts()),
            Kind::Set => Store::Listed(Listed::of(target, true), texts()),
            Kind::Json => Store::Json(format!("{}.{}", target.table, target.name), texts()),
            Kind::Number => match (ty.wire, &storage) {
                (WireType::Year, _) => Store::Year(uints()),
                (WireType::Bit, _) => Store::Bit(ty.length.clamp(1, 64), uints()),
                (_, DataType::UInt64) => Store::UInt(Integer::of(ty), uints()),
                (_, DataType::Int64) => Store::Int(Integer::of(ty), ints()),
                (_, DataType::Float32) => {
                    Store::Float(Real::of(ty), Float32Builder::with_capacity(rows))
                }
                (_, DataType::Float64) => {
                    Store::Double(Real::of(ty), Float64Builder::with_capacity(rows))
                }
                (_, DataType::Decimal128(..)) => Store::Exact(
                    Exact::of(ty),
                    Decimal128Builder::with_capacity(rows).with_data_type(storage),
                ),
                (_, DataType::Decimal256(..)) => Store::WideExact(
                    Exact::of(ty),
                    Decimal256Builder::with_capacity(rows).with_data_type(storage),
                ),
                _ => return Err(Error::internal(format!("no column stores {storage}"))),
            },
        })
    }

    pub(crate) fn put(
        &mut self,
        value: Incoming<'_>,
        report: &mut Reporter,
    ) -> Result<(), Failure> {
        match self {
            Store::Int(rule, out) => {
                let value = rule.convert(value, report)?;
                out.append_value(i64::try_from(value).unwrap_or_default());
            }
            Store::UInt(rule, out) => {
                let value = rule.convert(value, report)?;
                out.append_value(u64::try_from(value).unwrap_or_default());
            }
            Store::Year(out) => out.append_value(year(value, report)?),
            Store::Bit(bits, out) => out.append_value(bit(*bits, value, report)?),
            Store::Exact(rule, out) => {
                let units = rule.convert(value, report)?;
                out.append_value(units.to_i128().unwrap_or_default());
            }
            Store::WideExact(rule, out) => out.append_value(rule.convert(value, report)?),
            #[expect(clippy::cast_possible_truncation, reason = "in the range of FLOAT")]
            Store::Float(rule, out) => out.append_value(rule.convert(value, report)? as f32),
            Store::Double(rule, out) => out.append_value(rule.convert(value, report)?),
            Store::Calendar(rule, out) => out.append_value(rule.convert(value, report)?),
            Store::Time(digits, out) => out.append_value(time(*digits, value, report)?),
            Store::Characters(rule, out) => {
                let text = rule.convert(value, report)?;
                push_text(out, &text, report)?;
            }
            Store::Binary(rule, out) => {
                let bytes = rule.convert(value, report)?;
                check_room(out.values_slice().len(), bytes.len(), report)?;
                out.append_value(&bytes);
            }
            Store::Listed(rule, out) => {
                let text = rule.convert(value, report)?;
                push_text(out, &text, report)?;
            }
            Store::Json(column, out) => {
                let text = json_text(value, column).map_err(|error| report.fail(error))?;
                push_text(out, &text, report)?;
            }
        }
        Ok(())
    }

    pub(crate) fn put_null(&mut self) {
        match self {
            Store::Int(_, out) | Store::Calendar(_, out) | Store::Time(_, out) => {
                out.append_null();
            }
            Store::UInt(_, out) | Store::Year(out) | Store::Bit(_, out) => out.append_null(),
            Store::Exact(_, out) => out.append_null(),
            Store::WideExact(_, out) => out.append_null(),
            Store::Float(_, out) => out.append_null(),
            Store::Double(_, out) => out.append_null(),
            Store::Characters(_, out) | Store::Listed(_, out) | Store::Json(_, out) => {
                out.append_null();
            }
            Store::Binary(_, out) => out.append_null(),
        }
    }

    /// Stores the replacement of NULL. Of an ENUM it is the error value, not the first member.
    pub(crate) fn put_zero(&mut self) {
        match self {
            Store::Int(_, out) | Store::Calendar(_, out) | Store::Time(_, out) => {
                out.append_value(0);
            }
            Store::UInt(_, out) | Store::Year(out) | Store::Bit(_, out) => out.append_value(0),
            Store::Exact(_, out) => out.append_value(0),
            Store::WideExact(_, out) => out.append_value(i256::ZERO),
            Store::Float(_, out) => out.append_value(0.0),
            Store::Double(_, out) => out.append_value(0.0),
            Store::Characters(_, out) | Store::Listed(_, out) => out.append_value(""),
            Store::Json(_, out) => out.append_value("null"),
            Store::Binary(rule, out) => out.append_value(vec![0; rule.empty_length()]),
        }
    }

    /// A value in stored form.
    pub(crate) fn put_stored(
        &mut self,
        value: &Value,
        report: &mut Reporter,
    ) -> Result<(), Failure> {
        match (self, value) {
            (Store::Int(_, out), Value::Int(value)) => out.append_value(*value),
            (Store::UInt(_, out) | Store::Year(out) | Store::Bit(_, out), Value::UInt(value)) => {
                out.append_value(*value);
            }
            (Store::Exact(rule, out), Value::Decimal(value)) if value.scale == rule.scale => {
                out.append_value(value.units.to_i128().unwrap_or_default());
            }
            (Store::WideExact(rule, out), Value::Decimal(value)) if value.scale == rule.scale => {
                out.append_value(value.units);
            }
            #[expect(clippy::cast_possible_truncation, reason = "it came from a FLOAT")]
            (Store::Float(_, out), Value::Double(value)) => out.append_value(*value as f32),
            (Store::Double(_, out), Value::Double(value)) => out.append_value(*value),
            (Store::Calendar(_, out), Value::Date(value))
            | (Store::Time(_, out), Value::Time(value)) => out.append_value(*value),
            (
                Store::Characters(_, out) | Store::Listed(_, out) | Store::Json(_, out),
                Value::Text(text),
            ) => push_text(out, text, report)?,
            (Store::Binary(_, out), Value::Bytes(bytes)) => {
                check_room(out.values_slice().len(), bytes.len(), report)?;
                out.append_value(bytes);
            }
            (_, value) => {
                let error = Error::internal(format!("{value:?} is no stored value of its column"));
                return Err(report.fail(error));
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> ArrayRef {
        match self {
            Store::Int(_, mut out) | Store::Calendar(_, mut out) | Store::Time(_, mut out) => {
                Arc::new(out.finish())
            }
            Store::UInt(_, mut out) | Store::Year(mut out) | Store::Bit(_, mut out) => {
                Arc::new(out.finish())
            }
            Store::Exact(_, mut out) => Arc::new(out.finish()),
            Store::WideExact(_, mut out) => Arc::new(out.finish()),
            Store::Float(_, mut out) => Arc::new(out.finish()),
            Store::Double(_, mut out) => Arc::new(out.finish()),
            Store::Characters(_, mut out) | Store::Listed(_, mut out) | Store::Json(_, mut out) => {
                Arc::new(out.finish())
            }
            Store::Binary(_, mut out) => Arc::new(out.finish()),
        }
    }
}

/// Arrays count their bytes in 31 bits.
fn check_room(held: usize, more: usize, report: &Reporter) -> Result<(), Failure> {
    let total = held.checked_add(more);
    if total.is_some_and(|total| i32::try_from(total).is_ok()) {
        return Ok(());
    }
    let message = "the values of one column in one batch take more than 2 GiB";
    Err(report.fail(Error::new(Code::OutOfMemory, message)))
}

fn push_text(out: &mut StringBuilder, text: &str, report: &Reporter) -> Result<(), Failure> {
    check_room(out.values_slice().len(), text.len(), report)?;
    out.append_value(text);
    Ok(())
}

fn json_text(value: Incoming<'_>, column: &str) -> Result<String> {
    match value {
        Incoming::Text(text) => json::normalise(text).map_err(|wrong| wrong.error(column)),
        Incoming::Bytes(_) | Incoming::Hex(_) => Err(Error::new(
            Code::InvalidJsonCharset,
            "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
        )),
        _ => Err(json::Wrong::Syntax("not a JSON text, may need CAST", 0).error(column)),
    }
}
