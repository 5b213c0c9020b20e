//! One mirror in memory: its record, its copy, and what happens to it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, BooleanArray};
use parking_lot::{Mutex, MutexGuard};
use pelorus_binlog::Position;
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Durability, Keys};

use crate::cascade::{Action, ForeignKey};
use crate::copies::CopyTable;
use crate::doubts::{Doubts, Later};
use crate::mirrors::MirrorName;
use crate::parts::{Awaited, Parts};
use crate::record::{self, MirrorRecord, RangeRecord, State};

/// Rows that one statement asks for again.
const AGAIN_AT_ONCE: usize = 200;
/// Ranges of rows that are asked for again, and rows of one commit, beyond which a table is read
/// anew.
const AGAIN_MAX: usize = 10_000;

/// One mirror.
#[derive(Debug)]
pub(crate) struct Mirror {
    pub(crate) name: MirrorName,
    inner: Mutex<Inner>,
    window: Mutex<Window>,
    /// Rows that the stream has written and deleted.
    pub(crate) changes: AtomicU64,
    /// Queries that it has answered.
    pub(crate) queries: AtomicU64,
    /// Why it could not be read the last time, until that has succeeded.
    pub(crate) trouble: Mutex<Option<String>>,
}

#[derive(Debug)]
struct Inner {
    record: MirrorRecord,
    copy: Option<Arc<dyn CopyTable>>,
    /// `record.foreign_keys`, to be shared.
    foreign_keys: Arc<[ForeignKey]>,
    /// `record.from`, read.
    from: Option<Position>,
    /// `record.until`, read.
    until: Option<Position>,
    /// Counts the times that it was begun anew: whoever works for an earlier one must stop.
    turn: u64,
    /// Which rows can be later in the copy than the stream is, while the table is read.
    later: Later,
}

/// The keys that the stream has changed while ranges are being read: what was read of them is
/// older, or will be put right by changes that are still to come.
#[derive(Debug, Default)]
pub(crate) struct Window {
    open: usize,
    /// How often one was opened.
    opened: u64,
    /// Keys, and how many had been opened when they changed for the last time.
    touched: HashMap<Vec<u8>, u64>,
    /// What the stream has changed in rows that the copy does not have yet.
    awaited: Awaited,
    gone: Vec<Gone>,
}

/// Values that a foreign key no longer refers to: rows that have them were read before that.
#[derive(Debug)]
struct Gone {
    columns: Vec<usize>,
    action: Action,
    values: HashSet<Vec<u8>>,
}

impl Window {
    /// Notes that the stream has changed rows.
    pub(crate) fn touch(&mut self, keys: &Keys) {
        if self.open > 0 {
            self.touched.extend(keys.iter().map(|key| (key.to_vec(), self.opened)));
            if !self.awaited.is_empty() {
                keys.iter().for_each(|key| self.awaited.forget(key));
            }
        }
    }

    /// Notes what the stream has of rows that the copy does not have yet. Ranges that are read
    /// now may bring them as they were before; those that are read later have it.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn wait_for(&mut self, parts: &Parts<'_>, missed: &[u32]) -> Result<()> {
        if self.open == 0 { Ok(()) } else { self.awaited.add(parts, missed) }
    }

    /// Rows that were read, with what the stream has of them.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn fold(&self, keys: &Keys, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        if self.awaited.is_empty() { Ok(columns) } else { self.awaited.fold(keys, columns) }
    }

    /// Which of some keys the stream has not changed since a window was opened; `None` for all.
    /// What it has changed before that is in what is read.
    pub(crate) fn untouched(&self, keys: &Keys, opened: &Opened) -> Option<Vec<bool>> {
        if self.touched.is_empty() {
            return None;
        }
        let is_touched = |key| self.touched.get(key).is_some_and(|at| *at >= opened.number);
        Some(keys.iter().map(|key| !is_touched(key)).collect())
    }

    /// Notes that a foreign key has changed all rows that referred to a value.
    pub(crate) fn note_gone(&mut self, columns: &[usize], action: Action, value: &[u8]) {
        if self.open == 0 {
            return;
        }
        let same = |it: &&mut Gone| it.columns == columns && it.action == action;
        if let Some(gone) = self.gone.iter_mut().find(same) {
            gone.values.insert(value.to_vec());
            return;
        }
        let values = HashSet::from([value.to_vec()]);
        self.gone.push(Gone { columns: columns.to_vec(), action, values });
    }

    /// Does to rows that were read what foreign keys have done since. (A row that refers to such a
    /// value again has been changed later, and that change comes by itself.)
    ///
    /// # Errors
    /// A collation whose rules are not known.
    pub(crate) fn without_gone(
        &self,
        copy: &dyn CopyTable,
        mut rows: Vec<ArrayRef>,
    ) -> Result<Vec<ArrayRef>> {
        let cannot = |error| Error::internal("rows cannot be left out").caused_by(error);
        for gone in &self.gone {
            let own: Vec<ArrayRef> = gone.columns.iter().map(|&at| Arc::clone(&rows[at])).collect();
            let refers = |value: &Option<Vec<u8>>| {
                value.as_ref().is_some_and(|value| gone.values.contains(value))
            };
            let values = crate::cascade::values(copy, &gone.columns, &own)?;
            let is_gone: BooleanArray = values.iter().map(refers).collect::<Vec<_>>().into();
            if is_gone.true_count() == 0 {
                continue;
            }
            match gone.action {
                Action::Cascade => {
                    let keep = arrow::compute::not(&is_gone).map_err(cannot)?;
                    for column in &mut rows {
                        *column = arrow::compute::filter(column, &keep).map_err(cannot)?;
                    }
                }
                Action::SetNull => {
                    for &at in &gone.columns {
                        rows[at] = arrow::compute::nullif(&rows[at], &is_gone).map_err(cannot)?;
                    }
                }
            }
        }
        Ok(rows)
    }

    fn begin(&mut self) -> u64 {
        self.open += 1;
        self.opened += 1;
        self.opened
    }

    fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.touched = HashMap::new();
            self.awaited = Awaited::default();
            self.gone = Vec::new();
        }
    }
}

