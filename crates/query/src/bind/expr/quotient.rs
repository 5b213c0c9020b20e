//! Quotients that are rounded, as a MariaDB has them.

use pelorus_error::Result;
use pelorus_functions::{self as functions, CastTarget, Value};
use pelorus_sql::normalise;
use sqlparser::ast::{self, BinaryOperator};

use super::{ExprBinder, Typed, mariadb};

impl ExprBinder<'_> {
    /// `ROUND(a / b, digits)` of exact numbers as a MariaDB has it: of a quotient with more digits
    /// than it shows. Nine more tell on which side of a half it is, for divisors below 10^9.
    pub(super) fn rounded_quotient(&self, args: &[&ast::Expr]) -> Result<Option<Typed>> {
        const MORE: u8 = 9;
        let [quotient, digits] = args else { return Ok(None) };
        let ast::Expr::BinaryOp { left, op: BinaryOperator::Divide, right } =
            normalise::unnested(quotient)
        else {
            return Ok(None);
        };
        let (left, right, digits) = (self.value(left)?, self.value(right)?, self.value(digits)?);
        let ty = left.arg().ty;
        let precision = if ty.is_decimal() { ty.precision() } else { 20 };
        let is_exact = |it: &Typed| it.arg().ty.is_integer() || it.arg().ty.is_decimal();
        let is_short = matches!(digits.arg().constant, Some(Value::Int(0..=4)));
        let fits = precision <= 65 - MORE && ty.decimals <= 16;
        if !is_exact(&left) || !is_exact(&right) || !is_short || !fits {
            return Ok(None);
        }
        mariadb::check_digits(&left)?;
        mariadb::check_digits(&right)?;
        let context = &self.context.eval;
        let wide = CastTarget::Decimal(precision + MORE, ty.decimals + MORE);
        let cast = functions::cast(wide, &left.arg(), context)?;
        let left = Typed::of_call(cast, vec![left], self.constants);
        let quotient = Typed::apply("/", vec![left, right], context, self.constants)?;
        Typed::apply("ROUND", vec![quotient, digits], context, self.constants).map(Some)
    }
}
