//! Columns of values in memory, as decoded from batches and chunks.

use std::cmp::Ordering;

/// An integer of 256 bits: the upper half signed, the lower not, so that the derived order is
/// that of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wide {
    /// The upper 128 bits.
    pub high: i128,
    /// The lower 128 bits.
    pub low: u128,
}

impl Wide {
    pub(crate) fn from_le_bytes(bytes: [u8; 32]) -> Self {
        let (mut low, mut high) = ([0; 16], [0; 16]);
        low.copy_from_slice(&bytes[..16]);
        high.copy_from_slice(&bytes[16..]);
        Self { high: i128::from_le_bytes(high), low: u128::from_le_bytes(low) }
    }

    /// The number in 128 bits, if it fits.
    pub fn narrow(self) -> Option<i128> {
        let low = self.low.cast_signed();
        (self.high == low >> 127).then_some(low)
    }
}

impl From<i128> for Wide {
    fn from(value: i128) -> Self {
        Self { high: value >> 127, low: value.cast_unsigned() }
    }
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A signed integer, a date or a time.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// Single precision.
    Float(f32),
    /// Double precision.
    Double(f64),
    /// A decimal, unscaled.
    Decimal(i128),
    /// A decimal of more than 38 digits, unscaled.
    WideDecimal(Wide),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// How values are stored: the type tags of chunks and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Int = 1,
    UInt = 2,
    Float = 3,
    Double = 4,
    Decimal = 5,
    Wide = 6,
    Text = 7,
    Bytes = 8,
}

impl Type {
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        use Type::*;
        [Int, UInt, Float, Double, Decimal, Wide, Text, Bytes]
            .into_iter()
            .find(|it| *it as u8 == tag)
    }

    /// Bytes of a plain value; 0 for those of any length.
    pub(crate) fn width(self) -> usize {
        match self {
            Type::Float => 4,
            Type::Int | Type::UInt | Type::Double => 8,
            Type::Decimal => 16,
            Type::Wide => 32,
            Type::Text | Type::Bytes => 0,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Type::Float | Type::Double)
    }

    pub(crate) fn is_string(self) -> bool {
        matches!(self, Type::Text | Type::Bytes)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Int => "integer",
            Type::UInt => "unsigned",
            Type::Float => "float",
            Type::Double => "double",
            Type::Decimal => "decimal",
            Type::Wide => "wide decimal",
            Type::Text => "text",
            Type::Bytes => "binary",
        }
    }
}

/// Values of one type, without the distinction of NULLs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Decimal(Vec<i128>),
    Wide(Vec<Wide>),
    /// Begin and end of each value in the bytes; with `true`, those are text.
    Strings(Vec<(usize, usize)>, Vec<u8>, bool),
    /// So many NULLs, without memory for each: damage could ask for any number of columns.
    Nulls(Type, usize),
}

impl Values {
    /// Fixed-width values from their plain bytes; `None` for strings, which need lengths.
    pub(crate) fn plain(ty: Type, bytes: &[u8]) -> Option<Self> {
        Some(match ty {
            Type::Int => Values::Int(map(bytes, i64::from_le_bytes)),
            Type::UInt => Values::UInt(map(bytes, u64::from_le_bytes)),
            Type::Float => Values::Float(map(bytes, f32::from_le_bytes)),
            Type::Double => Values::Double(map(bytes, f64::from_le_bytes)),
            Type::Decimal => Values::Decimal(map(bytes, i128::from_le_bytes)),
            Type::Wide => Values::Wide(map(bytes, Wide::from_le_bytes)),
            Type::Text | Type::Bytes => return None,
        })
    }

    pub(crate) fn ty(&self) -> Type {
        match self {
            Values::Int(_) => Type::Int,
            Values::UInt(_) => Type::UInt,
            Values::Float(_) => Type::Float,
            Values::Double(_) => Type::Double,
            Values::Decimal(_) => Type::Decimal,
            Values::Wide(_) => Type::Wide,
            Values::Strings(_, _, true) => Type::Text,
            Values::Strings(_, _, false) => Type::Bytes,
            Values::Nulls(ty, _) => *ty,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Int(list) => list.len(),
            Values::UInt(list) => list.len(),
            Values::Float(list) => list.len(),
            Values::Double(list) => list.len(),
            Values::Decimal(list) => list.len(),
            Values::Wide(list) => list.len(),
            Values::Strings(list, ..) => list.len(),
            Values::Nulls(_, rows) => *rows,
        }
    }

