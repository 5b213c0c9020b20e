//! Queries that touch no server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{ArrayRef, AsArray as _, Int64Array, StringArray};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use bytes::BytesMut;
use futures::StreamExt;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{EvalContext, Value};
use pelorus_link::SessionSettings;
use pelorus_mysql_wire::rows::{Format, RowEncoder};
use pelorus_query::{
    Block, Catalog, Database, InfoSchema, PlanOptions, QueryContext, RowForm, Scratch, Variables,
};
use pelorus_types::{Column, ColumnType, collation};

struct OneSchema;

impl Catalog for OneSchema {
    fn database(&self, name: &str) -> Option<Database> {
        (name == "inside").then(|| Database::Info(Arc::new(Fleet)))
    }
}

struct NoVariables;

impl Variables for NoVariables {
    fn user(&self, _: &str) -> (Value, ColumnType) {
        (Value::Null, ColumnType::null())
    }

    fn system(&self, name: &str, _: bool) -> Result<(Value, ColumnType)> {
        match name {
            "answer" => Ok((Value::Int(42), ColumnType::bigint())),
            _ => Err(Error::new(Code::UnknownSystemVariable, name)),
        }
    }

    fn session_function(&self, _: &str) -> Option<(Value, ColumnType)> {
        None
    }
}

/// A table `ships (name, year, class)`, one `draws (n)` with three other numbers each time that it is
/// read, and one `tally (n)` with how often it was read.
struct Fleet;

/// How often `tally` was read.
static TALLY: AtomicI64 = AtomicI64::new(0);

#[async_trait]
impl InfoSchema for Fleet {
    fn table(&self, name: &str) -> Option<Vec<Column>> {
        let text = ColumnType::varchar(20, collation::UTF8MB4_GENERAL_CI);
        if matches!(name, "draws" | "tally") {
            return Some(vec![Column::computed("n", ColumnType::bigint())]);
        }
        (name == "ships").then(|| {
            vec![
                Column::computed("name", text),
                Column::computed("year", ColumnType::bigint()),
                Column::computed("class", text),
            ]
        })
    }

    async fn rows(&self, table: &str, _: &[(String, String)]) -> Result<RecordBatch> {
        let columns = self.table(table).ok_or_else(|| Error::internal("no such table"))?;
        if matches!(table, "draws" | "tally") {
            static NEXT: AtomicI64 = AtomicI64::new(1);
            let numbers = if table == "draws" {
                let first = NEXT.fetch_add(3, Ordering::Relaxed);
                first..first + 3
            } else {
                let first = TALLY.fetch_add(1, Ordering::Relaxed) + 1;
                first..first + 1
            };
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
            let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
            return RecordBatch::try_new(Arc::new(schema), vec![numbers])
                .map_err(|_| Error::internal("rows"));
        }
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec!["Ulysses", "Argo", "beagle", "Bounty", "Santa Maria"])),
            Arc::new(Int64Array::from(vec![Some(1900), None, Some(1820), Some(1784), Some(1460)])),
            Arc::new(StringArray::from(vec![Some("X"), Some("x"), None, Some("y"), Some("Y")])),
        ];
        let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), arrays).map_err(|_| Error::internal("rows"))
    }
}

pub(crate) fn context() -> QueryContext {
    QueryContext {
        database: Some("inside".into()),
        catalog: Arc::new(OneSchema),
        variables: Arc::new(NoVariables),
        eval: Arc::new(EvalContext::default()),
        settings: SessionSettings::default(),
        mode: pelorus_sql::Mode::default(),
        options: PlanOptions::default(),
        copies_of: None,
        scratch: Scratch::new(None).expect("a folder of the system"),
        memory: pelorus_env::Account::unlimited(),
        trees: pelorus_env::StageMemory::new(&pelorus_env::Account::unlimited()),
    }
}

