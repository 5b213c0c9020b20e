//! Flush and compaction: the parts of a partition become sorted chunks.
//!
//! Both are one operation. The rows of some parts that a reader may still see are sorted by segment
//! and key, encoded, and written to new blocks, all without a lock. Then the old parts are replaced
//! by the new ones in one step, including delete marks that were added meanwhile, and the index is
//! updated. Rows keep the versions that wrote them.

mod rows;

use std::sync::Arc;

use arrow::array::{Array, UInt64Array};
use pelorus_blockfile::{PAYLOAD_MAX, even_length};
use pelorus_chunk::encode;
use pelorus_env::rare_if;
use pelorus_error::{Code, Error, Result};
use pelorus_index::RowRef;

use self::rows::Rows;
use crate::catalog::schema::Version;
use crate::catalog::schema_version::{Layout, Source};
use crate::format::data_file::kind;
use crate::key::row_order::Sorted;
use crate::partition::chunk::{Chunk, ChunkRef};
use crate::partition::delete_marks::Deletes;
use crate::partition::delta::Delta;
use crate::partition::part::{Body, Part};
use crate::partition::{GONE, Partition, row_ref};
use crate::table::Table;

/// Bytes of memory that the rows of one chunk should not exceed.
pub(crate) const CHUNK_BYTES: usize = 256 << 20;

/// The result of a rewrite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) rows_in: u64,
    pub(crate) rows_out: u64,
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
}

/// Replaces parts, which take no more rows, by chunks. The caller holds the partition's maintenance
/// lock. Rows that died at or below `horizon` are left out; `lsn` goes into the blocks.
///
/// # Errors
/// Errors of reading and writing blocks; then nothing has changed.
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
    let rows = Rows::gather(&layout, old, horizon, table.seed())?;
    let sorted = rows.sorted(&layout)?;
    check_unique(old, &rows, &sorted)?;
    let sorted = sorted.rows;
    let sizes = sizes(&rows, sorted.len());
    let slots = partition.free_slots(sizes.len())?;
    let written = write_chunks(table, &layout, &rows, &sorted, &sizes, &slots, horizon, lsn);
    let new = written.inspect_err(|_| partition.give_back(&slots))?;
    for chunk in new.iter().filter_map(|part| part.chunk()) {
        // Later scans would have to read them; an error is reported to the scan that needs the
        // column.
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
        moves.push((rows.hashes[from as usize], row_ref(old[part as usize].slot, row), to));
    }
    by_hash(&mut moves);
    let done = Rewritten {
        rows_in: old.iter().map(|part| u64::from(part.rows())).sum(),
        rows_out: sorted.len() as u64,
        chunks: new.len() as u64,
        bytes: new.iter().filter_map(|part| part.chunk()).map(|it| it.at.meta_at).sum(),
    };
    rare_if("rows died while they were rewritten", || dead(old) > dead_before);
    partition.replace(old, new, maps);
    partition.repoint(&moves, old);
    let freed: usize = old.iter().filter_map(|part| part.delta()).map(Delta::release).sum();
    table.delta_bytes.shrink(freed);
    Ok(done)
}

/// Brings them roughly into the order of hashes, and so of the index: what follows one another is
/// near in memory. In place (P. M. McIlroy, K. Bostic, M. D. McIlroy, "Engineering Radix Sort",
/// 1993: American flag sort), by one digit.
fn by_hash(moves: &mut [(u64, RowRef, RowRef)]) {
    let bucket = |hash: u64| (hash >> 56) as usize;
    let mut ends = [0; 256];
    for (hash, ..) in moves.iter() {
        ends[bucket(*hash)] += 1;
    }
    let mut next = [0; 256];
    let mut sum = 0;
    for (next, end) in next.iter_mut().zip(&mut ends) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    for at in 0..ends.len() {
        while next[at] < ends[at] {
            let place = bucket(moves[next[at]].0);
            moves.swap(next[at], next[place]);
            next[place] += 1;
        }
    }
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

/// Checks, before anything is replaced, that no key has two live rows.
fn check_unique(old: &[Arc<Part>], rows: &Rows, sorted: &Sorted) -> Result<()> {
    let keys = &rows.keys;
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
    let mut columns = rows.columns(order)?;
    // Below the horizon versions need not be distinguished any more.
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
    use pelorus_index::hash_key;

    use super::*;

    #[test]
    fn moves_are_sorted_by_the_first_bits_of_their_hashes() {
        let hash = |at: u32| hash_key(5, &at.to_le_bytes());
        let moves: Vec<_> = (0..5000).map(|at| (hash(at), RowRef(at), RowRef(at + 1))).collect();
        let mut sorted = moves.clone();
        by_hash(&mut sorted);
        assert!(sorted.is_sorted_by_key(|it| it.0 >> 56));
        let in_order = |mut moves: Vec<(u64, RowRef, RowRef)>| {
            moves.sort_unstable();
            moves
        };
        assert_eq!(in_order(sorted), in_order(moves));
        by_hash(&mut []);
        assert_ne!(RowRef(GONE), row_ref(0, 0));
    }
}
