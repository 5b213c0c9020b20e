//! Parses dates and times from text and numbers, as leniently as MySQL does.

use arrow::datatypes::i256;
use pelorus_types::temporal::{DateTime, TIME_MAX_MICROS, days_in_month};

use crate::decimal::Decimal;

/// A parsed value.
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
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        self.at - start
    }

    /// Passes over spaces and punctuation.
    fn delimiters(&mut self) -> Between {
        let mut passed = Between::default();
        while let Some(byte) = self.peek().filter(|it| is_space(*it) || it.is_ascii_punctuation()) {
            passed.delimiters = true;
            passed.spaces |= is_space(byte);
            self.at += 1;
        }
        passed
    }

    fn is_at_digit(&self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Whether a byte stands here, and a digit after it.
    fn has_part(&self, mark: u8) -> bool {
        self.peek() == Some(mark) && self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit)
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
    read_datetime(text, any_day).map_or_else(Parsed::none, |(parsed, _)| parsed)
}

/// The delimiters between the parts of a date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Between {
    delimiters: bool,
    spaces: bool,
}

/// Reads a date; `None` when the text has not three parts, or something between or after them that
/// no date has. Parts that no date has leave it without a value, and not [`Parsed::shaped`].
fn read_datetime(text: &str, any_day: bool) -> Option<(Parsed<DateTime>, Between)> {
    let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
    cursor.spaces();
    if !cursor.is_at_digit() {
        return None;
    }
    // Digits alone, a `T` among them at most, are parts of a fixed width. A point after them is read
    // as in a number.
    let head = &cursor.text[cursor.at..];
    let run = head.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let is_packed = matches!(head.get(run), None | Some(b'.'));
    let mut year_digits = if matches!(run, 4 | 8 | 14..) { 4 } else { 2 };
    let (mut parts, mut count) = ([0_u32; 6], 0);
    let mut between = Between::default();
    let (mut micros, mut fraction) = (0, 0);
    // What is read as a part of the date ends here.
    let mut end;
    loop {
        let most = match (is_packed, count) {
            (false, _) => usize::MAX,
            (true, 0) => year_digits,
            (true, _) => 2,
        };
        let (value, digits) = cursor.digits(most);
        if value > 999_999 {
            return None;
        }
        parts[count] = value;
        if count == 0 && !is_packed {
            year_digits = digits;
        }
        count += 1;
        end = cursor.at;
        if count == 3 && cursor.peek() == Some(b'T') {
            cursor.at += 1;
            if cursor.is_at_digit() {
                continue;
            }
            break;
        }
        if count == parts.len() {
            if cursor.peek() == Some(b'.') {
                cursor.at += 1;
                let (value, digits) = cursor.digits(6);
                fraction = u8::try_from(digits).unwrap_or(6);
                micros = value * 10_u32.pow(u32::from(6 - fraction));
                if digits > 0 && !matches!(cursor.peek(), Some(b'+' | b'-')) {
                    cursor.delimiters();
                }
                end = cursor.at;
            }
            break;
        }
        let passed = cursor.delimiters();
        if passed.spaces && count != 3 {
            return None;
        }
        between.delimiters |= passed.delimiters;
        between.spaces |= passed.spaces;
        end = cursor.at;
        if !cursor.is_at_digit() {
            break;
        }
    }
    cursor.at = end;
    let is_zero = parts == [0; 6] && micros == 0;
    if year_digits == 2 && !is_zero {
        parts[0] = full_year(parts[0]);
    }
    if count < 3 {
        return None;
    }
    let has_time = count > 3;
    if !in_range(parts) {
        return Some((Parsed { has_time, ..Parsed::none() }, between));
    }
    let mut carry = false;
    if fraction == 6 && cursor.is_at_digit() {
        carry = cursor.peek() >= Some(b'5');
        cursor.digits(usize::MAX);
    }
    let has_sign = matches!(cursor.peek(), Some(b'+' | b'-'));
    let offset =
        if count == parts.len() && has_sign { Some(zone_offset(&mut cursor)?) } else { None };
    cursor.spaces();
    let truncated = cursor.at < cursor.text.len();
    let value = build(parts, micros, any_day)
        .and_then(|date| if carry { plus_fraction(date, 1) } else { Some(date) });
    Some((Parsed { value, truncated, has_time, fraction, offset, shaped: true }, between))
}

