//! Function calls in a syntax tree: their names, which of them aggregate, and the clauses of an
//! aggregate.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast_analysis::{Node, calls, has_aggregate, is_aggregate_name, walk_expr};
use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, OrderByExpr, SelectItem, ValueWithSpan,
};

/// Whether an expression holds an aggregate of its own block.
pub(crate) fn contains(expr: &ast::Expr) -> bool {
    has_aggregate(expr)
}

/// Whether an expression makes one group of all rows where there is no GROUP BY, which all
/// aggregates do but `ANY_VALUE`: MySQL takes that for a function of a row there.
pub(crate) fn reduces(expr: &ast::Expr) -> bool {
    let is_one = |name: &str| is_aggregate_name(name) && name != "ANY_VALUE";
    calls(expr).iter().any(|call| !call.window && is_one(&call.name))
}

/// Adds the calls that are wanted of an expression, those of its subqueries aside.
pub(crate) fn collect(
    expr: &ast::Expr,
    wanted: impl Fn(&ast::Function) -> bool,
    found: &mut Vec<ast::Function>,
) {
    let mut depth = 0_usize;
    walk_expr(expr, &mut |node| match node {
        Node::Query(_) => depth += 1,
        Node::End => depth -= 1,
        Node::Expr(ast::Expr::Function(function)) if depth == 0 && wanted(function) => {
            found.push(function.clone());
        }
        _ => {}
    });
}

/// Whether a call aggregates the rows of a group.
pub(crate) fn is_aggregate(function: &ast::Function) -> bool {
    function.over.is_none() && is_aggregate_name(&name_of(function))
}

/// The upper-case name of a function.
pub(crate) fn name_of(function: &ast::Function) -> String {
    function.name.to_string().replace('`', "").to_ascii_uppercase()
}

/// The call of an aggregate.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The upper-case name.
    pub(crate) name: String,
    /// DISTINCT is given.
    pub(crate) distinct: bool,
    /// `COUNT(*)`.
    pub(crate) star: bool,
    /// The arguments.
    pub(crate) args: Vec<&'a ast::Expr>,
    /// ORDER BY within the parentheses.
    pub(crate) order: &'a [OrderByExpr],
    /// SEPARATOR within the parentheses.
    pub(crate) separator: Option<&'a ValueWithSpan>,
}

/// Reads an aggregate call. Only `GROUP_CONCAT` has clauses.
pub(crate) fn call_of(function: &ast::Function) -> Result<Call<'_>> {
    let FunctionArguments::List(list) = &function.args else {
        return Err(Error::unsupported(function));
    };
    if function.filter.is_some() || !function.within_group.is_empty() {
        return Err(Error::unsupported(function));
    }
    let mut call = Call {
        name: name_of(function),
        distinct: list.duplicate_treatment == Some(DuplicateTreatment::Distinct),
        star: false,
        args: Vec::new(),
        order: &[],
        separator: None,
    };
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(terms) => call.order = terms,
            FunctionArgumentClause::Separator(text) => call.separator = Some(text),
            _ => return Err(Error::unsupported(function)),
        }
    }
    for arg in &list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => call.args.push(expr),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if call.name == "COUNT" => {
                call.star = true;
            }
            _ => return Err(Error::unsupported(function)),
        }
    }
    Ok(call)
}

/// A window function where none may be.
pub(crate) fn misplaced(name: &str) -> Error {
    let text = format!("You cannot use the window function '{name}' in this context.'");
    Error::new(Code::InvalidWindowFunctionUse, text)
}

/// Refuses an expression with a window function.
///
/// # Errors
/// 3593.
pub(crate) fn refuse(expr: &ast::Expr) -> Result<()> {
    let mut found = Vec::new();
    collect(expr, |function| function.over.is_some(), &mut found);
    match found.first() {
        Some(function) => Err(misplaced(&name_of(function).to_ascii_lowercase())),
        None => Ok(()),
    }
}

/// Whether an expression is MIN or MAX of something that is computed: of a column they have its
/// type.
pub(crate) fn is_extreme_of_computed(expr: &ast::Expr) -> bool {
    let ast::Expr::Function(call) = expr else { return false };
    let name = call.name.to_string();
    let FunctionArguments::List(list) = &call.args else { return false };
    let is_column = |arg: &FunctionArg| {
        use ast::Expr::{CompoundIdentifier, Identifier};
        use ast::{FunctionArg::Unnamed, FunctionArgExpr::Expr};
        matches!(arg, Unnamed(Expr(Identifier(_) | CompoundIdentifier(_))))
    };
    call.over.is_none()
        && ["MIN", "MAX"].iter().any(|known| known.eq_ignore_ascii_case(&name))
        && !list.args.iter().any(is_column)
}

/// Whether a block makes groups of rows by its GROUP BY or its select list.
pub(crate) fn makes_groups(select: &ast::Select) -> bool {
    let has_keys = match &select.group_by {
        ast::GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let aggregates = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => contains(expr),
        _ => false,
    };
    has_keys || select.projection.iter().any(aggregates)
}

/// The expressions of the select list, of HAVING and of ORDER BY.
pub(crate) fn above<'a>(
    select: &'a ast::Select,
    order: &'a [OrderByExpr],
) -> impl Iterator<Item = &'a ast::Expr> {
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    items.chain(&select.having).chain(order.iter().map(|term| &term.expr))
}
