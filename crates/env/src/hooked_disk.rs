//! [`HookedDisk`]: a disk that calls a hook before each operation, for tests that wait, fail,
//! switch threads, or end the process at that moment.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, Open};

/// The next operation.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A file is opened or created.
    Open,
    /// A file is removed or renamed, or a folder synced.
    Name,
    /// A file is read.
    Read,
    /// Bytes are written at an offset of the file.
    Write(&'a dyn DiskFile, &'a [u8], u64),
    /// A file is synced.
    Sync,
    /// A file takes space.
    Allocate,
    /// A file is cut or extended.
    Length,
}

/// The hook that is called before each operation.
pub trait Hook: Send + Sync + std::fmt::Debug {
    /// Called before an operation on a file or folder, which fails as the result says.
    fn before(&self, step: Step<'_>, path: &Path) -> io::Result<()>;
}

/// A disk with a hook; clones share both.
#[derive(Clone, Debug)]
pub struct HookedDisk {
    inner: Arc<dyn Disk>,
    hook: Arc<dyn Hook>,
}

impl HookedDisk {
    /// Every operation goes to the hook and then to the disk.
    pub fn new(inner: Arc<dyn Disk>, hook: impl Hook + 'static) -> Self {
        Self { inner, hook: Arc::new(hook) }
    }
}

impl Disk for HookedDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        self.hook.before(Step::Open, path)?;
        let inner = self.inner.open(path, how)?;
        Ok(Arc::new(HookedFile { inner, path: path.to_owned(), hook: Arc::clone(&self.hook) }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.hook.before(Step::Name, path)?;
        self.inner.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.hook.before(Step::Name, from)?;
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
        self.hook.before(Step::Name, folder)?;
        self.inner.sync_folder(folder)
    }
}

#[derive(Debug)]
struct HookedFile {
    inner: Arc<dyn DiskFile>,
    path: PathBuf,
    hook: Arc<dyn Hook>,
}

impl HookedFile {
    fn before(&self, step: Step<'_>) -> io::Result<()> {
        self.hook.before(step, &self.path)
    }
}

impl DiskFile for HookedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.before(Step::Read)?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.before(Step::Write(&*self.inner, bytes, offset))?;
        self.inner.write_at(bytes, offset)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.before(Step::Write(&*self.inner, bytes, offset))?;
        self.inner.write_direct(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.before(Step::Sync)?;
        self.inner.sync()
    }

    fn allocate(&self, from: u64, to: u64) -> io::Result<()> {
        self.before(Step::Allocate)?;
        self.inner.allocate(from, to)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.before(Step::Length)?;
        self.inner.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}
