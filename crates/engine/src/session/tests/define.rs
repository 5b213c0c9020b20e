//! Tests of DDL on native databases and tables, and of the definitions that `SHOW` returns.

use pelorus_sql::statement::{HistogramAction, HistogramChange};

use super::*;
use crate::session::statement_snapshot::View;

async fn shop() -> (Arc<Engine>, Session) {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE DATABASE shop").await;
    run(&mut root, "USE shop").await;
    (engine, root)
}

#[tokio::test]
async fn databases_come_and_go() {
    let (engine, mut root) = shop().await;
    assert_eq!(errno(&mut root, "CREATE DATABASE shop").await, 1007);
    run(&mut root, "CREATE DATABASE IF NOT EXISTS shop").await;
    let warnings = rows(&mut root, "SHOW WARNINGS").await;
    assert_eq!(warnings[0][..2], ["Note", "1007"]);
    assert!(rows(&mut root, "SHOW DATABASES").await.contains(&vec!["shop".to_owned()]));
    let created = rows(&mut root, "SHOW CREATE DATABASE shop").await;
    assert!(created[0][1].contains("CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"));
    let sql = "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = \
               'shop'";
    assert_eq!(rows(&mut root, sql).await, [["utf8mb4_0900_ai_ci"]]);
    run(&mut root, "DROP DATABASE shop").await;
    assert_eq!(rows(&mut root, "SELECT DATABASE()").await, [["NULL"]]);
    assert_eq!(errno(&mut root, "USE shop").await, 1049);
    assert_eq!(errno(&mut root, "DROP DATABASE shop").await, 1008);
    engine.close().await;
}

#[tokio::test]
async fn tables_are_shown_as_they_were_made() {
    let (engine, mut root) = shop().await;
    let sql = "CREATE TABLE t (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT \
               NULL DEFAULT 'x' COMMENT 'who', price DECIMAL(10,2), at DATETIME DEFAULT \
               CURRENT_TIMESTAMP, KEY (name)) AUTO_INCREMENT = 7 COMMENT = 'things'";
    run(&mut root, sql).await;
    let shown = rows(&mut root, "SHOW CREATE TABLE t").await;
    assert_eq!(
        shown[0][1],
        "CREATE TABLE `t` (\n  `id` int unsigned NOT NULL AUTO_INCREMENT,\n  `name` varchar(20) \
         NOT NULL DEFAULT 'x' COMMENT 'who',\n  `price` decimal(10,2) DEFAULT NULL,\n  `at` \
         datetime DEFAULT CURRENT_TIMESTAMP,\n  PRIMARY KEY (`id`),\n  KEY `name` (`name`)\n) \
         ENGINE=Pelorus AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci \
         COMMENT='things'"
    );
    assert_eq!(rows(&mut root, "SHOW TABLES").await, [["t"]]);
    let columns = rows(&mut root, "DESCRIBE t").await;
    assert_eq!(columns[0], ["id", "int unsigned", "NO", "PRI", "NULL", "auto_increment"]);
    assert_eq!(columns[1], ["name", "varchar(20)", "NO", "MUL", "x", ""]);
    let sql = "SELECT COLUMN_NAME, DATA_TYPE, NUMERIC_PRECISION, CHARACTER_MAXIMUM_LENGTH FROM \
               information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 't' ORDER \
               BY ORDINAL_POSITION";
    let found = rows(&mut root, sql).await;
    assert_eq!(found[1], ["name", "varchar", "NULL", "20"]);
    assert_eq!(found[2], ["price", "decimal", "10", "NULL"]);
    assert_eq!(rows(&mut root, "SHOW INDEX FROM t").await.len(), 2);
    assert_eq!(rows(&mut root, "SHOW TABLE STATUS").await[0][..2], ["t", "Pelorus"]);
    let sql = "SELECT DATA_LENGTH >= 0, DATA_FREE >= 0, AVG_ROW_LENGTH, INDEX_LENGTH FROM \
               information_schema.TABLES WHERE TABLE_NAME = 't'";
    assert_eq!(rows(&mut root, sql).await, [["1", "1", "0", "0"]]);
    assert_eq!(rows(&mut root, "ANALYZE TABLE t").await, [["shop.t", "analyze", "status", "OK"]]);
    assert_eq!(rows(&mut root, "CHECK TABLE t").await, [["shop.t", "check", "status", "OK"]]);
    assert_eq!(errno(&mut root, "CHECK TABLE t FOO").await, 1064);
    engine.close().await;
}

