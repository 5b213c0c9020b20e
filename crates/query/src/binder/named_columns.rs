//! The columns that an expression names.

use std::ops::ControlFlow;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast_analysis::{self, Node, is_aggregate_name, walk_expr};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, VisitMut, VisitorMut};

use super::function_call::name_of;
use super::scope::{Scope, is_variable, path_of};

/// The columns of FROM that an expression names itself, by their places: not within aggregates,
/// the definitions of windows and subqueries, of which only the value that `IN` looks for counts.
pub(crate) fn own_columns(expr: &ast::Expr, scope: &Scope) -> Vec<usize> {
    let mut copy = expr.clone();
    // The visitor never breaks off.
    let _: ControlFlow<()> = copy.visit(&mut Strip { aggregates: true });
    let mut places = Vec::new();
    for path in ast_analysis::columns(&copy) {
        let path: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        if let Ok(Some(at)) = scope.place(&path, "") {
            places.push(at);
        }
    }
    places
}

/// The columns of FROM that an expression names, those that its subqueries may mean included.
pub(crate) fn all_columns(expr: &ast::Expr, scope: &Scope) -> Vec<usize> {
    let mut found = own_columns(expr, scope);
    let mut depth = 0_usize;
    walk_expr(expr, &mut |node| match node {
        Node::Query(_) => depth += 1,
        Node::End => depth -= 1,
        Node::Expr(expr) if depth > 0 => {
            let place = path_of(expr).and_then(|path| scope.place(&path, "").ok()?);
            found.extend(place);
        }
        _ => {}
    });
    found
}

/// Checks whether the names of an expression resolve to a column of a block or of the enclosing
/// one; those of windows and subqueries are left out.
///
/// # Errors
/// 1052 and 1054.
pub(crate) fn check_names(expr: &ast::Expr, scope: &Scope, clause: &str) -> Result<()> {
    let mut copy = expr.clone();
    // The visitor never breaks off.
    let _: ControlFlow<()> = copy.visit(&mut Strip { aggregates: false });
    for path in ast_analysis::columns(&copy).into_iter().filter(|path| !is_variable(path)) {
        let path: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        let is_known = scope.place(&path, clause)?.is_some()
            || match &scope.outer {
                Some(outer) => outer.place(&path, clause)?.is_some(),
                None => false,
            };
        if !is_known {
            return Err(unknown(&path, clause));
        }
    }
    Ok(())
}

/// Takes everything away whose names are not looked at one by one.
struct Strip {
    /// Aggregates are among it.
    aggregates: bool,
}

impl VisitorMut for Strip {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let nothing = || ast::Expr::value(ast::Value::Null);
        match expr {
            ast::Expr::Subquery(_) | ast::Expr::Exists { .. } => *expr = nothing(),
            ast::Expr::InSubquery { expr: value, .. } => {
                let value = std::mem::replace(value.as_mut(), nothing());
                *expr = ast::Expr::Nested(Box::new(value));
            }
            ast::Expr::Function(function) => {
                let name = name_of(function);
                if function.over.is_some() {
                    function.over = Some(ast::WindowType::NamedWindow(ast::Ident::new("w")));
                } else if self.aggregates && (is_aggregate_name(&name) || name == "GROUPING") {
                    *expr = nothing();
                } else if let Some(unit) = unit_of(function) {
                    *unit = nothing();
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The first argument of a call that is a word and no name.
pub(crate) fn unit_of(function: &mut ast::Function) -> Option<&mut ast::Expr> {
    if !matches!(name_of(function).as_str(), "TIMESTAMPDIFF" | "TIMESTAMPADD" | "GET_FORMAT") {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else { return None };
    match list.args.first_mut() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => Some(expr),
        _ => None,
    }
}

/// Error 1054.
pub(crate) fn unknown(path: &[&str], clause: &str) -> Error {
    Error::new(Code::UnknownColumn, format!("Unknown column '{}' in '{clause}'", path.join(".")))
}
