//! Decodes header slots.

use std::io;

use pelorus_env::{DiskFile, read_exact_at};

use crate::blocks::UNIT;
use crate::bytes::{Cursor, Decoded, u32_at};

/// One header slot's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) slot: u32,
    pub(crate) database: [u8; 16],
    pub(crate) table: u64,
    pub(crate) checkpoint: u64,
    pub(crate) previous: u64,
    pub(crate) lsn: u64,
    pub(crate) previous_lsn: u64,
    /// Block number of the root; 0 if there is none.
    pub(crate) root: u64,
    pub(crate) length: u64,
    /// Place, payload length and check of the translation table; zeros if it is empty.
    pub(crate) map: (u64, u64, u64),
}

/// The content of a slot.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Valid(Header),
    /// Of a later version: the file must not be touched.
    Later(String),
    Invalid(String),
}

/// The expected identity of the file. `None` accepts that of the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) database: Option<[u8; 16]>,
    pub(crate) table: Option<u64>,
}

/// Reads a slot.
pub(crate) fn read_slot(file: &dyn DiskFile, number: u32, expected: Expected) -> Slot {
    let mut bytes = vec![0; 4096];
    if let Err(error) = read_exact_at(file, &mut bytes, u64::from(number) * UNIT) {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file is too short for it".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        return Slot::Invalid(why);
    }
    parse_slot(&bytes, number, expected).unwrap_or_else(Slot::Invalid)
}

fn parse_slot(bytes: &[u8], number: u32, expected: Expected) -> Decoded<Slot> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Err("it was cleared".into());
    }
    let from = &mut Cursor::new(bytes);
    if from.take(8)? != b"PELORUSB" {
        return Err("its magic is missing".into());
    }
    if crc32c::crc32c(&bytes[..4092]) != u32_at(bytes, 4092) {
        return Err("its checksum is wrong".into());
    }
    let (version, slot) = (from.u32()?, from.u32()?);
    let (required, _optional) = (from.u64()?, from.u64()?);
    if version != 1 || required != 0 {
        return Ok(Slot::Later(format!(
            "the file has format {version} with required features {required:#x}, which are not \
             known here"
        )));
    }
    if slot != number {
        return Err(format!("it was written for slot {slot}"));
    }
    let (database, table) = (from.uuid()?, from.u64()?);
    if expected.database.is_some_and(|it| it != database) {
        return Err("it belongs to another database".into());
    }
    if expected.table.is_some_and(|it| it != table) {
        return Err(format!("it belongs to table {table}"));
    }
    Ok(Slot::Valid(Header {
        slot,
        database,
        table,
        checkpoint: from.u64()?,
        previous: from.u64()?,
        lsn: from.u64()?,
        previous_lsn: from.u64()?,
        root: from.u64()?,
        length: from.u64()?,
        map: (from.u64()?, from.u64()?, from.u64()?),
    }))
}
