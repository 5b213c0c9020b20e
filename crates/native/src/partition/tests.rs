//! Tests of partitioning: partitions of rows, and pruning that never drops a partition with a
//! matching row.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int64Array,
    StringArray, UInt32Array,
};
use arrow::datatypes::i256;
use pelorus_chunk::{Op, Predicate, Scalar, Value};
use pelorus_error::Code;
use pelorus_functions::EvalContext;
use pelorus_sql::Mode;
use pelorus_sql::ddl::{TableDefinition, TableStatement};
use pelorus_types::temporal::DateTime;
use pelorus_types::{Collation, collation};
use proptest::prelude::*;

use super::*;
use crate::collation_keys;
use crate::definition::{Derived, decode, encode};

fn definition(sql: &str) -> TableDefinition {
    let statement = pelorus_sql::ddl::parse(sql, Mode::default()).unwrap();
    let TableStatement::Create(mut definition) = statement else { panic!("{sql}") };
    if let Some(partitioning) = &mut definition.partitioning {
        let context = Arc::new(EvalContext::default());
        settle(partitioning, Mode::default(), &context).unwrap();
    }
    definition.normalise();
    *definition
}

fn derived(sql: &str) -> Result<Derived> {
    Derived::of("d", &definition(sql), Mode::default())
}

/// A table of an INT, a BIGINT, a DATE and a VARCHAR, all in the primary key.
fn table(partitioning: &str) -> Partitioner {
    derived(&create(partitioning)).unwrap().partitioner
}

fn create(partitioning: &str) -> String {
    format!(
        "CREATE TABLE t (a INT, b BIGINT, d DATE, s VARCHAR(10), v INT, x1 TEXT, x2 DECIMAL(5,2), \
         PRIMARY KEY (a, b, d, s)) {partitioning}"
    )
}

fn error(partitioning: &str) -> u16 {
    derived(&create(partitioning)).unwrap_err().errno()
}

/// Rows of the table: a, b, days from 2020-01-01, s.
type Row = (i64, i64, i64, String);

fn columns(rows: &[Row]) -> Vec<ArrayRef> {
    let date = |days: i64| {
        let day = DateTime::date(2020, 1, 1).day_number() + days;
        DateTime::from_day_number(day).unwrap().pack()
    };
    vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| date(row.2)))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.3.as_str()))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|_| 0))),
    ]
}

const METHODS: [&str; 12] = [
    "",
    "PARTITION BY HASH (a) PARTITIONS 7",
    "PARTITION BY LINEAR HASH (a + b) PARTITIONS 6",
    "PARTITION BY KEY (s, a) PARTITIONS 5",
    "PARTITION BY KEY () PARTITIONS 3",
    "PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (-5), PARTITION p1 VALUES LESS THAN \
     (0), PARTITION p2 VALUES LESS THAN (7), PARTITION p3 VALUES LESS THAN MAXVALUE)",
    "PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p0 VALUES LESS THAN (TO_DAYS('2020-01-10')), \
     PARTITION p1 VALUES LESS THAN (TO_DAYS('2020-02-01')), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    "PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS \
     THAN (2021), PARTITION p2 VALUES LESS THAN (3000))",
    "PARTITION BY RANGE COLUMNS (a, b) (PARTITION p0 VALUES LESS THAN (-3, 0), PARTITION p1 VALUES \
     LESS THAN (3, 3), PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
    "PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('b'), PARTITION p1 VALUES LESS \
     THAN (MAXVALUE))",
    "PARTITION BY (LEFT(s, 1), TIME_SLICE(d, INTERVAL 5 DAY), ROUND_DOWN(a, 4))",
    "PARTITION BY (HASH(b, 4), d, a)",
];

const COLLATIONS: [&str; 7] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_bin",
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "latin1_swedish_ci",
    "latin1_bin",
];

