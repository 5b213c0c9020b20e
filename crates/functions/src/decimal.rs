//! Exact decimal numbers with MySQL's rules for scale, rounding and range.

use arrow::datatypes::i256;
use pelorus_types::number::write_decimal;

/// Most digits of a DECIMAL.
pub(crate) const MAX_PRECISION: u8 = 65;
/// Most digits after the point of a DECIMAL.
pub(crate) const MAX_SCALE: u8 = 30;
/// MySQL computes in words of nine decimal digits; quotients carry whole words.
const WORD_DIGITS: u32 = 9;

/// `units * 10^-scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The digits as an integer.
    pub units: i256,
    /// Digits after the point.
    pub scale: u8,
}

/// 10 to the power of `exponent`, which must be at most 76.
pub(crate) fn pow10(exponent: u8) -> i256 {
    if exponent <= 38 {
        i256::from_i128(10_i128.pow(u32::from(exponent)))
    } else {
        i256::from_i128(10_i128.pow(38))
            .wrapping_mul(i256::from_i128(10_i128.pow(u32::from(exponent.min(76) - 38))))
    }
}

/// Divides, rounding half away from zero.
pub(crate) fn div_round(units: i256, divisor: i256) -> i256 {
    // Division of 128 bits is many times quicker.
    if let (Some(units), Some(divisor)) = (units.to_i128(), divisor.to_i128())
        && divisor != -1
    {
        return i256::from_i128(div_round_small(units, divisor));
    }
    let quotient = units.wrapping_div(divisor);
    let rest = units.wrapping_rem(divisor);
    let twice = rest.wrapping_abs().wrapping_mul(i256::from(2));
    if twice >= divisor.wrapping_abs() {
        let negative = (units < i256::ZERO) != (divisor < i256::ZERO);
        quotient.wrapping_add(i256::from(if negative { -1 } else { 1 }))
    } else {
        quotient
    }
}

/// Like [`div_round`] for 128 bits. The divisor is neither 0 nor -1.
fn div_round_small(units: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (units / divisor, units % divisor);
    // Twice the rest may not fit, so it is compared with what is left of the divisor.
    if rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs() {
        quotient + if (units < 0) != (divisor < 0) { -1 } else { 1 }
    } else {
        quotient
    }
}

impl Decimal {
    /// An integer.
    pub fn from_i128(value: i128) -> Self {
        Self { units: i256::from_i128(value), scale: 0 }
    }

    /// Reads plain digits with sign and point; no exponent.
    pub(crate) fn parse_plain(text: &str) -> Option<Self> {
        let scale = text.find('.').map_or(0, |at| text.len() - at - 1);
        let scale = u8::try_from(scale).ok().filter(|scale| *scale <= 76)?;
        Some(Self { units: pelorus_types::number::parse_decimal(text.as_bytes(), scale)?, scale })
    }

    /// The same number with another scale, rounded half away from zero; `None` beyond 256 bits.
    pub fn rescale(self, scale: u8) -> Option<Self> {
        let units = if scale >= self.scale {
            let up = scale - self.scale;
            if up == 0 || self.units == i256::ZERO {
                self.units
            } else if up > 76 {
                return None;
            } else {
                self.units.checked_mul(pow10(up))?
            }
        } else {
            div_round(self.units, pow10(self.scale - scale))
        };
        Some(Self { units, scale })
    }

    /// Cut off after `scale` digits.
    pub(crate) fn truncate(self, scale: u8) -> Self {
        if scale >= self.scale {
            return self;
        }
        Self { units: self.units.wrapping_div(pow10(self.scale - scale)), scale }
    }

    /// The integer part as MySQL's conversions give it: rounded half away from zero.
    pub(crate) fn round_to_integer(self) -> i256 {
        self.rescale(0).map_or(i256::ZERO, |whole| whole.units)
    }

    /// The nearest double, by way of the digits so that it is correctly rounded.
    pub fn to_f64(self) -> f64 {
        if let Some(small) = self.units.to_i128() {
            // Both are exact, so one division rounds once.
            if small.unsigned_abs() < 1 << 53 && self.scale <= 22 {
                #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
                return small as f64 / 10_f64.powi(i32::from(self.scale));
            }
        }
        self.to_text().parse().unwrap_or(f64::NAN)
    }

    /// Digits with point.
    pub fn to_text(self) -> String {
        let mut out = String::new();
        write_decimal(&mut out, self.units, self.scale);
        out
    }

