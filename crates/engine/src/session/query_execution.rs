//! The execution of queries here, over mirrors, native tables and linked servers.

use std::sync::Arc;
use std::time::Duration;

use pelorus_error::{Code, Error, Result};
use pelorus_native::write::select_for_update::has_for_update;
use pelorus_sql::statement::QueryFacts;

use super::access_rights::read_only_transaction;
use super::context::{ReadContext, TransactionContext};
use super::statement_snapshot::View;
use super::{mirror_routing, native_statement};
use crate::api::{Outcome, ResultSet, RowFormat};

/// How often a statement is planned again while a table is being altered; each time it waits a
/// millisecond longer, five seconds altogether.
const CHANGE_TRIES: u32 = 100;

/// Runs a query over mirrors where all of its tables have copies that are fresh enough. `None`:
/// it is the server's to answer.
pub(crate) async fn run_over_mirrors(
    cx: &mut TransactionContext<'_>,
    sql: &str,
    facts: &QueryFacts,
    select_limit: Option<u64>,
    format: RowFormat,
) -> Option<ResultSet> {
    let mirrored = Arc::new(mirror_routing::mirrored(cx, &facts.tables).await?);
    // The moment that the copies are known to be fresh at is later than the statement's
    // beginning.
    let view = cx.reads().view();
    let mut context = cx.reads().query_context_over(&view, Some(Arc::clone(&mirrored)));
    context.options.select_limit = select_limit;
    match cx.reads().run_query(&context, sql, format).await {
        // Resynchronised or renamed since: the plan may be over a part of the rows.
        _ if !mirrored.holds() => tracing::debug!("a mirror has changed under a query"),
        Ok(rows) => {
            mirrored.note_query();
            return Some(rows);
        }
        // What cannot run here, or is wrong, is the server's to answer.
        Err(error) => tracing::debug!(%error, "a query of mirrors goes to the server"),
    }
    None
}

/// Protects the rows that a locking query finds, for the open transaction. A transaction that
/// only reads needs no protection.
///
/// The query runs twice, for the rows and for its result: both see the same moment, version and
/// variables, so that every returned row is protected.
pub(crate) async fn lock_rows(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    sql: &str,
) -> Result<()> {
    if cx.reads().transaction_is_read_only() {
        let is_write = has_for_update(sql, cx.settings.mode());
        return if is_write { Err(read_only_transaction()) } else { Ok(()) };
    }
    if !cx.transaction.is_open() {
        return Ok(());
    }
    // With what the transaction has written; it may have begun with this statement.
    let view = Arc::new(View { native: cx.reads().native_reads(), ..View::clone(view) });
    let mut plan = cx.reads().native_statement(&view).lock(sql).await?;
    native_statement::execute(cx, &mut plan, view.native.pin.version()).map(drop)
}

/// Plans and runs a query here.
pub(crate) async fn run(
    cx: ReadContext<'_>,
    view: &Arc<View>,
    sql: &str,
    format: RowFormat,
) -> Result<Outcome> {
    run_at_most(cx, view, sql, cx.settings.select_limit(), format).await
}

/// Plans and runs a query here, again while tables that it reads are being altered.
pub(crate) async fn run_at_most(
    cx: ReadContext<'_>,
    view: &Arc<View>,
    sql: &str,
    select_limit: Option<u64>,
    format: RowFormat,
) -> Result<Outcome> {
    let mut view = Arc::clone(view);
    let mut tries = 0;
    loop {
        let mut context = cx.client_query_context(&view);
        context.options.select_limit = select_limit;
        let error = match cx.run_query(&context, sql, format).await {
            Ok(rows) => return Ok(Outcome::Rows(rows)),
            Err(error) => error,
        };
        if !waits_for_change(cx, &error, &mut tries).await {
            return Err(error);
        }
        // The same statement, of the tables as they are now.
        view = Arc::new(View { native: cx.native_reads(), ..View::clone(&view) });
    }
}

/// Waits a moment after an error that says that a table's definition has just changed (1412),
/// as MySQL waits for the lock of a table. `false`: the error is the statement's, because the
/// transaction must not see another version, or because the error has recurred for seconds.
pub(crate) async fn waits_for_change(cx: ReadContext<'_>, error: &Error, tries: &mut u32) -> bool {
    if error.code() != Code::TableChanged || *tries >= CHANGE_TRIES || cx.transaction.is_open() {
        return false;
    }
    *tries += 1;
    tokio::time::sleep(Duration::from_millis(u64::from(*tries))).await;
    true
}
