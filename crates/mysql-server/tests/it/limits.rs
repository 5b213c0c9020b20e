//! Limits: connections, timeouts, packet sizes, and the end of the server.

use std::net::SocketAddr;
use std::time::Duration;

use pelorus_engine::LoginDelay;
use pelorus_mysql_server::EdgeConfig;
use pelorus_mysql_wire::auth::CACHING_SHA2;
use pelorus_mysql_wire::command::{self, Code};
use pelorus_mysql_wire::handshake::Greeting;
use pelorus_mysql_wire::response::parse_err;
use pelorus_mysql_wire::rows::Format;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::client::{Client, Options};
use crate::scripted::Script;

fn open() -> Options {
    Options::new("open", "")
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told_so() {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    // One more is let in, as it may be an administrator: that is the engine's to say.
    script.settings.lock().max_connections = 1;
    let address = script.start().await;
    let first = Client::connect(address, open()).await.unwrap();
    let _second = Client::connect(address, open()).await.unwrap();
    let Err(error) = Client::connect(address, open()).await else { panic!("a third one") };
    assert_eq!((error.errno(), error.message()), (1040, "Too many connections"));
    drop(first);
    // Its place is free as soon as the server has seen that it left.
    let again = async {
        while Client::connect(address, open()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_answered_to_the_last() {
    let script = Script::new();
    script.settings.lock().max_connections = 50;
    let address = script.start().await;
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        crowd.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut seen = vec![0; 200];
            let count = stream.read(&mut seen).await.unwrap();
            assert!(count > 4, "no answer");
            // Whoever was greeted keeps its place for a while.
            let greeted = Greeting::parse(&seen[4..count]).is_ok();
            if greeted {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            greeted
        });
    }
    let mut greeted = 0;
    while let Some(one) = crowd.join_next().await {
        greeted += usize::from(one.unwrap());
    }
    assert!(greeted >= 50, "{greeted}");
}

/// Waits for the first packet of a server: a greeting, or an error.
async fn greeted(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut seen = vec![0; 200];
    let count = stream.read(&mut seen).await.unwrap();
    Greeting::parse(&seen[4..count]).unwrap();
    stream
}

#[tokio::test]
async fn silent_strangers_keep_no_client_out() {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    script.settings.lock().max_connections = 2;
    script.settings.lock().connect_timeout = Duration::from_secs(60);
    let address = script.start().await;
    let mut crowd = Vec::new();
    for _ in 0..400 {
        crowd.push(greeted(address).await);
    }
    let mut client = Client::connect(address, open()).await.unwrap();
    client.query("ok").await.unwrap();
    // The first of the crowd gave way, with an error.
    let mut last = Vec::new();
    crowd[0].read_to_end(&mut last).await.unwrap();
    assert_eq!(parse_err(&last[4..]).errno(), 1040);
}

#[test]
fn a_server_that_computes_lets_clients_in_and_answers_kill() {
    let mut serving = tokio::runtime::Builder::new_multi_thread();
    let serving = serving.worker_threads(1).enable_all().build().unwrap();
    let edge = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let (edge, handle) = (edge.unwrap(), serving.handle().clone());
    let edge_config = EdgeConfig { serving: Some(handle), ..EdgeConfig::new("data") };
    edge.block_on(async {
        let script = Script::new();
        script.account("open", CACHING_SHA2, b"");
        let address = script.start_with(edge_config, std::future::pending::<()>()).await;
        let mut busy = Client::connect(address, open()).await.unwrap();
        busy.send(|out| command::put_text(out, Code::Query, b"spin 5000")).await.unwrap();
        script.wait_until_running(1).await;
        let answers = async {
            let mut other = Client::connect(address, open()).await.unwrap();
            other.query("light").await.unwrap();
            // COM_PROCESS_KILL.
            other.command(|out| out.extend_from_slice(&[0x0C, 9, 0, 0, 0])).await.unwrap();
            assert_eq!(*script.killed.borrow(), 9);
        };
        tokio::time::timeout(Duration::from_secs(4), answers).await.expect("no answer");
        assert_eq!(script.running(), 1, "the statement was over too early");
    });
    serving.shutdown_background();
}

#[tokio::test]
async fn failed_logins_are_counted_and_the_next_ones_wait() {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    let delay = Duration::from_millis(300);
    script.settings.lock().login_delay = LoginDelay { threshold: 2, min: delay, max: delay };
    let address = script.start().await;
    let begun = tokio::time::Instant::now();
    for _ in 0..3 {
        let Err(error) = Client::connect(address, Options::new("open", "wrong")).await else {
            panic!("let in");
        };
        assert_eq!(error.errno(), 1045);
    }
    // The third waited. Other users do not, and a waiting login holds up no other.
    assert!(begun.elapsed() >= delay);
    assert_eq!(*script.logins.lock(), vec![("open".to_owned(), false); 3]);
    let begun = tokio::time::Instant::now();
    let late = Client::connect(address, open());
    let other = async {
        assert!(Client::connect(address, Options::new("other", "wrong")).await.is_err());
        begun.elapsed()
    };
    let (late, other) = tokio::join!(late, other);
    assert!(late.is_ok() && begun.elapsed() >= delay && other < begun.elapsed());
    assert_eq!(script.logins.lock().last(), Some(&("open".to_owned(), true)));
}

#[tokio::test]
async fn clients_that_do_not_log_in_are_dropped() {
    let script = Script::new();
    script.settings.lock().connect_timeout = Duration::from_millis(200);
    let address = script.start().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut all = Vec::new();
    tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut all))
        .await
        .expect("the server waited on")
        .unwrap();
}