const TEXT_METHODS: [&str; 7] = [
    "PARTITION BY (s)",
    "PARTITION BY (LEFT(s, 1))",
    "PARTITION BY (LEFT(s, 2), a)",
    "PARTITION BY (HASH(s, 4))",
    "PARTITION BY KEY (s) PARTITIONS 5",
    "PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('ae'), PARTITION p1 VALUES \
     LESS THAN ('s '), PARTITION p2 VALUES LESS THAN (MAXVALUE))",
    "PARTITION BY RANGE COLUMNS (s, a) (PARTITION p0 VALUES LESS THAN ('b', 3), PARTITION p1 VALUES \
     LESS THAN (MAXVALUE, MAXVALUE))",
];

/// The table with a text under a collation.
fn table_of_texts(collation: &str, partitioning: &str) -> Partitioner {
    let charset = Collation::by_name(collation).unwrap().charset();
    let ty = format!("s VARCHAR(10) CHARACTER SET {charset} COLLATE {collation}");
    let sql = create(partitioning).replace("s VARCHAR(10)", &ty);
    derived(&sql).unwrap().partitioner
}

/// Texts of letters that count as others or as several, spaces, and a character below the space,
/// which is not compared after a space.
fn text() -> impl Strategy<Value = String> {
    "[aAbäÆeEsSß \u{1}]{0,4}".prop_filter("has one", |text| !text.contains(" \u{1}"))
}

fn row() -> impl Strategy<Value = Row> {
    (-10_i64..15, -4_i64..5, -20_i64..400, "[aAbBß]{0,3}")
}

fn scalar(column: usize, values: &[ArrayRef], row: usize) -> Scalar {
    match values[column].as_any().downcast_ref::<Int64Array>() {
        Some(array) => Scalar::Int(i128::from(array.value(row))),
        None => {
            let texts = values[column].as_any().downcast_ref::<StringArray>().unwrap();
            Scalar::Bytes(texts.value(row).as_bytes().to_vec())
        }
    }
}

/// The result of a condition for a row, by the definition: texts compare by their weights.
fn fulfils(
    row: usize,
    values: &[ArrayRef],
    predicates: &[(usize, Predicate)],
    collation: Collation,
) -> bool {
    predicates.iter().all(|(column, predicate)| {
        let scalar = weighed(&scalar(*column, values, row), collation);
        let value: Value<'_> = scalar.as_value();
        weighed_in(predicate, collation).matches(value)
    })
}

/// A text as its weights.
fn weighed(scalar: &Scalar, collation: Collation) -> Scalar {
    let Scalar::Bytes(bytes) = scalar else { return scalar.clone() };
    let text = std::str::from_utf8(bytes).unwrap();
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let weights = collation_keys::weights(&texts, collation).unwrap();
    Scalar::Bytes(weights.as_binary::<i32>().value(0).to_vec())
}

/// A condition whose texts are weights.
fn weighed_in(predicate: &Predicate, collation: Collation) -> Predicate {
    let of = |scalar: &Scalar| weighed(scalar, collation);
    match predicate {
        Predicate::Compare(op, scalar) => Predicate::Compare(*op, of(scalar)),
        Predicate::Between(low, high) => Predicate::Between(of(low), of(high)),
        Predicate::In(list) => Predicate::In(list.iter().map(of).collect()),
        other => other.clone(),
    }
}

fn predicate(kind: u8, one: Scalar, two: Scalar) -> Predicate {
    match kind % 9 {
        0 => Predicate::Compare(Op::Eq, one),
        1 => Predicate::Compare(Op::Ne, one),
        2 => Predicate::Compare(Op::Lt, one),
        3 => Predicate::Compare(Op::Le, one),
        4 => Predicate::Compare(Op::Gt, one),
        5 => Predicate::Compare(Op::Ge, one),
        6 => Predicate::Between(one, two),
        7 => Predicate::In(vec![one, two].into()),
        _ => Predicate::IsNotNull,
    }
}

