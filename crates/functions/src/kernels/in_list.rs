//! Long lists of constants in `IN`: sorted once, so that a row costs a binary search.

use pelorus_error::Result;

use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::{Input, Slot};
use crate::output::array_of;
use crate::scalar::compare::{Kind, total};
use crate::scalar::datetime::read;
use crate::value::{Arg, Value};

/// The values of a list, sorted in the order of their comparison kind.
pub(crate) struct Lookup {
    keys: Keys,
    /// The list has a NULL, or a value that becomes one.
    has_null: bool,
}

enum Keys {
    Ints(Vec<i128>),
    Decimals(Vec<Decimal>),
    Reals(Vec<f64>),
    Dates(Vec<i64>),
    Times(Vec<i64>),
    Bytes(Vec<Vec<u8>>),
    /// The keys of texts under their collation.
    Texts(Rules, Vec<Vec<u8>>),
}

impl Lookup {
    /// Sorts a list; `None` where it is short, where its values are no constants or are compared as
    /// different things, and where they leave errors or warnings, which each row is to leave.
    pub(crate) fn of(kinds: &[Kind], list: &[Arg], ctx: &EvalContext) -> Option<Self> {
        /// Shorter lists are searched from the front.
        const LONG: usize = 16;
        if list.len() < LONG {
            return None;
        }
        let is_null = |arg: &Arg| arg.is_null() || arg.constant == Some(Value::Null);
        let items: Vec<_> = kinds.iter().zip(list).filter(|(_, arg)| !is_null(arg)).collect();
        let (kind, _) = items.first()?;
        let same = |other: &Kind| std::mem::discriminant(*kind) == std::mem::discriminant(other);
        if !items.iter().all(|(kind, _)| same(kind)) {
            return None;
        }
        let mut lookup = Self { keys: Keys::of(kind)?, has_null: items.len() < list.len() };
        let (done, warned) =
            ctx.apart(|| items.iter().try_for_each(|(_, arg)| lookup.add(arg, ctx)));
        if warned || done.is_none() {
            return None;
        }
        lookup.keys.sort();
        Some(lookup)
    }

    fn add(&mut self, arg: &Arg, ctx: &EvalContext) -> Option<()> {
        let array = array_of(arg.constant.as_ref()?, &arg.ty).ok()?;
        let input = Input::new(&array, &Slot::of(arg), ctx).ok()?;
        let is_null = !self.keys.push(&input).ok()?;
        self.has_null |= is_null;
        Some(())
    }

    /// Whether the list has the value of a row; `None` where that is not known. `key` is a buffer.
    pub(crate) fn has(
        &self,
        value: &Input<'_>,
        row: usize,
        key: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        let found = self.keys.find(value, row, key)?;
        Ok(found.and_then(|found| (found || !self.has_null).then_some(found)))
    }
}

impl Keys {
    fn of(kind: &Kind) -> Option<Self> {
        Some(match kind {
            Kind::Int => Self::Ints(Vec::new()),
            Kind::Decimal => Self::Decimals(Vec::new()),
            Kind::Real => Self::Reals(Vec::new()),
            Kind::Date => Self::Dates(Vec::new()),
            Kind::Time => Self::Times(Vec::new()),
            // The items of lists are taken as they are.
            Kind::Fixed(_) | Kind::Day => return None,
            Kind::Bytes => Self::Bytes(Vec::new()),
            Kind::Text(rules) => Self::Texts(*rules, Vec::new()),
        })
    }

    /// Adds the value of an input; whether it is one.
    fn push(&mut self, input: &Input<'_>) -> Result<bool> {
        fn put<T>(keys: &mut Vec<T>, key: Option<T>) -> bool {
            let is_there = key.is_some();
            keys.extend(key);
            is_there
        }
        Ok(match self {
            Self::Ints(keys) => put(keys, input.int(0)),
            Self::Decimals(keys) => put(keys, input.decimal(0)),
            Self::Reals(keys) => put(keys, input.real(0)),
            Self::Dates(keys) => put(keys, read::for_comparison(input, 0)?),
            Self::Times(keys) => put(keys, read::time(input, 0)?),
            Self::Bytes(keys) => put(keys, input.bytes(0)?.map(|bytes| bytes.to_vec())),
            Self::Texts(rules, keys) => {
                let Some(text) = input.text(0)? else { return Ok(false) };
                let mut key = Vec::new();
                rules.key(&text, &mut key)?;
                put(keys, Some(key))
            }
        })
    }

    fn sort(&mut self) {
        match self {
            Self::Ints(keys) => keys.sort_unstable(),
            Self::Decimals(keys) => keys.sort_unstable_by(|a, b| a.compare(*b)),
            Self::Reals(keys) => keys.sort_unstable_by(|a, b| total(*a, *b)),
            Self::Dates(keys) | Self::Times(keys) => keys.sort_unstable(),
            Self::Bytes(keys) | Self::Texts(_, keys) => keys.sort_unstable(),
        }
    }

