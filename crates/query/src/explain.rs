//! `EXPLAIN`: lists the statements that are sent to servers and the operators that run here, one
//! step per row. [`plans`] gives the plans of a query as texts instead, for tests.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, UInt64Array};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::displayable;
use pelorus_error::{Error, Result};
use pelorus_types::{Column, ColumnType, collation};

use crate::binder::statement::Binder;
use crate::context::QueryContext;
use crate::datafusion_adapter::udf::from_datafusion;
use crate::federation::Servers;
use crate::journal::Entry;
use crate::result::{Block, QueryResult};
use crate::run::{self, Plan};
use crate::statement_task::building;

/// A step of a plan.
struct Step {
    /// The link, or `pelorus` for what happens here.
    place: String,
    /// The operation, in a few words.
    operation: String,
    /// How many ranges it is cut into.
    ranges: u64,
    /// The statement or the plan.
    detail: String,
}

/// The plans of one query as texts.
#[derive(Clone, Debug)]
pub enum PlanTexts {
    /// One server takes the whole statement.
    Passthrough {
        /// The link.
        link: String,
        /// Why it goes whole.
        why: String,
        /// The text for the server.
        sql: String,
    },
    /// It is planned here.
    Here {
        /// The scans of native tables, and the fragments for servers.
        parts: Vec<PlanPart>,
        /// The logical plan after the optimizer.
        logical: String,
        /// The physical plan.
        physical: String,
    },
}

/// A fragment that a server runs, or a scan of a native table.
#[derive(Clone, Debug)]
pub struct PlanPart {
    /// The link, or `pelorus`.
    pub place: String,
    /// What it is, and how its table is cut.
    pub operation: String,
    /// How many ranges it is cut into.
    pub ranges: usize,
    /// The statement of the first range, or the columns and conditions of a scan.
    pub detail: String,
}

/// The plans of one query.
pub(crate) async fn plans(context: &QueryContext, sql: &str) -> Result<PlanTexts> {
    let parsed = run::parse(context, sql).map_err(|unparsed| unparsed.error)?;
    let context = &run::for_statement(context, &parsed.query)?;
    let binder = Binder::new(context, &parsed, &Servers);
    let bound = match run::plan(&binder, sql).await? {
        Plan::Passthrough { whole, why } => {
            let link = whole.link.name().to_owned();
            return Ok(PlanTexts::Passthrough { link, why, sql: whole.text });
        }
        Plan::Here { bound, .. } => bound,
    };
    let plan = run::output(bound, context)?;
    let state = run::state(context, run::MEMORY_RETRY_PROFILES[0]);
    let logical = state.optimize(&plan).map_err(from_datafusion)?;
    let planning = state.query_planner().create_physical_plan(&logical, &state);
    let physical = planning.await.map_err(from_datafusion)?;
    Ok(PlanTexts::Here {
        parts: parts(&binder),
        logical: logical.display_indent().to_string(),
        physical: displayable(physical.as_ref()).indent(false).to_string(),
    })
}

/// The parts that were noted while a query was bound.
fn parts(binder: &Binder<'_>) -> Vec<PlanPart> {
    let entries = binder.journal.entries().into_iter();
    let part = |entry: Entry| PlanPart {
        place: entry.link,
        operation: format!("{}: {}", entry.what, entry.how),
        ranges: entry.ranges,
        detail: entry.sql,
    };
    entries.map(part).collect()
}

/// Says how one query would run.
pub(crate) async fn explain(context: &QueryContext, sql: &str) -> Result<QueryResult> {
    let parsed = run::parse(context, sql).map_err(|unparsed| unparsed.error)?;
    let context = &run::for_statement(context, &parsed.query)?;
    let binder = Binder::new(context, &parsed, &Servers);
    let steps = match run::plan(&binder, sql).await? {
        Plan::Passthrough { whole, why } => vec![Step {
            place: whole.link.name().to_owned(),
            operation: format!("whole statement: {why}"),
            ranges: 1,
            detail: whole.text,
        }],
        Plan::Here { bound, .. } => {
            let step = |part: PlanPart| Step {
                place: part.place,
                operation: part.operation,
                ranges: part.ranges as u64,
                detail: part.detail,
            };
            let mut steps: Vec<Step> = parts(&binder).into_iter().map(step).collect();
            let plan = run::output(bound, context)?;
            steps.extend(here(context, &plan).await?);
            steps
        }
    };
    rows(steps)
}

/// The operators that run here, outermost first.
async fn here(context: &QueryContext, plan: &LogicalPlan) -> Result<Vec<Step>> {
    let state = run::state(context, run::MEMORY_RETRY_PROFILES[0]);
    let planning = building(&context.trees, state.create_physical_plan(plan));
    let physical = planning.await.map_err(from_datafusion)?;
    let text = displayable(physical.as_ref()).indent(false).to_string();
    Ok(text
        .lines()
        .map(|line| {
            let depth = line.len() - line.trim_start().len();
            let (operation, detail) = line.trim().split_once(':').unwrap_or((line.trim(), ""));
            Step {
                place: "pelorus".to_owned(),
                operation: format!("{}{operation}", " ".repeat(depth)),
                ranges: 1,
                detail: detail.trim().to_owned(),
            }
        })
        .collect())
}

fn rows(steps: Vec<Step>) -> Result<QueryResult> {
    let text = |name: &str| {
        Column::computed(name, ColumnType::varchar(16_383, collation::UTF8MB4_GENERAL_CI))
    };
    let columns = vec![
        Column::computed("id", ColumnType::bigint_unsigned()),
        text("place"),
        text("operation"),
        Column::computed("ranges", ColumnType::bigint_unsigned()),
        text("detail"),
    ];
    let ids = UInt64Array::from_iter_values(1..=steps.len() as u64);
    let strings = |part: fn(&Step) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(steps.iter().map(part)))
    };
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(ids),
        strings(|step| &step.place),
        strings(|step| &step.operation),
        Arc::new(UInt64Array::from_iter_values(steps.iter().map(|step| step.ranges))),
        strings(|step| &step.detail),
    ];
    let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
    let batch = RecordBatch::try_new(Arc::new(schema), arrays)
        .map_err(|error| Error::internal("EXPLAIN rows").caused_by(error))?;
    let rows = futures::stream::iter([Ok(Block::Batch(batch))]);
    Ok(QueryResult { columns, rows: Box::pin(rows), warnings: Vec::new() })
}
