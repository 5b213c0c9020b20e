//! A partition: its parts, and the index from primary keys to rows.
//!
//! Readers take the list of parts and never wait for writers. Writers, and any operation that
//! replaces parts, work under the lock of [`Lookup`]. Rows are referred to by slot (15 bits) and
//! number (17 bits); when parts are replaced, their slots forward to the new places until the index
//! has been updated, in small steps.
//!
//! Invariants: a key has at most one live row in the newest state; the index, if there is one,
//! refers to exactly the live rows; delete marks are added under the lock of `Lookup`, so none is
//! added while parts are replaced.

pub(crate) mod chunk;
pub(crate) mod column_cache;
pub(crate) mod delete_marks;
pub(crate) mod delta;
pub(crate) mod freeze;
pub(crate) mod index_warmup;
mod lookup;
pub(crate) mod part;
pub(crate) mod rows;
mod verify;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_env::rare;
use pelorus_env::sync::{AtomicU64, Mutex, RwLock};
use pelorus_error::Result;
use pelorus_index::{KeyIndex, RowRef};

use crate::catalog::schema::{PartitionId, Version};
use crate::key::Keys;
use crate::partition::part::Part;
use crate::partition::rows::Place;
use lookup::{Lookup, Slot};

#[cfg(test)]
pub(crate) use lookup::SLOTS_MAX;
pub(crate) use writer::{Existing, PartitionWriter};

/// Bits of a reference that number the row.
const ROW_BITS: u32 = 17;

/// Rows that no longer have a place.
pub(crate) const GONE: u32 = u32::MAX;

/// A reference from its parts.
pub(crate) fn row_ref(slot: u16, row: u32) -> RowRef {
    RowRef(u32::from(slot) << ROW_BITS | row)
}

/// Slot and row of a reference.
pub(crate) fn split(row: RowRef) -> (u16, u32) {
    // A slot has 15 bits.
    ((row.0 >> ROW_BITS) as u16, row.0 & ((1 << ROW_BITS) - 1))
}

/// One partition.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Its number.
    pub(crate) id: PartitionId,
    /// Its key, which only the engine understands.
    pub(crate) key: Vec<u8>,
    parts: RwLock<Arc<Vec<Arc<Part>>>>,
    lookup: RwLock<Lookup>,
    /// Held while parts are replaced: one replacement at a time.
    pub(crate) maintenance: Mutex<()>,
    /// The newest version that took a key out.
    last_removal: AtomicU64,
    /// The index has been used since the last call of [`Self::index_idle`].
    index_used: AtomicBool,
    /// When that was seen (microseconds).
    index_seen: AtomicU64,
}

impl Partition {
    /// A partition with parts whose slots are their own.
    pub(crate) fn new(id: PartitionId, key: Vec<u8>, parts: Vec<Arc<Part>>) -> Result<Self> {
        let mut lookup = Lookup::default();
        // Any row that is dead may have died without a successor.
        let last_removal = parts.iter().map(|part| part.deletes.last()).max().unwrap_or(0);
        for part in &parts {
            lookup.occupy(Arc::clone(part))?;
        }
        if parts.is_empty() {
            lookup.index = Some(KeyIndex::new());
        }
        Ok(Self {
            id,
            key,
            parts: RwLock::new(Arc::new(parts)),
            lookup: RwLock::new(lookup),
            maintenance: Mutex::new(()),
            last_removal: AtomicU64::new(last_removal),
            index_used: AtomicBool::new(true),
            index_seen: AtomicU64::new(0),
        })
    }

    /// No key was taken out after this version.
    pub(crate) fn last_removal(&self) -> Version {
        self.last_removal.load(Ordering::Acquire)
    }

    /// The parts there are now.
    pub(crate) fn parts(&self) -> Arc<Vec<Arc<Part>>> {
        Arc::clone(&self.parts.read())
    }

