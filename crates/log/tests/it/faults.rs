//! Operations that fail: syncs in every mode, writes, full disks, short and interrupted calls.

use std::sync::{Arc, OnceLock};

use pelorus_env::{Disk as _, Fault, Open, SimDisk, SyncFailure, Tear};
use pelorus_error::{Code, Result};
use pelorus_log::{Checkpoint, Log, Lsn, Options};

use crate::hooks::before_sync;
use crate::support::*;

const LENGTHS: [usize; 10] = [100, 5000, 1, 9000, 300, 0, 4000, 50, 30_000, 10];

/// Appends and syncs until something fails.
fn run(log: &Log, oracle: &mut Oracle) -> Result<()> {
    for (index, length) in LENGTHS.into_iter().enumerate() {
        oracle.append(log, length)?;
        if index % 3 != 1 {
            oracle.sync(log)?;
        }
        if index % 4 == 3 {
            log.mark_idle()?;
            oracle.checkpoint(log);
            log.discard_before(oracle.checkpoint.lsn)?;
        }
    }
    oracle.sync(log)
}

/// Once poisoned, always poisoned: nothing is taken or acknowledged, whatever the disk says now.
fn assert_poisoned(log: &Log, oracle: &Oracle) {
    for _ in 0..2 {
        let error = log.append(&[b"more"]).unwrap_err();
        assert_eq!(error.code(), Code::TableFailed);
        assert!(error.message().contains("simulated fault"), "{error}");
        assert_eq!(log.mark_idle().unwrap_err().code(), Code::TableFailed);
    }
    for (index, (lsn, _)) in oracle.issued.iter().enumerate() {
        let acknowledged = log.wait(*lsn);
        if index < oracle.acked {
            acknowledged.unwrap();
        } else if let Err(error) = acknowledged {
            assert_eq!(error.code(), Code::TableFailed);
        } else {
            assert!(*lsn <= log.durable());
        }
    }
}

#[test]
fn a_failed_write_or_sync_poisons_the_log_and_loses_nothing_acknowledged() {
    let modes = SyncFailure::ALL.map(Fault::Sync);
    let (mut poisoned, mut failed_creation) = (0, 0);
    let both = |fault| [(fault, true), (fault, false)];
    for (fault, allocates) in modes.into_iter().chain([Fault::WriteError]).flat_map(both) {
        for operation in 0.. {
            let disk = SimDisk::new(operation);
            disk.set_allocates(allocates);
            disk.fail_after(operation, fault);
            let mut oracle = Oracle::default();
            if let Ok(log) = create(&disk, SMALL) {
                oracle.created = true;
                if run(&log, &mut oracle).is_ok() && disk.clear_faults() > 0 {
                    break;
                }
                if log.append(&[b"probe"]).is_err() {
                    assert_poisoned(&log, &oracle);
                    poisoned += 1;
                } else {
                    // Removing an old segment failed; that is no reason to stop.
                    assert_eq!(fault, Fault::WriteError);
                    continue;
                }
            } else {
                failed_creation += 1;
            }
            // Opened again as the memory of the system has it, and after a crash of the machine.
            for tear in [None, Some(Tear::Nothing), Some(Tear::Random), Some(Tear::Everything)] {
                let disk = disk.fork(operation);
                let mut oracle = oracle.clone();
                tear.iter().for_each(|tear| disk.crash_with(*tear));
                let Some(log) = oracle.reopen(&disk, SMALL).unwrap() else { continue };
                run(&log, &mut oracle).unwrap();
                drop(log);
                // What the memory had and recovery gave out must survive the next crash.
                disk.crash_with(Tear::Nothing);
                oracle.reopen(&disk, SMALL).unwrap().unwrap();
            }
        }
    }
    assert!(poisoned > 100 && failed_creation > 5, "{poisoned}, {failed_creation}");
}

