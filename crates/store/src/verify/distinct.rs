//! Verifies that primary keys are distinct, and that the key index leads to their rows.
//!
//! The hashes of keys are sorted. Keys are compared only if their hashes are equal: 64-bit hashes
//! of millions of keys rarely collide, so there are next to none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use pelorus_error::Result;
use pelorus_index::hash_key;

use super::{PROBLEMS_MAX, Seen, Verifier, place_of};
use crate::key::Keys;
use crate::partition::part::Part;

impl Verifier<'_> {
    /// Checks the keys of all rows.
    ///
    /// # Errors
    /// As [`crate::TableSnapshot::verify`].
    pub(super) fn verify_keys(&mut self, parts: &[Arc<Part>]) -> Result<()> {
        let rows: usize = parts.iter().map(|part| part.rows() as usize).sum();
        let passes = rows.div_ceil(self.hashes.max(1)).max(1) as u64;
        let mut twice = BTreeSet::new();
        for pass in 0..passes {
            let mut hashes: Vec<u64> = Vec::new();
            for part in parts {
                let Some((keys, seen)) = self.keys_of(part)? else { continue };
                let all = self.hashes_of(&keys);
                drop(keys);
                if pass == 0 {
                    self.verify_entries(part, &all);
                }
                let is_of_pass =
                    |(row, hash): &(u32, u64)| hash % passes == pass && seen.is_live(*row);
                let live = (0_u32..).zip(all).filter(is_of_pass);
                hashes.extend(live.map(|(_, hash)| hash));
            }
            hashes.sort_unstable();
            let equal = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
            twice.extend(equal.map(|pair| pair[0]).take(PROBLEMS_MAX));
        }
        if twice.is_empty() { Ok(()) } else { self.tell_of_twins(parts, &twice) }
    }

    /// The keys of a part, and which of its rows are seen.
    fn keys_of(&mut self, part: &Part) -> Result<Option<(Keys, Seen)>> {
        self.go_on()?;
        let seen = Seen::of(part, self.table.version);
        let read = seen.and_then(|seen| Ok((part.keys()?, seen)));
        self.read_of(part, read)
    }

    fn hashes_of(&self, keys: &Keys) -> Vec<u64> {
        let seed = self.table.table.seed();
        keys.iter().map(|key| hash_key(seed, key)).collect()
    }

    /// Compares the entries of the key index with the rows of a part.
    fn verify_entries(&mut self, part: &Arc<Part>, hashes: &[u64]) {
        /// So many at a time, so that writers wait for a fraction of a millisecond.
        const STEP: usize = 2048;
        for (first, step) in (0_u32..).step_by(STEP).zip(hashes.chunks(STEP)) {
            for (row, what) in self.partition.partition.misled(part, first, step) {
                self.add_of(part, format!("row {row} {what}"));
            }
        }
    }

    /// Looks at the rows whose keys have some hashes.
    fn tell_of_twins(&mut self, parts: &[Arc<Part>], twice: &BTreeSet<u64>) -> Result<()> {
        let mut rows: BTreeMap<Vec<u8>, Vec<String>> = BTreeMap::new();
        for part in parts {
            let Some((keys, seen)) = self.keys_of(part)? else { continue };
            for ((row, key), hash) in (0_u32..).zip(keys.iter()).zip(self.hashes_of(&keys)) {
                if !twice.contains(&hash) || !seen.is_live(row) {
                    continue;
                }
                let places = rows.entry(key.to_vec()).or_default();
                // Two are enough, however many there are.
                if places.len() < 2 {
                    places.push(format!("row {row} of {}", place_of(part)));
                }
            }
        }
        for (key, places) in rows {
            if let [one, two] = &places[..] {
                let what = format!("two live rows have it: {one}, and {two}");
                self.add(format!("primary key {}", digits(&key)), what);
            }
        }
        Ok(())
    }
}

/// The first bytes of an encoded key.
fn digits(key: &[u8]) -> String {
    const MOST: usize = 32;
    let mut text = String::from("0x");
    for byte in &key[..key.len().min(MOST)] {
        // Writing to a text does not fail.
        write!(text, "{byte:02x}").ok();
    }
    if key.len() > MOST {
        text.push_str("...");
    }
    text
}
