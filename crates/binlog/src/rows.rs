//! Rows events: which table, which columns, and the images that [`crate::image`] decodes.
//!
//! Body: number of the table (6), flags (2), in version 2 the length of extra data and the data,
//! the number of columns, a bitmap of the columns that images have, for updates a second one for
//! the images after the change, and the rows. Source: MySQL's `rows_event.h` (`Rows_event`).

use std::sync::Arc;

use bytes::Bytes;
use pelorus_error::Result;

use crate::header::EventType;
use crate::reader::{Reader, malformed};
use crate::table_map::{TableMap, table_id};

/// The kind of the change to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowsKind {
    /// New rows: one image each.
    Insert,
    /// Changed rows: two images each.
    Update,
    /// Changed rows whose JSON documents may tell the change only.
    PartialUpdate,
    /// Rows that went away: one image each.
    Delete,
}

impl RowsKind {
    /// Whether rows have an image of before.
    pub fn has_before(self) -> bool {
        self != RowsKind::Insert
    }

    /// Whether rows have an image of after.
    pub fn has_after(self) -> bool {
        self != RowsKind::Delete
    }
}

/// Rows of a table.
#[derive(Clone, Debug)]
pub struct RowsEvent {
    /// The kind of the change.
    pub kind: RowsKind,
    /// The table.
    pub table: Arc<TableMap>,
    /// Whether the statement ends here.
    pub statement_end: bool,
    /// Whether the statement ran with `foreign_key_checks = 0`.
    pub no_foreign_key_checks: bool,
    /// The columns that images of before have (of inserts: of after).
    pub(crate) first: Present,
    /// The columns that images of after have, in updates.
    pub(crate) second: Present,
    /// The images, uncompressed.
    pub(crate) images: Bytes,
}

impl RowsEvent {
    /// Bytes of the images.
    pub fn bytes(&self) -> usize {
        self.images.len()
    }

    /// Whether images of before (`after` false) or after have a column.
    pub fn has_column(&self, after: bool, column: usize) -> bool {
        self.present(after).has(column)
    }

    pub(crate) fn present(&self, after: bool) -> &Present {
        let second = matches!(self.kind, RowsKind::Update | RowsKind::PartialUpdate) && after;
        if second { &self.second } else { &self.first }
    }
}

/// The columns that an image has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    bits: Bytes,
    pub(crate) count: usize,
}

impl Present {
    fn read(body: &Bytes, reader: &mut Reader<'_>, columns: usize) -> Result<Self> {
        let bits = body.slice_ref(reader.bytes(columns.div_ceil(8))?);
        let count = (0..columns).filter(|at| bits[at / 8] >> (at % 8) & 1 == 1).count();
        Ok(Self { bits, count })
    }

    pub(crate) fn has(&self, column: usize) -> bool {
        self.bits.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
    }
}

/// The form of the rows in a type of events.
pub(crate) struct Form {
    pub(crate) kind: RowsKind,
    pub(crate) version: u8,
    pub(crate) compressed: bool,
}

impl Form {
    pub(crate) fn of(event: EventType) -> Option<Self> {
        use EventType::*;
        use RowsKind::{Delete, Insert, PartialUpdate, Update};
        let (kind, version, compressed) = match event {
            WriteRowsV1 => (Insert, 1, false),
            UpdateRowsV1 => (Update, 1, false),
            DeleteRowsV1 => (Delete, 1, false),
            WriteRows => (Insert, 2, false),
            UpdateRows => (Update, 2, false),
            DeleteRows => (Delete, 2, false),
            PartialUpdateRows => (PartialUpdate, 2, false),
            WriteRowsCompressedV1 => (Insert, 1, true),
            UpdateRowsCompressedV1 => (Update, 1, true),
            DeleteRowsCompressedV1 => (Delete, 1, true),
            WriteRowsCompressed => (Insert, 2, true),
            UpdateRowsCompressed => (Update, 2, true),
            DeleteRowsCompressed => (Delete, 2, true),
            _ => return None,
        };
        Some(Self { kind, version, compressed })
    }
}

/// The number of the table of a rows event that only ends a statement: it names no table.
pub(crate) const NO_TABLE: u64 = 0xFF_FFFF;

/// The number of the table and the flags, without the rest.
pub(crate) fn head(body: &[u8], fixed: u8) -> Result<(u64, u16)> {
    let mut reader = Reader::new(body);
    Ok((table_id(&mut reader, fixed)?, reader.u16()?))
}

/// Bit of the flags: the statement ends here.
pub(crate) const STATEMENT_END: u16 = 1;

/// Reads the body, given the table that it names.
pub(crate) fn read(
    body: &Bytes,
    form: &Form,
    fixed: u8,
    table: Arc<TableMap>,
) -> Result<RowsEvent> {
    let mut reader = Reader::new(body);
    table_id(&mut reader, fixed)?;
    let flags = reader.u16()?;
    if form.version == 2 {
        let extra = usize::from(reader.u16()?);
        reader.bytes(extra.checked_sub(2).ok_or_else(|| malformed("length of extra data"))?)?;
    }
    let columns = reader.lenenc_len()?;
    if columns != table.columns.len() {
        return Err(malformed(format_args!(
            "rows of {columns} columns for table '{}.{}' of {}",
            table.database,
            table.table,
            table.columns.len()
        )));
    }
    let first = Present::read(body, &mut reader, columns)?;
    let second = match form.kind {
        RowsKind::Update | RowsKind::PartialUpdate => Present::read(body, &mut reader, columns)?,
        _ => first.clone(),
    };
    let images = if form.compressed {
        crate::compression::inflate(reader.rest())?.into()
    } else {
        body.slice_ref(reader.rest())
    };
    Ok(RowsEvent {
        kind: form.kind,
        table,
        statement_end: flags & STATEMENT_END != 0,
        no_foreign_key_checks: flags & 2 != 0,
        first,
        second,
        images,
    })
}