#[tokio::test]
async fn errors_of_definitions_are_mysql_s() {
    let (engine, mut root) = shop().await;
    run(&mut root, "CREATE TABLE t (a INT PRIMARY KEY)").await;
    for (sql, expected) in [
        ("CREATE TABLE t (a INT PRIMARY KEY)", 1050),
        ("CREATE TABLE u (a INT PRIMARY KEY, A INT)", 1060),
        ("CREATE TABLE u (a INT PRIMARY KEY, KEY k (a), KEY k (a))", 1061),
        ("CREATE TABLE u (a INT DEFAULT 'x' PRIMARY KEY)", 1067),
        ("CREATE TABLE u (a INT PRIMARY KEY, b INT, PRIMARY KEY (b))", 1068),
        ("CREATE TABLE u (a INT PRIMARY KEY, KEY (b))", 1072),
        ("CREATE TABLE u (a VARCHAR(20000) PRIMARY KEY)", 1074),
        ("CREATE TABLE u (a INT PRIMARY KEY, b INT AUTO_INCREMENT)", 1075),
        ("CREATE TABLE u (a INT PRIMARY KEY, b TEXT DEFAULT 'x')", 1101),
        ("CREATE TABLE u (a TEXT PRIMARY KEY)", 1170),
        ("CREATE TABLE u (a INT NULL PRIMARY KEY)", 1171),
        ("CREATE TABLE u (a INT)", 3750),
        ("CREATE TABLE u (a INT PRIMARY KEY, b INT UNIQUE)", 1235),
        ("CREATE TABLE u (a INT PRIMARY KEY, b JSON AS (JSON_OBJECT('a', a)))", 1235),
        ("CREATE TABLE u (a INT PRIMARY KEY, b JSON, CHECK (JSON_CONTAINS(b, '1')))", 1235),
        ("CREATE TABLE u (a INT PRIMARY KEY, FULLTEXT KEY (a))", 1283),
        ("CREATE TABLE u (a INT PRIMARY KEY, b ENUM('x'), FULLTEXT KEY (b))", 1283),
        ("CREATE TABLE u (a INT PRIMARY KEY, b BLOB, FULLTEXT KEY (b))", 1283),
        ("CREATE TABLE u (a INT PRIMARY KEY, b VARBINARY(9), FULLTEXT KEY (b))", 1283),
        (
            "CREATE TABLE u (a INT PRIMARY KEY, b TEXT, c TEXT CHARSET latin1, FULLTEXT (b, c))",
            1283,
        ),
        ("CREATE TABLE u (a INT PRIMARY KEY, b TEXT, FULLTEXT KEY ((UPPER(b))))", 3759),
        ("CREATE TABLE u (a INT PRIMARY KEY, b TEXT AS ('x'), FULLTEXT KEY (b))", 3106),
        ("ALTER TABLE t ADD FULLTEXT KEY (a)", 1283),
        ("CREATE TABLE u (a INT PRIMARY KEY) ENGINE = nonsense", 1286),
        ("CREATE TABLE u (a INT PRIMARY KEY, b INT) PARTITION BY HASH (b)", 1503),
        ("CREATE TABLE nowhere.u (a INT PRIMARY KEY)", 1049),
        ("DROP TABLE u", 1051),
        ("DROP TABLE t, shop.t", 1066),
        ("TRUNCATE TABLE u", 1146),
        ("SHOW CREATE TABLE u", 1146),
        ("RENAME TABLE t TO t", 1050),
        ("CREATE VIEW v AS SELECT 1", 1235),
    ] {
        assert_eq!(errno(&mut root, sql).await, expected, "{sql}");
    }
    run(&mut root, "DROP TABLE IF EXISTS u, t").await;
    assert!(rows(&mut root, "SHOW TABLES").await.is_empty());
    engine.close().await;
}

/// Foreign keys follow the names of tables and columns, and names that were made of a table's.
#[tokio::test]
async fn foreign_keys_follow_what_they_refer_to() {
    let (engine, mut root) = shop().await;
    run(&mut root, "CREATE DATABASE other").await;
    run(&mut root, "CREATE TABLE p (id INT PRIMARY KEY)").await;
    run(&mut root, "CREATE TABLE q (id INT PRIMARY KEY)").await;
    let sql = "CREATE TABLE c (id INT PRIMARY KEY, a INT, b INT CHECK (b > 0), up INT, CONSTRAINT \
               f FOREIGN KEY (a) REFERENCES p (id), FOREIGN KEY (b) REFERENCES shop.q (id), FOREIGN \
               KEY (up) REFERENCES c (id))";
    run(&mut root, sql).await;
    for (sql, table, expected) in [
        ("RENAME TABLE p TO p9", "c", ["f` F(`a`) R`p9` (`id`)", "c_ibfk_1` F(`b`) R`shop`.`q`"]),
        ("ALTER TABLE p9 RENAME COLUMN id TO idd", "c", ["R`p9` (`idd`)", "R`shop`.`q` (`id`)"]),
        ("RENAME TABLE p9 TO x, q TO p9, x TO q", "c", ["R`q` (`idd`)", "R`p9` (`id`)"]),
        ("ALTER TABLE q RENAME TO other.q", "c", ["R`other`.`q` (`idd`)", "R`p9` (`id`)"]),
        ("ALTER TABLE c RENAME COLUMN id TO i", "c", ["(`up`) R`c` (`i`)", "R`p9` (`id`)"]),
        ("RENAME TABLE c TO d", "d", ["d_ibfk_2` F(`up`) R`d` (`i`)", "(`b`) R`p9` (`id`)"]),
        ("RENAME TABLE d TO other.d", "other.d", ["(`a`) R`q` (`idd`)", "R`shop`.`p9` (`id`)"]),
    ] {
        run(&mut root, sql).await;
        let shown = &rows(&mut root, &format!("SHOW CREATE TABLE {table}")).await[0][1];
        for part in expected {
            let part = part.replace("F(", "FOREIGN KEY (").replace("R`", "REFERENCES `");
            assert!(shown.contains(&part), "{sql}: {part} in {shown}");
        }
    }
    let sql = "SELECT CONSTRAINT_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, \
               REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE \
               TABLE_SCHEMA = 'other' AND CONSTRAINT_NAME = 'f'";
    assert_eq!(rows(&mut root, sql).await, [["f", "other", "q", "idd"]]);
    assert_eq!(errno(&mut root, "ALTER TABLE other.d DROP CHECK d_chk_1").await, 0);
    engine.close().await;
}

