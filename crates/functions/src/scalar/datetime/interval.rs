//! Date arithmetic: `DATE_ADD`, `DATE_SUB`, `ADDDATE`, `SUBDATE`, `TIMESTAMPADD`, `ADDTIME`,
//! `SUBTIME`.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::temporal::{
    DateTime, TIME_MAX_MICROS, days_in_month, write_date, write_datetime, write_time,
};
use pelorus_types::{ColumnType, WireType};

use super::make::time_decimals;
use super::parse;
use super::read::{self, Lenience, Moment};
use crate::call::Call;
use crate::context::EvalContext;
use crate::input::Input;
use crate::registry::errors::parameter_count;
use crate::types::common_type::temporal_type;
use crate::types::result_type::{Numeric, numeric_type, text_type};
use crate::value::{Arg, Coercibility, Origin, Value};

/// A unit of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Months, so many to one of the unit.
    Months(i64),
    /// Whole days, so many to one of the unit.
    Days(i64),
    /// Seconds, so many to one of the unit.
    Seconds(i64),
    Microsecond,
    YearMonth,
    /// Several parts: the microseconds of each, largest first. Text is read part by part.
    Parts(&'static [i64]),
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn unit(name: &str) -> Option<Unit> {
    Some(match name.strip_prefix("SQL_TSI_").unwrap_or(name) {
        "YEAR" => Unit::Months(12),
        "QUARTER" => Unit::Months(3),
        "MONTH" => Unit::Months(1),
        "WEEK" => Unit::Days(7),
        "DAY" => Unit::Days(1),
        "HOUR" => Unit::Seconds(3600),
        "MINUTE" => Unit::Seconds(60),
        "SECOND" => Unit::Seconds(1),
        "MICROSECOND" => Unit::Microsecond,
        "YEAR_MONTH" => Unit::YearMonth,
        "DAY_HOUR" => Unit::Parts(&[DAY, HOUR]),
        "DAY_MINUTE" => Unit::Parts(&[DAY, HOUR, MINUTE]),
        "DAY_SECOND" => Unit::Parts(&[DAY, HOUR, MINUTE, SECOND]),
        "DAY_MICROSECOND" => Unit::Parts(&[DAY, HOUR, MINUTE, SECOND, 1]),
        "HOUR_MINUTE" => Unit::Parts(&[HOUR, MINUTE]),
        "HOUR_SECOND" => Unit::Parts(&[HOUR, MINUTE, SECOND]),
        "HOUR_MICROSECOND" => Unit::Parts(&[HOUR, MINUTE, SECOND, 1]),
        "MINUTE_SECOND" => Unit::Parts(&[MINUTE, SECOND]),
        "MINUTE_MICROSECOND" => Unit::Parts(&[MINUTE, SECOND, 1]),
        "SECOND_MICROSECOND" => Unit::Parts(&[SECOND, 1]),
        _ => return None,
    })
}

impl Unit {
    /// Whether whole days are all that it moves.
    fn is_date(self) -> bool {
        matches!(self, Unit::Months(_) | Unit::Days(_) | Unit::YearMonth)
    }

    /// Whether days are among what it moves.
    fn has_days(self) -> bool {
        self.is_date() || matches!(self, Unit::Parts([DAY, ..]))
    }

    fn has_micros(self) -> bool {
        self == Unit::Microsecond || matches!(self, Unit::Parts([.., 1]))
    }
}

/// How far a date is moved.
#[derive(Clone, Copy, Debug)]
enum Step {
    Months(i64),
    Days(i64),
    Micros(i128),
    /// The interval's text has more numbers than its unit.
    TooManyParts,
}

fn step(input: &Input<'_>, row: usize, unit: Unit, sign: i64) -> Result<Option<Step>> {
    let whole = || match input.value(row) {
        // A MySQL takes the 64 bits for a number with a sign.
        Value::UInt(value) if !input.ctx().of_mariadb => Some(value.cast_signed()),
        _ => input.int64(row),
    };
    Ok(match unit {
        Unit::Months(months) => {
            whole().map(|n| Step::Months(n.saturating_mul(months).saturating_mul(sign)))
        }
        Unit::Days(days) => {
            whole().map(|n| Step::Days(n.saturating_mul(days).saturating_mul(sign)))
        }
        Unit::Seconds(1) => input.decimal(row).map(|value| {
            let micros = value.truncate(6).rescale(6).and_then(|value| value.units.to_i128());
            Step::Micros(micros.unwrap_or(i128::from(i64::MAX) * 1_000_000) * i128::from(sign))
        }),
        Unit::Seconds(seconds) => whole().map(|n| {
            Step::Micros(i128::from(n) * i128::from(seconds) * 1_000_000 * i128::from(sign))
        }),
        Unit::Microsecond => whole().map(|n| Step::Micros(i128::from(n) * i128::from(sign))),
        Unit::YearMonth => {
            let Some(text) = input.text(row)? else { return Ok(None) };
            let Some((negative, parts)) = read_parts(&text, 2, false) else {
                return Ok(Some(Step::TooManyParts));
            };
            let months = parts[0].saturating_mul(12).saturating_add(parts[1]);
            Some(Step::Months(if negative { -months } else { months } * sign))
        }
        Unit::Parts(units) => {
            let Some(text) = input.text(row)? else { return Ok(None) };
            let Some((negative, parts)) = read_parts(&text, units.len(), unit.has_micros()) else {
                return Ok(Some(Step::TooManyParts));
            };
            let total: i128 =
                parts.iter().zip(units).map(|(n, unit)| i128::from(*n) * i128::from(*unit)).sum();
            Some(Step::Micros(if negative { -total } else { total } * i128::from(sign)))
        }
    })
}

/// Reads numbers with anything between them. Missing ones are missing in front.
/// `None` when there are more than asked for.
fn read_parts(text: &str, count: usize, micros_last: bool) -> Option<(bool, Vec<i64>)> {
    let trimmed = text.trim_start();
    let negative = trimmed.starts_with('-');
    let mut parts = Vec::new();
    let mut rest = trimmed.trim_start_matches(|c: char| !c.is_ascii_digit());
    while parts.len() < count && !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let last = parts.len() + 1 == count;
        let mut value: i64 = rest[..digits].parse().unwrap_or(i64::MAX);
        rest = rest[digits..].trim_start_matches(|c: char| !c.is_ascii_digit());
        // The last part is a fraction: `.5` is half a second.
        if micros_last && (last || rest.is_empty()) && digits < 6 {
            value *= 10_i64.pow(u32::try_from(6 - digits).unwrap_or(0));
        }
        parts.push(value);
    }
    if !rest.is_empty() {
        return None;
    }
    while parts.len() < count {
        parts.insert(0, 0);
    }
    Some((negative, parts))
}

