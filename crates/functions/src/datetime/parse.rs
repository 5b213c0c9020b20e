//! Dates and times read from text and numbers, as leniently as MySQL reads them.

use arrow::datatypes::i256;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS, days_in_month};

use crate::decimal::Decimal;

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed<T> {
    /// The value; `None` when the text is none.
    pub(crate) value: Option<T>,
    /// Whether something followed that was not read.
    pub(crate) truncated: bool,
    /// Whether a time of day was there.
    pub(crate) has_time: bool,
    /// Digits of the fraction.
    pub(crate) fraction: u8,
    /// Whether it looks like a date, though the calendar may not have the day.
    pub(crate) shaped: bool,
    /// Seconds east of universal time, when the text says so.
    pub(crate) offset: Option<i64>,
}

impl<T> Parsed<T> {
    fn none() -> Self {
        Self {
            value: None,
            truncated: true,
            has_time: false,
            fraction: 0,
            offset: None,
            shaped: false,
        }
    }
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn digits(&mut self, most: usize) -> (u32, usize) {
        let mut value = 0_u32;
        let mut count = 0;
        while count < most
            && let Some(byte @ b'0'..=b'9') = self.peek()
        {
            value = value.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
            self.at += 1;
            count += 1;
        }
        (value, count)
    }

    fn spaces(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == 0x0b) {
            self.at += 1;
        }
        self.at - start
    }

    fn run_of_digits(&self) -> usize {
        self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }
}

/// Two digits of a year: 70 to 99 lie in the twentieth century.
pub(crate) fn full_year(year: u32) -> u32 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

/// Reads `YYYY-MM-DD hh:mm:ss.ffffff` with any punctuation between, or without any.
pub(crate) fn datetime(text: &str) -> Parsed<DateTime> {
    datetime_with(text, false)
}

/// Like [`datetime`]; with `any_day` 30 February is a date (`ALLOW_INVALID_DATES`).
pub(crate) fn datetime_with(text: &str, any_day: bool) -> Parsed<DateTime> {
    let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
    cursor.spaces();
    if !cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return Parsed::none();
    }
    let run = cursor.run_of_digits();
    let delimited = match cursor.text.get(cursor.at + run) {
        None => false,
        // A point after the first number is read as in a number.
        Some(b'.') => false,
        Some(b'T') => run < 6,
        Some(byte) => byte.is_ascii_punctuation() || (run < 6 && byte.is_ascii_whitespace()),
    };
    let (mut parts, year_digits) = (
        [0_u32; 6],
        if delimited {
            run
        } else if matches!(run, 8 | 14..) || (run == 4) {
            4
        } else {
            2
        },
    );
    let mut count = 0;
    let mut fraction = None;
    let mut has_time = false;
    while count < 6 {
        // Between signs a number is read to its end, and is then too large.
        let most = match (delimited, count) {
            (true, _) => 9,
            (false, 0) => year_digits,
            (false, _) => 2,
        };
        let (value, digits) = cursor.digits(most);
        if digits == 0 {
            break;
        }
        parts[count] = value;
        count += 1;
        if count > 3 {
            has_time = true;
        }
        if count == 6 {
            break;
        }
        if (delimited || cursor.peek().is_none_or(|byte| !byte.is_ascii_digit()))
            && !separator(&mut cursor, count)
        {
            break;
        }
    }
    if count == 6 && cursor.peek() == Some(b'.') {
        cursor.at += 1;
        fraction = Some(read_fraction(&mut cursor));
    }
    if count < 3 {
        return Parsed::none();
    }
    let (micros, digits, carry) = fraction.unwrap_or((0, 0, false));
    if year_digits == 2 {
        parts[0] = full_year(parts[0]);
    }
    let offset = if has_time { zone_offset(&mut cursor) } else { None };
    cursor.spaces();
    let truncated = cursor.at < cursor.text.len();
    let value = build(parts, micros, any_day)
        .and_then(|date| if carry { date.plus_micros(1) } else { Some(date) });
    let shaped = in_range(parts);
    Parsed { value, truncated, has_time, fraction: digits, offset, shaped }
}

