//! Decodes rows into arrays.

use std::sync::Arc;

use arrow::array::RecordBatchOptions;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use pelorus_error::{Error, Result};
use pelorus_types::builder::{Builder, Values};
use pelorus_types::temporal::DateTime;
use pelorus_types::{Column, WireType, number};

use super::Format;
use super::text;
use crate::lenenc::{Reader, malformed};

/// How the bytes of a value are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An integer of so many bytes in the binary protocol.
    Int1,
    Int2,
    Int4,
    Int8,
    Bit,
    Float,
    Double,
    Decimal(u8),
    Date,
    Time,
    Bytes,
    Null,
}

impl Kind {
    fn of(wire: WireType, decimals: u8) -> Self {
        match wire {
            WireType::Tiny => Kind::Int1,
            WireType::Short | WireType::Year => Kind::Int2,
            WireType::Int24 | WireType::Long => Kind::Int4,
            WireType::LongLong => Kind::Int8,
            WireType::Bit => Kind::Bit,
            WireType::Float => Kind::Float,
            WireType::Double => Kind::Double,
            WireType::OldDecimal | WireType::NewDecimal => Kind::Decimal(decimals.min(38)),
            WireType::Date | WireType::DateTime | WireType::Timestamp => Kind::Date,
            WireType::Time => Kind::Time,
            WireType::Null => Kind::Null,
            _ => Kind::Bytes,
        }
    }
}

/// Collects rows into a [`RecordBatch`].
#[derive(Debug)]
pub struct RowDecoder {
    columns: Arc<[Column]>,
    kinds: Vec<Kind>,
    builders: Vec<Builder>,
    schema: SchemaRef,
    format: Format,
    rows: usize,
    /// Payload bytes since the last batch: a cheap measure that can be asked for every row.
    payload: usize,
}

impl RowDecoder {
    /// A decoder for rows of these columns.
    ///
    /// # Errors
    /// When a column's type cannot be held.
    pub fn new(columns: impl Into<Arc<[Column]>>, format: Format) -> Result<Self> {
        let columns = columns.into();
        let schema = Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()));
        let kinds = columns.iter().map(|c| Kind::of(c.ty.wire, c.ty.decimals)).collect();
        let builders =
            columns.iter().map(|c| Builder::new(c.ty.arrow())).collect::<Result<Vec<_>>>()?;
        Ok(Self { columns, kinds, builders, schema, format, rows: 0, payload: 0 })
    }

    /// The columns.
    pub fn columns(&self) -> &Arc<[Column]> {
        &self.columns
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows since the last batch.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row came since the last batch.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes since the last batch: of the arrays, or of the payloads if those are larger.
    pub fn bytes(&self) -> usize {
        self.payload.max(self.builders.iter().map(Builder::bytes).sum())
    }

    /// Bytes of the payloads since the last batch; cheaper than [`Self::bytes`].
    pub fn payload_bytes(&self) -> usize {
        self.payload
    }

    /// Adds a row, given the whole payload of its packet.
    ///
    /// # Errors
    /// When the bytes are not such a row, or a value cannot be held. The row is left out then.
    #[inline]
    pub fn push(&mut self, payload: &[u8]) -> Result<()> {
        let result = match self.format {
            Format::Binary => self.push_binary(payload),
            Format::Text => self.push_text(payload),
        };
        if result.is_ok() {
            self.rows += 1;
            self.payload += payload.len();
        } else {
            for builder in &mut self.builders {
                builder.truncate(self.rows);
            }
        }
        result
    }

    /// Takes the rows since the last batch.
    ///
    /// # Errors
    /// When text is not UTF-8.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = self
            .builders
            .iter_mut()
            .zip(self.columns.iter())
            .map(|(builder, column)| builder.finish(&column.name))
            .collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        self.payload = 0;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::internal("result columns do not fit together").caused_by(error))
    }

    fn push_binary(&mut self, payload: &[u8]) -> Result<()> {
        let bitmap_len = (self.kinds.len() + 9) / 8;
        let mut reader = Reader::new(payload);
        if reader.u8()? != 0 {
            return Err(malformed("no binary row"));
        }
        let bitmap = reader.bytes(bitmap_len)?;
        for (index, (kind, builder)) in self.kinds.iter().zip(&mut self.builders).enumerate() {
            let bit = index + 2;
            if bitmap[bit / 8] >> (bit % 8) & 1 == 1 {
                builder.push_null();
            } else {
                read_binary(*kind, builder, &mut reader, &self.columns[index])?;
            }
        }
        end_of_row(&reader)
    }

    fn push_text(&mut self, payload: &[u8]) -> Result<()> {
        let mut reader = Reader::new(payload);
        for (index, (kind, builder)) in self.kinds.iter().zip(&mut self.builders).enumerate() {
            match reader.lenenc_bytes_or_null()? {
                None => builder.push_null(),
                Some(bytes) => read_text(*kind, builder, bytes)
                    .ok_or_else(|| misfit(&self.columns[index], bytes))?,
            }
        }
        end_of_row(&reader)
    }
}

