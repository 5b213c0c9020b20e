//! A table: its schema, its partitions, its data file.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arrow::array::ArrayRef;
use parking_lot::RwLock;
use pelorus_error::{Code, Error, Result};

use crate::datafile::DataFile;
use crate::deletes::Deletes;
use crate::delta::Delta;
use crate::key::Weigher;
use crate::layout::Layout;
use crate::part::{Body, Part};
use crate::partition::Partition;
use crate::schema::{PartitionId, TableId, TableSchema, Version};

/// A native table.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    layout: RwLock<Arc<Layout>>,
    definition: RwLock<Arc<[u8]>>,
    partitions: RwLock<Partitions>,
    pub(crate) file: Arc<DataFile>,
    pub(crate) weigher: Arc<dyn Weigher>,
    /// Mixed into the hashes of keys, so that nobody can choose keys that collide.
    seed: u64,
    /// Versions below this one can no longer be read.
    floor: AtomicU64,
    /// Bytes of rows in memory.
    pub(crate) delta_bytes: AtomicUsize,
    /// The log position that the data file holds everything up to.
    pub(crate) checkpoint: AtomicU64,
    /// The log position of the newest change.
    pub(crate) changed: AtomicU64,
}

#[derive(Debug, Default)]
struct Partitions {
    by_key: HashMap<Vec<u8>, Arc<Partition>>,
    list: Arc<Vec<Arc<Partition>>>,
    next: u32,
}

impl Table {
    pub(crate) fn new(
        id: TableId,
        (schema, definition): (TableSchema, &[u8]),
        file: Arc<DataFile>,
        weigher: Arc<dyn Weigher>,
        seed: u64,
    ) -> Self {
        Self {
            id,
            layout: RwLock::new(Arc::new(Layout::new(schema, &weigher))),
            definition: RwLock::new(definition.into()),
            partitions: RwLock::default(),
            file,
            weigher,
            seed,
            floor: AtomicU64::new(0),
            delta_bytes: AtomicUsize::new(0),
            checkpoint: AtomicU64::new(0),
            changed: AtomicU64::new(0),
        }
    }

    /// The table's number.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// What the store knows of its columns.
    pub fn schema(&self) -> TableSchema {
        self.layout().schema.clone()
    }

    /// What the engine said when it made or changed the table.
    pub fn definition(&self) -> Arc<[u8]> {
        Arc::clone(&self.definition.read())
    }

    pub(crate) fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.layout.read())
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The lowest version that can be read.
    pub fn floor(&self) -> Version {
        self.floor.load(Ordering::Acquire)
    }

    /// Ends the history below a version.
    pub(crate) fn raise_floor(&self, version: Version) {
        self.floor.fetch_max(version, Ordering::AcqRel);
    }

    /// Gives the table a new schema; rows from now on are written under it.
    pub(crate) fn alter(&self, schema: TableSchema, definition: &[u8]) {
        for partition in self.partitions().iter() {
            partition.seal();
        }
        *self.layout.write() = Arc::new(Layout::new(schema, &self.weigher));
        *self.definition.write() = definition.into();
    }

    /// Error 1062 for a row. The engine puts the values into the text; here the row's number
    /// stands for them.
    pub(crate) fn duplicate(&self, _: &[ArrayRef], row: usize) -> Error {
        duplicate_key(row)
    }

    /// All partitions, in the order of their numbers.
    pub(crate) fn partitions(&self) -> Arc<Vec<Arc<Partition>>> {
        Arc::clone(&self.partitions.read().list)
    }

    /// A partition by its key.
    pub(crate) fn partition(&self, key: &[u8]) -> Option<Arc<Partition>> {
        self.partitions.read().by_key.get(key).cloned()
    }

    /// A partition by its number.
    pub(crate) fn partition_by_id(&self, id: PartitionId) -> Option<Arc<Partition>> {
        let list = self.partitions();
        let at = list.binary_search_by_key(&id, |partition| partition.id).ok()?;
        Some(Arc::clone(&list[at]))
    }

    /// The number that the next partition gets.
    pub(crate) fn next_partition(&self) -> u32 {
        self.partitions.read().next
    }

    pub(crate) fn set_next_partition(&self, next: u32) {
        let mut partitions = self.partitions.write();
        partitions.next = partitions.next.max(next);
    }

    /// Enters a partition.
    pub(crate) fn add_partition(&self, partition: Arc<Partition>) -> Result<()> {
        let partitions = &mut *self.partitions.write();
        let is_next = partitions.list.last().is_none_or(|last| last.id < partition.id);
        if !is_next || partitions.by_key.contains_key(&partition.key) {
            let (id, table) = (partition.id.0, self.id.0);
            return Err(Error::internal(format!("partition {id} of table {table} is there twice")));
        }
        partitions.next = partitions.next.max(partition.id.0 + 1);
        partitions.by_key.insert(partition.key.clone(), Arc::clone(&partition));
        Arc::make_mut(&mut partitions.list).push(partition);
        Ok(())
    }

    /// Takes a partition out. Readers that hold it go on.
    pub(crate) fn drop_partition(&self, id: PartitionId) -> Option<Arc<Partition>> {
        let partitions = &mut *self.partitions.write();
        let at = partitions.list.binary_search_by_key(&id, |partition| partition.id).ok()?;
        let partition = Arc::make_mut(&mut partitions.list).remove(at);
        partitions.by_key.remove(&partition.key);
        let parts = partition.parts();
        let bytes: usize = parts.iter().filter_map(|part| part.delta()).map(Delta::memory).sum();
        self.delta_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(partition)
    }

    /// A new delta.
    pub(crate) fn begin_delta(layout: Arc<Layout>, slot: u16) -> Part {
        Part { slot, layout, deletes: Deletes::default(), body: Body::Delta(Delta::default()) }
    }
}

/// Error 1062 for the row of a batch; `row` is in the text for the engine to read.
fn duplicate_key(row: usize) -> Error {
    Error::new(Code::DuplicateKey, format!("Duplicate entry in row {row} for key 'PRIMARY'"))
}
