//! Opens a connection: socket, TLS, login, first settings.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::auth::{self, SCRAMBLE};
use pelorus_mysql_wire::frame::{FrameReader, FrameWriter};
use pelorus_mysql_wire::handshake::{AuthStep, Greeting, Response, SslRequest, parse_auth_step};
use pelorus_mysql_wire::{Capabilities, ServerStatus};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::{Connection, MAX_PAYLOAD, Phase, Run, ServerVersion, TextRows};
use crate::config::{CleartextPassword, Endpoint, TlsMode};
use crate::settings::Applied;
use crate::stream::Stream;

/// `utf8mb4_general_ci`, which every server since 5.5 knows.
const COLLATION: u8 = 45;

/// The capabilities that the client side requests, if the server has them.
const WANTED: Capabilities = Capabilities::LONG_PASSWORD
    .with(Capabilities::LONG_FLAG)
    .with(Capabilities::PROTOCOL_41)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::SECURE_CONNECTION)
    .with(Capabilities::MULTI_RESULTS)
    .with(Capabilities::PS_MULTI_RESULTS)
    .with(Capabilities::PLUGIN_AUTH)
    .with(Capabilities::PLUGIN_AUTH_LENENC)
    .with(Capabilities::CONNECT_ATTRS)
    .with(Capabilities::DEPRECATE_EOF);

/// What must be set first in every session: text in UTF-8 whatever the columns' charsets are,
/// writes that are there once they are answered, whatever `autocommit` the server has (transactions
/// begin by a statement of ours), patience of the server when we take rows slowly, and all rows,
/// whatever `sql_select_limit` the server has: those of a part of a query are not the user's, nor
/// those of our questions. And who it is that answers.
const FIRST: [&str; 5] = [
    "SET NAMES utf8mb4",
    "SET SESSION autocommit = 1",
    "SET SESSION net_write_timeout = 86400",
    "SET SESSION sql_select_limit = 18446744073709551615",
    WHO,
];

/// A server that takes another's place, or is reached at the same address, differs in this. Nothing
/// in it can change while the server runs.
const WHO: &str = "SELECT CONCAT_WS(' ', @@hostname, @@port)";

/// Everything that making a connection needs.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) endpoint: Endpoint,
    /// How errors name the server.
    pub(crate) label: Arc<str>,
    pub(crate) tls: TlsMode,
    pub(crate) tls_config: Option<Arc<ClientConfig>>,
    /// See [`crate::LinkConfig::cleartext_password`].
    pub(crate) cleartext_password: CleartextPassword,
    pub(crate) timeout: Duration,
}

impl Address {
    /// The error for a server that cannot be reached.
    fn unreachable(&self, why: impl std::fmt::Display) -> Error {
        Error::new(
            Code::ConnectToForeign,
            format!(
                "Unable to connect to foreign data source: {}: {}",
                self.label,
                pelorus_error::plain(why)
            ),
        )
    }

    /// What the password itself may travel on.
    fn trust(&self, stream: &Stream) -> Trust {
        let is_always = self.cleartext_password == CleartextPassword::Always;
        let is_local = || {
            self.cleartext_password == CleartextPassword::Local && is_loopback(&self.endpoint.host)
        };
        match stream {
            Stream::Unix(_) => Trust::Server,
            Stream::Tls(_) if self.tls == TlsMode::Verify || is_always => Trust::Server,
            _ if is_always || is_local() => Trust::Address,
            _ => Trust::None,
        }
    }

    /// The error where a server asks for the password itself and may be another one.
    fn not_verified(&self, plugin: &str) -> Error {
        self.unreachable(format_args!(
            "it asks for the password itself ({plugin}), and is not verified: anyone between \
             could read the password; set TLS 'verify' with TLS_CA (the certificate authority of \
             the server), or CLEARTEXT_PASSWORD 'ON' where the network is trusted"
        ))
    }
}

/// The possible servers at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The server that is meant, and no listener; or an option says so.
    Server,
    /// Any server at an address of this machine, or at a trusted one: it may get the password
    /// encrypted with the key that it sends.
    Address,
    /// Any server.
    None,
}

