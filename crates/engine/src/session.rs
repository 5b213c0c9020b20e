//! [`Session`]: the state of one client, and the execution of its statements.
//!
//! | module | owns |
//! | --- | --- |
//! | `statement_lifecycle` | the frame of every statement: rights, kill, time limit, warnings, counters |
//! | [`state`] | the parts that a session consists of |
//! | `statement_snapshot` | the session's state as a running statement sees it |
//! | `connect` | the beginning of a session, and `KILL` |
//! | `dispatch` | the handler of each kind of statement |
//! | `light` | statements that take a short time whatever the data |
//! | `query` | queries, and their context |
//! | `found_rows` | `SQL_CALC_FOUND_ROWS` |
//! | `table_routing` | the linked server of a statement's tables |
//! | `primary_connection` | statements on the session's own connection to a primary |
//! | `transaction` | transactions |
//! | `set` | `SET` |
//! | `prepared` | prepared statements |
//! | `native_dml` | statements that change rows of native tables |
//! | `native_ddl` | statements that define native databases and tables |
//! | `like` | `CREATE TABLE ... LIKE` of a linked table |
//! | `mirror` | statements about mirrors |
//! | `unsupported_objects` | views, triggers, events and routines, which native databases do not have |
//! | `user_locks` | `GET_LOCK` and the other locking functions |
//! | `users`, `links` | accounts and linked servers |
//! | `show` | `SHOW`, `DESCRIBE` |
//! | `stream` | results on their way to the client |

mod connect;
mod dispatch;
mod found_rows;
mod light;
mod like;
mod links;
pub(crate) mod mirror;
mod native_ddl;
mod native_dml;
mod prepared;
mod primary_connection;
mod query;
mod set;
mod show;
pub(crate) mod state;
mod statement_lifecycle;
pub(crate) mod statement_snapshot;
mod stream;
mod table_routing;
#[cfg(test)]
mod tests;
mod transaction;
mod unsupported_objects;
mod user_locks;
mod users;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::{Handle, Stop};
use pelorus_sql::lexer::Lexer;
use pelorus_types::{Collation, Column};

use crate::accounts::AccountName;
use crate::api::{Login, Outcome, Parameter, Prepared, RowFormat, SessionStatus, Timeouts};
use crate::engine::Engine;
use crate::processlist::Process;
use prepared::PreparedStatements;
use state::client_settings::ClientSettings;
use state::identity::Identity;
use state::statement_state::StatementState;
use statement_lifecycle::read_long;
use transaction::Transaction;

/// One client's session.
pub struct Session {
    engine: Arc<Engine>,
    process: Arc<Process>,
    identity: Identity,
    settings: ClientSettings,
    statement: StatementState,
    transaction: Transaction,
    prepared: PreparedStatements,
    /// A `LOAD DATA LOCAL` that waits for its file.
    loading: Option<native_dml::Loading>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("account", self.identity.account())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a session of an account that was verified.
    pub(crate) async fn begin(
        engine: Arc<Engine>,
        process: Arc<Process>,
        login: Login,
    ) -> Result<Self> {
        let account = engine.account_of(&login)?;
        let memory = engine.memory().sessions().part("pelorus_session_memory", usize::MAX);
        let mut session = Self {
            identity: Identity::new(login, account),
            settings: ClientSettings::new(engine.globals(), memory),
            statement: StatementState::default(),
            transaction: Transaction::default(),
            prepared: PreparedStatements::default(),
            loading: None,
            engine,
            process,
        };
        session.start_state().await?;
        Ok(session)
    }

    /// The state after login.
    async fn start_state(&mut self) -> Result<()> {
        if let Some(mode) = self.engine.links().sql_mode() {
            self.engine.globals().adopt_sql_mode(&mode);
        }
        self.settings.reset(self.engine.globals(), self.identity.login())?;
        self.statement.reset();
        self.transaction.reset();
        self.engine.user_locks().release_all(self.id());
        self.begin_diagnostics();
        self.prepared = PreparedStatements::default();
        self.loading = None;
        let database = self.identity.login().database.clone();
        if let Some(database) = database.filter(|name| !name.is_empty()) {
            self.change_database(&database).await?;
        }
        self.show_activity();
        Ok(())
    }

