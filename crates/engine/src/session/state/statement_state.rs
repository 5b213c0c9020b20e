//! [`StatementState`]: what is known of the statement at hand, and of the one before it.

use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_error::Error;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;

/// Diagnostics, counts and interruption of the statement at hand. Until a statement changes them,
/// they are those of the statement before.
#[derive(Debug)]
pub(crate) struct StatementState {
    diagnostics: Diagnostics,
    row_count: i64,
    last_insert_id: u64,
    /// Tells whether the statement has been asked to stop.
    stop: Stop,
    /// The next statement was stopped while its text was split off.
    stopped_early: AtomicBool,
    /// The statement that runs was prepared and has parameters.
    has_parameters: bool,
}

impl Default for StatementState {
    fn default() -> Self {
        Self {
            diagnostics: Diagnostics::default(),
            row_count: 0,
            last_insert_id: 0,
            stop: Stop::never(),
            stopped_early: AtomicBool::new(false),
            has_parameters: false,
        }
    }
}

impl StatementState {
    /// Forgets diagnostics and counts.
    pub(crate) fn reset(&mut self) {
        self.diagnostics = Diagnostics::default();
        self.row_count = 0;
        self.last_insert_id = 0;
    }

    /// A statement begins that `stop` may interrupt.
    pub(crate) fn begin(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// Clears the diagnostics of the statement before; at most `conditions_max` are kept.
    pub(crate) fn begin_diagnostics(&mut self, conditions_max: u64) {
        self.diagnostics.begin(usize::try_from(conditions_max).unwrap_or(usize::MAX));
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Lets a statement of Pelorus itself use diagnostics of its own; returns the client's.
    pub(crate) fn replace_diagnostics(&mut self, diagnostics: Diagnostics) -> Diagnostics {
        std::mem::replace(&mut self.diagnostics, diagnostics)
    }

    pub(crate) fn row_count(&self) -> i64 {
        self.row_count
    }

    pub(crate) fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }

    pub(crate) fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) fn has_parameters(&self) -> bool {
        self.has_parameters
    }

    pub(crate) fn set_has_parameters(&mut self, has_parameters: bool) {
        self.has_parameters = has_parameters;
    }

    /// The statement has changed so many rows.
    pub(crate) fn count_rows(&mut self, rows: u64) {
        self.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
    }

    /// The statement has no row count, because it returns rows.
    pub(crate) fn has_no_row_count(&mut self) {
        self.row_count = -1;
    }

    /// The statement has failed.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.row_count = -1;
        self.diagnostics.error(error);
    }

    /// The statement that comes next fails, because it was stopped before it could begin.
    pub(crate) fn stop_next(&self) {
        // Ordering: the same task looks at it.
        self.stopped_early.store(true, Ordering::Relaxed);
    }

    /// Whether the statement that begins was stopped before.
    pub(crate) fn take_stopped_early(&mut self) -> bool {
        std::mem::take(self.stopped_early.get_mut())
    }
}
