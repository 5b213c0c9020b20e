//! Memory limits and spilling of a query.
//!
//! The bytes of a query's operators are a part of the server's memory ([`pelorus_env::Account`]),
//! with a limit of their own. Operators that can spill have equal shares. Their first allocation
//! may be of any size that the server has: the data is in memory already, and refusing it would
//! fail a query that can go on by spilling. The merges of sorts have separate shares, so that no
//! merge takes memory that another needs to finish. All other operators share the rest, which is at
//! least half.
//!
//! The spill files have a common limit and leave free space on the file system, which commits of
//! native tables need.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::{fmt, io};

use bytes::Bytes;
use datafusion::common::DataFusionError;
use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::stream::BoxStream;
use parking_lot::Mutex;
use pelorus_env::{Account, space_of};
use pelorus_error::Result;

use crate::datafusion_adapter::udf::{DfResult, from_datafusion};

/// Each query has so many bytes: with less, data would be cut into more files than can be open.
pub const LEAST: usize = 16 << 20;

/// Where queries spill to.
#[derive(Clone, Debug)]
pub struct Scratch {
    runtime: RuntimeEnv,
    spills: Arc<Spills>,
}

impl Scratch {
    /// How the names of folders begin in which files are; DataFusion gives them.
    pub const PREFIX: &'static str = "datafusion-";

    /// Files go to a new folder inside of the given one, or of the system's. Files are removed when
    /// their query ends, and the folder when its last user is gone.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(folder: Option<&Path>) -> Result<Self> {
        let (mode, folder) = match folder {
            Some(folder) => (DiskManagerMode::Directories(vec![folder.to_owned()]), folder.into()),
            None => (DiskManagerMode::OsTmpDirectory, std::env::temp_dir()),
        };
        let files = DiskManagerBuilder::default()
            .with_mode(mode)
            .with_max_temp_directory_size(u64::MAX)
            .build()
            .map_err(from_datafusion)?;
        let (reserve, open) = (AtomicU64::new(0), AtomicUsize::new(0));
        let spills = Arc::new(Spills { files: Arc::new(files), folder, reserve, open });
        let factory = Arc::new(Factory(Arc::clone(&spills)));
        let disk = DiskManagerBuilder::default()
            .with_temp_file_factory(factory)
            // Merges of many files go in several passes, each with a bounded number of them open.
            .with_max_spill_merge_fan_in(64);
        let runtime = RuntimeEnvBuilder::new().with_disk_manager_builder(disk).build();
        Ok(Self { runtime: runtime.map_err(from_datafusion)?, spills })
    }

    /// Sets how many bytes all files together may have, and how many they leave of the file system.
    ///
    /// # Errors
    /// None: there are always files.
    pub fn limit(&self, bytes: u64, reserve: u64) -> Result<()> {
        // Ordering: it publishes nothing else.
        self.spills.reserve.store(reserve, Ordering::Relaxed);
        self.spills.files.set_max_temp_directory_size(bytes).map_err(from_datafusion)
    }

    /// How many bytes the files have now.
    pub fn spilled(&self) -> u64 {
        self.spills.files.used_disk_space()
    }

    /// The runtime of one query, whose operators may hold so many bytes of an account.
    pub(crate) fn runtime(&self, bytes: usize, account: &Account) -> Arc<RuntimeEnv> {
        let memory_pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(bytes, account));
        Arc::new(RuntimeEnv { memory_pool, ..self.runtime.clone() })
    }
}

/// The files of all queries.
struct Spills {
    files: Arc<DiskManager>,
    /// A folder of the file system that they are on.
    folder: PathBuf,
    /// Bytes that they leave free.
    reserve: AtomicU64,
    /// How many there are.
    open: AtomicUsize,
}

impl fmt::Debug for Spills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "files in {}", self.folder.display())
    }
}

/// Makes files of which each looks for space before it grows.
struct Factory(Arc<Spills>);

impl TempFileFactory for Factory {
    fn create_temp_file(&self, description: &str) -> DfResult<Arc<dyn SpillFile>> {
        let counted = Counted::new(&self.0);
        // Ordering: it publishes nothing else.
        if self.0.open.load(Ordering::Relaxed) > MOST_FILES {
            let text = format!("queries have {MOST_FILES} files open that they spill to");
            return Err(DataFusionError::ResourcesExhausted(text));
        }
        let file = self.0.files.create_tmp_file(description)?;
        Ok(Arc::new(Spill { file, counted }))
    }
}

