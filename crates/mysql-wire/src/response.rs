//! Responses of a server: OK, ERR, EOF, the head of a result set, and column definitions.

use bytes::{BufMut as _, BytesMut};
use pelorus_error::{Error, Result};
use pelorus_types::{Collation, Column, ColumnType, Flags, column};

use crate::caps::{Capabilities, ServerStatus};
use crate::charset::Encoder;
use crate::lenenc::{Reader, malformed, put_lenenc_bytes, put_lenenc_int};

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of an EOF packet, and of the OK packet that takes its place.
pub const EOF: u8 = 0xFE;
/// First byte of an ERR packet.
pub const ERR: u8 = 0xFF;
/// First byte of a request for a file of the client.
pub const LOCAL_INFILE: u8 = 0xFB;

/// A change of the session in an OK packet, if the client requested session tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// A system variable has a new value.
    Variable(String, String),
    /// The current database is another one.
    Schema(String),
    /// Something of the session's state changed.
    State(bool),
    /// GTIDs of the committed transactions, as text.
    Gtids(String),
    /// Something else, by its type byte.
    Other(u8, Vec<u8>),
}

/// An OK packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ok {
    /// Rows changed.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value.
    pub last_insert_id: u64,
    /// The server's state.
    pub status: ServerStatus,
    /// Warnings of the statement.
    pub warnings: u16,
    /// Text for people.
    pub info: String,
    /// Changes of the session.
    pub changes: Vec<StateChange>,
}

/// Appends an OK packet that starts with `header`: [`OK`], or [`EOF`] at the end of rows.
pub fn put_ok(out: &mut BytesMut, header: u8, caps: Capabilities, ok: &Ok) {
    let tracks = caps.has(Capabilities::SESSION_TRACK);
    let status = if tracks && !ok.changes.is_empty() {
        ok.status.with(ServerStatus::SESSION_STATE_CHANGED)
    } else {
        ok.status.without(ServerStatus::SESSION_STATE_CHANGED)
    };
    out.put_u8(header);
    put_lenenc_int(out, ok.affected_rows);
    put_lenenc_int(out, ok.last_insert_id);
    out.put_u16_le(status.0);
    out.put_u16_le(ok.warnings);
    if tracks {
        if !ok.info.is_empty() || !ok.changes.is_empty() {
            put_lenenc_bytes(out, ok.info.as_bytes());
        }
        if !ok.changes.is_empty() {
            put_changes(out, &ok.changes);
        }
    } else if !ok.info.is_empty() {
        // The protocol's description has no length here; MySQL writes one and its clients skip it.
        put_lenenc_bytes(out, ok.info.as_bytes());
    }
}

fn put_changes(out: &mut BytesMut, changes: &[StateChange]) {
    let mut all = BytesMut::new();
    for change in changes {
        let mut data = BytesMut::new();
        let kind = match change {
            StateChange::Variable(name, value) => {
                put_lenenc_bytes(&mut data, name.as_bytes());
                put_lenenc_bytes(&mut data, value.as_bytes());
                0
            }
            StateChange::Schema(name) => {
                put_lenenc_bytes(&mut data, name.as_bytes());
                1
            }
            StateChange::State(changed) => {
                put_lenenc_bytes(&mut data, if *changed { b"1" } else { b"0" });
                2
            }
            StateChange::Gtids(text) => {
                data.put_u8(0);
                put_lenenc_bytes(&mut data, text.as_bytes());
                3
            }
            StateChange::Other(kind, bytes) => {
                data.put_slice(bytes);
                *kind
            }
        };
        all.put_u8(kind);
        put_lenenc_bytes(&mut all, &data);
    }
    put_lenenc_bytes(out, &all);
}

