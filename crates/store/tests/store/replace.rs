//! A table that takes the place of another: all of it or nothing, whatever crashes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

use pelorus_env::{Fault, Tear};
use pelorus_error::{Code, Error};
use pelorus_store::{Commit, Database, Mode, TableId};

use crate::harness::{Content, Machine, commit, newest, put, read, row, schema};

fn rows(from: i64) -> Vec<((i64, i64), crate::harness::Row)> {
    (0..40).map(|k| ((1, k), row(from + k))).collect()
}

fn content(from: i64) -> Content {
    rows(from).into_iter().collect()
}

/// Makes two tables and puts the second in the place of the first. Gives how far it came: the
/// tables, and whether the step was acknowledged.
fn workload(machine: &Machine, done: &mut (Vec<TableId>, bool)) -> Result<(), Error> {
    let database = machine.open()?;
    done.0.push(database.create_table(schema(), b"old")?);
    commit(&database, vec![put(done.0[0], &rows(0), Mode::Insert)])?;
    database.checkpoint()?;
    let frozen = database.freeze(done.0[0])?;
    done.0.push(database.create_table(schema(), b"draft")?);
    commit(&database, vec![put(done.0[1], &rows(100), Mode::Insert)])?;
    while database.maintain()? {}
    let values = vec![(b"k".to_vec(), Some(b"v".to_vec()))];
    database.replace_table(done.0[0], done.0[1], b"new", values)?;
    done.1 = true;
    drop(frozen);
    database.checkpoint()?;
    database.close()
}

fn check(machine: &Machine, (tables, done): &(Vec<TableId>, bool), what: &str) {
    let database = machine.open().unwrap_or_else(|error| {
        panic!("{what}: cannot be opened: {}", pelorus_error::display_chain(&error))
    });
    let Some(&old) = tables.first() else { return };
    let Some(&new) = tables.get(1) else { return };
    let replaced = database.table(old).is_none();
    assert!(replaced || !done, "{what}: what was acknowledged is gone");
    let definition = database.table(new).map(|table| table.definition().to_vec());
    if replaced {
        assert_eq!(definition.as_deref(), Some(&b"new"[..]), "{what}");
        assert_eq!(newest(&database, new), content(100), "{what}");
        assert_eq!(database.value(b"k"), Some(b"v".to_vec()), "{what}");
        let names = machine.env.disk.list(std::path::Path::new("/data")).unwrap();
        assert!(!names.contains(&format!("table-{}.blocks", old.0)), "{what}: {names:?}");
        // The past that the old table took along cannot be read from the new one.
        let floor = database.table(new).unwrap().floor();
        let error = database.snapshot_at(floor - 1).table(new).unwrap_err();
        assert_eq!(error.code(), Code::HistoryTooOld, "{what}");
    } else {
        assert_eq!(newest(&database, old), content(0), "{what}");
        assert!(definition.is_none_or(|it| it == b"draft"), "{what}");
        assert_eq!(database.value(b"k"), None, "{what}");
    }
}

#[test]
fn every_crash_leaves_one_of_the_two() {
    // On a disk that takes space without writing, and on one that cannot.
    for (kind, tear) in [0, 1].into_iter().flat_map(|kind| Tear::ALL.map(|tear| (kind, tear))) {
        let machine = Machine::new(kind);
        workload(&machine, &mut (Vec::new(), false)).unwrap();
        let total = machine.disk.operations();
        check(&machine, &(vec![TableId(1), TableId(2)], true), "no crash");
        for at in 0..total {
            let machine = Machine::new(2 * at + kind);
            machine.disk.fail_after(at, Fault::Crash);
            let mut done = (Vec::new(), false);
            if workload(&machine, &mut done).is_ok() {
                assert!(total - at < 8, "no crash at {at} of {total}");
                continue;
            }
            machine.disk.crash_with(tear);
            // A table whose creation was not acknowledged may be there or not.
            if done.0.len() == 2 {
                check(&machine, &done, &format!("crash at {at} of {total}, {tear:?}"));
            }
        }
    }
}

/// Makes two tables that change names a few times. Gives the tables, and how often they had when it
/// was acknowledged.
fn swaps(machine: &Machine, done: &mut (Vec<TableId>, usize)) -> Result<(), Error> {
    let database = machine.open()?;
    for name in [b"one", b"two"] {
        done.0.push(database.create_table(schema(), name)?);
    }
    for turn in 1..=4 {
        let mut names = [b"one".to_vec(), b"two".to_vec()];
        if turn % 2 == 1 {
            names.reverse();
        }
        database.define_tables(done.0.iter().copied().zip(names).collect())?;
        done.1 = turn;
        if turn == 2 {
            database.checkpoint()?;
        }
    }
    database.close()
}

#[test]
fn every_crash_leaves_names_from_before_or_after_a_swap() {
    let machine = Machine::new(1);
    swaps(&machine, &mut (Vec::new(), 0)).unwrap();
    let total = machine.disk.operations();
    let mut kept = 0;
    for at in 0..total {
        for tear in Tear::ALL {
            // On a disk of the same kind.
            let machine = Machine::new(2 * at + 1);
            machine.disk.fail_after(at, Fault::Crash);
            let mut done = (Vec::new(), 0);
            if swaps(&machine, &mut done).is_ok() {
                // With other seeds a few operations more or less are needed.
                assert!(total - at < 8, "no crash at {at} of {total}");
                continue;
            }
            machine.disk.crash_with(tear);
            let &[one, two] = &done.0[..] else { continue };
            let database = machine.open().unwrap();
            let name = |id| database.table(id).unwrap().definition().to_vec();
            let names = (name(one), name(two));
            let of = |turn: usize| match turn % 2 {
                0 => (b"one".to_vec(), b"two".to_vec()),
                _ => (b"two".to_vec(), b"one".to_vec()),
            };
            kept += usize::from(names == of(done.1));
            assert!(
                names == of(done.1) || (done.1 < 4 && names == of(done.1 + 1)),
                "crash at {at} of {total}, {tear:?}, {}: {names:?}",
                done.1
            );
        }
    }
    assert!(kept > 0, "of {total} crashes");
}

