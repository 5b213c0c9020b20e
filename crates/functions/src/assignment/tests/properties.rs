//! Property tests: values round-trip, arrays and literals agree, nothing panics.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use pelorus_types::temporal::{DateTime, write_datetime};
use proptest::prelude::*;

use super::*;

const ALL: [&str; 30] = [
    "tinyint",
    "tinyint unsigned",
    "int",
    "bigint",
    "bigint unsigned",
    "year",
    "bit(7)",
    "bit(64)",
    "decimal(5,2)",
    "decimal(38,10) unsigned",
    "decimal(65,30)",
    "float",
    "double",
    "float(5,2)",
    "date",
    "datetime",
    "datetime(6)",
    "timestamp(3)",
    "time",
    "time(4)",
    "char(3)",
    "varchar(5)",
    "varchar(5) charset latin1",
    "binary(3)",
    "varbinary(3)",
    "tinytext",
    "enum('a','b','')",
    "set('a','b','c')",
    "json",
    "tinytext charset utf8mb3",
];

proptest! {
    #[test]
    fn no_bytes_panic(
        bytes: Vec<u8>,
        text in "[-+0-9:. eETxa,{}\\[\\]\"\\\\]{0,40}",
        flags: [bool; 4],
    ) {
        let mut policy = policy(flags[0]);
        policy.ignore = flags[1];
        policy.sql_mode.allow_invalid_dates = flags[2];
        policy.sql_mode.no_zero_in_date = flags[3];
        policy.sql_mode.no_zero_date = flags[3];
        for spec in ALL {
            let mut builder = ColumnBuilder::new(&column(spec), policy).unwrap();
            let _ = builder.append_text(&bytes);
            let _ = builder.append_text(text.as_bytes());
            let _ = builder.append_hex(&bytes);
            let _ = builder.append_number_text(&text);
            let rows = builder.finish().array.len();
            prop_assert!(rows <= 4);
        }
    }

    #[test]
    fn no_number_panics(
        int: i64,
        uint: u64,
        double: f64,
        digits in "-?[0-9]{1,80}(\\.[0-9]{0,80})?",
    ) {
        for spec in ALL.into_iter().filter(|spec| *spec != "json") {
            let mut builder = ColumnBuilder::new(&column(spec), policy(false)).unwrap();
            let all = [
                Literal::Int(int),
                Literal::UInt(uint),
                Literal::Double(double),
                Literal::Number(&digits),
            ];
            for literal in all {
                prop_assert!(builder.append(literal).is_ok(), "{} {:?}", spec, literal);
            }
            prop_assert_eq!(builder.finish().array.len(), 4);
        }
    }

    #[test]
    fn lenient_results_are_stored_again_without_a_word(text in "[-0-9:. a]{0,20}") {
        for spec in ALL.into_iter().filter(|spec| !spec.starts_with("bit") && *spec != "json") {
            let target = column(spec);
            let mut lenient = policy(false);
            lenient.sql_mode.no_zero_date = false;
            let mut builder = ColumnBuilder::new(&target, lenient).unwrap();
            builder.append_text(text.as_bytes()).unwrap();
            let first = builder.finish().array;
            // What a column holds, it takes.
            let second = assign_array(&target, &lenient, &first, &target.ty).unwrap();
            prop_assert_eq!(&second.array, &first, "{}", spec);
            if !spec.starts_with("enum") {
                prop_assert_eq!(second.warning_count, 0, "{}", spec);
            }
        }
    }

    #[test]
    fn integers_come_back(value: i64) {
        let mut builder = ColumnBuilder::new(&column("bigint"), policy(true)).unwrap();
        builder.append_int(value).unwrap();
        builder.append_text(value.to_string().as_bytes()).unwrap();
        builder.append_number_text(&value.to_string()).unwrap();
        let array = builder.finish().array;
        prop_assert_eq!(array.as_primitive::<Int64Type>(), &Int64Array::from(vec![value; 3]));
    }

    #[test]
    fn integers_are_cut_at_the_bounds(value: i64) {
        let found = outcome(&column("smallint"), Literal::Int(value), policy(false));
        let kept = value.clamp(-32768, 32767);
        let expected = if kept == value { format!("{kept}") } else { format!("{kept} ~1264") };
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn decimals_come_back(units in -99_999_999_999_i64..=99_999_999_999, scale in 0_u8..=6) {
        let mut text = String::new();
        let value = arrow::datatypes::i256::from_i128(i128::from(units));
        pelorus_types::number::write_decimal(&mut text, value, scale);
        for spec in [format!("decimal(20,{scale})"), format!("decimal(50,{scale})")] {
            let target = column(&spec);
            for literal in [Literal::Text(text.as_bytes()), Literal::Number(&text)] {
                prop_assert_eq!(&outcome(&target, literal, policy(true)), &text);
            }
        }
    }

    #[test]
    fn dates_come_back(
        day in 0_i64..3_652_000, micros in 0_i64..86_400_000_000,
    ) {
        let date = DateTime::from_day_number(day + 400).unwrap().at_time_micros(micros);
        let mut text = String::new();
        write_datetime(&mut text, date, 6);
        let target = column("datetime(6)");
        prop_assert_eq!(&outcome(&target, Literal::Text(text.as_bytes()), policy(true)), &text);
        // The quick reader and the lenient one agree.
        let spaced = format!(" {text}");
        prop_assert_eq!(&outcome(&target, Literal::Text(spaced.as_bytes()), policy(true)), &text);
    }

    #[test]
    fn arrays_and_literals_agree(texts in proptest::collection::vec("[-0-9:.a ]{0,12}", 1..8)) {
        let array: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        for spec in ALL.into_iter().filter(|spec| *spec != "json") {
            let target = column(spec);
            let mut builder = ColumnBuilder::new(&target, policy(false)).unwrap();
            for text in &texts {
                builder.append_text(text.as_bytes()).unwrap();
            }
            let one = builder.finish();
            let all =
                assign_array(&target, &policy(false), &array, &column("varchar(12)").ty).unwrap();
            prop_assert_eq!(&one.array, &all.array, "{}", spec);
            prop_assert_eq!(&one.warnings, &all.warnings, "{}", spec);
        }
    }

    #[test]
    fn json_in_its_own_form_stays(text in "[\\[\\]{}\",:a1.e-]{0,30}") {
        let target = column("json");
        let first = outcome(&target, Literal::Text(text.as_bytes()), policy(true));
        if !first.starts_with('!') {
            let second = outcome(&target, Literal::Text(first.as_bytes()), policy(true));
            prop_assert_eq!(second, first);
        }
    }
}
