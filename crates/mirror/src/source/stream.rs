//! The binlog stream of one server: events become transactions, transactions become batches, and
//! batches are committed.

mod cascades;
mod events;
mod opening;
mod rows;
mod xa;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use pelorus_binlog::{Decoder, Position};
use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_link::{FollowError, FollowRequest, Follower, Link, SourceFacts};

use self::events::Transaction;
use self::opening::{clock_skew, lacks, lost, was_reset, without};
use self::xa::AllPrepared;
use super::Source;
use super::freshness::{END_WITHIN, Said, takes_back};
use crate::apply::batch::Batch;
use crate::apply::row_image_completion::RowImageCompletion;
use crate::control::initial_snapshot::is_overtaken;
use crate::model::mirror::{Mirror, overtaken};
use crate::model::record::State;

/// A batch is committed when it has so many rows or bytes, whatever else has arrived.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 16 << 20;
/// A batch is committed after so long, whatever else has arrived.
const BATCH_TIME: Duration = Duration::from_millis(20);
/// Commits after which nothing is left to read are at least so far apart: transactions that come
/// one after the other share the work of a commit, and one that comes alone is not held up.
const PACE: Duration = Duration::from_millis(20);
/// With so many heartbeats in a row a server that has less than it had says that it has nothing more,
/// before the stream begins again: two seconds.
const TAKEN_BACK_MAX: u32 = 4;
/// The same of a server that has more: a minute.
const SILENT_MAX: u32 = 120;
/// How often the position is kept while nothing of ours changes.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The maximum size of a transaction, whatever is configured: the log has no larger records.
const TRANSACTION_MAX: usize = 1 << 30;
/// By how much the server's clock may be ahead of what is known of it, in microseconds.
const CLOCKS_DIFFER: u64 = 500_000;

/// Follows a server until the stream ends.
///
/// # Errors
/// Why it ended.
pub(super) async fn stream(source: &Arc<Source>, link: &Link, facts: &SourceFacts) -> Result<()> {
    let Some(position) = source.position() else { return Ok(()) };
    let mut request = FollowRequest::new(position.clone(), source.server_id()?);
    request.heartbeat = super::freshness::HEARTBEAT;
    let origin = RowImageCompletion::new(facts.is_mariadb, source.wants_statements(facts));
    request.statements = origin.asked;
    let skew = clock_skew(source, link).await?;
    source.folds_names.store(facts.folds_names, Ordering::Release);
    let end = link.binlog_end().await?;
    if !end.is_like(&position) {
        let reason = "the server's gtid_mode has changed";
        tracing::warn!(link = source.link, reason, "all tables are mirrored anew");
        return source.begin_all_again(reason);
    }
    if !source.is_another() && was_reset(&end, &position) {
        let reason = "the server has begun its binlogs anew, or has lost some of them";
        tracing::warn!(link = source.link, reason, "all tables are mirrored anew");
        return source.begin_all_again(reason);
    }
    let follower = match link.follow(&request).await {
        Ok(follower) => follower,
        Err(error) => return lost(source, error, &position),
    };
    // Only now: what the server says itself, of binlogs that were reset, say, is known better.
    if lacks(&end, &position) {
        return without(source, &end, &position);
    }
    source.begin_end(end);
    let mut reader = Reader::new(source, link, position, follower, skew);
    reader.origin = origin;
    {
        let mut status = source.status.lock();
        status.connected = true;
        status.streams += 1;
        status.error = None;
        *source.diverged_since.lock() = None;
        // Ordering: looked at by the same task.
        source.is_another.store(false, Ordering::Relaxed);
    }
    let ended = reader.run().await;
    let at = reader.read;
    match ended {
        Ok(()) => Ok(()),
        Err(Ended::Stream(error)) => lost(source, error, &at),
        // It begins again at once.
        Err(Ended::Here(error)) if is_overtaken(&error) => Ok(()),
        Err(Ended::Here(error)) => Err(error),
    }
}

/// Why reading ended.
enum Ended {
    /// An error of the server.
    Stream(FollowError),
    /// A local error.
    Here(Error),
}

