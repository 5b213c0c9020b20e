//! Decodes chunks: the description and the columns (`docs/internals/format-chunk.md`).

mod column;
mod packed;
mod zone;

use crate::bytes::{Cursor, Decoded, long, size};
use crate::values::Column;

pub(crate) use zone::Zone;

/// Most rows of a chunk.
pub(crate) const ROWS_MAX: usize = 131_072;
/// Rows of a vector.
pub(crate) const VECTOR: usize = 2048;

/// A column in the description of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct ColumnAt {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    checksum: u32,
    pub(crate) codec: u8,
    pub(crate) width: u8,
    pub(crate) nulls: u32,
    pub(crate) zone: Zone,
    /// Positions of the smallest and the largest value of each vector; empty where none are given.
    pub(crate) vectors: Vec<(u16, u16)>,
}

/// The description of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<ColumnAt>,
}

impl Description {
    pub(crate) fn parse(bytes: &[u8]) -> Decoded<Self> {
        let from = &mut Cursor::new(bytes);
        let version = from.u8()?;
        if version != 1 {
            return Err(format!("the description of the chunk has unknown version {version}"));
        }
        let rows = from.count(ROWS_MAX, "rows")?;
        let count = from.count_of_rest("columns")?;
        let columns = (0..count).map(|_| parse_column(from, rows)).collect::<Decoded<_>>()?;
        from.end()?;
        let this = Self { rows, columns };
        if this.columns.is_empty() && rows != 0 {
            return Err(format!("a chunk without columns has {rows} rows"));
        }
        Ok(this)
    }

    /// Checks that sub-blocks follow each other up to the end of the chunk, with zeros between.
    pub(crate) fn check_places(&self, chunk: &[u8]) -> Decoded<()> {
        let mut end = 0_u64;
        for (number, column) in self.columns.iter().enumerate() {
            let begin = end.next_multiple_of(64);
            if column.offset != begin {
                return Err(format!(
                    "column {number} begins at {} of the chunk, not at {begin}",
                    column.offset
                ));
            }
            let gap = usize::try_from(end).ok().zip(usize::try_from(begin).ok());
            let gap = gap.and_then(|(from, to)| chunk.get(from..to));
            if gap.is_none_or(|gap| gap.iter().any(|byte| *byte != 0)) {
                return Err(format!("the bytes before column {number} are not zeros"));
            }
            end = begin
                .checked_add(column.length)
                .filter(|end| *end <= long(chunk.len()))
                .ok_or_else(|| format!("column {number} reaches beyond the chunk"))?;
        }
        if end != long(chunk.len()) {
            return Err(format!("the chunk has {} bytes, its columns end at {end}", chunk.len()));
        }
        Ok(())
    }

    /// Decodes a column and checks it against its description.
    pub(crate) fn decode(&self, number: usize, chunk: &[u8]) -> Decoded<Decoding> {
        let column = self.columns.get(number).ok_or("there is no such column")?;
        let begin = usize::try_from(column.offset).ok();
        let end = column.offset.checked_add(column.length).and_then(|it| usize::try_from(it).ok());
        let bytes = begin.zip(end).and_then(|(begin, end)| chunk.get(begin..end));
        let bytes = bytes.ok_or("it lies outside of the chunk")?;
        let found = crc32c::crc32c(bytes);
        if found != column.checksum {
            return Err(format!("its checksum is {found:08x} instead of {:08x}", column.checksum));
        }
        let (values, head) = column::decode(&packed::plain(bytes)?)?;
        if values.rows() != self.rows {
            return Err(format!("it has {} rows, the chunk {}", values.rows(), self.rows));
        }
        let said = (column.codec, column.width, column.nulls);
        if said != (head.codec, head.width, head.nulls) {
            return Err("the description has another codec, width or NULL count".into());
        }
        let nulls = values.null_count();
        if nulls != size(column.nulls) {
            return Err(format!("{nulls} rows are NULL, it says {}", column.nulls));
        }
        let zone = zone::check(column, &values);
        Ok(Decoding { column: values, decimals: (head.precision, head.scale), zone })
    }
}

/// A column that could be decoded.
#[derive(Debug)]
pub(crate) struct Decoding {
    pub(crate) column: Column,
    /// Precision and scale.
    pub(crate) decimals: (u8, i8),
    /// Whether its zone and the positions of its vectors are right.
    pub(crate) zone: Decoded<()>,
}

fn parse_column(from: &mut Cursor<'_>, rows: usize) -> Decoded<ColumnAt> {
    let (offset, length, checksum) = (from.u64()?, from.u64()?, from.u32()?);
    let (codec, width, nulls) = (from.u8()?, from.u8()?, from.u32()?);
    let zone = Zone::parse(from)?;
    let count = usize::from(from.u8()?);
    if count != 0 && count != rows.div_ceil(VECTOR) {
        return Err(format!("positions of {count} vectors, of {rows} rows"));
    }
    let vectors = (0..count).map(|_| Ok((from.u16()?, from.u16()?))).collect::<Decoded<_>>()?;
    Ok(ColumnAt { offset, length, checksum, codec, width, nulls, zone, vectors })
}

/// The name of a codec.
pub(crate) fn codec_name(tag: u8) -> &'static str {
    match tag {
        0 => "null",
        1 => "constant",
        2 => "plain",
        3 => "frame",
        4 => "delta",
        5 => "runs",
        6 => "dictionary",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests;
