//! Rounding functions: `ROUND`, `TRUNCATE`, `ABS`, `CEIL`, `FLOOR`, `SIGN`.

use std::sync::Arc;

use arrow::datatypes::i256;
use pelorus_error::Result;
use pelorus_types::ColumnType;

use crate::call::{Batch, Call};
use crate::context::EvalContext;
use crate::decimal::{Decimal, MAX_SCALE, pow10, rint};
use crate::registry::errors::{out_of_range, parameter_count};
use crate::scalar::arithmetic::int_value;
use crate::types::result_type;
use crate::types::result_type::{NOT_FIXED, Numeric, null_if_any};
use crate::value::{Arg, Value};

/// Binds `ROUND` and `TRUNCATE`.
pub(crate) fn round(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let truncate = name == "TRUNCATE";
    let (arg, places) = match args {
        [arg] if !truncate => (arg, None),
        [arg, places] => (arg, Some(places)),
        _ => return Err(parameter_count(name)),
    };
    let constant = match places {
        Some(places) if places.is_null() => Some(0),
        None => Some(0),
        Some(places) => constant_places(places),
    };
    let kind = round_kind(arg);
    let ty = round_type(arg, kind, constant, truncate);
    let ty = if places.is_some_and(Arg::is_null) { ty.nullable() } else { null_if_any(ty, args) };
    let places_of = move |batch: &Batch<'_>, row: usize| match batch.inputs.get(1) {
        None => Some(0),
        Some(places) => places.int64(row),
    };
    let shown = i64::from(arg.ty.decimals);
    Ok(match kind {
        Numeric::Int => {
            let text = format!("{}({})", name.to_ascii_lowercase(), arg.text);
            Call::rowwise(name, args, ctx, ty, move |batch, row| {
                let (Some(value), Some(places)) = (batch.inputs[0].int(row), places_of(batch, row))
                else {
                    return Ok(Value::Null);
                };
                int_value(round_int(value, places, truncate), ty.is_unsigned(), &text)
            })
        }
        Numeric::Decimal => Call::rowwise(name, args, ctx, ty, move |batch, row| {
            let (Some(value), Some(places)) = (batch.inputs[0].decimal(row), places_of(batch, row))
            else {
                return Ok(Value::Null);
            };
            // Digits that are not shown are cut off, not rounded.
            let places = if truncate { places.min(shown) } else { places };
            Ok(Value::Decimal(round_decimal(value, places, truncate)))
        }),
        Numeric::Real => Call::rowwise(name, args, ctx, ty, move |batch, row| {
            let Some(value) = batch.inputs[0].real(row) else { return Ok(Value::Null) };
            let Some(places) = places_of(batch, row) else { return Ok(Value::Null) };
            Ok(Value::Double(round_real(value, places, truncate)))
        }),
    })
}

fn constant_places(places: &Arg) -> Option<i64> {
    places.constant.as_ref().and_then(crate::scalar::string::build::constant_integer)
}

fn round_kind(arg: &Arg) -> Numeric {
    if arg.ty.is_temporal() { Numeric::Real } else { result_type::numeric(arg) }
}

fn round_type(arg: &Arg, kind: Numeric, places: Option<i64>, truncate: bool) -> ColumnType {
    match kind {
        Numeric::Int => result_type::bigint_type(21, arg.ty.is_unsigned()),
        Numeric::Real => ColumnType::double(),
        Numeric::Decimal => {
            let unsigned = false;
            let precision = u32::from(result_type::precision(arg));
            let Some(places) = places else {
                return result_type::decimal_type(precision, u32::from(arg.ty.decimals), unsigned);
            };
            let scale = u32::from(arg.ty.decimals);
            let wanted = u32::try_from(places.clamp(0, i64::from(MAX_SCALE))).unwrap_or(0);
            let new_scale = wanted.min(scale);
            let whole = precision.saturating_sub(scale);
            // Rounding may carry into one more digit.
            let carry = u32::from(!truncate && new_scale < scale);
            result_type::decimal_type(whole + new_scale + carry, new_scale, unsigned)
        }
    }
}

/// Rounds an integer to tens, hundreds, ... for negative places.
pub(crate) fn round_int(value: i128, places: i64, truncate: bool) -> i128 {
    if places >= 0 {
        return value;
    }
    let Some(unit) = u32::try_from(-places).ok().and_then(|digits| 10_i128.checked_pow(digits))
    else {
        return 0;
    };
    let cut = value / unit * unit;
    let rest = (value % unit).abs();
    if !truncate && rest >= unit - rest { cut + unit * value.signum() } else { cut }
}

/// Rounds or cuts a decimal; negative places go left of the point.
pub(crate) fn round_decimal(value: Decimal, places: i64, truncate: bool) -> Decimal {
    if places >= 0 {
        let places = u8::try_from(places).unwrap_or(u8::MAX).min(value.scale);
        return if truncate {
            value.truncate(places)
        } else {
            value.rescale(places).unwrap_or(value)
        };
    }
    let digits = u8::try_from(-places).unwrap_or(u8::MAX);
    if digits.saturating_add(value.scale) > 75 {
        return Decimal::from_i128(0);
    }
    let unit = pow10(digits + value.scale);
    let units = if truncate {
        value.units.wrapping_div(unit)
    } else {
        crate::decimal::div_round(value.units, unit)
    };
    Decimal { units: units.checked_mul(pow10(digits)).unwrap_or(i256::ZERO), scale: 0 }
}

