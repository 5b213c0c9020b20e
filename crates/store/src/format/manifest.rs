//! The manifest of a data file: partitions, chunks, the rows of deltas, delete marks.
//!
//! The manifest is the root block of a checkpoint; `docs/internals/format-store.md` has every byte.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use arrow::array::ArrayRef;
use pelorus_blockfile::BlockId;
use pelorus_env::{rare, rare_if};
use pelorus_error::{Code, Error, Result};

use crate::catalog::schema::{PartitionId, TableSchema, Version};
use crate::catalog::schema_version::Layout;
use crate::format::bytes::{Reader, Writer};
use crate::format::data_file::{DataFile, kind};
use crate::format::row_batch;
use crate::partition::Partition;
use crate::partition::chunk::{Chunk, ChunkRef};
use crate::partition::delete_marks::{Deletes, Mask};
use crate::partition::delta::Delta;
use crate::partition::part::{Body, Part};
use crate::table::Table;

/// The first byte of a manifest.
const FORMAT: u8 = 1;

/// Bytes of delete marks for which a manifest has room, in addition to chunks and partitions: three
/// quarters of the longest block.
const MARKS_BYTES_MAX: usize = 768 << 20;

/// Bytes of a mark with its version.
const MARK_BYTES: usize = 12;

const CHUNK: u8 = 1;
const DELTA: u8 = 2;

/// A partition at the moment of a checkpoint. Its parts take no more rows.
#[derive(Debug)]
pub(crate) struct FrozenPartition {
    pub(crate) id: PartitionId,
    pub(crate) key: Vec<u8>,
    pub(crate) parts: Arc<Vec<Arc<Part>>>,
}

/// A table at the moment of a checkpoint.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) version: Version,
    /// The newest drop of a partition: older versions miss it in the manifest.
    pub(crate) last_drop: Version,
    /// Of more dead rows than so many the manifest does not say when they died: it has to fit a block.
    pub(crate) history_marks: usize,
    /// How long the manifest can be.
    pub(crate) length_max: usize,
    pub(crate) next_partition: u32,
    pub(crate) partitions: Vec<FrozenPartition>,
}

/// The blocks that belong to a manifest.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Its own, and those of deltas.
    pub(crate) blocks: Vec<BlockId>,
    /// How long it is itself; 0 where it was read.
    pub(crate) length: u64,
    /// Where deltas are, by the address of their part. They take no more rows, and so need not be
    /// written again while they last.
    deltas: HashMap<usize, Image>,
}

/// Where a delta is.
#[derive(Debug)]
struct Image {
    /// That it is still the one that had this address.
    part: Weak<Part>,
    block: BlockId,
    length: u64,
}

impl Written {
    /// Blocks of a manifest that was read.
    pub(crate) fn read(blocks: Vec<BlockId>) -> Self {
        Self { blocks, length: 0, deltas: HashMap::new() }
    }

    /// The blocks that the next manifest does not have.
    pub(crate) fn gone(self, next: &Self) -> impl Iterator<Item = BlockId> + use<> {
        let kept: HashSet<u64> = next.blocks.iter().map(|block| block.get()).collect();
        self.blocks.into_iter().filter(move |block| !kept.contains(&block.get()))
    }

    fn image(&self, part: &Arc<Part>) -> Option<&Image> {
        let known = self.deltas.get(&(Arc::as_ptr(part) as usize));
        known.filter(|it| std::ptr::eq(it.part.as_ptr(), Arc::as_ptr(part)))
    }
}

impl Frozen {
    /// Whether there is room for when rows died. Readers of older versions need it in memory only:
    /// none of them outlives the process.
    fn has_room_for_history(&self) -> bool {
        let parts = || self.partitions.iter().flat_map(|it| it.parts.iter());
        let marks: usize = parts().map(|part| part.deletes.history_at(self.version)).sum();
        let bases: usize = parts().map(|part| base_bytes(&part.deletes.base())).sum();
        marks <= self.history_marks
            && marks.saturating_mul(MARK_BYTES).saturating_add(bases) <= MARKS_BYTES_MAX
    }
}

