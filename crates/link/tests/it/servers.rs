//! The servers that tests run against.

use futures::StreamExt as _;
use pelorus_env::Env;
use pelorus_link::{
    Endpoint, Format, Link, LinkConfig, Relay, RelayDone, RelayItem, Secret, SessionSettings,
    Target, TlsMode,
};

/// The database that all tests of this crate share.
pub(crate) const DATABASE: &str = "link_test";

/// The addresses of the servers that are given.
pub(crate) fn endpoints() -> Vec<(&'static str, Endpoint)> {
    given(&["PELORUS_TEST_MARIADB", "PELORUS_TEST_MYSQL"])
}

/// The same with a MySQL without GTIDs.
pub(crate) fn sources() -> Vec<(&'static str, Endpoint)> {
    given(&["PELORUS_TEST_MARIADB", "PELORUS_TEST_MYSQL", "PELORUS_TEST_PLAIN_MYSQL"])
}

fn given(names: &[&'static str]) -> Vec<(&'static str, Endpoint)> {
    names.iter().copied().filter_map(|name| Some((name, address(&variable(name)?)))).collect()
}

/// The value of an environment variable that names servers.
///
/// A test without its servers fails. It is left out only if `PELORUS_WITHOUT_SERVERS` is 1.
pub(crate) fn variable(name: &str) -> Option<String> {
    let found = std::env::var(name).ok();
    if found.is_none() {
        let without = std::env::var("PELORUS_WITHOUT_SERVERS");
        assert_eq!(
            without.as_deref(),
            Ok("1"),
            "{name} is not set: run the test through pelorus_tools.with_servers, or set \
             PELORUS_WITHOUT_SERVERS=1 to leave it out"
        );
        eprintln!("{name} is not set: not tested");
    }
    found
}

/// Reads `host:port:user:password`.
pub(crate) fn address(text: &str) -> Endpoint {
    let mut fields = text.splitn(4, ':');
    let mut next = || fields.next().unwrap_or_default().to_owned();
    let (host, port) = (next(), next().parse().unwrap());
    let (user, password) = (next(), Secret::new(next()));
    Endpoint { host, port, socket: None, user, password }
}

pub(crate) fn config(endpoint: &Endpoint) -> LinkConfig {
    LinkConfig { tls: TlsMode::Preferred, ..LinkConfig::new("shop", endpoint.clone()) }
}

/// Links to all servers that are given, with the tests' database made.
pub(crate) async fn links() -> Vec<Link> {
    let mut links = Vec::new();
    for (_, endpoint) in endpoints() {
        let link = Link::open(config(&endpoint), Env::real()).await.unwrap();
        run(&link, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).await;
        links.push(link);
    }
    links
}

pub(crate) fn settings() -> SessionSettings {
    SessionSettings { database: Some(DATABASE.to_owned()), ..SessionSettings::default() }
}

/// Runs a statement without rows.
pub(crate) async fn run(link: &Link, sql: &str) -> RelayDone {
    // The database may not be there yet.
    let settings =
        if sql.starts_with("CREATE DATABASE") { SessionSettings::default() } else { settings() };
    match link.relay(&settings, sql, Format::Text, Target::Primary).await {
        Ok(Relay::Done(done)) => done,
        Ok(Relay::Rows(_)) => panic!("rows from {sql}"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// The payloads of a statement's rows.
pub(crate) async fn payloads(link: &Link, sql: &str, format: Format) -> Vec<Vec<u8>> {
    let relay = link.relay(&settings(), sql, format, Target::Primary).await;
    payloads_of(relay.unwrap()).await
}

/// The payloads of a result's rows.
pub(crate) async fn payloads_of(relay: Relay) -> Vec<Vec<u8>> {
    let Relay::Rows(mut rows) = relay else { panic!("no rows") };
    let mut all = Vec::new();
    while let Some(item) = rows.next().await {
        let RelayItem::Encoded(block) = item.unwrap() else { break };
        let mut rest = &block[..];
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (payload, next) = after.split_at(u32::from_le_bytes(*length) as usize);
            all.push(payload.to_vec());
            rest = next;
        }
    }
    assert!(rows.next().await.is_none());
    all
}

/// The values of a statement's rows in text.
pub(crate) async fn texts(link: &Link, sql: &str) -> Vec<Vec<Option<String>>> {
    payloads(link, sql, Format::Text).await.iter().map(|row| values(row)).collect()
}

/// The values of a row in text.
pub(crate) fn values(payload: &[u8]) -> Vec<Option<String>> {
    let mut reader = pelorus_mysql_wire::lenenc::Reader::new(payload);
    let mut values = Vec::new();
    while !reader.is_empty() {
        let value = reader.lenenc_bytes_or_null().unwrap();
        values.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    values
}

/// A single value.
pub(crate) async fn value(link: &Link, sql: &str) -> String {
    texts(link, sql).await[0][0].clone().unwrap_or_else(|| "NULL".to_owned())
}
