//! Selections and zone maps against a row-by-row evaluation that shares no code with them.

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, i256};
use pelorus_chunk::{
    CHUNK_ROWS, Codec, Encoded, Op, Predicate, Scalar, Selection, VECTOR_ROWS, may_match,
};
use proptest::prelude::*;

use crate::data::{Random, SHAPES, column, encoded, scalar, types};

/// SQL's answer, written down independently: `None` is NULL.
fn naive(value: Option<&Scalar>, predicate: &Predicate) -> bool {
    let Some(value) = value else { return matches!(predicate, Predicate::IsNull) };
    let wide = |scalar: &Scalar| match scalar {
        Scalar::Int(number) => i256::from_i128(*number),
        Scalar::Wide(number) => *number,
        other => panic!("{other:?} is no number"),
    };
    let less = |left: &Scalar, right: &Scalar| match (left, right) {
        (Scalar::Float(left), Scalar::Float(right)) => left < right,
        (Scalar::Bytes(left), Scalar::Bytes(right)) => left < right,
        (left, right) => wide(left) < wide(right),
    };
    let equal = |left: &Scalar, right: &Scalar| match (left, right) {
        (Scalar::Float(left), Scalar::Float(right)) => left == right,
        (Scalar::Bytes(left), Scalar::Bytes(right)) => left == right,
        (left, right) => wide(left) == wide(right),
    };
    match predicate {
        Predicate::Compare(Op::Eq, scalar) => equal(value, scalar),
        Predicate::Compare(Op::Ne, scalar) => !equal(value, scalar),
        Predicate::Compare(Op::Lt, scalar) => less(value, scalar),
        Predicate::Compare(Op::Le, scalar) => less(value, scalar) || equal(value, scalar),
        Predicate::Compare(Op::Gt, scalar) => less(scalar, value),
        Predicate::Compare(Op::Ge, scalar) => less(scalar, value) || equal(value, scalar),
        Predicate::Between(low, high) => {
            (less(low, value) || equal(low, value)) && (less(value, high) || equal(value, high))
        }
        Predicate::In(list) => list.iter().any(|scalar| equal(value, scalar)),
        Predicate::IsNull => false,
        Predicate::IsNotNull => true,
    }
}

/// A constant that occurs, lies close to one that occurs, or is anything.
fn constant(array: &ArrayRef, random: &mut Random) -> Scalar {
    let rows = array.len() as u64;
    let near = if rows == 0 { None } else { scalar(array, random.below(rows) as usize) };
    let any = random.next();
    match (near, any % 8) {
        (Some(Scalar::Int(value)), 0) => Scalar::Int(value.saturating_add(1)),
        (Some(Scalar::Int(value)), 1) => Scalar::Int(value.saturating_sub(1)),
        (Some(Scalar::Float(value)), 0) => Scalar::Float(value + 0.001),
        (Some(Scalar::Bytes(mut value)), 0) => {
            value.push(b'!');
            Scalar::Bytes(value)
        }
        (Some(Scalar::Bytes(mut value)), 1) => {
            value.truncate(value.len() * 2 / 3);
            Scalar::Bytes(value)
        }
        (Some(value), 2..) => value,
        _ => match array.data_type() {
            DataType::Float32 | DataType::Float64 => match any % 5 {
                0 => Scalar::Float(f64::NAN),
                1 => Scalar::Float(0.0),
                2 => Scalar::Float(f64::INFINITY),
                _ => Scalar::Float(f64::from_bits(random.next())),
            },
            DataType::Utf8 | DataType::Binary => Scalar::Bytes(format!("{any:x}").into_bytes()),
            _ => match any % 5 {
                0 => Scalar::Int(i128::MAX),
                1 => Scalar::Int(i128::MIN),
                2 => Scalar::Wide(i256::MIN),
                3 => Scalar::Wide(i256::MAX),
                _ => Scalar::Int((random.next() as i64).into()),
            },
        },
    }
}

fn predicates(array: &ArrayRef, random: &mut Random) -> Vec<Predicate> {
    let mut all = vec![Predicate::IsNull, Predicate::IsNotNull, Predicate::In(vec![].into())];
    for op in [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
        all.push(Predicate::Compare(op, constant(array, random)));
        all.push(Predicate::Compare(op, constant(array, random)));
    }
    for count in [1, 2, 5, 40, 300] {
        all.push(Predicate::In((0..count).map(|_| constant(array, random)).collect()));
    }
    for _ in 0..3 {
        all.push(Predicate::Between(constant(array, random), constant(array, random)));
    }
    all
}