impl From<FollowError> for Ended {
    fn from(error: FollowError) -> Self {
        Self::Stream(error)
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

struct Reader<'s> {
    source: &'s Arc<Source>,
    link: Link,
    follower: Follower,
    decoder: Decoder,
    /// The file of the binlog that is being read.
    file: String,
    /// Where the rows at hand come from.
    origin: RowImageCompletion,
    /// Up to where transactions have been read.
    read: Position,
    transaction: Option<Transaction>,
    batch: Batch,
    /// When the first transaction of the batch was read.
    batch_since: Option<Duration>,
    /// When the position was last kept.
    kept_at: Duration,
    /// A definition has been changed since.
    must_keep: bool,
    /// When it is time to read on.
    read_at: Duration,
    /// The server's clock less ours, in microseconds.
    skew: i64,
    /// The positions that a MariaDB has reported in the transactions of the batch.
    said: Said,
    /// Where the server's stream is that has nothing more to send.
    idle_at: Option<(String, u64)>,
    /// Up to where transactions had been read, and where the stream was, when it said so and the server
    /// was elsewhere; and how often.
    contradicted: Option<((Position, (String, u64)), u32)>,
    /// XA transactions that are prepared.
    prepared: AllPrepared,
    /// Their values to store with the next commit.
    kept_xa: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'s> Reader<'s> {
    fn new(
        source: &'s Arc<Source>,
        link: &Link,
        position: Position,
        follower: Follower,
        skew: i64,
    ) -> Self {
        Self {
            source,
            link: link.clone(),
            follower,
            decoder: Decoder::new(),
            file: String::new(),
            origin: RowImageCompletion::default(),
            read: position,
            transaction: None,
            batch: Batch::default(),
            batch_since: None,
            kept_at: source.now(),
            must_keep: false,
            read_at: Duration::ZERO,
            skew,
            said: Said::default(),
            idle_at: None,
            contradicted: None,
            prepared: AllPrepared::default(),
            kept_xa: BTreeMap::new(),
        }
    }

    async fn run(&mut self) -> Result<(), Ended> {
        self.look_at_mirrors()?;
        loop {
            let early = self.read_at.saturating_sub(self.source.now());
            if !early.is_zero() {
                self.follower.sleep(early).await;
            }
            let event = match self.arrived()? {
                Some(event) => event,
                None => tokio::select! {
                    event = self.follower.next() => event?.ok_or_else(ended)?,
                    () = self.source.wake.notified() => {
                        if self.must_end() {
                            return Ok(());
                        }
                        self.flush()?;
                        continue;
                    }
                },
            };
            self.take(event).await?;
            while !self.is_full()
                && let Some(event) = self.arrived()?
            {
                self.take(event).await?;
            }
            if self.transaction.is_none() {
                if !self.is_full() && self.batch_since.is_some() {
                    self.read_at = self.source.now() + PACE;
                }
                self.flush()?;
            }
            if let Some(place) = self.idle_at.take() {
                self.heartbeat(place).await;
            }
            if self.must_end() {
                return Ok(());
            }
        }
    }

    /// The server has nothing more to send, it says, and all that had arrived is in the copies. It
    /// is asked how far it is all the same: a heartbeat may have lain in the socket for long, come
    /// while the server passes over what was read before, or tell of binlogs that are no more. A
    /// MariaDB that begins them again goes on with a stream as if nothing had happened, and sends
    /// heartbeats.
    async fn heartbeat(&mut self, place: (String, u64)) {
        let asked = self.source.now();
        self.source.note_idle(asked);
        let told = self.source.told();
        let end = tokio::time::timeout(END_WITHIN, self.link.binlog_end()).await;
        // One that does not answer says nothing: the copies become older.
        let Ok(Ok(end)) = end else { return };
        let takes_back = takes_back(told.as_ref(), &end);
        self.source.note_end(Some(end.clone()));
        if !takes_back && self.read.has_passed(&end) == Some(true) {
            self.contradicted = None;
            self.source.note_whole(asked);
            return;
        }
        // A transaction may be under way, or the server at work, which moves its place.
        let at = (self.read.clone(), place);
        let before = self.contradicted.take().filter(|(before, _)| *before == at);
        let times = before.map_or(0, |(_, times)| times) + 1;
        if times < if takes_back { TAKEN_BACK_MAX } else { SILENT_MAX } {
            self.contradicted = Some((at, times));
            return;
        }
        tracing::warn!(
            link = self.source.link,
            "the server is at {end} and sends nothing after {}; the stream begins again",
            self.read
        );
        self.source.begin_stream_again();
    }

    /// The next event if it is here already, in the socket's buffer too.
    fn arrived(&mut self) -> Result<Option<Bytes>, Ended> {
        if let Some(event) = self.follower.arrived()? {
            return Ok(Some(event));
        }
        // Nothing is to be said to have arrived only if that is so, not for the sake of other tasks.
        match tokio::task::unconstrained(self.follower.next()).now_or_never() {
            None => Ok(None),
            Some(event) => event?.map_or_else(|| Err(ended().into()), |event| Ok(Some(event))),
        }
    }

    /// Whether the stream must begin again or stop.
    fn must_end(&self) -> bool {
        self.source.must_begin_again()
    }

    fn is_full(&self) -> bool {
        let is_old = self
            .batch_since
            .is_some_and(|since| self.source.now().saturating_sub(since) > BATCH_TIME);
        self.transaction.is_none()
            && (is_old || self.batch.rows() >= BATCH_ROWS || self.batch.bytes() >= BATCH_BYTES)
    }

    async fn take(&mut self, bytes: Bytes) -> Result<()> {
        self.decoder.push(bytes)?;
        while let Some(event) = self.decoder.next_event()? {
            self.event(event).await?;
        }
        Ok(())
    }

    /// Resynchronises a mirror.
    fn again(&mut self, mirror: &Arc<Mirror>, reason: &str) -> Result<()> {
        self.batch.forget(mirror);
        begin_again(self.source, mirror, reason)
    }

    /// Commits what has been read.
    fn flush(&mut self) -> Result<()> {
        if self.transaction.is_some() {
            return Ok(());
        }
        self.commit()?;
        self.look_at_mirrors()?;
        self.source.rounds.send_modify(|rounds| *rounds += 1);
        Ok(())
    }

    /// Commits the batch with the position that it reaches.
    ///
    /// # Errors
    /// 1317 when the stream must begin again: the events are then discarded and read once more, and
    /// callers must not continue as if they were in the copies. Else errors of the store.
    fn commit(&mut self) -> Result<()> {
        self.batch_since = None;
        let _moving = self.source.hold();
        if self.must_end() {
            self.batch = Batch::default();
            return Err(overtaken());
        }
        let now = self.source.now();
        let mut batch = std::mem::take(&mut self.batch);
        let committed = batch.committed();
        batch.keep_followed();
        self.follow_foreign_keys(&mut batch)?;
        let moved = self.source.applied.borrow().as_ref() != Some(&self.read);
        let is_due = self.must_keep || now.saturating_sub(self.kept_at) > KEEP_EVERY;
        if !batch.is_empty() || !self.kept_xa.is_empty() || (moved && is_due) {
            let from = self.source.position();
            let most = self.transaction_bytes();
            let mut values = vec![self.place()];
            values.extend(std::mem::take(&mut self.kept_xa));
            let store = self.source.store();
            let misfits = blocking(|| batch.commit(store, from.as_ref(), values, most))?;
            if !misfits.is_empty() {
                self.source.wake();
            }
            self.kept_at = now;
            self.must_keep = false;
        }
        if moved {
            self.source.applied.send_replace(Some(self.read.clone()));
        }
        // Only now: if numbers go back, a reader would take the old number for the new one.
        self.source.note_said(&std::mem::take(&mut self.said));
        self.note_committed(committed, now);
        Ok(())
    }

    /// All that was committed before a transaction of the stream is in the copies.
    fn note_committed(&self, committed: u64, now: Duration) {
        if committed == 0 {
            return;
        }
        let age = Duration::from_micros(self.wall().saturating_sub(committed));
        if let Some(at) = now.checked_sub(age) {
            self.source.note_whole(at);
        }
    }

    /// The server's clock, in microseconds since 1970.
    fn wall(&self) -> u64 {
        let wall = self.source.env().clock.since_epoch();
        u64::try_from(wall.as_micros()).unwrap_or(u64::MAX).saturating_add_signed(self.skew)
    }

    /// Makes mirrors live that have caught up.
    fn look_at_mirrors(&mut self) -> Result<()> {
        if self.transaction.is_some() || !self.batch.is_empty() {
            return Ok(());
        }
        let _moving = self.source.hold();
        if self.must_end() {
            // What was read was not committed.
            return Ok(());
        }
        for mirror in self.source.mirrors() {
            let is_live = mirror.has_caught_up(&self.read);
            let is_past = mirror.is_past_beginning(&self.read);
            if !is_live && !is_past {
                continue;
            }
            let mut has_come = false;
            // With the position: without its beginning it may not meet again what it has.
            mirror.update_with(self.source.store(), vec![self.place()], |it| {
                if is_past {
                    // From here on all counts, also where a MariaDB gives out lower numbers again.
                    it.from = None;
                }
                // The mirror may have been resynchronised since the check.
                has_come = is_live && it.state == State::CatchingUp;
                if has_come {
                    it.state = State::Live;
                    // The reason for its load is of no interest any more.
                    it.reason = None;
                    it.early = false;
                    it.until = None;
                }
            })?;
            if has_come {
                tracing::info!(mirror = %mirror.name, link = self.source.link, "a mirror is live");
                // On a server where nothing happens, heartbeats may say so late.
                if let Some(asked) = mirror.until_at() {
                    self.source.note_whole(asked);
                }
            }
        }
        Ok(())
    }

    /// Bytes that the changes of one transaction may take.
    fn transaction_bytes(&self) -> usize {
        self.source.copies().transaction_bytes().min(TRANSACTION_MAX)
    }

    /// Up to where transactions have been read, as it is kept.
    fn place(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let key = crate::model::record::position_key(&self.source.link);
        (key, Some(self.read.to_string().into_bytes()))
    }
}

/// When a transaction was committed, by what the server's clock shows now, or 0: a MariaDB tells the
/// time that the session has set, and one in the future says nothing.
fn credible(committed: u64, wall: u64) -> u64 {
    if committed <= wall.saturating_add(CLOCKS_DIFFER) { committed } else { 0 }
}

fn begin_again(source: &Source, mirror: &Arc<Mirror>, reason: &str) -> Result<()> {
    tracing::warn!(mirror = %mirror.name, reason, "a table is mirrored anew");
    mirror.begin_again(source.store(), Some(reason.to_owned()))?;
    source.wake();
    Ok(())
}

fn ended() -> Error {
    Error::new(Code::QueryOnForeign, "the server has ended the stream of changes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_the_future_say_nothing() {
        let now = 1_800_000_000_000_000;
        assert_eq!(credible(now - 5, now), now - 5);
        assert_eq!(credible(now + CLOCKS_DIFFER, now), now + CLOCKS_DIFFER);
        assert_eq!(credible(now + 3_600_000_000, now), 0);
    }
}
