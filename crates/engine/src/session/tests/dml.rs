//! Tests of DML statements in sessions without a linked server.

use std::sync::Arc;

use super::{engine, session};
use crate::api::{Done, Outcome, RowFormat};
use crate::engine::Engine;
use crate::session::Session;

/// A session.
pub(crate) struct Client {
    session: Session,
}

/// A session in a new database with tables.
pub(crate) async fn with_tables(tables: &[&str]) -> (Arc<Engine>, Client) {
    let engine = engine().await;
    let mut client = Client { session: session(&engine, "root").await };
    client.run("CREATE DATABASE d").await;
    client.run("USE d").await;
    for table in tables {
        client.run(table).await;
    }
    (engine, client)
}

impl Client {
    async fn try_run(&mut self, sql: &str) -> Result<Done, (u16, String)> {
        match self.session.execute(sql, RowFormat::Text).await {
            Ok(Outcome::Done(done)) => Ok(done),
            Ok(other) => panic!("{sql}: {other:?}"),
            Err(error) => Err((error.errno(), error.message().to_owned())),
        }
    }

    /// The session itself.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs a statement that gives no rows and no error.
    pub(crate) async fn run(&mut self, sql: &str) -> Done {
        self.try_run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    async fn error(&mut self, sql: &str) -> (u16, String) {
        self.try_run(sql).await.unwrap_err()
    }

    /// Rows with commas between values, NULL as `NULL`.
    async fn rows(&mut self, sql: &str) -> Vec<String> {
        let outcome = self.session.execute(sql, RowFormat::Text).await;
        let Ok(outcome @ Outcome::Rows(_)) = outcome else { panic!("{sql}: {outcome:?}") };
        let rows = super::texts(outcome).await;
        rows.into_iter().map(|row| row.join(",")).collect()
    }
}

const T: &str = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(5) NOT NULL DEFAULT 'x')";
const C: &str = "CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10))";

#[tokio::test]
async fn values_defaults_and_expressions_are_inserted() {
    let (_engine, mut client) = with_tables(&[T]).await;
    let done = client.run("INSERT INTO t (id, a) VALUES (1, 2), (2, NULL), (3, 1 + 6)").await;
    assert_eq!(done.affected_rows, 3);
    assert_eq!(done.info, "Records: 3  Duplicates: 0  Warnings: 0");
    let done = client.run("INSERT INTO t SET id = 4, b = CONCAT('a', 'b')").await;
    assert_eq!((done.affected_rows, done.info.as_str()), (1, ""));
    client.run("INSERT INTO t VALUES (5, DEFAULT, DEFAULT(b))").await;
    assert_eq!(
        client.rows("SELECT * FROM t ORDER BY id").await,
        ["1,2,x", "2,NULL,x", "3,7,x", "4,NULL,ab", "5,NULL,x"]
    );
}

#[tokio::test]
async fn what_is_wrong_with_rows_is_said_as_mysql_does() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t (id) VALUES (1)").await;
    let cases = [
        ("INSERT INTO t VALUES (9)", 1136, "Column count doesn't match value count at row 1"),
        ("INSERT INTO t (id, id) VALUES (1, 2)", 1110, "Column 'id' specified twice"),
        ("INSERT INTO t (zz) VALUES (1)", 1054, "Unknown column 'zz' in 'field list'"),
        ("INSERT INTO t (a) VALUES (1)", 1364, "Field 'id' doesn't have a default value"),
        ("INSERT INTO t VALUES (2, 1, NULL)", 1048, "Column 'b' cannot be null"),
        (
            "INSERT INTO t VALUES (2, 99999999999, 'x')",
            1264,
            "Out of range value for column 'a' at row 1",
        ),
        ("INSERT INTO t VALUES (2, 1, 'toolong')", 1406, "Data too long for column 'b' at row 1"),
        ("INSERT INTO t (id) VALUES (7), (1)", 1062, "Duplicate entry '1' for key 't.PRIMARY'"),
        ("INSERT INTO t (id) VALUES (7), (7)", 1062, "Duplicate entry '7' for key 't.PRIMARY'"),
        ("UPDATE t SET id = 1/0", 1365, "Division by 0"),
    ];
    for (sql, errno, text) in cases {
        assert_eq!(client.error(sql).await, (errno, text.to_owned()), "{sql}");
    }
    assert_eq!(client.rows("SELECT id FROM t").await, ["1"]);
}

