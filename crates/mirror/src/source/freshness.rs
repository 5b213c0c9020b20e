//! Freshness: the position of a server and the age of the data that its copies show.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pelorus_binlog::maria::MariaGtid;
use pelorus_binlog::{Position, Step};
use pelorus_env::blocking;
use pelorus_error::Result;
use pelorus_link::{Link, SessionSettings};
use pelorus_store::{Commit, Durability};

use super::Source;
use crate::model::mirror::Mirror;
use crate::model::record;
use crate::model::record::{MirrorRecord, State};
use crate::model::status::MirrorStatus;

/// How often the server says that nothing happens.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(500);
/// How often it is kept when the copies were whole.
const KEEP_WHOLE_EVERY: Duration = Duration::from_secs(5);
/// The interval of requests for the server's position, and the timeout of each.
const ASK_END_EVERY: Duration = Duration::from_secs(1);
pub(super) const END_WITHIN: Duration = Duration::from_secs(2);
/// After how many of these requests the server is asked for transactions that are in no binlog.
const LOOK_FOR_GIVEN_EVERY: u64 = 5;

impl Source {
    /// The age of the data that the copies show.
    pub(crate) fn staleness(&self) -> Option<Duration> {
        // Ordering: published after the commits that it speaks of.
        let at = self.whole_at.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.now().saturating_sub(Duration::from_micros(at)))
    }

    /// Notes that the copies have everything that was committed up to a moment of the monotonic
    /// clock.
    pub(super) fn note_whole(&self, at: Duration) {
        let micros = u64::try_from(at.as_micros()).unwrap_or(u64::MAX - 1) + 1;
        self.whole_at.fetch_max(micros, Ordering::AcqRel);
        self.keep_whole();
    }

    /// Keeps now and then when the copies were whole, for the time after a restart. What is lost of it
    /// makes them look older than they are.
    fn keep_whole(&self) {
        let now = self.now();
        {
            let mut kept = self.whole_kept.lock();
            if kept.is_some_and(|kept| now.saturating_sub(kept) < KEEP_WHOLE_EVERY) {
                return;
            }
            *kept = Some(now);
        }
        let Some(age) = self.staleness() else { return };
        let at = self.env().clock.since_epoch().saturating_sub(age).as_micros().to_string();
        let values = vec![(record::whole_key(&self.link), Some(at.into_bytes()))];
        let commit = Commit { values, durability: Durability::Async, ..Commit::default() };
        if let Err(error) = blocking(|| self.store().commit(&commit)) {
            tracing::debug!(link = self.link, %error, "the age of the copies cannot be kept");
        }
    }

    /// The age of the data that the copies show, by the stored state from before the start, until
    /// the server has answered. `None` if the clock was set back.
    pub(crate) fn remembered_staleness(&self) -> Option<Duration> {
        let at = Duration::from_micros(self.was_whole_at?);
        self.env().clock.since_epoch().checked_sub(at)
    }

    /// Asks the server for its position and waits until the stream has been applied up to there.
    pub(crate) async fn catch_up(&self, patience: Duration) -> bool {
        let begun = self.now();
        let reached = tokio::time::timeout(patience, async {
            let link = self.shared.links.link(&self.link)?;
            let told = self.told();
            let end = link.binlog_end().await.ok()?;
            if takes_back(told.as_ref(), &end) {
                // What was read is not what the server has: the stream finds out.
                return None;
            }
            self.note_end(Some(end.clone()));
            Some(self.reach(&end, patience).await)
        });
        let reached = reached.await.ok().flatten() == Some(true);
        if reached {
            self.note_whole(begun);
        }
        reached
    }

    /// Waits until the stream has been applied up to a position.
    pub(crate) async fn reach(&self, end: &Position, patience: Duration) -> bool {
        let mut applied = self.applied.subscribe();
        let has_passed =
            |at: &Option<Position>| at.as_ref().is_some_and(|at| at.has_passed(end) == Some(true));
        let reached = tokio::time::timeout(patience, applied.wait_for(has_passed)).await;
        reached.is_ok_and(|it| it.is_ok())
    }

    /// Notes how far the server is that a stream begins with, whatever another one said before.
    pub(super) fn begin_end(&self, end: Position) {
        *self.server_end.lock() = ServerEnd { told: Some(end), is_known: true };
    }

    /// Notes the position of the server; `None` if it does not answer. The server cannot take back
    /// an earlier position: the stream determines the reason, and until then the copies do not
    /// count as complete.
    pub(crate) fn note_end(&self, end: Option<Position>) {
        if let (Some(end), Some(at)) = (&end, self.position())
            && !end.is_like(&at)
        {
            // It cannot be gone on from there: the next stream says so.
            self.begin_stream_again();
        }
        let mut known = self.server_end.lock();
        known.is_known = end.is_some();
        if let Some(end) = end
            && !takes_back(known.told.as_ref(), &end)
        {
            known.told = Some(end);
        }
    }

    /// How far the server has said that it is.
    pub(super) fn told(&self) -> Option<Position> {
        self.server_end.lock().told.clone()
    }

    /// Notes how far a MariaDB has said that it is by the transactions that are applied now.
    pub(super) fn note_said(&self, said: &Said) {
        if let Some(told) = &mut self.server_end.lock().told {
            said.correct(told);
        }
    }

    /// Notes that the server had nothing more to send, it said.
    pub(super) fn note_idle(&self, at: Duration) {
        *self.idle_at.lock() = Some(at);
    }

    /// Asks the server for its position regularly, until it is dropped, so that the status of
    /// mirrors shows the lag even without queries.
    pub(super) async fn watch_end(self: Arc<Self>, link: Link) {
        let mut lacking = 0;
        for second in 1_u64.. {
            tokio::time::sleep(ASK_END_EVERY).await;
            if second % LOOK_FOR_GIVEN_EVERY == 0 {
                let given = tokio::time::timeout(END_WITHIN, self.lacks_given(&link)).await;
                lacking = if given.is_ok_and(|it| it) { lacking + 1 } else { 0 };
                if lacking == 2 {
                    self.begin_stream_again();
                }
            }
            // Else a heartbeat has said it already; it counts from when the one before it came.
            if self.staleness().is_none_or(|it| it >= ASK_END_EVERY + HEARTBEAT) {
                let asked = tokio::time::timeout(END_WITHIN, link.binlog_end()).await;
                self.note_end(asked.ok().and_then(Result::ok));
            }
        }
    }

    /// Whether a MySQL counts transactions as executed that are in no binlog, although the stream
    /// has come to the end: `gtid_purged` was set, for example to load a dump. Their changes are
    /// not in the copies; a stream that restarts gets the error.
    async fn lacks_given(&self, link: &Link) -> bool {
        // Also while it counts transactions that it does not send: then the copies do not count as
        // complete.
        let is_at_end = || {
            let idle = self.idle_at.lock().map(|at| self.now().saturating_sub(at));
            [self.staleness(), idle].into_iter().flatten().any(|it| it < ASK_END_EVERY + HEARTBEAT)
        };
        let Some(at @ Position::MySql(_)) = self.position().filter(|_| is_at_end()) else {
            return false;
        };
        let asked = link.ask(&SessionSettings::default(), "SELECT @@GLOBAL.gtid_purged").await;
        let given = asked.ok().and_then(|rows| rows.into_iter().next()?.into_iter().next()?);
        let given = given.and_then(|text| text.parse().ok()).map(Position::MySql);
        given.is_some_and(|given| at.has_passed(&given) == Some(false)) && is_at_end()
    }

    /// How many transactions the server has that have not been applied.
    pub(super) fn transactions_behind(&self) -> Option<u64> {
        let known = self.server_end.lock();
        let end = known.told.clone().filter(|_| known.is_known)?;
        drop(known);
        if !self.status.lock().connected {
            return None;
        }
        self.position()?.behind(&end)
    }

    pub(crate) fn list(&self) -> Vec<MirrorStatus> {
        let status = self.status.lock().clone();
        let transactions = self.transactions_behind();
        let position = self.position().map(|it| it.to_string());
        let staleness = self.staleness().or_else(|| self.remembered_staleness());
        let of = |mirror: &Arc<Mirror>| {
            let record = mirror.record();
            let done = record.ranges.iter().filter(|range| range.done).count();
            let trouble = mirror.trouble.lock().clone();
            MirrorStatus {
                name: mirror.name.clone(),
                state: record.state,
                ranges: (done, record.ranges.len()),
                rows_loaded: record.rows_loaded,
                // Ordering: only looked at by people.
                changes: mirror.changes.load(Ordering::Relaxed),
                loads: record.loads,
                queries: mirror.queries.load(Ordering::Relaxed),
                filter: record.filter.clone(),
                layout: record.layout.clone(),
                staleness: staleness.filter(|_| record.state == State::Live),
                transactions: transactions.filter(|_| record.state.follows()),
                position: position.clone(),
                reason: reason(&record, trouble, status.error.as_deref()),
            }
        };
        self.mirrors().iter().map(of).collect()
    }
}

