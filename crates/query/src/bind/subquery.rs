//! Finds the subqueries that an expression holds directly.

use pelorus_sql::normalise::{Node, walk_expr};
use sqlparser::ast;

/// Adds the outermost subqueries of an expression.
pub(crate) fn collect(expr: &ast::Expr, found: &mut Vec<ast::Query>) {
    let mut depth = 0_usize;
    walk_expr(expr, &mut |node| match node {
        Node::Query(query) => {
            if depth == 0 {
                found.push(query.clone());
            }
            depth += 1;
        }
        Node::End => depth -= 1,
        _ => {}
    });
}
