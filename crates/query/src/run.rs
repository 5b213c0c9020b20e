//! Runs a statement: passes it to one server unchanged, or plans and executes it here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use pelorus_error::{Code, Error, Result};
use pelorus_link::{Described, Format, Link, Relay, RelayItem, Target};
use pelorus_sql::lexer::server_text;
use pelorus_sql::{Mode, Parsed, Unparsed, ast_analysis, parse_query, parse_versioned_query};
use pelorus_types::Column;
use sqlparser::ast;

use crate::binder::bound_query::BoundQuery;
use crate::binder::native::row_bytes;
use crate::binder::statement::{BindScope, Binder};
use crate::context::{Database, Flavour, QueryContext};
use crate::datafusion_adapter::memory::bytes_of_query;
use crate::datafusion_adapter::plan_nodes;
use crate::datafusion_adapter::udf::from_datafusion;
use crate::federation::passthrough_text::{TextNames, checked_text};
use crate::federation::remote::is_final;
use crate::federation::{Servers, block, routing, sql_writer};
use crate::operators::cancellable_join::{Stop, watched};
use crate::operators::materialized_cte;
use crate::operators::materialized_cte::Planner;
use crate::operators::ordered_union::Arms;
use crate::operators::perfect_hash_aggregate::PerfectHashAggregate;
use crate::operators::rebatch::{Rebatch, batch_rows, gathering};
use crate::operators::single_use::SingleUse;
use crate::operators::sliced_projection::Sliced;
use crate::operators::window_memory::WindowMemory;
use crate::optimizer::filter_pushdown;
use crate::optimizer::outer_join_constants::OuterJoinConstants;
use crate::placement::{self, Place};
use crate::result::{Block, QueryResult, RowForm};
use crate::statement_task::{asking, building, physically_asking, reading};

/// A statement that one server takes.
#[derive(Clone)]
pub(crate) struct Passthrough {
    /// The server.
    pub(crate) link: Link,
    /// The text for it.
    pub(crate) text: String,
    /// Names of the columns, where the text is not as it was written.
    names: Option<Vec<Option<String>>>,
}

impl Passthrough {
    /// The columns that the server gives for it.
    async fn columns(&self, context: &QueryContext) -> Result<Vec<Column>> {
        Ok(self.named(&*self.link.describe(&context.settings, &self.text).await?))
    }

    /// The columns of a description, under the names that the client is to see.
    fn named(&self, described: &Described) -> Vec<Column> {
        let mut columns = described.columns.clone();
        rename(&mut columns, self.names.as_deref());
        columns
    }
}

/// How a statement runs.
#[expect(clippy::large_enum_variant, reason = "there is one for a statement")]
pub(crate) enum Plan {
    /// One server takes the text.
    Passthrough {
        /// The text and where it goes.
        whole: Passthrough,
        /// Why it goes whole.
        why: String,
    },
    /// DataFusion runs it.
    Here {
        /// The plan.
        bound: BoundQuery,
        /// The columns that clients see.
        columns: Vec<Column>,
        /// The way out if something turns up that cannot be done here.
        otherwise: Option<Passthrough>,
    },
}

/// Parses a query. `FOR SYSTEM_TIME` is accepted where it cannot reach a linked server, which would
/// see the current table.
pub(crate) fn parse(context: &QueryContext, sql: &str) -> Result<Parsed, Unparsed> {
    let interrupted = |error| Unparsed { error, at: 0 };
    let read = |how: fn(&str, Mode) -> Result<Parsed, Unparsed>| {
        reading(sql, context, || how(sql, context.mode)).map_err(interrupted)
    };
    // Texts without past versions are read alike by both grammars.
    if let Ok(parsed) = read(parse_versioned_query)? {
        let is_linked = || {
            ast_analysis::table_references(&parsed.query).iter().any(|reference| {
                let database = reference.table.database.as_deref();
                matches!(placement::resolve(context, database), Ok(Database::Linked { .. }))
            })
        };
        if !has_versions(&parsed.query) || !is_linked() {
            return Ok(parsed);
        }
    }
    // The error of the text as a server would read it.
    read(parse_query)?
}

