//! DATE, DATETIME, TIMESTAMP and TIME.
//!
//! A value goes through four steps: it is read (leniently), checked against the calendar and the
//! zero-date switches of `sql_mode`, rounded to the column's fraction, and fitted to the type (a
//! DATE drops the time with a note, a TIMESTAMP moves to universal time).

use pelorus_error::Code;
use pelorus_types::temporal::{
    DateTime, TIME_MAX_MICROS, days_in_month, write_date, write_datetime, write_time,
};
use pelorus_types::{ColumnType, WireType};

use super::Incoming;
use super::conversion_error::{Failure, Policy, Reporter};
use super::zone::{Stored, shown_twice, timestamp_to_utc};
use crate::decimal::Decimal;
use crate::input::double_to_decimal;
use crate::scalar::cast::{round_datetime_in, round_time_in};
use crate::scalar::datetime::parse;
use crate::scalar::datetime::read::at_offset;
use crate::zone::TimeZone;

/// The largest number that can be read as a date with time.
const LARGEST_NUMBER: i128 = 99_999_999_999_999;
/// From this number on it says a date with time.
const FIRST_WITH_TIME: i128 = 10_000_101_000_000;
/// From this number on a number for a TIME is read as a date with time.
const FIRST_DATE_FOR_TIME: i128 = 10_000_000_000;
/// The largest number that can be read as a time.
const LARGEST_TIME: i128 = 8_385_959;

/// A DATE, DATETIME or TIMESTAMP column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    wire: WireType,
    /// Digits of the fraction.
    digits: u8,
}

impl Calendar {
    pub(crate) fn of(ty: &ColumnType) -> Self {
        let digits = if ty.wire == WireType::Date { 0 } else { ty.decimals.min(6) };
        Self { wire: ty.wire, digits }
    }

