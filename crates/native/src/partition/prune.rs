//! Partition pruning: the partitions that can hold rows which meet the conditions. A partition is
//! pruned only if no row of it can meet all conditions; a condition that is not understood prunes
//! nothing.
//!
//! Conditions on texts compare under the columns' collations. The keys of partitions consist of
//! weights, so texts that are equal under a collation also have equal results of `LEFT` and `HASH`,
//! whatever their characters are.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, StringArray, UInt64Array};
use arrow::datatypes::DataType;
use pelorus_chunk::{Op, Predicate, Scalar, Value};
use pelorus_types::ColumnType;

use super::encode::{self, Part};
use super::{Kind, Partitioner, integers};
use crate::expression::RowExpression;

/// Most combinations of values that are tried out.
const COMBINATIONS_MAX: usize = 1024;

/// Conditions, and the partitions that can meet them.
#[derive(Debug)]
pub(super) struct Question {
    predicates: Vec<(usize, Predicate)>,
    ready: Arc<Ready>,
}

/// Conditions that are prepared for many partitions.
#[derive(Debug)]
struct Ready {
    /// The partitions that equalities leave; `None`: all of them.
    keys: Option<HashSet<Vec<u8>>>,
    /// Conditions on parts of the key, by the numbers of the parts.
    images: Vec<(usize, Images)>,
    /// The interval of a RANGE that conditions leave.
    interval: Option<Interval>,
}

/// A condition on a part of the key, its constants as that encodes them; `None` where it cannot.
#[derive(Debug)]
enum Images {
    Compare(Op, Option<Vec<u8>>),
    Between(Option<Vec<u8>>, Option<Vec<u8>>),
    /// In their order.
    In(Option<Vec<Vec<u8>>>),
    IsNull,
    IsNotNull,
}

/// The smallest and the largest value that a partition can have; `None` is without end.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    low: Option<i128>,
    high: Option<i128>,
    /// How much a value may lie beyond.
    slack: i128,
    /// Only NULL is wanted.
    is_null: bool,
}

impl Partitioner {
    /// Whether a partition can hold rows that fulfil all conditions.
    pub(super) fn may_hold(&self, key: &[u8], predicates: &[(usize, Predicate)]) -> bool {
        if self.is_whole() {
            return true;
        }
        let ready = self.ready(predicates);
        let place = || self.place_of(key).filter(|_| !self.has_twins);
        let by_order = match &self.kind {
            Kind::Whole => true,
            Kind::Value(parts) => value_may_hold(parts, key, &ready.images),
            Kind::Hash { .. } | Kind::Key { .. } | Kind::ListColumns { .. } => true,
            Kind::Range { expression, bounds } => place()
                .is_none_or(|place| range_may_hold(expression, bounds, place, ready.interval)),
            Kind::RangeColumns { parts, bounds } => {
                place().is_none_or(|place| tuples_may_hold(parts, bounds, place, &ready.images))
            }
            Kind::List { expression, places } => place().is_none_or(|place| {
                let Some(("", column)) = expression.single() else { return true };
                let listed = places.iter().filter(|(_, at)| usize::try_from(**at) == Ok(place));
                listed.map(|(value, _)| value).any(|value| {
                    let value = value.map_or(Value::Null, Value::Int);
                    on(predicates, column).all(|predicate| predicate.matches(value))
                })
            }),
        };
        by_order && ready.keys.as_ref().is_none_or(|keys| keys.contains(key))
    }

    /// Prepares conditions once for all partitions.
    fn ready(&self, predicates: &[(usize, Predicate)]) -> Arc<Ready> {
        let mut latest = self.latest.lock();
        if let Some(latest) = &*latest
            && latest.predicates == predicates
        {
            return Arc::clone(&latest.ready);
        }
        let (keys, images) = match &self.kind {
            Kind::Value(parts) => (None, images(parts, predicates)),
            Kind::RangeColumns { parts, .. } => {
                (self.candidates(predicates), images(parts, predicates))
            }
            _ => (self.candidates(predicates), Vec::new()),
        };
        let interval = match &self.kind {
            Kind::Range { expression, .. } => interval(expression, &self.types, predicates),
            _ => None,
        };
        let ready = Arc::new(Ready { keys, images, interval });
        let predicates = predicates.to_vec();
        *latest = Some(Question { predicates, ready: Arc::clone(&ready) });
        ready
    }

