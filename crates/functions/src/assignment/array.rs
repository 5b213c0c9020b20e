//! Assigns whole arrays to a column: `INSERT ... SELECT`, `UPDATE ... SET` with an expression.
//!
//! Arrays whose values the column would store unchanged are returned as they are after one pass
//! over their values; all others are converted row by row by the rules.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use arrow::datatypes::{
    Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type,
};
use pelorus_error::{Error, Result};
use pelorus_types::temporal::DateTime;
use pelorus_types::{ColumnType, Flags, WireType};

use super::column::ROOM;
use super::conversion_error::{Failure, Policy};
use super::store::Store;
use super::{Assigned, ColumnBuilder, Incoming, Target};
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::types::result_type;
use crate::value::Value;

/// The values of `array`, which are of the type `from`, as the column stores them. The array has
/// one value a row. TIMESTAMPs come in the session's time zone.
///
/// Fails with the first row that the policy refuses. Error 1235 for ENUM, SET and JSON values into
/// columns that are no strings, since their numbers are not known here.
pub fn assign_array(
    target: &Target,
    policy: &Policy,
    array: &ArrayRef,
    from: &ColumnType,
) -> Result<Assigned, Failure> {
    let fail = |error| Failure { row: policy.first_row, error };
    let room = array.len().min(ROOM);
    let mut builder = ColumnBuilder::with_room(target, *policy, room).map_err(fail)?;
    let nulls_pass = builder.takes_null() || array.null_count() == 0;
    if nulls_pass && let Some(array) = as_it_is(&builder.store, policy, array, from) {
        return Ok(Assigned { array, warnings: Vec::new(), warning_count: 0 });
    }
    use Store::{Binary, Characters, Json, Listed};
    let is_string = matches!(builder.store, Characters(..) | Binary(..) | Listed(..) | Json(..));
    if (result_type::is_listed(from) || from.wire == WireType::Json) && !is_string {
        return Err(fail(Error::unsupported("ENUM, SET and JSON values as numbers and dates")));
    }
    let ctx = EvalContext::default();
    let input = Input::new(array, &Slot::of_type(*from), &ctx).map_err(fail)?;
    for row in 0..array.len() {
        put_row(&mut builder, &input, row, from)?;
    }
    Ok(builder.finish())
}

fn put_row(
    builder: &mut ColumnBuilder,
    input: &Input<'_>,
    row: usize,
    from: &ColumnType,
) -> Result<(), Failure> {
    let decimals = from.decimals;
    let (is_blob, is_bytes) = match &builder.store {
        Store::Characters(rule, _) => (rule.is_blob(), false),
        Store::Binary(rule, _) => (rule.is_blob, true),
        _ => (false, false),
    };
    match input.value(row) {
        Value::Null => builder.append_null(),
        Value::Text(text) if !is_bytes => {
            if text.is_empty() && is_enum(from) {
                // The error value of one ENUM is that of another.
                return builder.append_zero();
            }
            builder.put(Incoming::Text(text.as_bytes()))
        }
        // Numbers keep the form of their own type (ZEROFILL, FLOAT, BIT) in TEXT and BLOB; in
        // other strings they are plain integers and doubles.
        Value::Text(_) => put_bytes(builder, input, row),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) if is_blob => {
            put_bytes(builder, input, row)
        }
        Value::Int(value) => builder.put(Incoming::Int(value)),
        Value::UInt(value) => builder.put(Incoming::UInt(value)),
        Value::Decimal(value) => {
            // Within expressions decimals carry more digits than their type shows.
            let value = value.rescale(from.decimals).unwrap_or(value);
            builder.put(Incoming::Decimal(value))
        }
        Value::Double(value) => builder.put(Incoming::Double(value)),
        Value::Bytes(bytes) if from.is_bits() => builder.put(Incoming::Hex(&bytes)),
        Value::Bytes(bytes) => builder.put(Incoming::Bytes(&bytes)),
        Value::Date(packed) => {
            let value = DateTime::unpack(packed);
            builder.put(Incoming::Date { value, wire: from.wire, decimals })
        }
        Value::Time(micros) => builder.put(Incoming::Time { micros, decimals }),
    }
}

/// A value in the bytes of its own charset.
fn put_bytes(builder: &mut ColumnBuilder, input: &Input<'_>, row: usize) -> Result<(), Failure> {
    let bytes = input.bytes(row).map_err(|error| builder.report.fail(error))?;
    builder.put(Incoming::Text(&bytes.unwrap_or_default()))
}

