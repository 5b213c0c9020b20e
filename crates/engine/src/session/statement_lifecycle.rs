//! The lifecycle of a statement: privileges, kill, time limit, warnings and counters.

use std::sync::Arc;
use std::time::Duration;

use pelorus_env::{Reservation, StageMemory, blocking, check_stage_memory};
use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::Stop;
use pelorus_sql::statement::{
    DdlAction, Explain, ExplainTarget, Prepare, PrepareSource, ShowKind, WriteKind, timed,
};
use pelorus_sql::{Mode, Statement};

use super::Session;
use super::primary_connection::shows_insert_id;
use super::statement_snapshot::View;
use super::stream::{Limits, Running, guard};
use crate::api::{Outcome, RowFormat};
use crate::global_read_lock::Change;
use crate::status::count;

/// The global variables that forbid writes.
const READ_ONLY: [&str; 2] = ["super_read_only", "read_only"];

/// Most characters of a statement that the list of sessions shows.
const INFO_CHARS_MAX: usize = 65_535;

impl Session {
    /// Runs a statement from its text to its result.
    pub(super) async fn run(
        &mut self,
        command: &'static str,
        sql: &str,
        format: RowFormat,
    ) -> Result<Outcome> {
        let counters = &self.process.counters;
        count(&counters.questions);
        count(&counters.queries);
        self.statement.begin(Stop::of(self.handle()));
        if self.statement.take_stopped_early() {
            return self.failed_early(Error::interrupted());
        }
        let own_limit = timed(sql, self.settings.mode());
        let sql = own_limit.map_or(sql, |(_, rest)| rest);
        let statement = match self.classified(sql, self.statement.stop()) {
            Ok(statement) => statement,
            Err(error) => return self.failed_early(error),
        };
        let text = match self.hold_text(sql) {
            Ok(text) => text,
            Err(error) => return self.failed_early(error),
        };
        let running = self.show_running(command, &statement, sql);
        let time = match own_limit {
            Some((seconds, _)) => {
                Duration::try_from_secs_f64(seconds).ok().filter(|it| !it.is_zero())
            }
            None => self.time_limit(&statement),
        };
        let limits =
            Limits { stop: self.statement.stop().clone(), time, is_own: own_limit.is_some() };
        // Servers are asked here, too: a kill need not wait for them.
        let settled = tokio::select! {
            biased;
            settled = self.settle(sql, &statement) => settled,
            error = limits.clone().reached() => Err(error),
        };
        if let Err(error) = settled {
            return self.failed_early(error);
        }
        let view = self.view();
        if !reads_diagnostics(&statement) {
            self.begin_diagnostics();
        }
        let outcome = tokio::select! {
            biased;
            outcome = self.checked(&view, sql, &statement, format) => outcome,
            error = limits.clone().reached() => Err(error),
        };
        drop(text);
        // An EXECUTE that was killed has not come to it.
        self.leave_prepared();
        match outcome {
            Ok(Outcome::Rows(set)) => {
                self.statement.has_no_row_count();
                let diagnostics = self.statement.diagnostics().clone();
                Ok(Outcome::Rows(guard(set, limits, diagnostics, running)))
            }
            Ok(Outcome::Done(mut done)) => {
                self.statement.count_rows(done.affected_rows);
                done.warnings = done.warnings.max(self.statement.diagnostics().packet_count());
                Ok(Outcome::Done(done))
            }
            Ok(outcome @ Outcome::File(_)) => {
                if let Some(loading) = &mut self.loading {
                    loading.running = Some(running);
                }
                Ok(outcome)
            }
            Err(error) => self.failed(error),
        }
    }

    /// Counts the memory of a long text while a statement is read: tokens, a tree, values.
    fn hold_text(&self, sql: &str) -> Result<Reservation> {
        /// Shorter ones are not counted.
        const LONG: usize = 64 << 10;
        /// How often the text is there.
        const COPIES: usize = 3;
        let bytes = if sql.len() > LONG { sql.len().saturating_mul(COPIES) } else { 0 };
        self.engine.memory().statements().reserve(bytes).map_err(Error::out_of_memory)
    }

