//! Loads the events workload into a store in process and says how fast each part was.
//!
//! `cargo run --release -p pelorus-store --example ingest -- FOLDER MILLIONS [again]`: rows of 104
//! bytes in batches of 40,000, partitioned by two hours of their time, `INSERT IGNORE`; `again`
//! loads the last two million once more. A tool for people; `make bench-ingest` has the peers.
#![allow(clippy::print_stdout, reason = "this program is for people to read")]
#![allow(clippy::unwrap_used, reason = "a failure ends this program anyway")]
#![allow(clippy::disallowed_methods, reason = "this program measures time")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use pelorus_env::Env;
use pelorus_store::{
    ByteWeigher, Commit, Database, History, Mode, Options, StoredColumn, TableSchema, Write,
};
use pelorus_types::temporal::DateTime;
use pelorus_types::{ColumnType, WireType, collation};

const BATCH: i64 = 40_000;

/// Rows a second of the workload's clock.
const RATE: i64 = 8_000;

fn schema() -> TableSchema {
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

fn mix(value: i64) -> i64 {
    let mut word = (value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((word ^ (word >> 32)) >> 1) as i64
}

/// The rows from a number on, and the two hours that they lie in.
fn batch(first: i64) -> (Vec<u8>, Vec<ArrayRef>) {
    let day = DateTime::date(2024, 1, 1);
    let rows = first..first + BATCH;
    let int = |map: &dyn Fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.clone().map(map)))
    };
    let time = |row: i64| day.plus_micros(row / RATE * 1_000_000).unwrap().pack();
    let texts = rows.clone().map(|row| {
        let number = mix(row);
        format!("{:016x}{:08x}", number, number % 100_000)
    });
    let columns = vec![
        int(&time),
        int(&|row| mix(row) % 5_000_000),
        int(&|row| row % 1_000),
        int(&|row| mix(row + 1) % 50),
        int(&|row| mix(row + 2) % 10_000),
        int(&|row| mix(row + 3) % 2),
        int(&|row| mix(row + 4) % 1_000_000),
        int(&|row| row),
        int(&|row| mix(row + 5) % 300),
        Arc::new(StringArray::from_iter_values(texts)) as ArrayRef,
    ];
    let slice = first / RATE / 7200;
    (slice.to_be_bytes().to_vec(), columns)
}

fn load(database: &Arc<Database>, table: pelorus_store::TableId, first: i64) -> (u64, u64) {
    let (partition, columns) = batch(first);
    let write = Write::Put { table, partition, columns, mode: Mode::Ignore };
    let receipt = database.commit(&Commit { writes: vec![write], ..Commit::default() }).unwrap();
    (receipt.outcomes[0].inserted, receipt.outcomes[0].ignored)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let folder = PathBuf::from(&arguments[1]);
    let millions: i64 = arguments[2].parse().unwrap();
    let options = Options::default();
    let start = Instant::now();
    let database = Database::open(Env::real(), &folder, options, Arc::new(ByteWeigher)).unwrap();
    println!("opened in {:?}", start.elapsed());
    let table = match database.tables().first() {
        Some(table) => table.id(),
        None => database.create_table(schema(), b"events").unwrap(),
    };
    let worker = Arc::clone(&database);
    let thread = std::thread::spawn(move || worker.run_maintenance());
    let total = millions * 1_000_000 / BATCH;
    let window = 1_000_000 / BATCH;
    let mut at = Instant::now();
    let mut making = 0.0;
    for number in 0..total {
        let begun = Instant::now();
        let prepared = batch(number * BATCH);
        making += begun.elapsed().as_secs_f64();
        drop(prepared);
        load(&database, table, number * BATCH);
        if (number + 1) % window == 0 {
            let seconds = at.elapsed().as_secs_f64() - 2.0 * making;
            println!(
                "{:4} M: {:9.0} rows/s, {} MB in deltas",
                (number + 1) / window,
                1e6 / seconds,
                database.delta_bytes() >> 20
            );
            at = Instant::now();
            making = 0.0;
        }
    }
    if arguments.get(3).is_some() {
        let begun = Instant::now();
        let rows: u64 = (total - 2 * window..total)
            .map(|number| load(&database, table, number * BATCH).1)
            .sum();
        println!(
            "again: {rows} ignored, {:.0} rows/s",
            rows as f64 / begun.elapsed().as_secs_f64()
        );
    }
    let snapshot = database.snapshot();
    println!("{} rows", snapshot.table(table).unwrap().rows());
    drop(snapshot);
    let begun = Instant::now();
    database.close().unwrap();
    thread.join().unwrap();
    println!("closed in {:?}", begun.elapsed());
}
