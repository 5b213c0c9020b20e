//! A shard: one small open-addressed table, whose 64-byte buckets hold eight entries each.
//!
//! An entry is a *tag* (the top 32 bits of the hash, never 0) and a row. The top `depth` bits of
//! all tags of a shard are equal: the directory has used them. The bits below them, read as a
//! fraction, choose the *home* bucket: `fraction x buckets`. So a table may have any number of
//! buckets, and homes rise with tags, which makes a rebuild walk both tables forward. All bits of
//! the tag, mixed, choose one *alternate* bucket.
//!
//! An entry lies in its home, or in its alternate if its home was full when it came. If both are
//! full, one of the entries there moves to its own other bucket: two-choice hashing over buckets,
//! as a cuckoo table of one step (Dietzfelbinger and Weidling, "Balanced allocation and
//! dictionaries with tightly packed constant size bins", 2007). Linear probing was measured and
//! rejected: at the same load, runs of full buckets are long, so that either the window must be
//! as long, or one entry in a hundred finds no room.
//!
//! Invariants:
//!
//! - A bucket whose eighth slot has ever been taken is *marked* until the shard is rebuilt. An
//!   entry outside of its home has a marked home, so a search ends there if the mark is missing.
//! - An entry that finds no room is refused. The index then keeps it elsewhere and sets `spilled`,
//!   and looks there, too, whatever the marks say.

use crate::RowRef;

/// Entries of one bucket.
pub(crate) const SLOTS: usize = 8;
/// A shard has at most this many buckets: 64 KiB.
pub(crate) const BUCKETS_MAX: usize = 1_024;

/// What the last slot holds as its row when it is empty but was taken once. While it never was,
/// its tag and row are both 0.
const ONCE_TAKEN: u32 = u32::MAX;

/// One cache line of entries. A slot whose tag is 0 is empty.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Bucket {
    tags: [u32; SLOTS],
    rows: [u32; SLOTS],
}

/// Bytes of a bucket.
pub(crate) const BUCKET_BYTES: usize = size_of::<Bucket>();
const _: () = assert!(BUCKET_BYTES == 64, "a bucket is one cache line");

impl Bucket {
    /// One bit for each slot that holds the tag. Written without branches: the compiler makes two
    /// vector comparisons of it.
    #[inline]
    pub(crate) fn matching(&self, tag: u32) -> u32 {
        (0..SLOTS).fold(0, |mask, slot| mask | (u32::from(self.tags[slot] == tag) << slot))
    }

    /// Whether all slots were taken at some time, so that entries may have gone elsewhere.
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        (self.tags[SLOTS - 1] | self.rows[SLOTS - 1]) != 0
    }

    #[inline]
    pub(crate) fn row(&self, slot: usize) -> RowRef {
        RowRef(self.rows[slot])
    }

    #[inline]
    fn set(&mut self, slot: usize, tag: u32, row: RowRef) {
        self.tags[slot] = tag;
        self.rows[slot] = row.0;
    }

    /// Adds an entry; false if the bucket is full. The last slot is taken last, since it marks.
    #[inline]
    fn push(&mut self, tag: u32, row: RowRef) -> bool {
        let empty = self.matching(0);
        if empty != 0 {
            self.set(empty.trailing_zeros() as usize, tag, row);
        }
        empty != 0
    }

    #[inline]
    fn remove(&mut self, slot: usize) {
        self.tags[slot] = 0;
        if slot == SLOTS - 1 {
            self.rows[slot] = ONCE_TAKEN;
        }
    }

    #[inline]
    fn entries(&self) -> impl Iterator<Item = (u32, RowRef)> + '_ {
        let entries = self.tags.iter().zip(&self.rows).map(|(&tag, &row)| (tag, RowRef(row)));
        entries.filter(|&(tag, _)| tag != 0)
    }
}

/// The slots whose bit is set in a mask, from the left.
#[inline]
pub(crate) fn slots(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = (mask != 0).then_some(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(slot)
    })
}

/// A table with the entries of one range of tags.
#[derive(Debug)]
pub(crate) struct Shard {
    buckets: Box<[Bucket]>,
    rows: u32,
    /// How many of the top bits of a tag the directory has used to come here.
    pub(crate) depth: u32,
    /// Whether the index may hold entries of this shard outside of it.
    pub(crate) spilled: bool,
}

impl Shard {
    /// An empty shard of at least one bucket and at most [`BUCKETS_MAX`].
    pub(crate) fn new(buckets: usize, depth: u32) -> Self {
        let buckets = vec![Bucket::default(); buckets.clamp(1, BUCKETS_MAX)].into_boxed_slice();
        Self { buckets, rows: 0, depth, spilled: false }
    }

    /// Entries in the table.
    #[inline]
    pub(crate) fn rows(&self) -> usize {
        self.rows as usize
    }

    #[inline]
    pub(crate) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    #[inline]
    pub(crate) fn bucket(&self, at: usize) -> &Bucket {
        &self.buckets[at]
    }

    /// The number of the bucket where the search for a tag begins.
    #[inline]
    pub(crate) fn home(&self, tag: u32) -> usize {
        let fraction = u64::from(tag << self.depth);
        ((fraction * self.buckets.len() as u64) >> 32) as usize
    }

