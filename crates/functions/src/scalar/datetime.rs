//! Functions of dates and times.

pub(crate) mod clock;
pub(crate) mod difference;
pub(crate) mod format;
pub(crate) mod interval;
pub(crate) mod make;
pub(crate) mod number;
pub(crate) mod parse;
pub(crate) mod part;
pub(crate) mod read;
pub(crate) mod scan;
pub(crate) mod week;

/// Names of the days, Monday first.
pub(crate) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Names of the months.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
