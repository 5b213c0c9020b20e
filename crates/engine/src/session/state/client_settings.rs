//! [`ClientSettings`]: what a client can set: variables, the current database, and with them how
//! its texts are read.

use std::sync::Arc;
use std::time::Duration;

use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::TimeZone;
use pelorus_result::scalar::Typed;
use pelorus_sql::Mode;
use pelorus_sql::statement::TableName;
use pelorus_types::{Collation, collation};

use super::user_variables::{UserVariable, UserVariables};
use crate::api::{Login, Timeouts};
use crate::variables::{Globals, SessionVariables, VarValue, Variable, check, find};

/// The settings of a client.
#[derive(Debug)]
pub(crate) struct ClientSettings {
    database: Option<String>,
    /// The database that becomes current again after the running prepared statement.
    own_database: Option<Option<String>>,
    variables: SessionVariables,
    /// The modes of `sql_mode` that affect parsing; cached because every statement needs them.
    mode: Mode,
    /// The same of the client itself: a prepared statement is read as it was when it was prepared.
    own_mode: Mode,
    user_variables: Arc<UserVariables>,
    /// The memory account of state that outlives a statement.
    memory: Account,
    /// One text may hold several statements.
    multi_statements: bool,
}

/// Variables as they were before a statement.
pub(crate) struct SavedVariables {
    variables: SessionVariables,
    user_variables: Arc<UserVariables>,
}

impl ClientSettings {
    /// The settings of a new session, before [`Self::reset`] applies those of the login.
    pub(crate) fn new(globals: &Globals, memory: Account) -> Self {
        Self {
            database: None,
            own_database: None,
            variables: SessionVariables::new(globals),
            mode: Mode::default(),
            own_mode: Mode::default(),
            user_variables: Arc::default(),
            memory,
            multi_statements: false,
        }
    }

    /// The settings after a login; no database is current.
    ///
    /// # Errors
    /// A SQL mode that cannot be set.
    pub(crate) fn reset(&mut self, globals: &Globals, login: &Login) -> Result<()> {
        self.variables = SessionVariables::new(globals);
        self.user_variables = Arc::default();
        self.use_client_collation(login);
        self.use_client_flags(login)?;
        self.variables_changed();
        self.own_database = None;
        self.database = None;
        Ok(())
    }

    /// The charset that the client named at login; one that cannot be a client's, or that is not
    /// known, leaves the default, as MySQL does.
    fn use_client_collation(&mut self, login: &Login) {
        let collation = Collation(login.collation);
        let Some(info) = collation.info() else { return };
        if matches!(info.charset, "ucs2" | "utf16" | "utf16le" | "utf32") {
            return;
        }
        let charset = VarValue::Text(info.charset.to_owned());
        for name in ["character_set_client", "character_set_connection", "character_set_results"] {
            self.variables.put(name, charset.clone());
        }
        self.variables.put("collation_connection", VarValue::Text(info.name.to_owned()));
    }

    /// Sets the variables that follow from the flags of the client.
    fn use_client_flags(&mut self, login: &Login) -> Result<()> {
        if login.interactive {
            self.variables.put("wait_timeout", self.variables.get("interactive_timeout"));
        }
        if login.ignore_space {
            let mode = format!("{},IGNORE_SPACE", self.variables.get("sql_mode").text());
            self.variables.set(find("sql_mode")?, &VarValue::Text(mode))?;
        }
        Ok(())
    }

    /// Updates state that is derived from variables.
    pub(crate) fn variables_changed(&mut self) {
        self.own_mode = Mode::from_sql_mode(self.variables.get("sql_mode").text());
        self.mode = self.own_mode;
        let memory = usize::try_from(self.variables.count("pelorus_session_memory"));
        self.memory.set_limit(memory.unwrap_or(usize::MAX));
    }

    /// The current database; while a prepared statement runs, the one that it was prepared in.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The current database of the client, whatever prepared statement runs.
    pub(crate) fn own_database(&self) -> Option<&str> {
        self.own_database.as_ref().unwrap_or(&self.database).as_deref()
    }

    /// Changes the current database, also after the prepared statement that says so.
    pub(crate) fn set_database(&mut self, database: Option<String>) {
        if let Some(own) = &mut self.own_database {
            own.clone_from(&database);
        }
        self.database = database;
    }

    /// No database is current where a dropped one was.
    pub(crate) fn leave_database(&mut self, name: &str) {
        let is_gone = |database: &Option<String>| database.as_deref() == Some(name);
        if self.own_database.as_ref().is_some_and(is_gone) {
            self.own_database = Some(None);
        }
        if is_gone(&self.database) {
            self.database = None;
        }
    }

