//! The locks of the crates under native tables.
//!
//! They are `parking_lot`'s. With the feature `loom` they are loom's under the same methods, so that
//! tests can run small scenes in every order in which threads can take them
//! (`docs/internals/testing.md`). Nothing but such tests runs with that feature.

#[cfg(not(feature = "loom"))]
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(not(feature = "loom"))]
pub use std::sync::atomic::AtomicU64;

#[cfg(feature = "loom")]
pub use self::checked::{Condvar, Mutex, MutexGuard, RwLock};
#[cfg(feature = "loom")]
pub use loom::sync::atomic::AtomicU64;

#[cfg(feature = "loom")]
pub mod switching;

#[cfg(feature = "loom")]
mod checked {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    /// A lock under loom.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// A lock that is free.
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Waits for the lock.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            MutexGuard { mutex: self, guard: Some(guard) }
        }
    }

    /// A lock that is held.
    #[derive(Debug)]
    pub struct MutexGuard<'a, T> {
        mutex: &'a Mutex<T>,
        /// There but while the lock is lent.
        guard: Option<loom::sync::MutexGuard<'a, T>>,
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

    /// A condition under loom.
    #[derive(Debug)]
    pub struct Condvar(loom::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Condvar {
        /// A condition that nobody waits for.
        pub fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        /// Waits for the condition without the lock.
        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            guard.guard = guard
                .guard
                .take()
                .map(|inner| self.0.wait(inner).unwrap_or_else(PoisonError::into_inner));
        }

        /// Wakes all who wait.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A lock for many readers or one writer, under loom.
    #[derive(Debug, Default)]
    pub struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        /// A lock that is free.
        pub fn new(value: T) -> Self {
            Self(loom::sync::RwLock::new(value))
        }

        /// Waits until nobody writes.
        pub fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        /// Waits until nobody else has the lock.
        pub fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
