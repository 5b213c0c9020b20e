//! Reads the results that a measuring program in Python has written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All figures of a run.
#[derive(Debug, Deserialize)]
pub(crate) struct Measured {
    /// Rows of the table.
    pub(crate) rows: u64,
    /// The machine of the measurement.
    pub(crate) machine: Machine,
    /// The times.
    pub(crate) cases: Vec<Times>,
    /// Versions, sizes, counts.
    pub(crate) facts: Facts,
    /// Peers that could not be had, with the reason.
    pub(crate) missing: BTreeMap<String, String>,
    /// Results that differed from MariaDB's.
    pub(crate) differences: Vec<String>,
}

/// A machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Machine {
    cpu: String,
    pub(crate) cores: u32,
    memory_bytes: u64,
    system: String,
}

/// The counted runs of one case on one system.
#[derive(Debug, Deserialize)]
pub(crate) struct Times {
    /// The query, and special conditions.
    pub(crate) case: String,
    /// The system.
    pub(crate) system: String,
    /// Milliseconds of each run.
    pub(crate) times_ms: Vec<f64>,
}

/// Known facts other than times.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Facts {
    /// The most memory that Pelorus held.
    pub(crate) pelorus_peak_bytes: Option<u64>,
    /// Ranges read by the servers, by role.
    #[serde(default)]
    pub(crate) ranges: BTreeMap<String, u64>,
    /// Size of the table on disk.
    pub(crate) table_bytes: Option<u64>,
    pub(crate) mariadb_version: Option<String>,
    pub(crate) spark_version: Option<String>,
    pub(crate) duckdb_version: Option<String>,
}

impl Times {
    /// The median.
    pub(crate) fn median_ms(&self) -> f64 {
        median(&self.times_ms)
    }

    /// The fastest run.
    pub(crate) fn min_ms(&self) -> f64 {
        self.times_ms.iter().copied().fold(f64::NAN, f64::min)
    }
}

/// The median; half-way between the two in the middle when the count is even.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

impl Machine {
    /// The one that this runs on, as far as Linux tells.
    pub(crate) fn this() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let find = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let kilobytes = find(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            cpu: find(&read("/proc/cpuinfo"), "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            memory_bytes: kilobytes.unwrap_or(0) * 1024,
            system: "Linux".to_owned(),
        }
    }
}

impl Measured {
    /// The median of a case on a system, if it was measured.
    pub(crate) fn median_ms(&self, case: &str, system: &str) -> Option<f64> {
        let found = self.cases.iter().find(|times| times.case == case && times.system == system)?;
        (!found.times_ms.is_empty()).then(|| found.median_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(times_ms: &[f64]) -> Times {
        Times { case: "1".into(), system: "x".into(), times_ms: times_ms.to_vec() }
    }

    #[test]
    fn the_median_stands_in_the_middle() {
        assert_eq!(times(&[3.0, 1.0, 2.0]).median_ms(), 2.0);
        assert_eq!(times(&[4.0, 1.0, 2.0, 3.0]).median_ms(), 2.5);
        assert_eq!(times(&[4.0, 1.0]).min_ms(), 1.0);
        assert!(times(&[]).median_ms().is_nan());
    }
}
