//! Bits that flip, sectors that go bad, files that are cut, swapped, lost, or full of rubbish:
//! acknowledged records come back as they were, or the log is refused. Never other bytes.

use pelorus_env::{Disk, Fault, Open, SimDisk, write_all_at};
use pelorus_error::Code;
use pelorus_log::{Checkpoint, Options};
use proptest::prelude::*;

use crate::decoder::bytes_of;
use crate::support::*;

/// A log of several segments, all of it acknowledged.
fn log_of(idle: bool) -> (SimDisk, Oracle) {
    let disk = SimDisk::new(3);
    let mut oracle = Oracle::created();
    let log = create(&disk, SMALL).unwrap();
    for lengths in [&[30, 0, 700][..], &[4100], &[9], &[2000, 2000], &[60], &[40, 50]] {
        for &length in lengths {
            oracle.append(&log, length).unwrap();
        }
        oracle.sync(&log).unwrap();
    }
    if idle {
        log.mark_idle().unwrap();
    }
    (disk, oracle)
}

/// The bits of a segment that are not padding or reserve, and some of those.
fn bits(bytes: &[u8]) -> Vec<usize> {
    let quiet = |at: usize| bytes[at.saturating_sub(16)..(at + 16).min(bytes.len())] == [0; 32];
    (0..bytes.len() * 8).filter(|bit| !quiet(bit / 8) || bit % 509 == 0).collect()
}

#[test]
fn every_flipped_bit_is_seen_or_harmless() {
    let (disk, oracle) = log_of(true);
    let (mut flips, mut refusals) = (0, 0);
    for path in segments(&disk) {
        for bit in bits(&bytes_of(&disk, &path)) {
            let disk = disk.fork(bit as u64);
            disk.flip_bit(&path, bit as u64 / 8, (bit % 8) as u8).unwrap();
            flips += 1;
            match oracle.clone().reopen(&disk, SMALL) {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.code(), Code::FileDamaged, "{error}");
                    refusals += 1;
                }
            }
        }
    }
    // Every bit of a header and of a record is seen: about 9,000 bytes of records.
    assert!(refusals > 70_000 && flips > refusals, "{refusals} of {flips}");
}

/// Without the marker, the same holds for all groups but the last, whose damage looks like a torn
/// write; what the data files know closes that gap too.
#[test]
fn the_last_group_is_protected_by_what_the_checkpoint_knows() {
    let (disk, oracle) = log_of(false);
    let last = segments(&disk).pop().unwrap();
    let durable = open(&disk.fork(1), SMALL, Checkpoint::default()).unwrap().0.durable();
    let before_last_group = oracle.issued.len() - 2;
    let mut cut = 0;
    for bit in bits(&bytes_of(&disk, &last)) {
        let disk = disk.fork(bit as u64);
        disk.flip_bit(&last, bit as u64 / 8, (bit % 8) as u8).unwrap();
        if let Ok((_, records)) = open(&disk.fork(1), SMALL, Checkpoint::default()) {
            assert!(records.len() >= before_last_group && oracle.issued.starts_with(&records));
            cut += usize::from(records.len() < oracle.issued.len());
        }
        let known = Checkpoint { durable, ..Checkpoint::default() };
        match open(&disk, SMALL, known) {
            Ok((_, records)) => assert_eq!(records, oracle.issued),
            Err(error) => assert_eq!(error.code(), Code::FileDamaged),
        }
    }
    assert!(cut > 0);
}