/// Numbers as strings, no line breaks in texts, nothing of comments that are empty.
#[tokio::test]
async fn defaults_and_comments_are_shown_as_mysql_does() {
    let (engine, mut root) = shop().await;
    let sql = r"CREATE TABLE t (id INT PRIMARY KEY COMMENT 'a\nb\r''\\c', n DECIMAL(5,2) DEFAULT 4,
        b BIT(3) DEFAULT 5, s VARCHAR(9) DEFAULT 'x\ny', f BOOL DEFAULT TRUE, y INT,
        e ENUM('a\nb') COMMENT '', KEY k (n) COMMENT 'l\nm') COMMENT 'p\nq'
        PARTITION BY RANGE COLUMNS (id) (PARTITION p VALUES LESS THAN (MAXVALUE) COMMENT 'r\ns')";
    run(&mut root, sql).await;
    run(&mut root, "ALTER TABLE t ALTER y DROP DEFAULT").await;
    let shown = rows(&mut root, "SHOW CREATE TABLE t").await.remove(0).remove(1);
    for part in [
        r"`id` int NOT NULL COMMENT 'a\nb\r''\\c',",
        "`n` decimal(5,2) DEFAULT '4.00',",
        "`b` bit(3) DEFAULT b'101',",
        r"`s` varchar(9) DEFAULT 'x\ny',",
        "`f` tinyint(1) DEFAULT '1',",
        "`y` int,",
        r"`e` enum('a\nb') DEFAULT NULL,",
        r"COMMENT 'l\nm'",
        r"COMMENT='p\nq'",
        r"LESS THAN (MAXVALUE) COMMENT = 'r\ns'",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    run(&mut root, "ALTER TABLE t COMMENT = '', MODIFY id INT COMMENT ''").await;
    let shown = rows(&mut root, "SHOW CREATE TABLE t").await.remove(0).remove(1);
    assert!(shown.contains("`id` int NOT NULL,") && !shown.contains("COMMENT="), "{shown}");
    engine.close().await;
}

