//! The tables and functions that a text refers to, found from its tokens.

use std::collections::HashSet;

use super::name::TableName;
use crate::Mode;
use crate::lexer::{self, Token, TokenKind};
use crate::parse::words;

/// The objects that a text refers to, read from tokens only.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct References {
    /// Names in the places of tables: after `FROM`, `JOIN`, `INTO`, `UPDATE`, `TABLE`, without
    /// names of `WITH`.
    pub tables: Vec<TableName>,
    /// The first part of every `a.b`: a database or the alias of a table.
    pub qualifiers: Vec<String>,
}

/// Finds the objects that a text refers to, for texts that cannot be parsed.
pub fn references(sql: &str, mode: Mode) -> References {
    let tokens = lexer::tokens(sql, mode);
    let mut qualifiers = Vec::new();
    let mut seen = HashSet::new();
    for window in tokens.windows(3) {
        let [first, dot, _] = window else { continue };
        if dot.is_symbol(sql, ".")
            && let Some(name) = first.name(sql)
            && seen.insert(name.clone())
        {
            qualifiers.push(name);
        }
    }
    References { tables: tables_of(sql, &tokens), qualifiers }
}

/// Words after which a name in front of a parenthesis is that of a table, with its columns.
const BEFORE_COLUMNS: [&str; 11] = [
    "INTO",
    "TABLE",
    "INSERT",
    "REPLACE",
    "IGNORE",
    "DELAYED",
    "LOW_PRIORITY",
    "HIGH_PRIORITY",
    "WITH",
    "RECURSIVE",
    "AS",
];

/// Words in front of parentheses that not every server reserves.
const BEFORE_PARENTHESES: [&str; 11] = [
    "PARTITION",
    "VALUE",
    "OF",
    "OVER",
    "ROW",
    "ANY",
    "SOME",
    "COLUMNS",
    "DATETIME",
    "EXCEPT",
    "INTERSECT",
];

/// The functions that a text seems to call, with the databases that it names: those of servers as
/// well as stored ones.
pub fn calls(sql: &str, mode: Mode) -> Vec<TableName> {
    let tokens = lexer::tokens(sql, mode);
    let is_one_of = |token: &Token, words: &[&str]| words.iter().any(|it| token.is_word(sql, it));
    let mut out = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let opens = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, "("));
        let Some(name) = token.name(sql).filter(|_| opens) else { continue };
        let database = match tokens.get(..at).unwrap_or_default() {
            [.., database, dot] if dot.is_symbol(sql, ".") => database.name(sql),
            _ => None,
        };
        let is_word = !is_table_word(sql, *token) || is_one_of(token, &BEFORE_PARENTHESES);
        if database.is_none() && is_word {
            continue;
        }
        let first = if database.is_some() { at.saturating_sub(2) } else { at };
        let before = first.checked_sub(1).and_then(|at| tokens.get(at));
        if !before.is_some_and(|it| is_one_of(it, &BEFORE_COLUMNS)) {
            out.push(TableName { database, name });
        }
    }
    out
}

/// The state at one level of parentheses.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Within the list of tables after `FROM` or `UPDATE`.
    in_list: bool,
    /// The next name is that of a table.
    expects: bool,
    /// Within a function that has a `FROM` of its own.
    own_from: bool,
}

/// Functions in whose parentheses `FROM` does not name tables.
const OWN_FROM: [&str; 5] = ["EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "MID"];

/// Words that end a list of tables.
const ENDS: [&str; 14] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SET",
    "VALUES",
    "VALUE",
    "WINDOW",
    "SELECT",
    "RETURNING",
];

/// Words that are allowed between a keyword and its table.
const BETWEEN: [&str; 11] = [
    "LOW_PRIORITY",
    "HIGH_PRIORITY",
    "DELAYED",
    "QUICK",
    "IGNORE",
    "INTO",
    "TABLE",
    "IF",
    "NOT",
    "EXISTS",
    "LATERAL",
];

/// The tables that a text seems to name, each once, in order.
pub(super) fn tables_of(sql: &str, tokens: &[Token]) -> Vec<TableName> {
    let hidden = with_names(sql, tokens);
    let mut out: Vec<TableName> = Vec::new();
    let mut seen = HashSet::new();
    let mut levels = vec![Level::default()];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let upper = match token.kind {
            TokenKind::Word | TokenKind::Symbol => token.text(sql).to_ascii_uppercase(),
            _ => String::new(),
        };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let mut level = levels.pop().unwrap_or_default();
        if level.expects && is_table_word(sql, *token) && !is_between(sql, tokens, at) {
            let (table, length) = table_at(sql, tokens, at);
            at += length;
            level.expects = false;
            levels.push(level);
            let call = tokens.get(at).is_some_and(|next| next.is_symbol(sql, "("))
                && table.name.eq_ignore_ascii_case("JSON_TABLE");
            if !call && !is_hidden(&table, &hidden) && seen.insert(table.clone()) {
                out.push(table);
            }
            continue;
        }
        let inner = step(sql, tokens, at, &upper, before, &mut level);
        // A closing parenthesis ends its level.
        if upper != ")" || levels.is_empty() {
            levels.push(level);
        }
        levels.extend(inner);
        at += 1;
    }
    out
}