/// How many files all queries may have: batches that wait between operators have one each
/// (`max_spill_file_size_bytes`). The files that a process may have open are needed by tables and
/// clients as well.
const MOST_FILES: usize = 4096;

/// A file that counts as long as it is there.
struct Counted(Arc<Spills>);

impl Counted {
    fn new(spills: &Arc<Spills>) -> Self {
        // Ordering: it publishes nothing else.
        spills.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(spills))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Ordering: as above.
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Spill {
    file: Arc<dyn SpillFile>,
    counted: Counted,
}

impl SpillFile for Spill {
    fn path(&self) -> Option<&Path> {
        self.file.path()
    }

    fn size(&self) -> Option<u64> {
        self.file.size()
    }

    fn read_stream(&self) -> DfResult<BoxStream<'static, DfResult<Bytes>>> {
        self.file.read_stream()
    }

    fn open_writer(&self) -> DfResult<Box<dyn SpillWriter>> {
        let (writer, spills) = (self.file.open_writer()?, Arc::clone(&self.counted.0));
        Ok(Box::new(Writer { writer, spills, left: 0 }))
    }
}

struct Writer {
    writer: Box<dyn SpillWriter>,
    spills: Arc<Spills>,
    /// Bytes that may be written before space is looked for again.
    left: usize,
}

impl Writer {
    /// Looks at the limit, and for space where that was long ago.
    fn check(&mut self, bytes: usize) -> io::Result<()> {
        const EACH: usize = 4 << 20;
        let refused = |limit: &str| Err(io::Error::new(io::ErrorKind::StorageFull, limit));
        let spills = &self.spills;
        let most = spills.files.max_temp_directory_size();
        if spills.files.used_disk_space().saturating_add(bytes as u64) > most {
            return refused(LIMIT);
        }
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Ok(());
        }
        // Ordering: as in `limit`.
        let reserve = spills.reserve.load(Ordering::Relaxed);
        let wanted = (bytes.max(EACH) as u64).saturating_add(reserve);
        // Where this is not known, the file system says when it is full.
        if reserve > 0 && space_of(&spills.folder).is_ok_and(|it| it.free < wanted) {
            return refused(SPACE);
        }
        self.left = EACH.saturating_sub(bytes);
        Ok(())
    }
}

/// The error of a file that would take the reserved free space.
pub(crate) const SPACE: &str = "pelorus_spill_reserve";
/// The error of a file that would exceed the common limit.
pub(crate) const LIMIT: &str = "pelorus_spill_limit";

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check(bytes.len())?;
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> DfResult<()> {
        self.writer.finish()
    }
}

/// The bytes of a query, [`LEAST`] or more.
pub(crate) fn bytes_of_query(bytes: usize) -> usize {
    bytes.max(LEAST)
}

/// The memory of one query's operators.
#[derive(Debug)]
struct QueryMemory {
    bytes: usize,
    /// The accounts of consumers that can spill, of the merges of sorts, and of all others.
    spillable: Account,
    merging: Account,
    fixed: Account,
    counts: Mutex<Counts>,
}

/// How many share what can be shared.
#[derive(Debug, Default)]
struct Counts {
    /// How many can spill.
    spillers: usize,
    /// How many sorts may merge.
    merges: usize,
}

/// The reaction of a memory consumer if it gets no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It writes its data to a file.
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

impl Counts {
    fn of(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::Spills => Some(&mut self.spillers),
            Kind::Merges => Some(&mut self.merges),
            Kind::Fixed => None,
        }
    }
}

impl QueryMemory {
    fn new(bytes: usize, account: &Account) -> Self {
        let part = || account.part("pelorus_query_memory", usize::MAX);
        let (spillable, merging, fixed) = (part(), part(), part());
        let bytes = bytes_of_query(bytes);
        Self { bytes, spillable, merging, fixed, counts: Mutex::default() }
    }

    fn account(&self, kind: Kind) -> &Account {
        match kind {
            Kind::Spills => &self.spillable,
            Kind::Merges => &self.merging,
            Kind::Fixed => &self.fixed,
        }
    }

