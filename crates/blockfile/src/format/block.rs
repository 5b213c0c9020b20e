//! The header before each block's payload: the identity of the block and its checksums.

use pelorus_error::Result;

use super::{Fields, Identity, damaged};

/// Bytes of the header of a block.
pub(crate) const BLOCK_HEADER: usize = 72;

/// The kind of a translation table's block.
pub(crate) const KIND_TABLE: u8 = 0;

const MAGIC: [u8; 4] = *b"PBLK";

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) kind: u8,
    pub(crate) identity: Identity,
    pub(crate) number: u64,
    pub(crate) generation: u64,
    pub(crate) lsn: u64,
    pub(crate) length: u64,
    pub(crate) payload_crc: u32,
}

impl BlockHeader {
    /// The bytes of the header, and the check with which the block is referred to.
    pub(crate) fn encode(&self) -> ([u8; BLOCK_HEADER], u64) {
        let mut bytes = [0; BLOCK_HEADER];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(4, &[self.kind]);
        put(8, &self.identity.database);
        put(24, &self.identity.table.to_le_bytes());
        put(32, &self.number.to_le_bytes());
        put(40, &self.generation.to_le_bytes());
        put(48, &self.lsn.to_le_bytes());
        put(56, &self.length.to_le_bytes());
        put(64, &self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..68]);
        bytes[68..].copy_from_slice(&crc.to_le_bytes());
        (bytes, u64::from(self.payload_crc) << 32 | u64::from(crc))
    }

    /// Decodes a header; also returns its check.
    pub(crate) fn decode(bytes: &[u8; BLOCK_HEADER]) -> Result<(Self, u64)> {
        let fields = Fields(bytes);
        if fields.bytes(0) != MAGIC {
            return Err(damaged("no block is there"));
        }
        let crc = fields.u32(68);
        if crc != crc32c::crc32c(&bytes[..68]) {
            return Err(damaged("checksum mismatch of the block's header"));
        }
        let header = Self {
            kind: bytes[4],
            identity: Identity { database: fields.bytes(8), table: fields.u64(24) },
            number: fields.u64(32),
            generation: fields.u64(40),
            lsn: fields.u64(48),
            length: fields.u64(56),
            payload_crc: fields.u32(64),
        };
        Ok((header, u64::from(header.payload_crc) << 32 | u64::from(crc)))
    }
}
