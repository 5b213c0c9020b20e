//! Columns of a grouped block that need not stand in GROUP BY.
//!
//! Under `ONLY_FULL_GROUP_BY` these are the columns that the keys determine: all columns of a table
//! whose primary key is among them, and, from the conditions of WHERE and of inner joins, what
//! equals a constant or a column that is determined. Texts that are equal may still differ, so
//! equality determines numbers, dates and bytes only. Without the mode any column may be named, and
//! any of its values in the group is right.

use datafusion::logical_expr::Expr;
use pelorus_functions::needs_key;
use pelorus_sql::normalise::{self, Node, walk_expr};
use sqlparser::ast::{self, BinaryOperator, JoinConstraint};

use super::aggregate::Grouping;
use super::query::Binder;
use super::scope::{Scope, ScopeColumn};
use crate::federate::block::{Kind, constraint};

/// The primary key of a table among the columns of a plan.
#[derive(Clone, Debug)]
pub(crate) struct TableKey {
    /// The columns of the key.
    pub(crate) key: Vec<Expr>,
    /// All columns of the table that were read.
    pub(crate) columns: Vec<Expr>,
}

impl Binder<'_> {
    /// The columns that expressions above the groups name and that have one value in each group,
    /// as they are written.
    pub(crate) fn dependent(
        &self,
        scope: &Scope,
        grouping: &Grouping<'_>,
        keys: Vec<Expr>,
    ) -> Vec<ast::Expr> {
        let full = self.context.options.only_full_group_by;
        let determined = full.then(|| determined(scope, grouping.select, keys));
        let mut found: Vec<ast::Expr> = Vec::new();
        // HAVING sees no columns but those of the select list.
        let having = grouping.select.having.as_ref();
        let is_having = |expr: &ast::Expr| having.is_some_and(|it| std::ptr::eq(it, expr));
        let over = grouping.over.iter().copied().filter(|expr| !is_having(expr));
        for expr in over.chain(grouping.starred) {
            walk_expr(expr, &mut |node| {
                if let Node::Expr(expr) = node
                    && let Some(column) = column(scope, expr)
                    && !grouping.is_alias(expr)
                    && determined.as_ref().is_none_or(|it| it.contains(&column.value.expr))
                    && !found.contains(expr)
                {
                    found.push(expr.clone());
                }
            });
        }
        found
    }
}

/// Everything that the keys determine, themselves included.
fn determined(scope: &Scope, select: &ast::Select, keys: Vec<Expr>) -> Vec<Expr> {
    let mut known = keys;
    let equalities = equalities(scope, select);
    loop {
        let before = known.len();
        for table in &scope.keys {
            if table.key.iter().all(|key| known.contains(key)) {
                add(&mut known, &table.columns);
            }
        }
        for (column, other) in &equalities {
            if other.as_ref().is_none_or(|other| known.contains(other)) {
                add(&mut known, std::slice::from_ref(column));
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

fn add(known: &mut Vec<Expr>, more: &[Expr]) {
    for expr in more {
        if !known.contains(expr) {
            known.push(expr.clone());
        }
    }
}

/// Columns and what they equal in every row: a constant (`None`) or another column.
fn equalities(scope: &Scope, select: &ast::Select) -> Vec<(Expr, Option<Expr>)> {
    let joins = select.from.iter().flat_map(|item| &item.joins);
    let on = joins.filter_map(|join| {
        let is_inner = Kind::of(&join.join_operator) == Some(Kind::Inner);
        match constraint(&join.join_operator) {
            Some(JoinConstraint::On(condition)) if is_inner => Some(condition),
            _ => None,
        }
    });
    let mut found = Vec::new();
    for part in on.chain(&select.selection).flat_map(normalise::conjuncts) {
        let ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = normalise::unnested(part)
        else {
            continue;
        };
        let (left, right) = (normalise::unnested(left), normalise::unnested(right));
        match (column(scope, left), column(scope, right)) {
            (Some(a), Some(b)) if a.value.ty.wire == b.value.ty.wire && !needs_key(&a.value.ty) => {
                found.push((a.value.expr.clone(), Some(b.value.expr.clone())));
                found.push((b.value.expr.clone(), Some(a.value.expr.clone())));
            }
            (Some(column), None) if is_constant(right) && !needs_key(&column.value.ty) => {
                found.push((column.value.expr.clone(), None));
            }
            (None, Some(column)) if is_constant(left) && !needs_key(&column.value.ty) => {
                found.push((column.value.expr.clone(), None));
            }
            _ => {}
        }
    }
    found
}

fn is_constant(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Value(_) | ast::Expr::TypedString(_))
}

fn column<'a>(scope: &'a Scope, expr: &ast::Expr) -> Option<&'a ScopeColumn> {
    let path: Vec<&str> = match expr {
        ast::Expr::Identifier(name) => vec![name.value.as_str()],
        ast::Expr::CompoundIdentifier(path) => path.iter().map(|it| it.value.as_str()).collect(),
        _ => return None,
    };
    scope.find(&path, "").ok().flatten()
}
