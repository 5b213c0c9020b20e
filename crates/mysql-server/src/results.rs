//! Writes answers to the client: OK, result sets streamed with back-pressure, cursors.

use std::pin::pin;

use pelorus_engine::api::{Done, Outcome, SessionStatus};
use pelorus_error::{Error, Result, display_chain};
use pelorus_mysql_wire::charset::Encoder;
use pelorus_mysql_wire::lenenc::put_lenenc_int;
use pelorus_mysql_wire::response;
use pelorus_mysql_wire::rows::Format;
use pelorus_mysql_wire::{Capabilities, ServerStatus};
use pelorus_types::Column;

use crate::backend::BackendSession;
use crate::channel::{Channel, Gone};
use crate::rows::{Progress, RowSource};

/// How a statement's answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The statement ran.
    Complete,
    /// An ERR packet ended it; statements after it do not run.
    Failed,
}

/// The status bits of a session.
pub(crate) fn status_of(session: &impl BackendSession) -> ServerStatus {
    let SessionStatus { in_transaction, autocommit, no_backslash_escapes } = session.status();
    let mut status = ServerStatus::default();
    for (on, bit) in [
        (in_transaction, ServerStatus::IN_TRANSACTION),
        (autocommit, ServerStatus::AUTOCOMMIT),
        (no_backslash_escapes, ServerStatus::NO_BACKSLASH_ESCAPES),
    ] {
        if on {
            status = status.with(bit);
        }
    }
    status
}

/// Adds an ERR packet to the buffered ones. Our own failures go to the log with their causes.
pub(crate) fn put_error(channel: &mut Channel, error: &Error) {
    if error.code() == pelorus_error::Code::Internal {
        tracing::error!("statement failed: {}", display_chain(error));
    }
    channel.error(error);
}

/// Adds an OK packet to the buffered ones.
pub(crate) fn put_done(channel: &mut Channel, done: Done, status: ServerStatus) {
    let ok = response::Ok {
        affected_rows: done.affected_rows,
        last_insert_id: done.last_insert_id,
        status,
        warnings: done.warnings,
        info: done.info,
        changes: Vec::new(),
    };
    let capabilities = channel.capabilities;
    channel.writer.packet(|out| response::put_ok(out, response::OK, capabilities, &ok));
}

/// Adds an OK packet that says nothing more.
pub(crate) fn put_plain_ok(channel: &mut Channel, session: &impl BackendSession) {
    put_done(channel, Done::default(), status_of(session));
}

/// Adds the packet that ends columns or rows.
pub(crate) fn put_end(channel: &mut Channel, warnings: u16, status: ServerStatus) {
    let capabilities = channel.capabilities;
    channel.writer.packet(|out| response::put_end_of_rows(out, capabilities, warnings, status));
}

/// In which charset a session's client reads names; those it cannot have come in UTF-8.
pub(crate) fn names_of(session: &impl BackendSession) -> Encoder {
    Encoder::of(session.results_collation()).unwrap_or(Encoder::AsIs)
}

/// Adds column definitions.
pub(crate) fn put_columns(channel: &mut Channel, columns: &[Column], names: Encoder) {
    for column in columns {
        channel.writer.packet(|out| response::put_column(out, column, None, names));
    }
}

/// Adds the number of columns and their definitions.
fn put_head(channel: &mut Channel, columns: &[Column], names: Encoder) {
    channel.writer.packet(|out| put_lenenc_int(out, columns.len() as u64));
    put_columns(channel, columns, names);
}

/// Sends the outcome of a statement; `more` says that another result follows.
pub(crate) async fn send_outcome<S: BackendSession>(
    channel: &mut Channel,
    session: &S,
    outcome: Result<Outcome>,
    format: Format,
    more: bool,
) -> Result<Answer, Gone> {
    let more = if more { ServerStatus::MORE_RESULTS } else { ServerStatus::default() };
    match outcome {
        Err(error) => {
            put_error(channel, &error);
            Ok(Answer::Failed)
        }
        Ok(Outcome::Done(done)) => {
            put_done(channel, done, status_of(session).with(more));
            Ok(Answer::Complete)
        }
        Ok(Outcome::Rows(result)) => {
            match RowSource::new(result, format, session.results_collation(), session.memory()) {
                Ok(mut source) => send_result(channel, session, &mut source, more).await,
                Err(error) => {
                    put_error(channel, &error);
                    Ok(Answer::Failed)
                }
            }
        }
        Ok(Outcome::File(name)) => {
            put_error(channel, &Error::internal(format!("nobody has asked for the file {name}")));
            Ok(Answer::Failed)
        }
    }
}

