//! Row batches: rows as plain bytes, for log records and the images of deltas.
//!
//! A batch is `rows: u32`, `columns: u32`, and for each column: a type byte, whether NULLs follow
//! (then a bitmap, least significant bit first, 1 = not NULL), and the values: 8-byte integers and
//! floats (4 for FLOAT), 16 and 32 bytes for decimals, all little-endian; strings as their lengths
//! (u32 each) followed by their bytes. NULLs have values too, which are ignored.
//! `docs/internals/format-store.md` has this in full.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryArray, GenericByteArray, StringArray, make_array,
    new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{ByteArrayType, DataType};
use pelorus_error::Result;

use crate::format::arrays::bytes_of;
use crate::format::bytes::{Reader, Writer};

/// Type bytes.
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const WIDE_DECIMAL: u8 = 6;
const TEXT: u8 = 7;
const BINARY: u8 = 8;
/// Nothing but NULLs.
const NULL: u8 = 9;

/// Writes columns of one length.
pub(crate) fn write(columns: &[ArrayRef], rows: usize, out: &mut Writer) {
    // All at once: what grows leaves holes in memory that its successors do not fit.
    out.0.reserve(bytes_of(columns) + 16 * (columns.len() + 1));
    out.count(rows);
    out.count(columns.len());
    for column in columns {
        write_column(column, out);
    }
}

fn write_column(column: &ArrayRef, out: &mut Writer) {
    let (tag, width) = match column.data_type() {
        _ if column.null_count() == column.len() && !column.is_empty() => (NULL, 0),
        DataType::Int64 => (INT, 8),
        DataType::UInt64 => (UINT, 8),
        DataType::Float32 => (FLOAT, 4),
        DataType::Float64 => (DOUBLE, 8),
        DataType::Decimal128(..) => (DECIMAL, 16),
        DataType::Decimal256(..) => (WIDE_DECIMAL, 32),
        DataType::Utf8 => (TEXT, 0),
        DataType::Binary => (BINARY, 0),
        // The schema allows no other type; NULLs lose nothing that could be kept.
        _ => (NULL, 0),
    };
    out.u8(tag);
    if tag == NULL {
        return;
    }
    out.bool(column.null_count() > 0);
    if let Some(nulls) = column.nulls().filter(|nulls| nulls.null_count() > 0) {
        let bits = nulls.inner().sliced();
        out.0.extend_from_slice(&bits.as_slice()[..column.len().div_ceil(8)]);
    }
    match tag {
        TEXT => write_strings(column.as_string::<i32>(), out),
        BINARY => write_strings(column.as_binary::<i32>(), out),
        _ => {
            let data = column.to_data();
            let begin = data.offset() * width;
            let bytes = &data.buffers()[0].as_slice()[begin..begin + column.len() * width];
            out.0.extend_from_slice(bytes);
        }
    }
}

fn write_strings<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>, out: &mut Writer) {
    let offsets = array.value_offsets();
    for pair in offsets.windows(2) {
        // Offsets rise and fit 31 bits.
        out.u32((pair[1] - pair[0]).unsigned_abs());
    }
    let at = |position: usize| offsets.get(position).map_or(0, |it| it.unsigned_abs() as usize);
    out.0.extend_from_slice(&array.value_data()[at(0)..at(array.len())]);
}

/// Reads columns of the expected types.
pub(crate) fn read(from: &mut Reader<'_>, types: &[DataType]) -> Result<(Vec<ArrayRef>, usize)> {
    let (columns, rows) = read_by_tags(from, types.len())?;
    let typed = columns.iter().zip(types).map(|(column, ty)| typed(column, ty, from));
    Ok((typed.collect::<Result<_>>()?, rows))
}

/// Reads columns by their type bytes alone; decimals come without a scale, and columns of nothing
/// but NULLs without a type.
pub(crate) fn read_by_tags(
    from: &mut Reader<'_>,
    expected: usize,
) -> Result<(Vec<ArrayRef>, usize)> {
    let rows = from.count_up_to(crate::ROWS_PER_BATCH_MAX)?;
    let columns = from.count_up_to(crate::catalog::schema::COLUMNS_MAX)?;
    if columns != expected {
        return Err(from.damaged(&format!("{columns} columns instead of {expected}")));
    }
    let columns = (0..columns).map(|_| read_column(from, rows)).collect::<Result<_>>()?;
    Ok((columns, rows))
}

/// Gives a column that was read by its type byte the type that it is known to have.
pub(crate) fn typed(column: &ArrayRef, ty: &DataType, from: &Reader<'_>) -> Result<ArrayRef> {
    if column.data_type() == ty {
        return Ok(Arc::clone(column));
    }
    let data = column.to_data();
    match (column.data_type(), ty) {
        (DataType::Null, _) => Ok(new_null_array(ty, column.len())),
        (DataType::Decimal128(..), DataType::Decimal128(..))
        | (DataType::Decimal256(..), DataType::Decimal256(..)) => data
            .into_builder()
            .data_type(ty.clone())
            .build()
            .map(make_array)
            .map_err(|error| from.damaged(&error.to_string())),
        (other, _) => Err(from.damaged(&format!("a column of {other} instead of {ty}"))),
    }
}

