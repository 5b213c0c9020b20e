//! `LOCK TABLES`, `UNLOCK TABLES` and `FLUSH TABLES WITH READ LOCK`.

use pelorus_error::{Code, Result};
use pelorus_sql::statement::{Completion, TableName};

use super::transaction_control;
use crate::api::{Done, Outcome, RowFormat};
use crate::session::context::TransactionContext;
use crate::session::{primary_connection, primary_statement};

/// `LOCK TABLES`.
pub(crate) async fn lock_tables(
    cx: &mut TransactionContext<'_>,
    sql: &str,
    tables: &[(TableName, bool)],
    format: RowFormat,
) -> Result<Outcome> {
    let tables: Vec<TableName> = tables.iter().map(|(table, _)| table.clone()).collect();
    let place = cx.routing().place(&tables).await?;
    if place.native.is_some() && place.only_link("LOCK TABLES")?.is_none() {
        // As on a server, a transaction ends here.
        if cx.transaction.is_open() {
            transaction_control::end(cx, "COMMIT", Completion::default()).await?;
        }
        // Readers of native tables see one version and writers do not wait, so that a dump
        // that is loaded needs no lock.
        let text = "LOCK TABLES has no effect on native tables";
        cx.diagnostics().warn(Code::NotSupportedYet.errno(), text);
        cx.locks.set_native_tables(true);
        return Ok(Outcome::Done(Done::default()));
    }
    let link = primary_statement::link_for(cx.reads(), &place, "LOCK TABLES", sql)?;
    if cx.identity.is_read_only() {
        // A transaction that only reads does not block writes.
        return Err(cx.identity.table_denied("LOCK TABLES", tables.first()));
    }
    let outcome = primary_statement::run(cx, &link, sql, format, false).await?;
    cx.connections.set_locked(link.name(), true);
    Ok(outcome)
}

/// `FLUSH TABLES WITH READ LOCK`: on all linked servers, and for native tables. Statements that
/// write to those wait; readers do not notice.
///
/// # Errors
/// A server that is away, or whose account lacks the right to lock it (RELOAD); then nothing is
/// locked.
pub(crate) async fn lock_everything(cx: &mut TransactionContext<'_>) -> Result<()> {
    if cx.transaction.is_open() {
        transaction_control::end(cx, "COMMIT", Completion::default()).await?;
    }
    for link in cx.engine.links().all() {
        let locked = match primary_connection::join(cx, &link).await {
            Ok(()) => {
                primary_connection::execute(cx, link.name(), "FLUSH TABLES WITH READ LOCK").await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = locked {
            unlock_tables(cx).await?;
            return Err(error);
        }
        cx.connections.set_locked(link.name(), true);
    }
    if !cx.locks.has_global_read_lock() {
        let held = cx.engine.global_read_lock().clone().hold().await;
        cx.locks.set_global_read_lock(Some(held));
    }
    Ok(())
}

/// `UNLOCK TABLES`, on every connection that holds some. What was locked is committed.
pub(crate) async fn unlock_tables(cx: &mut TransactionContext<'_>) -> Result<Outcome> {
    cx.locks.set_global_read_lock(None);
    if cx.locks.take_native_tables() && cx.transaction.is_open() {
        transaction_control::end(cx, "COMMIT", Completion::default()).await?;
    }
    for name in cx.connections.links_with_locks() {
        primary_connection::execute(cx, &name, "UNLOCK TABLES").await?;
        cx.connections.set_locked(&name, false);
    }
    Ok(Outcome::Done(Done::default()))
}
