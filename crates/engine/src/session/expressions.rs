//! The expressions of `SET`, `DO` and similar statements.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_result::scalar::{Typed, value_at};

use super::context::TransactionContext;
use super::statement_snapshot::View;
use super::{native_statement, primary_statement, query_routing, simple_expression, user_locks};
use crate::api::{Outcome, ResultSet, RowFormat};

/// The value of one expression.
///
/// # Errors
/// Errors of the expression; more than one column (1241).
pub(crate) async fn evaluate(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    expression: &str,
) -> Result<Typed> {
    if let Some(value) = simple_expression::value_of(cx.settings, view, expression)? {
        return Ok(value);
    }
    let set = run(cx, view, expression).await?;
    let batches = pelorus_result::collect::batches(&set.columns, set.rows).await?;
    let [column] = set.columns.as_slice() else {
        return Err(Error::new(Code::OperandColumns, "Operand should contain 1 column(s)"));
    };
    let first = batches.iter().find(|batch| batch.num_rows() > 0);
    let value = match first {
        Some(batch) => value_at(batch.column(0), &column.ty, 0)?,
        None => pelorus_functions::Value::Null,
    };
    Ok((value, column.ty))
}

/// Runs the expressions of `SET`, `DO` and similar statements, on the server on which a query
/// with them would run.
///
/// # Errors
/// Errors of the expressions.
pub(crate) async fn run(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    expressions: &str,
) -> Result<ResultSet> {
    let mut sql = format!("SELECT {expressions}");
    if let Some(located) = user_locks::with_results(cx, view, &sql).await? {
        sql = located;
    }
    let tables = pelorus_sql::statement::references(&sql, cx.settings.mode()).tables;
    if cx.routing().names_native(&tables) {
        native_statement::join(cx, &view.native.pin, false)?;
    }
    let Some(link) =
        query_routing::link_of_own_connection(cx.reads(), &sql, &tables, false).await?
    else {
        return cx.reads().run_query(&cx.reads().query_context(view), &sql, RowFormat::Text).await;
    };
    match primary_statement::run_query(cx, &link, &sql, RowFormat::Text, None).await? {
        Outcome::Rows(set) => Ok(set),
        Outcome::Done(_) | Outcome::File(_) => Err(Error::internal("expressions without rows")),
    }
}
