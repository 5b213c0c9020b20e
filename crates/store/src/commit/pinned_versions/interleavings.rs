//! Tests of publishing, pinning and discarding history, in every interleaving of the threads.
//!
//! `cargo test --release -p pelorus-store --features loom --lib interleavings`

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_env::sync::AtomicU64;
use pelorus_env::sync::switching::{JoinHandle, model};

use super::Pins;
use crate::catalog::schema::Version;

/// A table as far as its history goes.
struct Scene {
    pins: Arc<Pins>,
    /// The newest version that can be read.
    published: AtomicU64,
    /// Older versions cannot be read.
    floor: AtomicU64,
    /// Rows that died at or below this version are no longer there.
    merged: AtomicU64,
}

impl Scene {
    fn new() -> Arc<Self> {
        let at = |version| AtomicU64::new(version);
        Arc::new(Self { pins: Arc::default(), published: at(5), floor: at(3), merged: at(3) })
    }

    fn publish(&self, version: Version) {
        self.published.fetch_max(version, Ordering::AcqRel);
    }

    /// What maintenance does: decides the horizon, then drops what only older versions see.
    fn merge(&self, wanted: Version) {
        let horizon = self.pins.horizon(&self.published, wanted, |horizon| {
            self.floor.fetch_max(horizon, Ordering::AcqRel);
            horizon
        });
        self.merged.fetch_max(horizon, Ordering::AcqRel);
    }

    /// What a snapshot does, at the newest version or an older one; whether it could be read.
    fn read(&self, version: Option<Version>) -> bool {
        let newest = || self.published.load(Ordering::Acquire);
        let pin = self.pins.pin(|| version.map_or_else(newest, |version| version.min(newest())));
        if pin.version() < self.floor.load(Ordering::Acquire) {
            return false;
        }
        // As long as the pin is held, all is there.
        for _ in 0..2 {
            let merged = self.merged.load(Ordering::Acquire);
            assert!(merged <= pin.version(), "{merged} is above {}", pin.version());
        }
        true
    }
}

fn spawn(scene: &Arc<Scene>, run: impl FnOnce(&Scene) + Send + 'static) -> JoinHandle<()> {
    let scene = Arc::clone(scene);
    pelorus_env::sync::switching::spawn(move || run(&scene))
}

#[test]
fn the_newest_version_can_always_be_read_and_stays_whole() {
    let orders = model(3, || {
        let scene = Scene::new();
        let writer = spawn(&scene, |scene| {
            scene.publish(6);
            scene.publish(7);
        });
        let merger = spawn(&scene, |scene| {
            scene.merge(Version::MAX);
            scene.merge(Version::MAX);
        });
        assert!(scene.read(None));
        writer.join().unwrap();
        merger.join().unwrap();
    });
    assert!(orders > 500, "{orders} orders");
}

#[test]
fn an_older_version_is_refused_or_whole() {
    let orders = model(3, || {
        let scene = Scene::new();
        let merger = spawn(&scene, |scene| {
            scene.publish(6);
            scene.merge(5);
            scene.merge(Version::MAX);
        });
        let other = spawn(&scene, |scene| assert!(scene.read(None)));
        scene.read(Some(4));
        merger.join().unwrap();
        other.join().unwrap();
        scene.merge(Version::MAX);
        assert!(!scene.read(Some(5)));
    });
    assert!(orders > 500, "{orders} orders");
}

/// Two readers of one version, of whom one goes.
#[test]
fn the_last_reader_of_a_version_keeps_it() {
    let orders = model(3, || {
        let scene = Scene::new();
        let pin = scene.pins.pin(|| 5);
        let other = spawn(&scene, |scene| assert!(scene.read(Some(5))));
        let merger = spawn(&scene, |scene| {
            scene.publish(6);
            scene.merge(Version::MAX);
        });
        other.join().unwrap();
        merger.join().unwrap();
        assert!(scene.merged.load(Ordering::Acquire) <= pin.version());
        drop(pin);
        scene.merge(Version::MAX);
        assert_eq!(scene.merged.load(Ordering::Acquire), 6);
    });
    assert!(orders > 300, "{orders} orders");
}
