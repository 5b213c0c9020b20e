//! Lanes: columns whose values can be 64-bit integers: integers, decimals that fit, and floats that
//! are decimals of few digits. NULLs get a neighbour's value, so they never widen a frame.

use std::borrow::Cow;

use arrow::array::AsArray;
use arrow::datatypes::{
    Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};

use super::Source;
use crate::VECTOR_ROWS;
use crate::format::POWERS;
use crate::kind::{Kind, narrow};
use crate::scalar::Value;

/// Largest exponent that is tried for floats: a double has fifteen certain digits.
const MAX_EXPONENT: u8 = 15;
/// Integers up to here are exact in double precision.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The values as integers whose order is that of the values.
pub(super) struct Lane<'a> {
    pub(super) values: Cow<'a, [i64]>,
    /// Floats: the value is the integer divided by ten to this power.
    pub(super) exponent: Option<u8>,
    kind: Kind,
}

/// Maps unsigned integers to signed ones of the same order, and back.
const FLIP: u64 = 1 << 63;

impl<'a> Lane<'a> {
    /// The lane of a column with at least one value, if it has one.
    pub(super) fn of(source: &Source<'a>) -> Option<Self> {
        let (array, kind) = (source.array, source.kind);
        let mut exponent = None;
        let mut values: Cow<'a, [i64]> = match kind {
            Kind::Int64 => Cow::Borrowed(array.as_primitive::<Int64Type>().values()),
            Kind::UInt64 => {
                let values = array.as_primitive::<UInt64Type>().values();
                values.iter().map(|value| (value ^ FLIP).cast_signed()).collect()
            }
            Kind::Decimal128(..) => {
                let values: &[i128] = array.as_primitive::<Decimal128Type>().values();
                convert(source, values, |value| i64::try_from(value).ok())?.into()
            }
            Kind::Decimal256(..) => {
                let values: &[i256] = array.as_primitive::<Decimal256Type>().values();
                let fit = |value| narrow(value).and_then(|value| i64::try_from(value).ok());
                convert(source, values, fit)?.into()
            }
            Kind::Float32 => {
                let values: &[f32] = array.as_primitive::<Float32Type>().values();
                let (power, integers) = decimals(source, values, |value, power| {
                    let integer = integral(f64::from(value), power)?;
                    let back = to_float(integer, power);
                    (single(back).to_bits() == value.to_bits()).then_some(integer)
                })?;
                exponent = Some(power);
                integers.into()
            }
            Kind::Float64 => {
                let values: &[f64] = array.as_primitive::<Float64Type>().values();
                let (power, integers) = decimals(source, values, |value, power| {
                    let integer = integral(value, power)?;
                    (to_float(integer, power).to_bits() == value.to_bits()).then_some(integer)
                })?;
                exponent = Some(power);
                integers.into()
            }
            Kind::Utf8 | Kind::Binary => return None,
        };
        if source.nulls.is_some() {
            fill(source, values.to_mut());
        }
        Some(Self { values, exponent, kind })
    }

    /// The mask that is exclusive-ored with the bits of a base to get those of the column's own
    /// type.
    pub(super) fn flip(&self) -> u64 {
        if self.kind == Kind::UInt64 { FLIP } else { 0 }
    }

    /// The column's value for an integer of the lane.
    pub(super) fn value(&self, integer: i64) -> Value<'static> {
        match (self.kind, self.exponent) {
            (Kind::UInt64, _) => Value::Int((integer.cast_unsigned() ^ FLIP).into()),
            (Kind::Float32, Some(power)) => Value::Float(single(to_float(integer, power)).into()),
            (_, Some(power)) => Value::Float(to_float(integer, power)),
            _ => Value::Int(integer.into()),
        }
    }
}

/// Converts all values, NULL slots as zero; `None` if one does not fit.
fn convert<T: Copy>(
    source: &Source<'_>,
    values: &[T],
    fit: impl Fn(T) -> Option<i64>,
) -> Option<Vec<i64>> {
    let mut integers = Vec::with_capacity(values.len());
    for (row, &value) in values.iter().enumerate() {
        integers.push(match fit(value) {
            Some(integer) => integer,
            None if !source.is_valid(row) => 0,
            None => return None,
        });
    }
    Some(integers)
}

/// Finds the smallest power of ten that makes every float an integer, and the integers.
fn decimals<T: Copy>(
    source: &Source<'_>,
    values: &[T],
    integral: impl Fn(T, u8) -> Option<i64>,
) -> Option<(u8, Vec<i64>)> {
    // A value that fails for all powers fails at once; one that needs a power rules out the
    // smaller ones at its first occurrence. So this is about one pass.
    (0..=MAX_EXPONENT).find_map(|power| {
        convert(source, values, |value| integral(value, power)).map(|integers| (power, integers))
    })
}

/// The integer nearest to a float times a power of ten, if integers are exact there.
#[expect(clippy::cast_possible_truncation, reason = "checked to be an integer below 2^53")]
fn integral(value: f64, power: u8) -> Option<i64> {
    let scaled = (value * POWERS[usize::from(power)]).round();
    (scaled.abs() < EXACT).then_some(scaled as i64)
}

/// A double for an integer below 2^53 divided by a power of ten that is exact in a double: the
/// division rounds correctly, so it gives the double that reading the decimal would give.
#[expect(clippy::cast_precision_loss, reason = "the integers of frames are exact")]
pub(super) fn to_float(integer: i64, power: u8) -> f64 {
    integer as f64 / POWERS[usize::from(power)]
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is meant")]
fn single(value: f64) -> f32 {
    value as f32
}

/// Gives each NULL the value before it in its vector, or the first of the vector; a vector of
/// NULLs gets the last value before it, or the column's first.
fn fill(source: &Source<'_>, values: &mut [i64]) {
    let mut last = (0..source.rows).find(|&row| source.is_valid(row)).map_or(0, |row| values[row]);
    for (vector, values) in values.chunks_mut(VECTOR_ROWS).enumerate() {
        let start = vector * VECTOR_ROWS;
        let valid = |at: usize| source.is_valid(start + at);
        last = (0..values.len()).find(|&at| valid(at)).map_or(last, |at| values[at]);
        for (at, value) in values.iter_mut().enumerate() {
            if valid(at) {
                last = *value;
            } else {
                *value = last;
            }
        }
    }
}
