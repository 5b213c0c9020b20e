//! Decodes many, but not all, rows of a range, for scans of tables with dead rows.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, new_null_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::compute::filter;
use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use pelorus_error::{Error, Result};

use super::codes::{self, Codes, by_width};
use super::compact::{Line, append, append_line};
use super::ints::Ints;
use super::text::gather_many;
use super::{Column, Data, IntSource, gather};
use crate::kind::Kind;

/// The rows of a range whose bits are set, and how many they are.
pub(super) struct Many<'a> {
    pub(super) range: Range<usize>,
    pub(super) count: usize,
    pub(super) words: &'a [u64],
}

impl Many<'_> {
    /// So many rows at a time, which stay in the fastest cache.
    const STEP: usize = 1024;

    /// Pieces of the range, each with the bits of its rows.
    fn steps(&self) -> impl Iterator<Item = (Range<usize>, &[u64])> {
        self.words.chunks(Self::STEP / 64).enumerate().map(|(at, words)| {
            let begin = self.range.start + at * Self::STEP;
            (begin..self.range.end.min(begin + Self::STEP), words)
        })
    }

    /// Room for the values of these rows.
    fn room<T>(&self) -> Vec<T> {
        Vec::with_capacity(self.count + Self::STEP)
    }

    /// Gathers the values of these rows. `extend` appends those of a range.
    pub(super) fn gather<T: Copy>(&self, extend: impl Fn(Range<usize>, &mut Vec<T>)) -> Vec<T> {
        let (mut values, mut all) = (self.room(), Vec::with_capacity(Self::STEP));
        for (rows, words) in self.steps() {
            all.clear();
            extend(rows, &mut all);
            append(&all, words, &mut values);
        }
        values
    }

    /// Gathers the integers of these rows.
    pub(super) fn whole_numbers(&self, ints: &Ints) -> Vec<i64> {
        let slowly = || self.integers(ints, |value| value);
        let Ok(step) = u32::try_from(ints.step) else { return slowly() };
        by_width!(ints.codes, cells => {
            let mut values = self.room();
            for (rows, words) in self.steps() {
                let line = ints.base_of(&rows).map(|base| Line { base, step });
                let append = |line| append_line(&cells[rows], words, line, &mut values);
                if !line.is_some_and(append) {
                    return slowly();
                }
            }
            values
        })
    }

    /// Gathers the integers of these rows, converted. Where they have one base their codes are
    /// selected first, and only those are decoded.
    pub(super) fn integers<T: Copy>(
        &self,
        ints: &Ints,
        convert: impl Fn(i64) -> T + Copy,
    ) -> Vec<T> {
        by_width!(ints.codes, cells => {
            let (mut values, mut all) = (self.room(), Vec::with_capacity(Self::STEP));
            let mut kept = Vec::with_capacity(Self::STEP);
            for (rows, words) in self.steps() {
                if let Some(base) = ints.base_of(&rows) {
                    kept.clear();
                    append(&cells[rows], words, &mut kept);
                    ints.extend_frame(base, &kept, &mut values, convert);
                } else {
                    all.clear();
                    ints.extend(rows, &mut all, convert);
                    append(&all, words, &mut values);
                }
            }
            values
        })
    }

    /// Gathers the codes of these rows in a dictionary.
    pub(super) fn codes(&self, codes: &Codes) -> Vec<u32> {
        by_width!(codes, cells => {
            let (mut values, mut kept) = (self.room(), Vec::with_capacity(Self::STEP));
            for (rows, words) in self.steps() {
                kept.clear();
                append(&cells[rows], words, &mut kept);
                codes::extend(&kept, &mut values);
            }
            values
        })
    }

    /// The numbers of these rows.
    #[expect(clippy::cast_possible_truncation, reason = "a chunk has at most 131,072 rows")]
    fn rows(&self) -> Vec<u32> {
        let mut rows = Vec::with_capacity(self.count);
        for (at, &word) in self.words.iter().enumerate() {
            let first = (self.range.start + at * 64) as u32;
            let mut rest = word;
            while rest != 0 {
                rows.push(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        rows
    }

    /// The values of these rows in an array of the whole column.
    fn filter(&self, array: &dyn Array) -> Result<ArrayRef> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bits = BooleanBuffer::new(Buffer::from_vec(bytes), 0, self.range.len());
        let array = array.slice(self.range.start, self.range.len());
        filter(&array, &BooleanArray::new(bits, None))
            .map_err(|error| Error::internal("decoding rows of a chunk").caused_by(error))
    }
}

impl Column {
    pub(super) fn decode_many(&self, many: &Many<'_>) -> Result<ArrayRef> {
        let nulls = || self.nulls_of_many(many);
        match &self.data {
            Data::Null => Ok(new_null_array(&self.data_type(), many.count)),
            Data::Constant(values) => gather(values, vec![0; many.count], nulls()?),
            Data::Plain(array) => match self.kind {
                Kind::Int64 => self.plain::<Int64Type>(array, many, nulls()?),
                Kind::UInt64 => self.plain::<UInt64Type>(array, many, nulls()?),
                Kind::Float64 => self.plain::<Float64Type>(array, many, nulls()?),
                Kind::Utf8 | Kind::Binary if array.null_count() > 0 => {
                    gather(array, many.rows(), None)
                }
                Kind::Utf8 => gather_many(array.as_string::<i32>(), many),
                Kind::Binary => gather_many(array.as_binary::<i32>(), many),
                _ => many.filter(array),
            },
            Data::Ints(ints) => Ok(self.from_ints(IntSource::Many(ints, many), nulls()?)),
            Data::Runs(runs) => {
                let codes = many.gather(|rows, out| runs.codes(rows, out));
                gather(&runs.values, codes, nulls()?)
            }
            Data::Dictionary(codes, values) => gather(values, many.codes(codes), nulls()?),
        }
    }

    pub(super) fn nulls_of_many(&self, many: &Many<'_>) -> Result<Option<NullBuffer>> {
        let Some(nulls) = &self.nulls else { return Ok(None) };
        let valid = many.filter(&BooleanArray::new(nulls.inner().clone(), None))?;
        Ok(Some(NullBuffer::new(valid.as_boolean().values().clone())))
    }

    fn plain<T: ArrowPrimitiveType>(
        &self,
        array: &ArrayRef,
        many: &Many<'_>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let all = array.as_primitive::<T>().values();
        let mut values = many.room();
        for (rows, words) in many.steps() {
            append(&all[rows], words, &mut values);
        }
        Ok(self.array::<T>(values, nulls))
    }
}