/// A failure elsewhere while a group is on its way: that group is not acknowledged either.
#[test]
fn a_failure_during_a_sync_keeps_the_group_from_being_acknowledged() {
    let disk = SimDisk::new(1);
    let place: Arc<OnceLock<Arc<Log>>> = Arc::default();
    let (hook_disk, hook_place) = (disk.clone(), place.clone());
    let hooked = before_sync(Arc::new(disk.clone()), move || {
        if let Some(log) = hook_place.get() {
            // Reserving space for this record fails.
            hook_disk.fail_after(0, Fault::WriteError);
            assert_eq!(log.append(&[&[0; 20_000]]).unwrap_err().code(), Code::TableFailed);
        }
    });
    let log = Log::create(Arc::new(hooked), folder(), SMALL, UUID, Lsn(0)).unwrap();
    let log = place.get_or_init(|| Arc::new(log));
    let end = log.append(&[b"on its way"]).unwrap();
    assert_eq!(log.wait(end).unwrap_err().code(), Code::TableFailed);
    assert_eq!(log.durable(), Lsn(0));
}

/// The trap of a failed sync: the next opening reads records from memory that no disk has, and
/// a further sync says that all is well.
#[test]
fn records_that_only_the_memory_has_are_written_again_before_they_are_given_out() {
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let log = create(&disk, SMALL).unwrap();
    oracle.append(&log, 100).unwrap();
    oracle.sync(&log).unwrap();
    oracle.append(&log, 200).unwrap();
    disk.fail_after(0, Fault::Sync(SyncFailure::Once));
    assert_eq!(log.sync().unwrap_err().code(), Code::TableFailed);
    assert_eq!(oracle.acked, 1);
    oracle.reopen(&disk, SMALL).unwrap().unwrap();
    assert_eq!(oracle.acked, 2, "the memory had it");
    disk.crash_with(Tear::Nothing);
    oracle.reopen(&disk, SMALL).unwrap().unwrap();
    assert_eq!(oracle.acked, 2);
}

#[test]
fn a_full_disk_refuses_records_and_goes_on_when_there_is_space() {
    let both = |pages: u64| [(pages * 4096, true), (pages * 4096, false)];
    for (capacity, allocates) in (4..60).flat_map(both) {
        let disk = SimDisk::new(capacity);
        disk.set_allocates(allocates);
        let log = create(&disk, SMALL).unwrap();
        let mut oracle = Oracle::created();
        disk.set_capacity(Some(capacity));
        let mut refused = 0;
        for length in LENGTHS.into_iter().cycle().take(40) {
            match oracle.append(&log, length) {
                Ok(_) => oracle.sync(&log).unwrap(),
                Err(error) => {
                    assert_eq!(error.code(), Code::DiskFull, "{error}");
                    refused += 1;
                }
            }
            log.mark_idle().ok();
        }
        assert!(refused > 0);
        // Small ones may fit again after a checkpoint; with space, all do.
        oracle.checkpoint(&log);
        log.discard_before(oracle.checkpoint.lsn).unwrap();
        disk.set_capacity(None);
        run(&log, &mut oracle).unwrap();
        drop(log);
        disk.crash();
        oracle.reopen(&disk, SMALL).unwrap().unwrap();
    }
}

/// Records that wait while a segment is begun have their space in the new one.
#[test]
fn what_was_accepted_has_its_space_in_a_new_segment_too() {
    let disk = SimDisk::new(1);
    let place: Arc<OnceLock<Arc<Log>>> = Arc::default();
    let (hook_place, waiting) = (place.clone(), Arc::new(OnceLock::new()));
    let hook_waiting = waiting.clone();
    let hooked = before_sync(Arc::new(disk.clone()), move || {
        if let Some(log) = hook_place.get()
            && hook_waiting.get().is_none()
        {
            hook_waiting.set(log.append(&[&[7; 20_000]]).unwrap()).unwrap();
        }
    });
    let options = Options { segment_bytes: 4096, reserve_bytes: 0, ..SMALL };
    let log = Log::create(Arc::new(hooked), folder(), options, UUID, Lsn(0)).unwrap();
    let log = place.get_or_init(|| Arc::new(log));
    log.wait(log.append(&[b"first"]).unwrap()).unwrap();
    assert_eq!(segments(&disk).len(), 2);
    disk.set_capacity(Some(0));
    log.wait(*waiting.get().unwrap()).unwrap();
    // It has as much again, for the case that an opening has to copy it.
    assert!(append_until_full(log) <= 20_000 / 4096);
}

