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

use super::dispatch::done;
use super::statement_snapshot::View;
use super::table_routing::unknown_database;
use super::{Session, stream};
use crate::api::{Outcome, RowFormat};
use crate::info::InfoTables;
use crate::links::LinkedDatabase;

/// Where the database of a `SHOW` is.
enum Home {
    Own(String),
    Native(String),
    Linked(LinkedDatabase),
}

impl Session {
    /// `SHOW ...`.
    pub(super) async fn show(
        &mut self,
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
            | ShowKind::ProcedureCode => self.show_in_database(view, show, format).await,
            ShowKind::CreateDatabase => self.show_create_database(show, format).await,
            ShowKind::Warnings | ShowKind::Errors if self.transaction.warnings_on.is_some() => {
                self.show_remote_warnings(show, format).await
            }
            _ => self.show_own(view, show, format).await,
        }
    }

    /// `SHOW` about our own objects, as a small result with `LIKE` and `WHERE`.
    async fn show_own(
        &mut self,
        view: &Arc<View>,
        show: &Show,
        format: RowFormat,
    ) -> Result<Outcome> {
        let mut pattern_column = 0;
        let grid = match show.kind {
            ShowKind::Variables => server::variables(view, show.global == Some(true)),
            ShowKind::Status => self.show_status(show.global == Some(true)),
            ShowKind::Processlist => server::processlist(view, show.full),
            ShowKind::Warnings => self.show_conditions(false, show.limit),
            ShowKind::Errors => self.show_conditions(true, show.limit),
            ShowKind::CountWarnings => {
                server::one_count("@@session.warning_count", view.warning_count)
            }
            ShowKind::CountErrors => server::one_count("@@session.error_count", view.error_count),
            ShowKind::Databases => self.show_databases().await,
            ShowKind::Engines => server::info(view, "ENGINES").await?,
            ShowKind::CharacterSet => server::info(view, "CHARACTER_SETS").await?,
            ShowKind::Collation => server::info(view, "COLLATIONS").await?,
            ShowKind::Plugins => server::plugins(),
            ShowKind::Privileges => server::privileges(),
            ShowKind::Servers => server::servers(view),
            ShowKind::Mirrors => super::mirror::mirrors(view, show.database.as_deref()),
            ShowKind::CreateServer => self.show_create_server(show)?,
            ShowKind::Grants => self.show_grants(show)?,
            ShowKind::CreateUser => self.show_create_user(show)?,
            ShowKind::FunctionStatus | ShowKind::ProcedureStatus => {
                pattern_column = 1;
                self.show_routines(view, show.kind).await?
            }
            ShowKind::Profiles => Err(Error::unsupported("SHOW PROFILES"))?,
            _ => {
                let words = format!("SHOW {} {}", words(show.kind), show.rest.join(" "));
                return Err(Error::unsupported(words.trim_end()));
            }
        };
        self.finish_show(view, grid, pattern_column, show, format).await
    }

    /// Applies `LIKE` and `WHERE`.
    async fn finish_show(
        &self,
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
                self.filtered(view, grid, condition, format).await.map(Outcome::Rows)
            }
            None => stream::grid(&grid).map(Outcome::Rows),
        }
    }

    /// `SHOW` about one database.
    async fn show_in_database(
        &mut self,
        view: &Arc<View>,
        show: &Show,
        format: RowFormat,
    ) -> Result<Outcome> {
        if show.kind == ShowKind::OpenTables && show.database.is_none() {
            let grid = tables::no_open_tables();
            return self.finish_show(view, grid, 1, show, format).await;
        }
        let home = self.home(show).await?;
        match home {
            Home::Own(schema) => {
                let grid = tables::own(&schema, show)?;
                self.finish_show(view, grid, 0, show, format).await
            }
            Home::Native(database) => {
                let catalog = self.engine.native();
                let (zone, shows_row_id) = (view.time_zone, view.shows_row_id());
                let shown =
                    pelorus_native::show::show(catalog, &database, show, zone, shows_row_id)?;
                let grid = match shown {
                    Some(grid) => grid,
                    None => tables::own(&database, show)?,
                };
                self.finish_show(view, grid, 0, show, format).await
            }
            Home::Linked(database) => {
                let text = remote::in_database(show, &database, self.settings.mode())?;
                let outcome = self.relay_show(&database, &text, format).await?;
                let renamed = database.local != database.remote;
                Ok(if renamed { with_local_name(outcome, &database) } else { outcome })
            }
        }
    }

    /// The database that a `SHOW` is about.
    async fn home(&self, show: &Show) -> Result<Home> {
        let named = show
            .database
            .as_deref()
            .or_else(|| show.table.as_ref().and_then(|table| table.database.as_deref()));
        let name = named
            .or(self.settings.database())
            .ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))?;
        if InfoTables::is_schema(name) {
            return Ok(Home::Own(name.to_ascii_lowercase()));
        }
        if self.engine.native().has(name) {
            return Ok(Home::Native(name.to_owned()));
        }
        self.refresh_links_for(&[name]).await;
        let links = self.engine.links();
        links.database(name)?.map(Home::Linked).ok_or_else(|| unknown_database(name))
    }

    /// Lets a server answer; on the session's own connection when that sees more.
    async fn relay_show(
        &mut self,
        database: &LinkedDatabase,
        sql: &str,
        format: RowFormat,
    ) -> Result<Outcome> {
        let link = &database.link;
        if self.transaction.holds_state_on(link.name()) {
            return self.on_pinned(link, sql, format, false).await;
        }
        let mut settings = self.link_settings();
        settings.database = self.remote_database(link).or_else(|| Some(database.remote.clone()));
        relay(link, &settings, sql, format, self.statement.diagnostics()).await
    }

    /// `SHOW WARNINGS` after a statement that ran on the session's own connection.
    async fn show_remote_warnings(&mut self, show: &Show, format: RowFormat) -> Result<Outcome> {
        let name = self.transaction.warnings_on.clone().unwrap_or_default();
        match self.transaction.pinned.get(&name).map(|own| own.link.clone()) {
            Some(link) => {
                let text = remote::conditions(show);
                // What they are was counted when they came.
                let own = self.statement.replace_diagnostics(Diagnostics::default());
                let outcome = self.on_pinned(&link, &text, format, false).await;
                self.statement.replace_diagnostics(own);
                self.transaction.warnings_on = Some(name);
                outcome
            }
            None => Ok(done()),
        }
    }

    async fn show_create_database(&mut self, show: &Show, format: RowFormat) -> Result<Outcome> {
        let name = show.table.as_ref().map(|table| table.name.clone()).unwrap_or_default();
        if InfoTables::is_schema(&name) {
            return stream::grid(&tables::create_database(&name)).map(Outcome::Rows);
        }
        if let Some(options) = self.engine.native().options(&name) {
            let exists = show.if_not_exists;
            let grid = pelorus_native::show::create_database(&name, &options, exists);
            return stream::grid(&grid).map(Outcome::Rows);
        }
        self.refresh_links_for(&[name.as_str()]).await;
        let links = self.engine.links();
        let database = links.database(&name)?.ok_or_else(|| unknown_database(&name))?;
        if database.local != database.remote {
            return Err(Error::unsupported(format_args!(
                "SHOW CREATE DATABASE of '{name}', which is '{}' on its server",
                database.remote
            )));
        }
        let text = remote::create_database(show, &name);
        self.relay_show(&database, &text, format).await
    }

    /// `DESCRIBE t [column]` is `SHOW COLUMNS` of some columns.
    pub(super) async fn describe(
        &mut self,
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
        self.show_in_database(view, &show, format).await
    }
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
