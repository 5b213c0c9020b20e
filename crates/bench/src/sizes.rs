//! `bench sizes`: bytes of a row on disk and in memory, compared with DuckDB, ClickHouse and
//! Parquet.
//!
//! The program in Python loads the events, taxi trips and TPC-H's `lineitem` into all of them.

use crate::events;
use crate::figures::Figures;
use crate::lab::Folder;
use crate::report::Target;
use crate::setting::{self, number};

const OURS: &str = "pelorus";
const THEIRS: &str = "duckdb";
const TABLES: [&str; 3] = ["events", "taxi", "lineitem"];

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let rows = number(None, "BENCH_ROWS", 5_000_000)?;
    let folder = Folder::new("sizes")?;
    let raw = folder.path().join("raw.json");
    events::write_files(folder.path(), rows)?;
    let job = serde_json::json!({
        "folder": folder.path(),
        "raw": raw,
        "rows": rows,
        "scale": number(None, "BENCH_SCALE", 1)?,
        "columns": events::COLUMNS,
    });
    let path = folder.path().join("job.json");
    std::fs::write(&path, serde_json::to_string(&job)?)?;
    let mut figures = Figures::begin();
    setting::run_python("pelorus_tools.bench_sizes", &[path.display().to_string()])?;
    figures.read(&raw)?;
    let targets = targets(&figures);
    figures.finish("sizes", rows, &targets)
}

fn targets(figures: &Figures) -> Vec<Target> {
    let target = |table: &&str| {
        let case = format!("{table}, disk");
        let part = || Some(figures.median(&case, OURS)? / figures.median(&case, THEIRS)?);
        Target::at_most(format!("{case}: part of DuckDB's bytes"), 1.0, part())
    };
    TABLES.iter().map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_judged_by_its_file() {
        let mut figures = Figures::default();
        for (table, ours) in TABLES.into_iter().zip([40.0, 60.0]) {
            figures.add(&format!("{table}, disk"), OURS, "bytes/row", vec![ours]);
            figures.add(&format!("{table}, disk"), THEIRS, "bytes/row", vec![50.0]);
        }
        let met: Vec<bool> = targets(&figures).iter().map(|target| target.met).collect();
        assert_eq!(met, [true, false, false], "what was not measured is not met");
    }
}
