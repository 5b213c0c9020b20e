//! Tests of the texts of errors and warnings, row numbers, NULL, defaults, time zones.

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use super::*;
use crate::zone::TimeZone;

fn message(spec: &str, text: &str, policy: Policy) -> String {
    let mut builder = ColumnBuilder::new(&column(spec), policy).unwrap();
    match builder.append(literal(text).borrow()) {
        Err(failure) => failure.error.message().to_owned(),
        Ok(()) => builder.finish().warnings[0].message.clone(),
    }
}

#[test]
fn messages_are_those_of_mysql() {
    for (spec, text, expected) in [
        ("tinyint", "300", "Out of range value for column 'c' at row 1"),
        ("int", "'abc'", "Incorrect integer value: 'abc' for column 'c' at row 1"),
        ("int", "'1x'", "Data truncated for column 'c' at row 1"),
        ("decimal(5,2)", "'x'", "Incorrect decimal value: 'x' for column 'c' at row 1"),
        ("date", "'x'", "Incorrect date value: 'x' for column 'c' at row 1"),
        ("datetime", "'x'", "Incorrect datetime value: 'x' for column 'c' at row 1"),
        ("timestamp", "0", "Incorrect datetime value: '0' for column 'c' at row 1"),
        ("time", "'x'", "Incorrect time value: 'x' for column 'c' at row 1"),
        ("varchar(1)", "'ab'", "Data too long for column 'c' at row 1"),
        (
            "varchar(9) charset utf8mb3",
            "'ab😀cdef'",
            "Incorrect string value: '\\xF0\\x9F\\x98\\x80cd...' for column 'c' at row 1",
        ),
        ("enum('a')", "'x'", "Data truncated for column 'c' at row 1"),
        (
            "json",
            "'[1,2'",
            "Invalid JSON text: \"Missing a comma or ] after an array element.\" at position 4 in \
             value for column 't.c'.",
        ),
    ] {
        assert_eq!(message(spec, text, policy(true)), expected, "{spec} {text}");
    }
}

#[test]
fn ignore_makes_warnings_of_errors() {
    let ignore = Policy { ignore: true, ..policy(true) };
    for (spec, text, expected) in [
        ("tinyint", "300", "127 ~1264"),
        ("varchar(1)", "'ab'", "a ~1265"),
        ("date", "'2024-02-30'", "0000-00-00 ~1264"),
        ("decimal(5,2)", "'abc'", "0.00 ~1366"),
        ("decimal(5,2)", "'12abc'", "12.00 ~n1265"),
        ("bit(4)", "255", "15 ~1406"),
    ] {
        assert_eq!(outcome(&column(spec), literal(text).borrow(), ignore), expected, "{spec}");
    }
    assert_eq!(
        message("date", "'2024-02-30'", ignore),
        "Out of range value for column 'c' at row 1"
    );
}

#[test]
fn rows_are_counted_and_a_failure_leaves_the_rows_before_it() {
    let policy = Policy { first_row: 5, ..policy(true) };
    let mut builder = ColumnBuilder::new(&column("tinyint"), policy).unwrap();
    builder.append_int(1).unwrap();
    builder.append_null().unwrap();
    let failure = builder.append_text(b"300").unwrap_err();
    assert_eq!(failure.row, 7);
    assert_eq!(failure.error.errno(), 1264);
    assert_eq!(failure.error.sqlstate(), *b"22003");
    assert_eq!(failure.error.message(), "Out of range value for column 'c' at row 7");
    builder.append_uint(2).unwrap();
    let assigned = builder.finish();
    let all: Vec<_> =
        (0..3).map(|row| shown(&assigned.array, &column("tinyint").ty, row)).collect();
    assert_eq!(all, ["1", "NULL", "2"]);
}

