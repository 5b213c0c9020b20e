//! Cardinality estimates of a scan of a native table: its rows, and the distinct values of its
//! columns, from the statistics of `ANALYZE TABLE`.

use std::sync::Arc;

use datafusion::common::ColumnStatistics as Known;
use datafusion::common::stats::Precision;
use pelorus_chunk::{Op, Predicate};
use pelorus_error::Result;
use pelorus_store::{ColumnStatistics, ValueTest, selectivity, share_kept};

use crate::context::NativeTable;

/// The share of the rows that a condition keeps of which nothing is known is one of so many.
const UNKNOWN: usize = 5;

/// The estimated result of a scan.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    /// About so many rows.
    pub(super) rows: usize,
    /// Whether there are just so many.
    pub(super) is_exact: bool,
    /// The statistics of each column of the table.
    pub(super) columns: Vec<Known>,
}

impl Estimate {
    /// Estimates a scan that reads `stored` rows at most, and `own` rows of a transaction, under
    /// predicates and tests of texts.
    ///
    /// # Errors
    /// Those of the tests.
    pub(super) fn of(
        table: &NativeTable,
        (predicates, on_texts): (&[(usize, Predicate)], &[(usize, Arc<dyn ValueTest>)]),
        (stored, own): (usize, usize),
    ) -> Result<Self> {
        let has_conditions = !predicates.is_empty() || !on_texts.is_empty();
        // Counting all rows looks at every part, for which there must be a use.
        let now = match table.statistics {
            None if has_conditions => stored,
            _ => usize::try_from(table.table.rows()).unwrap_or(usize::MAX),
        };
        let schema = table.table.schema();
        let analysed =
            |at: usize| table.statistics.as_ref().and_then(|it| it.column(schema.columns.get(at)?));
        let mut kept = KeptRows::new(stored, now);
        let mut shares = vec![None; schema.columns.len()];
        for (at, share) in shares.iter_mut().enumerate() {
            let on: Vec<&Predicate> =
                predicates.iter().filter(|it| it.0 == at).map(|it| &it.1).collect();
            if !on.is_empty() {
                let found = analysed(at).and_then(|it| Some((selectivity(it, &on)?, it.rows)));
                // Most rows are there and different from one value.
                let keeps_most = |it: &&&Predicate| {
                    matches!(it, Predicate::Compare(Op::Ne, _) | Predicate::IsNotNull)
                };
                kept.test(found, on.len() - on.iter().filter(keeps_most).count());
                *share = found.map(|(share, _)| share);
            }
        }
        for (at, test) in on_texts {
            let found = match analysed(*at) {
                Some(column) => share_kept(column, test.as_ref())?.map(|it| (it, column.rows)),
                None => None,
            };
            kept.test(found, 1);
            if let (Some((share, _)), Some(of_column)) = (found, shares.get_mut(*at)) {
                *of_column = Some(of_column.unwrap_or(1.0) * share);
            }
        }
        let is_exact = !has_conditions && !table.is_part && table.own.is_none();
        let rows = if is_exact { now } else { kept.rows() + own };
        let columns = (0..schema.columns.len())
            .map(|at| match analysed(at) {
                Some(column) => known(column, shares[at], (now, rows)),
                // A key of one column has as many values as there are rows.
                None if schema.key == [at] => Known {
                    distinct_count: Precision::Inexact(rows),
                    null_count: Precision::Inexact(0),
                    ..Known::new_unknown()
                },
                None => Known::new_unknown(),
            })
            .collect();
        Ok(Self { rows, is_exact, columns })
    }
}

/// How many rows some conditions leave.
#[derive(Clone, Copy, Debug)]
struct KeptRows {
    /// Rows of the parts that are read.
    stored: usize,
    /// Rows of the table now.
    now: usize,
    /// Rows of the table when it was analysed.
    then: usize,
    /// The share of those that is left.
    share: f64,
    /// The share that is left of rows of which nothing is known: one of so many.
    guess: usize,
    /// The same for the conditions of which nothing is known.
    unknown: usize,
}

impl KeptRows {
    fn new(stored: usize, now: usize) -> Self {
        Self { stored, now, then: now, share: 1.0, guess: 1, unknown: 1 }
    }

    /// Takes the conditions on a column in: the share that they keep with the rows of the table
    /// when that was found, or how many they are.
    fn test(&mut self, found: Option<(f64, u64)>, conditions: usize) {
        let guess = (0..conditions).fold(1, |all: usize, _| all.saturating_mul(UNKNOWN));
        match found {
            Some((share, rows)) => {
                self.share *= share;
                self.guess = self.guess.saturating_mul(guess);
                self.then = self.then.min(usize::try_from(rows).unwrap_or(usize::MAX));
            }
            None => self.unknown = self.unknown.saturating_mul(guess),
        }
    }

