//! Statements that are short or plain and mean plans that are deep or large.

use super::here::show;

/// Runs work on a stack as large as the server's threads have.
fn on_a_deep_stack(work: impl Future<Output = ()> + Send + 'static) {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work);
    };
    let thread = std::thread::Builder::new().stack_size(128 << 20).spawn(run);
    thread.expect("a thread").join().expect("a test that passes");
}

async fn check(sql: &str, expected: &str) {
    match show(sql).await {
        Ok(shown) => assert_eq!(shown, expected, "{}", &sql[..sql.len().min(200)]),
        Err(error) => panic!("{}: {}", error.errno(), error.message()),
    }
}

async fn refused(sql: &str) {
    refused_with(sql, 1235).await;
}

async fn refused_with(sql: &str, errno: u16) {
    match show(sql).await {
        Ok(shown) => panic!("{} gives {shown}", &sql[..sql.len().min(200)]),
        Err(error) => assert_eq!(error.errno(), errno, "{}", error.message()),
    }
}

/// Common table expressions each of which reads the one before.
fn chain(first: &str, count: usize, next: impl Fn(usize) -> String) -> String {
    let rest: String = (1..count).map(|at| format!(", c{at} AS ({})", next(at - 1))).collect();
    format!("WITH c0 AS ({first}){rest} SELECT COUNT(*) AS n FROM c{}", count - 1)
}

#[test]
fn common_table_expressions_may_lead_deep_but_not_too_deep() {
    on_a_deep_stack(async {
        let next = |before| format!("SELECT * FROM c{before}");
        check(&chain("SELECT * FROM ships", 60, next), "n / 5").await;
        refused(&chain("SELECT * FROM ships", 100, next)).await;
        let grouped = |it| format!("SELECT name, MAX(year) year FROM c{it} GROUP BY name LIMIT 9");
        check(&chain("SELECT name, year FROM ships", 60, grouped), "n / 5").await;
    });
}

#[test]
fn common_table_expressions_are_not_doubled_without_end() {
    on_a_deep_stack(async {
        let twice = |it| format!("SELECT x.name FROM c{it} x JOIN c{it} y ON x.name = y.name");
        check(&chain("SELECT name FROM ships", 5, twice), "n / 5").await;
        refused(&chain("SELECT name FROM ships", 20, twice)).await;
        refused(&chain("SELECT 'x' AS name", 20, twice)).await;
    });
}

#[test]
fn joins_and_rows_are_bounded() {
    on_a_deep_stack(async {
        let tables: String = (0..300).map(|at| format!(", ships t{at}")).collect();
        refused_with(&format!("SELECT COUNT(*) FROM ships{tables}"), 1116).await;
        let rows: String = (0..2000).map(|at| format!(", ROW({at})")).collect();
        refused(&format!("VALUES ROW(0){rows}")).await;
    });
}

#[test]
fn conditions_may_be_many() {
    on_a_deep_stack(async {
        for part in ["year + {} > 0", "year > -{}", "class <> 'none{}'"] {
            let parts = |count: usize| -> String {
                (1..count)
                    .map(|at| format!(" AND {}", part.replace("{}", &at.to_string())))
                    .collect()
            };
            let sql = |count| format!("SELECT name FROM ships WHERE year > 1850{}", parts(count));
            check(&sql(1500), "name / Ulysses").await;
            refused(&sql(5000)).await;
        }
        let parts: String = (1..700).map(|at| format!(" AND a.year <> b.year + {at}")).collect();
        let sql =
            format!("SELECT COUNT(*) AS n FROM ships a JOIN ships b ON a.year < b.year{parts}");
        check(&sql, "n / 6").await;
    });
}

#[test]
fn lists_of_rows_may_be_long() {
    on_a_deep_stack(async {
        let rows: Vec<String> = (0..1000).map(|at| format!("({at}, 'X')")).collect();
        let rows = rows.join(", ");
        let sql =
            |op| format!("SELECT name FROM ships WHERE (year, class) {op} ({rows}, (1784, 'y'))");
        check(&sql("IN"), "name / Bounty").await;
        check(&sql("NOT IN"), "name / Ulysses / beagle / Santa Maria").await;
        check(
            "SELECT (NULL, 1) IN ((1, 2), (NULL, 1), (3, 1)) AS a, \
             (1, NULL) IN ((2, 3), (4, 5)) AS b, (1, NULL) NOT IN ((2, 3), (1, 5)) AS c, \
             ((1, NULL) IN ((1, 2), (1, NULL))) IS NULL AS d",
            "a|b|c|d / NULL|0|NULL|1",
        )
        .await;
    });
}

#[test]
fn rows_are_compared_as_in_mysql() {
    on_a_deep_stack(async {
        check(
            "SELECT (1, NULL, 3) = (1, 2, 3) AS a, (1, NULL, 3) = (1, 2, 4) AS b, \
             (1, 2, 3) <> (1, 2, 4) AS c, (NULL, 1, 2) <=> (NULL, 1, 2) AS d",
            "a|b|c|d / NULL|0|1|1",
        )
        .await;
        check(
            "SELECT (1, 2, 3) < (1, 2, 4) AS a, (1, 2, 3) >= (1, 2, 3) AS b, \
             (1, 3, 0) < (1, 2, 9) AS c, (1, NULL, 3) < (2, 1, 1) AS d",
            "a|b|c|d / 1|1|0|1",
        )
        .await;
        let row = |last: usize| {
            let values: Vec<String> = (0..500).chain([last]).map(|it| it.to_string()).collect();
            format!("({})", values.join(", "))
        };
        let (one, other) = (row(1), row(2));
        check(&format!("SELECT {one} = {one} AS a, {one} = {other} AS b"), "a|b / 1|0").await;
        refused(&format!("SELECT {one} < {other}")).await;
    });
}
