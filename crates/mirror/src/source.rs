//! A source: one linked server with its mirrors, its binlog stream, and the position of that
//! stream.

mod freshness;
mod loads;
pub(crate) mod reader;
mod resume_positions;
mod stream;
mod task;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use pelorus_binlog::Position;
use pelorus_env::{Env, blocking};
use pelorus_error::{Error, Result};
use pelorus_link::SourceFacts;
use pelorus_store::Database;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;

use self::freshness::ServerEnd;
use crate::apply::batch::is_of_one;
use crate::apply::foreign_key_actions;
use crate::apply::foreign_key_actions::{MirrorLookup, Referrers};
use crate::model::copies::{Copies, CopyTable};
use crate::model::mirror::Mirror;
use crate::model::name::MirrorName;
use crate::model::record;
use crate::model::record::{MirrorRecord, SourceRecord, State};
use crate::model::shared::Shared;

/// Ranges of all tables of one server that are read at the same time.
const READERS: usize = 4;
/// The wait after a first failure, and the longest.
const RETRY_MIN: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// The status of the stream.
#[derive(Clone, Debug, Default)]
struct SourceStatus {
    /// Whether it is open.
    connected: bool,
    /// How many there have been.
    streams: u64,
    /// Why it ended the last time, while it is not open.
    error: Option<String>,
}

/// One server with mirrors.
#[derive(Debug)]
pub(crate) struct Source {
    link: String,
    shared: Arc<Shared>,
    mirrors: RwLock<BTreeMap<(String, String), Arc<Mirror>>>,
    /// Held while a name is given to a mirror, from the look at whether it has one.
    naming: Mutex<()>,
    databases: RwLock<BTreeSet<String>>,
    /// Which mirrors refer to which tables by foreign keys; `None` when it must be looked at again.
    referrers: Mutex<Option<Arc<Referrers>>>,
    /// The position up to which the stream has been applied; waiters watch it.
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
    /// The same of the last run, on the clock of the world, in microseconds.
    was_whole_at: Option<u64>,
    /// When that was last kept, on the monotonic clock.
    whole_kept: Mutex<Option<Duration>>,
    status: Mutex<SourceStatus>,
    server_end: Mutex<ServerEnd>,
    /// When the server last said that it had nothing more to send.
    idle_at: Mutex<Option<Duration>>,
    /// Another server has taken the place of the one that was followed last.
    is_another: AtomicBool,
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
        let whole = shared.store().value(&record::whole_key(link));
        Ok(Arc::new(Self {
            link: link.to_owned(),
            shared,
            mirrors: RwLock::default(),
            naming: Mutex::default(),
            databases: RwLock::default(),
            referrers: Mutex::default(),
            applied: watch::Sender::new(position),
            rounds: watch::Sender::new(0),
            moving: Mutex::default(),
            moved: AtomicBool::new(false),
            whole_at: AtomicU64::new(0),
            was_whole_at: whole.and_then(|it| String::from_utf8_lossy(&it).parse().ok()),
            whole_kept: Mutex::default(),
            status: Mutex::default(),
            server_end: Mutex::default(),
            idle_at: Mutex::default(),
            is_another: AtomicBool::new(false),
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

    pub(crate) fn wake(&self) {
        self.wake.notify_waiters();
        self.wake.notify_one();
    }

    /// Leave to read a range.
    pub(crate) async fn loading_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.reading).acquire_owned().await.ok()
    }

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
        let known = referrers
            .get_or_insert_with(|| Arc::new(foreign_key_actions::referrers(&self.mirrors())));
        Arc::clone(known)
    }

