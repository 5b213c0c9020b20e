//! What the calls promise when nothing fails.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Disk, Fault, Open, SimDisk, Tear};
use pelorus_error::{Code, Error};
use pelorus_log::{Checkpoint, Log, Lsn, Options, RECORD_BYTES_MAX};

use crate::decoder::decode;
use crate::support::*;

#[test]
fn records_of_all_sizes_come_back_in_order_over_many_segments() {
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let mut log = create(&disk, SMALL).unwrap();
    for round in 0..4 {
        // The last size is larger than a segment and than the buffer.
        for length in [0, 1, 37, 4047, 4048, 4049, 4096, 9000, 60_000] {
            oracle.append(&log, length).unwrap();
            if (length + round) % 2 == 0 {
                oracle.sync(&log).unwrap();
            }
        }
        oracle.sync(&log).unwrap();
        assert_eq!(decode(&disk), oracle.issued);
        log = oracle.reopen(&disk, SMALL).unwrap().unwrap();
        assert_eq!(decode(&disk), oracle.issued);
    }
    assert!(segments(&disk).len() > 8);
}

#[test]
fn replay_begins_behind_the_checkpoint() {
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let log = create(&disk, SMALL).unwrap();
    for index in 0..60 {
        oracle.append(&log, 700).unwrap();
        if index % 3 == 0 {
            oracle.sync(&log).unwrap();
        }
    }
    oracle.sync(&log).unwrap();
    let durable = log.durable();
    drop(log);
    for index in 0..oracle.issued.len() {
        let lsn = oracle.issued[index].0;
        let (_, records) = open(&disk.fork(2), SMALL, Checkpoint { lsn, durable }).unwrap();
        assert_eq!(records, oracle.issued[index + 1..]);
    }
}

#[test]
fn discarding_keeps_what_lies_behind_the_position_and_the_segment_that_is_written() {
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let mut log = create(&disk, SMALL).unwrap();
    for index in 0..40 {
        oracle.append(&log, 3000).unwrap();
        oracle.sync(&log).unwrap();
        if index % 10 == 9 {
            let before = segments(&disk).len();
            oracle.checkpoint(&log);
            log.discard_before(oracle.checkpoint.lsn).unwrap();
            let after = segments(&disk).len();
            assert!(after < before && after <= 2, "{after} of {before} segments are left");
            assert_eq!(segments(&disk.snapshot()).len(), after, "the removal is durable");
            log = oracle.reopen(&disk, SMALL).unwrap().unwrap();
        }
    }
    oracle.checkpoint(&log);
    log.discard_before(log.end()).unwrap();
    assert_eq!(segments(&disk).len(), 1);
    oracle.append(&log, 10).unwrap();
    oracle.sync(&log).unwrap();
    oracle.reopen(&disk, SMALL).unwrap();
}

/// The files of segments that nobody needs become new ones; what stands in them is never read as
/// the log's, also where the log ends within it.
#[test]
fn old_files_become_new_segments() {
    let spares = |disk: &SimDisk| {
        let names = disk.list(folder()).unwrap();
        names.iter().filter(|name| name.ends_with(".spare")).count()
    };
    let disk = SimDisk::new(1);
    let mut oracle = Oracle::created();
    let mut log = create(&disk, SMALL).unwrap();
    let mut taken = 0;
    for index in 0..60 {
        let before = spares(&disk);
        oracle.append(&log, 3000).unwrap();
        oracle.sync(&log).unwrap();
        taken += before - spares(&disk);
        if index % 12 == 11 {
            oracle.checkpoint(&log);
            log.discard_before(oracle.checkpoint.lsn).unwrap();
            assert_eq!(spares(&disk), SMALL.spare_segments);
            assert_eq!(spares(&disk.snapshot()), SMALL.spare_segments, "their names are durable");
        }
        if index % 12 == 3 {
            // The log ends in a file that was full before.
            assert!(index == 3 || taken > 0);
            let records = decode(&disk);
            assert!(!records.is_empty() && oracle.issued.ends_with(&records));
        }
    }
    assert!(taken >= 6, "{taken} files were taken again");
    log.remove_spares();
    assert_eq!(spares(&disk), 0);
    oracle.checkpoint(&log);
    log.discard_before(oracle.checkpoint.lsn).unwrap();
    log = oracle.reopen(&disk, SMALL).unwrap().unwrap();
    assert_eq!(spares(&disk), 0, "opening removes what a stop left");
    oracle.append(&log, 10).unwrap();
    oracle.sync(&log).unwrap();
    oracle.reopen(&disk, SMALL).unwrap();
}

