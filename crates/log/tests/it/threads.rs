//! Many threads on a real disk: one order for all, and groups that are shared.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, process, thread};

use pelorus_env::{Disk, RealDisk};
use pelorus_log::{Checkpoint, Log, Lsn, Options};

use crate::hooks::before_sync;
use crate::support::{SMALL, UUID};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pelorus-log-{name}-{}", process::id()));
        fs::remove_dir_all(&path).ok();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

const THREADS: u64 = 8;
const RECORDS: u64 = 150;

/// Appends and waits; a record is the number of the thread, its count, and filling.
fn write(log: &Log, thread: u64) -> Vec<Lsn> {
    let mut ends = Vec::new();
    for count in 0..RECORDS {
        let filling = vec![0; ((thread * 37 + count * 101) % 900) as usize];
        let parts = [&thread.to_le_bytes()[..], &count.to_le_bytes(), &filling];
        let end = log.append(&parts).unwrap();
        // Some do not wait for each record.
        if thread.is_multiple_of(2) || count.is_multiple_of(8) {
            log.wait(end).unwrap();
            assert!(log.durable() >= end);
        }
        if count % 50 == 7 {
            log.mark_idle().unwrap();
        }
        ends.push(end);
    }
    log.sync().unwrap();
    ends
}

#[test]
fn threads_share_groups_and_one_order() {
    let folder = Folder::new("threads");
    let syncs = Arc::new(AtomicU64::new(0));
    let count = syncs.clone();
    let disk = before_sync(Arc::new(RealDisk), move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    // Small enough that segments are begun and the buffer fills while others wait.
    let options =
        Options { segment_bytes: 65_536, reserve_bytes: 16_384, buffer_bytes: 8192, ..SMALL };
    let log = Log::create(Arc::new(disk), &folder.0, options, UUID, Lsn(0)).unwrap();
    let ends: Vec<Vec<Lsn>> = thread::scope(|scope| {
        let log = &log;
        let writers: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || write(log, t))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let syncs = syncs.load(Ordering::Relaxed);
    assert!(syncs < THREADS * RECORDS / 2, "{syncs} syncs");
    drop(log);

    let mut next = [0; THREADS as usize];
    let mut last = Lsn(0);
    let mut replay = |end: Lsn, bytes: &[u8]| {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let (thread, count) = (word(0) as usize, word(8));
        assert!(end > last);
        last = end;
        assert_eq!((count, end), (next[thread], ends[thread][count as usize]));
        next[thread] += 1;
        Ok(())
    };
    let from = Checkpoint::default();
    let log = Log::open(Arc::new(RealDisk), &folder.0, options, UUID, from, &mut replay).unwrap();
    assert_eq!(next, [RECORDS; THREADS as usize]);
    log.discard_before(log.end()).unwrap();
    log.remove_spares();
    assert_eq!(RealDisk.list(&folder.0).unwrap().len(), 1);
}
