//! Single rules that the model does not state.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{Field, Int64Type, Schema};
use pelorus_error::Code;
use pelorus_store::{Commit, Mode, ScanRequest, StoredColumn};
use pelorus_types::ColumnType;

use crate::harness::{Content, Machine, commit, newest, put, read, row, schema};

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
fn what_is_too_old_is_refused_and_what_is_held_is_kept() {
    let machine = Machine::new(5);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows = |from: i64| -> Vec<_> { (0..100).map(|k| ((1, k), row(from + k))).collect() };
    commit(&database, vec![put(table, &rows(0), Mode::Replace)]).unwrap();
    let held = database.snapshot();
    for round in 1..20 {
        machine.clock.0.fetch_add(10_000, std::sync::atomic::Ordering::Relaxed);
        commit(&database, vec![put(table, &rows(round * 1000), Mode::Replace)]).unwrap();
        while database.maintain().unwrap() {}
    }
    let expected: Content = rows(0).into_iter().collect();
    assert_eq!(read(&held, table).unwrap(), expected);
    let old = held.version();
    drop(held);
    machine.clock.0.fetch_add(10_000, std::sync::atomic::Ordering::Relaxed);
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
