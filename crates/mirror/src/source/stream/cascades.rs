//! Foreign keys whose actions the binlog lacks, from events to batches
//! ([`crate::apply::foreign_key_actions`]).

use std::sync::Arc;

use pelorus_binlog::{RowsEvent, RowsKind};
use pelorus_env::blocking;
use pelorus_error::Result;

use super::{Reader, Source, begin_again};
use crate::apply::batch::Batch;
use crate::apply::foreign_key_actions::{Referrers, positions};
use crate::model::copies::CopyTable;
use crate::model::mirror::Mirror;

/// Foreign keys that refer to the table of an event.
pub(super) struct Cascades {
    name: (String, String),
    referrers: Arc<Referrers>,
    /// Whether they may do something to rows that refer to those of the event.
    pub(super) does_something: bool,
}

impl Cascades {
    pub(super) fn of(source: &Source, rows: &RowsEvent) -> Self {
        let referrers = source.all_referrers();
        if referrers.is_empty() {
            return Self { name: Default::default(), referrers, does_something: false };
        }
        let name = (rows.table.database.clone(), rows.table.table.clone());
        let does_something = referrers.contains_key(&name)
            && rows.kind != RowsKind::Insert
            && !rows.no_foreign_key_checks;
        Self { name, referrers, does_something }
    }

    fn children(&self) -> Vec<Arc<Mirror>> {
        self.referrers.get(&self.name).cloned().unwrap_or_default()
    }

    /// Positions of the columns that they refer to.
    pub(super) fn referred(&self, copy: &Arc<dyn CopyTable>) -> Vec<usize> {
        let mut all = Vec::new();
        for child in self.referrers.get(&self.name).into_iter().flatten() {
            let keys = child.foreign_keys();
            for key in keys.iter().filter(|it| it.refers_to(&self.name.0, &self.name.1)) {
                all.extend(positions(copy.as_ref(), &key.referred).unwrap_or_default());
            }
        }
        all
    }
}

impl Reader<'_> {
    /// Notes changed rows that are not decoded: the effect of foreign keys on them is unknown.
    pub(super) fn unseen(&mut self, cascades: &Cascades) -> Result<()> {
        if !cascades.does_something {
            return Ok(());
        }
        for child in cascades.children() {
            // What it has so far is thrown away.
            if child.is_gathering() {
                continue;
            }
            if child.follower(|from| self.is_old(from)).is_some() {
                let (database, table) = &cascades.name;
                let why = crate::apply::foreign_key_actions::depends(
                    database,
                    table,
                    "not followed here",
                );
                self.again(&child, &why)?;
            }
        }
        Ok(())
    }

    /// Ensures that nothing is committed for tables whose foreign keys cannot be followed, and
    /// executes the actions of the others.
    pub(super) fn follow_foreign_keys(&self, batch: &mut Batch) -> Result<()> {
        self.stop_unguarded(batch)?;
        let most = self.transaction_bytes();
        let lost = blocking(|| batch.cascade(self.source.store(), most))?;
        for (mirror, reason) in &lost {
            batch.forget(mirror);
            begin_again(self.source, mirror, reason)?;
        }
        self.stop_unguarded(batch)
    }

    /// Lets mirrors begin again that refer to tables that are not followed; then those that refer
    /// to them.
    pub(super) fn stop_unguarded(&self, batch: &mut Batch) -> Result<()> {
        loop {
            let lost = crate::apply::foreign_key_actions::unguarded(self.source.as_ref());
            if lost.is_empty() {
                return Ok(());
            }
            for (mirror, reason) in &lost {
                batch.forget(mirror);
                begin_again(self.source, mirror, reason)?;
            }
        }
    }
}
