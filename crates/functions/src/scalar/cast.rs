//! Casts: `CAST`, `CONVERT`, `BINARY` and `COLLATE`.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_types::temporal::DateTime;
use pelorus_types::{Collation, ColumnType, Flags, WireType, collation};

use crate::call::Call;
use crate::collation::charset;
use crate::context::{EvalContext, SqlMode};
use crate::decimal::{Decimal, pow10};
use crate::input::Input;
use crate::parse;
use crate::registry::errors::{out_of_range, parameter_count};
use crate::registry::fallibility;
use crate::scalar::datetime::parse::next_second;
use crate::scalar::datetime::read;
use crate::scalar::datetime::read::Lenience;
use crate::scalar::string::too_long;
use crate::types::common_type::temporal_type;
use crate::types::result_type;
use crate::value::{Arg, Coercibility, Origin, Value};

/// The target type of a CAST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastTarget {
    /// `SIGNED`.
    Signed,
    /// `UNSIGNED`.
    Unsigned,
    /// `CHAR[(length)]` in the collation that the text gets; `CONVERT(x USING charset)` is this
    /// with the charset's default collation and no length.
    Char(Option<u32>, Collation),
    /// `BINARY[(length)]`.
    Binary(Option<u32>),
    /// `DATE`.
    Date,
    /// `DATETIME[(digits of the fraction)]`.
    DateTime(u8),
    /// `TIME[(digits of the fraction)]`.
    Time(u8),
    /// `DECIMAL(precision, scale)`.
    Decimal(u8, u8),
    /// `DOUBLE` and `REAL`.
    Double,
    /// `FLOAT`.
    Float,
    /// `YEAR`.
    Year,
    /// `JSON`.
    Json,
}

/// Binds a CAST.
pub fn cast(target: CastTarget, arg: &Arg, ctx: &Arc<EvalContext>) -> Result<Call> {
    let args = std::slice::from_ref(arg);
    let text = matches!(target, CastTarget::Char(..) | CastTarget::Binary(_));
    if arg.hides_number() && !text {
        return Err(Error::unsupported("ENUM, SET and JSON values as numbers and dates"));
    }
    let is_date = matches!(
        target,
        CastTarget::Date | CastTarget::DateTime(_) | CastTarget::Time(_) | CastTarget::Json
    );
    if arg.mixes && !text && !is_date {
        return Err(Error::unsupported(
            "texts as numbers that IF, CASE, GREATEST or LEAST chose among other types",
        ));
    }
    let (ty, word) = target_type(target, arg)?;
    let call = match target {
        CastTarget::Signed => {
            let limit = computed_double(arg);
            Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
                check_bigint(limit.as_deref(), &batch.inputs[0], row)?;
                Ok(signed(&batch.inputs[0], row).map_or(Value::Null, Value::Int))
            })
        }
        CastTarget::Unsigned => {
            let limit = computed_double(arg);
            Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
                check_bigint(limit.as_deref(), &batch.inputs[0], row)?;
                Ok(unsigned(&batch.inputs[0], row).map_or(Value::Null, Value::UInt))
            })
        }
        CastTarget::Char(length, collation) if collation != collation::BINARY => {
            char_cast(args, ctx, ty, length, collation)
        }
        CastTarget::Char(length, _) | CastTarget::Binary(length) => {
            Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
                let (input, limit) = (&batch.inputs[0], batch.ctx.max_allowed_packet);
                if length.is_some_and(|length| u64::from(length) > limit) {
                    return Ok(too_long("cast_as_binary", limit, batch.ctx));
                }
                let Some(bytes) = input.bytes(row)? else { return Ok(Value::Null) };
                Ok(Value::Bytes(fit_bytes(&bytes, length, input)))
            })
            .with_coercibility(Coercibility::Implicit)
        }
        CastTarget::Date => Call::rowwise("CAST", args, ctx, ty, |batch, row| {
            let lenience = Lenience::of(batch.ctx).of_date();
            let date = read::datetime(&batch.inputs[0], row, lenience)?;
            Ok(date.map_or(Value::Null, |date| Value::Date(date.midnight().pack())))
        }),
        CastTarget::DateTime(digits) => Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
            let lenience = Lenience::of(batch.ctx);
            let date = read::datetime(&batch.inputs[0], row, lenience)?;
            let date = date.and_then(|date| round_datetime(date, digits, batch.ctx));
            Ok(date.map_or(Value::Null, |date| Value::Date(date.pack())))
        }),
        CastTarget::Time(digits) => Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
            let micros = read::time(&batch.inputs[0], row)?;
            Ok(micros
                .map_or(Value::Null, |micros| Value::Time(round_time(micros, digits, batch.ctx))))
        }),
        CastTarget::Decimal(..) => Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
            let value = batch.inputs[0].decimal(row);
            Ok(value.map_or(Value::Null, |value| {
                Value::Decimal(fit_decimal(value, ty.precision(), ty.decimals, batch.ctx))
            }))
        }),
        CastTarget::Double => Call::rowwise("CAST", args, ctx, ty, |batch, row| {
            Ok(batch.inputs[0].real(row).map_or(Value::Null, Value::Double))
        }),
        CastTarget::Float => float_cast(args, ctx, ty),
        CastTarget::Year => {
            Call::rowwise("CAST", args, ctx, ty, |batch, row| year(&batch.inputs[0], row))
        }
        CastTarget::Json => return Err(Error::unsupported("CAST AS JSON")),
    };
    let call = call.with_text(format!("cast({} as {word})", arg.text));
    Ok(call.with_fallibility(fallibility::of_cast(target, arg), args))
}

