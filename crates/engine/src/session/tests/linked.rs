//! Transactions on a linked server that is none, which is killed at moments that are hard to hit.

use bytes::BytesMut;
use parking_lot::Mutex;
use pelorus_error::Error;
use pelorus_link::{Endpoint, Link, LinkConfig, TlsMode};
use pelorus_mysql_wire::frame::FrameWriter;
use pelorus_mysql_wire::handshake::Greeting;
use pelorus_mysql_wire::{Capabilities, ServerStatus, response};
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

/// It knows of each connection whether a transaction is open, and carries out everything but an
/// UPDATE, which is always a deadlock.
struct Fake {
    /// The statement that is answered once a KILL has come; the first time that it is heard.
    held: Mutex<Option<&'static str>>,
    /// It was heard.
    is_held: Notify,
    killed: Notify,
    /// What the first connection said of transactions.
    heard: Mutex<Vec<String>>,
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
        let config = LinkConfig { tls: TlsMode::Disabled, ..LinkConfig::new("shop", endpoint) };
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
    fake.given_up(root.join(&link)).await;
    run(&mut root, "ROLLBACK").await;
    run(&mut root, "BEGIN").await;
    root.join(&link).await.unwrap();
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
    root.join(&link).await.unwrap();
    assert!(root.transaction.is_bound());
    let error = root.on_own("shop", "UPDATE t SET a = 1").await.unwrap_err();
    assert_eq!(error.errno(), 1213);
    fake.given_up(root.learn_transaction("shop")).await;
    root.settle_transaction().await.unwrap();
    assert!(!root.transaction.is_open());

    // One that there is belongs to the session.
    root.on_own("shop", "START TRANSACTION").await.unwrap();
    root.settle_transaction().await.unwrap();
    assert!(root.transaction.is_bound());
}
