//! `bench update`: random upserts by primary key, with concurrent full scans.
//!
//! One thread generates and writes commits of 40,000 random rows, durably. Another reads all
//! columns of all rows, alternating between the table that is written and an identical table
//! without writes: both scans lose the same cores and memory to the writers, so that the ratio is
//! the cost of the updates for the scans. Each scan is verified. The scans before and after the
//! writing are shown as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_store::{Database, History, TableId};

use crate::figures::Figures;
use crate::lab::{Folder, Random, Store, Watch, peak_memory_mib};
use crate::report::Target;
use crate::setting::number;
use crate::wide;

const SYSTEM: &str = "pelorus in process";
const UPSERTS: &str = "random upserts";
const BEFORE: &str = "scan before the upserts";
const BESIDE: &str = "scan beside the upserts";
const UNTOUCHED: &str = "scan beside them of an untouched table";
const AFTER: &str = "scan after the upserts";
const FILE: &str = "file beside the upserts, by its live data";
const FILE_AFTER: &str = "file after the upserts, at rest";

const MIB: f64 = 1024.0 * 1024.0;

/// Seconds of upserts that one figure stands for.
const WINDOW: f64 = 5.0;

/// Most rows of the twin. Times are by row.
const TWIN_ROWS: u64 = 5_000_000;

/// A table and how many rows it has.
#[derive(Clone, Copy)]
struct Filled {
    table: TableId,
    rows: u64,
}

/// What is seen while rows are upserted.
#[derive(Default)]
struct Beside {
    /// Rows a second, by windows.
    rates: Vec<f64>,
    /// The share of dead rows at the end of each window.
    dead: Vec<f64>,
    /// The bytes of the file at the end of each window.
    sizes: Vec<f64>,
    /// What of them are blocks that wait for checkpoints, and holes, both in bytes.
    waiting: Vec<f64>,
    holes: Vec<f64>,
}

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let rows = number(None, "BENCH_ROWS", 5_000_000)?;
    let seconds = number(None, "BENCH_SECONDS", 60)? as f64;
    // Old versions are kept as long as a table says, and take room; here it says not at all.
    let kept = number(None, "BENCH_HISTORY_SECONDS", 0)?;
    let history = History { micros: kept * 1_000_000, bytes: if kept > 0 { 1 << 30 } else { 0 } };
    let folder = Folder::new("update")?;
    let options = pelorus_store::Options { cache_bytes: 10 << 30, ..Default::default() };
    let store = Store::open(&folder, options)?;
    let database = &store.database;
    let updated = Filled { table: wide::fill(database, rows, history)?, rows };
    let rows_of_twin = rows.min(TWIN_ROWS);
    let twin = Filled { table: wide::fill(database, rows_of_twin, history)?, rows: rows_of_twin };
    store.settle()?;
    let name = format!("table-{}.blocks", updated.table.0);
    let size = || Ok(folder.bytes(|file| file == name)? as f64);
    let mut figures = Figures::begin();
    figures.fact("bytes/row when loaded", size()? / rows as f64);
    figures.fact("seconds of history", kept);
    figures.add(BEFORE, SYSTEM, "ns/row", scans(database, updated)?);
    scan_once(database, twin)?;
    let sizes = beside(database, (updated, twin), seconds, &size, &mut figures)?;
    store.settle()?;
    figures.add(AFTER, SYSTEM, "ns/row", scans(database, updated)?);
    if let Some(table) = database.table(updated.table) {
        let usage = table.file_usage();
        let live = usage.live as f64;
        figures.add(FILE, SYSTEM, "", sizes.iter().map(|size| size / live).collect());
        figures.add(FILE_AFTER, SYSTEM, "", vec![size()? / live]);
        figures.fact("live share of the file at rest", usage.live as f64 / usage.length as f64);
        figures.fact("bytes/row at rest, live", usage.live as f64 / rows as f64);
        figures.fact("dead rows at rest, part of all", dead_share(database, updated.table));
    }
    figures.add("peak memory", SYSTEM, "MiB", peak_memory_mib().into_iter().collect());
    store.close()?;
    let targets = targets(&figures);
    figures.finish("update", rows, &targets)
}

/// Five scans after one that does not count.
fn scans(database: &Arc<Database>, of: Filled) -> anyhow::Result<Vec<f64>> {
    scan_once(database, of)?;
    (0..5).map(|_| scan_once(database, of)).collect()
}

/// Nanoseconds for a row of a full scan.
fn scan_once(database: &Arc<Database>, of: Filled) -> anyhow::Result<f64> {
    let watch = Watch::start();
    let snapshot = database.snapshot();
    let table = snapshot.table(of.table)?;
    let scanned = wide::scan(&table)?;
    let seconds = watch.seconds();
    let rows = of.rows;
    anyhow::ensure!(scanned == wide::whole(rows), "a scan has seen {scanned:?} of {rows} rows");
    Ok(seconds * 1e9 / rows as f64)
}

