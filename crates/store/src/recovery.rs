//! Recovery: opens a database from its catalog, its data files, and the log after their
//! checkpoints.
//!
//! Each file says up to which log position it is complete. The log is read from the lowest of
//! these, and each record is applied only to the files that do not have it yet. Nothing is written
//! before the whole log has been read. A table whose file cannot be used is left out, and the part
//! of the log that its file may need is preserved until the file is put back.

pub(crate) mod checkpoint;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_blockfile::{BlockFile, Identity, PAYLOAD_MAX, RESERVED};
use pelorus_env::{Account, Env, Open};
use pelorus_error::{Code, Error, Result};
use pelorus_log::{Checkpoint, Log, Lsn};

use crate::catalog::change::table_path;
use crate::catalog::schema::{PartitionId, TableId};
use crate::catalog::schema_version::filler;
use crate::catalog::{Catalog, TableEntry};
use crate::commit::apply;
use crate::commit::log_record::{Change, Record};
use crate::commit::write_set::{Mode, Prepared, Write};
use crate::database::{BrokenTable, CheckpointState, Database, Opened, Options};
use crate::format::bytes::Reader;
use crate::format::data_file::{DataFile, kind};
use crate::format::manifest::Written;
use crate::format::{manifest, row_batch};
use crate::key::SortKeyEncoder;
use crate::partition::Partition;
use crate::partition::column_cache::Cache;
use crate::table::{Table, longest_history};

impl Database {
    /// Opens a database, or makes a new one where there is none.
    ///
    /// # Errors
    /// Files that cannot be read or written, and damage; both are named.
    pub fn open(
        env: Env,
        folder: &Path,
        options: Options,
        weigher: Arc<dyn SortKeyEncoder>,
    ) -> Result<Arc<Self>> {
        let failed = |error| {
            Error::new(Code::FileWrite, format!("folder {} cannot be used", folder.display()))
                .caused_by(error)
        };
        env.disk.create_folder(folder).map_err(failed)?;
        if let Some(parent) = folder.parent() {
            env.disk.sync_folder(parent).map_err(failed)?;
        }
        let names = env.disk.list(folder).map_err(failed)?;
        let catalog_path = folder.join(CATALOG);
        if !names.iter().any(|name| name == CATALOG) {
            create(&env, folder, &names, &options)?;
        }
        let mut recovery = Recovery::begin(env, folder, options, weigher, &catalog_path)?;
        let log = recovery.replay()?;
        recovery.remove_strangers(log.end().0)?;
        recovery.complain();
        Ok(Arc::new(Self::from(recovery.finish(log))))
    }
}

/// The file that tells that there is a database.
const CATALOG: &str = "catalog.blocks";

/// The length of a log segment that nothing was ever written to: its header.
const EMPTY_LOG: u64 = 4096;

/// More tables than this are not given up between two records that make one.
const NEAR: u64 = 1 << 32;

