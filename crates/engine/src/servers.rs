//! Definitions of linked servers: what `CREATE SERVER`, the configuration file and the command line
//! say of them, in one set of options.

pub(crate) mod format;
mod options;
mod store;

use std::path::PathBuf;

use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_link::{Endpoint, LinkConfig, Secret, TlsMode};

pub(crate) use options::{OPTIONS, tls_text};
pub(crate) use store::Servers;

/// One linked server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// The link's name.
    pub(crate) name: String,
    /// `mysql` or `mariadb`; both speak one protocol, and the server says which it is.
    pub(crate) wrapper: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) user: String,
    pub(crate) password: Password,
    /// (name here, name there); empty means all.
    pub(crate) databases: Vec<(String, String)>,
    /// Host and port of each replica; user and password are those of the primary.
    pub(crate) replicas: Vec<(String, u16)>,
    /// Connections a scan may use on each server; `None` follows the cores.
    pub(crate) connections: Option<usize>,
    pub(crate) tls: TlsMode,
    pub(crate) tls_ca: Option<PathBuf>,
    /// `OWNER`, which MySQL keeps and never uses.
    pub(crate) owner: String,
    /// Given by configuration or command line; such a server is not stored.
    pub(crate) configured: bool,
}

/// Where the password of a linked server comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Password {
    /// There is none.
    #[default]
    Empty,
    /// Kept here, encrypted on disk.
    Kept(Secret),
    /// In an environment variable of this process.
    Environment(String),
    /// In a file, without its last line break.
    File(PathBuf),
}

impl Server {
    /// A server of which nothing is known but its name.
    pub(crate) fn new(name: &str, wrapper: &str) -> Result<Self> {
        if name.is_empty() || name.chars().count() > 64 {
            return Err(Error::new(
                Code::WrongArguments,
                format!("Incorrect server name '{name}': 1 to 64 characters are allowed"),
            ));
        }
        if !["mysql", "mariadb"].iter().any(|known| known.eq_ignore_ascii_case(wrapper)) {
            return Err(Error::unsupported(format_args!("FOREIGN DATA WRAPPER {wrapper}")));
        }
        Ok(Self {
            name: name.to_owned(),
            wrapper: wrapper.to_ascii_lowercase(),
            host: "localhost".to_owned(),
            port: 0,
            socket: None,
            user: String::new(),
            password: Password::Empty,
            databases: Vec::new(),
            replicas: Vec::new(),
            connections: None,
            tls: TlsMode::default(),
            tls_ca: None,
            owner: String::new(),
            configured: false,
        })
    }

    /// The configuration of the link, with the password fetched from where it is.
    pub(crate) fn link_config(&self, env: &Env, cores: usize) -> Result<LinkConfig> {
        let password = self.fetch_password(env)?;
        let endpoint = |host: &str, port| Endpoint {
            host: host.to_owned(),
            port,
            socket: None,
            user: self.user.clone(),
            password: password.clone(),
        };
        let mut primary = endpoint(&self.host, self.port);
        primary.socket.clone_from(&self.socket);
        let mut config = LinkConfig::new(&self.name, primary);
        config.databases.clone_from(&self.databases);
        config.replicas = self.replicas.iter().map(|(host, port)| endpoint(host, *port)).collect();
        config.connections_per_server = self.connections.unwrap_or(cores.max(2));
        config.tls = self.tls;
        if let Some(path) = &self.tls_ca {
            config.tls_ca = Some(read_text(env, path, &self.name)?);
        }
        Ok(config)
    }

    fn fetch_password(&self, env: &Env) -> Result<Secret> {
        match &self.password {
            Password::Empty => Ok(Secret::default()),
            Password::Kept(secret) => Ok(secret.clone()),
            Password::Environment(name) => std::env::var(name).map(Secret::new).map_err(|_| {
                Error::new(
                    Code::ConnectToForeign,
                    format!(
                        "the password of server '{}' is in the environment variable {name}, which \
                         is not set",
                        self.name
                    ),
                )
            }),
            Password::File(path) => {
                let text = read_text(env, path, &self.name)?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                Ok(Secret::new(text.strip_suffix('\r').unwrap_or(text)))
            }
        }
    }
}

fn read_text(env: &Env, path: &std::path::Path, server: &str) -> Result<String> {
    let failed = |why: &str| {
        Error::new(
            Code::ConnectToForeign,
            format!("server '{server}' needs the file {}: {why}", path.display()),
        )
    };
    let bytes = env
        .files
        .read(path)
        .map_err(|error| failed(&error.to_string()).caused_by(error))?
        .ok_or_else(|| failed("it does not exist"))?;
    String::from_utf8(bytes).map_err(|_| failed("it is not text"))
}
