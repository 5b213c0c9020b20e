//! Measures the reader of `VALUES` and the splitter of `LOAD DATA` files.

#![allow(clippy::print_stdout, reason = "this is a command-line tool")]
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::fmt::Write as _;
use std::time::Instant;

use pelorus_sql::dml::fields::{FileFormat, Splitter};
use pelorus_sql::dml::{Change, InsertSource, Value, parse};
use pelorus_sql::{Mode, classify};

const ROWS: usize = 40_000;
const ROUNDS: u32 = 10;

fn main() {
    let mut sql = String::from("INSERT INTO `orders` VALUES ");
    let mut file = Vec::new();
    for row in 0..ROWS {
        let comma = if row == 0 { "" } else { "," };
        let name = format!("customer number {row} of the north-western region");
        let values = format!("{row},-{row},{row}.25,'2024-02-29 10:11:12','{name}'");
        write!(sql, "{comma}({values},NULL,'it\\'s',0x4D4E,'{row}@example.org')").ok();
        let line = format!("{row}\t-{row}\t{row}.25\t2024-02-29 10:11:12\t{name}\t\\N\ta\\tb\n");
        file.extend_from_slice(line.as_bytes());
    }
    insert(&sql);
    split(&file, &FileFormat::default(), "tabs");
    let csv: Vec<u8> = String::from_utf8_lossy(&file)
        .lines()
        .map(|line| line.split('\t').map(|field| format!("\"{field}\"")).collect::<Vec<_>>())
        .flat_map(|fields| (fields.join(",") + "\r\n").into_bytes())
        .collect();
    let format = FileFormat {
        terminated: b",".to_vec(),
        enclosed: b"\"".to_vec(),
        lines_terminated: b"\r\n".to_vec(),
        ..FileFormat::default()
    };
    split(&csv, &format, "csv");
}

fn insert(sql: &str) {
    let mode = Mode::default();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        assert!(classify(sql, mode).is_ok());
    }
    report("classify", start, sql.len(), ROWS);
    let start = Instant::now();
    for _ in 0..ROUNDS {
        assert!(parse(sql, mode).is_ok());
    }
    report("find the rows", start, sql.len(), ROWS);
    let start = Instant::now();
    let mut digits = 0;
    for _ in 0..ROUNDS {
        let Ok(Change::Insert(mut insert)) = parse(sql, mode) else { return };
        let InsertSource::Values(rows) = &mut insert.source else { return };
        let mut row = Vec::new();
        while rows.next_row(&mut row).is_ok_and(|more| more) {
            for value in &row {
                if let Value::Integer(text) = value {
                    digits += text.len();
                }
            }
        }
    }
    report("find and read the rows", start, sql.len(), ROWS);
    assert!(digits > 0);
}

fn split(file: &[u8], format: &FileFormat, name: &str) {
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let Ok(mut splitter) = Splitter::new(format) else { return };
        let mut rows = 0;
        for piece in file.chunks(1 << 16) {
            splitter.feed(piece);
            while let Some(row) = splitter.next_row() {
                rows += 1;
                bytes += row.fields().map(|field| field.bytes.len()).sum::<usize>();
            }
        }
        splitter.finish();
        assert!(rows == ROWS && splitter.next_row().is_none() && bytes > 0);
    }
    report(name, start, file.len(), ROWS);
}

fn report(what: &str, start: Instant, bytes: usize, rows: usize) {
    let seconds = start.elapsed().as_secs_f64() / f64::from(ROUNDS);
    let rate = |count: usize| f64::from(u32::try_from(count).unwrap_or(0)) / seconds / 1e6;
    println!("{what}: {:.0} MB/s, {:.2} million rows/s", rate(bytes), rate(rows));
}
