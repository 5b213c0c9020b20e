//! Pinned versions: the versions that snapshots read, so that nothing that they see is removed.
//!
//! A reader pins a version under the lock under which the horizon is decided: either the decision
//! sees the pin, or the pin sees the floor that the decision has raised. `interleavings` tries
//! every order.

#[cfg(all(test, feature = "loom"))]
mod interleavings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_env::sync::{AtomicU64, Mutex};

use crate::catalog::schema::Version;

/// The versions that are read, each with the number of its readers.
#[derive(Debug, Default)]
pub(crate) struct Pins(Mutex<BTreeMap<Version, usize>>);

impl Pins {
    /// Pins the version that `pick` returns while the horizon cannot be raised.
    pub(crate) fn pin(self: &Arc<Self>, pick: impl FnOnce() -> Version) -> Arc<Pin> {
        let mut pins = self.0.lock();
        let version = pick();
        *pins.entry(version).or_insert(0) += 1;
        Arc::new(Pin { pins: Arc::clone(self), version })
    }

    /// The lowest version that is read, or the newest. `raise` runs with the wanted version, or
    /// with that one if it is lower, while no version can be pinned, so that a later pin sees the
    /// raised floor.
    pub(crate) fn horizon<T>(
        &self,
        published: &AtomicU64,
        wanted: Version,
        raise: impl FnOnce(Version) -> T,
    ) -> T {
        let pins = self.0.lock();
        let newest = published.load(Ordering::Acquire);
        let oldest = pins.first_key_value().map_or(newest, |(version, _)| *version);
        raise(wanted.min(oldest))
    }
}

/// Keeps a version readable until it is dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    pins: Arc<Pins>,
    version: Version,
}

impl Pin {
    /// The version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = self.pins.0.lock();
        if let Some(count) = pins.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.version);
            }
        }
    }
}
