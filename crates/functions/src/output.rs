//! Output arrays: builds the array of a result value by value.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BinaryBuilder, Decimal128Builder, Decimal256Builder, Float32Builder,
    Float64Builder, Int64Builder, NullArray, StringArray, StringBuilder, UInt64Builder,
};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use bytes::Bytes;
use pelorus_env::{Account, Reservation};
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;
use pelorus_types::number::DECIMAL128_DIGITS;

use crate::value::Value;

/// The Arrow type of a result whose decimals carry `scale` digits after the point.
pub(crate) fn storage(ty: &ColumnType, scale: u8) -> DataType {
    if !ty.is_decimal() || scale <= ty.decimals {
        return ty.arrow();
    }
    let whole = ty.precision().saturating_sub(ty.decimals);
    let scale_i8 = i8::try_from(scale.min(76)).unwrap_or(76);
    if whole.saturating_add(scale) <= DECIMAL128_DIGITS {
        DataType::Decimal128(38, scale_i8)
    } else {
        DataType::Decimal256(76, scale_i8)
    }
}

enum Inner {
    Null(usize),
    Int(Int64Builder),
    UInt(UInt64Builder),
    Dec128(Decimal128Builder, u8),
    Dec256(Decimal256Builder, u8),
    F32(Float32Builder),
    F64(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
}

/// Builds an array of a MySQL type.
pub(crate) struct Output {
    inner: Inner,
    room: Room,
}

/// The memory of the texts of an array.
struct Room {
    held: Reservation,
    /// So many bytes need no more of it.
    covered: usize,
}

impl Room {
    /// Texts of so few bytes are not counted.
    const FREE: usize = 64 << 10;

    fn new(memory: &Account) -> Self {
        Self { held: memory.empty(), covered: Self::FREE }
    }

    /// Whether there is so much that it is counted.
    fn counts(&self) -> bool {
        self.held.bytes() > 0
    }

    /// Makes sure that an array of so many bytes may have more.
    fn take(&mut self, held: usize, more: usize) -> Result<()> {
        check_room(held, more)?;
        let needed = held.saturating_add(more);
        if needed > self.covered {
            // As builders grow.
            let bytes = needed.max(held.saturating_mul(2));
            self.held.try_resize(bytes).map_err(Error::out_of_memory)?;
            self.covered = bytes;
        }
        Ok(())
    }
}

/// Bytes of an array that are counted as long as it is there.
struct Counted {
    bytes: Buffer,
    _held: Reservation,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes of an array, with their memory reservation.
fn counted(bytes: Buffer, mut held: Reservation) -> Buffer {
    // The builder may have taken less than it was counted for; more there was none.
    held.try_resize(bytes.capacity().min(held.bytes())).ok();
    Buffer::from(Bytes::from_owner(Counted { bytes, _held: held }))
}

impl Output {
    /// An array with room for so many rows, whose texts an account counts. What aggregates give has
    /// no limit here: groups have been counted, and have to be given to be spilled.
    pub(crate) fn new(storage: &DataType, rows: usize, memory: &Account) -> Result<Self> {
        let inner = match storage {
            DataType::Null => Inner::Null(0),
            DataType::Int64 => Inner::Int(Int64Builder::with_capacity(rows)),
            DataType::UInt64 => Inner::UInt(UInt64Builder::with_capacity(rows)),
            DataType::Decimal128(_, scale) => Inner::Dec128(
                Decimal128Builder::with_capacity(rows).with_data_type(storage.clone()),
                u8::try_from(*scale).unwrap_or(0),
            ),
            DataType::Decimal256(_, scale) => Inner::Dec256(
                Decimal256Builder::with_capacity(rows).with_data_type(storage.clone()),
                u8::try_from(*scale).unwrap_or(0),
            ),
            DataType::Float32 => Inner::F32(Float32Builder::with_capacity(rows)),
            DataType::Float64 => Inner::F64(Float64Builder::with_capacity(rows)),
            DataType::Utf8 => Inner::Text(StringBuilder::with_capacity(rows, rows * 16)),
            DataType::Binary => Inner::Bytes(BinaryBuilder::with_capacity(rows, rows * 16)),
            other => return Err(Error::internal(format!("no result array of {other}"))),
        };
        Ok(Self { inner, room: Room::new(memory) })
    }

    pub(crate) fn push(&mut self, value: Value) -> Result<()> {
        match (&mut self.inner, value) {
            (Inner::Null(rows), Value::Null) => *rows += 1,
            (Inner::Int(builder), Value::Null) => builder.append_null(),
            (Inner::UInt(builder), Value::Null) => builder.append_null(),
            (Inner::Dec128(builder, _), Value::Null) => builder.append_null(),
            (Inner::Dec256(builder, _), Value::Null) => builder.append_null(),
            (Inner::F32(builder), Value::Null) => builder.append_null(),
            (Inner::F64(builder), Value::Null) => builder.append_null(),
            (Inner::Text(builder), Value::Null) => builder.append_null(),
            (Inner::Bytes(builder), Value::Null) => builder.append_null(),
            (Inner::Int(builder), Value::Int(value) | Value::Date(value) | Value::Time(value)) => {
                builder.append_value(value);
            }
            (Inner::UInt(builder), Value::UInt(value)) => builder.append_value(value),
            (Inner::Dec128(builder, scale), Value::Decimal(value)) => {
                let units = value.rescale(*scale).and_then(|value| value.units.to_i128());
                builder.append_value(units.ok_or_else(too_wide)?);
            }
            (Inner::Dec256(builder, scale), Value::Decimal(value)) => {
                builder.append_value(value.rescale(*scale).ok_or_else(too_wide)?.units);
            }
            #[expect(clippy::cast_possible_truncation, reason = "a FLOAT is that narrow")]
            (Inner::F32(builder), Value::Double(value)) => builder.append_value(value as f32),
            (Inner::F64(builder), Value::Double(value)) => builder.append_value(value),
            (Inner::Text(builder), Value::Text(value)) => {
                self.room.take(builder.values_slice().len(), value.len())?;
                builder.append_value(value);
            }
            (Inner::Bytes(builder), Value::Bytes(value)) => {
                self.room.take(builder.values_slice().len(), value.len())?;
                builder.append_value(value);
            }
            (Inner::Bytes(builder), Value::Text(value)) => {
                self.room.take(builder.values_slice().len(), value.len())?;
                builder.append_value(value);
            }
            (_, value) => {
                return Err(Error::internal(format!("{value:?} does not fit its result type")));
            }
        }
        Ok(())
    }

