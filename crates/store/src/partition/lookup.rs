//! The writers' state of a partition: slots, the key index, the growing delta, and the recently
//! removed keys.

use std::collections::HashMap;
use std::sync::Arc;

use pelorus_env::rare;
use pelorus_error::{Code, Error, Result};
use pelorus_index::{KeyIndex, RowRef};

use super::split;
use crate::catalog::schema::Version;
use crate::partition::part::Part;
use crate::partition::rows;
use crate::partition::rows::Place;

/// Most parts of a partition at one time. The last slot is never used, so that no reference is
/// [`super::GONE`].
pub(crate) const SLOTS_MAX: usize = (1 << (32 - super::ROW_BITS)) - 1;

/// Where rows are.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    pub(super) slots: Vec<Slot>,
    /// The key index; built when a writer first needs it.
    pub(super) index: Option<KeyIndex>,
    /// The delta that takes new rows.
    pub(super) active: Option<Arc<Part>>,
    pub(super) removed: Removed,
}

#[derive(Debug)]
pub(super) enum Slot {
    Free,
    Part(Arc<Part>),
    /// The new references of a part's rows.
    Forward(Arc<Vec<u32>>),
}

impl Lookup {
    /// Checks that there are so many free slots.
    pub(super) fn room_for(&self, count: usize) -> Result<()> {
        let mut free = SLOTS_MAX.saturating_sub(self.slots.len());
        if free < count {
            free += self.slots.iter().filter(|slot| matches!(slot, Slot::Free)).count();
        }
        if free >= count {
            return Ok(());
        }
        Err(Error::new(
            Code::TableFull,
            format!("a partition has {SLOTS_MAX} parts; merging cannot keep up"),
        ))
    }

    pub(super) fn free_slot(&mut self) -> Result<u16> {
        self.room_for(1)?;
        let free = self.slots.iter().position(|slot| matches!(slot, Slot::Free));
        let at = free.unwrap_or(self.slots.len());
        if at == self.slots.len() {
            self.slots.push(Slot::Free);
        }
        Ok(u16::try_from(at).unwrap_or(u16::MAX))
    }

    pub(super) fn occupy(&mut self, part: Arc<Part>) -> Result<()> {
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
    pub(super) fn place(&self, row: RowRef) -> Option<(&Arc<Part>, u32)> {
        let (slot, row) = split(row);
        match self.slots.get(usize::from(slot))? {
            Slot::Part(part) => Some((part, row)),
            Slot::Forward(map) => {
                rare("a slot forwards to a new place");
                let (slot, row) = split(RowRef(*map.get(row as usize)?));
                match self.slots.get(usize::from(slot))? {
                    Slot::Part(part) => Some((part, row)),
                    _ => None,
                }
            }
            Slot::Free => None,
        }
    }

    /// The places of rows whose keys have some hashes, those of one part together. `first` is the
    /// position of the first key.
    pub(super) fn candidates(&self, index: &KeyIndex, hashes: &[u64], first: u32) -> Vec<Place> {
        let mut candidates = Vec::new();
        index.candidates(hashes, &mut candidates);
        let place = |(key, entry)| {
            let (part, row) = self.place(entry)?;
            Some(Place { key: first + key, entry, part: Arc::clone(part), row })
        };
        let mut places: Vec<Place> = candidates.into_iter().filter_map(place).collect();
        rows::sort(&mut places);
        places
    }
}

/// Keys that were removed, for as long as a change that was computed before that may be committed.
///
/// A commit that writes a row which another one has removed meanwhile must not bring it back; the
/// index no longer knows such keys.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// The version of the last removal by the hash of the key. That keys can share a hash costs a
    /// needless retry at worst.
    versions: HashMap<u64, Version>,
    /// No removal after this version is forgotten.
    forgotten: Version,
    /// The version of the last removal.
    newest: Version,
    /// With so many entries it is time to look for old ones.
    full: usize,
}

impl Removed {
    /// Entries that are not worth a search for old ones.
    const FEW: usize = crate::limit(1024, 8);
    /// With more entries all are given up: a transaction that has read an older version than the
    /// last one then gets a conflict, whatever new key it writes.
    const MANY: usize = 4 << 20;

