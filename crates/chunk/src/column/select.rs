//! Evaluates predicates on encoded columns: each narrows a selection without decoding.

use std::ops::Range;

use pelorus_error::{Error, Result};

use super::plain::Scan;
use super::{Column, Data};
use crate::scalar::{Predicate, Scalar, value_at};
use crate::selection::Selection;

impl Column {
    /// Keeps the selected rows of a range that satisfy the predicate. Rows outside the range
    /// stay as they are. Text compares bytewise; see [`Column::select_with`] for collations.
    ///
    /// # Errors
    /// `Internal` for rows outside, a selection of another chunk, or a constant of another sort
    /// than the column's values.
    pub fn select(
        &self,
        predicate: &Predicate,
        rows: Range<usize>,
        selection: &mut Selection,
    ) -> Result<()> {
        self.check_selection(&rows, selection)?;
        if let Some(scalar) = predicate.scalars().find(|scalar| !scalar.fits(self.kind)) {
            let kind = self.data_type();
            return Err(Error::internal(format!("a {kind} column compared with {scalar:?}")));
        }
        match (predicate, &self.data) {
            (Predicate::IsNull, Data::Null) => {}
            (Predicate::IsNull, _) => selection.retain(rows, |word| !self.valid_word(word)),
            (_, Data::Null) => selection.remove(rows),
            (Predicate::IsNotNull, _) => self.retain_valid(rows, selection),
            _ => self.select_values(predicate, rows, selection),
        }
        Ok(())
    }

    /// Evaluates a predicate on values; the column has some.
    fn select_values(&self, predicate: &Predicate, rows: Range<usize>, selection: &mut Selection) {
        let nan = |scalar: &Scalar| matches!(scalar, Scalar::Float(value) if value.is_nan());
        if predicate.scalars().any(nan) {
            // A NaN has no place in an order, so nothing faster than the definition is safe.
            let hit = |row: usize| row < self.rows && predicate.matches(self.value(row));
            let bits = |bits, row| bits << 1 | u64::from(hit(row));
            selection.retain(rows, |word| (word * 64..(word + 1) * 64).rev().fold(0, bits));
            return;
        }
        match &self.data {
            Data::Null => selection.remove(rows),
            Data::Constant(values) => {
                if !predicate.matches(value_at(values, self.kind, 0)) {
                    selection.remove(rows.clone());
                }
                self.retain_valid(rows, selection);
            }
            Data::Plain(values) => {
                Scan { column: self, rows, selection }.select(values, predicate);
            }
            Data::Ints(ints) => ints.select(self, predicate, rows, selection),
            Data::Runs(runs) => {
                for (run, rows) in runs.within(rows.clone()) {
                    if !predicate.matches(value_at(&runs.values, self.kind, run as usize)) {
                        selection.remove(rows);
                    }
                }
                self.retain_valid(rows, selection);
            }
            Data::Dictionary(codes, values) => {
                self.select_codes(codes, values, predicate, rows, selection);
            }
        }
    }

    pub(super) fn check_selection(&self, rows: &Range<usize>, selection: &Selection) -> Result<()> {
        if selection.rows() != self.rows {
            let (has, should) = (selection.rows(), self.rows);
            return Err(Error::internal(format!("a selection of {has} rows, not {should}")));
        }
        self.check(rows)
    }

    /// The bits of a word whose rows are not NULL.
    #[inline]
    pub(super) fn valid_word(&self, word: usize) -> u64 {
        match &self.validity {
            None => u64::MAX,
            Some(bits) => {
                let words = bits.as_slice().as_chunks::<8>().0;
                words.get(word).map_or(0, |bits| u64::from_le_bytes(*bits))
            }
        }
    }

    /// Takes NULLs out of a range.
    pub(super) fn retain_valid(&self, rows: Range<usize>, selection: &mut Selection) {
        if self.validity.is_some() {
            selection.retain(rows, |word| self.valid_word(word));
        }
    }
}
