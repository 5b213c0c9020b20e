//! DDL: of native tables here, of linked tables on the primary of their server.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::{Ddl, DdlAction, TableName};

use super::native_ddl;
use crate::api::{Outcome, RowFormat};
use crate::session::context::SettingsContext;
use crate::session::primary_statement;
use crate::session::statement_snapshot::View;

/// Schema changes.
pub(crate) async fn run(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    sql: &str,
    ddl: &Ddl,
    format: RowFormat,
) -> Result<Outcome> {
    if matches!(ddl.object.as_str(), "DATABASE" | "SCHEMA") {
        return database_ddl(cx, view, sql, ddl, format).await;
    }
    if cx.routing().names_native(&ddl.names) {
        return native_ddl::define(cx, view, sql, ddl).await;
    }
    if matches!(
        ddl.object.as_str(),
        "ROLE" | "TABLESPACE" | "LOGFILE" | "RESOURCE" | "SPATIAL" | "LIBRARY"
    ) {
        return Err(Error::unsupported(format_args!("DDL of {}", ddl.object)));
    }
    let tables: Vec<TableName> = ddl.names.iter().chain(&ddl.tables).cloned().collect();
    let place = cx.routing().place(&tables).await?;
    let link = primary_statement::link_for(cx.reads(), &place, "DDL", sql)?;
    let outcome =
        primary_statement::run(&mut cx.transaction_context(), &link, sql, format, false).await;
    if ddl.temporary
        && ddl.action == DdlAction::Create
        && outcome.is_ok()
        && let Some(own) = cx.connections.get_mut(link.name())
    {
        own.has_temporary = true;
    }
    link.forget();
    outcome
}

/// `CREATE`, `ALTER` and `DROP DATABASE`.
async fn database_ddl(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    sql: &str,
    ddl: &Ddl,
    format: RowFormat,
) -> Result<Outcome> {
    let named = ddl
        .names
        .first()
        .map(|name| name.name.clone())
        .or(cx.settings.database().map(str::to_owned));
    let Some(name) = named else {
        return Err(Error::new(Code::NoDatabase, "No database selected"));
    };
    if cx.engine.native().has(&name) {
        return native_ddl::define(cx, view, sql, ddl).await;
    }
    cx.engine.links().forget();
    cx.engine.links().refresh().await;
    let link = match cx.engine.links().database(&name)? {
        Some(found) if found.local != found.remote => {
            return Err(Error::unsupported(format_args!(
                "DDL of database '{name}', which is '{}' on its server",
                found.remote
            )));
        }
        Some(found) if !crate::links::is_own(&name) => found.link,
        _ if crate::links::is_own(&name) => {
            return Err(cx.identity.database_denied(&name));
        }
        _ => return native_ddl::define(cx, view, sql, ddl).await,
    };
    let outcome =
        primary_statement::run(&mut cx.transaction_context(), &link, sql, format, false).await;
    link.forget();
    cx.engine.links().forget();
    if ddl.action == DdlAction::Drop && outcome.is_ok() {
        cx.leave_database(&name);
    }
    outcome
}
