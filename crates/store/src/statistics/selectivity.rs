//! The selectivity of conditions on a column.
//!
//! The bounds of a range are combined, so that `c >= 5 AND c < 8` is one interval; other conditions
//! on a column count as independent of each other.

use std::cmp::Ordering;

use pelorus_chunk::{Op, Predicate, Scalar, Value};

use super::{Bucket, ColumnStatistics, Histogram};

/// The share of the rows that fulfils all of some conditions on a column; `None` when the
/// statistics say nothing of one of them, or the table was empty.
pub fn selectivity(column: &ColumnStatistics, predicates: &[&Predicate]) -> Option<f64> {
    if column.rows == 0 {
        return None;
    }
    let not_null = 1.0 - column.null_share;
    let is_null = |it: &&&Predicate| matches!(it, Predicate::IsNull);
    let nulls = predicates.iter().filter(is_null).count();
    if nulls > 0 {
        return Some(if nulls == predicates.len() { column.null_share } else { 0.0 });
    }
    if not_null <= 0.0 {
        return Some(0.0);
    }
    let known = Known::of(column)?;
    let (mut low, mut high, mut share) = (0.0_f64, not_null, 1.0);
    for predicate in predicates {
        match predicate {
            Predicate::Compare(Op::Eq, value) => share *= known.equal(value)? / not_null,
            Predicate::Compare(Op::Ne, value) => {
                share *= (1.0 - known.equal(value)? / not_null).max(0.0);
            }
            Predicate::Compare(Op::Ge, value) => low = low.max(known.below(value)?),
            Predicate::Compare(Op::Gt, value) => low = low.max(known.up_to(value)?),
            Predicate::Compare(Op::Lt, value) => high = high.min(known.below(value)?),
            Predicate::Compare(Op::Le, value) => high = high.min(known.up_to(value)?),
            Predicate::Between(from, to) => {
                low = low.max(known.below(from)?);
                high = high.min(known.up_to(to)?);
            }
            Predicate::In(list) => {
                // Of a long list, which has each constant once, a sample speaks for all.
                let step = list.len().div_ceil(SAMPLE).max(1);
                let mut sum = 0.0;
                for value in list.iter().step_by(step) {
                    sum += known.equal(value)?;
                }
                let asked = list.len().div_ceil(step).max(1);
                sum *= list.len() as f64 / asked as f64;
                share *= (sum / not_null).min(1.0);
            }
            Predicate::IsNull | Predicate::IsNotNull => {}
        }
    }
    Some((share * (high - low)).clamp(0.0, not_null))
}

/// How many constants of a list are looked up.
const SAMPLE: usize = 256;

/// The statistics of a column whose values compare as they are stored.
struct Known<'a> {
    column: &'a ColumnStatistics,
    not_null: f64,
}

impl<'a> Known<'a> {
    fn of(column: &'a ColumnStatistics) -> Option<Self> {
        // Text under a collation is not compared by its bytes.
        let plain = !column.ty.is_string() || column.ty.is_binary_string();
        plain.then_some(Self { column, not_null: 1.0 - column.null_share })
    }

    /// The share of the rows that have a value.
    fn equal(&self, value: &Scalar) -> Option<f64> {
        for (common, share) in &self.column.common {
            if compare(common, value)?.is_eq() {
                return Some(*share);
            }
        }
        match self.column.histogram.as_ref() {
            Some(Histogram::Singleton { values, .. }) => {
                let mut before = 0.0;
                for (seen, cumulative) in values {
                    if compare(seen, value)?.is_eq() {
                        return Some(cumulative - before);
                    }
                    before = *cumulative;
                }
                Some(self.unseen())
            }
            Some(Histogram::EquiHeight { buckets, .. }) => {
                let mut before = 0.0;
                for bucket in buckets {
                    if within(bucket, value)? {
                        return Some(self.equal_within(bucket, bucket.cumulative - before));
                    }
                    before = bucket.cumulative;
                }
                Some(self.unseen())
            }
            None => Some(self.other()),
        }
    }

