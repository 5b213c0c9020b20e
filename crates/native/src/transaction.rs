//! The write buffer of an open transaction on native tables: rows by primary key in memory until
//! `COMMIT` writes them in one commit.
//!
//! Invariants: an entry's row is the last one that the transaction wrote under the key. Whether the
//! key existed in the transaction's snapshot never changes, so that a row that the transaction both
//! inserted and deleted leaves no trace. All reads of the transaction see its snapshot with its own
//! rows over it; a conflicting write of another session to the same key is detected by the commit
//! (1213).
//!
//! A failed statement and a rollback to a savepoint use an undo list of earlier entries, newest
//! last. The list reaches back to the oldest savepoint, so that its time and memory are bounded by
//! what was written since. Rows that were locked stay locked after a rollback to a savepoint, as
//! InnoDB keeps its locks.
//!
//! Reads of a table reuse the keys of the previous read, and the rows of each batch that has not
//! changed since.

mod undo;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use parking_lot::Mutex;
use pelorus_env::{Account, Reservation};
use pelorus_error::{Error, Result};
use pelorus_query::OwnWrites;
use pelorus_result::kill::Stop;
use pelorus_store::{Commit, Mode, Snapshot, TableId, Version, bytes_of};

use super::definition::NativeDef;
use super::durability::Wanted;
use super::write::change::joined;
use super::write::change::{Change, Counts, taken, writes_of};
use super::write::check_bytes;
use super::write::lookup::{duplicate_entry, existing, keys_of};
use undo::{Step, UndoLog};

/// Most rows and bytes of several statements that are kept in one batch.
const JOINED_ROWS: usize = 4096;
const JOINED_BYTES: usize = 1 << 20;
/// Most rows of one statement that are kept in one batch: what reads see of it is made again when
/// one of them changes.
const BATCH_ROWS: usize = 1 << 16;
/// A statement checks for cancellation after so many rows.
const ROWS_UNASKED: usize = 1 << 16;

/// The writes, by table.
type Tables = HashMap<TableId, TableWrites>;

/// The version and uncommitted rows of native tables that a statement reads.
#[derive(Clone, Debug)]
pub struct NativeReads {
    /// The version.
    pub pin: Arc<Snapshot>,
    own: Option<Arc<Mutex<Tables>>>,
}

impl NativeReads {
    /// Reads of a version without uncommitted rows.
    pub fn at(pin: Arc<Snapshot>) -> Self {
        Self { pin, own: None }
    }

    /// The rows that the session's open transaction has written to a table so far.
    ///
    /// # Errors
    /// Inconsistent rows, which is a bug.
    pub(crate) fn own(&self, table: TableId) -> Result<Option<OwnWrites>> {
        let Some(own) = &self.own else { return Ok(None) };
        own.lock().get(&table).map(|writes| writes.for_reads()).transpose()
    }

    /// The same of some keys only, which takes no longer the more the transaction has written.
    ///
    /// # Errors
    /// Rows that do not fit together, which is a bug.
    pub(crate) fn own_of(
        &self,
        table: TableId,
        keys: &HashSet<&[u8]>,
    ) -> Result<Option<OwnWrites>> {
        let Some(own) = &self.own else { return Ok(None) };
        own.lock().get(&table).map(|writes| writes.of_keys(keys)).transpose()
    }
}

/// The part of a session's transaction that is in native tables.
#[derive(Debug)]
pub struct NativeTransaction {
    snapshot: Arc<Snapshot>,
    tables: Arc<Mutex<Tables>>,
    undo: UndoLog,
    /// Savepoints, the oldest first, with their places in `undo`.
    savepoints: Vec<(String, usize)>,
    /// The keys that were locked (`FOR UPDATE`) since there were savepoints.
    locked: HashMap<TableId, HashSet<Arc<[u8]>>>,
    /// The memory of all that it has written.
    held: Reservation,
}

