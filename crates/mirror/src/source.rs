//! One linked server as a source of changes: its mirrors, its stream, and how far that is.

mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use pelorus_binlog::Position;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_link::{Link, SourceFacts};
use pelorus_store::{Commit, Database};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::cascade::{self, Referrers};
use crate::copies::Copies;
use crate::load;
use crate::mirror::Mirror;
use crate::mirrors::{MirrorName, Shared};
use crate::record::{self, MirrorRecord, SourceRecord, State};
use crate::status::MirrorStatus;

/// Ranges of all tables of one server that are read at the same time.
const READERS: usize = 4;
/// Tables of one server that are read at the same time.
const LOADS: usize = 2;
/// The wait after a first failure, and the longest.
const RETRY_MIN: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// How long a server may have less than was read of it.
const DIVERGED: Duration = Duration::from_secs(20);
/// How often tables that wait are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often the stream is reminded to commit what it has.
const SETTLE_EVERY: Duration = Duration::from_millis(50);
/// How often the server is asked how far it is, and how long that is waited for.
const ASK_END_EVERY: Duration = Duration::from_secs(1);
const END_WITHIN: Duration = Duration::from_secs(2);
/// How long the end of the tasks is waited for.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// How the stream stands.
#[derive(Clone, Debug, Default)]
struct SourceStatus {
    /// Whether it is open.
    connected: bool,
    /// Why it ended the last time, while it is not open.
    error: Option<String>,
}

