//! [`Event`]: the events that a [`Decoder`](crate::Decoder) returns.

use std::sync::Arc;

use bytes::Bytes;

use crate::format::FormatDescription;
use crate::header::{EventHeader, EventType};
use crate::query::Query;
use crate::rows::RowsEvent;
use crate::table_map::TableMap;
use crate::transaction::{GtidEvent, GtidList, XaPrepare};

/// An event with its header.
#[derive(Clone, Debug)]
pub struct LogEvent {
    /// The header; inside a compressed transaction that of the inner event.
    pub header: EventHeader,
    /// Whether the event came out of a compressed transaction: its `end_position` says nothing
    /// then, and the position moves on with the event that follows the transaction.
    pub inner: bool,
    /// The content of the event.
    pub event: Event,
}

/// The content of an event.
#[derive(Clone, Debug)]
pub enum Event {
    /// How the events that follow are written.
    FormatDescription(Arc<FormatDescription>),
    /// The log goes on in another file, or (artificial) begins in this one.
    Rotate(Rotate),
    /// The server stopped.
    Stop,
    /// A transaction begins, with or without a GTID.
    Gtid(GtidEvent),
    /// MySQL: the GTIDs of all files before this one, in the server's encoding of GTID sets.
    PreviousGtids(Bytes),
    /// MariaDB: the last GTID of each domain and server before this file.
    GtidList(GtidList),
    /// A statement: DDL, `BEGIN`, `COMMIT`, `SAVEPOINT`, or DML under statement format.
    Query(Query),
    /// The transaction commits; the number is the server's own.
    Xid(u64),
    /// An XA transaction is prepared (or committed in one phase).
    XaPrepare(XaPrepare),
    /// A table that the next rows belong to. The rows bring it along as well.
    TableMap(Arc<TableMap>),
    /// Rows of a table.
    Rows(RowsEvent),
    /// The statement that the next rows come from (MySQL's `ROWS_QUERY`, MariaDB's
    /// `ANNOTATE_ROWS`), for people.
    RowsQuery(Bytes),
    /// A compressed transaction begins; its events come next, one by one.
    TransactionPayload {
        /// Bytes of its events, uncompressed, as the server says.
        uncompressed: u64,
    },
    /// Nothing happened, up to here.
    Heartbeat {
        /// The file.
        file: String,
        /// The position in it.
        position: u64,
    },
    /// Events are missing in the log: data may have been lost.
    Incident {
        /// The server's number (1: lost events).
        number: u16,
        /// Its words.
        message: String,
    },
    /// MariaDB: recovery of the server need not look at files before this one.
    BinlogCheckpoint(String),
    /// A variable that the next statement uses (`INTVAR`, `RAND`, `USER_VAR`) or a piece of a file
    /// that it loads: only under statement format.
    StatementData(EventType),
    /// An event without meaning here.
    Skipped(u8),
}

/// The next file and position of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotate {
    /// The file.
    pub file: String,
    /// The position of its first event (4), or of the start of the requested dump.
    pub position: u64,
    /// Whether the sending thread made the event up: it is in no file.
    pub artificial: bool,
}

/// The number of a transaction over all servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gtid {
    /// MySQL: `source:tag:sequence`.
    MySql {
        /// The UUID of the server that committed it first.
        source: [u8; 16],
        /// The tag (lower case), from MySQL 8.3 on.
        tag: Option<String>,
        /// From 1 on.
        sequence: u64,
    },
    /// MariaDB: `domain-server-sequence`.
    MariaDb {
        /// The domain.
        domain: u32,
        /// The server that committed it first.
        server: u32,
        /// The sequence number.
        sequence: u64,
    },
}

impl std::fmt::Display for Gtid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Gtid::MySql { source, tag, sequence } => {
                for (at, byte) in source.iter().enumerate() {
                    if matches!(at, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                if let Some(tag) = tag {
                    write!(f, ":{tag}")?;
                }
                write!(f, ":{sequence}")
            }
            Gtid::MariaDb { domain, server, sequence } => {
                write!(f, "{domain}-{server}-{sequence}")
            }
        }
    }
}
