//! The diagnostics area: warnings and errors of the latest statement for `SHOW WARNINGS`, and the
//! counts for `ROW_COUNT()` and similar functions.

use std::sync::Arc;

use parking_lot::Mutex;
use pelorus_error::Error;

/// How serious a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Note,
    Warning,
    Error,
}

impl Level {
    /// The level of a word that a server sends; unknown ones are warnings.
    pub fn from_word(word: &str) -> Self {
        let levels = [Level::Note, Level::Error];
        let level = levels.into_iter().find(|it| it.word().eq_ignore_ascii_case(word));
        level.unwrap_or(Level::Warning)
    }

    pub fn word(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// One line of `SHOW WARNINGS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub level: Level,
    pub code: u16,
    pub message: String,
}

/// The conditions of a statement, and how many rows it sent. Shared with the stream of its rows,
/// which outlives the call that made it.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics(Arc<Mutex<Inner>>);

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
    pub fn begin(&self, limit: usize) {
        let mut inner = self.0.lock();
        let found_rows = inner.found_rows;
        *inner = Inner { limit, found_rows, ..Inner::default() };
    }

    /// The maximum number of stored conditions.
    pub fn limit(&self) -> usize {
        self.0.lock().limit
    }

    pub fn push(&self, level: Level, code: u16, message: impl Into<String>) {
        let mut inner = self.0.lock();
        inner.total += 1;
        inner.errors += usize::from(level == Level::Error);
        if inner.conditions.len() < inner.limit {
            inner.conditions.push(Condition { level, code, message: message.into() });
        }
    }

    /// Counts conditions beyond those that are stored.
    pub fn count_more(&self, conditions: usize) {
        self.0.lock().total += conditions;
    }

    /// Takes over the warnings of a linked server: `total` conditions, of which it returned some.
    pub fn take_over(&self, total: u16, conditions: impl ExactSizeIterator<Item = Condition>) {
        self.count_more(usize::from(total).saturating_sub(conditions.len()));
        for Condition { level, code, message } in conditions {
            self.push(level, code, message);
        }
    }

    pub fn warn(&self, code: u16, message: impl Into<String>) {
        self.push(Level::Warning, code, message);
    }

    pub fn note(&self, code: u16, message: impl Into<String>) {
        self.push(Level::Note, code, message);
    }

    pub fn error(&self, error: &Error) {
        self.push(Level::Error, error.errno(), error.message());
    }

    pub fn conditions(&self) -> Vec<Condition> {
        self.0.lock().conditions.clone()
    }

    /// `@@warning_count`: all warnings, including those that were not stored.
    pub fn count(&self) -> usize {
        self.0.lock().total
    }

    /// `@@error_count`.
    pub fn errors(&self) -> usize {
        self.0.lock().errors
    }

    /// The number that OK packets carry.
    pub fn packet_count(&self) -> u16 {
        u16::try_from(self.count()).unwrap_or(u16::MAX)
    }

    /// The end of a result: so many rows were sent, unless more were counted.
    pub fn set_found_rows(&self, sent: u64) {
        let mut inner = self.0.lock();
        inner.found_rows = inner.calculated_rows.take().unwrap_or(sent);
    }

    /// How many rows a query has that sends some of them.
    pub fn set_calculated_rows(&self, rows: u64) {
        self.0.lock().calculated_rows = Some(rows);
    }

    pub fn found_rows(&self) -> u64 {
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
        let remote = |word: &str| {
            let (level, message) = (Level::from_word(word), "m".to_owned());
            Condition { level, code: 1, message }
        };
        diagnostics.take_over(7, ["Note", "Warning", "error"].map(remote).into_iter());
        assert_eq!((diagnostics.count(), diagnostics.errors()), (7, 1));
        let levels: Vec<Level> = diagnostics.conditions().into_iter().map(|it| it.level).collect();
        assert_eq!(levels, [Level::Note, Level::Warning]);
    }
}
