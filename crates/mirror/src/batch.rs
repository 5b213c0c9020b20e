//! Changes on their way into the store: whole transactions, one commit.
//!
//! Rows are decoded as they come, into columns. When the batch is committed, of each primary key
//! only the last state counts: the row of the last image of after, or nothing.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, UInt32Array};
use pelorus_binlog::{Image, ImageBuilder, RowsEvent, RowsKind, Target};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Durability, Keys, Mode, ROWS_PER_BATCH_MAX, Write};

use crate::copies::CopyTable;
use crate::filter;
use crate::mirror::Mirror;

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
    rows: usize,
    /// When the latest of its transactions was committed, in microseconds since 1970; 0 if unknown.
    committed: u64,
}

/// Changes of one table.
#[derive(Debug)]
struct TableBatch {
    mirror: Arc<Mirror>,
    copy: Arc<dyn CopyTable>,
    /// Images of after: all columns that are not left out.
    after: ImageBuilder,
    /// Images of before: the columns of the key.
    before: ImageBuilder,
    /// What happened, in order: kind, and so many rows of it.
    runs: Vec<(Happened, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happened {
    Inserted,
    Updated,
    Deleted,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.after.bytes() + table.before.bytes()).sum()
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

    /// Adds rows of a mirrored table.
    ///
    /// # Errors
    /// Rows that do not fit the columns of the copy (1412), and values that cannot be read.
    pub(crate) fn add(
        &mut self,
        mirror: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        event: &RowsEvent,
    ) -> Result<()> {
        let known = self
            .tables
            .iter()
            .position(|table| Arc::ptr_eq(&table.mirror, mirror) && Arc::ptr_eq(&table.copy, copy));
        let at = match known {
            Some(at) => at,
            None => {
                self.tables.push(TableBatch::new(mirror, copy)?);
                self.tables.len() - 1
            }
        };
        self.rows += self.tables[at].add(event)?;
        Ok(())
    }

    /// Commits all changes with the position that they reach.
    ///
    /// # Errors
    /// What the store gives.
    pub(crate) fn commit(
        self,
        store: &Database,
        position: (Vec<u8>, Option<Vec<u8>>),
    ) -> Result<()> {
        let mut commit =
            Commit { values: vec![position], durability: Durability::Soon, ..Commit::default() };
        let mut made = Vec::with_capacity(self.tables.len());
        for mut table in self.tables {
            let changes = table.finish()?;
            commit.made_for.push((table.copy.id(), table.copy.generation()));
            commit.writes.extend(changes.writes);
            made.push((table, changes.keys, changes.rows));
        }
        // From here to the end of the commit nobody puts rows there that are older.
        let mut windows: Vec<_> = made.iter().map(|(table, ..)| table.mirror.window()).collect();
        for (window, (_, keys, _)) in windows.iter_mut().zip(&made) {
            keys.iter().for_each(|keys| window.touch(keys));
        }
        store.commit(&commit)?;
        drop(windows);
        for (table, _, rows) in &made {
            table.mirror.note_changes(*rows);
        }
        Ok(())
    }
}

/// What the changes of a table come to.
struct Changes {
    writes: Vec<Write>,
    /// The keys that changed.
    keys: Vec<Keys>,
    rows: u64,
}

impl TableBatch {
    fn new(mirror: &Arc<Mirror>, copy: &Arc<dyn CopyTable>) -> Result<Self> {
        let target = |(at, column): (usize, &crate::copies::CopyColumn)| Target {
            name: column.name.clone(),
            source: at,
            ty: column.ty,
            members: (!column.members.is_empty()).then(|| column.members.clone().into()),
            form: column.form,
            charset: None,
        };
        let columns = || copy.columns().iter().enumerate();
        let key: Vec<Target> =
            copy.key().iter().filter_map(|&at| columns().nth(at)).map(target).collect();
        let kept: Vec<Target> = columns().filter(|(_, it)| !it.left_out).map(target).collect();
        Ok(Self {
            mirror: Arc::clone(mirror),
            copy: Arc::clone(copy),
            after: ImageBuilder::new(kept)?,
            before: ImageBuilder::new(key)?,
            runs: Vec::new(),
        })
    }

    fn rows(&self) -> usize {
        self.runs.iter().map(|(_, rows)| *rows as usize).sum()
    }

    fn add(&mut self, event: &RowsEvent) -> Result<usize> {
        self.check(event)?;
        let (happened, rows) = match event.kind {
            RowsKind::Insert => (Happened::Inserted, self.after.append(event, Image::After)?),
            RowsKind::Delete => (Happened::Deleted, self.before.append(event, Image::Before)?),
            RowsKind::Update | RowsKind::PartialUpdate => {
                self.before.append(event, Image::Before)?;
                (Happened::Updated, self.after.append(event, Image::After)?)
            }
        };
        let count = u32::try_from(rows).map_err(|_| Error::internal("a batch of 2^32 rows"))?;
        match self.runs.last_mut() {
            Some((last, before)) if *last == happened => *before += count,
            _ => self.runs.push((happened, count)),
        }
        Ok(rows)
    }

