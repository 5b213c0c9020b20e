//! Plans and runs queries: what linked servers do, what happens here, and how the parts meet.
//!
//! Entry points: [`run`], [`describe`], [`explain`]. This crate is where DataFusion lives; it knows
//! no protocol.
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`context`] | what a query needs to know of its session |
//! | `bind` | syntax tree to DataFusion plan, with MySQL's names and types |
//! | `federate` | what linked servers do, whole or split |
//! | `apart` | the work of a statement in a task of its own |
//! | `arms` | the arms of UNION ALL one after another |
//! | `kept` | rows that are computed once and read by several |
//! | `memory` | what a query may hold, and where it spills to |
//! | `narrow`, `sliced`, `held` | batches that fit, and rows that are counted |
//! | `plans` | what our own nodes of plans have in common |
//! | `pushed`, `varying` | where DataFusion's rules go too far |
//! | `small_groups` | groups of small whole numbers without a hash table |
//! | `watch` | joins that stop, and leave the threads to others |
//! | `udf` | MySQL's functions as DataFusion sees them |
//! | `run` | whole or here, and the execution |
//! | `explain` | the plan for people |

mod apart;
mod arms;
mod bind;
pub mod context;
mod explain;
mod federate;
mod held;
mod kept;
mod lazy;
mod memory;
mod narrow;
mod plans;
mod pushed;
mod result;
mod run;
mod sliced;
mod small_groups;
mod udf;
mod udwf;
mod varying;
mod watch;

pub use bind::cast::target as cast_target;
pub use bind::literal::introduced as introduced_literal;
pub use context::{
    AsOf, Catalog, Database, Flavour, InfoSchema, NativeDatabase, NativeTable, OwnWrites,
    PartitionPruner, PlanOptions, QueryContext, TablePart, Variables,
};
pub use federate::text::text_for_server;
pub use memory::{LEAST as LEAST_MEMORY, Scratch};
pub use result::{Block, BlockStream, QueryResult, RowForm};

use pelorus_error::Result;
use pelorus_sql::{Mode, normalise, parse_query};
use pelorus_types::Column;

use apart::{apart, awaited};
use federate::block;

/// Runs one query (SELECT, WITH, VALUES, TABLE) and returns its rows as they are made.
///
/// # Errors
/// What MySQL would say, or 1235 for what Pelorus refuses.
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

/// Finds the result columns of one query without running it; `?` may stand for values.
///
/// # Errors
/// As [`run`].
pub async fn describe(context: &QueryContext, sql: &str) -> Result<Vec<Column>> {
    let (interrupt, statement) =
        (context.eval.interrupt.clone(), (context.clone(), sql.to_owned()));
    apart(&interrupt, async move { run::describe(&statement.0, &statement.1).await }).await
}

/// Says how one query would run: a row a step.
///
/// # Errors
/// As [`run`].
pub async fn explain(context: &QueryContext, sql: &str) -> Result<QueryResult> {
    let (interrupt, statement) =
        (context.eval.interrupt.clone(), (context.clone(), sql.to_owned()));
    apart(&interrupt, async move { explain::explain(&statement.0, &statement.1).await }).await
}

/// Whether a query calls functions that a server has stored: they may read and change what only the
/// session's own connection sees.
pub fn calls_stored(sql: &str, mode: Mode) -> bool {
    parse_query(sql, mode)
        .is_ok_and(|parsed| block::calls_stored(&normalise::dependence(&parsed.query, mode)))
}
