//! Tests of sessions without any linked server.

mod define;
pub(super) mod dml;
mod linked;

use std::path::PathBuf;
use std::time::Duration;

use pelorus_env::Env;
use pelorus_sql::Mode;
use pelorus_types::Column;

use super::state::user_variables::user_variable;
use super::*;
use crate::api::Timeouts;
use crate::config::{EngineConfig, RootPassword, SecretSources, Settings};

async fn engine() -> Arc<Engine> {
    let config = EngineConfig {
        env: Env::in_memory(1),
        data: PathBuf::from("/data"),
        settings: Settings::default(),
        root_password: RootPassword::Given("secret".to_owned()),
        root_hosts: Vec::new(),
        secrets: SecretSources::default(),
        links: Vec::new(),
        mirrors: Vec::new(),
        variables: vec![("wait_timeout".to_owned(), "600".to_owned())],
    };
    Engine::open(config).await.unwrap()
}

fn login(user: &str) -> Login {
    Login {
        user: user.to_owned(),
        peer: None,
        database: None,
        collation: 255,
        found_rows: false,
        interactive: false,
        ignore_space: false,
        encrypted: false,
        attributes: Vec::new(),
    }
}

async fn session(engine: &Arc<Engine>, user: &str) -> Session {
    engine.connect(engine.next_connection_id(), login(user)).await.unwrap()
}

/// The rows of a statement as text, NULL as `NULL`.
async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    texts(session.execute(sql, RowFormat::Text).await.unwrap()).await
}

async fn texts(outcome: Outcome) -> Vec<Vec<String>> {
    match outcome {
        Outcome::Done(_) | Outcome::File(_) => Vec::new(),
        Outcome::Rows(set) => {
            let batches = pelorus_result::collect::batches(&set.columns, set.rows).await.unwrap();
            batches.iter().flat_map(|batch| text_rows(&set.columns, batch)).collect()
        }
    }
}

fn text_rows(columns: &[Column], batch: &arrow::record_batch::RecordBatch) -> Vec<Vec<String>> {
    let cell = |column: usize, row| {
        let ty = &columns[column].ty;
        let value = pelorus_result::scalar::value_at(batch.column(column), ty, row).unwrap();
        if value.is_null() {
            "NULL".to_owned()
        } else {
            pelorus_result::scalar::text_of(&value, ty)
        }
    };
    (0..batch.num_rows())
        .map(|row| (0..columns.len()).map(|column| cell(column, row)).collect())
        .collect()
}

async fn errno(session: &mut Session, sql: &str) -> u16 {
    match session.execute(sql, RowFormat::Text).await {
        Ok(_) => 0,
        Err(error) => error.errno(),
    }
}

async fn run(session: &mut Session, sql: &str) {
    assert_eq!(errno(session, sql).await, 0, "{sql}");
}

#[tokio::test]
async fn variables_are_set_shown_and_refused() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    let shown = rows(&mut root, "SHOW VARIABLES LIKE 'wait%'").await;
    assert_eq!(shown, [["wait_timeout", "600"]]);
    run(&mut root, "SET wait_timeout = 60, @x = 'a', autocommit = OFF").await;
    assert!(!root.status().autocommit);
    assert_eq!(root.settings.variables().count("wait_timeout"), 60);
    for (sql, code) in [
        ("SET nonsense = 1", 1193),
        ("SET version = '1'", 1238),
        ("SET autocommit = 'maybe'", 1231),
        ("SET wait_timeout = 'x'", 1232),
        ("SET GLOBAL timestamp = 1", 1228),
        ("SET max_connections = 5", 1229),
        ("SET time_zone = 'Mars/Olympus'", 1298),
        ("SET NAMES klingon", 1115),
        ("SET NAMES latin1 COLLATE utf8mb4_bin", 1253),
        ("SET sql_auto_is_null = 1", 1235),
    ] {
        assert_eq!(errno(&mut root, sql).await, code, "{sql}");
    }
    run(&mut root, "SET wait_timeout = 0").await;
    let warnings = rows(&mut root, "SHOW WARNINGS").await;
    assert_eq!(warnings, [["Warning", "1292", "Truncated incorrect wait_timeout value: '0'"]]);
    assert_eq!(rows(&mut root, "SHOW COUNT(*) WARNINGS").await, [["1"]]);
    run(&mut root, "SET wait_timeout = 5").await;
    assert!(rows(&mut root, "SHOW WARNINGS").await.is_empty());
    assert_eq!(errno(&mut root, "SET wait_timeout = 7, nonsense = 1").await, 1193);
    assert_eq!(root.settings.variables().count("wait_timeout"), 5, "an error undoes the statement");
}

