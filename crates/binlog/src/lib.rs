//! The binlog of MySQL (5.7 to 9.7) and MariaDB (10.11 to 12): bytes to events, and the rows in them to
//! Arrow arrays. This crate does no I/O: the caller supplies the bytes.
//!
//! ```no_run
//! # fn dump() -> Vec<bytes::Bytes> { Vec::new() }
//! # fn targets() -> Vec<pelorus_binlog::Target> { Vec::new() }
//! use pelorus_binlog::{Decoder, Event, Image, ImageBuilder};
//! let mut decoder = Decoder::new();
//! let mut rows = ImageBuilder::new(targets())?;
//! for bytes in dump() {
//!     decoder.push(bytes)?;
//!     while let Some(event) = decoder.next_event()? {
//!         if let Event::Rows(event) = &event.event {
//!             rows.append(event, Image::After)?;
//!         }
//!     }
//! }
//! let arrays = rows.finish()?.arrays;
//! # Ok::<(), pelorus_error::Error>(())
//! ```
//!
//! An event is: a header of 19 bytes ([`EventHeader`]), a body, and a checksum if the format of the
//! file says so ([`FormatDescription`]). The modules say how each body is written and where that is
//! taken from. Everything is total: bytes that make no sense are an error (1835), what the servers
//! write and this crate does not read is another (1235), and no length in the bytes allocates more
//! than the bytes that are there.
//!
//! Not read: encrypted files (a server's dump of them is: the server decrypts it), events before MySQL 5.6's format, MariaDB's TIME, DATETIME and TIMESTAMP
//! with fractions under `mysql56_temporal_format = OFF`, and text outside ASCII in charsets other than
//! Unicode's and `latin1`.

mod charset;
mod compression;
mod decoder;
mod event;
mod format;
pub mod gtid;
mod header;
mod image;
mod json;
pub mod maria;
mod metadata;
pub mod position;
mod query;
mod reader;
mod rows;
mod table_map;
mod transaction;

pub use charset::reads;
pub use decoder::Decoder;
pub use event::{Event, Gtid, LogEvent, Rotate};
pub use format::{Checksum, FormatDescription};
pub use gtid::GtidSet;
pub use header::{EventHeader, EventType, HEADER_LEN};
pub use image::{DocumentChange, Form, Image, ImageBuilder, Images, Target};
pub use json::apply_changes;
pub use maria::MariaGtids;
pub use position::{Position, Step};
pub use query::{Query, Status};
pub use rows::{RowsEvent, RowsKind};
pub use table_map::{SourceColumn, SourceType, TableMap};
pub use transaction::{AlterPhase, GtidEvent, GtidList, MariaDbFlags, XaPrepare, Xid};
