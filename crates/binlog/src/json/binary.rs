//! Binary JSON documents: a type byte and a value. Arrays and objects have the number of elements
//! and their size in bytes (2 bytes each, or 4 in the large forms), for each key its offset and its
//! length (2 bytes), for each value its type byte and its offset or, if it is small, the value.
//! Offsets count from the byte after the type byte of the array or object.

use std::borrow::Cow;

use pelorus_error::Result;

use super::Json;
use crate::reader::{Reader, malformed};

/// Deeper than any document that MySQL takes (100).
const MAX_DEPTH: usize = 128;

/// What may still be read. Keys and values of a true document do not overlap, so all together they
/// are no larger than the document (each has an entry of its own, though its text may be empty); a
/// false one whose values point at each other is cut off here.
struct Budget(usize);

impl Budget {
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.0 =
            self.0.checked_sub(bytes).ok_or_else(|| malformed("a JSON document in circles"))?;
        Ok(())
    }
}

/// Reads a document. No bytes at all are a JSON null, which MySQL stores so in some tables.
pub(super) fn read(document: &[u8]) -> Result<Json<'_>> {
    let Some((kind, value)) = document.split_first() else { return Ok(Json::Null) };
    let mut budget = Budget(document.len() + 16);
    read_value(*kind, value, 0, &mut budget)
}

fn read_value<'a>(
    kind: u8,
    bytes: &'a [u8],
    depth: usize,
    budget: &mut Budget,
) -> Result<Json<'a>> {
    let mut reader = Reader::new(bytes);
    budget.spend(1)?;
    Ok(match kind {
        0 => read_object(bytes, false, depth, budget)?,
        1 => read_object(bytes, true, depth, budget)?,
        2 => read_array(bytes, false, depth, budget)?,
        3 => read_array(bytes, true, depth, budget)?,
        4 => literal(reader.u8()?)?,
        5 => Json::Int(i64::from(i16::from_le_bytes(reader.array()?))),
        6 => Json::UInt(u64::from(reader.u16()?)),
        7 => Json::Int(i64::from(i32::from_le_bytes(reader.array()?))),
        8 => Json::UInt(u64::from(reader.u32()?)),
        9 => Json::Int(i64::from_le_bytes(reader.array()?)),
        10 => Json::UInt(reader.u64()?),
        11 => Json::Double(f64::from_le_bytes(reader.array()?)),
        12 => {
            let length = variable_length(&mut reader)?;
            budget.spend(length)?;
            Json::Text(Cow::Borrowed(reader.bytes(length)?))
        }
        15 => {
            let field = reader.u8()?;
            let length = variable_length(&mut reader)?;
            budget.spend(length)?;
            Json::Opaque(field, reader.bytes(length)?)
        }
        other => return Err(malformed(format_args!("JSON type {other}"))),
    })
}

fn literal(byte: u8) -> Result<Json<'static>> {
    match byte {
        0 => Ok(Json::Null),
        1 => Ok(Json::Bool(true)),
        2 => Ok(Json::Bool(false)),
        _ => Err(malformed("JSON literal")),
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that more follows.
fn variable_length(reader: &mut Reader<'_>) -> Result<usize> {
    let mut length = 0_usize;
    for shift in (0..35).step_by(7) {
        let byte = reader.u8()?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(length);
        }
    }
    Err(malformed("length of a JSON text"))
}

/// The head of an array or object.
struct Head<'a> {
    /// All of it, which offsets count from.
    all: &'a [u8],
    count: usize,
    large: bool,
    reader: Reader<'a>,
}

impl<'a> Head<'a> {
    fn read(bytes: &'a [u8], large: bool, depth: usize, entry: usize) -> Result<Self> {
        if depth >= MAX_DEPTH {
            return Err(malformed("a JSON document too deep"));
        }
        let mut reader = Reader::new(bytes);
        let count = number(&mut reader, large)?;
        let size = number(&mut reader, large)?;
        let all = bytes.get(..size).ok_or_else(|| malformed("a JSON document ends too early"))?;
        if count > reader.remaining() / entry {
            return Err(malformed("a JSON document ends too early"));
        }
        Ok(Self { all, count, large, reader })
    }

    /// The next value of the table of values.
    fn value(&mut self, depth: usize, budget: &mut Budget) -> Result<Json<'a>> {
        let kind = self.reader.u8()?;
        let inlined = match kind {
            4..=6 => true,
            7 | 8 => self.large,
            _ => false,
        };
        if inlined {
            let bytes = self.reader.bytes(if self.large { 4 } else { 2 })?;
            return read_value(kind, bytes, depth, budget);
        }
        let offset = number(&mut self.reader, self.large)?;
        let bytes = self.all.get(offset..).ok_or_else(|| malformed("offset of a JSON value"))?;
        read_value(kind, bytes, depth, budget)
    }
}

fn number(reader: &mut Reader<'_>, large: bool) -> Result<usize> {
    if large {
        usize::try_from(reader.u32()?).map_err(|_| malformed("size of a JSON document"))
    } else {
        reader.u16().map(usize::from)
    }
}

fn read_array<'a>(
    bytes: &'a [u8],
    large: bool,
    depth: usize,
    budget: &mut Budget,
) -> Result<Json<'a>> {
    let mut head = Head::read(bytes, large, depth, if large { 5 } else { 3 })?;
    let mut values = Vec::new();
    for _ in 0..head.count {
        values.push(head.value(depth + 1, budget)?);
    }
    Ok(Json::Array(values))
}

fn read_object<'a>(
    bytes: &'a [u8],
    large: bool,
    depth: usize,
    budget: &mut Budget,
) -> Result<Json<'a>> {
    let mut head = Head::read(bytes, large, depth, if large { 11 } else { 7 })?;
    let mut keys = Vec::new();
    for _ in 0..head.count {
        let offset = number(&mut head.reader, large)?;
        let length = usize::from(head.reader.u16()?);
        let key = head.all.get(offset..).and_then(|rest| rest.get(..length));
        budget.spend(1 + length)?;
        keys.push(key.ok_or_else(|| malformed("offset of a JSON key"))?);
    }
    let mut members = Vec::with_capacity(keys.len());
    for key in keys {
        members.push((Cow::Borrowed(key), head.value(depth + 1, budget)?));
    }
    Ok(Json::Object(members))
}
