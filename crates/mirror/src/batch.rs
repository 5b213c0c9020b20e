//! Changes on their way into the store: whole transactions, one commit.
//!
//! Rows are decoded as they come, into columns. When the batch is committed, of each primary key
//! only the last state counts: the row of the last image of after, or nothing. Images that lack
//! columns are put together then ([`crate::parts`]).

mod check;
mod parts;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, UInt32Array};
use pelorus_binlog::{Image, ImageBuilder, Position, RowsEvent, Target};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Durability, Keys, Write};

use crate::cascade::{Folded, Images, Plan, Replay, Step};
use crate::copies::CopyTable;
use crate::filter;
use crate::mirror::Mirror;
use crate::origin::Origin;
use crate::writes;

/// Runs work that waits for the disk or takes long, away from the threads that serve others where
/// the runtime has several.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}

/// Rows at some places.
///
/// # Errors
/// Places beyond the end, which is a bug.
pub(crate) fn taken(columns: &[ArrayRef], places: &UInt32Array) -> Result<Vec<ArrayRef>> {
    let take = |column: &ArrayRef| {
        arrow::compute::take(column, places, None)
            .map_err(|error| Error::internal("rows cannot be picked").caused_by(error))
    };
    columns.iter().map(take).collect()
}

/// Places of rows that are wanted, and of those that are not.
fn parted(places: &UInt32Array, wanted: &BooleanArray) -> (UInt32Array, UInt32Array) {
    let is_wanted = |place: &u32| wanted.value(*place as usize);
    let (yes, no): (Vec<u32>, Vec<u32>) = places.values().iter().copied().partition(is_wanted);
    (UInt32Array::from(yes), UInt32Array::from(no))
}

/// Changes of whole transactions.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    tables: Vec<TableBatch>,
    /// What happened in which order, over all tables.
    order: Vec<Ran>,
    rows: usize,
    /// When the latest of its transactions was committed, in microseconds since 1970; 0 if unknown.
    committed: u64,
}

/// Changes that came together.
#[derive(Debug)]
struct Ran {
    mirror: Arc<Mirror>,
    copy: Arc<dyn CopyTable>,
    happened: Happened,
    rows: u32,
    /// Where foreign keys lead from there.
    plan: Option<Arc<Plan>>,
}

/// Changes of one table.
#[derive(Debug)]
struct TableBatch {
    mirror: Arc<Mirror>,
    copy: Arc<dyn CopyTable>,
    /// Images of after: all columns that are not left out.
    after: ImageBuilder,
    /// Images of before: the columns of the key, and those that foreign keys refer to.
    before: ImageBuilder,
    /// Which those are.
    of_before: Vec<usize>,
    /// What foreign keys have made of the changes; `None` where they had no part in them.
    folded: Option<Folded>,
    /// The arrays, once they are made.
    made: Option<Images>,
    /// What happened, in order: kind, and so many rows of it.
    runs: Vec<(Happened, u32)>,
    /// Some images of after lack columns, or tell changes of documents only.
    in_part: bool,
}

/// What can happen to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    Inserted,
    /// What the image lacks is as it was before.
    Updated,
    /// A row takes the place of another: what the image lacks has its default.
    Replaced,
    Deleted,
}