/// Connects and logs in.
///
/// # Errors
/// 1429, naming the server, whatever the reason: a refused login is one of ours, not the client's.
pub(crate) async fn connect(address: &Arc<Address>, env: &Env) -> Result<Connection> {
    connect_with(address, env, Capabilities::default()).await
}

/// The same, with more that the client side wants.
pub(crate) async fn connect_with(
    address: &Arc<Address>,
    env: &Env,
    more: Capabilities,
) -> Result<Connection> {
    match tokio::time::timeout(address.timeout, log_in_either_way(address, env, more)).await {
        Err(_) => Err(address.unreachable("no answer in time")),
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) if error.code() == Code::ConnectToForeign => Err(error),
        Ok(Err(error)) => {
            let text = match error.code() {
                Code::Remote(code) => format!("error {}: {error}", code.errno),
                _ => error.message().to_owned(),
            };
            Err(address.unreachable(text).caused_by(error))
        }
    }
}

/// Connections within one machine cannot be intercepted, and encryption would cost more than
/// reading: it is omitted there if it is not configured, unless the server or the account requires
/// it.
async fn log_in_either_way(
    address: &Arc<Address>,
    env: &Env,
    more: Capabilities,
) -> Result<Connection> {
    let is_here = address.endpoint.socket.is_none() && is_loopback(&address.endpoint.host);
    if address.tls == TlsMode::Preferred && is_here {
        match log_in(address, env, more, false).await {
            Err(error) if REFUSED.contains(&error.errno()) => {}
            other => return other,
        }
    }
    log_in(address, env, more, true).await
}

/// Access denied (an account may require TLS), and a server that requires secure transport (MySQL,
/// MariaDB).
const REFUSED: [u16; 3] = [1045, 3159, 4150];

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn log_in(
    address: &Arc<Address>,
    env: &Env,
    more: Capabilities,
    encrypt: bool,
) -> Result<Connection> {
    let wanted = WANTED.with(more);
    let stream = open_socket(address).await?;
    let mut connection = Connection {
        stream,
        reader: FrameReader::new(MAX_PAYLOAD),
        writer: FrameWriter::new(),
        caps: wanted,
        id: 0,
        version: Arc::new(ServerVersion::parse("", false)),
        label: Arc::clone(&address.label),
        probe: Some((Arc::clone(address), env.clone())),
        status: ServerStatus::default(),
        pending: 0,
        answers: std::collections::VecDeque::new(),
        phase: Phase::Head,
        run: Run { since: env.clock.monotonic(), ..Run::default() },
        broken: false,
        ended: false,
        torn: false,
        applied: Applied::default(),
    };
    let greeting = connection.one(Greeting::parse).await?;
    connection.caps = wanted.and(greeting.capabilities.with(Capabilities::LONG_PASSWORD));
    connection.id = greeting.connection_id;
    let version = ServerVersion::parse(greeting.plain_version(), greeting.is_mariadb());
    connection.version = Arc::new(version);
    if encrypt {
        start_tls(&mut connection, address, &greeting).await?;
    }
    authenticate(&mut connection, address, &greeting, env).await?;
    let answers = connection.rows_of_each(&FIRST).await?;
    for (sql, answer) in FIRST.into_iter().zip(answers) {
        if sql == WHO {
            // Not everything that speaks the protocol has these variables.
            connection.run.server = answer.ok().and_then(|rows| rows.single().map(str::to_owned));
        } else {
            answer?;
        }
    }
    connection.run.ready = env.clock.monotonic();
    Ok(connection)
}

async fn open_socket(address: &Address) -> Result<Stream> {
    let endpoint = &address.endpoint;
    if let Some(path) = &endpoint.socket {
        let stream = UnixStream::connect(path).await;
        return stream.map(Stream::Unix).map_err(|error| address.unreachable(error));
    }
    let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.tcp_port())).await;
    let stream = stream.map_err(|error| address.unreachable(error))?;
    // Commands are small and waited for.
    stream.set_nodelay(true).map_err(|error| address.unreachable(error))?;
    Ok(Stream::Tcp(stream))
}

