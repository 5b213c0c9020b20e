//! Single rules that the model does not state.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{Field, Int64Type, Schema};
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::Code;
use pelorus_store::{
    Commit, Database, Mode, Options, Sample, ScanRequest, Snapshot, StoredColumn, TableId,
};
use pelorus_types::ColumnType;

use crate::harness::{Content, Machine, commit, newest, options, put, read, remove, row, schema};

#[test]
fn tables_come_and_go() {
    let machine = Machine::new(1);
    let database = machine.open().unwrap();
    let first = database.create_table(schema(), b"one").unwrap();
    let second = database.create_table(schema(), b"two").unwrap();
    commit(&database, vec![put(second, &[((1, 1), row(1))], Mode::Insert)]).unwrap();
    database.drop_table(first).unwrap();
    assert!(database.table(first).is_none());
    drop(database);
    let database = machine.open().unwrap();
    assert!(database.table(first).is_none());
    assert_eq!(&*database.table(second).unwrap().definition(), b"two");
    assert_eq!(newest(&database, second).len(), 1);
    let third = database.create_table(schema(), b"three").unwrap();
    assert!(third > second);
    let files = machine.env.disk.list("/data".as_ref()).unwrap();
    let tables = files.iter().filter(|name| name.starts_with("table-")).count();
    assert_eq!(tables, 2, "{files:?}");
}

#[test]
fn a_batch_loaded_again_changes_nothing() {
    let machine = Machine::new(2);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..500).map(|k| ((1, k % 250), row(k % 250))).collect();
    let receipt = commit(&database, vec![put(table, &rows, Mode::Ignore)]).unwrap();
    assert_eq!((receipt.outcomes[0].inserted, receipt.outcomes[0].ignored), (250, 250));
    assert_eq!(receipt.outcomes[0].ignored_rows, (250..500).collect::<Vec<u32>>());
    while database.maintain().unwrap() {}
    let before = database.version();
    for _ in 0..3 {
        let receipt = commit(&database, vec![put(table, &rows, Mode::Ignore)]).unwrap();
        assert_eq!((receipt.outcomes[0].inserted, receipt.outcomes[0].ignored), (0, 500));
    }
    assert_eq!(database.version(), before);
    assert_eq!(newest(&database, table).len(), 250);
}

#[test]
fn added_columns_have_their_filler_and_dropped_ones_are_gone() {
    let machine = Machine::new(3);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..100).map(|k| ((1, k), row(k))).collect();
    commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    let late: Vec<_> = (100..110).map(|k| ((1, k), row(k))).collect();
    commit(&database, vec![put(table, &late, Mode::Insert)]).unwrap();

    let mut wider = schema();
    let id = wider.next_column_id();
    wider.columns.push(StoredColumn { id, ty: ColumnType::bigint(), filler: None });
    wider.columns.remove(2);
    database.alter_table(table, wider, b"wider").unwrap();
    let snapshot = database.snapshot();
    let seen = snapshot.table(table).unwrap();
    let fields = seen
        .schema()
        .columns
        .iter()
        .map(|column| Field::new(column.id.to_string(), column.ty.arrow(), true))
        .collect::<Vec<_>>();
    let request = ScanRequest {
        columns: vec![1, 3],
        predicates: Vec::new(),
        tests: Vec::new(),
        schema: Arc::new(Schema::new(vec![fields[1].clone(), fields[3].clone()])),
        hidden: None,
        batch_rows: 10,
    };
    let mut keys: Vec<i64> = Vec::new();
    for unit in seen.scan(request, |_| true).unwrap() {
        let mut cursor = unit.open().unwrap();
        while let Some(batch) = cursor.next_batch().unwrap() {
            assert_eq!(batch.column(1).null_count(), batch.num_rows());
            keys.extend(batch.column(0).as_primitive::<Int64Type>().values());
        }
    }
    keys.sort_unstable();
    assert_eq!(keys, (0..110).collect::<Vec<_>>());
    // What was made ready under the old columns is refused, not misread.
    let old = commit(&database, vec![put(table, &[((1, 500), row(1))], Mode::Insert)]);
    assert_eq!(old.unwrap_err().code(), Code::TableChanged);
    drop(database);
    let database = machine.open().unwrap();
    assert_eq!(database.snapshot().table(table).unwrap().rows(), 110);
}

