//! [`Decoder`]: decodes bytes to events, with the state between events: the format of the file, and
//! the tables of the statement.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use pelorus_error::{Code, Error, Result};

use crate::compression::{self, Payload};
use crate::event::{Event, LogEvent, Rotate};
use crate::format::{Checksum, FormatDescription};
use crate::header::{EventHeader, EventType, FLAG_IN_USE, HEADER_LEN, check_length};
use crate::query::{self, Query};
use crate::reader::{Reader, malformed, utf8};
use crate::rows::{self, Form};
use crate::table_map::TableMap;
use crate::transaction::{GtidEvent, GtidList, XaPrepare};

/// More tables than a statement can write to; a server's statement has at most some dozens.
const MAX_TABLES: usize = 65_536;

/// Turns the events of a file, or of a server's dump, into [`LogEvent`]s.
///
/// Give the bytes of one event to [`Self::push`], then take events with [`Self::next_event`] until
/// there is none: a compressed transaction is one event in the log and gives many. After an error
/// the state is of no use; begin again with a new decoder.
#[derive(Debug, Default)]
pub struct Decoder {
    format: Option<Arc<FormatDescription>>,
    tables: HashMap<u64, Arc<TableMap>>,
    waiting: Option<Bytes>,
    payload: Option<Payload>,
}

impl Decoder {
    /// A decoder that knows nothing yet: the first events must be a ROTATE or a FORMAT_DESCRIPTION.
    pub fn new() -> Self {
        Self::default()
    }

    /// The format of the events, once it is known.
    pub fn format(&self) -> Option<&Arc<FormatDescription>> {
        self.format.as_ref()
    }

    /// Takes the bytes of one event: header, body and checksum.
    ///
    /// # Errors
    /// When events of the last one have not been taken yet.
    pub fn push(&mut self, event: Bytes) -> Result<()> {
        if self.waiting.is_some() || self.payload.is_some() {
            return Err(Error::internal("events of the last bytes were not taken"));
        }
        self.waiting = Some(event);
        Ok(())
    }

    /// The next event; `None` when more bytes are needed.
    ///
    /// # Errors
    /// When bytes do not make sense (1835), a checksum is wrong (1744), or the event or something
    /// in it is not supported (1235).
    pub fn next_event(&mut self) -> Result<Option<LogEvent>> {
        if let Some(payload) = &mut self.payload {
            match payload.next()? {
                Some(bytes) => return self.decode(&bytes, true).map(Some),
                None => self.payload = None,
            }
        }
        match self.waiting.take() {
            Some(bytes) => self.decode(&bytes, false).map(Some),
            None => Ok(None),
        }
    }

    fn decode(&mut self, bytes: &Bytes, inner: bool) -> Result<LogEvent> {
        let header = EventHeader::read(bytes)?;
        check_length(&header, bytes.len())?;
        let kind = EventType::from_byte(header.kind);
        let body = match kind {
            // The description tells its own checksum and has one in any case.
            Some(EventType::FormatDescription) => bytes.slice(HEADER_LEN..),
            _ if inner => bytes.slice(HEADER_LEN..),
            _ => self.without_checksum(bytes)?,
        };
        let event = match kind {
            Some(kind) => self.decode_body(kind, &header, bytes, &body, inner)?,
            None if header.is_ignorable() => Event::Skipped(header.kind),
            None => {
                return Err(Error::unsupported(format_args!("binlog event type {}", header.kind)));
            }
        };
        Ok(LogEvent { header, inner, event })
    }

    /// Checks and takes off the checksum.
    fn without_checksum(&self, bytes: &Bytes) -> Result<Bytes> {
        let checked = match &self.format {
            Some(format) => format.checksum == Checksum::Crc32,
            // The ROTATE in front of the description has one or not; its bytes tell.
            None => has_crc32(bytes),
        };
        if !checked {
            return Ok(bytes.slice(HEADER_LEN..));
        }
        if !has_crc32(bytes) {
            return Err(checksum_error());
        }
        Ok(bytes.slice(HEADER_LEN..bytes.len() - 4))
    }

    fn decode_body(
        &mut self,
        kind: EventType,
        header: &EventHeader,
        bytes: &Bytes,
        body: &Bytes,
        inner: bool,
    ) -> Result<Event> {
        use EventType as T;
        if let Some(form) = Form::of(kind) {
            return self.decode_rows(kind, &form, body);
        }
        Ok(match kind {
            T::FormatDescription => self.begin_file(bytes, body)?,
            T::Rotate => self.rotate(header, body)?,
            T::Query => self.query(Query::read(body, 13)?),
            T::QueryCompressed => self.query(query::decompressed(body, compression::inflate)?),
            T::ExecuteLoadQuery => Event::Query(Query::read(body, 26)?),
            T::Xid => {
                self.tables.clear();
                Event::Xid(Reader::new(body).u64()?)
            }
            T::XaPrepare => Event::XaPrepare(XaPrepare::read(body)?),
            T::TableMap => self.table_map(body)?,
            T::GtidLog => Event::Gtid(GtidEvent::read_mysql(body, false)?),
            T::AnonymousGtidLog => Event::Gtid(GtidEvent::read_mysql(body, true)?),
            T::GtidTaggedLog => Event::Gtid(GtidEvent::read_tagged(body)?),
            T::MariaGtid => Event::Gtid(GtidEvent::read_mariadb(body, header.server_id)?),
            T::PreviousGtids => Event::PreviousGtids(body.clone()),
            T::GtidList => Event::GtidList(GtidList::read(body)?),
            T::TransactionPayload if !inner => {
                let payload = Payload::read(body)?;
                let uncompressed = payload.uncompressed;
                self.payload = Some(payload);
                Event::TransactionPayload { uncompressed }
            }
            T::RowsQuery => Event::RowsQuery(body.slice(1.min(body.len())..)),
            T::AnnotateRows => Event::RowsQuery(body.clone()),
            T::BinlogCheckpoint => {
                let mut reader = Reader::new(body);
                let length = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
                Event::BinlogCheckpoint(utf8(reader.bytes(length)?, "a file")?)
            }
            T::Heartbeat => Event::Heartbeat {
                file: utf8(body, "a file")?,
                position: u64::from(header.end_position),
            },
            T::HeartbeatV2 => heartbeat(body)?,
            T::Incident => {
                let mut reader = Reader::new(body);
                let number = reader.u16()?;
                let message = String::from_utf8_lossy(reader.short_bytes()?).into_owned();
                Event::Incident { number, message }
            }
            T::Stop => Event::Stop,
            T::IntVar
            | T::Rand
            | T::UserVar
            | T::BeginLoadQuery
            | T::AppendBlock
            | T::DeleteFile => Event::StatementData(kind),
            T::Ignorable | T::TransactionContext | T::ViewChange => Event::Skipped(header.kind),
            _ if header.is_ignorable() => Event::Skipped(header.kind),
            T::StartEncryption => {
                return Err(Error::unsupported("an encrypted binlog (START_ENCRYPTION_EVENT)"));
            }
            other => {
                return Err(Error::unsupported(format_args!("binlog event {}", other.name())));
            }
        })
    }