#[tokio::test]
async fn duplicates_are_ignored_or_replaced() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 2)").await;
    let done = client.run("INSERT IGNORE INTO t (id, a) VALUES (2, 9), (3, 3), (3, 4)").await;
    assert_eq!(done.affected_rows, 1);
    assert_eq!(done.info, "Records: 3  Duplicates: 2  Warnings: 2");
    assert_eq!(
        client.rows("SHOW WARNINGS").await,
        [
            "Warning,1062,Duplicate entry '2' for key 't.PRIMARY'",
            "Warning,1062,Duplicate entry '3' for key 't.PRIMARY'"
        ]
    );
    let done = client.run("REPLACE INTO t (id, a) VALUES (1, 10), (4, 4)").await;
    assert_eq!(
        (done.affected_rows, done.info.as_str()),
        (3, "Records: 2  Duplicates: 1  Warnings: 0")
    );
    assert_eq!(client.rows("SELECT id, a FROM t ORDER BY id").await, ["1,10", "2,2", "3,3", "4,4"]);
}

#[tokio::test]
async fn auto_increment_counts_and_tells() {
    let (_engine, mut client) = with_tables(&[C]).await;
    let done = client.run("INSERT INTO c (v) VALUES ('a'), ('b')").await;
    assert_eq!(done.last_insert_id, 1);
    client.run("INSERT INTO c VALUES (10, 'c'), (NULL, 'd'), (0, 'e')").await;
    assert_eq!(client.rows("SELECT LAST_INSERT_ID()").await, ["11"]);
    let ids = client.rows("SELECT id FROM c ORDER BY id").await;
    assert_eq!(ids, ["1", "2", "10", "11", "12"]);
}

/// Between two commits a table could be left that counts from 1, or that its database does not
/// know.
#[tokio::test]
async fn a_table_and_its_first_number_are_made_in_one_commit() {
    let (engine, mut client) = with_tables(&[]).await;
    let before = engine.native().store().version();
    client.run(&format!("{C} AUTO_INCREMENT = 7")).await;
    assert_eq!(engine.native().store().version(), before + 1);
    client.run("INSERT INTO c (v) VALUES ('a')").await;
    assert_eq!(client.rows("SELECT id FROM c").await, ["7"]);
}

#[tokio::test]
async fn rows_of_a_query_are_inserted() {
    let (_engine, mut client) = with_tables(&[T, C]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 2), (3, 3)").await;
    let done = client.run("INSERT INTO c (v) SELECT a * 2 FROM t WHERE id > 1 ORDER BY id").await;
    assert_eq!((done.affected_rows, done.last_insert_id), (2, 1));
    assert_eq!(client.rows("SELECT v FROM c ORDER BY v").await, ["4", "6"]);
    let error = client.error("INSERT INTO c SELECT 1").await;
    assert_eq!(error.0, 1136);
}

#[tokio::test]
async fn updates_see_what_was_assigned_before() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')").await;
    let done = client.run("UPDATE t SET a = a + 10, b = a WHERE id < 3").await;
    assert_eq!(done.info, "Rows matched: 2  Changed: 2  Warnings: 0");
    let done = client.run("UPDATE t SET a = 11 WHERE id < 3").await;
    assert_eq!(
        (done.affected_rows, done.info.as_str()),
        (1, "Rows matched: 2  Changed: 1  Warnings: 0")
    );
    assert_eq!(client.rows("SELECT * FROM t ORDER BY id").await, ["1,11,11", "2,11,12", "3,3,c"]);
    client.run("UPDATE t SET id = id + 1 ORDER BY id DESC").await;
    assert_eq!(client.rows("SELECT id, a FROM t ORDER BY id").await, ["2,11", "3,11", "4,3"]);
    let error = client.error("UPDATE t SET id = id + 1").await;
    assert_eq!(error, (1062, "Duplicate entry '3' for key 't.PRIMARY'".to_owned()));
    let done = client.run("UPDATE t SET b = DEFAULT ORDER BY id LIMIT 1").await;
    assert_eq!(done.affected_rows, 1);
}