    /// Changes the current database, also after the prepared statement that says so.
    fn set_database(&mut self, database: Option<String>) {
        self.settings.set_database(database);
        self.show_activity();
    }

    /// Leaves a database that is no more.
    fn leave_database(&mut self, name: &str) {
        self.settings.leave_database(name);
        self.show_activity();
    }

    /// Shows user, host and database in the list of sessions.
    fn show_activity(&self) {
        self.process.update(|activity| {
            activity.user.clone_from(&self.identity.login().user);
            activity.account = Some(self.identity.account().clone());
            activity.host = self.identity.host_and_port();
            activity.database = self.settings.own_database().map(str::to_owned);
        });
    }

    /// The engine that it belongs to.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The connection id.
    pub fn id(&self) -> u64 {
        self.process.handle.id()
    }

    /// The memory account of the session; the edge uses it as well.
    pub fn memory(&self) -> &Account {
        self.settings.memory()
    }

    /// The account that is used.
    pub(crate) fn account(&self) -> &AccountName {
        self.identity.account()
    }

    /// The user who is logged in.
    pub fn login(&self) -> &Login {
        self.identity.login()
    }

    /// The state that OK and EOF packets carry.
    pub fn status(&self) -> SessionStatus {
        SessionStatus {
            in_transaction: self.transaction.is_open(),
            autocommit: self.settings.autocommit(),
            no_backslash_escapes: self.settings.mode().no_backslash_escapes,
        }
    }

    /// Counts bytes of packets that the client sent and got.
    pub fn count_bytes(&self, received: u64, sent: u64) {
        let counters = &self.process.counters;
        // Ordering: counts are only looked at by people.
        counters.bytes_received.fetch_add(received, Ordering::Relaxed);
        counters.bytes_sent.fetch_add(sent, Ordering::Relaxed);
    }

    /// How long the edge waits for the client.
    pub fn timeouts(&self) -> Timeouts {
        self.settings.timeouts()
    }

    /// The outside end of this session.
    pub fn handle(&self) -> Handle {
        self.process.handle.clone()
    }

    /// A statement whose byte strings (`_binary '...'`) and strings that are not valid in the
    /// client's charset are replaced by hexadecimal literals, if it has any; the rest is valid text
    /// in that charset.
    pub fn in_digits(&self, statement: &[u8]) -> Option<Vec<u8>> {
        let charset = self.client_collation().charset();
        pelorus_sql::binary_literals::in_digits(statement, charset, self.settings.mode())
    }

    /// The charset in which the client writes statements, by its default collation.
    pub fn client_collation(&self) -> Collation {
        self.settings.client_collation()
    }

    /// The charset in which the client wants text, by its default collation; `None` if it wants
    /// text without conversion.
    pub fn results_collation(&self) -> Option<Collation> {
        self.settings.results_collation()
    }

