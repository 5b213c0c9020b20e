//! Crashes at every operation of a workload, and at every operation of the recovery that follows
//! (T2); failing syncs (T6); full disks (T7).

use std::path::Path;
use std::sync::Arc;

use pelorus_env::{Disk as _, Fault, Open, SimDisk, SyncFailure, Tear, scaled};
use pelorus_error::{Code, Error};
use pelorus_store::{Commit, Database, Mode, Options, TableId};

use crate::harness::{Content, Machine, commit, options, put, read, remove, row, schema};

/// What a workload got done: every content that was acknowledged, and the one it was at.
#[derive(Clone, Debug, Default)]
struct Journal {
    /// Contents of two tables after each step that was acknowledged.
    acknowledged: Vec<[Content; 2]>,
    /// The step that may or may not have happened.
    pending: Option<[Content; 2]>,
    tables: Vec<TableId>,
}

/// A script of commits to two tables at once, with flushes, merges, checkpoints, drops of
/// partitions, and a third table that comes and goes, in between.
fn workload(machine: &Machine, journal: &mut Journal) -> Result<(), Error> {
    let database = machine.open()?;
    for _ in 0..2 {
        journal.tables.push(database.create_table(schema(), b"t")?);
    }
    journal.acknowledged.push([Content::new(), Content::new()]);
    for round in 0..7_i64 {
        step(&database, journal, round)?;
        match round {
            1 | 3 => while database.maintain()? {},
            2 | 5 => database.checkpoint()?,
            4 => {
                let scratch = database.create_table(schema(), b"scratch")?;
                commit(&database, vec![put(scratch, &[((1, 1), row(1))], Mode::Insert)])?;
                drop_rows(&database, journal, 0, Some(1))?;
                database.drop_table(scratch)?;
            }
            _ => {}
        }
        if round == 5 {
            drop_rows(&database, journal, 1, None)?;
        }
    }
    database.close()
}

fn step(database: &Arc<Database>, journal: &mut Journal, round: i64) -> Result<(), Error> {
    let mut next = journal.acknowledged.last().cloned().unwrap_or_default();
    let mut writes = Vec::new();
    for (at, &table) in journal.tables.iter().enumerate() {
        let rows: Vec<_> =
            (0..30).map(|k| ((round % 2, k * (round + 1)), row(round + k))).collect();
        writes.push(put(table, &rows, Mode::Replace));
        next[at].extend(rows);
        let gone: Vec<_> = (0..5).map(|k| (1 - round % 2, k * 7)).collect();
        writes.push(remove(table, &gone));
        next[at].retain(|key, _| !gone.contains(key));
    }
    journal.pending = Some(next.clone());
    commit(database, writes)?;
    journal.acknowledged.push(next);
    journal.pending = None;
    Ok(())
}

/// Drops a partition of a table, or all of them.
fn drop_rows(
    database: &Arc<Database>,
    journal: &mut Journal,
    table: usize,
    p: Option<i64>,
) -> Result<(), Error> {
    let mut next = journal.acknowledged.last().cloned().unwrap_or_default();
    next[table].retain(|key, _| p.is_some_and(|p| key.0 != p));
    journal.pending = Some(next.clone());
    match p {
        Some(p) => {
            let keys = [p.to_be_bytes().to_vec()];
            database.drop_partitions(journal.tables[table], &keys)?;
        }
        None => database.truncate_table(journal.tables[table])?,
    }
    journal.acknowledged.push(next);
    journal.pending = None;
    Ok(())
}

/// Opens what a crash has left: it must be what was acknowledged, or that and the pending step.
/// Goes on from there; what is acknowledged then.
fn check(machine: &Machine, journal: &Journal, what: &str) -> Journal {
    let database = machine.open().unwrap_or_else(|error| {
        panic!("{what}: cannot be opened: {}", pelorus_error::display_chain(&error))
    });
    let Some(last) = journal.acknowledged.last() else { return journal.clone() };
    let snapshot = database.snapshot();
    let found = [0, 1].map(|at| read(&snapshot, journal.tables[at]).unwrap());
    let fits = found == *last || journal.pending.as_ref() == Some(&found);
    assert!(fits, "{what}: neither the last acknowledged state nor the one after it");
    // And it goes on.
    let mut after = Journal { acknowledged: vec![found], ..journal.clone() };
    step(&database, &mut after, 9).unwrap_or_else(|error| {
        panic!("{what}: cannot go on: {}", pelorus_error::display_chain(&error))
    });
    while database.maintain().unwrap() {}
    let snapshot = database.snapshot();
    let found = [0, 1].map(|at| read(&snapshot, journal.tables[at]).unwrap());
    assert_eq!(Some(&found), after.acknowledged.last(), "{what}");
    after
}

