//! A delta: recent rows in memory in the order of insertion, visible at once.
//!
//! A delta only grows: rows keep their numbers, in the order of their versions, so that a version
//! sees a prefix. Rows are in immutable blocks of Arrow arrays. Small blocks are merged with their
//! neighbours like the digits of a binary counter, so that many small commits do not make many
//! small arrays and every row is copied a few times at most.

use std::sync::Arc;

use arrow::array::ArrayRef;
use pelorus_env::sync::RwLock;
use pelorus_error::{Error, Result};

use crate::catalog::schema::Version;
use crate::format::arrays::bytes_of;
use crate::key::Keys;

/// Blocks of this many rows and more are left alone.
const BLOCK_ROWS: usize = 4096;

/// Blocks of this many bytes and more are left alone, too: the columns of a few joined blocks must
/// fit the 31 bits of Arrow's offsets.
const BLOCK_BYTES: usize = 16 << 20;

/// So many neighbours of about one size are joined.
const FAN_IN: usize = 8;

/// A run of rows that never changes.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of its first row.
    pub(crate) first: u32,
    /// How many rows.
    pub(crate) rows: usize,
    /// A column each, in the order of the schema that the delta was begun with.
    pub(crate) columns: Vec<ArrayRef>,
    bytes: usize,
}

impl Block {
    fn is_large(&self) -> bool {
        self.rows >= BLOCK_ROWS || self.bytes >= BLOCK_BYTES
    }
}

/// The rows of one delta.
#[derive(Debug, Default)]
pub(crate) struct Delta(RwLock<Inner>);

#[derive(Debug, Default)]
struct Inner {
    blocks: Vec<Arc<Block>>,
    rows: u32,
    /// Versions, each with the end of its rows.
    runs: Vec<(Version, u32)>,
    keys: Keys,
    hashes: Vec<u64>,
    bytes: usize,
    /// Its bytes no longer count as memory.
    released: bool,
}

/// Everything in a delta at some moment.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) runs: Vec<(Version, u32)>,
    pub(crate) rows: u32,
}

impl Delta {
    /// How many rows it holds.
    pub(crate) fn rows(&self) -> u32 {
        self.0.read().rows
    }

    /// How many rows a version sees.
    pub(crate) fn rows_at(&self, version: Version) -> u32 {
        let inner = self.0.read();
        let below = inner.runs.partition_point(|(it, _)| *it <= version);
        below.checked_sub(1).map_or(0, |at| inner.runs[at].1)
    }

    /// The version that wrote a row.
    pub(crate) fn version(&self, row: u32) -> Version {
        version_of(&self.0.read().runs, row)
    }

    /// Adds rows under a version that is not below earlier ones; gives the number of the first.
    ///
    /// # Errors
    /// When Arrow cannot join columns, which is a bug.
    pub(crate) fn append<'k>(
        &self,
        version: Version,
        columns: Vec<ArrayRef>,
        rows: usize,
        keys: impl Iterator<Item = (&'k [u8], u64)>,
    ) -> Result<u32> {
        let inner = &mut *self.0.write();
        let first = inner.rows;
        inner.rows +=
            u32::try_from(rows).map_err(|_| Error::internal("more rows than a delta can hold"))?;
        let memory = inner.keys.memory();
        for (key, hash) in keys {
            inner.keys.push(key);
            inner.hashes.push(hash);
        }
        let bytes = bytes_of(&columns);
        inner.bytes += bytes + rows * 8 + (inner.keys.memory() - memory);
        inner.blocks.push(Arc::new(Block { first, rows, columns, bytes }));
        match inner.runs.last_mut() {
            Some((last, end)) if *last == version => *end = inner.rows,
            _ => inner.runs.push((version, inner.rows)),
        }
        join_small(&mut inner.blocks)?;
        Ok(first)
    }

    /// All rows there are now.
    pub(crate) fn all(&self) -> Rows {
        let inner = self.0.read();
        Rows { blocks: inner.blocks.clone(), runs: inner.runs.clone(), rows: inner.rows }
    }

    /// The block that a row is in, and its place there.
    ///
    /// # Errors
    /// A row that is not there, which is a bug.
    pub(crate) fn block_of(&self, row: u32) -> Result<(Arc<Block>, u32)> {
        let inner = self.0.read();
        let after = inner.blocks.partition_point(|block| block.first <= row);
        let block = after.checked_sub(1).and_then(|at| inner.blocks.get(at));
        match block {
            Some(block) if row < inner.rows => Ok((Arc::clone(block), row - block.first)),
            _ => Err(Error::internal(format!("a delta has no row {row}"))),
        }
    }

