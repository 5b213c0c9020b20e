//! DML on native tables: `INSERT`, `REPLACE`, `UPDATE`, `DELETE` and `LOAD DATA`.
//!
//! A statement is first planned: it reads the rows that it needs and builds all new rows in stored
//! form. Then it is executed, as one commit of the store or into the session's open transaction. A
//! change is committed against the version from which it was computed. If another session wrote the
//! same rows meanwhile (1213), the session plans the statement again.
//!
//! | module | owns |
//! | --- | --- |
//! | `insert` | `INSERT`, `REPLACE`: columns, defaults, `VALUES`, `SET` |
//! | `values_fast_path` | literals into columns |
//! | `default` | defaults of columns |
//! | `select` | rows of a query into columns |
//! | `storage_form` | rows of a query in the form of the store |
//! | `on_duplicate` | `ON DUPLICATE KEY UPDATE` |
//! | `update`, `update_joined`, `delete` | `UPDATE`, `DELETE` |
//! | `load` | `LOAD DATA` |
//! | `assign` | assignments, one after another |
//! | `assignment_fast_path` | assignments without a query |
//! | `auto` | AUTO_INCREMENT |
//! | `change`, `commit` | changes into writes of the store |
//! | `select_for_update` | `FOR UPDATE`, `FOR SHARE` |
//! | `lookup` | rows by key |
//! | `query` | queries of tables, and of rows in memory |
//! | `safe_updates` | `sql_safe_updates` |
//! | `partition_check` | rows without a partition, rows that violate a CHECK |
//! | `warnings` | warnings by row |

mod assign;
mod assignment_fast_path;
pub mod auto;
pub mod change;
pub mod commit;
mod default;
mod delete;
mod insert;
pub mod load;
pub mod lookup;
mod on_duplicate;
mod partition_check;
mod query;
mod safe_updates;
pub mod select;
pub mod select_for_update;
mod storage_form;
mod update;
mod update_joined;
mod values_fast_path;
pub mod warnings;

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Policy;
use pelorus_query::QueryContext;
use pelorus_result::Done;
use pelorus_result::diagnostics::Diagnostics;
use pelorus_result::kill::Stop;
use pelorus_sql::dml::Change as Parsed;
use pelorus_sql::statement::TableName;

use super::catalog::Catalog;
use super::definition::NativeDef;
use super::transaction::NativeReads;
use auto::{Numbers, Steps};
use change::{Change, Counts};
use warnings::Warnings;

/// Most bytes of rows that one statement or transaction changes: they are one record of the log. In
/// a transaction their keys and the undo list of savepoints count, too.
pub(crate) const BYTES_MAX: usize = 768 << 20;

/// A statement with the session's state that it sees.
#[derive(Debug)]
pub struct Statement<'s> {
    /// Native tables.
    pub catalog: &'s Catalog,
    /// The current database.
    pub database: Option<&'s str>,
    /// The context of its queries; they read the version of `reads`.
    pub context: QueryContext,
    /// The version that it reads.
    pub reads: NativeReads,
    /// Where warnings go.
    pub diagnostics: Diagnostics,
    /// The wish that it stops.
    pub stop: Stop,
    /// How values that do not fit are treated; the statement itself adds IGNORE.
    pub policy: Policy,
    /// How AUTO_INCREMENT counts.
    pub steps: Steps,
    /// Whether `UPDATE` and `DELETE` must use a key.
    pub safe_updates: bool,
}

/// The plan of a DML statement.
#[derive(Debug)]
pub struct Plan {
    /// The changes.
    pub changes: Vec<Change>,
    /// The changes were computed from rows that the statement read.
    pub depends: bool,
    /// The warnings of the values.
    pub warnings: Warnings,
    /// The report to the client.
    pub report: Report,
    /// AUTO_INCREMENT values.
    pub numbers: Numbers,
    /// Rows that take the place of rows that are the same: MySQL does not count those as deleted.
    pub alike: u64,
}

/// The report of a statement to the client.
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// `INSERT` and `REPLACE`.
    Insert {
        /// Rows that the statement gave.
        records: u64,
        /// Rows of them that planning left out.
        skipped: u64,
        /// Whether the text for people is sent: not for a single row of `VALUES`.
        info: bool,
    },
    /// `INSERT ... ON DUPLICATE KEY UPDATE`.
    Merge {
        /// Rows that the statement gave.
        records: u64,
        /// Rows that were new.
        inserted: u64,
        /// Rows that were changed.
        updated: u64,
        /// Rows that were there and stayed as they were.
        unchanged: u64,
        /// `IGNORE`: all rows that were not written count as duplicates.
        ignore: bool,
        /// As above.
        info: bool,
    },
    /// `UPDATE`
    Update {
        /// Rows that were found.
        matched: u64,
        /// Rows that were changed.
        changed: u64,
    },
    /// `DELETE`
    Delete,
    /// `LOAD DATA`
    Load {
        /// Rows of the file.
        records: u64,
        /// Rows that were left out by planning.
        skipped: u64,
    },
}

