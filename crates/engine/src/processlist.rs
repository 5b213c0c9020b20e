//! The process list: every session with its user, host, database and current statement.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use pelorus_result::kill::Handle;

use crate::accounts::AccountName;
use crate::status::Counters;

/// A session in the process list.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) handle: Handle,
    pub(crate) counters: Counters,
    state: Mutex<Activity>,
}

/// The current activity of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    pub(crate) user: String,
    /// The account; `None` while its session begins.
    pub(crate) account: Option<AccountName>,
    /// `host:port`, or `localhost` on a local socket.
    pub(crate) host: String,
    pub(crate) database: Option<String>,
    /// `Sleep`, `Query`, `Execute`, ...
    pub(crate) command: &'static str,
    /// When the command began, on the monotonic clock.
    pub(crate) since: Duration,
    pub(crate) state: &'static str,
    /// The text of the running statement, without passwords.
    pub(crate) info: Option<String>,
}

impl Process {
    pub(crate) fn new(handle: Handle, activity: Activity) -> Self {
        Self { handle, counters: Counters::default(), state: Mutex::new(activity) }
    }

    pub(crate) fn activity(&self) -> Activity {
        self.state.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Activity)) {
        change(&mut self.state.lock());
    }

    /// The statement is over.
    pub(crate) fn sleep(&self, now: Duration) {
        self.update(|activity| {
            activity.command = "Sleep";
            activity.state = "";
            activity.info = None;
            activity.since = now;
        });
    }
}

/// All sessions by connection id.
#[derive(Debug, Default)]
pub(crate) struct Processes(RwLock<BTreeMap<u64, Arc<Process>>>);

impl Processes {
    /// Adds a session unless there are `limit` already.
    pub(crate) fn add(&self, process: Arc<Process>, limit: usize) -> bool {
        let mut all = self.0.write();
        if all.len() >= limit {
            return false;
        }
        all.insert(process.handle.id(), process);
        true
    }

    /// Takes a session out; whether it was there.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.0.write().remove(&id).is_some()
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Process>> {
        self.0.read().get(&id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Process>> {
        self.0.read().values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.read().len()
    }
}
