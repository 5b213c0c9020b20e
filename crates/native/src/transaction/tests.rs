//! Tests of transactions and savepoints against a model that copies everything, and of their
//! memory.

use std::collections::BTreeMap;

use arrow::array::{AsArray, BinaryArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_result::kill::Stop;

use super::*;
use crate::Catalog;
use crate::tests::with_tables;

const TABLES: [&str; 2] = [
    "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT)",
    "CREATE TABLE u (id BIGINT PRIMARY KEY, a BIGINT)",
];

/// Rows of the two tables.
type Model = [BTreeMap<i64, i64>; 2];

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % end).unwrap()
    }
}

fn def(catalog: &Catalog, name: &str) -> Arc<NativeDef> {
    catalog.require("d", name).unwrap()
}

fn begin(catalog: &Catalog) -> NativeTransaction {
    NativeTransaction::new(Arc::new(catalog.store().snapshot()), &[], &Account::unlimited())
}

fn columns(rows: &[(i64, i64)]) -> Vec<ArrayRef> {
    let ids: Int64Array = rows.iter().map(|row| row.0).collect();
    let values: Int64Array = rows.iter().map(|row| row.1).collect();
    vec![Arc::new(ids), Arc::new(values)]
}

/// Rows that are written, or deleted without a mode.
fn change(def: &Arc<NativeDef>, rows: &[(i64, i64)], mode: Option<Mode>) -> Change {
    let mut change = Change::new(Arc::clone(def));
    match mode {
        Some(mode) => change.puts.push((columns(rows), mode)),
        None => change.removes.push(columns(rows)),
    }
    change
}

/// A transaction of another session that writes rows.
fn put(catalog: &Catalog, def: &Arc<NativeDef>, rows: &[(i64, i64)], mode: Mode) {
    let mut tx = begin(catalog);
    tx.apply(&[change(def, rows, Some(mode))], &Stop::never()).unwrap();
    catalog.store().commit(&tx.commit(Wanted::Synced).unwrap()).unwrap();
}

/// The transaction's view of a table that had some rows when it began.
fn seen(tx: &NativeTransaction, def: &NativeDef, base: &BTreeMap<i64, i64>) -> BTreeMap<i64, i64> {
    let mut rows = base.clone();
    let Some(own) = tx.reads().own(def.id).unwrap() else { return rows };
    let all: Vec<(i64, i64)> = base.iter().map(|(id, value)| (*id, *value)).collect();
    let keys = keys_of(def, &columns(&all)).unwrap();
    for (key, (id, _)) in keys.iter().zip(&all) {
        if own.hidden.contains(key) {
            rows.remove(id);
        }
    }
    for batch in &own.rows {
        let ids = batch[0].as_primitive::<Int64Type>().values();
        let values = batch[1].as_primitive::<Int64Type>().values();
        for (id, value) in ids.iter().zip(values) {
            assert!(rows.insert(*id, *value).is_none(), "{id} twice");
        }
    }
    rows
}

/// Rows of a table with their actions, for a statement that does several of these.
type Action = (usize, Vec<(i64, i64)>, Option<Mode>);

fn any_action(dice: &mut Dice) -> Action {
    let count = dice.below(4) + 1;
    let rows = (0..count).map(|_| (dice.below(12), dice.below(1000))).collect();
    let table = usize::try_from(dice.below(2)).unwrap();
    let mode = match dice.below(5) {
        0 | 1 => Some(Mode::Insert),
        2 => Some(Mode::Ignore),
        3 => Some(Mode::Replace),
        _ => None,
    };
    (table, rows, mode)
}

/// The model after a statement; `None` when it fails.
fn after(model: &Model, statement: &[Action]) -> Option<Model> {
    let mut model = model.clone();
    for (table, rows, mode) in statement {
        let table = &mut model[*table];
        for (id, value) in rows {
            match mode {
                None => {
                    table.remove(id);
                }
                Some(Mode::Insert) if table.contains_key(id) => return None,
                Some(Mode::Ignore) if table.contains_key(id) => {}
                Some(_) => {
                    table.insert(*id, *value);
                }
            }
        }
    }
    Some(model)
}

