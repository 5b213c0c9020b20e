//! Encodes arrays as rows.

use arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryArray, Decimal128Array, Decimal256Array, Float32Array,
    Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type, i256,
};
use arrow::record_batch::RecordBatch;
use bytes::{BufMut as _, BytesMut};
use pelorus_error::{Error, Result};
use pelorus_types::column::DECIMALS_NOT_FIXED;
use pelorus_types::temporal::DateTime;
use pelorus_types::{Column, ColumnType, Flags, WireType, number};

use super::Format;
use crate::lenenc::{put_lenenc_bytes, put_null};

/// A column's values, found once per batch.
#[derive(Debug)]
enum Values<'a> {
    Int(&'a Int64Array),
    UInt(&'a UInt64Array),
    Float(&'a Float32Array),
    Double(&'a Float64Array),
    Decimal128(&'a Decimal128Array),
    Decimal256(&'a Decimal256Array),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Null,
}

/// Writes the rows of one batch as payloads (without frame headers).
#[derive(Debug)]
pub struct RowEncoder<'a> {
    columns: Vec<(Values<'a>, &'a dyn Array, ColumnType)>,
    format: Format,
    rows: usize,
    /// Digits of the value at hand.
    scratch: String,
}

impl<'a> RowEncoder<'a> {
    /// Looks at a batch once; then [`Self::encode`] is quick for each row.
    ///
    /// # Errors
    /// When an array is not of the form that [`ColumnType::arrow`] names for its column.
    pub fn new(batch: &'a RecordBatch, columns: &[Column], format: Format) -> Result<Self> {
        if batch.num_columns() != columns.len() {
            return Err(Error::internal(format!(
                "a batch of {} columns for a result of {}",
                batch.num_columns(),
                columns.len()
            )));
        }
        let columns = batch
            .columns()
            .iter()
            .zip(columns)
            .map(|(array, column)| Ok((values(array, column)?, array.as_ref(), column.ty)))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { columns, format, rows: batch.num_rows(), scratch: String::new() })
    }

    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the payload of a row.
    ///
    /// # Errors
    /// When an integer does not fit the column's type; the appended bytes are invalid then.
    #[inline]
    pub fn encode(&mut self, row: usize, out: &mut BytesMut) -> Result<()> {
        match self.format {
            Format::Text => {
                self.encode_text(row, out);
                Ok(())
            }
            Format::Binary => self.encode_binary(row, out),
        }
    }

    fn encode_text(&mut self, row: usize, out: &mut BytesMut) {
        for (values, array, ty) in &self.columns {
            if matches!(values, Values::Null) || array.is_null(row) {
                put_null(out);
                continue;
            }
            match values {
                Values::Text(array) => put_lenenc_bytes(out, array.value(row).as_bytes()),
                Values::Bytes(array) => put_lenenc_bytes(out, array.value(row)),
                Values::UInt(array) if ty.wire == WireType::Bit => {
                    put_lenenc_bytes(out, bit_bytes(&array.value(row).to_be_bytes(), ty.length));
                }
                values => {
                    self.scratch.clear();
                    write_text(values, row, ty, &mut self.scratch);
                    put_lenenc_bytes(out, self.scratch.as_bytes());
                }
            }
        }
    }

    fn encode_binary(&mut self, row: usize, out: &mut BytesMut) -> Result<()> {
        out.put_u8(0);
        let bitmap = out.len();
        out.put_bytes(0, (self.columns.len() + 9) / 8);
        for (index, (values, array, ty)) in self.columns.iter().enumerate() {
            if matches!(values, Values::Null) || array.is_null(row) {
                let bit = index + 2;
                out[bitmap + bit / 8] |= 1 << (bit % 8);
                continue;
            }
            match values {
                Values::Int(array) if ty.is_date() => {
                    put_datetime(out, DateTime::unpack(array.value(row)), ty);
                }
                Values::Int(array) if ty.wire == WireType::Time => put_time(out, array.value(row)),
                Values::Int(array) => {
                    let value = array.value(row);
                    let width = int_width(ty.wire);
                    // Shifted up and back, a value that fits keeps itself.
                    let spare = 64 - 8 * width;
                    if value << spare >> spare != value {
                        return Err(too_wide(value, ty.wire));
                    }
                    out.put_int_le(value, width);
                }
                Values::UInt(array) if ty.wire == WireType::Bit => {
                    put_lenenc_bytes(out, bit_bytes(&array.value(row).to_be_bytes(), ty.length));
                }
                Values::UInt(array) => {
                    let value = array.value(row);
                    let width = int_width(ty.wire);
                    let spare = 64 - 8 * width;
                    if value << spare >> spare != value {
                        return Err(too_wide(value, ty.wire));
                    }
                    out.put_uint_le(value, width);
                }
                Values::Float(array) => out.put_f32_le(array.value(row)),
                Values::Double(array) => out.put_f64_le(array.value(row)),
                Values::Text(array) => put_lenenc_bytes(out, array.value(row).as_bytes()),
                Values::Bytes(array) => put_lenenc_bytes(out, array.value(row)),
                Values::Decimal128(_) | Values::Decimal256(_) => {
                    self.scratch.clear();
                    write_text(values, row, ty, &mut self.scratch);
                    put_lenenc_bytes(out, self.scratch.as_bytes());
                }
                Values::Null => {}
            }
        }
        Ok(())
    }
}

/// Appends the payload of one row of the text protocol. For many rows make a [`RowEncoder`].
///
/// # Errors
/// As [`RowEncoder::new`] and [`RowEncoder::encode`].
pub fn encode_text_row(
    batch: &RecordBatch,
    columns: &[Column],
    row: usize,
    out: &mut BytesMut,
) -> Result<()> {
    RowEncoder::new(batch, columns, Format::Text)?.encode(row, out)
}

/// Appends the payload of one row of the binary protocol. For many rows make a [`RowEncoder`].
///
/// # Errors
/// As [`RowEncoder::new`] and [`RowEncoder::encode`].
pub fn encode_binary_row(
    batch: &RecordBatch,
    columns: &[Column],
    row: usize,
    out: &mut BytesMut,
) -> Result<()> {
    RowEncoder::new(batch, columns, Format::Binary)?.encode(row, out)
}

fn values<'a>(array: &'a ArrayRef, column: &Column) -> Result<Values<'a>> {
    let ty = &column.ty;
    let found = match array.data_type() {
        // Whatever the column's type, an array without values holds NULLs only.
        DataType::Null => Some(Values::Null),
        DataType::Int64 if ty.is_temporal() || (ty.is_integer() && !ty.is_unsigned()) => {
            array.as_primitive_opt::<Int64Type>().map(Values::Int)
        }
        DataType::UInt64 if ty.is_integer() => {
            array.as_primitive_opt::<UInt64Type>().map(Values::UInt)
        }
        DataType::Float32 if ty.wire == WireType::Float => {
            array.as_primitive_opt::<Float32Type>().map(Values::Float)
        }
        DataType::Float64 if ty.wire == WireType::Double => {
            array.as_primitive_opt::<Float64Type>().map(Values::Double)
        }
        DataType::Decimal128(..) if ty.is_decimal() => {
            array.as_primitive_opt::<Decimal128Type>().map(Values::Decimal128)
        }
        DataType::Decimal256(..) if ty.is_decimal() => {
            array.as_primitive_opt::<Decimal256Type>().map(Values::Decimal256)
        }
        DataType::Utf8 if ty.is_string() => array.as_string_opt::<i32>().map(Values::Text),
        DataType::Binary if ty.is_string() => array.as_binary_opt::<i32>().map(Values::Bytes),
        _ => None,
    };
    found.ok_or_else(|| {
        Error::internal(format!(
            "column '{}' of type {:?} came as {}",
            column.name,
            ty.wire,
            array.data_type()
        ))
    })
}

/// Writes a value that is neither NULL, string nor bits.
fn write_text(values: &Values<'_>, row: usize, ty: &ColumnType, out: &mut String) {
    match values {
        Values::Int(array) if ty.is_date() => {
            write_datetime(out, DateTime::unpack(array.value(row)), ty);
        }
        Values::Int(array) if ty.wire == WireType::Time => {
            let micros = array.value(row);
            if micros < 0 {
                out.push('-');
            }
            let total = micros.unsigned_abs();
            let seconds = total / 1_000_000;
            let hours = seconds / 3600;
            if hours < 100 {
                push_two(out, hours);
            } else {
                push_digits(out, hours);
            }
            out.push(':');
            push_two(out, seconds / 60 % 60);
            out.push(':');
            push_two(out, seconds % 60);
            push_fraction(out, total % 1_000_000, ty.decimals);
        }
        Values::Int(array) => {
            let value = array.value(row);
            if value < 0 {
                out.push('-');
            }
            push_digits(out, value.unsigned_abs());
        }
        Values::UInt(array) => push_digits(out, array.value(row)),
        Values::Float(array) => write_float(out, array.value(row), ty),
        Values::Double(array) => write_double(out, array.value(row), ty),
        Values::Decimal128(array) => {
            write_decimal(out, array.value(row), array.scale());
        }
        Values::Decimal256(array) => {
            write_wide_decimal(out, array.value(row), array.scale());
        }
        Values::Text(_) | Values::Bytes(_) | Values::Null => {}
    }
    if ty.flags.has(Flags::ZEROFILL) {
        zerofill(out, ty.length);
    }
}

/// Pads to the display width, as ZEROFILL and YEAR ask.
fn zerofill(out: &mut String, length: u32) {
    let width = usize::try_from(length.min(255)).unwrap_or(0);
    if out.len() < width && !out.starts_with('-') {
        out.insert_str(0, &"0".repeat(width - out.len()));
    }
}

fn write_float(out: &mut String, value: f32, ty: &ColumnType) {
    if ty.decimals < DECIMALS_NOT_FIXED {
        write_fixed(out, f64::from(value), ty.decimals);
    } else {
        number::write_float(out, value);
    }
}

fn write_double(out: &mut String, value: f64, ty: &ColumnType) {
    if ty.decimals < DECIMALS_NOT_FIXED {
        write_fixed(out, value, ty.decimals);
    } else {
        number::write_double(out, value);
    }
}

fn write_fixed(out: &mut String, value: f64, decimals: u8) {
    use std::fmt::Write as _;
    // A `String` accepts every write.
    write!(out, "{value:.*}", usize::from(decimals)).ok();
}

fn write_decimal(out: &mut String, units: i128, scale: i8) {
    let scale = usize::try_from(scale).unwrap_or(0);
    if units < 0 {
        out.push('-');
    }
    // Most decimals fit 64 bits, where division is cheap.
    let magnitude = units.unsigned_abs();
    let Ok(small) = u64::try_from(magnitude) else {
        return place_point(out, &magnitude.to_string(), scale);
    };
    let mut buffer = [0; 20];
    place_point(out, digits(small, &mut buffer), scale);
}

fn write_wide_decimal(out: &mut String, units: i256, scale: i8) {
    match units.to_i128() {
        Some(small) if small != i128::MIN => write_decimal(out, small, scale),
        _ => number::write_decimal(out, units, u8::try_from(scale).unwrap_or(0)),
    }
}

/// Writes digits with the last `scale` of them after the point.
fn place_point(out: &mut String, digits: &str, scale: usize) {
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.push_str(whole);
        if scale > 0 {
            out.push('.');
            out.push_str(fraction);
        }
    } else {
        out.push_str("0.");
        for _ in digits.len()..scale {
            out.push('0');
        }
        out.push_str(digits);
    }
}

