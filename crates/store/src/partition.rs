//! One partition: its parts, and which row each primary key is in.
//!
//! Readers take the list of parts and never wait for writers. Writers, and whoever replaces parts,
//! work under the lock of [`Lookup`]. Rows are referred to by slot (15 bits) and number (17 bits);
//! when parts are replaced their slots forward to the new places until the index has been brought
//! up to date, a little at a time.
//!
//! Invariants: a key has at most one live row in the newest state; the index, where there is one,
//! refers to exactly the live rows; marks of deletion are made under the lock of `Lookup`, so none
//! is made while parts are exchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use pelorus_error::{Code, Error, Result};
use pelorus_index::{KeyIndex, RowRef};

use crate::key::Keys;
use crate::part::Part;
use crate::schema::{PartitionId, Version};

/// Bits of a reference that number the row.
const ROW_BITS: u32 = 17;

/// Most parts of a partition at one time.
const SLOTS_MAX: usize = 1 << (32 - ROW_BITS);

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
}

/// Where rows are, for writers.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    slots: Vec<Slot>,
    /// The key index; built when a writer first needs it.
    index: Option<KeyIndex>,
    /// The delta that takes new rows.
    active: Option<Arc<Part>>,
}

#[derive(Debug)]
enum Slot {
    Free,
    Part(Arc<Part>),
    /// The new references of a part's rows.
    Forward(Arc<Vec<u32>>),
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
                return Ok(PartitionWriter { partition: self, lookup });
            }
            drop(lookup);
            self.build_index(seed)?;
        }
    }

    /// Builds the index from the parts, unless it is there.
    pub(crate) fn build_index(&self, seed: u64) -> Result<()> {
        // Nobody replaces parts meanwhile; nobody writes without an index.
        let _alone = self.maintenance.lock();
        if self.lookup.read().index.is_some() {
            return Ok(());
        }
        let mut index = KeyIndex::new();
        for part in self.parts().iter() {
            let found = part.keys()?;
            index.reserve(found.len());
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

    /// Gives the memory of the index back; the next writer builds it anew.
    pub(crate) fn forget_index(&self) {
        let mut lookup = self.lookup.write();
        // A part that still forwards needs the index that is being brought up to date.
        if !lookup.slots.iter().any(|slot| matches!(slot, Slot::Forward(_))) {
            lookup.index = None;
        }
    }

    /// Bytes of the index.
    pub(crate) fn index_memory(&self) -> usize {
        self.lookup.read().index.as_ref().map_or(0, KeyIndex::memory_bytes)
    }

    /// Where a key's newest row is, by the index.
    pub(crate) fn find(&self, key: &[u8], hash: u64) -> Result<Found> {
        let lookup = self.lookup.read();
        let Some(index) = &lookup.index else { return Ok(Found::NotIndexed) };
        let found = index.try_get(hash, |row| lookup.holds(row, key))?;
        let Some((part, row)) = found.and_then(|row| lookup.place(row)) else {
            return Ok(Found::Absent);
        };
        Ok(Found::At(Arc::clone(part), row))
    }

    /// Ends the delta that takes new rows, so that it never grows again.
    pub(crate) fn seal(&self) {
        self.lookup.write().active = None;
    }

    /// Rows in the delta that takes new rows.
    pub(crate) fn active_rows(&self) -> u32 {
        self.lookup.read().active.as_ref().map_or(0, |part| part.rows())
    }

    /// A slot for a new part.
    pub(crate) fn free_slots(&self, count: usize) -> Result<Vec<u16>> {
        let mut lookup = self.lookup.write();
        let mut found = Vec::with_capacity(count);
        for _ in 0..count {
            let slot = lookup.free_slot()?;
            // Taken until the part arrives.
            lookup.slots[usize::from(slot)] = Slot::Forward(Arc::new(Vec::new()));
            found.push(slot);
        }
        Ok(found)
    }

    /// Gives slots back that no part came for.
    pub(crate) fn give_back(&self, slots: &[u16]) {
        let mut lookup = self.lookup.write();
        for &slot in slots {
            lookup.slots[usize::from(slot)] = Slot::Free;
        }
    }

    /// Replaces parts by others in one step. `maps` gives for every row of an old part its new
    /// reference or [`GONE`]. Marks of deletion above `horizon` move with their rows.
    ///
    /// The old slots forward until [`Self::repoint`] has run.
    pub(crate) fn replace(
        &self,
        old: &[Arc<Part>],
        new: Vec<Arc<Part>>,
        maps: Vec<Vec<u32>>,
    ) -> Result<()> {
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
        Ok(())
    }

    /// Brings the index up to date after [`Self::replace`]: `moves` are hash, old and new
    /// reference of every row that was kept. Then the old slots are free.
    pub(crate) fn repoint(&self, moves: &[(u64, RowRef, RowRef)], old: &[Arc<Part>]) {
        /// So many at a time, so that writers wait for a fraction of a millisecond.
        const STEP: usize = 2048;
        for step in moves.chunks(STEP) {
            let mut lookup = self.lookup.write();
            let Some(index) = &mut lookup.index else { break };
            for &(hash, from, to) in step {
                // Rows that have been replaced meanwhile are no longer in it.
                index.replace(hash, from, to);
            }
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

/// Where a key is.
#[derive(Debug)]
pub(crate) enum Found {
    /// The index is not in memory.
    NotIndexed,
    /// No live row has the key.
    Absent,
    /// The row.
    At(Arc<Part>, u32),
}

impl Lookup {
    fn free_slot(&mut self) -> Result<u16> {
        let free = self.slots.iter().position(|slot| matches!(slot, Slot::Free));
        let at = free.unwrap_or(self.slots.len());
        if at >= SLOTS_MAX {
            return Err(Error::new(
                Code::TableFull,
                format!("a partition has {SLOTS_MAX} parts; merging cannot keep up"),
            ));
        }
        if at == self.slots.len() {
            self.slots.push(Slot::Free);
        }
        Ok(u16::try_from(at).unwrap_or(u16::MAX))
    }

    fn occupy(&mut self, part: Arc<Part>) -> Result<()> {
        let at = usize::from(part.slot);
        while self.slots.len() <= at {
            self.slots.push(Slot::Free);
        }
        if !matches!(self.slots[at], Slot::Free) {
            return Err(Error::internal(format!("two parts have slot {at}")));
        }
        self.slots[at] = Slot::Part(part);
        Ok(())
    }

    /// The part and row that a reference leads to.
    fn place(&self, row: RowRef) -> Option<(&Arc<Part>, u32)> {
        let (slot, row) = split(row);
        match self.slots.get(usize::from(slot))? {
            Slot::Part(part) => Some((part, row)),
            Slot::Forward(map) => {
                let (slot, row) = split(RowRef(*map.get(row as usize)?));
                match self.slots.get(usize::from(slot))? {
                    Slot::Part(part) => Some((part, row)),
                    _ => None,
                }
            }
            Slot::Free => None,
        }
    }

    fn holds(&self, row: RowRef, key: &[u8]) -> Result<bool> {
        match self.place(row) {
            Some((part, row)) => part.key_is(row, key),
            None => Ok(false),
        }
    }
}

/// A partition under its writers' lock.
#[derive(Debug)]
pub(crate) struct PartitionWriter<'a> {
    partition: &'a Partition,
    lookup: RwLockWriteGuard<'a, Lookup>,
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
        let mut candidates = Vec::new();
        index.candidates(hashes, &mut candidates);
        // Candidates of one part are verified together.
        candidates.sort_unstable_by_key(|(_, row)| row.0);
        let mut found = vec![None; keys.len()];
        let places: Vec<(u32, RowRef, &Arc<Part>, u32)> = candidates
            .into_iter()
            .filter_map(|(at, entry)| {
                let (part, row) = self.lookup.place(entry)?;
                Some((at, entry, part, row))
            })
            .collect();
        for same in places.chunk_by(|a, b| Arc::ptr_eq(a.2, b.2)) {
            let part = same[0].2;
            let rows: Vec<(u32, &[u8])> =
                same.iter().map(|&(at, _, _, row)| (row, keys.get(at as usize))).collect();
            let equal = part.keys_are(&rows)?;
            for (&(at, entry, _, row), _) in same.iter().zip(equal).filter(|(_, equal)| *equal) {
                let version = part.version(row)?;
                found[at as usize] = Some(Existing { entry, version });
            }
        }
        Ok(found)
    }

    /// The delta that takes new rows, and how many it can take.
    pub(crate) fn active(&mut self, begin: impl FnOnce(u16) -> Part) -> Result<(Arc<Part>, usize)> {
        let room = |part: &Part| crate::DELTA_ROWS_MAX - part.rows() as usize;
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
        Ok((part, crate::DELTA_ROWS_MAX))
    }

    /// Enters new rows and marks those that they replace as dead.
    pub(crate) fn enter(
        &mut self,
        version: Version,
        hashes: impl Iterator<Item = (u64, RowRef, Option<Existing>)>,
    ) -> Result<()> {
        let mut news = Vec::new();
        let mut dead = Vec::new();
        for (hash, row, existing) in hashes {
            match existing {
                None => news.push((hash, row)),
                Some(existing) => {
                    self.index()?.replace(hash, existing.entry, row);
                    dead.push(existing);
                }
            }
        }
        self.index()?.insert_batch(&news);
        self.mark(version, dead.into_iter());
        Ok(())
    }

    /// Takes keys out of the index and marks their rows as dead.
    pub(crate) fn remove(
        &mut self,
        version: Version,
        rows: impl Iterator<Item = (u64, Existing)>,
    ) -> Result<()> {
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
