//! Partial row images of rows that are not in the copy yet because their range is still being read.

use std::collections::{HashMap, VecDeque};

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::buffer::BooleanBuffer;
use pelorus_error::Result;
use pelorus_store::{Keys, taken};

use super::{PartialRowImages, cannot};

/// PartialRowImages of rows that a range that is being read may bring.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    /// The oldest first.
    parts: VecDeque<Noted>,
    /// How many parts were forgotten before those.
    forgotten: usize,
    /// By key: the number of a part, from the first that ever was, and the row in it; the oldest
    /// first.
    rows: HashMap<Vec<u8>, Vec<(usize, usize)>>,
}

/// The images of rows that one batch had.
#[derive(Debug)]
struct Noted {
    /// How many windows had been opened.
    at: u64,
    arrays: Vec<ArrayRef>,
    present: Vec<Option<BooleanBuffer>>,
}

impl Awaited {
    /// Notes the images of rows that the copy does not have yet, when `at` windows had been opened.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn add(
        &mut self,
        parts: &PartialRowImages<'_>,
        missed: &[u32],
        at: u64,
    ) -> Result<()> {
        let number = self.forgotten + self.parts.len();
        let mut images: Vec<u32> = Vec::new();
        for &row in missed {
            let key = parts.after_keys.get(row as usize).to_vec();
            let rows = self.rows.entry(key).or_default();
            for image in parts.images_of(row) {
                rows.push((number, images.len()));
                images.push(image);
            }
        }
        if images.is_empty() {
            return Ok(());
        }
        let bits = |bits: &Option<BooleanBuffer>| {
            bits.as_ref().map(|bits| images.iter().map(|&it| bits.value(it as usize)).collect())
        };
        let present = parts.after.present.iter().map(bits).collect();
        let images = UInt32Array::from(images.clone());
        self.parts.push_back(Noted { at, arrays: taken(&parts.after.arrays, &images)?, present });
        Ok(())
    }

    /// Forgets images that were noted before a window was opened: rows that are read through that
    /// window contain them.
    pub(crate) fn forget_before(&mut self, oldest: u64) {
        let old = self.parts.partition_point(|part| part.at < oldest);
        if old == 0 {
            return;
        }
        self.parts.drain(..old);
        self.forgotten += old;
        self.rows.retain(|_, images| {
            images.retain(|(number, _)| *number >= self.forgotten);
            !images.is_empty()
        });
        self.rows.shrink_to(2 * self.rows.len());
    }

    /// Other changes of a row have made it known, or have removed it.
    pub(crate) fn forget(&mut self, key: &[u8]) {
        self.rows.remove(key);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Merges rows that were read with their noted images. The images stay: a row that was
    /// requested again may come twice.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn fold(&self, keys: &Keys, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let of_row = |(row, key)| Some((row, self.rows.get(key)?));
        let of_rows: HashMap<usize, &Vec<(usize, usize)>> =
            keys.iter().enumerate().filter_map(of_row).collect();
        if of_rows.is_empty() {
            return Ok(columns);
        }
        let column = |(at, read): (usize, &ArrayRef)| {
            let mut arrays: Vec<&dyn Array> = vec![read.as_ref()];
            arrays.extend(self.parts.iter().map(|part| part.arrays[at].as_ref()));
            let has = |(number, row): &&(usize, usize)| {
                let present = &self.parts[number - self.forgotten].present[at];
                present.as_ref().is_none_or(|bits| bits.value(*row))
            };
            let place = |row: usize| {
                let last = of_rows.get(&row).and_then(|parts| parts.iter().rev().find(has));
                last.map_or((0, row), |(number, row)| (number - self.forgotten + 1, *row))
            };
            let places: Vec<(usize, usize)> = (0..read.len()).map(place).collect();
            arrow::compute::interleave(&arrays, &places).map_err(cannot)
        };
        columns.iter().enumerate().map(column).collect()
    }
}
