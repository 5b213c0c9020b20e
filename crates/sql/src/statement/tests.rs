//! Tests of the classification of statements.

use super::*;

fn read(sql: &str) -> Statement {
    classify(sql, Mode::default()).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn table(name: &str) -> TableName {
    match name.split_once('.') {
        Some((database, name)) => {
            TableName { database: Some(database.to_owned()), name: name.to_owned() }
        }
        None => TableName { database: None, name: name.to_owned() },
    }
}

fn tables(names: &str) -> Vec<TableName> {
    names.split_whitespace().map(table).collect()
}

fn account(user: &str, host: &str) -> UserName {
    UserName::Account(Account { user: user.to_owned(), host: host.to_owned() })
}

#[test]
fn queries_say_where_they_go() {
    let facts = |sql: &str| match read(sql) {
        Statement::Query(facts) => facts,
        other => panic!("{sql} is {other:?}"),
    };
    for (sql, expected) in [
        ("SELECT 1", ""),
        ("SELECT a FROM t", "t"),
        ("(SELECT a FROM d.t) UNION (SELECT 1 FROM `u v`)", "d.t u`v"),
        ("SELECT EXTRACT(DAY FROM a), TRIM(b FROM c) FROM t, u x JOIN v ON f(a, b), w", "t u v w"),
        ("SELECT * FROM (a, (b JOIN c)) LEFT JOIN (SELECT 1 FROM e, f) s ON 1", "a b c e f"),
        ("WITH x AS (SELECT 1 FROM t), y (a) AS (SELECT 2) SELECT * FROM x, y, d.x", "t d.x"),
        ("SELECT 1 FROM t WHERE a IN (SELECT b FROM u WHERE c = (SELECT 1 FROM v))", "t u v"),
        ("TABLE d.t", "d.t"),
        ("SELECT 1 FROM DUAL", ""),
        ("SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) j, t", "t"),
        ("SELECT a FROM t USE INDEX (i, j) WHERE b, c", "t"),
        ("SELECT 1 FROM a GROUP BY b, c ORDER BY d, e LIMIT 1, 2", "a"),
        ("VALUES ROW(1, 2)", ""),
    ] {
        let expected: Vec<TableName> = tables(expected)
            .into_iter()
            .map(|mut table| {
                table.name = table.name.replace('`', " ");
                table
            })
            .collect();
        assert_eq!(facts(sql).tables, expected, "{sql}");
    }
    assert!(facts("SELECT 1 FROM t FOR UPDATE").locking);
    assert!(facts("SELECT 1 FROM t LOCK IN SHARE MODE").locking);
    assert!(facts("SELECT SQL_CALC_FOUND_ROWS @a := 1").calc_found_rows);
    assert!(facts("SELECT SQL_CALC_FOUND_ROWS @a := 1").assigns);
    assert!(facts("SELECT 1 INTO OUTFILE 'x'").into_file);
    assert_eq!(facts("SELECT 1, 2 INTO @a, @`b` FROM t").into_variables, ["a", "b"]);
    let statement = read("SELECT 1 INTO OUTFILE 'x'");
    assert!(statement.is_write() && !statement.returns_rows());
}

#[test]
fn writes_name_their_tables() {
    for (sql, kind, expected, changed) in [
        ("INSERT INTO t VALUES (1)", WriteKind::Insert, "t", 1),
        ("INSERT LOW_PRIORITY IGNORE d.t (a) SELECT a FROM u", WriteKind::Insert, "d.t u", 1),
        ("INSERT INTO t SET a = 1 ON DUPLICATE KEY UPDATE a = 2", WriteKind::Insert, "t", 1),
        ("REPLACE t VALUES (1)", WriteKind::Replace, "t", 1),
        ("UPDATE t SET a = REPLACE(a, 'x', 'y')", WriteKind::Update, "t", 1),
        ("UPDATE t JOIN u ON 1 SET a = (SELECT 1 FROM v)", WriteKind::Update, "t u v", 2),
        ("DELETE FROM t WHERE a IN (SELECT 1 FROM u)", WriteKind::Delete, "t u", 1),
        ("DELETE t FROM t JOIN u ON 1", WriteKind::Delete, "t u", 2),
        ("DELETE FROM t USING t JOIN u ON 1", WriteKind::Delete, "t u", 2),
        (
            "WITH x AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM x)",
            WriteKind::Delete,
            "t",
            1,
        ),
        (
            "LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t FIELDS TERMINATED BY ','",
            WriteKind::Load,
            "d.t",
            1,
        ),
        ("CALL d.p(1)", WriteKind::Call, "d.p", 0),
    ] {
        let statement = read(sql);
        let Statement::Write(write) = &statement else { panic!("{sql} is {statement:?}") };
        let found = (write.kind, write.tables.clone(), write.changed);
        assert_eq!(found, (kind, tables(expected), changed), "{sql}");
        assert!(statement.is_write() && !statement.implicit_commit());
    }
}

#[test]
fn schema_changes_name_their_objects() {
    for (sql, object, names, others) in [
        ("CREATE TABLE IF NOT EXISTS d.t (a INT REFERENCES u (b))", "TABLE", "d.t", "u"),
        ("CREATE TABLE t LIKE d.u", "TABLE", "t", "d.u"),
        ("CREATE TABLE t AS SELECT * FROM u JOIN v", "TABLE", "t", "u v"),
        (
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`%` SQL SECURITY INVOKER VIEW v AS SELECT 1 FROM t",
            "VIEW",
            "v",
            "t",
        ),
        ("CREATE UNIQUE INDEX i USING BTREE ON d.t (a)", "INDEX", "d.t", ""),
        (
            "CREATE DEFINER=CURRENT_USER TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET a = 1",
            "TRIGGER",
            "r t",
            "",
        ),
        ("CREATE DATABASE d", "DATABASE", "d", ""),
        ("DROP SCHEMA IF EXISTS d", "DATABASE", "d", ""),
        ("DROP TABLE IF EXISTS a, b.c", "TABLE", "a b.c", ""),
        ("DROP INDEX i ON t", "INDEX", "t", ""),
        ("ALTER TABLE t ADD COLUMN a INT, RENAME TO d.u", "TABLE", "t", "d.u"),
        ("TRUNCATE TABLE t", "TABLE", "t", ""),
        ("RENAME TABLE a TO b, c TO d", "TABLE", "a b c d", ""),
        ("RENAME TABLES IF EXISTS a WAIT 5 TO b, d.c NOWAIT TO d", "TABLE", "a b d.c d", ""),
        ("CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", "PROCEDURE", "p", ""),
        ("DROP FUNCTION f", "FUNCTION", "f", ""),
    ] {
        let statement = read(sql);
        let Statement::Ddl(ddl) = &statement else { panic!("{sql} is {statement:?}") };
        assert_eq!((ddl.object.as_str(), &ddl.names), (object, &tables(names)), "{sql}");
        assert_eq!(ddl.tables, tables(others), "{sql}");
        assert!(statement.is_write() && statement.implicit_commit());
    }
    assert!(!read("CREATE TEMPORARY TABLE t (a INT)").implicit_commit());
    assert!(matches!(
        read("ALTER INSTANCE ROTATE INNODB MASTER KEY"),
        Statement::Administration(_)
    ));
}

#[test]
fn transactions() {
    assert_eq!(read("BEGIN WORK;"), Statement::Begin(Begin::default()));
    let begin = Begin { read_only: Some(true), consistent_snapshot: true };
    let sql = "start transaction with consistent snapshot, READ ONLY";
    assert_eq!(read(sql), Statement::Begin(begin));
    let completion = Completion { chain: Some(true), release: Some(false) };
    assert_eq!(read("COMMIT AND CHAIN NO RELEASE"), Statement::Commit(completion));
    assert_eq!(read("ROLLBACK WORK"), Statement::Rollback(Completion::default()));
    assert_eq!(read("ROLLBACK TO SAVEPOINT `a b`"), Statement::RollbackTo("a b".to_owned()));
    assert_eq!(read("ROLLBACK WORK TO x"), Statement::RollbackTo("x".to_owned()));
    assert_eq!(read("SAVEPOINT x"), Statement::Savepoint("x".to_owned()));
    assert_eq!(read("RELEASE SAVEPOINT x"), Statement::ReleaseSavepoint("x".to_owned()));
    assert_eq!(
        read("LOCK TABLES a READ, d.b AS x LOW_PRIORITY WRITE"),
        Statement::LockTables(vec![(table("a"), false), (table("d.b"), true)])
    );
    assert_eq!(read("UNLOCK TABLES"), Statement::UnlockTables);
}

#[test]
fn set_reads_every_kind_of_assignment() {
    let set = |sql: &str| match read(sql) {
        Statement::Set(assignments) => assignments,
        other => panic!("{sql} is {other:?}"),
    };
    let variable =
        |scope, name: &str, value| Assignment::Variable { scope, name: name.to_owned(), value };
    let word = |text: &str| SetValue::Word(text.to_owned());
    let expression = |text: &str| SetValue::Expression(text.to_owned());
    assert_eq!(
        set("SET autocommit=1, @@global.a := ON, @@b = DEFAULT, SESSION c = 'x', @u = f(1, 2)"),
        [
            variable(Scope::Session, "autocommit", expression("1")),
            variable(Scope::Global, "a", word("ON")),
            variable(Scope::Session, "b", SetValue::Default),
            variable(Scope::Session, "c", SetValue::Text("x".to_owned())),
            Assignment::User { name: "u".to_owned(), expression: "f(1, 2)".to_owned() },
        ]
    );
    // The scope holds for what follows.
    assert_eq!(
        set("SET GLOBAL a = 1, b = NULL, LOCAL c = @@d + 1"),
        [
            variable(Scope::Global, "a", expression("1")),
            variable(Scope::Global, "b", expression("NULL")),
            variable(Scope::Session, "c", expression("@@d + 1")),
        ]
    );
    assert_eq!(
        set("SET NAMES utf8mb4 COLLATE 'utf8mb4_bin', character_set_results = NULL"),
        [
            Assignment::Names {
                charset: Charset::Name("utf8mb4".to_owned()),
                collation: Some("utf8mb4_bin".to_owned()),
            },
            variable(Scope::Session, "character_set_results", expression("NULL")),
        ]
    );
    assert_eq!(set("SET CHARACTER SET DEFAULT"), [Assignment::CharacterSet(Charset::Default)]);
    assert_eq!(
        set("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"),
        [Assignment::Transaction {
            target: Target::Session,
            isolation: Some(Isolation::ReadCommitted),
            read_only: Some(true),
        }]
    );
    assert_eq!(set("SET ROLE NONE"), [Assignment::Other("ROLE".to_owned())]);
    // As mysqldump writes it: a comment that is executed is part of the expression.
    assert_eq!(
        set("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1'"),
        [variable(Scope::Global, "GTID_PURGED", expression("'+' 'a:1'"))]
    );
    assert_eq!(
        set("SET sql_mode=(SELECT REPLACE(@@sql_mode,'ONLY_FULL_GROUP_BY',''))"),
        [variable(
            Scope::Session,
            "sql_mode",
            expression("(SELECT REPLACE(@@sql_mode,'ONLY_FULL_GROUP_BY',''))")
        )]
    );
    for bad in ["SET", "SET a", "SET a =", "SET a = 1,", "SET a = (1", "SET NAMES"] {
        assert!(classify(bad, Mode::default()).is_err(), "{bad}");
    }
}

#[test]
fn show_reads_its_parts() {
    let show = |sql: &str| match read(sql) {
        Statement::Show(show) => *show,
        other => panic!("{sql} is {other:?}"),
    };
    let tables = show("SHOW EXTENDED FULL TABLES FROM `d` LIKE 'a\\_%'");
    assert_eq!((tables.kind, tables.full, tables.extended), (ShowKind::Tables, true, true));
    assert_eq!(tables.database.as_deref(), Some("d"));
    assert_eq!(tables.like.as_deref(), Some("a\\_%"));
    let columns = show("SHOW COLUMNS IN t IN d WHERE Field = 'a' OR `Null` = 'YES'");
    assert_eq!(columns.table, Some(table("d.t")));
    assert_eq!(columns.filter.as_deref(), Some("Field = 'a' OR `Null` = 'YES'"));
    assert_eq!(show("show global variables like 'a%'").global, Some(true));
    assert_eq!(show("SHOW CREATE DATABASE IF NOT EXISTS d").table, Some(table("d")));
    assert_eq!(show("SHOW CREATE TABLE d.t").table, Some(table("d.t")));
    assert_eq!(show("SHOW GRANTS FOR CURRENT_USER()").user, Some(UserName::Current));
    assert_eq!(show("SHOW GRANTS FOR 'a'@'B'").user, Some(account("a", "b")));
    assert_eq!(show("SHOW WARNINGS LIMIT 2, 3").limit, Some((2, 3)));
    assert_eq!(show("SHOW COUNT(*) WARNINGS").kind, ShowKind::CountWarnings);
    assert_eq!(show("SHOW ENGINE INNODB STATUS").rest, ["STATUS"]);
    for (sql, kind) in [
        ("SHOW DATABASES", ShowKind::Databases),
        ("SHOW MASTER STATUS", ShowKind::BinaryLogStatus),
        ("SHOW TABLE STATUS FROM d", ShowKind::TableStatus),
        ("SHOW INDEXES FROM t", ShowKind::Index),
        ("SHOW FULL PROCESSLIST", ShowKind::Processlist),
        ("SHOW CHARACTER SET WHERE Charset = 'x'", ShowKind::CharacterSet),
        ("SHOW CHARSET", ShowKind::CharacterSet),
        ("SHOW COLLATION LIKE 'x%'", ShowKind::Collation),
        ("SHOW STORAGE ENGINES", ShowKind::Engines),
        ("SHOW SLAVE STATUS FOR CHANNEL 'x'", ShowKind::ReplicaStatus),
        ("SHOW SERVERS", ShowKind::Servers),
        ("SHOW MIRRORS FROM d LIKE 'x%'", ShowKind::Mirrors),
        ("SHOW PROCEDURE STATUS", ShowKind::ProcedureStatus),
        ("SHOW TRIGGERS", ShowKind::Triggers),
        ("SHOW FROBNICATION", ShowKind::Other),
    ] {
        assert_eq!(show(sql).kind, kind, "{sql}");
    }
    assert!(classify("SHOW TABLES FROM", Mode::default()).is_err());
    assert!(classify("SHOW DATABASES x", Mode::default()).is_err());
}

#[test]
fn what_is_not_known_to_only_read_may_write() {
    for sql in ["HANDLER t OPEN", "XA START 'a'", "SHUTDOWN", "NONSENSE", "LOCK TABLES t WRITE"] {
        assert!(read(sql).is_write(), "{sql}");
    }
    for sql in ["SHOW TABLES", "DO 1", "BEGIN", "SET @a = 1", "KILL 1", "LOCK TABLES t READ"] {
        assert!(!read(sql).is_write(), "{sql}");
    }
}

#[test]
fn explain_and_describe() {
    let explain = |sql: &str| match read(sql) {
        Statement::Explain(explain) => explain,
        other => panic!("{sql} is {other:?}"),
    };
    let found = explain("EXPLAIN FORMAT=json SELECT  1 FROM t ;");
    assert_eq!(found.format.as_deref(), Some("JSON"));
    let ExplainTarget::Statement(text, statement) = found.target else { panic!("no statement") };
    assert_eq!(text, "SELECT  1 FROM t");
    assert!(matches!(*statement, Statement::Query(_)));
    let write = read("EXPLAIN DELETE FROM t");
    assert!(write.is_write() && write.returns_rows());
    assert!(!read("EXPLAIN SELECT 1 FROM t").is_write());
    assert!(read("EXPLAIN ANALYZE DELETE FROM t").is_write());
    assert!(explain("ANALYZE FORMAT=JSON SELECT 1").analyze);
    // Nothing explains what explains: a long row of these words is read once.
    for words in ["ANALYZE ", "EXPLAIN ", "DESC ", "EXPLAIN ANALYZE ", "ANALYZE FORMAT=JSON "] {
        for sql in [words.repeat(2) + "SELECT 1", words.repeat(50_000) + "SELECT 1"] {
            assert_eq!(classify(&sql, Mode::default()).unwrap_err().errno(), 1064, "{words}");
        }
    }
    assert_eq!(explain("EXPLAIN FOR CONNECTION 7").target, ExplainTarget::Connection(7));
    let describe = Describe { table: table("d.t"), column: Some("a%".to_owned()) };
    assert_eq!(read("DESC d.t 'a%'"), Statement::Describe(describe));
    assert_eq!(
        read("EXPLAIN t"),
        Statement::Describe(Describe { table: table("t"), column: None })
    );
    assert!(matches!(read("ANALYZE TABLE a, d.b"), Statement::Maintenance(maintenance)
        if maintenance.tables == tables("a d.b")));
    let histogram = |sql: &str| match read(sql) {
        Statement::Maintenance(found) if found.tables == tables("t") => {
            found.histogram.map(|it| (it.columns.join(" "), it.action))
        }
        other => panic!("{other:?}"),
    };
    let update = |buckets| HistogramAction::Update { buckets };
    for (sql, columns, action) in [
        ("ANALYZE TABLE t UPDATE HISTOGRAM ON a, `b` WITH 4 BUCKETS", "a b", update(Some(4))),
        ("ANALYZE TABLE t UPDATE HISTOGRAM ON a WITH 4 BUCKETS AUTO UPDATE", "a", update(Some(4))),
        ("ANALYZE LOCAL TABLE t UPDATE HISTOGRAM ON a", "a", update(None)),
        ("ANALYZE TABLE t UPDATE HISTOGRAM ON a USING DATA '{}'", "a", HistogramAction::Given),
        ("ANALYZE TABLE t DROP HISTOGRAM ON a, b", "a b", HistogramAction::Drop),
    ] {
        assert_eq!(histogram(sql), Some((columns.to_owned(), action)), "{sql}");
    }
    assert_eq!(histogram("ANALYZE TABLE t"), None);
    let is_quick = |sql: &str| match read(sql) {
        Statement::Maintenance(found) if found.tables == tables("t u") => found.quick,
        other => panic!("{other:?}"),
    };
    assert!(is_quick("CHECK TABLE t, u QUICK"));
    assert!(!is_quick("CHECK TABLE t, u"));
    assert!(!is_quick("CHECK TABLE t, u EXTENDED"));
}

#[test]
fn maintenance_takes_the_options_of_its_verb() {
    for (sql, named) in [
        ("CHECK TABLE t, d.b FOR UPGRADE QUICK FAST MEDIUM EXTENDED CHANGED;", "t d.b"),
        ("CHECK TABLES t", "t"),
        ("CHECK VIEW v FOR UPGRADE", "v"),
        ("OPTIMIZE NO_WRITE_TO_BINLOG TABLE t, u", "t u"),
        ("OPTIMIZE TABLE t WAIT 5", "t"),
        ("OPTIMIZE TABLE t NOWAIT", "t"),
        ("REPAIR LOCAL TABLES t QUICK EXTENDED USE_FRM", "t"),
        ("REPAIR VIEW v FROM MYSQL", "v"),
        ("CHECKSUM TABLE t, u EXTENDED", "t u"),
        ("ANALYZE TABLE t PERSISTENT FOR ALL, u", "t u"),
        ("ANALYZE TABLE t PERSISTENT FOR COLUMNS (a, b) INDEXES (PRIMARY, k)", "t"),
        ("ANALYZE TABLE t PERSISTENT FOR COLUMNS () INDEXES ALL", "t"),
        ("CACHE INDEX t KEY (a, b) IN hot", "t"),
    ] {
        let Statement::Maintenance(found) = read(sql) else { panic!("{sql}") };
        assert_eq!(found.tables, tables(named), "{sql}");
    }
    for sql in [
        "CHECK TABLE t FOO",
        "CHECK TABLE t QUICK, u",
        "CHECK TABLE t FOR",
        "CHECK LOCAL TABLE t",
        "CHECK INDEX t",
        "OPTIMIZE TABLE t QUICK",
        "OPTIMIZE VIEW t",
        "REPAIR TABLE t FOO",
        "REPAIR TABLE t FROM MYSQL",
        "CHECKSUM TABLE t QUICK EXTENDED",
        "ANALYZE TABLE t BLAH",
        "ANALYZE TABLE t PARTITION (p0)",
        "ANALYZE TABLE t DROP HISTOGRAM ON a FOO",
        "ANALYZE TABLE t UPDATE HISTOGRAM ON a WITH 4 BUCKETS UPDATE",
        "ANALYZE TABLE t UPDATE HISTOGRAM ON a WITH 4 BUCKETS USING DATA '{}'",
        "ANALYZE TABLE t UPDATE HISTOGRAM ON a USING DATA 5",
        "ANALYZE TABLE t PERSISTENT FOR COLUMNS (a)",
        "CACHE TABLE t IN hot",
    ] {
        let error = classify(sql, Mode::default()).expect_err(sql);
        assert_eq!(error.errno(), 1064, "{sql}");
    }
}

#[test]
fn prepared_statements_and_kill() {
    assert_eq!(
        read("PREPARE s FROM 'SELECT ''a'''"),
        Statement::Prepare(Prepare {
            name: "s".to_owned(),
            source: PrepareSource::Text("SELECT 'a'".to_owned()),
        })
    );
    assert_eq!(
        read("PREPARE s FROM @`x y`"),
        Statement::Prepare(Prepare {
            name: "s".to_owned(),
            source: PrepareSource::Variable("x y".to_owned()),
        })
    );
    assert_eq!(
        read("EXECUTE s USING @a, @b"),
        Statement::Execute(Execute {
            name: "s".to_owned(),
            using: vec!["@a".to_owned(), "@b".to_owned()],
        })
    );
    assert_eq!(read("DROP PREPARE s"), Statement::Deallocate("s".to_owned()));
    assert_eq!(read("DEALLOCATE PREPARE s"), Statement::Deallocate("s".to_owned()));
    assert_eq!(
        read("KILL QUERY 5 + 1"),
        Statement::Kill(Kill { query_only: true, id: "5 + 1".to_owned() })
    );
    assert_eq!(read("KILL 5"), Statement::Kill(Kill { query_only: false, id: "5".to_owned() }));
    assert_eq!(read("DO SLEEP(1), 2"), Statement::Do("SLEEP(1), 2".to_owned()));
    assert_eq!(read("USE `a``b`"), Statement::Use("a`b".to_owned()));
}

#[test]
fn servers() {
    let statement = read(
        "CREATE OR REPLACE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h', PORT 3307, \
         USER 'u', PASSWORD 'it''s', DATABASE 'd', REPLICAS 'h2:3308, [::1]:3309,h3', \
         DATABASES 'sales AS s2, hr', CONNECTIONS 4, TLS 'Required', TLS_CA '/ca.pem')",
    );
    assert!(!format!("{statement:?}").contains("it's"));
    let Statement::CreateServer(server) = statement else { panic!("{statement:?}") };
    assert!(server.or_replace && !server.if_not_exists);
    assert_eq!((server.name.as_str(), server.wrapper.as_str()), ("s", "mysql"));
    let options = server.options;
    assert_eq!((options.host.as_deref(), options.port), (Some("h"), Some(3307)));
    assert_eq!(options.password.unwrap().expose(), "it's");
    assert_eq!(options.connections, Some(4));
    assert_eq!(options.tls.as_deref(), Some("required"));
    assert_eq!(options.tls_ca.as_deref(), Some("/ca.pem"));
    let replicas = [("h2", Some(3308)), ("::1", Some(3309)), ("h3", None)];
    assert_eq!(options.replicas.unwrap(), replicas.map(|(host, port)| (host.to_owned(), port)));
    let databases = [("sales", "s2"), ("hr", "hr")];
    assert_eq!(
        options.databases.unwrap(),
        databases.map(|(remote, local)| (remote.to_owned(), local.to_owned()))
    );
    let Statement::AlterServer(alter) = read("ALTER SERVER `s` OPTIONS (PASSWORD_ENV 'X')") else {
        panic!("not an ALTER SERVER");
    };
    assert_eq!(alter.options.password_env.as_deref(), Some("X"));
    assert_eq!(
        read("DROP SERVER IF EXISTS s"),
        Statement::DropServer(DropServer { if_exists: true, name: "s".to_owned() })
    );
    for bad in [
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOTS 'h')",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS ()",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PORT 99999)",
        "CREATE SERVER s OPTIONS (HOST 'h')",
        "DROP SERVER",
    ] {
        assert!(classify(bad, Mode::default()).is_err(), "{bad}");
    }
}

