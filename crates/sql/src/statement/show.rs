//! Parses `SHOW`: every kind that MySQL has.

use super::name::{TableName, UserName};
use crate::lexer::TokenKind;
use crate::parse::cursor::{Parser, Result};

/// The object of `SHOW`.
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
    /// `CREATE DATABASE`; the name is in `table.name`, as for all objects.
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
    /// `CREATE USER`; the account is in `user`.
    CreateUser,
    /// `CREATE VIEW`
    CreateView,
    /// `DATABASES`, `SCHEMAS`
    Databases,
    /// `ENGINE name STATUS | MUTEX | LOGS`; the engine is in `table.name`.
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
    /// `MIRRORS` (ours): the mirrored tables and their status.
    Mirrors,
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
    /// The object that is shown.
    pub kind: ShowKind,
    /// `FULL`
    pub full: bool,
    /// `EXTENDED`
    pub extended: bool,
    /// `GLOBAL` is `Some(true)`, `SESSION` or `LOCAL` is `Some(false)`.
    pub global: Option<bool>,
    /// `FROM database` or `IN database`, and the database of a qualified table.
    pub database: Option<String>,
    /// The table, or the object after `CREATE`.
    pub table: Option<TableName>,
    /// `IF NOT EXISTS` after `CREATE DATABASE`.
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

/// What can follow the words of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Nothing.
    None,
    /// `LIKE '...'` or `WHERE ...`.
    Filter,
    /// `FROM database`, then a filter.
    Database,
    /// `FROM table [FROM database]`, then a filter.
    Table,
    /// `LIMIT ...`
    Limit,
    /// The name of an object.
    Object,
    /// Any other statement, as words.
    Words,
}

/// The kinds by their words. Longer ones stand before those that they begin with.
const KINDS: &[(&[&str], ShowKind, Tail)] = &[
    (&["BINARY", "LOG", "STATUS"], ShowKind::BinaryLogStatus, Tail::None),
    (&["MASTER", "STATUS"], ShowKind::BinaryLogStatus, Tail::None),
    (&["BINLOG", "STATUS"], ShowKind::BinaryLogStatus, Tail::None),
    (&["BINARY", "LOGS"], ShowKind::BinaryLogs, Tail::None),
    (&["MASTER", "LOGS"], ShowKind::BinaryLogs, Tail::None),
    (&["BINLOG", "EVENTS"], ShowKind::BinlogEvents, Tail::Words),
    (&["RELAYLOG", "EVENTS"], ShowKind::RelaylogEvents, Tail::Words),
    (&["CHARACTER", "SET"], ShowKind::CharacterSet, Tail::Filter),
    (&["CHAR", "SET"], ShowKind::CharacterSet, Tail::Filter),
    (&["CHARSET"], ShowKind::CharacterSet, Tail::Filter),
    (&["COLLATION"], ShowKind::Collation, Tail::Filter),
    (&["COLUMNS"], ShowKind::Columns, Tail::Table),
    (&["FIELDS"], ShowKind::Columns, Tail::Table),
    (&["CREATE", "DATABASE"], ShowKind::CreateDatabase, Tail::Object),
    (&["CREATE", "SCHEMA"], ShowKind::CreateDatabase, Tail::Object),
    (&["CREATE", "EVENT"], ShowKind::CreateEvent, Tail::Object),
    (&["CREATE", "FUNCTION"], ShowKind::CreateFunction, Tail::Object),
    (&["CREATE", "PROCEDURE"], ShowKind::CreateProcedure, Tail::Object),
    (&["CREATE", "SERVER"], ShowKind::CreateServer, Tail::Object),
    (&["CREATE", "TABLE"], ShowKind::CreateTable, Tail::Object),
    (&["CREATE", "TRIGGER"], ShowKind::CreateTrigger, Tail::Object),
    (&["CREATE", "VIEW"], ShowKind::CreateView, Tail::Object),
    (&["DATABASES"], ShowKind::Databases, Tail::Filter),
    (&["SCHEMAS"], ShowKind::Databases, Tail::Filter),
    (&["STORAGE", "ENGINES"], ShowKind::Engines, Tail::None),
    (&["ENGINES"], ShowKind::Engines, Tail::None),
    (&["ERRORS"], ShowKind::Errors, Tail::Limit),
    (&["EVENTS"], ShowKind::Events, Tail::Database),
    (&["FUNCTION", "CODE"], ShowKind::FunctionCode, Tail::Object),
    (&["FUNCTION", "STATUS"], ShowKind::FunctionStatus, Tail::Filter),
    (&["INDEXES"], ShowKind::Index, Tail::Table),
    (&["INDEX"], ShowKind::Index, Tail::Table),
    (&["KEYS"], ShowKind::Index, Tail::Table),
    (&["MIRRORS"], ShowKind::Mirrors, Tail::Database),
    (&["OPEN", "TABLES"], ShowKind::OpenTables, Tail::Database),
    (&["PLUGINS"], ShowKind::Plugins, Tail::None),
    (&["PRIVILEGES"], ShowKind::Privileges, Tail::None),
    (&["PROCEDURE", "CODE"], ShowKind::ProcedureCode, Tail::Object),
    (&["PROCEDURE", "STATUS"], ShowKind::ProcedureStatus, Tail::Filter),
    (&["PROCESSLIST"], ShowKind::Processlist, Tail::None),
    (&["PROFILES"], ShowKind::Profiles, Tail::None),
    (&["PROFILE"], ShowKind::Profile, Tail::Words),
    (&["REPLICA", "STATUS"], ShowKind::ReplicaStatus, Tail::Words),
    (&["SLAVE", "STATUS"], ShowKind::ReplicaStatus, Tail::Words),
    (&["ALL", "REPLICAS", "STATUS"], ShowKind::ReplicaStatus, Tail::Words),
    (&["ALL", "SLAVES", "STATUS"], ShowKind::ReplicaStatus, Tail::Words),
    (&["REPLICAS"], ShowKind::Replicas, Tail::None),
    (&["REPLICA", "HOSTS"], ShowKind::Replicas, Tail::None),
    (&["SLAVE", "HOSTS"], ShowKind::Replicas, Tail::None),
    (&["SERVERS"], ShowKind::Servers, Tail::Filter),
    (&["STATUS"], ShowKind::Status, Tail::Filter),
    (&["TABLE", "STATUS"], ShowKind::TableStatus, Tail::Database),
    (&["TABLES"], ShowKind::Tables, Tail::Database),
    (&["TRIGGERS"], ShowKind::Triggers, Tail::Database),
    (&["VARIABLES"], ShowKind::Variables, Tail::Filter),
    (&["WARNINGS"], ShowKind::Warnings, Tail::Limit),
];

