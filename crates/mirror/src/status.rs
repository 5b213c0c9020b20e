//! How mirrors stand, for people and for the choice of where a query runs.

use std::time::Duration;

use crate::mirrors::MirrorName;
use crate::record::State;

/// How one mirror stands.
#[derive(Clone, Debug)]
pub struct MirrorStatus {
    /// Which one.
    pub name: MirrorName,
    /// Where it is on its way.
    pub state: State,
    /// Why it failed or was read anew; for one that waits, what its server's stream says.
    pub reason: Option<String>,
    /// Whether it came with its database.
    pub of_database: bool,
    /// Ranges that have been read, and all of them, while it is being read.
    pub ranges: (usize, usize),
    /// Rows that were read at the beginning.
    pub rows_loaded: u64,
    /// Rows that the stream has written and deleted since the start.
    pub changes: u64,
    /// How often it was read from the beginning.
    pub loads: u64,
    /// How old what it shows may be; `None` before it is live.
    pub staleness: Option<Duration>,
    /// Up to where its server's stream has been applied.
    pub position: Option<String>,
}

/// How a server's stream stands.
#[derive(Clone, Debug, Default)]
pub struct SourceStatus {
    /// Whether the stream is open.
    pub connected: bool,
    /// Why it ended the last time, while it is not open.
    pub error: Option<String>,
    /// Events that came since the start.
    pub events: u64,
    /// Transactions that were applied since the start.
    pub transactions: u64,
    /// Commits that they made.
    pub commits: u64,
}