    /// Splits off the first statement of a text; the second part is the rest, empty when there is
    /// none. Without multi-statements the whole text is the statement, and a second one in it is a
    /// syntax error.
    pub fn next_statement<'a>(&self, sql: &'a str) -> (&'a str, &'a str) {
        if !self.settings.has_multi_statements() {
            return (sql, "");
        }
        let stop = Stop::of(self.handle());
        let split = || pelorus_sql::next_statement(sql, self.settings.mode());
        let Ok((first, rest)) = read_long(sql, &stop, &self.stage_memory(), split) else {
            self.statement.stop_next();
            return (sql, "");
        };
        // One token tells: reading all the rest before every statement would take its square.
        let is_empty = Lexer::new(rest, self.settings.mode()).next().is_none();
        (first, if is_empty { "" } else { rest })
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// MySQL's errors; the session continues.
    pub async fn execute(&mut self, sql: &str, format: RowFormat) -> Result<Outcome> {
        self.run("Query", sql, format).await
    }

    /// Prepares one statement for [`Self::execute_prepared`].
    ///
    /// # Errors
    /// MySQL's errors; the session continues.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        self.prepare_numbered(sql).await
    }

    /// Runs a prepared statement; relayed rows come in [`RowFormat::Binary`].
    ///
    /// # Errors
    /// No such statement (1243), wrong number of parameters (1210), and errors of the statement.
    pub async fn execute_prepared(
        &mut self,
        id: u32,
        parameters: Vec<Parameter>,
    ) -> Result<Outcome> {
        crate::status::count(&self.process.counters.stmt_execute);
        let (sql, entry) = self.prepared.bound(id, &parameters)?;
        self.enter_prepared(&entry, !parameters.is_empty());
        let outcome = self.run("Execute", &sql, RowFormat::Binary).await;
        self.leave_prepared();
        Ok(prepared::named(outcome?, &entry))
    }

    /// How many `?` a prepared statement has; `None` when there is no such statement.
    pub fn parameter_count(&self, id: u32) -> Option<u16> {
        self.prepared.parameter_count(id)
    }

    /// Forgets a prepared statement; one that does not exist is no error.
    pub fn close_prepared(&mut self, id: u32) {
        crate::status::count(&self.process.counters.stmt_close);
        self.prepared.close(id);
    }

    /// Changes the current database (`COM_INIT_DB`).
    ///
    /// # Errors
    /// Unknown database (1049).
    pub async fn use_database(&mut self, name: &str) -> Result<()> {
        crate::status::count(&self.process.counters.admin);
        self.change_database(name).await
    }

    /// The columns of a table whose names fit a LIKE pattern (`COM_FIELD_LIST`); empty fits all.
    ///
    /// # Errors
    /// No database (1046), no such table (1146).
    pub async fn list_fields(&mut self, table: &str, wild: &str) -> Result<Vec<Column>> {
        crate::status::count(&self.process.counters.admin);
        if self.settings.database().is_none() {
            return Err(Error::new(Code::NoDatabase, "No database selected"));
        }
        let view = self.view();
        let context = self.context(&view);
        let sql = format!("SELECT * FROM {}", pelorus_sql::literal::name(table));
        let columns = pelorus_query::describe(&context, &sql).await?;
        let like = pelorus_result::pattern::Like::show(wild);
        Ok(columns
            .into_iter()
            .filter(|column| wild.is_empty() || like.matches(&column.name))
            .collect())
    }

    /// Becomes another user, verified by the edge; everything else is as after a new login.
    ///
    /// # Errors
    /// Unknown database (1049).
    pub async fn change_user(&mut self, login: Login) -> Result<()> {
        let account = self.engine.account_of(&login)?;
        self.identity = Identity::new(login, account);
        self.start_state().await
    }

    /// Back to the state after login (`COM_RESET_CONNECTION`): transactions are rolled back,
    /// variables and prepared statements forgotten. The current database stays, as in MySQL.
    ///
    /// # Errors
    /// None at present.
    pub async fn reset(&mut self) -> Result<()> {
        let database = self.settings.database().map(str::to_owned);
        self.identity.forget_login_database();
        self.start_state().await?;
        self.set_database(database);
        Ok(())
    }

    /// Whether one text may hold several statements (`COM_SET_OPTION`).
    pub fn set_multi_statements(&mut self, on: bool) {
        self.settings.set_multi_statements(on);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.engine.forget_session(&self.process);
    }
}

const _: fn() = || {
    fn sent_between_threads<T: Send>(_: T) {}
    // Edges run sessions on a runtime of several threads.
    let _ = |session: &'static mut Session| {
        sent_between_threads(session.execute("", RowFormat::Text));
        sent_between_threads(session.prepare(""));
    };
    fn send<T: Send + Sync>() {}
    send::<Session>();
};
