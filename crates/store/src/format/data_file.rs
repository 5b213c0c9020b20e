//! The data file of a table, with the state that its users share.
//!
//! A block is released when the last reader of its chunk is gone, unless the process is about to
//! end: the file must then keep the blocks that its manifest names.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pelorus_blockfile::{BlockFile, BlockId};
use pelorus_env::sync::RwLock;
use pelorus_error::{Code, Error};

use crate::partition::column_cache::Cache;

/// Kinds of blocks.
pub(crate) mod kind {
    /// Encoded rows.
    pub(crate) const CHUNK: u8 = 1;
    /// Rows of deltas.
    pub(crate) const DELTAS: u8 = 2;
    /// The manifest of a table.
    pub(crate) const MANIFEST: u8 = 3;
    /// The catalog of a database.
    pub(crate) const CATALOG: u8 = 4;
}

/// The data file of a table.
#[derive(Debug)]
pub(crate) struct DataFile {
    pub(crate) path: PathBuf,
    pub(crate) blocks: BlockFile,
    pub(crate) cache: Arc<Cache>,
    /// The name of the table, if its definition contains one.
    name: RwLock<Option<String>>,
    /// Nothing is given back any more.
    closed: AtomicBool,
    /// A length of the file at which no block at its end fits into a hole before it.
    settled: AtomicU64,
    /// Bytes of the last manifest.
    manifest: AtomicU64,
    /// The most bytes of blocks that were in use at a checkpoint, and when that was.
    peak: AtomicU64,
    peak_micros: AtomicU64,
}

/// When there were most blocks of a file, if not since the start.
const BEFORE: u64 = u64::MAX;

impl DataFile {
    pub(crate) fn new(path: PathBuf, blocks: BlockFile, cache: Arc<Cache>) -> Self {
        let (closed, settled) = (AtomicBool::new(false), AtomicU64::new(0));
        let manifest = AtomicU64::new(0);
        let (peak, peak_micros) = (AtomicU64::new(blocks.usage().live), AtomicU64::new(BEFORE));
        let name = RwLock::new(None);
        Self { path, blocks, cache, name, closed, settled, manifest, peak, peak_micros }
    }

    /// Notes the current name of the table.
    pub(crate) fn call(&self, definition: &[u8]) {
        *self.name.write() = name_of(definition);
    }

    /// The table's name for messages, or else its file.
    pub(crate) fn called(&self) -> String {
        let name = self.name.read().as_ref().map(|name| format!("table {name}"));
        name.unwrap_or_else(|| format!("the table of {}", self.path.display()))
    }

    /// Adds the table and the remedy to an error of reading.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let next = match error.code() {
            Code::FileDamaged => {
                "other tables work; restore the data folder from a backup, or drop the table and \
                 load it again (pelorus fsck lists all damage while the server is stopped)"
            }
            Code::FileRead => "see that the disk can be read, and try again",
            _ => return error,
        };
        let name = self.name.read().as_ref().map(|name| format!("table {name}: "));
        let text = format!("{}{}; {next}", name.unwrap_or_default(), error.message());
        error.with_message(text)
    }

    /// Notes that at this length no block at the end of the file fits into a hole before it.
    pub(crate) fn settle(&self, length: u64) {
        // Ordering: at worst it is tried once more.
        self.settled.store(length, Ordering::Relaxed);
    }

    /// Whether that was found at this length.
    pub(crate) fn is_settled(&self, length: u64) -> bool {
        self.settled.load(Ordering::Relaxed) == length
    }

    /// Bytes that every checkpoint writes again, and has to give back: the last manifest.
    pub(crate) fn manifest_bytes(&self) -> u64 {
        self.manifest.load(Ordering::Relaxed)
    }

    /// Notes how long the manifest is, and whether more blocks are in use than ever, at a checkpoint.
    pub(crate) fn note_usage(&self, manifest: u64, now: u64) {
        let live = self.blocks.usage().live;
        // Ordering: only how soon space is given back hangs on these.
        self.manifest.store(manifest, Ordering::Relaxed);
        if self.peak.fetch_max(live, Ordering::Relaxed) < live {
            self.peak_micros.store(now, Ordering::Relaxed);
        }
    }

    /// For how many microseconds there have not been more blocks in use than ever before.
    pub(crate) fn not_grown(&self, now: u64) -> u64 {
        match self.peak_micros.load(Ordering::Relaxed) {
            BEFORE => u64::MAX,
            micros => now.saturating_sub(micros),
        }
    }

    /// Stops giving blocks back.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Releases the block of a chunk.
    pub(crate) fn release(&self, block: BlockId) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = self.blocks.free(block) {
            tracing::error!(
                file = %self.path.display(),
                block = block.get(),
                error = pelorus_error::display_chain(&error),
                "a block cannot be freed"
            );
        }
    }
}

/// The name that a definition begins with: the database's and the table's, each with a zero byte
/// after it. The rest of it means nothing here.
fn name_of(definition: &[u8]) -> Option<String> {
    let mut parts = definition.split(|byte| *byte == 0);
    let mut next = || std::str::from_utf8(parts.next()?).ok().filter(|it| !it.is_empty());
    let (database, table) = (next()?, next()?);
    Some(format!("{database}.{table}"))
}
