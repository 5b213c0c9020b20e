//! Measures the index: inserts in windows, bytes per row, batched and single lookups, updates,
//! removals, the worst pause of one insert; and the standard map in the same run.
//!
//! `cargo run --release --example speed -- 50` takes the number of rows in millions (default 50,
//! about 1.7 GB while the standard map grows).

#![allow(clippy::print_stdout, reason = "this is a command-line tool")]
#![allow(clippy::disallowed_methods, reason = "it measures, so it needs the real clock")]
#![allow(clippy::cast_sign_loss, reason = "shares are between 0 and 1")]
#![allow(clippy::cast_possible_truncation, reason = "row numbers are below 2^32")]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

use pelorus_index::{KeyIndex, RowRef, hash_key};

/// Operations of one measurement after the inserts.
const PROBES: u64 = 10_000_000;
/// Keys in one batch.
const BATCH: u64 = 256;

/// Hands on a hash that is one already.
#[derive(Debug, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type StdMap = HashMap<u64, u32, BuildHasherDefault<Identity>>;

fn main() {
    let millions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50);
    let rows = millions * 1_000_000;
    hashing();
    std_map(rows);
    one_by_one(rows);
    let mut index = batched(rows);
    lookups(&index, rows);
    changes(&mut index, rows);
    drop(index);
    worst_pause(rows.min(20_000_000));
}

fn hash(row: u64) -> u64 {
    hash_key(0x5EED, &row.to_be_bytes())
}

