//! Checks the live rows of a table: primary keys are unique within a partition, rows of the log
//! replace those of the file.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher as _};

use crate::manifest::{Manifest, Partition};
use crate::part::{PartReader, Rows, value};
use crate::replay::{PartitionLog, TableLog};
use crate::schema::{Schema, key_bytes};
use crate::values::Value;

/// A live row of the newest version.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The number of the table.
    pub table: u64,
    /// The number of the partition.
    pub partition: u32,
    /// Numbers of the columns of the newest schema, in its order.
    pub columns: &'a [u32],
    /// Their values.
    pub values: &'a [Value<'a>],
}

/// Takes live rows.
pub(crate) type Sink<'a> = Option<&'a mut dyn FnMut(&Row<'_>)>;

/// Two rows of a partition with one key are reported this often at most.
const DUPLICATES_MAX: usize = 3;

/// Reads all rows of the newest checkpoint of a table.
pub(crate) struct RowReader<'a, 'p, 's> {
    pub(crate) table: u64,
    pub(crate) parts: &'a mut PartReader<'p>,
    pub(crate) log: Option<&'a TableLog>,
    pub(crate) sink: &'a mut Sink<'s>,
    pub(crate) not_checked: &'a mut Vec<String>,
}

/// Hash of a key, number of the part, row. Two hashes of 64 bits: keys that differ have different
/// ones but for a chance that need not be counted with.
type Seen = ((u64, u64), u32, u32);

