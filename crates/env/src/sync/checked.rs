//! `parking_lot`'s methods over the locks of loom and of shuttle, which both have std's interface.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub use super::checker::sync::RwLockWriteGuard;
use super::checker::sync::{self as inner, RwLockReadGuard};

/// A lock.
#[derive(Debug, Default)]
pub struct Mutex<T>(inner::Mutex<T>);

impl<T> Mutex<T> {
    /// A lock that is free.
    pub fn new(value: T) -> Self {
        Self(inner::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { mutex: self, guard: Some(guard) }
    }

    /// The lock, if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard { mutex: self, guard: Some(guard) })
    }
}

/// A lock that is held.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// There but while the lock is lent.
    guard: Option<inner::MutexGuard<'a, T>>,
}

impl<T> MutexGuard<'_, T> {
    /// Runs a function without the lock.
    pub fn unlocked<U>(guard: &mut Self, run: impl FnOnce() -> U) -> U {
        guard.guard = None;
        let result = run();
        guard.guard = guard.mutex.lock().guard;
        result
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.guard {
            Some(guard) => guard,
            None => unreachable!("nobody has the guard while the lock is lent"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.guard {
            Some(guard) => guard,
            None => unreachable!("nobody has the guard while the lock is lent"),
        }
    }
}

/// A condition.
#[derive(Debug)]
pub struct Condvar {
    inner: inner::Condvar,
    /// The number of notifications.
    notified: AtomicU64,
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    /// A condition variable without waiters.
    pub fn new() -> Self {
        Self { inner: inner::Condvar::new(), notified: AtomicU64::new(0) }
    }

    /// Waits for the condition without the lock.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.guard = guard
            .guard
            .take()
            .map(|guard| self.inner.wait(guard).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits for the condition without the lock, but not for ever.
    ///
    /// Time does not pass here. Under shuttle the wait times out after some moments at which others
    /// could go on, perhaps none; under loom it never does.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _most: Duration) -> TimedOut {
        let before = self.notified.load(Ordering::Relaxed);
        #[cfg(feature = "loom")]
        self.wait(guard);
        #[cfg(not(feature = "loom"))]
        MutexGuard::unlocked(guard, || {
            for _ in 0..super::switching::below(MOMENTS) {
                shuttle::thread::yield_now();
                if self.notified.load(Ordering::Relaxed) != before {
                    break;
                }
            }
        });
        TimedOut(self.notified.load(Ordering::Relaxed) == before)
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.notified.fetch_add(1, Ordering::Relaxed);
        self.inner.notify_all();
    }
}

/// After at most so many moments a wait times out under shuttle.
#[cfg(not(feature = "loom"))]
const MOMENTS: u64 = 40;

/// Whether a wait timed out.
#[derive(Clone, Copy, Debug)]
pub struct TimedOut(bool);

impl TimedOut {
    /// Whether the wait timed out.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// A lock for many readers or one writer.
#[derive(Debug, Default)]
pub struct RwLock<T>(inner::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock that is free.
    pub fn new(value: T) -> Self {
        Self(inner::RwLock::new(value))
    }

    /// Waits until there is no writer.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the exclusive lock.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, to which the caller has exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
