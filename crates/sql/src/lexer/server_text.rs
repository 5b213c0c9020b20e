//! Text for a linked server: written from the tokens that were analysed here, so that no server can
//! find another statement in it.
//!
//! The meaning of a text depends on its comments: MySQL and MariaDB execute different ones of `/*!
//! ... */` and `/*M! ... */`, by kind and version, and find the ends of some in different places.
//! None of those is sent: the content that [`Mode::version`] executes is in the text without the
//! comment's marks, the rest is left out. Comments that are the same to every server stay, because
//! they are parts of the names of columns and of stored programs.

use std::borrow::Cow;
use std::ops::Range;

use pelorus_error::Result;

use super::{Lexer, Token, TokenKind, syntax_error};
use crate::Mode;

/// The text without the comments that servers read in different ways. Blanks stay, and the line
/// breaks of those comments, so that servers number lines as in the text as it was written.
///
/// # Errors
/// 1064 for text that is not made of tokens.
pub fn server_text(sql: &str, mode: Mode) -> Result<Cow<'_, str>> {
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
        let is_kept = |comment: &Range<usize>| is_plain(sql, comment);
        if out.is_none() && !lexer.comments().iter().all(is_kept) {
            let mut begun = String::with_capacity(sql.len());
            begun.push_str(&sql[..from]);
            out = Some(begun);
        }
        if let Some(out) = &mut out {
            part_dashes(out);
            let length = out.len();
            let comments = lexer.comments();
            write_gap(sql, from..to, comments, out);
            if let (Some(before), Some(token), false) = (last, token, comments.is_empty())
                && out.len() == length
                && !may_touch(before.text(sql), token.text(sql))
            {
                out.push(' ');
            }
        }
        let Some(token) = token else { break };
        if let Some(out) = &mut out {
            out.push_str(token.text(sql));
        }
        last = Some(token);
    }
    Ok(out.map_or(Cow::Borrowed(sql), Cow::Owned))
}

/// Puts a blank between the minus signs that `out` ends with: `--` and a blank would begin a
/// comment.
fn part_dashes(out: &mut String) {
    let dashes = out.len() - out.trim_end_matches('-').len();
    if dashes >= 2 {
        out.truncate(out.len() - dashes);
        out.push_str(&"- ".repeat(dashes - 1));
        out.push('-');
    }
}

/// Writes the text between two tokens: its blanks, the comments that stay, and the line breaks of
/// the others.
fn write_gap(sql: &str, gap: Range<usize>, comments: &[Range<usize>], out: &mut String) {
    let mut from = gap.start;
    for comment in comments {
        out.push_str(&sql[from..comment.start]);
        let text = &sql[comment.clone()];
        if is_plain(sql, comment) {
            out.push_str(text);
        } else {
            out.extend(text.chars().filter(|&char| char == '\n'));
        }
        from = comment.end;
    }
    out.push_str(&sql[from..gap.end]);
}

/// Whether a comment is one, and ends where it does, to every server.
fn is_plain(sql: &str, comment: &Range<usize>) -> bool {
    let text = &sql[comment.clone()];
    if text.contains('\0') {
        return false;
    }
    match text.strip_prefix("/*") {
        Some(inner) => {
            let is_special = inner.starts_with(['!', '+']) || inner.starts_with("M!");
            !is_special && text.len() >= 4 && !inner.contains("/*") && inner.ends_with("*/")
        }
        // The marks around executed text are none.
        None => text.starts_with(['#', '-']) && sql[comment.end..].starts_with('\n'),
    }
}

/// Whether two tokens stay two without a blank between them.
fn may_touch(before: &str, after: &str) -> bool {
    const SYMBOLS: [&str; 12] = ["+", "-", "*", "/", "%", "=", "<", ">", ",", ";", "(", ")"];
    let ends_operand = before.bytes().last().is_some_and(|byte| {
        super::is_name_byte(byte) || matches!(byte, b'\'' | b'"' | b'`' | b')')
    });
    if matches!(after, ")" | "," | ";") {
        return true;
    }
    if SYMBOLS.contains(&after) {
        // `f (` is no call where `f(` is one; `1e` and `-5` would be one number.
        let is_number = before.ends_with(['e', 'E']);
        return (ends_operand && !is_number || matches!(before, "(" | ",")) && after != "(";
    }
    SYMBOLS.contains(&before) && after.bytes().next().is_some_and(super::is_name_byte)
}
