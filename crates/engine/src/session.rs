//! One client's state, and what becomes of a statement.

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_types::Column;

use crate::api::{Login, Outcome, Parameter, Prepared, RowFormat, SessionStatus};
use crate::engine::Engine;
use crate::handle::Handle;

/// One client's session.
#[derive(Debug)]
pub struct Session {
    engine: Arc<Engine>,
    handle: Handle,
    login: Login,
    multi_statements: bool,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, id: u64, login: Login) -> Self {
        Self { engine, handle: Handle::new(id), login, multi_statements: false }
    }

    /// The engine that it belongs to.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The connection id.
    pub fn id(&self) -> u64 {
        self.handle.id()
    }

    /// Who is logged in.
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// The state that OK and EOF packets carry.
    pub fn status(&self) -> SessionStatus {
        SessionStatus { in_transaction: false, autocommit: true, no_backslash_escapes: false }
    }

    /// The outside end of this session.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Cuts the first statement from a text; the second part is the rest, empty when there is none.
    /// Without multi-statements the whole text is the statement.
    pub fn next_statement<'a>(&self, sql: &'a str) -> (&'a str, &'a str) {
        (sql, "")
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// Whatever MySQL would say; the session goes on.
    pub async fn execute(&mut self, sql: &str, format: RowFormat) -> Result<Outcome> {
        let _ = format;
        Err(Error::unsupported(sql))
    }

    /// Prepares one statement for [`Self::execute_prepared`].
    ///
    /// # Errors
    /// Whatever MySQL would say; the session goes on.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        Err(Error::unsupported(sql))
    }

    /// Runs a prepared statement; relayed rows come in [`RowFormat::Binary`].
    ///
    /// # Errors
    /// No such statement (1243), wrong number of parameters (1210), and what the statement gives.
    pub async fn execute_prepared(
        &mut self,
        id: u32,
        parameters: Vec<Parameter>,
    ) -> Result<Outcome> {
        let _ = (id, parameters);
        Err(Error::unsupported("prepared statements"))
    }

    /// How many `?` a prepared statement has; `None` when there is no such statement.
    pub fn parameter_count(&self, id: u32) -> Option<u16> {
        let _ = id;
        None
    }

    /// Forgets a prepared statement; one that does not exist is no error.
    pub fn close_prepared(&mut self, id: u32) {
        let _ = id;
    }

    /// Changes the current database (`COM_INIT_DB`).
    ///
    /// # Errors
    /// Unknown database (1049).
    pub async fn use_database(&mut self, name: &str) -> Result<()> {
        Err(Error::unsupported(name))
    }

    /// The columns of a table whose names fit a LIKE pattern (`COM_FIELD_LIST`); empty fits all.
    ///
    /// # Errors
    /// No database (1046), no such table (1146).
    pub async fn list_fields(&mut self, table: &str, wild: &str) -> Result<Vec<Column>> {
        let _ = wild;
        Err(Error::unsupported(table))
    }

    /// Becomes another user, verified by the edge; everything else is as after a new login.
    ///
    /// # Errors
    /// Unknown database (1049).
    pub async fn change_user(&mut self, login: Login) -> Result<()> {
        self.login = login;
        self.reset().await
    }

    /// Back to the state after login (`COM_RESET_CONNECTION`): transactions are rolled back,
    /// variables and prepared statements forgotten.
    ///
    /// # Errors
    /// When the database named at login is gone.
    pub async fn reset(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether one text may hold several statements (`COM_SET_OPTION`).
    pub fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }
}