fn end_of_row(reader: &Reader<'_>) -> Result<()> {
    if reader.is_empty() { Ok(()) } else { Err(malformed("a row goes on after its columns")) }
}

/// A value that its column's type cannot hold.
fn misfit(column: &Column, bytes: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
    Error::unsupported(format_args!("value '{shown}' in column '{}'", column.name))
}

#[inline]
fn read_binary(
    kind: Kind,
    builder: &mut Builder,
    reader: &mut Reader<'_>,
    column: &Column,
) -> Result<()> {
    match (kind, &mut builder.values) {
        (Kind::Int1, Values::Int(values)) => {
            values.push(i64::from(i8::from_le_bytes(reader.array()?)))
        }
        (Kind::Int1, Values::UInt(values)) => values.push(u64::from(reader.u8()?)),
        (Kind::Int2, Values::Int(values)) => {
            values.push(i64::from(i16::from_le_bytes(reader.array()?)))
        }
        (Kind::Int2, Values::UInt(values)) => values.push(u64::from(reader.u16()?)),
        (Kind::Int4, Values::Int(values)) => {
            values.push(i64::from(i32::from_le_bytes(reader.array()?)))
        }
        (Kind::Int4, Values::UInt(values)) => values.push(u64::from(reader.u32()?)),
        (Kind::Int8, Values::Int(values)) => values.push(i64::from_le_bytes(reader.array()?)),
        (Kind::Int8, Values::UInt(values)) => values.push(reader.u64()?),
        (Kind::Float, Values::Float(values)) => values.push(f32::from_le_bytes(reader.array()?)),
        (Kind::Double, Values::Double(values)) => values.push(f64::from_le_bytes(reader.array()?)),
        (Kind::Date, Values::Int(values)) => values.push(read_datetime(reader)?),
        (Kind::Time, Values::Int(values)) => values.push(read_time(reader)?),
        _ => {
            let bytes = reader.lenenc_bytes()?;
            return read_text(kind, builder, bytes).ok_or_else(|| misfit(column, bytes));
        }
    }
    builder.nulls.push(true);
    Ok(())
}