#[test]
fn opening_on_a_full_disk_fails_cleanly_and_works_later() {
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let log = create(&disk, SMALL).unwrap();
    run(&log, &mut oracle).unwrap();
    drop(log);
    disk.set_capacity(Some(0));
    for _ in 0..3 {
        assert_eq!(oracle.reopen(&disk, SMALL).unwrap_err().code(), Code::DiskFull);
    }
    disk.set_capacity(None);
    oracle.reopen(&disk, SMALL).unwrap().unwrap();
}

/// Enough is taken ahead for a part of it to be kept: 16 KiB.
/// Lets a disk take no more than it holds.
fn fill(disk: &SimDisk) {
    let length =
        |name: &String| disk.open(&folder().join(name), Open::Read).unwrap().length().unwrap();
    disk.set_capacity(Some(disk.list(folder()).unwrap().iter().map(length).sum()));
}

/// Appends records until there is no room for another one; gives how many there were.
fn append_until_full(log: &Log) -> usize {
    for count in 0..100 {
        match log.append(&[&[7; 3000]]) {
            Ok(lsn) => log.wait(lsn).unwrap(),
            Err(error) => {
                assert_eq!(error.code(), Code::DiskFull);
                return count;
            }
        }
    }
    panic!("the disk was never full");
}

#[test]
fn records_that_free_space_have_some_on_a_full_disk() {
    let disk = SimDisk::new(1);
    let log = create(&disk, ROOMY).unwrap();
    log.wait(log.append(&[b"first"]).unwrap()).unwrap();
    fill(&disk);
    let many = append_until_full(&log);
    for _ in 0..3 {
        log.wait(log.append_freeing(&[b"something is dropped"]).unwrap()).unwrap();
        assert_eq!(append_until_full(&log), 0);
    }
    disk.set_capacity(None);
    log.wait(log.append(&[b"more"]).unwrap()).unwrap();
    drop(log);
    disk.crash();
    let (_, records) = open(&disk, ROOMY, Checkpoint::default()).unwrap();
    assert_eq!(records.len(), 1 + many + 3 + 1);
}

#[test]
fn space_is_lent_and_taken_back() {
    let disk = SimDisk::new(1);
    let log = create(&disk, ROOMY).unwrap();
    log.wait(log.append(&[b"first"]).unwrap()).unwrap();
    fill(&disk);
    let other = disk.open(&folder().join("other"), Open::Create).unwrap();
    assert!(other.write_at(&[1; 4096], 0).is_err(), "the disk is full");
    assert!(log.lend_space());
    assert!(!log.lend_space(), "there is nothing more");
    assert_eq!(other.write_at(&[1; 4096], 0).unwrap(), 4096);
    log.keep_space();
    log.wait(log.append_freeing(&[b"something is dropped"]).unwrap()).unwrap();
    drop(log);
    disk.crash();
    let (_, records) = open(&disk, ROOMY, Checkpoint::default()).unwrap();
    assert_eq!(records.len(), 2);
    // Those who keep none have none to lend.
    let disk = SimDisk::new(1);
    let log = create(&disk, SMALL).unwrap();
    log.wait(log.append(&[b"first"]).unwrap()).unwrap();
    assert!(!log.lend_space());
}

