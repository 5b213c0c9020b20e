//! Tests of the index against plain maps, with good hashes and with hostile ones.

#![allow(clippy::cast_possible_truncation, reason = "numbers of rows are small here")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::hash_key;

impl KeyIndex {
    /// Says which invariant of the index does not hold, if any.
    fn complaint(&self) -> Option<String> {
        let bits = u32::BITS - self.shift;
        if self.directory.len() != 1 << bits {
            return Some(format!("{} places for {bits} bits", self.directory.len()));
        }
        let mut place = 0;
        let mut seen = BTreeSet::new();
        while place < self.directory.len() {
            let number = self.directory[place];
            let places = 1 << (bits - self.shards[number as usize].depth);
            if self.directory[place..place + places].iter().any(|&other| other != number)
                || !seen.insert(number)
            {
                return Some(format!("shard {number} does not fill its places from {place}"));
            }
            place += places;
        }
        if seen.len() != self.shards.len() {
            return Some(format!("{} of {} shards in use", seen.len(), self.shards.len()));
        }
        let inside: usize = self.shards.iter().map(Shard::rows).sum();
        if inside + self.spill.len() != self.len {
            return Some(format!("{inside} + {} entries are not {}", self.spill.len(), self.len));
        }
        if self.shards.iter().map(Shard::buckets).sum::<usize>() != self.buckets {
            return Some("the buckets are miscounted".to_owned());
        }
        for (number, shard) in self.shards.iter().enumerate() {
            if shard.entries().any(|(tag, _)| self.shard_number(tag) != number) {
                return Some(format!("shard {number} has an entry of another"));
            }
        }
        let mut spilled = self.spill.iter().map(|&(tag, _)| tag);
        if let Some(tag) = spilled.find(|&tag| !self.shard(tag).spilled) {
            return Some(format!("the spilled tag {tag:#x} cannot be reached"));
        }
        self.shards.iter().find_map(Shard::complaint)
    }
}

/// Hash functions from good to useless.
#[derive(Clone, Copy, Debug)]
enum Hashing {
    Good,
    /// Only so many of the top bits differ.
    TopBits(u32),
    /// The top bits are equal; so many of the kept bits below differ.
    LowBits(u32),
    /// The kept bits are all ones, or all zeros, which a bucket does not store as such.
    Same(u64),
    /// Small hashes are more frequent.
    Skewed,
}

impl Hashing {
    fn hash(self, key: u32) -> u64 {
        let hash = hash_key(11, &key.to_le_bytes());
        match self {
            Self::Good => hash,
            Self::TopBits(bits) => hash & !(u64::MAX >> bits),
            Self::LowBits(bits) => (hash >> (32 - bits)) & ((1 << (bits + 32)) - 1),
            Self::Same(value) => value,
            Self::Skewed => ((u128::from(hash) * u128::from(hash)) >> 64) as u64,
        }
    }
}

fn any_hashing() -> impl Strategy<Value = Hashing> {
    prop_oneof![
        3 => Just(Hashing::Good),
        2 => (0..12_u32).prop_map(Hashing::TopBits),
        2 => (1..12_u32).prop_map(Hashing::LowBits),
        1 => prop_oneof![Just(0), Just(u64::MAX), Just(1 << 32)].prop_map(Hashing::Same),
        1 => Just(Hashing::Skewed),
    ]
}

#[derive(Clone, Debug)]
enum Action {
    /// Writes keys from one number on: inserts the new, moves the present to new rows.
    Upsert(u32, u32),
    Remove(u32, u32),
    /// Gives every row another number, as a merge does.
    MoveAll,
    Reserve(usize),
    Clear,
}

fn any_action(keys: u32) -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (0..keys, 1..keys / 4).prop_map(|(first, count)| Action::Upsert(first, count)),
        5 => (0..keys, 1..keys / 4).prop_map(|(first, count)| Action::Remove(first, count)),
        2 => Just(Action::MoveAll),
        1 => (0..2 * keys as usize).prop_map(Action::Reserve),
        1 => Just(Action::Clear),
    ]
}

