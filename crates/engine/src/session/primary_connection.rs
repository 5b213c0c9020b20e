//! The session's own connections to primaries: how they are made, how they join the transaction, and
//! what is read from them between the statements of the client.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::Value;
use pelorus_link::{Format, Link, Relay, RelayedRows};
use pelorus_result::scalar::value_at;
use pelorus_sql::statement::{Begin, Isolation};

use super::context::TransactionContext;
use super::state::client_settings::ClientSettings;
use super::state::primary_connections::{PrimaryConnection, PrimaryConnections};

/// Makes the own connection to a link, and begins the open transaction on it.
///
/// # Errors
/// A transaction that is on another link already or has written to native tables (1235), or a
/// server that is away.
pub(crate) async fn join(cx: &mut TransactionContext<'_>, link: &Link) -> Result<()> {
    let name = link.name().to_owned();
    if cx.transaction.has_written_native() {
        return Err(Error::unsupported(format_args!(
            "a transaction in native tables and on server '{name}' at once"
        )));
    }
    if let Some(bound) = cx.transaction.link()
        && bound != name
    {
        return Err(Error::unsupported(format_args!(
            "a transaction on the servers '{bound}' and '{name}' at once"
        )));
    }
    drop_broken(cx, &name)?;
    if !cx.connections.contains(&name) {
        let pinned = link.pin_counting(cx.identity.login().found_rows).await?;
        let link = link.clone();
        cx.connections.insert(name.clone(), PrimaryConnection::new(link, pinned));
    }
    // The server refuses an isolation level (1568) while one is open.
    end_killed_beginning(cx, &name).await?;
    let Some(open) = cx.transaction.open() else {
        return join_without_transaction(cx, &name).await;
    };
    if open.link.is_some() {
        return Ok(());
    }
    let (begin, isolation) = (open.begin, open.isolation);
    let savepoints = open.savepoints.clone();
    if let Some(level) = isolation.map(isolation_words).or_else(|| isolation_setting(cx.settings)) {
        execute(cx, &name, &format!("SET TRANSACTION ISOLATION LEVEL {level}")).await?;
    }
    // Who only reads cannot let stored functions write either.
    let begin =
        if cx.reads().only_reads() { Begin { read_only: Some(true), ..begin } } else { begin };
    let start = start_text(begin, cx.settings.variables().is_on("transaction_read_only"));
    set_beginning(cx.connections, &name, true);
    execute(cx, &name, &start).await?;
    for savepoint in savepoints {
        let savepoint = pelorus_sql::literal::name(&savepoint);
        execute(cx, &name, &format!("SAVEPOINT {savepoint}")).await?;
    }
    set_beginning(cx.connections, &name, false);
    if let Some(open) = cx.transaction.open_mut() {
        open.link = Some(name);
    }
    Ok(())
}

/// Ensures that no transaction unknown to the session is open on an own connection: it would
/// include changes that must be committed at once.
async fn join_without_transaction(cx: &mut TransactionContext<'_>, name: &str) -> Result<()> {
    if is_inside(cx, name).await? {
        cx.transaction.adopt(name);
    }
    Ok(())
}

/// Rolls back a transaction on an own connection whose beginning was killed, or failed half way:
/// to the session it has not begun.
async fn end_killed_beginning(cx: &mut TransactionContext<'_>, name: &str) -> Result<()> {
    if !cx.connections.get(name).is_some_and(|own| own.is_beginning) {
        return Ok(());
    }
    if is_inside(cx, name).await? {
        execute_without_settings(cx, name, "ROLLBACK").await?;
    }
    set_beginning(cx.connections, name, false);
    Ok(())
}

/// Whether a transaction is open on an own connection, after whatever is still stopped there.
async fn is_inside(cx: &mut TransactionContext<'_>, name: &str) -> Result<bool> {
    let Some(own) = cx.connections.get(name) else { return Ok(false) };
    let is_inside = own.pinned.settled().await;
    is_inside.map_err(|error| after_failure(cx, name, error))
}

/// Gives up an own connection that broke. Without a transaction or other state on it nothing is
/// lost, and the next statement gets another one.
///
/// # Errors
/// The transaction, tables or locks that were lost with it (1430).
fn drop_broken(cx: &mut TransactionContext<'_>, name: &str) -> Result<()> {
    if cx.connections.get(name).is_none_or(|own| own.pinned.is_usable()) {
        return Ok(());
    }
    let lost_locks = cx.locks.lose_user_locks_on(name);
    let lost_state = cx.connections.holds_state_on(name) || lost_locks;
    cx.connections.remove(name);
    if !cx.transaction.end_on(name) && !lost_state {
        return Ok(());
    }
    Err(Error::new(
        Code::QueryOnForeign,
        format!(
            "the connection to server '{name}' was lost; what it held (transaction, temporary \
             tables, locks) is gone"
        ),
    ))
}