/// The manual's way to have a sequence.
#[tokio::test]
async fn an_update_tells_what_last_insert_id_was_given() {
    let (_engine, mut client) = with_tables(&["CREATE TABLE s (id INT PRIMARY KEY)"]).await;
    client.run("INSERT INTO s VALUES (41)").await;
    let done = client.run("UPDATE s SET id = LAST_INSERT_ID(id + 1)").await;
    assert_eq!((done.affected_rows, done.last_insert_id), (1, 42));
    assert_eq!(client.rows("SELECT id, LAST_INSERT_ID() FROM s").await, ["42,42"]);
    let done = client.run("UPDATE s SET id = LAST_INSERT_ID(id + 1) WHERE id = 99").await;
    assert_eq!((done.affected_rows, done.last_insert_id), (0, 0));
    let done = client.run("UPDATE s SET id = 7").await;
    assert_eq!(done.last_insert_id, 0);
    assert_eq!(client.rows("SELECT LAST_INSERT_ID()").await, ["42"]);
}

#[tokio::test]
async fn rows_are_deleted() {
    let (_engine, mut client) = with_tables(&[T, C]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 2), (3, 3), (4, 4)").await;
    assert_eq!(client.run("DELETE FROM t WHERE a > 1 ORDER BY id LIMIT 1").await.affected_rows, 1);
    client.run("INSERT INTO c VALUES (3, 'x')").await;
    let done = client.run("DELETE t FROM t JOIN c ON t.id = c.id").await;
    assert_eq!(done.affected_rows, 1);
    assert_eq!(client.rows("SELECT id FROM t ORDER BY id").await, ["1", "4"]);
}

/// A name alone is that of a table of the current database, or an alias; a table of another database
/// needs both.
#[tokio::test]
async fn a_delete_of_several_tables_takes_the_ones_that_it_names() {
    let (_engine, mut client) = with_tables(&[T, "CREATE DATABASE e"]).await;
    client.run("CREATE TABLE e.t (id INT PRIMARY KEY)").await;
    client.run("INSERT INTO t (id) VALUES (1), (2)").await;
    client.run("INSERT INTO e.t VALUES (1), (2)").await;
    client.run("USE e").await;
    for sql in [
        "DELETE t FROM d.t JOIN d.t AS o ON o.id = d.t.id",
        "DELETE d.o FROM d.t AS o JOIN e.t ON t.id = o.id",
        "DELETE d.t FROM d.t AS o JOIN e.t ON t.id = o.id",
    ] {
        assert_eq!(client.error(sql).await.0, 1109, "{sql}");
    }
    client.run("DELETE e.t FROM t JOIN d.t AS o ON o.id = t.id WHERE o.id = 1").await;
    client.run("DELETE o FROM t JOIN d.t AS o ON o.id = t.id WHERE o.id = 2").await;
    assert_eq!(client.rows("SELECT id FROM e.t").await, ["2"]);
    assert_eq!(client.rows("SELECT id FROM d.t").await, ["1"]);
}

#[tokio::test]
async fn rows_that_are_there_are_updated() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, 1)").await;
    let sql = "INSERT INTO t (id, a) VALUES (1, 5), (2, 6), (2, 7) ON DUPLICATE KEY UPDATE \
               a = a + VALUES(a)";
    let done = client.run(sql).await;
    assert_eq!(done.affected_rows, 5);
    assert_eq!(client.rows("SELECT id, a FROM t ORDER BY id").await, ["1,6", "2,13"]);
    let sql = "INSERT INTO t (id, a) VALUES (1, 6) AS n ON DUPLICATE KEY UPDATE a = n.a";
    assert_eq!(client.run(sql).await.affected_rows, 0);
}

/// Each row of a key sees the result of the ones before it.
#[tokio::test]
async fn many_rows_of_one_key_are_taken_one_after_another() {
    let (_engine, mut client) = with_tables(&[T]).await;
    let mut rows: Vec<String> = (1..=2000).map(|a| format!("(1, {a}, 'x')")).collect();
    rows.extend((1..=30).flat_map(|id| (0..id).map(move |a| format!("({}, {a}, 'y')", id + 1))));
    let sql = format!(
        "INSERT INTO t VALUES {} ON DUPLICATE KEY UPDATE a = a * 2 % 1000 + VALUES(a), b = \
         LEFT(CONCAT(VALUES(b), a % 7, b), 5)",
        rows.join(", ")
    );
    client.run(&sql).await;
    let left = |first: char, values: std::ops::RangeInclusive<i64>| {
        let (mut a, mut b) = (*values.start(), first.to_string());
        for value in values.skip(1) {
            a = a * 2 % 1000 + value;
            b = format!("{first}{}{b}", a % 7).chars().take(5).collect();
        }
        format!("{a},{b}")
    };
    let mut expected = vec![format!("1,{}", left('x', 1..=2000))];
    expected.extend((1..=30).map(|id| format!("{},{}", id + 1, left('y', 0..=id - 1))));
    assert_eq!(client.rows("SELECT * FROM t ORDER BY id").await, expected);
}