/// A definition that was written under one `sql_mode` is shown so that the default one reads it.
#[tokio::test]
async fn definitions_are_shown_in_the_default_mode() {
    let (engine, mut root) = shop().await;
    let modes = "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'";
    run(&mut root, modes).await;
    let sql = r#"CREATE TABLE m (id INT PRIMARY KEY, "a b" VARCHAR(9) CHECK ("a b" <> 'q'),
        g VARCHAR(30) AS ("a b" || '\') STORED, d VARCHAR(9) DEFAULT ('x' || 'y'),
        e VARCHAR(5) DEFAULT '\')"#;
    run(&mut root, sql).await;
    run(&mut root, "SET sql_mode = ''").await;
    let shown = rows(&mut root, "SHOW CREATE TABLE m").await.remove(0).remove(1);
    for part in [
        r"`g` varchar(30) GENERATED ALWAYS AS (concat(`a b`,_utf8mb4'\\')) STORED",
        r"`d` varchar(9) DEFAULT (concat(_utf8mb4'x',_utf8mb4'y'))",
        r"`e` varchar(5) DEFAULT '\\'",
        r"CHECK ((`a b` <> _utf8mb4'q'))",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    run(&mut root, "INSERT INTO m (id, `a b`) VALUES (1, 'r')").await;
    run(&mut root, modes).await;
    run(&mut root, "INSERT INTO m (id, \"a b\") VALUES (2, 'r')").await;
    for row in rows(&mut root, "SELECT g, d, e FROM m").await {
        assert_eq!(row, [r"r\", "xy", r"\"]);
    }
    engine.close().await;
}

#[tokio::test]
async fn rows_survive_what_changes_their_table() {
    let (engine, mut root) = shop().await;
    run(&mut root, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(5))").await;
    run(&mut root, "INSERT INTO t VALUES (1, 'x'), (2, NULL)").await;
    let sql = "ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7 FIRST, ADD d VARCHAR(3) DEFAULT \
               'd', MODIFY b VARCHAR(50), RENAME COLUMN a TO id";
    run(&mut root, sql).await;
    run(&mut root, "INSERT INTO t (id, b) VALUES (3, 'a longer text')").await;
    let found = rows(&mut root, "SELECT * FROM t ORDER BY id").await;
    assert_eq!(found[0], ["7", "1", "x", "d"]);
    assert_eq!(found[1], ["7", "2", "NULL", "d"]);
    assert_eq!(found[2], ["7", "3", "a longer text", "d"]);
    assert_eq!(errno(&mut root, "ALTER TABLE t MODIFY b VARCHAR(50) NOT NULL").await, 1138);
    assert_eq!(errno(&mut root, "ALTER TABLE t MODIFY b INT").await, 1366);
    assert_eq!(errno(&mut root, "ALTER TABLE t DROP COLUMN nothing").await, 1091);
    run(&mut root, "ALTER TABLE t DROP COLUMN c, ADD KEY (b), RENAME TO u").await;
    run(&mut root, "CREATE TABLE copy LIKE u").await;
    assert_eq!(rows(&mut root, "SHOW TABLES").await, [["copy"], ["u"]]);
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM u").await, [["3"]]);
    run(&mut root, "TRUNCATE TABLE u").await;
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM u").await, [["0"]]);
    engine.close().await;
}

/// A clause without effect in native tables leaves a warning, once, or is an error.
#[tokio::test]
async fn nothing_is_passed_over_in_silence() {
    let (engine, mut root) = shop().await;
    run(&mut root, "CREATE TABLE p (id INT PRIMARY KEY)").await;
    run(&mut root, "CREATE TABLE c (id INT PRIMARY KEY, v INT REFERENCES p (id))").await;
    let unheeded = |name: &str| {
        let text = format!("foreign key '{name}' is kept but not enforced in native tables");
        vec![vec!["Warning".to_owned(), "1235".to_owned(), text]]
    };
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await, unheeded("c_ibfk_1"));
    run(&mut root, "ALTER TABLE c ADD w INT REFERENCES p (id) ON DELETE CASCADE").await;
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await, unheeded("c_ibfk_2"));
    let shown = rows(&mut root, "SHOW CREATE TABLE c").await;
    let keys = "  KEY `v` (`v`),\n  KEY `w` (`w`),\n  CONSTRAINT `c_ibfk_1` FOREIGN KEY (`v`) \
                REFERENCES `p` (`id`),\n  CONSTRAINT `c_ibfk_2` FOREIGN KEY (`w`) REFERENCES `p` \
                (`id`) ON DELETE CASCADE\n)";
    assert!(shown[0][1].contains(keys), "{}", shown[0][1]);
    run(&mut root, "ALTER TABLE c ADD x INT, RENAME TO d").await;
    assert!(rows(&mut root, "SHOW WARNINGS").await.is_empty());
    let unused = |name: &str| {
        let text = "is kept but not used: native tables have no MATCH";
        let text = format!("FULLTEXT key '{name}' {text}");
        vec![vec!["Warning".to_owned(), "1235".to_owned(), text]]
    };
    run(&mut root, "CREATE TABLE f (id INT PRIMARY KEY, t TEXT, c CHAR(9), FULLTEXT (t, c))").await;
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await, unused("t"));
    run(&mut root, "ALTER TABLE f ADD FULLTEXT KEY words (c)").await;
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await, unused("words"));
    run(&mut root, "ALTER TABLE f ADD x INT").await;
    assert!(rows(&mut root, "SHOW WARNINGS").await.is_empty());
    for (sql, expected) in [
        ("ALTER TABLE d DROP COLUMN v", 1828),
        ("CREATE TABLE e (id INT PRIMARY KEY, FOREIGN KEY (nope) REFERENCES p (id))", 1072),
        ("CREATE TABLE e (id INT PRIMARY KEY) COMMIT=ASYNC COMMIT=SYNC", 1064),
        ("CREATE TABLE e (id INT PRIMARY KEY) HISTRY='1 DAY'", 1064),
        ("ALTER TABLE d COMIT=SYNC", 1064),
        ("CREATE TABLE e (id INT PRIMARY KEY) ENCRYPTION='Y'", 1235),
        ("CREATE TABLE e (id INT PRIMARY KEY) SECONDARY_ENGINE=rapid", 1235),
        ("ALTER TABLE d INDEX DIRECTORY='/x'", 1235),
    ] {
        assert_eq!(errno(&mut root, sql).await, expected, "{sql}");
    }
    run(&mut root, "ALTER TABLE d DROP FOREIGN KEY d_ibfk_1, DROP COLUMN v").await;
    run(&mut root, "CREATE TABLE e (id INT PRIMARY KEY) ENCRYPTION='N' STATS_PERSISTENT=1").await;
    for sql in [
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET transaction_isolation = 'serializable'",
    ] {
        run(&mut root, sql).await;
        assert_eq!(rows(&mut root, "SHOW WARNINGS").await[0][..2], ["Warning", "1235"], "{sql}");
    }
    run(&mut root, "SET transaction_isolation = 'READ-COMMITTED'").await;
    assert!(rows(&mut root, "SHOW WARNINGS").await.is_empty());
    engine.close().await;
}