async fn start_tls(
    connection: &mut Connection,
    address: &Address,
    greeting: &Greeting,
) -> Result<()> {
    let offered = greeting.capabilities.has(Capabilities::SSL);
    let Some(config) = &address.tls_config else { return Ok(()) };
    // A Unix socket is private as it is.
    if connection.stream.is_private() || (address.tls == TlsMode::Preferred && !offered) {
        return Ok(());
    }
    if !offered {
        return Err(address.unreachable("the server offers no TLS"));
    }
    connection.caps = connection.caps.with(Capabilities::SSL);
    let request = SslRequest {
        capabilities: connection.caps,
        max_packet: u32::try_from(MAX_PAYLOAD).unwrap_or(u32::MAX),
        collation: COLLATION,
    };
    connection.writer.set_sequence(1);
    connection.writer.packet(|out| request.put(out));
    connection.flush().await?;
    if !connection.reader.unread().is_empty() {
        // Bytes before the encryption could have been sent by an attacker.
        return Err(address.unreachable("the server spoke before TLS had started"));
    }
    let name = ServerName::try_from(address.endpoint.host.clone())
        .map_err(|_| address.unreachable("the host's name cannot be used for TLS"))?;
    let Stream::Tcp(socket) = std::mem::replace(&mut connection.stream, Stream::Closed) else {
        return Err(Error::internal("TLS is for TCP"));
    };
    let stream = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
    let stream = stream.map_err(|error| address.unreachable(crate::tls::reason(&error)))?;
    connection.stream = Stream::Tls(Box::new(stream));
    Ok(())
}

async fn authenticate(
    connection: &mut Connection,
    address: &Address,
    greeting: &Greeting,
    env: &Env,
) -> Result<()> {
    let password = address.endpoint.password.reveal().as_bytes();
    let mut plugin = greeting.plugin.clone();
    let mut scramble = greeting.scramble;
    // A plugin that we do not speak as the server's default: offer ours and let it switch.
    let proof = match proof_for(&plugin, password, &scramble) {
        Some(proof) => proof,
        None => {
            plugin = auth::NATIVE.to_owned();
            auth::native_proof(password, &scramble)
        }
    };
    let response = Response {
        capabilities: connection.caps,
        max_packet: u32::try_from(MAX_PAYLOAD).unwrap_or(u32::MAX),
        collation: COLLATION,
        user: address.endpoint.user.clone().into_bytes(),
        auth: proof,
        database: None,
        plugin: Some(plugin.clone()),
        attributes: vec![
            ("_client_name".to_owned(), "pelorus".to_owned()),
            ("program_name".to_owned(), "pelorus".to_owned()),
        ],
    };
    connection.writer.set_sequence(connection.reader.sequence());
    if connection.caps.has(Capabilities::SSL) {
        // The request for TLS was number 1.
        connection.writer.set_sequence(2);
    }
    connection.writer.packet(|out| response.put(out));
    connection.reader.set_sequence(connection.writer.sequence());
    connection.flush().await?;
    loop {
        let caps = connection.caps;
        let step = connection.one(|payload| parse_auth_step(payload, caps).map(Step::from)).await?;
        match step {
            Step::Done(status) => {
                connection.status = status;
                return Ok(());
            }
            Step::Switch { plugin: wanted, data } => {
                plugin = wanted;
                scramble = challenge(&data);
                let answer = match proof_for(&plugin, password, &scramble) {
                    Some(proof) => proof,
                    None => clear_password(address, &connection.stream, &plugin)?,
                };
                reply(connection, &answer).await?;
            }
            Step::More(data) => match data.as_slice() {
                [auth::FAST_OK] => {}
                [auth::FULL_AUTH] => {
                    send_password(connection, address, password, &scramble, env).await?;
                }
                _ => return Err(Error::unsupported(format_args!("answers of plugin {plugin}"))),
            },
        }
    }
}

/// [`AuthStep`] with data of its own.
enum Step {
    Done(ServerStatus),
    Switch { plugin: String, data: Vec<u8> },
    More(Vec<u8>),
}

impl From<AuthStep<'_>> for Step {
    fn from(step: AuthStep<'_>) -> Self {
        match step {
            AuthStep::Done(ok) => Step::Done(ok.status),
            AuthStep::Switch { plugin, data } => Step::Switch { plugin, data: data.to_vec() },
            AuthStep::More(data) => Step::More(data.to_vec()),
        }
    }
}