/// The operations of a workload on one of the kinds of disk: those with even seeds take space
/// without writing.
fn operations(kind: u64) -> u64 {
    let machine = Machine::new(kind);
    workload(&machine, &mut Journal::default()).unwrap();
    machine.disk.operations()
}

/// Runs the workload up to the crash that was asked for at an operation; whether there was one.
fn runs_into(machine: &Machine, journal: &mut Journal, at: u64, total: u64) -> bool {
    machine.disk.fail_after(at, Fault::Crash);
    let crashed = workload(machine, journal).is_err();
    // With other seeds a few operations more or less are needed.
    assert!(crashed || total - at < 8, "no crash at {at} of {total}");
    crashed
}

#[test]
fn every_crash_leaves_the_last_acknowledged_state_or_the_next() {
    for kind in [0, 1] {
        let total = operations(kind);
        assert!(total > 60, "{total} operations");
        let seeds = 0..u64::from(scaled(1));
        for (at, seed) in (0..total).flat_map(|at| seeds.clone().map(move |seed| (at, seed))) {
            for tear in Tear::ALL {
                let machine = Machine::new(2 * (at + seed * 10_007) + kind);
                let mut journal = Journal::default();
                if runs_into(&machine, &mut journal, at, total) {
                    machine.disk.crash_with(tear);
                    check(&machine, &journal, &format!("crash at {at} of {total}, {tear:?}"));
                }
            }
        }
    }
}

#[test]
fn a_crash_of_the_recovery_loses_nothing_either() {
    // Every third point, since each has a recovery of its own to be swept; all of them at leisure.
    let all = scaled(1) > 1;
    for kind in [0, 1] {
        let total = operations(kind);
        for at in (0..total).filter(|at| all || at % 6 == 3 * kind) {
            let machine = Machine::new(2 * at + kind);
            let mut journal = Journal::default();
            if runs_into(&machine, &mut journal, at, total) {
                machine.disk.crash();
                sweep_recovery(&machine, &journal, at);
            }
        }
    }
}

fn sweep_recovery(machine: &Machine, journal: &Journal, at: u64) {
    for again in 0..200 {
        let second = Machine::with(machine.disk.fork(again), again);
        let before = second.disk.operations();
        second.disk.fail_after(again, Fault::Crash);
        let opened = second.open();
        let done = opened.is_ok() && second.disk.operations() - before <= again;
        drop(opened);
        second.disk.clear_faults();
        second.disk.crash();
        check(&second, journal, &format!("crash at {at}, then at {again} of the recovery"));
        if done {
            break;
        }
    }
}

/// The machine crashes after that, or the process alone ends, and the next one reads what the
/// memory of the operating system has, which may never come to the disk.
#[test]
fn a_failed_sync_is_never_acknowledged() {
    for (kind, mode) in [0, 1].into_iter().flat_map(|kind| SyncFailure::ALL.map(|it| (kind, it))) {
        let total = operations(kind);
        for at in (kind..total).step_by(2) {
            let machine = Machine::new(2 * at + kind);
            machine.disk.fail_after(at, Fault::Sync(mode));
            let mut journal = Journal::default();
            let result = workload(&machine, &mut journal);
            // One that is reported fails what waited for it. Where nothing failed, none was met.
            let was_met = machine.disk.clear_faults() == 0;
            assert_eq!(result.is_err(), was_met, "sync {mode:?} at {at} of {total}");
            for (seed, tear) in (3 * at..).zip([None, Some(Tear::Nothing), Some(Tear::Random)]) {
                let after = Machine::with(machine.disk.fork(seed), seed);
                tear.iter().for_each(|tear| after.disk.crash_with(*tear));
                let what = format!("sync {mode:?} at {at} of {total}, {tear:?}");
                let found = check(&after, &journal, &what);
                if tear.is_none() {
                    // What was found has been acknowledged since then.
                    after.disk.crash_with(Tear::Nothing);
                    check(&after, &found, &format!("{what}, and a crash"));
                }
            }
        }
    }
}