/// What was lent may be gone for good. The last records have room nevertheless, and so has an opening.
#[test]
fn the_last_records_and_openings_have_room_when_what_was_lent_is_gone() {
    for (tear, records) in Tear::ALL.into_iter().flat_map(|tear| [0, 2].map(|it| (tear, it))) {
        let options = Options { reserve_bytes: 256 << 10, ..ROOMY };
        let disk = SimDisk::new(1);
        let mut log = create(&disk, options).unwrap();
        log.wait(log.append(&[b"first"]).unwrap()).unwrap();
        fill(&disk);
        append_until_full(&log);
        assert!(log.lend_space());
        let other = disk.open(&folder().join("other"), Open::Create).unwrap();
        let taken = (0..).take_while(|at| other.write_at(&[1; 4096], at * 4096).is_ok()).count();
        assert!(taken > 8, "{taken} blocks were lent");
        log.keep_space();
        let refused = log.append_freeing(&[b"something is dropped"]).unwrap_err();
        assert_eq!(refused.code(), Code::DiskFull);
        for _ in 0..records {
            log.wait(log.append_last(&[b"a file is removed"]).unwrap()).unwrap();
        }
        drop(log);
        disk.crash_with(tear);
        log = open(&disk, options, Checkpoint::default()).unwrap().0;
        // Its name may have been lost.
        disk.remove(&folder().join("other")).ok();
        log.keep_space();
        for round in 0..3 {
            let at = || format!("{tear:?}, {records} last records, record {round}");
            let dropped = log.append_freeing(&[b"something is dropped"]);
            log.wait(dropped.unwrap_or_else(|error| panic!("{}: {error}", at()))).unwrap();
        }
    }
}

/// A group that has to be copied has its space, however large it is.
#[test]
fn a_log_is_opened_on_a_full_disk_whatever_was_written_last() {
    let cases = Tear::ALL.into_iter().flat_map(|tear| [true, false].map(|it| (tear, it)));
    for ((tear, allocates), bytes) in
        cases.flat_map(|it| [9000, 70_000, 1_500_000].map(|n| (it, n)))
    {
        let disk = SimDisk::new(1);
        disk.set_allocates(allocates);
        let log = create(&disk, ROOMY).unwrap();
        for _ in 0..2 {
            log.wait(log.append(&[b"first"]).unwrap()).unwrap();
            log.wait(log.append(&[&vec![7; bytes]]).unwrap()).unwrap();
        }
        log.lend_space();
        fill(&disk);
        drop(log);
        for _ in 0..4 {
            disk.crash_with(tear);
            let (log, found) = open(&disk, ROOMY, Checkpoint::default()).unwrap();
            assert_eq!(found.len(), 4, "{tear:?}, {bytes} bytes");
            assert_eq!(found[3].1.len(), bytes);
            drop(log);
        }
    }
}

/// A segment that has no successor for all that is known does not go on when it may have one.
#[test]
fn a_new_segment_that_may_have_its_name_is_not_passed_over() {
    let mut failed = 0;
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let log = create(&disk, ROOMY).unwrap();
        log.wait(log.append(&[b"first"]).unwrap()).unwrap();
        log.mark_idle().unwrap();
        drop(log);
        drop(open(&disk, ROOMY, Checkpoint::default()).unwrap());
        disk.fail_after(operation, Fault::DiskFull);
        let opened = open(&disk, ROOMY, Checkpoint::default());
        if disk.clear_faults() > 0 {
            break;
        }
        failed += 1;
        if let Ok((log, _)) = opened {
            log.wait(log.append(&[b"second"]).unwrap()).unwrap();
            drop(log);
            disk.crash_with(Tear::Everything);
            assert_eq!(open(&disk, ROOMY, Checkpoint::default()).unwrap().1.len(), 2);
        } else {
            disk.crash_with(Tear::Everything);
            assert_eq!(open(&disk, ROOMY, Checkpoint::default()).unwrap().1.len(), 1);
        }
    }
    assert!(failed > 3, "{failed}");
}

/// Whatever becomes of the cut, and however often it is opened.
#[test]
fn a_log_is_opened_on_a_full_disk_in_the_space_that_it_took_ahead() {
    for tear in Tear::ALL {
        let disk = SimDisk::new(1);
        let mut log = create(&disk, ROOMY).unwrap();
        log.wait(log.append(&[b"first"]).unwrap()).unwrap();
        fill(&disk);
        for count in 1..4 {
            drop(log);
            disk.crash_with(tear);
            let (again, records) = open(&disk, ROOMY, Checkpoint::default()).unwrap();
            assert_eq!(records.len(), count, "{tear:?}");
            log = again;
            log.wait(log.append_freeing(&[b"something is dropped"]).unwrap()).unwrap();
        }
    }
}