/// Sends a result set.
async fn send_result<S: BackendSession>(
    channel: &mut Channel,
    session: &S,
    source: &mut RowSource,
    more: ServerStatus,
) -> Result<Answer, Gone> {
    put_head(channel, &source.shown, names_of(session));
    if !channel.capabilities.has(Capabilities::DEPRECATE_EOF) {
        put_end(channel, 0, status_of(session).with(more));
    }
    send_rows(channel, session, source, usize::MAX).await?;
    match source.take_end() {
        Ok(warnings) => {
            put_end(channel, warnings, status_of(session).with(more));
            Ok(Answer::Complete)
        }
        Err(error) => {
            put_error(channel, &error);
            Ok(Answer::Failed)
        }
    }
}

/// Sends up to `most` rows. Rows leave as soon as there are enough of them, or when the next ones
/// let wait. A client that leaves meanwhile ends the work.
async fn send_rows<S: BackendSession>(
    channel: &mut Channel,
    session: &S,
    source: &mut RowSource,
    most: usize,
) -> Result<(), Gone> {
    let mut left = most;
    while left > 0 {
        match source.write(&mut channel.writer, left) {
            Progress::Wrote(rows) => {
                left -= rows;
                channel.flush_if_much().await?;
            }
            Progress::Empty if source.is_done() => return Ok(()),
            Progress::Empty => {
                if source.more_now().is_none() {
                    channel.flush().await?;
                    unless_gone(channel, session, source.more()).await?;
                }
            }
        }
    }
    Ok(())
}

/// Waits for some work of the session's; gives up when the client leaves or is killed.
pub(crate) async fn unless_gone<S: BackendSession, T>(
    channel: &mut Channel,
    session: &S,
    work: impl Future<Output = T>,
) -> Result<T, Gone> {
    let killed = session.killed();
    watch(channel, killed, work).await
}

/// Waits for `work` as [`watch`] does. What waits to be sent is sent meanwhile, unless the work is
/// done at once; a client that takes nothing holds up neither the work nor a kill.
pub(crate) async fn watch_sending<T>(
    channel: &mut Channel,
    killed: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Result<T, Gone> {
    let mut work = pin!(work);
    let mut killed = pin!(killed);
    // Giving up the sending loses nothing: what is left waits for the next time.
    tokio::select! {
        biased;
        result = work.as_mut() => return Ok(result),
        () = killed.as_mut() => return Err(Gone::Because(Error::interrupted())),
        sent = channel.flush() => sent?,
    }
    watch(channel, killed, work).await
}

/// Waits for `work`; gives up when the client leaves, or `killed` comes.
pub(crate) async fn watch<T>(
    channel: &mut Channel,
    killed: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Result<T, Gone> {
    tokio::select! {
        biased;
        result = work => Ok(result),
        () = channel.client_left() => Err(Gone::Closed),
        () = killed => Err(Gone::Because(Error::interrupted())),
    }
}

/// Answers an EXECUTE that requests a cursor: the columns now, the rows at FETCH.
pub(crate) fn open_cursor<S: BackendSession>(
    channel: &mut Channel,
    session: &S,
    source: &RowSource,
) {
    put_head(channel, &source.shown, names_of(session));
    put_end(channel, 0, status_of(session).with(ServerStatus::CURSOR_EXISTS));
}

/// Answers FETCH: up to `rows` rows, and whether they were the last.
pub(crate) async fn fetch<S: BackendSession>(
    channel: &mut Channel,
    session: &S,
    source: &mut RowSource,
    rows: u32,
) -> Result<(), Gone> {
    send_rows(channel, session, source, rows as usize).await?;
    source.peek();
    let status = status_of(session).with(ServerStatus::CURSOR_EXISTS);
    if !source.is_done() {
        put_end(channel, 0, status);
        return Ok(());
    }
    match source.take_end() {
        Ok(warnings) => put_end(channel, warnings, status.with(ServerStatus::LAST_ROW_SENT)),
        Err(error) => put_error(channel, &error),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_client_that_takes_nothing_holds_up_neither_work_nor_a_kill() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut channel = Channel::new(Box::new(ours), 1 << 20);
        let payload = [7; 1000];
        channel.writer.packet(|out| out.extend_from_slice(&payload));
        let never = std::future::pending::<()>;
        let soon = tokio::task::yield_now;
        watch_sending(&mut channel, never(), soon()).await.unwrap();
        let killed = watch_sending(&mut channel, soon(), never()).await.unwrap_err();
        assert!(matches!(killed, Gone::Because(error) if error.errno() == 1317));
        // Nothing that waited is lost.
        let read = tokio::spawn(async move {
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).await.unwrap();
            bytes
        });
        channel.flush().await.unwrap();
        drop(channel);
        let bytes = read.await.unwrap();
        assert_eq!(bytes.len(), 4 + payload.len());
        assert_eq!(bytes[4..], payload);
    }
}
