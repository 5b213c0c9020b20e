//! [`Database`]: tables, one log, one sequence of commits.
//!
//! A commit is prepared outside of any lock. Under the commit lock it looks keys up, appends its
//! record to the log, and writes rows to memory; the order of versions is the order of records. It
//! then waits, outside of the lock, until the record is durable, and only then becomes visible.
//! While it waits, later commits are already prepared and appended, so that one sync serves many.
//! Commits that request it are visible before they are durable (`async_commit`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_blockfile::{BlockFile, BlockId};
use pelorus_env::sync::{AtomicU64, Condvar, Mutex, RwLock};
use pelorus_env::{Account, Env};
use pelorus_error::{Code, Error, Result};
use pelorus_log::{Log, Lsn};

use crate::catalog::Catalog;
use crate::catalog::schema::{PartitionId, TableId, Version};
use crate::commit::apply;
use crate::commit::apply::Decided;
use crate::commit::async_commit::{Durability, Syncing};
use crate::commit::log_record::{Change, RecordWriter};
use crate::commit::pinned_versions::Pins;
use crate::commit::timestamps::{Stamps, micros_of};
use crate::commit::write_set::{Commit, Kind, Outcome, Prepared, Write};
use crate::format::bytes::Spares;
use crate::format::manifest::Written;
use crate::key::SortKeyEncoder;
use crate::partition::column_cache::Cache;
use crate::partition::{Partition, PartitionWriter};
use crate::room::Tried;
use crate::snapshot::Snapshot;
use crate::table::{Table, longest_history};

/// How a database uses memory and disk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of rows in memory that are not in chunks yet. Writers wait above it.
    pub delta_bytes: usize,
    /// Bytes of encoded columns in memory.
    pub cache_bytes: usize,
    /// Bytes of key indexes in memory; partitions that were not written lately give theirs up.
    pub index_bytes: usize,
    /// Microseconds for which an index stays in memory after its last use, up to twice as many
    /// bytes: one that is dropped in between is built again at once, from the keys of all rows.
    pub index_idle_micros: u64,
    /// Dead rows of a table that can still be read at older versions; with more its history ends
    /// early. Each checkpoint writes when they died, 12 bytes a row, and that must fit a block.
    pub history_marks: usize,
    /// Rows of a partition in memory that are enough for chunks.
    pub flush_rows: usize,
    /// Bytes of log after which a checkpoint is due.
    pub checkpoint_log_bytes: u64,
    /// Microseconds after which a checkpoint is due, if anything has changed.
    pub checkpoint_micros: u64,
    /// Microseconds after which commits are durable that are acknowledged at once.
    pub sync_micros: u64,
    /// The memory account of all of these; it refuses nothing.
    pub memory: Account,
    /// The log.
    pub log: pelorus_log::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delta_bytes: 1 << 30,
            cache_bytes: 4 << 30,
            index_bytes: 4 << 30,
            index_idle_micros: 10_000_000,
            history_marks: 32 << 20,
            flush_rows: 4 * crate::CHUNK_ROWS_MAX,
            checkpoint_log_bytes: 512 << 20,
            checkpoint_micros: 60_000_000,
            sync_micros: 100_000,
            memory: Account::unlimited(),
            log: pelorus_log::Options::default(),
        }
    }
}

