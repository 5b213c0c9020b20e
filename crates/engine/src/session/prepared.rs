//! Prepared statements: by number for the binary protocol, by name for `PREPARE`.
//!
//! A statement is stored as text. Its parameters become literals when it is executed, so that a
//! linked server receives the text of a client that writes literals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pelorus_env::{Account, Reservation};
use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::Stop;
use pelorus_result::scalar::{sql_of, sql_of_parameter, text_of};
use pelorus_sql::statement::{Execute, Prepare, PrepareSource, Write, WriteKind, timed};
use pelorus_sql::{Mode, Statement};
use pelorus_types::Column;

use super::Session;
use super::state::user_variables::user_variable;
use super::statement_snapshot::View;
use crate::api::{Done, Outcome, Parameter, Prepared, RowFormat};
use crate::status::count;

/// Most parameters of a statement, as the protocol counts them.
const PARAMETERS_MAX: usize = 65_535;

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    numbered: BTreeMap<u32, Entry>,
    /// By name in lower case.
    named: BTreeMap<String, Entry>,
    last: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    sql: Arc<str>,
    parameters: u16,
    /// The names of its columns: those of the text with `?`, not with values.
    names: Arc<[String]>,
    /// The database of names without one: the current database when it was prepared.
    database: Option<String>,
    /// How its text is to be read.
    mode: Mode,
    /// Its memory reservation.
    held: Arc<Held>,
}

/// One of the prepared statements of all sessions, with its memory.
#[derive(Debug)]
struct Held {
    count: Arc<AtomicUsize>,
    memory: Reservation,
}

