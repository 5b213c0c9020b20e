//! Traits for the environment: clock, randomness, small files, and the disk under native tables.
//!
//! Everything below the `pelorus` binary uses an [`Env`] instead of the operating system, so that a
//! simulated run can repeat exactly and can inject faults.

mod aligned;
mod blocking;
mod budget;
mod disk;
mod files;
mod folder_lock;
mod hooked_disk;
mod memory;
mod rare;
mod scale;
mod sim_disk;
mod space;
mod stage_memory;
pub mod sync;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use aligned::{ALIGNMENT, AlignedBytes};
pub use blocking::{blocking, blocking_steps};
pub use budget::{Account, Refused, Reservation};
pub use disk::{
    Disk, DiskFile, Open, RealDisk, is_disk_full, is_out_of_files, raise_file_limit, read_exact_at,
    write_all_at, write_all_direct,
};
pub use files::{DiskFiles, Files, MemoryFiles};
pub use folder_lock::FolderLock;
pub use hooked_disk::{Hook, HookedDisk, Step};
pub use memory::{Jemalloc, give_back_pages, resident};
#[cfg(feature = "shuttle")]
pub use rare::take_rare;
pub use rare::{rare, rare_if};
pub use scale::scaled;
pub use sim_disk::{Fault, SimDisk, SyncFailure, Tear};
pub use space::{Space, space_of};
pub use stage_memory::{StageMemory, check_stage_memory};

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Time since an arbitrary fixed point; never goes back.
    fn monotonic(&self) -> Duration;
    /// Time since 1970-01-01 00:00 UTC; zero before that.
    fn since_epoch(&self) -> Duration;
    /// The same where it must be a time that can be: `None` when the clock shows one up to 1970, as that
    /// of a machine does whose clock was never set.
    fn after_1970(&self) -> Option<Duration> {
        Some(self.since_epoch()).filter(|it| !it.is_zero())
    }
}

/// Gives unpredictable random bytes.
pub trait Random: Send + Sync + std::fmt::Debug {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);
}

/// The outside world of one process.
#[derive(Clone, Debug)]
pub struct Env {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub random: Arc<dyn Random>,
    /// Small files, read and replaced as a whole.
    pub files: Arc<dyn Files>,
    /// Files that are read and written in place.
    pub disk: Arc<dyn Disk>,
}

impl Env {
    /// The real clock, randomness and disk.
    pub fn real() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SystemRandom),
            files: Arc::new(DiskFiles),
            disk: Arc::new(RealDisk),
        }
    }

    /// The real clock, seeded randomness and files in memory, for tests.
    pub fn in_memory(seed: u64) -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SeededRandom(AtomicU64::new(seed))),
            files: Arc::new(MemoryFiles::default()),
            disk: Arc::new(SimDisk::new(seed)),
        }
    }
}

/// The clock of the operating system.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
    fn since_epoch(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// The randomness of the operating system.
#[derive(Debug)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system gives randomness once it has booted");
    }
}

/// Repeatable randomness for tests (splitmix64).
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl Random for SeededRandom {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let step = 0x9E37_79B9_7F4A_7C15_u64;
            let mut word = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^= word >> 31;
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }
}
