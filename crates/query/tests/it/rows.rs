//! Queries of this schema and of native tables whose rows would be others if the plan were changed
//! in a way that looks harmless.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use pelorus_chunk::Predicate;
use pelorus_env::Env;
use pelorus_error::Result;
use pelorus_functions::TimeZone;
use pelorus_query::{
    AsOf, Catalog, Database, NativeDatabase, NativeTable, OwnWrites, PartitionPruner, QueryContext,
};
use pelorus_store::{
    ByteWeigher, Commit, History, KeyEncoder, Mode, Options, Snapshot, StoredColumn, TableId,
    TableSchema, Write,
};
use pelorus_types::{Column, ColumnType, collation};

use super::here::{check, context, operators, show_in};

#[tokio::test]
async fn conditions_on_totals_are_no_conditions_on_rows() {
    for sql in [
        "SELECT t.n FROM (SELECT count(*) AS n, 1 AS one FROM ships) t WHERE t.one = 2",
        "SELECT t.n FROM (SELECT count(*) AS n FROM ships) t \
         WHERE EXISTS (SELECT 1 FROM ships WHERE year > 9999)",
    ] {
        check(sql, "n").await;
    }
}

#[tokio::test]
async fn constants_of_a_part_of_the_rows_are_none_of_all() {
    const JOINED: &str = "ships a LEFT JOIN (SELECT year, 1 AS k FROM ships WHERE year > 1800) b \
                          ON a.year = b.year";
    check(
        &format!("SELECT b.k, count(*) AS n FROM {JOINED} GROUP BY b.k ORDER BY b.k"),
        "k|n / NULL|3 / 1|2",
    )
    .await;
    check(
        &format!("SELECT b.k, a.name FROM {JOINED} ORDER BY b.k DESC, a.name"),
        "k|name / 1|beagle / 1|Ulysses / NULL|Argo / NULL|Bounty / NULL|Santa Maria",
    )
    .await;
    check(
        "SELECT k, name FROM (SELECT 2 AS k, name FROM ships UNION ALL SELECT 1, name FROM ships) u \
         ORDER BY k, name LIMIT 3",
        "k|name / 1|Argo / 1|beagle / 1|Bounty",
    )
    .await;
}

#[tokio::test]
async fn the_first_rows_of_a_union_are_those_of_its_first_query() {
    let union = "SELECT n FROM (SELECT n FROM draws UNION ALL SELECT year FROM ships) u";
    for (sql, is_ordered) in [
        (format!("{union} LIMIT 2"), true),
        (union.to_owned(), false),
        (format!("{union} ORDER BY n LIMIT 2"), false),
    ] {
        let plan = operators(&context(), &sql).await;
        assert_eq!(plan.contains("OrderedUnionExec"), is_ordered, "{sql}: {plan}");
    }
    let written = QueryContext {
        options: pelorus_query::PlanOptions { in_order: true, ..Default::default() },
        ..context()
    };
    assert!(operators(&written, union).await.contains("OrderedUnionExec"));
}

/// `Argo` has no year: what it is compared with has to be looked at.
#[tokio::test]
async fn what_is_not_reached_leaves_no_warning() {
    for (sql, expected, warnings) in [
        (
            "SELECT year > 1800 AND CAST(name AS SIGNED) = 0 AS c FROM ships",
            "c / 1 / NULL / 1 / 0 / 0",
            3,
        ),
        (
            "SELECT year < 1800 OR CAST(name AS SIGNED) = 1 AS c FROM ships",
            "c / 0 / NULL / 0 / 1 / 1",
            3,
        ),
        ("SELECT name FROM ships WHERE year > 1800 AND CAST(name AS SIGNED) = 1", "name", 2),
        (
            "SELECT name FROM ships WHERE NOT (year > 1800 AND CAST(name AS SIGNED) = 0)",
            "name / Bounty / Santa Maria",
            3,
        ),
        (
            "SELECT IF(year > 1800, CAST(name AS SIGNED), 7) AS c FROM ships",
            "c / 0 / 7 / 0 / 7 / 7",
            2,
        ),
    ] {
        let context = context();
        let shown = show_in(&context, sql).await.map_err(|error| error.message().to_owned());
        assert_eq!(shown.as_deref(), Ok(expected), "{sql}");
        assert_eq!(context.eval.take_warnings().len(), warnings, "{sql}");
    }
}

