//! For tests under loom: a disk at every operation of which another thread may go on, and threads
//! with enough stack for it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loom::sync::atomic::AtomicU64;
pub use loom::thread::JoinHandle;

use crate::{Disk, DiskFile, Open};

/// Words of stack of each thread: headers of files are arrays there.
const STACK_WORDS: usize = 1 << 16;

/// Runs a scene in every order in which its threads can go on, with at most so many switches away
/// from a thread that could have gone on itself. Gives the number of orders.
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
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match loom::thread::Builder::new().stack_size(STACK_WORDS).spawn(run) {
        Ok(thread) => thread,
        Err(error) => unreachable!("loom starts threads without the operating system: {error}"),
    }
}

/// A disk whose operations are points at which loom may switch threads.
#[derive(Clone, Debug)]
pub struct SwitchingDisk {
    inner: Arc<dyn Disk>,
    /// All threads change it, so that the order of their operations matters to loom.
    operations: Arc<AtomicU64>,
}

impl SwitchingDisk {
    /// To be called inside of `loom::model`.
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

    fn sync(&self) -> io::Result<()> {
        self.switch();
        self.inner.sync()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.inner.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}
