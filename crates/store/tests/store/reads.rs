//! Every read fails once while a database is opened, read, written to, merged and checkpointed: an
//! error that names a file, or none, nothing lost, and all is right when the disk reads again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_env::{Fault, SimDisk, Tear};
use pelorus_error::{Code, Error, display_chain};
use pelorus_store::{Database, Mode, Options, TableId};

use crate::harness::{Content, Machine, Row, commit, options, put, read, row, schema};

/// What was read once is read from the disk again.
fn without_cache() -> Options {
    Options { cache_bytes: 0, ..options() }
}

fn rows(round: i64) -> Vec<((i64, i64), Row)> {
    (0..50).map(|k| ((1, k * (round % 3 + 1)), row(round * 100 + k))).collect()
}

fn write(database: &Database, tables: [TableId; 2], round: i64) -> Result<(), Error> {
    let put = |table: TableId| put(table, &rows(round), Mode::Replace);
    commit(database, tables.map(put).into()).map(|_| ())
}

/// Two tables with chunks, rows of deltas, two checkpoints, and a log beyond them.
fn specimen() -> (SimDisk, [TableId; 2], Content) {
    let machine = Machine::new(6);
    let database = machine.open_with(without_cache()).unwrap();
    let tables = [b"one", b"two"].map(|name| database.create_table(schema(), name).unwrap());
    let mut content = Content::new();
    for round in 0..6 {
        write(&database, tables, round).unwrap();
        content.extend(rows(round));
        match round {
            1 | 3 => while database.maintain().unwrap() {},
            2 | 4 => database.checkpoint().unwrap(),
            _ => {}
        }
    }
    drop(database);
    (machine.disk.snapshot(), tables, content)
}

fn check(database: &Arc<Database>, tables: [TableId; 2], content: &Content) -> Result<(), Error> {
    let snapshot = database.snapshot();
    for table in tables {
        assert!(read(&snapshot, table)? == *content, "something else is read");
    }
    Ok(())
}

/// Opens a database and does everything with it. `content` is what it holds, and follows. Gives how
/// many reads there were after each step.
fn live(
    machine: &Machine,
    tables: [TableId; 2],
    content: &mut Content,
) -> Result<Vec<(&'static str, u64)>, Error> {
    let mut steps = Vec::new();
    let mut done = |step| steps.push((step, machine.disk.reads()));
    let database = machine.open_with(without_cache())?;
    done("opening");
    check(&database, tables, content)?;
    done("scanning");
    write(&database, tables, 7)?;
    content.extend(rows(7));
    done("writing");
    // What was replaced need not be kept any longer.
    machine.clock.0.fetch_add(10_000_000, Ordering::Relaxed);
    while database.maintain()? {}
    done("merging");
    database.checkpoint()?;
    done("checkpointing");
    check(&database, tables, content)?;
    Ok(steps)
}

#[test]
fn failed_reads_lose_nothing() {
    let (disk, tables, content) = specimen();
    let machine = || Machine::with(disk.fork(1), 1);
    let mut last = disk.reads();
    let steps = live(&machine(), tables, &mut content.clone()).unwrap();
    for (step, reads) in &steps {
        let must_read = ["opening", "scanning", "merging"].contains(step);
        assert!(!must_read || *reads > last, "{step} reads nothing: {steps:?}");
        last = *reads;
    }
    let total = last - disk.reads();
    let mut told = 0;
    for at in 0..total {
        let machine = machine();
        machine.disk.fail_read_after(at, Fault::ReadError);
        let mut content = content.clone();
        let what = format!("read {at} of {total}");
        let result = live(&machine, tables, &mut content);
        // What is read in which order is not the same each time.
        let was_met = machine.disk.clear_faults() == 0;
        assert!(was_met || total - at < 8, "{what} never came");
        if let Err(error) = result {
            let text = display_chain(&error);
            let codes = [Code::FileRead, Code::FileDamaged];
            assert!(codes.contains(&error.code()), "{what}: {:?} {text}", error.code());
            assert!(text.contains("/data"), "{what}: {text} names no file");
            told += 1;
        }
        for tear in [None, Some(Tear::Nothing)] {
            let after = Machine::with(machine.disk.fork(at), 1);
            tear.iter().for_each(|tear| after.disk.crash_with(*tear));
            live(&after, tables, &mut content.clone())
                .unwrap_or_else(|error| panic!("{what}, {tear:?}: {}", display_chain(&error)));
        }
    }
    assert!(told > 10, "{told} of {total} reads");
}