#[test]
fn values_of_the_engine_are_part_of_commits() {
    let machine = Machine::new(4);
    let database = machine.open().unwrap();
    let set = |key: &[u8], value: Option<&[u8]>| Commit {
        values: vec![(key.to_vec(), value.map(<[u8]>::to_vec))],
        ..Commit::default()
    };
    database.commit(&set(b"db/a", Some(b"1"))).unwrap();
    database.commit(&set(b"db/b", Some(b"2"))).unwrap();
    database.checkpoint().unwrap();
    database.commit(&set(b"db/a", None)).unwrap();
    database.commit(&set(b"e", Some(b"3"))).unwrap();
    drop(database);
    let database = machine.open().unwrap();
    assert_eq!(database.values(b"db/"), [(b"db/b".to_vec(), b"2".to_vec())]);
    assert_eq!(database.value(b"e"), Some(b"3".to_vec()));
}

#[test]
fn checkpoints_go_on_when_the_clock_is_set_back() {
    let machine = Machine::new(41);
    let limits = Options { checkpoint_micros: 1_000_000, ..options() };
    let database = machine.open_with(limits).unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    while database.maintain().unwrap() {}
    machine.clock.1.store(900_000_000, Ordering::Relaxed);
    for k in 0..3 {
        commit(&database, vec![put(table, &[((1, k), row(k))], Mode::Insert)]).unwrap();
        assert!(!database.maintain().unwrap(), "nothing is due");
        machine.clock.0.fetch_add(1_500_000, Ordering::Relaxed);
        assert!(database.maintain().unwrap(), "a checkpoint is due");
    }
}

/// A moment goes on giving what was there when the clock showed it for the first time, also where the
/// server was down while the clock was set back.
#[test]
fn times_of_commits_never_go_back() {
    const SECOND: u64 = 1_000_000;
    for (restarts, closes) in [(false, false), (true, false), (true, true)] {
        let machine = Machine::new(43);
        let mut database = machine.open().unwrap();
        let mut long = schema();
        long.history.micros = u64::MAX;
        let table = database.create_table(long, b"").unwrap();
        let shown =
            |machine: &Machine| u64::try_from(machine.env.clock.since_epoch().as_micros()).unwrap();
        let pass = |micros: u64| machine.clock.0.fetch_add(micros, Ordering::Relaxed);
        let write = |database: &Arc<Database>, k: i64| {
            commit(database, vec![put(table, &[((1, k), row(k))], Mode::Insert)]).unwrap().version
        };
        let first = write(&database, 1);
        let made = shown(&machine);
        // Where the server ends without a word, it is known up to its last commit alone.
        pass(if restarts && !closes { 500 } else { 5 * SECOND });
        let moment = shown(&machine);
        if closes {
            database.close().unwrap();
        }
        machine.clock.1.store(7 * SECOND, Ordering::Relaxed);
        if restarts {
            drop(database);
            database = machine.open().unwrap();
        }
        let mut versions = Vec::new();
        for k in 2..5 {
            versions.push(write(&database, k));
            pass(SECOND);
        }
        for at in [made, made + 600, moment] {
            assert_eq!(database.version_at(at), Some(first), "{restarts} {closes}: {at}");
        }
        pass(20 * SECOND);
        assert_eq!(database.version_at(moment), Some(first), "{restarts} {closes}");
        let last = write(&database, 5);
        assert_eq!(database.version_at(shown(&machine) - SECOND), versions.last().copied());
        assert_eq!(database.version_at(shown(&machine)), Some(last));
        assert_eq!(database.version_at(moment), Some(first), "{restarts} {closes}");
        drop(database);
        let database = machine.open().unwrap();
        assert_eq!(database.version_at(moment), Some(first), "{restarts} {closes}");
    }
}

