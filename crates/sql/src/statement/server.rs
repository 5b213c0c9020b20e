//! Parses `CREATE SERVER`, `ALTER SERVER`, `DROP SERVER`.

use super::name::Secret;
use super::{DropServer, Statement};
use crate::lexer::TokenKind;
use crate::parse::cursor::{Parser, Result};

/// The options of a linked server; `None` for options that are not given.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ServerOptions {
    /// `HOST 'h'`
    pub host: Option<String>,
    /// `PORT n`
    pub port: Option<u16>,
    /// `SOCKET 's'`
    pub socket: Option<String>,
    /// `DATABASE 'd'`
    pub database: Option<String>,
    /// `DATABASES 'remote AS local, ...'`: pairs of remote and local name.
    pub databases: Option<Vec<(String, String)>>,
    /// `USER 'u'`
    pub user: Option<String>,
    /// `PASSWORD 'p'`
    pub password: Option<Secret>,
    /// `PASSWORD_ENV 'VARIABLE'`
    pub password_env: Option<String>,
    /// `PASSWORD_FILE 'path'`
    pub password_file: Option<String>,
    /// `OWNER 'o'`
    pub owner: Option<String>,
    /// `REPLICAS 'h2:3306, h3:3306'`: hosts with their ports, if said.
    pub replicas: Option<Vec<(String, Option<u16>)>>,
    /// `CONNECTIONS n`: connections to each server.
    pub connections: Option<u16>,
    /// `TLS 'required'`, in lower case.
    pub tls: Option<String>,
    /// The file of certificates that may sign the server's.
    pub tls_ca: Option<String>,
    /// `CLEARTEXT_PASSWORD 'ON'`: the password itself may go to a server that is not verified.
    pub cleartext_password: Option<String>,
}

/// `CREATE SERVER`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateServer {
    /// `OR REPLACE`
    pub or_replace: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The server.
    pub name: String,
    /// `FOREIGN DATA WRAPPER`
    pub wrapper: String,
    /// The options.
    pub options: ServerOptions,
}

/// `ALTER SERVER`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterServer {
    /// The server.
    pub name: String,
    /// The options that change.
    pub options: ServerOptions,
}

/// Splits `REPLICAS`: hosts with ports, by commas. IPv6 addresses are in brackets.
pub fn parse_replicas(text: &str) -> Option<Vec<(String, Option<u16>)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (host, port) = match part.rsplit_once(':') {
                Some((host, port)) if !port.contains(']') => (host, Some(port.parse().ok()?)),
                _ => (part, None),
            };
            let host = host.trim().trim_start_matches('[').trim_end_matches(']');
            (!host.is_empty()).then(|| (host.to_owned(), port))
        })
        .collect()
}

/// Splits `DATABASES`: names by commas, each with `AS` and a local name if that differs.
pub fn parse_databases(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let words: Vec<&str> =
                part.split_whitespace().map(|word| word.trim_matches('`')).collect();
            match words.as_slice() {
                [both] => Some((both.to_string(), both.to_string())),
                [remote, word, local] if word.eq_ignore_ascii_case("AS") => {
                    Some((remote.to_string(), local.to_string()))
                }
                _ => None,
            }
        })
        .collect()
}

impl ServerOptions {
    /// Whether they contain the password, or its source.
    pub fn gives_password(&self) -> bool {
        self.password.is_some() || self.password_env.is_some() || self.password_file.is_some()
    }
}

impl Parser<'_> {
    /// Parses the text after `CREATE SERVER`, `ALTER SERVER` or `DROP SERVER`.
    pub(super) fn server(&mut self, verb: &str, or_replace: bool) -> Result<Statement> {
        match verb {
            "CREATE" => {
                let if_not_exists = self.if_not_exists();
                let name = self.name_or_string()?;
                for word in ["FOREIGN", "DATA", "WRAPPER"] {
                    self.expect_word(word)?;
                }
                let wrapper = self.name_or_string()?;
                let options = self.server_options()?;
                let server = CreateServer { or_replace, if_not_exists, name, wrapper, options };
                Ok(Statement::CreateServer(Box::new(server)))
            }
            "ALTER" if !or_replace => {
                let name = self.name_or_string()?;
                let options = self.server_options()?;
                Ok(Statement::AlterServer(Box::new(AlterServer { name, options })))
            }
            _ if !or_replace => {
                let if_exists = self.if_exists();
                let name = self.name_or_string()?;
                self.finish()?;
                Ok(Statement::DropServer(DropServer { if_exists, name }))
            }
            _ => self.unexpected(),
        }
    }

    fn server_options(&mut self) -> Result<ServerOptions> {
        self.expect_word("OPTIONS")?;
        let mut options = ServerOptions::default();
        self.parenthesised(|parser| parser.server_option(&mut options))?;
        self.finish()?;
        Ok(options)
    }

    fn server_option(&mut self, options: &mut ServerOptions) -> Result<()> {
        let Some(name) = self.peek().and_then(|token| token.name(self.sql)) else {
            return self.unexpected();
        };
        let known = [
            "HOST",
            "PORT",
            "SOCKET",
            "DATABASE",
            "DATABASES",
            "USER",
            "PASSWORD",
            "PASSWORD_ENV",
            "PASSWORD_FILE",
            "OWNER",
            "REPLICAS",
            "CONNECTIONS",
            "TLS",
            "TLS_CA",
            "CLEARTEXT_PASSWORD",
        ];
        let name = name.to_ascii_uppercase();
        if !known.contains(&name.as_str()) {
            return self.unexpected();
        }
        self.advance();
        self.take_symbol("=");
        match name.as_str() {
            "PORT" => options.port = Some(self.small_integer()?),
            "CONNECTIONS" => options.connections = Some(self.small_integer()?),
            "REPLICAS" => {
                let replicas = parse_replicas(&self.peek_string());
                let Some(replicas) = replicas else { return self.unexpected() };
                self.string_value()?;
                options.replicas = Some(replicas);
            }
            "DATABASES" => {
                let databases = parse_databases(&self.peek_string());
                let Some(databases) = databases else { return self.unexpected() };
                self.string_value()?;
                options.databases = Some(databases);
            }
            _ => {
                let value = Some(self.string_value()?);
                match name.as_str() {
                    "HOST" => options.host = value,
                    "SOCKET" => options.socket = value,
                    "DATABASE" => options.database = value,
                    "USER" => options.user = value,
                    "PASSWORD" => options.password = value.map(Secret::new),
                    "PASSWORD_ENV" => options.password_env = value,
                    "PASSWORD_FILE" => options.password_file = value,
                    "OWNER" => options.owner = value,
                    "TLS_CA" => options.tls_ca = value,
                    "CLEARTEXT_PASSWORD" => options.cleartext_password = value,
                    _ => options.tls = value.map(|value| value.to_ascii_lowercase()),
                }
            }
        }
        Ok(())
    }

    /// The value of the string at the current token, which stays.
    fn peek_string(&self) -> String {
        self.peek()
            .map(|token| crate::literal::text_of_token(self.text(token), self.mode))
            .unwrap_or_default()
    }

    /// An integer of at most 16 bits, bare or in a string.
    fn small_integer(&mut self) -> Result<u16> {
        let text = match self.peek() {
            Some(token) if token.kind == TokenKind::Text => self.peek_string(),
            Some(token) => self.text(token).to_owned(),
            None => return self.unexpected(),
        };
        let Ok(value) = text.parse() else { return self.unexpected() };
        self.advance();
        Ok(value)
    }
}