/// The date moved; `None` beyond the calendar.
fn moved(date: DateTime, step: Step) -> Option<DateTime> {
    match step {
        Step::Months(months) => {
            let total =
                (i64::from(date.year) * 12 + i64::from(date.month) - 1).checked_add(months)?;
            if !(0..120_000).contains(&total) {
                return None;
            }
            let year = u16::try_from(total / 12).ok()?;
            let month = u8::try_from(total % 12 + 1).ok()?;
            let day = date.day.min(days_in_month(year, month));
            Some(DateTime { year, month, day, ..date })
        }
        Step::Days(days) => {
            let day = DateTime::from_day_number(date.day_number().checked_add(days)?)?;
            Some(day.at_time_micros(date.time_micros()))
        }
        Step::TooManyParts => None,
        Step::Micros(micros) => date.plus_micros(i64::try_from(micros).ok()?),
    }
}

/// The type of the result: it follows the type of the date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Date,
    DateTime,
    Time,
    Text,
}

/// What lies beyond the calendar is NULL. Of a DATETIME and of text MySQL does not say where, and a
/// MariaDB never does.
fn overflow(shape: Shape, text: &str, ctx: &EvalContext) -> Value {
    let of = match shape {
        Shape::Date if !ctx.of_mariadb => "DATE",
        Shape::Time if !ctx.of_mariadb => "TIME",
        _ => {
            ctx.warn(1441, "Datetime function: datetime field overflow");
            return Value::Null;
        }
    };
    out_of_range(of, text, ctx);
    Value::Null
}

fn out_of_range(of: &str, text: &str, ctx: &EvalContext) {
    ctx.warn(6527, format!("{of} value is out of range in '{text}'"));
}

