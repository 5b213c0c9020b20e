//! Binds FROM clauses that are planned here: tables of several servers, native tables, derived
//! tables, system tables of Pelorus.
//!
//! A table of a server becomes a leaf that reads the columns the block needs, filtered on the
//! server by every condition of WHERE that concerns this table alone.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use futures::FutureExt;
use futures::future::BoxFuture;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::EvalContext;
use pelorus_sql::{Mode, ast_analysis};
use sqlparser::ast::{self, JoinConstraint, TableFactor};

use super::bound_query::BoundQuery;
use super::cte_policy::materialize_if_needed;
use super::expression::Subqueries;
use super::function_call::{is_extreme_of_computed, makes_groups};
use super::functional_dependency::rejected_nulls;
use super::join_kind::{JoinKind, condition_of, constraint, inner_conditions};
use super::scope::{Merged, Scope, ScopeColumn};
use super::statement::{BindScope, Binder, ScopedCte, TableUse};
use super::typed_expression::Forms;
use super::using_columns::Common;
use crate::context::{Database, QueryContext};
use crate::datafusion_adapter::udf::from_datafusion;
use crate::placement::{Place, database_name, place, resolve};

/// How many tables a block may join, as in MySQL. Planning takes the cube of their number.
const MAX_JOINED: usize = 61;

/// The block that contains a table.
#[derive(Clone, Copy)]
pub(crate) struct BlockContext<'a> {
    pub(crate) select: &'a ast::Select,
    /// Whether its WHERE may be applied before joining.
    pub(crate) filtered: bool,
    /// Conditions of inner joins that have the same meaning in WHERE.
    pub(crate) joined: &'a [&'a ast::Expr],
    /// The condition without which no row of the table counts: that of its own LEFT JOIN.
    pub(crate) own: Option<&'a ast::Expr>,
}

/// How many tables an item of FROM joins, those in parentheses as well.
fn tables_of(item: &ast::TableWithJoins) -> usize {
    let of = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => tables_of(table_with_joins),
        _ => 1,
    };
    of(&item.relation) + item.joins.iter().map(|join| of(&join.relation)).sum::<usize>()
}

/// The part of a table that a query needs.
struct Part<'a> {
    /// `PARTITION (a, b)`
    partitions: &'a [ast::Ident],
    /// `FOR SYSTEM_TIME`
    version: Option<&'a ast::TableVersion>,
    /// `USE INDEX` and similar, which say nothing here.
    hints: &'a [ast::TableIndexHints],
}

