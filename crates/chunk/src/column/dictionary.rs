//! Columns as dictionary codes and a list of values, for operators that work once a value, not once
//! a row.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, DictionaryArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt32Type};
use pelorus_error::{Error, Result};

use super::codes::Codes;
use super::many::Many;
use super::ranges::{self, Test};
use super::{Column, Data};
use crate::scalar::{Predicate, value_at};
use crate::selection::{Picked, Selection, Which};
use crate::{VECTOR_ROWS, vectors_of};

impl Column {
    /// Decodes picked rows as codes into values: `Dictionary(UInt32, type)`. Where the column is
    /// stored as a dictionary, a constant or runs, the values are those that are stored, in one
    /// array that all calls share; a value may be there several times. Otherwise they are made.
    ///
    /// # Errors
    /// As [`Column::decode`].
    pub fn decode_coded(&self, picked: &Picked) -> Result<ArrayRef> {
        self.check(&picked.range)?;
        let (codes, values) = match &self.data {
            Data::Constant(values) => (vec![0; picked.count()], values),
            Data::Runs(runs) => {
                let extend = |rows, out: &mut Vec<u32>| runs.codes(rows, out);
                (picked.gather(extend, |row| runs.find(row as usize)), &runs.values)
            }
            Data::Dictionary(codes, values) => {
                let extend = |rows, out: &mut Vec<u32>| codes.extend(rows, out);
                let found = match picked.many() {
                    Some(many) => many.codes(codes),
                    None => picked.gather(extend, |row| codes.get(row as usize)),
                };
                (found, values)
            }
            Data::Null | Data::Plain(_) | Data::Ints(_) => {
                return coded(&self.decode_picked(picked)?);
            }
        };
        let most = codes.iter().fold(0, |most: u32, code| most.max(*code));
        let codes = UInt32Array::new(codes.into(), self.nulls_of(picked)?);
        if (most as usize) < values.len() {
            // SAFETY: all codes are those of values. (Looking for the largest is several times as
            // fast as the look at every code that arrow has.)
            let array =
                unsafe { DictionaryArray::<UInt32Type>::new_unchecked(codes, Arc::clone(values)) };
            return Ok(Arc::new(array));
        }
        let array = DictionaryArray::<UInt32Type>::try_new(codes, Arc::clone(values));
        Ok(Arc::new(array.map_err(broken)?))
    }

    pub(super) fn nulls_of(&self, picked: &Picked) -> Result<Option<NullBuffer>> {
        match (&self.nulls, &picked.which) {
            (None, _) => Ok(None),
            (Some(nulls), Which::All) => {
                Ok(Some(nulls.slice(picked.range.start, picked.range.len())))
            }
            (Some(_), Which::Few(rows)) => Ok(self.nulls_of_rows(rows)),
            (Some(_), Which::Many(..)) => match picked.many() {
                Some(many) => self.nulls_of_many(&many),
                None => Ok(None),
            },
        }
    }

