//! The lexer: statement text into tokens with byte positions, by MySQL's rules.
//!
//! The lexer never fails: text that MySQL could not read becomes a token of kind
//! [`TokenKind::Invalid`], and the position locates the error. Comments are dropped, except
//! optimizer hints; the inside of an executable comment (`/*! ... */`) is read like any other text.

use std::ops::Range;

use pelorus_error::{Code, Error, Result};

use crate::Mode;

mod scan;
mod server_text;
mod split;

pub use scan::Lexer;
pub(crate) use scan::{CHARSETS, is_name_byte};
pub use server_text::server_text;
pub use split::{bind, next_statement, placeholders};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An unquoted name or keyword.
    Word,
    /// A name in backticks, or in double quotes under `ANSI_QUOTES`.
    Quoted,
    /// `'...'` or `"..."`.
    Text,
    /// `N'...'`.
    National,
    /// The charset before a string: `_utf8mb4`.
    Introducer,
    /// `x'4d'` or `0x4d`.
    Hex,
    /// `b'101'` or `0b101`.
    Bits,
    /// `42`
    Integer,
    /// `4.2`
    Decimal,
    /// `4.2e1`
    Float,
    /// `?`
    Placeholder,
    /// `@x`, `@'x'`, also the host of an account: `@localhost`.
    UserVariable,
    /// `@@x`, `@@session.x`.
    SystemVariable,
    /// Operators and punctuation.
    Symbol,
    /// `$$ ... $$`, `$tag$ ... $tag$`: the text of a stored program in another language (MySQL 9).
    Program,
    /// `/*+ ... */` after the first word of a statement.
    Hint,
    /// An unfinished string or comment, or a character that begins nothing.
    Invalid,
}

/// A token: its kind and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
}

impl Token {
    /// The position of the token, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The token as written.
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        sql.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether this is the given symbol.
    pub fn is_symbol(&self, sql: &str, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text(sql) == symbol
    }

    /// Whether this is the given unquoted word, in any case.
    pub fn is_word(&self, sql: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text(sql).eq_ignore_ascii_case(word)
    }

    /// The name that a word or a quoted identifier gives; `None` for other tokens.
    pub fn name(&self, sql: &str) -> Option<String> {
        let text = self.text(sql);
        match self.kind {
            TokenKind::Word => Some(text.to_owned()),
            TokenKind::Quoted => Some(unquote_name(text)),
            _ => None,
        }
    }
}

/// Takes the quotes off a quoted name.
pub(crate) fn unquote_name(text: &str) -> String {
    let Some(quote) = text.chars().next() else { return String::new() };
    let inner = text.strip_prefix(quote).unwrap_or(text);
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    let (once, twice) = (quote.to_string(), format!("{quote}{quote}"));
    inner.replace(&twice, &once)
}

/// All tokens of a text. Reading stops after a token of kind [`TokenKind::Invalid`].
pub fn tokens(sql: &str, mode: Mode) -> Vec<Token> {
    Lexer::new(sql, mode).collect()
}

/// MySQL's error for text that is not SQL, naming the place at byte `at`.
pub fn syntax_error(sql: &str, at: usize) -> Error {
    let mut at = at.min(sql.len());
    while !sql.is_char_boundary(at) {
        at -= 1;
    }
    let (before, rest) = sql.split_at(at);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    // The message holds as much of the text as MySQL shows.
    let near: String = rest.chars().take(80).collect();
    Error::new(
        Code::Syntax,
        format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your \
             MySQL server version for the right syntax to use near '{near}' at line {line}"
        ),
    )
}

/// The text as tokens, or the error that MySQL gives for its first unreadable place.
pub fn checked_tokens(sql: &str, mode: Mode) -> Result<Vec<Token>> {
    let tokens = tokens(sql, mode);
    match tokens.last() {
        Some(last) if last.kind == TokenKind::Invalid => Err(syntax_error(sql, last.start)),
        _ => Ok(tokens),
    }
}

#[cfg(test)]
mod tests;