#[test]
fn a_full_disk_at_any_operation_loses_nothing() {
    for allocates in [true, false] {
        let (mut refused, mut poisoned) = (0, 0);
        for operation in 0.. {
            let disk = SimDisk::new(operation);
            disk.set_allocates(allocates);
            let mut oracle = Oracle::created();
            let log = create(&disk, SMALL).unwrap();
            disk.fail_after(operation, Fault::DiskFull);
            let first = run(&log, &mut oracle);
            if disk.clear_faults() > 0 {
                break;
            }
            match first.map_err(|error| error.code()) {
                // Beginning a segment was put off.
                Ok(()) => {}
                Err(Code::DiskFull) => {
                    refused += 1;
                    run(&log, &mut oracle).unwrap();
                }
                // A disk that has no space to overwrite what was reserved.
                Err(Code::TableFailed) => {
                    poisoned += 1;
                    assert_poisoned_by_full_disk(&log);
                }
                Err(code) => panic!("{code:?}"),
            }
            disk.crash();
            oracle.reopen(&disk, SMALL).unwrap().unwrap();
        }
        assert!(refused > 3 && poisoned > 3, "{allocates}: {refused}, {poisoned}");
    }
}

/// Where no file can be opened, the segment that is written goes on; later there is a new one again.
#[test]
fn too_many_open_files_put_a_new_segment_off_and_lose_nothing() {
    let mut refused = 0;
    for operation in 0.. {
        let disk = SimDisk::new(operation);
        let mut oracle = Oracle::created();
        let log = create(&disk, SMALL).unwrap();
        disk.fail_after(operation, Fault::TooManyFiles);
        run(&log, &mut oracle).unwrap();
        if disk.clear_faults() > 0 {
            break;
        }
        refused += 1;
        let before = segments(&disk);
        run(&log, &mut oracle).unwrap();
        assert_ne!(segments(&disk), before, "segments are begun again");
        drop(log);
        disk.crash();
        oracle.reopen(&disk, SMALL).unwrap().unwrap();
    }
    assert!(refused > 3, "{refused}");
}

fn assert_poisoned_by_full_disk(log: &Log) {
    let error = log.append(&[b"more"]).unwrap_err();
    assert!(error.message().contains("the disk is full"), "{error}");
}

#[test]
fn short_and_interrupted_calls_change_nothing() {
    for fault in
        [Fault::ShortRead, Fault::InterruptedRead, Fault::ShortWrite, Fault::InterruptedWrite]
    {
        for operation in 0..40 {
            let disk = SimDisk::new(operation);
            let mut oracle = Oracle::created();
            disk.fail_after(operation, fault);
            let log = create(&disk, SMALL).unwrap();
            run(&log, &mut oracle).unwrap();
            disk.fail_after(0, fault);
            oracle.reopen(&disk, SMALL).unwrap().unwrap();
        }
    }
}

#[test]
fn a_failed_read_is_reported_and_the_next_opening_works() {
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let log = create(&disk, SMALL).unwrap();
    run(&log, &mut oracle).unwrap();
    drop(log);
    disk.fail_after(0, Fault::ReadError);
    assert_eq!(oracle.reopen(&disk, SMALL).unwrap_err().code(), Code::FileRead);
    oracle.reopen(&disk, SMALL).unwrap().unwrap();
}

#[test]
fn a_new_folder_that_cannot_be_made_durable_is_no_log() {
    for operation in 0..3 {
        let disk = SimDisk::new(1);
        disk.fail_after(operation, Fault::Sync(SyncFailure::Once));
        let log = Log::create(Arc::new(disk.clone()), folder(), SMALL, UUID, Lsn(0));
        assert_eq!(log.unwrap_err().code(), Code::FileWrite);
        disk.crash_with(Tear::Nothing);
        assert!(open(&disk, SMALL, Checkpoint::default()).is_err());
    }
}
