//! Native tables: updatable, versioned, partitioned columnar tables.
//!
//! A [`Database`] has tables, one log, and one sequence of commits. A [`Commit`] inserts and deletes
//! rows by primary key. It becomes visible as a whole when it is durable. A [`Snapshot`] reads one
//! version.
//!
//! A row is logged, then stored in a *delta* in memory, where readers see it at once. A flush sorts
//! deltas into a *chunk*, an encoded block of the table's data file. Compaction moves rows to other
//! chunks until no reader can see them. A checkpoint writes a manifest of chunks and deltas and
//! truncates the log.
//!
//! | module | owns |
//! | --- | --- |
//! | `database`, `table`, `snapshot` | commits, versions, tables, reading one version |
//! | `commit` | write sets, applying them, log records, asynchronous commits, timestamps, pinned versions |
//! | `catalog` | tables and columns: schemas and their versions, key functions, DDL |
//! | `partition` | rows of a partition: deltas, chunks, delete marks, key index, cache of columns |
//! | `scan` | scans, point lookups, predicates, samples |
//! | `compaction`, `maintenance` | flush and merge, and when they run |
//! | `recovery` | checkpoints, and opening after a crash |
//! | `format` | bytes of data files, manifests, batches (`docs/internals/format-store.md`) |
//! | `key` | primary, partition and sort keys as bytes |
//! | `room` | a full disk: releasing space, and commits that wait for it |
//! | `statistics` | histograms and distinct counts |
//! | `verify` | `CHECK TABLE`: redundant data against the rows |
//!
//! The store knows no SQL: the meaning of a partition key, the name of a column and the rows of a
//! statement are the engine's business. Bytes from disk never cause a panic.

mod catalog;
mod commit;
mod compaction;
mod database;
mod format;
mod key;
mod maintenance;
mod partition;
mod recovery;
mod room;
mod scan;
mod snapshot;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod verify;

pub use pelorus_blockfile::Usage;

pub use crate::catalog::key_function::{Function, KeyFunction};
pub use crate::catalog::schema::{
    COLUMNS_MAX, History, PartitionId, StoredColumn, TableId, TableSchema, Version,
};
pub use crate::catalog::schema_version::encode_filler;
pub use crate::commit::async_commit::Durability;
pub use crate::commit::write_set::{Commit, Mode, Outcome, Write};
pub use crate::format::arrays::{bytes_of, taken};
pub use crate::partition::freeze::FrozenTable;
pub use crate::scan::point_lookup::FoundRows;
pub use crate::scan::sample::Sample;
pub use database::{Database, Options, Receipt};
pub use key::{ByteWeigher, KeyEncoder, Keys, SortKeyEncoder, append_number};
pub use scan::{ScanCursor, ScanRequest, ScanUnit, ValueTest};
pub use snapshot::{PartitionSnapshot, Snapshot, TableSnapshot};
pub use statistics::{
    Bucket, COMMON_MAX, Collector, ColumnStatistics, Counted, Histogram, TableStatistics,
    distinct_of_sample, selectivity, share_kept,
};
pub use table::{PartsUsage, Table};
pub use verify::{PROBLEMS_MAX, Problem};

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
