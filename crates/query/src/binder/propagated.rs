//! MySQL's equality propagation, if it changes the result of a condition.
//!
//! MySQL replaces one of several equal columns by another. If `IN` compares columns of several
//! collations under their common one, its result changes: `a.ci = b.ci AND a.ci IN (b.ci, b.bin)`
//! compares `a.ci` with itself.

use std::collections::HashSet;

use pelorus_error::{Error, Result};
use pelorus_sql::ast_analysis::{self, Node, walk_expr};
use sqlparser::ast::{self, BinaryOperator};

use super::join_kind::inner_conditions;
use super::scope::{Scope, path_of};

/// Refuses lists of `IN` in which a MySQL puts other columns.
///
/// # Errors
/// 1235.
pub(super) fn check(select: &ast::Select, scope: &Scope) -> Result<()> {
    let joined = select.from.iter().flat_map(inner_conditions);
    let conditions: Vec<&ast::Expr> = joined.chain(&select.selection).collect();
    let mut mixed = HashSet::new();
    for condition in &conditions {
        walk_expr(condition, &mut |node| {
            if let Node::Expr(ast::Expr::InList { expr, list, .. }) = node {
                let places: HashSet<usize> =
                    list.iter().chain([expr.as_ref()]).filter_map(|it| text(it, scope)).collect();
                let collations: HashSet<_> =
                    places.iter().map(|&at| scope.columns[at].value.ty.collation).collect();
                if collations.len() > 1 {
                    mixed.extend(places);
                }
            }
        });
    }
    let is_changed = |part: &ast::Expr| match ast_analysis::unnested(part) {
        ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            let sides = [text(left, scope), text(right, scope)];
            sides.iter().all(Option::is_some) && sides.iter().flatten().any(|at| mixed.contains(at))
        }
        _ => false,
    };
    let mut parts = conditions.into_iter().flat_map(ast_analysis::conjuncts);
    match !mixed.is_empty() && parts.any(is_changed) {
        true => Err(Error::unsupported(
            "IN of columns of several collations together with an equality of one of them",
        )),
        false => Ok(()),
    }
}

/// The place of a column of texts.
fn text(expr: &ast::Expr, scope: &Scope) -> Option<usize> {
    let path = path_of(ast_analysis::unnested(expr))?;
    let at = scope.place(&path, "").ok()??;
    scope.columns[at].value.ty.is_string().then_some(at)
}
