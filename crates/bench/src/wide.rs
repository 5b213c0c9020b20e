//! A table of 13 columns for look-ups and updates: ten numbers, a time and two texts. The content
//! of a row follows from its number and from how often it was written.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, StringBuilder};
use arrow::datatypes::{Field, Float64Type, Int64Type, Schema, SchemaRef};
use pelorus_store::{
    Commit, Database, History, Mode, ScanRequest, StoredColumn, TableId, TableSchema,
    TableSnapshot, Write,
};
use pelorus_types::temporal::DateTime;
use pelorus_types::{ColumnType, WireType, collation};

use crate::lab::mix;

/// How many columns.
pub(crate) const COLUMNS: usize = 13;

/// Rows of a commit.
pub(crate) const BATCH: u64 = 40_000;

/// How the store keeps it. There is one partition.
pub(crate) fn schema(history: History) -> TableSchema {
    let int = ColumnType::bigint().not_null();
    let time = ColumnType::new(WireType::DateTime, collation::BINARY, 19, 0).not_null();
    let text = ColumnType::varchar(40, collation::UTF8MB4_0900_AI_CI);
    let real = ColumnType::double();
    let types = [int, int, int, int, int, int, int, int, int, real, time, text, text];
    let column = |(id, ty): (u32, ColumnType)| StoredColumn { id, ty, filler: None };
    TableSchema {
        columns: (0..).zip(types).map(column).collect(),
        key: vec![0],
        segment: Vec::new(),
        history,
    }
}

/// The last number of a row, which tells whether it is the right one.
pub(crate) fn check_of(id: u64, round: u64) -> i64 {
    (mix(id ^ round << 40) >> 1).cast_signed()
}

/// The columns of rows by their numbers, written for the `round`th time.
pub(crate) fn columns(ids: &[u64], round: u64) -> Vec<ArrayRef> {
    let day = DateTime::date(2024, 1, 1);
    let drawn: Vec<u64> = ids.iter().map(|id| mix(id ^ round << 32)).collect();
    let int = |map: &dyn Fn(u64, u64) -> u64| -> ArrayRef {
        let values = ids.iter().zip(&drawn).map(|(&id, &drawn)| map(id, drawn).cast_signed());
        Arc::new(Int64Array::from_iter_values(values))
    };
    let time = |drawn: &u64| {
        let second = (drawn >> 9) % 10_000_000;
        day.plus_micros(second.cast_signed() * 1_000_000).unwrap_or(day).pack()
    };
    let text = |map: &dyn Fn(&mut String, u64)| -> ArrayRef {
        let mut out = String::new();
        let mut all = StringBuilder::with_capacity(ids.len(), ids.len() * 13);
        for &drawn in &drawn {
            out.clear();
            map(&mut out, drawn);
            all.append_value(&out);
        }
        Arc::new(all.finish())
    };
    let reals = drawn.iter().map(|drawn| (drawn % 1_000_000) as f64 / 100.0);
    let names = ["north", "south", "east", "west", "middle", "upper", "lower", "outer"];
    vec![
        int(&|id, _| id),
        int(&|_, drawn| drawn % 100_000),
        int(&|_, drawn| (drawn >> 5) % 5_000),
        int(&|_, drawn| (drawn >> 11) % 200),
        int(&|_, drawn| (drawn >> 17) % 7),
        int(&|_, drawn| (drawn >> 23) % 2),
        int(&|_, drawn| (drawn >> 29) % 1_000_000),
        int(&|_, drawn| (drawn >> 35) % 10_000),
        Arc::new(Int64Array::from_iter_values(ids.iter().map(|&id| check_of(id, round)))),
        Arc::new(Float64Array::from_iter_values(reals)),
        Arc::new(Int64Array::from_iter_values(drawn.iter().map(time))),
        text(&|out, drawn| out.push_str(names[(drawn >> 41) as usize % names.len()])),
        text(&|out, drawn| {
            // Writing to a string cannot fail.
            let _ = write!(out, "note {:08x}", drawn >> 32);
        }),
    ]
}

/// Writes rows in one commit; each takes the place of the row of its number.
pub(crate) fn put(
    database: &Database,
    table: TableId,
    ids: &[u64],
    round: u64,
) -> anyhow::Result<()> {
    let columns = columns(ids, round);
    let write = Write::Put { table, partition: Vec::new(), columns, mode: Mode::Replace };
    database.commit(&Commit { writes: vec![write], ..Commit::default() })?;
    Ok(())
}