/// A database of native tables.
#[derive(Debug)]
pub struct Database {
    pub(crate) env: Env,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    pub(crate) weigher: Arc<dyn SortKeyEncoder>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) log: Log,
    pub(crate) identity: [u8; 16],
    pub(crate) seed: u64,
    pub(crate) tables: RwLock<BTreeMap<TableId, Arc<Table>>>,
    /// Bytes of rows of all tables that are in memory and not in chunks yet.
    pub(crate) delta_bytes: Account,
    /// Bytes of key indexes, as of the last round of maintenance.
    pub(crate) index_memory: Account,
    pub(crate) committing: Mutex<Committing>,
    /// Notified when a table accepts rows again.
    pub(crate) thawed: Condvar,
    /// The newest version that is shown, with everything below it: durable, but for commits that
    /// were not to wait for that.
    pub(crate) published: AtomicU64,
    pub(crate) pins: Arc<Pins>,
    /// Why nothing can be written any more.
    failure: RwLock<Option<String>>,
    /// Tables of the catalog that cannot be used.
    pub(crate) broken: RwLock<BTreeMap<TableId, BrokenTable>>,
    pub(crate) catalog_file: BlockFile,
    pub(crate) catalog_root: Mutex<Option<BlockId>>,
    /// Held while a checkpoint is made: one at a time.
    pub(crate) checkpointing: Mutex<CheckpointState>,
    pub(crate) work: Work,
    pub(crate) syncing: Syncing,
    /// The times of commits.
    stamps: Stamps,
    /// Buffers for the log records of rows.
    spares: Spares,
}

/// The state of the last checkpoint.
#[derive(Debug, Default)]
pub(crate) struct CheckpointState {
    pub(crate) lsn: u64,
    /// When it was made, if since the start ([`Database::elapsed`]).
    pub(crate) micros: Option<u64>,
    /// The blocks of each table's manifest.
    pub(crate) manifests: BTreeMap<TableId, Written>,
    /// Where the log begins that the last checkpoint of the catalog needs.
    pub(crate) log_start: u64,
    /// How long the manifest of a table can be.
    pub(crate) manifest_max: usize,
}

impl CheckpointState {
    /// The microseconds since the last checkpoint. A checkpoint before the start counts as older
    /// than any wait but an infinite one.
    pub(crate) fn age(&self, now: u64) -> u64 {
        self.micros.map_or(u64::MAX - 1, |micros| now.saturating_sub(micros))
    }
}

/// The state that commits change one after another.
#[derive(Debug)]
pub(crate) struct Committing {
    pub(crate) catalog: Catalog,
    /// How long the longest history of all tables is (microseconds).
    pub(crate) longest_history: u64,
    /// Tables that take no rows at the moment ([`crate::FrozenTable`]).
    pub(crate) frozen: BTreeSet<TableId>,
}

/// Wakes the threads that flush and compact, and those that wait for that.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) wanted: Mutex<Wanted>,
    pub(crate) wake: Condvar,
    pub(crate) done: Condvar,
    /// Writers that are too fast wait here; only the end of maintenance wakes them.
    pub(crate) slow: Condvar,
    /// The end of the log as maintenance has last seen it, and since when (microseconds).
    pub(crate) seen: Mutex<(u64, u64)>,
    /// It was said that indexes take more than their budget.
    pub(crate) warned: AtomicBool,
    /// The last failed search for space.
    pub(crate) tried: Mutex<Option<Tried>>,
}

#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// A thread does the work; without one, writers do it.
    pub(crate) running: bool,
    pub(crate) soon: bool,
    pub(crate) stop: bool,
    pub(crate) rounds: u64,
    /// Why the last round could not do everything.
    pub(crate) refused: Option<(Code, String)>,
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The version that shows it. Of a commit that changed nothing, the newest there was.
    pub version: Version,
    /// The result of each change, in order.
    pub outcomes: Vec<Outcome>,
}

/// The parts of a database after recovery.
pub(crate) struct Opened {
    pub(crate) env: Env,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    pub(crate) weigher: Arc<dyn SortKeyEncoder>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) log: Log,
    pub(crate) identity: [u8; 16],
    pub(crate) seed: u64,
    pub(crate) tables: BTreeMap<TableId, Arc<Table>>,
    pub(crate) delta_bytes: Account,
    pub(crate) catalog: Catalog,
    pub(crate) catalog_file: BlockFile,
    pub(crate) catalog_root: Option<BlockId>,
    pub(crate) checkpoint: CheckpointState,
    pub(crate) broken: BTreeMap<TableId, BrokenTable>,
}

/// Why a table cannot be used.
#[derive(Clone, Debug)]
pub(crate) struct BrokenTable {
    pub(crate) code: Code,
    pub(crate) reason: String,
}

