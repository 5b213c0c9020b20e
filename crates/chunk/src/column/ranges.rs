//! Translates predicates to ranges of codes, so that encoded values are tested without decoding.

use std::cmp::Ordering;
use std::ops::Range;

use crate::scalar::{Op, Predicate, Scalar, Value};

/// A test of ordered integers; both ends of a range belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test<T> {
    None,
    All,
    In(T, T),
    Out(T, T),
    /// Disjoint ranges in rising order.
    Any(Vec<(T, T)>),
}

impl<T: Copy + Ord> Test<T> {
    pub(super) fn holds(&self, value: T) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::In(low, high) => (*low..=*high).contains(&value),
            Self::Out(low, high) => !(*low..=*high).contains(&value),
            Self::Any(ranges) => {
                let next = ranges.partition_point(|&(_, high)| high < value);
                ranges.get(next).is_some_and(|&(low, _)| low <= value)
            }
        }
    }

    /// The same test of integers that lie between two ends, of a long list only the part that
    /// matters there.
    pub(super) fn between(&self, low: T, high: T) -> Self {
        match self {
            Self::Any(ranges) => {
                let start = ranges.partition_point(|range| range.1 < low);
                let end = ranges.partition_point(|range| range.0 <= high);
                Self::Any(ranges.get(start..end).unwrap_or_default().to_vec())
            }
            other => other.clone(),
        }
    }

    /// How many ranges it has.
    pub(super) fn ranges(&self) -> usize {
        match self {
            Self::None | Self::All => 0,
            Self::In(..) | Self::Out(..) => 1,
            Self::Any(ranges) => ranges.len(),
        }
    }

    /// Carries the ends of all ranges over to other integers. `map` gives the part of a range
    /// that exists among them, and whether that part is everything.
    pub(super) fn map<U: Copy>(&self, map: impl Fn(T, T) -> Option<(U, U, bool)>) -> Test<U> {
        match self {
            Self::None => Test::None,
            Self::All => Test::All,
            Self::In(low, high) => match map(*low, *high) {
                None => Test::None,
                Some((_, _, true)) => Test::All,
                Some((low, high, false)) => Test::In(low, high),
            },
            Self::Out(low, high) => match map(*low, *high) {
                None => Test::All,
                Some((_, _, true)) => Test::None,
                Some((low, high, false)) => Test::Out(low, high),
            },
            Self::Any(ranges) => {
                let some = ranges.iter().filter_map(|&(low, high)| map(low, high));
                Test::Any(some.map(|(low, high, _)| (low, high)).collect())
            }
        }
    }
}

impl Test<u64> {
    /// The test that a code lies in one of these ranges, of `codes` possible ones.
    pub(super) fn of(ranges: &[Range<u64>], codes: u64) -> Self {
        match ranges {
            [] => Self::None,
            [all] if *all == (0..codes) => Self::All,
            [one] => Self::In(one.start, one.end - 1),
            [first, last] if first.start == 0 && last.end == codes => {
                Self::Out(first.end, last.start - 1)
            }
            many => Self::Any(many.iter().map(|range| (range.start, range.end - 1)).collect()),
        }
    }
}

/// The integers that satisfy a predicate on values of at most 64 bits, or of 128 bits if no
/// constant is wider. `IsNull` and `IsNotNull` are handled before.
pub(super) fn integers(predicate: &Predicate) -> Test<i128> {
    // Constants of another sort have been refused before.
    let number = |scalar: &Scalar| scalar.clamped().unwrap_or(0);
    let up_to = |high| Test::In(i128::MIN, high);
    let from = |low| Test::In(low, i128::MAX);
    match predicate {
        Predicate::Compare(op, scalar) => {
            let value = number(scalar);
            match op {
                Op::Eq => Test::In(value, value),
                Op::Ne => Test::Out(value, value),
                Op::Le => up_to(value),
                Op::Ge => from(value),
                Op::Lt => value.checked_sub(1).map_or(Test::None, up_to),
                Op::Gt => value.checked_add(1).map_or(Test::None, from),
            }
        }
        Predicate::Between(low, high) => {
            let (low, high) = (number(low), number(high));
            if low > high { Test::None } else { Test::In(low, high) }
        }
        Predicate::In(list) => {
            // They are in order; beyond 128 bits several become one.
            let mut values: Vec<i128> = list.iter().map(number).collect();
            values.dedup();
            match values[..] {
                [] => Test::None,
                [value] => Test::In(value, value),
                _ => Test::Any(values.into_iter().map(|value| (value, value)).collect()),
            }
        }
        Predicate::IsNull => Test::None,
        Predicate::IsNotNull => Test::All,
    }
}

/// The positions that satisfy a predicate in a sequence of values that never falls and has no
/// NaN, by binary search: disjoint ranges in rising order. No constant may be a NaN.
#[expect(clippy::single_range_in_vec_init, reason = "a list of ranges is meant")]
pub(super) fn of_sorted<'a>(
    predicate: &Predicate,
    length: u64,
    value: impl Fn(u64) -> Value<'a>,
) -> Vec<Range<u64>> {
    let lower_from = |start: u64, scalar: &Scalar| {
        search(start..length, |at| value(at).compare(scalar) == Some(Ordering::Less))
    };
    let upper_from = |start: u64, scalar: &Scalar| {
        search(start..length, |at| value(at).compare(scalar) != Some(Ordering::Greater))
    };
    let lower = |scalar: &Scalar| lower_from(0, scalar);
    let upper = |scalar: &Scalar| upper_from(0, scalar);
    let mut ranges = match predicate {
        Predicate::Compare(op, scalar) => match op {
            Op::Eq => vec![lower(scalar)..upper(scalar)],
            Op::Ne => vec![0..lower(scalar), upper(scalar)..length],
            Op::Lt => vec![0..lower(scalar)],
            Op::Le => vec![0..upper(scalar)],
            Op::Gt => vec![upper(scalar)..length],
            Op::Ge => vec![lower(scalar)..length],
        },
        Predicate::Between(low, high) => vec![lower(low)..upper(high)],
        // The shorter of the two sequences is looked up in the other one.
        Predicate::In(list) if list.len() as u64 > length => {
            (0..length).filter(|at| list.has(value(*at))).map(|at| at..at + 1).collect()
        }
        Predicate::In(list) => {
            let mut start = 0;
            let next = |one: &Scalar| {
                let from = lower_from(start, one);
                start = upper_from(from, one);
                from..start
            };
            list.iter().map(next).collect()
        }
        Predicate::IsNull => vec![],
        Predicate::IsNotNull => vec![0..length],
    };
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| range.start);
    merge(ranges)
}

/// Joins ranges that touch; they are in rising order of their starts.
pub(super) fn merge(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The first of some positions for which the test fails.
fn search(positions: Range<u64>, test: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (positions.start, positions.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if test(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
