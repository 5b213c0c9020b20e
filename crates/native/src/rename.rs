//! `RENAME TABLE`: renames or moves any number of tables in one commit. Tables that exchange names
//! exist at every moment, for readers and after a crash. Foreign keys that refer to them are
//! adapted in the same commit.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ddl::TableDefinition;
use pelorus_sql::statement::TableName;

use super::check;
use super::ddl::{Definer, unknown_database};
use super::definition::NativeDef;
use super::foreign_key_renames::{Redefined, refers_to};

/// A table with the place that it has after the pairs so far.
pub(super) struct Moved {
    def: Arc<NativeDef>,
    database: String,
    name: String,
}

impl Moved {
    /// A table that is about to take a place that is free.
    pub(super) fn to(def: &Arc<NativeDef>, database: String, name: &str) -> Self {
        Self { def: Arc::clone(def), database, name: name.to_owned() }
    }

    /// Gives the table's definition its new place.
    fn place(&self, definition: &mut TableDefinition, moved: &[Self]) {
        rename_made(definition, &self.name);
        definition.name.name.clone_from(&self.name);
        follow(definition, (&self.def.database, &self.database), moved);
    }

    fn is_at(&self, database: &str, name: &str) -> bool {
        self.database == database && self.name == name
    }

    fn was_at(&self, database: &str, name: &str) -> bool {
        self.def.database == database && self.def.name == name
    }
}

impl Definer {
    /// `RENAME TABLE`. A pair sees the result of the previous ones.
    ///
    /// # Errors
    /// A table that is not there (1146) or cannot be used (1034), and errors of
    /// [`Self::free_place`].
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
        if !self.catalog.has(&database) && !crate::hidden::is_hidden(&database) {
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

    /// Moves a table to the place in [`Moved`], without other changes.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn take_place(&self, moved: &Moved) -> Result<()> {
        self.carry_out(std::slice::from_ref(moved))
    }

    /// Adapts the new definition of a table to the place to which it moves, and adds the tables
    /// whose foreign keys follow to those that change in the same commit. Returns the database.
    pub(super) fn place_with(
        &self,
        moved: &Moved,
        definition: &mut TableDefinition,
        others: &mut Vec<Redefined>,
    ) -> String {
        let moved_one = std::slice::from_ref(moved);
        moved.place(definition, moved_one);
        self.add_following(moved_one, others);
        moved.database.clone()
    }

    fn carry_out(&self, moved: &[Moved]) -> Result<()> {
        let mut renamed: Vec<Redefined> = Vec::with_capacity(moved.len());
        for table in moved {
            let mut definition = table.def.definition.clone();
            table.place(&mut definition, moved);
            renamed.push((Arc::clone(&table.def), table.database.clone(), definition));
        }
        let mut followed: Vec<Redefined> = Vec::new();
        if !moved.is_empty() {
            self.add_following(moved, &mut followed);
        }
        self.redefine_all(&renamed, &followed)
    }

    /// Adds the tables whose foreign keys follow tables that move; of those that change already, the
    /// new definitions follow.
    fn add_following(&self, moved: &[Moved], others: &mut Vec<Redefined>) {
        let stays = |def: &Arc<NativeDef>| moved.iter().all(|it| it.def.id != def.id);
        for def in self.referring().into_iter().filter(stays) {
            let database = def.database.clone();
            if let Some((.., known)) = others.iter_mut().find(|(other, ..)| other.id == def.id) {
                follow(known, (&database, &database), moved);
                continue;
            }
            let mut definition = def.definition.clone();
            if follow(&mut definition, (&database, &database), moved) {
                others.push((def, database, definition));
            }
        }
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
