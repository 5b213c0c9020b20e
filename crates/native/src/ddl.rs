//! DDL of native databases and tables: `CREATE`, `DROP`, `TRUNCATE` and similar statements.
//!
//! Each statement takes the catalog's lock, checks, commits the change durably in the store, and
//! then shows it. The statements wait for the disk, so sessions run them on a thread for blocking
//! work.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Policy;
use pelorus_functions::{EvalContext, TimeZone, Value};
use pelorus_result::Done;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;
use pelorus_sql::ddl::{
    AlterAction, Base, ColumnDefault, ColumnDefinition, CreateIndex, DatabaseDefinition,
    DropDatabase, DropIndex, DropTables, Expression, KeyKind, TableDefinition, TableOption,
    TableStatement, TypeName, option_value,
};
use pelorus_sql::statement::TableName;
use pelorus_sql::{Mode, literal};
use pelorus_store::{TableId, TableSchema};
use pelorus_types::temporal::{DateTime, write_datetime};
use pelorus_types::{Collation, Column, WireType};
use sqlparser::ast::{Expr, SetExpr, Value as Sql};

use super::catalog::{Catalog, DatabaseOptions, database_key};
use super::definition::{self, Derived, ENGINE, NativeDef, table_collation};
use super::foreign_key_renames::{self, Redefined};
use super::write::auto::Steps;
use super::write::records_text;
use super::{check, constraints, partition, row_id, statistics, types};

/// Engines that native tables replace.
const OTHER_ENGINES: [&str; 9] = [
    "InnoDB",
    "MyISAM",
    "Aria",
    "MEMORY",
    "ARCHIVE",
    "ndbcluster",
    "RocksDB",
    "TokuDB",
    "ColumnStore",
];

/// The session's state that a DDL statement needs.
#[derive(Debug)]
pub struct Definer {
    pub catalog: Arc<Catalog>,
    /// The current database.
    pub current: Option<String>,
    pub mode: Mode,
    pub context: Arc<EvalContext>,
    /// Whether `sql_mode` is strict.
    pub strict: bool,
    pub diagnostics: Diagnostics,
    /// The wish that it stops, which counts where rows are read and written.
    pub stop: Stop,
    /// How AUTO_INCREMENT counts.
    pub steps: Steps,
    /// Whether tables without a primary key get a hidden row number.
    pub generates_keys: bool,
    /// Whether `explicit_defaults_for_timestamp` is off.
    pub implies_timestamps: bool,
}

impl Definer {
    /// Runs a statement. The rows of `CREATE TABLE ... SELECT` are inserted by the caller.
    ///
    /// # Errors
    /// MySQL's errors, 1235 for what native tables do not have, and I/O errors.
    pub fn run(&self, statement: &TableStatement) -> Result<Done> {
        let _lock = self.catalog.define(&self.stop)?;
        let copied = match statement {
            TableStatement::Alter(alter) => self.alter(alter)?,
            TableStatement::CreateIndex(create) => self.create_index(create)?,
            TableStatement::DropIndex(drop) => self.drop_index(drop)?,
            other => return self.run_other(other).map(|()| Done::default()),
        };
        let warnings = self.diagnostics.count();
        Ok(Done {
            affected_rows: copied,
            info: records_text(copied, 0, warnings),
            ..Done::default()
        })
    }

    /// Makes the table of `CREATE TABLE ... SELECT` and gives its number; `None` when `IF NOT
    /// EXISTS` found a table of the name.
    ///
    /// # Errors
    /// MySQL's errors.
    pub fn create_for_rows(&self, create: &TableDefinition) -> Result<Option<TableId>> {
        let _lock = self.catalog.define(&self.stop)?;
        Ok(self.create(create)?.map(|def| def.id))
    }