fn is_enum(ty: &ColumnType) -> bool {
    ty.wire == WireType::Enum || ty.flags.has(Flags::ENUM)
}

/// The stored form of an array none of whose values changes or leaves a warning; `None` when that
/// is not seen quickly.
fn as_it_is(
    store: &Store,
    policy: &Policy,
    array: &ArrayRef,
    from: &ColumnType,
) -> Option<ArrayRef> {
    let fits = match store {
        Store::Int(rule, _) | Store::UInt(rule, _) if from.is_integer() => {
            let (least, most) = bounds(array)?;
            if !rule.holds(least, most) {
                return None;
            }
            return as_integers(array, matches!(store, Store::UInt(..)));
        }
        Store::Year(_) => from.wire == WireType::Year,
        Store::Bit(bits, _) => from.wire == WireType::Bit && from.length <= *bits,
        Store::Exact(rule, _) if from.is_decimal() && from.decimals == rule.scale => {
            let values = array.as_primitive_opt::<Decimal128Type>()?;
            values.scale() == i8::try_from(rule.scale).ok()?
                && values.iter().flatten().all(|units| rule.holds_small(units))
        }
        Store::WideExact(rule, _) if from.is_decimal() && from.decimals == rule.scale => {
            let values = array.as_primitive_opt::<Decimal256Type>()?;
            values.scale() == i8::try_from(rule.scale).ok()?
                && values.iter().flatten().all(|units| rule.holds(units))
        }
        Store::Float(rule, _) => {
            let values = array.as_primitive_opt::<Float32Type>()?;
            values.iter().flatten().all(|value| rule.holds(f64::from(value)))
        }
        Store::Double(rule, _) => {
            let values = array.as_primitive_opt::<Float64Type>()?;
            values.iter().flatten().all(|value| rule.holds(value))
        }
        Store::Calendar(rule, _) => {
            let values = array.as_primitive_opt::<Int64Type>()?;
            rule.takes(from) && values.iter().flatten().all(|packed| rule.holds(packed, policy))
        }
        Store::Time(digits, _) => from.wire == WireType::Time && from.decimals <= *digits,
        Store::Characters(rule, _) if from.wire != WireType::Json => {
            let values = array.as_string_opt::<i32>()?;
            rule.has_charset_of(from) && values.iter().flatten().all(|text| rule.holds(text))
        }
        Store::Binary(rule, _) => {
            let values = array.as_binary_opt::<i32>()?;
            values.iter().flatten().all(|bytes| rule.holds(bytes.len()))
        }
        Store::Listed(rule, _) => {
            let values = array.as_string_opt::<i32>()?;
            values.iter().flatten().all(|text| rule.holds(text))
        }
        Store::Json(..) => from.wire == WireType::Json,
        _ => false,
    };
    fits.then(|| Arc::clone(array))
}

/// The least and the largest integer of an array; zero for one without values.
fn bounds(array: &ArrayRef) -> Option<(i128, i128)> {
    fn of<T: Copy + Ord + Into<i128>>(values: impl Iterator<Item = T>) -> (i128, i128) {
        let mut found: Option<(T, T)> = None;
        for value in values {
            let (least, most) = found.unwrap_or((value, value));
            found = Some((least.min(value), most.max(value)));
        }
        found.map_or((0, 0), |(least, most)| (least.into(), most.into()))
    }
    if let Some(values) = array.as_primitive_opt::<Int64Type>() {
        return Some(of(values.iter().flatten()));
    }
    Some(of(array.as_primitive_opt::<UInt64Type>()?.iter().flatten()))
}

/// Integers that are known to fit, with or without sign.
fn as_integers(array: &ArrayRef, unsigned: bool) -> Option<ArrayRef> {
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "the values fit; what lies beneath a NULL does not matter"
    )]
    if let Some(values) = array.as_primitive_opt::<Int64Type>() {
        if !unsigned {
            return Some(Arc::clone(array));
        }
        let values: UInt64Array = values.unary(|value| value as u64);
        Some(Arc::new(values))
    } else {
        let values = array.as_primitive_opt::<UInt64Type>()?;
        if unsigned {
            return Some(Arc::clone(array));
        }
        let values: Int64Array = values.unary(|value| value as i64);
        Some(Arc::new(values))
    }
}