impl RowReader<'_, '_, '_> {
    /// Reads all partitions; returns the number of live rows, if it is known.
    pub(crate) fn read(&mut self, manifest: &Manifest) -> Option<u64> {
        let schema = self.log.map(|log| &log.schema);
        if let Some(schema) = schema.filter(|schema| !schema.is_key_comparable()) {
            let collations: BTreeSet<u16> = schema.key_columns().map(|it| it.collation).collect();
            self.not_checked.push(format!(
                "table {}: whether primary keys are unique, since that depends on collations \
                 {collations:?}; CHECK TABLE finds it out while the server runs",
                self.table
            ));
        }
        let mut live = self.log.filter(|log| !log.is_broken).map(|_| 0);
        for layout in &manifest.layouts {
            let checked = schema.map_or(Ok(()), |newest| layout.check_same_table(newest));
            if let Err(why) = checked {
                self.parts.damage(self.parts.generation.header.root, &why);
                live = None;
            }
        }
        for partition in &manifest.partitions {
            let found = self.partition(partition);
            let is_dropped = self.log_of(partition.id).is_none();
            if !is_dropped {
                live = live.zip(found).map(|(a, b): (u64, u64)| a + b);
            }
        }
        let log = self.log?;
        for (&id, partition) in &log.partitions {
            live = live.zip(self.rows_of_log(id, partition, log)).map(|(a, b)| a + b);
        }
        live
    }

    fn log_of(&self, partition: u32) -> Option<&'_ PartitionLog> {
        self.log.and_then(|log| log.partitions.get(&partition))
    }

    /// Reads the parts of a partition; gives the number of rows that are live and that the log
    /// has not replaced.
    fn partition(&mut self, partition: &Partition) -> Option<u64> {
        let log = self.log.and_then(|log| Some((log, log.partitions.get(&partition.id)?)));
        let mut live = Some(0);
        let mut seen: Vec<Seen> = Vec::new();
        for (number, part) in (0_u32..).zip(&partition.parts) {
            let Some(layout) = self.parts.manifest.layouts.get(part.layout) else { continue };
            let key = log.and_then(|(log, _)| layout.key_positions(&log.schema));
            if log.is_some() && key.is_none() {
                let root = self.parts.generation.header.root;
                self.parts.damage(root, "a layout lacks columns of the primary key");
                live = None;
            }
            // The first column is there for the number of rows.
            let is_wanted = |at: usize| {
                at == 0 || self.sink.is_some() || key.as_ref().is_some_and(|key| key.contains(&at))
            };
            let wanted: Vec<bool> = (0..layout.columns.len()).map(is_wanted).collect();
            let rows = self.parts.read(part, &wanted);
            if let Some(rows) = &rows {
                let (all, dead) = (rows.dead.len(), rows.dead.iter().filter(|it| **it).count());
                self.parts.report.stored_rows += crate::bytes::long(all);
                self.parts.report.dead_rows += crate::bytes::long(dead);
            }
            let count = match (rows, log, key) {
                (Some(rows), Some((log, of)), Some(key)) => {
                    self.live(partition, number, &rows, layout, &key, (log, of), &mut seen)
                }
                _ => None,
            };
            live = live.zip(count).map(|(a, b)| a + b);
        }
        self.report_duplicates(partition, seen);
        live
    }

    /// Counts the live rows of a part and gives them out.
    fn live(
        &mut self,
        partition: &Partition,
        number: u32,
        rows: &Rows,
        layout: &Schema,
        key: &[usize],
        (log, of): (&TableLog, &PartitionLog),
        seen: &mut Vec<Seen>,
    ) -> Option<u64> {
        let is_comparable = log.schema.is_key_comparable();
        let ids: Vec<u32> = log.schema.columns.iter().map(|column| column.id).collect();
        let places: Vec<Option<usize>> = ids.iter().map(|id| layout.position(*id)).collect();
        let mut count = 0;
        let mut is_null = false;
        for (row_number, columns, row) in rows.live() {
            let Some(bytes) = key_bytes(key.iter().map(|at| value(columns, *at, row))) else {
                is_null = true;
                continue;
            };
            if is_comparable {
                seen.push((hash(&bytes), number, row_number));
                if of.keys.contains_key(&bytes) {
                    continue;
                }
            }
            count += 1;
            if let Some(sink) = self.sink.as_mut().filter(|_| !of.is_open && !log.is_broken) {
                let of_column = |(at, place): (usize, &Option<usize>)| match place {
                    Some(place) => value(columns, *place, row),
                    None => filler(&log.schema, at),
                };
                let values: Vec<Value<'_>> = places.iter().enumerate().map(of_column).collect();
                let (table, partition) = (self.table, partition.id);
                sink(&Row { table, partition, columns: &ids, values: &values });
            }
        }
        if is_null {
            let root = self.parts.generation.header.root;
            let what = format!("a row of partition {} has NULL in its key", partition.id);
            self.parts.damage(root, &what);
            return None;
        }
        Some(count)
    }

    /// Counts the rows that the log has of a partition and gives them out.
    fn rows_of_log(&mut self, id: u32, log: &PartitionLog, of: &TableLog) -> Option<u64> {
        let schema = &of.schema;
        if log.is_open {
            self.not_checked.push(format!(
                "table {}: which rows partition {id} has, since the log changes some by keys \
                 whose collation is not known here",
                self.table
            ));
            return None;
        }
        let ids: Vec<u32> = schema.columns.iter().map(|column| column.id).collect();
        let mut count = 0;
        for row in log.keys.values().flatten() {
            count += 1;
            if let Some(sink) = self.sink.as_mut().filter(|_| !of.is_broken) {
                let values: Vec<Value<'_>> = (ids.iter().enumerate())
                    .map(|(at, id)| row.get(*id).unwrap_or_else(|| filler(schema, at)))
                    .collect();
                sink(&Row { table: self.table, partition: id, columns: &ids, values: &values });
            }
        }
        Some(count)
    }

    fn report_duplicates(&mut self, partition: &Partition, mut seen: Vec<Seen>) {
        seen.sort_unstable();
        let twice = seen.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let all = twice.clone().count();
        for pair in twice.take(DUPLICATES_MAX) {
            let (a, b) = (pair[0], pair[1]);
            let what = format!(
                "two live rows of partition {} have one primary key: row {} of part {} and row {} \
                 of part {}{}",
                partition.id,
                a.2,
                a.1,
                b.2,
                b.1,
                if all > DUPLICATES_MAX { format!(" ({all} such pairs)") } else { String::new() }
            );
            let root = self.parts.generation.header.root;
            self.parts.damage(root, &what);
        }
    }
}

/// The value of a column in rows that are older than it.
fn filler(schema: &Schema, at: usize) -> Value<'_> {
    let filler = schema.columns.get(at).and_then(|column| column.filler.as_ref());
    filler.map_or(Value::Null, |column| column.get(0))
}

fn hash(key: &[u8]) -> (u64, u64) {
    // Its keys are fixed: the same bytes always give the same hash.
    let one = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        hasher.write(key);
        hasher.finish()
    };
    (one(1), one(2))
}