fn shape(date: &Arg, amount: &Arg, unit: Unit, ctx: &EvalContext) -> (Shape, ColumnType) {
    let fraction = if unit.has_micros() {
        6
    } else if unit == Unit::Seconds(1) {
        match numeric_type(&amount.ty) {
            Numeric::Int => 0,
            _ if amount.is_null() => 0,
            _ => crate::types::result_type::decimals(&amount.ty).min(6),
        }
    } else {
        0
    };
    let decimals = date.ty.decimals.max(fraction);
    match date.ty.wire {
        WireType::Date if unit.is_date() => (Shape::Date, temporal_type(WireType::Date, 0)),
        WireType::Date => (Shape::DateTime, temporal_type(WireType::DateTime, fraction)),
        WireType::DateTime | WireType::Timestamp => {
            (Shape::DateTime, temporal_type(WireType::DateTime, decimals))
        }
        WireType::Time if !unit.has_days() => {
            (Shape::Time, temporal_type(WireType::Time, decimals))
        }
        WireType::Time => (Shape::DateTime, temporal_type(WireType::DateTime, decimals)),
        _ => (Shape::Text, dynamic_text(ctx)),
    }
}

/// A date or time as text whose form depends on the values.
fn dynamic_text(ctx: &EvalContext) -> ColumnType {
    let mut ty = text_type(29, ctx.collation);
    ty.wire = WireType::String;
    ty.nullable()
}

/// Binds `DATE_ADD` and `DATE_SUB`: date, amount, the unit's name as a constant.
pub(crate) fn add(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [date, amount, unit] = args else { return Err(parameter_count(name)) };
    let sign = if matches!(name, "DATE_SUB" | "SUBDATE") { -1 } else { 1 };
    let word = unit.constant_text().unwrap_or_default().to_ascii_uppercase();
    bind(name, args, ctx, (date, amount), (0, 1), &word, sign)
}

/// Binds `ADDDATE` and `SUBDATE`, whose second argument may be a number of days.
pub(crate) fn add_days(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if args.len() == 3 {
        return add(name, args, ctx);
    }
    let [date, amount] = args else { return Err(parameter_count(name)) };
    let sign = if name == "SUBDATE" { -1 } else { 1 };
    bind(name, args, ctx, (date, amount), (0, 1), "DAY", sign)
}

/// Binds `TIMESTAMPADD`: the unit's name as a constant, amount, date.
pub(crate) fn timestamp_add(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [unit, amount, date] = args else { return Err(parameter_count(name)) };
    let word = unit.constant_text().unwrap_or_default().to_ascii_uppercase();
    bind(name, args, ctx, (date, amount), (2, 1), &word, 1)
}

fn bind(
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    (date, amount): (&Arg, &Arg),
    (date_at, amount_at): (usize, usize),
    word: &str,
    sign: i64,
) -> Result<Call> {
    let unit = unit(word)
        .ok_or_else(|| Error::unsupported(format_args!("the unit {word} of an interval")))?;
    let (shape, ty) = shape(date, amount, unit, ctx);
    let sign_text = if sign < 0 { "-" } else { "+" };
    let lower = word.to_ascii_lowercase();
    let text = format!("({} {sign_text} interval {} {lower})", date.text, amount.text);
    let shown_text = text.clone();
    // What such a function gave has a time of day to a MySQL, whether its text shows one or not.
    let is_moved = !ctx.of_mariadb
        && date.origin == Origin::Expression
        && (date.ty.wire, date.ty.length) == (WireType::String, dynamic_text(ctx).length);
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (input, amount) = (&batch.inputs[date_at], &batch.inputs[amount_at]);
        if shape == Shape::Time {
            let Some(time) = read::time(input, row)? else { return Ok(Value::Null) };
            let Some(step) = step(amount, row, unit, sign)? else { return Ok(Value::Null) };
            if matches!(step, Step::TooManyParts) {
                return Ok(Value::Null);
            }
            let moved = moved_time(time, step).map(Value::Time);
            return Ok(moved.unwrap_or_else(|| overflow(shape, &shown_text, batch.ctx)));
        }
        let Some(date) = read::datetime(input, row, Lenience::STRICT)? else {
            return Ok(Value::Null);
        };
        let Some(step) = step(amount, row, unit, sign)? else { return Ok(Value::Null) };
        if matches!(step, Step::TooManyParts) {
            if !batch.ctx.of_mariadb {
                out_of_range("DATETIME", &shown_text, batch.ctx);
            }
            return Ok(Value::Null);
        }
        let Some(result) = moved(date, step) else {
            return Ok(overflow(shape, &shown_text, batch.ctx));
        };
        let is_counted = !matches!(step, Step::Months(_));
        if batch.ctx.of_mariadb && result.year == 0 && is_counted {
            return Err(Error::unsupported("dates below year 1 as MariaDB has them"));
        }
        if shape != Shape::Text {
            return Ok(Value::Date(result.pack()));
        }
        let plain = unit.is_date() && !is_moved && !has_time(input, row)?;
        Ok(Value::Text(shown(result, plain)))
    });
    Ok(call.with_text(text).with_coercibility(Coercibility::Coercible))
}

