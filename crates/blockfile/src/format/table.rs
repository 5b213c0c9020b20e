//! The translation table: the location of each block of a checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use pelorus_error::Result;

use super::{Fields, PAYLOAD_MAX, RESERVED, UNIT, damaged, units_of};
use crate::allocator::{Extent, LIMIT};

const FIXED: usize = 24;
const ENTRY: usize = 40;

/// The location of a block, and its expected header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first unit of the file.
    pub(crate) unit: u32,
    /// Bytes of the payload.
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) generation: u64,
    pub(crate) check: u64,
}

impl Place {
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.unit) * UNIT
    }

    pub(crate) fn extent(&self) -> Extent {
        Extent { start: self.unit, units: units_of(self.length) }
    }
}

/// How many block numbers share a page of [`Places`].
const PAGE: u64 = 256;

/// Places by block number, in pages that copies share until one of them changes: a checkpoint takes
/// its copy of a million places without keeping readers waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// No page is empty.
    pages: BTreeMap<u64, Arc<BTreeMap<u64, Place>>>,
}

impl Places {
    pub(crate) fn get(&self, number: u64) -> Option<&Place> {
        self.pages.get(&(number / PAGE))?.get(&number)
    }

    pub(crate) fn insert(&mut self, number: u64, place: Place) {
        let page = self.pages.entry(number / PAGE).or_default();
        Arc::make_mut(page).insert(number, place);
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Place> {
        let page = self.pages.get_mut(&(number / PAGE))?;
        let place = Arc::make_mut(page).remove(&number);
        if page.is_empty() {
            self.pages.remove(&(number / PAGE));
        }
        place
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.values().map(|page| page.len()).sum()
    }

    /// All places, sorted by block number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Place)> {
        self.pages.values().flat_map(|page| page.iter()).map(|(number, place)| (*number, place))
    }

    /// All places, sorted by block number.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Place> {
        self.iter().map(|(_, place)| place)
    }
}

/// The blocks of a checkpoint by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) next_number: u64,
    pub(crate) checkpoint: u64,
    pub(crate) places: Places,
}

impl Table {
    /// Encodes the payload of the table's block.
    pub(crate) fn encode(next_number: u64, checkpoint: u64, places: &Places) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED + ENTRY * places.len());
        for number in [next_number, checkpoint, places.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        for (number, place) in places.iter() {
            bytes.extend(number.to_le_bytes());
            bytes.extend(place.offset().to_le_bytes());
            bytes.extend(place.length.to_le_bytes());
            bytes.extend([place.kind, 0, 0, 0]);
            bytes.extend(place.generation.to_le_bytes());
            bytes.extend(place.check.to_le_bytes());
        }
        bytes
    }

    /// Decodes a payload and verifies all that concerns single entries; overlaps are found when
    /// the allocator is rebuilt.
    pub(crate) fn decode(bytes: &[u8], file_length: u64) -> Result<Self> {
        let (Some(fixed), Some(entries)) = (bytes.get(..FIXED), bytes.get(FIXED..)) else {
            return Err(damaged("the translation table is cut"));
        };
        let fixed = Fields(fixed);
        let (next_number, checkpoint) = (fixed.u64(0), fixed.u64(8));
        let count = (entries.len() / ENTRY) as u64;
        if entries.len() % ENTRY != 0 || fixed.u64(16) != count {
            return Err(damaged("the translation table has another number of entries"));
        }
        let mut places = Places::default();
        let mut last = 0;
        for entry in entries.chunks_exact(ENTRY) {
            let fields = Fields(entry);
            let (number, offset) = (fields.u64(0), fields.u64(8));
            let unit = u32::try_from(offset / UNIT).ok().filter(|unit| *unit < LIMIT);
            let place = Place {
                unit: unit.unwrap_or(LIMIT),
                length: fields.u32(16),
                kind: entry[20],
                generation: fields.u64(24),
                check: fields.u64(32),
            };
            let fits = unit.is_some()
                && offset.is_multiple_of(UNIT)
                && offset >= RESERVED
                && place.length <= PAYLOAD_MAX
                && u64::from(place.extent().end()) * UNIT <= file_length;
            let ordered = last < number && number < next_number;
            if !fits || !ordered || place.kind == 0 || place.generation > checkpoint {
                return Err(damaged(format!(
                    "the translation table's entry of block {number} breaks the rules"
                )));
            }
            last = number;
            places.insert(number, place);
        }
        Ok(Self { next_number, checkpoint, places })
    }
}
