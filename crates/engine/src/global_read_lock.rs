//! The global read lock of `FLUSH TABLES WITH READ LOCK`: statements that change native tables wait
//! while any session holds it.
//!
//! As in MySQL, several sessions may hold the lock at once, and a session waits for it until the
//! running changes have ended. New changes wait as soon as one session requests the lock, so that a
//! stream of writes cannot starve it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Debug, Default)]
struct State {
    /// Sessions that hold the lock, or have requested it.
    holders: usize,
    /// Statements that are changing something.
    changes: usize,
}

/// The lock of one server.
#[derive(Debug, Default)]
pub(crate) struct GlobalReadLock {
    state: Mutex<State>,
    changed: Notify,
}

/// The lock, held by a session until this is dropped.
#[derive(Debug)]
pub(crate) struct Held(Arc<GlobalReadLock>);

/// A statement that changes something, until this is dropped.
#[derive(Debug)]
pub(crate) struct Change(Arc<GlobalReadLock>);

impl GlobalReadLock {
    /// Takes the lock. Giving up the wait gives up the lock.
    pub(crate) async fn hold(self: &Arc<Self>) -> Held {
        self.state.lock().holders += 1;
        let held = Held(Arc::clone(self));
        self.wait_until(|state| state.changes == 0).await;
        held
    }

    /// Waits until a statement may change something.
    pub(crate) async fn change(self: &Arc<Self>) -> Change {
        self.wait_until(|state| {
            let free = state.holders == 0;
            state.changes += usize::from(free);
            free
        })
        .await;
        Change(Arc::clone(self))
    }

    async fn wait_until(&self, mut is_met: impl FnMut(&mut State) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is looked at, so that no change of it is missed.
            changed.as_mut().enable();
            if is_met(&mut self.state.lock()) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.state.lock().holders -= 1;
        self.0.changed.notify_waiters();
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        self.0.state.lock().changes -= 1;
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn changes_wait_for_all_holders_and_holders_for_changes() {
        let lock = Arc::new(GlobalReadLock::default());
        let Poll::Ready(change) = poll(pin!(lock.change())) else { panic!("it is free") };
        let mut first = pin!(lock.hold());
        assert!(poll(first.as_mut()).is_pending());
        let mut late = pin!(lock.change());
        assert!(poll(late.as_mut()).is_pending(), "a holder waits already");
        drop(change);
        let Poll::Ready(first) = poll(first) else { panic!("nothing changes any more") };
        let Poll::Ready(second) = poll(pin!(lock.hold())) else { panic!("it is shared") };
        assert!(poll(late.as_mut()).is_pending());
        drop(first);
        assert!(poll(late.as_mut()).is_pending());
        drop(second);
        assert!(poll(late).is_ready());
    }

    #[test]
    fn a_wait_that_is_given_up_holds_nothing() {
        let lock = Arc::new(GlobalReadLock::default());
        let Poll::Ready(change) = poll(pin!(lock.change())) else { panic!("it is free") };
        {
            let mut given_up = Box::pin(lock.hold());
            assert!(poll(given_up.as_mut()).is_pending());
        }
        assert!(poll(pin!(lock.change())).is_ready());
        drop(change);
    }
}