fn target_type(target: CastTarget, arg: &Arg) -> Result<(ColumnType, String)> {
    let fraction = |digits: u8| {
        if digits > 6 {
            Err(Error::new(
                Code::PrecisionTooBig,
                format!("Too-big precision {digits} specified for 'CAST'. Maximum is 6."),
            ))
        } else {
            Ok(digits)
        }
    };
    let from = |ty: ColumnType| if arg.ty.is_nullable() { ty.nullable() } else { ty.not_null() };
    let float = |wire| {
        let mut ty = ColumnType::double();
        ty.wire = wire;
        ty
    };
    Ok(match target {
        CastTarget::Signed => (from(result_type::bigint_type(21, false)), "signed".into()),
        CastTarget::Unsigned => (from(result_type::bigint_type(21, true)), "unsigned".into()),
        CastTarget::Char(length, collation) => (
            result_type::text_type(length.unwrap_or_else(|| text_length(arg)), collation),
            "char".into(),
        ),
        CastTarget::Binary(length) => {
            let natural = if arg.ty.is_string() { arg.ty.length } else { text_length(arg) };
            (
                result_type::string_type(length.unwrap_or(natural), collation::BINARY),
                "binary".into(),
            )
        }
        CastTarget::Date => (temporal_type(WireType::Date, 0), "date".into()),
        CastTarget::DateTime(digits) => {
            (temporal_type(WireType::DateTime, fraction(digits)?), "datetime".into())
        }
        CastTarget::Time(digits) => {
            (temporal_type(WireType::Time, fraction(digits)?), "time".into())
        }
        CastTarget::Decimal(precision, scale) => {
            let (precision, scale) = check_decimal(precision, scale, arg)?;
            let ty = result_type::decimal_type(u32::from(precision), u32::from(scale), false);
            (from(ty), format!("decimal({precision},{scale})"))
        }
        CastTarget::Double => (from(float(WireType::Double)), "double".into()),
        CastTarget::Float => (from(float(WireType::Float)), "float".into()),
        CastTarget::Year => {
            let mut ty = ColumnType::new(WireType::Year, collation::BINARY, 4, 0);
            ty.flags = Flags::BINARY.with(Flags::UNSIGNED);
            (ty, "year".into())
        }
        CastTarget::Json => return Err(Error::unsupported("CAST AS JSON")),
    })
}

fn check_decimal(precision: u8, scale: u8, arg: &Arg) -> Result<(u8, u8)> {
    let precision = if precision == 0 && scale == 0 { 10 } else { precision };
    if precision > 65 {
        let message =
            format!("Too-big precision {precision} specified for '{}'. Maximum is 65.", arg.text);
        return Err(Error::new(Code::PrecisionTooBig, message));
    }
    if scale > precision {
        let message = format!(
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{}').",
            arg.text
        );
        return Err(Error::new(Code::ScaleAbovePrecision, message));
    }
    if scale > 30 {
        let message =
            format!("Too big scale {scale} specified for column '{}'. Maximum is 30.", arg.text);
        return Err(Error::new(Code::ScaleTooBig, message));
    }
    Ok((precision, scale))
}

/// Characters that the argument has as text.
pub(crate) fn text_length(arg: &Arg) -> u32 {
    if arg.ty.is_float() {
        return match arg.ty.wire {
            WireType::Float if arg.ty.decimals < result_type::NOT_FIXED => arg.ty.length,
            WireType::Float => 12,
            _ => 22,
        };
    }
    result_type::text_chars(arg)
}

