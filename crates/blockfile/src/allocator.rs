//! The allocator of a file's units: first fit in O(log n) by a tree of holes with the largest hole
//! of each subtree.
//!
//! The idea of the max-hole-size tree is PerconaFT's (change FT-724 of 2016). Different here: all
//! sizes are whole units, so that no slivers arise; nodes lie in an arena and carry one label; and
//! every allocated extent is recorded, so that a wrong free is an error and not an overlap later.
//!
//! Invariants, checked by [`Allocator::check`]:
//! - I1 holes are disjoint, sorted, and never touch each other;
//! - I2 the label of a node is the largest hole of its subtree;
//! - I3 [`Allocator::allocate`] returns the lowest offset that fits;
//! - I4 holes and allocated extents together are exactly `first..LIMIT`;
//! - I5 the tree is balanced (AVL), so that an operation visits O(log holes) nodes.

mod linear;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use pelorus_error::{Code, Error, Result};

pub use linear::LinearFirstFit;
use tree::Tree;

/// The unit after the last one: 16 TiB in units of 4 KiB.
pub const LIMIT: u32 = u32::MAX;

/// A run of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// The first unit.
    pub start: u32,
    /// How many units; never 0.
    pub units: u32,
}

impl Extent {
    /// The unit after the last one.
    pub fn end(self) -> u32 {
        self.start.saturating_add(self.units)
    }
}

/// Hashes a unit number by one multiplication. Unit numbers are no input of an attacker.
#[derive(Clone, Copy, Debug, Default)]
struct UnitHasher(u64);

impl Hasher for UnitHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, unit: u32) {
        let word = (self.0 ^ u64::from(unit)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = word ^ (word >> 32);
    }
}

/// The free and the allocated units of a file.
#[derive(Clone, Debug)]
pub struct Allocator {
    first: u32,
    holes: Tree,
    /// Units of each allocated extent by its first unit.
    allocated: HashMap<u32, u32, BuildHasherDefault<UnitHasher>>,
    allocated_units: u64,
}

impl Allocator {
    /// All units from `first` on are free.
    pub fn new(first: u32) -> Self {
        Self {
            first,
            holes: Tree::build(&[Extent { start: first, units: LIMIT - first }]),
            allocated: HashMap::default(),
            allocated_units: 0,
        }
    }

    /// The state in which exactly these extents, in any order, are allocated.
    ///
    /// # Errors
    /// [`Code::FileDamaged`] when an extent is empty, lies below `first` or beyond [`LIMIT`], or
    /// overlaps another.
    pub fn rebuild(first: u32, extents: impl IntoIterator<Item = Extent>) -> Result<Self> {
        let mut extents: Vec<Extent> = extents.into_iter().collect();
        extents.sort_unstable();
        let mut holes = Vec::new();
        let mut allocated = HashMap::default();
        let mut allocated_units = 0;
        let mut end = first;
        for extent in extents {
            if extent.units == 0 || extent.units >= LIMIT - extent.start || extent.start < end {
                return Err(Error::new(
                    Code::FileDamaged,
                    format!(
                        "extent of {} units at unit {} overlaps another or lies outside the file",
                        extent.units, extent.start
                    ),
                ));
            }
            if extent.start > end {
                holes.push(Extent { start: end, units: extent.start - end });
            }
            allocated.insert(extent.start, extent.units);
            allocated_units += u64::from(extent.units);
            end = extent.end();
        }
        holes.push(Extent { start: end, units: LIMIT - end });
        Ok(Self { first, holes: Tree::build(&holes), allocated, allocated_units })
    }

    /// Allocates at the lowest offset where `units` fit.
    ///
    /// # Errors
    /// [`Code::DiskFull`] when the file would grow beyond [`LIMIT`]; [`Code::Internal`] for no
    /// units at all.
    pub fn allocate(&mut self, units: u32) -> Result<Extent> {
        let hole = self.holes.first_fit(units);
        self.take(hole, units)
    }

    /// Allocates after everything that is allocated, for bulk loads that want to be contiguous.
    ///
    /// # Errors
    /// As [`Allocator::allocate`].
    pub fn allocate_at_end(&mut self, units: u32) -> Result<Extent> {
        let hole = self.holes.last();
        self.take(hole.filter(|hole| hole.units >= units), units)
    }

