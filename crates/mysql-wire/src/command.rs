//! Commands: the requests of a client after login.

use bytes::{BufMut as _, BytesMut};
use pelorus_error::Result;

use crate::caps::Capabilities;
use crate::handshake::ChangeUser;
use crate::lenenc::{Reader, malformed, put_nul_bytes};

/// The byte that starts a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum Code {
    Sleep = 0x00,
    Quit = 0x01,
    InitDb = 0x02,
    Query = 0x03,
    FieldList = 0x04,
    Statistics = 0x09,
    ProcessInfo = 0x0A,
    ProcessKill = 0x0C,
    Debug = 0x0D,
    Ping = 0x0E,
    ChangeUser = 0x11,
    BinlogDump = 0x12,
    RegisterReplica = 0x15,
    StmtPrepare = 0x16,
    StmtExecute = 0x17,
    StmtSendLongData = 0x18,
    StmtClose = 0x19,
    StmtReset = 0x1A,
    SetOption = 0x1B,
    StmtFetch = 0x1C,
    BinlogDumpGtid = 0x1E,
    ResetConnection = 0x1F,
}

/// A command, read in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The client leaves.
    Quit,
    /// Another current database.
    InitDb(&'a [u8]),
    /// Statements in text.
    Query(&'a [u8]),
    /// The columns of a table.
    FieldList {
        /// The table.
        table: &'a [u8],
        /// A pattern of column names; empty for all.
        wild: &'a [u8],
    },
    /// A line about the server.
    Statistics,
    /// Ends another connection.
    ProcessKill(u32),
    /// Checks that the server answers.
    Ping,
    /// Logs in again.
    ChangeUser(ChangeUser),
    /// Prepares a statement.
    StmtPrepare(&'a [u8]),
    /// Runs a prepared statement.
    StmtExecute(StmtExecute<'a>),
    /// A piece of a parameter.
    StmtSendLongData {
        /// The statement.
        id: u32,
        /// The parameter, counted from 0.
        parameter: u16,
        /// The piece.
        data: &'a [u8],
    },
    /// Forgets a statement.
    StmtClose(u32),
    /// Forgets the cursor and the long data of a statement.
    StmtReset(u32),
    /// Turns several statements in one query on (0) or off (1).
    SetOption(u16),
    /// More rows of a cursor.
    StmtFetch {
        /// The statement.
        id: u32,
        /// How many.
        rows: u32,
    },
    /// Forgets all state of the session.
    ResetConnection,
    /// A command that is not known, by its first byte.
    Other(u8),
}

/// Flag of [`StmtExecute`]: rows are buffered for COM_STMT_FETCH.
pub const CURSOR_READ_ONLY: u8 = 1;
/// Flags of unsupported cursors: for update, scrollable.
pub const CURSOR_OTHERS: u8 = 6;

/// COM_STMT_EXECUTE; the parameters are read by [`crate::prepared`], which knows their count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StmtExecute<'a> {
    /// The statement.
    pub id: u32,
    /// The kind of cursor.
    pub flags: u8,
    /// The parameters' bytes.
    pub parameters: &'a [u8],
}

impl<'a> Command<'a> {
    /// Reads a command under the capabilities that client and server share.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<Self> {
        let mut reader = Reader::new(payload);
        let code = reader.u8()?;
        Ok(match code {
            _ if code == Code::Quit as u8 => Self::Quit,
            _ if code == Code::InitDb as u8 => Self::InitDb(reader.take_rest()),
            _ if code == Code::Query as u8 => Self::Query(reader.take_rest()),
            _ if code == Code::FieldList as u8 => {
                Self::FieldList { table: reader.nul_bytes()?, wild: reader.nul_or_rest() }
            }
            _ if code == Code::Statistics as u8 => Self::Statistics,
            _ if code == Code::ProcessKill as u8 => Self::ProcessKill(reader.u32()?),
            _ if code == Code::Ping as u8 => Self::Ping,
            _ if code == Code::ChangeUser as u8 => {
                Self::ChangeUser(ChangeUser::parse(reader.take_rest(), capabilities)?)
            }
            _ if code == Code::SetOption as u8 => Self::SetOption(reader.u16()?),
            _ if code == Code::ResetConnection as u8 => Self::ResetConnection,
            _ => return Self::parse_statement(code, reader),
        })
    }

    fn parse_statement(code: u8, mut reader: Reader<'a>) -> Result<Self> {
        Ok(match code {
            _ if code == Code::StmtPrepare as u8 => Self::StmtPrepare(reader.take_rest()),
            _ if code == Code::StmtExecute as u8 => {
                let id = reader.u32()?;
                let flags = reader.u8()?;
                if reader.u32()? != 1 {
                    return Err(malformed("an iteration count that is not 1"));
                }
                Self::StmtExecute(StmtExecute { id, flags, parameters: reader.take_rest() })
            }
            _ if code == Code::StmtSendLongData as u8 => Self::StmtSendLongData {
                id: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.take_rest(),
            },
            _ if code == Code::StmtClose as u8 => Self::StmtClose(reader.u32()?),
            _ if code == Code::StmtReset as u8 => Self::StmtReset(reader.u32()?),
            _ if code == Code::StmtFetch as u8 => {
                Self::StmtFetch { id: reader.u32()?, rows: reader.u32()? }
            }
            other => Self::Other(other),
        })
    }
}

/// Appends a command that is only its code.
pub fn put_plain(out: &mut BytesMut, code: Code) {
    out.put_u8(code as u8);
}

/// Appends COM_QUERY, COM_STMT_PREPARE or COM_INIT_DB with its text.
pub fn put_text(out: &mut BytesMut, code: Code, text: &[u8]) {
    out.put_u8(code as u8);
    out.put_slice(text);
}

/// Appends COM_STMT_CLOSE, COM_STMT_RESET or COM_PROCESS_KILL with its number.
pub fn put_number(out: &mut BytesMut, code: Code, number: u32) {
    out.put_u8(code as u8);
    out.put_u32_le(number);
}

/// Appends COM_SET_OPTION.
pub fn put_set_option(out: &mut BytesMut, option: u16) {
    out.put_u8(Code::SetOption as u8);
    out.put_u16_le(option);
}

/// Appends COM_STMT_FETCH.
pub fn put_fetch(out: &mut BytesMut, id: u32, rows: u32) {
    put_number(out, Code::StmtFetch, id);
    out.put_u32_le(rows);
}

/// Appends COM_STMT_SEND_LONG_DATA.
pub fn put_long_data(out: &mut BytesMut, id: u32, parameter: u16, data: &[u8]) {
    put_number(out, Code::StmtSendLongData, id);
    out.put_u16_le(parameter);
    out.put_slice(data);
}

/// Appends COM_FIELD_LIST.
pub fn put_field_list(out: &mut BytesMut, table: &[u8], wild: &[u8]) {
    out.put_u8(Code::FieldList as u8);
    put_nul_bytes(out, table);
    out.put_slice(wild);
}

/// Appends COM_CHANGE_USER.
pub fn put_change_user(out: &mut BytesMut, change: &ChangeUser, capabilities: Capabilities) {
    out.put_u8(Code::ChangeUser as u8);
    change.put(out, capabilities);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl FnOnce(&mut BytesMut)) -> BytesMut {
        let mut out = BytesMut::new();
        write(&mut out);
        out
    }

    fn parse(payload: &[u8]) -> Command<'_> {
        Command::parse(payload, Capabilities::default()).unwrap()
    }

    #[test]
    fn what_a_client_writes_a_server_reads() {
        let out = written(|out| put_text(out, Code::Query, b"SELECT 1"));
        assert_eq!(parse(&out), Command::Query(b"SELECT 1"));
        let out = written(|out| put_fetch(out, 3, 100));
        assert_eq!(parse(&out), Command::StmtFetch { id: 3, rows: 100 });
        let out = written(|out| put_long_data(out, 3, 1, b"xy"));
        assert_eq!(parse(&out), Command::StmtSendLongData { id: 3, parameter: 1, data: b"xy" });
        let out = written(|out| put_field_list(out, b"t", b"a%"));
        assert_eq!(parse(&out), Command::FieldList { table: b"t", wild: b"a%" });
        let out = written(|out| put_number(out, Code::StmtClose, 9));
        assert_eq!(parse(&out), Command::StmtClose(9));
        let out = written(|out| put_set_option(out, 1));
        assert_eq!(parse(&out), Command::SetOption(1));
        let out = written(|out| put_plain(out, Code::Ping));
        assert_eq!(parse(&out), Command::Ping);
        assert_eq!(parse(&[0xFA]), Command::Other(0xFA));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_command_or_an_error(code in 0_u8..0x22, rest: Vec<u8>, caps: u32) {
            let payload = [&[code], &rest[..]].concat();
            let _ = Command::parse(&payload, Capabilities(caps));
        }
    }

    #[test]
    fn an_empty_packet_is_malformed() {
        assert_eq!(Command::parse(b"", Capabilities::default()).unwrap_err().errno(), 1835);
    }
}
