//! Parts of dates and times: `YEAR` to `MICROSECOND`, `EXTRACT`, `WEEK`, `DAYNAME`.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::temporal::DateTime;
use pelorus_types::{ColumnType, Flags, WireType, collation};

use super::read::{self, Lenience, Moment};
use super::week::{self, MONDAY_FIRST, OF_YEAR};
use super::{DAYS, MONTHS, parse};
use crate::call::{Batch, Call};
use crate::context::EvalContext;
use crate::input::Input;
use crate::registry::errors::parameter_count;
use crate::types::result_type::{bigint_type, text_type};
use crate::value::{Arg, Coercibility, Value};

fn int(value: i64) -> Value {
    Value::Int(value)
}

fn date(batch: &Batch<'_>, row: usize, lenience: Lenience) -> Result<Option<DateTime>> {
    read::datetime(&batch.inputs[0], row, lenience.of_date())
}

/// Binds the functions that give one part of a date.
pub(crate) fn of_date(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let (length, strict, part): (u32, bool, fn(DateTime) -> i64) = match name {
        "YEAR" => return year(name, args, ctx),
        "MONTH" => (3, false, |t| i64::from(t.month)),
        "DAY" | "DAYOFMONTH" => (3, false, |t| i64::from(t.day)),
        "QUARTER" => (2, false, |t| i64::from(t.month.div_ceil(3))),
        "DAYOFYEAR" => (4, true, day_of_year),
        "DAYOFWEEK" => (2, true, |t| week::weekday(week::day_number(t), true) + 1),
        "WEEKDAY" => (2, true, |t| week::weekday(week::day_number(t), false)),
        "WEEKOFYEAR" => (3, true, |t| week::week(t, MONDAY_FIRST | OF_YEAR).0),
        "TO_DAYS" => (8, true, week::day_number),
        "TO_SECONDS" => (21, true, |t| week::day_number(t) * 86_400 + t.time_micros() / 1_000_000),
        _ => return Err(Error::internal(format!("{name} is no part of a date"))),
    };
    let ty = bigint_type(length, false).nullable();
    let (is_count, has_time) = (name == "TO_DAYS", name == "TO_SECONDS");
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let lenience = match strict {
            true if is_count => Lenience::COUNTED,
            true => Lenience::STRICT,
            false => Lenience::part(batch.ctx),
        };
        let date = match has_time {
            true => read::datetime(&batch.inputs[0], row, lenience)?,
            false => date(batch, row, lenience)?,
        };
        Ok(date.map_or(Value::Null, |t| int(part(t))))
    }))
}

fn year(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let mut ty = ColumnType::new(WireType::Year, collation::BINARY, 4, 0);
    ty.flags = Flags::BINARY.with(Flags::UNSIGNED);
    Ok(Call::rowwise(name, args, ctx, ty, |batch, row| {
        let date = date(batch, row, Lenience::part(batch.ctx))?;
        Ok(date.map_or(Value::Null, |t| Value::UInt(u64::from(t.year))))
    }))
}

pub(crate) fn day_of_year(t: DateTime) -> i64 {
    week::day_number(t) - week::day_number(DateTime::date(t.year, 1, 1)) + 1
}

/// Binds the functions that give one part of a time.
pub(crate) fn of_time(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let (length, part): (u32, fn(i64) -> i64) = match name {
        "HOUR" => (4, |t| t.abs() / 3_600_000_000),
        "MINUTE" => (3, |t| t.abs() / 60_000_000 % 60),
        "SECOND" => (3, |t| t.abs() / 1_000_000 % 60),
        "MICROSECOND" => (21, |t| t.abs() % 1_000_000),
        "TIME_TO_SEC" => (10, |t| t / 1_000_000),
        _ => return Err(Error::internal(format!("{name} is no part of a time"))),
    };
    let ty = bigint_type(length, false).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        Ok(read::time(&batch.inputs[0], row)?.map_or(Value::Null, |t| int(part(t))))
    }))
}

/// Binds `WEEK` and `YEARWEEK`.
pub(crate) fn week_of(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.is_empty() || args.len() > 2 {
        return Err(parameter_count(name));
    }
    let with_year = name == "YEARWEEK";
    let ty = bigint_type(if with_year { 7 } else { 3 }, false).nullable();
    let default = if with_year { 0 } else { i64::from(ctx.default_week_format) };
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(date) = date(batch, row, Lenience::STRICT)? else { return Ok(Value::Null) };
        let mode = match batch.inputs.get(1) {
            None => default,
            Some(mode) => mode.int64(row).unwrap_or(0),
        };
        let flags = week::mode_flags(mode);
        if with_year {
            let (week, year) = week::week(date, flags | OF_YEAR);
            return Ok(int(week + year * 100));
        }
        Ok(int(week::week(date, flags).0))
    }))
}

/// Binds `DAYNAME` and `MONTHNAME`.
pub(crate) fn name_of(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_] = args else { return Err(parameter_count(name)) };
    let ty = text_type(9, ctx.collation).nullable();
    let day = name == "DAYNAME";
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let lenience = if day { Lenience::STRICT } else { Lenience::part(batch.ctx) };
        let Some(date) = date(batch, row, lenience)? else { return Ok(Value::Null) };
        let found = if day {
            let weekday = week::weekday(week::day_number(date), false);
            usize::try_from(weekday).ok().and_then(|at| DAYS.get(at))
        } else {
            usize::from(date.month).checked_sub(1).and_then(|at| MONTHS.get(at))
        };
        Ok(found.map_or(Value::Null, |name| Value::Text((*name).to_owned())))
    });
    Ok(call.with_coercibility(Coercibility::Coercible))
}