    /// Determines the results of earlier statements that this one needs. If it is cancelled, it
    /// runs again before the next one.
    async fn settle(&mut self, sql: &str, statement: &Statement) -> Result<()> {
        self.settle_transaction().await?;
        self.learn_found_rows(statement).await?;
        if self.transaction.insert_id_on.is_some() && shows_insert_id(sql, statement) {
            self.learn_insert_id().await?;
        }
        Ok(())
    }

    /// Clears the diagnostics of the previous statement.
    pub(super) fn begin_diagnostics(&mut self) {
        let conditions_max = self.settings.variables().count("max_error_count");
        self.statement.begin_diagnostics(conditions_max);
        self.transaction.forget_warnings();
    }

    /// The end of a statement that has not come to run.
    fn failed_early(&mut self, error: Error) -> Result<Outcome> {
        self.begin_diagnostics();
        self.failed(error)
    }

    fn failed(&mut self, error: Error) -> Result<Outcome> {
        self.statement.fail(&error);
        if error.code() == Code::Internal {
            tracing::error!(
                session = self.id(),
                error = pelorus_error::display_chain(&error),
                "statement failed"
            );
        }
        Err(error)
    }

    pub(super) async fn checked(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        statement: &Statement,
        format: RowFormat,
    ) -> Result<Outcome> {
        self.check_rights(statement)?;
        self.count_statement(statement);
        let _change = self.wait_for_global_read_lock(statement).await?;
        if statement.implicit_commit() {
            self.commit_before(statement).await?;
        }
        self.dispatch(view, sql, statement, format).await
    }

    /// Waits for the sessions that hold the global read lock, before a statement that may change
    /// native tables.
    ///
    /// # Errors
    /// The session holds it itself (1223).
    async fn wait_for_global_read_lock(&self, statement: &Statement) -> Result<Option<Change>> {
        let commits = statement.implicit_commit() || matches!(statement, Statement::Commit(_));
        let changes = changes_data(statement) || commits && self.transaction.has_written_native();
        if !changes {
            return Ok(None);
        }
        if self.transaction.global_read_lock.is_some() {
            return Err(Error::new(
                Code::ConflictingReadLock,
                "Can't execute the query because you have a conflicting read lock",
            ));
        }
        Ok(Some(self.engine.global_read_lock().change().await))
    }