#[test]
fn writes_that_lie_are_found_by_what_was_acknowledged() {
    for fault in [Fault::LostWrite, Fault::MisdirectedWrite] {
        let mut found = 0;
        for operation in 0..60 {
            let disk = SimDisk::new(operation);
            let mut oracle = Oracle::created();
            let log = create(&disk, SMALL).unwrap();
            disk.fail_after(operation, fault);
            for length in [100, 5000, 1, 9000, 300, 300, 4000, 50] {
                oracle.append(&log, length).unwrap();
                oracle.sync(&log).unwrap();
            }
            disk.clear_faults();
            oracle.checkpoint.durable = log.durable();
            if let Err(error) = oracle.reopen(&disk, SMALL) {
                assert_eq!(error.code(), Code::FileDamaged);
                found += 1;
            }
        }
        assert!(found > 5, "{fault:?} was found {found} times");
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Bytes(usize, u64, Vec<u8>),
    Zeros(usize, u64, usize),
    Cut(usize, u64),
    Remove(usize),
    Swap(usize, usize),
    /// A block of one segment over a block of another.
    Copy(usize, u64, usize, u64),
    Rubbish(u64, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..600);
    prop_oneof![
        (0_usize..9, 0_u64..30_000, bytes()).prop_map(|(f, at, b)| Damage::Bytes(f, at, b)),
        (0_usize..9, 0_u64..30_000, 1_usize..5000).prop_map(|(f, at, n)| Damage::Zeros(f, at, n)),
        (0_usize..9, 0_u64..30_000).prop_map(|(f, length)| Damage::Cut(f, length)),
        (0_usize..9).prop_map(Damage::Remove),
        (0_usize..9, 0_usize..9).prop_map(|(a, b)| Damage::Swap(a, b)),
        (0_usize..9, 0_u64..7, 0_usize..9, 0_u64..7)
            .prop_map(|(a, from, b, to)| Damage::Copy(a, from, b, to)),
        (0_u64..6, bytes()).prop_map(|(n, b)| Damage::Rubbish(n, b)),
    ]
}

impl Damage {
    fn apply(&self, disk: &SimDisk) {
        let files = segments(disk);
        if files.is_empty() {
            return;
        }
        let file = |index: usize| &files[index % files.len()];
        match self {
            Self::Bytes(f, at, bytes) => disk.overwrite(file(*f), *at, bytes).unwrap(),
            Self::Zeros(f, at, n) => disk.overwrite(file(*f), *at, &vec![0; *n]).unwrap(),
            Self::Cut(f, length) => disk.truncate_raw(file(*f), *length).unwrap(),
            Self::Remove(f) => disk.remove(file(*f)).unwrap(),
            Self::Swap(a, b) => {
                let spare = folder().join("spare");
                if file(*a) != file(*b) {
                    disk.rename(file(*a), &spare).unwrap();
                    disk.rename(file(*b), file(*a)).unwrap();
                    disk.rename(&spare, file(*b)).unwrap();
                }
            }
            Self::Copy(a, from, b, to) => {
                let mut bytes = bytes_of(disk, file(*a));
                bytes.resize(40_000, 0);
                let block = &bytes[*from as usize * 4096..][..4096];
                disk.overwrite(file(*b), to * 4096, block).unwrap();
            }
            Self::Rubbish(number, bytes) => rubbish(disk, *number, bytes),
        }
    }
}

fn rubbish(disk: &SimDisk, number: u64, bytes: &[u8]) {
    disk.remove(&segment(number)).ok();
    let file = disk.open(&segment(number), Open::Create).unwrap();
    write_all_at(&*file, bytes, 0).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(3000)))]

    #[test]
    fn damage_is_refused_or_harmless(damages in prop::collection::vec(damage(), 1..4)) {
        let (disk, mut oracle) = log_of(true);
        oracle.checkpoint.durable =
            open(&disk.fork(1), SMALL, Checkpoint::default()).unwrap().0.durable();
        for damage in &damages {
            damage.apply(&disk);
        }
        if let Err(error) = oracle.reopen(&disk, SMALL) {
            prop_assert_eq!(error.code(), Code::FileDamaged, "{}", error);
        }
    }

    #[test]
    fn rubbish_is_refused(
        files in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9000), 1..4),
    ) {
        let disk = SimDisk::new(1);
        disk.create_folder(folder()).unwrap();
        for (number, bytes) in files.iter().enumerate() {
            rubbish(&disk, number as u64, bytes);
        }
        let error = open(&disk, Options::default(), Checkpoint::default()).unwrap_err();
        prop_assert_eq!(error.code(), Code::FileDamaged);
    }
}