impl Binder<'_> {
    /// Binds a FROM clause; one row without columns where there is none.
    pub(crate) async fn from(
        &self,
        select: &ast::Select,
        reach: &BindScope,
    ) -> Result<(LogicalPlan, Scope)> {
        let tables: usize = select.from.iter().map(tables_of).sum();
        if tables > MAX_JOINED {
            return Err(Error::new(
                Code::TooManyTables,
                format!("Too many tables; MySQL can only use {MAX_JOINED} tables in a join"),
            ));
        }
        let mut bound: Option<(LogicalPlan, Scope)> = None;
        let rejected = rejected_nulls(select);
        for item in &select.from {
            // A RIGHT JOIN may fill everything before it with NULL.
            let last_right = item
                .joins
                .iter()
                .rposition(|join| JoinKind::of(&join.join_operator) == Some(JoinKind::Right));
            let joined = inner_conditions(item);
            let around = BlockContext { select, filtered: true, joined: &joined, own: None };
            let first = BlockContext { filtered: last_right.is_none(), ..around };
            let mut side = self.factor(&item.relation, first, reach).await?;
            for (at, join) in item.joins.iter().enumerate() {
                let kind = JoinKind::of(&join.join_operator)
                    .ok_or_else(|| Error::unsupported(join.join_operator_text()))?;
                let filtered = kind != JoinKind::Left && last_right.is_none_or(|right| at >= right);
                let own = condition_of(join).filter(|_| kind == JoinKind::Left);
                let around = BlockContext { filtered, own, ..around };
                let right = self.factor(&join.relation, around, reach).await?;
                let how = How { kind, constraint: constraint(&join.join_operator) };
                side = self.join(side, right, how, &rejected)?;
            }
            bound = Some(match bound {
                Some(before) => {
                    let how = How { kind: JoinKind::Inner, constraint: None };
                    self.join(before, side, how, &rejected)?
                }
                None => side,
            });
        }
        match bound {
            Some(bound) => Ok(bound),
            None => {
                let plan = LogicalPlanBuilder::empty(true).build().map_err(from_datafusion)?;
                Ok((plan, Scope::default()))
            }
        }
    }

    /// Binds one table or derived table. `around.filtered` says whether conditions of WHERE may be
    /// applied before joining: not on the side that an outer join fills with NULL.
    fn factor<'b>(
        &'b self,
        factor: &'b TableFactor,
        around: BlockContext<'b>,
        reach: &'b BindScope,
    ) -> BoxFuture<'b, Result<(LogicalPlan, Scope)>> {
        async move {
            match factor {
                TableFactor::Table {
                    name,
                    alias,
                    args: None,
                    partitions,
                    version,
                    index_hints: hints,
                    ..
                } => {
                    let alias = alias.as_ref().map(|alias| alias.name.value.as_str());
                    let part = Part { partitions, version: version.as_ref(), hints };
                    self.table(name, alias, part, reach, around).await
                }
                TableFactor::Derived { lateral: false, subquery, alias, .. } => {
                    let alias = alias.as_ref().ok_or_else(|| {
                        Error::new(
                            Code::DerivedMustHaveAlias,
                            "Every derived table must have its own alias",
                        )
                    })?;
                    let mut bound = self.query(subquery, &reach.of_derived()).await?;
                    let columns = bound.columns.iter_mut();
                    match kept_apart(subquery) {
                        _ if is_constant(self.context, subquery)? => {
                            columns.for_each(|it| it.in_temporary_table(&self.context.eval));
                        }
                        Some(Apart::Aggregates) => {
                            columns.for_each(|it| it.as_temporary_column());
                        }
                        Some(Apart::Rows) => {
                            columns.for_each(|it| it.in_temporary_table(&self.context.eval));
                        }
                        None => {}
                    }
                    derived(written(bound, subquery, &self.context.eval), subquery, alias)
                }
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    let _level = self.deeper()?;
                    let around = BlockContext { filtered: false, joined: &[], own: None, ..around };
                    let rejected = rejected_nulls(around.select);
                    let mut side = self.factor(&table_with_joins.relation, around, reach).await?;
                    for join in &table_with_joins.joins {
                        let kind = JoinKind::of(&join.join_operator)
                            .ok_or_else(|| Error::unsupported(join.join_operator_text()))?;
                        let right = self.factor(&join.relation, around, reach).await?;
                        let how = How { kind, constraint: constraint(&join.join_operator) };
                        side = self.join(side, right, how, &rejected)?;
                    }
                    Ok(side)
                }
                other => Err(Error::unsupported(other)),
            }
        }
        .boxed()
    }

    /// A reference to a common table expression.
    async fn common_table(&self, cte: &ScopedCte, alias: &str) -> Result<(LogicalPlan, Scope)> {
        let query = &cte.cte.query;
        let bound = match (self.count_reference(cte)?, self.materialized_before(cte)?) {
            (Some(_), Some(bound)) => bound,
            (Some(chance), None) => {
                materialize_if_needed(cte, self.query(query, &cte.seen).await?, chance)?
            }
            (None, _) => self.query(query, &cte.seen).await?,
        };
        let named = ast::TableAlias { name: ast::Ident::new(alias), ..cte.cte.alias.clone() };
        derived(written(bound, query, &self.context.eval), query, &named)
    }

    async fn table(
        &self,
        name: &ast::ObjectName,
        alias: Option<&str>,
        Part { partitions, version, hints }: Part<'_>,
        reach: &BindScope,
        around: BlockContext<'_>,
    ) -> Result<(LogicalPlan, Scope)> {
        self.count_table()?;
        let BlockContext { select, filtered, .. } = around;
        let partitions: Vec<&str> = partitions.iter().map(|name| name.value.as_str()).collect();
        let parts: Vec<&str> =
            name.0.iter().filter_map(|part| part.as_ident()).map(|it| it.value.as_str()).collect();
        let (database, table) = match parts[..] {
            [table] => (None, table),
            [database, table] => (Some(database), table),
            _ => return Err(Error::unsupported(name)),
        };
        let alias = alias.unwrap_or(table);
        if database.is_none()
            && partitions.is_empty()
            && let Some(cte) = reach.ctes.get(&table.to_ascii_lowercase())
        {
            return self.common_table(cte, alias).await;
        }
        let local = database_name(self.context, database)?;
        let place = resolve(self.context, Some(local))?;
        if let (Some(version), Database::Info(_) | Database::Linked { .. }) = (version, &place) {
            return Err(Error::unsupported(version));
        }
        if !partitions.is_empty() && !matches!(place, Database::Native(_)) {
            return Err(Error::unsupported(format_args!(
                "{table} PARTITION ({})",
                partitions.join(", ")
            )));
        }
        match place {
            Database::Native(database) => {
                let version = version.map(|version| self.settled_version(version)).transpose()?;
                let at = version.as_ref().map(|version| self.as_of(version)).transpose()?.flatten();
                let found = database.table(table, &partitions, at)?.ok_or_else(|| {
                    Error::new(Code::NoSuchTable, format!("Table '{local}.{table}' doesn't exist"))
                })?;
                let keys = hints.iter().flat_map(|hint| &hint.index_names);
                let keys: Vec<&str> = keys.map(|key| key.value.as_str()).collect();
                database.check_keys(table, alias, &keys)?;
                self.native_leaf(Arc::new(found), (local, alias), around)
            }
            Database::Info(schema) => self.info_table(local, table, alias, schema, select).await,
            Database::Linked { link, .. } => {
                let Some(found) = link.table(local, table).await? else {
                    return Err(Error::new(
                        Code::NoSuchTable,
                        format!("Table '{local}.{table}' doesn't exist"),
                    ));
                };
                let reference = TableUse { schema: local, alias, select, filtered };
                self.servers.table(self, link, found, reference).await
            }
        }
    }

    /// Joins two sides. `rejected` are columns that WHERE takes no NULL of.
    fn join(
        &self,
        left: (LogicalPlan, Scope),
        right: (LogicalPlan, Scope),
        how: How<'_>,
        rejected: &[Vec<&str>],
    ) -> Result<(LogicalPlan, Scope)> {
        let ((left_plan, left), (right_plan, right)) = (left, right);
        let kind = how.kind;
        let begin = left.columns.len();
        let Joined { scope, on, kind: kept } =
            joined(left, right, how, rejected, self.context.mode)?;
        let nothing = Subqueries::new();
        let clause = self.clause(&scope, &nothing, "on clause");
        let mut on: Vec<Expr> =
            on.iter().map(|condition| clause.predicate(condition)).collect::<Result<_>>()?;
        let builder = LogicalPlanBuilder::from(left_plan);
        let joined = match (kept, on.is_empty()) {
            (JoinKind::Inner, true) => builder.cross_join(right_plan),
            (kept, is_empty) => {
                on.extend(is_empty.then(|| lit(true)));
                builder.join_on(right_plan, kept.join_type(), on)
            }
        };
        let plan = joined.and_then(LogicalPlanBuilder::build).map_err(from_datafusion)?;
        let mut scope = scope;
        for (at, column) in scope.columns.iter_mut().enumerate() {
            // The rows of the other side may be missing.
            let is_filled = match kind {
                JoinKind::Inner => false,
                JoinKind::Left => at >= begin,
                JoinKind::Right => at < begin,
            };
            if is_filled {
                column.value.set_nullable();
            }
        }
        Ok((plan, scope))
    }
}