    /// Mirrors of other tables whose rows foreign keys may change with those of some tables, where the
    /// binlog has that in rows: it has nothing of it when the change itself is logged as a statement.
    /// On other servers it is followed with the tables.
    pub(crate) fn reached(&self, tables: Vec<MirrorName>) -> Vec<Arc<Mirror>> {
        if self.known().is_ok_and(|it| it.and_then(|it| it.logs_cascades) == Some(false)) {
            return Vec::new();
        }
        let (mut reached, mut found) = (tables, Vec::new());
        let name = |it: &Arc<Mirror>| self.name_of(&it.name.database, &it.name.table);
        let mut others = self.mirrors();
        others.retain(|it| !reached.contains(&name(it)));
        loop {
            // Parent tables that are not mirrored are unknown.
            let is_reached = |mirror: &mut Arc<Mirror>| {
                let Some(there) = mirror.record().refers_to else { return true };
                there.iter().any(|(database, table)| {
                    let name = self.name_of(database, table);
                    reached.contains(&name) || self.mirror(database, table).is_none()
                })
            };
            let more: Vec<Arc<Mirror>> = others.extract_if(.., is_reached).collect();
            if more.is_empty() {
                return found;
            }
            reached.extend(more.iter().map(name));
            found.extend(more);
        }
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

    /// Whether the stream is open.
    pub(crate) fn is_connected(&self) -> bool {
        self.status.lock().connected
    }

    /// How often a stream has been opened since the start.
    pub(crate) fn streams(&self) -> u64 {
        self.status.lock().streams
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

    /// A lock on the naming of mirrors. Without it two mirrors of one table could be created, of
    /// which the stream would follow one and a load read the other.
    pub(crate) fn naming(&self) -> MutexGuard<'_, ()> {
        blocking(|| self.naming.lock())
    }

    /// Adds a mirror, durably; `false` when there is one of its name.
    pub(crate) fn add(&self, name: &MirrorName, record: MirrorRecord) -> Result<bool> {
        let _naming = self.naming();
        if self.mirror(&name.database, &name.table).is_some() {
            return Ok(false);
        }
        let mirror = Arc::new(Mirror::new(name.clone(), record, None)?);
        mirror.update(self.store(), |_| {})?;
        self.insert(mirror);
        self.wake();
        Ok(true)
    }

    /// Takes a mirror away and drops its copy; `None` when there is none.
    pub(crate) fn remove(&self, database: &str, table: &str) -> Result<Option<()>> {
        let Some(mirror) = self.mirror(database, table) else { return Ok(None) };
        self.leave(&mirror)?;
        self.rest_if_unused()?;
        self.wake();
        Ok(Some(()))
    }

    /// The same for the stream itself, which continues: the mirror's database is mirrored.
    pub(crate) fn remove_on_the_way(&self, mirror: &Mirror) -> Result<()> {
        self.leave(mirror)?;
        self.wake();
        Ok(())
    }

    /// Removes a mirror, and drops its copy. In this order: a copy without a record is dropped at
    /// the next start at the latest; a half-removed mirror would have no owner.
    fn leave(&self, mirror: &Mirror) -> Result<()> {
        mirror.end(self.store(), Vec::new())?;
        let key = (mirror.name.database.clone(), mirror.name.table.clone());
        self.mirrors.write().remove(&key);
        self.forget_referrers();
        self.drop_copy(&mirror.name)
    }

    /// Drops a copy that no mirror has. A copy that cannot be dropped does no harm: it is dropped
    /// when its name is needed, or at the next start.
    ///
    /// # Errors
    /// Errors of the store that affect all writes.
    pub(crate) fn drop_copy(&self, name: &MirrorName) -> Result<()> {
        // A statement that changes a table's definition may be at work.
        match blocking(|| self.copies().drop_copy(name)) {
            Err(error) if is_of_one(&error) => {
                let error = pelorus_error::display_chain(&error);
                tracing::warn!(mirror = %name, error, "the copy of a table cannot be dropped");
                Ok(())
            }
            other => other,
        }
    }

    /// Without mirrors the next one begins with a position of its own. While a database is mirrored
    /// the stream continues: after a restart it could read the statement again that dropped a
    /// table.
    pub(crate) fn rest_if_unused(&self) -> Result<()> {
        // Checked after the wait for the lock: another mirror may have begun at the position since.
        let moving = self.hold();
        let rests = !self.is_used() && self.position().is_some();
        if rests { self.give_up_position(&moving) } else { Ok(()) }
    }

    /// Renames a mirror and its copy to a free name, while the stream is paused. A mirror that is
    /// not read yet is loaded under the new name, and so is one whose copy cannot be renamed. The
    /// progress of the event is stored with it: if two tables exchange names, the rename cannot be
    /// detected later.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn rename(
        &self,
        mirror: &Mirror,
        to: &MirrorName,
        event: (&str, usize),
        _naming: &MutexGuard<'_, ()>,
    ) -> Result<()> {
        mirror.end_turn();
        let record = mirror.record();
        let is_read = matches!(record.state, State::Live | State::CatchingUp);
        let (record, copy) = match is_read.then(|| self.rename_copy(&mirror.name, to)) {
            Some(Ok(copy)) => (record, Some(copy)),
            Some(Err(error)) if !is_of_one(&error) => return Err(error),
            failed => {
                let error = failed.and_then(Result::err);
                let reason = error.map(|it| format!("its copy could not be renamed: {it}"));
                // A paused mirror stays paused, and is resynchronised when it is resumed.
                let is_paused = record.state == State::Paused;
                let state = if is_paused { State::Paused } else { State::Waiting };
                let begun =
                    MirrorRecord { state, reason, of_database: true, ..MirrorRecord::default() };
                (begun, None)
            }
        };
        let mut values = vec![(record::mirror_key(to), Some(record::encode(&record)?))];
        if let Some(known) = self.known()? {
            let renamed = Some((event.0.to_owned(), event.1 + 1));
            values.push(self.to_keep(&SourceRecord { renamed, ..known })?);
        }
        let renamed = Mirror::new(to.clone(), record, copy)?;
        mirror.end(self.store(), values)?;
        let key = (mirror.name.database.clone(), mirror.name.table.clone());
        self.mirrors.write().remove(&key);
        let is_along = renamed.copy().is_some();
        self.insert(Arc::new(renamed));
        tracing::info!(from = %mirror.name, %to, is_along, "a mirrored table was renamed");
        self.wake();
        if is_along { Ok(()) } else { self.drop_copy(&mirror.name) }
    }

