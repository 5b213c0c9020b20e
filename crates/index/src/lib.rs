//! The primary-key index of one partition: from the hash of a key to the row that holds it.
//!
//! The index is a cache. It lives in memory only, is rebuilt from the keys of the partition, and
//! knows no keys: an entry is a [`RowRef`] and the top 32 bits of the key's 64-bit hash, 8 bytes
//! together. Equal hash bits never prove equal keys, so every lookup hands its candidates to the
//! caller, who compares the real keys.
//!
//! | Module | Holds |
//! | --- | --- |
//! | `hash` | [`hash_key`], the hash function |
//! | `shard` | a small table of 64-byte buckets, and the rules by which it is probed |
//! | `index` | [`KeyIndex`]: the directory over shards, lookups and changes |
//! | `index::grow` | growth, shrinking and splitting of shards |
//!
//! Reads take `&self` and may run on many threads at once; changes take `&mut self`. The store
//! holds both under the lock of the partition.
//!
//! ```
//! use pelorus_index::{KeyIndex, RowRef, hash_key};
//!
//! let keys = ["ann", "bob"];
//! let mut index = KeyIndex::new();
//! for (row, key) in (0..).zip(keys) {
//!     let row = RowRef::new(0, row).expect("both parts are small");
//!     index.insert(hash_key(7, key.as_bytes()), row);
//! }
//! let is_bob = |row: RowRef| keys[row.row() as usize] == "bob";
//! assert_eq!(index.get(hash_key(7, b"bob"), is_bob), RowRef::new(0, 1));
//! ```

mod hash;
mod index;
mod shard;

pub use hash::hash_key;
pub use index::{KeyIndex, Stats};

/// Where a row lies inside its partition: the slot of its chunk (15 bits) above the number of the
/// row in that chunk (17 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowRef(pub u32);

impl RowRef {
    /// Bits of the row number.
    pub const ROW_BITS: u32 = 17;
    /// Rows that one chunk slot can hold: 131,072.
    pub const ROWS_PER_SLOT: u32 = 1 << Self::ROW_BITS;
    /// Chunk slots of one partition: 32,768.
    pub const SLOTS: u32 = 1 << (u32::BITS - Self::ROW_BITS);

    /// Puts a reference together; `None` if a part does not fit into its bits.
    pub const fn new(slot: u32, row: u32) -> Option<Self> {
        if slot < Self::SLOTS && row < Self::ROWS_PER_SLOT {
            Some(Self((slot << Self::ROW_BITS) | row))
        } else {
            None
        }
    }

    /// The slot of the chunk inside the partition.
    pub const fn slot(self) -> u32 {
        self.0 >> Self::ROW_BITS
    }

    /// The number of the row inside its chunk.
    pub const fn row(self) -> u32 {
        self.0 & (Self::ROWS_PER_SLOT - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_ref_keeps_its_parts() {
        for (slot, row) in [(0, 0), (1, 0), (0, 1), (32_767, 131_071), (77, 4_711)] {
            let reference = RowRef::new(slot, row).unwrap();
            assert_eq!((reference.slot(), reference.row()), (slot, row));
        }
        assert_eq!(RowRef::new(32_767, 131_071), Some(RowRef(u32::MAX)));
        assert_eq!(RowRef::new(32_768, 0), None);
        assert_eq!(RowRef::new(0, 131_072), None);
    }
}