/// The `i`th row of a sequence that looks random and has no repeats worth noting.
fn random_row(i: u64, rows: u64) -> u64 {
    let mixed = (i ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((u128::from(mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) as u64 as u128
        * u128::from(rows))
        >> 64) as u64
}

fn nanos(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count as f64
}

fn report(what: &str, time: Duration, count: u64) {
    println!("{what:<44} {:>7.1} ns", nanos(time, count));
}

fn hashing() {
    for length in [4, 8, 16, 40] {
        let mut key = vec![b'k'; length];
        let start = Instant::now();
        let mut all = 0;
        for i in 0..PROBES as u32 {
            key[..4].copy_from_slice(&i.to_le_bytes());
            all ^= hash_key(7, black_box(&key));
        }
        black_box(all);
        report(&format!("hash of {length} bytes"), start.elapsed(), PROBES);
    }
}

/// Runs `insert` for windows of a tenth of the rows and prints what each cost.
fn windows(what: &str, rows: u64, mut insert: impl FnMut(std::ops::Range<u64>) -> usize) {
    let step = rows.div_ceil(10);
    for first in (0..rows).step_by(step as usize) {
        let last = (first + step).min(rows);
        let start = Instant::now();
        let bytes = insert(first..last);
        let time = nanos(start.elapsed(), last - first);
        let each = bytes as f64 / last as f64;
        println!("{what:<24} {:>5.1} M {time:>7.1} ns/row {each:>6.2} B/row", last as f64 / 1e6);
    }
}

fn std_map(rows: u64) {
    let mut map = StdMap::default();
    windows("std insert", rows, |range| {
        range.for_each(|row| {
            map.insert(hash(row), row as u32);
        });
        // Groups of 8 slots are 7/8 full at most; a slot is 16 bytes and one of control.
        (map.capacity() * 8 / 7).next_power_of_two() * 17
    });
    let start = Instant::now();
    let found = (0..PROBES).filter(|&i| map.contains_key(&hash(random_row(i, rows)))).count();
    assert_eq!(found as u64, PROBES);
    report("std random lookup, independent", start.elapsed(), PROBES);
    let start = Instant::now();
    let mut row = 1;
    for i in 0..PROBES / 4 {
        row = u64::from(map[&hash(random_row(i ^ (row & 1), rows))]);
    }
    black_box(row);
    report("std random lookup, each after the last", start.elapsed(), PROBES / 4);
    let start = Instant::now();
    for i in 0..PROBES {
        if let Some(row) = map.get_mut(&hash(random_row(i, rows))) {
            *row ^= 1;
        }
    }
    report("std random update", start.elapsed(), PROBES);
}

fn one_by_one(rows: u64) {
    let mut index = KeyIndex::new();
    windows("insert", rows, |range| {
        range.for_each(|row| index.insert(hash(row), RowRef(row as u32)));
        index.memory_bytes()
    });
    println!("{:?}", index.stats());
}

fn batched(rows: u64) -> KeyIndex {
    let mut index = KeyIndex::new();
    let mut entries = Vec::new();
    windows("insert_batch", rows, |range| {
        for first in range.clone().step_by(BATCH as usize) {
            let last = (first + BATCH).min(range.end);
            entries.clear();
            entries.extend((first..last).map(|row| (hash(row), RowRef(row as u32))));
            index.insert_batch(&entries);
        }
        index.memory_bytes()
    });
    println!("{:?}", index.stats());
    index
}

/// Calls `run` with the hashes of random rows, batch by batch.
fn for_batches(rows: u64, mut run: impl FnMut(&[u64], &[u64])) {
    let (mut picked, mut hashes) = (Vec::new(), Vec::new());
    for first in (0..PROBES).step_by(BATCH as usize) {
        picked.clear();
        picked.extend((first..(first + BATCH).min(PROBES)).map(|i| random_row(i, rows)));
        hashes.clear();
        hashes.extend(picked.iter().map(|&row| hash(row)));
        run(&picked, &hashes);
    }
}

fn lookups(index: &KeyIndex, rows: u64) {
    let mut out = Vec::new();
    let (mut found, mut seen) = (0, 0);
    let start = Instant::now();
    for_batches(rows, |picked, hashes| {
        out.clear();
        index.candidates(hashes, &mut out);
        let right = |&&(at, row): &&(u32, RowRef)| u64::from(row.0) == picked[at as usize];
        found += out.iter().filter(right).count();
        seen += out.len();
    });
    report("candidates, present", start.elapsed(), PROBES);
    assert_eq!(found as u64, PROBES);
    println!("candidates per key: {:.4}", seen as f64 / PROBES as f64);

    let start = Instant::now();
    let mut seen = 0;
    for_batches(rows, |picked, hashes| {
        out.clear();
        let absent: Vec<u64> = picked.iter().zip(hashes).map(|(row, _)| hash(row + rows)).collect();
        index.candidates(&absent, &mut out);
        seen += out.len();
    });
    report("candidates, absent", start.elapsed(), PROBES);
    println!("candidates per absent key: {:.4}", seen as f64 / PROBES as f64);

    let start = Instant::now();
    let found = (0..PROBES).filter(|&i| {
        let row = random_row(i, rows) as u32;
        index.get(hash(u64::from(row)), |candidate| candidate.0 == row).is_some()
    });
    assert_eq!(found.count() as u64, PROBES);
    report("get, independent", start.elapsed(), PROBES);

    let start = Instant::now();
    let mut last = RowRef(1);
    for i in 0..PROBES / 4 {
        let row = random_row(i ^ u64::from(last.0 & 1), rows);
        last = index.get(hash(row), |candidate| u64::from(candidate.0) == row).unwrap_or(RowRef(0));
    }
    black_box(last);
    report("get, each after the last", start.elapsed(), PROBES / 4);
}

fn changes(index: &mut KeyIndex, rows: u64) {
    let mut out = Vec::new();
    let start = Instant::now();
    for_batches(rows, |_, hashes| {
        out.clear();
        index.candidates(hashes, &mut out);
        for &(at, row) in &out {
            index.replace(hashes[at as usize], row, RowRef(row.0 ^ 1 << 31));
        }
    });
    report("candidates and replace", start.elapsed(), PROBES);

    // Half of the rows in order, which is random in the index.
    let half = rows / 2;
    let start = Instant::now();
    let removed = (0..half).filter(|&row| {
        let hash = hash(row);
        index.remove(hash, RowRef(row as u32)) || index.remove(hash, RowRef(row as u32 ^ 1 << 31))
    });
    assert_eq!(removed.count() as u64, half);
    report("remove", start.elapsed(), half);
    println!("{:?}", index.stats());
}

fn worst_pause(rows: u64) {
    let mut index = KeyIndex::new();
    let mut times: Vec<u32> = Vec::with_capacity(rows as usize);
    for row in 0..rows {
        let hash = hash(row);
        let start = Instant::now();
        index.insert(hash, RowRef(row as u32));
        times.push(start.elapsed().as_nanos() as u32);
    }
    times.sort_unstable();
    let at = |share: f64| f64::from(times[(share * (rows - 1) as f64) as usize]) / 1e3;
    println!(
        "one insert of {rows}: p50 {:.2}, p99 {:.2}, p99.9 {:.1}, p99.99 {:.1}, worst {:.0} us",
        at(0.5),
        at(0.99),
        at(0.999),
        at(0.9999),
        at(1.0)
    );
}
