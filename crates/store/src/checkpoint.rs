//! Checkpoints: data files catch up with the log, so that the log can be cut.
//!
//! A table is frozen for the moment that it takes to list its parts under the commit lock: deltas
//! are ended, so that what comes later goes to new ones, and the log position and version are
//! noted. Writers go on while the manifest is written. The log must be durable up to that position
//! before the file's header names it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_error::Result;
use pelorus_log::Lsn;

use crate::database::{CheckpointState, Database};
use crate::datafile::kind;
use crate::manifest::{self, Frozen, FrozenPartition};
use crate::table::Table;

impl Database {
    /// Writes what has changed since the last checkpoint into the data files, and cuts the log.
    ///
    /// # Errors
    /// What writing gives. After a full disk the next checkpoint tries again; nothing is lost,
    /// since the log is kept.
    pub fn checkpoint(&self) -> Result<()> {
        let state = &mut *self.checkpointing.lock();
        let result = self.checkpoint_all(state);
        if let Err(error) = &result
            && error.code() != pelorus_error::Code::DiskFull
        {
            self.fail(error);
        }
        result
    }

    fn checkpoint_all(&self, state: &mut CheckpointState) -> Result<()> {
        let begin = self.log.end().0;
        for table in self.tables() {
            let is_dirty =
                table.changed.load(Ordering::Acquire) > table.checkpoint.load(Ordering::Acquire);
            if is_dirty {
                self.checkpoint_table(&table, state)?;
            }
        }
        self.checkpoint_catalog(state)?;
        state.lsn = begin;
        state.micros = self.now();
        Ok(())
    }

    fn checkpoint_table(&self, table: &Arc<Table>, state: &mut CheckpointState) -> Result<()> {
        let (frozen, lsn) = {
            let committing = self.committing.lock();
            (freeze(table, committing.catalog.version), self.log.end())
        };
        let file = &table.file;
        let (root, blocks) = manifest::write(&frozen, file, lsn.0)?;
        for block in state.blocks.insert(table.id(), blocks).unwrap_or_default() {
            file.blocks.free(block)?;
        }
        file.blocks.checkpoint(root, lsn.0, || self.log.wait(lsn))?;
        table.checkpoint.store(lsn.0, Ordering::Release);
        // The parts were kept until here, so no block that the manifest names was freed before.
        drop(frozen);
        Ok(())
    }

    fn checkpoint_catalog(&self, state: &mut CheckpointState) -> Result<()> {
        let (mut catalog, lsn) = {
            let committing = self.committing.lock();
            (committing.catalog.clone(), self.log.end())
        };
        catalog.log_start = self.log_needed(lsn.0);
        let bytes = catalog.to_bytes();
        let block = self.catalog_file.write(kind::CATALOG, &bytes, lsn.0)?;
        let mut root = self.catalog_root.lock();
        if let Some(old) = root.replace(block) {
            self.catalog_file.free(old)?;
        }
        self.catalog_file.checkpoint(block, lsn.0, || self.log.wait(lsn))?;
        // The other header of the catalog may still be needed, and the log from its start on.
        let safe = std::mem::replace(&mut state.log_start, catalog.log_start);
        self.log.discard_before(Lsn(safe.min(catalog.log_start)))
    }

    /// From where on the log is needed, whichever header every file is opened by.
    fn log_needed(&self, catalog_lsn: u64) -> u64 {
        let of_table = |table: &Arc<Table>| {
            let header = table.file.blocks.header();
            let changed = table.changed.load(Ordering::Acquire);
            // What has not changed since the older header needs no log.
            (changed > header.previous_lsn).then_some(header.previous_lsn)
        };
        let catalog = self.catalog_file.header().lsn;
        self.tables().iter().filter_map(of_table).min().unwrap_or(catalog_lsn).min(catalog)
    }
}

/// Ends the deltas of a table and lists its parts. The commit lock is held.
fn freeze(table: &Table, version: u64) -> Frozen {
    let partitions = table
        .partitions()
        .iter()
        .map(|partition| {
            partition.seal();
            FrozenPartition {
                id: partition.id,
                key: partition.key.clone(),
                parts: partition.parts(),
            }
        })
        .collect();
    Frozen { version, floor: table.floor(), next_partition: table.next_partition(), partitions }
}