/// The status of a mirror for users: the reason that blocks it now, else the reason for its current
/// load. A mirror that has failed or was paused does not wait for the stream.
fn reason(record: &MirrorRecord, trouble: Option<String>, ended: Option<&str>) -> Option<String> {
    let own = record.reason.clone();
    match record.state {
        State::Failed | State::Paused => own.or(trouble),
        _ => trouble.or_else(|| ended.map(str::to_owned)).or(own),
    }
}

/// How far a server is.
#[derive(Debug, Default)]
pub(super) struct ServerEnd {
    /// What it has said, of what it has itself: it may have sent commits that wait for a replica
    /// before it counts them, and lack what the server before it had.
    told: Option<Position>,
    /// The last request was answered.
    is_known: bool,
}

/// Whether a position of the server contradicts an earlier one.
pub(super) fn takes_back(told: Option<&Position>, end: &Position) -> bool {
    told.is_some_and(|told| end.has_passed(told) == Some(false))
}

/// The latest transaction of each domain that was read of a MariaDB, which counts them before it sends
/// them; and whether numbers went back there: sessions may choose them.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeMap<u32, (MariaGtid, bool)>);

impl Said {
    /// Notes a transaction that continues the stream. Only MariaDB's transactions carry the
    /// position: a MySQL may count later than it sends.
    pub(super) fn note(&mut self, step: &Step, read: &Position) {
        let (Step::MariaDb(gtid), Position::MariaDb(read)) = (step, read) else { return };
        let (latest, went_back) = self.0.entry(gtid.domain).or_insert((*gtid, false));
        *latest = *gtid;
        *went_back |= read.covers(*gtid);
    }

