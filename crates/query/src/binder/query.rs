//! Binds query expressions: set operations, ORDER BY and LIMIT around SELECT blocks, WITH.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use datafusion::common::Column as DfColumn;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr, Union};
use futures::FutureExt;
use futures::future::BoxFuture;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{self as functions, EvalContext};
use pelorus_link::Moment;
use pelorus_sql::{Parsed, ast_analysis};
use pelorus_types::{Column, ColumnType, WireType};
use sqlparser::ast::{
    self, LimitClause, OrderByExpr, OrderByKind, SetExpr, SetOperator, SetQuantifier,
};

use super::base_table::Mentioned;
use super::cte_policy::NonDeterminism;
use super::expression::Subqueries;
use super::functional_dependency::Facts;
use super::group_concat::few_terms;
use super::mariadb_rules;
use super::plan_limits::{Extent, Level};
use super::scope::Scope;
use super::select::Ordering as BlockOrder;
use super::typed_expression::{Forms, TypedExpr};
use crate::context::{Flavour, QueryContext};
use crate::datafusion_adapter::plan_nodes;
use crate::datafusion_adapter::udf::{from_datafusion, next_id};
use crate::federation::placement::{Place, place};
use crate::federation::scan::Journal;
use crate::federation::sql_writer::session_constant;

/// A query as a plan, with the meaning of its columns.
#[derive(Clone, Debug)]
pub(crate) struct BoundQuery {
    /// The plan. It may carry more columns than the query has: keys that order and group.
    pub(crate) plan: LogicalPlan,
    /// The columns of the query; their expressions name columns of the plan.
    pub(crate) columns: Vec<BoundColumn>,
    /// Which columns determine others, by their places.
    pub(crate) facts: Facts,
}

impl BoundQuery {
    /// A query of whose columns nothing is known.
    pub(crate) fn new(plan: LogicalPlan, columns: Vec<BoundColumn>) -> Self {
        Self { plan, columns, facts: Facts::default() }
    }
}

/// A column of a bound query.
#[derive(Clone, Debug)]
pub(crate) struct BoundColumn {
    /// The column that the client sees.
    pub(crate) meta: Column,
    /// The column of the plan.
    pub(crate) value: TypedExpr,
    /// Its numeric and text forms in a block into which MySQL merges its own; `None` if a server
    /// computed it.
    pub(crate) forms: Option<Forms>,
}

impl BoundColumn {
    /// A column whose block is merged into no other one.
    pub(crate) fn new(meta: Column, value: TypedExpr) -> Self {
        Self { meta, value, forms: Some(Forms::default()) }
    }

    /// A column that a server made.
    pub(crate) fn of_server(meta: Column, value: TypedExpr) -> Self {
        Self { meta, value, forms: None }
    }

    /// Gives a computed column the type that it has in a temporary table of MySQL's.
    pub(crate) fn in_temporary_table(&mut self, context: &Arc<EvalContext>) {
        let from = self.value.ty;
        if self.meta.org_name.is_empty() {
            let to = from.in_temporary_table();
            match to.arrow() == from.arrow() {
                true => self.describe(to),
                false => self.convert(to, context),
            }
        }
    }

    /// Describes a computed column as one of a temporary table of MySQL's.
    pub(crate) fn as_temporary_column(&mut self) {
        if self.meta.org_name.is_empty() {
            self.describe(self.value.ty.as_temporary_column());
        }
    }

    fn describe(&mut self, ty: ColumnType) {
        self.value.describe(ty);
        self.meta.ty = ty;
    }

    /// The same of MIN and MAX of integers that are computed: such aggregates are BIGINT there.
    pub(crate) fn as_extreme(&mut self, context: &Arc<EvalContext>) {
        let from = self.value.ty;
        if from.is_integer() && !matches!(from.wire, WireType::LongLong | WireType::Bit) {
            self.convert(ColumnType { wire: WireType::LongLong, ..from }, context);
        }
    }

    fn convert(&mut self, to: ColumnType, context: &Arc<EvalContext>) {
        self.value = self.value.clone().converted(to, context);
        self.meta.ty = to;
    }
}

/// The names that a query can use in addition to its own tables and columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct BindScope {
    /// Common table expressions, by lower-case name.
    pub(crate) ctes: HashMap<String, Arc<ScopedCte>>,
    /// The columns of the block that contains a subquery.
    pub(crate) outer: Option<Arc<Scope>>,
}

