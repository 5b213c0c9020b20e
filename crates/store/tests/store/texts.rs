//! Conditions on the texts of a key leave out chunks and vectors by the order of the rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use pelorus_chunk::{Op, Predicate, Scalar, VECTOR_ROWS};
use pelorus_error::Result;
use pelorus_store::{
    Database, History, Mode, ScanRequest, Snapshot, StoredColumn, TableId, TableSchema,
    TableSnapshot, ValueTest, Write,
};
use pelorus_types::{ColumnType, collation};

use crate::harness::{Machine, commit};

const ROWS: i64 = 20_000;

/// A condition on texts, which counts the values that it is asked of.
#[derive(Debug)]
struct Test {
    op: Op,
    text: String,
    asked: AtomicUsize,
}

impl ValueTest for Test {
    fn keep(&self, values: &ArrayRef) -> Result<BooleanArray> {
        self.asked.fetch_add(values.len(), Ordering::Relaxed);
        let holds = |value: &str| match self.op {
            Op::Eq => value == self.text,
            Op::Lt => value < self.text.as_str(),
            _ => value >= self.text.as_str(),
        };
        Ok(values.as_string::<i32>().iter().map(|value| value.map(holds)).collect())
    }
}

fn text_of(number: i64) -> String {
    format!("key {number:08}")
}

/// A table whose key is a text, and a number behind it, with rows that came in no order.
fn filled(database: &Database) -> TableId {
    let text = ColumnType::varchar(20, collation::UTF8MB4_0900_AI_CI);
    let column = |(id, ty): (u32, ColumnType)| StoredColumn { id, ty: ty.not_null(), filler: None };
    let schema = TableSchema {
        columns: (0..).zip([ColumnType::bigint(), text]).map(column).collect(),
        key: vec![1, 0],
        segment: Vec::new(),
        history: History::default(),
    };
    let table = database.create_table(schema, b"").unwrap();
    let numbers = || (0..ROWS).map(|at| at * 7919 % ROWS);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(numbers())),
        Arc::new(StringArray::from_iter_values(numbers().map(text_of))),
    ];
    let write = Write::Put { table, partition: Vec::new(), columns, mode: Mode::Insert };
    commit(database, vec![write]).unwrap();
    table
}

/// How many units a scan has, how many rows it gives, and of how many texts it asks.
fn scanned(seen: &TableSnapshot, op: Op, text: &str) -> (usize, usize, usize) {
    let test = Arc::new(Test { op, text: text.to_owned(), asked: AtomicUsize::new(0) });
    let request = ScanRequest {
        columns: vec![0],
        predicates: Vec::new(),
        tests: vec![(1, Arc::clone(&test) as Arc<dyn ValueTest>)],
        schema: Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)])),
        hidden: None,
        batch_rows: 64,
    };
    let bound = Predicate::Compare(op, Scalar::Bytes(text.as_bytes().to_vec()));
    let units = seen.scan_within(request, &[(1, bound)], |_| true).unwrap();
    let (count, mut rows) = (units.len(), 0);
    for unit in units {
        let mut cursor = unit.open().unwrap();
        while let Some(batch) = cursor.next_batch().unwrap() {
            rows += batch.num_rows();
        }
    }
    (count, rows, test.asked.load(Ordering::Relaxed))
}

#[test]
fn the_order_of_rows_leaves_vectors_out() {
    let machine = Machine::new(21);
    let database = machine.open().unwrap();
    let table = filled(&database);
    let in_memory = database.snapshot();
    let (_, rows, _) = scanned(&in_memory.table(table).unwrap(), Op::Eq, &text_of(777));
    assert_eq!(rows, 1);
    drop(in_memory);
    while database.maintain().unwrap() {}
    drop(database);
    // Now nothing is known of the chunk but what its description says.
    let database = machine.open().unwrap();
    while database.maintain().unwrap() {}
    let snapshot = database.snapshot();
    let seen = snapshot.table(table).unwrap();
    for number in [0, 777, 2047, 2048, 13_000, ROWS - 1] {
        let (_, rows, asked) = scanned(&seen, Op::Eq, &text_of(number));
        assert_eq!(rows, 1, "{number}");
        assert!(asked <= 2 * VECTOR_ROWS, "{asked} texts for {number}");
    }
    let (_, rows, asked) = scanned(&seen, Op::Lt, &text_of(3000));
    assert_eq!(rows, 3000);
    assert!(asked <= 3000 + 2 * VECTOR_ROWS, "{asked} texts");
    let (_, rows, asked) = scanned(&seen, Op::Ge, &text_of(ROWS - 10));
    assert_eq!(rows, 10);
    assert!(asked <= 2 * VECTOR_ROWS, "{asked} texts");
    // A chunk whose keys are known is left out as a whole.
    assert_eq!(scanned(&seen, Op::Eq, "key"), (0, 0, 0));
    assert_eq!(scanned(&seen, Op::Ge, "kez"), (0, 0, 0));
}

#[test]
fn rows_of_several_versions_are_found() {
    let machine = Machine::new(22);
    let database = machine.open().unwrap();
    let table = filled(&database);
    while database.maintain().unwrap() {}
    let before = database.snapshot();
    let key: Vec<ArrayRef> =
        vec![Arc::new(StringArray::from(vec![text_of(5)])), Arc::new(Int64Array::from(vec![5]))];
    let remove = Write::Remove { table, partition: Vec::new(), columns: key };
    commit(&database, vec![remove]).unwrap();
    let after = database.snapshot();
    while database.maintain().unwrap() {}
    let rows =
        |snapshot: &Snapshot| scanned(&snapshot.table(table).unwrap(), Op::Eq, &text_of(5)).1;
    assert_eq!((rows(&before), rows(&after)), (1, 0));
}