#[test]
fn texts_that_padding_turns_are_refused() {
    let range = "PARTITION BY RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('m'), PARTITION p1 \
                 VALUES LESS THAN (MAXVALUE))";
    let misfits = |collation: &str| {
        let texts = ["m", "m\t", "m  \u{1}x", "ma\t", "a\t", "m \t", "", "mm "];
        let rows: Vec<Row> = texts.iter().map(|text| (0, 0, 0, (*text).to_owned())).collect();
        let found = table_of_texts(collation, range).misfits(&columns(&rows), &[]).unwrap();
        found.into_iter().map(|(row, error)| (row, error.errno())).collect::<Vec<_>>()
    };
    assert_eq!(misfits("utf8mb4_bin"), [(1, 1235), (2, 1235), (5, 1235)]);
    assert!(misfits("utf8mb4_0900_bin").is_empty());
}

proptest! {
    #[test]
    fn every_row_is_in_one_partition(
        rows in prop::collection::vec(row(), 1..40), method in 0..METHODS.len()
    ) {
        let partitioner = table(METHODS[method]);
        let values = columns(&rows);
        let groups = partitioner.split(&values).unwrap();
        let mut seen: Vec<u32> =
            groups.iter().flat_map(|(_, rows)| rows.values().to_vec()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..u32::try_from(rows.len()).unwrap()).collect::<Vec<_>>());
        let keys: HashSet<_> = groups.iter().map(|(key, _)| key.clone()).collect();
        prop_assert_eq!(keys.len(), groups.len());
    }

    #[test]
    fn equal_keys_are_in_one_partition(one in row(), method in 0..METHODS.len()) {
        // The collation of `s` is utf8mb4_0900_ai_ci.
        let mut other = one.clone();
        other.3 = one.3.to_uppercase();
        let values = columns(&[one, other]);
        prop_assert_eq!(table(METHODS[method]).split(&values).unwrap().len(), 1);
    }

    #[test]
    fn pruning_never_drops_a_partition_with_a_matching_row(
        rows in prop::collection::vec(row(), 1..30),
        method in 0..METHODS.len(),
        conditions in prop::collection::vec((0_usize..4, any::<u8>(), any::<prop::sample::Index>(),
            any::<prop::sample::Index>()), 1..4),
    ) {
        let partitioner = table(METHODS[method]);
        let values = columns(&rows);
        let predicates: Vec<(usize, Predicate)> = conditions
            .iter()
            .map(|(column, kind, one, two)| {
                let one = scalar(*column, &values, one.index(rows.len()));
                let two = scalar(*column, &values, two.index(rows.len()));
                (*column, predicate(*kind, one, two))
            })
            .collect();
        for (key, rows) in partitioner.split(&values).unwrap() {
            let rows: &UInt32Array = &rows;
            let fulfils = |row: &u32| {
                fulfils(*row as usize, &values, &predicates, collation::UTF8MB4_0900_AI_CI)
            };
            if rows.values().iter().any(fulfils) {
                prop_assert!(partitioner.may_hold(&key, &predicates), "{predicates:?}");
            }
        }
    }

    #[test]
    fn texts_leave_out_no_partition_with_a_matching_row(
        texts in prop::collection::vec(text(), 1..30),
        method in 0..TEXT_METHODS.len(),
        collation in 0..COLLATIONS.len(),
        kind in any::<u8>(), one in text(), two in text(), given: bool,
    ) {
        let partitioner = table_of_texts(COLLATIONS[collation], TEXT_METHODS[method]);
        let rows: Vec<Row> = texts.iter().map(|text| (0, 0, 0, text.clone())).collect();
        let values = columns(&rows);
        // A constant of the rows, as a rule, and sometimes another one.
        let one = if given { texts[0].clone() } else { one };
        let bytes = |text: &str| Scalar::Bytes(text.as_bytes().to_vec());
        let predicates = [(3, predicate(kind, bytes(&one), bytes(&two)))];
        let collation = Collation::by_name(COLLATIONS[collation]).unwrap();
        for (key, rows) in partitioner.split(&values).unwrap() {
            let rows: &UInt32Array = &rows;
            let fulfils = |row: &u32| fulfils(*row as usize, &values, &predicates, collation);
            if rows.values().iter().any(fulfils) {
                prop_assert!(partitioner.may_hold(&key, &predicates), "{predicates:?}");
            }
        }
    }

    #[test]
    fn places_of_hash_are_within_the_count(value in any::<i64>(), count in 1_u32..100, linear: bool) {
        prop_assert!(place::place_of_hash(i128::from(value), count, linear) < count);
    }
}