#[tokio::test]
async fn groups_are_united_from_the_last_key_on() {
    check(
        "SELECT class, year IS NULL AS k, count(*) AS n, GROUPING(class) AS c, \
         GROUPING(class, year IS NULL) AS g FROM ships GROUP BY class, year IS NULL WITH ROLLUP",
        "class|k|n|c|g / NULL|0|1|0|0 / NULL|NULL|1|0|1 / X|0|1|0|0 / x|1|1|0|0 / X|NULL|2|0|1 / \
         y|0|2|0|0 / y|NULL|2|0|1 / NULL|NULL|5|1|3",
    )
    .await;
}

#[tokio::test]
async fn merged_columns_are_those_of_the_side_that_keeps_its_rows() {
    const SIDES: &str = "(SELECT 1 AS a, 2 AS b) x RIGHT JOIN (SELECT 1 AS a, 3 AS c UNION ALL \
                         SELECT 5, 6) y USING (a)";
    check(&format!("SELECT * FROM {SIDES} ORDER BY c"), "a|c|b / 1|3|2 / 5|6|NULL").await;
    check(&format!("SELECT a FROM {SIDES} ORDER BY a"), "a / 1 / 5").await;
}

#[tokio::test]
async fn frames_end_at_the_rows_that_are_ordered_alike() {
    check(
        "SELECT class, count(*) OVER (ORDER BY class) AS alike, count(*) OVER (ORDER BY class \
         ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two, count(*) OVER (PARTITION BY class) AS c \
         FROM ships ORDER BY class, alike, two",
        "class|alike|two|c / NULL|1|1|1 / X|3|2|2 / x|3|2|2 / y|5|2|2 / Y|5|2|2",
    )
    .await;
}

/// Native tables `t (id, a, s)`, of which the even and the odd numbers are in partitions of their
/// own, and `own`, the same with a row of an open transaction.
#[derive(Debug)]
struct Native {
    pin: Arc<Snapshot>,
    id: TableId,
    hidden: HashSet<Vec<u8>>,
}

const ROWS: [(i64, Option<i64>, &str); 5] =
    [(1, Some(2), "b"), (2, None, "a"), (3, Some(1), "B"), (4, Some(9), "A"), (6, Some(9), "c")];

fn arrays(rows: &[(i64, Option<i64>, &str)]) -> Vec<ArrayRef> {
    vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.1))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2))),
    ]
}

fn types() -> [ColumnType; 3] {
    let text = ColumnType::varchar(9, collation::UTF8MB4_0900_AI_CI);
    [ColumnType::bigint().not_null(), ColumnType::bigint(), text]
}

impl Native {
    fn new() -> Self {
        let weigher = Arc::new(ByteWeigher);
        let env = Env::in_memory(1);
        let store =
            pelorus_store::Database::open(env, Path::new("/d"), Options::default(), weigher);
        let store = store.expect("a database");
        let column = |(id, ty)| StoredColumn { id, ty, filler: None };
        let schema = TableSchema {
            columns: (0..).zip(types()).map(column).collect(),
            key: vec![0],
            segment: Vec::new(),
            history: History { micros: 0, bytes: 1 << 20 },
        };
        let encoder = KeyEncoder::primary(&schema, Arc::new(ByteWeigher));
        let id = store.create_table(schema, b"").expect("a table");
        let put = |parity: i64| {
            let rows: Vec<_> = ROWS.into_iter().filter(|row| row.0 % 2 == parity).collect();
            let partition = vec![u8::try_from(parity).unwrap_or_default()];
            Write::Put { table: id, partition, columns: arrays(&rows), mode: Mode::Insert }
        };
        let commit = Commit { writes: vec![put(0), put(1)], ..Commit::default() };
        store.commit(&commit).expect("rows");
        // The transaction has changed row 3.
        let key = arrays(&[(3, None, "")]);
        let keys = encoder.encode(1, |at| &key[at]).expect("a key");
        let hidden = keys.iter().map(<[u8]>::to_vec).collect();
        Self { pin: Arc::new(store.snapshot()), id, hidden }
    }
}

