//! Background maintenance: flushes, compaction, checkpoints, and writers that wait for memory.
//!
//! If there is a maintenance thread it does the work ([`Database::run_maintenance`]); otherwise the
//! writer that finds memory full does. Compaction takes garbage first: chunks with the largest
//! share of dead rows, then small chunks together, never more than a few chunks at once. Writers
//! that produce garbage faster than compaction removes it are slowed down, so that the speed of
//! scans and the size of files stay bounded.

mod policy;

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pelorus_env::rare;
use pelorus_error::{Code, Error, Result};

pub(crate) use self::policy::{DELTAS_MANY, choose, has_holes, has_waste, holds_more};
use self::policy::{
    FLUSH_BYTES, IDLE_MICROS, WASTE_MICROS, deltas, flush_from, garbage_of, memory_to_flush,
    merge_from, readable_dead, wait_for_flushes, wait_for_merging, within,
};
use crate::catalog::schema::{TableId, Version};
use crate::compaction::{Rewritten, rewrite};
use crate::database::{Database, Work, go_on};
use crate::partition::Partition;
use crate::partition::part::Part;
use crate::table::Table;

impl Database {
    /// Executes all due maintenance once: flushes, merges, a checkpoint. Returns whether any was
    /// due.
    ///
    /// # Errors
    /// Errors of reading and writing first; the rest is done nevertheless. A full disk leaves
    /// everything as it was.
    pub fn maintain(&self) -> Result<bool> {
        if self.failure().is_some() {
            return Ok(false);
        }
        let mut round = Round::default();
        let is_idle = self.is_idle();
        self.tables().iter().for_each(|table| self.forget_dropped(table));
        // No file is held here that may have been dropped.
        let space = self.keep_space();
        if space.as_ref().is_ok_and(|is_there| *is_there) {
            for table in self.tables() {
                self.maintain_table(&table, is_idle, &mut round);
            }
        }
        round.note(space.map(|_| false));
        self.flush_for_memory(&mut round);
        self.forget_indexes();
        if self.checkpoint_is_due() {
            round.note(self.checkpoint().map(|()| true));
        }
        round.end()
    }

    /// Flushes all rows of a table in memory to chunks, removes dead rows from its chunks as far as
    /// no version needs them, and writes a checkpoint.
    ///
    /// # Errors
    /// No such table, and errors of reading and writing.
    pub fn optimize(&self, id: TableId) -> Result<()> {
        let table = self.require(id)?;
        let horizon = self.horizon(&table);
        for partition in table.partitions().iter() {
            let rewrite = || -> Result<()> {
                self.flush(&table, partition, horizon)?;
                while self.merge(&table, partition, (horizon, 1))? {}
                Ok(())
            };
            rewrite().inspect_err(|_| self.release_tails())?;
        }
        let wanted = self.log.end().0.min(table.changed.load(Ordering::Acquire));
        let mut refused = None;
        for step in [Self::checkpoint, Self::give_back] {
            unless_too_large(step(self), &mut refused)?;
        }
        // Another table's is not this one's.
        let is_behind = table.checkpoint.load(Ordering::Acquire) < wanted;
        refused.filter(|_| is_behind).map_or(Ok(()), Err)
    }

    /// Makes the checkpoints after which files no longer contain blocks that only older headers
    /// name: otherwise a table without further changes would keep them for ever.
    fn give_back(&self) -> Result<()> {
        /// Blocks that chunks have left are in the newest state until the first checkpoint, and
        /// blocks that a checkpoint retires become free with the second one after it.
        const CHECKPOINTS: usize = 3;
        let mut refused = None;
        for _ in 0..CHECKPOINTS {
            if !self.tables().iter().any(|table| holds_more(table)) {
                break;
            }
            unless_too_large(self.checkpoint_where(holds_more), &mut refused)?;
        }
        refused.map_or(Ok(()), Err)
    }

    /// Whether there were no writes for a while.
    fn is_idle(&self) -> bool {
        let (end, now) = (self.log.end().0, self.elapsed());
        let mut seen = self.work.seen.lock();
        if seen.0 != end {
            *seen = (end, now);
        }
        now.saturating_sub(seen.1) >= IDLE_MICROS
    }

