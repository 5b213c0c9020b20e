//! Checkpoints: from a consistent cut of the current state to a durable header.

use pelorus_env::{AlignedBytes, write_all_direct};
use pelorus_error::{Error, Result};

use super::BlockFile;
use super::write::Draft;
use crate::allocator::Extent;
use crate::format::{BlockId, Header, KIND_TABLE, Places, SLOT, Table, TableRef, UNIT};

/// A checkpoint in progress. It contains the blocks that existed when it was begun, and those that
/// are written through it. Writes and frees of the file itself continue meanwhile and do not change
/// it. Dropping it abandons the checkpoint.
#[derive(Debug)]
pub struct Checkpointing<'a> {
    file: &'a BlockFile,
    number: u64,
    places: Places,
}

impl BlockFile {
    /// Begins a checkpoint of all current blocks.
    ///
    /// # Errors
    /// `Code::TableFailed` when a write has failed; `Code::Internal` when another checkpoint is in
    /// progress.
    pub fn begin_checkpoint(&self) -> Result<Checkpointing<'_>> {
        let mut space = self.space.lock();
        self.writable(&space)?;
        if std::mem::replace(&mut space.in_progress, true) {
            return Err(Error::internal(format!(
                "file {} has a checkpoint in progress",
                self.path.display()
            )));
        }
        space.last_begun += 1;
        let places = self.table.read().clone();
        Ok(Checkpointing { file: self, number: space.last_begun, places })
    }

    /// Begins a checkpoint and commits it, for callers whose root is written already.
    ///
    /// # Errors
    /// Those of [`BlockFile::begin_checkpoint`] and [`Checkpointing::commit`].
    pub fn checkpoint(
        &self,
        root: BlockId,
        lsn: u64,
        log_synced: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.begin_checkpoint()?.commit(root, lsn, log_synced)
    }

    fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|error| self.fail("failed to sync", error))
    }

    /// Makes a header the newest one; frees space and cuts the file.
    fn publish(&self, header: Header, table_extent: Extent) -> Result<()> {
        let mut space = self.space.lock();
        space.publish(header, table_extent)?;
        if let Some(length) = space.cut() {
            // The checkpoint is durable whatever becomes of the length.
            match self.file.set_len(length) {
                Ok(()) => space.length = length,
                Err(error) => {
                    space.failed.get_or_insert_with(|| format!("failed to be cut: {error}"));
                }
            }
        }
        Ok(())
    }
}

impl Checkpointing<'_> {
    /// The number that the checkpoint will have.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Writes a block that belongs to this checkpoint, its root for example. It belongs to the
    /// present state as well, even if the checkpoint is given up.
    ///
    /// # Errors
    /// Those of [`BlockFile::write`].
    pub fn write(&mut self, kind: u8, payload: &[u8], lsn: u64) -> Result<BlockId> {
        let number = self.file.space.lock().take_number();
        let draft = Draft { kind, number, generation: self.number, lsn, payload };
        let place = self.file.write_new(&draft)?;
        self.file.table.write().insert(number, place);
        self.places.insert(number, place);
        Ok(BlockId::new(number))
    }

    /// Makes the checkpoint durable and the newest one. `log_synced` returns when the log is
    /// durable up to `lsn`; it is called before any header is touched.
    ///
    /// # Errors
    /// Those of `log_synced`; `Code::DiskFull`: the file is unchanged, another checkpoint may
    /// succeed; `Code::FileWrite`: the file accepts no more writes, and whether the checkpoint is
    /// durable shows when it is opened again; `Code::Internal` when the root is no block of the
    /// checkpoint.
    pub fn commit(
        self,
        root: BlockId,
        lsn: u64,
        log_synced: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.places.get(root.get()).is_none() {
            return Err(Error::internal(format!("root block {root} is not in the checkpoint")));
        }
        log_synced()?;
        let file = self.file;
        let (next_number, previous) = {
            let space = file.space.lock();
            (space.next_number, space.durable)
        };
        let payload = Table::encode(next_number, self.number, &self.places);
        let table = file.store(&Draft {
            kind: KIND_TABLE,
            number: 0,
            generation: self.number,
            lsn,
            payload: &payload,
        })?;
        file.sync()?;
        let extents = self.places.values().chain([&table]).map(|place| place.extent());
        let header = Header {
            slot: 1 - previous.slot,
            identity: file.identity,
            number: self.number,
            previous: previous.number,
            lsn,
            previous_lsn: previous.lsn,
            root: root.get(),
            file_length: extents.map(|extent| u64::from(extent.end()) * UNIT).max().unwrap_or(0),
            table: Some(TableRef {
                offset: table.offset(),
                length: u64::from(table.length),
                check: table.check,
            }),
        };
        let offset = u64::from(header.slot) * SLOT as u64;
        // Past the memory of the operating system: after a failed sync the header stays there, marked
        // as written, and who opens the file would take it for the newest durable one.
        let mut bytes = AlignedBytes::with_capacity(SLOT);
        bytes.extend_from_slice(&header.encode());
        // If there is no space, part or all of the header may still be there and become durable
        // at any time. With its table reused it is not usable, and the file stands where it stood.
        write_all_direct(&*file.file, &bytes, offset)
            .map_err(|error| file.not_written("failed to take a header", table.extent(), error))?;
        file.sync()?;
        file.publish(header, table.extent())
    }
}

impl Drop for Checkpointing<'_> {
    fn drop(&mut self) {
        self.file.space.lock().in_progress = false;
    }
}