#[test]
fn definitions_of_a_table_that_is_gone_change_nothing() {
    let machine = Machine::new(2);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    let names = vec![(table, b"u".to_vec()), (TableId(99), b"v".to_vec())];
    database.define_tables(names).unwrap_err();
    assert_eq!(&*database.table(table).unwrap().definition(), b"t");
}

#[test]
fn definitions_that_say_nothing_else_of_rows_disturb_no_writer() {
    let machine = Machine::new(2);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    let other = database.create_table(schema(), b"u").unwrap();
    let generation = |id| database.table(id).unwrap().generation();
    let (of_table, of_other) = (generation(table), generation(other));
    let (moved, text) = (vec![(other, b"v".to_vec())], vec![(table, b"w".to_vec())]);
    database.define_tables_with(moved, text).unwrap();
    assert_eq!(generation(table), of_table);
    assert!(generation(other) > of_other);
    let text = vec![(table, b"x".to_vec())];
    database.alter_table_with(other, schema(), b"y", text).unwrap();
    assert_eq!(generation(table), of_table);
    let made_for = vec![(table, of_table)];
    let writes = vec![put(table, &rows(0), Mode::Insert)];
    database.commit(&Commit { writes, made_for, ..Commit::default() }).unwrap();
    let new = database.create_table(schema(), b"").unwrap();
    let text = vec![(table, b"z".to_vec())];
    database.replace_table_with((other, new), b"new", Vec::new(), text).unwrap();
    assert_eq!(generation(table), of_table);
    database.close().unwrap();
    drop(database);
    let database = machine.open().unwrap();
    assert_eq!(&*database.table(table).unwrap().definition(), b"z");
    assert_eq!(&*database.table(new).unwrap().definition(), b"new");
    assert_eq!(newest(&database, table), content(0));
}

/// How often a commit has asked whether it is to stop once it certainly waits: one that does not wait
/// asks fewer times.
const ASKED_BY_THEN: usize = 5;

/// Waits until a commit waits. `waits` gets a message whenever it asks whether it is to stop.
fn until_it_waits(waits: &Receiver<()>) {
    for _ in 0..ASKED_BY_THEN {
        waits.recv().expect("it has not waited");
    }
}

#[test]
fn a_frozen_table_is_read_and_not_written() {
    let machine = Machine::new(2);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    let other = database.create_table(schema(), b"u").unwrap();
    commit(&database, vec![put(table, &rows(0), Mode::Insert)]).unwrap();
    let frozen = database.freeze(table).unwrap();
    assert_eq!(database.freeze(table).unwrap_err().code(), Code::TableChanged);
    assert_eq!(newest(&database, table), content(0));
    commit(&database, vec![put(other, &rows(5), Mode::Insert)]).unwrap();
    // Who is to stop does not wait until the end.
    let asked = AtomicUsize::new(0);
    let stopped = Commit { writes: vec![put(table, &rows(9), Mode::Replace)], ..Commit::default() };
    let stop = || asked.fetch_add(1, Ordering::Relaxed) >= ASKED_BY_THEN;
    assert_eq!(database.commit_unless(&stopped, &stop).unwrap_err().errno(), 1317);
    std::thread::scope(|scope| {
        let (waiting, waits) = channel();
        let writer: &Database = &database;
        let late =
            Commit { writes: vec![put(table, &rows(7), Mode::Replace)], ..Commit::default() };
        let thread =
            scope.spawn(move || writer.commit_unless(&late, &|| waiting.send(()).is_err()));
        until_it_waits(&waits);
        assert!(!thread.is_finished());
        assert_eq!(newest(&database, table), content(0));
        drop(frozen);
        thread.join().unwrap().unwrap();
    });
    assert_eq!(newest(&database, table), content(7));
}

#[test]
fn who_waited_for_a_table_that_was_replaced_is_told() {
    let machine = Machine::new(3);
    let database = machine.open().unwrap();
    let old = database.create_table(schema(), b"t").unwrap();
    let new = database.create_table(schema(), b"").unwrap();
    let held = database.snapshot();
    let before = held.table(old).unwrap();
    let frozen = database.freeze(old).unwrap();
    std::thread::scope(|scope| {
        let writer: &Database = &database;
        let put = put(old, &rows(7), Mode::Replace);
        let commit = Commit { writes: vec![put], ..Commit::default() };
        let (waiting, waits) = channel();
        let thread =
            scope.spawn(move || writer.commit_unless(&commit, &|| waiting.send(()).is_err()));
        until_it_waits(&waits);
        database.replace_table(old, new, b"t", Vec::new()).unwrap();
        drop(frozen);
        assert_eq!(thread.join().unwrap().unwrap_err().code(), Code::TableChanged);
    });
    // A reader from before keeps what it had.
    assert_eq!(before.count_rows().unwrap(), 0);
    assert_eq!(read(&database.snapshot(), new).unwrap(), Content::new());
}