impl Parser<'_> {
    /// `SHOW ...`
    pub(super) fn show(&mut self) -> Result<Show> {
        self.advance();
        let mut show = Show {
            kind: ShowKind::Other,
            full: false,
            extended: false,
            global: None,
            database: None,
            table: None,
            if_not_exists: false,
            like: None,
            filter: None,
            limit: None,
            user: None,
            rest: Vec::new(),
        };
        show.extended = self.take_word("EXTENDED");
        show.full = self.take_word("FULL");
        if self.take_word("GLOBAL") {
            show.global = Some(true);
        } else if self.take_word("SESSION") || self.take_word("LOCAL") {
            show.global = Some(false);
        }
        self.show_kind(&mut show)?;
        self.finish()?;
        Ok(show)
    }

    fn show_kind(&mut self, show: &mut Show) -> Result<()> {
        if self.take_word("GRANTS") {
            show.kind = ShowKind::Grants;
            if self.take_word("FOR") {
                show.user = Some(self.user_name()?);
            }
            show.rest = self.rest_words();
            return Ok(());
        }
        if self.take_words(&["CREATE", "USER"]) {
            show.kind = ShowKind::CreateUser;
            show.user = Some(match self.peek() {
                Some(_) if !self.is_symbol(";") => self.user_name()?,
                _ => UserName::Current,
            });
            return Ok(());
        }
        if self.take_words(&["COUNT"]) {
            for symbol in ["(", "*", ")"] {
                self.expect_symbol(symbol)?;
            }
            show.kind = if self.take_word("WARNINGS") {
                ShowKind::CountWarnings
            } else {
                self.expect_word("ERRORS")?;
                ShowKind::CountErrors
            };
            return Ok(());
        }
        if self.is_word("ENGINE") {
            self.advance();
            show.kind = ShowKind::Engine;
            show.table = Some(super::read::bare(self.name_or_string()?));
            show.rest = self.rest_words();
            return Ok(());
        }
        let found = KINDS.iter().find(|(words, ..)| self.take_words(words));
        let Some(&(_, kind, tail)) = found else {
            show.rest = self.rest_words();
            return Ok(());
        };
        show.kind = kind;
        self.show_tail(show, tail)
    }

    fn show_tail(&mut self, show: &mut Show, tail: Tail) -> Result<()> {
        match tail {
            Tail::None => {}
            Tail::Words => show.rest = self.rest_words(),
            Tail::Filter => self.show_filter(show)?,
            Tail::Database => {
                if self.take_word("FROM") || self.take_word("IN") {
                    show.database = Some(self.name_text()?);
                }
                self.show_filter(show)?;
            }
            Tail::Table => {
                if !self.take_word("FROM") {
                    self.expect_word("IN")?;
                }
                let mut table = self.table_name()?;
                if self.take_word("FROM") || self.take_word("IN") {
                    table.database = Some(self.name_text()?);
                }
                show.database.clone_from(&table.database);
                show.table = Some(table);
                self.show_filter(show)?;
            }
            Tail::Object => {
                show.if_not_exists = self.if_not_exists();
                let object = match self.peek().map(|token| token.kind) {
                    Some(TokenKind::Text) => super::read::bare(self.string_value()?),
                    _ => self.table_name()?,
                };
                show.database.clone_from(&object.database);
                show.table = Some(object);
            }
            Tail::Limit => {
                if self.take_word("LIMIT") {
                    let first = self.integer()?;
                    show.limit = Some(if self.take_symbol(",") {
                        (first, self.integer()?)
                    } else if self.take_word("OFFSET") {
                        (self.integer()?, first)
                    } else {
                        (0, first)
                    });
                }
            }
        }
        Ok(())
    }

    fn show_filter(&mut self, show: &mut Show) -> Result<()> {
        if self.take_word("LIKE") {
            show.like = Some(self.string_value()?);
        } else if self.take_word("WHERE") {
            let start = self.position();
            self.list(|parser| parser.expression_text(&[]))?;
            show.filter = Some(self.text_since(start));
        }
        Ok(())
    }
}