/// Whether rows were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Added {
    Yes,
    /// They can be read only with the statement that they come from.
    WantsStatement,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(TableBatch::bytes).sum()
    }

    /// The mirror with the most changes, by bytes.
    pub(crate) fn largest(&self) -> Option<Arc<Mirror>> {
        self.tables.iter().max_by_key(|table| table.bytes()).map(|table| Arc::clone(&table.mirror))
    }

    /// Whether no row has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// When the latest of its transactions was committed.
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// Notes the end of a transaction.
    pub(crate) fn note_transaction(&mut self, committed: u64) {
        self.committed = self.committed.max(committed);
    }

    /// Whether it has changes of a mirror.
    pub(crate) fn is_for(&self, mirror: &Arc<Mirror>) -> bool {
        self.tables.iter().any(|table| Arc::ptr_eq(&table.mirror, mirror))
    }

    /// Leaves out what was read for copies that are no longer followed: their mirrors were ended,
    /// paused or begun anew.
    pub(crate) fn keep_followed(&mut self) {
        self.retain(|table| table.mirror.follows_in(&table.copy));
    }

    /// Leaves the changes of a mirror out.
    pub(crate) fn forget(&mut self, mirror: &Arc<Mirror>) {
        self.retain(|table| !Arc::ptr_eq(&table.mirror, mirror));
    }

    fn retain(&mut self, keep: impl Fn(&TableBatch) -> bool) {
        self.tables.retain(keep);
        self.rows = self.tables.iter().map(TableBatch::rows).sum();
    }

    /// Adds rows of a mirrored table. Foreign keys refer to its columns `referred`, and lead on
    /// from these rows as `plan` says.
    ///
    /// # Errors
    /// Rows that do not fit the columns of the copy (1412), and values that cannot be read.
    pub(crate) fn add(
        &mut self,
        mirror: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        event: &RowsEvent,
        origin: &Origin,
        (referred, plan): (&[usize], Option<Plan>),
    ) -> Result<Added> {
        let at = self.place_of(mirror, copy, referred)?;
        for link in plan.iter().flat_map(|plan| &plan.links) {
            // What foreign keys do to it is a change of it.
            if let Some(copy) = &link.copy {
                self.place_of(&link.child, copy, &[])?;
            }
        }
        let Some((happened, rows)) = self.tables[at].add(event, origin, plan.is_some())? else {
            return Ok(Added::WantsStatement);
        };
        self.rows += rows;
        let count = u32::try_from(rows).map_err(|_| Error::internal("a batch of 2^32 rows"))?;
        let same = |last: &&mut Ran| {
            last.happened == happened
                && Arc::ptr_eq(&last.mirror, mirror)
                && Arc::ptr_eq(&last.copy, copy)
                && last.plan.is_none()
                && plan.is_none()
        };
        match self.order.last_mut().filter(same) {
            Some(last) => last.rows += count,
            None => self.order.push(Ran {
                mirror: Arc::clone(mirror),
                copy: Arc::clone(copy),
                happened,
                rows: count,
                plan: plan.map(Arc::new),
            }),
        }
        Ok(Added::Yes)
    }

    /// Where the changes of a table are collected.
    fn place_of(
        &mut self,
        mirror: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        referred: &[usize],
    ) -> Result<usize> {
        let known = self
            .tables
            .iter()
            .position(|table| Arc::ptr_eq(&table.mirror, mirror) && Arc::ptr_eq(&table.copy, copy));
        if let Some(at) = known {
            let table = &mut self.tables[at];
            if table.runs.is_empty() && referred.iter().any(|it| !table.of_before.contains(it)) {
                *table = TableBatch::new(mirror, copy, referred)?;
            }
            return Ok(at);
        }
        self.tables.push(TableBatch::new(mirror, copy, referred)?);
        Ok(self.tables.len() - 1)
    }

    /// Whether what foreign keys refer to is kept of rows before they change.
    pub(crate) fn keeps(&self, mirror: &Arc<Mirror>, referred: &[usize]) -> bool {
        let of = |table: &TableBatch| {
            !Arc::ptr_eq(&table.mirror, mirror)
                || table.runs.is_empty()
                || referred.iter().all(|it| table.of_before.contains(it))
        };
        self.tables.iter().all(of)
    }

    /// Carries out what foreign keys make of the changes. Gives the mirrors that must be begun
    /// anew, with the reason.
    ///
    /// # Errors
    /// What reading the copies gives.
    pub(crate) fn cascade(&mut self, store: &Arc<Database>) -> Result<Vec<(Arc<Mirror>, String)>> {
        if self.order.iter().all(|ran| ran.plan.is_none()) {
            return Ok(Vec::new());
        }
        let mut again = self.without_rows_in_part();
        let (mut images, mut places) = (Vec::new(), Vec::new());
        for (at, table) in self.tables.iter_mut().enumerate() {
            if !table.in_part {
                images.push(table.take_images()?);
                places.push(at);
            }
        }
        let mut steps = Vec::with_capacity(self.order.len());
        for ran in &self.order {
            let of = |it: &Images| {
                Arc::ptr_eq(&it.mirror, &ran.mirror) && Arc::ptr_eq(&it.copy, &ran.copy)
            };
            // Of tables that are no longer followed, nothing is followed on either.
            let Some(table) = images.iter().position(of) else { continue };
            let (rows, plan) = (ran.rows as usize, ran.plan.clone());
            steps.push(Step { table, happened: ran.happened, rows, plan });
        }
        if let Some(fired) = crate::cascade::fires(&images, &steps)? {
            let (folded, lost) = Replay::new(store, &images, &steps).run(&steps, &fired)?;
            again.extend(lost);
            for (at, folded) in folded {
                self.tables[places[at]].folded = Some(folded);
            }
        }
        for (at, images) in places.into_iter().zip(images) {
            self.tables[at].made = Some(images);
        }
        Ok(again)
    }

    /// Leaves out the tables that foreign keys lead to from, or through, rows that the binlog has in
    /// part: they must be begun anew.
    fn without_rows_in_part(&mut self) -> Vec<(Arc<Mirror>, String)> {
        let in_part: Vec<Arc<Mirror>> = self
            .tables
            .iter()
            .filter(|table| table.in_part)
            .map(|table| Arc::clone(&table.mirror))
            .collect();
        let is_in_part = |mirror: &Arc<Mirror>| in_part.iter().any(|it| Arc::ptr_eq(it, mirror));
        let mut lost: Vec<(Arc<Mirror>, String)> = Vec::new();
        for ran in &self.order {
            let Some(plan) = &ran.plan else { continue };
            if !is_in_part(&ran.mirror) && !plan.links.iter().any(|it| is_in_part(&it.child)) {
                continue;
            }
            for link in &plan.links {
                if !lost.iter().any(|(it, _)| Arc::ptr_eq(it, &link.child)) {
                    let why = "a foreign key changes its rows by rows that the binlog has in part; \
                               SET GLOBAL binlog_row_image = FULL and reconnect the clients";
                    lost.push((Arc::clone(&link.child), why.to_owned()));
                }
            }
        }
        self.retain(|table| !lost.iter().any(|(it, _)| Arc::ptr_eq(it, &table.mirror)));
        lost
    }

    /// Commits all changes, which come behind a position, with the position that they reach. Mirrors
    /// whose changes do not fit their copies begin anew before that; they are returned with the
    /// reasons.
    ///
    /// # Errors
    /// What the store gives.
    pub(crate) fn commit(
        self,
        store: &Arc<Database>,
        from: Option<&Position>,
        position: (Vec<u8>, Option<Vec<u8>>),
    ) -> Result<Vec<(Arc<Mirror>, String)>> {
        let mut commit =
            Commit { values: vec![position], durability: Durability::Soon, ..Commit::default() };
        let mut tables = self.tables;
        let mirrors: Vec<Arc<Mirror>> = tables.iter().map(|it| Arc::clone(&it.mirror)).collect();
        let (mut made, mut misfits) = (Vec::with_capacity(tables.len()), Vec::new());
        for (table, mirror) in tables.iter_mut().zip(&mirrors) {
            // What the copy has of rows in part must stay as it is until they are committed.
            let mut window = table.in_part.then(|| mirror.window());
            let result = match &mut window {
                Some(window) => table.finish_parts(store, &mirror.doubts(from), window),
                None => table.finish(),
            };
            let changes = result.and_then(|changes| {
                if let (keys, conditions @ [_, ..]) = (&changes.again.0, &changes.again.1[..]) {
                    mirror.ask_again(store, keys, conditions)?;
                }
                Ok(changes)
            });
            let changes = match changes {
                Err(error) if error.code() == Code::TableChanged => {
                    drop(window);
                    let reason = pelorus_error::display_chain(&error);
                    mirror.begin_again(store, Some(reason.clone()))?;
                    misfits.push((Arc::clone(mirror), reason));
                    continue;
                }
                result => result?,
            };
            commit.made_for.push((table.copy.id(), table.copy.generation()));
            commit.writes.extend(changes.writes);
            made.push((mirror, window, changes.keys, changes.rows));
        }
        // From here to the end of the commit nobody puts rows there that are older.
        for (mirror, window, keys, _) in &mut made {
            let window = window.get_or_insert_with(|| mirror.window());
            keys.iter().for_each(|keys| window.touch(keys));
        }
        store.commit(&commit)?;
        for (mirror, window, _, rows) in made {
            drop(window);
            mirror.note_changes(rows);
        }
        Ok(misfits)
    }
}

