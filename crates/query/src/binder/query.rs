//! Binds query expressions: set operations, ORDER BY and LIMIT around SELECT blocks, WITH.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Union};
use futures::FutureExt;
use futures::future::BoxFuture;
use pelorus_error::{Code, Error, Result};
use pelorus_functions as functions;
use pelorus_sql::ast_analysis;
use pelorus_types::{Column, WireType};
use sqlparser::ast::{self, OrderByExpr, SetExpr, SetOperator, SetQuantifier};

use super::bound_query::{BoundColumn, BoundQuery, named};
use super::expression::Subqueries;
use super::mariadb_rules;
use super::order_limit::{BlockOrder, Limit, limit_of, order_of, ordered, ordinal, sort_term};
use super::plan_limits::check_columns;
use super::scope::Scope;
use super::session_constant::session_constant;
use super::statement::{BindScope, Binder, ScopedCte};
use super::typed_expression::TypedExpr;
use crate::datafusion_adapter::plan_nodes;
use crate::datafusion_adapter::plan_nodes::column_expr;
use crate::datafusion_adapter::udf::{from_datafusion, next_id};
use crate::placement::{Place, place};

impl Binder<'_> {
    /// Binds a query. `reach` has the names that it can use in addition to its own. A query whose
    /// tables all live on one server is left to that server.
    pub(crate) fn query<'b>(
        &'b self,
        query: &'b ast::Query,
        reach: &'b BindScope,
    ) -> BoxFuture<'b, Result<BoundQuery>> {
        async move {
            match place(self.context, query, &reach.ctes.keys().cloned().collect())? {
                Place::Server(link) => self.servers.query(self, link, query).await,
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
