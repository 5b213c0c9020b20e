//! Functional dependencies among the outputs of a query that runs on a server, derived from its
//! tables' keys and its conditions.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use futures::FutureExt;
use futures::future::BoxFuture;
use pelorus_error::Result;
use pelorus_functions::EvalContext;
use pelorus_link::Link;
use pelorus_types::{Column, ColumnType};
use sqlparser::ast::{self, SetExpr, TableFactor};

use super::block::remote_columns;
use crate::binder::block::Block;
use crate::binder::clause_names::Names;
use crate::binder::expression::Subqueries;
use crate::binder::facts::Facts;
use crate::binder::from_clause::{How, joined};
use crate::binder::functional_dependency::rejected_nulls;
use crate::binder::join_kind::{JoinKind, constraint};
use crate::binder::order_limit::BlockOrder;
use crate::binder::scope::Scope;
use crate::binder::select_list::items;
use crate::binder::statement::Binder;
use crate::binder::typed_expression::TypedExpr;

/// The outputs of a query, and the dependencies among them.
struct Known {
    outputs: Vec<Column>,
    facts: Facts,
}

impl Binder<'_> {
    /// The dependencies among the outputs of a query whose tables are on a server. Constructs that
    /// are not understood give none.
    pub(crate) async fn remote_facts(&self, link: &Link, query: &ast::Query) -> Facts {
        if !self.context.options.only_full_group_by {
            return Facts::default();
        }
        match self.known(link, query).await {
            Ok(Some(known)) => known.facts,
            _ => Facts::default(),
        }
    }

    fn known<'b>(
        &'b self,
        link: &'b Link,
        query: &'b ast::Query,
    ) -> BoxFuture<'b, Result<Option<Known>>> {
        async move {
            let _level = self.deeper()?;
            let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
            if query.with.is_some() {
                return Ok(None);
            }
            let Some(scope) = self.known_scope(link, select).await? else { return Ok(None) };
            let items = items(select, &scope, self.parsed.names(select))?;
            let eval = EvalContext::default();
            let names = Names::new(&scope, &items, &eval);
            let clauses = names.clauses(select, &[])?;
            let values: Vec<TypedExpr> = items
                .iter()
                .map(|item| match item.place {
                    Some(place) => scope.columns[place].value.clone(),
                    None => TypedExpr::computed(nothing(), ColumnType::null()),
                })
                .collect();
            let outputs = items.iter().zip(&values);
            let outputs = outputs.map(|(item, value)| Column::computed(&item.name, value.ty));
            let outputs = outputs.collect();
            let (order, subqueries) = (BlockOrder::default(), Subqueries::new());
            let (calls, determined, distinct) = (Vec::new(), Vec::new(), false);
            let block =
                Block { select, order, items, subqueries, distinct, clauses, calls, determined };
            let facts = self.outputs(&scope, &block, &values)?;
            Ok(Some(Known { outputs, facts }))
        }
        .boxed()
    }

    /// The scope of a FROM clause; `None` where it has more than tables and derived tables.
    async fn known_scope(&self, link: &Link, select: &ast::Select) -> Result<Option<Scope>> {
        let rejected = rejected_nulls(select);
        let mode = self.context.mode;
        let mut whole: Option<Scope> = None;
        for item in &select.from {
            let Some(mut side) = self.known_factor(link, &item.relation, select).await? else {
                return Ok(None);
            };
            for join in &item.joins {
                let right = self.known_factor(link, &join.relation, select).await?;
                let (Some(right), Some(kind)) = (right, JoinKind::of(&join.join_operator)) else {
                    return Ok(None);
                };
                let how = How { kind, constraint: constraint(&join.join_operator) };
                side = joined(side, right, how, &rejected, mode)?.scope;
                if kind != JoinKind::Inner {
                    side.columns.iter_mut().for_each(|column| column.value.set_nullable());
                }
            }
            whole = Some(match whole {
                Some(before) => {
                    let how = How { kind: JoinKind::Inner, constraint: None };
                    joined(before, side, how, &rejected, mode)?.scope
                }
                None => side,
            });
        }
        Ok(whole)
    }

    async fn known_factor(
        &self,
        link: &Link,
        factor: &TableFactor,
        select: &ast::Select,
    ) -> Result<Option<Scope>> {
        let mut scope = Scope::default();
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let Some((name, table)) = self.remote_table(link, name).await? else {
                    return Ok(None);
                };
                let alias = alias.as_ref().map_or(name, |alias| alias.name.value.clone());
                let columns = remote_columns(&table);
                let typed = columns.iter().map(|it| TypedExpr::column(nothing(), it)).collect();
                let names = (table.database.as_str(), alias.as_str());
                scope.push_remote(names, &table, (typed, &columns), select);
            }
            TableFactor::Derived { lateral: false, subquery, alias: Some(alias), .. } => {
                let Some(mut known) = self.known(link, subquery).await? else { return Ok(None) };
                for (column, name) in known.outputs.iter_mut().zip(&alias.columns) {
                    column.name.clone_from(&name.name.value);
                }
                let typed = known.outputs.into_iter().map(|column| {
                    let mut value = TypedExpr::computed(nothing(), column.ty);
                    value.origin = Some(Arc::new(column));
                    value
                });
                scope.push_relation("", &alias.name.value, typed.collect());
                scope.facts = known.facts;
            }
            _ => return Ok(None),
        }
        Ok(Some(scope))
    }
}

/// The value of a column whose rows are not looked at.
fn nothing() -> Expr {
    Expr::Literal(ScalarValue::Null, None)
}