#[test]
fn null_in_a_column_that_cannot_hold_it() {
    let not_null = |spec: &str| {
        let mut target = column(spec);
        target.ty = target.ty.not_null();
        target
    };
    let with = |strict, ignore, nulls| Policy { ignore, nulls, ..policy(strict) };
    for (policy, expected) in [
        (with(true, false, NullRule::Refuse), "!1048"),
        (with(false, false, NullRule::Refuse), "!1048"),
        (with(true, true, NullRule::Refuse), "0 ~1048"),
        (with(true, false, NullRule::Replace), "!1048"),
        (with(false, false, NullRule::Replace), "0 ~1048"),
        (with(false, false, NullRule::Load), "0 ~1263"),
        (with(true, false, NullRule::Load), "!1263"),
    ] {
        assert_eq!(outcome(&not_null("int"), Literal::Null, policy), expected, "{policy:?}");
    }
    let lenient = with(false, false, NullRule::Replace);
    for (spec, expected) in [
        ("varchar(3)", ""),
        ("binary(2)", "0000"),
        ("date", "0000-00-00"),
        ("enum('a','b')", ""),
        ("decimal(5,2)", "0.00"),
        ("json", "null"),
        ("time", "00:00:00"),
        ("year", "0000"),
        ("bit(4)", "0"),
        ("double", "0"),
        ("float", "0"),
        ("bigint unsigned", "0"),
        ("decimal(60,2)", "0.00"),
    ] {
        let found = outcome(&not_null(spec), Literal::Null, lenient);
        assert_eq!(found, format!("{expected} ~1048"), "{spec}");
    }
    let mut counted = not_null("int");
    counted.ty.flags = counted.ty.flags.with(Flags::AUTO_INCREMENT);
    assert_eq!(outcome(&counted, Literal::Null, policy(true)), "NULL");
    for (numbering, expected) in [(Numbering::Given, "!1048"), (Numbering::Zero, "0")] {
        let policy = Policy { numbering, ..policy(true) };
        assert_eq!(outcome(&counted, Literal::Null, policy), expected);
    }
}

#[test]
fn defaults_are_assigned_like_literals_and_appended_as_they_are() {
    for (spec, text, expected) in [
        ("int", "'12'", Some("12")),
        ("int", "'12x'", None),
        ("decimal(5,2)", "1.239", Some("1.24")),
        ("varchar(2)", "'abc'", None),
        ("date", "'0000-00-00'", None),
        ("enum('a','b')", "'B'", Some("b")),
        ("binary(3)", "'a'", Some("610000")),
        ("timestamp", "'2024-01-31 10:00:00'", Some("2024-01-31 10:00:00")),
        ("decimal(60,2)", "7", Some("7.00")),
        ("bit(4)", "x'05'", Some("5")),
        ("time", "'10:00:00'", Some("10:00:00")),
        ("float", "0.5", Some("0.5")),
        ("year", "'70'", Some("1970")),
    ] {
        let target = column(spec);
        let value = literal_default(&target, literal(text).borrow(), &policy(true));
        let Some(expected) = expected else {
            assert!(value.is_err(), "{spec} {text}");
            continue;
        };
        let mut builder = ColumnBuilder::new(&target, policy(true)).unwrap();
        let implicit = default_value(&target).unwrap();
        builder.append_default(Some(&value.unwrap()), &implicit).unwrap();
        builder.append_default(None, &implicit).unwrap();
        let assigned = builder.finish();
        assert_eq!(shown(&assigned.array, &target.ty, 0), expected, "{spec} {text}");
        assert_eq!(shown(&assigned.array, &target.ty, 1), "NULL");
    }
    // Without strict mode the zero date is a default whatever the other switches say.
    assert!(literal_default(&column("date"), Literal::Text(b"0000-00-00"), &policy(false)).is_ok());
}

#[test]
fn a_column_without_default_takes_its_implicit_one() {
    let mut target = column("enum('a','b')");
    target.ty = target.ty.not_null();
    let implicit = default_value(&target).unwrap();
    let mut strict = ColumnBuilder::new(&target, policy(true)).unwrap();
    let failure = strict.append_default(None, &implicit).unwrap_err();
    assert_eq!(failure.error.errno(), 1364);
    assert_eq!(failure.error.message(), "Field 'c' doesn't have a default value");
    let mut lenient = ColumnBuilder::new(&target, policy(false)).unwrap();
    lenient.append_default(None, &implicit).unwrap();
    let assigned = lenient.finish();
    assert_eq!(shown(&assigned.array, &target.ty, 0), "a");
    assert_eq!(assigned.warnings[0].code, 1364);
}

#[test]
fn a_column_whose_default_was_dropped_must_be_named() {
    let target = column("int");
    let mut strict = ColumnBuilder::new(&target, policy(true)).unwrap();
    assert_eq!(strict.append_default(None, &Value::Null).unwrap_err().error.errno(), 1364);
    let mut lenient = ColumnBuilder::new(&target, policy(false)).unwrap();
    lenient.append_default(None, &Value::Null).unwrap();
    let assigned = lenient.finish();
    assert_eq!(shown(&assigned.array, &target.ty, 0), "NULL");
    assert_eq!(assigned.warnings[0].code, 1364);
}

