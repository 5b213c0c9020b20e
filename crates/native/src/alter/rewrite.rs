//! Rewrites the rows of a table under another definition.
//!
//! The new table is in the catalog from the beginning, under the name of no database, so that its
//! rows are logged like all others. The step in which it replaces the old one is one record of the
//! log. After a crash before that step the old table is unchanged, and recovery drops the new one
//! ([`crate::definition::NOWHERE`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelorus_error::{Error, Result};
use pelorus_functions::assignment::{ColumnBuilder, Literal};
use pelorus_sql::ddl::TableDefinition;
use pelorus_store::{Database, Mode, TableId, TableSchema, bytes_of};
use pelorus_types::WireType;

use super::first_invalid_row;
use super::plan::{Plan, Source};
use super::rows::{Maker, PIECE_ROWS, Reader};
use crate::ddl::Definer;
use crate::definition::{self, DefaultValue, Derived, NOWHERE, NativeDef};
use crate::durability::Wanted;
use crate::foreign_key_renames::{self, Redefined};
use crate::write::change::Change;
use crate::write::warnings::Warnings;
use crate::write::{auto, commit};
use crate::{catalog, partition, types};

/// About most bytes of rows of one commit.
const COMMIT_BYTES: usize = 64 << 20;

/// A table on its way; dropped unless it has taken its place.
struct Hidden<'s> {
    store: &'s Database,
    id: Option<TableId>,
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id
            && let Err(error) = catalog::discard(self.store, id)
        {
            let error = pelorus_error::display_chain(&error);
            tracing::warn!(table = id.0, error, "a table that was given up goes at the next start");
        }
    }
}

impl Definer {
    /// Rewrites a table under a definition; the new table replaces the old one, or gets the name
    /// and database of the definition. The table is frozen. Foreign keys of `others` follow in the
    /// same step.
    ///
    /// # Errors
    /// The first row that does not fit, a duplicate key (1062), a row without partition (1526),
    /// 1317 when it is stopped, and I/O errors. The old table is then unchanged.
    pub(super) fn rewrite(
        &self,
        def: &NativeDef,
        (database, definition): (&str, TableDefinition),
        (derived, plan): (&Derived, &Plan),
        counter: Option<u64>,
        others: &[Redefined],
    ) -> Result<()> {
        let store = self.catalog.store();
        let texts = foreign_key_renames::written(others)?;
        let schema = TableSchema {
            columns: plan.stored(def, derived)?,
            key: derived.key.clone(),
            segment: partition::segment(&definition, &derived.targets, def.mode)?,
            history: types::history(&definition)?,
        };
        let visible = definition::encode(database, &definition, def.mode)?;
        let id =
            store.create_table(schema, &definition::encode(NOWHERE, &definition, def.mode)?)?;
        let mut hidden = Hidden { store, id: Some(id) };
        let table = store.table(id).ok_or_else(|| Error::internal("a new table is not there"))?;
        let next = match &def.auto {
            // While it is on its way, others take numbers for the old table's rows.
            Some(auto) if !plan.counts && counter.is_none() => Arc::clone(&auto.next),
            // The table goes on counting where it was.
            Some(auto) => Arc::new(AtomicU64::new(auto.next.load(Ordering::Acquire))),
            None => Arc::new(AtomicU64::new(1)),
        };
        let named = |definition, table| {
            NativeDef::new(database, definition, def.mode, table, Some(Arc::clone(&next)))
        };
        let new = Arc::new(named(definition.clone(), Arc::clone(&table))?);
        let warnings = self.copy(def, &new, derived, plan)?;
        if let Some(first) = counter {
            auto::restart(store, &new, auto::free_from(store, &new, first)?)?;
        }
        let statistics = self.catalog.statistics().for_columns(def.id, &new.table.schema());
        let mut values = self.counters(def, &new, counter.is_some());
        values.extend(self.catalog.statistics().renumbered(def.id, id, statistics.as_deref()));
        store.replace_table_with((def.id, id), &visible, values, texts)?;
        hidden.id = None;
        self.catalog.statistics().moved(def.id, id, statistics);
        // In the old one's place it is of another generation.
        let mut shown = foreign_key_renames::shown(others)?;
        shown.push((def, named(definition, table)?));
        self.catalog.exchange_all(shown);
        warnings.tell(&self.diagnostics);
        Ok(())
    }