    fn kind(&self) -> &'static str {
        if self.wire == WireType::Date { "date" } else { "datetime" }
    }

    pub(crate) fn convert(
        &self,
        value: Incoming<'_>,
        report: &mut Reporter,
    ) -> Result<i64, Failure> {
        match value {
            Incoming::Text(text) | Incoming::Bytes(text) | Incoming::Hex(text) => {
                self.text(text, report)
            }
            Incoming::Int(value) => self.number(Decimal::from_i128(i128::from(value)), report),
            Incoming::UInt(value) => self.number(Decimal::from_i128(i128::from(value)), report),
            Incoming::Decimal(value) => self.number(value, report),
            Incoming::Double(value) => self.number(double_to_decimal(value), report),
            Incoming::Date { value, wire: WireType::Timestamp, .. }
                if self.wire == WireType::Timestamp && self.is_shown_twice(value, report) =>
            {
                Err(report.fail(shown_twice(value.pack())))
            }
            Incoming::Date { value, wire, decimals } => self.date(value, report, || {
                let mut shown = String::new();
                match wire {
                    WireType::Date => write_date(&mut shown, value),
                    _ => write_datetime(&mut shown, value, decimals),
                }
                shown
            }),
            Incoming::Time { micros, decimals } => {
                let shown = || {
                    let mut shown = String::new();
                    write_time(&mut shown, micros, decimals);
                    shown
                };
                match on_today(micros, &report.policy) {
                    Some(date) => self.date(date, report, shown),
                    None => self.refuse(&shown(), Code::OutOfRange, report),
                }
            }
        }
    }

    /// Whether the local time of a TIMESTAMP in the session's zone is ambiguous.
    fn is_shown_twice(&self, value: DateTime, report: &Reporter) -> bool {
        matches!(timestamp_to_utc(value.pack(), report.policy.time_zone), Stored::Twice(_))
    }

    fn text(&self, text: &[u8], report: &mut Reporter) -> Result<i64, Failure> {
        let shown = || String::from_utf8_lossy(text).into_owned();
        if let Some(date) = plain(text) {
            return self.date(date, report, shown);
        }
        let text = String::from_utf8_lossy(text);
        let any_day = report.policy.sql_mode.allow_invalid_dates;
        let read = parse::datetime_with(&text, any_day && self.wire != WireType::Timestamp);
        let Some(mut date) = read.value else {
            let code = if read.shaped { Code::OutOfRange } else { Code::DataTruncated };
            return self.refuse(&text, code, report);
        };
        let mut zone = report.policy.time_zone;
        if let Some(offset) = read.offset {
            // What the session's clock shows need not say which moment it was.
            if self.wire == WireType::Timestamp {
                zone = TimeZone::Utc;
            }
            match at_offset(date, offset, zone) {
                Some(local) if date.is_valid() => date = local,
                _ => return self.refuse(&text, Code::OutOfRange, report),
            }
        }
        if read.truncated {
            report.temporal(self.kind(), &text, Code::DataTruncated)?;
        }
        self.date_in(zone, date, report, shown)
    }

    fn number(&self, value: Decimal, report: &mut Reporter) -> Result<i64, Failure> {
        let whole = value.truncate(0).units.to_i128().unwrap_or(i128::MAX);
        if value.is_negative() || whole > LARGEST_NUMBER {
            return self.refuse(&value.to_text(), Code::OutOfRange, report);
        }
        let any_day = report.policy.sql_mode.allow_invalid_dates;
        let any_day = any_day && self.wire != WireType::Timestamp;
        let date = parse::number_with(value, any_day);
        let Some(date) = date.filter(|date| whole == 0 || self.allows(*date, &report.policy))
        else {
            return self.refuse(&value.to_text(), Code::DataTruncated, report);
        };
        let fraction = value.truncate(0).rescale(value.scale) != Some(value);
        if whole != 0 && whole < FIRST_WITH_TIME && fraction && date.time_micros() < 1_000_000 {
            report.temporal(self.kind(), &value.to_text(), Code::DataTruncated)?;
            return self.date(date.midnight(), report, || value.to_text());
        }
        self.date(date, report, || value.to_text())
    }

    /// Whether `sql_mode` and the calendar let the column hold a date.
    fn allows(&self, date: DateTime, policy: &Policy) -> bool {
        let mode = &policy.sql_mode;
        let timestamp = self.wire == WireType::Timestamp;
        if date == DateTime::default() {
            return !mode.no_zero_date;
        }
        if date.month == 0 || date.day == 0 {
            return !mode.no_zero_in_date && !timestamp;
        }
        (mode.allow_invalid_dates && !timestamp) || date.day <= days_in_month(date.year, date.month)
    }

    /// Whether values of another type have the form of this one's.
    pub(crate) fn takes(&self, from: &ColumnType) -> bool {
        match self.wire {
            WireType::Date => from.wire == WireType::Date,
            _ => from.is_date() && from.decimals <= self.digits,
        }
    }

    /// Whether a packed value of the same type and no more digits is stored unchanged. A TIMESTAMP
    /// is so only in universal time.
    pub(crate) fn holds(&self, packed: i64, policy: &Policy) -> bool {
        self.allows(DateTime::unpack(packed), policy)
            && (self.wire != WireType::Timestamp
                || timestamp_to_utc(packed, policy.time_zone) == Stored::Once(packed))
    }

    /// The steps after reading.
    fn date(
        &self,
        date: DateTime,
        report: &mut Reporter,
        shown: impl Fn() -> String,
    ) -> Result<i64, Failure> {
        self.date_in(report.policy.time_zone, date, report, shown)
    }

    /// The same of a date in a time zone.
    fn date_in(
        &self,
        zone: TimeZone,
        date: DateTime,
        report: &mut Reporter,
        shown: impl Fn() -> String,
    ) -> Result<i64, Failure> {
        if !self.allows(date, &report.policy) {
            return self.refuse(&shown(), Code::OutOfRange, report);
        }
        let date = if date.micros == 0 {
            Some(date)
        } else {
            round_datetime_in(date, self.digits, report.policy.sql_mode)
        };
        let Some(date) = date else { return self.refuse(&shown(), Code::OutOfRange, report) };
        match self.wire {
            WireType::Date => {
                if date.time_micros() != 0 {
                    report.note_truncated();
                }
                Ok(date.midnight().pack())
            }
            WireType::Timestamp => match timestamp_to_utc(date.pack(), zone) {
                Stored::Once(packed) | Stored::Twice(packed) => Ok(packed),
                Stored::Skipped(packed) => {
                    report.temporal(self.kind(), &shown(), Code::SkippedTimestamp)?;
                    Ok(packed)
                }
                Stored::None => self.refuse(&shown(), Code::OutOfRange, report),
            },
            _ => Ok(date.pack()),
        }
    }

    /// A value that gives no date: the zero date takes its place.
    fn refuse(&self, shown: &str, code: Code, report: &mut Reporter) -> Result<i64, Failure> {
        report.temporal(self.kind(), shown, code)?;
        Ok(0)
    }
}

/// A TIME on the day of the statement.
pub(crate) fn on_today(micros: i64, policy: &Policy) -> Option<DateTime> {
    policy.time_zone.local(policy.now_micros).midnight().plus_micros(micros)
}

