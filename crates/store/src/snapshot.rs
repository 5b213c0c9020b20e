//! Reading one version.
//!
//! A snapshot pins a version, so that nothing that it can see is merged away. The parts of a
//! partition are taken when the partition is first read and kept, so that every read of a snapshot
//! sees the same parts.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use pelorus_error::{Code, Error, Result};

use crate::database::Database;
use crate::layout::Layout;
use crate::part::Part;
use crate::partition::Partition;
use crate::schema::{TableId, TableSchema, Version};
use crate::table::Table;

/// The versions that somebody reads, each with how many do.
#[derive(Debug, Default)]
pub(crate) struct Pins(Mutex<BTreeMap<Version, usize>>);

impl Pins {
    pub(crate) fn pin(&self, version: Version) {
        *self.0.lock().entry(version).or_insert(0) += 1;
    }

    /// Pins what is newest, so that nobody can raise the horizon in between.
    pub(crate) fn pin_newest(&self, published: &AtomicU64) -> Version {
        let mut pins = self.0.lock();
        let version = published.load(Ordering::Acquire);
        *pins.entry(version).or_insert(0) += 1;
        version
    }

    pub(crate) fn unpin(&self, version: Version) {
        let mut pins = self.0.lock();
        if let Some(count) = pins.get_mut(&version) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&version);
            }
        }
    }

    /// The wanted version, or the lowest that somebody reads, if that is lower. `raise` runs while
    /// nobody can pin, so that who pins later finds the floor where it is.
    pub(crate) fn horizon(
        &self,
        published: &AtomicU64,
        wanted: Version,
        raise: impl FnOnce(Version),
    ) -> Version {
        let pins = self.0.lock();
        let newest = published.load(Ordering::Acquire);
        let oldest = pins.first_key_value().map_or(newest, |(version, _)| *version);
        let horizon = wanted.min(oldest);
        raise(horizon);
        horizon
    }
}

/// A pinned version of a database.
#[derive(Debug)]
pub struct Snapshot {
    database: Arc<Database>,
    version: Version,
    tables: Mutex<HashMap<TableId, Arc<TableSnapshot>>>,
}

impl Snapshot {
    pub(crate) fn new(database: Arc<Database>, version: Version) -> Self {
        Self { database, version, tables: Mutex::default() }
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// A table at this version, under its newest schema.
    ///
    /// # Errors
    /// No such table, or a version that lies before the table's history (9006).
    pub fn table(&self, id: TableId) -> Result<Arc<TableSnapshot>> {
        let mut tables = self.tables.lock();
        if let Some(known) = tables.get(&id) {
            return Ok(Arc::clone(known));
        }
        let table = self
            .database
            .table(id)
            .ok_or_else(|| Error::new(Code::TableChanged, format!("table {} is gone", id.0)))?;
        let floor = table.floor();
        if self.version < floor {
            let version = self.version;
            return Err(Error::new(
                Code::HistoryTooOld,
                format!(
                    "version {version} is too old: this table can be read from version {floor} on"
                ),
            ));
        }
        let layout = table.layout();
        let partitions = table
            .partitions()
            .iter()
            .map(|partition| PartitionSnapshot {
                partition: Arc::clone(partition),
                parts: OnceLock::new(),
            })
            .collect();
        let found = Arc::new(TableSnapshot { table, layout, version: self.version, partitions });
        tables.insert(id, Arc::clone(&found));
        Ok(found)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.database.pins.unpin(self.version);
    }
}

/// A table at one version. It must not outlive its [`Snapshot`].
#[derive(Debug)]
pub struct TableSnapshot {
    pub(crate) table: Arc<Table>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) version: Version,
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

    /// How many rows the table has at this version; exact, and without reading any.
    pub fn rows(&self) -> u64 {
        let live = |part: &Arc<Part>| match part.delta() {
            Some(delta) => {
                let rows = delta.rows_at(self.version);
                u64::from(rows).saturating_sub(part.deletes.count_at(self.version) as u64)
            }
            None => match part.chunk() {
                // Rows of younger versions are only there while somebody reads older ones.
                Some(chunk) if chunk.at.versions.1 > self.version => {
                    let versions = chunk.versions().unwrap_or_default();
                    let seen = versions.iter().filter(|it| **it <= self.version).count();
                    (seen as u64).saturating_sub(part.deletes.count_at(self.version) as u64)
                }
                _ => u64::from(part.rows())
                    .saturating_sub(part.deletes.count_at(self.version) as u64),
            },
        };
        self.partitions.iter().flat_map(|it| it.parts().iter()).map(live).sum()
    }
}

impl PartitionSnapshot {
    /// The partition's key.
    pub fn key(&self) -> &[u8] {
        &self.partition.key
    }

    pub(crate) fn parts(&self) -> &Arc<Vec<Arc<Part>>> {
        self.parts.get_or_init(|| self.partition.parts())
    }
}
