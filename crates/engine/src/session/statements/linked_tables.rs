//! Statements about tables of linked servers, which their primary runs.

use pelorus_error::{Error, Result};
use pelorus_sql::TokenKind;
use pelorus_sql::lexer::Lexer;
use pelorus_sql::statement::{TableName, Write, WriteKind};

use crate::api::{Outcome, RowFormat};
use crate::session::context::TransactionContext;
use crate::session::primary_statement;

/// `ANALYZE TABLE`, `HANDLER`, `EXPLAIN` of a write: sent unchanged.
pub(crate) async fn relay(
    cx: &mut TransactionContext<'_>,
    sql: &str,
    tables: &[TableName],
    what: &str,
    format: RowFormat,
) -> Result<Outcome> {
    let place = cx.routing().place(tables).await?;
    let link = primary_statement::link_for(cx.reads(), &place, what, sql)?;
    primary_statement::run(cx, &link, sql, format, true).await
}

/// `INSERT`, `UPDATE` and the like.
pub(crate) async fn write(
    cx: &mut TransactionContext<'_>,
    sql: &str,
    write: &Write,
    format: RowFormat,
) -> Result<Outcome> {
    if write.local || write.kind == WriteKind::Load {
        return Err(Error::unsupported("LOAD DATA into tables of linked servers"));
    }
    let has_variables = || {
        let mut tokens = Lexer::new(sql, cx.settings.mode());
        tokens.any(|token| token.kind == TokenKind::UserVariable)
    };
    if write.kind == WriteKind::Call && has_variables() {
        // The procedure may change them, on a connection whose variables are not read.
        return Err(Error::unsupported("CALL with user variables as arguments"));
    }
    let place = cx.routing().place(&write.tables).await?;
    let link = primary_statement::link_for(cx.reads(), &place, "a statement that writes", sql)?;
    primary_statement::run(cx, &link, sql, format, true).await
}
