//! Result rows: payloads of the text and the binary protocol to Arrow arrays and back.
//!
//! A value is either converted exactly or its column is refused by name; nothing is rounded or
//! truncated. Decoding appends to one growing buffer per column and allocates nothing per row.
//! [`pelorus_types::ColumnType::arrow`] defines which array holds which type.

mod decode;
mod encode;
mod text;

pub use decode::RowDecoder;
pub use encode::{RowEncoder, encode_binary_row, encode_text_row};

/// The form of a result row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Rows of `COM_QUERY`: every value as text.
    Text,
    /// Rows of `COM_STMT_EXECUTE`: values in binary.
    Binary,
}

/// The payloads of rows one after another: for each a `u32` (little endian) with its length, then the
/// payload. Bytes after the last whole one are left out.
pub fn payloads(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let payload = after.get(..length)?;
        rest = after.get(length..)?;
        Some(payload)
    })
}

#[cfg(test)]
mod tests;