impl NativeTransaction {
    /// A transaction that has written nothing. Savepoints that were set before it touched a native
    /// table go back to there.
    pub fn new(snapshot: Arc<Snapshot>, savepoints: &[String], memory: &Account) -> Self {
        let savepoints = savepoints.iter().map(|name| (name.clone(), 0)).collect();
        let (tables, undo, locked) = (Arc::default(), UndoLog::default(), HashMap::new());
        Self { snapshot, tables, undo, savepoints, locked, held: memory.empty() }
    }

    /// The state that the transaction's statements read.
    pub fn reads(&self) -> NativeReads {
        NativeReads { pin: Arc::clone(&self.snapshot), own: Some(Arc::clone(&self.tables)) }
    }

    /// Whether it has written something.
    pub fn has_written(&self) -> bool {
        !self.tables.lock().is_empty()
    }

    /// The version that it reads.
    pub(crate) fn version(&self) -> Version {
        self.snapshot.version()
    }

    /// Sets a savepoint; one of the same name is gone.
    pub fn savepoint(&mut self, name: &str) {
        self.savepoints.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.savepoints.push((name.to_owned(), self.undo.end()));
        self.forget();
    }

    /// Goes back to a savepoint, or only forgets it and those after it; `false` when it is not
    /// there.
    ///
    /// # Errors
    /// Errors of reading rows that stay locked.
    pub fn back_to(&mut self, name: &str, release: bool) -> Result<bool> {
        let found = self.savepoints.iter().rposition(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some(at) = found else { return Ok(false) };
        if release {
            self.savepoints.truncate(at);
            self.forget();
        } else {
            let place = self.savepoints[at].1;
            self.savepoints.truncate(at + 1);
            self.take_back(place)?;
        }
        Ok(true)
    }

    /// Takes everything since a place back, but for locks: the rows are written again, as they are in
    /// the snapshot.
    fn take_back(&mut self, place: usize) -> Result<()> {
        let tables = &mut *self.tables.lock();
        let mut lost: HashMap<TableId, Vec<usize>> = HashMap::new();
        for (id, key) in self.undo.new_since(place) {
            let is_locked = self.locked.get(&id).is_some_and(|keys| keys.contains(key));
            if let Some(entry) = tables.get(&id).and_then(|writes| writes.entries.get(key))
                && is_locked
            {
                lost.entry(id).or_default().push(entry.at);
            }
        }
        let mut locked = Vec::with_capacity(lost.len());
        for (id, mut rows) in lost {
            rows.sort_unstable();
            if let Some(writes) = tables.get(&id) {
                locked.push((Arc::clone(&writes.def), writes.gather(&rows)?));
            }
        }
        self.undo.back_to(place, tables);
        for (def, batches) in locked {
            let writes = tables.entry(def.id).or_insert_with(|| TableWrites::new(def));
            for columns in &batches {
                writes.lock_again(&self.snapshot, columns, &mut self.undo)?;
            }
        }
        // Of rows that the transaction made and locked nothing is left.
        tables.retain(|_, writes| !writes.entries.is_empty());
        Ok(())
    }

    /// Forgets how to go back further than to the oldest savepoint.
    fn forget(&mut self) {
        let oldest = self.savepoints.first().map_or(self.undo.end(), |(_, place)| *place);
        self.undo.forget_before(oldest);
        if self.savepoints.is_empty() {
            // No undo step refers to a state before these locks.
            self.locked.clear();
        }
    }

    /// Applies the changes of a statement, all or none.
    ///
    /// # Errors
    /// A duplicate key (1062), more rows than one commit takes (1235), 1317 if the statement is
    /// stopped, and errors of reading.
    pub fn apply(&mut self, changes: &[Change], stop: &Stop) -> Result<Counts> {
        let more: usize = changes.iter().map(Change::bytes).sum();
        self.hold(self.bytes().saturating_add(more))?;
        let begin = self.undo.end();
        let applied = self.apply_all(changes, stop);
        if applied.is_err() {
            self.undo.back_to(begin, &mut self.tables.lock());
        }
        self.forget();
        // Less than it was before: of equal rows one stays.
        self.hold(self.bytes()).ok();
        applied
    }

    /// Bytes of all that it has written.
    fn bytes(&self) -> usize {
        self.undo.memory() + self.tables.lock().values().map(|it| it.bytes).sum::<usize>()
    }

    fn hold(&mut self, bytes: usize) -> Result<()> {
        self.held.try_resize(bytes).map_err(Error::out_of_memory)
    }

    fn apply_all(&mut self, changes: &[Change], stop: &Stop) -> Result<Counts> {
        let tables = &mut *self.tables.lock();
        let kept = self.undo.memory();
        let mut counts = Counts::default();
        for change in changes {
            let id = change.def.id;
            let others = tables.iter().filter(|(it, _)| **it != id);
            let besides = kept + others.map(|(_, writes)| writes.bytes).sum::<usize>();
            let writes =
                tables.entry(id).or_insert_with(|| TableWrites::new(Arc::clone(&change.def)));
            // Rows of two definitions of a table would not fit together.
            if writes.def.made_for() != change.def.made_for() {
                return Err(Error::table_changed());
            }
            counts.add(&writes.apply(&self.snapshot, change, (&mut self.undo, besides), stop)?);
            if change.locks && !self.savepoints.is_empty() {
                let locked = self.locked.entry(id).or_default();
                for (columns, _) in &change.puts {
                    let keys = keys_of(&change.def, columns)?;
                    let shared =
                        |key: &[u8]| Some(Arc::clone(writes.entries.get_key_value(key)?.0));
                    locked.extend(keys.iter().filter_map(shared));
                }
            }
        }
        Ok(counts)
    }

    /// The one commit that makes everything visible.
    ///
    /// # Errors
    /// A row that fits no partition, which was found out before.
    pub fn commit(self, durability: Wanted) -> Result<Commit> {
        let mut writes = Vec::new();
        for table in self.tables.lock().values() {
            for change in table.changes()? {
                writes.extend(writes_of(&change)?.into_iter().map(|(write, _)| write));
            }
        }
        let durability = durability.of(self.tables.lock().values().map(|it| &*it.def));
        let made_for = self.tables.lock().values().map(|it| it.def.made_for()).collect();
        let snapshot = Some(self.version());
        Ok(Commit { writes, snapshot, made_for, values: Vec::new(), durability })
    }
}

/// The writes of a transaction to one table.
#[derive(Debug)]
struct TableWrites {
    def: Arc<NativeDef>,
    entries: HashMap<Arc<[u8]>, Entry>,
    batches: Vec<Batch>,
    /// Which of the rows of all batches, one after the other, are there.
    live: Vec<bool>,
    /// Bytes of the entries' keys and the batches.
    bytes: usize,
    /// The keys of the entries, after the table has been read.
    hidden: OnceLock<Arc<HashSet<Vec<u8>>>>,
}

/// Rows as one statement wrote them, or several.
#[derive(Debug)]
struct Batch {
    columns: Vec<ArrayRef>,
    /// How many rows are in the batches before it.
    begin: usize,
    /// Bytes of the values.
    bytes: usize,
    /// The existing rows, after they have been read.
    shown: OnceLock<Vec<ArrayRef>>,
}

impl Batch {
    fn new(begin: usize, columns: Vec<ArrayRef>) -> Self {
        // Arrays of few rows hold room for many, which does not go into the log.
        let bytes = bytes_of(&columns);
        Self { columns, begin, bytes, shown: OnceLock::new() }
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len())
    }