    /// The bounds of AUTO_INCREMENT under the new table's number; the old one's does not count for
    /// a table that is to begin again.
    fn counters(
        &self,
        def: &NativeDef,
        new: &NativeDef,
        restarts: bool,
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let store = self.catalog.store();
        let (old, own) = (NativeDef::auto_key(def.id), NativeDef::auto_key(new.id));
        let bound = |key: &[u8]| {
            let bytes = store.value(key).unwrap_or_default();
            <[u8; 8]>::try_from(bytes).map_or(0, u64::from_le_bytes)
        };
        let mut values = Vec::new();
        if let Some(auto) = &new.auto {
            let next = auto.next.load(Ordering::Acquire);
            let least = if restarts { 0 } else { bound(&old) };
            let next = next.max(least).max(bound(&own));
            values.push((own, Some(next.to_le_bytes().to_vec())));
        }
        if store.value(&old).is_some() {
            values.push((old, None));
        }
        values
    }

    fn copy(
        &self,
        def: &NativeDef,
        new: &Arc<NativeDef>,
        derived: &Derived,
        plan: &Plan,
    ) -> Result<Warnings> {
        let store = self.catalog.store();
        let maker =
            Maker::new(def, derived, plan, &new.definition, (self.policy(), &self.context))?;
        let snapshot = store.snapshot();
        let table = snapshot.table(def.id)?;
        let mut reader = Reader::new(def, &table, maker.tells_rows())?;
        let mut change = Change::new(Arc::clone(new));
        let mut warnings = Warnings::default();
        let (mut row, mut rows, mut bytes) = (1, 0, 0);
        while let Some(piece) = reader.next()? {
            self.stop.check()?;
            let made = match maker.make(&piece.columns, row) {
                Ok(made) => made,
                Err(met) => return Err(first_invalid_row::first(def, &table, &maker, met)?),
            };
            let mut columns = made.columns;
            warnings.append(made.warnings);
            // Where the column counted before, its values are numbers already.
            if plan.counts {
                auto::number(store, new, &mut columns, self.steps)?;
            }
            let count = columns.first().map_or(0, |column| column.len());
            (row, rows) = (row + count as u64, rows + count);
            bytes += bytes_of(&columns);
            change.puts.push((columns, Mode::Insert));
            if rows >= PIECE_ROWS || bytes >= COMMIT_BYTES {
                let changes = std::slice::from_mut(&mut change);
                commit::commit(store, changes, None, Wanted::Synced, &self.stop)?;
                change = Change::new(Arc::clone(new));
                (rows, bytes) = (0, 0);
            }
        }
        let changes = std::slice::from_mut(&mut change);
        commit::commit(store, changes, None, Wanted::Synced, &self.stop)?;
        Ok(warnings)
    }

    /// Refuses the zero that rows would have in a new column of dates without default where the
    /// session's `sql_mode` has no such dates. Of a table without rows nothing is said, and of a
    /// TIMESTAMP neither.
    pub(super) fn check_added(
        &self,
        def: &NativeDef,
        definition: &TableDefinition,
        derived: &Derived,
        plan: &Plan,
    ) -> Result<()> {
        for (at, source) in plan.sources.iter().enumerate() {
            let target = &derived.targets[at];
            let zero = match target.ty.wire {
                WireType::Date => "0000-00-00",
                WireType::DateTime => "0000-00-00 00:00:00",
                _ => continue,
            };
            let is_zero = matches!(source, Source::Constant(_))
                && matches!(derived.defaults[at], DefaultValue::None)
                && definition.columns[at].default.is_none();
            if is_zero && self.has_rows(def, Vec::new(), None)? {
                let mut builder = ColumnBuilder::new(target, self.policy())?;
                builder.append(Literal::Text(zero.as_bytes()))?;
            }
        }
        Ok(())
    }
}