    /// Drops a table whose rows were not inserted. If its name now refers to another table, that
    /// one belongs to another session and stays.
    ///
    /// # Errors
    /// I/O errors.
    pub fn drop_unfilled(&self, database: &str, name: &str, id: TableId) -> Result<()> {
        // A statement that was killed clears up all the same.
        let _lock = self.catalog.define(&Stop::never())?;
        if self.catalog.id_of(database, name) != Some(id) {
            return Ok(());
        }
        self.drop_all(&[(database, name, id)], Vec::new())
    }

    /// Statements that never touch a row.
    fn run_other(&self, statement: &TableStatement) -> Result<()> {
        match statement {
            TableStatement::Create(definition) => self.create(definition).map(drop),
            TableStatement::Drop(drop) => self.drop_tables(drop),
            TableStatement::Truncate(name) => self.truncate(name),
            TableStatement::Rename(rename) if rename.if_exists => {
                Err(Error::unsupported("RENAME TABLE IF EXISTS of native tables"))
            }
            TableStatement::Rename(rename) => self.rename(&rename.pairs),
            TableStatement::CreateDatabase(create) => self.create_database(create),
            TableStatement::AlterDatabase(alter) => self.alter_database(alter),
            TableStatement::DropDatabase(drop) => self.drop_database(drop),
            _ => Err(Error::internal("a statement that changes a table in another place")),
        }
    }

