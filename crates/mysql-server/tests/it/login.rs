//! Logging in: plugins, TLS, passwords over open lines, refusals, change of user.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pelorus_env::{Clock, Env};
use pelorus_mysql_server::{EdgeConfig, TlsMode};
use pelorus_mysql_wire::auth::{self, CACHING_SHA2, CLEAR, NATIVE};
use pelorus_mysql_wire::{Capabilities, handshake};

use crate::client::{Client, Options};
use crate::scripted::{ENV, Script};

async fn accounts() -> (Arc<Script>, SocketAddr) {
    let script = Script::new();
    let stored = auth::sha2_hash(b"secret", Env::in_memory(1).random.as_ref());
    script.account("anna", CACHING_SHA2, &stored);
    script.account("nora", NATIVE, auth::native_hash(b"secret").as_bytes());
    script.account("open", CACHING_SHA2, b"");
    script.account("wide", NATIVE, b"");
    let address = script.start().await;
    (script, address)
}

async fn refusal(address: SocketAddr, options: Options) -> String {
    match Client::connect(address, options).await {
        Ok(_) => panic!("the client was let in"),
        Err(error) => format!("{} {}", error.errno(), error.message()),
    }
}

#[tokio::test]
async fn the_first_login_proves_the_password_and_the_next_is_fast() {
    let (_script, address) = accounts().await;
    for tls in [false, true] {
        let options = Options { tls, ..Options::new("anna", "secret") };
        let first = Client::connect(address, options.clone()).await.unwrap();
        assert!(tls || (first.steps.full && !first.steps.fast), "{:?}", first.steps);
        let second = Client::connect(address, options).await.unwrap();
        assert!(second.steps.fast && !second.steps.full, "{:?}", second.steps);
    }
}

#[tokio::test]
async fn a_first_login_over_tls_sends_the_password_itself() {
    let (_script, address) = accounts().await;
    let mut client = Client::connect(address, Options::new("anna", "secret").tls()).await.unwrap();
    assert!(client.steps.full);
    assert_eq!(client.query("rows 3").await.unwrap().rows, 3);
}

/// A clock that shows a time before 1970.
#[derive(Debug)]
struct Early;

