//! Writes and frees blocks: space is allocated under a short lock, output happens outside of it.

use std::io;

use pelorus_env::{AlignedBytes, write_all_at, write_all_direct};
use pelorus_error::{Code, Error, Result};

use super::read::{Expected, read_block};
use super::space::Space;
use super::{BlockFile, is_full, write_error};
use crate::allocator::Extent;
use crate::format::{BlockHeader, BlockId, KIND_TABLE, PAYLOAD_MAX, Place, SLOT, UNIT, units_of};

/// A block to be written.
pub(super) struct Draft<'a> {
    pub(super) kind: u8,
    pub(super) number: u64,
    pub(super) generation: u64,
    pub(super) lsn: u64,
    pub(super) payload: &'a [u8],
}

impl BlockFile {
    /// Writes a new block; it is durable with the next checkpoint that is begun. `kind` is the
    /// caller's, from 1 to 255. `lsn` is the log position of the block, for inspection.
    ///
    /// # Errors
    /// [`Code::DiskFull`]: nothing has happened, other writes may succeed. [`Code::FileWrite`]: the
    /// file accepts no more writes. [`Code::TableFailed`]: it already accepted none.
    /// [`Code::Internal`] for kind 0 or a payload longer than [`PAYLOAD_MAX`].
    pub fn write(&self, kind: u8, payload: &[u8], lsn: u64) -> Result<BlockId> {
        let (number, generation) = {
            let mut space = self.space.lock();
            (space.take_number(), space.last_begun + 1)
        };
        let place = self.write_new(&Draft { kind, number, generation, lsn, payload })?;
        self.table.write().insert(number, place);
        Ok(BlockId::new(number))
    }

    /// Writes a block of the user's.
    pub(super) fn write_new(&self, draft: &Draft<'_>) -> Result<Place> {
        if draft.kind == KIND_TABLE {
            return Err(Error::internal("kind 0 is that of translation tables"));
        }
        self.store(draft)
    }

    /// Writes a block to free space.
    pub(super) fn store(&self, draft: &Draft<'_>) -> Result<Place> {
        let length =
            u32::try_from(draft.payload.len()).ok().filter(|length| *length <= PAYLOAD_MAX);
        let Some(length) = length else {
            return Err(Error::internal(format!(
                "a block of {} bytes is longer than {PAYLOAD_MAX}",
                draft.payload.len()
            )));
        };
        let extent = self.allocate(units_of(length))?;
        self.store_at(draft, length, extent)
    }

    /// Writes a block to an extent that was allocated for it; gives it back if the disk is full.
    pub(super) fn store_at(&self, draft: &Draft<'_>, length: u32, extent: Extent) -> Result<Place> {
        let header = BlockHeader {
            kind: draft.kind,
            identity: self.identity,
            number: draft.number,
            generation: draft.generation,
            lsn: draft.lsn,
            length: u64::from(length),
            payload_crc: crc32c::crc32c(draft.payload),
        };
        let (bytes, check) = header.encode();
        let (kind, generation) = (draft.kind, draft.generation);
        let place = Place { unit: extent.start, length, kind, generation, check };
        // Whole units, past the memory of the operating system: who reads blocks keeps them.
        let units = u64::from(extent.units) * UNIT;
        let units = usize::try_from(units).unwrap_or(usize::MAX);
        let mut all = AlignedBytes::with_capacity(units);
        all.extend_from_slice(&bytes);
        all.extend_from_slice(draft.payload);
        all.resize(units, 0);
        write_all_direct(&*self.file, &all, place.offset()).map_err(|error| {
            let what =
                format!("failed to take block {} at offset {}", draft.number, place.offset());
            self.not_written(&what, extent, error)
        })?;
        Ok(place)
    }

    /// Decides the effect of a failed write of a block or header: after a full disk only the extent
    /// that was taken for it is lost.
    pub(super) fn not_written(&self, what: &str, extent: Extent, error: io::Error) -> Error {
        if !is_full(&error) {
            return self.fail(what, error);
        }
        let freed = self.space.lock().allocator.free(extent);
        match freed {
            Ok(()) => {
                self.release_tail();
                write_error(&self.path, Code::DiskFull, what, error)
            }
            Err(error) => error,
        }
    }

