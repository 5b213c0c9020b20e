//! Addresses, accounts and encryption of a linked server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A password. Neither `Debug` nor any error text shows it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// The password itself, for the handshake or for storing it encrypted.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// When the server offers it; its certificate is not verified.
    #[default]
    Preferred,
    /// Always; the certificate is not verified.
    Required,
    /// Always, and the certificate must be signed by [`LinkConfig::tls_ca`] for the host's name.
    Verify,
}

/// Which servers whose certificates are not verified may get the password itself, and not only proof
/// of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CleartextPassword {
    /// Those at addresses of this machine, which only its own programs can listen on, where they ask
    /// for it by `caching_sha2_password`: otherwise a MySQL of this machine would need a certificate.
    #[default]
    Local,
    /// All.
    Always,
    /// None.
    Never,
}

/// One server: its address and its account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// TCP port; 0 means 3306.
    pub port: u16,
    /// A Unix socket, taken instead of host and port.
    pub socket: Option<PathBuf>,
    /// The account's name.
    pub user: String,
    /// The account's password.
    pub password: Secret,
}

impl Endpoint {
    /// The port that is connected to.
    pub fn tcp_port(&self) -> u16 {
        if self.port == 0 { 3306 } else { self.port }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(socket) => write!(f, "{}", socket.display()),
            None if self.host.contains(':') => write!(f, "[{}]:{}", self.host, self.tcp_port()),
            None => write!(f, "{}:{}", self.host, self.tcp_port()),
        }
    }
}

/// A linked server with its replicas.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The link's name, as in `CREATE SERVER name`.
    pub name: String,
    /// The databases that are shown, as (name here, name on the server); empty means all of them
    /// under their own names.
    pub databases: Vec<(String, String)>,
    /// The server that takes writes.
    pub primary: Endpoint,
    /// Servers that follow the primary.
    pub replicas: Vec<Endpoint>,
    /// How many connections one scan may use on each server, at least 1.
    pub connections_per_server: usize,
    /// Whether connections are encrypted.
    pub tls: TlsMode,
    /// Certificates (PEM text) that may sign the servers' certificates, for [`TlsMode::Verify`].
    pub tls_ca: Option<String>,
    /// The servers that may get the clear-text password.
    pub cleartext_password: CleartextPassword,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long an unused connection stays open.
    pub idle_timeout: Duration,
}

impl LinkConfig {
    /// A link to one server with everything else as usual.
    pub fn new(name: impl Into<String>, primary: Endpoint) -> Self {
        Self {
            name: name.into(),
            databases: Vec::new(),
            primary,
            replicas: Vec::new(),
            connections_per_server: 2,
            tls: TlsMode::default(),
            tls_ca: None,
            cleartext_password: CleartextPassword::Local,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
        }
    }

    /// The server's name of a database that is seen here as `local`; `None` when it is not shown.
    pub fn remote_database<'a>(&'a self, local: &'a str) -> Option<&'a str> {
        if self.databases.is_empty() {
            return Some(local);
        }
        self.databases
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(local))
            .map(|(_, remote)| remote.as_str())
    }

    /// The name here of a database of the server; its own name when it is not shown.
    pub fn local_database<'a>(&'a self, remote: &'a str) -> &'a str {
        self.databases
            .iter()
            .find(|(_, name)| name == remote)
            .map_or(remote, |(local, _)| local.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_printed() {
        let endpoint = Endpoint {
            host: "::1".into(),
            user: "reader".into(),
            password: Secret::new("hidden"),
            ..Endpoint::default()
        };
        let config = LinkConfig::new("shop", endpoint);
        assert!(!format!("{config:?} {}", config.primary).contains("hidden"));
        assert_eq!(config.primary.to_string(), "[::1]:3306");
    }

    #[test]
    fn databases_are_found_under_their_local_names() {
        let mut config = LinkConfig::new("shop", Endpoint::default());
        assert_eq!(config.remote_database("a"), Some("a"));
        config.databases = vec![("sales".into(), "shop_v2".into())];
        assert_eq!(config.remote_database("sales"), Some("shop_v2"));
        assert_eq!(config.remote_database("shop_v2"), None);
        assert_eq!(config.local_database("shop_v2"), "sales");
    }
}
