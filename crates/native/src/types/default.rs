//! Literal defaults of columns, as values in stored form.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{
    Literal, NullRule, Numbering, Policy, Target, literal_default,
};
use pelorus_functions::{SqlMode, TimeZone, Value};
use pelorus_sql::ddl::{ColumnDefault, ColumnDefinition, Expression};
use pelorus_sql::literal::Constant;
use pelorus_sql::{Mode, literal};
use sqlparser::ast::{Expr, UnaryOperator};

use super::super::definition::DefaultValue;

/// The default value of a column.
///
/// # Errors
/// A default that the column cannot hold (1067).
pub(crate) fn default_value(
    column: &ColumnDefinition,
    target: &Target,
    mode: Mode,
) -> Result<DefaultValue> {
    let nullable = column.nullable != Some(false);
    match &column.default {
        None if nullable => Ok(DefaultValue::Constant(Value::Null)),
        None | Some(ColumnDefault::Dropped) => Ok(DefaultValue::None),
        Some(ColumnDefault::CurrentTimestamp(digits)) => {
            Ok(DefaultValue::CurrentTimestamp(*digits))
        }
        Some(ColumnDefault::Expression(expression)) => {
            Ok(DefaultValue::Expression(expression.clone()))
        }
        Some(ColumnDefault::Literal(literal)) => {
            let policy = definition_policy();
            constant_default(literal, target, mode, (nullable, &policy)).map(DefaultValue::Constant)
        }
    }
}

/// Error 1067.
pub(crate) fn invalid_default(name: &str) -> Error {
    Error::new(Code::InvalidDefault, format!("Invalid default value for '{name}'"))
}

/// A literal default as the statement's session understands it, in stored form.
///
/// # Errors
/// 1067.
pub(crate) fn constant_under(
    column: &ColumnDefinition,
    target: &Target,
    mode: Mode,
    policy: &Policy,
) -> Result<Value> {
    match &column.default {
        Some(ColumnDefault::Literal(literal)) => {
            constant_default(literal, target, mode, (column.nullable != Some(false), policy))
        }
        _ => Ok(Value::Null),
    }
}

fn constant_default(
    default: &Expression,
    target: &Target,
    mode: Mode,
    (nullable, policy): (bool, &Policy),
) -> Result<Value> {
    let invalid = || invalid_default(&target.name);
    let (tree, negative) = match default.tree.as_ref() {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (expr.as_ref(), true),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => (expr.as_ref(), false),
        tree => (tree, false),
    };
    let constant =
        literal::constant(tree, mode).or_else(|| typed_text(tree, mode)).ok_or_else(invalid)?;
    let signed;
    let given = match &constant {
        Constant::Null if nullable => return Ok(Value::Null),
        Constant::Null | Constant::Placeholder => return Err(invalid()),
        Constant::Boolean(value) => Literal::Int(i64::from(*value)),
        Constant::Integer(text) | Constant::Decimal(text) | Constant::Float(text) => {
            signed = if negative { format!("-{text}") } else { text.clone() };
            Literal::Number(&signed)
        }
        Constant::Text { text, .. } => Literal::Text(text.as_bytes()),
        Constant::Hex { bytes, charset: Some(_) } | Constant::Bits { bytes, charset: Some(_) } => {
            Literal::Text(bytes)
        }
        Constant::Hex { bytes, .. } | Constant::Bits { bytes, .. } => Literal::Hex(bytes),
    };
    literal_default(target, given, policy).map_err(|_| invalid())
}

/// The text of `DATE'...'`, `TIME'...'` and `TIMESTAMP'...'`.
fn typed_text(tree: &Expr, mode: Mode) -> Option<Constant> {
    match tree {
        Expr::TypedString(typed) => literal::constant_value(&typed.value.value, mode),
        _ => None,
    }
}

/// How constants of definitions are read, whatever session reads them later: in universal time,
/// without a warning, zero dates allowed. What a session's `sql_mode` forbids is refused when the
/// definition is made.
pub(crate) fn definition_policy() -> Policy {
    Policy {
        strict: true,
        ignore: false,
        nulls: NullRule::Refuse,
        numbering: Numbering::Made,
        null_is_now: false,
        sql_mode: SqlMode { no_zero_date: false, no_zero_in_date: false, ..SqlMode::default() },
        time_zone: TimeZone::Utc,
        now_micros: 0,
        first_row: 1,
    }
}
