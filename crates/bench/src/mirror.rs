//! `bench mirror`: mirrors of a MySQL server's tables, with the server on the same cores.
//!
//! The program in Python measures the initial snapshot of a table of 16 columns compared with
//! `mysqldump`, the catch-up rate of a stream, the latency until a commit is visible, the slowdown
//! of sysbench's `oltp_read_write` by a mirror, the reference queries on a mirror against MySQL,
//! and the times of Spark and DuckDB to copy the table, to see a change, and for the same queries.

use crate::figures::Figures;
use crate::lab::Folder;
use crate::report::Target;
use crate::setting::{self, number, setting};

const OURS: &str = "pelorus";
const THEIRS: &str = "mysql";
const PARTS: &str = "snapshot,stream,latency,load,queries,peers";

/// A lag of fewer seconds counts as none: it only reflects the pace of the commits.
const LAG: f64 = 0.1;

/// Rows a second that a first reading need not exceed, whatever `mysqldump` does.
const READING: f64 = 300_000.0;

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = Folder::new("mirror")?;
    let raw = folder.path().join("raw.json");
    let rows = number(None, "BENCH_ROWS", 10_000_000)?;
    let job = serde_json::json!({
        "raw": raw,
        "rows": rows,
        "changes": number(None, "BENCH_CHANGES", 2_000_000)?,
        "seconds": number(None, "BENCH_SECONDS", 600)?,
        "turns": number(None, "BENCH_TURNS", 4)?,
        "runs": number(None, "BENCH_RUNS", 3)?,
        "parts": setting("BENCH_PARTS").unwrap_or(PARTS.to_owned()),
    });
    let path = folder.path().join("job.json");
    std::fs::write(&path, serde_json::to_string(&job)?)?;
    let mut figures = Figures::begin();
    setting::run_python("pelorus_tools.bench_mirror", &[path.display().to_string()])?;
    figures.read(&raw)?;
    let targets = targets(&figures);
    figures.finish("mirror", rows, &targets)
}

fn targets(figures: &Figures) -> Vec<Target> {
    let ours = |case: &str| figures.median(case, OURS);
    let ratio = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
    let dump = figures.median("first reading", "mysqldump");
    let mut made = vec![
        Target::at_least(
            "first reading, rows a second".to_owned(),
            dump.map_or(READING, |dump| dump.min(READING)),
            ours("first reading"),
        ),
        Target::at_least(
            "catching up, transactions of 100 rows: rows a second".to_owned(),
            50_000.0,
            ours("catching up, transactions of 100 rows"),
        ),
        Target::at_least(
            "catching up, transactions of one row: a second".to_owned(),
            5_000.0,
            ours("catching up, transactions of one row"),
        ),
    ];
    for (part, most) in [(50, 20.0), (99, 100.0)] {
        let case = format!("from commit to visible, {part} %");
        made.push(Target::at_most(format!("{case}, ms"), most, ours(&case)));
    }
    let first = ours("behind under load, first quarter");
    made.push(Target::at_most(
        "behind at the end of the load, s (at its beginning, or 0.1)".to_owned(),
        first.unwrap_or(0.0).max(LAG),
        ours("behind under load, last quarter").filter(|_| first.is_some()),
    ));
    let speed = |case: &str| figures.median("oltp_read_write", case);
    made.push(Target::at_least(
        "oltp_read_write with the mirror, of that alone".to_owned(),
        0.9,
        ratio(speed("with the mirror"), speed("alone")),
    ));
    for query in ["1", "2", "3"] {
        let case = format!("query {query}");
        let times = ratio(figures.median(&case, THEIRS), ours(&case));
        made.push(Target::at_least(format!("{case}: times as fast as MySQL"), 50.0, times));
    }
    let differ = figures.facts.get("results that differ").and_then(serde_json::Value::as_array);
    let differ = differ.map(|list| list.len() as f64);
    made.push(Target::at_most("results that differ from MySQL's".to_owned(), 0.0, differ));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(figures: &Figures, what: &str) -> bool {
        targets(figures).iter().find(|target| target.what.starts_with(what)).unwrap().met
    }

    #[test]
    fn a_first_reading_is_judged_by_the_dump_where_that_is_slower() {
        let mut figures = Figures::default();
        figures.add("first reading", OURS, "rows/s", vec![200_000.0]);
        assert!(!met(&figures, "first reading"));
        figures.add("first reading", "mysqldump", "rows/s", vec![190_000.0]);
        assert!(met(&figures, "first reading"));
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let mut figures = Figures::default();
        assert!(targets(&figures).iter().all(|target| !target.met));
        figures.add("query 1", THEIRS, "ms", vec![500.0]);
        figures.add("query 1", OURS, "ms", vec![10.0]);
        figures.add("oltp_read_write", "alone", "transactions/s", vec![100.0]);
        figures.add("oltp_read_write", "with the mirror", "transactions/s", vec![89.0]);
        assert!(met(&figures, "query 1"));
        assert!(!met(&figures, "query 2"));
        assert!(!met(&figures, "oltp_read_write"));
    }
}