#[tokio::test]
async fn errors_of_texts_that_cannot_be_read_take_the_place_of_earlier_ones() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    for sql in ["NONSENSE", "SET wait_timeout = 0", "NONSENSE"] {
        errno(&mut root, sql).await;
        let shown = rows(&mut root, "SHOW WARNINGS").await;
        let code = if sql == "NONSENSE" { "1064" } else { "1292" };
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert_eq!(shown[0][1], code);
    }
    // One that is found before anything runs.
    run(&mut root, "SET wait_timeout = 0").await;
    assert_eq!(errno(&mut root, "SELECT 'open").await, 1064);
    assert_eq!(rows(&mut root, "SHOW COUNT(*) WARNINGS").await, [["1"]]);
}

#[test]
fn statements_with_passwords_are_not_shown() {
    let secret = |sql: &str| {
        let mode = Mode::default();
        statement_lifecycle::has_secret(&pelorus_sql::classify(sql, mode).unwrap(), mode)
    };
    for sql in [
        "CREATE USER a IDENTIFIED BY 'b'",
        "PREPARE s FROM 'CREATE USER a IDENTIFIED BY ''b'''",
        "EXECUTE IMMEDIATE 'SET PASSWORD = ''b'''",
    ] {
        assert!(secret(sql), "{sql}");
    }
    for sql in ["SELECT 1", "PREPARE s FROM 'SELECT 1'", "PREPARE s FROM @a", "EXECUTE s"] {
        assert!(!secret(sql), "{sql}");
    }
}

#[tokio::test]
async fn the_flags_and_timeouts_of_a_client_are_those_of_its_session() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "SET GLOBAL interactive_timeout = 77").await;
    run(&mut root, "SET wait_timeout = 5, net_read_timeout = 6, net_write_timeout = 7").await;
    let seconds = Duration::from_secs;
    let expected = Timeouts { idle: seconds(5), read: seconds(6), write: seconds(7) };
    assert_eq!(root.timeouts(), expected);
    assert_ne!(errno(&mut root, "SELECT COUNT (1)").await, 0);
    let login = Login { interactive: true, ignore_space: true, ..login("root") };
    let mut typing = engine.connect(engine.next_connection_id(), login).await.unwrap();
    assert_eq!(typing.timeouts().idle, seconds(77));
    assert_eq!(rows(&mut typing, "SELECT COUNT (1)").await, [["1"]]);
    let mode = rows(&mut typing, "SELECT @@sql_mode").await;
    assert!(mode[0][0].contains("IGNORE_SPACE,ONLY_FULL_GROUP_BY"), "{mode:?}");
}

#[tokio::test]
async fn read_only_accounts_only_read() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE USER 'ann'@'localhost' IDENTIFIED BY 'a' READ ONLY").await;
    assert_eq!(errno(&mut root, "CREATE USER 'ann'@'localhost' IDENTIFIED BY 'a'").await, 1396);
    assert_eq!(errno(&mut root, "CREATE USER ''@'localhost'").await, 1396);
    let grants = rows(&mut root, "SHOW GRANTS FOR 'ann'@'localhost'").await;
    assert_eq!(grants, [["GRANT SELECT, SHOW DATABASES, SHOW VIEW ON *.* TO `ann`@`localhost`"]]);
    let mut ann = session(&engine, "ann").await;
    for (sql, code) in [
        ("CREATE USER b IDENTIFIED BY 'b'", 1227),
        ("DROP USER root@localhost", 1227),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')", 1227),
        ("INSERT INTO d.t VALUES (1)", 1142),
        ("DROP TABLE d.t", 1142),
        ("SET GLOBAL wait_timeout = 5", 1227),
        ("SHOW GRANTS FOR root@localhost", 1227),
    ] {
        assert_eq!(errno(&mut ann, sql).await, code, "{sql}");
    }
    run(&mut ann, "SET PASSWORD = 'new'").await;
    run(&mut root, "ALTER USER 'ann'@'localhost' READ WRITE").await;
    run(&mut ann, "SET GLOBAL wait_timeout = 500").await;
    assert_eq!(errno(&mut ann, "ALTER USER 'ann'@'localhost' ACCOUNT LOCK").await, 1396);
    assert_eq!(errno(&mut ann, "GRANT SELECT ON *.* TO ann").await, 1235);
}

