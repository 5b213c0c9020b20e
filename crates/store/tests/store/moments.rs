//! What may be seen between two steps: before a commit is durable, while partitions are dropped,
//! when files fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pelorus_env::{SimDisk, Tear};
use pelorus_error::Code;
use pelorus_store::{Commit, Database, Mode, Options, StoredColumn, TableId};
use pelorus_types::ColumnType;

use crate::gate::Gate;
use crate::harness::{Content, Machine, commit, newest, options, put, read, remove, row, schema};

struct World {
    disk: SimDisk,
    gate: Gate,
    database: Arc<Database>,
    table: TableId,
}

fn world(seed: u64, options: Options) -> World {
    let mut machine = Machine::new(seed);
    let gate = Gate::default();
    machine.env.disk = gate.around(machine.env.disk);
    let database = machine.open_with(options).unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    World { disk: machine.disk, gate, database, table }
}

impl World {
    /// What a crash at this moment, which takes all that was not synced, leaves of the table.
    fn after_a_crash(&self) -> Content {
        let disk = self.disk.fork(1);
        disk.crash_with(Tear::Nothing);
        let database = Machine::with(disk, 1).open().unwrap();
        assert!(database.broken_tables().is_empty());
        newest(&database, self.table)
    }
}

fn rows(keys: std::ops::Range<i64>) -> Vec<((i64, i64), crate::harness::Row)> {
    keys.map(|k| ((1, k), row(k))).collect()
}

/// Ends the maintenance, also when the test has failed.
struct Stop<'a>(&'a Database);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop_maintenance();
    }
}

/// Nothing that is not durable is seen, and nobody is told of it.
#[test]
fn what_is_not_durable_is_neither_seen_nor_told() {
    let World { gate, database, table, .. } = world(1, options());
    commit(&database, vec![put(table, &rows(0..10), Mode::Insert)]).unwrap();
    let before = newest(&database, table);
    let is_durable = AtomicBool::new(false);
    let all = rows(0..20);
    std::thread::scope(|scope| {
        let closed = gate.close();
        scope.spawn(|| commit(&database, vec![put(table, &all, Mode::Replace)]).unwrap());
        gate.wait_for_somebody();
        assert_eq!(newest(&database, table), before);
        // The rows are there, but could still be lost.
        let (begun, begins) = std::sync::mpsc::channel();
        let (database, is_durable) = (&database, &is_durable);
        let again = Commit { writes: vec![put(table, &all, Mode::Ignore)], ..Commit::default() };
        let second = scope.spawn(move || {
            let receipt = database.commit_unless(&again, &|| begun.send(()).is_err()).unwrap();
            // Not a moment earlier.
            assert!(is_durable.load(Ordering::SeqCst));
            receipt
        });
        begins.recv().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(newest(database, table), before);
        // A flush of what is not durable shows it to nobody either.
        while database.maintain().unwrap() {}
        assert_eq!(newest(database, table), before);
        is_durable.store(true, Ordering::SeqCst);
        drop(closed);
        assert_eq!(second.join().unwrap().outcomes[0].ignored, 20);
    });
    assert_eq!(newest(&database, table), rows(0..20).into_iter().collect());
}

