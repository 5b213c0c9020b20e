//! `ADD`, `DROP`, `TRUNCATE` and `REORGANIZE PARTITION`.
//!
//! Partitions of RANGE and LIST are known by name, and their rows lie under it. Whoever planned a
//! write before a definition changed plans it again, since the store refuses what was made for an
//! older definition; therefore rows are dropped once more after their partition is gone.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use pelorus_chunk::Predicate;
use pelorus_error::{Code, Error, Result};
use pelorus_sql::table::{
    AlterAction, PartitionDefinition, PartitionList, PartitionMethod, TableDefinition,
};
use pelorus_store::ScanRequest;

use crate::native::ddl::Definer;
use crate::native::definition::NativeDef;
use crate::native::partition;

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
            AlterAction::AddPartitionCount(_) | AlterAction::CoalescePartitions(_) => {
                Err(Error::unsupported(
                    "ALTER TABLE that changes the number of HASH or KEY partitions of a native \
                     table",
                ))
            }
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
            return Err(Error::remote(1138, *b"22004", "Invalid use of NULL value"));
        }
        Ok(())
    }

    /// Whether there are rows that fulfil conditions, in some partitions or in all.
    fn has_rows(
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
                    "ALTER TABLE that changes the number of HASH or KEY partitions of a native \
                     table",
                ));
            }
            _ => {}
        }
        partitioning.partitions.extend_from_slice(list);
        partitioning.count = None;
        partition::settle(partitioning, def.mode, &self.context)?;
        self.redefine(def, &def.database, definition, def.table.schema())
    }

    fn drop_partitions(&self, def: &NativeDef, names: &[String], if_exists: bool) -> Result<()> {
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
        let dropped = |partition: &PartitionDefinition| {
            names.iter().any(|name| name.eq_ignore_ascii_case(&partition.name))
        };
        partitions.retain(|partition| !dropped(partition));
        if partitions.is_empty() {
            let text = "Cannot remove all partitions, use DROP TABLE instead";
            return Err(Error::new(Code::DropLastPartition, text));
        }
        let store = self.catalog.store();
        store.drop_partitions(def.id, &keys)?;
        self.redefine(def, &def.database, definition, def.table.schema())?;
        store.drop_partitions(def.id, &keys).map(drop)
    }

    fn truncate_partitions(&self, def: &NativeDef, list: &PartitionList) -> Result<()> {
        if def.partitioner.is_whole() {
            return Err(not_partitioned());
        }
        let names = match list {
            PartitionList::All => return self.catalog.store().truncate_table(def.id),
            PartitionList::Names(names) => names,
        };
        let key = |name: &String| match def.partitioner.find(name) {
            Some(named) => Ok(named.key.clone()),
            None if def.partitioner.named().is_empty() => Err(by_value("TRUNCATE")),
            None => Err(unknown_partition(name, &def.name)),
        };
        let keys: Vec<Vec<u8>> = names.iter().map(key).collect::<Result<_>>()?;
        self.catalog.store().drop_partitions(def.id, &keys).map(drop)
    }

    /// `REORGANIZE PARTITION names INTO (...)` of partitions without rows, which is how a partition
    /// is cut off from the last one.
    fn reorganize(
        &self,
        def: &NativeDef,
        names: &[String],
        into: &[PartitionDefinition],
    ) -> Result<()> {
        let mut definition = def.definition.clone();
        let partitions = listed(&mut definition, "REORGANIZE")?;
        let position = |name: &String| {
            let mut all = partitions.iter();
            all.position(|it| it.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
                let text = "Error in list of partitions to REORGANIZE";
                Error::new(Code::DropPartitionMissing, text)
            })
        };
        let mut places: Vec<usize> = names.iter().map(position).collect::<Result<_>>()?;
        places.sort_unstable();
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            return Err(Error::unsupported("REORGANIZE PARTITION without names"));
        };
        if last - first + 1 != places.len() || into.is_empty() {
            let text = "When reorganizing a set of partitions they must be in consecutive order";
            return Err(Error::remote(1519, *b"HY000", text));
        }
        let keys: HashSet<Vec<u8>> = names
            .iter()
            .filter_map(|name| def.partitioner.find(name))
            .map(|named| named.key.clone())
            .collect();
        let old_bound = partitions[last].values.clone();
        let is_last = last + 1 == partitions.len();
        partitions.splice(first..=last, into.iter().cloned());
        let partitioning = definition.partitioning.as_mut().ok_or_else(not_partitioned)?;
        partition::settle(partitioning, def.mode, &self.context)?;
        let new_last = partitioning.partitions.get(first + into.len() - 1);
        let is_range = matches!(
            partitioning.method,
            PartitionMethod::Range(_) | PartitionMethod::RangeColumns(_)
        );
        if is_range && !is_last && new_last.map(|it| &it.values) != Some(&old_bound) {
            let text = "Reorganize of range partitions cannot change total ranges except for last \
                        partition where it can extend the range";
            return Err(Error::remote(1520, *b"HY000", text));
        }
        if self.has_rows(def, Vec::new(), Some(&keys))? {
            return Err(Error::unsupported(
                "REORGANIZE PARTITION of partitions of a native table that have rows",
            ));
        }
        self.redefine(def, &def.database, definition, def.table.schema())?;
        if !self.has_rows(def, Vec::new(), Some(&keys))? {
            return Ok(());
        }
        // Somebody wrote rows just before the definition changed.
        let before = def.definition.clone();
        let current = self.catalog.require(&def.database, &def.name)?;
        self.redefine(&current, &def.database, before, def.table.schema())?;
        Err(Error::new(
            Code::TableChanged,
            "Table definition has changed, please retry transaction",
        ))
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

/// Error 1505.
fn not_partitioned() -> Error {
    let text = "Partition management on a not partitioned table is not possible";
    Error::new(Code::NotPartitioned, text)
}

/// What has no names cannot be managed by name.
fn by_value(word: &str) -> Error {
    Error::unsupported(format_args!(
        "{word} PARTITION of a table with PARTITION BY (expressions); delete the rows instead"
    ))
}

/// Error 1735.
pub(crate) fn unknown_partition(name: &str, table: &str) -> Error {
    let text = format!("Unknown partition '{name}' in table '{table}'");
    Error::new(Code::UnknownPartition, text)
}
