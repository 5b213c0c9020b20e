//! Rows of tables that have the columns of `harness::schema` and others that were added since, and
//! how they are written and read.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::{Field, Int64Type, Schema};
use pelorus_chunk::Predicate;
use pelorus_error::Result;
use pelorus_store::{Mode, ScanRequest, StoredColumn, TableId, TableSchema, TableSnapshot, Write};

pub(crate) type Key = (i64, i64);

/// A row as it was written: `v`, `t`, and the columns that were added before it by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) v: i64,
    pub(crate) t: Option<String>,
    pub(crate) added: BTreeMap<u32, Option<i64>>,
}

pub(crate) type Content = BTreeMap<Key, Row>;

/// A put of rows that lie in one partition, under a schema.
pub(crate) fn put(table: TableId, schema: &TableSchema, rows: &[(Key, Row)], mode: Mode) -> Write {
    let ints = |value: &dyn Fn(&(Key, Row)) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(value).collect::<Int64Array>())
    };
    let column = |column: &StoredColumn| match column.id {
        0 => ints(&|it| Some(it.0.0)),
        1 => ints(&|it| Some(it.0.1)),
        2 => ints(&|it| Some(it.1.v)),
        3 => Arc::new(rows.iter().map(|it| it.1.t.as_deref()).collect::<StringArray>()),
        id => ints(&|it| it.1.added[&id]),
    };
    let columns = schema.columns.iter().map(column).collect();
    let partition = rows[0].0.0.to_be_bytes().to_vec();
    Write::Put { table, partition, columns, mode }
}

/// How a table is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    pub(crate) predicates: Vec<(u32, Predicate)>,
    pub(crate) hidden: Option<Arc<HashSet<Vec<u8>>>>,
    pub(crate) batch_rows: usize,
}

/// All rows of a table under its newest schema, by their columns' numbers.
pub(crate) fn read(snapshot: &TableSnapshot, how: How) -> Result<Content> {
    let schema = snapshot.schema();
    let at = |id: u32| schema.position(id).unwrap();
    let ids: Vec<u32> = schema.columns.iter().map(|column| column.id).collect();
    let field = |column: &StoredColumn| Field::new(column.id.to_string(), column.ty.arrow(), true);
    let fields: Vec<Field> = schema.columns.iter().map(field).collect();
    let request = ScanRequest {
        columns: (0..ids.len()).collect(),
        predicates: how.predicates.into_iter().map(|(id, it)| (at(id), it)).collect(),
        tests: Vec::new(),
        schema: Arc::new(Schema::new(fields)),
        hidden: how.hidden,
        batch_rows: how.batch_rows,
    };
    let mut found = Content::new();
    for unit in snapshot.scan(request, |_| true)? {
        let mut cursor = unit.open()?;
        while let Some(batch) = cursor.next_batch()? {
            assert!(batch.num_rows() > 0);
            let int = |id: u32, row: usize| {
                let values = batch.column(at(id)).as_primitive::<Int64Type>();
                values.is_valid(row).then(|| values.value(row))
            };
            let texts = batch.column(at(3)).as_string::<i32>();
            for row in 0..batch.num_rows() {
                let key = (int(0, row).unwrap(), int(1, row).unwrap());
                let t = texts.is_valid(row).then(|| texts.value(row).to_owned());
                let added = ids.iter().filter(|id| **id > 3).map(|&id| (id, int(id, row)));
                let row = Row { v: int(2, row).unwrap(), t, added: added.collect() };
                assert_eq!(found.insert(key, row), None, "two live rows of one key");
            }
        }
    }
    Ok(found)
}
