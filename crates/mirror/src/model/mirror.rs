//! One mirror in memory: its record, its copy, and its state transitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pelorus_binlog::Position;
use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Keys};

use crate::apply::snapshot_window::Window;
use crate::apply::unsettled_rows::{Later, UnsettledRows};
use crate::model::copies::CopyTable;
use crate::model::foreign_key::ForeignKey;
use crate::model::name::MirrorName;
use crate::model::record;
use crate::model::record::{MirrorRecord, RangeRecord, State};

/// Rows that one statement requests again.
const AGAIN_AT_ONCE: usize = 200;
/// Ranges of rows that are requested again, and rows of one commit, beyond which a table is read
/// again.
const AGAIN_MAX: usize = 10_000;

/// Keys of the store, each with its new value or none.
pub(crate) type Values = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// One mirror.
#[derive(Debug)]
pub(crate) struct Mirror {
    pub(crate) name: MirrorName,
    inner: Mutex<Inner>,
    window: Mutex<Window>,
    /// Rows that the stream has written and deleted.
    pub(crate) changes: AtomicU64,
    /// Bytes that a row had which was put together from its parts, on average of the last ones.
    width: AtomicUsize,
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
    /// The time of the request for that, on the monotonic clock: once it is passed, all that was
    /// committed before is in the copy.
    until_at: Option<Duration>,
    /// Counts the resynchronisations: tasks that work for an earlier one must stop.
    turn: u64,
    /// Which rows can be later in the copy than the stream is, while the table is read.
    later: Later,
    /// Its record is gone.
    is_forgotten: bool,
}

/// The error of work on a mirror that was resynchronised meanwhile.
pub(crate) fn overtaken() -> Error {
    Error::new(Code::QueryInterrupted, "the mirror was begun anew")
}

