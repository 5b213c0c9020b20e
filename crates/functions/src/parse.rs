//! Parses numbers from text leniently: the longest prefix that is a number counts.

use arrow::datatypes::i256;

use crate::decimal::{Decimal, MAX_PRECISION};

/// A number read from the front of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prefix<T> {
    /// The number; zero when there is none.
    pub(crate) value: T,
    /// Whether anything but spaces is left, or nothing was read.
    pub(crate) truncated: bool,
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

pub(crate) fn skip_spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space(**byte)).count()
}

/// The extent of `[sign] digits [. digits] [e [sign] digits]` from `start`; `None` if there is no
/// digit.
pub(crate) fn number_end(text: &[u8], start: usize) -> Option<(usize, bool)> {
    let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = start;
    if matches!(text.get(at), Some(b'+' | b'-')) {
        at += 1;
    }
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    let mut has_exponent = false;
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
            has_exponent = true;
        }
    }
    Some((at, has_exponent))
}

/// Reads a double.
pub(crate) fn double_prefix(text: &[u8]) -> Prefix<f64> {
    let start = skip_spaces(text);
    let Some((end, _)) = number_end(text, start) else {
        return Prefix { value: 0.0, truncated: true };
    };
    let digits = std::str::from_utf8(&text[start..end]).unwrap_or("0");
    let value: f64 = digits.parse().unwrap_or(0.0);
    let rest = &text[end..];
    let truncated = skip_spaces(rest) < rest.len() || value.is_infinite();
    let value = value.clamp(-f64::MAX, f64::MAX);
    Prefix { value, truncated }
}

/// Reads a decimal, exponents included, of at most 65 digits.
pub(crate) fn decimal_prefix(text: &[u8]) -> Prefix<Decimal> {
    let zero = Decimal { units: i256::ZERO, scale: 0 };
    let start = skip_spaces(text);
    let Some((end, has_exponent)) = number_end(text, start) else {
        return Prefix { value: zero, truncated: true };
    };
    let number = std::str::from_utf8(&text[start..end]).unwrap_or("0");
    let rest = &text[end..];
    let mut truncated = skip_spaces(rest) < rest.len();
    let (mantissa, exponent) = if has_exponent {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        (
            mantissa,
            exponent.parse::<i32>().unwrap_or(if exponent.starts_with('-') { -999 } else { 999 }),
        )
    } else {
        (number, 0)
    };
    let value = match scaled(mantissa, exponent) {
        Some((value, cut)) => {
            truncated |= cut;
            value
        }
        None => {
            truncated = true;
            largest(mantissa.starts_with('-'))
        }
    };
    Prefix { value, truncated }
}

/// The largest number of 65 digits, or its negative.
pub(crate) fn largest(negative: bool) -> Decimal {
    let units = crate::decimal::pow10(MAX_PRECISION).wrapping_sub(i256::ONE);
    Decimal { units: if negative { units.wrapping_neg() } else { units }, scale: 0 }
}

/// `mantissa * 10^exponent`, and whether digits were cut; `None` above 65 digits.
fn scaled(mantissa: &str, exponent: i32) -> Option<(Decimal, bool)> {
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.trim_start_matches(['-', '+']);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: String = [whole, fraction].concat();
    let mut point = i32::try_from(whole.len()).ok()?.saturating_add(exponent);
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = &all[leading..];
    if digits.is_empty() {
        let scale = u8::try_from(fraction.len().min(30)).ok()?;
        return Some((Decimal { units: i256::ZERO, scale }, false));
    }
    point -= i32::try_from(leading).ok()?;
    if point > i32::from(MAX_PRECISION) {
        return None;
    }
    // `point` digits stand before the point.
    let count = i32::try_from(digits.len()).ok()?;
    let scale = (count - point).max(0);
    let room = (i32::from(MAX_PRECISION) - point.max(0)).min(72);
    let keep_scale = scale.min(room);
    let cut = scale > keep_scale;
    let keep = count - (scale - keep_scale);
    let mut units = i256::ZERO;
    if keep > 0 {
        let kept = digits.get(..usize::try_from(keep).ok()?)?;
        units = kept.parse().ok()?;
    }
    if point > count {
        units = units.checked_mul(crate::decimal::pow10(u8::try_from(point - count).ok()?))?;
    }
    let units = if negative { units.wrapping_neg() } else { units };
    Some((Decimal { units, scale: u8::try_from(keep_scale).ok()? }, cut))
}

/// Reads an integer: digits only; a fraction or exponent ends it.
pub(crate) fn integer_prefix(text: &[u8]) -> Prefix<i128> {
    let start = skip_spaces(text);
    let negative = text.get(start) == Some(&b'-');
    let from = start + usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let mut value: i128 = 0;
    let mut end = from;
    let mut overflow = false;
    for byte in text[from..].iter().take_while(|byte| byte.is_ascii_digit()) {
        value = value * 10 + i128::from(byte - b'0');
        if value > i128::from(u64::MAX) {
            overflow = true;
            value = i128::from(u64::MAX);
        }
        end += 1;
    }
    let rest = &text[end..];
    let truncated = end == from || overflow || skip_spaces(rest) < rest.len();
    let value = if negative { (-value).max(i128::from(i64::MIN)) } else { value };
    let truncated = truncated || (negative && value == i128::from(i64::MIN) && overflow);
    Prefix { value, truncated }
}

/// A text that is wholly an exact integer, spaces aside.
pub fn exact_integer(text: &str) -> Option<i128> {
    let trimmed = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    trimmed.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prefixes() {
        assert_eq!(double_prefix(b" 12.5e1x"), Prefix { value: 125.0, truncated: true });
        assert_eq!(double_prefix(b"-.5 "), Prefix { value: -0.5, truncated: false });
        assert_eq!(double_prefix(b"1e"), Prefix { value: 1.0, truncated: true });
        assert_eq!(double_prefix(b""), Prefix { value: 0.0, truncated: true });
        assert_eq!(decimal_prefix(b"1.5e2").value.to_text(), "150");
        assert_eq!(decimal_prefix(b"1.5e-2").value.to_text(), "0.015");
        assert_eq!(decimal_prefix(b"-12.50").value.to_text(), "-12.50");
        assert_eq!(integer_prefix(b"-12.5"), Prefix { value: -12, truncated: true });
        assert_eq!(exact_integer(" 12 "), Some(12));
        assert_eq!(exact_integer("12.0"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text: Vec<u8>) {
            let _ = (double_prefix(&text), decimal_prefix(&text), integer_prefix(&text));
        }

        #[test]
        fn nothing_panics_on_numbers(text in "[-+]?[0-9]{0,90}(\\.[0-9]{0,90})?(e[-+]?[0-9]{0,6})?") {
            let _ = (double_prefix(text.as_bytes()), decimal_prefix(text.as_bytes()));
        }
    }
}
