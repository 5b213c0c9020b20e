//! Functions of dates and times.

use pelorus_types::WireType;

use crate::registry::fallibility;
use crate::registry::function::{Function, Places, Stored, Volatility, function};
use crate::registry::mariadb::{
    self, DATES, Kind, all, first, is_moved, is_whole, is_whole_time, kind,
};
use crate::scalar::datetime::{clock, difference, format, interval, make, part as date_part, scan};
use crate::short_circuit::Flow;

/// The rows.
pub(super) static ROWS: &[Function] = &[
    function(&["YEAR"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES))
        .infallible(fallibility::of_dates)
        .says("YEAR(date)", "The year of the date, 0 to 9999; NULL if the date is not valid.")
        .gives("YEAR('2024-05-17')", "2024"),
    function(&["MONTH"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES))
        .infallible(fallibility::of_dates)
        .says(
            "MONTH(date)",
            "The month of the date, 1 to 12; 0 for a date without month such as 2024-00-00.",
        )
        .gives("MONTH('2024-05-17')", "5"),
    function(&["DAY"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES))
        .infallible(fallibility::of_dates)
        .says(
            "DAY(date)",
            "The day of the month, 1 to 31; 0 for a date without day such as 2024-05-00.",
        )
        .gives("DAY('2024-05-17')", "17"),
    function(&["DAYOFMONTH"], date_part::of_date)
        .partitions()
        .filters_dates()
        .mariadb(|args| first(args, &DATES))
        .infallible(fallibility::of_dates)
        .says("DAYOFMONTH(date)", "The day of the month, 1 to 31; the same as DAY.")
        .gives("DAYOFMONTH('2024-05-17')", "17"),
    function(&["QUARTER"], date_part::of_date)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES))
        .infallible(fallibility::of_dates)
        .says("QUARTER(date)", "The quarter of the date, 1 to 4; 0 for a date without month.")
        .gives("QUARTER('2024-05-17')", "2"),
    function(&["DAYOFYEAR"], date_part::of_date)
        .partitions()
        .filters_dates()
        .mariadb(|args| first(args, &DATES))
        .says(
            "DAYOFYEAR(date)",
            "The day of the year, 1 to 366; NULL if the date has no day or month.",
        )
        .gives("DAYOFYEAR('2024-03-01')", "61"),
    function(&["DAYOFWEEK"], date_part::of_date)
        .partitions()
        .filters_dates()
        .mariadb(|args| first(args, &DATES))
        .says("DAYOFWEEK(date)", "The day of the week, 1 for Sunday to 7 for Saturday.")
        .gives("DAYOFWEEK('2024-05-17')", "6"),
    function(&["WEEKDAY"], date_part::of_date)
        .partitions()
        .mariadb(|args| first(args, &DATES))
        .says("WEEKDAY(date)", "The day of the week, 0 for Monday to 6 for Sunday.")
        .gives("WEEKDAY('2024-05-17')", "4"),
    function(&["WEEKOFYEAR"], date_part::of_date)
        .partitions()
        .mariadb(|args| first(args, &DATES))
        .says(
            "WEEKOFYEAR(date)",
            "The number of the week by ISO 8601, 1 to 53; the same as WEEK with mode 3.",
        )
        .gives("WEEKOFYEAR('2024-12-30')", "1"),
    function(&["TO_DAYS"], date_part::of_date)
        .partitions()
        .mariadb(|args| first(args, &DATES))
        .says(
            "TO_DAYS(date)",
            "The number of days from the start of year 0 to the date; 0000-01-01 is day 1.",
        )
        .gives("TO_DAYS('2024-01-01')", "739251"),
    function(&["TO_SECONDS"], date_part::of_date)
        .partitions()
        .mariadb(|args| first(args, &DATES))
        .says(
            "TO_SECONDS(date)",
            "The number of seconds from the start of year 0 to the date and time.",
        )
        .gives("TO_SECONDS('2024-01-01 00:00:01')", "63871286401"),
    function(&["HOUR"], date_part::of_time)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text]))
        .says(
            "HOUR(time)",
            "The hour of the time: 0 to 23 for a time of day, up to 838 for a TIME value.",
        )
        .gives("HOUR('120:30:00')", "120"),
    function(&["MINUTE"], date_part::of_time)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text]))
        .says("MINUTE(time)", "The minute of the time, 0 to 59.")
        .gives("MINUTE('10:45:30')", "45"),
    function(&["SECOND"], date_part::of_time)
        .partitions()
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text]))
        .says("SECOND(time)", "The second of the time without its fraction, 0 to 59.")
        .gives("SECOND('10:45:30.9')", "30"),
    function(&["MICROSECOND"], date_part::of_time)
        .partitions()
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text]))
        .says("MICROSECOND(time)", "The fraction of the second in microseconds, 0 to 999999.")
        .gives("MICROSECOND('10:45:30.25')", "250000"),
    function(&["TIME_TO_SEC"], date_part::of_time)
        .partitions()
        .mariadb(|args| args.iter().all(|it| is_whole(it) || is_whole_time(it)))
        .says("TIME_TO_SEC(time)", "The time in whole seconds, negative for a negative time.")
        .gives("TIME_TO_SEC('01:01:01')", "3661"),
    function(&["WEEK"], date_part::week_of)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| first(args, &DATES))
        .says(
            "WEEK(date[, mode])",
            "The number of the week, 0 to 53; mode, default_week_format by default, decides \
             on which day weeks start and which week is the first.",
        )
        .gives("WEEK('2024-01-01', 3)", "1"),
    function(&["YEARWEEK"], date_part::week_of)
        .partitions()
        .numbers(Places::At(&[1]))
        .mariadb(|args| first(args, &DATES))
        .says(
            "YEARWEEK(date[, mode])",
            "The year and week as the number YYYYWW, with WEEK's modes, 0 by default; the \
             year can differ from the date's around New Year.",
        )
        .gives("YEARWEEK('2024-12-30', 3)", "202501"),
    function(&["DAYNAME"], date_part::name_of)
        .mariadb(|args| first(args, &DATES))
        .says("DAYNAME(date)", "The name of the day of the week, in the language of lc_time_names.")
        .gives("DAYNAME('2024-05-17')", "Friday"),
    function(&["MONTHNAME"], date_part::name_of)
        .mariadb(|args| first(args, &DATES))
        .says("MONTHNAME(date)", "The name of the month, in the language of lc_time_names.")
        .gives("MONTHNAME('2024-05-17')", "May"),
    function(&["EXTRACT"], date_part::extract)
        .partitions()
        .grammar()
        .mariadb(|args| args.get(1).is_none_or(|it| kind(it) == Kind::Date))
        .says(
            "EXTRACT(unit FROM date)",
            "The unit of the date or time as a number; units of two parts, such as \
             YEAR_MONTH, give the digits of both.",
        )
        .gives("EXTRACT(YEAR_MONTH FROM '2024-05-17')", "202405"),
    function(&["DATEDIFF"], difference::dates)
        .partitions()
        .mariadb(|args| all(args, &DATES))
        .says(
            "DATEDIFF(to, from)",
            "The number of days from the second date to the first; times of day do not count.",
        )
        .gives("DATEDIFF('2024-03-01', '2024-02-01')", "29"),
    function(&["TIMEDIFF"], difference::times)
        .mariadb(mariadb::never)
        .says(
            "TIMEDIFF(to, from)",
            "The time from the second value to the first as a TIME; NULL if one is a time \
             and the other a date and time.",
        )
        .gives("TIMEDIFF('10:00:00', '08:30:00')", "01:30:00"),
    function(&["TIMESTAMPDIFF"], difference::timestamps)
        .grammar()
        .keyword()
        .mariadb(|args| args.iter().skip(1).all(|it| DATES.contains(&kind(it))))
        .says(
            "TIMESTAMPDIFF(unit, from, to)",
            "The number of whole units from the first date to the second; negative if the \
             second is earlier.",
        )
        .gives("TIMESTAMPDIFF(MONTH, '2024-01-31', '2024-03-30')", "1"),
    function(&["PERIOD_ADD"], difference::periods)
        .numbers(Places::All)
        .says(
            "PERIOD_ADD(period, months)",
            "The month that is so many months after the period, as YYYYMM; periods are \
             months as YYMM or YYYYMM, and others are error 1210.",
        )
        .gives("PERIOD_ADD(202411, 3)", "202502"),
    function(&["PERIOD_DIFF"], difference::periods)
        .numbers(Places::All)
        .says(
            "PERIOD_DIFF(to, from)",
            "The number of months from the second period to the first, each a month as YYMM \
             or YYYYMM.",
        )
        .gives("PERIOD_DIFF(202502, 202411)", "3"),
    function(&["DATE"], make::date)
        .filters_dates()
        .grammar()
        .mariadb(|args| first(args, &DATES))
        .says(
            "DATE(value)",
            "The date part of a date and time; NULL if the value is not a valid date.",
        )
        .gives("DATE('2024-05-17 10:45:30')", "2024-05-17"),
    function(&["TIME"], make::time)
        .grammar()
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text]))
        .says("TIME(value)", "The time part of a date and time, or the value as a TIME.")
        .gives("TIME('2024-05-17 10:45:30')", "10:45:30"),
    function(&["TIMESTAMP"], make::timestamp)
        .grammar()
        .mariadb(|args| args.len() == 1 && all(args, &DATES))
        .says(
            "TIMESTAMP(date[, time])",
            "The date as a DATETIME, with the time added to it if there is one.",
        )
        .gives("TIMESTAMP('2024-05-17', '36:00:00')", "2024-05-18 12:00:00"),
    function(&["LAST_DAY"], make::last_day)
        .mariadb(|args| first(args, &DATES))
        .says(
            "LAST_DAY(date)",
            "The last day of the date's month as a DATE; NULL if the date is not valid.",
        )
        .gives("LAST_DAY('2024-02-10')", "2024-02-29"),
    function(&["MAKEDATE"], make::makedate)
        .numbers(Places::All)
        .says(
            "MAKEDATE(year, day)",
            "The date of the day of the year, counted from 1, which may lie in a later \
             year; NULL if day is less than 1.",
        )
        .gives("MAKEDATE(2024, 60)", "2024-02-29"),
    function(&["MAKETIME"], make::maketime)
        .flow(Flow::First)
        .numbers(Places::All)
        .mariadb(|args| args.iter().all(is_whole))
        .says(
            "MAKETIME(hour, minute, second)",
            "The TIME of these parts, limited to 838:59:59; NULL if minute or second is \
             outside 0 to 59.",
        )
        .gives("MAKETIME(12, 15, 30)", "12:15:30"),
    function(&["SEC_TO_TIME"], make::sec_to_time)
        .numbers(Places::All)
        .mariadb(|args| args.first().is_none_or(is_whole))
        .says("SEC_TO_TIME(seconds)", "The seconds as a TIME, limited to 838:59:59.")
        .gives("SEC_TO_TIME(3661)", "01:01:01"),
    function(&["FROM_DAYS"], make::from_days)
        .numbers(Places::All)
        .mariadb(mariadb::never)
        .says(
            "FROM_DAYS(days)",
            "The date with that number of days since the start of year 0, the inverse of \
             TO_DAYS; NULL for numbers outside 1 to 3652424.",
        )
        .gives("FROM_DAYS(739252)", "2024-01-02"),
    function(&["DATE_ADD"], interval::add)
        .grammar()
        .flow(Flow::First)
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved))
        .says(
            "DATE_ADD(date, INTERVAL amount unit)",
            "The date moved forward by the interval; a day that the new month lacks becomes \
             its last day, and units of time make a DATE a DATETIME.",
        )
        .gives("DATE_ADD('2024-01-31', INTERVAL 1 MONTH)", "2024-02-29"),
    function(&["DATE_SUB"], interval::add)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved))
        .says(
            "DATE_SUB(date, INTERVAL amount unit)",
            "The date moved back by the interval; a day that the new month lacks becomes \
             its last day, and units of time make a DATE a DATETIME.",
        )
        .gives("DATE_SUB('2024-03-01', INTERVAL 1 HOUR)", "2024-02-29 23:00:00"),
    function(&["ADDDATE"], interval::add_days)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved))
        .says(
            "ADDDATE(date, days | INTERVAL amount unit)",
            "The date moved forward by so many days or, as with DATE_ADD, by the interval.",
        )
        .gives("ADDDATE('2024-02-28', 2)", "2024-03-01"),
    function(&["SUBDATE"], interval::add_days)
        .grammar()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.first().is_none_or(is_moved))
        .says(
            "SUBDATE(date, days | INTERVAL amount unit)",
            "The date moved back by so many days or, as with DATE_SUB, by the interval.",
        )
        .gives("SUBDATE('2024-03-01', 1)", "2024-02-29"),
    function(&["TIMESTAMPADD"], interval::timestamp_add)
        .grammar()
        .keyword()
        .numbers(Places::At(&[1]))
        .mariadb(|args| args.get(2).is_none_or(is_moved))
        .says(
            "TIMESTAMPADD(unit, amount, date)",
            "The date moved forward by amount units; the same as DATE_ADD with that interval.",
        )
        .gives("TIMESTAMPADD(MINUTE, 90, '2024-05-17 10:00:00')", "2024-05-17 11:30:00"),
    function(&["ADDTIME"], interval::add_time)
        .mariadb(mariadb::never)
        .says(
            "ADDTIME(value, time)",
            "The value, a TIME or a date and time, with the time added; if time has a date, \
             only its time of day counts.",
        )
        .gives("ADDTIME('10:00:00', '01:30:00')", "11:30:00"),
    function(&["SUBTIME"], interval::add_time)
        .mariadb(mariadb::never)
        .says(
            "SUBTIME(value, time)",
            "The value, a TIME or a date and time, with the time subtracted; if time has a \
             date, only its time of day counts.",
        )
        .gives("SUBTIME('2024-05-17 00:30:00', '01:00:00')", "2024-05-16 23:30:00"),
    function(&["DATE_FORMAT"], format::date_format)
        .mariadb(|args| first(args, &DATES))
        .says(
            "DATE_FORMAT(date, format)",
            "The date as a text: codes of the format such as %Y, %m, %d, %H, %i and %s \
             stand for its parts; names follow lc_time_names.",
        )
        .gives("DATE_FORMAT('2024-05-17', '%d.%m.%Y')", "17.05.2024"),
    function(&["TIME_FORMAT"], format::time_format)
        .mariadb(|args| first(args, &[Kind::Null, Kind::Date, Kind::Time, Kind::Text]))
        .says(
            "TIME_FORMAT(time, format)",
            "The time as a text, with DATE_FORMAT's codes of hours, minutes, seconds and \
             microseconds; hours may exceed 23.",
        )
        .gives("TIME_FORMAT('25:30:00', '%H:%i')", "25:30"),
    function(&["GET_FORMAT"], format::get_format)
        .grammar()
        .keyword()
        .says(
            "GET_FORMAT(DATE | TIME | DATETIME, region)",
            "A format for DATE_FORMAT or STR_TO_DATE; the region is EUR, USA, JIS, ISO or \
             INTERNAL, and any other gives NULL.",
        )
        .gives("GET_FORMAT(DATE, 'EUR')", "%d.%m.%Y"),
    function(&["STR_TO_DATE"], scan::str_to_date)
        .says(
            "STR_TO_DATE(text, format)",
            "The date, time or both that the text has in that format, with DATE_FORMAT's \
             codes; NULL and a warning if the text does not match.",
        )
        .gives("STR_TO_DATE('17.5.2024', '%d.%m.%Y')", "2024-05-17"),
    function(&["NOW"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar()
        .infallible(fallibility::without_arguments)
        .says(
            "NOW([digits])",
            "The date and time at which the statement started, in the session's time zone, \
             with 0 to 6 digits of the second's fraction.",
        )
        .example("NOW(3)"),
    function(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .infallible(fallibility::without_arguments)
        .says(
            "CURRENT_TIMESTAMP[([digits])]",
            "The date and time at which the statement started; the same as NOW.",
        )
        .example("CURRENT_TIMESTAMP"),
    function(&["UTC_TIMESTAMP"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .infallible(fallibility::without_arguments)
        .says(
            "UTC_TIMESTAMP[([digits])]",
            "The date and time in UTC at which the statement started, with 0 to 6 digits of \
             the second's fraction.",
        )
        .example("UTC_TIMESTAMP()"),
    function(&["CURDATE"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar()
        .infallible(fallibility::without_arguments)
        .says("CURDATE()", "The date on which the statement started, in the session's time zone.")
        .example("CURDATE()"),
    function(&["CURRENT_DATE"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .infallible(fallibility::without_arguments)
        .says("CURRENT_DATE[()]", "The date on which the statement started; the same as CURDATE.")
        .example("CURRENT_DATE"),
    function(&["UTC_DATE"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar()
        .infallible(fallibility::without_arguments)
        .says("UTC_DATE[()]", "The date in UTC on which the statement started.")
        .example("UTC_DATE()"),
    function(&["CURTIME"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar()
        .infallible(fallibility::without_arguments)
        .says(
            "CURTIME([digits])",
            "The time of day at which the statement started, in the session's time zone, \
             with 0 to 6 digits of the second's fraction.",
        )
        .example("CURTIME()"),
    function(&["CURRENT_TIME"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .infallible(fallibility::without_arguments)
        .says(
            "CURRENT_TIME[([digits])]",
            "The time of day at which the statement started; the same as CURTIME.",
        )
        .example("CURRENT_TIME"),
    function(&["UTC_TIME"], clock::current)
        .volatile(Volatility::Time)
        .stored(Stored::Defaults)
        .grammar()
        .infallible(fallibility::without_arguments)
        .says(
            "UTC_TIME[([digits])]",
            "The time of day in UTC at which the statement started, with 0 to 6 digits of \
             the second's fraction.",
        )
        .example("UTC_TIME()"),
    function(&["UNIX_TIMESTAMP"], clock::unix_timestamp)
        .bare(Volatility::Time)
        .partitions()
        .mariadb(|args| args.iter().all(|it| it.ty.wire == WireType::Timestamp))
        .says(
            "UNIX_TIMESTAMP([date])",
            "The seconds from 1970-01-01 00:00:00 UTC to the date in the session's time \
             zone, or to now; 0 for earlier dates.",
        )
        .example("UNIX_TIMESTAMP('2024-05-17 10:45:30')"),
    function(&["FROM_UNIXTIME"], clock::from_unixtime)
        .numbers(Places::All)
        .mariadb(|args| {
            first(args, &[Kind::Null, Kind::Exact])
                && args.first().is_none_or(|it| it.ty.decimals <= 6)
        })
        .says(
            "FROM_UNIXTIME(seconds[, format])",
            "The date and time so many seconds after 1970-01-01 00:00:00 UTC, in the \
             session's time zone, as DATE_FORMAT shows it if there is a format.",
        )
        .example("FROM_UNIXTIME(1700000000)"),
    function(&["CONVERT_TZ"], clock::convert_tz)
        .mariadb(|args| first(args, &DATES))
        .says(
            "CONVERT_TZ(date, from_zone, to_zone)",
            "The date and time of one time zone in another; zones are offsets or names, and \
             NULL is returned for an unknown zone.",
        )
        .gives("CONVERT_TZ('2024-05-17 12:00:00', '+00:00', '+05:30')", "2024-05-17 17:30:00"),
];
