//! Reading one segment as a stream: groups in order, and the payloads of their records.
//!
//! Memory is bounded by the largest record plus one read. Nothing is allocated for a length before
//! it is known that the file has that many bytes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pelorus_env::DiskFile;
use pelorus_error::Result;

use crate::Lsn;
use crate::format::{
    BLOCK, GROUP_HEADER, Group, RECORD_BYTES_MAX, RECORD_HEADER, Seed, SegmentHeader, u32_at,
};
use crate::segment;

/// Bytes that one read asks for.
const READ: u64 = 1 << 20;

/// A segment that is being read.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) path: PathBuf,
    pub(crate) header: SegmentHeader,
    pub(crate) seed: Seed,
    file: Arc<dyn DiskFile>,
    /// Bytes of the file.
    length: u64,
    /// `buffer[..filled]` holds the file from `at` on.
    buffer: Vec<u8>,
    at: u64,
    filled: usize,
}

/// The record or padding at a position inside a group.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// A record: where it ends, and its payload.
    Whole(Lsn, &'a [u8]),
    /// The group ends here.
    End,
    /// Bytes that no complete write leaves.
    Bad,
}

impl Scan {
    pub(crate) fn new(
        path: PathBuf,
        file: Arc<dyn DiskFile>,
        header: SegmentHeader,
    ) -> Result<Self> {
        let length = file.length().map_err(|error| segment::read_error(&path, error))?;
        let seed = Seed::new(&header.uuid, header.number);
        Ok(Self { path, header, seed, file, length, buffer: Vec::new(), at: 0, filled: 0 })
    }

    /// The offset of a position in the file.
    pub(crate) fn offset_of(&self, lsn: Lsn) -> u64 {
        segment::offset_of(self.header.first, lsn)
    }

    /// The group that begins at a position; `None` if there is none, or an incomplete one.
    pub(crate) fn group(&mut self, start: Lsn) -> Result<Option<Group>> {
        let seed = self.seed;
        let bytes = self.get(start, GROUP_HEADER)?;
        Ok(bytes.and_then(|bytes| Group::decode(bytes, seed, start)))
    }

    /// The record that begins at a position inside a group.
    pub(crate) fn record(&mut self, start: Lsn, group: &Group) -> Result<Record<'_>> {
        let rest = group.end().0.saturating_sub(start.0);
        if rest == 0 {
            return Ok(Record::End);
        }
        if rest < RECORD_HEADER as u64 {
            return Ok(Record::Bad);
        }
        let header = self.get(start, RECORD_HEADER)?;
        let Some((length, checksum)) = header.and_then(|b| Some((u32_at(b, 0)?, u32_at(b, 4)?)))
        else {
            return Ok(Record::Bad);
        };
        let size = length as usize;
        if size > RECORD_BYTES_MAX || size as u64 > rest - RECORD_HEADER as u64 {
            return Ok(Record::Bad);
        }
        let (seed, body) = (self.seed, Lsn(start.0 + RECORD_HEADER as u64));
        Ok(match self.get(body, size)? {
            Some(payload) if seed.record(start, length, crc32c::crc32c(payload)) == checksum => {
                Record::Whole(Lsn(body.0 + size as u64), payload)
            }
            _ => Record::Bad,
        })
    }

    /// The first group at or after `from` that says that bytes after `lsn` were durable when it was
    /// written.
    pub(crate) fn evidence(&mut self, from: Lsn, lsn: Lsn) -> Result<Option<Group>> {
        let mut at = from;
        while self.offset_of(at) < self.length {
            if let Some(group) = self.group(at)?
                && group.durable > lsn
            {
                return Ok(Some(group));
            }
            let Some(next) = at.plus(BLOCK) else { break };
            at = next;
        }
        Ok(None)
    }

    /// Bytes from a position on; `None` when the file ends before that.
    pub(crate) fn get(&mut self, start: Lsn, count: usize) -> Result<Option<&[u8]>> {
        let offset = self.offset_of(start);
        let Some(rest) = self.length.checked_sub(offset).filter(|&rest| rest >= count as u64)
        else {
            return Ok(None);
        };
        let kept = offset.checked_sub(self.at).and_then(|skip| usize::try_from(skip).ok());
        let kept = kept.filter(|&skip| skip <= self.filled);
        if let Some(skip) = kept
            && self.filled - skip >= count
        {
            return Ok(Some(&self.buffer[skip..skip + count]));
        }
        match kept {
            Some(skip) => {
                self.buffer.copy_within(skip..self.filled, 0);
                self.filled -= skip;
            }
            None => self.filled = 0,
        }
        self.at = offset;
        // Both terms of the maximum fit: `count` is a usize, the other is a small constant.
        let wanted = usize::try_from(READ.max(count as u64).min(rest)).unwrap_or(count);
        self.fill(wanted)?;
        Ok((self.filled >= count).then(|| &self.buffer[..count]))
    }

    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted {
            let offset = self.at + self.filled as u64;
            match self.file.read_at(&mut self.buffer[self.filled..wanted], offset) {
                // Shorter than it was when it was opened.
                Ok(0) => {
                    self.length = offset;
                    break;
                }
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(segment::read_error(&self.path, error)),
            }
        }
        Ok(())
    }
}
