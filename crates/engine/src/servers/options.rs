//! The options of a linked server by name: one table for SQL, configuration file and command line,
//! for reading and for showing.

use std::path::PathBuf;

use pelorus_error::{Code, Error, Result};
use pelorus_link::{CleartextPassword, Secret, TlsMode};
use pelorus_sql::statement::ServerOptions;

use crate::servers::{Password, Server};

/// Every option with its meaning, in the order of `SHOW CREATE SERVER`.
pub(crate) const OPTIONS: &[(&str, &str)] = &[
    ("HOST", "host name or address of the primary"),
    ("PORT", "TCP port; 3306 when left out"),
    ("SOCKET", "path of a Unix socket, taken instead of host and port"),
    ("USER", "account on the server"),
    ("PASSWORD", "its password; kept encrypted"),
    ("PASSWORD_ENV", "environment variable that holds the password, one of `secret_variables`"),
    ("PASSWORD_FILE", "file that holds the password, in `secrets_folder`"),
    ("DATABASE", "the one database to show"),
    ("DATABASES", "databases to show, as `name` or `name_there AS name_here`, by commas"),
    ("REPLICAS", "replicas as `host` or `host:port`, by commas; the account is the primary's"),
    ("CONNECTIONS", "connections that one query may use on each server"),
    ("TLS", "disabled, preferred, required or verify; verify when TLS_CA is given"),
    ("TLS_CA", "file of certificates that may sign the server's, in `secrets_folder`"),
    (
        "CLEARTEXT_PASSWORD",
        "ON, LOCAL or OFF: whether a server that is not verified may get the password itself, or only \
         one of this machine; LOCAL when left out",
    ),
    ("OWNER", "kept as MySQL keeps it, without a meaning"),
];

const TLS_MODES: &[(&str, TlsMode)] = &[
    ("disabled", TlsMode::Disabled),
    ("preferred", TlsMode::Preferred),
    ("required", TlsMode::Required),
    ("verify", TlsMode::Verify),
];

/// Options that say where the password goes, and how it is protected on its way.
const WAY_OF_PASSWORD: [&str; 7] =
    ["HOST", "PORT", "SOCKET", "REPLICAS", "TLS", "TLS_CA", "CLEARTEXT_PASSWORD"];

