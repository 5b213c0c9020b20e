//! DDL and maintenance statements on native databases and tables.

use std::sync::Arc;

use pelorus_env::blocking;
use pelorus_error::{Error, Result};
use pelorus_native::ddl::Definer;
use pelorus_sql::ddl::{TableDefinition, TableStatement};
use pelorus_sql::literal;
use pelorus_sql::statement::{Completion, Ddl, DdlAction, Maintenance};
use pelorus_store::TableId;

use super::{
    create_like, done, linked_tables, native_dml, transaction_control, unsupported_objects,
};
use crate::api::{Outcome, RowFormat};
use crate::session::context::{SettingsContext, TransactionContext};
use crate::session::long_text::read_long;
use crate::session::statement_snapshot::View;
use crate::session::stream;
use crate::session::table_routing::unknown_database;

/// A table whose rows are still to come; it is dropped unless they came, also where the statement
/// is killed and nothing after its last `await` runs.
struct Unfilled {
    definer: Definer,
    /// Its database, name and number.
    table: Option<(String, String, TableId)>,
}

impl Drop for Unfilled {
    fn drop(&mut self) {
        let Some((database, name, id)) = self.table.take() else { return };
        if let Err(error) = blocking(|| self.definer.drop_unfilled(&database, &name, id)) {
            let error = pelorus_error::display_chain(&error);
            tracing::warn!(error, "a table whose rows were not inserted stays");
        }
    }
}

/// Runs a statement that defines something native.
///
/// # Errors
/// MySQL's errors; 1235 for objects that native databases do not have.
pub(crate) async fn define(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    sql: &str,
    ddl: &Ddl,
) -> Result<Outcome> {
    let is_kept = matches!(ddl.object.as_str(), "TABLE" | "INDEX" | "DATABASE" | "SCHEMA");
    if !is_kept && ddl.action != DdlAction::Drop {
        return Err(unsupported_objects::refused(&ddl.object));
    }
    if crate::links::is_own(&ddl.names.first().map(|it| it.name.clone()).unwrap_or_default())
        && ddl.object == "DATABASE"
    {
        let name = &ddl.names[0].name;
        return Err(cx.identity.database_denied(name));
    }
    for table in &ddl.names {
        if ddl.object == "DATABASE" || cx.routing().is_native(table) {
            continue;
        }
        let database = cx.settings.database_of(table)?;
        return match cx.engine.links().database(database)? {
            Some(found) => Err(Error::unsupported(format_args!(
                "DDL of native tables and of tables of server '{}' at once",
                found.link.name()
            ))),
            None => Err(unknown_database(database)),
        };
    }
    if cx.transaction.is_open() {
        transaction_control::end(&mut cx.transaction_context(), "COMMIT", Completion::default())
            .await?;
    }
    if !is_kept {
        return unsupported_objects::drop_absent(cx.reads(), ddl);
    }
    let read = || pelorus_sql::ddl::parse(sql, cx.settings.mode());
    let memory = cx.reads().stage_memory();
    let statement = read_long(sql, cx.statement.stop(), &memory, read)??;
    pelorus_native::options::check(&statement)?;
    if let TableStatement::Create(create) = &statement {
        if create.query.is_some() {
            return create_of_query(cx, view, create).await;
        }
        if let Some(like) = create.like.as_ref().filter(|like| !cx.routing().is_native(like)) {
            return create_like::run(cx.reads(), view, create, like).await;
        }
    }
    let definer = cx.reads().definer(view);
    let done = blocking(|| definer.run(&statement))?;
    if let TableStatement::DropDatabase(dropped) = &statement
        && !cx.engine.native().has(&dropped.name)
    {
        cx.leave_database(&dropped.name);
    }
    Ok(Outcome::Done(done))
}

/// `ANALYZE TABLE` and the like.
pub(crate) async fn maintain(
    cx: &mut TransactionContext<'_>,
    view: &Arc<View>,
    sql: &str,
    maintenance: &Maintenance,
    format: RowFormat,
) -> Result<Outcome> {
    if !cx.routing().names_native(&maintenance.tables) {
        return linked_tables::relay(cx, sql, &maintenance.tables, &maintenance.verb, format).await;
    }
    cx.routing().place(&maintenance.tables).await?.only_link(&maintenance.verb)?;
    if cx.transaction.is_open() && maintenance.verb != "CHECKSUM" {
        transaction_control::end(cx, "COMMIT", Completion::default()).await?;
    }
    let definer = cx.reads().definer(view);
    let grid = blocking(|| definer.maintain(maintenance))?;
    stream::grid(&grid).map(Outcome::Rows)
}

/// `CREATE TABLE ... SELECT`: the columns of the query become columns of the table, and its rows
/// are inserted by a statement of its own. Without them there is no table.
async fn create_of_query(
    cx: &mut SettingsContext<'_>,
    view: &Arc<View>,
    create: &TableDefinition,
) -> Result<Outcome> {
    let Some(query) = &create.query else { return Err(Error::internal("no query")) };
    let database = cx.settings.database_of(&create.name)?.to_owned();
    let columns = pelorus_query::describe(&cx.reads().query_context(view), &query.text).await?;
    let mut definition = create.clone();
    let native = cx.engine.native();
    pelorus_native::ddl::add_columns(&mut definition, &columns, native, &database)?;
    definition.query = None;
    let definer = cx.reads().definer(view);
    let Some(id) = blocking(|| definer.create_for_rows(&definition))? else {
        // `IF NOT EXISTS` found a table; MySQL inserts nothing then.
        return Ok(done());
    };
    let table = (database.clone(), create.name.name.clone(), id);
    let mut unfilled = Unfilled { definer, table: Some(table) };
    let names: Vec<String> = columns.iter().map(|it| literal::name(&it.name)).collect();
    let verb = match query.duplicates {
        None => "INSERT INTO",
        Some(false) => "INSERT IGNORE INTO",
        Some(true) => "REPLACE INTO",
    };
    let sql = format!(
        "{verb} {}.{} ({}) {}",
        literal::name(&database),
        literal::name(&create.name.name),
        names.join(", "),
        query.text
    );
    let mut filled = insert_rows(cx, &sql).await;
    // Its own commit: DDL is outside of transactions. With `autocommit` off the rows have opened
    // one.
    if cx.transaction.is_open() {
        let word = if filled.is_ok() { "COMMIT" } else { "ROLLBACK" };
        if let Err(error) =
            transaction_control::end(&mut cx.transaction_context(), word, Completion::default())
                .await
        {
            filled = filled.and(Err(error));
        }
    }
    if filled.is_ok() {
        unfilled.table = None;
    }
    filled
}

/// Inserts the rows of a query into the new table.
async fn insert_rows(cx: &mut SettingsContext<'_>, sql: &str) -> Result<Outcome> {
    let memory = cx.reads().stage_memory();
    let change = native_dml::parse(cx.reads(), sql, &memory)?;
    native_dml::run(cx, &change).await
}
