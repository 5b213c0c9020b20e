//! Results of the benchmarks of native tables: series of numbers by case and system, compared with
//! their targets and printed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::measured::{Machine, median};
use crate::report::{Target, figure, print_targets};
use crate::setting;

/// The measurements of one case on one system.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Series {
    /// The name of the case.
    pub(crate) case: String,
    /// The measured system.
    pub(crate) system: String,
    /// The unit of the values.
    pub(crate) unit: String,
    /// The values, in the order of time.
    pub(crate) values: Vec<f64>,
}

/// All figures of a run, including those that a program in Python writes.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Figures {
    /// The series, in the order of the table.
    pub(crate) series: Vec<Series>,
    /// Cases that could not be measured, with the reason.
    #[serde(default)]
    pub(crate) missing: BTreeMap<String, String>,
    /// Versions, settings, sizes.
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, serde_json::Value>,
}

/// One case on one system.
#[derive(Debug, Serialize)]
struct Case<'a> {
    case: &'a str,
    system: &'a str,
    unit: &'a str,
    median: f64,
    min: f64,
    max: f64,
    runs: usize,
    values: &'a [f64],
}

#[derive(Debug, Serialize)]
struct File<'a> {
    name: &'a str,
    commit: String,
    machine: Machine,
    rows: u64,
    facts: &'a BTreeMap<String, serde_json::Value>,
    not_available: Vec<String>,
    cases: Vec<Case<'a>>,
    targets: &'a [Target],
}

impl Figures {
    /// No values yet. The load of the machine is recorded, since it explains outliers.
    pub(crate) fn begin() -> Self {
        let mut figures = Self::default();
        figures.fact("load of the machine at the start", load());
        figures
    }

    /// Adds values, if there are any.
    pub(crate) fn add(&mut self, case: &str, system: &str, unit: &str, values: Vec<f64>) {
        if !values.is_empty() {
            let (case, system, unit) = (case.to_owned(), system.to_owned(), unit.to_owned());
            self.series.push(Series { case, system, unit, values });
        }
    }

    /// Keeps a setting or a version.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// The values of a case on a system.
    pub(crate) fn values(&self, case: &str, system: &str) -> Option<&[f64]> {
        let found = self.series.iter().find(|it| it.case == case && it.system == system)?;
        Some(&found.values)
    }

    /// The median of a case on a system.
    pub(crate) fn median(&self, case: &str, system: &str) -> Option<f64> {
        self.values(case, system).map(median)
    }

    /// Reads the measurements of a program in Python.
    pub(crate) fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {path:?}"))?;
        let more: Figures = serde_json::from_str(&text).context("the figures make no sense")?;
        self.series.extend(more.series.into_iter().filter(|it| !it.values.is_empty()));
        self.missing.extend(more.missing);
        self.facts.extend(more.facts);
        Ok(())
    }

    /// Writes `NAME.json`, prints the table, the targets and the closing line.
    pub(crate) fn finish(
        mut self,
        name: &str,
        rows: u64,
        targets: &[Target],
    ) -> anyhow::Result<()> {
        self.fact("load of the machine at the end", load());
        let cases = self.series.iter().map(|it| Case {
            case: &it.case,
            system: &it.system,
            unit: &it.unit,
            median: median(&it.values),
            min: it.values.iter().copied().fold(f64::NAN, f64::min),
            max: it.values.iter().copied().fold(f64::NAN, f64::max),
            runs: it.values.len(),
            values: &it.values,
        });
        let file = File {
            name,
            commit: setting::commit(),
            machine: Machine::this(),
            rows,
            facts: &self.facts,
            not_available: self.missing.iter().map(|(who, why)| format!("{who}: {why}")).collect(),
            cases: cases.collect(),
            targets,
        };
        let path = setting::figures()?.join(format!("{name}.json"));
        std::fs::write(&path, serde_json::to_string_pretty(&file)? + "\n")
            .with_context(|| format!("cannot write {path:?}"))?;
        println!(
            "\n{name}: {} {} on {} cores",
            figure(rows as f64),
            if name == "allocator" { "blocks" } else { "rows" },
            file.machine.cores
        );
        self.print();
        print_targets(targets);
        Ok(())
    }

    /// A line for each case and system.
    fn print(&self) {
        println!(
            "\n{:<52}{:<24}{:>14}{:>14}{:>14}{:>6}  unit",
            "case", "system", "median", "min", "max", "runs"
        );
        let mut last = "";
        for it in &self.series {
            let case = if it.case == last { "" } else { &it.case };
            let bound = |better: fn(f64, f64) -> f64| {
                figure(it.values.iter().copied().fold(f64::NAN, better))
            };
            println!(
                "{case:<52}{:<24}{:>14}{:>14}{:>14}{:>6}  {}",
                it.system,
                figure(median(&it.values)),
                bound(f64::min),
                bound(f64::max),
                it.values.len(),
                it.unit
            );
            last = &it.case;
        }
        for (name, value) in &self.facts {
            println!("{name}: {value}");
        }
        for (who, why) in &self.missing {
            println!("not available: {who}: {why}");
        }
    }
}

/// How many threads wanted a core in the last minute.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_found_and_empty_ones_are_not_there() {
        let mut figures = Figures::default();
        figures.add("load", "a", "rows/s", vec![3.0, 1.0, 2.0]);
        figures.add("load", "b", "rows/s", Vec::new());
        assert_eq!(figures.median("load", "a"), Some(2.0));
        assert_eq!(figures.median("load", "b"), None);
        assert_eq!(figures.values("load", "a"), Some(&[3.0, 1.0, 2.0][..]));
    }
}
