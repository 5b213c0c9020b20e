//! Dates and times as numbers, in MySQL's form: `20240131`, `20240131235959.5`.

use arrow::datatypes::i256;
use pelorus_types::WireType;
use pelorus_types::temporal::DateTime;

use crate::decimal::Decimal;

/// `YYYYMMDD` of a DATE, `YYYYMMDDhhmmss[.ffffff]` of the others.
pub(crate) fn datetime_number(wire: WireType, packed: i64, decimals: u8) -> Decimal {
    let t = DateTime::unpack(packed);
    let date = (i128::from(t.year) * 100 + i128::from(t.month)) * 100 + i128::from(t.day);
    if wire == WireType::Date {
        return Decimal::from_i128(date);
    }
    let time = (i128::from(t.hour) * 100 + i128::from(t.minute)) * 100 + i128::from(t.second);
    with_fraction(date * 1_000_000 + time, t.micros, decimals)
}

/// The same in whole seconds, rounded: half a second makes the next one, of the next minute where
/// need be.
pub(crate) fn datetime_integer(wire: WireType, packed: i64, decimals: u8) -> i128 {
    /// What rounds up.
    const HALF: u32 = 500_000;
    let t = DateTime::unpack(packed);
    let up = wire != WireType::Date && (1..=6).contains(&decimals) && t.micros >= HALF;
    let carried = if up && t.second == 59 && t.is_valid() {
        t.plus_micros(i64::from(1_000_000 - t.micros))
    } else {
        None
    };
    let plus = i128::from(up && carried.is_none());
    let whole = datetime_number(wire, carried.unwrap_or(t).pack(), 0);
    whole.units.to_i128().unwrap_or(0) + plus
}

/// `hhhmmss` of a TIME, rounded in the same way.
pub(crate) fn time_integer(micros: i64, decimals: u8) -> i128 {
    const SECOND: i64 = 1_000_000;
    let half = if (1..=6).contains(&decimals) { SECOND / 2 } else { 0 };
    let rounded = (micros + micros.signum() * half) / SECOND * SECOND;
    time_number(rounded, 0).units.to_i128().unwrap_or(0)
}

/// `hhhmmss[.ffffff]` of a TIME, signed.
pub(crate) fn time_number(micros: i64, decimals: u8) -> Decimal {
    let total = micros.unsigned_abs();
    let seconds = i128::from(total / 1_000_000);
    let whole = (seconds / 3600 * 100 + seconds / 60 % 60) * 100 + seconds % 60;
    let fraction = u32::try_from(total % 1_000_000).unwrap_or(0);
    let number = with_fraction(whole, fraction, decimals);
    if micros < 0 { number.negate() } else { number }
}

fn with_fraction(whole: i128, micros: u32, decimals: u8) -> Decimal {
    if decimals == 0 || decimals > 6 {
        return Decimal::from_i128(whole);
    }
    let units = whole * 10_i128.pow(u32::from(decimals))
        + i128::from(micros / 10_u32.pow(6 - u32::from(decimals)));
    Decimal { units: i256::from_i128(units), scale: decimals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_half_second_of_a_minute_carries() {
        let at = |hour, minute, second, micros| {
            DateTime { hour, minute, second, micros, ..DateTime::date(2020, 12, 31) }.pack()
        };
        let number = |packed, decimals| datetime_integer(WireType::DateTime, packed, decimals);
        assert_eq!(number(at(23, 59, 59, 600_000), 1), 20_210_101_000_000);
        assert_eq!(number(at(10, 59, 59, 500_000), 6), 20_201_231_110_000);
        assert_eq!(number(at(10, 11, 12, 600_000), 1), 20_201_231_101_113);
        assert_eq!(number(at(10, 59, 59, 400_000), 1), 20_201_231_105_959);
        assert_eq!(time_integer(3_599_600_000, 1), 10_000);
        assert_eq!(time_integer(-3_599_500_000, 1), -10_000);
        assert_eq!(time_integer(59_400_000, 1), 59);
    }
}
