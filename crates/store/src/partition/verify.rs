//! Verifies the key index of a partition: it refers to exactly the live rows of the newest state.
//!
//! The index does not store keys, so rows are looked up by the hashes of their keys: each live row
//! has an entry that leads to it, no dead row has one, and there are as many entries as live rows.
//! Writers wait for a fraction of a millisecond.

use std::sync::Arc;

use super::Partition;
use super::lookup::{Lookup, Slot};
use crate::catalog::schema::Version;
use crate::partition::part::Part;

impl Partition {
    /// Some rows of a part, given by the hashes of their keys, for which the index is wrong, each
    /// with the problem. `first` is the number of the first. Empty if there is no index, or if the
    /// part has been replaced.
    pub(crate) fn misled(
        &self,
        part: &Arc<Part>,
        first: u32,
        hashes: &[u64],
    ) -> Vec<(u32, &'static str)> {
        // Rows come, die and move under this lock alone.
        let lookup = self.lookup.read();
        let Some(index) = lookup.index.as_ref().filter(|_| lookup.holds(part)) else {
            return Vec::new();
        };
        let mut entries = vec![0_u32; hashes.len()];
        for place in lookup.candidates(index, hashes, 0) {
            if Arc::ptr_eq(&place.part, part) && place.row == first + place.key {
                entries[place.key as usize] += 1;
            }
        }
        let dead = part.deletes.at(Version::MAX);
        let wrong = |(row, entries)| match (dead.contains(row), entries) {
            (false, 1) | (true, 0) => None,
            (false, 0) => Some((row, "is not where the key index leads to for its key")),
            (false, _) => Some((row, "is in the key index twice")),
            (true, _) => Some((row, "is dead and yet in the key index")),
        };
        (first..).zip(entries).filter_map(wrong).collect()
    }

    /// Problems in the lists of parts and in the size of the index.
    pub(crate) fn check_lookup(&self) -> Vec<String> {
        let lookup = self.lookup.read();
        let parts = self.parts();
        let lost = parts.iter().filter(|part| !lookup.holds(part));
        let mut wrong: Vec<String> =
            lost.map(|part| format!("the part in slot {} is not in its slot", part.slot)).collect();
        let rows = |part: &Arc<Part>| (part.rows() as usize).saturating_sub(part.deletes.count());
        let live: usize = parts.iter().map(rows).sum();
        if let Some(index) = &lookup.index
            && index.len() != live
        {
            let entries = index.len();
            wrong.push(format!("the key index has {entries} entries for {live} live rows"));
        }
        wrong
    }
}

impl Lookup {
    /// Whether a part is in its slot.
    fn holds(&self, part: &Arc<Part>) -> bool {
        let slot = self.slots.get(usize::from(part.slot));
        matches!(slot, Some(Slot::Part(it)) if Arc::ptr_eq(it, part))
    }
}