/// Compares selections and zone maps of a column with the naive evaluation.
fn check(array: &ArrayRef, random: &mut Random) {
    let (chunk, opened): (Encoded, _) = encoded(array);
    let rows = array.len();
    let values: Vec<Option<Scalar>> = (0..rows).map(|row| scalar(array, row)).collect();
    for predicate in predicates(array, random) {
        let hits: Vec<bool> = values.iter().map(|v| naive(v.as_ref(), &predicate)).collect();
        let what = || format!("{predicate:?} on {} by {:?}", array.data_type(), opened.codec());

        let mut selection = Selection::all(rows);
        opened.select(&predicate, 0..rows, &mut selection).unwrap();
        let wrong = (0..rows).find(|&row| selection.contains(row) != hits[row]);
        assert_eq!(wrong.map(|row| &values[row]), None, "{} everywhere", what());

        // Part of the rows, with holes, by both ways.
        let start = random.below(rows as u64 + 1) as usize;
        let end = start + random.below((rows - start) as u64 + 1) as usize;
        let mut before = Selection::none(rows);
        (0..rows).filter(|row| row % 3 != 0).for_each(|row| before.insert(row..row + 1));
        let mut first = before.clone();
        opened.select(&predicate, start..end, &mut first).unwrap();
        let mut second = before.clone();
        let keep = |values: &ArrayRef| {
            let hit = |row| naive(scalar(values, row).as_ref(), &predicate);
            Ok((0..values.len()).map(|row| Some(hit(row))).collect::<BooleanArray>())
        };
        opened.select_with(&keep, start..end, &mut second).unwrap();
        for row in 0..rows {
            let inside = (start..end).contains(&row);
            let expected = before.contains(row) && (!inside || hits[row]);
            assert_eq!(first.contains(row), expected, "row {row} in {start}..{end}: {}", what());
            let expected = expected && (!inside || values[row].is_some());
            assert_eq!(second.contains(row), expected, "row {row} in {start}..{end}: {}", what());
        }

        let meta = &chunk.meta.columns[0];
        if let Predicate::In(list) = &predicate {
            // What no value of the chunk can equal may be left out.
            let mut third = Selection::all(rows);
            opened.select(&Predicate::In(list.within(&meta.zone)), 0..rows, &mut third).unwrap();
            assert_eq!(third, selection, "{} within its zone", what());
        }
        let found = hits.iter().any(|&hit| hit);
        assert!(!found || may_match(meta, None, &predicate), "chunk pruned: {}", what());
        for (vector, hits) in hits.chunks(VECTOR_ROWS).enumerate() {
            let found = hits.iter().any(|&hit| hit);
            let may = may_match(meta, Some(vector), &predicate);
            assert!(!found || may, "vector {vector} pruned: {}", what());
        }
    }
}

#[test]
fn every_type_and_shape_selects_as_row_by_row() {
    for (seed, shape) in SHAPES.into_iter().enumerate() {
        for kind in types() {
            for nulls in [0, 30] {
                let array = column(&kind, shape, 6200, nulls, seed as u64);
                check(&array, &mut Random::new(seed as u64 + nulls));
            }
        }
    }
}

#[test]
fn large_chunks_select_as_row_by_row() {
    for (kind, shape) in [(0, 1), (0, 2), (1, 4), (4, 3), (3, 6), (6, 7), (6, 1)] {
        let array = column(&types()[kind], SHAPES[shape], CHUNK_ROWS, 5, 11);
        check(&array, &mut Random::new(5));
    }
}

#[test]
fn sorted_columns_are_pruned_to_the_vector() {
    for kind in [DataType::Int64, DataType::Utf8, DataType::Float64, DataType::Decimal128(38, 2)] {
        let array = column(&kind, SHAPES[2], CHUNK_ROWS, 0, 9);
        let array = if kind == DataType::Float64 {
            let rise = (0..CHUNK_ROWS).map(|row| row as f64 * 1.37);
            std::sync::Arc::new(Float64Array::from_iter_values(rise)) as ArrayRef
        } else {
            array
        };
        let (chunk, _) = encoded(&array);
        let wanted = Predicate::Compare(Op::Eq, scalar(&array, 70_000).unwrap());
        let meta = &chunk.meta.columns[0];
        let kept: Vec<usize> =
            (0..64).filter(|&vector| may_match(meta, Some(vector), &wanted)).collect();
        // The rulers of texts and floats are uneven, so a neighbour may stay.
        let even = matches!(kind, DataType::Int64 | DataType::Decimal128(..));
        let most = if even { 1 } else { 2 };
        assert!(kept.contains(&(70_000 / 2048)) && kept.len() <= most, "{kind}: {kept:?}");
    }
}

#[test]
fn unsorted_columns_have_no_vector_zones() {
    let array = column(&DataType::Int64, SHAPES[9], CHUNK_ROWS, 0, 9);
    assert!(encoded(&array).0.meta.columns[0].vectors.is_empty());
}

