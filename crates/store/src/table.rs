//! A table: its schema, its partitions, its data file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pelorus_blockfile::Usage;
use pelorus_env::Account;
use pelorus_env::sync::{AtomicU64, RwLock};
use pelorus_error::{Code, Error, Result};

use crate::catalog::schema::{PartitionId, TableId, TableSchema, Version};
use crate::catalog::schema_version::Layout;
use crate::format::data_file::DataFile;
use crate::key::SortKeyEncoder;
use crate::partition::Partition;
use crate::partition::delete_marks::Deletes;
use crate::partition::delta::Delta;
use crate::partition::part::{Body, Part};

/// The parts of a table's partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartsUsage {
    /// Chunks.
    pub chunks: u64,
    /// Rows in chunks, dead ones included.
    pub chunk_rows: u64,
    /// Of these, rows that the newest version does not see.
    pub chunk_rows_dead: u64,
    /// Rows in memory, dead ones included.
    pub delta_rows: u64,
    /// Of these, rows that the newest version does not see.
    pub delta_rows_dead: u64,
}

/// A native table.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    layout: RwLock<Arc<Layout>>,
    definition: RwLock<Arc<[u8]>>,
    partitions: RwLock<Partitions>,
    pub(crate) file: Arc<DataFile>,
    pub(crate) weigher: Arc<dyn SortKeyEncoder>,
    /// Mixed into the hashes of keys, so that an attacker cannot choose keys that collide.
    seed: u64,
    /// Versions below this one can no longer be read.
    floor: AtomicU64,
    /// Bytes of rows in memory, of all tables of the database together.
    pub(crate) delta_bytes: Account,
    /// The share of dead rows in the partition that has most, in thousandths, as maintenance has
    /// last seen it.
    pub(crate) garbage: AtomicU64,
    /// The log position that the data file holds everything up to.
    pub(crate) checkpoint: AtomicU64,
    /// The log position of the newest change.
    pub(crate) changed: AtomicU64,
    /// The log position of its creation.
    created: AtomicU64,
    /// The number that the next column gets.
    next_column: AtomicU32,
    /// The version of the last drop of a partition in this process.
    last_drop: AtomicU64,
}

#[derive(Debug, Default)]
struct Partitions {
    by_key: HashMap<Vec<u8>, Arc<Partition>>,
    list: Arc<Vec<Arc<Partition>>>,
    next: u32,
    /// Partitions that versions before the given ones still see, the oldest drop first.
    dropped: Vec<(Version, Arc<Partition>)>,
}

impl Table {
    pub(crate) fn new(
        id: TableId,
        (schema, definition): (TableSchema, &[u8]),
        file: Arc<DataFile>,
        weigher: Arc<dyn SortKeyEncoder>,
        seed: u64,
        delta_bytes: Account,
    ) -> Self {
        let next_column = AtomicU32::new(schema.next_column_id());
        file.call(definition);
        Self {
            id,
            layout: RwLock::new(Arc::new(Layout::new(schema, &weigher, 1))),
            definition: RwLock::new(definition.into()),
            partitions: RwLock::default(),
            file,
            weigher,
            seed,
            floor: AtomicU64::new(0),
            delta_bytes,
            garbage: AtomicU64::new(0),
            checkpoint: AtomicU64::new(0),
            changed: AtomicU64::new(0),
            created: AtomicU64::new(0),
            next_column,
            last_drop: AtomicU64::new(0),
        }
    }

    /// The table's number.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Which of its schemas it has: a number that rises with every change of schema or definition,
    /// as long as the database is open. A definition that does not change the rows leaves it
    /// unchanged ([`crate::Database::alter_table_with`]): changes for the previous definition
    /// remain valid.
    pub fn generation(&self) -> u64 {
        self.layout().generation
    }

    /// The schema: the columns as the store sees them.
    pub fn schema(&self) -> TableSchema {
        self.layout().schema.clone()
    }

    /// The parts of its partitions at this moment.
    pub fn parts_usage(&self) -> PartsUsage {
        let mut usage = PartsUsage::default();
        for partition in self.partitions().iter() {
            for part in partition.parts().iter() {
                let rows = u64::from(part.rows());
                let dead = part.deletes.count() as u64;
                if part.chunk().is_some() {
                    usage.chunks += 1;
                    usage.chunk_rows += rows;
                    usage.chunk_rows_dead += dead;
                } else {
                    usage.delta_rows += rows;
                    usage.delta_rows_dead += dead;
                }
            }
        }
        usage
    }

    /// How the bytes of its file are used.
    pub fn file_usage(&self) -> Usage {
        self.file.blocks.usage()
    }

    /// The definition as the engine gave it when it created or changed the table.
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

    /// The number for the next column: no column that the table ever had has it.
    pub fn next_column_id(&self) -> u32 {
        self.next_column.load(Ordering::Acquire)
    }

    pub(crate) fn set_next_column(&self, next: u32) {
        self.next_column.fetch_max(next, Ordering::AcqRel);
    }

    /// Notes the log position of the table's creation: before it there is nothing to be known.
    pub(crate) fn born(&self, lsn: u64) {
        self.created.store(lsn, Ordering::Release);
        self.checkpoint.fetch_max(lsn, Ordering::AcqRel);
        self.changed.fetch_max(lsn, Ordering::AcqRel);
    }

