//! Numbers of weeks and of days of the week.

use pelorus_types::temporal::{DateTime, is_leap_year};

/// Weeks begin on Monday.
pub(crate) const MONDAY_FIRST: u8 = 1;
/// Weeks are numbered within the year they belong to: no week 0.
pub(crate) const OF_YEAR: u8 = 2;
/// The first week is the one with the year's first Monday (or Sunday) in it.
pub(crate) const FIRST_WEEKDAY: u8 = 4;

/// Days since year 0. Zero parts count as the month and the day before the first.
pub(crate) fn day_number(date: DateTime) -> i64 {
    let (mut year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    if year == 0 && month == 0 {
        return 0;
    }
    let mut days = 365 * year + 31 * (month - 1) + day;
    if month <= 2 {
        year -= 1;
    } else {
        days -= (month * 4 + 23) / 10;
    }
    let centuries = ((year / 100 + 1) * 3) / 4;
    days + year / 4 - centuries
}

/// 0 is Monday, or Sunday where weeks begin with it.
pub(crate) fn weekday(day_number: i64, sunday_first: bool) -> i64 {
    (day_number + 5 + i64::from(sunday_first)).rem_euclid(7)
}

/// The mode of `WEEK()` as the flags of [`week`].
pub(crate) fn mode_flags(mode: i64) -> u8 {
    let mode = u8::try_from(mode & 7).unwrap_or(0);
    if mode & MONDAY_FIRST == 0 { mode ^ FIRST_WEEKDAY } else { mode }
}

fn days_in_year(year: i64) -> i64 {
    u16::try_from(year).map_or(365, |year| 365 + i64::from(is_leap_year(year)))
}

/// The number of a date's week, and the year that the week belongs to.
pub(crate) fn week(date: DateTime, flags: u8) -> (i64, i64) {
    let monday_first = flags & MONDAY_FIRST != 0;
    let first_weekday = flags & FIRST_WEEKDAY != 0;
    let mut of_year = flags & OF_YEAR != 0;
    let today = day_number(date);
    let mut first = day_number(DateTime::date(date.year, 1, 1));
    let mut weekday = weekday(first, !monday_first);
    let mut year = i64::from(date.year);
    let belongs_before = |weekday: i64| {
        if first_weekday { weekday != 0 } else { weekday >= 4 }
    };
    if date.month == 1 && i64::from(date.day) <= 7 - weekday {
        if !of_year && belongs_before(weekday) {
            return (0, year);
        }
        of_year = true;
        year -= 1;
        let days = days_in_year(year);
        first -= days;
        weekday = (weekday + 53 * 7 - days).rem_euclid(7);
    }
    let days = if belongs_before(weekday) {
        today - (first + (7 - weekday))
    } else {
        today - (first - weekday)
    };
    if of_year && days >= 52 * 7 {
        weekday = (weekday + days_in_year(year)).rem_euclid(7);
        if !belongs_before(weekday) {
            return (1, year + 1);
        }
    }
    (days / 7 + 1, year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_at_the_turn_of_years() {
        let date = DateTime::date(2023, 12, 31);
        let weeks: Vec<i64> = (0..8).map(|mode| week(date, mode_flags(mode)).0).collect();
        assert_eq!(weeks, [53, 52, 53, 52, 53, 52, 1, 52]);
        let date = DateTime::date(2000, 1, 1);
        let weeks: Vec<i64> = (0..8).map(|mode| week(date, mode_flags(mode)).0).collect();
        assert_eq!(weeks, [0, 0, 52, 52, 0, 0, 52, 52]);
    }

    #[test]
    fn day_numbers() {
        for (y, m, d) in [
            (1970, 1, 1),
            (2000, 2, 29),
            (2024, 12, 31),
            (1, 1, 1),
            (9999, 12, 31),
            (0, 1, 1),
            (0, 3, 1),
        ] {
            let date = DateTime::date(y, m, d);
            assert_eq!(day_number(date), date.day_number());
        }
    }
}