    fn end(&self) -> usize {
        self.begin + self.rows()
    }

    /// The rows that are there; `live` says it of the rows of all batches.
    fn shown(&self, live: &[bool]) -> Result<Vec<ArrayRef>> {
        if let Some(known) = self.shown.get() {
            return Ok(known.clone());
        }
        let live = live.get(self.begin..self.end()).unwrap_or_default();
        let made = if live.contains(&false) {
            let live = BooleanArray::from(live.to_vec());
            let kept = |column: &ArrayRef| {
                arrow::compute::filter(column, &live)
                    .map_err(|error| Error::internal("rows cannot be picked").caused_by(error))
            };
            self.columns.iter().map(kept).collect::<Result<Vec<_>>>()?
        } else {
            self.columns.clone()
        };
        Ok(self.shown.get_or_init(|| made).clone())
    }
}

/// The state of one key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The row's number in all batches, one after the other.
    at: usize,
    /// The row is there; else it was deleted.
    is_live: bool,
    /// The key was there in the snapshot.
    existed: bool,
}

impl TableWrites {
    fn new(def: Arc<NativeDef>) -> Self {
        let (entries, batches, live) = (HashMap::new(), Vec::new(), Vec::new());
        Self { def, entries, batches, live, bytes: 0, hidden: OnceLock::new() }
    }