/// Whether a query names past versions of tables.
fn has_versions(query: &ast::Query) -> bool {
    let mut found = false;
    ast_analysis::walk_query(query, &mut |node| {
        found |= matches!(
            node,
            ast_analysis::Node::Table(ast::TableFactor::Table { version: Some(_), .. })
        );
    });
    found
}

/// Runs one query.
pub(crate) async fn run(context: &QueryContext, sql: &str, form: RowForm) -> Result<QueryResult> {
    let mut parsed = match parse(context, sql) {
        Ok(parsed) => parsed,
        Err(unparsed) => {
            let Some(unread) = unread_link(context, sql)? else {
                return Err(unparsed.error);
            };
            let text = unread.for_server(sql).await?;
            return relay(&unread.context, &unread.link, &text, form, None).await;
        }
    };
    if let Some(rows) = context.options.select_limit
        && !has_limit(&parsed.query)
    {
        parsed.query.limit_clause = Some(limit_of_rows(rows));
    }
    let mut context = for_statement(context, &parsed.query)?;
    let binder = Binder::new(&context, &parsed, &Servers);
    let ended = Box::pin(attempt(&binder, sql, form)).await;
    let is_numbered = binder.is_numbered();
    // With what it has open on servers.
    drop(binder);
    match ended {
        // What numbers groups of texts holds them in memory; who groups by the texts can spill.
        Err(error) if error.code() == Code::OutOfMemory && is_numbered => {
            tracing::debug!("groups are not numbered where there are so many");
            context.options.numbers_groups = false;
            Box::pin(attempt(&Binder::new(&context, &parsed, &Servers), sql, form)).await
        }
        ended => ended,
    }
}

/// Runs a statement as far as its first rows.
async fn attempt(binder: &Binder<'_>, sql: &str, form: RowForm) -> Result<QueryResult> {
    let (context, parsed) = (binder.context, binder.parsed);
    let reads_tables = binder.only_server()?.is_some();
    match plan(binder, sql).await? {
        Plan::Passthrough { whole: Passthrough { link, text, names }, .. } => {
            relay(context, &link, &text, form, names.as_deref()).await
        }
        Plan::Here { .. } if parsed.placeholders > 0 => {
            Err(Error::new(Code::Syntax, "a '?' has a value only in prepared statements"))
        }
        Plan::Here { bound, columns, otherwise } => {
            // What numbers groups is bound once more without that before other ways are tried.
            let is_once = binder.is_numbered() || !is_repeatable(binder);
            let ways =
                if is_once { &MEMORY_RETRY_PROFILES[..1] } else { &MEMORY_RETRY_PROFILES[..] };
            match start(context, bound, &columns, ways).await {
                Ok(result) => Ok(result),
                // No row has left yet: the server's own answer, or error, is the right one.
                Err(error) if !is_final(&error) => {
                    let Some(whole) = otherwise else { return Err(error) };
                    if !reads_tables && error.code() != Code::NotSupportedYet {
                        return Err(error);
                    }
                    tracing::debug!(reason = error.message(), "a split query goes whole");
                    let Passthrough { link, text, names } = whole;
                    relay(context, &link, &text, form, names.as_deref()).await
                }
                Err(error) => Err(error),
            }
        }
    }
}

/// Whether a query says itself how many rows it gives; parentheses around it change nothing.
fn has_limit(query: &ast::Query) -> bool {
    query.limit_clause.is_some()
        || matches!(query.body.as_ref(), ast::SetExpr::Query(inner)
            if query.order_by.is_none() && has_limit(inner))
}

/// `LIMIT n`
fn limit_of_rows(rows: u64) -> ast::LimitClause {
    ast::LimitClause::LimitOffset {
        limit: Some(ast::Expr::value(ast::Value::Number(rows.to_string(), false))),
        offset: None,
        limit_by: Vec::new(),
    }
}

