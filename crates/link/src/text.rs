//! [`StatementText`]: statement text that may be sent to a server.
//!
//! Decisions about a statement (its privileges, what it changes, where its tables are) are made on
//! its text as it was read here. A server that finds another statement in the same bytes would run
//! a statement that was not checked. The servers differ in comments: which of `/*! ... */` and
//! `/*M! ... */` they execute, and where comments and hints end that contain others, quotes or NUL.
//! [`StatementText::new`] therefore accepts only text in which every server of every version finds
//! the same strings, names and comments, whatever its origin, and a connection sends nothing else.

use pelorus_error::{Error, Result};

/// The settings that decide how a server reads quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    /// The session's `sql_mode`; `None` is the server's own, which may be any.
    pub(crate) sql_mode: Option<&'a str>,
    /// `$$ ... $$` is a string.
    pub(crate) has_dollar_quotes: bool,
}

/// A statement that every server reads as it was read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatementText<'a>(&'a str);

impl<'a> StatementText<'a> {
    /// Checks a text.
    ///
    /// # Errors
    /// 1235 for text that servers may read in different ways.
    pub(crate) fn new(text: &'a str, reading: Reading<'_>) -> Result<Self> {
        let modes = reading.sql_mode.map_or(ANY, |mode| Quotes::of(mode).into());
        // They differ where there is a double quote or a backslash.
        let is_plain = !text.bytes().any(|byte| matches!(byte, b'"' | b'\\'));
        for quotes in modes.iter().take(if is_plain { 1 } else { modes.len() }) {
            let scan = Scan { bytes: text.as_bytes(), at: 0, quotes: *quotes };
            scan.check(reading.has_dollar_quotes).map_err(|what| {
                Error::unsupported(format_args!("{what} in a statement for a linked server"))
            })?;
        }
        Ok(Self(text))
    }

    /// The text itself.
    pub(crate) fn as_bytes(self) -> &'a [u8] {
        self.0.as_bytes()
    }
}

/// How quotes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quotes {
    /// `"x"` is a name.
    ansi: bool,
    /// A backslash is an ordinary character.
    no_escapes: bool,
}

/// Every way there is.
const ANY: Modes = Modes {
    all: [
        Quotes { ansi: false, no_escapes: false },
        Quotes { ansi: false, no_escapes: true },
        Quotes { ansi: true, no_escapes: false },
        Quotes { ansi: true, no_escapes: true },
    ],
    count: 4,
};

/// Some ways.
#[derive(Clone, Copy, Debug)]
struct Modes {
    all: [Quotes; 4],
    count: usize,
}

impl std::ops::Deref for Modes {
    type Target = [Quotes];

    fn deref(&self) -> &[Quotes] {
        self.all.get(..self.count).unwrap_or_default()
    }
}

impl From<Quotes> for Modes {
    fn from(quotes: Quotes) -> Self {
        Self { all: [quotes; 4], count: 1 }
    }
}

impl Quotes {
    fn of(sql_mode: &str) -> Self {
        // The combined modes mean ANSI_QUOTES too.
        const ANSI: [&str; 7] =
            ["ANSI_QUOTES", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL"];
        let has = |names: &[&str]| {
            sql_mode
                .split(',')
                .any(|word| names.iter().any(|name| word.trim().eq_ignore_ascii_case(name)))
        };
        Self { ansi: has(&ANSI), no_escapes: has(&["NO_BACKSLASH_ESCAPES"]) }
    }
}

/// Reads a text as far as strings, names and comments.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    quotes: Quotes,
}

/// The problem in a text.
type Fault = &'static str;

