//! The report: a JSON file for machines and tables for people.

use serde::Serialize;

use crate::measured::{Facts, Machine, Measured};

/// Something to reach.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    /// The measured quantity, with its unit.
    pub(crate) what: String,
    /// The most (or least) that it may be.
    limit: f64,
    /// What it is; `null` when it could not be measured.
    measured: Option<f64>,
    /// Whether it was reached.
    pub(crate) met: bool,
    /// Whether the limit is the least instead of the most.
    #[serde(skip)]
    least: bool,
}

impl Target {
    /// The figure must not be above the limit.
    pub(crate) fn at_most(what: String, limit: f64, measured: Option<f64>) -> Self {
        let met = measured.is_some_and(|value| value <= limit);
        Self { what, limit, measured, met, least: false }
    }

    /// The figure must not be below the limit.
    pub(crate) fn at_least(what: String, limit: f64, measured: Option<f64>) -> Self {
        let met = measured.is_some_and(|value| value >= limit);
        Self { what, limit, measured, met, least: true }
    }
}

/// One case on one system.
#[derive(Debug, Serialize)]
struct Case {
    case: String,
    system: String,
    median_ms: f64,
    min_ms: f64,
    runs: usize,
}

/// The report of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    name: &'static str,
    commit: String,
    machine: Machine,
    rows: u64,
    facts: Facts,
    not_available: Vec<String>,
    cases: Vec<Case>,
    targets: Vec<Target>,
}

impl Report {
    /// Sums up the measurements.
    pub(crate) fn new(
        name: &'static str,
        commit: String,
        measured: &Measured,
        targets: Vec<Target>,
    ) -> Self {
        let cases = measured
            .cases
            .iter()
            .filter(|times| !times.times_ms.is_empty())
            .map(|times| Case {
                case: times.case.clone(),
                system: times.system.clone(),
                median_ms: times.median_ms(),
                min_ms: times.min_ms(),
                runs: times.times_ms.len(),
            })
            .collect();
        Self {
            name,
            commit,
            machine: measured.machine.clone(),
            rows: measured.rows,
            facts: measured.facts.clone(),
            not_available: measured
                .missing
                .iter()
                .map(|(who, why)| format!("{who}: {why}"))
                .collect(),
            cases,
            targets,
        }
    }

    /// Prints the tables and the closing line.
    pub(crate) fn print(&self, measured: &Measured) {
        println!(
            "\n{} of {} rows on {} cores; medians in milliseconds, in brackets as a part of MariaDB's\n",
            self.name, self.rows, self.machine.cores
        );
        let systems = ["mariadb", "spark", "duckdb", "pelorus"];
        print!("{:<24}", "query");
        for system in systems {
            print!("{system:>20}");
        }
        println!();
        let mut names: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !names.contains(&case.case.as_str()) {
                names.push(&case.case);
            }
        }
        for name in names {
            print!("{name:<24}");
            let base = measured.median_ms(name, "mariadb");
            for system in systems {
                print!("{:>20}", cell(measured.median_ms(name, system), base));
            }
            println!();
        }
        for missing in &self.not_available {
            println!("not available: {missing}");
        }
        for difference in &measured.differences {
            println!("differs: {difference}");
        }
        print_targets(&self.targets);
    }
}

/// Prints targets and the closing line.
pub(crate) fn print_targets(targets: &[Target]) {
    println!("\n{:<60}{:>14}{:>14}", "target", "limit", "measured");
    for target in targets {
        let sign = if target.least { "≥" } else { "≤" };
        println!(
            "{:<60}{:>14}{:>14}  {}",
            target.what,
            format!("{sign} {}", figure(target.limit)),
            target.measured.map_or("–".to_owned(), figure),
            if target.met { "met" } else { "MISSED" }
        );
    }
    let met = targets.iter().filter(|target| target.met).count();
    println!("\n{met} targets met, {} missed", targets.len() - met);
}

/// A figure with as many digits as say something.
pub(crate) fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.1 {
        return format!("{value:.4}");
    }
    if value.abs() < 100.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let left = digits.len() - at;
        if at > 0 && left % 3 == 0 && digit.is_ascii_digit() && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Milliseconds, and their part of the base.
fn cell(value: Option<f64>, base: Option<f64>) -> String {
    match (value, base) {
        (None, _) => "–".to_owned(),
        (Some(ms), Some(base)) if base > 0.0 => format!("{} ({:.2})", shown(ms), ms / base),
        (Some(ms), _) => shown(ms),
    }
}

fn shown(ms: f64) -> String {
    if ms < 100.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_short() {
        assert_eq!(cell(None, Some(1.0)), "–");
        assert_eq!(cell(Some(250.4), Some(500.0)), "250 (0.50)");
        assert_eq!(cell(Some(1.25), None), "1.2");
    }

    #[test]
    fn a_limit_may_be_reached_exactly() {
        assert!(Target::at_most("a".into(), 2.0, Some(2.0)).met);
        assert!(Target::at_least("a".into(), 2.0, Some(2.0)).met);
        assert!(!Target::at_least("a".into(), 2.0, Some(1.0)).met);
    }

    #[test]
    fn figures_have_as_many_digits_as_say_something() {
        assert_eq!(figure(0.0), "0.00");
        assert_eq!(figure(0.0123), "0.0123");
        assert_eq!(figure(0.5), "0.50");
        assert_eq!(figure(-123.0), "-123");
        assert_eq!(figure(999.6), "1,000");
        assert_eq!(figure(1_234_567.0), "1,234,567");
    }
}