/// Changed rows count as duplicates; under IGNORE the rows that were not written.
#[tokio::test]
async fn rows_that_stay_as_they_are_are_no_duplicates() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 2)").await;
    let tail = "INTO t (id, a) VALUES (1, 1), (2, 3), (3, 3) ON DUPLICATE KEY UPDATE a = VALUES(a)";
    let done = client.run(&format!("INSERT {tail}")).await;
    assert_eq!(done.affected_rows, 3);
    assert_eq!(done.info, "Records: 3  Duplicates: 1  Warnings: 0");
    let done = client.run(&format!("INSERT IGNORE {tail}")).await;
    assert_eq!(done.affected_rows, 0);
    assert_eq!(done.info, "Records: 3  Duplicates: 3  Warnings: 0");
}

#[tokio::test]
async fn transactions_see_their_own_rows_and_nobody_elses() {
    let (engine, mut one) = with_tables(&[T]).await;
    let mut two = Client { session: session(&engine, "root").await };
    two.run("USE d").await;
    one.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 2)").await;
    one.run("BEGIN").await;
    one.run("INSERT INTO t (id, a) VALUES (3, 3)").await;
    one.run("SAVEPOINT s").await;
    one.run("UPDATE t SET a = a + 10").await;
    one.run("DELETE FROM t WHERE id = 1").await;
    assert_eq!(one.rows("SELECT id, a FROM t ORDER BY id").await, ["2,12", "3,13"]);
    assert_eq!(two.rows("SELECT id, a FROM t ORDER BY id").await, ["1,1", "2,2"]);
    one.run("ROLLBACK TO s").await;
    assert_eq!(one.error("INSERT INTO t (id) VALUES (3)").await.0, 1062);
    one.run("COMMIT").await;
    assert_eq!(two.rows("SELECT id, a FROM t ORDER BY id").await, ["1,1", "2,2", "3,3"]);
}

#[tokio::test]
async fn a_transaction_of_many_statements_is_taken_back_in_part() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("BEGIN").await;
    for id in 0..40 {
        client.run(&format!("INSERT INTO t (id, a) VALUES ({id}, {id})")).await;
        if id == 20 {
            client.run("SAVEPOINT s").await;
        }
        if id % 7 == 0 {
            let error = client.error(&format!("INSERT INTO t (id) VALUES (99), ({id})")).await;
            assert_eq!(error, (1062, format!("Duplicate entry '{id}' for key 't.PRIMARY'")));
            client.run(&format!("REPLACE INTO t (id, a) VALUES ({id}, 100)")).await;
        }
    }
    let sum = "SELECT COUNT(*), SUM(a) FROM t";
    assert_eq!(client.rows(sum).await, [format!("40,{}", 780 - 105 + 600)]);
    client.run("ROLLBACK TO s").await;
    assert_eq!(client.rows(sum).await, [format!("21,{}", 210 - 21 + 300)]);
    client.run("INSERT INTO t (id, a) VALUES (21, 0), (22, 0)").await;
    client.run("COMMIT").await;
    assert_eq!(client.rows(sum).await, [format!("23,{}", 210 - 21 + 300)]);
}

#[tokio::test]
async fn a_transaction_that_lost_a_race_is_rolled_back() {
    let (engine, mut one) = with_tables(&[T]).await;
    let mut two = Client { session: session(&engine, "root").await };
    two.run("USE d").await;
    one.run("INSERT INTO t (id, a) VALUES (1, 1)").await;
    one.run("BEGIN").await;
    one.run("UPDATE t SET a = 2").await;
    two.run("UPDATE t SET a = 3").await;
    assert_eq!(one.error("COMMIT").await.0, 1213);
    assert_eq!(one.rows("SELECT a FROM t").await, ["3"]);
}

