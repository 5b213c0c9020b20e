//! The changes of one table in a batch, and the writes that result from them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use pelorus_binlog::{Image, ImageBuilder, RowsEvent, Target};
use pelorus_error::{Error, Result};
use pelorus_store::{Keys, Write, taken};

use super::Happened;
use crate::apply::foreign_key_actions::{Folded, Images};
use crate::apply::row_image_completion::RowImageCompletion;
use crate::apply::writes;
use crate::model::copies::CopyTable;
use crate::model::filter;
use crate::model::mirror::Mirror;

/// Changes of one table.
#[derive(Debug)]
pub(super) struct TableBatch {
    pub(super) mirror: Arc<Mirror>,
    pub(super) copy: Arc<dyn CopyTable>,
    /// Images of after: all columns that are not left out.
    pub(super) after: ImageBuilder,
    /// Images of before: the columns of the key, and those that foreign keys refer to.
    pub(super) before: ImageBuilder,
    /// Which those are.
    pub(super) of_before: Vec<usize>,
    /// The result of foreign key actions on the changes; `None` if there were none.
    pub(super) folded: Option<Folded>,
    /// The arrays, once they are made.
    pub(super) made: Option<Images>,
    /// The changes in order: kind, and number of rows.
    pub(super) runs: Vec<(Happened, u32)>,
    /// Some images of after lack columns, or tell changes of documents only.
    pub(super) in_part: bool,
    /// Bytes of the transactions that have been read to their ends.
    whole: usize,
}

/// The resulting changes of a table.
pub(super) struct Changes {
    pub(super) writes: Vec<Write>,
    /// The keys that changed.
    pub(super) keys: Vec<Keys>,
    /// Rows that must be read again: keys and conditions.
    pub(super) again: (Keys, Vec<String>),
    pub(super) rows: u64,
}

/// Places of rows that are wanted, and of those that are not.
pub(super) fn parted(places: &UInt32Array, wanted: &BooleanArray) -> (UInt32Array, UInt32Array) {
    let is_wanted = |place: &u32| wanted.value(*place as usize);
    let (yes, no): (Vec<u32>, Vec<u32>) = places.values().iter().copied().partition(is_wanted);
    (UInt32Array::from(yes), UInt32Array::from(no))
}

impl TableBatch {
    pub(super) fn new(
        mirror: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        referred: &[usize],
    ) -> Result<Self> {
        let target = |(at, column): (usize, &crate::model::copies::CopyColumn)| Target {
            name: column.name.clone(),
            source: at,
            ty: column.ty,
            members: (!column.members.is_empty()).then(|| column.members.clone().into()),
            form: column.form,
            charset: None,
        };
        let mut of_before = copy.key().to_vec();
        of_before.extend(referred);
        of_before.sort_unstable();
        of_before.dedup();
        let columns = || copy.columns().iter().enumerate();
        let key: Vec<Target> =
            of_before.iter().filter_map(|&at| columns().nth(at)).map(target).collect();
        let kept: Vec<Target> = columns().filter(|(_, it)| !it.left_out).map(target).collect();
        Ok(Self {
            mirror: Arc::clone(mirror),
            copy: Arc::clone(copy),
            after: ImageBuilder::new(kept)?,
            before: ImageBuilder::new(key)?,
            of_before,
            folded: None,
            made: None,
            runs: Vec::new(),
            in_part: false,
            whole: 0,
        })
    }

    /// Whether images of after lack columns that are as they were before.
    pub(super) fn has_updates_in_part(&self) -> bool {
        self.in_part && self.runs.iter().any(|(happened, _)| *happened == Happened::Updated)
    }

    /// Bytes of the images, or an estimate of the completed rows.
    pub(super) fn bytes(&self) -> usize {
        let images = self.after.bytes() + self.before.bytes();
        match self.in_part {
            true => images.max(self.after.len().saturating_mul(self.mirror.width())),
            false => images,
        }
    }

    pub(super) fn transaction_bytes(&self) -> usize {
        self.bytes().saturating_sub(self.whole)
    }