/// How two sides are joined.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    /// Which rows stay.
    pub(crate) kind: JoinKind,
    /// Which rows fit.
    pub(crate) constraint: Option<&'a JoinConstraint>,
}

/// Two sides that are joined.
pub(crate) struct Joined<'a> {
    /// The columns of both.
    pub(crate) scope: Scope,
    /// Which rows fit.
    pub(crate) on: Vec<Cow<'a, ast::Expr>>,
    /// The rows that stay: those of an inner join where the block takes no row that an outer join
    /// fills with NULL.
    pub(crate) kind: JoinKind,
}

/// The scope of two joined sides, and the conditions of the join.
///
/// # Errors
/// 1066, and those of the columns that USING and NATURAL name.
pub(crate) fn joined<'a>(
    left: Scope,
    right: Scope,
    How { kind, constraint }: How<'a>,
    rejected: &[Vec<&str>],
    mode: Mode,
) -> Result<Joined<'a>> {
    let names: HashSet<(&str, &str)> =
        left.columns.iter().map(|it| (it.schema.as_str(), it.table.as_str())).collect();
    let is_twice = |it: &&ScopeColumn| names.contains(&(it.schema.as_str(), it.table.as_str()));
    if let Some(twice) = right.columns.iter().find(is_twice) {
        return Err(Error::new(
            Code::NonUniqueTable,
            format!("Not unique table/alias: '{}'", twice.table),
        ));
    }
    let common = match constraint {
        // The second of them gives its names up.
        Some(constraint) if kind == JoinKind::Right => Common::of(constraint, &right, &left)?,
        Some(constraint) => Common::of(constraint, &left, &right)?,
        None => None,
    };
    let begin = left.columns.len();
    let mut scope = left.joined(right);
    let on: Vec<Cow<'a, ast::Expr>> = match constraint {
        None | Some(JoinConstraint::None) => Vec::new(),
        Some(JoinConstraint::On(condition)) => vec![Cow::Borrowed(condition)],
        Some(JoinConstraint::Using(_) | JoinConstraint::Natural) => {
            let common = common.unwrap_or_default();
            let on = common.conditions(&scope, (kind, begin));
            common.merge(&mut scope, (kind, begin));
            on.into_iter().map(Cow::Owned).collect()
        }
    };
    let is_inner = |at: usize| match kind {
        JoinKind::Inner => false,
        JoinKind::Left => at >= begin,
        JoinKind::Right => at < begin,
    };
    let place = |path: &Vec<&str>| scope.place(path, "").ok().flatten();
    let is_rejected = rejected.iter().filter_map(place).any(is_inner);
    let known_as = if is_rejected { JoinKind::Inner } else { kind };
    let conditions: Vec<&ast::Expr> = on.iter().map(AsRef::as_ref).collect();
    let mut facts = std::mem::take(&mut scope.facts);
    facts.join(&scope, (known_as, begin), &conditions, mode);
    scope.facts = facts;
    Ok(Joined { scope, on, kind: known_as })
}

