//! Following that cannot go on, and what is said of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pelorus_binlog::Position;
use pelorus_env::Env;
use pelorus_link::{Endpoint, FollowError, FollowFailure, Follower, Link, Secret};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{PATIENCE, alone, insert, links, request, tables, until};
use crate::servers::{config, run, sources, texts, value};

async fn failure_of(link: &Link, position: Position) -> FollowError {
    timeout(PATIENCE, link.follow(&request(position))).await.unwrap().unwrap_err()
}

/// Reads until following ends.
async fn end_of(follower: &mut Follower) -> FollowError {
    let read = async {
        loop {
            match follower.next().await {
                Ok(event) => assert!(event.is_some()),
                Err(error) => break error,
            }
        }
    };
    timeout(PATIENCE, read).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_that_are_gone_or_never_were() {
    let _alone = alone().await;
    for link in links("purged").await {
        let old = link.binlog_position(&tables("purged")).await.unwrap();
        insert(&link, "purged", "a").await;
        run(&link, "FLUSH BINARY LOGS").await;
        insert(&link, "purged", "b").await;
        let logs = texts(&link, "SHOW BINARY LOGS").await;
        let last = logs.last().unwrap()[0].clone().unwrap();
        // A connection that reads a file keeps it from being purged.
        let mut gone = false;
        for _ in 0..100 {
            run(&link, &format!("PURGE BINARY LOGS TO '{last}'")).await;
            gone = texts(&link, "SHOW BINARY LOGS").await.len() == 1;
            if gone {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(gone);
        let error = failure_of(&link, old).await;
        assert_eq!(error.failure(), FollowFailure::Purged, "{error}");
        assert_eq!(error.error().errno(), 1236, "{error}");
        assert!(error.to_string().starts_with("server 'shop' at 127.0.0.1"), "{error}");

        let now = link.binlog_end().await.unwrap();
        let never = match &now {
            Position::MariaDb(_) => "mariadb:0-99-999999999".to_owned(),
            Position::MySql(_) => {
                let uuid = value(&link, "SELECT @@server_uuid").await;
                format!("mysql:{uuid}:1-999999999")
            }
            Position::File { file, .. } => format!("file:{file}:999999999"),
        };
        let error = failure_of(&link, never.parse().unwrap()).await;
        assert_eq!(error.failure(), FollowFailure::Diverged, "{error}");
        // The present one is still good.
        let mut follower = link.follow(&request(now)).await.unwrap();
        insert(&link, "purged", "c").await;
        until(&mut follower, "c").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_that_may_not() {
    let _alone = alone().await;
    let all = links("denied").await;
    for ((_, endpoint), link) in sources().into_iter().zip(all) {
        run(&link, "DROP USER IF EXISTS binlog_reader").await;
        run(&link, "CREATE USER binlog_reader IDENTIFIED BY 'dev-Passw0rd'").await;
        run(&link, "GRANT SELECT ON *.* TO binlog_reader").await;
        let position = link.binlog_end().await.unwrap();
        let open = async |password: &str| {
            let user = "binlog_reader".to_owned();
            let account = Endpoint { user, password: Secret::new(password), ..endpoint.clone() };
            Link::open(config(&account), Env::real()).await.unwrap()
        };
        let error = failure_of(&open("wrong").await, position.clone()).await;
        assert_eq!((error.failure(), error.error().errno()), (FollowFailure::Denied, 1429));

        let reader = open("dev-Passw0rd").await;
        let facts = reader.source_facts().await.unwrap();
        assert!(!facts.may_follow && !facts.may_see_position, "{facts:?}");
        let errors = facts.check();
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].message().contains("GRANT REPLICATION SLAVE ON *.*"), "{errors:?}");
        let error = failure_of(&reader, position.clone()).await;
        assert_eq!(error.failure(), FollowFailure::Denied, "{error}");
        assert!(error.to_string().contains("GRANT REPLICATION SLAVE ON *.*"), "{error}");

        // Which databases are in it must be known, too.
        run(&link, "GRANT REPLICATION SLAVE ON *.* TO binlog_reader").await;
        let right = if facts.is_mariadb { "BINLOG MONITOR" } else { "REPLICATION CLIENT" };
        let errors = open("dev-Passw0rd").await.source_facts().await.unwrap().check();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].message().contains(&format!("GRANT {right} ON *.*")), "{errors:?}");
        run(&link, &format!("GRANT {right} ON *.* TO binlog_reader")).await;
        let reader = open("dev-Passw0rd").await;
        assert!(reader.source_facts().await.unwrap().check().is_empty());
        reader.binlog_end().await.unwrap();
        let position = reader.binlog_position(&tables("denied")).await.unwrap();
        reader.follow(&request(position)).await.unwrap();
        run(&link, "DROP USER binlog_reader").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_killed_or_pushed_aside() {
    let _alone = alone().await;
    for link in links("killed").await {
        let position = link.binlog_position(&tables("killed")).await.unwrap();
        let mut follower = link.follow(&request(position.clone())).await.unwrap();
        run(&link, &format!("KILL {}", follower.connection_id())).await;
        let error = end_of(&mut follower).await;
        assert!([FollowFailure::Killed, FollowFailure::Lost].contains(&error.failure()), "{error}");

        let mut first = link.follow(&request(position.clone())).await.unwrap();
        let mut second = link.follow(&request(position.clone())).await.unwrap();
        let error = end_of(&mut first).await;
        assert_eq!(error.failure(), FollowFailure::Collision, "{error}");
        let id = request(position.clone()).server_id.to_string();
        assert!(error.to_string().contains(&format!("server_id, {id}")), "{error}");
        insert(&link, "killed", "a").await;
        until(&mut second, "a").await;

        let mut own = request(position);
        own.server_id = link.source_facts().await.unwrap().server_id;
        let error = link.follow(&own).await.unwrap_err();
        assert_eq!(error.failure(), FollowFailure::Collision, "{error}");
    }
}

/// Stands before a server and stops passing its bytes on when told to.
async fn stoppable(server: &Endpoint, stopped: Arc<AtomicBool>) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = (server.host.clone(), server.tcp_port());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&target).await.unwrap();
            let stopped = Arc::clone(&stopped);
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                tokio::spawn(async move {
                    let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
                });
                let mut buffer = vec![0; 4096];
                while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
                    while stopped.load(Ordering::Relaxed) {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    if to_client.write_all(&buffer[..count]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    Endpoint { port, ..server.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_silent_is_given_up() {
    let _alone = alone().await;
    let all = links("silent").await;
    for ((_, endpoint), direct) in sources().into_iter().zip(all) {
        let stopped = Arc::new(AtomicBool::new(false));
        let before = stoppable(&endpoint, Arc::clone(&stopped)).await;
        let link = Link::open(config(&before), Env::real()).await.unwrap();
        let position = direct.binlog_position(&tables("silent")).await.unwrap();
        let mut request = request(position);
        request.silence = Duration::from_millis(1200);
        let mut follower = link.follow(&request).await.unwrap();
        insert(&direct, "silent", "a").await;
        until(&mut follower, "a").await;
        stopped.store(true, Ordering::Relaxed);
        let start = tokio::time::Instant::now();
        let error = end_of(&mut follower).await;
        assert_eq!(error.failure(), FollowFailure::Lost, "{error}");
        assert!(error.to_string().contains("nothing came for"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
        stopped.store(false, Ordering::Relaxed);
        assert!(follower.next().await.unwrap().is_none());
        let mut again = link.follow(&request).await.unwrap();
        until(&mut again, "a").await;
    }
}
