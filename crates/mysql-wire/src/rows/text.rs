//! Values of the text protocol: parses numbers, dates and times.

use pelorus_types::temporal::DateTime;

/// Reads a signed integer; leading zeros of ZEROFILL are fine.
pub(super) fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let magnitude = parse_u64(digits)?;
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Reads an unsigned integer.
pub(super) fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Reads a floating point number.
pub(super) fn parse_float<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads `YYYY-MM-DD[ HH:MM:SS[.ffffff]]` into its packed form.
pub(super) fn parse_datetime(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let mut value = DateTime::date(
        u16::try_from(parse_u64(&date[..4])?).ok()?,
        part(&date[5..7], 12)?,
        part(&date[8..], 31)?,
    );
    if !rest.is_empty() {
        let (time, fraction) = rest.split_at_checked(9)?;
        if !matches!(time[0], b' ' | b'T') || time[3] != b':' || time[6] != b':' {
            return None;
        }
        value.hour = part(&time[1..3], 23)?;
        value.minute = part(&time[4..6], 59)?;
        value.second = part(&time[7..], 59)?;
        value.micros = parse_fraction(fraction)?;
    }
    Some(value.pack())
}

/// Reads `[-]HHH:MM:SS[.ffffff]` as microseconds.
pub(super) fn parse_time(text: &[u8]) -> Option<i64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (hours, rest) = text.split_at(colon);
    let hours = i64::try_from(parse_u64(hours)?).ok().filter(|hours| *hours < 10_000)?;
    let (rest, fraction) = rest.split_at_checked(6)?;
    if rest[3] != b':' {
        return None;
    }
    let minutes = i64::from(part(&rest[1..3], 59)?);
    let seconds = i64::from(part(&rest[4..], 59)?);
    let total =
        ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + i64::from(parse_fraction(fraction)?);
    Some(if negative { -total } else { total })
}

fn part(text: &[u8], max: u8) -> Option<u8> {
    u8::try_from(parse_u64(text)?).ok().filter(|value| *value <= max)
}

/// Reads nothing or `.f` to `.ffffff` as microseconds.
fn parse_fraction(text: &[u8]) -> Option<u32> {
    match text {
        [] => Some(0),
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            let value = u32::try_from(parse_u64(digits)?).ok()?;
            Some(value * 10_u32.pow(6 - u32::try_from(digits.len()).ok()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_at_their_types_limits() {
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_i64(b"9223372036854775808"), None);
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
        assert_eq!(parse_i64(b"00042"), Some(42));
        assert_eq!((parse_i64(b""), parse_i64(b"-"), parse_i64(b"1 ")), (None, None, None));
    }

    #[test]
    fn zero_and_partial_dates_are_read() {
        assert_eq!(parse_datetime(b"0000-00-00"), Some(0));
        assert_eq!(parse_datetime(b"2024-00-00"), Some(DateTime::date(2024, 0, 0).pack()));
        let late = DateTime {
            hour: 23,
            minute: 59,
            second: 58,
            micros: 120_000,
            ..DateTime::date(9999, 12, 31)
        };
        assert_eq!(parse_datetime(b"9999-12-31 23:59:58.12"), Some(late.pack()));
        for rubbish in ["2024-13-01", "2024-1-1", "2024-01-01 24:00:00", "2024-01-01 00:00:00."] {
            assert_eq!(parse_datetime(rubbish.as_bytes()), None, "{rubbish}");
        }
    }

    #[test]
    fn times_beyond_a_day_and_below_zero_are_read() {
        assert_eq!(parse_time(b"-838:59:59.000001"), Some(-3_020_399_000_001));
        assert_eq!(parse_time(b"00:00:00.5"), Some(500_000));
        assert_eq!((parse_time(b"1:2:3"), parse_time(b"00:60:00")), (None, None));
    }
}