/// Whether each part is one that some date has.
fn in_range([year, month, day, hour, minute, second]: [u32; 6]) -> bool {
    year <= 9999 && month <= 12 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59
}

/// Reads the digits after the point: microseconds, digits, whether they round up. Of more than six
/// digits the last decides, however many there are: so does a MySQL with a TIME.
fn read_fraction(cursor: &mut Cursor<'_>) -> (u32, u8, bool) {
    let (value, digits) = cursor.digits(6);
    let digits_u8 = u8::try_from(digits).unwrap_or(6);
    let micros = value * 10_u32.pow(u32::from(6 - digits_u8.min(6)));
    let mut carry = false;
    while let Some(byte @ b'0'..=b'9') = cursor.peek() {
        carry = byte >= b'5';
        cursor.at += 1;
    }
    (micros, digits_u8, carry)
}

/// `+hh:mm` at the end of a date with time; `None` for what is no offset, or none that there is.
fn zone_offset(cursor: &mut Cursor<'_>) -> Option<i64> {
    let rest = &cursor.text[cursor.at..];
    let (offset, behind) = rest.split_at_checked(6)?;
    let [sign, h1, h2, b':', m1, m2] = offset else { return None };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let (hours, minutes) = (digit(h1)? * 10 + digit(h2)?, digit(m1)? * 10 + digit(m2)?);
    let total = hours * 60 + minutes;
    let is_negative = *sign == b'-';
    let is_none = minutes > 59 || total > 14 * 60 || (is_negative && total == 0);
    if is_none || !behind.iter().copied().all(is_space) {
        return None;
    }
    cursor.at = cursor.text.len();
    Some(if is_negative { -total } else { total } * 60)
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
    let (date, time) = split_number(whole)?;
    // What follows the point of a date alone is no time of day.
    let is_date = (1..LEAST_WITH_TIME).contains(&whole);
    let micros = if is_date { 0 } else { fraction_micros(value)? };
    plus_fraction(build(parts_of(date, time)?, 0, any_day)?, micros)
}

/// The least number that has a time of day after its date.
const LEAST_WITH_TIME: u64 = 101_000_000;

/// Whether a number is a date alone, and has a fraction, which no date has.
pub(crate) fn is_date_with_fraction(value: Decimal) -> bool {
    let whole = value.truncate(0);
    let day = whole.units.to_i128().and_then(|it| u64::try_from(it).ok());
    day.is_some_and(|it| (1..LEAST_WITH_TIME).contains(&it)) && whole.compare(value).is_ne()
}

/// From here on a number is no time, but a date with one.
const LEAST_DATED_TIME: i128 = 10_000_000_000;

/// Whether the time of a number is that of the date that it says.
pub(crate) fn is_dated_number(value: Decimal) -> bool {
    value.compare(Decimal::from_i128(LEAST_DATED_TIME)).is_ge()
}

/// Reads the date of a number alone, as the functions do that look at nothing else: of every number a
/// MySQL takes six digits for a year of two, and eight for one of four. The day need not be one of
/// the calendar.
pub(crate) fn number_day(value: Decimal) -> Option<DateTime> {
    if value.is_negative() {
        return None;
    }
    let whole = u64::try_from(value.truncate(0).units.to_i128()?).ok()?;
    let date = if whole < 100_000_000 { whole } else { whole / 1_000_000 };
    let century = match date {
        ..700_000 => 20_000_000,
        700_000..1_000_000 => 19_000_000,
        _ => 0,
    };
    build(parts_of(date + century, 0)?, 0, true)
}

