//! Tests of transactions on a fake linked server, with `KILL` at moments that are hard to hit.

use bytes::BytesMut;
use parking_lot::Mutex;
use pelorus_error::Error;
use pelorus_link::{Endpoint, Link, LinkConfig, TlsMode};
use pelorus_mysql_wire::frame::FrameWriter;
use pelorus_mysql_wire::handshake::Greeting;
use pelorus_mysql_wire::{Capabilities, ServerStatus, response};
use pelorus_sql::Statement;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::*;

const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .with(Capabilities::PROTOCOL_41)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::SECURE_CONNECTION)
    .with(Capabilities::PLUGIN_AUTH)
    .with(Capabilities::DEPRECATE_EOF);

/// It knows of each connection whether a transaction is open, and executes everything but an
/// UPDATE, which is always a deadlock.
struct Fake {
    /// The statement that is answered once a KILL has come; the first time that it is heard.
    held: Mutex<Option<&'static str>>,
    /// It was heard.
    is_held: Notify,
    killed: Notify,
    /// The transaction statements of the first connection.
    heard: Mutex<Vec<String>>,
    /// Every statement that was run or prepared.
    statements: Mutex<Vec<String>>,
}

impl Fake {
    /// The server and a link to it, `shop`.
    async fn begin(held: &'static str) -> (Arc<Self>, Link) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let fake = Arc::new(Self {
            held: Mutex::new(Some(held)),
            is_held: Notify::new(),
            killed: Notify::new(),
            heard: Mutex::default(),
            statements: Mutex::default(),
        });
        let server = Arc::clone(&fake);
        tokio::spawn(async move {
            let mut id = 0;
            while let Ok((socket, _)) = listener.accept().await {
                id += 1;
                tokio::spawn(Arc::clone(&server).serve(socket, id));
            }
        });
        let endpoint = Endpoint { host: "127.0.0.1".into(), port, ..Endpoint::default() };
        let config = LinkConfig {
            tls: TlsMode::Disabled,
            databases: vec![("shop".to_owned(), "shop".to_owned())],
            ..LinkConfig::new("shop", endpoint)
        };
        (fake, Link::open(config, Env::in_memory(1)).await.unwrap())
    }

    async fn serve(self: Arc<Self>, mut socket: TcpStream, id: u32) {
        let greeting = Greeting {
            server_version: "9.7.0".into(),
            connection_id: id,
            scramble: [b'x'; 20],
            capabilities: CAPABILITIES,
            mariadb_capabilities: 0,
            collation: 45,
            status: ServerStatus::AUTOCOMMIT,
            plugin: "mysql_native_password".into(),
        };
        send(&mut socket, 0, |out| greeting.put(out)).await;
        if received(&mut socket).await.is_none() {
            return;
        }
        send(&mut socket, 2, |out| put_answer(out, false, None)).await;
        let mut is_inside = false;
        while let Some(command) = received(&mut socket).await {
            let sql = String::from_utf8_lossy(&command[1..]).into_owned();
            // COM_QUERY and COM_STMT_PREPARE.
            if matches!(command[0], 0x03 | 0x16) {
                self.statements.lock().push(sql.clone());
            }
            if id == 1 && (sql.contains("TRANSACTION") || sql == "ROLLBACK") {
                self.heard.lock().push(sql.clone());
            }
            let mut error = None;
            match sql.as_str() {
                "START TRANSACTION" => is_inside = true,
                "ROLLBACK" => is_inside = false,
                sql if sql.starts_with("UPDATE") => {
                    is_inside = false;
                    error = Some(Error::remote(1213, *b"40001", "Deadlock found"));
                }
                sql if sql.starts_with("SET TRANSACTION") && is_inside => {
                    let text = "Transaction characteristics can't be changed";
                    error = Some(Error::remote(1568, *b"25001", text));
                }
                sql if sql.starts_with("KILL") => self.killed.notify_one(),
                _ => {}
            }
            let is_held = self.held.lock().take_if(|held| *held == sql).is_some();
            if is_held {
                self.is_held.notify_one();
                self.killed.notified().await;
            }
            send(&mut socket, 1, |out| put_answer(out, is_inside, error.as_ref())).await;
        }
    }

    /// Does what comes to the statement that is held, and gives up there.
    async fn given_up<T: std::fmt::Debug>(&self, work: impl Future<Output = T>) {
        tokio::select! {
            done = work => panic!("nothing was held: {done:?}"),
            () = self.is_held.notified() => {}
        }
    }
}

