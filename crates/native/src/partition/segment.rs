//! The key functions of Pelorus's own `PARTITION BY (...)` and of `SEGMENT BY (...)`: `col`,
//! `LEFT(col, n)`, `TIME_SLICE(col, INTERVAL n unit)`, `ROUND_DOWN(col, n)`, `HASH(col, n)`.

use arrow::datatypes::DataType;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_sql::ddl::TableDefinition;
use pelorus_sql::literal::Constant;
use pelorus_sql::{Mode, ast_analysis, literal};
use pelorus_store::{Function, KeyFunction};
use pelorus_types::WireType;
use sqlparser::ast::{Expr, Interval};

use super::super::expression::{arguments, unknown_column};

/// The sort key of `SEGMENT BY`.
///
/// # Errors
/// Unknown columns (1054) and expressions that are no key functions (1564).
pub(crate) fn segment(
    definition: &TableDefinition,
    targets: &[Target],
    mode: Mode,
) -> Result<Vec<KeyFunction>> {
    let list = definition.segment_by.iter();
    list.map(|expression| key_function(&expression.tree, targets, mode)).collect()
}

/// Reads one key function.
///
/// # Errors
/// As [`segment`].
pub(super) fn key_function(tree: &Expr, targets: &[Target], mode: Mode) -> Result<KeyFunction> {
    let (column, function) = match ast_analysis::unnested(tree) {
        Expr::Function(call) => {
            let name = ast_analysis::function_name(&call.name);
            let args = arguments(call).ok_or_else(|| not_allowed(tree))?;
            let [of, argument] = args.as_slice() else { return Err(not_allowed(tree)) };
            let column = column_of(of, targets)?.ok_or_else(|| not_allowed(tree))?;
            (column, function_of(&name, argument, mode).ok_or_else(|| not_allowed(tree))?)
        }
        other => {
            let column = column_of(other, targets)?.ok_or_else(|| not_allowed(tree))?;
            (column, Function::Identity)
        }
    };
    let target = &targets[column];
    if !takes(function, target) {
        return Err(Error::new(
            Code::PartitionFunction,
            format!("{tree} cannot be made of column '{}' of this type", target.name),
        ));
    }
    Ok(KeyFunction { column, function })
}

fn not_allowed(tree: &Expr) -> Error {
    Error::new(
        Code::PartitionFunction,
        format!(
            "{tree} is none of column, LEFT(column, n), TIME_SLICE(column, INTERVAL n unit), \
             ROUND_DOWN(column, n), HASH(column, n)"
        ),
    )
}

/// The position of the column that an expression is; `None` when it is none.
fn column_of(tree: &Expr, targets: &[Target]) -> Result<Option<usize>> {
    let name = match ast_analysis::unnested(tree) {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(path) => match path.last() {
            Some(name) => name,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let found = targets.iter().position(|it| it.name.eq_ignore_ascii_case(&name.value));
    match found {
        Some(at) => Ok(Some(at)),
        None => Err(unknown_column(&name.value, "partition function")),
    }
}

fn function_of(name: &str, argument: &Expr, mode: Mode) -> Option<Function> {
    let number = || positive(argument, mode);
    let small = || number().and_then(|number| u32::try_from(number).ok());
    match name {
        "LEFT" => small().map(Function::Left),
        "HASH" => small().map(Function::Hash),
        "ROUND_DOWN" => number().map(Function::RoundDown),
        "TIME_SLICE" => match argument {
            Expr::Interval(interval) => slice(interval, mode),
            _ => None,
        },
        _ => None,
    }
}

/// A whole number above zero.
fn positive(tree: &Expr, mode: Mode) -> Option<u64> {
    match literal::constant(ast_analysis::unnested(tree), mode)? {
        Constant::Integer(text) => text.parse().ok().filter(|number| *number > 0),
        _ => None,
    }
}

fn slice(interval: &Interval, mode: Mode) -> Option<Function> {
    const SECOND: u64 = 1_000_000;
    const DAY: u64 = 86_400 * SECOND;
    let number = positive(&interval.value, mode)?;
    let field = interval.leading_field.as_ref().filter(|_| interval.last_field.is_none())?;
    let micros = match field.to_string().to_ascii_uppercase().as_str() {
        "MICROSECOND" => 1,
        "SECOND" => SECOND,
        "MINUTE" => 60 * SECOND,
        "HOUR" => 3600 * SECOND,
        "DAY" => DAY,
        "WEEK" => 7 * DAY,
        "MONTH" => return u32::try_from(number).ok().map(Function::MonthSlice),
        "QUARTER" => return u32::try_from(number.checked_mul(3)?).ok().map(Function::MonthSlice),
        "YEAR" => return u32::try_from(number.checked_mul(12)?).ok().map(Function::MonthSlice),
        _ => return None,
    };
    number.checked_mul(micros).map(Function::TimeSlice)
}

/// Whether a function can be made of a column.
fn takes(function: Function, target: &Target) -> bool {
    let ty = &target.ty;
    let is_string = ty.is_string() && ty.wire != WireType::Json;
    match function {
        Function::Identity => ty.wire != WireType::Json,
        Function::Left(_) => is_string,
        Function::TimeSlice(_) | Function::MonthSlice(_) => ty.is_date(),
        Function::RoundDown(_) => {
            matches!(ty.arrow(), DataType::Int64 | DataType::UInt64) && !ty.is_temporal()
        }
        Function::Hash(_) => is_string || matches!(ty.arrow(), DataType::Int64 | DataType::UInt64),
    }
}
