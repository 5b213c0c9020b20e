//! The targets of the `ontime` benchmark.

use crate::measured::Measured;
use crate::report::Target;

/// Query, and the most that Pelorus may take as a part of Spark's time.
const OF_SPARK: &[(&str, f64)] = &[("1", 1.0 / 3.0), ("2", 0.5), ("3", 0.5), ("5", 0.01)];

/// Query, and the most that Pelorus may take as a part of MariaDB's time.
const OF_MARIADB: &[(&str, f64)] =
    &[("1", 0.7), ("1a", 1.1), ("2", 1.05), ("3", 0.7), ("6", 1.1), ("1, covering index", 1.1)];

/// Queries that an index answers, and the most milliseconds that Pelorus may add to MariaDB's time.
const ON_TOP: &[(&str, f64)] =
    &[("4", 2.0), ("5", 2.0), ("4, covering index", 2.0), ("5, covering index", 2.0)];

const MEMORY_MAX_BYTES: f64 = 500.0 * 1024.0 * 1024.0;

/// Judges the figures. A target whose figures are missing is missed.
pub(crate) fn targets(measured: &Measured) -> Vec<Target> {
    let ratio = |case: &str, system: &str| {
        Some(measured.median_ms(case, "pelorus")? / measured.median_ms(case, system)?)
    };
    let mut made = Vec::new();
    for (case, limit) in OF_SPARK {
        let what = format!("query {case}: part of Spark's time");
        made.push(Target::at_most(what, *limit, ratio(case, "spark")));
    }
    for (case, limit) in OF_MARIADB {
        let what = format!("query {case}: part of MariaDB's time");
        made.push(Target::at_most(what, *limit, ratio(case, "mariadb")));
    }
    for (case, limit) in ON_TOP {
        let more =
            (|| Some(measured.median_ms(case, "pelorus")? - measured.median_ms(case, "mariadb")?))(
            );
        made.push(Target::at_most(
            format!("query {case}: ms on top of MariaDB's"),
            *limit,
            more.map(|ms| ms.max(0.0)),
        ));
    }
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let peak = measured.facts.pelorus_peak_bytes.map(|bytes| bytes as f64);
    made.push(Target::at_most(
        "peak memory of Pelorus, MiB".to_owned(),
        MEMORY_MAX_BYTES / 1048576.0,
        peak.map(|bytes| bytes / 1048576.0),
    ));
    let serving = measured.facts.ranges.values().filter(|count| **count > 0).count();
    #[allow(clippy::cast_precision_loss, reason = "a count of servers")]
    made.push(Target::at_least(
        "servers that read ranges, with a replica".to_owned(),
        2.0,
        Some(serving as f64),
    ));
    #[allow(clippy::cast_precision_loss, reason = "a count of differences")]
    made.push(Target::at_most(
        "results that differ from MariaDB's".to_owned(),
        0.0,
        Some(measured.differences.len() as f64),
    ));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(pelorus_ms: f64) -> Measured {
        let cases: Vec<String> = [("1", "spark", 900.0), ("1", "mariadb", 400.0)]
            .iter()
            .map(|(case, system, ms)| {
                format!(r#"{{"case": "{case}", "system": "{system}", "times_ms": [{ms}]}}"#)
            })
            .chain([format!(r#"{{"case": "1", "system": "pelorus", "times_ms": [{pelorus_ms}]}}"#)])
            .collect();
        let text = format!(
            r#"{{"rows": 10, "machine": {{"cpu": "c", "cores": 2, "memory_bytes": 1,
                "system": "s"}}, "cases": [{}],
                "facts": {{"pelorus_peak_bytes": 1048576, "ranges": {{"PRIMARY": 3, "REPLICA": 0}}}},
                "missing": {{}}, "differences": []}}"#,
            cases.join(",")
        );
        serde_json::from_str(&text).unwrap()
    }

    fn met(targets: &[Target], what: &str) -> bool {
        targets.iter().find(|target| target.what == what).unwrap().met
    }

    #[test]
    fn targets_are_judged_by_the_medians() {
        let good = targets(&measured(200.0));
        assert!(met(&good, "query 1: part of Spark's time"));
        assert!(met(&good, "query 1: part of MariaDB's time"));
        assert!(met(&good, "peak memory of Pelorus, MiB"));
        let bad = targets(&measured(301.0));
        assert!(!met(&bad, "query 1: part of Spark's time"));
        assert!(!met(&bad, "query 1: part of MariaDB's time"));
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let made = targets(&measured(1.0));
        assert!(!met(&made, "query 2: part of Spark's time"));
        assert!(!met(&made, "query 5: ms on top of MariaDB's"));
        assert!(!met(&made, "servers that read ranges, with a replica"));
    }
}