#[test]
fn pruning_drops_what_cannot_match() {
    let partitions = |method: &str, predicates: &[(usize, Predicate)]| -> Vec<String> {
        let partitioner = table(method);
        let named = partitioner.named().iter();
        named
            .filter(|named| partitioner.may_hold(&named.key, predicates))
            .map(|named| named.name.clone())
            .collect()
    };
    let int = |value: i128| Scalar::Int(value);
    let below = |value| Predicate::Compare(Op::Lt, int(value));
    assert_eq!(partitions(METHODS[5], &[(0, below(-5))]), ["p0", "p1"]);
    assert_eq!(partitions(METHODS[5], &[(0, Predicate::Compare(Op::Gt, int(6)))]), ["p2", "p3"]);
    assert_eq!(partitions(METHODS[5], &[(0, Predicate::Compare(Op::Eq, int(3)))]), ["p2"]);
    let in_list = Predicate::In(vec![int(-100), int(100)].into());
    assert_eq!(partitions(METHODS[5], &[(0, in_list)]), ["p0", "p3"]);
    assert_eq!(partitions(METHODS[1], &[(0, Predicate::Compare(Op::Eq, int(8)))]), ["p1"]);
    let day = |month, day| Scalar::Int(i128::from(DateTime::date(2020, month, day).pack()));
    let within = Predicate::Between(day(1, 15), day(1, 20));
    assert_eq!(partitions(METHODS[6], &[(2, within)]), ["p0", "p1"]);
    let list = "PARTITION BY LIST (a) (PARTITION x VALUES IN (1, 2), PARTITION y VALUES IN (3))";
    assert_eq!(partitions(list, &[(0, below(3))]), ["x"]);
    assert_eq!(partitions(METHODS[8], &[(0, below(-4))]), ["p0"]);
    // (3, 2) is in the one, and (3, 3) in the other.
    let is_three = Predicate::Compare(Op::Eq, int(3));
    assert_eq!(partitions(METHODS[8], &[(0, is_three)]), ["p1", "p2"]);
}

#[test]
fn one_partition_is_left_of_equal_texts() {
    for collation in COLLATIONS {
        for method in &TEXT_METHODS[..3] {
            let partitioner = table_of_texts(collation, method);
            let texts = ["AB1", "AC2", "BB3", "", "ab1 "];
            let rows: Vec<Row> = texts.iter().map(|text| (0, 0, 0, (*text).to_owned())).collect();
            let groups = partitioner.split(&columns(&rows)).unwrap();
            let one_of = |texts: &[&str]| {
                let list = texts.iter().map(|text| Scalar::Bytes(text.as_bytes().to_vec()));
                [(3, Predicate::In(list.collect()))]
            };
            let left = |predicates: &[(usize, Predicate)]| -> Vec<u32> {
                let left = groups.iter().filter(|(key, _)| partitioner.may_hold(key, predicates));
                left.map(|(_, rows)| rows.value(0)).collect()
            };
            assert_eq!(left(&one_of(&["BB3"])), [2], "{collation}: {method}");
            assert_eq!(left(&one_of(&["", "BB3"])), [2, 3], "{collation}: {method}");
            assert_eq!(left(&one_of(&["CC"])), [0_u32; 0], "{collation}: {method}");
            assert_eq!(left(&one_of(&["AB1"]))[0], 0, "{collation}: {method}");
        }
    }
    // Equal texts may begin with other characters.
    let partitioner = table_of_texts("utf8mb4_0900_ai_ci", "PARTITION BY (LEFT(s, 1))");
    let groups = partitioner.split(&columns(&[(0, 0, 0, "Æ".to_owned())])).unwrap();
    let equals = |text: &str| [(3, Predicate::Compare(Op::Eq, Scalar::Bytes(text.into())))];
    assert!(partitioner.may_hold(&groups[0].0, &equals("ae")));
    assert!(!partitioner.may_hold(&groups[0].0, &equals("be")));
}

