//! The input rows of a compaction: the rows of several parts in place, from which the output is
//! copied once in its new order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use pelorus_chunk::{Picked, Selection};
use pelorus_error::{Error, Result};
use pelorus_index::hash_key;

use crate::catalog::schema::{StoredColumn, Version};
use crate::catalog::schema_version::{Layout, Source, filler};
use crate::format::arrays::bytes_of;
use crate::key::Keys;
use crate::key::row_order::Sorted;
use crate::partition::chunk::Chunk;
use crate::partition::delete_marks::Mask;
use crate::partition::delta::{Block, Delta};
use crate::partition::part::{Body, Part};

/// All rows of several parts, under one layout, and which of them survive.
#[derive(Default)]
pub(super) struct Rows {
    /// The rows piece by piece, each with all columns. A column of one value has it in all rows.
    pieces: Vec<Vec<ArrayRef>>,
    /// The first row of each piece.
    starts: Vec<u32>,
    pub(super) keys: Keys,
    /// Those of the keys.
    pub(super) hashes: Vec<u64>,
    pub(super) versions: Vec<Version>,
    /// Part and row that each came from.
    pub(super) origins: Vec<(u32, u32)>,
    /// Those that a snapshot may still read.
    kept: Vec<u32>,
}

impl Rows {
    /// Gathers the rows of parts, those that died at or below `horizon` as well if that is cheaper
    /// than to leave them out. `seed` is that of the keys' hashes.
    ///
    /// # Errors
    /// Errors of reading.
    pub(super) fn gather(
        layout: &Layout,
        parts: &[Arc<Part>],
        horizon: Version,
        seed: u64,
    ) -> Result<Self> {
        let mut this = Self::default();
        let most = parts.iter().map(|part| part.rows() as usize).sum();
        this.hashes.reserve(most);
        this.versions.reserve(most);
        this.origins.reserve(most);
        this.kept.reserve(most);
        for (number, part) in (0_u32..).zip(parts) {
            let dead = part.deletes.at(horizon);
            let part = (number, &**part);
            match &part.1.body {
                Body::Chunk(chunk) => this.add_chunk(layout, part, chunk, &dead, seed)?,
                Body::Delta(delta) => this.add_delta(layout, part, delta, &dead)?,
            }
        }
        Ok(this)
    }

    fn count(&self) -> u32 {
        u32::try_from(self.versions.len()).unwrap_or(u32::MAX)
    }

    /// Many rows of a chunk that is merged are dead: they are not even decoded.
    fn add_chunk(
        &mut self,
        layout: &Layout,
        (number, part): (u32, &Part),
        chunk: &Chunk,
        dead: &Mask,
        seed: u64,
    ) -> Result<()> {
        let mut live = Selection::all(chunk.rows() as usize);
        live.subtract(dead.words());
        let columns = columns_of_chunk(layout, part, chunk, &live.pick(0..live.rows()))?;
        let first = self.keys.len();
        self.keys.append(&layout.keys_of_rows(&columns)?);
        self.hashes.extend((first..self.keys.len()).map(|row| hash_key(seed, self.keys.get(row))));
        let first = self.count();
        self.starts.push(first);
        self.pieces.push(columns);
        let versions = chunk.versions()?;
        let rows = live.indices(0..live.rows());
        self.versions.extend(rows.iter().map(|&row| versions[row as usize]));
        self.origins.extend(rows.iter().map(|&row| (number, row)));
        self.kept.extend(first..self.count());
        Ok(())
    }

    fn add_delta(
        &mut self,
        layout: &Layout,
        (number, part): (u32, &Part),
        delta: &Delta,
        dead: &Mask,
    ) -> Result<()> {
        let first = self.count();
        let rows = delta.all();
        for block in &rows.blocks {
            self.starts.push(first + block.first);
            self.pieces.push(columns_of_block(layout, part, block)?);
        }
        delta.with_keys(|keys, hashes| {
            self.keys.append(keys);
            self.hashes.extend_from_slice(hashes);
        });
        for (version, end) in &rows.runs {
            self.versions.resize((first + end) as usize, *version);
        }
        self.origins.extend((0..rows.rows).map(|row| (number, row)));
        let live = (0..rows.rows).filter(|&row| !dead.contains(row));
        self.kept.extend(live.map(|row| first + row));
        Ok(())
    }