/// The parts of `YYYYMMDD` and `hhmmss`.
fn parts_of(date: u64, time: u64) -> Option<[u32; 6]> {
    let part = |value: u64| u32::try_from(value).ok();
    Some([
        part(date / 10_000)?,
        part(date / 100 % 100)?,
        part(date % 100)?,
        part(time / 10_000)?,
        part(time / 100 % 100)?,
        part(time % 100)?,
    ])
}

/// A date some microseconds later.
pub(crate) fn plus_fraction(date: DateTime, micros: u32) -> Option<DateTime> {
    let total = date.micros + micros;
    if total < 1_000_000 {
        return Some(DateTime { micros: total, ..date });
    }
    next_second(date, i64::from(micros))
}

/// A date whose fraction goes beyond its second. A day of zeros has no next second; one that its
/// month lacks is counted on from the month's beginning, as MySQL does.
pub(crate) fn next_second(date: DateTime, micros: i64) -> Option<DateTime> {
    if date.month == 0 || date.day == 0 { None } else { date.plus_micros(micros) }
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
        // Years below 1000 have all their digits.
        991_232..=99_991_231 => Some((whole, 0)),
        99_991_232..101_000_000 => None,
        101_000_000..=691_231_235_959 | 700_101_000_000..=991_231_235_959 => {
            Some((expand(whole / 1_000_000), whole % 1_000_000))
        }
        691_231_235_960..700_101_000_000 => None,
        _ => Some((whole / 1_000_000, whole % 1_000_000)),
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
        if whole >= i256::from_i128(LEAST_DATED_TIME) {
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
    let trimmed = trim_start(text);
    let (negative, body) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed),
    };
    let none = Parsed { has_time: true, ..Parsed::none() };
    if !body.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return none;
    }
    if let Some(date) = dated(body) {
        // A date alone is no time, and neither are parts that no date has.
        let time = date.value.filter(|_| date.has_time && !negative);
        return Parsed {
            value: time.map(DateTime::time_micros),
            truncated: date.truncated || negative,
            fraction: date.fraction,
            shaped: true,
            ..none
        };
    }
    time_of_day(body, negative).unwrap_or(none)
}

/// The date in a text of twelve characters or more, even a day that the calendar does not have.
/// `None` for other texts, and for those with delimiters but no space: they are times.
pub(crate) fn dated(text: &str) -> Option<Parsed<DateTime>> {
    let text = trim_start(text);
    if text.len() < 12 {
        return None;
    }
    let (date, between) = read_datetime(text, true)?;
    (between.spaces || !between.delimiters).then_some(date)
}

/// A text without the spaces in front.
fn trim_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| u8::try_from(c).is_ok_and(is_space))
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Whether servers of other makes may read a text as another date or time: one with an offset, an
/// exponent or a `T`, with more spaces than the one after the day, of digits alone at its start, or
/// with more than six digits of a second.
pub(crate) fn is_disputed(text: &str) -> bool {
    let text = trim_start(text);
    let text = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let run = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let of_digits = run >= 6 && text.get(run).is_some_and(|byte| *byte != b'.');
    let spaces = text.iter().filter(|byte| is_space(**byte)).count();
    let has_mark = text.iter().any(|byte| matches!(byte, b'T' | b'+' | b'e' | b'E'));
    let ends_open = text.last().is_some_and(|byte| is_space(*byte));
    let fraction = text.rsplit(|byte| *byte == b'.').next().filter(|it| it.len() < text.len());
    let is_long = fraction.is_some_and(|it| it.len() > 6);
    run > 0 && (of_digits || spaces > 1 || has_mark || ends_open || is_long)
}

/// Whether a colon ends the first number.
pub(crate) fn begins_with_time(text: &str) -> bool {
    text.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(':')
}

