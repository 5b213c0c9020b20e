//! Functional dependencies among the columns of a block, as MySQL's `ONLY_FULL_GROUP_BY` derives
//! them.
//!
//! | source | dependency |
//! | --- | --- |
//! | a primary key, a unique key without NULLs | determines all columns of its table |
//! | `a = b` of WHERE and of inner joins | each side determines the other; a column equal to a constant is constant |
//! | ON of an outer join | `inner = inner` as above; all columns of the outer side that ON names determine those of the inner side that ON compares with them or with constants |
//! | a column of a derived table | as its expression determines within |
//! | the keys of a derived table with GROUP BY | determine all its columns |
//!
//! An outer join fills rows with NULL. A dependency of its inner side survives that only if a NULL
//! in the determining columns implies NULL in the determined ones ([`super::facts::Fact::survives`]). An outer
//! join whose NULLs WHERE rejects is an inner join.

use pelorus_functions::names;
use pelorus_sql::Mode;
use pelorus_sql::ast_analysis::{self, Node, walk_expr};
use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

use super::facts::Facts;
use super::function_call;
use super::join_kind::{JoinKind, inner_conditions};
use super::named_columns::{all_columns, own_columns};
use super::scope::{Scope, path_of};

impl Facts {
    /// Adds the dependencies that follow from the equalities among conditions which every row
    /// meets.
    pub(crate) fn add_conditions<'a>(
        &mut self,
        conditions: impl IntoIterator<Item = &'a ast::Expr>,
        scope: &Scope,
        mode: Mode,
    ) {
        for (a, b) in conditions.into_iter().flat_map(|it| equalities(it, scope, mode)) {
            match (a, b) {
                (Side::Column(a), Side::Column(b)) => {
                    self.add(vec![a], vec![b], true);
                    self.add(vec![b], vec![a], true);
                }
                (Side::Column(a), Side::Constant) | (Side::Constant, Side::Column(a)) => {
                    self.add(Vec::new(), vec![a], false);
                }
                (Side::Constant, Side::Constant) => {}
            }
        }
    }

    /// The dependencies of a join, from those of its sides and its condition. `scope` has both
    /// sides, the right one from `begin` on.
    pub(crate) fn join(
        &mut self,
        scope: &Scope,
        (kind, begin): (JoinKind, usize),
        on: &[&ast::Expr],
        mode: Mode,
    ) {
        let inner = match kind {
            JoinKind::Inner => return self.add_conditions(on.iter().copied(), scope, mode),
            JoinKind::Left => begin..scope.columns.len(),
            JoinKind::Right => 0..begin,
        };
        let is_fixed = on.iter().all(|it| is_fixed(it, mode));
        let mut outer: Vec<usize> = on.iter().flat_map(|it| own_columns(it, scope)).collect();
        outer.retain(|at| !inner.contains(at));
        self.fill_with_null(&inner, is_fixed.then_some(&outer));
        let all = on.iter().flat_map(|it| equalities(it, scope, mode));
        let pairs: Vec<(Side, Side)> = all.collect();
        let is_inner = |side: &Side| matches!(side, Side::Column(at) if inner.contains(at));
        let rejects = pairs.iter().any(|(a, b)| {
            let is_outer = |side: &Side| matches!(side, Side::Column(_)) && !is_inner(side);
            is_inner(a) && is_outer(b) || is_outer(a) && is_inner(b)
        });
        for (a, b) in pairs {
            match (a, b) {
                (Side::Column(a), Side::Column(b)) if inner.contains(&a) && inner.contains(&b) => {
                    self.add(vec![a], vec![b], true);
                    self.add(vec![b], vec![a], true);
                }
                (Side::Column(at), _) if inner.contains(&at) && is_fixed => {
                    self.add(outer.clone(), vec![at], rejects);
                }
                (_, Side::Column(at)) if inner.contains(&at) && is_fixed => {
                    self.add(outer.clone(), vec![at], rejects);
                }
                _ => {}
            }
        }
    }
}

/// A side of an equality that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Column(usize),
    Constant,
}

/// The equalities that rows meet which meet a condition.
fn equalities(condition: &ast::Expr, scope: &Scope, mode: Mode) -> Vec<(Side, Side)> {
    let mut found = Vec::new();
    for part in ast_analysis::conjuncts(condition) {
        for (left, right) in compared(ast_analysis::unnested(part)) {
            if let (Some(left), Some(right)) = (side(left, scope, mode), side(right, scope, mode)) {
                found.push((left, right));
            }
        }
    }
    found
}

