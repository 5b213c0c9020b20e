//! Commit timestamps: the server's clock, made monotonic.
//!
//! Clocks are set back now and then. The state at a past moment must not change later, so commit
//! timestamps never decrease: while the clock shows less than before, they stay at the highest
//! value until the clock has passed it.

use pelorus_env::Clock;
use pelorus_env::sync::Mutex;

/// Commits that are less than so many microseconds apart may share a moment.
pub(crate) const SHARED_MICROS: u64 = 1000;

/// Assigns commit timestamps (microseconds since 1970).
#[derive(Debug)]
pub(crate) struct Stamps(Mutex<Latest>);

#[derive(Debug)]
struct Latest {
    /// The newest time that was given.
    micros: u64,
    /// When that was, on the clock that never goes back.
    elapsed: u64,
    /// The clock shows an earlier time.
    is_behind: bool,
}

impl Stamps {
    /// Times after that of the last commit, which a start has found.
    pub(crate) fn after(last: Option<u64>, clock: &dyn Clock) -> Self {
        let (micros, elapsed) = (last.unwrap_or(0), micros_of(clock.monotonic()));
        Self(Mutex::new(Latest { micros, elapsed, is_behind: false }))
    }

    /// The time of a commit that is made now; no later one gets an earlier time.
    pub(crate) fn now(&self, clock: &dyn Clock) -> u64 {
        // Read under the lock, or a thread could take what another has read before it for a clock
        // that was set back.
        let mut latest = self.0.lock();
        let (shown, elapsed) = (micros_of(clock.since_epoch()), micros_of(clock.monotonic()));
        if shown >= latest.micros {
            *latest = Latest { micros: shown, elapsed, is_behind: false };
        } else if !latest.is_behind {
            // Up to here the clock may have gone before it was set back.
            let passed = elapsed.saturating_sub(latest.elapsed).saturating_add(SHARED_MICROS);
            latest.micros = latest.micros.saturating_add(passed);
            latest.is_behind = true;
        }
        latest.micros
    }
}

/// The microseconds of a time.
pub(crate) fn micros_of(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
