//! One mirror in memory: its record, its copy, and what happens to it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pelorus_binlog::Position;
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Durability, Keys};

use crate::copies::CopyTable;
use crate::mirrors::MirrorName;
use crate::record::{self, MirrorRecord, State};

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
    /// `record.from`, read.
    from: Option<Position>,
    /// `record.until`, read.
    until: Option<Position>,
    /// Counts the times that it was begun anew: whoever works for an earlier one must stop.
    turn: u64,
}

/// The keys that the stream has changed while ranges are being read: what was read of them is
/// older, or will be put right by changes that are still to come.
#[derive(Debug, Default)]
pub(crate) struct Window {
    open: usize,
    touched: HashSet<Vec<u8>>,
}

impl Window {
    /// Notes that the stream has changed rows.
    pub(crate) fn touch(&mut self, keys: &Keys) {
        if self.open > 0 {
            self.touched.extend(keys.iter().map(<[u8]>::to_vec));
        }
    }

    /// Which of some keys were not changed by the stream; `None` for all.
    pub(crate) fn untouched(&self, keys: &Keys) -> Option<Vec<bool>> {
        if self.touched.is_empty() {
            return None;
        }
        Some(keys.iter().map(|key| !self.touched.contains(key)).collect())
    }

    fn begin(&mut self) {
        self.open += 1;
    }

    fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.touched = HashSet::new();
        }
    }
}

/// What keeps work from going on: somebody has begun the mirror anew.
pub(crate) fn overtaken() -> Error {
    Error::new(Code::QueryInterrupted, "the mirror was begun anew")
}

/// Keeps a window open.
#[derive(Debug)]
pub(crate) struct Opened(Arc<Mirror>);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.window.lock().end();
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
            inner: Mutex::new(Inner { record, copy, from, until, turn: 0 }),
            window: Mutex::default(),
            changes: AtomicU64::new(0),
            queries: AtomicU64::new(0),
            trouble: Mutex::default(),
        })
    }

    pub(crate) fn record(&self) -> MirrorRecord {
        self.inner.lock().record.clone()
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
        let read = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
        let (from, until) = (read(&record.from)?, read(&record.until)?);
        let value = record::encode(&record)?;
        commit.values.push((record::mirror_key(&self.name), Some(value)));
        commit.durability = Durability::Synced;
        store.commit(&commit)?;
        inner.from = from;
        inner.until = until;
        inner.record = record;
        Ok(())
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
        self.window.lock().begin();
        Opened(Arc::clone(self))
    }

    /// The window, while rows are committed.
    pub(crate) fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock()
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
