//! Native tables: updatable, versioned, partitioned columns that lose nothing.
//!
//! A [`Database`] has tables, one log, and one sequence of commits. A [`Commit`] puts rows into
//! partitions and takes rows out, by primary key; it is visible when it is durable, all of it or
//! nothing. A [`Snapshot`] reads one version.
//!
//! The life of a row: it is logged; it stands in a *delta* in memory, where readers see it at
//! once; a flush sorts it into a *chunk*, an encoded block of the table's data file; merges carry
//! it to other chunks until it is dead and nobody can read it any more. A checkpoint writes down
//! which chunks there are and what deltas hold, and cuts the log.
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`database`], [`change`], [`freeze`] | commits, versions, changes of the catalog, tables that take no rows |
//! | [`soon`] | commits that are acknowledged before they are durable |
//! | [`stamp`] | the times of commits |
//! | [`write`], [`apply`] | what a commit does to rows |
//! | [`table`], [`partition`], [`part`], [`rows`] | where rows are |
//! | [`arrays`] | rows of columns as arrays |
//! | [`delta`], [`chunk`], [`deletes`] | rows in memory, encoded rows, dead rows |
//! | [`rewrite`], [`maintain`] | flush, merge, waiting for room in memory |
//! | [`room`] | a full disk |
//! | [`warm`] | key indexes after a start |
//! | [`checkpoint`], [`recover`] | data files and the log |
//! | [`snapshot`], [`scan`], [`matches`], [`point`] | reading |
//! | [`verify`] | whether what is kept beside rows is true of them |
//! | [`sample`], [`statistics`] | what is known of the values of columns |
//! | [`schema`], [`key`], [`function`], [`layout`] | columns and keys |
//! | [`record`], [`manifest`], [`catalog`], [`batch`] | bytes on disk (`docs/internals/format-store.md`) |
//!
//! The store knows no SQL: what a partition key means, what a column is called and which rows a
//! statement concerns is the engine's business. Bytes from disk never make it panic.

mod apply;
mod arrays;
mod batch;
mod bytes;
mod cache;
mod catalog;
mod change;
mod checkpoint;
mod chunk;
mod database;
mod datafile;
mod deletes;
mod delta;
mod freeze;
mod function;
mod key;
mod layout;
mod maintain;
mod manifest;
mod matches;
mod part;
mod partition;
mod pins;
mod point;
mod record;
mod recover;
mod rewrite;
mod room;
mod rows;
mod sample;
mod scan;
mod schema;
mod snapshot;
mod soon;
mod sorted;
mod stamp;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod verify;
mod warm;
mod write;

pub use pelorus_blockfile::Usage;

pub use arrays::{bytes_of, taken};
pub use database::{Database, Options, Receipt};
pub use freeze::FrozenTable;
pub use function::{Function, KeyFunction};
pub use key::{ByteWeigher, KeyEncoder, Keys, Weigher, append_number};
pub use layout::encode_filler;
pub use point::FoundRows;
pub use sample::Sample;
pub use scan::{ScanCursor, ScanRequest, ScanUnit, ValueTest};
pub use schema::{COLUMNS_MAX, History, PartitionId, StoredColumn, TableId, TableSchema, Version};
pub use snapshot::{PartitionSnapshot, Snapshot, TableSnapshot};
pub use soon::Durability;
pub use statistics::{
    Bucket, COMMON_MAX, Collector, ColumnStatistics, Counted, Histogram, TableStatistics,
    distinct_of_sample, selectivity, share_kept,
};
pub use table::{PartsUsage, Table};
pub use verify::{PROBLEMS_MAX, Problem};
pub use write::{Commit, Mode, Outcome, Write};

/// Most rows of a chunk: 64 vectors.
pub const CHUNK_ROWS_MAX: usize = limit(pelorus_chunk::CHUNK_ROWS, 64);

/// Most rows of a delta: they take about as many bytes in a checkpoint as a chunk does. References
/// have 17 bits for them.
pub(crate) const DELTA_ROWS_MAX: usize = limit(1 << 15, 64);

/// A limit as it usually is, and in simulations, where rare things must happen often.
const fn limit(usual: usize, simulated: usize) -> usize {
    if cfg!(feature = "shuttle") { simulated } else { usual }
}

/// Most rows that one change of a commit can have.
pub const ROWS_PER_BATCH_MAX: usize = 1 << 20;
