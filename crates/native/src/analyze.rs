//! `ANALYZE TABLE`: collects column statistics from the rows of a table or a sample of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::Schema;
use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::comparison_keys;
use pelorus_sql::statement::{HistogramAction, HistogramChange};
use pelorus_store::{
    Collector, ColumnStatistics, Counted, Sample, ScanRequest, ScanUnit, StoredColumn,
    TableSnapshot, TableStatistics,
};
use pelorus_types::{ColumnType, WireType};

use super::ddl::Definer;
use super::definition::NativeDef;
use super::maintain::Message;
use super::view::table_of;

/// About so many rows are read at most.
const SAMPLE_ROWS: usize = 1 << 20;

/// About so many texts are read at most: each distinct one takes some hundred bytes of memory.
const SAMPLE_TEXTS: usize = 1 << 18;

/// Rows come from so many chunks at most, which lie at even distances.
const SAMPLE_UNITS: usize = 256;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The default number of buckets of a histogram, as in MySQL.
const BUCKETS: u32 = 100;

/// Whether values of a type can be compared: not texts whose collation rules are unknown.
fn is_comparable(ty: &ColumnType) -> bool {
    if !ty.is_string() || ty.is_binary_string() {
        return true;
    }
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    ty.collation.has_plain_charset() && comparison_keys(&text, ty, &Account::unlimited()).is_ok()
}

impl Definer {
    /// Analyses all columns of a table that can be compared. Histograms keep the requested number
    /// of buckets.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn analyze(&self, def: &NativeDef) -> Result<()> {
        let known = self.catalog.statistics().of(def.id);
        let asked = |stored: &StoredColumn| {
            let column = known.as_ref().and_then(|it| it.column(stored));
            column.and_then(|it| Some(it.histogram.as_ref()?.asked())).unwrap_or(BUCKETS)
        };
        let all: Vec<usize> =
            (0..def.columns.len()).filter(|&at| is_comparable(&def.columns[at].ty)).collect();
        let found = self.columns(def, &all, asked)?;
        self.change_statistics(def, |statistics| {
            // Columns that are no longer there go.
            statistics.columns = found;
        })
    }

    /// `UPDATE HISTOGRAM` and `DROP HISTOGRAM`: the messages for each column, with MySQL's texts.
    ///
    /// # Errors
    /// Errors of reading; a number of buckets that MySQL does not take (1690); a column that is
    /// named twice (1060); histograms that are given (1235).
    pub fn change_histograms(
        &self,
        def: &NativeDef,
        change: &HistogramChange,
    ) -> Result<Vec<Message>> {
        let mut said: BTreeMap<&str, Message> = BTreeMap::new();
        let mut positions = Vec::new();
        for name in &change.columns {
            match refused(def, name, &change.action) {
                Ok(at) => positions.push(at),
                Err(text) => drop(said.insert(name, ("Error", text))),
            }
        }
        let done = match &change.action {
            HistogramAction::Update { buckets } => {
                let buckets = buckets.and_then(|it| u32::try_from(it).ok()).unwrap_or(BUCKETS);
                self.make_histograms(def, &positions, buckets)?
            }
            HistogramAction::Drop => self.drop_histograms(def, &positions)?,
            HistogramAction::Given => {
                return Err(Error::unsupported("UPDATE HISTOGRAM ... USING DATA"));
            }
        };
        said.extend(positions.iter().map(|&at| def.columns[at].name.as_str()).zip(done));
        // MySQL answers in the order of the columns' names.
        Ok(said.into_values().collect())
    }

    fn make_histograms(
        &self,
        def: &NativeDef,
        positions: &[usize],
        buckets: u32,
    ) -> Result<Vec<Message>> {
        let found = self.columns(def, positions, |_| buckets)?;
        if !found.is_empty() {
            self.change_statistics(def, |it| found.into_iter().for_each(|column| it.put(column)))?;
        }
        let text = |&at: &usize| {
            let name = &def.columns[at].name;
            ("status", format!("Histogram statistics created for column '{name}'."))
        };
        Ok(positions.iter().map(text).collect())
    }

    fn drop_histograms(&self, def: &NativeDef, positions: &[usize]) -> Result<Vec<Message>> {
        // The positions are those of the definition; the table may have got another meanwhile.
        let of_column = |&at: &usize| def.schema.columns.get(at).map(|column| column.id);
        let ids: Vec<u32> = positions.iter().filter_map(of_column).collect();
        let dropped: Vec<bool> = self.change_statistics(def, |statistics| {
            let drop = |id: &u32| {
                let column = statistics.columns.iter_mut().find(|it| it.column == *id);
                column.is_some_and(|it| it.histogram.take().is_some())
            };
            ids.iter().map(drop).collect()
        })?;
        let text = |(&at, dropped): (&usize, bool)| {
            let name = &def.columns[at].name;
            match dropped {
                true => ("status", format!("Histogram statistics removed for column '{name}'.")),
                false => ("Error", format!("No histogram statistics found for column '{name}'.")),
            }
        };
        Ok(positions.iter().zip(dropped).map(text).collect())
    }

    /// Changes the statistics of a table that is still there.
    fn change_statistics<T>(
        &self,
        def: &NativeDef,
        change: impl FnOnce(&mut TableStatistics) -> T,
    ) -> Result<T> {
        let _lock = self.catalog.define(&self.stop)?;
        if self.catalog.store().table(def.id).is_none() {
            let text = format!("Table '{}.{}' doesn't exist", def.database, def.name);
            return Err(Error::new(Code::NoSuchTable, text));
        }
        self.catalog.statistics().change(def.id, change)
    }

    /// Reads some columns, one after the other: one needs memory at a time.
    fn columns(
        &self,
        def: &NativeDef,
        positions: &[usize],
        buckets: impl Fn(&StoredColumn) -> u32,
    ) -> Result<Vec<ColumnStatistics>> {
        let snapshot = self.catalog.store().snapshot();
        let table = table_of(&snapshot, def)?;
        let schema = table.schema();
        let rows = table.count_rows()?;
        let taken = u64::try_from(self.context.now_micros).unwrap_or(0);
        let read = |&at: &usize| {
            let stored = &schema.columns[at];
            let counted = count(&table, at, &stored.ty, def)?;
            let unique = def.key == [at];
            Ok(ColumnStatistics::of((stored, unique), (taken, rows), &counted, buckets(stored)))
        };
        positions.iter().map(read).collect()
    }
}