/// A manifest that said of all rows when they died would not fit its block: the history ends early, and
/// where somebody reads it, at the next start.
#[test]
fn a_history_of_too_many_dead_rows_is_given_up_and_no_checkpoint_fails() {
    let machine = Machine::new(40);
    let limits = Options { history_marks: 50, ..options() };
    let open = || machine.open_with(limits.clone()).unwrap();
    let mut long = schema();
    long.history.micros = u64::MAX;
    let database = open();
    let table = database.create_table(long, b"").unwrap();
    let rows: Vec<_> = (0..200).map(|k| ((1, k), row(k))).collect();
    let first = commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap().version;
    let end = |database: &Database, keys: std::ops::Range<i64>| {
        for k in keys {
            commit(database, vec![remove(table, &[(1, k)])]).unwrap();
        }
    };
    let held = database.snapshot();
    while database.maintain().unwrap() {}
    // More than are kept, but somebody reads them; the manifest has room.
    end(&database, 0..60);
    while database.maintain().unwrap() {}
    database.checkpoint().unwrap();
    assert_eq!(read(&held, table).unwrap().len(), 200);
    drop(held);
    drop(database);
    let database = open();
    let held = database.snapshot_at(first);
    assert_eq!(read(&held, table).unwrap().len(), 200);
    // The manifest has no room, but memory has.
    end(&database, 60..120);
    database.checkpoint().unwrap();
    assert_eq!(read(&held, table).unwrap().len(), 200);
    drop(held);
    drop(database);
    let database = open();
    assert_eq!(newest(&database, table), rows[120..].iter().cloned().collect());
    let error = database.snapshot_at(first).table(table).unwrap_err();
    assert_eq!(error.code(), Code::HistoryTooOld);
    // Nobody reads them: they are given up.
    end(&database, 120..180);
    let before = database.version();
    while database.maintain().unwrap() {}
    assert_eq!(database.table(table).unwrap().floor(), before);
    assert_eq!(newest(&database, table).len(), 20);
}

#[test]
fn what_is_too_old_is_refused_and_what_is_held_is_kept() {
    let machine = Machine::new(5);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows = |from: i64| -> Vec<_> { (0..100).map(|k| ((1, k), row(from + k))).collect() };
    commit(&database, vec![put(table, &rows(0), Mode::Replace)]).unwrap();
    let held = database.snapshot();
    for round in 1..20 {
        machine.clock.0.fetch_add(10_000, Ordering::Relaxed);
        commit(&database, vec![put(table, &rows(round * 1000), Mode::Replace)]).unwrap();
        while database.maintain().unwrap() {}
    }
    let expected: Content = rows(0).into_iter().collect();
    assert_eq!(read(&held, table).unwrap(), expected);
    let old = held.version();
    drop(held);
    machine.clock.0.fetch_add(10_000, Ordering::Relaxed);
    commit(&database, vec![put(table, &rows(0), Mode::Replace)]).unwrap();
    while database.maintain().unwrap() {}
    let late = database.snapshot_at(old);
    assert_eq!(read(&late, table).unwrap_err().code(), Code::HistoryTooOld);
    assert_eq!(newest(&database, table), expected);
}

#[test]
fn a_batch_that_does_not_fit_the_table_is_refused() {
    let machine = Machine::new(6);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let write = pelorus_store::Write::Put {
        table,
        partition: vec![0],
        columns: vec![column],
        mode: Mode::Insert,
    };
    assert_eq!(commit(&database, vec![write]).unwrap_err().code(), Code::TableChanged);
}

#[test]
fn numbers_of_columns_do_not_come_back_and_keys_stay_as_they_are() {
    let machine = Machine::new(7);
    let mut database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..100).map(|k| ((1, k), row(k))).collect();
    commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    let mut shorter = schema();
    shorter.columns.pop();
    database.alter_table(table, shorter.clone(), b"").unwrap();
    for _ in 0..2 {
        assert_eq!(shorter.next_column_id(), 3);
        let mut again = shorter.clone();
        let ty = ColumnType::bigint();
        again.columns.push(StoredColumn { id: 3, ty, filler: None });
        database.alter_table(table, again.clone(), b"").unwrap_err();
        assert_eq!(database.table(table).unwrap().next_column_id(), 4);
        database.checkpoint().unwrap();
        drop(database);
        database = machine.open().unwrap();
    }
    let mut text = schema();
    text.key = vec![0, 3];
    let table_of_texts = database.create_table(text.clone(), b"").unwrap();
    text.columns[3].ty.collation = pelorus_types::collation::UTF8MB4_BIN;
    database.alter_table(table_of_texts, text, b"").unwrap_err();
    let mut twice = shorter;
    twice.columns[2].id = 1;
    database.alter_table(table, twice, b"").unwrap_err();
}

