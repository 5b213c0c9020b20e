//! The current time, and seconds since 1970: `NOW`, `CURDATE`, `UNIX_TIMESTAMP`, `FROM_UNIXTIME`,
//! `CONVERT_TZ`.

use std::sync::Arc;

use arrow::datatypes::i256;
use pelorus_error::{Code, Error, Result};
use pelorus_types::WireType;
use pelorus_types::temporal::DateTime;

use super::format;
use super::make::datetime_decimals;
use super::read::{self, Lenience};
use crate::call::Call;
use crate::context::EvalContext;
use crate::decimal::Decimal;
use crate::input::Input;
use crate::registry::errors::parameter_count;
use crate::types::common_type::temporal_type;
use crate::types::result_type::{Numeric, bigint_type, decimal_of, null_if_any, numeric_type};
use crate::value::{Arg, Value};
use crate::zone::{TimeZone, seconds};

/// The last second that MySQL converts: 3001-01-18 23:59:59 in universal time.
const LAST_SECOND: i64 = 32_536_771_199;
const SECOND: i64 = 1_000_000;

/// Binds `NOW`, `CURDATE`, `CURTIME`, `UTC_TIMESTAMP` and their other names.
pub(crate) fn current(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let digits = match args {
        [] => 0,
        [digits] => digits.constant_int().unwrap_or(-1),
        _ => return Err(parameter_count(name)),
    };
    let digits = u8::try_from(digits).ok().filter(|digits| *digits <= 6).ok_or_else(|| {
        Error::new(
            Code::PrecisionTooBig,
            format!(
                "Too-big precision {digits} specified for '{}'. Maximum is 6.",
                name.to_ascii_lowercase()
            ),
        )
    })?;
    let utc = name.starts_with("UTC_");
    let zone = if utc { TimeZone::Utc } else { ctx.time_zone };
    let moment = zone.local(ctx.now_micros);
    let unit = 10_u32.pow(6 - u32::from(digits));
    let moment = DateTime { micros: moment.micros / unit * unit, ..moment };
    let (ty, value) = match name {
        "CURDATE" | "CURRENT_DATE" | "UTC_DATE" => {
            (temporal_type(WireType::Date, 0), Value::Date(moment.midnight().pack()))
        }
        "CURTIME" | "CURRENT_TIME" | "UTC_TIME" => {
            let mut ty = temporal_type(WireType::Time, digits);
            // Never negative and never beyond a day.
            ty.length -= 2;
            (ty, Value::Time(moment.time_micros()))
        }
        _ => (temporal_type(WireType::DateTime, digits), Value::Date(moment.pack())),
    };
    Ok(Call::rowwise(name, args, ctx, ty.not_null(), move |_, _| Ok(value.clone())))
}

/// Microseconds since 1970 of a local date; `None` for what MySQL does not convert.
fn unix_micros(date: DateTime, zone: TimeZone) -> Option<i64> {
    if !date.is_valid() {
        return None;
    }
    let moment = zone.moment(seconds(date)).taken();
    let micros = moment * SECOND + i64::from(date.micros);
    (SECOND..(LAST_SECOND + 1) * SECOND).contains(&micros).then_some(micros)
}

/// Binds `UNIX_TIMESTAMP`.
pub(crate) fn unix_timestamp(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else {
        if args.is_empty() {
            let seconds = ctx.now_micros.div_euclid(SECOND);
            let ty = bigint_type(21, false).not_null();
            return Ok(Call::rowwise(name, args, ctx, ty, move |_, _| Ok(Value::Int(seconds))));
        }
        return Err(parameter_count(name));
    };
    let decimals = datetime_decimals(arg);
    let ty = if decimals == 0 {
        bigint_type(21, false)
    } else {
        decimal_of(11 + u32::from(decimals), u32::from(decimals), false)
    };
    let ty = null_if_any(ty, args);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        if batch.inputs[0].is_null(row) {
            return Ok(Value::Null);
        }
        let date = read::datetime(&batch.inputs[0], row, Lenience::STRICT)?;
        let micros = date.and_then(|date| unix_micros(date, batch.ctx.time_zone)).unwrap_or(0);
        if decimals == 0 {
            return Ok(Value::Int(micros / SECOND));
        }
        let units = i128::from(micros) / 10_i128.pow(6 - u32::from(decimals));
        Ok(Value::Decimal(Decimal { units: i256::from_i128(units), scale: decimals }))
    }))
}

