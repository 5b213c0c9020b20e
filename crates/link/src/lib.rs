//! Linked servers: existing MySQL or MariaDB servers that are queried in place.
//!
//! A [`Link`] is one server with its replicas. It knows their databases, tables, keys and
//! estimates; relays whole statements ([`Link::relay`]); and reads a query's fragment over many key
//! ranges at once, spread over all servers, at one moment in time ([`Link::split`],
//! [`Link::scan`]).
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`config`] | addresses, accounts, encryption |
//! | `link` | [`Link`], the entry point |
//! | `server` | one server: its connection pool, its health, cancellation |
//! | `connection`, `stream`, `tls` | one connection: commands and answers, sockets, TLS |
//! | [`settings`] | the session state that a statement needs on a server |
//! | [`table`] | descriptions of remote tables |
//! | [`explain`] | the server's own estimate of a statement |
//! | [`relay`] | whole statements, whose rows are passed on as they arrive |
//! | [`session_connection`] | a session's own connection for writes and transactions |
//! | [`split`] | ranges of equal work over a key |
//! | [`scan`] | one fragment over many ranges and servers |
//! | [`snapshot`] | how all readers see one moment |
//! | [`binlog`] | positions in a server's binlog, and following it |
//! | [`status`] | the status of the servers |
//! | `cache` | recent answers of a server |
//! | `text` | the check of statement text before it is sent |

pub mod binlog;
mod cache;
pub mod config;
mod connection;
pub mod explain;
mod link;
pub mod relay;
pub mod scan;
mod server;
pub mod session_connection;
pub mod settings;
pub mod snapshot;
pub mod split;
pub mod status;
mod stream;
pub mod table;
mod text;
mod tls;

pub use binlog::{FollowError, FollowFailure, FollowRequest, Follower, SourceFacts};
pub use config::{CleartextPassword, Endpoint, LinkConfig, Secret, TlsMode};
pub use explain::{Estimate, EstimateTable};
pub use link::{Described, Link};
pub use pelorus_mysql_wire::prepared::Value;
pub use pelorus_mysql_wire::rows::Format;
pub use relay::{Condition, Relay, RelayDone, RelayItem, RelayedRows, Target};
pub use scan::{Fragment, Moment, RangeReport, Scan, ScanReport, ScanRequest, ScanStream};
pub use session_connection::Pinned;
pub use settings::SessionSettings;
pub use snapshot::SnapshotMode;
pub use split::{KeyRange, Split};
pub use status::{LinkStatus, ServerState, ServerStatus};
pub use table::{KeyPart, RemoteColumn, RemoteKey, RemotePartition, RemoteTable, TableName};
