//! Sorts rows by their keys.
//!
//! Comparing keys in place costs two cache misses per comparison, so eight bytes of each key are
//! sorted next to the number of its row; only rows that are equal in these are compared again, by
//! their next eight bytes. This is a radix sort whose digits are sorted by comparisons, after the
//! idea of McIlroy, Bostic, McIlroy, "Engineering Radix Sort", 1993. Keys of several numbers, of
//! which the first is the same for many rows, so take a few passes.

use std::ops::Range;

use crate::catalog::schema::Version;
use crate::key::Keys;

/// Bytes of a key that are compared at one time.
const WORD: usize = 8;

/// Rows in the order of their keys and, where these are the same, their versions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sorted {
    pub(crate) rows: Vec<u32>,
    /// The positions of rows with equal keys; in no order.
    pub(crate) alike: Vec<Range<usize>>,
}

impl Sorted {
    /// Sorts some rows, given by their numbers.
    pub(crate) fn new(keys: &Keys, versions: &[Version], rows: &[u32]) -> Self {
        let mut order: Vec<(u64, u32)> = rows.iter().map(|&row| (0, row)).collect();
        let mut alike = Vec::new();
        // Groups of rows that begin alike, with how many bytes they share.
        let mut groups = vec![(0..order.len(), 0)];
        while let Some((group, shared)) = groups.pop() {
            let rows = &mut order[group.clone()];
            for (word, row) in rows.iter_mut() {
                *word = word_at(keys.get(*row as usize), shared);
            }
            // What comes from sorted chunks is in order piece by piece: this sort finds that out
            // and merges the pieces.
            rows.sort_by_key(|(word, _)| *word);
            let mut begin = group.start;
            for same in order[group].chunk_by_mut(|a, b| a.0 == b.0) {
                let range = begin..begin + same.len();
                begin = range.end;
                if same.len() < 2 {
                    continue;
                }
                let key = |row: u32| keys.get(row as usize);
                let ends = |(_, row): &(u64, u32)| key(*row).len() <= shared + WORD;
                if !same.iter().any(ends) {
                    groups.push((range, shared + WORD));
                    continue;
                }
                // A key that ends is filled up with zeros, which others may have.
                same.sort_by(|a, b| {
                    key(a.1).cmp(key(b.1)).then(versions[a.1 as usize].cmp(&versions[b.1 as usize]))
                });
                let mut begin = range.start;
                for same in same.chunk_by(|a, b| key(a.1) == key(b.1)) {
                    if same.len() > 1 {
                        alike.push(begin..begin + same.len());
                    }
                    begin += same.len();
                }
            }
        }
        Self { rows: order.into_iter().map(|(_, row)| row).collect(), alike }
    }
}

/// Some bytes of a key, filled up with zeros, as a number of the same order.
fn word_at(key: &[u8], from: usize) -> u64 {
    let rest = key.get(from..).unwrap_or_default();
    let mut bytes = [0; WORD];
    let length = rest.len().min(WORD);
    bytes[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(all: &[Vec<u8>]) -> Keys {
        let mut keys = Keys::default();
        all.iter().for_each(|key| keys.push(key));
        keys
    }

    proptest! {
        /// Keys that share beginnings, end within and between words, and are there several times.
        #[test]
        fn rows_are_in_the_order_of_their_keys_and_versions(
            all in prop::collection::vec(
                (prop::collection::vec(prop_oneof![Just(0_u8), Just(7)], 0..20), 0_u64..3, 0..9),
                0..60,
            ),
        ) {
            let bytes: Vec<Vec<u8>> = all.iter().map(|(key, ..)| key.clone()).collect();
            let versions: Vec<Version> = all.iter().map(|it| it.1).collect();
            let numbered = (0_u32..).zip(&all);
            let rows: Vec<u32> = numbered.filter(|(_, it)| it.2 > 0).map(|(row, _)| row).collect();
            let keys = keys(&bytes);
            let found = Sorted::new(&keys, &versions, &rows);
            let by = |row: &u32| (keys.get(*row as usize), versions[*row as usize]);
            let mut expected = rows;
            expected.sort_by(|a, b| by(a).cmp(&by(b)));
            prop_assert_eq!(&found.rows, &expected);
            let mut alike = Vec::new();
            let mut begin = 0;
            for same in expected.chunk_by(|a, b| by(a).0 == by(b).0) {
                if same.len() > 1 {
                    alike.push(begin..begin + same.len());
                }
                begin += same.len();
            }
            let mut ranges = found.alike;
            ranges.sort_by_key(|range| range.start);
            prop_assert_eq!(ranges, alike);
        }
    }

    #[test]
    fn words_are_ordered_like_keys() {
        let keys: [&[u8]; 5] = [b"", b"a", b"a\0b", b"abcdefgh", b"abcdefghi"];
        assert!(keys.iter().map(|key| word_at(key, 0)).is_sorted());
        assert_eq!(word_at(b"abcdefghi", 8), u64::from(b'i') << 56);
    }
}