/// Reads of a transaction's version go by the columns of its time; no write may mix them with those
/// of now.
#[tokio::test]
async fn writes_of_a_transaction_meet_a_changed_table() {
    const MERGE: &str = "INSERT INTO t (id, b) VALUES (1, 0) ON DUPLICATE KEY UPDATE b = b + 1";
    const REPLACE: &str = "REPLACE INTO t (id, b) VALUES (1, 7)";
    let (engine, mut root) = shop().await;
    let mut other = session(&engine, "root").await;
    run(&mut other, "USE shop").await;
    for alter in [
        "DROP COLUMN a",
        "ADD COLUMN c INT",
        "ADD COLUMN c INT FIRST",
        "RENAME COLUMN a TO b, RENAME COLUMN b TO a",
        "MODIFY b INT AFTER id",
        "MODIFY b BIGINT",
        "MODIFY b VARCHAR(20)",
    ] {
        for (sql, is_late) in [
            (MERGE, false),
            (REPLACE, false),
            ("INSERT IGNORE INTO t (id, b) VALUES (1, 0), (3, 3)", false),
            ("UPDATE t SET b = b + 1 WHERE id = 1", false),
            ("UPDATE t SET id = 5 WHERE id = 1", false),
            // The rows of other sessions are checked only by the commit.
            ("INSERT INTO t (id, b) VALUES (9, 0)", true),
        ] {
            run(&mut root, "DROP TABLE IF EXISTS t").await;
            run(&mut root, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, b INT)").await;
            run(&mut root, "INSERT INTO t VALUES (1, 100, 5), (2, 200, 6)").await;
            run(&mut root, "BEGIN").await;
            rows(&mut root, "SELECT * FROM t").await;
            run(&mut other, &format!("ALTER TABLE t {alter}")).await;
            let found = errno(&mut root, sql).await;
            let committed = errno(&mut root, "COMMIT").await;
            let met = if is_late && found == 0 { committed } else { found };
            assert_eq!(met, 1412, "{alter}: {sql}");
            run(&mut root, "ROLLBACK").await;
            run(&mut root, sql).await;
        }
    }
    engine.close().await;
}

/// A statement of comments alone does nothing, one of nothing is an error.
#[tokio::test]
async fn comments_are_statements() {
    let (engine, mut root) = shop().await;
    for sql in ["-- a dump begins\n", "# x", "  /* nothing */ ", "/*!99999 SELECT 1 */"] {
        run(&mut root, sql).await;
    }
    for sql in ["", "  \n", " ; "] {
        assert_eq!(errno(&mut root, sql).await, 1065, "{sql:?}");
    }
    engine.close().await;
}

#[tokio::test]
async fn partitions_are_dropped_added_and_pruned() {
    let (engine, mut root) = shop().await;
    let sql = "CREATE TABLE t (d DATE, n INT, PRIMARY KEY (d, n)) PARTITION BY RANGE (YEAR(d)) \
               (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN (2021))";
    run(&mut root, sql).await;
    let sql = "INSERT INTO t VALUES ('2019-05-01', 1), ('2020-05-01', 2), ('2020-06-01', 3)";
    run(&mut root, sql).await;
    assert_eq!(errno(&mut root, "INSERT INTO t VALUES ('2021-01-01', 1)").await, 1526);
    run(&mut root, "ALTER TABLE t ADD PARTITION (PARTITION p2 VALUES LESS THAN MAXVALUE)").await;
    run(&mut root, "INSERT INTO t VALUES ('2021-01-01', 1)").await;
    let sql = "SELECT n FROM t WHERE d BETWEEN '2020-01-01' AND '2020-12-31' ORDER BY n";
    assert_eq!(rows(&mut root, sql).await, [["2"], ["3"]]);
    run(&mut root, "ALTER TABLE t DROP PARTITION p0").await;
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM t").await, [["3"]]);
    run(&mut root, "ALTER TABLE t TRUNCATE PARTITION p1").await;
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM t").await, [["1"]]);
    assert_eq!(errno(&mut root, "ALTER TABLE t DROP PARTITION p7").await, 1507);
    let sql = "SELECT PARTITION_NAME, PARTITION_METHOD, PARTITION_DESCRIPTION FROM \
               information_schema.PARTITIONS WHERE TABLE_NAME = 't'";
    let found = rows(&mut root, sql).await;
    assert_eq!(found, [["p1", "RANGE", "2021"], ["p2", "RANGE", "MAXVALUE"]]);
    engine.close().await;
}

/// The configuration of an engine on a disk.
fn on_disk(env: &Env) -> EngineConfig {
    EngineConfig {
        env: env.clone(),
        data: PathBuf::from("/data"),
        settings: Settings::default(),
        root_password: RootPassword::Given("secret".to_owned()),
        root_hosts: Vec::new(),
        secrets: SecretSources::default(),
        links: Vec::new(),
        mirrors: Vec::new(),
        variables: Vec::new(),
    }
}

