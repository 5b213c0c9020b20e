//! The catalog of native tables: the open store, and the map from names to databases and tables.
//!
//! The store keeps databases as values `db/<name>` and tables with their definitions. The map is
//! renewed by every DDL statement. Names are case-sensitive, as on MySQL servers whose
//! `lower_case_table_names` is 0.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::Stop;
use pelorus_store::{Commit, Database, Options, Table, TableId};
use pelorus_types::{Collation, collation};

use super::collation_keys::CollationKeys;
use super::definition::{self, NOWHERE, NativeDef};
use super::statistics::Statistics;
use super::write::auto;
use crate::hidden::is_hidden;

/// The folder of the store within the data folder.
const FOLDER: &str = "native";

/// How often a statement that waits for another one's definition checks for cancellation.
const STOP_ASKED: Duration = Duration::from_millis(100);

/// The options of a native database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// The collation of tables that name none.
    pub(crate) collation: Collation,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self { collation: collation::UTF8MB4_0900_AI_CI }
    }
}

/// One database and its tables by name.
#[derive(Clone, Debug, Default)]
struct Entry {
    options: DatabaseOptions,
    tables: BTreeMap<String, Arc<NativeDef>>,
    /// Tables whose files were found damaged or missing at the start.
    broken: BTreeMap<String, TableId>,
}

/// Native databases and tables.
#[derive(Debug)]
pub struct Catalog {
    store: Arc<Database>,
    statistics: Statistics,
    databases: RwLock<BTreeMap<String, Entry>>,
    /// Held by statements that define something, one at a time.
    defining: Mutex<()>,
    maintenance: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Syncs the log after commits that did not wait for it.
    syncing: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// Makes key indexes ahead of the first writes.
    warming: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Catalog {
    /// Opens the store in a data folder and begins to maintain it.
    ///
    /// # Errors
    /// Files that cannot be used, damage, and definitions that cannot be read.
    pub fn open(env: &Env, data: &Path, options: Options) -> Result<Self> {
        let folder = data.join(FOLDER);
        let store = Database::open(env.clone(), &folder, options, Arc::new(CollationKeys))?;
        let databases = load(&store)?;
        let maintenance = spawn("pelorus-native", &store, Database::run_maintenance)?;
        let syncing = spawn("pelorus-sync", &store, Database::run_syncing)?;
        let warming = spawn("pelorus-warm", &store, Database::warm_indexes_soon)?;
        Ok(Self {
            statistics: Statistics::open(&store),
            store,
            databases: RwLock::new(databases),
            defining: Mutex::default(),
            maintenance: Mutex::new(Some(maintenance)),
            syncing: Mutex::new(Some(syncing)),
            warming: Mutex::new(Some(warming)),
        })
    }

    /// Ends maintenance with a last checkpoint.
    pub fn close(&self) -> Result<()> {
        let Some(thread) = self.maintenance.lock().take() else { return Ok(()) };
        let closed = self.keep_counters().and_then(|()| self.store.close());
        self.store.stop_maintenance();
        self.store.stop_syncing();
        let (syncing, warming) = (self.syncing.lock().take(), self.warming.lock().take());
        for thread in [Some(thread), syncing, warming].into_iter().flatten() {
            thread.join().map_err(|_| Error::internal("a thread for native tables panicked"))?;
        }
        closed
    }

    /// Writes the exact AUTO_INCREMENT numbers down; while it runs the store has only a bound that
    /// lies ahead of them, and goes on from there after a crash.
    fn keep_counters(&self) -> Result<()> {
        let tables: Vec<Arc<NativeDef>> = {
            let databases = self.databases.read();
            databases.values().flat_map(|entry| entry.tables.values().cloned()).collect()
        };
        if self.store.failure().is_some() { Ok(()) } else { auto::keep(&self.store, &tables) }
    }

    /// The store.
    pub fn store(&self) -> &Arc<Database> {
        &self.store
    }

    /// The statistics of `ANALYZE TABLE`.
    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Keeps other statements from defining anything, once those before are done.
    ///
    /// # Errors
    /// 1317 when the statement is stopped while it waits.
    pub(super) fn define(&self, stop: &Stop) -> Result<parking_lot::MutexGuard<'_, ()>> {
        loop {
            if let Some(guard) = self.defining.try_lock_for(STOP_ASKED) {
                return Ok(guard);
            }
            stop.check()?;
        }
    }

    /// Whether a database is native, and not hidden.
    pub fn has(&self, database: &str) -> bool {
        !is_hidden(database) && self.databases.read().contains_key(database)
    }

    /// The options of a database.
    pub fn options(&self, database: &str) -> Option<DatabaseOptions> {
        self.databases.read().get(database).map(|entry| entry.options.clone())
    }

