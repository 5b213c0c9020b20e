//! Tests of disks that refuse operations, fail, lose writes or return wrong data.

use pelorus_env::{Disk as _, Fault, SimDisk, SyncFailure, Tear};
use pelorus_error::Code;

use super::script::*;

/// A workload during which one fault is asked for; returns the disk, the model and the end.
fn run(at: u64, fault: Fault) -> (SimDisk, Model, pelorus_error::Result<crate::BlockFile>) {
    let disk = SimDisk::new(at);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    disk.fail_after(at, fault);
    let end = work(&file, &mut model, 5, 6, &mut stop).map(|()| file);
    (disk, model, end)
}

/// Changing operations of the workload without a fault.
fn operations() -> u64 {
    let disk = SimDisk::new(0);
    let file = create(&disk).unwrap();
    let before = disk.operations();
    work(&file, &mut Model::created(), 5, 6, &mut stop).unwrap();
    disk.operations() - before
}

/// After a failed write or sync: no more writes, but reads; and nothing acknowledged is lost.
fn assert_poisoned(at: u64, fault: Fault) {
    let disk = SimDisk::new(at);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    disk.fail_after(at, fault);
    let Err(error) = work(&file, &mut model, 5, 6, &mut stop) else {
        assert_eq!(disk.clear_faults(), 1, "operation {at}: {fault:?} went unnoticed");
        return;
    };
    assert_eq!(error.code(), Code::FileWrite, "{error}");
    assert!(error.message().contains(PATH), "{error}");
    // The disk works again, but what became of the data is not known.
    assert_eq!(file.write(1, b"more", 0).unwrap_err().code(), Code::TableFailed);
    assert_eq!(file.begin_checkpoint().unwrap_err().code(), Code::TableFailed);
    if let Some((_, contents)) = model.checkpoints.get(&model.acknowledged) {
        for (id, payload) in contents {
            if model.current.contains_key(id) {
                assert_eq!(file.read(*id).unwrap(), *payload);
            }
        }
    }
    for tear in Tear::ALL {
        let disk = disk.fork(at);
        disk.crash_with(tear);
        let file = open(&disk).unwrap();
        let number = model.assert_state(&file, &model.possible());
        work(&file, &mut model.recovered(number), 6, 2, &mut stop).unwrap();
    }
}

#[test]
fn a_failed_sync_ends_writing_and_loses_nothing_acknowledged() {
    for at in 0..operations() {
        for mode in SyncFailure::ALL {
            assert_poisoned(at, Fault::Sync(mode));
        }
    }
}

/// The process starts again after a failed sync, works on, and then the machine crashes: what the
/// operating system's memory showed of a header, but the disk never took, must not have counted.
#[test]
fn a_file_that_is_opened_again_after_a_failed_sync_can_crash_at_any_operation() {
    for at in 0..operations() {
        let disk = SimDisk::new(at);
        let file = create(&disk).unwrap();
        let mut model = Model::created();
        disk.fail_after(at, Fault::Sync(SyncFailure::Cached));
        if work(&file, &mut model, 5, 6, &mut stop).is_ok() {
            continue;
        }
        drop(file);
        for again in 0.. {
            let disk = disk.fork(again);
            let file = open(&disk).unwrap();
            let before = model.acknowledged;
            let mut model = model.recovered(model.assert_state(&file, &model.possible()));
            // A header that is seen, but was not acknowledged, need not be durable yet.
            model.acknowledged = before;
            disk.fail_after(again, Fault::Crash);
            if work(&file, &mut model, 6, 2, &mut stop).is_ok() {
                assert!(again > 10, "the script has {again} operations");
                break;
            }
            for tear in Tear::ALL {
                let disk = disk.fork(at);
                disk.crash_with(tear);
                model.assert_state(&open(&disk).unwrap(), &model.possible());
            }
        }
    }
}

#[test]
fn a_failed_write_ends_writing_and_loses_nothing_acknowledged() {
    // A failed cut of the end of the file fails no call; the script does not cut.
    for at in 0..operations() {
        assert_poisoned(at, Fault::WriteError);
    }
}

#[test]
fn a_full_disk_at_any_write_is_survived_and_writing_goes_on() {
    for at in 0..operations() {
        let disk = SimDisk::new(at);
        let file = create(&disk).unwrap();
        let mut model = Model::created();
        disk.fail_after(at, Fault::DiskFull);
        let mut refused = 0;
        let mut on_error = |error| {
            refused += 1;
            go_on_if_full(error)
        };
        work(&file, &mut model, 5, 6, &mut on_error).unwrap();
        assert_eq!(refused + disk.clear_faults(), 1, "operation {at}");
        file.check_space().unwrap();
        for (id, payload) in &model.current {
            assert_eq!(file.read(*id).unwrap(), *payload);
        }
        model.checkpoint(&file, |_| Ok(())).unwrap();
        disk.crash_with(Tear::Nothing);
        model.assert_state(&open(&disk).unwrap(), &[model.acknowledged]);
    }
}

