//! Arithmetic operators: `+`, `-`, `*`, `/`, `DIV`, `%` and the unary minus.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Decimal256Array, Float64Array, Int64Array, PrimitiveArray,
};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, i256};
use pelorus_error::{Error, Result};
use pelorus_types::ColumnType;

use crate::call::{Batch, Call, each_row};
use crate::context::EvalContext;
use crate::decimal::{Decimal, MAX_SCALE};
use crate::kernels::fused_arithmetic::ExactOp;
use crate::kernels::vector;
use crate::registry::errors::out_of_range;
use crate::types::result_type;
use crate::types::result_type::{NOT_FIXED, Numeric};
use crate::value::{Arg, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Mod,
}

impl Op {
    fn symbol(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::IntDiv => "DIV",
            Op::Mod => "%",
        }
    }
}

/// Binds a binary operator.
pub(crate) fn binary(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let op = match name {
        "+" => Op::Add,
        "-" => Op::Sub,
        "*" => Op::Mul,
        "/" => Op::Div,
        "DIV" => Op::IntDiv,
        "%" | "MOD" => Op::Mod,
        _ => return Err(Error::internal(format!("{name} is no arithmetic operator"))),
    };
    let [left, right] = args else { return Err(crate::registry::errors::parameter_count(name)) };
    let text = format!("({} {} {})", left.text, op.symbol(), right.text);
    let kind = result_type::numeric(left).max(result_type::numeric(right));
    let ty = result_type(op, kind, args, ctx);
    let call = match (op, kind) {
        (Op::IntDiv, _) => int_divide(name, args, ctx, ty, kind, text.clone()),
        (Op::Div, Numeric::Int) => decimals(op, name, args, ctx, ty, text.clone()),
        (_, Numeric::Int) => integers(op, name, args, ctx, ty, text.clone()),
        (_, Numeric::Decimal) => decimals(op, name, args, ctx, ty, text.clone()),
        (_, Numeric::Real) => reals(op, name, args, ctx, ty, text.clone()),
    };
    Ok(call.with_text(text))
}

fn result_type(op: Op, kind: Numeric, args: &[Arg], ctx: &EvalContext) -> ColumnType {
    let [left, right] = args else { return ColumnType::double() };
    let (unsigned1, unsigned2) = (left.ty.is_unsigned(), right.ty.is_unsigned());
    let (p1, p2) =
        (u32::from(result_type::precision(left)), u32::from(result_type::precision(right)));
    let (s1, s2) =
        (u32::from(result_type::decimals(&left.ty)), u32::from(result_type::decimals(&right.ty)));
    let increment = u32::from(ctx.div_precision_increment);
    let either =
        (unsigned1 || unsigned2) && !(op == Op::Sub && ctx.sql_mode.no_unsigned_subtraction);
    let both = unsigned1 && unsigned2;
    let additive = p1.saturating_sub(s1).max(p2.saturating_sub(s2)) + 1 + s1.max(s2);
    let ty = match (op, kind) {
        (Op::Add | Op::Sub, Numeric::Int) => {
            result_type::bigint_type(additive + u32::from(!either), either)
        }
        (Op::Mul, Numeric::Int) => result_type::bigint_type(p1 + p2 + u32::from(!either), either),
        (Op::Mod, Numeric::Int) => result_type::bigint_type(p1.max(p2) + 1, unsigned1),
        (Op::IntDiv, _) => int_divide_type(left, right, unsigned1 || unsigned2),
        (Op::Add | Op::Sub, Numeric::Decimal) => {
            // One digit more than a DECIMAL may have is reported all the same.
            result_type::decimal_of(additive.min(66), s1.max(s2), both)
        }
        (Op::Mul, Numeric::Decimal) => result_type::decimal_type(p1 + p2, s1 + s2, both),
        (Op::Div, Numeric::Int | Numeric::Decimal) => {
            result_type::decimal_type(p1 + s2 + increment, s1 + increment, both)
        }
        (Op::Mod, Numeric::Decimal) => {
            // The sign keeps its place in the length even where there is none.
            let mut ty = result_type::decimal_type(p1.max(p2), s1.max(s2), false);
            if unsigned1 {
                ty.flags = ty.flags.with(pelorus_types::Flags::UNSIGNED);
            }
            ty
        }
        (Op::Div, Numeric::Real) => real_quotient_type(args, ctx.div_precision_increment),
        (_, Numeric::Real) => result_type::merged_double(args),
    };
    match op {
        Op::Div | Op::IntDiv | Op::Mod => ty.nullable(),
        _ => result_type::null_if_any(ty, args),
    }
}