    /// Whether the rows are those of the copy's columns, and are there in full.
    fn check(&self, event: &RowsEvent) -> Result<()> {
        let (columns, table) = (self.copy.columns(), &event.table);
        let named = table.columns.iter().zip(columns).all(|(there, here)| {
            there.name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&here.name))
        });
        if table.columns.len() != columns.len() || !named {
            return Err(Error::new(
                Code::TableChanged,
                format!(
                    "the columns of '{}.{}' in the binlog are not those of its copy",
                    table.database, table.table
                ),
            ));
        }
        let has = |after: bool, at: usize| columns[at].left_out || event.has_column(after, at);
        let is_whole = match event.kind {
            RowsKind::Delete => self.copy.key().iter().all(|&at| has(false, at)),
            RowsKind::Insert => (0..columns.len()).all(|at| has(true, at)),
            _ => {
                (0..columns.len()).all(|at| has(true, at))
                    && self.copy.key().iter().all(|&at| has(false, at))
            }
        };
        if is_whole {
            return Ok(());
        }
        Err(Error::unsupported(format_args!(
            "rows of '{}.{}' that the binlog has in part only; SET GLOBAL binlog_row_image = FULL, \
             reconnect the clients, and ALTER MIRROR ... RESYNC",
            table.database, table.table
        )))
    }

    /// Makes writes of the changes.
    fn finish(&mut self) -> Result<Changes> {
        let (mut after, before) = (self.after.finish()?, self.before.finish()?);
        after.arrays = filter::all_columns(self.copy.columns(), after.arrays);
        let wanted = self.copy.wanted(after.rows, &after.arrays)?;
        let wanted = wanted.filter(|wanted| wanted.true_count() < after.rows);
        let rows = self.rows() as u64;
        let key = self.copy.key();
        let mut of_before: Vec<ArrayRef> = after.arrays.iter().map(|it| it.slice(0, 0)).collect();
        for (array, &at) in before.arrays.iter().zip(key) {
            of_before[at] = Arc::clone(array);
        }
        let after_keys = self.copy.keys(after.rows, &after.arrays)?;
        let before_keys = self.copy.keys(before.rows, &of_before)?;
        let only_rows = wanted.is_none()
            && self.runs.iter().all(|(kind, _)| *kind != Happened::Deleted)
            && self.keys_stay(&after_keys, &before_keys);
        let mut writes = Vec::new();
        if only_rows {
            self.put(&after.arrays, &mut writes)?;
            return Ok(Changes { writes, keys: vec![after_keys], rows });
        }
        let (puts, removes) = self.last_states(&after_keys, &before_keys);
        let (puts, unwanted) = match &wanted {
            Some(wanted) => parted(&puts, wanted),
            None => (puts, UInt32Array::from(Vec::<u32>::new())),
        };
        self.put(&taken(&after.arrays, &puts)?, &mut writes)?;
        // What the copy is not to have it has no longer.
        self.remove(&taken(&after.arrays, &unwanted)?, unwanted.len(), &mut writes)?;
        // Rows that are not there to remove are no matter.
        let mut gone: Vec<ArrayRef> = Vec::with_capacity(of_before.len());
        for (at, column) in of_before.iter().enumerate() {
            gone.push(match key.contains(&at) {
                true => taken(std::slice::from_ref(column), &removes)?.swap_remove(0),
                false => arrow::array::new_null_array(column.data_type(), removes.len()),
            });
        }
        self.remove(&gone, removes.len(), &mut writes)?;
        Ok(Changes { writes, keys: vec![after_keys, before_keys], rows })
    }

    /// Whether no update has changed a key.
    fn keys_stay(&self, after: &Keys, before: &Keys) -> bool {
        let (mut new, mut old) = (0, 0);
        for (happened, rows) in &self.runs {
            let rows = *rows as usize;
            match happened {
                Happened::Inserted => new += rows,
                Happened::Deleted => old += rows,
                Happened::Updated => {
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
        let rows = columns.first().map_or(0, |column| column.len());
        if rows == 0 {
            return Ok(());
        }
        if rows > ROWS_PER_BATCH_MAX {
            return self.put_in_pieces(columns, rows, writes);
        }
        for (partition, places) in self.copy.split(columns)? {
            let columns = match places.len() == rows {
                true => columns.to_vec(),
                false => taken(columns, &places)?,
            };
            let table = self.copy.id();
            writes.push(Write::Put { table, partition, columns, mode: Mode::Replace });
        }
        Ok(())
    }

    /// Batches have a bound, and no two of them may have a key in common.
    fn put_in_pieces(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        writes: &mut Vec<Write>,
    ) -> Result<()> {
        let keys = self.copy.keys(rows, columns)?;
        let mut last: HashMap<&[u8], u32> = HashMap::with_capacity(rows);
        for (row, key) in (0_u32..).zip(keys.iter()) {
            last.insert(key, row);
        }
        let mut places: Vec<u32> = last.into_values().collect();
        places.sort_unstable();
        for piece in places.chunks(ROWS_PER_BATCH_MAX) {
            self.put(&taken(columns, &UInt32Array::from(piece.to_vec()))?, writes)?;
        }
        Ok(())
    }

    fn remove(&self, columns: &[ArrayRef], rows: usize, writes: &mut Vec<Write>) -> Result<()> {
        for begin in (0..rows).step_by(ROWS_PER_BATCH_MAX) {
            let length = ROWS_PER_BATCH_MAX.min(rows - begin);
            let piece: Vec<ArrayRef> = columns.iter().map(|it| it.slice(begin, length)).collect();
            for (partition, places) in self.copy.split(&piece)? {
                let key: Vec<ArrayRef> =
                    self.copy.key().iter().map(|&at| Arc::clone(&piece[at])).collect();
                let columns = taken(&key, &places)?;
                writes.push(Write::Remove { table: self.copy.id(), partition, columns });
            }
        }
        Ok(())
    }
}
