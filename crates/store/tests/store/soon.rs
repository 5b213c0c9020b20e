//! Commits that are acknowledged before they are durable: seen at once, and after a crash there up
//! to some version and not beyond.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use pelorus_env::Tear;
use pelorus_store::{Commit, Database, Durability, Mode, Options, TableId, Write};

use crate::gate::Gate;
use crate::harness::{Content, Machine, commit, newest, options, put, read, row, schema};

/// Ends the thread, also when the test has failed.
struct Stop<'a>(&'a Database);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop_syncing();
    }
}

fn soon(database: &Database, writes: Vec<Write>) {
    let commit = Commit { writes, durability: Durability::Async, ..Commit::default() };
    database.commit(&commit).unwrap();
}

fn rows(round: i64) -> Vec<((i64, i64), crate::harness::Row)> {
    (0..5).map(|k| ((1, k + round % 7), row(round * 10 + k))).collect()
}

/// Nobody syncs for an hour: what a crash leaves is what the last synced commit, or a full buffer
/// of the log, made durable.
fn lazy() -> Options {
    Options { sync_micros: 3_600_000_000, ..options() }
}

fn with_thread(database: &Arc<Database>, work: impl FnOnce()) {
    std::thread::scope(|scope| {
        let stop = Stop(database);
        scope.spawn(|| database.run_syncing());
        database.wait_for_syncing();
        work();
        drop(stop);
    });
}

#[test]
fn a_crash_leaves_a_state_that_was() {
    for synced in [None, Some(3), Some(12), Some(19)] {
        for (seed, tear) in (0..).zip(Tear::ALL) {
            let machine = Machine::new(seed);
            let database = machine.open_with(lazy()).unwrap();
            let table = database.create_table(schema(), b"t").unwrap();
            let mut states = vec![Content::new()];
            let mut crashed = None;
            with_thread(&database, || {
                for round in 0..20 {
                    let writes = vec![put(table, &rows(round), Mode::Replace)];
                    if synced == Some(round) {
                        commit(&database, writes).unwrap();
                    } else {
                        soon(&database, writes);
                    }
                    let mut next = states.last().cloned().unwrap();
                    next.extend(rows(round));
                    assert_eq!(newest(&database, table), next, "seen at once");
                    states.push(next);
                }
                // Before the thread ends and syncs.
                crashed = Some(Machine::with(machine.disk.fork(seed), seed));
            });
            let crashed = crashed.unwrap();
            crashed.disk.crash_with(tear);
            let found = newest(&crashed.open().unwrap(), table);
            let least = synced.map_or(0, |round| usize::try_from(round).unwrap() + 1);
            let at = states.iter().rposition(|state| *state == found);
            assert!(at.is_some_and(|at| at >= least), "{synced:?} {tear:?}: {at:?}");
        }
    }
}

#[test]
fn the_end_of_the_thread_leaves_nothing_unsynced() {
    let machine = Machine::new(9);
    let database = machine.open_with(lazy()).unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    with_thread(&database, || soon(&database, vec![put(table, &rows(0), Mode::Insert)]));
    machine.disk.crash_with(Tear::Nothing);
    assert_eq!(newest(&machine.open().unwrap(), table), rows(0).into_iter().collect());
}

#[test]
fn the_log_is_synced_after_a_while() {
    let machine = Machine::new(10);
    let database = machine.open_with(Options { sync_micros: 1000, ..options() }).unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    with_thread(&database, || {
        soon(&database, vec![put(table, &rows(0), Mode::Insert)]);
        let expected: Content = rows(0).into_iter().collect();
        for _ in 0..5000 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let copy = Machine::with(machine.disk.fork(1), 1);
            copy.disk.crash_with(Tear::Nothing);
            if newest(&copy.open().unwrap(), table) == expected {
                return;
            }
        }
        panic!("the commit never became durable");
    });
}

#[test]
fn without_a_thread_commits_wait() {
    let machine = Machine::new(11);
    let database = machine.open().unwrap();
    let table: TableId = database.create_table(schema(), b"t").unwrap();
    soon(&database, vec![put(table, &rows(0), Mode::Insert)]);
    machine.disk.crash_with(Tear::Nothing);
    let database = machine.open().unwrap();
    assert_eq!(read(&database.snapshot(), table).unwrap(), rows(0).into_iter().collect());
}

/// While a checkpoint is written commits go on, and the history of the table may be given up as far
/// as they are seen. A crash must not take them and leave that.
#[test]
fn a_checkpoint_gives_up_no_history_for_commits_that_can_still_be_lost() {
    let mut machine = Machine::new(11);
    let gate = Gate::default();
    machine.env.disk = gate.around(machine.env.disk);
    let database = machine.open_with(lazy()).unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    commit(&database, vec![put(table, &rows(0), Mode::Insert)]).unwrap();
    let crashed = Arc::new(Mutex::new(None));
    with_thread(&database, || {
        let (late, clock, again) =
            (Arc::clone(&database), Arc::clone(&machine.clock), gate.clone());
        let (disk, out) = (machine.disk.clone(), Arc::clone(&crashed));
        gate.before_write("table-", move || {
            soon(&late, vec![put(table, &rows(1), Mode::Replace)]);
            clock.0.fetch_add(1_000_000, Ordering::Relaxed);
            late.maintain().unwrap();
            assert_eq!(late.table(table).unwrap().floor(), late.version());
            // The table's file is written, the catalog is not.
            again.before_write("catalog", move || *out.lock() = Some(disk.fork(1)));
        });
        database.checkpoint().unwrap();
        assert!(gate.has_happened());
    });
    let disk = crashed.lock().take().unwrap();
    disk.crash_with(Tear::Nothing);
    let report = pelorus_fsck::check(&disk, std::path::Path::new("/data"));
    assert!(report.is_sound(), "{report:?}");
    let found = newest(&Machine::with(disk, 1).open().unwrap(), table);
    let first: Content = rows(0).into_iter().collect();
    let mut both = first.clone();
    both.extend(rows(1));
    assert!(found == first || found == both, "{found:?}");
}