fn put_answer(out: &mut BytesMut, is_inside: bool, error: Option<&Error>) {
    if let Some(error) = error {
        return response::put_err(out, CAPABILITIES, error);
    }
    let mut status = ServerStatus::AUTOCOMMIT;
    if is_inside {
        status = status.with(ServerStatus::IN_TRANSACTION);
    }
    let ok = response::Ok { status, ..response::Ok::default() };
    response::put_ok(out, response::OK, CAPABILITIES, &ok);
}

async fn send(socket: &mut TcpStream, sequence: u8, write: impl FnOnce(&mut BytesMut)) {
    let mut frames = FrameWriter::new();
    frames.set_sequence(sequence);
    frames.packet(write);
    // Who has gone away needs no answer.
    socket.write_all(&frames.take()).await.ok();
}

/// The next packet; `None` at the end.
async fn received(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    socket.read_exact(&mut header).await.ok()?;
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    socket.read_exact(&mut payload).await.ok()?;
    Some(payload)
}

#[tokio::test]
async fn a_transaction_whose_beginning_was_killed_ends_before_the_next() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    let (fake, link) = Fake::begin("START TRANSACTION").await;
    run(&mut root, "SET SESSION transaction_isolation = 'READ-COMMITTED'").await;
    run(&mut root, "BEGIN").await;
    fake.given_up(primary_connection::join(&mut root.transaction_context(), &link)).await;
    run(&mut root, "ROLLBACK").await;
    run(&mut root, "BEGIN").await;
    primary_connection::join(&mut root.transaction_context(), &link).await.unwrap();
    assert!(root.transaction.is_bound());
    let level = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
    let heard = fake.heard.lock().clone();
    assert_eq!(heard, [level, "START TRANSACTION", "ROLLBACK", level, "START TRANSACTION"]);
}

#[tokio::test]
async fn a_deadlock_leaves_no_transaction_open_behind_a_kill() {
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    let (fake, link) = Fake::begin("DO 0").await;
    run(&mut root, "BEGIN").await;
    primary_connection::join(&mut root.transaction_context(), &link).await.unwrap();
    assert!(root.transaction.is_bound());
    let error =
        primary_connection::execute(&mut root.transaction_context(), "shop", "UPDATE t SET a = 1")
            .await
            .unwrap_err();
    assert_eq!(error.errno(), 1213);
    fake.given_up(primary_connection::detect_transaction(&mut root.transaction_context(), "shop"))
        .await;
    primary_connection::settle_transaction(&mut root.transaction_context()).await.unwrap();
    assert!(!root.transaction.is_open());

    // One that there is belongs to the session.
    primary_connection::execute(&mut root.transaction_context(), "shop", "START TRANSACTION")
        .await
        .unwrap();
    primary_connection::settle_transaction(&mut root.transaction_context()).await.unwrap();
    assert!(root.transaction.is_bound());
}

