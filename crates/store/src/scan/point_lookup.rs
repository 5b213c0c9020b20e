//! Point look-ups: finds rows by their primary keys.
//!
//! The key index refers to the newest row of a key. If that row is newer than the version that is
//! read, or the key has been removed since, the parts are searched instead: that is rare, and as
//! slow as reading the key columns of the parts.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use pelorus_error::Result;

use crate::catalog::schema::Version;
use crate::format::arrays::taken;
use crate::key::Keys;
use crate::partition::part::Body;
use crate::partition::rows::Place;
use crate::partition::{row_ref, rows};
use crate::snapshot::{PartitionSnapshot, TableSnapshot};

/// Rows that were found.
#[derive(Clone, Debug)]
pub struct FoundRows {
    /// For each key, whether it has a row.
    pub found: Vec<bool>,
    /// The wanted columns of the rows that were found, in the order of the keys.
    pub columns: Vec<ArrayRef>,
}

impl TableSnapshot {
    /// Looks rows of one partition up. `key` has the primary key's columns, in the order of the
    /// key; `columns` are positions of the columns that are wanted.
    ///
    /// # Errors
    /// NULL in a key, and errors of reading columns.
    pub fn get(&self, partition: &[u8], key: &[ArrayRef], columns: &[usize]) -> Result<FoundRows> {
        let keys = self.layout.keys_of_keys(key)?;
        let places = match self.partitions.iter().find(|it| it.key() == partition) {
            Some(partition) => self.find(partition, &keys)?,
            None => Vec::new(),
        };
        let mut found = vec![false; keys.len()];
        for place in &places {
            found[place.key as usize] = true;
        }
        let columns = rows::gather(&self.layout, &places, columns)?;
        let columns = if places.is_sorted_by_key(|it| it.key) {
            columns
        } else {
            in_order_of_keys(&places, &columns)?
        };
        Ok(FoundRows { found, columns })
    }

    /// The places of keys at this version, those of one part together.
    fn find(&self, snapshot: &PartitionSnapshot, keys: &Keys) -> Result<Vec<Place>> {
        let mut places = snapshot.partition.find(keys, self.table.seed())?;
        // Read after the index, which was changed after it.
        let removed_since = snapshot.partition.last_removal() > self.version;
        let mut is_settled = vec![!removed_since; keys.len()];
        let mut failed = None;
        places.retain(|it| {
            let version = it.part.version(it.row).map_err(|error| failed = Some(error));
            let is_seen = version.is_ok_and(|version| version <= self.version);
            is_settled[it.key as usize] = is_seen;
            is_seen
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if is_settled.contains(&false) {
            let left = (0..).zip(keys.iter()).zip(&is_settled).filter(|(_, settled)| !**settled);
            search(snapshot, left.map(|(key, _)| key).collect(), self.version, &mut places)?;
            rows::sort(&mut places);
        }
        Ok(places)
    }
}

/// Searches the parts for keys at an older version.
fn search(
    snapshot: &PartitionSnapshot,
    mut left: Vec<(u32, &[u8])>,
    version: Version,
    places: &mut Vec<Place>,
) -> Result<()> {
    left.sort_unstable_by_key(|(_, key)| *key);
    let all = places.len() + left.len();
    for part in snapshot.parts().iter() {
        // A key has one row at most.
        if places.len() == all {
            break;
        }
        let rows = match &part.body {
            Body::Delta(delta) => delta.rows_at(version),
            Body::Chunk(chunk) => chunk.rows(),
        };
        let dead = part.deletes.at(version);
        let keys: Keys = part.keys()?;
        for row in 0..rows {
            let key = keys.get(row as usize);
            let first = left.partition_point(|(_, it)| *it < key);
            let same = left[first..].iter().take_while(|(_, it)| *it == key);
            for &(number, _) in same {
                if !dead.contains(row) && part.version(row)? <= version {
                    let (entry, part) = (row_ref(part.slot, row), Arc::clone(part));
                    places.push(Place { key: number, entry, part, row });
                }
            }
        }
    }
    Ok(())
}

/// Columns that are in the order of places in the order of keys.
fn in_order_of_keys(places: &[Place], columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let mut order: Vec<(u32, u32)> = places.iter().map(|it| it.key).zip(0..).collect();
    order.sort_unstable();
    let order = UInt32Array::from_iter_values(order.into_iter().map(|(_, place)| place));
    taken(columns, &order)
}
