//! Splits a key into ranges of equal work.
//!
//! Bounds are found with the server's estimates of ever finer *cells* of the key's order (module
//! `index_dive`): `EXPLAIN` of a range makes the server look into the B-tree, which costs a
//! fraction of a millisecond and sends no rows. Cells are then joined into ranges of about equal
//! work. If one value of a column is heavy the next column of the key cuts it.
//!
//! That ranges are disjoint and cover every row does not depend on estimates. Two neighbours share
//! one bound in the same words: a row's key is below it or not. Only bounds that the server itself
//! reports as ascending in the column's collation are used, and NULLs, which sort below everything,
//! belong to the first range. So a cached split stays correct whatever rows are added later.

mod bound;
mod index_dive;
mod partition;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pelorus_error::Result;

use self::bound::{Bound, Domain};
use crate::link::Inner;
use crate::table::{RemoteKey, RemotePartition, RemoteTable};

/// Bounds are found again after so long, or when the table has grown by much.
const KEEP_FOR: Duration = Duration::from_secs(600);
/// Tables below this many rows are not worth cutting.
const SMALL: u64 = 2_000;

/// A table cut into ranges: disjoint, and together all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The columns that bounds are given for.
    pub columns: Vec<String>,
    /// The key, when one is used.
    pub key: Option<String>,
    /// The ranges.
    pub ranges: Vec<KeyRange>,
    /// The method, for EXPLAIN.
    pub how: String,
}

/// A part of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRange {
    /// The condition, with [`QUALIFIER`] before each column.
    condition: Option<String>,
    partitions: Vec<String>,
    est_rows: u64,
}

/// Stands where the qualifier goes; occurs neither in names nor, since they are quoted in hex
/// then, in values.
const QUALIFIER: char = '\u{1}';

impl KeyRange {
    /// All rows of a table.
    pub fn whole(est_rows: u64) -> Self {
        Self { condition: None, partitions: Vec::new(), est_rows }
    }

    /// The condition in SQL with columns written as `qualifier.column`; the qualifier is a table
    /// alias, not quoted yet, empty for bare column names. `None` when every row belongs.
    pub fn predicate(&self, qualifier: &str) -> Option<String> {
        let prefix = if qualifier.is_empty() {
            String::new()
        } else {
            format!("{}.", quote_name(qualifier))
        };
        self.condition.as_ref().map(|condition| condition.replace(QUALIFIER, &prefix))
    }

    /// The partitions that hold it; empty means that partitions play no role.
    pub fn partitions(&self) -> &[String] {
        &self.partitions
    }

    /// Rows, estimated.
    pub fn est_rows(&self) -> u64 {
        self.est_rows
    }

    /// The parts of the range, to be stored: a condition and partitions.
    pub fn parts(&self) -> (Option<&str>, &[String]) {
        (self.condition.as_deref(), &self.partitions)
    }

    /// A range from its stored parts.
    pub fn of_parts(condition: Option<String>, partitions: Vec<String>, est_rows: u64) -> Self {
        Self { condition, partitions, est_rows }
    }
}

/// Splits that were found before.
#[derive(Debug, Default)]
pub(crate) struct SplitCache(Mutex<HashMap<SplitKey, Known>>);

/// The parameters of a split: database, table, key, number of ranges.
type SplitKey = (String, String, Option<String>, usize);

#[derive(Debug)]
struct Known {
    split: Arc<Split>,
    /// Everything about the table that bounds depend on.
    shape: String,
    rows: u64,
    since: Duration,
}

impl SplitCache {
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// Cuts a table into about `ranges` ranges.
pub(crate) async fn split(
    inner: &Arc<Inner>,
    table: &RemoteTable,
    key: Option<&str>,
    ranges: usize,
) -> Result<Arc<Split>> {
    let chosen = choose_key(table, key);
    let name = chosen.map(|key| key.name.clone());
    let asked = (table.database.clone(), table.name.clone(), name, ranges);
    let shape = shape(table, chosen);
    let now = inner.env.clock.monotonic();
    if let Some(known) = inner.splits.0.lock().get(&asked)
        && known.shape == shape
        && now.saturating_sub(known.since) < KEEP_FOR
        && table.rows.abs_diff(known.rows) <= known.rows / 4
    {
        return Ok(Arc::clone(&known.split));
    }
    let split = Arc::new(find(inner, table, chosen, ranges).await?);
    let known = Known { split: Arc::clone(&split), shape, rows: table.rows, since: now };
    inner.splits.0.lock().insert(asked, known);
    Ok(split)
}

/// The key to cut along: the one that is named, else the one in whose order the rows lie. Along
/// any other key every row would be looked up one by one.
fn choose_key<'a>(table: &'a RemoteTable, name: Option<&str>) -> Option<&'a RemoteKey> {
    let named = name.and_then(|name| table.key(name));
    let clustered = || {
        let not_null = |key: &&RemoteKey| key.parts.iter().all(|part| !part.nullable);
        table
            .keys
            .iter()
            .find(|key| key.name == "PRIMARY")
            .or_else(|| table.keys.iter().filter(|key| key.unique).find(not_null))
    };
    named.or_else(clustered).filter(|key| usable(table, key))
}