    /// The values at positions, all of which are below the length.
    pub(crate) fn pick(self, at: &[usize]) -> Self {
        fn of<T: Copy + Default>(list: &[T], at: &[usize]) -> Vec<T> {
            at.iter().map(|&at| list.get(at).copied().unwrap_or_default()).collect()
        }
        match self {
            Values::Int(list) => Values::Int(of(&list, at)),
            Values::UInt(list) => Values::UInt(of(&list, at)),
            Values::Float(list) => Values::Float(of(&list, at)),
            Values::Double(list) => Values::Double(of(&list, at)),
            Values::Decimal(list) => Values::Decimal(of(&list, at)),
            Values::Wide(list) => Values::Wide(of(&list, at)),
            Values::Strings(list, bytes, text) => Values::Strings(of(&list, at), bytes, text),
            Values::Nulls(ty, _) => Values::Nulls(ty, at.len()),
        }
    }

    /// One value; NULL beyond the end.
    pub(crate) fn get(&self, at: usize) -> Value<'_> {
        let found = match self {
            Values::Nulls(..) => None,
            Values::Int(list) => list.get(at).map(|it| Value::Int(*it)),
            Values::UInt(list) => list.get(at).map(|it| Value::UInt(*it)),
            Values::Float(list) => list.get(at).map(|it| Value::Float(*it)),
            Values::Double(list) => list.get(at).map(|it| Value::Double(*it)),
            Values::Decimal(list) => list.get(at).map(|it| Value::Decimal(*it)),
            Values::Wide(list) => list.get(at).map(|it| Value::WideDecimal(*it)),
            Values::Strings(list, bytes, text) => {
                let span = list.get(at).and_then(|(begin, end)| bytes.get(*begin..*end));
                span.map(|span| match text {
                    // Texts were checked when they were read.
                    true => std::str::from_utf8(span).map_or(Value::Bytes(span), Value::Text),
                    false => Value::Bytes(span),
                })
            }
        };
        found.unwrap_or(Value::Null)
    }
}

fn map<const N: usize, T>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|it| of(*it)).collect()
}

/// Values with NULLs.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) values: Values,
    /// One bit a row, set if it is not NULL; `None` if none is NULL.
    valid: Option<Vec<u8>>,
}

impl Column {
    /// `valid` has a bit for every row.
    pub(crate) fn new(values: Values, valid: Option<Vec<u8>>) -> Self {
        Self { values, valid }
    }

    /// A column of nothing but NULL.
    pub(crate) fn nulls(ty: Type, rows: usize) -> Self {
        Self { values: Values::Nulls(ty, rows), valid: None }
    }

    pub(crate) fn rows(&self) -> usize {
        self.values.len()
    }

    /// Whether it can be a column of a type: it has the type, or nothing but NULL.
    pub(crate) fn could_be(&self, ty: Type) -> bool {
        self.values.ty() == ty || self.null_count() == self.rows()
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        matches!(self.values, Values::Nulls(..))
            || self.valid.as_ref().is_some_and(|bits| !bit(bits, row))
    }

    pub(crate) fn null_count(&self) -> usize {
        (0..self.rows()).filter(|row| self.is_null(*row)).count()
    }

    pub(crate) fn get(&self, row: usize) -> Value<'_> {
        if self.is_null(row) { Value::Null } else { self.values.get(row) }
    }
}

/// Bit `row` of a bitmap, least significant first; clear beyond its end.
pub(crate) fn bit(bits: &[u8], row: usize) -> bool {
    bits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
}

/// How two values of one type compare: numbers by number, floats in the total order, strings by
/// their bytes. Of different types or NULL they count as equal.
pub(crate) fn compare(a: Value<'_>, b: Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(&b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(&b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(&b),
        (Value::Double(a), Value::Double(b)) => a.total_cmp(&b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(&b),
        (Value::WideDecimal(a), Value::WideDecimal(b)) => a.cmp(&b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
