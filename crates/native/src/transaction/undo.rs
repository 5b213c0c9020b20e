//! The undo list of a transaction: rolls back to a savepoint, or to before a statement.

use std::collections::VecDeque;
use std::sync::Arc;

use pelorus_store::TableId;

use super::{Entry, Tables};

/// The undo list of a transaction, newest step last. The numbers of steps do not change when older
/// steps are forgotten.
#[derive(Debug, Default)]
pub(super) struct UndoLog {
    steps: VecDeque<Step>,
    /// How many steps were before those.
    forgotten: usize,
}

/// The state before a change.
#[derive(Debug)]
pub(super) enum Step {
    /// A key had this state.
    Key { table: TableId, key: Arc<[u8]>, before: Option<Entry> },
    /// The batches had so many rows.
    Rows { table: TableId, rows: usize },
}

impl UndoLog {
    /// The place of now.
    pub(super) fn end(&self) -> usize {
        self.forgotten + self.steps.len()
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    /// Forgets steps before a place: no rollback will go back further.
    pub(super) fn forget_before(&mut self, place: usize) {
        let count = place.saturating_sub(self.forgotten).min(self.steps.len());
        self.steps.drain(..count);
        self.forgotten += count;
        if self.steps.capacity() > 4 * self.steps.len() {
            self.steps.shrink_to(2 * self.steps.len());
        }
    }

    /// The keys that had no entry at a place and got one since.
    pub(super) fn new_since(&self, place: usize) -> impl Iterator<Item = (TableId, &Arc<[u8]>)> {
        let steps = self.steps.iter().skip(place.saturating_sub(self.forgotten));
        steps.filter_map(|step| match step {
            Step::Key { table, key, before: None } => Some((*table, key)),
            _ => None,
        })
    }

    /// Bytes that it takes; the keys are those of the tables' entries.
    pub(super) fn memory(&self) -> usize {
        self.steps.len() * size_of::<Step>()
    }

    /// Takes everything since a place back.
    pub(super) fn back_to(&mut self, place: usize, tables: &mut Tables) {
        while self.end() > place {
            let Some(step) = self.steps.pop_back() else { break };
            let (Step::Key { table, .. } | Step::Rows { table, .. }) = &step;
            // A table that nothing was left of has been taken out before.
            let Some(writes) = tables.get_mut(table) else { continue };
            match step {
                Step::Key { key, before, .. } => writes.set(key, before),
                Step::Rows { rows, .. } => writes.truncate(rows),
            }
        }
        tables.retain(|_, writes| !writes.entries.is_empty());
    }
}
