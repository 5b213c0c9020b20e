//! Encodes tuples of values as bytes: equal tuples give equal bytes, and smaller tuples smaller
//! bytes.
//!
//! Each value is a tag (0: NULL, 1: a value, 255: above all values) and the value: integers of 8
//! bytes, big-endian, with the sign bit inverted if the type is signed; byte strings and texts with
//! `00 FF` for a zero byte and `00 00` at their end. Texts are represented by their weights unless
//! they compare by the bytes of UTF-8. Under KEY, decimals are encoded as their unscaled values of
//! 16 or 32 bytes like integers, and floats in double precision, with all bits of negative ones
//! inverted. The bytes are part of the data format: the keys of partitions consist of them, and KEY
//! computes the partition of a row from them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};
use pelorus_store::{Function, append_number};
use pelorus_types::temporal::{DateTime, write_date, write_datetime, write_time};
use pelorus_types::{ColumnType, WireType};

use super::super::collation_keys;

const NULL: u8 = 0;
const VALUE: u8 = 1;
/// `MAXVALUE`.
pub(super) const ABOVE_ALL: u8 = 255;

/// A function of a column that is part of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(super) column: usize,
    pub(super) function: Function,
    pub(super) ty: ColumnType,
}

/// Encoded tuples.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Encoded {
    /// All tuples in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }
}

/// Encodes the tuples of all rows. `column` gives the array of a position.
///
/// # Errors
/// A collation whose rules are not known (1235).
pub(super) fn encode<'a>(
    parts: &[Part],
    rows: usize,
    column: &dyn Fn(usize) -> &'a ArrayRef,
) -> Result<Encoded> {
    let inputs: Vec<ArrayRef> =
        parts.iter().map(|part| part.apply(column(part.column))).collect::<Result<_>>()?;
    let mut out = Encoded::default();
    for row in 0..rows {
        for input in &inputs {
            append(input, row, &mut out.bytes)?;
        }
        out.ends.push(out.bytes.len());
    }
    Ok(out)
}

impl Part {
    /// The column itself.
    pub(super) fn identity(column: usize, ty: ColumnType) -> Self {
        Self { column, function: Function::Identity, ty }
    }

    /// Whether texts are compared as they are, by their bytes.
    fn is_plain(&self) -> bool {
        let collation = self.ty.collation;
        collation.is_binary_order() && collation.charset().starts_with("utf8")
    }

    /// Whether larger values of the column, as numbers, as bytes or under the collation of texts,
    /// never encode to smaller bytes. Weights have the collation's order; unencoded texts with
    /// padding do not, since a character below the space makes a text smaller.
    pub(super) fn keeps_order(&self) -> bool {
        self.function.is_monotonic() && !self.is_padded()
    }

    /// Whether it is a text that is encoded by its bytes and compares with padding.
    pub(super) fn is_padded(&self) -> bool {
        let is_text = self.ty.arrow() == DataType::Utf8;
        is_text && self.is_plain() && !self.ty.collation.is_no_pad()
    }

    /// Whether an encoded value has its place in the order of the others: dates that are none are
    /// slices of their own, which may lie within those of real ones.
    pub(super) fn is_in_order(&self, field: &[u8]) -> bool {
        if !matches!(self.function, Function::TimeSlice(_) | Function::MonthSlice(_)) {
            return true;
        }
        match self.field(field) {
            Some(Field::Number(bytes)) => {
                DateTime::unpack((u64::from_be_bytes(bytes) ^ 1 << 63).cast_signed()).is_valid()
            }
            _ => true,
        }
    }

    /// The values that are encoded.
    pub(super) fn apply(&self, values: &ArrayRef) -> Result<ArrayRef> {
        if *values.data_type() != DataType::Utf8 {
            return self.function.apply(values);
        }
        let collation = self.ty.collation;
        if self.is_plain() {
            if collation.is_no_pad() {
                return self.function.apply(values);
            }
            let texts = values.as_string::<i32>().iter();
            let trimmed: StringArray =
                texts.map(|text| text.map(|text| text.trim_end_matches(' '))).collect();
            return self.function.apply(&(Arc::new(trimmed) as ArrayRef));
        }
        let weights = collation_keys::weights(values, collation)?;
        let function = match self.function {
            Function::Left(chars) => Function::Left(chars.saturating_mul(weight_bytes(self)?)),
            other => other,
        };
        function.apply(&weights)
    }

    /// The encoded image of one value of the column; `None` when it cannot be one.
    pub(super) fn image(&self, value: &ArrayRef) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        append(&self.apply(value).ok()?, 0, &mut out).ok()?;
        Some(out)
    }
}

/// Bytes that one more character adds to the weights.
fn weight_bytes(part: &Part) -> Result<u32> {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "aa"]));
    let weights = collation_keys::weights(&texts, part.ty.collation)?;
    let weights = weights.as_binary::<i32>();
    let more = weights.value(1).len().saturating_sub(weights.value(0).len());
    Ok(u32::try_from(more).unwrap_or(1).max(1))
}

