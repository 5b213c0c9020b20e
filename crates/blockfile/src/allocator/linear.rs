//! Linear first fit, hole by hole: the oracle and the baseline of the tree.

use super::{Extent, LIMIT};

/// Holes in a sorted array; allocation and free take time proportional to their number.
#[derive(Clone, Debug)]
pub struct LinearFirstFit {
    holes: Vec<Extent>,
    visited: u64,
}

impl LinearFirstFit {
    /// All units from `first` on are free.
    pub fn new(first: u32) -> Self {
        Self { holes: vec![Extent { start: first, units: LIMIT - first }], visited: 0 }
    }

    /// Allocates at the lowest offset where `units` fit, or not at all.
    pub fn allocate(&mut self, units: u32) -> Option<Extent> {
        let fits =
            |hole: &Extent| hole.units >= units && (hole.end() < LIMIT || hole.units > units);
        let place = self.holes.iter().position(fits);
        self.visited += place.map_or(self.holes.len(), |place| place + 1) as u64;
        let place = place?;
        let hole = &mut self.holes[place];
        let start = hole.start;
        *hole = Extent { start: start + units, units: hole.units - units };
        if hole.units == 0 {
            self.holes.remove(place);
        }
        Some(Extent { start, units })
    }

    /// Frees an extent that is allocated; nothing is verified.
    pub fn free(&mut self, extent: Extent) {
        let place = self.holes.partition_point(|hole| hole.start < extent.start);
        self.holes.insert(place, extent);
        if self.holes.get(place + 1).is_some_and(|after| after.start == extent.end()) {
            self.holes[place].units += self.holes.remove(place + 1).units;
        }
        if place > 0 && self.holes[place - 1].end() == extent.start {
            self.holes[place - 1].units += self.holes.remove(place).units;
        }
    }

    /// The holes in order of their offsets.
    pub fn holes(&self) -> &[Extent] {
        &self.holes
    }

    /// How many holes allocations looked at.
    pub fn visited(&self) -> u64 {
        self.visited
    }
}