fn read_column(from: &mut Reader<'_>, rows: usize) -> Result<ArrayRef> {
    let tag = from.u8()?;
    let (ty, width) = match tag {
        INT => (DataType::Int64, 8),
        UINT => (DataType::UInt64, 8),
        FLOAT => (DataType::Float32, 4),
        DOUBLE => (DataType::Float64, 8),
        DECIMAL => (DataType::Decimal128(38, 0), 16),
        WIDE_DECIMAL => (DataType::Decimal256(76, 0), 32),
        TEXT => (DataType::Utf8, 4),
        BINARY => (DataType::Binary, 4),
        NULL => return Ok(new_null_array(&DataType::Null, rows)),
        other => return Err(from.damaged(&format!("unknown type {other} of a column"))),
    };
    let nulls = if from.bool()? {
        let bits = Buffer::from(from.take(rows.div_ceil(8))?);
        Some(NullBuffer::new(BooleanBuffer::new(bits, 0, rows)))
    } else {
        None
    };
    let values =
        from.take(rows.checked_mul(width).ok_or_else(|| from.damaged("too many rows"))?)?;
    if tag == TEXT || tag == BINARY {
        return read_strings(from, tag, values, nulls);
    }
    let data = ArrayData::builder(ty)
        .len(rows)
        .nulls(nulls)
        .add_buffer(Buffer::from(values))
        .build()
        .map_err(|error| from.damaged(&error.to_string()))?;
    Ok(make_array(data))
}

fn read_strings(
    from: &mut Reader<'_>,
    tag: u8,
    lengths: &[u8],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let mut offsets = Vec::with_capacity(lengths.len() / 4 + 1);
    let mut end = 0_i32;
    offsets.push(end);
    for length in lengths.as_chunks::<4>().0 {
        let length = i32::try_from(u32::from_le_bytes(*length)).ok();
        end = length
            .and_then(|length| end.checked_add(length))
            .ok_or_else(|| from.damaged("strings of more than 2 GiB"))?;
        offsets.push(end);
    }
    let values = Buffer::from(from.take(end.unsigned_abs() as usize)?);
    let offsets = OffsetBuffer::new(offsets.into());
    let array: Result<ArrayRef, _> = if tag == TEXT {
        StringArray::try_new(offsets, values, nulls).map(|array| Arc::new(array) as ArrayRef)
    } else {
        BinaryArray::try_new(offsets, values, nulls).map(|array| Arc::new(array) as ArrayRef)
    };
    array.map_err(|error| from.damaged(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Float32Array, Int64Array, UInt64Array};
    use proptest::prelude::*;

    use super::*;

    fn sample(rows: usize) -> Vec<ArrayRef> {
        let every = |step: usize| {
            (0_i64..).zip(0..rows).map(move |(it, row)| (row % step != 0).then_some(it))
        };
        let text = (0..rows).map(|row| (row % 3 != 0).then(|| "ä".repeat(row % 7)));
        vec![
            Arc::new(every(5).collect::<Int64Array>()),
            Arc::new(UInt64Array::from_iter_values(0..rows as u64)),
            Arc::new(Float32Array::from_iter_values((0..rows).map(|row| row as f32))),
            Arc::new(
                Decimal128Array::from_iter_values((0..rows).map(|row| row as i128))
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
            Arc::new(text.collect::<StringArray>()),
            Arc::new(BinaryArray::from_iter_values((0..rows).map(|row| vec![0; row % 4]))),
            new_null_array(&DataType::Utf8, rows),
        ]
    }

    fn types(columns: &[ArrayRef]) -> Vec<DataType> {
        columns.iter().map(|column| column.data_type().clone()).collect()
    }

    #[test]
    fn what_is_written_is_read_also_from_slices() {
        for (rows, begin, length) in [(0, 0, 0), (1, 0, 1), (100, 0, 100), (100, 13, 70)] {
            let columns: Vec<ArrayRef> =
                sample(rows).iter().map(|column| column.slice(begin, length)).collect();
            let mut out = Writer::default();
            write(&columns, length, &mut out);
            let mut reader = Reader::new(&out.0, "a test");
            let (read, count) = read(&mut reader, &types(&columns)).unwrap();
            reader.end().unwrap();
            assert_eq!((read, count), (columns, length));
        }
    }

    proptest! {
        #[test]
        fn rubbish_gives_an_error_or_some_rows(at in any::<usize>(), byte: u8, cut in any::<usize>()) {
            let columns = sample(20);
            let mut out = Writer::default();
            write(&columns, 20, &mut out);
            let mut bytes = out.0;
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut % 3);
            let mut reader = Reader::new(&bytes, "a test");
            if let Ok((read, rows)) = read(&mut reader, &types(&columns)) {
                prop_assert!(read.iter().all(|column| column.len() == rows));
            }
        }
    }
}