    /// Statements end what tables are open: row events of the next one name theirs again.
    fn query(&mut self, query: Query) -> Event {
        self.tables.clear();
        Event::Query(query)
    }

    fn begin_file(&mut self, bytes: &Bytes, body: &Bytes) -> Result<Event> {
        let format = Arc::new(FormatDescription::read(body)?);
        if format.checksum == Checksum::Crc32 && !has_crc32(bytes) {
            return Err(checksum_error());
        }
        self.tables.clear();
        self.format = Some(Arc::clone(&format));
        Ok(Event::FormatDescription(format))
    }

    fn rotate(&mut self, header: &EventHeader, body: &Bytes) -> Result<Event> {
        let mut reader = Reader::new(body);
        let position = reader.u64()?;
        let file = utf8(reader.rest(), "a file")?;
        self.tables.clear();
        let artificial = header.is_artificial() || header.end_position == 0;
        Ok(Event::Rotate(Rotate { file, position, artificial }))
    }

    fn table_map(&mut self, body: &Bytes) -> Result<Event> {
        let map = Arc::new(TableMap::read(body, self.fixed(EventType::TableMap, 8))?);
        if self.tables.len() >= MAX_TABLES {
            return Err(malformed("too many tables in a statement"));
        }
        self.tables.insert(map.id, Arc::clone(&map));
        Ok(Event::TableMap(map))
    }

    fn decode_rows(&mut self, kind: EventType, form: &Form, body: &Bytes) -> Result<Event> {
        let fixed = self.fixed(kind, 8);
        let (id, flags) = rows::head(body, fixed)?;
        let table = match self.tables.get(&id) {
            Some(table) => Arc::clone(table),
            None if id == rows::NO_TABLE => {
                self.tables.clear();
                return Ok(Event::Skipped(kind as u8));
            }
            None => return Err(malformed(format_args!("rows of unknown table number {id}"))),
        };
        let event = rows::read(body, form, fixed, table)?;
        if flags & rows::STATEMENT_END != 0 {
            self.tables.clear();
        }
        Ok(Event::Rows(event))
    }

    /// The length of the fixed part of a type's events.
    fn fixed(&self, kind: EventType, otherwise: u8) -> u8 {
        self.format
            .as_ref()
            .and_then(|format| format.post_header_length(kind as u8))
            .filter(|length| *length > 0)
            .unwrap_or(otherwise)
    }
}

/// MySQL 8's heartbeat: pieces with a type (1: file, 2: position), a length and a value; type 0 ends.
fn heartbeat(body: &Bytes) -> Result<Event> {
    let mut reader = Reader::new(body);
    let (mut file, mut position) = (String::new(), 0);
    while !reader.is_empty() {
        let kind = reader.lenenc()?;
        if kind == 0 {
            break;
        }
        let value = reader.lenenc_bytes()?;
        match kind {
            1 => file = utf8(value, "a file")?,
            2 => position = Reader::new(value).lenenc()?,
            _ => {}
        }
    }
    Ok(Event::Heartbeat { file, position })
}

/// Whether the last four bytes are the CRC-32 of what stands in front of them.
fn has_crc32(bytes: &[u8]) -> bool {
    let Some((covered, told)) = bytes.split_last_chunk::<4>() else { return false };
    if covered.len() < HEADER_LEN {
        return false;
    }
    let mut hasher = crc32fast::Hasher::new();
    let flags = u16::from_le_bytes([covered[17], covered[18]]);
    if covered[4] == EventType::FormatDescription as u8 && flags & FLAG_IN_USE != 0 {
        // The flag is cleared in place when the file is closed; the checksum is not touched.
        hasher.update(&covered[..17]);
        hasher.update(&(flags & !FLAG_IN_USE).to_le_bytes());
        hasher.update(&covered[HEADER_LEN..]);
    } else {
        hasher.update(covered);
    }
    hasher.finalize() == u32::from_le_bytes(*told)
}

fn checksum_error() -> Error {
    Error::new(
        Code::BinlogChecksum,
        "Replication event checksum verification failed while reading from a log file.",
    )
}