    /// Whether one that holds so many bytes may have more.
    fn allows(&self, counts: &Counts, kind: Kind, size: usize, additional: usize) -> bool {
        let half = self.bytes / 2;
        let wanted = size.saturating_add(additional);
        let (fixed, merging) = (self.fixed.held(), self.merging.held());
        match kind {
            Kind::Spills => {
                let shared = self.bytes - fixed.saturating_add(merging).min(half);
                size == 0 || wanted <= shared / counts.spillers.max(1)
            }
            Kind::Merges => {
                let shared = self.bytes - fixed.min(half);
                size == 0 || wanted <= shared / 4 * 3 / counts.merges.max(1)
            }
            Kind::Fixed => {
                let left = self.bytes - self.spillable.held().saturating_add(merging).min(half);
                // A little goes on in any case, a merge of a few sorted streams for instance.
                wanted <= self.bytes / 32 || fixed.saturating_add(additional) <= left
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
        if let Some(count) = self.counts.lock().of(Kind::of(consumer)) {
            *count += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if let Some(count) = self.counts.lock().of(Kind::of(consumer)) {
            *count = count.saturating_sub(1);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.account(Kind::of(reservation.consumer())).grow(additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.account(Kind::of(reservation.consumer())).shrink(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DfResult<()> {
        let kind = Kind::of(reservation.consumer());
        let refused = |why: String| {
            let (name, size) = (reservation.consumer().name(), reservation.size());
            let text = format!("{name} has {size} bytes and wants {additional} more: {why}");
            DataFusionError::ResourcesExhausted(text)
        };
        // What is looked at here stays as it is meanwhile.
        let counts = self.counts.lock();
        if !self.allows(&counts, kind, reservation.size(), additional) {
            return Err(refused(format!("{self:?}")));
        }
        self.account(kind).try_grow(additional).map_err(|error| refused(error.to_string()))
    }

    fn reserved(&self) -> usize {
        self.spillable.held() + self.merging.held() + self.fixed.held()
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
        Arc::new(QueryMemory::new(bytes, &Account::unlimited()))
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
    fn the_server_refuses_what_its_memory_does_not_have() {
        let server = Account::new("pelorus_memory_limit", 40 * MIB);
        let pools = [0, 1]
            .map(|_| -> Arc<dyn MemoryPool> { Arc::new(QueryMemory::new(64 * MIB, &server)) });
        let (one, other) = (sorter(&pools[0]), sorter(&pools[1]));
        one.try_grow(30 * MIB).unwrap();
        let error = from_datafusion(other.try_grow(11 * MIB).unwrap_err());
        assert_eq!(error.errno(), 1041);
        assert!(error.message().contains("pelorus_memory_limit"), "{}", error.message());
        one.free();
        other.try_grow(40 * MIB).unwrap();
        drop((one, other));
        assert_eq!(server.held(), 0);
    }

    #[test]
    fn files_have_a_limit_and_leave_space() {
        use std::io::Write as _;

        let folder = std::env::temp_dir();
        let scratch = Scratch::new(Some(&folder)).unwrap();
        let disk = Arc::clone(&scratch.runtime.disk_manager);
        let write = |bytes: usize| -> io::Result<()> {
            let file = disk.create_tmp_file("a test").map_err(io::Error::other)?;
            let mut writer = file.open_writer().map_err(io::Error::other)?;
            writer.write_all(&vec![7; bytes])?;
            assert_eq!(scratch.spilled(), bytes as u64);
            Ok(())
        };
        let errno = |error: io::Error| from_datafusion(DataFusionError::IoError(error));
        write(1000).unwrap();
        assert_eq!(scratch.spilled(), 0);
        scratch.limit(5000, 0).unwrap();
        write(5000).unwrap();
        let error = errno(write(5001).unwrap_err());
        assert_eq!(error.errno(), 1021);
        assert!(error.message().contains("pelorus_spill_limit"), "{}", error.message());
        scratch.limit(u64::MAX, u64::MAX / 2).unwrap();
        let error = errno(write(1).unwrap_err());
        assert_eq!(error.errno(), 1021);
        assert!(error.message().contains("pelorus_spill_reserve"), "{}", error.message());
        assert_eq!(scratch.spilled(), 0);
    }

    #[test]
    fn files_have_a_number_that_is_given_back() {
        let scratch = Scratch::new(Some(&std::env::temp_dir())).unwrap();
        let file = || scratch.runtime.disk_manager.create_tmp_file("a test");
        let mut files: Vec<_> = (0..MOST_FILES).map(|_| file().unwrap()).collect();
        let Err(error) = file() else { panic!("there is one more") };
        assert_eq!(from_datafusion(error).errno(), 1041);
        files.pop();
        file().unwrap();
        files.clear();
        assert_eq!(scratch.spills.open.load(Ordering::Relaxed), 0);
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
