//! Flush and merge: parts become sorted chunks.
//!
//! Both are one operation. Rows of some parts that somebody may still read are sorted by segment
//! and key, encoded, and written to new blocks, all without a lock; then the old parts are
//! exchanged for the new ones in one step, marks of deletion that came meanwhile included, and the
//! index is brought up to date. Rows keep the versions that wrote them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef, UInt32Array, UInt64Array};
use pelorus_blockfile::{PAYLOAD_MAX, even_length};
use pelorus_chunk::{Picked, Selection, encode};
use pelorus_env::rare_if;
use pelorus_error::{Code, Error, Result};
use pelorus_index::{RowRef, hash_key};

use crate::chunk::{Chunk, ChunkRef};
use crate::datafile::kind;
use crate::deletes::Deletes;
use crate::delta::Delta;
use crate::key::Keys;
use crate::layout::{Layout, Source, filler};
use crate::part::{Body, Part};
use crate::partition::{GONE, Partition, row_ref};
use crate::schema::Version;
use crate::sorted::Sorted;
use crate::table::Table;

/// Bytes of memory that the rows of one chunk should not exceed.
pub(crate) const CHUNK_BYTES: usize = 256 << 20;

/// What a rewrite did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) rows_in: u64,
    pub(crate) rows_out: u64,
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
}

/// Replaces parts, which take no more rows, by chunks. The caller holds the partition's
/// maintenance lock. Rows that died at or below `horizon` are left out; `lsn` goes into the blocks.
///
/// # Errors
/// What reading and writing blocks gives; then nothing has changed.
pub(crate) fn rewrite(
    table: &Table,
    partition: &Partition,
    old: &[Arc<Part>],
    horizon: Version,
    lsn: u64,
) -> Result<Rewritten> {
    let layout = table.layout();
    // Before the rewrite itself reads all columns.
    let wanted = in_memory(&layout, &partition.parts());
    let dead_before = dead(old);
    let rows = Rows::gather(&layout, old, horizon)?;
    let keys = layout.keys_of_rows(&rows.columns)?;
    let sorted = rows.sorted(&layout, &keys)?;
    check_unique(old, &rows, &keys, &sorted)?;
    let sorted = sorted.rows;
    let sizes = sizes(&rows, sorted.len());
    let slots = partition.free_slots(sizes.len())?;
    let written = write_chunks(table, &layout, &rows, &sorted, &sizes, &slots, horizon, lsn);
    let new = written.inspect_err(|_| partition.give_back(&slots))?;
    for chunk in new.iter().filter_map(|part| part.chunk()) {
        // Whoever scans would have to read them; an error is for whoever needs the column.
        chunk.columns(wanted.iter().copied()).ok();
    }
    let mut maps: Vec<Vec<u32>> = old.iter().map(|part| vec![GONE; part.rows() as usize]).collect();
    let mut moves = Vec::with_capacity(sorted.len());
    let places = sizes.iter().zip(&slots).flat_map(|(&size, &slot)| {
        (0..u32::try_from(size).unwrap_or(u32::MAX)).map(move |row| row_ref(slot, row))
    });
    for (&from, to) in sorted.iter().zip(places) {
        let (part, row) = rows.origins[from as usize];
        maps[part as usize][row as usize] = to.0;
        let hash = hash_key(table.seed(), keys.get(from as usize));
        moves.push((hash, row_ref(old[part as usize].slot, row), to));
    }
    let done = Rewritten {
        rows_in: old.iter().map(|part| u64::from(part.rows())).sum(),
        rows_out: sorted.len() as u64,
        chunks: new.len() as u64,
        bytes: new.iter().filter_map(|part| part.chunk()).map(|it| it.at.meta_at).sum(),
    };
    rare_if("rows died while they were rewritten", || dead(old) > dead_before);
    partition.replace(old, new, maps);
    partition.repoint(&by_hash(&moves), old);
    let freed: usize = old.iter().filter_map(|part| part.delta()).map(Delta::release).sum();
    table.delta_bytes.fetch_sub(freed, Ordering::Relaxed);
    Ok(done)
}

/// Roughly in the order of hashes, and so of the index: what follows one another is near in memory.
fn by_hash(moves: &[(u64, RowRef, RowRef)]) -> Vec<(u64, RowRef, RowRef)> {
    let bucket = |hash: u64| (hash >> 56) as usize;
    let mut next = [0; 257];
    for (hash, ..) in moves {
        next[bucket(*hash) + 1] += 1;
    }
    for at in 1..next.len() {
        next[at] += next[at - 1];
    }
    let mut sorted = moves.to_vec();
    for one in moves {
        let place = &mut next[bucket(one.0)];
        sorted[*place] = *one;
        *place += 1;
    }
    sorted
}