impl BindScope {
    /// The names that a derived table can use: none of the enclosing blocks.
    pub(crate) fn of_derived(&self) -> Self {
        Self { outer: None, ctes: self.ctes.clone() }
    }
}

/// A common table expression, with those that were in reach where it was defined.
#[derive(Debug)]
pub(crate) struct ScopedCte {
    /// The definition.
    pub(crate) cte: ast::Cte,
    /// The names that it can use: neither its own nor later ones.
    pub(crate) seen: BindScope,
    /// How often it was bound: once for each reference.
    pub(crate) references: AtomicUsize,
    /// The number under which its rows are materialised where they must be.
    pub(crate) id: u64,
    /// Whether one server can have the query that defines it, and then keeps the rows itself.
    pub(crate) is_of_server: bool,
    /// Why its rows are non-deterministic, once that was determined.
    pub(crate) chance: OnceLock<NonDeterminism>,
    /// The first reference, once that is bound and if its rows are materialised.
    pub(crate) materialized: OnceLock<BoundQuery>,
}

/// Binds the queries of one statement.
pub(crate) struct Binder<'a> {
    /// The session's side.
    pub(crate) context: &'a QueryContext,
    /// The statement, which knows the names of columns without alias.
    pub(crate) parsed: &'a Parsed,
    /// Every column name in the statement: a table need not provide other columns.
    pub(crate) mentioned: Mentioned,
    /// The statements that servers run.
    pub(crate) journal: Journal,
    /// Whose answer the statement must have, once that is known; `None` where it is ours.
    pub(crate) answer: OnceLock<Flavour>,
    /// The one moment at which the statement reads each link, by the link's name.
    pub(crate) moments: Mutex<HashMap<String, Moment>>,
    names: AtomicUsize,
    is_numbered: AtomicBool,
    extent: Extent,
}

impl<'a> Binder<'a> {
    /// A binder for one statement.
    pub(crate) fn new(context: &'a QueryContext, parsed: &'a Parsed) -> Self {
        Self {
            context,
            parsed,
            mentioned: Mentioned::of(&parsed.query),
            journal: Journal::default(),
            answer: context.copies_of.map_or_else(OnceLock::new, OnceLock::from),
            moments: Mutex::default(),
            names: AtomicUsize::new(0),
            is_numbered: AtomicBool::new(false),
            extent: Extent::default(),
        }
    }