    /// Gives a copy a name that no mirror has.
    fn rename_copy(&self, from: &MirrorName, to: &MirrorName) -> Result<Arc<dyn CopyTable>> {
        // The process may have ended between the renaming of a copy and that of its record.
        self.copies().drop_copy(to)?;
        self.copies().rename(from, to)?;
        let copy = self.copies().find(to);
        copy.ok_or_else(|| Error::internal(format!("the copy of '{to}' is not there")))
    }

    /// Whether a renaming of an event has been executed, after which the process ended.
    pub(crate) fn has_renamed(&self, (event, at): (&str, usize)) -> Result<bool> {
        let renamed = self.known()?.and_then(|it| it.renamed);
        Ok(renamed.is_some_and(|(last, done)| last == event && at < done))
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

    /// Databases that are mirrored or have mirrors.
    pub(crate) fn all_databases(&self) -> BTreeSet<String> {
        let mut all = self.databases.read().clone();
        all.extend(self.mirrors.read().values().map(|mirror| mirror.name.database.clone()));
        all
    }

    /// The name of a table of this source.
    pub(crate) fn name_of(&self, database: &str, table: &str) -> MirrorName {
        let name =
            |name: &str| if self.folds_names() { name.to_lowercase() } else { name.to_owned() };
        MirrorName { link: self.link.clone(), database: name(database), table: name(table) }
    }

    /// Lets the stream begin again with the statements that rows come from.
    fn want_statements(&self) {
        // Ordering: looked at by the task that has set it.
        self.statements.store(true, Ordering::Relaxed);
        self.begin_stream_again();
    }

    /// Whether the stream needs the statements that rows come from. They take as much room as the
    /// rows, so they are requested if partial row images have been seen or are expected.
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
}

impl MirrorLookup for Source {
    fn mirrors(&self) -> Vec<Arc<Mirror>> {
        self.mirrors()
    }

    fn mirror(&self, database: &str, table: &str) -> Option<Arc<Mirror>> {
        self.mirror(database, table)
    }

    fn all_referrers(&self) -> Arc<Referrers> {
        self.all_referrers()
    }
}
