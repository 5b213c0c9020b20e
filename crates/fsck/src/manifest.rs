//! Decodes the manifest of a table and the images of deltas (`docs/internals/format-store.md`).

use std::collections::BTreeSet;

use crate::batch;
use crate::bytes::{Cursor, Decoded, size};
use crate::chunk;
use crate::schema::Schema;
use crate::values::{Column, Type};

const PARTS_MAX: usize = 1 << 15;

/// The root block of a data file.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) version: u64,
    pub(crate) floor: u64,
    pub(crate) layouts: Vec<Schema>,
    pub(crate) delta_blocks: Vec<u64>,
    pub(crate) next_partition: u32,
    pub(crate) partitions: Vec<Partition>,
}

#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub(crate) id: u32,
    pub(crate) key: Vec<u8>,
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// A position in the list of layouts, which is checked.
    pub(crate) layout: usize,
    pub(crate) deletes: Deletes,
    pub(crate) body: Body,
}

/// Where the rows of a part are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Chunk(ChunkAt),
    Delta(DeltaAt),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkAt {
    pub(crate) block: u64,
    pub(crate) rows: usize,
    pub(crate) meta_at: u64,
    pub(crate) meta_length: u32,
    /// The checksum of the description.
    pub(crate) meta_check: u32,
    pub(crate) versions: (u64, u64),
    pub(crate) version_column: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeltaAt {
    /// A position in the list of blocks of delta images, which is checked.
    pub(crate) block: usize,
    pub(crate) at: u64,
    pub(crate) length: u64,
}

/// Marks of deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletes {
    pub(crate) base_version: u64,
    words: Vec<u64>,
    pub(crate) log: Vec<(u64, u32)>,
}

impl Deletes {
    fn parse(from: &mut Cursor<'_>) -> Decoded<Self> {
        let base_version = from.u64()?;
        let words = from.count(chunk::ROWS_MAX / 64, "words of marks")?;
        let words = (0..words).map(|_| from.u64()).collect::<Decoded<_>>()?;
        let count = from.count(chunk::ROWS_MAX, "marks")?;
        let log = (0..count).map(|_| Ok((from.u64()?, from.u32()?))).collect::<Decoded<_>>()?;
        Ok(Self { base_version, words, log })
    }

    /// The dead rows, one by one, or the problem in the marks of a part of `rows` rows.
    pub(crate) fn dead(&self, rows: usize) -> Decoded<Vec<bool>> {
        let mut dead = vec![false; rows];
        let base = self.words.iter().enumerate().flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        });
        for row in base.chain(self.log.iter().map(|(_, row)| size(*row))) {
            match dead.get_mut(row) {
                Some(mark) if !*mark => *mark = true,
                Some(_) => return Err(format!("row {row} is marked dead twice")),
                None => return Err(format!("row {row} of {rows} is marked dead")),
            }
        }
        Ok(dead)
    }

    /// Checks the versions of the marks in a manifest of `version`.
    pub(crate) fn check_versions(&self, version: u64) -> Decoded<()> {
        if !self.log.is_sorted_by_key(|(version, _)| *version) {
            return Err("the marks of dead rows are not in the order of their versions".into());
        }
        match self.log.last() {
            Some((last, _)) if *last > version => {
                Err(format!("a row died at version {last}, after the manifest's version {version}"))
            }
            _ => Ok(()),
        }
    }
}

