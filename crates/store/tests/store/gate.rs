//! A disk whose syncs wait at a gate, whose writes to chosen files fail, and that lets something
//! happen just before such a write.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use parking_lot::{Condvar, Mutex};
use pelorus_env::{Disk, DiskFile, Open};

/// A disk with a gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    inner: Arc<dyn Disk>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waiting: usize,
    /// Writes to files with this in their names fail.
    broken: Option<String>,
    /// What happens before a write to a file with this in its name, after so many others.
    before: Option<(String, usize, Meanwhile)>,
}

/// Something to do.
struct Meanwhile(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meanwhile")
    }
}

impl Gate {
    pub(crate) fn new(inner: Arc<dyn Disk>) -> Self {
        Self { inner, shared: Arc::default() }
    }

    /// Lets no sync of the log through until the result is dropped.
    pub(crate) fn close(&self) -> Closed<'_> {
        self.shared.state.lock().closed = true;
        Closed(self)
    }

    /// Waits until somebody waits at the gate.
    pub(crate) fn wait_for_somebody(&self) {
        let mut state = self.shared.state.lock();
        while state.waiting == 0 {
            self.shared.changed.wait(&mut state);
        }
    }

    /// Lets writes fail from now on.
    pub(crate) fn break_files(&self, name: &str) {
        self.shared.state.lock().broken = Some(name.to_owned());
    }

    /// Does something just before the next write to a file with this in its name.
    pub(crate) fn before_write(&self, name: &str, run: impl FnOnce() + Send + 'static) {
        self.before_later_write(name, 0, run);
    }

    /// The same before the write after so many others.
    pub(crate) fn before_later_write(
        &self,
        name: &str,
        others: usize,
        run: impl FnOnce() + Send + 'static,
    ) {
        let run = Meanwhile(Box::new(run));
        self.shared.state.lock().before = Some((name.to_owned(), others, run));
    }

    /// Whether that has happened.
    pub(crate) fn has_happened(&self) -> bool {
        self.shared.state.lock().before.is_none()
    }
}

/// The gate is closed.
#[derive(Debug)]
pub(crate) struct Closed<'a>(&'a Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.shared.state.lock().closed = false;
        self.0.shared.changed.notify_all();
    }
}

impl Disk for Gate {
    fn open(&self, path: &Path, how: Open) -> io::Result<Arc<dyn DiskFile>> {
        let inner = self.inner.open(path, how)?;
        Ok(Arc::new(GateFile { inner, path: path.to_owned(), shared: Arc::clone(&self.shared) }))
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
struct GateFile {
    inner: Arc<dyn DiskFile>,
    path: PathBuf,
    shared: Arc<Shared>,
}

impl GateFile {
    /// What happens before a write.
    fn before_write(&self) -> io::Result<()> {
        let mut state = self.shared.state.lock();
        let is_meant = |name: &String| self.path.to_string_lossy().contains(name);
        if state.broken.as_ref().is_some_and(is_meant) {
            return Err(io::Error::other("broken"));
        }
        let before = state.before.take_if(|(name, others, _)| {
            let is_now = is_meant(name) && *others == 0;
            if is_meant(name) {
                *others = others.saturating_sub(1);
            }
            is_now
        });
        drop(state);
        if let Some((.., Meanwhile(run))) = before {
            run();
        }
        Ok(())
    }
}

impl DiskFile for GateFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.before_write()?;
        self.inner.write_at(bytes, offset)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.before_write()?;
        self.inner.write_direct(bytes, offset)
    }

    fn allocate(&self, from: u64, to: u64) -> io::Result<()> {
        self.before_write()?;
        self.inner.allocate(from, to)
    }

    fn sync(&self) -> io::Result<()> {
        if self.path.parent().is_some_and(|folder| folder.ends_with("log")) {
            let mut state = self.shared.state.lock();
            state.waiting += 1;
            self.shared.changed.notify_all();
            while state.closed {
                self.shared.changed.wait(&mut state);
            }
            state.waiting -= 1;
        }
        self.inner.sync()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.inner.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}