impl Held {
    /// One more, unless there are as many as there may be (1461).
    fn new(count: &Arc<AtomicUsize>, limit: u64, memory: &Account) -> Result<Self> {
        // Ordering: a count, which publishes nothing else.
        let more = |count: usize| ((count as u64) < limit).then_some(count + 1);
        if count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return Err(Error::new(
                Code::TooManyPrepared,
                format!(
                    "Can't create more than max_prepared_stmt_count statements (current value: \
                     {limit})"
                ),
            ));
        }
        Ok(Self { count: Arc::clone(count), memory: memory.empty() })
    }

    /// Takes memory for texts of so many bytes (1041).
    fn resize(&mut self, texts: usize) -> Result<()> {
        /// The overhead of a statement apart from texts, here and at the edge.
        const OVERHEAD: usize = 512;
        self.memory.try_resize(OVERHEAD + texts).map_err(Error::out_of_memory)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PreparedStatements {
    pub(super) fn parameter_count(&self, id: u32) -> Option<u16> {
        self.numbered.get(&id).map(|entry| entry.parameters)
    }

    pub(super) fn close(&mut self, id: u32) {
        self.numbered.remove(&id);
    }

    /// The text of a numbered statement with its parameters, and the statement.
    pub(super) fn bound(&self, id: u32, parameters: &[Parameter]) -> Result<(String, Entry)> {
        let entry = self.numbered.get(&id).ok_or_else(|| {
            let name = id.to_string();
            unknown(&name, "mysqld_stmt_execute")
        })?;
        let literals = parameters
            .iter()
            .map(|parameter| sql_of_parameter(parameter, entry.mode))
            .collect::<Result<Vec<_>>>()?;
        Ok((pelorus_sql::bind(&entry.sql, entry.mode, &literals)?, entry.clone()))
    }
}

impl Session {
    /// Prepares a statement for the binary protocol.
    pub(super) async fn prepare_numbered(&mut self, sql: &str) -> Result<Prepared> {
        let counters = &self.process.counters;
        count(&counters.queries);
        count(&counters.stmt_prepare);
        let result = self.prepare_checked(sql).await;
        if let Err(error) = &result {
            self.begin_diagnostics();
            self.statement.diagnostics().error(error);
        }
        result
    }

    async fn prepare_checked(&mut self, sql: &str) -> Result<Prepared> {
        // A time limit in front holds when the statement is executed.
        let rest = timed(sql, self.settings.mode()).map_or(sql, |(_, rest)| rest);
        let (mut entry, columns) = self.prepare_entry(rest).await?;
        if rest.len() < sql.len() {
            entry.sql = sql.into();
        }
        let parameters = entry.parameters;
        let numbers = &mut self.prepared;
        // Numbers are used again only after four billion statements; skip those still in use.
        loop {
            numbers.last = numbers.last.wrapping_add(1).max(1);
            if !numbers.numbered.contains_key(&numbers.last) {
                break;
            }
        }
        let id = numbers.last;
        numbers.numbered.insert(id, entry);
        Ok(Prepared { id, parameters, columns, warnings: 0 })
    }

    async fn prepare_entry(&mut self, sql: &str) -> Result<(Entry, Vec<Column>)> {
        let (mut entry, statement) = self.check_preparable(sql)?;
        self.check_account(&statement)?;
        let columns = match &statement {
            Statement::Query(facts) => match self.own_link(sql, &facts.tables, false).await? {
                // Others do not see its temporary tables, and would wait for its locks.
                Some(link) if self.transaction.holds_state_on(link.name()) => {
                    self.describe_on_pinned(&link, sql).await?
                }
                _ => self.describe_query(sql).await?,
            },
            // Columns of other statements are sent when they are executed.
            _ => Vec::new(),
        };
        entry.names = columns.iter().map(|column| column.name.clone()).collect();
        if let Some(held) = Arc::get_mut(&mut entry.held) {
            let names: usize =
                entry.names.iter().map(|name| name.len() + size_of::<String>()).sum();
            held.resize(sql.len() + names)?;
        }
        Ok((entry, columns))
    }

    /// The columns of a query that may run anywhere.
    async fn describe_query(&self, sql: &str) -> Result<Vec<Column>> {
        let tables = pelorus_sql::statement::references(sql, self.settings.mode()).tables;
        self.refresh_links(&tables).await;
        let located = self.described_user_locks(sql)?;
        let sql = located.as_deref().unwrap_or(sql);
        let mut tries = 0;
        loop {
            let context = self.context_of_query(&self.view());
            let error = match pelorus_query::describe(&context, sql).await {
                Ok(columns) => return Ok(columns),
                Err(error) => error,
            };
            if !self.waits_for_change(&error, &mut tries).await {
                return Err(error);
            }
        }
    }

    fn check_preparable(&self, sql: &str) -> Result<(Entry, Statement)> {
        let limit = self.engine.globals().get("max_prepared_stmt_count").count();
        let mut held = Held::new(self.engine.prepared(), limit, self.settings.memory())?;
        held.resize(sql.len())?;
        let statement = self.classified(sql, &Stop::of(self.handle()))?;
        match &statement {
            Statement::Empty => return Err(Error::new(Code::EmptyQuery, "Query was empty")),
            Statement::Prepare(_)
            | Statement::Execute(_)
            | Statement::ExecuteImmediate(_)
            | Statement::Deallocate(_)
            // There would be no client that could be asked for the file.
            | Statement::Write(Write { kind: WriteKind::Load, .. }) => {
                return Err(Error::new(
                    Code::NotPreparable,
                    "This command is not supported in the prepared statement protocol yet",
                ));
            }
            _ => {}
        }
        let parameters = pelorus_sql::placeholders(sql, self.settings.mode()).len();
        if parameters > PARAMETERS_MAX {
            return Err(Error::new(
                Code::TooManyParameters,
                "Prepared statement contains too many placeholders",
            ));
        }
        let parameters = u16::try_from(parameters).unwrap_or(u16::MAX);
        let entry = Entry {
            sql: sql.into(),
            parameters,
            names: Arc::default(),
            database: self.settings.database().map(str::to_owned),
            mode: self.settings.mode(),
            held: Arc::new(held),
        };
        Ok((entry, statement))
    }

    /// `PREPARE name FROM ...`. A statement of that name is gone even when the new one is wrong.
    pub(super) async fn prepare_named(&mut self, prepare: &Prepare) -> Result<Outcome> {
        let name = prepare.name.to_lowercase();
        self.prepared.named.remove(&name);
        let sql = self.prepare_source(&prepare.source)?;
        let (entry, _) = self.prepare_entry(&sql).await?;
        self.prepared.named.insert(name, entry);
        let done = Done { info: "Statement prepared".to_owned(), ..Done::default() };
        Ok(Outcome::Done(done))
    }

    fn prepare_source(&self, source: &PrepareSource) -> Result<String> {
        match source {
            PrepareSource::Text(text) => Ok(text.clone()),
            PrepareSource::Variable(name) => {
                let (value, ty) = user_variable(self.settings.user_variables(), name);
                // MySQL reads the text "NULL" from a variable that is NULL.
                Ok(if value.is_null() { "NULL".to_owned() } else { text_of(&value, &ty) })
            }
        }
    }

    /// `EXECUTE name USING ...`.
    pub(super) async fn execute_named(
        &mut self,
        view: &Arc<View>,
        execute: &Execute,
        format: RowFormat,
    ) -> Result<Outcome> {
        let entry = self
            .prepared
            .named
            .get(&execute.name.to_lowercase())
            .cloned()
            .ok_or_else(|| unknown(&execute.name, "EXECUTE"))?;
        let mut literals = Vec::with_capacity(execute.using.len());
        for expression in &execute.using {
            let (value, ty) = self.evaluate(view, expression).await?;
            literals.push(sql_of(&value, &ty, entry.mode)?);
        }
        let sql = pelorus_sql::bind(&entry.sql, entry.mode, &literals)?;
        self.enter_prepared(&entry, !literals.is_empty());
        let view = Arc::new(View {
            database: self.settings.database().map(str::to_owned),
            ..View::clone(view)
        });
        let outcome = self.run_text(&view, &sql, format).await;
        self.leave_prepared();
        outcome.map(|outcome| named(outcome, &entry))
    }

    /// Lets the session read text and names as it did when a statement was prepared. The caller
    /// also calls [`Self::leave_prepared`], as [`Self::run`] does where a kill has come between.
    pub(super) fn enter_prepared(&mut self, entry: &Entry, has_parameters: bool) {
        self.settings.enter_prepared(entry.database.clone(), entry.mode);
        self.statement.set_has_parameters(has_parameters);
    }

    /// Goes back to the session's own database and mode; nothing where no prepared statement runs.
    pub(super) fn leave_prepared(&mut self) {
        self.statement.set_has_parameters(false);
        self.settings.leave_prepared();
    }

    /// `EXECUTE IMMEDIATE` (MariaDB).
    pub(super) async fn execute_immediate(
        &mut self,
        view: &Arc<View>,
        source: &PrepareSource,
        format: RowFormat,
    ) -> Result<Outcome> {
        let sql = self.prepare_source(source)?;
        self.check_preparable(&sql)?;
        self.run_text(view, &sql, format).await
    }

    /// Runs a text inside of another statement.
    async fn run_text(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        format: RowFormat,
    ) -> Result<Outcome> {
        let statement = self.classified(sql, self.statement.stop())?;
        Box::pin(self.checked(view, sql, &statement, format)).await
    }

    /// `DEALLOCATE PREPARE name`.
    pub(super) fn deallocate(&mut self, name: &str) -> Result<Outcome> {
        self.prepared
            .named
            .remove(&name.to_lowercase())
            .map(|_| Outcome::Done(Done::default()))
            .ok_or_else(|| unknown(name, "DEALLOCATE PREPARE"))
    }
}

/// Renames the columns of a result as they were when the statement was prepared.
pub(super) fn named(outcome: Outcome, entry: &Entry) -> Outcome {
    let names = &entry.names;
    match outcome {
        Outcome::Rows(mut set) if set.columns.len() == names.len() => {
            for (column, name) in set.columns.iter_mut().zip(names.iter()) {
                column.name.clone_from(name);
            }
            Outcome::Rows(set)
        }
        other => other,
    }
}

/// Error 1243.
fn unknown(name: &str, command: &str) -> Error {
    Error::new(
        Code::UnknownStatement,
        format!("Unknown prepared statement handler ({name}) given to {command}"),
    )
}
