//! `STR_TO_DATE`: parses dates and times by a format.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS, days_in_month};
use pelorus_types::{ColumnType, WireType};

use super::parse::full_year;
use super::{DAYS, MONTHS, week};
use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::types::common_type::temporal_type;
use crate::value::{Arg, Value};

/// The type that a format gives: its letters say whether date, time or both are read.
fn format_type(format: &Arg) -> ColumnType {
    let Some(text) = format.constant_text() else { return temporal_type(WireType::DateTime, 6) };
    let (mut date, mut time, mut micros) = (false, false, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '%' {
            match chars.next() {
                Some('f') => micros = true,
                Some('H' | 'I' | 'S' | 'T' | 'h' | 'i' | 'k' | 'l' | 'p' | 'r' | 's') => {
                    time = true
                }
                Some(
                    'M' | 'W' | 'a' | 'b' | 'c' | 'd' | 'e' | 'j' | 'm' | 'u' | 'U' | 'v' | 'V'
                    | 'w' | 'x' | 'X' | 'y' | 'Y' | 'D',
                ) => date = true,
                _ => {}
            }
        }
    }
    let decimals = if micros { 6 } else { 0 };
    match (date, time || micros) {
        (true, true) => temporal_type(WireType::DateTime, decimals),
        (false, true) => temporal_type(WireType::Time, decimals),
        _ => temporal_type(WireType::Date, 0),
    }
}

/// The values that were read so far.
#[derive(Debug, Default)]
struct Found {
    date: DateTime,
    hour: u32,
    year_day: Option<u32>,
    weekday: Option<u32>,
    week: Option<(u32, bool)>,
    week_year: Option<(u32, bool)>,
    strict_week: bool,
}

struct Scanner<'a> {
    text: &'a str,
}

impl Scanner<'_> {
    fn number(&mut self, most: usize) -> Option<u32> {
        // A sign is a digit of the number.
        let sign = usize::from(self.text.starts_with('+'));
        let digits = self.text.bytes().take(most).skip(sign);
        let digits = sign + digits.take_while(|byte| byte.is_ascii_digit()).count();
        let value = self.text[..digits].parse().ok()?;
        self.text = &self.text[digits..];
        Some(value)
    }

    /// The number of the name that the next word is, or that it alone begins: `Sept` is September,
    /// and `Mayor` is not May.
    fn name(&mut self, names: &[&str], short: bool) -> Option<u32> {
        let is_letter = |c: char| c.is_ascii_alphabetic() || !c.is_ascii();
        let rest = self.text.trim_start_matches(is_letter);
        let word = &self.text[..self.text.len() - rest.len()];
        let (mut found, mut count) = (None, 0);
        for (at, name) in names.iter().enumerate() {
            let name = if short { &name[..3] } else { *name };
            if !name.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)) {
                continue;
            }
            found = Some(at + 1);
            count += 1;
            if name.len() == word.len() {
                count = 1;
                break;
            }
        }
        self.text = rest;
        found.filter(|_| count == 1).and_then(|at| u32::try_from(at).ok())
    }

    fn skip_spaces(&mut self) {
        self.text = self.text.trim_start();
    }
}

/// Reads a text by a format; the rest of the text that was not read comes back too.
fn scan<'a>(text: &'a str, format: &str) -> Option<(Found, &'a str)> {
    let mut scanner = Scanner { text };
    let mut found = Found::default();
    follow(&mut scanner, &mut found, format)?;
    Some((found, scanner.text))
}

/// The clock of twelve hours that a format reads.
#[derive(Debug, Default)]
struct Twelve {
    is_read: bool,
    afternoon: bool,
}

fn follow(scanner: &mut Scanner<'_>, found: &mut Found, format: &str) -> Option<()> {
    let mut twelve = Twelve::default();
    let mut format = format.chars().peekable();
    while let Some(c) = format.next() {
        if scanner.text.is_empty() {
            break;
        }
        scanner.skip_spaces();
        if scanner.text.is_empty() {
            break;
        }
        if c == '%' && format.peek().is_some() {
            let specifier = format.next()?;
            part(scanner, found, &mut twelve, specifier)?;
        } else if !c.is_whitespace() {
            scanner.text = scanner.text.strip_prefix(c)?;
        }
    }
    if twelve.is_read {
        if !(1..=12).contains(&found.hour) {
            return None;
        }
        found.hour = found.hour % 12 + if twelve.afternoon { 12 } else { 0 };
    }
    Some(())
}