#[test]
fn accounts() {
    let Statement::CreateUser(create) = read(
        "CREATE USER IF NOT EXISTS 'a'@'%' IDENTIFIED BY 'p', b IDENTIFIED WITH \
         caching_sha2_password AS '$A$005$x', c@LocalHost IDENTIFIED WITH mysql_native_password \
         REQUIRE SSL ACCOUNT LOCK READ ONLY PASSWORD EXPIRE NEVER COMMENT 'x'",
    ) else {
        panic!("not a CREATE USER");
    };
    assert!(create.if_not_exists);
    let users: Vec<UserName> = create.users.iter().map(|user| user.user.clone()).collect();
    assert_eq!(users, [account("a", "%"), account("b", "%"), account("c", "localhost")]);
    let method = |at: usize| create.users[at].authentication.clone().unwrap().method;
    assert_eq!(method(0), Method::Password(Secret::new("p")));
    assert_eq!(method(1), Method::Hash(Secret::of_bytes(b"$A$005$x")));
    assert_eq!(method(2), Method::Plugin);
    assert_eq!(create.options.require, Some(Require::Ssl));
    assert_eq!((create.options.locked, create.options.read_only), (Some(true), Some(true)));
    assert_eq!(create.options.others, ["PASSWORD EXPIRE NEVER", "COMMENT 'x'"]);
    let Statement::CreateUser(create) = read(
        "CREATE USER d IDENTIFIED WITH 'caching_sha2_password' AS 0x2441FF00 REQUIRE NONE PASSWORD \
         EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT \
         PASSWORD REQUIRE CURRENT DEFAULT FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED",
    ) else {
        panic!("not a CREATE USER");
    };
    let Some(Authentication { method: Method::Hash(hash), .. }) = &create.users[0].authentication
    else {
        panic!("no hash");
    };
    assert_eq!(hash.bytes(), [0x24, 0x41, 0xFF, 0]);
    let options = create.options;
    assert_eq!(
        options.others,
        [
            "PASSWORD EXPIRE DEFAULT",
            "PASSWORD HISTORY DEFAULT",
            "PASSWORD REUSE INTERVAL DEFAULT",
            "PASSWORD REQUIRE CURRENT DEFAULT"
        ]
    );
    assert_eq!(options.failed_login_attempts, Some(3));
    assert_eq!(options.password_lock_time, Some(LockTime::Unbounded));
    for (option, errno) in [
        ("FAILED_LOGIN_ATTEMPTS 32768", 1525),
        ("PASSWORD_LOCK_TIME 99999999999999999999", 1525),
        ("FAILED_LOGIN_ATTEMPTS UNBOUNDED", 1064),
        ("PASSWORD_LOCK_TIME -1", 1064),
    ] {
        let error = classify(&format!("ALTER USER a {option}"), Mode::default()).unwrap_err();
        assert_eq!(error.errno(), errno, "{option}");
    }
    let Statement::AlterUser(alter) = read("ALTER USER USER() IDENTIFIED BY 'hidden!' READ WRITE")
    else {
        panic!("not an ALTER USER");
    };
    assert_eq!(alter.users[0].user, UserName::Current);
    assert_eq!(alter.options.read_only, Some(false));
    assert!(!format!("{alter:?}").contains("hidden"));
    assert_eq!(
        read("DROP USER IF EXISTS a@b, 'c'"),
        Statement::DropUser(DropUser {
            if_exists: true,
            users: vec![account("a", "b"), account("c", "%")],
        })
    );
    assert_eq!(
        read("RENAME USER a TO b@c"),
        Statement::RenameUser(vec![(account("a", "%"), account("b", "c"))])
    );
    assert_eq!(
        read("SET PASSWORD FOR 'a'@'b' = 'x'"),
        Statement::SetPassword(SetPassword {
            user: account("a", "b"),
            password: Some(Secret::new("x")),
            function: false,
        })
    );
    assert!(matches!(read("SET PASSWORD = PASSWORD('x')"), Statement::SetPassword(set)
        if set.function && set.user == UserName::Current));
    let Statement::Grant(grant) =
        read("GRANT SELECT (a, b), INSERT ON `d`.* TO 'a'@'%', b WITH GRANT OPTION")
    else {
        panic!("not a GRANT");
    };
    assert_eq!(grant.privileges, ["SELECT (A, B)", "INSERT"]);
    assert_eq!(grant.on.as_deref(), Some("`d`.*"));
    assert_eq!(grant.users, [account("a", "%"), account("b", "%")]);
    assert!(matches!(read("REVOKE ALL PRIVILEGES, GRANT OPTION FROM a"), Statement::Grant(grant)
        if grant.revoke && grant.on.is_none()));
}