    /// How many rows there are in all batches.
    fn rows(&self) -> usize {
        self.batches.last().map_or(0, Batch::end)
    }

    fn push(&mut self, batch: Batch) {
        self.bytes += batch.bytes;
        self.batches.push(batch);
    }

    fn pop(&mut self) {
        if let Some(batch) = self.batches.pop() {
            self.bytes -= batch.bytes;
        }
    }

    /// Joins the newest batches while one has no more rows than the one after it: few batches are
    /// left of many statements with a row each, and no row is copied more than a dozen times. The
    /// numbers of rows stay what they are.
    fn join_small(&mut self) {
        while let [.., first, second] = self.batches.as_slice() {
            let (rows, bytes) = (first.rows() + second.rows(), first.bytes + second.bytes);
            if first.rows() > second.rows() || rows > JOINED_ROWS || bytes > JOINED_BYTES {
                return;
            }
            // Batches that do not fit together are detected by their reader.
            let Ok(columns) = joined(&[first.columns.as_slice(), second.columns.as_slice()]) else {
                return;
            };
            let batch = Batch::new(first.begin, columns);
            self.pop();
            self.pop();
            self.push(batch);
        }
    }

    /// Takes the rows from a number on away; batches may have been joined across it.
    fn truncate(&mut self, rows: usize) {
        while let Some(last) = self.batches.last().filter(|last| last.end() > rows) {
            let begin = last.begin;
            let slice = |column: &ArrayRef| column.slice(0, rows - begin);
            let left =
                (begin < rows).then(|| Batch::new(begin, last.columns.iter().map(slice).collect()));
            self.pop();
            if let Some(left) = left {
                self.push(left);
            }
        }
        self.live.truncate(rows);
    }

    /// A row is there from now on, or is not.
    fn mark(&mut self, row: usize, is_live: bool) {
        if let Some(flag) = self.live.get_mut(row) {
            *flag = is_live;
        }
        let at = self.batches.partition_point(|it| it.begin <= row).saturating_sub(1);
        if let Some(batch) = self.batches.get_mut(at).filter(|batch| row < batch.end()) {
            batch.shown = OnceLock::new();
        }
    }

    /// Gives a key another state; `None` if there is nothing of it.
    fn set(&mut self, key: Arc<[u8]>, entry: Option<Entry>) {
        if let Some(hidden) = self.hidden.get_mut() {
            // Who still reads keeps what there was.
            let hidden = Arc::make_mut(hidden);
            if entry.is_none() {
                hidden.remove(&*key);
            } else if !hidden.contains(&*key) {
                hidden.insert(key.to_vec());
            }
        }
        let (length, is_there) = (key.len(), entry.is_some());
        let before = match entry {
            Some(entry) => self.entries.insert(key, entry),
            None => self.entries.remove(&key),
        };
        for (entry, is_new) in [(before, false), (entry, true)] {
            if let Some(entry) = entry.filter(|entry| entry.is_live) {
                self.mark(entry.at, is_new);
            }
        }
        match (before.is_some(), is_there) {
            (false, true) => self.bytes += length,
            (true, false) => self.bytes -= length,
            _ => {}
        }
    }

