//! The events workload: forty million records a day, about 104 bytes each, whose time only moves
//! forward; the one definition for Pelorus in process and for all peers.
//!
//! A record has a time, eight numbers and a text. Its primary key is what makes it unique, so that
//! loading it again is harmless: time, item, source. Partitions are two hours of time. Row `n` is
//! the same in every run and for every system.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::{ArrayRef, Int64Array, StringArray};
use pelorus_store::{Commit, Database, History, Mode, StoredColumn, TableId, TableSchema, Write};
use pelorus_types::temporal::{DateTime, write_datetime};
use pelorus_types::{ColumnType, WireType, collation};

use crate::lab::mix;

/// Rows of a batch.
pub(crate) const BATCH: u64 = 40_000;

/// Rows a second of the workload's own clock: forty million a day.
pub(crate) const RATE: u64 = 463;

/// Rows of one second differ in their source, of which there are a thousand.
const _: () = assert!(RATE <= SOURCES);

/// How many sources there are.
const SOURCES: u64 = 1000;

/// Seconds of a partition.
const PARTITION_SECONDS: u64 = 7200;

/// Rows of half an hour, in whole batches: they are loaded again after a crash.
pub(crate) const HALF_HOUR: u64 = (RATE * 1800).div_ceil(BATCH) * BATCH;

/// The columns, as `CREATE TABLE` of Pelorus and MariaDB has them.
pub(crate) const COLUMNS: &str = "time DATETIME NOT NULL, item BIGINT NOT NULL, \
    source BIGINT NOT NULL, kind BIGINT NOT NULL, place BIGINT NOT NULL, flag BIGINT NOT NULL, \
    amount BIGINT NOT NULL, serial BIGINT NOT NULL, code BIGINT NOT NULL, text VARCHAR(60), \
    PRIMARY KEY (time, item, source)";

/// How the store keeps it.
pub(crate) fn schema() -> TableSchema {
    let int = ColumnType::bigint().not_null();
    let time = ColumnType::new(WireType::DateTime, collation::BINARY, 19, 0).not_null();
    let text = ColumnType::varchar(60, collation::UTF8MB4_0900_AI_CI);
    let types = [time, int, int, int, int, int, int, int, int, text];
    let column = |(id, ty): (u32, ColumnType)| StoredColumn { id, ty, filler: None };
    TableSchema {
        columns: (0..).zip(types).map(column).collect(),
        key: vec![0, 1, 2],
        segment: Vec::new(),
        history: History::default(),
    }
}

/// The partition of a row.
fn partition(row: u64) -> u64 {
    row / RATE / PARTITION_SECONDS
}

/// The key of a partition.
pub(crate) fn partition_key(partition: u64) -> Vec<u8> {
    partition.to_be_bytes().to_vec()
}

/// How many partitions so many rows have.
pub(crate) fn partitions(rows: u64) -> u64 {
    partition(rows.saturating_sub(1)) + 1
}

/// The rows of a partition, if the table has no end.
pub(crate) fn rows_of(partition: u64) -> Range<u64> {
    let rows = RATE * PARTITION_SECONDS;
    partition * rows..(partition + 1) * rows
}

/// When a partition begins.
pub(crate) fn begin_of(partition: u64) -> String {
    time_text(partition * PARTITION_SECONDS)
}

fn time(second: u64) -> DateTime {
    let micros = i64::try_from(second).unwrap_or(i64::MAX / 1_000_000) * 1_000_000;
    DateTime::date(2024, 1, 1).plus_micros(micros).unwrap_or(DateTime::date(9999, 12, 31))
}

fn time_text(second: u64) -> String {
    let mut text = String::new();
    write_datetime(&mut text, time(second), 0);
    text
}

/// The numbers of a row, from `item` to `code`.
fn numbers(row: u64) -> [u64; 8] {
    let drawn = mix(row);
    [
        drawn % 5_000_000,
        row % SOURCES,
        (drawn >> 3) % 50,
        (drawn >> 7) % 10_000,
        (drawn >> 11) % 2,
        (drawn >> 13) % 1_000_000,
        row,
        (drawn >> 17) % 300,
    ]
}