#[test]
fn failed_writes_lose_nothing() {
    let faults = [Fault::WriteError, Fault::ShortWrite, Fault::InterruptedWrite, Fault::DiskFull];
    for (kind, fault) in [0, 1].into_iter().flat_map(|kind| faults.map(|it| (kind, it))) {
        let total = operations(kind);
        for at in (kind..total).step_by(2) {
            let machine = Machine::new(2 * at + kind);
            machine.disk.fail_after(at, fault);
            let mut journal = Journal::default();
            let _ = workload(&machine, &mut journal);
            machine.disk.clear_faults();
            machine.disk.crash_with(Tear::Random);
            if journal.tables.len() == 2 {
                check(&machine, &journal, &format!("{fault:?} at {at} of {total}"));
            }
        }
    }
}

/// The options of a database whose log keeps space, as usual.
fn roomy() -> Options {
    let mut roomy = options();
    roomy.log.reserve_bytes = 256 << 10;
    roomy
}

/// A machine whose disk a database has filled, with its tables and the content of the first.
fn full(seed: u64) -> (Machine, Vec<TableId>, Content) {
    let machine = Machine::new(seed);
    let database = machine.open_with(roomy()).unwrap();
    let tables: Vec<TableId> =
        (0..4).map(|_| database.create_table(schema(), b"t").unwrap()).collect();
    let mut content = Content::new();
    for round in 0..8 {
        let rows: Vec<_> = (0..400).map(|k| ((k % 3, k + 400 * round), row(round + k))).collect();
        for &table in &tables {
            commit(&database, vec![put(table, &rows, Mode::Replace)]).unwrap();
        }
        content.extend(rows);
        while database.maintain().unwrap() {}
    }
    machine.disk.set_capacity(Some(machine.disk.used()));
    let refused = (0..2000).any(|k| {
        let rows = [((1, 5000 + k), row(k))];
        let done = commit(&database, vec![put(tables[0], &rows, Mode::Insert)]);
        content.extend(done.is_ok().then(|| rows[0].clone()));
        done.is_err()
    });
    assert!(refused, "the disk was never full");
    (machine, tables, content)
}

/// What fails on a full disk takes nothing of what is kept for those who free more; a start needs no
/// space, and what a table had is there for others as soon as it is dropped.
#[test]
fn a_full_disk_is_opened_and_tables_are_dropped_whatever_has_failed_there() {
    for (seed, restarts) in (0..scaled(6)).flat_map(|seed| [1, 6].map(|it| (u64::from(seed), it))) {
        let (machine, tables, mut content) = full(seed);
        let mut database = machine.open_with(roomy()).unwrap();
        for (at, table) in tables.iter().cycle().take(8).enumerate() {
            let error = database.optimize(*table).err().or(database.checkpoint().err());
            assert!(error.is_none_or(|it| it.code() == Code::DiskFull), "{seed}: {at}");
            let gone = (1, 5000 + i64::try_from(at).unwrap());
            if commit(&database, vec![remove(tables[0], &[gone])]).is_ok() {
                content.remove(&gone);
            }
        }
        for _ in 0..restarts {
            drop(database);
            machine.disk.crash_with(Tear::Everything);
            database = machine.open_with(roomy()).unwrap();
            let _ = database.maintain();
        }
        assert_eq!(read(&database.snapshot(), tables[0]).unwrap(), content, "{seed}");
        for (k, &table) in (9000..).zip(&tables[1..]) {
            database.drop_table(table).unwrap();
            let _ = database.maintain();
            commit(&database, vec![put(tables[0], &[((1, k), row(1))], Mode::Insert)]).unwrap();
            content.insert((1, k), row(1));
        }
        assert_eq!(read(&database.snapshot(), tables[0]).unwrap(), content, "{seed}");
    }
}

