//! The defaults of columns, evaluated for one statement.

use std::ops::ControlFlow;

use arrow::array::ArrayRef;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{Policy, timestamp_from_utc, timestamps_from_utc};
use pelorus_functions::{TimeZone, Value};
use pelorus_result::scalar::sql_of;
use pelorus_sql::ast::{self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments};
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::{Column, Flags, WireType};

use crate::definition::{DefaultValue, NativeDef};

/// The default of a column without a given value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Default {
    /// Nothing: error 1364, or in a lenient mode the implicit default.
    None,
    /// A value in stored form.
    Value(Value),
    /// Computed for each row when its other columns are known: the text of an expression.
    Computed(String),
}

/// The defaults of all columns. `mode` is that of the session, whose queries compute them.
pub(super) fn defaults(def: &NativeDef, policy: &Policy, mode: Mode) -> Vec<Default> {
    let of = |(at, default): (usize, &DefaultValue)| match default {
        // Of an ENUM it is the first member, whatever the mode.
        DefaultValue::None if def.targets[at].ty.flags.has(Flags::ENUM) => {
            Default::Value(def.implicit[at].clone())
        }
        DefaultValue::None => Default::None,
        DefaultValue::Constant(value) => Default::Value(value.clone()),
        DefaultValue::CurrentTimestamp(digits) => Default::Value(moment(def, at, *digits, policy)),
        DefaultValue::Expression(expression) => {
            Default::Computed(expression.text_in(def.mode, mode))
        }
    };
    let of = |(at, default): (usize, &DefaultValue)| match def.is_generated(at) {
        // Until it is computed.
        true if def.targets[at].ty.is_nullable() => Default::Value(Value::Null),
        true => Default::Value(def.implicit[at].clone()),
        false => of((at, default)),
    };
    def.defaults.iter().enumerate().map(of).collect()
}

/// `CURRENT_TIMESTAMP(digits)` as a column stores it.
pub(super) fn moment(def: &NativeDef, column: usize, digits: u32, policy: &Policy) -> Value {
    let unit = 10_i64.pow(6 - digits.min(6));
    let utc = policy.now_micros - policy.now_micros.rem_euclid(unit);
    let is_timestamp = def.targets[column].ty.wire == WireType::Timestamp;
    let zone = if is_timestamp { TimeZone::Utc } else { policy.time_zone };
    Value::Date(zone.local(utc).pack())
}

/// Stored columns as clients see them: only TIMESTAMPs differ.
pub(super) fn shown(
    columns: &[Column],
    arrays: &[ArrayRef],
    zone: TimeZone,
) -> Result<Vec<ArrayRef>> {
    let shown = |(column, array): (&Column, &ArrayRef)| match column.ty.wire {
        WireType::Timestamp => timestamps_from_utc(array, zone),
        _ => Ok(array.clone()),
    };
    columns.iter().zip(arrays).map(shown).collect()
}

/// An expression in which `DEFAULT(column)` is the column's default.
///
/// # Errors
/// A column without default (1364), with one that is computed (1235), or that is not there (1054).
pub(super) fn without_default_calls(
    expr: &Expr,
    def: &NativeDef,
    policy: &Policy,
    mode: Mode,
) -> Result<Expr> {
    let mut expr = expr.clone();
    let replaced = ast::visit_expressions_mut(&mut expr, |inner| {
        let Some(column) = default_call(inner) else { return ControlFlow::Continue(()) };
        match default_literal(def, &column, policy, mode) {
            Ok(value) => {
                *inner = value;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    });
    match replaced {
        ControlFlow::Continue(()) => Ok(expr),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The column of `DEFAULT(column)`.
fn default_call(expr: &Expr) -> Option<String> {
    call_of(expr, "DEFAULT")
}

/// The last name in the one argument of a function that takes a column.
pub(super) fn call_of(expr: &Expr, name: &str) -> Option<String> {
    let Expr::Function(function) = expr else { return None };
    if !ast_analysis::function_name(&function.name).eq_ignore_ascii_case(name) {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))] => {
            Some(name.value.clone())
        }
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundIdentifier(parts)))] => {
            parts.last().map(|name| name.value.clone())
        }
        _ => None,
    }
}

fn default_literal(def: &NativeDef, column: &str, policy: &Policy, mode: Mode) -> Result<Expr> {
    let at = def.position(column).ok_or_else(|| super::unknown_column(column))?;
    let name = &def.columns[at].name;
    let value = match &def.defaults[at] {
        DefaultValue::None => {
            return Err(Error::new(
                Code::NoDefaultForColumn,
                format!("Field '{name}' doesn't have a default value"),
            ));
        }
        DefaultValue::Constant(value) => value.clone(),
        DefaultValue::CurrentTimestamp(digits) => moment(def, at, *digits, policy),
        DefaultValue::Expression(_) => {
            return Err(Error::new(
                Code::DefaultOfExpression,
                "DEFAULT function cannot be used with default value expressions",
            ));
        }
    };
    let value = match value {
        Value::Date(packed) if def.targets[at].ty.wire == WireType::Timestamp => {
            Value::Date(timestamp_from_utc(packed, policy.time_zone))
        }
        other => other,
    };
    let text = sql_of(&value, &def.columns[at].ty, mode)?;
    pelorus_sql::parse_expression(&text, mode).map_err(Error::from)
}
