//! The handshake: greeting, TLS, the client's answer, and the creation of the session.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use pelorus_engine::Settings;
use pelorus_engine::api::{Credential, Login};
use pelorus_error::{Code, Error, Result};
use pelorus_mysql_wire::auth::{self, CACHING_SHA2, NATIVE, SCRAMBLE};
use pelorus_mysql_wire::handshake::{ChangeUser, FirstPacket, Greeting, Response};
use pelorus_mysql_wire::{Capabilities, ServerStatus, charset};
use pelorus_types::{Collation, collation};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::backend::{Backend, BackendSession};
use crate::channel::{Channel, Gone};
use crate::proof::{Claim, Verdict, access_denied};
use crate::results::put_plain_ok;
use crate::server::Shared;

/// What this server can do, TLS apart.
const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .with(Capabilities::FOUND_ROWS)
    .with(Capabilities::LONG_FLAG)
    .with(Capabilities::CONNECT_WITH_DB)
    .with(Capabilities::ODBC)
    .with(Capabilities::LOCAL_FILES)
    .with(Capabilities::IGNORE_SPACE)
    .with(Capabilities::PROTOCOL_41)
    .with(Capabilities::INTERACTIVE)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::SECURE_CONNECTION)
    .with(Capabilities::MULTI_STATEMENTS)
    .with(Capabilities::MULTI_RESULTS)
    .with(Capabilities::PS_MULTI_RESULTS)
    .with(Capabilities::PLUGIN_AUTH)
    .with(Capabilities::CONNECT_ATTRS)
    .with(Capabilities::PLUGIN_AUTH_LENENC)
    .with(Capabilities::DEPRECATE_EOF);

/// The largest packet of a client that has not logged in.
pub(crate) const LOGIN_PACKET: usize = 256 << 10;

/// Why no connection can be encrypted.
const NO_TIME: &str = "the clock of the server shows a time before 1970: no connection can be encrypted until it is set";

/// Characters of a user that the log shows.
const LOGGED_CHARS: usize = 64;

/// Where a client comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) Option<SocketAddr>);

impl Peer {
    /// The host as messages name it.
    fn host(self) -> String {
        self.0.map_or_else(|| "localhost".to_owned(), |peer| peer.ip().to_canonical().to_string())
    }

    /// A local socket, which cannot be intercepted.
    fn is_local_socket(self) -> bool {
        self.0.is_none()
    }
}

/// The state that a login needs in addition to its own connection.
pub(crate) struct Door<B: Backend> {
    pub(crate) shared: Arc<Shared<B>>,
    pub(crate) settings: Settings,
    pub(crate) peer: Peer,
}

/// A client that has said who it is, and not yet shown it.
struct Said {
    id: u64,
    login: Login,
    claim: Claim,
}

impl<B: Backend> Door<B> {
    /// Greets a client, authenticates it and opens its session.
    pub(crate) async fn log_in(&self, channel: &mut Channel) -> Result<B::Session, Gone> {
        let limit = self.settings.connect_timeout;
        // MySQL says nothing to a client that does not get on with its login either.
        let said = timeout(limit, self.greet(channel)).await.map_err(|_| Gone::Closed)??;
        self.delay(channel, &said.login.user).await?;
        let Said { id, login, claim } = said;
        let proof = async {
            self.check(channel, &login.user, claim).await?;
            let connect = self.shared.backend.connect(id, login);
            let mut session = connect.await.map_err(Gone::Because)?;
            session.set_multi_statements(channel.capabilities.has(Capabilities::MULTI_STATEMENTS));
            put_plain_ok(channel, &session);
            channel.flush().await?;
            Ok::<_, Gone>(session)
        };
        timeout(limit, proof).await.map_err(|_| Gone::Closed)?
    }