/// The index and its model. The "stored keys" by row are the content of a partition.
#[derive(Debug)]
struct Pair {
    hashing: Hashing,
    index: KeyIndex,
    rows: BTreeMap<u32, RowRef>,
    keys: BTreeMap<RowRef, u32>,
    next_row: u32,
}

impl Pair {
    fn new(hashing: Hashing) -> Self {
        let (rows, keys) = (BTreeMap::new(), BTreeMap::new());
        // Counts down from the greatest reference, which is also a mark inside of buckets.
        Self { hashing, index: KeyIndex::new(), rows, keys, next_row: u32::MAX }
    }

    fn new_row(&mut self) -> RowRef {
        self.next_row -= 1;
        RowRef(self.next_row + 1)
    }

    fn get(&self, key: u32) -> Option<RowRef> {
        self.index.get(self.hashing.hash(key), |row| self.keys.get(&row) == Some(&key))
    }

    fn upsert(&mut self, key: u32) {
        let (hash, new) = (self.hashing.hash(key), self.new_row());
        let old = self.rows.insert(key, new);
        assert_eq!(self.get(key), old);
        match old {
            Some(old) => {
                assert!(self.index.replace(hash, old, new));
                assert_eq!(self.index.replace_batch(&[(hash, old, new)]), 0, "the old row is gone");
                self.keys.remove(&old);
            }
            None => self.index.insert(hash, new),
        }
        self.keys.insert(new, key);
    }

    fn remove(&mut self, key: u32) {
        let hash = self.hashing.hash(key);
        match self.rows.remove(&key) {
            Some(row) => {
                assert!(self.index.remove(hash, row));
                assert!(!self.index.remove(hash, row), "it is gone");
                self.keys.remove(&row);
            }
            None => assert_eq!(self.get(key), None),
        }
    }

    fn apply(&mut self, action: &Action) {
        match *action {
            Action::Upsert(first, count) => (first..first + count).for_each(|key| self.upsert(key)),
            Action::Remove(first, count) => (first..first + count).for_each(|key| self.remove(key)),
            Action::MoveAll => {
                let keys: Vec<u32> = self.rows.keys().copied().collect();
                keys.into_iter().for_each(|key| self.upsert(key));
            }
            Action::Reserve(additional) => self.index.reserve(additional),
            Action::Clear => {
                self.index.clear();
                self.rows.clear();
                self.keys.clear();
            }
        }
    }

    /// Everything that can be read, against the model.
    fn check(&self) {
        assert_eq!(self.index.complaint(), None);
        assert_eq!(self.index.len(), self.rows.len());
        let entry = |(&key, &row)| (tag_of(self.hashing.hash(key)), row);
        let expected: BTreeSet<(u32, RowRef)> = self.rows.iter().map(entry).collect();
        let mut entries: Vec<_> = self.index.iter().collect();
        entries.sort_unstable();
        assert!(expected.iter().eq(&entries));

        // Keys in and out of the index; the candidates are exactly the rows of the same tag.
        let asked: Vec<u32> = (0..self.rows.len() as u32 + 300).step_by(7).collect();
        let hashes: Vec<u64> = asked.iter().map(|&key| self.hashing.hash(key)).collect();
        let mut found = vec![(77, RowRef(77))];
        self.index.candidates(&hashes, &mut found);
        assert_eq!(found[0], (77, RowRef(77)), "candidates are appended");
        let found = &mut found[1..];
        assert!(found.is_sorted_by_key(|&(position, _)| position));
        found.sort_unstable();
        let same_tag = |(position, &hash): (usize, &u64)| {
            let tag = tag_of(hash);
            let rows = expected.range((tag, RowRef(0))..=(tag, RowRef(u32::MAX)));
            rows.map(move |&(_, row)| (position as u32, row)).collect::<Vec<_>>()
        };
        assert!(hashes.iter().enumerate().flat_map(same_tag).eq(found.iter().copied()));
        for key in asked {
            assert_eq!(self.get(key), self.rows.get(&key).copied());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(150)))]
    #[test]
    fn agrees_with_a_map(
        hashing in any_hashing(),
        actions in prop::collection::vec(any_action(400), 1..24),
    ) {
        let mut pair = Pair::new(hashing);
        for action in &actions {
            pair.apply(action);
            pair.check();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(6)))]
    #[test]
    fn agrees_with_a_map_while_shards_split(
        hashing in prop_oneof![
            Just(Hashing::Good), Just(Hashing::Skewed), (10..20_u32).prop_map(Hashing::TopBits),
            (18..31_u32).prop_map(Hashing::LowBits),
        ],
        actions in prop::collection::vec(any_action(60_000), 4..10),
    ) {
        let mut pair = Pair::new(hashing);
        actions.iter().for_each(|action| pair.apply(action));
        pair.check();
    }
}

