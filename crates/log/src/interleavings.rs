//! Tests of group commit in every interleaving of the threads, up to a bound of preemptions.
//!
//! `cargo test --release -p pelorus-log --features loom --lib interleavings`

use std::path::Path;
use std::sync::Arc;

use pelorus_env::sync::switching::{JoinHandle, model, spawn, switching_disk};
use pelorus_env::{Fault, SimDisk, SyncFailure};
use pelorus_error::Code;

use crate::{Checkpoint, Log, Lsn, Options};

const OPTIONS: Options =
    Options { segment_bytes: 1 << 20, reserve_bytes: 0, buffer_bytes: 1 << 20, spare_segments: 0 };

/// A log on a disk of its own.
struct Scene {
    disk: SimDisk,
    log: Arc<Log>,
}

impl Scene {
    fn new(options: Options) -> Self {
        let disk = SimDisk::new(1);
        let switching = switching_disk(Arc::new(disk.clone()));
        let log = Log::create(Arc::new(switching), Path::new("log"), options, [7; 16], Lsn(0));
        Self { disk, log: Arc::new(log.unwrap()) }
    }

    /// Starts a thread.
    fn spawn<T: Send + 'static>(
        &self,
        run: impl FnOnce(&SimDisk, &Log) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let (disk, log) = (self.disk.clone(), Arc::clone(&self.log));
        spawn(move || run(&disk, &log))
    }

    /// The records that are left after a crash that takes all that was not synced.
    fn after_a_crash(&self) -> Vec<Vec<u8>> {
        let disk = self.disk.fork(1);
        disk.crash_with(pelorus_env::Tear::Nothing);
        let mut found = Vec::new();
        let mut replay = |_: Lsn, bytes: &[u8]| {
            found.push(bytes.to_vec());
            Ok(())
        };
        let (disk, from) = (Arc::new(disk), Checkpoint::default());
        Log::open(disk, Path::new("log"), OPTIONS, [7; 16], from, &mut replay).unwrap();
        found
    }
}

/// Whether a record is on the disk for good.
fn is_durable(disk: &SimDisk, record: &[u8]) -> bool {
    let segments = (1..9)
        .filter_map(|number| disk.durable_bytes(Path::new(&format!("log/{number:020}.log"))).ok());
    segments.into_iter().any(|bytes| bytes.windows(record.len()).any(|found| found == record))
}

/// Appends a record and waits for it; whether it was acknowledged, which only what is durable is.
fn write(disk: &SimDisk, log: &Log, record: &[u8]) -> bool {
    let Ok(end) = log.append(&[record]) else { return false };
    let acknowledged = log.wait(end);
    if let Err(error) = &acknowledged {
        assert_eq!(error.code(), Code::TableFailed, "{error}");
        return false;
    }
    assert!(log.durable() >= end);
    assert!(is_durable(disk, record), "{record:?} was acknowledged");
    true
}

const RECORDS: [&[u8]; 3] = [b"the first record", b"the second record", b"the third record"];

#[test]
fn writers_share_groups_and_nobody_is_told_too_early_or_never() {
    let orders = model(5, || {
        let scene = Scene::new(OPTIONS);
        let other = scene.spawn(|disk, log| write(disk, log, RECORDS[1]));
        assert!(write(&scene.disk, &scene.log, RECORDS[0]));
        assert!(other.join().unwrap());
        assert_eq!(scene.after_a_crash().len(), 2);
    });
    assert!(orders > 100, "{orders} orders");
}

#[test]
fn three_writers_and_a_marker() {
    let orders = model(4, || {
        let scene = Scene::new(OPTIONS);
        let others = [
            scene.spawn(|disk, log| assert!(write(disk, log, RECORDS[1]))),
            scene.spawn(|disk, log| assert!(write(disk, log, RECORDS[2]))),
        ];
        scene.log.mark_idle().unwrap();
        assert!(write(&scene.disk, &scene.log, RECORDS[0]));
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(scene.after_a_crash().len(), 3);
    });
    assert!(orders > 100, "{orders} orders");
}

/// Every group ends its segment, and one record fills the buffer.
#[test]
fn writers_rotate_and_wait_for_room() {
    let orders = model(4, || {
        let options =
            Options { segment_bytes: 1, reserve_bytes: 0, buffer_bytes: 1, spare_segments: 1 };
        let scene = Scene::new(options);
        let other = scene.spawn(|disk, log| {
            assert!(write(disk, log, RECORDS[1]));
            log.discard_before(Lsn(0)).unwrap();
        });
        assert!(write(&scene.disk, &scene.log, RECORDS[0]));
        assert!(write(&scene.disk, &scene.log, RECORDS[2]));
        other.join().unwrap();
        assert_eq!(scene.after_a_crash().len(), 3);
    });
    assert!(orders > 100, "{orders} orders");
}

/// One sync fails, in any of the writers: an acknowledged writer can rely on it, and no writer is
/// acknowledged afterwards.
#[test]
fn a_failed_sync_reaches_all_who_wait() {
    for mode in SyncFailure::ALL {
        for operation in [1, 3] {
            model(4, move || {
                let scene = Scene::new(OPTIONS);
                scene.disk.fail_after(operation, Fault::Sync(mode));
                let other = scene.spawn(|disk, log| write(disk, log, RECORDS[1]));
                let mine = write(&scene.disk, &scene.log, RECORDS[0]);
                let theirs = other.join().unwrap();
                let failed = scene.disk.clear_faults() == 0;
                if failed {
                    assert!(!write(&scene.disk, &scene.log, RECORDS[2]));
                }
                assert!(failed || mine && theirs);
                let left = scene.after_a_crash();
                assert!(left.len() >= usize::from(mine) + usize::from(theirs));
            });
        }
    }
}
