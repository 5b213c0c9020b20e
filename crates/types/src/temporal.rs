//! Dates and times as integers that keep MySQL's order and hold everything that MySQL holds:
//! zero dates, zero months and days, fractions, and times beyond 24 hours.
//!
//! A DATE, DATETIME or TIMESTAMP is packed as
//! `((((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second) << 24) | micros`,
//! the layout that MySQL itself uses in memory, so packed values compare like the dates. A DATE is
//! packed with a time of zero. A TIME is a signed count of microseconds.

use std::fmt::Write as _;

/// The largest TIME, 838:59:59, in microseconds.
pub const TIME_MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;

/// Days from 1 January of the Gregorian year 0 to that of 1970.
const DAYS_TO_1970: i64 = 719_528;

/// The parts of a date with time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DateTime {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12; 0 in a zero date.
    pub month: u8,
    /// 0 to 31; 0 in a zero date.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

impl DateTime {
    /// A date at midnight.
    pub const fn date(year: u16, month: u8, day: u8) -> Self {
        Self { year, month, day, hour: 0, minute: 0, second: 0, micros: 0 }
    }

    /// Packs it into an integer of the same order.
    pub fn pack(self) -> i64 {
        let ym = i64::from(self.year) * 13 + i64::from(self.month);
        let ymd = ym << 5 | i64::from(self.day);
        let hms = i64::from(self.hour) << 12 | i64::from(self.minute) << 6 | i64::from(self.second);
        (ymd << 17 | hms) << 24 | i64::from(self.micros)
    }

    /// Unpacks the value of [`Self::pack`]. Any integer gives some value; none panics.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "every part is masked to its width first"
    )]
    pub fn unpack(packed: i64) -> Self {
        let packed = packed & i64::MAX;
        let micros = (packed & 0xFF_FFFF) as u32;
        let hms = (packed >> 24) & 0x1_FFFF;
        let ymd = packed >> 41;
        let ym = ymd >> 5;
        Self {
            year: (ym / 13) as u16,
            month: (ym % 13) as u8,
            day: (ymd & 31) as u8,
            hour: (hms >> 12) as u8,
            minute: ((hms >> 6) & 63) as u8,
            second: (hms & 63) as u8,
            micros,
        }
    }

    /// Whether the calendar has it: no zero parts, and no 30 February.
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day)
    }

    /// The same day at midnight.
    #[must_use]
    pub fn midnight(self) -> Self {
        Self::date(self.year, self.month, self.day)
    }

    /// Days since year 0 as MySQL's `TO_DAYS` counts them: Gregorian throughout, but for year 0,
    /// which has no 29 February.
    /// Source: Howard Hinnant, "chrono-compatible low-level date algorithms".
    pub fn day_number(self) -> i64 {
        let (year, month, day) = (i64::from(self.year), i64::from(self.month), i64::from(self.day));
        let is_before_leap_day = year == 0 && month <= 2;
        days_from_civil(year, month, day) + DAYS_TO_1970 + i64::from(is_before_leap_day)
    }

    /// The date of a day number; `None` outside years 0 to 9999.
    pub fn from_day_number(days: i64) -> Option<Self> {
        /// 1 March of year 0.
        const AFTER_LEAP_DAY: i64 = 60;
        let days = match days {
            ..1 => return None,
            1..AFTER_LEAP_DAY => days - 1,
            _ => days,
        };
        let (year, month, day) = civil_from_days(days - DAYS_TO_1970);
        let year = u16::try_from(year).ok().filter(|year| *year <= 9999)?;
        Some(Self::date(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?))
    }

    /// Microseconds since midnight.
    pub fn time_micros(self) -> i64 {
        ((i64::from(self.hour) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second))
            * 1_000_000
            + i64::from(self.micros)
    }

    /// This date moved by microseconds; `None` outside years 0 to 9999.
    pub fn plus_micros(self, micros: i64) -> Option<Self> {
        const DAY: i64 = 86_400_000_000;
        let total = self.time_micros().checked_add(micros)?;
        let date = Self::from_day_number(self.day_number() + total.div_euclid(DAY))?;
        let rest = total.rem_euclid(DAY);
        Some(date.at_time_micros(rest))
    }

    /// This day at a time given in microseconds since midnight (below 24 hours).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the caller gives a time of day"
    )]
    #[must_use]
    pub fn at_time_micros(self, micros: i64) -> Self {
        let seconds = micros / 1_000_000;
        Self {
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (micros % 1_000_000) as u32,
            ..self
        }
    }
}

