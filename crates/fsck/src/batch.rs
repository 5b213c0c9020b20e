//! Decodes row batches: rows as plain bytes (`docs/internals/format-store.md`).

use crate::bytes::{Cursor, Decoded, size};
use crate::values::{Column, Type, Values};

const ROWS_MAX: usize = 1 << 20;
/// The type of a column that is NULL in every row.
const NULL: u8 = 9;

/// Reads a batch whose columns have these types.
pub(crate) fn parse(from: &mut Cursor<'_>, types: &[Type]) -> Decoded<Vec<Column>> {
    let rows = from.count(ROWS_MAX, "rows")?;
    let columns = size(from.u32()?);
    if columns != types.len() {
        return Err(format!("a batch has {columns} columns instead of {}", types.len()));
    }
    types.iter().map(|ty| column(from, Some(*ty), rows)).collect()
}

/// Reads a batch of which only the number of columns is known. Of a column of nothing but NULL
/// the type is made up.
pub(crate) fn parse_by_tags(from: &mut Cursor<'_>, expected: usize) -> Decoded<Vec<Column>> {
    let rows = from.count(ROWS_MAX, "rows")?;
    let columns = size(from.u32()?);
    if columns != expected {
        return Err(format!("a batch has {columns} columns instead of {expected}"));
    }
    (0..columns).map(|_| column(from, None, rows)).collect()
}

fn column(from: &mut Cursor<'_>, ty: Option<Type>, rows: usize) -> Decoded<Column> {
    let tag = from.u8()?;
    if tag == NULL {
        return Ok(Column::nulls(ty.unwrap_or(Type::Bytes), rows));
    }
    let known = Type::from_tag(tag).ok_or_else(|| format!("a column has unknown type {tag}"))?;
    if ty.is_some_and(|ty| ty != known) {
        return Err(format!("a column of another type holds {}s", known.name()));
    }
    let ty = known;
    let valid = if from.bool()? { Some(from.take(rows.div_ceil(8))?.to_vec()) } else { None };
    if let Some(values) = Values::plain(ty, from.clone().take(rows * ty.width())?) {
        from.take(rows * ty.width())?;
        return Ok(Column::new(values, valid));
    }
    let mut spans = Vec::with_capacity(rows.min(from.left() / 4));
    let mut end = 0_usize;
    for length in from.take(rows * 4)?.as_chunks::<4>().0 {
        let begin = end;
        // At most 2^20 lengths of less than 2^32 fit 64 bits.
        end = begin.saturating_add(size(u32::from_le_bytes(*length)));
        spans.push((begin, end));
    }
    if end >= 1 << 31 {
        return Err(format!("a column has strings of {end} bytes"));
    }
    let bytes = from.take(end)?;
    if ty == Type::Text {
        for &(begin, end) in &spans {
            let text = bytes.get(begin..end).map(std::str::from_utf8);
            if !matches!(text, Some(Ok(_))) {
                return Err("a text is not UTF-8".into());
            }
        }
    }
    Ok(Column::new(Values::Strings(spans, bytes.to_vec(), ty == Type::Text), valid))
}