#[test]
fn a_partition_is_seen_until_its_drop_is_durable_and_as_long_as_somebody_reads_it() {
    let World { gate, database, table, .. } = world(2, options());
    commit(&database, vec![put(table, &rows(0..100), Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    let before = newest(&database, table);
    let held = database.snapshot();
    std::thread::scope(|scope| {
        let closed = gate.close();
        scope.spawn(|| database.drop_partitions(table, &[1_i64.to_be_bytes().to_vec()]).unwrap());
        gate.wait_for_somebody();
        assert_eq!(newest(&database, table), before);
        drop(closed);
    });
    assert_eq!(newest(&database, table), Content::new());
    commit(&database, vec![put(table, &rows(50..60), Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    database.checkpoint().unwrap();
    assert_eq!(newest(&database, table).len(), 10);
    assert_eq!(read(&held, table).unwrap(), before);
    // What was computed from rows that are gone is not committed.
    let late = Commit {
        writes: vec![put(table, &rows(0..1), Mode::Replace)],
        snapshot: Some(held.version()),
        ..Commit::default()
    };
    assert_eq!(database.commit(&late).unwrap_err().code(), Code::Deadlock);
    let old = held.version();
    drop(held);
    database.maintain().unwrap();
    let error = database.snapshot_at(old).table(table).unwrap_err();
    assert_eq!(error.code(), Code::HistoryTooOld);
}

#[test]
fn a_table_whose_file_fails_can_be_read_and_its_writers_are_told() {
    let limits = Options { delta_bytes: 8 << 10, flush_rows: usize::MAX, ..options() };
    let World { gate, database, table, .. } = world(3, limits);
    gate.break_files("table-");
    let mut content = Content::new();
    std::thread::scope(|scope| {
        scope.spawn(|| database.run_maintenance());
        let _stop = Stop(&database);
        // Far more than fits memory: without an answer the writers would wait for ever.
        let mut refused = 0;
        for round in 0..1000 {
            let more = rows(round * 10..round * 10 + 10);
            match commit(&database, vec![put(table, &more, Mode::Insert)]) {
                Ok(_) => content.extend(more),
                Err(error) => {
                    assert!(matches!(error.code(), Code::FileWrite | Code::TableFailed), "{error}");
                    refused += 1;
                    if refused == 3 {
                        break;
                    }
                }
            }
        }
        assert_eq!(refused, 3);
        assert_eq!(newest(&database, table), content);
    });
}

#[test]
fn damage_in_one_place_does_not_keep_others_from_being_flushed() {
    let machine = Machine::new(4);
    let limits = Options { cache_bytes: 0, ..options() };
    let database = machine.open_with(limits.clone()).unwrap();
    let tables = [0, 1].map(|_| database.create_table(schema(), b"").unwrap());
    for table in tables {
        commit(&database, vec![put(table, &rows(0..100), Mode::Insert)]).unwrap();
    }
    while database.maintain().unwrap() {}
    database.close().unwrap();
    drop(database);
    let path = format!("/data/table-{}.blocks", tables[0].0);
    let length = machine.disk.durable_bytes(path.as_ref()).unwrap().len();
    for offset in (65536 + 64..length as u64).step_by(64) {
        // Chunks are read only when they are needed; manifests were, to open the file.
        let copy = machine.disk.fork(offset);
        copy.flip_bit(path.as_ref(), offset, 3).unwrap();
        let copy = Machine::with(copy, offset);
        let Ok(database) = copy.open_with(limits.clone()) else { continue };
        let Err(error) = read(&database.snapshot(), tables[0]) else { continue };
        assert_eq!(error.code(), Code::FileDamaged);
        let before = database.delta_bytes();
        for table in tables {
            // Old keys go away with the damaged chunk's index, so new ones are taken.
            let more: Vec<_> = (0..100).map(|k| ((2, k), row(k))).collect();
            commit(&database, vec![put(table, &more, Mode::Insert)]).unwrap();
            let all: Vec<_> = (0..90).map(|k| (1, k)).collect();
            commit(&database, vec![remove(table, &all)]).ok();
        }
        let _ = database.maintain();
        assert_eq!(database.delta_bytes(), before);
        return;
    }
    panic!("no damage was found");
}

/// The header of a data file names a position of the log, which must be durable by then.
#[test]
fn no_file_is_ahead_of_the_log() {
    let world = world(5, options());
    let World { gate, database, table, .. } = &world;
    commit(database, vec![put(*table, &rows(0..10), Mode::Insert)]).unwrap();
    let before = newest(database, *table);
    let all = rows(5..20);
    std::thread::scope(|scope| {
        let closed = gate.close();
        scope.spawn(|| commit(database, vec![put(*table, &all, Mode::Replace)]).unwrap());
        gate.wait_for_somebody();
        let (writing, writes) = std::sync::mpsc::channel();
        gate.before_write("table-", move || writing.send(()).unwrap());
        let checkpoint = scope.spawn(|| database.checkpoint().unwrap());
        writes.recv().unwrap();
        // It has begun; a header would be written next.
        std::thread::sleep(Duration::from_millis(50));
        assert!(!checkpoint.is_finished());
        assert_eq!(world.after_a_crash(), before);
        drop(closed);
        checkpoint.join().unwrap();
    });
    assert_eq!(world.after_a_crash(), rows(0..20).into_iter().collect());
}

/// What is committed while a checkpoint is being written is not in it, and not lost.
#[test]
fn a_checkpoint_holds_what_was_committed_before_it_and_no_more() {
    let world = world(6, options());
    let World { gate, database, table, .. } = &world;
    for file in ["table-", "catalog"] {
        commit(database, vec![put(*table, &rows(0..10), Mode::Replace)]).unwrap();
        let (late, table) = (Arc::clone(database), *table);
        gate.before_write(file, move || {
            commit(&late, vec![put(table, &rows(10..20), Mode::Replace)]).unwrap();
            late.create_table(schema(), b"").unwrap();
        });
        database.checkpoint().unwrap();
        assert!(gate.has_happened());
        assert_eq!(world.after_a_crash(), rows(0..20).into_iter().collect(), "{file}");
        let tables = database.tables().len();
        let disk = world.disk.fork(2);
        disk.crash_with(Tear::Nothing);
        assert_eq!(Machine::with(disk, 2).open().unwrap().tables().len(), tables);
        commit(database, vec![remove(table, &(10..20).map(|k| (1, k)).collect::<Vec<_>>())])
            .unwrap();
    }
}

/// Whichever of its writes a commit comes before, a checkpoint does not say that it holds it.
#[test]
fn a_commit_before_any_write_of_a_checkpoint_is_in_the_log() {
    let mut tried = 0;
    for others in 0.. {
        let world = world(8, options());
        let World { gate, database, table, .. } = &world;
        let early: Vec<_> = (0..4).flat_map(|p| (0..5).map(move |k| ((p, k), row(k)))).collect();
        for rows in early.chunks(5) {
            commit(database, vec![put(*table, rows, Mode::Insert)]).unwrap();
        }
        let (late, table) = (Arc::clone(database), *table);
        gate.before_later_write("table-", others, move || {
            commit(&late, vec![put(table, &rows(10..20), Mode::Insert)]).unwrap();
        });
        database.checkpoint().unwrap();
        if !gate.has_happened() {
            break;
        }
        tried += 1;
        let all: Content = early.into_iter().chain(rows(10..20)).collect();
        assert_eq!(world.after_a_crash(), all, "before write {others}");
    }
    assert!(tried > 5, "four deltas, a manifest, a table and a header: {tried}");
}

/// Between the moment when a commit is made ready and the one when it is carried out, the table may
/// change: rows are then not taken for rows of other columns.
#[test]
fn what_was_made_ready_under_another_schema_is_refused() {
    let World { gate, database, table, .. } = world(7, Options { delta_bytes: 2048, ..options() });
    commit(&database, vec![put(table, &rows(0..100), Mode::Insert)]).unwrap();
    let before = newest(&database, table);
    let late = Arc::clone(&database);
    // A writer who finds memory full flushes first, with its own rows ready.
    gate.before_write("table-", move || {
        let mut wider = schema();
        let (id, ty) = (wider.next_column_id(), ColumnType::bigint());
        wider.columns.insert(2, StoredColumn { id, ty, filler: None });
        late.alter_table(table, wider, b"wider").unwrap();
    });
    let refused = commit(&database, vec![put(table, &rows(90..110), Mode::Replace)]);
    assert!(gate.has_happened());
    assert_eq!(refused.unwrap_err().code(), Code::TableChanged);
    database.alter_table(table, schema(), b"").unwrap();
    assert_eq!(newest(&database, table), before);
    assert_eq!(database.failure(), None);
}