impl Scan<'_> {
    fn check(mut self, has_dollar_quotes: bool) -> Result<(), Fault> {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\'' | b'"' | b'`' => self.quoted(byte)?,
                0 => return Err("a NUL byte"),
                b'#' => self.line()?,
                b'-' if self.begins(b"--") && is_blank(self.bytes.get(self.at + 2)) => {
                    self.line()?;
                }
                b'/' if self.begins(b"/*") => self.comment()?,
                b'$' => self.dollar(has_dollar_quotes)?,
                byte if is_name_byte(byte) => self.name(),
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn begins(&self, text: &[u8]) -> bool {
        self.bytes.get(self.at..).unwrap_or_default().starts_with(text)
    }

    /// The next position of a text, from some bytes after the current one on.
    fn find(&self, after: usize, text: &[u8]) -> Option<usize> {
        let from = self.at + after;
        let rest = self.bytes.get(from..)?;
        rest.windows(text.len()).position(|window| window == text).map(|at| from + at)
    }

    fn quoted(&mut self, quote: u8) -> Result<(), Fault> {
        let is_name = quote == b'`' || (quote == b'"' && self.quotes.ansi);
        let escapes = !is_name && !self.quotes.no_escapes;
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += if byte == b'\\' && escapes { 2 } else { 1 };
            if byte == quote {
                // Two of them are one within; what follows is read like another string.
                return Ok(());
            }
        }
        Err("a string without an end")
    }

    /// A comment to the end of the line, which must be there.
    fn line(&mut self) -> Result<(), Fault> {
        let end = self.find(0, b"\n").ok_or("a comment without an end")?;
        if self.bytes.get(self.at..end).unwrap_or_default().contains(&0) {
            return Err("a NUL byte");
        }
        self.at = end + 1;
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let end = self.find(2, b"*/").ok_or("a comment without an end")?;
        let inner = self.bytes.get(self.at + 2..end).unwrap_or_default();
        if inner.starts_with(b"!") || inner.starts_with(b"M!") {
            return Err("an executable comment");
        }
        if inner.windows(2).any(|window| window == b"/*") || inner.ends_with(b"/") {
            return Err("a comment within another");
        }
        if inner.contains(&0) {
            return Err("a NUL byte");
        }
        if inner.starts_with(b"+") && !is_plain_hint(inner) {
            return Err("a hint with an open quote");
        }
        self.at = end + 2;
        Ok(())
    }

    /// `$tag$ ... $tag$`, or a name that begins so.
    fn dollar(&mut self, has_dollar_quotes: bool) -> Result<(), Fault> {
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        let tag = rest.iter().take_while(|&&byte| byte != b'$' && is_name_byte(byte)).count();
        if rest.get(tag) != Some(&b'$') {
            self.name();
            return Ok(());
        }
        let mark = self.bytes.get(self.at..self.at + tag + 2).unwrap_or_default();
        match self.find(tag + 2, mark) {
            Some(end) if has_dollar_quotes => {
                self.at = end + mark.len();
                Ok(())
            }
            _ => Err("dollar quotes"),
        }
    }

    fn name(&mut self) {
        while self.bytes.get(self.at).copied().is_some_and(is_name_byte) {
            self.at += 1;
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Whether `--` begins a comment in front of this byte, or of the end.
fn is_blank(byte: Option<&u8>) -> bool {
    byte.is_none_or(|&byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// Whether the quotes of a hint are closed within it: MySQL looks for its end after them.
fn is_plain_hint(inner: &[u8]) -> bool {
    let mut open = None;
    for &byte in inner {
        match (byte, open) {
            (b'\\', _) => return false,
            (b'\'' | b'"' | b'`', None) => open = Some(byte),
            (byte, Some(quote)) if byte == quote => open = None,
            _ => {}
        }
    }
    open.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str, sql_mode: Option<&str>) -> bool {
        StatementText::new(text, Reading { sql_mode, has_dollar_quotes: true }).is_ok()
    }

    #[test]
    fn only_what_every_server_reads_alike_is_taken() {
        for text in [
            "SELECT 1",
            "SELECT '/*! x */', \"# it's\", `-- ``x`",
            "SELECT 5--3, - -1",
            "SELECT /*+ SET_VAR(sort_buffer_size = '1') QB_NAME(`a`) */ 1",
            "CREATE PROCEDURE p() BEGIN /* why */ -- so\n# and\n SELECT 'it''s' ; END",
            "CREATE FUNCTION f() AS $js$ /*! ' $js$",
            "SELECT a$b, $c",
            "SELECT 'caf\u{e9}', caf\u{e9}",
        ] {
            assert!(taken(text, Some("")), "{text}");
        }
        for text in [
            "/*!90000 DELETE FROM shop.t # */ SHOW TABLES FROM shop /*\n*/",
            "SELECT 1 /*!100000 + 1 */",
            "SELECT 1 /*M! + 1 */",
            "SELECT 1 /* /* */ + 1 */",
            "SELECT 1 -- ",
            "SELECT 1 --\u{7f} x",
            "SELECT 1 # x",
            "SELECT 1 # \0 x\n",
            "SELECT 1 /* x",
            "SELECT /*+ QB_NAME(`a*/ 'b`) */ 1 INTO OUTFILE \"x\" #'",
            "SELECT /*+ QB_NAME('a\\'*/ 1",
            "SELECT 'a",
            "SELECT `a",
            "SELECT \0",
            "SELECT $$ a",
        ] {
            assert!(!taken(text, Some("")), "{text}");
        }
        let reading = Reading { sql_mode: Some(""), has_dollar_quotes: false };
        assert!(StatementText::new("SELECT $$, '$$'", reading).is_err());
    }

    #[test]
    fn the_mode_of_the_session_decides_about_quotes() {
        let text = r"SELECT '\' /*! x */ '";
        assert!(taken(text, Some("STRICT_TRANS_TABLES")));
        assert!(!taken(text, Some("NO_BACKSLASH_ESCAPES")));
        assert!(!taken(text, None));
        let text = r#"SELECT @"\" /*! x */ ""#;
        assert!(taken(text, Some("")) && !taken(text, Some("ansi_quotes")) && !taken(text, None));
        assert!(taken(r"SELECT 'a\\b', '/*! x */'", None));
    }
}
