//! Measures encoding and decoding on two generated tables: 104-byte rows of events, and TPC-H's
//! lineitem. Prints one line a column: codec, bytes a row, encode ns a row, decode GB/s (of Arrow
//! output, a vector at a time), selection ns a row, single values and random rows.
#![allow(clippy::print_stdout, reason = "this is a command-line tool")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]
#![allow(clippy::unwrap_used, reason = "the data is ours")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray};
use arrow::buffer::Buffer;
use pelorus_chunk::{CHUNK_ROWS, Op, Predicate, Selection, VECTOR_ROWS, Value, encode};

/// A small generator of pseudo-random numbers (xorshift*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as i64 % end
    }

    fn integers(&mut self, value: impl Fn(i64, &mut Self) -> i64) -> ArrayRef {
        Arc::new((0..CHUNK_ROWS as i64).map(|row| Some(value(row, self))).collect::<Int64Array>())
    }

    fn decimals(&mut self, value: impl Fn(i64, &mut Self) -> i64) -> ArrayRef {
        let values = (0..CHUNK_ROWS as i64).map(|row| Some(i128::from(value(row, self))));
        let array = values.collect::<Decimal128Array>();
        Arc::new(array.with_precision_and_scale(38, 2).unwrap())
    }

    fn texts(&mut self, value: impl Fn(&mut Self) -> String) -> ArrayRef {
        Arc::new((0..CHUNK_ROWS).map(|_| Some(value(self))).collect::<StringArray>())
    }

    fn letters(&mut self, length: i64) -> String {
        (0..length).map(|_| (b'a' + self.below(26) as u8) as char).collect()
    }
}

type Table = Vec<(&'static str, ArrayRef)>;

fn events(random: &mut Random) -> Table {
    let second = 1_000_000;
    let start = 1_700_000_000 * second;
    let floats = (0..CHUNK_ROWS).map(|_| random.below(1_000_000) as f64 / 1000.0);
    let measure: ArrayRef = Arc::new(floats.collect::<Float64Array>());
    vec![
        ("id", random.integers(|row, random| row * 3 + random.below(3))),
        ("user_id", random.integers(|_, random| random.below(5_000_000))),
        ("device_id", random.integers(|_, random| random.below(60_000))),
        ("session_id", random.integers(|_, random| random.below(1 << 31) << 20)),
        (
            "created_at",
            random.integers(|row, random| start + (row / 50 + random.below(2)) * second),
        ),
        ("updated_at", random.integers(|_, random| start + random.below(86_400) * second)),
        ("kind", random.integers(|_, random| random.below(12))),
        ("status", random.integers(|_, random| random.below(5))),
        ("country", random.integers(|_, random| random.below(200))),
        ("is_bot", random.integers(|_, _| 0)),
        ("amount", random.decimals(|_, random| random.below(10_000_000))),
        ("measure", measure),
        (
            "name",
            random.texts(|random| {
                let length = 20 + random.below(20);
                random.letters(length)
            }),
        ),
    ]
}

fn lineitem(random: &mut Random) -> Table {
    let words = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    let modes = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    let day = 86_400_000_000;
    vec![
        ("l_orderkey", random.integers(|row, _| row / 4 * 4 + row % 4 / 2)),
        ("l_partkey", random.integers(|_, random| random.below(200_000))),
        ("l_suppkey", random.integers(|_, random| random.below(10_000))),
        ("l_linenumber", random.integers(|row, _| row % 7 + 1)),
        ("l_quantity", random.decimals(|_, random| (random.below(50) + 1) * 100)),
        ("l_extendedprice", random.decimals(|_, random| 90_000 + random.below(10_000_000))),
        ("l_discount", random.decimals(|_, random| random.below(11))),
        ("l_tax", random.decimals(|_, random| random.below(9))),
        ("l_returnflag", random.texts(|random| ["A", "N", "R"][random.below(3) as usize].into())),
        ("l_linestatus", random.texts(|random| ["F", "O"][random.below(2) as usize].into())),
        ("l_shipdate", random.integers(|_, random| (8000 + random.below(2500)) * day)),
        ("l_commitdate", random.integers(|_, random| (8000 + random.below(2500)) * day)),
        ("l_receiptdate", random.integers(|_, random| (8000 + random.below(2500)) * day)),
        ("l_shipinstruct", random.texts(|random| words[random.below(4) as usize].into())),
        ("l_shipmode", random.texts(|random| modes[random.below(7) as usize].into())),
        (
            "l_comment",
            random.texts(|random| {
                let (first, second) = (random.below(9) + 4, random.below(15) + 4);
                format!("{} {}", random.letters(first), random.letters(second))
            }),
        ),
    ]
}

/// The best of several runs, in nanoseconds.
fn measure(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64
    };
    (0..15).map(run).fold(f64::INFINITY, f64::min)
}