    /// The database of a table as the client means it.
    ///
    /// # Errors
    /// A name without database when none is current (1046).
    pub(crate) fn database_of<'a>(&'a self, table: &'a TableName) -> Result<&'a str> {
        table
            .database
            .as_deref()
            .or(self.database())
            .ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))
    }

    /// Lets texts and names be read as they were when a statement was prepared.
    pub(crate) fn enter_prepared(&mut self, database: Option<String>, mode: Mode) {
        let own = std::mem::replace(&mut self.database, database);
        self.own_database = Some(own);
        self.mode = mode;
    }

    /// Goes back to the client's own database and mode; nothing where no prepared statement runs.
    pub(crate) fn leave_prepared(&mut self) {
        if let Some(own) = self.own_database.take() {
            self.database = own;
            self.mode = self.own_mode;
        }
    }

    pub(crate) fn variables(&self) -> &SessionVariables {
        &self.variables
    }

    pub(crate) fn user_variables(&self) -> &Arc<UserVariables> {
        &self.user_variables
    }

    /// How texts are read.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn memory(&self) -> &Account {
        &self.memory
    }

    pub(crate) fn has_multi_statements(&self) -> bool {
        self.multi_statements
    }

    pub(crate) fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }

    /// All variables, for [`Self::restore`].
    pub(crate) fn save(&self) -> SavedVariables {
        SavedVariables {
            variables: self.variables.clone(),
            user_variables: Arc::clone(&self.user_variables),
        }
    }

    /// Undoes all changes of variables since [`Self::save`].
    pub(crate) fn restore(&mut self, saved: SavedVariables) {
        self.variables = saved.variables;
        self.user_variables = saved.user_variables;
    }

    /// `SET SESSION`; [`SessionVariables::set`]. The caller calls [`Self::variables_changed`].
    pub(crate) fn set_variable(
        &mut self,
        variable: &'static Variable,
        value: &VarValue,
    ) -> Result<Option<String>> {
        self.variables.set(variable, value)
    }

    /// Sets a value that needs no check.
    pub(crate) fn put_variable(&mut self, name: &'static str, value: VarValue) {
        self.variables.put(name, value);
    }

    /// `SET name = DEFAULT`.
    pub(crate) fn reset_variable(
        &mut self,
        variable: &'static Variable,
        globals: &Globals,
    ) -> Result<()> {
        self.variables.reset(variable, globals)
    }

    /// Sets a user variable.
    ///
    /// # Errors
    /// A session without memory for the value (1041).
    pub(crate) fn set_user_variable(&mut self, name: &str, value: Typed) -> Result<()> {
        let name = name.to_lowercase();
        let value = Arc::new(UserVariable::new(&name, value, &self.memory)?);
        Arc::make_mut(&mut self.user_variables).insert(name.into(), value);
        Ok(())
    }

    pub(crate) fn has_sql_mode(&self, word: &str) -> bool {
        self.variables.get("sql_mode").text().split(',').any(|mode| mode == word)
    }

    /// Whether wrong values are errors, not warnings.
    pub(crate) fn is_strict(&self) -> bool {
        self.has_sql_mode("STRICT_TRANS_TABLES") || self.has_sql_mode("STRICT_ALL_TABLES")
    }

    /// Whether CHAR columns show their spaces, which they do on servers only.
    pub(crate) fn pads_char(&self) -> bool {
        self.has_sql_mode("PAD_CHAR_TO_FULL_LENGTH")
    }

    pub(crate) fn autocommit(&self) -> bool {
        self.variables.is_on("autocommit")
    }

    /// The most rows of a query that has no LIMIT of its own. What a statement reads to change rows
    /// is not limited.
    pub(crate) fn select_limit(&self) -> Option<u64> {
        let rows = self.variables.count("sql_select_limit");
        (rows < u64::MAX).then_some(rows)
    }

    /// Whether every query begins a transaction. What `autocommit = 0` makes of reads before the
    /// first write is the user's choice.
    pub(crate) fn reads_begin_transactions(&self) -> bool {
        !self.autocommit() && self.variables.get("pelorus_parallel_reads").text() == "AUTOCOMMIT"
    }

    /// `time_zone`; `SYSTEM` is the zone of the machine.
    pub(crate) fn time_zone(&self, of_machine: TimeZone) -> TimeZone {
        check::zone(self.variables.get("time_zone").text()).unwrap_or(of_machine)
    }

    /// The collation of literals.
    pub(crate) fn connection_collation(&self) -> Collation {
        let name = self.variables.get("collation_connection");
        Collation::by_name(name.text()).unwrap_or(collation::UTF8MB4_0900_AI_CI)
    }

    /// The charset in which the client writes statements, by its default collation.
    pub(crate) fn client_collation(&self) -> Collation {
        let name = self.variables.get("character_set_client");
        Collation::default_of(name.text()).unwrap_or(collation::UTF8MB4_0900_AI_CI)
    }

    /// The charset in which the client wants text, by its default collation; `None` if it wants
    /// text without conversion.
    pub(crate) fn results_collation(&self) -> Option<Collation> {
        match self.variables.get("character_set_results") {
            VarValue::Text(name) => Collation::default_of(&name),
            _ => None,
        }
    }

    /// How long the edge waits for the client.
    pub(crate) fn timeouts(&self) -> Timeouts {
        let seconds = |name| Duration::from_secs(self.variables.count(name));
        Timeouts {
            idle: seconds("wait_timeout"),
            read: seconds("net_read_timeout"),
            write: seconds("net_write_timeout"),
        }
    }
}
