//! A header slot: the number of its checkpoint, and the location of its translation table.

use pelorus_error::{Code, Error, Result};

use super::{Fields, Identity, PAYLOAD_MAX, RESERVED, UNIT, damaged};

/// Bytes of a header slot; slot `n` begins at `n * SLOT`.
pub(crate) const SLOT: usize = 4096;

const MAGIC: [u8; 8] = *b"PELORUSB";
const VERSION: u32 = 1;
const CRC_AT: usize = SLOT - 4;

/// The location of a translation table, and its expected block header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableRef {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) check: u64,
}

/// The contents of a header slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) slot: u32,
    pub(crate) identity: Identity,
    pub(crate) number: u64,
    pub(crate) previous: u64,
    pub(crate) lsn: u64,
    pub(crate) previous_lsn: u64,
    /// 0 is no root.
    pub(crate) root: u64,
    pub(crate) file_length: u64,
    /// `None` is an empty table.
    pub(crate) table: Option<TableRef>,
}

impl Header {
    /// The header of a new file for one of the two slots.
    pub(crate) fn initial(identity: Identity, slot: u32) -> Self {
        Self {
            slot,
            identity,
            number: u64::from(slot),
            previous: 0,
            lsn: 0,
            previous_lsn: 0,
            root: 0,
            file_length: RESERVED,
            table: None,
        }
    }

    pub(crate) fn encode(&self) -> [u8; SLOT] {
        let table = self.table.unwrap_or(TableRef { offset: 0, length: 0, check: 0 });
        let mut bytes = [0; SLOT];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &self.slot.to_le_bytes());
        put(32, &self.identity.database);
        let numbers = [
            self.identity.table,
            self.number,
            self.previous,
            self.lsn,
            self.previous_lsn,
            self.root,
            self.file_length,
            table.offset,
            table.length,
            table.check,
        ];
        for (index, number) in numbers.into_iter().enumerate() {
            put(48 + 8 * index, &number.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Whose file the bytes of a slot say that it is; true if they can be decoded.
    pub(crate) fn identity_in(bytes: &[u8; SLOT]) -> Identity {
        let fields = Fields(bytes);
        Identity { database: fields.bytes(32), table: fields.u64(48) }
    }

    /// Decodes and verifies the bytes of one slot.
    ///
    /// # Errors
    /// [`Code::FileVersion`] for an intact header of a version or with features that are unknown;
    /// [`Code::FileDamaged`] for everything else.
    pub(crate) fn decode(bytes: &[u8; SLOT], slot: u32, identity: Identity) -> Result<Self> {
        let fields = Fields(bytes);
        if fields.bytes(0) != MAGIC {
            return Err(damaged("no header is there"));
        }
        if fields.u32(CRC_AT) != crc32c::crc32c(&bytes[..CRC_AT]) {
            return Err(damaged("checksum mismatch"));
        }
        let (version, features) = (fields.u32(8), fields.u64(16));
        if version != VERSION || features != 0 {
            return Err(Error::new(
                Code::FileVersion,
                format!("format version {version} with features {features:#x} is unknown"),
            ));
        }
        let header = Self {
            slot: fields.u32(12),
            identity: Self::identity_in(bytes),
            number: fields.u64(56),
            previous: fields.u64(64),
            lsn: fields.u64(72),
            previous_lsn: fields.u64(80),
            root: fields.u64(88),
            file_length: fields.u64(96),
            table: (fields.u64(104) != 0).then(|| TableRef {
                offset: fields.u64(104),
                length: fields.u64(112),
                check: fields.u64(120),
            }),
        };
        if header.slot != slot {
            return Err(damaged(format!("it was written for slot {}", header.slot)));
        }
        if header.identity != identity {
            return Err(damaged(format!(
                "it belongs to table {} of another file",
                header.identity.table
            )));
        }
        let table_fits = header.table.is_none_or(|table| {
            table.offset.is_multiple_of(UNIT)
                && table.offset >= RESERVED
                && table.length <= u64::from(PAYLOAD_MAX)
                && table.offset.saturating_add(table.length) <= header.file_length
        });
        if !table_fits || !header.file_length.is_multiple_of(UNIT) || header.file_length < RESERVED
        {
            return Err(damaged("its translation table lies outside the file"));
        }
        Ok(header)
    }
}
