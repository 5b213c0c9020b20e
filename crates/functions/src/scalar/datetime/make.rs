//! Constructors of dates and times from numbers and from other dates: `DATE`, `TIME`, `TIMESTAMP`,
//! `MAKEDATE`, `MAKETIME`, `SEC_TO_TIME`, `LAST_DAY`, `FROM_DAYS`.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_types::WireType;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS, days_in_month};

use super::difference::clamp_time;
use super::parse;
use super::read::{self, Lenience};
use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::scalar::cast::{round_datetime, round_time};
use crate::types::common_type::temporal_type;
use crate::types::result_type::{Numeric, numeric_type};
use crate::value::{Arg, Value};

fn fraction_of(arg: &Arg, of_text: fn(&str) -> Option<u8>) -> u8 {
    if arg.is_null() {
        return 0;
    }
    if arg.ty.is_temporal() {
        return if arg.ty.wire == WireType::Date { 0 } else { arg.ty.decimals };
    }
    if let Some(text) = arg.constant_text() {
        return of_text(text).unwrap_or(6);
    }
    match numeric_type(&arg.ty) {
        Numeric::Int => 0,
        Numeric::Decimal | Numeric::Real => crate::types::result_type::decimals(&arg.ty).min(6),
    }
}

/// Digits of fraction that the argument has as a TIME.
pub(crate) fn time_decimals(arg: &Arg) -> u8 {
    fraction_of(arg, |text| {
        let parsed = parse::time(text);
        parsed.value.map(|_| parsed.fraction)
    })
}

/// Digits of fraction that the argument has as a DATETIME.
pub(crate) fn datetime_decimals(arg: &Arg) -> u8 {
    fraction_of(arg, |text| {
        let parsed = parse::datetime(text);
        // Digits are counted even where the day is none of the calendar.
        (parsed.value.is_some() || parsed.shaped).then_some(parsed.fraction)
    })
}

/// Binds `DATE`.
pub(crate) fn date(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = temporal_type(WireType::Date, 0);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let date = read::datetime(&batch.inputs[0], row, Lenience::of(batch.ctx).of_date())?;
        Ok(date.map_or(Value::Null, |date| Value::Date(date.midnight().pack())))
    }))
}

/// Binds `TIME`.
pub(crate) fn time(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let decimals = time_decimals(arg);
    let ty = temporal_type(WireType::Time, decimals);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let micros = read::time(&batch.inputs[0], row)?;
        Ok(micros.map_or(Value::Null, |t| Value::Time(round_time(t, decimals, batch.ctx))))
    }))
}

/// Binds `TIMESTAMP` of one or two arguments.
pub(crate) fn timestamp(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let decimals = match args {
        [date] => datetime_decimals(date),
        [date, time] => datetime_decimals(date).max(time_decimals(time)),
        _ => return Err(parameter_count(name)),
    };
    let ty = temporal_type(WireType::DateTime, decimals);
    let two = args.len() == 2;
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let lenience = if two { Lenience::STRICT } else { Lenience::of(batch.ctx) };
        let Some(mut date) = read::datetime(&batch.inputs[0], row, lenience)? else {
            return Ok(Value::Null);
        };
        if two {
            let time = read::time(&batch.inputs[1], row)?;
            let moved = time.and_then(|time| date.plus_micros(time));
            let Some(moved) = moved else { return Ok(Value::Null) };
            date = moved;
        }
        let date = round_datetime(date, decimals, batch.ctx);
        Ok(date.map_or(Value::Null, |date| Value::Date(date.pack())))
    }))
}

/// Binds `LAST_DAY`.
pub(crate) fn last_day(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = temporal_type(WireType::Date, 0);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let date = read::datetime(&batch.inputs[0], row, Lenience::part(batch.ctx).of_date())?;
        Ok(match date {
            Some(date) if date.month > 0 => {
                let day = days_in_month(date.year, date.month);
                Value::Date(DateTime::date(date.year, date.month, day).pack())
            }
            _ => Value::Null,
        })
    }))
}