#[test]
fn constants_of_another_sort_are_refused() {
    let array = column(&DataType::Int64, SHAPES[1], 100, 0, 1);
    let (_, opened) = encoded(&array);
    let text = Predicate::Compare(Op::Eq, Scalar::Bytes(b"1".to_vec()));
    assert!(opened.select(&text, 0..100, &mut Selection::all(100)).is_err());
    let number = Predicate::Compare(Op::Eq, Scalar::Int(1));
    assert!(opened.select(&number, 0..100, &mut Selection::all(99)).is_err());
    assert!(opened.select(&number, 0..101, &mut Selection::all(100)).is_err());
}

/// Each value is looked up in a list with more entries than the column has rows.
#[test]
fn lists_that_are_longer_than_the_column_select_as_row_by_row() {
    for rows in [1, 10, 63, 64, 65, 100] {
        let array: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(0..rows));
        let (_, opened) = encoded(&array);
        let predicate = Predicate::In((0..500).map(|value| Scalar::Int(value * 3)).collect());
        let length = usize::try_from(rows).unwrap();
        let mut selection = Selection::all(length);
        opened.select(&predicate, 0..length, &mut selection).unwrap();
        assert_eq!(selection.count(), length.div_ceil(3), "{rows} rows");
    }
}

/// A NaN lies between no two numbers, and yet is another than every number.
#[test]
fn nan_is_found_where_nothing_else_is_outside_of_the_constant() {
    let mixed = (0..5000).map(|row| if row % 100 == 7 { f64::NAN } else { 5.0 });
    // A vector of nothing else, too.
    let apart = (0..5000).map(|row| if row < 2048 { f64::NAN } else { 5.0 });
    for values in [mixed.collect::<Vec<_>>(), apart.collect()] {
        let array: ArrayRef = std::sync::Arc::new(Float64Array::from(values.clone()));
        let (chunk, opened) = encoded(&array);
        for predicate in [Predicate::Compare(Op::Ne, Scalar::Float(5.0)), Predicate::IsNotNull] {
            let expected = |value: &f64| predicate == Predicate::IsNotNull || value.is_nan();
            let mut selection = Selection::all(5000);
            opened.select(&predicate, 0..5000, &mut selection).unwrap();
            assert_eq!(selection.count(), values.iter().filter(|it| expected(it)).count());
            assert!(may_match(&chunk.meta.columns[0], None, &predicate));
            for (vector, values) in values.chunks(VECTOR_ROWS).enumerate() {
                let found = may_match(&chunk.meta.columns[0], Some(vector), &predicate);
                assert!(found || !values.iter().any(expected), "vector {vector}");
            }
        }
    }
}

/// Zones keep the first 32 bytes of texts: what goes on behind them may be anything.
#[test]
fn long_texts_that_share_their_beginning_are_found() {
    let texts = (0..5000).map(|row| Some(format!("{}{row:06}", "x".repeat(40))));
    let array: ArrayRef = std::sync::Arc::new(texts.collect::<arrow::array::StringArray>());
    let (chunk, opened) = encoded(&array);
    for row in [0, 1, 2047, 2048, 4999] {
        let text = scalar(&array, row).unwrap();
        for op in [Op::Eq, Op::Ge, Op::Le] {
            let predicate = Predicate::Compare(op, text.clone());
            for vector in [None, Some(row / 2048)] {
                assert!(may_match(&chunk.meta.columns[0], vector, &predicate), "{op:?} {row}");
            }
            let mut selection = Selection::all(5000);
            opened.select(&predicate, 0..5000, &mut selection).unwrap();
            let expected = match op {
                Op::Eq => 1,
                Op::Ge => 5000 - row,
                _ => row + 1,
            };
            assert_eq!(selection.count(), expected, "{op:?} {row}");
        }
    }
}

#[test]
fn a_test_is_asked_once_for_a_dictionary() {
    let array = column(&DataType::Utf8, SHAPES[6], 20_000, 10, 1);
    let (_, opened) = encoded(&array);
    assert_eq!(opened.codec(), Codec::Dictionary);
    let asked = std::cell::Cell::new(0);
    let keep = |values: &ArrayRef| {
        asked.set(asked.get() + values.len());
        Ok(BooleanArray::from(vec![true; values.len()]))
    };
    let mut selection = Selection::all(20_000);
    opened.select_with(&keep, 0..20_000, &mut selection).unwrap();
    assert_eq!(asked.get(), 10);
    assert_eq!(selection.count(), 20_000 - array.null_count());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(60)))]

    #[test]
    fn any_column_selects_as_row_by_row(
        shape in 0..SHAPES.len(),
        kind in 0..8usize,
        rows in 0..5000usize,
        nulls in prop::sample::select(vec![0u64, 1, 50, 97]),
        seed: u64,
    ) {
        let array = column(&types()[kind], SHAPES[shape], rows, nulls, seed);
        check(&array, &mut Random::new(seed));
    }
}
