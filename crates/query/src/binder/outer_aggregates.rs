//! Aggregates of a block that occur in its subqueries.
//!
//! `HAVING a IN (SELECT c FROM u WHERE MAX(t.b) > c)` aggregates `t`: an aggregate belongs to the
//! block whose columns it names, and one that names none to the innermost block in which an
//! aggregate is allowed. Such calls are replaced by names of columns that the groups of the block
//! provide for its subqueries.

use std::ops::ControlFlow;

use pelorus_error::Result;
use pelorus_sql::ast_analysis;
use sqlparser::ast::{self, OrderByExpr, SetExpr, VisitMut, VisitorMut};

use super::expression::{Computed, canonical};
use super::function_call::{above, collect, is_aggregate};
use super::order_limit::BlockOrder;
use super::order_limit::order_of;
use super::scope::{Scope, ScopeColumn};
use super::statement::{BindScope, Binder};
use super::subquery;

/// The table of the columns that represent aggregates; no table of a statement has the name.
const AGGREGATES: &str = "\u{1}aggregates";

/// A block whose subqueries name its aggregates by columns.
pub(crate) struct Lifted {
    /// The block.
    pub(crate) select: ast::Select,
    /// Its ORDER BY.
    pub(crate) order: Vec<OrderByExpr>,
    /// The aggregates.
    pub(crate) calls: Vec<ast::Expr>,
}

impl Binder<'_> {
    /// Finds the aggregates of a block in subqueries of its select list, HAVING and ORDER BY. `None`
    /// where there are none.
    pub(crate) async fn lifted(
        &self,
        select: &ast::Select,
        order: BlockOrder<'_>,
        reach: &BindScope,
        scope: &Scope,
    ) -> Result<Option<Lifted>> {
        let mut queries = Vec::new();
        above(select, order.by).for_each(|expr| subquery::collect(expr, &mut queries));
        let mut lifted: Option<Lifted> = None;
        for (query, _) in queries {
            let calls = self.calls_of(&query, reach, scope).await?;
            if calls.is_empty() {
                continue;
            }
            let lifted = lifted.get_or_insert_with(|| Lifted {
                select: select.clone(),
                order: order.by.to_vec(),
                calls: Vec::new(),
            });
            let mut lift = Lift { query: &query, calls: &calls, scope, inside: 0 };
            // The visitor never breaks off.
            let _: ControlFlow<()> = lifted.select.visit(&mut lift);
            let _: ControlFlow<()> = lifted.order.visit(&mut lift);
            lifted.calls.extend(calls.into_iter().map(ast::Expr::Function));
        }
        Ok(lifted)
    }

    /// The calls in the clauses of a subquery that aggregate the rows of the block around it.
    async fn calls_of(
        &self,
        query: &ast::Query,
        reach: &BindScope,
        scope: &Scope,
    ) -> Result<Vec<ast::Function>> {
        let SetExpr::Select(select) = query.body.as_ref() else { return Ok(Vec::new()) };
        if query.with.is_some() {
            return Ok(Vec::new());
        }
        let (mut allowed, mut misplaced) = (Vec::new(), Vec::new());
        above(select, order_of(query)?).for_each(|it| collect(it, is_aggregate, &mut allowed));
        select.selection.iter().for_each(|it| collect(it, is_aggregate, &mut misplaced));
        let names =
            |call: &ast::Function| ast_analysis::columns(&ast::Expr::Function(call.clone()));
        let finds = |scope: &Scope, name: &[ast::Ident]| {
            let path: Vec<&str> = name.iter().map(|part| part.value.as_str()).collect();
            !matches!(scope.place(&path, ""), Ok(None))
        };
        allowed.retain(|call| !names(call).is_empty());
        allowed.extend(misplaced);
        allowed.retain(|call| names(call).iter().all(|name| finds(scope, name)));
        if allowed.iter().all(|call| names(call).is_empty()) {
            return Ok(allowed);
        }
        let (_, own) = self.from(select, reach).await?;
        allowed.retain(|call| !names(call).iter().any(|name| finds(&own, name)));
        Ok(allowed)
    }
}

/// The scope that subqueries above groups see: the columns of FROM that the groups provide, and the
/// aggregates of the block that occur in its subqueries.
pub(crate) fn above_groups(scope: &Scope, computed: &Computed, calls: &[ast::Expr]) -> Scope {
    let mut seen = Scope { outer: scope.outer.clone(), ..Scope::default() };
    for (at, column) in scope.columns.iter().enumerate() {
        if let Some(value) = computed.get(&canonical(&scope.path(at), scope)) {
            seen.columns.push(ScopeColumn { value: value.clone(), ..column.clone() });
        }
    }
    for call in calls {
        let text = canonical(call, scope);
        if let Some(value) = computed.get(&text) {
            seen.columns.push(ScopeColumn {
                schema: String::new(),
                table: AGGREGATES.to_owned(),
                folds: false,
                name: text,
                hidden: true,
                invisible: true,
                merged: None,
                value: value.clone(),
            });
        }
    }
    seen
}

/// Replaces aggregates in a subquery by names of columns.
struct Lift<'a> {
    query: &'a ast::Query,
    calls: &'a [ast::Function],
    scope: &'a Scope,
    /// The nesting depth of the node within the subquery; 0 for outside.
    inside: usize,
}

impl VisitorMut for Lift<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        if self.inside > 0 || query == self.query {
            self.inside += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.inside = self.inside.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if self.inside == 1
            && let ast::Expr::Function(call) = expr
            && self.calls.contains(call)
        {
            let text = canonical(expr, self.scope);
            let path = [AGGREGATES, &text].map(|part| ast::Ident::with_quote('`', part));
            *expr = ast::Expr::CompoundIdentifier(path.into());
        }
        ControlFlow::Continue(())
    }
}