#[tokio::test]
async fn sessions_are_listed_and_killed() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    let other = session(&engine, "root").await;
    let list = rows(&mut root, "SHOW PROCESSLIST").await;
    assert_eq!(list.len(), 2);
    assert_eq!(list[0][4], "Query");
    assert_eq!(list[0][7], "SHOW PROCESSLIST");
    assert_eq!(list[1][4], "Sleep");
    let sql = format!("KILL {}", other.id());
    run(&mut root, &sql).await;
    assert!(other.handle().is_killed());
    other.handle().killed().await;
    drop(other);
    assert_eq!(errno(&mut root, &sql).await, 1094);
    assert_eq!(rows(&mut root, "SHOW PROCESSLIST").await.len(), 1);
    assert!(engine.statistics().contains("Threads: 1"));
}

#[tokio::test]
async fn sessions_belong_to_accounts_and_not_to_users() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE USER ann@localhost, ann@'192.0.2.%' READ ONLY").await;
    let mut here = session(&engine, "ann").await;
    let far = Login { peer: Some("192.0.2.1:1".parse().unwrap()), ..login("ann") };
    let mut far = engine.connect(engine.next_connection_id(), far).await.unwrap();
    let twin = session(&engine, "ann").await;
    for (session, sessions) in [(&mut here, 2), (&mut far, 1), (&mut root, 4)] {
        assert_eq!(rows(session, "SHOW PROCESSLIST").await.len(), sessions);
        let table = "SELECT id FROM information_schema.processlist";
        assert_eq!(rows(session, table).await.len(), sessions);
    }
    for victim in [here.id(), root.id()] {
        assert_eq!(errno(&mut far, &format!("KILL QUERY {victim}")).await, 1095);
        assert_eq!(engine.kill(&far, victim, false).unwrap_err().errno(), 1095);
    }
    run(&mut here, &format!("KILL {}", twin.id())).await;
    assert!(twin.handle().is_killed() && !here.handle().is_killed());
    // What the account may counts now, not when the session began.
    run(&mut root, "ALTER USER ann@'192.0.2.%' READ WRITE").await;
    run(&mut far, &format!("KILL {}", here.id())).await;
    assert!(here.handle().is_killed());
}

#[tokio::test]
async fn show_create_user_can_be_executed_again() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    let hash = "2441243030352400FF0A0D1A22275C".to_owned() + &"41".repeat(8) + &"2E".repeat(48);
    let sha2 = &hash[..2 * (7 + 20 + 43)];
    for create in [
        "'a' IDENTIFIED BY 'x' REQUIRE SSL ACCOUNT LOCK FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2"
            .to_owned(),
        "'a' IDENTIFIED BY 'x' PASSWORD_LOCK_TIME UNBOUNDED READ ONLY".to_owned(),
        "'a' IDENTIFIED WITH mysql_native_password BY 'x'".to_owned(),
        format!("'a' IDENTIFIED WITH caching_sha2_password AS 0x{sha2}"),
        "'a'".to_owned(),
    ] {
        for variable in ["ON", "OFF"] {
            run(&mut root, &format!("CREATE USER {create}")).await;
            run(&mut root, &format!("SET print_identified_with_as_hex = {variable}")).await;
            let before = engine.accounts().all();
            let shown = rows(&mut root, "SHOW CREATE USER a").await.remove(0).remove(0);
            run(&mut root, "DROP USER a").await;
            run(&mut root, &shown).await;
            assert_eq!(engine.accounts().all(), before, "{shown}");
            run(&mut root, "DROP USER a").await;
        }
    }
}