    fn apply(
        &mut self,
        snapshot: &Snapshot,
        change: &Change,
        (undo, besides): (&mut UndoLog, usize),
        stop: &Stop,
    ) -> Result<Counts> {
        self.join_small();
        let mut counts = Counts::default();
        for columns in &change.removes {
            self.put(snapshot, (columns, None), &mut counts, (undo, besides), stop)?;
        }
        let mut before = 0;
        for (columns, mode) in &change.puts {
            let known = counts.ignored_rows.len();
            // What is written already is protected, and would only be written once more.
            let unwritten = change.locks.then(|| self.unwritten(columns)).transpose()?;
            let columns = unwritten.as_ref().unwrap_or(columns);
            if change.locks && columns.first().is_none_or(|column| column.is_empty()) {
                continue;
            }
            self.put(snapshot, (columns, Some(*mode)), &mut counts, (undo, besides), stop)?;
            counts.ignored_rows.iter_mut().skip(known).for_each(|row| *row += before);
            before += columns.first().map_or(0, |column| column.len());
        }
        Ok(counts)
    }

    /// The rows of a batch whose keys have no entry.
    fn unwritten(&self, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let keys = keys_of(&self.def, columns)?;
        let rows = (0..).zip(keys.iter()).filter(|(_, key)| !self.entries.contains_key(*key));
        taken(columns, &UInt32Array::from_iter_values(rows.map(|(row, _)| row)))
    }

    /// Locks rows of the snapshot by the keys of a batch; those that are not there are passed over.
    fn lock_again(
        &mut self,
        snapshot: &Snapshot,
        columns: &[ArrayRef],
        undo: &mut UndoLog,
    ) -> Result<()> {
        let keys = keys_of(&self.def, columns)?;
        let all: Vec<usize> = (0..self.def.columns.len()).collect();
        let found = existing(&self.def, snapshot, columns, &keys.iter().collect(), &all)?;
        for batch in found.batches.iter().filter(|it| it.first().is_some_and(|it| !it.is_empty())) {
            let (put, counts) = ((batch.as_slice(), Some(Mode::Replace)), &mut Counts::default());
            self.put(snapshot, put, counts, (&mut *undo, 0), &Stop::never())?;
        }
        Ok(())
    }

    /// Writes rows under a mode, or deletes them. `besides` is the memory of the rest of the
    /// transaction.
    fn put(
        &mut self,
        snapshot: &Snapshot,
        (columns, mode): (&[ArrayRef], Option<Mode>),
        counts: &mut Counts,
        (undo, besides): (&mut UndoLog, usize),
        stop: &Stop,
    ) -> Result<()> {
        stop.check()?;
        let keys = keys_of(&self.def, columns)?;
        let unknown: HashSet<&[u8]> =
            keys.iter().filter(|key| !self.entries.contains_key(*key)).collect();
        let begin = self.rows();
        let batch = Batch::new(begin, columns.to_vec());
        let new_keys: usize = unknown.iter().map(|key| key.len()).sum();
        check_bytes(besides + self.bytes + new_keys + batch.bytes)?;
        let there = if unknown.is_empty() {
            HashMap::new()
        } else {
            existing(&self.def, snapshot, columns, &unknown, &[])?.rows
        };
        undo.push(Step::Rows { table: self.def.id, rows: begin });
        self.live.resize(begin + batch.rows(), false);
        for (row, key) in keys.iter().enumerate() {
            if row.is_multiple_of(ROWS_UNASKED) {
                stop.check()?;
            }
            let known = self.entries.get_key_value(key);
            let (key_kept, old) =
                known.map_or((None, None), |(key, old)| (Some(Arc::clone(key)), Some(*old)));
            let existed = old.map_or_else(|| there.contains_key(key), |old| old.existed);
            let is_there = old.map_or(existed, |old| old.is_live);
            match mode {
                Some(Mode::Insert) if is_there => {
                    return Err(duplicate_entry(&self.def, columns, row));
                }
                Some(Mode::Ignore) if is_there => {
                    counts.ignored += 1;
                    counts.ignored_rows.push(row);
                    continue;
                }
                Some(_) if is_there => {
                    counts.replaced += 1;
                }
                Some(_) => counts.inserted += 1,
                None if is_there => counts.removed += 1,
                None => continue,
            }
            let entry = Entry { at: begin + row, is_live: mode.is_some(), existed };
            let key = key_kept.unwrap_or_else(|| Arc::from(key));
            undo.push(Step::Key { table: self.def.id, key: Arc::clone(&key), before: old });
            self.set(key, Some(entry));
        }
        for at in (0..batch.rows()).step_by(BATCH_ROWS) {
            let length = BATCH_ROWS.min(batch.rows() - at);
            let piece = batch.columns.iter().map(|column| column.slice(at, length)).collect();
            self.push(Batch::new(begin + at, piece));
        }
        Ok(())
    }

