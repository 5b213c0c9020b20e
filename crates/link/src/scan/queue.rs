//! The queue of ranges that are still to be read.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::ScanRequest;

/// A range to be read.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Its place in the request.
    pub(super) range: usize,
    pub(super) sql: String,
    pub(super) est_rows: u64,
    /// How often it has been begun.
    pub(super) attempts: u32,
}

/// Jobs for the workers of a scan.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Job>,
    /// Waiting or being read.
    unfinished: usize,
    workers: usize,
    /// The scan has failed, and says why.
    failed: bool,
    /// A worker is gone with its range, without an error.
    given_up: bool,
}

impl Queue {
    pub(super) fn new(request: &ScanRequest) -> Self {
        let mut waiting: Vec<_> = request
            .ranges
            .iter()
            .enumerate()
            .map(|(range, key_range)| Job {
                range,
                sql: request.fragment.render(key_range, &request.qualifier),
                est_rows: key_range.est_rows(),
                attempts: 0,
            })
            .collect();
        // The largest first: what comes last should not take long.
        waiting.sort_by_key(|job| std::cmp::Reverse(job.est_rows));
        let state = State {
            unfinished: waiting.len(),
            waiting: waiting.into(),
            workers: 0,
            failed: false,
            given_up: false,
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// The first job, which is prepared before there are workers.
    pub(super) fn take_first(&self) -> Job {
        let mut job = self.state.lock().waiting.pop_front().expect("a scan has at least one range");
        job.attempts = 1;
        job
    }

    pub(super) fn set_workers(&self, workers: usize) {
        self.state.lock().workers = workers;
    }

    /// The next job; waits while other workers read ranges that may come back. `None` when all are
    /// finished, or the scan has ended.
    pub(super) async fn next(&self) -> Option<Job> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.given_up {
                    return None;
                }
                if let Some(mut job) = state.waiting.pop_front() {
                    job.attempts += 1;
                    return Some(job);
                }
                if state.unfinished == 0 {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// A job is done.
    pub(super) fn finish(&self) {
        let mut state = self.state.lock();
        state.unfinished = state.unfinished.saturating_sub(1);
        if state.unfinished == 0 {
            self.changed.notify_waiters();
        }
    }

    /// The scan fails with an error that is about to be sent.
    pub(super) fn fail(&self) {
        self.state.lock().failed = true;
    }

    /// A worker is gone with its job.
    pub(super) fn give_up(&self) {
        self.state.lock().given_up = true;
        self.changed.notify_waiters();
    }

    /// Whether the end of the batches is the end of the scan: all ranges were read, or an error was
    /// sent.
    pub(super) fn is_settled(&self) -> bool {
        let state = self.state.lock();
        state.unfinished == 0 || state.failed
    }

    /// Returns the job of a worker that ends early. `false` if no other worker is left to read it.
    pub(super) fn give_back(&self, job: Job) -> bool {
        let mut state = self.state.lock();
        state.workers = state.workers.saturating_sub(1);
        state.waiting.push_front(job);
        self.changed.notify_waiters();
        state.workers > 0
    }
}
