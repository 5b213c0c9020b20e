//! `RENAME TABLE`: tables change their names, and their databases perhaps, all of them in one commit.
//! Tables that change places are there at every moment, for readers and after a crash.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::TableName;

use super::check;
use super::ddl::{Definer, unknown_database};
use super::definition::{self, Derived, NativeDef};

/// A table with the place that it has after the pairs so far.
struct Moved {
    def: Arc<NativeDef>,
    database: String,
    name: String,
}

impl Moved {
    fn is_at(&self, database: &str, name: &str) -> bool {
        self.database == database && self.name == name
    }

    fn was_at(&self, database: &str, name: &str) -> bool {
        self.def.database == database && self.def.name == name
    }
}

impl Definer {
    /// `RENAME TABLE`. A pair sees what those before it have done.
    ///
    /// # Errors
    /// A table that is not there (1146) or cannot be used (1034), and what [`Self::free_place`] gives.
    pub(super) fn rename(&self, pairs: &[(TableName, TableName)]) -> Result<()> {
        let mut moved: Vec<Moved> = Vec::new();
        for (from, to) in pairs {
            // As on a server, the new name is looked at first.
            let database = self.place_after(to, &moved)?;
            let source = self.database_of(from)?.to_owned();
            let found = match moved.iter().position(|it| it.is_at(&source, &from.name)) {
                Some(at) => at,
                None if moved.iter().any(|it| it.was_at(&source, &from.name)) => {
                    let text = format!("Table '{source}.{}' doesn't exist", from.name);
                    return Err(Error::new(Code::NoSuchTable, text));
                }
                None => {
                    let def = self.require(from)?;
                    let (database, name) = (def.database.clone(), def.name.clone());
                    moved.push(Moved { def, database, name });
                    moved.len() - 1
                }
            };
            moved[found].database = database;
            moved[found].name.clone_from(&to.name);
        }
        moved.retain(|it| !it.was_at(&it.database, &it.name));
        self.carry_out(&moved)
    }

    /// The database of a name that a table can take.
    ///
    /// # Errors
    /// A name that is no table's (1103), no such database (1049), a table that has it (1050).
    pub(super) fn free_place(&self, name: &TableName) -> Result<String> {
        self.place_after(name, &[])
    }

    /// [`Self::free_place`] once some tables have other names.
    fn place_after(&self, to: &TableName, moved: &[Moved]) -> Result<String> {
        let database = self.database_of(to)?.to_owned();
        check::table_name(&to.name)?;
        if !self.catalog.has(&database) && !crate::mirror::is_hidden(&database) {
            return Err(unknown_database(&database));
        }
        let is_taken = moved.iter().any(|it| it.is_at(&database, &to.name))
            || (self.catalog.id_of(&database, &to.name).is_some()
                && !moved.iter().any(|it| it.was_at(&database, &to.name)));
        if is_taken {
            let text = format!("Table '{}' already exists", to.name);
            return Err(Error::new(Code::TableExists, text));
        }
        Ok(database)
    }

    fn carry_out(&self, moved: &[Moved]) -> Result<()> {
        if moved.is_empty() {
            return Ok(());
        }
        let mut definitions = Vec::with_capacity(moved.len());
        let mut written = Vec::with_capacity(moved.len());
        for Moved { def, database, name } in moved {
            let mut definition = def.definition.clone();
            definition.name.name.clone_from(name);
            // What is wrong with it shows before anything is written.
            Derived::of(database, &definition, def.mode)?;
            written.push((def.id, definition::encode(database, &definition, def.mode)?));
            definitions.push(definition);
        }
        self.catalog.store().define_tables(written)?;
        let shown =
            moved.iter().zip(definitions).map(|(Moved { def, database, .. }, definition)| {
                let next = def.auto.as_ref().map(|auto| Arc::clone(&auto.next));
                let table = Arc::clone(&def.table);
                Ok((&**def, NativeDef::new(database, definition, def.mode, table, next)?))
            });
        self.catalog.exchange_all(shown.collect::<Result<Vec<_>>>()?);
        Ok(())
    }
}