#[test]
fn what_is_left() {
    assert_eq!(read(" -- x\n ; "), Statement::Empty);
    assert_eq!(
        read("FLUSH TABLES WITH READ LOCK"),
        Statement::Flush(["TABLES", "WITH", "READ", "LOCK"].map(str::to_owned).to_vec())
    );
    assert_eq!(read("FROB x"), Statement::Unknown("FROB".to_owned()));
    assert_eq!(read("HELP 'x'"), Statement::Help("x".to_owned()));
    assert_eq!(read("PURGE BINARY LOGS TO 'x'"), Statement::Administration("PURGE".to_owned()));
    for bad in ["SELECT 1; SELECT 2", "SELECT 'a", "1", "COMMIT x", "USE", "EXPLAIN", "KILL"] {
        let error = classify(bad, Mode::default()).unwrap_err();
        assert_eq!(error.errno(), 1064, "{bad}");
    }
}

#[test]
fn references_of_texts_that_cannot_be_parsed() {
    let found = references("SELECT d.t.a, u.b FROM d.t, `e`.u NEXT STRANGE f.g", Mode::default());
    assert_eq!(found.tables, tables("d.t e.u"));
    assert_eq!(found.qualifiers, ["d", "t", "u", "e", "f"]);
}

#[test]
fn functions_that_are_called() {
    let called = |sql: &str| calls(sql, Mode::default());
    for none in [
        "INSERT INTO t (a, b) VALUES (1, (2)), (3, 4)",
        "INSERT IGNORE INTO `t` PARTITION (p) (a) VALUE (1)",
        "INSERT INTO d.t (a) SELECT a FROM u WHERE a IN (1, 2) AND (b = 1 OR c = ANY (SELECT 1))",
        "REPLACE t(a) WITH c (x) AS (SELECT 1) SELECT x FROM c WHERE EXISTS (SELECT 1)",
        "UPDATE t SET a = CASE WHEN (a) THEN (1) ELSE (2) END, b = 'f(1)'",
        "LOAD DATA INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ',' IGNORE 1 LINES (a, b)",
    ] {
        assert!(called(none).is_empty(), "{none}: {:?}", called(none));
    }
    assert_eq!(called("INSERT INTO f (a) VALUES (f (1), d.`g`(2), UUID())"), tables("f d.g UUID"));
    assert_eq!(called("UPDATE t SET a = d.f(a) WHERE `if`(1)"), tables("d.f if"));
    assert_eq!(called("DELETE FROM t WHERE a > f(COUNT(*)) - 1"), tables("f COUNT"));
}