    /// The log position that the data file holds everything up to, when it is opened by the older
    /// of its two headers.
    pub(crate) fn older_checkpoint(&self) -> u64 {
        self.file.blocks.header().previous_lsn.max(self.created.load(Ordering::Acquire))
    }

    /// Changes the schema of the table; later rows are written under it.
    pub(crate) fn alter(&self, schema: TableSchema, definition: &[u8]) {
        for partition in self.partitions().iter() {
            partition.seal();
        }
        self.set_next_column(schema.next_column_id());
        let mut layout = self.layout.write();
        let generation = layout.generation + 1;
        *layout = Arc::new(Layout::new(schema, &self.weigher, generation));
        *self.definition.write() = definition.into();
        self.file.call(definition);
    }

    /// Replaces the definition of the table by one that does not change its rows.
    pub(crate) fn define(&self, definition: &[u8]) {
        *self.definition.write() = definition.into();
        self.file.call(definition);
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
        partitions.next = partitions.next.max(partition.id.0.saturating_add(1));
        partitions.by_key.insert(partition.key.clone(), Arc::clone(&partition));
        Arc::make_mut(&mut partitions.list).push(partition);
        Ok(())
    }

    /// Removes the existing ones of some partitions; versions before the given one still see them.
    pub(crate) fn drop_partitions(&self, ids: &[PartitionId], version: Version) {
        let ids: HashSet<PartitionId> = ids.iter().copied().collect();
        let partitions = &mut *self.partitions.write();
        let all = partitions.list.iter().cloned();
        let (gone, kept): (Vec<_>, Vec<_>) = all.partition(|it| ids.contains(&it.id));
        if gone.is_empty() {
            return;
        }
        partitions.list = Arc::new(kept);
        for partition in gone {
            partitions.by_key.remove(&partition.key);
            self.release(&partition);
            partitions.dropped.push((version, partition));
        }
        self.last_drop.fetch_max(version, Ordering::AcqRel);
    }

    /// No longer counts rows in memory of a partition that takes no more: they go with their readers.
    fn release(&self, partition: &Partition) {
        let parts = partition.parts();
        let bytes: usize = parts.iter().filter_map(|part| part.delta()).map(Delta::release).sum();
        self.delta_bytes.shrink(bytes);
    }

    /// Ends the table's use of its file and of the memory for new rows, when it is no longer one of
    /// the database's. There are no more writers.
    pub(crate) fn retire(&self) {
        self.file.close();
        self.partitions().iter().for_each(|partition| self.release(partition));
    }

    /// The version of the last drop of a partition; readers of older versions commit nothing.
    pub(crate) fn last_drop(&self) -> Version {
        self.last_drop.load(Ordering::Acquire)
    }

    /// The partitions that a version sees.
    pub(crate) fn partitions_at(&self, version: Version) -> Vec<Arc<Partition>> {
        let partitions = self.partitions.read();
        let mut seen: Vec<Arc<Partition>> = Vec::new();
        let mut keys: HashSet<&[u8]> = HashSet::new();
        // What was dropped first is oldest; a later partition of its key has no rows that old.
        for (_, partition) in partitions.dropped.iter().filter(|(until, _)| *until > version) {
            if keys.insert(&partition.key) {
                seen.push(Arc::clone(partition));
            }
        }
        for partition in partitions.list.iter() {
            if !keys.contains(partition.key.as_slice()) {
                seen.push(Arc::clone(partition));
            }
        }
        seen
    }

    /// Whether there are partitions that only older versions see.
    pub(crate) fn has_dropped(&self) -> bool {
        !self.partitions.read().dropped.is_empty()
    }

    /// Releases the partitions that no version from `oldest` on sees, and the history with them.
    pub(crate) fn forget_dropped(&self, oldest: Version) -> Vec<Arc<Partition>> {
        let partitions = &mut *self.partitions.write();
        let count = partitions.dropped.partition_point(|(until, _)| *until <= oldest);
        if let Some((until, _)) = count.checked_sub(1).and_then(|at| partitions.dropped.get(at)) {
            self.raise_floor(*until);
        }
        // The caller drops them, without the lock.
        partitions.dropped.drain(..count).map(|(_, partition)| partition).collect()
    }

    /// The newest drop of a partition that older versions still see; 0 if there is none.
    pub(crate) fn newest_drop(&self) -> Version {
        self.partitions.read().dropped.last().map_or(0, |(until, _)| *until)
    }

    /// A new delta.
    pub(crate) fn begin_delta(layout: Arc<Layout>, slot: u16) -> Part {
        Part { slot, layout, deletes: Deletes::default(), body: Body::Delta(Delta::default()) }
    }
}

/// How long the longest history of some tables is (microseconds).
pub(crate) fn longest_history<'a>(tables: impl Iterator<Item = &'a Arc<Table>>) -> u64 {
    tables.map(|table| table.layout().schema.history.micros).max().unwrap_or(0)
}

/// Error 1062 for the row of a batch. The engine puts the values into the text; here it has the
/// row's number instead.
pub(crate) fn duplicate_key(row: usize) -> Error {
    Error::new(Code::DuplicateKey, format!("Duplicate entry in row {row} for key 'PRIMARY'"))
}
