//! Queries.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_sql::statement::QueryFacts;

use super::found_rows;
use crate::api::{Outcome, RowFormat};
use crate::session::context::TransactionContext;
use crate::session::statement_snapshot::View;
use crate::session::{
    native_statement, primary_statement, query_execution, query_routing, user_locks,
};

/// Runs a query.
pub(crate) async fn run(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    sql: &str,
    facts: &QueryFacts,
    format: RowFormat,
) -> Result<Outcome> {
    if facts.into_file {
        return Err(Error::unsupported("SELECT ... INTO OUTFILE"));
    }
    if !facts.into_variables.is_empty() {
        return Err(Error::unsupported("SELECT ... INTO @variable"));
    }
    if facts.assigns {
        return Err(Error::unsupported("assignment to user variables with := in queries"));
    }
    if facts.calc_found_rows {
        return found_rows::run_query(cx, view, sql, facts, format).await;
    }
    let located = user_locks::with_results(cx, view, sql).await?;
    let sql = located.as_deref().unwrap_or(sql);
    if cx.routing().names_native(&facts.tables) {
        let locks = facts.locking && !cx.reads().transaction_is_read_only();
        native_statement::join(cx, &view.native.pin, locks)?;
        if facts.locking {
            query_execution::lock_rows(cx, view, sql).await?;
        }
    }
    if let Some(link) =
        query_routing::link_of_own_connection(cx.reads(), sql, &facts.tables, facts.locking).await?
    {
        let limit = cx.settings.select_limit();
        return primary_statement::run_query(cx, &link, sql, format, limit).await;
    }
    if !facts.tables.is_empty() {
        cx.routing().refresh_links(&facts.tables).await;
        cx.routing().check_ambiguous(&facts.tables)?;
    }
    let limit = cx.settings.select_limit();
    if let Some(rows) = query_execution::run_over_mirrors(cx, sql, facts, limit, format).await {
        return Ok(Outcome::Rows(rows));
    }
    query_execution::run(cx.reads(), view, sql, format).await
}