    /// The session as of now.
    pub(super) fn view(&self) -> Arc<View> {
        let since_epoch = self.engine.env().clock.since_epoch();
        Arc::new(View {
            engine: self.engine.clone(),
            id: self.id(),
            user: self.identity.user(),
            account: self.identity.account().clone(),
            read_only: self.identity.is_read_only(),
            database: self.settings.database().map(str::to_owned),
            variables: self.settings.variables().clone(),
            user_variables: Arc::clone(self.settings.user_variables()),
            warning_count: self.statement.diagnostics().count(),
            error_count: self.statement.diagnostics().errors(),
            found_rows: self.statement.diagnostics().found_rows(),
            last_insert_id: self.statement.last_insert_id(),
            row_count: self.statement.row_count(),
            now_micros: i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX),
            native: self.native_reads(),
            time_zone: self.settings.time_zone(self.engine.zone().zone),
        })
    }

    fn show_running(&self, command: &'static str, statement: &Statement, sql: &str) -> Running {
        let info = if has_secret(statement, self.settings.mode()) {
            "(statement with a password)".to_owned()
        } else {
            sql.chars().take(INFO_CHARS_MAX).collect()
        };
        let env = self.engine.env().clone();
        self.process.update(|activity| {
            activity.command = command;
            activity.state = "executing";
            activity.info = Some(info);
            activity.since = env.clock.monotonic();
        });
        Running { process: self.process.clone(), env }
    }

    /// `max_execution_time` holds for SELECT only.
    fn time_limit(&self, statement: &Statement) -> Option<Duration> {
        let milliseconds = self.settings.variables().count("max_execution_time");
        (milliseconds > 0 && matches!(statement, Statement::Query(_)))
            .then(|| Duration::from_millis(milliseconds))
    }

    /// Refuses statements that read-only accounts may not run, when they are prepared and when they
    /// run.
    pub(super) fn check_account(&mut self, statement: &Statement) -> Result<()> {
        self.identity.refresh_rights(self.engine.accounts());
        let locks = matches!(statement, Statement::Query(facts) if facts.locking);
        if self.identity.is_read_only()
            && (statement.is_write() || locks)
            && !is_own_password(statement)
        {
            return Err(self.denied(statement));
        }
        Ok(())
    }

    /// Refuses what read-only accounts, servers and transactions may not do.
    fn check_rights(&mut self, statement: &Statement) -> Result<()> {
        self.check_account(statement)?;
        for name in READ_ONLY {
            if self.engine.globals().get(name).is_on() && changes_data(statement) {
                return Err(Error::new(
                    Code::OptionPreventsStatement,
                    format!(
                        "The MySQL server is running with the --{} option so it cannot execute \
                         this statement",
                        name.replace('_', "-")
                    ),
                ));
            }
        }
        if changes_data(statement) && self.transaction_is_read_only() {
            return Err(read_only_transaction());
        }
        Ok(())
    }

    /// Whether statements of this session on linked servers only read, those of stored functions
    /// too: for the account's sake, the server's or the transaction's.
    pub(super) fn only_reads(&self) -> bool {
        let globals = self.engine.globals();
        self.identity.is_read_only()
            || self.transaction_is_read_only()
            || READ_ONLY.iter().any(|name| globals.get(name).is_on())
    }

    /// The error of a read-only account for a statement that may change something.
    fn denied(&self, statement: &Statement) -> Error {
        match statement {
            Statement::Write(write) => {
                self.identity.table_denied(write_word(write.kind), write.tables.first())
            }
            Statement::Ddl(ddl) => {
                self.identity.table_denied(ddl_word(ddl.action), ddl.names.first())
            }
            Statement::Query(facts) if facts.locking => {
                self.identity.table_denied("SELECT with locking clause", facts.tables.first())
            }
            Statement::LockTables(tables) => {
                self.identity.table_denied("LOCK TABLES", tables.first().map(|(table, _)| table))
            }
            Statement::Explain(Explain { target: ExplainTarget::Statement(_, inner), .. }) => {
                self.denied(inner)
            }
            _ => Error::new(
                Code::SpecificAccessDenied,
                format!(
                    "Access denied; account {} is READ ONLY, and this statement needs one that may \
                     change things",
                    self.identity.account()
                ),
            ),
        }
    }

    fn count_statement(&self, statement: &Statement) {
        let counters = &self.process.counters;
        count(match statement {
            Statement::Query(_) => &counters.select,
            Statement::Show(_) | Statement::Describe(_) => &counters.show,
            Statement::Set(_) => &counters.set,
            Statement::Begin(_) => &counters.begin,
            Statement::Commit(_) => &counters.commit,
            Statement::Rollback(_) => &counters.rollback,
            Statement::Kill(_) => &counters.kill,
            Statement::Prepare(_) => &counters.stmt_prepare,
            Statement::Execute(_) => &counters.stmt_execute,
            Statement::Deallocate(_) => &counters.stmt_close,
            Statement::Write(write) => match write.kind {
                WriteKind::Insert => &counters.insert,
                WriteKind::Replace => &counters.replace,
                WriteKind::Update => &counters.update,
                WriteKind::Delete => &counters.delete,
                _ => return,
            },
            _ => return,
        });
    }
}

