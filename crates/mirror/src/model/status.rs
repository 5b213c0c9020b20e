//! The status of mirrors, for `SHOW` and for the choice of where a query runs.

use std::time::Duration;

use crate::model::name::MirrorName;
use crate::model::record::State;

/// The status of one mirror.
#[derive(Clone, Debug)]
pub struct MirrorStatus {
    /// Which one.
    pub name: MirrorName,
    /// Where it is on its way.
    pub state: State,
    /// Why it failed, cannot be read, or was read again; else what ended its server's stream.
    pub reason: Option<String>,
    /// Ranges that have been read, and all of them, while it is being read.
    pub ranges: (usize, usize),
    /// Rows that were read at the beginning.
    pub rows_loaded: u64,
    /// Rows that the stream has written and deleted since the start.
    pub changes: u64,
    /// How often it was read from the beginning.
    pub loads: u64,
    /// Queries that it has answered since the start.
    pub queries: u64,
    /// `COLUMNS`, `EXCEPT COLUMNS` and `WHERE` of the user.
    pub filter: Option<String>,
    /// `PARTITION BY` and `SEGMENT BY` of the user.
    pub layout: Option<String>,
    /// The age of the data that it shows; `None` before it is live.
    pub staleness: Option<Duration>,
    /// How many transactions its server has that have not been applied, as of a second ago at most;
    /// `None` where that is not known: before it follows, without GTIDs, without a connection.
    pub transactions: Option<u64>,
    /// Up to where its server's stream has been applied.
    pub position: Option<String>,
}