    /// The estimated rows. Rows that are newer than the statistics may all match.
    fn rows(self) -> usize {
        if self.stored == 0 {
            return 0;
        }
        let old = whole((self.then as f64 * self.share).ceil());
        let new = (self.now - self.then).min(self.stored).div_ceil(self.guess);
        old.saturating_add(new).clamp(1, self.stored).div_ceil(self.unknown)
    }
}

/// An estimate as a number of rows.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn whole(rows: f64) -> usize {
    rows as usize
}

/// The statistics of a column after conditions leave `rows` of `now` rows. `share` is the
/// selectivity of the conditions on the column itself.
fn known(column: &ColumnStatistics, share: Option<f64>, (now, rows): (usize, usize)) -> Known {
    let nulls = match share {
        // No condition but IS NULL lets NULLs pass.
        Some(_) => Precision::Absent,
        None => Precision::Inexact(whole((rows as f64 * column.null_share).round())),
    };
    let distinct = column.distinct.map(|distinct| {
        let not_null = 1.0 - column.null_share;
        let passing =
            share.map_or(1.0, |share| if not_null > 0.0 { share / not_null } else { 0.0 });
        let distinct = (distinct as f64 * passing).max(1.0);
        let from = now as f64 * share.unwrap_or(1.0);
        whole(distinct_left(distinct, from, rows as f64).ceil()).min(rows)
    });
    Known {
        null_count: nulls,
        distinct_count: distinct.map_or(Precision::Absent, Precision::Inexact),
        ..Known::new_unknown()
    }
}

/// How many of the distinct values of `all` rows are left in `kept` rows that are picked without
/// regard to them: Cardenas' formula ("Analysis and performance of inverted data base structures",
/// CACM 18, 1975), in its limit for shares of the rows.
fn distinct_left(distinct: f64, all: f64, kept: f64) -> f64 {
    if distinct <= 0.0 || kept >= all {
        return distinct.max(0.0);
    }
    let rows_of_each = all / distinct;
    let missed = (1.0 - kept / all).powf(rows_of_each);
    distinct * (1.0 - missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(stored: usize, now: usize, found: &[(Option<(f64, u64)>, usize)]) -> usize {
        let mut kept = KeptRows::new(stored, now);
        for (found, conditions) in found {
            kept.test(*found, *conditions);
        }
        kept.rows()
    }

    #[test]
    fn shares_multiply_and_unknown_conditions_keep_a_fifth() {
        assert_eq!(rows(1000, 1000, &[]), 1000);
        assert_eq!(rows(1000, 1000, &[(None, 2)]), 40);
        assert_eq!(rows(1000, 1000, &[(Some((0.5, 1000)), 1), (Some((0.1, 1000)), 2)]), 50);
        assert_eq!(rows(1000, 1000, &[(Some((0.5, 1000)), 1), (None, 1)]), 100);
        assert_eq!(rows(1000, 1000, &[(Some((0.0, 1000)), 1)]), 1);
        assert_eq!(rows(0, 1000, &[(Some((0.5, 1000)), 1)]), 0);
    }

    #[test]
    fn parts_that_are_left_out_are_not_counted_twice() {
        // A tenth of the rows fulfil the condition; the scan reads 120 rows of the parts with them.
        assert_eq!(rows(120, 1000, &[(Some((0.1, 1000)), 1)]), 100);
        assert_eq!(rows(80, 1000, &[(Some((0.1, 1000)), 1)]), 80);
    }

    #[test]
    fn rows_that_came_since_count_as_unknown() {
        assert_eq!(rows(2000, 2000, &[(Some((0.0, 1000)), 1)]), 200);
        assert_eq!(rows(500, 1000, &[(Some((0.5, 9000)), 1)]), 500);
    }

    #[test]
    fn distinct_values_fall_with_the_rows() {
        let left = |distinct, all, kept| whole(distinct_left(distinct, all, kept).round());
        assert_eq!(left(10.0, 1000.0, 1000.0), 10);
        assert_eq!(left(10.0, 1000.0, 500.0), 10);
        assert_eq!(left(1000.0, 1000.0, 100.0), 100);
        assert_eq!(left(100.0, 1000.0, 100.0), 65);
        assert_eq!(left(0.0, 0.0, 0.0), 0);
    }
}
