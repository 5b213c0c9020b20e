//! Connections, errors, settings, pinned connections.

use std::time::Duration;

use futures::StreamExt as _;
use pelorus_env::Env;
use pelorus_link::{
    Endpoint, Format, Link, LinkConfig, Relay, Secret, SessionSettings, Target, TlsMode,
};

use crate::servers::{
    config, endpoints, links, payloads, payloads_of, run, settings, texts, value, values,
};

#[tokio::test(flavor = "multi_thread")]
async fn all_ways_to_encrypt_work() {
    // Asking for the cipher takes the tests' database.
    drop(links().await);
    for (_, endpoint) in endpoints() {
        for tls in [TlsMode::Disabled, TlsMode::Preferred] {
            let link = Link::open(LinkConfig { tls, ..config(&endpoint) }, Env::real()).await;
            link.unwrap().check().await.unwrap();
        }
        let required = LinkConfig { tls: TlsMode::Required, ..config(&endpoint) };
        let link = Link::open(required, Env::real()).await.unwrap();
        match link.check().await {
            Ok(()) => {
                let rows = texts(&link, "SHOW STATUS LIKE 'Ssl_cipher'").await;
                assert_ne!(rows[0][1].as_deref(), Some(""));
                // A certificate that nobody signed.
                let verify = LinkConfig { tls: TlsMode::Verify, ..config(&endpoint) };
                let link = Link::open(verify, Env::real()).await.unwrap();
                assert_eq!(link.check().await.unwrap_err().errno(), 1429);
            }
            Err(error) => assert!(error.message().contains("offers no TLS"), "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_cannot_be_reached_are_named() {
    let closed = Endpoint { host: "127.0.0.1".into(), port: 9, ..Endpoint::default() };
    let unknown = Endpoint { host: "no-such-host.invalid".into(), ..Endpoint::default() };
    for endpoint in [closed, unknown] {
        let link = Link::open(config(&endpoint), Env::real()).await.unwrap();
        let error = link.check().await.unwrap_err();
        assert_eq!(error.errno(), 1429);
        assert!(error.message().contains("server 'shop' at"), "{error}");
        assert!(link.status().servers[0].last_error.is_some());
    }
    for (_, endpoint) in endpoints() {
        let endpoint = Endpoint { password: Secret::new("not-the-password"), ..endpoint };
        let link = Link::open(config(&endpoint), Env::real()).await.unwrap();
        let error = link.check().await.unwrap_err();
        assert_eq!(error.errno(), 1429);
        assert!(error.message().contains("1045"), "{error}");
        assert!(!error.message().contains("not-the-password"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_statements_are_handed_on() {
    for link in links().await {
        for format in [Format::Text, Format::Binary] {
            let relay = link.relay(&settings(), "SELECT nothing", format, Target::Primary).await;
            let error = relay.unwrap_err();
            assert_eq!((error.errno(), error.sqlstate()), (1054, *b"42S22"));
        }
        assert_eq!(link.describe(&settings(), "SELEC 1").await.unwrap_err().errno(), 1064);
        assert_eq!(value(&link, "SELECT 1 + 1").await, "2");
        assert_eq!(link.status().servers[0].connections, 1, "the connection lives on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_come_and_go() {
    for link in links().await {
        let ask = "SELECT CONCAT_WS('|', @@sql_mode, @@time_zone, NOW(6), DATABASE())";
        let wanted = SessionSettings {
            sql_mode: Some("ANSI_QUOTES,NO_BACKSLASH_ESCAPES".into()),
            time_zone: Some("+03:00".into()),
            timestamp: Some(1_000_000_000.25),
            ..settings()
        };
        for settings in [&wanted, &settings(), &wanted] {
            let relay = link.relay(settings, ask, Format::Text, Target::Primary).await.unwrap();
            let Relay::Rows(mut rows) = relay else { panic!() };
            let Some(Ok(pelorus_link::RelayItem::Encoded(block))) = rows.next().await else {
                panic!()
            };
            let text = String::from_utf8_lossy(&block).into_owned();
            let full =
                "ANSI_QUOTES,NO_BACKSLASH_ESCAPES|+03:00|2001-09-09 04:46:40.250000|link_test";
            assert_eq!(text.contains(full), settings.sql_mode.is_some(), "{text}");
        }
        let wrong = SessionSettings { time_zone: Some("Nowhere/Land".into()), ..settings() };
        let relay = link.relay(&wrong, "SELECT 1", Format::Text, Target::Primary).await;
        assert_eq!(relay.unwrap_err().errno(), 1298);
        assert_eq!(value(&link, "SELECT 1").await, "1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_passed_on_in_blocks_and_dropping_them_stops_the_statement() {
    for link in links().await {
        run(&link, "DROP TABLE IF EXISTS digits").await;
        run(&link, "CREATE TABLE digits (d INT PRIMARY KEY)").await;
        run(&link, "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)").await;
        let many = "SELECT a.d, REPEAT('x', 100), NULL FROM digits a, digits b, digits c, digits e";
        for format in [Format::Text, Format::Binary] {
            assert_eq!(payloads(&link, many, format).await.len(), 10_000);
        }
        // Larger than a frame.
        let large =
            payloads(&link, "SELECT REPEAT('y', 15000000), 'end' LIMIT 1", Format::Text).await;
        assert_eq!(large[0].len(), 15_000_000 + 4 + 4);

        let endless = "SELECT /* endless */ a.d FROM digits a, digits b, digits c, digits e, \
                       digits f, digits g, digits h, digits i WHERE SLEEP(0.001) = 0";
        let Relay::Rows(rows) =
            link.relay(&settings(), endless, Format::Text, Target::Primary).await.unwrap()
        else {
            panic!("no rows")
        };
        assert_eq!(running(&link).await, "1");
        drop(rows);
        wait_until_idle(&link).await;

        // A future that is dropped before its answer came.
        let settings = settings();
        let sleep = link.relay(
            &settings,
            "SELECT /* endless */ SLEEP(1000)",
            Format::Text,
            Target::Primary,
        );
        assert!(tokio::time::timeout(Duration::from_millis(300), sleep).await.is_err());
        wait_until_idle(&link).await;
    }
}

async fn running(link: &Link) -> String {
    value(
        link,
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
         WHERE INFO LIKE '%endless%' AND INFO NOT LIKE '%PROCESSLIST%'",
    )
    .await
}

async fn wait_until_idle(link: &Link) {
    for _ in 0..100 {
        if running(link).await == "0" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the statement goes on running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_connection_keeps_its_transaction() {
    for link in links().await {
        run(&link, "DROP TABLE IF EXISTS pinned").await;
        run(&link, "CREATE TABLE pinned (id INT PRIMARY KEY)").await;
        let mut pinned = link.pin().await.unwrap();
        for sql in ["BEGIN", "INSERT INTO pinned VALUES (1), (2)"] {
            let relay = pinned.execute(&settings(), sql, Format::Text).await.unwrap();
            assert!(matches!(relay, Relay::Done(_)));
        }
        assert!(pinned.in_transaction() && pinned.autocommit());
        assert_eq!(value(&link, "SELECT COUNT(*) FROM pinned").await, "0");

        // A result that is dropped in the middle does not end the transaction.
        let sql = "SELECT a.id, SLEEP(0.2) FROM pinned a, pinned b, pinned c, pinned d, pinned e";
        let relay = pinned.execute(&settings(), sql, Format::Binary).await.unwrap();
        drop(relay);
        let start = tokio::time::Instant::now();
        let Relay::Rows(mut rows) =
            pinned.execute(&settings(), "SELECT COUNT(*) FROM pinned", Format::Text).await.unwrap()
        else {
            panic!()
        };
        assert!(start.elapsed() < Duration::from_secs(3));
        assert!(rows.next().await.unwrap().is_ok());
        drop(rows);
        let relay = pinned.execute(&settings(), "COMMIT", Format::Text).await.unwrap();
        assert!(matches!(relay, Relay::Done(_)));
        assert!(!pinned.in_transaction());
        assert_eq!(value(&link, "SELECT COUNT(*) FROM pinned").await, "2");

        pinned.execute(&settings(), "BEGIN", Format::Text).await.unwrap();
        pinned.execute(&settings(), "DELETE FROM pinned", Format::Text).await.unwrap();
        drop(pinned);
        for _ in 0..100 {
            let lock = "SELECT COUNT(*) FROM pinned FOR UPDATE";
            if value(&link, lock).await == "2" {
                break;
            }
        }
        assert_eq!(value(&link, "SELECT COUNT(*) FROM pinned").await, "2");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn estimates_know_keys_and_constants() {
    for link in links().await {
        run(&link, "DROP TABLE IF EXISTS estimated").await;
        run(&link, "CREATE TABLE estimated (id INT PRIMARY KEY, v INT, KEY by_v (v))").await;
        run(&link, "INSERT INTO estimated VALUES (1,1),(2,2),(3,3),(4,4)").await;
        let explain = async |sql: &str| link.explain(&settings(), sql).await.unwrap();
        assert!(explain("SELECT MAX(id) FROM estimated").await.optimized_away);
        assert!(explain("SELECT 1").await.optimized_away);
        let all = explain("SELECT * FROM estimated e IGNORE INDEX (by_v)").await;
        assert_eq!(all.tables[0].access.as_deref(), Some("ALL"));
        assert!(!all.optimized_away && all.rows_examined >= 1.0, "{all:?}");
        let one = explain("SELECT * FROM estimated e WHERE v = 3").await;
        assert_eq!(one.tables[0].key.as_deref(), Some("by_v"));
        assert_eq!(one.tables[0].table.as_deref(), Some("e"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_setting_costs_no_transaction() {
    for link in links().await {
        let mut pinned = link.pin().await.unwrap();
        pinned.execute(&settings(), "START TRANSACTION", Format::Text).await.unwrap();
        let wrong = SessionSettings { time_zone: Some("No/Where".into()), ..settings() };
        let error = pinned.execute(&wrong, "SELECT 1", Format::Text).await.unwrap_err();
        assert_eq!(error.errno(), 1298, "{error}");
        assert!(pinned.is_usable() && pinned.in_transaction());
        pinned.execute(&settings(), "COMMIT", Format::Text).await.unwrap();
        assert!(!pinned.in_transaction());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_statements_are_freed_whatever_becomes_of_them() {
    for link in links().await {
        let mut pinned = link.pin().await.unwrap();
        // Read, dropped in the middle, and failing while it runs.
        let many = "SELECT a.COLLATION_NAME, REPEAT('x', 1000) FROM information_schema.COLLATIONS a, \
                    information_schema.COLLATIONS b, information_schema.COLLATIONS c";
        let relay = pinned.execute(&settings(), "SELECT 1", Format::Binary).await.unwrap();
        assert_eq!(payloads_of(relay).await.len(), 1);
        drop(pinned.execute(&settings(), many, Format::Binary).await.unwrap());
        let wrong = "SELECT (SELECT ID FROM information_schema.COLLATIONS)";
        drop(pinned.execute(&settings(), wrong, Format::Binary).await);
        let ask =
            "SHOW SESSION STATUS WHERE Variable_name IN ('Com_stmt_prepare', 'Com_stmt_close')";
        let relay = pinned.execute(&settings(), ask, Format::Text).await.unwrap();
        let rows: Vec<_> = payloads_of(relay).await.iter().map(|row| values(row)).collect();
        assert_eq!(rows.len(), 2, "{rows:?}");
        assert_eq!(rows[0][1], rows[1][1], "{rows:?}");
    }
}
