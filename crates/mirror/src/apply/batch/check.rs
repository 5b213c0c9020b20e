//! Checks the rows of an event against the copy: whether they fit it, and which columns they lack.

use pelorus_binlog::{RowsEvent, RowsKind};
use pelorus_error::{Code, Error, Result};

use super::{Happened, TableBatch};
use crate::apply::row_image_completion::{Lacking, RowImageCompletion};
use crate::model::copies::Absent;

/// Rows that cannot be followed.
fn cannot_follow(event: &RowsEvent, what: &str) -> Error {
    Error::unsupported(format_args!(
        "rows of '{}.{}' {what}; SET GLOBAL binlog_row_image = FULL, reconnect the clients, and \
         then ALTER MIRROR ... RESYNC",
        event.table.database, event.table.table
    ))
}

/// The error for rows whose images are ambiguous without their statement.
fn ambiguous(event: &RowsEvent) -> Error {
    Error::new(
        Code::TableChanged,
        format!(
            "the binlog has a changed row of '{}.{}' in part, and does not tell whether it comes \
             from a REPLACE; SET GLOBAL binlog_row_image = FULL (or binlog_annotate_row_events = \
             ON) and reconnect the clients",
            event.table.database, event.table.table
        ),
    )
}

impl TableBatch {
    /// Whether the rows have the copy's columns, and which columns they lack; `None` if only the
    /// statement tells.
    pub(super) fn check(
        &mut self,
        event: &RowsEvent,
        origin: &RowImageCompletion,
        cascades: bool,
    ) -> Result<Option<Happened>> {
        let (columns, table) = (self.copy.columns(), &event.table);
        let named = table.columns.iter().zip(columns).all(|(there, here)| {
            there.name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&here.name))
        });
        if table.columns.len() != columns.len() || !named {
            return Err(Error::new(
                Code::TableChanged,
                format!(
                    "the columns of '{}.{}' in the binlog are not those of its copy",
                    table.database, table.table
                ),
            ));
        }
        if event.kind != RowsKind::Insert
            && !self.copy.key().iter().all(|&at| event.has_column(false, at))
        {
            return Err(cannot_follow(event, "whose keys the binlog does not have"));
        }
        if cascades && !self.of_before.iter().all(|&at| event.has_column(false, at)) {
            return Err(cannot_follow(event, "without the columns that foreign keys refer to"));
        }
        let kind = match event.kind {
            RowsKind::Delete => return Ok(Some(Happened::Deleted)),
            RowsKind::Insert => Happened::Inserted,
            RowsKind::Update | RowsKind::PartialUpdate => Happened::Updated,
        };
        let has = |after: bool, at: usize| columns[at].left_out || event.has_column(after, at);
        let has_all = |after: bool| (0..columns.len()).all(|at| has(after, at));
        let tells_changes = event.kind == RowsKind::PartialUpdate && !has_all(false);
        if self.copy.is_filtered() && kind == Happened::Updated && (tells_changes || !has_all(true))
        {
            return Err(cannot_follow(
                event,
                "in part, where the mirror has some rows only: those that it does not have could \
                 not be put together (a mirror of all rows can)",
            ));
        }
        self.in_part |= tells_changes;
        if has_all(true) {
            return Ok(Some(kind));
        }
        self.in_part = true;
        let lacked = || (0..columns.len()).filter(|&at| !has(true, at));
        let generated = lacked().find(|&at| columns[at].absent == Absent::Generated);
        if let Some(at) = generated.filter(|_| origin.is_mariadb || kind == Happened::Inserted) {
            let what = format!(
                "without the generated column '{}', which this server leaves out of them",
                columns[at].name
            );
            return Err(cannot_follow(event, &what));
        }
        if kind == Happened::Updated {
            let is_mentioned = |&at: &usize| event.has_column(true, at);
            match origin.lacking(event) {
                Lacking::Kept => return Ok(Some(kind)),
                // FULL_NODUP leaves out what is as it was before.
                Lacking::Unclear if has_all(false) => return Ok(Some(kind)),
                // New rows have the keys that their statements give.
                Lacking::Unclear
                    if self.copy.key().iter().any(|at| {
                        !is_mentioned(at) && matches!(columns[*at].absent, Absent::Implicit(_))
                    }) =>
                {
                    return Ok(Some(kind));
                }
                Lacking::Unclear if !origin.asked => return Ok(None),
                Lacking::Unclear => return Err(ambiguous(event)),
                Lacking::Default if has_all(false) => return Err(ambiguous(event)),
                Lacking::Default => {}
            }
        }
        if let Some(at) = lacked().find(|&at| columns[at].absent.value().is_none()) {
            return Err(Error::new(
                Code::TableChanged,
                format!(
                    "the binlog has a row of '{}.{}' without column '{}', whose default is \
                     computed",
                    table.database, table.table, columns[at].name
                ),
            ));
        }
        Ok(Some(if kind == Happened::Updated { Happened::Replaced } else { kind }))
    }
}
