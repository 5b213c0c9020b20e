//! A snapshot window: the keys that the stream changes while rows of a table are being read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use pelorus_error::{Error, Result};
use pelorus_store::Keys;

use crate::apply::partial_row_images::{Awaited, PartialRowImages};
use crate::model::copies::CopyTable;
use crate::model::foreign_key::Action;
use crate::model::mirror::Opened;

/// The keys that the stream has changed while ranges are being read: rows that were read with these
/// keys are older, or later changes correct them.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The numbers of those that are open.
    open: BTreeSet<u64>,
    /// How often one was opened.
    opened: u64,
    /// Keys, and how many had been opened when they changed for the last time.
    touched: HashMap<Vec<u8>, u64>,
    /// The stream's changes of rows that the copy does not have yet.
    awaited: Awaited,
    gone: Vec<Gone>,
}

/// Values that a foreign key no longer refers to: rows that have them were read before that.
#[derive(Debug)]
struct Gone {
    columns: Vec<usize>,
    action: Action,
    /// Values, and how many windows had been opened when each was given up for the last time.
    values: HashMap<Vec<u8>, u64>,
}

impl Window {
    /// Notes that the stream has changed rows.
    pub(crate) fn touch(&mut self, keys: &Keys) {
        if !self.open.is_empty() {
            self.touched.extend(keys.iter().map(|key| (key.to_vec(), self.opened)));
            if !self.awaited.is_empty() {
                keys.iter().for_each(|key| self.awaited.forget(key));
            }
        }
    }

    /// Notes the stream's images of rows that the copy does not have yet. Ranges that are being
    /// read now may bring older rows; ranges that are read later bring the current ones.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn wait_for(&mut self, parts: &PartialRowImages<'_>, missed: &[u32]) -> Result<()> {
        if self.open.is_empty() { Ok(()) } else { self.awaited.add(parts, missed, self.opened) }
    }

    /// Merges rows that were read with the stream's images of them.
    ///
    /// # Errors
    /// None but bugs.
    pub(crate) fn fold(&self, keys: &Keys, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        if self.awaited.is_empty() { Ok(columns) } else { self.awaited.fold(keys, columns) }
    }

    /// Which of some keys the stream has not changed since a window was opened; `None` for all. The
    /// rows that were read contain earlier changes.
    pub(crate) fn untouched(&self, keys: &Keys, opened: &Opened) -> Option<Vec<bool>> {
        if self.touched.is_empty() {
            return None;
        }
        let is_touched = |key| self.touched.get(key).is_some_and(|at| *at >= opened.number);
        Some(keys.iter().map(|key| !is_touched(key)).collect())
    }

    /// Notes that a foreign key has changed all rows that referred to a value.
    pub(crate) fn note_gone(&mut self, columns: &[usize], action: Action, value: &[u8]) {
        if self.open.is_empty() {
            return;
        }
        let same = |it: &&mut Gone| it.columns == columns && it.action == action;
        if let Some(gone) = self.gone.iter_mut().find(same) {
            gone.values.insert(value.to_vec(), self.opened);
            return;
        }
        let values = HashMap::from([(value.to_vec(), self.opened)]);
        self.gone.push(Gone { columns: columns.to_vec(), action, values });
    }

    /// Applies to rows that were read the foreign key actions since the window was opened. (A row
    /// that refers to such a value again was changed later, and the stream brings that change.)
    ///
    /// # Errors
    /// A collation whose rules are not known.
    pub(crate) fn without_gone(
        &self,
        copy: &dyn CopyTable,
        mut rows: Vec<ArrayRef>,
        opened: &Opened,
    ) -> Result<Vec<ArrayRef>> {
        let cannot = |error| Error::internal("rows cannot be left out").caused_by(error);
        for gone in &self.gone {
            let own: Vec<ArrayRef> = gone.columns.iter().map(|&at| Arc::clone(&rows[at])).collect();
            let refers = |value: &Option<Vec<u8>>| {
                let at = value.as_ref().and_then(|value| gone.values.get(value));
                at.is_some_and(|at| *at >= opened.number)
            };
            let values =
                crate::apply::foreign_key_actions::values::values(copy, &gone.columns, &own)?;
            let is_gone: BooleanArray = values.iter().map(refers).collect::<Vec<_>>().into();
            if is_gone.true_count() == 0 {
                continue;
            }
            match gone.action {
                Action::Cascade => {
                    let keep = arrow::compute::not(&is_gone).map_err(cannot)?;
                    for column in &mut rows {
                        *column = arrow::compute::filter(column, &keep).map_err(cannot)?;
                    }
                }
                Action::SetNull => {
                    for &at in &gone.columns {
                        rows[at] = arrow::compute::nullif(&rows[at], &is_gone).map_err(cannot)?;
                    }
                }
            }
        }
        Ok(rows)
    }

    pub(crate) fn begin(&mut self) -> u64 {
        self.opened += 1;
        self.open.insert(self.opened);
        self.opened
    }

    pub(crate) fn end(&mut self, number: u64) {
        self.open.remove(&number);
        let Some(&oldest) = self.open.first() else {
            self.touched = HashMap::new();
            self.awaited = Awaited::default();
            self.gone = Vec::new();
            return;
        };
        // Windows overlap until a large table has been read: changes before the oldest of them was
        // opened are not needed any longer.
        if number < oldest {
            self.touched.retain(|_, at| *at >= oldest);
            self.touched.shrink_to(2 * self.touched.len());
            self.awaited.forget_before(oldest);
            for gone in &mut self.gone {
                gone.values.retain(|_, at| *at >= oldest);
            }
            self.gone.retain(|gone| !gone.values.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(window: &mut Window, key: &[u8]) {
        let mut keys = Keys::default();
        keys.push(key);
        window.touch(&keys);
    }

    #[test]
    fn what_changed_before_the_oldest_window_is_forgotten() {
        let mut window = Window::default();
        let first = window.begin();
        touch(&mut window, b"a");
        window.note_gone(&[0], Action::Cascade, b"of the first");
        let second = window.begin();
        touch(&mut window, b"b");
        window.note_gone(&[1], Action::SetNull, b"of the second");
        window.end(first);
        assert_eq!(window.touched.keys().collect::<Vec<_>>(), [b"b"]);
        let given_up =
            |window: &Window| window.gone.iter().map(|it| it.values.len()).sum::<usize>();
        assert_eq!(given_up(&window), 1);
        let third = window.begin();
        touch(&mut window, b"c");
        // A younger one that ends first leaves what the older one needs.
        window.end(third);
        assert_eq!(window.touched.len(), 2);
        window.end(second);
        assert!(window.touched.is_empty() && window.gone.is_empty());
    }
}
