//! Scans the rows of a table at one version.
//!
//! A scan is a list of units, one for each part that may have matching rows, which threads take
//! from a queue. A chunk is pruned by its zone maps, then vectors by theirs; the other rows are
//! selected on encoded values, and only selected rows of the requested columns are decoded.
//! Conditions on texts prune chunks and vectors by the order of the rows ([`bounds`]).

mod bounds;
mod cursor;
pub(crate) mod delta_predicate;
pub(crate) mod point_lookup;
pub(crate) mod sample;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use pelorus_chunk::{Codec, Predicate, Selection, VECTOR_ROWS, Zone, may_match, vectors_of};
use pelorus_env::rare;
use pelorus_error::Result;

use self::bounds::Bounds;
pub use self::cursor::ScanCursor;
use crate::catalog::schema::Version;
use crate::catalog::schema_version::{Layout, Source, filler};
use crate::partition::chunk::Chunk;
use crate::partition::part::{Body, Part};
use crate::scan::delta_predicate::matches;
use crate::scan::sample::Sample;
use crate::snapshot::{PartitionSnapshot, Pin, TableSnapshot};

/// The request of a scan.
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

/// A condition that is tested on many values at once: on those of a dictionary, if the column has
/// one.
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
    /// The bounds from conditions on texts.
    bounds: Option<Arc<Bounds>>,
    /// Keeps the version readable.
    _pin: Arc<Pin>,
}

impl TableSnapshot {
    /// The units of a scan over partitions that a function picks by their keys.
    ///
    /// # Errors
    /// Errors of reading the descriptions of chunks.
    pub fn scan(
        &self,
        request: ScanRequest,
        picked: impl Fn(&PartitionSnapshot) -> bool,
    ) -> Result<Vec<ScanUnit>> {
        self.scan_within(request, &[], picked)
    }

