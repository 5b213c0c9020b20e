//! What an expression needs to know of its statement and session, and where its warnings go.

use std::sync::Mutex;

use pelorus_types::{Collation, collation};

use crate::interrupt::Interrupt;
use crate::zone::TimeZone;

/// Most warnings that a statement keeps, as MySQL's `max_error_count` has it by default.
const MAX_WARNINGS: usize = 1024;

/// The switches of `sql_mode` that change what expressions give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode {
    /// Division by zero leaves warning 1365 beside its NULL.
    pub error_for_division_by_zero: bool,
    /// A subtraction with unsigned operands is signed.
    pub no_unsigned_subtraction: bool,
    /// Dates of year, month and day zero are refused by conversions.
    pub no_zero_date: bool,
    /// Dates with a month or day of zero are refused by conversions.
    pub no_zero_in_date: bool,
    /// A backslash in a pattern is an ordinary character.
    pub no_backslash_escapes: bool,
    /// CHAR values keep their trailing spaces.
    pub pad_char_to_full_length: bool,
    /// Fractions of a second are cut, not rounded.
    pub time_truncate_fractional: bool,
    /// 30 February is a date.
    pub allow_invalid_dates: bool,
}

impl SqlMode {
    /// An empty `sql_mode`.
    pub const EMPTY: Self = Self {
        error_for_division_by_zero: false,
        no_unsigned_subtraction: false,
        no_zero_date: false,
        no_zero_in_date: false,
        no_backslash_escapes: false,
        pad_char_to_full_length: false,
        time_truncate_fractional: false,
        allow_invalid_dates: false,
    };
}

impl Default for SqlMode {
    /// MySQL's own default.
    fn default() -> Self {
        Self {
            error_for_division_by_zero: true,
            no_unsigned_subtraction: false,
            no_zero_date: true,
            no_zero_in_date: true,
            no_backslash_escapes: false,
            pad_char_to_full_length: false,
            time_truncate_fractional: false,
            allow_invalid_dates: false,
        }
    }
}

/// What an expression needs to know of its statement and session.
#[derive(Debug)]
pub struct EvalContext {
    /// Start of the statement, microseconds since 1970 in universal time.
    pub now_micros: i64,
    /// The session's time zone.
    pub time_zone: TimeZone,
    /// The time zone `SYSTEM`.
    pub system_time_zone: TimeZone,
    /// Collation of literals and of numbers that become text (`collation_connection`).
    pub collation: Collation,
    /// Switches of `sql_mode`.
    pub sql_mode: SqlMode,
    /// Digits that a division adds to the scale (`div_precision_increment`).
    pub div_precision_increment: u8,
    /// Longest result of `GROUP_CONCAT` in bytes.
    pub group_concat_max_len: u64,
    /// Longest string that a function makes, in bytes.
    pub max_allowed_packet: u64,
    /// Mode of `WEEK` when none is given.
    pub default_week_format: u8,
    /// `USER()`.
    pub user: String,
    /// `CURRENT_USER()`.
    pub current_user: String,
    /// `CONNECTION_ID()`.
    pub connection_id: u64,
    /// `DATABASE()`.
    pub database: Option<String>,
    /// `VERSION()`.
    pub version: String,
    /// The statement was prepared and has parameters, which stand in it as literals. What is wrong
    /// with literals of its own showed when it was prepared.
    pub has_parameters: bool,
    /// Warnings are those of a MariaDB, whose answer this is.
    pub of_mariadb: bool,
    /// Whether the statement is to stop; asked wherever a function is computed.
    pub interrupt: Interrupt,
    warnings: Mutex<Vec<(u16, String)>>,
}

impl Default for EvalContext {
    fn default() -> Self {
        Self {
            now_micros: 0,
            time_zone: TimeZone::Utc,
            system_time_zone: TimeZone::Utc,
            collation: collation::UTF8MB4_0900_AI_CI,
            sql_mode: SqlMode::default(),
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: 67_108_864,
            default_week_format: 0,
            user: String::new(),
            current_user: String::new(),
            connection_id: 0,
            database: None,
            version: String::new(),
            has_parameters: false,
            of_mariadb: false,
            interrupt: Interrupt::default(),
            warnings: Mutex::new(Vec::new()),
        }
    }
}

impl EvalContext {
    /// Adds a warning; those beyond MySQL's limit are dropped as MySQL drops them.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        let mut warnings = self.lock();
        if warnings.len() < MAX_WARNINGS {
            warnings.push((code, message.into()));
        }
    }

    /// Adds a warning that the statement gives once, however many rows are concerned.
    pub fn warn_once(&self, code: u16, message: &str) {
        let mut warnings = self.lock();
        if warnings.len() >= MAX_WARNINGS {
            return;
        }
        let is_known = warnings.iter().any(|(known, text)| *known == code && text == message);
        if !is_known {
            warnings.push((code, message.to_owned()));
        }
    }

    /// Takes the warnings gathered so far: MySQL's number and text.
    pub fn take_warnings(&self) -> Vec<(u16, String)> {
        std::mem::take(&mut *self.lock())
    }

    /// Does work whose warnings nobody sees; what it gives, and whether it left any.
    pub fn apart<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        let before = self.take_warnings();
        let result = work();
        let left = std::mem::replace(&mut *self.lock(), before);
        (result, !left.is_empty())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(u16, String)>> {
        // A panic while holding the lock leaves a vector that is still whole.
        self.warnings.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_apart_leaves_the_warnings_before_it() {
        let context = EvalContext::default();
        context.warn(1, "before");
        assert_eq!(context.apart(|| context.warn(2, "within")), ((), true));
        assert_eq!(context.apart(|| 7), (7, false));
        assert_eq!(context.take_warnings(), [(1, "before".to_owned())]);
    }

    #[test]
    fn some_warnings_come_once() {
        let context = EvalContext::default();
        for message in ["a", "b", "a"] {
            context.warn_once(1292, message);
        }
        context.warn_once(1265, "a");
        let found = context.take_warnings();
        let expected = [(1292, "a"), (1292, "b"), (1265, "a")];
        assert_eq!(found, expected.map(|(code, text)| (code, text.to_owned())));
        // What was taken may come again.
        context.warn_once(1292, "a");
        assert_eq!(context.take_warnings().len(), 1);
    }
}