/// The position of a column whose histogram can be made, or why it cannot.
fn refused(
    def: &NativeDef,
    name: &str,
    action: &HistogramAction,
) -> std::result::Result<usize, String> {
    let at = def.position(name).ok_or_else(|| format!("The column '{name}' does not exist."))?;
    let name = &def.columns[at].name;
    if matches!(action, HistogramAction::Drop) {
        return Ok(at);
    }
    if !is_compared(&def.targets[at].ty) {
        return Err(format!("The column '{name}' has an unsupported data type."));
    }
    if def.key == [at] {
        return Err(format!("The column '{name}' is covered by a single-part unique index."));
    }
    Ok(at)
}

/// Checks the numbers and names of an `UPDATE HISTOGRAM`, which concern no table.
///
/// # Errors
/// 1690 and 1060.
pub(super) fn check(change: &HistogramChange) -> Result<()> {
    if let HistogramAction::Update { buckets: Some(buckets) } = change.action
        && !(1..=1024).contains(&buckets)
    {
        let text = "Number of buckets value is out of range in 'ANALYZE TABLE'";
        return Err(Error::new(Code::DataOutOfRange, text.to_owned()));
    }
    for (at, name) in change.columns.iter().enumerate() {
        let mut before = change.columns.iter().take(at);
        if before.any(|it| it.eq_ignore_ascii_case(name)) {
            return Err(super::check::duplicate_column(name));
        }
    }
    Ok(())
}

/// Whether values of a type are counted, and not only NULLs.
fn is_compared(ty: &ColumnType) -> bool {
    !matches!(ty.wire, WireType::Json | WireType::Geometry | WireType::Vector)
}

/// Counts the values of a column in all rows, or in a sample of them.
fn count(table: &TableSnapshot, at: usize, ty: &ColumnType, def: &NativeDef) -> Result<Counted> {
    let request = ScanRequest {
        columns: vec![at],
        predicates: Vec::new(),
        tests: Vec::new(),
        schema: Arc::new(Schema::new(vec![def.columns[at].field()])),
        hidden: None,
        batch_rows: BATCH_ROWS,
    };
    let compared = is_compared(ty);
    let most = if ty.is_string() { SAMPLE_TEXTS } else { SAMPLE_ROWS };
    let units = table.scan(request, |_| true)?;
    let (units, share) = picked(units, most);
    let mut collector = Collector::new(&ty.arrow(), compared);
    for (unit, seed) in units.into_iter().zip(1..) {
        let mut cursor = unit.open_sample(Sample::new(share, seed))?;
        while let Some(batch) = cursor.next_batch()? {
            let values = batch.column(0);
            match compared {
                true => {
                    let keys = comparison_keys(values, ty, &Account::unlimited())?;
                    collector.add(values, &keys)?;
                }
                false => collector.add(values, values)?,
            }
        }
    }
    Ok(collector.finish())
}

/// The parts of a table that a sample comes from, and the share of their rows that it has.
fn picked(units: Vec<ScanUnit>, most: usize) -> (Vec<ScanUnit>, f64) {
    let rows = |units: &[ScanUnit]| units.iter().map(ScanUnit::rows_at_most).sum::<usize>();
    if rows(&units) <= most {
        return (units, 1.0);
    }
    let count = units.len();
    let units: Vec<ScanUnit> = match count > SAMPLE_UNITS {
        true => (0..SAMPLE_UNITS)
            .filter_map(|at| units.get(at * count / SAMPLE_UNITS).cloned())
            .collect(),
        false => units,
    };
    let share = most as f64 / rows(&units).max(1) as f64;
    (units, share.min(1.0))
}
