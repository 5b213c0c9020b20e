//! Definitions of linked servers: one set of options for `CREATE SERVER`, the configuration file
//! and the command line.

pub(crate) mod format;
mod options;
mod store;

use std::path::{Path, PathBuf};

use pelorus_env::{Env, blocking};
use pelorus_error::{Code, Error, Result};
use pelorus_link::{CleartextPassword, Endpoint, LinkConfig, Secret, TlsMode};

use crate::config::SecretSources;

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
    /// As it was said; see [`Self::tls_mode`].
    pub(crate) tls: Option<TlsMode>,
    pub(crate) tls_ca: Option<PathBuf>,
    pub(crate) cleartext_password: CleartextPassword,
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
            tls: None,
            tls_ca: None,
            cleartext_password: CleartextPassword::default(),
            owner: String::new(),
            configured: false,
        })
    }

    /// The configuration of the link, with the password read from its source. A server that a
    /// statement defines may refer to `sources` only; one in the configuration may refer to
    /// anything.
    ///
    /// # Errors
    /// A file or a variable that cannot be read, or that statements may not refer to (1290).
    pub(crate) fn link_config(
        &self,
        env: &Env,
        cores: usize,
        sources: &SecretSources,
    ) -> Result<LinkConfig> {
        let password = self.fetch_password(env, sources)?;
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
        config.tls = self.tls_mode();
        config.cleartext_password = self.cleartext_password;
        if let Some(path) = &self.tls_ca {
            config.tls_ca = Some(self.read_text(env, "TLS_CA", path, sources)?);
        }
        Ok(config)
    }

    fn fetch_password(&self, env: &Env, sources: &SecretSources) -> Result<Secret> {
        match &self.password {
            Password::Empty => Ok(Secret::default()),
            Password::Kept(secret) => Ok(secret.clone()),
            Password::Environment(name) => self.read_variable(name, sources).map(Secret::new),
            Password::File(path) => {
                let text = self.read_text(env, "PASSWORD_FILE", path, sources)?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                Ok(Secret::new(text.strip_suffix('\r').unwrap_or(text)))
            }
        }
    }

    fn read_variable(&self, name: &str, sources: &SecretSources) -> Result<String> {
        if !self.configured && !sources.variables.iter().any(|known| known == name) {
            return Err(self.not_allowed(&format!(
                "PASSWORD_ENV '{name}' is none of the environment variables that statements may \
                 refer to; list it in secret_variables (--secret-variable)"
            )));
        }
        std::env::var(name).map_err(|_| {
            Error::new(
                Code::ConnectToForeign,
                format!(
                    "the password of server '{}' is in the environment variable {name}, which is \
                     not set",
                    self.name
                ),
            )
        })
    }

    /// Reads a file that an option names.
    fn read_text(
        &self,
        env: &Env,
        option: &str,
        path: &Path,
        sources: &SecretSources,
    ) -> Result<String> {
        let shown = path.display();
        let (within, most) = match (&sources.folder, self.configured) {
            (_, true) => (None, BYTES_OF_CONFIGURED),
            (Some(folder), false) => (Some(folder.as_path()), BYTES_OF_STATEMENTS),
            (None, false) => {
                return Err(self.not_allowed(&format!(
                    "{option} '{shown}' names a file, and there is no folder with files that \
                     statements may refer to; set secrets_folder (--secrets-folder)"
                )));
            }
        };
        let failed = |why: &str| {
            let text = format!("server '{}' needs the file {shown} ({option}): {why}", self.name);
            Error::new(Code::ConnectToForeign, text)
        };
        let bytes = blocking(|| env.files.read_named(path, within, most))
            .map_err(|error| failed(&pelorus_error::plain(error)))?;
        String::from_utf8(bytes).map_err(|_| failed("it is not text"))
    }

    /// The error of a reference that the configuration does not allow.
    fn not_allowed(&self, why: &str) -> Error {
        let text = format!("server '{}' cannot be used: {why}", self.name);
        Error::new(Code::OptionPreventsStatement, text)
    }
}

/// How large a file may be that a statement names.
const BYTES_OF_STATEMENTS: u64 = 64 << 10;
/// And one that the configuration names: all authorities of a system are some hundred KiB.
const BYTES_OF_CONFIGURED: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration of a server with one option, and the same as the configuration's own.
    fn both(sources: &SecretSources, option: &str, value: &str) -> [Result<LinkConfig>; 2] {
        let env = Env::in_memory(1);
        let secrets = Path::new("/secrets");
        env.files.replace(&secrets.join("small"), b"pw\n").unwrap();
        env.files.replace(&secrets.join("large"), &[b'a'; 65537]).unwrap();
        [false, true].map(|configured| {
            let mut server = Server::new("shop", "mysql").unwrap();
            server.configured = configured;
            server.set(option, value).unwrap();
            server.link_config(&env, 2, sources)
        })
    }

    #[test]
    fn statements_refer_to_what_the_configuration_allows() {
        let none = SecretSources::default();
        let some = SecretSources {
            folder: Some("/secrets".into()),
            // Cargo sets it for tests.
            variables: vec!["CARGO_PKG_NAME".to_owned(), "PELORUS_NOT_SET".to_owned()],
        };
        for (option, value, setting) in [
            ("PASSWORD_FILE", "/secrets/small", "--secrets-folder"),
            ("TLS_CA", "/secrets/small", "--secrets-folder"),
            ("PASSWORD_ENV", "CARGO_PKG_NAME", "--secret-variable"),
            ("PASSWORD_ENV", "PELORUS_NOT_SET_EITHER", "--secret-variable"),
        ] {
            let [stored, _] = both(&none, option, value);
            let error = stored.unwrap_err();
            assert_eq!(error.errno(), 1290, "{option} {error}");
            assert!(error.message().contains(setting), "{error}");
        }
        for value in ["small", "/secrets/small"] {
            let [stored, _] = both(&some, "PASSWORD_FILE", value);
            assert_eq!(stored.unwrap().primary.password.reveal(), "pw");
        }
        let [stored, configured] = both(&some, "TLS_CA", "/secrets/large");
        assert!(stored.unwrap_err().message().contains("more than 64 KiB"));
        assert_eq!(configured.unwrap().tls_ca.unwrap().len(), 65537);
        let [stored, configured] = both(&none, "PASSWORD_ENV", "CARGO_PKG_NAME");
        assert_eq!(stored.unwrap_err().errno(), 1290);
        assert_eq!(configured.unwrap().primary.password.reveal(), "pelorus-engine");
        let [stored, _] = both(&some, "PASSWORD_ENV", "CARGO_PKG_NAME");
        assert_eq!(stored.unwrap().primary.password.reveal(), "pelorus-engine");
        let [stored, _] = both(&some, "PASSWORD_ENV", "PELORUS_NOT_SET");
        assert_eq!(stored.unwrap_err().errno(), 1429);
    }
}
