//! Adapts foreign keys when the tables and columns that they name are renamed.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_sql::ddl::{ForeignKey, TableDefinition};
use pelorus_store::TableId;

use super::ddl::Definer;
use super::definition::{self, Derived, NativeDef};

/// A table with the database and the definition that it gets.
pub(super) type Redefined = (Arc<NativeDef>, String, TableDefinition);

/// Whether a foreign key of a table in the database `own` refers to a table.
pub(super) fn refers_to(key: &ForeignKey, own: &str, (database, table): (&str, &str)) -> bool {
    let named = &key.references.table;
    named.database.as_deref().unwrap_or(own) == database && named.name == table
}

/// The columns of a changed table that have other names than before: the old ones and the new ones.
pub(super) fn renamed_columns(
    before: &TableDefinition,
    after: &TableDefinition,
    origins: &[Option<usize>],
) -> Vec<(String, String)> {
    let pairs = after.columns.iter().zip(origins).filter_map(|(column, origin)| {
        let old = before.columns.get((*origin)?)?;
        (old.name != column.name).then(|| (old.name.clone(), column.name.clone()))
    });
    pairs.collect()
}

/// Renames the columns in foreign keys that refer to them. Returns whether there were any.
pub(super) fn rename_referred(
    definition: &mut TableDefinition,
    own: &str,
    table: (&str, &str),
    renamed: &[(String, String)],
) -> bool {
    let mut changed = false;
    for key in definition.foreign_keys.iter_mut().filter(|key| refers_to(key, own, table)) {
        for column in &mut key.references.columns {
            let found = renamed.iter().find(|(from, _)| from.eq_ignore_ascii_case(column));
            if let Some((_, to)) = found {
                column.clone_from(to);
                changed = true;
            }
        }
    }
    changed
}

impl Definer {
    /// All tables that have foreign keys.
    pub(super) fn referring(&self) -> Vec<Arc<NativeDef>> {
        let databases = self.catalog.databases();
        let tables = databases.iter().flat_map(|(database, _)| self.catalog.tables(database));
        tables.filter(|def| !def.definition.foreign_keys.is_empty()).collect()
    }

    /// The other tables whose foreign keys name columns of a changed table, with the new names of
    /// these.
    pub(super) fn following_columns(
        &self,
        changed: &NativeDef,
        renamed: &[(String, String)],
    ) -> Vec<Redefined> {
        let mut others = Vec::new();
        if renamed.is_empty() {
            return others;
        }
        let table = (changed.database.as_str(), changed.name.as_str());
        for def in self.referring() {
            let is_itself = (def.database.as_str(), def.name.as_str()) == table;
            let mut definition = def.definition.clone();
            if !is_itself && rename_referred(&mut definition, &def.database, table, renamed) {
                let database = def.database.clone();
                others.push((def, database, definition));
            }
        }
        others
    }

    /// Renames and moves tables, and adapts the foreign keys of others, all in one step.
    ///
    /// # Errors
    /// Invalid definitions, of which nothing is written, and I/O errors.
    pub(super) fn redefine_all(&self, moved: &[Redefined], others: &[Redefined]) -> Result<()> {
        if moved.is_empty() && others.is_empty() {
            return Ok(());
        }
        self.catalog.store().define_tables_with(written(moved)?, written(others)?)?;
        let mut all = shown(moved)?;
        all.extend(shown(others)?);
        self.catalog.exchange_all(all);
        Ok(())
    }
}

/// The definitions as the store receives them.
///
/// # Errors
/// Invalid definitions.
pub(super) fn written(changed: &[Redefined]) -> Result<Vec<(TableId, Vec<u8>)>> {
    let encode = |(def, database, definition): &Redefined| {
        // What is wrong with it shows before anything is written.
        Derived::of(database, definition, def.mode)?;
        Ok((def.id, definition::encode(database, definition, def.mode)?))
    };
    changed.iter().map(encode).collect()
}

/// The tables that the catalog shows after the store has the new definitions.
pub(super) fn shown(changed: &[Redefined]) -> Result<Vec<(&NativeDef, NativeDef)>> {
    changed
        .iter()
        .map(|(def, database, definition)| {
            let next = def.auto.as_ref().map(|auto| Arc::clone(&auto.next));
            let table = Arc::clone(&def.table);
            Ok((&**def, NativeDef::new(database, definition.clone(), def.mode, table, next)?))
        })
        .collect()
}