/// Finds the result columns of one query.
pub(crate) async fn describe(context: &QueryContext, sql: &str) -> Result<Vec<Column>> {
    let parsed = match parse(context, sql) {
        Ok(parsed) => parsed,
        Err(unparsed) => {
            let Some(unread) = unread_link(context, sql)? else {
                return Err(unparsed.error);
            };
            let text = unread.for_server(sql).await?;
            let UnreadText { link, context, .. } = unread;
            return Ok(link.describe(&context.settings, &text).await?.columns.clone());
        }
    };
    let context = &for_statement(context, &parsed.query)?;
    let binder = Binder::new(context, &parsed, &Servers);
    if let Some(link) = binder.only_server()? {
        let (text, names) = text_for(context, &parsed, sql)?;
        return Passthrough { link, text, names }.columns(context).await;
    }
    match plan(&binder, sql).await? {
        Plan::Here { columns, .. } => Ok(columns),
        Plan::Passthrough { whole, .. } => whole.columns(context).await,
    }
}

/// Decides how a statement runs.
pub(crate) async fn plan(binder: &Binder<'_>, sql: &str) -> Result<Plan> {
    let (context, parsed) = (binder.context, binder.parsed);
    let link = match placement::place(context, &parsed.query, &HashSet::new())? {
        Place::Server(link) => link,
        Place::Here => return plan_here(binder, None).await,
        // What expressions need that is not to be had here, the server of the database has.
        Place::Nowhere => {
            let whole = context.settings.database.is_some().then(|| current_link(context));
            let whole = whole.flatten().and_then(|(link, _)| {
                let (text, names) = text_for(context, parsed, sql).ok()?;
                Some(Passthrough { link, text, names })
            });
            return plan_here(binder, whole).await;
        }
    };
    let (text, names) = text_for(context, parsed, sql)?;
    let whole = Passthrough { link: link.clone(), text, names };
    let text = &whole.text;
    let go_whole = |why: &str| Plan::Passthrough { whole: whole.clone(), why: why.to_owned() };
    let Ok(estimate) = link.explain(&context.settings, text).await else {
        // Whatever is wrong, the server says it best when it gets the statement itself.
        return Ok(go_whole("the server does not explain it"));
    };
    if estimate.optimized_away {
        return Ok(go_whole("the server knows the answer without reading rows"));
    }
    if routing::takes_whole(&estimate, &context.options) {
        return Ok(go_whole(&format!("the server expects {} rows", estimate.rows_examined)));
    }
    let flavour = if estimate.is_mariadb { Flavour::MariaDb } else { Flavour::MySql };
    // What is put together here must be what this server would give.
    binder.answer.get_or_init(|| flavour);
    let Some(bound) = binder.split(&link, &parsed.query, &estimate).await? else {
        return Ok(go_whole("it cannot be split"));
    };
    // What is cached of the tables may be old by now; `*` would leave a new column out.
    let mut columns = whole.named(&*link.describe_now(&context.settings, text).await?);
    if !estimate.is_mariadb && estimate.uses_temporary() {
        as_executed(&parsed.query, &mut columns);
    }
    if !same_columns(&bound, &columns) {
        link.forget();
        return Ok(go_whole("its tables have just changed"));
    }
    match conform(binder, bound, &columns) {
        Some(bound) => Ok(Plan::Here { bound, columns, otherwise: Some(whole) }),
        None => Ok(go_whole("its types would differ here")),
    }
}

