//! Formatting of dates and times: `DATE_FORMAT`, `TIME_FORMAT`, `GET_FORMAT` and `FROM_UNIXTIME`
//! with a format.

use std::fmt::Write as _;
use std::sync::Arc;

use pelorus_error::Result;
use pelorus_types::temporal::DateTime;

use super::read::{self, Lenience};
use super::week::{self, FIRST_WEEKDAY, MONDAY_FIRST, OF_YEAR};
use super::{DAYS, MONTHS, clock, parse};
use crate::call::{Batch, Call};
use crate::context::EvalContext;
use crate::input::Input;
use crate::registry::errors::parameter_count;
use crate::types::result_type::text_type;
use crate::value::{Arg, Value};

/// A date with time, or a time whose hours may exceed a day.
#[derive(Clone, Copy, Debug)]
struct Moment {
    date: DateTime,
    hours: i64,
    negative: bool,
    is_time: bool,
}

impl Moment {
    fn of_date(date: DateTime) -> Self {
        Self { date, hours: i64::from(date.hour), negative: false, is_time: false }
    }

    fn of_time(micros: i64) -> Self {
        let size = micros.abs();
        let date = DateTime::default().at_time_micros(size % 86_400_000_000);
        Self { date, hours: size / 3_600_000_000, negative: micros < 0, is_time: true }
    }
}

/// Longest text that a constant format gives, in characters.
fn longest(format: &Arg) -> u32 {
    let Some(format_text) = format.constant_text() else {
        return if format.constant.is_some() {
            0
        } else {
            crate::scalar::cast::text_length(format).saturating_mul(10).min(16_777_215)
        };
    };
    let mut total = 0;
    let mut bytes = format_text.bytes();
    while let Some(byte) = bytes.next() {
        total += match byte {
            b'%' => match bytes.next() {
                Some(b'M' | b'W') => 64,
                Some(b'a' | b'b') => 32,
                Some(b'D' | b'Y' | b'x' | b'X') => 4,
                Some(b'j') => 3,
                Some(b'H' | b'k') => 7,
                Some(b'f') => 6,
                Some(b'r') => 11,
                Some(b'T') => 8,
                Some(
                    b'd' | b'e' | b'm' | b'c' | b'y' | b'h' | b'I' | b'l' | b'i' | b'p' | b's'
                    | b'S' | b'U' | b'u' | b'V' | b'v',
                ) => 2,
                _ => 1,
            },
            _ => 1,
        };
    }
    total
}

/// Binds `DATE_FORMAT`.
pub(crate) fn date_format(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, format] = args else { return Err(parameter_count(name)) };
    bind(name, args, ctx, format, |batch, row| {
        let date = read::datetime(&batch.inputs[0], row, Lenience::part(batch.ctx))?;
        Ok(date.map(Moment::of_date))
    })
}

/// Whether a text is a number that is no date, and so a time.
fn is_number_of_time(input: &Input<'_>, row: usize) -> Result<bool> {
    Ok(input.text(row)?.is_some_and(|text| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_date = |date: &DateTime| date.month > 0 && date.day > 0;
        is_number && !parse::datetime(&text).value.as_ref().is_some_and(is_date)
    }))
}

/// Binds `TIME_FORMAT`.
pub(crate) fn time_format(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [value, format] = args else { return Err(parameter_count(name)) };
    // To a MySQL the text of a date has the time of day that it says.
    let is_moment = value.ty.is_string() && !value.is_hex() && !ctx.of_mariadb;
    bind(name, args, ctx, format, move |batch, row| {
        let input = &batch.inputs[0];
        if !is_moment || is_number_of_time(input, row)? {
            return Ok(read::time(input, row)?.map(Moment::of_time));
        }
        Ok(read::moment(input, row, Lenience::STRICT)?.map(|moment| match moment {
            read::Moment::Date(date) => Moment::of_time(date.time_micros()),
            read::Moment::Time(time) => Moment::of_time(time),
        }))
    })
}

/// Binds `FROM_UNIXTIME` with a format.
pub(crate) fn unixtime_format(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, format] = args else { return Err(parameter_count(name)) };
    bind(name, args, ctx, format, |batch, row| {
        Ok(clock::from_unixtime_at(&batch.inputs[0], row)?.map(Moment::of_date))
    })
}

fn bind(
    name: &str,
    args: &[Arg],
    ctx: &Arc<EvalContext>,
    format: &Arg,
    moment: impl Fn(&Batch<'_>, usize) -> Result<Option<Moment>> + Send + Sync + 'static,
) -> Result<Call> {
    let collation = if format.ty.is_string() && !format.ty.is_binary_string() {
        format.ty.collation
    } else {
        ctx.collation
    };
    let ty = text_type(longest(format), collation).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(moment) = moment(batch, row)? else { return Ok(Value::Null) };
        let Some(format) = batch.inputs[1].text(row)? else { return Ok(Value::Null) };
        if format.is_empty() {
            return Ok(Value::Null);
        }
        Ok(written(&moment, &format).map_or(Value::Null, Value::Text))
    }))
}

