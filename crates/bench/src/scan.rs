//! `bench scan`: full scans of TPC-H's `lineitem` against DuckDB, warm and after a cold start.
//!
//! The program in Python makes the table (scale factor `BENCH_SCALE`), loads it into both with its
//! primary key, and runs queries 1 and 6 and sums over all numbers by turns. Pelorus answers over
//! its MySQL port, DuckDB in process.

use crate::figures::Figures;
use crate::lab::Folder;
use crate::report::Target;
use crate::setting::{self, number};

const OURS: &str = "pelorus";
const THEIRS: &str = "duckdb";
const QUERIES: [&str; 2] = ["TPC-H query 1", "TPC-H query 6"];

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = Folder::new("scan")?;
    let raw = folder.path().join("raw.json");
    let job = serde_json::json!({
        "folder": folder.path(),
        "raw": raw,
        "scale": number(None, "BENCH_SCALE", 1)?,
        "runs": number(None, "BENCH_RUNS", 5)?,
    });
    let path = folder.path().join("job.json");
    std::fs::write(&path, serde_json::to_string(&job)?)?;
    let mut figures = Figures::begin();
    setting::run_python("pelorus_tools.bench_scan", &[path.display().to_string()])?;
    figures.read(&raw)?;
    let rows = figures.facts.get("rows").and_then(serde_json::Value::as_u64).unwrap_or(0);
    let targets = targets(&figures);
    figures.finish("scan", rows, &targets)
}

fn targets(figures: &Figures) -> Vec<Target> {
    let mut made = Vec::new();
    for query in QUERIES {
        for case in [query.to_owned(), format!("{query}, cold")] {
            let part = || Some(figures.median(&case, OURS)? / figures.median(&case, THEIRS)?);
            made.push(Target::at_most(format!("{case}: part of DuckDB's time"), 1.0, part()));
        }
    }
    let differ = figures.facts.get("results that differ").and_then(serde_json::Value::as_array);
    let differ = differ.map(|list| list.len() as f64);
    made.push(Target::at_most("queries with other results than DuckDB's".to_owned(), 0.0, differ));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_the_times_and_the_results_are_judged() {
        let mut figures = Figures::default();
        for case in QUERIES {
            figures.add(case, OURS, "ms", vec![10.0, 30.0, 20.0]);
            figures.add(case, THEIRS, "ms", vec![20.0]);
        }
        figures.add("TPC-H query 1, cold", OURS, "ms", vec![21.0]);
        figures.add("TPC-H query 1, cold", THEIRS, "ms", vec![20.0]);
        figures.fact("results that differ", Vec::<String>::new());
        let met: Vec<bool> = targets(&figures).iter().map(|it| it.met).collect();
        assert_eq!(met, [true, false, true, false, true]);
    }
}
