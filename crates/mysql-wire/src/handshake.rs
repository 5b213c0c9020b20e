//! The handshake: greeting, request for TLS, response, and switches of the authentication plugin.

use bytes::{BufMut as _, BytesMut};
use pelorus_error::{Code, Error, Result};

use crate::auth::SCRAMBLE;
use crate::caps::{Capabilities, ServerStatus};
use crate::lenenc::{Reader, malformed, put_lenenc_bytes, put_nul_bytes};
use crate::response::{self, Ok as OkPacket};

/// What MariaDB puts before its version so that old replicas accept it.
const MARIADB_PREFIX: &str = "5.5.5-";

/// The first packet of a connection, from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The version, as the server says it.
    pub server_version: String,
    /// The number of the connection.
    pub connection_id: u32,
    /// The challenge of the authentication.
    pub scramble: [u8; SCRAMBLE],
    /// The capabilities of the server.
    pub capabilities: Capabilities,
    /// The additional capabilities of a MariaDB server; 0 for others.
    pub mariadb_capabilities: u32,
    /// The server's collation (its number's low byte).
    pub collation: u8,
    /// The server's state.
    pub status: ServerStatus,
    /// The plugin that the challenge is for.
    pub plugin: String,
}

impl Greeting {
    /// Appends the packet.
    pub fn put(&self, out: &mut BytesMut) {
        let [cap0, cap1, cap2, cap3] = self.capabilities.0.to_le_bytes();
        let (first, second) = self.scramble.split_at(8);
        out.put_u8(10);
        put_nul_bytes(out, self.server_version.as_bytes());
        out.put_u32_le(self.connection_id);
        out.put_slice(first);
        out.put_u8(0);
        out.put_slice(&[cap0, cap1, self.collation]);
        out.put_u16_le(self.status.0);
        out.put_slice(&[cap2, cap3]);
        // The zero that ends the challenge counts.
        out.put_slice(&[21, 0, 0, 0, 0, 0, 0]);
        out.put_u32_le(self.mariadb_capabilities);
        out.put_slice(second);
        out.put_u8(0);
        put_nul_bytes(out, self.plugin.as_bytes());
    }

    /// Reads the packet; an ERR packet in its place is the error.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        match reader.u8()? {
            10 => {}
            response::ERR => return Err(response::parse_err(payload)),
            other => {
                return Err(Error::new(
                    Code::BadHandshake,
                    format!("the server speaks protocol {other}, not 10"),
                ));
            }
        }
        let server_version = String::from_utf8_lossy(reader.nul_bytes()?).into_owned();
        let connection_id = reader.u32()?;
        let mut scramble = [0; SCRAMBLE];
        scramble[..8].copy_from_slice(reader.bytes(8)?);
        reader.bytes(1)?;
        let low = reader.u16()?;
        let collation = reader.u8()?;
        let status = ServerStatus(reader.u16()?);
        let high = reader.u16()?;
        let capabilities = Capabilities(u32::from(high) << 16 | u32::from(low));
        let length = usize::from(reader.u8()?);
        reader.bytes(6)?;
        let extended = reader.u32()?;
        let mariadb = !capabilities.has(Capabilities::LONG_PASSWORD);
        if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let rest = reader.bytes(length.saturating_sub(8).max(13))?;
            scramble[8..].copy_from_slice(&rest[..SCRAMBLE - 8]);
        }
        let plugin = if capabilities.has(Capabilities::PLUGIN_AUTH) {
            String::from_utf8_lossy(reader.nul_or_rest()).into_owned()
        } else {
            "mysql_native_password".to_owned()
        };
        Ok(Self {
            server_version,
            connection_id,
            scramble,
            capabilities,
            mariadb_capabilities: if mariadb { extended } else { 0 },
            collation,
            status,
            plugin,
        })
    }

    /// Whether the server is a MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.server_version.starts_with(MARIADB_PREFIX) || self.server_version.contains("MariaDB")
    }

    /// The version without the prefix that MariaDB adds.
    pub fn plain_version(&self) -> &str {
        self.server_version.strip_prefix(MARIADB_PREFIX).unwrap_or(&self.server_version)
    }
}

/// The client's answer to the greeting.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// The capabilities that the client has and requests.
    pub capabilities: Capabilities,
    /// The largest packet that it takes.
    pub max_packet: u32,
    /// Its collation (the number's low byte, as clients send it).
    pub collation: u8,
    /// The account, in the client's charset.
    pub user: Vec<u8>,
    /// The answer to the challenge.
    pub auth: Vec<u8>,
    /// The database to use, in the client's charset.
    pub database: Option<Vec<u8>>,
    /// The plugin that the answer is for.
    pub plugin: Option<String>,
    /// The connection attributes of the client's driver.
    pub attributes: Vec<(String, String)>,
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("capabilities", &self.capabilities)
            .field("user", &String::from_utf8_lossy(&self.user))
            .field("plugin", &self.plugin)
            .finish_non_exhaustive()
    }
}

