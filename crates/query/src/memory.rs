//! What a query may hold in memory, and where it spills to.
//!
//! Memory is counted for each query by itself. Those who can spill have equal shares and get a first
//! piece of any size: it is in memory already, and to refuse it would end a query that can go on by
//! writing. The merges of sorts have shares of their own, so that none takes what another needs to
//! come to its end. Everything else takes what is left, which is half at least.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use parking_lot::Mutex;
use pelorus_error::Result;

use crate::udf::from_datafusion;

/// Each query has so many bytes: with less, data would be cut into more files than can be open.
const LEAST: usize = 16 << 20;

/// Where queries spill to.
#[derive(Clone, Debug)]
pub struct Scratch(RuntimeEnv);

impl Scratch {
    /// How the names of folders begin in which files are; DataFusion gives them.
    pub const PREFIX: &'static str = "datafusion-";

    /// Files go to a new folder inside of one; without one, to a folder of the system. They go when
    /// their query ends, and the folder when nobody uses it.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(folder: Option<&Path>) -> Result<Self> {
        let mode = match folder {
            Some(folder) => DiskManagerMode::Directories(vec![folder.to_owned()]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        // The disk says when it is full.
        let disk = DiskManagerBuilder::default()
            .with_mode(mode)
            .with_max_temp_directory_size(u64::MAX)
            // Merges of many files go in several passes, each with a bounded number of them open.
            .with_max_spill_merge_fan_in(64);
        let runtime = RuntimeEnvBuilder::new().with_disk_manager_builder(disk).build();
        Ok(Self(runtime.map_err(from_datafusion)?))
    }

    /// What one query runs in that may hold so many bytes.
    pub(crate) fn runtime(&self, bytes: usize) -> Arc<RuntimeEnv> {
        let memory_pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(bytes));
        Arc::new(RuntimeEnv { memory_pool, ..self.0.clone() })
    }
}

/// The bytes of a query, [`LEAST`] or more.
pub(crate) fn bytes_of_query(bytes: usize) -> usize {
    bytes.max(LEAST)
}

/// The memory of one query.
#[derive(Debug)]
struct QueryMemory {
    bytes: usize,
    held: Mutex<Held>,
}

/// What is held by whom.
#[derive(Debug, Default)]
struct Held {
    /// How many can spill.
    spillers: usize,
    /// Bytes of those.
    spillable: usize,
    /// How many sorts may merge.
    merges: usize,
    /// Bytes of their merges.
    merging: usize,
    /// Bytes of all others.
    fixed: usize,
}

/// What somebody who holds memory can do without more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Write what is held to a file.
    Spills,
    /// Merge fewer files at a time.
    Merges,
    /// Nothing.
    Fixed,
}

impl Kind {
    fn of(consumer: &MemoryConsumer) -> Self {
        if consumer.can_spill() {
            Kind::Spills
        } else if consumer.name().starts_with("ExternalSorterMerge") {
            Kind::Merges
        } else {
            Kind::Fixed
        }
    }
}

impl Held {
    fn bytes(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Spills => &mut self.spillable,
            Kind::Merges => &mut self.merging,
            Kind::Fixed => &mut self.fixed,
        }
    }

    fn count(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::Spills => Some(&mut self.spillers),
            Kind::Merges => Some(&mut self.merges),
            Kind::Fixed => None,
        }
    }
}

impl QueryMemory {
    fn new(bytes: usize) -> Self {
        Self { bytes: bytes_of_query(bytes), held: Mutex::default() }
    }

    /// Whether one that holds so many bytes may have more.
    fn allows(&self, held: &Held, kind: Kind, size: usize, additional: usize) -> bool {
        let half = self.bytes / 2;
        let wanted = size.saturating_add(additional);
        match kind {
            Kind::Spills => {
                let shared = self.bytes - held.fixed.saturating_add(held.merging).min(half);
                size == 0 || wanted <= shared / held.spillers.max(1)
            }
            Kind::Merges => {
                let shared = self.bytes - held.fixed.min(half);
                size == 0 || wanted <= shared / 4 * 3 / held.merges.max(1)
            }
            Kind::Fixed => {
                let left = self.bytes - held.spillable.saturating_add(held.merging).min(half);
                // A little goes on in any case, a merge of a few sorted streams for instance.
                wanted <= self.bytes / 32 || held.fixed.saturating_add(additional) <= left
            }
        }
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of a query", self.bytes)
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &'static str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if let Some(count) = self.held.lock().count(Kind::of(consumer)) {
            *count += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if let Some(count) = self.held.lock().count(Kind::of(consumer)) {
            *count = count.saturating_sub(1);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let mut held = self.held.lock();
        let bytes = held.bytes(Kind::of(reservation.consumer()));
        *bytes = bytes.saturating_add(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut held = self.held.lock();
        let bytes = held.bytes(Kind::of(reservation.consumer()));
        *bytes = bytes.saturating_sub(shrink);
    }

    fn try_grow(
        &self,
        reservation: &MemoryReservation,
        additional: usize,
    ) -> std::result::Result<(), DataFusionError> {
        let kind = Kind::of(reservation.consumer());
        let mut held = self.held.lock();
        if !self.allows(&held, kind, reservation.size(), additional) {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} has {} bytes and wants {additional} more of {self}; {held:?}",
                reservation.consumer().name(),
                reservation.size(),
            )));
        }
        *held.bytes(kind) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let held = self.held.lock();
        held.spillable + held.merging + held.fixed
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn pool(bytes: usize) -> Arc<dyn MemoryPool> {
        Arc::new(QueryMemory::new(bytes))
    }

    fn sorter(pool: &Arc<dyn MemoryPool>) -> MemoryReservation {
        MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(pool)
    }

    #[test]
    fn those_who_spill_have_equal_shares_and_a_first_piece_of_any_size() {
        let pool = pool(64 * MIB);
        let (one, other) = (sorter(&pool), sorter(&pool));
        one.try_grow(32 * MIB).unwrap();
        one.try_grow(1).unwrap_err();
        other.try_grow(100 * MIB).unwrap();
        other.try_grow(1).unwrap_err();
        drop((one, other));
        assert_eq!(pool.reserved(), 0);
        sorter(&pool).try_grow(64 * MIB).unwrap();
    }

    #[test]
    fn a_merge_takes_nothing_of_what_another_needs() {
        let pool = pool(64 * MIB);
        let merge = || MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
        let (one, other) = (merge(), merge());
        one.try_grow(MIB).unwrap();
        one.try_grow(23 * MIB).unwrap();
        one.try_grow(1).unwrap_err();
        other.try_grow(MIB).unwrap();
        other.try_grow(23 * MIB).unwrap();
    }

    #[test]
    fn what_cannot_spill_has_half_in_any_case() {
        let pool = pool(64 * MIB);
        let sorter = sorter(&pool);
        sorter.try_grow(64 * MIB).unwrap();
        let table = MemoryConsumer::new("HashJoinInput").register(&pool);
        table.try_grow(32 * MIB).unwrap();
        table.try_grow(1).unwrap_err();
        sorter.free();
        table.try_grow(32 * MIB).unwrap();
        assert_eq!(pool.reserved(), 64 * MIB);
    }
}