#[test]
fn no_key_stands_in_two_changes_of_a_commit() {
    let machine = Machine::new(8);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows = |keys: std::ops::Range<i64>| -> Vec<_> { keys.map(|k| ((1, k), row(k))).collect() };
    let two =
        vec![put(table, &rows(0..10), Mode::Replace), put(table, &rows(9..20), Mode::Replace)];
    commit(&database, two).unwrap_err();
    let two = vec![put(table, &rows(0..10), Mode::Replace), remove(table, &[(1, 3)])];
    commit(&database, two).unwrap_err();
    assert_eq!(newest(&database, table), Content::new());
}

#[test]
fn small_batches_reach_over_vectors_without_rows() {
    let machine = Machine::new(9);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..9000).map(|k| ((1, k), (k * 7919 % 9000, None))).collect();
    for rows in rows.chunks(1000) {
        commit(&database, vec![put(table, rows, Mode::Insert)]).unwrap();
    }
    while database.maintain().unwrap() {}
    let snapshot = database.snapshot();
    let seen = snapshot.table(table).unwrap();
    let field = Field::new("v", arrow::datatypes::DataType::Int64, true);
    for batch_rows in [0, 1, 2, 3, 5000] {
        let few = Predicate::Compare(Op::Ge, Scalar::Int(8998));
        let request = ScanRequest {
            columns: vec![2],
            predicates: vec![(2, few)],
            tests: Vec::new(),
            schema: Arc::new(Schema::new(vec![field.clone()])),
            hidden: None,
            batch_rows,
        };
        let mut count = 0;
        for unit in seen.scan(request, |_| true).unwrap() {
            let mut cursor = unit.open().unwrap();
            while let Some(batch) = cursor.next_batch().unwrap() {
                count += batch.num_rows();
            }
        }
        assert_eq!(count, 2, "batches of {batch_rows}");
    }
}

#[test]
fn a_scan_keeps_its_version_readable_without_its_snapshot() {
    let machine = Machine::new(10);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..100).map(|k| ((1, k), row(k))).collect();
    commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    let units = {
        let snapshot = database.snapshot();
        let field = Field::new("k", arrow::datatypes::DataType::Int64, true);
        let request = ScanRequest {
            columns: vec![1],
            predicates: Vec::new(),
            tests: Vec::new(),
            schema: Arc::new(Schema::new(vec![field])),
            hidden: None,
            batch_rows: 64,
        };
        snapshot.table(table).unwrap().scan(request, |_| true).unwrap()
    };
    let gone: Vec<_> = (0..5).map(|k| (1, k)).collect();
    commit(&database, vec![remove(table, &gone)]).unwrap();
    machine.clock.0.fetch_add(1_000_000, Ordering::Relaxed);
    commit(&database, vec![put(table, &rows[50..51], Mode::Replace)]).unwrap();
    while database.maintain().unwrap() {}
    let mut count = 0;
    for unit in units {
        let mut cursor = unit.open().unwrap();
        while let Some(batch) = cursor.next_batch().unwrap() {
            count += batch.num_rows();
        }
    }
    assert_eq!(count, 100);
}

