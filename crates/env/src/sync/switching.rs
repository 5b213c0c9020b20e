//! For tests under loom and shuttle: a disk at every operation of which another thread may go on,
//! and threads with enough stack for it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use super::checker::thread::JoinHandle;

use super::AtomicU64;
use crate::{Disk, DiskFile, Open};

/// Words of stack of each thread: headers of files are arrays there.
#[cfg(feature = "loom")]
const STACK_WORDS: usize = 1 << 16;

/// Bytes of stack of each thread: whole commits and merges run there.
#[cfg(not(feature = "loom"))]
const STACK_BYTES: usize = 1 << 20;

/// Runs a scene in every order in which its threads can go on, with at most so many switches away
/// from a thread that could have gone on itself. Gives the number of orders.
#[cfg(feature = "loom")]
pub fn model(preemptions: usize, scene: impl Fn() + Sync + Send + 'static) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    let (scene, count) = (Arc::new(scene), Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let counted = Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let scene = Arc::clone(&scene);
        if spawn(move || scene()).join().is_err() {
            unreachable!("a panic of a thread ends the test at once");
        }
    });
    count.load(Ordering::Relaxed)
}

/// Starts a thread inside of a scene.
#[cfg(feature = "loom")]
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match loom::thread::Builder::new().stack_size(STACK_WORDS).spawn(run) {
        Ok(thread) => thread,
        Err(error) => unreachable!("loom starts threads without the operating system: {error}"),
    }
}

/// Starts a thread inside of a scene.
#[cfg(not(feature = "loom"))]
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    shuttle::thread::spawn(run)
}

/// Runs a scene so many times; at each of its moments the seed decides which thread goes on. A panic
/// of a thread comes out of this.
#[cfg(not(feature = "loom"))]
pub fn simulate(seed: u64, times: usize, scene: impl Fn() + Sync + Send + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    config.silence_warnings = true;
    shuttle::Runner::new(super::seeded::Seeded::new(seed, times), config).run(scene);
}

/// A number below a bound, which is not 0, as the seed of the simulation has it.
#[cfg(not(feature = "loom"))]
pub fn below(bound: u64) -> u64 {
    use shuttle::rand::Rng as _;
    shuttle::rand::thread_rng().gen_range(0..bound)
}

/// A disk whose operations are points at which another thread may go on.
#[derive(Clone, Debug)]
pub struct SwitchingDisk {
    inner: Arc<dyn Disk>,
    /// All threads change it, so that the order of their operations matters.
    operations: Arc<AtomicU64>,
}

impl SwitchingDisk {
    /// To be called inside of a scene.
    pub fn new(inner: Arc<dyn Disk>) -> Self {
        Self { inner, operations: Arc::new(AtomicU64::new(0)) }
    }
}

impl Disk for SwitchingDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        let inner = self.inner.open(path, how)?;
        Ok(Arc::new(SwitchingFile { inner, operations: Arc::clone(&self.operations) }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.inner.create_folder(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_folder(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner.sync_folder(folder)
    }
}

#[derive(Debug)]
struct SwitchingFile {
    inner: Arc<dyn DiskFile>,
    operations: Arc<AtomicU64>,
}

impl SwitchingFile {
    fn switch(&self) {
        self.operations.fetch_add(1, Ordering::SeqCst);
    }
}

impl DiskFile for SwitchingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.switch();
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.switch();
        self.inner.write_at(bytes, offset)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.switch();
        self.inner.write_direct(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.switch();
        self.inner.sync()
    }

    fn allocate(&self, from: u64, to: u64) -> io::Result<()> {
        self.switch();
        self.inner.allocate(from, to)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.inner.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}