fn int_divide_type(left: &Arg, right: &Arg, unsigned: bool) -> ColumnType {
    let ty = &left.ty;
    let exact = |arg: &Arg| arg.ty.is_decimal() || arg.ty.is_temporal() || arg.ty.is_integer();
    // Digits after the divisor's point may move before the quotient's.
    let shift = match &right.ty {
        ty if ty.is_float() => 22,
        ty if ty.is_string() => result_type::chars(ty),
        _ => u32::from(right.ty.decimals),
    };
    let length = if exact(left) {
        u32::from(result_type::precision(left)).saturating_sub(u32::from(ty.decimals))
            + u32::from(!unsigned)
    } else if ty.wire == pelorus_types::WireType::Float {
        ty.length + 1
    } else if ty.is_float() {
        if ty.decimals >= NOT_FIXED { 22 } else { 21 }
    } else {
        result_type::chars(ty) + 1
    };
    result_type::bigint_type((length + shift).min(22), unsigned)
}

fn real_quotient_type(args: &[Arg], increment: u8) -> ColumnType {
    let [left, right] = args else { return ColumnType::double() };
    let (d1, d2) = (result_type::decimals(&left.ty), result_type::decimals(&right.ty));
    let scale = d1.max(d2).saturating_add(increment);
    if d1.max(d2) >= NOT_FIXED || scale >= NOT_FIXED {
        return ColumnType::double();
    }
    let length = left.ty.length.saturating_sub(u32::from(d1)) + u32::from(scale);
    result_type::double_type(length.min(result_type::float_length(scale)), scale)
}

pub(crate) fn warn_division(ctx: &EvalContext) {
    if ctx.sql_mode.error_for_division_by_zero {
        ctx.warn(1365, "Division by 0");
    }
}

fn range_name(unsigned: bool) -> &'static str {
    if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }
}

/// An integer of 128 bits as a value of the result type.
pub(crate) fn int_value(value: i128, unsigned: bool, text: &str) -> Result<Value> {
    let fitted = if unsigned {
        u64::try_from(value).ok().map(Value::UInt)
    } else {
        i64::try_from(value).ok().map(Value::Int)
    };
    fitted.ok_or_else(|| out_of_range(range_name(unsigned), text))
}

fn integers(
    op: Op,
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    ty: ColumnType,
    text: String,
) -> Call {
    let unsigned = ty.is_unsigned();
    let fast = args.iter().all(|arg| arg.ty.is_integer()) && !unsigned;
    let slow_text = text.clone();
    let slow = each_row(ty.arrow(), move |batch, row| {
        let (Some(a), Some(b)) = (batch.inputs[0].int(row), batch.inputs[1].int(row)) else {
            return Ok(Value::Null);
        };
        let value = match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            // MySQL refuses the least BIGINT as a product of numbers of different sign.
            Op::Mul if !unsigned && a * b == i128::from(i64::MIN) => i128::MIN,
            // 64 by 64 bits always fits.
            Op::Mul => a * b,
            _ if b == 0 => {
                warn_division(batch.ctx);
                return Ok(Value::Null);
            }
            _ => a % b,
        };
        int_value(value, unsigned, &slow_text)
    });
    let kernel = move |batch: &Batch<'_>| {
        if fast && let Some(result) = fast_integers(op, batch, &text)? {
            return Ok(result);
        }
        slow(batch)
    };
    Call::new(name, args, ctx, ty, Box::new(kernel))
}

