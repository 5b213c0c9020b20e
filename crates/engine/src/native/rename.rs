//! `RENAME TABLE`: tables change their names, and their databases perhaps, all of them in one commit.
//! Tables that change places are there at every moment, for readers and after a crash. Foreign keys
//! that refer to them follow, in the same commit.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::statement::TableName;
use pelorus_sql::table::TableDefinition;

use super::check;
use super::ddl::{Definer, unknown_database};
use super::definition::NativeDef;
use super::refer::{Redefined, refers_to};

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
        let mut renamed: Vec<Redefined> = Vec::with_capacity(moved.len());
        for Moved { def, database, name } in moved {
            let mut definition = def.definition.clone();
            rename_made(&mut definition, name);
            definition.name.name.clone_from(name);
            follow(&mut definition, (&def.database, database), moved);
            renamed.push((Arc::clone(def), database.clone(), definition));
        }
        let mut followed: Vec<Redefined> = Vec::new();
        let others = if moved.is_empty() { Vec::new() } else { self.referring() };
        for def in others.into_iter().filter(|def| moved.iter().all(|it| it.def.id != def.id)) {
            let (database, mut definition) = (def.database.clone(), def.definition.clone());
            if follow(&mut definition, (&database, &database), moved) {
                followed.push((def, database, definition));
            }
        }
        self.redefine_all(&renamed, &followed)
    }
}

/// Gives constraints whose names were made of the table's old name those of the new one.
fn rename_made(definition: &mut TableDefinition, name: &str) {
    let was = definition.name.name.clone();
    let rename = |made: &mut Option<String>, word: &str, is_made: fn(&str) -> bool| {
        let rest = made.as_deref().and_then(|it| it.strip_prefix(was.as_str()));
        let rest = rest.and_then(|rest| rest.strip_prefix(word)).filter(|rest| is_made(rest));
        if let Some(new) = rest.map(|rest| format!("{name}{word}{rest}")) {
            *made = Some(new);
        }
    };
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit());
    definition.foreign_keys.iter_mut().for_each(|key| rename(&mut key.name, "_ibfk_", is_number));
    // Of these MySQL goes by the beginning alone.
    definition.checks.iter_mut().for_each(|check| rename(&mut check.name, "_chk_", |_| true));
}

/// Makes foreign keys of a table, which goes from one database to another perhaps, refer to tables
/// where they are now. Says whether any had to change.
fn follow(definition: &mut TableDefinition, (from, to): (&str, &str), moved: &[Moved]) -> bool {
    let mut changed = false;
    for key in &mut definition.foreign_keys {
        let table = moved.iter().find(|it| refers_to(key, from, (&it.def.database, &it.def.name)));
        if table.is_none() && from == to {
            continue;
        }
        let named = &mut key.references.table;
        let mut database = named.database.take().unwrap_or_else(|| from.to_owned());
        if let Some(table) = table {
            database.clone_from(&table.database);
            named.name.clone_from(&table.name);
        }
        named.database = (database != to).then_some(database);
        changed = true;
    }
    changed
}