/// `None` where the format asks for a name that the date does not have.
fn written(moment: &Moment, format: &str) -> Option<String> {
    let mut out = String::new();
    if moment.negative {
        out.push('-');
    }
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', Some(_)) => specifier(&mut out, moment, chars.next()?)?,
            _ => out.push(c),
        }
    }
    Some(out)
}

fn specifier(out: &mut String, moment: &Moment, specifier: char) -> Option<()> {
    let t = &moment.date;
    let twelve = (moment.hours % 24 + 11) % 12 + 1;
    let half = if moment.hours % 24 < 12 { "AM" } else { "PM" };
    let weeks = |flags: u8| if moment.is_time { None } else { Some(week::week(*t, flags)) };
    // A `String` accepts every write.
    match specifier {
        'M' | 'b' => {
            let name = MONTHS.get(usize::from(t.month).checked_sub(1)?)?;
            out.push_str(if specifier == 'b' { &name[..3] } else { name });
        }
        'W' | 'a' => {
            if moment.is_time || (t.month == 0 && t.year == 0) {
                return None;
            }
            let weekday = week::weekday(week::day_number(*t), false);
            let name = DAYS.get(usize::try_from(weekday).ok()?)?;
            out.push_str(if specifier == 'a' { &name[..3] } else { name });
        }
        'D' => {
            if moment.is_time {
                return None;
            }
            let ending = match (t.day, t.day % 10) {
                (11..=13, _) => "th",
                (_, 1) => "st",
                (_, 2) => "nd",
                (_, 3) => "rd",
                _ => "th",
            };
            write!(out, "{}{ending}", t.day).ok();
        }
        'Y' => drop(write!(out, "{:04}", t.year)),
        'y' => drop(write!(out, "{:02}", t.year % 100)),
        'm' => drop(write!(out, "{:02}", t.month)),
        'c' => drop(write!(out, "{}", t.month)),
        'd' => drop(write!(out, "{:02}", t.day)),
        'e' => drop(write!(out, "{}", t.day)),
        'f' => drop(write!(out, "{:06}", t.micros)),
        'H' => drop(write!(out, "{:02}", moment.hours)),
        'k' => drop(write!(out, "{}", moment.hours)),
        'h' | 'I' => drop(write!(out, "{twelve:02}")),
        'l' => drop(write!(out, "{twelve}")),
        'i' => drop(write!(out, "{:02}", t.minute)),
        's' | 'S' => drop(write!(out, "{:02}", t.second)),
        'p' => out.push_str(half),
        'r' => drop(write!(out, "{twelve:02}:{:02}:{:02} {half}", t.minute, t.second)),
        'T' => drop(write!(out, "{:02}:{:02}:{:02}", moment.hours, t.minute, t.second)),
        'j' => {
            if moment.is_time {
                return None;
            }
            write!(out, "{:03}", super::part::day_of_year(*t)).ok();
        }
        'U' => drop(write!(out, "{:02}", weeks(FIRST_WEEKDAY)?.0)),
        'u' => drop(write!(out, "{:02}", weeks(MONDAY_FIRST)?.0)),
        'V' => drop(write!(out, "{:02}", weeks(OF_YEAR | FIRST_WEEKDAY)?.0)),
        'v' => drop(write!(out, "{:02}", weeks(OF_YEAR | MONDAY_FIRST)?.0)),
        'X' => drop(write!(out, "{:04}", weeks(OF_YEAR | FIRST_WEEKDAY)?.1)),
        'x' => drop(write!(out, "{:04}", weeks(OF_YEAR | MONDAY_FIRST)?.1)),
        'w' => {
            if moment.is_time || (t.month == 0 && t.year == 0) {
                return None;
            }
            write!(out, "{}", week::weekday(week::day_number(*t), true)).ok();
        }
        other => out.push(other),
    }
    Some(())
}

/// Binds `GET_FORMAT`: the kind's name as a constant, and the region.
pub(crate) fn get_format(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [kind, _] = args else { return Err(parameter_count(name)) };
    let kind = kind.constant_text().unwrap_or_default().to_ascii_uppercase();
    let ty = text_type(17, ctx.collation).nullable();
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let Some(region) = batch.inputs[1].text(row)? else { return Ok(Value::Null) };
        let region = region.to_ascii_uppercase();
        let format = match (kind.as_str(), region.as_str()) {
            ("DATE", "USA") => "%m.%d.%Y",
            ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
            ("DATE", "EUR") => "%d.%m.%Y",
            ("DATE", "INTERNAL") => "%Y%m%d",
            ("DATETIME" | "TIMESTAMP", "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
            ("DATETIME" | "TIMESTAMP", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
            ("DATETIME" | "TIMESTAMP", "INTERNAL") => "%Y%m%d%H%i%s",
            ("TIME", "USA") => "%h:%i:%s %p",
            ("TIME", "JIS" | "ISO") => "%H:%i:%s",
            ("TIME", "EUR") => "%H.%i.%s",
            ("TIME", "INTERNAL") => "%H%i%s",
            _ => return Ok(Value::Null),
        };
        Ok(Value::Text(format.to_owned()))
    }))
}