#[test]
fn ranges_of_texts_leave_out_partitions() {
    let left = |collation: &str, op: Op| -> Vec<String> {
        let partitioner = table_of_texts(collation, TEXT_METHODS[5]);
        let predicates = [(3, Predicate::Compare(op, Scalar::Bytes(b"Ad".to_vec())))];
        let named = partitioner.named().iter();
        let left = named.filter(|named| partitioner.may_hold(&named.key, &predicates));
        left.map(|named| named.name.clone()).collect()
    };
    assert_eq!(left("utf8mb4_0900_ai_ci", Op::Lt), ["p0"]);
    assert_eq!(left("latin1_swedish_ci", Op::Lt), ["p0"]);
    assert_eq!(left("utf8mb4_0900_bin", Op::Lt), ["p0"]);
    assert_eq!(left("utf8mb4_0900_ai_ci", Op::Gt), ["p0", "p1", "p2"]);
    // A text with a character below the space could be smaller than what is before it.
    assert_eq!(left("utf8mb4_bin", Op::Lt), ["p0", "p1", "p2"]);
    assert_eq!(left("utf8mb4_bin", Op::Eq), ["p0"]);
}

#[test]
fn mysql_s_numbers_of_linear_hash() {
    // The example of MySQL's manual: YEAR(col3) of 2003-04-14 and 1998-10-19, six partitions.
    assert_eq!(place::place_of_hash(2003, 6, true), 3);
    assert_eq!(place::place_of_hash(1998, 6, true), 2);
    assert_eq!(place::place_of_hash(-8, 7, false), 1);
}

#[test]
fn values_that_fit_no_partition() {
    let partitioner = table(
        "PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (1), PARTITION p1 VALUES LESS THAN \
         (5))",
    );
    let rows = columns(&[(5, 0, 0, String::new())]);
    let error = partitioner.split(&rows).unwrap_err();
    assert_eq!(error.code(), Code::NoPartitionForValue);
    assert_eq!(error.message(), "Table has no partition for value 5");
    let partitioner = table("PARTITION BY LIST COLUMNS (s) (PARTITION p VALUES IN ('a', 'b'))");
    let found = partitioner.split(&columns(&[(5, 0, 0, "A".to_owned())])).unwrap();
    assert_eq!(found[0].0, b"p");
    let error = partitioner.split(&columns(&[(5, 0, 0, "c".to_owned())])).unwrap_err();
    assert_eq!(error.message(), "Table has no partition for value from column_list");
}

#[test]
fn partitionings_that_cannot_be() {
    for (partitioning, errno) in [
        ("PARTITION BY HASH (v)", 1503),
        ("PARTITION BY HASH (a + v)", 1503),
        ("PARTITION BY KEY (a, v)", 1503),
        ("PARTITION BY (v)", 1503),
        ("PARTITION BY HASH (x)", 1054),
        ("PARTITION BY HASH (s)", 1659),
        ("PARTITION BY HASH (1)", 1486),
        ("PARTITION BY HASH (CRC32(s))", 1564),
        ("PARTITION BY (CRC32(s))", 1564),
        ("PARTITION BY (ROUND_DOWN(s, 3))", 1564),
        ("PARTITION BY KEY (x)", 1488),
        ("PARTITION BY KEY (x1)", 1502),
        ("PARTITION BY LIST COLUMNS (x1) (PARTITION p VALUES IN ('a'))", 1502),
        ("PARTITION BY KEY (x2)", 1503),
        ("PARTITION BY LIST COLUMNS (x2) (PARTITION p VALUES IN (1))", 1659),
        ("PARTITION BY HASH (a) PARTITIONS 0", 1504),
        ("PARTITION BY HASH (a) PARTITIONS 9000", 1499),
        ("PARTITION BY RANGE (a)", 1492),
        (
            "PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (3), PARTITION q VALUES LESS THAN \
             (3))",
            1493,
        ),
        (
            "PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN MAXVALUE, PARTITION q VALUES LESS \
             THAN (3))",
            1481,
        ),
        (
            "PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (3), PARTITION P VALUES LESS THAN \
             (4))",
            1517,
        ),
        ("PARTITION BY LIST (a) (PARTITION p VALUES IN (1, 1))", 1495),
        ("PARTITION BY LIST (a) (PARTITION p VALUES IN (1), PARTITION q DEFAULT)", 1235),
        ("PARTITION BY HASH (a) (PARTITION p DEFAULT)", 1235),
        ("PARTITION BY RANGE (a) (PARTITION p VALUES IN (1))", 1480),
        ("PARTITION BY RANGE COLUMNS (a, b) (PARTITION p VALUES LESS THAN (1))", 1653),
        ("PARTITION BY RANGE COLUMNS (a) (PARTITION p VALUES LESS THAN ('x'))", 1654),
    ] {
        assert_eq!(error(partitioning), errno, "{partitioning}");
    }
}

