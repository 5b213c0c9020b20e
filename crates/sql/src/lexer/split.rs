//! Operations on tokens without parsing: splitting into statements, finding placeholders, binding
//! literals.

use std::ops::Range;

use pelorus_error::{Code, Error, Result};

use super::{Lexer, Token, TokenKind};
use crate::Mode;

/// Splits off the first statement: its text without the `;`, and the text after the `;`.
///
/// Semicolons inside the body of a stored program belong to the statement.
pub fn next_statement(sql: &str, mode: Mode) -> (&str, &str) {
    // Where there is no `;` at all, as in an INSERT of megabytes, there is nothing to look for.
    if !sql.as_bytes().contains(&b';') {
        return (sql, "");
    }
    let mut body = Body::default();
    for token in Lexer::new(sql, mode) {
        if token.is_symbol(sql, ";") && !body.is_open() {
            return (&sql[..token.start], &sql[token.end..]);
        }
        body.see(token, sql);
    }
    (sql, "")
}

/// Follows `BEGIN ... END` and similar through the definition of a stored program.
#[derive(Debug, Default)]
struct Body {
    seen: usize,
    creates: bool,
    program: bool,
    open: usize,
    last: String,
}

/// Words after which a statement begins within a program.
const STARTERS: [&str; 8] = ["BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ROW", "ATOMIC"];

impl Body {
    fn is_open(&self) -> bool {
        self.open > 0
    }

    fn see(&mut self, token: Token, sql: &str) {
        let text = match token.kind {
            TokenKind::Word | TokenKind::Symbol => token.text(sql).to_ascii_uppercase(),
            _ => String::new(),
        };
        match text.as_str() {
            "CREATE" | "ALTER" if self.seen == 0 => self.creates = true,
            // MariaDB's compound statement outside of a program.
            "NOT" if self.seen == 1 && self.last == "BEGIN" => {
                self.program = true;
                self.open = 1;
            }
            "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT" if self.creates && self.seen < 20 => {
                self.program = true;
            }
            _ => {}
        }
        if self.program {
            self.follow(&text);
        }
        self.seen += 1;
        self.last = text;
    }

    fn follow(&mut self, text: &str) {
        let at_start =
            self.last == ";" || self.last == ":" || STARTERS.contains(&self.last.as_str());
        match text {
            "IF" | "CASE" | "LOOP" | "WHILE" | "REPEAT" if self.last == "END" => {}
            "BEGIN" | "CASE" => self.open += 1,
            "IF" | "LOOP" | "WHILE" | "REPEAT" if at_start || self.last == ")" => self.open += 1,
            "END" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
    }
}

/// The positions of the `?` of a statement, in order.
pub fn placeholders(sql: &str, mode: Mode) -> Vec<Range<usize>> {
    Lexer::new(sql, mode)
        .filter(|token| token.kind == TokenKind::Placeholder)
        .map(|token| token.span())
        .collect()
}

/// Words that end a list of terms, with the words after them.
const LIST_ENDS: [&str; 22] = [
    "SELECT",
    "HAVING",
    "WINDOW",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "ORDER",
    "GROUP",
    "WITH",
    "ROWS",
    "RANGE",
    "GROUPS",
    "SEPARATOR",
    "FOR",
    "LOCK",
    "INTO",
    "ON",
    "PROCEDURE",
    "RETURNING",
];

/// The open parentheses and lists at a position of [`whole_terms`].
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// A comma begins a term.
    list: bool,
    /// A term has begun, with nothing in it yet but parentheses and signs.
    fresh: bool,
    /// How many parentheses.
    open: usize,
}

/// Which `?`, in order, are a whole term of ORDER BY, GROUP BY or PARTITION BY.
fn whole_terms(sql: &str, tokens: &[Token]) -> Vec<bool> {
    let mut found = Vec::new();
    let mut levels = Vec::new();
    let mut level = Level::default();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Placeholder => {
                found.push(level.fresh && ends_term(sql, &tokens[at + 1..], level.open));
                level.fresh = false;
            }
            TokenKind::Symbol => match token.text(sql) {
                "(" => {
                    levels.push(Level { fresh: false, ..level });
                    let open = if level.fresh { level.open + 1 } else { 0 };
                    level = Level { list: false, open, ..level };
                }
                ")" => level = levels.pop().unwrap_or_default(),
                "," => level.fresh = level.list,
                "+" | "-" => {}
                _ => level.fresh = false,
            },
            TokenKind::Word if token.is_word(sql, "BY") && at > 0 => {
                let before = tokens[at - 1];
                let list = is_any_word(before, sql, &["ORDER", "GROUP", "PARTITION"]);
                level = Level { list, fresh: list, open: 0 };
            }
            TokenKind::Word => {
                level.list &= !is_any_word(*token, sql, &LIST_ENDS);
                level.fresh = false;
            }
            _ => level.fresh = false,
        }
    }
    found
}

/// Whether a term in some parentheses ends in front of these tokens.
fn ends_term(sql: &str, rest: &[Token], open: usize) -> bool {
    let Some((closing, rest)) = rest.split_at_checked(open) else { return false };
    closing.iter().all(|token| token.is_symbol(sql, ")"))
        && rest.first().is_none_or(|next| match next.kind {
            TokenKind::Symbol => matches!(next.text(sql), "," | ")" | ";"),
            _ => is_any_word(*next, sql, &["ASC", "DESC"]) || is_any_word(*next, sql, &LIST_ENDS),
        })
}

fn is_any_word(token: Token, sql: &str, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(sql, word))
}

/// Replaces the `?` by literals, in order.
///
/// A parameter that is a whole term of ORDER BY or GROUP BY is a constant to MySQL, never the
/// number of a column as a literal would be: NULL replaces it, which orders and groups nothing.
///
/// # Errors
/// [`Code::WrongArguments`] when there are not as many literals as placeholders.
pub fn bind(sql: &str, mode: Mode, literals: &[impl AsRef<str>]) -> Result<String> {
    let tokens = super::tokens(sql, mode);
    let terms = whole_terms(sql, &tokens);
    if terms.len() != literals.len() {
        return Err(Error::new(Code::WrongArguments, "Incorrect arguments to EXECUTE"));
    }
    let extra: usize = literals.iter().map(|literal| literal.as_ref().len()).sum();
    let mut out = String::with_capacity(sql.len() + extra + 2 * terms.len());
    let mut from = 0;
    let places = tokens.iter().filter(|token| token.kind == TokenKind::Placeholder);
    for ((place, literal), is_term) in places.zip(literals).zip(terms) {
        out.push_str(&sql[from..place.start]);
        let literal = if is_term { "NULL" } else { literal.as_ref() };
        // `-?` with a negative number must not become a comment, `a?` not a longer word.
        let space = |byte: Option<&u8>| byte.is_some_and(|byte| !byte.is_ascii_whitespace());
        if space(out.as_bytes().last()) && !out.ends_with('(') && !out.ends_with(',') {
            out.push(' ');
        }
        out.push_str(literal);
        from = place.end;
        if sql
            .as_bytes()
            .get(from)
            .is_some_and(|&byte| super::scan::is_name_byte(byte) || byte == b'\'')
        {
            out.push(' ');
        }
    }
    out.push_str(&sql[from..]);
    Ok(out)
}
