//! Decoding many, but not all, rows of a range: what scans of tables with dead rows read.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, new_null_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::compute::filter;
use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use pelorus_error::{Error, Result};

use super::compact::compact;
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
    /// Gathers the values of these rows. `extend` appends those of a range; it is asked for as many
    /// as stay in the fastest cache until the rest of them is dropped.
    pub(super) fn gather<T: Copy>(&self, extend: impl Fn(Range<usize>, &mut Vec<T>)) -> Vec<T> {
        const STEP: usize = 1024;
        let mut values = Vec::with_capacity(self.count + STEP);
        for (at, words) in self.words.chunks(STEP / 64).enumerate() {
            let begin = self.range.start + at * STEP;
            let kept = values.len();
            extend(begin..self.range.end.min(begin + STEP), &mut values);
            compact(&mut values, kept, words);
        }
        values
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
            Data::Dictionary(codes, values) => {
                let codes = many.gather(|rows, out| codes.extend(rows, out));
                gather(values, codes, nulls()?)
            }
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
        let values = array.as_primitive::<T>().values();
        let extend = |rows: Range<usize>, out: &mut Vec<_>| out.extend_from_slice(&values[rows]);
        Ok(self.array::<T>(many.gather(extend), nulls))
    }
}
