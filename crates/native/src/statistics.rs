//! The statistics of `ANALYZE TABLE`: stored with the store's values, shown, and passed to the
//! planner.
//!
//! The store has the statistics of a table under `statistics/<number of the table>`. They can be
//! computed again, so unreadable statistics are ignored with a note in the server's log.

mod json;
mod shown;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use pelorus_error::Result;
use pelorus_store::{Commit, Database, TableId, TableSchema, TableStatistics};

pub use shown::column_statistics;
pub(super) use shown::{cardinality, histograms};

/// The prefix of the keys of statistics in the store.
const PREFIX: &str = "statistics/";

/// The statistics of all tables.
#[derive(Debug)]
pub(crate) struct Statistics {
    store: Arc<Database>,
    tables: RwLock<BTreeMap<TableId, Arc<TableStatistics>>>,
}

impl Statistics {
    /// Reads the statistics in the store.
    pub(super) fn open(store: &Arc<Database>) -> Self {
        let mut tables = BTreeMap::new();
        for (key, value) in store.values(PREFIX.as_bytes()) {
            let Some(id) = table_of(&key) else { continue };
            match TableStatistics::from_bytes(&value) {
                Ok(found) => {
                    tables.insert(id, Arc::new(found));
                }
                Err(error) => {
                    let error = pelorus_error::display_chain(&error);
                    tracing::warn!(table = id.0, error, "statistics are ignored; ANALYZE TABLE");
                }
            }
        }
        Self { store: Arc::clone(store), tables: RwLock::new(tables) }
    }

    /// The statistics of a table.
    pub(crate) fn of(&self, id: TableId) -> Option<Arc<TableStatistics>> {
        self.tables.read().get(&id).cloned()
    }

    /// Changes the statistics of a table durably. The caller prevents concurrent changes.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn change<T>(
        &self,
        id: TableId,
        change: impl FnOnce(&mut TableStatistics) -> T,
    ) -> Result<T> {
        let mut next = self.of(id).map(|it| TableStatistics::clone(&it)).unwrap_or_default();
        let out = change(&mut next);
        self.write(id, Some(next.to_bytes()))?;
        self.tables.write().insert(id, Arc::new(next));
        Ok(out)
    }

    /// Forgets a table, whose rows are gone.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn forget(&self, id: TableId) -> Result<()> {
        if self.store.value(&key_of(id)).is_some() {
            self.write(id, None)?;
        }
        self.tables.write().remove(&id);
        Ok(())
    }

    /// The statistics of columns that another table has taken over, by column number.
    pub(super) fn for_columns(
        &self,
        id: TableId,
        schema: &TableSchema,
    ) -> Option<Arc<TableStatistics>> {
        let mut known = TableStatistics::clone(&*self.of(id)?);
        known.columns.retain(|it| schema.position(it.column).is_some());
        Some(Arc::new(known))
    }

    /// The values of the store that give a table the statistics of another, whose place it takes.
    pub(super) fn renumbered(
        &self,
        old: TableId,
        new: TableId,
        known: Option<&TableStatistics>,
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        known.map_or_else(Vec::new, |known| {
            vec![(key_of(new), Some(known.to_bytes())), (key_of(old), None)]
        })
    }

    /// Notes that a table has taken the place of another, as the store has it.
    pub(super) fn moved(&self, old: TableId, new: TableId, known: Option<Arc<TableStatistics>>) {
        let mut tables = self.tables.write();
        tables.remove(&old);
        if let Some(known) = known {
            tables.insert(new, known);
        }
    }

    fn write(&self, id: TableId, value: Option<Vec<u8>>) -> Result<()> {
        let commit = Commit { values: vec![(key_of(id), value)], ..Commit::default() };
        self.store.commit(&commit).map(drop)
    }
}

/// The key of a table's statistics in the store.
pub(super) fn key_of(id: TableId) -> Vec<u8> {
    format!("{PREFIX}{}", id.0).into_bytes()
}

fn table_of(key: &[u8]) -> Option<TableId> {
    std::str::from_utf8(key).ok()?.strip_prefix(PREFIX)?.parse().ok().map(TableId)
}
