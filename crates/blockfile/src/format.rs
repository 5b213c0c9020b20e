//! The bytes of a block file, as `docs/internals/format-blockfile.md` describes them.
//!
//! Decoders take any bytes and return an error for those that break a rule; they never panic.

mod block;
mod header;
mod table;

use pelorus_error::{Code, Error};

pub(crate) use block::{BLOCK_HEADER, BlockHeader, KIND_TABLE};
pub(crate) use header::{Header, SLOT, TableRef};
pub(crate) use table::{Place, Places, Table};

/// The unit of allocation in bytes.
pub const UNIT: u64 = 4096;

/// Bytes at the start of the file that hold no blocks.
pub const RESERVED: u64 = 65_536;

/// The longest payload of a block in bytes.
pub const PAYLOAD_MAX: u32 = 1 << 30;

/// The database and table to which a file belongs. It is in every header and block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The database's random id.
    pub database: [u8; 16],
    /// The table's number.
    pub table: u64,
}

/// The number of a block; never given out twice in the life of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u64);

impl BlockId {
    /// A number that was stored elsewhere, for example in another block.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl std::fmt::Display for BlockId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

fn damaged(what: impl Into<String>) -> Error {
    Error::new(Code::FileDamaged, what)
}

/// Units that a block with such a payload takes.
pub(crate) fn units_of(payload: u32) -> u32 {
    let bytes = BLOCK_HEADER as u64 + u64::from(payload);
    u32::try_from(bytes.div_ceil(UNIT)).expect("2^32 bytes are 2^20 units")
}

/// The length to which payloads of about this length are best extended, so that blocks of a file
/// have few different sizes, and holes that some leave fit others: at most a sixteenth is added,
/// nothing up to 128 KiB.
pub fn even_length(payload: usize) -> usize {
    let bytes = payload + BLOCK_HEADER;
    // Five bits of the size say something, but none below a unit.
    let step = 1_usize << bytes.ilog2().saturating_sub(4);
    if step as u64 <= UNIT { payload } else { bytes.next_multiple_of(step) - BLOCK_HEADER }
}

/// Reads numbers out of a buffer whose length was verified before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn even_lengths_are_few_and_close() {
        assert_eq!(even_length(100_000), 100_000);
        for payload in (100_000..40_000_000).step_by(99_991) {
            let even = even_length(payload);
            assert!(payload <= even && even <= payload + payload / 16 + 72, "{payload}: {even}");
            assert_eq!(even_length(even), even);
        }
        let sizes: BTreeSet<usize> = (4_000_000..8_000_000).step_by(777).map(even_length).collect();
        assert!(sizes.len() <= 18, "{sizes:?}");
    }
}
