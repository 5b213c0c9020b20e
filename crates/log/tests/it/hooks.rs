//! A disk that does something before each sync of a file.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use pelorus_env::{Disk, DiskFile, Open};

#[derive(Clone)]
pub(crate) struct HookedDisk {
    disk: Arc<dyn Disk>,
    before_sync: Arc<dyn Fn() + Send + Sync>,
}

impl HookedDisk {
    pub(crate) fn new(disk: Arc<dyn Disk>, before_sync: impl Fn() + Send + Sync + 'static) -> Self {
        Self { disk, before_sync: Arc::new(before_sync) }
    }
}

impl fmt::Debug for HookedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

#[derive(Debug)]
struct HookedFile(Arc<dyn DiskFile>, HookedDisk);

impl Disk for HookedDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(HookedFile(self.disk.open(path, how)?, self.clone())))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.create_folder(path)
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_folder(path)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }
}

impl DiskFile for HookedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }
    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_direct(bytes, offset)
    }
    fn allocate(&self, from: u64, to: u64) -> io::Result<()> {
        self.0.allocate(from, to)
    }
    fn sync(&self) -> io::Result<()> {
        (self.1.before_sync)();
        self.0.sync()
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }
}