/// The first packet of a client: its answer, or a request for TLS before it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstPacket {
    /// TLS is to start; the response follows inside it.
    SslRequest(SslRequest),
    /// The response.
    Response(Box<Response>),
}

/// A request for TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SslRequest {
    /// The capabilities that the client has and requests.
    pub capabilities: Capabilities,
    /// The largest packet that it takes.
    pub max_packet: u32,
    /// Its collation's low byte.
    pub collation: u8,
}

impl SslRequest {
    /// Appends the packet.
    pub fn put(&self, out: &mut BytesMut) {
        out.put_u32_le(self.capabilities.0);
        out.put_u32_le(self.max_packet);
        out.put_u8(self.collation);
        out.put_slice(&[0; 23]);
    }
}

impl FirstPacket {
    /// Reads the first packet of a client.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let low = Capabilities(u32::from(reader.u16()?));
        if !low.has(Capabilities::PROTOCOL_41) {
            return Err(Error::new(
                Code::AuthPluginNotSupported,
                "Client does not support authentication protocol requested by server; \
                 consider upgrading MySQL client",
            ));
        }
        let high = reader.u16()?;
        let capabilities = Capabilities(u32::from(high) << 16 | low.0);
        let max_packet = reader.u32()?;
        let collation = reader.u8()?;
        reader.bytes(23)?;
        if reader.is_empty() && capabilities.has(Capabilities::SSL) {
            return Ok(Self::SslRequest(SslRequest { capabilities, max_packet, collation }));
        }
        let user = reader.nul_bytes()?.to_vec();
        let auth = read_auth(&mut reader, capabilities)?;
        let database = capabilities
            .has(Capabilities::CONNECT_WITH_DB)
            .then(|| reader.nul_or_rest().to_vec())
            .filter(|name| !name.is_empty());
        let plugin = read_plugin(&mut reader, capabilities);
        let attributes = read_attributes(&mut reader, capabilities)?;
        Ok(Self::Response(Box::new(Response {
            capabilities,
            max_packet,
            collation,
            user,
            auth,
            database,
            plugin,
            attributes,
        })))
    }
}

fn read_auth(reader: &mut Reader<'_>, capabilities: Capabilities) -> Result<Vec<u8>> {
    if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
        Ok(reader.lenenc_bytes()?.to_vec())
    } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
        let length = usize::from(reader.u8()?);
        Ok(reader.bytes(length)?.to_vec())
    } else {
        Ok(reader.nul_or_rest().to_vec())
    }
}

fn read_plugin(reader: &mut Reader<'_>, capabilities: Capabilities) -> Option<String> {
    capabilities
        .has(Capabilities::PLUGIN_AUTH)
        .then(|| String::from_utf8_lossy(reader.nul_or_rest()).into_owned())
        .filter(|name| !name.is_empty())
}

fn read_attributes(
    reader: &mut Reader<'_>,
    capabilities: Capabilities,
) -> Result<Vec<(String, String)>> {
    if !capabilities.has(Capabilities::CONNECT_ATTRS) || reader.is_empty() {
        return Ok(Vec::new());
    }
    let mut inner = Reader::new(reader.lenenc_bytes()?);
    let mut attributes = Vec::new();
    while !inner.is_empty() {
        let name = String::from_utf8_lossy(inner.lenenc_bytes()?).into_owned();
        let value = String::from_utf8_lossy(inner.lenenc_bytes()?).into_owned();
        attributes.push((name, value));
    }
    Ok(attributes)
}

fn put_attributes(out: &mut BytesMut, attributes: &[(String, String)]) {
    let mut all = BytesMut::new();
    for (name, value) in attributes {
        put_lenenc_bytes(&mut all, name.as_bytes());
        put_lenenc_bytes(&mut all, value.as_bytes());
    }
    put_lenenc_bytes(out, &all);
}

impl Response {
    /// Appends the packet. The fields are written as the capabilities demand; make sure that they
    /// agree (a database without CONNECT_WITH_DB is left out).
    pub fn put(&self, out: &mut BytesMut) {
        let caps = self.capabilities;
        SslRequest { capabilities: caps, max_packet: self.max_packet, collation: self.collation }
            .put(out);
        put_nul_bytes(out, &self.user);
        if caps.has(Capabilities::PLUGIN_AUTH_LENENC) {
            put_lenenc_bytes(out, &self.auth);
        } else if caps.has(Capabilities::SECURE_CONNECTION) {
            let length = u8::try_from(self.auth.len()).unwrap_or(u8::MAX);
            out.put_u8(length);
            out.put_slice(&self.auth[..usize::from(length)]);
        } else {
            put_nul_bytes(out, &self.auth);
        }
        if caps.has(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(out, self.database.as_deref().unwrap_or_default());
        }
        if caps.has(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(out, self.plugin.as_deref().unwrap_or_default().as_bytes());
        }
        if caps.has(Capabilities::CONNECT_ATTRS) {
            put_attributes(out, &self.attributes);
        }
    }
}