/// Space that is set aside is not what a full disk lacks.
#[test]
fn a_full_disk_takes_what_is_set_aside() {
    for allocates in [true, false] {
        let disk = SimDisk::new(1);
        disk.set_allocates(allocates);
        fill_what_is_set_aside(&disk);
    }
}

fn fill_what_is_set_aside(disk: &SimDisk) {
    let mut oracle = Oracle::created();
    let log = create(disk, SMALL).unwrap();
    for _ in 0..12 {
        oracle.append(&log, 3000).unwrap();
        oracle.sync(&log).unwrap();
    }
    oracle.checkpoint(&log);
    log.discard_before(oracle.checkpoint.lsn).unwrap();
    let length =
        |name: &String| disk.open(&folder().join(name), Open::Read).unwrap().length().unwrap();
    let used: u64 = disk.list(folder()).unwrap().iter().map(length).sum();
    disk.set_capacity(Some(used + 4096));
    // More than the segment has, and than is free.
    oracle.append(&log, 20_000).unwrap();
    oracle.sync(&log).unwrap();
    assert!(!disk.list(folder()).unwrap().iter().any(|name| name.ends_with(".spare")));
    oracle.reopen(disk, SMALL).unwrap();
}

/// Where records need much space at once, the disk is asked for it, and no zeros are written.
#[test]
fn much_space_is_allocated_where_a_disk_can() {
    let count = |allocates: bool, length: usize| {
        let disk = SimDisk::new(1);
        disk.set_allocates(allocates);
        let log = create(&disk, SMALL).unwrap();
        let mut oracle = Oracle::created();
        disk.fail_after(0, Fault::LostWrite);
        oracle.append(&log, length).unwrap();
        let zeros = 1 - disk.clear_faults();
        oracle.sync(&log).unwrap();
        oracle.append(&log, 100).unwrap();
        oracle.sync(&log).unwrap();
        drop(log);
        disk.crash_with(Tear::Nothing);
        oracle.reopen(&disk, SMALL).unwrap();
        assert_eq!(oracle.acked, 2);
        zeros
    };
    assert_eq!([count(true, 20_000), count(false, 20_000)], [0, 1]);
    assert_eq!([count(true, 5000), count(false, 5000)], [1, 1]);
}

/// Somebody may open the log from a later position than the one that somebody else still needs.
#[test]
fn what_lay_before_the_position_of_a_start_can_be_kept() {
    let disk = SimDisk::new(1);
    let log = create(&disk, SMALL).unwrap();
    let mut ends = Vec::new();
    for index in 0..40_u8 {
        ends.push(log.append(&[&[index; 3000]]).unwrap());
        log.sync().unwrap();
    }
    let count = segments(&disk).len();
    drop(log);
    let late = Checkpoint { lsn: ends[35], durable: ends[39] };
    let (log, records) = open(&disk, SMALL, late).unwrap();
    assert_eq!(records.len(), 4);
    log.discard_before(ends[10]).unwrap();
    assert!(segments(&disk).len() < count && segments(&disk).len() > 2);
    drop(log);
    let early = Checkpoint { lsn: ends[10], durable: ends[39] };
    let (_, records) = open(&disk, SMALL, early).unwrap();
    assert_eq!(records.len(), 29);
}

#[test]
fn an_idle_marker_is_written_once() {
    let disk = SimDisk::new(1);
    let log = create(&disk, SMALL).unwrap();
    let quiet = |disk: &SimDisk| {
        let before = disk.operations();
        log.mark_idle().unwrap();
        disk.operations() == before
    };
    assert!(quiet(&disk), "a new log needs no marker");
    log.append(&[b"a"]).unwrap();
    assert!(quiet(&disk), "a log that waits is not idle");
    log.sync().unwrap();
    assert!(!quiet(&disk));
    assert!(quiet(&disk), "a marker needs no marker");
    let (log, records) = open(&disk, SMALL, Checkpoint::default()).unwrap();
    assert_eq!(records.len(), 1);
    let before = disk.operations();
    log.mark_idle().unwrap();
    assert_eq!(disk.operations(), before, "a header proves what was copied behind it");
}

#[test]
fn a_group_takes_all_that_waits_and_one_sync() {
    let disk = SimDisk::new(1);
    let log = create(&disk, Options::default()).unwrap();
    log.append(&[b"warm"]).unwrap();
    log.sync().unwrap();
    let before = disk.operations();
    let ends: Vec<Lsn> = (0..1000).map(|_| log.append(&[&[7; 100]]).unwrap()).collect();
    assert_eq!(log.durable(), Lsn(4096));
    log.wait(ends[0]).unwrap();
    assert!(log.durable() >= ends[999]);
    assert_eq!(disk.operations() - before, 2, "one write and one sync");
    log.wait(ends[999]).unwrap();
    assert_eq!(disk.operations() - before, 2);
}

