//! Tests of assigning arrays of one type to columns of another.

use std::sync::Arc;

use arrow::array::{
    BinaryArray, Decimal128Array, Float32Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use pelorus_types::temporal::DateTime;

use super::*;
use crate::zone::TimeZone;

/// The stored values, or `!code row`.
fn assigned(spec: &str, array: ArrayRef, from: &str, policy: Policy) -> (String, bool) {
    let target = column(spec);
    match assign_array(&target, &policy, &array, &column(from).ty) {
        Err(failure) => (format!("!{} {}", failure.error.errno(), failure.row), false),
        Ok(assigned) => {
            assert_eq!(assigned.array.data_type(), &target.ty.arrow());
            let same = Arc::ptr_eq(&assigned.array, &array);
            let rows: Vec<_> = (0..assigned.array.len())
                .map(|row| shown(&assigned.array, &target.ty, row))
                .collect();
            let codes: Vec<_> =
                assigned.warnings.iter().map(|w| format!("~{}@{}", w.code, w.row)).collect();
            (format!("{}{}", rows.join("|"), codes.join("")), same)
        }
    }
}

fn ints(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn dates(values: &[(u16, u8, u8, u8)]) -> ArrayRef {
    let pack = |&(year, month, day, hour): &(u16, u8, u8, u8)| {
        DateTime { hour, ..DateTime::date(year, month, day) }.pack()
    };
    Arc::new(Int64Array::from_iter_values(values.iter().map(pack)))
}

#[test]
fn arrays_that_fit_are_handed_on() {
    let units = Decimal128Array::from(vec![Some(12345), None]);
    let units = units.with_data_type(column("decimal(5,2)").ty.arrow());
    let floats = Arc::new(Float32Array::from(vec![0.5, -1.0]));
    for (spec, array, from) in [
        ("tinyint", ints(&[Some(1), None, Some(-128)]), "bigint"),
        ("decimal(5,2)", Arc::new(units) as ArrayRef, "decimal(9,2)"),
        ("varchar(3)", texts(&["abc", "äöü", ""]), "varchar(9)"),
        ("char(3)", texts(&["abc", "a"]), "varchar(9)"),
        ("date", dates(&[(2024, 1, 31, 0)]), "date"),
        ("datetime", dates(&[(2024, 1, 31, 5)]), "datetime"),
        ("timestamp", dates(&[(2024, 1, 31, 5)]), "datetime"),
        ("time", ints(&[Some(5_000_000)]), "time"),
        ("double", Arc::new(Float64Array::from(vec![1.5])), "double"),
        ("float", floats, "float"),
        ("varbinary(2)", Arc::new(BinaryArray::from(vec![b"ab".as_slice()])), "varbinary(9)"),
        ("json", texts(&["{}"]), "json"),
        ("enum('a','b')", texts(&["b", "a"]), "enum('b','a')"),
        ("year", Arc::new(UInt64Array::from(vec![2024])), "year"),
        ("bit(8)", Arc::new(UInt64Array::from(vec![200])), "bit(8)"),
    ] {
        let (found, same) = assigned(spec, array, from, policy(true));
        assert!(same, "{spec} from {from}: {found}");
    }
}

#[test]
fn arrays_that_do_not_fit_are_converted_row_by_row() {
    let u64s: ArrayRef = Arc::new(UInt64Array::from(vec![5, u64::MAX]));
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![2.5, 3.5, -1.25]));
    for (spec, array, from, strict, lenient) in [
        ("tinyint", ints(&[Some(1), Some(128)]), "int", "!1264 2", "1|127~1264@2"),
        ("tinyint unsigned", ints(&[Some(1), Some(2)]), "int", "1|2", "1|2"),
        ("bigint", u64s, "bigint unsigned", "!1264 2", "5|9223372036854775807~1264@2"),
        ("int", doubles.clone(), "double", "2|4|-1", "2|4|-1"),
        ("decimal(5,1)", doubles.clone(), "double", "2.5|3.5|-1.3~1265@3", "2.5|3.5|-1.3~1265@3"),
        ("varchar(9)", doubles, "double", "2.5|3.5|-1.25", "2.5|3.5|-1.25"),
        ("int", texts(&["1", "x"]), "varchar(9)", "!1366 2", "1|0~1366@2"),
        ("varchar(2)", texts(&["ab", "abc"]), "varchar(9)", "!1406 2", "ab|ab~1265@2"),
        ("char(3)", texts(&["ab  "]), "varchar(9)", "ab", "ab"),
        ("char(3)", texts(&["ab "]), "varchar(9)", "ab", "ab"),
        ("varchar(3) charset latin1", texts(&["я"]), "varchar(9)", "!1366 1", "?~1366@1"),
        ("varbinary(4)", texts(&["äö"]), "varchar(9)", "c3a4c3b6", "c3a4c3b6"),
        ("varbinary(4)", texts(&["äö"]), "varchar(9) charset latin1", "e4f6", "e4f6"),
        ("enum('a','b')", texts(&["b", "A"]), "varchar(9)", "b|a", "b|a"),
        ("json", texts(&["[1,2]"]), "varchar(9)", "[1, 2]", "[1, 2]"),
    ] {
        assert_eq!(assigned(spec, array.clone(), from, policy(true)).0, strict, "{spec} {from}");
        assert_eq!(assigned(spec, array, from, policy(false)).0, lenient, "{spec} {from}");
    }
}