/// COM_CHANGE_USER without its command byte.
#[derive(Clone, PartialEq, Eq)]
pub struct ChangeUser {
    /// The account, in the client's charset.
    pub user: Vec<u8>,
    /// The answer to the challenge of the greeting.
    pub auth: Vec<u8>,
    /// The database to use, in the client's charset.
    pub database: Option<Vec<u8>>,
    /// The collation, when given.
    pub collation: Option<u16>,
    /// The plugin that the answer is for.
    pub plugin: Option<String>,
    /// The connection attributes of the client's driver.
    pub attributes: Vec<(String, String)>,
}

impl std::fmt::Debug for ChangeUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeUser")
            .field("user", &String::from_utf8_lossy(&self.user))
            .field("plugin", &self.plugin)
            .finish_non_exhaustive()
    }
}

impl ChangeUser {
    /// Reads the packet.
    pub fn parse(payload: &[u8], capabilities: Capabilities) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let user = reader.nul_bytes()?.to_vec();
        let auth = if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let length = usize::from(reader.u8()?);
            reader.bytes(length)?
        } else {
            reader.nul_bytes()?
        };
        let database = Some(reader.nul_or_rest().to_vec()).filter(|name| !name.is_empty());
        let collation = if reader.remaining() >= 2 { Some(reader.u16()?) } else { None };
        let plugin = read_plugin(&mut reader, capabilities);
        let attributes = read_attributes(&mut reader, capabilities)?;
        Ok(Self { user, auth: auth.to_vec(), database, collation, plugin, attributes })
    }

    /// Appends the packet, without the command byte.
    pub fn put(&self, out: &mut BytesMut, capabilities: Capabilities) {
        put_nul_bytes(out, &self.user);
        let length = u8::try_from(self.auth.len()).unwrap_or(u8::MAX);
        out.put_u8(length);
        out.put_slice(&self.auth[..usize::from(length)]);
        put_nul_bytes(out, self.database.as_deref().unwrap_or_default());
        out.put_u16_le(self.collation.unwrap_or(45));
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(out, self.plugin.as_deref().unwrap_or_default().as_bytes());
        }
        if capabilities.has(Capabilities::CONNECT_ATTRS) {
            put_attributes(out, &self.attributes);
        }
    }
}

/// Appends a request to switch to another plugin.
pub fn put_auth_switch(out: &mut BytesMut, plugin: &str, data: &[u8]) {
    out.put_u8(response::EOF);
    put_nul_bytes(out, plugin.as_bytes());
    out.put_slice(data);
    out.put_u8(0);
}

/// Appends data of a plugin that continues its exchange.
pub fn put_more_data(out: &mut BytesMut, data: &[u8]) {
    out.put_u8(0x01);
    out.put_slice(data);
}

/// A packet of the server while a client authenticates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthStep<'a> {
    /// The client is in.
    Done(OkPacket),
    /// Go on with another plugin and a new challenge.
    Switch {
        /// The plugin's name.
        plugin: String,
        /// The challenge, without the zero that ends it.
        data: &'a [u8],
    },
    /// Data of the plugin.
    More(&'a [u8]),
}

