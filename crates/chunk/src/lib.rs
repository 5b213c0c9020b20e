//! Chunks: immutable encoded blocks of up to 131,072 rows, the physical unit of native tables.
//!
//! A chunk holds its columns as independent sub-blocks, so a scan reads the columns that it
//! needs. Every encoding can be addressed by row: one value costs tens of nanoseconds, and a scan
//! compares encoded values instead of decoding them. Columns that are packed on disk are unpacked
//! when they are opened, not when they are read.
//! This crate turns Arrow arrays into bytes and bytes into arrays; it knows no files and no SQL.
//!
//! | module | what it does |
//! | --- | --- |
//! | `format` | the header of a sub-block and the place of its sections |
//! | `kind` | the physical types |
//! | `scalar` | single values, predicates and their meaning |
//! | `selection` | the set of rows that a scan still needs |
//! | `zone` | smallest and largest values of chunk and vectors; pruning |
//! | `meta` | the metadata of a chunk in a manifest |
//! | `codec` | the tags of codecs |
//! | `list` | the constants of an `IN` list |
//! | `encode` | arrays to bytes: statistics, choice of codec, writing |
//! | `packed` | the smaller form of a sub-block on the disk |
//! | `column` | bytes to arrays, single values and selections |
//!
//! Writing: `encode` gives the bytes and a [`ChunkMeta`]. Reading: [`ChunkMeta::column`] checks
//! the checksum and the structure of one sub-block once and gives a [`Column`]; later reads cannot
//! go out of bounds. A change of the format also changes `docs/internals/format-chunk.md`,
//! the version in `format` and the golden test.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow::array::{ArrayRef, Int64Array};
//! use arrow::buffer::Buffer;
//! use pelorus_chunk::{Op, Predicate, Scalar, Selection, encode, may_match};
//!
//! let prices: ArrayRef = Arc::new(Int64Array::from(vec![Some(250), None, Some(900)]));
//! let chunk = encode(&[prices])?;
//! let column = chunk.meta.column(&Buffer::from_vec(chunk.bytes), 0)?;
//!
//! let cheap = Predicate::Compare(Op::Lt, Scalar::Int(500));
//! assert!(may_match(&chunk.meta.columns[0], None, &cheap));
//! let mut rows = Selection::all(column.rows());
//! column.select(&cheap, 0..column.rows(), &mut rows)?;
//! assert_eq!(rows.indices(0..column.rows()), vec![0]);
//! # Ok::<(), pelorus_error::Error>(())
//! ```

mod codec;
mod column;
mod encode;
mod format;
mod kind;
mod list;
mod meta;
mod packed;
mod scalar;
mod selection;
mod zone;

pub use codec::Codec;
pub use column::{Column, Gather, coded, units};
pub use encode::{Encoded, encode};
pub use list::List;
pub use meta::{ChunkMeta, ColumnMeta};
pub use scalar::{Op, Predicate, Scalar, Value};
pub use selection::{Picked, Selection};
pub use zone::{Zone, may_match};

/// Rows of a full vector, the unit of zone maps and of scanning.
pub const VECTOR_ROWS: usize = 2048;
/// Most rows of a chunk: 64 vectors.
pub const CHUNK_ROWS: usize = 64 * VECTOR_ROWS;

// Arrow itself reads buffers in the byte order of the machine.
#[cfg(not(target_endian = "little"))]
compile_error!("chunks are used in place and need a little-endian machine");

/// Number of vectors that so many rows fill, the last one perhaps in part.
pub fn vectors_of(rows: usize) -> usize {
    rows.div_ceil(VECTOR_ROWS)
}
