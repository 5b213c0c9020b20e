//! The byte format of the log, as `docs/internals/format-log.md` describes it: the segment header,
//! the header of a group, the header of a record. All numbers are little-endian.
//!
//! Checksums are CRC-32C. Those of groups and records begin with the uuid of the log and the number
//! of the segment, and cover the LSN, so bytes that were written for another place never pass.

use std::fmt;

use pelorus_env::AlignedBytes;

/// The unit in which groups are placed, and the size of a segment's header.
pub(crate) const BLOCK: u64 = 4096;
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Bytes of a group's header.
pub(crate) const GROUP_HEADER: usize = 40;
/// Bytes of a record's header.
pub(crate) const RECORD_HEADER: usize = 8;
/// The most bytes that one record carries: 1 GiB, as much as a MySQL packet.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

const SEGMENT_MAGIC: [u8; 8] = *b"PELORLOG";
const GROUP_MAGIC: [u8; 8] = *b"PELORGRP";
const VERSION: u32 = 1;
/// Where the checksum of a segment's header stands, in every version of the format.
const SEGMENT_CHECKSUM: usize = BLOCK_BYTES - 4;

/// A position in the log: bytes since its beginning, over all segments and without their headers.
/// A record is named by the position at which it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The next position at which a group can begin; `None` at the end of the numbers.
    pub(crate) fn align_up(self) -> Option<Self> {
        self.0.checked_next_multiple_of(BLOCK).map(Self)
    }

    pub(crate) fn is_aligned(self) -> bool {
        self.0.is_multiple_of(BLOCK)
    }

    pub(crate) fn plus(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) uuid: [u8; 16],
    pub(crate) number: u64,
    /// The position of the first byte after the header.
    pub(crate) first: Lsn,
    /// Everything before this position was durable when the segment got its name.
    pub(crate) durable: Lsn,
}

/// Why a segment's header cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Damaged,
    /// Whole, but of another version of the format.
    Version(u32),
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; BLOCK_BYTES] {
        let mut bytes = [0; BLOCK_BYTES];
        put(&mut bytes, 0, &SEGMENT_MAGIC);
        put(&mut bytes, 8, &VERSION.to_le_bytes());
        put(&mut bytes, 16, &self.uuid);
        put(&mut bytes, 32, &self.number.to_le_bytes());
        put(&mut bytes, 40, &self.first.0.to_le_bytes());
        put(&mut bytes, 48, &self.durable.0.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..SEGMENT_CHECKSUM]);
        put(&mut bytes, SEGMENT_CHECKSUM, &checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; BLOCK_BYTES]) -> Result<Self, HeaderError> {
        let checksum = crc32c::crc32c(&bytes[..SEGMENT_CHECKSUM]);
        if bytes[..8] != SEGMENT_MAGIC || u32_at(bytes, SEGMENT_CHECKSUM) != Some(checksum) {
            return Err(HeaderError::Damaged);
        }
        let number = |at| u64_at(bytes, at).ok_or(HeaderError::Damaged);
        let version = u32_at(bytes, 8).ok_or(HeaderError::Damaged)?;
        if version != VERSION {
            return Err(HeaderError::Version(version));
        }
        let uuid = bytes[16..32].try_into().map_err(|_| HeaderError::Damaged)?;
        let header =
            Self { uuid, number: number(32)?, first: Lsn(number(40)?), durable: Lsn(number(48)?) };
        if !header.first.is_aligned() || header.durable < header.first {
            return Err(HeaderError::Damaged);
        }
        Ok(header)
    }
}

/// The beginning of every checksum inside one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u32);

impl Seed {
    pub(crate) fn new(uuid: &[u8; 16], number: u64) -> Self {
        Self(crc32c::crc32c_append(crc32c::crc32c(uuid), &number.to_le_bytes()))
    }

    fn group(self, header: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, header)
    }

    /// The checksum of a record that begins at `start`. The payload goes in by its own checksum,
    /// so that `append` can compute that before the record has a place.
    pub(crate) fn record(self, start: Lsn, length: u32, payload_checksum: u32) -> u32 {
        let mut bytes = [0; 16];
        put(&mut bytes, 0, &start.0.to_le_bytes());
        put(&mut bytes, 8, &length.to_le_bytes());
        put(&mut bytes, 12, &payload_checksum.to_le_bytes());
        crc32c::crc32c_append(self.0, &bytes)
    }
}

/// The header of a group: records that were written and synced together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The position of the group's header.
    pub(crate) start: Lsn,
    /// Bytes of header and records, without the padding.
    pub(crate) length: u64,
    /// Everything before this position was durable when the group was written.
    pub(crate) durable: Lsn,
}