/// A statement that is bound here. `otherwise` takes it if it cannot be.
async fn plan_here(binder: &Binder<'_>, otherwise: Option<Passthrough>) -> Result<Plan> {
    let (query, reach) = (&binder.parsed.query, BindScope::default());
    let bound = building(&binder.context.trees, binder.query(query, &reach)).await;
    match (bound, otherwise) {
        (Ok(bound), otherwise) => {
            let columns = bound.columns.iter().map(|column| column.meta.clone()).collect();
            Ok(Plan::Here { bound, columns, otherwise })
        }
        // A function that is not known here may be stored on the server.
        (Err(error), Some(whole))
            if matches!(error.code(), Code::NotSupportedYet | Code::NoSuchFunction) =>
        {
            Ok(Plan::Passthrough { whole, why: error.message().to_owned() })
        }
        (Err(error), _) => Err(error),
    }
}

/// The link of the current database, and the database's name there.
fn current_link(context: &QueryContext) -> Option<(Link, String)> {
    match context.catalog.database(context.database.as_deref()?)? {
        Database::Linked { link, remote } => Some((link, remote)),
        Database::Info(_) | Database::Native(_) => None,
    }
}

/// MySQL prepares computed integers as BIGINT, but those that pass through a temporary table come
/// out of it as INT where their digits fit.
fn as_executed(query: &ast::Query, columns: &mut [Column]) {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return };
    if select.projection.len() != columns.len() {
        return;
    }
    for (item, column) in select.projection.iter().zip(columns) {
        let (ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) =
            item
        else {
            continue;
        };
        let stored = column.org_name.is_empty()
            && !ast_analysis::has_aggregate(expr)
            && !ast_analysis::all_columns(expr).is_empty();
        if stored {
            column.ty = column.ty.in_temporary_table();
        }
    }
}

/// Whether a plan has the columns that the server sees: as many, and of the same names.
fn same_columns(bound: &BoundQuery, columns: &[Column]) -> bool {
    bound.columns.len() == columns.len()
        && bound.columns.iter().zip(columns).all(|(ours, theirs)| {
            let (ours, theirs) = (&ours.meta.org_name, &theirs.org_name);
            ours.is_empty() || theirs.is_empty() || ours.eq_ignore_ascii_case(theirs)
        })
}

/// Brings the columns of a plan into the types that the server gives for the statement; `None`
/// when ours differ in more than length.
fn conform(binder: &Binder<'_>, mut bound: BoundQuery, columns: &[Column]) -> Option<BoundQuery> {
    for (ours, theirs) in bound.columns.iter_mut().zip(columns) {
        let (from, to) = (&ours.value.ty, &theirs.ty);
        let same_class = from.is_integer() && to.is_integer()
            || from.is_decimal() && to.is_decimal()
            || from.is_float() && to.is_float()
            || from.is_string() && to.is_string()
            || from.wire == to.wire;
        let same_digits =
            !(from.is_decimal() || from.is_temporal()) || from.decimals == to.decimals;
        if !same_class || !same_digits {
            tracing::debug!(column = theirs.name, "types differ");
            return None;
        }
        ours.value = ours.value.clone().converted(*to, &binder.context.eval);
        ours.meta = theirs.clone();
    }
    Some(bound)
}

/// The text that one server gets for a statement, and the names of its columns where the text is
/// not as it was written.
fn text_for(
    context: &QueryContext,
    parsed: &Parsed,
    sql: &str,
) -> Result<(String, Option<Vec<Option<String>>>)> {
    let (query, ours) = sql_writer::rewrite(context, &parsed.query)?;
    let local = context.database.as_deref();
    let moved = local.is_some() && local != context.settings.database.as_deref();
    let names = || {
        let names = first_block(&parsed.query).and_then(|block| parsed.names(block));
        names.map(<[_]>::to_vec)
    };
    if ours || moved {
        return Ok((query.to_string(), names()));
    }
    Ok(match server_text(sql, context.mode)? {
        Cow::Borrowed(text) => (text.to_owned(), None),
        // Some names of columns have lost comments.
        Cow::Owned(text) => (text, names()),
    })
}