#[test]
fn a_full_buffer_is_written_by_who_appends() {
    let disk = SimDisk::new(1);
    let log = create(&disk, Options { buffer_bytes: 10_000, ..Options::default() }).unwrap();
    for _ in 0..100 {
        log.append(&[&[1; 1500]]).unwrap();
        assert!(log.bytes_since(log.durable()) <= 10_000);
    }
    // A record beyond the bound goes alone.
    log.append(&[&[1; 50_000]]).unwrap();
    log.append(&[&[1; 10]]).unwrap();
    assert!(log.bytes_since(log.durable()) <= 10_000);
}

#[test]
fn records_beyond_the_limit_are_refused_before_they_are_copied() {
    let log = create(&SimDisk::new(1), SMALL).unwrap();
    let part = vec![0; 1 << 20];
    // 1 GiB and a byte, and beyond 4 GiB.
    for (count, tail) in [(1024, 1), (5000, 0)] {
        let mut parts = vec![&part[..]; count];
        parts.push(&part[..tail]);
        let error = log.append(&parts).unwrap_err();
        assert_eq!(error.code(), Code::RowTooLarge);
    }
    assert_eq!(log.end(), Lsn(0));
    assert_eq!(RECORD_BYTES_MAX, 1 << 30);
}

#[test]
fn waiting_for_what_was_never_appended_is_an_error() {
    let log = create(&SimDisk::new(1), SMALL).unwrap();
    assert_eq!(log.wait(Lsn(1)).unwrap_err().code(), Code::Internal);
}

#[test]
fn a_log_can_begin_at_a_position() {
    let disk = SimDisk::new(1);
    let log = Log::create(Arc::new(disk.clone()), folder(), SMALL, UUID, Lsn(10_000)).unwrap();
    assert_eq!(log.end(), Lsn(12_288));
    let end = log.append(&[b"first"]).unwrap();
    log.sync().unwrap();
    let from = Checkpoint { lsn: Lsn(12_288), durable: Lsn(12_288) };
    assert_eq!(open(&disk, SMALL, from).unwrap().1, [(end, b"first".to_vec())]);
    let disk = Arc::new(SimDisk::new(1));
    let error = Log::create(disk, folder(), SMALL, UUID, Lsn(u64::MAX)).unwrap_err();
    assert_eq!(error.code(), Code::Internal);
}

#[test]
fn the_end_of_the_positions_is_an_error() {
    let disk = Arc::new(SimDisk::new(1));
    let log = Log::create(disk, folder(), SMALL, UUID, Lsn(u64::MAX - 8191)).unwrap();
    for _ in 0..3 {
        assert_eq!(log.append(&[&[0; 9000]]).unwrap_err().code(), Code::Internal);
    }
}

#[test]
fn create_does_not_touch_a_log_that_is_there() {
    let disk = SimDisk::new(1);
    create(&disk, SMALL).unwrap();
    assert_eq!(create(&disk, SMALL).unwrap_err().code(), Code::FileWrite);
    open(&disk, SMALL, Checkpoint::default()).unwrap();
}

#[test]
fn an_error_of_the_caller_ends_replay() {
    let disk = SimDisk::new(1);
    let log = create(&disk, SMALL).unwrap();
    log.append(&[b"a"]).unwrap();
    log.sync().unwrap();
    let from = Checkpoint::default();
    let error = Log::open(Arc::new(disk), folder(), SMALL, UUID, from, &mut |_, _| {
        Err(Error::new(Code::TableFull, "no memory"))
    });
    assert_eq!(error.unwrap_err().code(), Code::TableFull);
}

#[test]
fn other_files_in_the_folder_stay() {
    let disk = SimDisk::new(1);
    create(&disk, SMALL).unwrap();
    let note = folder().join("note.txt");
    disk.open(&note, Open::Create).unwrap();
    let leftover = segment(9).with_extension("new");
    disk.open(&leftover, Open::Create).unwrap();
    open(&disk, SMALL, Checkpoint::default()).unwrap();
    let names = disk.list(folder()).unwrap();
    let has = |path: &Path| names.iter().any(|name| folder().join(name) == path);
    assert!(has(&note) && !has(&leftover), "{names:?}");
}