    /// The surviving rows, in the order of segment, key and version.
    pub(super) fn sorted(&self, layout: &Layout) -> Result<Sorted> {
        let mut with_segment = Keys::default();
        let keys = if layout.schema.segment.is_empty() {
            &self.keys
        } else {
            for piece in &self.pieces {
                with_segment.append(&layout.sort_keys(piece)?);
            }
            &with_segment
        };
        Ok(Sorted::new(keys, &self.versions, &self.kept))
    }

    /// An estimate of the memory of the surviving rows.
    pub(super) fn bytes(&self) -> usize {
        let ends = self.starts.iter().skip(1).copied().chain([self.count()]);
        let pieces = self.pieces.iter().zip(&self.starts).zip(ends);
        let all: usize = pieces
            .map(|((columns, &start), end)| {
                let rows = end.saturating_sub(start) as usize;
                let of_column = |column: &ArrayRef| {
                    let times = if column.len() == 1 { rows } else { 1 };
                    bytes_of(std::slice::from_ref(column)).saturating_mul(times)
                };
                columns.iter().map(of_column).sum::<usize>()
            })
            .sum();
        all / self.versions.len().max(1) * self.kept.len()
    }

    /// All columns of some rows.
    ///
    /// # Errors
    /// What Arrow cannot put together, which is a bug.
    pub(super) fn columns(&self, order: &[u32]) -> Result<Vec<ArrayRef>> {
        let place = |&row: &u32| {
            let piece = self.starts.partition_point(|&start| start <= row) - 1;
            (piece, (row - self.starts[piece]) as usize)
        };
        let places: Vec<(usize, usize)> = order.iter().map(place).collect();
        let columns = self.pieces.first().map_or(0, Vec::len);
        let column = |at: usize| {
            let pieces: Vec<&dyn Array> = self.pieces.iter().map(|it| it[at].as_ref()).collect();
            if pieces.iter().all(|piece| piece.len() != 1) {
                return arrow::compute::interleave(&pieces, &places).map_err(broken);
            }
            let once = |&(piece, row): &(usize, usize)| match pieces[piece].len() {
                1 => (piece, 0),
                _ => (piece, row),
            };
            let places: Vec<(usize, usize)> = places.iter().map(once).collect();
            arrow::compute::interleave(&pieces, &places).map_err(broken)
        };
        (0..columns).map(column).collect()
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows cannot be rearranged").caused_by(error)
}

/// The filler of a column for some rows: once if possible. A long one for all of them could exceed
/// Arrow's offsets, and would be most of the gathered data.
fn filler_of(layout: &Layout, at: usize, column: &StoredColumn, rows: usize) -> Result<ArrayRef> {
    let is_sorted_by = layout.schema.segment.iter().any(|it| it.column == at);
    let is_repeated = column.filler.is_none() || is_sorted_by;
    filler(column, if is_repeated { rows } else { 1 })
}

/// All columns of some rows of a chunk under a layout.
fn columns_of_chunk(
    layout: &Layout,
    part: &Part,
    chunk: &Chunk,
    rows: &Picked,
) -> Result<Vec<ArrayRef>> {
    let all: Vec<usize> = (0..layout.schema.columns.len()).collect();
    let column = |(at, source): (usize, &Source<'_>)| match source {
        Source::Filler(column) => filler_of(layout, at, column, rows.count()),
        Source::Stored(position) => chunk.column(*position)?.decode_picked(rows),
    };
    part.layout.sources(layout, &all)?.iter().enumerate().map(column).collect()
}

/// All columns of a block of a delta under a layout.
fn columns_of_block(layout: &Layout, part: &Part, block: &Block) -> Result<Vec<ArrayRef>> {
    let all: Vec<usize> = (0..layout.schema.columns.len()).collect();
    let column = |(at, source): (usize, &Source<'_>)| match source {
        Source::Filler(column) => filler_of(layout, at, column, block.rows),
        Source::Stored(position) => Ok(Arc::clone(&block.columns[*position])),
    };
    part.layout.sources(layout, &all)?.iter().enumerate().map(column).collect()
}
