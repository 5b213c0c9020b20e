//! The lifecycle of a statement: rights, kill, time limit, warnings and counters.

use std::sync::Arc;
use std::time::Duration;

use pelorus_env::Reservation;
use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::Stop;
use pelorus_sql::statement::{Prepare, PrepareSource, ShowKind, WriteKind, timed};
use pelorus_sql::{Mode, Statement};

use super::access_rights::{changes_data, check_account, check_changes};
use super::context::{ReadContext, TransactionContext};
use super::primary_connection::{self, names_insert_id};
use super::state::client_settings::ClientSettings;
use super::statement_snapshot::View;
use super::statements::{found_rows, transaction_control};
use super::stream::{Limits, Running, guard};
use super::{Session, dispatch};
use crate::api::{Outcome, RowFormat};
use crate::global_read_lock::Change;
use crate::status::{Counters, count};

/// Most characters of a statement that the list of sessions shows.
const INFO_CHARS_MAX: usize = 65_535;

/// A statement that was read.
struct ReadStatement<'s> {
    /// Its text without the time limit in front.
    sql: &'s str,
    statement: Statement,
    /// The time limit in front of it, in seconds.
    own_limit: Option<f64>,
    /// The memory of a long text.
    _text: Reservation,
}

/// Runs a statement from its text to its result.
///
/// # Errors
/// MySQL's errors; the session continues.
pub(crate) async fn run(
    session: &mut Session,
    command: &'static str,
    sql: &str,
    format: RowFormat,
) -> Result<Outcome> {
    count(&session.process.counters.questions);
    count(&session.process.counters.queries);
    session.statement.begin(Stop::of(session.handle()));
    if session.statement.take_stopped_early() {
        return failed_early(&mut session.transaction_context(), Error::interrupted());
    }
    let read = match read(session.reads(), sql) {
        Ok(read) => read,
        Err(error) => return failed_early(&mut session.transaction_context(), error),
    };
    let running = show_running(session.reads(), command, &read);
    let limits = limits(session.reads(), &read);
    let ReadStatement { sql, statement, _text: text, .. } = read;
    // Servers are asked here, too: a kill need not wait for them.
    let cx = &mut session.transaction_context();
    let settled = tokio::select! {
        biased;
        settled = settle(cx, sql, &statement) => settled,
        error = limits.clone().reached() => Err(error),
    };
    if let Err(error) = settled {
        return failed_early(cx, error);
    }
    let view = session.reads().view();
    if !reads_diagnostics(&statement) {
        session.transaction_context().begin_diagnostics();
    }
    let outcome = tokio::select! {
        biased;
        outcome = checked(session, &view, sql, &statement, format) => outcome,
        error = limits.clone().reached() => Err(error),
    };
    drop(text);
    // An EXECUTE that was killed has not come to it.
    session.leave_prepared();
    match outcome {
        Ok(Outcome::Rows(set)) => {
            session.statement.has_no_row_count();
            let diagnostics = session.statement.diagnostics().clone();
            Ok(Outcome::Rows(guard(set, limits, diagnostics, running)))
        }
        Ok(Outcome::Done(mut done)) => {
            session.statement.count_rows(done.affected_rows);
            done.warnings = done.warnings.max(session.statement.diagnostics().packet_count());
            Ok(Outcome::Done(done))
        }
        Ok(outcome @ Outcome::File(_)) => {
            if let Some(loading) = &mut session.loading {
                loading.show_while_loading(running);
            }
            Ok(outcome)
        }
        Err(error) => failed(&mut session.transaction_context(), error),
    }
}

/// Runs a statement that was read, if it is allowed.
///
/// # Errors
/// MySQL's errors.
pub(crate) async fn checked(
    session: &mut Session,
    view: &Arc<View>,
    sql: &str,
    statement: &Statement,
    format: RowFormat,
) -> Result<Outcome> {
    let engine = Arc::clone(&session.engine);
    check_account(&mut session.identity, engine.accounts(), statement)?;
    let is_read_only = session.reads().transaction_is_read_only();
    check_changes(engine.globals(), is_read_only, statement)?;
    count_statement(&session.process.counters, statement);
    let _change = wait_for_global_read_lock(&session.transaction_context(), statement).await?;
    if statement.implicit_commit() {
        transaction_control::commit_before(&mut session.transaction_context(), statement).await?;
    }
    dispatch::dispatch(session, view, sql, statement, format).await
}

/// Reads a text.
fn read<'s>(cx: ReadContext<'_>, sql: &'s str) -> Result<ReadStatement<'s>> {
    let timed = timed(sql, cx.settings.mode());
    let sql = timed.map_or(sql, |(_, rest)| rest);
    let statement = cx.classified(sql, cx.statement.stop())?;
    let text = reserve_text(cx, sql)?;
    Ok(ReadStatement { sql, statement, own_limit: timed.map(|(seconds, _)| seconds), _text: text })
}