impl NativeDatabase for Native {
    fn table(&self, name: &str, _: &[&str], _: Option<AsOf>) -> Result<Option<NativeTable>> {
        let names = ["id", "a", "s"].iter().zip(types());
        let own = OwnWrites {
            hidden: Arc::new(self.hidden.clone()),
            rows: vec![arrays(&[(3, Some(7), "own")])],
        };
        Ok(Some(NativeTable {
            database: "d".to_owned(),
            name: name.to_owned(),
            columns: names.map(|(name, ty)| Column::computed(*name, ty)).collect(),
            members: vec![None; 3],
            invisible: vec![false; 3],
            table: self.pin.table(self.id)?,
            pin: Arc::clone(&self.pin),
            own: (name == "own").then_some(own),
            is_part: false,
            pruner: Some(Arc::new(Parity)),
            statistics: None,
            time_zone: TimeZone::Utc,
            part: None,
        }))
    }
}

/// Leaves out the partition of the other numbers where one is looked for.
#[derive(Debug)]
struct Parity;

impl PartitionPruner for Parity {
    fn may_contain(&self, key: &[u8], predicates: &[(usize, Predicate)]) -> bool {
        predicates.iter().all(|(column, predicate)| match (column, predicate) {
            (0, Predicate::Compare(pelorus_chunk::Op::Eq, pelorus_chunk::Scalar::Int(id))) => {
                key == [u8::from(id % 2 != 0)]
            }
            _ => true,
        })
    }
}

impl Catalog for Native {
    fn database(&self, _: &str) -> Option<Database> {
        Some(Database::Native(Arc::new(Self {
            pin: Arc::clone(&self.pin),
            id: self.id,
            hidden: self.hidden.clone(),
        })))
    }
}

async fn check_native(sql: &str, expected: &str) {
    let context = QueryContext { catalog: Arc::new(Native::new()), ..context() };
    let shown = show_in(&context, sql).await.map_err(|error| error.message().to_owned());
    assert_eq!(shown.as_deref(), Ok(expected), "{sql}");
}

#[tokio::test]
async fn conditions_stay_above_outer_joins() {
    for (sql, expected) in [
        (
            "SELECT x.id FROM t x LEFT JOIN t y ON x.a = y.id WHERE y.a IS NULL ORDER BY x.id",
            "id / 1 / 2 / 4 / 6",
        ),
        (
            "SELECT y.id FROM t x RIGHT JOIN t y ON x.id = y.a WHERE x.a IS NULL ORDER BY y.id",
            "id / 1 / 2 / 4 / 6",
        ),
        (
            "SELECT x.id FROM t x LEFT JOIN (t y JOIN t z ON y.id = z.id) ON x.a = y.id \
             WHERE y.a IS NULL ORDER BY x.id",
            "id / 1 / 2 / 4 / 6",
        ),
    ] {
        check_native(sql, expected).await;
    }
}

#[tokio::test]
async fn rows_of_a_transaction_are_tested_as_others_are() {
    check_native("SELECT id FROM own WHERE a = 9 ORDER BY id", "id / 4 / 6").await;
    check_native("SELECT id FROM own WHERE a < 9 ORDER BY id", "id / 1 / 3").await;
    check_native("SELECT s FROM own WHERE id = 3", "s / own").await;
    check_native("SELECT count(*) AS n FROM own WHERE s = 'B'", "n / 1").await;
}

#[tokio::test]
async fn texts_that_are_equal_are_one_group_of_a_scan() {
    for sql in [
        "SELECT count(*) AS n FROM t GROUP BY s ORDER BY s",
        "SELECT count(*) AS n FROM t x GROUP BY x.s, x.id * 0 ORDER BY x.s",
    ] {
        check_native(sql, "n / 2 / 2 / 1").await;
    }
    check_native("SELECT count(DISTINCT s) AS n FROM t", "n / 3").await;
    check_native("SELECT min(s) AS l, max(s) AS m FROM t WHERE s IN ('A', 'b')", "l|m / a|b").await;
}