/// Runs a statement without rows on an own connection that exists.
pub(crate) async fn execute(cx: &mut TransactionContext<'_>, name: &str, sql: &str) -> Result<()> {
    let mut settings = cx.reads().link_settings();
    let Some(own) = cx.connections.get_mut(name) else {
        return Err(Error::internal(format!("no connection to server '{name}'")));
    };
    settings.database = None;
    let result = own.pinned.execute(&settings, sql, Format::Text).await;
    result.map(drop).map_err(|error| after_failure(cx, name, error))
}

/// The same for a statement that means the same whatever the session's settings are: the server
/// may refuse those, a time zone that it does not know, say.
pub(crate) async fn execute_without_settings(
    cx: &mut TransactionContext<'_>,
    name: &str,
    sql: &str,
) -> Result<()> {
    let Some(own) = cx.connections.get_mut(name) else {
        return Err(Error::internal(format!("no connection to server '{name}'")));
    };
    let result = own.pinned.run(sql).await;
    result.map_err(|error| after_failure(cx, name, error))
}

/// The number that a query of one row and column gives on an own connection; `None` for NULL, and
/// where there is no such connection.
///
/// # Errors
/// A server that went away, or refuses the query.
pub(crate) async fn query_number(
    cx: &mut TransactionContext<'_>,
    name: &str,
    sql: &str,
) -> Result<Option<u64>> {
    let settings = cx.reads().link_settings();
    let Some(own) = cx.connections.get_mut(name) else { return Ok(None) };
    let number = match own.pinned.execute(&settings, sql, Format::Text).await {
        Ok(Relay::Rows(rows)) => first_number(rows).await,
        Ok(Relay::Done(_)) => Err(Error::internal("a query gave no rows")),
        Err(error) => Err(error),
    };
    number.map_err(|error| after_failure(cx, name, error))
}

/// Updates the transaction's state after a failure on the session's own connection.
pub(crate) fn after_failure(cx: &mut TransactionContext<'_>, name: &str, error: Error) -> Error {
    let is_lost = matches!(error.code(), Code::ConnectToForeign | Code::QueryOnForeign);
    if is_lost {
        cx.connections.remove(name);
    }
    // After a deadlock the server has rolled the whole transaction back.
    if is_lost || error.errno() == Code::Deadlock.errno() {
        cx.transaction.end_on(name);
    }
    error
}

/// Determines the outcome of a COMMIT or ROLLBACK whose answer was not awaited.
///
/// # Errors
/// A lost connection, which leaves the outcome of its transaction unknown (1430).
pub(crate) async fn settle_transaction(cx: &mut TransactionContext<'_>) -> Result<()> {
    let settled = settle_end(cx).await;
    adopt_open_transaction(cx).await;
    settled
}

async fn settle_end(cx: &mut TransactionContext<'_>) -> Result<()> {
    if !cx.transaction.is_ending() {
        return Ok(());
    }
    let link = cx.transaction.link().map(str::to_owned);
    let own = link.as_ref().and_then(|link| cx.connections.get(link));
    let goes_on = match own {
        Some(own) => own.pinned.settled().await,
        None => Ok(false),
    };
    cx.transaction.set_ending(false);
    match goes_on {
        Ok(true) => Ok(()),
        Ok(false) => {
            cx.transaction.end();
            Ok(())
        }
        Err(error) => Err(after_failure(cx, &link.unwrap_or_default(), error)),
    }
}

/// Takes over such a transaction if the latest answers report one: a procedure that returns
/// rows reports it after them. If one seems open, the call waits for a statement that is still
/// being stopped there: the earlier report may be outdated, and a deadlock does not report its
/// rollback.
async fn adopt_open_transaction(cx: &mut TransactionContext<'_>) {
    if cx.transaction.is_open() {
        return;
    }
    let mut left = None;
    for (name, own) in cx.connections.iter() {
        let is_told = !own.is_beginning && own.pinned.in_transaction();
        // One that broke is taken over as well: who uses it next hears that it is lost.
        if is_told && own.pinned.settled().await.unwrap_or(true) {
            left = Some(name.clone());
            break;
        }
    }
    if let Some(link) = left {
        cx.transaction.adopt(&link);
    }
}

