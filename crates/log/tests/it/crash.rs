//! Every crash point: the machine stops at each operation that changes the disk, in each way of
//! tearing, and again at each operation of the recovery that follows.
//!
//! Every crash point has its own seed, which follows from its place in the sweep.

use pelorus_env::{Fault, SimDisk, Tear, scaled};
use pelorus_error::{Code, Result};
use pelorus_log::{Log, Options};

use crate::support::*;

/// Groups of one and of many records, rotation, a record beyond a segment, idle markers, records
/// that are never synced, checkpoints with discarding, segments in old files, and a clean restart.
fn workload(disk: &SimDisk, options: Options, oracle: &mut Oracle) -> Result<()> {
    let mut log = create(disk, options)?;
    oracle.created = true;
    for round in 0..2 {
        let first = oracle.append(&log, 100)?;
        oracle.append(&log, 5000)?;
        oracle.wait(&log, first)?;
        for length in [1, 4000, 0, 9000] {
            oracle.append(&log, length)?;
            oracle.sync(&log)?;
        }
        log.mark_idle()?;
        oracle.append(&log, 300)?;
        oracle.append(&log, 20_000 * round)?;
        oracle.sync(&log)?;
        oracle.append(&log, 3000)?;
        if round == 0 {
            oracle.checkpoint(&log);
            log.discard_before(oracle.checkpoint.lsn)?;
            log.sync()?;
            // Into files that were full before, one of them up to its middle.
            for length in [9000, 9000, 100] {
                oracle.append(&log, length)?;
                oracle.sync(&log)?;
            }
            log = oracle.reopen(disk, options)?.unwrap();
        }
    }
    Ok(())
}

/// Recovers, goes on, and crashes once more, losing all that may be lost.
fn check(disk: &SimDisk, options: Options, oracle: &Oracle) -> Oracle {
    let mut oracle = oracle.clone();
    let Some(log) = oracle.reopen(disk, options).unwrap() else { return oracle };
    let recovered = oracle.clone();
    for length in [50, 6000] {
        oracle.append(&log, length).unwrap();
        oracle.sync(&log).unwrap();
    }
    oracle.append(&log, 5000).unwrap();
    disk.crash_with(Tear::Random);
    oracle.reopen(disk, options).unwrap().unwrap();
    disk.crash_with(Tear::Nothing);
    oracle.reopen(disk, options).unwrap().unwrap();
    recovered
}

/// On a full disk: openings, records that free space, space that is lent to others, and taken back.
fn full_workload(disk: &SimDisk, oracle: &mut Oracle) -> Result<()> {
    let mut log = create(disk, ROOMY)?;
    oracle.created = true;
    oracle.append(&log, 100)?;
    oracle.sync(&log)?;
    disk.set_capacity(Some(disk.used()));
    let unless_full = |result: Result<()>| match result {
        Err(error) if error.code() != Code::DiskFull => Err(error),
        done => Ok(done.is_ok()),
    };
    while unless_full(oracle.append(&log, 20_000).map(|_| ()))? {
        oracle.sync(&log)?;
    }
    for round in 0..3 {
        log.lend_space();
        log.keep_space();
        let free = |log: &Log, parts: &[&[u8]]| log.append_freeing(parts);
        if unless_full(oracle.append_by(&log, 300, free).map(|_| ()))? {
            oracle.sync(&log)?;
        }
        if round == 1 {
            unless_full(log.mark_idle())?;
        }
        // Unsynced.
        unless_full(oracle.append_by(&log, 500, |log, parts| log.append_last(parts)).map(|_| ()))?;
        for _ in 0..2 {
            log = oracle.reopen(disk, ROOMY)?.unwrap();
        }
    }
    oracle.checkpoint(&log);
    log.discard_before(oracle.checkpoint.lsn)?;
    oracle.append(&log, 5000)?;
    oracle.sync(&log)
}

/// The log is opened in the space that it has, again and again; with more space, it works as usual.
fn check_full(disk: &SimDisk, oracle: &Oracle) -> Oracle {
    let mut oracle = oracle.clone();
    if oracle.reopen(disk, ROOMY).unwrap().is_none() {
        return oracle;
    }
    let recovered = oracle.clone();
    for tear in [Tear::Nothing, Tear::Random, Tear::Everything] {
        disk.crash_with(tear);
        oracle.reopen(disk, ROOMY).unwrap().unwrap();
    }
    disk.set_capacity(None);
    check(disk, ROOMY, &oracle);
    recovered
}

