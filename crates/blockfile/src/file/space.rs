//! Space management: the free parts of the file, those that become free, and the state of
//! checkpoints.
//!
//! An extent that leaves the current state is *retired* with the number of the last checkpoint that
//! can refer to it. It becomes free when the older of the two headers is newer than that: two
//! generations are preserved, so that both headers always describe intact blocks.

use std::io;
use std::path::Path;

use pelorus_error::{Code, Error, Result};

use super::write_error;
use crate::allocator::{Allocator, Extent};
use crate::format::{Header, RESERVED, UNIT};

/// The first unit that can hold a block.
pub(super) const FIRST: u32 = 16;
const _: () = assert!(FIRST as u64 * UNIT == RESERVED);

/// The file grows by an eighth of its length, but by no less and no more than this (in units:
/// 64 KiB and 8 MiB).
const STEP: std::ops::RangeInclusive<u64> = 16..=2048;

#[derive(Debug)]
pub(super) struct Space {
    pub(super) allocator: Allocator,
    /// Length of the file in bytes.
    pub(super) length: u64,
    pub(super) next_number: u64,
    /// The number of the last checkpoint that was begun; current writes belong to the next.
    pub(super) last_begun: u64,
    pub(super) in_progress: bool,
    /// The newest durable header.
    pub(super) durable: Header,
    /// The translation table of `durable`.
    pub(super) table_extent: Option<Extent>,
    /// Extents with the number of the last checkpoint that can refer to them.
    pub(super) retired: Vec<(u64, Extent)>,
    /// An unusable header slot that must be cleared before anything else is written.
    pub(super) clear_slot: Option<u32>,
    /// Why nothing can be written any more.
    pub(super) failed: Option<String>,
}

impl Space {
    /// Nothing is allocated.
    pub(super) fn new(durable: Header, length: u64) -> Self {
        Self {
            allocator: Allocator::new(FIRST),
            length,
            next_number: 1,
            last_begun: durable.number,
            in_progress: false,
            durable,
            table_extent: None,
            retired: Vec::new(),
            clear_slot: None,
            failed: None,
        }
    }

    pub(super) fn take_number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// Refuses all further writes; returns the error for the one that failed.
    pub(super) fn fail(&mut self, path: &Path, what: &str, error: io::Error) -> Error {
        self.failed.get_or_insert_with(|| format!("{what}: {error}"));
        write_error(path, Code::FileWrite, what, error)
    }

    /// An extent of a block leaves the present state. `generation` is the first checkpoint that
    /// can refer to it.
    pub(super) fn retire(&mut self, extent: Extent, generation: u64) -> Result<()> {
        if generation > self.last_begun {
            return self.allocator.free(extent);
        }
        self.retired.push((self.last_begun, extent));
        Ok(())
    }

    /// Units that leave the file when checkpoints allow it.
    pub(super) fn retired_units(&self) -> u64 {
        self.retired.iter().map(|(_, extent)| u64::from(extent.units)).sum()
    }

    /// A checkpoint is durable: frees extents to which neither its header nor the previous one
    /// refers.
    pub(super) fn publish(&mut self, header: Header, table_extent: Extent) -> Result<()> {
        let previous = self.durable.number;
        let retired = std::mem::take(&mut self.retired);
        let (free, kept) = retired.into_iter().partition(|(last, _)| *last < previous);
        self.retired = kept;
        if let Some(old) = self.table_extent.replace(table_extent) {
            self.retired.push((previous, old));
        }
        self.durable = header;
        let free: Vec<(u64, Extent)> = free;
        free.into_iter().try_for_each(|(_, extent)| self.allocator.free(extent))
    }

    /// By how much a file with so many units in use grows beyond what is needed.
    fn step(&self) -> u64 {
        (u64::from(self.allocator.end()) / 8).clamp(*STEP.start(), *STEP.end()) * UNIT
    }

    /// The length that the file must grow to, if any, now that an extent was allocated.
    pub(super) fn grown(&self, extent: Extent) -> Option<u64> {
        let end = u64::from(extent.end()) * UNIT;
        (end > self.length).then(|| end + self.step())
    }

    /// Where the last block ends. Both headers' blocks are allocated, so this is beyond theirs.
    pub(super) fn end(&self) -> u64 {
        u64::from(self.allocator.end()) * UNIT
    }

    /// The length that the file can be cut to, if it is much longer than needed.
    pub(super) fn cut(&self) -> Option<u64> {
        let end = self.end();
        (self.length > end + 2 * self.step()).then_some(end)
    }
}