/// Waits for own connections whose statement was killed, and takes over transactions that a
/// procedure has left open on them.
pub(crate) async fn wait_for_stopped(cx: &mut TransactionContext<'_>) {
    for own in cx.connections.iter().map(|(_, own)| own) {
        // One that broke has rolled back; who uses it next hears of that.
        own.pinned.settled().await.ok();
    }
    adopt_open_transaction(cx).await;
}

/// Finds out whether a transaction is open on an own connection after an error, which does not
/// say so: a procedure may have begun one before it failed, and a deadlock ends it.
pub(crate) async fn detect_transaction(cx: &mut TransactionContext<'_>, link: &str) {
    if !cx.transaction.is_open() && cx.connections.contains(link) {
        execute_without_settings(cx, link, "DO 0").await.ok();
        adopt_open_transaction(cx).await;
    }
}

/// Reads `LAST_INSERT_ID()` after statements on the session's own connection. The number in
/// their answers may be one that the statement gave, which does not change it.
///
/// # Errors
/// A server that went away.
pub(crate) async fn fetch_insert_id(cx: &mut TransactionContext<'_>) -> Result<()> {
    let Some(name) = cx.connections.insert_id_on().map(str::to_owned) else { return Ok(()) };
    let id = query_number(cx, &name, "SELECT LAST_INSERT_ID()").await;
    // Only now: a kill may have come before the answer.
    cx.connections.set_insert_id_on(None);
    let Some(id) = id? else { return Ok(()) };
    if let Some(own) = cx.connections.get_mut(&name)
        && own.insert_id != id
    {
        own.insert_id = id;
        cx.statement.set_last_insert_id(id);
    }
    Ok(())
}

/// Sets `LAST_INSERT_ID()` on an own connection if a text for it reads it: a native table,
/// another server or `SET` may have changed it.
pub(crate) async fn send_insert_id(
    cx: &mut TransactionContext<'_>,
    name: &str,
    sql: &str,
) -> Result<()> {
    let id = cx.statement.last_insert_id();
    let Some(own) = cx.connections.get_mut(name) else { return Ok(()) };
    if own.insert_id == id || !names_insert_id(sql) {
        return Ok(());
    }
    own.insert_id = id;
    execute(cx, name, &format!("SET last_insert_id = {id}")).await
}

fn set_beginning(connections: &mut PrimaryConnections, name: &str, is_beginning: bool) {
    if let Some(own) = connections.get_mut(name) {
        own.is_beginning = is_beginning;
    }
}

/// The session's isolation level when it was set to something else than the default.
fn isolation_setting(settings: &ClientSettings) -> Option<&'static str> {
    match settings.variables().get("transaction_isolation").text() {
        "READ-UNCOMMITTED" => Some("READ UNCOMMITTED"),
        "READ-COMMITTED" => Some("READ COMMITTED"),
        "SERIALIZABLE" => Some("SERIALIZABLE"),
        // The server's own default is usually the same, and may be what its owner wants.
        _ => None,
    }
}

fn isolation_words(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

fn start_text(begin: Begin, read_only_by_default: bool) -> String {
    let mut traits = Vec::new();
    if begin.consistent_snapshot {
        traits.push("WITH CONSISTENT SNAPSHOT");
    }
    match begin.read_only {
        Some(true) => traits.push("READ ONLY"),
        Some(false) => traits.push("READ WRITE"),
        None if read_only_by_default => traits.push("READ ONLY"),
        None => {}
    }
    format!("START TRANSACTION {}", traits.join(", ")).trim_end().to_owned()
}

/// The number that a result of one row and column has; `None` for NULL.
async fn first_number(rows: RelayedRows) -> Result<Option<u64>> {
    let columns = rows.columns.clone();
    let batch = rows.collect().await?;
    let [column] = columns.as_slice() else {
        return Err(Error::internal("a number with other columns"));
    };
    match value_at(batch.column(0), &column.ty, 0)? {
        Value::Null => Ok(None),
        Value::UInt(number) => Ok(Some(number)),
        Value::Int(number) => Ok(Some(number.try_into().unwrap_or(0))),
        other => Err(Error::internal(format!("{other:?} is no number of a row"))),
    }
}

/// Whether a text has words that may mean `LAST_INSERT_ID()`.
pub(crate) fn names_insert_id(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ["insert_id", "identity", "variables"].iter().any(|word| sql.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_begun_with_their_traits() {
        assert_eq!(start_text(Begin::default(), false), "START TRANSACTION");
        assert_eq!(start_text(Begin::default(), true), "START TRANSACTION READ ONLY");
        let begin = Begin { read_only: Some(false), consistent_snapshot: true };
        assert_eq!(
            start_text(begin, true),
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE"
        );
    }
}
