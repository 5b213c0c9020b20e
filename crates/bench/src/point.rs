//! `bench point`: look-ups of whole rows of 13 columns by primary key, in process.
//!
//! The rows are in memory: a full scan loads them. Every look-up takes a snapshot of its own and a
//! random row, and its result is verified outside of the measured time.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use pelorus_store::{Database, History, TableId};

use crate::figures::Figures;
use crate::lab::{Folder, Random, Store, Watch, peak_memory_mib};
use crate::report::Target;
use crate::setting::number;
use crate::wide;

const ONE: &str = "look-ups of one thread";
const LATENCY: &str = "a look-up";
const BATCHED: &str = "rows by look-ups of 1,000";
const MEDIAN: &str = "a look-up, median";
const SYSTEM: &str = "pelorus in process";

/// What a thread has seen.
#[derive(Default)]
struct Seen {
    micros: Vec<f64>,
    seconds: f64,
    wrong: u64,
}

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let rows = number(None, "BENCH_ROWS", 20_000_000)?;
    let seconds = number(None, "BENCH_SECONDS", 10)? as f64;
    let folder = Folder::new("point")?;
    let options = pelorus_store::Options { cache_bytes: 12 << 30, ..Default::default() };
    let store = Store::open(&folder, options)?;
    let database = &store.database;
    let begun = Watch::start();
    let table = wide::fill(database, rows, History { micros: 0, bytes: 0 })?;
    println!("  {rows} rows loaded in {:.1} s", begun.seconds());
    database.checkpoint()?;
    let scanned = wide::scan(&*database.snapshot().table(table)?)?;
    anyhow::ensure!(scanned == wide::whole(rows), "a scan has seen {scanned:?} of {rows} rows");
    let mut figures = Figures::begin();
    let one = look_up(database, table, rows, seconds, 1)?;
    figures.add(ONE, SYSTEM, "1/s", vec![one.micros.len() as f64 / one.seconds]);
    let wrong = one.wrong + measure_threads(database, table, (rows, seconds), &mut figures)?;
    let mut sorted = one.micros;
    sorted.sort_by(f64::total_cmp);
    for (name, part) in [("median", 0.5), ("99 %", 0.99), ("99.9 %", 0.999)] {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position")]
        let at = (sorted.len() as f64 * part) as usize;
        let micros = sorted.get(at).copied();
        figures.add(&format!("{LATENCY}, {name}"), SYSTEM, "µs", micros.into_iter().collect());
    }
    figures.add(BATCHED, SYSTEM, "rows/s", vec![batched(database, table, rows)?]);
    figures.add("peak memory", SYSTEM, "MiB", peak_memory_mib().into_iter().collect());
    store.close()?;
    let median = figures.median(MEDIAN, SYSTEM);
    let targets = [
        Target::at_most("µs of a look-up, median".to_owned(), 10.0, median),
        Target::at_most("look-ups with a wrong row".to_owned(), 0.0, Some(wrong as f64)),
    ];
    figures.finish("point", rows, &targets)
}

/// Look-ups by as many threads as there are cores; gives how many rows were wrong.
fn measure_threads(
    database: &Arc<Database>,
    table: TableId,
    (rows, seconds): (u64, f64),
    figures: &mut Figures,
) -> anyhow::Result<u64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seen: Vec<anyhow::Result<Seen>> = std::thread::scope(|scope| {
        let work = |seed: u64| scope.spawn(move || look_up(database, table, rows, seconds, seed));
        let running: Vec<_> = (0..threads).map(|thread| work(2 + thread as u64)).collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined.map(|it| it.unwrap_or_else(|_| Err(anyhow::anyhow!("a thread panicked")))).collect()
    });
    let (mut rate, mut wrong) = (0.0, 0);
    for seen in seen {
        let seen = seen?;
        rate += seen.micros.len() as f64 / seen.seconds;
        wrong += seen.wrong;
    }
    figures.add(&format!("look-ups of {threads} threads"), SYSTEM, "1/s", vec![rate]);
    Ok(wrong)
}

fn look_up(
    database: &Arc<Database>,
    table: TableId,
    rows: u64,
    seconds: f64,
    seed: u64,
) -> anyhow::Result<Seen> {
    let columns: Vec<usize> = (0..wide::COLUMNS).collect();
    let mut random = Random::new(seed);
    let mut seen = Seen::default();
    while seen.seconds < seconds {
        let id = random.below(rows);
        let key: ArrayRef = Arc::new(Int64Array::from(vec![id.cast_signed()]));
        let watch = Watch::start();
        let snapshot = database.snapshot();
        let found = snapshot.table(table)?.get(&[], &[key], &columns)?;
        drop(snapshot);
        let spent = watch.seconds();
        seen.seconds += spent;
        seen.micros.push(spent * 1e6);
        seen.wrong += u64::from(found.found != [true] || !wide::is_row(&found.columns, id, 0));
    }
    Ok(seen)
}

/// Rows a second when a thousand are asked for at once.
fn batched(database: &Arc<Database>, table: TableId, rows: u64) -> anyhow::Result<f64> {
    let columns: Vec<usize> = (0..wide::COLUMNS).collect();
    let mut random = Random::new(99);
    let (mut count, watch) = (0, Watch::start());
    while watch.seconds() < 3.0 {
        let ids = (0..1000).map(|_| random.below(rows).cast_signed());
        let key: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
        let found = database.snapshot().table(table)?.get(&[], &[key], &columns)?;
        count += found.found.iter().filter(|found| **found).count();
    }
    Ok(count as f64 / watch.seconds())
}
