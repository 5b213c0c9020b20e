//! The write set of a commit, prepared outside of any lock: keys encoded and hashed, rows of one
//! key within a batch merged, bytes for the log written.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use pelorus_error::{Error, Result};

use crate::catalog::schema::{TableId, Version};
use crate::catalog::schema_version::Layout;
use crate::commit::async_commit::Durability;
use crate::format::bytes::Writer;
use crate::format::row_batch;
use crate::key::Keys;
use crate::table::{Table, duplicate_key};

/// The handling of a row whose key exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The commit fails with error 1062.
    Insert,
    /// The new row is left out.
    Ignore,
    /// The new row takes the place of the old one.
    Replace,
}

/// One change of a commit.
#[derive(Clone, Debug)]
pub enum Write {
    /// Rows of one partition.
    Put {
        /// The table.
        table: TableId,
        /// The partition's key.
        partition: Vec<u8>,
        /// A column each, in the order of the schema.
        columns: Vec<ArrayRef>,
        /// The handling of existing keys.
        mode: Mode,
    },
    /// Rows to delete, by their primary keys.
    Remove {
        /// The table.
        table: TableId,
        /// The partition's key.
        partition: Vec<u8>,
        /// The key's columns, in the order of the key.
        columns: Vec<ArrayRef>,
    },
}

/// A set of changes that become visible together or not at all.
///
/// Within one commit the keys that are written in a partition differ from those that are removed,
/// and no two `Put`s have a key in common.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The changes.
    pub writes: Vec<Write>,
    /// The version that the changes were computed from: when a key has been written since, the
    /// commit fails with error 1213. `None` for changes that depend on nothing.
    pub snapshot: Option<Version>,
    /// The generations of tables ([`Table::generation`]) that the changes were made for. The commit
    /// fails with error 1412 when a table has another one; of tables that are not named here only
    /// the number and the types of columns are compared.
    pub made_for: Vec<(TableId, u64)>,
    /// Further records: counters and the engine's own values.
    pub values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// When it is acknowledged.
    pub durability: Durability,
}

impl Commit {
    /// Whether it does nothing but take values of the engine's away.
    pub(crate) fn only_forgets(&self) -> bool {
        self.writes.is_empty() && self.values.iter().all(|(_, value)| value.is_none())
    }
}

/// The result of one change of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows whose key was new.
    pub inserted: u64,
    /// Rows that took the place of others.
    pub replaced: u64,
    /// Rows that were left out, since their key was there: in the table, or in a row before them.
    pub ignored: u64,
    /// The places of these rows in the batch, rising.
    pub ignored_rows: Vec<u32>,
    /// Rows that were deleted.
    pub removed: u64,
}

/// A change made ready.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) table: Arc<Table>,
    /// The layout that the columns have.
    pub(crate) layout: Arc<Layout>,
    pub(crate) partition: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) keys: Keys,
    pub(crate) hashes: Vec<u64>,
    /// Positions in the batch of rows that another row of the batch replaces.
    pub(crate) settled: Vec<u32>,
    /// The columns as the log has them.
    pub(crate) bytes: Vec<u8>,
    /// The position of the change in the commit.
    pub(crate) at: usize,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Put(Mode),
    Remove,
}

impl Prepared {
    /// Makes a change ready; its bytes for the log go into `spare`.
    ///
    /// # Errors
    /// Columns that do not fit the schema (a bug of the caller), NULL in a key (1048), a key twice
    /// in a batch of mode `Insert` (1062).
    pub(crate) fn new(table: Arc<Table>, write: &Write, at: usize, spare: Vec<u8>) -> Result<Self> {
        let (partition, columns, kind) = match write {
            Write::Put { partition, columns, mode, .. } => (partition, columns, Kind::Put(*mode)),
            Write::Remove { partition, columns, .. } => (partition, columns, Kind::Remove),
        };
        let layout = table.layout();
        check_columns(&layout, columns, kind)?;
        let keys = match kind {
            Kind::Put(_) => layout.keys_of_rows(columns)?,
            Kind::Remove => layout.keys_of_keys(columns)?,
        };
        let seed = table.seed();
        let hashes: Vec<u64> = keys.iter().map(|key| pelorus_index::hash_key(seed, key)).collect();
        let mut this = Self {
            table,
            layout,
            partition: partition.clone(),
            kind,
            columns: columns.clone(),
            keys,
            hashes,
            settled: Vec::new(),
            bytes: spare,
            at,
        };
        this.settle()?;
        this.write_bytes();
        Ok(this)
    }

    /// How many rows are left.
    pub(crate) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// Leaves one row of those that have a key in common: the last where rows replace, the first
    /// where they are ignored.
    fn settle(&mut self) -> Result<()> {
        let last_wins = self.kind == Kind::Put(Mode::Replace);
        let Some((keep, twice)) = distinct(&self.keys, &self.hashes, last_wins) else {
            return Ok(());
        };
        if self.kind == Kind::Put(Mode::Insert) {
            return Err(duplicate_key(twice));
        }
        self.settled = (0_u32..).zip(&keep).filter(|(_, keep)| !**keep).map(|it| it.0).collect();
        self.retain(&keep)
    }

