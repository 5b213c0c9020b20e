//! Tests of the simulated disk: synced data survives, other data can be lost in every way that the
//! model allows, and each fault has its effect.

#![expect(clippy::cast_possible_truncation, reason = "lengths of small files in memory")]

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::aligned::{ALIGNMENT, AlignedBytes};
use crate::disk::{read_exact_at, write_all_at};

const PATH: &str = "data";

fn path() -> &'static Path {
    Path::new(PATH)
}

/// A disk with one durable file.
fn disk_with(bytes: &[u8], seed: u64) -> (SimDisk, Arc<dyn DiskFile>) {
    let disk = SimDisk::new(seed);
    let file = disk.open(path(), Open::Create).unwrap();
    write_all_at(&*file, bytes, 0).unwrap();
    file.sync().unwrap();
    disk.sync_folder(Path::new("")).unwrap();
    (disk, file)
}

fn read_all(disk: &SimDisk) -> Vec<u8> {
    let file = disk.open(path(), Open::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

#[test]
fn names_become_durable_by_the_sync_of_their_folder() {
    let disk = SimDisk::new(1);
    disk.create_folder(Path::new("a/b")).unwrap();
    // The names of folders are durable at once, each in its own folder.
    assert_eq!(disk.snapshot().list(Path::new("")).unwrap(), ["a"]);
    assert_eq!(disk.snapshot().list(Path::new("a")).unwrap(), ["b"]);
    disk.open(Path::new("a/b/x"), Open::Create).unwrap().sync().unwrap();
    assert_eq!(disk.snapshot().list(Path::new("a/b")).unwrap(), [""; 0]);
    // A creation that is cut short leaves none.
    let cut = disk.fork(3);
    cut.fail_after(0, Fault::Crash);
    cut.create_folder(Path::new("a/c/d")).unwrap_err();
    cut.crash_with(Tear::Nothing);
    assert_eq!(cut.list(Path::new("a")).unwrap(), ["b"]);
    disk.sync_folder(Path::new("a/b")).unwrap();
    assert_eq!(disk.snapshot().list(Path::new("a/b")).unwrap(), ["x"]);

    disk.rename(Path::new("a/b/x"), Path::new("a/b/y")).unwrap();
    assert_eq!(disk.list(Path::new("a/b")).unwrap(), ["y"]);
    assert_eq!(disk.snapshot().list(Path::new("a/b")).unwrap(), ["x"]);
    disk.sync_folder(Path::new("a/b")).unwrap();
    assert_eq!(disk.snapshot().list(Path::new("a/b")).unwrap(), ["y"]);

    disk.remove(Path::new("a/b/y")).unwrap();
    assert_eq!(disk.snapshot().list(Path::new("a/b")).unwrap(), ["y"]);
    let survived = disk.fork(2);
    survived.crash_with(Tear::Everything);
    assert_eq!(survived.list(Path::new("a/b")).unwrap(), [""; 0]);
}

#[test]
fn names_obey_the_rules_of_a_file_system() {
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    let disk = SimDisk::new(1);
    let open = |name: &str, how| disk.open(Path::new(name), how).map(|_| ());
    assert_eq!(kind(open("none/x", Open::Create)), ErrorKind::NotFound);
    assert_eq!(kind(open("x", Open::Write)), ErrorKind::NotFound);
    open("x", Open::Create).unwrap();
    assert_eq!(kind(open("x", Open::Create)), ErrorKind::AlreadyExists);
    assert_eq!(kind(disk.create_folder(Path::new("x"))), ErrorKind::AlreadyExists);
    disk.create_folder(Path::new("f")).unwrap();
    disk.create_folder(Path::new("f")).unwrap();
    open("f/y", Open::Create).unwrap();
    assert_eq!(kind(disk.remove_folder(Path::new("f"))), ErrorKind::DirectoryNotEmpty);
    assert_eq!(kind(disk.remove(Path::new("f"))), ErrorKind::IsADirectory);
    assert_eq!(kind(disk.sync_folder(Path::new("g"))), ErrorKind::NotFound);
    let held = disk.open(Path::new("f/y"), Open::Write).unwrap();
    disk.remove(Path::new("f/y")).unwrap();
    assert_eq!(held.write_at(b"gone", 0).unwrap(), 4);
    disk.remove_folder(Path::new("f")).unwrap();
    assert_eq!(disk.list(Path::new("")).unwrap(), ["x"]);
    let reader = disk.open(Path::new("x"), Open::Read).unwrap();
    assert_eq!(reader.write_at(b"x", 0).unwrap_err().kind(), ErrorKind::PermissionDenied);
}

#[test]
fn sectors_of_an_unsynced_write_meet_every_fate_in_every_order() {
    let mut fates = BTreeSet::new();
    let mut orders = BTreeSet::new();
    for seed in 0..300 {
        let (disk, file) = disk_with(&[1; 1024], seed);
        file.write_at(&[2; 512], 0).unwrap();
        file.write_at(&[3; 512], 512).unwrap();
        disk.crash();
        let bytes = read_all(&disk);
        for (sector, new) in bytes.chunks(512).zip([2_u8, 3]) {
            fates.insert(match sector {
                _ if sector.iter().all(|byte| *byte == 1) => "lost",
                _ if sector.iter().all(|byte| *byte == new) => "kept",
                _ if sector.iter().all(|byte| *byte == 0) => "zeros",
                _ => "garbage",
            });
        }
        orders.insert((bytes[0] == 2, bytes[512] == 3));
    }
    assert_eq!(fates.len(), 4, "{fates:?}");
    assert_eq!(orders.len(), 4, "{orders:?}");
}

#[test]
fn each_tear_mode_does_what_its_name_says() {
    let after = |tear| {
        let (disk, file) = disk_with(&[1; 4096], 7);
        file.write_at(&[2; 4096], 0).unwrap();
        file.write_at(&[3; 4096], 4096).unwrap();
        disk.crash_with(tear);
        read_all(&disk)
    };
    let whole = [[2; 4096], [3; 4096]].concat();
    assert_eq!(after(Tear::Nothing), [1; 4096]);
    assert_eq!(after(Tear::Everything), whole);
    let torn = after(Tear::Torn);
    assert!(torn.len() < 8192 && torn.len() % 512 == 0 && whole.starts_with(&torn));
    let zeroed = after(Tear::Zeroed);
    assert!(
        zeroed[4096..].contains(&0) && zeroed.iter().zip(&whole).all(|(z, w)| z == w || *z == 0)
    );
    let garbage = after(Tear::Garbage);
    assert!(garbage.len() == whole.len() && garbage != whole);
}

#[test]
fn a_write_of_nothing_survives_every_crash() {
    for tear in Tear::ALL {
        let (disk, file) = disk_with(b"abc", 3);
        assert_eq!(file.write_at(b"", 1).unwrap(), 0);
        disk.crash_with(tear);
        assert_eq!(read_all(&disk), b"abc", "{tear:?}");
    }
}

#[test]
fn a_truncation_can_be_lost_and_is_durable_once_synced() {
    let lengths: BTreeSet<usize> = (0..50)
        .map(|seed| {
            let (disk, file) = disk_with(&[1; 2000], seed);
            file.set_len(10).unwrap();
            disk.crash();
            read_all(&disk).len()
        })
        .collect();
    assert_eq!(lengths, [10, 2000].into());
    let (disk, file) = disk_with(&[1; 2000], 1);
    file.set_len(10).unwrap();
    file.set_len(20).unwrap();
    file.sync().unwrap();
    disk.crash();
    assert_eq!(read_all(&disk), [&[1; 10][..], &[0; 10]].concat());
}

#[test]
fn a_crash_stops_everything_and_old_handles_stay_dead() {
    let (disk, file) = disk_with(b"old", 1);
    let before = disk.operations();
    disk.fail_after(1, Fault::Crash);
    file.write_at(b"new", 0).unwrap();
    file.sync().unwrap_err();
    assert_eq!(disk.operations(), before + 2);
    file.read_at(&mut [0; 3], 0).unwrap_err();
    disk.open(path(), Open::Read).unwrap_err();
    disk.list(Path::new("")).unwrap_err();
    let lost = disk.fork(1);
    lost.crash_with(Tear::Nothing);
    assert_eq!(read_all(&lost), b"old");
    disk.crash_with(Tear::Everything);
    assert_eq!(read_all(&disk), b"new");
    file.read_at(&mut [0; 3], 0).unwrap_err();
    file.sync().unwrap_err();
}

#[test]
fn faults_of_reads_and_writes_hit_once() {
    let (disk, file) = disk_with(&[1; 8192], 3);
    let mut buffer = [0; 100];
    disk.fail_after(0, Fault::ReadError);
    file.read_at(&mut buffer, 0).unwrap_err();
    disk.fail_after(0, Fault::ShortRead);
    assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 50);
    disk.fail_after(0, Fault::InterruptedRead);
    read_exact_at(&*file, &mut buffer, 0).unwrap();
    disk.fail_after(0, Fault::WriteError);
    file.write_at(&buffer, 0).unwrap_err();
    disk.fail_after(1, Fault::DiskFull);
    file.write_at(&buffer, 0).unwrap();
    assert_eq!(file.write_at(&buffer, 0).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.fail_after(0, Fault::ShortWrite);
    assert_eq!(file.write_at(&buffer, 0).unwrap(), 50);
    disk.fail_after(0, Fault::InterruptedWrite);
    write_all_at(&*file, &[1; 100], 0).unwrap();
    file.sync().unwrap();

    disk.fail_after(0, Fault::LostWrite);
    assert_eq!(file.write_at(&[2; 512], 0).unwrap(), 512);
    assert_eq!(read_all(&disk), [1; 8192]);
    disk.fail_after(0, Fault::MisdirectedWrite);
    assert_eq!(file.write_at(&[2; 512], 512).unwrap(), 512);
    let bytes = read_all(&disk);
    assert_eq!(bytes[512], 1);
    assert_eq!(bytes.iter().filter(|byte| **byte == 2).count(), 512);

    let (disk, file) = disk_with(&[1; 512], 3);
    file.write_at(&[2; 512], 0).unwrap();
    file.sync().unwrap();
    disk.fail_after(0, Fault::StaleRead);
    assert_eq!(read_all(&disk), [1; 512]);
    assert_eq!(read_all(&disk), [2; 512]);
    disk.fail_after(0, Fault::ReadError);
    assert_eq!(disk.clear_faults(), 1);
    assert_eq!(read_all(&disk), [2; 512]);
}

#[test]
fn a_failed_sync_keeps_reverts_or_forgets() {
    let after = |mode| {
        let (disk, file) = disk_with(b"old", 1);
        file.write_at(b"new", 0).unwrap();
        disk.fail_after(0, Fault::Sync(mode));
        file.sync().unwrap_err();
        let seen = read_all(&disk);
        file.sync().unwrap();
        disk.crash_with(Tear::Everything);
        (seen, read_all(&disk))
    };
    assert_eq!(after(SyncFailure::Kept), (b"new".into(), b"new".into()));
    assert_eq!(after(SyncFailure::Reverted), (b"old".into(), b"old".into()));
    assert_eq!(after(SyncFailure::Once), (b"new".into(), b"old".into()));
    assert_eq!(after(SyncFailure::Cached), (b"new".into(), b"old".into()));
}

#[test]
fn what_was_written_past_the_memory_is_not_forgotten_with_it() {
    let (disk, file) = disk_with(&[1; 2 * ALIGNMENT], 1);
    let mut bytes = AlignedBytes::default();
    bytes.resize(ALIGNMENT, 2);
    file.write_direct(&bytes, 0).unwrap();
    file.write_at(&bytes, ALIGNMENT as u64).unwrap();
    disk.fail_after(0, Fault::Sync(SyncFailure::Cached));
    file.sync().unwrap_err();
    assert_eq!(read_all(&disk), [2; 2 * ALIGNMENT]);
    file.sync().unwrap();
    disk.crash_with(Tear::Nothing);
    assert_eq!(read_all(&disk), [[2; ALIGNMENT], [1; ALIGNMENT]].concat());
}

#[test]
fn the_capacity_cuts_writes_and_then_refuses_them() {
    let (disk, file) = disk_with(&[1; 4096], 1);
    disk.set_capacity(Some(3 * 4096));
    assert_eq!(file.write_at(&[2; 20_000], 4096).unwrap(), 8192);
    assert_eq!(file.write_at(&[2; 1], 12_288).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.write_at(&[3; 8192], 0).unwrap(), 8192);
    disk.set_capacity(None);
    assert_eq!(file.write_at(&[2; 1], 12_288).unwrap(), 1);
}

#[test]
fn a_removed_file_gives_its_space_back() {
    let (disk, file) = disk_with(&[1; 4096], 1);
    disk.set_capacity(Some(8192));
    let other = disk.open(Path::new("other"), Open::Create).unwrap();
    other.write_at(&[2; 4096], 0).unwrap();
    assert_eq!(file.write_at(&[2; 1], 4096).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.remove(Path::new("other")).unwrap();
    assert_eq!(file.write_at(&[2; 1], 4096).unwrap(), 1);
}

#[test]
fn damage_is_durable_and_copies_are_independent() {
    let (disk, _) = disk_with(&[1; 600], 1);
    let copy = disk.snapshot();
    disk.flip_bit(path(), 599, 1).unwrap();
    disk.overwrite(path(), 0, b"xyz").unwrap();
    assert_eq!(disk.durable_bytes(path()).unwrap(), [b"xyz", &[1; 596][..], &[3]].concat());
    disk.truncate_raw(path(), 2).unwrap();
    disk.crash();
    assert_eq!(read_all(&disk), b"xy");
    assert_eq!(read_all(&copy), [1; 600]);
    assert_eq!(disk.durable_bytes(Path::new("n")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn allocated_space_reads_as_zeros_and_is_pending_until_a_sync() {
    let length = |disk: &SimDisk| disk.durable_bytes(path()).unwrap().len();
    let (disk, file) = disk_with(&[1; 5000], 1);
    let before = disk.operations();
    file.allocate(5000, 20_000).unwrap();
    assert_eq!(disk.operations(), before + 1);
    assert_eq!(read_all(&disk), [&[1; 5000][..], &[0; 15_000]].concat());
    assert_eq!(length(&disk), 5000);
    let lengths: BTreeSet<usize> = (0..60)
        .map(|seed| {
            let crashed = disk.fork(seed);
            crashed.crash();
            length(&crashed)
        })
        .collect();
    assert_eq!(lengths, BTreeSet::from([5000, 20_000]), "it is kept or lost");
    file.sync().unwrap();
    assert_eq!(length(&disk.snapshot()), 20_000);
    // What stands there stays, and an end further on does.
    file.allocate(0, 6000).unwrap();
    file.sync().unwrap();
    assert_eq!(disk.durable_bytes(path()).unwrap(), [&[1; 5000][..], &[0; 15_000]].concat());
}

#[test]
fn a_failed_allocation_changes_nothing() {
    let (disk, file) = disk_with(&[1; 4096], 1);
    for fault in [Fault::WriteError, Fault::DiskFull] {
        disk.fail_after(0, fault);
        file.allocate(4096, 8192).unwrap_err();
        assert_eq!((disk.clear_faults(), file.length().unwrap()), (0, 4096), "{fault:?}");
    }
    disk.set_capacity(Some(3 * 4096));
    let refused = file.allocate(4096, 4 * 4096).unwrap_err();
    assert_eq!((refused.kind(), file.length().unwrap()), (ErrorKind::StorageFull, 4096));
    file.allocate(4096, 3 * 4096).unwrap();
    // It takes space, in which can be written.
    let other = disk.open(Path::new("other"), Open::Create).unwrap();
    assert_eq!(other.write_at(&[2; 1], 0).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.write_at(&[2; 8192], 4096).unwrap(), 8192);
    disk.set_capacity(None);
    disk.set_allocates(false);
    let before = disk.operations();
    let refused = file.allocate(3 * 4096, 4 * 4096).unwrap_err();
    assert_eq!((refused.kind(), file.length().unwrap()), (ErrorKind::Unsupported, 3 * 4096));
    assert_eq!(disk.operations(), before);
    disk.set_allocates(true);
    disk.fail_after(0, Fault::Crash);
    file.allocate(3 * 4096, 4 * 4096).unwrap_err();
    disk.crash_with(Tear::Everything);
    assert_eq!(read_all(&disk).len(), 4 * 4096, "its effect was pending");
}

#[test]
fn a_fault_of_a_read_hits_the_one_that_was_asked_for() {
    let (disk, file) = disk_with(&[1; 100], 1);
    let mut buffer = [0; 10];
    file.read_at(&mut buffer, 0).unwrap();
    disk.fail_read_after(2, Fault::ReadError);
    for _ in 0..2 {
        file.read_at(&mut buffer, 0).unwrap();
        file.write_at(&[1], 0).unwrap();
    }
    file.read_at(&mut buffer, 0).unwrap_err();
    file.read_at(&mut buffer, 0).unwrap();
    disk.fail_read_after(0, Fault::ReadError);
    assert_eq!(disk.clear_faults(), 1);
    file.read_at(&mut buffer, 0).unwrap();
}

#[derive(Clone, Debug)]
enum Op {
    Write(u64, usize, u8),
    SetLen(u64),
    Allocate(u64, u64),
    Sync,
    Crash(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..20_000_u64, 0..9000_usize, 1..=255_u8).prop_map(|(at, n, b)| Op::Write(at, n, b)),
        2 => (0..20_000_u64).prop_map(Op::SetLen),
        2 => (0..20_000_u64, 1..9000_u64).prop_map(|(at, n)| Op::Allocate(at, at + n)),
        2 => Just(Op::Sync),
        2 => (0..6_usize).prop_map(Op::Crash),
    ]
}

/// The same file as plain vectors.
#[derive(Default)]
struct Model {
    durable: Vec<u8>,
    current: Vec<u8>,
    /// Sectors that a crash may change.
    touched: BTreeSet<usize>,
    cut: Option<usize>,
}

impl Model {
    fn check_crash(&mut self, tear: Tear, found: Vec<u8>) {
        match tear {
            Tear::Nothing => assert_eq!(found, self.durable),
            Tear::Everything => assert_eq!(found, self.current),
            _ => {}
        }
        for (at, byte) in self.durable.iter().enumerate() {
            let safe = !self.touched.contains(&(at / 512)) && self.cut.is_none_or(|cut| at < cut);
            assert!(!safe || found.get(at) == Some(byte), "synced byte {at} is lost");
        }
        *self = Self { durable: found.clone(), current: found, ..Self::default() };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::scaled(300)))]

    #[test]
    fn what_is_synced_survives_and_the_seed_decides(
        ops in prop::collection::vec(op(), 1..40), seed: u64,
    ) {
        let (disk, mut file) = disk_with(b"", seed);
        let (twin, mut other) = disk_with(b"", seed);
        let mut model = Model::default();
        for op in ops {
            match op {
                Op::Write(at, count, byte) => {
                    write_all_at(&*file, &vec![byte; count], at).unwrap();
                    write_all_at(&*other, &vec![byte; count], at).unwrap();
                    let (at, end) = (at as usize, at as usize + count);
                    if count > 0 {
                        model.current.resize(end.max(model.current.len()), 0);
                        model.current[at..end].fill(byte);
                        model.touched.extend(at / 512..end.div_ceil(512));
                    }
                }
                Op::SetLen(length) => {
                    file.set_len(length).unwrap();
                    other.set_len(length).unwrap();
                    model.current.resize(length as usize, 0);
                    model.cut = Some(model.cut.unwrap_or(usize::MAX).min(length as usize));
                }
                Op::Allocate(from, to) => {
                    file.allocate(from, to).unwrap();
                    other.allocate(from, to).unwrap();
                    model.current.resize(model.current.len().max(to as usize), 0);
                }
                Op::Sync => {
                    file.sync().unwrap();
                    other.sync().unwrap();
                    model = Model {
                        durable: model.current.clone(), current: model.current, ..Model::default()
                    };
                    assert_eq!(disk.durable_bytes(path()).unwrap(), model.durable.clone());
                }
                Op::Crash(tear) => {
                    disk.crash_with(Tear::ALL[tear]);
                    twin.crash_with(Tear::ALL[tear]);
                    model.check_crash(Tear::ALL[tear], read_all(&disk));
                    file = disk.open(path(), Open::Write).unwrap();
                    other = twin.open(path(), Open::Write).unwrap();
                }
            }
            prop_assert_eq!(&read_all(&disk), &model.current);
            prop_assert_eq!(&read_all(&twin), &model.current);
        }
    }
}
