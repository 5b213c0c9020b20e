//! Conversion errors: values that do not fit their column, as errors or warnings of the statement.
//!
//! The rules of the types report the problem; [`Reporter`] knows the [`Policy`] and decides between
//! an error and a warning, with MySQL's texts.

use pelorus_error::{Code, Error};

use crate::context::{EvalContext, SqlMode};
use crate::zone::TimeZone;

/// Most warnings that are kept of one column; the rest is only counted. MySQL's own default.
const MAX_WARNINGS: usize = 1024;
/// Most bytes of a value that a message shows.
const SHOWN_BYTES: usize = 128;

/// The handling of NULL in a column that cannot hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// Error 1048 in every mode: `INSERT ... VALUES` of a single row.
    Refuse,
    /// Error 1048 in strict mode; else the implicit default and warning 1048: `INSERT` of several
    /// rows or of a SELECT, and `UPDATE`.
    Replace,
    /// Like `Replace`, with the number and text of `LOAD DATA` (1263).
    Load,
    /// Like `Replace`, with the number and text of `ALTER TABLE` (1265).
    Alter,
}

/// The handling of NULL in an AUTO_INCREMENT column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// It stays NULL, and the engine puts a number there: `INSERT` and `LOAD DATA`.
    Made,
    /// The same as in all other columns that cannot hold it: `UPDATE`.
    Given,
    /// It becomes zero without a word: `ON DUPLICATE KEY UPDATE`.
    Zero,
}

/// How a statement treats values that do not fit.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// `sql_mode` has STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    /// The statement says IGNORE, or is `LOAD DATA LOCAL`: errors become warnings.
    pub ignore: bool,
    /// The handling of NULL in a NOT NULL column.
    pub nulls: NullRule,
    /// The handling of NULL in an AUTO_INCREMENT column.
    pub numbering: Numbering,
    /// `explicit_defaults_for_timestamp` is off: NULL is the time of the statement in a TIMESTAMP that
    /// cannot hold it.
    pub null_is_now: bool,
    /// The other switches of `sql_mode`.
    pub sql_mode: SqlMode,
    /// The session's time zone, in which a TIMESTAMP is written.
    pub time_zone: TimeZone,
    /// Start of the statement, microseconds since 1970 in universal time; a TIME that becomes a
    /// DATETIME falls on its day.
    pub now_micros: i64,
    /// The number that messages give to the first row.
    pub first_row: u64,
}

impl Policy {
    /// The policy of a single-row INSERT in a session: no IGNORE, rows counted from 1.
    pub fn new(ctx: &EvalContext, strict: bool) -> Self {
        Self {
            strict,
            ignore: false,
            nulls: NullRule::Refuse,
            numbering: Numbering::Made,
            null_is_now: false,
            sql_mode: ctx.sql_mode,
            time_zone: ctx.time_zone,
            now_micros: ctx.now_micros,
            first_row: 1,
        }
    }

    /// Whether a value that does not fit ends the statement.
    pub(crate) fn refuses(&self) -> bool {
        self.strict && !self.ignore
    }
}

/// How grave a [`Warning`] is, as `SHOW WARNINGS` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something was lost that MySQL thinks little of: digits of a DECIMAL, trailing spaces.
    Note,
    /// The value was changed.
    Warning,
}

/// A note or warning that a value left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The row that its message names; the engine merges the columns by it.
    pub row: u64,
    /// How grave it is.
    pub level: Level,
    /// MySQL's number.
    pub code: u16,
    /// MySQL's text.
    pub message: String,
}

/// The error of a value that the statement does not survive.
#[derive(Debug)]
pub struct Failure {
    /// The row of the value; with errors in several columns the first row counts.
    pub row: u64,
    /// The error, in MySQL's words.
    pub error: Error,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.error
    }
}

/// Gathers the problems of one column.
#[derive(Debug)]
pub(crate) struct Reporter {
    column: String,
    pub(crate) policy: Policy,
    /// The row that messages name.
    pub(crate) row: u64,
    warnings: Vec<Warning>,
    count: u64,
}

impl Reporter {
    pub(crate) fn new(column: &str, policy: Policy) -> Self {
        let column = column.to_owned();
        Self { column, policy, row: policy.first_row, warnings: Vec::new(), count: 0 }
    }

    /// The stored warnings, and their total number.
    pub(crate) fn finish(self) -> (Vec<Warning>, u64) {
        (self.warnings, self.count)
    }

