//! Decodes schemas (`docs/internals/format-store.md`): columns by number, their storage types, the
//! primary key.

use std::collections::BTreeSet;

use crate::batch;
use crate::bytes::{Cursor, Decoded, size};
use crate::values::{Column, Type, Value};

const COLUMNS_MAX: usize = 4096;
const UNSIGNED: u16 = 32;
const BINARY: u16 = 63;
const UTF8MB4_0900_BIN: u16 = 309;

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnOf {
    pub(crate) id: u32,
    pub(crate) ty: Type,
    /// Precision and scale in chunks.
    pub(crate) decimals: (u8, i8),
    pub(crate) collation: u16,
    /// One row, for rows that were written before the column was added.
    pub(crate) filler: Option<Column>,
}

/// The schema under which rows are written.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) columns: Vec<ColumnOf>,
    /// Positions of the columns of the primary key.
    pub(crate) key: Vec<usize>,
}

impl Schema {
    pub(crate) fn parse(from: &mut Cursor<'_>) -> Decoded<Self> {
        let count = from.count(COLUMNS_MAX, "columns")?;
        let columns = (0..count).map(|_| parse_column(from)).collect::<Decoded<Vec<_>>>()?;
        let distinct: BTreeSet<u32> = columns.iter().map(|column| column.id).collect();
        let has_last = distinct.contains(&u32::MAX);
        if columns.is_empty() || distinct.len() != columns.len() || has_last {
            return Err("a schema has no columns, two of one number, or the last number".into());
        }
        let count = from.count(COLUMNS_MAX, "columns of the key")?;
        let key = (0..count).map(|_| Ok(size(from.u32()?))).collect::<Decoded<Vec<_>>>()?;
        if key.is_empty() || key.iter().any(|at| *at >= columns.len()) {
            return Err("a schema has no key, or one of columns that it does not have".into());
        }
        for _ in 0..from.count(COLUMNS_MAX, "segment functions")? {
            let (column, function, argument) = (size(from.u32()?), from.u8()?, from.u64()?);
            let small = !matches!(function, 1 | 3 | 5) || u32::try_from(argument).is_ok();
            if column >= columns.len() || function > 5 || !small {
                return Err(format!(
                    "a schema has segment function {function} of column {column}, argument \
                     {argument}"
                ));
            }
        }
        let _history = (from.u64()?, from.u64()?);
        Ok(Self { columns, key })
    }

    pub(crate) fn types(&self) -> Vec<Type> {
        self.columns.iter().map(|column| column.ty).collect()
    }

    pub(crate) fn key_types(&self) -> Vec<Type> {
        self.key_columns().map(|column| column.ty).collect()
    }

    pub(crate) fn key_columns(&self) -> impl Iterator<Item = &ColumnOf> {
        self.key.iter().filter_map(|at| self.columns.get(*at))
    }

    /// The position of a column by its number.
    pub(crate) fn position(&self, id: u32) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// Positions of the key's columns of `newer` in this schema.
    pub(crate) fn key_positions(&self, newer: &Schema) -> Option<Vec<usize>> {
        newer.key_columns().map(|column| self.position(column.id)).collect()
    }

    /// Checks that another schema can be of the same table: the same columns for the key, and
    /// columns of one number stored alike.
    pub(crate) fn check_same_table(&self, newer: &Schema) -> Decoded<()> {
        let key = |of: &Schema| -> Vec<u32> { of.key_columns().map(|it| it.id).collect() };
        if key(self) != key(newer) {
            return Err("two schemas of the table differ in the primary key".into());
        }
        for column in &self.columns {
            let other = newer.columns.iter().find(|it| it.id == column.id);
            if other.is_some_and(|it| it.ty != column.ty || it.decimals != column.decimals) {
                return Err(format!(
                    "two schemas of the table differ in how column {} is stored",
                    column.id
                ));
            }
        }
        Ok(())
    }

    /// Whether keys can be compared without knowing a collation.
    pub(crate) fn is_key_comparable(&self) -> bool {
        self.key_columns().all(|column| {
            column.ty != Type::Text || matches!(column.collation, BINARY | UTF8MB4_0900_BIN)
        })
    }
}

fn parse_column(from: &mut Cursor<'_>) -> Decoded<ColumnOf> {
    let id = from.u32()?;
    let (wire, flags, collation) = (from.u8()?, from.u16()?, from.u16()?);
    let (length, digits) = (from.u32()?, from.u8()?);
    let (ty, decimals) = stored(wire, flags, collation, length, digits)
        .ok_or_else(|| format!("column {id} has unknown type byte {wire}"))?;
    let filler = if from.bool()? {
        let bytes = &mut Cursor::new(from.bytes()?);
        let read = batch::parse(bytes, &[ty]).and_then(|columns| Ok((columns, bytes.end()?)));
        let (columns, ()) = read.map_err(|why| format!("the filler of column {id}: {why}"))?;
        let filler = columns.into_iter().next().filter(|column| column.rows() == 1);
        Some(filler.ok_or_else(|| format!("the filler of column {id} is not one row"))?)
    } else {
        None
    };
    Ok(ColumnOf { id, ty, decimals, collation, filler })
}

/// How a protocol type is stored; `None` for type bytes that there are not.
fn stored(
    wire: u8,
    flags: u16,
    collation: u16,
    length: u32,
    digits: u8,
) -> Option<(Type, (u8, i8))> {
    let is_unsigned = flags & UNSIGNED != 0;
    let ty = match wire {
        13 | 16 => Type::UInt,
        1 | 2 | 3 | 8 | 9 if is_unsigned => Type::UInt,
        1 | 2 | 3 | 8 | 9 | 7 | 10 | 11 | 12 => Type::Int,
        4 => Type::Float,
        5 => Type::Double,
        0 | 246 => {
            let others = u32::from(digits > 0) + u32::from(!is_unsigned);
            let precision = length.saturating_sub(others).clamp(1, 65);
            let scale = digits.min(38).cast_signed();
            return Some(match precision {
                ..=38 => (Type::Decimal, (38, scale)),
                _ => (Type::Wide, (76, scale)),
            });
        }
        242 | 255 => Type::Bytes,
        15 | 247..=254 if collation == BINARY => Type::Bytes,
        15 | 245 | 247..=254 => Type::Text,
        _ => return None,
    };
    Some((ty, (0, 0)))
}

/// A key as bytes that are equal for equal keys; `None` if a value is NULL. Only for keys that can
/// be compared.
pub(crate) fn key_bytes<'a>(values: impl Iterator<Item = Value<'a>>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let string = |bytes: &[u8]| {
        let mut all = crate::bytes::long(bytes.len()).to_le_bytes().to_vec();
        all.extend_from_slice(bytes);
        all
    };
    for value in values {
        match value {
            Value::Null => return None,
            Value::Int(value) => out.extend(value.to_le_bytes()),
            Value::UInt(value) => out.extend(value.to_le_bytes()),
            // Adding zero makes the negative zero a positive one.
            Value::Float(value) => out.extend((value + 0.0).to_le_bytes()),
            Value::Double(value) => out.extend((value + 0.0).to_le_bytes()),
            Value::Decimal(value) => out.extend(value.to_le_bytes()),
            Value::WideDecimal(value) => {
                out.extend(value.low.to_le_bytes());
                out.extend(value.high.to_le_bytes());
            }
            Value::Text(value) => out.extend(string(value.as_bytes())),
            Value::Bytes(value) => out.extend(string(value)),
        }
    }
    Some(out)
}