/// The block that names the columns of a query.
fn first_block(query: &ast::Query) -> Option<&ast::Select> {
    let mut body = query.body.as_ref();
    loop {
        match body {
            ast::SetExpr::Select(select) => return Some(select),
            ast::SetExpr::Query(query) => body = query.body.as_ref(),
            ast::SetExpr::SetOperation { left, .. } => body = left.as_ref(),
            _ => return None,
        }
    }
}

fn rename(columns: &mut [Column], names: Option<&[Option<String>]>) {
    let Some(names) = names else { return };
    if names.len() != columns.len() {
        // `*` stands for several columns, whose names are right anyway.
        return;
    }
    for (column, name) in columns.iter_mut().zip(names) {
        if let (Some(name), true) = (name, column.org_name.is_empty()) {
            column.name.clone_from(name);
        }
    }
}

/// The context of one statement: every server that evaluates the time receives the same time, and a
/// server that has all its tables receives the current database, in which it looks for stored
/// functions.
pub(crate) fn for_statement(context: &QueryContext, query: &ast::Query) -> Result<QueryContext> {
    let mut context = context.clone();
    if let Some((current, remote)) = current_link(&context) {
        let is_there = match placement::place(&context, query, &HashSet::new())? {
            Place::Server(link) => current.name() == link.name(),
            Place::Nowhere => true,
            Place::Here => false,
        };
        if is_there {
            context.settings.database = Some(remote);
        }
    }
    if block::asks_time(query, context.mode) {
        #[expect(clippy::cast_precision_loss, reason = "microseconds fit until the year 2255")]
        let seconds = context.eval.now_micros as f64 / 1e6;
        context.settings.timestamp = Some(seconds);
    }
    Ok(context)
}

/// A text that cannot be parsed here.
struct UnreadText {
    /// The link that takes it: that of the current database.
    link: Link,
    /// The context with the settings that the server receives.
    context: QueryContext,
    /// The names in it.
    names: TextNames,
}

/// The server that takes a text which cannot be parsed here; `None` if there is none.
fn unread_link(context: &QueryContext, sql: &str) -> Result<Option<UnreadText>> {
    context.eval.interrupt.check()?;
    let Some(database) = context.database.as_deref() else { return Ok(None) };
    let Some(Database::Linked { link, remote }) = context.catalog.database(database) else {
        return Ok(None);
    };
    let names = TextNames::of(sql, context.mode);
    if let Some(function) = names.held_function() {
        let function = function.to_ascii_uppercase();
        return Err(Error::unsupported(format_args!("{function} on a linked server")));
    }
    // Names cannot be changed in a text that is not understood.
    if remote != database {
        return Err(Error::unsupported(format_args!(
            "this statement in database '{database}', which the server knows as '{remote}'"
        )));
    }
    let references = pelorus_sql::statement::references(sql, context.mode);
    for table in &references.tables {
        // Whatever else it is, the text names this as a database.
        if table.database.is_some() {
            placement::resolve(context, table.database.as_deref())?;
        }
    }
    for name in references.qualifiers {
        match context.catalog.database(&name) {
            Some(Database::Linked { link: other, remote })
                if other.name() == link.name() && remote == name => {}
            Some(_) => return Ok(None),
            None => {}
        }
    }
    let mut context = context.clone();
    context.settings.database = Some(remote);
    Ok(Some(UnreadText { link, context, names }))
}

impl UnreadText {
    /// The text for the server.
    async fn for_server(&self, sql: &str) -> Result<String> {
        let Self { link, context, names } = self;
        let shows_system_schemas = matches!(context.catalog.database("performance_schema"),
            Some(Database::Linked { link: shown, .. }) if shown.name() == link.name());
        let mode = context.mode;
        checked_text(link, &context.settings, (sql, names), mode, shows_system_schemas).await
    }
}

