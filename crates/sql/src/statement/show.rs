//! `SHOW`: every kind that MySQL has.

use super::{TableName, UserName};

/// What `SHOW` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShowKind {
    /// `BINARY LOG STATUS`, `MASTER STATUS`
    BinaryLogStatus,
    /// `BINARY LOGS`, `MASTER LOGS`
    BinaryLogs,
    /// `BINLOG EVENTS`
    BinlogEvents,
    /// `RELAYLOG EVENTS`
    RelaylogEvents,
    /// `CHARACTER SET`, `CHARSET`
    CharacterSet,
    /// `COLLATION`
    Collation,
    /// `COLUMNS`, `FIELDS`
    Columns,
    /// `COUNT(*) ERRORS`
    CountErrors,
    /// `COUNT(*) WARNINGS`
    CountWarnings,
    /// `CREATE DATABASE`; the name stands in `table.name`, as for all objects.
    CreateDatabase,
    /// `CREATE EVENT`
    CreateEvent,
    /// `CREATE FUNCTION`
    CreateFunction,
    /// `CREATE PROCEDURE`
    CreateProcedure,
    /// `CREATE SERVER` (MariaDB)
    CreateServer,
    /// `CREATE TABLE`
    CreateTable,
    /// `CREATE TRIGGER`
    CreateTrigger,
    /// `CREATE USER`; the account stands in `user`.
    CreateUser,
    /// `CREATE VIEW`
    CreateView,
    /// `DATABASES`, `SCHEMAS`
    Databases,
    /// `ENGINE name STATUS | MUTEX | LOGS`; the engine stands in `table.name`.
    Engine,
    /// `[STORAGE] ENGINES`
    Engines,
    /// `ERRORS`
    Errors,
    /// `EVENTS`
    Events,
    /// `FUNCTION CODE`
    FunctionCode,
    /// `FUNCTION STATUS`
    FunctionStatus,
    /// `GRANTS`
    Grants,
    /// `INDEX`, `INDEXES`, `KEYS`
    Index,
    /// `OPEN TABLES`
    OpenTables,
    /// `PLUGINS`
    Plugins,
    /// `PRIVILEGES`
    Privileges,
    /// `PROCEDURE CODE`
    ProcedureCode,
    /// `PROCEDURE STATUS`
    ProcedureStatus,
    /// `PROCESSLIST`
    Processlist,
    /// `PROFILE`
    Profile,
    /// `PROFILES`
    Profiles,
    /// `REPLICA STATUS`, `SLAVE STATUS`
    ReplicaStatus,
    /// `REPLICAS`, `SLAVE HOSTS`
    Replicas,
    /// `SERVERS` (ours): the linked servers and their state.
    Servers,
    /// `STATUS`
    Status,
    /// `TABLE STATUS`
    TableStatus,
    /// `TABLES`
    Tables,
    /// `TRIGGERS`
    Triggers,
    /// `VARIABLES`
    Variables,
    /// `WARNINGS`
    Warnings,
    /// Something else, of another server or version.
    Other,
}

/// A `SHOW` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Show {
    /// What is shown.
    pub kind: ShowKind,
    /// `FULL`
    pub full: bool,
    /// `EXTENDED`
    pub extended: bool,
    /// `GLOBAL` is `Some(true)`, `SESSION` or `LOCAL` is `Some(false)`.
    pub global: Option<bool>,
    /// `FROM database` or `IN database`, and the database of a qualified table.
    pub database: Option<String>,
    /// The table, or the object behind `CREATE`.
    pub table: Option<TableName>,
    /// `IF NOT EXISTS` behind `CREATE DATABASE`.
    pub if_not_exists: bool,
    /// The value of `LIKE '...'`.
    pub like: Option<String>,
    /// The text of the `WHERE` expression.
    pub filter: Option<String>,
    /// `LIMIT`: offset and count.
    pub limit: Option<(u64, u64)>,
    /// The account of `GRANTS` and `CREATE USER`.
    pub user: Option<UserName>,
    /// The upper-case words that were not understood, of `Other` and of long tails.
    pub rest: Vec<String>,
}