    /// Greets a client and reads who it says it is.
    async fn greet(&self, channel: &mut Channel) -> Result<Said, Gone> {
        let id = self.shared.backend.next_connection_id();
        let scramble = auth::new_scramble(self.shared.guard.random());
        // A local socket needs no encryption.
        let tls = self.shared.tls.as_ref().filter(|_| !self.peer.is_local_socket());
        let offered = match tls {
            Some(_) => CAPABILITIES.with(Capabilities::SSL),
            None => CAPABILITIES,
        };
        let greeting = Greeting {
            server_version: self.settings.server_version.clone(),
            connection_id: low_half(id),
            scramble,
            capabilities: offered,
            mariadb_capabilities: 0,
            collation: low_byte(collation::UTF8MB4_0900_AI_CI),
            status: ServerStatus::AUTOCOMMIT,
            plugin: CACHING_SHA2.to_owned(),
        };
        channel.writer.packet(|out| greeting.put(out));
        channel.expect_answer();
        channel.flush().await?;
        let response = self.response(channel, tls, offered).await?;
        if self.settings.require_secure_transport && !self.is_secure(channel) {
            return Err(Gone::Because(Error::new(
                Code::SecureTransportRequired,
                "Connections using insecure transport are prohibited while \
                 --require_secure_transport=ON.",
            )));
        }
        let claim = Claim {
            plugin: response.plugin.clone().unwrap_or_else(|| NATIVE.to_owned()),
            proof: response.auth.clone(),
            scramble,
            secure: self.is_secure(channel),
            ask_anew: false,
        };
        let login = self.login_of(&response, channel).map_err(Gone::Because)?;
        Ok(Said { id, login, claim })
    }

