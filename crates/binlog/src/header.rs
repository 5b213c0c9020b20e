//! The header of every event (19 bytes) and the numbers of the event types.
//!
//! Sources: MySQL's `libs/mysql/binlog/event/binlog_event.h`, MariaDB's `sql/log_event.h`.

use pelorus_error::Result;

use crate::reader::{Reader, malformed};

/// Bytes of a header.
pub const HEADER_LEN: usize = 19;

/// `LOG_EVENT_BINLOG_IN_USE_F`: the file is still being written. Checksums do not cover it.
pub(crate) const FLAG_IN_USE: u16 = 0x1;
/// `LOG_EVENT_THREAD_SPECIFIC_F`: the statement used something of its session, mostly temporary tables.
const FLAG_THREAD_SPECIFIC: u16 = 0x4;
/// `LOG_EVENT_ARTIFICIAL_F`: made up by the sending thread, in no file.
const FLAG_ARTIFICIAL: u16 = 0x20;
/// `LOG_EVENT_IGNORABLE_F`: who does not know the event may skip it.
const FLAG_IGNORABLE: u16 = 0x80;

/// The header of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventHeader {
    /// When the statement began, in seconds since 1970 UTC; 0 in artificial events.
    pub timestamp: u32,
    /// The event's type ([`EventType`] names them).
    pub kind: u8,
    /// The server that wrote the event first.
    pub server_id: u32,
    /// Bytes of the whole event, header and checksum included.
    pub length: u32,
    /// The position after the event in its file, modulo 2^32; 0 in artificial events and inside
    /// compressed transactions.
    pub end_position: u32,
    /// Flags.
    pub flags: u16,
}

impl EventHeader {
    /// Reads a header.
    ///
    /// # Errors
    /// When there are fewer than 19 bytes.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        Ok(Self {
            timestamp: reader.u32()?,
            kind: reader.u8()?,
            server_id: reader.u32()?,
            length: reader.u32()?,
            end_position: reader.u32()?,
            flags: reader.u16()?,
        })
    }

    /// Whether a statement may be about temporary tables of its session.
    pub fn is_thread_specific(&self) -> bool {
        self.flags & FLAG_THREAD_SPECIFIC != 0
    }

    /// Whether the sending thread made the event up.
    pub fn is_artificial(&self) -> bool {
        self.flags & FLAG_ARTIFICIAL != 0
    }

    /// Whether a reader that does not know the event may skip it.
    pub fn is_ignorable(&self) -> bool {
        self.flags & FLAG_IGNORABLE != 0
    }
}

macro_rules! event_types {
    ($($name:ident = $number:literal, $mysql:literal;)*) => {
        /// The types of events, by MySQL's and MariaDB's numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are the servers' own")]
        pub enum EventType {
            $($name = $number,)*
        }

        impl EventType {
            /// The type of a number; `None` for numbers that no server writes.
            pub fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($number => Some(EventType::$name),)*
                    _ => None,
                }
            }

            /// The server's name of the type.
            pub fn name(self) -> &'static str {
                match self {
                    $(EventType::$name => $mysql,)*
                }
            }
        }
    };
}

event_types! {
    Unknown = 0, "UNKNOWN_EVENT";
    StartV3 = 1, "START_EVENT_V3";
    Query = 2, "QUERY_EVENT";
    Stop = 3, "STOP_EVENT";
    Rotate = 4, "ROTATE_EVENT";
    IntVar = 5, "INTVAR_EVENT";
    Slave = 7, "SLAVE_EVENT";
    AppendBlock = 9, "APPEND_BLOCK_EVENT";
    DeleteFile = 11, "DELETE_FILE_EVENT";
    Rand = 13, "RAND_EVENT";
    UserVar = 14, "USER_VAR_EVENT";
    FormatDescription = 15, "FORMAT_DESCRIPTION_EVENT";
    Xid = 16, "XID_EVENT";
    BeginLoadQuery = 17, "BEGIN_LOAD_QUERY_EVENT";
    ExecuteLoadQuery = 18, "EXECUTE_LOAD_QUERY_EVENT";
    TableMap = 19, "TABLE_MAP_EVENT";
    WriteRowsV1 = 23, "WRITE_ROWS_EVENT_V1";
    UpdateRowsV1 = 24, "UPDATE_ROWS_EVENT_V1";
    DeleteRowsV1 = 25, "DELETE_ROWS_EVENT_V1";
    Incident = 26, "INCIDENT_EVENT";
    Heartbeat = 27, "HEARTBEAT_LOG_EVENT";
    Ignorable = 28, "IGNORABLE_LOG_EVENT";
    RowsQuery = 29, "ROWS_QUERY_LOG_EVENT";
    WriteRows = 30, "WRITE_ROWS_EVENT";
    UpdateRows = 31, "UPDATE_ROWS_EVENT";
    DeleteRows = 32, "DELETE_ROWS_EVENT";
    GtidLog = 33, "GTID_LOG_EVENT";
    AnonymousGtidLog = 34, "ANONYMOUS_GTID_LOG_EVENT";
    PreviousGtids = 35, "PREVIOUS_GTIDS_LOG_EVENT";
    TransactionContext = 36, "TRANSACTION_CONTEXT_EVENT";
    ViewChange = 37, "VIEW_CHANGE_EVENT";
    XaPrepare = 38, "XA_PREPARE_LOG_EVENT";
    PartialUpdateRows = 39, "PARTIAL_UPDATE_ROWS_EVENT";
    TransactionPayload = 40, "TRANSACTION_PAYLOAD_EVENT";
    HeartbeatV2 = 41, "HEARTBEAT_LOG_EVENT_V2";
    GtidTaggedLog = 42, "GTID_TAGGED_LOG_EVENT";
    AnnotateRows = 160, "ANNOTATE_ROWS_EVENT";
    BinlogCheckpoint = 161, "BINLOG_CHECKPOINT_EVENT";
    MariaGtid = 162, "GTID_EVENT";
    GtidList = 163, "GTID_LIST_EVENT";
    StartEncryption = 164, "START_ENCRYPTION_EVENT";
    QueryCompressed = 165, "QUERY_COMPRESSED_EVENT";
    WriteRowsCompressedV1 = 166, "WRITE_ROWS_COMPRESSED_EVENT_V1";
    UpdateRowsCompressedV1 = 167, "UPDATE_ROWS_COMPRESSED_EVENT_V1";
    DeleteRowsCompressedV1 = 168, "DELETE_ROWS_COMPRESSED_EVENT_V1";
    WriteRowsCompressed = 169, "WRITE_ROWS_COMPRESSED_EVENT";
    UpdateRowsCompressed = 170, "UPDATE_ROWS_COMPRESSED_EVENT";
    DeleteRowsCompressed = 171, "DELETE_ROWS_COMPRESSED_EVENT";
    PartialRowData = 172, "PARTIAL_ROW_DATA_EVENT";
}

/// Checks the length that a header tells against the bytes that came.
pub(crate) fn check_length(header: &EventHeader, bytes: usize) -> Result<()> {
    if usize::try_from(header.length).is_ok_and(|length| length == bytes) {
        Ok(())
    } else {
        Err(malformed(format_args!(
            "type {} says {} bytes and has {bytes}",
            header.kind, header.length
        )))
    }
}