/// The local date of seconds since 1970 in a row.
pub(crate) fn from_unixtime_at(input: &Input<'_>, row: usize) -> Result<Option<DateTime>> {
    // However little it is before 1970.
    let seconds = input.decimal(row).filter(|seconds| !seconds.is_negative());
    let micros =
        seconds.and_then(|seconds| i64::try_from(seconds.rescale(6)?.units.to_i128()?).ok());
    let Some(micros) = micros.filter(|micros| *micros >= 0 && *micros / SECOND <= LAST_SECOND)
    else {
        return Ok(None);
    };
    check_range(micros, input.ctx())?;
    Ok(Some(input.ctx().time_zone.local(micros)))
}

/// Refuses what a MySQL alone converts: how far a MariaDB does depends on its version.
fn check_range(micros: i64, ctx: &EvalContext) -> Result<()> {
    if ctx.of_mariadb && micros / SECOND > i64::from(i32::MAX) {
        return Err(Error::unsupported("moments beyond 2038 as MariaDB has them"));
    }
    Ok(())
}

/// Binds `FROM_UNIXTIME`.
pub(crate) fn from_unixtime(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let arg = match args {
        [arg] => arg,
        [_, _] => return format::unixtime_format(name, args, ctx),
        _ => return Err(parameter_count(name)),
    };
    let decimals = match numeric_type(&arg.ty) {
        Numeric::Int => 0,
        _ if arg.is_null() => 0,
        _ => crate::types::result_type::decimals(&arg.ty).min(6),
    };
    let ty = temporal_type(WireType::DateTime, decimals);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        // An average has more digits than it shows: they are cut off where the date is shown.
        let date = from_unixtime_at(&batch.inputs[0], row)?;
        Ok(date.map_or(Value::Null, |date| Value::Date(date.pack())))
    }))
}

/// Seconds of `+hh:mm`; `None` for anything else.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| plain && text.len() <= 2)
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let seconds = sign * (hours * 3600 + minutes * 60);
    (minutes < 60 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&seconds)).then_some(seconds)
}

/// Binds `CONVERT_TZ`: between offsets, zones of the database, and `SYSTEM`.
pub(crate) fn convert_tz(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [date, _, _] = args else { return Err(parameter_count(name)) };
    let ty = temporal_type(WireType::DateTime, datetime_decimals(date));
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let [date, from, to] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        let (Some(from), Some(to)) = (from.text(row)?, to.text(row)?) else {
            return Ok(Value::Null);
        };
        let Some(date) = read::datetime(date, row, Lenience::STRICT)? else {
            return Ok(Value::Null);
        };
        let system = batch.ctx.system_time_zone;
        let (Some(from), Some(to)) = (zone_of(&from, system), zone_of(&to, system)) else {
            return Ok(Value::Null);
        };
        // Outside the range of TIMESTAMP the date stays as it is.
        let micros = unix_micros(date, from);
        micros.map_or(Ok(()), |micros| check_range(micros, batch.ctx))?;
        let moved = micros.map_or(date, |micros| to.local(micros));
        Ok(Value::Date(moved.pack()))
    }))
}

/// A zone as `CONVERT_TZ` takes it.
fn zone_of(text: &str, system: TimeZone) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case("SYSTEM") {
        return Some(system);
    }
    match offset(text) {
        Some(seconds) => i32::try_from(seconds).ok().map(TimeZone::fixed),
        None => TimeZone::named(text),
    }
}