    /// The lock for writers, with the index in place.
    ///
    /// # Errors
    /// When keys cannot be read for the index.
    pub(crate) fn write(&self, seed: u64) -> Result<PartitionWriter<'_>> {
        loop {
            let lookup = self.lookup.write();
            if lookup.index.is_some() {
                self.use_index();
                return Ok(PartitionWriter { partition: self, lookup });
            }
            drop(lookup);
            self.build_index(seed)?;
        }
    }

    /// Builds the index unless it exists, so that the next writer need not; stops when `stop`
    /// returns true.
    pub(crate) fn prepare_until(&self, seed: u64, stop: &dyn Fn() -> bool) -> Result<()> {
        let is_there = self.lookup.read().index.is_some();
        if is_there { Ok(()) } else { self.build_index_until(seed, stop) }
    }

    /// Builds the index from the parts, unless it exists.
    pub(crate) fn build_index(&self, seed: u64) -> Result<()> {
        self.build_index_until(seed, &|| false)
    }

    fn build_index_until(&self, seed: u64, stop: &dyn Fn() -> bool) -> Result<()> {
        self.use_index();
        // No parts are replaced meanwhile; no writer works without an index.
        let _alone = self.maintenance.lock();
        if self.lookup.read().index.is_some() {
            return Ok(());
        }
        let parts = self.parts();
        let live = |part: &Arc<Part>| (part.rows() as usize).saturating_sub(part.deletes.count());
        let mut index = KeyIndex::new();
        // All at once: what is entered is not moved when the next part comes.
        index.reserve(parts.iter().map(live).sum());
        for part in parts.iter() {
            if stop() {
                return Ok(());
            }
            let found = part.keys()?;
            let mut entries = Vec::with_capacity(found.len());
            for (row, key) in (0_u32..).zip(found.iter()) {
                if !part.deletes.contains(row) {
                    let hash = pelorus_index::hash_key(seed, key);
                    entries.push((hash, row_ref(part.slot, row)));
                }
            }
            index.insert_batch(&entries);
        }
        self.lookup.write().index = Some(index);
        Ok(())
    }

    /// Releases the memory of the index; the next writer builds it again.
    pub(crate) fn forget_index(&self) {
        let mut lookup = self.lookup.write();
        // A part that still forwards needs the index that is being brought up to date.
        if !lookup.slots.iter().any(|slot| matches!(slot, Slot::Forward(_))) {
            rare("an index is given up");
            lookup.index = None;
        }
    }

    fn use_index(&self) {
        // Ordering: only how long the index stays in memory hangs on it.
        if !self.index_used.load(Ordering::Relaxed) {
            self.index_used.store(true, Ordering::Relaxed);
        }
    }

    /// For how many microseconds the index has not been used, as far as earlier calls show.
    pub(crate) fn index_idle(&self, now: u64) -> u64 {
        if self.index_used.swap(false, Ordering::Relaxed) {
            self.index_seen.store(now, Ordering::Relaxed);
        }
        now.saturating_sub(self.index_seen.load(Ordering::Relaxed))
    }

    /// Bytes of the index.
    pub(crate) fn index_memory(&self) -> usize {
        self.lookup.read().index.as_ref().map_or(0, KeyIndex::memory_bytes)
    }

    /// Bytes of the removed keys.
    pub(crate) fn removed_memory(&self) -> usize {
        self.lookup.read().removed.memory()
    }

    /// Forgets removed keys if no reader needs an older version.
    pub(crate) fn forget_removed(&self, oldest: Version) {
        if self.last_removal() <= oldest && self.removed_memory() > 0 {
            let gone = self.lookup.write().removed.take(oldest);
            // Writers need not wait for this.
            drop(gone);
        }
    }

    /// Where the newest rows of keys are, by the index, which is built if it is not there; those of
    /// one part together.
    ///
    /// # Errors
    /// Errors of reading keys.
    pub(crate) fn find(&self, keys: &Keys, seed: u64) -> Result<Vec<Place>> {
        /// So many at a time, so that writers wait for a fraction of a millisecond.
        const STEP: usize = 2048;
        let hashes: Vec<u64> = keys.iter().map(|key| pelorus_index::hash_key(seed, key)).collect();
        let mut places = Vec::new();
        for (first, step) in (0..).step_by(STEP).zip(hashes.chunks(STEP)) {
            places.extend(self.candidates(step, first, seed)?);
        }
        if hashes.len() > STEP {
            rows::sort(&mut places);
        }
        // Rows never change, so no writer has to wait while their keys are read.
        rows::verify(&mut places, keys)?;
        Ok(places)
    }

    fn candidates(&self, hashes: &[u64], first: u32, seed: u64) -> Result<Vec<Place>> {
        loop {
            let lookup = self.lookup.read();
            if let Some(index) = &lookup.index {
                self.use_index();
                return Ok(lookup.candidates(index, hashes, first));
            }
            drop(lookup);
            self.build_index(seed)?;
        }
    }

    /// Ends the delta that takes new rows; gives the parts, none of which grows any more.
    pub(crate) fn seal(&self) -> Arc<Vec<Arc<Part>>> {
        let mut lookup = self.lookup.write();
        lookup.active = None;
        // Under the lock, since the next writer begins a delta that grows.
        self.parts()
    }

    /// Rows in the delta that takes new rows.
    pub(crate) fn active_rows(&self) -> u32 {
        self.lookup.read().active.as_ref().map_or(0, |part| part.rows())
    }

    /// Slots for new parts: all of them or none.
    ///
    /// # Errors
    /// Error 1114 when there are not so many.
    pub(crate) fn free_slots(&self, count: usize) -> Result<Vec<u16>> {
        let mut lookup = self.lookup.write();
        lookup.room_for(count)?;
        let mut found = Vec::with_capacity(count);
        for _ in 0..count {
            let slot = lookup.free_slot()?;
            // Taken until the part arrives.
            lookup.slots[usize::from(slot)] = Slot::Forward(Arc::new(Vec::new()));
            found.push(slot);
        }
        Ok(found)
    }

    /// Releases slots that no part has taken.
    pub(crate) fn give_back(&self, slots: &[u16]) {
        let mut lookup = self.lookup.write();
        for &slot in slots {
            lookup.slots[usize::from(slot)] = Slot::Free;
        }
    }

    /// Replaces parts by others in one step. `maps` gives for every row of an old part its new
    /// reference or [`GONE`]. Marks of deletion move with their rows.
    ///
    /// The old slots forward until [`Self::repoint`] has run.
    pub(crate) fn replace(&self, old: &[Arc<Part>], new: Vec<Arc<Part>>, maps: Vec<Vec<u32>>) {
        let mut lookup = self.lookup.write();
        move_marks(old, &new, &maps);
        for part in &new {
            lookup.slots[usize::from(part.slot)] = Slot::Part(Arc::clone(part));
        }
        for (part, map) in old.iter().zip(maps) {
            lookup.slots[usize::from(part.slot)] = Slot::Forward(Arc::new(map));
        }
        let mut parts = self.parts.write();
        let mut list: Vec<Arc<Part>> = parts
            .iter()
            .filter(|part| !old.iter().any(|it| Arc::ptr_eq(it, part)))
            .cloned()
            .collect();
        list.extend(new);
        *parts = Arc::new(list);
    }

    /// Updates the index after [`Self::replace`]: `moves` are hash, old and new reference of every
    /// surviving row. Then the old slots are free.
    pub(crate) fn repoint(&self, moves: &[(u64, RowRef, RowRef)], old: &[Arc<Part>]) {
        /// So many at a time, so that writers wait for a fraction of a millisecond.
        const STEP: usize = 2048;
        for step in moves.chunks(STEP) {
            let mut lookup = self.lookup.write();
            let Some(index) = &mut lookup.index else { break };
            // Rows that have been replaced meanwhile are no longer in it.
            index.replace_batch(step);
        }
        let mut lookup = self.lookup.write();
        for part in old {
            lookup.slots[usize::from(part.slot)] = Slot::Free;
        }
    }
}

/// Copies the marks of old parts to the rows' new places, oldest first.
fn move_marks(old: &[Arc<Part>], new: &[Arc<Part>], maps: &[Vec<u32>]) {
    let mut marks: Vec<(Version, u16, u32)> = Vec::new();
    for (part, map) in old.iter().zip(maps) {
        let (_, _, log) = part.deletes.image(Version::MAX);
        for (version, row) in log {
            let to = map.get(row as usize).copied().unwrap_or(GONE);
            if to != GONE {
                let (slot, row) = split(RowRef(to));
                marks.push((version, slot, row));
            }
        }
    }
    marks.sort_unstable();
    for (version, slot, row) in marks {
        if let Some(part) = new.iter().find(|part| part.slot == slot) {
            part.deletes.mark(version, &[row]);
        }
    }
}