/// Writes the manifest and the rows of deltas that `last` does not have; returns the manifest's
/// block and all its other blocks. `floor` is called after the delete marks are taken.
///
/// # Errors
/// Errors of writing blocks; 1114 when the manifest is longer than a block can be. What was written
/// until then is freed.
pub(crate) fn write(
    frozen: &Frozen,
    floor: impl FnOnce() -> Version,
    (file, lsn): (&DataFile, u64),
    last: Option<&Written>,
) -> Result<(BlockId, Written)> {
    let mut deltas = DeltaBlocks { file, lsn, last, written: Written::default(), new: Vec::new() };
    match write_all(frozen, floor, &mut deltas) {
        Ok(root) => {
            deltas.written.blocks.push(root);
            Ok((root, deltas.written))
        }
        Err(error) => {
            deltas.new.iter().try_for_each(|block| file.blocks.free(*block))?;
            Err(error)
        }
    }
}

fn write_all(
    frozen: &Frozen,
    floor: impl FnOnce() -> Version,
    deltas: &mut DeltaBlocks<'_>,
) -> Result<BlockId> {
    let with_history = frozen.has_room_for_history();
    rare_if("a manifest has no room for when rows died", || !with_history);
    let mut layouts: Vec<&Arc<Layout>> = Vec::new();
    let mut body = Writer::default();
    body.count(frozen.partitions.len());
    for partition in &frozen.partitions {
        body.u32(partition.id.0);
        body.bytes(&partition.key);
        body.count(partition.parts.len());
        for part in partition.parts.iter() {
            let known = layouts.iter().position(|layout| Arc::ptr_eq(layout, &part.layout));
            let layout = known.unwrap_or_else(|| {
                layouts.push(&part.layout);
                layouts.len() - 1
            });
            body.count(layout);
            write_deletes(&part.deletes, frozen.version, with_history, &mut body);
            match &part.body {
                Body::Chunk(chunk) => {
                    body.u8(CHUNK);
                    write_chunk(&chunk.at, &mut body);
                }
                Body::Delta(delta) => {
                    body.u8(DELTA);
                    let (block, length) = deltas.push(part, delta)?;
                    body.count(block);
                    // Each stands alone in its block.
                    body.u64(0);
                    body.u64(length);
                }
            }
        }
    }
    let mut out = Writer::default();
    out.u8(FORMAT);
    out.u64(frozen.version);
    // Marks may have lost their versions since the moment of the checkpoint: below the floor that
    // was raised before that.
    let oldest = if with_history { 0 } else { frozen.version };
    out.u64(floor().max(frozen.last_drop).max(oldest));
    out.u32(frozen.next_partition);
    out.count(layouts.len());
    for layout in layouts {
        layout.schema.write(&mut out);
    }
    out.count(deltas.written.blocks.len());
    for block in &deltas.written.blocks {
        out.u64(block.get());
    }
    out.0.extend_from_slice(&body.0);
    if out.0.len() > frozen.length_max {
        let (who, length) = (deltas.file.called(), out.0.len());
        let text = format!(
            "{who} has too many chunks, or too many dead rows in them, for its data file: saying so \
             takes {length} bytes of at most {}; drop partitions, or OPTIMIZE the table",
            frozen.length_max
        );
        return Err(Error::new(Code::TableFull, text));
    }
    deltas.written.length = out.0.len() as u64;
    deltas.file.blocks.write(kind::MANIFEST, &out.0, deltas.lsn)
}

/// The blocks of a manifest's deltas: one for each, about as large as a chunk at most, so that it fits
/// where one was. Large blocks that every checkpoint replaces would all stand at the file's end.
struct DeltaBlocks<'a> {
    file: &'a DataFile,
    lsn: u64,
    last: Option<&'a Written>,
    written: Written,
    /// Those of them that were written for this manifest.
    new: Vec<BlockId>,
}

impl DeltaBlocks<'_> {
    /// Adds a delta; gives the number of its block among those of deltas, and how long its image is.
    fn push(&mut self, part: &Arc<Part>, delta: &Delta) -> Result<(usize, u64)> {
        let (block, length) = match self.last.and_then(|last| last.image(part)) {
            Some(image) => {
                rare("a delta is in the file already");
                (image.block, image.length)
            }
            None => {
                let image = delta_image(delta)?;
                let block = self.file.blocks.write(kind::DELTAS, &image, self.lsn)?;
                self.new.push(block);
                (block, image.len() as u64)
            }
        };
        let image = Image { part: Arc::downgrade(part), block, length };
        self.written.deltas.insert(Arc::as_ptr(part) as usize, image);
        self.written.blocks.push(block);
        Ok((self.written.blocks.len() - 1, length))
    }
}

fn delta_image(delta: &Delta) -> Result<Vec<u8>> {
    let rows = delta.all();
    let mut out = Writer::default();
    out.count(rows.runs.len());
    for (version, end) in &rows.runs {
        out.u64(*version);
        out.u32(*end);
    }
    out.count(rows.blocks.len());
    for block in &rows.blocks {
        row_batch::write(&block.columns, block.rows, &mut out);
    }
    Ok(out.0)
}

