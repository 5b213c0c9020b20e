//! Finds the outermost subqueries of an expression.

use pelorus_sql::ast_analysis::{Node, walk_expr};
use sqlparser::ast::{self, SelectItem, SetExpr};

/// Adds the outermost subqueries of an expression, each with whether it is the operand of EXISTS.
pub(crate) fn collect(expr: &ast::Expr, found: &mut Vec<(ast::Query, bool)>) {
    let (mut depth, mut is_exists) = (0_usize, false);
    walk_expr(expr, &mut |node| match node {
        Node::Query(query) => {
            if depth == 0 {
                found.push((query.clone(), is_exists));
            }
            depth += 1;
        }
        Node::End => depth -= 1,
        Node::Expr(expr) if depth == 0 => is_exists = matches!(expr, ast::Expr::Exists { .. }),
        _ => {}
    });
}

/// Takes `*` for a constant in a query of EXISTS without tables, where it means no columns.
pub(crate) fn without_star(query: &mut ast::Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if !select.from.is_empty() {
        return;
    }
    for item in &mut select.projection {
        if matches!(item, SelectItem::Wildcard(_)) {
            let one = ast::Value::Number("1".to_owned(), false);
            *item = SelectItem::UnnamedExpr(ast::Expr::value(one));
        }
    }
}