#[tokio::test]
async fn damaged_statistics_stop_nothing() {
    const DISTINCT: &str = "SELECT column_name, distinct_values FROM pelorus.column_statistics \
                            ORDER BY 1";
    let env = Env::in_memory(4);
    let engine = Engine::open(on_disk(&env)).await.unwrap();
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE DATABASE d").await;
    run(&mut root, "CREATE TABLE d.t (a INT PRIMARY KEY, b CHAR(3))").await;
    run(&mut root, "INSERT INTO d.t VALUES (1, 'x'), (2, 'X'), (3, NULL)").await;
    rows(&mut root, "ANALYZE TABLE d.t").await;
    assert_eq!(rows(&mut root, DISTINCT).await, [["a", "3"], ["b", "1"]]);
    let (key, mut value) = engine.native().store().values(b"statistics/").remove(0);
    value.truncate(20);
    let values = vec![(key, Some(value))];
    let commit = pelorus_store::Commit { values, ..pelorus_store::Commit::default() };
    engine.native().store().commit(&commit).unwrap();
    engine.close().await;
    drop(root);
    let engine = Engine::open(on_disk(&env)).await.unwrap();
    let mut root = session(&engine, "root").await;
    assert!(rows(&mut root, DISTINCT).await.is_empty());
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM d.t WHERE a > 1").await, [["2"]]);
    rows(&mut root, "ANALYZE TABLE d.t").await;
    assert_eq!(rows(&mut root, DISTINCT).await, [["a", "3"], ["b", "1"]]);
    run(&mut root, "DROP TABLE d.t").await;
    assert!(engine.native().store().values(b"statistics/").is_empty());
    engine.close().await;
}

#[tokio::test]
async fn tables_are_there_after_a_restart() {
    let env = Env::in_memory(3);
    let config = || on_disk(&env);
    let engine = Engine::open(config()).await.unwrap();
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE DATABASE d COLLATE utf8mb4_bin").await;
    run(&mut root, "CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY, b CHAR(3))").await;
    run(&mut root, "INSERT INTO d.t (b) VALUES ('x'), ('y')").await;
    let before = rows(&mut root, "SHOW CREATE TABLE d.t").await;
    assert!(before[0][1].ends_with("COLLATE=utf8mb4_bin"));
    engine.close().await;
    drop(root);
    let engine = Engine::open(config()).await.unwrap();
    let mut root = session(&engine, "root").await;
    assert_eq!(rows(&mut root, "SELECT * FROM d.t ORDER BY a").await, [["1", "x"], ["2", "y"]]);
    run(&mut root, "INSERT INTO d.t (b) VALUES ('z')").await;
    assert_eq!(rows(&mut root, "SELECT a > 2 FROM d.t WHERE b = 'z'").await, [["1"]]);
    run(&mut root, "DROP TABLE d.t").await;
    engine.close().await;
}

#[tokio::test]
async fn a_row_in_a_partition_of_others_is_told_by_check_table() {
    let (engine, mut root) = shop().await;
    let sql = "CREATE TABLE p (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a) (PARTITION p0 \
               VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))";
    run(&mut root, sql).await;
    run(&mut root, "INSERT INTO p VALUES (1, 1), (11, 1)").await;
    assert_eq!(rows(&mut root, "CHECK TABLE p").await, [["shop.p", "check", "status", "OK"]]);
    let column = |value: i64| -> arrow::array::ArrayRef {
        Arc::new(arrow::array::Int64Array::from(vec![value]))
    };
    let write = pelorus_store::Write::Put {
        table: engine.native().id_of("shop", "p").unwrap(),
        partition: b"p0".to_vec(),
        columns: vec![column(15), column(1)],
        mode: pelorus_store::Mode::Insert,
    };
    let commit = pelorus_store::Commit { writes: vec![write], ..Default::default() };
    engine.native().store().commit(&commit).unwrap();
    let told = "table shop.p, partition p0: 1 rows belong into other partitions";
    assert_eq!(
        rows(&mut root, "CHECK TABLE p EXTENDED").await,
        [["shop.p", "check", "error", told], ["shop.p", "check", "error", "Corrupt"]]
    );
    assert_eq!(rows(&mut root, "CHECK TABLE p QUICK").await, [["shop.p", "check", "status", "OK"]]);
    engine.close().await;
}

