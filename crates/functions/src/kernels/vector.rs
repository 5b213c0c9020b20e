//! Vectorised loops over whole arrays for the hot paths.

use arrow::array::{Array, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use pelorus_error::Result;

use crate::input::Input;

/// The argument as a plain array, when it is one.
pub(crate) fn primitive<'a, T: ArrowPrimitiveType>(
    input: &Input<'a>,
) -> Option<&'a PrimitiveArray<T>> {
    if input.ty.is_temporal() {
        return None;
    }
    input.array.as_primitive_opt::<T>()
}

/// The argument as decimals of 128 bits with their scale: decimals and integers.
pub(crate) fn decimal128(input: &Input<'_>) -> Option<(PrimitiveArray<Decimal128Type>, u8)> {
    if input.ty.is_temporal() {
        return None;
    }
    match input.array.data_type() {
        DataType::Decimal128(_, scale) => {
            let array = input.array.as_primitive_opt::<Decimal128Type>()?;
            Some((array.clone(), u8::try_from(*scale).ok()?))
        }
        DataType::Int64 => {
            let array = input.array.as_primitive_opt::<Int64Type>()?;
            Some((array.unary(i128::from), 0))
        }
        DataType::UInt64 => {
            let array = input.array.as_primitive_opt::<UInt64Type>()?;
            Some((array.unary(i128::from), 0))
        }
        _ => None,
    }
}

/// The NULLs of either array; an array of one stands for all rows.
fn nulls(a: &dyn Array, b: &dyn Array, rows: usize) -> Option<NullBuffer> {
    let spread = |array: &dyn Array| match array.nulls() {
        Some(nulls) if array.len() == 1 && rows != 1 => {
            nulls.is_null(0).then(|| NullBuffer::new_null(rows))
        }
        other => other.cloned(),
    };
    NullBuffer::union(spread(a).as_ref(), spread(b).as_ref())
}

/// Combines two arrays of `rows` values, or of one value that represents all.
pub(crate) fn zip<A, B, O>(
    a: &PrimitiveArray<A>,
    b: &PrimitiveArray<B>,
    rows: usize,
    op: impl Fn(A::Native, B::Native) -> O::Native,
) -> PrimitiveArray<O>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let nulls = nulls(a, b, rows);
    let (left, right) = (a.values(), b.values());
    let values: Vec<O::Native> = match (left.len() == 1, right.len() == 1) {
        (true, true) => vec![op(left[0], right[0]); rows],
        (true, false) => right.iter().map(|b| op(left[0], *b)).collect(),
        (false, true) => left.iter().map(|a| op(*a, right[0])).collect(),
        (false, false) => left.iter().zip(right).map(|(a, b)| op(*a, *b)).collect(),
    };
    PrimitiveArray::new(values.into(), nulls)
}

/// Like [`zip`] with an operation that may fail; it runs only if both values are not NULL.
pub(crate) fn try_zip<A, B, O>(
    a: &PrimitiveArray<A>,
    b: &PrimitiveArray<B>,
    rows: usize,
    op: impl Fn(A::Native, B::Native) -> Result<O::Native>,
) -> Result<PrimitiveArray<O>>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let nulls = nulls(a, b, rows);
    let (left, right) = (a.values(), b.values());
    let (one_left, one_right) = (left.len() == 1, right.len() == 1);
    let at = |row: usize| -> (A::Native, B::Native) {
        (left[if one_left { 0 } else { row }], right[if one_right { 0 } else { row }])
    };
    let mut values = Vec::with_capacity(rows);
    match &nulls {
        None => {
            for row in 0..rows {
                let (a, b) = at(row);
                values.push(op(a, b)?);
            }
        }
        Some(nulls) => {
            for row in 0..rows {
                let (a, b) = at(row);
                let value = if nulls.is_valid(row) { op(a, b)? } else { O::Native::default() };
                values.push(value);
            }
        }
    }
    Ok(PrimitiveArray::new(values.into(), nulls))
}

/// Truth values as the integers 0 and 1.
pub(crate) fn truths(
    rows: usize,
    mut truth: impl FnMut(usize) -> Result<Option<bool>>,
) -> Result<Int64Array> {
    (0..rows).map(|row| Ok(truth(row)?.map(i64::from))).collect()
}
