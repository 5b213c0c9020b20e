//! The selectivity of a predicate on text, measured on the values in the statistics.
//!
//! A predicate may be arbitrary, for example LIKE under a collation. It is therefore evaluated on
//! the most common values and on the bounds of the histogram's buckets, which represent the rest as
//! a sample would.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryArray, StringArray};
use pelorus_chunk::Scalar;
use pelorus_error::Result;

use super::{Bucket, ColumnStatistics, Histogram};
use crate::scan::ValueTest;

/// The share of the rows that a test on a column keeps; `None` when the statistics know no texts.
///
/// # Errors
/// Those of the test.
pub fn share_kept(column: &ColumnStatistics, test: &dyn ValueTest) -> Result<Option<f64>> {
    let known = Values::of(column);
    let Some(array) = array_of(&known.values, column.ty.is_binary_string()) else {
        return Ok(None);
    };
    let kept = test.keep(&array)?;
    let is_kept = |at: &usize| *at < kept.len() && kept.is_valid(*at) && kept.value(*at);
    let weight = |at: usize| known.weights[at];
    let all = known.values.len();
    let common: f64 = (0..known.common).filter(is_kept).map(weight).sum();
    let rest: f64 = (known.common..all).map(weight).sum();
    if rest <= 0.0 || known.rest <= 0.0 {
        return Ok(Some(common.clamp(0.0, 1.0)));
    }
    let found: f64 = (known.common..all).filter(is_kept).map(weight).sum();
    // Where no value was hit, it may still be one that lies between them.
    let hit = (0..all).filter(is_kept).count();
    let least = if hit == 0 { 1.0 / known.others.max(1.0) } else { 0.0 };
    Ok(Some((common + known.rest * (found / rest).max(least)).clamp(0.0, 1.0)))
}

/// The tested values, the common ones first, with their weights.
struct Values<'a> {
    values: Vec<&'a Scalar>,
    weights: Vec<f64>,
    /// How many are common values, whose weights are their shares.
    common: usize,
    /// The share of all rows that have other values, and how many such values there are.
    rest: f64,
    others: f64,
}

impl<'a> Values<'a> {
    fn of(column: &'a ColumnStatistics) -> Self {
        let (mut values, mut weights): (Vec<&Scalar>, Vec<f64>) =
            column.common.iter().map(|(value, share)| (value, *share)).unzip();
        let common = values.len();
        let shares: f64 = weights.iter().sum();
        let mut before = 0.0;
        let mut add = |ends: &[&'a Scalar], cumulative: f64| {
            let weight = (cumulative - before) / ends.len() as f64;
            before = cumulative;
            for &value in ends {
                if !column.common.iter().any(|(it, _)| it == value) {
                    values.push(value);
                    weights.push(weight);
                }
            }
        };
        match &column.histogram {
            None => {}
            Some(Histogram::Singleton { values, .. }) => {
                values.iter().for_each(|(value, cumulative)| add(&[value], *cumulative));
            }
            Some(Histogram::EquiHeight { buckets, .. }) => {
                for Bucket { low, high, cumulative, .. } in buckets {
                    add(&[low, high], *cumulative);
                }
            }
        }
        let rest = (1.0 - column.null_share - shares).max(0.0);
        let distinct = column.distinct.unwrap_or(0) as f64;
        Self { values, weights, common, rest, others: distinct - common as f64 }
    }
}

/// Texts as an array; `None` when they are none.
fn array_of(values: &[&Scalar], binary: bool) -> Option<ArrayRef> {
    let bytes = values.iter().map(|value| match value {
        Scalar::Bytes(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    let bytes = bytes.collect::<Option<Vec<&[u8]>>>().filter(|it| !it.is_empty())?;
    if binary {
        return Some(Arc::new(BinaryArray::from_vec(bytes)));
    }
    // Texts that were cut may end within a character.
    let texts = bytes.into_iter().map(String::from_utf8_lossy);
    Some(Arc::new(StringArray::from_iter_values(texts)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, BooleanArray};
    use pelorus_types::{ColumnType, collation};

    use super::*;

    /// Keeps texts that begin so.
    #[derive(Debug)]
    struct Begins(&'static str);

    impl ValueTest for Begins {
        fn keep(&self, values: &ArrayRef) -> Result<BooleanArray> {
            let values = values.as_string::<i32>();
            Ok(values.iter().map(|it| it.map(|it| it.starts_with(self.0))).collect())
        }
    }

    fn text(value: &str) -> Scalar {
        Scalar::Bytes(value.as_bytes().to_vec())
    }

    fn column(common: &[(&str, f64)], buckets: &[(&str, &str, f64)]) -> ColumnStatistics {
        let bucket = |(low, high, cumulative): &(&str, &str, f64)| Bucket {
            low: text(low),
            high: text(high),
            cumulative: *cumulative,
            distinct: 10,
        };
        let buckets: Vec<Bucket> = buckets.iter().map(bucket).collect();
        ColumnStatistics {
            column: 0,
            ty: ColumnType::varchar(20, collation::UTF8MB4_0900_AI_CI),
            taken: 0,
            rows: 1000,
            sampled: 1000,
            null_share: 0.1,
            distinct: Some(42),
            common: common.iter().map(|(value, share)| (text(value), *share)).collect(),
            histogram: (!buckets.is_empty()).then_some(Histogram::EquiHeight { asked: 4, buckets }),
        }
    }

    fn kept(column: &ColumnStatistics, begins: &'static str) -> Option<f64> {
        let share = share_kept(column, &Begins(begins)).unwrap()?;
        Some((share * 1000.0).round() / 1000.0)
    }

    #[test]
    fn common_values_are_known_and_buckets_stand_for_the_rest() {
        let few = column(&[("apple", 0.5), ("ant", 0.1), ("bee", 0.3)], &[]);
        assert_eq!(kept(&few, "a"), Some(0.6));
        assert_eq!(kept(&few, "x"), Some(0.0));
        let many = column(
            &[("apple", 0.3), ("bee", 0.2)],
            &[("ant", "apple", 0.45), ("bee", "cat", 0.7), ("cow", "dog", 0.9)],
        );
        // Of "ant", "cat", "cow", "dog" one begins so; its bucket is the largest.
        let ant = 0.225 / (0.225 + 0.125 + 0.1 + 0.1);
        assert_eq!(kept(&many, "a"), Some(((0.3 + 0.4 * ant) * 1000.0_f64).round() / 1000.0));
        // One of the forty other values.
        assert_eq!(kept(&many, "x"), Some(0.01));
        assert_eq!(kept(&column(&[], &[]), "a"), None);
    }
}