impl Server {
    /// Refuses to send the stored password over another channel than the one for which it was
    /// given, unless `changes` include the password: an account that may change a server need not
    /// know its password.
    ///
    /// # Errors
    /// 1210, with the options that change.
    pub(crate) fn check_password_given(
        &self,
        before: &Server,
        changes: &ServerOptions,
    ) -> Result<()> {
        if changes.gives_password() || before.password == Password::Empty {
            return Ok(());
        }
        let changed: Vec<&str> = WAY_OF_PASSWORD
            .into_iter()
            .filter(|option| self.get(option) != before.get(option))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            Code::WrongArguments,
            format!(
                "a change of {} of server '{}' needs its password again: give PASSWORD, \
                 PASSWORD_FILE or PASSWORD_ENV in the same statement",
                changed.join(", "),
                self.name
            ),
        ))
    }

    /// The encryption of connections: by default, certificates are verified if the authority is
    /// known.
    pub(crate) fn tls_mode(&self) -> TlsMode {
        match (self.tls, &self.tls_ca) {
            (Some(mode), _) => mode,
            (None, Some(_)) => TlsMode::Verify,
            (None, None) => TlsMode::Preferred,
        }
    }

    /// Sets an option.
    ///
    /// # Errors
    /// An option that does not exist, or a value that it cannot take.
    pub(crate) fn set(&mut self, option: &str, value: &str) -> Result<()> {
        let name = option.to_ascii_uppercase();
        let wrong = |why: &str| {
            Err(Error::new(
                Code::WrongArguments,
                format!("option {name} of server '{}' cannot be '{value}': {why}", self.name),
            ))
        };
        match name.as_str() {
            "HOST" if value.is_empty() => return wrong("a host is needed"),
            "HOST" => self.host = value.to_owned(),
            "PORT" => match value.parse() {
                Ok(port) => self.port = port,
                Err(_) => return wrong("a port is a number up to 65535"),
            },
            "SOCKET" => self.socket = path(value),
            "USER" => self.user = value.to_owned(),
            "PASSWORD" if value.is_empty() => self.password = Password::Empty,
            "PASSWORD" => self.password = Password::Kept(Secret::new(value)),
            "PASSWORD_ENV" if value.is_empty() => return wrong("a variable is needed"),
            "PASSWORD_FILE" if value.is_empty() => return wrong("a file is needed"),
            "PASSWORD_ENV" => self.password = Password::Environment(value.to_owned()),
            "PASSWORD_FILE" => self.password = Password::File(PathBuf::from(value)),
            "DATABASE" if value.is_empty() => self.databases.clear(),
            "DATABASE" => self.databases = vec![(value.to_owned(), value.to_owned())],
            "DATABASES" => match databases(value) {
                Some(databases) => self.databases = databases,
                None => return wrong("names must be given once each, and not be empty"),
            },
            "REPLICAS" => match replicas(value) {
                Some(replicas) => self.replicas = replicas,
                None => return wrong("replicas are written host or host:port"),
            },
            "CONNECTIONS" => match value.parse() {
                Ok(count @ 1..=256) => self.connections = Some(count),
                _ => return wrong("1 to 256 are allowed"),
            },
            "TLS" => match TLS_MODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)) {
                Some((_, mode)) => self.tls = Some(*mode),
                None => return wrong("it is disabled, preferred, required or verify"),
            },
            "TLS_CA" => self.tls_ca = path(value),
            "CLEARTEXT_PASSWORD" => match value.to_ascii_uppercase().as_str() {
                "ON" | "1" | "TRUE" => self.cleartext_password = CleartextPassword::Always,
                "OFF" | "0" | "FALSE" => self.cleartext_password = CleartextPassword::Never,
                "LOCAL" | "" => self.cleartext_password = CleartextPassword::Local,
                _ => return wrong("it is ON, LOCAL or OFF"),
            },
            "OWNER" => self.owner = value.to_owned(),
            _ => {
                let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
                return Err(Error::new(
                    Code::WrongArguments,
                    format!("a server has no option {name}; it has {}", known.join(", ")),
                ));
            }
        }
        Ok(())
    }

    /// Sets the options of a statement.
    pub(crate) fn apply(&mut self, options: &ServerOptions) -> Result<()> {
        let databases = options.databases.as_ref().map(|all| {
            let one = |(there, here): &(String, String)| format!("{there} AS {here}");
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        });
        let replicas = options.replicas.as_ref().map(|all| {
            let all: Vec<_> =
                all.iter().map(|(host, port)| (host.clone(), port.unwrap_or(0))).collect();
            replicas_text(&all)
        });
        let password = options.password.as_ref().map(|secret| secret.expose().to_owned());
        for (name, value) in [
            ("HOST", options.host.clone()),
            ("PORT", options.port.map(|port| port.to_string())),
            ("SOCKET", options.socket.clone()),
            ("USER", options.user.clone()),
            ("PASSWORD", password),
            ("PASSWORD_ENV", options.password_env.clone()),
            ("PASSWORD_FILE", options.password_file.clone()),
            ("DATABASE", options.database.clone()),
            ("DATABASES", databases),
            ("REPLICAS", replicas),
            ("CONNECTIONS", options.connections.map(|count| count.to_string())),
            ("TLS", options.tls.clone()),
            ("TLS_CA", options.tls_ca.clone()),
            ("CLEARTEXT_PASSWORD", options.cleartext_password.clone()),
            ("OWNER", options.owner.clone()),
        ] {
            if let Some(value) = value {
                self.set(name, &value)?;
            }
        }
        Ok(())
    }

    /// The value of an option as it would be set; `None` when it has its default. The password is
    /// never shown: a stored one is shown as asterisks.
    pub(crate) fn get(&self, option: &str) -> Option<String> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        match option {
            "HOST" => Some(self.host.clone()),
            "PORT" => (self.port != 0).then(|| self.port.to_string()),
            "SOCKET" => path(&self.socket),
            "USER" => text(&self.user),
            "PASSWORD" => matches!(self.password, Password::Kept(_)).then(|| "***".to_owned()),
            "PASSWORD_ENV" => match &self.password {
                Password::Environment(name) => Some(name.clone()),
                _ => None,
            },
            "PASSWORD_FILE" => match &self.password {
                Password::File(path) => Some(path.display().to_string()),
                _ => None,
            },
            // `DATABASES` says it too.
            "DATABASE" => None,
            "DATABASES" => text(&self.databases_text()),
            "REPLICAS" => text(&replicas_text(&self.replicas)),
            "CONNECTIONS" => self.connections.map(|count| count.to_string()),
            "TLS" => self.tls.map(|mode| tls_text(mode).to_owned()),
            "TLS_CA" => path(&self.tls_ca),
            "CLEARTEXT_PASSWORD" => match self.cleartext_password {
                CleartextPassword::Local => None,
                CleartextPassword::Always => Some("ON".to_owned()),
                CleartextPassword::Never => Some("OFF".to_owned()),
            },
            "OWNER" => text(&self.owner),
            _ => None,
        }
    }

    /// The databases as `DATABASES` takes them.
    pub(crate) fn databases_text(&self) -> String {
        let one = |(here, there): &(String, String)| {
            if here == there { here.clone() } else { format!("{there} AS {here}") }
        };
        self.databases.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The statement that would make this server, with stars for the password.
    pub(crate) fn create_statement(&self) -> String {
        let options: Vec<String> = OPTIONS
            .iter()
            .filter_map(|(name, _)| {
                let value = self.get(name)?;
                Some(match *name {
                    "PORT" | "CONNECTIONS" => format!("{name} {value}"),
                    _ => format!(
                        "{name} {}",
                        pelorus_sql::literal::text(&value, pelorus_sql::Mode::default())
                    ),
                })
            })
            .collect();
        format!(
            "CREATE SERVER {} FOREIGN DATA WRAPPER {} OPTIONS ({})",
            pelorus_sql::literal::name(&self.name),
            self.wrapper,
            options.join(", ")
        )
    }
}