#[test]
fn equal_numbers_are_in_one_partition() {
    let partitioner = derived(
        "CREATE TABLE t (f DOUBLE, g FLOAT, n DECIMAL(10,2), w DECIMAL(60,2), t TIME, PRIMARY KEY \
         (f, g, n, w, t)) PARTITION BY KEY () PARTITIONS 64",
    );
    let partitioner = partitioner.unwrap().partitioner;
    let row = |zero: f32, number: i128| -> Vec<ArrayRef> {
        let narrow = Decimal128Array::from(vec![number]).with_precision_and_scale(38, 2);
        let wide = Decimal256Array::from(vec![i256::from_i128(number)]);
        vec![
            Arc::new(Float64Array::from(vec![f64::from(zero)])),
            Arc::new(Float32Array::from(vec![zero])),
            Arc::new(narrow.unwrap()),
            Arc::new(wide.with_precision_and_scale(76, 2).unwrap()),
            Arc::new(Int64Array::from(vec![0])),
        ]
    };
    let place = |row: Vec<ArrayRef>| partitioner.split(&row).unwrap()[0].0.clone();
    assert_eq!(place(row(0.0, -5)), place(row(-0.0, -5)));
    let places: HashSet<_> = (0..64).map(|it| place(row(0.0, it))).collect();
    assert!(places.len() > 16, "{}", places.len());
}

#[test]
fn what_no_new_table_has() {
    let columns = "a INT, u INT UNSIGNED, d DATE, h DATETIME, t TIME, b VARBINARY(9), e ENUM('x')";
    let error = |partitioning: &str| {
        let sql =
            format!("CREATE TABLE n ({columns}, PRIMARY KEY (a, u, d, h, t, b, e)) {partitioning}");
        let derived = derived(&sql).unwrap();
        derived.partitioner.check_new(&derived.targets).err().map(|error| error.errno())
    };
    for (partitioning, errno) in [
        ("HASH (YEAR(a))", Some(1486)),
        ("HASH (YEAR(b))", Some(1486)),
        ("HASH (a + TO_DAYS(u))", Some(1486)),
        ("HASH (YEAR(t))", Some(1486)),
        ("HASH (HOUR(d))", Some(1486)),
        ("HASH (EXTRACT(MONTH FROM t))", Some(1486)),
        ("HASH (EXTRACT(DAY_HOUR FROM d))", Some(1486)),
        ("HASH (a + TO_DAYS(d))", None),
        ("HASH (HOUR(t) + HOUR(h))", None),
        ("HASH (EXTRACT(MONTH FROM d) + EXTRACT(DAY_HOUR FROM h))", None),
        (
            "RANGE (u) (PARTITION p VALUES LESS THAN (-1), PARTITION q VALUES LESS THAN (1))",
            Some(1563),
        ),
        ("LIST (u) (PARTITION p VALUES IN (-1, 1))", Some(1563)),
        ("RANGE (a) (PARTITION p VALUES LESS THAN (-1))", None),
        (
            "RANGE (a) (PARTITION pä VALUES LESS THAN (3), PARTITION PÄ VALUES LESS THAN (4))",
            Some(1517),
        ),
        ("HASH (a) (PARTITION pä, PARTITION PÄ)", Some(1517)),
        ("KEY (a, A)", Some(1652)),
        ("KEY (a, e)", None),
        ("KEY ()", None),
        ("RANGE COLUMNS (a, a) (PARTITION p VALUES LESS THAN (1, 1))", Some(1652)),
        ("LIST COLUMNS (e) (PARTITION p VALUES IN ('x'))", Some(1659)),
    ] {
        assert_eq!(error(&format!("PARTITION BY {partitioning}")), errno, "{partitioning}");
    }
}

