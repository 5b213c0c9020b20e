//! Mathematical functions on doubles.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::{out_of_range, parameter_count};
use crate::types::result_type::{double_type, null_if_any};
use crate::value::{Arg, Value};

/// The result of a function: a number, NULL, or NULL with warning 3020.
enum Given {
    Number(f64),
    Null,
    BadLogarithm,
}

/// `PI()`.
pub(crate) fn pi(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if !args.is_empty() {
        return Err(parameter_count(name));
    }
    let ty = double_type(8, 6).not_null();
    Ok(Call::rowwise(name, args, ctx, ty, |_, _| Ok(Value::Double(std::f64::consts::PI))))
}

/// Binds a function of one number.
pub(crate) fn of_one(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let op: fn(f64) -> Given = match name {
        "SQRT" => |x| if x < 0.0 { Given::Null } else { Given::Number(x.sqrt()) },
        "EXP" => |x| Given::Number(x.exp()),
        "LN" => |x| logarithm(x, f64::ln),
        "LOG" => |x| logarithm(x, f64::ln),
        "LOG2" => |x| logarithm(x, f64::log2),
        "LOG10" => |x| logarithm(x, f64::log10),
        "SIN" => |x| Given::Number(x.sin()),
        "COS" => |x| Given::Number(x.cos()),
        "TAN" => |x| Given::Number(x.tan()),
        "COT" => |x| Given::Number(1.0 / x.tan()),
        "ASIN" => |x| if x.abs() > 1.0 { Given::Null } else { Given::Number(x.asin()) },
        "ACOS" => |x| if x.abs() > 1.0 { Given::Null } else { Given::Number(x.acos()) },
        "ATAN" => |x| Given::Number(x.atan()),
        "DEGREES" => |x| Given::Number(x / (std::f64::consts::PI / 180.0)),
        "RADIANS" => |x| Given::Number(x * (std::f64::consts::PI / 180.0)),
        _ => return Err(Error::internal(format!("{name} of one number"))),
    };
    let [_] = args else { return Err(parameter_count(name)) };
    let exact = matches!(name, "DEGREES" | "RADIANS");
    let ty = if exact {
        null_if_any(ColumnType::double(), args)
    } else {
        ColumnType::double().nullable()
    };
    let text = format!("{}({})", name.to_ascii_lowercase(), args[0].text);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(x) = batch.inputs[0].real(row) else { return Ok(Value::Null) };
        finish(op(x), batch.ctx, &text)
    }))
}

fn logarithm(x: f64, log: fn(f64) -> f64) -> Given {
    if x <= 0.0 { Given::BadLogarithm } else { Given::Number(log(x)) }
}

fn finish(given: Given, ctx: &EvalContext, text: &str) -> Result<Value> {
    match given {
        Given::Number(value) if value.is_finite() => Ok(Value::Double(value)),
        Given::Number(_) => Err(out_of_range("DOUBLE", text)),
        Given::Null => Ok(Value::Null),
        Given::BadLogarithm => {
            ctx.warn(3020, "Invalid argument for logarithm");
            Ok(Value::Null)
        }
    }
}

/// Binds `LOG` and `ATAN`, which take one number or two.
pub(crate) fn of_one_or_two(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() == 1 { of_one(name, args, ctx) } else { of_two(name, args, ctx) }
}

/// Binds `POW`, `ATAN2` and the forms of `LOG` and `ATAN` with two arguments.
pub(crate) fn of_two(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let op: fn(f64, f64) -> Given = match name {
        "POW" | "POWER" => |x, y| Given::Number(x.powf(y)),
        "ATAN" | "ATAN2" => |y, x| Given::Number(y.atan2(x)),
        "LOG" => |base, x| {
            if base <= 0.0 || x <= 0.0 || base == 1.0 {
                Given::BadLogarithm
            } else {
                Given::Number(x.ln() / base.ln())
            }
        },
        _ => return Err(Error::internal(format!("{name} of two numbers"))),
    };
    let [left, right] = args else { return Err(parameter_count(name)) };
    let text = match name {
        "POW" | "POWER" => format!("pow({},{})", left.text, right.text),
        _ => format!("{}({},{})", name.to_ascii_lowercase(), left.text, right.text),
    };
    let ty = ColumnType::double().nullable();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (Some(a), Some(b)) = (batch.inputs[0].real(row), batch.inputs[1].real(row)) else {
            return Ok(Value::Null);
        };
        finish(op(a, b), batch.ctx, &text)
    }))
}
