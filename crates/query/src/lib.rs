//! Plans and executes queries, on linked servers, here, or both.
//!
//! Entry points: `run`, [`describe`], `explain`, [`plans`]. This crate uses DataFusion; it knows no
//! protocol.
//!
//! | module | owns |
//! | --- | --- |
//! | [`context`] | the session's state that a query needs |
//! | `binder` | syntax tree to logical plan, with MySQL's names and types |
//! | `placement` | the servers that store the tables of a query |
//! | `federation` | the parts that linked servers execute: whole statements or fragments |
//! | `journal` | these parts, and the scans of native tables, for EXPLAIN |
//! | `optimizer` | our own optimizer rules |
//! | `operators` | our own physical operators |
//! | `datafusion_adapter` | functions, aggregates, plan nodes and memory as DataFusion sees them |
//! | `run`, `result` | passthrough or plan, the execution, and its result |
//! | `statement_task` | the task of a statement, and its cancellation |
//! | `explain` | the plan as rows |

mod binder;
pub mod context;
mod datafusion_adapter;
mod explain;
mod federation;
mod journal;
mod operators;
mod optimizer;
mod placement;
mod result;
mod run;
mod statement_task;

pub use crate::datafusion_adapter::memory::{LEAST as LEAST_MEMORY, Scratch};
pub use context::{
    AsOf, Catalog, Database, Flavour, InfoSchema, NativeDatabase, NativeTable, OwnWrites,
    PartitionPruner, PlanOptions, QueryContext, TablePart, Variables,
};
pub use explain::{PlanPart, PlanTexts};
pub use federation::passthrough_text::text_for_server;
pub use result::{Block, BlockStream, QueryResult, RowForm};

use pelorus_error::Result;
use pelorus_sql::{Mode, ast_analysis, parse_query};
use pelorus_types::Column;

use federation::block;
use statement_task::{apart, awaited};

/// Runs one query (SELECT, WITH, VALUES, TABLE) and returns its rows as they are made.
///
/// # Errors
/// MySQL's errors, or 1235 for unsupported queries.
pub async fn run(context: &QueryContext, sql: &str, form: RowForm) -> Result<QueryResult> {
    let (interrupt, statement) =
        (context.eval.interrupt.clone(), (context.clone(), sql.to_owned()));
    let work = async move {
        let (context, sql) = statement;
        run::run(&context, &sql, form).await
    };
    let mut result = apart(&interrupt, work).await?;
    result.rows = awaited(result.rows, &interrupt);
    Ok(result)
}

/// Finds the result columns of one query without running it; `?` is allowed in place of values.
///
/// # Errors
/// As `run`.
pub async fn describe(context: &QueryContext, sql: &str) -> Result<Vec<Column>> {
    let (interrupt, statement) =
        (context.eval.interrupt.clone(), (context.clone(), sql.to_owned()));
    apart(&interrupt, async move { run::describe(&statement.0, &statement.1).await }).await
}

/// Says how one query would run: a row a step.
///
/// # Errors
/// As `run`.
pub async fn explain(context: &QueryContext, sql: &str) -> Result<QueryResult> {
    let (interrupt, statement) =
        (context.eval.interrupt.clone(), (context.clone(), sql.to_owned()));
    apart(&interrupt, async move { explain::explain(&statement.0, &statement.1).await }).await
}

/// The plans of one query as texts: which parts go to servers, the logical and the physical plan.
///
/// # Errors
/// As `run`.
pub async fn plans(context: &QueryContext, sql: &str) -> Result<PlanTexts> {
    let (interrupt, statement) =
        (context.eval.interrupt.clone(), (context.clone(), sql.to_owned()));
    apart(&interrupt, async move { explain::plans(&statement.0, &statement.1).await }).await
}

/// Whether a query calls functions that a server has stored: they may read and change state that
/// only the session's own connection sees.
pub fn calls_stored(sql: &str, mode: Mode) -> bool {
    parse_query(sql, mode)
        .is_ok_and(|parsed| block::calls_stored(&ast_analysis::dependence(&parsed.query, mode)))
}
