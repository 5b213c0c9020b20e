//! Statements about mirrors.

mod check;

use std::collections::BTreeSet;

use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use pelorus_mirror::MirrorName;
use pelorus_result::result_table::{Cell, ResultTable, nullable_text, nullable_uint, text, uint};
use pelorus_sql::Mode;
use pelorus_sql::statement::{
    MirrorAction, MirrorFilter, MirrorStatement, MirrorTarget, TableName,
};

use super::done;
use crate::api::Outcome;
use crate::links::LinkedDatabase;
use crate::mirror::copies::check_wanted;
use crate::mirror::mirror_database;
use crate::mirror::status::rows;
use crate::session::context::ReadContext;
use crate::session::mirror_routing;
use crate::session::statement_snapshot::View;
use crate::session::table_routing::unknown_database;

/// Carries a statement about mirrors out.
pub(crate) async fn run(cx: ReadContext<'_>, statement: &MirrorStatement) -> Result<Outcome> {
    cx.engine.links().refresh().await;
    match statement {
        MirrorStatement::Create { target, if_not_exists, filter, layout } => {
            // What is to be mirrored may have been made a moment ago.
            cx.engine.links().forget();
            cx.engine.links().refresh().await;
            create_mirrors(cx, target, *if_not_exists, layout.as_deref(), filter).await
        }
        MirrorStatement::Drop { target, if_exists } => {
            blocking(|| drop_mirrors(cx, target, *if_exists))
        }
        MirrorStatement::Alter { target, action } => {
            let mirrors = cx.engine.mirrors();
            for name in mirrors_of(cx, target)? {
                blocking(|| match action {
                    MirrorAction::Pause => mirrors.pause(&name),
                    MirrorAction::Resume => mirrors.resume(&name),
                    MirrorAction::Resync => mirrors.resync(&name, "ALTER MIRROR ... RESYNC"),
                })?;
            }
            Ok(done())
        }
        MirrorStatement::Check { target, repair } => check::run(cx, target, *repair).await,
    }
}

/// Where a linked database is.
fn linked(cx: ReadContext<'_>, database: &str) -> Result<LinkedDatabase> {
    if cx.engine.native().has(database) {
        return Err(Error::unsupported(format_args!(
            "mirrors of database '{database}', which is native: its tables are columns already"
        )));
    }
    cx.engine.links().database(database)?.ok_or_else(|| unknown_database(database))
}

/// Where a database that has mirrors is: its link, and its name there. What the server shows now
/// does not matter: it may be away, and the database gone.
fn mirrored_database(cx: ReadContext<'_>, database: &str) -> Result<(String, String)> {
    let links = cx.engine.links();
    let all = cx.engine.mirrors().databases();
    let local = |(link, remote): &(String, String)| {
        let local = links.get(link).and_then(|it| it.local_database(remote));
        local.unwrap_or_else(|| remote.clone())
    };
    let named = |same: fn(&str, &str) -> bool| -> Vec<(String, String)> {
        all.iter().filter(|&it| same(&local(it), database)).cloned().collect()
    };
    if let [only] = named(|a, b| a == b).as_slice() {
        return Ok(only.clone());
    }
    match (linked(cx, database), named(str::eq_ignore_ascii_case).as_slice()) {
        (Ok(found), _) => Ok((found.link.name().to_lowercase(), found.remote)),
        (Err(_), [only]) => Ok(only.clone()),
        (Err(error), _) => Err(error),
    }
}

/// The name that a mirror of a table has.
fn mirror_name(cx: ReadContext<'_>, table: &TableName) -> Result<MirrorName> {
    let (link, database) = mirrored_database(cx, cx.settings.database_of(table)?)?;
    Ok(MirrorName { link, database, table: table.name.clone() })
}

/// The same for `IF EXISTS`: `None`, with a note, where there is no mirror of that name.
fn mirror_if_exists(cx: ReadContext<'_>, table: &TableName) -> Result<Option<MirrorName>> {
    let text = match mirror_name(cx, table) {
        Ok(name) if cx.engine.mirrors().has(&name) => return Ok(Some(name)),
        Ok(name) => format!("Table '{name}' is not mirrored"),
        Err(error) if error.code() == Code::UnknownDatabase => error.message().to_owned(),
        Err(error) => return Err(error),
    };
    cx.diagnostics().note(Code::UnknownTable.errno(), text);
    Ok(None)
}

