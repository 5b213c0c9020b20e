//! Mirrors: live columnar copies of linked tables, fed by the binlog, exactly once.
//!
//! [`Mirrors`] is the front. For each linked server that has mirrors a *source* reads the binlog
//! once for all of them (`source`), makes batches of whole transactions (`batch`), and commits
//! them with the position that they reach in one record of the store's log: after a crash the
//! stream goes on from exactly there.
//!
//! A new mirror begins without locks. Its beginning is a position up to which everything is visible
//! to snapshots that are opened from then on. The table is read range by range (`load`), each
//! range at a moment of its own; at the same time its changes are applied, and a change wins over
//! a row that was read before it. When all ranges are there and the stream has passed the
//! position that the server had after the last of them, the copy is what the table was at the
//! stream's position, and is read by queries. Ranges are small and those that are done are
//! remembered, so a restart goes on where it was.
//!
//! Statements that change a table's definition are carried out on the copy where they stand in
//! the stream (`follow`), so that each change of a row meets the columns that it was made for. What
//! cannot be carried out there makes the copy be read anew, with the reason shown.
//!
//! | module | owns |
//! | --- | --- |
//! | [`copies`] | what is needed of the tables that hold the copies |
//! | [`record`] | what is remembered of mirrors and sources |
//! | [`mirrors`] | the front: making, pausing, dropping, listing mirrors |
//! | [`status`] | how mirrors stand |
//! | `source` | one server's stream of changes |
//! | `batch` | changes on their way into the store |
//! | `parts` | rows that the binlog has in part |
//! | `doubts` | which rows of a copy can be later than the stream is |
//! | `origin` | which statements such rows come from |
//! | `follow` | definitions that change |
//! | [`cascade`] | what foreign keys do to rows where the binlog does not say it |
//! | `load` | reading a table for the first time |
//! | `mirrorable` | which tables can be mirrored |
//! | `reading` | rows as the server has them |
//! | [`repair`] | rows that differ: looking closely, and putting them right |
//! | `window` | what the stream changes while rows are read |
//! | `writes` | rows on their way into a copy |
//! | `filter` | copies of a part of their table |

mod batch;
pub mod cascade;
mod charsets;
pub mod copies;
mod doubts;
mod filter;
mod follow;
mod load;
mod mirror;
mod mirrorable;
pub mod mirrors;
mod origin;
mod parts;
mod reading;
pub mod record;
pub mod repair;
mod source;
pub mod status;
mod window;
mod writes;

pub use copies::{Absent, Copies, CopyColumn, CopyTable, Definition};
pub use mirrorable::{Mirrorable, check, written_definition};
pub use mirrors::{Fresh, MirrorName, Mirrors};
pub use pelorus_binlog::Form;
pub use record::State;
pub use status::MirrorStatus;
