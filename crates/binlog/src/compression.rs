//! Compressed transactions of MySQL (zstd) and compressed events of MariaDB (zlib).

use std::io::{BufReader, Cursor, Read};

use bytes::Bytes;
use pelorus_error::{Code, Error, Result};

use crate::header::{EventHeader, HEADER_LEN};
use crate::reader::{Reader, malformed};

/// The largest event that servers write (`max_allowed_packet` of replicas is 1 GiB at most).
const MAX_EVENT: u64 = 1 << 30;

/// The events of a TRANSACTION_PAYLOAD, one by one: memory for one event and zstd's window.
///
/// Body: pieces with a type, a length and a value (1: bytes of the payload, 2: compression, 0 zstd
/// or 255 none, 3: bytes uncompressed), the type 0, and the payload. Source: MySQL's
/// `compression/payload_event_...` and `codecs/binary.cpp`.
pub(crate) struct Payload {
    source: Source,
    /// Bytes of events, as the server says; 0 when it does not.
    pub(crate) uncompressed: u64,
}

enum Source {
    Plain(Cursor<Bytes>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<Cursor<Bytes>>>>),
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payload").field("uncompressed", &self.uncompressed).finish_non_exhaustive()
    }
}

impl Payload {
    pub(crate) fn read(body: &Bytes) -> Result<Self> {
        let mut reader = Reader::new(body);
        let (mut compression, mut uncompressed, mut size) = (255, 0, None);
        loop {
            let kind = reader.lenenc()?;
            if kind == 0 {
                break;
            }
            let mut value = Reader::new(reader.lenenc_bytes()?);
            match kind {
                1 => size = Some(value.lenenc_len()?),
                2 => compression = value.lenenc()?,
                3 => uncompressed = value.lenenc()?,
                _ => {}
            }
        }
        let size = size.unwrap_or(reader.remaining());
        let payload = Cursor::new(body.slice_ref(reader.bytes(size)?));
        let source = match compression {
            0 => Source::Zstd(Box::new(zstd::stream::read::Decoder::new(payload).map_err(broken)?)),
            255 => Source::Plain(payload),
            other => {
                return Err(Error::unsupported(format_args!("transaction compression {other}")));
            }
        };
        Ok(Self { source, uncompressed })
    }

    /// The next event; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>> {
        let mut event = Vec::with_capacity(1024);
        self.fill(&mut event, HEADER_LEN as u64)?;
        if event.is_empty() {
            return Ok(None);
        }
        let header = EventHeader::read(&event)?;
        let length = u64::from(header.length);
        if length < HEADER_LEN as u64 || length > MAX_EVENT {
            return Err(malformed("length of an event in a compressed transaction"));
        }
        self.fill(&mut event, length - HEADER_LEN as u64)?;
        if event.len() as u64 != length {
            return Err(malformed("a compressed transaction ends too early"));
        }
        Ok(Some(event.into()))
    }

    /// Appends up to `count` bytes; what is allocated grows with what is there.
    fn fill(&mut self, out: &mut Vec<u8>, count: u64) -> Result<()> {
        match &mut self.source {
            Source::Plain(source) => source.take(count).read_to_end(out),
            Source::Zstd(source) => source.take(count).read_to_end(out),
        }
        .map(drop)
        .map_err(broken)
    }
}

/// Uncompresses the tail of a MariaDB event: one byte (0x80, the algorithm in three bits, the number
/// of bytes of the length in three bits), the length uncompressed with its highest byte first, and
/// a zlib stream. Source: MariaDB's `binlog_buf_uncompress`.
pub(crate) fn inflate(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut reader = Reader::new(bytes);
    let head = reader.u8()?;
    let width = usize::from(head & 0x07);
    if head & 0x80 == 0 || (head >> 4) & 0x07 != 0 || !(1..=4).contains(&width) {
        return Err(Error::unsupported(format_args!("event compression {head:#x}")));
    }
    let length = reader.uint_be(width)?;
    zlib(reader.rest(), length, true)
}

/// Uncompresses a zlib stream, with zlib's header or without, that must give exactly `length`
/// bytes. The allocation grows with the input.
pub(crate) fn zlib(bytes: &[u8], length: u64, header: bool) -> Result<Vec<u8>> {
    if length > MAX_EVENT {
        return Err(malformed("length of a compressed event"));
    }
    let mut out = Vec::new();
    // One byte more than there should be shows streams that are too long.
    let most = length + 1;
    if header {
        flate2::read::ZlibDecoder::new(bytes).take(most).read_to_end(&mut out)
    } else {
        flate2::read::DeflateDecoder::new(bytes).take(most).read_to_end(&mut out)
    }
    .map_err(broken)?;
    if out.len() as u64 == length {
        Ok(out)
    } else {
        Err(malformed("a compressed event has another length"))
    }
}

fn broken(error: std::io::Error) -> Error {
    Error::new(Code::MalformedPacket, "malformed binlog event (broken compression)")
        .caused_by(error)
}
