//! `EXPLAIN`.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::Statement;
use pelorus_sql::statement::{Explain, ExplainTarget, TableName};

use super::linked_tables;
use crate::api::{Outcome, ResultSet, RowFormat};
use crate::session::context::TransactionContext;
use crate::session::statement_snapshot::View;
use crate::session::{mirror_routing, primary_statement, query_routing, stream};

pub(crate) async fn run(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    sql: &str,
    explain: &Explain,
    format: RowFormat,
) -> Result<Outcome> {
    let (text, statement) = match &explain.target {
        ExplainTarget::Connection(_) => {
            return Err(Error::unsupported("EXPLAIN FOR CONNECTION"));
        }
        ExplainTarget::Statement(text, statement) => (text, statement),
    };
    match statement.as_ref() {
        Statement::Query(facts) if !explain.analyze => {
            if !matches!(explain.format.as_deref(), None | Some("TRADITIONAL" | "TREE")) {
                return Err(Error::unsupported("EXPLAIN FORMAT = JSON"));
            }
            // Where the session's own connection answers, the server knows how.
            let tables = &facts.tables;
            let link = query_routing::link_of_own_connection(cx.reads(), sql, tables, false);
            match link.await? {
                Some(link) => primary_statement::run(cx, &link, sql, format, true).await,
                None => explain_here(cx, view, text, tables).await,
            }
        }
        Statement::Query(_) => Err(Error::unsupported("EXPLAIN ANALYZE")),
        Statement::Write(write) => {
            let tables = write.tables.clone();
            linked_tables::relay(cx, sql, &tables, "EXPLAIN", format).await
        }
        _ => Err(Error::unsupported("EXPLAIN of this statement")),
    }
}

/// The plan of a query that runs here, over mirrors where they answer it.
async fn explain_here(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    text: &str,
    tables: &[TableName],
) -> Result<Outcome> {
    if !tables.is_empty() {
        cx.routing().refresh_links(tables).await;
    }
    let mirrored = mirror_routing::mirrored(cx, tables).await;
    let cx = cx.reads();
    let context = cx.client_query_context(view);
    let result = match mirrored {
        None => {
            let result = pelorus_query::explain(&context, text).await?;
            if let Some(why) = mirror_routing::why_unread(cx, tables) {
                let why = format!("no mirror is read: {why}");
                cx.diagnostics().note(Code::NotSupportedYet.errno(), why);
            }
            result
        }
        Some(mirrored) => {
            let over_mirrors = cx.query_context_over(&cx.view(), Some(Arc::new(mirrored)));
            match pelorus_query::explain(&over_mirrors, text).await {
                Ok(result) => result,
                Err(error) => {
                    let why = format!("no mirror is read: {}", error.message());
                    let result = pelorus_query::explain(&context, text).await?;
                    cx.diagnostics().note(error.errno(), why);
                    result
                }
            }
        }
    };
    let rows = stream::blocks(result.rows, context.eval.clone(), cx.diagnostics().clone());
    Ok(Outcome::Rows(ResultSet { columns: result.columns, rows }))
}
