//! Opens a stream and closes it: the checks of the server, and the handling of a server that lacks
//! transactions which were read from it.

use std::time::Duration;

use pelorus_binlog::Position;
use pelorus_error::{Code, Error, Result};
use pelorus_link::{FollowError, FollowFailure, Link, SessionSettings};

use super::Source;

/// Transactions that a MySQL may have sent and not count as executed yet: a group of commits.
const COMMITTING: u64 = 64;

/// The server's clock less ours, in microseconds.
pub(super) async fn clock_skew(source: &Source, link: &Link) -> Result<i64> {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let clock = &source.env().clock;
    let before = micros(clock.since_epoch());
    let ask = "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";
    let rows = link.ask(&SessionSettings::default(), ask).await?;
    let after = micros(clock.since_epoch());
    let theirs = rows.first().and_then(|row| row.first()).cloned().flatten();
    let theirs = theirs.and_then(|text| text.parse::<i64>().ok());
    Ok(theirs.map_or(0, |theirs| theirs - (before + (after - before) / 2)))
}

/// Whether a MySQL lacks transactions that were applied. The server does not report this if another
/// server assigned their GTIDs.
pub(super) fn lacks(end: &Position, position: &Position) -> bool {
    matches!(position, Position::MySql(_)) && end.has_passed(position) == Some(false)
}

/// Whether the same server has fewer transactions than were read from it: its binlogs have been
/// reset, or it has lost them. One observation is enough; later transactions only have the same
/// names.
pub(super) fn was_reset(end: &Position, position: &Position) -> bool {
    match position {
        Position::MySql(_) => end.behind(position).is_some_and(|it| it > COMMITTING),
        Position::File { .. } => end.has_passed(position) == Some(false),
        // It passes over what it has until it comes to the number that was read to, and says nothing.
        // (Sessions may give out lower numbers than before: then the tables are read for nothing.)
        Position::MariaDb(_) => end.behind(position).is_some_and(|it| it > 0),
    }
}

/// A server that lacks transactions may have to catch up first; if it does not, all is read again.
pub(super) fn without(source: &Source, end: &Position, position: &Position) -> Result<()> {
    let missing = end.behind(position).unwrap_or_default();
    let reason =
        format!("the server does not have all that was read of it before: {missing} transactions");
    if !source.has_diverged_for_long(position) {
        return Err(Error::new(Code::QueryOnForeign, reason));
    }
    tracing::warn!(link = source.link, reason, "all tables are mirrored anew");
    source.begin_all_again(&reason)
}

/// A position that the server no longer has is the beginning of new loads.
pub(super) fn lost(source: &Source, error: FollowError, position: &Position) -> Result<()> {
    let what = match error.failure() {
        FollowFailure::Purged => "what was missing is no longer in the server's binlog",
        FollowFailure::Reset => "the server has begun its binlogs anew",
        FollowFailure::Beyond => "a binlog file cannot be read on from where it was read to",
        FollowFailure::Diverged if source.has_diverged_for_long(position) => {
            "the server does not have all that was read of it before"
        }
        _ => return Err(error.into_error()),
    };
    let reason = format!("{what}: {}", error.error().message());
    if error.failure() == FollowFailure::Purged && source.begin_those_again(&reason, position)? {
        return Ok(());
    }
    tracing::warn!(link = source.link, reason, "all tables are mirrored anew");
    source.begin_all_again(&reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_have_less_than_was_read_were_reset() {
        let at = |text: &str| text.parse::<Position>().unwrap();
        for (end, position, expected) in [
            ("mariadb:0-1-307", "mariadb:0-1-33067", true),
            ("mariadb:0-1-307", "mariadb:0-1-307", false),
            ("mariadb:0-1-9,7-1-5", "mariadb:0-1-8", false),
            ("mariadb:0-1-9", "mariadb:0-1-8,7-1-5", true),
            ("file:bin.000002:4", "file:bin.000002:900", true),
            ("file:bin.000003:4", "file:bin.000002:900", false),
        ] {
            assert_eq!(was_reset(&at(end), &at(position)), expected, "{end} {position}");
        }
    }
}
