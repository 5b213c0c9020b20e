//! Rows by location: compares their keys, and reads their columns.
//!
//! A look-up of one row and one of thousands use the same code. Neighbouring rows of a part are
//! read together, so a caller with many rows sorts them first by [`sort`].

use std::sync::Arc;

use arrow::array::ArrayRef;
use pelorus_chunk::Gather;
use pelorus_error::{Error, Result};
use pelorus_index::RowRef;

use crate::catalog::schema_version::{Layout, Source, filler};
use crate::key::Keys;
use crate::partition::chunk::Chunk;
use crate::partition::delta::Delta;
use crate::partition::part::{Body, Part};

/// The place of a row that has a key, or may have it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The position of the key among those that are looked up.
    pub(crate) key: u32,
    /// The row as the index refers to it.
    pub(crate) entry: RowRef,
    pub(crate) part: Arc<Part>,
    pub(crate) row: u32,
}

/// Brings rows of one part together, in their order.
pub(crate) fn sort(places: &mut [Place]) {
    // By slots, since in the order of addresses no seed of a test would repeat. Two parts have one
    // slot only where a reader still has the older of them.
    places.sort_unstable_by_key(|it| (it.part.slot, Arc::as_ptr(&it.part), it.row));
}

/// Keeps the places whose rows have the keys.
///
/// # Errors
/// Errors of reading columns.
pub(crate) fn verify(places: &mut Vec<Place>, keys: &Keys) -> Result<()> {
    let mut equal = Vec::with_capacity(places.len());
    // Rows in memory are stored with their keys; those of all chunks of a layout are read at once.
    let together = |a: &Place, b: &Place| match (a.part.chunk(), b.part.chunk()) {
        (Some(_), Some(_)) => Arc::ptr_eq(&a.part.layout, &b.part.layout),
        _ => Arc::ptr_eq(&a.part, &b.part),
    };
    for same in places.chunk_by(together) {
        let wanted = same.iter().map(|it| keys.get(it.key as usize));
        match &same[0].part.body {
            Body::Delta(delta) => delta.with_keys(|there, _| {
                let there = same.iter().map(|it| there.get(it.row as usize));
                equal.extend(there.zip(wanted).map(|(there, wanted)| there == wanted));
            }),
            Body::Chunk(_) => {
                let layout = &same[0].part.layout;
                let there = layout.keys_of_keys(&gather(layout, same, &layout.schema.key)?)?;
                equal.extend(there.iter().zip(wanted).map(|(there, wanted)| there == wanted));
            }
        }
    }
    let mut equal = equal.into_iter();
    places.retain(|_| equal.next().unwrap_or(false));
    Ok(())
}

/// Columns of rows under a layout, in the order of the places.
///
/// # Errors
/// A column that was dropped after the layout was taken (1412), and errors of reading columns.
pub(crate) fn gather(
    layout: &Layout,
    places: &[Place],
    columns: &[usize],
) -> Result<Vec<ArrayRef>> {
    let begin = |&at: &usize| {
        let column = layout.schema.columns.get(at).ok_or_else(Error::table_changed)?;
        Gather::new(&column.ty.arrow(), places.len())
    };
    let mut out = columns.iter().map(begin).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for same in places.chunk_by(|a, b| Arc::ptr_eq(&a.part, &b.part)) {
        let part = &same[0].part;
        let sources = part.layout.sources(layout, columns)?;
        rows.clear();
        rows.extend(same.iter().map(|it| it.row));
        match &part.body {
            Body::Chunk(chunk) => of_chunk(chunk, &rows, &sources, &mut out)?,
            Body::Delta(delta) => of_delta(delta, &rows, &sources, &mut out)?,
        }
    }
    out.into_iter().map(Gather::finish).collect()
}

fn of_chunk(chunk: &Chunk, rows: &[u32], sources: &[Source<'_>], out: &mut [Gather]) -> Result<()> {
    /// With so many rows of a column, its memory is waited for together anyway.
    const MANY: usize = 8;
    let stored = sources.iter().filter_map(Source::stored);
    let columns = chunk.columns(stored.clone())?;
    if rows.len() < MANY {
        for column in stored.filter_map(|at| columns[at].as_ref()) {
            rows.iter().for_each(|&row| column.touch(row as usize));
        }
    }
    for (source, out) in sources.iter().zip(out) {
        match source {
            Source::Stored(at) => match &columns[*at] {
                Some(column) => out.column(column, rows)?,
                None => return Err(Error::internal("a column is not in the table it was put in")),
            },
            Source::Filler(column) => out.array(&filler(column, 1)?, &vec![0; rows.len()])?,
        }
    }
    Ok(())
}

fn of_delta(delta: &Delta, rows: &[u32], sources: &[Source<'_>], out: &mut [Gather]) -> Result<()> {
    for &row in rows {
        let (block, at) = delta.block_of(row)?;
        for (source, out) in sources.iter().zip(&mut *out) {
            match source {
                Source::Stored(position) => out.array(&block.columns[*position], &[at])?,
                Source::Filler(column) => out.array(&filler(column, 1)?, &[0])?,
            }
        }
    }
    Ok(())
}