#[tokio::test]
async fn idle_clients_are_told_and_dropped() {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    let address = script.start().await;
    let mut client = Client::connect(address, open()).await.unwrap();
    // The session is asked each time, as a SET may change it.
    script.settings.lock().wait_timeout = Duration::from_millis(300);
    client.query("ok").await.unwrap();
    // Nobody asked, so the last word has number 0.
    client.writer.set_sequence(0);
    client.flush().await.unwrap();
    let payload = client.read().await.unwrap();
    assert_eq!(parse_err(&payload).errno(), 4031);
    assert!(client.read().await.is_err());
}

#[tokio::test]
async fn packets_beyond_the_limit_are_refused_and_the_connection_goes_on() {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    let address = script.start().await;
    let mut client = Client::connect(address, open()).await.unwrap();
    // As large as allowed, in two frames.
    let text = format!("ok{}", " ".repeat(17 << 20));
    client.query(&text).await.unwrap();
    let text = " ".repeat(40 << 20);
    let error = client
        .command(|out| command::put_text(out, Code::Query, text.as_bytes()))
        .await
        .unwrap_err();
    assert_eq!(error.errno(), 1153);
    client.query("ok").await.unwrap();
}

#[tokio::test]
async fn a_stopping_server_finishes_and_takes_leave() {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    let (stop, stopped) = oneshot::channel::<()>();
    let config =
        EdgeConfig { shutdown_grace: Duration::from_millis(500), ..EdgeConfig::new("data") };
    let address = script.start_with(config, stopped).await;
    let mut idle = Client::connect(address, open()).await.unwrap();
    let mut busy = Client::connect(address, open()).await.unwrap();
    busy.send(|out| command::put_text(out, Code::Query, b"wait")).await.unwrap();
    script.wait_until_running(1).await;
    stop.send(()).unwrap();
    idle.writer.set_sequence(0);
    idle.flush().await.unwrap();
    assert_eq!(parse_err(&idle.read().await.unwrap()).errno(), 1053);
    // Nobody is let in, nor left waiting, while others finish.
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(script.running(), 1);
    assert!(busy.answer(Format::Text).await.is_err());
    script.wait_until_running(0).await;
    assert!(TcpStream::connect(address).await.is_err());
}
