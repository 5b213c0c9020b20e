//! Dates and times as the numbers that MySQL makes of them: `20240131`, `20240131235959.5`.

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
