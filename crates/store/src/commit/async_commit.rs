//! Asynchronous commits: acknowledged and visible before they are durable.
//!
//! Their records go to the log in the order of versions like all others, and a thread syncs the log
//! a short time after the first of them ([`Database::run_syncing`]). A crash loses at most the
//! commits of that interval, and always the newest ones: the recovered state is one that existed.
//! Without the thread such commits wait like others.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pelorus_env::sync::{Condvar, Mutex};

use crate::catalog::schema::Version;
use crate::database::Database;

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is durable.
    #[default]
    Synced,
    /// At once; the sync that makes it durable begins [`crate::Options::sync_micros`] later at the
    /// latest.
    Async,
}

/// The state of the thread that syncs the log.
#[derive(Debug, Default)]
pub(crate) struct Syncing {
    state: Mutex<Wanted>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Wanted {
    running: bool,
    stop: bool,
    /// There are commits that are not durable.
    some: bool,
}

impl Database {
    /// Makes a commit visible that is not durable yet; `false` if no thread would sync it.
    pub(crate) fn publish_now(&self, version: Version) -> bool {
        let mut state = self.syncing.state.lock();
        if !state.running {
            return false;
        }
        state.some = true;
        self.syncing.wake.notify_all();
        drop(state);
        self.published.fetch_max(version, Ordering::AcqRel);
        true
    }

    /// Syncs the log after commits that did not wait for it, until [`Self::stop_syncing`]; to be run
    /// by a thread of its own. What is left then is synced before it returns.
    pub fn run_syncing(&self) {
        let lag = Duration::from_micros(self.options.sync_micros);
        let mut state = self.syncing.state.lock();
        state.running = true;
        self.syncing.wake.notify_all();
        while state.some || !state.stop {
            if !state.some {
                self.syncing.wake.wait(&mut state);
                continue;
            }
            // More commits arrive meanwhile, and share the sync. Only the end of the database cuts
            // this short.
            let begun = self.env.clock.monotonic();
            let mut left = lag;
            while !left.is_zero() && !state.stop {
                if self.syncing.wake.wait_for(&mut state, left).timed_out() {
                    break;
                }
                left = lag.saturating_sub(self.env.clock.monotonic().saturating_sub(begun));
            }
            state.some = false;
            drop(state);
            if let Err(error) = self.log.sync() {
                self.fail(&error);
            }
            state = self.syncing.state.lock();
        }
        state.running = false;
        self.syncing.wake.notify_all();
    }

    /// Ends [`Self::run_syncing`].
    pub fn stop_syncing(&self) {
        self.syncing.state.lock().stop = true;
        self.syncing.wake.notify_all();
    }

    /// Waits until [`Self::run_syncing`] has begun.
    pub fn wait_for_syncing(&self) {
        let mut state = self.syncing.state.lock();
        while !state.running && !state.stop {
            self.syncing.wake.wait(&mut state);
        }
    }
}