/// Counts the memory of a long text while a statement runs: tokens, a tree, values.
fn reserve_text(cx: ReadContext<'_>, sql: &str) -> Result<Reservation> {
    /// Shorter ones are not counted.
    const LONG: usize = 64 << 10;
    /// How often the text is there.
    const COPIES: usize = 3;
    let bytes = if sql.len() > LONG { sql.len().saturating_mul(COPIES) } else { 0 };
    cx.engine.memory().statements().reserve(bytes).map_err(Error::out_of_memory)
}

/// When the statement is to stop.
fn limits(cx: ReadContext<'_>, read: &ReadStatement<'_>) -> Limits {
    let time = match read.own_limit {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok().filter(|it| !it.is_zero()),
        None => time_limit(cx.settings, &read.statement),
    };
    Limits { stop: cx.statement.stop().clone(), time, is_own: read.own_limit.is_some() }
}

/// `max_execution_time` holds for SELECT only.
fn time_limit(settings: &ClientSettings, statement: &Statement) -> Option<Duration> {
    let milliseconds = settings.variables().count("max_execution_time");
    (milliseconds > 0 && matches!(statement, Statement::Query(_)))
        .then(|| Duration::from_millis(milliseconds))
}

/// Determines the results of earlier statements that this one needs. If it is cancelled, it runs
/// again before the next one.
async fn settle(cx: &mut TransactionContext<'_>, sql: &str, statement: &Statement) -> Result<()> {
    primary_connection::settle_transaction(cx).await?;
    if !reads_diagnostics(statement) {
        found_rows::fetch(cx).await?;
    }
    if cx.connections.insert_id_on().is_some() && shows_insert_id(sql, statement) {
        primary_connection::fetch_insert_id(cx).await?;
    }
    Ok(())
}

/// The end of a statement that has not come to run.
fn failed_early(cx: &mut TransactionContext<'_>, error: Error) -> Result<Outcome> {
    cx.begin_diagnostics();
    failed(cx, error)
}

fn failed(cx: &mut TransactionContext<'_>, error: Error) -> Result<Outcome> {
    cx.statement.fail(&error);
    if error.code() == Code::Internal {
        tracing::error!(
            session = cx.reads().id(),
            error = pelorus_error::display_chain(&error),
            "statement failed"
        );
    }
    Err(error)
}

/// Waits for the sessions that hold the global read lock, before a statement that may change
/// native tables.
///
/// # Errors
/// The session holds it itself (1223).
async fn wait_for_global_read_lock(
    cx: &TransactionContext<'_>,
    statement: &Statement,
) -> Result<Option<Change>> {
    let commits = statement.implicit_commit() || matches!(statement, Statement::Commit(_));
    let changes = changes_data(statement) || commits && cx.transaction.has_written_native();
    if !changes {
        return Ok(None);
    }
    if cx.locks.has_global_read_lock() {
        return Err(Error::new(
            Code::ConflictingReadLock,
            "Can't execute the query because you have a conflicting read lock",
        ));
    }
    Ok(Some(cx.engine.global_read_lock().change().await))
}

/// Shows a statement in the list of sessions until the result is dropped.
fn show_running(cx: ReadContext<'_>, command: &'static str, read: &ReadStatement<'_>) -> Running {
    let info = if has_secret(&read.statement, cx.settings.mode()) {
        "(statement with a password)".to_owned()
    } else {
        read.sql.chars().take(INFO_CHARS_MAX).collect()
    };
    let env = cx.engine.env().clone();
    cx.process.update(|activity| {
        activity.command = command;
        activity.state = "executing";
        activity.info = Some(info);
        activity.since = env.clock.monotonic();
    });
    Running { process: Arc::clone(cx.process), env }
}

fn count_statement(counters: &Counters, statement: &Statement) {
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

/// Statements that show the diagnostics of the one before leave them alone.
fn reads_diagnostics(statement: &Statement) -> bool {
    matches!(statement, Statement::Show(show) if matches!(
        show.kind,
        ShowKind::Warnings | ShowKind::Errors | ShowKind::CountWarnings | ShowKind::CountErrors
    ))
}

/// Whether a statement may show `LAST_INSERT_ID()`.
fn shows_insert_id(sql: &str, statement: &Statement) -> bool {
    // Prepared statements say it elsewhere.
    matches!(statement, Statement::Execute(_) | Statement::ExecuteImmediate(_))
        || names_insert_id(sql)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_show_the_last_insert_id_are_known() {
        let shows = |sql: &str| {
            let statement = pelorus_sql::classify(sql, Mode::default()).unwrap();
            shows_insert_id(sql, &statement)
        };
        for sql in ["SELECT Last_Insert_Id()", "SET @x = @@identity", "SHOW VARIABLES", "EXECUTE s"]
        {
            assert!(shows(sql), "{sql}");
        }
        assert!(!shows("INSERT INTO t (v) VALUES (1)"));
    }
}
