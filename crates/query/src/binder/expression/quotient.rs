//! Quotients and rounded numbers, whose digits MariaDB computes differently.

use pelorus_error::{Error, Result};
use pelorus_functions::{self as functions, CastTarget, Value};
use pelorus_sql::ast_analysis;
use sqlparser::ast::{self, BinaryOperator};

use super::{ExprBinder, TypedExpr, mariadb_rules, name_of};

impl ExprBinder<'_> {
    /// A value whose digits are those that it shows.
    ///
    /// # Errors
    /// Error 1235 for a quotient.
    pub(crate) fn exact(&self, expr: &ast::Expr) -> Result<TypedExpr> {
        let value = self.value(expr)?;
        mariadb_rules::check_digits(&value)?;
        Ok(value)
    }

    /// Refuses quotients in rows: a MariaDB compares all their digits in `(a, b) IN (..)`.
    pub(super) fn check_quotients<'e>(
        &self,
        rows: impl Iterator<Item = &'e ast::Expr>,
    ) -> Result<()> {
        for row in rows.filter(|_| self.is_mariadb()) {
            if let ast::Expr::Tuple(parts) = ast_analysis::unnested(row) {
                parts.iter().try_for_each(|part| self.exact(part).map(drop))?;
            }
        }
        Ok(())
    }

    /// The value of an aggregate, marked where a MariaDB has more digits of it.
    pub(crate) fn marked(&self, name: &str, value: TypedExpr) -> TypedExpr {
        if self.is_mariadb() && mariadb_rules::is_average(name) {
            return value.with_quotient(true);
        }
        value
    }

    /// `ROUND` and `TRUNCATE` to a constant number of digits, where a MariaDB does otherwise than
    /// the function for all.
    pub(super) fn rounded(&self, name: &str, args: &[&ast::Expr]) -> Result<Option<TypedExpr>> {
        let (value, digits) = match args {
            [value] if name == "ROUND" => (ast_analysis::unnested(value), 0),
            [value, digits] if matches!(name, "ROUND" | "TRUNCATE") => {
                let digits = match self.value(digits)?.arg().constant {
                    Some(Value::Int(digits)) => u8::try_from(digits).ok(),
                    _ => None,
                };
                let Some(digits) = digits else { return Ok(None) };
                (ast_analysis::unnested(value), digits)
            }
            _ => return Ok(None),
        };
        match value {
            ast::Expr::BinaryOp { left, op: BinaryOperator::Divide, right } if name == "ROUND" => {
                self.rounded_quotient(left, right, digits)
            }
            ast::Expr::Function(call)
                if name == "ROUND" && mariadb_rules::is_average(&name_of(call)) =>
            {
                self.rounded_average(value, args, digits)
            }
            _ => self.extended(value, digits),
        }
    }

    /// `ROUND(a / b, digits)` of exact numbers: of a quotient with more digits than it shows.
    fn rounded_quotient(
        &self,
        left: &ast::Expr,
        right: &ast::Expr,
        digits: u8,
    ) -> Result<Option<TypedExpr>> {
        let (left, right) = (self.exact(left)?, self.exact(right)?);
        let ty = left.ty;
        let is_exact = |it: &TypedExpr| it.ty.is_integer() || it.ty.is_decimal();
        // A MariaDB's quotient has at least nine digits as long as all of it fits 81.
        let fits = (!ty.is_decimal() || ty.precision() <= 56) && ty.decimals <= 16;
        if !is_exact(&left) || !is_exact(&right) || right.ty.decimals > 16 || digits > 4 || !fits {
            return Ok(None);
        }
        let described = [left.arg(), right.arg()];
        let call = functions::rounded_quotient(&described, digits, &self.context.eval)?;
        Ok(Some(TypedExpr::of_call(call, vec![left, right], self.constants)))
    }

    /// `ROUND(AVG(x), digits)`, of an average that has the digits that a MariaDB has.
    fn rounded_average(
        &self,
        average: &ast::Expr,
        args: &[&ast::Expr],
        digits: u8,
    ) -> Result<Option<TypedExpr>> {
        let value = self.value(average)?;
        let shown = value.ty.decimals;
        let is_known = digits == shown || digits < shown && value.arg().scale > shown;
        if !value.is_quotient() || !is_known {
            return Ok(None);
        }
        let mut bound = vec![value];
        bound.extend(
            args.iter().skip(1).map(|digits| self.value(digits)).collect::<Result<Vec<_>>>()?,
        );
        TypedExpr::apply("ROUND", bound, &self.context.eval, self.constants).map(Some)
    }

    /// A decimal rounded to more digits than it has: a MariaDB shows the zeros.
    fn extended(&self, value: &ast::Expr, digits: u8) -> Result<Option<TypedExpr>> {
        let value = self.value(value)?;
        if value.is_quotient() || !value.ty.is_decimal() || digits <= value.ty.decimals {
            return Ok(None);
        }
        let precision =
            value.ty.precision().saturating_sub(value.ty.decimals).saturating_add(digits);
        if precision > 65 || digits > 30 {
            return Err(Error::unsupported("ROUND to so many digits on a MariaDB"));
        }
        let target = CastTarget::Decimal(precision, digits);
        let call = functions::cast(target, &value.arg(), &self.context.eval)?;
        Ok(Some(TypedExpr::of_call(call, vec![value], self.constants)))
    }
}
