//! Measures the log on a real disk:
//! `cargo run --release -p pelorus-log --example throughput FOLDER`.
//!
//! One thread with records of 4 MB, eight threads with records of 200 bytes that each wait for
//! every record, and reading all of it back.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a report for people")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use pelorus_env::{Clock as _, Disk as _, RealDisk, SystemClock};
use pelorus_error::{Code, Error, Result};
use pelorus_log::{Checkpoint, Log, Lsn, Options};

const UUID: [u8; 16] = *b"throughput test.";
const SECONDS: f64 = 5.0;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| Error::new(Code::WrongUsage, "usage: throughput FOLDER"))?;
    for (threads, bytes) in [(1, 4_000_000), (1, 200), (8, 200), (64, 200)] {
        write(&folder.join("throughput-log"), threads, bytes)?;
    }
    Ok(())
}

fn write(folder: &Path, threads: usize, bytes: usize) -> Result<()> {
    let disk = Arc::new(RealDisk);
    let log = Log::create(disk.clone(), folder, Options::default(), UUID, Lsn(0))?;
    let clock = SystemClock::default();
    let payload: Vec<u8> = (0..bytes).map(|at| (at * 31 % 251).to_le_bytes()[0]).collect();
    let count = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while clock.monotonic().as_secs_f64() < SECONDS {
                    let end = log.append(&[&payload]).expect("the disk has space");
                    log.wait(end).expect("the disk works");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (count, seconds) = (count.load(Ordering::Relaxed) as f64, clock.monotonic().as_secs_f64());
    println!(
        "{threads} threads, {bytes} bytes: {:.0} appends/s, {:.1} MB/s, {:.2} ms each",
        count / seconds,
        count * bytes as f64 / seconds / 1e6,
        seconds * 1e3 * threads as f64 / count
    );
    drop(log);
    read(folder, count)
}

/// Reads what was written, and removes it.
fn read(folder: &Path, count: f64) -> Result<()> {
    let disk = Arc::new(RealDisk);
    let clock = SystemClock::default();
    let (mut bytes, mut records) = (0, 0.0);
    let mut replay = |_: Lsn, payload: &[u8]| {
        bytes += payload.len();
        records += 1.0;
        Ok(())
    };
    let from = Checkpoint::default();
    let log = Log::open(disk.clone(), folder, Options::default(), UUID, from, &mut replay)?;
    assert!(records == count, "what was acknowledged is there");
    let seconds = clock.monotonic().as_secs_f64();
    println!(
        "    replay: {:.0} MB/s of payload, {:.0} MB/s of log, {:.0} records/s",
        bytes as f64 / seconds / 1e6,
        log.end().0 as f64 / seconds / 1e6,
        records / seconds
    );
    let failed = |error| Error::new(Code::FileWrite, "cannot remove the log").caused_by(error);
    for name in disk.list(folder).map_err(failed)? {
        disk.remove(&folder.join(name)).map_err(failed)?;
    }
    disk.remove_folder(folder).map_err(failed)
}
