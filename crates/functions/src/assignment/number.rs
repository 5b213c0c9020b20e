//! Assignment to DECIMAL, FLOAT and DOUBLE.

use arrow::datatypes::i256;
use pelorus_error::Code;
use pelorus_types::column::DECIMALS_NOT_FIXED;
use pelorus_types::{ColumnType, WireType};

use super::Incoming;
use super::conversion_error::{Failure, Reporter};
use crate::decimal::{Decimal, pow10, rint};
use crate::input::{bits_to_u64, double_to_decimal};
use crate::parse;
use crate::scalar::datetime::number::{datetime_number, time_number};

/// A DECIMAL: values are rounded half away from zero to its scale, with a note.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub(crate) scale: u8,
    /// One more than the most units.
    limit: i256,
    /// The same, when it fits.
    small_limit: i128,
    unsigned: bool,
}

impl Exact {
    pub(crate) fn of(ty: &ColumnType) -> Self {
        let limit = pow10(ty.precision());
        let small_limit = limit.to_i128().unwrap_or(i128::MAX);
        Self { scale: ty.decimals, limit, small_limit, unsigned: ty.is_unsigned() }
    }

    /// Whether a value of this scale fits unchanged.
    pub(crate) fn holds(&self, units: i256) -> bool {
        units.wrapping_abs() < self.limit && !(self.unsigned && units < i256::ZERO)
    }

    /// Like [`Self::holds`] for 128 bits.
    pub(crate) fn holds_small(&self, units: i128) -> bool {
        units > -self.small_limit && units < self.small_limit && !(self.unsigned && units < 0)
    }

    pub(crate) fn convert(
        &self,
        value: Incoming<'_>,
        report: &mut Reporter,
    ) -> Result<i256, Failure> {
        match value {
            Incoming::Text(text) | Incoming::Bytes(text) => self.text(text, report),
            Incoming::Int(value) => self.fit(Decimal::from_i128(i128::from(value)), report),
            Incoming::UInt(value) => self.fit(Decimal::from_i128(i128::from(value)), report),
            Incoming::Decimal(value) => self.fit(value, report),
            Incoming::Double(value) => self.fit(double_to_decimal(value), report),
            Incoming::Hex(bytes) => self.hex(bytes, report),
            Incoming::Date { value, wire, decimals } => {
                self.fit(datetime_number(wire, value.pack(), decimals), report)
            }
            Incoming::Time { micros, decimals } => self.fit(time_number(micros, decimals), report),
        }
    }

    fn text(&self, text: &[u8], report: &mut Reporter) -> Result<i256, Failure> {
        if let Some(units) = self.short(text) {
            return Ok(i256::from_i128(units));
        }
        let start = parse::skip_spaces(text);
        let has_number = parse::number_end(text, start).is_some();
        let read = parse::decimal_prefix(text);
        if !has_number || (read.truncated && report.policy.refuses()) {
            report.incorrect("decimal", text)?;
        } else if read.truncated {
            let largest = read.value == parse::largest(read.value.is_negative());
            if largest && !self.holds_whole(read.value) {
                report.out_of_range()?;
                return Ok(self.farthest(read.value.is_negative()));
            }
            report.note_truncated();
        }
        self.fit(read.value, report)
    }

    fn holds_whole(&self, value: Decimal) -> bool {
        value.rescale(self.scale).is_some_and(|value| self.holds(value.units))
    }

    /// Plain digits that fit as they are: the common case.
    pub(crate) fn short(&self, text: &[u8]) -> Option<i128> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        if digits.len() > 30 {
            return None;
        }
        let (mut units, mut fraction, mut count, mut seen_point) = (0_i128, 0_u8, 0_u8, false);
        for &byte in digits {
            match byte {
                b'0'..=b'9' => {
                    units = units * 10 + i128::from(byte - b'0');
                    count += 1;
                    fraction += u8::from(seen_point);
                }
                b'.' if !seen_point => seen_point = true,
                _ => return None,
            }
        }
        if count == 0 || fraction > self.scale {
            return None;
        }
        let units = units.checked_mul(10_i128.checked_pow(u32::from(self.scale - fraction))?)?;
        let units = if negative { -units } else { units };
        self.holds_small(units).then_some(units)
    }

    fn fit(&self, value: Decimal, report: &mut Reporter) -> Result<i256, Failure> {
        if self.unsigned && value.is_negative() {
            report.out_of_range()?;
            return Ok(i256::ZERO);
        }
        match value.rescale(self.scale) {
            Some(rounded) if self.holds(rounded.units) => {
                if value.scale > self.scale && rounded.rescale(value.scale) != Some(value) {
                    report.note_truncated();
                }
                Ok(rounded.units)
            }
            _ => {
                report.out_of_range()?;
                Ok(self.farthest(value.is_negative()))
            }
        }
    }

    fn farthest(&self, negative: bool) -> i256 {
        let most = self.limit.wrapping_sub(i256::ONE);
        match (negative, self.unsigned) {
            (true, true) => i256::ZERO,
            (true, false) => most.wrapping_neg(),
            _ => most,
        }
    }

    fn hex(&self, bytes: &[u8], report: &mut Reporter) -> Result<i256, Failure> {
        let value = if bytes.len() > 8 { u64::MAX } else { bits_to_u64(bytes) };
        if bytes.len() > 8 {
            report.out_of_range()?;
        }
        self.fit(Decimal::from_i128(i128::from(value)), report)
    }
}