/// What keeps work from going on: somebody has begun the mirror anew.
pub(crate) fn overtaken() -> Error {
    Error::new(Code::QueryInterrupted, "the mirror was begun anew")
}

/// Keeps a window open.
#[derive(Debug)]
pub(crate) struct Opened {
    mirror: Arc<Mirror>,
    number: u64,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.mirror.window.lock().end();
    }
}

impl Mirror {
    pub(crate) fn new(
        name: MirrorName,
        record: MirrorRecord,
        copy: Option<Arc<dyn CopyTable>>,
    ) -> Result<Self> {
        let read = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
        let (from, until) = (read(&record.from)?, read(&record.until)?);
        Ok(Self {
            name,
            inner: Mutex::new(Inner {
                foreign_keys: record.foreign_keys.as_slice().into(),
                record,
                copy,
                from,
                until,
                turn: 0,
                later: Later::default(),
            }),
            window: Mutex::default(),
            changes: AtomicU64::new(0),
            queries: AtomicU64::new(0),
            trouble: Mutex::default(),
        })
    }

    pub(crate) fn record(&self) -> MirrorRecord {
        self.inner.lock().record.clone()
    }

    /// Foreign keys that change its rows, and whose doings the binlog may not have.
    pub(crate) fn foreign_keys(&self) -> Arc<[ForeignKey]> {
        Arc::clone(&self.inner.lock().foreign_keys)
    }

    /// Whether it is not read yet, and what the copy has will be thrown away when it is.
    pub(crate) fn is_gathering(&self) -> bool {
        self.inner.lock().record.gathering
    }

    /// Which rows of the copy may not be what the table had where the stream is, given how far
    /// that is.
    pub(crate) fn doubts(&self, at: Option<&Position>) -> Doubts {
        let mut inner = self.inner.lock();
        if inner.record.state != State::Loading && !inner.record.early {
            return Doubts::None;
        }
        at.map_or(Doubts::All, |at| inner.later.doubts(at))
    }

    pub(crate) fn state(&self) -> State {
        self.inner.lock().record.state
    }

    pub(crate) fn copy(&self) -> Option<Arc<dyn CopyTable>> {
        self.inner.lock().copy.clone()
    }

    pub(crate) fn set_copy(&self, copy: Arc<dyn CopyTable>) {
        self.inner.lock().copy = Some(copy);
    }

    /// Whoever works for it must stop.
    pub(crate) fn end_turn(&self) {
        self.inner.lock().turn += 1;
    }

    /// Which time of being begun this is.
    pub(crate) fn turn(&self) -> u64 {
        self.inner.lock().turn
    }

    /// The copy, when changes of the stream are applied to it; those that `is_old` says of the
    /// position that the copy began with are not.
    pub(crate) fn follower(
        &self,
        is_old: impl Fn(&Position) -> bool,
    ) -> Option<Arc<dyn CopyTable>> {
        let inner = self.inner.lock();
        if !inner.record.state.follows() || inner.from.as_ref().is_some_and(is_old) {
            return None;
        }
        inner.copy.clone()
    }

    /// Whether a state and a position make it live now.
    pub(crate) fn has_caught_up(&self, at: &Position) -> bool {
        let inner = self.inner.lock();
        inner.record.state == State::CatchingUp
            && inner.until.as_ref().is_none_or(|until| at.has_passed(until) == Some(true))
    }

    /// The same for whoever works for one turn: nothing is changed when that is over.
    ///
    /// # Errors
    /// 1317 when the mirror was begun anew, and what the store gives.
    pub(crate) fn update_in_turn(
        &self,
        store: &Database,
        turn: u64,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        self.keep(store, Some(turn), Commit::default(), change)
    }

    /// Changes the record and keeps it, durably. The change is not made when it cannot be kept.
    ///
    /// # Errors
    /// What the store gives.
    pub(crate) fn update(
        &self,
        store: &Database,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        self.update_with(store, Commit::default(), change)
    }

