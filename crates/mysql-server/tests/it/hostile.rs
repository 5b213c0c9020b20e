//! Raw sockets that send what no client should: the server answers or closes, and goes on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pelorus_mysql_wire::auth::CACHING_SHA2;
use pelorus_mysql_wire::frame::FrameWriter;
use pelorus_mysql_wire::response::parse_err;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Client, Options};
use crate::scripted::Script;

async fn server() -> (Arc<Script>, SocketAddr) {
    let script = Script::new();
    script.account("open", CACHING_SHA2, b"");
    script.settings.lock().connect_timeout = Duration::from_millis(600);
    script.settings.lock().net_read_timeout = Duration::from_millis(300);
    let address = script.start().await;
    (script, address)
}

/// What the server says after its greeting, until it closes.
async fn say(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).await.unwrap();
    let mut greeting = vec![0; usize::from(header[0])];
    stream.read_exact(&mut greeting).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut all = Vec::new();
    tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut all))
        .await
        .expect("the server closes")
        .ok();
    all
}

async fn still_serves(address: SocketAddr) {
    Client::connect(address, Options::new("open", "")).await.unwrap().query("ok").await.unwrap();
}

#[tokio::test]
async fn rubbish_in_place_of_a_login_is_answered_with_an_error() {
    let (_script, address) = server().await;
    // No 4.1 protocol, too short, an HTTP request, a wrong number, an enormous length.
    for (rubbish, errno) in [
        (&b"\x05\x00\x00\x01\x00\x00\x00\x00\x00"[..], 1251),
        (b"\x03\x00\x00\x01\x00\x02\x00", 1043),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1156),
        (b"\x03\x00\x00\x07\x00\x02\x00", 1156),
        (b"\x04\x00\x00\x01\xff\xff\xff\xff", 1043),
    ] {
        let answer = say(address, rubbish).await;
        assert!(answer.len() > 4, "no answer to {rubbish:?}");
        assert_eq!(parse_err(&answer[4..]).errno(), errno, "{rubbish:?}");
    }
    still_serves(address).await;
}

#[tokio::test]
async fn half_packets_and_silence_end_the_connection() {
    let (_script, address) = server().await;
    for half in [&b""[..], b"\x20", b"\x20\x00\x00\x01", b"\x20\x00\x00\x01\x00\x02"] {
        say(address, half).await;
    }
    still_serves(address).await;
}

#[tokio::test]
async fn half_a_command_times_out_and_a_wrong_number_is_an_error() {
    let (_script, address) = server().await;
    let mut client = Client::connect(address, Options::new("open", "")).await.unwrap();
    client.begin();
    client.writer.buffer_mut().extend_from_slice(b"\x09\x00\x00\x00\x03ok");
    client.flush().await.unwrap();
    assert_eq!(parse_err(&client.read().await.unwrap()).errno(), 1159);
    assert!(client.read().await.is_err());

    let mut client = Client::connect(address, Options::new("open", "")).await.unwrap();
    client.writer.set_sequence(3);
    client.writer.payload(b"\x0e");
    client.flush().await.unwrap();
    assert!(client.read().await.is_err());
    assert!(client.query("ok").await.is_err());
    still_serves(address).await;
}

#[tokio::test]
async fn commands_cut_short_are_errors_and_the_connection_goes_on() {
    let (_script, address) = server().await;
    let mut client = Client::connect(address, Options::new("open", "")).await.unwrap();
    for code in 0_u8..=0x20 {
        // QUIT leaves, CLOSE and SEND_LONG_DATA have no answer when they are whole, and the text
        // commands are whole without text.
        if matches!(code, 0x01 | 0x02 | 0x03 | 0x09 | 0x0E | 0x11 | 0x16 | 0x1F) {
            continue;
        }
        let error = client.command(|out| out.extend_from_slice(&[code])).await.unwrap_err();
        assert!(matches!(error.errno(), 1047 | 1835), "{code}: {error}");
    }
    let error = client.command(|_| {}).await.unwrap_err();
    assert_eq!(error.errno(), 1835);
    client.query("ok").await.unwrap();
}

#[tokio::test]
async fn random_bytes_never_stop_the_server() {
    let (_script, address) = server().await;
    let mut seed = 1_u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[0]
    };
    let mut tasks = tokio::task::JoinSet::new();
    for round in 0..60_usize {
        let payload: Vec<u8> = (0..round * 7).map(|_| next()).collect();
        let mut writer = FrameWriter::new();
        writer.set_sequence(1);
        writer.payload(&payload);
        tasks.spawn(async move { say(address, &writer.take()).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    still_serves(address).await;
}
