//! The binlog of a linked server: the settings that it must have, positions in it, and following
//! it.
//!
//! # Positions
//!
//! A transaction `T` passes through these points in time: it is written to the binlog (`tW`), it
//! becomes visible to new snapshots (`tV`), it counts as executed (`tE`), and it is acknowledged to
//! its client (`tA`); `tW < tV < tE < tA`. (See [`crate::snapshot`].)
//!
//! **The lower bound** ([`Link::binlog_position`]): every transaction up to it is visible to every
//! snapshot that is opened after the call. A copy that is loaded afterwards and then applies the
//! binlog from there idempotently misses nothing. The bound must not be ahead of visibility, so the
//! end of the binlog (which moves at `tW`) cannot be used:
//!
//! - *MySQL with GTIDs*: `gtid_executed`. A GTID is added to it at `tE`.
//! - *MariaDB*: `gtid_binlog_pos`, which moves at `tW`, and after it the end of the binlog are
//!   read; then the call waits until the place in `binlog_snapshot_file` and
//!   `binlog_snapshot_position` has reached that end. This place moves in the order of the binlog
//!   under the lock in which a group of commits becomes visible, so all transactions up to the
//!   GTIDs are visible then. The variables are shared by all sessions, so file and offset could be
//!   of two answers: they are read twice, and accepted if both are in one file and in order. If the
//!   account may not read the end, or the place does not reach it (events that the server itself
//!   writes to its binlog do not move it), the place is converted to GTIDs by `BINLOG_GTID_POS`,
//!   for which the server reads the file. That fails if an event is larger than its
//!   `max_allowed_packet`, and then the file's start is taken.
//! - *MySQL without GTIDs*: there is no place that moves at `tV`. The end of the binlog is read,
//!   and after that the tables are locked against writes for an instant (`LOCK TABLES .. READ`,
//!   released at once). The lock is granted when no open transaction has changed them, and a
//!   transaction holds its metadata locks beyond `tV`: so all writes before that end, as far as
//!   they concern these tables, are visible. The wait is bounded, because writers queue for the
//!   lock. If it times out (a long transaction, no privilege to lock), the start of the binlog file
//!   is taken: a server begins a file only when every transaction of the files before has been
//!   committed in its engine (it waits until none is prepared), as its own recovery reads the last
//!   file only. That costs reading at most one file again. (`performance_schema.log_status` cannot
//!   be used here: it stops writing, not committing.)
//!
//! Prepared XA transactions are an exception: both flavours write their rows to the binlog at `XA
//! PREPARE`, long before they are visible. One that is prepared while the lower bound is read is
//! before it in the binlog, and is not in the loaded copy. A reader that applies the binlog sees
//! `XA COMMIT` of a transaction whose rows it has not seen, and must load again.
//!
//! **The upper bound** ([`Link::binlog_end`]): it covers every transaction that was acknowledged to
//! any client before the call. `gtid_executed` does (`tE < tA`), as do `gtid_binlog_pos` and the
//! end of the file (`tW < tA`).
//!
//! # Following
//!
//! [`Link::follow`] opens a connection of its own and requests the binlog as a replica does. With
//! GTIDs nothing depends on the names of files, so that it continues from the same position on
//! another server that has the same transactions.

mod facts;
mod failure;
mod follow;
mod position;

use std::sync::Arc;
use std::time::Duration;

use pelorus_binlog::Position;
use pelorus_error::Result;

pub use facts::SourceFacts;
pub use failure::{FollowError, FollowFailure};
pub use follow::Follower;

use crate::link::Link;

/// The binlog to follow, and the replica's identity.
#[derive(Clone, Debug)]
pub struct FollowRequest {
    /// The position from which to continue.
    pub position: Position,
    /// The `server_id` that the source knows this replica by: unlike those of the source and of
    /// all its other replicas. See [`server_id_of`].
    pub server_id: u32,
    /// How long the source may have nothing to send before it sends a heartbeat.
    pub heartbeat: Duration,
    /// How long nothing at all may come before the connection is given up: several heartbeats.
    pub silence: Duration,
    /// Whether a MariaDB sends the statements that rows come from, too. (A MySQL always does where
    /// its `binlog_rows_query_log_events` has them written.)
    pub statements: bool,
}

impl FollowRequest {
    /// A request with a heartbeat every two seconds and patience for thirty: a source that looks
    /// for the first event in a large file is silent meanwhile.
    pub fn new(position: Position, server_id: u32) -> Self {
        Self {
            position,
            server_id,
            heartbeat: Duration::from_secs(2),
            silence: Duration::from_secs(30),
            statements: false,
        }
    }
}

/// A `server_id` made from a text that names us alone (a stored random number, and the link's
/// name). It is between 2^30 and 2^31, a range that is rarely used.
pub fn server_id_of(identity: &str) -> u32 {
    // FNV-1a.
    let hash = identity
        .bytes()
        .fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash & 0x3FFF_FFFF) | 0x4000_0000
}

impl Link {
    /// The facts of the primary that matter for following it, in one round trip.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn source_facts(&self) -> Result<SourceFacts> {
        facts::read(&self.inner).await
    }

    /// A position such that every transaction up to it is visible to any snapshot that is opened
    /// afterwards (see [the module](self)). `tables` are the relevant tables, with the server's
    /// names of databases; on a MySQL without GTIDs they are locked against writes for an instant.
    ///
    /// # Errors
    /// When the primary does not answer, writes no binlog, or denies access.
    pub async fn binlog_position(&self, tables: &[(String, String)]) -> Result<Position> {
        position::visible(&self.inner, tables).await
    }

    /// A position that covers everything that the primary acknowledged to any client before the
    /// call. It may be ahead of the visible state.
    ///
    /// # Errors
    /// As [`Self::binlog_position`].
    pub async fn binlog_end(&self) -> Result<Position> {
        position::end(&self.inner).await
    }

    /// Follows the primary's binlog on a connection of its own. Errors of the start (a wrong
    /// account, a position that is gone) are found here.
    ///
    /// # Errors
    /// See [`FollowFailure`].
    pub async fn follow(&self, request: &FollowRequest) -> Result<Follower, FollowError> {
        Follower::start(Arc::clone(self.inner.primary()), request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_ids_are_large_and_differ() {
        let ids: Vec<_> = ["", "a", "b", "shop/1", "shop/2"].map(server_id_of).into();
        assert!(ids.iter().all(|id| (1 << 30..1 << 31).contains(id)));
        let different: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
        assert_eq!(server_id_of("shop/1"), server_id_of("shop/1"));
    }
}
