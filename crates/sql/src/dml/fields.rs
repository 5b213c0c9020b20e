//! Splits the bytes of a `LOAD DATA` file into rows of fields.
//!
//! The rules are those of MySQL's reader, with its corner cases:
//!
//! - the escape character is tested first, then the line terminator, then the field terminator;
//! - a field is enclosed if its first byte is the enclosing character, and ends where that
//!   character is followed by the end of a field, of a line or of the file; anywhere else it is an
//!   ordinary character, and doubled it represents one;
//! - `\N` alone is NULL, and so is the bare word `NULL` if fields can be enclosed;
//! - an enclosed field that does not end takes the rest of the file, including its opening
//!   character;
//! - a field terminator at the end of the file begins no further field.
//!
//! One corner case differs on purpose: if the escape character is also the enclosing one, MySQL
//! takes the closing character at the very end of a file for the beginning of an escape.
//!
//! Bytes arrive in pieces of any size. A row is returned when its end has been seen; after an
//! attempt without a complete row the next one waits until there is twice as much data, so that the
//! time is proportional to the length of a row. A row without an end in [`ROW_BYTES_MAX`] is too
//! long for any table; a file with other line terminators than the statement says looks like that.

use std::fmt;

use pelorus_error::Result;

mod rules;

use rules::{More, Rules, Span};

/// Most bytes that wait for the end of their row: several values of 64 MiB, or one that is escaped all
/// through.
pub const ROW_BYTES_MAX: usize = 256 << 20;

/// `FIELDS`, `LINES` and `IGNORE n LINES` of a `LOAD DATA`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// `FIELDS TERMINATED BY`
    pub terminated: Vec<u8>,
    /// `FIELDS [OPTIONALLY] ENCLOSED BY`: one byte or none. For reading both mean the same.
    pub enclosed: Vec<u8>,
    /// `FIELDS ESCAPED BY`: one byte or none.
    pub escaped: Vec<u8>,
    /// `LINES STARTING BY`
    pub lines_starting: Vec<u8>,
    /// `LINES TERMINATED BY`
    pub lines_terminated: Vec<u8>,
    /// `IGNORE n LINES`
    pub ignore_lines: u64,
}

impl Default for FileFormat {
    /// Tabs between fields, a line break after lines, backslashes as escapes.
    fn default() -> Self {
        Self {
            terminated: b"\t".to_vec(),
            enclosed: Vec::new(),
            escaped: b"\\".to_vec(),
            lines_starting: Vec::new(),
            lines_terminated: b"\n".to_vec(),
            ignore_lines: 0,
        }
    }
}

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its bytes, escapes resolved and enclosing characters taken off.
    pub bytes: &'a [u8],
    /// It is NULL; the bytes are those of the mark.
    pub null: bool,
    /// It was enclosed.
    pub enclosed: bool,
}

/// A row, borrowed from its [`Splitter`].
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    buffer: &'a [u8],
    scratch: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Row<'a> {
    /// How many fields it has: one at least.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether it has no fields, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The field at a position; `None` after the last one.
    pub fn get(&self, at: usize) -> Option<Field<'a>> {
        self.spans.get(at).map(|span| self.field(span))
    }

    /// The fields in order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'a>> {
        let row = *self;
        self.spans.iter().map(move |span| row.field(span))
    }

    fn field(&self, span: &Span) -> Field<'a> {
        let source = if span.unescaped { self.scratch } else { self.buffer };
        let bytes = source.get(span.start..span.end).unwrap_or_default();
        Field { bytes, null: span.null, enclosed: span.enclosed }
    }
}

/// An incremental splitter of a file.
#[derive(Clone)]
pub struct Splitter {
    rules: Rules,
    buffer: Vec<u8>,
    /// The first byte of the buffer that belongs to no row given out.
    at: usize,
    finished: bool,
    /// How much there must be from `at` on before a next attempt.
    wait_for: usize,
    /// Most bytes that wait for the end of their row.
    row_bytes_max: usize,
    ignore_lines: u64,
    spans: Vec<Span>,
    scratch: Vec<u8>,
}

impl fmt::Debug for Splitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Splitter")
            .field("pending", &(self.buffer.len() - self.at))
            .field("finished", &self.finished)
            .field("ignore_lines", &self.ignore_lines)
            .finish_non_exhaustive()
    }
}

impl Splitter {
    /// A splitter at the beginning of a file.
    ///
    /// # Errors
    /// 1083 if the enclosing or escape character is more than one byte; 1235 for files without
    /// terminators of fields or lines, whose fields have fixed widths.
    pub fn new(format: &FileFormat) -> Result<Self> {
        let rules = Rules::new(format)?;
        Ok(Self {
            rules,
            buffer: Vec::new(),
            at: 0,
            finished: false,
            wait_for: 0,
            row_bytes_max: ROW_BYTES_MAX,
            ignore_lines: format.ignore_lines,
            spans: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Adds the next bytes of the file. Complete rows should be taken first: the bytes of all
    /// others stay buffered.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Ends the file, so that the remaining bytes are the last row.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// How many bytes wait for the end of their row.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// Sets another bound than [`ROW_BYTES_MAX`].
    pub fn limit_rows(&mut self, bytes: usize) {
        self.row_bytes_max = bytes;
    }

    /// Whether a row has no end in [`ROW_BYTES_MAX`], once there is no next one.
    pub fn is_row_too_long(&self) -> bool {
        !self.finished && self.pending() >= self.row_bytes_max
    }

    /// The next complete row.
    pub fn next_row(&mut self) -> Option<Row<'_>> {
        if self.pending() < self.wait_for && !self.finished {
            return None;
        }
        match self.read_row() {
            Ok(true) => {
                self.wait_for = 0;
                Some(Row { buffer: &self.buffer, scratch: &self.scratch, spans: &self.spans })
            }
            Ok(false) => None,
            Err(More) => {
                // At the bound it has to be known whether the row is over.
                self.wait_for = self.pending().saturating_mul(2).min(self.row_bytes_max);
                None
            }
        }
    }

    /// Reads a row into `spans`; `false` at the end of the file.
    fn read_row(&mut self) -> Result<bool, More> {
        while self.ignore_lines > 0 {
            self.at = self.rules.line_end(&self.buffer, self.at, self.finished)?;
            self.ignore_lines -= 1;
        }
        self.spans.clear();
        self.scratch.clear();
        let bytes = self.buffer.as_slice();
        let prefix = self.rules.lines_starting.as_slice();
        if !prefix.is_empty() {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(found) = rest.windows(prefix.len()).position(|window| window == prefix) else {
                // What cannot be part of the prefix is not looked at again.
                self.at = match self.finished {
                    true => bytes.len(),
                    false => self.at.max((bytes.len() + 1).saturating_sub(prefix.len())),
                };
                return if self.finished { Ok(false) } else { Err(More) };
            };
            // The prefix stays until its row is complete.
            self.at += found;
        }
        let mut next = self.at + prefix.len();
        loop {
            if next >= bytes.len() {
                if !self.finished {
                    return Err(More);
                }
                self.at = bytes.len();
                return Ok(!self.spans.is_empty());
            }
            let field = self.rules.field(bytes, next, self.finished, &mut self.scratch)?;
            self.spans.push(field.span);
            next = field.next;
            if field.last {
                self.at = next;
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests;