fn output_bytes(array: &ArrayRef) -> f64 {
    let data = array.to_data();
    let fixed = array.data_type().primitive_width().unwrap_or(4) * array.len();
    let text = if data.buffers().len() == 2 { data.buffers()[1].len() } else { 0 };
    (fixed + text) as f64
}

fn report(title: &str, table: Table) {
    println!("\n{title}");
    println!(
        "{:16} {:>12} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7}",
        "column", "codec", "B/row", "enc ns", "parse", "GB/s", "sel ns", "val ns", "take ns"
    );
    let (mut bytes, mut encoding, mut meta_bytes) = (0.0, 0.0, 0);
    let rows = CHUNK_ROWS as f64;
    let some: Vec<u32> = (0..4096u32).map(|at| at * 7919 % CHUNK_ROWS as u32).collect();
    for (name, array) in table {
        let arrays = [array];
        let encode_time = measure(|| drop(black_box(encode(&arrays).unwrap())));
        let chunk = encode(&arrays).unwrap();
        let buffer = Buffer::from_vec(chunk.bytes);
        let parse = measure(|| drop(black_box(chunk.meta.column(&buffer, 0).unwrap())));
        let column = chunk.meta.column(&buffer, 0).unwrap();
        let decode = measure(|| {
            for start in (0..CHUNK_ROWS).step_by(VECTOR_ROWS) {
                black_box(column.decode(start..start + VECTOR_ROWS).unwrap());
            }
        });
        let middle = column.value(CHUNK_ROWS / 2).to_scalar().unwrap();
        let predicate = Predicate::Compare(Op::Le, middle);
        let select = measure(|| {
            let mut selection = Selection::all(CHUNK_ROWS);
            column.select(&predicate, 0..CHUNK_ROWS, &mut selection).unwrap();
            black_box(&selection);
        });
        let values = measure(|| {
            let nulls = some.iter().filter(|&&row| column.value(row as usize) == Value::Null);
            black_box(nulls.count());
        });
        let take = measure(|| drop(black_box(column.take(&some).unwrap())));
        let meta = &chunk.meta.columns[0];
        println!(
            "{name:16} {:>12} {:7.2} {:7.1} {:7.2} {:7.1} {:8.3} {:7.1} {:7.1}",
            format!("{:?} {}", meta.codec, meta.width),
            buffer.len() as f64 / rows,
            encode_time / rows,
            parse / rows,
            output_bytes(&arrays[0]) / decode,
            select / rows,
            values / some.len() as f64,
            take / some.len() as f64,
        );
        bytes += buffer.len() as f64 / rows;
        encoding += encode_time / rows;
        meta_bytes += chunk.meta.to_bytes().len();
    }
    println!("a row: {bytes:.1} bytes, {encoding:.0} ns to encode; manifest {meta_bytes} bytes");
}

fn main() {
    let random = &mut Random(42);
    report("events", events(random));
    report("lineitem", lineitem(random));
}
