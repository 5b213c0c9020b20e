//! Parses MariaDB's `SET STATEMENT max_statement_time = n FOR ...`: a statement with a time limit.

use crate::Mode;
use crate::lexer::{Lexer, Token, TokenKind};

/// The seconds that a statement says it may take, 0 for no limit, and the statement itself; `None`
/// where it says nothing, or more than that.
pub fn timed(sql: &str, mode: Mode) -> Option<(f64, &str)> {
    let mut tokens = Lexer::new(sql, mode);
    let mut next = |is_wanted: &dyn Fn(&Token) -> bool| tokens.next().filter(is_wanted);
    next(&|token| token.is_word(sql, "SET"))?;
    next(&|token| token.is_word(sql, "STATEMENT"))?;
    next(&|token| token.is_word(sql, "max_statement_time"))?;
    next(&|token| token.is_symbol(sql, "="))?;
    let value = next(&|token| matches!(token.kind, TokenKind::Integer | TokenKind::Decimal))?;
    let seconds = value.text(sql).parse::<f64>().ok().filter(|it| it.is_finite())?;
    let last = next(&|token| token.is_word(sql, "FOR"))?;
    Some((seconds, sql.get(last.span().end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_all_that_is_read() {
        let read = |sql| timed(sql, Mode::default());
        assert_eq!(
            read("SET STATEMENT max_statement_time=2 FOR SELECT 1"),
            Some((2.0, " SELECT 1"))
        );
        assert_eq!(
            read("/* a */ set statement Max_Statement_Time = 0.25 for/**/insert INTO t"),
            Some((0.25, "/**/insert INTO t"))
        );
        for other in [
            "SET STATEMENT sort_buffer_size=1 FOR SELECT 1",
            "SET STATEMENT max_statement_time=1, sort_buffer_size=1 FOR SELECT 1",
            "SET STATEMENT max_statement_time='1' FOR SELECT 1",
            "SET STATEMENT max_statement_time=1",
            "SET statement = 1",
            "SELECT 1",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