impl Clock for Early {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn since_epoch(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test]
async fn before_1970_logins_over_tls_are_refused_and_others_go_on() {
    let (script, _) = accounts().await;
    let env = Env { clock: Arc::new(Early), ..ENV.clone() };
    let forever = std::future::pending::<()>();
    let address = script.start_in(&env, EdgeConfig::new("data"), forever).await;
    for _ in 0..2 {
        // What the server says is no TLS, as where it has none.
        let refused = refusal(address, Options::new("nora", "secret").tls()).await;
        assert!(!refused.starts_with("1045"), "{refused}");
        Client::connect(address, Options::new("nora", "secret")).await.unwrap();
    }
}

#[tokio::test]
async fn a_changed_password_is_not_remembered() {
    let (script, address) = accounts().await;
    Client::connect(address, Options::new("anna", "secret").tls()).await.unwrap();
    let stored = auth::sha2_hash(b"changed", Env::in_memory(2).random.as_ref());
    script.account("anna", CACHING_SHA2, &stored);
    let refused = refusal(address, Options::new("anna", "secret").tls()).await;
    assert!(refused.starts_with("1045"), "{refused}");
    Client::connect(address, Options::new("anna", "changed").tls()).await.unwrap();
}

#[tokio::test]
async fn clients_are_asked_to_use_the_plugin_of_the_account() {
    let (_script, address) = accounts().await;
    let native = Options::new("nora", "secret");
    assert!(Client::connect(address, native.clone()).await.unwrap().steps.switched);
    assert!(!Client::connect(address, native.plugin(NATIVE)).await.unwrap().steps.switched);
    let sha2 = Options::new("anna", "secret").plugin(NATIVE);
    assert!(Client::connect(address, sha2).await.unwrap().steps.switched);
}

#[tokio::test]
async fn clear_passwords_are_taken_over_tls_only() {
    let (_script, address) = accounts().await;
    for user in ["anna", "nora"] {
        let clear = Options::new(user, "secret").plugin(CLEAR);
        let over_tls = Client::connect(address, clear.clone().tls()).await.unwrap();
        assert!(!over_tls.steps.switched);
        assert!(Client::connect(address, clear).await.unwrap().steps.switched);
        let wrong = Options::new(user, "wrong").plugin(CLEAR).tls();
        assert!(refusal(address, wrong).await.starts_with("1045"));
    }
}

#[tokio::test]
async fn wrong_and_missing_passwords_are_refused_in_mysqls_words() {
    let (_script, address) = accounts().await;
    for (user, password, using) in [
        ("anna", "wrong", "YES"),
        ("anna", "", "NO"),
        ("nora", "wrong", "YES"),
        ("nora", "", "NO"),
        ("open", "any", "YES"),
        ("wide", "any", "YES"),
        ("nobody", "any", "YES"),
        ("nobody", "", "NO"),
        ("", "", "NO"),
    ] {
        for tls in [false, true] {
            let refused = refusal(address, Options { tls, ..Options::new(user, password) }).await;
            let expected = format!(
                "1045 Access denied for user '{user}'@'127.0.0.1' (using password: {using})"
            );
            assert_eq!(refused, expected);
        }
    }
    for user in ["open", "wide"] {
        Client::connect(address, Options::new(user, "")).await.unwrap();
    }
}

#[tokio::test]
async fn unknown_users_take_the_steps_of_known_ones() {
    use pelorus_mysql_wire::handshake::{AuthStep, parse_auth_step};
    let (_script, address) = accounts().await;
    for user in ["anna", "nobody"] {
        // The same question comes first: the password itself, please.
        let seen = first_question(address, user).await;
        let step = parse_auth_step(&seen, Capabilities::default()).unwrap();
        assert_eq!(step, AuthStep::More(&[auth::FULL_AUTH]), "{user}");
    }
}

async fn first_question(address: SocketAddr, user: &str) -> bytes::Bytes {
    use pelorus_mysql_wire::frame::{FrameReader, FrameWriter};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut reader = FrameReader::new(1 << 20);
    let mut writer = FrameWriter::new();
    let response = handshake::Response {
        capabilities: Capabilities::PROTOCOL_41
            .with(Capabilities::SECURE_CONNECTION)
            .with(Capabilities::PLUGIN_AUTH),
        max_packet: 1 << 24,
        collation: 255,
        user: user.as_bytes().to_vec(),
        auth: vec![1; 32],
        database: None,
        plugin: Some(CACHING_SHA2.to_owned()),
        attributes: Vec::new(),
    };
    writer.set_sequence(1);
    writer.packet(|out| response.put(out));
    stream.write_all(&writer.take()).await.unwrap();
    let mut payloads = Vec::new();
    while payloads.len() < 2 {
        match reader.next_bytes() {
            Ok(Some(payload)) => {
                payloads.push(payload);
                reader.set_sequence(2);
            }
            _ => {
                assert_ne!(stream.read_buf(reader.buffer_mut(1000)).await.unwrap(), 0);
            }
        }
    }
    payloads.remove(1)
}

#[tokio::test]
async fn locked_accounts_learn_it_only_with_the_right_password() {
    let (script, address) = accounts().await;
    script.accounts.lock().get_mut("anna").unwrap().locked = true;
    let refused = refusal(address, Options::new("anna", "secret").tls()).await;
    assert_eq!(refused, "3118 Access denied for user 'anna'@'127.0.0.1'. Account is locked.");
    assert!(refusal(address, Options::new("anna", "wrong").tls()).await.starts_with("1045"));
}

#[tokio::test]
async fn encryption_can_be_demanded() {
    let (script, address) = accounts().await;
    script.accounts.lock().get_mut("nora").unwrap().require_ssl = true;
    assert!(refusal(address, Options::new("nora", "secret")).await.starts_with("1045"));
    Client::connect(address, Options::new("nora", "secret").tls()).await.unwrap();

    script.settings.lock().require_secure_transport = true;
    let refused = refusal(address, Options::new("anna", "secret")).await;
    assert!(refused.starts_with("3159 Connections using insecure transport"), "{refused}");
    Client::connect(address, Options::new("anna", "secret").tls()).await.unwrap();
}

#[tokio::test]
async fn without_tls_none_is_offered() {
    let script = Script::new();
    let config = EdgeConfig { tls: TlsMode::Off, ..EdgeConfig::new("data") };
    script.account("open", CACHING_SHA2, b"");
    let address = script.start_with(config, std::future::pending::<()>()).await;
    let client = Client::connect(address, Options::new("open", "")).await.unwrap();
    assert!(!client.greeting.capabilities.has(Capabilities::SSL));
    assert!(client.greeting.capabilities.has(Capabilities::MULTI_STATEMENTS));
    assert!(client.greeting.capabilities.has(Capabilities::LOCAL_FILES));
    assert!(!client.greeting.capabilities.has(Capabilities::QUERY_ATTRIBUTES));
}

#[tokio::test]
async fn a_database_that_does_not_exist_ends_the_login() {
    let (_script, address) = accounts().await;
    let options = Options { database: Some("missing".to_owned()), ..Options::new("open", "") };
    assert_eq!(refusal(address, options).await, "1049 Unknown database 'missing'");
}

#[tokio::test]
async fn a_connection_becomes_another_users_after_a_new_proof() {
    let (_script, address) = accounts().await;
    let mut client = Client::connect(address, Options::new("open", "").tls()).await.unwrap();
    client.change_user("anna", "secret").await.unwrap();
    assert!(client.steps.switched);
    let answer = client.query("who").await.unwrap();
    let text = format!("{:?}", answer.batch.unwrap().column(1));
    assert!(text.contains("anna/Some(\\\"other\\\")"), "{text}");
    client.change_user("nora", "secret").await.unwrap();
    let error = client.change_user("anna", "wrong").await.unwrap_err();
    assert_eq!(error.errno(), 1045);
    assert!(client.query("ok").await.is_err(), "the connection is closed");
}

#[cfg(unix)]
#[tokio::test]
async fn a_local_socket_is_as_good_as_encryption() {
    use pelorus_mysql_server::Edge;
    let (script, _address) = accounts().await;
    script.settings.lock().require_secure_transport = true;
    let edge = Edge::new(script, &EdgeConfig::new("data"), &ENV).unwrap();
    let path = std::env::temp_dir().join(format!("pelorus-edge-{}.sock", std::process::id()));
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(async move { edge.serve_unix(listener, std::future::pending::<()>()).await });
    let client = Client::connect_local(&path, Options::new("anna", "secret")).await.unwrap();
    assert!(client.steps.full && !client.greeting.capabilities.has(Capabilities::SSL));
    let Err(error) = Client::connect_local(&path, Options::new("anna", "wrong")).await else {
        panic!("the client was let in");
    };
    assert!(error.message().contains("'anna'@'localhost'"), "{error}");
    std::fs::remove_file(path).unwrap();
}
