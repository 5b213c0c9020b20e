//! Constants that MySQL converts to the type of a column when it compares a column with a constant
//! in conditions on rows.

use pelorus_error::{Error, Result};
use pelorus_expression::Binder as _;
use pelorus_expression::syntax::is_row;
use pelorus_functions::{Arg, Origin, Value, whole_number};
use pelorus_sql::operator::function_of;
use pelorus_types::column::DECIMALS_NOT_FIXED;
use pelorus_types::{ColumnType, WireType};
use sqlparser::ast;

use super::super::mariadb_rules;
use super::{ExprBinder, TypedExpr};

/// The clauses whose comparisons are folded.
const CLAUSES: [&str; 3] = ["where clause", "on clause", "having clause"];

impl ExprBinder<'_> {
    /// A comparison that is folded: of a floating-point column of fixed digits and a number that is
    /// none of a DECIMAL. `None` for other expressions.
    ///
    /// # Errors
    /// 1235 for numbers with more digits than the column, and for texts compared with a BIGINT that
    /// are beyond its range: their result depends on the place of the comparison.
    pub(crate) fn folded(&self, expr: &ast::Expr) -> Result<Option<TypedExpr>> {
        let ast::Expr::BinaryOp { left, op, right } = expr else { return Ok(None) };
        let Some(name) = function_of(op, self.context.mode) else { return Ok(None) };
        let is_here = CLAUSES.contains(&self.clause) && mariadb_rules::is_comparison(name);
        if !is_here || self.is_mariadb() || is_row(left) || is_row(right) {
            return Ok(None);
        }
        let is_of_column = is_name(left) && is_literal(right) || is_literal(left) && is_name(right);
        if !is_of_column || self.computed_value(expr).is_some() {
            return Ok(None);
        }
        let sides = [self.value(left)?, self.value(right)?];
        let args = sides.each_ref().map(TypedExpr::arg);
        for (at, other) in [(0, 1), (1, 0)] {
            let (column, constant) = (&args[at], &args[other]);
            if column.origin != Origin::Column || column.constant.is_some() {
                continue;
            }
            if is_beyond(column, constant) {
                return Err(Error::unsupported("a BIGINT compared with a text beyond its range"));
            }
            if let Some(taken) = as_fixed(&column.ty, constant)? {
                let mut sides = sides;
                sides[other] = TypedExpr::literal(taken)?;
                return self.call(name, sides.into()).map(Some);
            }
        }
        Ok(None)
    }
}

fn is_name(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
}

fn is_literal(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::UnaryOp { expr, .. } => is_literal(expr),
        expr => matches!(expr, ast::Expr::Value(_)),
    }
}

/// Whether a constant text is a number that no BIGINT is.
fn is_beyond(column: &Arg, constant: &Arg) -> bool {
    let Some(Value::Text(text)) = &constant.constant else { return false };
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    column.ty.wire == WireType::LongLong
        && whole_number(text).is_some_and(|value| !range.contains(&value))
}

/// The value to which a column of fixed digits converts a DOUBLE or a text.
fn as_fixed(ty: &ColumnType, constant: &Arg) -> Result<Option<Arg>> {
    if !ty.is_float() || ty.decimals >= DECIMALS_NOT_FIXED {
        return Ok(None);
    }
    let number = match &constant.constant {
        Some(Value::Double(value)) => Some(*value),
        Some(Value::Text(text)) => text.trim().parse::<f64>().ok().filter(|it| it.is_finite()),
        _ => return Ok(None),
    };
    let unsupported = || {
        Error::unsupported(
            "a column of fixed digits compared with a number of more digits, or with none",
        )
    };
    let number = number.ok_or_else(unsupported)?;
    let digits = usize::from(ty.decimals);
    let rounded = format!("{number:.digits$}").parse::<f64>().ok();
    if rounded != Some(number) {
        return Err(unsupported());
    }
    #[expect(clippy::cast_possible_truncation, reason = "a FLOAT is what the column has")]
    let held = if ty.wire == WireType::Float { f64::from(number as f32) } else { number };
    Ok(Some(Arg::literal(Value::Double(held), ty.not_null(), constant.text.clone())))
}