/// The columns that at least half of the chunks have in memory.
fn in_memory(layout: &Layout, parts: &[Arc<Part>]) -> Vec<usize> {
    let all: Vec<usize> = (0..layout.schema.columns.len()).collect();
    let (mut chunks, mut counts) = (0, vec![0; all.len()]);
    for part in parts {
        let (Some(chunk), Ok(sources)) = (part.chunk(), part.layout.sources(layout, &all)) else {
            continue;
        };
        chunks += 1;
        for (source, count) in sources.iter().zip(&mut counts) {
            if matches!(source, Source::Stored(position) if chunk.has_in_memory(*position)) {
                *count += 1;
            }
        }
    }
    all.into_iter().filter(|&column| chunks > 0 && counts[column] * 2 >= chunks).collect()
}

/// How many rows of some parts are dead.
fn dead(parts: &[Arc<Part>]) -> usize {
    parts.iter().map(|part| part.deletes.count()).sum()
}

/// All rows of several parts, under one layout, and which of them are kept.
struct Rows {
    columns: Vec<ArrayRef>,
    versions: Vec<Version>,
    /// Part and row that each came from.
    origins: Vec<(u32, u32)>,
    /// Those that somebody may still read.
    kept: Vec<u32>,
}

impl Rows {
    fn gather(layout: &Layout, parts: &[Arc<Part>], horizon: Version) -> Result<Self> {
        let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); layout.schema.columns.len()];
        let mut this = Self {
            columns: Vec::new(),
            versions: Vec::new(),
            origins: Vec::new(),
            kept: Vec::new(),
        };
        let mut first = 0;
        for (number, part) in (0_u32..).zip(parts) {
            let dead = part.deletes.at(horizon);
            let versions = versions(part)?;
            if let Some(chunk) = part.chunk() {
                // Many rows of a chunk that is merged are dead: they are not even decoded.
                let mut live = Selection::all(chunk.rows() as usize);
                live.subtract(dead.words());
                let rows = live.indices(0..live.rows());
                let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
                this.versions.extend(rows.iter().map(|&row| versions[row as usize]));
                this.origins.extend(rows.iter().map(|&row| (number, row)));
                this.kept.extend(first..first + count);
                first += count;
                let picked = live.pick(0..live.rows());
                push(&mut pieces, columns_of_chunk(layout, part, chunk, &picked)?);
            } else {
                let count = part.rows();
                let live = (0..count).filter(|&row| !dead.contains(row));
                this.kept.extend(live.map(|row| first + row));
                this.versions.extend(versions);
                this.origins.extend((0..count).map(|row| (number, row)));
                first += count;
                push(&mut pieces, columns_of_delta(layout, part)?);
            }
        }
        let types = layout.types();
        for (pieces, ty) in pieces.iter().zip(types) {
            let arrays: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
            this.columns.push(match arrays.as_slice() {
                [] => arrow::array::new_empty_array(&ty),
                _ => arrow::compute::concat(&arrays).map_err(broken)?,
            });
        }
        Ok(this)
    }

    /// The rows that are kept, in the order of segment, key and version.
    fn sorted(&self, layout: &Layout, keys: &Keys) -> Result<Sorted> {
        let with_segment;
        let keys = if layout.schema.segment.is_empty() {
            keys
        } else {
            with_segment = layout.sort_keys(&self.columns)?;
            &with_segment
        };
        Ok(Sorted::new(keys, &self.versions, &self.kept))
    }

    /// About how many bytes of memory the rows take that are kept.
    fn bytes(&self) -> usize {
        let all: usize = self.columns.iter().map(|column| column.get_buffer_memory_size()).sum();
        all / self.versions.len().max(1) * self.kept.len()
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows cannot be rearranged").caused_by(error)
}

fn push(pieces: &mut [Vec<ArrayRef>], columns: Vec<ArrayRef>) {
    for (pieces, column) in pieces.iter_mut().zip(columns) {
        pieces.push(column);
    }
}

/// All columns of some rows of a chunk under a layout.
fn columns_of_chunk(
    layout: &Layout,
    part: &Part,
    chunk: &Chunk,
    rows: &Picked,
) -> Result<Vec<ArrayRef>> {
    let all: Vec<usize> = (0..layout.schema.columns.len()).collect();
    let column = |source: &Source<'_>| match source {
        Source::Filler(column) => filler(column, rows.count()),
        Source::Stored(position) => chunk.column(*position)?.decode_picked(rows),
    };
    part.layout.sources(layout, &all)?.iter().map(column).collect()
}

/// All columns of the rows of a delta under a layout.
fn columns_of_delta(layout: &Layout, part: &Part) -> Result<Vec<ArrayRef>> {
    let all: Vec<usize> = (0..layout.schema.columns.len()).collect();
    let blocks = part.delta().map(|delta| delta.all().blocks).unwrap_or_default();
    let column = |source: &Source<'_>| match source {
        Source::Filler(column) => filler(column, part.rows() as usize),
        Source::Stored(position) => {
            let arrays: Vec<&dyn Array> =
                blocks.iter().map(|block| block.columns[*position].as_ref()).collect();
            if arrays.is_empty() {
                let ty = part.layout.schema.columns[*position].ty.arrow();
                return Ok(arrow::array::new_empty_array(&ty));
            }
            arrow::compute::concat(&arrays).map_err(broken)
        }
    };
    part.layout.sources(layout, &all)?.iter().map(column).collect()
}