    pub(super) fn end_transaction(&mut self) {
        self.whole = self.bytes();
    }

    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(|(_, rows)| *rows as usize).sum()
    }

    /// Adds rows; `None` when they can be read only with the statement that they come from.
    /// `cascades` says that foreign keys may lead on from them.
    pub(super) fn add(
        &mut self,
        event: &RowsEvent,
        origin: &RowImageCompletion,
        cascades: bool,
    ) -> Result<Option<(Happened, usize)>> {
        let Some(happened) = self.check(event, origin, cascades)? else { return Ok(None) };
        let before = match happened {
            Happened::Inserted => 0,
            _ => self.before.append(event, Image::Before)?,
        };
        let rows = match happened {
            Happened::Deleted => before,
            Happened::Inserted | Happened::Replaced => self.after.append(event, Image::After)?,
            Happened::Updated => self.after.append(event, Image::Completed)?,
        };
        let count = u32::try_from(rows).map_err(|_| Error::internal("a batch of 2^32 rows"))?;
        match self.runs.last_mut() {
            Some((last, before)) if *last == happened => *before += count,
            _ => self.runs.push((happened, count)),
        }
        Ok(Some((happened, rows)))
    }

    /// Builds arrays of the collected images.
    pub(super) fn take_images(&mut self) -> Result<Images> {
        let (mut after, before) = (self.after.finish()?, self.before.finish()?);
        after.arrays = filter::all_columns(self.copy.columns(), after.arrays);
        let mut of_before: Vec<ArrayRef> = after.arrays.iter().map(|it| it.slice(0, 0)).collect();
        for (array, &at) in before.arrays.iter().zip(&self.of_before) {
            of_before[at] = Arc::clone(array);
        }
        Ok(Images {
            mirror: Arc::clone(&self.mirror),
            copy: Arc::clone(&self.copy),
            after_keys: self.copy.keys(after.rows, &after.arrays)?,
            before_keys: self.copy.keys(before.rows, &of_before)?,
            after: Arc::new(after.arrays),
            before: Arc::new(of_before),
        })
    }

    /// Builds writes of the results of foreign key actions.
    fn finish_folded(&self, folded: &Folded) -> Result<Changes> {
        let count = |columns: &[ArrayRef]| columns.first().map_or(0, |column| column.len());
        let (put, removed) = (count(&folded.puts), count(&folded.removes));
        let mut writes = Vec::new();
        self.put(&folded.puts, &mut writes)?;
        self.remove(&folded.removes, removed, &mut writes)?;
        let keys =
            vec![self.copy.keys(put, &folded.puts)?, self.copy.keys(removed, &folded.removes)?];
        Ok(Changes { writes, keys, again: Default::default(), rows: (put + removed) as u64 })
    }

    /// Makes writes of the changes.
    pub(super) fn finish(&mut self) -> Result<Changes> {
        if let Some(folded) = self.folded.take() {
            return self.finish_folded(&folded);
        }
        let rows = self.rows() as u64;
        let images = match self.made.take() {
            Some(images) => images,
            None => self.take_images()?,
        };
        let key = self.copy.key();
        let (after, of_before) = (images.after, images.before);
        let (after_keys, before_keys) = (images.after_keys, images.before_keys);
        let wanted = self.copy.wanted(after_keys.len(), &after)?;
        let wanted = wanted.filter(|wanted| wanted.true_count() < wanted.len());
        let only_rows = wanted.is_none()
            && self.runs.iter().all(|(kind, _)| *kind != Happened::Deleted)
            && self.keys_stay(&after_keys, &before_keys);
        let mut writes = Vec::new();
        if only_rows {
            self.put(&after, &mut writes)?;
            return Ok(Changes { writes, keys: vec![after_keys], again: Default::default(), rows });
        }
        let (puts, removes) = self.last_states(&after_keys, &before_keys);
        let (puts, unwanted) = match &wanted {
            Some(wanted) => parted(&puts, wanted),
            None => (puts, UInt32Array::from(Vec::<u32>::new())),
        };
        self.put(&taken(&after, &puts)?, &mut writes)?;
        // What the copy is not to have it has no longer.
        self.remove(&taken(&after, &unwanted)?, unwanted.len(), &mut writes)?;
        // Rows that are not there to remove are no matter.
        let mut gone: Vec<ArrayRef> = Vec::with_capacity(of_before.len());
        for (at, column) in of_before.iter().enumerate() {
            gone.push(match key.contains(&at) {
                true => taken(std::slice::from_ref(column), &removes)?.swap_remove(0),
                false => arrow::array::new_null_array(column.data_type(), removes.len()),
            });
        }
        self.remove(&gone, removes.len(), &mut writes)?;
        Ok(Changes { writes, keys: vec![after_keys, before_keys], again: Default::default(), rows })
    }

    /// Whether no update has changed a key.
    fn keys_stay(&self, after: &Keys, before: &Keys) -> bool {
        let (mut new, mut old) = (0, 0);
        for (happened, rows) in &self.runs {
            let rows = *rows as usize;
            match happened {
                Happened::Inserted => new += rows,
                Happened::Deleted => old += rows,
                Happened::Updated | Happened::Replaced => {
                    if (0..rows).any(|row| after.get(new + row) != before.get(old + row)) {
                        return false;
                    }
                    new += rows;
                    old += rows;
                }
            }
        }
        true
    }

    /// The rows of after that are the last of their keys, and those of before whose keys are gone.
    pub(super) fn last_states(&self, after: &Keys, before: &Keys) -> (UInt32Array, UInt32Array) {
        // By key: whether it is there at the end, and the row that says so.
        let mut last: HashMap<&[u8], (bool, u32)> = HashMap::new();
        let (mut new, mut old) = (0_u32, 0_u32);
        for (happened, rows) in &self.runs {
            for _ in 0..*rows {
                if *happened != Happened::Inserted {
                    last.insert(before.get(old as usize), (false, old));
                    old += 1;
                }
                if *happened != Happened::Deleted {
                    last.insert(after.get(new as usize), (true, new));
                    new += 1;
                }
            }
        }
        let pick = |is_there: bool| {
            let mut rows: Vec<u32> =
                last.values().filter(|it| it.0 == is_there).map(|it| it.1).collect();
            rows.sort_unstable();
            UInt32Array::from(rows)
        };
        (pick(true), pick(false))
    }

    pub(super) fn put(&self, columns: &[ArrayRef], writes: &mut Vec<Write>) -> Result<()> {
        writes::put(self.copy.as_ref(), columns, writes)
    }

    pub(super) fn remove(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        writes: &mut Vec<Write>,
    ) -> Result<()> {
        writes::remove(self.copy.as_ref(), columns, rows, writes)
    }
}