/// `YYYY-MM-DD` and `YYYY-MM-DD hh:mm:ss[.f{1,6}]` of the calendar, quickly; all else is `None`.
fn plain(text: &[u8]) -> Option<DateTime> {
    fn two(text: &[u8], at: usize) -> Option<u8> {
        let (a, b) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
        (a <= 9 && b <= 9).then_some(a * 10 + b)
    }
    if !(text.len() == 10 || (19..=26).contains(&text.len())) || text[4] != b'-' || text[7] != b'-'
    {
        return None;
    }
    let year = u16::from(two(text, 0)?) * 100 + u16::from(two(text, 2)?);
    let mut date = DateTime::date(year, two(text, 5)?, two(text, 8)?);
    if !date.is_valid() {
        return None;
    }
    if text.len() == 10 {
        return Some(date);
    }
    if !matches!(text[10], b' ' | b'T') || text[13] != b':' || text[16] != b':' {
        return None;
    }
    (date.hour, date.minute, date.second) = (two(text, 11)?, two(text, 14)?, two(text, 17)?);
    if date.hour > 23 || date.minute > 59 || date.second > 59 {
        return None;
    }
    if text.len() > 19 {
        if text[19] != b'.' || text.len() == 20 {
            return None;
        }
        let mut unit = 100_000;
        for byte in &text[20..] {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            date.micros += u32::from(digit) * unit;
            unit /= 10;
        }
    }
    Some(date)
}

/// A value for a TIME of so many digits of fraction, in microseconds.
pub(crate) fn time(digits: u8, value: Incoming<'_>, report: &mut Reporter) -> Result<i64, Failure> {
    let mode = report.policy.sql_mode;
    let micros = match value {
        Incoming::Text(text) | Incoming::Bytes(text) | Incoming::Hex(text) => {
            text_time(&String::from_utf8_lossy(text), report)?
        }
        Incoming::Int(value) => number_time(Decimal::from_i128(i128::from(value)), report)?,
        Incoming::UInt(value) => number_time(Decimal::from_i128(i128::from(value)), report)?,
        Incoming::Decimal(value) => number_time(value, report)?,
        Incoming::Double(value) => number_time(double_to_decimal(value), report)?,
        Incoming::Date { value, .. } => value.time_micros(),
        Incoming::Time { micros, .. } => micros,
    };
    Ok(round_time_in(micros, digits, mode))
}

fn text_time(text: &str, report: &mut Reporter) -> Result<i64, Failure> {
    let mut read = parse::time(text);
    let mut has_offset = false;
    if let Some(date) = parse::dated(text).filter(|_| read.shaped)
        && let (Some(day), Some(offset)) = (date.value, date.offset)
    {
        has_offset = true;
        // The time of the session's clock. Before the first of all years there is none.
        read.value = match day.month == 0 || day.day == 0 {
            true => None,
            false => Some(
                at_offset(day, offset, report.policy.time_zone).map_or(0, DateTime::time_micros),
            ),
        };
    }
    let Some(micros) = read.value else {
        // Minutes or seconds beyond 59, or no number at all.
        let body = text.trim_start().trim_start_matches('-');
        let number = body.as_bytes().first().is_some_and(u8::is_ascii_digit);
        let code = if number { Code::OutOfRange } else { Code::DataTruncated };
        report.temporal("time", text, code)?;
        return Ok(0);
    };
    if read.truncated {
        let far = micros.abs() == TIME_MAX_MICROS;
        let code = if far { Code::OutOfRange } else { Code::DataTruncated };
        report.temporal("time", text, code)?;
    } else if read.shaped {
        // The text said a date, too, which is lost, be it a day that the calendar does not have.
        let any_day = report.policy.sql_mode.allow_invalid_dates;
        let is_day = |date: DateTime| {
            any_day || date.month == 0 || date.day <= days_in_month(date.year, date.month)
        };
        if !has_offset && parse::dated(text).and_then(|date| date.value).is_none_or(is_day) {
            report.note_truncated();
        } else {
            report.temporal_taken("time", text);
        }
    }
    Ok(micros)
}

fn number_time(value: Decimal, report: &mut Reporter) -> Result<i64, Failure> {
    match parse::number_as_time(value) {
        Some(micros) if micros.abs() <= TIME_MAX_MICROS => {
            let whole = value.truncate(0).units.to_i128().unwrap_or(i128::MAX);
            if whole >= FIRST_DATE_FOR_TIME {
                report.note_truncated();
            }
            Ok(micros)
        }
        found => {
            report.temporal("time", &value.to_text(), Code::OutOfRange)?;
            // What is too large is so whatever its minutes and seconds are.
            let whole = value.truncate(0).units.to_i128().unwrap_or(i128::MAX);
            let is_far = found.is_some() || whole.abs() > LARGEST_TIME;
            let largest = if value.is_negative() { -TIME_MAX_MICROS } else { TIME_MAX_MICROS };
            Ok(if is_far { largest } else { 0 })
        }
    }
}
