//! `ADD`, `DROP`, `COALESCE`, `TRUNCATE` and `REORGANIZE PARTITION`.
//!
//! Partitions of RANGE and LIST are identified by name, and their rows are stored under it. A write
//! that was planned before a definition changed is planned again, since the store refuses changes
//! for an older definition; therefore a table is frozen while its partitions are dropped.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use pelorus_chunk::Predicate;
use pelorus_error::{Code, Error, Result};
use pelorus_sql::ddl::{
    AlterAction, PartitionDefinition, PartitionList, PartitionMethod, Partitioning, TableDefinition,
};
use pelorus_store::ScanRequest;

use super::check_partitions;
use crate::ddl::Definer;
use crate::definition::{Derived, NativeDef};
use crate::partition::explicit_selection::unknown_partition;
use crate::partition::{self, PARTITIONS_MAX, name_key, place_of_name};

/// Rows of a batch when rows are only counted.
const BATCH_ROWS: usize = 8192;

impl Definer {
    /// Carries an action on partitions out; `None` when it is another action.
    pub(super) fn manage_partitions(
        &self,
        def: &NativeDef,
        action: &AlterAction,
    ) -> Option<Result<()>> {
        Some(match action {
            AlterAction::AddPartitions(list) => self.add_partitions(def, list),
            AlterAction::AddPartitionCount(count) => self.add_count(def, *count),
            AlterAction::CoalescePartitions(count) => self.coalesce(def, *count),
            AlterAction::DropPartitions { if_exists, names } => {
                self.drop_partitions(def, names, *if_exists)
            }
            AlterAction::TruncatePartitions(list) => self.truncate_partitions(def, list),
            AlterAction::ReorganizePartitions { names, into } => self.reorganize(def, names, into),
            _ => return None,
        })
    }

    /// Whether a column has no NULL, or error 1138.
    pub(super) fn check_no_nulls(&self, def: &NativeDef, column: usize) -> Result<()> {
        let predicates = vec![(column, Predicate::IsNull)];
        if self.has_rows(def, predicates, None)? {
            return Err(Error::new(Code::InvalidUseOfNull, "Invalid use of NULL value"));
        }
        Ok(())
    }

