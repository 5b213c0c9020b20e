//! `bench ingest`: loading the events, loading the last half hour again, dropping a partition.
//!
//! Pelorus in process loads all rows, in synchronous commits of 40,000, by one thread that also
//! generates the rows; its rates count both. The peers load the first rows of the same table, and
//! the report shows Pelorus's rate over those rows next to theirs; the time in which Python
//! prepares a batch for a peer does not count. Peers commit durably as well, if they can.

use crate::events::{self, BATCH, HALF_HOUR};
use crate::figures::Figures;
use crate::lab::{Effort, Folder, Store, Watch, peak_memory_mib};
use crate::report::{Target, figure};
use crate::setting::{self, number, setting};

const LOAD: &str = "load";
const RELOAD: &str = "load the last half hour again";
const CHANGED: &str = "rows that this changed";
const DROP: &str = "drop a partition";
const DISK: &str = "disk";
const MEMORY: &str = "peak memory";
const IN_PROCESS: &str = "pelorus in process";
const LOAD_DATA: &str = "pelorus LOAD DATA";
const INSERT: &str = "pelorus INSERT IGNORE";
const PEERS: &str =
    "pelorus-load-data,pelorus-insert,mariadb-load-data,mariadb-insert,duckdb,clickhouse";

/// How large a run is.
struct Size {
    rows: u64,
    window: u64,
    peer_rows: u64,
    peer_window: u64,
}

impl Size {
    fn new() -> anyhow::Result<Self> {
        let whole = |rows: u64| (rows / BATCH).max(4) * BATCH;
        let rows = whole(number(None, "BENCH_ROWS", 100_000_000)?);
        let peer_rows = whole(number(None, "BENCH_PEER_ROWS", 4_000_000)?).min(rows);
        // Small runs have four windows, so that there is something to compare.
        let window = |rows: u64, most: u64| (rows / 4 / BATCH * BATCH).min(most);
        Ok(Self {
            rows,
            window: window(rows, 10_000_000),
            peer_rows,
            peer_window: window(peer_rows, 1_000_000),
        })
    }

    /// What the loads of peers are called.
    fn first(&self) -> String {
        format!("load the first {} rows", figure(self.peer_rows as f64))
    }
}

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let size = Size::new()?;
    let mut figures = Figures::begin();
    in_process(&size, &mut figures)?;
    let peers = setting("BENCH_PEERS").unwrap_or_else(|| PEERS.to_owned());
    if peers != "none" {
        measure_peers(&size, &peers, &mut figures)?;
    }
    // All systems of a case together.
    let mut order: Vec<String> = Vec::new();
    for it in &figures.series {
        if !order.contains(&it.case) {
            order.push(it.case.clone());
        }
    }
    figures.series.sort_by_key(|it| order.iter().position(|case| *case == it.case));
    let targets = targets(&figures, &size.first());
    figures.finish("ingest", size.rows, &targets)
}

