//! Checks the files of a native database, and draws them: a second decoder of everything that
//! native tables write.
//!
//! It is made from `docs/internals/format-blockfile.md`, `docs/internals/format-chunk.md`, `docs/internals/format-log.md` and
//! `docs/internals/format-store.md` alone and shares no code with the crates that write, so that a mistake
//! in one of the two shows. It never writes, never panics on any bytes, and reserves no memory
//! that the files do not account for.
//!
//! | Module | What it reads |
//! | --- | --- |
//! | `blocks` | header slots, translation tables, blocks |
//! | `chunk` | descriptions, columns, zones, positions of vectors |
//! | `log` | segments, groups, records, and where the log may end |
//! | `schema`, `batch`, `catalog`, `manifest`, `record` | what blocks and records hold |
//! | `replay`, `part`, `rows` | live rows: those of the file, and those of the log above them |
//! | `check`, `table` | a folder, a data file |
//! | `values`, `bytes` | columns of values, little-endian bytes |
//! | `report` | findings |
//! | `view`, `draw`, `render` | one file to look at, and text |

mod batch;
mod blocks;
mod bytes;
mod catalog;
mod check;
mod chunk;
mod draw;
mod log;
mod manifest;
mod part;
mod record;
mod render;
mod replay;
mod report;
mod rows;
mod schema;
mod table;
mod values;
mod view;

use std::path::Path;

use pelorus_env::Disk;

pub use render::{Render, render};
pub use report::{Finding, LogReport, Report, Severity, TableReport};
pub use rows::Row;
pub use values::{Value, Wide};
pub use view::{BlockView, ChunkView, ColumnView, FileView, HeaderView, Hole, Kind, UsedBy};

/// Checks the folder of a native database that no process has open.
///
/// Everything that both checkpoints of every file refer to is read and decoded, and the log as far
/// as the next start needs it. Primary keys are checked to be unique among the live rows of a
/// partition, except where that depends on a collation.
pub fn check(disk: &dyn Disk, folder: &Path) -> Report {
    check::check(disk, folder, None)
}

/// As `check`, and gives out the live rows of the newest version: those that the next start will
/// have. Of each partition rows come in no particular order; damaged rows are left out, and so is
/// every partition of which the log changes rows by keys that cannot be compared here.
pub fn check_rows(disk: &dyn Disk, folder: &Path, rows: &mut dyn FnMut(&Row<'_>)) -> Report {
    check::check(disk, folder, Some(rows))
}

/// Inspects one data file: its headers, blocks, holes, chunks and columns. The checksums of all
/// blocks are compared; `check` verifies whether their contents are consistent.
pub fn inspect(disk: &dyn Disk, file: &Path) -> FileView {
    view::inspect(disk, file)
}