/// Whether each part is one that some date has.
fn in_range([_, month, day, hour, minute, second]: [u32; 6]) -> bool {
    month <= 12 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59
}

/// Skips what stands between two parts; `false` when no further part can follow.
fn separator(cursor: &mut Cursor<'_>, count: usize) -> bool {
    let next_is_digit =
        |cursor: &Cursor<'_>| cursor.peek().is_some_and(|byte| byte.is_ascii_digit());
    if count == 3 {
        if cursor.peek() == Some(b'T') {
            cursor.at += 1;
            return next_is_digit(cursor);
        }
        let spaces = cursor.spaces();
        if spaces > 0 {
            return next_is_digit(cursor);
        }
    }
    let mut any = false;
    while cursor.peek().is_some_and(|byte| byte.is_ascii_punctuation()) {
        cursor.at += 1;
        any = true;
    }
    any && next_is_digit(cursor)
}

/// Reads the digits after the point: microseconds, digits, whether the seventh rounds up.
fn read_fraction(cursor: &mut Cursor<'_>) -> (u32, u8, bool) {
    let (value, digits) = cursor.digits(6);
    let digits_u8 = u8::try_from(digits).unwrap_or(6);
    let micros = value * 10_u32.pow(u32::from(6 - digits_u8.min(6)));
    let mut carry = false;
    if let Some(byte @ b'0'..=b'9') = cursor.peek() {
        carry = byte >= b'5';
        while cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            cursor.at += 1;
        }
    }
    (micros, digits_u8, carry)
}

/// `+hh:mm` at the end of a date with time.
fn zone_offset(cursor: &mut Cursor<'_>) -> Option<i64> {
    let sign = match cursor.peek() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return None,
    };
    let rest = &cursor.text[cursor.at + 1..];
    let [h1, h2, b':', m1, m2] = rest else { return None };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let minutes = (digit(h1)? * 10 + digit(h2)?) * 60 + digit(m1)? * 10 + digit(m2)?;
    cursor.at = cursor.text.len();
    Some(sign * minutes * 60)
}

fn build(parts: [u32; 6], micros: u32, any_day: bool) -> Option<DateTime> {
    let [year, month, day, hour, minute, second] = parts;
    let date = DateTime {
        year: u16::try_from(year).ok().filter(|year| *year <= 9999)?,
        month: u8::try_from(month).ok().filter(|month| *month <= 12)?,
        day: u8::try_from(day).ok().filter(|day| *day <= 31)?,
        hour: u8::try_from(hour).ok().filter(|hour| *hour <= 23)?,
        minute: u8::try_from(minute).ok().filter(|minute| *minute <= 59)?,
        second: u8::try_from(second).ok().filter(|second| *second <= 59)?,
        micros,
    };
    let fits = any_day || date.month == 0 || date.day <= days_in_month(date.year, date.month);
    fits.then_some(date)
}

/// Reads `YYYYMMDD`, `YYYYMMDDhhmmss` and their forms with two digits of year.
pub(crate) fn number(value: Decimal) -> Option<DateTime> {
    number_with(value, false)
}

/// Like [`number`]; with `any_day` 30 February is a date.
pub(crate) fn number_with(value: Decimal, any_day: bool) -> Option<DateTime> {
    if value.is_negative() {
        return None;
    }
    let whole = u64::try_from(value.truncate(0).units.to_i128()?).ok()?;
    let micros = fraction_micros(value)?;
    let (date, time) = split_number(whole)?;
    let year = date / 10_000;
    let parts = [
        u32::try_from(year).ok()?,
        u32::try_from(date / 100 % 100).ok()?,
        u32::try_from(date % 100).ok()?,
        u32::try_from(time / 10_000).ok()?,
        u32::try_from(time / 100 % 100).ok()?,
        u32::try_from(time % 100).ok()?,
    ];
    build(parts, 0, any_day)?.plus_fraction(micros)
}

trait PlusFraction: Sized {
    fn plus_fraction(self, micros: u32) -> Option<Self>;
}

impl PlusFraction for DateTime {
    fn plus_fraction(self, micros: u32) -> Option<Self> {
        if micros == 0 { Some(self) } else { self.plus_micros(i64::from(micros)) }
    }
}