/// What the changes of a table come to.
struct Changes {
    writes: Vec<Write>,
    /// The keys that changed.
    keys: Vec<Keys>,
    /// Rows that must be read again: keys and conditions.
    again: (Keys, Vec<String>),
    rows: u64,
}

impl TableBatch {
    fn new(mirror: &Arc<Mirror>, copy: &Arc<dyn CopyTable>, referred: &[usize]) -> Result<Self> {
        let target = |(at, column): (usize, &crate::copies::CopyColumn)| Target {
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
        })
    }

    fn bytes(&self) -> usize {
        self.after.bytes() + self.before.bytes()
    }

    fn rows(&self) -> usize {
        self.runs.iter().map(|(_, rows)| *rows as usize).sum()
    }

    /// Adds rows; `None` when they can be read only with the statement that they come from.
    /// `cascades` says that foreign keys may lead on from them.
    fn add(
        &mut self,
        event: &RowsEvent,
        origin: &Origin,
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

    /// Makes arrays of what was collected.
    fn take_images(&mut self) -> Result<Images> {
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

    /// Makes writes of what foreign keys have made of the changes.
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
    fn finish(&mut self) -> Result<Changes> {
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
    fn last_states(&self, after: &Keys, before: &Keys) -> (UInt32Array, UInt32Array) {
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

    fn put(&self, columns: &[ArrayRef], writes: &mut Vec<Write>) -> Result<()> {
        writes::put(self.copy.as_ref(), columns, writes)
    }

    fn remove(&self, columns: &[ArrayRef], rows: usize, writes: &mut Vec<Write>) -> Result<()> {
        writes::remove(self.copy.as_ref(), columns, rows, writes)
    }
}
