//! Index warm-up after a start: builds key indexes in the background for the next writes.
//!
//! After a clean shutdown no partition has its index, and the first write to one would wait until
//! the keys of all of its rows have been read: a second for some millions. The partition to which a
//! table was last written is the best guess for its next write. A writer to that partition waits
//! for the rest of the work; other writers do not wait.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::schema::Version;
use crate::database::Database;
use crate::partition::Partition;
use crate::partition::part::Part;

/// Tables that were not written for so long before the last write (microseconds) are left alone.
const LATELY: u64 = 3_600_000_000;

/// About how many bytes of an index a row takes.
const ROW_BYTES: usize = 14;

/// Statements right after a start have the processors for so long.
const PAUSE: Duration = Duration::from_secs(2);

impl Database {
    /// Makes indexes a little later; returns when that is done, or soon after
    /// [`Self::stop_maintenance`]. To be run by a thread of its own after a start.
    pub fn warm_indexes_soon(&self) {
        let mut wanted = self.work.wanted.lock();
        if !wanted.stop {
            self.work.slow.wait_for(&mut wanted, PAUSE);
        }
        drop(wanted);
        self.warm_indexes();
    }

    /// Builds indexes, up to half of the memory that they may take.
    pub(crate) fn warm_indexes(&self) {
        let mut left = self.options.index_bytes / 2;
        for partition in self.written_last() {
            let rows = partition.parts().iter().map(|part| part.rows() as usize).sum::<usize>();
            let bytes = rows.saturating_mul(ROW_BYTES);
            if bytes > left {
                continue;
            }
            left -= bytes;
            let stop = || self.work.wanted.lock().stop;
            if stop() {
                return;
            }
            if let Err(error) = partition.prepare_until(self.seed, &stop) {
                // Who needs it gets the error.
                tracing::debug!(error = pelorus_error::display_chain(&error), "no index was made");
            }
        }
    }

    /// Of each table that was written lately the partition that was written last, the newest first.
    pub(crate) fn written_last(&self) -> Vec<Arc<Partition>> {
        let since = {
            let committing = self.committing.lock();
            let catalog = &committing.catalog;
            let last = catalog.times.last().map_or(0, |(micros, _)| *micros);
            catalog.version_at(last.saturating_sub(LATELY)).unwrap_or(0)
        };
        let mut found: Vec<(Version, Arc<Partition>)> = Vec::new();
        for table in self.tables() {
            let partitions = table.partitions();
            let all = partitions.iter().map(|it| (newest_of(it), it));
            let newest = all.max_by_key(|(version, _)| *version);
            found.extend(newest.map(|(version, it)| (version, Arc::clone(it))));
        }
        found.retain(|(version, _)| *version > since);
        found.sort_by_key(|(version, _)| Reverse(*version));
        found.into_iter().map(|(_, partition)| partition).collect()
    }
}

/// The newest version that has changed a partition.
fn newest_of(partition: &Partition) -> Version {
    let written = |part: &Arc<Part>| match (part.delta(), part.chunk()) {
        (Some(delta), _) => delta.rows().checked_sub(1).map_or(0, |last| delta.version(last)),
        (_, Some(chunk)) => chunk.at.versions.1,
        _ => 0,
    };
    let parts = partition.parts();
    parts.iter().map(|part| written(part).max(part.deletes.last())).max().unwrap_or(0)
}
