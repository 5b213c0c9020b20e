//! Key ranges: conditions on columns as ranges of sort keys.
//!
//! Keys are ordered as values are, texts as their collation orders them. So an equality fixes the
//! bytes of a part of the key, and a comparison the bounds of the first part that is not fixed; the
//! parts after it are unbounded. A range may contain keys of rows that do not match, but never
//! misses one that does.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Decimal128Array, Int64Array, StringArray, UInt64Array};
use arrow::datatypes::DataType;
use pelorus_chunk::{Op, Predicate, Scalar};

use super::{KeyEncoder, Part};
use crate::catalog::key_function::Function;

/// Most ranges: each is looked up separately.
const RANGES_MAX: usize = 64;

/// Ranges of the first parts of sort keys: rows whose keys begin in none of them do not fulfil the
/// conditions that they were made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRanges {
    /// So many parts of the key they are of.
    pub(crate) depth: usize,
    list: Vec<KeyRange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyRange {
    from: Vec<u8>,
    /// The first bytes that lie after it; `None` where nothing does.
    to: Option<Vec<u8>>,
}

impl KeyRanges {
    /// Whether a key may lie in one of them that is not before one key and not after another.
    pub(crate) fn meet(&self, first: &[u8], last: &[u8]) -> bool {
        let is_below = |range: &KeyRange| range.to.as_ref().is_none_or(|to| first < to.as_slice());
        self.list.iter().any(|range| range.from.as_slice() <= last && is_below(range))
    }
}

/// The ends of a part, both included.
#[derive(Debug, Default)]
struct Span {
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
}

impl KeyEncoder {
    /// The ranges of keys that conditions on columns by position leave, those on texts being meant
    /// under the columns' collations. `None` where no string is among the parts: zone maps know as
    /// much of numbers.
    pub(crate) fn ranges(&self, conditions: &[(usize, Predicate)]) -> Option<KeyRanges> {
        let mut heads = vec![Vec::new()];
        let mut fixed = 0;
        let mut span = Span::default();
        for (at, part) in self.parts.iter().enumerate() {
            let on = conditions.iter().filter(|(column, _)| *column == part.column);
            let on: Vec<&Predicate> = on.map(|(_, predicate)| predicate).collect();
            let is_last = at + 1 == self.parts.len();
            let image = |scalar: &Scalar| self.image(part, is_last, scalar);
            let lists = on.iter().filter_map(|predicate| values(predicate, &image));
            let few = |list: &Vec<Vec<u8>>| list.len() * heads.len() <= RANGES_MAX;
            let Some(list) = lists.min_by_key(Vec::len).filter(few) else {
                if part.is_column() {
                    span = Span::of(&on, &image);
                }
                break;
            };
            heads = combined(&heads, &list);
            fixed = at + 1;
        }
        let depth = fixed + usize::from(span.low.is_some() || span.high.is_some());
        let is_whole = depth == self.parts.len();
        let range = |head: Vec<u8>| {
            let to = match &span.high {
                Some(high) => behind([head.as_slice(), high].concat(), is_whole),
                None => behind(head.clone(), is_whole && fixed == depth),
            };
            KeyRange { from: [head, span.low.clone().unwrap_or_default()].concat(), to }
        };
        let has_string = self.parts.iter().take(depth).any(Part::is_string);
        has_string.then(|| KeyRanges { depth, list: heads.into_iter().map(range).collect() })
    }

    /// The bytes of a constant in a part of the key; `None` where the column has no such value, or
    /// values that are equal to it can have other bytes.
    fn image(&self, part: &Part, is_last: bool, scalar: &Scalar) -> Option<Vec<u8>> {
        let mut value = array_of(scalar, &part.ty.arrow())?;
        if let Some(key) = part.function {
            // Segments are made of texts as they are: LEFT of 'a' is another one than of 'A'.
            if *value.data_type() == DataType::Utf8 && !part.is_column() {
                return None;
            }
            value = key.function.apply(&value).ok()?;
        }
        let mut out = Vec::new();
        self.append(&value, 0, part, is_last, &mut out).ok()?;
        Some(out)
    }
}