fn write_datetime(out: &mut String, value: DateTime, ty: &ColumnType) {
    push_two(out, u64::from(value.year / 100));
    push_two(out, u64::from(value.year % 100));
    out.push('-');
    push_two(out, u64::from(value.month));
    out.push('-');
    push_two(out, u64::from(value.day));
    if ty.wire != WireType::Date {
        out.push(' ');
        push_two(out, u64::from(value.hour));
        out.push(':');
        push_two(out, u64::from(value.minute));
        out.push(':');
        push_two(out, u64::from(value.second));
        push_fraction(out, u64::from(value.micros), ty.decimals);
    }
}

fn push_fraction(out: &mut String, micros: u64, decimals: u8) {
    if (1..=6).contains(&decimals) {
        out.push('.');
        let mut unit = 100_000;
        for _ in 0..decimals {
            out.push(digit(micros / unit % 10));
            unit /= 10;
        }
    }
}

fn push_two(out: &mut String, value: u64) {
    out.push(digit(value / 10 % 10));
    out.push(digit(value % 10));
}

fn push_digits(out: &mut String, value: u64) {
    out.push_str(digits(value, &mut [0; 20]));
}

fn digit(value: u64) -> char {
    char::from(b'0' + u8::try_from(value % 10).unwrap_or(0))
}

