//! The optional metadata after a TABLE_MAP: pieces with a type (1 byte), a length and a value.
//! MySQL 8 and MariaDB 10.5 always write the signs of numbers and the charsets, the rest under
//! `binlog_row_metadata = FULL`. Source: `Optional_metadata_field_type` in MySQL's `rows_event.h`.

use pelorus_error::Result;
use pelorus_types::Collation;

use crate::reader::{Reader, malformed, utf8};
use crate::table_map::{SourceColumn, SourceType, TableMap};

/// Reads all pieces into the table.
pub(crate) fn read(table: &mut TableMap, reader: &mut Reader<'_>) -> Result<()> {
    while !reader.is_empty() {
        let kind = reader.u8()?;
        let mut value = Reader::new(reader.lenenc_bytes()?);
        let value = &mut value;
        let columns = &mut table.columns;
        match kind {
            1 => bits(columns, value, |c| c.kind.is_numeric(), |c, bit| c.unsigned = Some(bit))?,
            2 => default_charset(columns, value, |c| c.kind.is_character())?,
            3 => charsets(columns, value, |c| c.kind.is_character())?,
            4 => {
                for column in columns.iter_mut() {
                    if value.is_empty() {
                        break;
                    }
                    column.name = Some(utf8(value.lenenc_bytes()?, "a column")?);
                }
            }
            5 => members(columns, value, |kind| matches!(kind, SourceType::Set(_)))?,
            6 => members(columns, value, |kind| matches!(kind, SourceType::Enum(_)))?,
            7 => numbers(
                columns,
                value,
                |c| matches!(c.kind, SourceType::Geometry(_)),
                |c, n| {
                    c.geometry = Some(n);
                },
            )?,
            8 | 9 => table.primary_key = Some(primary_key(columns.len(), value, kind == 9)?),
            10 => default_charset(columns, value, is_enum_or_set)?,
            11 => charsets(columns, value, is_enum_or_set)?,
            12 => bits(columns, value, |_| true, |c, bit| c.visible = Some(bit))?,
            13 => numbers(
                columns,
                value,
                |c| matches!(c.kind, SourceType::Vector(_)),
                |c, n| {
                    c.dimensions = Some(n);
                },
            )?,
            // Whatever comes next may be left out: that is why the metadata is optional.
            _ => {}
        }
    }
    Ok(())
}

fn is_enum_or_set(column: &SourceColumn) -> bool {
    matches!(column.kind, SourceType::Enum(_) | SourceType::Set(_))
}

/// One bit a column, the highest of a byte first.
fn bits(
    columns: &mut [SourceColumn],
    value: &mut Reader<'_>,
    of: impl Fn(&SourceColumn) -> bool,
    set: impl Fn(&mut SourceColumn, bool),
) -> Result<()> {
    let bytes = value.take_rest();
    for (at, column) in columns.iter_mut().filter(|column| of(column)).enumerate() {
        let byte = bytes.get(at / 8).ok_or_else(|| malformed("a bitmap is too short"))?;
        set(column, byte & (0x80 >> (at % 8)) != 0);
    }
    Ok(())
}

/// One number a column.
fn numbers(
    columns: &mut [SourceColumn],
    value: &mut Reader<'_>,
    of: impl Fn(&SourceColumn) -> bool,
    set: impl Fn(&mut SourceColumn, u64),
) -> Result<()> {
    for column in columns.iter_mut().filter(|column| of(column)) {
        if value.is_empty() {
            break;
        }
        set(column, value.lenenc()?);
    }
    Ok(())
}

fn collation(value: &mut Reader<'_>) -> Result<Collation> {
    u16::try_from(value.lenenc()?).map(Collation).map_err(|_| malformed("no collation"))
}

/// The collation that most columns have, and the others by their number among the columns of text.
fn default_charset(
    columns: &mut [SourceColumn],
    value: &mut Reader<'_>,
    of: impl Fn(&SourceColumn) -> bool,
) -> Result<()> {
    let default = collation(value)?;
    let mut texts: Vec<_> = columns.iter_mut().filter(|column| of(column)).collect();
    for column in &mut texts {
        column.collation = Some(default);
    }
    while !value.is_empty() {
        let at = value.lenenc_len()?;
        let other = collation(value)?;
        let column = texts.get_mut(at).ok_or_else(|| malformed("a charset of no column"))?;
        column.collation = Some(other);
    }
    Ok(())
}

/// The collation of each column.
fn charsets(
    columns: &mut [SourceColumn],
    value: &mut Reader<'_>,
    of: impl Fn(&SourceColumn) -> bool,
) -> Result<()> {
    for column in columns.iter_mut().filter(|column| of(column)) {
        if value.is_empty() {
            break;
        }
        column.collation = Some(collation(value)?);
    }
    Ok(())
}

/// The members of each ENUM or SET.
fn members(
    columns: &mut [SourceColumn],
    value: &mut Reader<'_>,
    of: impl Fn(SourceType) -> bool,
) -> Result<()> {
    for column in columns.iter_mut().filter(|column| of(column.kind)) {
        if value.is_empty() {
            break;
        }
        let count = value.lenenc_len()?;
        // A member takes at least the byte of its length.
        if count > value.remaining() {
            return Err(malformed("ends too early"));
        }
        let members: Result<Vec<_>> =
            (0..count).map(|_| value.lenenc_bytes().map(<[u8]>::to_vec)).collect();
        column.members = Some(members?.into());
    }
    Ok(())
}

fn primary_key(
    columns: usize,
    value: &mut Reader<'_>,
    prefixes: bool,
) -> Result<Vec<(usize, u64)>> {
    let mut key = Vec::new();
    while !value.is_empty() {
        let column = value.lenenc_len()?;
        if column >= columns {
            return Err(malformed("a key of no column"));
        }
        key.push((column, if prefixes { value.lenenc()? } else { 0 }));
    }
    Ok(key)
}