    /// Enters a deeper level of the statement, for as long as the result lives.
    ///
    /// # Errors
    /// 1235 for a plan that would be too deep or too large.
    pub(crate) fn deeper(&self) -> Result<Level<'_>> {
        self.extent.deeper()
    }

    /// Goes into a subquery of an expression, for as long as the result lives.
    ///
    /// # Errors
    /// 1235 where there are too many in each other.
    pub(crate) fn enter_subquery(&self) -> Result<Level<'_>> {
        self.extent.enter_subquery()
    }

    /// Counts a table that is read, or a row of VALUES, which becomes a query.
    ///
    /// # Errors
    /// 1235 where there are too many.
    pub(crate) fn count_table(&self) -> Result<()> {
        self.extent.count()
    }

    /// Notes that a scan numbers groups.
    pub(crate) fn note_numbered(&self) {
        // Ordering: one task binds a statement, and looks at it afterwards.
        self.is_numbered.store(true, Ordering::Relaxed);
    }

    /// Whether a scan numbers groups, and so holds memory that it cannot spill.
    pub(crate) fn is_numbered(&self) -> bool {
        self.is_numbered.load(Ordering::Relaxed)
    }

    /// A name that no other column of the statement's plan has.
    pub(crate) fn fresh(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Binds a query. `reach` has the names that it can use in addition to its own. A query whose
    /// tables all live on one server is left to that server.
    pub(crate) fn query<'b>(
        &'b self,
        query: &'b ast::Query,
        reach: &'b BindScope,
    ) -> BoxFuture<'b, Result<BoundQuery>> {
        async move {
            match place(self.context, query, &reach.ctes.keys().cloned().collect())? {
                Place::Server(link) => self.remote(&link, query).await,
                Place::Nowhere | Place::Here => self.local(query, reach).await,
            }
        }
        .boxed()
    }

    /// Binds a query here, whatever its parts may be.
    pub(crate) fn local<'b>(
        &'b self,
        query: &'b ast::Query,
        reach: &'b BindScope,
    ) -> BoxFuture<'b, Result<BoundQuery>> {
        async move {
            let _level = self.deeper()?;
            refuse_extras(query, self.context.options.ignores_locks)?;
            let mut inner = reach.clone();
            if let Some(with) = &query.with {
                if with.recursive {
                    return Err(Error::unsupported(
                        "WITH RECURSIVE over native tables or several servers",
                    ));
                }
                // No server knows the columns around a subquery that is bound here.
                let is_of_server = reach.ctes.values().any(|cte| cte.is_of_server)
                    || reach.outer.is_none() && {
                        let known = reach.ctes.keys().cloned().collect();
                        matches!(place(self.context, query, &known)?, Place::Server(_))
                    };
                check_unique(&with.cte_tables)?;
                for cte in &with.cte_tables {
                    let name = cte.alias.name.value.to_ascii_lowercase();
                    let scoped = ScopedCte {
                        cte: cte.clone(),
                        seen: inner.of_derived(),
                        references: AtomicUsize::new(0),
                        id: next_id(),
                        is_of_server,
                        chance: OnceLock::new(),
                        materialized: OnceLock::new(),
                    };
                    inner.ctes.insert(name, Arc::new(scoped));
                }
            }
            let order = order_of(query)?;
            let limit = limit_of(query)?;
            match query.body.as_ref() {
                SetExpr::Select(select) => {
                    self.select(select, BlockOrder { by: order, limit }, &inner).await
                }
                body => {
                    let bound = self.set_expr(body, &inner).await?;
                    self.order_output(bound, order, limit)
                }
            }
        }
        .boxed()
    }

    fn set_expr<'b>(
        &'b self,
        body: &'b SetExpr,
        reach: &'b BindScope,
    ) -> BoxFuture<'b, Result<BoundQuery>> {
        async move {
            match body {
                SetExpr::Select(_) => self.query(&plain_query(body), reach).await,
                SetExpr::Query(query) => self.query(query, reach).await,
                SetExpr::SetOperation { op: SetOperator::Union, .. } => {
                    let mut sides = Vec::new();
                    for (side, all) in union_sides(body)? {
                        sides.push((self.set_expr(side, reach).await?, all));
                    }
                    self.union(sides)
                }
                SetExpr::Values(values) => self.values(values),
                other => Err(Error::unsupported(other)),
            }
        }
        .boxed()
    }

    /// A chain of UNIONs: the types of the columns come from all sides at once. A side says whether
    /// UNION ALL joins it to those before it.
    fn union(&self, sides: Vec<(BoundQuery, bool)>) -> Result<BoundQuery> {
        let Some((first, _)) = sides.first() else { return Err(Error::internal("an empty UNION")) };
        if sides.iter().any(|(side, _)| side.columns.len() != first.columns.len()) {
            return Err(Error::new(
                Code::WrongColumnCountInUnion,
                "The used SELECT statements have a different number of columns",
            ));
        }
        let types = (0..first.columns.len())
            .map(|at| {
                let all: Vec<_> =
                    sides.iter().map(|(side, _)| side.columns[at].value.arg().ty).collect();
                functions::common_type(&all, &self.context.eval)
            })
            .collect::<Result<Vec<_>>>()?;
        let metas: Vec<Column> = first
            .columns
            .iter()
            .zip(&types)
            .map(|(column, ty)| Column::computed(&column.meta.name, *ty))
            .collect();
        // An ENUM or SET keeps its type if all others are NULL.
        let lists: Vec<Option<TypedExpr>> = (0..metas.len())
            .map(|at| {
                let values = sides.iter().map(|(side, _)| &side.columns[at].value);
                let mut values = values.filter(|value| value.ty.wire != WireType::Null);
                values.next().filter(|_| values.next().is_none()).cloned()
            })
            .collect();
        // Rows are made distinct by the last UNION that is not UNION ALL, those before it as well.
        let distinct = sides.iter().rposition(|(_, all)| !all).map_or(0, |last| last + 1);
        let mut sides: Vec<BoundQuery> = sides.into_iter().map(|(side, _)| side).collect();
        let mut rest = sides.split_off(distinct);
        if !sides.is_empty() {
            let whole = self.all_of(sides, &metas)?;
            rest.insert(0, self.distinct(whole)?);
        }
        let mut whole = self.all_of(rest, &metas)?;
        for (column, list) in whole.columns.iter_mut().zip(lists) {
            column.as_temporary_column();
            if let Some(list) = list {
                column.value = column.value.clone().listed_like(&list);
            }
        }
        Ok(whole)
    }

    /// The rows of several queries, side by side in one plan however many there are.
    fn all_of(&self, sides: Vec<BoundQuery>, to: &[Column]) -> Result<BoundQuery> {
        let names: Vec<String> = to.iter().map(|_| self.fresh("c")).collect();
        let sides = sides.into_iter().map(|side| {
            self.context.eval.interrupt.check()?;
            self.in_types(side, to, &names).map(Arc::new)
        });
        let sides = sides.collect::<Result<Vec<_>>>()?;
        let plan = match <[_; 1]>::try_from(sides) {
            Ok([side]) => Arc::unwrap_or_clone(side),
            Err(sides) => {
                LogicalPlan::Union(Union::try_new_with_loose_types(sides).map_err(from_datafusion)?)
            }
        };
        Ok(BoundQuery::new(plan, named(to, &names)))
    }

    /// The plan of a query with its columns converted to other types, under these names.
    fn in_types(&self, query: BoundQuery, to: &[Column], names: &[String]) -> Result<LogicalPlan> {
        let exprs = query.columns.into_iter().zip(to).zip(names).map(|((column, to), name)| {
            if column.value.ty.decimals != to.ty.decimals {
                mariadb_rules::check_digits(&column.value)?;
            }
            let digits = column.forms.and_then(|forms| forms.digits);
            let value = digits.unwrap_or(column.value).without_key();
            let value = value.converted(to.ty, &self.context.eval);
            Ok::<_, Error>(value.expr.alias(name))
        });
        plan_nodes::project(query.plan, exprs.collect::<Result<Vec<_>>>()?)
    }

    /// `VALUES ROW(1, 'a'), ROW(2, 'b')`
    fn values(&self, values: &ast::Values) -> Result<BoundQuery> {
        let (scope, subqueries) = (Scope::default(), Subqueries::new());
        let binder = self.clause(&scope, &subqueries, "field list");
        let rows = values.rows.iter().map(|row| {
            self.count_table()?;
            check_columns(row.len())?;
            let mut columns = Vec::new();
            let mut exprs = Vec::new();
            for (at, expr) in row.iter().enumerate() {
                let value = binder.value(expr)?.settled(&self.context.eval);
                let name = self.fresh("c");
                exprs.push(value.expr.clone().alias(&name));
                let meta = Column::computed(format!("column_{at}"), value.ty);
                columns.push(BoundColumn::new(meta, value.at(column_expr(&name), None)));
            }
            let plan = LogicalPlanBuilder::empty(true)
                .project(exprs)
                .and_then(LogicalPlanBuilder::build)
                .map_err(from_datafusion)?;
            Ok((BoundQuery::new(plan, columns), true))
        });
        self.union(rows.collect::<Result<Vec<_>>>()?)
    }

    /// Keeps one row of each set of equal rows.
    pub(crate) fn distinct(&self, query: BoundQuery) -> Result<BoundQuery> {
        let context = &self.context.eval;
        let mut groups = Vec::new();
        let mut picks = Vec::new();
        let mut columns = Vec::new();
        for column in query.columns {
            let key = column.value.sort_key(context);
            let key_name = self.fresh("k");
            groups.push(key.clone().alias(&key_name));
            let value = if key == column.value.expr {
                column.value.at(column_expr(&key_name), None)
            } else {
                let name = self.fresh("c");
                picks.push(super::aggregate::any_value(&column.value, context)?.alias(&name));
                column.value.at(column_expr(&name), Some(column_expr(&key_name)))
            };
            columns.push(BoundColumn::new(column.meta, value));
        }
        let plan = plan_nodes::aggregate(query.plan, groups, picks)?;
        Ok(BoundQuery { plan, columns, facts: query.facts })
    }

    /// ORDER BY and LIMIT over a query whose output columns alone can be named.
    fn order_output(
        &self,
        query: BoundQuery,
        order: &[OrderByExpr],
        limit: Option<Limit>,
    ) -> Result<BoundQuery> {
        let mut keys = Vec::new();
        for term in order {
            // A constant orders nothing.
            if session_constant(self.context, &term.expr).is_some() {
                continue;
            }
            let column = match ast_analysis::unnested(&term.expr) {
                ast::Expr::Value(value) => {
                    match ordinal(&value.value, query.columns.len(), "order clause")? {
                        Some(at) => Some(at),
                        None => continue,
                    }
                }
                ast::Expr::Identifier(name) => query
                    .columns
                    .iter()
                    .position(|column| column.meta.name.eq_ignore_ascii_case(&name.value)),
                other => {
                    return Err(Error::unsupported(format_args!("ORDER BY {other} of a UNION")));
                }
            };
            let Some(column) = column else {
                return Err(Error::new(
                    Code::UnknownColumn,
                    format!("Unknown column '{}' in 'order clause'", term.expr),
                ));
            };
            let key = query.columns[column].value.order_key(&self.context.eval)?;
            keys.push(sort_term(key, term)?);
        }
        let plan = ordered(query.plan.clone(), keys, limit)?;
        Ok(BoundQuery { plan, ..query })
    }
}