/// The decimal digits of a number, at the end of the buffer.
fn digits(mut value: u64, buffer: &mut [u8; 20]) -> &str {
    let mut start = buffer.len();
    loop {
        start -= 1;
        buffer[start] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    std::str::from_utf8(&buffer[start..]).unwrap_or_default()
}

/// The bytes that BIT of so many bits has, the highest first.
fn bit_bytes(bytes: &[u8; 8], bits: u32) -> &[u8] {
    let count = usize::try_from(bits.div_ceil(8)).unwrap_or(8).clamp(1, 8);
    &bytes[8 - count..]
}

/// Bytes of an integer in the binary protocol.
fn int_width(wire: WireType) -> usize {
    match wire {
        WireType::Tiny => 1,
        WireType::Short | WireType::Year => 2,
        WireType::Int24 | WireType::Long => 4,
        _ => 8,
    }
}

fn too_wide(value: impl std::fmt::Display, wire: WireType) -> Error {
    Error::internal(format!("{value} does not fit a column of type {wire:?}"))
}

fn put_datetime(out: &mut BytesMut, value: DateTime, ty: &ColumnType) {
    let has_time = ty.wire != WireType::Date && value.time_micros() != 0;
    let length = match (has_time, value.micros) {
        _ if value == DateTime::default() => 0,
        (false, _) => 4,
        (true, 0) => 7,
        (true, _) => 11,
    };
    out.put_u8(length);
    if length >= 4 {
        out.put_u16_le(value.year);
        out.put_slice(&[value.month, value.day]);
    }
    if length >= 7 {
        out.put_slice(&[value.hour, value.minute, value.second]);
    }
    if length == 11 {
        out.put_u32_le(value.micros);
    }
}

fn put_time(out: &mut BytesMut, micros: i64) {
    let total = micros.unsigned_abs();
    let seconds = total / 1_000_000;
    let fraction = total % 1_000_000;
    if total == 0 {
        out.put_u8(0);
        return;
    }
    out.put_u8(if fraction == 0 { 8 } else { 12 });
    out.put_u8(u8::from(micros < 0));
    out.put_u32_le(u32::try_from(seconds / 86_400).unwrap_or(u32::MAX));
    let part = |value: u64| u8::try_from(value).unwrap_or(0);
    out.put_slice(&[part(seconds / 3600 % 24), part(seconds / 60 % 60), part(seconds % 60)]);
    if fraction != 0 {
        out.put_u32_le(u32::try_from(fraction).unwrap_or(0));
    }
}
