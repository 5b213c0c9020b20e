//! `CREATE SERVER` and its kin.

use super::Secret;

/// The options of a linked server; `None` for what is not said.
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