/// The stored sums equal the computed ones.
fn check_bytes_kept(tx: &NativeTransaction) {
    for writes in tx.tables.lock().values() {
        let keys: usize = writes.entries.keys().map(|key| key.len()).sum();
        let rows: usize = writes.batches.iter().map(|batch| batch.bytes).sum();
        assert_eq!(writes.bytes, keys + rows);
    }
}

#[test]
fn statements_and_savepoints_do_what_copies_of_everything_would() {
    let catalog = with_tables(&TABLES);
    let defs = [def(&catalog, "t"), def(&catalog, "u")];
    put(&catalog, &defs[0], &[(0, 100), (3, 103), (5, 105), (8, 108)], Mode::Insert);
    put(&catalog, &defs[1], &[(1, 201), (4, 204)], Mode::Insert);
    let base: Model = [
        BTreeMap::from([(0, 100), (3, 103), (5, 105), (8, 108)]),
        BTreeMap::from([(1, 201), (4, 204)]),
    ];
    let dice = &mut Dice(7);
    let (mut failed, mut went_back) = (0, 0);
    for _ in 0..20 {
        let mut tx = begin(&catalog);
        let mut model = base.clone();
        let mut savepoints: Vec<(&str, Model)> = Vec::new();
        for step in 0..120 {
            let name = ["a", "b", "c", "d"][usize::try_from(dice.below(4)).unwrap()];
            let found = savepoints.iter().position(|(known, _)| *known == name);
            match dice.below(10) {
                0 | 1 => {
                    let is_large = step % 2 == 0;
                    tx.savepoint(&if is_large { name.to_uppercase() } else { name.to_owned() });
                    savepoints.retain(|(known, _)| *known != name);
                    savepoints.push((name, model.clone()));
                }
                2 => {
                    assert_eq!(tx.back_to(name, true).unwrap(), found.is_some());
                    savepoints.truncate(found.unwrap_or(savepoints.len()));
                }
                3 => {
                    assert_eq!(tx.back_to(name, false).unwrap(), found.is_some());
                    if let Some(at) = found {
                        went_back += usize::from(model != savepoints[at].1);
                        model = savepoints[at].1.clone();
                        savepoints.truncate(at + 1);
                    }
                }
                _ => {
                    let count = dice.below(3) + 1;
                    let statement: Vec<Action> = (0..count).map(|_| any_action(dice)).collect();
                    let changes: Vec<Change> = statement
                        .iter()
                        .map(|(table, rows, mode)| change(&defs[*table], rows, *mode))
                        .collect();
                    let expected = after(&model, &statement);
                    assert_eq!(tx.apply(&changes, &Stop::never()).is_ok(), expected.is_some());
                    failed += usize::from(expected.is_none());
                    model = expected.unwrap_or(model);
                }
            }
            for (at, def) in defs.iter().enumerate() {
                assert_eq!(seen(&tx, def, &base[at]), model[at]);
            }
            check_bytes_kept(&tx);
            if savepoints.is_empty() {
                assert_eq!(tx.undo.memory(), 0);
            }
        }
    }
    assert!(failed > 100 && went_back > 20, "{failed} {went_back}");
}

