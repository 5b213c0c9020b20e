//! Row comparisons: `(a, b) = (c, d)`, `<`, `<=>` and similar.

use pelorus_error::{Code, Error, Result};
use sqlparser::ast::{self, BinaryOperator};

use super::super::ordered_conjunction;
use super::{ExprBinder, TypedExpr};

/// The maximum number of values in rows that are ordered: each one nests the condition deeper.
const MAX_ORDERED: usize = 128;

impl ExprBinder<'_> {
    /// `(a, b) < (c, d)`: the first pair that is not equal decides.
    pub(crate) fn row_comparison(
        &self,
        left: &[ast::Expr],
        op: &BinaryOperator,
        right: &[ast::Expr],
    ) -> Result<TypedExpr> {
        if left.len() != right.len() {
            return Err(Error::new(
                Code::OperandColumns,
                format!("Operand should contain {} column(s)", left.len()),
            ));
        }
        // What decides before the last pair, and what at it.
        let (before, last) = match op {
            BinaryOperator::Eq => return self.same_rows("=", left, right),
            BinaryOperator::NotEq => {
                return self.call("NOT", vec![self.same_rows("=", left, right)?]);
            }
            BinaryOperator::Spaceship => return self.same_rows("<=>", left, right),
            BinaryOperator::Lt => ("<", "<"),
            BinaryOperator::LtEq => ("<", "<="),
            BinaryOperator::Gt => (">", ">"),
            BinaryOperator::GtEq => (">", ">="),
            other => return Err(Error::unsupported(format_args!("rows joined by {other}"))),
        };
        if left.len() > MAX_ORDERED {
            return Err(Error::unsupported(format_args!(
                "{op} of rows of more than {MAX_ORDERED} values"
            )));
        }
        let mut pairs = left.iter().zip(right).rev();
        let Some((a, b)) = pairs.next() else { return Err(Error::unsupported("empty rows")) };
        let mut all = self.apply(last, &[a, b])?;
        for (a, b) in pairs {
            all = self.call("AND", vec![self.apply("=", &[a, b])?, all])?;
            all = self.call("OR", vec![self.apply(before, &[a, b])?, all])?;
        }
        Ok(all)
    }

    /// Whether all pairs are equal.
    fn same_rows(&self, op: &str, left: &[ast::Expr], right: &[ast::Expr]) -> Result<TypedExpr> {
        let each = left.iter().zip(right).map(|(a, b)| self.apply(op, &[a, b]));
        let each = each.collect::<Result<Vec<_>>>()?;
        let all =
            ordered_conjunction::balanced(each, |left, right| self.call("AND", vec![left, right]))?;
        all.ok_or_else(|| Error::unsupported("empty rows"))
    }

    /// `(a, b) IN ((c, d), ...)`; the values of several rows are taken as they are.
    pub(crate) fn row_in(&self, row: &ast::Expr, list: &[ast::Expr]) -> Result<TypedExpr> {
        self.check_rows(std::iter::once(row).chain(list))?;
        let each = list.iter().map(|other| match (row, other) {
            (ast::Expr::Tuple(left), ast::Expr::Tuple(right))
                if list.len() > 1 && left.len() == right.len() =>
            {
                self.same_rows("CASE =", left, right)
            }
            _ => self.binary(row, &BinaryOperator::Eq, other),
        });
        let each = each.collect::<Result<Vec<_>>>()?;
        let any =
            ordered_conjunction::balanced(each, |left, right| self.call("OR", vec![left, right]))?;
        any.ok_or_else(|| Error::unsupported("IN ()"))
    }
}
