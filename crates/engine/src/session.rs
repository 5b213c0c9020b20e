//! [`Session`]: the state of one client, in parts, and the execution of its statements.
//!
//! | module | owns |
//! | --- | --- |
//! | `state` | the parts that a session consists of; a part does not know the session |
//! | `context` | what handlers may read and change of a session |
//! | `statement_lifecycle` | the frame of every statement: rights, kill, time limit, warnings, counters |
//! | `dispatch` | the handler and the context of each kind of statement |
//! | `statements` | the handlers, one module for each kind of statement |
//! | `access_rights` | what read-only accounts, servers and transactions refuse |
//! | `statement_snapshot` | the session's state as a running statement sees it |
//! | `session_catalog` | the tables that names mean |
//! | `query_context` | the context of a query, and the settings of linked servers |
//! | `table_routing`, `query_routing`, `mirror_routing` | the linked server of tables; queries on the session's own connection; queries that copies answer |
//! | `query_execution` | queries that run here |
//! | `native_statement` | settings and transaction of statements on native tables |
//! | `primary_connection`, `primary_statement` | the session's own connections to primaries, and the client's statements on them |
//! | `expressions`, `simple_expression` | the expressions of `SET`, `DO` and similar statements |
//! | `user_locks` | `GET_LOCK` and the other locking functions |
//! | `light` | statements that take a short time whatever the data |
//! | `long_text` | reading of long texts |
//! | `connect` | the beginning of a session, and `KILL` |
//! | `stream` | results on their way to the client |

mod access_rights;
mod connect;
mod context;
mod dispatch;
mod expressions;
mod light;
mod long_text;
mod mirror_routing;
mod native_statement;
mod primary_connection;
mod primary_statement;
mod query_context;
mod query_execution;
mod query_routing;
mod session_catalog;
mod simple_expression;
pub(crate) mod state;
mod statement_lifecycle;
pub(crate) mod statement_snapshot;
pub(crate) mod statements;
mod stream;
mod table_routing;
#[cfg(test)]
mod tests;
mod user_locks;

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
use context::{ReadContext, SettingsContext, TransactionContext, show_client};
use state::client_settings::ClientSettings;
use state::held_locks::HeldLocks;
use state::identity::Identity;
use state::prepared_statements::{PreparedStatement, PreparedStatements};
use state::primary_connections::PrimaryConnections;
use state::statement_state::StatementState;
use state::transaction::Transaction;
use statements::accounts::AccountContext;
use statements::load::{self, LoadContext, Loading};
use statements::prepare::{self, PrepareContext};
use statements::servers::ServerContext;
use statements::use_database;

