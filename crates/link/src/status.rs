//! The status of a link's servers, for `SHOW` statements.

use std::time::Duration;

use crate::snapshot::SnapshotMode;

/// The state of a link.
#[derive(Clone, Debug)]
pub struct LinkStatus {
    /// The link's name.
    pub name: String,
    /// Primary first, then the replicas.
    pub servers: Vec<ServerStatus>,
    /// How the latest scan got its moment.
    pub snapshot: Option<SnapshotMode>,
    /// How long the latest scan held read locks for it.
    pub lock_held: Option<Duration>,
}

/// Whether a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It has not been contacted yet.
    Unknown,
    /// It answered the last time.
    Up,
    /// It could not be reached the last time.
    Down,
    /// A replica that did not follow in time.
    Lagging,
}

/// The state of a server.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Where it is.
    pub address: String,
    /// Whether it takes writes.
    pub is_primary: bool,
    /// Whether it answers.
    pub state: ServerState,
    /// Its version, once known.
    pub version: Option<String>,
    /// Time of the latest round trip that did no work.
    pub latency: Option<Duration>,
    /// Connections that are open.
    pub connections: usize,
    /// Idle connections.
    pub idle: usize,
    /// Ranges that it has read.
    pub ranges: u64,
    /// Rows that it has sent for ranges.
    pub rows: u64,
    /// Estimated key rows it reads per second in scans, once known.
    pub speed: Option<f64>,
    /// The latest failure.
    pub last_error: Option<String>,
}