fn key_hash(row: u32) -> u64 {
    hash_key(23, &u64::from(row).to_be_bytes())
}

/// An index of the rows from 0 on, one by one for even and in batches for odd thousands.
fn filled(rows: u32) -> KeyIndex {
    let mut index = KeyIndex::new();
    for first in (0..rows).step_by(1_000) {
        let range = first..(first + 1_000).min(rows);
        let entries: Vec<_> = range.map(|row| (key_hash(row), RowRef(row))).collect();
        if first % 2_000 == 0 {
            entries.iter().for_each(|&(hash, row)| index.insert(hash, row));
        } else {
            index.insert_batch(&entries);
        }
    }
    index
}

#[test]
fn grows_to_millions_and_shrinks_again() {
    const ROWS: u32 = 2_500_000;
    let mut index = filled(ROWS);
    assert_eq!(index.complaint(), None);
    let stats = index.stats();
    assert_eq!(stats.rows, ROWS as usize);
    assert!(stats.load_factor > 0.65, "{stats:?}");
    assert!(stats.memory_bytes < ROWS as usize * 25 / 2, "{stats:?}");
    assert!(stats.spilled < 10, "a good hash fills shards evenly: {stats:?}");
    assert!(stats.displaced < ROWS as usize / 10, "most rows lie at home: {stats:?}");
    assert!((300..2_000).contains(&stats.shards), "{stats:?}");

    let moved = |row| (key_hash(row), RowRef(row), RowRef(row | 1 << 31));
    let moves: Vec<_> = (0..ROWS).step_by(3).map(moved).collect();
    assert_eq!(index.replace_batch(&moves), moves.len());
    assert_eq!(index.replace_batch(&moves[..1000]), 0, "the old rows are gone");
    for row in 0..ROWS {
        let held = if row % 3 == 0 { row | 1 << 31 } else { row };
        assert_eq!(index.get(key_hash(row), |row| row.0 == held), Some(RowRef(held)));
        if row % 16 != 0 {
            assert!(index.remove(key_hash(row), RowRef(held)));
        }
    }
    assert_eq!(index.complaint(), None);
    assert_eq!(index.len(), ROWS.div_ceil(16) as usize);
    assert!(index.memory_bytes() * 4 < stats.memory_bytes, "memory was given back");
    for row in 0..ROWS {
        let found = index.get(key_hash(row), |held| held.0 & !(1 << 31) == row);
        assert_eq!(found.is_some(), row % 16 == 0);
    }
    index.clear();
    assert!(index.is_empty() && index.memory_bytes() < 1_000);
}

#[test]
fn rows_cost_little_at_every_size() {
    for rows in [0, 1, 10, 100, 1_000, 10_000, 100_000] {
        let bytes = filled(rows).memory_bytes();
        assert!(bytes <= 256 + rows as usize * 16, "{rows} rows take {bytes} bytes");
    }
}