#[test]
fn savepoints_take_what_was_written_since_and_no_more() {
    let catalog = with_tables(&TABLES);
    let def = def(&catalog, "t");
    let mut tx = begin(&catalog);
    let many: Vec<(i64, i64)> = (0..5000).map(|id| (id, id)).collect();
    tx.apply(&[change(&def, &many, Some(Mode::Insert))], &Stop::never()).unwrap();
    assert_eq!(tx.undo.memory(), 0);
    for id in 5000..5100 {
        tx.savepoint("again");
        tx.apply(&[change(&def, &[(id, 0)], Some(Mode::Insert))], &Stop::never()).unwrap();
        // One key, and where its row is.
        assert_eq!(tx.undo.memory(), 2 * size_of::<Step>());
    }
    for id in 5100..5200 {
        tx.savepoint(&format!("s{id}"));
        tx.apply(&[change(&def, &[(id, 0)], Some(Mode::Insert))], &Stop::never()).unwrap();
    }
    assert_eq!(tx.undo.memory(), 2 * 101 * size_of::<Step>());
    assert!(tx.back_to("s5150", false).unwrap());
    assert_eq!(tx.undo.memory(), 2 * 51 * size_of::<Step>());
    assert_eq!(seen(&tx, &def, &BTreeMap::new()).len(), 5150);
    assert!(tx.back_to("again", true).unwrap() && !tx.back_to("s5100", true).unwrap());
    assert_eq!(tx.undo.memory(), 0);
}

/// Rows that one statement reads are not gathered again for the next.
#[test]
fn what_has_not_changed_is_read_as_it_was_before() {
    let catalog = with_tables(&TABLES);
    let def = def(&catalog, "t");
    let mut tx = begin(&catalog);
    let many: Vec<(i64, i64)> = (0..100_000).map(|id| (id, id)).collect();
    tx.apply(&[change(&def, &many, Some(Mode::Insert))], &Stop::never()).unwrap();
    let before = tx.reads().own(def.id).unwrap().unwrap();
    tx.savepoint("s");
    tx.apply(&[change(&def, &[(99_999, 0), (100_000, 0)], Some(Mode::Replace))], &Stop::never())
        .unwrap();
    let after = tx.reads().own(def.id).unwrap().unwrap();
    let rows = |own: &OwnWrites| own.rows.iter().map(|batch| batch[0].len()).collect::<Vec<_>>();
    assert_eq!(rows(&before), [BATCH_ROWS, 100_000 - BATCH_ROWS]);
    assert_eq!(rows(&after), [BATCH_ROWS, 100_000 - BATCH_ROWS - 1, 2]);
    assert!(Arc::ptr_eq(&before.rows[0][0], &after.rows[0][0]));
    assert_eq!((before.hidden.len(), after.hidden.len()), (100_000, 100_001));
    drop((before, after));
    assert!(tx.back_to("s", false).unwrap());
    let back = tx.reads().own(def.id).unwrap().unwrap();
    assert_eq!(rows(&back), [BATCH_ROWS, 100_000 - BATCH_ROWS]);
    assert_eq!(back.hidden.len(), 100_000);
    let known = Arc::as_ptr(&back.hidden);
    drop(back);
    tx.apply(&[change(&def, &[(5, 0)], None)], &Stop::never()).unwrap();
    let deleted = tx.reads().own(def.id).unwrap().unwrap();
    assert_eq!(Arc::as_ptr(&deleted.hidden), known);
    assert_eq!(rows(&deleted), [BATCH_ROWS - 1, 100_000 - BATCH_ROWS]);
}

#[test]
fn what_was_taken_back_was_not_written() {
    let catalog = with_tables(&TABLES);
    let def = def(&catalog, "t");
    let mut tx = begin(&catalog);
    tx.savepoint("s");
    tx.apply(&[change(&def, &[(1, 1)], Some(Mode::Insert))], &Stop::never()).unwrap();
    assert!(tx.has_written());
    assert!(tx.back_to("s", false).unwrap());
    assert!(!tx.has_written());
    let twice = change(&def, &[(1, 1), (1, 2)], Some(Mode::Insert));
    assert_eq!(tx.apply(&[twice], &Stop::never()).unwrap_err().errno(), 1062);
    assert!(!tx.has_written());
}

