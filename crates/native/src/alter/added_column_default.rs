//! The default of an added column for the rows that are older than it, as bytes of the store: a
//! batch of one row and one column (`docs/internals/format-store.md`).

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, UInt64Type,
};
use pelorus_error::{Error, Result};

/// Encodes an array of one value that is not NULL.
///
/// # Errors
/// An array that no column has.
pub(super) fn encode(array: &ArrayRef) -> Result<Vec<u8>> {
    if array.len() != 1 || array.is_null(0) {
        return Err(Error::internal("a filler is one value"));
    }
    let string = |bytes: &[u8]| -> Result<Vec<u8>> {
        let length = u32::try_from(bytes.len())
            .map_err(|_| Error::internal("a filler of more than 4 gigabytes"))?;
        Ok([&length.to_le_bytes(), bytes].concat())
    };
    let (tag, value): (u8, Vec<u8>) = match array.data_type() {
        DataType::Int64 => (1, array.as_primitive::<Int64Type>().value(0).to_le_bytes().to_vec()),
        DataType::UInt64 => (2, array.as_primitive::<UInt64Type>().value(0).to_le_bytes().to_vec()),
        DataType::Float32 => {
            (3, array.as_primitive::<Float32Type>().value(0).to_le_bytes().to_vec())
        }
        DataType::Float64 => {
            (4, array.as_primitive::<Float64Type>().value(0).to_le_bytes().to_vec())
        }
        DataType::Decimal128(..) => {
            (5, array.as_primitive::<Decimal128Type>().value(0).to_le_bytes().to_vec())
        }
        DataType::Decimal256(..) => {
            (6, array.as_primitive::<Decimal256Type>().value(0).to_le_bytes().to_vec())
        }
        DataType::Utf8 => (7, string(array.as_string::<i32>().value(0).as_bytes())?),
        DataType::Binary => (8, string(array.as_binary::<i32>().value(0))?),
        other => return Err(Error::internal(format!("a filler of {other}"))),
    };
    let mut out = Vec::with_capacity(10 + value.len());
    out.extend(1_u32.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    // The type, and that no bitmap of NULLs follows.
    out.extend([tag, 0]);
    out.extend(value);
    Ok(out)
}