/// Binds `MAKEDATE`.
pub(crate) fn makedate(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, _] = args else { return Err(parameter_count(name)) };
    let ty = temporal_type(WireType::Date, 0);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let (Some(year), Some(day)) = (batch.inputs[0].int64(row), batch.inputs[1].int64(row))
        else {
            return Ok(Value::Null);
        };
        if !(0..=9999).contains(&year) || day <= 0 || day > 4_000_000 {
            return Ok(Value::Null);
        }
        let year = match year {
            0..70 => year + 2000,
            70..100 => year + 1900,
            _ => year,
        };
        let start = u16::try_from(year).map(|year| DateTime::date(year, 1, 1).day_number());
        let date = start.ok().and_then(|start| DateTime::from_day_number(start + day - 1));
        Ok(date.map_or(Value::Null, |date| Value::Date(date.pack())))
    }))
}

/// Binds `MAKETIME`.
pub(crate) fn maketime(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, _, seconds] = args else { return Err(parameter_count(name)) };
    let decimals = match numeric_type(&seconds.ty) {
        Numeric::Int => 0,
        _ if seconds.is_null() => 0,
        _ => crate::types::result_type::decimals(&seconds.ty).min(6),
    };
    let ty = temporal_type(WireType::Time, decimals);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let [hours, minutes, seconds] = batch.inputs.as_slice() else { return Ok(Value::Null) };
        let (Some(hours), Some(minutes), Some(seconds)) =
            (hours.int64(row), minutes.int64(row), seconds.decimal(row))
        else {
            return Ok(Value::Null);
        };
        let micros = seconds.rescale(6).and_then(|seconds| seconds.units.to_i128());
        let Some(micros) = micros.and_then(|micros| i64::try_from(micros).ok()) else {
            return Ok(Value::Null);
        };
        // The seventh digit may make it 60 seconds.
        let whole = seconds.truncate(0).units.to_i128();
        let fits = whole.is_some_and(|whole| whole < 60) && !seconds.is_negative();
        if !(0..60).contains(&minutes) || !fits {
            return Ok(Value::Null);
        }
        let rest = minutes * 60_000_000 + micros;
        let size = hours.unsigned_abs().min(10_000);
        let size = i64::try_from(size).unwrap_or(10_000) * 3_600_000_000 + rest;
        if hours.unsigned_abs() > 838 {
            let shown = format!("{hours}:{minutes:02}:{:02}", micros / 1_000_000);
            batch.ctx.warn(1292, format!("Truncated incorrect time value: '{shown}'"));
            return Ok(Value::Time(TIME_MAX_MICROS * if hours < 0 { -1 } else { 1 }));
        }
        Ok(Value::Time(clamp_time(if hours < 0 { -size } else { size }, batch.ctx)))
    }))
}

/// Binds `SEC_TO_TIME`.
pub(crate) fn sec_to_time(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let decimals = match numeric_type(&arg.ty) {
        Numeric::Int => 0,
        _ if arg.is_null() => 0,
        _ => crate::types::result_type::decimals(&arg.ty).min(6),
    };
    let ty = temporal_type(WireType::Time, decimals);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let Some(seconds) = batch.inputs[0].decimal(row) else { return Ok(Value::Null) };
        let micros = seconds
            .rescale(6)
            .and_then(|seconds| seconds.units.to_i128())
            .and_then(|micros| i64::try_from(micros).ok());
        let sign = if seconds.is_negative() { -1 } else { 1 };
        Ok(Value::Time(match micros {
            // A fraction of the last second may be there.
            Some(micros) if micros.abs() < TIME_MAX_MICROS + 1_000_000 => micros,
            _ => {
                let shown = seconds.to_text();
                batch.ctx.warn(1292, format!("Truncated incorrect time value: '{shown}'"));
                TIME_MAX_MICROS * sign
            }
        }))
    }))
}

/// Binds `FROM_DAYS`.
pub(crate) fn from_days(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [arg] = args else { return Err(parameter_count(name)) };
    let ty = temporal_type(WireType::Date, 0);
    let text = arg.text.clone();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(days) = batch.inputs[0].int64(row) else { return Ok(Value::Null) };
        if !(1..=3_652_424).contains(&days) {
            let message = format!("DATE value is out of range in 'from_days({text})'");
            batch.ctx.warn(6527, message);
            return Ok(Value::Null);
        }
        Ok(Value::Date(DateTime::from_day_number(days).unwrap_or_default().pack()))
    }))
}