/// Hands a statement over; rows come through as the server encoded them.
async fn relay(
    context: &QueryContext,
    link: &Link,
    text: &str,
    form: RowForm,
    names: Option<&[Option<String>]>,
) -> Result<QueryResult> {
    let format = match form {
        RowForm::Text => Format::Text,
        RowForm::Binary => Format::Binary,
    };
    // What an attempt to split has warned about is the server's to say.
    context.eval.take_warnings();
    let settings = context.settings.clone().with_select_limit(context.options.select_limit);
    match link.relay(&settings, text, format, Target::Primary).await? {
        Relay::Rows(rows) => {
            let mut columns = rows.columns.clone();
            rename(&mut columns, names);
            let rows = rows.filter_map(|item| async move {
                match item {
                    Ok(RelayItem::Encoded(bytes)) => Some(Ok(Block::Encoded(bytes))),
                    Ok(RelayItem::End { warnings, conditions, .. }) if warnings > 0 => {
                        Some(Ok(Block::Warned(warnings, conditions)))
                    }
                    Ok(RelayItem::End { .. }) => None,
                    Err(error) => Some(Err(error)),
                }
            });
            Ok(QueryResult { columns, rows: Box::pin(rows), warnings: Vec::new() })
        }
        Relay::Done(_) => Err(Error::internal("a query gave no rows")),
    }
}

/// How a plan is executed. What runs out of memory before it has given a row is executed again in
/// another way: joins sort both sides instead of holding one, and fewer rows are handled at a time,
/// so that wide ones take less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutionProfile {
    /// Rows of a batch.
    rows: usize,
    /// Everything that can be large is sorted, and so can spill.
    has_low_memory: bool,
}

/// The usual way comes first.
pub(crate) const MEMORY_RETRY_PROFILES: [ExecutionProfile; 3] = [
    ExecutionProfile { rows: 8192, has_low_memory: false },
    ExecutionProfile { rows: 64, has_low_memory: true },
    ExecutionProfile { rows: 4, has_low_memory: true },
];

/// Whether a statement can be executed more than once: servers are read once, at one moment.
fn is_repeatable(binder: &Binder<'_>) -> bool {
    binder.journal.entries().iter().all(|entry| entry.what != "fragment")
}

/// Executes a plan up to its first rows, so that what cannot be done here shows in time.
async fn start(
    context: &QueryContext,
    bound: BoundQuery,
    columns: &[Column],
    ways: &[ExecutionProfile],
) -> Result<QueryResult> {
    let plan = output(bound, context)?;
    let mut failure = Error::internal("a plan was not executed");
    for way in ways {
        match first_rows(context, plan.clone(), *way).await {
            Ok((first, stream)) => {
                let trees = context.trees.clone();
                let rows = futures::stream::iter(first.map(Ok)).chain(stream).map(move |batch| {
                    // The plan is there as long as its rows.
                    let _trees = &trees;
                    batch.map(Block::Batch).map_err(from_datafusion)
                });
                let (columns, rows) = (columns.to_vec(), Box::pin(rows));
                return Ok(QueryResult { columns, rows, warnings: Vec::new() });
            }
            Err(error) if error.code() == Code::OutOfMemory => {
                tracing::debug!("a query ran out of memory, and is executed in another way");
                // The rows will warn again.
                context.eval.take_warnings();
                failure = error;
            }
            // The careful ways know fewer kinds of keys; what is missing is memory.
            Err(error) if way.has_low_memory && error.code() == Code::NotSupportedYet => break,
            Err(error) => return Err(error),
        }
    }
    Err(failure)
}

/// The first batch of a plan, and the rest.
async fn first_rows(
    context: &QueryContext,
    plan: LogicalPlan,
    way: ExecutionProfile,
) -> Result<(Option<RecordBatch>, SendableRecordBatchStream)> {
    let mut stream = execute(context, plan, way).await?;
    let first = stream.next().await.transpose().map_err(from_datafusion)?;
    Ok((first, stream))
}

