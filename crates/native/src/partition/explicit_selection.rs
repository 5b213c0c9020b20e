//! Explicit partition selection: `PARTITION (p0, p1)` after a table's name.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use pelorus_chunk::Predicate;
use pelorus_error::{Code, Error, Result};
use pelorus_query::PartitionPruner;

use super::Partitioner;
use crate::definition::NativeDef;
use crate::write::change::taken;

/// Some partitions of a table; all when none is named.
#[derive(Debug)]
pub(crate) struct NamedPartitions {
    partitioner: Arc<Partitioner>,
    keys: Vec<Vec<u8>>,
}

impl NamedPartitions {
    /// Partitions by their names, in any case.
    ///
    /// # Errors
    /// A table without partitions that have names (1747), a name that is not there (1735).
    pub(crate) fn of<S: AsRef<str>>(def: &NativeDef, names: &[S]) -> Result<Self> {
        if !names.is_empty() && def.partitioner.named().is_empty() {
            let text = "PARTITION () clause on non partitioned table";
            return Err(Error::new(Code::PartitionClauseOnUnpartitioned, text));
        }
        let key = |name: &S| {
            let found = def.partitioner.find(name.as_ref()).map(|named| named.key.clone());
            found.ok_or_else(|| unknown_partition(name.as_ref(), &def.name))
        };
        let keys = names.iter().map(key).collect::<Result<_>>()?;
        Ok(Self { partitioner: Arc::clone(&def.partitioner), keys })
    }

    /// Those of some whole rows that are in the partitions.
    ///
    /// # Errors
    /// As those of [`Partitioner::split`].
    pub(crate) fn kept(&self, rows: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if self.keys.is_empty() {
            return Ok(rows.to_vec());
        }
        let groups = self.partitioner.split(rows)?;
        let kept = groups.iter().filter(|(key, _)| self.keys.contains(key));
        let mut places: Vec<u32> = kept.flat_map(|(_, rows)| rows.values().to_vec()).collect();
        places.sort_unstable();
        taken(rows, &UInt32Array::from(places))
    }

    /// Whether some are named.
    pub(crate) fn is_part(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whole rows that have no place in the partitions: their positions, each with its error, 1748
    /// where they are in another partition and 1526 where they are in none.
    ///
    /// # Errors
    /// A collation whose rules are not known (1235).
    pub(crate) fn misfits(&self, rows: &[ArrayRef]) -> Result<Vec<(usize, Error)>> {
        self.partitioner.misfits(rows, &self.keys)
    }
}

impl PartitionPruner for NamedPartitions {
    fn may_contain(&self, key: &[u8], predicates: &[(usize, Predicate)]) -> bool {
        (self.keys.is_empty() || self.keys.iter().any(|it| it == key))
            && self.partitioner.may_contain(key, predicates)
    }
}

/// Error 1735.
pub(crate) fn unknown_partition(name: &str, table: &str) -> Error {
    let text = format!("Unknown partition '{name}' in table '{table}'");
    Error::new(Code::UnknownPartition, text)
}
