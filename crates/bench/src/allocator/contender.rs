//! Allocators of ranges under one trait: ours, the linear search, and two libraries.

use std::ops::Range;

use anyhow::Context as _;
use pelorus_blockfile::allocator::{Allocator, Extent, LIMIT, LinearFirstFit};

/// Something that allocates ranges of units.
pub(super) trait Contender {
    /// What an allocation is freed by.
    type Block: Copy;

    /// Allocates.
    fn take(&mut self, units: u32) -> anyhow::Result<Self::Block>;

    /// Frees.
    fn give_back(&mut self, block: Self::Block) -> anyhow::Result<()>;

    /// Where an allocation lies.
    fn extent(block: Self::Block) -> Extent;
}

impl Contender for Allocator {
    type Block = Extent;

    fn take(&mut self, units: u32) -> anyhow::Result<Extent> {
        Ok(self.allocate(units)?)
    }

    fn give_back(&mut self, block: Extent) -> anyhow::Result<()> {
        Ok(self.free(block)?)
    }

    fn extent(block: Extent) -> Extent {
        block
    }
}

/// First fit, one hole after the other.
pub(super) struct Linear {
    holes: LinearFirstFit,
    /// Holes that were visited before the measurement.
    before: u64,
}

impl Linear {
    pub(super) fn new(holes: LinearFirstFit) -> Self {
        let before = holes.visited();
        Self { holes, before }
    }

    /// Holes that were visited since.
    pub(super) fn visited(&self) -> u64 {
        self.holes.visited() - self.before
    }
}

impl Contender for Linear {
    type Block = Extent;

    fn take(&mut self, units: u32) -> anyhow::Result<Extent> {
        self.holes.allocate(units).context("linear: nothing fits")
    }

    fn give_back(&mut self, block: Extent) -> anyhow::Result<()> {
        self.holes.free(block);
        Ok(())
    }

    fn extent(block: Extent) -> Extent {
        block
    }
}

/// The crate range-alloc: best fit over an array of free ranges.
pub(super) struct Gaps(range_alloc::RangeAllocator<u32>);

impl Gaps {
    pub(super) fn new(first: u32) -> Self {
        Self(range_alloc::RangeAllocator::new(first..LIMIT))
    }
}

impl Contender for Gaps {
    type Block = Extent;

    fn take(&mut self, units: u32) -> anyhow::Result<Extent> {
        let Range { start, end } =
            self.0.allocate_range(units).ok().context("range-alloc: nothing fits")?;
        Ok(Extent { start, units: end - start })
    }

    fn give_back(&mut self, block: Extent) -> anyhow::Result<()> {
        self.0.free_range(block.start..block.end());
        Ok(())
    }

    fn extent(block: Extent) -> Extent {
        block
    }
}

/// The crate offset-allocator: free ranges in bins by size, any of a bin that fits; O(1).
pub(super) struct Bins(offset_allocator::Allocator);

/// An allocation of [`Bins`], which does not tell its length.
#[derive(Clone, Copy)]
pub(super) struct Binned {
    at: offset_allocator::Allocation,
    units: u32,
}

impl Bins {
    /// Room for so many blocks and their holes.
    pub(super) fn new(blocks: u64) -> anyhow::Result<Self> {
        let ranges = u32::try_from(blocks * 3 + 1024)?;
        Ok(Self(offset_allocator::Allocator::with_max_allocs(LIMIT, ranges)))
    }
}

impl Contender for Bins {
    type Block = Binned;

    fn take(&mut self, units: u32) -> anyhow::Result<Binned> {
        let at = self.0.allocate(units).context("offset-allocator: nothing fits")?;
        Ok(Binned { at, units })
    }

    fn give_back(&mut self, block: Binned) -> anyhow::Result<()> {
        self.0.free(block.at);
        Ok(())
    }

    fn extent(block: Binned) -> Extent {
        Extent { start: block.at.offset, units: block.units }
    }
}
