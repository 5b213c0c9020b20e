//! `USE`.

use pelorus_error::{Code, Error, Result};

use crate::engine::Engine;
use crate::info::InfoTables;
use crate::session::context::SettingsContext;
use crate::session::table_routing::{TableRouting, unknown_database};

/// `USE`.
pub(crate) async fn run(cx: &mut SettingsContext<'_>, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::new(Code::NoDatabase, "No database selected"));
    }
    let local = if InfoTables::is_schema(name) {
        name.to_ascii_lowercase()
    } else if cx.engine.native().has(name) {
        name.to_owned()
    } else {
        linked_database(cx.routing(), name).await?
    };
    cx.set_database(Some(local));
    Ok(())
}

/// The name of a database as its server spells it.
async fn linked_database(routing: TableRouting<'_>, name: &str) -> Result<String> {
    routing.refresh_links_for(&[name]).await;
    let links = routing.engine.links();
    match links.database(name)? {
        Some(found) => Ok(found.local),
        None => Err(unknown_or_away(routing.engine, name)),
    }
}

/// Error 1049, or why a server that may have the database does not answer.
fn unknown_or_away(engine: &Engine, name: &str) -> Error {
    let links = engine.links();
    let away = links.all().into_iter().find_map(|link| links.failure(link.name()));
    match away {
        Some(failure) => Error::new(
            Code::UnknownDatabase,
            format!("Unknown database '{name}' (a linked server does not answer: {failure})"),
        ),
        None => unknown_database(name),
    }
}