/// The pairs that a condition says are equal.
fn compared(part: &ast::Expr) -> Vec<(&ast::Expr, &ast::Expr)> {
    let unnested = ast_analysis::unnested;
    match part {
        ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            match (unnested(left), unnested(right)) {
                (ast::Expr::Tuple(left), ast::Expr::Tuple(right)) => {
                    left.iter().map(unnested).zip(right.iter().map(unnested)).collect()
                }
                pair => vec![pair],
            }
        }
        ast::Expr::UnaryOp { op: UnaryOperator::Not, expr } => match unnested(expr) {
            ast::Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => {
                vec![(unnested(left), unnested(right))]
            }
            _ => Vec::new(),
        },
        ast::Expr::InList { expr, list, negated: false } => match &list[..] {
            [one] => vec![(unnested(expr), unnested(one))],
            _ => Vec::new(),
        },
        ast::Expr::Between { expr, negated: false, low, high } if low == high => {
            vec![(unnested(expr), unnested(low))]
        }
        _ => Vec::new(),
    }
}

fn side(expr: &ast::Expr, scope: &Scope, mode: Mode) -> Option<Side> {
    if let Some(path) = path_of(expr)
        && let Some(at) = scope.place(&path, "").ok()?
    {
        return Some(Side::Column(at));
    }
    is_constant(expr, scope, mode).then_some(Side::Constant)
}

/// Whether an expression is the same for all rows of a block, and known before it runs.
pub(crate) fn is_constant(expr: &ast::Expr, scope: &Scope, mode: Mode) -> bool {
    let mut has_table = false;
    walk_expr(expr, &mut |node| has_table |= matches!(node, Node::Table(_)));
    let on = ast_analysis::expression_dependence(expr, mode);
    !has_table
        && is_fixed(expr, mode)
        && !on.calls(names::is_of_time)
        && on.user_variables.is_empty()
        && !ast_analysis::has_aggregate(expr)
        && all_columns(expr, scope).is_empty()
}

/// Whether an expression gives the same for the same values of its columns.
fn is_fixed(expr: &ast::Expr, mode: Mode) -> bool {
    let on = ast_analysis::expression_dependence(expr, mode);
    !on.calls(names::is_random)
        && !on.calls(names::has_effects)
        && on.stored.is_empty()
        && !on.assigns
}

/// The columns, by their paths, of which a row with NULL does not meet a condition.
pub(crate) fn rejecting(condition: &ast::Expr) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for part in ast_analysis::conjuncts(condition) {
        match ast_analysis::unnested(part) {
            ast::Expr::IsNotNull(inner)
            | ast::Expr::IsNotUnknown(inner)
            | ast::Expr::IsTrue(inner)
            | ast::Expr::IsFalse(inner) => spreading(inner, &mut found),
            // Of an empty set it is false, and not NULL: no part of another condition.
            ast::Expr::InSubquery { expr, negated: false, .. } => spreading(expr, &mut found),
            ast::Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                match ast_analysis::unnested(expr) {
                    ast::Expr::IsNull(inner) | ast::Expr::IsUnknown(inner) => {
                        spreading(inner, &mut found);
                    }
                    other => spreading(other, &mut found),
                }
            }
            other => spreading(other, &mut found),
        }
    }
    found
}

/// The columns of which WHERE, or an inner join, takes no NULL.
pub(crate) fn rejected_nulls(select: &ast::Select) -> Vec<Vec<&str>> {
    let joined = select.from.iter().flat_map(inner_conditions);
    joined.chain(&select.selection).flat_map(rejecting).collect()
}

/// Adds the columns of which a NULL makes an expression NULL.
pub(crate) fn spreading<'e>(expr: &'e ast::Expr, found: &mut Vec<Vec<&'e str>>) {
    match expr {
        ast::Expr::Nested(inner)
        | ast::Expr::Cast { expr: inner, .. }
        | ast::Expr::Collate { expr: inner, .. }
        | ast::Expr::Extract { expr: inner, .. }
        | ast::Expr::Ceil { expr: inner, .. }
        | ast::Expr::Floor { expr: inner, .. }
        | ast::Expr::Substring { expr: inner, .. }
        | ast::Expr::Trim { expr: inner, .. }
        | ast::Expr::UnaryOp { expr: inner, .. } => spreading(inner, found),
        ast::Expr::BinaryOp { left, op, right } => {
            if !matches!(
                op,
                BinaryOperator::And
                    | BinaryOperator::Or
                    | BinaryOperator::Xor
                    | BinaryOperator::Spaceship
            ) {
                spreading(left, found);
                spreading(right, found);
            }
        }
        ast::Expr::Between { expr, negated: false, .. } | ast::Expr::InList { expr, .. } => {
            spreading(expr, found)
        }
        ast::Expr::Like { expr, pattern, .. } | ast::Expr::RLike { expr, pattern, .. } => {
            spreading(expr, found);
            spreading(pattern, found);
        }
        ast::Expr::Function(function) if function.over.is_none() => {
            let name = function_call::name_of(function);
            let row = pelorus_functions::find(&name);
            let is_strict = row.is_some_and(|row| row.is_mysql && row.is_strict)
                && !ast_analysis::is_aggregate_name(&name);
            if is_strict && let Ok(args) = pelorus_expression::syntax::plain_arguments(function) {
                args.into_iter().for_each(|arg| spreading(arg, found));
            }
        }
        other => found.extend(path_of(other)),
    }
}
