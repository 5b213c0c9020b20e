//! DDL and maintenance statements on native databases and tables.

use std::sync::Arc;

use pelorus_env::blocking;
use pelorus_error::{Error, Result};
use pelorus_native::ddl::Definer;
use pelorus_sql::ddl::{TableDefinition, TableStatement};
use pelorus_sql::literal;
use pelorus_sql::statement::{Completion, Ddl, DdlAction, Maintenance};
use pelorus_store::TableId;

use super::dispatch::done;
use super::statement_lifecycle::read_long;
use super::statement_snapshot::View;
use super::table_routing::unknown_database;
use super::{Session, stream, unsupported_objects};
use crate::api::{Outcome, RowFormat};

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

impl Session {
    /// Runs a statement that defines something native.
    ///
    /// # Errors
    /// MySQL's errors; 1235 for objects that native databases do not have.
    pub(super) async fn define_native(
        &mut self,
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
            return Err(self.identity.database_denied(name));
        }
        for table in &ddl.names {
            if ddl.object == "DATABASE" || self.is_native(table) {
                continue;
            }
            let database = self.settings.database_of(table)?;
            return match self.engine.links().database(database)? {
                Some(found) => Err(Error::unsupported(format_args!(
                    "DDL of native tables and of tables of server '{}' at once",
                    found.link.name()
                ))),
                None => Err(unknown_database(database)),
            };
        }
        if self.transaction.is_open() {
            self.end_transaction("COMMIT", Completion::default()).await?;
        }
        if !is_kept {
            return self.drop_absent(ddl);
        }
        let read = || pelorus_sql::ddl::parse(sql, self.settings.mode());
        let memory = self.stage_memory();
        let statement = read_long(sql, self.statement.stop(), &memory, read)??;
        pelorus_native::options::check(&statement)?;
        if let TableStatement::Create(create) = &statement {
            if create.query.is_some() {
                return self.create_of_query(view, create).await;
            }
            if let Some(like) = create.like.as_ref().filter(|like| !self.is_native(like)) {
                return self.create_like_linked(view, create, like).await;
            }
        }
        let definer = self.definer(view);
        let done = blocking(|| definer.run(&statement))?;
        if let TableStatement::DropDatabase(dropped) = &statement
            && !self.engine.native().has(&dropped.name)
        {
            self.leave_database(&dropped.name);
        }
        Ok(Outcome::Done(done))
    }

    pub(super) fn definer(&self, view: &Arc<View>) -> Definer {
        let context = self.context(view);
        Definer {
            catalog: Arc::clone(self.engine.native()),
            current: self.settings.database().map(str::to_owned),
            mode: self.settings.mode(),
            context: context.eval,
            strict: self.settings.is_strict(),
            diagnostics: self.statement.diagnostics().clone(),
            stop: self.statement.stop().clone(),
            steps: self.auto_increment_steps(),
            generates_keys: self.settings.variables().is_on("sql_generate_invisible_primary_key"),
            implies_timestamps: !self.settings.variables().is_on("explicit_defaults_for_timestamp"),
        }
    }

    /// `ANALYZE TABLE` and the like.
    pub(super) async fn maintain(
        &mut self,
        view: &Arc<View>,
        sql: &str,
        maintenance: &Maintenance,
        format: RowFormat,
    ) -> Result<Outcome> {
        if !self.names_native(&maintenance.tables) {
            return self.hand_on(sql, &maintenance.tables, &maintenance.verb, format).await;
        }
        self.place(&maintenance.tables).await?.only_link(&maintenance.verb)?;
        if self.transaction.is_open() && maintenance.verb != "CHECKSUM" {
            self.end_transaction("COMMIT", Completion::default()).await?;
        }
        let definer = self.definer(view);
        let grid = blocking(|| definer.maintain(maintenance))?;
        stream::grid(&grid).map(Outcome::Rows)
    }

    /// `CREATE TABLE ... SELECT`: the columns of the query become columns of the table, and its rows
    /// are inserted by a statement of its own. Without them there is no table.
    async fn create_of_query(
        &mut self,
        view: &Arc<View>,
        create: &TableDefinition,
    ) -> Result<Outcome> {
        let Some(query) = &create.query else { return Err(Error::internal("no query")) };
        let database = self.settings.database_of(&create.name)?.to_owned();
        let columns = pelorus_query::describe(&self.context(view), &query.text).await?;
        let mut definition = create.clone();
        let native = self.engine.native();
        pelorus_native::ddl::add_columns(&mut definition, &columns, native, &database)?;
        definition.query = None;
        let definer = self.definer(view);
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
        let mut filled = self.change_native(&sql).await;
        // Its own commit: DDL is outside of transactions. With `autocommit` off the rows have opened
        // one.
        if self.transaction.is_open() {
            let word = if filled.is_ok() { "COMMIT" } else { "ROLLBACK" };
            if let Err(error) = self.end_transaction(word, Completion::default()).await {
                filled = filled.and(Err(error));
            }
        }
        if filled.is_ok() {
            unfilled.table = None;
        }
        filled
    }
}