    /// The database of a name.
    pub(super) fn database_of<'a>(&'a self, name: &'a TableName) -> Result<&'a str> {
        name.database
            .as_deref()
            .or(self.current.as_deref())
            .ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))
    }

    /// The table of a name, or error 1146.
    pub(super) fn require(&self, name: &TableName) -> Result<Arc<NativeDef>> {
        self.catalog.require(self.database_of(name)?, &name.name)
    }

    /// How the session's statements treat constants.
    pub(super) fn policy(&self) -> Policy {
        let null_is_now = self.implies_timestamps;
        Policy { null_is_now, ..Policy::new(&self.context, self.strict) }
    }

    fn create_database(&self, create: &DatabaseDefinition) -> Result<()> {
        let name = create.name.as_deref().unwrap_or_default();
        check::database_name(name)?;
        let options = self.database_options(&create.options, DatabaseOptions::default())?;
        if self.catalog.has(name) {
            let text = format!("Can't create database '{name}'; database exists");
            if create.if_not_exists {
                self.diagnostics.note(Code::DatabaseExists.errno(), text);
                return Ok(());
            }
            return Err(Error::new(Code::DatabaseExists, text));
        }
        self.catalog.put_database(name, options)
    }

    fn database_options(
        &self,
        options: &[TableOption],
        before: DatabaseOptions,
    ) -> Result<DatabaseOptions> {
        for option in options {
            let refused = match option.name.as_str() {
                "ENCRYPTION" => !matches!(option.value.as_str(), "N" | "n"),
                "READ ONLY" => !matches!(option.value.as_str(), "0" | "DEFAULT"),
                _ => false,
            };
            if refused {
                return Err(Error::unsupported(format_args!(
                    "{} {} of native databases",
                    option.name, option.value
                )));
            }
        }
        let (charset, name) = (option_value(options, "CHARSET"), option_value(options, "COLLATE"));
        Ok(DatabaseOptions { collation: types::collation_of(charset, name, before.collation)? })
    }

    fn alter_database(&self, alter: &DatabaseDefinition) -> Result<()> {
        let name = alter.name.as_deref().or(self.current.as_deref());
        let name = name.ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))?;
        let before = self.catalog.options(name).ok_or_else(|| unknown_database(name))?;
        self.catalog.put_database(name, self.database_options(&alter.options, before)?)
    }

    fn drop_database(&self, drop: &DropDatabase) -> Result<()> {
        let name = &drop.name;
        if !self.catalog.has(name) {
            let text = format!("Can't drop database '{name}'; database doesn't exist");
            if drop.if_exists {
                self.diagnostics.note(Code::DatabaseDropExists.errno(), text);
                return Ok(());
            }
            return Err(Error::new(Code::DatabaseDropExists, text));
        }
        let tables = self.catalog.tables(name);
        let broken = self.catalog.broken_tables(name);
        let tables = tables.iter().map(|it| (name.as_str(), it.name.as_str(), it.id));
        let broken = broken.iter().map(|(table, id, _)| (name.as_str(), table.as_str(), *id));
        self.drop_all(&tables.chain(broken).collect::<Vec<_>>(), vec![database_key(name)])?;
        self.catalog.forget_database(name);
        Ok(())
    }

    /// Makes a table; `None` when `IF NOT EXISTS` found one.
    ///
    /// # Errors
    /// MySQL's errors.
    fn create(&self, create: &TableDefinition) -> Result<Option<Arc<NativeDef>>> {
        let database = self.database_of(&create.name)?;
        let options = self.catalog.options(database).ok_or_else(|| unknown_database(database))?;
        let name = &create.name.name;
        check::table_name(name)?;
        if self.catalog.id_of(database, name).is_some() {
            let text = format!("Table '{name}' already exists");
            if create.if_not_exists {
                self.diagnostics.note(Code::TableExists.errno(), text);
                return Ok(None);
            }
            return Err(Error::new(Code::TableExists, text));
        }
        let mut definition = create.clone();
        definition.name.database = None;
        definition.if_not_exists = false;
        definition.query = None;
        let mut mode = self.mode;
        if let Some(like) = create.like.clone() {
            let source = self.require(&like)?;
            mode = source.mode;
            definition = source.definition.clone();
            definition.name.name.clone_from(name);
            definition.options.retain(|option| option.name != "AUTO_INCREMENT");
            definition.foreign_keys.clear();
            // The names are those of the source's constraints: the new table's are made of its own.
            definition.checks.iter_mut().for_each(|check| check.name = None);
            definition.normalise();
        } else {
            definition.complete_foreign_keys();
            add_collation(&mut definition, &options);
            if self.implies_timestamps {
                types::imply_timestamps(&mut definition.columns, |_| true, mode);
            }
            if self.generates_keys {
                row_id::add(&mut definition)?;
            }
            self.prepare(&mut definition, mode)?;
            constraints::defaults(&definition)?;
            let collation = table_collation(&definition)?;
            for column in &definition.columns {
                self.check_members(column, collation)?;
            }
        }
        self.create_prepared(database, definition, mode).map(Some)
    }

    /// Creates a table in a hidden database, which need not exist.
    ///
    /// # Errors
    /// MySQL's errors, 1235 for what native tables do not have.
    pub fn create_hidden(&self, database: &str, mut definition: TableDefinition) -> Result<()> {
        let _lock = self.catalog.define(&self.stop)?;
        self.prepare(&mut definition, self.mode)?;
        self.create_prepared(database, definition, self.mode).map(drop)
    }

    /// Checks a definition and normalises it for storage.
    ///
    /// # Errors
    /// MySQL's errors.
    pub(super) fn prepare(&self, definition: &mut TableDefinition, mode: Mode) -> Result<()> {
        definition.columns.iter_mut().for_each(types::restore_json);
        let policy = self.policy();
        check::check(definition, mode, &policy)?;
        self.settle_engine(definition)?;
        let collation = table_collation(definition)?;
        for column in &mut definition.columns {
            self.settle_default(column, collation, mode)?;
        }
        if let Some(partitioning) = &mut definition.partitioning {
            partition::settle(partitioning, mode, &self.context)?;
        }
        definition.normalise();
        self.warn_unheeded(definition, None);
        Ok(())
    }

    /// Warns of keys that are not enforced, in a definition in normal form, unless the table
    /// already had them.
    pub(super) fn warn_unheeded(
        &self,
        definition: &TableDefinition,
        before: Option<&TableDefinition>,
    ) {
        let warn = |text: String| self.diagnostics.warn(Code::NotSupportedYet.errno(), text);
        for key in &definition.foreign_keys {
            if before.is_some_and(|it| it.foreign_keys.iter().any(|old| old.name == key.name)) {
                continue;
            }
            let name = key.name.as_deref().unwrap_or_default();
            warn(format!("foreign key '{name}' is kept but not enforced in native tables"));
        }
        for key in definition.keys.iter().filter(|key| key.kind == KeyKind::FullText) {
            if before.is_some_and(|it| it.keys.iter().any(|old| old.name == key.name)) {
                continue;
            }
            let name = key.name.as_deref().unwrap_or_default();
            warn(format!(
                "FULLTEXT key '{name}' is kept but not used: native tables have no MATCH"
            ));
        }
    }

    /// Makes a table of a definition in normal form.
    pub(super) fn create_prepared(
        &self,
        database: &str,
        mut definition: TableDefinition,
        mode: Mode,
    ) -> Result<Arc<NativeDef>> {
        let store = self.catalog.store();
        // Kept, computed and shown in the default mode, whatever mode it was written in.
        definition.translate(mode, Mode::default());
        let mode = Mode::default();
        let first = first_number(&definition)?;
        let derived = Derived::of(database, &definition, mode)?;
        constraints::check(&definition, &derived, mode)?;
        // Copies have what their sources have.
        if !crate::hidden::is_hidden(database) {
            derived.partitioner.check_new(&derived.targets)?;
        }
        let schema = derived.schema(&definition, mode)?;
        let bytes = definition::encode(database, &definition, mode)?;
        // One commit makes the table and its first number. The definition has been derived above,
        // so that nothing is wrong with it afterwards.
        let id = store.create_table_with(schema, &bytes, |id| {
            let value = |first: u64| (NativeDef::auto_key(id), Some(first.to_le_bytes().to_vec()));
            first.map(value).into_iter().collect()
        })?;
        let table = store.table(id).ok_or_else(|| Error::internal("a new table is not there"))?;
        let counter = self.catalog.stored_counter(id);
        let def = NativeDef::new(database, definition, mode, table, Some(counter))?;
        Ok(self.catalog.insert(def))
    }

    /// `ENGINE`: other engines' names are taken with a warning, as MySQL does when it has to put
    /// another engine in their place.
    fn settle_engine(&self, definition: &mut TableDefinition) -> Result<()> {
        let Some(engine) = definition.option("ENGINE").map(str::to_owned) else { return Ok(()) };
        let is = |name: &str| name.eq_ignore_ascii_case(&engine);
        if !is(ENGINE) && !OTHER_ENGINES.into_iter().any(is) {
            let text = format!("Unknown storage engine '{engine}'");
            return Err(Error::new(Code::UnknownEngine, text));
        }
        if !is(ENGINE) {
            let name = &definition.name.name;
            let text = format!("Using storage engine {ENGINE} for table '{name}'");
            self.diagnostics.warn(1266, text);
        }
        definition.options.retain(|option| option.name != "ENGINE");
        Ok(())
    }

    /// Refuses members of an ENUM or SET that are equal; where `sql_mode` is not strict, a note says
    /// so.
    pub(super) fn check_members(
        &self,
        column: &ColumnDefinition,
        collation: Collation,
    ) -> Result<()> {
        match types::member_twice(column, collation)? {
            Some(error) if self.strict => return Err(error),
            Some(error) => self.diagnostics.note(error.errno(), error.message()),
            None => {}
        }
        Ok(())
    }

    /// Literal defaults of TIMESTAMP columns are written in the session's time zone and stored in
    /// universal time.
    pub(super) fn settle_default(
        &self,
        column: &mut ColumnDefinition,
        collation: Collation,
        mode: Mode,
    ) -> Result<()> {
        if self.context.time_zone == TimeZone::Utc || column.data_type.base != Base::Timestamp {
            return Ok(());
        }
        let (_, target) = types::column("", column, collation)?;
        let value = types::constant_under(column, &target, mode, &self.policy())?;
        if let (Some(ColumnDefault::Literal(default)), Value::Date(packed)) =
            (&mut column.default, value)
        {
            let mut text = String::new();
            write_datetime(&mut text, DateTime::unpack(packed), target.ty.decimals.min(6));
            default.text = literal::text(&text, mode);
            let value = Sql::SingleQuotedString(text).with_empty_span();
            *default.tree = Expr::Value(value);
        }
        Ok(())
    }

    fn drop_tables(&self, drop: &DropTables) -> Result<()> {
        if drop.temporary {
            return Err(Error::unsupported("TEMPORARY tables in native databases"));
        }
        let mut found = Vec::new();
        let mut missing = Vec::new();
        // Whether the database is written or the current one makes no difference.
        self.check_unique(&drop.tables)?;
        for name in &drop.tables {
            let database = self.database_of(name)?;
            if !self.catalog.has(database) && !drop.if_exists {
                return Err(unknown_database(database));
            }
            match self.catalog.id_of(database, &name.name) {
                Some(id) => found.push((database, name.name.as_str(), id)),
                None => missing.push(format!("{database}.{}", name.name)),
            }
        }
        // MySQL drops nothing when one of the tables is not there.
        if !missing.is_empty() && !drop.if_exists {
            let text = format!("Unknown table '{}'", missing.join(","));
            return Err(Error::new(Code::UnknownTable, text));
        }
        for name in missing {
            let text = format!("Unknown table '{name}'");
            self.diagnostics.note(Code::UnknownTable.errno(), text);
        }
        self.drop_all(&found, Vec::new())
    }

    /// Fails when one of the tables that a statement works on is named twice.
    ///
    /// # Errors
    /// 1066; a name without database (1046).
    pub(super) fn check_unique(&self, tables: &[TableName]) -> Result<()> {
        let mut named = HashSet::new();
        for name in tables {
            if !named.insert((self.database_of(name)?, name.name.as_str())) {
                return Err(not_unique(&name.name));
            }
        }
        Ok(())
    }

    /// Drops tables, by database, name and number, in one commit with their values and other values
    /// of the store.
    fn drop_all(&self, tables: &[(&str, &str, TableId)], mut forgets: Vec<Vec<u8>>) -> Result<()> {
        if tables.is_empty() && forgets.is_empty() {
            return Ok(());
        }
        let store = self.catalog.store();
        let ids: Vec<TableId> = tables.iter().map(|it| it.2).collect();
        forgets.extend(ids.iter().flat_map(|&id| kept_keys(id)));
        forgets.retain(|key| store.value(key).is_some());
        store.drop_tables(&ids, forgets)?;
        // They are gone: nothing that goes wrong from here on may leave one of them shown.
        for &(database, name, _) in tables {
            self.catalog.forget(database, name);
        }
        for id in ids {
            let left = self.catalog.statistics().forget(id).and_then(|()| {
                // A statement that was on its way may have taken numbers meanwhile.
                let counter = NativeDef::auto_key(id);
                let is_there = store.value(&counter).is_some();
                if is_there { self.catalog.put_value(counter, None) } else { Ok(()) }
            });
            if let Err(error) = left {
                let error = pelorus_error::display_chain(&error);
                tracing::warn!(table = id.0, error, "something of a dropped table is left");
            }
        }
        Ok(())
    }

    fn truncate(&self, name: &TableName) -> Result<()> {
        let def = self.require(name)?;
        let store = self.catalog.store();
        // Rows that have got numbers of before must not come after: they wait, and their statement
        // gets others.
        let counts = def.auto.is_some() && !crate::hidden::is_hidden(&def.database);
        let frozen = counts.then(|| store.freeze(def.id)).transpose()?;
        store.truncate_table(def.id)?;
        self.catalog.statistics().forget(def.id)?;
        if frozen.is_some() {
            self.catalog.put_value(NativeDef::auto_key(def.id), None)?;
            let next = Some(Arc::new(AtomicU64::new(1)));
            let definition = def.definition.clone();
            let named = (def.database.as_str(), definition);
            self.redefine_counting(&def, named, def.table.schema(), next, &[])?;
        }
        Ok(())
    }

    /// Replaces the definition of a table, and shows it under its name.
    pub(super) fn redefine(
        &self,
        def: &NativeDef,
        database: &str,
        definition: TableDefinition,
        schema: TableSchema,
    ) -> Result<()> {
        self.redefine_with(def, (database, definition), schema, &[])
    }

    /// The same, with other tables whose foreign keys follow in the same commit.
    pub(super) fn redefine_with(
        &self,
        def: &NativeDef,
        named: (&str, TableDefinition),
        schema: TableSchema,
        others: &[Redefined],
    ) -> Result<()> {
        let next = def.auto.as_ref().map(|auto| Arc::clone(&auto.next));
        let next = next.or_else(|| Some(self.catalog.stored_counter(def.id)));
        self.redefine_counting(def, named, schema, next, others)
    }

    /// The same, with another counter.
    fn redefine_counting(
        &self,
        def: &NativeDef,
        (database, definition): (&str, TableDefinition),
        schema: TableSchema,
        next: Option<Arc<AtomicU64>>,
        others: &[Redefined],
    ) -> Result<()> {
        let store = self.catalog.store();
        // What is wrong with it shows before anything is written.
        Derived::of(database, &definition, def.mode)?;
        let bytes = definition::encode(database, &definition, def.mode)?;
        store.alter_table_with(def.id, schema, &bytes, foreign_key_renames::written(others)?)?;
        let table = Arc::clone(&def.table);
        let new = NativeDef::new(database, definition, def.mode, table, next)?;
        let mut shown = foreign_key_renames::shown(others)?;
        shown.push((def, new));
        self.catalog.exchange_all(shown);
        Ok(())
    }

    fn create_index(&self, create: &CreateIndex) -> Result<u64> {
        let def = self.require(&create.table)?;
        let name = create.key.name.as_deref().unwrap_or_default();
        if create.if_not_exists && def.key_named(name).is_some() {
            let text = format!("Duplicate key name '{name}'");
            self.diagnostics.note(Code::DuplicateKeyName.errno(), text);
            return Ok(0);
        }
        let action = AlterAction::AddKey(Box::new(create.key.clone()));
        self.alter_with(&create.table, &[action])
    }

    fn drop_index(&self, drop: &DropIndex) -> Result<u64> {
        let action = match drop.name.eq_ignore_ascii_case("PRIMARY") {
            true => AlterAction::DropPrimaryKey,
            false => AlterAction::DropKey { if_exists: drop.if_exists, name: drop.name.clone() },
        };
        self.alter_with(&drop.table, &[action])
    }
}