/// The folder of the log.
fn log_folder(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// The number in the identity of the catalog's block file, where tables have theirs.
const CATALOG_TABLE: u64 = 0;

/// Says what to do about a catalog without which nothing can be opened.
fn put_back(error: Error) -> Error {
    if !matches!(error.code(), Code::FileDamaged | Code::FileRead) {
        return error;
    }
    let text = format!(
        "{}; nothing was changed: put back the original file, or restore the data folder from a \
         backup (pelorus fsck says what is damaged)",
        error.message()
    );
    error.with_message(text)
}

/// Makes an empty database. The catalog comes last: until it is there, nothing is.
fn create(env: &Env, folder: &Path, names: &[String], options: &Options) -> Result<()> {
    if let Some(name) = names.iter().find(|name| name.starts_with("table-")) {
        return Err(Error::new(
            Code::FileDamaged,
            format!(
                "folder {} has {name} but no {CATALOG}; put the missing file back, or move the \
                 folder away to begin anew",
                folder.display()
            ),
        ));
    }
    let failed = |error| {
        Error::new(Code::FileWrite, format!("folder {} cannot be used", folder.display()))
            .caused_by(error)
    };
    // A log without a catalog comes of a start that was cut short; nothing was ever in it.
    let log = log_folder(folder);
    for name in env.disk.list(&log).map_err(failed)? {
        let path = log.join(name);
        if env.disk.open(&path, Open::Read).and_then(|it| it.length()).map_err(failed)? > EMPTY_LOG
        {
            return Err(Error::new(
                Code::FileDamaged,
                format!(
                    "folder {} has no {CATALOG}, but {} has been written to; put the missing file \
                     back, or move the folder away to begin anew",
                    folder.display(),
                    path.display()
                ),
            ));
        }
        env.disk.remove(&path).map_err(failed)?;
    }
    let draft = folder.join("catalog.draft");
    if names.iter().any(|name| name == "catalog.draft") {
        env.disk.remove(&draft).map_err(failed)?;
    }
    let mut identity = [0; 16];
    env.random.fill(&mut identity);
    Log::create(Arc::clone(&env.disk), &log, options.log, identity, Lsn(0))?;
    let file = BlockFile::create(
        &env.disk,
        &draft,
        Identity { database: identity, table: CATALOG_TABLE },
    )?;
    let catalog = Catalog { next_table: 1, ..Catalog::default() };
    let root = file.write(kind::CATALOG, &catalog.to_bytes(), 0)?;
    file.checkpoint(root, 0, || Ok(()))?;
    drop(file);
    env.disk.rename(&draft, &folder.join(CATALOG)).map_err(failed)?;
    env.disk.sync_folder(folder).map_err(failed)
}

/// A database that is being opened.
struct Recovery {
    env: Env,
    folder: PathBuf,
    options: Options,
    weigher: Arc<dyn SortKeyEncoder>,
    cache: Arc<Cache>,
    identity: [u8; 16],
    seed: u64,
    catalog_file: BlockFile,
    catalog_lsn: u64,
    catalog: Catalog,
    tables: BTreeMap<TableId, Arc<Table>>,
    /// Bytes of their rows in memory.
    delta_bytes: Account,
    /// How long the longest of their histories is (microseconds).
    longest_history: u64,
    checkpoint: CheckpointState,
    /// Tables whose files cannot be used; well, if the log drops them.
    broken: BTreeMap<TableId, BrokenTable>,
}

impl Recovery {
    fn begin(
        env: Env,
        folder: &Path,
        options: Options,
        weigher: Arc<dyn SortKeyEncoder>,
        catalog_path: &Path,
    ) -> Result<Self> {
        let (whose, _) = BlockFile::identity_of(&env.disk, catalog_path).map_err(put_back)?;
        let identity = whose.database;
        let whose = Identity { database: identity, table: CATALOG_TABLE };
        let catalog_file = BlockFile::open(&env.disk, catalog_path, whose).map_err(put_back)?;
        let header = catalog_file.header();
        let Some(root) = header.root else {
            return Err(put_back(Error::new(
                Code::FileDamaged,
                format!("file {} has no catalog in it", catalog_path.display()),
            )));
        };
        let what = format!("the catalog (block {root}) of {}", catalog_path.display());
        let bytes = catalog_file.read(root).map_err(put_back)?;
        let catalog = Catalog::from_bytes(&bytes, &what).map_err(put_back)?;
        let mut seed = [0; 8];
        env.random.fill(&mut seed);
        let checkpoint = CheckpointState {
            lsn: header.lsn,
            log_start: catalog.log_start,
            manifest_max: PAYLOAD_MAX as usize,
            ..CheckpointState::default()
        };
        let mut this = Self {
            cache: Arc::new(Cache::new(
                options.cache_bytes,
                options.memory.part("pelorus_block_cache", usize::MAX),
            )),
            delta_bytes: options.memory.part("pelorus_delta_memory", usize::MAX),
            folder: folder.to_owned(),
            env,
            options,
            weigher,
            identity,
            seed: u64::from_le_bytes(seed),
            catalog_lsn: header.lsn,
            catalog_file,
            catalog,
            tables: BTreeMap::new(),
            longest_history: 0,
            checkpoint,
            broken: BTreeMap::new(),
        };
        for (id, entry) in this.catalog.tables.clone() {
            this.open_table(id, &entry);
        }
        this.longest_history = longest_history(this.tables.values());
        Ok(this)
    }

    /// Opens the file of a table; others do without the table if that cannot be.
    fn open_table(&mut self, id: TableId, entry: &TableEntry) {
        match self.try_open_table(id, entry) {
            Ok(table) => {
                self.tables.insert(id, table);
            }
            Err(error) => self.break_table(id, &error),
        }
    }

    /// Leaves a table out, and keeps what there is of it for the day when its file is well.
    fn break_table(&mut self, id: TableId, error: &Error) {
        let reason = pelorus_error::display_chain(error);
        if let Some(table) = self.tables.remove(&id) {
            table.retire();
        }
        self.checkpoint.manifests.remove(&id);
        self.broken.insert(id, BrokenTable { code: error.code(), reason });
    }

    fn try_open_table(&mut self, id: TableId, entry: &TableEntry) -> Result<Arc<Table>> {
        let path = table_path(&self.folder, id);
        let identity = Identity { database: self.identity, table: id.0 };
        let blocks =
            BlockFile::open(&self.env.disk, &path, identity).map_err(|error| {
                match error.code() {
                    Code::FileNotFound => Error::new(Code::FileDamaged, error.message().to_owned()),
                    _ => error,
                }
            })?;
        if let Some(reason) = blocks.fallback() {
            tracing::warn!(file = %path.display(), reason, "an older checkpoint is used");
        }
        let header = blocks.header();
        let holds = header.lsn.max(entry.created);
        if holds < entry.changed && holds < self.catalog.log_start {
            return Err(Error::new(
                Code::FileDamaged,
                format!(
                    "file {} is older than the catalog: it ends at lsn {holds}, the table at lsn \
                     {}, and the log in between is gone; put the newer file back",
                    path.display(),
                    entry.changed
                ),
            ));
        }
        let file = Arc::new(DataFile::new(path, blocks, Arc::clone(&self.cache)));
        let weigher = Arc::clone(&self.weigher);
        let named = (entry.schema.clone(), &entry.definition[..]);
        let memory = self.delta_bytes.clone();
        let table = Arc::new(Table::new(id, named, file, weigher, self.seed, memory));
        table.checkpoint.store(header.lsn, Ordering::Release);
        table.born(entry.created);
        table.changed.fetch_max(entry.changed, Ordering::AcqRel);
        table.set_next_column(entry.next_column);
        if let Some(root) = header.root {
            let (version, blocks) = manifest::read(&table, root)?;
            self.catalog.version = self.catalog.version.max(version);
            self.checkpoint.manifests.insert(id, Written::read(blocks));
        }
        Ok(table)
    }

    fn replay(&mut self) -> Result<Log> {
        let folder = log_folder(&self.folder);
        // A table that has not changed since its checkpoint needs no log.
        let behind = self.tables.values().filter_map(|table| {
            let holds = table.checkpoint.load(Ordering::Acquire);
            (holds < table.changed.load(Ordering::Acquire)).then_some(holds)
        });
        let from = behind.chain([self.catalog_lsn]).min().unwrap_or(0);
        let durable = self.tables.values().map(|table| table.checkpoint.load(Ordering::Acquire));
        let durable = durable.chain([self.catalog_lsn]).max().unwrap_or(0);
        let checkpoint = Checkpoint { lsn: Lsn(from), durable: Lsn(durable) };
        let (disk, options) = (Arc::clone(&self.env.disk), self.options.log);
        let identity = self.identity;
        Log::open(disk, &folder, options, identity, checkpoint, &mut |lsn, bytes| {
            self.replay_record(lsn.0, bytes)
        })
    }

    fn replay_record(&mut self, lsn: u64, bytes: &[u8]) -> Result<()> {
        let what = format!("the log record that ends at {lsn}");
        let mut record = Record::read(bytes, &what)?;
        let (version, micros) = (record.version, record.micros);
        // Partitions that go together, as with TRUNCATE TABLE, are taken out in one step.
        let mut drops: BTreeMap<TableId, Vec<PartitionId>> = BTreeMap::new();
        while let Some(change) = record.next_change()? {
            if lsn > self.catalog_lsn {
                self.replay_in_catalog(&change, lsn);
            }
            if let Change::DropPartition { table, partition } = change {
                drops.entry(table).or_default().push(partition);
            } else if let Some(id) = change.table() {
                self.replay_drops(id, drops.remove(&id), (lsn, version));
                self.replay_in_table(id, lsn, |table| {
                    replay_in_table(table, change, version, &what)
                });
            }
        }
        for (id, partitions) in drops {
            self.replay_drops(id, Some(partitions), (lsn, version));
        }
        self.catalog.version = self.catalog.version.max(version);
        if lsn > self.catalog_lsn {
            self.catalog.note_time(micros, version, self.longest_history);
        }
        Ok(())
    }

    fn replay_drops(
        &mut self,
        id: TableId,
        partitions: Option<Vec<PartitionId>>,
        (lsn, version): (u64, u64),
    ) {
        let Some(partitions) = partitions else { return };
        self.replay_in_table(id, lsn, |table| {
            table.drop_partitions(&partitions, version);
            table.forget_dropped(version);
            Ok(())
        });
    }

    fn replay_in_table(
        &mut self,
        id: TableId,
        lsn: u64,
        replay: impl FnOnce(&Arc<Table>) -> Result<()>,
    ) {
        // The catalog says what a file must hold that is put back later.
        if self.broken.contains_key(&id)
            && let Some(entry) = self.catalog.tables.get_mut(&id)
        {
            entry.changed = entry.changed.max(lsn);
        }
        let Some(table) = self.tables.get(&id).cloned() else { return };
        table.changed.fetch_max(lsn, Ordering::AcqRel);
        if lsn > table.checkpoint.load(Ordering::Acquire)
            && let Err(error) = replay(&table)
        {
            if let Some(entry) = self.catalog.tables.get_mut(&id) {
                entry.changed = entry.changed.max(lsn);
            }
            self.break_table(id, &error);
        }
    }

    fn replay_in_catalog(&mut self, change: &Change<'_>, lsn: u64) {
        match change {
            Change::CreateTable { table, schema, definition } => {
                self.catalog.next_table = self.catalog.next_table.max(table.0.saturating_add(1));
                let entry = TableEntry::new(schema.clone(), definition.to_vec(), lsn);
                self.open_table(*table, &entry);
                self.catalog.tables.insert(*table, entry);
            }
            Change::AlterTable { table, schema, definition } => {
                if let Some(entry) = self.catalog.tables.get_mut(table) {
                    entry.alter(schema.clone(), definition.to_vec());
                }
                if let Some(table) = self.tables.get(table) {
                    table.alter(schema.clone(), definition);
                }
            }
            Change::DropTable { table } => {
                self.catalog.tables.remove(table);
                self.broken.remove(table);
                if let Some(table) = self.tables.remove(table) {
                    table.retire();
                }
            }
            Change::Value { key, value: Some(value) } => {
                self.catalog.values.insert(key.to_vec(), value.to_vec());
            }
            Change::Value { key, value: None } => {
                self.catalog.values.remove(*key);
            }
            _ => {}
        }
        let is_of_tables = matches!(
            change,
            Change::CreateTable { .. } | Change::AlterTable { .. } | Change::DropTable { .. }
        );
        if is_of_tables {
            self.longest_history = longest_history(self.tables.values());
        }
    }

    /// Says which tables cannot be used: those that the log does not drop.
    fn complain(&self) {
        for (id, BrokenTable { reason, .. }) in &self.broken {
            tracing::error!(table = id.0, reason, "a native table cannot be used");
        }
    }

    /// Removes files of tables that are not there: of one that was about to be made when the
    /// process ended, or that has been dropped. What may be another's, or of a later time of this
    /// database, stays.
    fn remove_strangers(&mut self, log_end: u64) -> Result<()> {
        let failed = |error| {
            let folder = self.folder.display();
            Error::new(Code::FileWrite, format!("folder {folder} cannot be used")).caused_by(error)
        };
        let mut removed = false;
        for name in self.env.disk.list(&self.folder).map_err(failed)? {
            let Some(id) = table_of(&name) else { continue };
            let next = self.catalog.next_table;
            // One that is far from all others was never given, and must not use them up.
            if self.catalog.tables.contains_key(&id) || id.0 > next.saturating_add(NEAR) {
                continue;
            }
            // Numbers are never used again, so none is missed.
            self.catalog.next_table = id.0.saturating_add(1).max(next);
            let path = self.folder.join(&name);
            if let Some(reason) = self.why_kept(id, &path, log_end) {
                tracing::warn!(
                    file = %path.display(),
                    reason,
                    "no table has this file; it is left where it is"
                );
                continue;
            }
            tracing::info!(file = %path.display(), "the file of a table that is gone is removed");
            self.env.disk.remove(&path).map_err(failed)?;
            removed = true;
        }
        if removed {
            self.env.disk.sync_folder(&self.folder).map_err(failed)?;
        }
        Ok(())
    }

    /// Why a file without a table is not certainly a leftover, if so.
    fn why_kept(&self, id: TableId, path: &Path, log_end: u64) -> Option<String> {
        let ours = Identity { database: self.identity, table: id.0 };
        match BlockFile::identity_of(&self.env.disk, path) {
            Ok((whose, _)) if whose != ours => {
                Some("it belongs to another database or table".to_owned())
            }
            Ok((_, lsn)) if lsn > log_end => Some(format!(
                "it ends at lsn {lsn}, behind the end of the log ({log_end}): an older catalog or \
                 log was put back"
            )),
            Ok(_) => None,
            Err(error) => {
                // One that was about to be made has no blocks yet.
                let length = || self.env.disk.open(path, Open::Read)?.length();
                let is_unmade = error.code() == Code::FileDamaged
                    && length().is_ok_and(|length| length <= RESERVED);
                (!is_unmade).then(|| pelorus_error::display_chain(&error))
            }
        }
    }

    fn finish(self, log: Log) -> Opened {
        let catalog_root = self.catalog_file.header().root;
        Opened {
            env: self.env,
            folder: self.folder,
            options: self.options,
            weigher: self.weigher,
            cache: self.cache,
            log,
            identity: self.identity,
            seed: self.seed,
            tables: self.tables,
            delta_bytes: self.delta_bytes,
            catalog: self.catalog,
            catalog_file: self.catalog_file,
            catalog_root,
            checkpoint: self.checkpoint,
            broken: self.broken,
        }
    }
}

/// The number of a table by the name of its file, as [`table_path`] gives it.
fn table_of(name: &str) -> Option<TableId> {
    let id = TableId(name.strip_prefix("table-")?.strip_suffix(".blocks")?.parse().ok()?);
    (table_path(Path::new(""), id) == Path::new(name)).then_some(id)
}

/// Applies the change of a log record to a table.
fn replay_in_table(table: &Arc<Table>, change: Change<'_>, version: u64, what: &str) -> Result<()> {
    let partition_of = |id: PartitionId| {
        table.partition_by_id(id).ok_or_else(|| {
            let (id, table) = (id.0, table.id().0);
            Reader::new(&[], what).damaged(&format!("table {table} has no partition {id}"))
        })
    };
    match change {
        Change::AddPartition { partition, key, .. } => {
            let partition = Partition::new(partition, key.to_vec(), Vec::new())?;
            table.add_partition(Arc::new(partition))?;
        }
        Change::EndHistory { .. } => table.raise_floor(version),
        Change::Put { partition, columns, batch, .. } => {
            let partition = partition_of(partition)?;
            let columns = read_rows(table, &columns, batch, what)?;
            let id = table.id();
            let key = partition.key.clone();
            let write = Write::Put { table: id, partition: key, columns, mode: Mode::Replace };
            replay_write(table, &partition, &write, version)?;
        }
        Change::Remove { partition, batch, .. } => {
            let partition = partition_of(partition)?;
            let types = table.layout().key_types();
            let (columns, _) = row_batch::read(&mut Reader::new(batch, what), &types)?;
            let key = partition.key.clone();
            let write = Write::Remove { table: table.id(), partition: key, columns };
            replay_write(table, &partition, &write, version)?;
        }
        _ => {}
    }
    Ok(())
}

fn replay_write(
    table: &Arc<Table>,
    partition: &Partition,
    write: &Write,
    version: u64,
) -> Result<()> {
    let prepared = Prepared::new(Arc::clone(table), write, 0, Vec::new())?;
    let mut writer = partition.write(table.seed())?;
    let decided = apply::decide(prepared, &writer, None)?;
    // No change that was computed before the start will be committed.
    apply::write(&decided, &mut writer, version, version)
}

/// The rows of a record under the table's present layout. A table whose catalog is ahead of its
/// data file has another schema by now than when the record was written.
fn read_rows(
    table: &Table,
    columns: &[u32],
    batch: &[u8],
    what: &str,
) -> Result<Vec<arrow::array::ArrayRef>> {
    let layout = table.layout();
    let from = &mut Reader::new(batch, what);
    let (read, rows) = row_batch::read_by_tags(from, columns.len())?;
    layout
        .schema
        .columns
        .iter()
        .map(|column| match columns.iter().position(|id| *id == column.id) {
            Some(at) => row_batch::typed(&read[at], &column.ty.arrow(), from),
            None => filler(column, rows),
        })
        .collect()
}
