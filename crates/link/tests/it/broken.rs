//! Servers that are silent, speak rubbish, or vanish in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use pelorus_env::Env;
use pelorus_link::{Endpoint, Format, Link, LinkConfig, Relay, ServerState, Target, TlsMode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::servers::{config, endpoints, run, settings};

async fn listen() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, Endpoint { host: "127.0.0.1".into(), port, ..Endpoint::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_rubbish_are_errors_that_name_the_server() {
    let greetings: [&[u8]; 5] = [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[1, 0, 0, 0, 9],
        &[3, 0, 0, 0, 255, 1, 4],
        &[255, 255, 255, 0],
    ];
    for greeting in greetings {
        let (listener, endpoint) = listen().await;
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                socket.write_all(greeting).await.unwrap();
                let mut rest = Vec::new();
                let _ = socket.read_to_end(&mut rest).await;
            }
        });
        let quick = LinkConfig { connect_timeout: Duration::from_millis(300), ..config(&endpoint) };
        let link = Link::open(quick, Env::real()).await.unwrap();
        let error = link.check().await.unwrap_err();
        assert_eq!(error.errno(), 1429, "{greeting:?}: {error}");
        assert!(error.message().contains("server 'shop' at 127.0.0.1"), "{error}");
    }
}

/// Stands before a server and closes every connection after so many bytes of answers.
async fn cut_after(server: &Endpoint, bytes: usize) -> Endpoint {
    let (listener, mut endpoint) = listen().await;
    endpoint.user.clone_from(&server.user);
    endpoint.password = server.password.clone();
    let target = (server.host.clone(), server.tcp_port());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&target).await.unwrap();
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let ask = tokio::spawn(async move {
                    let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
                });
                let mut left = bytes;
                let mut buffer = vec![0; 4096];
                while left > 0 {
                    let Ok(count @ 1..) = from_server.read(&mut buffer).await else { break };
                    let count = count.min(left);
                    if to_client.write_all(&buffer[..count]).await.is_err() {
                        break;
                    }
                    left -= count;
                }
                ask.abort();
            });
        }
    });
    endpoint
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_vanishes_in_the_middle_is_an_error_that_names_it() {
    for (_, server) in endpoints() {
        let sql = "SELECT REPEAT('x', 1000), 2 FROM information_schema.COLUMNS LIMIT 500";
        for bytes in [60, 150, 3_000, 100_000] {
            let endpoint = cut_after(&server, bytes).await;
            let plain = LinkConfig { tls: TlsMode::Disabled, ..config(&endpoint) };
            let link = Link::open(plain, Env::real()).await.unwrap();
            let settings = Default::default();
            let error = match link.relay(&settings, sql, Format::Text, Target::Primary).await {
                Err(error) => error,
                Ok(Relay::Done(_)) => panic!("no rows"),
                Ok(Relay::Rows(mut rows)) => loop {
                    match rows.next().await.unwrap() {
                        Ok(pelorus_link::RelayItem::Encoded(_)) => {}
                        Ok(end) => panic!("{end:?}"),
                        Err(error) => break error,
                    }
                },
            };
            assert!([1429, 1430].contains(&error.errno()), "{bytes}: {error}");
            assert!(error.message().contains("server 'shop' at 127.0.0.1"), "{error}");
            if bytes == 100_000 {
                assert_eq!(error.errno(), 1430, "{error}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_the_server_closed_are_not_used_again() {
    for (_, endpoint) in endpoints() {
        let link = Link::open(config(&endpoint), Env::real()).await.unwrap();
        let other = Link::open(config(&endpoint), Env::real()).await.unwrap();
        run(&link, "CREATE DATABASE IF NOT EXISTS link_test").await;
        for _ in 0..3 {
            let id = crate::servers::value(&link, "SELECT CONNECTION_ID()").await;
            let kill = format!("KILL {id}");
            other.relay(&settings(), &kill, Format::Text, Target::Primary).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(crate::servers::value(&link, "SELECT 7").await, "7");
        assert_eq!(link.status().servers[0].connections, 1);
    }
}

/// Stands before a server; while it is closed, new connections end at once.
async fn door(server: &Endpoint, closed: Arc<AtomicBool>) -> Endpoint {
    let (listener, mut endpoint) = listen().await;
    endpoint.user.clone_from(&server.user);
    endpoint.password = server.password.clone();
    let target = (server.host.clone(), server.tcp_port());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            if closed.load(Ordering::SeqCst) {
                continue;
            }
            let mut server = TcpStream::connect(&target).await.unwrap();
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    endpoint
}

/// A connection that rests says nothing of whether new ones can be made.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_answers_again_is_up_again() {
    for (_, server) in endpoints() {
        let closed = Arc::new(AtomicBool::new(false));
        let replica = door(&server, Arc::clone(&closed)).await;
        let config =
            LinkConfig { replicas: vec![replica], tls: TlsMode::Disabled, ..config(&server) };
        let link = Link::open(config, Env::real()).await.unwrap();
        let settings = Default::default();
        let ask = async || {
            let relay = link.relay(&settings, "SELECT 1", Format::Text, Target::AnyReplica).await;
            let Relay::Rows(rows) = relay.unwrap() else { panic!("no rows") };
            rows
        };
        let mut first = ask().await;
        closed.store(true, Ordering::SeqCst);
        // The primary answers instead.
        let second = ask().await;
        assert_eq!(link.status().servers[1].state, ServerState::Down);
        while first.next().await.is_some() {}
        drop((first, second));
        assert_eq!(link.status().servers[1].idle, 1);
        closed.store(false, Ordering::SeqCst);
        let mut tries = 0;
        while link.status().servers[1].state != ServerState::Up {
            tries += 1;
            assert!(tries < 300, "{:?}", link.status());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
