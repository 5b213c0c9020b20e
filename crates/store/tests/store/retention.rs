//! How much of the log is kept, and that it is enough whichever header a file is opened by.

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Open, Tear, write_all_at};
use pelorus_error::Code;
use pelorus_store::{Database, Mode, TableId};

use crate::gate::Gate;
use crate::harness::{Machine, commit, newest, put, row, schema};

fn write(database: &Database, table: TableId, round: i64) {
    let rows: Vec<_> = (0..40).map(|k| ((1, k), row(round * 100 + k))).collect();
    commit(database, vec![put(table, &rows, Mode::Replace)]).unwrap();
}

/// Rounds of commits to one table, with maintenance and checkpoints.
fn rounds(database: &Database, table: TableId, rounds: std::ops::Range<i64>) {
    for round in rounds {
        write(database, table, round);
        while database.maintain().unwrap() {}
        if round % 5 == 0 {
            database.checkpoint().unwrap();
        }
    }
}

fn segments(machine: &Machine) -> usize {
    machine.env.disk.list(Path::new("/data/log")).unwrap().len()
}

#[test]
fn a_table_that_nobody_changes_does_not_keep_the_log() {
    let machine = Machine::new(1);
    let mut database = machine.open().unwrap();
    let [idle, busy, empty] = [(); 3].map(|()| database.create_table(schema(), b"").unwrap());
    write(&database, idle, 0);
    let content = newest(&database, idle);
    for start in 0..4 {
        rounds(&database, busy, start * 100..start * 100 + 100);
        // The segments are of 16 KiB, and checkpoints are due after 64 KiB.
        assert!(segments(&machine) <= 14, "{} segments", segments(&machine));
        drop(database);
        database = machine.open().unwrap();
        assert_eq!(newest(&database, idle), content);
        assert_eq!(newest(&database, empty).len(), 0);
    }
}

/// Every file is opened by its older header, and all is there; and that can be gone on with.
#[test]
fn the_log_reaches_back_to_the_older_header_of_every_file() {
    let machine = Machine::new(2);
    let database = machine.open().unwrap();
    let [idle, busy] = [(); 2].map(|()| database.create_table(schema(), b"").unwrap());
    write(&database, idle, 0);
    let late = {
        rounds(&database, busy, 0..100);
        database.create_table(schema(), b"").unwrap()
    };
    write(&database, late, 7);
    database.checkpoint().unwrap();
    write(&database, busy, 777);
    let expected = [idle, busy, late].map(|table| newest(&database, table));
    drop(database);
    let files = [idle, busy, late].map(|table| format!("/data/table-{}.blocks", table.0));
    let mut fallbacks = 0;
    for file in files.iter().map(String::as_str).chain(["/data/catalog.blocks"]) {
        for slot in [0, 4096] {
            let copy = Machine::with(machine.disk.fork(slot), slot);
            copy.disk.flip_bit(file.as_ref(), slot + 9, 1).unwrap();
            let mut database = copy.open().unwrap_or_else(|error| panic!("{file}: {error}"));
            for again in 0..3 {
                let found = [idle, busy, late].map(|table| newest(&database, table));
                assert_eq!(found, expected, "{file} without slot {slot}, start {again}");
                // A table that the fallback concerns is checkpointed only now and then.
                database.create_table(schema(), b"").unwrap();
                database.checkpoint().unwrap();
                drop(database);
                database = copy.open().unwrap();
            }
            rounds(&database, busy, 1000..1040);
            assert!(segments(&copy) <= 14, "{file}: {} segments", segments(&copy));
            drop(database);
            let database = copy.open().unwrap();
            assert_eq!(newest(&database, idle), expected[0]);
            assert_eq!(newest(&database, late), expected[2]);
            fallbacks += 1;
        }
    }
    assert_eq!(fallbacks, 8);
}

/// The log behind what both headers of a table know is gone, since the table did not change for
/// long. When it changes again, before or during a checkpoint, everything can be opened by either
/// header.
#[test]
fn a_table_that_changes_after_long_is_not_looked_for_in_the_log_that_is_gone() {
    for during in [false, true] {
        let mut machine = Machine::new(5);
        let gate = Gate::default();
        machine.env.disk = gate.around(machine.env.disk);
        let database = machine.open().unwrap();
        let [idle, busy] = [(); 2].map(|()| database.create_table(schema(), b"").unwrap());
        write(&database, idle, 0);
        rounds(&database, busy, 0..100);
        write(&database, busy, 777);
        if during {
            let late = Arc::clone(&database);
            gate.before_write(&format!("table-{}.", busy.0), move || write(&late, idle, 1));
        } else {
            write(&database, idle, 1);
        }
        database.checkpoint().unwrap();
        assert!(gate.has_happened());
        let expected = [idle, busy].map(|table| newest(&database, table));
        for slot in [None, Some(0), Some(4096)] {
            let copy = Machine::with(machine.disk.fork(9), 9);
            copy.disk.crash_with(Tear::Nothing);
            if let Some(slot) = slot {
                let file = format!("/data/table-{}.blocks", idle.0);
                copy.disk.flip_bit(file.as_ref(), slot + 9, 1).unwrap();
            }
            let again = copy.open().unwrap_or_else(|error| panic!("{during} {slot:?}: {error}"));
            let found = [idle, busy].map(|table| newest(&again, table));
            assert_eq!(found, expected, "{during} {slot:?}");
        }
    }
}