impl Session {
    /// Reads what a statement is.
    pub(super) fn classified(&self, sql: &str, stop: &Stop) -> Result<Statement> {
        let memory = self.stage_memory();
        read_long(sql, stop, &memory, || pelorus_sql::classify(sql, self.settings.mode()))?
    }
}

/// Reads a text, and stops when that is wished or its tree has no more memory; away from the threads
/// that serve others where the text is long. The tree counts as long as `memory` is there.
pub(super) fn read_long<T>(
    sql: &str,
    stop: &Stop,
    memory: &StageMemory,
    read: impl FnOnce() -> T,
) -> Result<T> {
    /// A text of so many bytes takes about a millisecond.
    const LONG: usize = 64 << 10;
    if sql.len() < LONG {
        return Ok(read());
    }
    let stop = stop.clone();
    let stops = move || stop.is_asked() || check_stage_memory().is_err();
    let read = blocking(|| memory.count(|| pelorus_sql::stop::unless(stops, read)));
    read.map_err(|stopped| match memory.refused() {
        Some(refused) => Error::out_of_memory(refused),
        None => stopped,
    })
}

/// Statements that show the diagnostics of the one before leave them alone.
pub(super) fn reads_diagnostics(statement: &Statement) -> bool {
    matches!(statement, Statement::Show(show) if matches!(
        show.kind,
        ShowKind::Warnings | ShowKind::Errors | ShowKind::CountWarnings | ShowKind::CountErrors
    ))
}

/// Statements whose text may hold a password are not shown to others.
pub(super) fn has_secret(statement: &Statement, mode: Mode) -> bool {
    match statement {
        Statement::SetPassword(_)
        | Statement::CreateUser(_)
        | Statement::AlterUser(_)
        | Statement::CreateServer(_)
        | Statement::AlterServer(_)
        | Statement::Grant(_) => true,
        Statement::Prepare(Prepare { source: PrepareSource::Text(text), .. })
        | Statement::ExecuteImmediate(PrepareSource::Text(text)) => {
            match pelorus_sql::classify(text, mode) {
                Ok(inner) => has_secret(&inner, mode),
                // Its kind is unknown.
                Err(_) => true,
            }
        }
        _ => false,
    }
}

/// Error 1792.
pub(super) fn read_only_transaction() -> Error {
    Error::new(Code::ReadOnlyTransaction, "Cannot execute statement in a READ ONLY transaction.")
}

/// Everybody may change the own password.
fn is_own_password(statement: &Statement) -> bool {
    use pelorus_sql::statement::UserName::Current;
    match statement {
        Statement::SetPassword(set) => set.user == Current,
        Statement::AlterUser(alter) => {
            alter.users.iter().all(|spec| spec.user == Current)
                && alter.options == pelorus_sql::statement::UserOptions::default()
        }
        _ => false,
    }
}

/// Changes to rows and schemas of linked servers.
fn changes_data(statement: &Statement) -> bool {
    matches!(statement, Statement::Write(_) | Statement::Ddl(_))
        || matches!(statement, Statement::Maintenance(_)) && statement.is_write()
}

fn write_word(kind: WriteKind) -> &'static str {
    match kind {
        WriteKind::Insert | WriteKind::Replace => "INSERT",
        WriteKind::Update => "UPDATE",
        WriteKind::Delete => "DELETE",
        WriteKind::Load => "LOAD",
        WriteKind::Import => "IMPORT",
        WriteKind::Call => "EXECUTE",
        WriteKind::Compound => "BEGIN",
    }
}

fn ddl_word(action: DdlAction) -> &'static str {
    match action {
        DdlAction::Create => "CREATE",
        DdlAction::Alter => "ALTER",
        DdlAction::Drop | DdlAction::Truncate => "DROP",
        DdlAction::Rename => "ALTER",
    }
}
