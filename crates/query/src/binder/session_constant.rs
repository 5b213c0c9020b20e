//! Variables and functions of our session in a statement.

use pelorus_functions::Value;
use sqlparser::ast;

use super::function_call::name_of;
use crate::context::QueryContext;

/// The variable, or the function of our session, that a term of ORDER BY or GROUP BY is but for
/// parentheses and signs. Such a term is a constant; its value in its place would be read as the
/// number of a column.
pub(crate) fn session_constant<'e>(
    context: &QueryContext,
    term: &'e ast::Expr,
) -> Option<&'e ast::Expr> {
    let mut inner = term;
    while let ast::Expr::Nested(next)
    | ast::Expr::UnaryOp {
        op: ast::UnaryOperator::Plus | ast::UnaryOperator::Minus,
        expr: next,
    } = inner
    {
        inner = next;
    }
    let is_ours = match inner {
        ast::Expr::Identifier(name) => is_variable(name),
        ast::Expr::CompoundIdentifier(path) => path.first().is_some_and(is_variable),
        ast::Expr::Function(function) => session_function(context, function).is_some(),
        _ => false,
    };
    is_ours.then_some(inner)
}

/// The value of a function that is about our session; `None` for any other.
pub(crate) fn session_function(context: &QueryContext, function: &ast::Function) -> Option<Value> {
    let bare = match &function.args {
        ast::FunctionArguments::None => true,
        ast::FunctionArguments::List(list) => list.args.is_empty(),
        ast::FunctionArguments::Subquery(_) => false,
    };
    if !bare {
        return None;
    }
    let name = name_of(function);
    context.variables.session_function(&name).map(|(value, _)| value)
}

pub(crate) fn is_variable(name: &ast::Ident) -> bool {
    name.quote_style.is_none() && name.value.starts_with('@')
}