    fn maintain_table(&self, table: &Arc<Table>, is_idle: bool, round: &mut Round) {
        let horizon = self.horizon(table);
        let oldest = self.pins.horizon(&self.published, Version::MAX, |oldest| oldest);
        let mut most = 0;
        let enough = flush_from(self.options.flush_rows, is_idle);
        for partition in table.partitions().iter() {
            let deltas = deltas(&partition.parts());
            let rows: usize = deltas.iter().map(|part| part.rows() as usize).sum();
            // Every checkpoint ends a delta, however small it is.
            if rows >= enough || deltas.len() >= DELTAS_MANY {
                round.note(self.flush(table, partition, horizon));
            }
            let from = merge_from(garbage_of(&partition.parts(), horizon), is_idle);
            round.note(self.merge(table, partition, (horizon, from)));
            most = most.max(garbage_of(&partition.parts(), horizon));
            partition.forget_removed(oldest);
        }
        table.garbage.store(most, Ordering::Relaxed);
    }

    /// Releases dropped partitions that no snapshot can read any more.
    pub(crate) fn forget_dropped(&self, table: &Table) {
        if !table.has_dropped() {
            return;
        }
        let forget = |oldest| table.forget_dropped(oldest);
        let gone = self.pins.horizon(&self.published, Version::MAX, forget);
        // Freeing their memory takes a while; no other thread waits for it.
        drop(gone);
    }

    /// Versions below the result are not read any more, and cannot be from now on.
    pub(crate) fn horizon(&self, table: &Table) -> Version {
        let history = table.layout().schema.history;
        let moment = self.now().saturating_sub(history.micros);
        let by_age = self.committing.lock().catalog.version_at(moment).unwrap_or(0);
        let (rows, bytes) = readable_dead(table, by_age);
        let is_too_much = bytes > history.bytes || rows > self.options.history_marks;
        let wanted = if is_too_much { Version::MAX } else { by_age };
        self.pins.horizon(&self.published, wanted, |horizon| {
            table.raise_floor(horizon);
            horizon
        })
    }

    /// Turns the deltas of a partition into chunks.
    pub(crate) fn flush(
        &self,
        table: &Arc<Table>,
        partition: &Partition,
        horizon: Version,
    ) -> Result<bool> {
        let _alone = partition.maintenance.lock();
        let mut rest = deltas(&partition.seal());
        let some = !rest.is_empty();
        while !rest.is_empty() {
            let bytes = |part: &Arc<Part>| part.delta().map_or(0, |it| it.memory() as u64);
            let next = rest.split_off(within(&rest, FLUSH_BYTES, bytes).max(1));
            let done = rewrite(table, partition, &rest, horizon, self.log.end().0)?;
            log_rewrite("flush", table, partition, &done);
            rest = next;
        }
        Ok(some)
    }

    /// Merges chunks of a partition that have too many dead rows or are too small.
    fn merge(
        &self,
        table: &Arc<Table>,
        partition: &Partition,
        (horizon, garbage): (Version, u64),
    ) -> Result<bool> {
        let Some(_alone) = partition.maintenance.try_lock() else { return Ok(false) };
        let chunks: Vec<Arc<Part>> =
            partition.parts().iter().filter(|part| part.chunk().is_some()).cloned().collect();
        for part in &chunks {
            part.deletes.fold(horizon);
        }
        let chosen = choose(&chunks, horizon, garbage);
        if chosen.is_empty() {
            return Ok(false);
        }
        let done = rewrite(table, partition, &chosen, horizon, self.log.end().0)?;
        log_rewrite("merge", table, partition, &done);
        Ok(true)
    }

    /// Flushes the largest partitions while rows in memory take too much of their budget.
    fn flush_for_memory(&self, round: &mut Round) {
        let (above, until) = memory_to_flush(self.options.delta_bytes);
        if self.delta_bytes() <= above {
            return;
        }
        rare("rows are flushed to free memory");
        let mut largest = Vec::new();
        for table in self.tables() {
            for partition in table.partitions().iter() {
                let deltas = deltas(&partition.parts());
                let bytes: usize =
                    deltas.iter().filter_map(|it| it.delta()).map(|it| it.memory()).sum();
                if bytes > 0 {
                    largest.push((bytes, Arc::clone(&table), Arc::clone(partition)));
                }
            }
        }
        largest.sort_unstable_by_key(|(bytes, ..)| Reverse(*bytes));
        for (_, table, partition) in largest {
            if self.delta_bytes() <= until {
                break;
            }
            round.note(self.flush(&table, &partition, self.horizon(&table)));
        }
    }