/// How MySQL prints a floating-point number that is the result of a function: beyond BIGINT such a one is
/// an error, where a column is cut to the range.
fn computed_double(arg: &Arg) -> Option<String> {
    (arg.ty.is_float() && arg.origin == Origin::Expression).then(|| arg.text.clone())
}

fn check_bigint(computed: Option<&str>, input: &Input<'_>, row: usize) -> Result<()> {
    /// 2 to the power of 63.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let Some(text) = computed else { return Ok(()) };
    match input.real(row) {
        Some(value) if !(-BEYOND..BEYOND).contains(&value) => Err(out_of_range("BIGINT", text)),
        _ => Ok(()),
    }
}

/// As a signed integer; what lies above its range wraps around like MySQL's.
fn signed(input: &Input<'_>, row: usize) -> Option<i64> {
    if input.ty.is_decimal() {
        let value = input.decimal(row)?.round_to_integer().to_i128();
        return Some(match value.map(i64::try_from) {
            Some(Ok(value)) => value,
            _ => {
                let shown = input.text(row).ok().flatten().unwrap_or_default();
                input.warn_truncated("DECIMAL", shown.as_bytes());
                if input.decimal(row)?.is_negative() { i64::MIN } else { i64::MAX }
            }
        });
    }
    let value = input.int(row)?;
    if input.ty.is_string() && value > i128::from(i64::MAX) {
        input.ctx().warn(
            1105,
            "Cast to signed converted positive out-of-range integer to its negative complement",
        );
    }
    #[expect(clippy::cast_possible_truncation, reason = "two's complement, as MySQL has it")]
    Some(value as i64)
}

/// As an unsigned integer; negative ones wrap around like MySQL's.
fn unsigned(input: &Input<'_>, row: usize) -> Option<u64> {
    let value = if input.ty.is_decimal() {
        let whole = input.decimal(row)?.round_to_integer();
        match whole.to_i128() {
            Some(value) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) => value,
            _ => {
                let shown = input.text(row).ok().flatten().unwrap_or_default();
                input.warn_truncated("DECIMAL", shown.as_bytes());
                if whole.is_negative() { i128::from(i64::MIN) } else { i128::from(u64::MAX) }
            }
        }
    } else {
        input.int(row)?
    };
    if input.ty.is_string() && value < 0 {
        input
            .ctx()
            .warn(1105, "Cast to unsigned converted negative integer to its positive complement");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "two's complement")]
    Some(value as u64)
}

fn char_cast(
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    ty: ColumnType,
    length: Option<u32>,
    collation: Collation,
) -> Call {
    let call = Call::rowwise("CAST", args, ctx, ty, move |batch, row| {
        let input = &batch.inputs[0];
        let Some(text) = input.text(row)? else { return Ok(Value::Null) };
        let text = charset::limit(&text, collation);
        let cut = length.and_then(|length| {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            text.char_indices().nth(length).map(|(at, _)| at)
        });
        Ok(Value::Text(match cut {
            Some(at) => {
                input.warn_truncated(&format!("CHAR({})", length.unwrap_or(0)), text.as_bytes());
                text[..at].to_owned()
            }
            None => text.into_owned(),
        }))
    });
    call.with_coercibility(Coercibility::Implicit)
}

fn fit_bytes(bytes: &[u8], length: Option<u32>, input: &Input<'_>) -> Vec<u8> {
    let mut fitted = bytes.to_vec();
    if let Some(length) = length {
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        if fitted.len() > size {
            input.warn_truncated(&format!("BINARY({length})"), bytes);
        }
        fitted.resize(size, 0);
    }
    fitted
}

/// Rounds a date with time to so many digits of fraction; `None` beyond the year 9999.
pub(crate) fn round_datetime(date: DateTime, digits: u8, ctx: &EvalContext) -> Option<DateTime> {
    round_datetime_in(date, digits, ctx.sql_mode)
}

/// Like [`round_datetime`] under a `sql_mode`.
pub(crate) fn round_datetime_in(date: DateTime, digits: u8, mode: SqlMode) -> Option<DateTime> {
    let unit = 10_i64.pow(6 - u32::from(digits.min(6)));
    let rest = i64::from(date.micros) % unit;
    let up = !mode.time_truncate_fractional && rest * 2 >= unit && rest > 0;
    let step = if up { unit - rest } else { -rest };
    if step == 0 {
        return Some(date);
    }
    if step < 0 || i64::from(date.micros) + step < 1_000_000 {
        let micros = u32::try_from(i64::from(date.micros) + step).ok()?;
        return Some(DateTime { micros, ..date });
    }
    next_second(date, step)
}

