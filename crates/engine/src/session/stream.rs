//! Result streams to the client: they stop when the session is killed or the time limit has passed,
//! and record their counts and warnings at the end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt};
use pelorus_env::Env;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::EvalContext;
use pelorus_link::{RelayItem, RelayedRows};
use pelorus_mysql_wire::rows::payloads;
use pelorus_query::{Block, BlockStream};
use pelorus_result::diagnostics::{Condition, Diagnostics, Level};
use pelorus_result::kill::Stop;
use pelorus_result::result_table::ResultTable;

use crate::api::{ResultSet, RowStream, Rows};
use crate::processlist::Process;

/// Shows the session as busy until it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Arc<Process>,
    pub(crate) env: Env,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.sleep(self.env.clock.monotonic());
    }
}

/// When a statement is to stop before its end.
#[derive(Clone)]
pub(crate) struct Limits {
    pub(crate) stop: Stop,
    /// How long it may take from now.
    pub(crate) time: Option<Duration>,
    /// Whether it is the result of the statement itself.
    pub(crate) is_own: bool,
}

impl Limits {
    /// Waits until the statement is to stop and says why.
    pub(crate) async fn reached(self) -> Error {
        let late = async {
            match self.time {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        // Work next to this poll may use up the task's budget each time: then this future would
        // never proceed.
        tokio::task::coop::unconstrained(async {
            tokio::select! {
                () = self.stop.asked() => Error::interrupted(),
                () = late => if self.is_own {
                    Error::new(
                        Code::StatementTimeout,
                        "Query execution was interrupted (max_statement_time exceeded)",
                    )
                } else {
                    Error::new(
                        Code::ExecutionTimeout,
                        "Query execution was interrupted, maximum statement execution time exceeded",
                    )
                },
            }
        })
        .await
    }
}

/// A result that minds its limits.
struct Guarded {
    inner: Option<RowStream>,
    reached: Pin<Box<dyn Future<Output = Error> + Send>>,
    diagnostics: Diagnostics,
    running: Running,
    rows: u64,
}

/// Puts a result under its limits.
pub(crate) fn guard(
    set: ResultSet,
    limits: Limits,
    diagnostics: Diagnostics,
    running: Running,
) -> ResultSet {
    let rows = Guarded {
        inner: Some(set.rows),
        reached: Box::pin(limits.reached()),
        diagnostics,
        running,
        rows: 0,
    };
    ResultSet { columns: set.columns, rows: Box::pin(rows) }
}

impl Guarded {
    fn fail(&mut self, error: Error) -> Poll<Option<Result<Rows>>> {
        self.finish();
        self.diagnostics.error(&error);
        Poll::Ready(Some(Err(error)))
    }

    fn finish(&mut self) {
        self.inner = None;
        self.diagnostics.set_found_rows(self.rows);
        // Ordering: counts are only looked at by people.
        let sent = &self.running.process.counters.rows_sent;
        sent.fetch_add(self.rows, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Stream for Guarded {
    type Item = Result<Rows>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.inner.is_none() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(error) = self.reached.as_mut().poll(context) {
            return self.fail(error);
        }
        let Some(inner) = self.inner.as_mut() else { return Poll::Ready(None) };
        let Poll::Ready(item) = inner.as_mut().poll_next(context) else { return Poll::Pending };
        match item {
            Some(Ok(Rows::End { warnings })) => {
                self.finish();
                let own = self.diagnostics.packet_count();
                Poll::Ready(Some(Ok(Rows::End { warnings: warnings.max(own) })))
            }
            Some(Ok(rows)) => {
                self.rows += count(&rows);
                Poll::Ready(Some(Ok(rows)))
            }
            Some(Err(error)) => self.fail(error),
            None => self.fail(Error::internal("a result ended without its end")),
        }
    }
}

fn count(rows: &Rows) -> u64 {
    match rows {
        Rows::Batch(batch) => batch.num_rows() as u64,
        Rows::Encoded(bytes) => payloads(bytes).count() as u64,
        Rows::End { .. } => 0,
    }
}

/// The rows of a query; its warnings go to the session at the end.
pub(crate) fn blocks(
    rows: BlockStream,
    eval: Arc<EvalContext>,
    diagnostics: Diagnostics,
) -> RowStream {
    let of_server = diagnostics.clone();
    let rows = rows.filter_map(move |block| {
        futures::future::ready(match block {
            Ok(Block::Batch(batch)) => Some(Ok(Rows::Batch(batch))),
            Ok(Block::Encoded(bytes)) => Some(Ok(Rows::Encoded(bytes))),
            Ok(Block::Warned(total, conditions)) => {
                of_server.take_over(total, conditions.into_iter().map(condition));
                None
            }
            Err(error) => Some(Err(error)),
        })
    });
    let end = futures::stream::once(async move {
        for (code, message) in eval.take_warnings() {
            diagnostics.warn(code, message);
        }
        Ok(Rows::End { warnings: 0 })
    });
    Box::pin(stop_after_error(rows.chain(end)))
}

/// Sends `limit` (offset and count) of a result's rows and counts all of them, for
/// `SQL_CALC_FOUND_ROWS`.
pub(crate) fn limited(set: ResultSet, limit: (u64, u64), diagnostics: Diagnostics) -> ResultSet {
    let (from, to) = (limit.0, limit.0.saturating_add(limit.1));
    let mut seen = 0_u64;
    let rows = set.rows.filter_map(move |item| {
        let kept = match item {
            Ok(Rows::End { warnings }) => {
                diagnostics.set_calculated_rows(seen);
                Some(Ok(Rows::End { warnings }))
            }
            Ok(rows) => {
                let first = seen;
                seen += count(&rows);
                let within = |at: u64| usize::try_from(at.saturating_sub(first)).unwrap_or(0);
                let (begin, end) = (within(from.min(seen)), within(to.min(seen)));
                (begin < end).then(|| Ok(part(&rows, begin..end)))
            }
            Err(error) => Some(Err(error)),
        };
        futures::future::ready(kept)
    });
    ResultSet { columns: set.columns, rows: Box::pin(rows) }
}

/// Some of the rows of a piece.
fn part(rows: &Rows, range: std::ops::Range<usize>) -> Rows {
    match rows {
        Rows::Batch(batch) => Rows::Batch(batch.slice(range.start, range.len())),
        Rows::Encoded(bytes) => {
            let mut out = bytes::BytesMut::new();
            for payload in payloads(bytes).skip(range.start).take(range.len()) {
                let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(payload);
            }
            Rows::Encoded(out.freeze())
        }
        Rows::End { warnings } => Rows::End { warnings: *warnings },
    }
}

/// Ends a stream after its first error.
fn stop_after_error(
    rows: impl Stream<Item = Result<Rows>> + Send,
) -> impl Stream<Item = Result<Rows>> + Send {
    rows.scan(false, |failed, item| {
        let result = (!*failed).then_some(item);
        *failed = matches!(result, Some(Err(_)));
        futures::future::ready(result)
    })
}

/// The rows that a linked server sends; its warnings go to the session at the end.
pub(crate) fn relayed(rows: RelayedRows, diagnostics: Diagnostics) -> ResultSet {
    let columns = rows.columns.clone();
    let rows = rows.map(move |item| {
        item.map(|item| match item {
            RelayItem::Encoded(bytes) => Rows::Encoded(bytes),
            RelayItem::End { warnings, conditions, .. } => {
                diagnostics.take_over(warnings, conditions.into_iter().map(condition));
                Rows::End { warnings }
            }
        })
    });
    ResultSet { columns, rows: Box::pin(rows) }
}

/// The rows of a small result.
pub(crate) fn grid(grid: &ResultTable) -> Result<ResultSet> {
    let batch = grid.batch()?;
    let items = [Ok(Rows::Batch(batch)), Ok(Rows::End { warnings: 0 })];
    Ok(ResultSet { columns: grid.columns.clone(), rows: Box::pin(futures::stream::iter(items)) })
}

/// A warning of a linked server.
fn condition(remote: pelorus_link::Condition) -> Condition {
    let pelorus_link::Condition { level, code, message } = remote;
    Condition { level: Level::from_word(&level), code, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelorus_result::kill::Handle;

    #[tokio::test]
    async fn a_kill_is_seen_beside_work_that_uses_up_its_turn() {
        let handle = Handle::new(1);
        let limits = Limits { stop: Stop::of(handle.clone()), time: None, is_own: false };
        handle.kill_query();
        let busy = async {
            for _ in 0..100_000 {
                tokio::task::coop::consume_budget().await;
            }
        };
        let error = tokio::select! {
            biased;
            () = busy => None,
            error = limits.reached() => Some(error.errno()),
        };
        assert_eq!(error, Some(1317));
    }

    #[tokio::test]
    async fn a_killed_result_ends_with_error_1317() {
        let handle = Handle::new(1);
        let activity = crate::processlist::Activity::default();
        let process = Arc::new(Process::new(handle.clone(), activity));
        let limits = Limits { stop: Stop::of(handle.clone()), time: None, is_own: false };
        let set = ResultSet {
            columns: Vec::new(),
            rows: Box::pin(futures::stream::pending::<Result<Rows>>()),
        };
        let running = Running { process, env: Env::in_memory(1) };
        let mut set = guard(set, limits, Diagnostics::default(), running);
        handle.kill_query();
        let error = set.rows.next().await.unwrap().unwrap_err();
        assert_eq!(error.errno(), 1317);
        assert!(set.rows.next().await.is_none());
    }
}