/// Tables are dropped on a full disk, and rows are written to the first one after each drop; says how
/// many of them are certainly gone, and what was acknowledged of the first.
fn drops(
    database: &Arc<Database>,
    tables: &[TableId],
    done: &mut (usize, Content),
) -> Result<(), Error> {
    for (at, &table) in tables[1..3].iter().enumerate() {
        database.drop_table(table)?;
        done.0 = at + 1;
        let rows = [((1, 9000 + i64::try_from(at).unwrap()), row(1))];
        commit(database, vec![put(tables[0], &rows, Mode::Insert)])?;
        done.1.extend(rows);
        // There may be no room for it.
        if let Err(error) = database.maintain().and_then(|_| database.checkpoint())
            && error.code() != Code::DiskFull
        {
            return Err(error);
        }
    }
    Ok(())
}

#[test]
fn a_machine_that_stops_on_a_full_disk_is_started_there_and_has_lost_nothing() {
    let (mut points, mut is_done) = (0, false);
    let (full, tables, before) = full(4);
    for at in (0..).step_by(if scaled(1) > 1 { 1 } else { 5 }) {
        for (seed, tear) in (7 * at..).zip(Tear::ALL) {
            let machine = Machine::with(full.disk.fork(seed), seed);
            let database = machine.open_with(roomy()).unwrap();
            machine.disk.fail_after(at, Fault::Crash);
            let mut done = (0, before.clone());
            let result = drops(&database, &tables, &mut done);
            is_done = machine.disk.clear_faults() > 0;
            assert_eq!(result.is_ok(), is_done);
            drop(database);
            machine.disk.crash_with(tear);
            let what = format!("crash at {at}, {tear:?}");
            let database = machine.open_with(roomy());
            let database = database.unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = read(&database.snapshot(), tables[0]).unwrap();
            let more: Vec<_> = found.keys().filter(|key| !done.1.contains_key(key)).collect();
            assert!(done.1.iter().all(|(key, row)| found.get(key) == Some(row)), "{what}");
            assert!(more.len() <= 1, "{what}: {more:?}");
            assert!(tables[1..=done.0].iter().all(|id| database.table(*id).is_none()), "{what}");
            for (k, &table) in (9900..).zip(&tables[1..]) {
                if database.table(table).is_some() {
                    let dropped = database.drop_table(table);
                    dropped.unwrap_or_else(|error| panic!("{what}: {error}"));
                }
                let rows = [((1, k), row(1))];
                let written = commit(&database, vec![put(tables[0], &rows, Mode::Insert)]);
                written.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            points += 1;
        }
        if is_done {
            break;
        }
    }
    assert!(points > 100, "{points}");
}

#[test]
fn a_full_disk_refuses_writes_and_is_well_again_when_there_is_room() {
    let machine = Machine::new(7);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    let mut content = Content::new();
    // Other keys each time: what was refused must not come to light with a later commit.
    let rows = |round: i64| -> Vec<_> {
        (0..50).map(|k| ((k % 2, k + round * 51 % 300), row(round + k))).collect()
    };
    let write = |round: i64, content: &mut Content| {
        let all = rows(round);
        let (even, odd): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|((p, _), _)| *p == 0);
        let writes = vec![put(table, &even, Mode::Replace), put(table, &odd, Mode::Replace)];
        commit(&database, writes).map(|_| content.extend(all))
    };
    write(0, &mut content).unwrap();
    machine.disk.set_capacity(Some(64 << 10));
    let mut refused = 0;
    for round in 1..60 {
        if let Err(error) = write(round, &mut content) {
            assert_eq!(error.code(), Code::DiskFull, "{error}");
            refused += 1;
        }
        match database.maintain() {
            Ok(_) => {}
            Err(error) => assert_eq!(error.code(), Code::DiskFull, "{error}"),
        }
        assert_eq!(read(&database.snapshot(), table).unwrap(), content);
    }
    assert!(refused > 0, "the disk was never full");
    machine.disk.set_capacity(None);
    write(100, &mut content).unwrap();
    while database.maintain().unwrap() {}
    database.checkpoint().unwrap();
    assert_eq!(read(&database.snapshot(), table).unwrap(), content);
    machine.disk.crash();
    let database = machine.open().unwrap();
    assert_eq!(read(&database.snapshot(), table).unwrap(), content);
}

/// Lets a disk take no more than it holds, or a little more.
fn fill(machine: &Machine) {
    let length = |folder: &Path| -> u64 {
        let names = machine.disk.list(folder).unwrap();
        let open = |name: &String| machine.disk.open(&folder.join(name), Open::Read);
        names.iter().filter_map(|name| open(name).ok()?.length().ok()).sum()
    };
    machine.disk.set_capacity(Some(length(Path::new("/data")) + length(Path::new("/data/log"))));
}