/// Runs upserts for some time with concurrent scans; returns the sizes of the file.
fn beside(
    database: &Arc<Database>,
    (updated, twin): (Filled, Filled),
    seconds: f64,
    size: &(dyn Fn() -> anyhow::Result<f64> + Sync),
    figures: &mut Figures,
) -> anyhow::Result<Vec<f64>> {
    let stop = AtomicBool::new(false);
    let (seen, scans) = std::thread::scope(|scope| {
        let scanner = scope.spawn(|| {
            let mut times = (Vec::new(), Vec::new());
            // Ordering: only the flag itself is looked at.
            while !stop.load(Ordering::Relaxed) {
                times.0.push(scan_once(database, updated)?);
                times.1.push(scan_once(database, twin)?);
            }
            anyhow::Ok(times)
        });
        let seen = upsert(database, updated, seconds, size);
        stop.store(true, Ordering::Relaxed);
        let scans = scanner.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the scan panicked")));
        anyhow::Ok((seen?, scans?))
    })?;
    figures.add(UPSERTS, SYSTEM, "rows/s", seen.rates);
    figures.add("dead rows beside the upserts, part of all", SYSTEM, "", seen.dead);
    figures.add("blocks that wait for checkpoints", SYSTEM, "MiB", seen.waiting);
    figures.add("holes of the file", SYSTEM, "MiB", seen.holes);
    figures.add(BESIDE, SYSTEM, "ns/row", scans.0);
    figures.add(UNTOUCHED, SYSTEM, "ns/row", scans.1);
    Ok(seen.sizes)
}

fn upsert(
    database: &Arc<Database>,
    of: Filled,
    seconds: f64,
    size: &dyn Fn() -> anyhow::Result<f64>,
) -> anyhow::Result<Beside> {
    let mut random = Random::new(5);
    let mut seen = Beside::default();
    let (whole, mut window, mut count, mut round) = (Watch::start(), Watch::start(), 0, 0);
    while whole.seconds() < seconds {
        round += 1;
        let ids: Vec<u64> = (0..wide::BATCH).map(|_| random.below(of.rows)).collect();
        wide::put(database, of.table, &ids, round)?;
        count += ids.len();
        if window.seconds() >= WINDOW.min(seconds / 4.0) {
            seen.rates.push(count as f64 / window.seconds());
            seen.sizes.push(size()?);
            seen.dead.push(dead_share(database, of.table));
            if let Some(usage) = database.table(of.table).map(|table| table.file_usage()) {
                let holes = usage.length.saturating_sub(usage.live + usage.retired);
                seen.waiting.push(usage.retired as f64 / MIB);
                seen.holes.push(holes as f64 / MIB);
            }
            (window, count) = (Watch::start(), 0);
        }
    }
    Ok(seen)
}

fn dead_share(database: &Database, table: TableId) -> f64 {
    let usage = database.table(table).map(|table| table.parts_usage()).unwrap_or_default();
    let dead = usage.chunk_rows_dead + usage.delta_rows_dead;
    dead as f64 / (usage.chunk_rows + usage.delta_rows).max(1) as f64
}

fn targets(figures: &Figures) -> Vec<Target> {
    let part =
        |of: &str, base: &str| Some(figures.median(of, SYSTEM)? / figures.median(base, SYSTEM)?);
    let largest = || {
        let sizes = [figures.values(FILE, SYSTEM)?, figures.values(FILE_AFTER, SYSTEM)?].concat();
        Some(sizes.into_iter().fold(0.0, f64::max))
    };
    let upserts = figures.median(UPSERTS, SYSTEM);
    vec![
        Target::at_least("rows/s upserted, durable".to_owned(), 300_000.0, upserts),
        Target::at_most(
            "scan beside the upserts: part of an untouched table's".to_owned(),
            1.5,
            part(BESIDE, UNTOUCHED),
        ),
        Target::at_most(
            "scan after the upserts: part of before".to_owned(),
            1.5,
            part(AFTER, BEFORE),
        ),
        Target::at_most("largest file, by its live data".to_owned(), 1.5, largest()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_file_counts_and_scans_are_compared_by_medians() {
        let mut figures = Figures::default();
        figures.add(UPSERTS, SYSTEM, "rows/s", vec![310_000.0]);
        figures.add(FILE, SYSTEM, "", vec![1.1, 1.6, 1.2]);
        figures.add(FILE_AFTER, SYSTEM, "", vec![1.0]);
        figures.add(BESIDE, SYSTEM, "ns/row", vec![20.0, 28.0, 90.0]);
        figures.add(UNTOUCHED, SYSTEM, "ns/row", vec![20.0]);
        let met: Vec<bool> = targets(&figures).iter().map(|target| target.met).collect();
        assert_eq!(met, [true, true, false, false]);
    }
}
