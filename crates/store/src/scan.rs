//! Scanning the rows of a table at one version.
//!
//! A scan is a list of units, one for each part that may hold rows, which threads take as they
//! like. A chunk is left out by its zone maps, then vectors by theirs; the rest is selected on
//! encoded values, and only selected rows of wanted columns are decoded.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::FilterBuilder;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use pelorus_chunk::{Codec, Predicate, Selection, VECTOR_ROWS, Zone, coded, may_match, units};
use pelorus_error::{Error, Result};

use crate::chunk::Chunk;
use crate::delta::{Block, Rows};
use crate::layout::{Layout, Source, filler};
use crate::matches::matches;
use crate::part::{Body, Part};
use crate::sample::Sample;
use crate::schema::Version;
use crate::snapshot::{PartitionSnapshot, Pin, TableSnapshot};

/// What a scan is asked for.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Positions of the columns to give, in order.
    pub columns: Vec<usize>,
    /// Conditions on columns by position, all of which hold for every row that is given.
    pub predicates: Vec<(usize, Predicate)>,
    /// Further conditions on columns by position.
    pub tests: Vec<(usize, Arc<dyn ValueTest>)>,
    /// The schema of the batches. The types of its fields are those of the columns, or
    /// `Dictionary(UInt32, type)` for those that are to be given as codes into their values, or
    /// `Int64` for decimals of at most 18 digits that are to be given as unscaled numbers.
    pub schema: SchemaRef,
    /// Rows of these primary keys are left out: a transaction has written them itself.
    pub hidden: Option<Arc<HashSet<Vec<u8>>>>,
    /// About how many rows a batch has.
    pub batch_rows: usize,
}

/// A condition that is asked of many values at once: of those of a dictionary, where the column is
/// stored as one.
pub trait ValueTest: std::fmt::Debug + Send + Sync {
    /// Which values fulfil it. NULL never does, whatever is answered.
    ///
    /// # Errors
    /// Those of the test.
    fn keep(&self, values: &ArrayRef) -> Result<BooleanArray>;
}

/// A part of a scan that one thread does.
#[derive(Clone, Debug)]
pub struct ScanUnit {
    part: Arc<Part>,
    layout: Arc<Layout>,
    version: Version,
    request: Arc<ScanRequest>,
    /// Keeps the version readable.
    _pin: Arc<Pin>,
}

impl TableSnapshot {
    /// The units of a scan over partitions that a function picks by their keys.
    ///
    /// # Errors
    /// What reading the descriptions of chunks gives.
    pub fn scan(
        &self,
        request: ScanRequest,
        picked: impl Fn(&PartitionSnapshot) -> bool,
    ) -> Result<Vec<ScanUnit>> {
        let request = Arc::new(request);
        let mut units = Vec::new();
        for partition in self.partitions.iter().filter(|it| picked(it)) {
            for part in partition.parts().iter() {
                let unit = ScanUnit {
                    part: Arc::clone(part),
                    layout: Arc::clone(&self.layout),
                    version: self.version,
                    request: Arc::clone(&request),
                    _pin: Arc::clone(&self.pin),
                };
                if unit.may_have_rows()? {
                    units.push(unit);
                }
            }
        }
        Ok(units)
    }
}

impl ScanUnit {
    /// At most so many rows come of it.
    pub fn rows_at_most(&self) -> usize {
        self.part.rows() as usize
    }

    /// The same rows of other columns, as a schema describes them.
    pub fn reading(units: &[Self], columns: &[usize], schema: &SchemaRef) -> Vec<Self> {
        let Some(first) = units.first() else { return Vec::new() };
        let request = Arc::new(ScanRequest {
            columns: columns.to_vec(),
            schema: Arc::clone(schema),
            ..ScanRequest::clone(&first.request)
        });
        units.iter().map(|it| Self { request: Arc::clone(&request), ..it.clone() }).collect()
    }

    /// The smallest and the largest of the whole numbers that a part stores of a column, by its
    /// place in the request; `None` where there are none, or rows are in memory.
    ///
    /// # Errors
    /// What reading the description of a chunk gives.
    pub fn ends(&self, place: usize) -> Result<Option<(i128, i128)>> {
        let Body::Chunk(chunk) = &self.part.body else { return Ok(None) };
        let Some(&column) = self.request.columns.get(place) else { return Ok(None) };
        let source = self.part.layout.sources(&self.layout, &[column])?;
        let Some(Source::Stored(position)) = source.first() else { return Ok(None) };
        Ok(match chunk.meta()?.columns.get(*position).map(|meta| &meta.zone) {
            Some(Zone::Int { min, max }) => Some((*min, *max)),
            _ => None,
        })
    }