/// The number's date with four digits of year, and its time.
fn split_number(whole: u64) -> Option<(u64, u64)> {
    if whole == 0 || whole >= 10_000_101_000_000 {
        return (whole <= 99_991_231_235_959).then_some((whole / 1_000_000, whole % 1_000_000));
    }
    let expand = |date: u64| if date < 700_000 { date + 20_000_000 } else { date + 19_000_000 };
    match whole {
        ..101 => None,
        101..=691_231 => Some((whole + 20_000_000, 0)),
        691_232..700_101 => None,
        700_101..=991_231 => Some((whole + 19_000_000, 0)),
        991_232..10_000_101 => {
            // Years below 1000 with all their digits.
            (whole >= 10_000_101).then_some((whole, 0))
        }
        10_000_101..=99_991_231 => Some((whole, 0)),
        99_991_232..101_000_000 => None,
        101_000_000..=691_231_235_959 | 700_101_000_000..=991_231_235_959 => {
            Some((expand(whole / 1_000_000), whole % 1_000_000))
        }
        _ => None,
    }
}

/// The fraction in microseconds, rounded half up; may be a whole second.
fn fraction_micros(value: Decimal) -> Option<u32> {
    let whole = value.truncate(0);
    let fraction = value.add(whole.negate())?.rescale(6)?;
    u32::try_from(fraction.units.wrapping_abs().to_i128()?).ok()
}

/// Reads `hhhmmss.ffffff`. Beyond the range of TIME the number is given all the same.
pub(crate) fn number_as_time(value: Decimal) -> Option<i64> {
    let negative = value.is_negative();
    let whole = value.truncate(0).units.wrapping_abs();
    let parts = whole.to_i128().unwrap_or(i128::MAX);
    if parts / 100 % 100 > 59 || parts % 100 > 59 {
        return None;
    }
    if whole > i256::from_i128(8_385_959) {
        if whole >= i256::from_i128(10_000_000_000) {
            let positive = if negative { value.negate() } else { value };
            return number(positive).filter(|_| !negative).map(DateTime::time_micros);
        }
        return Some(if negative { -TIME_MAX_MICROS - 1 } else { TIME_MAX_MICROS + 1 });
    }
    let whole = i64::try_from(whole.to_i128()?).ok()?;
    let (hour, minute, second) = (whole / 10_000, whole / 100 % 100, whole % 100);
    if minute > 59 || second > 59 {
        return None;
    }
    let micros =
        ((hour * 60 + minute) * 60 + second) * 1_000_000 + i64::from(fraction_micros(value)?);
    Some(if negative { -micros } else { micros })
}

/// Reads `[-][d ]hh:mm:ss.ffffff`, `hh:mm`, `hhmmss`, or the time of a date with time.
pub(crate) fn time(text: &str) -> Parsed<i64> {
    let trimmed = text.trim_start();
    let (negative, body) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed),
    };
    if !body.as_bytes().first().is_some_and(|byte| byte.is_ascii_digit()) {
        return Parsed {
            value: None,
            truncated: true,
            has_time: true,
            fraction: 0,
            offset: None,
            shaped: false,
        };
    }
    if !negative && let Some((value, date)) = dated(body) {
        return Parsed {
            value: Some(value.time_micros()),
            truncated: date.truncated,
            has_time: true,
            fraction: date.fraction,
            offset: None,
            shaped: true,
        };
    }
    time_of_day(body, negative)
}

/// A text that says a date with a time of day. A colon after the first number begins a time alone,
/// however long its fraction.
pub(crate) fn dated(text: &str) -> Option<(DateTime, Parsed<DateTime>)> {
    let text = text.trim();
    if text.len() < 12 || begins_with_time(text) {
        return None;
    }
    let date = datetime(text);
    Some((date.value.filter(|_| date.has_time)?, date))
}

/// Whether a colon ends the first number.
pub(crate) fn begins_with_time(text: &str) -> bool {
    text.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(':')
}

