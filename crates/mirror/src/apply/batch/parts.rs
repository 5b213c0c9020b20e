//! Changes with partial row images: computes the writes of one table.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use pelorus_binlog::Images;
use pelorus_error::{Error, Result};
use pelorus_store::{Database, Keys, taken};

use super::table::{Changes, parted};
use super::{Happened, TableBatch};
use crate::apply::partial_row_images::{Earlier, PartialRowImages, changes_of};
use crate::apply::snapshot_window::Window;
use crate::apply::unsettled_rows::UnsettledRows;
use crate::model::filter;

impl TableBatch {
    /// Makes writes of the changes where images lack columns.
    ///
    /// # Errors
    /// Changes that do not fit the copy, or need more than `most` bytes of it (1412), and errors of
    /// reading it.
    pub(super) fn finish_parts(
        &mut self,
        store: &Arc<Database>,
        doubts: &UnsettledRows,
        window: &mut Window,
        most: usize,
    ) -> Result<Changes> {
        let (mut after, before) = (self.after.finish()?, self.before.finish()?);
        filter::all_images(self.copy.columns(), &mut after);
        let rows = self.rows() as u64;
        self.complete_keys(&mut after)?;
        let mut of_before: Vec<ArrayRef> = after
            .arrays
            .iter()
            .map(|it| arrow::array::new_null_array(it.data_type(), before.rows))
            .collect();
        for (array, &at) in before.arrays.iter().zip(&self.of_before) {
            of_before[at] = Arc::clone(array);
        }
        let after_keys = self.copy.keys(after.rows, &after.arrays)?;
        let before_keys = self.copy.keys(before.rows, &of_before)?;
        let earlier = self.earlier(&after_keys, &before_keys);
        let parts = PartialRowImages {
            copy: self.copy.as_ref(),
            changes: changes_of(&after),
            after: &after,
            earlier: &earlier,
            after_keys: &after_keys,
            before_keys: &before_keys,
            of_before: &of_before,
            doubts,
            most,
        };
        let (puts, removes) = self.last_states(&after_keys, &before_keys);
        let folded = parts.fold(puts.values(), store)?;
        window.wait_for(&parts, &folded.missed)?;
        let mut writes = Vec::new();
        let count = folded.columns.first().map_or(0, |column| column.len());
        match self.copy.wanted(count, &folded.columns)? {
            None => self.put(&folded.columns, &mut writes)?,
            Some(wanted) => {
                let all = UInt32Array::from_iter_values(0..u32::try_from(count).unwrap_or(0));
                let (puts, unwanted) = parted(&all, &wanted);
                self.put(&taken(&folded.columns, &puts)?, &mut writes)?;
                let unwanted = taken(&folded.columns, &unwanted)?;
                let count = unwanted.first().map_or(0, |column| column.len());
                self.remove(&unwanted, count, &mut writes)?;
            }
        }
        self.remove(&taken(&of_before, &removes)?, removes.len(), &mut writes)?;
        // What is there under these keys is not what these changes are about.
        let again = UInt32Array::from(folded.again.clone());
        self.remove(&taken(&after.arrays, &again)?, again.len(), &mut writes)?;
        let condition = |row: &u32| self.copy.condition(&after.arrays, *row as usize);
        let conditions = folded.again.iter().map(condition).collect::<Result<_>>()?;
        let mut again = (Keys::default(), conditions);
        folded.again.iter().for_each(|row| again.0.push(after_keys.get(*row as usize)));
        let missed: HashSet<&[u8]> =
            folded.missed.iter().map(|row| after_keys.get(*row as usize)).collect();
        let mut keys = Keys::default();
        for key in after_keys.iter().chain(before_keys.iter()) {
            if !missed.contains(key) {
                keys.push(key);
            }
        }
        Ok(Changes { writes, keys: vec![keys], again, rows })
    }

    /// Gives new rows whose keys are their defaults these.
    fn complete_keys(&self, after: &mut Images) -> Result<()> {
        for &at in self.copy.key() {
            let Some(bits) = after.present[at].take() else { continue };
            let default = self.copy.columns()[at].absent.value();
            let default = default.ok_or_else(|| Error::internal("a key without its default"))?;
            let places: Vec<(usize, usize)> = bits
                .iter()
                .enumerate()
                .map(|(row, has)| if has { (0, row) } else { (1, 0) })
                .collect();
            let arrays: [&dyn Array; 2] = [after.arrays[at].as_ref(), default.as_ref()];
            after.arrays[at] = arrow::compute::interleave(&arrays, &places)
                .map_err(|error| Error::internal("keys cannot be completed").caused_by(error))?;
        }
        Ok(())
    }

    /// The state of each row before its image.
    fn earlier(&self, after: &Keys, before: &Keys) -> Vec<Earlier> {
        let mut last: HashMap<&[u8], Option<u32>> = HashMap::new();
        let mut earlier = Vec::with_capacity(after.len());
        let (mut new, mut old) = (0_u32, 0_u32);
        for (happened, rows) in &self.runs {
            for _ in 0..*rows {
                let mut was = Earlier::New;
                if *happened != Happened::Inserted {
                    let there = last.insert(before.get(old as usize), None);
                    if *happened == Happened::Updated {
                        was = match there {
                            Some(Some(image)) => Earlier::Image(image),
                            Some(None) => Earlier::Lost,
                            None => Earlier::Stored(old),
                        };
                    }
                    old += 1;
                }
                if *happened != Happened::Deleted {
                    last.insert(after.get(new as usize), Some(new));
                    earlier.push(was);
                    new += 1;
                }
            }
        }
        earlier
    }
}