impl JoinKind {
    fn join_type(self) -> JoinType {
        match self {
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
        }
    }
}

/// The operator of a join in words, for errors.
trait OperatorText {
    fn join_operator_text(&self) -> String;
}

impl OperatorText for ast::Join {
    fn join_operator_text(&self) -> String {
        format!("join with {}", self.relation)
    }
}

/// Whether a query is one SELECT without tables, which MySQL keeps in a table of its own.
fn is_constant(context: &QueryContext, query: &ast::Query) -> Result<bool> {
    let is_select = matches!(query.body.as_ref(), ast::SetExpr::Select(_));
    Ok(is_select && matches!(place(context, query, &HashSet::new())?, Place::Nowhere))
}

/// Why MySQL computes a derived table before the block around it.
enum Apart {
    /// It has aggregates, which have columns of their own types.
    Aggregates,
    /// It has a LIMIT.
    Rows,
}

/// Whether a MySQL computes a derived table that is one block before the block around it.
fn kept_apart(query: &ast::Query) -> Option<Apart> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return None };
    if makes_groups(select) {
        return Some(Apart::Aggregates);
    }
    query.limit_clause.is_some().then_some(Apart::Rows)
}

/// The columns of a query in a FROM clause: of one that makes groups, a MariaDB writes a table in
/// which quotients have the digits that they show.
fn written(mut bound: BoundQuery, query: &ast::Query, context: &Arc<EvalContext>) -> BoundQuery {
    if let ast::SetExpr::Select(select) = query.body.as_ref()
        && makes_groups(select)
    {
        let columns = bound.columns.len();
        for column in &mut bound.columns {
            column.value = column.value.clone().with_quotient(false);
        }
        let items = select.projection.iter().zip(&mut bound.columns);
        for (item, column) in items.filter(|_| select.projection.len() == columns) {
            if let ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } =
                item
                && is_extreme_of_computed(expr)
            {
                column.as_extreme(context);
            }
        }
    }
    bound
}