    /// Whether the value of a row is among them; `None` where it is NULL.
    fn find(&self, value: &Input<'_>, row: usize, key: &mut Vec<u8>) -> Result<Option<bool>> {
        Ok(match self {
            Self::Ints(keys) => value.int(row).map(|it| keys.binary_search(&it).is_ok()),
            Self::Decimals(keys) => {
                value.decimal(row).map(|it| keys.binary_search_by(|key| key.compare(it)).is_ok())
            }
            Self::Reals(keys) => {
                value.real(row).map(|it| keys.binary_search_by(|key| total(*key, it)).is_ok())
            }
            Self::Dates(keys) => {
                read::for_comparison(value, row)?.map(|it| keys.binary_search(&it).is_ok())
            }
            Self::Times(keys) => read::time(value, row)?.map(|it| keys.binary_search(&it).is_ok()),
            Self::Bytes(keys) => value
                .bytes(row)?
                .map(|it| keys.binary_search_by(|key| key.as_slice().cmp(it.as_ref())).is_ok()),
            Self::Texts(rules, keys) => {
                let Some(text) = value.text(row)? else { return Ok(None) };
                key.clear();
                rules.key(&text, key)?;
                Some(keys.binary_search(key).is_ok())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, StringArray};
    use arrow::datatypes::Int64Type;
    use pelorus_types::{ColumnType, collation};

    use super::*;
    use crate::registry::resolve::resolve;

    fn truths(column: &ArrayRef, ty: ColumnType, list: &[Arg]) -> Vec<Option<i64>> {
        let ctx = Arc::new(EvalContext::default());
        let args: Vec<Arg> =
            std::iter::once(Arg::column(ty, "c")).chain(list.iter().cloned()).collect();
        let call = resolve("IN", &args, &ctx).unwrap();
        let constants = list.iter().map(|arg| match &arg.constant {
            Some(value) => array_of(value, &arg.ty).unwrap(),
            None => unreachable!(),
        });
        let arrays: Vec<ArrayRef> = std::iter::once(Arc::clone(column)).chain(constants).collect();
        let result = call.evaluate(&arrays, column.len()).unwrap();
        result.as_primitive::<Int64Type>().iter().collect()
    }

    /// Looks a column up in a list, and in pieces of it that are searched from the front.
    fn check(column: ArrayRef, ty: ColumnType, list: &[Arg], found: usize) {
        let pieces: Vec<_> = list.chunks(8).map(|piece| truths(&column, ty, piece)).collect();
        let expected: Vec<_> = (0..column.len())
            .map(|row| {
                let all: Vec<_> = pieces.iter().map(|piece| piece[row]).collect();
                if all.contains(&Some(1)) {
                    return Some(1);
                }
                (!all.contains(&None)).then_some(0)
            })
            .collect();
        let whole = truths(&column, ty, list);
        assert_eq!(whole, expected);
        assert_eq!(whole.iter().filter(|it| **it == Some(1)).count(), found);
    }

    #[test]
    fn long_lists_say_what_short_ones_say() {
        let text = ColumnType::varchar(20, collation::UTF8MB4_0900_AI_CI);
        let texts = |null: bool| -> Vec<Arg> {
            let value = |at: i32| match null && at == 7 {
                true => Value::Null,
                false => Value::Text(format!("é{at}")),
            };
            (0..40).map(|at| Arg::literal(value(at), text, "t")).collect()
        };
        let column: ArrayRef =
            Arc::new(StringArray::from(vec![Some("E3"), Some("x"), None, Some("É7"), Some("e39")]));
        check(Arc::clone(&column), text, &texts(false), 3);
        check(column, text, &texts(true), 2);

        let ints: Vec<Arg> =
            (0..40).map(|at| Arg::literal(Value::Int(at * 3), ColumnType::bigint(), "i")).collect();
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(9), Some(10), None, Some(-3)]));
        check(column, ColumnType::bigint(), &ints, 1);
        let column: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 9.0, 9.5]));
        check(column, ColumnType::double(), &ints, 2);
    }

    #[test]
    fn what_is_compared_as_different_things_is_not_looked_up() {
        let ctx = EvalContext::default();
        let list: Vec<Arg> =
            (0..20).map(|at| Arg::literal(Value::Int(at), ColumnType::bigint(), "i")).collect();
        assert!(Lookup::of(&[Kind::Int; 20], &list, &ctx).is_some());
        assert!(Lookup::of(&[Kind::Int; 15], &list[..15], &ctx).is_none());
        let mut kinds = [Kind::Int; 20];
        kinds[19] = Kind::Real;
        assert!(Lookup::of(&kinds, &list, &ctx).is_none());
    }
}