fn part(
    scanner: &mut Scanner<'_>,
    found: &mut Found,
    twelve: &mut Twelve,
    specifier: char,
) -> Option<()> {
    let small = |value: u32| u8::try_from(value).ok();
    let date = &mut found.date;
    match specifier {
        'Y' => {
            let before = scanner.text.len();
            let year = scanner.number(4)?;
            let year = if before - scanner.text.len() <= 2 { full_year(year) } else { year };
            date.year = u16::try_from(year).ok()?;
        }
        'y' => date.year = u16::try_from(full_year(scanner.number(2)?)).ok()?,
        'm' | 'c' => date.month = small(scanner.number(2)?)?,
        'M' => date.month = small(scanner.name(&MONTHS, false)?)?,
        'b' => date.month = small(scanner.name(&MONTHS, true)?)?,
        'd' | 'e' => date.day = small(scanner.number(2)?)?,
        'D' => {
            date.day = small(scanner.number(2)?)?;
            // `st`, `nd`, `rd` or `th`, as far as they are there.
            scanner.text = if scanner.text.len() <= 2 { "" } else { scanner.text.get(2..)? };
        }
        'h' | 'I' | 'l' => {
            twelve.is_read = true;
            found.hour = scanner.number(2)?;
        }
        'k' | 'H' => found.hour = scanner.number(2)?,
        'i' => date.minute = small(scanner.number(2)?)?,
        's' | 'S' => date.second = small(scanner.number(2)?)?,
        'f' => {
            let before = scanner.text.len();
            let value = scanner.number(6)?;
            let digits = u32::try_from(before - scanner.text.len()).ok()?;
            date.micros = value * 10_u32.pow(6 - digits);
        }
        'p' => {
            let head = scanner.text.get(..2).filter(|_| twelve.is_read)?;
            if head.eq_ignore_ascii_case("PM") {
                twelve.afternoon = true;
            } else if !head.eq_ignore_ascii_case("AM") {
                return None;
            }
            scanner.text = &scanner.text[2..];
        }
        'W' => found.weekday = Some(scanner.name(&DAYS, false)?),
        'a' => found.weekday = Some(scanner.name(&DAYS, true)?),
        'w' => {
            let day = scanner.number(1).filter(|day| *day < 7)?;
            found.weekday = Some(if day == 0 { 7 } else { day });
        }
        'j' => found.year_day = Some(scanner.number(3)?),
        'V' | 'U' | 'v' | 'u' => {
            found.strict_week = matches!(specifier, 'V' | 'v');
            let week = scanner.number(2).filter(|week| *week <= 53)?;
            if found.strict_week && week == 0 {
                return None;
            }
            found.week = Some((week, matches!(specifier, 'U' | 'V')));
        }
        'X' | 'x' => found.week_year = Some((scanner.number(4)?, specifier == 'X')),
        'r' | 'T' => {
            let inner = if specifier == 'r' { "%I:%i:%S %p" } else { "%H:%i:%S" };
            follow(scanner, found, inner)?;
        }
        '.' => scanner.text = scanner.text.trim_start_matches(|c: char| c.is_ascii_punctuation()),
        '@' => scanner.text = scanner.text.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
        '#' => scanner.text = scanner.text.trim_start_matches(|c: char| c.is_ascii_digit()),
        _ => return None,
    }
    Some(())
}

/// Puts the parts together; `None` for a date that cannot be.
fn assembled(found: &Found) -> Option<DateTime> {
    let mut date = found.date;
    let hour = found.hour;
    if let Some(day) = found.year_day.filter(|_| date.year > 0) {
        let start = DateTime::date(date.year, 1, 1).day_number();
        if day == 0 {
            return None;
        }
        let day = DateTime::from_day_number(start + i64::from(day) - 1)?;
        date = DateTime { year: day.year, month: day.month, day: day.day, ..date };
    }
    if let (Some((week, sunday_first)), Some(weekday)) = (found.week, found.weekday) {
        let day = day_of_week(found, date.year, week, sunday_first, weekday)?;
        date = DateTime { year: day.year, month: day.month, day: day.day, ..date };
    }
    let day_fits = date.month == 0 || date.day <= days_in_month(date.year, date.month);
    if date.month > 12 || date.day > 31 || !day_fits || date.minute > 59 || date.second > 59 {
        return None;
    }
    if hour > 23 {
        return None;
    }
    date.hour = u8::try_from(hour).ok()?;
    Some(date)
}