#[test]
fn a_sample_has_its_share_of_chunks_and_deltas() {
    let machine = Machine::new(12);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"t").unwrap();
    let rows = |from: i64| -> Vec<_> { (from..from + 20_000).map(|k| ((1, k), row(k))).collect() };
    commit(&database, vec![put(table, &rows(0), Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    commit(&database, vec![put(table, &rows(20_000), Mode::Insert)]).unwrap();
    // Dead rows are in no sample.
    let dead: Vec<(i64, i64)> = (0..40_000).step_by(2).map(|k| (1, k)).collect();
    commit(&database, vec![remove(table, &dead)]).unwrap();
    let snapshot = database.snapshot();
    let seen = snapshot.table(table).unwrap();
    let field = Field::new("k", arrow::datatypes::DataType::Int64, true);
    let request = ScanRequest {
        columns: vec![1],
        predicates: Vec::new(),
        tests: Vec::new(),
        schema: Arc::new(Schema::new(vec![field])),
        hidden: None,
        batch_rows: 100,
    };
    let mut keys: Vec<i64> = Vec::new();
    for unit in seen.scan(request, |_| true).unwrap() {
        let mut cursor = unit.open_sample(Sample::new(0.1, 7)).unwrap();
        while let Some(batch) = cursor.next_batch().unwrap() {
            keys.extend(batch.column(0).as_primitive::<Int64Type>().values());
        }
    }
    assert!(keys.iter().all(|key| key % 2 == 1));
    for begin in [0, 20_000] {
        let found = keys.iter().filter(|key| (begin..begin + 20_000).contains(*key)).count();
        assert!((850..1150).contains(&found), "{found} of 10000 from {begin} on");
    }
}

/// Rows of some keys that a version has.
fn found(snapshot: &Snapshot, table: TableId, keys: std::ops::Range<i64>) -> usize {
    let seen = snapshot.table(table).unwrap();
    let p: ArrayRef = Arc::new(Int64Array::from_iter_values(keys.clone().map(|_| 1)));
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(keys));
    let rows = seen.get(&1_i64.to_be_bytes(), &[p, k], &[2]).unwrap();
    rows.found.iter().filter(|found| **found).count()
}

#[test]
fn removed_keys_are_found_at_older_versions_after_a_start() {
    let machine = Machine::new(13);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..100).map(|k| ((1, k), row(k))).collect();
    let old = commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap().version;
    let gone: Vec<_> = (0..30).map(|k| (1, k)).collect();
    commit(&database, vec![remove(table, &gone)]).unwrap();
    // The marks are in the file, and no log says anything of them.
    database.close().unwrap();
    drop(database);
    let database = machine.open().unwrap();
    assert_eq!(found(&database.snapshot(), table, 0..100), 70);
    assert_eq!(found(&database.snapshot_at(old), table, 0..100), 100);
}

#[test]
fn a_version_is_kept_until_the_last_of_its_readers_has_gone() {
    let machine = Machine::new(14);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows = |from: i64| -> Vec<_> { (0..100).map(|k| ((1, k), row(from + k))).collect() };
    commit(&database, vec![put(table, &rows(0), Mode::Replace)]).unwrap();
    let expected: Content = rows(0).into_iter().collect();
    let mut held: Vec<Snapshot> = (0..3).map(|_| database.snapshot()).collect();
    while held.pop().is_some() {
        machine.clock.0.fetch_add(10_000, Ordering::Relaxed);
        commit(&database, vec![put(table, &rows(1000), Mode::Replace)]).unwrap();
        while database.maintain().unwrap() {}
        for held in &held {
            assert_eq!(read(held, table).unwrap(), expected, "{} left", held.version());
        }
    }
}

/// A manifest does not have the partitions that were dropped before it, whoever still reads them.
#[test]
fn versions_before_a_drop_cannot_be_read_after_a_start() {
    let machine = Machine::new(15);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows = |p: i64| -> Vec<_> { (0..50).map(|k| ((p, k), row(k))).collect() };
    for p in 0..2 {
        commit(&database, vec![put(table, &rows(p), Mode::Insert)]).unwrap();
    }
    let held = database.snapshot();
    database.drop_partitions(table, &[1_i64.to_be_bytes().to_vec()]).unwrap();
    database.checkpoint().unwrap();
    assert_eq!(read(&held, table).unwrap().len(), 100);
    let old = held.version();
    machine.disk.crash();
    drop(held);
    let database = machine.open().unwrap();
    assert_eq!(newest(&database, table).len(), 50);
    let error = database.snapshot_at(old).table(table).unwrap_err();
    assert_eq!(error.code(), Code::HistoryTooOld);
}
