//! Tests of the conditions and the joining of cells.

use pelorus_types::ColumnType;
use proptest::prelude::*;

use super::bound::condition;
use super::*;
use crate::table::{KeyPart, RemoteColumn};

fn table(nullable: bool) -> RemoteTable {
    let column = |name: &str| RemoteColumn {
        name: name.to_owned(),
        ty: ColumnType::bigint(),
        sql_type: "bigint(20)".to_owned(),
        charset: None,
        collation: None,
        nullable,
        default: None,
        extra: String::new(),
        generated: None,
        comment: String::new(),
        invisible: false,
    };
    let part = |name: &str| KeyPart {
        column: name.to_owned(),
        cardinality: None,
        prefix: None,
        nullable,
        descending: false,
        expression: None,
    };
    RemoteTable {
        database: "d".to_owned(),
        name: "t".to_owned(),
        is_view: false,
        columns: vec![column("a"), column("b")],
        keys: vec![RemoteKey {
            name: "PRIMARY".to_owned(),
            unique: true,
            kind: "BTREE".to_owned(),
            parts: vec![part("a"), part("b")],
            comment: String::new(),
            ignored: false,
        }],
        partitions: Vec::new(),
        rows: 1_000_000,
        bytes: 0,
        engine: "InnoDB".to_owned(),
        collation: None,
        comment: String::new(),
        auto_increment: None,
        folds_names: false,
    }
}

fn text(lower: &[&str], upper: &[&str], nullable: bool) -> Option<String> {
    let table = table(nullable);
    let bound = |values: &[&str]| -> Option<Bound> {
        (!values.is_empty()).then(|| values.iter().map(|value| (*value).to_owned()).collect())
    };
    let range = KeyRange {
        condition: condition(&table.keys[0], &table, bound(lower).as_ref(), bound(upper).as_ref()),
        partitions: Vec::new(),
        est_rows: 0,
    };
    range.predicate("")
}

#[test]
fn conditions_are_intervals_of_the_key() {
    assert_eq!(text(&[], &[], false), None);
    assert_eq!(text(&[], &["5"], false).unwrap(), "`a` < 5");
    assert_eq!(text(&[], &["5"], true).unwrap(), "((`a` IS NULL) OR (`a` < 5))");
    assert_eq!(text(&["5"], &["9"], true).unwrap(), "`a` >= 5 AND `a` < 9");
    assert_eq!(text(&["5"], &[], true).unwrap(), "`a` >= 5");
    assert_eq!(text(&["5", "1"], &["5", "3"], false).unwrap(), "`a` = 5 AND `b` >= 1 AND `b` < 3");
    assert_eq!(
        text(&["5"], &["5", "3"], true).unwrap(),
        "`a` = 5 AND ((`b` IS NULL) OR (`b` < 3))"
    );
    assert_eq!(
        text(&["5", "1"], &["7", "3"], false).unwrap(),
        "((`a` = 5 AND `b` >= 1) OR (`a` > 5 AND `a` < 7) OR (`a` = 7 AND `b` < 3))"
    );
    let range = KeyRange {
        condition: Some(format!("{QUALIFIER}`a` < 5")),
        partitions: Vec::new(),
        est_rows: 1,
    };
    assert_eq!(range.predicate("o`t").unwrap(), "`o``t`.`a` < 5");
}

proptest! {
    #[test]
    fn joined_ranges_follow_each_other_and_are_even(
        rows in prop::collection::vec(0_u64..1000, 1..60),
        count in 1_usize..20,
    ) {
        let table = table(false);
        let cells: Vec<_> = rows.iter().enumerate().map(|(at, here)| Cell {
            lower: (at > 0).then(|| vec![at.to_string()]),
            upper: (at + 1 < rows.len()).then(|| vec![(at + 1).to_string()]),
            rows: *here,
        }).collect();
        let ranges = join_cells(&cells, count, &table.keys[0], &table, &[]);
        prop_assert!(!ranges.is_empty());
        prop_assert_eq!(
            ranges.iter().map(KeyRange::est_rows).sum::<u64>(),
            rows.iter().sum::<u64>()
        );
        let most = rows.iter().max().unwrap();
        let share = rows.iter().sum::<u64>() / count as u64;
        for range in &ranges {
            prop_assert!(range.est_rows() <= share + most + 2, "{} of {share}", range.est_rows());
        }
        let texts: Vec<_> = ranges.iter().map(|range| range.predicate("")).collect();
        if ranges.len() > 1 {
            prop_assert!(texts[0].as_ref().unwrap().starts_with("`a` < "));
            prop_assert!(texts.iter().all(Option::is_some));
        }
    }
}
