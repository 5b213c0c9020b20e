//! Failed logins in a row, and the accounts that they lock (`FAILED_LOGIN_ATTEMPTS`,
//! `PASSWORD_LOCK_TIME`). As in MySQL they are stored in memory only: a restart unlocks the
//! accounts.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_error::{Code, Error};
use pelorus_sql::statement::LockTime;

use super::account::Account;
use super::name::AccountName;

const DAY: u64 = 86_400;

/// The failures of the accounts that have a limit.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<AccountName, State>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Failures in a row.
    failures: u16,
    /// When it was locked, since 1970.
    locked: Option<Duration>,
}

/// An account is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    attempts: u16,
    /// Days altogether and days that remain; `None` is without end.
    days: Option<(u64, u64)>,
}

impl Failures {
    /// Counts how a login ended.
    pub(crate) fn count(
        &self,
        account: &Account,
        is_proven: bool,
        now: Duration,
    ) -> Result<(), Blocked> {
        let attempts = account.failed_login_attempts;
        if attempts == 0 || account.password_lock_time == LockTime::Days(0) {
            return Ok(());
        }
        let mut all = self.0.lock();
        let state = all.entry(account.name.clone()).or_default();
        if let Some(since) = state.locked {
            match left(account.password_lock_time, since, now) {
                Some(days) => return Err(Blocked { attempts, days }),
                None => *state = State::default(),
            }
        }
        if is_proven {
            all.remove(&account.name);
            return Ok(());
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures < attempts {
            return Ok(());
        }
        state.locked = Some(now);
        let days = left(account.password_lock_time, now, now).unwrap_or_default();
        Err(Blocked { attempts, days })
    }

    pub(crate) fn forget(&self, name: &AccountName) {
        self.0.lock().remove(name);
    }

    pub(crate) fn forget_all(&self) {
        self.0.lock().clear();
    }
}

/// The days of a lock and those that remain of it; `None`: it is over.
fn left(time: LockTime, since: Duration, now: Duration) -> Option<Option<(u64, u64)>> {
    let LockTime::Days(days) = time else { return Some(None) };
    let end = since.as_secs() + u64::from(days) * DAY;
    let seconds = end.checked_sub(now.as_secs()).filter(|left| *left > 0)?;
    // A clock that went back makes no lock longer.
    let remaining = seconds.div_ceil(DAY).min(u64::from(days));
    Some(Some((u64::from(days), remaining)))
}

impl Blocked {
    /// Error 3955.
    pub(crate) fn error(self, user: &str, host: &str) -> Error {
        let (days, remaining) = match self.days {
            Some((days, remaining)) => (days.to_string(), remaining.to_string()),
            None => ("unlimited".to_owned(), "unlimited".to_owned()),
        };
        Error::new(
            Code::AccountBlocked,
            format!(
                "Access denied for user '{user}'@'{host}'. Account is blocked for {days} day(s) \
                 ({remaining} day(s) remaining) due to {} consecutive failed logins.",
                self.attempts
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(attempts: u16, time: LockTime) -> Account {
        Account {
            name: AccountName::new("ann", "%").unwrap(),
            plugin: String::new(),
            authentication: Vec::new(),
            read_only: false,
            locked: false,
            require_ssl: false,
            failed_login_attempts: attempts,
            password_lock_time: time,
            password_changed: 0,
        }
    }

    #[test]
    fn the_last_failure_locks_and_time_unlocks() {
        let failures = Failures::default();
        let ann = account(3, LockTime::Days(2));
        let at = |seconds| Duration::from_secs(1_000_000 + seconds);
        let count = |is_proven, seconds| failures.count(&ann, is_proven, at(seconds));
        let blocked = |remaining| Err(Blocked { attempts: 3, days: Some((2, remaining)) });
        // A success counts from the beginning.
        let ends = [false, false, true, false, false].map(|is_proven| count(is_proven, 0));
        assert!(ends.iter().all(Result::is_ok));
        assert_eq!(count(false, 0), blocked(2));
        assert_eq!(count(true, DAY), blocked(1));
        assert_eq!(count(true, 2 * DAY - 1), blocked(1));
        assert_eq!(count(false, 2 * DAY), Ok(()));
        assert_eq!(count(true, 2 * DAY), Ok(()));
        let text = count(false, 0).and(count(false, 0)).and(count(false, 0)).unwrap_err();
        assert_eq!(
            text.error("ann", "192.0.2.1").message(),
            "Access denied for user 'ann'@'192.0.2.1'. Account is blocked for 2 day(s) (2 day(s) \
             remaining) due to 3 consecutive failed logins."
        );
        failures.forget(&ann.name);
        assert_eq!(count(true, 0), Ok(()));
    }

    #[test]
    fn without_a_limit_nothing_locks_and_without_an_end_nothing_unlocks() {
        let failures = Failures::default();
        let now = Duration::from_secs(5);
        for free in [account(0, LockTime::Unbounded), account(1, LockTime::Days(0))] {
            assert!((0..9).all(|_| failures.count(&free, false, now).is_ok()));
        }
        let ann = account(1, LockTime::Unbounded);
        let blocked = failures.count(&ann, false, now).unwrap_err();
        assert!(blocked.error("a", "b").message().contains("unlimited day(s) (unlimited"));
        let later = Duration::from_secs(1 << 40);
        assert_eq!(failures.count(&ann, true, later), Err(blocked));
        failures.forget_all();
        assert!(failures.count(&ann, true, later).is_ok());
    }
}