/// Runs a query and writes its columns' names and its rows as a client would show them.
pub(crate) async fn show(sql: &str) -> Result<String> {
    show_in(&context(), sql).await
}

/// The same in a context.
pub(crate) async fn show_in(context: &QueryContext, sql: &str) -> Result<String> {
    let result = pelorus_query::run(context, sql, RowForm::Text).await?;
    let names: Vec<&str> = result.columns.iter().map(|column| column.name.as_str()).collect();
    let mut out = names.join("|");
    let mut rows = result.rows;
    while let Some(block) = rows.next().await {
        let Block::Batch(batch) = block? else { panic!("rows of a server") };
        let mut encoder = RowEncoder::new(&batch, &result.columns, Format::Text)?;
        for row in 0..encoder.rows() {
            let mut bytes = BytesMut::new();
            encoder.encode(row, &mut bytes)?;
            out.push_str(" / ");
            out.push_str(&fields(&bytes).join("|"));
        }
    }
    Ok(out)
}

/// Splits a row of the text protocol; short values only.
fn fields(mut payload: &[u8]) -> Vec<String> {
    let mut fields = Vec::new();
    while let Some((&length, rest)) = payload.split_first() {
        if length == 0xFB {
            fields.push("NULL".to_owned());
            payload = rest;
            continue;
        }
        let (value, rest) = rest.split_at(usize::from(length));
        fields.push(String::from_utf8_lossy(value).into_owned());
        payload = rest;
    }
    fields
}

pub(crate) async fn check(sql: &str, expected: &str) {
    match show(sql).await {
        Ok(shown) => assert_eq!(shown, expected, "{sql}"),
        Err(error) => panic!("{sql}: {} {}", error.errno(), error.message()),
    }
}

#[tokio::test]
async fn expressions_have_the_values_and_names_of_mysql() {
    check("SELECT 1 + 1", "1 + 1 / 2").await;
    check(
        "SELECT 7 / 2 AS a, 7 DIV 2, 7 % 4, -7 DIV 2",
        "a|7 DIV 2|7 % 4|-7 DIV 2 / 3.5000|3|3|-3",
    )
    .await;
    check("SELECT 10 DIV 3 + 1, 1 OR 1 XOR 1", "10 DIV 3 + 1|1 OR 1 XOR 1 / 4|1").await;
    check("SELECT 1/0, NULL + 1, 1 > 0, NOT 5", "1/0|NULL + 1|1 > 0|NOT 5 / NULL|NULL|1|0").await;
    check("SELECT IF(1 > 2, 'a', 'b') x, CASE 3 WHEN 3 THEN 1.50 ELSE 2 END y", "x|y / b|1.50")
        .await;
    check("SELECT @@answer, 'abc'", "@@answer|abc / 42|abc").await;
    check("SELECT round(7 / 9, 2) r", "r / 0.78").await;
}

#[tokio::test]
async fn text_groups_orders_and_compares_under_its_collation() {
    check("SELECT name FROM ships ORDER BY name DESC LIMIT 2", "name / Ulysses / Santa Maria")
        .await;
    check("SELECT name FROM ships WHERE name = 'BEAGLE'", "name / beagle").await;
    check(
        "SELECT count(*) AS n, max(year) FROM ships GROUP BY class ORDER BY class",
        "n|max(year) / 1|1820 / 2|1900 / 2|1784",
    )
    .await;
    check("SELECT count(DISTINCT class) FROM ships", "count(DISTINCT class) / 2").await;
}

