//! What was encoded is read back: whole, in ranges, by row, as codes, as integers.

use std::collections::BTreeSet;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use pelorus_chunk::{CHUNK_ROWS, ChunkMeta, Codec, Column, Selection, Value, encode};
use proptest::prelude::*;

use crate::data::{Random, SHAPES, column, encoded, identical, scalar, types};

fn value_is(value: Value<'_>, array: &ArrayRef, row: usize) -> bool {
    match scalar(array, row) {
        None => value == Value::Null,
        Some(expected) => match (value, expected.as_value()) {
            (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
            (left, right) => left.compare_value(right) == Some(std::cmp::Ordering::Equal),
        },
    }
}

/// Decimals in 64 bits: the same numbers, or an error where one does not fit.
fn check_units(array: &ArrayRef, opened: &Column) {
    let Some(decimals) = array.as_primitive_opt::<Decimal128Type>() else {
        let all = Selection::all(array.len()).pick(0..array.len());
        assert!(opened.decode_units(&all).is_err() || !matches!(array.data_type(), DataType::Utf8));
        return;
    };
    let fits = decimals.iter().flatten().all(|value| i64::try_from(value).is_ok());
    for step in [1, 3, 50] {
        let mut selection = Selection::none(array.len());
        (0..array.len()).step_by(step).for_each(|row| selection.insert(row..row + 1));
        let found = opened.decode_units(&selection.pick(0..array.len()));
        if !fits {
            continue;
        }
        let found = found.unwrap();
        let found = found.as_primitive::<Int64Type>().iter().map(|it| it.map(i128::from));
        assert!(found.eq(decimals.iter().step_by(step)), "units of every {step}. row");
    }
}

/// Reads a column in every way and compares with the array.
fn check(array: &ArrayRef, opened: &Column, random: &mut Random) {
    let rows = array.len();
    let what = format!("{} by {:?}", array.data_type(), opened.codec());
    assert_eq!(opened.data_type(), *array.data_type());
    assert_eq!((opened.rows(), opened.null_count()), (rows, array.null_count()), "{what}");
    assert!(identical(&opened.decode(0..rows).unwrap(), array), "all rows of {what}");
    for start in (0..rows).step_by(2048) {
        let length = 2048.min(rows - start);
        let vector = opened.decode(start..start + length).unwrap();
        assert!(identical(&vector, &array.slice(start, length)), "rows from {start} of {what}");
    }
    let start = random.below(rows as u64 + 1) as usize;
    let end = start + random.below((rows - start) as u64 + 1) as usize;
    let some = opened.decode(start..end).unwrap();
    assert!(identical(&some, &array.slice(start, end - start)), "{start}..{end} of {what}");
    assert!(opened.decode(0..rows + 1).is_err());

    for one_in in [1_u64, 2, 7, 40, 1000] {
        let mut selection = Selection::none(rows);
        for row in 0..rows {
            // All but one in so many, or one in so many.
            let hit = random.below(one_in) == 0;
            if hit == (one_in % 2 == 0) {
                selection.insert(row..row + 1);
            }
        }
        let wanted = UInt32Array::from(selection.indices(start..end));
        let expected = take(array, &wanted, None).unwrap();
        let picked = selection.pick(start..end);
        assert_eq!(picked.count(), wanted.len());
        let found = opened.decode_picked(&picked).unwrap();
        assert!(identical(&found, &expected), "{} selected rows of {what}", wanted.len());
        let by_values = matches!(opened.codec(), Codec::Constant | Codec::Runs | Codec::Dictionary);
        if by_values || *array.data_type() == DataType::Utf8 {
            let codes = opened.decode_coded(&picked).unwrap();
            let plain = cast(&codes, array.data_type()).unwrap();
            assert!(identical(&plain, &expected), "{} codes of {what}", wanted.len());
        }
    }
    check_units(array, opened);
    assert!(opened.decode_picked(&Selection::all(rows + 1).pick(0..rows + 1)).is_err());

    let count = if rows == 0 { 0 } else { 300 };
    let wanted: Vec<u32> = (0..count).map(|_| random.below(rows as u64) as u32).collect();
    let expected = take(array, &UInt32Array::from(wanted.clone()), None).unwrap();
    assert!(identical(&opened.take(&wanted).unwrap(), &expected), "single rows of {what}");
    assert!(opened.take(&[rows as u32]).is_err());
    for row in wanted.into_iter().map(|row| row as usize) {
        assert_eq!(opened.is_null(row), array.is_null(row));
        assert!(value_is(opened.value(row), array, row), "row {row} of {what}");
    }
}

#[test]
fn every_type_and_shape_of_a_full_chunk_survives_and_every_codec_occurs() {
    let mut seen = BTreeSet::new();
    let mut seed = 0;
    for shape in SHAPES {
        for kind in types() {
            for nulls in [0, 10] {
                seed += 1;
                let array = column(&kind, shape, CHUNK_ROWS, nulls, seed);
                let (chunk, opened) = encoded(&array);
                check(&array, &opened, &mut Random::new(seed));
                let meta = &chunk.meta.columns[0];
                seen.insert(format!("{:?} {}", meta.codec, meta.width));
            }
        }
    }
    let all = [
        "Constant 0",
        "Delta 1",
        "Delta 2",
        "Delta 4",
        "Dictionary 1",
        "Dictionary 2",
        "Frame 1",
        "Frame 2",
        "Frame 4",
        "Frame 8",
        "Plain 0",
        "Runs 0",
    ];
    for codec in all {
        assert!(seen.contains(codec), "{codec} was never chosen: {seen:?}");
    }
}

#[test]
fn sizes_around_words_and_vectors_survive() {
    for rows in [0, 1, 2, 63, 64, 65, 127, 128, 129, 2047, 2048, 2049] {
        for shape in SHAPES {
            for kind in types() {
                for nulls in [0, 50, 100] {
                    let array = column(&kind, shape, rows, nulls, rows as u64);
                    let (chunk, opened) = encoded(&array);
                    check(&array, &opened, &mut Random::new(7));
                    assert_eq!(ChunkMeta::from_bytes(&chunk.meta.to_bytes()).unwrap(), chunk.meta);
                    assert_eq!(opened.codec() == Codec::Null, array.null_count() == rows);
                }
            }
        }
    }
}

#[test]
fn a_dictionary_of_more_than_65536_values_has_codes_of_four_bytes() {
    let mut random = Random::new(2);
    let texts = (0..CHUNK_ROWS).map(|_| format!("{:0>200}", random.below(100_000)));
    let array: ArrayRef =
        std::sync::Arc::new(texts.map(Some).collect::<arrow::array::StringArray>());
    let (chunk, opened) = encoded(&array);
    assert_eq!((opened.codec(), chunk.meta.columns[0].width), (Codec::Dictionary, 4));
    check(&array, &opened, &mut Random::new(3));
}

/// Decimals of few digits become integers where they are as good, which a negative zero is not.
#[test]
fn negative_zeros_survive_among_decimals() {
    let values = (0..3000).map(|row| if row % 500 == 3 { -0.0 } else { f64::from(row % 40) / 4.0 });
    let wide: ArrayRef = std::sync::Arc::new(Float64Array::from_iter_values(values));
    let narrow = cast(&wide, &DataType::Float32).unwrap();
    for array in [wide.slice(0, 3), wide.slice(4, 400), wide, narrow] {
        let (_, opened) = encoded(&array);
        check(&array, &opened, &mut Random::new(5));
    }
}

#[test]
fn arrays_of_several_columns_must_fit_together() {
    let short = column(&DataType::Int64, SHAPES[0], 10, 0, 1);
    let long = column(&DataType::Int64, SHAPES[0], 11, 0, 1);
    assert!(encode(&[short.clone(), long]).is_err());
    let unknown = cast(&short, &DataType::Int32).unwrap();
    assert!(encode(&[unknown]).is_err());
    assert!(encode(&[column(&DataType::Int64, SHAPES[0], CHUNK_ROWS + 1, 0, 1)]).is_err());
    assert_eq!(encode(&[]).unwrap().meta.rows, 0);
}

#[test]
fn zones_of_integers_are_exact() {
    let array = column(&DataType::Int64, SHAPES[10], 5000, 20, 4);
    let (chunk, _) = encoded(&array);
    let values: Vec<i128> =
        array.as_primitive::<Int64Type>().iter().flatten().map(i128::from).collect();
    let (min, max) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
    assert_eq!(chunk.meta.columns[0].zone, pelorus_chunk::Zone::Int { min, max });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(150)))]

    #[test]
    fn slices_of_any_column_survive(
        shape in 0..SHAPES.len(),
        kind in 0..8usize,
        rows in 0..9000usize,
        skip in 0..3000usize,
        nulls in prop::sample::select(vec![0u64, 1, 30, 95]),
        seed: u64,
    ) {
        let whole = column(&types()[kind], SHAPES[shape], rows + skip + 5, nulls, seed);
        let array = whole.slice(skip, rows);
        let other = column(&types()[(kind + 3) % 8], SHAPES[0], rows, nulls, seed);
        let chunk = encode(&[other.clone(), array.clone()]).unwrap();
        prop_assert!(chunk.meta.columns.iter().all(|column| column.offset % 64 == 0));
        let random = &mut Random::new(seed);
        check(&array, &crate::data::open(&chunk, 1), random);
        check(&other, &crate::data::open(&chunk, 0), random);

        // A chunk that lies at an odd address is read the same.
        let mut shifted = vec![0; 1];
        shifted.extend_from_slice(&chunk.bytes);
        let shifted = arrow::buffer::Buffer::from_vec(shifted).slice(1);
        check(&array, &chunk.meta.column(&shifted, 1).unwrap(), random);
    }
}