/// Both arguments signed: plain arrays of 64 bits.
fn fast_integers(op: Op, batch: &Batch<'_>, text: &str) -> Result<Option<ArrayRef>> {
    let (Some(a), Some(b)) = (
        vector::primitive::<Int64Type>(&batch.inputs[0]),
        vector::primitive::<Int64Type>(&batch.inputs[1]),
    ) else {
        return Ok(None);
    };
    let checked: fn(i64, i64) -> Option<i64> = match op {
        Op::Add => i64::checked_add,
        Op::Sub => i64::checked_sub,
        Op::Mul => |a, b| a.checked_mul(b).filter(|product| *product != i64::MIN),
        // A divisor of zero needs a NULL and a warning.
        Op::Mod if !b.values().contains(&0) => |a, b| Some(a.wrapping_rem(b)),
        _ => return Ok(None),
    };
    let result: Int64Array = vector::try_zip(a, b, batch.rows, |a, b| {
        checked(a, b).ok_or_else(|| out_of_range("BIGINT", text))
    })?;
    Ok(Some(Arc::new(result)))
}

fn reals(
    op: Op,
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    ty: ColumnType,
    text: String,
) -> Call {
    let apply = move |ctx: &EvalContext, a: f64, b: f64| -> Result<Option<f64>> {
        let value = match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            _ if b == 0.0 => {
                warn_division(ctx);
                return Ok(None);
            }
            Op::Div => a / b,
            _ => a % b,
        };
        if value.is_finite() { Ok(Some(value)) } else { Err(out_of_range("DOUBLE", &text)) }
    };
    let apply = Arc::new(apply);
    let for_rows = Arc::clone(&apply);
    let slow = each_row(ty.arrow(), move |batch, row| {
        let (Some(a), Some(b)) = (batch.inputs[0].real(row), batch.inputs[1].real(row)) else {
            return Ok(Value::Null);
        };
        Ok(for_rows(batch.ctx, a, b)?.map_or(Value::Null, Value::Double))
    });
    let kernel = move |batch: &Batch<'_>| {
        let (a, b) = (
            vector::primitive::<Float64Type>(&batch.inputs[0]),
            vector::primitive::<Float64Type>(&batch.inputs[1]),
        );
        if let (Some(a), Some(b), false) = (a, b, matches!(op, Op::Div | Op::Mod)) {
            let result: Float64Array = vector::try_zip(a, b, batch.rows, |a, b| {
                Ok(apply(batch.ctx, a, b)?.unwrap_or(0.0))
            })?;
            return Ok(Arc::new(result) as ArrayRef);
        }
        slow(batch)
    };
    Call::new(name, args, ctx, ty, Box::new(kernel))
}

