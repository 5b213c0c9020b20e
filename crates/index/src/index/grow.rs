//! Growing, shrinking and splitting the shards of a [`KeyIndex`].
//!
//! A shard begins with one bucket. When 27/32 of its slots are taken it is rebuilt with more
//! buckets; when these would be more than a shard may have, it splits instead. How much room a
//! rebuild leaves differs from shard to shard. Shards fill alike, and but for this they would all
//! be rebuilt and split at the same time: with it, work and memory rise evenly with the rows.
//! Tables that may only double would be half empty after each split; smaller steps than these were
//! measured and copy too often.

use std::ops::RangeInclusive;

use super::KeyIndex;
use crate::RowRef;
use crate::shard::{BUCKETS_MAX, Shard};

/// A shard is rebuilt when it has this many rows for each of its buckets, as a fraction: 27/32 of
/// eight slots. Below, next to no entry is refused; at 28/32, one shard in twenty would refuse one.
const ROWS_MAX: (usize, usize) = (27, 4);

/// A rebuilt shard has from the first to the second of these rows for each ten of its buckets: 45%
/// to 70% of its slots.
const ROWS_REBUILT: (u32, u32) = (36, 56);

/// No shard splits beyond this: 12 bits of the tag are left to choose the bucket. All rows that a
/// [`RowRef`] can name need less, 2^32 rows / 2^20 shards = 4,096 rows in each.
const DEPTH_MAX: u32 = 20;

/// Spilled entries that a rebuild tries to take in; it bounds the pause.
const RECLAIMED_MAX: usize = 1_024;

impl Shard {
    /// The rows at which the shard is rebuilt.
    #[inline]
    fn rows_max(&self) -> usize {
        self.buckets() * ROWS_MAX.0 / ROWS_MAX.1
    }

    /// Whether the shard should get more buckets before the next insert.
    #[inline]
    pub(crate) fn wants_room(&self) -> bool {
        self.rows() >= self.rows_max()
    }

    /// Whether the shard has several times the buckets that it needs.
    #[inline]
    pub(crate) fn wastes_room(&self) -> bool {
        self.buckets() > 1 && self.rows() < self.rows_max() / 4
    }
}

/// Buckets of a shard that is rebuilt with this many rows. The prefix of its tags decides how many,
/// in no order among neighbours.
fn buckets_for(rows: usize, prefix: u32) -> usize {
    // Multiplied by an odd constant (2^32 / golden ratio), the top bits depend on all others.
    let mixed = (prefix + 1).wrapping_mul(0x9E37_79B1);
    let (least, most) = ROWS_REBUILT;
    let rows_in_ten = least + (mixed >> 16) % (most - least + 1);
    let buckets = rows * 10 / rows_in_ten as usize + 1;
    // Few different sizes let the allocator use freed shards again.
    if buckets > 128 { buckets.next_multiple_of(16) } else { buckets }
}

/// The top `depth` bits of a tag.
fn prefix_of(tag: u32, depth: u32) -> u32 {
    tag.checked_shr(u32::BITS - depth).unwrap_or(0)
}

/// All entries in `spill` whose tags begin with a prefix.
fn spill_range(prefix: u32, depth: u32) -> RangeInclusive<(u32, RowRef)> {
    let first = prefix.checked_shl(u32::BITS - depth).unwrap_or(0);
    (first, RowRef(0))..=(first | (u32::MAX >> depth), RowRef(u32::MAX))
}

impl KeyIndex {
    /// Gives the shard of a tag more buckets, or splits it.
    #[cold]
    pub(super) fn make_room(&mut self, tag: u32) {
        let shard = self.shard(tag);
        let buckets = buckets_for(shard.rows(), prefix_of(tag, shard.depth));
        if buckets <= BUCKETS_MAX {
            self.resize(tag, buckets);
        } else if shard.depth < DEPTH_MAX {
            self.split(tag);
        }
        // Else the shard fills up to its last slot, and what finds no room is spilled.
    }

    /// Gives the shard of a tag fewer buckets.
    #[cold]
    pub(super) fn give_back_room(&mut self, tag: u32) {
        let shard = self.shard(tag);
        self.resize(tag, buckets_for(shard.rows(), prefix_of(tag, shard.depth)));
    }

