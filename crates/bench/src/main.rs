//! Runs a benchmark with its peers, compares it with its targets, and stores the results.
//!
//! Each benchmark writes `target/bench/NAME.json` and prints its tables; the last line is `N
//! targets met, M missed`. Peers that are driven from Python are measured by programs in
//! `scripts/pelorus_tools`, which this program starts.
//!
//! | module | what it measures |
//! | --- | --- |
//! | [`ontime`] | the reference queries over links: MariaDB, Spark, DuckDB, Pelorus |
//! | [`mirror`] | mirrors of a MySQL server: initial snapshot, stream, latency, cost, queries |
//! | [`ingest`] | the events workload: Pelorus, MariaDB, DuckDB, ClickHouse |
//! | [`point`] | look-ups by primary key |
//! | [`update`] | random upserts with concurrent scans |
//! | [`recovery`] | opening after a crash |
//! | [`scan`] | full scans of TPC-H's `lineitem`: Pelorus, DuckDB |
//! | [`sizes`] | bytes of a row: Pelorus, DuckDB, ClickHouse, Parquet |
//! | [`allocator`] | finding free units in an aged file |
//!
//! The other modules are shared: workloads (`events`, `wide`), results (`figures`, `measured`,
//! `report`), and the environment of a run (`lab`, `setting`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool")]

pelorus_env::use_jemalloc!();

mod allocator;
mod events;
mod figures;
mod ingest;
mod lab;
mod measured;
mod mirror;
mod ontime;
mod point;
mod recovery;
mod report;
mod scan;
mod setting;
mod sizes;
mod update;
mod wide;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

use crate::measured::Measured;
use crate::report::Report;
use crate::setting::{number, setting};

/// Benchmarks of Pelorus with its peers.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// The reference queries on a generated `ontime` table: MariaDB, Spark, DuckDB, Pelorus.
    Ontime {
        /// Rows of the table; also BENCH_ROWS.
        #[arg(long)]
        rows: Option<u64>,
        /// Counted runs of each query; also BENCH_RUNS.
        #[arg(long)]
        runs: Option<u64>,
        /// Peers besides MariaDB and Pelorus, by commas; also BENCH_PEERS.
        #[arg(long)]
        peers: Option<String>,
        /// Judges figures that were measured before instead of measuring.
        #[arg(long)]
        from: Option<PathBuf>,
    },
    /// Mirrors of BENCH_ROWS rows of MySQL: BENCH_CHANGES changes to catch up with, BENCH_SECONDS of
    /// load in BENCH_TURNS turns; BENCH_PARTS for some of it.
    Mirror,
    /// Forty million events a day: loading, loading again, dropping, size. BENCH_ROWS rows for
    /// Pelorus in process, BENCH_PEER_ROWS for BENCH_PEERS.
    Ingest,
    /// Look-ups by primary key among BENCH_ROWS rows.
    Point,
    /// Random upserts over BENCH_ROWS rows for BENCH_SECONDS, with scans beside them.
    Update,
    /// Opening a database whose log has BENCH_ROWS rows and whose files have none.
    Recovery,
    /// Scans of TPC-H's `lineitem` (scale factor BENCH_SCALE) against DuckDB, warm and cold.
    Scan,
    /// Bytes of a row on the disk and in memory beside DuckDB, ClickHouse and Parquet.
    Sizes,
    /// First fit in aged files of up to BENCH_BLOCKS blocks.
    Allocator,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.benchmark {
        Benchmark::Ontime { rows, runs, peers, from } => run_ontime(rows, runs, peers, from),
        Benchmark::Mirror => mirror::run(),
        Benchmark::Ingest => ingest::run(),
        Benchmark::Point => point::run(),
        Benchmark::Update => update::run(),
        Benchmark::Recovery => recovery::run(),
        Benchmark::Scan => scan::run(),
        Benchmark::Sizes => sizes::run(),
        Benchmark::Allocator => allocator::run(),
    }
}

fn run_ontime(
    rows: Option<u64>,
    runs: Option<u64>,
    peers: Option<String>,
    from: Option<PathBuf>,
) -> anyhow::Result<()> {
    let folder = setting::figures()?;
    let raw = match from {
        Some(path) => path,
        None => {
            let rows = number(rows, "BENCH_ROWS", 10_000_000)?;
            let runs = number(runs, "BENCH_RUNS", 5)?;
            let peers =
                peers.or_else(|| setting("BENCH_PEERS")).unwrap_or("spark,duckdb".to_owned());
            let raw = folder.join("ontime.raw.json");
            let arguments = ["--rows", &rows.to_string(), "--runs", &runs.to_string()];
            let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
            arguments.extend(["--systems".to_owned(), peers]);
            arguments.extend(["--raw".to_owned(), raw.display().to_string()]);
            setting::run_python("pelorus_tools.bench_ontime", &arguments)?;
            raw
        }
    };
    let text = std::fs::read_to_string(&raw).with_context(|| format!("cannot read {raw:?}"))?;
    let measured: Measured = serde_json::from_str(&text).context("the figures make no sense")?;
    let report = Report::new("ontime", setting::commit(), &measured, ontime::targets(&measured));
    let path = folder.join("ontime.json");
    std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")
        .with_context(|| format!("cannot write {path:?}"))?;
    report.print(&measured);
    Ok(())
}
