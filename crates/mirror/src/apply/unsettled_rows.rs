//! Unsettled rows: rows of a copy that may be newer than the stream's position while its table is
//! read.
//!
//! Ranges are read at moments that the stream has yet to reach. After the stream has passed the
//! last of them, all rows are as on the server at that position, except the rows that were
//! requested again meanwhile, which were read later. These are settled when the stream has passed
//! the end of the round in which they were read, unless they were requested once more.
//!
//! All of this is in memory only: after a restart every row is unsettled until the mirror is live.

use std::collections::{HashMap, HashSet};

use pelorus_binlog::Position;
use pelorus_store::Keys;

/// Rows of a copy that may differ from the table at the stream's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnsettledRows {
    None,
    /// Those with these keys.
    Rows(HashSet<Vec<u8>>),
    All,
}

impl UnsettledRows {
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Rows(keys) => keys.contains(key),
            Self::All => true,
        }
    }
}

/// The rows that were read at later moments.
#[derive(Debug, Default)]
pub(crate) struct Later {
    /// How often everything that was to be read has been.
    rounds: u64,
    /// Where the latest round ended, until the stream has passed it.
    until: Option<Position>,
    /// The stream has passed the end of a round: only `rows` are in doubt.
    is_passed: bool,
    /// Keys that were requested again, and the round that reads them.
    rows: HashMap<Vec<u8>, u64>,
}

impl Later {
    /// Rows must be read again. Those of the round that is being read come into it.
    pub(crate) fn ask_again(&mut self, keys: &Keys) {
        self.rows.extend(keys.iter().map(|key| (key.to_vec(), self.rounds + 1)));
    }

    /// Everything has been read, at moments before a position.
    pub(crate) fn end_reading(&mut self, until: &Position) {
        self.rounds += 1;
        self.until = Some(until.clone());
    }

    /// Which rows are in doubt for changes that come after a position.
    pub(crate) fn doubts(&mut self, at: &Position) -> UnsettledRows {
        if self.until.as_ref().is_some_and(|until| at.has_passed(until) == Some(true)) {
            self.until = None;
            self.is_passed = true;
            let rounds = self.rounds;
            self.rows.retain(|_, round| *round > rounds);
        }
        match self.is_passed {
            true => UnsettledRows::Rows(self.rows.keys().cloned().collect()),
            false => UnsettledRows::All,
        }
    }
}
