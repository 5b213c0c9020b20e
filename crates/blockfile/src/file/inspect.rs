//! Inspection of a file: statistics of its space, and verification of its blocks.

use pelorus_error::{Error, Result};

use super::BlockFile;
use super::open::read_header;
use crate::allocator::{Allocator, Extent};
use crate::format::{BlockId, Place, UNIT};

/// Figures of a file, in bytes where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The file, holes included.
    pub file_length: u64,
    /// How many blocks the present state has.
    pub blocks: u64,
    /// The extents of these blocks.
    pub live: u64,
    /// Extents that only a header or a checkpoint in progress refers to, translation tables
    /// included.
    pub retired: u64,
    /// How many holes lie between extents.
    pub holes: u64,
    /// All these holes.
    pub hole_bytes: u64,
    /// The largest of them.
    pub largest_hole: u64,
}

/// How the bytes of a file are used; the rest of `length` are holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The file.
    pub length: u64,
    /// Blocks of the present state, and the translation table.
    pub live: u64,
    /// Extents that become holes when two checkpoints have been made.
    pub retired: u64,
}

/// A block of the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub id: BlockId,
    /// Its kind, as it was written.
    pub kind: u8,
    /// Where it lies in the file.
    pub offset: u64,
    /// Bytes of its payload.
    pub length: u32,
    /// The first checkpoint that this copy can be part of.
    pub generation: u64,
}

/// Something damaged.
#[derive(Debug)]
pub struct Damage {
    /// The block, or `None` for a header slot.
    pub block: Option<BlockId>,
    /// The problem; names file, block and offset.
    pub error: Error,
}

impl BlockFile {
    /// How the file is used at this moment. Cheap, unlike [`BlockFile::statistics`].
    pub fn usage(&self) -> Usage {
        let space = self.space.lock();
        let retired = space.retired_units() * UNIT;
        let live = (space.allocator.allocated_units() * UNIT).saturating_sub(retired);
        Usage { length: space.length, live, retired }
    }

    /// Figures of the file at this moment.
    pub fn statistics(&self) -> Statistics {
        let space = self.space.lock();
        let mut holes = space.allocator.holes();
        holes.pop();
        let bytes = |extent: Extent| u64::from(extent.units) * UNIT;
        let table = self.table.read().clone();
        let live = table.values().map(|place| bytes(place.extent())).sum();
        Statistics {
            file_length: space.length,
            blocks: table.len() as u64,
            live,
            retired: (space.allocator.allocated_units() * UNIT).saturating_sub(live),
            holes: holes.len() as u64,
            hole_bytes: holes.iter().copied().map(bytes).sum(),
            largest_hole: holes.iter().copied().map(bytes).max().unwrap_or(0),
        }
    }

    /// The blocks of the present state, sorted by number.
    pub fn blocks(&self) -> Vec<Block> {
        let table = self.table.read().clone();
        let block = |(number, place): (u64, &Place)| Block {
            id: BlockId::new(number),
            kind: place.kind,
            offset: place.offset(),
            length: place.length,
            generation: place.generation,
        };
        table.iter().map(block).collect()
    }

    /// Reads both headers and all blocks; returns the damaged or unreadable ones. Blocks that are
    /// freed meanwhile are left out.
    pub fn verify_all(&self) -> Vec<Damage> {
        let mut damages = Vec::new();
        for slot in [0, 1] {
            if let Err(error) = read_header(&*self.file, slot, self.identity) {
                let error = self.named(&format!("header slot {slot}"), error);
                damages.push(Damage { block: None, error });
            }
        }
        for block in self.blocks() {
            if let Err(error) = self.read(block.id)
                && self.place(block.id).is_ok()
            {
                damages.push(Damage { block: Some(block.id), error });
            }
        }
        damages
    }

    /// Verifies that the allocator holds exactly the referenced extents. Only true while nothing is
    /// written.
    ///
    /// # Errors
    /// [`Code::Internal`](pelorus_error::Code::Internal) names the difference.
    pub fn check_space(&self) -> Result<()> {
        let space = self.space.lock();
        space.allocator.check()?;
        let table = self.table.read();
        let retired = space.retired.iter().map(|(_, extent)| *extent);
        let extents = table.values().map(|place| place.extent()).chain(space.table_extent);
        let rebuilt = Allocator::rebuild(super::space::FIRST, extents.chain(retired))?;
        if rebuilt.allocated() != space.allocator.allocated() {
            return Err(Error::internal("I6: the allocator differs from what is referred to"));
        }
        Ok(())
    }
}