#[tokio::test]
async fn clauses_find_their_names_as_in_mysql() {
    check("SELECT year AS y FROM ships WHERE year > 1800 ORDER BY y", "y / 1820 / 1900").await;
    check(
        "SELECT class, count(*) AS n FROM ships GROUP BY class HAVING n > 1 AND class = 'x'",
        "class|n / X|2",
    )
    .await;
    check("SELECT s.* FROM ships s WHERE s.year IS NULL", "name|year|class / Argo|NULL|x").await;
    check(
        "SELECT a.name, b.name FROM ships a JOIN ships b ON a.class = b.class AND a.year < b.year",
        "name|name / Santa Maria|Bounty",
    )
    .await;
    check("SELECT year FROM ships ORDER BY year LIMIT 1, 1", "year / 1460").await;
    check("SELECT n FROM (SELECT count(*) AS n FROM ships) t", "n / 5").await;
    check("WITH t AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT sum(a) FROM t", "sum(a) / 3").await;
    check("SELECT count(*), sum(year) FROM ships WHERE 1 = 0", "count(*)|sum(year) / 0|NULL").await;
}

#[tokio::test]
async fn what_with_defines_has_the_same_rows_wherever_it_is_named() {
    const D: &str = "WITH d AS (SELECT n FROM draws LIMIT 2)";
    for (rest, expected) in [
        ("SELECT count(*) AS c FROM d", 2),
        ("SELECT count(*) AS c FROM d a JOIN d b USING (n)", 2),
        ("SELECT count(*) AS c FROM d a LEFT JOIN d b ON a.n < b.n", 2),
        ("SELECT count(*) AS c FROM (SELECT n FROM d UNION SELECT n FROM d) u", 2),
        ("SELECT count(*) AS c FROM d WHERE n IN (SELECT n FROM d)", 2),
        ("SELECT count(*) AS c FROM d WHERE n NOT IN (SELECT n FROM d)", 0),
        ("SELECT count(*) AS c FROM d a WHERE EXISTS (SELECT 1 FROM d b WHERE b.n = a.n)", 2),
        ("SELECT (SELECT max(n) FROM d) - (SELECT min(n) FROM d) AS c", 1),
        ("SELECT count(*) AS c FROM d WHERE n <= (SELECT min(n) FROM d)", 1),
        // What one reference leaves out is there for the others.
        ("SELECT count(*) AS c FROM (SELECT n FROM d LIMIT 1) a JOIN d b USING (n)", 1),
        ("SELECT count(*) AS c FROM (SELECT n FROM d WHERE n < 0 UNION ALL SELECT n FROM d) u", 2),
        (
            "SELECT count(*) AS c FROM (SELECT n FROM d WHERE (SELECT count(*) FROM ships) > 9 \
             UNION ALL SELECT n FROM d) u",
            2,
        ),
        (", e AS (SELECT n + 1 AS m FROM d) SELECT count(*) AS c FROM e a JOIN e b USING (m)", 2),
        (
            ", e AS (SELECT n FROM d LIMIT 1) SELECT count(*) AS c FROM e a JOIN e b USING (n) \
             JOIN d ON d.n = a.n",
            1,
        ),
        (
            ", e AS (SELECT n, row_number() OVER (ORDER BY n) AS r FROM draws) \
             SELECT count(*) AS c FROM e a JOIN e b USING (n, r)",
            3,
        ),
    ] {
        check(&format!("{D} {rest}"), &format!("c / {expected}")).await;
    }
    // Every execution has rows of its own.
    let drawn = format!("{D} SELECT min(a.n) AS c FROM d a JOIN d b USING (n)");
    let (one, other) = (show(&drawn).await, show(&drawn).await);
    assert_ne!(one.expect("a number"), other.expect("a number"));
}

