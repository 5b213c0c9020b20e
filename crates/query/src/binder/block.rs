//! One SELECT block on its way.

use pelorus_error::{Code, Error, Result};
use sqlparser::ast::{self, Distinct, GroupByExpr, GroupByWithModifier};

use super::clause_names::{Clauses, Term};
use super::expression::{Subqueries, canonical};
use super::function_call::{collect, is_aggregate, reduces};
use super::order_limit::BlockOrder;
use super::scope::Scope;
use super::select_list::Item;
use super::subquery;

/// A block on its way.
pub(crate) struct Block<'a> {
    /// The block as it was written.
    pub(crate) select: &'a ast::Select,
    /// Its ORDER BY and LIMIT.
    pub(crate) order: BlockOrder<'a>,
    /// The select list, `*` spelt out.
    pub(crate) items: Vec<Item>,
    /// Bound subqueries.
    pub(crate) subqueries: Subqueries,
    /// Equal rows are still to be merged.
    pub(crate) distinct: bool,
    /// GROUP BY, HAVING and ORDER BY.
    pub(crate) clauses: Clauses,
    /// Its aggregates that occur in its subqueries.
    pub(crate) calls: Vec<ast::Expr>,
    /// Which columns of FROM the keys of the groups determine; nothing where any may be named.
    pub(crate) determined: Vec<bool>,
}

impl<'a> Block<'a> {
    /// Whether rows are put into groups.
    pub(crate) fn is_grouped(&self) -> bool {
        let items = self.items.iter().filter_map(|item| item.expr.as_ref());
        !self.clauses.keys.is_empty()
            || !self.calls.is_empty()
            || items.chain(&self.clauses.having).any(reduces)
    }

    /// The subqueries of expressions over the rows of FROM, with whether they are operands of
    /// EXISTS.
    pub(crate) fn early(&self, grouped: bool) -> Vec<(ast::Query, bool)> {
        let mut found = Vec::new();
        let mut add = |expr: &ast::Expr| subquery::collect(expr, &mut found);
        self.select.selection.iter().for_each(&mut add);
        self.clauses.keys.iter().for_each(|key| add(&key.expr));
        let mut calls = Vec::new();
        for expr in self.expressions() {
            if !grouped {
                add(expr);
            }
            collect(expr, is_aggregate, &mut calls);
        }
        calls.into_iter().for_each(|call| add(&ast::Expr::Function(call)));
        found
    }

    /// The subqueries above the groups, with whether they are operands of EXISTS.
    pub(crate) fn late(&self) -> Vec<(ast::Query, bool)> {
        let mut found = Vec::new();
        for expr in self.expressions() {
            subquery::collect(expr, &mut found);
        }
        found
    }

    /// The places in FROM of the columns that `*` brought.
    pub(crate) fn starred(&self) -> Vec<usize> {
        let starred = self.items.iter().filter(|item| item.expr.is_none());
        starred.filter_map(|item| item.place).collect()
    }

    /// Whether groups of these keys come in the wanted order, and nothing is computed over them.
    pub(crate) fn is_ordered_by(&self, keys: &[ast::Expr], scope: &Scope) -> bool {
        let is_key = |(at, term): (usize, &Term)| {
            let expr = match term {
                Term::Item(item) => self.items[*item].expression(scope).ok(),
                Term::Value(expr) => Some(expr.clone()),
                Term::Nothing => None,
            };
            let key = keys.get(at).zip(expr);
            key.is_some_and(|(key, expr)| canonical(key, scope) == canonical(&expr, scope))
        };
        self.windows().is_empty() && self.clauses.order.iter().enumerate().all(is_key)
    }

    /// The window functions of the select list and of ORDER BY, the only places where they may be.
    pub(crate) fn windows(&self) -> Vec<ast::Function> {
        let items = self.items.iter().filter_map(|item| item.expr.as_ref());
        let mut found = Vec::new();
        for expr in items.chain(self.clauses.order_values()) {
            collect(expr, |function| function.over.is_some(), &mut found);
        }
        found
    }

    /// The expressions above the groups, and the aggregates in their subqueries.
    pub(crate) fn expressions(&'a self) -> Vec<&'a ast::Expr> {
        let items = self.items.iter().filter_map(|item| item.expr.as_ref());
        let clauses = self.clauses.having.iter().chain(self.clauses.order_values());
        items.chain(clauses).chain(&self.calls).collect()
    }
}

/// Whether a block has a GROUP BY.
pub(crate) fn has_keys(select: &ast::Select) -> bool {
    match &select.group_by {
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        GroupByExpr::All(_) => true,
    }
}

/// Most keys that MySQL rolls up.
const MAX_ROLLED_UP: usize = 127;

/// Whether groups are rolled up.
///
/// # Errors
/// 6034 for more keys than MySQL allows, 1235 for other modifiers.
pub(crate) fn is_rollup(select: &ast::Select) -> Result<bool> {
    match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) => match &modifiers[..] {
            [] => Ok(false),
            [GroupByWithModifier::Rollup] if keys.len() > MAX_ROLLED_UP => {
                let text = format!(
                    "'ROLLUP' is supported with maximum {MAX_ROLLED_UP} elements in the GROUP BY list"
                );
                Err(Error::new(Code::TooManyRolledUp, text))
            }
            [GroupByWithModifier::Rollup] => Ok(true),
            [other, ..] => Err(Error::unsupported(format_args!("GROUP BY ... {other}"))),
        },
        GroupByExpr::All(_) => Ok(false),
    }
}

/// Whether DISTINCT is set.
pub(crate) fn is_distinct(select: &ast::Select) -> Result<bool> {
    match &select.distinct {
        None | Some(Distinct::All) => Ok(false),
        Some(Distinct::Distinct) => Ok(true),
        Some(Distinct::On(_)) => Err(Error::unsupported("DISTINCT ON")),
    }
}
