//! Classifies statements: the kind of a statement, read from its tokens.
//!
//! Administrative statements are parsed completely, since Pelorus executes them itself. Of queries,
//! writes and schema changes only the parts that decide where they run are read; the text itself is
//! passed on.

use pelorus_error::Result;

use crate::Mode;

pub mod account;
pub(crate) mod cursor;
mod data;
mod define;
pub mod mirror;
pub mod name;
mod read;
pub mod server;
pub mod set;
pub mod show;
mod timed;

pub use account::{Authentication, LockTime, Method, Require, UserOptions, UserSpec};
pub use data::References;
pub use mirror::{MirrorAction, MirrorColumns, MirrorFilter, MirrorStatement, MirrorTarget};
pub use name::{Account, Secret, TableName, UserName};
pub use server::{AlterServer, CreateServer, ServerOptions};
pub use set::{Assignment, Charset, Isolation, Scope, SetValue, Target, system_variable};
pub use show::{Show, ShowKind};

pub use data::{calls, references};
pub use timed::timed;

/// A classified statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statement {
    /// Nothing but blanks and comments.
    Empty,
    /// `SELECT`, `WITH ... SELECT`, `VALUES`, `TABLE`, or one of them in parentheses.
    Query(QueryFacts),
    /// `EXPLAIN` of a statement or of a running connection.
    Explain(Explain),
    /// `DESCRIBE t [column]`, also spelled `DESC` or `EXPLAIN`.
    Describe(Describe),
    /// `SHOW ...`
    Show(Box<Show>),
    /// `SET ...`, in order.
    Set(Vec<Assignment>),
    /// `SET PASSWORD ...`
    SetPassword(SetPassword),
    /// `USE database`
    Use(String),
    /// `BEGIN` or `START TRANSACTION`.
    Begin(Begin),
    /// `COMMIT`
    Commit(Completion),
    /// `ROLLBACK`
    Rollback(Completion),
    /// `SAVEPOINT name`
    Savepoint(String),
    /// `RELEASE SAVEPOINT name`
    ReleaseSavepoint(String),
    /// `ROLLBACK TO [SAVEPOINT] name`
    RollbackTo(String),
    /// `XA ...`
    Xa,
    /// `PREPARE name FROM source`
    Prepare(Prepare),
    /// `EXECUTE name [USING @a, @b]`
    Execute(Execute),
    /// `EXECUTE IMMEDIATE` (MariaDB)
    ExecuteImmediate(PrepareSource),
    /// `DEALLOCATE PREPARE name` or `DROP PREPARE name`
    Deallocate(String),
    /// `KILL [CONNECTION | QUERY] id`
    Kill(Kill),
    /// `CREATE SERVER`
    CreateServer(Box<CreateServer>),
    /// `ALTER SERVER`
    AlterServer(Box<AlterServer>),
    /// `DROP SERVER`
    DropServer(DropServer),
    /// `CREATE USER`
    CreateUser(CreateUser),
    /// `ALTER USER`
    AlterUser(AlterUser),
    /// `DROP USER`
    DropUser(DropUser),
    /// `RENAME USER`: pairs of old and new.
    RenameUser(Vec<(UserName, UserName)>),
    /// `GRANT ...` or `REVOKE ...`
    Grant(Grant),
    /// `FLUSH ...`: the upper-case words after it.
    Flush(Vec<String>),
    /// `RESET ...`, `PURGE ...`, `CHANGE ...`, `INSTALL ...` and other administration of a server.
    Administration(String),
    /// A statement that changes rows or may do so.
    Write(Write),
    /// `DO expressions`: the text of the expressions.
    Do(String),
    /// `HANDLER ...`
    Handler(TableName),
    /// A change of the schema.
    Ddl(Ddl),
    /// `LOCK TABLES`, with whether each is locked for writing.
    LockTables(Vec<(TableName, bool)>),
    /// `UNLOCK TABLES`
    UnlockTables,
    /// `ANALYZE`, `CHECK`, `CHECKSUM`, `OPTIMIZE`, `REPAIR TABLE`, `CACHE INDEX`.
    Maintenance(Maintenance),
    /// `MIRROR`, `UNMIRROR`, `ALTER MIRROR`, `CHECK MIRROR`
    Mirror(MirrorStatement),
    /// `HELP 'topic'`
    Help(String),
    /// The first word begins no statement that we know; its text in upper case.
    Unknown(String),
}