    /// Bytes of rows in memory that are not in chunks yet.
    pub fn delta_bytes(&self) -> usize {
        self.delta_bytes.held()
    }

    /// Gives up indexes when they take more than their budget: of partitions that take no new
    /// rows first. Those that were used lately only go above twice the budget: to build one again
    /// for every other statement would take longer than everything else.
    fn forget_indexes(&self) {
        let now = self.elapsed();
        let mut sizes = Vec::new();
        let mut total = 0;
        for table in self.tables() {
            for partition in table.partitions().iter() {
                let bytes = partition.index_memory();
                // The removed keys cannot be evicted: indexes make room for them.
                total += bytes + partition.removed_memory();
                let in_use = partition.index_idle(now) < self.options.index_idle_micros;
                sizes.push((in_use, partition.active_rows() > 0, bytes, Arc::clone(partition)));
            }
        }
        self.count_indexes(total);
        let budget = self.options.index_bytes;
        sizes.sort_by_key(|(in_use, active, bytes, _)| (*in_use, *active, Reverse(*bytes)));
        for (in_use, _, bytes, partition) in sizes {
            if total <= if in_use { budget.saturating_mul(2) } else { budget } {
                break;
            }
            partition.forget_index();
            total -= bytes;
        }
        self.count_indexes(total);
        // Ordering: said once is enough.
        if total > budget && !self.work.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                bytes = total,
                budget,
                "the key indexes of the partitions that are written take more than their budget"
            );
        }
    }

    /// Counts the memory of key indexes; only maintenance sets it.
    fn count_indexes(&self, bytes: usize) {
        let before = self.index_memory.held();
        match bytes.checked_sub(before) {
            Some(more) => self.index_memory.grow(more),
            None => self.index_memory.shrink(before - bytes),
        }
    }

    fn checkpoint_is_due(&self) -> bool {
        let Some(state) = self.checkpointing.try_lock() else { return false };
        let behind = self.log.end().0.saturating_sub(state.lsn);
        let now = self.elapsed();
        let age = state.age(now);
        let pause = self.options.checkpoint_micros.min(WASTE_MICROS);
        behind >= self.options.checkpoint_log_bytes
            || behind > 0 && age >= self.options.checkpoint_micros
            || age >= pause && self.tables().iter().any(|it| has_waste(it) || has_holes(it, now))
    }

    /// Waits while rows in memory take more than their budget.
    ///
    /// # Errors
    /// Why room cannot be made, and 1317 when `stop` says so.
    pub(crate) fn make_room(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        let budget = self.options.delta_bytes;
        if self.delta_bytes() > memory_to_flush(budget).0 {
            self.wake_maintenance();
        }
        let mut begun = None;
        while self.delta_bytes() > budget {
            go_on(stop)?;
            let mut wanted = self.work.wanted.lock();
            if !wanted.running {
                drop(wanted);
                let mut round = Round::default();
                self.flush_for_memory(&mut round);
                return round.end().map(|_| ());
            }
            // Of a whole round that began after this, or the writer might wait for ever.
            let begun = *begun.get_or_insert(wanted.rounds);
            if let Some((code, text)) =
                wanted.refused.as_ref().filter(|_| wanted.rounds > begun + 1)
            {
                return Err(Error::new(*code, text.clone()));
            }
            wanted.soon = true;
            rare("a writer waits for room");
            self.work.wake.notify_all();
            self.work.done.wait_for(&mut wanted, Duration::from_millis(100));
            drop(wanted);
            if let Some(reason) = self.failure() {
                return Err(Error::new(Code::TableFailed, reason));
            }
        }
        Ok(())
    }

    /// Waits for a while before rows are written where flushing or merging cannot keep up, the
    /// longer the more rows are in memory, and the more of the table is dead.
    pub(crate) fn slow_down(&self, table: &Table, rows: usize) {
        let garbage = table.garbage.load(Ordering::Relaxed);
        let flushes = wait_for_flushes(self.delta_bytes(), self.options.delta_bytes, rows);
        let Some(wait) = wait_for_merging(garbage, rows).max(flushes) else { return };
        let mut wanted = self.work.wanted.lock();
        if wanted.running && !wanted.stop {
            wanted.soon = true;
            rare("a writer is slowed down");
            self.work.wake.notify_all();
            self.work.slow.wait_for(&mut wanted, wait);
        }
    }

    pub(crate) fn wake_maintenance(&self) {
        let mut wanted = self.work.wanted.lock();
        if wanted.running && !wanted.soon {
            wanted.soon = true;
            self.work.wake.notify_all();
        }
    }

    /// Maintains the database until [`Self::stop_maintenance`]; to be run by a thread of its own.
    pub fn run_maintenance(&self) {
        let _running = Running::begin(&self.work);
        loop {
            let result = self.maintain();
            let mut pause = Duration::from_millis(50);
            let refused =
                result.as_ref().err().map(|error| (error.code(), error.message().to_owned()));
            match result {
                Ok(true) => pause = Duration::ZERO,
                Ok(false) => {
                    // Nothing new: the last synced group can be distinguished from a torn write.
                    if let Err(error) = self.log.mark_idle() {
                        tracing::debug!(error = pelorus_error::display_chain(&error), "log");
                    }
                    if self.is_idle() {
                        self.log.remove_spares();
                    }
                }
                Err(error) => {
                    pause = Duration::from_secs(1);
                    // The disk may be full.
                    self.release_tails();
                    tracing::warn!(
                        error = pelorus_error::display_chain(&error),
                        "flushing and merging native tables failed; it is tried again"
                    );
                }
            }
            let mut wanted = self.work.wanted.lock();
            wanted.rounds += 1;
            wanted.refused = refused;
            self.work.done.notify_all();
            if !wanted.soon && !wanted.stop && !pause.is_zero() {
                self.work.wake.wait_for(&mut wanted, pause);
            }
            wanted.soon = false;
            if wanted.stop {
                return;
            }
        }
    }

    /// Ends [`Self::run_maintenance`].
    pub fn stop_maintenance(&self) {
        let mut wanted = self.work.wanted.lock();
        wanted.stop = true;
        self.work.wake.notify_all();
        self.work.slow.notify_all();
        while wanted.running {
            self.work.done.wait_for(&mut wanted, Duration::from_millis(100));
        }
    }

    /// Ends maintenance and makes the last checkpoints, so that the next start has no log to read.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub fn close(&self) -> Result<()> {
        self.stop_maintenance();
        if self.failure().is_some() {
            return Ok(());
        }
        // Each file is opened by the older of its two headers if need be; when both know
        // everything, and the catalog knows that of both, no log is needed.
        let mut refused = None;
        let steps: [fn(&Self) -> Result<()>; 4] =
            [Self::checkpoint, Self::checkpoint_both_headers, Self::give_back, Self::checkpoint];
        for step in steps {
            unless_too_large(step(self), &mut refused)?;
        }
        self.log.remove_spares();
        self.log.mark_idle()?;
        refused.map_or(Ok(()), Err)
    }
}

/// Goes on where one table is too large for its file: all others have theirs.
pub(crate) fn unless_too_large(result: Result<()>, refused: &mut Option<Error>) -> Result<()> {
    match result {
        Err(error) if error.code() == Code::TableFull => {
            refused.get_or_insert(error);
            Ok(())
        }
        other => other,
    }
}

/// The result of a round of maintenance.
#[derive(Debug, Default)]
struct Round {
    done: bool,
    error: Option<Error>,
}

impl Round {
    fn note(&mut self, result: Result<bool>) {
        match result {
            Ok(done) => self.done |= done,
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    fn end(self) -> Result<bool> {
        self.error.map_or(Ok(self.done), Err)
    }
}

/// Tells, as long as it lives, that a thread does the work.
#[derive(Debug)]
struct Running<'a>(&'a Work);

impl<'a> Running<'a> {
    fn begin(work: &'a Work) -> Self {
        work.wanted.lock().running = true;
        Self(work)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.wanted.lock().running = false;
        self.0.done.notify_all();
    }
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
