//! [`KeyIndex`]: extendible hashing over small shards.
//!
//! The directory is an array of `2^bits` shard numbers that the top bits of a tag choose; a shard
//! of depth `d` occupies `2^(bits - d)` neighbouring places. A full shard grows, and once it has
//! its greatest size it splits in two, alone: no insert ever moves more than one shard. (Extendible
//! hashing: Fagin, Nievergelt, Pippenger, Strong, ACM TODS 4(3), 1979.) Tags hold the bits for
//! directory and bucket, so nothing of this reads a key.
//!
//! Entries that find no room in their shard go to `spill`, an ordered set. With good hashes these
//! are next to none. With very many equal tags, or a hostile hash, they may be nearly all: then the
//! index is as slow as a tree, but neither loses an entry nor splits without end, since only
//! entries inside a shard make it grow.

mod grow;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::hint::black_box;

use crate::RowRef;
use crate::shard::{BUCKET_BYTES, SLOTS, Shard, slots};

/// Keys that are looked up or inserted together: enough to keep all memory channels busy, few
/// enough for their buckets to stay in the first-level cache.
const BATCH: usize = 64;

/// The primary-key index of one partition: a map from key hashes to rows, without the keys.
///
/// Row references in it are distinct: the same hash and row must not be inserted twice.
#[derive(Debug)]
pub struct KeyIndex {
    /// Shard numbers, chosen by the top bits of a tag.
    directory: Vec<u32>,
    /// By how much a tag is shifted right to give its place in the directory.
    shift: u32,
    shards: Vec<Shard>,
    /// Tag and row of what found no room in its shard.
    spill: BTreeSet<(u32, RowRef)>,
    /// Entries, those in `spill` included.
    len: usize,
    /// Buckets of all shards.
    buckets: usize,
}

/// Where a tag was looked for, and what was seen there: one bit for each slot that holds the tag.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    shard: usize,
    home: usize,
    at_home: u32,
    /// Whether the home is marked, and so the alternate bucket counts.
    marked: bool,
    /// The alternate bucket if it counts, else the home.
    alternate: usize,
    beside: u32,
    /// Whether `spill` counts, too.
    spilled: bool,
}

/// How full an index is and how well it is laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// Entries.
    pub rows: usize,
    /// Shards.
    pub shards: usize,
    /// Places in the directory.
    pub directory: usize,
    /// Share of the slots of all shards that are taken, 0 to 1.
    pub load_factor: f64,
    /// Entries that found no room in their shard.
    pub spilled: usize,
    /// Entries that lie in their second bucket. None lies further away than that.
    pub displaced: usize,
    /// The value of [`KeyIndex::memory_bytes`].
    pub memory_bytes: usize,
}

/// The bits of a hash that are kept. Zero means "empty" in a bucket and is taken for one.
#[inline]
fn tag_of(hash: u64) -> u32 {
    ((hash >> 32) as u32).max(1)
}

impl Default for KeyIndex {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyIndex {
    /// An empty index of a few hundred bytes.
    pub fn new() -> Self {
        Self {
            directory: vec![0],
            shift: u32::BITS,
            shards: vec![Shard::new(1, 0)],
            spill: BTreeSet::new(),
            len: 0,
            buckets: 1,
        }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all entries and gives their memory back.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    #[inline]
    fn shard_number(&self, tag: u32) -> usize {
        // A new directory has one place, and all bits are shifted out.
        self.directory[tag.checked_shr(self.shift).unwrap_or(0) as usize] as usize
    }

    #[inline]
    fn shard(&self, tag: u32) -> &Shard {
        &self.shards[self.shard_number(tag)]
    }

    /// Rows with this tag that are not in their shard.
    fn spilled_rows(&self, tag: u32) -> impl Iterator<Item = RowRef> + '_ {
        self.spill.range((tag, RowRef(0))..=(tag, RowRef(u32::MAX))).map(|&(_, row)| row)
    }

    /// Finds the row of a key. `matches` compares the key of a candidate with the one that is
    /// looked for; it is called for each row whose 32 hash bits are equal, until it says yes.
    pub fn get(&self, hash: u64, mut matches: impl FnMut(RowRef) -> bool) -> Option<RowRef> {
        let tag = tag_of(hash);
        let shard = self.shard(tag);
        if let Some((at, slot)) = shard.find(tag, &mut matches) {
            return Some(shard.bucket(at).row(slot));
        }
        if shard.spilled { self.spilled_rows(tag).find(|&row| matches(row)) } else { None }
    }

    /// Appends the candidates of many keys: (position in `hashes`, row), in the order of positions.
    /// A position may have none, one or several. Much faster than one lookup after the other,
    /// since the memory accesses of up to 64 keys overlap. At most 2^32 hashes.
    pub fn candidates(&self, hashes: &[u64], out: &mut Vec<(u32, RowRef)>) {
        let mut probes = [Probe::default(); BATCH];
        let mut position = 0_u32;
        for batch in hashes.chunks(BATCH) {
            self.probe(batch.iter().copied(), &mut probes);
            for (probe, &hash) in probes.iter().zip(batch) {
                if (probe.at_home | probe.beside) != 0 || probe.spilled {
                    self.push_candidates(tag_of(hash), probe, |row| out.push((position, row)));
                }
                position = position.wrapping_add(1);
            }
        }
    }