#[test]
fn dates_and_times_become_one_another_numbers_and_texts() {
    let moment = || dates(&[(2024, 1, 31, 12)]);
    let noon = || ints(&[Some(12 * 3600 * 1_000_000 + 500_000)]);
    let day = policy(true);
    // 2024-02-29 10:00:00 in universal time.
    let day = Policy { now_micros: 1_709_200_800_000_000, ..day };
    for (spec, array, from, expected) in [
        ("date", moment(), "datetime", "2024-01-31~1265@1"),
        ("time", moment(), "datetime", "12:00:00"),
        ("datetime", noon(), "time(1)", "2024-02-29 12:00:01"),
        ("datetime(1)", noon(), "time(1)", "2024-02-29 12:00:00.5"),
        ("time", noon(), "time(1)", "12:00:01"),
        ("bigint", moment(), "datetime", "20240131120000"),
        ("bigint", moment(), "date", "20240131"),
        ("int", noon(), "time(1)", "120001"),
        ("decimal(15,1)", noon(), "time(1)", "120000.5"),
        ("double", moment(), "datetime", "20240131120000"),
        ("year", moment(), "datetime", "2024"),
        ("year", noon(), "time(1)", "2024"),
        ("varchar(30)", moment(), "datetime", "2024-01-31 12:00:00"),
        ("varchar(30)", noon(), "time(1)", "12:00:00.5"),
        ("varchar(5)", moment(), "datetime", "!1406 1"),
        ("date", ints(&[Some(20_240_131)]), "int", "2024-01-31"),
        ("date", dates(&[(0, 0, 0, 0)]), "date", "!1292 1"),
    ] {
        assert_eq!(assigned(spec, array, from, day).0, expected, "{spec} from {from}");
    }
}

#[test]
fn timestamps_move_between_zones_and_back() {
    let zone = TimeZone::Offset(-5 * 3600);
    let policy = Policy { time_zone: zone, ..policy(true) };
    let local = dates(&[(2024, 1, 31, 20), (2024, 7, 1, 0)]);
    let target = column("timestamp");
    let stored = assign_array(&target, &policy, &local, &target.ty).unwrap().array;
    assert_eq!(shown(&stored, &target.ty, 0), "2024-02-01 01:00:00");
    assert_eq!(&timestamps_from_utc(&stored, zone).unwrap(), &local);
    assert!(Arc::ptr_eq(&timestamps_from_utc(&stored, TimeZone::Utc).unwrap(), &stored));
}

#[test]
fn nulls_are_checked_even_where_the_values_fit() {
    let mut target = column("int");
    target.ty = target.ty.not_null();
    let policy = Policy { nulls: NullRule::Replace, ..policy(true) };
    let array = ints(&[Some(1), None]);
    let failure = assign_array(&target, &policy, &array, &column("int").ty).unwrap_err();
    assert_eq!((failure.row, failure.error.errno()), (2, 1048));
    let lenient = Policy { strict: false, ..policy };
    let assigned = assign_array(&target, &lenient, &array, &column("int").ty).unwrap();
    assert_eq!(assigned.array.null_count(), 0);
    assert_eq!(assigned.warnings[0].message, "Column 'c' cannot be null");
}

#[test]
fn numbers_become_text_by_the_kind_of_string() {
    let float: ArrayRef = Arc::new(Float32Array::from(vec![0.1]));
    let bits: ArrayRef = Arc::new(UInt64Array::from(vec![65]));
    for (spec, array, from, expected) in [
        ("varchar(30)", &float, "float", "0.10000000149011612"),
        ("text", &float, "float", "0.1"),
        ("varchar(30)", &bits, "bit(8)", "65"),
        ("text", &bits, "bit(8)", "A"),
        ("varchar(30)", &bits, "int unsigned", "65"),
    ] {
        assert_eq!(assigned(spec, Arc::clone(array), from, policy(true)).0, expected, "{spec}");
    }
}

#[test]
fn the_error_value_of_an_enum_passes_to_another() {
    let array = texts(&["a", ""]);
    let from = "enum('a','b')";
    assert_eq!(assigned("enum('b','a')", array, from, policy(true)).0, "a|");
}

#[test]
fn only_literals_of_bits_are_numbers() {
    let array: ArrayRef = Arc::new(BinaryArray::from(vec![b"12".as_slice()]));
    let literal = crate::literal::hex(b"12".to_vec()).ty;
    let bits = crate::literal::bits(b"12".to_vec()).ty;
    for (from, expected) in [(column("varbinary(2)").ty, "12"), (literal, "12594"), (bits, "12594")]
    {
        for spec in ["int", "decimal(6)", "double"] {
            let target = column(spec);
            let stored = assign_array(&target, &policy(true), &array, &from).unwrap();
            assert_eq!(shown(&stored.array, &target.ty, 0), expected, "{spec}");
        }
    }
}

#[test]
fn numbers_of_enums_are_not_guessed() {
    let array = texts(&["a"]);
    let from = column("enum('a')").ty;
    let failure = assign_array(&column("int"), &policy(true), &array, &from).unwrap_err();
    assert_eq!(failure.error.errno(), 1235);
    let text = assign_array(&column("varchar(3)"), &policy(true), &array, &from).unwrap();
    assert_eq!(shown(&text.array, &column("varchar(3)").ty, 0), "a");
}