fn append(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if array.is_null(row) {
        out.push(NULL);
        return Ok(());
    }
    out.push(VALUE);
    match array.data_type() {
        _ if append_number(array, row, out) => {}
        DataType::Utf8 => string(array.as_string::<i32>().value(row).as_bytes(), out),
        DataType::Binary => string(array.as_binary::<i32>().value(row), out),
        other => return Err(Error::internal(format!("a partition key of {other}"))),
    }
    Ok(())
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend([0, 0]);
}

/// One encoded value of a key: the tag, then the bytes of [`append`] without the escapes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Null,
    /// The eight bytes of a number.
    Number([u8; 8]),
    /// The bytes of a string, with escapes and end.
    String(&'a [u8]),
}

/// Cuts a key into the encoded bytes of its parts; `None` of bytes that are no such key.
pub(super) fn fields<'a>(parts: &[Part], key: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut rest = key;
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let field = first_field(part, rest)?;
        out.push(field);
        rest = rest.get(field.len()..)?;
    }
    rest.is_empty().then_some(out)
}

/// The encoded bytes of the first value; `None` when it is above all values.
pub(super) fn first_field<'a>(part: &Part, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let length = match *bytes.first()? {
        NULL => 1,
        VALUE if part.is_number() => 9,
        VALUE => 1 + string_end(bytes.get(1..)?)?,
        _ => return None,
    };
    bytes.get(..length)
}

/// Where an escaped string ends, its end included.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (0, Some(0)) => return Some(at + 2),
            (0, Some(0xFF)) => at += 2,
            (0, _) => return None,
            _ => at += 1,
        }
    }
}

impl Part {
    fn is_number(&self) -> bool {
        let is_string = matches!(self.ty.arrow(), DataType::Utf8 | DataType::Binary);
        !is_string || matches!(self.function, Function::Hash(_))
    }

    fn field<'a>(&self, bytes: &'a [u8]) -> Option<Field<'a>> {
        match bytes.split_first()? {
            (&NULL, []) => Some(Field::Null),
            (_, rest) if self.is_number() => Some(Field::Number(rest.try_into().ok()?)),
            (_, rest) => Some(Field::String(rest)),
        }
    }
}

/// The values of a key for people; texts that only their weights are known of as hexadecimal
/// digits. `None` of bytes that are no key.
pub(super) fn describe(parts: &[Part], key: &[u8]) -> Option<String> {
    let texts = parts
        .iter()
        .zip(fields(parts, key)?)
        .map(|(part, bytes)| Some(part.text(&part.field(bytes)?)))
        .collect::<Option<Vec<String>>>()?;
    Some(texts.join(","))
}

impl Part {
    fn text(&self, field: &Field<'_>) -> String {
        let bytes = match field {
            Field::Null => return "NULL".to_owned(),
            Field::Number(bytes) => return self.number_text(u64::from_be_bytes(*bytes)),
            Field::String(bytes) => plain_bytes(bytes),
        };
        match String::from_utf8(bytes) {
            Ok(text) if self.is_plain() => format!("'{}'", text.replace('\'', "''")),
            Ok(text) => pelorus_sql::literal::hexadecimal(text.as_bytes()),
            Err(error) => pelorus_sql::literal::hexadecimal(error.as_bytes()),
        }
    }

    /// Whether its values, when they are dates, are at the beginning of a day.
    fn slices_days(&self) -> bool {
        const DAY: u64 = 86_400_000_000;
        !matches!(self.function, Function::TimeSlice(micros) if micros % DAY != 0)
    }

    /// Digits after the seconds that tell its values apart: slices of time can begin between the
    /// values of a column.
    fn digits(&self) -> u8 {
        let own = self.ty.decimals.min(6);
        let Function::TimeSlice(micros) = self.function else { return own };
        let fits = |digits: &u8| micros % 10_u64.pow(u32::from(6 - *digits)) == 0;
        (own..6).find(fits).unwrap_or(6)
    }

    fn number_text(&self, bits: u64) -> String {
        if self.ty.arrow() == DataType::UInt64 && !matches!(self.function, Function::Hash(_)) {
            return bits.to_string();
        }
        let value = (bits ^ 1 << 63).cast_signed();
        let mut out = String::new();
        match self.ty.wire {
            _ if matches!(self.function, Function::Hash(_)) => return value.to_string(),
            WireType::Date if self.slices_days() => write_date(&mut out, DateTime::unpack(value)),
            WireType::Date | WireType::DateTime | WireType::Timestamp => {
                write_datetime(&mut out, DateTime::unpack(value), self.digits());
            }
            WireType::Time => write_time(&mut out, value, self.ty.decimals.min(6)),
            _ => return value.to_string(),
        }
        format!("'{out}'")
    }
}

fn plain_bytes(escaped: &[u8]) -> Vec<u8> {
    let inner = escaped.strip_suffix(&[0, 0]).unwrap_or(escaped);
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        out.push(byte);
        if byte == 0 {
            bytes.next();
        }
    }
    out
}
