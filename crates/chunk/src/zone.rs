//! Zone maps: the smallest and largest value of a chunk exactly, of each vector approximately.
//!
//! A vector's zone is two positions of 16 bits on a scale that the chunk's zone spans: position 0
//! is the chunk's smallest value, the largest is at most at 65,535. The map from values to
//! positions is monotonic, so a comparison of positions may keep a vector unnecessarily but never
//! drops a matching one. At four bytes a vector the zone maps of a column take 256 bytes, and for
//! sorted keys they are as good as exact ones. Columns whose vectors all cover most of the chunk's
//! range (unsorted ones) have none.
//!
//! The scale: floats by their share of the way from the smallest to the largest; integers by
//! distance from the smallest, and bytes by the eight bytes that follow the common prefix of
//! smallest and largest value, both shifted right until the largest fits 16 bits.

mod verify;

use std::cmp::Ordering;

use arrow::datatypes::i256;

use crate::meta::ColumnMeta;
use crate::scalar::{Op, Predicate, Scalar, Value};

/// Longest prefix of text and binary that a zone keeps, in bytes.
const PREFIX: usize = 32;
/// The positions of a vector without values: no position lies between them.
const NOTHING: [u16; 2] = [1, 0];

/// Smallest and largest value of a column in one chunk, NULLs left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Zone {
    /// There is no value: every row is NULL, or there are no rows.
    Empty,
    /// Whole numbers and unscaled decimals; both ends occur.
    Int {
        /// The smallest.
        min: i128,
        /// The largest.
        max: i128,
    },
    /// Unscaled decimals of which one does not fit 128 bits; both ends occur.
    Wide {
        /// The smallest.
        min: i256,
        /// The largest.
        max: i256,
    },
    /// Floats; both ends occur (as `0.0` also for `-0.0`), or are zero if all values are NaN.
    Float {
        /// The smallest that is no NaN.
        min: f64,
        /// The largest that is no NaN.
        max: f64,
        /// Whether a NaN occurs; then nothing is pruned.
        nan: bool,
    },
    /// Text and binary in bytewise order, cut to 32 bytes.
    Bytes {
        /// The smallest; if cut, all values are larger.
        min: Vec<u8>,
        /// The largest; if cut, values that begin with it are larger.
        max: Vec<u8>,
        /// Whether `min` is a mere prefix.
        min_cut: bool,
        /// Whether `max` is a mere prefix.
        max_cut: bool,
    },
}

/// The ends of one vector, or `None` if it has no values.
pub(crate) type Ends<'a> = Option<(Value<'a>, Value<'a>)>;