#[tokio::test]
async fn a_kill_ends_statements_that_change_rows() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE DATABASE d").await;
    run(&mut root, "USE d").await;
    run(&mut root, "CREATE TABLE t (id INT PRIMARY KEY, a INT)").await;
    run(&mut root, "INSERT INTO t VALUES (1, 1), (2, 2)").await;
    // Alone and in a transaction, whose earlier changes stay.
    for (begin, expected) in
        [("COMMIT", [["1", "1"], ["2", "2"]]), ("BEGIN", [["1", "1"], ["2", "7"]])]
    {
        run(&mut root, begin).await;
        if begin == "BEGIN" {
            run(&mut root, "UPDATE t SET a = 7 WHERE id = 2").await;
        }
        for sql in
            ["UPDATE t SET a = a + 1", "DELETE FROM t", "INSERT INTO t SELECT id + 9, a FROM t"]
        {
            let change = pelorus_sql::dml::parse(sql, root.settings.mode()).unwrap();
            root.statement.begin(Stop::of(root.handle()));
            let view = root.reads().view();
            let mut plan = root.reads().native_statement(&view).plan(&change).await.unwrap();
            root.handle().kill_query();
            let error = native_statement::execute(
                &mut root.transaction_context(),
                &mut plan,
                view.native.pin.version(),
            )
            .unwrap_err();
            assert_eq!(error.errno(), 1317, "{sql}");
            let error = root.reads().native_statement(&view).plan(&change).await.unwrap_err();
            assert_eq!(error.errno(), 1317, "{sql}");
            assert_eq!(rows(&mut root, "SELECT * FROM t ORDER BY id").await, expected, "{sql}");
        }
    }
    run(&mut root, "COMMIT").await;
    assert_eq!(rows(&mut root, "SELECT * FROM t ORDER BY id").await, [["1", "1"], ["2", "7"]]);
}

#[tokio::test]
async fn a_kill_ends_a_commit_that_waits() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE DATABASE d").await;
    run(&mut root, "CREATE TABLE d.t (id INT PRIMARY KEY)").await;
    run(&mut root, "BEGIN").await;
    run(&mut root, "INSERT INTO d.t VALUES (1)").await;
    root.statement.begin(Stop::of(root.handle()));
    root.handle().kill_query();
    let completion = pelorus_sql::statement::Completion::default();
    let error =
        statements::transaction_control::end(&mut root.transaction_context(), "COMMIT", completion)
            .await
            .unwrap_err();
    assert_eq!(error.errno(), 1317);
    assert!(!root.transaction.is_open());
    assert!(rows(&mut root, "SELECT * FROM d.t").await.is_empty());
}

#[tokio::test]
async fn a_kill_ends_an_alter_table_that_writes_rows() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE DATABASE d").await;
    run(&mut root, "USE d").await;
    run(&mut root, "CREATE TABLE t (id INT PRIMARY KEY, a INT)").await;
    run(&mut root, "INSERT INTO t VALUES (1, 1), (2, 2)").await;
    let before = rows(&mut root, "SHOW CREATE TABLE t").await;
    let sql = "ALTER TABLE t MODIFY a VARCHAR(20)";
    let alter = pelorus_sql::ddl::parse(sql, root.settings.mode()).unwrap();
    root.statement.begin(Stop::of(root.handle()));
    let definer = root.reads().definer(&root.reads().view());
    root.handle().kill_query();
    assert_eq!(definer.run(&alter).unwrap_err().errno(), 1317);
    assert_eq!(rows(&mut root, "SHOW CREATE TABLE t").await, before);
    run(&mut root, sql).await;
    assert_eq!(rows(&mut root, "SELECT MAX(a) FROM t").await, [["2"]]);
}