/// The 20 bytes of a challenge; MySQL ends them with a zero, MariaDB may leave it out.
fn challenge(data: &[u8]) -> [u8; SCRAMBLE] {
    let mut scramble = [0; SCRAMBLE];
    let length = data.len().min(SCRAMBLE);
    scramble[..length].copy_from_slice(&data[..length]);
    scramble
}

/// The proof that a plugin wants of the one who knows the password, from which the password cannot
/// be computed; `None` for plugins that want something else.
fn proof_for(plugin: &str, password: &[u8], scramble: &[u8; SCRAMBLE]) -> Option<Vec<u8>> {
    match plugin {
        auth::CLEAR => None,
        _ if password.is_empty() => Some(Vec::new()),
        auth::NATIVE => Some(auth::native_proof(password, scramble)),
        auth::CACHING_SHA2 => Some(auth::sha2_proof(password, scramble)),
        _ => None,
    }
}

/// The password itself, for the plugin that wants it.
fn clear_password(address: &Address, stream: &Stream, plugin: &str) -> Result<Vec<u8>> {
    if plugin != auth::CLEAR {
        return Err(Error::unsupported(format_args!("authentication plugin {plugin}")));
    }
    match address.trust(stream) {
        Trust::Server => Ok(with_zero(address.endpoint.password.reveal().as_bytes())),
        Trust::Address | Trust::None => Err(address.not_verified(plugin)),
    }
}

fn with_zero(password: &[u8]) -> Vec<u8> {
    password.iter().copied().chain([0]).collect()
}

/// The full exchange of caching_sha2_password: the password itself on a private line, else
/// encrypted with the key that the server sends, which anyone between could replace.
async fn send_password(
    connection: &mut Connection,
    address: &Address,
    password: &[u8],
    scramble: &[u8; SCRAMBLE],
    env: &Env,
) -> Result<()> {
    if address.trust(&connection.stream) == Trust::None {
        return Err(address.not_verified(auth::CACHING_SHA2));
    }
    if connection.stream.is_private() {
        return reply(connection, &with_zero(password)).await;
    }
    reply(connection, &[auth::REQUEST_KEY]).await?;
    let caps = connection.caps;
    let step = connection.one(|payload| parse_auth_step(payload, caps).map(Step::from)).await?;
    let Step::More(key) = step else {
        return Err(address.unreachable("the server sent no public key"));
    };
    let encrypted = auth::rsa_encrypt(password, scramble, &key, &*env.random)?;
    reply(connection, &encrypted).await
}

async fn reply(connection: &mut Connection, payload: &[u8]) -> Result<()> {
    connection.writer.set_sequence(connection.reader.sequence());
    connection.writer.packet(|out: &mut BytesMut| out.extend_from_slice(payload));
    connection.reader.set_sequence(connection.writer.sequence());
    connection.flush().await
}

/// Whether a server works for a connection.
#[derive(Debug)]
pub(super) enum Works {
    /// It does, or it may: it is there and knows of nothing else.
    Yes,
    /// It does not know the connection any more.
    No,
    /// The server could not answer.
    Unknown(Error),
}

impl Works {
    /// What an answer, or the lack of one, says. A server that is full is there; what else refuses
    /// (a proxy before it, or another server that does not know the account) may not be it.
    fn of(answer: Result<TextRows>) -> Self {
        match answer {
            Ok(rows) if rows.single() == Some("0") => Works::No,
            Ok(_) => Works::Yes,
            Err(error) if says_that_it_is_full(&error) => Works::Yes,
            Err(error) => Works::Unknown(error),
        }
    }
}

/// Too many connections: of all, of the account at once, of the account in an hour.
const FULL: [u16; 3] = [1040, 1203, 1226];

/// Whether a server says, also beneath an error of ours, that it takes no more connections.
fn says_that_it_is_full(error: &Error) -> bool {
    let is_full = |error: &Error| match error.code() {
        Code::Remote(code) => FULL.contains(&code.errno),
        _ => false,
    };
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<Error>());
    is_full(error) || cause.is_some_and(is_full)
}