    /// The same together with further changes, as one commit.
    ///
    /// # Errors
    /// What the store gives.
    pub(crate) fn update_with(
        &self,
        store: &Database,
        commit: Commit,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        self.keep(store, None, commit, change)
    }

    fn keep(
        &self,
        store: &Database,
        turn: Option<u64>,
        mut commit: Commit,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        let mut inner = self.inner.lock();
        if turn.is_some_and(|turn| turn != inner.turn) {
            return Err(overtaken());
        }
        let mut record = inner.record.clone();
        change(&mut record);
        let was = inner.record.state;
        let read = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
        let (from, until) = (read(&record.from)?, read(&record.until)?);
        let value = record::encode(&record)?;
        commit.values.push((record::mirror_key(&self.name), Some(value)));
        commit.durability = Durability::Synced;
        store.commit(&commit)?;
        match (was, record.state, &until) {
            (State::Loading, State::CatchingUp, Some(until)) => inner.later.end_reading(until),
            (_, State::Loading | State::CatchingUp, _) => {}
            _ => inner.later = Later::default(),
        }
        inner.from = from;
        inner.until = until;
        if inner.record.foreign_keys != record.foreign_keys {
            inner.foreign_keys = record.foreign_keys.as_slice().into();
        }
        inner.record = record;
        Ok(())
    }

    /// Has rows read again while the table is read, one condition for each. What is known now
    /// must be in what is read then, so this comes before the change that is the reason.
    ///
    /// # Errors
    /// Too many of them (1412), and what the store gives.
    pub(crate) fn ask_again(
        &self,
        store: &Database,
        keys: &Keys,
        conditions: &[String],
    ) -> Result<()> {
        if self.inner.lock().record.ranges.len() > AGAIN_MAX || conditions.len() > AGAIN_MAX {
            let text = "too many rows changed their keys or documents, in images that lack \
                        columns, while the table was read";
            return Err(Error::new(Code::TableChanged, text));
        }
        self.inner.lock().later.ask_again(keys);
        self.update(store, |record| {
            for some in conditions.chunks(AGAIN_AT_ONCE) {
                record.ranges.push(RangeRecord {
                    condition: Some(format!("({})", some.join(" OR "))),
                    partitions: Vec::new(),
                    rows: some.len() as u64,
                    done: false,
                });
            }
            if record.state == State::CatchingUp {
                record.state = State::Loading;
                record.until = None;
            }
        })
    }

    /// All ranges are in the copy, with those that were asked for again: when the stream has
    /// passed a position, it is whole. Whether there is still something to be read.
    ///
    /// # Errors
    /// 1317 when the mirror was begun anew, and what the store gives.
    pub(crate) fn end_reading(
        &self,
        store: &Database,
        turn: u64,
        until: &Position,
    ) -> Result<bool> {
        let mut is_whole = false;
        self.update_in_turn(store, turn, |record| {
            // The stream may have found rows meanwhile that must be read again.
            is_whole = record.ranges.iter().all(|range| range.done);
            if is_whole {
                record.state = State::CatchingUp;
                record.until = Some(until.to_string());
                record.ranges = Vec::new();
            }
        })?;
        Ok(is_whole)
    }

    /// Begins anew from nothing: whoever works for it stops.
    ///
    /// # Errors
    /// What the store gives.
    pub(crate) fn begin_again(&self, store: &Database, reason: Option<String>) -> Result<()> {
        self.end_turn();
        self.update(store, |record| {
            record.state = State::Waiting;
            record.reason = reason;
            record.from = None;
            record.until = None;
            record.ranges = Vec::new();
            record.rows_loaded = 0;
            record.settled = false;
            record.gathering = false;
            record.changing = None;
        })
    }

    /// Stops what works for it, and sets a state.
    ///
    /// # Errors
    /// What the store gives.
    pub(crate) fn stop_in(
        &self,
        store: &Database,
        state: State,
        reason: Option<String>,
    ) -> Result<()> {
        self.end_turn();
        self.update(store, |record| {
            record.state = state;
            record.reason = reason;
        })
    }

    /// Opens a window for the reading of a range.
    pub(crate) fn open_window(self: &Arc<Self>) -> Opened {
        let number = self.window.lock().begin();
        Opened { mirror: Arc::clone(self), number }
    }

    /// The window, while rows are committed.
    pub(crate) fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock()
    }

    /// The window, if nobody has it.
    pub(crate) fn try_window(&self) -> Option<MutexGuard<'_, Window>> {
        self.window.try_lock()
    }

    /// Whether changes of the stream are applied to that copy of it.
    pub(crate) fn follows_in(&self, copy: &Arc<dyn CopyTable>) -> bool {
        let inner = self.inner.lock();
        inner.record.state.follows() && inner.copy.as_ref().is_some_and(|it| Arc::ptr_eq(it, copy))
    }

    /// Notes changes that the stream has made.
    pub(crate) fn note_changes(&self, rows: u64) {
        // Ordering: only looked at by people.
        self.changes.fetch_add(rows, Ordering::Relaxed);
    }
}