/// Days of a month; 0 for a month that does not exist.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Whether the year has 366 days: as the Gregorian calendar has it, but for year 0, which is none to
/// MySQL.
pub fn is_leap_year(year: u16) -> bool {
    let gregorian =
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    gregorian && year != 0
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days - era * 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Writes `YYYY-MM-DD`.
pub fn write_date(out: &mut String, date: DateTime) {
    // A `String` accepts every write.
    write!(out, "{:04}-{:02}-{:02}", date.year, date.month, date.day).ok();
}

/// Writes `YYYY-MM-DD HH:MM:SS[.ffffff]` with `decimals` digits of fraction.
pub fn write_datetime(out: &mut String, value: DateTime, decimals: u8) {
    write_date(out, value);
    write!(out, " {:02}:{:02}:{:02}", value.hour, value.minute, value.second).ok();
    write_fraction(out, value.micros, decimals);
}

/// Writes `[-]HH:MM:SS[.ffffff]` with `decimals` digits of fraction; hours take as many digits as
/// they need.
pub fn write_time(out: &mut String, micros: i64, decimals: u8) {
    if micros < 0 {
        out.push('-');
    }
    let total = micros.unsigned_abs();
    let seconds = total / 1_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60).ok();
    write_fraction(out, u32::try_from(total % 1_000_000).unwrap_or(0), decimals);
}

fn write_fraction(out: &mut String, micros: u32, decimals: u8) {
    if (1..=6).contains(&decimals) {
        let digits = micros / 10_u32.pow(6 - u32::from(decimals));
        write!(out, ".{digits:0width$}", width = usize::from(decimals)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn day_numbers_are_those_of_to_days() {
        assert_eq!(DateTime::date(1970, 1, 1).day_number(), 719_528);
        assert_eq!(DateTime::date(2000, 2, 29).day_number(), 730_544);
        assert_eq!(DateTime::from_day_number(730_544), Some(DateTime::date(2000, 2, 29)));
        assert_eq!(DateTime::from_day_number(99_999_999), None);
    }

    /// As MySQL 9.7 says.
    #[test]
    fn year_0_has_no_leap_day() {
        const HOUR: i64 = 3_600_000_000;
        let date = |month, day| DateTime::date(0, month, day);
        assert_eq!(date(1, 1).day_number(), 1);
        assert_eq!(date(2, 28).day_number() + 1, date(3, 1).day_number());
        assert_eq!(date(12, 31).day_number() + 1, DateTime::date(1, 1, 1).day_number());
        assert_eq!(DateTime::date(1, 1, 1).day_number(), 366);
        assert_eq!(DateTime::from_day_number(0), None);
        for days in 1..=800 {
            let date = DateTime::from_day_number(days).expect("a date");
            assert!(date.is_valid(), "{date:?}");
            assert_eq!(date.day_number(), days);
        }
        let late = date(2, 28).at_time_micros(23 * HOUR);
        assert_eq!(late.plus_micros(2 * HOUR), Some(date(3, 1).at_time_micros(HOUR)));
        assert_eq!(date(3, 1).plus_micros(-HOUR), Some(late));
        assert_eq!(date(1, 1).plus_micros(-HOUR), None);
    }

    #[test]
    fn leap_years() {
        let leap = [4, 1996, 2000, 2024, 9996];
        let common = [0, 1, 100, 1900, 2023, 2100];
        assert!(leap.into_iter().all(is_leap_year) && !common.into_iter().any(is_leap_year));
        assert!(!DateTime::date(0, 2, 29).is_valid());
    }

    #[test]
    fn texts_are_those_of_mysql() {
        let mut out = String::new();
        write_time(&mut out, -TIME_MAX_MICROS, 2);
        assert_eq!(out, "-838:59:59.00");
        out.clear();
        write_datetime(&mut out, DateTime { micros: 120_000, ..DateTime::date(2024, 0, 0) }, 3);
        assert_eq!(out, "2024-00-00 00:00:00.120");
    }

    proptest! {
        #[test]
        fn packing_keeps_value_and_order(
            a in any::<(u16, u8, u8, u8, u8, u8, u32)>(),
            b in any::<(u16, u8, u8, u8, u8, u8, u32)>(),
        ) {
            let make = |(y, mo, d, h, mi, s, us): (u16, u8, u8, u8, u8, u8, u32)| DateTime {
                year: y % 10_000, month: mo % 13, day: d % 32, hour: h % 24, minute: mi % 60,
                second: s % 60, micros: us % 1_000_000,
            };
            let (a, b) = (make(a), make(b));
            prop_assert_eq!(DateTime::unpack(a.pack()), a);
            let parts = |t: DateTime| (t.year, t.month, t.day, t.hour, t.minute, t.second, t.micros);
            prop_assert_eq!(a.pack().cmp(&b.pack()), parts(a).cmp(&parts(b)));
        }

        #[test]
        fn any_integer_unpacks(packed: i64) {
            let mut out = String::new();
            write_datetime(&mut out, DateTime::unpack(packed), 6);
        }
    }
}