/// A FLOAT or DOUBLE, with or without a declared number of digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real {
    /// The largest value.
    max: f64,
    /// Digits after the point when they are declared.
    digits: Option<i32>,
    unsigned: bool,
}

impl Real {
    pub(crate) fn of(ty: &ColumnType) -> Self {
        let unsigned = ty.is_unsigned();
        let widest = if ty.wire == WireType::Float { f64::from(f32::MAX) } else { f64::MAX };
        if ty.decimals >= DECIMALS_NOT_FIXED {
            return Self { max: widest, digits: None, unsigned };
        }
        let digits = i32::from(ty.decimals);
        let whole = i32::try_from(ty.length).unwrap_or(255) - digits;
        let max = (10_f64.powi(whole) - 10_f64.powi(-digits)).min(widest);
        Self { max, digits: Some(digits), unsigned }
    }

    /// Whether the value fits unchanged.
    pub(crate) fn holds(&self, value: f64) -> bool {
        self.digits.is_none() && value.abs() <= self.max && !(self.unsigned && value < 0.0)
    }

    pub(crate) fn convert(
        &self,
        value: Incoming<'_>,
        report: &mut Reporter,
    ) -> Result<f64, Failure> {
        #[expect(clippy::cast_precision_loss, reason = "MySQL rounds large integers too")]
        let value = match value {
            Incoming::Text(text) | Incoming::Bytes(text) => text_real(text, report)?,
            Incoming::Int(value) => value as f64,
            Incoming::UInt(value) => value as f64,
            Incoming::Decimal(value) => value.to_f64(),
            Incoming::Double(value) => value,
            Incoming::Hex(bytes) if bytes.len() > 8 => {
                report.out_of_range()?;
                if self.unsigned { u64::MAX as f64 } else { i64::MAX as f64 }
            }
            Incoming::Hex(bytes) => bits_to_u64(bytes) as f64,
            Incoming::Date { value, wire, decimals } => {
                datetime_number(wire, value.pack(), decimals).to_f64()
            }
            Incoming::Time { micros, decimals } => time_number(micros, decimals).to_f64(),
        };
        self.fit(value, report)
    }

    fn fit(&self, value: f64, report: &mut Reporter) -> Result<f64, Failure> {
        if value.is_nan() || (self.unsigned && value < 0.0) {
            report.out_of_range()?;
            return Ok(0.0);
        }
        let value = match self.digits {
            Some(digits) if value.is_finite() => {
                let unit = 10_f64.powi(digits);
                value.floor() + rint((value - value.floor()) * unit) / unit
            }
            _ => value,
        };
        if value.abs() > self.max {
            report.out_of_range()?;
            return Ok(self.max.copysign(value));
        }
        Ok(value)
    }
}

/// A text as a double. MySQL minds even trailing spaces here.
fn text_real(text: &[u8], report: &mut Reporter) -> Result<f64, Failure> {
    let start = parse::skip_spaces(text);
    let Some((end, _)) = parse::number_end(text, start) else {
        report.truncated()?;
        return Ok(0.0);
    };
    let number = std::str::from_utf8(&text[start..end]).unwrap_or("0");
    let value: f64 = number.parse().unwrap_or(0.0);
    if value.is_infinite() {
        report.out_of_range()?;
        return Ok(f64::MAX.copysign(value));
    }
    if end < text.len() {
        report.problem(Code::DataTruncated)?;
    }
    Ok(value)
}
