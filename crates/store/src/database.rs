//! A database: tables, one log, one sequence of commits.
//!
//! A commit is made ready outside of any lock. Under the commit lock it looks keys up, appends its
//! record to the log, and writes rows to memory; the order of versions is the order of records. It
//! then waits, outside of the lock, until the record is durable, and only then becomes visible.
//! While it waits the next commits are already being made, so that one sync serves many.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use pelorus_blockfile::{BlockFile, BlockId, Identity};
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_log::{Log, Lsn};

use crate::apply::{self, Decided};
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::datafile::DataFile;
use crate::key::Weigher;
use crate::partition::{Partition, PartitionWriter};
use crate::record::{Change, RecordWriter};
use crate::schema::{PartitionId, TableId, TableSchema, Version};
use crate::snapshot::{Pins, Snapshot};
use crate::table::Table;
use crate::write::{Commit, Kind, Outcome, Prepared, Write};

/// How a database uses memory and disk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of rows in memory that are not in chunks yet. Writers wait above it.
    pub delta_bytes: usize,
    /// Bytes of encoded columns in memory.
    pub cache_bytes: usize,
    /// Bytes of key indexes in memory; partitions that were not written lately give theirs up.
    pub index_bytes: usize,
    /// Rows of a partition in memory that are enough for chunks.
    pub flush_rows: usize,
    /// Bytes of log after which a checkpoint is due.
    pub checkpoint_log_bytes: u64,
    /// Microseconds after which a checkpoint is due, if anything has changed.
    pub checkpoint_micros: u64,
    /// The log.
    pub log: pelorus_log::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delta_bytes: 1 << 30,
            cache_bytes: 4 << 30,
            index_bytes: 4 << 30,
            flush_rows: 4 * crate::CHUNK_ROWS_MAX,
            checkpoint_log_bytes: 1 << 30,
            checkpoint_micros: 60_000_000,
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
    pub(crate) weigher: Arc<dyn Weigher>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) log: Log,
    pub(crate) identity: [u8; 16],
    pub(crate) seed: u64,
    tables: RwLock<BTreeMap<TableId, Arc<Table>>>,
    pub(crate) committing: Mutex<Committing>,
    /// The newest version that is durable, with everything below it.
    pub(crate) published: AtomicU64,
    pub(crate) pins: Arc<Pins>,
    /// Why nothing can be written any more.
    failure: RwLock<Option<String>>,
    pub(crate) catalog_file: BlockFile,
    pub(crate) catalog_root: Mutex<Option<BlockId>>,
    /// Held while a checkpoint is made: one at a time.
    pub(crate) checkpointing: Mutex<CheckpointState>,
    pub(crate) work: Work,
}

/// What is known of the last checkpoint.
#[derive(Debug, Default)]
pub(crate) struct CheckpointState {
    pub(crate) lsn: u64,
    pub(crate) micros: u64,
    /// Blocks that belong to each table's manifest.
    pub(crate) blocks: HashMap<TableId, Vec<BlockId>>,
    /// Where the log begins that the last checkpoint of the catalog needs.
    pub(crate) log_start: u64,
}

/// What commits change one after another.
#[derive(Debug)]
pub(crate) struct Committing {
    pub(crate) catalog: Catalog,
}

/// Wakes whoever flushes and merges, and whoever waits for that.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) wanted: Mutex<Wanted>,
    pub(crate) wake: Condvar,
    pub(crate) done: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// A thread does the work; without one, writers do it.
    pub(crate) running: bool,
    pub(crate) soon: bool,
    pub(crate) stop: bool,
    pub(crate) rounds: u64,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The version that shows it. Of a commit that changed nothing, the newest there was.
    pub version: Version,
    /// What each change did, in order.
    pub outcomes: Vec<Outcome>,
}

/// What everything of a database is made of, once it is recovered.
pub(crate) struct Opened {
    pub(crate) env: Env,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    pub(crate) weigher: Arc<dyn Weigher>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) log: Log,
    pub(crate) identity: [u8; 16],
    pub(crate) seed: u64,
    pub(crate) tables: BTreeMap<TableId, Arc<Table>>,
    pub(crate) catalog: Catalog,
    pub(crate) catalog_file: BlockFile,
    pub(crate) catalog_root: Option<BlockId>,
    pub(crate) checkpoint: CheckpointState,
}

