//! Counts the values of a sample, column by column.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};
use pelorus_chunk::Scalar;
use pelorus_error::{Error, Result};

/// The values of a column of a sample, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// How many rows there were.
    pub rows: u64,
    /// How many of them were NULL.
    pub nulls: u64,
    /// The distinct values, rising, with the rows of each; `None` when only NULLs were counted.
    pub values: Option<Vec<(Scalar, u64)>>,
}

/// Takes the values of a column.
#[derive(Debug)]
pub struct Collector {
    rows: u64,
    nulls: u64,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Int(Vec<i128>),
    Wide(Vec<i256>),
    Float(Vec<f64>),
    /// Rows and an example by key.
    Bytes(HashMap<Vec<u8>, (u64, Vec<u8>)>),
    /// Only NULLs count.
    Nothing,
}

impl Collector {
    /// Maximum characters of a text, as in MySQL.
    pub const TEXT_CHARS: usize = 42;

    /// Bytes of a byte string that are kept.
    const BYTES: usize = 168;

    /// Counts values of an Arrow type; with `compared` false only NULLs.
    pub fn new(ty: &DataType, compared: bool) -> Self {
        let values = match ty {
            _ if !compared => Values::Nothing,
            DataType::Float32 | DataType::Float64 => Values::Float(Vec::new()),
            DataType::Decimal256(..) => Values::Wide(Vec::new()),
            DataType::Utf8 | DataType::Binary => Values::Bytes(HashMap::new()),
            _ => Values::Int(Vec::new()),
        };
        Self { rows: 0, nulls: 0, values }
    }

    /// Adds the values of some rows. Texts come with keys that define their equality and order;
    /// other values are their own keys.
    ///
    /// # Errors
    /// An array of another type than the column's.
    pub fn add(&mut self, array: &ArrayRef, keys: &ArrayRef) -> Result<()> {
        self.rows += array.len() as u64;
        self.nulls += array.null_count() as u64;
        match (&mut self.values, array.data_type()) {
            (Values::Nothing, _) => {}
            (Values::Int(values), DataType::Int64) => {
                values.extend(array.as_primitive::<Int64Type>().iter().flatten().map(i128::from));
            }
            (Values::Int(values), DataType::UInt64) => {
                values.extend(array.as_primitive::<UInt64Type>().iter().flatten().map(i128::from));
            }
            (Values::Int(values), DataType::Decimal128(..)) => {
                values.extend(array.as_primitive::<Decimal128Type>().iter().flatten());
            }
            (Values::Wide(values), DataType::Decimal256(..)) => {
                values.extend(array.as_primitive::<Decimal256Type>().iter().flatten());
            }
            (Values::Float(values), DataType::Float32) => {
                let found = array.as_primitive::<Float32Type>().iter().flatten();
                values.extend(found.map(f64::from));
            }
            (Values::Float(values), DataType::Float64) => {
                values.extend(array.as_primitive::<Float64Type>().iter().flatten());
            }
            (Values::Bytes(values), DataType::Utf8 | DataType::Binary) => {
                for row in (0..array.len()).filter(|row| !array.is_null(*row)) {
                    let (Some(key), Some(value)) = (bytes(keys, row), bytes(array, row)) else {
                        return Err(Error::internal("the key of a text is no bytes"));
                    };
                    match values.get_mut(short_key(key).as_ref()) {
                        Some((count, _)) => *count += 1,
                        None => {
                            let is_text = *array.data_type() == DataType::Utf8;
                            let kept = cut(value, is_text).to_vec();
                            values.insert(short_key(key).into_owned(), (1, kept));
                        }
                    }
                }
            }
            (_, other) => {
                return Err(Error::internal(format!("values of {other} cannot be counted")));
            }
        }
        Ok(())
    }

