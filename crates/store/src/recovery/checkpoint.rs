//! Checkpoints: write a data file up to a log position, so that the log can be truncated.
//!
//! A table is frozen while its parts are listed under the commit lock: deltas are closed, so that
//! later rows go to new ones, and the log position and version are noted. Writers continue while
//! the manifest is written. The log must be durable up to that position before the file's header
//! names it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_env::{rare, rare_if};
use pelorus_error::{Code, Error, Result};
use pelorus_log::Lsn;

use crate::catalog::Catalog;
use crate::database::{CheckpointState, Database};
use crate::format::data_file::kind;
use crate::format::manifest;
use crate::format::manifest::{Frozen, FrozenPartition};
use crate::maintenance::{has_holes, has_waste};
use crate::table::Table;

impl Database {
    /// Writes the changes since the last checkpoint to the data files, and truncates the log.
    ///
    /// # Errors
    /// Errors of writing. After a full disk the next checkpoint tries again; nothing is lost, since
    /// the log is preserved. The same applies to a table that is too large for its data file
    /// (1114); others have their checkpoints.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpoint_where(|table| self.is_behind(table))
    }

    /// Also writes changes that only the newer header of a data file contains.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub(crate) fn checkpoint_both_headers(&self) -> Result<()> {
        let changed = |table: &Table| table.changed.load(Ordering::Acquire);
        self.checkpoint_where(|table| changed(table) > table.older_checkpoint())
    }

    pub(crate) fn checkpoint_where(&self, is_due: impl Fn(&Table) -> bool) -> Result<()> {
        let state = &mut *self.checkpointing.lock();
        let mut result = self.checkpoint_all(state, &is_due);
        let is_full = |error: &Error| error.code() == Code::DiskFull;
        if result.as_ref().is_err_and(is_full) {
            self.release_tails();
            if self.log.lend_space() {
                // It takes little to give back what was dropped.
                result = self.checkpoint_all(state, &is_due);
                if result.as_ref().is_err_and(is_full) {
                    self.release_tails();
                }
                self.log.keep_space();
            }
        }
        if let Err(error) = &result
            && !is_full(error)
            && error.code() != Code::TableFull
        {
            self.fail(error);
        }
        result
    }

    /// Releases the space of unfinished writes on a full disk, which would otherwise reduce the
    /// space that is reserved for statements that free more.
    pub(crate) fn release_tails(&self) {
        self.log.remove_spares();
        for table in self.tables() {
            table.file.blocks.release_tail();
        }
        self.catalog_file.release_tail();
    }

    fn checkpoint_all(
        &self,
        state: &mut CheckpointState,
        is_due: impl Fn(&Table) -> bool,
    ) -> Result<()> {
        let begin = self.log.end().0;
        let mut refused = None;
        for table in self.tables() {
            if is_due(&table) {
                match self.checkpoint_table(&table, state) {
                    // The log keeps what its file does not take.
                    Err(error) if error.code() == Code::TableFull => refused = Some(error),
                    done => done?,
                }
            }
        }
        self.checkpoint_catalog(state)?;
        state.manifests.retain(|id, _| self.table(*id).is_some());
        let (written, now) = (begin.saturating_sub(state.lsn), self.elapsed());
        let is_late = state.age(now) >= self.options.checkpoint_micros;
        if is_late && written < self.options.checkpoint_log_bytes / 2 {
            // New segments are rare.
            self.log.remove_spares();
        }
        state.lsn = begin;
        state.micros = Some(now);
        refused.map_or(Ok(()), Err)
    }

    /// Whether a table has changed since its checkpoint, or holds much of the log since its older
    /// header does not have everything: a table without further changes must not do so for ever.
    /// The same applies to space in its file.
    fn is_behind(&self, table: &Table) -> bool {
        let changed = table.changed.load(Ordering::Acquire);
        let older = table.older_checkpoint();
        let holds = || self.log.bytes_since(Lsn(older)) >= self.options.checkpoint_log_bytes;
        changed > table.checkpoint.load(Ordering::Acquire)
            || changed > older && holds()
            || has_waste(table)
            || has_holes(table, self.elapsed())
    }

    fn checkpoint_table(&self, table: &Arc<Table>, state: &mut CheckpointState) -> Result<()> {
        /// Bytes that move from the end of a file at one time.
        const MOVED_BYTES: u64 = 32 << 20;
        if has_holes(table, self.elapsed()) {
            let length = table.file.blocks.usage().length;
            match table.file.blocks.relocate_tail(MOVED_BYTES) {
                Ok(0) => table.file.settle(length),
                Ok(_) => rare("blocks move from the end of a file"),
                // The file stays as long as it is. Writing will say whether there is more to it.
                Err(error) => {
                    let (table, error) = (table.id().0, pelorus_error::display_chain(&error));
                    tracing::warn!(table, error, "the end of a data file cannot be given back");
                }
            }
        }
        let (frozen, lsn) = {
            let committing = self.committing.lock();
            // A commit that failed halfway is in the log, but not all of it in memory.
            self.check()?;
            let version = committing.catalog.version;
            let limits = (self.options.history_marks, state.manifest_max);
            (freeze(table, version, limits), self.log.end())
        };
        let file = &table.file;
        let last = state.manifests.get(&table.id());
        let (root, written) = manifest::write(&frozen, || table.floor(), (file, lsn.0), last)?;
        let last = state.manifests.remove(&table.id()).unwrap_or_default();
        let (gone, length) = (last.gone(&written), written.length);
        state.manifests.insert(table.id(), written);
        for block in gone {
            file.blocks.free(block)?;
        }
        // The floor and the marks were taken after that moment, and may be of later commits that are
        // seen, or made, but not durable yet: these must not be lost without what names them.
        file.blocks.checkpoint(root, lsn.0, || self.log.sync())?;
        table.checkpoint.store(lsn.0, Ordering::Release);
        file.note_usage(length, self.elapsed());
        // The parts were kept until here, so no block that the manifest names was freed before.
        drop(frozen);
        Ok(())
    }

    fn checkpoint_catalog(&self, state: &mut CheckpointState) -> Result<()> {
        let (mut catalog, lsn) = self.capture_catalog(state)?;
        catalog.log_start = self.log_needed(lsn.0);
        if !self.broken.read().is_empty() {
            // Up to where their files hold everything only the files know.
            catalog.log_start = catalog.log_start.min(state.log_start);
        }
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

    /// The catalog as it is, and where the log ends then.
    ///
    /// The log may have been cut after what the headers of a table know that did not change for
    /// long. If it has changed since, during this checkpoint perhaps, its headers must catch up
    /// before the catalog says so: else the next start would look for the log that is gone.
    fn capture_catalog(&self, state: &mut CheckpointState) -> Result<(Catalog, Lsn)> {
        // Removals that a crash undid may have brought older parts back, not all of them perhaps.
        let begin = self.log.begin().0.max(state.log_start);
        loop {
            let mut late = Vec::new();
            let captured = {
                let committing = self.committing.lock();
                self.check()?;
                let mut catalog = committing.catalog.clone();
                // Where the clock is set back before the next start, that goes by this.
                catalog.note_time(self.now(), catalog.version, committing.longest_history);
                for (id, entry) in &mut catalog.tables {
                    let Some(table) = self.table(*id) else { continue };
                    entry.changed = table.changed.load(Ordering::Acquire);
                    let older = table.older_checkpoint();
                    if entry.changed > older && older < begin {
                        late.push(table);
                    }
                }
                (catalog, self.log.end())
            };
            if late.is_empty() {
                return Ok(captured);
            }
            rare("a table changes whose log is gone");
            for table in &late {
                self.checkpoint_table(table, state)?;
            }
        }
    }

    /// From where on the log is needed, whichever header every file is opened by.
    fn log_needed(&self, catalog_lsn: u64) -> u64 {
        let of_table = |table: &Arc<Table>| {
            let older = table.older_checkpoint();
            // What has not changed since the older header needs no log.
            (table.changed.load(Ordering::Acquire) > older).then_some(older)
        };
        let catalog = self.catalog_file.header().lsn;
        self.tables().iter().filter_map(of_table).min().unwrap_or(catalog_lsn).min(catalog)
    }
}

/// Ends the deltas of a table and lists its parts. The commit lock is held.
fn freeze(table: &Table, version: u64, (history_marks, length_max): (usize, usize)) -> Frozen {
    let partitions = table
        .partitions()
        .iter()
        .map(|partition| {
            rare_if("a checkpoint meets a merge", || partition.maintenance.try_lock().is_none());
            let (id, key) = (partition.id, partition.key.clone());
            FrozenPartition { id, key, parts: partition.seal() }
        })
        .collect();
    let last_drop = table.newest_drop();
    // Twice as many as maintenance leaves: a snapshot may read an old version for long.
    let history_marks = history_marks.saturating_mul(2);
    let next_partition = table.next_partition();
    Frozen { version, last_drop, history_marks, length_max, next_partition, partitions }
}
