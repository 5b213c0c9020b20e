//! Expressions that a generated column, CHECK constraint or default may not contain:
//! non-deterministic functions, variables, subqueries, rows, aggregates and window functions.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::names::{self, is_function};
use pelorus_functions::{Stored, find};
use pelorus_sql::ast_analysis::{self, Call, Node, is_aggregate_name, walk_expr};
use sqlparser::ast::Expr;

/// The place of an expression in a definition: the default or the value of a column, or a CHECK by
/// name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    Default(&'a str),
    Generated(&'a str),
    Check(&'a str),
}

impl Place<'_> {
    /// Refuses an expression that is not allowed in this place.
    ///
    /// # Errors
    /// MySQL's error for the construct.
    pub(crate) fn check(self, tree: &Expr) -> Result<()> {
        of_one_row(tree)?;
        let mut wrong = None;
        walk_expr(tree, &mut |node| {
            let found = match node {
                Node::Query(_) => Some(self.subquery()),
                Node::Expr(Expr::Identifier(name)) if name.quote_style.is_none() => {
                    name.value.starts_with('@').then(|| self.variable())
                }
                _ => None,
            };
            wrong = wrong.take().or(found);
        });
        if let Expr::Tuple(_) = inner(tree) {
            wrong = wrong.or_else(|| self.row());
        }
        let calls = ast_analysis::calls(tree);
        let wrong = wrong.or_else(|| calls.iter().find_map(|call| self.call(call)));
        wrong.map_or(Ok(()), Err)
    }

    fn subquery(self) -> Error {
        match self {
            Self::Default(column) => Error::new(
                Code::DefaultFunction,
                format!(
                    "Default value expression of column '{column}' contains a disallowed function."
                ),
            ),
            Self::Generated(column) => Error::new(
                Code::GeneratedColumnFunction,
                format!(
                    "Expression of generated column '{column}' contains a disallowed function."
                ),
            ),
            Self::Check(name) => Error::new(
                Code::CheckFunction,
                format!(
                    "An expression of a check constraint '{name}' contains disallowed function."
                ),
            ),
        }
    }

    fn variable(self) -> Error {
        match self {
            Self::Default(column) | Self::Generated(column) => Error::new(
                Code::DefaultVariable,
                format!(
                    "Default value expression of column '{column}' cannot refer user or system \
                     variables."
                ),
            ),
            Self::Check(name) => Error::new(
                Code::CheckVariable,
                format!(
                    "An expression of a check constraint '{name}' cannot refer to a user or system \
                     variable."
                ),
            ),
        }
    }

    fn row(self) -> Option<Error> {
        Some(match self {
            Self::Default(column) => Error::new(
                Code::DefaultRowValue,
                format!(
                    "Default value expression of column '{column}' cannot refer to a row value."
                ),
            ),
            Self::Generated(column) => Error::new(
                Code::GeneratedColumnRowValue,
                format!("Expression of generated column '{column}' cannot refer to a row value."),
            ),
            Self::Check(_) => return None,
        })
    }

    /// The error of a call that is not allowed here.
    fn call(self, call: &Call) -> Option<Error> {
        let name = call.name.as_str();
        let stored = find(name).map_or(Stored::Everywhere, |row| row.stored);
        let is_never = stored == Stored::Never;
        let is_of_moment = stored == Stored::Defaults;
        let is_known = is_function(name) || is_aggregate_name(name) || call.window;
        let function = match name {
            "NAME_CONST" => return Some(self.subquery()),
            // MySQL says in some places what it calls a function itself.
            "VERSION" | "ICU_VERSION" => format!("{}()", name.to_ascii_lowercase()),
            "MASTER_POS_WAIT" => "source_pos_wait".to_owned(),
            "CURRENT_DATE" => "curdate".to_owned(),
            "CURRENT_TIME" => "curtime".to_owned(),
            "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "now".to_owned(),
            "SCHEMA" => "database".to_owned(),
            "SESSION_USER" | "SYSTEM_USER" => "user".to_owned(),
            _ if is_known => name.to_ascii_lowercase(),
            _ => call.written.split('.').map(|it| format!("`{it}`")).collect::<Vec<_>>().join("."),
        };
        let is_wrong = is_never || !is_known || is_of_moment && !matches!(self, Self::Default(_));
        is_wrong.then(|| match self {
            Self::Default(column) => Error::new(
                Code::DefaultNamedFunction,
                format!(
                    "Default value expression of column '{column}' contains a disallowed function: \
                     {function}."
                ),
            ),
            Self::Generated(column) => Error::new(
                Code::GeneratedColumnNamedFunction,
                format!(
                    "Expression of generated column '{column}' contains a disallowed function: \
                     {function}."
                ),
            ),
            Self::Check(name) => Error::new(
                Code::CheckNamedFunction,
                format!(
                    "An expression of a check constraint '{name}' contains disallowed function: \
                     {function}."
                ),
            ),
        })
    }
}

/// Refuses an aggregate or a window function outside of subqueries, where there is one row.
///
/// # Errors
/// 1111 and 3593.
pub(crate) fn of_one_row(tree: &Expr) -> Result<()> {
    for call in ast_analysis::calls(tree) {
        if call.window {
            let name = call.name.to_ascii_lowercase();
            let text = format!("You cannot use the window function '{name}' in this context.'");
            return Err(Error::new(Code::InvalidWindowFunctionUse, text));
        }
        if is_aggregate_name(&call.name) && call.name != "ANY_VALUE" || call.name == "GROUPING" {
            return Err(Error::new(Code::InvalidGroupFunction, "Invalid use of group function"));
        }
    }
    Ok(())
}

/// An expression without the parentheses around it.
fn inner(tree: &Expr) -> &Expr {
    match tree {
        Expr::Nested(nested) => inner(nested),
        other => other,
    }
}

/// Whether an expression calls a function whose value is not that of the row alone.
pub(crate) fn not_of_rows(tree: &Expr) -> bool {
    ast_analysis::calls(tree).iter().any(|call| names::is_of_moment(&call.name))
}