#[test]
fn timestamps_are_stored_in_universal_time() {
    let east = TimeZone::Offset(2 * 3600);
    let policy = Policy { time_zone: east, ..policy(true) };
    let target = column("timestamp");
    for (text, stored) in [
        ("'2024-01-31 01:30:00'", "2024-01-30 23:30:00"),
        ("'2024-01-31 01:30:00+05:30'", "2024-01-30 20:00:00"),
        ("'1970-01-01 02:00:01'", "1970-01-01 00:00:01"),
        ("'1970-01-01 02:00:00'", "!1292"),
        ("'2038-01-19 05:14:07'", "2038-01-19 03:14:07"),
        ("'2038-01-19 05:14:08'", "!1292"),
    ] {
        assert_eq!(outcome(&target, literal(text).borrow(), policy), stored, "{text}");
    }
    // A DATETIME keeps the clock of the session.
    let offset = "'2024-01-31 01:30:00+05:30'";
    let found = outcome(&column("datetime"), literal(offset).borrow(), policy);
    assert_eq!(found, "2024-01-30 22:00:00");
    assert_eq!(timestamp_from_utc(0, east), 0);
    assert_eq!(timestamp_to_utc(0, east), Stored::Once(0));
}

/// Values as MySQL 9.7 stores them, also around the moments at which clocks are set.
#[test]
fn timestamps_of_zones_with_summer_time() {
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let strict = Policy { time_zone: zone, ..policy(true) };
    let lenient = Policy { strict: false, ..strict };
    let target = column("timestamp(1)");
    for (text, stored) in [
        ("'2024-07-01 02:00:00'", "2024-07-01 00:00:00.0"),
        ("'2024-10-27 02:30:00'", "2024-10-27 00:30:00.0"),
        ("'2024-10-27 02:30:00+01:00'", "2024-10-27 01:30:00.0"),
        ("'2024-10-27 03:00:00'", "2024-10-27 02:00:00.0"),
        ("'2024-03-31 02:30:00.4'", "!1292"),
        ("'2024-03-31 02:30:00.4+01:00'", "2024-03-31 01:30:00.4"),
        ("'2024-03-31 03:00:00'", "2024-03-31 01:00:00.0"),
    ] {
        assert_eq!(outcome(&target, literal(text).borrow(), strict), stored, "{text}");
    }
    let mut builder = ColumnBuilder::new(&target, lenient).unwrap();
    builder.append(literal("'2024-03-31 02:30:00.4'").borrow()).unwrap();
    let assigned = builder.finish();
    assert_eq!(shown(&assigned.array, &target.ty, 0), "2024-03-31 01:00:00.4");
    assert_eq!(assigned.warnings[0].code, 1299);
    assert_eq!(assigned.warnings[0].message, "Invalid TIMESTAMP value in column 'c' at row 1");
}

#[test]
fn what_a_clock_showed_twice_is_told() {
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let packed = |text: &str| {
        let day = DateTime { hour: text[11..13].parse().unwrap(), ..DateTime::date(2024, 10, 27) };
        day.pack()
    };
    let stored = [packed("2024-10-27 00"), packed("2024-10-27 02"), 0];
    let array: ArrayRef = Arc::new(Int64Array::from(stored.to_vec()));
    let there = timestamps_from_utc(&array, zone).unwrap();
    assert_eq!(there.as_primitive::<Int64Type>().value(1), packed("2024-10-27 03"));
    let (back, unclear) = timestamps_to_utc(&there, zone).unwrap();
    assert_eq!((back.as_ref(), unclear), (array.as_ref(), vec![0]));
    let error = shown_twice(there.as_primitive::<Int64Type>().value(0));
    assert_eq!(error.errno(), 1235);
    assert!(error.message().contains("2024-10-27 02:00:00"), "{}", error.message());
}

