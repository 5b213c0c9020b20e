//! Text on its way to a server: written from the tokens that were looked at here, so that no server
//! can find another statement in it.
//!
//! What a text is depends on its comments: MySQL and MariaDB execute different ones of `/*! ... */`
//! and `/*M! ... */`, by kind and version, and find the ends of some in different places. So none
//! travels. What [`Mode::version`] says is executed stands there as plain text; the rest is left out.

use std::borrow::Cow;
use std::ops::Range;

use pelorus_error::Result;

use super::{Lexer, Token, TokenKind, syntax_error};
use crate::Mode;

/// The text without comments; optimizer hints stay. Blanks stay too, and the line breaks of
/// comments, so that servers name columns and lines as in the text as it was written. In the
/// definition of a stored program the comments stay that are the same to every server: people read
/// it later.
///
/// # Errors
/// 1064 for text that is not made of tokens.
pub fn server_text(sql: &str, mode: Mode) -> Result<Cow<'_, str>> {
    let mut program = Program::default();
    let mut out: Option<String> = None;
    let mut lexer = Lexer::new(sql, mode);
    let mut last: Option<Token> = None;
    loop {
        let token = lexer.next();
        if let Some(token) = token
            && token.kind == TokenKind::Invalid
        {
            return Err(syntax_error(sql, token.start));
        }
        let from = last.map_or(0, |token| token.end);
        let to = token.map_or(sql.len(), |token| token.start);
        if out.is_none() && !lexer.comments().is_empty() {
            let mut begun = String::with_capacity(sql.len());
            begun.push_str(&sql[..from]);
            out = Some(begun);
        }
        if let Some(out) = &mut out {
            // `--` and a blank would be a comment.
            if out.ends_with("--") {
                out.pop();
                out.push_str(" -");
            }
            let length = out.len();
            let comments = lexer.comments();
            write_gap(sql, from..to, comments, program.is_begun, out);
            if let (Some(before), Some(token), false) = (last, token, comments.is_empty())
                && out.len() == length
                && !may_touch(before.text(sql), token.text(sql))
            {
                out.push(' ');
            }
        }
        let Some(token) = token else { break };
        program.see(token, sql);
        if let Some(out) = &mut out {
            out.push_str(token.text(sql));
        }
        last = Some(token);
    }
    Ok(out.map_or(Cow::Borrowed(sql), Cow::Owned))
}

/// Tells whether a text defines a stored program.
#[derive(Debug, Default)]
struct Program {
    seen: usize,
    defines: bool,
    /// The word has come that says what is defined.
    is_begun: bool,
}

impl Program {
    fn see(&mut self, token: Token, sql: &str) {
        // `CREATE DEFINER = a @ b PROCEDURE`
        const HEAD: usize = 20;
        const KINDS: [&str; 5] = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"];
        if self.seen == 0 {
            self.defines = token.is_word(sql, "CREATE") || token.is_word(sql, "ALTER");
        }
        self.is_begun |= self.defines
            && self.seen < HEAD
            && KINDS.iter().any(|word| token.is_word(sql, word));
        self.seen += 1;
    }
}

/// Writes what stands between two tokens: its blanks, the line breaks of its comments, and the
/// comments that are to be kept.
fn write_gap(
    sql: &str,
    gap: Range<usize>,
    comments: &[Range<usize>],
    keeps_comments: bool,
    out: &mut String,
) {
    let mut from = gap.start;
    for comment in comments {
        out.push_str(&sql[from..comment.start]);
        let text = &sql[comment.clone()];
        let is_ended = text.starts_with("/*") || sql[comment.end..].starts_with('\n');
        if keeps_comments && is_ended && is_plain(text) {
            out.push_str(text);
        } else {
            out.extend(text.chars().filter(|&char| char == '\n'));
        }
        from = comment.end;
    }
    out.push_str(&sql[from..gap.end]);
}

/// Whether a comment is one, and ends where it does, to every server.
fn is_plain(comment: &str) -> bool {
    if comment.contains('\0') {
        return false;
    }
    match comment.strip_prefix("/*") {
        Some(inner) => {
            let is_executable = inner.starts_with(['!', '+']) || inner.starts_with("M!");
            !is_executable && comment.len() >= 4 && !inner.contains("/*") && inner.ends_with("*/")
        }
        // The marks around executed text are none.
        None => comment.starts_with(['#', '-']),
    }
}

/// Whether two tokens stay two when nothing stands between them.
fn may_touch(before: &str, after: &str) -> bool {
    const SYMBOLS: [&str; 12] = ["+", "-", "*", "/", "%", "=", "<", ">", ",", ";", "(", ")"];
    let ends_operand = before
        .bytes()
        .last()
        .is_some_and(|byte| super::is_name_byte(byte) || matches!(byte, b'\'' | b'"' | b'`' | b')'));
    if SYMBOLS.contains(&after) {
        // `f (` is no call where `f(` is one; `1e` and `-5` would be one number.
        let is_number = before.ends_with(['e', 'E']);
        return (ends_operand && !is_number || matches!(before, "(" | ",")) && after != "(";
    }
    SYMBOLS.contains(&before) && after.bytes().next().is_some_and(super::is_name_byte)
}
