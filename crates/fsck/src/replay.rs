//! Replays the part of the log after the data files' checkpoints: catalog changes, and for each key
//! that was written since the checkpoint its newest row.
//!
//! Rows are not put into deltas again: since the last change of a key wins, the final state of each
//! key of the log is enough. If keys cannot be compared, only the existence of changes is noted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::batch;
use crate::bytes::{Cursor, Decoded};
use crate::manifest::Manifest;
use crate::record::{Change, Record};
use crate::schema::{Schema, key_bytes};
use crate::values::{Column, Value};

/// A row of the log.
#[derive(Clone, Debug)]
pub(crate) struct LogRow {
    columns: Arc<Rows>,
    row: usize,
}

#[derive(Debug)]
struct Rows {
    ids: Vec<u32>,
    columns: Vec<Column>,
}

impl LogRow {
    /// The value of a column by its number, if the row has it.
    pub(crate) fn get(&self, id: u32) -> Option<Value<'_>> {
        let at = self.columns.ids.iter().position(|it| *it == id)?;
        Some(self.columns.columns.get(at)?.get(self.row))
    }
}

/// The log's changes of a partition.
#[derive(Debug, Default)]
pub(crate) struct PartitionLog {
    /// The final state of each key: a row, or none.
    pub(crate) keys: HashMap<Vec<u8>, Option<LogRow>>,
    /// There are changes whose keys cannot be compared.
    pub(crate) is_open: bool,
}

/// A table at some position of the log.
#[derive(Debug)]
pub(crate) struct TableLog {
    /// The log position and the version of the data file.
    lsn: u64,
    version: u64,
    /// The newest schema.
    pub(crate) schema: Schema,
    /// Partitions, those of the file included.
    pub(crate) partitions: BTreeMap<u32, PartitionLog>,
    keys: BTreeMap<u32, Vec<u8>>,
    next_partition: u32,
    /// A record could not be applied.
    pub(crate) is_broken: bool,
}

impl TableLog {
    pub(crate) fn new(schema: Schema, lsn: u64, manifest: Option<&Manifest>) -> Self {
        let mut this = Self {
            lsn,
            version: manifest.map_or(0, |it| it.version),
            schema,
            partitions: BTreeMap::new(),
            keys: BTreeMap::new(),
            next_partition: manifest.map_or(0, |it| it.next_partition),
            is_broken: false,
        };
        for partition in manifest.iter().flat_map(|it| &it.partitions) {
            this.partitions.insert(partition.id, PartitionLog::default());
            this.keys.insert(partition.id, partition.key.clone());
        }
        this
    }
}

/// The state of a database while its log is read.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) catalog_lsn: u64,
    pub(crate) version: u64,
    pub(crate) tables: BTreeMap<u64, TableLog>,
    /// Tables of the catalog whose files cannot be used.
    pub(crate) lost: BTreeSet<u64>,
    /// The names of tables.
    pub(crate) names: BTreeMap<u64, String>,
    /// Position and version of the last record.
    last: Option<u64>,
}

impl Replay {
    pub(crate) fn new(catalog_lsn: u64, version: u64) -> Self {
        let (tables, lost) = (BTreeMap::new(), BTreeSet::new());
        let names = BTreeMap::new();
        Self { catalog_lsn, version, tables, lost, names, last: None }
    }

    /// Notes the current name of a table.
    pub(crate) fn call(&mut self, table: u64, name: Option<String>) {
        match name {
            Some(name) => self.names.insert(table, name),
            None => self.names.remove(&table),
        };
    }

    /// Takes in a record that ends at `lsn`. `open` gives the log position and the manifest of a
    /// table's file, or `None` if it cannot be used.
    pub(crate) fn record<'m>(
        &mut self,
        lsn: u64,
        bytes: &[u8],
        open: &dyn Fn(u64) -> Option<(u64, Option<&'m Manifest>)>,
    ) -> Decoded<()> {
        let record = Record::parse(bytes)?;
        if self.last.is_some_and(|last| last >= record.version) {
            return Err(format!("its version {} is not above the one before", record.version));
        }
        self.last = Some(record.version);
        self.version = self.version.max(record.version);
        let mut first_error = Ok(());
        for change in record.changes {
            let done = self.change(lsn, record.version, change, open);
            first_error = first_error.and(done);
        }
        first_error
    }

