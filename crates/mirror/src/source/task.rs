//! The task that follows a server: it starts the stream and the loads, and restarts them after
//! errors.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pelorus_binlog::Position;
use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_link::SourceFacts;
use pelorus_store::Commit;
use tokio::task::JoinSet;

use super::{RETRY_MAX, RETRY_MIN, Source, stream};
use crate::control::eligibility;
use crate::model::mirror::Values;
use crate::model::record;
use crate::model::record::{SourceRecord, State};

/// How long another server may have less than was read of the one before it.
const DIVERGED: Duration = Duration::from_secs(20);
/// The same of a MySQL itself: it sends a transaction a moment before that counts as executed.
const COMMITTED: Duration = Duration::from_millis(100);
/// How long the end of the tasks is waited for.
const STOP_WITHIN: Duration = Duration::from_secs(10);

impl Source {
    /// Starts the task, unless it runs.
    pub(crate) fn start(self: &Arc<Self>) {
        let mut task = self.task.lock();
        if task.is_none() && !self.stopping.load(Ordering::Acquire) {
            *task = Some(tokio::spawn(Arc::clone(self).run()));
        }
    }

    /// Ends the task.
    pub(crate) async fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let abort = task.abort_handle();
            if tokio::time::timeout(STOP_WITHIN, task).await.is_err() {
                abort.abort();
            }
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(super) async fn run(self: Arc<Self>) {
        let mut pause = RETRY_MIN;
        while !self.is_stopping() {
            let woken = self.wake.notified();
            // Failed tables are included: they may be created again.
            let is_wanted = !self.databases.read().is_empty()
                || self.mirrors().iter().any(|it| it.state() != State::Paused);
            if !is_wanted {
                woken.await;
                continue;
            }
            let begun = self.now();
            let error = match self.follow().await {
                Ok(()) => {
                    // No caller waits for a stream that has ended.
                    self.status.lock().connected = false;
                    pause = RETRY_MIN;
                    continue;
                }
                Err(error) => error,
            };
            self.note_failure(&error);
            if self.now().saturating_sub(begun) > RETRY_MAX {
                pause = RETRY_MIN;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => {}
            }
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    pub(super) fn note_failure(&self, error: &Error) {
        let text = pelorus_error::display_chain(error);
        let mut status = self.status.lock();
        if status.error.as_ref() != Some(&text) {
            tracing::warn!(
                link = self.link,
                error = text,
                "the stream of changes has ended; it is tried again"
            );
        }
        status.connected = false;
        status.error = Some(text);
    }

    /// Follows the server until something must be begun again.
    pub(super) async fn follow(self: &Arc<Self>) -> Result<()> {
        // Before any check: a request from here on, for example a new definition of the link, ends
        // the stream that begins now.
        self.moved.store(false, Ordering::Release);
        let link = self.shared.links.link(&self.link).ok_or_else(|| {
            Error::new(Code::NoSuchServer, format!("there is no server '{}'", self.link))
        })?;
        let facts = link.source_facts().await?;
        self.check_logged(&facts)?;
        if let Some(error) = facts.check().into_iter().next() {
            return Err(error);
        }
        self.check_identity(&facts)?;
        self.check_cascades(eligibility::logs_cascades(&link).await?)?;
        if self.position().is_none() {
            let position = link.binlog_position(&[]).await?;
            // It begins there at once, unless there is more to be looked at.
            return self.go_to(&position);
        }
        if self.streams() == 0
            && let Some(text) = facts.leaves_out()
        {
            tracing::warn!(link = self.link, "{text}");
        }
        let mut loading = JoinSet::new();
        loading.spawn(Arc::clone(self).load_all(link.clone()));
        loading.spawn(Arc::clone(self).watch_end(link.clone()));
        // Dropped with it, the loads end.
        stream::stream(self, &link, &facts).await
    }

    /// The number under which the server knows us: derived from a stored random number.
    pub(super) fn server_id(&self) -> Result<u32> {
        const KEY: &[u8] = b"replica";
        let kept = match self.store().value(KEY) {
            Some(kept) => kept,
            None => {
                let mut bytes = vec![0; 16];
                self.env().random.fill(&mut bytes);
                self.keep_values(vec![(KEY.to_vec(), Some(bytes.clone()))])?;
                bytes
            }
        };
        Ok(pelorus_link::binlog::server_id_of(&format!("{kept:?}/{}", self.link)))
    }

    /// Whether the server has lacked transactions that were read from it for so long that it will
    /// not catch up: a replacement server may have to catch up first. The same server has lost
    /// them, and later transactions with the same names differ.
    pub(super) fn has_diverged_for_long(&self, position: &Position) -> bool {
        let patience = match (self.is_another(), position) {
            (true, _) => DIVERGED,
            (false, Position::MySql(_)) => COMMITTED,
            (false, _) => return true,
        };
        let now = self.now();
        let mut since = self.diverged_since.lock();
        now.saturating_sub(*since.get_or_insert(now)) > patience
    }

    /// Whether another server has taken the place of the one that was followed last.
    pub(super) fn is_another(&self) -> bool {
        // Ordering: set by the same task.
        self.is_another.load(Ordering::Relaxed)
    }

    /// Checks the identity of the server: another server under the link's name is followed by
    /// GTIDs; without GTIDs no applied position can be found on it.
    pub(super) fn check_identity(&self, facts: &SourceFacts) -> Result<()> {
        let known = self.known()?;
        let identity = facts.server_uuid.clone().unwrap_or_else(|| facts.server_id.to_string());
        if known.as_ref().is_some_and(|known| known.identity == identity) {
            return Ok(());
        }
        if known.is_some() {
            tracing::warn!(link = self.link, identity, "another server answers for the link");
            // Ordering: looked at by the same task.
            self.is_another.store(true, Ordering::Relaxed);
            if matches!(self.position(), Some(Position::File { .. })) {
                let reason = "another server answers for the link, and file positions hold on one \
                              server only";
                tracing::warn!(link = self.link, reason, "all tables are mirrored anew");
                self.begin_all_again(reason)?;
            }
        }
        let logs_cascades = known.and_then(|it| it.logs_cascades);
        self.keep(&SourceRecord { identity, logs_cascades, ..SourceRecord::default() })
    }

    /// Changes that a server does not write to its binlog are in no stream, whatever it writes
    /// later: the tables are read again, once it can be followed. This is done as soon as it is
    /// seen, and so neither forgotten by a restart nor late.
    pub(super) fn check_logged(&self, facts: &SourceFacts) -> Result<()> {
        if facts.loses_changes() {
            // Without a position all of them wait to be read.
            if self.position().is_none() {
                return Ok(());
            }
            let reason = "the server did not write all changes into its binlog";
            tracing::warn!(link = self.link, reason, "all tables are mirrored anew");
            return self.begin_all_again(reason);
        }
        for mirror in self.mirrors() {
            if mirror.state().follows() && !facts.logs(&mirror.name.database) {
                let reason = "the server leaves its database out of its binlog";
                tracing::warn!(mirror = %mirror.name, reason, "a table is mirrored anew");
                mirror.begin_again(self.store(), Some(reason.to_owned()))?;
            }
        }
        Ok(())
    }

    /// The stored facts of the server.
    pub(super) fn known(&self) -> Result<Option<SourceRecord>> {
        let kept = self.store().value(&record::source_key(&self.link));
        kept.map(|it| record::decode(&it)).transpose()
    }

    /// The value with which something is remembered of the server.
    pub(super) fn to_keep(&self, record: &SourceRecord) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        Ok((record::source_key(&self.link), Some(record::encode(record)?)))
    }

    pub(super) fn keep(&self, record: &SourceRecord) -> Result<()> {
        self.keep_values(vec![self.to_keep(record)?])
    }

    /// Keeps values, durably.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn keep_values(&self, values: Values) -> Result<()> {
        blocking(|| self.store().commit(&Commit { values, ..Commit::default() })).map(drop)
    }