    /// Adds bytes to an array of them.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let Inner::Bytes(builder) = &mut self.inner else {
            return Err(Error::internal("bytes do not fit the result type"));
        };
        self.room.take(builder.values_slice().len(), bytes.len())?;
        builder.append_value(bytes);
        Ok(())
    }

    pub(crate) fn finish(self) -> ArrayRef {
        match self.inner {
            Inner::Null(rows) => Arc::new(NullArray::new(rows)),
            Inner::Int(mut builder) => Arc::new(builder.finish()),
            Inner::UInt(mut builder) => Arc::new(builder.finish()),
            Inner::Dec128(mut builder, _) => Arc::new(builder.finish()),
            Inner::Dec256(mut builder, _) => Arc::new(builder.finish()),
            Inner::F32(mut builder) => Arc::new(builder.finish()),
            Inner::F64(mut builder) => Arc::new(builder.finish()),
            Inner::Text(mut builder) if !self.room.counts() => Arc::new(builder.finish()),
            Inner::Bytes(mut builder) if !self.room.counts() => Arc::new(builder.finish()),
            Inner::Text(mut builder) => {
                let (offsets, bytes, nulls) = builder.finish().into_parts();
                Arc::new(StringArray::new(offsets, counted(bytes, self.room.held), nulls))
            }
            Inner::Bytes(mut builder) => {
                let (offsets, bytes, nulls) = builder.finish().into_parts();
                Arc::new(BinaryArray::new(offsets, counted(bytes, self.room.held), nulls))
            }
        }
    }
}

/// Whether an array of texts may take more bytes: it counts them in 31 bits, and a batch of rows is
/// in memory as a whole.
///
/// # Errors
/// 1041 above 1 GiB. Where fewer rows make a batch there may be room.
pub(crate) fn check_room(held: usize, more: usize) -> Result<()> {
    const MOST: usize = 1 << 30;
    if held.saturating_add(more) <= MOST {
        return Ok(());
    }
    Err(Error::new(
        pelorus_error::Code::OutOfMemory,
        "The texts that an expression gives for one batch of rows take more than 1 GiB",
    ))
}

fn too_wide() -> Error {
    Error::new(
        pelorus_error::Code::DataOutOfRange,
        "DECIMAL value is out of range in the result of an expression",
    )
}

/// An array of one value.
pub fn array_of(value: &Value, ty: &ColumnType) -> Result<ArrayRef> {
    let scale = match value {
        Value::Decimal(decimal) => decimal.scale.max(ty.decimals),
        _ => ty.decimals,
    };
    let mut output = Output::new(&storage(ty, scale), 1, &Account::unlimited())?;
    output.push(value.clone())?;
    Ok(output.finish())
}

/// The value in a row of an array.
pub fn value_at(array: &ArrayRef, ty: &ColumnType, row: usize) -> Result<Value> {
    let ctx = crate::context::EvalContext::default();
    let slot = crate::input::Slot::of_type(*ty);
    let one = array.slice(row, 1);
    Ok(crate::input::Input::new(&one, &slot, &ctx)?.value(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_while_their_array_is_there() {
        let memory = Account::new("limit", 1 << 20);
        let mut output = Output::new(&DataType::Utf8, 10, &memory).unwrap();
        output.push(Value::Text("a".repeat(1000))).unwrap();
        assert_eq!(memory.held(), 0);
        output.push(Value::Text("b".repeat(200_000))).unwrap();
        assert!(memory.held() >= 201_000);
        let error = output.push(Value::Text("c".repeat(900_000))).unwrap_err();
        assert_eq!(error.errno(), 1041);
        assert!(error.message().contains("limit"), "{}", error.message());
        let array = output.finish();
        assert_eq!(array.len(), 2);
        assert!(memory.held() >= 201_000);
        let part = array.slice(1, 1);
        drop(array);
        assert!(memory.held() >= 201_000);
        drop(part);
        assert_eq!(memory.held(), 0);
        // What fails in the middle leaves nothing.
        let mut output = Output::new(&DataType::Binary, 1, &memory).unwrap();
        output.push(Value::Bytes(vec![0; 100_000])).unwrap();
        drop(output);
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn texts_of_a_batch_have_a_limit() {
        assert!(check_room(1 << 29, 1 << 29).is_ok());
        assert_eq!(check_room(1 << 29, (1 << 29) + 1).unwrap_err().errno(), 1041);
        assert_eq!(check_room(usize::MAX, 1).unwrap_err().errno(), 1041);
    }
}