#[tokio::test]
async fn too_many_connections_are_turned_away() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "SET GLOBAL max_connections = 1").await;
    run(&mut root, "CREATE USER reader READ ONLY").await;
    let error = engine.connect(98, login("reader")).await.unwrap_err();
    assert_eq!(error.errno(), 1040);
    // One place more is kept for those who can make room.
    let mut second = engine.connect(99, login("root")).await.unwrap();
    let error = engine.connect(100, login("root")).await.unwrap_err();
    assert_eq!(error.errno(), 1040);
    run(&mut second, "SET GLOBAL max_connections = 2").await;
    assert_eq!(engine.connect(101, login("reader")).await.unwrap_err().errno(), 1040);
}

#[tokio::test]
async fn an_unreachable_server_is_not_linked() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    let sql = "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PORT 1, USER \
               'u', PASSWORD 'hidden')";
    let error = root.execute(sql, RowFormat::Text).await.unwrap_err();
    assert_eq!(error.errno(), 1429, "{error}");
    assert!(!error.message().contains("hidden"));
    assert_eq!(errno(&mut root, "DROP SERVER s").await, 1477);
    run(&mut root, "DROP SERVER IF EXISTS s").await;
    assert_eq!(rows(&mut root, "SHOW WARNINGS").await[0][1], "1477");
}

#[tokio::test]
async fn databases_of_ours_can_be_used_and_described() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    assert_eq!(errno(&mut root, "SHOW TABLES").await, 1046);
    assert_eq!(errno(&mut root, "USE nowhere").await, 1049);
    run(&mut root, "USE INFORMATION_SCHEMA").await;
    let tables = rows(&mut root, "SHOW TABLES LIKE 'SCHEMATA'").await;
    assert_eq!(tables, [["SCHEMATA"]]);
    let databases = rows(&mut root, "SHOW DATABASES").await;
    assert_eq!(databases, [["information_schema"], ["mysql"], ["pelorus"]]);
    let columns = rows(&mut root, "DESCRIBE mysql.user").await;
    assert_eq!(columns[1][..2], ["User".to_owned(), "varchar(32)".to_owned()]);
    assert_eq!(errno(&mut root, "SHOW COLUMNS FROM nothing").await, 1146);
    assert_eq!(errno(&mut root, "INSERT INTO mysql.user VALUES (1)").await, 1044);
}

#[tokio::test]
async fn transactions_without_tables_begin_and_end() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "START TRANSACTION READ ONLY").await;
    assert!(root.status().in_transaction);
    assert_eq!(errno(&mut root, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await, 1568);
    assert_eq!(errno(&mut root, "INSERT INTO d.t VALUES (1)").await, 1792);
    run(&mut root, "SAVEPOINT a").await;
    run(&mut root, "ROLLBACK TO a").await;
    assert_eq!(errno(&mut root, "ROLLBACK TO b").await, 1305);
    run(&mut root, "COMMIT").await;
    assert!(!root.status().in_transaction);
}

#[tokio::test]
async fn prepared_statements_are_kept_by_name_and_number() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "PREPARE s FROM 'SET @a = ?'").await;
    run(&mut root, "SET @v = 'it''s'").await;
    run(&mut root, "EXECUTE s USING @v").await;
    let (value, _) = user_variable(root.settings.user_variables(), "a");
    assert_eq!(value, pelorus_functions::Value::Text("it's".to_owned()));
    assert_eq!(errno(&mut root, "EXECUTE s").await, 1210);
    run(&mut root, "DEALLOCATE PREPARE s").await;
    assert_eq!(errno(&mut root, "EXECUTE s USING @v").await, 1243);
    let prepared = root.prepare("SET @b = ?").await.unwrap();
    assert_eq!((prepared.parameters, root.parameter_count(prepared.id)), (1, Some(1)));
    root.execute_prepared(prepared.id, vec![Parameter::Int(-5)]).await.unwrap();
    let (value, _) = user_variable(root.settings.user_variables(), "b");
    assert_eq!(value, pelorus_functions::Value::Int(-5));
    root.close_prepared(prepared.id);
    let error = root.execute_prepared(prepared.id, Vec::new()).await.unwrap_err();
    assert_eq!(error.errno(), 1243);
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t";
    assert_eq!(root.prepare(load).await.unwrap_err().errno(), 1295);
    assert_eq!(errno(&mut root, &format!("PREPARE s FROM \"{load}\"")).await, 1295);
    // What an EXECUTE that is killed leaves goes with it.
    root.statement.set_has_parameters(true);
    run(&mut root, "SET @c = 1").await;
    assert!(!root.statement.has_parameters());
}