/// The keys of the values that are kept of a table.
fn kept_keys(id: TableId) -> [Vec<u8>; 2] {
    [NativeDef::auto_key(id), statistics::key_of(id)]
}

/// A table without charset has that of its database.
fn add_collation(definition: &mut TableDefinition, options: &DatabaseOptions) {
    if definition.option("CHARSET").is_some() || definition.option("COLLATE").is_some() {
        return;
    }
    let option =
        |name: &str, value: String| TableOption { name: name.to_owned(), value, quoted: false };
    definition.options.push(option("CHARSET", options.collation.charset().to_owned()));
    definition.options.push(option("COLLATE", options.collation.name()));
}

/// Whether the numbers of a computed column are so short that MySQL makes an INT of it.
fn is_short(column: &Column) -> bool {
    /// Characters of a number of nine digits with its sign.
    const LONGER: u32 = 10;
    column.ty.wire == WireType::LongLong && column.ty.length < LONGER
}

/// The default of a computed column that cannot be NULL; dates have none.
fn zero_default(data_type: &TypeName, nullable: bool) -> Option<ColumnDefault> {
    let text = match data_type.base {
        _ if nullable => return None,
        base if base.is_number() => "0",
        Base::Time => "00:00:00",
        Base::Char | Base::VarChar | Base::Binary | Base::VarBinary => "",
        _ => return None,
    };
    Some(literal_default(text))
}

