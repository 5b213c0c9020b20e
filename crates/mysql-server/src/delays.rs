//! Login delays: failed logins, and how long the next login waits. Guessing passwords is slow, and
//! its memory is bounded.
//!
//! Failures in a row are counted for each user at each origin, as MySQL's `connection_control` does
//! for accounts. Those of an origin are also counted together, with ten times the threshold: else
//! each guess would name another user. A user who has logged in from an origin before does not wait
//! for the failures of others. The delay comes before the proof is checked: a client that
//! disconnects during it learns nothing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_engine::LoginDelay;
use pelorus_env::Env;

use crate::strangers::{Origin, origin};

/// Entries that are kept; beyond it those that were used longest ago are forgotten.
const MOST: usize = 10_000;
/// After so long without a failure an entry is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// So many times the threshold of a user is that of an origin.
const OF_ORIGIN: u32 = 10;
/// Characters of a user that count; no account has more.
const USER_CHARS: usize = 32;

/// A user at an origin, or all users there.
type Key = (Option<String>, Origin);

/// The failures of all users and origins.
#[derive(Debug)]
pub(crate) struct Delays {
    env: Env,
    all: Mutex<HashMap<Key, Entry>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Failures in a row.
    failures: u32,
    /// The password was right once.
    was_proven: bool,
    /// When it was used last, on the monotonic clock.
    latest: Duration,
}

fn key_of(user: &str, address: Option<IpAddr>) -> Key {
    (Some(user.chars().take(USER_CHARS).collect()), origin(address))
}

impl Delays {
    pub(crate) fn new(env: &Env) -> Self {
        Self { env: env.clone(), all: Mutex::default() }
    }

    /// How long a login waits before its proof is looked at.
    pub(crate) fn of(&self, user: &str, address: Option<IpAddr>, rule: &LoginDelay) -> Duration {
        if rule.threshold == 0 {
            return Duration::ZERO;
        }
        let key = key_of(user, address);
        let all = self.all.lock();
        let now = self.env.clock.monotonic();
        let entry = |key: &Key| {
            let entry = all.get(key).copied().unwrap_or_default();
            let is_old = now.saturating_sub(entry.latest) > FORGOTTEN;
            if is_old { Entry::default() } else { entry }
        };
        let own = entry(&key);
        let others = if own.was_proven { Entry::default() } else { entry(&(None, key.1)) };
        let own = waits(own.failures, rule.threshold, rule);
        own.max(waits(others.failures, rule.threshold.saturating_mul(OF_ORIGIN), rule))
    }

    /// Notes how a login ended.
    pub(crate) fn note(&self, user: &str, address: Option<IpAddr>, is_proven: bool) {
        let key = key_of(user, address);
        let now = self.env.clock.monotonic();
        let mut all = self.all.lock();
        if is_proven {
            all.insert(key, Entry { failures: 0, was_proven: true, latest: now });
        } else {
            for key in [(None, key.1), key] {
                let entry = all.entry(key).or_default();
                if now.saturating_sub(entry.latest) > FORGOTTEN {
                    entry.failures = 0;
                }
                entry.failures = entry.failures.saturating_add(1);
                entry.latest = now;
            }
        }
        if all.len() > MOST {
            let mut times: Vec<Duration> = all.values().map(|entry| entry.latest).collect();
            let (_, middle, _) = times.select_nth_unstable(MOST / 2);
            let middle = *middle;
            all.retain(|_, entry| entry.latest > middle);
        }
    }
}

/// MySQL's: the first failure at the threshold makes the next login wait a second, and each further
/// one a second more, within the bounds.
fn waits(failures: u32, threshold: u32, rule: &LoginDelay) -> Duration {
    match failures.checked_sub(threshold) {
        None => Duration::ZERO,
        Some(beyond) => {
            let seconds = Duration::from_secs(u64::from(beyond) + 1);
            seconds.max(rule.min).min(rule.max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: LoginDelay =
        LoginDelay { threshold: 3, min: Duration::from_secs(1), max: Duration::from_secs(8) };

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn waits_grow_with_failures_and_end_with_a_success() {
        let delays = Delays::new(&Env::in_memory(1));
        let (here, there) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut seen = Vec::new();
        for _ in 0..13 {
            seen.push(delays.of("ann", here, &RULE).as_secs());
            delays.note("ann", here, false);
        }
        assert_eq!(seen, [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8]);
        // Others do not wait, nor does the same user elsewhere.
        assert!(delays.of("bob", here, &RULE).is_zero());
        assert!(delays.of("ann", there, &RULE).is_zero());
        assert!(delays.of("ann", here, &LoginDelay { threshold: 0, ..RULE }).is_zero());
        delays.note("ann", here, true);
        assert!(delays.of("ann", here, &RULE).is_zero());
    }

    #[test]
    fn an_origin_that_tries_many_users_waits_but_those_who_were_let_in_do_not() {
        let delays = Delays::new(&Env::in_memory(1));
        let here = address("192.0.2.1");
        delays.note("ann", here, true);
        for user in 0..35 {
            delays.note(&format!("user{user}"), here, false);
        }
        assert_eq!(delays.of("user99", here, &RULE).as_secs(), 6);
        assert!(delays.of("ann", here, &RULE).is_zero());
        assert!(delays.of("user99", address("192.0.2.2"), &RULE).is_zero());
    }

    #[test]
    fn memory_is_bounded() {
        let delays = Delays::new(&Env::in_memory(1));
        for user in 0..3 * MOST {
            delays.note(&format!("{user}{}", "x".repeat(1000)), address("192.0.2.1"), false);
        }
        let all = delays.all.lock();
        assert!(all.len() <= MOST);
        assert!(all.keys().all(|(user, _)| user.as_ref().is_none_or(|it| it.len() <= USER_CHARS)));
    }
}
