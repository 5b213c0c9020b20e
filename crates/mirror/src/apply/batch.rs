//! A batch: whole transactions that are written to the store in one commit.
//!
//! Rows are decoded into columns as they arrive. At the commit, only the last state of each primary
//! key counts: its last after-image, or a deletion. Images that lack columns are completed then
//! ([`crate::apply::partial_row_images`]).

mod cascades;
mod check;
mod commit;
mod parts;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use pelorus_binlog::RowsEvent;
use pelorus_error::{Error, Result};

pub(crate) use self::commit::is_of_one;
use self::table::TableBatch;
use crate::apply::foreign_key_actions::Plan;
use crate::apply::row_image_completion::RowImageCompletion;
use crate::model::copies::CopyTable;
use crate::model::mirror::Mirror;

/// Changes of whole transactions.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    tables: Vec<TableBatch>,
    /// The order of the changes, over all tables.
    order: Vec<Ran>,
    rows: usize,
    /// When the latest of its transactions was committed, in microseconds since 1970; 0 if unknown.
    committed: u64,
}

/// Changes that came together.
#[derive(Debug)]
struct Ran {
    mirror: Arc<Mirror>,
    copy: Arc<dyn CopyTable>,
    happened: Happened,
    rows: u32,
    /// Where foreign keys lead from there.
    plan: Option<Arc<Plan>>,
}

/// The kinds of row changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    Inserted,
    /// An update: columns that the image lacks keep their previous values.
    Updated,
    /// A row replaces another: columns that the image lacks have their defaults.
    Replaced,
    Deleted,
}

/// Whether rows were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Added {
    Yes,
    /// They can be read only with the statement that they come from.
    WantsStatement,
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(TableBatch::bytes).sum()
    }

    /// Bytes of the transaction that is being read.
    pub(crate) fn transaction_bytes(&self) -> usize {
        self.tables.iter().map(TableBatch::transaction_bytes).sum()
    }

    /// The mirror that it has changed most, by bytes.
    pub(crate) fn largest(&self) -> Option<Arc<Mirror>> {
        let largest = self.tables.iter().max_by_key(|table| table.transaction_bytes());
        largest.map(|table| Arc::clone(&table.mirror))
    }

    /// Whether no row has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// When the latest of its transactions was committed.
    pub(crate) fn committed(&self) -> u64 {
        self.committed
    }

    /// Notes the end of a transaction.
    pub(crate) fn note_transaction(&mut self, committed: u64) {
        self.committed = self.committed.max(committed);
        self.tables.iter_mut().for_each(TableBatch::end_transaction);
    }

    /// Whether it has changes of a mirror.
    pub(crate) fn is_for(&self, mirror: &Arc<Mirror>) -> bool {
        self.tables.iter().any(|table| Arc::ptr_eq(&table.mirror, mirror))
    }

    /// Drops the rows that were read for copies that are no longer followed: their mirrors were
    /// ended, paused or resynchronised.
    pub(crate) fn keep_followed(&mut self) {
        self.retain(|table| table.mirror.follows_in(&table.copy));
    }

    /// Leaves the changes of a mirror out.
    pub(crate) fn forget(&mut self, mirror: &Arc<Mirror>) {
        self.retain(|table| !Arc::ptr_eq(&table.mirror, mirror));
    }

    fn retain(&mut self, keep: impl Fn(&TableBatch) -> bool) {
        self.tables.retain(keep);
        self.rows = self.tables.iter().map(TableBatch::rows).sum();
    }

    /// Adds rows of a mirrored table. Foreign keys refer to its columns `referred`, and lead on
    /// from these rows as `plan` says.
    ///
    /// # Errors
    /// Rows that do not fit the columns of the copy (1412), and values that cannot be read.
    pub(crate) fn add(
        &mut self,
        mirror: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        event: &RowsEvent,
        origin: &RowImageCompletion,
        (referred, plan): (&[usize], Option<Plan>),
    ) -> Result<Added> {
        let at = self.place_of(mirror, copy, referred)?;
        for link in plan.iter().flat_map(|plan| &plan.links) {
            // What foreign keys do to it is a change of it.
            if let Some(copy) = &link.copy {
                self.place_of(&link.child, copy, &[])?;
            }
        }
        let Some((happened, rows)) = self.tables[at].add(event, origin, plan.is_some())? else {
            return Ok(Added::WantsStatement);
        };
        self.rows += rows;
        let count = u32::try_from(rows).map_err(|_| Error::internal("a batch of 2^32 rows"))?;
        let same = |last: &&mut Ran| {
            last.happened == happened
                && Arc::ptr_eq(&last.mirror, mirror)
                && Arc::ptr_eq(&last.copy, copy)
                && last.plan.is_none()
                && plan.is_none()
        };
        match self.order.last_mut().filter(same) {
            Some(last) => last.rows += count,
            None => self.order.push(Ran {
                mirror: Arc::clone(mirror),
                copy: Arc::clone(copy),
                happened,
                rows: count,
                plan: plan.map(Arc::new),
            }),
        }
        Ok(Added::Yes)
    }

    /// Where the changes of a table are collected.
    fn place_of(
        &mut self,
        mirror: &Arc<Mirror>,
        copy: &Arc<dyn CopyTable>,
        referred: &[usize],
    ) -> Result<usize> {
        let known = self
            .tables
            .iter()
            .position(|table| Arc::ptr_eq(&table.mirror, mirror) && Arc::ptr_eq(&table.copy, copy));
        if let Some(at) = known {
            let table = &mut self.tables[at];
            if table.runs.is_empty() && referred.iter().any(|it| !table.of_before.contains(it)) {
                *table = TableBatch::new(mirror, copy, referred)?;
            }
            return Ok(at);
        }
        self.tables.push(TableBatch::new(mirror, copy, referred)?);
        Ok(self.tables.len() - 1)
    }

    /// Whether the columns to which foreign keys refer are stored for rows before their change.
    pub(crate) fn keeps(&self, mirror: &Arc<Mirror>, referred: &[usize]) -> bool {
        let of = |table: &TableBatch| {
            !Arc::ptr_eq(&table.mirror, mirror)
                || table.runs.is_empty()
                || referred.iter().all(|it| table.of_before.contains(it))
        };
        self.tables.iter().all(of)
    }
}