/// The facts that decide where a query runs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QueryFacts {
    /// `FOR UPDATE`, `FOR SHARE` or `LOCK IN SHARE MODE`.
    pub locking: bool,
    /// `INTO OUTFILE` or `INTO DUMPFILE`.
    pub into_file: bool,
    /// `INTO @a, @b`: the variables, or the names of a program's variables.
    pub into_variables: Vec<String>,
    /// `SQL_CALC_FOUND_ROWS`
    pub calc_found_rows: bool,
    /// `@x := ...` occurs.
    pub assigns: bool,
    /// The tables that the text seems to name. Names of `WITH` are taken out.
    pub tables: Vec<TableName>,
}

/// `EXPLAIN`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// `EXPLAIN ANALYZE`, or MariaDB's `ANALYZE statement`.
    pub analyze: bool,
    /// `EXTENDED` or `PARTITIONS`, which old clients send.
    pub extended: bool,
    /// `FORMAT = ...` in upper case.
    pub format: Option<String>,
    /// The statement or table to explain.
    pub target: ExplainTarget,
}

/// The target of `EXPLAIN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExplainTarget {
    /// A statement: its text and its kind.
    Statement(String, Box<Statement>),
    /// `FOR CONNECTION id`
    Connection(u64),
}

/// `DESCRIBE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Describe {
    /// The table.
    pub table: TableName,
    /// The column or the pattern for columns.
    pub column: Option<String>,
}

/// `SET PASSWORD`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPassword {
    /// Whose; `Current` when not said.
    pub user: UserName,
    /// The new password; `None` requests a random one.
    pub password: Option<Secret>,
    /// The text is a hash, not a password (MariaDB without `PASSWORD(...)`).
    pub function: bool,
}

/// `START TRANSACTION`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Begin {
    /// `READ ONLY` is `Some(true)`, `READ WRITE` is `Some(false)`.
    pub read_only: Option<bool>,
    /// `WITH CONSISTENT SNAPSHOT`
    pub consistent_snapshot: bool,
}

/// The clauses after `COMMIT` or `ROLLBACK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Completion {
    /// `AND [NO] CHAIN`
    pub chain: Option<bool>,
    /// `[NO] RELEASE`
    pub release: Option<bool>,
}

/// `PREPARE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// The statement's name.
    pub name: String,
    /// Where its text comes from.
    pub source: PrepareSource,
}

/// Where the text of a prepared statement comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareSource {
    /// A string.
    Text(String),
    /// A user variable, without its `@`.
    Variable(String),
}

/// `EXECUTE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute {
    /// The statement's name.
    pub name: String,
    /// The text of each expression after `USING`; MySQL allows user variables only.
    pub using: Vec<String>,
}

/// `KILL`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// Only the running statement, not the connection.
    pub query_only: bool,
    /// The text of the expression that gives the id.
    pub id: String,
}

/// `DROP SERVER`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropServer {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The server.
    pub name: String,
}

/// `CREATE USER`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateUser {
    /// `OR REPLACE` (MariaDB)
    pub or_replace: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The users.
    pub users: Vec<UserSpec>,
    /// The options of all of them.
    pub options: UserOptions,
}

/// `ALTER USER`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterUser {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The users.
    pub users: Vec<UserSpec>,
    /// The options of all of them.
    pub options: UserOptions,
}

/// `DROP USER`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropUser {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The users.
    pub users: Vec<UserName>,
}

/// `GRANT` or `REVOKE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// `REVOKE`
    pub revoke: bool,
    /// The privileges or roles in upper case, with their columns.
    pub privileges: Vec<String>,
    /// The object after `ON`: `*.*`, `db.*`, `db.t`, as written; `None` for roles.
    pub on: Option<String>,
    /// The accounts that receive or lose the privileges.
    pub users: Vec<UserName>,
}

/// A statement that changes rows or may do so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Which one.
    pub kind: WriteKind,
    /// The tables that the text seems to name, the changed ones first.
    pub tables: Vec<TableName>,
    /// How many of `tables` are changed, as far as tokens tell.
    pub changed: usize,
    /// `RETURNING` (MariaDB) or a `CALL`: rows may come back.
    pub returning: bool,
    /// `LOAD DATA LOCAL`: the client sends the file.
    pub local: bool,
}

/// Which statement changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteKind {
    /// `INSERT`
    Insert,
    /// `REPLACE`
    Replace,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
    /// `LOAD DATA` or `LOAD XML`
    Load,
    /// `IMPORT TABLE`
    Import,
    /// `CALL`: the name of the procedure is the only one in `tables`.
    Call,
    /// MariaDB's `BEGIN NOT ATOMIC` and other bare compound statements.
    Compound,
}