#[tokio::test]
async fn prepared_statements_keep_their_database_and_how_they_are_read() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    for database in ["one", "two"] {
        run(&mut root, &format!("CREATE DATABASE {database}")).await;
        run(&mut root, &format!("USE {database}")).await;
        run(&mut root, "CREATE TABLE t (a VARCHAR(10) PRIMARY KEY)").await;
        run(&mut root, &format!("INSERT INTO t VALUES ('{database}')")).await;
    }
    run(&mut root, "USE one").await;
    let sql = "SELECT a, DATABASE(), \"a\", ? AS x FROM t";
    run(&mut root, &format!("PREPARE s FROM '{sql}'")).await;
    let numbered = root.prepare(sql).await.unwrap();
    run(&mut root, "USE two").await;
    run(&mut root, "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'").await;
    run(&mut root, r"SET @x = 'a\'").await;
    let expected = [["one", "one", "a", "a\\"]];
    assert_eq!(rows(&mut root, "EXECUTE s USING @x").await, expected);
    let parameters = vec![Parameter::Text("a\\".to_owned())];
    let outcome = root.execute_prepared(numbered.id, parameters).await.unwrap();
    assert_eq!(texts(outcome).await, expected);
    // Their reading does not affect the next statement, even after one that was killed.
    let other = [["two", "two", "two"]];
    let sql = "SELECT a, DATABASE(), \"a\" FROM t";
    assert_eq!(rows(&mut root, sql).await, other);
    let (_, entry) = root.prepared.bound(numbered.id, &[Parameter::Null]).unwrap();
    root.enter_prepared(&entry, true);
    run(&mut root, "SET @c = 1").await;
    assert_eq!(rows(&mut root, sql).await, other);
    // The statement's database is written to, and those that change the session's do.
    run(&mut root, "PREPARE i FROM 'INSERT INTO t VALUES (''new'')'").await;
    run(&mut root, "PREPARE u FROM 'USE one'").await;
    run(&mut root, "EXECUTE u").await;
    assert_eq!(root.settings.database(), Some("one"));
    run(&mut root, "EXECUTE i").await;
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM two.t").await, [["2"]]);
    assert_eq!(root.settings.database(), Some("one"));
    run(&mut root, "DROP DATABASE two").await;
    assert_eq!(errno(&mut root, "EXECUTE i").await, 1049);
    run(&mut root, "PREPARE d FROM 'DROP DATABASE one'").await;
    run(&mut root, "EXECUTE d").await;
    assert_eq!(root.settings.database(), None);
}

#[tokio::test]
async fn a_reset_forgets_everything_but_the_database() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "USE pelorus").await;
    run(&mut root, "SET @a = 1, wait_timeout = 7").await;
    run(&mut root, "BEGIN").await;
    root.reset().await.unwrap();
    assert!(root.settings.user_variables().is_empty() && !root.status().in_transaction);
    assert_eq!(root.settings.variables().count("wait_timeout"), 600);
    assert_eq!(root.settings.database(), Some("pelorus"));
}

#[tokio::test]
async fn statements_are_cut_only_when_several_are_allowed() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    assert_eq!(root.next_statement("SET @a = 1; SET @b = 2").1, "");
    root.set_multi_statements(true);
    assert_eq!(root.next_statement("SET @a = 1; SET @b = 2").0, "SET @a = 1");
    assert_eq!(root.next_statement("SET @a = 1;  -- done\n").1, "");
    // Each cut looks at its own statement and one token more.
    let many = "DO 1;".repeat(100_000);
    let (mut rest, mut count) = (many.as_str(), 0);
    while !rest.is_empty() {
        rest = root.next_statement(rest).1;
        count += 1;
    }
    assert_eq!(count, 100_000);
    root.set_multi_statements(false);
    assert_eq!(errno(&mut root, "SET @a = 1; SET @b = 2").await, 1064);
    assert_eq!(errno(&mut root, "").await, 1065);
    assert_eq!(errno(&mut root, "NONSENSE").await, 1064);
}
