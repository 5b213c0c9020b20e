//! Tests of statistics of known data, and of the estimates that they give.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_types::{ColumnType, collation};

use super::*;

fn stored(ty: ColumnType) -> StoredColumn {
    StoredColumn { id: 7, ty, filler: None }
}

/// The statistics of a table whose rows are all read.
fn all_of(values: Vec<Option<i64>>, buckets: u32) -> ColumnStatistics {
    let rows = values.len() as u64;
    let array: ArrayRef = Arc::new(Int64Array::from(values));
    let mut collector = Collector::new(&DataType::Int64, true);
    collector.add(&array, &array).unwrap();
    let column = stored(ColumnType::bigint());
    ColumnStatistics::of((&column, false), (1, rows), &collector.finish(), buckets)
}

fn near(found: Option<f64>, wanted: f64) {
    let found = found.unwrap();
    assert!((found - wanted).abs() < 0.005, "{found} instead of {wanted}");
}

fn compare(op: Op, value: i128) -> Predicate {
    Predicate::Compare(op, Scalar::Int(value))
}

#[test]
fn few_values_are_known_exactly() {
    // 0 to 9, the number n 10 n times; 50 NULLs.
    let values =
        (0_i64..10).zip(0..).flat_map(|(n, times)| std::iter::repeat_n(Some(n), 10 * times));
    let column = all_of(values.chain(std::iter::repeat_n(None, 50)).collect(), 100);
    assert_eq!((column.rows, column.distinct, column.null_share), (500, Some(9), 0.1));
    assert_eq!(column.common[0], (Scalar::Int(9), 0.18));
    assert_eq!(column.common.len(), 9);
    let share = |predicate: Predicate| selectivity(&column, &[&predicate]);
    near(share(compare(Op::Eq, 9)), 0.18);
    near(share(compare(Op::Eq, 77)), 0.0);
    near(share(compare(Op::Ne, 9)), 0.72);
    near(share(compare(Op::Lt, 3)), 0.06);
    near(share(compare(Op::Le, 3)), 0.12);
    near(share(compare(Op::Gt, 8)), 0.18);
    near(share(compare(Op::Ge, 0)), 0.9);
    near(share(Predicate::Between(Scalar::Int(2), Scalar::Int(3))), 0.1);
    near(share(Predicate::Between(Scalar::Int(3), Scalar::Int(2))), 0.0);
    near(share(Predicate::In(vec![Scalar::Int(1), Scalar::Int(2), Scalar::Int(2)].into())), 0.06);
    near(share(Predicate::IsNull), 0.1);
    near(share(Predicate::IsNotNull), 0.9);
    let (low, high) = (compare(Op::Ge, 2), compare(Op::Lt, 4));
    near(selectivity(&column, &[&low, &high]), 0.1);
    near(selectivity(&column, &[&low, &Predicate::IsNull]), 0.0);
}

#[test]
fn many_values_are_known_by_their_buckets() {
    // 10,000 values once, and one of them 10,000 times more.
    let values = (0..10_000).chain(std::iter::repeat_n(5000, 10_000));
    let column = all_of(values.map(Some).collect(), 100);
    assert_eq!(column.distinct, Some(10_000));
    assert_eq!(column.common.len(), 1);
    let share = |predicate: Predicate| selectivity(&column, &[&predicate]);
    near(share(compare(Op::Eq, 5000)), 0.5);
    let rare = share(compare(Op::Eq, 17)).unwrap();
    assert!((0.00003..0.0001).contains(&rare), "{rare}");
    near(share(compare(Op::Lt, 2500)), 0.125);
    near(share(compare(Op::Gt, 7500)), 0.125);
    near(share(compare(Op::Lt, -5)), 0.0);
    near(share(compare(Op::Lt, 99_999)), 1.0);
    near(share(Predicate::Between(Scalar::Int(1000), Scalar::Int(1999))), 0.05);
}

#[test]
fn statistics_of_another_type_say_nothing() {
    let column = all_of(vec![Some(1)], 10);
    let table = TableStatistics { columns: vec![column] };
    assert!(table.column(&stored(ColumnType::bigint())).is_some());
    assert!(table.column(&stored(ColumnType::bigint_unsigned())).is_none());
    assert!(table.column(&StoredColumn { id: 8, ..stored(ColumnType::bigint()) }).is_none());
}

#[test]
fn texts_under_a_collation_are_not_compared_by_their_bytes() {
    let mut column = all_of(vec![Some(1), None], 10);
    column.ty = ColumnType::varchar(10, collation::UTF8MB4_0900_AI_CI);
    let value = Predicate::Compare(Op::Eq, Scalar::Bytes(b"a".to_vec()));
    assert_eq!(selectivity(&column, &[&value]), None);
    near(selectivity(&column, &[&Predicate::IsNull]), 0.5);
}

#[test]
fn an_empty_table_has_no_shares() {
    let column = all_of(Vec::new(), 10);
    assert_eq!((column.distinct, &column.histogram), (Some(0), &None));
    assert_eq!(selectivity(&column, &[&compare(Op::Eq, 1)]), None);
    assert_eq!(selectivity(&column, &[&compare(Op::Lt, 1)]), None);
}

#[test]
fn chance_makes_no_common_values_of_a_sample() {
    // Of a sample of 10,000 rows, 1000 values came 7 to 11 times each, and one of them 1000 times.
    let counts = (0..1000_u64).map(|at| if at == 500 { 1000 } else { 7 + at % 5 });
    let values: Vec<_> = (0..).map(Scalar::Int).zip(counts).collect();
    let rows = values.iter().map(|(_, count)| count).sum();
    let counted = Counted { rows, nulls: 0, values: Some(values) };
    let column = stored(ColumnType::bigint());
    let of = |all| ColumnStatistics::of((&column, false), (1, all), &counted, 100).common;
    let found = of(1_000_000);
    assert_eq!((found.len(), &found[0].0), (1, &Scalar::Int(500)));
    assert_eq!(of(rows).len(), COMMON_MAX);
}