    fn take(&mut self, hole: Option<Extent>, units: u32) -> Result<Extent> {
        if units == 0 {
            return Err(Error::internal("an extent of no units was asked for"));
        }
        // One unit stays free at the end, so that the last hole never vanishes.
        let hole = hole.filter(|hole| hole.end() < LIMIT || hole.units > units);
        let Some(hole) = hole else {
            return Err(Error::new(
                Code::DiskFull,
                format!("{units} units do not fit into a file of {LIMIT}"),
            ));
        };
        if hole.units == units {
            self.holes.remove(hole.start);
        } else {
            let rest = Extent { start: hole.start + units, units: hole.units - units };
            self.holes.replace(hole.start, rest);
        }
        self.allocated.insert(hole.start, units);
        self.allocated_units += u64::from(units);
        Ok(Extent { start: hole.start, units })
    }

    /// Frees an extent exactly as it was allocated, and joins it with free neighbours.
    ///
    /// # Errors
    /// [`Code::Internal`], and nothing changes, when no extent starts there or it has another
    /// length.
    pub fn free(&mut self, extent: Extent) -> Result<()> {
        match self.allocated.get(&extent.start) {
            Some(units) if *units == extent.units => {}
            found => {
                return Err(Error::internal(format!(
                    "free of {} units at unit {}, where {} are allocated",
                    extent.units,
                    extent.start,
                    found.copied().unwrap_or(0)
                )));
            }
        }
        self.allocated.remove(&extent.start);
        self.allocated_units -= u64::from(extent.units);
        let (before, after) = self.holes.neighbours(extent.start);
        let before = before.filter(|hole| hole.end() == extent.start);
        let after = after.filter(|hole| hole.start == extent.end());
        match (before, after) {
            (None, None) => self.holes.insert(extent),
            (Some(hole), None) => {
                let joined = Extent { start: hole.start, units: hole.units + extent.units };
                self.holes.replace(hole.start, joined);
            }
            (None, Some(hole)) => {
                let joined = Extent { start: extent.start, units: extent.units + hole.units };
                self.holes.replace(hole.start, joined);
            }
            (Some(low), Some(high)) => {
                self.holes.remove(high.start);
                let units = low.units + extent.units + high.units;
                self.holes.replace(low.start, Extent { start: low.start, units });
            }
        }
        Ok(())
    }

    /// The unit after the last allocated one; [`Allocator::new`]'s `first` when there is none.
    pub fn end(&self) -> u32 {
        self.holes.iter_last().map_or(LIMIT, |hole| hole.start)
    }

    /// The holes in order of their offsets; the last one is the rest of the file.
    pub fn holes(&self) -> Vec<Extent> {
        self.holes.to_vec()
    }

    /// The allocated extents in order of their offsets.
    pub fn allocated(&self) -> Vec<Extent> {
        let mut extents: Vec<Extent> =
            self.allocated.iter().map(|(&start, &units)| Extent { start, units }).collect();
        extents.sort_unstable();
        extents
    }

    /// How many units are allocated.
    pub fn allocated_units(&self) -> u64 {
        self.allocated_units
    }

    /// How many nodes of the tree were visited since the start, for measurements.
    pub fn visited(&self) -> u64 {
        self.holes.visited()
    }

    /// Verifies the invariants I1, I2, I4 and I5.
    ///
    /// # Errors
    /// [`Code::Internal`] names the invariant that does not hold.
    pub fn check(&self) -> Result<()> {
        self.holes.check()?;
        let mut extents = self.allocated();
        let holes = self.holes.to_vec();
        if holes.windows(2).any(|pair| pair[0].end() >= pair[1].start) {
            return Err(Error::internal("I1: holes touch or overlap"));
        }
        extents.extend(holes);
        extents.sort_unstable();
        let mut end = self.first;
        for extent in extents {
            if extent.start != end || extent.units == 0 {
                return Err(Error::internal(format!("I4: unit {end} is neither free nor used")));
            }
            end = extent.end();
        }
        if end == LIMIT { Ok(()) } else { Err(Error::internal("I4: the last hole is gone")) }
    }
}
