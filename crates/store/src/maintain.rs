//! Work behind the scenes: flushes, merges, checkpoints, and writers who wait for room.
//!
//! One thread does it when there is one ([`Database::run_maintenance`]); otherwise the writer who
//! finds memory full does. Merging is garbage first: chunks of which a quarter is dead, then small
//! chunks together, never more at once than a few chunks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pelorus_error::{Code, Error, Result};

use crate::database::Database;
use crate::part::Part;
use crate::partition::Partition;
use crate::rewrite::{Rewritten, rewrite};
use crate::schema::Version;
use crate::table::Table;

/// Rows below which a chunk is small.
const SMALL: u32 = 32_768;

/// So many small chunks of a partition are merged.
const SMALL_MANY: usize = 4;

/// Most chunks that one merge reads.
const MERGE_MOST: usize = 8;

impl Database {
    /// Does what is due once: flushes, merges, a checkpoint. Whether anything was.
    ///
    /// # Errors
    /// What reading and writing gives; a full disk leaves everything as it was.
    pub fn maintain(&self) -> Result<bool> {
        if self.failure().is_some() {
            return Ok(false);
        }
        let mut done = false;
        for table in self.tables() {
            done |= self.maintain_table(&table)?;
        }
        done |= self.flush_for_memory()?;
        self.forget_indexes();
        if self.checkpoint_is_due() {
            self.checkpoint()?;
            done = true;
        }
        Ok(done)
    }

    fn maintain_table(&self, table: &Arc<Table>) -> Result<bool> {
        let horizon = self.horizon(table);
        let mut done = false;
        for partition in table.partitions().iter() {
            let rows: usize = deltas(partition).iter().map(|part| part.rows() as usize).sum();
            if rows >= self.options.flush_rows {
                done |= self.flush(table, partition, horizon)?;
            }
            done |= self.merge(table, partition, horizon)?;
        }
        Ok(done)
    }

    /// Versions below the result are not read any more, and cannot be from now on.
    pub(crate) fn horizon(&self, table: &Table) -> Version {
        let history = table.layout().schema.history;
        let moment = self.now().saturating_sub(history.micros);
        let by_age = self.committing.lock().catalog.version_at(moment).unwrap_or(0);
        let dead = dead_bytes(table, by_age);
        let wanted = if dead > history.bytes { Version::MAX } else { by_age };
        self.pins.horizon(&self.published, wanted, |horizon| table.raise_floor(horizon))
    }

    /// Turns the deltas of a partition into chunks.
    pub(crate) fn flush(
        &self,
        table: &Arc<Table>,
        partition: &Partition,
        horizon: Version,
    ) -> Result<bool> {
        let _alone = partition.maintenance.lock();
        partition.seal();
        let parts = deltas(partition);
        if parts.iter().all(|part| part.rows() == 0) {
            return Ok(false);
        }
        let done = rewrite(table, partition, &parts, horizon, self.log.end().0)?;
        log_rewrite("flush", table, partition, &done);
        Ok(true)
    }

    /// Merges chunks of a partition that have too many dead rows or are too small.
    fn merge(&self, table: &Arc<Table>, partition: &Partition, horizon: Version) -> Result<bool> {
        let Some(_alone) = partition.maintenance.try_lock() else { return Ok(false) };
        let chunks: Vec<Arc<Part>> =
            partition.parts().iter().filter(|part| part.chunk().is_some()).cloned().collect();
        for part in &chunks {
            part.deletes.fold(horizon);
        }
        let chosen = choose(&chunks, horizon);
        if chosen.is_empty() {
            return Ok(false);
        }
        let done = rewrite(table, partition, &chosen, horizon, self.log.end().0)?;
        log_rewrite("merge", table, partition, &done);
        Ok(true)
    }

    /// Flushes the largest partitions while rows in memory take more than half of their budget.
    fn flush_for_memory(&self) -> Result<bool> {
        let budget = self.options.delta_bytes;
        if self.delta_bytes() <= budget / 2 {
            return Ok(false);
        }
        let mut largest = Vec::new();
        for table in self.tables() {
            for partition in table.partitions().iter() {
                let bytes: usize = deltas(partition)
                    .iter()
                    .filter_map(|it| it.delta())
                    .map(|it| it.memory())
                    .sum();
                if bytes > 0 {
                    largest.push((bytes, Arc::clone(&table), Arc::clone(partition)));
                }
            }
        }
        largest.sort_unstable_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
        let mut done = false;
        for (_, table, partition) in largest {
            if self.delta_bytes() <= budget / 4 {
                break;
            }
            done |= self.flush(&table, &partition, self.horizon(&table))?;
        }
        Ok(done)
    }

    /// Bytes of rows in memory that are not in chunks yet.
    pub fn delta_bytes(&self) -> usize {
        // Ordering: an estimate that other threads move anyway.
        self.tables().iter().map(|table| table.delta_bytes.load(Ordering::Relaxed)).sum()
    }

    /// Gives up indexes when they take more than their budget: of partitions that take no new
    /// rows first.
    fn forget_indexes(&self) {
        let mut sizes = Vec::new();
        let mut total = 0;
        for table in self.tables() {
            for partition in table.partitions().iter() {
                let bytes = partition.index_memory();
                total += bytes;
                sizes.push((partition.active_rows() > 0, bytes, Arc::clone(partition)));
            }
        }
        sizes.sort_by_key(|(active, bytes, _)| (*active, std::cmp::Reverse(*bytes)));
        for (_, bytes, partition) in sizes {
            if total <= self.options.index_bytes {
                break;
            }
            partition.forget_index();
            total -= bytes;
        }
    }