impl Manifest {
    pub(crate) fn parse(bytes: &[u8]) -> Decoded<Self> {
        let from = &mut Cursor::new(bytes);
        let format = from.u8()?;
        if format != 1 {
            return Err(format!("it has unknown format {format}"));
        }
        let (version, floor, next_partition) = (from.u64()?, from.u64()?, from.u32()?);
        let count = from.count_of_rest("layouts")?;
        let layouts = (0..count).map(|_| Schema::parse(from)).collect::<Decoded<Vec<_>>>()?;
        let count = from.count_of_rest("blocks of deltas")?;
        let delta_blocks = (0..count).map(|_| from.u64()).collect::<Decoded<Vec<_>>>()?;
        let count = from.count_of_rest("partitions")?;
        let mut partitions: Vec<Partition> = Vec::new();
        let mut keys = BTreeSet::new();
        for _ in 0..count {
            let id = from.u32()?;
            let is_next = partitions.last().is_none_or(|last| last.id < id);
            if !is_next || id >= next_partition {
                return Err(format!("partition {id} is out of order"));
            }
            let key = from.bytes()?;
            if !keys.insert(key) {
                return Err(format!("the key of partition {id} is another partition's, too"));
            }
            let parts = from.count(PARTS_MAX, "parts")?;
            let parts = (0..parts)
                .map(|_| parse_part(from, layouts.len(), delta_blocks.len()))
                .collect::<Decoded<_>>()
                .map_err(|why| format!("partition {id}: {why}"))?;
            partitions.push(Partition { id, key: key.to_vec(), parts });
        }
        Ok(Self { version, floor, layouts, delta_blocks, next_partition, partitions })
    }

    /// The chunks, each with its partition and its layout.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (&Partition, &Part, &Schema, ChunkAt)> {
        self.partitions.iter().flat_map(move |partition| {
            partition.parts.iter().filter_map(move |part| match part.body {
                Body::Chunk(at) => Some((partition, part, self.layouts.get(part.layout)?, at)),
                Body::Delta(_) => None,
            })
        })
    }
}

fn parse_part(from: &mut Cursor<'_>, layouts: usize, blocks: usize) -> Decoded<Part> {
    let layout = size(from.u32()?);
    if layout >= layouts {
        return Err(format!("a part has layout {layout} of {layouts}"));
    }
    let deletes = Deletes::parse(from)?;
    let body = match from.u8()? {
        1 => Body::Chunk(ChunkAt {
            block: from.u64()?,
            rows: from.count(chunk::ROWS_MAX, "rows")?,
            meta_at: from.u64()?,
            meta_length: from.u32()?,
            meta_check: from.u32()?,
            versions: {
                let _raw_bytes = from.u64()?;
                (from.u64()?, from.u64()?)
            },
            version_column: from.u32()?.checked_sub(1).map(size),
        }),
        2 => {
            let block = size(from.u32()?);
            if block >= blocks {
                return Err(format!("a delta lies in block {block} of {blocks}"));
            }
            Body::Delta(DeltaAt { block, at: from.u64()?, length: from.u64()? })
        }
        other => return Err(format!("a part has unknown kind {other}")),
    };
    Ok(Part { layout, deletes, body })
}

/// The rows of a delta.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Columns of each batch.
    pub(crate) batches: Vec<Vec<Column>>,
    pub(crate) rows: usize,
}

impl Image {
    /// Reads the image of a delta of columns of these types, in a manifest of `version`.
    pub(crate) fn parse(bytes: &[u8], types: &[Type], version: u64) -> Decoded<Self> {
        let from = &mut Cursor::new(bytes);
        let mut last = (0, 0);
        let count = from.count(chunk::ROWS_MAX, "runs")?;
        for number in 0..count {
            let run = (from.u64()?, size(from.u32()?));
            if number > 0 && run.0 <= last.0 || run.1 <= last.1 || run.0 > version {
                return Err(format!("its run {number} of version {} is out of order", run.0));
            }
            last = run;
        }
        let count = from.count_of_rest("batches")?;
        let batches = (0..count).map(|_| batch::parse(from, types)).collect::<Decoded<Vec<_>>>()?;
        from.end()?;
        let rows = batches.iter().filter_map(|columns| columns.first()).map(Column::rows).sum();
        if rows != last.1 || rows > chunk::ROWS_MAX {
            return Err(format!("it has {rows} rows, its runs end at row {}", last.1));
        }
        Ok(Self { batches, rows })
    }
}
