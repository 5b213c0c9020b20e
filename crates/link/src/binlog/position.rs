//! Queries of binlog positions; the head of [`crate::binlog`] explains why they are correct.

use std::sync::Arc;
use std::time::Duration;

use pelorus_binlog::Position;
use pelorus_error::{Code, Error, Result};
use tokio::time::{sleep, timeout};

use crate::connection::{Connection, TextRows};
use crate::link::Inner;
use crate::server::Lent;
use crate::settings::SessionSettings;
use crate::snapshot::{ACQUIRE, lacks_rights};
use crate::split::{quote_name, quote_text};

/// How often a MariaDB's place is read until the two readings agree.
const ROUNDS: usize = 10;
/// How long to wait before each try to lock the tables of a MySQL without GTIDs.
const PAUSES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(200), Duration::from_millis(800)];
/// Where the first event of a binlog file starts.
const FILE_START: u64 = 4;

/// The lower bound.
pub(super) async fn visible(inner: &Arc<Inner>, tables: &[(String, String)]) -> Result<Position> {
    let mut lent = inner.lend(&SessionSettings::default()).await?;
    if lent.version().is_mariadb {
        return visible_on_mariadb(&mut lent).await;
    }
    if let Some(executed) = executed(&mut lent).await? {
        return Ok(executed);
    }
    visible_in_file(lent, tables).await
}

/// The upper bound.
pub(super) async fn end(inner: &Arc<Inner>) -> Result<Position> {
    let mut lent = inner.lend(&SessionSettings::default()).await?;
    if lent.version().is_mariadb {
        return written_by_mariadb(&mut lent).await;
    }
    match executed(&mut lent).await? {
        Some(executed) => Ok(executed),
        None => written(&mut lent).await,
    }
}

/// How far the binlog of a MariaDB is. Without one it says that nothing is in it, which everything
/// has passed.
async fn written_by_mariadb(lent: &mut Lent) -> Result<Position> {
    let rows = lent.rows("SELECT @@global.gtid_binlog_pos, @@global.log_bin").await?;
    match rows.rows.first().map(Vec::as_slice).unwrap_or_default() {
        [Some(gtids), Some(log_bin)] if log_bin == "1" => Ok(Position::MariaDb(gtids.parse()?)),
        _ => Err(no_binlog(lent)),
    }
}

/// What a MySQL has executed, if all its transactions have GTIDs. While `gtid_mode` is being
/// switched they have not.
async fn executed(lent: &mut Lent) -> Result<Option<Position>> {
    let rows = lent.rows("SELECT @@global.gtid_mode, @@global.gtid_executed, @@log_bin").await?;
    let row = rows.rows.first().map(Vec::as_slice).unwrap_or_default();
    let [Some(mode), Some(executed), Some(log_bin)] = row else {
        return Err(Error::internal("no answer to a question for GTIDs"));
    };
    if log_bin != "1" {
        return Err(no_binlog(lent));
    }
    Ok(if mode == "ON" { Some(Position::MySql(executed.parse()?)) } else { None })
}

fn no_binlog(connection: &Connection) -> Error {
    let text = format!("{} writes no binlog: start it with log_bin", connection.label());
    Error::new(Code::OptionPreventsStatement, text)
}

/// How far the commits of a MariaDB are, as file and offset.
const PLACE: &str = "SHOW STATUS LIKE 'binlog_snapshot_%'";

async fn visible_on_mariadb(lent: &mut Lent) -> Result<Position> {
    let status = lent.version().binlog_status();
    let answers = lent.rows_of_each(&["SELECT @@global.gtid_binlog_pos", status]).await?;
    let Ok([gtids, end]) = <[Result<TextRows>; 2]>::try_from(answers) else {
        return Err(Error::internal("an answer for each question"));
    };
    // An account that may not ask for the end takes the long way.
    if let Ok(end) = end
        && reaches(lent, &end_of(&end).ok_or_else(|| no_binlog(lent))?).await?
    {
        return Ok(Position::MariaDb(gtids?.single().unwrap_or_default().parse()?));
    }
    for _ in 0..ROUNDS {
        let Some((file, offset)) = place_in_order(lent).await? else { continue };
        for offset in [offset, FILE_START] {
            let ask = format!("SELECT BINLOG_GTID_POS({}, {offset})", quote_text(&file));
            if let Some(gtids) = lent.rows(&ask).await?.single() {
                return Ok(Position::MariaDb(gtids.parse()?));
            }
        }
    }
    Err(lent.lost("it does not tell how far its commits are in the binlog"))
}

