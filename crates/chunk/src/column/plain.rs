//! Plain values: predicates on arrays of unencoded values.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, GenericByteArray};
use arrow::datatypes::{
    ByteArrayType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type,
};

use super::ranges::{self, Test};
use super::{Column, mask};
use crate::kind::Kind;
use crate::scalar::{Op, Predicate, Scalar, Value, wide};
use crate::selection::Selection;

/// Bytes of all texts of an array.
pub(super) fn text_length(values: &ArrayRef) -> usize {
    let string = values.as_string_opt::<i32>().map(|array| array.value_data().len());
    string.or(values.as_binary_opt::<i32>().map(|array| array.value_data().len())).unwrap_or(0)
}

/// A scan of a range of plain values.
pub(super) struct Scan<'a> {
    pub(super) column: &'a Column,
    pub(super) rows: Range<usize>,
    pub(super) selection: &'a mut Selection,
}

impl Scan<'_> {
    /// Keeps the rows whose values satisfy the predicate.
    pub(super) fn select(self, values: &ArrayRef, predicate: &Predicate) {
        let wide_constant = predicate.scalars().any(|scalar| matches!(scalar, Scalar::Wide(_)));
        match self.column.kind {
            Kind::Int64 => {
                let test = ranges::integers(predicate).map(|low, high| {
                    let low = low.max(i64::MIN.into());
                    let high = high.min(i64::MAX.into());
                    let ends = i64::try_from(low).ok().zip(i64::try_from(high).ok());
                    ends.filter(|(low, high)| low <= high).map(|(low, high)| (low, high, false))
                });
                self.integers(values.as_primitive::<Int64Type>().values(), &test);
            }
            Kind::UInt64 => {
                let test = ranges::integers(predicate).map(|low, high| {
                    let high = high.min(u64::MAX.into());
                    let ends = u64::try_from(low.max(0)).ok().zip(u64::try_from(high).ok());
                    ends.filter(|(low, high)| low <= high).map(|(low, high)| (low, high, false))
                });
                self.integers(values.as_primitive::<UInt64Type>().values(), &test);
            }
            Kind::Decimal128(..) if !wide_constant => {
                let test = ranges::integers(predicate);
                self.integers(values.as_primitive::<Decimal128Type>().values(), &test);
            }
            Kind::Decimal128(..) => {
                let values = values.as_primitive::<Decimal128Type>().values();
                self.cells(values, |value| predicate.matches(Value::Int(value)));
            }
            Kind::Decimal256(..) => {
                let values = values.as_primitive::<Decimal256Type>().values();
                self.cells(values, |value| predicate.matches(wide(value)));
            }
            Kind::Float32 => {
                self.floats(values.as_primitive::<Float32Type>().values(), predicate);
            }
            Kind::Float64 => {
                self.floats(values.as_primitive::<Float64Type>().values(), predicate);
            }
            Kind::Utf8 => self.texts(values.as_string::<i32>(), predicate),
            Kind::Binary => self.texts(values.as_binary::<i32>(), predicate),
        }
    }

    fn cells<T: Copy>(self, values: &[T], hit: impl Fn(T) -> bool) {
        let column = self.column;
        self.selection
            .retain(self.rows, |word| mask::of(values, word, &hit) & column.valid_word(word));
    }

    fn integers<T: Copy + Ord>(self, values: &[T], test: &Test<T>) {
        match *test {
            // Both comparisons are made, so that the loop has no branch.
            Test::In(low, high) => self.cells(values, |value| (low <= value) & (value <= high)),
            Test::Out(low, high) => self.cells(values, |value| (value < low) | (high < value)),
            Test::None | Test::All | Test::Any(_) => self.cells(values, |value| test.holds(value)),
        }
    }

    fn floats<T: Copy + Into<f64>>(self, values: &[T], predicate: &Predicate) {
        match *predicate {
            Predicate::Compare(op, Scalar::Float(constant)) => match op {
                Op::Eq => self.cells(values, |value| value.into() == constant),
                Op::Ne => self.cells(values, |value| value.into() != constant),
                Op::Lt => self.cells(values, |value| value.into() < constant),
                Op::Le => self.cells(values, |value| value.into() <= constant),
                Op::Gt => self.cells(values, |value| value.into() > constant),
                Op::Ge => self.cells(values, |value| value.into() >= constant),
            },
            Predicate::Between(Scalar::Float(low), Scalar::Float(high)) => {
                self.cells(values, |value| (low <= value.into()) & (value.into() <= high));
            }
            _ => {
                self.cells(values, |value| predicate.matches(Value::Float(value.into())));
            }
        }
    }

    fn texts<T: ByteArrayType<Offset = i32>>(
        self,
        values: &GenericByteArray<T>,
        predicate: &Predicate,
    ) {
        let column = self.column;
        // The closure is monomorphic for equality, which compares lengths before bytes.
        if let Predicate::Compare(Op::Eq, Scalar::Bytes(constant)) = predicate {
            return self.selection.retain(self.rows, |word| {
                rows_of(values, word, |bytes| bytes == constant) & column.valid_word(word)
            });
        }
        self.selection.retain(self.rows, |word| {
            let hit = |bytes: &[u8]| predicate.matches(Value::Bytes(bytes));
            rows_of(values, word, hit) & column.valid_word(word)
        });
    }
}

/// The bits of a word whose texts pass.
#[inline]
fn rows_of<T: ByteArrayType<Offset = i32>>(
    values: &GenericByteArray<T>,
    word: usize,
    hit: impl Fn(&[u8]) -> bool,
) -> u64 {
    let rows = word * 64..((word + 1) * 64).min(values.len());
    rows.rev().fold(0, |bits, row| bits << 1 | u64::from(hit(values.value(row).as_ref())))
}