/// One client's session.
pub struct Session {
    engine: Arc<Engine>,
    process: Arc<Process>,
    identity: Identity,
    settings: ClientSettings,
    statement: StatementState,
    transaction: Transaction,
    connections: PrimaryConnections,
    locks: HeldLocks,
    prepared: PreparedStatements,
    /// A `LOAD DATA LOCAL` that waits for its file.
    loading: Option<Loading>,
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
            connections: PrimaryConnections::default(),
            locks: HeldLocks::default(),
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
        self.transaction = Transaction::default();
        self.connections.reset();
        self.locks = HeldLocks::default();
        self.engine.user_locks().release_all(self.id());
        self.settings.reset(self.engine.globals(), self.identity.login())?;
        self.statement.reset();
        self.transaction_context().begin_diagnostics();
        self.prepared = PreparedStatements::default();
        self.loading = None;
        let database = self.identity.login().database.clone();
        if let Some(database) = database.filter(|name| !name.is_empty()) {
            use_database::run(&mut self.settings_context(), &database).await?;
        }
        show_client(&self.process, &self.identity, &self.settings);
        Ok(())
    }

    /// What a statement can read.
    fn reads(&self) -> ReadContext<'_> {
        ReadContext {
            engine: &self.engine,
            process: &self.process,
            identity: &self.identity,
            settings: &self.settings,
            statement: &self.statement,
            transaction: &self.transaction,
            connections: &self.connections,
        }
    }

    fn transaction_context(&mut self) -> TransactionContext<'_> {
        TransactionContext {
            engine: &self.engine,
            process: &self.process,
            identity: &self.identity,
            settings: &self.settings,
            statement: &mut self.statement,
            transaction: &mut self.transaction,
            connections: &mut self.connections,
            locks: &mut self.locks,
        }
    }

    fn settings_context(&mut self) -> SettingsContext<'_> {
        self.load_context().base
    }

    fn load_context(&mut self) -> LoadContext<'_> {
        let base = SettingsContext {
            engine: &self.engine,
            process: &self.process,
            identity: &self.identity,
            settings: &mut self.settings,
            statement: &mut self.statement,
            transaction: &mut self.transaction,
            connections: &mut self.connections,
            locks: &mut self.locks,
        };
        LoadContext { base, loading: &mut self.loading }
    }

    fn prepare_context(&mut self) -> PrepareContext<'_> {
        PrepareContext {
            engine: &self.engine,
            process: &self.process,
            identity: &mut self.identity,
            settings: &self.settings,
            statement: &mut self.statement,
            transaction: &mut self.transaction,
            connections: &mut self.connections,
            locks: &mut self.locks,
            prepared: &mut self.prepared,
        }
    }

    fn account_context(&mut self) -> AccountContext<'_> {
        AccountContext {
            engine: &self.engine,
            process: &self.process,
            identity: &mut self.identity,
            settings: &self.settings,
            diagnostics: self.statement.diagnostics(),
        }
    }

    fn server_context(&mut self) -> ServerContext<'_> {
        ServerContext {
            engine: &self.engine,
            diagnostics: self.statement.diagnostics(),
            connections: &mut self.connections,
        }
    }

    /// Lets the session read text and names as it did when a statement was prepared. The caller
    /// also calls [`Self::leave_prepared`], as the lifecycle does where a kill has come between.
    fn enter_prepared(&mut self, prepared: &PreparedStatement, has_parameters: bool) {
        let database = prepared.database().map(str::to_owned);
        self.settings.enter_prepared(database, prepared.mode());
        self.statement.set_has_parameters(has_parameters);
    }

    /// Goes back to the session's own database and mode; nothing where no prepared statement runs.
    fn leave_prepared(&mut self) {
        self.statement.set_has_parameters(false);
        self.settings.leave_prepared();
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
        let Ok((first, rest)) =
            long_text::read_long(sql, &stop, &self.reads().stage_memory(), split)
        else {
            self.statement.stop_next();
            return (sql, "");
        };
        // One token tells: reading all the rest before every statement would take its square.
        let is_empty = Lexer::new(rest, self.settings.mode()).next().is_none();
        (first, if is_empty { "" } else { rest })
    }

    /// Whether a text is one statement that takes a short time: `KILL`, `SET` of plain values,
    /// `SELECT` of constants and system variables, `SHOW` of this server's own state.
    pub fn is_light(&self, sql: &str) -> bool {
        light::is_light(sql, self.settings.mode())
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// MySQL's errors; the session continues.
    pub async fn execute(&mut self, sql: &str, format: RowFormat) -> Result<Outcome> {
        statement_lifecycle::run(self, "Query", sql, format).await
    }

    /// Prepares one statement for [`Self::execute_prepared`].
    ///
    /// # Errors
    /// MySQL's errors; the session continues.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        prepare::prepare_numbered(&mut self.prepare_context(), sql).await
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
        let (sql, prepared) = self.prepared.bound(id, &parameters)?;
        self.enter_prepared(&prepared, !parameters.is_empty());
        let outcome = statement_lifecycle::run(self, "Execute", &sql, RowFormat::Binary).await;
        self.leave_prepared();
        Ok(prepared.with_names(outcome?))
    }

    /// Takes bytes of the file that [`Outcome::File`] requested. After an error the rest of the
    /// file is ignored, and [`Self::loaded`] gives the error.
    pub async fn load(&mut self, bytes: &[u8]) {
        load::take_bytes(&mut self.load_context(), bytes).await;
    }

    /// The file cannot be taken: nothing more of it is loaded, and [`Self::loaded`] gives the
    /// error.
    pub fn fail_load(&mut self, error: Error) {
        if let Some(loading) = &mut self.loading {
            loading.fail(error);
        }
    }

    /// The end of the file: returns the outcome of the statement.
    ///
    /// # Errors
    /// Errors of its rows; no file was requested (1105).
    pub async fn loaded(&mut self) -> Result<Outcome> {
        load::finish(&mut self.load_context()).await
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
        use_database::run(&mut self.settings_context(), name).await
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
        let view = self.reads().view();
        let context = self.reads().query_context(&view);
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
        self.settings_context().set_database(database);
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
