//! The parts of a statement: what servers run of it, and the scans of native tables.

use std::sync::{Arc, Mutex, PoisonError};

use pelorus_link::ScanReport;

/// The statements that a query sends to servers, for EXPLAIN and for the later warnings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Entry>>>);

/// One part that a server runs, or a scan of a native table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The link's name, or `pelorus`.
    pub(crate) link: String,
    /// `fragment` or `scan`.
    pub(crate) what: &'static str,
    /// How the table is cut.
    pub(crate) how: String,
    /// How many ranges.
    pub(crate) ranges: usize,
    /// The first range's statement.
    pub(crate) sql: String,
    /// The report of the execution, once it ran.
    pub(crate) report: Option<Arc<ScanReport>>,
}

impl Journal {
    /// Notes a part; the number finds it again.
    pub(crate) fn note(&self, entry: Entry) -> usize {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(entry);
        entries.len() - 1
    }

    /// Notes the report of an execution.
    pub(crate) fn ran(&self, at: usize, report: Arc<ScanReport>) {
        if let Some(entry) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
            entry.report = Some(report);
        }
    }

    /// Everything noted so far.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