/// A change of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ddl {
    /// The action.
    pub action: DdlAction,
    /// The kind of object, in upper case: `TABLE`, `DATABASE`, `VIEW`, `INDEX`, `PROCEDURE`,
    /// `FUNCTION`, `TRIGGER`, `EVENT`, `SEQUENCE`, `ROLE`, `TABLESPACE`, ...
    pub object: String,
    /// `TEMPORARY`
    pub temporary: bool,
    /// `IF [NOT] EXISTS`
    pub if_exists: bool,
    /// The objects, and for an index or trigger its table. Databases are in `name`.
    pub names: Vec<TableName>,
    /// Tables that are read or referred to: `LIKE t`, `AS SELECT ... FROM t`, `REFERENCES t`.
    pub tables: Vec<TableName>,
}

/// The action of a schema change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DdlAction {
    /// `CREATE`
    Create,
    /// `ALTER`
    Alter,
    /// `DROP`
    Drop,
    /// `TRUNCATE`
    Truncate,
    /// `RENAME`
    Rename,
}

/// `ANALYZE TABLE` and similar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// The first word, in upper case.
    pub verb: String,
    /// The tables.
    pub tables: Vec<TableName>,
    /// `UPDATE HISTOGRAM` or `DROP HISTOGRAM` after the tables.
    pub histogram: Option<HistogramChange>,
    /// `QUICK` after the tables.
    pub quick: bool,
}

/// The change of `ANALYZE TABLE` to the histograms of some columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramChange {
    /// The columns.
    pub columns: Vec<String>,
    /// The action.
    pub action: HistogramAction,
}

/// The action on histograms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistogramAction {
    /// `UPDATE HISTOGRAM ON ... [WITH n BUCKETS]`: made of the table's rows.
    Update {
        /// `WITH n BUCKETS`
        buckets: Option<u64>,
    },
    /// `UPDATE HISTOGRAM ON ... USING DATA '...'`: given.
    Given,
    /// `DROP HISTOGRAM ON ...`
    Drop,
}

/// Classifies a statement. A `;` at the end is allowed, a second statement not.
///
/// # Errors
/// 1064 for text that cannot be read, and for administrative statements that are not complete.
pub fn classify(sql: &str, mode: Mode) -> Result<Statement> {
    read::classify(sql, mode)
}

impl Statement {
    /// Whether the statement changes, or may change, data, schema or accounts; an account with
    /// read-only rights may not run it. What is not known to only read may change something.
    pub fn is_write(&self) -> bool {
        match self {
            Self::Query(facts) => facts.into_file,
            // As on a server, a plan is for those who may run the statement.
            Self::Explain(explain) => match &explain.target {
                ExplainTarget::Statement(_, statement) => statement.is_write(),
                ExplainTarget::Connection(_) => false,
            },
            Self::LockTables(tables) => tables.iter().any(|(_, write)| *write),
            Self::Empty
            | Self::Describe(_)
            | Self::Show(_)
            | Self::Set(_)
            | Self::Use(_)
            | Self::Begin(_)
            | Self::Commit(_)
            | Self::Rollback(_)
            | Self::Savepoint(_)
            | Self::ReleaseSavepoint(_)
            | Self::RollbackTo(_)
            | Self::Prepare(_)
            | Self::Execute(_)
            | Self::ExecuteImmediate(_)
            | Self::Deallocate(_)
            | Self::Kill(_)
            | Self::Do(_)
            | Self::UnlockTables
            | Self::Help(_) => false,
            _ => true,
        }
    }

    /// Whether the statement ends a transaction that is under way, by committing it.
    pub fn implicit_commit(&self) -> bool {
        match self {
            Self::Begin(_)
            | Self::LockTables(_)
            | Self::SetPassword(_)
            | Self::CreateServer(_)
            | Self::AlterServer(_)
            | Self::DropServer(_)
            | Self::CreateUser(_)
            | Self::AlterUser(_)
            | Self::DropUser(_)
            | Self::RenameUser(_)
            | Self::Grant(_)
            | Self::Flush(_)
            | Self::Administration(_)
            | Self::Mirror(_) => true,
            Self::Maintenance(maintenance) => maintenance.verb != "CHECKSUM",
            // Temporary tables come and go within a transaction.
            Self::Ddl(ddl) => !(ddl.temporary && ddl.object == "TABLE"),
            _ => false,
        }
    }

    /// Whether rows come back when all goes well; a `CALL` may give rows or none.
    pub fn returns_rows(&self) -> bool {
        match self {
            Self::Query(facts) => !facts.into_file && facts.into_variables.is_empty(),
            Self::Explain(_)
            | Self::Describe(_)
            | Self::Show(_)
            | Self::Handler(_)
            | Self::Maintenance(_)
            | Self::Help(_) => true,
            Self::Mirror(mirror) => matches!(mirror, MirrorStatement::Check { .. }),
            Self::Write(write) => write.returning,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