/// Whether the commits of a MariaDB reach a place of its binlog in time.
async fn reaches(lent: &mut Lent, end: &Position) -> Result<bool> {
    for pause in [0, 1, 2, 5, 10, 20, 50, 100, 200, 400, 800].map(Duration::from_millis) {
        sleep(pause).await;
        let Some((file, offset)) = place_in_order(lent).await? else { continue };
        let place = Position::File { file, offset };
        if place.has_passed(end) == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How far the commits of a MariaDB are; `None` when the two answers do not fit together.
async fn place_in_order(lent: &mut Lent) -> Result<Option<(String, u64)>> {
    let places = lent.rows_of_all(&[PLACE, PLACE]).await?;
    let [first, second] = places.as_slice() else { return Ok(None) };
    let (Some((file, offset)), Some((again, later))) = (place(first), place(second)) else {
        return Err(no_binlog(lent));
    };
    Ok((file == again && offset <= later).then_some((file, offset)))
}

/// File and offset up to which commits are visible.
fn place(status: &TextRows) -> Option<(String, u64)> {
    let value = |name: &str| {
        let mut rows = status.iter();
        let row =
            rows.find(|row| row.get("Variable_name").is_some_and(|n| n.eq_ignore_ascii_case(name)));
        row.map(|row| row.text("Value")).filter(|text| !text.is_empty())
    };
    Some((value("binlog_snapshot_file")?, value("binlog_snapshot_position")?.parse().ok()?))
}

/// Where the binlog ends.
async fn written(connection: &mut Connection) -> Result<Position> {
    let rows = connection.rows(connection.version().binlog_status()).await?;
    end_of(&rows).ok_or_else(|| no_binlog(connection))
}

/// The end that a server tells.
fn end_of(status: &TextRows) -> Option<Position> {
    let row = status.iter().next()?;
    Some(Position::File { file: row.text("File"), offset: row.number("Position")? })
}

async fn visible_in_file(mut lent: Lent, tables: &[(String, String)]) -> Result<Position> {
    let server = Arc::clone(lent.server());
    let before = written(&mut lent).await?;
    drop(lent);
    let names: Vec<_> = tables
        .iter()
        .map(|(database, table)| format!("{}.{} READ", quote_name(database), quote_name(table)))
        .collect();
    let lock = format!("LOCK TABLES {}", names.join(", "));
    for pause in PAUSES.into_iter().filter(|_| !tables.is_empty()) {
        sleep(pause).await;
        let mut control = server.lend(&SessionSettings::default()).await?;
        // Whatever happens, the lock goes with the connection.
        control.do_not_keep();
        let end = written(&mut control).await?;
        control.run("SET SESSION lock_wait_timeout = 1").await?;
        match timeout(ACQUIRE, control.run_all(&[&lock, "UNLOCK TABLES"])).await {
            Ok(Ok(())) => return Ok(end),
            Ok(Err(error)) if !control.is_reusable() => return Err(error),
            Ok(Err(error)) if lacks_rights(&error) => break,
            Ok(Err(error)) => {
                tracing::debug!(server = %server.label(), %error, "tables not locked");
            }
            // Dropping the connection stops the wait.
            Err(_) => tracing::debug!(server = %server.label(), "tables not locked in time"),
        }
    }
    match before {
        Position::File { file, .. } => Ok(Position::File { file, offset: FILE_START }),
        other => Ok(other),
    }
}