    /// Order by value; the numbers may have different scales.
    pub fn compare(self, other: Self) -> std::cmp::Ordering {
        use std::cmp::Ordering;
        if self.scale == other.scale {
            return self.units.cmp(&other.units);
        }
        let scale = self.scale.max(other.scale);
        match (self.rescale(scale), other.rescale(scale)) {
            (Some(a), Some(b)) => a.units.cmp(&b.units),
            // Too large to align: the integer parts differ.
            _ => {
                let (a, b) = (self.truncate(0).units, other.truncate(0).units);
                if a == b { Ordering::Equal } else { a.cmp(&b) }
            }
        }
    }

    /// Whether MySQL's words of digits hold the number: a little more than 65 digits pass.
    pub(crate) fn fits(self) -> bool {
        self.units.wrapping_abs() < pow10(76)
    }

    /// Whether a column has room for its digits, whatever their scale.
    pub(crate) fn fits_column(self) -> bool {
        self.units.wrapping_abs() < pow10(MAX_PRECISION)
    }

    pub(crate) fn is_zero(self) -> bool {
        self.units == i256::ZERO
    }

    pub(crate) fn is_negative(self) -> bool {
        self.units < i256::ZERO
    }

    pub(crate) fn negate(self) -> Self {
        Self { units: self.units.wrapping_neg(), scale: self.scale }
    }

    pub(crate) fn add(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rescale(scale)?, other.rescale(scale)?);
        Some(Self { units: a.units.checked_add(b.units)?, scale })
    }

    /// Product, cut to `scale` digits.
    pub(crate) fn multiply(self, other: Self, scale: u8) -> Option<Self> {
        let full = self.scale + other.scale;
        let small = match (self.units.to_i128(), other.units.to_i128()) {
            (Some(a), Some(b)) => a.checked_mul(b).map(i256::from_i128),
            _ => None,
        };
        if let Some(units) = small.or_else(|| self.units.checked_mul(other.units)) {
            let product = Self { units, scale: full };
            return if full > scale {
                Some(product.truncate(scale))
            } else {
                product.rescale(scale)
            };
        }
        // 130 digits may be needed on the way: multiply what remains after cutting the longer
        // operand's zeros away, else give up.
        let (a, b) = (self.trimmed(), other.trimmed());
        let product = Self { units: a.units.checked_mul(b.units)?, scale: a.scale + b.scale };
        if product.scale > scale { Some(product.truncate(scale)) } else { product.rescale(scale) }
    }

    /// Quotient, cut to `scale` digits; `None` beyond 256 bits. The divisor is not zero.
    pub(crate) fn divide(self, other: Self, scale: u8) -> Option<Self> {
        // self/other = units * 10^(scale + other.scale - self.scale) / other.units
        let shift = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        let (a, b) = if shift >= 0 {
            let up = u8::try_from(shift).ok()?;
            (wide_scale(self.units, up), other.units)
        } else {
            (Some(self.units), other.units.checked_mul(pow10(u8::try_from(-shift).ok()?))?)
        };
        let units = match a {
            Some(a) => a.wrapping_div(b),
            None => long_divide(self.units, b, u8::try_from(shift).ok()?)?,
        };
        Some(Self { units, scale })
    }

    /// The quotient of `/` in MySQL 9: truncated to whole words of digits (see [`quotient_scale`]),
    /// then rounded half away from zero at `scale`, which does nothing where a word ends there.
    /// `None` beyond 256 bits. The divisor is not zero.
    pub(crate) fn divide_rounded(self, other: Self, scale: u8, increment: u8) -> Option<Self> {
        if quotient_scale(self.scale, other.scale, increment) <= scale {
            return self.divide(other, scale);
        }
        let shift = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        if let (Some(a), Some(b), 0..=38) = (self.units.to_i128(), other.units.to_i128(), shift)
            && b != -1
            && let Some(a) = a.checked_mul(10_i128.pow(u32::try_from(shift).ok()?))
        {
            return Some(Self { units: i256::from_i128(div_round_small(a, b)), scale });
        }
        // One digit more than asked for tells which way to round: what was cut cannot change it.
        let quotient = self.divide(other, scale.checked_add(1)?)?;
        Some(Self { units: div_round(quotient.units, i256::from(10)), scale })
    }

    /// Remainder with the sign of the dividend. The divisor is not zero.
    pub(crate) fn remainder(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rescale(scale)?, other.rescale(scale)?);
        Some(Self { units: a.units.wrapping_rem(b.units), scale })
    }

    fn trimmed(self) -> Self {
        let ten = i256::from(10);
        let mut this = self;
        while this.scale > 0 && this.units.wrapping_rem(ten) == i256::ZERO {
            this = Self { units: this.units.wrapping_div(ten), scale: this.scale - 1 };
        }
        this
    }
}

