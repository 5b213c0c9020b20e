//! The write-ahead log of one database: what is acknowledged stands here before it stands in the
//! data files.
//!
//! | Module | Holds |
//! | --- | --- |
//! | `format` | the bytes: segment headers, groups, records (`docs/internals/format-log.md`) |
//! | `segment` | segment files: their names, and how one comes to be |
//! | `log` | the calls: creating, opening, appending, waiting, discarding |
//! | `log::group` | group commit, reserved space, rotation, poisoning |
//! | `scan` | reading one segment as a stream |
//! | `recover` | opening: what to replay, what to cut, what to refuse |
//!
//! The rules that the rest follows from:
//!
//! 1. Only a group leader writes, one group at a time, and a group is written when everything
//!    before it is durable. So a valid group proves that everything before it was durable.
//! 2. Groups begin and end at multiples of 4 KiB: a torn write touches no earlier group.
//! 3. A segment gets its name when its header (and what recovery put into it) is durable, and when
//!    everything before it is. So a segment under its name is whole, and proves its predecessor.
//! 4. Recovery begins a new segment, whose first LSN ends the one before. The bytes after that point
//!    mean nothing from then on, whatever a later crash makes of them. Only where the disk is full and
//!    everything in the last segment is known to be durable does that one go on: its end is cut first,
//!    durably, so that there are no such bytes.
//! 5. Space for a record is reserved, as zeros in the file or what an earlier segment left there,
//!    before `append` takes it, and with it what an opening takes that has to copy the record's
//!    group. A full disk refuses the record and nothing else.
//! 6. A failed write or sync poisons the log. Nothing that was pending is acknowledged then; only
//!    opening again tells what became of it.
//!
//! The caller sees to it that one [`Log`] at a time is open on a folder.

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