    /// The keys of the partitions of all combinations of values that `=` and `IN` leave.
    fn candidates(&self, predicates: &[(usize, Predicate)]) -> Option<HashSet<Vec<u8>>> {
        let columns = self.columns();
        let of_function =
            matches!(self.kind, Kind::Hash { .. } | Kind::Range { .. } | Kind::List { .. });
        let mut lists = Vec::new();
        for column in &columns {
            let scalars = on(predicates, *column).find_map(equals)?;
            let ty = self.types.get(*column)?;
            // Functions of equal texts can differ.
            if of_function && ty.arrow() == DataType::Utf8 {
                return None;
            }
            let arrays: Option<Vec<ArrayRef>> =
                scalars.into_iter().map(|scalar| array_of_scalar(scalar, ty)).collect();
            lists.push(arrays?);
        }
        let combinations: usize = lists.iter().map(Vec::len).product();
        if combinations > COMBINATIONS_MAX {
            return None;
        }
        let mut out = HashSet::new();
        for number in 0..combinations {
            let mut rest = number;
            let mut row = Vec::with_capacity(lists.len());
            for list in &lists {
                row.push(list.get(rest % list.len())?);
                rest /= list.len();
            }
            let place = |at: usize| columns.iter().position(|it| *it == at).unwrap_or(0);
            let numbers = self.numbers(1, &|at| row[place(at)]).ok()?;
            if let Some(Ok(number)) = numbers.first() {
                out.insert(self.key_of(*number));
            }
        }
        Some(out)
    }
}

/// The conditions on a column.
fn on(predicates: &[(usize, Predicate)], column: usize) -> impl Iterator<Item = &Predicate> {
    predicates.iter().filter(move |(at, _)| *at == column).map(|(_, predicate)| predicate)
}

/// The values that a condition allows, when they are few.
fn equals(predicate: &Predicate) -> Option<Vec<&Scalar>> {
    match predicate {
        Predicate::Compare(Op::Eq, scalar) => Some(vec![scalar]),
        Predicate::In(list) => Some(list.iter().collect()),
        _ => None,
    }
}

/// A constant as an array of a column's type; `None` when the column cannot hold it.
fn array_of_scalar(scalar: &Scalar, ty: &ColumnType) -> Option<ArrayRef> {
    Some(match (scalar, ty.arrow()) {
        (Scalar::Int(value), DataType::Int64) => {
            Arc::new(Int64Array::from(vec![i64::try_from(*value).ok()?]))
        }
        (Scalar::Int(value), DataType::UInt64) => {
            Arc::new(UInt64Array::from(vec![u64::try_from(*value).ok()?]))
        }
        (Scalar::Bytes(bytes), DataType::Utf8) => {
            Arc::new(StringArray::from(vec![std::str::from_utf8(bytes).ok()?]))
        }
        (Scalar::Bytes(bytes), DataType::Binary) => {
            Arc::new(BinaryArray::from(vec![bytes.as_slice()]))
        }
        _ => return None,
    })
}

/// The conditions on the parts of a key.
fn images(parts: &[Part], predicates: &[(usize, Predicate)]) -> Vec<(usize, Images)> {
    let mut out = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        out.extend(on(predicates, part.column).map(|it| (number, Images::of(part, it))));
    }
    out
}

impl Images {
    fn of(part: &Part, predicate: &Predicate) -> Self {
        let image = |scalar: &Scalar| part.image(&array_of_scalar(scalar, &part.ty)?);
        match predicate {
            Predicate::Compare(op, scalar) => Self::Compare(*op, image(scalar)),
            Predicate::Between(low, high) => Self::Between(image(low), image(high)),
            Predicate::In(list) => {
                let mut images: Option<Vec<_>> = list.iter().map(image).collect();
                images.iter_mut().for_each(|images| images.sort_unstable());
                Self::In(images)
            }
            Predicate::IsNull => Self::IsNull,
            Predicate::IsNotNull => Self::IsNotNull,
        }
    }
}

/// `PARTITION BY (expressions)`: each part of the key separately.
fn value_may_hold(parts: &[Part], key: &[u8], images: &[(usize, Images)]) -> bool {
    let Some(fields) = encode::fields(parts, key) else { return true };
    images.iter().all(|(number, images)| match (parts.get(*number), fields.get(*number)) {
        (Some(part), Some(field)) => part_may_hold(part, field, images),
        _ => true,
    })
}

/// Whether a value with this image can fulfil a condition. Images keep equality; where they keep
/// order too, they may only become equal. (Of slices of time only those of real dates do.)
fn part_may_hold(part: &Part, field: &[u8], images: &Images) -> bool {
    let is_null = field == [0];
    let keeps_order = part.keeps_order() && part.is_in_order(field);
    // The image of a constant that takes part in the order.
    let is_bound = |image: &[u8]| keeps_order && part.is_in_order(image);
    let at_most = |image: &Option<Vec<u8>>| {
        image.as_ref().is_none_or(|image| !is_bound(image) || field <= image.as_slice())
    };
    let at_least = |image: &Option<Vec<u8>>| {
        image.as_ref().is_none_or(|image| !is_bound(image) || field >= image.as_slice())
    };
    match images {
        Images::IsNull => is_null,
        Images::IsNotNull => !is_null,
        _ if is_null => false,
        Images::Compare(Op::Eq, image) => image.as_ref().is_none_or(|image| field == image),
        Images::Compare(Op::Ne, _) => true,
        Images::Compare(Op::Lt | Op::Le, image) => at_most(image),
        Images::Compare(Op::Gt | Op::Ge, image) => at_least(image),
        Images::Between(low, high) => at_least(low) && at_most(high),
        Images::In(list) => {
            let is_it = |image: &Vec<u8>| image.as_slice().cmp(field);
            list.as_ref().is_none_or(|list| list.binary_search_by(is_it).is_ok())
        }
    }
}