/// Rounds a double half to even after scaling, as MySQL does.
pub(crate) fn round_real(value: f64, places: i64, truncate: bool) -> f64 {
    let negative = places < 0;
    let places = i32::try_from(places.unsigned_abs()).unwrap_or(i32::MAX);
    let unit = 10_f64.powi(places.min(400));
    let scaled = if negative { value / unit } else { value * unit };
    if negative && unit.is_infinite() {
        return 0.0;
    }
    if !negative && (unit.is_infinite() || scaled.is_infinite()) {
        return value;
    }
    let whole = if truncate {
        if value >= 0.0 { scaled.floor() } else { scaled.ceil() }
    } else {
        rint(scaled)
    };
    if negative { whole * unit } else { whole / unit }
}

/// Binds `ABS`.
pub(crate) fn abs(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let text = format!("abs({})", arg.text);
    let ty_of = |ty: ColumnType| null_if_any(ty, args);
    let kind = if arg.ty.is_temporal() || arg.is_hex() {
        Numeric::Real
    } else {
        result_type::numeric(arg)
    };
    Ok(match kind {
        Numeric::Int => {
            let ty = ty_of(result_type::bigint_type(arg.ty.length, arg.ty.is_unsigned()));
            Call::rowwise(name, args, ctx, ty, move |batch, row| match batch.inputs[0].int(row) {
                Some(value) => int_value(value.abs(), ty.is_unsigned(), &text),
                None => Ok(Value::Null),
            })
        }
        Numeric::Decimal => {
            let ty = ty_of(result_type::decimal_of(
                u32::from(result_type::precision(arg)),
                u32::from(arg.ty.decimals),
                arg.ty.is_unsigned(),
            ));
            Call::rowwise(name, args, ctx, ty, |batch, row| {
                Ok(batch.inputs[0].decimal(row).map_or(Value::Null, |value| {
                    Value::Decimal(if value.is_negative() { value.negate() } else { value })
                }))
            })
        }
        Numeric::Real => {
            let scale =
                if arg.is_null() { 0 } else { result_type::decimals(&arg.ty).min(NOT_FIXED) };
            let ty = ty_of(result_type::double_type(result_type::float_length(scale), scale));
            Call::rowwise(name, args, ctx, ty, |batch, row| {
                Ok(batch.inputs[0].real(row).map_or(Value::Null, |v| Value::Double(v.abs())))
            })
        }
    })
}

/// Binds `CEIL`, `CEILING` and `FLOOR`.
pub(crate) fn to_integer(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let up = name != "FLOOR";
    let text = format!("{}({})", name.to_ascii_lowercase(), arg.text);
    let unsigned = arg.ty.is_unsigned() && arg.ty.is_integer();
    let whole_digits = result_type::precision(arg).saturating_sub(result_type::decimals(&arg.ty));
    Ok(match round_kind(arg) {
        Numeric::Int => {
            let ty = null_if_any(result_type::bigint_type(21, unsigned), args);
            Call::rowwise(name, args, ctx, ty, move |batch, row| match batch.inputs[0].int(row) {
                Some(value) => int_value(value, unsigned, &text),
                None => Ok(Value::Null),
            })
        }
        Numeric::Decimal => {
            let wide = whole_digits > 17;
            let ty = if wide {
                // Rounding up may carry into one more digit.
                let carry = u32::from(arg.ty.decimals > 0);
                result_type::decimal_type(u32::from(whole_digits) + carry, 0, unsigned)
            } else {
                result_type::bigint_type(21, unsigned)
            };
            Call::rowwise(name, args, ctx, null_if_any(ty, args), move |batch, row| {
                let Some(value) = batch.inputs[0].decimal(row) else { return Ok(Value::Null) };
                let whole = floor_decimal(value, up);
                if wide {
                    return Ok(Value::Decimal(whole));
                }
                let units = whole.units.to_i128().ok_or_else(|| out_of_range("BIGINT", &text))?;
                int_value(units, unsigned, &text)
            })
        }
        Numeric::Real => {
            let ty = null_if_any(ColumnType::double(), args);
            Call::rowwise(name, args, ctx, ty, move |batch, row| {
                Ok(batch.inputs[0].real(row).map_or(Value::Null, |value| {
                    Value::Double(if up { value.ceil() } else { value.floor() })
                }))
            })
        }
    })
}

fn floor_decimal(value: Decimal, up: bool) -> Decimal {
    let cut = value.truncate(0);
    let exact = cut.compare(value).is_eq();
    let step = match (exact, up, value.is_negative()) {
        (false, true, false) => 1,
        (false, false, true) => -1,
        _ => 0,
    };
    Decimal { units: cut.units.wrapping_add(i256::from(step)), scale: 0 }
}

/// Binds `SIGN`.
pub(crate) fn sign(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = null_if_any(result_type::bigint_type(21, false), args);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        Ok(batch.inputs[0].real(row).map_or(Value::Null, |value| {
            Value::Int(if value > 0.0 {
                1
            } else if value < 0.0 {
                -1
            } else {
                0
            })
        }))
    }))
}