/// Statements of every kind about a linked database, as tokens.
const STATEMENTS: &[&[&str]] = &[
    &["SELECT", "a", "FROM", "t", "WHERE", "b", "=", "'x'"],
    &["SELECT", "a", "FROM", "shop.t", "FOR", "UPDATE"],
    &["SELECT", "a", "FROM", "t", "WEIRD", "(", "1", ")"],
    &["SELECT", "shop.f", "(", "1", ")"],
    &["WITH", "x", "AS", "(", "SELECT", "1", ")", "SELECT", "*", "FROM", "x", ",", "shop.t"],
    &["TABLE", "shop.t"],
    &["DO", "shop.f", "(", "1", "-", "-", "2", ")"],
    &["SET", "@a", "=", "(", "SELECT", "a", "FROM", "shop.t", ")"],
    &["SHOW", "TABLES", "FROM", "shop"],
    &["SHOW", "TABLES", "FROM", "shop", "WHERE", "Tables_in_shop", "=", "'a'"],
    &["SHOW", "FULL", "COLUMNS", "FROM", "t", "FROM", "shop", "LIKE", "'a\\\\'"],
    &["SHOW", "CREATE", "DATABASE", "IF", "NOT", "EXISTS", "shop"],
    &["SHOW", "CREATE", "TABLE", "shop", ".", "t"],
    &["SHOW", "INDEX", "FROM", "shop.t"],
    &["SHOW", "WARNINGS", "LIMIT", "1"],
    &["SHOW", "ERRORS"],
    &["DESCRIBE", "shop.t", "'a'"],
    &["EXPLAIN", "SELECT", "a", "FROM", "shop.t"],
    &["EXPLAIN", "DELETE", "FROM", "shop.t"],
    &["INSERT", "INTO", "shop.t", "VALUES", "(", "1", ")"],
    &["UPDATE", "shop.t", "SET", "a", "=", "1"],
    &["DELETE", "FROM", "shop.t"],
    &["CALL", "shop.p", "(", ")"],
    &["CREATE", "TABLE", "shop.u", "(", "a", "INT", ")"],
    &["CREATE", "PROCEDURE", "shop.p", "(", ")", "SELECT", "1"],
    &["DROP", "TABLE", "shop.t"],
    &["TRUNCATE", "shop.t"],
    &["CREATE", "DATABASE", "shop"],
    &["ANALYZE", "TABLE", "shop.t"],
    &["CHECKSUM", "TABLE", "shop.t"],
    &["LOCK", "TABLES", "shop.t", "READ"],
    &["HANDLER", "shop.t", "OPEN"],
    &["UNLOCK", "TABLES"],
    &["BEGIN"],
    &["COMMIT"],
    &["SAVEPOINT", "`a`"],
    &["PREPARE", "s", "FROM", "'SELECT a FROM shop.t /*! DELETE */'"],
    &["EXECUTE", "s"],
];

/// Texts that may be between two tokens, to a server or to us, or that hide the text after them.
const BETWEEN: &[&str] = &[
    "/*! DELETE FROM shop.t */",
    "/*!90000 DELETE FROM shop.t # */",
    "/*!100000 DROP TABLE shop.t; */",
    "/*M! INTO OUTFILE 'x' */",
    "/*!999999 a /* b */ c */",
    "/*!50000 , secret.t */",
    "/* a */",
    "/**/",
    "/*\n*/",
    "/*+ QB_NAME(`a*/",
    "/*+ NO_ICP(t) */",
    "-- a\n",
    "--",
    "# a\n",
    "#",
    "/*",
    "/*!",
    "*/",
    "'",
    "\"",
    "`",
    "\\",
    ";",
    "\n",
    "$$",
    "\0",
];

/// A text under the rules of a server that executes all executable comments, or none.
fn as_read(sql: &str, executes: bool) -> (Mode, Vec<(pelorus_sql::TokenKind, String)>) {
    let mode = Mode { version: if executes { u32::MAX } else { 0 }, ..Default::default() };
    let tokens = pelorus_sql::tokens(sql, mode);
    (mode, tokens.iter().map(|token| (token.kind, token.text(sql).to_owned())).collect())
}