#[test]
fn a_long_insert_is_what_a_short_one_is() {
    let rows = vec!["(1, 'a;b')"; 3000].join(", ");
    for (head, tail) in [
        ("INSERT INTO d.t", ""),
        ("insert ignore into `t` (a, b)", " ON DUPLICATE KEY UPDATE a = 2"),
        ("REPLACE t", ";"),
        ("INSERT INTO t", " RETURNING a"),
    ] {
        let short = classify(&format!("{head} VALUES (1, 'a;b'){tail}"), Mode::default()).unwrap();
        let long = classify(&format!("{head} VALUES {rows}{tail}"), Mode::default()).unwrap();
        assert_eq!(short, long, "{head}");
    }
    let two = format!("INSERT INTO t VALUES {rows}; DELETE FROM t");
    classify(&two, Mode::default()).unwrap_err();
    let subquery = format!("INSERT INTO t VALUES {rows}, ((SELECT a FROM u), 2)");
    let Statement::Write(write) = classify(&subquery, Mode::default()).unwrap() else { panic!() };
    assert_eq!(write.tables.len(), 2);
}

#[test]
fn mirrors_are_read_whole() {
    let mirror = |sql: &str| match read(sql) {
        Statement::Mirror(found) => found,
        other => panic!("{sql} is {other:?}"),
    };
    assert_eq!(
        mirror("MIRROR TABLE d.t PARTITION BY (LEFT(a, 2)) SEGMENT BY (b);"),
        MirrorStatement::Create {
            target: MirrorTarget::Tables(tables("d.t")),
            if_not_exists: false,
            filter: MirrorFilter::default(),
            layout: Some("PARTITION BY (LEFT(a, 2)) SEGMENT BY (b)".to_owned()),
        }
    );
    assert_eq!(
        mirror(
            "MIRROR TABLE t EXCEPT COLUMNS (a, `b c`) WHERE x IN ('1', '2') AND y > 0 SEGMENT BY (b)"
        ),
        MirrorStatement::Create {
            target: MirrorTarget::Tables(tables("t")),
            if_not_exists: false,
            filter: MirrorFilter {
                columns: MirrorColumns::Except(vec!["a".to_owned(), "b c".to_owned()]),
                condition: Some("x IN ('1', '2') AND y > 0".to_owned()),
            },
            layout: Some("SEGMENT BY (b)".to_owned()),
        }
    );
    assert_eq!(
        mirror("mirror database if not exists `d`"),
        MirrorStatement::Create {
            target: MirrorTarget::Database("d".to_owned()),
            if_not_exists: true,
            filter: MirrorFilter::default(),
            layout: None,
        }
    );
    assert_eq!(
        mirror("UNMIRROR TABLE IF EXISTS t, d.u"),
        MirrorStatement::Drop { target: MirrorTarget::Tables(tables("t d.u")), if_exists: true }
    );
    let one = || MirrorTarget::Tables(tables("t"));
    assert_eq!(
        mirror("ALTER MIRROR t RESYNC"),
        MirrorStatement::Alter { target: one(), action: MirrorAction::Resync }
    );
    assert_eq!(
        mirror("CHECK MIRROR TABLE t REPAIR"),
        MirrorStatement::Check { target: one(), repair: true }
    );
    for bad in [
        "MIRROR t",
        "MIRROR TABLE t, u PARTITION BY (a)",
        "MIRROR DATABASE d SEGMENT BY (a)",
        "MIRROR DATABASE d WHERE a = 1",
        "MIRROR TABLE t, u COLUMNS (a)",
        "MIRROR TABLE t COLUMNS (a) EXCEPT COLUMNS (b)",
        "MIRROR TABLE t WHERE",
        "MIRROR TABLE t SEGMENT BY (a) WHERE a = 1",
        "ALTER MIRROR t STOP",
        "UNMIRROR",
        "CHECK MIRROR t REPAIR NOW",
    ] {
        assert!(classify(bad, Mode::default()).is_err(), "{bad}");
    }
    // What is known and not for several says so.
    for several in ["MIRROR TABLE t, u PARTITION BY (a)", "MIRROR DATABASE d SEGMENT BY (a)"] {
        let error = classify(several, Mode::default()).unwrap_err();
        assert!(error.errno() == 1235 && error.message().contains("MIRROR TABLE"), "{several}");
    }
}

#[test]
fn filters_of_mirrors_come_back_from_their_text() {
    for text in [
        "",
        "COLUMNS (`a`, `b`)",
        "EXCEPT COLUMNS (`x``y`)",
        "WHERE a = 'it''s' AND (b OR c IS NULL)",
        "COLUMNS (`a`) WHERE a > 5",
    ] {
        assert_eq!(MirrorFilter::parse(text).unwrap().to_string(), text);
    }
    assert!(MirrorFilter::parse("WHERE a = 1 b").is_err());
    let filter = MirrorFilter::parse("EXCEPT COLUMNS (A)").unwrap();
    assert!(filter.columns.leave_out("a") && !filter.columns.leave_out("b"));
    let filter = MirrorFilter::parse("COLUMNS (A)").unwrap();
    assert!(!filter.columns.leave_out("a") && filter.columns.leave_out("b"));
}