    /// The counted values.
    pub fn finish(self) -> Counted {
        let values = match self.values {
            Values::Nothing => None,
            Values::Int(mut values) => {
                values.sort_unstable();
                Some(runs(&values, |a, b| a == b, |it| Scalar::Int(*it)))
            }
            Values::Wide(mut values) => {
                values.sort_unstable();
                Some(runs(&values, |a, b| a == b, |it| Scalar::Wide(*it)))
            }
            Values::Float(mut values) => {
                values.iter_mut().filter(|it| **it == 0.0).for_each(|it| *it = 0.0);
                values.sort_unstable_by(f64::total_cmp);
                Some(runs(&values, |a, b| a.total_cmp(b).is_eq(), |it| Scalar::Float(*it)))
            }
            Values::Bytes(values) => {
                let mut all: Vec<(Vec<u8>, (u64, Vec<u8>))> = values.into_iter().collect();
                all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                Some(all.into_iter().map(|(_, (count, it))| (Scalar::Bytes(it), count)).collect())
            }
        };
        Counted { rows: self.rows, nulls: self.nulls, values }
    }
}

/// Sorted values with the number of each.
fn runs<T>(
    sorted: &[T],
    same: impl FnMut(&T, &T) -> bool,
    make: impl Fn(&T) -> Scalar,
) -> Vec<(Scalar, u64)> {
    let run = |run: &[T]| Some((make(run.first()?), run.len() as u64));
    sorted.chunk_by(same).filter_map(run).collect()
}

fn bytes(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        _ => None,
    }
}

/// A key that takes little memory: a long one is cut, with a hash of all of it after the cut. Keys
/// that differ stay different, but for collisions of the hash that an estimate can bear.
fn short_key(key: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    const LONG: usize = 64;
    let Some(begin) = key.get(..LONG).filter(|_| key.len() > LONG + 8) else {
        return key.into();
    };
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    [begin, &hasher.finish().to_be_bytes()].concat().into()
}

/// The begin of a value.
fn cut(value: &[u8], is_text: bool) -> &[u8] {
    let text = std::str::from_utf8(value).ok().filter(|_| is_text);
    let end = match text {
        Some(text) => text.char_indices().nth(Collector::TEXT_CHARS).map(|(at, _)| at),
        None => (value.len() > Collector::BYTES).then_some(Collector::BYTES),
    };
    end.and_then(|end| value.get(..end)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryArray, Float64Array, Int64Array, StringArray};

    use super::*;

    fn counted(array: ArrayRef, keys: Option<ArrayRef>) -> Counted {
        let mut collector = Collector::new(array.data_type(), true);
        collector.add(&array, keys.as_ref().unwrap_or(&array)).unwrap();
        collector.finish()
    }

    #[test]
    fn numbers_are_counted_by_value() {
        let found =
            counted(Arc::new(Int64Array::from(vec![Some(3), None, Some(-1), Some(3)])), None);
        assert_eq!((found.rows, found.nulls), (4, 1));
        assert_eq!(found.values.unwrap(), [(Scalar::Int(-1), 1), (Scalar::Int(3), 2)]);
        let found = counted(Arc::new(Float64Array::from(vec![-0.0, 1.0, 0.0])), None);
        assert_eq!(found.values.unwrap(), [(Scalar::Float(0.0), 2), (Scalar::Float(1.0), 1)]);
    }

    #[test]
    fn texts_are_counted_by_their_keys() {
        let texts = Arc::new(StringArray::from(vec!["B", "a", "A"]));
        let keys = Arc::new(BinaryArray::from(vec![b"b" as &[u8], b"a", b"a"]));
        let found = counted(texts, Some(keys)).values.unwrap();
        assert_eq!(found, [(Scalar::Bytes(b"a".to_vec()), 2), (Scalar::Bytes(b"B".to_vec()), 1)]);
    }

    #[test]
    fn long_texts_are_cut_but_told_apart() {
        let long = "ä".repeat(100);
        let texts: ArrayRef =
            Arc::new(StringArray::from(vec![format!("{long}1"), format!("{long}2")]));
        let found = counted(Arc::clone(&texts), Some(texts)).values.unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, Scalar::Bytes("ä".repeat(42).into_bytes()));
    }
}