/// A default that is a text.
fn literal_default(text: &str) -> ColumnDefault {
    let tree = Expr::Value(Sql::SingleQuotedString(text.to_owned()).with_empty_span());
    ColumnDefault::Literal(Expression { text: format!("'{text}'"), tree: Box::new(tree) })
}

/// The default that the column of a native table has which a query's column comes from, and its
/// `ON UPDATE`.
fn default_of(
    catalog: &Catalog,
    column: &Column,
    columns: &[Column],
) -> (Option<ColumnDefault>, Option<u32>) {
    let is_there = |name: &String| columns.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    let def = catalog.table(&column.schema, &column.org_table);
    let found = def.as_ref().and_then(|def| {
        let at = def.position(&column.org_name)?;
        def.definition.columns.get(at)
    });
    match found {
        // A number counts in its own table alone.
        Some(found) if found.auto_increment => (Some(literal_default("0")), None),
        // TIMESTAMPs are written in the session's time zone.
        Some(found) if found.data_type.base != Base::Timestamp => {
            let default = found.default.clone().filter(|default| match default {
                ColumnDefault::Expression(it) => constraints::names(&it.tree).iter().all(is_there),
                ColumnDefault::Dropped => false,
                _ => true,
            });
            (default, found.on_update)
        }
        _ => (None, None),
    }
}

