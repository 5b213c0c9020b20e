//! FORMAT_DESCRIPTION: how the events that follow are written.
//!
//! Body: binlog version (2 bytes, always 4), server version (50, filled up with zeros), time of
//! creation (4), length of headers (1, always 19), the length of the fixed part of each event type
//! from type 1 on (1 each), the checksum algorithm (1) and a checksum (4, there even when the
//! algorithm is none). Servers before MySQL 5.6 and MariaDB 5.3 lack the last two; they are refused.

use pelorus_error::{Error, Result};

use crate::header::HEADER_LEN;
use crate::reader::{Reader, malformed};

/// The checksum after an event's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Nothing.
    #[default]
    None,
    /// CRC-32 (ISO 3309) of the event up to it, in 4 bytes.
    Crc32,
}

/// How the events of a file are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// The server's version, for example `8.0.36` or `10.11.6-MariaDB-log`.
    pub server_version: String,
    /// When the server started with this file, in seconds since 1970 UTC; else 0.
    pub created: u32,
    /// The checksum of the events that follow.
    pub checksum: Checksum,
    post_header_lengths: Vec<u8>,
}

impl FormatDescription {
    /// Reads the body, checksum included.
    pub(crate) fn read(body: &[u8]) -> Result<Self> {
        let (fixed, tail) =
            body.split_last_chunk::<5>().ok_or_else(|| malformed("ends too early"))?;
        let mut reader = Reader::new(fixed);
        let version = reader.u16()?;
        if version != 4 {
            return Err(Error::unsupported(format_args!("binlog version {version}")));
        }
        let name = reader.bytes(50)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let created = reader.u32()?;
        if usize::from(reader.u8()?) != HEADER_LEN {
            return Err(malformed("events have headers of another length"));
        }
        let checksum = match tail[0] {
            0 | 255 => Checksum::None,
            1 => Checksum::Crc32,
            other => return Err(Error::unsupported(format_args!("binlog checksum {other}"))),
        };
        Ok(Self {
            server_version: String::from_utf8_lossy(&name[..end]).into_owned(),
            created,
            checksum,
            post_header_lengths: reader.take_rest().to_vec(),
        })
    }

    /// Whether MariaDB wrote the events.
    pub fn is_mariadb(&self) -> bool {
        self.server_version.contains("MariaDB")
    }

    /// Bytes of the fixed part of an event type, or the length that this crate knows for types
    /// beyond the description.
    pub(crate) fn post_header_length(&self, kind: u8) -> Option<u8> {
        self.post_header_lengths.get(usize::from(kind).checked_sub(1)?).copied()
    }
}