/// Asks by another connection whether a server still works for one that has been silent for long:
/// a line that broke without a word looks like a statement that takes long.
pub(super) fn ask_whether_it_works(
    address: Arc<Address>,
    env: Env,
    id: u32,
    run: Run,
) -> Pin<Box<dyn Future<Output = Works> + Send>> {
    Box::pin(async move {
        let mut other = match connect(&address, &env).await {
            Ok(other) => other,
            Err(error) => return Works::of(Err(error)),
        };
        if run.server.is_some() && other.run.server != run.server {
            // The numbers of another server are those of other connections.
            other.quit().await;
            return Works::No;
        }
        // The other one must not ask in turn.
        other.probe = None;
        let ask = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
        let answer = tokio::time::timeout(address.timeout, other.rows(&ask)).await;
        let works =
            Works::of(answer.unwrap_or_else(|_| Err(address.unreachable("no answer in time"))));
        other.quit().await;
        works
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_go_to_verified_servers_and_to_this_machine() {
        let address = |host: &str, tls, cleartext_password| Address {
            endpoint: Endpoint { host: host.to_owned(), ..Endpoint::default() },
            label: "server 'shop'".into(),
            tls,
            tls_config: None,
            cleartext_password,
            timeout: Duration::from_secs(1),
        };
        // Neither a local socket nor TLS.
        let plain = Stream::Closed;
        let local = Stream::Unix(UnixStream::pair().unwrap().0);
        for tls in [TlsMode::Disabled, TlsMode::Preferred, TlsMode::Required, TlsMode::Verify] {
            for (host, trust) in [
                ("db1", Trust::None),
                ("127.0.0.2.example.com", Trust::None),
                ("0.0.0.0", Trust::None),
                ("localhost", Trust::Address),
                ("127.0.0.2", Trust::Address),
                ("::1", Trust::Address),
            ] {
                let of = |cleartext, stream| address(host, tls, cleartext).trust(stream);
                assert_eq!(of(CleartextPassword::Local, &plain), trust, "{host}");
                assert_eq!(of(CleartextPassword::Always, &plain), Trust::Address, "{host}");
                assert_eq!(of(CleartextPassword::Never, &plain), Trust::None, "{host}");
                assert_eq!(of(CleartextPassword::Never, &local), Trust::Server, "{host}");
            }
        }
    }

    #[test]
    fn what_is_sent_unasked_is_a_proof() {
        let scramble = [b'x'; SCRAMBLE];
        for plugin in [auth::NATIVE, auth::CACHING_SHA2] {
            let proof = proof_for(plugin, b"secret", &scramble).unwrap();
            assert!(!proof.windows(6).any(|part| part == b"secret"));
        }
        for plugin in [auth::CLEAR, "sha256_password", "dialog", ""] {
            assert_eq!(proof_for(plugin, b"secret", &scramble), None, "{plugin}");
        }
    }

    #[test]
    fn a_server_that_is_full_is_there() {
        let rows = |count: &str| {
            let mut rows = TextRows::default();
            rows.rows.push(vec![Some(count.to_owned())]);
            Ok(rows)
        };
        assert!(matches!(Works::of(rows("1")), Works::Yes));
        assert!(matches!(Works::of(rows("0")), Works::No));
        let refused = || Error::remote(1040, *b"08004", "Too many connections");
        assert!(matches!(Works::of(Err(refused())), Works::Yes));
        let unreachable = || Error::new(Code::ConnectToForeign, "Unable to connect");
        assert!(matches!(Works::of(Err(unreachable().caused_by(refused()))), Works::Yes));
        assert!(matches!(Works::of(Err(unreachable())), Works::Unknown(_)));
        // Who refuses for ever may be another.
        let denied = || Error::remote(1045, *b"28000", "Access denied");
        assert!(matches!(Works::of(Err(denied())), Works::Unknown(_)));
        let unreachable_for = unreachable().caused_by(denied());
        assert!(matches!(Works::of(Err(unreachable_for)), Works::Unknown(_)));
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(matches!(Works::of(Err(unreachable().caused_by(io))), Works::Unknown(_)));
    }
}