#[test]
fn a_file_is_not_taken_for_a_newer_one() {
    let machine = Machine::new(3);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    write(&database, table, 0);
    database.checkpoint().unwrap();
    let path = format!("/data/table-{}.blocks", table.0);
    let old = machine.disk.durable_bytes(path.as_ref()).unwrap();
    rounds(&database, table, 1..100);
    database.close().unwrap();
    drop(database);
    machine.disk.truncate_raw(path.as_ref(), 0).unwrap();
    machine.disk.overwrite(path.as_ref(), 0, &old).unwrap();
    let error = machine.open().unwrap().broken(table).unwrap();
    assert_eq!(error.code(), Code::FileDamaged);
    assert!(error.message().contains(&path), "{error}");
}

/// Puts a file into the data folder.
fn place(machine: &Machine, name: &str, bytes: &[u8]) {
    let (disk, folder) = (&machine.env.disk, Path::new("/data"));
    let file = disk.open(&folder.join(name), Open::Create).unwrap();
    write_all_at(&*file, bytes, 0).unwrap();
    file.sync().unwrap();
    disk.sync_folder(folder).unwrap();
}

#[test]
fn only_what_is_left_of_tables_of_this_database_is_removed() {
    let machine = Machine::new(6);
    let database = machine.open().unwrap();
    let kept = database.create_table(schema(), b"").unwrap();
    write(&database, kept, 0);
    let content = newest(&database, kept);
    database.close().unwrap();
    drop(database);
    // The same database later, and another one.
    let (later, other) = (Machine::with(machine.disk.fork(1), 1), Machine::new(8));
    other.open().unwrap().create_table(schema(), b"").unwrap();
    let [newer, foreign] = [&later, &other].map(|machine| {
        let database = machine.open().unwrap();
        let table = database.create_table(schema(), b"").unwrap();
        assert_eq!(table, TableId(2));
        write(&database, table, 1);
        database.close().unwrap();
        machine.disk.durable_bytes(Path::new("/data/table-2.blocks")).unwrap()
    });
    let mut damaged = newer.clone();
    for slot in [0, 4096] {
        damaged[slot + 9] ^= 1;
    }
    let is_there = |machine: &Machine| {
        let names = machine.env.disk.list(Path::new("/data")).unwrap();
        names.iter().any(|name| name == "table-2.blocks")
    };
    for (what, bytes) in [("foreign", &foreign), ("newer", &newer), ("damaged", &damaged)] {
        let machine = Machine::with(machine.disk.fork(2), 2);
        place(&machine, "table-2.blocks", bytes);
        let database = machine.open().unwrap();
        assert!(is_there(&machine), "{what}");
        assert_eq!(newest(&database, kept), content, "{what}");
        assert_eq!(database.create_table(schema(), b"").unwrap(), TableId(3), "{what}");
        assert_eq!(machine.disk.durable_bytes("/data/table-2.blocks".as_ref()).unwrap(), *bytes);
    }
    // What is left of a drop.
    let database = later.open().unwrap();
    database.drop_table(TableId(2)).unwrap();
    database.close().unwrap();
    drop(database);
    place(&later, "table-2.blocks", &newer);
    let database = later.open().unwrap();
    assert!(!is_there(&later));
    assert_eq!(newest(&database, kept), content);
}

#[test]
fn a_log_without_its_catalog_is_not_thrown_away() {
    let machine = Machine::new(4);
    let database = machine.open().unwrap();
    let values = vec![(b"key".to_vec(), Some(b"value".to_vec()))];
    let values = pelorus_store::Commit { values, ..Default::default() };
    database.commit(&values).unwrap();
    drop(database);
    let (from, to) = (Path::new("/data/catalog.blocks"), Path::new("/data/elsewhere"));
    machine.env.disk.rename(from, to).unwrap();
    assert_eq!(machine.open().unwrap_err().code(), Code::FileDamaged);
    machine.env.disk.rename(to, from).unwrap();
    let database: Arc<Database> = machine.open().unwrap();
    assert_eq!(database.value(b"key"), Some(b"value".to_vec()));
}

/// A table whose file is gone since it was dropped is not a damaged one.
#[test]
fn a_table_dropped_after_the_last_checkpoint_leaves_nothing_behind() {
    let machine = Machine::new(3);
    let database = machine.open().unwrap();
    let [one, two] = [(); 2].map(|()| database.create_table(schema(), b"").unwrap());
    write(&database, one, 0);
    database.close().unwrap();
    drop(database);
    let database = machine.open().unwrap();
    write(&database, two, 0);
    database.checkpoint().unwrap();
    database.drop_table(two).unwrap();
    let three = database.create_table(schema(), b"").unwrap();
    write(&database, one, 1);
    drop(database);
    let database = machine.open().unwrap();
    assert!(database.broken_tables().is_empty());
    assert_eq!(newest(&database, three).len(), 0);
}
