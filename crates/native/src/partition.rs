//! Partitioning: the partition key of a row.
//!
//! A partition has a key, whose bytes the store uses. Tables without partitioning have one
//! partition, with the empty key. `PARTITION BY (expressions)` has a partition for each combination
//! of values, whose key encodes the values (`encode`). MySQL's RANGE and LIST have named
//! partitions, and the key is the name in lower case, so that it does not change when other
//! partitions are added or dropped. HASH and KEY number them, and the key is the number (32 bits,
//! big-endian).
//!
//! Invariant: rows of equal primary keys have equal partition keys. The expressions use columns of
//! the primary key only, and texts count by their weights under the column's collation.

mod bound_evaluation;
mod bounds;
mod creation_checks;
mod encode;
pub(crate) mod explicit_selection;
mod method;
mod padding;
mod place;
mod prune;
mod segment;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use parking_lot::Mutex;
use pelorus_chunk::Predicate;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_sql::Mode;
use pelorus_sql::ddl::TableDefinition;
use pelorus_types::ColumnType;

use super::expression::RowExpression;
use encode::Part;

pub(crate) use bound_evaluation::settle;
pub(crate) use segment::segment;

/// Most partitions by name or number.
pub(crate) const PARTITIONS_MAX: usize = 8192;

/// The form in which names of partitions are compared, and which is the key of those of RANGE and
/// LIST.
pub(crate) fn name_key(name: &str) -> String {
    name.to_lowercase()
}

/// The position of a partition's name, case-insensitively; most names are ASCII and need no copy.
pub(crate) fn place_of_name<'a>(
    mut names: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> Option<usize> {
    names.clone().position(|it| it.eq_ignore_ascii_case(name)).or_else(|| {
        let wanted = name_key(name);
        names.position(|it| !(it.is_ascii() && name.is_ascii()) && name_key(it) == wanted)
    })
}

/// Rows of one partition: its key and their positions.
pub(crate) type Group = (Vec<u8>, UInt32Array);

/// Computes partition keys.
#[derive(Debug)]
pub struct Partitioner {
    kind: Kind,
    /// The types of all columns, as they are stored.
    types: Vec<ColumnType>,
    /// Partitions by name, in order; those of `PARTITION BY (expressions)` have none.
    named: Vec<Named>,
    /// Two of them have one key: earlier versions took names that differ in the case of letters
    /// beyond ASCII alone. The position of a partition then does not determine its rows.
    has_twins: bool,
    /// The latest conditions: many partitions are tested against the same.
    latest: Mutex<Option<prune::Question>>,
}

/// A partition by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub(crate) name: String,
    /// The key in the store.
    pub(crate) key: Vec<u8>,
    /// The partition's description in `information_schema.PARTITIONS`.
    pub(crate) description: Option<String>,
    /// Its comment.
    pub(crate) comment: String,
}

#[derive(Debug)]
enum Kind {
    /// One partition.
    Whole,
    /// One for each combination of values.
    Value(Vec<Part>),
    /// By number.
    Hash { linear: bool, expression: RowExpression, count: u32 },
    /// By number.
    Key { linear: bool, parts: Vec<Part>, count: u32 },
    /// The first whose bound is above the value; no bound is above all.
    Range { expression: RowExpression, bounds: Vec<Option<i128>> },
    /// The same with tuples, encoded.
    RangeColumns { parts: Vec<Part>, bounds: Vec<Vec<u8>> },
    /// The one that lists the value.
    List { expression: RowExpression, places: HashMap<Option<i128>, u32> },
    /// The same with tuples, encoded.
    ListColumns { parts: Vec<Part>, places: HashMap<Vec<u8>, u32> },
}

impl Kind {
    /// The columns that partitions depend on.
    fn columns(&self) -> Vec<usize> {
        match self {
            Kind::Whole => Vec::new(),
            Kind::Value(parts)
            | Kind::Key { parts, .. }
            | Kind::RangeColumns { parts, .. }
            | Kind::ListColumns { parts, .. } => parts.iter().map(|part| part.column).collect(),
            Kind::Hash { expression, .. }
            | Kind::Range { expression, .. }
            | Kind::List { expression, .. } => expression.columns().to_vec(),
        }
    }
}

impl Partitioner {
    /// The partitioning of a definition whose bounds are settled. `targets` are the columns, `key`
    /// the positions of the primary key.
    ///
    /// # Errors
    /// What MySQL says of partitionings that cannot be: 1503, 1493, 1517, 1564,...
    pub(crate) fn of(
        definition: &TableDefinition,
        targets: &[Target],
        key: &[usize],
        mode: Mode,
    ) -> Result<Self> {
        let (kind, named) = method::read(definition, targets, key, mode)?;
        let types = targets.iter().map(|target| target.ty).collect();
        let keys = named.iter().map(|it| it.key.as_slice()).collect::<HashSet<_>>().len();
        let has_twins = keys < named.len();
        Ok(Self { kind, types, named, has_twins, latest: Mutex::default() })
    }

