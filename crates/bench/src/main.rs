//! Runs a benchmark with its peers, judges it against its targets, and keeps the figures.
//!
//! `bench ontime` starts the measurements (a program in Python, because Spark and DuckDB are driven
//! from there), then writes `target/bench/ontime.json` and prints the tables. The last line is
//! `N targets met, M missed`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool")]

mod measured;
mod ontime;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};

use crate::measured::Measured;
use crate::report::Report;

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
        runs: Option<u32>,
        /// Peers besides MariaDB and Pelorus, by commas; also BENCH_PEERS.
        #[arg(long)]
        peers: Option<String>,
        /// Judges figures that were measured before instead of measuring.
        #[arg(long)]
        from: Option<PathBuf>,
    },
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
    let Benchmark::Ontime { rows, runs, peers, from } = arguments.benchmark;
    let target = PathBuf::from(setting("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned()));
    let folder = target.join("bench");
    std::fs::create_dir_all(&folder).context("cannot create the folder of the figures")?;
    let raw = match from {
        Some(path) => path,
        None => {
            let rows = number(rows, "BENCH_ROWS", 10_000_000)?;
            let runs = number(runs, "BENCH_RUNS", 5)?;
            let peers =
                peers.or_else(|| setting("BENCH_PEERS")).unwrap_or("spark,duckdb".to_owned());
            measure(&target, &folder, rows, runs, &peers)?
        }
    };
    let text = std::fs::read_to_string(&raw).with_context(|| format!("cannot read {raw:?}"))?;
    let measured: Measured = serde_json::from_str(&text).context("the figures make no sense")?;
    let report = Report::new("ontime", commit(), &measured, ontime::targets(&measured));
    let path = folder.join("ontime.json");
    std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")
        .with_context(|| format!("cannot write {path:?}"))?;
    report.print(&measured);
    Ok(())
}

/// Starts the measurements and waits; returns the file with the figures.
fn measure(
    target: &Path,
    folder: &Path,
    rows: u64,
    runs: u64,
    peers: &str,
) -> anyhow::Result<PathBuf> {
    let raw = folder.join("ontime.raw.json");
    let status = Command::new(target.join("venv/bin/python"))
        .args(["-m", "pelorus_tools.bench_ontime"])
        .args(["--rows", &rows.to_string(), "--runs", &runs.to_string(), "--systems", peers])
        .arg("--raw")
        .arg(&raw)
        .env("PYTHONPATH", "scripts")
        .status()
        .context("cannot start Python: run this as `make bench-ontime`")?;
    if !status.success() {
        bail!("the measurements failed ({status})");
    }
    Ok(raw)
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A number from the command line, else from the environment, else the default.
fn number(given: Option<impl Into<u64>>, name: &str, default: u64) -> anyhow::Result<u64> {
    match (given, setting(name)) {
        (Some(number), _) => Ok(number.into()),
        (None, Some(text)) => {
            text.parse().with_context(|| format!("{name} must be a number, not {text}"))
        }
        (None, None) => Ok(default),
    }
}

/// The commit of the working tree, with `+` when there are changes on top of it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    if changed.is_some_and(|text| !text.is_empty()) { head + "+" } else { head }
}
