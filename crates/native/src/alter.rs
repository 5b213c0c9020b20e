//! `ALTER TABLE` of native tables.
//!
//! The actions derive a new definition and the origin of each column (`actions`, `partitions`). A
//! [`plan`](plan::Plan) says how each column gets its values. If all stored values stay valid, only
//! the catalog changes (`schema`). Otherwise the rows are rewritten into a hidden table, which then
//! replaces the old one in one step (`rewrite`). During a rewrite the table can be read and not
//! written.

mod actions;
mod added_column_default;
mod convert;
mod copies;
mod dates;
mod first_invalid_row;
mod order;
mod partitions;
mod plan;
mod rewrite;
mod rows;

use pelorus_error::{Code, Result};
use pelorus_sql::ddl::{AlterAction, AlterTable, TableDefinition};
use pelorus_sql::statement::TableName;
use pelorus_store::TableSchema;

use super::ddl::{Definer, first_number};
use super::definition::{Derived, NativeDef};
use super::rename::Moved;
use super::write::auto;
use super::{check, constraints, foreign_key_renames};
use crate::hidden::is_hidden;
use actions::Draft;
use foreign_key_renames::Redefined;
use plan::Plan;

impl Definer {
    /// `ALTER TABLE`. Returns the number of affected rows as MySQL counts them: those that it
    /// copies.
    pub(super) fn alter(&self, alter: &AlterTable) -> Result<u64> {
        match self.require(&alter.table) {
            Err(error) if alter.if_exists && error.code() == Code::NoSuchTable => {
                self.diagnostics.note(error.errno(), error.message());
                Ok(0)
            }
            _ => self.alter_with(&alter.table, &alter.actions),
        }
    }

    /// Executes actions on a table.
    pub(super) fn alter_with(&self, table: &TableName, actions: &[AlterAction]) -> Result<u64> {
        let def = self.require(table)?;
        let mut actions = actions.to_vec();
        actions.iter_mut().for_each(|action| action.translate(self.mode, def.mode));
        if let [action] = actions.as_slice()
            && let Some(done) = self.manage_partitions(&def, action)
        {
            return done.map(|()| 0);
        }
        let mut draft = Draft::new(self, &def);
        draft.apply_all(&actions)?;
        if self.implies_timestamps {
            draft.imply_timestamps()?;
        }
        let Draft { definition, origins, renamed, repartitions, .. } = draft;
        let mut moved = None;
        if let Some(to) = &renamed
            && (self.database_of(to)? != def.database || to.name != def.name)
        {
            moved = Some(Moved::to(&def, self.free_place(to)?, &to.name));
        }
        let columns = foreign_key_renames::renamed_columns(&def.definition, &definition, &origins);
        let others = self.following_columns(&def, &columns);
        self.change(&def, (definition, &origins), repartitions, (others, moved.as_ref()))
    }

    /// Gives a table a new definition whose columns come from those of the old one. `repartitions`
    /// says that MySQL copies all rows in any case; `others` are tables whose foreign keys follow
    /// in the same commit, in which the table may also move.
    pub(super) fn change(
        &self,
        def: &NativeDef,
        (mut definition, origins): (TableDefinition, &[Option<usize>]),
        repartitions: bool,
        (mut others, moved): (Vec<Redefined>, Option<&Moved>),
    ) -> Result<u64> {
        constraints::check_kept(def, &definition, origins)?;
        check::check(&definition, def.mode, &super::types::definition_policy())?;
        let counter = first_number(&definition)?;
        definition.options.retain(|option| option.name != "AUTO_INCREMENT");
        definition.normalise();
        constraints::check_names(&definition)?;
        self.warn_unheeded(&definition, Some(&def.definition));
        if definition == def.definition && counter.is_none() {
            return moved.map_or(Ok(()), |moved| self.take_place(moved)).map(|()| 0);
        }
        let derived = Derived::of(&def.database, &definition, def.mode)?;
        constraints::check(&definition, &derived, def.mode)?;
        if !is_hidden(&def.database) {
            constraints::defaults(&definition)?;
        }
        check_partitions(def, &derived)?;
        let store = self.catalog.store();
        // Dropped when the new definition is there: until then no session writes rows for the old
        // one.
        let _frozen = store.freeze(def.id)?;
        let mut plan = Plan::new(self, def, &definition, &derived, origins)?;
        plan.copies |= repartitions;
        plan.odd_dates = self.odd_dates(def).filter(|_| plan.copies);
        plan.keeps_rows &= !self.has_odd_dates(def, &plan)?;
        self.check_added(def, &definition, &derived, &plan)?;
        let rows = store.snapshot().table(def.id)?.count_rows()?;
        for &column in &plan.not_null {
            self.check_no_nulls(def, column)?;
        }
        let database = match moved {
            Some(moved) => self.place_with(moved, &mut definition, &mut others),
            None => def.database.clone(),
        };
        if plan.keeps_rows {
            let schema = TableSchema {
                columns: plan.stored(def, &derived)?,
                key: derived.key.clone(),
                segment: super::partition::segment(&definition, &derived.targets, def.mode)?,
                history: super::types::history(&definition)?,
            };
            if let Some(first) = counter {
                // Before: rows with numbers of the new definition would not get others any more.
                auto::restart(store, def, auto::free_from(store, def, first)?)?;
            }
            self.redefine_with(def, (&database, definition), schema, &others)?;
        } else {
            self.rewrite(def, (&database, definition), (&derived, &plan), counter, &others)?;
        }
        Ok(if plan.copies { rows } else { 0 })
    }
}

/// Refuses partitions that no new table could have, unless the table has such.
fn check_partitions(def: &NativeDef, derived: &Derived) -> Result<()> {
    if is_hidden(&def.database) || def.partitioner.check_new(&def.targets).is_err() {
        return Ok(());
    }
    derived.partitioner.check_new(&derived.targets)
}
