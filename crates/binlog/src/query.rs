//! QUERY events: statements, with the session state that they need.
//!
//! Body: thread (4), seconds of execution (4), length of the database's name (1), error (2), length
//! of the status variables (2), the status variables, the database and a zero, the text. Sources:
//! MySQL's `statement_events.h`, MariaDB's `sql/log_event.h` (`Q_...` codes).

use std::borrow::Cow;

use bytes::Bytes;
use pelorus_error::Result;
use pelorus_types::Collation;

use crate::charset;
use crate::reader::{Reader, malformed, utf8};

/// Bits of MariaDB's further flags: COMMIT ALTER and ROLLBACK ALTER, which name what they end.
const ALTER_ENDS: u8 = 0b1100;

/// A statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The connection that ran it.
    pub thread: u32,
    /// How long it ran, in seconds.
    pub seconds: u32,
    /// The error that it ended with, 0 if none.
    pub error: u16,
    /// The current database; empty for none.
    pub database: String,
    /// The session state under which the text must be read.
    pub status: Status,
    /// The statement as the client sent it, in [`Status::client`]'s charset.
    pub bytes: Bytes,
}

/// The status variables of a statement, as far as its meaning hangs on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `OPTION_...` bits: autocommit, foreign_key_checks and such.
    pub flags2: Option<u32>,
    /// `sql_mode`, as the server's bits.
    pub sql_mode: Option<u64>,
    /// The collation of `character_set_client`: the charset of the text.
    pub client: Option<Collation>,
    /// `collation_connection`: of literals.
    pub connection: Option<Collation>,
    /// `collation_server`: of new databases.
    pub server: Option<Collation>,
    /// `collation_database`: of new tables, where it is not that of the database.
    pub database: Option<Collation>,
    /// `default_collation_for_utf8mb4` (MySQL 8).
    pub default_for_utf8mb4: Option<Collation>,
    /// MariaDB's `character_set_collations`: charset (by its default collation) and collation.
    pub charset_collations: Vec<(Collation, Collation)>,
    /// `time_zone`, where the statement uses it.
    pub time_zone: Option<String>,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: Option<(u16, u16)>,
    /// Microseconds of the moment in the header, where the statement uses them.
    pub microseconds: Option<u32>,
    /// The databases that the statement changes; `None` if the event does not contain them, or has
    /// too many.
    pub databases: Option<Vec<String>>,
    /// `explicit_defaults_for_timestamp` (MySQL 8).
    pub explicit_defaults_for_timestamp: Option<bool>,
    /// The number under which DDL commits.
    pub xid: Option<u64>,
}

impl Query {
    /// Reads the body. `fixed` is the length of the fixed part: more than 13 for the statements of
    /// LOAD DATA, which name a file there.
    pub(crate) fn read(body: &Bytes, fixed: usize) -> Result<Self> {
        let mut reader = Reader::new(body);
        let thread = reader.u32()?;
        let seconds = reader.u32()?;
        let database_len = usize::from(reader.u8()?);
        let error = reader.u16()?;
        let status_len = usize::from(reader.u16()?);
        reader.bytes(fixed.saturating_sub(13))?;
        let status = Status::read(reader.bytes(status_len)?)?;
        let database = utf8(reader.bytes(database_len)?, "a database")?;
        reader.zero()?;
        let bytes = body.slice_ref(reader.rest());
        Ok(Self { thread, seconds, error, database, status, bytes })
    }

    /// The text of the statement.
    ///
    /// # Errors
    /// When its charset is not one of those that are read here, or it is not of its charset.
    pub fn text(&self) -> Result<Cow<'_, str>> {
        charset::decode(self.status.client.unwrap_or(Collation(33)), &self.bytes)
    }

    /// Whether the client sent its text without a charset (`SET NAMES binary`): names are UTF-8
    /// then, and literals in the charsets of their columns.
    pub fn is_binary(&self) -> bool {
        self.status.client == Some(Collation(63))
    }
}

impl Status {
    /// Reads the variables; the part after an unknown variable stays unread, because its length is
    /// unknown.
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut this = Self::default();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let code = reader.u8()?;
            if !this.read_one(code, &mut reader)? {
                break;
            }
        }
        Ok(this)
    }

    fn read_one(&mut self, code: u8, reader: &mut Reader<'_>) -> Result<bool> {
        match code {
            0 => self.flags2 = Some(reader.u32()?),
            1 => self.sql_mode = Some(reader.u64()?),
            2 => {
                // The catalog of MySQL 5.0, with a zero after it.
                reader.short_bytes()?;
                reader.zero()?;
            }
            3 => self.auto_increment = Some((reader.u16()?, reader.u16()?)),
            4 => {
                self.client = Some(Collation(reader.u16()?));
                self.connection = Some(Collation(reader.u16()?));
                self.server = Some(Collation(reader.u16()?));
            }
            5 => self.time_zone = Some(utf8(reader.short_bytes()?, "a time zone")?),
            6 => drop(reader.short_bytes()?),
            7 => drop(reader.u16()?),
            8 => self.database = Some(Collation(reader.u16()?)),
            9 => drop(reader.u64()?),
            10 => drop(reader.u32()?),
            11 => {
                // Who ran it: user and host.
                reader.short_bytes()?;
                reader.short_bytes()?;
            }
            12 => self.databases = databases(reader)?,
            13 => self.microseconds = Some(reader.u24()?),
            16 => self.explicit_defaults_for_timestamp = Some(reader.u8()? != 0),
            17 => self.xid = Some(reader.u64()?),
            18 => self.default_for_utf8mb4 = Some(Collation(reader.u16()?)),
            19 | 20 => drop(reader.u8()?),
            128 => self.microseconds = Some(reader.u24()?),
            129 => self.xid = Some(reader.u64()?),
            130 => {
                // Of an ALTER in two phases: its flags, and at the end which one it is the end of.
                if reader.u8()? & ALTER_ENDS != 0 {
                    reader.u64()?;
                }
            }
            131 => {
                for _ in 0..reader.u8()? {
                    let pair = (Collation(reader.u16()?), Collation(reader.u16()?));
                    self.charset_collations.push(pair);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn databases(reader: &mut Reader<'_>) -> Result<Option<Vec<String>>> {
    /// More databases than the server lists.
    const TOO_MANY: u8 = 254;
    let count = reader.u8()?;
    if count == TOO_MANY {
        return Ok(None);
    }
    (0..count).map(|_| utf8(reader.nul_bytes()?, "a database")).collect::<Result<_>>().map(Some)
}

/// Puts the uncompressed text of MariaDB's QUERY_COMPRESSED after the part in front of it.
pub(crate) fn decompressed(
    body: &Bytes,
    inflate: impl Fn(&[u8]) -> Result<Vec<u8>>,
) -> Result<Query> {
    let mut query = Query::read(body, 13)?;
    if query.bytes.is_empty() {
        return Err(malformed("a compressed statement is empty"));
    }
    query.bytes = inflate(&query.bytes)?.into();
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_two_phase_alter_have_their_length() {
        let zone = [5, 3, b'U', b'T', b'C'];
        for flags in [
            vec![130, 2],
            vec![130, 4, 7, 0, 0, 0, 0, 0, 0, 0],
            vec![130, 8, 7, 0, 0, 0, 0, 0, 0, 0],
        ] {
            let status = Status::read(&[flags.as_slice(), &zone].concat()).unwrap();
            assert_eq!(status.time_zone.as_deref(), Some("UTC"), "{flags:?}");
        }
    }
}