    /// The number of the other bucket that may hold a tag; differs from the home if it can.
    #[inline]
    pub(crate) fn alternate(&self, tag: u32, home: usize) -> usize {
        // Multiplication by an odd constant (2^32 / golden ratio) brings the low bits, in which
        // the tags of one home differ, to the top.
        let mixed = u64::from(tag.wrapping_mul(0x9E37_79B1));
        let count = self.buckets.len();
        let at = home + 1 + ((mixed * (count as u64 - 1)) >> 32) as usize;
        if at < count { at } else { at - count }
    }

    /// The first entry with this tag whose row is accepted, as (bucket, slot).
    #[inline]
    pub(crate) fn find(
        &self,
        tag: u32,
        mut accept: impl FnMut(RowRef) -> bool,
    ) -> Option<(usize, usize)> {
        let home = self.home(tag);
        let bucket = &self.buckets[home];
        for slot in slots(bucket.matching(tag)) {
            if accept(bucket.row(slot)) {
                return Some((home, slot));
            }
        }
        if bucket.is_marked() {
            let alternate = self.alternate(tag, home);
            let bucket = &self.buckets[alternate];
            for slot in slots(bucket.matching(tag)) {
                if accept(bucket.row(slot)) {
                    return Some((alternate, slot));
                }
            }
        }
        None
    }

    /// Adds an entry; false if there is no room for it.
    #[inline]
    pub(crate) fn insert(&mut self, tag: u32, row: RowRef) -> bool {
        let home = self.home(tag);
        let done = self.buckets[home].push(tag, row) || self.insert_beside(tag, row, home);
        self.rows += u32::from(done);
        done
    }

    /// Adds an entry whose home is full.
    fn insert_beside(&mut self, tag: u32, row: RowRef, home: usize) -> bool {
        let alternate = self.alternate(tag, home);
        if self.buckets[alternate].push(tag, row) {
            return true;
        }
        for full in [home, alternate] {
            // The other buckets of all eight are looked at before the first is chosen, so that
            // waiting for their memory happens once.
            let has_room = |slot| self.buckets[self.other(full, slot)].matching(0) != 0;
            let movable =
                (0..SLOTS).fold(0, |mask, slot| mask | (u32::from(has_room(slot)) << slot));
            if let Some(slot) = slots(movable).next() {
                let (other, moved) = (self.other(full, slot), &self.buckets[full]);
                let (other_tag, other_row) = (moved.tags[slot], moved.row(slot));
                self.buckets[full].set(slot, tag, row);
                return self.buckets[other].push(other_tag, other_row);
            }
        }
        false
    }

    /// The other bucket of an entry: its alternate if it lies in its home, else its home.
    #[inline]
    fn other(&self, at: usize, slot: usize) -> usize {
        let tag = self.buckets[at].tags[slot];
        let home = self.home(tag);
        let alternate = self.alternate(tag, home);
        if home == at { alternate } else { home }
    }

    /// Adds many entries to an empty shard, in about the order of their tags; `refuse` gets those
    /// for which there is no room.
    pub(crate) fn fill(
        &mut self,
        entries: impl Iterator<Item = (u32, RowRef)>,
        mut refuse: impl FnMut(u32, RowRef),
    ) {
        // How many slots are taken, here rather than looked for in the bucket: neighbours in this
        // order share a bucket, and comparing what was written a moment ago stalls.
        let mut taken = [0_u8; BUCKETS_MAX];
        let mut beside = Vec::new();
        for (tag, row) in entries {
            let home = self.home(tag);
            let slot = usize::from(taken[home]);
            if slot < SLOTS {
                self.buckets[home].set(slot, tag, row);
                taken[home] += 1;
                self.rows += 1;
            } else {
                beside.push((tag, row));
            }
        }
        for (tag, row) in beside {
            if !self.insert(tag, row) {
                refuse(tag, row);
            }
        }
    }

    /// Puts another row into an entry that [`Shard::find`] has found.
    pub(crate) fn set_row(&mut self, (at, slot): (usize, usize), row: RowRef) {
        self.buckets[at].rows[slot] = row.0;
    }

    /// Takes out an entry that [`Shard::find`] has found.
    pub(crate) fn remove(&mut self, (at, slot): (usize, usize)) {
        self.buckets[at].remove(slot);
        self.rows -= 1;
    }

    /// All entries of the table, roughly in the order of their tags.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, RowRef)> + '_ {
        self.buckets.iter().flat_map(Bucket::entries)
    }

    /// Entries that do not lie in their home.
    pub(crate) fn displaced(&self) -> usize {
        let buckets = self.buckets.iter().enumerate();
        buckets
            .map(|(at, bucket)| bucket.entries().filter(|&(tag, _)| self.home(tag) != at).count())
            .sum()
    }

    /// Says which invariant of the module does not hold, if any.
    #[cfg(test)]
    pub(crate) fn complaint(&self) -> Option<String> {
        for (at, bucket) in self.buckets.iter().enumerate() {
            for (tag, _) in bucket.entries() {
                let home = self.home(tag);
                if at != home && at != self.alternate(tag, home) {
                    return Some(format!("tag {tag:#x} lies in the foreign bucket {at}"));
                }
                if at != home && !self.buckets[home].is_marked() {
                    return Some(format!("tag {tag:#x} in bucket {at} cannot be reached"));
                }
            }
        }
        let rows = self.entries().count();
        (rows != self.rows()).then(|| format!("{rows} entries, {} counted", self.rows))
    }
}
