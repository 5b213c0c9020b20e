//! The locks of the crates under native tables.
//!
//! They are `parking_lot`'s. With the feature `loom` they are loom's under the same methods, so that
//! tests can run small scenes in every order in which threads can take them; with the feature
//! `shuttle` they are shuttle's, so that tests can run the whole store in many orders that a seed
//! decides (`docs/internals/testing.md`). Nothing but such tests runs with either feature.

#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
pub use std::sync::atomic::AtomicU64;

#[cfg(any(feature = "loom", feature = "shuttle"))]
pub use self::checked::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};
#[cfg(any(feature = "loom", feature = "shuttle"))]
pub use self::checker::sync::atomic::AtomicU64;
/// The crate that decides which thread goes on.
#[cfg(feature = "loom")]
use loom as checker;
#[cfg(all(feature = "shuttle", not(feature = "loom")))]
use shuttle as checker;

#[cfg(any(feature = "loom", feature = "shuttle"))]
mod checked;
#[cfg(all(feature = "shuttle", not(feature = "loom")))]
mod seeded;
#[cfg(any(feature = "loom", feature = "shuttle"))]
pub mod switching;