/// One server with mirrors.
#[derive(Debug)]
pub(crate) struct Source {
    link: String,
    shared: Arc<Shared>,
    mirrors: RwLock<BTreeMap<(String, String), Arc<Mirror>>>,
    databases: RwLock<BTreeSet<String>>,
    /// Which mirrors refer to which tables by foreign keys; `None` when it must be looked at anew.
    referrers: Mutex<Option<Arc<Referrers>>>,
    /// Up to where the stream has been applied; watched by those who wait for it.
    applied: watch::Sender<Option<Position>>,
    /// Counts the times that the stream had committed all that it had read.
    rounds: watch::Sender<u64>,
    /// Held while the position changes.
    moving: Mutex<()>,
    /// Set when the stream must begin again, at the position that `applied` says.
    moved: AtomicBool,
    /// When the copies were known to be whole for the last time, on the monotonic clock, in
    /// microseconds plus one; 0 for never.
    whole_at: AtomicU64,
    status: Mutex<SourceStatus>,
    /// How far the server was when it was last asked, or said so; `None` when it does not answer.
    server_end: Mutex<Option<Position>>,
    /// Since when the server has less than was read of it.
    diverged_since: Mutex<Option<Duration>>,
    /// Something has changed that the tasks should look at.
    wake: Notify,
    reading: Arc<Semaphore>,
    /// The stream needs the statements that rows come from.
    statements: AtomicBool,
    stopping: AtomicBool,
    /// The server does not tell names of databases and tables apart by case.
    folds_names: AtomicBool,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Source {
    pub(crate) fn open(link: &str, shared: Arc<Shared>) -> Result<Arc<Self>> {
        let kept = shared.store().value(&record::position_key(link));
        let position =
            kept.map(|bytes| String::from_utf8_lossy(&bytes).parse::<Position>()).transpose()?;
        Ok(Arc::new(Self {
            link: link.to_owned(),
            shared,
            mirrors: RwLock::default(),
            databases: RwLock::default(),
            referrers: Mutex::default(),
            applied: watch::Sender::new(position),
            rounds: watch::Sender::new(0),
            moving: Mutex::default(),
            moved: AtomicBool::new(false),
            whole_at: AtomicU64::new(0),
            status: Mutex::default(),
            server_end: Mutex::default(),
            diverged_since: Mutex::default(),
            wake: Notify::new(),
            reading: Arc::new(Semaphore::new(READERS)),
            statements: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            folds_names: AtomicBool::new(false),
            task: Mutex::default(),
        }))
    }

    pub(crate) fn store(&self) -> &Arc<Database> {
        self.shared.store()
    }

    pub(crate) fn copies(&self) -> &Arc<dyn Copies> {
        &self.shared.copies
    }

    pub(crate) fn env(&self) -> &Env {
        &self.shared.env
    }

    fn now(&self) -> Duration {
        self.env().clock.monotonic()
    }

    /// Up to where the stream has been applied.
    pub(crate) fn position(&self) -> Option<Position> {
        self.applied.borrow().clone()
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_waiters();
        self.wake.notify_one();
    }

    /// Leave to read a range.
    pub(crate) async fn loading_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.reading).acquire_owned().await.ok()
    }

    // Mirrors.

    pub(crate) fn insert(&self, mirror: Arc<Mirror>) {
        let key = (mirror.name.database.clone(), mirror.name.table.clone());
        self.mirrors.write().insert(key, mirror);
        self.forget_referrers();
    }

    /// Foreign keys of mirrors have changed.
    pub(crate) fn forget_referrers(&self) {
        *self.referrers.lock() = None;
    }

    /// Which mirrors refer to which tables by foreign keys that change their rows.
    pub(crate) fn all_referrers(&self) -> Arc<Referrers> {
        let mut referrers = self.referrers.lock();
        let known = referrers.get_or_insert_with(|| Arc::new(cascade::referrers(&self.mirrors())));
        Arc::clone(known)
    }

    pub(crate) fn mirror(&self, database: &str, table: &str) -> Option<Arc<Mirror>> {
        let mirrors = self.mirrors.read();
        let found = mirrors.get(&(database.to_owned(), table.to_owned()));
        let alike = |it: &&Arc<Mirror>| {
            self.is_same(&it.name.database, database) && self.is_same(&it.name.table, table)
        };
        match found {
            None if self.folds_names() => mirrors.values().find(alike).cloned(),
            _ => found.cloned(),
        }
    }

    /// Whether it is a MariaDB, as far as the stream's position tells.
    pub(crate) fn is_mariadb(&self) -> bool {
        matches!(self.position(), Some(Position::MariaDb(_)))
    }

    fn folds_names(&self) -> bool {
        // Ordering: set before the stream that names come from begins.
        self.folds_names.load(Ordering::Acquire)
    }

    /// Whether the server takes two names of databases or tables for one.
    fn is_same(&self, one: &str, other: &str) -> bool {
        one == other || (self.folds_names() && one.to_lowercase() == other.to_lowercase())
    }

    pub(crate) fn mirrors(&self) -> Vec<Arc<Mirror>> {
        self.mirrors.read().values().cloned().collect()
    }

    pub(crate) fn mirrors_of(&self, database: &str) -> Vec<Arc<Mirror>> {
        let mut all = self.mirrors();
        all.retain(|mirror| self.is_same(&mirror.name.database, database));
        all
    }

    /// Adds a mirror that is not there, durably.
    pub(crate) fn add(&self, name: &MirrorName, record: MirrorRecord) -> Result<()> {
        let mirror = Arc::new(Mirror::new(name.clone(), record, None)?);
        mirror.update(self.store(), |_| {})?;
        self.insert(mirror);
        self.wake();
        Ok(())
    }

    /// Takes a mirror away and drops its copy; `None` when there is none.
    pub(crate) fn remove(&self, database: &str, table: &str) -> Result<Option<()>> {
        let Some(mirror) = self.mirror(database, table) else { return Ok(None) };
        mirror.stop_in(self.store(), State::Paused, Some("is being dropped".to_owned()))?;
        self.copies().drop_copy(&mirror.name)?;
        let values = vec![(record::mirror_key(&mirror.name), None)];
        let is_last = {
            let mut mirrors = self.mirrors.write();
            mirrors.remove(&(mirror.name.database.clone(), mirror.name.table.clone()));
            mirrors.is_empty()
        };
        self.forget_referrers();
        if is_last {
            // The next mirror begins with a position of its own.
            self.give_up_position()?;
        }
        self.store().commit(&Commit { values, ..Commit::default() })?;
        self.wake();
        Ok(Some(()))
    }

    /// Gives a mirror with its copy another name. One that is not read yet begins there.
    pub(crate) fn rename(&self, mirror: &Arc<Mirror>, to: &MirrorName) -> Result<()> {
        let record = mirror.record();
        if !matches!(record.state, State::Live | State::CatchingUp) {
            self.remove(&mirror.name.database, &mirror.name.table)?;
            return self.add(to, MirrorRecord { of_database: true, ..MirrorRecord::default() });
        }
        mirror.end_turn();
        self.copies().rename(&mirror.name, to)?;
        let renamed = Mirror::new(to.clone(), record, self.copies().find(to))?;
        let gone = vec![(record::mirror_key(&mirror.name), None)];
        let commit = Commit { values: gone, ..Commit::default() };
        renamed.update_with(self.store(), commit, |_| {})?;
        let key = (mirror.name.database.clone(), mirror.name.table.clone());
        self.mirrors.write().remove(&key);
        self.insert(Arc::new(renamed));
        tracing::info!(from = %mirror.name, to = %to, "a mirrored table was renamed");
        Ok(())
    }

    pub(crate) fn add_database(&self, database: &str) {
        self.databases.write().insert(database.to_owned());
    }

    pub(crate) fn forget_database(&self, database: &str) {
        self.databases.write().retain(|it| !self.is_same(it, database));
    }

    pub(crate) fn has_database(&self, database: &str) -> bool {
        self.databases.read().iter().any(|it| self.is_same(it, database))
    }

    /// The name of a table of this source.
    pub(crate) fn name_of(&self, database: &str, table: &str) -> MirrorName {
        let name =
            |name: &str| if self.folds_names() { name.to_lowercase() } else { name.to_owned() };
        MirrorName { link: self.link.clone(), database: name(database), table: name(table) }
    }

    /// Stops following a table.
    pub(crate) fn pause(&self, mirror: &Mirror) -> Result<()> {
        // Nothing is committed between the look at the position and the end of the following.
        let _moving = self.moving.lock();
        match mirror.state() {
            State::Paused => Ok(()),
            // What has been read can be gone on from the place where the stream is.
            State::Live | State::CatchingUp => {
                self.keep_beginning(mirror)?;
                mirror.stop_in(self.store(), State::Paused, None)
            }
            _ => {
                mirror.begin_again(self.store(), None)?;
                mirror.stop_in(self.store(), State::Paused, None)
            }
        }
    }

    /// Goes on with a table. The stream goes back to where it was paused; the other tables pass
    /// over what they have.
    pub(crate) fn resume(&self, mirror: &Mirror) -> Result<()> {
        let moving = self.moving.lock();
        let record = mirror.record();
        let place = record.from.as_deref().map(str::parse::<Position>).transpose()?;
        match (record.state, place) {
            (State::Paused, Some(place)) if mirror.copy().is_some() => {
                let until = self.level(mirror)?;
                mirror.update(self.store(), |record| {
                    record.state = State::CatchingUp;
                    record.reason = None;
                    record.until = until.map(|it| it.to_string());
                })?;
                match self.position() {
                    // It comes by there again, for the sake of others.
                    Some(at) if place.has_passed(&at) == Some(true) => self.begin_stream_again(),
                    _ => self.go_to_locked(&place, &moving)?,
                }
                Ok(())
            }
            (State::Paused | State::Failed, _) => {
                mirror.begin_again(self.store(), None)?;
                self.wake();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes for all mirrors but one that they have everything up to where the stream is. Returns
    /// the position from which on that one can be read together with the others: one of them may
    /// be further than the stream, which has gone back before for another.
    fn level(&self, mirror: &Mirror) -> Result<Option<Position>> {
        let mut level = self.position();
        let mut reach = |text: Option<String>| {
            let other = text.and_then(|it| it.parse::<Position>().ok());
            let is_later = match (&other, &level) {
                (Some(other), Some(level)) => other.has_passed(level) == Some(true),
                (other, None) => other.is_some(),
                (None, _) => false,
            };
            if is_later {
                level = other;
            }
        };
        for other in self.mirrors() {
            if other.state().follows() && other.name != mirror.name {
                self.keep_beginning(&other)?;
                reach(other.record().from);
            }
        }
        let record = mirror.record();
        reach(record.until);
        reach(record.from);
        Ok(level)
    }

    /// Notes for a mirror that it has everything up to where the stream is.
    fn keep_beginning(&self, mirror: &Mirror) -> Result<()> {
        let Some(at) = self.position() else { return Ok(()) };
        let earlier = mirror.record().from.and_then(|it| it.parse::<Position>().ok());
        if earlier.is_some_and(|earlier| earlier.has_passed(&at) == Some(true)) {
            return Ok(());
        }
        mirror.update(self.store(), |record| record.from = Some(at.to_string()))
    }

    /// Lets the stream begin again at a position.
    fn go_to(&self, place: &Position) -> Result<()> {
        let moving = self.moving.lock();
        self.go_to_locked(place, &moving)
    }

    fn go_to_locked(&self, place: &Position, _moving: &MutexGuard<'_, ()>) -> Result<()> {
        self.keep_position(Some(place))?;
        self.applied.send_replace(Some(place.clone()));
        self.moved.store(true, Ordering::Release);
        self.wake();
        Ok(())
    }

    /// Ends the stream; it begins again where it was.
    pub(crate) fn begin_stream_again(&self) {
        self.moved.store(true, Ordering::Release);
        self.wake();
    }

    /// Lets the stream begin again with the statements that rows come from.
    fn want_statements(&self) {
        // Ordering: looked at by the task that has set it.
        self.statements.store(true, Ordering::Relaxed);
        self.begin_stream_again();
    }

    /// Whether the stream needs the statements that rows come from. They take as much room as the
    /// rows, so they are asked for where rows in part have been seen or are to be expected.
    fn wants_statements(&self, facts: &SourceFacts) -> bool {
        let are_whole = matches!(facts.binlog_row_image.as_str(), "" | "FULL");
        // Ordering: as above.
        facts.is_mariadb && (!are_whole || self.statements.load(Ordering::Relaxed))
    }

    /// Whether there is no mirror.
    pub(crate) fn is_empty(&self) -> bool {
        self.mirrors.read().is_empty()
    }

    /// Whether there are mirrors, or databases that are mirrored.
    pub(crate) fn is_used(&self) -> bool {
        !self.is_empty() || !self.databases.read().is_empty()
    }

    /// The next stream begins at a position of its own.
    fn give_up_position(&self) -> Result<()> {
        let _moving = self.moving.lock();
        self.keep_position(None)?;
        self.applied.send_replace(None);
        self.moved.store(true, Ordering::Release);
        Ok(())
    }

    fn keep_position(&self, position: Option<&Position>) -> Result<()> {
        let value = position.map(|it| it.to_string().into_bytes());
        let values = vec![(record::position_key(&self.link), value)];
        self.store().commit(&Commit { values, ..Commit::default() }).map(drop)
    }

    /// Sees that the stream begins at a position or before it.
    pub(crate) fn begin_at(&self, place: &Position) -> Result<()> {
        let is_set = self.position().is_some();
        if is_set { Ok(()) } else { self.go_to(place) }
    }

    /// Waits until the stream has committed everything that it had read before this call, if it
    /// runs: from then on it looks at the mirrors as they are now.
    pub(crate) async fn settle(&self) {
        let mut rounds = self.rounds.subscribe();
        // The round that runs now may have begun before the call.
        let wanted = *rounds.borrow_and_update() + 2;
        while *rounds.borrow_and_update() < wanted && self.status.lock().connected {
            self.wake();
            tokio::time::timeout(SETTLE_EVERY, rounds.changed()).await.ok();
        }
    }

    // What is known.

    /// How old what the copies show may be.
    pub(crate) fn staleness(&self) -> Option<Duration> {
        // Ordering: published after the commits that it speaks of.
        let at = self.whole_at.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.now().saturating_sub(Duration::from_micros(at)))
    }

    /// Notes that the copies have everything that was committed up to a moment of the monotonic
    /// clock.
    fn note_whole(&self, at: Duration) {
        let micros = u64::try_from(at.as_micros()).unwrap_or(u64::MAX - 1) + 1;
        self.whole_at.fetch_max(micros, Ordering::AcqRel);
    }

    /// Asks the server how far it is and waits until the stream has been applied up to there.
    pub(crate) async fn catch_up(&self, patience: Duration) -> bool {
        let begun = self.now();
        let reached = tokio::time::timeout(patience, async {
            let link = self.shared.links.link(&self.link)?;
            let end = link.binlog_end().await.ok()?;
            self.note_end(Some(end.clone()));
            let mut applied = self.applied.subscribe();
            let has_passed = |at: &Option<Position>| {
                at.as_ref().is_some_and(|at| at.has_passed(&end) == Some(true))
            };
            applied.wait_for(has_passed).await.ok()?;
            Some(())
        });
        let reached = reached.await.ok().flatten().is_some();
        if reached {
            self.note_whole(begun);
        }
        reached
    }

    /// Notes how far the server is.
    fn note_end(&self, end: Option<Position>) {
        *self.server_end.lock() = end;
    }

    /// Asks the server how far it is, as long as it is not dropped: who looks at the mirrors should
    /// see how much is missing also when nobody's query asks.
    async fn watch_end(self: Arc<Self>, link: Link) {
        loop {
            tokio::time::sleep(ASK_END_EVERY).await;
            // A heartbeat has said it already.
            if self.staleness().is_none_or(|it| it >= ASK_END_EVERY) {
                let asked = tokio::time::timeout(END_WITHIN, link.binlog_end()).await;
                self.note_end(asked.ok().and_then(Result::ok));
            }
        }
    }

    /// How many transactions the server has that have not been applied.
    fn transactions_behind(&self) -> Option<u64> {
        let end = self.server_end.lock().clone().filter(|_| self.status.lock().connected)?;
        self.position()?.behind(&end)
    }

    pub(crate) fn list(&self) -> Vec<MirrorStatus> {
        let status = self.status.lock().clone();
        let transactions = self.transactions_behind();
        let position = self.position().map(|it| it.to_string());
        let of = |mirror: &Arc<Mirror>| {
            let record = mirror.record();
            let done = record.ranges.iter().filter(|range| range.done).count();
            let trouble = || mirror.trouble.lock().clone();
            let ended = || status.error.clone().filter(|_| record.state != State::Paused);
            MirrorStatus {
                name: mirror.name.clone(),
                state: record.state,
                ranges: (done, record.ranges.len()),
                rows_loaded: record.rows_loaded,
                // Ordering: only looked at by people.
                changes: mirror.changes.load(Ordering::Relaxed),
                loads: record.loads,
                queries: mirror.queries.load(Ordering::Relaxed),
                filter: record.filter.clone(),
                staleness: self.staleness().filter(|_| record.state == State::Live),
                transactions: transactions.filter(|_| record.state.follows()),
                position: position.clone(),
                reason: trouble().or_else(|| record.reason.clone()).or_else(ended),
            }
        };
        self.mirrors().iter().map(of).collect()
    }

    // The task.

    /// Starts the task, unless it runs.
    pub(crate) fn start(self: &Arc<Self>) {
        let mut task = self.task.lock();
        if task.is_none() && !self.stopping.load(Ordering::Acquire) {
            *task = Some(tokio::spawn(Arc::clone(self).run()));
        }
    }

    /// Ends the task.
    pub(crate) async fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let abort = task.abort_handle();
            if tokio::time::timeout(STOP_WITHIN, task).await.is_err() {
                abort.abort();
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    async fn run(self: Arc<Self>) {
        let mut pause = RETRY_MIN;
        while !self.is_stopping() {
            let woken = self.wake.notified();
            // Tables that have failed are looked for, too: they may be made anew.
            let is_wanted = !self.databases.read().is_empty()
                || self.mirrors().iter().any(|it| it.state() != State::Paused);
            if !is_wanted {
                woken.await;
                continue;
            }
            let begun = self.now();
            let error = match self.follow().await {
                Ok(()) => {
                    pause = RETRY_MIN;
                    continue;
                }
                Err(error) => error,
            };
            self.note_failure(&error);
            if self.now().saturating_sub(begun) > RETRY_MAX {
                pause = RETRY_MIN;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => {}
            }
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    fn note_failure(&self, error: &Error) {
        let text = pelorus_error::display_chain(error);
        let mut status = self.status.lock();
        if status.error.as_ref() != Some(&text) {
            tracing::warn!(
                link = self.link,
                error = text,
                "the stream of changes has ended; it is tried again"
            );
        }
        status.connected = false;
        status.error = Some(text);
    }

    /// Follows the server until something must be begun anew.
    async fn follow(self: &Arc<Self>) -> Result<()> {
        let link = self.shared.links.link(&self.link).ok_or_else(|| {
            Error::new(Code::NoSuchServer, format!("there is no server '{}'", self.link))
        })?;
        let facts = link.source_facts().await?;
        if let Some(error) = facts.check().into_iter().next() {
            return Err(error);
        }
        self.check_identity(&facts)?;
        self.check_cascades(load::logs_cascades(&link).await?)?;
        if self.position().is_none() {
            let position = link.binlog_position(&[]).await?;
            self.go_to(&position)?;
        }
        self.moved.store(false, Ordering::Release);
        let mut loading = JoinSet::new();
        loading.spawn(Arc::clone(self).load_all(link.clone()));
        loading.spawn(Arc::clone(self).watch_end(link.clone()));
        // Dropped with it, the loads end.
        stream::stream(self, &link, &facts).await
    }

    /// The number under which the server knows us: made of something random that is kept.
    fn server_id(&self) -> Result<u32> {
        const KEY: &[u8] = b"replica";
        let store = self.store();
        let kept = match store.value(KEY) {
            Some(kept) => kept,
            None => {
                let mut bytes = vec![0; 16];
                self.env().random.fill(&mut bytes);
                let values = vec![(KEY.to_vec(), Some(bytes.clone()))];
                store.commit(&Commit { values, ..Commit::default() })?;
                bytes
            }
        };
        Ok(pelorus_link::binlog::server_id_of(&format!("{kept:?}/{}", self.link)))
    }

    /// Whether the server has had less than was read of it for so long that it will not come back:
    /// one that takes another's place may have to catch up first.
    fn has_diverged_for_long(&self) -> bool {
        let now = self.now();
        let mut since = self.diverged_since.lock();
        now.saturating_sub(*since.get_or_insert(now)) > DIVERGED
    }

    /// Another server under the link's name is gone on with by GTIDs; without them nothing of what
    /// was applied can be found on it.
    fn check_identity(&self, facts: &SourceFacts) -> Result<()> {
        let key = record::source_key(&self.link);
        let known = self.store().value(&key).map(|it| record::decode::<SourceRecord>(&it));
        let known = known.transpose()?;
        let identity = facts.server_uuid.clone().unwrap_or_else(|| facts.server_id.to_string());
        if known.as_ref().is_some_and(|known| known.identity == identity) {
            return Ok(());
        }
        if known.is_some() {
            tracing::warn!(link = self.link, identity, "another server answers for the link");
            if matches!(self.position(), Some(Position::File { .. })) {
                let reason = "another server answers for the link, and file positions hold on one \
                              server only";
                tracing::warn!(link = self.link, reason, "all tables are mirrored anew");
                self.begin_all_again(reason)?;
            }
        }
        let logs_cascades = known.and_then(|it| it.logs_cascades);
        let value = record::encode(&SourceRecord { identity, logs_cascades })?;
        let values = vec![(key, Some(value))];
        self.store().commit(&Commit { values, ..Commit::default() }).map(drop)
    }

    /// Where a server has begun or ceased to log what foreign keys do, it is not known from which
    /// place on: all is read anew.
    fn check_cascades(&self, logs: bool) -> Result<()> {
        let key = record::source_key(&self.link);
        let known = self.store().value(&key).map(|it| record::decode::<SourceRecord>(&it));
        let Some(mut known) = known.transpose()? else { return Ok(()) };
        match known.logs_cascades {
            Some(before) if before == logs => return Ok(()),
            Some(_) => self.begin_all_again(
                "whether the server's binlog has what foreign keys do to rows has changed",
            )?,
            None => {}
        }
        known.logs_cascades = Some(logs);
        let values = vec![(key, Some(record::encode(&known)?))];
        self.store().commit(&Commit { values, ..Commit::default() }).map(drop)
    }

    /// Reads all tables anew, from a new position.
    fn begin_all_again(&self, reason: &str) -> Result<()> {
        for mirror in self.mirrors() {
            if mirror.state() != State::Paused {
                mirror.begin_again(self.store(), Some(reason.to_owned()))?;
            } else {
                mirror.update(self.store(), |record| record.from = None)?;
            }
        }
        self.give_up_position()
    }

    /// Loads the tables that wait for it, as long as it is not dropped.
    async fn load_all(self: Arc<Self>, link: Link) {
        let mut tasks: JoinSet<(Arc<Mirror>, u64, Result<()>)> = JoinSet::new();
        let mut running: BTreeSet<MirrorName> = BTreeSet::new();
        // How often each has failed, and when it is tried again.
        let mut tries: BTreeMap<MirrorName, (u32, Duration)> = BTreeMap::new();
        loop {
            let now = self.now();
            for mirror in self.mirrors() {
                let is_due = tries.get(&mirror.name).is_none_or(|(_, at)| *at <= now);
                let waits = matches!(mirror.state(), State::Waiting | State::Loading);
                if waits && is_due && running.len() < LOADS && running.insert(mirror.name.clone()) {
                    let (source, link, turn) = (Arc::clone(&self), link.clone(), mirror.turn());
                    tasks.spawn(async move {
                        let result = load::load(source, Arc::clone(&mirror), link).await;
                        (mirror, turn, result)
                    });
                }
            }
            tokio::select! {
                Some(done) = tasks.join_next() => match done {
                    Ok((mirror, turn, result)) => {
                        running.remove(&mirror.name);
                        self.after_load(&mirror, turn, result, &mut tries);
                    }
                    Err(error) => tracing::error!(%error, "the reading of a table has panicked"),
                },
                () = self.wake.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn after_load(
        &self,
        mirror: &Mirror,
        turn: u64,
        result: Result<()>,
        tries: &mut BTreeMap<MirrorName, (u32, Duration)>,
    ) {
        let error = match result {
            Ok(()) => {
                tries.remove(&mirror.name);
                *mirror.trouble.lock() = None;
                return;
            }
            Err(error) if load::is_overtaken(&error) || mirror.turn() != turn => return,
            Err(error) => error,
        };
        let tried = tries.get(&mirror.name).map_or(0, |it| it.0) + 1;
        let wait = RETRY_MIN.saturating_mul(2_u32.saturating_pow(tried.min(8))).min(RETRY_MAX);
        tries.insert(mirror.name.clone(), (tried, self.now() + wait));
        self.note_load_failure(mirror, &error);
    }

    /// Failures of the world are tried again; what the table is cannot be helped by that.
    fn note_load_failure(&self, mirror: &Mirror, error: &Error) {
        let text = pelorus_error::display_chain(error);
        let name = &mirror.name;
        let is_transient = matches!(
            error.code(),
            Code::ConnectToForeign
                | Code::QueryOnForeign
                | Code::TableChanged
                | Code::DiskFull
                | Code::Remote(_)
        );
        let was = mirror.trouble.lock().take();
        let outcome = if !is_transient {
            tracing::warn!(mirror = %name, error = text, "a table cannot be mirrored");
            mirror.stop_in(self.store(), State::Failed, Some(text))
        } else if error.code() == Code::TableChanged {
            mirror.begin_again(self.store(), Some(text))
        } else {
            if was.as_ref() != Some(&text) {
                tracing::warn!(mirror = %name, error = text, "a table cannot be read; it is tried again");
            }
            *mirror.trouble.lock() = Some(text);
            Ok(())
        };
        if let Err(error) = outcome {
            let error = pelorus_error::display_chain(&error);
            tracing::error!(mirror = %name, error, "the state of a mirror cannot be kept");
        }
    }
}
