//! A partition under its writers' lock: looks keys up, inserts rows, adds delete marks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_env::sync::RwLockWriteGuard;
use pelorus_error::{Error, Result};
use pelorus_index::{KeyIndex, RowRef};

use super::Partition;
use super::lookup::Lookup;
use crate::catalog::schema::Version;
use crate::key::Keys;
use crate::partition::delta::Delta;
use crate::partition::part::Part;
use crate::partition::rows;
use crate::partition::rows::Place;

/// A delta with so many bytes takes no more rows, so that its columns can be joined.
const DELTA_BYTES_MAX: usize = 256 << 20;

/// A partition under its writers' lock.
#[derive(Debug)]
pub(crate) struct PartitionWriter<'a> {
    pub(super) partition: &'a Partition,
    pub(super) lookup: RwLockWriteGuard<'a, Lookup>,
}

/// The row that a key has now: the reference as the index has it, its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Existing {
    entry: RowRef,
    pub(crate) version: Version,
}

impl PartitionWriter<'_> {
    /// Looks keys up, each with its hash.
    pub(crate) fn probe(&self, keys: &Keys, hashes: &[u64]) -> Result<Vec<Option<Existing>>> {
        let Some(index) = &self.lookup.index else {
            return Err(Error::internal("a partition is written without its index"));
        };
        let mut places = self.lookup.candidates(index, hashes, 0);
        rows::verify(&mut places, keys)?;
        let mut found = vec![None; keys.len()];
        for Place { key, entry, part, row } in places {
            found[key as usize] = Some(Existing { entry, version: part.version(row)? });
        }
        Ok(found)
    }

    /// Whether a key may have been removed after a version.
    pub(crate) fn removed_since(&self, hash: u64, version: Version) -> bool {
        self.lookup.removed.since(hash, version)
    }

    /// Checks, before a commit is logged, that there is room for its rows, and for what flushes, merges
    /// and the next start need: that has rows in more parts than there were, since nothing is flushed
    /// while the log is read.
    ///
    /// # Errors
    /// Error 1114 when merging cannot keep up.
    pub(crate) fn room_for(&self, rows: usize, bytes: usize) -> Result<()> {
        /// Deltas of twice the log that is kept, and some.
        const RESERVE: usize = 2048;
        let deltas = rows.div_ceil(crate::DELTA_ROWS_MAX) + bytes.div_ceil(DELTA_BYTES_MAX / 2) + 1;
        self.lookup.room_for(deltas + RESERVE)
    }

    /// The delta that takes new rows of about so many bytes each, and how many it can take.
    pub(crate) fn active(
        &mut self,
        row_bytes: usize,
        begin: impl FnOnce(u16) -> Part,
    ) -> Result<(Arc<Part>, usize)> {
        let room = |part: &Part| {
            let rows = crate::DELTA_ROWS_MAX - part.rows() as usize;
            let used = part.delta().map_or(0, Delta::memory);
            rows.min(DELTA_BYTES_MAX.saturating_sub(used) / row_bytes.max(1))
        };
        if let Some(part) = self.lookup.active.as_ref().filter(|part| room(part) > 0) {
            return Ok((Arc::clone(part), room(part)));
        }
        let slot = self.lookup.free_slot()?;
        let part = Arc::new(begin(slot));
        self.lookup.occupy(Arc::clone(&part))?;
        self.lookup.active = Some(Arc::clone(&part));
        let mut parts = self.partition.parts.write();
        let mut list = Vec::clone(&parts);
        list.push(Arc::clone(&part));
        *parts = Arc::new(list);
        // One row goes in, however long it is.
        let room = room(&part).max(1);
        Ok((part, room))
    }

    /// Enters new rows and marks those that they replace as dead.
    pub(crate) fn enter(
        &mut self,
        version: Version,
        hashes: impl Iterator<Item = (u64, RowRef, Option<Existing>)>,
    ) -> Result<()> {
        let mut news = Vec::new();
        let mut replaced = Vec::new();
        let mut dead = Vec::new();
        for (hash, row, existing) in hashes {
            match existing {
                None => news.push((hash, row)),
                Some(existing) => {
                    replaced.push((hash, existing.entry, row));
                    dead.push(existing);
                }
            }
        }
        self.index()?.replace_batch(&replaced);
        self.index()?.insert_batch(&news);
        self.mark(version, dead.into_iter());
        Ok(())
    }

    /// Removes keys from the index and marks their rows as dead. No change that was computed before
    /// `oldest` will be committed.
    pub(crate) fn remove(
        &mut self,
        version: Version,
        oldest: Version,
        rows: impl Iterator<Item = (u64, Existing)> + Clone,
    ) -> Result<()> {
        self.lookup.removed.note(version, oldest, rows.clone().map(|(hash, _)| hash));
        // Before the index changes, so that who misses the key there knows to look further.
        self.partition.last_removal.fetch_max(version, Ordering::AcqRel);
        let mut dead = Vec::new();
        for (hash, existing) in rows {
            self.index()?.remove(hash, existing.entry);
            dead.push(existing);
        }
        self.mark(version, dead.into_iter());
        Ok(())
    }

    fn index(&mut self) -> Result<&mut KeyIndex> {
        let index = self.lookup.index.as_mut();
        index.ok_or_else(|| Error::internal("a partition is written without its index"))
    }

    fn mark(&self, version: Version, rows: impl Iterator<Item = Existing>) {
        let mut places: Vec<(&Arc<Part>, u32)> =
            rows.filter_map(|existing| self.lookup.place(existing.entry)).collect();
        places.sort_unstable_by_key(|(part, row)| (part.slot, *row));
        for same in places.chunk_by(|a, b| a.0.slot == b.0.slot) {
            let rows: Vec<u32> = same.iter().map(|(_, row)| *row).collect();
            same[0].0.deletes.mark(version, &rows);
        }
    }
}