    /// Keeps some rows.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<()> {
        let filter = BooleanArray::from(keep.to_vec());
        let filtered = |column: &ArrayRef| {
            arrow::compute::filter(column, &filter)
                .map_err(|error| Error::internal("rows cannot be filtered").caused_by(error))
        };
        self.columns = self.columns.iter().map(filtered).collect::<Result<_>>()?;
        let mut keys = Keys::default();
        for (key, _) in self.keys.iter().zip(keep).filter(|(_, keep)| **keep) {
            keys.push(key);
        }
        self.keys = keys;
        let mut flags = keep.iter();
        self.hashes.retain(|_| flags.next().copied().unwrap_or(false));
        self.bytes.clear();
        Ok(())
    }

    /// Encodes the rows for the log, unless that is done.
    pub(crate) fn write_bytes(&mut self) {
        if self.bytes.is_empty() {
            let mut out = Writer(std::mem::take(&mut self.bytes));
            row_batch::write(&self.columns, self.rows(), &mut out);
            self.bytes = out.0;
        }
    }
}

/// The places in a batch of all rows that are not written: those that were `settled`, and those of
/// the rest that `keep` does not name.
pub(crate) fn left_out(settled: &[u32], keep: &[bool]) -> Vec<u32> {
    let mut settled = settled.iter().copied().peekable();
    let mut out = Vec::new();
    let mut place = 0;
    for &keep in keep {
        while settled.next_if_eq(&place).is_some() {
            out.push(place);
            place += 1;
        }
        if !keep {
            out.push(place);
        }
        place += 1;
    }
    out.extend(settled);
    out
}

fn check_columns(layout: &Layout, columns: &[ArrayRef], kind: Kind) -> Result<()> {
    let schema = &layout.schema;
    let expected: Vec<usize> = match kind {
        Kind::Put(_) => (0..schema.columns.len()).collect(),
        Kind::Remove => schema.key.clone(),
    };
    let rows = columns.first().map_or(0, |column| column.len());
    let fits = columns.len() == expected.len()
        && columns.iter().zip(&expected).all(|(column, &at)| {
            column.len() == rows && *column.data_type() == schema.columns[at].ty.arrow()
        });
    if !fits {
        return Err(Error::table_changed());
    }
    if rows > crate::ROWS_PER_BATCH_MAX {
        return Err(Error::internal(format!("a batch of {rows} rows")));
    }
    Ok(())
}

/// Which rows to keep so that no key is there twice, and a row whose key was there before it;
/// `None` when no key is there twice.
///
/// A table of positions with open addressing, made for one use.
fn distinct(keys: &Keys, hashes: &[u64], last_wins: bool) -> Option<(Vec<bool>, usize)> {
    const EMPTY: u32 = u32::MAX;
    let size = (keys.len() * 2).next_power_of_two().max(16);
    let mask = size as u64 - 1;
    let mut table = vec![EMPTY; size];
    let mut keep: Option<(Vec<bool>, usize)> = None;
    for (at, (number, &hash)) in (0..).zip(hashes).enumerate() {
        #[expect(clippy::cast_possible_truncation, reason = "less than the table's size")]
        let mut slot = (hash & mask) as usize;
        loop {
            let other = table[slot];
            if other == EMPTY {
                table[slot] = number;
                break;
            }
            let other = other as usize;
            if hashes[other] == hash && keys.get(other) == keys.get(at) {
                let (keep, _) = keep.get_or_insert_with(|| (vec![true; keys.len()], at));
                if last_wins {
                    keep[other] = false;
                    table[slot] = number;
                } else {
                    keep[at] = false;
                }
                break;
            }
            slot = (slot + 1) & (size - 1);
        }
    }
    keep
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_row_of_each_key_is_kept(numbers in prop::collection::vec(0_u8..20, 0..60), last: bool) {
            let mut keys = Keys::default();
            for number in &numbers {
                keys.push(&[*number]);
            }
            // Few hashes, so that keys share them.
            let hashes: Vec<u64> = numbers.iter().map(|number| u64::from(number % 3)).collect();
            let keep = distinct(&keys, &hashes, last).map_or(vec![true; numbers.len()], |it| it.0);
            for (at, number) in numbers.iter().enumerate() {
                let others = if last { &numbers[at + 1..] } else { &numbers[..at] };
                prop_assert_eq!(keep[at], !others.contains(number));
            }
        }

        #[test]
        fn places_are_those_of_the_whole_batch(
            fates in prop::collection::vec(0_u8..3, 0..60),
        ) {
            // 0: another row stands for it; 1: its key is there; 2: it is new.
            let of = |fate: u8| (0_u32..).zip(&fates).filter(move |it| *it.1 == fate).map(|it| it.0);
            let settled: Vec<u32> = of(0).collect();
            let keep: Vec<bool> =
                fates.iter().filter(|fate| **fate > 0).map(|fate| *fate == 2).collect();
            let mut expected: Vec<u32> = of(0).chain(of(1)).collect();
            expected.sort_unstable();
            prop_assert_eq!(left_out(&settled, &keep), expected);
        }
    }
}
