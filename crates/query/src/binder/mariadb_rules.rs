//! Expressions that MariaDB computes differently from MySQL: aggregates, and quotients, which have
//! other digits than they show. The rules of functions are in the function table.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_functions::{Arg, EvalContext, mariadb};

use super::typed_expression::TypedExpr;

/// The same for an aggregate that the statement names; `increment` is as in [`mariadb::check_scale`].
///
/// # Errors
/// 1235.
pub(crate) fn check_aggregate(name: &str, args: &[TypedExpr], increment: u8) -> Result<()> {
    if name != "COUNT" {
        args.iter().try_for_each(check_digits)?;
    }
    let args: Vec<Arg> = args.iter().map(TypedExpr::arg).collect();
    if name == "AVG" {
        mariadb::check_scale(&args, increment)?;
    }
    mariadb::check_aggregate(name, &args)
}

/// Refuses further computations with a quotient: it has other digits than it shows.
///
/// # Errors
/// 1235.
pub(crate) fn check_digits(value: &TypedExpr) -> Result<()> {
    if value.is_quotient() { Err(mariadb::differs("the digits of a quotient")) } else { Ok(()) }
}

/// Whether an aggregate divides: over exact numbers it has other digits than it shows.
pub(crate) fn is_average(name: &str) -> bool {
    name == "AVG"
}

/// Rounds the operands of `=`, `<` and similar operators to the digits that they show, if all are
/// exact: so does MariaDB, for which an average of 0.004987 equals 0.0050.
pub(crate) fn round_compared(args: &mut [TypedExpr], context: &Arc<EvalContext>) {
    if args.iter().all(|arg| mariadb::is_exact(&arg.arg())) {
        for arg in args.iter_mut().filter(|arg| arg.is_quotient()) {
            *arg = arg.clone().settled(context).with_quotient(false);
        }
    }
}

/// Whether a function compares two values with [`round_compared`].
pub(crate) fn is_comparison(name: &str) -> bool {
    matches!(name, "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=")
}

/// Whether the result of a call is a quotient, or one of its arguments that is one.
///
/// # Errors
/// A quotient that the call computes with, or that it shows more digits of (1235).
pub(crate) fn is_quotient(name: &str, args: &[TypedExpr]) -> Result<bool> {
    let last = args.len().saturating_sub(1);
    let passes = |at: usize| match name {
        "IFNULL" | "COALESCE" => true,
        "IF" => at > 0,
        // Conditions and results alternate; the ELSE result follows.
        "CASE" => at % 2 == 1 || at == last,
        _ => false,
    };
    let is_tested = matches!(name, "IS NULL" | "IS NOT NULL" | "ISNULL");
    let mut passed = false;
    for (at, arg) in args.iter().enumerate() {
        if passes(at) {
            let mut results = args.iter().enumerate().filter(|(at, _)| passes(*at));
            if arg.is_quotient()
                && results.any(|(_, result)| mariadb::shows_more(&result.arg(), &arg.arg()))
            {
                check_digits(arg)?;
            }
            passed |= arg.is_quotient();
        } else if !is_tested {
            check_digits(arg)?;
        }
    }
    Ok(name == "/" || passed)
}

#[cfg(test)]
mod tests {
    use pelorus_types::{ColumnType, WireType};

    use super::*;

    #[test]
    fn aggregates_of_digits_and_bits() {
        let typed = |ty| TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let (int, double) = (typed(ColumnType::bigint()), typed(ColumnType::double()));
        let bit = typed(ColumnType { wire: WireType::Bit, ..ColumnType::bigint() });
        assert!(check_aggregate("STD", std::slice::from_ref(&int), 4).is_err());
        assert!(check_aggregate("STD", std::slice::from_ref(&double), 4).is_ok());
        assert!(check_aggregate("MAX", std::slice::from_ref(&bit), 4).is_err());
        assert!(check_aggregate("SUM", std::slice::from_ref(&int), 4).is_ok());
        assert!(check_aggregate("ANY_VALUE", &[int], 4).is_err());
        let decimal = [typed(ColumnType::decimal(40, 26))];
        assert!(check_aggregate("AVG", &decimal, 4).is_ok());
        assert!(check_aggregate("AVG", &decimal, 5).is_err());
        assert!(check_aggregate("SUM", &decimal, 5).is_ok());
    }

    #[test]
    fn quotients_are_compared_as_shown() {
        let context = Arc::default();
        let typed = |ty| TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let quotient = || typed(ColumnType::decimal(12, 4)).with_quotient(true);
        let mut exact = [quotient(), typed(ColumnType::bigint())];
        round_compared(&mut exact, &context);
        assert!(!exact[0].is_quotient());
        let mut double = [quotient(), typed(ColumnType::double())];
        round_compared(&mut double, &context);
        assert!(double[0].is_quotient());
    }

    #[test]
    fn quotients_are_shown_and_nothing_else() {
        let ty = ColumnType::decimal(12, 4);
        let value = TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let quotient = value.clone().with_quotient(true);
        let args = [value.clone(), value.clone()];
        assert!(is_quotient("/", &args).unwrap());
        assert!(!is_quotient("+", &args).unwrap());
        assert!(is_quotient("*", &[quotient.clone(), value.clone()]).is_err());
        assert!(is_quotient("IFNULL", &[quotient.clone(), value.clone()]).unwrap());
        let case = [value.clone(), quotient.clone(), value.clone()];
        assert!(is_quotient("CASE", &case).unwrap());
        assert!(is_quotient("CASE", &[quotient.clone(), value]).is_err());
        assert!(!is_quotient("IS NULL", std::slice::from_ref(&quotient)).unwrap());
        assert!(check_digits(&quotient).is_err());
        // Combined with more digits, a quotient shows more of its own.
        let typed = |ty| TypedExpr::computed(datafusion::logical_expr::lit(0_i64), ty);
        let finer = typed(ColumnType::decimal(12, 6));
        assert!(is_quotient("IFNULL", &[quotient.clone(), finer]).is_err());
        assert!(is_quotient("IFNULL", &[quotient, typed(ColumnType::double())]).is_err());
    }
}