/// Most columns of a result, and expressions of one clause.
const MAX_COLUMNS: usize = 4096;

/// Refuses more columns than MySQL lets a result have.
///
/// # Errors
/// 1117.
pub(super) fn check_columns(count: usize) -> Result<()> {
    match count > MAX_COLUMNS {
        true => Err(Error::new(Code::TooManyColumns, "Too many columns")),
        false => Ok(()),
    }
}

/// The sides of a chain of UNIONs from the left, each with whether UNION ALL joins it.
fn union_sides(body: &SetExpr) -> Result<Vec<(&SetExpr, bool)>> {
    let mut sides = Vec::new();
    let mut rest = body;
    while let SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } = rest {
        let all = match set_quantifier {
            SetQuantifier::All => true,
            SetQuantifier::Distinct | SetQuantifier::None => false,
            other => return Err(Error::unsupported(format_args!("UNION {other}"))),
        };
        sides.push((right.as_ref(), all));
        rest = left;
    }
    sides.push((rest, true));
    sides.reverse();
    Ok(sides)
}

/// Looks whether a WITH defines each name once.
///
/// # Errors
/// 1066; 1235 for names that only case tells apart.
fn check_unique(ctes: &[ast::Cte]) -> Result<()> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for cte in ctes {
        let name = cte.alias.name.value.as_str();
        match seen.insert(name.to_ascii_lowercase(), name) {
            None => {}
            Some(before) if before == name => {
                let text = format!("Not unique table/alias: '{name}'");
                return Err(Error::new(Code::NonUniqueTable, text));
            }
            Some(_) => {
                let text = "names of WITH that only case tells apart";
                return Err(Error::unsupported(text));
            }
        }
    }
    Ok(())
}