    /// Prepares for `additional` more rows with evenly spread hashes, so that inserting them moves
    /// no entry. Removals take room back from shards that are nearly empty. A shard that has entries
    /// gets more than that: to reserve a little again and again must not move them every time.
    pub fn reserve(&mut self, additional: usize) {
        // More rows than there are row references never come.
        let rows = self.len.saturating_add(additional).min(1 << 32);
        // Walks over the shards by the first tag of each.
        let mut first = 0_u64;
        while let Ok(tag) = u32::try_from(first) {
            let shard = self.shard(tag);
            let (depth, present) = (shard.depth, shard.buckets());
            // The rows of a shard vary randomly; five standard deviations are never exceeded.
            let expected = rows >> depth;
            let spread = if depth == 0 { 0 } else { 5 * expected.isqrt() };
            let buckets = (expected + spread) * ROWS_MAX.1 / ROWS_MAX.0 + 1;
            if buckets > BUCKETS_MAX && depth < DEPTH_MAX {
                self.split(tag);
                continue;
            }
            let is_empty = shard.rows() == 0;
            if buckets.min(BUCKETS_MAX) > present {
                let roomy = buckets_for(expected, prefix_of(tag, depth));
                let buckets = if is_empty { buckets } else { buckets.max(roomy) };
                self.resize(tag, buckets.min(BUCKETS_MAX));
            }
            first += 1 << (u32::BITS - depth);
        }
    }

    /// Rebuilds the shard of a tag with another number of buckets.
    fn resize(&mut self, tag: u32, buckets: usize) {
        let number = self.shard_number(tag);
        let depth = self.shards[number].depth;
        let prefix = prefix_of(tag, depth);
        let reclaimed = self.reclaim(number, prefix);
        let mut shard = Shard::new(buckets, depth);
        let entries = self.shards[number].entries().chain(reclaimed);
        let spill = &mut self.spill;
        shard.fill(entries, |tag, row| {
            spill.insert((tag, row));
        });
        self.buckets += shard.buckets();
        self.buckets -= self.shards[number].buckets();
        self.shards[number] = shard;
        self.note_spill(number, prefix);
    }

    /// Splits the shard of a tag by the next bit of the tags.
    fn split(&mut self, tag: u32) {
        let number = self.shard_number(tag);
        let depth = self.shards[number].depth;
        let prefix = prefix_of(tag, depth);
        let reclaimed = self.reclaim(number, prefix);
        let is_upper = |tag: u32| (tag << depth) >> (u32::BITS - 1) != 0;
        let old = &self.shards[number];
        let entries = || old.entries().chain(reclaimed.iter().copied());
        let count = entries().filter(|&(tag, _)| is_upper(tag)).count();
        let mut lower = Shard::new(buckets_for(entries().count() - count, prefix * 2), depth + 1);
        let mut upper = Shard::new(buckets_for(count, prefix * 2 + 1), depth + 1);
        let spill = &mut self.spill;
        let mut refuse = |tag, row| {
            spill.insert((tag, row));
        };
        lower.fill(entries().filter(|&(tag, _)| !is_upper(tag)), &mut refuse);
        upper.fill(entries().filter(|&(tag, _)| is_upper(tag)), &mut refuse);

        self.buckets += lower.buckets() + upper.buckets();
        self.buckets -= old.buckets();
        self.shards[number] = lower;
        let new = self.shards.len();
        self.shards.push(upper);
        self.note_spill(number, prefix * 2);
        self.note_spill(new, prefix * 2 + 1);
        self.point_upper_half_to(new, prefix, depth);
    }

    /// Enters the second shard of a split into the directory, which doubles if it must.
    fn point_upper_half_to(&mut self, new: usize, prefix: u32, depth: u32) {
        if depth == u32::BITS - self.shift {
            self.directory = self.directory.iter().flat_map(|&number| [number; 2]).collect();
            self.shift -= 1;
        }
        // Places of the shard that was split, at least two now.
        let places = 1_usize << (u32::BITS - self.shift - depth);
        let end = (prefix as usize + 1) * places;
        let number = u32::try_from(new).expect("there are at most 2^DEPTH_MAX shards");
        self.directory[end - places / 2..end].fill(number);
    }

    /// Takes entries of a shard out of `spill`, as many as a rebuild may try to take in.
    fn reclaim(&mut self, number: usize, prefix: u32) -> Vec<(u32, RowRef)> {
        let shard = &self.shards[number];
        if !shard.spilled {
            return Vec::new();
        }
        let range = spill_range(prefix, shard.depth);
        let entries: Vec<_> = self.spill.range(range).take(RECLAIMED_MAX).copied().collect();
        for entry in &entries {
            self.spill.remove(entry);
        }
        entries
    }

    /// Notes in a new shard whether entries of its own are in `spill`.
    fn note_spill(&mut self, number: usize, prefix: u32) {
        let shard = &mut self.shards[number];
        let range = spill_range(prefix, shard.depth);
        shard.spilled = !self.spill.is_empty() && self.spill.range(range).next().is_some();
    }
}