/// The word for a mode of encryption.
pub(crate) fn tls_text(mode: TlsMode) -> &'static str {
    TLS_MODES.iter().find(|(_, known)| *known == mode).map_or("preferred", |(name, _)| name)
}

/// Replicas as `REPLICAS` takes them.
pub(crate) fn replicas_text(replicas: &[(String, u16)]) -> String {
    let one = |(host, port): &(String, u16)| {
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if *port == 0 { host } else { format!("{host}:{port}") }
    };
    replicas.iter().map(one).collect::<Vec<_>>().join(",")
}

fn path(value: &str) -> Option<PathBuf> {
    (!value.is_empty()).then(|| PathBuf::from(value))
}

fn databases(value: &str) -> Option<Vec<(String, String)>> {
    let mut all: Vec<(String, String)> = Vec::new();
    for part in value.split(',').map(str::trim).filter(|_| !value.trim().is_empty()) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let (there, here) = match words.as_slice() {
            [name] => (*name, *name),
            [there, word, here] if word.eq_ignore_ascii_case("as") => (*there, *here),
            _ => return None,
        };
        let (here, there) = (here.to_owned(), there.to_owned());
        let taken = all.iter().any(|(h, t)| h.eq_ignore_ascii_case(&here) || *t == there);
        if taken {
            return None;
        }
        all.push((here, there));
    }
    Some(all)
}

fn replicas(value: &str) -> Option<Vec<(String, u16)>> {
    value
        .split(',')
        .map(str::trim)
        .filter(|_| !value.trim().is_empty())
        .map(|part| host_and_port(part).filter(|(host, _)| !host.is_empty()))
        .collect()
}

