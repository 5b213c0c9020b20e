//! [`TableSchema`]: the columns of a table by number, its primary key, and its sort order.
//!
//! Names, defaults, comments and partition expressions belong to the engine; they pass through the
//! store as bytes that it never interprets.

use pelorus_error::{Code, Error, Result};
use pelorus_types::{Collation, ColumnType, Flags, WireType};

use crate::catalog::key_function::KeyFunction;
use crate::format::bytes::{Reader, Writer};

/// The number of a table. It never comes back after the table is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// The number of a partition within its table. It never comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId(pub u32);

/// A commit sequence number. Version 0 is the empty database.
pub type Version = u64;

/// Most columns that a table can have, as in MySQL.
pub const COLUMNS_MAX: usize = 4096;

/// A stored column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredColumn {
    /// Which column this is, whatever its name and place become. Never used twice in a table.
    pub id: u32,
    /// The type.
    pub ty: ColumnType,
    /// The value of the column in rows that were written before it was added: one encoded value
    /// (`crate::format::row_batch`); `None` is NULL.
    pub filler: Option<Vec<u8>>,
}

/// How long dead rows can still be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Age in microseconds.
    pub micros: u64,
    /// Bytes of dead rows, estimated.
    pub bytes: u64,
}

impl Default for History {
    /// A quarter of an hour, or a gigabyte.
    fn default() -> Self {
        Self { micros: 15 * 60 * 1_000_000, bytes: 1 << 30 }
    }
}

/// The schema of a table in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The columns, in the order of batches.
    pub columns: Vec<StoredColumn>,
    /// Positions of the primary key's columns, in the order of the key.
    pub key: Vec<usize>,
    /// The key functions by which rows are sorted before the primary key.
    pub segment: Vec<KeyFunction>,
    /// The bound of the past.
    pub history: History,
}

impl TableSchema {
    /// Checks that the column numbers exist.
    ///
    /// # Errors
    /// No columns (1113), too many (1117), no key (3750), or a type that cannot be in a key (1167).
    pub fn check(&self) -> Result<()> {
        if self.columns.is_empty() {
            return Err(Error::new(
                Code::TableWithoutColumns,
                "A table must have at least 1 column",
            ));
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(Error::new(Code::TooManyColumns, "Too many columns"));
        }
        if self.key.is_empty() {
            return Err(Error::new(
                Code::PrimaryKeyRequired,
                "Unable to create or change a table without a primary key",
            ));
        }
        let in_range = |position: &usize| *position < self.columns.len();
        if !self.key.iter().all(in_range)
            || !self.segment.iter().all(|function| in_range(&function.column))
        {
            return Err(Error::internal("a key names a column beyond the table's columns"));
        }
        let mut ids: Vec<u32> = self.columns.iter().map(|column| column.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) || ids.last() == Some(&u32::MAX) {
            return Err(Error::internal(
                "two columns have one number, or one has the last there is",
            ));
        }
        for &position in &self.key {
            if matches!(self.columns[position].ty.wire, WireType::Json | WireType::Null) {
                return Err(Error::new(
                    Code::WrongKeyColumn,
                    "a JSON column cannot be part of the primary key",
                ));
            }
        }
        Ok(())
    }

    /// The position of a column by its number.
    pub fn position(&self, id: u32) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// A number above those of all columns. A dropped column may have had it: the number of a new
    /// column is [`crate::Table::next_column_id`].
    pub fn next_column_id(&self) -> u32 {
        self.columns.iter().map(|column| column.id.saturating_add(1)).max().unwrap_or(0)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.count(self.columns.len());
        for column in &self.columns {
            out.u32(column.id);
            write_type(&column.ty, out);
            out.bool(column.filler.is_some());
            if let Some(filler) = &column.filler {
                out.bytes(filler);
            }
        }
        out.count(self.key.len());
        for &position in &self.key {
            out.count(position);
        }
        out.count(self.segment.len());
        for function in &self.segment {
            function.write(out);
        }
        out.u64(self.history.micros);
        out.u64(self.history.bytes);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut columns = Vec::new();
        for _ in 0..from.count_up_to(COLUMNS_MAX)? {
            let id = from.u32()?;
            let ty = read_type(from)?;
            let filler = if from.bool()? { Some(from.bytes()?.to_vec()) } else { None };
            columns.push(StoredColumn { id, ty, filler });
        }
        let mut key = Vec::new();
        for _ in 0..from.count_up_to(COLUMNS_MAX)? {
            key.push(from.count_up_to(COLUMNS_MAX)?);
        }
        let mut segment = Vec::new();
        for _ in 0..from.count_up_to(COLUMNS_MAX)? {
            segment.push(KeyFunction::read(from)?);
        }
        let history = History { micros: from.u64()?, bytes: from.u64()? };
        let schema = Self { columns, key, segment, history };
        schema.check().map_err(|error| from.damaged(error.message()))?;
        Ok(schema)
    }
}

pub(crate) fn write_type(ty: &ColumnType, out: &mut Writer) {
    out.u8(ty.wire as u8);
    out.u16(ty.flags.0);
    out.u16(ty.collation.0);
    out.u32(ty.length);
    out.u8(ty.decimals);
}

pub(crate) fn read_type(from: &mut Reader<'_>) -> Result<ColumnType> {
    let byte = from.u8()?;
    let wire = WireType::from_byte(byte)
        .ok_or_else(|| from.damaged(&format!("unknown column type {byte}")))?;
    let flags = Flags(from.u16()?);
    let collation = Collation(from.u16()?);
    let length = from.u32()?;
    let decimals = from.u8()?;
    Ok(ColumnType { wire, flags, collation, length, decimals })
}