    /// The rows that fulfil further conditions as well, on columns by their places in the request;
    /// `None` where there is none by what is known of the part.
    ///
    /// # Errors
    /// What reading the description of a chunk gives.
    pub fn narrowed(
        self,
        predicates: Vec<(usize, Predicate)>,
        tests: Vec<(usize, Arc<dyn ValueTest>)>,
    ) -> Result<Option<Self>> {
        let mut request = ScanRequest::clone(&self.request);
        let position = |place: usize| request.columns.get(place).copied();
        let predicates = predicates.into_iter().filter_map(|(at, it)| Some((position(at)?, it)));
        let predicates: Vec<_> = predicates.collect();
        let tests = tests.into_iter().filter_map(|(at, it)| Some((position(at)?, it)));
        let tests: Vec<_> = tests.collect();
        request.predicates.extend(predicates);
        request.tests.extend(tests);
        let unit = Self { request: Arc::new(request), ..self };
        Ok(if unit.may_have_rows()? { Some(unit) } else { None })
    }

    /// Whether this part stores the few different values of a column (at most 256, or some
    /// thousand runs) apart from its rows, or has its rows in memory.
    ///
    /// # Errors
    /// What reading the description of a chunk gives.
    pub fn has_few_values(&self, column: usize) -> Result<bool> {
        /// What a few thousand runs need.
        const FEW_RUNS: u64 = 32 << 10;
        let Body::Chunk(chunk) = &self.part.body else { return Ok(true) };
        let [source] = &self.part.layout.sources(&self.layout, &[column])?[..] else {
            return Ok(false);
        };
        let Source::Stored(position) = source else { return Ok(true) };
        Ok(chunk.meta()?.columns.get(*position).is_some_and(|meta| match meta.codec {
            Codec::Null | Codec::Constant => true,
            Codec::Dictionary => meta.width == 1,
            Codec::Runs => meta.length <= FEW_RUNS,
            _ => false,
        }))
    }

