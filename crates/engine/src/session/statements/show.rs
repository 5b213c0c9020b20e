//! `SHOW` and `DESCRIBE`: for linked databases the server answers, for native databases and the
//! server's own state Pelorus answers.

mod accounts;
mod filter;
mod remote;
mod server;
mod tables;

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_link::{Format, Link, Relay, Target};
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::result_table::ResultTable;
use pelorus_sql::statement::{Describe, Show, ShowKind};
use pelorus_sql::{Mode, literal};

use super::{done, mirror};
use crate::api::{Outcome, RowFormat};
use crate::info::InfoTables;
use crate::links::LinkedDatabase;
use crate::session::context::{ReadContext, TransactionContext};
use crate::session::statement_snapshot::View;
use crate::session::table_routing::{TableRouting, unknown_database};
use crate::session::{primary_statement, stream};

/// Where the database of a `SHOW` is.
enum Home {
    Own(String),
    Native(String),
    Linked(LinkedDatabase),
}

/// `SHOW ...`.
pub(crate) async fn run(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    show: &Show,
    format: RowFormat,
) -> Result<Outcome> {
    match show.kind {
        ShowKind::Tables
        | ShowKind::TableStatus
        | ShowKind::Columns
        | ShowKind::Index
        | ShowKind::Triggers
        | ShowKind::Events
        | ShowKind::OpenTables
        | ShowKind::CreateTable
        | ShowKind::CreateView
        | ShowKind::CreateTrigger
        | ShowKind::CreateEvent
        | ShowKind::CreateFunction
        | ShowKind::CreateProcedure
        | ShowKind::FunctionCode
        | ShowKind::ProcedureCode => show_in_database(cx, view, show, format).await,
        ShowKind::CreateDatabase => show_create_database(cx, show, format).await,
        ShowKind::Warnings | ShowKind::Errors if cx.connections.warnings_on().is_some() => {
            show_remote_warnings(cx, show, format).await
        }
        _ => show_own(cx, view, show, format).await,
    }
}

/// `SHOW` about our own objects, as a small result with `LIKE` and `WHERE`.
async fn show_own(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    show: &Show,
    format: RowFormat,
) -> Result<Outcome> {
    let mut pattern_column = 0;
    let grid = match show.kind {
        ShowKind::Variables => server::variables(view, show.global == Some(true)),
        ShowKind::Status => server::show_status(cx.reads(), show.global == Some(true)),
        ShowKind::Processlist => server::processlist(view, show.full),
        ShowKind::Warnings => server::show_conditions(cx.diagnostics(), false, show.limit),
        ShowKind::Errors => server::show_conditions(cx.diagnostics(), true, show.limit),
        ShowKind::CountWarnings => server::one_count("@@session.warning_count", view.warning_count),
        ShowKind::CountErrors => server::one_count("@@session.error_count", view.error_count),
        ShowKind::Databases => server::show_databases(cx.engine).await,
        ShowKind::Engines => server::info(view, "ENGINES").await?,
        ShowKind::CharacterSet => server::info(view, "CHARACTER_SETS").await?,
        ShowKind::Collation => server::info(view, "COLLATIONS").await?,
        ShowKind::Plugins => server::plugins(),
        ShowKind::Privileges => server::privileges(),
        ShowKind::Servers => server::servers(view),
        ShowKind::Mirrors => mirror::show_mirrors(view, show.database.as_deref()),
        ShowKind::CreateServer => accounts::show_create_server(cx.engine, show)?,
        ShowKind::Grants => accounts::show_grants(cx.reads(), show)?,
        ShowKind::CreateUser => accounts::show_create_user(cx.reads(), show)?,
        ShowKind::FunctionStatus | ShowKind::ProcedureStatus => {
            pattern_column = 1;
            server::show_routines(view, show.kind).await?
        }
        ShowKind::Profiles => Err(Error::unsupported("SHOW PROFILES"))?,
        _ => {
            let words = format!("SHOW {} {}", words(show.kind), show.rest.join(" "));
            return Err(Error::unsupported(words.trim_end()));
        }
    };
    finish_show(cx.reads(), view, grid, pattern_column, show, format).await
}

/// `SHOW` about one database.
async fn show_in_database(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    show: &Show,
    format: RowFormat,
) -> Result<Outcome> {
    if show.kind == ShowKind::OpenTables && show.database.is_none() {
        let grid = tables::no_open_tables();
        return finish_show(cx.reads(), view, grid, 1, show, format).await;
    }
    let home = home(cx.routing(), show).await?;
    match home {
        Home::Own(schema) => {
            let grid = tables::own(&schema, show)?;
            finish_show(cx.reads(), view, grid, 0, show, format).await
        }
        Home::Native(database) => {
            let catalog = cx.engine.native();
            let (zone, shows_row_id) = (view.time_zone, view.shows_row_id());
            let shown = pelorus_native::show::show(catalog, &database, show, zone, shows_row_id)?;
            let grid = match shown {
                Some(grid) => grid,
                None => tables::own(&database, show)?,
            };
            finish_show(cx.reads(), view, grid, 0, show, format).await
        }
        Home::Linked(database) => {
            let text = remote::in_database(show, &database, cx.settings.mode())?;
            let outcome = relay_show(cx, &database, &text, format).await?;
            let renamed = database.local != database.remote;
            Ok(if renamed { with_local_name(outcome, &database) } else { outcome })
        }
    }
}

