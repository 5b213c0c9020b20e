//! Light statements: statements that take a short time whatever tables, sessions and servers there
//! are. They run on the threads that accept clients, so that they are answered when all other
//! threads compute.

use pelorus_sql::lexer::Lexer;
use pelorus_sql::{Mode, Token, TokenKind};

/// Most tokens of such a statement.
const TOKENS: usize = 64;

/// Most bytes of such a statement.
const BYTES: usize = 16 << 10;

/// The `SHOW` statements that are answered at once.
const SHOWN: [&str; 5] = ["PROCESSLIST", "STATUS", "VARIABLES", "WARNINGS", "ERRORS"];

/// Whether a text is one statement that takes a short time: `KILL`, `SET` of plain values,
/// `SELECT` of constants and system variables, `SHOW` of this server's own state.
pub(crate) fn is_light(sql: &str, mode: Mode) -> bool {
    // A long one has a comment or a string that takes a while.
    if sql.len() > BYTES {
        return false;
    }
    let mut tokens: Vec<Token> = Lexer::new(sql, mode).take(TOKENS + 1).collect();
    if tokens.last().is_some_and(|last| last.is_symbol(sql, ";")) {
        tokens.pop();
    }
    let [first, rest @ ..] = tokens.as_slice() else { return false };
    let is_short = rest.len() < TOKENS;
    if !is_short
        || !rest.iter().enumerate().all(|(at, token)| is_plain(sql, token, rest.get(at + 1)))
    {
        return false;
    }
    let has =
        |words: &[&str]| rest.iter().any(|token| words.iter().any(|word| token.is_word(sql, word)));
    if first.is_word(sql, "SELECT") {
        // Without parentheses there is no subquery, and no function that has an argument.
        !has(&["SELECT", "FROM", "INTO", "UNION", "REGEXP", "RLIKE", "TABLE", "VALUES"])
    } else if first.is_word(sql, "SHOW") {
        let scopes = ["FULL", "GLOBAL", "SESSION", "LOCAL"];
        let is_scope = |token: &&Token| scopes.iter().any(|word| token.is_word(sql, word));
        let shown = rest.iter().find(|token| !is_scope(token));
        shown.is_some_and(|token| SHOWN.iter().any(|word| token.is_word(sql, word)))
            && !has(&["WHERE"])
    } else if first.is_word(sql, "SET") {
        !has(&["PASSWORD", "SELECT"])
    } else {
        first.is_word(sql, "KILL")
    }
}

/// Whether a token is allowed in a light statement; parentheses only if they are empty.
fn is_plain(sql: &str, token: &Token, next: Option<&Token>) -> bool {
    match token.kind {
        TokenKind::Word
        | TokenKind::Quoted
        | TokenKind::Text
        | TokenKind::Integer
        | TokenKind::Decimal
        | TokenKind::Float
        | TokenKind::SystemVariable => true,
        TokenKind::Symbol => match token.text(sql) {
            "(" => next.is_some_and(|next| next.is_symbol(sql, ")")),
            ";" => false,
            _ => true,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_take_long_is_not_light() {
        for sql in [
            "SELECT 1",
            "select @@version_comment limit 1;",
            "SELECT CONNECTION_ID(), NOW() AS `now`",
            "/* a driver */ SELECT 'x' -- the end",
            "KILL 5",
            "KILL QUERY 12",
            "SHOW FULL PROCESSLIST",
            "SHOW GLOBAL STATUS LIKE 'Threads%'",
            "SHOW WARNINGS LIMIT 5",
            "SET NAMES utf8mb4",
            "SET autocommit = 0, @@session.sql_mode = 'ANSI'",
            "SET SESSION TRANSACTION READ ONLY",
        ] {
            assert!(is_light(sql, Mode::default()), "{sql}");
        }
        let many = format!("SELECT 1{}", ", 1".repeat(TOKENS));
        for sql in [
            "",
            ";",
            "SELECT * FROM t",
            "SELECT SLEEP(10)",
            "SELECT (SELECT 1)",
            "SELECT 1 UNION SELECT 2",
            "SELECT 1; SELECT 2",
            "SELECT @x",
            "SELECT 'a' REGEXP 'b'",
            "SELECT 1 INTO @x",
            "SELECT ?",
            "SELECT 'open",
            "SET @x = (SELECT COUNT(*) FROM t)",
            "SET @x = REPEAT('x', 1000000)",
            "SET PASSWORD = 'x'",
            "KILL (SELECT id FROM information_schema.processlist LIMIT 1)",
            "SHOW TABLES",
            "SHOW COLUMNS FROM status",
            "SHOW CREATE TABLE status",
            "SHOW FUNCTION STATUS",
            "SHOW STATUS WHERE Value > 1",
            "COMMIT",
            "INSERT INTO t VALUES ()",
            &many,
        ] {
            assert!(!is_light(sql, Mode::default()), "{sql}");
        }
    }
}