/// Reads an OK packet, whichever of its two first bytes it has.
pub fn parse_ok(payload: &[u8], caps: Capabilities) -> Result<Ok> {
    let mut reader = Reader::new(payload);
    match reader.u8()? {
        OK | EOF => {}
        ERR => return Err(parse_err(payload)),
        _ => return Err(malformed("no OK packet")),
    }
    let mut ok = Ok {
        affected_rows: reader.lenenc_int()?,
        last_insert_id: reader.lenenc_int()?,
        ..Ok::default()
    };
    if reader.is_empty() {
        return Ok(ok);
    }
    ok.status = ServerStatus(reader.u16()?);
    ok.warnings = reader.u16()?;
    if !caps.has(Capabilities::SESSION_TRACK) {
        ok.info = lossy(text_of_info(reader.take_rest()));
        return Ok(ok);
    }
    if !reader.is_empty() {
        ok.info = lossy(reader.lenenc_bytes()?);
    }
    if ok.status.has(ServerStatus::SESSION_STATE_CHANGED) && !reader.is_empty() {
        ok.changes = parse_changes(reader.lenenc_bytes()?)?;
    }
    Ok(ok)
}

/// Without session tracking the text fills the rest of the packet, but MySQL puts a length before
/// it all the same.
fn text_of_info(rest: &[u8]) -> &[u8] {
    let mut reader = Reader::new(rest);
    match reader.lenenc_bytes() {
        Ok(text) if reader.is_empty() => text,
        _ => rest,
    }
}

fn parse_changes(bytes: &[u8]) -> Result<Vec<StateChange>> {
    let mut reader = Reader::new(bytes);
    let mut changes = Vec::new();
    while !reader.is_empty() {
        let kind = reader.u8()?;
        let data = reader.lenenc_bytes()?;
        let mut inner = Reader::new(data);
        changes.push(match kind {
            0 => StateChange::Variable(lossy(inner.lenenc_bytes()?), lossy(inner.lenenc_bytes()?)),
            1 => StateChange::Schema(lossy(inner.lenenc_bytes()?)),
            2 => StateChange::State(inner.lenenc_bytes()? == b"1"),
            3 => {
                inner.u8()?;
                StateChange::Gtids(lossy(inner.lenenc_bytes()?))
            }
            other => StateChange::Other(other, data.to_vec()),
        });
    }
    Ok(changes)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Appends an EOF packet, for clients that do not deprecate it.
pub fn put_eof(out: &mut BytesMut, warnings: u16, status: ServerStatus) {
    out.put_u8(EOF);
    out.put_u16_le(warnings);
    out.put_u16_le(status.0);
}

/// Appends an ERR packet.
pub fn put_err(out: &mut BytesMut, caps: Capabilities, error: &Error) {
    out.put_u8(ERR);
    out.put_u16_le(error.errno());
    // Before the handshake a client is not known to understand the state.
    if caps.has(Capabilities::PROTOCOL_41) {
        out.put_u8(b'#');
        out.put_slice(&error.sqlstate());
    }
    out.put_slice(cut(error.message(), 511).as_bytes());
}

/// MySQL's clients keep at most 512 bytes of a message.
fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[..end]
}

/// Reads an ERR packet into the error that it carries.
pub fn parse_err(payload: &[u8]) -> Error {
    read_err(payload).unwrap_or_else(|error| error)
}

fn read_err(payload: &[u8]) -> Result<Error> {
    let mut reader = Reader::new(payload);
    if reader.u8()? != ERR {
        return Err(malformed("no ERR packet"));
    }
    let errno = reader.u16()?;
    let mut state = *b"HY000";
    if let [b'#', rest @ ..] = reader.rest()
        && let Some(given) = rest.first_chunk::<5>()
    {
        state = *given;
        reader.bytes(6)?;
    }
    Ok(Error::remote(errno, state, lossy(reader.take_rest())))
}

/// The first answer to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// No rows.
    Ok(Ok),
    /// A result set of so many columns.
    Columns(u64),
}

/// Reads the first answer to a statement; an ERR packet is the error.
pub fn parse_head(payload: &[u8], caps: Capabilities) -> Result<Head> {
    match payload.first() {
        Some(&OK) => parse_ok(payload, caps).map(Head::Ok),
        Some(&ERR) => Err(parse_err(payload)),
        Some(&LOCAL_INFILE) => Err(Error::unsupported("LOAD DATA LOCAL INFILE")),
        _ => {
            let mut reader = Reader::new(payload);
            let count = reader.lenenc_int()?;
            // With optional metadata a byte follows that says whether columns do.
            Ok(Head::Columns(count))
        }
    }
}

