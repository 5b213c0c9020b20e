//! `PREPARE` and `DEALLOCATE PREPARE`, and preparation for the binary protocol.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::Stop;
use pelorus_result::scalar::text_of;
use pelorus_sql::Statement;
use pelorus_sql::statement::{Prepare, PrepareSource, Write, WriteKind, timed};
use pelorus_types::Column;

use super::done;
use crate::api::{Done, Outcome, Prepared};
use crate::engine::Engine;
use crate::processlist::Process;
use crate::session::access_rights::check_account;
use crate::session::context::{ReadContext, TransactionContext};
use crate::session::state::client_settings::ClientSettings;
use crate::session::state::held_locks::HeldLocks;
use crate::session::state::identity::Identity;
use crate::session::state::prepared_statements::{
    PreparedMemory, PreparedStatement, PreparedStatements,
};
use crate::session::state::primary_connections::PrimaryConnections;
use crate::session::state::statement_state::StatementState;
use crate::session::state::transaction::Transaction;
use crate::session::state::user_variables::user_variable;
use crate::session::{primary_statement, query_execution, query_routing, user_locks};
use crate::status::count;

/// Most parameters of a statement, as the protocol counts them.
const PARAMETERS_MAX: usize = 65_535;

/// What preparation uses. It looks up the rights of the account, and may describe a query on the
/// session's own connection.
pub(crate) struct PrepareContext<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) process: &'a Arc<Process>,
    pub(crate) identity: &'a mut Identity,
    pub(crate) settings: &'a ClientSettings,
    pub(crate) statement: &'a mut StatementState,
    pub(crate) transaction: &'a mut Transaction,
    pub(crate) connections: &'a mut PrimaryConnections,
    pub(crate) locks: &'a mut HeldLocks,
    pub(crate) prepared: &'a mut PreparedStatements,
}

impl PrepareContext<'_> {
    fn transaction_context(&mut self) -> TransactionContext<'_> {
        TransactionContext {
            engine: self.engine,
            process: self.process,
            identity: self.identity,
            settings: self.settings,
            statement: self.statement,
            transaction: self.transaction,
            connections: self.connections,
            locks: self.locks,
        }
    }
}

/// Prepares a statement for the binary protocol.
///
/// # Errors
/// MySQL's errors; the session continues.
pub(crate) async fn prepare_numbered(cx: &mut PrepareContext<'_>, sql: &str) -> Result<Prepared> {
    let counters = &cx.process.counters;
    count(&counters.queries);
    count(&counters.stmt_prepare);
    let result = prepare_with_limit(cx, sql).await;
    if let Err(error) = &result {
        let mut cx = cx.transaction_context();
        cx.begin_diagnostics();
        cx.diagnostics().error(error);
    }
    result
}

async fn prepare_with_limit(cx: &mut PrepareContext<'_>, sql: &str) -> Result<Prepared> {
    // A time limit in front holds when the statement is executed.
    let rest = timed(sql, cx.settings.mode()).map_or(sql, |(_, rest)| rest);
    let (mut statement, columns) = prepare(cx, rest).await?;
    if rest.len() < sql.len() {
        statement.set_text(sql);
    }
    let parameters = statement.parameters();
    let id = cx.prepared.add(statement);
    Ok(Prepared { id, parameters, columns, warnings: 0 })
}

/// `PREPARE name FROM ...`. A statement of that name is gone even when the new one is wrong.
///
/// # Errors
/// Errors of the statement.
pub(crate) async fn prepare_named(
    cx: &mut PrepareContext<'_>,
    prepared: &Prepare,
) -> Result<Outcome> {
    cx.prepared.remove_named(&prepared.name);
    let sql = source_text(cx.settings, &prepared.source);
    let (statement, _) = prepare(cx, &sql).await?;
    cx.prepared.add_named(&prepared.name, statement);
    let done = Done { info: "Statement prepared".to_owned(), ..Done::default() };
    Ok(Outcome::Done(done))
}

/// `DEALLOCATE PREPARE name`.
///
/// # Errors
/// No such statement (1243).
pub(crate) fn deallocate(prepared: &mut PreparedStatements, name: &str) -> Result<Outcome> {
    prepared.named(name, "DEALLOCATE PREPARE")?;
    prepared.remove_named(name);
    Ok(done())
}

/// The text that `PREPARE` and `EXECUTE IMMEDIATE` name.
pub(crate) fn source_text(settings: &ClientSettings, source: &PrepareSource) -> String {
    match source {
        PrepareSource::Text(text) => text.clone(),
        PrepareSource::Variable(name) => {
            let (value, ty) = user_variable(settings.user_variables(), name);
            // MySQL reads the text "NULL" from a variable that is NULL.
            if value.is_null() { "NULL".to_owned() } else { text_of(&value, &ty) }
        }
    }
}

async fn prepare(
    cx: &mut PrepareContext<'_>,
    sql: &str,
) -> Result<(PreparedStatement, Vec<Column>)> {
    let (mut prepared, statement) = check_preparable(cx.transaction_context().reads(), sql)?;
    check_account(cx.identity, cx.engine.accounts(), &statement)?;
    let columns = match &statement {
        Statement::Query(facts) => {
            let cx = &mut cx.transaction_context();
            match query_routing::link_of_own_connection(cx.reads(), sql, &facts.tables, false)
                .await?
            {
                // Others do not see its temporary tables, and would wait for its locks.
                Some(link) if cx.connections.holds_state_on(link.name()) => {
                    primary_statement::describe(cx, &link, sql).await?
                }
                _ => describe_query(cx.reads(), sql).await?,
            }
        }
        // Columns of other statements are sent when they are executed.
        _ => Vec::new(),
    };
    prepared.set_columns(&columns)?;
    Ok((prepared, columns))
}

/// The columns of a query that may run anywhere.
async fn describe_query(cx: ReadContext<'_>, sql: &str) -> Result<Vec<Column>> {
    let mode = cx.settings.mode();
    let tables = pelorus_sql::statement::references(sql, mode).tables;
    cx.routing().refresh_links(&tables).await;
    let located = user_locks::described(sql, mode)?;
    let sql = located.as_deref().unwrap_or(sql);
    let mut tries = 0;
    loop {
        let context = cx.client_query_context(&cx.view());
        let error = match pelorus_query::describe(&context, sql).await {
            Ok(columns) => return Ok(columns),
            Err(error) => error,
        };
        if !query_execution::waits_for_change(cx, &error, &mut tries).await {
            return Err(error);
        }
    }
}

/// Refuses statements that cannot be prepared.
///
/// # Errors
/// 1295, a text that cannot be read, too many parameters or statements.
pub(crate) fn check_preparable(
    cx: ReadContext<'_>,
    sql: &str,
) -> Result<(PreparedStatement, Statement)> {
    let mode = cx.settings.mode();
    let limit = cx.engine.globals().get("max_prepared_stmt_count").count();
    let held = PreparedMemory::new(cx.engine.prepared(), limit, cx.settings.memory())?;
    let database = cx.settings.database().map(str::to_owned);
    let mut prepared = PreparedStatement::new(sql, mode, database, held)?;
    let statement = cx.classified(sql, &Stop::of(cx.process.handle.clone()))?;
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
    let parameters = pelorus_sql::placeholders(sql, mode).len();
    if parameters > PARAMETERS_MAX {
        return Err(Error::new(
            Code::TooManyParameters,
            "Prepared statement contains too many placeholders",
        ));
    }
    prepared.set_parameters(u16::try_from(parameters).unwrap_or(u16::MAX));
    Ok((prepared, statement))
}