/// Whether a MySQL merges a derived table into the block around it.
fn is_merged(query: &ast::Query) -> bool {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return false };
    let has_window = select.projection.iter().any(|item| match item {
        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
            ast_analysis::has_window(expr)
        }
        _ => false,
    });
    let is_whole = query.limit_clause.is_none() && query.fetch.is_none();
    is_whole
        && !select.from.is_empty()
        && select.distinct.is_none()
        && select.having.is_none()
        && !makes_groups(select)
        && !has_window
}

/// Whether a column of a query that a server computes may be a value that a conditional chose.
fn chooses(query: &ast::Query, at: usize) -> bool {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return false };
    let is_choice = |item: &ast::SelectItem| match item {
        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
            ast_analysis::is_conditional(expr)
        }
        _ => false,
    };
    let is_star = |item: &ast::SelectItem| {
        matches!(item, ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..))
    };
    match select.projection.iter().any(is_star) {
        true => select.projection.iter().any(is_choice),
        false => select.projection.get(at).is_some_and(is_choice),
    }
}

/// A query under a name, its columns renamed where the alias says so.
fn derived(
    bound: BoundQuery,
    query: &ast::Query,
    alias: &ast::TableAlias,
) -> Result<(LogicalPlan, Scope)> {
    let is_merged = is_merged(query);
    let merged: Vec<Option<Merged>> = bound
        .columns
        .iter()
        .map(|column| match column.meta.org_name.is_empty() {
            true => is_merged.then_some(Merged::Expression),
            false => is_merged.then_some(Merged::Column),
        })
        .collect();
    let table = &alias.name.value;
    let renamed = !alias.columns.is_empty();
    if renamed && alias.columns.len() != bound.columns.len() {
        return Err(Error::new(
            Code::ViewWrongList,
            "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
        ));
    }
    let mut scope = Scope::default();
    let mut seen = HashSet::new();
    let columns = bound
        .columns
        .into_iter()
        .enumerate()
        .map(|(at, column)| {
            let mut meta = column.meta;
            if renamed {
                meta.name.clone_from(&alias.columns[at].name.value);
            }
            if !seen.insert(meta.name.to_ascii_lowercase()) {
                return Err(Error::new(
                    Code::DuplicateColumn,
                    format!("Duplicate column name '{}'", meta.name),
                ));
            }
            // Clients see the derived table as the source of its columns.
            meta.org_table.clear();
            meta.schema.clear();
            let mut value = column.value;
            value.origin = Some(Arc::new(meta));
            if is_merged {
                let of_server = || Forms::of_server(&value.ty, chooses(query, at));
                let forms = column.forms.unwrap_or_else(of_server);
                value = value.with_forms(forms);
            }
            Ok(value)
        })
        .collect::<Result<Vec<_>>>()?;
    scope.push_relation("", table, columns);
    for (column, merged) in scope.columns.iter_mut().zip(merged) {
        column.merged = merged;
    }
    scope.facts = bound.facts;
    Ok((bound.plan, scope))
}
