//! Transaction events: GTID events of MySQL and MariaDB, and XA, which begin and end transactions.
//!
//! Sources: MySQL's `control_events.h` (`Gtid_event`) and `libs/mysql/serialization` for the tagged
//! form; MariaDB's `Gtid_log_event`, `Gtid_list_log_event` in `sql/log_event.h`.

use pelorus_error::Result;

use crate::event::Gtid;
use crate::reader::{Reader, malformed, utf8};

/// The beginning of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidEvent {
    /// The GTID; `None` for MySQL's anonymous transactions.
    pub gtid: Option<Gtid>,
    /// MySQL: whether the transaction may hold statements (DDL) instead of rows.
    pub may_have_statements: bool,
    /// MySQL: the transaction of this file that must be committed first (replay in parallel).
    pub last_committed: i64,
    /// MySQL: the number of this transaction in its file.
    pub sequence_number: i64,
    /// MySQL 8: when the server that first ran it committed, in microseconds since 1970 UTC.
    pub original_commit: Option<u64>,
    /// MySQL 8: when the server that wrote this event committed, in microseconds since 1970 UTC.
    pub immediate_commit: Option<u64>,
    /// MySQL 8: bytes of the transaction in the log, this event included, uncompressed.
    pub transaction_length: Option<u64>,
    /// MySQL 8: version of the server that first ran it, for example 80036.
    pub original_server_version: Option<u32>,
    /// MySQL 8: version of the server that wrote this event.
    pub immediate_server_version: Option<u32>,
    /// MariaDB: its flags.
    pub mariadb: Option<MariaDbFlags>,
}

/// MariaDB's flags of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariaDbFlags {
    /// One event alone: DDL, or a change that cannot be rolled back. Otherwise this event
    /// represents `BEGIN`, and the transaction goes on to its XID, `COMMIT` or XA PREPARE.
    pub standalone: bool,
    /// DDL.
    pub ddl: bool,
    /// Only transactional tables were changed.
    pub transactional: bool,
    /// `XA PREPARE`.
    pub prepared_xa: bool,
    /// `XA COMMIT` or `XA ROLLBACK` of a prepared transaction.
    pub completed_xa: bool,
    /// Which part of a two-phase ALTER TABLE it is (10.8 on, `binlog_alter_two_phase`).
    pub alter: Option<AlterPhase>,
    /// The XA identifier.
    pub xid: Option<Xid>,
    /// Transactions of one group commit share this number.
    pub group_commit: Option<u64>,
}

/// A part of an ALTER TABLE that is in the binlog twice, with its text each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlterPhase {
    /// It has begun; what comes next still meets the old definition.
    Start,
    /// It counts from here on.
    Commit,
    /// It has failed.
    Rollback,
}

/// An XA identifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Xid {
    /// The format.
    pub format: u32,
    /// The global part.
    pub global: Vec<u8>,
    /// The branch.
    pub branch: Vec<u8>,
}

/// `XA PREPARE`, or `XA COMMIT ... ONE PHASE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XaPrepare {
    /// Whether this commits at once.
    pub one_phase: bool,
    /// The identifier.
    pub xid: Xid,
}

impl XaPrepare {
    pub(crate) fn read(body: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let one_phase = reader.u8()? != 0;
        let format = reader.u32()?;
        let (global, branch) = (reader.u32()?, reader.u32()?);
        let mut part = |length: u32| -> Result<Vec<u8>> {
            let length = usize::try_from(length).map_err(|_| malformed("ends too early"))?;
            Ok(reader.bytes(length)?.to_vec())
        };
        Ok(Self { one_phase, xid: Xid { format, global: part(global)?, branch: part(branch)? } })
    }
}