    /// Looks into the buckets of up to [`BATCH`] hashes. No branch depends on what was loaded, so
    /// the processor runs ahead and loads for many keys at once.
    #[inline]
    fn probe(&self, hashes: impl Iterator<Item = u64> + Clone, probes: &mut [Probe; BATCH]) {
        for (probe, hash) in probes.iter_mut().zip(hashes.clone()) {
            let tag = tag_of(hash);
            probe.shard = self.shard_number(tag);
            let shard = &self.shards[probe.shard];
            probe.home = shard.home(tag);
            let bucket = shard.bucket(probe.home);
            probe.at_home = bucket.matching(tag);
            probe.marked = bucket.is_marked();
        }
        for (probe, hash) in probes.iter_mut().zip(hashes) {
            let tag = tag_of(hash);
            let shard = &self.shards[probe.shard];
            let alternate = shard.alternate(tag, probe.home);
            probe.alternate = if probe.marked { alternate } else { probe.home };
            let bucket = shard.bucket(probe.alternate);
            let is_other = u32::from(probe.alternate != probe.home);
            probe.beside = bucket.matching(tag) * is_other;
            probe.spilled = shard.spilled;
        }
    }

    /// Gives all rows of a tag after its buckets were looked into.
    #[inline]
    fn push_candidates(&self, tag: u32, probe: &Probe, mut push: impl FnMut(RowRef)) {
        let shard = &self.shards[probe.shard];
        slots(probe.at_home).for_each(|slot| push(shard.bucket(probe.home).row(slot)));
        slots(probe.beside).for_each(|slot| push(shard.bucket(probe.alternate).row(slot)));
        if probe.spilled {
            self.spilled_rows(tag).for_each(push);
        }
    }

    /// Adds a key that is known to be absent.
    pub fn insert(&mut self, hash: u64, row: RowRef) {
        let tag = tag_of(hash);
        let mut number = self.shard_number(tag);
        if self.shards[number].wants_room() {
            self.make_room(tag);
            number = self.shard_number(tag);
        }
        self.len += usize::from(self.place(number, tag, row));
    }

    /// Adds many keys that are known to be absent. Faster than [`KeyIndex::insert`] for each when
    /// their buckets are not in a cache already, because they are fetched together.
    pub fn insert_batch(&mut self, entries: &[(u64, RowRef)]) {
        let mut probes = [Probe::default(); BATCH];
        for batch in entries.chunks(BATCH) {
            self.probe(batch.iter().map(|&(hash, _)| hash), &mut probes);
            // Only brings the buckets into the cache. Without a use of what was read, the reading
            // would be optimised away.
            black_box(&probes);
            batch.iter().for_each(|&(hash, row)| self.insert(hash, row));
        }
    }

    /// Puts an entry into the shard or the spill set; false if it was there already.
    #[inline]
    fn place(&mut self, number: usize, tag: u32, row: RowRef) -> bool {
        let shard = &mut self.shards[number];
        if shard.insert(tag, row) {
            return true;
        }
        shard.spilled = true;
        let is_new = self.spill.insert((tag, row));
        debug_assert!(is_new, "the same hash and row were inserted twice");
        is_new
    }

    /// Lets the entry of a key refer to another row, after an update or when a merge has moved
    /// rows. False if there is no entry with this hash and the old row.
    pub fn replace(&mut self, hash: u64, old: RowRef, new: RowRef) -> bool {
        let tag = tag_of(hash);
        let number = self.shard_number(tag);
        let shard = &mut self.shards[number];
        let found = shard.find(tag, |row| row == old);
        if let Some(place) = found {
            shard.set_row(place, new);
            return true;
        }
        shard.spilled && self.spill.remove(&(tag, old)) && self.spill.insert((tag, new))
    }

    /// [`KeyIndex::replace`] for many entries: hash, old and new row. Faster than one after the
    /// other, because their buckets are fetched together. Returns how many there were.
    pub fn replace_batch(&mut self, entries: &[(u64, RowRef, RowRef)]) -> usize {
        let mut probes = [Probe::default(); BATCH];
        let mut count = 0;
        for batch in entries.chunks(BATCH) {
            self.probe(batch.iter().map(|&(hash, ..)| hash), &mut probes);
            // As in `insert_batch`.
            black_box(&probes);
            let replaced = batch.iter().filter(|&&(hash, old, new)| self.replace(hash, old, new));
            count += replaced.count();
        }
        count
    }

    /// Removes the entry with this hash and row; false if there is none.
    pub fn remove(&mut self, hash: u64, row: RowRef) -> bool {
        let tag = tag_of(hash);
        let number = self.shard_number(tag);
        let shard = &mut self.shards[number];
        let found = shard.find(tag, |candidate| candidate == row);
        if let Some(place) = found {
            shard.remove(place);
            if shard.wastes_room() {
                self.give_back_room(tag);
            }
        } else if !shard.spilled || !self.spill.remove(&(tag, row)) {
            return false;
        }
        self.len -= 1;
        true
    }

    /// All entries in no order: the stored bits of the hash (its top 32; 1 for 0) and the row.
    pub fn iter(&self) -> impl Iterator<Item = (u32, RowRef)> + '_ {
        let inside = self.shards.iter().flat_map(Shard::entries);
        inside.chain(self.spill.iter().copied())
    }

    /// Bytes of memory that the index has taken from the heap.
    pub fn memory_bytes(&self) -> usize {
        // Nodes of the ordered set are between half full and full.
        let spill = self.spill.len() * 2 * size_of::<(u32, RowRef)>();
        self.buckets * BUCKET_BYTES
            + self.shards.capacity() * size_of::<Shard>()
            + self.directory.capacity() * size_of::<u32>()
            + spill
    }

    /// Looks at every entry to say how the index is laid out.
    pub fn stats(&self) -> Stats {
        let inside = self.len - self.spill.len();
        Stats {
            rows: self.len,
            shards: self.shards.len(),
            directory: self.directory.len(),
            load_factor: inside as f64 / (self.buckets * SLOTS) as f64,
            spilled: self.spill.len(),
            displaced: self.shards.iter().map(Shard::displaced).sum(),
            memory_bytes: self.memory_bytes(),
        }
    }
}
