//! The cursor of a scan: decodes the remaining rows of a chunk, or filters the rows of a delta,
//! batch by batch.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::FilterBuilder;
use arrow::datatypes::DataType;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use pelorus_chunk::{Selection, VECTOR_ROWS, coded, units};
use pelorus_error::{Error, Result};

use super::{ScanUnit, keeps};
use crate::catalog::schema_version::{Source, filler};
use crate::partition::chunk::Chunk;
use crate::partition::delete_marks::Mask;
use crate::partition::delta::{Block, Rows};
use crate::partition::part::Body;
use crate::scan::delta_predicate::matches;
use crate::scan::sample::Sample;

/// Bytes of a batch, about; wide rows make batches of fewer rows.
const BATCH_BYTES: usize = 2 << 20;

/// How many rows of a chunk a batch may have.
fn fitting(chunk: &Chunk, sources: &[Source<'_>]) -> Result<usize> {
    let mut bytes = 0;
    for source in sources {
        if let Source::Stored(position) = source {
            bytes += chunk.column(*position)?.decoded_bytes(VECTOR_ROWS);
        }
    }
    Ok((BATCH_BYTES.saturating_mul(VECTOR_ROWS) / bytes.max(1)).max(1))
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
    /// The rows, how many of them are seen, and those that are dead.
    Delta(Rows, u32, Arc<Mask>),
}

impl ScanCursor {
    /// The rows of a unit, or some of them.
    pub(super) fn new(unit: ScanUnit, sample: Option<Sample>) -> Result<Self> {
        let rows = match &unit.part.body {
            Body::Delta(delta) => {
                let dead = unit.part.deletes.at(unit.version);
                Input::Delta(delta.all(), delta.rows_at(unit.version), dead)
            }
            Body::Chunk(chunk) => {
                let mut selection = unit.select(chunk)?;
                if let Some(sample) = sample {
                    selection.intersect(sample.pick(selection.rows()).words());
                }
                Input::Chunk(selection)
            }
        };
        Ok(Self { unit, rows, next: 0, sample })
    }

    /// The next rows; `None` at the end. Batches are never empty.
    ///
    /// # Errors
    /// Errors of reading columns.
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
        let most = self.unit.request.batch_rows.max(1);
        let columns = self.needed();
        let sources = self.unit.part.layout.sources(&self.unit.layout, &columns)?;
        let wanted = most.min(fitting(chunk, &sources)?);
        let step = if wanted < most { wanted } else { wanted.div_ceil(VECTOR_ROWS) * VECTOR_ROWS };
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
        let Input::Delta(rows, seen, dead) = &self.rows else { return Ok(None) };
        let Some(block) = rows.blocks.get(self.next) else { return Ok(None) };
        if block.first >= *seen {
            return Ok(None);
        }
        let count = block.rows.min((*seen - block.first) as usize);
        let keep = self.kept(block, count, dead)?;
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
    fn kept(&self, block: &Block, count: usize, dead: &Mask) -> Result<Option<BooleanArray>> {
        let mut keep: Option<BooleanArray> = None;
        if dead.count() > 0 {
            keep = Some(BooleanArray::new(alive(dead, block.first as usize, count), None));
        }
        if let Some(sample) = self.sample {
            let picked = sample.of_block(block.first).pick(count);
            let picked = (0..count).map(|row| Some(picked.contains(row))).collect();
            keep = both(keep, picked)?;
        }
        for (source, predicate) in self.unit.predicates()? {
            let column = match source {
                Source::Stored(position) => block.columns[position].slice(0, count),
                Source::Filler(column) => filler(column, count)?,
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

    /// The columns to read: the requested ones and, if rows are hidden, those of the key.
    fn needed(&self) -> Vec<usize> {
        let mut columns = self.unit.request.columns.clone();
        if self.unit.request.hidden.is_some() {
            columns.extend(&self.unit.layout.schema.key);
        }
        columns
    }

    /// The form in which a column is given; those of the key after them are as they are.
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

/// The rows of a range that are not dead.
fn alive(dead: &Mask, first: usize, count: usize) -> BooleanBuffer {
    let (begin, bit) = (first / 64, first % 64);
    let words = dead.words().get(begin..).unwrap_or_default().iter().copied();
    // Rows beyond the words are alive.
    let words = words.chain(std::iter::repeat(0)).take((bit + count).div_ceil(64));
    let words: Vec<u64> = words.map(|word| u64::from_le(!word)).collect();
    BooleanBuffer::new(Buffer::from_vec(words), bit, count)
}

/// The rows that meet two conditions.
fn both(keep: Option<BooleanArray>, found: BooleanArray) -> Result<Option<BooleanArray>> {
    Ok(Some(match keep {
        None => found,
        Some(keep) => arrow::compute::and(&keep, &found).map_err(broken)?,
    }))
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows cannot be scanned").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_are_not_alive() {
        let mut dead = Mask::default();
        [0, 63, 64, 130].into_iter().for_each(|row| {
            dead.insert(row);
        });
        for first in [0, 1, 60, 64, 100, 130, 131, 1000] {
            for count in [0, 1, 5, 64, 200] {
                let found = alive(&dead, first, count);
                let expected =
                    (first..first + count).map(|row| !dead.contains(u32::try_from(row).unwrap()));
                assert!(found.iter().eq(expected), "{count} rows from {first} on");
            }
        }
    }
}
