//! Statements of the client on the session's own connection to a primary. The text is sent unchanged
//! except for executable comments.

use pelorus_error::{Error, Result};
use pelorus_link::{Format, Link, Relay};
use pelorus_result::scalar::sql_of;
use pelorus_sql::{TokenKind, literal};
use pelorus_types::Column;

use super::context::{ReadContext, TransactionContext};
use super::simple_expression::variable_name;
use super::state::user_variables::user_variable;
use super::table_routing::Place;
use super::{primary_connection, stream};
use crate::api::{Done, Outcome, RowFormat};

/// Runs a statement on the own connection to a link. `joins` tells whether `autocommit = 0`
/// makes it begin a transaction.
pub(crate) async fn run(
    cx: &mut TransactionContext<'_>,
    link: &Link,
    sql: &str,
    format: RowFormat,
    joins: bool,
) -> Result<Outcome> {
    let text = text_for(cx.reads(), link, sql, false).await?;
    send(cx, link, sql, &text, format, joins, None).await
}

/// The same for a query, which may be limited to some rows.
pub(crate) async fn run_query(
    cx: &mut TransactionContext<'_>,
    link: &Link,
    sql: &str,
    format: RowFormat,
    select_limit: Option<u64>,
) -> Result<Outcome> {
    let text = text_for(cx.reads(), link, sql, true).await?;
    send(cx, link, sql, &text, format, true, select_limit).await
}

/// Runs a statement, given as the client wrote it and as the server gets it.
async fn send(
    cx: &mut TransactionContext<'_>,
    link: &Link,
    sql: &str,
    text: &str,
    format: RowFormat,
    joins: bool,
    select_limit: Option<u64>,
) -> Result<Outcome> {
    cx.connections.note_write(link.name());
    // The bodies of stored programs have variables of their own time.
    let preset = if joins { user_variables_of(cx.reads(), sql)? } else { None };
    if joins {
        cx.transaction.begin_implicitly(cx.settings.autocommit());
    }
    primary_connection::join(cx, link).await?;
    let name = link.name().to_owned();
    if cx.connections.insert_id_on().is_some_and(|before| before != name) {
        primary_connection::fetch_insert_id(cx).await?;
    }
    primary_connection::send_insert_id(cx, &name, sql).await?;
    if let Some(preset) = preset {
        primary_connection::execute(cx, &name, &preset).await?;
    }
    let mut settings = cx.reads().link_settings().with_select_limit(select_limit);
    settings.database = cx.routing().remote_database(link);
    let format = match format {
        RowFormat::Text => Format::Text,
        RowFormat::Binary => Format::Binary,
    };
    let Some(own) = cx.connections.get_mut(&name) else {
        return Err(Error::internal("the connection was made above"));
    };
    let result = own.pinned.execute(&settings, text, format).await;
    let in_transaction = own.pinned.in_transaction();
    crate::status::count(&cx.process.counters.relayed);
    match result {
        Ok(relay) => {
            // What a query has warned of comes with its rows.
            if matches!(relay, Relay::Done(_)) {
                cx.connections.set_warnings_on(Some(name.clone()));
            }
            Ok(relayed(cx, &name, relay, in_transaction))
        }
        Err(error) => {
            let error = primary_connection::after_failure(cx, &name, error);
            primary_connection::detect_transaction(cx, &name).await;
            Err(error)
        }
    }
}

fn relayed(
    cx: &mut TransactionContext<'_>,
    name: &str,
    relay: Relay,
    in_transaction: bool,
) -> Outcome {
    match relay {
        Relay::Rows(rows) => Outcome::Rows(stream::relayed(rows, cx.diagnostics().clone())),
        Relay::Done(done) => {
            // Statements such as DDL end the transaction on the server.
            if in_transaction {
                cx.transaction.adopt(name);
            } else {
                cx.transaction.end_on(name);
            }
            if done.last_insert_id != 0 {
                cx.connections.set_insert_id_on(Some(name.to_owned()));
            }
            cx.diagnostics().count_more(usize::from(done.warnings));
            Outcome::Done(Done {
                affected_rows: done.affected_rows,
                last_insert_id: done.last_insert_id,
                warnings: done.warnings,
                info: done.info,
            })
        }
    }
}

/// The columns of a query on the own connection to a link, where it is to run later.
pub(crate) async fn describe(
    cx: &mut TransactionContext<'_>,
    link: &Link,
    sql: &str,
) -> Result<Vec<Column>> {
    let text = text_for(cx.reads(), link, sql, true).await?;
    let name = link.name();
    if let Some(preset) = user_variables_of(cx.reads(), sql)? {
        primary_connection::execute(cx, name, &preset).await?;
    }
    let mut settings = cx.reads().link_settings();
    settings.database = cx.routing().remote_database(link);
    let Some(own) = cx.connections.get_mut(name) else {
        return Err(Error::internal(format!("no connection to server '{name}'")));
    };
    let described = own.pinned.describe(&settings, &text).await;
    described.map_err(|error| primary_connection::after_failure(cx, name, error))
}

/// The text of a statement of the client's for a link. Queries may read its system schemas where
/// they are shown here.
async fn text_for(cx: ReadContext<'_>, link: &Link, sql: &str, is_query: bool) -> Result<String> {
    let reads_system_schemas = is_query && cx.engine.links().shows_system_schemas(link);
    let settings = cx.link_settings();
    pelorus_query::text_for_server(link, &settings, sql, cx.settings.mode(), reads_system_schemas)
        .await
}

/// The one link of a statement that must go to one.
pub(crate) fn link_for(cx: ReadContext<'_>, place: &Place, what: &str, sql: &str) -> Result<Link> {
    match place.only_link(what)? {
        Some(link) => {
            cx.routing().check_names(place, sql)?;
            Ok(link)
        }
        None => match (&place.own, &place.native) {
            (None, Some(_)) => Err(Error::unsupported(format_args!("{what} of native tables"))),
            (Some(own), _) => Err(cx.identity.database_denied(own)),
            (None, None) => Err(no_link()),
        },
    }
}

/// User variables that a text reads must be known on the server's connection too: the `SET`
/// that makes them so.
///
/// # Errors
/// A text that changes user variables: the change would be lost (1235).
fn user_variables_of(cx: ReadContext<'_>, sql: &str) -> Result<Option<String>> {
    let tokens = pelorus_sql::tokens(sql, cx.settings.mode());
    let mut names: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::UserVariable {
            continue;
        }
        let is_set = tokens.get(at + 1).is_some_and(|next| next.is_symbol(sql, ":="));
        if is_set {
            return Err(Error::unsupported("assignment to user variables with :="));
        }
        let name = variable_name(token.text(sql), cx.settings.mode());
        if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    let assignments = names
        .iter()
        .map(|name| {
            let (value, ty) = user_variable(cx.settings.user_variables(), name);
            Ok(format!("@{} = {}", literal::name(name), sql_of(&value, &ty, cx.settings.mode())?))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(format!("SET {}", assignments.join(", "))))
}

fn no_link() -> Error {
    Error::unsupported("tables of its own; link a server with CREATE SERVER")
}