/// 31 characters, with the byte of their length 32 bytes.
fn write_text(out: &mut String, row: u64) {
    let drawn = mix(row ^ 0x5EED);
    out.push_str("/events/");
    let page = drawn % 100_000;
    let zeros = ["00000", "0000", "000", "00", "0", ""];
    let digits = page.checked_ilog10().unwrap_or(0) as usize;
    out.push_str(zeros[digits]);
    // Writing to a string cannot fail.
    let _ = write!(out, "{page}/{drawn:016x}");
}

/// Columns of rows, ready for the store; one piece for each partition.
pub(crate) fn batch(rows: Range<u64>) -> Vec<(Vec<u8>, Vec<ArrayRef>)> {
    let mut pieces = Vec::new();
    let mut first = rows.start;
    while first < rows.end {
        let number = partition(first);
        let end = rows.end.min(rows_of(number).end);
        pieces.push((partition_key(number), columns(first..end)));
        first = end;
    }
    pieces
}

fn columns(rows: Range<u64>) -> Vec<ArrayRef> {
    let count = usize::try_from(rows.end - rows.start).unwrap_or(0);
    let mut ints: Vec<Vec<i64>> = (0..9).map(|_| Vec::with_capacity(count)).collect();
    let mut texts = String::with_capacity(count * 31);
    let mut second = (u64::MAX, 0);
    for row in rows {
        if second.0 != row / RATE {
            second = (row / RATE, time(row / RATE).pack());
        }
        ints[0].push(second.1);
        for (column, number) in ints[1..].iter_mut().zip(numbers(row)) {
            column.push(number.cast_signed());
        }
        write_text(&mut texts, row);
    }
    let texts = (0..count).map(|at| &texts[at * 31..(at + 1) * 31]);
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let ints = ints.into_iter().map(|column| Arc::new(Int64Array::from(column)) as ArrayRef);
    ints.chain([texts]).collect()
}

/// Loads pieces as one commit, skipping existing rows; returns the number of new rows.
pub(crate) fn load(
    database: &Database,
    table: TableId,
    pieces: Vec<(Vec<u8>, Vec<ArrayRef>)>,
) -> anyhow::Result<u64> {
    let write = |(partition, columns)| Write::Put { table, partition, columns, mode: Mode::Ignore };
    let writes = pieces.into_iter().map(write).collect();
    let receipt = database.commit(&Commit { writes, ..Commit::default() })?;
    Ok(receipt.outcomes.iter().map(|outcome| outcome.inserted).sum())
}

/// Writes rows as files of one batch each, tab-separated, as `LOAD DATA` reads them.
pub(crate) fn write_files(folder: &Path, rows: u64) -> anyhow::Result<()> {
    for number in 0..rows / BATCH {
        let path = folder.join(format!("{number:06}.tsv"));
        let mut text = String::with_capacity(4 << 20);
        for row in number * BATCH..(number + 1) * BATCH {
            text.push_str(&time_text(row / RATE));
            for value in numbers(row) {
                let _ = write!(text, "\t{value}");
            }
            text.push('\t');
            write_text(&mut text, row);
            text.push('\n');
        }
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {path:?}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray as _;
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn a_row_has_104_bytes() {
        let mut text = String::new();
        for row in [0, 1, 12_345, u64::MAX / 2] {
            text.clear();
            write_text(&mut text, row);
            assert_eq!(text.len(), 31);
        }
        // Nine numbers of 8 bytes, the text, and the byte of its length.
        assert_eq!(9 * 8 + text.len() + 1, 104);
    }

    #[test]
    fn batches_are_cut_where_partitions_end() {
        let end = rows_of(0).end;
        let pieces = batch(end - 100..end + 50);
        let rows: Vec<usize> = pieces.iter().map(|piece| piece.1[0].len()).collect();
        assert_eq!(rows, [100, 50]);
        assert_eq!(pieces[1].0, partition_key(1));
        let times = pieces[1].1[0].as_primitive::<Int64Type>();
        assert_eq!(
            times.value(0),
            DateTime::date(2024, 1, 1).plus_micros(7_200_000_000).unwrap().pack()
        );
        assert_eq!(partitions(end), 1);
        assert_eq!(partitions(end + 1), 2);
        assert_eq!(begin_of(1), "2024-01-01 02:00:00");
    }
}