    /// The share of a value of a bucket that is not among the most common ones.
    fn equal_within(&self, bucket: &Bucket, share: f64) -> f64 {
        let common = self.column.common.iter();
        let inside: Vec<f64> = common
            .filter(|(value, _)| within(bucket, value) == Some(true))
            .map(|(_, share)| *share)
            .collect();
        let left = (share - inside.iter().sum::<f64>()).max(0.0);
        let values = bucket.distinct.saturating_sub(inside.len() as u64).max(1);
        left / values as f64
    }

    /// The share of a value that the histogram does not have.
    fn unseen(&self) -> f64 {
        if self.column.is_complete() { 0.0 } else { self.other() }
    }

    /// The share of a value of which only the number of distinct values speaks.
    fn other(&self) -> f64 {
        let common: f64 = self.column.common.iter().map(|(_, share)| share).sum();
        let left = (self.not_null - common).max(0.0);
        let distinct = self.column.distinct.unwrap_or(1);
        left / distinct.saturating_sub(self.column.common.len() as u64).max(1) as f64
    }

    /// The share of the rows with values below one.
    fn below(&self, value: &Scalar) -> Option<f64> {
        self.share_before(value, false)
    }

    /// The share of the rows with values up to one.
    fn up_to(&self, value: &Scalar) -> Option<f64> {
        self.share_before(value, true)
    }

    fn share_before(&self, value: &Scalar, with: bool) -> Option<f64> {
        let mut before = 0.0;
        match self.column.histogram.as_ref()? {
            Histogram::Singleton { values, .. } => {
                for (seen, cumulative) in values {
                    let order = compare(seen, value)?;
                    if order.is_gt() || order.is_eq() && !with {
                        break;
                    }
                    before = *cumulative;
                }
            }
            Histogram::EquiHeight { buckets, .. } => {
                for bucket in buckets {
                    if compare(&bucket.low, value)?.is_gt() {
                        break;
                    }
                    if compare(&bucket.high, value)?.is_lt() {
                        before = bucket.cumulative;
                        continue;
                    }
                    // The values of a bucket lie at even distances, with as many rows each.
                    let each = (bucket.cumulative - before) / bucket.distinct.max(1) as f64;
                    let others = bucket.cumulative - before - each;
                    before += others * position(&bucket.low, &bucket.high, value);
                    before += if with { each } else { 0.0 };
                    break;
                }
            }
        }
        Some(before)
    }
}

fn compare(a: &Scalar, b: &Scalar) -> Option<Ordering> {
    a.as_value().compare(b)
}

fn within(bucket: &Bucket, value: &Scalar) -> Option<bool> {
    Some(compare(&bucket.low, value)?.is_le() && compare(&bucket.high, value)?.is_ge())
}

/// Where a value lies between two others, from 0 to 1.
fn position(low: &Scalar, high: &Scalar, value: &Scalar) -> f64 {
    let (part, whole) = match (low.as_value(), high.as_value(), value.as_value()) {
        (Value::Int(low), Value::Int(high), Value::Int(value)) => {
            (value.saturating_sub(low) as f64, high.saturating_sub(low) as f64)
        }
        (Value::Float(low), Value::Float(high), Value::Float(value)) => (value - low, high - low),
        (Value::Bytes(low), Value::Bytes(high), Value::Bytes(value)) => {
            let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
            let number = |bytes: &[u8]| {
                let digits = bytes.iter().skip(same).chain(std::iter::repeat(&0)).take(8);
                digits.fold(0.0, |sum, digit| sum * 256.0 + f64::from(*digit))
            };
            (number(value) - number(low), number(high) - number(low))
        }
        // Decimals beyond 128 bits: somewhere.
        _ => (1.0, 2.0),
    };
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}