    fn may_have_rows(&self) -> Result<bool> {
        match &self.part.body {
            Body::Delta(delta) => Ok(delta.rows_at(self.version) > 0),
            Body::Chunk(chunk) => {
                if chunk.at.versions.0 > self.version {
                    return Ok(false);
                }
                for (source, predicate) in self.predicates()? {
                    if let Source::Stored(position) = source
                        && let Some(meta) = chunk.meta()?.columns.get(position)
                        && !may_match(meta, None, predicate)
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Conditions with where their columns are in this part.
    fn predicates(&self) -> Result<impl Iterator<Item = (Source, &Predicate)>> {
        let positions: Vec<usize> = self.request.predicates.iter().map(|(at, _)| *at).collect();
        let sources = self.part.layout.sources(&self.layout, &positions)?;
        Ok(sources.into_iter().zip(self.request.predicates.iter().map(|(_, predicate)| predicate)))
    }

    /// The rows, as a cursor.
    ///
    /// # Errors
    /// What reading columns gives.
    pub fn open(self) -> Result<ScanCursor> {
        let rows = match &self.part.body {
            Body::Delta(delta) => Input::Delta(delta.all(), delta.rows_at(self.version)),
            Body::Chunk(chunk) => Input::Chunk(self.select(chunk)?),
        };
        Ok(ScanCursor { unit: self, rows, next: 0, sample: None })
    }

    /// Some of the rows, picked at random, as a cursor.
    ///
    /// # Errors
    /// What reading columns gives.
    pub fn open_sample(self, sample: Sample) -> Result<ScanCursor> {
        let mut cursor = self.open()?;
        if let Input::Chunk(selection) = &mut cursor.rows {
            let picked = sample.pick(selection.rows());
            selection.intersect(picked.words());
        }
        cursor.sample = Some(sample);
        Ok(cursor)
    }

    /// The rows of a chunk that are seen and fulfil all conditions.
    fn select(&self, chunk: &Chunk) -> Result<Selection> {
        let rows = chunk.rows() as usize;
        let mut selection = Selection::all(rows);
        let dead = self.part.deletes.at(self.version);
        if dead.count() > 0 {
            selection.subtract(dead.words());
        }
        if chunk.at.versions.1 > self.version {
            for (row, version) in chunk.versions()?.into_iter().enumerate() {
                if version > self.version {
                    selection.remove(row..row + 1);
                }
            }
        }
        let meta = chunk.meta()?;
        for (source, predicate) in self.predicates()? {
            match source {
                Source::Stored(position) => {
                    let column = chunk.column(position)?;
                    // There is a description of every column.
                    let Some(zones) = meta.columns.get(position) else { continue };
                    for (number, vector) in vectors(rows).enumerate() {
                        if may_match(zones, Some(number), predicate) {
                            column.select(predicate, vector, &mut selection)?;
                        } else {
                            selection.remove(vector);
                        }
                    }
                }
                Source::Filler(column) => {
                    let value = filler(&column, 1)?;
                    if !matches(&value, predicate)?.value(0) {
                        selection = Selection::none(rows);
                    }
                }
            }
        }
        for (column, test) in &self.request.tests {
            let [source] = &self.part.layout.sources(&self.layout, &[*column])?[..] else {
                continue;
            };
            let keep = |values: &ArrayRef| test.keep(values);
            match source {
                Source::Stored(position) => {
                    chunk.column(*position)?.select_with(&keep, 0..rows, &mut selection)?;
                }
                Source::Filler(column) if !keeps(test.as_ref(), &filler(column, 1)?)?.value(0) => {
                    selection = Selection::none(rows);
                }
                Source::Filler(_) => {}
            }
        }
        Ok(selection)
    }
}

/// Which values a test keeps, NULL never being one.
fn keeps(test: &dyn ValueTest, values: &ArrayRef) -> Result<BooleanArray> {
    let found = test.keep(values)?;
    let kept = |row| values.is_valid(row) && found.is_valid(row) && found.value(row);
    Ok(BooleanArray::new(BooleanBuffer::collect_bool(values.len(), kept), None))
}

fn vectors(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(VECTOR_ROWS).map(move |begin| begin..(begin + VECTOR_ROWS).min(rows))
}

/// The rows of a unit, batch by batch.
#[derive(Debug)]
pub struct ScanCursor {
    unit: ScanUnit,
    rows: Input,
    /// The next row to look at.
    next: usize,
    /// Which rows are given, when not all are.
    sample: Option<Sample>,
}

#[derive(Debug)]
enum Input {
    Chunk(Selection),
    Delta(Rows, u32),
}

impl ScanCursor {
    /// The next rows; `None` at the end. Batches are never empty.
    ///
    /// # Errors
    /// What reading columns gives.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match &self.rows {
                Input::Chunk(_) => self.next_of_chunk()?,
                Input::Delta(..) => self.next_of_delta()?,
            };
            match batch {
                Some(batch) if batch.num_rows() == 0 => {}
                other => return Ok(other),
            }
        }
    }

    fn next_of_chunk(&mut self) -> Result<Option<RecordBatch>> {
        let (Input::Chunk(selection), Some(chunk)) = (&self.rows, self.unit.part.chunk()) else {
            return Ok(None);
        };
        let rows = selection.rows();
        let wanted = self.unit.request.batch_rows.max(1);
        let step = wanted.div_ceil(VECTOR_ROWS) * VECTOR_ROWS;
        let mut range = self.next..(self.next + step).min(rows);
        // Where little is selected, batches reach further.
        let mut count = selection.count_in(range.clone());
        while range.end < rows && (count == 0 || count < wanted / 2) {
            let more = range.end..(range.end + step).min(rows);
            let found = selection.count_in(more.clone());
            if count > 0 && count + found > wanted {
                break;
            }
            if count == 0 {
                range.start = more.start;
            }
            range.end = more.end;
            count += found;
        }
        if range.is_empty() {
            return Ok(None);
        }
        self.next = range.end;
        if count == 0 {
            return Ok(None);
        }
        let columns = self.needed();
        let sources = self.unit.part.layout.sources(&self.unit.layout, &columns)?;
        let picked = selection.pick(range);
        let arrays = sources
            .iter()
            .enumerate()
            .map(|(at, source)| match source {
                Source::Stored(position) => {
                    let column = chunk.column(*position)?;
                    match self.form(at) {
                        Form::Coded => column.decode_coded(&picked),
                        Form::Units => column.decode_units(&picked),
                        Form::Plain => column.decode_picked(&picked),
                    }
                }
                Source::Filler(column) => self.given(at, filler(column, count)?),
            })
            .collect::<Result<Vec<_>>>()?;
        self.batch(arrays, count).map(Some)
    }

    fn next_of_delta(&mut self) -> Result<Option<RecordBatch>> {
        let Input::Delta(rows, seen) = &self.rows else { return Ok(None) };
        let Some(block) = rows.blocks.get(self.next) else { return Ok(None) };
        if block.first >= *seen {
            return Ok(None);
        }
        let count = block.rows.min((*seen - block.first) as usize);
        let keep = self.kept(block, count)?;
        let columns = self.needed();
        let sources = self.unit.part.layout.sources(&self.unit.layout, &columns)?;
        let mut left = count;
        let mut arrays = Vec::with_capacity(sources.len());
        // Analysed once for all columns.
        let filter = keep.as_ref().map(|keep| FilterBuilder::new(keep).optimize().build());
        if let Some(filter) = &filter {
            left = filter.count();
        }
        for (at, source) in sources.iter().enumerate() {
            let array = match (source, &filter) {
                (Source::Filler(column), _) => filler(column, left)?,
                (Source::Stored(position), None) => block.columns[*position].slice(0, count),
                (Source::Stored(position), Some(filter)) => {
                    filter.filter(&block.columns[*position].slice(0, count)).map_err(broken)?
                }
            };
            arrays.push(self.given(at, array)?);
        }
        self.next += 1;
        self.batch(arrays, left).map(Some)
    }

    /// Which rows of a block are alive and fulfil all conditions; `None` when all do.
    fn kept(&self, block: &Block, count: usize) -> Result<Option<BooleanArray>> {
        let mut keep: Option<BooleanArray> = None;
        let dead = self.unit.part.deletes.at(self.unit.version);
        if dead.count() > 0 {
            let first = block.first;
            let alive = (0..count).map(|row| {
                let row = u32::try_from(row).unwrap_or(u32::MAX);
                Some(!dead.contains(first + row))
            });
            keep = Some(alive.collect());
        }
        if let Some(sample) = self.sample {
            let picked = sample.of_block(block.first).pick(count);
            let picked = (0..count).map(|row| Some(picked.contains(row))).collect();
            keep = both(keep, picked)?;
        }
        for (source, predicate) in self.unit.predicates()? {
            let column = match source {
                Source::Stored(position) => block.columns[position].slice(0, count),
                Source::Filler(column) => filler(&column, count)?,
            };
            keep = both(keep, matches(&column, predicate)?)?;
        }
        for (column, test) in &self.unit.request.tests {
            let column = match &self.unit.part.layout.sources(&self.unit.layout, &[*column])?[..] {
                [Source::Stored(position)] => block.columns[*position].slice(0, count),
                [Source::Filler(column)] => filler(column, count)?,
                _ => continue,
            };
            keep = both(keep, keeps(test.as_ref(), &column)?)?;
        }
        Ok(keep)
    }

    /// The columns to read: those asked for and, where rows are hidden, those of the key.
    fn needed(&self) -> Vec<usize> {
        let mut columns = self.unit.request.columns.clone();
        if self.unit.request.hidden.is_some() {
            columns.extend(&self.unit.layout.schema.key);
        }
        columns
    }

    /// The form in which a column is given; those of the key behind them are as they are.
    fn form(&self, at: usize) -> Form {
        let request = &self.unit.request;
        let (Some(field), Some(&column)) =
            (request.schema.fields().get(at), request.columns.get(at))
        else {
            return Form::Plain;
        };
        match (field.data_type(), self.unit.layout.schema.columns[column].ty.arrow()) {
            (DataType::Dictionary(..), _) => Form::Coded,
            (DataType::Int64, DataType::Decimal128(..)) => Form::Units,
            _ => Form::Plain,
        }
    }

    /// The values of a column in the form in which they are given.
    fn given(&self, at: usize, array: ArrayRef) -> Result<ArrayRef> {
        match self.form(at) {
            Form::Coded => coded(&array),
            Form::Units => units(&array),
            Form::Plain => Ok(array),
        }
    }

    /// Makes a batch, less the rows that are hidden.
    fn batch(&self, mut arrays: Vec<ArrayRef>, mut rows: usize) -> Result<RecordBatch> {
        let request = &self.unit.request;
        if let Some(hidden) = &request.hidden {
            let key = arrays.split_off(request.columns.len());
            let keys = self.unit.layout.keys_of_keys(&key)?;
            let keep: BooleanArray = keys.iter().map(|key| Some(!hidden.contains(key))).collect();
            rows = keep.true_count();
            for array in &mut arrays {
                *array = arrow::compute::filter(array, &keep).map_err(broken)?;
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&request.schema), arrays, &options)
            .map_err(broken)
    }
}

/// How a column is given.
enum Form {
    Plain,
    /// As codes into its values.
    Coded,
    /// Decimals as unscaled numbers.
    Units,
}

/// What fulfils two conditions.
fn both(keep: Option<BooleanArray>, found: BooleanArray) -> Result<Option<BooleanArray>> {
    Ok(Some(match keep {
        None => found,
        Some(keep) => arrow::compute::and(&keep, &found).map_err(broken)?,
    }))
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows cannot be scanned").caused_by(error)
}