/// The versions of all rows of a part.
fn versions(part: &Part) -> Result<Vec<Version>> {
    match &part.body {
        Body::Chunk(chunk) => chunk.versions(),
        Body::Delta(delta) => {
            let rows = delta.all();
            Ok((0..rows.rows).map(|row| rows.version(row)).collect())
        }
    }
}

/// Checks, before anything is replaced, that no key has two live rows.
fn check_unique(old: &[Arc<Part>], rows: &Rows, keys: &Keys, sorted: &Sorted) -> Result<()> {
    let live = |row: u32| {
        let (part, row) = rows.origins[row as usize];
        !old[part as usize].deletes.contains(row)
    };
    for pair in sorted.alike.iter().flat_map(|alike| sorted.rows[alike.clone()].windows(2)) {
        let [one, two] = *pair else { continue };
        // Rows of one key are of one segment and partition, and so sorted as alike.
        if keys.get(one as usize) == keys.get(two as usize) && live(one) && live(two) {
            return Err(Error::new(
                Code::FileDamaged,
                "two live rows have one primary key; run CHECK TABLE",
            ));
        }
    }
    Ok(())
}

/// How many rows each chunk gets: about equally many, none too many.
fn sizes(rows: &Rows, count: usize) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    let by_bytes = rows.bytes().div_ceil(CHUNK_BYTES);
    let chunks = count.div_ceil(crate::CHUNK_ROWS_MAX).max(by_bytes).min(count);
    (0..chunks).map(|at| count * (at + 1) / chunks - count * at / chunks).collect()
}

fn write_chunks(
    table: &Table,
    layout: &Arc<Layout>,
    rows: &Rows,
    sorted: &[u32],
    sizes: &[usize],
    slots: &[u16],
    horizon: Version,
    lsn: u64,
) -> Result<Vec<Arc<Part>>> {
    let mut parts = Vec::with_capacity(sizes.len());
    let mut begin = 0;
    for (&size, &slot) in sizes.iter().zip(slots) {
        let order = &sorted[begin..begin + size];
        begin += size;
        let chunk = write_chunk(table, rows, order, horizon, lsn)?;
        parts.push(Arc::new(Part {
            slot,
            layout: Arc::clone(layout),
            deletes: Deletes::default(),
            body: Body::Chunk(chunk),
        }));
    }
    Ok(parts)
}

fn write_chunk(
    table: &Table,
    rows: &Rows,
    order: &[u32],
    horizon: Version,
    lsn: u64,
) -> Result<Chunk> {
    let versions: Vec<Version> = order.iter().map(|&row| rows.versions[row as usize]).collect();
    let smallest = versions.iter().copied().min().unwrap_or(0);
    let largest = versions.iter().copied().max().unwrap_or(0);
    let order = UInt32Array::from(order.to_vec());
    let taken = |column: &ArrayRef| arrow::compute::take(column, &order, None).map_err(broken);
    let mut columns = rows.columns.iter().map(taken).collect::<Result<Vec<_>>>()?;
    // Below the horizon nobody tells versions apart any more.
    let apart = smallest != largest && largest > horizon;
    let version_column = apart.then(|| u32::try_from(columns.len()).unwrap_or(u32::MAX));
    if apart {
        columns.push(Arc::new(UInt64Array::from(versions)));
    }
    let raw_bytes = columns.iter().map(|it| it.get_buffer_memory_size() as u64).sum();
    let encoded = encode(&columns)?;
    let meta = encoded.meta.to_bytes();
    let mut payload = encoded.bytes;
    let meta_at = payload.len() as u64;
    payload.extend_from_slice(&meta);
    // Chunks come and go; where one was, another must fit.
    let even = even_length(payload.len()).min(PAYLOAD_MAX as usize).max(payload.len());
    payload.resize(even, 0);
    let block = table.file.blocks.write(kind::CHUNK, &payload, lsn)?;
    let at = ChunkRef {
        block,
        rows: u32::try_from(order.len()).unwrap_or(u32::MAX),
        meta_at,
        meta_length: u32::try_from(meta.len()).unwrap_or(u32::MAX),
        meta_check: crc32c::crc32c(&meta),
        raw_bytes,
        versions: (smallest, largest),
        version_column,
    };
    Ok(Chunk::new(Arc::clone(&table.file), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_sorted_by_the_first_bits_of_their_hashes() {
        let hash = |at: u32| hash_key(5, &at.to_le_bytes());
        let moves: Vec<_> = (0..5000).map(|at| (hash(at), RowRef(at), RowRef(at + 1))).collect();
        let mut expected = moves.clone();
        expected.sort_by_key(|it| it.0 >> 56);
        assert_eq!(by_hash(&moves), expected);
        assert_eq!(by_hash(&[]), []);
        assert_ne!(RowRef(GONE), row_ref(0, 0));
    }
}