/// A payload where rows are expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOrEnd {
    /// The payload is a row.
    Row,
    /// No more rows: the last packet of the result set.
    End(Ok),
}

/// Tells rows from the end of rows; an ERR packet is the error.
#[inline]
pub fn row_or_end(payload: &[u8], caps: Capabilities) -> Result<RowOrEnd> {
    match payload.first() {
        // A row that starts with 0xFE has a first value of 16 MiB or more.
        Some(&EOF) if payload.len() < 0xFF_FFFF => {
            if caps.has(Capabilities::DEPRECATE_EOF) {
                parse_ok(payload, caps).map(RowOrEnd::End)
            } else {
                parse_eof(payload).map(RowOrEnd::End)
            }
        }
        Some(&ERR) => Err(parse_err(payload)),
        Some(_) => Ok(RowOrEnd::Row),
        None => Err(malformed("an empty row")),
    }
}

/// Reads an EOF packet; only warnings and status of the result are set.
pub fn parse_eof(payload: &[u8]) -> Result<Ok> {
    let mut reader = Reader::new(payload);
    if reader.u8()? != EOF {
        return Err(malformed("no EOF packet"));
    }
    let warnings = reader.u16()?;
    Ok(Ok { warnings, status: ServerStatus(reader.u16()?), ..Ok::default() })
}

/// Appends the packet that ends columns or rows: EOF, or the OK that takes its place.
pub fn put_end_of_rows(
    out: &mut BytesMut,
    caps: Capabilities,
    warnings: u16,
    status: ServerStatus,
) {
    if caps.has(Capabilities::DEPRECATE_EOF) {
        put_ok(out, EOF, caps, &Ok { warnings, status, ..Ok::default() });
    } else {
        put_eof(out, warnings, status);
    }
}

/// Appends a column definition, with its names in the client's charset. `default` is the default
/// value that COM_FIELD_LIST adds.
pub fn put_column(
    out: &mut BytesMut,
    column: &Column,
    default: Option<Option<&[u8]>>,
    names: Encoder,
) {
    put_lenenc_bytes(out, b"def");
    for text in [&column.schema, &column.table, &column.org_table, &column.name, &column.org_name] {
        // A name that the charset cannot hold is better sent in UTF-8 than not at all.
        let bytes = names.encode(text.as_bytes());
        put_lenenc_bytes(out, bytes.as_deref().unwrap_or(text.as_bytes()));
    }
    out.put_u8(0x0C);
    out.put_u16_le(column.ty.collation.0);
    out.put_u32_le(column.ty.length);
    out.put_u8(column.ty.wire as u8);
    out.put_u16_le(column.ty.flags.0);
    // Of literals of bits, only functions know the mark.
    out.put_u8(if column.ty.is_bits() { 0 } else { column.ty.decimals });
    out.put_u16_le(0);
    match default {
        None => {}
        Some(None) => out.put_u8(0xFB),
        Some(Some(value)) => put_lenenc_bytes(out, value),
    }
}

/// Reads a column definition.
pub fn parse_column(payload: &[u8]) -> Result<Column> {
    let mut reader = Reader::new(payload);
    reader.lenenc_bytes()?;
    let schema = lossy(reader.lenenc_bytes()?);
    let table = lossy(reader.lenenc_bytes()?);
    let org_table = lossy(reader.lenenc_bytes()?);
    let name = lossy(reader.lenenc_bytes()?);
    let org_name = lossy(reader.lenenc_bytes()?);
    let mut fixed = Reader::new(reader.lenenc_bytes()?);
    let collation = Collation(fixed.u16()?);
    let length = fixed.u32()?;
    let wire = column::wire_type(&name, fixed.u8()?)?;
    let flags = Flags(fixed.u16()?);
    let decimals = fixed.u8()?;
    let mut ty = ColumnType::new(wire, collation, length, decimals);
    ty.flags = flags;
    Ok(Column { schema, table, org_table, name, org_name, ty })
}

#[cfg(test)]
mod tests {
    use pelorus_error::Code;
    use pelorus_types::WireType;
    use proptest::prelude::*;

