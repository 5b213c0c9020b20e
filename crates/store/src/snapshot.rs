//! [`Snapshot`]: reads one version of the database.
//!
//! A snapshot pins a version, so that compaction removes nothing that it can see. The parts of a
//! partition are taken when the partition is first read and then reused, so that every read of a
//! snapshot sees the same parts.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pelorus_env::sync::Mutex;
use pelorus_error::{Code, Error, Result};

use crate::catalog::schema::{TableId, TableSchema, Version};
use crate::catalog::schema_version::Layout;
pub(crate) use crate::commit::pinned_versions::Pin;
use crate::database::Database;
use crate::partition::Partition;
use crate::partition::part::{Body, Part};
use crate::table::Table;

/// A pinned version of a database.
#[derive(Debug)]
pub struct Snapshot {
    database: Arc<Database>,
    pin: Arc<Pin>,
    tables: Mutex<BTreeMap<TableId, Arc<TableSnapshot>>>,
}

impl Snapshot {
    pub(crate) fn new(database: Arc<Database>, pin: Arc<Pin>) -> Self {
        Self { database, pin, tables: Mutex::default() }
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.pin.version()
    }

    /// A table at this version, under its newest schema.
    ///
    /// # Errors
    /// No such table, one whose file is damaged, or a version that lies before the table's history
    /// (9006).
    pub fn table(&self, id: TableId) -> Result<Arc<TableSnapshot>> {
        let mut tables = self.tables.lock();
        if let Some(known) = tables.get(&id) {
            return Ok(Arc::clone(known));
        }
        let table = self.database.require(id)?;
        let version = self.version();
        let layout = table.layout();
        // The partitions come first: a thread that removes them raises the floor before that.
        let partitions = table.partitions_at(version);
        let floor = table.floor();
        if version < floor {
            return Err(Error::new(
                Code::HistoryTooOld,
                format!(
                    "version {version} is too old: this table can be read from version {floor} on"
                ),
            ));
        }
        let partitions = partitions
            .into_iter()
            .map(|partition| PartitionSnapshot { partition, parts: OnceLock::new() })
            .collect();
        let pin = Arc::clone(&self.pin);
        let found = Arc::new(TableSnapshot { table, layout, version, pin, partitions });
        tables.insert(id, Arc::clone(&found));
        Ok(found)
    }
}

/// A table at one version, which stays readable while this exists.
#[derive(Debug)]
pub struct TableSnapshot {
    pub(crate) table: Arc<Table>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) version: Version,
    pub(crate) pin: Arc<Pin>,
    pub(crate) partitions: Vec<PartitionSnapshot>,
}

/// A partition at one version.
#[derive(Debug)]
pub struct PartitionSnapshot {
    pub(crate) partition: Arc<Partition>,
    parts: OnceLock<Arc<Vec<Arc<Part>>>>,
}

impl TableSnapshot {
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Which of the table's generations the schema is of ([`crate::Table::generation`]).
    pub fn generation(&self) -> u64 {
        self.layout.generation
    }

    /// The schema that rows are read under.
    pub fn schema(&self) -> &TableSchema {
        &self.layout.schema
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The partitions.
    pub fn partitions(&self) -> &[PartitionSnapshot] {
        &self.partitions
    }

    /// How many rows the table has at this version, nearly always without reading any. A chunk
    /// that cannot be read counts with all of its rows; [`Self::count_rows`] fails then.
    pub fn rows(&self) -> u64 {
        let parts = self.partitions.iter().flat_map(|it| it.parts().iter());
        parts.map(|part| self.live(part).unwrap_or(u64::from(part.rows()))).sum()
    }

    /// How many rows the table has at this version, exactly.
    ///
    /// # Errors
    /// Errors of reading the versions of chunks, where some rows are younger than this version.
    pub fn count_rows(&self) -> Result<u64> {
        let parts = self.partitions.iter().flat_map(|it| it.parts().iter());
        parts.map(|part| self.live(part)).sum()
    }

    /// How many rows of a part this version sees, by the stored counts.
    pub(crate) fn live(&self, part: &Part) -> Result<u64> {
        let seen = match &part.body {
            Body::Delta(delta) => delta.rows_at(self.version) as usize,
            // Rows of newer versions exist only while a snapshot reads older ones.
            Body::Chunk(chunk) if chunk.at.versions.1 > self.version => {
                chunk.versions()?.iter().filter(|it| **it <= self.version).count()
            }
            Body::Chunk(chunk) => chunk.rows() as usize,
        };
        Ok(seen.saturating_sub(part.deletes.count_at(self.version)) as u64)
    }
}

impl PartitionSnapshot {
    /// The partition's key.
    pub fn key(&self) -> &[u8] {
        &self.partition.key
    }

    pub(crate) fn parts(&self) -> &Arc<Vec<Arc<Part>>> {
        // Nothing waits inside of `get_or_init`.
        match self.parts.get() {
            Some(parts) => parts,
            None => {
                let parts = self.partition.parts();
                self.parts.get_or_init(|| parts)
            }
        }
    }
}