impl GtidEvent {
    /// MySQL's GTID_LOG and ANONYMOUS_GTID_LOG. What 5.7 does not write yet is `None`.
    pub(crate) fn read_mysql(body: &[u8], anonymous: bool) -> Result<Self> {
        /// Set in the immediate commit time when the original one follows.
        const HAS_ORIGINAL: u64 = 1 << 55;
        /// Set in the immediate version when the original one follows.
        const HAS_ORIGINAL_VERSION: u32 = 1 << 31;
        let mut reader = Reader::new(body);
        let flags = reader.u8()?;
        let source = reader.array()?;
        let sequence = reader.u64()?;
        let gtid = (!anonymous).then_some(Gtid::MySql { source, tag: None, sequence });
        let mut this = Self { gtid, may_have_statements: flags & 1 != 0, ..Self::default() };
        // 5.6 stops here; later ones say by which clock transactions are ordered (2: logical).
        if reader.is_empty() || reader.u8()? != 2 {
            return Ok(this);
        }
        this.last_committed = i64::from_le_bytes(reader.array()?);
        this.sequence_number = i64::from_le_bytes(reader.array()?);
        if reader.remaining() < 7 {
            return Ok(this);
        }
        let immediate = reader.u56()?;
        this.immediate_commit = Some(immediate & !HAS_ORIGINAL);
        this.original_commit = this.immediate_commit;
        if immediate & HAS_ORIGINAL != 0 {
            this.original_commit = Some(reader.u56()?);
        }
        if !reader.is_empty() {
            this.transaction_length = Some(reader.lenenc()?);
        }
        if reader.remaining() >= 4 {
            let immediate = reader.u32()?;
            this.immediate_server_version = Some(immediate & !HAS_ORIGINAL_VERSION);
            this.original_server_version = this.immediate_server_version;
            if immediate & HAS_ORIGINAL_VERSION != 0 {
                this.original_server_version = Some(reader.u32()?);
            }
        }
        Ok(this)
    }

    /// MySQL's GTID_TAGGED_LOG: a message of its serialization library, version 1. Before the
    /// fields are the version, the size of the message and the last field that a reader must know;
    /// each field is its number and its value, and fields may be missing.
    pub(crate) fn read_tagged(body: &[u8]) -> Result<Self> {
        /// The last field known here.
        const KNOWN: u64 = 11;
        let mut reader = Reader::new(body);
        let version = varint(&mut reader)?;
        if version > 1 {
            return Err(malformed(format_args!("GTID of serialization version {version}")));
        }
        let size = varint(&mut reader)?;
        if size > u64::try_from(body.len()).unwrap_or(u64::MAX) {
            return Err(malformed("ends too early"));
        }
        let required = varint(&mut reader)?;
        if required > KNOWN + 1 {
            return Err(malformed(format_args!("GTID with field {required}")));
        }
        let mut this = Self::default();
        let (mut source, mut tag, mut sequence) = ([0; 16], None, 0);
        while !reader.is_empty() {
            match varint(&mut reader)? {
                0 => this.may_have_statements = varint(&mut reader)? & 1 != 0,
                1 => {
                    for byte in &mut source {
                        *byte =
                            u8::try_from(varint(&mut reader)?).map_err(|_| malformed("no UUID"))?;
                    }
                }
                2 => sequence = u64::try_from(signed_varint(&mut reader)?).unwrap_or_default(),
                3 => {
                    let length = usize::try_from(varint(&mut reader)?).unwrap_or(usize::MAX);
                    let text = utf8(reader.bytes(length)?, "a tag")?;
                    tag = (!text.is_empty()).then_some(text);
                }
                4 => this.last_committed = signed_varint(&mut reader)?,
                5 => this.sequence_number = signed_varint(&mut reader)?,
                6 => this.immediate_commit = Some(varint(&mut reader)?),
                7 => this.original_commit = Some(varint(&mut reader)?),
                8 => this.transaction_length = Some(varint(&mut reader)?),
                9 => this.immediate_server_version = u32::try_from(varint(&mut reader)?).ok(),
                10 => this.original_server_version = u32::try_from(varint(&mut reader)?).ok(),
                11 => drop(varint(&mut reader)?),
                // Fields from here on may be ignored, and nothing known follows them.
                _ => break,
            }
        }
        this.original_commit = this.original_commit.or(this.immediate_commit);
        this.original_server_version =
            this.original_server_version.or(this.immediate_server_version);
        this.gtid = Some(Gtid::MySql { source, tag, sequence });
        Ok(this)
    }

