//! Files that are whole but older than the others, as after a wrong restore.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use pelorus_env::{Disk as _, Open, SimDisk};

use crate::harness::{Machine, by_fsck, commit, files, narrow_schema, put};
use crate::hostile::store_reads;
use crate::reseal::bytes_of;

type Copy = Vec<(PathBuf, Vec<u8>)>;

fn copy(disk: &SimDisk) -> Copy {
    files(disk).into_iter().map(|(path, _)| (path.clone(), bytes_of(disk, &path))).collect()
}

/// What was on the disk after each of some rounds of work on two tables.
fn copies() -> (SimDisk, Vec<Copy>) {
    let machine = Machine::new(SimDisk::new(2), 2);
    let database = machine.open();
    let tables = [0, 1].map(|_| database.create_table(narrow_schema(), b"").unwrap());
    let mut copies = vec![copy(&machine.disk)];
    for round in 0..12_u64 {
        // The second table rests for a while.
        for table in &tables[..if (3..9).contains(&round) { 1 } else { 2 }] {
            let numbers: ArrayRef =
                Arc::new(UInt64Array::from_iter_values(round * 20..round * 20 + 500));
            commit(&database, vec![put(*table, 0, vec![numbers])]);
        }
        if round % 2 == 1 {
            database.checkpoint().unwrap();
        }
        copies.push(copy(&machine.disk));
    }
    (machine.disk, copies)
}

#[test]
fn a_file_that_is_too_old_is_noticed() {
    let (disk, copies) = copies();
    let (mut sound, mut damaged) = (0, 0);
    for old in &copies {
        for (path, bytes) in old {
            let mixed = disk.fork(1);
            let file = match mixed.open(path, Open::Write) {
                Ok(file) => file,
                // A segment that is not needed any more.
                Err(_) => mixed.open(path, Open::Create).unwrap(),
            };
            file.set_len(0).unwrap();
            mixed.overwrite(path, 0, bytes).unwrap();
            let (rows, report) = by_fsck(&mixed);
            let by_store = store_reads(&mixed);
            if report.is_sound() {
                sound += 1;
                assert_eq!(by_store, Ok(rows), "{}", path.display());
            } else {
                damaged += 1;
            }
        }
    }
    assert!(sound > 10 && damaged > 10, "{sound} sound, {damaged} damaged");
}
