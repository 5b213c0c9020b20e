//! Coverage marks of rare paths. Simulations count the paths and fail if one is never taken; in all
//! other builds the marks compile to nothing.

/// Says that a rare path is taken.
#[cfg(not(feature = "shuttle"))]
#[inline(always)]
pub fn rare(_path: &'static str) {}

/// Says that a rare path is taken if that is so; the condition is only looked at in simulations.
#[cfg(not(feature = "shuttle"))]
#[inline(always)]
pub fn rare_if(_path: &'static str, _is_taken: impl FnOnce() -> bool) {}

#[cfg(feature = "shuttle")]
pub use counted::{rare, rare_if, take_rare};

#[cfg(feature = "shuttle")]
mod counted {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    thread_local! {
        /// All threads of a simulation run on one of the operating system.
        static COUNTS: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
    }

    /// Says that a rare path is taken.
    pub fn rare(path: &'static str) {
        COUNTS.with_borrow_mut(|counts| *counts.entry(path).or_default() += 1);
    }

    /// Says that a rare path is taken if that is so.
    pub fn rare_if(path: &'static str, is_taken: impl FnOnce() -> bool) {
        if is_taken() {
            rare(path);
        }
    }

    /// How often each path was taken since the last call.
    pub fn take_rare() -> BTreeMap<&'static str, u64> {
        COUNTS.take()
    }
}