    /// Keeps the rows of a range whose values a test keeps: any test of single values, for example
    /// under a collation. It is called once for all values of runs, or of a dictionary that has no
    /// more of them than the range has rows, otherwise for the decoded rows of each vector in which
    /// a row is still selected. NULL is never kept, and neither is a value for which the test
    /// answers NULL.
    ///
    /// # Errors
    /// Those of the test; `Internal` for rows outside, a selection of another chunk, or a test
    /// without a result for every value.
    pub fn select_with(
        &self,
        keep: &dyn Fn(&ArrayRef) -> Result<BooleanArray>,
        rows: Range<usize>,
        selection: &mut Selection,
    ) -> Result<()> {
        self.check_selection(&rows, selection)?;
        let ask = |values: &ArrayRef| {
            let kept = keep(values)?;
            if kept.len() != values.len() {
                let (has, should) = (kept.len(), values.len());
                return Err(Error::internal(format!("a test answered {has} of {should} values")));
            }
            Ok(kept)
        };
        let holds = |kept: &BooleanArray, at: usize| kept.is_valid(at) && kept.value(at);
        match &self.data {
            Data::Null => selection.remove(rows),
            Data::Constant(values) => {
                if !holds(&ask(values)?, 0) {
                    selection.remove(rows.clone());
                }
                self.retain_valid(rows, selection);
            }
            Data::Dictionary(codes, values) if values.len() <= rows.len() => {
                let kept = ask(values)?;
                let test = test_of(kept.len(), |code| holds(&kept, code));
                codes.select(&test, rows, |word| self.valid_word(word), selection);
            }
            Data::Runs(runs) if !rows.is_empty() => {
                let (first, last) = (runs.find(rows.start), runs.find(rows.end - 1));
                let asked = runs.values.slice(first as usize, (last - first + 1) as usize);
                let kept = ask(&asked)?;
                for (run, rows) in runs.within(rows.clone()) {
                    if !holds(&kept, (run - first) as usize) {
                        selection.remove(rows);
                    }
                }
                self.retain_valid(rows, selection);
            }
            Data::Runs(_) | Data::Plain(_) | Data::Ints(_) | Data::Dictionary(..) => {
                for vector in rows.start / VECTOR_ROWS..vectors_of(rows.end) {
                    let start = rows.start.max(vector * VECTOR_ROWS);
                    let end = rows.end.min((vector + 1) * VECTOR_ROWS);
                    if selection.count_in(start..end) == 0 {
                        continue;
                    }
                    let kept = ask(&self.decode(start..end)?)?;
                    selection.retain(start..end, |word| {
                        let at =
                            |row: usize| (start..end).contains(&row) && holds(&kept, row - start);
                        let bits = |bits, row| bits << 1 | u64::from(at(row));
                        let hits = (word * 64..(word + 1) * 64).rev().fold(0, bits);
                        hits & self.valid_word(word)
                    });
                }
            }
        }
        Ok(())
    }

    /// Keeps the rows of a range whose dictionary values satisfy a predicate on values.
    pub(super) fn select_codes(
        &self,
        codes: &Codes,
        values: &ArrayRef,
        predicate: &Predicate,
        rows: Range<usize>,
        selection: &mut Selection,
    ) {
        let value = |code: usize| value_at(values, self.kind, code);
        let test = if self.kind.is_float() {
            // Floats stand in the order of their bits, in which zeros differ and NaNs have places.
            test_of(values.len(), |code| predicate.matches(value(code)))
        } else {
            let count = values.len() as u64;
            let value = |code: u64| value(usize::try_from(code).unwrap_or(usize::MAX));
            Test::of(&ranges::of_sorted(predicate, count, value), count)
        };
        codes.select(&test, rows, |word| self.valid_word(word), selection);
    }
}

impl Picked {
    pub(super) fn many(&self) -> Option<Many<'_>> {
        match &self.which {
            Which::Many(count, words) => {
                Some(Many { range: self.range.clone(), count: *count, words })
            }
            Which::All | Which::Few(_) => None,
        }
    }

    /// The values in the picked rows, from functions that append a range and that find one.
    fn gather(
        &self,
        extend: impl Fn(Range<usize>, &mut Vec<u32>),
        find: impl Fn(u32) -> u32,
    ) -> Vec<u32> {
        match (&self.which, self.many()) {
            (_, Some(many)) => many.gather(extend),
            (Which::Few(rows), None) => rows.iter().map(|&row| find(row)).collect(),
            (_, None) => {
                let mut out = Vec::with_capacity(self.range.len());
                extend(self.range.clone(), &mut out);
                out
            }
        }
    }
}

/// An array as `Dictionary(UInt32, type)`; every value occurs once.
///
/// # Errors
/// `Internal` for types that have no dictionaries.
pub fn coded(array: &ArrayRef) -> Result<ArrayRef> {
    let ty = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(array.data_type().clone()));
    cast(array, &ty).map_err(broken)
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("codes of a column").caused_by(error)
}

/// The test that a code is one of those that hold.
fn test_of(codes: usize, holds: impl Fn(usize) -> bool) -> Test<u64> {
    let kept = (0..codes).filter(|&code| holds(code)).map(|code| code as u64..code as u64 + 1);
    Test::of(&ranges::merge(kept.collect()), codes as u64)
}
