//! Looking rows up by their primary keys.
//!
//! The key index knows where the newest row of a key is. When that row is younger than the version
//! that is read, or the key has been removed since, the parts are searched instead: that is rare,
//! and as slow as reading the key columns of the parts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array};
use pelorus_error::{Error, Result};

use crate::key::Keys;
use crate::layout::{Layout, Source, filler};
use crate::part::{Body, Part};
use crate::partition::{Found, Partition};
use crate::schema::Version;
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
    /// NULL in a key, and what reading columns gives.
    pub fn get(&self, partition: &[u8], key: &[ArrayRef], columns: &[usize]) -> Result<FoundRows> {
        let keys = self.layout.keys_of_keys(key)?;
        let mut found = vec![false; keys.len()];
        let mut pieces: Vec<Vec<ArrayRef>> = Vec::new();
        if let Some(partition) = self.partitions.iter().find(|it| it.key() == partition) {
            for (at, key) in keys.iter().enumerate() {
                if let Some((part, row)) = self.find(partition, key)? {
                    found[at] = true;
                    pieces.push(row_of(&part, row, &self.layout, columns)?);
                }
            }
        }
        let types = self.layout.types();
        let column = |(number, &at): (usize, &usize)| match pieces.as_slice() {
            [] => Ok(new_empty_array(&types[at])),
            [only] => Ok(Arc::clone(&only[number])),
            many => {
                let arrays: Vec<&dyn Array> = many.iter().map(|row| row[number].as_ref()).collect();
                arrow::compute::concat(&arrays)
                    .map_err(|error| Error::internal("rows cannot be joined").caused_by(error))
            }
        };
        let columns = columns.iter().enumerate().map(column).collect::<Result<_>>()?;
        Ok(FoundRows { found, columns })
    }

    /// The part and row of a key at this version.
    fn find(&self, snapshot: &PartitionSnapshot, key: &[u8]) -> Result<Option<(Arc<Part>, u32)>> {
        let partition: &Partition = &snapshot.partition;
        let seed = self.table.seed();
        let hash = pelorus_index::hash_key(seed, key);
        let mut newest = partition.find(key, hash)?;
        if let Found::NotIndexed = newest {
            partition.build_index(seed)?;
            newest = partition.find(key, hash)?;
        }
        match newest {
            Found::At(part, row) if part.version(row)? <= self.version => Ok(Some((part, row))),
            Found::Absent if partition.last_removal() <= self.version => Ok(None),
            _ => search(snapshot, key, self.version),
        }
    }
}

/// Searches all parts for a key at an older version.
fn search(
    snapshot: &PartitionSnapshot,
    key: &[u8],
    version: Version,
) -> Result<Option<(Arc<Part>, u32)>> {
    for part in snapshot.parts().iter() {
        let rows = match &part.body {
            Body::Delta(delta) => delta.rows_at(version),
            Body::Chunk(chunk) => chunk.rows(),
        };
        let dead = part.deletes.at(version);
        let keys: Keys = part.keys()?;
        for row in (0..rows).filter(|&row| keys.get(row as usize) == key) {
            if !dead.contains(row) && part.version(row)? <= version {
                return Ok(Some((Arc::clone(part), row)));
            }
        }
    }
    Ok(None)
}

/// The wanted columns of one row, as arrays of length 1.
fn row_of(part: &Part, row: u32, layout: &Layout, columns: &[usize]) -> Result<Vec<ArrayRef>> {
    let sources = part.layout.sources(layout, columns)?;
    let delta = part.delta().map(|delta| delta.block_of(row)).transpose()?;
    let column = |source: &Source| match (source, &delta) {
        (Source::Filler(column), _) => filler(column, 1),
        (Source::Stored(position), Some((block, at))) => Ok(block.columns[*position].slice(*at, 1)),
        (Source::Stored(position), None) => match part.chunk() {
            Some(chunk) => chunk.column(*position)?.take(&[row]),
            None => Err(Error::internal("a part is neither delta nor chunk")),
        },
    };
    sources.iter().map(column).collect()
}