impl Zone {
    /// Builds the zone of a chunk from the ends of its vectors.
    pub(crate) fn of(vectors: &[Ends<'_>], nan: bool) -> Self {
        let mut ends = vectors.iter().flatten().copied();
        let Some((mut min, mut max)) = ends.next() else {
            let all_nan = Self::Float { min: 0.0, max: 0.0, nan };
            return if nan { all_nan } else { Self::Empty };
        };
        for (low, high) in ends {
            if low.compare_value(min) == Some(Ordering::Less) {
                min = low;
            }
            if high.compare_value(max) == Some(Ordering::Greater) {
                max = high;
            }
        }
        match (min, max) {
            (Value::Int(min), Value::Int(max)) => Self::Int { min, max },
            // The sum turns a negative zero into a positive one.
            (Value::Float(min), Value::Float(max)) => {
                Self::Float { min: min + 0.0, max: max + 0.0, nan }
            }
            (Value::Bytes(min), Value::Bytes(max)) => Self::Bytes {
                min: min[..min.len().min(PREFIX)].to_vec(),
                max: max[..max.len().min(PREFIX)].to_vec(),
                min_cut: min.len() > PREFIX,
                max_cut: max.len() > PREFIX,
            },
            (min, max) => match (widened(min), widened(max)) {
                (Some(min), Some(max)) => Self::Wide { min, max },
                _ => Self::Empty,
            },
        }
    }

    /// Where a value lies on the ruler; `None` if the zone has none or the sorts differ.
    fn position(&self, value: Value<'_>) -> Option<u16> {
        let (distance, length) = match (self, value) {
            (Self::Int { min, max }, Value::Int(value)) => {
                let inside = value.max(*min).min(*max);
                (inside.wrapping_sub(*min).cast_unsigned(), max.wrapping_sub(*min).cast_unsigned())
            }
            (Self::Float { min, max, nan: false }, Value::Float(value)) if !value.is_nan() => {
                return share(*min, value, *max);
            }
            (Self::Bytes { min, max, max_cut, .. }, Value::Bytes(value)) => {
                let shared = min.iter().zip(max).take_while(|(left, right)| left == right).count();
                let low = bytes_key(&min[shared..], 0);
                let high = bytes_key(&max[shared..], if *max_cut { 0xFF } else { 0 });
                let head = &value[..value.len().min(shared)];
                let key = match head.cmp(&min[..shared]) {
                    Ordering::Less => low,
                    Ordering::Equal => bytes_key(&value[head.len()..], 0),
                    Ordering::Greater => high,
                };
                // A value outside moves to the nearer end.
                let key = key.max(low).min(high);
                (key.wrapping_sub(low).into(), high.wrapping_sub(low).into())
            }
            _ => return None,
        };
        let shift = (128 - length.leading_zeros()).saturating_sub(16);
        Some(u16::try_from(distance >> shift).unwrap_or(u16::MAX))
    }

    /// The positions of all vectors; empty if they would prune next to nothing.
    pub(crate) fn positions(&self, vectors: &[Ends<'_>]) -> Vec<[u16; 2]> {
        // A vector of which nothing but NaN is known has no ends, and yet has values.
        if vectors.len() < 2 || matches!(self, Self::Float { nan: true, .. }) {
            return Vec::new();
        }
        let mut positions = Vec::with_capacity(vectors.len());
        let (mut last, mut covered) = (0, 0);
        for ends in vectors {
            let place = match ends {
                None => NOTHING,
                Some((low, high)) => match (self.position(*low), self.position(*high)) {
                    (Some(low), Some(high)) => [low, high],
                    _ => return Vec::new(),
                },
            };
            last = last.max(place[1]);
            covered += usize::from(place[1].saturating_sub(place[0]));
            positions.push(place);
        }
        // Without pruning the vectors cover the ruler as often as there are vectors.
        let useless = covered * 4 >= usize::from(last) * vectors.len() * 3;
        if useless && !positions.contains(&NOTHING) { Vec::new() } else { positions }
    }
}

fn widened(value: Value<'_>) -> Option<i256> {
    match value {
        Value::Int(value) => Some(i256::from_i128(value)),
        Value::Wide(value) => Some(value),
        _ => None,
    }
}

/// Position of a float on a ruler that is as even as the numbers; `None` if the ruler has no
/// finite length. Each of the operations rounds, but none ever falls when the value rises.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 65,535")]
fn share(low: f64, value: f64, high: f64) -> Option<u16> {
    let length = high - low;
    if length == 0.0 {
        return Some(0);
    }
    let share = (value.max(low).min(high) - low) / length;
    length.is_finite().then_some((share * f64::from(u16::MAX)) as u16)
}

/// The first eight bytes as a number, filled up with `fill`.
fn bytes_key(bytes: &[u8], fill: u8) -> u64 {
    let mut key = [fill; 8];
    let length = bytes.len().min(8);
    key[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(key)
}

/// The zone of a chunk or of one of its vectors, asked what might lie in it.
struct Bounds<'a> {
    zone: &'a Zone,
    positions: Option<[u16; 2]>,
}

impl Bounds<'_> {
    /// Whether a value below the constant (or equal to it) may exist.
    fn reaches_down_to(&self, scalar: &Scalar, equal: bool) -> bool {
        let value = scalar.as_value();
        let order = match self.zone {
            Zone::Empty => return false,
            Zone::Float { nan: true, .. } => return true,
            Zone::Int { min, .. } => Value::Int(*min).compare(scalar),
            Zone::Wide { min, .. } => Value::Wide(*min).compare(scalar),
            Zone::Float { min, .. } => Value::Float(*min).compare(scalar),
            Zone::Bytes { min, .. } => Value::Bytes(min).compare(scalar),
        };
        order.is_none_or(|order| order.is_lt() || equal && order.is_eq())
            && self.meets(value, |[low, _], at| low <= at)
    }

    /// Whether a value above the constant (or equal to it) may exist.
    fn reaches_up_to(&self, scalar: &Scalar, equal: bool) -> bool {
        let value = scalar.as_value();
        let order = match self.zone {
            Zone::Empty => return false,
            Zone::Float { nan: true, .. } => return true,
            Zone::Int { max, .. } => Value::Int(*max).compare(scalar),
            Zone::Wide { max, .. } => Value::Wide(*max).compare(scalar),
            Zone::Float { max, .. } => Value::Float(*max).compare(scalar),
            Zone::Bytes { max, max_cut, .. } => match value {
                Value::Bytes(value) if *max_cut && value.starts_with(max) => None,
                value => Value::Bytes(max).compare_value(value),
            },
        };
        order.is_none_or(|order| order.is_gt() || equal && order.is_eq())
            && self.meets(value, |[_, high], at| high >= at)
    }

    /// Whether the vector's positions allow the value; without positions they do.
    fn meets(&self, value: Value<'_>, test: impl Fn([u16; 2], u16) -> bool) -> bool {
        match (self.positions, self.zone.position(value)) {
            (Some(positions), Some(at)) => test(positions, at),
            _ => true,
        }
    }

    /// Whether the chunk holds the constant alone, in every row that is not NULL.
    fn is_only(&self, scalar: &Scalar) -> bool {
        let is = |value: Value<'_>| value.compare(scalar) == Some(Ordering::Equal);
        match self.zone {
            Zone::Int { min, max } => is(Value::Int(*min)) && min == max,
            Zone::Wide { min, max } => is(Value::Wide(*min)) && min == max,
            Zone::Float { min, max, nan } => !nan && is(Value::Float(*min)) && min == max,
            Zone::Bytes { min, max, max_cut: false, .. } => is(Value::Bytes(min)) && min == max,
            Zone::Bytes { .. } | Zone::Empty => false,
        }
    }

    fn may_match(&self, predicate: &Predicate) -> bool {
        let may_equal =
            |scalar| self.reaches_down_to(scalar, true) && self.reaches_up_to(scalar, true);
        match predicate {
            Predicate::Compare(Op::Eq, scalar) => may_equal(scalar),
            Predicate::Compare(Op::Ne, scalar) => !self.is_only(scalar),
            Predicate::Compare(Op::Lt, scalar) => self.reaches_down_to(scalar, false),
            Predicate::Compare(Op::Le, scalar) => self.reaches_down_to(scalar, true),
            Predicate::Compare(Op::Gt, scalar) => self.reaches_up_to(scalar, false),
            Predicate::Compare(Op::Ge, scalar) => self.reaches_up_to(scalar, true),
            Predicate::Between(low, high) => {
                self.reaches_up_to(low, true) && self.reaches_down_to(high, true)
            }
            // Constants of several sorts are in no order that the zone has.
            Predicate::In(list) if list.is_mixed() => list.iter().any(may_equal),
            Predicate::In(list) => {
                // Constants are in order: the first that is not below the zone decides.
                let first = list.partition_point(|one| !self.reaches_down_to(one, true));
                list.get(first).is_some_and(|one| self.reaches_up_to(one, true))
            }
            Predicate::IsNull | Predicate::IsNotNull => true,
        }
    }
}

/// Whether a row of the chunk, or of one of its vectors, may satisfy the predicate. `false` is
/// certain, `true` is not. Text compares bytewise: under a collation only the caller can decide
/// what to prune.
pub fn may_match(column: &ColumnMeta, vector: Option<usize>, predicate: &Predicate) -> bool {
    let positions = vector.and_then(|vector| column.vectors.get(vector).copied());
    if *predicate == Predicate::IsNull {
        return column.nulls > 0;
    }
    if column.zone == Zone::Empty || positions.is_some_and(|[low, high]| low > high) {
        return false;
    }
    Bounds { zone: &column.zone, positions }.may_match(predicate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_never_fall_and_span_the_ruler() {
        let (low, high) = (Value::Int(i128::MIN), Value::Int(i128::MAX));
        let zone = Zone::of(&[Some((low, high))], false);
        assert_eq!((zone.position(low), zone.position(high)), (Some(0), Some(u16::MAX)));

        let texts: [&[u8]; 5] = [b"", b"shop-0001", b"shop-0002x", b"shop-9", b"zebra"];
        let zone = Zone::of(&[Some((Value::Bytes(texts[1]), Value::Bytes(texts[3])))], false);
        let at: Vec<_> = texts.iter().map(|text| zone.position(Value::Bytes(text))).collect();
        assert!(at.is_sorted(), "{at:?}");
        assert!(at[1] < at[3]);
    }

    #[test]
    fn vectors_of_nothing_but_nan_are_never_pruned() {
        let ends = [None, Some((Value::Float(1.0), Value::Float(2.0))), None];
        assert!(Zone::of(&ends, true).positions(&ends).is_empty());
        let with_nulls = Zone::of(&ends, false).positions(&ends);
        assert_eq!((with_nulls.len(), with_nulls[0]), (3, NOTHING));
    }

    #[test]
    fn a_cut_maximum_stands_for_all_that_begin_with_it() {
        let long = [b'm'; 40];
        let zone = Zone::of(&[Some((Value::Bytes(b"a"), Value::Bytes(&long)))], false);
        let bounds = Bounds { zone: &zone, positions: None };
        let above = |text: &[u8]| bounds.reaches_up_to(&Scalar::Bytes(text.to_vec()), false);
        assert!(above(&[b'm'; 39]));
        assert!(above(&[b'm'; 100]));
        assert!(!above(b"n"));
        assert!(above(b"mmmm"));
    }
}