#[tokio::test]
async fn what_is_there_or_is_not_leaves_a_note() {
    let (engine, mut root) = shop().await;
    run(&mut root, "CREATE TABLE p (a INT PRIMARY KEY)").await;
    let sql = "CREATE TABLE t (a INT PRIMARY KEY, b INT, z INT, KEY k (b), KEY b (b), CONSTRAINT c \
               CHECK (b > 0), CONSTRAINT f FOREIGN KEY (b) REFERENCES p (a))";
    run(&mut root, sql).await;
    let before = rows(&mut root, "SHOW CREATE TABLE t").await;
    for (actions, code) in [
        ("ADD KEY IF NOT EXISTS k (b)", "1061"),
        ("ADD KEY IF NOT EXISTS (b)", "1061"),
        ("ADD CONSTRAINT IF NOT EXISTS k UNIQUE (b)", "1061"),
        ("ADD CONSTRAINT IF NOT EXISTS c CHECK (b > 1)", "1826"),
        ("ADD CONSTRAINT IF NOT EXISTS f FOREIGN KEY (b) REFERENCES p (a)", "1061"),
        ("ADD PRIMARY KEY IF NOT EXISTS (b)", "1068"),
        ("MODIFY COLUMN IF EXISTS x INT", "1054"),
        ("CHANGE COLUMN IF EXISTS x y INT", "1054"),
    ] {
        run(&mut root, &format!("ALTER TABLE t WAIT 5 {actions}")).await;
        let warnings = rows(&mut root, "SHOW WARNINGS").await;
        assert_eq!(warnings[0][..2], ["Note", code], "{actions}");
    }
    assert_eq!(rows(&mut root, "SHOW CREATE TABLE t").await, before);
    assert_eq!(errno(&mut root, "ALTER TABLE t ADD KEY k (b)").await, 1061);
    assert_eq!(errno(&mut root, "ALTER TABLE t MODIFY x INT").await, 1054);
    run(&mut root, "ALTER TABLE IF EXISTS nothing FORCE").await;
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await[0][..2], ["Note", "1146"]);
    let sql = "ALTER TABLE t ADD CONSTRAINT IF NOT EXISTS d CHECK (b > 2), ALTER INDEX k IGNORED, \
               MODIFY COLUMN IF EXISTS z BIGINT, ADD KEY IF NOT EXISTS l (b, a)";
    run(&mut root, sql).await;
    let after = &rows(&mut root, "SHOW CREATE TABLE t").await[0][1];
    for part in ["CONSTRAINT `d`", "/*!80000 INVISIBLE */", "`z` bigint", "KEY `l` (`b`,`a`)"] {
        assert!(after.contains(part), "{part} in {after}");
    }
    engine.close().await;
}

#[tokio::test]
async fn a_database_is_dropped_with_its_tables_in_one_commit() {
    let (engine, mut root) = shop().await;
    for table in ["a", "b", "c"] {
        let sql = format!("CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY)");
        run(&mut root, &sql).await;
        run(&mut root, &format!("INSERT INTO {table} VALUES (NULL)")).await;
        run(&mut root, &format!("ANALYZE TABLE {table}")).await;
    }
    let store = engine.native().store();
    assert_eq!(store.values(b"statistics/").len(), 3);
    let before = store.snapshot().version();
    run(&mut root, "DROP DATABASE shop").await;
    // The tables with all that is kept of them, and the database.
    assert_eq!(store.snapshot().version(), before + 1);
    assert!(store.values(b"db/shop").is_empty());
    assert!(store.tables().is_empty());
    assert!(store.values(b"auto/").is_empty() && store.values(b"statistics/").is_empty());
    engine.close().await;
}

/// `CREATE TABLE ... SELECT` fills, and gives up, the table that it has made and no other.
#[tokio::test]
async fn tables_whose_rows_do_not_come_are_dropped_and_no_others() {
    let (engine, mut root) = shop().await;
    let sql = "CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY)";
    let parsed = pelorus_sql::ddl::parse(sql, root.settings.mode()).unwrap();
    let pelorus_sql::ddl::TableStatement::Create(create) = parsed else { panic!("{sql}") };
    let mut definer = root.reads().definer(&root.reads().view());
    let made = definer.create_for_rows(&create).unwrap().unwrap();
    assert_eq!(definer.create_for_rows(&create).unwrap(), None);
    // Before the rows are inserted, another session creates a table of the same name.
    run(&mut root, "DROP TABLE t").await;
    run(&mut root, "CREATE TABLE t (a INT PRIMARY KEY)").await;
    definer.drop_unfilled("shop", "t", made).unwrap();
    assert_eq!(rows(&mut root, "SHOW TABLES").await, [["t"]]);
    // A statement that is to stop clears up what is its own.
    let own = engine.native().id_of("shop", "t").unwrap();
    definer.stop = Stop::of(root.handle());
    root.handle().kill_query();
    definer.drop_unfilled("shop", "t", own).unwrap();
    assert!(rows(&mut root, "SHOW TABLES").await.is_empty());
    run(&mut root, "CREATE TABLE t (a INT PRIMARY KEY) SELECT 1 AS a").await;
    run(&mut root, "CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY) SELECT 2 AS a").await;
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await[0][..2], ["Note", "1050"]);
    assert_eq!(rows(&mut root, "SELECT a FROM t").await, [["1"]]);
    engine.close().await;
}

/// `DROP HISTOGRAM` of a column does not affect the column that has its position now.
#[tokio::test]
async fn histograms_are_dropped_of_the_columns_that_were_meant() {
    let (engine, mut root) = shop().await;
    run(&mut root, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)").await;
    run(&mut root, "INSERT INTO t VALUES (1, 1, 1)").await;
    run(&mut root, "ANALYZE TABLE t UPDATE HISTOGRAM ON b, c").await;
    let read = engine.native().require("shop", "t").unwrap();
    run(&mut root, "ALTER TABLE t DROP COLUMN b").await;
    let change = HistogramChange { columns: vec!["b".to_owned()], action: HistogramAction::Drop };
    root.reads().definer(&root.reads().view()).change_histograms(&read, &change).unwrap();
    let sql = "SELECT COLUMN_NAME FROM information_schema.COLUMN_STATISTICS WHERE TABLE_NAME = 't'";
    assert_eq!(rows(&mut root, sql).await, [["c"]]);
    engine.close().await;
}