fn write_chunk(at: &ChunkRef, out: &mut Writer) {
    out.u64(at.block.get());
    out.u32(at.rows);
    out.u64(at.meta_at);
    out.u32(at.meta_length);
    out.u32(at.meta_check);
    out.u64(at.raw_bytes);
    out.u64(at.versions.0);
    out.u64(at.versions.1);
    out.u32(at.version_column.map_or(0, |position| position + 1));
}

fn read_chunk(from: &mut Reader<'_>) -> Result<ChunkRef> {
    Ok(ChunkRef {
        block: BlockId::new(from.u64()?),
        rows: u32::try_from(from.count_up_to(crate::CHUNK_ROWS_MAX)?).unwrap_or(u32::MAX),
        meta_at: from.u64()?,
        meta_length: from.u32()?,
        meta_check: from.u32()?,
        raw_bytes: from.u64()?,
        versions: (from.u64()?, from.u64()?),
        version_column: from.u32()?.checked_sub(1),
    })
}

fn write_deletes(deletes: &Deletes, up_to: Version, with_history: bool, out: &mut Writer) {
    let (mut base, base_version, mut log) = if with_history {
        deletes.image(up_to)
    } else {
        let (base, base_version) = deletes.image_without_history(up_to);
        (base, base_version, Vec::new())
    };
    if base_bytes(&base) < 8 * base.words().len() {
        // A bitmap reaches up to its last row, however few there are. No snapshot reads below the
        // base version, so that any version up to it says the same; the log has to be in order, and
        // no mark in it newer than the manifest.
        let first = log.first().map_or(up_to, |(version, _)| *version);
        let version = base_version.min(up_to).min(first);
        let mut all: Vec<(Version, u32)> = base.rows().map(|row| (version, row)).collect();
        all.append(&mut log);
        log = all;
        base = Arc::default();
    }
    out.u64(base_version);
    out.count(base.words().len());
    for word in base.words() {
        out.u64(*word);
    }
    out.count(log.len());
    for (version, row) in log {
        out.u64(version);
        out.u32(row);
    }
}

/// How many bytes the rows of a base take: as words or as marks, whatever is less.
fn base_bytes(base: &Mask) -> usize {
    (MARK_BYTES * base.count()).min(8 * base.words().len())
}

fn read_deletes(from: &mut Reader<'_>) -> Result<Deletes> {
    let base_version = from.u64()?;
    let words = from.count_up_to(crate::CHUNK_ROWS_MAX / 64)?;
    let mut base = Mask::default();
    for at in 0..words {
        let word = from.u64()?;
        for bit in (0..64).filter(|bit| word >> bit & 1 == 1) {
            base.insert(u32::try_from(at * 64 + bit).unwrap_or(u32::MAX));
        }
    }
    let count = from.count_up_to(crate::CHUNK_ROWS_MAX)?;
    let log = (0..count).map(|_| Ok((from.u64()?, from.u32()?))).collect::<Result<Vec<_>>>()?;
    let in_range = |row: u32| (row as usize) < crate::CHUNK_ROWS_MAX;
    if !log.is_sorted_by_key(|(version, _)| *version) || !log.iter().all(|it| in_range(it.1)) {
        return Err(from.damaged("its marks of deletion are out of order"));
    }
    Ok(Deletes::restore(base, base_version, &log))
}