fn decimals(
    op: Op,
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    ty: ColumnType,
    text: String,
) -> Call {
    let scale = match op {
        // Operands that carry more digits than they show keep them in sums and products.
        Op::Add | Op::Sub | Op::Mod => args.iter().map(|arg| arg.scale).max().unwrap_or(0),
        Op::Mul => args.iter().map(|arg| arg.scale).fold(0_u8, u8::saturating_add),
        _ => 0,
    };
    let scale = scale.min(MAX_SCALE).max(ty.decimals);
    let storage = crate::output::storage(&ty, scale);
    let unsigned_check = ty.is_unsigned();
    let increment = ctx.div_precision_increment;
    let slow_text = text.clone();
    let slow = each_row(storage.clone(), move |batch, row| {
        let (Some(a), Some(b)) = (batch.inputs[0].decimal(row), batch.inputs[1].decimal(row))
        else {
            return Ok(Value::Null);
        };
        let value = match op {
            Op::Add => a.add(b),
            Op::Sub => a.add(b.negate()),
            Op::Mul => a.multiply(b, scale),
            _ if b.is_zero() => {
                warn_division(batch.ctx);
                return Ok(Value::Null);
            }
            Op::Div => a.divide_rounded(b, scale, increment),
            _ => a.remainder(b),
        };
        let value = value.filter(|value| value.fits());
        let value = value.ok_or_else(|| out_of_range("DECIMAL", &slow_text))?;
        if unsigned_check && value.is_negative() {
            return Err(out_of_range("DECIMAL UNSIGNED", &slow_text));
        }
        Ok(Value::Decimal(value))
    });
    let kernel = move |batch: &Batch<'_>| {
        if !unsigned_check && let Some(result) = fast_decimals(op, batch, &storage)? {
            return Ok(result);
        }
        slow(batch)
    };
    let call = Call::new(name, args, ctx, ty, Box::new(kernel)).with_scale(scale);
    let plain = |arg: &Arg| (arg.ty.is_integer() || arg.ty.is_decimal()) && !arg.is_hex();
    match op {
        _ if unsigned_check || !args.iter().all(plain) => call,
        Op::Add => call.with_exact(ExactOp::Add),
        Op::Sub => call.with_exact(ExactOp::Sub),
        Op::Mul => call.with_exact(ExactOp::Mul),
        Op::Div | Op::IntDiv | Op::Mod => call,
    }
}

/// Sums and products of decimals (and integers) that fit 128 bits throughout, even where their type
/// has room for more.
fn fast_decimals(op: Op, batch: &Batch<'_>, storage: &DataType) -> Result<Option<ArrayRef>> {
    let (DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)) = storage else {
        return Ok(None);
    };
    if !matches!(op, Op::Add | Op::Sub | Op::Mul) {
        return Ok(None);
    }
    let scale = u8::try_from(*scale).unwrap_or(0);
    let (Some((a, s1)), Some((b, s2))) =
        (vector::decimal128(&batch.inputs[0]), vector::decimal128(&batch.inputs[1]))
    else {
        return Ok(None);
    };
    let failed = std::cell::Cell::new(false);
    let result: Decimal128Array = if op == Op::Mul {
        if s1 + s2 != scale {
            return Ok(None);
        }
        checked_zip(&a, &b, batch.rows, &failed, i128::checked_mul)
    } else {
        // An operand may carry more digits than a result can, or so few that 128 bits do not do.
        let up = |from: u8| 10_i128.checked_pow(u32::from(scale.checked_sub(from)?));
        let (Some(up1), Some(up2)) = (up(s1), up(s2)) else { return Ok(None) };
        let sub = op == Op::Sub;
        checked_zip(&a, &b, batch.rows, &failed, move |a, b| {
            let (a, b) = (a.checked_mul(up1)?, b.checked_mul(up2)?);
            if sub { a.checked_sub(b) } else { a.checked_add(b) }
        })
    };
    if failed.get() {
        // The careful path says what is wrong.
        return Ok(None);
    }
    if matches!(storage, DataType::Decimal256(..)) {
        let wide: Decimal256Array = result.unary(i256::from_i128);
        return Ok(Some(Arc::new(wide.with_data_type(storage.clone()))));
    }
    Ok(Some(Arc::new(result.with_data_type(storage.clone()))))
}

fn checked_zip(
    a: &PrimitiveArray<Decimal128Type>,
    b: &PrimitiveArray<Decimal128Type>,
    rows: usize,
    failed: &std::cell::Cell<bool>,
    op: impl Fn(i128, i128) -> Option<i128>,
) -> Decimal128Array {
    vector::zip(a, b, rows, |a, b| {
        op(a, b).unwrap_or_else(|| {
            failed.set(true);
            0
        })
    })
}

