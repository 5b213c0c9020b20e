//! Rows of values that are compared: `(a, b) = (c, d)` and its kin.

use pelorus_error::{Code, Error, Result};
use sqlparser::ast::{self, BinaryOperator};

use super::{ExprBinder, Typed};

impl ExprBinder<'_> {
    /// `(a, b) < (c, d)`: the first pair that is not equal decides.
    pub(super) fn row_comparison(
        &self,
        left: &[ast::Expr],
        op: &BinaryOperator,
        right: &[ast::Expr],
    ) -> Result<Typed> {
        if left.len() != right.len() {
            return Err(Error::new(
                Code::OperandColumns,
                format!("Operand should contain {} column(s)", left.len()),
            ));
        }
        // What decides before the last pair, what decides at it, what goes on to the next.
        let (before, last, same) = match op {
            BinaryOperator::Eq | BinaryOperator::NotEq => (None, "=", "="),
            BinaryOperator::Spaceship => (None, "<=>", "<=>"),
            BinaryOperator::Lt => (Some("<"), "<", "="),
            BinaryOperator::LtEq => (Some("<"), "<=", "="),
            BinaryOperator::Gt => (Some(">"), ">", "="),
            BinaryOperator::GtEq => (Some(">"), ">=", "="),
            other => return Err(Error::unsupported(format_args!("rows joined by {other}"))),
        };
        let mut pairs = left.iter().zip(right).rev();
        let Some((a, b)) = pairs.next() else { return Err(Error::unsupported("empty rows")) };
        let mut all = self.apply(last, &[a, b])?;
        for (a, b) in pairs {
            all = self.call("AND", vec![self.apply(same, &[a, b])?, all])?;
            if let Some(before) = before {
                all = self.call("OR", vec![self.apply(before, &[a, b])?, all])?;
            }
        }
        if *op == BinaryOperator::NotEq { self.call("NOT", vec![all]) } else { Ok(all) }
    }

    /// `(a, b) IN ((c, d), ...)`
    pub(super) fn row_in(&self, row: &ast::Expr, list: &[ast::Expr]) -> Result<Typed> {
        self.check_rows(std::iter::once(row).chain(list))?;
        let mut any: Option<Typed> = None;
        for other in list {
            let one = self.binary(row, &BinaryOperator::Eq, other)?;
            any = Some(match any {
                Some(before) => self.call("OR", vec![before, one])?,
                None => one,
            });
        }
        any.ok_or_else(|| Error::unsupported("IN ()"))
    }
}