fn day_of_week(
    found: &Found,
    year: u16,
    number: u32,
    sunday_first: bool,
    weekday: u32,
) -> Option<DateTime> {
    let year = match (found.strict_week, found.week_year) {
        (true, Some((year, by_sunday))) if by_sunday == sunday_first => u16::try_from(year).ok()?,
        (false, None) => year,
        _ => return None,
    };
    let mut days = DateTime::date(year, 1, 1).day_number();
    let first = week::weekday(days, sunday_first);
    let (number, weekday) = (i64::from(number), i64::from(weekday));
    if sunday_first {
        days += (if first == 0 { 0 } else { 7 }) - first + (number - 1) * 7 + weekday % 7;
    } else {
        days += (if first <= 3 { 0 } else { 7 }) - first + (number - 1) * 7 + (weekday - 1);
    }
    DateTime::from_day_number(days).filter(|_| days > 0)
}

/// Binds `STR_TO_DATE`.
pub(crate) fn str_to_date(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let [_, format] = args else { return Err(parameter_count(name)) };
    let ty = format_type(format);
    Ok(Call::rowwise(name, args, ctx, ty, move |batch, row| {
        let (Some(text), Some(format)) = (batch.inputs[0].text(row)?, batch.inputs[1].text(row)?)
        else {
            return Ok(Value::Null);
        };
        let strict = batch.ctx.sql_mode.no_zero_date;
        let scanned =
            scan(&text, &format).and_then(|(found, rest)| Some((assembled(&found)?, rest)));
        let has_date = ty.wire != WireType::Time;
        if batch.ctx.of_mariadb && has_date && scanned.is_some_and(|(date, _)| date.year == 0) {
            return Err(Error::unsupported("dates of year 0 as MariaDB has them"));
        }
        let zero = |date: &DateTime| date.year == 0 || date.month == 0 || date.day == 0;
        let kept = scanned.filter(|(date, _)| !(has_date && strict && zero(date)));
        let Some((date, rest)) = kept else {
            let message = format!("Incorrect datetime value: '{text}' for function str_to_date");
            batch.ctx.warn(1411, message);
            return Ok(Value::Null);
        };
        if !rest.trim().is_empty() {
            let kind = match ty.wire {
                WireType::Date => "date",
                WireType::Time => "time",
                _ => "datetime",
            };
            batch.ctx.warn(1292, format!("Truncated incorrect {kind} value: '{text}'"));
        }
        Ok(match ty.wire {
            WireType::Date => Value::Date(date.midnight().pack()),
            WireType::Time => Value::Time(date.time_micros().min(TIME_MAX_MICROS)),
            _ => Value::Date(date.pack()),
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: &str) -> Option<DateTime> {
        scan(text, format).and_then(|(found, _)| assembled(&found))
    }

    fn hour(text: &str, format: &str) -> Option<u8> {
        read(text, format).map(|date| date.hour)
    }

    /// As MySQL 9.7 says.
    #[test]
    fn the_clock_of_twelve_hours() {
        for letter in ["%h", "%I", "%l"] {
            assert_eq!(hour("12", letter), Some(0), "{letter}");
            assert_eq!(hour("11", letter), Some(11), "{letter}");
            assert_eq!(hour("13", letter), None, "{letter}");
            assert_eq!(hour("0", letter), None, "{letter}");
        }
        assert_eq!(hour("12 PM", "%h %p"), Some(12));
        assert_eq!(hour("1 pm", "%l %p"), Some(13));
        assert_eq!(hour("PM 1", "%p %h"), None);
        assert_eq!(hour("PM 1", "%p %H"), None);
        assert_eq!(hour("12:30:00 AM", "%r"), Some(0));
        assert_eq!(hour("12:30", "%r"), Some(0));
        assert_eq!(hour("13:00:00", "%r"), None);
        assert_eq!(hour("23:00:00", "%T"), Some(23));
    }

    /// As MySQL 9.7 says.
    #[test]
    fn names_may_be_cut() {
        let month = |text: &str, format: &str| read(text, format).map(|date| date.month);
        assert_eq!(month("Sept", "%M"), Some(9));
        assert_eq!(month("s", "%M"), Some(9));
        assert_eq!(month("MAY", "%M"), Some(5));
        assert_eq!(month("Ma", "%M"), None);
        assert_eq!(month("Mayor", "%M"), None);
        assert_eq!(month("5", "%M"), None);
        assert_eq!(month("d", "%b"), Some(12));
        assert_eq!(month("june", "%b"), None);
        assert_eq!(month("J", "%b"), None);
        assert_eq!(month("2024-+5-1", "%Y-%m-%d"), Some(5));
        assert_eq!(month("+", "%m"), None);
        assert_eq!(read("1st", "%D").map(|date| date.day), Some(1));
        assert_eq!(read("1", "%D").map(|date| date.day), Some(1));
    }
}