impl Statement<'_> {
    /// Plans a parsed statement.
    ///
    /// # Errors
    /// MySQL's errors of the statement; 1235 for unsupported clauses.
    pub async fn plan(mut self, change: &Parsed<'_>) -> Result<Plan> {
        match change {
            Parsed::Insert(insert) => {
                self.policy.ignore = insert.ignore;
                self.insert(insert).await
            }
            Parsed::Update(update) => {
                self.policy.ignore = update.ignore;
                self.update(update).await
            }
            Parsed::Delete(delete) => {
                self.policy.ignore = delete.ignore;
                self.delete(delete).await
            }
            Parsed::Load(_) => Err(Error::unsupported("LOAD DATA in this place")),
        }
    }

    /// A native table by its name in the statement.
    ///
    /// # Errors
    /// No database is chosen (1046), there is no such table (1146).
    fn table(&self, name: &TableName) -> Result<Arc<NativeDef>> {
        let database = name.database.as_deref().or(self.database);
        let database =
            database.ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))?;
        self.catalog.require(database, &name.name)
    }
}

impl Report {
    /// Counts new rows that are not written.
    fn leave_out(&mut self, rows: usize) {
        if let Report::Insert { skipped, .. } | Report::Load { skipped, .. } = self {
            *skipped += rows as u64;
        }
    }
}

impl Plan {
    /// The numbers for the client, when everything is done.
    pub fn done(&self, counts: &Counts, found_rows: bool, warnings: usize) -> Done {
        let (affected_rows, info) = match self.report {
            Report::Insert { records, skipped, info } => {
                let affected = counts.inserted + 2 * counts.replaced;
                let duplicates = skipped + counts.replaced + counts.ignored;
                (affected, info.then(|| records_text(records, duplicates, warnings)))
            }
            Report::Merge { records, inserted, updated, unchanged, ignore, info } => {
                let found = if found_rows { unchanged } else { 0 };
                let affected = inserted + 2 * updated + found;
                let duplicates = match ignore {
                    true => records.saturating_sub(inserted + updated),
                    false => updated + found,
                };
                (affected, info.then(|| records_text(records, duplicates, warnings)))
            }
            Report::Update { matched, changed } => {
                let info =
                    format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
                (if found_rows { matched } else { changed }, Some(info))
            }
            Report::Delete => (counts.removed, None),
            Report::Load { records, skipped } => {
                let affected = counts.inserted + 2 * counts.replaced;
                let skipped = skipped + counts.ignored;
                let deleted = counts.replaced;
                let info = format!(
                    "Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: \
                     {warnings}"
                );
                (affected, Some(info))
            }
        };
        Done {
            affected_rows,
            last_insert_id: self.numbers.reported(),
            warnings: u16::try_from(warnings).unwrap_or(u16::MAX),
            info: info.unwrap_or_default(),
        }
    }
}

pub(crate) fn records_text(records: u64, duplicates: u64, warnings: usize) -> String {
    format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}")
}

/// Error 1054 for a column that a statement writes.
fn unknown_column(name: &str) -> Error {
    Error::new(Code::UnknownColumn, format!("Unknown column '{name}' in 'field list'"))
}

/// Error 1235 above the bytes that one commit takes.
pub(crate) fn check_bytes(bytes: usize) -> Result<()> {
    if bytes <= BYTES_MAX {
        return Ok(());
    }
    let most = BYTES_MAX >> 20;
    Err(Error::unsupported(format_args!("changing more than {most} MiB of rows at once")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(report: Report, counts: &Counts, found_rows: bool) -> (u64, String) {
        let (changes, warnings) = (Vec::new(), Warnings::default());
        let numbers = Numbers::default();
        let plan = Plan { changes, depends: false, warnings, report, numbers, alike: 0 };
        let done = plan.done(counts, found_rows, 0);
        (done.affected_rows, done.info)
    }

    #[test]
    fn affected_rows_are_counted_as_in_mysql() {
        let none = Counts::default();
        let merge = Report::Merge {
            records: 6,
            inserted: 3,
            updated: 2,
            unchanged: 1,
            ignore: false,
            info: true,
        };
        let text = |duplicates: u64| format!("Records: 6  Duplicates: {duplicates}  Warnings: 0");
        assert_eq!(done(merge, &none, false), (7, text(2)));
        assert_eq!(done(merge, &none, true), (8, text(3)));
        let update = Report::Update { matched: 5, changed: 2 };
        assert_eq!(done(update, &none, false).0, 2);
        assert_eq!(done(update, &none, true).0, 5);
        let counts = Counts { inserted: 3, replaced: 2, ignored: 1, ..Counts::default() };
        let insert = Report::Insert { records: 6, skipped: 0, info: true };
        assert_eq!(done(insert, &counts, false), (7, text(3)));
        let counts = Counts { removed: 4, ..Counts::default() };
        assert_eq!(done(Report::Delete, &counts, true).0, 4);
    }
}