#[test]
fn a_full_disk_leaves_room_again_once_blocks_are_freed() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    disk.set_capacity(Some(40 * 4096));
    let error = loop {
        match model.write(&file, vec![1; 4000]) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), Code::DiskFull);
    assert_eq!(file.read(*model.current.keys().next().unwrap()).unwrap(), [1; 4000]);
    while let Some((&id, _)) = model.current.first_key_value() {
        model.free(&file, id).unwrap();
    }
    model.write(&file, vec![2; 4000]).unwrap();
    model.checkpoint(&file, |_| Ok(())).unwrap();
    disk.crash();
    model.assert_state(&open(&disk).unwrap(), &[model.acknowledged]);
}

#[test]
fn interruptions_and_partial_transfers_are_of_no_effect() {
    for at in 0..operations() {
        for fault in
            [Fault::InterruptedWrite, Fault::ShortWrite, Fault::InterruptedRead, Fault::ShortRead]
        {
            let (disk, model, file) = run(at, fault);
            file.unwrap();
            disk.crash_with(Tear::Nothing);
            disk.fail_after(0, fault);
            model.assert_state(&open(&disk).unwrap(), &[model.acknowledged]);
        }
    }
}

#[test]
fn writes_that_lie_never_lead_to_a_wrong_payload() {
    for at in 0..operations() {
        for fault in [Fault::LostWrite, Fault::MisdirectedWrite] {
            let (disk, model, _) = run(at, fault);
            disk.crash_with(Tear::Nothing);
            let file = match open(&disk) {
                Ok(file) => file,
                Err(error) => {
                    assert_eq!(error.code(), Code::FileDamaged, "{error}");
                    continue;
                }
            };
            let (_, contents) = &model.checkpoints[&file.header().number];
            for block in file.blocks() {
                match file.read(block.id) {
                    Ok(payload) => assert!(payload == contents[&block.id], "{fault:?} at {at}"),
                    Err(error) => assert_eq!(error.code(), Code::FileDamaged, "{error}"),
                }
            }
        }
    }
}

#[test]
fn a_stale_or_failed_read_is_an_error_of_that_read_only() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let mut model = Model::created();
    work(&file, &mut model, 5, 6, &mut stop).unwrap();
    model.checkpoint(&file, |_| Ok(())).unwrap();
    for (id, payload) in &model.current {
        disk.fail_after(0, Fault::ReadError);
        let error = file.read(*id).unwrap_err();
        assert_eq!(error.code(), Code::FileRead);
        disk.fail_after(0, Fault::StaleRead);
        if let Ok(found) = file.read(*id) {
            assert_eq!(found, *payload);
        }
        assert_eq!(file.read(*id).unwrap(), *payload);
    }
    // A header that cannot be read is passed over.
    disk.fail_after(0, Fault::ReadError);
    let opened = open(&disk).unwrap();
    let headers = model.checkpoints.keys().rev().take(2).copied().collect::<Vec<_>>();
    model.assert_state(&opened, &headers);
    assert!(opened.fallback().is_some());
}

#[test]
fn whose_a_file_is_can_be_read_while_one_header_can() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let root = file.write(1, b"root", 1).unwrap();
    file.checkpoint(root, 5, || Ok(())).unwrap();
    file.checkpoint(root, 6, || Ok(())).unwrap();
    let identity_of = || crate::BlockFile::identity_of(&shared(&disk), path());
    for slot in 0..2 {
        disk.fail_read_after(slot, Fault::ReadError);
        let (identity, lsn) = identity_of().unwrap();
        assert!(identity == IDENTITY && [5, 6].contains(&lsn), "without slot {slot}: {lsn}");
    }
    assert_eq!(identity_of().unwrap(), (IDENTITY, 6));
    disk.fail_read_after(0, Fault::ReadError);
    disk.fail_read_after(1, Fault::ReadError);
    assert_eq!(identity_of().unwrap_err().code(), Code::FileRead);
    for slot in 0..2 {
        disk.flip_bit(path(), slot * 4096 + 9, 1).unwrap();
    }
    let error = identity_of().unwrap_err();
    assert_eq!(error.code(), Code::FileDamaged);
    assert!(error.message().contains(PATH), "{error}");
}

#[test]
fn creation_is_durable_and_refuses_an_existing_file() {
    let disk = SimDisk::new(1);
    create(&disk).unwrap();
    disk.crash_with(Tear::Nothing);
    Model::created().assert_state(&open(&disk).unwrap(), &[1]);
    assert_eq!(create(&disk).unwrap_err().code(), Code::FileWrite);
    disk.remove(path()).unwrap();
    assert_eq!(open(&disk).unwrap_err().code(), Code::FileNotFound);
}

/// A header names a position of the log; it is not written before the log is durable up to there.
#[test]
fn the_log_is_durable_before_the_header_is_written() {
    let disk = SimDisk::new(1);
    let file = create(&disk).unwrap();
    let root = file.write(1, b"root", 1).unwrap();
    let before = file.header();
    let stands_at = |number: u64| {
        let crashed = disk.fork(number);
        crashed.crash_with(Tear::Everything);
        assert_eq!(open(&crashed).unwrap().header().number, number);
    };
    let log_failed = || {
        stands_at(before.number);
        Err(pelorus_error::Error::internal("the log failed"))
    };
    file.checkpoint(root, 9, log_failed).unwrap_err();
    assert_eq!(file.header(), before);
    stands_at(before.number);
    // That costs nothing: the next one succeeds.
    file.checkpoint(root, 9, || Ok(())).unwrap();
    assert_eq!(file.header().lsn, 9);
    stands_at(file.header().number);
}