    /// Notes removals; those at or below `oldest` are not needed any more.
    pub(super) fn note(
        &mut self,
        version: Version,
        oldest: Version,
        hashes: impl Iterator<Item = u64>,
    ) {
        self.newest = version;
        for hash in hashes {
            if self.versions.len() >= Self::MANY {
                self.make_room(version, oldest);
            }
            self.versions.insert(hash, version);
        }
        if self.versions.len() >= self.full.max(Self::FEW) {
            self.forget(oldest);
        }
    }

    /// Forgets removed keys that are not needed any more; all, if that is less than half.
    fn make_room(&mut self, version: Version, oldest: Version) {
        self.forget(oldest);
        if self.versions.len() > Self::MANY / 2 {
            self.versions.clear();
            self.forgotten = version;
            self.full = 0;
        }
    }

    fn forget(&mut self, oldest: Version) {
        let forgotten = &mut self.forgotten;
        rare("old removals are forgotten");
        self.versions.retain(|_, version| {
            let is_needed = *version > oldest;
            if !is_needed {
                *forgotten = (*version).max(*forgotten);
            }
            is_needed
        });
        self.full = self.versions.len() * 2;
        self.versions.shrink_to(self.full);
    }

    /// Takes all of them if none is needed; the caller drops them outside of the lock.
    pub(super) fn take(&mut self, oldest: Version) -> HashMap<u64, Version> {
        if self.newest > oldest {
            return HashMap::new();
        }
        self.forgotten = self.forgotten.max(self.newest);
        self.full = 0;
        std::mem::take(&mut self.versions)
    }

    /// Bytes that it takes, about.
    pub(super) fn memory(&self) -> usize {
        self.versions.capacity() * size_of::<(u64, Version)>()
    }

    /// Whether a key may have been removed after a version.
    pub(super) fn since(&self, hash: u64, version: Version) -> bool {
        self.forgotten > version || self.versions.get(&hash).is_some_and(|it| *it > version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_are_known_as_long_as_somebody_reads_before_them() {
        let mut removed = Removed::default();
        for version in 1..=5000_u64 {
            let oldest = version.saturating_sub(100);
            removed.note(version, oldest, std::iter::once(version * 7));
            // Who reads the oldest version knows of the removal right after it, also at the moment
            // when others are forgotten.
            assert!(removed.since((oldest + 1) * 7, oldest), "{version}");
        }
        assert!(removed.versions.len() <= 1200, "{}", removed.versions.len());
        // No snapshot reads below 4900; above it every removal is known, and nothing else.
        for snapshot in 4900..5000 {
            assert!(removed.since((snapshot + 1) * 7, snapshot));
            assert!(!removed.since(snapshot * 7, snapshot));
            assert!(!removed.since(3, snapshot));
        }
        // What was forgotten is taken for removed.
        assert!(removed.since(3, 10));
    }

    #[test]
    fn removals_give_their_memory_back() {
        let mut removed = Removed::default();
        removed.note(5, 4, 0..100_000);
        removed.note(6, 4, 100_000..199_000);
        let full = removed.memory();
        removed.note(7, 6, 199_000..201_000);
        assert!(removed.memory() < full / 10, "{} of {full}", removed.memory());
        assert!(removed.since(200_000, 6) && !removed.since(3, 6));
        // As long as a snapshot reads the version before, they stay.
        assert!(removed.take(6).is_empty() && removed.since(200_000, 6));
        assert_eq!(removed.take(7).len(), 2000);
        assert_eq!(removed.memory(), 0);
        assert!(removed.since(3, 6) && !removed.since(200_000, 7));
    }

    #[test]
    fn too_many_removals_are_given_up() {
        let mut removed = Removed::default();
        let most = Removed::MANY as u64;
        removed.note(8, 1, 0..10);
        removed.note(9, 1, 10..most + 10);
        assert!(removed.versions.len() <= Removed::MANY / 2);
        assert!(removed.since(3, 8) && removed.since(u64::MAX, 8) && !removed.since(3, 9));
    }
}
