//! Rows events: finds the mirror of each, and adds the rows to its batch.

use std::sync::Arc;

use pelorus_binlog::{Position, RowsEvent, TableMap};
use pelorus_error::{Code, Result};

use super::Reader;
use super::cascades::Cascades;
use crate::apply::batch::{Added, Batch};
use crate::apply::foreign_key_actions::Plan;
use crate::apply::partial_row_images::too_large;
use crate::model::mirror::{Mirror, overtaken};
use crate::model::record::State;

impl Reader<'_> {
    pub(super) fn rows(&mut self, rows: &RowsEvent) -> Result<()> {
        let followed = self.mirror_of(&rows.table);
        if let Some(apart) = self.transaction.as_mut().and_then(|it| it.apart.as_mut()) {
            let (database, table) = (rows.table.database.clone(), rows.table.table.clone());
            apart.tables.insert((database, table, followed.is_some()));
        }
        let cascades = Cascades::of(self.source, rows);
        let followed = followed.and_then(|it| Some((it.follower(|from| self.is_old(from))?, it)));
        let Some((copy, mirror)) = followed else { return self.unseen(&cascades) };
        let referred = cascades.referred(&copy);
        let apart = self.transaction.as_ref().and_then(|it| it.apart.as_ref());
        let keeps = apart.map_or(&self.batch, |it| &it.batch).keeps(&mirror, &referred);
        if !keeps {
            self.unseen(&cascades)?;
        }
        let plan = (keeps && cascades.does_something).then(|| {
            Plan::of(self.source.as_ref(), &mirror, &copy, &|from: &Position| self.is_old(from))
        });
        let transaction = self.transaction.get_or_insert_default();
        if !transaction.touched.iter().any(|it| Arc::ptr_eq(it, &mirror)) {
            transaction.touched.push(Arc::clone(&mirror));
        }
        if let (Some(apart), Some(plan)) = (&mut transaction.apart, &plan) {
            let children = plan.links.iter().map(|link| &link.child.name);
            apart.tables.extend(children.map(|it| (it.database.clone(), it.table.clone(), true)));
        }
        let batch = transaction.apart.as_mut().map_or(&mut self.batch, |it| &mut it.batch);
        let added = batch.add(&mirror, &copy, rows, &self.origin, (&referred, plan));
        if let Ok(Added::WantsStatement) = added {
            // What was read is read again, with statements.
            self.source.want_statements();
            return Err(overtaken());
        }
        if let Err(error) = added {
            batch.forget(&mirror);
            let text = pelorus_error::display_chain(&error);
            if error.code() == Code::TableChanged {
                return self.again(&mirror, &text);
            }
            tracing::warn!(mirror = %mirror.name, error = text, "a mirror cannot follow its table");
            return mirror.stop_in(self.source.store(), State::Failed, Some(text));
        }
        let bytes = batch.transaction_bytes();
        // The bound cannot be set lower than to a megabyte.
        if bytes < 1 << 20 || bytes <= self.transaction_bytes() {
            return Ok(());
        }
        let Some(largest) = self.current_batch().largest() else { return Ok(()) };
        self.current_batch().forget(&largest);
        self.again(&largest, too_large().message())
    }

    /// The changes of the current transaction.
    pub(super) fn current_batch(&mut self) -> &mut Batch {
        let apart = self.transaction.as_mut().and_then(|it| it.apart.as_mut());
        apart.map_or(&mut self.batch, |it| &mut it.batch)
    }

    fn mirror_of(&self, table: &TableMap) -> Option<Arc<Mirror>> {
        self.source.mirror(&table.database, &table.table)
    }
}
