//! `GROUP_CONCAT`: binds its additional arguments, the bytes that rows are sorted by and the
//! separator.

use std::sync::Arc;

use ::pelorus_functions as functions;
use arrow::array::{ArrayRef, StringArray};
use datafusion::common::ScalarValue;
use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_expression::literal;
use pelorus_sql::ast_analysis::unnested;
use pelorus_types::{ColumnType, collation};
use sqlparser::ast;

use super::expression::ExprBinder;
use super::function_call::Call;
use super::order_limit::is_ascending;
use super::statement::Binder;
use super::typed_expression::TypedExpr;
use crate::datafusion_adapter::row_key::{KeyTerm, RowKey};

impl Binder<'_> {
    /// Adds the other arguments of a `GROUP_CONCAT` to its values.
    ///
    /// # Errors
    /// Those of expressions, and 1235 where a server could answer: the length of its texts depends
    /// on its settings.
    pub(crate) fn concatenated(
        &self,
        call: &Call<'_>,
        mut values: Vec<TypedExpr>,
        binder: &ExprBinder<'_>,
    ) -> Result<Vec<TypedExpr>> {
        if binder.answer.is_some() {
            return Err(Error::unsupported("GROUP_CONCAT in the place of a linked server"));
        }
        let order = self.row_order(call, &values, binder)?;
        let separator = match call.separator {
            Some(text) => {
                literal(&ast::Expr::Value(text.clone()), self.context.mode, &self.context.eval)?
            }
            None => functions::literal::text(",", &self.context.eval),
        };
        values.extend([order, TypedExpr::literal(separator)?]);
        Ok(values)
    }

    /// The sort key of rows, as bytes; a constant if they are not sorted.
    fn row_order(
        &self,
        call: &Call<'_>,
        values: &[TypedExpr],
        binder: &ExprBinder<'_>,
    ) -> Result<TypedExpr> {
        let (mut keys, mut terms) = (Vec::new(), Vec::new());
        for term in call.order {
            let key = match place(&term.expr) {
                Some(place) => value_at(values, place)?.clone(),
                None => binder.value(&term.expr)?,
            };
            if key.arg().constant.is_some() {
                continue;
            }
            let nothing = nothing_of(&key)?;
            let ascending = is_ascending(term)?;
            terms.push(KeyTerm { ascending, nulls_first: true, nothing: Some(nothing) });
            keys.push(key.order_key(&self.context.eval)?);
        }
        if keys.is_empty() {
            return TypedExpr::literal(functions::literal::text_of("", collation::BINARY));
        }
        let expr = RowKey::of(keys, terms);
        Ok(TypedExpr::computed(expr, ColumnType::varchar(u32::MAX, collation::BINARY).not_null()))
    }
}

/// The number of a value that ORDER BY gives instead of an expression.
fn place(term: &ast::Expr) -> Option<usize> {
    match unnested(term) {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn value_at(values: &[TypedExpr], place: usize) -> Result<&TypedExpr> {
    let value = place.checked_sub(1).and_then(|at| values.get(at));
    value.ok_or_else(|| {
        let text = format!("Unknown column '{place}' in 'order clause'");
        Error::new(Code::UnknownColumn, text)
    })
}

/// The key of an empty text, in the form in which a key of bytes is.
fn nothing_of(key: &TypedExpr) -> Result<Vec<u8>> {
    if key.key.is_some() || !functions::needs_key(&key.ty) {
        return Ok(Vec::new());
    }
    let empty: ArrayRef = Arc::new(StringArray::from(vec![""]));
    match ScalarValue::try_from_array(
        &functions::comparison_keys(&empty, &key.ty, &Account::unlimited())?,
        0,
    ) {
        Ok(ScalarValue::Binary(Some(bytes))) => Ok(bytes),
        _ => Err(Error::internal("the key of a text is bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_of_values() {
        let number = |digits: &str| {
            let number = ast::Expr::value(ast::Value::Number(digits.to_owned(), false));
            ast::Expr::Nested(Box::new(number))
        };
        assert_eq!(place(&number("2")), Some(2));
        assert_eq!(place(&number("1.5")), None);
        assert_eq!(value_at(&[], 0).expect_err("no value").errno(), 1054);
        assert_eq!(value_at(&[], 1).expect_err("no value").errno(), 1054);
    }
}
