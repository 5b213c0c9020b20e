//! A chunk as a part: a block of the data file, whose columns are read through the cache.
//!
//! The payload of the block is the columns' bytes, then their description, then zeros. If it has
//! rows of several versions that readers may still distinguish, the versions are one more column.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::AsArray;
use arrow::buffer::Buffer;
use arrow::datatypes::UInt64Type;
use pelorus_blockfile::BlockId;
use pelorus_chunk::{ChunkMeta, Column, Value};
use pelorus_env::sync::Mutex;
use pelorus_error::{Code, Error, Result};

use crate::catalog::schema::Version;
use crate::format::data_file::DataFile;
use crate::key::Keys;
use crate::partition::column_cache::{Columns, Resident};

/// A chunk in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRef {
    pub(crate) block: BlockId,
    pub(crate) rows: u32,
    /// Where the description begins in the payload, and its length.
    pub(crate) meta_at: u64,
    pub(crate) meta_length: u32,
    /// The CRC-32C of the description, which has the checksums of the columns. So a block is found
    /// out that is valid in itself, but not the one that is meant.
    pub(crate) meta_check: u32,
    /// About how many bytes of memory all rows take when they are decoded.
    pub(crate) raw_bytes: u64,
    /// The smallest and largest version of its rows.
    pub(crate) versions: (Version, Version),
    /// The position of the column of versions.
    pub(crate) version_column: Option<u32>,
}

/// The rows of an encoded part.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) at: ChunkRef,
    file: Arc<DataFile>,
    opened: OnceLock<Opened>,
    /// The beginnings of some rows' sort keys, by how many parts they have.
    fences: Mutex<Vec<(usize, Arc<Keys>)>>,
}

/// The state of the chunk after its description has been read.
#[derive(Debug)]
struct Opened {
    meta: Arc<ChunkMeta>,
    resident: Arc<Resident>,
}

impl Chunk {
    pub(crate) fn new(file: Arc<DataFile>, at: ChunkRef) -> Self {
        Self { at, file, opened: OnceLock::new(), fences: Mutex::default() }
    }

    pub(crate) fn rows(&self) -> u32 {
        self.at.rows
    }

    /// The description of the columns.
    ///
    /// # Errors
    /// A block that cannot be read or is damaged.
    pub(crate) fn meta(&self) -> Result<&Arc<ChunkMeta>> {
        Ok(&self.open()?.meta)
    }

    fn open(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let end = self.at.meta_at.saturating_add(u64::from(self.at.meta_length));
        let bytes = self.read(self.at.meta_at..end)?;
        if crc32c::crc32c(&bytes) != self.at.meta_check {
            return Err(self.damaged(&Error::internal("the description of its columns is another")));
        }
        let meta = ChunkMeta::from_bytes(&bytes).map_err(|error| self.damaged(&error))?;
        if meta.rows != self.at.rows as usize {
            return Err(self.damaged(&Error::internal("its number of rows is not the manifest's")));
        }
        let resident = Resident::new(Arc::clone(&self.file.cache), meta.columns.len());
        Ok(self.opened.get_or_init(|| Opened { meta: Arc::new(meta), resident }))
    }

    /// Bytes of the block.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let read = self.file.blocks.read_part(self.at.block, range);
        read.map_err(|error| self.file.explain(error))
    }

    /// A column by its position.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub(crate) fn column(&self, position: usize) -> Result<Arc<Column>> {
        let columns = self.columns(std::iter::once(position))?;
        columns[position].clone().ok_or_else(|| self.no_column(position))
    }

    /// A table of columns that has those at some positions; others may be missing.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub(crate) fn columns(
        &self,
        positions: impl Iterator<Item = usize> + Clone,
    ) -> Result<Arc<Columns>> {
        let Opened { meta, resident } = self.open()?;
        if let Some(outside) = positions.clone().find(|&it| it >= meta.columns.len()) {
            return Err(self.no_column(outside));
        }
        resident.get_or_read(positions, |position| {
            let column = &meta.columns[position];
            let range = column.offset..column.offset + column.length;
            let bytes = self.read(range)?;
            Column::parse(Buffer::from_vec(bytes), column).map_err(|error| self.damaged(&error))
        })
    }

    /// The first parts of the sort keys of each vector's first row and of the last row, if they
    /// are known.
    pub(crate) fn fences(&self, parts: usize) -> Option<Arc<Keys>> {
        let known = self.fences.lock();
        known.iter().find(|(of, _)| *of == parts).map(|(_, keys)| Arc::clone(keys))
    }

    /// Caches the result of [`Self::fences`].
    pub(crate) fn keep_fences(&self, parts: usize, keys: &Arc<Keys>) {
        let mut known = self.fences.lock();
        if known.iter().all(|(of, _)| *of != parts) {
            known.push((parts, Arc::clone(keys)));
        }
    }

    /// Whether a column is in memory.
    pub(crate) fn has_in_memory(&self, position: usize) -> bool {
        self.opened.get().is_some_and(|opened| opened.resident.has(position))
    }

    fn no_column(&self, position: usize) -> Error {
        self.damaged(&Error::internal(format!("it has no column {position}")))
    }

    /// The version that wrote a row.
    pub(crate) fn version(&self, row: u32) -> Result<Version> {
        let Some(position) = self.at.version_column else { return Ok(self.at.versions.1) };
        match self.column(position as usize)?.value(row as usize) {
            Value::Int(version) => Version::try_from(version)
                .map_err(|_| self.damaged(&Error::internal("a row has no version"))),
            _ => Err(self.damaged(&Error::internal("a row has no version"))),
        }
    }

    /// The versions of all rows.
    pub(crate) fn versions(&self) -> Result<Vec<Version>> {
        let rows = self.rows() as usize;
        let Some(position) = self.at.version_column else {
            return Ok(vec![self.at.versions.1; rows]);
        };
        let versions = self.column(position as usize)?.decode(0..rows)?;
        let versions = versions
            .as_primitive_opt::<UInt64Type>()
            .ok_or_else(|| self.damaged(&Error::internal("its versions are no numbers")))?;
        Ok(versions.values().to_vec())
    }

    fn damaged(&self, error: &Error) -> Error {
        let text = format!("{} is damaged: {}", self.place(), error.message());
        self.file.explain(Error::new(Code::FileDamaged, text))
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> String {
        format!("block {} of {}", self.at.block.get(), self.file.path.display())
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.file.release(self.at.block);
    }
}