/// Earlier versions made such tables; both partitions are one in the store.
#[test]
fn partitions_of_one_key_hold_the_rows_of_both() {
    let rows = columns(&[(1, 0, 0, String::new()), (5, 0, 0, String::new())]);
    for method in [
        "RANGE (a) (PARTITION pä VALUES LESS THAN (3), PARTITION PÄ VALUES LESS THAN (9))",
        "RANGE COLUMNS (a) (PARTITION pä VALUES LESS THAN (3), PARTITION PÄ VALUES LESS THAN (9))",
        "LIST (a) (PARTITION pä VALUES IN (1), PARTITION PÄ VALUES IN (5))",
    ] {
        let partitioner = table(&format!("PARTITION BY {method}"));
        let key = "pä".as_bytes();
        for op in [Op::Gt, Op::Ge, Op::Eq] {
            let wanted = [(0, Predicate::Compare(op, Scalar::Int(5 - i128::from(op == Op::Gt))))];
            assert!(partitioner.may_hold(key, &wanted), "{method} {op:?}");
        }
        assert_eq!(partitioner.strays(key, 2, &|at| &rows[at]).unwrap(), 0, "{method}");
    }
}

#[test]
fn functions_of_dates_of_numbers_leave_out_nothing() {
    let partitioner = table(
        "PARTITION BY RANGE (YEAR(a)) (PARTITION p0 VALUES LESS THAN (2000), PARTITION p1 VALUES \
         LESS THAN MAXVALUE)",
    );
    // 2069-12-31, though the number is below that of 1970-01-01.
    let rows = columns(&[(691_231, 0, 0, String::new())]);
    let key = partitioner.split(&rows).unwrap()[0].0.clone();
    assert_eq!(key, b"p1");
    assert!(partitioner.may_hold(&key, &[(0, Predicate::Compare(Op::Le, Scalar::Int(700_101)))]));
}

/// `TO_DAYS` and `YEAR` of such dates are NULL, whose rows are in the first partition.
#[test]
fn dates_without_a_day_are_looked_for_in_the_first_partition() {
    let partitioner = table(METHODS[6]);
    let mut rows = columns(&[(0, 0, 0, String::new())]);
    // 2024-03-00
    let packed = DateTime { year: 2024, month: 3, ..DateTime::default() }.pack();
    rows[2] = Arc::new(Int64Array::from(vec![packed]));
    let groups = partitioner.split(&rows).unwrap();
    assert_eq!(groups[0].0, b"p0");
    let later = Scalar::Int(i128::from(DateTime::date(2024, 1, 1).pack()));
    let wanted = [(2, Predicate::Compare(Op::Gt, later))];
    assert!(partitioner.may_hold(b"p0", &wanted) && !partitioner.may_hold(b"p1", &wanted));
}

#[test]
fn definitions_are_kept_with_their_partitions() {
    for method in METHODS {
        let definition = definition(&create(method));
        let bytes = encode("d", &definition, Mode::default()).unwrap();
        let (database, read, _) = decode(&bytes).unwrap();
        assert_eq!(database, "d");
        let partitioner = Derived::of("d", &read, Mode::default()).unwrap().partitioner;
        assert_eq!(partitioner.named(), table(method).named(), "{method}");
    }
}