    /// Corrects how far the server has said that it is: it is here at least, and no further where
    /// numbers went back. Of other domains nothing was said.
    pub(super) fn correct(&self, end: &mut Position) {
        let Position::MariaDb(end) = end else { return };
        for (gtid, went_back) in self.0.values() {
            if *went_back || !end.covers(*gtid) {
                end.advance(*gtid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_of_a_mariadb_tells_how_far_it_is() {
        let mut read: Position = "mariadb:0-1-90,7-1-100,8-1-5".parse().unwrap();
        // It is another server than the one before, and has nothing of domain 8.
        let mut end: Position = "mariadb:0-1-95,7-1-100".parse().unwrap();
        let mut said = Said::default();
        for gtid in ["0-1-91", "7-1-50", "7-1-51", "9-1-1"] {
            let step = Step::MariaDb(gtid.parse().unwrap());
            said.note(&step, &read);
            read.advance(&step).unwrap();
        }
        said.correct(&mut end);
        assert_eq!(end.to_string(), "mariadb:0-1-95,7-1-51,9-1-1");
    }

    #[test]
    fn what_is_wrong_now_comes_first() {
        let text = |text: &str| Some(text.to_owned());
        let record = |state| MirrorRecord { state, reason: text("own"), ..MirrorRecord::default() };
        for state in [State::Waiting, State::Loading, State::CatchingUp] {
            let record = record(state);
            assert_eq!(reason(&record, text("trouble"), Some("ended")), text("trouble"));
            assert_eq!(reason(&record, None, Some("ended")), text("ended"));
            assert_eq!(reason(&record, None, None), text("own"));
        }
        let live = MirrorRecord { state: State::Live, ..MirrorRecord::default() };
        assert_eq!(reason(&live, None, Some("ended")), text("ended"));
        assert_eq!(reason(&live, None, None), None);
        for state in [State::Failed, State::Paused] {
            assert_eq!(reason(&record(state), None, Some("ended")), text("own"));
        }
        assert_eq!(
            reason(&MirrorRecord { reason: None, ..record(State::Paused) }, None, Some("x")),
            None
        );
    }
}
