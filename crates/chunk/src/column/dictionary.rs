//! Columns as codes into a list of values: for operators that work once a value, not once a row.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, DictionaryArray, UInt32Array};
use arrow::datatypes::UInt32Type;
use pelorus_error::{Error, Result};

use super::codes::Codes;
use super::ranges::{self, Test};
use super::{Column, Data};
use crate::scalar::{Predicate, value_at};
use crate::selection::Selection;
use crate::{VECTOR_ROWS, vectors_of};

/// The values behind the codes of a column.
#[derive(Clone, Debug)]
pub struct Dictionary {
    /// The values, none of them NULL.
    pub values: ArrayRef,
    /// Whether the values are distinct and rise bytewise or by number; the values of runs do not.
    pub distinct: bool,
}

impl Column {
    /// The values behind [`Column::codes`]: of dictionaries, of runs (one a run) and of constants.
    /// `None` for other codecs, and if every row is NULL.
    pub fn dictionary(&self) -> Option<Dictionary> {
        let (values, distinct) = match &self.data {
            Data::Constant(values) | Data::Dictionary(_, values) => (values, true),
            Data::Runs(runs) => (&runs.values, false),
            Data::Null | Data::Plain(_) | Data::Ints(_) => return None,
        };
        Some(Dictionary { values: Arc::clone(values), distinct })
    }

    /// Appends the code of each row: its place in [`Column::dictionary`]. NULLs have any code.
    /// Returns whether there is a dictionary; otherwise `out` is untouched.
    ///
    /// # Errors
    /// `Internal` for rows outside.
    pub fn codes(&self, rows: Range<usize>, out: &mut Vec<u32>) -> Result<bool> {
        self.check(&rows)?;
        match &self.data {
            Data::Constant(_) => out.extend(std::iter::repeat_n(0, rows.len())),
            Data::Runs(runs) => runs.codes(rows, out),
            Data::Dictionary(codes, _) => codes.extend(rows, out),
            Data::Null | Data::Plain(_) | Data::Ints(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Decodes a range of rows to codes and values, if the column has a dictionary. The values
    /// are shared, not copied; those of runs may repeat.
    ///
    /// # Errors
    /// `Internal` for rows outside.
    pub fn decode_dictionary(
        &self,
        rows: Range<usize>,
    ) -> Result<Option<DictionaryArray<UInt32Type>>> {
        let mut codes = Vec::new();
        let Some(dictionary) = self.dictionary() else { return Ok(None) };
        self.codes(rows.clone(), &mut codes)?;
        let nulls = self.nulls.as_ref().map(|nulls| nulls.slice(rows.start, rows.len()));
        let array =
            DictionaryArray::try_new(UInt32Array::new(codes.into(), nulls), dictionary.values);
        array.map(Some).map_err(|e| Error::internal("codes of a chunk").caused_by(e))
    }

    /// Keeps the rows of a range whose values a test keeps: any test of single values, for
    /// example under a collation. It is asked once for all values of a dictionary or of runs,
    /// otherwise for the decoded rows of each vector in which a row is still selected. NULL is
    /// never kept, and neither is a value for which the test answers NULL.
    ///
    /// # Errors
    /// Those of the test; `Internal` for rows outside, a selection of another chunk, or a test
    /// that does not answer for every value.
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
            Data::Dictionary(codes, values) => {
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
            Data::Runs(_) | Data::Plain(_) | Data::Ints(_) => {
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

/// The test that a code is one of those that hold.
fn test_of(codes: usize, holds: impl Fn(usize) -> bool) -> Test<u64> {
    let kept = (0..codes).filter(|&code| holds(code)).map(|code| code as u64..code as u64 + 1);
    Test::of(&ranges::merge(kept.collect()), codes as u64)
}
