//! Looking up many keys at once: any mixture of rows in chunks and in memory, of keys that are
//! absent or there twice, at new and old versions, gives what a scan gives.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_env::Random;
use pelorus_store::{
    Database, Mode, Snapshot, StoredColumn, TableId, TableSchema, Write, encode_filler,
};
use pelorus_types::ColumnType;

use crate::harness::{Machine, commit, put, read, remove, row, schema};

/// The value of the fifth column in rows that are older than it.
const FILLER: i64 = -7;

/// The first round in which rows are written under the fifth column.
const WIDER_FROM: i64 = 20;

/// Keys are below this; half of them are never there.
const KEYS: i64 = 600;

fn below(random: &dyn Random, bound: i64) -> i64 {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    (u64::from_le_bytes(bytes) % bound.cast_unsigned()).cast_signed()
}

fn wider() -> TableSchema {
    let filler: ArrayRef = Arc::new(Int64Array::from(vec![FILLER]));
    let mut wider = schema();
    let filler = Some(encode_filler(&filler));
    wider.columns.push(StoredColumn { id: 4, ty: ColumnType::bigint(), filler });
    wider
}

/// Looks keys up and compares all columns with what a scan of the snapshot has.
fn check(snapshot: &Snapshot, table: TableId, keys: &[i64]) {
    let expected = read(snapshot, table).unwrap();
    let seen = snapshot.table(table).unwrap();
    let p: ArrayRef = Arc::new(Int64Array::from(vec![1; keys.len()]));
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(keys.iter().copied()));
    // The order of columns is free, and one can be asked for twice.
    let wanted = [4, 2, 0, 3, 1, 2];
    let wanted = &wanted[usize::from(seen.schema().columns.len() == 4)..];
    let rows = seen.get(&1_i64.to_be_bytes(), &[p, k], wanted).unwrap();
    let is_there: Vec<bool> = keys.iter().map(|key| expected.contains_key(&(1, *key))).collect();
    assert_eq!(rows.found, is_there, "version {}", snapshot.version());
    let found: Vec<i64> =
        keys.iter().copied().filter(|k| expected.contains_key(&(1, *k))).collect();
    assert!(rows.columns.iter().all(|column| column.len() == found.len()));
    let column =
        |position: usize| &rows.columns[wanted.iter().position(|it| *it == position).unwrap()];
    let int = |position: usize| column(position).as_primitive::<Int64Type>().values().to_vec();
    let (ps, ks, vs) = (int(0), int(1), int(2));
    assert!(ps.iter().all(|p| *p == 1));
    assert_eq!(ks, found);
    assert_eq!(rows.columns.last().unwrap().as_primitive::<Int64Type>().values(), &vs[..]);
    let texts: Vec<Option<&str>> = column(3).as_string::<i32>().iter().collect();
    for (at, key) in found.iter().enumerate() {
        let (v, text) = &expected[&(1, *key)];
        assert_eq!((vs[at], texts[at]), (*v, text.as_deref()), "key {key}");
    }
    if wanted[0] == 4 {
        let added = |v: &i64| if *v < WIDER_FROM * KEYS { FILLER } else { v + 1 };
        assert_eq!(int(4), vs.iter().map(added).collect::<Vec<_>>());
    }
}

/// Checks keys one by one, in batches, all of them, and more than are taken at a time.
fn check_all(snapshot: &Snapshot, table: TableId, random: &dyn Random) {
    let draw = |count: i64| -> Vec<i64> { (0..count).map(|_| below(random, KEYS)).collect() };
    check(snapshot, table, &[]);
    for _ in 0..10 {
        check(snapshot, table, &draw(1));
    }
    check(snapshot, table, &draw(100));
    check(snapshot, table, &draw(5000));
    check(snapshot, table, &(0..KEYS).rev().collect::<Vec<_>>());
}

#[test]
fn batches_of_any_keys_find_what_a_scan_finds() {
    let machine = Machine::new(21);
    let database: Arc<Database> = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let random = Arc::clone(&machine.env.random);
    let (mut held, mut mixed) = (Vec::new(), 0);
    for round in 0..40 {
        let mut keys: Vec<i64> = (0..60).map(|_| below(&*random, KEYS / 2) * 2).collect();
        keys.sort_unstable();
        keys.dedup();
        if round % 4 == 3 {
            let gone: Vec<_> = keys.iter().take(20).map(|k| (1, *k)).collect();
            commit(&database, vec![remove(table, &gone)]).unwrap();
        } else {
            let rows: Vec<_> = keys.iter().map(|k| ((1, *k), row(round * KEYS + k))).collect();
            let mut write = put(table, &rows, Mode::Replace);
            if let Write::Put { columns, .. } = &mut write
                && round >= WIDER_FROM
            {
                let added = rows.iter().map(|(_, (v, _))| v + 1);
                columns.push(Arc::new(Int64Array::from_iter_values(added)));
            }
            commit(&database, vec![write]).unwrap();
        }
        if round == WIDER_FROM - 1 {
            database.alter_table(table, wider(), b"").unwrap();
        }
        if round % 3 == 0 {
            database.maintain().unwrap();
        }
        if round % 6 == 5 {
            let usage = database.table(table).unwrap().parts_usage();
            mixed += usize::from(usage.chunks > 1 && usage.delta_rows > 0);
            let snapshot = database.snapshot();
            check_all(&snapshot, table, &*random);
            held.push(snapshot);
        }
    }
    for snapshot in &held {
        check_all(snapshot, table, &*random);
        check_all(&database.snapshot_at(snapshot.version()), table, &*random);
    }
    assert!(mixed > 1, "chunks and rows in memory were mixed {mixed} times");
}

#[test]
fn a_partition_that_is_not_there_has_no_rows() {
    let machine = Machine::new(22);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let key: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let snapshot = database.snapshot();
    let seen = snapshot.table(table).unwrap();
    let rows = seen.get(b"nowhere", &[Arc::clone(&key), key], &[3, 0]).unwrap();
    assert_eq!(rows.found, [false, false]);
    let types: Vec<_> = rows.columns.iter().map(|it| (it.len(), it.data_type().clone())).collect();
    let expected = [3, 0].map(|at: usize| (0, schema().columns[at].ty.arrow()));
    assert_eq!(types, expected);
}
