//! The API boundary between protocols and the engine: sessions, outcomes and results in plain types
//! for the edges.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::Stream;
use pelorus_error::Result;
use pelorus_types::Column;

/// In which form rows should come when they are relayed from a linked server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Rows of the text protocol (`COM_QUERY`).
    Text,
    /// Rows of the binary protocol (`COM_STMT_EXECUTE`).
    Binary,
}

/// The user who logs in, as verified by the edge.
#[derive(Clone, Debug)]
pub struct Login {
    /// The account.
    pub user: String,
    /// Where the client comes from; `None` for a local socket.
    pub peer: Option<SocketAddr>,
    /// The database named at login.
    pub database: Option<String>,
    /// The collation number of the handshake.
    pub collation: u16,
    /// The client counts found rows, not changed ones (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// A person types the statements (CLIENT_INTERACTIVE).
    pub interactive: bool,
    /// A space is allowed between a function's name and its parenthesis (CLIENT_IGNORE_SPACE).
    pub ignore_space: bool,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// Attributes that the client's driver sent.
    pub attributes: Vec<(String, String)>,
}

/// How long an edge waits for the client of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Between statements: `wait_timeout`.
    pub idle: Duration,
    /// For the rest of a packet: `net_read_timeout`.
    pub read: Duration,
    /// Until it takes bytes: `net_write_timeout`.
    pub write: Duration,
}

/// The outcome of a statement.
#[derive(Debug)]
pub enum Outcome {
    /// No rows: counts and ids.
    Done(Done),
    /// A result set.
    Rows(ResultSet),
    /// The client is to send a file of this name (`LOAD DATA LOCAL INFILE`): its bytes go to
    /// `Session::load`, and `Session::loaded` then gives the outcome.
    File(String),
}

/// The numbers of an OK packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed (or found).
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value of the statement.
    pub last_insert_id: u64,
    /// Warnings that `SHOW WARNINGS` would list.
    pub warnings: u16,
    /// Text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: String,
}

/// A result set whose rows come as they are made.
pub struct ResultSet {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; the last item is [`Rows::End`] unless the stream fails. Dropping it stops the work.
    pub rows: RowStream,
}

impl std::fmt::Debug for ResultSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultSet").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Rows on their way.
pub type RowStream = Pin<Box<dyn Stream<Item = Result<Rows>> + Send>>;

/// A piece of a result.
#[derive(Debug)]
pub enum Rows {
    /// Rows to be encoded by the edge, in the forms of [`pelorus_types::ColumnType::arrow`].
    Batch(RecordBatch),
    /// Rows that a linked server encoded already in the requested [`RowFormat`]: for each row a
    /// `u32` (little endian) with the length of its payload, then the payload.
    Encoded(Bytes),
    /// The end, with the number of warnings.
    End {
        /// Warnings that `SHOW WARNINGS` would list.
        warnings: u16,
    },
}

/// The result of `PREPARE`.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The statement's number within its session.
    pub id: u32,
    /// How many `?` it has.
    pub parameters: u16,
    /// The columns of its result; empty when it gives none.
    pub columns: Vec<Column>,
    /// Warnings that `SHOW WARNINGS` would list.
    pub warnings: u16,
}

/// A value bound to a `?`.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// NULL.
    Null,
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    UInt(u64),
    /// A single-precision number.
    Float(f32),
    /// A double-precision number.
    Double(f64),
    /// A DECIMAL in text.
    Decimal(String),
    /// Text, UTF-8.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// A date, packed by [`pelorus_types::temporal`].
    Date(i64),
    /// A date with time, packed.
    DateTime(i64),
    /// A time in microseconds.
    Time(i64),
}

/// State that OK and EOF packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// Inside a transaction.
    pub in_transaction: bool,
    /// `autocommit` is on.
    pub autocommit: bool,
    /// `NO_BACKSLASH_ESCAPES` is set.
    pub no_backslash_escapes: bool,
}

/// How an account proves itself; hashes only, never passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The authentication plugin: `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// The stored authentication string; empty means no password.
    pub authentication: Vec<u8>,
    /// The account may not log in.
    pub locked: bool,
    /// The account's connections must be encrypted.
    pub require_ssl: bool,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

/// What the edge does with a session. `Session` in `session.rs` has these methods:
///
/// ```ignore
/// Engine::open(EngineConfig) -> Result<Arc<Engine>>                       // async
/// Engine::credential(&self, user, peer) -> Option<Credential>             // for the handshake
/// Engine::connect(self: &Arc<Self>, login: Login) -> Result<Session>      // async; checks limits, database
/// Engine::kill(&self, by: &Session, id: u64, query_only: bool) -> Result<()>
/// Engine::statistics(&self) -> String                                     // COM_STATISTICS
/// Engine::settings() -> max_allowed_packet, wait_timeout, net_read_timeout, max_connections, require_secure_transport, server_version
/// Session::id(&self) -> u64; Session::status(&self) -> SessionStatus; Session::handle(&self) -> Handle (kill flags: `killed().await`)
/// Session::next_statement<'a>(&self, sql: &'a str) -> (&'a str, &'a str)  // first statement, rest (empty when none)
/// Session::execute(&mut self, sql: &str, format: RowFormat) -> Result<Outcome>      // async
/// Session::prepare(&mut self, sql: &str) -> Result<Prepared>                        // async
/// Session::execute_prepared(&mut self, id: u32, parameters: Vec<Parameter>) -> Result<Outcome>   // async, rows in RowFormat::Binary
/// Session::parameter_count(&self, id: u32) -> Option<u16>; Session::close_prepared(&mut self, id: u32)
/// Session::use_database(&mut self, name: &str) -> Result<()>              // async, COM_INIT_DB
/// Session::list_fields(&mut self, table: &str, wild: &str) -> Result<Vec<Column>>   // async, COM_FIELD_LIST
/// Session::change_user(&mut self, login: Login) -> Result<()>; Session::reset(&mut self) -> Result<()>   // async
/// Session::set_multi_statements(&mut self, on: bool); Session::timeouts(&self) -> Timeouts
/// ```
pub trait Api {}

/// A convenience for edges.
pub type OutcomeResult = Result<Outcome>;
