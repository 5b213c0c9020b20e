//! The change set of a statement: rows to insert and delete, and their conversion to writes of the
//! store.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use pelorus_error::{Error, Result};
pub(crate) use pelorus_store::taken;
use pelorus_store::{Mode, Write, bytes_of};

use crate::definition::NativeDef;

/// Rows of one table that are written and deleted. Batches have all columns in stored form; of
/// rows to delete only the columns of the key count.
#[derive(Debug)]
pub struct Change {
    /// The table.
    pub def: Arc<NativeDef>,
    /// Rows to write, and the action for keys that exist.
    pub(crate) puts: Vec<(Vec<ArrayRef>, Mode)>,
    /// Rows to delete.
    pub(crate) removes: Vec<Vec<ArrayRef>>,
    /// The positions of a single batch's rows in the statement, if planning left some out.
    pub places: Option<UInt32Array>,
    /// Which of the rows to write, of all batches one after the other, had an AUTO_INCREMENT number
    /// made; `None` where it does not matter.
    pub(crate) made: Option<Vec<bool>>,
    /// The rows are written unchanged, to protect them from writes of other sessions (a locking
    /// read): rows that the transaction has already written need nothing more.
    pub(crate) locks: bool,
}

impl Change {
    /// Bytes of its rows.
    pub fn bytes(&self) -> usize {
        let puts = self.puts.iter().map(|(columns, _)| columns);
        puts.chain(&self.removes).map(|columns| bytes_of(columns)).sum()
    }

    /// No change.
    pub(crate) fn new(def: Arc<NativeDef>) -> Self {
        let (puts, removes) = (Vec::new(), Vec::new());
        Self { def, puts, removes, places: None, made: None, locks: false }
    }

    /// Adds a batch of which some rows lacked a number, with the places of those that are left of it.
    pub(crate) fn add_made(&mut self, lacking: Vec<bool>, places: Option<&UInt32Array>) {
        let made = self.made.get_or_insert_default();
        match places {
            None => made.extend(lacking),
            Some(places) => made.extend(places.values().iter().map(|&at| lacking[at as usize])),
        }
    }

    /// How many rows there are to write.
    pub(crate) fn puts_count(&self) -> usize {
        self.puts.iter().map(|(columns, _)| columns.first().map_or(0, |column| column.len())).sum()
    }

    /// Batch and row of a row to write, by its position in all batches one after the other.
    pub fn put_at(&self, position: usize) -> Option<(&[ArrayRef], usize)> {
        let mut row = position;
        for (columns, _) in &self.puts {
            let rows = columns.first().map_or(0, |column| column.len());
            if row < rows {
                return Some((columns.as_slice(), row));
            }
            row -= rows;
        }
        None
    }
}

/// The number of changed rows.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Rows whose key was new.
    pub inserted: u64,
    /// Rows that took the place of others.
    pub replaced: u64,
    /// Rows that were left out, since their key was there.
    pub(crate) ignored: u64,
    /// Rows that were deleted.
    pub(crate) removed: u64,
    /// Positions of the rows that were left out, in all batches of a change one after the other,
    /// where they are known; in order.
    pub ignored_rows: Vec<usize>,
}

impl Counts {
    /// Adds the counts of another change.
    pub fn add(&mut self, other: &Counts) {
        self.inserted += other.inserted;
        self.replaced += other.replaced;
        self.ignored += other.ignored;
        self.removed += other.removed;
        self.ignored_rows.extend_from_slice(&other.ignored_rows);
    }
}

/// A write of the store, with the places of its rows in the batch of the change; `None` if it has
/// all of them.
pub(crate) type PlacedWrite = (Write, Option<UInt32Array>);

/// The store's writes for a change: one for each batch and partition.
///
/// # Errors
/// A row that fits no partition (1526).
pub(crate) fn writes_of(change: &Change) -> Result<Vec<PlacedWrite>> {
    let def = &change.def;
    let table = def.id;
    let mut writes = Vec::new();
    for columns in &change.removes {
        for Group { partition, columns, places } in by_partition(def, columns)? {
            let columns = def.key.iter().map(|&at| Arc::clone(&columns[at])).collect();
            writes.push((Write::Remove { table, partition, columns }, places));
        }
    }
    for (columns, mode) in &change.puts {
        def.partitioner.check_padding(columns)?;
        for Group { partition, columns, places } in by_partition(def, columns)? {
            writes.push((Write::Put { table, partition, columns, mode: *mode }, places));
        }
    }
    Ok(writes)
}

/// Rows of a batch that belong to one partition.
struct Group {
    partition: Vec<u8>,
    columns: Vec<ArrayRef>,
    places: Option<UInt32Array>,
}

/// The rows of a batch by the keys of their partitions.
fn by_partition(def: &NativeDef, columns: &[ArrayRef]) -> Result<Vec<Group>> {
    let rows = columns.first().map_or(0, |column| column.len());
    if rows == 0 {
        return Ok(Vec::new());
    }
    let mut groups = def.partitioner.split(columns)?;
    if let [(key, of)] = groups.as_mut_slice()
        && of.len() == rows
    {
        let partition = std::mem::take(key);
        return Ok(vec![Group { partition, columns: columns.to_vec(), places: None }]);
    }
    let group = |(partition, rows): (Vec<u8>, UInt32Array)| {
        Ok(Group { partition, columns: taken(columns, &rows)?, places: Some(rows) })
    };
    groups.into_iter().map(group).collect()
}

/// One batch of several, when they fit into one.
///
/// # Errors
/// Batches of different columns, which is a bug.
pub(crate) fn joined(batches: &[&[ArrayRef]]) -> Result<Vec<ArrayRef>> {
    let columns = batches.first().map_or(0, |batch| batch.len());
    (0..columns)
        .map(|at| {
            let parts: Vec<_> = batches.iter().map(|batch| batch[at].as_ref()).collect();
            arrow::compute::concat(&parts)
                .map_err(|error| Error::internal("batches differ").caused_by(error))
        })
        .collect()
}