    /// Runs a function on keys and their hashes.
    pub(crate) fn with_keys<T>(&self, run: impl FnOnce(&Keys, &[u64]) -> T) -> T {
        let inner = self.0.read();
        run(&inner.keys, &inner.hashes)
    }

    /// Bytes of memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.0.read().bytes
    }

    /// The bytes that no longer count as memory, for the first caller: a delta can be flushed and
    /// its partition dropped at the same time.
    pub(crate) fn release(&self) -> usize {
        let inner = &mut *self.0.write();
        if std::mem::replace(&mut inner.released, true) { 0 } else { inner.bytes }
    }
}

fn version_of(runs: &[(Version, u32)], row: u32) -> Version {
    let at = runs.partition_point(|(_, end)| *end <= row);
    runs.get(at).map_or(0, |(version, _)| *version)
}

/// Joins the last blocks while enough of them are of about one size.
fn join_small(blocks: &mut Vec<Arc<Block>>) -> Result<()> {
    loop {
        let Some(last) = blocks.last().filter(|block| !block.is_large()) else { return Ok(()) };
        let last = last.rows;
        // The last block's size class: powers of the fan-in.
        let mut class = FAN_IN;
        while class <= last {
            class *= FAN_IN;
        }
        let is_alike = |block: &&Arc<Block>| !block.is_large() && block.rows < class;
        let alike = blocks.iter().rev().take_while(is_alike).count();
        if alike < FAN_IN {
            return Ok(());
        }
        let tail = blocks.split_off(blocks.len() - alike);
        blocks.push(Arc::new(joined(&tail)?));
    }
}

fn joined(blocks: &[Arc<Block>]) -> Result<Block> {
    let columns = (0..blocks[0].columns.len())
        .map(|column| {
            let arrays: Vec<_> =
                blocks.iter().map(|block| block.columns[column].as_ref()).collect();
            arrow::compute::concat(&arrays)
                .map_err(|error| Error::internal("a delta cannot be joined").caused_by(error))
        })
        .collect::<Result<Vec<_>>>()?;
    let rows = blocks.iter().map(|block| block.rows).sum();
    let bytes = blocks.iter().map(|block| block.bytes).sum();
    Ok(Block { first: blocks[0].first, rows, columns, bytes })
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn rows_keep_their_numbers_and_blocks_stay_few() {
        let delta = Delta::default();
        let mut written = 0_i64;
        for version in 1..=3000_u64 {
            let rows = if version % 100 == 0 { 700 } else { 1 + version.cast_signed() % 3 };
            let values = Int64Array::from_iter_values(written..written + rows);
            let keys: Vec<[u8; 8]> = values.values().iter().map(|it| it.to_be_bytes()).collect();
            let pairs = keys.iter().map(|key| (&key[..], 7));
            let count = usize::try_from(rows).unwrap();
            let first = delta.append(version, vec![Arc::new(values)], count, pairs).unwrap();
            assert_eq!(i64::from(first), written);
            written += rows;
        }
        let all = delta.all();
        assert!(all.blocks.len() < 60, "{} blocks", all.blocks.len());
        let mut expected = 0;
        for block in &all.blocks {
            assert_eq!(i64::from(block.first), expected);
            let values = block.columns[0].as_primitive::<Int64Type>();
            assert_eq!(values.len(), block.rows);
            for value in values.values() {
                assert_eq!(*value, expected);
                expected += 1;
            }
        }
        assert_eq!(expected, written);
        assert_eq!(delta.rows_at(0), 0);
        assert_eq!(delta.rows_at(1), 2);
        assert_eq!(delta.rows_at(9999), all.rows);
        let version = |row| version_of(&all.runs, row);
        assert_eq!((version(0), version(1), version(2)), (1, 1, 2));
        delta.with_keys(|keys, hashes| {
            assert_eq!(i64::try_from(keys.len()), Ok(written));
            assert_eq!(hashes.len(), keys.len());
            assert_eq!(keys.get(5), 5_i64.to_be_bytes());
        });
    }

    #[test]
    fn long_rows_are_not_joined_beyond_what_arrow_can_address() {
        let delta = Delta::default();
        let text = "x".repeat(BLOCK_BYTES);
        for version in 1..=9 {
            let column: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
            delta.append(version, vec![column], 1, std::iter::once((&b"key"[..], 7))).unwrap();
        }
        assert_eq!(delta.all().blocks.len(), 9);
    }
}