fn int_divide(
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    ty: ColumnType,
    kind: Numeric,
    text: String,
) -> Call {
    let unsigned = ty.is_unsigned();
    Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (left, right) = (&batch.inputs[0], &batch.inputs[1]);
        let value = if kind == Numeric::Int {
            let (Some(a), Some(b)) = (left.int(row), right.int(row)) else {
                return Ok(Value::Null);
            };
            if b == 0 {
                warn_division(batch.ctx);
                return Ok(Value::Null);
            }
            // MySQL divides the sizes, and no signed number has the size of this one.
            if a == i128::from(i64::MIN) && !unsigned && a / b == a {
                return Err(out_of_range(range_name(unsigned), &text));
            }
            a / b
        } else {
            let (Some(a), Some(b)) = (left.decimal(row), right.decimal(row)) else {
                return Ok(Value::Null);
            };
            if b.is_zero() {
                warn_division(batch.ctx);
                return Ok(Value::Null);
            }
            let quotient = a.divide(b, 0).and_then(|quotient| quotient.units.to_i128());
            quotient.ok_or_else(|| out_of_range(range_name(unsigned), &text))?
        };
        int_value(value, unsigned, &text)
    })
}

/// Binds `-`, of one argument or of two.
pub(crate) fn minus(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() == 1 { negate(name, args, ctx) } else { binary(name, args, ctx) }
}

/// Binds the unary minus.
fn negate(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(crate::registry::errors::parameter_count(name)) };
    let text = format!("-({})", arg.text);
    let kind = if arg.ty.is_temporal() || arg.is_hex() {
        Numeric::Real
    } else {
        result_type::numeric(arg)
    };
    let call = match kind {
        Numeric::Int => negate_integer(name, arg, ctx, text.clone()),
        Numeric::Decimal => {
            let mut ty = result_type::decimal_of(
                u32::from(result_type::precision(arg)),
                u32::from(arg.ty.decimals),
                false,
            );
            if !arg.ty.is_unsigned() {
                ty.length = arg.ty.length;
            }
            let call =
                Call::rowwise(name, args, ctx, result_type::null_if_any(ty, args), |batch, row| {
                    Ok(batch.inputs[0]
                        .decimal(row)
                        .map_or(Value::Null, |v| Value::Decimal(v.negate())))
                });
            call.with_scale(arg.scale)
        }
        Numeric::Real => {
            let scale = result_type::decimals(&arg.ty).min(NOT_FIXED);
            let mut ty = result_type::double_type(result_type::float_length(scale), scale);
            if arg.is_null() {
                ty = result_type::double_type(17, 0);
            }
            Call::rowwise(name, args, ctx, result_type::null_if_any(ty, args), |batch, row| {
                Ok(batch.inputs[0].real(row).map_or(Value::Null, |v| Value::Double(-v)))
            })
        }
    };
    Ok(call.with_text(text))
}

fn negate_integer(name: &str, arg: &Arg, ctx: &Arc<EvalContext>, text: String) -> Call {
    let args = std::slice::from_ref(arg);
    let length = arg.ty.length + u32::from(arg.ty.is_unsigned() || arg.ty.length == 1);
    let wide = match arg.constant {
        // A constant whose negative may leave the range becomes a DECIMAL. MySQL takes every
        // negative constant for one.
        Some(Value::Int(value)) => value < 0,
        Some(Value::UInt(value)) => value > 1 << 63,
        _ => false,
    };
    if wide {
        let digits = length.saturating_sub(1);
        let ty = result_type::null_if_any(result_type::decimal_of(digits, 0, false), args);
        return Call::rowwise(name, args, ctx, ty, |batch, row| {
            Ok(batch.inputs[0]
                .int(row)
                .map_or(Value::Null, |v| Value::Decimal(Decimal::from_i128(-v))))
        });
    }
    let ty = result_type::null_if_any(result_type::bigint_type(length, false), args);
    Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(value) = batch.inputs[0].int(row) else { return Ok(Value::Null) };
        int_value(-value, false, &text)
    })
}
