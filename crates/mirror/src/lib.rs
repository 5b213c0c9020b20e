//! Mirrors: live columnar copies of linked tables, fed by the binlog, exactly once.
//!
//! [`Mirrors`] is the entry point. For each linked server with mirrors, one *source* reads the binlog
//! for all of them, assembles batches of whole transactions, and commits each batch with its binlog
//! position in one record of the store's log. After a crash the stream continues from there.
//!
//! A new mirror takes no locks. The initial snapshot reads the table range by range, each range at a
//! moment of its own, while its changes are applied; a change overrides a row that was read before
//! it. When all ranges are read and the stream has passed the position that the server had after the
//! last of them, the copy equals the table at the stream's position, and queries may read it.
//! Finished ranges are stored, so that a restart continues.
//!
//! DDL takes effect on the copy at its position in the stream, so that each change of a row meets the
//! columns that it was made for. A statement that cannot be applied resynchronises the table.
//!
//! | module | owns |
//! | --- | --- |
//! | [`control`] | statements about mirrors, which tables can be mirrored, initial snapshot, repair |
//! | `source` | one server's stream: events, transactions, positions, freshness |
//! | `ddl` | DDL in the stream |
//! | [`apply`] | batches of changes, partial row images, foreign key actions, writes to copies |
//! | [`model`] | names, records, states, filters, and what is needed of the tables that hold the copies |

pub mod apply;
pub mod control;
mod ddl;
pub mod model;
mod source;

pub use crate::control::eligibility::{Mirrorable, check, written_definition};
pub use crate::control::mirrors::{Fresh, Mirrors};
pub use crate::model::copies::{Absent, Copies, CopyColumn, CopyTable, Definition};
pub use crate::model::name::MirrorName;
pub use crate::model::record::State;
pub use crate::model::shared::FindLink;
pub use crate::model::status::MirrorStatus;
pub use pelorus_binlog::Form;
