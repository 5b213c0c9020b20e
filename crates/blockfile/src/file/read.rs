//! Reads blocks. No lock is held during input.
//!
//! The place of a block is looked up before the read and once more after it. If it is still the
//! same, the extent cannot have been reused in between; if the block was moved meanwhile, the read
//! is repeated at the new place.

use std::io;
use std::ops::Range;

use pelorus_env::{DiskFile, read_exact_at};
use pelorus_error::{Code, Error, Result};

use super::BlockFile;
use crate::format::{BLOCK_HEADER, BlockHeader, BlockId, Identity, Place};

/// The expected header of a block at an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) identity: Identity,
    pub(super) kind: u8,
    pub(super) number: u64,
    pub(super) generation: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) check: u64,
}

impl Expected {
    pub(super) fn of(identity: Identity, number: u64, place: &Place) -> Self {
        Self {
            identity,
            kind: place.kind,
            number,
            generation: place.generation,
            offset: place.offset(),
            length: u64::from(place.length),
            check: place.check,
        }
    }

    fn error(&self, code: Code, what: &str) -> Error {
        Error::new(code, format!("block {} at offset {}: {what}", self.number, self.offset))
    }

    fn damaged(&self, what: &str) -> Error {
        self.error(Code::FileDamaged, what)
    }

    fn read(&self, file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(file, buffer, offset).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return self.damaged("the file ends before it").caused_by(error);
            }
            self.error(Code::FileRead, "it cannot be read").caused_by(error)
        })
    }

    fn verify(&self, header: &[u8; BLOCK_HEADER], payload: &[u8]) -> Result<BlockHeader> {
        let (found, check) =
            BlockHeader::decode(header).map_err(|error| self.damaged(error.message()))?;
        if found.identity != self.identity {
            return Err(self.damaged("another table's block is there"));
        }
        if (found.number, found.kind) != (self.number, self.kind) {
            return Err(self.damaged(&format!("block {} is there", found.number)));
        }
        if found.generation != self.generation || found.length != self.length {
            return Err(self.damaged("another generation of it is there"));
        }
        if found.payload_crc != crc32c::crc32c(payload) {
            return Err(self.damaged("checksum mismatch"));
        }
        if check != self.check {
            return Err(self.damaged("it is intact, but not the one that is referred to"));
        }
        Ok(found)
    }
}

/// Reads and verifies a block; returns its header and its payload.
pub(super) fn read_block(
    file: &dyn DiskFile,
    expected: &Expected,
) -> Result<(BlockHeader, Vec<u8>)> {
    let mut header = [0; BLOCK_HEADER];
    expected.read(file, &mut header, expected.offset)?;
    let length = usize::try_from(expected.length).map_err(|_| expected.damaged("too long"))?;
    let mut payload = vec![0; length];
    expected.read(file, &mut payload, expected.offset + BLOCK_HEADER as u64)?;
    Ok((expected.verify(&header, &payload)?, payload))
}

impl BlockFile {
    /// Reads the payload of a block and verifies that it is the one that was written.
    ///
    /// # Errors
    /// [`Code::FileDamaged`] names file, block and offset; [`Code::FileRead`];
    /// [`Code::Internal`] when there is no such block.
    pub fn read(&self, id: BlockId) -> Result<Vec<u8>> {
        self.read_with(id, |place| {
            let expected = Expected::of(self.identity, id.get(), place);
            read_block(&*self.file, &expected).map(|(_, payload)| payload)
        })
    }

    /// Reads bytes of a block's payload and verifies nothing: the caller has a checksum of the
    /// part.
    ///
    /// # Errors
    /// As [`BlockFile::read`]; [`Code::FileDamaged`] only when the file is too short;
    /// [`Code::Internal`] also when the range lies outside the payload.
    pub fn read_part(&self, id: BlockId, range: Range<u64>) -> Result<Vec<u8>> {
        self.read_with(id, |place| {
            let length = range.end.checked_sub(range.start);
            let length = length.and_then(|length| usize::try_from(length).ok());
            let (Some(length), true) = (length, range.end <= u64::from(place.length)) else {
                return Err(Error::internal(format!(
                    "bytes {} to {} of block {id} of {} bytes were asked for",
                    range.start, range.end, place.length
                )));
            };
            let expected = Expected::of(self.identity, id.get(), place);
            let mut bytes = vec![0; length];
            let offset = place.offset() + BLOCK_HEADER as u64 + range.start;
            expected.read(&*self.file, &mut bytes, offset)?;
            Ok(bytes)
        })
    }

    fn read_with(&self, id: BlockId, read: impl Fn(&Place) -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        loop {
            let place = self.place(id)?;
            let result = read(&place);
            if self.place(id)? == place {
                return result.map_err(|error| {
                    let message = format!("file {}: {error}", self.path.display());
                    Error::new(error.code(), message).caused_by(error)
                });
            }
        }
    }

    pub(super) fn place(&self, id: BlockId) -> Result<Place> {
        self.table.read().get(id.get()).copied().ok_or_else(|| {
            Error::internal(format!("file {} has no block {id}", self.path.display()))
        })
    }
}