fn wide_scale(units: i256, up: u8) -> Option<i256> {
    if up > 76 { None } else { units.checked_mul(pow10(up)) }
}

/// `units * 10^shift / divisor` digit by digit, for when the product exceeds 256 bits.
fn long_divide(units: i256, divisor: i256, shift: u8) -> Option<i256> {
    let ten = i256::from(10);
    let mut quotient = units.wrapping_div(divisor);
    let mut rest = units.wrapping_rem(divisor);
    for _ in 0..shift {
        rest = rest.checked_mul(ten)?;
        quotient = quotient.checked_mul(ten)?.checked_add(rest.wrapping_div(divisor))?;
        rest = rest.wrapping_rem(divisor);
    }
    Some(quotient)
}

/// Digits after the point that MySQL's quotient carries within an expression. They are more than
/// the result type shows: `1/3*3` is 1.0000, not 0.9999.
pub(crate) fn quotient_scale(scale1: u8, scale2: u8, increment: u8) -> u8 {
    let up = |digits: u32| digits.div_ceil(WORD_DIGITS) * WORD_DIGITS;
    let (f1, f2) = (u32::from(scale1), u32::from(scale2));
    let (r1, r2) = (up(f1), up(f2));
    let increment = u32::from(increment).saturating_sub((r1 - f1) + (r2 - f2));
    u8::try_from(up(r1 + r2 + increment).min(72)).unwrap_or(72)
}

/// Rounds half to even the way MySQL rounds doubles to integers (`rint`).
pub(crate) fn rint(value: f64) -> f64 {
    value.round_ties_even()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dec(text: &str) -> Decimal {
        Decimal::parse_plain(text).unwrap()
    }

    /// Each step of `-7.10 / 3 / 7 / 11 / 13 / 17` as MySQL 9.7 gives it: 18 digits are two whole
    /// words, so the fourth quotient is cut.
    #[test]
    fn quotients_are_cut_at_whole_words_and_rounded_elsewhere() {
        let mut value = Decimal { units: i256::from(-710), scale: 2 };
        for (divisor, units) in [
            (3, -2_366_667_i128),
            (7, -3_380_952_857),
            (11, -3_073_593_506_364),
            (13, -2_364_302_697_203_076),
            (17, -1_390_766_292_472_397_647),
        ] {
            let scale = value.scale + 4;
            value = value.divide_rounded(Decimal::from_i128(divisor), scale, 4).expect("it fits");
            assert_eq!(value, Decimal { units: i256::from_i128(units), scale });
        }
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        assert_eq!(dec("1.25").rescale(1).unwrap().to_text(), "1.3");
        assert_eq!(dec("-1.25").rescale(1).unwrap().to_text(), "-1.3");
        assert_eq!(dec("-1.24").rescale(1).unwrap().to_text(), "-1.2");
        assert_eq!(dec("0.5").rescale(0).unwrap().to_text(), "1");
    }

    #[test]
    fn quotients_carry_whole_words() {
        assert_eq!(quotient_scale(0, 0, 4), 9);
        assert_eq!(quotient_scale(1, 2, 4), 18);
        assert_eq!(dec("1").divide(dec("3"), 9).unwrap().to_text(), "0.333333333");
        let wide = dec(&"9".repeat(60)).divide(dec("0.000000000000000000000000000003"), 9);
        assert!(wide.is_none() || wide.unwrap().units > i256::ZERO);
    }

    proptest! {
        #[test]
        fn nothing_panics(a: i128, b: i128, s1 in 0_u8..=30, s2 in 0_u8..=30, s in 0_u8..=72) {
            let a = Decimal { units: i256::from_i128(a), scale: s1 };
            let b = Decimal { units: i256::from_i128(b), scale: s2 };
            let _ = (a.add(b), a.multiply(b, s), a.compare(b), a.rescale(s), a.to_f64());
            if !b.is_zero() {
                let _ = (a.divide(b, s), a.remainder(b), a.divide_rounded(b, s, 4));
            }
        }
    }
}
