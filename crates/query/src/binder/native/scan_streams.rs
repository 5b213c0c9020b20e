//! Parallel scan of a native table in several streams.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, SchemaRef};
use pelorus_chunk::{coded, units};
use pelorus_error::{Error, Result};
use pelorus_functions::{TimeZone, assignment};
use pelorus_store::{ScanCursor, ScanUnit, Snapshot};

use super::dictionary_groups::{Numberer, TextGroups, Turn};
use super::dynamic_filters::Dynamic;

/// Some columns of a scan, which several streams read: each takes the next piece of work when it
/// is done with one.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The units that are left, with their places in the order of the scan.
    pub(crate) queue: Mutex<VecDeque<(usize, Work)>>,
    pub(crate) schema: SchemaRef,
    /// The places in the schema of the columns that chunks are sorted by, as far as they are read,
    /// and whether these are the complete key.
    pub(crate) key: Vec<usize>,
    pub(crate) is_whole_key: bool,
    /// Columns that are given as they are; those of the groups follow.
    pub(crate) columns: usize,
    /// The place of the group's number in the schema.
    pub(crate) number_at: Option<usize>,
    /// Places of TIMESTAMP columns.
    pub(crate) timestamps: Vec<usize>,
    pub(crate) time_zone: TimeZone,
    pub(crate) groups: Option<Arc<TextGroups>>,
    /// Its version stays readable.
    pub(crate) pin: Arc<Snapshot>,
}

#[derive(Clone, Debug)]
pub(crate) enum Work {
    Unit(Box<ScanUnit>),
    /// Columns of so many rows.
    Rows(Vec<ArrayRef>, usize),
}

/// Where a stream is.
#[derive(Debug, Default)]
pub(crate) struct Place {
    cursor: Option<ScanCursor>,
    /// That of the batch to come.
    turn: Turn,
    numberer: Option<Numberer>,
}

impl Reading {
    /// About how many bytes its widest rows take.
    pub(crate) fn row_bytes(&self) -> usize {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let widths = queue.iter().map(|(_, work)| match work {
            Work::Unit(unit) => unit.row_bytes(),
            Work::Rows(columns, rows) => {
                let bytes: usize = columns.iter().map(|it| it.get_array_memory_size()).sum();
                bytes / (*rows).max(1)
            }
        });
        widths.max().unwrap_or(0)
    }

    fn take(&self) -> Option<(usize, Work)> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// The same in an order of columns by their places, each descending or not: it begins with the
    /// units that may hold the first rows, so that a LIMIT soon excludes the others. Returns
    /// whether the rows of each stream come exactly in this order.
    ///
    /// # Errors
    /// Errors of reading the descriptions of chunks.
    pub(crate) fn ordered(&self, order: &[(usize, bool)]) -> Result<(Self, bool)> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (first, descending) = order.first().copied().unwrap_or_default();
        let place = self.place(first);
        let mut is_sorted = self.is_key_order(order);
        let mut keyed = Vec::with_capacity(queue.len());
        for (turn, work) in queue {
            let ends = match &work {
                Work::Unit(unit) => {
                    is_sorted &= unit.is_sorted();
                    unit.ends(place)?
                }
                Work::Rows(..) => None,
            };
            keyed.push((ends, (turn, work)));
        }
        // What is in memory comes first.
        keyed.sort_by_key(|(ends, _)| {
            ends.map(|(least, most)| if descending { !most } else { least })
        });
        is_sorted &= keyed.iter().all(|(ends, _)| ends.is_some());
        is_sorted &= keyed.windows(2).all(|pair| match (pair[0].0, pair[1].0) {
            (Some((_, most)), Some((least, _))) => most < least,
            _ => false,
        });
        let reading = Self {
            queue: Mutex::new(keyed.into_iter().map(|(_, work)| work).collect()),
            schema: Arc::clone(&self.schema),
            key: self.key.clone(),
            timestamps: self.timestamps.clone(),
            groups: self.groups.clone(),
            pin: Arc::clone(&self.pin),
            ..*self
        };
        Ok((reading, is_sorted))
    }

    /// Whether rows that are sorted by the key come in an order.
    fn is_key_order(&self, order: &[(usize, bool)]) -> bool {
        let by_key =
            order.iter().zip(&self.key).all(|((at, descending), key)| at == key && !descending);
        // After the whole key nothing is left to be sorted.
        by_key && (order.len() <= self.key.len() || self.is_whole_key)
    }

    /// The place in the request of a place in the schema, which has the number of the group too.
    fn place(&self, at: usize) -> usize {
        at - usize::from(self.number_at.is_some_and(|number| number < at))
    }

    /// A whole column in the form in which scans give it.
    fn given(&self, at: usize, column: ArrayRef) -> Result<ArrayRef> {
        if at >= self.columns {
            return coded(&column);
        }
        // The number of the group has its place in the schema, but comes last.
        let place = at + usize::from(self.number_at.is_some_and(|number| number <= at));
        match (self.schema.field(place).data_type(), column.data_type()) {
            (DataType::Int64, DataType::Decimal128(..)) => units(&column),
            _ => Ok(column),
        }
    }

    /// Rows as the session sees them.
    fn shown(
        &self,
        place: &mut Place,
        mut columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch> {
        let of_groups = columns.split_off(self.columns);
        for &at in &self.timestamps {
            columns[at] = assignment::timestamps_from_utc(&columns[at], self.time_zone)?;
        }
        if let (Some(groups), Some(at)) = (&self.groups, self.number_at) {
            let numberer = place.numberer.get_or_insert_with(|| Numberer::new(Arc::clone(groups)));
            columns.insert(at, Arc::new(numberer.number(&of_groups, place.turn)?));
        }
        place.turn.1 += 1;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::internal("rows of a native table").caused_by(error))
    }

    /// Opens a unit if it may have rows by what became known since the query began.
    fn open(&self, unit: ScanUnit, dynamic: &Dynamic) -> Result<Option<ScanCursor>> {
        let known = dynamic.now()?;
        if known.nothing {
            return Ok(None);
        }
        if known.predicates.is_empty() && known.tests.is_empty() {
            return unit.open().map(Some);
        }
        let predicates = known.predicates.into_iter();
        let predicates = predicates.map(|(at, it)| (self.place(at), it)).collect();
        let tests = known.tests.into_iter().map(|(at, it)| (self.place(at), it)).collect();
        unit.narrowed(predicates, tests)?.map(ScanUnit::open).transpose()
    }

    /// The next batch of a stream.
    pub(crate) fn next(&self, place: &mut Place, dynamic: &Dynamic) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(open) = &mut place.cursor {
                if let Some(batch) = open.next_batch()? {
                    let rows = batch.num_rows();
                    return self.shown(place, batch.columns().to_vec(), rows).map(Some);
                }
                place.cursor = None;
            }
            let Some((turn, work)) = self.take() else { return Ok(None) };
            place.turn = (turn, 0);
            match work {
                Work::Unit(unit) => place.cursor = self.open(*unit, dynamic)?,
                Work::Rows(columns, rows) if rows > 0 => {
                    let columns = columns.into_iter().enumerate();
                    let columns = columns.map(|(at, column)| self.given(at, column));
                    return self.shown(place, columns.collect::<Result<_>>()?, rows).map(Some);
                }
                Work::Rows(..) => {}
            }
        }
    }
}