    fn checkpoint_is_due(&self) -> bool {
        let Some(state) = self.checkpointing.try_lock() else { return false };
        let behind = self.log.end().0.saturating_sub(state.lsn);
        let age = self.now().saturating_sub(state.micros);
        behind >= self.options.checkpoint_log_bytes
            || behind > 0 && age >= self.options.checkpoint_micros
    }

    /// Waits while rows in memory take more than their budget.
    pub(crate) fn make_room(&self) -> Result<()> {
        let budget = self.options.delta_bytes;
        if self.delta_bytes() > budget / 2 {
            self.wake_maintenance();
        }
        while self.delta_bytes() > budget {
            let mut wanted = self.work.wanted.lock();
            if !wanted.running {
                drop(wanted);
                self.flush_for_memory()?;
                return Ok(());
            }
            wanted.soon = true;
            self.work.wake.notify_all();
            self.work.done.wait_for(&mut wanted, Duration::from_millis(100));
            drop(wanted);
            if let Some(reason) = self.failure() {
                return Err(Error::new(Code::TableFailed, reason));
            }
        }
        Ok(())
    }

    fn wake_maintenance(&self) {
        let mut wanted = self.work.wanted.lock();
        if wanted.running && !wanted.soon {
            wanted.soon = true;
            self.work.wake.notify_all();
        }
    }

    /// Maintains the database until [`Self::stop_maintenance`]; to be run by a thread of its own.
    pub fn run_maintenance(&self) {
        self.work.wanted.lock().running = true;
        loop {
            match self.maintain() {
                Ok(true) => {}
                Ok(false) => {
                    // Nothing new: what was synced last can be told from a torn write.
                    if let Err(error) = self.log.mark_idle() {
                        tracing::debug!(error = pelorus_error::display_chain(&error), "log");
                    }
                }
                Err(error) => tracing::warn!(
                    error = pelorus_error::display_chain(&error),
                    "flushing and merging native tables failed; it is tried again"
                ),
            }
            let mut wanted = self.work.wanted.lock();
            wanted.rounds += 1;
            self.work.done.notify_all();
            if !wanted.soon && !wanted.stop {
                self.work.wake.wait_for(&mut wanted, Duration::from_millis(50));
            }
            wanted.soon = false;
            if wanted.stop {
                wanted.running = false;
                self.work.done.notify_all();
                return;
            }
        }
    }

    /// Ends [`Self::run_maintenance`].
    pub fn stop_maintenance(&self) {
        let mut wanted = self.work.wanted.lock();
        wanted.stop = true;
        self.work.wake.notify_all();
        while wanted.running {
            self.work.done.wait_for(&mut wanted, Duration::from_millis(100));
        }
    }

    /// Ends maintenance and makes a last checkpoint, so that the next start has no log to read.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub fn close(&self) -> Result<()> {
        self.stop_maintenance();
        if self.failure().is_some() {
            return Ok(());
        }
        self.checkpoint()?;
        self.log.mark_idle()
    }
}

/// The deltas of a partition.
fn deltas(partition: &Partition) -> Vec<Arc<Part>> {
    partition.parts().iter().filter(|part| part.delta().is_some()).cloned().collect()
}

/// About how many bytes rows take that are dead but can still be read.
fn dead_bytes(table: &Table, horizon: Version) -> u64 {
    /// What a row takes, where nobody knows better.
    const ROW_BYTES: u64 = 64;
    let of_part = |part: &Arc<Part>| {
        let rows = part.deletes.count().saturating_sub(part.deletes.count_at(horizon)) as u64;
        let each = match part.chunk() {
            Some(chunk) if chunk.rows() > 0 => chunk.at.meta_at / u64::from(chunk.rows()),
            _ => ROW_BYTES,
        };
        rows * each.max(1)
    };
    table.partitions().iter().map(|it| it.parts().iter().map(of_part).sum::<u64>()).sum()
}

/// Which chunks to merge: those with much garbage, and small ones if there are many.
fn choose(chunks: &[Arc<Part>], horizon: Version) -> Vec<Arc<Part>> {
    let live = |part: &Arc<Part>| {
        let dead = part.deletes.count_at(horizon);
        part.rows().saturating_sub(u32::try_from(dead).unwrap_or(u32::MAX))
    };
    let mut chosen: Vec<Arc<Part>> = Vec::new();
    let mut garbage: Vec<&Arc<Part>> = chunks
        .iter()
        .filter(|part| u64::from(live(part)) * 4 <= u64::from(part.rows()) * 3)
        .collect();
    garbage.sort_by_key(|part| u64::from(live(part)) * 1000 / u64::from(part.rows().max(1)));
    chosen.extend(garbage.into_iter().take(MERGE_MOST).cloned());
    let is_chosen =
        |part: &Arc<Part>, chosen: &[Arc<Part>]| chosen.iter().any(|it| Arc::ptr_eq(it, part));
    let mut small: Vec<&Arc<Part>> =
        chunks.iter().filter(|part| part.rows() < SMALL && !is_chosen(part, &chosen)).collect();
    small.sort_by_key(|part| part.rows());
    if small.len() >= SMALL_MANY || !chosen.is_empty() {
        let room = MERGE_MOST.saturating_sub(chosen.len());
        chosen.extend(small.into_iter().take(room).cloned());
    }
    chosen
}

fn log_rewrite(what: &str, table: &Table, partition: &Partition, done: &Rewritten) {
    tracing::debug!(
        what,
        table = table.id().0,
        partition = partition.id.0,
        rows_in = done.rows_in,
        rows_out = done.rows_out,
        chunks = done.chunks,
        bytes = done.bytes,
        "rows were rewritten"
    );
}