    /// Whether all rows are in one partition.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Whole)
    }

    /// Partitions by name, in order.
    pub fn named(&self) -> &[Named] {
        &self.named
    }

    /// A partition by its name, in any case.
    pub(crate) fn find(&self, name: &str) -> Option<&Named> {
        place_of_name(self.named.iter().map(|it| it.name.as_str()), name).map(|at| &self.named[at])
    }

    /// The position of a named partition, by its key.
    pub(crate) fn place_of(&self, key: &[u8]) -> Option<usize> {
        self.named.iter().position(|named| named.key == key)
    }

    /// How the bound of a RANGE partition compares with that of one of another partitioning by the
    /// same columns, both given by their places; `None` where there is no bound.
    pub(crate) fn compare_bounds(
        &self,
        at: usize,
        other: &Self,
        of_other: usize,
    ) -> Option<Ordering> {
        match (&self.kind, &other.kind) {
            (Kind::Range { bounds, .. }, Kind::Range { bounds: others, .. }) => {
                let order = |bound: &Option<i128>| (bound.is_none(), bound.unwrap_or_default());
                Some(order(bounds.get(at)?).cmp(&order(others.get(of_other)?)))
            }
            (Kind::RangeColumns { bounds, .. }, Kind::RangeColumns { bounds: others, .. }) => {
                Some(bounds.get(at)?.cmp(others.get(of_other)?))
            }
            _ => None,
        }
    }

    /// Groups whole rows by their partitions, in the order of their first rows.
    ///
    /// # Errors
    /// A row that fits no partition (1526), a collation whose rules are not known (1235).
    pub fn split(&self, columns: &[ArrayRef]) -> Result<Vec<Group>> {
        let rows = columns.first().map_or(0, |column| column.len());
        self.group(rows, &|at| &columns[at])
    }

    /// Rows that have no place in some partitions, given by their keys, or in any if none is given:
    /// their positions, each with its error.
    ///
    /// # Errors
    /// A collation whose rules are not known (1235).
    pub(crate) fn misfits(
        &self,
        columns: &[ArrayRef],
        only: &[Vec<u8>],
    ) -> Result<Vec<(usize, Error)>> {
        let rows = columns.first().map_or(0, |column| column.len());
        // These have a place for every value.
        let takes_all = matches!(
            self.kind,
            Kind::Whole | Kind::Value(_) | Kind::Hash { .. } | Kind::Key { .. }
        );
        if rows == 0 || (takes_all && only.is_empty()) {
            return Ok(Vec::new());
        }
        let numbers = self.numbers(rows, &|at| &columns[at])?.into_iter().enumerate();
        let misplaced = self.misplaced(rows, columns)?;
        let error = |number: Result<u32, String>| match number {
            Err(value) => Some(no_partition(&value)),
            Ok(number) if only.is_empty() || only.contains(&self.key_of(number)) => None,
            Ok(_) => Some(not_in_partitions()),
        };
        let error = |row: usize, number| match misplaced.binary_search(&row) {
            Ok(_) => Some(padding::refused()),
            Err(_) => error(number),
        };
        Ok(numbers.filter_map(|(row, number)| Some((row, error(row, number)?))).collect())
    }

    /// How many rows that lie in a partition, given by its key, belong into others or none.
    ///
    /// # Errors
    /// A collation whose rules are not known (1235).
    pub(crate) fn strays<'a>(
        &self,
        key: &[u8],
        rows: usize,
        column: &dyn Fn(usize) -> &'a ArrayRef,
    ) -> Result<usize> {
        if self.is_whole() {
            return Ok(if key.is_empty() { 0 } else { rows });
        }
        if let Kind::Value(parts) = &self.kind {
            let encoded = encode::encode(parts, rows, column)?;
            return Ok(encoded.iter().take(rows).filter(|own| *own != key).count());
        }
        let place = self.place_of(key).and_then(|place| u32::try_from(place).ok());
        let numbers = self.numbers(rows, column)?;
        let is_here = |own: &&Result<u32, String>| {
            let is_of_twin = |own: u32| self.has_twins && self.key_of(own) == key;
            matches!(own, Ok(own) if place == Some(*own) || is_of_twin(*own))
        };
        Ok(rows - numbers.iter().filter(is_here).count())
    }

    fn group<'a>(&self, rows: usize, column: &dyn Fn(usize) -> &'a ArrayRef) -> Result<Vec<Group>> {
        if rows == 0 {
            return Ok(Vec::new());
        }
        if self.is_whole() {
            let all = u32::try_from(rows).map_err(|_| Error::internal("a batch of 2^32 rows"))?;
            return Ok(vec![(Vec::new(), UInt32Array::from_iter_values(0..all))]);
        }
        if let Kind::Value(parts) = &self.kind {
            return Ok(group_values(&encode::encode(parts, rows, column)?, rows));
        }
        let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut places: HashMap<u32, usize> = HashMap::new();
        let numbers = self.numbers(rows, column)?;
        for (row, number) in (0_u32..).zip(&numbers) {
            let number = match number {
                Ok(number) => *number,
                Err(value) => return Err(no_partition(value)),
            };
            let place = *places.entry(number).or_insert_with(|| {
                found.push((number, Vec::new()));
                found.len() - 1
            });
            found[place].1.push(row);
        }
        Ok(found
            .into_iter()
            .map(|(number, rows)| (self.key_of(number), UInt32Array::from(rows)))
            .collect())
    }

    /// The numbers of the partitions that rows belong to, or the values that fit none.
    fn numbers<'a>(
        &self,
        rows: usize,
        column: &dyn Fn(usize) -> &'a ArrayRef,
    ) -> Result<Vec<Result<u32, String>>> {
        let list = "from column_list".to_owned();
        Ok(match &self.kind {
            Kind::Whole | Kind::Value(_) => Vec::new(),
            Kind::Hash { linear, expression, count } => integers(expression, rows, column)?
                .into_iter()
                .map(|value| Ok(place::place_of_hash(value.unwrap_or(0), *count, *linear)))
                .collect(),
            Kind::Key { linear, parts, count } => encode::encode(parts, rows, column)?
                .iter()
                .map(|bytes| Ok(place::place_of_key(bytes, *count, *linear)))
                .collect(),
            Kind::Range { expression, bounds } => integers(expression, rows, column)?
                .into_iter()
                .map(|value| place::place_in_range(value, bounds).ok_or_else(|| shown(value)))
                .collect(),
            Kind::List { expression, places } => integers(expression, rows, column)?
                .into_iter()
                .map(|value| places.get(&value).copied().ok_or_else(|| shown(value)))
                .collect(),
            Kind::RangeColumns { parts, bounds } => encode::encode(parts, rows, column)?
                .iter()
                .map(|bytes| {
                    let place = bounds.partition_point(|bound| bound.as_slice() <= bytes);
                    let place = Some(place).filter(|place| *place < bounds.len());
                    place.and_then(|place| u32::try_from(place).ok()).ok_or_else(|| list.clone())
                })
                .collect(),
            Kind::ListColumns { parts, places } => encode::encode(parts, rows, column)?
                .iter()
                .map(|bytes| places.get(bytes).copied().ok_or_else(|| list.clone()))
                .collect(),
        })
    }

    /// The key of a partition by its number.
    fn key_of(&self, number: u32) -> Vec<u8> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.named.get(place).map(|named| named.key.clone()).unwrap_or_default()
    }

    /// The values of a partition of `PARTITION BY (expressions)`, for people.
    pub(crate) fn describe(&self, key: &[u8]) -> Option<String> {
        match &self.kind {
            Kind::Value(parts) => encode::describe(parts, key),
            _ => None,
        }
    }

    /// The columns that partitions depend on.
    pub(crate) fn columns(&self) -> Vec<usize> {
        self.kind.columns()
    }
}