#[test]
fn churn_neither_grows_nor_spills() {
    const ROWS: u32 = 40_000;
    let mut index = filled(ROWS);
    let before = index.memory_bytes();
    for row in 0..10 * ROWS {
        assert!(index.remove(key_hash(row), RowRef(row)));
        index.insert(key_hash(row + ROWS), RowRef(row + ROWS));
    }
    assert_eq!(index.complaint(), None);
    assert_eq!(index.len(), ROWS as usize);
    assert!(index.memory_bytes() < before * 3 / 2, "{before} -> {:?}", index.stats());
    assert!(index.spill.len() < 10);
}

#[test]
fn reserved_room_is_room_enough() {
    for (present, more) in [(0, 1), (0, 100), (0, 20_000), (0, 500_000), (30_000, 200_000)] {
        let mut index = filled(present);
        index.reserve(more as usize);
        assert_eq!(index.complaint(), None);
        let (bytes, shards) = (index.memory_bytes(), index.shards.len());
        (present..present + more).for_each(|row| index.insert(key_hash(row), RowRef(row)));
        assert_eq!((index.memory_bytes(), index.shards.len()), (bytes, shards), "{more}");
        assert!(bytes <= 512 + (present + more) as usize * 16, "{more}: {bytes}");
        assert_eq!(index.complaint(), None);
    }
}

#[test]
fn reserving_again_and_again_moves_each_row_a_few_times() {
    const ROWS: u32 = 200_000;
    const STEP: u32 = 1_000;
    let mut index = KeyIndex::new();
    let mut moved = 0;
    for first in (0..ROWS).step_by(STEP as usize) {
        let layout = |shard: &Shard| (shard.buckets(), shard.depth);
        let before: Vec<_> = index.shards.iter().map(|it| (layout(it), it.rows())).collect();
        index.reserve(STEP as usize);
        let changed = before.iter().zip(&index.shards).filter(|(was, is)| was.0 != layout(is));
        moved += changed.map(|(was, _)| was.1).sum::<usize>();
        (first..first + STEP).for_each(|row| index.insert(key_hash(row), RowRef(row)));
    }
    assert_eq!(index.complaint(), None);
    assert!(moved < 15 * ROWS as usize, "{moved} entries were moved");
    assert!(index.memory_bytes() < ROWS as usize * 18, "{:?}", index.stats());
}

#[test]
fn equal_and_hostile_hashes_do_not_split_without_end() {
    const ROWS: u32 = 200_000;
    let hashings =
        [Hashing::Same(0), Hashing::TopBits(3), Hashing::LowBits(5), Hashing::TopBits(14)];
    for hashing in hashings {
        let mut index = KeyIndex::new();
        (0..ROWS).for_each(|row| index.insert(hashing.hash(row), RowRef(row)));
        assert_eq!(index.complaint(), None);
        let stats = index.stats();
        let mut found = Vec::new();
        assert!(stats.directory <= 256 && stats.memory_bytes < 24 * ROWS as usize, "{stats:?}");
        for row in (0..ROWS).step_by(2_003) {
            let hash = hashing.hash(row);
            assert_eq!(index.get(hash, |candidate| candidate.0 == row), Some(RowRef(row)));
            found.clear();
            index.candidates(&[hash], &mut found);
            assert!(found.contains(&(0, RowRef(row))));
            assert!(index.replace(hash, RowRef(row), RowRef(row + ROWS)));
            assert!(index.remove(hash, RowRef(row + ROWS)));
        }
        assert_eq!(index.complaint(), None);
    }
}

#[test]
fn many_threads_may_read() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let index = filled(10_000);
    is_shared(&index);
    std::thread::scope(|scope| {
        for part in 0..2 {
            let index = &index;
            scope.spawn(move || {
                for row in (part..10_000).step_by(2) {
                    assert!(index.get(key_hash(row), |held| held.0 == row).is_some());
                }
            });
        }
    });
}