/// Makes the table with rows from 0 on.
pub(crate) fn fill(database: &Database, rows: u64, history: History) -> anyhow::Result<TableId> {
    let table = database.create_table(schema(history), b"wide")?;
    let mut first = 0;
    while first < rows {
        let end = rows.min(first + BATCH);
        let ids: Vec<u64> = (first..end).collect();
        put(database, table, &ids, 0)?;
        first = end;
    }
    Ok(table)
}

/// The results of a full scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) rows: u64,
    /// The sum of all numbers of rows.
    pub(crate) ids: u64,
}

/// Reads all columns of all rows, and looks at every value.
pub(crate) fn scan(snapshot: &TableSnapshot) -> anyhow::Result<Scanned> {
    let stored = &snapshot.schema().columns;
    let field = |column: &StoredColumn| Field::new(column.id.to_string(), column.ty.arrow(), true);
    let schema: SchemaRef = Arc::new(Schema::new(stored.iter().map(field).collect::<Vec<_>>()));
    let request = ScanRequest {
        columns: (0..stored.len()).collect(),
        predicates: Vec::new(),
        tests: Vec::new(),
        schema,
        hidden: None,
        batch_rows: 8192,
    };
    let mut scanned = Scanned::default();
    for unit in snapshot.scan(request, |_| true)? {
        let mut cursor = unit.open()?;
        while let Some(batch) = cursor.next_batch()? {
            scanned.rows += batch.num_rows() as u64;
            let ids = batch.column(0).as_primitive::<Int64Type>();
            scanned.ids += ids.values().iter().map(|id| id.cast_unsigned()).sum::<u64>();
            // Values that are never read need not even be in memory.
            std::hint::black_box(batch.columns().iter().map(looked_at).fold(0, u64::wrapping_add));
        }
    }
    Ok(scanned)
}

/// A number that every value of a column has a part in.
fn looked_at(column: &ArrayRef) -> u64 {
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return numbers.values().iter().fold(0, |sum, it| sum.wrapping_add(it.cast_unsigned()));
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        return numbers.values().iter().fold(0, |sum, it| sum.wrapping_add(it.to_bits()));
    }
    let Some(texts) = column.as_string_opt::<i32>() else { return 0 };
    let ends = texts.value_offsets();
    let (first, last) = (ends[0], ends[texts.len()]);
    let bytes =
        texts.value_data().get(first.cast_unsigned() as usize..last.cast_unsigned() as usize);
    let bytes = bytes.unwrap_or_default().as_chunks::<8>();
    let words = bytes.0.iter().fold(0_u64, |sum, it| sum.wrapping_add(u64::from_le_bytes(*it)));
    let offsets =
        ends.iter().fold(0_u64, |sum, it| sum.wrapping_add(u64::from(it.cast_unsigned())));
    let rest = bytes.1.iter().fold(0_u64, |sum, it| sum.wrapping_add(u64::from(*it)));
    words.wrapping_add(offsets).wrapping_add(rest)
}

/// The expected results of a full scan of rows from 0 on.
pub(crate) fn whole(rows: u64) -> Scanned {
    Scanned { rows, ids: rows * rows.saturating_sub(1) / 2 }
}

/// Whether columns hold one row, and that the right one.
pub(crate) fn is_row(columns: &[ArrayRef], id: u64, round: u64) -> bool {
    let number = |at: usize| columns.get(at).map(|it| it.as_primitive::<Int64Type>());
    columns.len() == COLUMNS
        && columns.iter().all(|column| column.len() == 1)
        && number(0).is_some_and(|it| it.value(0) == id.cast_signed())
        && number(8).is_some_and(|it| it.value(0) == check_of(id, round))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart() {
        let columns = columns(&[5], 3);
        assert!(is_row(&columns, 5, 3));
        assert!(!is_row(&columns, 6, 3) && !is_row(&columns, 5, 4));
        assert!(!is_row(&super::columns(&[5, 6], 3), 5, 3));
        assert_eq!(whole(4), Scanned { rows: 4, ids: 6 });
        for (column, other) in super::columns(&[5, 6], 3).iter().zip(super::columns(&[5, 6], 4)) {
            let same = column.to_data() == other.to_data();
            assert_eq!(looked_at(column) == looked_at(&other), same, "every value has its part");
        }
    }
}