/// `SHOW WARNINGS` after a statement that ran on the session's own connection.
async fn show_remote_warnings(
    cx: &mut TransactionContext<'_>,
    show: &Show,
    format: RowFormat,
) -> Result<Outcome> {
    let name = cx.connections.warnings_on().unwrap_or_default().to_owned();
    match cx.connections.get(&name).map(|own| own.link.clone()) {
        Some(link) => {
            let text = remote::conditions(show);
            // What they are was counted when they came.
            let own = cx.statement.replace_diagnostics(Diagnostics::default());
            let outcome = primary_statement::run(cx, &link, &text, format, false).await;
            cx.statement.replace_diagnostics(own);
            cx.connections.set_warnings_on(Some(name));
            outcome
        }
        None => Ok(done()),
    }
}

async fn show_create_database(
    cx: &mut TransactionContext<'_>,
    show: &Show,
    format: RowFormat,
) -> Result<Outcome> {
    let name = show.table.as_ref().map(|table| table.name.clone()).unwrap_or_default();
    if InfoTables::is_schema(&name) {
        return stream::grid(&tables::create_database(&name)).map(Outcome::Rows);
    }
    if let Some(options) = cx.engine.native().options(&name) {
        let exists = show.if_not_exists;
        let grid = pelorus_native::show::create_database(&name, &options, exists);
        return stream::grid(&grid).map(Outcome::Rows);
    }
    cx.routing().refresh_links_for(&[name.as_str()]).await;
    let links = cx.engine.links();
    let database = links.database(&name)?.ok_or_else(|| unknown_database(&name))?;
    if database.local != database.remote {
        return Err(Error::unsupported(format_args!(
            "SHOW CREATE DATABASE of '{name}', which is '{}' on its server",
            database.remote
        )));
    }
    let text = remote::create_database(show, &name);
    relay_show(cx, &database, &text, format).await
}

/// Lets a server answer; on the session's own connection when that sees more.
async fn relay_show(
    cx: &mut TransactionContext<'_>,
    database: &LinkedDatabase,
    sql: &str,
    format: RowFormat,
) -> Result<Outcome> {
    let link = &database.link;
    if cx.connections.holds_state_on(link.name()) {
        return primary_statement::run(cx, link, sql, format, false).await;
    }
    let mut settings = cx.reads().link_settings();
    settings.database =
        cx.routing().remote_database(link).or_else(|| Some(database.remote.clone()));
    relay(link, &settings, sql, format, cx.diagnostics()).await
}

/// `DESCRIBE t [column]` is `SHOW COLUMNS` of some columns.
pub(crate) async fn describe(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    describe: &Describe,
    format: RowFormat,
) -> Result<Outcome> {
    let show = Show {
        kind: ShowKind::Columns,
        full: false,
        extended: false,
        global: None,
        database: describe.table.database.clone(),
        table: Some(describe.table.clone()),
        if_not_exists: false,
        like: describe.column.clone(),
        filter: None,
        limit: None,
        user: None,
        rest: Vec::new(),
    };
    show_in_database(cx, view, &show, format).await
}

/// Applies `LIKE` and `WHERE`.
async fn finish_show(
    cx: ReadContext<'_>,
    view: &Arc<View>,
    mut grid: ResultTable,
    pattern_column: usize,
    show: &Show,
    format: RowFormat,
) -> Result<Outcome> {
    if let Some(pattern) = &show.like {
        grid.keep_like(pattern_column, pattern);
    }
    match &show.filter {
        Some(condition) => {
            filter::filtered(cx, view, grid, condition, format).await.map(Outcome::Rows)
        }
        None => stream::grid(&grid).map(Outcome::Rows),
    }
}

/// The database that a `SHOW` is about.
async fn home(routing: TableRouting<'_>, show: &Show) -> Result<Home> {
    let named = show
        .database
        .as_deref()
        .or_else(|| show.table.as_ref().and_then(|table| table.database.as_deref()));
    let name = named
        .or(routing.settings.database())
        .ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))?;
    if InfoTables::is_schema(name) {
        return Ok(Home::Own(name.to_ascii_lowercase()));
    }
    if routing.engine.native().has(name) {
        return Ok(Home::Native(name.to_owned()));
    }
    routing.refresh_links_for(&[name]).await;
    let links = routing.engine.links();
    links.database(name)?.map(Home::Linked).ok_or_else(|| unknown_database(name))
}

/// Hands a statement that gives rows to a server's primary.
async fn relay(
    link: &Link,
    settings: &pelorus_link::SessionSettings,
    sql: &str,
    format: RowFormat,
    diagnostics: &Diagnostics,
) -> Result<Outcome> {
    let format = match format {
        RowFormat::Text => Format::Text,
        RowFormat::Binary => Format::Binary,
    };
    match link.relay(settings, sql, format, Target::Primary).await? {
        Relay::Rows(rows) => Ok(Outcome::Rows(stream::relayed(rows, diagnostics.clone()))),
        Relay::Done(_) => Err(Error::internal("a statement gave no rows")),
    }
}

/// The words of a kind that has none of its own here: `BinaryLogStatus` is `BINARY LOG STATUS`.
fn words(kind: ShowKind) -> String {
    let mut out = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

fn text(value: &str) -> String {
    literal::text(value, Mode::default())
}

/// `Tables_in_db` names the database.
fn with_local_name(outcome: Outcome, database: &LinkedDatabase) -> Outcome {
    match outcome {
        Outcome::Rows(mut set) => {
            for column in &mut set.columns {
                if let Some(rest) = column.name.strip_prefix("Tables_in_")
                    && let Some(rest) = rest.strip_prefix(database.remote.as_str())
                {
                    column.name = format!("Tables_in_{}{rest}", database.local);
                }
            }
            Outcome::Rows(set)
        }
        other => other,
    }
}