impl Database {
    pub(crate) fn from(opened: Opened) -> Self {
        Self {
            env: opened.env,
            folder: opened.folder,
            options: opened.options,
            weigher: opened.weigher,
            cache: opened.cache,
            log: opened.log,
            identity: opened.identity,
            seed: opened.seed,
            tables: RwLock::new(opened.tables),
            published: AtomicU64::new(opened.catalog.version),
            committing: Mutex::new(Committing { catalog: opened.catalog }),
            pins: Arc::default(),
            failure: RwLock::default(),
            catalog_file: opened.catalog_file,
            catalog_root: Mutex::new(opened.catalog_root),
            checkpointing: Mutex::new(opened.checkpoint),
            work: Work::default(),
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
        let pins = Arc::clone(&self.pins);
        let version = pins.pin_newest(&self.published);
        Snapshot::new(Arc::clone(self), version)
    }

    /// Pins an older version, if its table still has it; that is checked when a table is read.
    pub fn snapshot_at(self: &Arc<Self>, version: Version) -> Snapshot {
        let version = version.min(self.version());
        self.pins.pin(version);
        Snapshot::new(Arc::clone(self), version)
    }

    /// The newest version at a moment (microseconds since 1970); `None` when that is longer ago
    /// than anybody can tell.
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

    fn check(&self) -> Result<()> {
        match &*self.failure.read() {
            None => Ok(()),
            Some(reason) => Err(Error::new(
                Code::TableFailed,
                format!("native tables take no writes until the next start, since: {reason}"),
            )),
        }
    }

    /// Makes changes visible together, durably.
    ///
    /// # Errors
    /// What a row breaks (1062, 1048), a conflict with a commit after the snapshot (1213), a full
    /// disk (1021), and 1036 when an earlier failure allows no writes. Nothing has changed then. An
    /// error 1036 of this very commit leaves open whether it is there after a restart.
    pub fn commit(&self, commit: &Commit) -> Result<Receipt> {
        self.check()?;
        let prepared = self.prepare(commit)?;
        self.make_room()?;
        let (receipt, lsn) = {
            let mut committing = self.committing.lock();
            self.check()?;
            match self.commit_locked(&mut committing, commit, prepared)? {
                (receipt, Some(lsn)) => (receipt, lsn),
                (receipt, None) => return Ok(receipt),
            }
        };
        self.publish(lsn, receipt.version)?;
        Ok(receipt)
    }

    fn prepare(&self, commit: &Commit) -> Result<Vec<Prepared>> {
        let mut prepared = Vec::with_capacity(commit.writes.len());
        for (at, write) in commit.writes.iter().enumerate() {
            let (Write::Put { table, .. } | Write::Remove { table, .. }) = write;
            let table = self.table(*table).ok_or_else(|| no_table(*table))?;
            prepared.push(Prepared::new(table, write, at)?);
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

    /// The part of a commit that is done one after another. `None` when nothing has changed.
    fn commit_locked(
        &self,
        committing: &mut Committing,
        commit: &Commit,
        prepared: Vec<Prepared>,
    ) -> Result<(Receipt, Option<Lsn>)> {
        let mut outcomes = vec![Outcome::default(); prepared.len()];
        let mut fresh = Vec::new();
        let groups = apply::group(prepared, |table, key| self.partition(table, key, &mut fresh))?;
        let (partitions, changes): (Vec<Arc<Partition>>, Vec<Vec<Prepared>>) =
            groups.into_iter().unzip();
        let mut writers = Vec::with_capacity(partitions.len());
        for partition in &partitions {
            writers.push(partition.write(self.seed)?);
        }
        let mut decided: Vec<Vec<Decided>> = Vec::with_capacity(partitions.len());
        for (changes, writer) in changes.into_iter().zip(&writers) {
            let mut list = Vec::with_capacity(changes.len());
            for change in changes {
                self.check_current(&change)?;
                let change = apply::decide(change, writer, commit.snapshot)?;
                outcomes[change.change.at] = change.outcome;
                list.push(change);
            }
            decided.push(list);
        }
        let version = committing.catalog.version + 1;
        let changed = decided.iter().flatten().any(|it| it.change.rows() > 0);
        if !changed && commit.values.is_empty() {
            return Ok((Receipt { version: self.version(), outcomes }, None));
        }
        let micros = self.now();
        let mut record = RecordWriter::new(version, micros);
        for (table, partition) in &fresh {
            let (table, partition, key) = (table.id(), partition.id, &partition.key);
            record.push(&Change::AddPartition { table, partition, key });
        }
        for (partition, list) in partitions.iter().zip(&decided) {
            list.iter().for_each(|it| push_rows(&mut record, partition.id, &it.change));
        }
        for (key, value) in &commit.values {
            record.push(&Change::Value { key, value: value.as_deref() });
        }
        let lsn = self.log.append(&[record.bytes()]).inspect_err(|error| self.on_append(error))?;
        // From here on the commit is in the log: memory must follow or nothing more be written.
        let written = write_all(&fresh, &decided, &mut writers, version);
        written.inspect_err(|error| self.fail(error))?;
        for list in &decided {
            for it in list {
                it.change.table.changed.fetch_max(lsn.0, Ordering::AcqRel);
            }
        }
        committing.note_values(commit);
        committing.catalog.version = version;
        committing.catalog.note_time(micros, version, self.longest_history());
        Ok((Receipt { version, outcomes }, Some(lsn)))
    }

    /// The table may have been changed or dropped since the change was made ready.
    fn check_current(&self, change: &Prepared) -> Result<()> {
        let table = self.table(change.table.id());
        let is_current = table.is_some_and(|table| Arc::ptr_eq(&table.layout(), &change.layout));
        if is_current { Ok(()) } else { Err(no_table(change.table.id())) }
    }

    /// A full disk is a refusal, everything else the end of writing.
    fn on_append(&self, error: &Error) {
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
        let before = u32::try_from(fresh.iter().filter(same).count()).unwrap_or(u32::MAX);
        let id = PartitionId(table.next_partition().saturating_add(before));
        let partition = Arc::new(Partition::new(id, key.to_vec(), Vec::new())?);
        fresh.push((Arc::clone(table), Arc::clone(&partition)));
        Ok(partition)
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.env.clock.since_epoch().as_micros()).unwrap_or(u64::MAX)
    }

    /// How long the longest history of all tables is.
    pub(crate) fn longest_history(&self) -> u64 {
        let tables = self.tables.read();
        tables.values().map(|table| table.layout().schema.history.micros).max().unwrap_or(0)
    }

    /// Carries out a change of the catalog as a commit of its own.
    fn commit_change(
        &self,
        make: impl FnOnce(&mut MutexGuard<'_, Committing>) -> Result<Pending>,
    ) -> Result<()> {
        self.check()?;
        let (lsn, version) = {
            let mut committing = self.committing.lock();
            self.check()?;
            let pending = make(&mut committing)?;
            let version = committing.catalog.version + 1;
            let micros = self.now();
            let mut record = RecordWriter::new(version, micros);
            for change in pending.changes() {
                record.push(&change);
            }
            let lsn =
                self.log.append(&[record.bytes()]).inspect_err(|error| self.on_append(error))?;
            self.enter(&mut committing.catalog, pending, lsn, version)
                .inspect_err(|error| self.fail(error))?;
            committing.catalog.version = version;
            committing.catalog.note_time(micros, version, self.longest_history());
            (lsn, version)
        };
        self.publish(lsn, version)
    }

    /// Puts a change of the catalog into memory.
    fn enter(
        &self,
        catalog: &mut Catalog,
        pending: Pending,
        lsn: Lsn,
        version: Version,
    ) -> Result<()> {
        match pending {
            Pending::Create { table, schema, definition } => {
                table.changed.fetch_max(lsn.0, Ordering::AcqRel);
                catalog.next_table = catalog.next_table.max(table.id().0 + 1);
                catalog.tables.insert(table.id(), (schema, definition));
                self.tables.write().insert(table.id(), table);
            }
            Pending::Alter { table, schema, definition } => {
                table.changed.fetch_max(lsn.0, Ordering::AcqRel);
                catalog.tables.insert(table.id(), (schema.clone(), definition.clone()));
                table.alter(schema, &definition);
            }
            Pending::Drop { table } => {
                catalog.tables.remove(&table);
                if let Some(table) = self.tables.write().remove(&table) {
                    table.file.close();
                }
            }
            Pending::DropPartitions { table, partitions } => {
                table.changed.fetch_max(lsn.0, Ordering::AcqRel);
                for partition in partitions {
                    table.drop_partition(partition);
                }
                table.raise_floor(version);
            }
        }
        Ok(())
    }

    /// Makes a table.
    ///
    /// # Errors
    /// A schema that cannot be, and what writing files gives.
    pub fn create_table(&self, schema: TableSchema, definition: &[u8]) -> Result<TableId> {
        schema.check()?;
        self.check()?;
        let id = {
            let mut committing = self.committing.lock();
            // A number is used up even when the table is not made after all.
            let id = TableId(committing.catalog.next_table.max(1));
            committing.catalog.next_table = id.0 + 1;
            id
        };
        let path = table_path(&self.folder, id);
        let identity = Identity { database: self.identity, table: id.0 };
        let blocks = BlockFile::create(&self.env.disk, &path, identity)?;
        let file = DataFile::new(id.0, path, blocks, Arc::clone(&self.cache));
        let weigher = Arc::clone(&self.weigher);
        let named = (schema.clone(), definition);
        let table = Arc::new(Table::new(id, named, Arc::new(file), weigher, self.seed));
        let definition = definition.to_vec();
        self.commit_change(|_| Ok(Pending::Create { table, schema, definition }))?;
        Ok(id)
    }

    /// Gives a table another schema: columns may be added, dropped, renamed and reordered; a
    /// column keeps its number and its Arrow type, the key its columns.
    ///
    /// # Errors
    /// A change that needs the rows written anew, which is the engine's business.
    pub fn alter_table(&self, id: TableId, schema: TableSchema, definition: &[u8]) -> Result<()> {
        schema.check()?;
        let table = self.table(id).ok_or_else(|| no_table(id))?;
        check_alter(&table.layout().schema, &schema)?;
        let definition = definition.to_vec();
        self.commit_change(|_| Ok(Pending::Alter { table, schema, definition }))
    }

    /// Drops a table and its file.
    ///
    /// # Errors
    /// No such table.
    pub fn drop_table(&self, id: TableId) -> Result<()> {
        let table = self.table(id).ok_or_else(|| no_table(id))?;
        self.commit_change(|_| Ok(Pending::Drop { table: id }))?;
        // Recovery can do without the file as soon as the log says that it is dropped. Who still
        // reads it does so by an open handle; a file that stays is removed at the next start.
        self.env.disk.remove(&table.file.path).ok();
        Ok(())
    }

    /// Drops partitions by their keys; those that are not there are passed over. Gives how many
    /// there were.
    ///
    /// # Errors
    /// No such table.
    pub fn drop_partitions(&self, id: TableId, keys: &[Vec<u8>]) -> Result<usize> {
        let table = self.table(id).ok_or_else(|| no_table(id))?;
        let mut count = 0;
        self.commit_change(|_| {
            let found = keys.iter().filter_map(|key| table.partition(key));
            let partitions: Vec<PartitionId> = found.map(|partition| partition.id).collect();
            count = partitions.len();
            Ok(Pending::DropPartitions { table: Arc::clone(&table), partitions })
        })?;
        Ok(count)
    }

    /// Drops all rows of a table.
    ///
    /// # Errors
    /// No such table.
    pub fn truncate_table(&self, id: TableId) -> Result<()> {
        let table = self.table(id).ok_or_else(|| no_table(id))?;
        self.commit_change(|_| {
            let partitions = table.partitions().iter().map(|partition| partition.id).collect();
            Ok(Pending::DropPartitions { table: Arc::clone(&table), partitions })
        })
    }
}

impl Committing {
    fn note_values(&mut self, commit: &Commit) {
        for (key, value) in &commit.values {
            match value {
                Some(value) => self.catalog.values.insert(key.clone(), value.clone()),
                None => self.catalog.values.remove(key),
            };
        }
    }
}

/// A change of the catalog on its way.
enum Pending {
    Create { table: Arc<Table>, schema: TableSchema, definition: Vec<u8> },
    Alter { table: Arc<Table>, schema: TableSchema, definition: Vec<u8> },
    Drop { table: TableId },
    DropPartitions { table: Arc<Table>, partitions: Vec<PartitionId> },
}

impl Pending {
    fn changes(&self) -> Vec<Change<'_>> {
        match self {
            Pending::Create { table, schema, definition } => {
                vec![Change::CreateTable { table: table.id(), schema: schema.clone(), definition }]
            }
            Pending::Alter { table, schema, definition } => {
                vec![Change::AlterTable { table: table.id(), schema: schema.clone(), definition }]
            }
            Pending::Drop { table } => vec![Change::DropTable { table: *table }],
            Pending::DropPartitions { table, partitions } => partitions
                .iter()
                .map(|&partition| Change::DropPartition { table: table.id(), partition })
                .collect(),
        }
    }
}

fn push_rows(record: &mut RecordWriter, partition: PartitionId, change: &Prepared) {
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
    version: Version,
) -> Result<()> {
    for (table, partition) in fresh {
        table.add_partition(Arc::clone(partition))?;
    }
    for (list, writer) in decided.iter().zip(writers) {
        for it in list {
            apply::write(it, writer, version)?;
        }
    }
    Ok(())
}

fn check_alter(old: &TableSchema, new: &TableSchema) -> Result<()> {
    let key = |schema: &TableSchema| -> Vec<u32> {
        schema.key.iter().map(|&at| schema.columns[at].id).collect()
    };
    let same_types = new.columns.iter().all(|column| {
        let before = old.columns.iter().find(|it| it.id == column.id);
        before.is_none_or(|before| before.ty.arrow() == column.ty.arrow())
    });
    if key(old) == key(new) && same_types {
        return Ok(());
    }
    Err(Error::internal("this change of a table needs its rows written anew"))
}

fn no_table(id: TableId) -> Error {
    Error::new(Code::TableChanged, format!("table {} is gone, please retry transaction", id.0))
}

/// The data file of a table.
pub(crate) fn table_path(folder: &Path, id: TableId) -> PathBuf {
    folder.join(format!("table-{}.blocks", id.0))
}
