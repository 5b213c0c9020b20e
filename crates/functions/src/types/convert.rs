//! Implicit conversions: values of one type as values of another.

use arrow::array::{Array, ArrayRef};
use pelorus_error::Result;
use pelorus_types::{ColumnType, WireType};

use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::output::{Output, storage};
use crate::scalar::datetime::read;
use crate::scalar::datetime::read::Lenience;
use crate::value::Value;

/// The value of a row as a value of `to`.
pub(crate) fn value_as(input: &Input<'_>, row: usize, to: &ColumnType) -> Result<Value> {
    if input.is_null(row) {
        return Ok(Value::Null);
    }
    if to.is_string() {
        return if to.is_binary_string() {
            Ok(input.bytes(row)?.map_or(Value::Null, |bytes| Value::Bytes(bytes.into_owned())))
        } else {
            Ok(input.text(row)?.map_or(Value::Null, |text| Value::Text(text.into_owned())))
        };
    }
    Ok(match to.wire {
        WireType::Null => Value::Null,
        WireType::Date => read::datetime(input, row, Lenience::FUZZY)?
            .map_or(Value::Null, |date| Value::Date(date.midnight().pack())),
        WireType::DateTime | WireType::Timestamp => read::datetime(input, row, Lenience::FUZZY)?
            .map_or(Value::Null, |date| Value::Date(date.pack())),
        WireType::Time => read::time(input, row)?.map_or(Value::Null, Value::Time),
        _ if to.is_decimal() => input.decimal(row).map_or(Value::Null, Value::Decimal),
        _ if to.is_float() => input.real(row).map_or(Value::Null, Value::Double),
        _ if to.is_unsigned() || matches!(to.wire, WireType::Year | WireType::Bit) => {
            input.bits(row).map_or(Value::Null, Value::UInt)
        }
        _ => input.int64(row).map_or(Value::Null, Value::Int),
    })
}

/// Converts an array from one type to another implicitly, as a UNION does with its columns.
pub fn convert(
    array: &ArrayRef,
    from: &ColumnType,
    to: &ColumnType,
    ctx: &EvalContext,
) -> Result<ArrayRef> {
    let target = to.arrow();
    let same_kind = from.is_temporal() == to.is_temporal()
        && (!from.is_temporal() || from.is_date() == to.is_date())
        && from.is_string() == to.is_string();
    if array.data_type() == &target && same_kind {
        return Ok(std::sync::Arc::clone(array));
    }
    let slot = Slot::of_type(*from);
    let input = Input::new(array, &slot, ctx)?;
    let mut output = Output::new(&target, array.len(), &ctx.counting(0))?;
    // An array of one value reads the same in every row, so its length is asked of the array.
    for row in 0..array.len() {
        output.push(value_as(&input, row, to)?)?;
    }
    Ok(output.finish())
}

/// Rounds decimals that carry more digits than their type shows, as MySQL does when it sends or
/// stores a value. Other arrays pass unchanged.
pub fn settle(array: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef> {
    let target = storage(ty, ty.decimals);
    if !ty.is_decimal() || array.data_type() == &target {
        return Ok(std::sync::Arc::clone(array));
    }
    let ctx = EvalContext::default();
    convert(array, ty, ty, &ctx)
}

/// The type as MySQL reports it to a client whose results are in the charset of `results`: text
/// changes its charset, and its length with it.
pub fn reported(ty: &ColumnType, results: pelorus_types::Collation) -> ColumnType {
    if ty.is_bits() {
        return ColumnType { decimals: 0, ..*ty };
    }
    if !ty.is_string() || ty.is_binary_string() || ty.wire == WireType::Json {
        return *ty;
    }
    let chars = ty.length / crate::collation::charset::width(ty.collation).max(1);
    let length = chars.saturating_mul(crate::collation::charset::width(results));
    ColumnType { collation: results, length, ..*ty }
}
