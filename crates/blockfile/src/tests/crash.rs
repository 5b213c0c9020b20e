//! Tests of crashes: the machine crashes at every operation, in every way, and again at every
//! operation after that.

use pelorus_env::{Disk as _, Fault, SimDisk, Tear, scaled};

use super::script::*;

/// Flips a bit of the newest header: the file must be exactly at the checkpoint before, whose
/// blocks must all be there (in PerconaFT they are reused by then). Only a header that was being
/// written when the machine crashed may be missing.
fn assert_fallback(disk: &SimDisk, model: &Model, newest: u64, certain: bool) {
    let Ok(bytes) = disk.durable_bytes(path()) else { return };
    let number = |slot: usize| {
        let at = slot * 4096 + 56;
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    let slot = if number(0) == newest { 0 } else { 1 };
    let rotten = disk.snapshot();
    let both_usable = open(&rotten).unwrap().fallback().is_none();
    assert!(both_usable || !certain, "{:?}", open(&rotten).unwrap().fallback());
    rotten.flip_bit(path(), slot * 4096 + 60, 3).unwrap();
    match open(&rotten) {
        Ok(file) if both_usable => {
            let previous = model.checkpoints.range(..newest).next_back().unwrap().0;
            model.assert_state(&file, &[*previous]);
            assert!(file.fallback().unwrap().contains("checksum"), "{:?}", file.fallback());
        }
        Ok(file) => panic!("opened at {:?} without a fallback", file.header()),
        Err(error) => assert!(!both_usable, "{error}"),
    }
}

/// Whether no header can have been torn by the crash.
fn is_certain(before: &Model, after: &Model) -> bool {
    let torn = before.possible().len() > 1 && after.acknowledged == before.acknowledged;
    !torn && !before.checkpoints.is_empty()
}

/// Opens after a crash and verifies; returns the model of what was found.
fn assert_recovers(disk: &SimDisk, model: &Model) -> Option<Model> {
    let file = match open(disk) {
        Ok(file) => file,
        // Only a file whose creation was not acknowledged may be missing or incomplete.
        Err(error) => {
            assert!(model.checkpoints.is_empty(), "{error}");
            return None;
        }
    };
    let allowed = if model.checkpoints.is_empty() { vec![0, 1] } else { model.possible() };
    let created = Model::created();
    let model = if model.checkpoints.is_empty() { &created } else { model };
    let number = model.assert_state(&file, &allowed);
    Some(model.recovered(number))
}

/// Runs the workload until the machine crashes at operation `at`.
fn run(seed: u64, at: u64) -> (SimDisk, Model) {
    let disk = SimDisk::new(seed);
    disk.fail_after(at, Fault::Crash);
    let mut model = Model::default();
    if let Ok(file) = create(&disk) {
        model = Model::created();
        work(&file, &mut model, 11, 8, &mut stop).ok();
    }
    (disk, model)
}

fn operations() -> u64 {
    run(1, u64::MAX).0.operations()
}

#[test]
fn a_crash_at_any_operation_leaves_the_last_or_the_next_checkpoint() {
    let operations = operations();
    assert!(operations > 70, "{operations}");
    let mut numbers = std::collections::BTreeSet::new();
    for at in 0..operations {
        let (disk, model) = run(at, at);
        for (seed, tear) in
            (0..u64::from(scaled(4))).flat_map(|seed| Tear::ALL.map(|tear| (seed, tear)))
        {
            let crashed = disk.fork(at * 100 + seed);
            crashed.crash_with(tear);
            if let Some(found) = assert_recovers(&crashed, &model) {
                numbers.insert((model.acknowledged, found.acknowledged));
                let certain = is_certain(&model, &found);
                assert_fallback(&crashed, &found, found.acknowledged, certain);
            }
        }
    }
    // Both outcomes of a checkpoint in flight have occurred.
    assert!(numbers.contains(&(5, 5)) && numbers.contains(&(5, 6)), "{numbers:?}");
}

#[test]
fn a_second_crash_at_any_operation_after_recovery_is_recovered_from_too() {
    let operations = operations();
    // Every third point, since each has a recovery of its own to be swept; all of them at leisure.
    for at in (0..operations).step_by(if scaled(1) > 1 { 1 } else { 3 }) {
        let (disk, model) = run(at, at);
        for tear in Tear::ALL {
            let crashed = disk.fork(at);
            crashed.crash_with(tear);
            let Some(found) = assert_recovers(&crashed, &model) else { continue };
            for again in 0..14 {
                let disk = crashed.fork(again);
                disk.fail_after(again, Fault::Crash);
                let mut model = found.clone();
                let file = open(&disk).expect("opening changes nothing");
                let end = work(&file, &mut model, 12, 1, &mut stop);
                assert_eq!(end.is_err(), disk.list(path()).is_err());
                for tear in [Tear::Random, Tear::ALL[(again % 6) as usize]] {
                    let disk = disk.fork(at + again);
                    disk.crash_with(tear);
                    let after = assert_recovers(&disk, &model).expect("it was open before");
                    let moved = after.acknowledged > found.acknowledged;
                    let certain = moved && is_certain(&model, &after);
                    assert_fallback(&disk, &after, after.acknowledged, certain);
                }
            }
        }
    }
}

#[test]
fn opening_writes_nothing() {
    let (disk, _) = run(1, 90);
    disk.crash();
    let before = (disk.operations(), disk.durable_bytes(path()).unwrap());
    let file = open(&disk).unwrap();
    file.verify_all();
    drop(file);
    assert_eq!((disk.operations(), disk.durable_bytes(path()).unwrap()), before);
}

#[test]
fn a_newer_header_that_could_not_be_read_never_comes_back() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let file = create(&disk).unwrap();
        let mut model = Model::created();
        model.write(&file, vec![1; 100]).unwrap();
        for round in 0..3 {
            model.write(&file, vec![round; 20_000]).unwrap();
            model.checkpoint(&file, |_| Ok(())).unwrap();
        }
        assert_eq!(model.acknowledged, 4);
        // The newest header stands in slot 0, which is read first.
        disk.fail_after(0, Fault::ReadError);
        let file = open(&disk).unwrap();
        let mut model = model.recovered(model.assert_state(&file, &[3]));
        // This goes to the place of blocks of checkpoint 4.
        model.write(&file, vec![9; 10_000]).unwrap();
        disk.crash_with(if seed == 0 { Tear::Everything } else { Tear::Random });
        // The slot was cleared for good before anything else was written.
        model.assert_state(&open(&disk).unwrap(), &[3]);
    }
}
