//! Zero dates in rows that MySQL copies: MySQL stores each value again, under the session's
//! `sql_mode`, which may forbid zero dates.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::{Field, Int64Type, Schema};
use pelorus_error::{Error, Result};
use pelorus_functions::SqlMode;
use pelorus_store::{ScanRequest, ValueTest};
use pelorus_types::temporal::DateTime;

use super::plan::{Plan, Source};
use crate::ddl::Definer;
use crate::definition::NativeDef;
use crate::hidden::is_hidden;

/// Rows of a batch of a scan.
const BATCH_ROWS: usize = 8192;

/// Holds for dates that a `sql_mode` does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct OddDates {
    no_zero: bool,
    no_zero_in_date: bool,
}

impl OddDates {
    /// Those of a mode; `None` where it has all dates.
    pub(super) fn of(mode: &SqlMode) -> Option<Self> {
        let odd = Self { no_zero: mode.no_zero_date, no_zero_in_date: mode.no_zero_in_date };
        (odd.no_zero || odd.no_zero_in_date).then_some(odd)
    }

    fn has(self, packed: i64) -> bool {
        let date = DateTime::unpack(packed);
        match (date.year, date.month, date.day) {
            (0, 0, 0) => self.no_zero,
            (_, 0, _) | (_, _, 0) => self.no_zero_in_date,
            _ => false,
        }
    }

    /// Whether any value of an array of packed dates is one.
    pub(super) fn any(self, values: &ArrayRef) -> bool {
        let values = values.as_primitive_opt::<Int64Type>();
        values.is_some_and(|values| values.iter().flatten().any(|packed| self.has(packed)))
    }
}

impl ValueTest for OddDates {
    fn keep(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let values = values.as_primitive_opt::<Int64Type>();
        let values = values.ok_or_else(|| Error::internal("dates that are no numbers"))?;
        Ok(values.iter().map(|packed| Some(packed.is_some_and(|it| self.has(it)))).collect())
    }
}

impl Definer {
    /// Dates that the session's `sql_mode` does not have. Copies have whatever their sources have.
    pub(super) fn odd_dates(&self, def: &NativeDef) -> Option<OddDates> {
        OddDates::of(&self.policy().sql_mode).filter(|_| !is_hidden(&def.database))
    }

    /// Whether a column that a plan keeps has a date which MySQL looks at when it copies the rows.
    ///
    /// # Errors
    /// Errors of reading.
    pub(super) fn has_odd_dates(&self, def: &NativeDef, plan: &Plan) -> Result<bool> {
        let Some(odd) = plan.odd_dates else { return Ok(false) };
        let snapshot = self.catalog.store().snapshot();
        let table = snapshot.table(def.id)?;
        for source in &plan.sources {
            let Source::Kept(column) = source else { continue };
            let ty = &def.targets[*column].ty;
            if !ty.is_date() {
                continue;
            }
            let request = ScanRequest {
                columns: vec![*column],
                predicates: Vec::new(),
                tests: vec![(*column, Arc::new(odd))],
                schema: Arc::new(Schema::new(vec![Field::new("c", ty.arrow(), true)])),
                hidden: None,
                batch_rows: BATCH_ROWS,
            };
            for unit in table.scan(request, |_| true)? {
                self.stop.check()?;
                let mut cursor = unit.open()?;
                while let Some(batch) = cursor.next_batch()? {
                    if batch.num_rows() > 0 {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn a_mode_says_which_dates_are_odd() {
        let packed = |year, month, day| DateTime { year, month, day, ..DateTime::default() }.pack();
        let values: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(packed(2024, 1, 2)),
            None,
            Some(packed(0, 0, 0)),
            Some(packed(2024, 0, 2)),
            Some(packed(0, 1, 0)),
        ]));
        let kept = |no_zero_date, no_zero_in_date| {
            let mode = SqlMode { no_zero_date, no_zero_in_date, ..SqlMode::default() };
            let odd = OddDates::of(&mode)?;
            let kept = odd.keep(&values).unwrap();
            Some(kept.iter().map(|it| u8::from(it == Some(true))).collect::<Vec<_>>())
        };
        assert_eq!(kept(false, false), None);
        assert_eq!(kept(true, false), Some(vec![0, 0, 1, 0, 0]));
        assert_eq!(kept(false, true), Some(vec![0, 0, 0, 1, 1]));
        assert_eq!(kept(true, true), Some(vec![0, 0, 1, 1, 1]));
    }
}