    /// All databases by name, those that are hidden left out.
    pub fn databases(&self) -> Vec<(String, DatabaseOptions)> {
        let databases = self.databases.read();
        let shown = databases.iter().filter(|(name, _)| !is_hidden(name));
        shown.map(|(name, entry)| (name.clone(), entry.options.clone())).collect()
    }

    /// A table.
    pub fn table(&self, database: &str, name: &str) -> Option<Arc<NativeDef>> {
        self.databases.read().get(database)?.tables.get(name).cloned()
    }

    /// The tables of a database by name.
    pub(crate) fn tables(&self, database: &str) -> Vec<Arc<NativeDef>> {
        let databases = self.databases.read();
        databases.get(database).map_or_else(Vec::new, |it| it.tables.values().cloned().collect())
    }

    /// The tables of hidden databases, damaged or not: database and name.
    pub fn hidden_tables(&self) -> Vec<(String, String)> {
        let databases = self.databases.read();
        let hidden = databases.iter().filter(|(name, _)| is_hidden(name));
        let tables = |(database, entry): (&String, &Entry)| {
            let names = entry.tables.keys().chain(entry.broken.keys());
            names.map(|name| (database.clone(), name.clone())).collect::<Vec<_>>()
        };
        hidden.flat_map(tables).collect()
    }

    /// The number of an existing table, damaged or not.
    pub fn id_of(&self, database: &str, name: &str) -> Option<TableId> {
        let databases = self.databases.read();
        let entry = databases.get(database)?;
        entry.tables.get(name).map(|def| def.id).or_else(|| entry.broken.get(name).copied())
    }

    /// The tables of a database that cannot be used, with the reason (1034).
    pub(crate) fn broken_tables(&self, database: &str) -> Vec<(String, TableId, Error)> {
        let databases = self.databases.read();
        let broken = databases.get(database).map(|entry| entry.broken.iter());
        let with_error = |(name, id): (&String, &TableId)| {
            self.store.broken(*id).map(|error| (name.clone(), *id, told_what_to_do(&error)))
        };
        broken.into_iter().flatten().filter_map(with_error).collect()
    }

    /// Passes over tables that are not there and fails for those that cannot be used.
    ///
    /// # Errors
    /// 1034.
    pub(crate) fn check_usable(&self, database: &str, name: &str) -> Result<()> {
        let broken = self.broken_tables(database).into_iter().find(|(it, ..)| it == name);
        broken.map_or(Ok(()), |(_, _, error)| Err(error))
    }

    /// A table, or error 1146 (1049 without the database; 1034 if its file is damaged).
    pub fn require(&self, database: &str, name: &str) -> Result<Arc<NativeDef>> {
        if !self.has(database) && !is_hidden(database) {
            let text = format!("Unknown database '{database}'");
            return Err(Error::new(Code::UnknownDatabase, text));
        }
        self.check_usable(database, name)?;
        self.table(database, name).ok_or_else(|| {
            Error::new(Code::NoSuchTable, format!("Table '{database}.{name}' doesn't exist"))
        })
    }

    /// Makes a database.
    pub(super) fn put_database(&self, name: &str, options: DatabaseOptions) -> Result<()> {
        let value = options.collation.name().into_bytes();
        self.put_value(database_key(name), Some(value))?;
        self.databases.write().entry(name.to_owned()).or_default().options = options;
        Ok(())
    }

    /// Shows a database no longer, which is gone from the store with its tables.
    pub(super) fn forget_database(&self, name: &str) {
        self.databases.write().remove(name);
    }

