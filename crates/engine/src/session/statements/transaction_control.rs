//! `BEGIN`, `COMMIT`, `ROLLBACK` and savepoints.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_native::NativeTransaction;
use pelorus_sql::Statement;
use pelorus_sql::statement::{Begin, Completion};

use crate::api::{Done, Outcome};
use crate::session::context::{ReadContext, TransactionContext};
use crate::session::{native_statement, primary_connection};

/// `START TRANSACTION` and `BEGIN`. A requested snapshot is taken at once, on the server of the
/// current database too, or on the only linked one: a dump of several threads begins all of
/// them while it holds a lock.
///
/// # Errors
/// A server that cannot begin it; then none is open.
pub(crate) async fn start(cx: &mut TransactionContext<'_>, begin: Begin) -> Result<Outcome> {
    let outcome = begin_transaction(cx, begin);
    if begin.consistent_snapshot
        && let Some(link) = cx.routing().current_link()
        && let Err(error) = primary_connection::join(cx, &link).await
    {
        cx.transaction.end();
        return Err(error);
    }
    Ok(outcome)
}

/// `BEGIN`, `START TRANSACTION`. An open one was committed before.
pub(crate) fn begin_transaction(cx: &mut TransactionContext<'_>, begin: Begin) -> Outcome {
    // On a linked server it begins with the first statement there.
    let native = begin.consistent_snapshot.then(|| {
        let snapshot = Arc::new(cx.engine.native().store().snapshot());
        NativeTransaction::new(snapshot, &[], cx.engine.memory().sessions())
    });
    cx.transaction.begin(begin, native);
    Outcome::Done(Done::default())
}

/// `COMMIT` and `ROLLBACK`.
pub(crate) async fn end(
    cx: &mut TransactionContext<'_>,
    word: &str,
    completion: Completion,
) -> Result<Outcome> {
    if completion.release == Some(true) {
        return Err(Error::unsupported(format_args!("{word} RELEASE")));
    }
    if !cx.transaction.is_open() {
        primary_connection::wait_for_stopped(cx).await;
    }
    let open = cx.transaction.open();
    let begin = open.map(|open| (open.begin, open.isolation));
    // One that is on a link has written nothing here.
    if let Some(link) = open.and_then(|open| open.link.clone()) {
        end_on_link(cx, &link, word).await?;
    } else if let Some(native) = cx.transaction.end().and_then(|open| open.native)
        && word == "COMMIT"
    {
        commit_native(cx.reads(), native)?;
    }
    if let (Some(true), Some((begin, isolation))) = (completion.chain, begin) {
        // The snapshot is not asked for again.
        begin_transaction(cx, Begin { consistent_snapshot: false, ..begin });
        if let Some(open) = cx.transaction.open_mut() {
            open.isolation = isolation;
        }
    }
    Ok(Outcome::Done(Done::default()))
}

/// Ends the transaction on its link. Until there is an answer it may go on: a kill may come
/// before the server has heard of it, and after that. So it may when the server refuses.
async fn end_on_link(cx: &mut TransactionContext<'_>, link: &str, word: &str) -> Result<()> {
    cx.transaction.set_ending(true);
    let result = primary_connection::execute_without_settings(cx, link, word).await;
    if result.is_err() && cx.connections.contains(link) {
        // An error does not say whether the transaction goes on.
        primary_connection::execute_without_settings(cx, link, "DO 0").await.ok();
    }
    cx.transaction.set_ending(false);
    let own = cx.connections.get(link);
    let goes_on = result.is_err() && own.is_some_and(|own| own.pinned.in_transaction());
    if !goes_on {
        cx.transaction.end();
    }
    // The server rolls back the transaction of a lost connection.
    let is_gone = !cx.connections.contains(link);
    if is_gone && word == "ROLLBACK" { Ok(()) } else { result }
}

/// Makes what a transaction wrote to native tables visible.
///
/// # Errors
/// A row that another session has written since the transaction began (1213), and 1317 when it
/// is killed while it waits for other commits or for memory: everything is rolled back.
fn commit_native(cx: ReadContext<'_>, native: NativeTransaction) -> Result<()> {
    if !native.has_written() {
        return Ok(());
    }
    let commit = native.commit(native_statement::durability(cx.settings))?;
    let store = cx.engine.native().store();
    let stop = cx.statement.stop();
    pelorus_env::blocking(|| store.commit_unless(&commit, &|| stop.is_asked())).map(drop)
}

/// Commits before a statement that ends transactions. Those that run on the transaction's own
/// connection do it there by themselves.
pub(crate) async fn commit_before(
    cx: &mut TransactionContext<'_>,
    statement: &Statement,
) -> Result<()> {
    let is_relayed = matches!(
        statement,
        Statement::Ddl(_) | Statement::Maintenance(_) | Statement::LockTables(_)
    );
    if !is_relayed && cx.transaction.is_open() {
        end(cx, "COMMIT", Completion::default()).await?;
    }
    Ok(())
}

/// `SAVEPOINT`.
pub(crate) async fn set_savepoint(cx: &mut TransactionContext<'_>, name: &str) -> Result<Outcome> {
    cx.transaction.begin_implicitly(cx.settings.autocommit());
    // Outside of a transaction a savepoint is gone at once.
    let Some(open) = cx.transaction.open_mut() else {
        return Ok(Outcome::Done(Done::default()));
    };
    if let Some(link) = open.link.clone() {
        let sql = format!("SAVEPOINT {}", pelorus_sql::literal::name(name));
        primary_connection::execute(cx, &link, &sql).await?;
    } else {
        // Also when native tables have it: what only reads there may go on on a link.
        open.savepoints.retain(|known| !known.eq_ignore_ascii_case(name));
        open.savepoints.push(name.to_owned());
        if let Some(native) = &mut open.native {
            native.savepoint(name);
        }
    }
    Ok(Outcome::Done(Done::default()))
}

/// `ROLLBACK TO SAVEPOINT` and `RELEASE SAVEPOINT`.
pub(crate) async fn back_to_savepoint(
    cx: &mut TransactionContext<'_>,
    release: bool,
    name: &str,
) -> Result<Outcome> {
    let missing = || Error::new(Code::NoSuchFunction, format!("SAVEPOINT {name} does not exist"));
    let verb = if release { "RELEASE SAVEPOINT" } else { "ROLLBACK TO SAVEPOINT" };
    let open = cx.transaction.open_mut().ok_or_else(missing)?;
    if let Some(link) = open.link.clone() {
        let sql = format!("{verb} {}", pelorus_sql::literal::name(name));
        primary_connection::execute(cx, &link, &sql).await?;
    } else {
        let at = open
            .savepoints
            .iter()
            .rposition(|known| known.eq_ignore_ascii_case(name))
            .ok_or_else(missing)?;
        open.savepoints.truncate(if release { at } else { at + 1 });
        if let Some(native) = &mut open.native
            && !pelorus_env::blocking(|| native.back_to(name, release))?
        {
            return Err(missing());
        }
    }
    Ok(Outcome::Done(Done::default()))
}