    /// The numbers of the rows that are there, or of the keys that are to be deleted.
    fn places(&self, of: impl Fn(&Entry) -> bool) -> Vec<usize> {
        let mut places: Vec<_> =
            self.entries.values().filter(|entry| of(entry)).map(|entry| entry.at).collect();
        places.sort_unstable();
        places
    }

    /// Rows by their numbers, as batches of all columns.
    fn gather(&self, rows: &[usize]) -> Result<Vec<Vec<ArrayRef>>> {
        let place = |row: &usize| {
            // The first batch begins with row 0.
            let batch = self.batches.partition_point(|it| it.begin <= *row).saturating_sub(1);
            (batch, row - self.batches[batch].begin)
        };
        let gather = |rows: &[usize]| -> Result<Vec<ArrayRef>> {
            let places: Vec<(usize, usize)> = rows.iter().map(place).collect();
            (0..self.def.columns.len())
                .map(|column| {
                    let arrays: Vec<&dyn Array> =
                        self.batches.iter().map(|batch| batch.columns[column].as_ref()).collect();
                    arrow::compute::interleave(&arrays, &places).map_err(|error| {
                        Error::internal("rows of a transaction differ").caused_by(error)
                    })
                })
                .collect()
        };
        rows.chunks(pelorus_store::ROWS_PER_BATCH_MAX).map(gather).collect()
    }

    fn changes(&self) -> Result<Vec<Change>> {
        let mut change = Change::new(Arc::clone(&self.def));
        let dead = self.places(|entry| entry.existed && !entry.is_live);
        change.removes = self.gather(&dead)?;
        let live = self.places(|entry| entry.is_live);
        change.puts =
            self.gather(&live)?.into_iter().map(|columns| (columns, Mode::Replace)).collect();
        Ok(vec![change])
    }

    fn for_reads(&self) -> Result<OwnWrites> {
        let hidden = self.hidden.get_or_init(|| {
            let keys = self.entries.keys().map(|key| key.to_vec());
            Arc::new(keys.collect())
        });
        let mut rows = Vec::with_capacity(self.batches.len());
        for batch in &self.batches {
            let shown = batch.shown(&self.live)?;
            if shown.first().is_some_and(|column| !column.is_empty()) {
                rows.push(shown);
            }
        }
        Ok(OwnWrites { hidden: Arc::clone(hidden), rows })
    }

    /// The transaction's changes to some keys.
    fn of_keys(&self, keys: &HashSet<&[u8]>) -> Result<OwnWrites> {
        let entries: HashMap<&[u8], Entry> =
            keys.iter().filter_map(|key| Some((*key, *self.entries.get(*key)?))).collect();
        let hidden: HashSet<Vec<u8>> = entries.keys().map(|key| key.to_vec()).collect();
        let live = entries.values().filter(|entry| entry.is_live);
        let mut rows: Vec<usize> = live.map(|entry| entry.at).collect();
        rows.sort_unstable();
        Ok(OwnWrites { hidden: Arc::new(hidden), rows: self.gather(&rows)? })
    }
}

#[cfg(test)]
mod tests;
