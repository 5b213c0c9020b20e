//! The constants of an `IN` list: sorted once, shared, and restricted to the range of a chunk.

use std::cmp::Ordering;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::scalar::{Scalar, Value};
use crate::zone::Zone;

/// Constants in their order, each once. A NaN, which equals nothing, is left out.
#[derive(Clone, Debug)]
pub struct List {
    all: Arc<[Scalar]>,
    part: Range<usize>,
}

impl FromIterator<Scalar> for List {
    fn from_iter<I: IntoIterator<Item = Scalar>>(constants: I) -> Self {
        let mut all: Vec<Scalar> = constants.into_iter().collect();
        all.retain(|constant| !constant.as_value().is_nan());
        let order = |left: &Scalar, right: &Scalar| left.as_value().order(right.as_value());
        // Lists of numbers are often in order already.
        if !all.is_sorted_by(|left, right| order(left, right).is_le()) {
            all.sort_by(order);
        }
        all.dedup_by(|left, right| order(left, right).is_eq());
        Self { part: 0..all.len(), all: all.into() }
    }
}

impl From<Vec<Scalar>> for List {
    fn from(constants: Vec<Scalar>) -> Self {
        constants.into_iter().collect()
    }
}

impl Deref for List {
    type Target = [Scalar];

    fn deref(&self) -> &[Scalar] {
        self.all.get(self.part.clone()).unwrap_or_default()
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.all, &other.all) && self.part == other.part;
        is_same || self[..] == other[..]
    }
}

impl List {
    /// Whether a value equals one of the constants.
    pub fn has(&self, value: Value<'_>) -> bool {
        !value.is_nan() && self.binary_search_by(|one| one.as_value().order(value)).is_ok()
    }

    /// Whether there are constants of several sorts, which no column can be compared with.
    pub(crate) fn is_mixed(&self) -> bool {
        match (self.first(), self.last()) {
            (Some(first), Some(last)) => first.as_value().compare(last).is_none(),
            _ => false,
        }
    }

    /// The constants that are neither below one value nor above another of the same sort.
    #[must_use]
    pub fn between(&self, low: Value<'_>, high: Value<'_>) -> Self {
        let start = self.partition_point(|one| one.as_value().order(low) == Ordering::Less);
        let end = self.partition_point(|one| one.as_value().order(high) != Ordering::Greater);
        let first = self.part.start;
        Self { all: Arc::clone(&self.all), part: first + start..first + end.max(start) }
    }

    /// The constants that values of a chunk can equal.
    #[must_use]
    pub fn within(&self, zone: &Zone) -> Self {
        match zone {
            Zone::Int { min, max } => self.between(Value::Int(*min), Value::Int(*max)),
            Zone::Wide { min, max } => self.between(Value::Wide(*min), Value::Wide(*max)),
            Zone::Float { min, max, nan: false } => {
                self.between(Value::Float(*min), Value::Float(*max))
            }
            Zone::Bytes { min, max, max_cut: false, .. } => {
                self.between(Value::Bytes(min), Value::Bytes(max))
            }
            Zone::Float { .. } | Zone::Bytes { .. } | Zone::Empty => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::i256;

    use super::*;

    fn ints(values: &[i128]) -> List {
        values.iter().copied().map(Scalar::Int).collect()
    }

    #[test]
    fn constants_are_in_order_each_once() {
        let list = ints(&[7, 3, 7, -1, 3]);
        assert_eq!(list[..], *ints(&[-1, 3, 7]));
        let floats: List = [0.0, f64::NAN, -0.0, 2.5].map(Scalar::Float).into_iter().collect();
        assert_eq!(floats.len(), 2);
        assert!(floats.has(Value::Float(-0.0)) && !floats.has(Value::Float(f64::NAN)));
    }

    #[test]
    fn a_value_is_found_among_its_sort() {
        let mut constants: Vec<Scalar> = (0..20).rev().map(|at| Scalar::Int(at * 3)).collect();
        constants.push(Scalar::Wide(i256::MAX));
        constants.extend([0.0, f64::NAN, 2.5, -7.0].map(Scalar::Float));
        constants.extend(["b", "", "ab"].map(|text| Scalar::Bytes(text.into())));
        let values = [
            (Value::Null, false),
            (Value::Int(27), true),
            (Value::Int(28), false),
            (Value::Int(-3), false),
            (Value::Wide(i256::MAX), true),
            (Value::Wide(i256::MIN), false),
            (Value::Float(-0.0), true),
            (Value::Float(f64::NAN), false),
            (Value::Float(27.0), false),
            (Value::Bytes(b"ab"), true),
            (Value::Bytes(b"a"), false),
        ];
        let list = List::from(constants.clone());
        for (value, found) in values {
            assert_eq!(list.has(value), found, "{value:?}");
            let equal = |one: &Scalar| value.compare(one) == Some(Ordering::Equal);
            assert_eq!(constants.iter().any(equal), found, "{value:?}");
        }
    }

    #[test]
    fn a_part_has_what_lies_between() {
        let list = ints(&[1, 5, 9, 20]);
        let part = list.between(Value::Int(2), Value::Int(9));
        assert_eq!(part[..], *ints(&[5, 9]));
        assert!(part.between(Value::Int(10), Value::Int(3)).is_empty());
        assert_eq!(part.within(&Zone::Int { min: 6, max: 100 })[..], *ints(&[9]));
        assert_eq!(part.within(&Zone::Empty), part);
        assert_eq!(list.between(Value::Int(5), Value::Int(5)), ints(&[5]));
    }
}
