//! `bench recovery`: opening a database whose log contains everything since the beginning, as after
//! a crash just before the first checkpoint.
//!
//! Rows of the events workload are committed without a checkpoint, and the database is dropped
//! without a shutdown. Opening it again costs the replay of the log. Then all rows are read and
//! counted.

use std::sync::Arc;

use pelorus_env::Env;
use pelorus_store::{ByteWeigher, Database, Options};

use crate::events::{self, BATCH};
use crate::figures::Figures;
use crate::lab::{Folder, Watch, peak_memory_mib};
use crate::report::Target;
use crate::setting::number;
use crate::wide;

const SYSTEM: &str = "pelorus in process";
const REPLAY: &str = "replay";
const RUNS: usize = 3;

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let rows = number(None, "BENCH_ROWS", 10_000_000)?.next_multiple_of(BATCH);
    let folder = Folder::new("recovery")?;
    // Checkpoints as the log grows are what a crash may come just before.
    let open = || {
        let options = Options {
            checkpoint_log_bytes: u64::MAX,
            checkpoint_micros: u64::MAX,
            ..Options::default()
        };
        Database::open(Env::real(), folder.path(), options, Arc::new(ByteWeigher))
    };
    let database = open()?;
    let table = database.create_table(events::schema(), b"events")?;
    for first in (0..rows).step_by(usize::try_from(BATCH)?) {
        events::load(&database, table, events::batch(first..first + BATCH))?;
    }
    drop(database);
    let mut figures = Figures::begin();
    let log = folder.bytes(|name| !name.ends_with(".blocks"))?;
    figures.fact("bytes/row of the log", log as f64 / rows as f64);
    let mut rates = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let watch = Watch::start();
        let database = open()?;
        let found = database.snapshot().table(table)?;
        let counted = found.rows();
        rates.push(rows as f64 / watch.seconds());
        let read = wide::scan(&found)?.rows;
        anyhow::ensure!(counted == rows && read == rows, "{counted} and {read} of {rows} rows");
    }
    figures.add(REPLAY, SYSTEM, "rows/s", rates);
    figures.add("peak memory", SYSTEM, "MiB", peak_memory_mib().into_iter().collect());
    let replayed = figures.median(REPLAY, SYSTEM);
    let target = Target::at_least("rows/s replayed".to_owned(), 1_000_000.0, replayed);
    figures.finish("recovery", rows, &[target])
}