impl BrokenTable {
    pub(crate) fn error(&self) -> Error {
        Error::new(self.code, self.reason.clone())
    }
}

impl Database {
    pub(crate) fn from(opened: Opened) -> Self {
        let last = opened.catalog.times.last().map(|(micros, _)| *micros);
        let stamps = Stamps::after(last, &*opened.env.clock);
        let committing = Committing {
            longest_history: longest_history(opened.tables.values()),
            catalog: opened.catalog,
            frozen: BTreeSet::new(),
        };
        Self {
            env: opened.env,
            folder: opened.folder,
            index_memory: opened.options.memory.part("pelorus_index_memory", usize::MAX),
            options: opened.options,
            weigher: opened.weigher,
            cache: opened.cache,
            log: opened.log,
            identity: opened.identity,
            seed: opened.seed,
            tables: RwLock::new(opened.tables),
            delta_bytes: opened.delta_bytes,
            published: AtomicU64::new(committing.catalog.version),
            committing: Mutex::new(committing),
            thawed: Condvar::new(),
            pins: Arc::default(),
            failure: RwLock::default(),
            broken: RwLock::new(opened.broken),
            catalog_file: opened.catalog_file,
            catalog_root: Mutex::new(opened.catalog_root),
            checkpointing: Mutex::new(opened.checkpoint),
            work: Work::default(),
            syncing: Syncing::default(),
            stamps,
            spares: Spares::default(),
        }
    }

