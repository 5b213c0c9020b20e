//! `EXPLAIN`.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::Statement;
use pelorus_sql::statement::{Explain, ExplainTarget};

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
            if let Some(link) =
                query_routing::own_link(cx.reads(), sql, &facts.tables, false).await?
            {
                return primary_statement::run(cx, &link, sql, format, true).await;
            }
            if !facts.tables.is_empty() {
                cx.routing().refresh_links(&facts.tables).await;
            }
            let mirrored = mirror_routing::mirrored(cx, &facts.tables).await;
            let context = cx.reads().context_of_query(view);
            let result = match mirrored {
                None => {
                    let result = pelorus_query::explain(&context, text).await?;
                    if let Some(why) = mirror_routing::why_unread(cx.reads(), &facts.tables) {
                        let why = format!("no mirror is read: {why}");
                        cx.diagnostics().note(Code::NotSupportedYet.errno(), why);
                    }
                    result
                }
                Some(mirrored) => {
                    let mirrored =
                        cx.reads().context_over(&cx.reads().view(), Some(Arc::new(mirrored)));
                    match pelorus_query::explain(&mirrored, text).await {
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
            let diagnostics = cx.diagnostics().clone();
            let rows = stream::blocks(result.rows, context.eval.clone(), diagnostics);
            Ok(Outcome::Rows(ResultSet { columns: result.columns, rows }))
        }
        Statement::Query(_) => Err(Error::unsupported("EXPLAIN ANALYZE")),
        Statement::Write(write) => {
            let tables = write.tables.clone();
            linked_tables::relay(cx, sql, &tables, "EXPLAIN", format).await
        }
        _ => Err(Error::unsupported("EXPLAIN of this statement")),
    }
}
