//! User-level locks (`GET_LOCK`): the session that holds each name, and the sessions that wait for
//! it.
//!
//! The semantics are those of MySQL's manual, "Locking Functions": names are compared without
//! regard to case, a session may hold several locks and each of them several times, a wait that
//! would never end is error 3058, and a session that ends releases all its locks.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_error::{Code, Error, Result};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The most characters of a lock's name.
const NAME_CHARS_MAX: usize = 64;

/// The holder of a lock, and how many times it holds it.
#[derive(Debug)]
struct Holder {
    session: u64,
    times: u64,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<String, Holder>,
    /// The lock that each waiting session waits for.
    awaited: HashMap<u64, String>,
}

impl State {
    /// Takes a lock that is free or already the session's own.
    fn take(&mut self, session: u64, name: &str) -> bool {
        match self.held.get_mut(name) {
            Some(holder) if holder.session == session => holder.times += 1,
            Some(_) => return false,
            None => {
                self.held.insert(name.to_owned(), Holder { session, times: 1 });
            }
        }
        true
    }

    /// Whether a wait of `session` for `name` would close a circle of waits.
    fn closes_circle(&self, session: u64, name: &str) -> bool {
        let mut name = name;
        // Each session waits for at most one lock, so the chain has no branches; circles without
        // `session` cannot exist because each of them was refused when it would have closed.
        while let Some(holder) = self.held.get(name) {
            if holder.session == session {
                return true;
            }
            match self.awaited.get(&holder.session) {
                Some(next) => name = next,
                None => return false,
            }
        }
        false
    }
}

/// All user-level locks of the server.
#[derive(Debug, Default)]
pub(crate) struct UserLocks {
    state: Mutex<State>,
    released: Notify,
}

/// Takes a session off the list of those that wait, also when its statement is killed.
struct Waiting<'a> {
    locks: &'a UserLocks,
    session: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.locks.state.lock().awaited.remove(&self.session);
    }
}

impl UserLocks {
    /// Takes a lock, waiting at most `wait` for it; without a limit when that is `None`. `false` if
    /// the wait timed out.
    ///
    /// # Errors
    /// A name that no lock can have (3057, 4163); a deadlock (3058).
    pub(crate) async fn get(
        &self,
        session: u64,
        name: &str,
        wait: Option<Duration>,
    ) -> Result<bool> {
        let name = checked(name)?;
        let deadline = wait.and_then(|wait| Instant::now().checked_add(wait));
        let _waiting = Waiting { locks: self, session };
        loop {
            let released = self.released.notified();
            tokio::pin!(released);
            // Registered before the lock is looked at, so that no release is missed.
            released.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.take(session, &name) {
                    return Ok(true);
                }
                if wait == Some(Duration::ZERO) {
                    return Ok(false);
                }
                if state.closes_circle(session, &name) {
                    return Err(Error::new(
                        Code::UserLockDeadlock,
                        "Deadlock found when trying to get user-level lock; try rolling back \
                         transaction/releasing locks and restarting lock acquisition.",
                    ));
                }
                state.awaited.insert(session, name.clone());
            }
            match deadline {
                None => released.await,
                Some(deadline) => {
                    if timeout_at(deadline, released).await.is_err() {
                        return Ok(self.state.lock().take(session, &name));
                    }
                }
            }
        }
    }

    /// Releases a lock once. `None`: there is no such lock; `Some(false)`: another session's.
    ///
    /// # Errors
    /// A name that no lock can have (3057, 4163).
    pub(crate) fn release(&self, session: u64, name: &str) -> Result<Option<bool>> {
        let name = checked(name)?;
        let mut state = self.state.lock();
        let Some(holder) = state.held.get_mut(&name) else { return Ok(None) };
        if holder.session != session {
            return Ok(Some(false));
        }
        holder.times -= 1;
        if holder.times == 0 {
            state.held.remove(&name);
            drop(state);
            self.released.notify_waiters();
        }
        Ok(Some(true))
    }

    /// Releases all locks of a session; how many times it held some.
    pub(crate) fn release_all(&self, session: u64) -> u64 {
        let mut state = self.state.lock();
        let mut times = 0;
        state.held.retain(|_, holder| {
            let own = holder.session == session;
            if own {
                times += holder.times;
            }
            !own
        });
        drop(state);
        if times > 0 {
            self.released.notify_waiters();
        }
        times
    }

    /// The session that holds a lock.
    ///
    /// # Errors
    /// A name that no lock can have (3057, 4163).
    pub(crate) fn holder(&self, name: &str) -> Result<Option<u64>> {
        let name = checked(name)?;
        Ok(self.state.lock().held.get(&name).map(|holder| holder.session))
    }
}

/// A name in the form that locks are kept under.
fn checked(name: &str) -> Result<String> {
    if name.is_empty() {
        return Err(Error::new(
            Code::UserLockWrongName,
            format!("Incorrect user-level lock name '{name}'."),
        ));
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(Error::new(
            Code::UserLockLongName,
            format!("User-level lock name '{name}' should not exceed {NAME_CHARS_MAX} characters."),
        ));
    }
    Ok(name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    #[tokio::test]
    async fn a_lock_excludes_other_sessions_until_it_is_released_as_often_as_taken() {
        let locks = UserLocks::default();
        assert!(locks.get(1, "Job", NOW).await.unwrap());
        assert!(locks.get(1, "job", NOW).await.unwrap());
        assert!(!locks.get(2, "JOB", NOW).await.unwrap());
        assert_eq!(locks.holder("job").unwrap(), Some(1));
        assert_eq!(locks.release(2, "job").unwrap(), Some(false));
        assert_eq!(locks.release(1, "job").unwrap(), Some(true));
        assert!(!locks.get(2, "job", NOW).await.unwrap());
        assert_eq!(locks.release(1, "job").unwrap(), Some(true));
        assert_eq!(locks.release(1, "job").unwrap(), None);
        assert!(locks.get(2, "job", NOW).await.unwrap());
        assert!(locks.get(2, "other", NOW).await.unwrap());
        assert_eq!(locks.release_all(2), 2);
        assert_eq!(locks.holder("job").unwrap(), None);
    }

    #[tokio::test]
    async fn names_are_of_1_to_64_characters() {
        let locks = UserLocks::default();
        for (name, errno) in [(String::new(), 3057), ("x".repeat(65), 4163)] {
            assert_eq!(locks.get(1, &name, NOW).await.unwrap_err().errno(), errno);
            assert_eq!(locks.release(1, &name).unwrap_err().errno(), errno);
        }
        assert!(locks.get(1, &"ü".repeat(64), NOW).await.unwrap());
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_release_and_a_circle_of_waits_is_refused() {
        let locks = std::sync::Arc::new(UserLocks::default());
        assert!(locks.get(1, "a", NOW).await.unwrap());
        assert!(locks.get(2, "b", NOW).await.unwrap());
        let waits = {
            let locks = locks.clone();
            tokio::spawn(async move { locks.get(1, "b", None).await })
        };
        while locks.state.lock().awaited.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(locks.get(2, "a", None).await.unwrap_err().errno(), 3058);
        locks.release(2, "b").unwrap();
        assert!(waits.await.unwrap().unwrap());
        assert!(locks.state.lock().awaited.is_empty());
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_leaves_nothing() {
        let locks = UserLocks::default();
        assert!(locks.get(1, "a", NOW).await.unwrap());
        let short = Some(Duration::from_millis(1));
        assert!(!locks.get(2, "a", short).await.unwrap());
        assert!(locks.state.lock().awaited.is_empty());
        assert_eq!(locks.release_all(2), 0);
    }
}
