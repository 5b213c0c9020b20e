//! Bit operators: `&`, `|`, `^`, `~`, `<<`, `>>` and `BIT_COUNT`.

use std::sync::Arc;

use pelorus_error::{Error, Result};

use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::types::result_type::{bigint_type, null_if_any};
use crate::value::{Arg, Value};

fn refuse_bytes(args: &[Arg]) -> Result<()> {
    if args.iter().any(|arg| arg.ty.is_binary_string() && !arg.is_hex()) {
        return Err(Error::unsupported("bit operators on strings of bytes"));
    }
    Ok(())
}

/// Binds a bit operator of two arguments.
pub(crate) fn binary(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [left, right] = args else { return Err(parameter_count(name)) };
    refuse_bytes(args)?;
    let op: fn(u64, u64) -> u64 = match name {
        "&" => |a, b| a & b,
        "|" => |a, b| a | b,
        "^" => |a, b| a ^ b,
        "<<" => |a, b| u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0),
        ">>" => |a, b| u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(0),
        _ => return Err(Error::internal(format!("{name} is no bit operator"))),
    };
    let text = format!("({} {name} {})", left.text, right.text);
    let ty = null_if_any(bigint_type(21, true), args);
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        match (batch.inputs[0].bits(row), batch.inputs[1].bits(row)) {
            (Some(a), Some(b)) => Ok(Value::UInt(op(a, b))),
            _ => Ok(Value::Null),
        }
    });
    Ok(call.with_text(text))
}

/// Binds `~` and `BIT_COUNT`.
pub(crate) fn unary(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    refuse_bytes(args)?;
    let invert = name == "~";
    let ty = null_if_any(bigint_type(21, invert), args);
    let text = if invert { format!("~({})", arg.text) } else { format!("bit_count({})", arg.text) };
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        Ok(match batch.inputs[0].bits(row) {
            Some(bits) if invert => Value::UInt(!bits),
            Some(bits) => Value::Int(i64::from(bits.count_ones())),
            None => Value::Null,
        })
    });
    Ok(call.with_text(text))
}