/// Rounds a time to so many digits of fraction.
pub(crate) fn round_time(micros: i64, digits: u8, ctx: &EvalContext) -> i64 {
    round_time_in(micros, digits, ctx.sql_mode)
}

/// Like [`round_time`] under a `sql_mode`.
pub(crate) fn round_time_in(micros: i64, digits: u8, mode: SqlMode) -> i64 {
    let unit = 10_i64.pow(6 - u32::from(digits.min(6)));
    let size = micros.abs();
    let rest = size % unit;
    let up = !mode.time_truncate_fractional && rest * 2 >= unit;
    let rounded = if up && rest > 0 { size - rest + unit } else { size - rest };
    rounded.min(pelorus_types::temporal::TIME_MAX_MICROS) * micros.signum()
}

fn fit_decimal(value: Decimal, precision: u8, scale: u8, ctx: &EvalContext) -> Decimal {
    let limit = pow10(precision);
    match value.rescale(scale) {
        Some(rounded) if rounded.units.wrapping_abs() < limit => rounded,
        _ => {
            ctx.warn(1264, "Out of range value for column '' at row 1");
            let most = limit.wrapping_sub(arrow::datatypes::i256::ONE);
            let units = if value.is_negative() { most.wrapping_neg() } else { most };
            Decimal { units, scale }
        }
    }
}

fn float_cast(args: &[Arg], ctx: &Arc<EvalContext>, ty: ColumnType) -> Call {
    Call::rowwise("CAST", args, ctx, ty, |batch, row| {
        let Some(value) = batch.inputs[0].real(row) else { return Ok(Value::Null) };
        if value.abs() > f64::from(f32::MAX) {
            return Err(out_of_range("FLOAT", "cast as float"));
        }
        Ok(Value::Double(value))
    })
}

fn year(input: &Input<'_>, row: usize) -> Result<Value> {
    let bad = |shown: &str| {
        input.ctx().warn(1292, format!("Truncated incorrect YEAR value: '{shown}'"));
        Ok(Value::Null)
    };
    let number = match input.value(row) {
        Value::Null => return Ok(Value::Null),
        Value::Date(packed) => return Ok(Value::UInt(u64::from(DateTime::unpack(packed).year))),
        Value::Time(_) => u64::from(read::today(input.ctx()).year).into(),
        Value::Text(text) => {
            let read = parse::integer_prefix(text.as_bytes());
            if read.truncated {
                input.ctx().warn(1525, format!("Incorrect YEAR value: '{text}'"));
                return Ok(Value::Null);
            }
            match read.value {
                0 if text.trim().len() < 4 => 2000,
                value if text.trim().len() >= 4 && value == 0 => 0,
                value => value,
            }
        }
        _ => input.int(row).unwrap_or(0),
    };
    Ok(match number {
        0 => Value::UInt(0),
        1..=69 => Value::UInt(u64::try_from(number + 2000).unwrap_or(0)),
        70..=99 => Value::UInt(u64::try_from(number + 1900).unwrap_or(0)),
        1901..=2155 => Value::UInt(u64::try_from(number).unwrap_or(0)),
        _ => return bad(&number.to_string()),
    })
}

/// Binds `COLLATE`: text and the collation's name as a constant.
pub(crate) fn collate(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg, wanted] = args else { return Err(parameter_count(name)) };
    let wanted_name = wanted
        .constant_text()
        .ok_or_else(|| Error::internal("COLLATE takes the name of a collation"))?;
    let collation = Collation::by_name(wanted_name).ok_or_else(|| {
        Error::new(Code::UnknownCollation, format!("Unknown collation: '{wanted_name}'"))
    })?;
    let charset = if arg.ty.is_string() { arg.ty.collation } else { ctx.collation };
    if !arg.is_null() && charset.charset() != collation.charset() {
        return Err(Error::new(
            Code::CollationCharsetMismatch,
            format!(
                "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                collation.name(),
                charset.charset()
            ),
        ));
    }
    let chars = text_length(arg);
    let ty = result_type::text_type(chars, collation).nullable();
    let text = format!("({} collate {})", arg.text, collation.name());
    let call = Call::rowwise(name, args, ctx, ty, |batch, row| {
        Ok(batch.inputs[0].text(row)?.map_or(Value::Null, |text| Value::Text(text.into_owned())))
    });
    Ok(call.with_coercibility(Coercibility::Explicit).with_text(text))
}
