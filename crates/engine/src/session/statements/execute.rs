//! `EXECUTE` and `EXECUTE IMMEDIATE`. They run any statement, so they have the whole session.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_result::scalar::sql_of;
use pelorus_sql::statement::{Execute, PrepareSource};

use super::prepare::{check_preparable, source_text};
use crate::api::{Outcome, RowFormat};
use crate::session::statement_snapshot::View;
use crate::session::{Session, expressions, statement_lifecycle};

/// `EXECUTE name USING ...`.
///
/// # Errors
/// No such statement (1243), a wrong number of values (1210), errors of the statement.
pub(crate) async fn execute_named(
    session: &mut Session,
    view: &Arc<View>,
    execute: &Execute,
    format: RowFormat,
) -> Result<Outcome> {
    let prepared = session.prepared.named(&execute.name, "EXECUTE")?;
    let mut literals = Vec::with_capacity(execute.using.len());
    for expression in &execute.using {
        let cx = &mut session.transaction_context();
        let (value, ty) = expressions::evaluate(cx, view, expression).await?;
        literals.push(sql_of(&value, &ty, prepared.mode())?);
    }
    let sql = prepared.bind(&literals)?;
    session.enter_prepared(&prepared, !literals.is_empty());
    let database = prepared.database().map(str::to_owned);
    let view = Arc::new(View { database, ..View::clone(view) });
    let outcome = run_text(session, &view, &sql, format).await;
    session.leave_prepared();
    outcome.map(|outcome| prepared.with_names(outcome))
}

/// `EXECUTE IMMEDIATE` (MariaDB).
///
/// # Errors
/// A statement that cannot be prepared, errors of the statement.
pub(crate) async fn execute_immediate(
    session: &mut Session,
    view: &Arc<View>,
    source: &PrepareSource,
    format: RowFormat,
) -> Result<Outcome> {
    let sql = source_text(&session.settings, source);
    check_preparable(session.reads(), &sql)?;
    run_text(session, view, &sql, format).await
}

/// Runs a text inside of another statement.
async fn run_text(
    session: &mut Session,
    view: &Arc<View>,
    sql: &str,
    format: RowFormat,
) -> Result<Outcome> {
    let statement = session.reads().classified(sql, session.statement.stop())?;
    Box::pin(statement_lifecycle::checked(session, view, sql, &statement, format)).await
}