/// The plan less the columns that only order and group.
pub(crate) fn output(bound: BoundQuery, context: &QueryContext) -> Result<LogicalPlan> {
    let exprs: Vec<_> = bound
        .columns
        .into_iter()
        .enumerate()
        .map(|(at, column)| column.value.settled(&context.eval).expr.alias(format!("result{at}")))
        .collect();
    materialized_cte::materialize_shared(plan_nodes::project(bound.plan, exprs)?)
        .map_err(from_datafusion)
}

/// DataFusion's physical optimizer without its last check, which refuses plans that are right: where
/// a filter makes terms of ORDER BY constant, it forgets that its own sort has left them out.
fn rules(
    context: &QueryContext,
    memory: usize,
    way: ExecutionProfile,
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| rule.name() != "SanityCheckPlan");
    // For what looks at constants first, and for those that come to light before sorts are left out.
    let sorts = rules.iter().position(|rule| rule.name() == "EnsureRequirements");
    rules.insert(sorts.unwrap_or_default(), Arc::new(OuterJoinConstants));
    rules.insert(0, Arc::new(OuterJoinConstants));
    rules.push(Arc::new(Arms { is_ordered: context.options.in_order }));
    rules.push(Arc::new(PerfectHashAggregate));
    rules.push(Arc::new(WindowMemory));
    rules.push(Arc::new(SingleUse));
    rules.push(Arc::new(Sliced::new(memory, Arc::clone(&context.eval))));
    rules.push(Arc::new(Rebatch::new(memory, way.has_low_memory)));
    rules
}

/// DataFusion's side of a statement: none of its own functions, MySQL's are in the plan.
pub(crate) fn state(context: &QueryContext, way: ExecutionProfile) -> SessionState {
    let memory = bytes_of_query(context.options.memory_bytes);
    // Joins are sorted only where there are several streams.
    let streams = if way.has_low_memory { 2 } else { context.options.streams.max(1) };
    let config = SessionConfig::new()
        .with_target_partitions(streams)
        .with_information_schema(false)
        .with_batch_size(way.rows)
        .with_sort_spill_reservation_bytes((memory / 32).min(10 << 20))
        // Batches that wait in a RepartitionExec have a file each. With larger ones, two inputs write
        // to two files at a time, and the reader waits for ever at the end of the older one for a batch
        // that is in the other, while both inputs wait for the reader.
        .set_usize("datafusion.execution.max_spill_file_size_bytes", 1)
        .set_bool("datafusion.optimizer.prefer_hash_join", !way.has_low_memory)
        // It lets DISTINCT and groups without aggregates stop early below window functions, which want
        // all of them.
        .set_bool("datafusion.optimizer.enable_topk_aggregation", false)
        // It asks a MAX for its value after each batch, and ours give theirs away.
        .set_bool("datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown", false);
    let interrupt = &context.eval.interrupt;
    let physical = physically_asking(rules(context, memory, way), interrupt);
    SessionStateBuilder::new()
        .with_config(config)
        .with_optimizer_rules(asking(filter_pushdown::rules(), interrupt))
        .with_physical_optimizer_rules(physical)
        .with_query_planner(Arc::new(Planner))
        .with_runtime_env(context.scratch.runtime(memory, &context.memory))
        .build()
}

async fn execute(
    context: &QueryContext,
    plan: LogicalPlan,
    way: ExecutionProfile,
) -> Result<SendableRecordBatchStream> {
    let state = state(context, way);
    let planning = building(&context.trees, state.create_physical_plan(&plan));
    let physical = planning.await.map_err(from_datafusion)?;
    let stop = Stop::default();
    let physical = watched(physical, &stop).map_err(from_datafusion)?;
    let most =
        batch_rows(&physical, row_bytes(&physical), bytes_of_query(context.options.memory_bytes));
    let physical = gathering(physical, most).map_err(from_datafusion)?;
    let config = state.config().clone().with_batch_size(way.rows.min(most));
    let task = TaskContext::from(&state).with_session_config(config);
    let rows = execute_stream(physical, Arc::new(task)).map_err(from_datafusion)?;
    Ok(stop.with(rows))
}