    fn push(&mut self, level: Level, code: Code, message: String) {
        self.count += 1;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(Warning { row: self.row, level, code: code.errno(), message });
        }
    }

    /// Ends the statement whatever the policy.
    #[cold]
    pub(crate) fn fail(&self, error: Error) -> Failure {
        Failure { row: self.row, error }
    }

    /// An error under a strict policy, else a warning.
    fn raise(&mut self, code: Code, message: String) -> Result<(), Failure> {
        if self.policy.refuses() {
            return Err(self.fail(Error::new(code, message)));
        }
        self.push(Level::Warning, code, message);
        Ok(())
    }

    fn standard(&self, code: Code) -> String {
        let (column, row) = (&self.column, self.row);
        match code {
            Code::OutOfRange => format!("Out of range value for column '{column}' at row {row}"),
            Code::DataTooLong => format!("Data too long for column '{column}' at row {row}"),
            Code::ColumnCannotBeNull => format!("Column '{column}' cannot be null"),
            Code::NullToNotNull => format!(
                "Column set to default value; NULL supplied to NOT NULL column '{column}' at row \
                 {row}"
            ),
            Code::NoDefaultForColumn => format!("Field '{column}' doesn't have a default value"),
            Code::SkippedTimestamp => {
                format!("Invalid TIMESTAMP value in column '{column}' at row {row}")
            }
            _ => format!("Data truncated for column '{column}' at row {row}"),
        }
    }

    /// One of the problems whose text is the same for all types.
    #[cold]
    pub(crate) fn problem(&mut self, code: Code) -> Result<(), Failure> {
        let message = self.standard(code);
        self.raise(code, message)
    }

    /// 1264.
    #[cold]
    pub(crate) fn out_of_range(&mut self) -> Result<(), Failure> {
        self.problem(Code::OutOfRange)
    }

    /// 1265 as a warning.
    #[cold]
    pub(crate) fn truncated(&mut self) -> Result<(), Failure> {
        self.problem(Code::DataTruncated)
    }

    /// 1265 as a note, which strict mode leaves a note.
    #[cold]
    pub(crate) fn note_truncated(&mut self) {
        let message = self.standard(Code::DataTruncated);
        self.push(Level::Note, Code::DataTruncated, message);
    }

    /// A string that its column cannot take whole: 1406, or 1265 where it is only a warning.
    #[cold]
    pub(crate) fn too_long(&mut self) -> Result<(), Failure> {
        let refuses = self.policy.refuses();
        self.problem(if refuses { Code::DataTooLong } else { Code::DataTruncated })
    }

    /// More bits than the BIT has: 1406 in strict mode (IGNORE or not), else 1264.
    #[cold]
    pub(crate) fn too_many_bits(&mut self) -> Result<(), Failure> {
        let strict = self.policy.strict;
        self.problem(if strict { Code::DataTooLong } else { Code::OutOfRange })
    }

    /// 1366, with the kind of value that was wanted.
    #[cold]
    pub(crate) fn incorrect(&mut self, kind: &str, shown: &[u8]) -> Result<(), Failure> {
        let message = self.incorrect_text(kind, &shown_text(shown));
        self.raise(Code::WrongValueForColumn, message)
    }

    /// 1366 for bytes that are no characters of the column's charset, from the first such byte on.
    #[cold]
    pub(crate) fn incorrect_string(&mut self, rest: &[u8]) -> Result<(), Failure> {
        let message = self.incorrect_text("string", &first_bytes(rest));
        self.raise(Code::WrongValueForColumn, message)
    }

    /// A date or time that is none: 1292 with the value in strict mode, else, and under IGNORE, the
    /// standard text of `otherwise` (seen with MySQL 9.7).
    #[cold]
    pub(crate) fn temporal(
        &mut self,
        kind: &str,
        shown: &str,
        otherwise: Code,
    ) -> Result<(), Failure> {
        if !self.policy.strict || self.policy.ignore {
            return self.problem(otherwise);
        }
        let message = self.incorrect_text(kind, &shown_text(shown.as_bytes()));
        self.raise(Code::TruncatedWrongValue, message)
    }

    /// The same of a value that is stored all the same: a note.
    #[cold]
    pub(crate) fn temporal_taken(&mut self, kind: &str, shown: &str) {
        if !self.policy.strict || self.policy.ignore {
            return self.note_truncated();
        }
        let message = self.incorrect_text(kind, &shown_text(shown.as_bytes()));
        self.push(Level::Note, Code::TruncatedWrongValue, message);
    }

    /// NULL in a column that cannot hold it. `Ok` says that the implicit default takes its place.
    #[cold]
    pub(crate) fn null(&mut self) -> Result<(), Failure> {
        let code = match self.policy.nulls {
            NullRule::Load => Code::NullToNotNull,
            NullRule::Alter => Code::DataTruncated,
            _ => Code::ColumnCannotBeNull,
        };
        if self.policy.nulls == NullRule::Refuse && !self.policy.ignore {
            return Err(self.fail(Error::new(code, self.standard(code))));
        }
        self.problem(code)
    }

    fn incorrect_text(&self, kind: &str, shown: &str) -> String {
        format!(
            "Incorrect {kind} value: '{shown}' for column '{}' at row {}",
            self.column, self.row
        )
    }
}

/// A value as messages show it: bytes that are no characters as `\xHH`, and not too long.
fn shown_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if out.len() + c.len_utf8() > SHOWN_BYTES {
                return out;
            }
            out.push(c);
        }
        for byte in chunk.invalid() {
            if out.len() + 4 > SHOWN_BYTES {
                return out;
            }
            out.push_str(&format!("\\x{byte:02X}"));
        }
    }
    out
}

/// The first six bytes: printable ASCII as it is, all else as `\xHH`, and dots if there are more.
fn first_bytes(bytes: &[u8]) -> String {
    const MOST: usize = 6;
    let mut out = String::new();
    for byte in bytes.iter().take(MOST) {
        match byte {
            b' '..=0x7f => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02X}")),
        }
    }
    if bytes.len() > MOST {
        out.push_str("...");
    }
    out
}
