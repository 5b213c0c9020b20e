//! The configuration with which the engine is started, and the settings that an edge needs.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use pelorus_env::Env;
use pelorus_error::Result;

use crate::accounts::name::AccountName;
use crate::mirror::wanted::Wanted;
use crate::variables::Globals;

/// The version that clients see. It begins with a MySQL version because drivers parse it: from 8.0
/// on they read `transaction_isolation` instead of `tx_isolation` and leave out the query cache,
/// and they still send everything that this server answers; the rest of the text names Pelorus.
pub const SERVER_VERSION: &str = concat!("8.4.0-pelorus-", env!("CARGO_PKG_VERSION"));

/// Everything that [`crate::Engine::open`] needs.
#[derive(Debug)]
pub struct EngineConfig {
    /// Clock, randomness and files.
    pub env: Env,
    /// The folder with accounts, linked servers and the key that protects their passwords.
    pub data: PathBuf,
    /// The settings that an edge needs.
    pub settings: Settings,
    /// The password of `root` before the first login.
    pub root_password: RootPassword,
    /// Hosts other than `localhost` from which `root` may log in, before the first login.
    pub root_hosts: Vec<String>,
    /// Files and variables to which servers defined by statements may refer.
    pub secrets: SecretSources,
    /// Servers linked by the configuration file or the command line.
    pub links: Vec<LinkSpec>,
    /// The mirrors that are created at the start: `all`, databases, or tables as `database.table`,
    /// by their names here.
    pub mirrors: Vec<String>,
    /// Values of system variables that the configuration sets, by name.
    pub variables: Vec<(String, String)>,
}

/// Checks values of system variables as [`crate::Engine::open`] does. Returns messages about values
/// that were adjusted to their bounds.
///
/// # Errors
/// An unknown variable (1193), a variable that cannot be set (1238), and a value that it does not
/// accept.
pub fn check_variables(variables: &[(String, String)]) -> Result<Vec<String>> {
    Globals::new(Vec::new(), &[])?.configure(variables)
}

/// The options of linked servers, as in `CREATE SERVER`, with their meanings.
pub fn server_options() -> &'static [(&'static str, &'static str)] {
    crate::servers::OPTIONS
}

/// Checks the definitions of mirrors as [`crate::Engine::open`] does.
///
/// # Errors
/// Text that names neither everything, nor a database, nor a table (1210).
pub fn check_mirrors(mirrors: &[String]) -> Result<()> {
    Wanted::new(mirrors.to_vec()).map(drop)
}

/// Checks a host from which `root` may log in.
///
/// # Errors
/// A host that no client could have (1396).
pub fn check_host(host: &str) -> Result<()> {
    AccountName::new("root", host).map(drop)
}

/// Files and variables to which the options of servers may refer if a statement defines them;
/// servers in the configuration may refer to all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretSources {
    /// The folder of the files; without one there are none.
    pub folder: Option<PathBuf>,
    /// Environment variables.
    pub variables: Vec<String>,
}

/// Where the first password of `root` comes from.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum RootPassword {
    /// A new one is made up at each start until the first login, and
    /// [`crate::Engine::generated_root_password`] tells it.
    #[default]
    Generate,
    /// This one.
    Given(String),
}

impl fmt::Debug for RootPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RootPassword::Generate => "Generate",
            RootPassword::Given(_) => "Given(***)",
        })
    }
}

/// A linked server as configuration or `CREATE SERVER` describes it: the options in MySQL's words.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkSpec {
    /// The name of the link.
    pub name: String,
    /// The options: `HOST`, `PORT`, `USER`, `PASSWORD`, `DATABASE`, `REPLICAS`, ...
    pub options: Vec<(String, String)>,
}

impl LinkSpec {
    /// The options with their values, of the password stars.
    pub fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(name, value)| {
            let is_password = name.eq_ignore_ascii_case("PASSWORD");
            (name.as_str(), if is_password { "***" } else { value.as_str() })
        })
    }
}

impl fmt::Debug for LinkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkSpec")
            .field("name", &self.name)
            .field("options", &self.shown().collect::<Vec<_>>())
            .finish()
    }
}

/// The limits and settings of the engine that an edge needs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The version in the greeting.
    pub server_version: String,
    /// The largest packet in bytes.
    pub max_allowed_packet: usize,
    /// How long a client may be idle between statements.
    pub wait_timeout: Duration,
    /// How long a client may take to send the rest of a packet.
    pub net_read_timeout: Duration,
    /// How long a client may take to accept bytes.
    pub net_write_timeout: Duration,
    /// How long a client may take to log in.
    pub connect_timeout: Duration,
    /// The most connections at a time.
    pub max_connections: usize,
    /// How logins are slowed down after failed ones.
    pub login_delay: LoginDelay,
    /// Whether connections over TCP must be encrypted.
    pub require_secure_transport: bool,
    /// The addresses that the server listens on.
    pub addresses: Vec<IpAddr>,
    /// Whether connections over TCP can be encrypted.
    pub tls: bool,
    /// Where the server listens, for `@@bind_address`.
    pub bind_address: String,
    /// The TCP port, for `@@port`; 0 without TCP.
    pub port: u16,
    /// The path of the local socket, for `@@socket`; empty without one.
    pub socket: String,
}

/// How logins are slowed down after failed ones, as by MySQL's `connection_control`.
#[derive(Clone, Copy, Debug)]
pub struct LoginDelay {
    /// Failures in a row before the first delay; 0: there is none.
    pub threshold: u32,
    /// The shortest delay.
    pub min: Duration,
    /// The longest delay.
    pub max: Duration,
}

impl Default for LoginDelay {
    fn default() -> Self {
        Self { threshold: 3, min: Duration::from_secs(1), max: Duration::from_secs(8) }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server_version: SERVER_VERSION.to_owned(),
            max_allowed_packet: 64 << 20,
            wait_timeout: Duration::from_secs(28_800),
            net_read_timeout: Duration::from_secs(30),
            net_write_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            max_connections: 1_000,
            login_delay: LoginDelay::default(),
            addresses: vec![Ipv6Addr::UNSPECIFIED.into()],
            tls: true,
            require_secure_transport: false,
            bind_address: String::new(),
            port: 0,
            socket: String::new(),
        }
    }
}