fn usable(table: &RemoteTable, key: &RemoteKey) -> bool {
    key.kind == "BTREE"
        && !key.ignored
        && key.parts.first().is_some_and(|part| Domain::of(table, part).is_some())
}

fn shape(table: &RemoteTable, key: Option<&RemoteKey>) -> String {
    let columns: Vec<_> = key
        .iter()
        .flat_map(|key| &key.parts)
        .filter_map(|part| table.column(&part.column))
        .map(|column| (&column.name, &column.sql_type, &column.collation, column.nullable))
        .collect();
    let partitions: Vec<_> = table.partitions.iter().map(|p| (&p.name, &p.description)).collect();
    format!("{} {columns:?} {partitions:?}", table.engine)
}

async fn find(
    inner: &Arc<Inner>,
    table: &RemoteTable,
    key: Option<&RemoteKey>,
    ranges: usize,
) -> Result<Split> {
    let one = |why: &str| Split {
        columns: Vec::new(),
        key: None,
        ranges: vec![KeyRange::whole(table.rows)],
        how: format!("one range: {why}"),
    };
    if ranges <= 1 {
        return Ok(one("no more are wanted"));
    }
    if table.is_view {
        return Ok(one("a view has no key"));
    }
    if !table.has_snapshots() {
        return Ok(one("several statements would not see one moment of this engine"));
    }
    if table.rows < SMALL {
        return Ok(one("the table is small"));
    }
    // The history of a system-versioned table is in partitions that must not be named: a statement
    // that names them reads all versions.
    let by_history = |it: &RemotePartition| it.method.eq_ignore_ascii_case("SYSTEM_TIME");
    if !table.partitions.is_empty() && !table.partitions.iter().any(by_history) {
        return partition::split(inner, table, key, ranges).await;
    }
    let Some(key) = key else { return Ok(one("the table has no usable key")) };
    let mut connection = inner.lend_reader().await?;
    let cells = index_dive::cells(&mut connection, table, key, None, table.rows, ranges).await?;
    let ranges = join_cells(&cells, ranges, key, table, &[]);
    let columns: Vec<_> = key.parts.iter().map(|part| part.column.clone()).collect();
    let how = format!(
        "{} ranges of key {} ({}) from {} index dives",
        ranges.len(),
        key.name,
        columns.join(", "),
        cells.len()
    );
    Ok(Split { columns, key: Some(key.name.clone()), ranges, how })
}

/// A piece of the key's order: from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    lower: Option<Bound>,
    upper: Option<Bound>,
    rows: u64,
}

/// Joins neighbouring cells into about `count` ranges of equal work.
fn join_cells(
    cells: &[Cell],
    count: usize,
    key: &RemoteKey,
    table: &RemoteTable,
    partitions: &[String],
) -> Vec<KeyRange> {
    let total: u64 = cells.iter().map(|cell| cell.rows).sum();
    let count = u64::try_from(count.max(1)).unwrap_or(u64::MAX);
    let mut ranges = Vec::new();
    let mut start: Option<usize> = None;
    let mut here = 0;
    let mut before = 0;
    for (at, cell) in cells.iter().enumerate() {
        let first = *start.get_or_insert(at);
        here += cell.rows;
        // The next of `count` equal shares that is not nearly reached yet.
        let share = total * ((before * count + total / 2) / total.max(1) + 1) / count;
        let next = cells.get(at + 1);
        // A cut is best where it is nearest to the equal share; an empty cell brings it no nearer,
        // but the next one may.
        let over = (before + here).abs_diff(share);
        let is_nearest = next.is_none_or(|next| {
            here > 0 && next.rows > 0 && over <= (before + here + next.rows).abs_diff(share)
        });
        if is_nearest {
            let whole =
                Cell { lower: cells[first].lower.clone(), upper: cell.upper.clone(), rows: here };
            ranges.push(KeyRange {
                condition: bound::condition(key, table, whole.lower.as_ref(), whole.upper.as_ref()),
                partitions: partitions.to_vec(),
                est_rows: here,
            });
            before += here;
            here = 0;
            start = None;
        }
    }
    ranges
}

/// Quotes a name for SQL.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Quotes text for SQL so that it means the same whether or not backslashes escape.
pub fn quote_text(text: &str) -> String {
    if text.contains('\\') || text.chars().any(char::is_control) {
        // Hex is safe in every mode; the introducer gives it its charset.
        return format!("_utf8mb4 0x{}", hex(text.as_bytes()));
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests;
