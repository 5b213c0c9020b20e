//! One data file of a native table: blocks that are never overwritten, two headers, checkpoints.
//!
//! The layout is described byte by byte in `docs/internals/format-blockfile.md`. A file holds blocks of any
//! size, a table that says where each block lies (the *block translation table*), and two header
//! slots of which the newer valid one counts. A checkpoint writes a new translation table, syncs,
//! overwrites the older header, and syncs again: a crash at any point leaves one header and all
//! that it points to.
//!
//! | Module | What it owns |
//! | --- | --- |
//! | [`allocator`] | which units of the file are free; the max-hole-size tree |
//! | `format` | bytes of header slots, block headers and the translation table |
//! | `file` | [`BlockFile`]: open, read, write, free, checkpoint |
//!
//! Invariants:
//! - An extent is reused only when neither the present state, nor a checkpoint in progress, nor
//!   **either** header refers to it. The older header therefore stays a complete fallback until it
//!   is overwritten (PerconaFT reuses the space one checkpoint earlier, so that its fallback may
//!   read blocks that were written over).
//! - The parent of a block knows its checksums: a block that is valid in itself but old, moved or
//!   of another table is found out.
//! - After an error of a write or a sync nothing is written again until the file is reopened.
//!
//! Lock order: `space`, then `table`. Neither is held during input or output of blocks; readers
//! take `table` only, to look up one entry.

pub mod allocator;
mod file;
mod format;
#[cfg(all(test, feature = "loom"))]
mod interleavings;
#[cfg(test)]
mod tests;

pub use file::{Block, BlockFile, Checkpoint, Checkpointing, Damage, Statistics, Usage};
pub use format::{BlockId, Identity, PAYLOAD_MAX, RESERVED, UNIT, even_length};
