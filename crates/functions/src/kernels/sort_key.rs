//! Sort keys for GROUP BY, DISTINCT, ORDER BY and hash joins: arrays whose plain order and equality
//! are those of the values under MySQL's rules.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use pelorus_env::Account;
use pelorus_error::Result;
use pelorus_types::{ColumnType, WireType};

use crate::collation::sort_weights::Rules;
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::output::Output;
use crate::value::Value;

/// Whether the key of a type differs from the values themselves.
pub fn needs_key(ty: &ColumnType) -> bool {
    ty.is_string() && !ty.is_binary_string()
}

/// The Arrow type of the keys of a type.
pub fn key_type(ty: &ColumnType) -> DataType {
    if needs_key(ty) { DataType::Binary } else { ty.arrow() }
}

/// Floating point numbers without the sign of zero: -0 equals 0, but not by its bits, by which
/// sorting and grouping compare. Other arrays are unchanged.
pub fn without_signed_zeros(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|it| it + 0.0))
        }
        DataType::Float32 => {
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|it| it + 0.0))
        }
        _ => Arc::clone(array),
    }
}

/// The keys of an array: for text its sort key under its collation as `Binary`, other arrays
/// unchanged. Equal values have equal keys. An account counts the keys as long as they are there.
///
/// # Errors
/// A collation whose rules are not known here (1235), and 1041.
pub fn comparison_keys(array: &ArrayRef, ty: &ColumnType, memory: &Account) -> Result<ArrayRef> {
    if !needs_key(ty) {
        return Ok(Arc::clone(array));
    }
    if ty.wire == WireType::Json {
        return Err(pelorus_error::Error::unsupported("grouping and ordering of JSON values"));
    }
    let rules = Rules::of(ty.collation);
    let ctx = EvalContext::default();
    let slot = Slot::of_type(*ty);
    let input = Input::new(array, &slot, &ctx)?;
    let mut output = Output::new(&DataType::Binary, array.len(), memory)?;
    let mut known = Known::new();
    for row in 0..array.len() {
        match input.text(row)? {
            None => output.push(Value::Null)?,
            Some(text) => output.push_bytes(known.key(&text, &rules)?)?,
        }
    }
    Ok(output.finish())
}

/// Keys of recent texts: group keys usually have few values.
#[derive(Debug)]
struct Known {
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    text: String,
    key: Vec<u8>,
    /// The entry has a text; an empty one has a key as well.
    filled: bool,
}

impl Known {
    const ENTRIES: usize = 64;

    /// Longer texts differ as a rule, and are not compared.
    const LONGEST: usize = 64;

    fn new() -> Self {
        Self { entries: std::iter::repeat_with(Entry::default).take(Self::ENTRIES).collect() }
    }

    fn key(&mut self, text: &str, rules: &Rules) -> Result<&[u8]> {
        let bytes = text.as_bytes();
        let ends = bytes.first().zip(bytes.last());
        let (first, last) = ends.map_or((0, 0), |(a, b)| (usize::from(*a), usize::from(*b)));
        let place = (first * 7 + last * 3 + bytes.len()) % Self::ENTRIES;
        let entry = &mut self.entries[place];
        if !entry.filled || entry.text != text {
            entry.filled = false;
            entry.key.clear();
            rules.key(text, &mut entry.key)?;
            entry.filled = bytes.len() <= Self::LONGEST;
            if entry.filled {
                text.clone_into(&mut entry.text);
            }
        }
        Ok(&entry.key)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;

    use super::*;

    #[test]
    fn keys_are_counted_while_they_are_there() {
        let memory = Account::new("limit", 1 << 20);
        let ty = ColumnType::varchar(100_000, pelorus_types::collation::UTF8MB4_0900_AI_CI);
        let texts = |length| -> ArrayRef {
            Arc::new(arrow::array::StringArray::from(vec![Some("a".repeat(length)), None]))
        };
        let keys = comparison_keys(&texts(100_000), &ty, &memory).unwrap();
        assert!(memory.held() >= keys.as_binary::<i32>().values().len(), "{}", memory.held());
        drop(keys);
        assert_eq!(memory.held(), 0);
        let error = comparison_keys(&texts(1_000_000), &ty, &memory).unwrap_err();
        assert_eq!((error.errno(), memory.held()), (1041, 0));
    }

    #[test]
    fn zero_has_no_sign() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(-1.5)]));
        let keys = without_signed_zeros(&values);
        let keys = keys.as_primitive::<Float64Type>();
        assert_eq!(keys.value(0).to_bits(), 0);
        assert!(keys.is_null(1));
        assert_eq!(keys.value(2), -1.5);
    }
}