/// Reads `host`, `host:port`, `[v6]` or `[v6]:port`; a port of 0 means that none was given.
pub(crate) fn host_and_port(text: &str) -> Option<(String, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = match rest.strip_prefix(':') {
            Some(port) => port.parse().ok()?,
            None if rest.is_empty() => 0,
            None => return None,
        };
        return Some((host.to_owned(), port));
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Some((text.to_owned(), 0)),
        Some((host, port)) => Some((host.to_owned(), port.parse().ok()?)),
        None => Some((text.to_owned(), 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_read_and_show() {
        let mut server = Server::new("shop", "mysql").unwrap();
        for (name, value) in [
            ("host", "db1"),
            ("port", "3307"),
            ("user", "reader"),
            ("password", "it's"),
            ("databases", "shop_v2 as sales, hr"),
            ("replicas", "db2, [fd00::1]:3310"),
            ("connections", "4"),
            ("tls", "REQUIRED"),
        ] {
            server.set(name, value).unwrap();
        }
        assert_eq!(
            server.create_statement(),
            "CREATE SERVER `shop` FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'db1', PORT 3307, USER \
             'reader', PASSWORD '***', DATABASES 'shop_v2 AS sales, hr', REPLICAS 'db2,[fd00::1]:3310', \
             CONNECTIONS 4, TLS 'required')"
        );
        assert!(!format!("{server:?}").contains("it's"));
    }

    #[test]
    fn certificates_are_verified_where_their_authority_is_known() {
        let mut server = Server::new("shop", "mysql").unwrap();
        assert_eq!(server.tls_mode(), TlsMode::Preferred);
        server.set("TLS_CA", "ca.pem").unwrap();
        assert_eq!(server.tls_mode(), TlsMode::Verify);
        assert!(!server.create_statement().contains("TLS '"));
        server.set("TLS", "preferred").unwrap();
        assert_eq!(server.tls_mode(), TlsMode::Preferred);
        assert!(
            server.create_statement().contains("TLS 'preferred'"),
            "it is kept that it was said"
        );
    }

    #[test]
    fn who_may_get_the_password_itself_is_kept_as_it_was_said() {
        let mut server = Server::new("shop", "mysql").unwrap();
        assert_eq!(server.get("CLEARTEXT_PASSWORD"), None);
        for (value, kept) in [
            ("on", Some("ON")),
            ("OFF", Some("OFF")),
            ("local", None),
            ("0", Some("OFF")),
            ("", None),
        ] {
            server.set("CLEARTEXT_PASSWORD", value).unwrap();
            assert_eq!(server.get("CLEARTEXT_PASSWORD").as_deref(), kept, "{value}");
        }
    }

    #[test]
    fn another_way_needs_the_password_again() {
        let options = |sql: &str| {
            let sql = format!("ALTER SERVER shop OPTIONS ({sql})");
            match pelorus_sql::classify(&sql, pelorus_sql::Mode::default()).unwrap() {
                pelorus_sql::Statement::AlterServer(alter) => alter.options,
                other => panic!("{other:?}"),
            }
        };
        let check = |before: &Server, sql: &str| {
            let options = options(sql);
            let mut server = before.clone();
            server.apply(&options).unwrap();
            server.check_password_given(before, &options)
        };
        let mut plain = Server::new("shop", "mysql").unwrap();
        for (name, value) in [("HOST", "db1"), ("PORT", "3307"), ("REPLICAS", "db2")] {
            plain.set(name, value).unwrap();
        }
        for (name, value) in [("PASSWORD", "x"), ("PASSWORD_ENV", "X"), ("PASSWORD_FILE", "x")] {
            let mut before = plain.clone();
            before.set(name, value).unwrap();
            for changed in [
                "HOST 'db3'",
                "PORT 3308",
                "SOCKET '/tmp/s'",
                "REPLICAS 'db2, db3'",
                "REPLICAS ''",
                "TLS 'disabled'",
                "TLS 'verify'",
                "TLS_CA 'ca.pem'",
                "CLEARTEXT_PASSWORD 'ON'",
                "CLEARTEXT_PASSWORD 'OFF'",
            ] {
                let error = check(&before, changed).unwrap_err();
                assert_eq!(error.errno(), 1210, "{changed}");
                let option = changed.split(' ').next().unwrap();
                assert!(error.message().contains(option), "{error}");
                check(&before, &format!("{changed}, PASSWORD 'x'")).unwrap();
                check(&before, &format!("PASSWORD_FILE 'y', {changed}")).unwrap();
                check(&plain, changed).unwrap();
            }
            for same in ["HOST 'db1', PORT 3307, REPLICAS 'db2'", "USER 'u'", "DATABASE 'd'"] {
                check(&before, same).unwrap();
            }
        }
    }

    #[test]
    fn wrong_values_say_what_is_right() {
        let mut server = Server::new("shop", "mysql").unwrap();
        for (name, value) in [
            ("PORT", "99999"),
            ("HOST", ""),
            ("DATABASES", "a,a"),
            ("DATABASES", "a as"),
            ("REPLICAS", "db:x"),
            ("CONNECTIONS", "0"),
            ("TLS", "maybe"),
            ("CLEARTEXT_PASSWORD", "perhaps"),
            ("PASSWORD_FILE", ""),
            ("PASSWORD_ENV", ""),
            ("COLOUR", "red"),
        ] {
            assert_eq!(server.set(name, value).unwrap_err().errno(), 1210, "{name}={value}");
        }
        assert_eq!(Server::new("x", "oracle").unwrap_err().errno(), 1235);
    }
}
