//! [`EvalContext`]: the session and statement state that an expression needs, and the sink of its
//! warnings.

use std::cell::RefCell;
use std::sync::Mutex;

use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_types::{Collation, collation};

use crate::interrupt::Interrupt;
use crate::zone::TimeZone;

/// Most warnings that a statement keeps, as MySQL's `max_error_count` has it by default.
const MAX_WARNINGS: usize = 1024;

/// The modes of `sql_mode` that change the results of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode {
    /// Division by zero leaves warning 1365 and gives NULL.
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

/// The session and statement state that an expression needs.
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
    /// The statement was prepared and has parameters, which occur in it as literals. Errors in its
    /// own literals were reported when it was prepared.
    pub has_parameters: bool,
    /// Warnings are those of a MariaDB, whose answer this is.
    pub of_mariadb: bool,
    /// The cancellation flag of the statement; checked before each function is computed.
    pub interrupt: Interrupt,
    /// The memory account of the texts that functions return.
    pub memory: Account,
    warnings: Mutex<Vec<Warning>>,
}

/// MySQL's number and text.
type Warning = (u16, String);

thread_local! {
    /// Warnings of tentative work on this thread, see [`EvalContext::tried`].
    static TRIED: RefCell<Option<Vec<Warning>>> = const { RefCell::new(None) };
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
            memory: Account::unlimited(),
            warnings: Mutex::new(Vec::new()),
        }
    }
}

impl EvalContext {
    /// Adds a warning; those beyond MySQL's limit are dropped as MySQL drops them.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        self.with_warnings(|warnings| {
            if warnings.len() < MAX_WARNINGS {
                warnings.push((code, message.into()));
            }
        });
    }

    /// Adds a warning that the statement gives once, however many rows are concerned.
    pub fn warn_once(&self, code: u16, message: &str) {
        let is_such = |(known, text): &Warning| *known == code && text == message;
        if self.lock().iter().any(is_such) {
            return;
        }
        self.with_warnings(|warnings| {
            if !warnings.iter().any(is_such) && warnings.len() < MAX_WARNINGS {
                warnings.push((code, message.to_owned()));
            }
        });
    }

    /// The warnings that this thread adds to.
    fn with_warnings(&self, add: impl FnOnce(&mut Vec<Warning>)) {
        TRIED.with_borrow_mut(|tried| match tried {
            Some(tried) => add(tried),
            None => add(&mut self.lock()),
        });
    }

    /// Does work on this thread whose warnings count only if it succeeds: it may be tried again.
    ///
    /// # Errors
    /// Those of the work.
    pub fn tried<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let before = TRIED.replace(Some(Vec::new()));
        let result = work();
        let left = TRIED.replace(before).unwrap_or_default();
        if result.is_ok() {
            for (code, message) in left {
                self.warn(code, message);
            }
        }
        result
    }

    /// The memory account for a text function that may return so many bytes for a row: only long
    /// texts count, and all texts that are evaluated part by part. Other texts are as large as the
    /// rows from which they are made.
    pub(crate) fn counting(&self, length: u32) -> Account {
        /// Rows of a batch, times four.
        const ROWS: usize = 1 << 15;
        let is_long = usize::try_from(length).is_ok_and(|it| it > self.memory.limit() / ROWS);
        let is_tried = TRIED.with_borrow(Option::is_some);
        if is_long || is_tried { self.memory.clone() } else { Account::unlimited() }
    }

    /// Whether so many more bytes are to be had for a moment.
    ///
    /// # Errors
    /// 1041.
    pub(crate) fn check_memory(&self, bytes: usize) -> Result<()> {
        self.memory.reserve(bytes).map(drop).map_err(Error::out_of_memory)
    }

    /// Takes the warnings gathered so far: MySQL's number and text.
    pub fn take_warnings(&self) -> Vec<(u16, String)> {
        std::mem::take(&mut *self.lock())
    }

    /// Runs work whose warnings are discarded; returns its result, and whether it left any.
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
    fn warnings_of_what_failed_are_forgotten() {
        let context = EvalContext::default();
        let fails = || -> Result<(), ()> {
            context.warn(1, "failed");
            Err(())
        };
        assert_eq!(context.tried(fails), Err(()));
        let works = || -> Result<(), ()> {
            context.warn(2, "worked");
            context.warn_once(3, "once");
            Ok(())
        };
        assert_eq!(context.tried(works), Ok(()));
        context.warn_once(3, "once");
        let codes: Vec<u16> = context.take_warnings().iter().map(|it| it.0).collect();
        assert_eq!(codes, [2, 3]);
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
