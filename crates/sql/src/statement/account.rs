//! `CREATE USER` and its kin.

use super::Secret;

/// A user at a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account {
    /// The user.
    pub user: String,
    /// The host; `%` when not said.
    pub host: String,
}

/// Whom a statement names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UserName {
    /// `CURRENT_USER` or `USER()`, or nobody named.
    Current,
    /// An account.
    Account(Account),
}

/// How an account proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// The plugin behind `WITH` or `VIA`.
    pub plugin: Option<String>,
    /// What it is proved with.
    pub method: Method,
}

/// What an account proves itself with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// `BY 'password'`
    Password(Secret),
    /// `BY RANDOM PASSWORD`
    Random,
    /// `AS 'hash'`, `BY PASSWORD 'hash'`
    Hash(Secret),
    /// Only the plugin is named.
    Plugin,
}

/// A user as `CREATE USER` and `ALTER USER` name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSpec {
    /// Who.
    pub user: UserName,
    /// How it proves itself, if said.
    pub authentication: Option<Authentication>,
}

/// `REQUIRE ...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    /// `NONE`
    None,
    /// `SSL`
    Ssl,
    /// `X509`, `ISSUER`, `SUBJECT`, `CIPHER`: the words in upper case.
    Other(String),
}

/// What `CREATE USER` and `ALTER USER` say about all their users.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct UserOptions {
    /// `ACCOUNT LOCK` is `Some(true)`, `ACCOUNT UNLOCK` is `Some(false)`.
    pub locked: Option<bool>,
    /// `REQUIRE`
    pub require: Option<Require>,
    /// Ours: `READ ONLY` is `Some(true)`, `READ WRITE` is `Some(false)`.
    pub read_only: Option<bool>,
    /// Other options of MySQL, each with its words in upper case: `PASSWORD EXPIRE`,
    /// `WITH MAX_QUERIES_PER_HOUR 10`, `COMMENT '...'`, ...
    pub others: Vec<String>,
}