    /// Lets a login wait that comes after failed ones. A client that leaves meanwhile has learned
    /// nothing, and its place is free.
    async fn delay(&self, channel: &mut Channel, user: &str) -> Result<(), Gone> {
        let wait = self.shared.delays.of(user, self.address(), &self.settings.login_delay);
        if wait.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = channel.client_left() => Err(Gone::Closed),
            () = sleep(wait) => Ok(()),
        }
    }

    fn address(&self) -> Option<IpAddr> {
        self.peer.0.map(|peer| peer.ip().to_canonical())
    }

    fn is_secure(&self, channel: &Channel) -> bool {
        channel.encrypted || self.peer.is_local_socket()
    }

    /// Reads the client's answer, over TLS when it asks for that.
    async fn response(
        &self,
        channel: &mut Channel,
        tls: Option<&TlsAcceptor>,
        offered: Capabilities,
    ) -> Result<Response, Gone> {
        let first = self.first_packet(channel).await?;
        let response = match (first, tls) {
            (FirstPacket::Response(response), _) => response,
            (FirstPacket::SslRequest(_), Some(acceptor)) => {
                if acceptor.config().time_provider.current_time().is_none() {
                    // In the middle of the handshake it would fail without a word.
                    tracing::warn!(address = self.peer.host(), reason = NO_TIME, "login failed");
                    return Err(Gone::Because(Error::new(Code::BadHandshake, NO_TIME)));
                }
                channel.start_tls(acceptor).await?;
                match self.first_packet(channel).await? {
                    FirstPacket::Response(response) => response,
                    FirstPacket::SslRequest(_) => return Err(Gone::Because(bad_handshake())),
                }
            }
            (FirstPacket::SslRequest(_), None) => return Err(Gone::Because(bad_handshake())),
        };
        channel.capabilities = response.capabilities.and(offered);
        Ok(*response)
    }

    async fn first_packet(&self, channel: &mut Channel) -> Result<FirstPacket, Gone> {
        let limit = self.settings.connect_timeout;
        let payload = channel.read(limit).await?.map_err(Gone::Because)?;
        FirstPacket::parse(&payload).map_err(|error| {
            // Rubbish is a bad handshake; what has its own number keeps it.
            let rubbish = error.code() == Code::MalformedPacket;
            Gone::Because(if rubbish { bad_handshake() } else { error })
        })
    }

    fn login_of(&self, response: &Response, channel: &Channel) -> Result<Login> {
        let collation = handshake_collation(response.collation);
        let text = |bytes: &[u8]| charset::decode(collation, bytes).map(|text| text.into_owned());
        Ok(Login {
            user: text(&response.user)?,
            peer: self.peer.0,
            database: response.database.as_deref().map(text).transpose()?,
            collation: collation.0,
            found_rows: channel.capabilities.has(Capabilities::FOUND_ROWS),
            interactive: channel.capabilities.has(Capabilities::INTERACTIVE),
            ignore_space: channel.capabilities.has(Capabilities::IGNORE_SPACE),
            encrypted: channel.encrypted,
            attributes: response.attributes.clone(),
        })
    }

    /// Lets the client in or not. Failures count, also when the client leaves in the middle: what it
    /// was asked may have shown it that its proof was wrong.
    async fn check(&self, channel: &mut Channel, user: &str, claim: Claim) -> Result<(), Gone> {
        let (backend, delays) = (&self.shared.backend, &self.shared.delays);
        let address = self.address();
        let credential = backend.credential(user, address);
        let credential = credential.as_ref();
        let secure = claim.secure;
        let verdict = self.shared.guard.examine(channel, user, credential, claim).await;
        let is_proven = credential.is_some() && matches!(verdict, Ok(Verdict::Proven));
        delays.note(user, address, is_proven);
        // An account that is locked for its failures says so, whatever was proven.
        let counted = backend.login_ended(user, address, is_proven);
        let judged = verdict.and_then(|verdict| {
            counted
                .and_then(|()| self.judge(user, credential, verdict, secure))
                .map_err(Gone::Because)
        });
        if let Err(gone) = &judged {
            let reason = match gone {
                Gone::Because(error) => error.message(),
                Gone::Closed => "the client left",
            };
            // Users are what clients send: nothing of it may look like another line.
            let user: String = user.chars().take(LOGGED_CHARS).collect();
            let reason: String = reason.chars().take(LOGGED_CHARS * 4).collect();
            let (user, reason) = (user.escape_debug(), reason.escape_debug());
            tracing::warn!(%user, address = self.peer.host(), %reason, "login failed");
        }
        judged
    }

    fn judge(
        &self,
        user: &str,
        credential: Option<&Credential>,
        verdict: Verdict,
        secure: bool,
    ) -> Result<()> {
        let host = self.peer.host();
        let Some(credential) = credential else {
            let with_password = verdict != Verdict::Refused { with_password: false };
            return Err(access_denied(user, &host, with_password));
        };
        if let Verdict::Refused { with_password } = verdict {
            return Err(access_denied(user, &host, with_password));
        }
        if credential.require_ssl && !secure {
            return Err(access_denied(user, &host, !credential.authentication.is_empty()));
        }
        if credential.locked {
            return Err(Error::new(
                Code::AccountLocked,
                format!("Access denied for user '{user}'@'{host}'. Account is locked."),
            ));
        }
        Ok(())
    }

    /// COM_CHANGE_USER: the client authenticates again, with a new challenge, and its session
    /// becomes another's. A failure ends the connection, as in MySQL.
    pub(crate) async fn change_user(
        &self,
        channel: &mut Channel,
        session: &mut B::Session,
        change: ChangeUser,
    ) -> Result<(), Gone> {
        let collation = change.collation.map_or(collation::UTF8MB4_0900_AI_CI, Collation);
        let text = |bytes: &[u8]| {
            charset::decode(collation, bytes).map(|text| text.into_owned()).map_err(Gone::Because)
        };
        let login = Login {
            user: text(&change.user)?,
            peer: self.peer.0,
            database: change.database.as_deref().map(text).transpose()?,
            collation: collation.0,
            found_rows: channel.capabilities.has(Capabilities::FOUND_ROWS),
            interactive: channel.capabilities.has(Capabilities::INTERACTIVE),
            ignore_space: channel.capabilities.has(Capabilities::IGNORE_SPACE),
            encrypted: channel.encrypted,
            attributes: change.attributes,
        };
        let claim = Claim {
            plugin: change.plugin.unwrap_or_else(|| NATIVE.to_owned()),
            proof: change.auth,
            scramble: [0; SCRAMBLE],
            secure: self.is_secure(channel),
            ask_anew: true,
        };
        self.delay(channel, &login.user).await?;
        self.check(channel, &login.user, claim).await?;
        session.change_user(login).await.map_err(Gone::Because)?;
        session.set_multi_statements(channel.capabilities.has(Capabilities::MULTI_STATEMENTS));
        put_plain_ok(channel, session);
        Ok(())
    }
}

/// Error 1053.
pub(crate) fn server_shutdown() -> Error {
    Error::new(Code::ServerShutdown, "Server shutdown in progress")
}

fn bad_handshake() -> Error {
    Error::new(Code::BadHandshake, "Bad handshake")
}

/// The greeting has room for half of a connection's number.
fn low_half(id: u64) -> u32 {
    u32::try_from(id & u64::from(u32::MAX)).unwrap_or_default()
}

fn low_byte(collation: Collation) -> u8 {
    collation.0.to_le_bytes()[0]
}

/// The collation that a client's byte means. Those that no client can speak, and numbers that are
/// not known, mean the server's own.
fn handshake_collation(byte: u8) -> Collation {
    let collation = Collation(u16::from(byte));
    let usable = collation
        .info()
        .is_some_and(|info| !matches!(info.charset, "ucs2" | "utf16" | "utf16le" | "utf32"));
    if usable { collation } else { collation::UTF8MB4_0900_AI_CI }
}