fn in_process(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let folder = Folder::new("ingest")?;
    let store = Store::open(&folder, pelorus_store::Options::default())?;
    let database = &store.database;
    let table = database.create_table(events::schema(), b"events")?;
    let (mut windows, mut first, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    let mut efforts: [Vec<f64>; 3] = Default::default();
    let (mut window, mut effort, mut short) = (Watch::start(), Effort::so_far(), Watch::start());
    for done in (0..size.rows).step_by(usize::try_from(BATCH)?) {
        let pieces = events::batch(done..done + BATCH);
        let commit = Watch::start();
        let new = events::load(database, table, pieces)?;
        commits.push(commit.seconds() * 1000.0);
        anyhow::ensure!(new == BATCH, "{new} rows of a batch of {BATCH} were new");
        let done = done + BATCH;
        if done <= size.peer_rows && done.is_multiple_of(size.peer_window) {
            first.push(size.peer_window as f64 / short.seconds());
            short = Watch::start();
        }
        if done.is_multiple_of(size.window) {
            let (seconds, now) = (window.seconds(), Effort::so_far());
            let rate = size.window as f64 / seconds;
            let taken = now.rates_since(effort, seconds);
            println!(
                "  {:>13} rows: {:>9} rows/s; cores {:.2}, of others {:.2}; {:.0} MiB/s written",
                figure(done as f64),
                figure(rate),
                taken[0],
                taken[1],
                taken[2]
            );
            windows.push(rate);
            efforts.iter_mut().zip(taken).for_each(|(all, it)| all.push(it));
            (window, effort) = (Watch::start(), now);
        }
    }
    figures.add(LOAD, IN_PROCESS, "rows/s", windows);
    let taken = ["cores of the load", "cores of others meanwhile", "written to the disk"];
    for ((case, unit), values) in taken.iter().zip(["cores", "cores", "MiB/s"]).zip(efforts) {
        figures.add(case, IN_PROCESS, unit, values);
    }
    figures.add(&size.first(), IN_PROCESS, "rows/s", first);
    let slow = |from: f64| commits.iter().filter(|ms| **ms >= from).count();
    figures.fact("in process: commits", commits.len());
    figures.fact("in process: commits of 100 ms and more", slow(100.0));
    figures.fact("in process: commits of 500 ms and more", slow(500.0));
    commits.sort_by(f64::total_cmp);
    figures.fact("in process: ms of the slowest commit", commits.last().copied().unwrap_or(0.0));
    let again = HALF_HOUR.min(size.rows);
    let (mut rates, mut changed) = (Vec::new(), 0);
    for done in (size.rows - again..size.rows).step_by(usize::try_from(BATCH)?) {
        let begun = Watch::start();
        changed += events::load(database, table, events::batch(done..done + BATCH))?;
        rates.push(BATCH as f64 / begun.seconds());
    }
    figures.add(RELOAD, IN_PROCESS, "rows/s", rates);
    let rows = database.snapshot().table(table)?.rows();
    figures.add(CHANGED, IN_PROCESS, "rows", vec![(changed + rows.abs_diff(size.rows)) as f64]);
    let data = || folder.bytes(|name| name.ends_with(".blocks"));
    let loading = data()?;
    store.settle()?;
    let at_rest = data()?;
    store.close()?;
    let per_row = |bytes: u64| vec![bytes as f64 / size.rows as f64];
    figures.add(DISK, IN_PROCESS, "bytes/row", per_row(at_rest));
    figures.add("disk when the load has just ended", IN_PROCESS, "bytes/row", per_row(loading));
    figures.fact(
        "in process: MiB of the log after a checkpoint",
        (folder.bytes(|_| true)? - data()?) >> 20,
    );
    figures.add(MEMORY, IN_PROCESS, "MiB", peak_memory_mib().into_iter().collect());
    drop_partitions(size, &folder, figures)
}

/// Opens the database again, counts, and drops the oldest partitions.
fn drop_partitions(size: &Size, folder: &Folder, figures: &mut Figures) -> anyhow::Result<()> {
    let begun = Watch::start();
    let store = Store::open(folder, pelorus_store::Options::default())?;
    figures.fact("in process: ms to open it again", begun.seconds() * 1000.0);
    let database = &store.database;
    let table = database.tables().first().map(|table| table.id());
    let table = table.ok_or_else(|| anyhow::anyhow!("the table is not there after a restart"))?;
    let rows = database.snapshot().table(table)?.rows();
    anyhow::ensure!(rows == size.rows, "{rows} rows after a restart instead of {}", size.rows);
    let (mut times, mut left) = (Vec::new(), size.rows);
    for partition in 0..(events::partitions(size.rows)).min(5) {
        let begun = Watch::start();
        let dropped = database.drop_partitions(table, &[events::partition_key(partition)])?;
        times.push(begun.seconds() * 1000.0);
        let range = events::rows_of(partition);
        left -= range.end.min(size.rows) - range.start;
        let rows = database.snapshot().table(table)?.rows();
        anyhow::ensure!(dropped == 1 && rows == left, "{rows} rows instead of {left} are left");
    }
    figures.add(DROP, IN_PROCESS, "ms", times);
    store.close()
}

fn measure_peers(size: &Size, peers: &str, figures: &mut Figures) -> anyhow::Result<()> {
    let folder = Folder::new("events")?;
    events::write_files(folder.path(), size.peer_rows)?;
    let raw = folder.path().join("raw.json");
    let partitions = events::partitions(size.peer_rows);
    let bounds: Vec<String> = (1..=partitions).map(events::begin_of).collect();
    let job = serde_json::json!({
        "folder": folder.path(),
        "raw": raw,
        "batch": BATCH,
        "window": size.peer_window,
        "again": HALF_HOUR.min(size.peer_rows),
        "columns": events::COLUMNS,
        // Where each partition ends.
        "bounds": bounds,
        "first_partition_rows": events::rows_of(0).end.min(size.peer_rows),
        "cases": {"load": size.first(), "reload": RELOAD, "changed": CHANGED, "drop": DROP,
            "disk": DISK, "memory": MEMORY},
        "peers": peers.split(',').collect::<Vec<_>>(),
    });
    let path = folder.path().join("job.json");
    std::fs::write(&path, serde_json::to_string(&job)?)?;
    setting::run_python("pelorus_tools.bench_ingest", &[path.display().to_string()])?;
    figures.read(&raw)
}

/// The windows' largest distance from their median, in percent of it.
fn unevenness(windows: &[f64]) -> Option<f64> {
    let median = crate::measured::median(windows);
    let far = windows.iter().map(|rate| (rate / median - 1.0).abs() * 100.0);
    (windows.len() > 1).then(|| far.fold(0.0, f64::max))
}

fn targets(figures: &Figures, first: &str) -> Vec<Target> {
    let in_process = figures.median(LOAD, IN_PROCESS);
    let by_load_data = figures.median(first, LOAD_DATA);
    let uneven = figures.values(LOAD, IN_PROCESS).and_then(unevenness);
    let dropped = figures.median(DROP, IN_PROCESS);
    let mut made = vec![
        Target::at_least("rows/s in process, durable".to_owned(), 500_000.0, in_process),
        Target::at_least("rows/s by LOAD DATA over loopback".to_owned(), 300_000.0, by_load_data),
        Target::at_most("in process: % of a window from the median".to_owned(), 10.0, uneven),
        Target::at_most("in process: ms to drop a partition".to_owned(), 10.0, dropped),
    ];
    for (system, load) in [(IN_PROCESS, LOAD), (LOAD_DATA, first), (INSERT, first)] {
        let changed = figures.median(CHANGED, system);
        // The time for a row that is there already, as a part of the time when it was new.
        let cost = || Some(figures.median(load, system)? / figures.median(RELOAD, system)?);
        let what = |what: &str| format!("{system}, again: {what}");
        made.push(Target::at_most(what("rows that it changed"), 0.0, changed));
        made.push(Target::at_most(what("its part of the first time"), 1.0, cost()));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_far_from_the_median_are_uneven() {
        assert_eq!(unevenness(&[100.0, 100.0, 75.0]), Some(25.0));
        assert_eq!(unevenness(&[100.0]), None);
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let mut figures = Figures::default();
        figures.add(LOAD, IN_PROCESS, "rows/s", vec![600_000.0, 610_000.0]);
        figures.add(RELOAD, IN_PROCESS, "rows/s", vec![1_210_000.0]);
        let made = targets(&figures, "load the first rows");
        let met: Vec<&str> = made.iter().filter(|it| it.met).map(|it| it.what.as_str()).collect();
        assert_eq!(
            met,
            [
                "rows/s in process, durable",
                "in process: % of a window from the median",
                "pelorus in process, again: its part of the first time"
            ]
        );
    }
}