    /// The same, where all rows that are given fulfil further conditions on texts, which are meant
    /// under the columns' collations, since the tests of the request say so. What cannot have such
    /// rows is not looked at; they are not tested of rows.
    ///
    /// # Errors
    /// As [`Self::scan`].
    pub fn scan_within(
        &self,
        request: ScanRequest,
        texts: &[(usize, Predicate)],
        picked: impl Fn(&PartitionSnapshot) -> bool,
    ) -> Result<Vec<ScanUnit>> {
        let bounds = Bounds::of(&self.layout, &request.predicates, texts).map(Arc::new);
        let request = Arc::new(request);
        let mut units = Vec::new();
        for partition in self.partitions.iter().filter(|it| picked(it)) {
            for part in partition.parts().iter() {
                let unit = ScanUnit {
                    part: Arc::clone(part),
                    layout: Arc::clone(&self.layout),
                    version: self.version,
                    request: Arc::clone(&request),
                    bounds: bounds.clone(),
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
    /// The maximum number of rows in the result.
    pub fn rows_at_most(&self) -> usize {
        self.part.rows() as usize
    }

    /// About how many bytes a row of the columns that are read takes, by the average of all columns
    /// and by what these can have at most.
    pub fn row_bytes(&self) -> usize {
        let all = match &self.part.body {
            Body::Chunk(chunk) => usize::try_from(chunk.at.raw_bytes).unwrap_or(usize::MAX),
            Body::Delta(delta) => delta.memory(),
        };
        let columns = &self.layout.schema.columns;
        let most = self.request.columns.iter().filter_map(|&at| columns.get(at)).map(|column| {
            let is_text = column.ty.is_string();
            if is_text { usize::try_from(column.ty.length).unwrap_or(usize::MAX) } else { 8 }
        });
        let most = most.fold(0, usize::saturating_add);
        (all / self.rows_at_most().max(1)).min(most)
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

    /// Whether the rows come in the order of segment and key, as those of chunks do.
    pub fn is_sorted(&self) -> bool {
        self.part.chunk().is_some()
    }

    /// The smallest and the largest of the integers that a part stores of a column, by its place in
    /// the request; `None` where there are none, or rows are in memory.
    ///
    /// # Errors
    /// Errors of reading the description of a chunk.
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

    /// Whether every row that a chunk stores is given: none is dead, younger than the reader, left
    /// out or tested. Then its [ends](Self::ends) are values of rows.
    pub fn is_whole(&self) -> bool {
        let Body::Chunk(chunk) = &self.part.body else { return false };
        let (request, hidden) = (&self.request, self.request.hidden.as_ref());
        request.predicates.is_empty()
            && request.tests.is_empty()
            && hidden.is_none_or(|it| it.is_empty())
            && chunk.at.versions.1 <= self.version
            && self.part.deletes.at(self.version).count() == 0
    }

    /// The rows that also meet further conditions, on columns by their places in the request;
    /// `None` if the zone maps of the part exclude all rows.
    ///
    /// # Errors
    /// Errors of reading the description of a chunk.
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

    /// An estimate of the distinct values of a column, if this part stores few of them (at most 256
    /// values, or some thousand runs) separately from its rows; `None` otherwise. For rows in
    /// memory and for few rows it is 0.
    ///
    /// # Errors
    /// Errors of reading the description of a chunk.
    pub fn few_values(&self, column: usize) -> Result<Option<u64>> {
        /// The size of a few thousand runs.
        const FEW_RUNS: u64 = 32 << 10;
        /// The approximate size of a run.
        const RUN: u64 = 16;
        /// Chunks of fewer rows lie as they are, and say little of those of many.
        const FEW_ROWS: u64 = 8 << 10;
        let Body::Chunk(chunk) = &self.part.body else { return Ok(Some(0)) };
        let rows = u64::from(chunk.at.rows);
        let [source] = &self.part.layout.sources(&self.layout, &[column])?[..] else {
            return Ok(None);
        };
        let Source::Stored(position) = source else { return Ok(Some(0)) };
        Ok(chunk.meta()?.columns.get(*position).and_then(|meta| match meta.codec {
            Codec::Null | Codec::Constant => Some(1),
            // Codes are as many bits as they need.
            Codec::Dictionary if meta.width == 1 && rows < FEW_ROWS => Some(0),
            Codec::Dictionary if meta.width == 1 => Some(1 << (meta.length * 8 / rows).min(8)),
            Codec::Runs if meta.length <= FEW_RUNS => Some(meta.length / RUN + 1),
            _ => None,
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
                self.bounds.as_ref().map_or(Ok(true), |bounds| bounds.may_hold(self, chunk))
            }
        }
    }

    /// Conditions with where their columns are in this part.
    fn predicates(&self) -> Result<impl Iterator<Item = (Source<'_>, &Predicate)>> {
        let positions: Vec<usize> = self.request.predicates.iter().map(|(at, _)| *at).collect();
        let sources = self.part.layout.sources(&self.layout, &positions)?;
        Ok(sources.into_iter().zip(self.request.predicates.iter().map(|(_, predicate)| predicate)))
    }

    /// The rows, as a cursor.
    ///
    /// # Errors
    /// Errors of reading columns.
    pub fn open(self) -> Result<ScanCursor> {
        ScanCursor::new(self, None)
    }

    /// Some of the rows, picked at random, as a cursor.
    ///
    /// # Errors
    /// Errors of reading columns.
    pub fn open_sample(self, sample: Sample) -> Result<ScanCursor> {
        ScanCursor::new(self, Some(sample))
    }

    /// The rows of a chunk that are seen and fulfil all conditions.
    fn select(&self, chunk: &Chunk) -> Result<Selection> {
        let rows = chunk.rows() as usize;
        let vectors = match &self.bounds {
            Some(bounds) => bounds.vectors(self, chunk)?,
            None => (0..vectors_of(rows)).collect(),
        };
        let (Some(&first), Some(&last)) = (vectors.first(), vectors.last()) else {
            return Ok(Selection::none(rows));
        };
        let rows_of = |vector: usize| vector * VECTOR_ROWS..((vector + 1) * VECTOR_ROWS).min(rows);
        let range = rows_of(first).start..rows_of(last).end;
        let mut selection = Selection::none(rows);
        vectors.iter().for_each(|&vector| selection.insert(rows_of(vector)));
        let dead = self.part.deletes.at(self.version);
        if dead.count() > 0 {
            selection.subtract(dead.words());
        }
        if chunk.at.versions.1 > self.version {
            rare("a chunk has rows younger than the reader");
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
                    let predicate = within(predicate, &zones.zone);
                    for &vector in &vectors {
                        if !may_match(zones, Some(vector), &predicate) {
                            selection.remove(rows_of(vector));
                        }
                    }
                    // Once for the chunk: what is made of a long list is made once.
                    column.select(&predicate, range.clone(), &mut selection)?;
                }
                Source::Filler(column) => {
                    let value = filler(column, 1)?;
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
                    let column = chunk.column(*position)?;
                    column.select_with(&keep, range.clone(), &mut selection)?;
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

/// A condition less the constants of a list that no value of a chunk equals.
fn within<'a>(predicate: &'a Predicate, zone: &Zone) -> Cow<'a, Predicate> {
    match predicate {
        Predicate::In(list) => Cow::Owned(Predicate::In(list.within(zone))),
        other => Cow::Borrowed(other),
    }
}

/// Which values a test keeps, NULL never being one.
fn keeps(test: &dyn ValueTest, values: &ArrayRef) -> Result<BooleanArray> {
    let found = test.keep(values)?;
    let kept = |row| values.is_valid(row) && found.is_valid(row) && found.value(row);
    Ok(BooleanArray::new(BooleanBuffer::collect_bool(values.len(), kept), None))
}