/// Reads the manifest into a table without partitions; gives the version that it holds and the
/// blocks that belong to the manifest.
///
/// # Errors
/// Damage, and errors of reading blocks.
pub(crate) fn read(table: &Table, root: BlockId) -> Result<(Version, Vec<BlockId>)> {
    let file = &table.file;
    let bytes = file.blocks.read(root)?;
    let what = format!("the manifest (block {}) of {}", root.get(), file.path.display());
    let from = &mut Reader::new(&bytes, &what);
    let format = from.u8()?;
    if format != FORMAT {
        return Err(from.unknown_format(format));
    }
    let version = from.u64()?;
    table.raise_floor(from.u64()?);
    table.set_next_partition(from.u32()?);
    let layouts = (0..from.count()?)
        .map(|_| Ok(Arc::new(Layout::new(TableSchema::read(from)?, &table.weigher, 0))))
        .collect::<Result<Vec<_>>>()?;
    let mut blocks =
        (0..from.count()?).map(|_| Ok(BlockId::new(from.u64()?))).collect::<Result<Vec<_>>>()?;
    let images = blocks.iter().map(|block| file.blocks.read(*block)).collect::<Result<Vec<_>>>()?;
    for _ in 0..from.count()? {
        let id = PartitionId(from.u32()?);
        let key = from.bytes()?.to_vec();
        let mut parts = Vec::new();
        for slot in 0..u16::try_from(from.count_up_to(1 << 15)?).unwrap_or(u16::MAX) {
            let layout = from.count_up_to(layouts.len().saturating_sub(1))?;
            let layout = layouts.get(layout).ok_or_else(|| from.damaged("it has no layout"))?;
            let deletes = read_deletes(from)?;
            let body = match from.u8()? {
                CHUNK => Body::Chunk(Chunk::new(Arc::clone(file), read_chunk(from)?)),
                DELTA => Body::Delta(read_delta(from, &images, table, layout)?),
                other => return Err(from.damaged(&format!("unknown kind of part {other}"))),
            };
            parts.push(Arc::new(Part { slot, layout: Arc::clone(layout), deletes, body }));
        }
        let partition = Arc::new(Partition::new(id, key, parts)?);
        table.add_partition(partition).map_err(|error| from.damaged(error.message()))?;
    }
    blocks.push(root);
    free_strangers(table, &blocks)?;
    // Of a table that can be used only.
    let partitions = table.partitions();
    let parts = partitions.iter().flat_map(|it| it.parts().to_vec());
    let memory: usize = parts.filter_map(|part| part.delta().map(Delta::memory)).sum();
    table.delta_bytes.grow(memory);
    Ok((version, blocks))
}

/// Frees blocks that the manifest does not name: at the moment of the checkpoint they were being
/// written, or still being read.
fn free_strangers(table: &Table, blocks: &[BlockId]) -> Result<()> {
    let mut named: HashSet<u64> = blocks.iter().map(|block| block.get()).collect();
    for partition in table.partitions().iter() {
        named.extend(
            partition.parts().iter().filter_map(|it| it.chunk()).map(|it| it.at.block.get()),
        );
    }
    let file = &table.file.blocks;
    file.blocks()
        .iter()
        .filter(|it| !named.contains(&it.id.get()))
        .try_for_each(|it| file.free(it.id))
}

fn read_delta(
    from: &mut Reader<'_>,
    images: &[Vec<u8>],
    table: &Table,
    layout: &Layout,
) -> Result<Delta> {
    let block = from.count_up_to(images.len().saturating_sub(1))?;
    let (at, length) = (from.u64()?, from.u64()?);
    let range = usize::try_from(at).ok().zip(usize::try_from(length).ok());
    let image = range.and_then(|(at, length)| images.get(block)?.get(at..at.checked_add(length)?));
    let image = image.ok_or_else(|| from.damaged("a delta lies outside its block"))?;
    let what = format!("a delta of {}", table.file.path.display());
    let from = &mut Reader::new(image, &what);
    let runs =
        (0..from.count()?).map(|_| Ok((from.u64()?, from.u32()?))).collect::<Result<Vec<_>>>()?;
    let types = layout.types();
    let delta = Delta::default();
    let mut runs = runs.into_iter().peekable();
    let mut first = 0_usize;
    for _ in 0..from.count()? {
        let (columns, rows) = row_batch::read(from, &types)?;
        // A block may span versions.
        let mut begin = 0;
        while begin < rows {
            let Some(&(version, end)) = runs.peek() else {
                return Err(from.damaged("rows without a version"));
            };
            let end = (end as usize).saturating_sub(first).min(rows);
            if end <= begin {
                runs.next();
                continue;
            }
            // What references can name.
            if first + end > pelorus_index::RowRef::ROWS_PER_SLOT as usize {
                return Err(from.damaged("it has too many rows"));
            }
            append(&delta, table, layout, version, &columns, begin..end)?;
            begin = end;
        }
        first += rows;
    }
    Ok(delta)
}

fn append(
    delta: &Delta,
    table: &Table,
    layout: &Layout,
    version: Version,
    columns: &[ArrayRef],
    rows: std::ops::Range<usize>,
) -> Result<()> {
    let columns: Vec<ArrayRef> =
        columns.iter().map(|column| column.slice(rows.start, rows.len())).collect();
    let keys = layout.keys_of_rows(&columns)?;
    let pairs = keys.iter().map(|key| (key, pelorus_index::hash_key(table.seed(), key)));
    delta.append(version, columns, rows.len(), pairs)?;
    Ok(())
}
