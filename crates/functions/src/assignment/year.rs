//! YEAR and BIT.

use super::Incoming;
use super::conversion_error::{Failure, Reporter};
use super::integer::{Extent, check_extent, decimal_integer, rounded, short_integer};
use super::temporal::on_today;
use crate::input::bits_to_u64;
use crate::scalar::datetime::parse::full_year;

/// A YEAR: 0, or 1901 to 2155. One and two digits lie between 1970 and 2069, of which the text
/// `'0'` is 2000 and the number 0 the year 0.
pub(crate) fn year(value: Incoming<'_>, report: &mut Reporter) -> Result<u64, Failure> {
    match value {
        Incoming::Text(text) | Incoming::Bytes(text) => text_year(text, report),
        Incoming::Int(value) => number_year(i128::from(value), report),
        Incoming::UInt(value) => number_year(i128::from(value), report),
        Incoming::Decimal(value) if value.is_negative() => number_year(-1, report),
        Incoming::Decimal(value) => number_year(decimal_integer(value), report),
        Incoming::Double(value) if !(0.0..=2155.0).contains(&value) => number_year(-1, report),
        #[expect(clippy::cast_possible_truncation, reason = "in range, and MySQL cuts it")]
        Incoming::Double(value) => number_year(value as i128, report),
        Incoming::Hex(bytes) if bytes.len() > 8 => number_year(-1, report),
        Incoming::Hex(bytes) => number_year(i128::from(bits_to_u64(bytes)), report),
        Incoming::Date { value, .. } => number_year(i128::from(value.year), report),
        Incoming::Time { micros, .. } => {
            let year = on_today(micros, &report.policy).map_or(0, |date| date.year);
            number_year(i128::from(year), report)
        }
    }
}

fn text_year(text: &[u8], report: &mut Reporter) -> Result<u64, Failure> {
    let (value, extent) = match short_integer(text) {
        Some(value) => (i128::from(value), Extent::Whole),
        None => rounded(text),
    };
    if !is_year(value) {
        return number_year(value, report);
    }
    check_extent(text, extent, report)?;
    if extent == Extent::Nothing || (value == 0 && text.len() == 4) {
        return Ok(0);
    }
    Ok(of_two_digits(value))
}

fn number_year(value: i128, report: &mut Reporter) -> Result<u64, Failure> {
    if !is_year(value) {
        report.out_of_range()?;
        return Ok(0);
    }
    Ok(if value == 0 { 0 } else { of_two_digits(value) })
}

fn is_year(value: i128) -> bool {
    (0..=99).contains(&value) || (1901..=2155).contains(&value)
}

/// All four digits of a year that [`is_year`].
fn of_two_digits(value: i128) -> u64 {
    let year = u32::try_from(value).unwrap_or(0);
    u64::from(if year < 100 { full_year(year) } else { year })
}

/// A BIT of `bits` bits. Texts are their bytes.
pub(crate) fn bit(bits: u32, value: Incoming<'_>, report: &mut Reporter) -> Result<u64, Failure> {
    let most = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let bytes = match value {
        Incoming::Text(bytes) | Incoming::Bytes(bytes) | Incoming::Hex(bytes) => Ok(bytes),
        other => Err(other),
    };
    let value = match bytes {
        Ok(bytes) => {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let bytes = &bytes[zeros..];
            if bytes.len() > 8 { None } else { Some(bits_to_u64(bytes)) }
        }
        Err(other) => Some(number_bits(other, report)?),
    };
    match value {
        Some(value) if value <= most => Ok(value),
        _ => {
            report.too_many_bits()?;
            Ok(most)
        }
    }
}

fn number_bits(value: Incoming<'_>, report: &mut Reporter) -> Result<u64, Failure> {
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "two's complement; doubles saturate"
    )]
    Ok(match value {
        Incoming::Int(value) => value as u64,
        Incoming::UInt(value) => value,
        Incoming::Double(value) => value as i64 as u64,
        Incoming::Decimal(value) => {
            let whole = decimal_integer(value);
            if value.is_negative() || whole > i128::from(u64::MAX) {
                report.out_of_range()?;
                return Ok(if value.is_negative() { 0 } else { u64::MAX });
            }
            whole as u64
        }
        other => super::integer::temporal_integer(other, report) as u64,
    })
}