/// A locking query locks the rows that it shows: those of the statement's moment. Where it does not say
/// which these are, it is refused.
#[tokio::test]
async fn locking_queries_lock_what_they_show() {
    let (engine, mut root) = shop().await;
    let mut other = session(&engine, "root").await;
    run(&mut root, "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME)").await;
    run(&mut root, "INSERT INTO t VALUES (1, '2020-01-01')").await;
    run(&mut root, "BEGIN").await;
    // 2019-06-01.
    let early =
        Arc::new(View { now_micros: 1_559_347_200_000_000, ..View::clone(&root.reads().view()) });
    native_statement::join(&mut root.transaction_context(), &early.native.pin, true).unwrap();
    query_execution::lock_rows(
        &mut root.transaction_context(),
        &early,
        "SELECT id FROM t WHERE at > NOW() FOR UPDATE",
    )
    .await
    .unwrap();
    run(&mut other, "UPDATE shop.t SET at = NULL").await;
    assert_eq!(errno(&mut root, "COMMIT").await, 1213);
    run(&mut root, "BEGIN").await;
    for (sql, expected) in [
        ("SELECT id FROM t WHERE RAND() < 2 FOR UPDATE", 1235),
        ("SELECT a.id FROM t a JOIN t b ON b.id > RAND() FOR UPDATE", 1235),
        ("SELECT id FROM t WHERE id = (SELECT id FROM t LIMIT 1) FOR UPDATE", 1235),
        ("SELECT id FROM t WHERE id = (SELECT id FROM t ORDER BY at LIMIT 1) FOR SHARE", 1235),
        ("SELECT id FROM t WHERE id = (SELECT id FROM t ORDER BY id LIMIT 1) FOR UPDATE", 0),
        ("SELECT id FROM t WHERE at IS NULL LIMIT 1 FOR UPDATE", 0),
    ] {
        assert_eq!(errno(&mut root, sql).await, expected, "{sql}");
    }
    run(&mut root, "COMMIT").await;
    engine.close().await;
}

/// DDL on several tables is one commit, and new foreign keys of other tables do not disturb writes
/// to them.
#[tokio::test]
async fn foreign_keys_follow_in_the_same_commit() {
    let (engine, mut root) = shop().await;
    let mut other = session(&engine, "root").await;
    run(&mut other, "USE shop").await;
    run(&mut root, "CREATE TABLE p (id INT PRIMARY KEY, a INT)").await;
    run(&mut root, "CREATE TABLE c (id INT PRIMARY KEY, v INT, FOREIGN KEY (v) REFERENCES p (id))")
        .await;
    run(&mut root, "INSERT INTO p VALUES (1, 1)").await;
    let store = Arc::clone(engine.native().store());
    for (at, sql, expected) in [
        (1, "ALTER TABLE p RENAME COLUMN id TO i", "REFERENCES `p` (`i`)"),
        (2, "RENAME TABLE p TO q", "REFERENCES `q` (`i`)"),
        // All rows are rewritten.
        (3, "ALTER TABLE q CHANGE i j VARCHAR(9)", "REFERENCES `q` (`j`)"),
        (4, "ALTER TABLE q ADD b INT, RENAME COLUMN j TO k, RENAME TO r", "REFERENCES `r` (`k`)"),
        (5, "ALTER TABLE r MODIFY b BIGINT, MODIFY a CHAR(9), RENAME TO s", "REFERENCES `s` (`k`)"),
    ] {
        run(&mut other, "BEGIN").await;
        run(&mut other, &format!("INSERT INTO c VALUES ({at}, 1)")).await;
        let before = store.version();
        run(&mut root, sql).await;
        if !matches!(at, 3 | 5) {
            assert_eq!(store.version(), before + 1, "{sql}");
        }
        run(&mut other, "COMMIT").await;
        let shown = &rows(&mut root, "SHOW CREATE TABLE c").await[0][1];
        assert!(shown.contains(expected), "{sql}: {shown}");
    }
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM c").await, [["5"]]);
    assert_eq!(rows(&mut root, "SELECT * FROM s").await, [["1", "1", "NULL"]]);
    assert_eq!(errno(&mut root, "SELECT * FROM r").await, 1146);
    // Names that the statement itself brings are those after it.
    run(&mut root, "CREATE TABLE t (id INT PRIMARY KEY, p INT)").await;
    let sql = "ALTER TABLE t CHANGE id old_id INT NOT NULL, ADD COLUMN id INT, ADD FOREIGN KEY (p) \
               REFERENCES t (id)";
    run(&mut root, sql).await;
    let shown = &rows(&mut root, "SHOW CREATE TABLE t").await[0][1];
    assert!(shown.contains("REFERENCES `t` (`id`)"), "{shown}");
    engine.close().await;
}