/// Servers answer each part of a statement once.
#[tokio::test]
async fn subqueries_of_what_with_defines_are_carried_out_once() {
    const D: &str =
        "WITH d AS (SELECT n FROM draws WHERE (SELECT count(*) FROM tally) = 1 LIMIT 2)";
    for (rest, expected, reads) in [
        ("SELECT count(*) AS c FROM d WHERE n <= (SELECT min(n) FROM d)", 1, 1),
        ("SELECT (SELECT max(n) FROM d) - (SELECT min(n) FROM d) AS c", 1, 1),
        ("SELECT count(*) AS c FROM d a JOIN d b USING (n)", 2, 1),
        (
            ", e AS (SELECT n FROM d WHERE EXISTS (SELECT 1 FROM tally) LIMIT 1) \
             SELECT count(*) AS c FROM e a JOIN e b USING (n) \
             WHERE a.n <= (SELECT max(n) FROM e) AND (SELECT count(*) FROM d) = 2",
            1,
            2,
        ),
        // A subquery within a subquery.
        (
            ", e AS (SELECT n FROM draws WHERE n > (SELECT min(n) - 1000000 FROM d \
             WHERE n > (SELECT 0 - count(*) FROM tally)) LIMIT 3) \
             SELECT count(*) AS c FROM e WHERE n <= (SELECT max(n) FROM e)",
            3,
            2,
        ),
    ] {
        let before = TALLY.load(Ordering::Relaxed);
        check(&format!("{D} {rest}"), &format!("c / {expected}")).await;
        assert_eq!(TALLY.load(Ordering::Relaxed) - before, reads, "{rest}");
    }
    // A value of several rows is an error, as elsewhere.
    let several = "WITH d AS (SELECT n FROM draws WHERE n > (SELECT n FROM draws) LIMIT 2) \
                   SELECT count(*) FROM d WHERE n <= (SELECT min(n) FROM d)";
    assert_eq!(show(several).await.expect_err("several rows").errno(), 1242);
}

/// The operators of a plan.
pub(crate) async fn operators(context: &QueryContext, sql: &str) -> String {
    let mut rows = pelorus_query::explain(context, sql).await.expect("a plan").rows;
    let mut text = String::new();
    while let Some(block) = rows.next().await {
        let Ok(Block::Batch(batch)) = block else { panic!("rows of a server") };
        for operator in batch.column(2).as_string::<i32>().iter().flatten() {
            text.push_str(operator);
            text.push('\n');
        }
    }
    text
}

#[tokio::test]
async fn rows_are_kept_only_where_they_could_be_others() {
    for (sql, expected) in [
        ("WITH d AS (SELECT n FROM draws LIMIT 2) SELECT count(*) FROM d", 0),
        ("WITH d AS (SELECT n FROM draws LIMIT 2) SELECT count(*) FROM d a, d b", 2),
        ("WITH d AS (SELECT n FROM draws) SELECT count(*) FROM d a, d b", 0),
        // Values that depend on the order of rows.
        ("WITH d AS (SELECT sum(n) AS s FROM draws) SELECT count(*) FROM d a, d b", 0),
        ("WITH d AS (SELECT sum(n + 0e0) AS s FROM draws) SELECT count(*) FROM d a, d b", 2),
        ("WITH d AS (SELECT sum(n + 0e0) AS s FROM draws) SELECT count(*) FROM d", 0),
        (
            "WITH d AS (SELECT count(*) AS c FROM (SELECT n FROM draws GROUP BY n \
             HAVING sum(n + 0e0) > 1) x) SELECT count(*) FROM d a, d b",
            2,
        ),
        ("WITH d AS (SELECT group_concat(n) AS s FROM draws) SELECT count(*) FROM d a, d b", 2),
        (
            "WITH d AS (SELECT n FROM draws GROUP BY n HAVING any_value(n) > 0) \
             SELECT count(*) FROM d a, d b",
            2,
        ),
    ] {
        let found = operators(&context(), sql).await.matches("CteScanExec").count();
        assert_eq!(found, expected, "{sql}");
    }
}

/// How often the rows of a query are kept that WITH defines and two references name.
async fn kept(context: &QueryContext, query: &str) -> usize {
    let sql = format!("WITH d AS ({query}) SELECT count(*) FROM d a, d b");
    operators(context, &sql).await.matches("CteScanExec").count()
}