#[test]
fn no_crash_point_on_a_full_disk_loses_a_record_or_an_opening() {
    let mut points = 0;
    for operation in 0.. {
        let probe = SimDisk::new(operation);
        probe.set_allocates(operation % 2 == 0);
        probe.fail_after(operation, Fault::Crash);
        let mut oracle = Oracle::default();
        if full_workload(&probe, &mut oracle).is_ok() {
            break;
        }
        for (index, tear) in Tear::ALL.into_iter().enumerate() {
            let seed = operation * 64 + index as u64;
            let crashed = probe.fork(seed);
            crashed.crash_with(tear);
            points += 1;
            check_full(&crashed.fork(seed + 1), &oracle);
            for again in 0.. {
                let probe = crashed.fork(seed);
                probe.fail_after(again, Fault::Crash);
                if open(&probe, ROOMY, oracle.checkpoint).is_ok() || probe.clear_faults() > 0 {
                    break;
                }
                for (index, tear) in
                    [Tear::Random, Tear::ALL[(seed + again) as usize % Tear::ALL.len()]]
                        .into_iter()
                        .enumerate()
                {
                    let twice = probe.fork(seed + 2 + index as u64);
                    twice.crash_with(tear);
                    points += 1;
                    check_full(&twice, &oracle);
                }
            }
        }
    }
    assert!(points > 2000, "{points}");
}

/// How often the interesting things happened.
#[derive(Debug, Default)]
struct Seen {
    points: usize,
    /// An unacknowledged record survived, or did not.
    kept: usize,
    cut: usize,
    recovery_points: usize,
}

fn sweep(options: Options, allocates: bool, seen: &mut Seen) {
    for operation in 0.. {
        let probe = SimDisk::new(operation);
        probe.set_allocates(allocates);
        probe.fail_after(operation, Fault::Crash);
        let mut oracle = Oracle::default();
        if workload(&probe, options, &mut oracle).is_ok() {
            return;
        }
        for (index, tear) in Tear::ALL.into_iter().enumerate() {
            let seed = operation * 64 + index as u64;
            let crashed = probe.fork(seed);
            crashed.crash_with(tear);
            seen.points += 1;
            let clean = crashed.fork(seed + 1);
            let recovered = check(&clean, options, &oracle);
            seen.kept += usize::from(recovered.acked > oracle.acked);
            seen.cut += usize::from(recovered.issued.len() < oracle.issued.len());
            sweep_recovery(&crashed, options, &oracle, seed, seen);
        }
    }
}

fn sweep_recovery(
    crashed: &SimDisk,
    options: Options,
    oracle: &Oracle,
    seed: u64,
    seen: &mut Seen,
) {
    for operation in 0.. {
        let probe = crashed.fork(seed);
        probe.fail_after(operation, Fault::Crash);
        if open(&probe, options, oracle.checkpoint).is_ok() {
            return;
        }
        if probe.clear_faults() > 0 {
            // There was no log yet; nothing crashed.
            return;
        }
        // All modes would take minutes; which one joins the random one changes from point to point.
        let other = Tear::ALL[(seed + operation) as usize % Tear::ALL.len()];
        let all = scaled(1) > 1;
        let tears = if all { &Tear::ALL[..] } else { &[Tear::Random, other] };
        for (index, &tear) in tears.iter().enumerate() {
            let again = probe.fork(seed + 2 + index as u64);
            again.crash_with(tear);
            seen.recovery_points += 1;
            check(&again, options, oracle);
        }
    }
}

#[test]
fn no_crash_point_loses_an_acknowledged_record() {
    let mut seen = Seen::default();
    let tiny =
        Options { segment_bytes: 4096, reserve_bytes: 0, buffer_bytes: 8192, spare_segments: 0 };
    sweep(SMALL, false, &mut seen);
    sweep(tiny, true, &mut seen);
    if scaled(1) > 1 {
        sweep(SMALL, true, &mut seen);
        sweep(tiny, false, &mut seen);
    }
    assert!(
        seen.points > 800 && seen.recovery_points > 5000 && seen.kept > 50 && seen.cut > 50,
        "{seen:?}"
    );
}

/// The tail that recovery cut comes back, as it does when the cut itself was not durable or the
/// disk reorders: it must stay cut.
#[test]
fn what_was_cut_never_comes_back() {
    let disk = SimDisk::new(5);
    let mut oracle = Oracle::created();
    let log = create(&disk, SMALL).unwrap();
    oracle.append(&log, 100).unwrap();
    oracle.sync(&log).unwrap();
    let whole = {
        let disk = disk.fork(6);
        let log = open(&disk, SMALL, oracle.checkpoint).unwrap().0;
        log.append(&[&[9; 300]]).unwrap();
        log.sync().unwrap();
        crate::decoder::bytes_of(&disk, &segment(2))
    };
    // The same without the second group: segment 2 ends behind the first.
    let log = oracle.reopen(&disk, SMALL).unwrap().unwrap();
    drop(log);
    let log = oracle.reopen(&disk, SMALL).unwrap().unwrap();
    oracle.append(&log, 50).unwrap();
    oracle.sync(&log).unwrap();
    disk.overwrite(&segment(2), 0, &whole).unwrap();
    assert_eq!(oracle.reopen(&disk, SMALL).map(|_| oracle.issued.len()).unwrap(), 2);
}