fn time_of_day(body: &str, negative: bool) -> Parsed<i64> {
    let mut cursor = Cursor { text: body.as_bytes(), at: 0 };
    let (first, _) = cursor.digits(10);
    let first = i64::from(first);
    let (mut days, mut minute, mut second) = (0, 0, 0);
    let hour;
    let mut colons = false;
    let mark = cursor.at;
    // A single digit after the days is none of the hours.
    let more = |cursor: &Cursor<'_>| cursor.text.len() - cursor.at > 1;
    if cursor.spaces() > 0
        && more(&cursor)
        && cursor.peek().is_some_and(|byte| byte.is_ascii_digit())
    {
        days = first;
        hour = i64::from(cursor.digits(10).0);
        colons = true;
    } else {
        cursor.at = mark;
        if cursor.peek() == Some(b':') {
            hour = first;
            colons = true;
        } else {
            (hour, minute, second) = (first / 10_000, first / 100 % 100, first % 100);
        }
    }
    if colons && cursor.peek() == Some(b':') {
        cursor.at += 1;
        minute = i64::from(cursor.digits(10).0);
        if cursor.peek() == Some(b':') {
            cursor.at += 1;
            second = i64::from(cursor.digits(10).0);
        }
    }
    let (mut micros, mut digits, mut carry) = (0, 0, false);
    if cursor.peek() == Some(b'.') {
        cursor.at += 1;
        (micros, digits, carry) = read_fraction(&mut cursor);
    }
    cursor.spaces();
    let mut truncated = cursor.at < cursor.text.len();
    if minute > 59 || second > 59 {
        return Parsed {
            value: None,
            truncated: true,
            has_time: true,
            fraction: digits,
            offset: None,
            shaped: false,
        };
    }
    let total = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000
        + i64::from(micros)
        + i64::from(carry);
    let clamped = total.min(TIME_MAX_MICROS);
    truncated |= total > TIME_MAX_MICROS;
    let value = if negative { -clamped } else { clamped };
    Parsed {
        value: Some(value),
        truncated,
        has_time: true,
        fraction: digits,
        offset: None,
        shaped: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn date(text: &str) -> Option<(u16, u8, u8, u8, u8, u8, u32)> {
        let t = datetime(text).value?;
        Some((t.year, t.month, t.day, t.hour, t.minute, t.second, t.micros))
    }

    #[test]
    fn dates_in_many_spellings() {
        assert_eq!(date("2024-02-29"), Some((2024, 2, 29, 0, 0, 0, 0)));
        assert_eq!(date("2024-2-9 1:2:3.5"), Some((2024, 2, 9, 1, 2, 3, 500_000)));
        assert_eq!(date("20240229"), Some((2024, 2, 29, 0, 0, 0, 0)));
        assert_eq!(date("240229"), Some((2024, 2, 29, 0, 0, 0, 0)));
        assert_eq!(date("20240229121314"), Some((2024, 2, 29, 12, 13, 14, 0)));
        assert_eq!(date("2024-02-30"), None);
        assert_eq!(date("2024-00-00"), Some((2024, 0, 0, 0, 0, 0, 0)));
        assert_eq!(date("abc"), None);
        assert_eq!(date("2024-02-29T12:13:14"), Some((2024, 2, 29, 12, 13, 14, 0)));
    }

    #[test]
    fn times_in_many_spellings() {
        let second = 1_000_000;
        assert_eq!(time("12:13:14").value, Some((12 * 3600 + 13 * 60 + 14) * second));
        assert_eq!(time("-1 01:00:00").value, Some(-25 * 3600 * second));
        assert_eq!(time("101112").value, Some((10 * 3600 + 11 * 60 + 12) * second));
        assert_eq!(time("999:00:00").value, Some(TIME_MAX_MICROS));
        assert_eq!(time("10:11:12.5").value, Some((10 * 3600 + 11 * 60 + 12) * second + 500_000));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[-0-9:. T+a]{0,30}", units: i128, scale in 0_u8..12) {
            let _ = (datetime(&text), time(&text));
            let value = Decimal { units: i256::from_i128(units), scale };
            let _ = (number(value), number_as_time(value));
        }
    }
}