/// Another session may make a row under the key meanwhile: it stays.
#[test]
fn a_row_that_was_made_and_deleted_is_no_part_of_the_commit() {
    let catalog = with_tables(&TABLES);
    let def = def(&catalog, "t");
    put(&catalog, &def, &[(2, 2)], Mode::Insert);
    let mut tx = begin(&catalog);
    tx.apply(&[change(&def, &[(1, 1)], Some(Mode::Insert))], &Stop::never()).unwrap();
    tx.apply(&[change(&def, &[(1, 1)], None)], &Stop::never()).unwrap();
    assert!(tx.commit(Wanted::Synced).unwrap().writes.is_empty());
    let mut tx = begin(&catalog);
    tx.apply(&[change(&def, &[(2, 2)], None)], &Stop::never()).unwrap();
    assert_eq!(tx.commit(Wanted::Synced).unwrap().writes.len(), 1);
}

#[test]
fn all_tables_of_a_transaction_count_together() {
    let catalog = with_tables(&[
        "CREATE TABLE t (id BIGINT PRIMARY KEY, a LONGBLOB)",
        "CREATE TABLE u (id BIGINT PRIMARY KEY, a LONGBLOB)",
    ]);
    let defs = [def(&catalog, "t"), def(&catalog, "u")];
    // One value of 32 MiB, which all rows share.
    let bytes = vec![1_u8; 32 << 20];
    let value: ArrayRef = Arc::new(BinaryArray::from_vec(vec![bytes.as_slice()]));
    let mut tx = begin(&catalog);
    let mut write = |id: i64| {
        let mut change = Change::new(Arc::clone(&defs[usize::from(id % 2 == 0)]));
        let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![id])), Arc::clone(&value)];
        change.puts.push((columns, Mode::Insert));
        tx.apply(&[change], &Stop::never()).map(drop)
    };
    for id in 0..23 {
        write(id).unwrap();
    }
    assert_eq!(write(23).unwrap_err().errno(), 1235);
}

/// A query that locks rows requests no lock that it has, and a savepoint does not unlock them.
#[test]
fn locks_are_taken_once_and_outlive_savepoints() {
    let catalog = with_tables(&TABLES);
    let def = def(&catalog, "t");
    put(&catalog, &def, &[(1, 1), (2, 2), (3, 3)], Mode::Insert);
    let base = BTreeMap::from([(1, 1), (2, 2), (3, 3)]);
    let lock = |rows: &[(i64, i64)]| {
        let mut change = change(&def, rows, Some(Mode::Replace));
        change.locks = true;
        change
    };
    let bytes = |tx: &NativeTransaction| tx.tables.lock().get(&def.id).map_or(0, |it| it.bytes);
    let mut tx = begin(&catalog);
    tx.apply(&[lock(&[(1, 1), (2, 2)])], &Stop::never()).unwrap();
    let before = bytes(&tx);
    tx.apply(&[lock(&[(2, 2), (1, 1)])], &Stop::never()).unwrap();
    assert_eq!(bytes(&tx), before);
    // Row 4 is the transaction's own, and goes.
    tx.savepoint("s");
    for round in 0..2 {
        tx.apply(&[change(&def, &[(4, 4)], Some(Mode::Insert))], &Stop::never()).unwrap();
        tx.apply(&[lock(&[(2, 2), (3, 3), (4, 4)])], &Stop::never()).unwrap();
        tx.apply(&[change(&def, &[(2, 20), (3, 30)], Some(Mode::Replace))], &Stop::never())
            .unwrap();
        tx.apply(&[change(&def, &[(1, 1)], None)], &Stop::never()).unwrap();
        assert_eq!(seen(&tx, &def, &base), BTreeMap::from([(2, 20), (3, 30), (4, 4)]));
        assert!(tx.back_to("s", false).unwrap());
        assert_eq!(seen(&tx, &def, &base), base, "{round}");
        assert_eq!(tx.tables.lock()[&def.id].entries.len(), 3);
        check_bytes_kept(&tx);
    }
    // Another session writes a row that was locked after the savepoint.
    put(&catalog, &def, &[(3, 9)], Mode::Replace);
    let commit = tx.commit(Wanted::Synced).unwrap();
    assert_eq!(catalog.store().commit(&commit).unwrap_err().errno(), 1213);
}