#[tokio::test]
async fn files_are_loaded() {
    let (_engine, mut client) = with_tables(&[T]).await;
    let sql = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t FIELDS TERMINATED BY ',' (id, @a, b) \
               SET a = @a * 2";
    assert_eq!(client.error(sql).await.0, 3948);
    assert_eq!(client.error("LOAD DATA INFILE 'f' INTO TABLE t").await.0, 1290);
    client.run("SET GLOBAL local_infile = ON").await;
    let outcome = client.session.execute(sql, RowFormat::Text).await.unwrap();
    assert!(matches!(outcome, Outcome::File(name) if name == "f"));
    client.session.load(b"1,5,a\n2,6,").await;
    client.session.load(b"b\n2,7,c\n").await;
    let Ok(Outcome::Done(done)) = client.session.loaded().await else { panic!("no numbers") };
    assert_eq!(done.info, "Records: 3  Deleted: 0  Skipped: 1  Warnings: 1");
    assert_eq!(client.rows("SELECT * FROM t ORDER BY id").await, ["1,10,a", "2,12,b"]);
    // The last row's, whatever became of it.
    assert_eq!(client.rows("SELECT @a").await, ["7"]);
    client.session.execute(sql, RowFormat::Text).await.unwrap();
    client.session.load(b"3,\\N,c\n").await;
    client.session.loaded().await.unwrap();
    assert_eq!(client.rows("SELECT @a").await, ["NULL"]);
}

#[tokio::test]
async fn a_load_is_shown_while_its_file_comes_and_can_be_killed() {
    let (engine, mut one) = with_tables(&[T]).await;
    let mut two = Client { session: session(&engine, "root").await };
    two.run("SET GLOBAL local_infile = ON").await;
    let id = one.session.id();
    let sql = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t FIELDS TERMINATED BY ','";
    for kill in [format!("KILL QUERY {id}"), format!("KILL {id}")] {
        one.session.execute(sql, RowFormat::Text).await.unwrap();
        one.session.load(b"1,5,a\n").await;
        let shown = two.rows("SHOW PROCESSLIST").await;
        assert!(shown[0].contains(",Query,") && shown[0].contains(sql), "{shown:?}");
        two.run(&kill).await;
        one.session.load(b"2,6,b\n").await;
        assert_eq!(one.session.loaded().await.unwrap_err().errno(), 1317);
        let shown = two.rows("SHOW PROCESSLIST").await;
        assert!(shown[0].contains(",Sleep,"), "{shown:?}");
        assert!(two.rows("SELECT * FROM d.t").await.is_empty());
    }
}

#[tokio::test]
async fn what_no_row_reaches_ends_no_statement() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, IF(1, 2, 1/0))").await;
    client.run("INSERT INTO t (id, a) SELECT id + 1000, 1/0 FROM t WHERE id = 999").await;
    client.run("UPDATE t SET a = CASE WHEN id > 0 THEN 5 ELSE CAST('x' AS SIGNED) END").await;
    client.run("UPDATE t SET b = 'y' WHERE IF(id > 0, a = 5, CAST('x' AS SIGNED))").await;
    client
        .run(
            "INSERT INTO t (id, a) VALUES (1, 1) ON DUPLICATE KEY UPDATE a = IF(VALUES(a), 9, 1/0)",
        )
        .await;
    for sql in [
        "UPDATE t SET a = IF(id > 1, 1, 1/0)",
        "INSERT INTO t (id, a) VALUES (2, IF(0, 2, 1/0))",
        "INSERT INTO t (id, a) SELECT 2, 1/0 + 1",
        "DELETE FROM t WHERE id = 1 AND 1/0 IS NULL",
    ] {
        assert_eq!(client.error(sql).await.0, 1365, "{sql}");
    }
    assert_eq!(client.rows("SELECT * FROM t").await, ["1,9,y"]);
}

#[tokio::test]
async fn strict_mode_refuses_what_expressions_cut_or_lack() {
    let (_engine, mut client) = with_tables(&[T]).await;
    client.run("INSERT INTO t (id, a) VALUES (1, 1)").await;
    for (sql, code) in [
        ("UPDATE t SET a = CAST(id + 99999 AS DECIMAL(6,2))", 1264),
        ("UPDATE t SET a = 2 WHERE CAST(id + 99999 AS DECIMAL(6,2)) > 1", 1264),
        ("UPDATE t SET a = 2 WHERE LOG(id - 2) IS NULL", 3020),
        ("DELETE FROM t WHERE LOG(-1) IS NULL", 3020),
    ] {
        assert_eq!(client.error(sql).await.0, code, "{sql}");
    }
    client.run("UPDATE IGNORE t SET a = 3 WHERE LOG(id - 2) IS NULL").await;
    assert_eq!(client.rows("SELECT id, a FROM t").await, ["1,3"]);
}