/// The time moved; `None` beyond 838 hours.
fn moved_time(time: i64, step: Step) -> Option<i64> {
    let Step::Micros(micros) = step else { return None };
    let total = i64::try_from(i128::from(time) + micros).ok()?;
    (total.abs() <= TIME_MAX_MICROS).then_some(total)
}

/// Whether a text or number says a time of day besides the date.
fn has_time(input: &Input<'_>, row: usize) -> Result<bool> {
    Ok(match input.value(row) {
        Value::Text(text) => parse::datetime(&text).has_time,
        Value::Bytes(bytes) => parse::datetime(&String::from_utf8_lossy(&bytes)).has_time,
        Value::Null | Value::Date(_) | Value::Time(_) => false,
        _ => input.int(row).is_some_and(|number| number >= 101_000_000),
    })
}

fn shown(date: DateTime, plain: bool) -> String {
    let mut out = String::new();
    if plain {
        write_date(&mut out, date);
    } else {
        write_datetime(&mut out, date, if date.micros > 0 { 6 } else { 0 });
    }
    out
}

/// Binds `ADDTIME` and `SUBTIME`.
pub(crate) fn add_time(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [date, time] = args else { return Err(parameter_count(name)) };
    let sign = if name == "SUBTIME" { -1 } else { 1 };
    let decimals = date.ty.decimals.max(time_decimals(time));
    let (shape, ty) = match date.ty.wire {
        WireType::Date | WireType::DateTime | WireType::Timestamp => {
            (Shape::DateTime, temporal_type(WireType::DateTime, decimals))
        }
        WireType::Time => (Shape::Time, temporal_type(WireType::Time, decimals)),
        _ => (Shape::Text, dynamic_text(ctx)),
    };
    let text = format!("{}({},{})", name.to_ascii_lowercase(), date.text, time.text);
    let call = Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let input = &batch.inputs[0];
        if input.is_null(row) {
            return Ok(Value::Null);
        }
        let Some(time) = read::time(&batch.inputs[1], row)? else { return Ok(Value::Null) };
        let start = match shape {
            Shape::Text => read::moment(input, row, Lenience::STRICT)?,
            Shape::Time => read::time(input, row)?.map(Moment::Time),
            _ => read::datetime(input, row, Lenience::STRICT)?.map(Moment::Date),
        };
        if let Some(Moment::Date(date)) = start {
            let time = time * sign;
            let Some(moved) = moved(date, Step::Micros(i128::from(time))) else {
                // Nothing is said of a date in front of the first one.
                if time > 0 {
                    out_of_range("DATETIME", &text, batch.ctx);
                }
                return Ok(Value::Null);
            };
            return Ok(match shape {
                Shape::Text => Value::Text(shown(moved, false)),
                _ => Value::Date(moved.pack()),
            });
        }
        let Some(Moment::Time(start)) = start else { return Ok(Value::Null) };
        let sum = start + time * sign;
        let total = sum.clamp(-TIME_MAX_MICROS, TIME_MAX_MICROS);
        if total != sum {
            out_of_range("TIME", &text, batch.ctx);
        }
        if shape == Shape::Time {
            return Ok(if total == sum { Value::Time(total) } else { Value::Null });
        }
        let mut out = String::new();
        write_time(&mut out, total, if total % SECOND == 0 { 0 } else { 6 });
        Ok(Value::Text(out))
    });
    Ok(call.with_coercibility(Coercibility::Coercible))
}
