//! The API boundary between protocols and the engine: plain types for the edges.

use std::net::SocketAddr;
use std::time::Duration;

use pelorus_types::Column;

pub use pelorus_result::{
    Done, Outcome, OutcomeResult, Parameter, ResultSet, RowFormat, RowStream, Rows,
};

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
/// ```text
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
