//! Evaluates the moment of `FOR SYSTEM_TIME AS OF` if it is an expression of constants and
//! variables (`NOW() - INTERVAL 1 MINUTE`, `@then`), before the table is opened.

use pelorus_error::{Error, Result};
use pelorus_functions::Value;
use pelorus_types::temporal::{DateTime, write_datetime};
use sqlparser::ast::{self, Expr, TableVersion};

use super::expression::Subqueries;
use super::scope::Scope;
use super::statement::Binder;

/// Digits after the seconds of a moment.
const DECIMALS: u8 = 6;

impl Binder<'_> {
    /// The same version with a literal for its moment or number. A literal is unchanged, and so is
    /// a parameter that a prepared statement does not know yet.
    ///
    /// # Errors
    /// Errors of the expression, and 1235 for one that is neither a time nor a number.
    pub(crate) fn settled_version(&self, version: &TableVersion) -> Result<TableVersion> {
        let is_literal = |expr: &Expr| matches!(expr, Expr::Value(_) | Expr::TypedString(_));
        Ok(match version {
            TableVersion::ForSystemTimeAsOf(expr) if !is_literal(expr) => {
                TableVersion::ForSystemTimeAsOf(self.literal_of(expr, version)?)
            }
            TableVersion::VersionAsOf(expr) if !is_literal(expr) => {
                TableVersion::VersionAsOf(self.literal_of(expr, version)?)
            }
            other => other.clone(),
        })
    }

    /// The value of an expression that names no column.
    fn literal_of(&self, expr: &Expr, version: &TableVersion) -> Result<Expr> {
        let (scope, subqueries) = (Scope::default(), Subqueries::new());
        let value = self.clause(&scope, &subqueries, "FOR SYSTEM_TIME").value(expr)?;
        let literal = match value.arg().constant {
            Some(Value::Date(packed)) => {
                let mut text = String::new();
                write_datetime(&mut text, DateTime::unpack(packed), DECIMALS);
                ast::Value::SingleQuotedString(text)
            }
            Some(Value::Text(text)) => ast::Value::SingleQuotedString(text),
            Some(Value::Int(number)) => ast::Value::Number(number.to_string(), false),
            Some(Value::UInt(number)) => ast::Value::Number(number.to_string(), false),
            _ => return Err(Error::unsupported(version)),
        };
        Ok(Expr::Value(literal.with_empty_span()))
    }
}
