//! The write-ahead log of one database: a change is in the log before it is acknowledged, and
//! before it is in the data files.
//!
//! | Module | Holds |
//! | --- | --- |
//! | `format` | the bytes: segment headers, groups, records (`docs/internals/format-log.md`) |
//! | `segment` | segment files: their names and their creation |
//! | `log` | the calls: creating, opening, appending, waiting, discarding |
//! | `log::group` | group commit, reserved space, rotation, poisoning |
//! | `scan` | reading one segment as a stream |
//! | `recover` | opening: which records to replay, where to truncate, which damage to refuse |
//!
//! Rules on which the rest is built:
//!
//! 1. Only a group leader writes, one group at a time, and a group is written when everything
//!    before it is durable. So a valid group proves that everything before it was durable.
//! 2. Groups begin and end at multiples of 4 KiB: a torn write touches no earlier group.
//! 3. A segment gets its name when its header (and the groups that recovery wrote into it) is
//!    durable, and when everything before it is. So a segment under its name is whole, and proves
//!    its predecessor.
//! 4. Recovery begins a new segment, whose first LSN ends the one before. The bytes after that
//!    point are ignored from then on, whatever a later crash does to them. Only if the disk is full
//!    and everything in the last segment is known to be durable does that one continue: its end is
//!    truncated first, durably, so that there are no such bytes.
//! 5. Space for a record is reserved, as zeros in the file or as old content of the file of an
//!    earlier segment, before `append` accepts it, and with it the space that an opening needs if
//!    it has to copy the record's group. A full disk refuses the record and nothing else.
//! 6. A failed write or sync poisons the log. No pending record is acknowledged then; only opening
//!    the log again shows which of them survived.
//!
//! The caller ensures that at most one [`Log`] is open on a folder.

mod format;
#[cfg(all(test, feature = "loom"))]
mod interleavings;
mod log;
mod recover;
mod scan;
mod segment;

pub use format::{Lsn, RECORD_BYTES_MAX};
pub use log::{Log, Options};
pub use recover::Checkpoint;