#[test]
fn a_full_disk_drops_tables_and_is_opened_again() {
    let machine = Machine::new(9);
    let mut roomy = options();
    // As usual: the log keeps some space.
    roomy.log.segment_bytes = 4 << 20;
    roomy.log.reserve_bytes = 256 << 10;
    roomy.delta_bytes = 64 << 20;
    let open = || machine.open_with(roomy.clone()).unwrap();
    let database = open();
    let [kept, emptied, gone] = [(); 3].map(|()| database.create_table(schema(), b"t").unwrap());
    let rows: Vec<_> = (0..50).map(|k| ((1, k), row(k))).collect();
    for table in [kept, emptied, gone] {
        commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap();
    }
    database.checkpoint().unwrap();
    fill(&machine);
    let until_full = |database: &Database| {
        let write = |k| commit(database, vec![put(kept, &[((1, k), row(k))], Mode::Replace)]);
        (0..1000).find_map(|k| write(k).err()).expect("the disk was never full")
    };
    let refused = until_full(&database);
    assert_eq!(refused.code(), Code::DiskFull);
    assert!(refused.message().contains("make room, or drop"), "{refused}");
    assert_eq!(database.create_table(schema(), b"u").unwrap_err().code(), Code::DiskFull);
    let names = machine.disk.list(Path::new("/data")).unwrap();
    assert_eq!(names.iter().filter(|name| name.starts_with("table-")).count(), 3);
    let content = read(&database.snapshot(), kept).unwrap();
    // Stopped without having been able to write anything down.
    drop(database);
    let database = open();
    assert_eq!(read(&database.snapshot(), kept).unwrap(), content);
    assert_eq!(until_full(&database).code(), Code::DiskFull);
    database.truncate_table(emptied).unwrap();
    let forget = Commit { values: vec![(b"counter".to_vec(), None)], ..Commit::default() };
    database.commit(&forget).unwrap();
    database.drop_table(gone).unwrap();
    assert!(database.failure().is_none());
    let content = read(&database.snapshot(), kept).unwrap();
    machine.disk.set_capacity(None);
    machine.disk.crash();
    let database = open();
    assert_eq!(read(&database.snapshot(), kept).unwrap(), content);
    assert_eq!(read(&database.snapshot(), emptied).unwrap(), Content::new());
    assert!(database.table(gone).is_none());
    commit(&database, vec![put(kept, &rows, Mode::Replace)]).unwrap();
}

/// A table whose drop was cut short is whole, or gone; never half gone.
#[test]
fn a_drop_that_did_not_happen_has_taken_nothing() {
    let mut outcomes = [0, 0];
    for at in 0..12 {
        for tear in Tear::ALL {
            let machine = Machine::new(at);
            let database = machine.open().unwrap();
            let table = database.create_table(schema(), b"t").unwrap();
            let rows: Vec<_> = (0..50).map(|k| ((1, k), row(k))).collect();
            commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap();
            database.checkpoint().unwrap();
            machine.disk.fail_after(at, Fault::Crash);
            let dropped = database.drop_table(table);
            machine.disk.clear_faults();
            machine.disk.crash_with(tear);
            drop(database);
            let database = machine.open().unwrap();
            assert!(database.broken_tables().is_empty(), "crash at {at}, {tear:?}");
            let is_there = database.table(table).is_some();
            assert!(!is_there || dropped.is_err(), "crash at {at}, {tear:?}");
            if is_there {
                let content = read(&database.snapshot(), table).unwrap();
                assert_eq!(content, rows.into_iter().collect(), "crash at {at}, {tear:?}");
            }
            outcomes[usize::from(is_there)] += 1;
        }
    }
    assert!(outcomes[0] > 10 && outcomes[1] > 0, "{outcomes:?}");
}

/// The checks above can fail: a disk without the data is noticed.
#[test]
fn the_harness_can_see_a_loss() {
    let machine = Machine::new(3);
    let mut journal = Journal::default();
    workload(&machine, &mut journal).unwrap();
    let emptied = Machine::with(SimDisk::new(3), 3);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        check(&emptied, &journal, "an empty disk");
    }));
    assert!(outcome.is_err());
}
