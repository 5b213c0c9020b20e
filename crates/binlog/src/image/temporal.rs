//! Dates and times in the form that the servers store. Sources: MySQL's `my_time.cc`
//! (`my_datetime_packed_to_binary` and similar functions), MariaDB's `compat56.cc`.

use pelorus_error::Result;
use pelorus_types::temporal::DateTime;

use crate::reader::{Reader, malformed};

/// Day number of 1 January 1970.
const EPOCH: i64 = 719_528;

/// A fraction of (digits + 1) / 2 bytes, the highest first, in microseconds.
fn fraction(reader: &mut Reader<'_>, bytes: usize) -> Result<u32> {
    let value = reader.uint_be(bytes)?;
    let unit = [1_000_000, 10_000, 100, 1][bytes.min(3)];
    let micros = value * unit;
    if micros <= 999_999 {
        u32::try_from(micros).map_err(|_| malformed("no fraction"))
    } else {
        Err(malformed("no fraction"))
    }
}

fn checked(value: DateTime) -> Result<i64> {
    let in_range = value.year <= 9999
        && value.month <= 12
        && value.hour <= 23
        && value.minute <= 59
        && value.second <= 59
        && value.micros <= 999_999;
    if in_range { Ok(value.pack()) } else { Err(malformed("no date")) }
}

/// DATE: day (5 bits), month (4), year (15), the lowest byte first.
pub(super) fn date(bytes: &[u8]) -> Result<i64> {
    let value = Reader::new(bytes).u24()?;
    let part = |shift: u32, mask: u32| u8::try_from(value >> shift & mask).unwrap_or(u8::MAX);
    let year = u16::try_from(value >> 9).unwrap_or(u16::MAX);
    checked(DateTime::date(year, part(5, 15), part(0, 31)))
}

/// DATETIME: the upper 40 bits of [`DateTime::pack`] and a sign, the highest byte first, and the
/// fraction.
pub(super) fn datetime(bytes: &[u8]) -> Result<i64> {
    const SIGN: u64 = 1 << 39;
    let mut reader = Reader::new(bytes);
    let whole = reader.uint_be(5)?.checked_sub(SIGN).ok_or_else(|| malformed("no date"))?;
    let bytes = reader.remaining();
    let micros = fraction(&mut reader, bytes)?;
    let whole = i64::try_from(whole << 24).map_err(|_| malformed("no date"))?;
    checked(DateTime { micros, ..DateTime::unpack(whole) })
}

/// DATETIME before MySQL 5.6: the number YYYYMMDDhhmmss, the lowest byte first.
pub(super) fn datetime_old(bytes: &[u8]) -> Result<i64> {
    let value = Reader::new(bytes).u64()?;
    let part = |unit: u64| u8::try_from(value / unit % 100).unwrap_or(u8::MAX);
    let value = DateTime {
        year: u16::try_from(value / 10_000_000_000).map_err(|_| malformed("no date"))?,
        month: part(100_000_000),
        day: part(1_000_000),
        hour: part(10_000),
        minute: part(100),
        second: part(1),
        micros: 0,
    };
    if value.day > 31 { Err(malformed("no date")) } else { checked(value) }
}

/// TIMESTAMP: seconds since 1970 UTC, the highest byte first, and the fraction. Zero is the zero
/// date.
pub(super) fn timestamp(bytes: &[u8]) -> Result<i64> {
    let mut reader = Reader::new(bytes);
    let seconds = i64::from(u32::from_be_bytes(reader.array()?));
    let bytes = reader.remaining();
    let micros = fraction(&mut reader, bytes)?;
    if seconds == 0 && micros == 0 {
        return Ok(0);
    }
    let date =
        DateTime::from_day_number(EPOCH + seconds / 86_400).ok_or_else(|| malformed("no date"))?;
    Ok(date.at_time_micros(seconds % 86_400 * 1_000_000 + i64::from(micros)).pack())
}

/// TIME: a sign, hours (10 bits), minutes (6), seconds (6) and the fraction as one number with a
/// constant added, the highest byte first.
pub(super) fn time(bytes: &[u8], digits: u8) -> Result<i64> {
    let fraction_bytes = u32::from(digits.div_ceil(2));
    let all = i64::try_from(Reader::new(bytes).uint_be(bytes.len())?)
        .map_err(|_| malformed("no time"))?;
    // The constant is the sign bit of the whole part; taken off, negative times are negative.
    let value = all - (0x80_0000 << (8 * fraction_bytes));
    let magnitude = value.unsigned_abs();
    let whole = magnitude >> (8 * fraction_bytes);
    let unit = [1_000_000, 10_000, 100, 1][usize::try_from(fraction_bytes).unwrap_or(3)];
    let micros = (magnitude & ((1 << (8 * fraction_bytes)) - 1)) * unit;
    let (hours, minutes, seconds) = (whole >> 12 & 0x3FF, whole >> 6 & 63, whole & 63);
    hms(hours, minutes, seconds, micros, value < 0)
}

/// TIME before MySQL 5.6: the number hhmmss, negative in two's complement, the lowest byte first.
pub(super) fn time_old(bytes: &[u8]) -> Result<i64> {
    let raw = i64::from(Reader::new(bytes).u24()?);
    let value = if raw & 0x80_0000 != 0 { raw - 0x100_0000 } else { raw };
    let magnitude = value.unsigned_abs();
    hms(magnitude / 10_000, magnitude / 100 % 100, magnitude % 100, 0, value < 0)
}

/// TIME inside a JSON document: packed with 24 bits of fraction and a sign.
pub(crate) fn packed_time(packed: i64) -> Result<i64> {
    let magnitude = packed.unsigned_abs();
    let whole = magnitude >> 24;
    hms(whole >> 12 & 0x3FF, whole >> 6 & 63, whole & 63, magnitude & 0xFF_FFFF, packed < 0)
}

fn hms(hours: u64, minutes: u64, seconds: u64, micros: u64, negative: bool) -> Result<i64> {
    if hours > 838 || minutes > 59 || seconds > 59 || micros > 999_999 {
        return Err(malformed("no time"));
    }
    let total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros;
    let total = i64::try_from(total).map_err(|_| malformed("no time"))?;
    Ok(if negative { -total } else { total })
}