impl Part {
    /// Whether it is the value of a column, no function of it.
    fn is_column(&self) -> bool {
        self.function.is_none_or(|key| key.function == Function::Identity)
    }

    fn is_string(&self) -> bool {
        self.is_column() && matches!(self.ty.arrow(), DataType::Utf8 | DataType::Binary)
    }
}

impl Span {
    /// The range that all conditions on a part leave.
    fn of(on: &[&Predicate], image: &dyn Fn(&Scalar) -> Option<Vec<u8>>) -> Self {
        let mut all = Self::default();
        for predicate in on {
            let (low, high) = match predicate {
                Predicate::Compare(Op::Lt | Op::Le, scalar) => (None, image(scalar)),
                Predicate::Compare(Op::Gt | Op::Ge, scalar) => (image(scalar), None),
                Predicate::Between(low, high) => (image(low), image(high)),
                other => {
                    let values = values(other, image).unwrap_or_default();
                    (values.iter().min().cloned(), values.iter().max().cloned())
                }
            };
            all.low = all.low.max(low);
            all.high = match (all.high, high) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        all
    }
}

/// The bytes of the values that a condition allows, if it lists them.
fn values(
    predicate: &Predicate,
    image: &dyn Fn(&Scalar) -> Option<Vec<u8>>,
) -> Option<Vec<Vec<u8>>> {
    match predicate {
        Predicate::Compare(Op::Eq, scalar) => Some(vec![image(scalar)?]),
        Predicate::In(list) => list.iter().map(image).collect(),
        _ => None,
    }
}

/// Each beginning with each value.
fn combined(heads: &[Vec<u8>], values: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut out = Vec::with_capacity(heads.len() * values.len());
    for head in heads {
        out.extend(values.iter().map(|value| [head.as_slice(), value].concat()));
    }
    out
}

/// The first bytes after a key, or after all keys that begin like it where it is no whole one;
/// `None` where there are none.
fn behind(mut key: Vec<u8>, is_whole: bool) -> Option<Vec<u8>> {
    if is_whole {
        key.push(0);
        return Some(key);
    }
    while let Some(last) = key.pop() {
        if let Some(next) = last.checked_add(1) {
            key.push(next);
            return Some(key);
        }
    }
    None
}

/// A constant as an array of one value.
fn array_of(scalar: &Scalar, ty: &DataType) -> Option<ArrayRef> {
    Some(match (scalar, ty) {
        (Scalar::Int(value), DataType::Int64) => {
            Arc::new(Int64Array::from(vec![i64::try_from(*value).ok()?]))
        }
        (Scalar::Int(value), DataType::UInt64) => {
            Arc::new(UInt64Array::from(vec![u64::try_from(*value).ok()?]))
        }
        (Scalar::Int(value), DataType::Decimal128(..)) => {
            Arc::new(Decimal128Array::from(vec![*value]))
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

#[cfg(test)]
mod tests {
    use pelorus_types::{ColumnType, collation};
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::key_function::KeyFunction;
    use crate::catalog::schema::{History, StoredColumn, TableSchema};
    use crate::key::ByteWeigher;

    /// Texts `a` and `b` and a number `n`, which are the key in an order.
    fn encoder(key: &[usize], segment: Vec<KeyFunction>) -> KeyEncoder {
        let text = ColumnType::varchar(9, collation::UTF8MB4_0900_AI_CI);
        let column = |(id, ty)| StoredColumn { id, ty, filler: None };
        let schema = TableSchema {
            columns: (0..).zip([text, text, ColumnType::bigint()]).map(column).collect(),
            key: key.to_vec(),
            segment,
            history: History::default(),
        };
        KeyEncoder::sorting(&schema, Arc::new(ByteWeigher))
    }

    fn text(text: &str) -> Scalar {
        Scalar::Bytes(text.as_bytes().to_vec())
    }

    fn predicate(kind: u8, one: Scalar, two: Scalar) -> Predicate {
        match kind % 7 {
            0 => Predicate::Compare(Op::Eq, one),
            1 => Predicate::Compare(Op::Lt, one),
            2 => Predicate::Compare(Op::Le, one),
            3 => Predicate::Compare(Op::Gt, one),
            4 => Predicate::Compare(Op::Ge, one),
            5 => Predicate::Between(one, two),
            _ => Predicate::In(vec![one, two].into()),
        }
    }

    type Row = (String, String, i64);

    fn row() -> impl Strategy<Value = Row> {
        ("[ab\0]{0,3}", "[ab\0]{0,2}", -2_i64..3)
    }

    fn scalars(row: &Row) -> [Scalar; 3] {
        [text(&row.0), text(&row.1), Scalar::Int(row.2.into())]
    }

    fn key_of(encoder: &KeyEncoder, row: &Row, depth: usize) -> Vec<u8> {
        let columns: [ArrayRef; 3] = [
            Arc::new(StringArray::from(vec![row.0.as_str()])),
            Arc::new(StringArray::from(vec![row.1.as_str()])),
            Arc::new(Int64Array::from(vec![row.2])),
        ];
        encoder.encode_first(depth, 1, |at| &columns[at]).unwrap().get(0).to_vec()
    }

    proptest! {
        /// The beginning of the key of a row that fulfils all conditions is in a range.
        #[test]
        fn rows_that_match_lie_within(
            rows in prop::collection::vec(row(), 1..30),
            conditions in prop::collection::vec((0_usize..3, any::<u8>(), row(), row()), 1..4),
            order in prop::sample::select(
                vec![vec![0_usize, 1, 2], vec![0], vec![2, 0], vec![1, 2, 0]],
            ),
            segment: bool,
        ) {
            let of_segment = KeyFunction { column: 2, function: Function::RoundDown(2) };
            let encoder = encoder(&order, segment.then_some(of_segment).into_iter().collect());
            let predicates: Vec<(usize, Predicate)> = conditions
                .iter()
                .map(|(column, kind, one, two)| {
                    let one = scalars(one)[*column].clone();
                    (*column, predicate(*kind, one, scalars(two)[*column].clone()))
                })
                .collect();
            let Some(ranges) = encoder.ranges(&predicates) else { return Ok(()) };
            let mut keys = Vec::new();
            for row in &rows {
                let key = key_of(&encoder, row, ranges.depth);
                let values = scalars(row);
                if predicates.iter().all(|(at, it)| it.matches(values[*at].as_value())) {
                    prop_assert!(ranges.meet(&key, &key), "{row:?} {predicates:?}");
                }
                keys.push(key);
            }
            // Keys between others are found there.
            keys.sort_unstable();
            let any = keys.iter().any(|key| ranges.meet(key, key));
            prop_assert!(!any || ranges.meet(&keys[0], &keys[keys.len() - 1]));
        }
    }

    #[test]
    fn a_fixed_key_is_met_by_nothing_else() {
        let equals = |column, scalar| (column, Predicate::Compare(Op::Eq, scalar));
        let encoder = encoder(&[0, 2], Vec::new());
        let whole = encoder.ranges(&[equals(0, text("b")), equals(2, Scalar::Int(1))]).unwrap();
        assert_eq!(whole.depth, 2);
        let meets = |a: &str, n: i64| {
            let key = key_of(&encoder, &(a.to_owned(), String::new(), n), 2);
            whole.meet(&key, &key)
        };
        assert!(meets("b", 1));
        assert!(!meets("b", 0) && !meets("b", 2) && !meets("ba", 1) && !meets("a", 1));
        // A text alone leaves all keys that begin with it; a number alone is for zone maps.
        assert_eq!(encoder.ranges(&[equals(0, text("b"))]).unwrap().depth, 1);
        assert_eq!(encoder.ranges(&[equals(2, Scalar::Int(1))]), None);
        // Many values are what lies between the least and the greatest.
        let many: Vec<Scalar> = (0..100).map(|at| text(&format!("b{at}"))).collect();
        let many = encoder.ranges(&[(0, Predicate::In(many.into()))]).unwrap();
        assert_eq!((many.depth, many.list.len()), (1, 1));
    }

    #[test]
    fn functions_of_texts_are_not_fixed_by_equal_texts() {
        let left = KeyFunction { column: 0, function: Function::Left(1) };
        let encoder = encoder(&[0], vec![left]);
        assert_eq!(encoder.ranges(&[(0, Predicate::Compare(Op::Eq, text("b")))]), None);
    }
}