#[test]
fn a_number_beside_a_list_of_partitions_is_gone() {
    let sql = create(
        "PARTITION BY RANGE (a) PARTITIONS 2 (PARTITION p VALUES LESS THAN (1), PARTITION q VALUES \
         LESS THAN (2))",
    );
    let mut definition = definition(&sql);
    assert_eq!(definition.partitioning.as_ref().unwrap().count, None);
    // Earlier versions kept it.
    definition.partitioning.as_mut().unwrap().count = Some(2);
    let bytes = encode("d", &definition, Mode::default()).unwrap();
    let (_, mut read, _) = decode(&bytes).unwrap();
    read.partitioning.as_mut().unwrap().partitions.remove(0);
    let left = Derived::of("d", &read, Mode::default()).unwrap().partitioner;
    assert_eq!(left.named().len(), 1);

    let sql = create("PARTITION BY RANGE (a) PARTITIONS 2 (PARTITION p VALUES LESS THAN (1))");
    let statement = pelorus_sql::ddl::parse(&sql, Mode::default()).unwrap();
    let TableStatement::Create(wrong) = statement else { panic!("{sql}") };
    let mut partitioning = wrong.partitioning.unwrap();
    let error = settle(&mut partitioning, Mode::default(), &Arc::default()).unwrap_err();
    assert_eq!(error.errno(), 1484);
}

#[test]
fn values_of_partitions_are_shown() {
    let partitioner = table("PARTITION BY (TIME_SLICE(d, INTERVAL 1 MONTH), a, HASH(b, 4), s)");
    let rows = columns(&[(-7, 3, 40, "é".to_owned())]);
    let key = partitioner.split(&rows).unwrap()[0].0.clone();
    let shown = partitioner.describe(&key).unwrap();
    assert!(shown.starts_with("'2020-02-01',-7,"), "{shown}");
    assert_eq!(partitioner.describe(b"no key"), None);
}

#[test]
fn slices_of_time_have_names_of_their_own() {
    let names = |ty: &str, slice: &str, values: [i64; 2]| {
        let sql = format!(
            "CREATE TABLE t (h {ty} PRIMARY KEY) PARTITION BY (TIME_SLICE(h, INTERVAL {slice}))"
        );
        let partitioner = derived(&sql).unwrap().partitioner;
        let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let groups = partitioner.split(&[values]).unwrap();
        let names = groups.iter().map(|(key, _)| partitioner.describe(key).unwrap());
        names.collect::<Vec<_>>()
    };
    let day = DateTime::date(2024, 5, 6).pack();
    let found = names("DATETIME(1)", "30000 MICROSECOND", [day, day + 100_000]);
    assert_eq!(found, ["'2024-05-06 00:00:00.00'", "'2024-05-06 00:00:00.09'"]);
    let found = names("DATETIME(3)", "500000 MICROSECOND", [day, day + 600_000]);
    assert_eq!(found, ["'2024-05-06 00:00:00.000'", "'2024-05-06 00:00:00.500'"]);
    let next = DateTime::date(2024, 5, 7).pack();
    let found = names("DATE", "7 HOUR", [day, next]);
    assert_ne!(found[0], found[1]);
    assert!(found[0].len() == "'2024-05-06 00:00:00'".len(), "{found:?}");
    assert_eq!(names("DATE", "1 DAY", [day, next]), ["'2024-05-06'", "'2024-05-07'"]);
}

#[test]
fn rows_that_lie_in_another_partition_than_theirs_are_counted() {
    let rows: Vec<Row> = (0..60_i64)
        .map(|at| {
            (
                at % 12 - 5,
                at % 4,
                at * 5,
                ["a", "b", "Ab"][usize::try_from(at).unwrap() % 3].to_owned(),
            )
        })
        .collect();
    let all = columns(&rows);
    for method in METHODS {
        let partitioner = table(method);
        for (key, positions) in partitioner.split(&all).unwrap() {
            let take = |it: &ArrayRef| arrow::compute::take(it, &positions, None).unwrap();
            let own: Vec<ArrayRef> = all.iter().map(take).collect();
            let strays = |key: &[u8], columns: &[ArrayRef]| {
                partitioner.strays(key, columns[0].len(), &|at| &columns[at]).unwrap()
            };
            assert_eq!(strays(&key, &own), 0, "{method}");
            assert_eq!(strays(b"elsewhere", &own), own[0].len(), "{method}");
            assert_eq!(strays(&key, &all), rows.len() - own[0].len(), "{method}");
        }
    }
}