    /// If a server has begun or ceased to log foreign key actions, the position of the change is
    /// unknown: all tables are resynchronised.
    pub(super) fn check_cascades(&self, logs: bool) -> Result<()> {
        let Some(mut known) = self.known()? else { return Ok(()) };
        match known.logs_cascades {
            Some(before) if before == logs => return Ok(()),
            Some(_) => self.begin_all_again(
                "whether the server's binlog has what foreign keys do to rows has changed",
            )?,
            None => {}
        }
        known.logs_cascades = Some(logs);
        (known.renamed, known.reached) = (None, None);
        self.keep(&known)
    }

    /// Notes that the stream has come to a file of the binlog. One that is younger than another
    /// with the same or a higher number is of a new series: its events differ from earlier ones
    /// with the same names, and all tables are resynchronised.
    pub(super) fn note_file(&self, file: &str, began: u32) -> Result<()> {
        let Some(known) = self.known()? else { return Ok(()) };
        let is_new = match &known.file {
            Some((before, at)) if !is_later(file, before) => {
                if began <= *at {
                    return Ok(());
                }
                true
            }
            _ => false,
        };
        if is_new {
            let reason = "the server has begun its binlogs anew";
            tracing::warn!(link = self.link, reason, "all tables are mirrored anew");
            // Before the file is kept: once it is, nothing tells that there was another series.
            self.begin_all_again(reason)?;
        }
        let Some(known) = self.known()? else { return Ok(()) };
        self.keep(&SourceRecord { file: Some((file.to_owned(), began)), ..known })
    }
}

/// Whether a file of the binlog comes after another.
fn is_later(file: &str, other: &str) -> bool {
    let place = |file: &str| Position::File { file: file.to_owned(), offset: 0 };
    place(other).has_passed(&place(file)) != Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_an_order() {
        assert!(is_later("bin.000010", "bin.000009"));
        assert!(!is_later("bin.000009", "bin.000009") && !is_later("bin.000001", "bin.000009"));
        // Those of another name are not compared.
        assert!(is_later("log.000001", "bin.000009"));
    }
}
