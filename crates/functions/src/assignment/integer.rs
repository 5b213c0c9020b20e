//! Assignment to TINYINT, SMALLINT, MEDIUMINT, INT and BIGINT, signed and unsigned.
//!
//! Decimals round half away from zero, doubles half to even, texts like decimals. A text may
//! contain a fraction or an exponent.

use pelorus_types::{ColumnType, WireType};

use super::Incoming;
use super::conversion_error::{Failure, Reporter};
use crate::decimal::{Decimal, rint};
use crate::input::bits_to_u64;
use crate::parse;
use crate::scalar::cast::{round_datetime_in, round_time_in};
use crate::scalar::datetime::number::{datetime_number, time_number};

/// The least and the largest integer of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integer {
    min: i128,
    max: i128,
}

/// Whether a text was wholly a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// It is one, spaces aside.
    Whole,
    /// Something follows that is none.
    Prefix,
    /// It does not begin with one.
    Nothing,
}

impl Integer {
    pub(crate) fn of(ty: &ColumnType) -> Self {
        let bits = match ty.wire {
            WireType::Tiny => 8,
            WireType::Short => 16,
            WireType::Int24 => 24,
            WireType::Long => 32,
            _ => 64,
        };
        if ty.is_unsigned() {
            Self { min: 0, max: (1 << bits) - 1 }
        } else {
            Self { min: -(1 << (bits - 1)), max: (1 << (bits - 1)) - 1 }
        }
    }

    /// Whether all integers between these two fit.
    pub(crate) fn holds(&self, least: i128, most: i128) -> bool {
        least >= self.min && most <= self.max
    }

    pub(crate) fn convert(
        &self,
        value: Incoming<'_>,
        report: &mut Reporter,
    ) -> Result<i128, Failure> {
        match value {
            Incoming::Text(text) | Incoming::Bytes(text) => self.text(text, report),
            Incoming::Int(value) => self.fit(i128::from(value), report),
            Incoming::UInt(value) => self.fit(i128::from(value), report),
            Incoming::Decimal(value) => self.decimal(value, report),
            Incoming::Double(value) => self.double(value, report),
            Incoming::Hex(bytes) => self.hex(bytes, report),
            Incoming::Date { .. } | Incoming::Time { .. } => {
                self.fit(temporal_integer(value, report), report)
            }
        }
    }

    fn text(&self, text: &[u8], report: &mut Reporter) -> Result<i128, Failure> {
        if let Some(value) = short_integer(text) {
            return self.fit(i128::from(value), report);
        }
        let (value, extent) = rounded(text);
        if value < self.min || value > self.max {
            return self.fit(value, report);
        }
        check_extent(text, extent, report)?;
        Ok(value)
    }

    fn fit(&self, value: i128, report: &mut Reporter) -> Result<i128, Failure> {
        if value < self.min {
            report.out_of_range()?;
            return Ok(self.min);
        }
        if value > self.max {
            report.out_of_range()?;
            return Ok(self.max);
        }
        Ok(value)
    }

    fn decimal(&self, value: Decimal, report: &mut Reporter) -> Result<i128, Failure> {
        if self.min == 0 && value.is_negative() {
            // Even -0.4 is refused, though it rounds to zero.
            return self.fit(-1, report);
        }
        self.fit(decimal_integer(value), report)
    }

    fn double(&self, value: f64, report: &mut Reporter) -> Result<i128, Failure> {
        let whole = rint(value);
        // Doubles do not have the largest numbers of 64 bits: 2^63 and 2^64 are what come next.
        #[expect(clippy::cast_precision_loss, reason = "MySQL compares as doubles, too")]
        if whole >= self.max as f64 + 1.0 {
            return self.fit(i128::MAX, report);
        }
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        self.fit(whole as i128, report)
    }

    fn hex(&self, bytes: &[u8], report: &mut Reporter) -> Result<i128, Failure> {
        let value = if bytes.len() > 8 { u64::MAX } else { bits_to_u64(bytes) };
        if bytes.len() > 8 {
            report.out_of_range()?;
            return Ok(self.max);
        }
        self.fit(i128::from(value), report)
    }
}

/// A date or time as the integer that MySQL makes of it, rounded to seconds.
pub(crate) fn temporal_integer(value: Incoming<'_>, report: &Reporter) -> i128 {
    let mode = report.policy.sql_mode;
    let number = match value {
        Incoming::Date { value, wire, .. } => {
            let rounded = round_datetime_in(value, 0, mode).unwrap_or(value);
            datetime_number(wire, rounded.pack(), 0)
        }
        Incoming::Time { micros, .. } => time_number(round_time_in(micros, 0, mode), 0),
        _ => Decimal::from_i128(0),
    };
    decimal_integer(number)
}

/// A decimal rounded half away from zero; beyond 128 bits the largest integer of its sign.
pub(crate) fn decimal_integer(value: Decimal) -> i128 {
    let far = if value.is_negative() { i128::MIN } else { i128::MAX };
    value.round_to_integer().to_i128().unwrap_or(far)
}

/// A text of a sign and at most 18 digits, and of nothing else.
pub(crate) fn short_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// The number that a text begins with, rounded half away from zero.
pub(crate) fn rounded(text: &[u8]) -> (i128, Extent) {
    let start = parse::skip_spaces(text);
    let Some((mut end, _)) = parse::number_end(text, start) else { return (0, Extent::Nothing) };
    let value = decimal_integer(parse::decimal_prefix(&text[..end]).value);
    // MySQL takes the letter of an exponent even when no digits follow.
    if matches!(text.get(end), Some(b'e' | b'E')) {
        end += 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
    }
    let rest = &text[end..];
    let whole = parse::skip_spaces(rest) == rest.len();
    (value, if whole { Extent::Whole } else { Extent::Prefix })
}

/// Reports the characters of a text that are not part of its integer.
pub(crate) fn check_extent(
    text: &[u8],
    extent: Extent,
    report: &mut Reporter,
) -> Result<(), Failure> {
    match extent {
        Extent::Whole => Ok(()),
        Extent::Prefix => report.truncated(),
        Extent::Nothing => report.incorrect("integer", text),
    }
}
