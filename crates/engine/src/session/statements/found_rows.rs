//! `SELECT SQL_CALC_FOUND_ROWS ... LIMIT`: the client gets the rows of the limit, and all rows are
//! counted for `FOUND_ROWS()`.
//!
//! A query of one linked server runs there unchanged, and `FOUND_ROWS()` is read on the same
//! connection. Any other query runs here without its limit, which is applied to the result.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::QueryFacts;
use pelorus_sql::{Mode, Token, TokenKind};

use crate::api::{Outcome, ResultSet, RowFormat};
use crate::session::context::{ReadContext, TransactionContext};
use crate::session::statement_snapshot::View;
use crate::session::{
    native_statement, primary_connection, primary_statement, query_execution, query_routing, stream,
};

/// The warning of MySQL for the modifier.
const DEPRECATED: &str = "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. \
                          Consider using two separate queries instead.";

/// A query without the modifier and its outermost LIMIT.
#[derive(Debug, PartialEq, Eq)]
struct Unlimited {
    sql: String,
    offset: u64,
    count: Option<u64>,
}

/// Runs a query that says `SQL_CALC_FOUND_ROWS`.
pub(crate) async fn run_query(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    sql: &str,
    facts: &QueryFacts,
    format: RowFormat,
) -> Result<Outcome> {
    let query = unlimited(sql, cx.settings.mode())?;
    if cx.routing().names_native(&facts.tables) {
        native_statement::join(cx, &view.native.pin, false)?;
        if facts.locking {
            return Err(Error::unsupported("SQL_CALC_FOUND_ROWS with a locking clause"));
        }
    }
    let mut on_server =
        query_routing::link_of_own_connection(cx.reads(), sql, &facts.tables, facts.locking)
            .await?;
    if on_server.is_none() {
        cx.engine.links().refresh().await;
        if let Some(rows) =
            query_execution::run_over_mirrors(cx, &query.sql, facts, None, format).await
        {
            return Ok(limited(cx.reads(), rows, &query));
        }
        if !facts.tables.is_empty() {
            let place = cx.routing().place(&facts.tables).await?;
            on_server = place.only_link("SQL_CALC_FOUND_ROWS").ok().flatten();
        }
    }
    if let Some(link) = on_server {
        let limit = cx.settings.select_limit();
        let outcome = primary_statement::run_query(cx, &link, sql, format, limit).await?;
        cx.connections.set_found_rows_on(Some(link.name().to_owned()));
        return Ok(outcome);
    }
    match query_execution::run_at_most(cx.reads(), view, &query.sql, None, format).await? {
        Outcome::Rows(rows) => {
            cx.diagnostics().warn(Code::DeprecatedSyntax.errno(), DEPRECATED);
            Ok(limited(cx.reads(), rows, &query))
        }
        other => Ok(other),
    }
}

fn limited(cx: ReadContext<'_>, rows: ResultSet, query: &Unlimited) -> Outcome {
    let count = query.count.or(cx.settings.select_limit()).unwrap_or(u64::MAX);
    let diagnostics = cx.diagnostics().clone();
    Outcome::Rows(stream::limited(rows, (query.offset, count), diagnostics))
}

/// Asks the connection that ran the latest `SQL_CALC_FOUND_ROWS` how many rows there were,
/// before a statement that may show it.
///
/// # Errors
/// A server that went away.
pub(crate) async fn fetch(cx: &mut TransactionContext<'_>) -> Result<()> {
    let Some(name) = cx.connections.found_rows_on().map(str::to_owned) else { return Ok(()) };
    let rows = primary_connection::query_number(cx, &name, "SELECT FOUND_ROWS()").await;
    // Only now: a kill may have come before the answer.
    cx.connections.set_found_rows_on(None);
    let rows = rows?;
    cx.diagnostics().set_found_rows(rows.unwrap_or(0));
    Ok(())
}

/// Takes the modifier and the outermost LIMIT out of a query.
///
/// # Errors
/// A LIMIT that is not written in numbers (1064).
fn unlimited(sql: &str, mode: Mode) -> Result<Unlimited> {
    let tokens = pelorus_sql::tokens(sql, mode);
    let modifier = tokens.iter().find(|token| token.is_word(sql, "SQL_CALC_FOUND_ROWS"));
    let mut cuts: Vec<std::ops::Range<usize>> = modifier.map(Token::span).into_iter().collect();
    let (mut offset, mut count) = (0, None);
    if let Some(at) = outermost_limit(sql, &tokens) {
        let number = |at: usize| -> Result<u64> {
            let token = tokens.get(at).filter(|token| token.kind == TokenKind::Integer);
            let text = token.and_then(|token| token.text(sql).parse().ok());
            text.ok_or_else(|| {
                let place = tokens.get(at).map_or(sql.len(), |token| token.span().start);
                pelorus_sql::lexer::syntax_error(sql, place)
            })
        };
        let first = number(at + 1)?;
        let mut last = at + 1;
        count = Some(first);
        if let Some(next) = tokens.get(at + 2) {
            if next.is_symbol(sql, ",") {
                (offset, count, last) = (first, Some(number(at + 3)?), at + 3);
            } else if next.is_word(sql, "OFFSET") {
                (offset, last) = (number(at + 3)?, at + 3);
            }
        }
        if let (Some(from), Some(to)) = (tokens.get(at), tokens.get(last)) {
            cuts.push(from.span().start..to.span().end);
        }
    }
    let mut out = String::with_capacity(sql.len());
    let mut from = 0;
    for cut in cuts {
        out.push_str(sql.get(from..cut.start).unwrap_or_default());
        from = cut.end;
    }
    out.push_str(sql.get(from..).unwrap_or_default());
    Ok(Unlimited { sql: out, offset, count })
}

/// The index of the LIMIT that no parentheses enclose.
fn outermost_limit(sql: &str, tokens: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut found = None;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_symbol(sql, "(") {
            depth += 1;
        } else if token.is_symbol(sql, ")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is_word(sql, "LIMIT") {
            found = Some(at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modifier_and_the_outermost_limit_are_taken_out() {
        for (sql, plain, offset, count) in [
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 5", "SELECT  a FROM t ", 0, Some(5)),
            ("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 2, 5", "SELECT  a FROM t ", 2, Some(5)),
            (
                "SELECT SQL_CALC_FOUND_ROWS a FROM (SELECT 1 a LIMIT 1) t LIMIT 5 OFFSET 2;",
                "SELECT  a FROM (SELECT 1 a LIMIT 1) t ;",
                2,
                Some(5),
            ),
            ("SELECT SQL_CALC_FOUND_ROWS 'LIMIT 3'", "SELECT  'LIMIT 3'", 0, None),
        ] {
            let expected = Unlimited { sql: plain.to_owned(), offset, count };
            assert_eq!(unlimited(sql, Mode::default()).unwrap(), expected, "{sql}");
        }
        let wrong = "SELECT SQL_CALC_FOUND_ROWS 1 LIMIT a";
        assert_eq!(unlimited(wrong, Mode::default()).unwrap_err().errno(), 1064);
    }
}