/// The interval of a RANGE that conditions on a column or a monotonic function of it leave; `None`
/// for others.
fn interval(
    expression: &RowExpression,
    types: &[ColumnType],
    predicates: &[(usize, Predicate)],
) -> Option<Interval> {
    let (name, column) = expression.single()?;
    // How much a date that does not exist (31 February) can be ahead of the one after it.
    let slack = match name {
        "" | "YEAR" | "UNIX_TIMESTAMP" => 0,
        "TO_DAYS" => 3,
        "TO_SECONDS" => 3 * 86_400,
        _ => return None,
    };
    let ty = types.get(column).filter(|ty| ty.arrow() != DataType::Utf8)?;
    // Of numbers and byte strings, which earlier versions took, the functions turn the order around.
    if !name.is_empty() && !ty.is_date() {
        return None;
    }
    let image = |scalar: &Scalar| -> Option<i128> {
        let array = array_of_scalar(scalar, ty)?;
        integers(expression, 1, &|_| &array).ok()?.first().copied().flatten()
    };
    let mut wanted = Interval { slack, ..Interval::default() };
    for predicate in on(predicates, column) {
        if matches!(predicate, Predicate::IsNull) {
            wanted.is_null = true;
        }
        wanted.narrow(predicate, &image);
    }
    Some(wanted)
}

/// RANGE by a column or a function of it that keeps its order.
fn range_may_hold(
    expression: &RowExpression,
    bounds: &[Option<i128>],
    place: usize,
    wanted: Option<Interval>,
) -> bool {
    let Some(wanted) = wanted else { return true };
    // What is NULL is in the first partition: dates of which no function is defined.
    if place == 0 && expression.single().is_some_and(|(name, _)| !name.is_empty()) {
        return true;
    }
    if wanted.is_null {
        return place == 0;
    }
    let slack = wanted.slack;
    let below = place.checked_sub(1).and_then(|before| bounds.get(before).copied().flatten());
    let bound = bounds.get(place).copied().flatten();
    let too_low = matches!((wanted.low, bound), (Some(low), Some(bound)) if low - slack >= bound);
    let too_high =
        matches!((wanted.high, below), (Some(high), Some(below)) if high + slack < below);
    !too_low && !too_high
}

impl Interval {
    fn narrow(&mut self, predicate: &Predicate, image: &dyn Fn(&Scalar) -> Option<i128>) {
        let (low, high) = match predicate {
            Predicate::Compare(Op::Eq, scalar) => (image(scalar), image(scalar)),
            Predicate::Compare(Op::Lt | Op::Le, scalar) => (None, image(scalar)),
            Predicate::Compare(Op::Gt | Op::Ge, scalar) => (image(scalar), None),
            Predicate::Between(low, high) => (image(low), image(high)),
            Predicate::In(list) => {
                let images: Option<Vec<i128>> = list.iter().map(image).collect();
                let images = images.unwrap_or_default();
                (images.iter().min().copied(), images.iter().max().copied())
            }
            _ => (None, None),
        };
        self.low = self.low.max(low);
        self.high = match (self.high, high) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
    }
}

/// RANGE COLUMNS by its first column: a partition holds tuples from the bound before it up to its
/// own, so that the first values lie between those of the two, both included.
fn tuples_may_hold(
    parts: &[Part],
    bounds: &[Vec<u8>],
    place: usize,
    images: &[(usize, Images)],
) -> bool {
    let Some(part) = parts.first() else { return true };
    // The first value of a tuple; MAXVALUE is without end.
    let head = |bytes: &Vec<u8>| encode::first_field(part, bytes).map(<[u8]>::to_vec);
    let low = place.checked_sub(1).and_then(|before| bounds.get(before)).and_then(&head);
    let high = bounds.get(place).and_then(&head);
    let single = parts.len() == 1;
    let above_low = |image: Option<&Vec<u8>>| match (image, &low) {
        (Some(image), Some(low)) => image >= low,
        _ => true,
    };
    let below_high = |image: Option<&Vec<u8>>| match (image, &high) {
        (Some(image), Some(high)) => {
            if single {
                image < high
            } else {
                image <= high
            }
        }
        _ => true,
    };
    let within = |image: Option<&Vec<u8>>| above_low(image) && below_high(image);
    let ordered = part.keeps_order();
    let of_first = images.iter().filter(|(number, _)| *number == 0);
    of_first.map(|(_, images)| images).all(|images| match images {
        Images::Compare(Op::Eq, image) => within(image.as_ref()),
        Images::In(Some(list)) => {
            let first = list.partition_point(|image| !above_low(Some(image)));
            list.get(first).is_some_and(|image| below_high(Some(image)))
        }
        Images::Compare(Op::Lt | Op::Le, image) if ordered => above_low(image.as_ref()),
        Images::Compare(Op::Gt | Op::Ge, image) if ordered => below_high(image.as_ref()),
        Images::Between(least, most) if ordered => {
            above_low(most.as_ref()) && below_high(least.as_ref())
        }
        _ => true,
    })
}