async fn create_mirrors(
    cx: ReadContext<'_>,
    target: &MirrorTarget,
    if_not_exists: bool,
    layout: Option<&str>,
    filter: &MirrorFilter,
) -> Result<Outcome> {
    if let Some(condition) = &filter.condition {
        check_reading(condition, cx.settings.mode())?;
    }
    match target {
        MirrorTarget::Tables(tables) => {
            let new = check_tables(cx, tables, layout, filter).await?;
            let mirrors = cx.engine.mirrors();
            for name in new.names {
                if mirrors.has(&name) && if_not_exists {
                    let text = format!("Table '{name}' is mirrored already");
                    cx.diagnostics().note(Code::TableExists.errno(), text);
                    continue;
                }
                let words = (!filter.is_empty()).then(|| filter.to_string());
                mirrors.create(&name, layout.map(str::to_owned), words)?;
            }
            warn_of_source(cx, new.warnings);
        }
        MirrorTarget::Database(database) => {
            create_mirrors_of_database(cx, database, if_not_exists).await?;
        }
    }
    Ok(done())
}

/// Tables that can be mirrored.
#[derive(Default)]
struct NewMirrors {
    names: Vec<MirrorName>,
    /// What their mirrors do not see of their servers.
    warnings: BTreeSet<String>,
}

/// Looks whether tables can be mirrored.
///
/// # Errors
/// A server that cannot be followed, a table whose copy would not be exact (1235).
async fn check_tables(
    cx: ReadContext<'_>,
    tables: &[TableName],
    layout: Option<&str>,
    filter: &MirrorFilter,
) -> Result<NewMirrors> {
    let mirrors = cx.engine.mirrors();
    let mut new = NewMirrors::default();
    let mut parents = Vec::new();
    for table in tables {
        let found = linked(cx, cx.settings.database_of(table)?)?;
        new.warnings.extend(check_source(&found.link).await?);
        cx.engine.learn_zone(&found.link);
        found.link.forget();
        let there = pelorus_mirror::check(&found.link, &found.remote, &table.name).await?;
        check_wanted(&there.definition(layout.map(str::to_owned), filter.clone()))?;
        let name = mirror_routing::mirror_name(&found, &there.table.name);
        if !filter.is_empty() && !there.keys.is_empty() {
            return Err(pelorus_mirror::apply::foreign_key_actions::in_part(&name));
        }
        parents.extend(there.parents(&found.remote).into_iter().map(|parent| {
            let (database, table) = parent;
            let parent = MirrorName { database, table, ..name.clone() };
            (name.clone(), parent)
        }));
        new.names.push(name);
    }
    let is_missing = |parent: &MirrorName| !mirrors.has(parent) && !new.names.contains(parent);
    match parents.iter().find(|(_, parent)| is_missing(parent)) {
        None => Ok(new),
        Some((name, parent)) => Err(Error::unsupported(format_args!(
            "mirrors of '{name}' without one of '{parent}': a foreign key changes its rows when \
             those change, and this server does not write that into its binlog; MIRROR TABLE \
             `{}`.`{}` first, or together with it",
            parent.database, parent.table
        ))),
    }
}

async fn create_mirrors_of_database(
    cx: ReadContext<'_>,
    database: &str,
    if_not_exists: bool,
) -> Result<()> {
    let mirrors = cx.engine.mirrors();
    let (link, remote) = mirrored_database(cx, database)?;
    if mirrors.has_database(&link, &remote) {
        let text = format!("Database '{database}' is mirrored already");
        if if_not_exists {
            cx.diagnostics().note(Code::DatabaseExists.errno(), text);
            return Ok(());
        }
        return Err(Error::new(Code::DatabaseExists, text));
    }
    let found = linked(cx, database)?;
    let warning = check_source(&found.link).await?;
    cx.engine.learn_zone(&found.link);
    mirror_database(mirrors, &found).await?;
    warn_of_source(cx, warning);
    Ok(())
}