/// Reads a packet of the server while a client authenticates; an ERR packet is the error.
pub fn parse_auth_step(payload: &[u8], capabilities: Capabilities) -> Result<AuthStep<'_>> {
    match payload {
        [response::OK, ..] => response::parse_ok(payload, capabilities).map(AuthStep::Done),
        [response::ERR, ..] => Err(response::parse_err(payload)),
        [0x01, data @ ..] => Ok(AuthStep::More(data)),
        [0x02, ..] => Err(Error::unsupported("a second authentication factor")),
        [response::EOF] => Err(Error::unsupported("authentication plugin mysql_old_password")),
        [response::EOF, rest @ ..] => {
            let mut reader = Reader::new(rest);
            let plugin = String::from_utf8_lossy(reader.nul_or_rest()).into_owned();
            let data = reader.take_rest();
            Ok(AuthStep::Switch { plugin, data: data.strip_suffix(&[0]).unwrap_or(data) })
        }
        _ => Err(malformed("no step of an authentication")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn no_zero() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(1_u8.., 0..20)
    }

    fn attributes() -> impl Strategy<Value = Vec<(String, String)>> {
        prop::collection::vec((".{0,9}", ".{0,9}"), 0..4)
    }

    proptest! {
        #[test]
        fn greetings_come_back(
            version in "[0-9A-Za-z.-]{0,20}",
            id: u32,
            scramble: [u8; SCRAMBLE],
            caps: u32,
            collation: u8,
        ) {
            let greeting = Greeting {
                server_version: version,
                connection_id: id,
                scramble,
                capabilities: Capabilities(caps)
                    .with(Capabilities::SECURE_CONNECTION)
                    .with(Capabilities::PLUGIN_AUTH),
                mariadb_capabilities: u32::from(caps & 1 == 0) * 7,
                collation,
                status: ServerStatus::AUTOCOMMIT,
                plugin: "caching_sha2_password".to_owned(),
            };
            let mut out = BytesMut::new();
            greeting.put(&mut out);
            prop_assert_eq!(Greeting::parse(&out).unwrap(), greeting);
        }

        #[test]
        fn responses_come_back(
            extra: u32,
            user in no_zero(),
            auth in no_zero(),
            database in prop::option::of(no_zero().prop_filter("no name", |name| !name.is_empty())),
            attributes in attributes(),
        ) {
            let mut capabilities = Capabilities(extra)
                .with(Capabilities::PROTOCOL_41)
                .with(Capabilities::PLUGIN_AUTH)
                .with(Capabilities::CONNECT_ATTRS)
                .without(Capabilities::CONNECT_WITH_DB);
            if database.is_some() {
                capabilities = capabilities.with(Capabilities::CONNECT_WITH_DB);
            }
            let plugin = Some("mysql_native_password".to_owned());
            let response = Response {
                capabilities, max_packet: 1, collation: 45, user, auth, database, plugin, attributes,
            };
            let mut out = BytesMut::new();
            response.put(&mut out);
            prop_assert_eq!(
                FirstPacket::parse(&out).unwrap(),
                FirstPacket::Response(Box::new(response))
            );
        }

        #[test]
        fn changes_of_user_come_back(
            user in no_zero(), auth in no_zero(), attributes in attributes(), collation: u16,
        ) {
            let capabilities = Capabilities::SECURE_CONNECTION
                .with(Capabilities::PLUGIN_AUTH)
                .with(Capabilities::CONNECT_ATTRS);
            let change = ChangeUser {
                user, auth, database: None, collation: Some(collation), plugin: None, attributes,
            };
            let mut out = BytesMut::new();
            change.put(&mut out, capabilities);
            prop_assert_eq!(ChangeUser::parse(&out, capabilities).unwrap(), change);
        }

        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes: Vec<u8>, caps: u32) {
            let _ = Greeting::parse(&bytes);
            let _ = FirstPacket::parse(&bytes);
            let _ = ChangeUser::parse(&bytes, Capabilities(caps));
            let _ = parse_auth_step(&bytes, Capabilities(caps));
            let mut with_flags = (caps | Capabilities::PROTOCOL_41.0).to_le_bytes().to_vec();
            with_flags.resize(32, 0);
            with_flags.extend_from_slice(&bytes);
            let _ = FirstPacket::parse(&with_flags);
        }
    }

    #[test]
    fn a_request_for_tls_is_told_from_a_response() {
        let request = SslRequest {
            capabilities: Capabilities::PROTOCOL_41.with(Capabilities::SSL),
            max_packet: 1 << 24,
            collation: 255,
        };
        let mut out = BytesMut::new();
        request.put(&mut out);
        assert_eq!(out.len(), 32);
        assert_eq!(FirstPacket::parse(&out).unwrap(), FirstPacket::SslRequest(request));
    }

    #[test]
    fn mariadb_is_recognised() {
        let mut greeting = Greeting {
            server_version: "5.5.5-10.11.6-MariaDB-log".to_owned(),
            connection_id: 1,
            scramble: [7; SCRAMBLE],
            capabilities: Capabilities::PLUGIN_AUTH,
            mariadb_capabilities: 0,
            collation: 45,
            status: ServerStatus::AUTOCOMMIT,
            plugin: String::new(),
        };
        assert!(greeting.is_mariadb());
        assert_eq!(greeting.plain_version(), "10.11.6-MariaDB-log");
        greeting.server_version = "9.7.0".to_owned();
        assert!(!greeting.is_mariadb());
    }

    #[test]
    fn a_switch_of_plugin_comes_back() {
        let mut out = BytesMut::new();
        put_auth_switch(&mut out, "mysql_native_password", &[5; SCRAMBLE]);
        let step = parse_auth_step(&out, Capabilities::default()).unwrap();
        let data = &[5; SCRAMBLE][..];
        assert_eq!(step, AuthStep::Switch { plugin: "mysql_native_password".to_owned(), data });
    }
}