/// Whether an exponent follows, as a number of the computer has it.
fn has_exponent(rest: &[u8]) -> bool {
    match rest {
        [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}

/// Reads a time that no date goes with; `None` for what is none.
fn time_of_day(body: &str, negative: bool) -> Option<Parsed<i64>> {
    let mut cursor = Cursor { text: body.as_bytes(), at: 0 };
    // Numbers beyond 32 bits make it no time.
    let number = |cursor: &mut Cursor<'_>| {
        let start = cursor.at;
        cursor.digits(usize::MAX);
        let digits = std::str::from_utf8(&cursor.text[start..cursor.at]).ok()?;
        digits.parse::<u32>().ok().map(i64::from)
    };
    let first = number(&mut cursor)?;
    let (mut days, mut minute, mut second) = (0, 0, 0);
    let hour;
    let mark = cursor.at;
    // A single digit after the days is none of the hours.
    let more = |cursor: &Cursor<'_>| cursor.text.len() - cursor.at > 1;
    let mut has_colons = true;
    if cursor.spaces() > 0 && more(&cursor) && cursor.is_at_digit() {
        days = first;
        hour = number(&mut cursor)?;
    } else {
        cursor.at = mark;
        has_colons = cursor.has_part(b':');
        if has_colons {
            hour = first;
        } else {
            (hour, minute, second) = (first / 10_000, first / 100 % 100, first % 100);
        }
    }
    if has_colons && cursor.has_part(b':') {
        cursor.at += 1;
        minute = number(&mut cursor)?;
        if cursor.has_part(b':') {
            cursor.at += 1;
            second = number(&mut cursor)?;
        }
    }
    let (mut micros, mut digits, mut carry) = (0, 0, false);
    if cursor.has_part(b'.') {
        cursor.at += 1;
        (micros, digits, carry) = read_fraction(&mut cursor);
    } else if cursor.peek() == Some(b'.') && !more(&cursor) {
        cursor.at += 1;
    }
    if minute > 59 || second > 59 || has_exponent(&cursor.text[cursor.at..]) {
        return None;
    }
    cursor.spaces();
    let mut truncated = cursor.at < cursor.text.len();
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    // Days and hours of 32 bits each are more seconds than 64 bits of microseconds have.
    let total = seconds.min(TIME_MAX_MICROS) * 1_000_000 + i64::from(micros) + i64::from(carry);
    let clamped = total.min(TIME_MAX_MICROS);
    truncated |= total > TIME_MAX_MICROS;
    let value = Some(if negative { -clamped } else { clamped });
    let shaped = false;
    Some(Parsed { value, truncated, has_time: true, fraction: digits, offset: None, shaped })
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

    /// As MySQL 9.7 says.
    #[test]
    fn what_stands_between_the_parts_of_a_date() {
        let day = Some((2024, 1, 31, 0, 0, 0, 0));
        let time = Some((2024, 1, 31, 10, 11, 12, 0));
        for text in ["2024-01-31, 10:11:12", "2024-01-31 - 10:11:12", "2024.01.31  10.11.12"] {
            assert_eq!((date(text), datetime(text).truncated), (time, false), "{text}");
        }
        for text in
            ["20240131T101112", "20240131101112", "2024-01-31T10:11:12", " 24-1-31 10:11:12"]
        {
            assert_eq!((date(text), datetime(text).truncated), (time, false), "{text}");
        }
        // Spaces are for what follows the day, and digits without delimiters stand alone.
        for text in ["2024 -01-31", "2024-01-31 10 :11", "2024-01-31 10:11 ", "2024-01-31 10:11 PM"]
        {
            assert_eq!(date(text), None, "{text}");
        }
        for text in ["20240131 101112", "20240131T101112Z", "20240131T1011", "20240131 ", "240131x"]
        {
            assert_eq!(date(text), None, "{text}");
        }
        for text in ["2024-01-31T", "2024-01-31T 10:11:12", "2024-01-31x"] {
            assert_eq!((date(text), datetime(text).truncated), (day, true), "{text}");
        }
        for text in ["2024-01-31 ", "2024-01-31-", "2024-01-31 /"] {
            assert_eq!((date(text), datetime(text).truncated), (day, false), "{text}");
        }
        assert_eq!(date("00-00-00"), Some((0, 0, 0, 0, 0, 0, 0)));
        assert_eq!(date("0000-02-29"), None);
        assert_eq!(date("10000-01-01"), None);
    }

    /// As MySQL 9.7 says.
    #[test]
    fn offsets_have_bounds() {
        let offset = |offset: &str| {
            let read = datetime(&format!("2024-01-31 10:00:00{offset}"));
            assert!(read.value.is_none() == read.offset.is_none(), "{offset}");
            read.offset.filter(|_| !read.truncated)
        };
        assert_eq!(offset("+02:00 "), Some(7200));
        assert_eq!(offset("-14:00"), Some(-14 * 3600));
        assert_eq!(offset(".5+00:00"), Some(0));
        for none in ["+15:00", "-14:01", "-00:00", "+10:99", "+10", "+1:00", "+01:00x"] {
            assert_eq!(offset(none), None, "{none}");
        }
    }

    /// As MySQL 9.7 says.
    #[test]
    fn times_of_texts_that_say_dates() {
        let second = 1_000_000;
        let of_day = Some((10 * 3600 + 11 * 60 + 12) * second);
        assert_eq!(time("2024-02-29 10:11:12").value, of_day);
        assert_eq!(time("2024-02-30 10:11:12").value, of_day);
        assert_eq!(time("20240229T101112").value, of_day);
        // With delimiters but no space it is no date.
        let read = time("2024-02-29T10:11:12");
        assert_eq!((read.value, read.truncated), (Some((20 * 60 + 24) * second), true));
        for text in
            ["2024-13-31 10:11:12", "123456010212", "-2024-02-29 10:11:12", "2024-02-29 abc"]
        {
            let read = time(text);
            assert_eq!((read.value, read.truncated), (None, true), "{text}");
        }
        let read = time("2024-02-29  ");
        assert_eq!((read.value, read.truncated), (None, false));
    }

    /// As MySQL 9.7 says.
    #[test]
    fn times_that_are_too_large() {
        for text in ["4000000000:00:00", "999999999 10:00:00", "4294967295 4294967295:00:00"] {
            let read = time(text);
            assert_eq!((read.value, read.truncated), (Some(TIME_MAX_MICROS), true), "{text}");
        }
        assert_eq!(time("-4000000000:00:00").value, Some(-TIME_MAX_MICROS));
        for text in ["4294967296:00:00", "10:11:12e5", "101112e1", "10:11:12E-5"] {
            assert_eq!(time(text).value, None, "{text}");
        }
        assert!(time("10:11:12e").value.is_some());
    }

    #[test]
    fn what_servers_agree_on() {
        for text in
            ["2024-01-31", "2024-01-31 10:11:12.5", "20240131", "10:11:12", "-1 10:11", "abc T"]
        {
            assert!(!is_disputed(text), "{text}");
        }
        for text in [
            "2024-01-31T10:11:12",
            "20240131 101112",
            "2024-01-31 10:11 PM",
            "10:11:12e1",
            "10:11:12.1234567",
        ] {
            assert!(is_disputed(text), "{text}");
        }
    }

    /// As MySQL 9.7 says.
    #[test]
    fn numbers_of_early_years() {
        let date = |value: i128| number(Decimal::from_i128(value));
        assert_eq!(date(9_990_101), Some(DateTime::date(999, 1, 1)));
        assert_eq!(date(5_000_101_000_000), Some(DateTime::date(500, 1, 1)));
        assert_eq!(date(991_232), None);
        assert_eq!(date(99_991_232), None);
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