#[tokio::test]
async fn doubles_that_are_added_are_kept_and_others_are_not() {
    for (query, expected) in [
        ("SELECT avg(n + 0e0) AS s FROM draws", 2),
        ("SELECT std(n) AS s FROM draws", 2),
        ("SELECT var_samp(n) AS s FROM draws", 2),
        ("SELECT sum(DISTINCT n + 0e0) AS s FROM draws", 2),
        ("SELECT sum(n + 0e0) OVER () AS s FROM draws", 2),
        ("SELECT max(n) AS m, sum(n + 0e0) AS s FROM draws", 2),
        ("SELECT max(n + 0e0) AS m, min(n + 0e0) AS l, sum(n) AS s FROM draws", 0),
        ("SELECT n + 0e0 AS f, count(*) AS c FROM draws GROUP BY n + 0e0", 0),
        ("SELECT max(n + 0e0) OVER () AS m FROM draws", 0),
        ("SELECT percent_rank() OVER (ORDER BY n) AS r FROM draws", 0),
    ] {
        assert_eq!(kept(&context(), query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn columns_beside_the_groups_are_kept_where_they_are_named() {
    let mut context = context();
    context.options.only_full_group_by = false;
    for (query, expected) in [
        ("SELECT class, year FROM ships GROUP BY class", 2),
        ("SELECT class, year + 1 AS y, count(*) AS c FROM ships GROUP BY class", 2),
        ("SELECT class, count(*) AS c FROM ships GROUP BY class ORDER BY year", 2),
        ("SELECT year + max(year) AS y FROM ships", 2),
        ("SELECT year DIV 10 AS y, year FROM ships GROUP BY y", 2),
        // It is the column that makes groups.
        ("SELECT upper(class) AS name, count(*) AS c FROM ships GROUP BY name", 2),
        ("SELECT * FROM ships GROUP BY class", 2),
        ("SELECT c FROM (SELECT class, year AS c FROM ships GROUP BY class) x", 2),
        ("SELECT class FROM ships UNION ALL SELECT name FROM ships GROUP BY year", 2),
        ("SELECT class, count(*) AS c FROM ships GROUP BY class", 0),
        ("SELECT s.CLASS, max(year) AS m FROM ships s GROUP BY class ORDER BY m", 0),
        ("SELECT count(*) AS c, max(year) AS m FROM ships", 0),
        ("SELECT count(*) AS c FROM ships GROUP BY class, year", 0),
        ("SELECT year DIV 10 AS y, max(class) AS m FROM ships GROUP BY y", 0),
        ("SELECT year DIV 10 AS y, max(class) AS m FROM ships GROUP BY 1 ORDER BY 2", 0),
        ("SELECT (year DIV 10) + 1 AS y FROM ships GROUP BY year DIV 10", 0),
        ("SELECT a.name, count(*) AS c FROM ships a JOIN ships b USING (class) GROUP BY a.name", 0),
        ("SELECT c FROM (SELECT class, count(*) AS c FROM ships GROUP BY class) x", 0),
    ] {
        assert_eq!(kept(&context, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn mistakes_get_the_errors_of_mysql() {
    for (sql, errno) in [
        ("SELECT nothing FROM ships", 1054),
        ("SELECT 1 FROM nowhere.ships", 1049),
        ("SELECT 1 FROM boats", 1109),
        ("SELECT year FROM ships a, ships b", 1052),
        ("SELECT 1 FROM ships, ships", 1066),
        ("SELECT name, count(*) FROM ships GROUP BY class", 1055),
        ("SELECT SELECT", 1064),
        ("SELECT nosuch(1)", 1305),
        ("SELECT @@nosuch", 1193),
        ("SELECT 9223372036854775807 + 1", 1690),
        ("SELECT * FROM (SELECT 1)", 1248),
        ("SELECT sum(count(*)) FROM ships", 1111),
    ] {
        match show(sql).await {
            Ok(shown) => panic!("{sql} gives {shown}"),
            Err(error) => assert_eq!(error.errno(), errno, "{sql}: {}", error.message()),
        }
    }
}