    /// Releases the space after the last block: on a full disk, incomplete writes there are
    /// useless, and other files may need the space.
    pub fn release_tail(&self) {
        let mut space = self.space.lock();
        let end = space.end();
        if space.length <= end {
            return;
        }
        match self.file.set_len(end) {
            Ok(()) => space.length = end,
            Err(error) => {
                space.failed.get_or_insert_with(|| format!("failed to be cut: {error}"));
            }
        }
    }

    /// Takes free space, and lets the file grow if it must.
    pub(super) fn allocate(&self, units: u32) -> Result<Extent> {
        let mut space = self.space.lock();
        self.prepare(&mut space)?;
        let extent = space.allocator.allocate(units)?;
        if let Some(length) = space.grown(extent) {
            if let Err(error) = self.file.set_len(length) {
                drop(space);
                return Err(self.not_written("failed to grow", extent, error));
            }
            space.length = length;
        }
        Ok(extent)
    }

    /// Verifies that the file takes writes, and clears a header slot that must not be chosen once
    /// something else was written.
    fn prepare(&self, space: &mut Space) -> Result<()> {
        self.writable(space)?;
        if let Some(slot) = space.clear_slot {
            let offset = u64::from(slot) * SLOT as u64;
            write_all_at(&*self.file, &[0; SLOT], offset).and_then(|()| self.file.sync()).map_err(
                |error| space.fail(&self.path, "failed to clear an unusable header slot", error),
            )?;
            space.clear_slot = None;
        }
        Ok(())
    }

    /// Takes a block out of the present state. Its space is reused when no header refers to it any
    /// more. Reads of the block that have begun return it or an error, never something else.
    ///
    /// # Errors
    /// [`Code::Internal`] when there is no such block.
    pub fn free(&self, id: BlockId) -> Result<()> {
        let mut space = self.space.lock();
        let place = self.table.write().remove(id.get()).ok_or_else(|| {
            Error::internal(format!("file {} has no block {id} to free", self.path.display()))
        })?;
        space.retire(place.extent(), place.generation)
    }

    /// Moves blocks into holes nearer to the start of the file, those at its end first, until so many
    /// bytes were written; returns how many, none when no block fits a hole before it. Repeated before
    /// checkpoints, it lets them cut the file: where the last block fits nowhere, others make room.
    ///
    /// # Errors
    /// Those of [`BlockFile::read`] and [`BlockFile::write`].
    pub fn relocate_tail(&self, bytes_max: u64) -> Result<u64> {
        let places = self.table.read().clone();
        let mut tail: Vec<(u32, u64)> =
            places.iter().map(|(number, place)| (place.unit, number)).collect();
        tail.sort_unstable();
        let mut written = 0;
        while written < bytes_max
            && let Some((unit, number)) = tail.pop()
        {
            written += self.relocate(BlockId::new(number), unit)?;
        }
        Ok(written)
    }

    /// Moves one block if there is a hole for it below `unit`; returns how many bytes were written.
    fn relocate(&self, id: BlockId, unit: u32) -> Result<u64> {
        let (number, Ok(old)) = (id.get(), self.place(id)) else { return Ok(0) };
        let (extent, generation) = {
            let mut space = self.space.lock();
            self.prepare(&mut space)?;
            let extent = space.allocator.allocate(old.extent().units)?;
            if extent.start >= unit {
                return space.allocator.free(extent).map(|()| 0);
            }
            (extent, space.last_begun + 1)
        };
        let (header, payload) =
            match read_block(&*self.file, &Expected::of(self.identity, number, &old)) {
                Ok(block) => block,
                Err(error) => {
                    self.space.lock().allocator.free(extent)?;
                    // It may have been freed meanwhile, and its space reused.
                    let is_gone = self.place(id).ok() != Some(old);
                    let named = || self.named("a block cannot be moved", error);
                    return if is_gone { Ok(0) } else { Err(named()) };
                }
            };
        let lsn = header.lsn;
        let draft = Draft { kind: old.kind, number, generation, lsn, payload: &payload };
        let new = self.store_at(&draft, old.length, extent)?;
        let mut space = self.space.lock();
        if self.place(id).ok() != Some(old) {
            // It was freed meanwhile; no reader has seen the copy.
            return space.allocator.free(extent).map(|()| 0);
        }
        self.table.write().insert(number, new);
        space.retire(old.extent(), old.generation)?;
        Ok(u64::from(old.length))
    }
}
