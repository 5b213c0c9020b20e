//! A disk whose syncs wait at a gate, whose writes to chosen files fail, and that lets something
//! happen just before such a write.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use parking_lot::{Condvar, Mutex};
use pelorus_env::{Disk, Hook, HookedDisk, Step};

/// The gate of a disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
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
    /// The disk behind the gate.
    pub(crate) fn around(&self, disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        Arc::new(HookedDisk::new(disk, self.clone()))
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

impl Shared {
    /// What happens before a write.
    fn before_write(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let is_meant = |name: &String| path.to_string_lossy().contains(name);
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

    /// Waits while the gate is closed.
    fn wait(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.changed.notify_all();
        while state.closed {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
    }
}

impl Hook for Gate {
    fn before(&self, step: Step<'_>, path: &Path) -> io::Result<()> {
        let is_log = || path.parent().is_some_and(|folder| folder.ends_with("log"));
        match step {
            Step::Write(..) | Step::Allocate => self.shared.before_write(path)?,
            Step::Sync if is_log() => self.shared.wait(),
            _ => {}
        }
        Ok(())
    }
}
