//! Query routing: whether a query runs on the session's own connection to a primary.

use pelorus_error::Result;
use pelorus_link::Link;
use pelorus_sql::statement::TableName;

use super::context::ReadContext;

/// The link on the session's own connection to which a query belongs; `None` where it may run
/// anywhere.
///
/// # Errors
/// Tables of several servers inside a transaction (1235), and names that only Pelorus knows.
pub(crate) async fn link_of_own_connection(
    cx: ReadContext<'_>,
    sql: &str,
    tables: &[TableName],
    locking: bool,
) -> Result<Option<Link>> {
    if tables.is_empty() {
        return Ok(link_of_stored_function(cx, sql));
    }
    if !belongs_on_own_connection(cx, tables, locking).await? {
        return Ok(None);
    }
    let place = cx.routing().place(tables).await?;
    let link = place.only_link("a query inside a transaction")?;
    if link.is_some() {
        cx.routing().check_names(&place, sql)?;
    }
    Ok(link)
}

/// The link of the current database, for a query without tables that calls a stored function
/// while the session has something that the function may read or change.
fn link_of_stored_function(cx: ReadContext<'_>, sql: &str) -> Option<Link> {
    let database = cx.settings.database().filter(|it| !cx.engine.native().has(it))?;
    let link = cx.engine.links().database(database).ok()??.link;
    let has_state = cx.transaction.is_open()
        || cx.settings.reads_begin_transactions()
        || cx.connections.holds_state_on(link.name());
    (has_state && pelorus_query::calls_stored(sql, cx.settings.mode())).then_some(link)
}

/// Whether a query belongs on the session's own connection: inside a transaction, with locks,
/// and where the connection holds tables that no other sees.
async fn belongs_on_own_connection(
    cx: ReadContext<'_>,
    tables: &[TableName],
    locking: bool,
) -> Result<bool> {
    if tables.is_empty() {
        return Ok(false);
    }
    if locking || cx.transaction.is_bound() {
        return Ok(true);
    }
    if cx.transaction.is_open() || cx.settings.reads_begin_transactions() {
        return Ok(true);
    }
    if !cx.connections.holds_state() {
        return Ok(false);
    }
    let place = cx.routing().place(tables).await?;
    // A query over several links cannot see temporary tables; without them it may go on.
    Ok(place
        .only_link("a query")
        .ok()
        .flatten()
        .is_some_and(|link| cx.connections.holds_state_on(link.name())))
}