/// The table option `AUTO_INCREMENT`.
pub(super) fn first_number(definition: &TableDefinition) -> Result<Option<u64>> {
    let Some(text) = definition.option("AUTO_INCREMENT") else { return Ok(None) };
    let number: u64 = text.parse().map_err(|_| {
        let text = format!("the table option AUTO_INCREMENT cannot be '{text}'");
        Error::new(Code::Syntax, text)
    })?;
    Ok(Some(number.max(1)))
}

/// 1066.
pub(super) fn not_unique(table: &str) -> Error {
    Error::new(Code::NonUniqueTable, format!("Not unique table/alias: '{table}'"))
}

/// Error 1049.
pub(super) fn unknown_database(name: &str) -> Error {
    Error::new(Code::UnknownDatabase, format!("Unknown database '{name}'"))
}

/// Adds the columns of a query that a definition does not have yet. Columns of native tables keep
/// their defaults; a computed column has the default zero if it cannot be NULL, and is an INT if
/// its values fit.
///
/// # Errors
/// A column of a type that cannot be stored (1235).
pub fn add_columns(
    definition: &mut TableDefinition,
    columns: &[Column],
    catalog: &Catalog,
    database: &str,
) -> Result<()> {
    let mut complete = definition.clone();
    add_collation(&mut complete, &catalog.options(database).unwrap_or_default());
    let collation = table_collation(&complete)?;
    let is_union = definition.query.as_ref().is_some_and(|query| {
        matches!(query.parsed.query.body.as_ref(), SetExpr::SetOperation { .. })
    });
    for column in columns {
        let known = |it: &ColumnDefinition| it.name.eq_ignore_ascii_case(&column.name);
        if definition.columns.iter().any(known) {
            continue;
        }
        let mut data_type = types::type_name(column)?;
        if data_type.base.is_text() && column.ty.collation == collation {
            (data_type.charset, data_type.collation) = (None, None);
        }
        let is_computed = column.org_name.is_empty();
        if is_computed && !is_union && is_short(column) {
            data_type.base = Base::Int;
        }
        let mut keys = definition.keys.iter();
        let is_key = keys.any(|it| it.kind == KeyKind::Primary && it.holds(&column.name));
        let (default, on_update) = match is_computed {
            true if is_key => (None, None),
            true => (zero_default(&data_type, column.ty.is_nullable()), None),
            false => default_of(catalog, column, columns),
        };
        definition.columns.push(ColumnDefinition {
            name: column.name.clone(),
            data_type,
            nullable: Some(column.ty.is_nullable()),
            default,
            on_update,
            auto_increment: false,
            unique: false,
            primary: false,
            comment: None,
            invisible: false,
            generated: None,
            checks: Vec::new(),
            references: None,
            srid: None,
            options: Vec::new(),
        });
    }
    Ok(())
}