    /// Whether there are rows that fulfil conditions, in some partitions or in all.
    pub(super) fn has_rows(
        &self,
        def: &NativeDef,
        predicates: Vec<(usize, Predicate)>,
        keys: Option<&HashSet<Vec<u8>>>,
    ) -> Result<bool> {
        let snapshot = self.catalog.store().snapshot();
        let table = snapshot.table(def.id)?;
        let column = def.key.first().copied().unwrap_or(0);
        let field = Field::new("c", def.targets[column].ty.arrow(), true);
        let request = ScanRequest {
            columns: vec![column],
            predicates,
            tests: Vec::new(),
            schema: Arc::new(Schema::new(vec![field])),
            hidden: None,
            batch_rows: BATCH_ROWS,
        };
        let picked = |partition: &pelorus_store::PartitionSnapshot| {
            keys.is_none_or(|keys| keys.contains(partition.key()))
        };
        for unit in table.scan(request, picked)? {
            let mut cursor = unit.open()?;
            while let Some(batch) = cursor.next_batch()? {
                if batch.num_rows() > 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn add_partitions(&self, def: &NativeDef, list: &[PartitionDefinition]) -> Result<()> {
        let mut definition = def.definition.clone();
        let partitioning = definition.partitioning.as_mut().ok_or_else(not_partitioned)?;
        match partitioning.method {
            PartitionMethod::Value(_) => return Err(by_value("ADD")),
            PartitionMethod::Hash { .. } | PartitionMethod::Key { .. } => {
                return Err(Error::unsupported(
                    "ADD PARTITION (...) of HASH and KEY partitions; ADD PARTITION PARTITIONS n",
                ));
            }
            _ => {}
        }
        partitioning.partitions.extend_from_slice(list);
        partitioning.count = None;
        partition::settle(partitioning, def.mode, &self.context)?;
        check_partitions(def, &Derived::of(&def.database, &definition, def.mode)?)?;
        self.redefine(def, &def.database, definition, def.table.schema())
    }

    /// `ADD PARTITION PARTITIONS n`
    fn add_count(&self, def: &NativeDef, more: u64) -> Result<()> {
        let mut definition = def.definition.clone();
        let partitioning = numbered(&mut definition, "ADD PARTITION PARTITIONS")?;
        if more == 0 {
            let text = "At least one partition must be added";
            return Err(Error::new(Code::NoPartitionsToAdd, text));
        }
        let count = def.partitioner.named().len() as u64;
        resize(partitioning, count.saturating_add(more));
        self.moved(def, definition)
    }

    /// `COALESCE PARTITION n`
    fn coalesce(&self, def: &NativeDef, less: u64) -> Result<()> {
        let mut definition = def.definition.clone();
        let partitioning = numbered(&mut definition, "COALESCE PARTITION")?;
        if less == 0 {
            let text = "At least one partition must be coalesced";
            return Err(Error::new(Code::NoPartitionsToRemove, text));
        }
        let count = def.partitioner.named().len() as u64;
        let left = count.checked_sub(less).filter(|left| *left > 0);
        let text = "Cannot remove all partitions, use DROP TABLE instead";
        resize(partitioning, left.ok_or_else(|| Error::new(Code::DropLastPartition, text))?);
        self.moved(def, definition)
    }

    /// Gives a table other partitions, and puts every row into its new one.
    fn moved(&self, def: &NativeDef, definition: TableDefinition) -> Result<()> {
        let origins: Vec<Option<usize>> = (0..definition.columns.len()).map(Some).collect();
        self.change(def, (definition, &origins), false, (Vec::new(), None)).map(drop)
    }

    /// The keys of partitions by value, which have the names that `information_schema.PARTITIONS`
    /// shows, and the names that no partition has.
    fn find_by_value<'n>(
        &self,
        def: &NativeDef,
        names: &'n [String],
    ) -> Result<(Vec<Vec<u8>>, Vec<&'n String>)> {
        let snapshot = self.catalog.store().snapshot();
        let table = snapshot.table(def.id)?;
        let named = |it: &pelorus_store::PartitionSnapshot| {
            Some((def.partitioner.describe(it.key())?, it.key().to_vec()))
        };
        let known: HashMap<String, Vec<u8>> = table.partitions().iter().filter_map(named).collect();
        let (found, missing): (Vec<_>, Vec<_>) =
            names.iter().partition(|name| known.contains_key(*name));
        let keys = found.into_iter().filter_map(|name| known.get(name).cloned()).collect();
        Ok((keys, missing))
    }

    /// Drops partitions by value. The definition does not name them, and they are there again as
    /// soon as they have rows.
    fn drop_by_value(&self, def: &NativeDef, names: &[String], if_exists: bool) -> Result<()> {
        let (keys, missing) = self.find_by_value(def, names)?;
        if !missing.is_empty() && !if_exists {
            let text = "Error in list of partitions to DROP";
            return Err(Error::new(Code::DropPartitionMissing, text));
        }
        for name in missing {
            let text = format!("Unknown partition '{name}' in table '{}'", def.name);
            self.diagnostics.note(Code::DropPartitionMissing.errno(), text);
        }
        if keys.is_empty() {
            return Ok(());
        }
        self.catalog.store().drop_partitions(def.id, &keys).map(drop)
    }

    fn drop_partitions(&self, def: &NativeDef, names: &[String], if_exists: bool) -> Result<()> {
        if is_by_value(&def.definition) {
            return self.drop_by_value(def, names, if_exists);
        }
        let mut definition = def.definition.clone();
        let partitions = listed(&mut definition, "DROP")?;
        let mut keys = Vec::new();
        for name in names {
            match def.partitioner.find(name) {
                Some(named) => keys.push(named.key.clone()),
                None if if_exists => {
                    let text = format!("Unknown partition '{name}' in table '{}'", def.name);
                    self.diagnostics.note(Code::DropPartitionMissing.errno(), text);
                }
                None => {
                    let text = "Error in list of partitions to DROP";
                    return Err(Error::new(Code::DropPartitionMissing, text));
                }
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let dropped: HashSet<String> = names.iter().map(|name| name_key(name)).collect();
        partitions.retain(|partition| !dropped.contains(&name_key(&partition.name)));
        if partitions.is_empty() {
            let text = "Cannot remove all partitions, use DROP TABLE instead";
            return Err(Error::new(Code::DropLastPartition, text));
        }
        // What is wrong with it shows before rows are gone.
        Derived::of(&def.database, &definition, def.mode)?;
        let store = self.catalog.store();
        // No session writes rows between the two: they would stay in a partition that no definition
        // has.
        let _frozen = store.freeze(def.id)?;
        store.drop_partitions(def.id, &keys)?;
        // Who reads the past would not find the rows by the bounds that are left.
        store.end_history(def.id)?;
        self.redefine(def, &def.database, definition, def.table.schema())
    }

    fn truncate_partitions(&self, def: &NativeDef, list: &PartitionList) -> Result<()> {
        if def.partitioner.is_whole() {
            return Err(not_partitioned());
        }
        let names = match list {
            PartitionList::All => return self.catalog.store().truncate_table(def.id),
            PartitionList::Names(names) => names,
        };
        if is_by_value(&def.definition) {
            let (keys, missing) = self.find_by_value(def, names)?;
            return match missing.first() {
                Some(name) => Err(unknown_partition(name, &def.name)),
                None => self.catalog.store().drop_partitions(def.id, &keys).map(drop),
            };
        }
        let key = |name: &String| match def.partitioner.find(name) {
            Some(named) => Ok(named.key.clone()),
            None => Err(unknown_partition(name, &def.name)),
        };
        let keys: Vec<Vec<u8>> = names.iter().map(key).collect::<Result<_>>()?;
        self.catalog.store().drop_partitions(def.id, &keys).map(drop)
    }

    /// `REORGANIZE PARTITION names INTO (...)`. Where the partitions have no rows, which is how one
    /// is cut off from the last, only the catalog changes.
    fn reorganize(
        &self,
        def: &NativeDef,
        names: &[String],
        into: &[PartitionDefinition],
    ) -> Result<()> {
        let mut definition = def.definition.clone();
        let partitions = listed(&mut definition, "REORGANIZE")?;
        let position = |name: &String| {
            let names = partitions.iter().map(|it| it.name.as_str());
            place_of_name(names, name).ok_or_else(|| {
                let text = "Error in list of partitions to REORGANIZE";
                Error::new(Code::DropPartitionMissing, text)
            })
        };
        let mut places: Vec<usize> = names.iter().map(position).collect::<Result<_>>()?;
        places.sort_unstable();
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            let text = "REORGANIZE PARTITION without parameters can only be used on \
                        auto-partitioned tables using HASH PARTITIONs";
            return Err(Error::new(Code::ReorganizeNeedsNames, text));
        };
        if last - first + 1 != places.len() || into.is_empty() {
            let text = "When reorganizing a set of partitions they must be in consecutive order";
            return Err(Error::new(Code::ReorganizeNotConsecutive, text));
        }
        let keys: HashSet<Vec<u8>> = names
            .iter()
            .filter_map(|name| def.partitioner.find(name))
            .map(|named| named.key.clone())
            .collect();
        let is_last = last + 1 == partitions.len();
        partitions.splice(first..=last, into.iter().cloned());
        let partitioning = definition.partitioning.as_mut().ok_or_else(not_partitioned)?;
        partition::settle(partitioning, def.mode, &self.context)?;
        // What is wrong with it shows before history ends.
        let derived = Derived::of(&def.database, &definition, def.mode)?;
        check_partitions(def, &derived)?;
        let new_last = first + into.len() - 1;
        let order = derived.partitioner.compare_bounds(new_last, &def.partitioner, last);
        if order.is_some_and(|it| it == Ordering::Less || it != Ordering::Equal && !is_last) {
            let text = "Reorganize of range partitions cannot change total ranges except for last \
                        partition where it can extend the range";
            return Err(Error::new(Code::ReorganizeOutsideRange, text));
        }
        let store = self.catalog.store();
        let frozen = store.freeze(def.id)?;
        if !self.has_rows(def, Vec::new(), Some(&keys))? {
            // Rows that were there in the past lie where the new bounds say that they do not.
            store.end_history(def.id)?;
            return self.redefine(def, &def.database, definition, def.table.schema());
        }
        drop(frozen);
        self.moved(def, definition)
    }
}

/// The partitions of RANGE and LIST, or why there are none to manage.
fn listed<'a>(
    definition: &'a mut TableDefinition,
    word: &str,
) -> Result<&'a mut Vec<PartitionDefinition>> {
    let partitioning = definition.partitioning.as_mut().ok_or_else(not_partitioned)?;
    match partitioning.method {
        PartitionMethod::Value(_) => Err(by_value(word)),
        PartitionMethod::Hash { .. } | PartitionMethod::Key { .. } => Err(Error::new(
            Code::OnlyOnRangeList,
            format!("{word} PARTITION can only be used on RANGE/LIST partitions"),
        )),
        _ => Ok(&mut partitioning.partitions),
    }
}

/// The partitions of HASH and KEY, or why they cannot be counted.
fn numbered<'a>(definition: &'a mut TableDefinition, words: &str) -> Result<&'a mut Partitioning> {
    let partitioning = definition.partitioning.as_mut().ok_or_else(not_partitioned)?;
    match partitioning.method {
        PartitionMethod::Hash { .. } | PartitionMethod::Key { .. } => Ok(partitioning),
        PartitionMethod::Value(_) => Err(by_value(words)),
        _ => {
            let text = format!("{words} can only be used on HASH/KEY partitions");
            Err(Error::new(Code::CoalesceOnlyHash, text))
        }
    }
}