/// Reads a value of the text protocol; decimals, bits and strings look the same in the binary one.
#[inline]
fn read_text(kind: Kind, builder: &mut Builder, bytes: &[u8]) -> Option<()> {
    match (kind, &mut builder.values) {
        (Kind::Bytes, Values::Bytes { .. }) => return builder.push_bytes(bytes).ok(),
        (Kind::Int1 | Kind::Int2 | Kind::Int4 | Kind::Int8, Values::Int(values)) => {
            values.push(text::parse_i64(bytes)?);
        }
        (Kind::Int1 | Kind::Int2 | Kind::Int4 | Kind::Int8, Values::UInt(values)) => {
            values.push(text::parse_u64(bytes)?);
        }
        (Kind::Bit, Values::UInt(values)) => values.push(read_bits(bytes)?),
        (Kind::Float, Values::Float(values)) => values.push(text::parse_float(bytes)?),
        (Kind::Double, Values::Double(values)) => values.push(text::parse_float(bytes)?),
        (Kind::Decimal(scale), Values::Decimal128(values)) => {
            values.push(read_decimal(bytes, scale)?);
        }
        (Kind::Decimal(scale), Values::Decimal256(values)) => {
            values.push(number::parse_decimal(bytes, scale)?);
        }
        (Kind::Date, Values::Int(values)) => values.push(text::parse_datetime(bytes)?),
        (Kind::Time, Values::Int(values)) => values.push(text::parse_time(bytes)?),
        _ => return None,
    }
    builder.nulls.push(true);
    Some(())
}

/// Bits come as bytes, the highest first.
fn read_bits(bytes: &[u8]) -> Option<u64> {
    if bytes.len() > 8 {
        return None;
    }
    Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// A decimal of up to 18 digits, which nearly all are, without 256-bit arithmetic.
#[inline]
fn read_decimal(bytes: &[u8], scale: u8) -> Option<i128> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let scale_len = usize::from(scale);
    let point = digits.len().checked_sub(scale_len + usize::from(scale > 0));
    // The server writes exactly `scale` digits after the point; anything else goes the long way.
    let Some(point) = point.filter(|point| {
        (1..=19).contains(&digits.len()) && *point > 0 && (scale == 0 || digits[*point] == b'.')
    }) else {
        return wide_decimal(bytes, scale);
    };
    let mut value = 0_i64;
    for &byte in digits[..point].iter().chain(&digits[digits.len() - scale_len..]) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || value > i64::MAX / 10 - 1 {
            return wide_decimal(bytes, scale);
        }
        value = value * 10 + i64::from(digit);
    }
    Some(i128::from(if negative { -value } else { value }))
}

fn wide_decimal(bytes: &[u8], scale: u8) -> Option<i128> {
    let value = number::parse_decimal(bytes, scale)?.to_i128()?;
    // What the array promises: at most 38 digits.
    (value.unsigned_abs() < 10_u128.pow(38)).then_some(value)
}

/// Reads a date of the binary protocol: 0, 4, 7 or 11 bytes.
#[inline]
fn read_datetime(reader: &mut Reader<'_>) -> Result<i64> {
    let length = reader.u8()?;
    let mut value = DateTime::default();
    if length >= 4 {
        value.year = reader.u16()?;
        value.month = reader.u8()?;
        value.day = reader.u8()?;
    }
    if length >= 7 {
        value.hour = reader.u8()?;
        value.minute = reader.u8()?;
        value.second = reader.u8()?;
    }
    if length == 11 {
        value.micros = reader.u32()?;
    }
    let in_range = value.year <= 9999
        && value.month <= 12
        && value.day <= 31
        && value.hour <= 23
        && value.minute <= 59
        && value.second <= 59
        && value.micros <= 999_999;
    if !matches!(length, 0 | 4 | 7 | 11) || !in_range {
        return Err(malformed("no date"));
    }
    Ok(value.pack())
}

/// Reads a time of the binary protocol: 0, 8 or 12 bytes.
#[inline]
fn read_time(reader: &mut Reader<'_>) -> Result<i64> {
    let length = reader.u8()?;
    if length == 0 {
        return Ok(0);
    }
    if !matches!(length, 8 | 12) {
        return Err(malformed("no time"));
    }
    let negative = reader.u8()? != 0;
    let days = i64::from(reader.u32()?);
    let [hours, minutes, seconds] = reader.array::<3>()?.map(i64::from);
    let micros = if length == 12 { i64::from(reader.u32()?) } else { 0 };
    if days > 1000 || hours > 23 || minutes > 59 || seconds > 59 || micros > 999_999 {
        return Err(malformed("no time"));
    }
    let total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
    Ok(if negative { -total } else { total })
}
