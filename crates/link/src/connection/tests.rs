//! Tests of connections to a fake server.

use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A packet that says that a statement was executed.
const DONE: &[u8] = &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
/// One that says that it was not: error 1298.
const REFUSED: &[u8] = b"\x0B\0\0\x01\xFF\x12\x05#HY000no";

/// A connection that has logged in, and its other end.
async fn pair() -> (Connection, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let connection = Connection {
        stream: Stream::Tcp(listener.accept().await.unwrap().0),
        reader: FrameReader::new(MAX_PAYLOAD),
        writer: FrameWriter::new(),
        caps: Capabilities::PROTOCOL_41
            .with(Capabilities::TRANSACTIONS)
            .with(Capabilities::DEPRECATE_EOF),
        id: 1,
        version: Arc::new(ServerVersion::parse("9.7.0", false)),
        label: "server 'shop'".into(),
        probe: None,
        status: ServerStatus::default(),
        pending: 0,
        answers: VecDeque::new(),
        phase: Phase::Head,
        run: Run::default(),
        broken: false,
        ended: false,
        torn: false,
        applied: Applied::default(),
    };
    (connection, server)
}

/// For so long nothing comes when nothing is to come.
const A_WHILE: Duration = Duration::from_millis(100);

/// Reads a command; `None` at the end, or when none comes for so long.
async fn received(server: &mut TcpStream, patience: Duration) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    let read = timeout(patience, server.read_exact(&mut header)).await;
    read.ok()?.ok()?;
    let length = usize::from(header[0]) | usize::from(header[1]) << 8;
    let mut payload = vec![0; length];
    server.read_exact(&mut payload).await.ok()?;
    Some(payload)
}

#[tokio::test]
async fn answers_are_read_before_too_many_statements_are_sent() {
    let (mut connection, mut server) = pair().await;
    let answers = tokio::spawn(async move {
        let mut sizes = Vec::new();
        while received(&mut server, Duration::from_secs(20)).await.is_some() {
            let mut waiting = 1;
            while received(&mut server, A_WHILE).await.is_some() {
                waiting += 1;
            }
            sizes.push(waiting);
            for _ in 0..waiting {
                server.write_all(DONE).await.unwrap();
            }
        }
        sizes
    });
    connection.run_all(&["DO 0"; 120]).await.unwrap();
    assert!(connection.is_reusable());
    drop(connection);
    let sizes: Vec<usize> = answers.await.unwrap();
    assert!(sizes.iter().all(|size| *size <= AT_ONCE), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>(), 120);
}

#[tokio::test]
async fn a_refused_setting_leaves_the_connection_as_it_was() {
    let (mut connection, mut server) = pair().await;
    let wanted = SessionSettings {
        time_zone: Some("Nowhere".into()),
        database: Some("shop".into()),
        ..SessionSettings::default()
    };
    server.write_all(REFUSED).await.unwrap();
    server.write_all(DONE).await.unwrap();
    assert_eq!(connection.apply(&wanted).await.unwrap_err().errno(), 1298);
    assert!(connection.is_reusable());
    // The database was taken.
    server.write_all(DONE).await.unwrap();
    connection.apply(&wanted).await.unwrap();
    let mut sent = Vec::new();
    while let Some(command) = received(&mut server, A_WHILE).await {
        sent.push(command);
    }
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(sent[0], sent[2]);

    // The caller is gone: it is unknown whether it was set.
    let other = SessionSettings::default();
    assert!(timeout(Duration::from_millis(50), connection.apply(&other)).await.is_err());
    server.write_all(DONE).await.unwrap();
    connection.drain().await.unwrap();
    assert!(!connection.is_busy() && !connection.is_reusable());
}

#[tokio::test]
async fn an_end_is_told_from_rubbish() {
    let (mut connection, server) = pair().await;
    drop(server);
    connection.run("DO 0").await.unwrap_err();
    assert!(connection.has_ended() && !connection.is_reusable());

    // More columns than any result has.
    let (mut connection, mut server) = pair().await;
    server.write_all(b"\x09\0\0\x01\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F").await.unwrap();
    connection.query("SELECT 1").await.unwrap_err();
    assert!(!connection.has_ended() && !connection.is_reusable());
}

#[tokio::test]
async fn variables_that_the_server_lacks_are_not_set() {
    /// Error 1193.
    const UNKNOWN: &[u8] = b"\x0B\0\0\x01\xFF\xA9\x04#HY000no";
    let (mut connection, mut server) = pair().await;
    let mut wanted = SessionSettings::default();
    wanted.others.insert("sql_generate_invisible_primary_key".into(), "1".into());
    server.write_all(UNKNOWN).await.unwrap();
    // It lists none of them.
    server.write_all(DONE).await.unwrap();
    connection.apply(&wanted).await.unwrap();
    connection.apply(&SessionSettings::default()).await.unwrap();
    let mut sent = Vec::new();
    while let Some(command) = received(&mut server, A_WHILE).await {
        sent.push(String::from_utf8(command).unwrap());
    }
    let ask = "SHOW VARIABLES WHERE Variable_name IN ('sql_generate_invisible_primary_key')";
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[1].ends_with(ask), "{sent:?}");
}

#[tokio::test]
async fn text_that_servers_read_in_different_ways_is_not_sent() {
    let (mut connection, mut server) = pair().await;
    for sql in ["SELECT 1 /*! + 1 */", "SELECT '\\' /*! x */ '", "SELECT 1 --\u{7f}"] {
        assert_eq!(connection.query(sql).await.unwrap_err().errno(), 1235, "{sql}");
        assert_eq!(connection.run(sql).await.unwrap_err().errno(), 1235, "{sql}");
        assert_eq!(connection.rows(sql).await.unwrap_err().errno(), 1235, "{sql}");
        assert_eq!(connection.prepare(sql).await.unwrap_err().errno(), 1235, "{sql}");
        assert_eq!(connection.run_all(&["DO 0", sql]).await.unwrap_err().errno(), 1235, "{sql}");
    }
    assert!(connection.is_reusable() && received(&mut server, A_WHILE).await.is_none());
}