    /// MariaDB's GTID_EVENT; the server is in the event's header.
    pub(crate) fn read_mariadb(body: &[u8], server: u32) -> Result<Self> {
        let mut reader = Reader::new(body);
        let sequence = reader.u64()?;
        let domain = reader.u32()?;
        let flags = reader.u8()?;
        let has = |bit: u8| flags & bit != 0;
        let mut about = MariaDbFlags {
            standalone: has(1),
            transactional: has(4),
            ddl: has(32),
            prepared_xa: has(64),
            completed_xa: has(128),
            ..MariaDbFlags::default()
        };
        if has(2) {
            about.group_commit = Some(reader.u64()?);
        }
        if has(64 | 128) {
            let format = reader.u32()?;
            let (global, branch) = (usize::from(reader.u8()?), usize::from(reader.u8()?));
            let (global, branch) = (reader.bytes(global)?.to_vec(), reader.bytes(branch)?.to_vec());
            about.xid = Some(Xid { format, global, branch });
        }
        // Bits 1 to 3 of the further flags: START, COMMIT and ROLLBACK ALTER. Where there are none,
        // zeros fill the event up to the length of its fixed part.
        if !reader.is_empty() {
            about.alter = match reader.u8()? & 0b1110 {
                0 => None,
                2 => Some(AlterPhase::Start),
                4 => Some(AlterPhase::Commit),
                _ => Some(AlterPhase::Rollback),
            };
        }
        let gtid = Some(Gtid::MariaDb { domain, server, sequence });
        Ok(Self { gtid, mariadb: Some(about), ..Self::default() })
    }
}

/// MariaDB's GTID_LIST.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidList {
    /// The last GTID of each domain and server; of a domain, the last entry is its latest.
    pub gtids: Vec<Gtid>,
}

impl GtidList {
    pub(crate) fn read(body: &[u8]) -> Result<Self> {
        /// Bytes of an entry.
        const ENTRY: usize = 16;
        let mut reader = Reader::new(body);
        // The four highest bits are flags for the replica that the list is sent to.
        let count = usize::try_from(reader.u32()? & 0x0FFF_FFFF).unwrap_or(usize::MAX);
        if count > reader.remaining() / ENTRY {
            return Err(malformed("ends too early"));
        }
        let mut gtids = Vec::with_capacity(count);
        for _ in 0..count {
            let (domain, server) = (reader.u32()?, reader.u32()?);
            gtids.push(Gtid::MariaDb { domain, server, sequence: reader.u64()? });
        }
        Ok(Self { gtids })
    }
}

/// An integer of MySQL's serialization library: the number of ones at the low end of the first byte
/// says how many bytes follow; the remaining bits are the lowest of the value.
fn varint(reader: &mut Reader<'_>) -> Result<u64> {
    let first = reader.u8()?;
    let more = first.trailing_ones();
    let high = reader.uint_le(usize::try_from(more).unwrap_or(8))?;
    Ok(match more {
        8 => high,
        7 => high,
        _ => u64::from(first >> (more + 1)) | high << (7 - more),
    })
}

/// The same with the sign in the lowest bit and negative values inverted.
fn signed_varint(reader: &mut Reader<'_>) -> Result<i64> {
    let value = varint(reader)?;
    let magnitude = i64::try_from(value >> 1).map_err(|_| malformed("no number"))?;
    Ok(if value & 1 == 1 { !magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_serialization_library() {
        for (bytes, value) in [
            (&[0_u8][..], 0),
            (&[0b1111_1110], 127),
            (&[0b0000_0001, 2], 128),
            (&[0b1111_1101, 255], 16_383),
            (&[0xFF; 9], u64::MAX),
            (&[0x7F, 1, 2, 3, 4, 5, 6, 7], 0x07_0605_0403_0201),
        ] {
            assert_eq!(varint(&mut Reader::new(bytes)).unwrap(), value, "{bytes:?}");
        }
        assert_eq!(signed_varint(&mut Reader::new(&[0b0000_0110])).unwrap(), -2);
        assert_eq!(signed_varint(&mut Reader::new(&[0b0000_1000])).unwrap(), 2);
    }
}