    fn change<'m>(
        &mut self,
        lsn: u64,
        version: u64,
        change: Change<'_>,
        open: &dyn Fn(u64) -> Option<(u64, Option<&'m Manifest>)>,
    ) -> Decoded<()> {
        let in_catalog = lsn > self.catalog_lsn;
        match change {
            Change::CreateTable { table, schema, name } if in_catalog => {
                self.call(table, name);
                match open(table) {
                    Some((holds, manifest)) => {
                        let holds = holds.max(lsn);
                        self.tables.insert(table, TableLog::new(schema, holds, manifest));
                    }
                    None => {
                        self.lost.insert(table);
                    }
                }
                Ok(())
            }
            Change::AlterTable { table, schema, name } if in_catalog => {
                self.call(table, name);
                let Some(it) = self.tables.get_mut(&table) else { return Ok(()) };
                let checked = it.schema.check_same_table(&schema);
                it.is_broken |= checked.is_err();
                it.schema = schema;
                checked.map_err(|why| format!("table {table}: {why}"))
            }
            Change::DropTable { table } if in_catalog => {
                self.tables.remove(&table);
                self.lost.remove(&table);
                Ok(())
            }
            Change::Put { table, .. }
            | Change::Remove { table, .. }
            | Change::AddPartition { table, .. }
            | Change::DropPartition { table, .. } => match self.tables.get_mut(&table) {
                Some(it) if lsn > it.lsn => {
                    let done = it.change(version, change);
                    it.is_broken |= done.is_err();
                    done.map_err(|why| format!("table {table}: {why}"))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl TableLog {
    fn change(&mut self, version: u64, change: Change<'_>) -> Decoded<()> {
        if version <= self.version {
            return Err(format!(
                "version {version} comes after a checkpoint of version {}",
                self.version
            ));
        }
        match change {
            Change::AddPartition { partition, key, .. } => {
                if partition < self.next_partition || self.keys.values().any(|it| it == key) {
                    return Err(format!("partition {partition} is added twice"));
                }
                self.next_partition = partition.saturating_add(1);
                self.partitions.insert(partition, PartitionLog::default());
                self.keys.insert(partition, key.to_vec());
                Ok(())
            }
            Change::DropPartition { partition, .. } => {
                self.keys.remove(&partition);
                match self.partitions.remove(&partition) {
                    Some(_) => Ok(()),
                    None => Err(format!("partition {partition} is dropped, but is not there")),
                }
            }
            Change::Put { partition, columns, batch, .. } => self.put(partition, columns, batch),
            Change::Remove { partition, batch, .. } => self.remove(partition, batch),
            _ => Ok(()),
        }
    }

    fn put(&mut self, partition: u32, ids: Vec<u32>, bytes: &[u8]) -> Decoded<()> {
        let schema = &self.schema;
        let from = &mut Cursor::new(bytes);
        let columns = batch::parse_by_tags(from, ids.len())?;
        from.end()?;
        for (id, column) in ids.iter().zip(&columns) {
            let known = schema.columns.iter().find(|it| it.id == *id);
            if known.is_some_and(|known| !column.could_be(known.ty)) {
                return Err(format!("column {id} has another type than in the schema"));
            }
        }
        let at = |id: u32| ids.iter().position(|it| *it == id);
        let key: Option<Vec<usize>> = schema.key_columns().map(|column| at(column.id)).collect();
        let key = key.ok_or("rows without the columns of the key")?;
        let rows = columns.first().map_or(0, Column::rows);
        let keys = keys_of(&columns, &key, rows)?;
        let is_comparable = schema.is_key_comparable();
        let log = self.log_of(partition)?;
        if !is_comparable {
            log.is_open = true;
            return Ok(());
        }
        let columns = Arc::new(Rows { ids, columns });
        let distinct: BTreeSet<&Vec<u8>> = keys.iter().collect();
        if distinct.len() != keys.len() {
            return Err(format!("a key is twice in one batch of partition {partition}"));
        }
        for (row, key) in keys.into_iter().enumerate() {
            log.keys.insert(key, Some(LogRow { columns: Arc::clone(&columns), row }));
        }
        Ok(())
    }

    fn remove(&mut self, partition: u32, bytes: &[u8]) -> Decoded<()> {
        let from = &mut Cursor::new(bytes);
        let columns = batch::parse(from, &self.schema.key_types())?;
        from.end()?;
        let rows = columns.first().map_or(0, Column::rows);
        let all: Vec<usize> = (0..columns.len()).collect();
        let keys = keys_of(&columns, &all, rows)?;
        let is_comparable = self.schema.is_key_comparable();
        let log = self.log_of(partition)?;
        if !is_comparable {
            log.is_open = true;
            return Ok(());
        }
        log.keys.extend(keys.into_iter().map(|key| (key, None)));
        Ok(())
    }

    fn log_of(&mut self, partition: u32) -> Decoded<&mut PartitionLog> {
        self.partitions
            .get_mut(&partition)
            .ok_or_else(|| format!("rows of partition {partition}, which is not there"))
    }
}

fn keys_of(columns: &[Column], key: &[usize], rows: usize) -> Decoded<Vec<Vec<u8>>> {
    let value = |row: usize, at: &usize| columns.get(*at).map_or(Value::Null, |it| it.get(row));
    (0..rows)
        .map(|row| {
            key_bytes(key.iter().map(|at| value(row, at)))
                .ok_or_else(|| format!("row {row} of a batch has NULL in its key"))
        })
        .collect()
}
