//! The diagnostics area: warnings and errors of the latest statement for `SHOW WARNINGS`, and the
//! counts for `ROW_COUNT()` and similar functions.

use std::sync::Arc;

use parking_lot::Mutex;
use pelorus_error::Error;
use pelorus_link::Condition as Remote;

/// How serious a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Note,
    Warning,
    Error,
}

impl Level {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// One line of `SHOW WARNINGS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) level: Level,
    pub(crate) code: u16,
    pub(crate) message: String,
}

/// The conditions of a statement, and how many rows it sent. Shared with the stream of its rows,
/// which outlives the call that made it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diagnostics(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    conditions: Vec<Condition>,
    /// Conditions that did not fit `max_error_count` are counted only.
    total: usize,
    errors: usize,
    limit: usize,
    found_rows: u64,
    /// The count of `SQL_CALC_FOUND_ROWS`, until the result ends.
    calculated_rows: Option<u64>,
}

impl Diagnostics {
    /// A new statement that leaves conditions of its own begins.
    pub(crate) fn begin(&self, limit: usize) {
        let mut inner = self.0.lock();
        let found_rows = inner.found_rows;
        *inner = Inner { limit, found_rows, ..Inner::default() };
    }

    /// The maximum number of stored conditions.
    pub(crate) fn limit(&self) -> usize {
        self.0.lock().limit
    }

    pub(crate) fn push(&self, level: Level, code: u16, message: impl Into<String>) {
        let mut inner = self.0.lock();
        inner.total += 1;
        inner.errors += usize::from(level == Level::Error);
        if inner.conditions.len() < inner.limit {
            inner.conditions.push(Condition { level, code, message: message.into() });
        }
    }

    /// Counts conditions beyond those that are stored.
    pub(crate) fn count_more(&self, conditions: usize) {
        self.0.lock().total += conditions;
    }

    /// Takes over the warnings of a linked server: `total` conditions, of which it returned some.
    pub(crate) fn take_over(&self, total: u16, conditions: Vec<Remote>) {
        self.count_more(usize::from(total).saturating_sub(conditions.len()));
        for Remote { level, code, message } in conditions {
            let levels = [Level::Note, Level::Error];
            let level = levels.into_iter().find(|it| it.word().eq_ignore_ascii_case(&level));
            self.push(level.unwrap_or(Level::Warning), code, message);
        }
    }

    pub(crate) fn warn(&self, code: u16, message: impl Into<String>) {
        self.push(Level::Warning, code, message);
    }

    pub(crate) fn note(&self, code: u16, message: impl Into<String>) {
        self.push(Level::Note, code, message);
    }

    pub(crate) fn error(&self, error: &Error) {
        self.push(Level::Error, error.errno(), error.message());
    }

    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.0.lock().conditions.clone()
    }

    /// `@@warning_count`: all warnings, including those that were not stored.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().total
    }

    /// `@@error_count`.
    pub(crate) fn errors(&self) -> usize {
        self.0.lock().errors
    }

    /// The number that OK packets carry.
    pub(crate) fn packet_count(&self) -> u16 {
        u16::try_from(self.count()).unwrap_or(u16::MAX)
    }

    /// The end of a result: so many rows were sent, unless more were counted.
    pub(crate) fn set_found_rows(&self, sent: u64) {
        let mut inner = self.0.lock();
        inner.found_rows = inner.calculated_rows.take().unwrap_or(sent);
    }

    /// How many rows a query has that sends some of them.
    pub(crate) fn set_calculated_rows(&self, rows: u64) {
        self.0.lock().calculated_rows = Some(rows);
    }

    pub(crate) fn found_rows(&self) -> u64 {
        self.0.lock().found_rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_beyond_the_limit_are_counted() {
        let diagnostics = Diagnostics::default();
        diagnostics.begin(2);
        for code in 0..5 {
            diagnostics.warn(code, "w");
        }
        diagnostics.error(&Error::internal("x"));
        assert_eq!(diagnostics.conditions().len(), 2);
        assert_eq!((diagnostics.count(), diagnostics.errors()), (6, 1));
        diagnostics.begin(2);
        assert_eq!(diagnostics.packet_count(), 0);
        let remote = |level: &str| Remote { level: level.into(), code: 1, message: "m".into() };
        diagnostics.take_over(7, vec![remote("Note"), remote("Warning"), remote("Error")]);
        assert_eq!((diagnostics.count(), diagnostics.errors()), (7, 1));
        let levels: Vec<Level> = diagnostics.conditions().into_iter().map(|it| it.level).collect();
        assert_eq!(levels, [Level::Note, Level::Warning]);
    }
}