impl Group {
    pub(crate) fn encode(&self, seed: Seed, bytes: &mut [u8]) {
        put(bytes, 0, &GROUP_MAGIC);
        put(bytes, 8, &self.length.to_le_bytes());
        put(bytes, 16, &self.start.0.to_le_bytes());
        put(bytes, 24, &self.durable.0.to_le_bytes());
        put(bytes, 32, &[0; 4]);
        let checksum = seed.group(&bytes[..36]);
        put(bytes, 36, &checksum.to_le_bytes());
    }

    /// The group that begins at `start`, if these bytes are the header of one.
    pub(crate) fn decode(bytes: &[u8], seed: Seed, start: Lsn) -> Option<Self> {
        let header = bytes.get(..GROUP_HEADER)?;
        let group = Self { start, length: u64_at(header, 8)?, durable: Lsn(u64_at(header, 24)?) };
        let whole = header[..8] == GROUP_MAGIC
            && u64_at(header, 16)? == start.0
            && u32_at(header, 36)? == seed.group(&header[..36])
            && group.length >= GROUP_HEADER as u64
            && group.durable <= start
            && start.plus(group.length).and_then(Lsn::align_up).is_some();
        whole.then_some(group)
    }

    /// Where the records end.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.start.0.saturating_add(self.length))
    }

    /// Where the padding ends and the next group begins.
    pub(crate) fn padded_end(&self) -> Lsn {
        // `decode` has seen that there is such a position.
        self.end().align_up().unwrap_or(Lsn(u64::MAX))
    }
}

/// Completes a group whose records carry the checksums of their payloads alone: their checksums
/// for this place, the group's header, and the padding.
pub(crate) fn seal(bytes: &mut AlignedBytes, seed: Seed, start: Lsn, durable: Lsn) {
    let length = bytes.len() as u64;
    let mut at = GROUP_HEADER;
    while let (Some(size), Some(checksum)) = (u32_at(bytes, at), u32_at(bytes, at + 4)) {
        let sealed = seed.record(Lsn(start.0 + at as u64), size, checksum);
        put(bytes, at + 4, &sealed.to_le_bytes());
        at += RECORD_HEADER + size as usize;
    }
    Group { start, length, durable }.encode(seed, bytes);
    bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader =
        SegmentHeader { uuid: [7; 16], number: 3, first: Lsn(8192), durable: Lsn(12288) };

    #[test]
    fn segment_header_is_read_back_and_every_flipped_bit_is_seen() {
        let mut bytes = HEADER.encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(HEADER));
        for bit in 0..BLOCK_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::Damaged), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn segment_header_of_another_version_is_told_from_damage() {
        let mut bytes = HEADER.encode();
        put(&mut bytes, 8, &2_u32.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..SEGMENT_CHECKSUM]);
        put(&mut bytes, SEGMENT_CHECKSUM, &checksum.to_le_bytes());
        assert_eq!(SegmentHeader::decode(&bytes), Err(HeaderError::Version(2)));
    }

    #[test]
    fn segment_header_of_impossible_positions_is_damage() {
        for (first, durable) in [(1, 4096), (8192, 4096)] {
            let bytes = SegmentHeader { first: Lsn(first), durable: Lsn(durable), ..HEADER };
            assert_eq!(SegmentHeader::decode(&bytes.encode()), Err(HeaderError::Damaged));
        }
    }

    #[test]
    fn group_header_is_bound_to_its_place() {
        let seed = Seed::new(&[7; 16], 3);
        let group = Group { start: Lsn(4096), length: 57, durable: Lsn(4096) };
        let mut bytes = [0; GROUP_HEADER];
        group.encode(seed, &mut bytes);
        assert_eq!(Group::decode(&bytes, seed, Lsn(4096)), Some(group));
        assert_eq!(Group::decode(&bytes, seed, Lsn(8192)), None);
        assert_eq!(Group::decode(&bytes, Seed::new(&[7; 16], 4), Lsn(4096)), None);
        assert_eq!(Group::decode(&bytes, Seed::new(&[8; 16], 3), Lsn(4096)), None);
        assert_eq!(Group::decode(&bytes[..39], seed, Lsn(4096)), None);
        for bit in 0..GROUP_HEADER * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Group::decode(&bytes, seed, Lsn(4096)), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn group_header_with_numbers_at_the_end_of_the_range_is_refused() {
        let seed = Seed::new(&[7; 16], 3);
        let last = Lsn(u64::MAX - u64::MAX % BLOCK);
        for length in [0, 39, 4097, u64::MAX] {
            let mut bytes = [0; GROUP_HEADER];
            Group { start: last, length, durable: last }.encode(seed, &mut bytes);
            assert_eq!(Group::decode(&bytes, seed, last), None, "length {length}");
        }
    }
}
