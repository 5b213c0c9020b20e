//! Reads rows of a mirrored table from its server, in the form of the copy.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, BooleanArray};
use pelorus_binlog::Position;
use pelorus_env::Account;
use pelorus_error::{Code, Error, Result};
use pelorus_link::split::quote_name;
use pelorus_link::{Fragment, KeyRange, Link, Scan, ScanRequest, SessionSettings};

use crate::model::copies::{CopyColumn, CopyTable};
use crate::model::name::MirrorName;
use crate::model::record::State;
use crate::source::Source;

/// How long the server may take to show what its binlog has already.
const VISIBLE_WITHIN: Duration = Duration::from_secs(60);
/// The interval of requests.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// The time after which the reason for the wait is logged.
const SAY_AFTER: Duration = Duration::from_secs(1);

/// Begins to read the rows of a range: the columns that the copy keeps, of the rows that it may
/// have. One statement reads them, on the server that is followed.
///
/// # Errors
/// Errors of the server; columns that are not those of the copy (1412).
pub(crate) async fn scan(
    link: &Link,
    name: &MirrorName,
    copy: &dyn CopyTable,
    range: KeyRange,
    memory: &Account,
) -> Result<Scan> {
    let kept: Vec<&CopyColumn> = copy.columns().iter().filter(|it| !it.left_out).collect();
    let columns: Vec<String> = kept.iter().map(|it| quote_name(&it.name)).collect();
    let condition = copy.pushed().map_or_else(String::new, |it| format!("({it}) AND "));
    let table = (name.database.clone(), name.table.clone());
    let request = ScanRequest {
        settings: SessionSettings::as_stored(),
        fragment: Fragment {
            parts: [
                format!(
                    "SELECT {} FROM {}.{}",
                    columns.join(", "),
                    quote_name(&name.database),
                    quote_name(&name.table)
                ),
                format!(" AS `t` WHERE {condition}"),
                String::new(),
            ],
        },
        ranges: vec![range],
        qualifier: "t".to_owned(),
        tables: vec![table],
        cut: None,
        streams: 1,
        committed: true,
        buffer_whole_range: false,
        expected: Vec::new(),
        memory: memory.clone(),
    };
    let scan = link.scan(request).await?;
    let fits = scan.columns.len() == kept.len()
        && scan.columns.iter().zip(&kept).all(|(a, b)| a.ty.arrow() == b.ty.arrow());
    if !fits {
        return Err(Error::new(
            Code::TableChanged,
            format!("the columns of '{name}' are not those of its copy"),
        ));
    }
    Ok(scan)
}

/// Waits until snapshots show all transactions that the stream has applied: an event can be in the
/// binlog a moment before its changes are visible.
///
/// # Errors
/// Errors of the server, and a timeout.
pub(crate) async fn wait_until_visible(
    source: &Source,
    link: &Link,
    name: &MirrorName,
) -> Result<()> {
    let begun = source.env().clock.monotonic();
    let mirror = source.mirror(&name.database, &name.table);
    let mirror = mirror.filter(|it| it.state() != State::Live);
    let mut is_said = false;
    while let Some(applied) = source.position() {
        let (is_visible, visible) = shows(link, name, &applied).await?;
        if is_visible {
            break;
        }
        let waited = source.env().clock.monotonic().saturating_sub(begun);
        let is_other = !visible.is_like(&applied);
        if is_other {
            // The server's `gtid_mode` has changed: the next stream says so.
            source.begin_stream_again();
        }
        if is_other || waited > VISIBLE_WITHIN {
            let text = what_lacks(name, &visible, &applied);
            return Err(Error::new(Code::QueryOnForeign, text));
        }
        if waited > SAY_AFTER
            && !is_said
            && let Some(mirror) = &mirror
        {
            mirror.wait_for(what_lacks(name, &visible, &applied));
            is_said = true;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    if let Some(mirror) = mirror.filter(|_| is_said) {
        *mirror.trouble.lock() = None;
    }
    Ok(())
}

/// The reason for the wait, if snapshots do not show everything up to a position.
fn what_lacks(name: &MirrorName, visible: &Position, applied: &Position) -> String {
    match visible {
        // Where there are no GTIDs it is found out by a lock, which waits for all of them.
        Position::File { .. } if visible.is_like(applied) => format!(
            "it waits for the transactions that are open on '{name}' to end (SHOW PROCESSLIST on the \
             server shows them); where the account may not lock the table (GRANT LOCK TABLES), for \
             the next binlog file"
        ),
        _ => format!("the server is at {visible}, the stream at {applied}"),
    }
}

/// Whether snapshots show everything up to a position, and up to where they do.
///
/// # Errors
/// Errors of the server.
pub(crate) async fn shows(
    link: &Link,
    name: &MirrorName,
    place: &Position,
) -> Result<(bool, Position)> {
    let tables = [(name.database.clone(), name.table.clone())];
    let visible = link.binlog_position(&tables).await?;
    Ok((visible.has_passed(place) == Some(true), visible))
}

/// Batches of columns in one piece.
///
/// # Errors
/// None but bugs.
pub(crate) fn joined(batches: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>> {
    let Some(first) = batches.first() else { return Ok(Vec::new()) };
    if batches.len() == 1 {
        return Ok(first.clone());
    }
    let column = |at: usize| {
        let parts: Vec<&dyn arrow::array::Array> =
            batches.iter().filter_map(|batch| batch.get(at)).map(AsRef::as_ref).collect();
        arrow::compute::concat(&parts).map_err(cannot)
    };
    (0..first.len()).map(column).collect()
}

/// The rows that meet the filter.
///
/// # Errors
/// None but bugs.
pub(crate) fn filtered(columns: &[ArrayRef], keep: &BooleanArray) -> Result<Vec<ArrayRef>> {
    columns.iter().map(|it| arrow::compute::filter(it, keep).map_err(cannot)).collect()
}

fn cannot(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows that were read cannot be put together").caused_by(error)
}

/// A copy of a mirror, which there must be.
///
/// # Errors
/// None but bugs.
pub(crate) fn copy_of(mirror: &crate::model::mirror::Mirror) -> Result<Arc<dyn CopyTable>> {
    mirror.copy().ok_or_else(|| Error::internal("a mirror without a copy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_what_is_waited_for() {
        let name = MirrorName { link: "l".into(), database: "d".into(), table: "t".into() };
        let place = |text: &str| text.parse::<Position>().unwrap();
        let said = what_lacks(&name, &place("file:bin.000001:4"), &place("file:bin.000001:99"));
        assert!(said.contains("open on 'd.t'"), "{said}");
        let said = what_lacks(&name, &place("mariadb:0-1-4"), &place("mariadb:0-1-5"));
        assert!(said.contains("0-1-4") && said.contains("0-1-5"), "{said}");
    }
}