/// Follows one token; gives the level that an opening parenthesis begins.
fn step(
    sql: &str,
    tokens: &[Token],
    at: usize,
    upper: &str,
    before: Option<&Token>,
    level: &mut Level,
) -> Option<Level> {
    let behind = |words: &[&str]| {
        before.is_some_and(|token| words.iter().any(|word| token.is_word(sql, word)))
    };
    match upper {
        "(" => {
            let expects = std::mem::take(&mut level.expects);
            return Some(Level { in_list: expects, expects, own_from: behind(&OWN_FROM) });
        }
        "," if level.in_list => level.expects = true,
        "FROM" if !level.own_from => {
            level.in_list = true;
            level.expects = true;
        }
        "JOIN" => level.expects = true,
        "STRAIGHT_JOIN" if level.in_list => level.expects = true,
        "USING" if tokens.first().is_some_and(|first| first.is_word(sql, "DELETE")) => {
            level.expects = !tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, "("));
        }
        "UPDATE" if !behind(&["FOR", "KEY", "ON"]) => {
            level.in_list = true;
            level.expects = true;
        }
        "INTO" => {
            let file = ["OUTFILE", "DUMPFILE"];
            level.expects = tokens
                .get(at + 1)
                .is_some_and(|next| !file.iter().any(|word| next.is_word(sql, word)));
        }
        "INSERT" | "REPLACE" if before.is_none() || behind(&["EXPLAIN", "DESCRIBE", "DESC"]) => {
            level.expects = true;
        }
        "TABLE" if !level.expects => level.expects = true,
        _ if BETWEEN.contains(&upper) => {}
        _ if ENDS.contains(&upper) => {
            *level = Level { own_from: level.own_from, ..Level::default() }
        }
        // Anything else where a table was expected: it is none.
        _ => level.expects = false,
    }
    None
}

/// Whether a token can be the name of a table.
fn is_table_word(sql: &str, token: Token) -> bool {
    match token.kind {
        TokenKind::Quoted => true,
        TokenKind::Word => !words::is_reserved(token.text(sql)),
        _ => false,
    }
}

/// Whether a word is only allowed between a keyword and its table.
fn is_between(sql: &str, tokens: &[Token], at: usize) -> bool {
    let Some(token) = tokens.get(at) else { return false };
    let dot = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, "."));
    !dot && BETWEEN.iter().any(|word| token.is_word(sql, word))
}

/// The name at a token, and how many tokens it takes.
fn table_at(sql: &str, tokens: &[Token], at: usize) -> (TableName, usize) {
    let name = |at: usize| tokens.get(at).and_then(|token| token.name(sql));
    let first = name(at).unwrap_or_default();
    let dot = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, "."));
    match name(at + 2).filter(|_| dot) {
        Some(second) => (TableName { database: Some(first), name: second }, 3),
        None => (TableName { database: None, name: first }, 1),
    }
}

fn is_hidden(table: &TableName, hidden: &HashSet<String>) -> bool {
    table.database.is_none() && hidden.contains(&table.name.to_ascii_lowercase())
}

/// The names that `WITH` defines, in lower case: `name [(columns)] AS (`.
fn with_names(sql: &str, tokens: &[Token]) -> HashSet<String> {
    let mut out = HashSet::new();
    if !tokens.iter().any(|token| token.is_word(sql, "WITH")) {
        return out;
    }
    // The last opening parenthesis.
    let mut opened = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_symbol(sql, "(") {
            opened = at;
        }
        let opens = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, "("));
        if !token.is_word(sql, "AS") || !opens || at == 0 {
            continue;
        }
        let mut name = at - 1;
        if tokens[name].is_symbol(sql, ")") {
            name = opened.saturating_sub(1);
        }
        let begins = name.checked_sub(1).and_then(|before| tokens.get(before));
        let in_with = begins.is_some_and(|token| {
            token.is_word(sql, "WITH")
                || token.is_word(sql, "RECURSIVE")
                || token.is_symbol(sql, ",")
        });
        if in_with {
            out.extend(tokens[name].name(sql).map(|name| name.to_ascii_lowercase()));
        }
    }
    out
}