    use super::*;

    const MODERN: Capabilities = Capabilities::PROTOCOL_41
        .with(Capabilities::DEPRECATE_EOF)
        .with(Capabilities::SESSION_TRACK);

    fn change() -> impl Strategy<Value = StateChange> {
        prop_oneof![
            (".{0,9}", ".{0,9}").prop_map(|(name, value)| StateChange::Variable(name, value)),
            ".{0,9}".prop_map(StateChange::Schema),
            any::<bool>().prop_map(StateChange::State),
            ".{0,9}".prop_map(StateChange::Gtids),
        ]
    }

    proptest! {
        #[test]
        fn ok_packets_come_back(
            numbers: (u64, u64, u16),
            info in ".{0,40}",
            changes in prop::collection::vec(change(), 0..4),
        ) {
            let mut ok = Ok {
                affected_rows: numbers.0,
                last_insert_id: numbers.1,
                status: ServerStatus::AUTOCOMMIT,
                warnings: numbers.2,
                info,
                changes,
            };
            let mut out = BytesMut::new();
            put_ok(&mut out, OK, MODERN, &ok);
            if !ok.changes.is_empty() {
                ok.status = ok.status.with(ServerStatus::SESSION_STATE_CHANGED);
            }
            prop_assert_eq!(parse_head(&out, MODERN).unwrap(), Head::Ok(ok));
        }

        #[test]
        fn columns_come_back(
            names in prop::array::uniform5(".{0,30}"),
            numbers: (u16, u32, u16, u8),
            kind in prop::sample::select(vec![WireType::Long, WireType::Vector, WireType::Json]),
        ) {
            let [schema, table, org_table, name, org_name] = names;
            let mut ty = ColumnType::new(kind, Collation(numbers.0), numbers.1, numbers.3);
            ty.flags = Flags(numbers.2);
            let column = Column { schema, table, org_table, name, org_name, ty };
            let mut out = BytesMut::new();
            put_column(&mut out, &column, None, Encoder::AsIs);
            prop_assert_eq!(parse_column(&out).unwrap(), column);
        }

        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes: Vec<u8>, caps: u32) {
            let caps = Capabilities(caps);
            let _ = parse_ok(&bytes, caps);
            let _ = parse_head(&bytes, caps);
            let _ = row_or_end(&bytes, caps);
            let _ = parse_eof(&bytes);
            let _ = parse_err(&bytes);
            let _ = parse_column(&bytes);
        }
    }

    #[test]
    fn errors_come_back_with_their_number_and_state() {
        let error = Error::new(Code::NoSuchTable, "Table 'a.b' doesn't exist");
        let mut out = BytesMut::new();
        put_err(&mut out, MODERN, &error);
        let back = parse_err(&out);
        assert_eq!((back.errno(), back.sqlstate()), (1146, *b"42S02"));
        assert_eq!(back.message(), "Table 'a.b' doesn't exist");

        out.clear();
        put_err(&mut out, Capabilities::default(), &error);
        assert_eq!(parse_err(&out).message(), "Table 'a.b' doesn't exist");
    }

    #[test]
    fn the_end_of_rows_is_told_from_rows() {
        for caps in [MODERN, Capabilities::PROTOCOL_41] {
            let mut out = BytesMut::new();
            put_end_of_rows(&mut out, caps, 3, ServerStatus::MORE_RESULTS);
            let RowOrEnd::End(end) = row_or_end(&out, caps).unwrap() else { panic!("a row") };
            assert_eq!((end.warnings, end.status), (3, ServerStatus::MORE_RESULTS));
        }
        assert_eq!(row_or_end(b"\x01x", MODERN).unwrap(), RowOrEnd::Row);
    }

    #[test]
    fn info_is_read_with_and_without_its_length() {
        let plain = Capabilities::PROTOCOL_41;
        for text in
            [&b"\x00\x01\x00\x02\x00\x00\x00\x05Rows1"[..], b"\x00\x01\x00\x02\x00\x00\x00Rows1"]
        {
            assert_eq!(parse_ok(text, plain).unwrap().info, "Rows1");
        }
    }
}
