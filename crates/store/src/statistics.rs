//! Column statistics: plain data, computed by `ANALYZE TABLE` and used by the planner.
//!
//! | module | owns |
//! | --- | --- |
//! | `collect` | counting the values of a sample |
//! | `distinct` | the number of distinct values of a table, estimated from a sample |
//! | `histogram` | histograms, built from counted values |
//! | `selectivity` | the selectivity of conditions |
//! | `tested` | the selectivity of a predicate on text |
//! | `format` | the bytes (`docs/internals/format-store.md`) |
//!
//! Selectivities are shares of all rows, including NULLs, from 0 to 1.

mod collect;
mod distinct;
mod format;
mod histogram;
mod selectivity;
mod tested;

use pelorus_chunk::Scalar;
use pelorus_types::{ColumnType, Flags};

use crate::catalog::schema::StoredColumn;

pub use collect::{Collector, Counted};
pub use distinct::distinct_of_sample;
pub use histogram::{Bucket, Histogram};
pub use selectivity::selectivity;
pub use tested::share_kept;

/// Maximum number of the most common values.
pub const COMMON_MAX: usize = 16;

/// The statistics of a table's columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStatistics {
    /// The columns that were analysed, by no order.
    pub columns: Vec<ColumnStatistics>,
}

/// The statistics of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// The store's number of the column.
    pub column: u32,
    /// The type of the column then. Under another one the statistics say nothing.
    pub ty: ColumnType,
    /// When it was analysed: microseconds since 1970 UTC.
    pub taken: u64,
    /// How many rows the table had.
    pub rows: u64,
    /// How many of them were read.
    pub sampled: u64,
    /// The share of NULLs.
    pub null_share: f64,
    /// How many distinct values there were, NULL not counted; exact when all rows were read.
    /// `None` where values cannot be compared.
    pub distinct: Option<u64>,
    /// The most common values with their shares, falling. Texts represent all that compare equal,
    /// and are truncated at [`Collector::TEXT_CHARS`] characters.
    pub common: Vec<(Scalar, f64)>,
    /// How values are spread; `None` when there are none, or it was dropped.
    pub histogram: Option<Histogram>,
}

impl TableStatistics {
    /// The statistics of a column in its current form.
    pub fn column(&self, stored: &StoredColumn) -> Option<&ColumnStatistics> {
        let found = self.columns.iter().find(|it| it.column == stored.id)?;
        same_values(&found.ty, &stored.ty).then_some(found)
    }

    /// Replaces the statistics of a column.
    pub fn put(&mut self, column: ColumnStatistics) {
        self.columns.retain(|it| it.column != column.column);
        self.columns.push(column);
    }
}

impl ColumnStatistics {
    /// Makes the statistics of a column of its counted values. `buckets` is the most that a
    /// histogram may have.
    pub fn of(
        (stored, is_unique): (&StoredColumn, bool),
        (taken, rows): (u64, u64),
        counted: &Counted,
        buckets: u32,
    ) -> Self {
        let sampled = counted.rows;
        let share = |count: u64| if sampled == 0 { 0.0 } else { count as f64 / sampled as f64 };
        let values = counted.values.as_ref();
        let not_null = counted.rows - counted.nulls;
        // The rows of the whole table that are not NULL.
        let there = rounded(rows as f64 * (1.0 - share(counted.nulls)));
        let distinct = values.map(|values| {
            let once = values.iter().filter(|(_, count)| *count == 1).count() as u64;
            match is_unique {
                true => there.max(values.len() as u64),
                false => distinct_of_sample(there, not_null, values.len() as u64, once),
            }
        });
        Self {
            column: stored.id,
            ty: stored.ty,
            taken,
            rows,
            sampled,
            null_share: share(counted.nulls),
            distinct,
            common: match (values, distinct) {
                (Some(values), Some(distinct)) => common(values, (sampled, rows), distinct),
                _ => Vec::new(),
            },
            histogram: values.and_then(|it| {
                let scale = match (distinct, it.len() as u64) {
                    (Some(all), seen) if seen > 0 => (all as f64 / seen as f64).max(1.0),
                    _ => 1.0,
                };
                Histogram::of(it, sampled, scale, buckets)
            }),
        }
    }

    /// Whether every row was read.
    pub fn is_complete(&self) -> bool {
        self.sampled >= self.rows
    }
}

/// An estimate as a count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn rounded(estimate: f64) -> u64 {
    estimate.round() as u64
}

/// The most common values of counted ones. Of a sample only those count that chance alone does not
/// explain: five standard deviations above the mean of all `distinct` values.
fn common(
    values: &[(Scalar, u64)],
    (sampled, rows): (u64, u64),
    distinct: u64,
) -> Vec<(Scalar, f64)> {
    let is_complete = sampled >= rows;
    let least = match (values.len() <= COMMON_MAX, is_complete) {
        // Of few values all are common.
        (true, _) => 0.0,
        (false, true) => 1.0,
        (false, false) => {
            let counted: u64 = values.iter().map(|(_, count)| count).sum();
            let mean = counted as f64 / distinct.max(1) as f64;
            mean + 5.0 * mean.sqrt()
        }
    };
    let mut found: Vec<&(Scalar, u64)> =
        values.iter().filter(|(_, count)| *count as f64 > least).collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found.truncate(COMMON_MAX);
    found
        .into_iter()
        .map(|(value, count)| (value.clone(), *count as f64 / sampled as f64))
        .collect()
}

/// Whether values of two types are stored alike and compare alike.
fn same_values(a: &ColumnType, b: &ColumnType) -> bool {
    let unsigned = |ty: &ColumnType| ty.flags.has(Flags::UNSIGNED);
    let stored = |ty: &ColumnType| (ty.wire, ty.collation, ty.decimals, unsigned(ty));
    stored(a) == stored(b)
}

#[cfg(test)]
mod tests;