/// Runs a statement for two accounts; returns the statements that the server received from each.
async fn heard_of(
    fake: &Fake,
    sessions: &mut [(Session, bool)],
    sql: &str,
) -> Vec<(bool, Vec<String>)> {
    let mut heard = Vec::new();
    for (session, only_reads) in sessions {
        fake.statements.lock().clear();
        // What comes of it does not matter: the server knows no table.
        if let Ok(Outcome::Rows(set)) = session.execute(sql, RowFormat::Text).await {
            pelorus_result::collect::batches(&set.columns, set.rows).await.ok();
        }
        heard.push((*only_reads, std::mem::take(&mut *fake.statements.lock())));
    }
    heard
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    #[test]
    fn servers_get_what_was_decided_about(
        chosen in 0..1_000_usize,
        places in proptest::collection::vec((0..20_usize, 0..BETWEEN.len()), 0..4),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let (fake, link) = Fake::begin("nothing").await;
            let engine = engine().await;
            let mut root = session(&engine, "root").await;
            run(&mut root, "CREATE USER 'ann'@'localhost' IDENTIFIED BY 'a' READ ONLY").await;
            engine.links().insert(link);
            let mut sessions = vec![(session(&engine, "ann").await, true), (root, false)];
            for (session, _) in &mut sessions {
                run(session, "USE shop").await;
            }
            for at in chosen..chosen + 8 {
                let statement = STATEMENTS[at % STATEMENTS.len()];
                let mut tokens: Vec<&str> = statement.to_vec();
                for (place, piece) in &places {
                    tokens.insert(place % (tokens.len() + 1), BETWEEN[*piece]);
                }
                let sql = tokens.join(if at % 3 == 0 { " " } else { "  " });
                for (only_reads, heard) in heard_of(&fake, &mut sessions, &sql).await {
                    for text in heard {
                        check(&sql, &text, only_reads);
                    }
                }
            }
        });
    }
}

/// Every server reads a text alike, and it is one that the account may run.
fn check(sql: &str, text: &str, only_reads: bool) {
    let (_, all) = as_read(text, true);
    let (mode, none) = as_read(text, false);
    assert_eq!(all, none, "{sql:?} became {text:?}");
    // Which the tests of the lexer compare with the text that has it.
    let clean = pelorus_sql::lexer::server_text(text, mode).unwrap();
    assert_eq!(clean, text, "{sql:?} became {text:?}");
    let statement = pelorus_sql::classify(text, mode).unwrap();
    assert!(!only_reads || !statement.is_write(), "{sql:?} became {text:?}");
    let locks = matches!(&statement, Statement::Query(facts) if facts.locking);
    assert!(!only_reads || !locks, "{sql:?} became {text:?}");
    if only_reads && matches!(statement, Statement::Begin(_)) {
        assert!(text.ends_with("READ ONLY"), "{text}");
    }
}

#[tokio::test]
async fn who_only_reads_does_so_on_the_server() {
    let (fake, link) = Fake::begin("nothing").await;
    let engine = engine().await;
    let mut root = session(&engine, "root").await;
    run(&mut root, "CREATE USER 'ann'@'localhost' IDENTIFIED BY 'a' READ ONLY").await;
    engine.links().insert(link);
    let mut sessions = vec![(session(&engine, "ann").await, true), (root, false)];
    // Connections are shared: each statement finds them as its account needs them.
    for _ in 0..2 {
        for (only_reads, heard) in heard_of(&fake, &mut sessions, "SELECT a FROM shop.t").await {
            let last = heard.iter().rfind(|text| text.contains("transaction_read_only"));
            let value = if only_reads { "transaction_read_only=1" } else { "only=DEFAULT" };
            assert!(last.is_some_and(|text| text.contains(value)), "{only_reads}: {heard:?}");
        }
    }
    for (sql, errno) in [
        ("LOCK TABLES shop.t READ", 1142),
        ("HANDLER shop.t OPEN", 1227),
        ("EXPLAIN DELETE FROM shop.t", 1142),
        ("SELECT GET_LOCK('a', 1) FROM shop.t", 1235),
        ("SELECT LOAD_FILE('a') FROM shop.t WEIRD", 1235),
        ("SELECT secret.f(1) FROM shop.t", 1305),
    ] {
        let (ann, _) = &mut sessions[0];
        run(ann, "USE shop").await;
        assert_eq!(super::errno(ann, sql).await, errno, "{sql}");
    }
}