/// Gives HASH and KEY another number of partitions. Those with names keep them, and new ones are
/// called by their numbers, as in MySQL.
fn resize(partitioning: &mut Partitioning, count: u64) {
    let listed = partitioning.partitions.len();
    if listed == 0 {
        partitioning.count = Some(count);
        return;
    }
    // One too many is enough to be refused.
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(PARTITIONS_MAX + 1);
    partitioning.partitions.truncate(count);
    partitioning.partitions.extend((listed..count).map(|number| PartitionDefinition {
        name: format!("p{number}"),
        values: None,
        options: Vec::new(),
        subpartitions: Vec::new(),
    }));
}

/// Error 1505.
pub(super) fn not_partitioned() -> Error {
    let text = "Partition management on a not partitioned table is not possible";
    Error::new(Code::NotPartitioned, text)
}

/// Whether the table has partitions by value.
fn is_by_value(definition: &TableDefinition) -> bool {
    let method = definition.partitioning.as_ref().map(|it| &it.method);
    matches!(method, Some(PartitionMethod::Value(_)))
}

/// Which values partitions have, their expressions say alone.
fn by_value(word: &str) -> Error {
    Error::unsupported(format_args!(
        "{word} PARTITION of a table with PARTITION BY (expressions), whose partitions come with \
         their rows; ALTER TABLE ... PARTITION BY distributes them anew"
    ))
}
