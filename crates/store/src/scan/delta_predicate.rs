//! Evaluates predicates on the unencoded rows of a delta.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};
use pelorus_chunk::{Predicate, Value};
use pelorus_error::{Error, Result};

fn test<'a>(
    array: &ArrayRef,
    predicate: &Predicate,
    value: impl Fn(usize) -> Value<'a>,
) -> BooleanArray {
    let holds = |row| {
        let value = if array.is_null(row) { Value::Null } else { value(row) };
        predicate.matches(value)
    };
    BooleanArray::new(BooleanBuffer::collect_bool(array.len(), holds), None)
}

/// Whether values fulfil a condition. The meaning is [`Predicate::matches`], as for chunks.
pub(crate) fn matches(array: &ArrayRef, predicate: &Predicate) -> Result<BooleanArray> {
    Ok(match array.data_type() {
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>();
            test(array, predicate, |row| Value::Int(values.value(row).into()))
        }
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>();
            test(array, predicate, |row| Value::Int(values.value(row).into()))
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            test(array, predicate, |row| Value::Float(values.value(row).into()))
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            test(array, predicate, |row| Value::Float(values.value(row)))
        }
        DataType::Decimal128(..) => {
            let values = array.as_primitive::<Decimal128Type>();
            test(array, predicate, |row| Value::Int(values.value(row)))
        }
        DataType::Decimal256(..) => {
            let values = array.as_primitive::<Decimal256Type>();
            test(array, predicate, |row| wide(values.value(row)))
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            test(array, predicate, |row| Value::Bytes(values.value(row).as_bytes()))
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            test(array, predicate, |row| Value::Bytes(values.value(row)))
        }
        other => return Err(Error::internal(format!("a condition on a column of {other}"))),
    })
}

/// A wide decimal in its canonical form: narrow if it can be.
fn wide(value: i256) -> Value<'static> {
    value.to_i128().map_or(Value::Wide(value), Value::Int)
}