/// Columns of a plan by their names in it.
fn named(metas: &[Column], names: &[String]) -> Vec<BoundColumn> {
    metas
        .iter()
        .zip(names)
        .map(|(meta, name)| {
            BoundColumn::new(meta.clone(), TypedExpr::computed(column_expr(name), meta.ty))
        })
        .collect()
}

/// A query that is nothing but this body.
pub(crate) fn plain_query(body: &SetExpr) -> ast::Query {
    ast::Query {
        with: None,
        body: Box::new(body.clone()),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// LIMIT with its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Rows left out first.
    pub(crate) skip: usize,
    /// Rows at most; `None` for more than there ever are.
    pub(crate) fetch: Option<usize>,
}

impl Limit {
    /// More rows than there ever are. Planners add such numbers and take them as signed ones,
    /// which must not overflow.
    const ENDLESS: u64 = 1 << 60;

    /// `LIMIT skip, fetch`. Statements without an end (`LIMIT 5, 18446744073709551615`) have none.
    fn of(skip: u64, fetch: u64) -> Self {
        if skip >= Self::ENDLESS {
            return Self { skip: 0, fetch: Some(0) };
        }
        let rows = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let fetch = (fetch < Self::ENDLESS).then(|| rows(fetch));
        Self { skip: rows(skip), fetch }
    }

    /// The rows that the limit looks at, from the first one; `None` for all.
    pub(crate) fn reach(self) -> Option<usize> {
        self.fetch.map(|fetch| self.skip.saturating_add(fetch))
    }
}

/// A reference to a column that [`Binder::fresh`] named.
pub(crate) fn column_expr(name: &str) -> Expr {
    Expr::Column(DfColumn::new_unqualified(name))
}

/// Adds a sort and a limit to a plan.
pub(crate) fn ordered(
    plan: LogicalPlan,
    keys: Vec<SortExpr>,
    limit: Option<Limit>,
) -> Result<LogicalPlan> {
    let plan = match keys.is_empty() {
        true => plan,
        false => plan_nodes::sort(plan, few_terms(keys))?,
    };
    let Some(limit) = limit else { return Ok(plan) };
    let limited = LogicalPlanBuilder::from(plan).limit(limit.skip, limit.fetch);
    limited.and_then(LogicalPlanBuilder::build).map_err(from_datafusion)
}

/// One term of ORDER BY over a key. NULL is MySQL's smallest value.
pub(crate) fn sort_term(key: Expr, term: &OrderByExpr) -> Result<SortExpr> {
    if term.options.nulls_first.is_some() || term.with_fill.is_some() {
        return Err(Error::unsupported(term));
    }
    let ascending = is_ascending(term)?;
    Ok(SortExpr::new(key, ascending, ascending))
}

/// Whether a term of ORDER BY goes up.
pub(crate) fn is_ascending(term: &OrderByExpr) -> Result<bool> {
    match &term.options.sort {
        None | Some(ast::OrderBySort::Asc) => Ok(true),
        Some(ast::OrderBySort::Desc) => Ok(false),
        Some(_) => Err(Error::unsupported(term)),
    }
}

/// The terms of ORDER BY; empty without one.
pub(crate) fn order_of(query: &ast::Query) -> Result<&[OrderByExpr]> {
    match &query.order_by {
        None => Ok(&[]),
        Some(order) => match &order.kind {
            OrderByKind::Expressions(terms) if order.interpolate.is_none() => Ok(terms),
            _ => Err(Error::unsupported(order)),
        },
    }
}

/// LIMIT in numbers.
pub(crate) fn limit_of(query: &ast::Query) -> Result<Option<Limit>> {
    let count = |expr: &ast::Expr| -> Result<u64> {
        if pelorus_expression::is_placeholder(expr) {
            // A statement that is prepared has the same columns whatever the number will be.
            return Ok(1);
        }
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(digits, _) = &value.value
            && let Ok(count) = digits.parse::<u64>()
        {
            return Ok(count);
        }
        Err(Error::unsupported(format_args!("LIMIT {expr}")))
    };
    match &query.limit_clause {
        None => Ok(None),
        Some(LimitClause::LimitOffset { limit: Some(limit), offset, limit_by })
            if limit_by.is_empty() =>
        {
            let skip = offset.as_ref().map_or(Ok(0), |offset| count(&offset.value))?;
            Ok(Some(Limit::of(skip, count(limit)?)))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok(Some(Limit::of(count(offset)?, count(limit)?)))
        }
        Some(other) => Err(Error::unsupported(other)),
    }
}

/// The column that `ORDER BY 2` or `GROUP BY 2` means, from 0. `None` for a value that is not an
/// integer, which orders nothing.
///
/// # Errors
/// 1054 for a number out of range; the error names `clause`.
pub(crate) fn ordinal(value: &ast::Value, columns: usize, clause: &str) -> Result<Option<usize>> {
    let ast::Value::Number(digits, _) = value else { return Ok(None) };
    let Ok(position) = digits.parse::<usize>() else { return Ok(None) };
    if position == 0 || position > columns {
        return Err(Error::new(
            Code::UnknownColumn,
            format!("Unknown column '{digits}' in '{clause}'"),
        ));
    }
    Ok(Some(position - 1))
}

/// Refuses what MySQL does not have or what only a linked server can do.
fn refuse_extras(query: &ast::Query, ignores_locks: bool) -> Result<()> {
    if !query.locks.is_empty() && !ignores_locks {
        return Err(Error::unsupported(
            "FOR UPDATE and FOR SHARE in statements that write, or over several servers",
        ));
    }
    let foreign = query.fetch.is_some()
        || query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty();
    if foreign { Err(Error::unsupported(query)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_without_an_end_are_none() {
        let of = |skip, fetch| (Limit::of(skip, fetch).skip, Limit::of(skip, fetch).fetch);
        assert_eq!(of(1, u64::MAX), (1, None));
        assert_eq!(of(1, (1 << 60) - 1), (1, Some((1 << 60) - 1)));
        assert_eq!(of(u64::MAX, u64::MAX), (0, Some(0)));
        assert_eq!(of(7, 9), (7, Some(9)));
        assert_eq!(Limit::of(7, 9).reach(), Some(16));
        assert_eq!(Limit::of(7, u64::MAX).reach(), None);
    }
}