    /// Writes a value that belongs to no table.
    pub(super) fn put_value(&self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<()> {
        let commit = Commit { values: vec![(key, value)], ..Commit::default() };
        self.store.commit(&commit).map(drop)
    }

    /// Shows a table under its name.
    pub(super) fn insert(&self, def: impl Into<Arc<NativeDef>>) -> Arc<NativeDef> {
        let def = def.into();
        let mut databases = self.databases.write();
        let entry = databases.entry(def.database.clone()).or_default();
        entry.tables.insert(def.name.clone(), Arc::clone(&def));
        def
    }

    /// Shows tables under other definitions, all of them in one step: there is no moment without one
    /// of them.
    pub(super) fn exchange_all<'a>(
        &self,
        changed: impl IntoIterator<Item = (&'a NativeDef, NativeDef)>,
    ) {
        let (old, new): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
        let mut databases = self.databases.write();
        for old in old {
            if let Some(entry) = databases.get_mut(&old.database) {
                entry.tables.remove(&old.name);
            }
        }
        for new in new {
            let entry = databases.entry(new.database.clone()).or_default();
            entry.tables.insert(new.name.clone(), Arc::new(new));
        }
    }

    /// Shows a table no longer under a name.
    pub(super) fn forget(&self, database: &str, name: &str) {
        if let Some(entry) = self.databases.write().get_mut(database) {
            entry.tables.remove(name);
            entry.broken.remove(name);
        }
    }

    /// The next AUTO_INCREMENT number that the store knows of a table.
    pub(super) fn stored_counter(&self, id: TableId) -> Arc<AtomicU64> {
        stored_counter(&self.store, id)
    }
}

impl Drop for Catalog {
    /// Dropping a catalog that was not closed stops its threads; the log contains all durable
    /// changes.
    fn drop(&mut self) {
        self.store.stop_maintenance();
        self.store.stop_syncing();
        let threads = [&mut self.maintenance, &mut self.syncing, &mut self.warming];
        for thread in threads.map(|thread| thread.get_mut().take()).into_iter().flatten() {
            thread.join().ok();
        }
    }
}

/// Starts a thread that works on the store until it is stopped.
fn spawn(
    name: &str,
    store: &Arc<Database>,
    work: fn(&Database),
) -> Result<std::thread::JoinHandle<()>> {
    let store = Arc::clone(store);
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(move || work(&store)).map_err(|error| {
        Error::internal("the thread for native tables cannot be started").caused_by(error)
    })
}

fn stored_counter(store: &Database, id: TableId) -> Arc<AtomicU64> {
    let bytes = store.value(&NativeDef::auto_key(id)).unwrap_or_default();
    let next = <[u8; 8]>::try_from(bytes).map_or(1, u64::from_le_bytes);
    Arc::new(AtomicU64::new(next.max(1)))
}

fn told_what_to_do(error: &Error) -> Error {
    let text = format!(
        "{}; put the file back from a backup and start again, or drop the table",
        error.message()
    );
    Error::new(error.code(), text)
}

/// The key of a database in the store.
pub(super) fn database_key(name: &str) -> Vec<u8> {
    format!("db/{name}").into_bytes()
}

/// Reads databases and tables at the start.
fn load(store: &Database) -> Result<BTreeMap<String, Entry>> {
    let mut databases: BTreeMap<String, Entry> = BTreeMap::new();
    for (key, value) in store.values(b"db/") {
        let name = String::from_utf8_lossy(key.get(3..).unwrap_or_default()).into_owned();
        let named = Collation::by_name(&String::from_utf8_lossy(&value));
        let collation = named.unwrap_or(collation::UTF8MB4_0900_AI_CI);
        databases.entry(name).or_default().options = DatabaseOptions { collation };
    }
    drop_unfinished(store)?;
    for table in store.tables() {
        let def = load_table(store, table)?;
        let entry = databases.entry(def.database.clone()).or_default();
        entry.tables.insert(def.name.clone(), Arc::new(def));
    }
    for (id, definition) in store.broken_tables() {
        let (database, definition, _) = definition::decode(&definition)?;
        let entry = databases.entry(database).or_default();
        entry.broken.insert(definition.name.name.clone(), id);
    }
    Ok(databases)
}

/// Drops the tables that an `ALTER TABLE` was writing when the process ended.
fn drop_unfinished(store: &Database) -> Result<()> {
    let whole = store.tables().into_iter().map(|it| (it.id(), it.definition().to_vec()));
    for (id, definition) in whole.chain(store.broken_tables()) {
        if definition::decode(&definition)?.0 == NOWHERE {
            discard(store, id)?;
        }
    }
    Ok(())
}

/// Drops a table that never took its place.
///
/// # Errors
/// I/O errors.
pub(crate) fn discard(store: &Database, id: TableId) -> Result<()> {
    let counter = NativeDef::auto_key(id);
    if store.value(&counter).is_some() {
        store.commit(&Commit { values: vec![(counter, None)], ..Commit::default() })?;
    }
    store.drop_table(id)
}

fn load_table(store: &Database, table: Arc<Table>) -> Result<NativeDef> {
    let (database, definition, mode) = definition::decode(&table.definition())?;
    let counter = stored_counter(store, table.id());
    NativeDef::new(&database, definition, mode, table, Some(counter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_tables;
    use pelorus_result::kill::Handle;

    #[test]
    fn a_kill_ends_waiting_for_another_definition() {
        let native = with_tables(&[]);
        let held = native.define(&Stop::never()).unwrap();
        let handle = Handle::new(1);
        let stop = Stop::of(handle.clone());
        handle.kill_query();
        assert_eq!(native.define(&stop).unwrap_err().errno(), 1317);
        drop(held);
        assert!(native.define(&stop).is_ok());
    }
}