#[test]
fn warnings_are_counted_beyond_those_that_are_kept() {
    let mut builder = ColumnBuilder::new(&column("tinyint"), policy(false)).unwrap();
    for _ in 0..3000 {
        builder.append_int(1000).unwrap();
    }
    let assigned = builder.finish();
    assert_eq!((assigned.warnings.len(), assigned.warning_count), (1024, 3000));
    assert_eq!(assigned.warnings[9].row, 10);
    assert_eq!(assigned.warnings[9].message, "Out of range value for column 'c' at row 10");
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let ty = ColumnType::new(WireType::Geometry, collation::BINARY, u32::MAX, 0);
    let error = ColumnBuilder::new(&Target::new("t", "c", ty), policy(true)).unwrap_err();
    assert_eq!(error.errno(), 1235);
    let mut builder = ColumnBuilder::new(&column("int"), policy(true)).unwrap();
    assert_eq!(builder.append_number_text("1x").unwrap_err().error.errno(), 1064);
    assert_eq!(builder.append_number_text("1e999").unwrap_err().error.errno(), 1367);
}

#[test]
fn texts_are_limited_in_bytes_of_their_charset() {
    let mut builder = ColumnBuilder::new(&column("tinytext"), policy(false)).unwrap();
    builder.append_text("ä".repeat(127).as_bytes()).unwrap();
    builder.append_text("ä".repeat(128).as_bytes()).unwrap();
    builder.append_text(format!("{}   ", "a".repeat(254)).as_bytes()).unwrap();
    let assigned = builder.finish();
    let ty = column("tinytext").ty;
    let lengths: Vec<_> = (0..3).map(|row| shown(&assigned.array, &ty, row).len()).collect();
    assert_eq!(lengths, [254, 254, 255]);
    let codes: Vec<_> = assigned.warnings.iter().map(|w| (w.row, w.level, w.code)).collect();
    assert_eq!(codes, [(2, Level::Warning, 1265), (3, Level::Note, 1265)]);
    let latin = outcome(
        &column("tinytext charset latin1"),
        Literal::Text("ä".repeat(255).as_bytes()),
        policy(true),
    );
    assert_eq!(latin.chars().count(), 255);
}

#[test]
fn doubles_lose_digits_before_they_are_too_long_for_text() {
    for (width, value, expected) in [
        ("varchar(4)", 2.34567, "2.35"),
        ("varchar(8)", 2.34567, "2.34567"),
        ("varchar(3)", 1234.5, "!1406"),
    ] {
        assert_eq!(outcome(&column(width), Literal::Double(value), policy(true)), expected);
    }
}

#[test]
fn doubles_at_the_ends_of_integers() {
    let largest = 9_223_372_036_854_774_784.0;
    for (column_type, value, expected) in [
        ("bigint", 2_f64.powi(63), "9223372036854775807 ~1264"),
        ("bigint", largest, "9223372036854774784"),
        ("bigint", -(2_f64.powi(63)), "-9223372036854775808"),
        ("bigint unsigned", 2_f64.powi(64), "18446744073709551615 ~1264"),
        ("bigint unsigned", 2_f64.powi(63), "9223372036854775808"),
        ("tinyint", 127.4, "127"),
        ("tinyint", 128.0, "127 ~1264"),
        ("year", 2155.0, "2155"),
        ("year", 2155.5, "0000 ~1264"),
    ] {
        assert_eq!(outcome(&column(column_type), Literal::Double(value), policy(false)), expected);
    }
}

#[test]
fn texts_that_are_no_dates_to_mysql() {
    for (column_type, text, expected) in [
        ("date", "0000-02-29", "!1292"),
        ("datetime", "2024-01-31 10:11 ", "!1292"),
        ("datetime", "2024-01-31 10:00:00+15:00", "!1292"),
        ("datetime", "20240131 101112", "!1292"),
        ("time", "2024-02-29T10:11:12", "!1292"),
        ("time", "4000000000:00:00", "!1292"),
    ] {
        let found = outcome(&column(column_type), Literal::Text(text.as_bytes()), policy(true));
        assert_eq!(found, expected, "{text}");
    }
    assert_eq!(outcome(&column("date"), Literal::Int(9_990_101), policy(true)), "0999-01-01");
}

#[test]
fn decimals_of_65_digits_are_whole() {
    let most = "9".repeat(65);
    let target = column("decimal(65,0)");
    for literal in [Literal::Text(most.as_bytes()), Literal::Number(&most)] {
        assert_eq!(outcome(&target, literal, policy(true)), most);
    }
    let over = format!("1{}", "0".repeat(65));
    assert_eq!(outcome(&target, Literal::Number(&over), policy(false)), format!("{most} ~1264"));
}