impl pelorus_query::PartitionPruner for Partitioner {
    fn may_contain(&self, partition_key: &[u8], predicates: &[(usize, Predicate)]) -> bool {
        self.may_hold(partition_key, predicates)
    }
}

fn shown(value: Option<i128>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

/// Error 1526.
fn no_partition(value: &str) -> Error {
    Error::new(Code::NoPartitionForValue, format!("Table has no partition for value {value}"))
}

/// Error 1748.
fn not_in_partitions() -> Error {
    Error::new(Code::RowOutsidePartitions, "Found a row not matching the given partition set")
}

/// The integers that an expression gives.
fn integers<'a>(
    expression: &RowExpression,
    rows: usize,
    column: &dyn Fn(usize) -> &'a ArrayRef,
) -> Result<Vec<Option<i128>>> {
    let array = expression.evaluate(rows, column)?;
    Ok(match array.data_type() {
        DataType::Int64 => {
            array.as_primitive::<Int64Type>().iter().map(|it| it.map(i128::from)).collect()
        }
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().iter().map(|it| it.map(i128::from)).collect()
        }
        other => return Err(Error::internal(format!("a partition number of {other}"))),
    })
}

/// Groups rows by encoded values.
fn group_values(keys: &encode::Encoded, rows: usize) -> Vec<Group> {
    let mut found: Vec<(&[u8], Vec<u32>)> = Vec::new();
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut last: Option<usize> = None;
    for (row, key) in (0_u32..).zip(keys.iter()).take(rows) {
        // Rows that follow each other are often of one partition.
        let place = match last.filter(|place| found[*place].0 == key) {
            Some(place) => place,
            None => *places.entry(key).or_insert_with(|| {
                found.push((key, Vec::new()));
                found.len() - 1
            }),
        };
        found[place].1.push(row);
        last = Some(place);
    }
    found.into_iter().map(|(key, rows)| (key.to_vec(), UInt32Array::from(rows))).collect()
}