/// Binds `EXTRACT`: the unit's name as a constant, and the date or time.
pub(crate) fn extract(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [unit, arg] = args else { return Err(parameter_count(name)) };
    let unit = unit.constant_text().unwrap_or_default().to_ascii_uppercase();
    let (length, of_date) = match unit.as_str() {
        "YEAR" => (5, true),
        "YEAR_MONTH" => (7, true),
        "QUARTER" => (2, true),
        "MONTH" | "WEEK" | "DAY" => (3, true),
        "DAY_HOUR" => (9, false),
        "DAY_MINUTE" => (11, false),
        "DAY_SECOND" => (13, false),
        "DAY_MICROSECOND" => (20, false),
        "HOUR" => (4, false),
        "HOUR_MINUTE" => (6, false),
        "HOUR_SECOND" => (8, false),
        "HOUR_MICROSECOND" => (14, false),
        "MINUTE" | "SECOND" => (3, false),
        "MINUTE_SECOND" => (5, false),
        "MINUTE_MICROSECOND" => (11, false),
        "MICROSECOND" => (7, false),
        "SECOND_MICROSECOND" => (9, false),
        _ => return Err(Error::unsupported(format_args!("EXTRACT({unit} FROM ...)"))),
    };
    let ty = bigint_type(length, false).nullable();
    let text = format!("extract({} from {})", unit.to_ascii_lowercase(), arg.text);
    let default_week = i64::from(ctx.default_week_format);
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let input = &batch.inputs[1];
        if of_date {
            let lenience =
                if unit == "WEEK" { Lenience::STRICT } else { Lenience::part(batch.ctx) };
            let date = read::datetime(input, row, lenience)?;
            return Ok(date.map_or(Value::Null, |t| int(date_part(&unit, t, default_week))));
        }
        Ok(match moment_to_extract(input, row)? {
            None => Value::Null,
            Some(Moment::Date(date)) if unit.starts_with("DAY_") => {
                int(date_part(&unit, date, default_week))
            }
            Some(Moment::Date(date)) => int(time_part(&unit, date.time_micros())),
            Some(Moment::Time(time)) => int(time_part(&unit, time)),
        })
    });
    Ok(call.with_text(text))
}

/// What EXTRACT takes a time of day from: a text or number that is a date has that of the date, even
/// where `HOUR` would read it as a time.
fn moment_to_extract(input: &Input<'_>, row: usize) -> Result<Option<Moment>> {
    let lenience = Lenience::part(input.ctx());
    let number = match input.value(row) {
        Value::Int(number) => i128::from(number),
        Value::UInt(number) => i128::from(number),
        Value::Decimal(_) | Value::Double(_) => {
            return Err(Error::unsupported("EXTRACT of a time from a number with a fraction"));
        }
        _ => return read::moment(input, row, lenience),
    };
    // Whether it is a date a MySQL sees by its digits, which it reads as a text's; which date by its
    // value.
    let digits = parse::datetime_with(&number.to_string(), true);
    if digits.value.is_none() || digits.truncated {
        return Ok(read::time(input, row)?.map(Moment::Time));
    }
    Ok(read::datetime(input, row, lenience)?.map(Moment::Date))
}

fn date_part(unit: &str, t: DateTime, default_week: i64) -> i64 {
    let (year, month, day) = (i64::from(t.year), i64::from(t.month), i64::from(t.day));
    let (hour, minute, second) = (i64::from(t.hour), i64::from(t.minute), i64::from(t.second));
    match unit {
        "YEAR" => year,
        "YEAR_MONTH" => year * 100 + month,
        "QUARTER" => (month + 2) / 3,
        "MONTH" => month,
        "WEEK" => week::week(t, week::mode_flags(default_week)).0,
        "DAY" => day,
        "DAY_HOUR" => day * 100 + hour,
        "DAY_MINUTE" => (day * 100 + hour) * 100 + minute,
        "DAY_SECOND" => ((day * 100 + hour) * 100 + minute) * 100 + second,
        _ => (((day * 100 + hour) * 100 + minute) * 100 + second) * 1_000_000 + i64::from(t.micros),
    }
}

fn time_part(unit: &str, micros: i64) -> i64 {
    let size = micros.abs();
    let (hour, minute, second) =
        (size / 3_600_000_000, size / 60_000_000 % 60, size / 1_000_000 % 60);
    let fraction = size % 1_000_000;
    // The hours of a time are not made days.
    let part = match unit.strip_prefix("DAY_").unwrap_or(unit) {
        "HOUR" => hour,
        "MINUTE" if unit != "MINUTE" => hour * 100 + minute,
        "SECOND" if unit != "SECOND" => (hour * 100 + minute) * 100 + second,
        "MICROSECOND" if unit != "MICROSECOND" => {
            ((hour * 100 + minute) * 100 + second) * 1_000_000 + fraction
        }
        "HOUR_MINUTE" => hour * 100 + minute,
        "HOUR_SECOND" => (hour * 100 + minute) * 100 + second,
        "HOUR_MICROSECOND" => ((hour * 100 + minute) * 100 + second) * 1_000_000 + fraction,
        "MINUTE" => minute,
        "MINUTE_SECOND" => minute * 100 + second,
        "MINUTE_MICROSECOND" => (minute * 100 + second) * 1_000_000 + fraction,
        "SECOND" => second,
        "SECOND_MICROSECOND" => second * 1_000_000 + fraction,
        _ => fraction,
    };
    if micros < 0 { -part } else { part }
}
