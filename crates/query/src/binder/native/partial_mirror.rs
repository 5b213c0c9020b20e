//! Filtered mirrors with a part of their table's columns: whether a query can run on the copy.
//!
//! A query that names a column which the copy leaves out fails. A query that computes with an
//! opaque column fails. The caller then runs the query on the source table.

use pelorus_error::{Error, Result};
use pelorus_sql::ast_analysis;
use sqlparser::ast::{self, Expr, JoinConstraint, TableFactor};

use crate::binder::join_kind::constraint;
use crate::binder::mentioned::takes_all_of_any;
use crate::binder::statement::Binder;
use crate::context::NativeTable;

/// Fails for columns that are not there.
pub(crate) fn check_columns(table: &NativeTable, positions: &[usize]) -> Result<()> {
    let Some(part) = &table.part else { return Ok(()) };
    let is_left_out = |at: &&usize| part.left_out.get(**at).copied().unwrap_or(false);
    match positions.iter().find(is_left_out) {
        None => Ok(()),
        Some(&at) => Err(Error::unsupported(format_args!(
            "column '{}' in queries of the mirror of '{}.{}', which leaves it out",
            table.columns[at].name, table.database, table.name
        ))),
    }
}

/// Fails if a query uses an opaque column other than in the select list of the query itself or in
/// IS NULL.
pub(crate) fn check_opaque(
    binder: &Binder<'_>,
    table: &NativeTable,
    positions: &[usize],
    select: &ast::Select,
) -> Result<()> {
    let Some(part) = &table.part else { return Ok(()) };
    let query = &binder.parsed.query;
    let is_opaque = |at: &&usize| part.opaque.get(**at).copied().unwrap_or(false);
    for &at in positions.iter().filter(is_opaque) {
        let name = &table.columns[at].name;
        if joins_by(select, name) || !is_only_shown(query, select, name) {
            return Err(Error::unsupported(format_args!(
                "anything but showing column '{name}' of the mirror of '{}.{}'",
                table.database, table.name
            )));
        }
    }
    Ok(())
}

/// Whether a block joins tables by columns of a name without an expression that has it. Joins in
/// parentheses are not looked into.
fn joins_by(select: &ast::Select, name: &str) -> bool {
    let is_it = |path: &ast::ObjectName| {
        let last = path.0.last().and_then(|part| part.as_ident());
        last.is_some_and(|it| it.value.eq_ignore_ascii_case(name))
    };
    let is_nested = |factor: &TableFactor| matches!(factor, TableFactor::NestedJoin { .. });
    select.from.iter().any(|item| is_nested(&item.relation))
        || select.from.iter().flat_map(|item| &item.joins).any(|join| {
            is_nested(&join.relation)
                || match constraint(&join.join_operator) {
                    Some(JoinConstraint::Natural) => true,
                    Some(JoinConstraint::Using(names)) => names.iter().any(is_it),
                    _ => false,
                }
        })
}

/// Whether a query of one block shows the columns of a name, and does nothing else with them.
fn is_only_shown(query: &ast::Query, select: &ast::Select, name: &str) -> bool {
    let is_named = |expr: &Expr| match expr {
        Expr::Identifier(ident) => ident.value.eq_ignore_ascii_case(name),
        Expr::CompoundIdentifier(path) => {
            path.last().is_some_and(|ident| ident.value.eq_ignore_ascii_case(name))
        }
        _ => false,
    };
    let is_null_test =
        |expr: &Expr| matches!(expr, Expr::IsNull(of) | Expr::IsNotNull(of) if is_named(of));
    let (mut named, mut allowed, mut is_numbered) = (0_usize, 0_usize, false);
    ast_analysis::walk_query(query, &mut |node| {
        if let ast_analysis::Node::Expr(expr) = node {
            named += usize::from(is_named(expr));
            allowed += usize::from(is_null_test(expr));
        }
    });
    let takes_all_here = takes_all_of_any(select);
    let ast::SetExpr::Select(outer) = query.body.as_ref() else {
        return named == allowed && !takes_all_here;
    };
    let mut has_alias = false;
    let mut takes_all = false;
    for item in &outer.projection {
        match item {
            ast::SelectItem::UnnamedExpr(expr) if is_named(expr) => allowed += 1,
            ast::SelectItem::ExprWithAlias { expr, .. } if is_named(expr) => {
                allowed += 1;
                has_alias = true;
            }
            ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..) => {
                takes_all = true;
            }
            _ => {}
        }
    }
    let order = query.order_by.as_ref().map(|it| &it.kind);
    if let Some(ast::OrderByKind::Expressions(terms)) = order {
        is_numbered = terms.iter().any(|term| matches!(&term.expr, Expr::Value(_)));
    }
    let is_grouped = !matches!(&outer.group_by,
        ast::GroupByExpr::Expressions(terms, _) if terms.is_empty());
    let is_block = std::ptr::eq(outer.as_ref(), select) || !takes_all_here;
    let plain = outer.distinct.is_none() && !is_grouped && outer.having.is_none();
    let shown = takes_all
        || outer.projection.iter().any(|item| {
            matches!(item, ast::SelectItem::UnnamedExpr(expr)
            | ast::SelectItem::ExprWithAlias { expr, .. } if is_named(expr))
        });
    let orders = is_numbered || has_alias && order.is_some();
    named == allowed && is_block && (!shown || plain && !orders)
}