/// Keeps a window open.
#[derive(Debug)]
pub(crate) struct Opened {
    mirror: Arc<Mirror>,
    pub(crate) number: u64,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // The stream may have it while it waits for room in the store.
        blocking(|| self.mirror.window.lock().end(self.number));
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
                until_at: None,
                turn: 0,
                later: Later::default(),
                is_forgotten: false,
            }),
            window: Mutex::default(),
            changes: AtomicU64::new(0),
            width: AtomicUsize::new(0),
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

    /// Whether it is not read yet, so that the rows of the copy will be dropped at the beginning of
    /// the load.
    pub(crate) fn is_gathering(&self) -> bool {
        self.inner.lock().record.gathering
    }

    /// Notes, durably, that a foreign key changes rows of a table that is not live yet.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn note_cascade(&self, store: &Database) -> Result<()> {
        {
            let inner = self.inner.lock();
            if inner.record.cascaded || inner.is_forgotten {
                return Ok(());
            }
        }
        self.update(store, |record| record.cascaded = true)
    }

    /// Whether a foreign key may have changed rows of the copy that were read after that: they lack
    /// earlier values, which partial changes do not restore.
    pub(crate) fn is_cascaded(&self) -> bool {
        let inner = self.inner.lock();
        inner.record.cascaded && inner.record.state != State::Live
    }

    /// The rows of the copy that may differ from the table at the stream's position.
    pub(crate) fn doubts(&self, at: Option<&Position>) -> UnsettledRows {
        let mut inner = self.inner.lock();
        if inner.record.state != State::Loading && !inner.record.early {
            return UnsettledRows::None;
        }
        at.map_or(UnsettledRows::All, |at| inner.later.doubts(at))
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

    /// Logs once why the load of its table waits.
    pub(crate) fn wait_for(&self, what: String) {
        let mut trouble = self.trouble.lock();
        if trouble.as_ref() != Some(&what) {
            tracing::info!(mirror = %self.name, what, "the reading of a table waits");
            *trouble = Some(what);
        }
    }

    /// Ends the current generation: tasks that work for it must stop.
    pub(crate) fn end_turn(&self) {
        self.inner.lock().turn += 1;
        // What it waited for is of no interest any more.
        *self.trouble.lock() = None;
    }

    /// Which time of being begun this is.
    pub(crate) fn turn(&self) -> u64 {
        self.inner.lock().turn
    }

    /// The same if its table is to be read.
    pub(crate) fn waiting_turn(&self) -> Option<u64> {
        let inner = self.inner.lock();
        matches!(inner.record.state, State::Waiting | State::Loading).then_some(inner.turn)
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

    /// Whether it has an event already, by the position that it began with.
    pub(crate) fn has(&self, is_old: impl Fn(&Position) -> bool) -> bool {
        self.inner.lock().from.as_ref().is_some_and(is_old)
    }

    /// Ends the mirror, together with further changes, in one commit: its name belongs to another
    /// mirror, or to none. Tasks that work for it must stop.
    ///
    /// # Errors
    /// 1317 when that is so already, and errors of the store.
    pub(crate) fn end(&self, store: &Database, mut values: Values) -> Result<()> {
        let mut inner = blocking(|| self.inner.lock());
        if inner.is_forgotten {
            return Err(overtaken());
        }
        values.push((record::mirror_key(&self.name), None));
        blocking(|| store.commit(&Commit { values, ..Commit::default() }))?;
        inner.is_forgotten = true;
        inner.turn += 1;
        // For those who still have it: nothing is read, applied or answered.
        inner.record.state = State::Paused;
        Ok(())
    }

    /// Whether the stream has come to the position that it began with.
    pub(crate) fn is_past_beginning(&self, at: &Position) -> bool {
        let inner = self.inner.lock();
        inner.record.state.follows()
            && inner.from.as_ref().is_some_and(|from| at.has_passed(from) == Some(true))
    }

    /// Whether a state and a position make it live now.
    pub(crate) fn has_caught_up(&self, at: &Position) -> bool {
        let inner = self.inner.lock();
        inner.record.state == State::CatchingUp
            && inner.until.as_ref().is_none_or(|until| at.has_passed(until) == Some(true))
    }

    /// The same for a task of one generation: nothing is changed if that is over.
    ///
    /// # Errors
    /// 1317 when the mirror was resynchronised, and errors of the store.
    pub(crate) fn update_in_turn(
        &self,
        store: &Database,
        turn: u64,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        self.keep(store, Some(turn), Vec::new(), change)
    }

    /// Changes the record and stores it durably. If it cannot be stored, it is not changed.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn update(
        &self,
        store: &Database,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        self.update_with(store, Vec::new(), change)
    }

    /// The same together with further values, as one commit.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn update_with(
        &self,
        store: &Database,
        values: Values,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        self.keep(store, None, values, change)
    }

    fn keep(
        &self,
        store: &Database,
        turn: Option<u64>,
        mut values: Values,
        change: impl FnOnce(&mut MirrorRecord),
    ) -> Result<()> {
        let mut inner = blocking(|| self.inner.lock());
        if inner.is_forgotten || turn.is_some_and(|turn| turn != inner.turn) {
            return Err(overtaken());
        }
        let mut record = inner.record.clone();
        change(&mut record);
        let was = inner.record.state;
        let read = |text: &Option<String>| text.as_deref().map(str::parse).transpose();
        let (from, until) = (read(&record.from)?, read(&record.until)?);
        let value = record::encode(&record)?;
        values.push((record::mirror_key(&self.name), Some(value)));
        blocking(|| store.commit(&Commit { values, ..Commit::default() }))?;
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
        if was.follows() && !record.state.follows() {
            // A task may have begun to work for it since its generation was ended.
            inner.turn += 1;
        }
        inner.record = record;
        Ok(())
    }

    /// Requests rows to be read again while the table is read, one condition for each. The later
    /// read must contain the state that is known now, so this comes before the change that is the
    /// reason.
    ///
    /// # Errors
    /// Too many of them (1412), and errors of the store.
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

    /// All ranges are in the copy, with the rows that were requested again: when the stream has
    /// passed a position, it is complete. `asked` is the time of the request for that position.
    /// Whether there is still something to be read.
    ///
    /// # Errors
    /// 1317 when the mirror was resynchronised, and errors of the store.
    pub(crate) fn end_reading(
        &self,
        store: &Database,
        turn: u64,
        (until, asked): (&Position, Duration),
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
        if is_whole {
            self.inner.lock().until_at = Some(asked);
        }
        Ok(is_whole)
    }

    /// The time of the request for the position at which the copy became complete.
    pub(crate) fn until_at(&self) -> Option<Duration> {
        self.inner.lock().until_at
    }

    /// Resynchronises the mirror: tasks that work for it stop.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn begin_again(&self, store: &Database, reason: Option<String>) -> Result<()> {
        self.end_turn();
        self.update(store, |record| begin(record, reason))
    }

    /// The same for a task of one generation.
    ///
    /// # Errors
    /// 1317 when the mirror was resynchronised, and errors of the store.
    pub(crate) fn begin_again_in_turn(
        &self,
        store: &Database,
        turn: u64,
        reason: Option<String>,
    ) -> Result<()> {
        self.update_in_turn(store, turn, |record| begin(record, reason))
    }

    /// Stops the tasks that work for it, and sets a state.
    ///
    /// # Errors
    /// Errors of the store.
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
        let number = blocking(|| self.window.lock().begin());
        Opened { mirror: Arc::clone(self), number }
    }

    /// The window, while rows are committed.
    pub(crate) fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock()
    }

    /// The window, unless another task holds it.
    pub(crate) fn try_window(&self) -> Option<MutexGuard<'_, Window>> {
        self.window.try_lock()
    }

    /// Whether changes of the stream are applied to that copy of it.
    pub(crate) fn follows_in(&self, copy: &Arc<dyn CopyTable>) -> bool {
        let inner = self.inner.lock();
        inner.record.state.follows() && inner.copy.as_ref().is_some_and(|it| Arc::ptr_eq(it, copy))
    }

    /// How wide rows are that come in part, once it is known.
    pub(crate) fn width(&self) -> usize {
        // Ordering: a guess; set by the task that asks.
        self.width.load(Ordering::Relaxed)
    }

    pub(crate) fn note_width(&self, bytes: usize) {
        // Ordering: as above.
        self.width.store(bytes, Ordering::Relaxed);
    }

    /// Notes changes that the stream has made.
    pub(crate) fn note_changes(&self, rows: u64) {
        // Ordering: only looked at by people.
        self.changes.fetch_add(rows, Ordering::Relaxed);
    }
}

/// The record of a mirror before it is read.
fn begin(record: &mut MirrorRecord, reason: Option<String>) {
    record.state = State::Waiting;
    record.reason = reason;
    record.from = None;
    record.until = None;
    record.ranges = Vec::new();
    record.rows_loaded = 0;
    record.settled = false;
    record.gathering = false;
    record.cascaded = false;
    record.changing = None;
}
