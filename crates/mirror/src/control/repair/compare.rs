//! Compares the rows of both sides, key by key.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, UInt32Array, new_null_array};
use pelorus_error::{Error, Result};
use pelorus_store::{Keys, TableSnapshot, taken};

use super::{Differs, Examination, Looked, Suspects};

/// One candidate for a difference: a key that is on one side or on both.
pub(super) struct Candidate {
    /// Its place among the rows that were read.
    pub(super) there: Option<u32>,
    /// Its place among the keys of the group.
    pub(super) place: u32,
    pub(super) state: Option<Differs>,
}

impl Examination<'_> {
    /// The keys of a group, those of the rows that were read first: encoded, and as all columns of
    /// which only those of the key have values.
    pub(super) fn keys(&self, looked: &Looked) -> Result<(Keys, Vec<ArrayRef>)> {
        let cannot = |error| Error::internal("keys cannot be put together").caused_by(error);
        let key = self.copy.key();
        let mut all = Vec::with_capacity(looked.rows.len());
        let more = looked.suspects.keys.first().map_or(0, |it| it.len());
        let count = looked.rows.first().map_or(0, |it| it.len()) + more;
        for (at, rows) in looked.rows.iter().enumerate() {
            all.push(match key.iter().position(|it| *it == at) {
                Some(part) => {
                    let own = looked.suspects.keys.get(part).filter(|it| !it.is_empty());
                    let mut parts = vec![rows.as_ref()];
                    parts.extend(own.map(AsRef::as_ref));
                    arrow::compute::concat(&parts).map_err(cannot)?
                }
                None => new_null_array(rows.data_type(), count),
            });
        }
        Ok((self.copy.keys(count, &all)?, all))
    }

    /// The state of each key of a group on both sides.
    pub(super) fn compare(
        &self,
        looked: &Looked,
        keys: &Keys,
        all: &[ArrayRef],
        table: &TableSnapshot,
    ) -> Result<Vec<Candidate>> {
        let read = looked.rows.first().map_or(0, |it| it.len());
        let mut known: HashMap<&[u8], usize> = HashMap::with_capacity(keys.len());
        let mut candidates: Vec<Candidate> = Vec::with_capacity(keys.len());
        for (place, key) in (0_u32..).zip(keys.iter()) {
            let there = ((place as usize) < read).then_some(place);
            known.entry(key).or_insert_with(|| {
                let state = there.map(|_| Differs::Missing);
                candidates.push(Candidate { there, place, state });
                candidates.len() - 1
            });
        }
        let places = UInt32Array::from_iter_values(candidates.iter().map(|it| it.place));
        let wanted = taken(all, &places)?;
        let columns = self.copy.columns();
        let kept: Vec<usize> = (0..columns.len()).filter(|&at| !columns[at].left_out).collect();
        for (partition, of_partition) in self.copy.split(&wanted)? {
            let own = taken(&wanted, &of_partition)?;
            let key: Vec<ArrayRef> =
                self.copy.key().iter().map(|&at| Arc::clone(&own[at])).collect();
            let here = table.get(&partition, &key, &kept)?;
            let found = of_partition.values().iter().zip(&here.found).filter(|(_, is)| **is);
            let (mut both, mut rows_there, mut rows_here) = (Vec::new(), Vec::new(), Vec::new());
            for (row, (&at, _)) in (0_u32..).zip(found) {
                let candidate = &mut candidates[at as usize];
                candidate.state = candidate.there.is_none().then_some(Differs::Surplus);
                if let Some(there) = candidate.there {
                    both.push(at as usize);
                    rows_there.push(there);
                    rows_here.push(row);
                }
            }
            let (rows_there, rows_here) = (rows_there.into(), rows_here.into());
            let there: Vec<ArrayRef> =
                kept.iter().map(|&at| Arc::clone(&looked.rows[at])).collect();
            let differ =
                differing(&taken(&there, &rows_there)?, &taken(&here.columns, &rows_here)?)?;
            for (at, differs) in both.into_iter().zip(differ) {
                candidates[at].state = differs.then_some(Differs::Changed);
            }
        }
        Ok(candidates)
    }

    /// The keys of a group that are left.
    pub(super) fn suspects(
        &self,
        suspects: Suspects,
        all: &[ArrayRef],
        places: Vec<u32>,
    ) -> Result<Suspects> {
        let of = |place: &u32| self.copy.condition(all, *place as usize).ok();
        let narrow: Option<Vec<String>> = places.iter().map(of).collect();
        let condition = narrow.map(|it| format!("({})", it.join(" OR ")));
        let keys: Vec<ArrayRef> = self.copy.key().iter().map(|&at| Arc::clone(&all[at])).collect();
        Ok(Suspects {
            condition: condition.unwrap_or(suspects.condition),
            keys: taken(&keys, &places.into())?,
        })
    }
}

/// Which rows differ in one of their columns.
fn differing(these: &[ArrayRef], those: &[ArrayRef]) -> Result<Vec<bool>> {
    let cannot = |error| Error::internal("rows cannot be compared").caused_by(error);
    let mut all = vec![false; these.first().map_or(0, |it| it.len())];
    for (this, that) in these.iter().zip(those) {
        let differs = arrow::compute::kernels::cmp::distinct(this, that).map_err(cannot)?;
        for (any, differs) in all.iter_mut().zip(differs.values().iter()) {
            *any |= differs;
        }
    }
    Ok(all)
}
