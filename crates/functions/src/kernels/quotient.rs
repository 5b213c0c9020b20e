//! `ROUND` of a quotient from all its digits, as MariaDB computes it.

use std::sync::Arc;

use pelorus_error::Result;

use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::out_of_range;
use crate::registry::fallibility;
use crate::scalar::arithmetic::warn_division;
use crate::short_circuit::Flow;
use crate::types::result_type;
use crate::value::{Arg, Value};

/// `ROUND(a / b, digits)` of exact numbers as a MariaDB has it. A MySQL rounds the quotient to the
/// digits that it shows before: `ROUND(4999999999 / 10000000000, 0)` is 1 there.
///
/// # Errors
/// Other arguments than two.
pub fn rounded_quotient(args: &[Arg], digits: u8, ctx: &Arc<EvalContext>) -> Result<Call> {
    let [left, right] = args else { return Err(crate::registry::errors::parameter_count("ROUND")) };
    let scale = |arg: &Arg| u32::from(result_type::decimals(&arg.ty));
    let whole =
        (u32::from(result_type::precision(left)) + scale(right)).saturating_sub(scale(left));
    // Rounding may carry into one more digit.
    let ty = result_type::decimal_type(whole + u32::from(digits) + 1, u32::from(digits), false);
    let ty = ty.nullable();
    let text = format!("round(({} / {}),{digits})", left.text, right.text);
    let increment = ctx.div_precision_increment;
    let shown = text.clone();
    let call = Call::rowwise("ROUND", args, ctx, ty, move |batch, row| {
        let (Some(a), Some(b)) = (batch.inputs[0].decimal(row), batch.inputs[1].decimal(row))
        else {
            return Ok(Value::Null);
        };
        if b.is_zero() {
            warn_division(batch.ctx);
            return Ok(Value::Null);
        }
        let value = a.divide_rounded(b, digits, increment).filter(|value| value.fits());
        Ok(Value::Decimal(value.ok_or_else(|| out_of_range("DECIMAL", &shown))?))
    });
    let is_fallible = !fallibility::quotient(args, &ty);
    Ok(call.with_text(text).with_fallibility(is_fallible, args).with_flow(Flow::First.of(args)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use pelorus_types::ColumnType;

    use super::*;
    use crate::output::value_at;

    fn rounded(a: i64, b: i64, digits: u8) -> String {
        let args = [Arg::column(ColumnType::bigint(), "a"), Arg::column(ColumnType::bigint(), "b")];
        let ctx = Arc::new(EvalContext::default());
        let call = rounded_quotient(&args, digits, &ctx).unwrap();
        let arrays = [a, b].map(|it| -> ArrayRef { Arc::new(Int64Array::from(vec![it])) });
        let array = call.evaluate(&arrays, 1).unwrap();
        match value_at(&array, &call.return_type(), 0).unwrap() {
            Value::Decimal(value) => value.to_text(),
            other => format!("{other:?}"),
        }
    }

    /// As MariaDB 10.11 gives them.
    #[test]
    fn large_divisors_are_rounded_once() {
        assert_eq!(rounded(4_999_999_999_999_999, 10_000_000_000_000_000, 0), "0");
        assert_eq!(rounded(5_000_000_000_000_000, 10_000_000_000_000_000, 0), "1");
        assert_eq!(rounded(-9_223_372_036_854_775_807, 2, 2), "-4611686018427387903.50");
        assert_eq!(rounded(449_999, 100_000_000, 3), "0.004");
        assert_eq!(rounded(2, 3, 4), "0.6667");
        assert_eq!(rounded(1, 0, 2), "Null");
    }
}