    /// A table by its number.
    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    /// All tables.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.tables.read().values().cloned().collect()
    }

    /// The error of a table that is left out since its file was found damaged or missing at the
    /// start. It can be dropped. Otherwise its rows, and the log that they may need, are preserved
    /// until the file is put back and the database opened again.
    pub fn broken(&self, id: TableId) -> Option<Error> {
        self.broken.read().get(&id).map(BrokenTable::error)
    }

    /// All tables that are left out, with their definitions.
    pub fn broken_tables(&self) -> Vec<(TableId, Vec<u8>)> {
        let committing = self.committing.lock();
        let broken = self.broken.read();
        let tables = committing.catalog.tables.iter().filter(|(id, _)| broken.contains_key(id));
        tables.map(|(id, entry)| (*id, entry.definition.clone())).collect()
    }

    /// A table, or why there is none.
    pub(crate) fn require(&self, id: TableId) -> Result<Arc<Table>> {
        self.table(id).ok_or_else(|| self.broken(id).unwrap_or_else(Error::table_changed))
    }

    /// A value of the engine's.
    pub fn value(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.committing.lock().catalog.values.get(key).cloned()
    }

    /// All values of the engine's whose keys begin with some bytes.
    pub fn values(&self, prefix: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let committing = self.committing.lock();
        let range = committing.catalog.values.range(prefix.to_vec()..);
        range
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// The newest version that can be read.
    pub fn version(&self) -> Version {
        self.published.load(Ordering::Acquire)
    }

    /// Pins the newest version.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        let pin = self.pins.pin(|| self.version());
        Snapshot::new(Arc::clone(self), pin)
    }

    /// Pins an older version, if its table still has it; that is checked when a table is read.
    pub fn snapshot_at(self: &Arc<Self>, version: Version) -> Snapshot {
        let pin = self.pins.pin(|| version.min(self.version()));
        Snapshot::new(Arc::clone(self), pin)
    }

    /// The newest version at a moment (microseconds since 1970), to the millisecond: commits up to
    /// a millisecond later may count. The older the moment, the coarser the answer: it is then a
    /// version that was the newest a little before. `None` if the moment is older than the recorded
    /// times.
    pub fn version_at(&self, micros: u64) -> Option<Version> {
        let version = self.committing.lock().catalog.version_at(micros)?;
        Some(version.min(self.version()))
    }

    /// Why nothing can be written any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.failure.read().clone()
    }

    /// Stops all writing: memory and disk may no longer agree on anything new.
    pub(crate) fn fail(&self, error: &Error) {
        let reason = pelorus_error::display_chain(error);
        let mut failure = self.failure.write();
        if failure.is_none() {
            tracing::error!(reason, "native tables take no writes until the next start");
            *failure = Some(reason);
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match &*self.failure.read() {
            None => Ok(()),
            Some(reason) => Err(Error::new(
                Code::TableFailed,
                format!("native tables take no writes until the next start, since: {reason}"),
            )),
        }
    }

    /// Makes changes visible together: when they are durable, or at once if they are not to wait
    /// for that ([`Durability::Async`]). If they were computed from a snapshot, it should be held
    /// until this returns: otherwise keys that were removed meanwhile may be forgotten, and a
    /// commit be refused that had no conflict.
    ///
    /// # Errors
    /// Constraint violations of a row (1062, 1048), a conflict with a commit after the snapshot
    /// (1213), a full disk (1021), a table that took no rows for too long (1205), one that has been
    /// changed (1412), and 1036 when an earlier failure allows no writes. In these cases nothing
    /// has changed. An error 1036 of this very commit leaves open whether it is present after a
    /// restart.
    pub fn commit(&self, commit: &Commit) -> Result<Receipt> {
        self.commit_unless(commit, &|| false)
    }

    /// As [`Self::commit`], unless `stop` says so before the changes are in the log.
    ///
    /// # Errors
    /// Those of [`Self::commit`], and 1317 when it was stopped. Nothing has changed then.
    pub fn commit_unless(&self, commit: &Commit, stop: &dyn Fn() -> bool) -> Result<Receipt> {
        self.with_room(stop, || self.try_commit(commit, stop))
    }

    fn try_commit(&self, commit: &Commit, stop: &dyn Fn() -> bool) -> Result<Receipt> {
        self.check()?;
        let prepared = self.prepare(commit, stop)?;
        check_distinct(&prepared)?;
        if !prepared.is_empty() {
            self.make_room(stop)?;
        }
        for change in &prepared {
            self.slow_down(&change.table, change.rows());
        }
        let (receipt, lsn) = {
            let mut committing = self.committing.lock();
            self.wait_until_thawed(&mut committing, &prepared, stop)?;
            self.check()?;
            self.commit_locked(&mut committing, commit, prepared, stop)?
        };
        if commit.durability == Durability::Synced || !self.publish_now(receipt.version) {
            self.publish(lsn, receipt.version)?;
        }
        Ok(receipt)
    }

    fn prepare(&self, commit: &Commit, stop: &dyn Fn() -> bool) -> Result<Vec<Prepared>> {
        let mut prepared = Vec::with_capacity(commit.writes.len());
        for (at, write) in commit.writes.iter().enumerate() {
            go_on(stop)?;
            let (Write::Put { table, .. } | Write::Remove { table, .. }) = write;
            let table = self.require(*table)?;
            let change = Prepared::new(table, write, at, self.spares.take())?;
            let made_for = commit.made_for.iter().find(|(id, _)| *id == change.table.id());
            if made_for.is_some_and(|(_, generation)| *generation != change.layout.generation) {
                return Err(Error::table_changed());
            }
            // No other session waits while keys are read for an index.
            if let Some(partition) = change.table.partition(&change.partition) {
                partition.prepare_until(self.seed, stop)?;
            }
            prepared.push(change);
        }
        Ok(prepared)
    }

    /// Waits for a record and shows its version.
    pub(crate) fn publish(&self, lsn: Lsn, version: Version) -> Result<()> {
        self.log.wait(lsn).inspect_err(|error| self.fail(error))?;
        // Everything before a durable record is durable, so all lower versions are complete.
        self.published.fetch_max(version, Ordering::AcqRel);
        Ok(())
    }

    /// The part of a commit that is done one after another; gives the log position to wait for.
    fn commit_locked(
        &self,
        committing: &mut Committing,
        commit: &Commit,
        prepared: Vec<Prepared>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Receipt, Lsn)> {
        // Else an index whose making was given up would be made under the lock.
        go_on(stop)?;
        let mut fresh = Vec::new();
        let groups = apply::group(prepared, |table, key| self.partition(table, key, &mut fresh))?;
        let (partitions, changes): (Vec<Arc<Partition>>, Vec<Vec<Prepared>>) =
            groups.into_iter().unzip();
        let mut writers = Vec::with_capacity(partitions.len());
        for partition in &partitions {
            writers.push(partition.write(self.seed)?);
        }
        let (decided, outcomes) = self.decide_all(changes, &writers, commit.snapshot, stop)?;
        let changed = decided.iter().flatten().any(|it| it.change.rows() > 0);
        if !changed && commit.values.is_empty() {
            // Rows that were found there may not be durable yet; a caller that gets them waits,
            // too.
            let version = committing.catalog.version;
            return Ok((Receipt { version, outcomes }, self.log.end()));
        }
        let version = committing.catalog.version + 1;
        let oldest = self.pins.horizon(&self.published, Version::MAX, |oldest| oldest);
        let micros = self.now();
        let mut record = RecordWriter::new(version, micros);
        push_all(&mut record, &fresh, &partitions, &decided, commit);
        go_on(stop)?;
        let appended = match commit.only_forgets() {
            true => self.log.append_freeing(&record.parts()),
            false => self.log.append(&record.parts()),
        };
        let lsn = appended.inspect_err(|error| self.on_append(error))?;
        // From here on the commit is in the log: memory must follow or nothing more be written.
        let written = write_all(&fresh, &decided, &mut writers, (version, oldest));
        written.inspect_err(|error| self.fail(error))?;
        for list in &decided {
            for it in list {
                it.change.table.changed.fetch_max(lsn.0, Ordering::AcqRel);
            }
        }
        committing.note_values(&commit.values);
        committing.catalog.version = version;
        let longest = committing.longest_history;
        committing.catalog.note_time(micros, version, longest);
        decided.into_iter().flatten().for_each(|it| self.spares.give(it.change.bytes));
        Ok((Receipt { version, outcomes }, lsn))
    }

    /// Looks the keys of all changes up, by partition, and says what becomes of each; changes
    /// nothing.
    fn decide_all(
        &self,
        groups: Vec<Vec<Prepared>>,
        writers: &[PartitionWriter<'_>],
        snapshot: Option<Version>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<Vec<Decided>>, Vec<Outcome>)> {
        let mut outcomes = vec![Outcome::default(); groups.iter().map(Vec::len).sum()];
        let mut decided = Vec::with_capacity(groups.len());
        for (changes, writer) in groups.into_iter().zip(writers) {
            let mut list = Vec::with_capacity(changes.len());
            for change in changes {
                go_on(stop)?;
                self.check_current(&change)?;
                let change = apply::decide(change, writer, snapshot)?;
                outcomes[change.change.at] = change.outcome.clone();
                list.push(change);
            }
            apply::check_room(&list, writer)?;
            decided.push(list);
        }
        Ok((decided, outcomes))
    }

    /// The table may have been changed or dropped since the change was made ready.
    fn check_current(&self, change: &Prepared) -> Result<()> {
        let table = self.table(change.table.id());
        let is_current = table.is_some_and(|table| Arc::ptr_eq(&table.layout(), &change.layout));
        if is_current { Ok(()) } else { Err(Error::table_changed()) }
    }

    /// A full disk is a refusal, everything else the end of writing.
    pub(crate) fn on_append(&self, error: &Error) {
        if !matches!(error.code(), Code::DiskFull | Code::RowTooLarge) {
            self.fail(error);
        }
    }

    /// The partition of a key; a new one is entered into the table only when the commit is sure.
    fn partition(
        &self,
        table: &Arc<Table>,
        key: &[u8],
        fresh: &mut Vec<(Arc<Table>, Arc<Partition>)>,
    ) -> Result<Arc<Partition>> {
        if let Some(partition) = table.partition(key) {
            return Ok(partition);
        }
        let same = |it: &&(Arc<Table>, Arc<Partition>)| it.0.id() == table.id();
        if let Some((_, partition)) = fresh.iter().filter(same).find(|it| it.1.key == key) {
            return Ok(Arc::clone(partition));
        }
        let before = u32::try_from(fresh.iter().filter(same).count()).ok();
        let id = before.and_then(|before| table.next_partition().checked_add(before));
        let id = id.filter(|id| *id < u32::MAX).map(PartitionId).ok_or_else(|| {
            Error::new(Code::TableFull, "the numbers of the table's partitions are used up")
        })?;
        let partition = Arc::new(Partition::new(id, key.to_vec(), Vec::new())?);
        fresh.push((Arc::clone(table), Arc::clone(&partition)));
        Ok(partition)
    }

    /// The time of a commit that is made now: microseconds since 1970, and never less than before.
    pub(crate) fn now(&self) -> u64 {
        self.stamps.now(&*self.env.clock)
    }

    /// Microseconds since some moment; never goes back. Timers use this clock.
    pub(crate) fn elapsed(&self) -> u64 {
        micros_of(self.env.clock.monotonic())
    }
}

impl Committing {
    pub(crate) fn note_values(&mut self, values: &[(Vec<u8>, Option<Vec<u8>>)]) {
        for (key, value) in values {
            match value {
                Some(value) => self.catalog.values.insert(key.clone(), value.clone()),
                None => self.catalog.values.remove(key),
            };
        }
    }
}

/// Fails if a commit was cancelled.
pub(crate) fn go_on(stop: &dyn Fn() -> bool) -> Result<()> {
    if stop() { Err(Error::interrupted()) } else { Ok(()) }
}

/// Checks that no key is in two changes of one partition: they would not see each other.
fn check_distinct(changes: &[Prepared]) -> Result<()> {
    let place = |change: &Prepared| (change.table.id(), change.partition.clone());
    let mut counts: HashMap<_, usize> = HashMap::new();
    for change in changes {
        *counts.entry(place(change)).or_default() += 1;
    }
    let mut seen: HashMap<_, HashSet<&[u8]>> = HashMap::new();
    for change in changes.iter().filter(|it| counts.get(&place(it)).is_some_and(|it| *it > 1)) {
        let keys = seen.entry(place(change)).or_default();
        if !change.keys.iter().all(|key| keys.insert(key)) {
            return Err(Error::internal("two changes of one commit have a primary key in common"));
        }
    }
    Ok(())
}

/// The log record of a commit.
fn push_all<'a>(
    record: &mut RecordWriter<'a>,
    fresh: &'a [(Arc<Table>, Arc<Partition>)],
    partitions: &[Arc<Partition>],
    decided: &'a [Vec<Decided>],
    commit: &'a Commit,
) {
    for (table, partition) in fresh {
        let (table, partition, key) = (table.id(), partition.id, &partition.key);
        record.push(&Change::AddPartition { table, partition, key });
    }
    for (partition, list) in partitions.iter().zip(decided) {
        list.iter().for_each(|it| push_rows(record, partition.id, &it.change));
    }
    for (key, value) in &commit.values {
        record.push(&Change::Value { key, value: value.as_deref() });
    }
}

fn push_rows<'a>(record: &mut RecordWriter<'a>, partition: PartitionId, change: &'a Prepared) {
    if change.rows() == 0 {
        return;
    }
    let (table, batch) = (change.table.id(), &change.bytes[..]);
    match change.kind {
        Kind::Remove => record.push(&Change::Remove { table, partition, batch }),
        Kind::Put(_) => {
            let schema = &change.table.layout().schema;
            let columns = schema.columns.iter().map(|column| column.id).collect();
            record.push(&Change::Put { table, partition, columns, batch });
        }
    }
}

fn write_all(
    fresh: &[(Arc<Table>, Arc<Partition>)],
    decided: &[Vec<Decided>],
    writers: &mut [PartitionWriter<'_>],
    (version, oldest): (Version, Version),
) -> Result<()> {
    for (table, partition) in fresh {
        table.add_partition(Arc::clone(partition))?;
    }
    for (list, writer) in decided.iter().zip(writers) {
        for it in list {
            apply::write(it, writer, version, oldest)?;
        }
    }
    Ok(())
}
