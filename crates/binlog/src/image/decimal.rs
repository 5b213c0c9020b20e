//! DECIMAL as MySQL stores it: groups of nine digits in four bytes each, the highest byte first, from
//! the point outwards; what is left over at both ends takes as few bytes as it needs. The highest
//! bit of the first byte is inverted, and in negative numbers every bit is. Source: MySQL's
//! `strings/decimal.cc` (`decimal2bin`).

use arrow::datatypes::i256;
use pelorus_error::Result;

use crate::reader::{Reader, malformed};

/// Bytes of up to nine digits.
const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
const POWERS: [u32; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

fn parts(precision: u8, scale: u8) -> [(usize, usize); 2] {
    let split = |digits: u8| (usize::from(digits / 9), usize::from(digits % 9));
    [split(precision.saturating_sub(scale)), split(scale)]
}

/// Bytes of a DECIMAL(precision, scale).
pub(super) fn size(precision: u8, scale: u8) -> usize {
    parts(precision, scale).iter().map(|(groups, rest)| groups * 4 + BYTES[*rest]).sum()
}

/// A number that digits are added to.
trait Accumulate: Copy {
    const ZERO: Self;
    fn add(self, power: u32, digits: u32) -> Self;
}

impl Accumulate for i64 {
    const ZERO: Self = 0;
    fn add(self, power: u32, digits: u32) -> Self {
        self * Self::from(power) + Self::from(digits)
    }
}

impl Accumulate for i128 {
    const ZERO: Self = 0;
    fn add(self, power: u32, digits: u32) -> Self {
        self * Self::from(power) + Self::from(digits)
    }
}

impl Accumulate for i256 {
    const ZERO: Self = i256::ZERO;
    fn add(self, power: u32, digits: u32) -> Self {
        self.wrapping_mul(i256::from_i128(i128::from(power)))
            .wrapping_add(i256::from_i128(i128::from(digits)))
    }
}

/// Reads a number of at most 38 digits as units of `10^-scale`.
pub(super) fn read128(bytes: &[u8], precision: u8, scale: u8) -> Result<i128> {
    if precision <= 18 {
        let (value, negative) = read::<i64>(bytes, precision, scale)?;
        return Ok(i128::from(if negative { -value } else { value }));
    }
    let (value, negative) = read::<i128>(bytes, precision.min(38), scale)?;
    Ok(if negative { -value } else { value })
}

/// Reads a number of at most 65 digits as units of `10^-scale`.
pub(super) fn read256(bytes: &[u8], precision: u8, scale: u8) -> Result<i256> {
    let (value, negative) = read::<i256>(bytes, precision, scale)?;
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// Reads a DECIMAL inside a JSON document: precision and scale come first. Returns units and scale.
pub(crate) fn opaque(bytes: &[u8]) -> Result<(i256, u8)> {
    match *bytes {
        [precision, scale, ref rest @ ..] if precision <= 65 && scale <= precision.min(38) => {
            Ok((read256(rest, precision, scale)?, scale))
        }
        _ => Err(malformed("no decimal")),
    }
}

/// The magnitude, and whether it is negative.
#[inline]
fn read<T: Accumulate>(bytes: &[u8], precision: u8, scale: u8) -> Result<(T, bool)> {
    let mut reader = Reader::new(bytes);
    let negative = bytes.first().is_some_and(|first| first & 0x80 == 0);
    let invert = if negative { u32::MAX } else { 0 };
    let mut first = true;
    let mut group = |reader: &mut Reader<'_>, digits: usize| -> Result<u32> {
        let width = BYTES[digits];
        let mut raw = 0_u32;
        for byte in reader.bytes(width)? {
            raw = raw << 8 | u32::from(*byte);
        }
        if std::mem::take(&mut first) {
            raw ^= 0x80 << (8 * (width - 1));
        }
        raw ^= invert >> (32 - 8 * width);
        if raw < POWERS[digits] { Ok(raw) } else { Err(malformed("no decimal")) }
    };
    let mut value = T::ZERO;
    let [(whole, whole_rest), (fraction, fraction_rest)] = parts(precision, scale);
    if whole_rest > 0 {
        value = value.add(POWERS[whole_rest], group(&mut reader, whole_rest)?);
    }
    for _ in 0..whole + fraction {
        value = value.add(POWERS[9], group(&mut reader, 9)?);
    }
    if fraction_rest > 0 {
        value = value.add(POWERS[fraction_rest], group(&mut reader, fraction_rest)?);
    }
    Ok((value, negative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_servers_source() {
        // 1234567890.1234 as DECIMAL(14,4), and its negation.
        let positive = [0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2];
        let negative = positive.map(|byte: u8| !byte);
        assert_eq!(size(14, 4), 7);
        assert_eq!(read128(&positive, 14, 4).unwrap(), 12_345_678_901_234);
        assert_eq!(read128(&negative, 14, 4).unwrap(), -12_345_678_901_234);
        assert_eq!(read256(&negative, 14, 4).unwrap(), i256::from_i128(-12_345_678_901_234));
        assert_eq!(read128(&[0x80, 0xFF], 3, 0).unwrap(), 255);
        assert_eq!(read128(&[0x8F, 0xFF], 3, 0).unwrap_err().errno(), 1835);
        assert_eq!(read128(&[], 3, 0).unwrap_err().errno(), 1835);
        assert_eq!(read128(&[], 0, 0).unwrap(), 0);
    }
}
