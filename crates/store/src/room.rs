//! A full disk: space that is released, and commits that wait for it.
//!
//! The log reserves space for records that free more space, and for the next records
//! ([`pelorus_log::Log::keep_space`]). While the reserve is incomplete, nothing is flushed or
//! compacted: that would use the space that a dropped table has just released. Instead, files
//! release their preallocated space, and checkpoints are written, after which the log is truncated
//! and blocks that only older headers refer to are free. A commit that found no space waits for
//! that and is tried once more.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pelorus_env::rare;
use pelorus_error::{Code, Error, Result};

use crate::database::{Database, go_on};
use crate::maintenance::{holds_more, unless_too_large};

/// Checkpoints after which both headers of all files have everything, and the log and the blocks that
/// were needed for the headers before are given back.
const CHECKPOINTS: usize = 4;

/// A commit waits no longer (microseconds) for room, nor is it looked for again before that.
const PAUSE_MICROS: u64 = 1_000_000;

/// If nothing was written since the last failed search for space, the search is repeated after
/// this.
const LONG_PAUSE_MICROS: u64 = 10 * PAUSE_MICROS;

/// The last failed search for space, and the end of the log at that moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    micros: u64,
    end: u64,
}

impl Database {
    /// Takes the space that the log reserves; if there is none, makes room. Returns whether the
    /// reserve is complete.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub(crate) fn keep_space(&self) -> Result<bool> {
        if self.log.keep_space() {
            return Ok(true);
        }
        rare("the disk has no room for the log");
        self.release_tails();
        if self.log.keep_space() {
            return Ok(true);
        }
        let now = Tried { micros: self.elapsed(), end: self.log.end().0 };
        if !self.is_worth_trying(now) {
            return Ok(false);
        }
        let mut refused = None;
        for _ in 0..CHECKPOINTS {
            let done = self.checkpoint_where(|table| {
                table.changed.load(Ordering::Acquire) > table.older_checkpoint()
                    || holds_more(table)
            });
            unless_too_large(done, &mut refused)?;
            if self.log.keep_space() {
                rare("checkpoints make room for the log");
                *self.work.tried.lock() = None;
                return Ok(true);
            }
        }
        refused.map_or(Ok(false), Err)
    }

    /// Whether the last failed search for space is old, or was before the last write; records the
    /// current time.
    fn is_worth_trying(&self, now: Tried) -> bool {
        let mut tried = self.work.tried.lock();
        if let Some(last) = *tried {
            let age = now.micros.saturating_sub(last.micros);
            let pause = if now.end == last.end { LONG_PAUSE_MICROS } else { PAUSE_MICROS };
            if age < pause {
                return false;
            }
        }
        *tried = Some(now);
        true
    }

    /// Something was dropped: there may be room at once.
    pub(crate) fn note_dropped(&self) {
        *self.work.tried.lock() = None;
        self.log.keep_space();
        self.wake_maintenance();
    }

    /// Runs an operation that needs room in the log; if there was none, makes room if possible and
    /// runs it once more.
    ///
    /// # Errors
    /// Those of `run`, and 1317 if `stop` returns true.
    pub(crate) fn with_room<T>(
        &self,
        stop: &dyn Fn() -> bool,
        mut run: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let is_full = |error: &Error| error.code() == Code::DiskFull;
        let done = run();
        if !done.as_ref().is_err_and(is_full) || self.failure().is_some() {
            return done;
        }
        self.wait_for_room(stop)?;
        run()
    }

    /// Lets maintenance make room, or makes it; returns when it was tried.
    fn wait_for_room(&self, stop: &dyn Fn() -> bool) -> Result<()> {
        let begun = self.elapsed();
        let mut wanted = self.work.wanted.lock();
        if !wanted.running {
            drop(wanted);
            // The commit says what is wrong.
            self.keep_space().ok();
            return Ok(());
        }
        // Of a whole round that began after this.
        let round = wanted.rounds + 2;
        while wanted.running
            && !wanted.stop
            && wanted.rounds < round
            && self.elapsed().saturating_sub(begun) < PAUSE_MICROS
        {
            go_on(stop)?;
            wanted.soon = true;
            self.work.wake.notify_all();
            self.work.done.wait_for(&mut wanted, Duration::from_millis(100));
        }
        Ok(())
    }
}