fn warn_of_source(cx: ReadContext<'_>, warnings: impl IntoIterator<Item = String>) {
    for text in warnings {
        cx.diagnostics().warn(Code::OptionPreventsStatement.errno(), text);
    }
}

fn drop_mirrors(cx: ReadContext<'_>, target: &MirrorTarget, if_exists: bool) -> Result<Outcome> {
    let mirrors = cx.engine.mirrors();
    match target {
        MirrorTarget::Tables(tables) => {
            for table in tables {
                let name = match if_exists {
                    true => mirror_if_exists(cx, table)?,
                    false => Some(mirror_name(cx, table)?),
                };
                if let Some(name) = name {
                    mirrors.drop_mirror(&name)?;
                }
            }
        }
        MirrorTarget::Database(database) => {
            let found = match mirrored_database(cx, database) {
                Ok((link, remote)) => {
                    let has_tables = !mirrors.tables(&link, &remote).is_empty();
                    let is_there = has_tables || mirrors.has_database(&link, &remote);
                    is_there.then_some((link, remote))
                }
                Err(error) if if_exists && error.code() == Code::UnknownDatabase => None,
                Err(error) => return Err(error),
            };
            let Some((link, remote)) = found else {
                let text = format!("Database '{database}' is not mirrored");
                if if_exists {
                    cx.diagnostics().note(Code::DatabaseDropExists.errno(), text);
                    return Ok(done());
                }
                return Err(Error::new(Code::DatabaseDropExists, text));
            };
            mirrors.drop_database(&link, &remote)?;
        }
    }
    Ok(done())
}

/// The mirrors that a statement names, which there must be.
pub(crate) fn mirrors_of(cx: ReadContext<'_>, target: &MirrorTarget) -> Result<Vec<MirrorName>> {
    let mirrors = cx.engine.mirrors();
    match target {
        MirrorTarget::Tables(tables) => tables
            .iter()
            .map(|table| {
                let name = mirror_name(cx, table)?;
                match mirrors.has(&name) {
                    true => Ok(name),
                    false => Err(Error::new(
                        Code::UnknownTable,
                        format!("Table '{name}' is not mirrored"),
                    )),
                }
            })
            .collect(),
        MirrorTarget::Database(database) => {
            let (link, database) = mirrored_database(cx, database)?;
            let tables = mirrors.tables(&link, &database).into_iter();
            let name = |table| MirrorName { link: link.clone(), database: database.clone(), table };
            Ok(tables.map(name).collect())
        }
    }
}

/// A condition is kept as text, and read under an empty `sql_mode` from then on.
fn check_reading(condition: &str, mode: Mode) -> Result<()> {
    let read = |mode| pelorus_sql::parse_expression(condition, mode).map_err(|it| it.error);
    if read(mode)? == read(Mode::default())? {
        return Ok(());
    }
    Err(Error::unsupported(
        "a condition of a mirror that means something else under an empty sql_mode",
    ))
}

/// Looks whether a server can be followed. What mirrors do not see of it is a warning.
///
/// # Errors
/// What keeps it from being followed.
async fn check_source(link: &Link) -> Result<Option<String>> {
    let facts = link.source_facts().await?;
    match facts.check().into_iter().next() {
        Some(error) => Err(error),
        None => Ok(facts.leaves_out()),
    }
}

/// `SHOW MIRRORS`.
pub(crate) fn show_mirrors(view: &View, database: Option<&str>) -> ResultTable {
    let mut grid = ResultTable::new(vec![
        text("Table", 64),
        text("Database", 64),
        text("Server", 64),
        text("State", 16),
        uint("Progress"),
        uint("Rows_loaded"),
        uint("Changes"),
        uint("Loads"),
        nullable_text("Seconds_behind", 24),
        nullable_uint("Transactions_behind"),
        nullable_text("Position", 1024),
        nullable_text("Reason", 2048),
        uint("Queries"),
        nullable_text("Filter", 4096),
        nullable_text("Layout", 4096),
    ]);
    for mut row in rows(view.engine.mirrors(), view.engine.links(), database) {
        // The table first, for LIKE.
        row.swap(0, 1);
        if let Some(Cell::Double(seconds)) = row.get(8) {
            row[8] = format!("{seconds:.3}").into();
        }
        grid.push(row);
    }
    grid
}
