//! Snapshots: all readers of a scan see one moment.
//!
//! Every connection of a scan opens an InnoDB snapshot of its own (`START TRANSACTION WITH
//! CONSISTENT SNAPSHOT, READ ONLY` under REPEATABLE READ). They agree on the scan's tables if no
//! transaction that changed these tables became visible between the first and the last opening.
//! That is made sure in one of three ways, tried in this order.
//!
//! # Without locks ([`SnapshotMode::Position`])
//!
//! A transaction `T` passes through these points in time: it is written to the binlog (`tW`), it
//! becomes visible to new snapshots (`tV`), and it counts as executed (`tE`); `tW < tV < tE`.
//!
//! *MariaDB with a binlog.* The server moves the place in the binlog up to which everything is
//! visible (`binlog_snapshot_file`, `binlog_snapshot_position`) under the lock that orders commits
//! and that a snapshot takes. If it is the same before the first and after the last opening,
//! nothing became visible in between. It is read on a connection without a snapshot. The server
//! answers through variables that all sessions share: an answer may be the one that another
//! session requests at the same instant. That is harmless if it is the current place, too; an
//! older one, of a snapshot that another session holds, could only pass for the current one if it
//! were the place from before the openings, twice in a row. The snapshots' own positions must not
//! be compared instead: read concurrently, they return each other's answers.
//!
//! *MySQL with GTIDs.* A GTID is *owned* from before `tW` until `tE`, and is in `gtid_executed`
//! from `tE` on. Read before the openings: `gtid_owned`, then `gtid_executed` as `A`. Read after
//! them: `gtid_owned`, then `gtid_executed` as `B`. Accept if both owned sets are empty and
//! `A = B`. Suppose `T` became visible between the openings, so after `A` was read. It was not
//! owned at the first reading, and not executed then (`tE > tV`), so it came to be owned later. At
//! the second reading it is either still owned, or executed and so in `B` but not in `A`: seen in
//! either case. No right beyond connecting is needed. `gtid_executed` counts only while `gtid_mode`
//! is ON and there is a binlog: a server that once had GTIDs keeps what it executed with them.
//!
//! *Replicas.* They must have executed `A` before they open (`MASTER_GTID_WAIT`,
//! `WAIT_FOR_EXECUTED_GTID_SET`), so they have no less. They have no more, because what a replica
//! has was written on the primary before, and nothing was: for MySQL by the same argument; for
//! MariaDB because the GTID position of the binlog is read after all openings, too, and must be
//! both `A` and the position of that place.
//!
//! Both rest on everything being logged. A server that leaves databases out of its binlog, or a
//! MariaDB that follows another and does not log what comes from there, is not read this way.
//!
//! # With a lock ([`SnapshotMode::Locked`])
//!
//! If writers never pause long enough, a control connection runs `LOCK TABLES .. READ` on the
//! scan's tables. It is granted when no open transaction has changed them (metadata locks are held
//! up to the end of a transaction, after `tE`), and no session changes them until `UNLOCK TABLES`.
//! All snapshots of the primary are opened while it is held. The primary's executed GTIDs read
//! under the lock contain every change of these tables, so a replica that has them contains the
//! same, and can contain no later change of these tables. Replicas catch up before the lock is
//! taken; one that has not reached the GTIDs within [`HOLD`] is left out of the scan. Waiting for
//! the lock and holding it are bounded by [`ACQUIRE`] and [`HOLD`]: longer waits would delay
//! writers.
//!
//! # One connection ([`SnapshotMode::Single`])
//!
//! If a long transaction repeatedly prevents the lock while others commit all the time, one
//! connection reads all ranges one after the other. A single statement needs no snapshot before it.
//! A statement that may see committed rows only is a transaction of its own under REPEATABLE READ,
//! since the server's sessions may begin under READ UNCOMMITTED.
//!
//! # Neither ([`SnapshotMode::Near`])
//!
//! If the account may not lock and writers never pause, the primary's snapshots are opened as close
//! together as possible, replicas are left out, and the scan reports a warning.
//!
//! Changes that are not written to the binlog (`sql_log_bin = 0`) are covered by the lock only.

mod open;

pub(crate) use open::{Wanted, lacks_rights, open};

use std::time::Duration;

/// How long to wait for the lock: pending, it already holds new writers up.
pub const ACQUIRE: Duration = Duration::from_millis(250);
/// How long the lock may be held.
pub const HOLD: Duration = Duration::from_millis(200);
/// How long a replica may take to come near before any lock is taken.
pub const FOLLOW: Duration = Duration::from_millis(1000);
/// How long a replica that was late the last time may take.
const LATE_AGAIN: Duration = Duration::from_millis(50);
/// How often opening without locks is tried before a lock is.
const ROUNDS: usize = 6;
/// How often all of it is tried.
const ATTEMPTS: usize = 2;

/// How the readers of a scan were brought to one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SnapshotMode {
    /// One connection reads: its own snapshot is the moment.
    Single,
    /// Without locks: every snapshot was opened at the same binlog position.
    Position,
    /// The tables were locked against writes for the moment in which the snapshots were opened.
    Locked,
    /// The account lacks the privileges of the other modes: snapshots were opened as close together
    /// as possible and may differ by commits in between.
    Near,
}
