//! Reading one server's binlog: events become transactions, transactions become batches, and batches are committed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use pelorus_binlog::{
    Decoder, Event, Gtid, LogEvent, Position, Query, RowsEvent, RowsKind, Step, TableMap,
    XaPrepare, Xid,
};
use pelorus_error::{Code, Error, Result};
use pelorus_link::SessionSettings;
use pelorus_link::{FollowError, FollowFailure, FollowRequest, Follower, Link, SourceFacts};

use super::Source;
use crate::batch::{Added, Batch, blocking};
use crate::cascade::{Plan, Referrers, positions};
use crate::copies::CopyTable;
use crate::follow;
use crate::load::is_overtaken;
use crate::mirror::{Mirror, overtaken};
use crate::origin::Origin;
use crate::record::State;

/// How often the server says that nothing happens.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// A batch is committed when it has so many rows or bytes, whatever else has arrived.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 16 << 20;
/// A batch is committed after so long, whatever else has arrived.
const BATCH_TIME: Duration = Duration::from_millis(20);
/// Commits that leave nothing to be read behind them are at least so far apart: transactions that
/// come one after the other share the work of a commit, and one that comes alone is not held up.
const PACE: Duration = Duration::from_millis(5);
/// How often the position is kept while nothing of ours changes.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// Follows a server until the stream ends.
///
/// # Errors
/// Why it ended.
pub(super) async fn stream(source: &Arc<Source>, link: &Link, facts: &SourceFacts) -> Result<()> {
    let Some(position) = source.position() else { return Ok(()) };
    let mut request = FollowRequest::new(position.clone(), source.server_id()?);
    request.heartbeat = HEARTBEAT;
    let origin = Origin::new(facts.is_mariadb, source.wants_statements(facts));
    request.statements = origin.asked;
    let skew = clock_skew(source, link).await?;
    source.folds_names.store(facts.folds_names, Ordering::Release);
    let end = link.binlog_end().await?;
    let follower = match link.follow(&request).await {
        Ok(follower) => follower,
        Err(error) => return lost(source, error),
    };
    // Only now: what the server says itself, of binlogs that were reset, say, is known better.
    if lacks(&end, &position) {
        return without(source, &end, &position);
    }
    source.note_end(Some(end.clone()));
    let mut reader = Reader::new(source, position, follower, (skew, end));
    reader.origin = origin;
    {
        let mut status = source.status.lock();
        status.connected = true;
        status.error = None;
        *source.diverged_since.lock() = None;
    }
    match reader.run().await {
        Ok(()) => Ok(()),
        Err(Ended::Stream(error)) => lost(source, error),
        // It begins again at once.
        Err(Ended::Here(error)) if is_overtaken(&error) => Ok(()),
        Err(Ended::Here(error)) => Err(error),
    }
}

/// Why reading ended.
enum Ended {
    /// What the server says.
    Stream(FollowError),
    /// What went wrong here.
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

/// The server's clock less ours, in microseconds.
async fn clock_skew(source: &Source, link: &Link) -> Result<i64> {
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

/// Whether a MySQL lacks transactions that were applied. It does not say so by itself where another
/// server gave them their names.
fn lacks(end: &Position, position: &Position) -> bool {
    matches!(position, Position::MySql(_)) && end.has_passed(position) == Some(false)
}

/// A server that lacks transactions may have to catch up first; if it does not, all is read anew.
fn without(source: &Source, end: &Position, position: &Position) -> Result<()> {
    let missing = end.behind(position).unwrap_or_default();
    let reason =
        format!("the server does not have all that was read of it before: {missing} transactions");
    if !source.has_diverged_for_long() {
        return Err(Error::new(Code::QueryOnForeign, reason));
    }
    tracing::warn!(link = source.link, reason, "all tables are mirrored anew");
    source.begin_all_again(&reason)
}

/// A position that the server no longer has is the beginning of new loads.
fn lost(source: &Source, error: FollowError) -> Result<()> {
    let what = match error.failure() {
        FollowFailure::Purged => "what was missing is no longer in the server's binlog",
        FollowFailure::Diverged if source.has_diverged_for_long() => {
            "the server does not have all that was read of it before"
        }
        _ => return Err(error.into_error()),
    };
    let reason = format!("{what}: {}", error.error().message());
    tracing::warn!(link = source.link, reason, "all tables are mirrored anew");
    source.begin_all_again(&reason)
}

/// A transaction that is being read.
#[derive(Debug, Default)]
struct Transaction {
    /// What its end makes of the position; `None` for positions in files, where the end says it.
    step: Option<Step>,
    /// `BEGIN` has been seen: it ends with a commit.
    begun: bool,
    /// When it was committed, in microseconds since 1970; 0 where that is not known.
    committed: u64,
    /// What it has changed, if it is an XA transaction: `XA COMMIT` comes later, or never.
    apart: Option<Prepared>,
    /// Tables of ours that it has changed.
    touched: Vec<Arc<Mirror>>,
}

struct Reader<'s> {
    source: &'s Arc<Source>,
    follower: Follower,
    decoder: Decoder,
    /// Where the rows at hand come from.
    origin: Origin,
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
    /// Heartbeats mean nothing before this position: while the server passes over what was read
    /// before, it sends some too.
    not_before: Option<Position>,
    /// XA transactions that are prepared, by their identifiers as statements write them.
    prepared: HashMap<String, Prepared>,
}

/// The changes of an XA transaction, which count when it is committed.
#[derive(Debug, Default)]
struct Prepared {
    batch: Batch,
    /// All tables that it has changed: database and name.
    tables: BTreeSet<(String, String)>,
}

impl<'s> Reader<'s> {
    fn new(
        source: &'s Arc<Source>,
        position: Position,
        follower: Follower,
        (skew, end): (i64, Position),
    ) -> Self {
        Self {
            source,
            follower,
            decoder: Decoder::new(),
            origin: Origin::default(),
            read: position,
            transaction: None,
            batch: Batch::default(),
            batch_since: None,
            kept_at: source.now(),
            must_keep: false,
            read_at: Duration::ZERO,
            skew,
            not_before: Some(end),
            prepared: HashMap::new(),
        }
    }

    async fn run(&mut self) -> Result<(), Ended> {
        self.look_at_mirrors()?;
        loop {
            let early = self.read_at.saturating_sub(self.source.now());
            if !early.is_zero() {
                tokio::time::sleep(early).await;
            }
            let event = tokio::select! {
                event = self.follower.next() => event?,
                () = self.source.wake.notified() => {
                    if self.must_end() {
                        return Ok(());
                    }
                    self.flush()?;
                    continue;
                }
            };
            let Some(event) = event else { return Err(ended().into()) };
            self.take(event)?;
            while !self.is_full()
                && let Some(event) = self.arrived()?
            {
                self.take(event)?;
            }
            if self.transaction.is_none() {
                if !self.is_full() && self.batch_since.is_some() {
                    self.read_at = self.source.now() + PACE;
                }
                self.flush()?;
            }
            if self.must_end() {
                return Ok(());
            }
        }
    }

    /// The server has nothing more to send.
    fn heartbeat(&mut self) {
        let is_there = |end: &Position| self.read.has_passed(end) == Some(true);
        if self.not_before.as_ref().is_none_or(is_there) {
            self.not_before = None;
            self.source.note_end(Some(self.read.clone()));
            self.source.note_whole(self.source.now());
        }
    }

    /// The next event if it is here already, in the socket's buffer too.
    fn arrived(&mut self) -> Result<Option<Bytes>, Ended> {
        if let Some(event) = self.follower.arrived()? {
            return Ok(Some(event));
        }
        match self.follower.next().now_or_never() {
            None => Ok(None),
            Some(event) => event?.map_or_else(|| Err(ended().into()), |event| Ok(Some(event))),
        }
    }

    /// Whether the stream must begin again or stop.
    fn must_end(&self) -> bool {
        self.source.is_stopping() || self.source.moved.load(Ordering::Acquire)
    }

    fn is_full(&self) -> bool {
        let is_old = self
            .batch_since
            .is_some_and(|since| self.source.now().saturating_sub(since) > BATCH_TIME);
        self.transaction.is_none()
            && (is_old || self.batch.rows() >= BATCH_ROWS || self.batch.bytes() >= BATCH_BYTES)
    }

    fn take(&mut self, bytes: Bytes) -> Result<()> {
        self.decoder.push(bytes)?;
        while let Some(event) = self.decoder.next_event()? {
            self.event(event)?;
        }
        Ok(())
    }

    fn event(&mut self, event: LogEvent) -> Result<()> {
        let header = event.header;
        match event.event {
            Event::Rotate(rotate) => self.rotate(&rotate.file, rotate.position)?,
            Event::FormatDescription(_) => self.cut_off()?,
            Event::Gtid(gtid) => {
                self.cut_off()?;
                self.begin_at(&header)?;
                let committed = gtid.immediate_commit.or(gtid.original_commit);
                let standalone = gtid.mariadb.as_ref().is_some_and(|it| it.standalone);
                self.transaction = Some(Transaction {
                    step: gtid.gtid.as_ref().and_then(step),
                    begun: gtid.mariadb.is_some() && !standalone,
                    committed: committed.unwrap_or(u64::from(header.timestamp) * 1_000_000),
                    apart: gtid
                        .mariadb
                        .as_ref()
                        .and_then(|it| it.prepared_xa.then(Prepared::default)),
                    touched: Vec::new(),
                });
            }
            Event::Query(query) => {
                self.query(&query, header.timestamp, self.end_of(&event.header, event.inner))?
            }
            Event::Xid(_) => self.end_transaction(self.end_of(&header, event.inner))?,
            Event::XaPrepare(prepare) => {
                self.xa_prepare(&prepare)?;
                self.end_transaction(self.end_of(&header, event.inner))?;
            }
            Event::RowsQuery(text) => self.origin.begin_statement(text),
            Event::TableMap(table) => self.origin.note_table(&table),
            Event::Rows(rows) => self.rows(&rows)?,
            Event::Heartbeat { file, position } if self.transaction.is_none() => {
                if position > 0 {
                    self.rotate(&file, position)?;
                }
                self.flush()?;
                self.heartbeat();
            }
            Event::Incident { message, .. } => {
                self.source
                    .begin_all_again(&format!("the server reports lost events: {message}"))?;
                self.source.moved.store(true, Ordering::Release);
            }
            _ => {}
        }
        Ok(())
    }

    /// The position behind an event, in files.
    fn end_of(&self, header: &pelorus_binlog::EventHeader, inner: bool) -> Option<Step> {
        let Position::File { file, offset } = &self.read else { return None };
        if inner || header.end_position == 0 {
            return None;
        }
        // Positions have 32 bits in headers; they only grow within a file.
        let low = u64::from(header.end_position);
        let mut end = (offset & !0xFFFF_FFFF) | low;
        if end < *offset {
            end += 1 << 32;
        }
        Some(Step::File { file: file.clone(), offset: end })
    }

    /// A transaction without its end: the server stopped while it was written, and has rolled it
    /// back.
    fn cut_off(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        for mirror in &transaction.touched {
            self.again(mirror, "a transaction in the binlog is cut off")?;
        }
        Ok(())
    }

    /// In files, the place where a transaction begins is where the one before it ends, also when
    /// that was compressed and did not say so.
    fn begin_at(&mut self, header: &pelorus_binlog::EventHeader) -> Result<()> {
        match self.end_of(header, false) {
            Some(Step::File { file, offset }) => {
                let offset = offset.saturating_sub(u64::from(header.length));
                self.read.advance(&Step::File { file, offset })
            }
            _ => Ok(()),
        }
    }

    fn rotate(&mut self, name: &str, place: u64) -> Result<()> {
        if let Position::File { .. } = self.read {
            self.read.advance(&Step::File { file: name.to_owned(), offset: place })?;
        }
        Ok(())
    }

    fn query(&mut self, query: &Query, timestamp: u32, end: Option<Step>) -> Result<()> {
        let text = match query.text() {
            Ok(text) => text.into_owned(),
            // Its first words are ASCII in every charset that a client may have.
            Err(_) => String::from_utf8_lossy(&query.bytes).into_owned(),
        };
        match follow::kind(&text) {
            follow::Kind::Begin => {
                self.transaction.get_or_insert_default().begun = true;
                Ok(())
            }
            follow::Kind::XaStart => {
                let transaction = self.transaction.get_or_insert_default();
                transaction.begun = true;
                transaction.apart.get_or_insert_default();
                Ok(())
            }
            follow::Kind::Commit => self.end_transaction(end),
            follow::Kind::Rollback => {
                let touched = self.transaction.as_mut().map(|it| std::mem::take(&mut it.touched));
                for mirror in touched.unwrap_or_default() {
                    self.again(&mirror, "a transaction in the binlog was rolled back")?;
                }
                self.end_transaction(end)
            }
            follow::Kind::XaCommit => {
                self.xa_commit(&text)?;
                self.end_transaction(end)
            }
            follow::Kind::XaRollback => {
                self.xa_rollback(&text);
                self.end_transaction(end)
            }
            follow::Kind::Nothing => {
                let is_open = self.transaction.as_ref().is_some_and(|it| it.begun);
                if is_open { Ok(()) } else { self.end_transaction(end) }
            }
            follow::Kind::Other => {
                let is_open = self.transaction.as_ref().is_some_and(|it| it.begun);
                self.statement(query, &text, timestamp)?;
                if is_open { Ok(()) } else { self.end_transaction(end) }
            }
        }
    }

    /// An XA transaction is prepared, or committed at once.
    fn xa_prepare(&mut self, prepare: &XaPrepare) -> Result<()> {
        let apart = self.transaction.as_mut().and_then(|it| it.apart.take()).unwrap_or_default();
        if prepare.one_phase {
            return self.xa_apply(apart);
        }
        self.prepared.insert(identifier(&prepare.xid), apart);
        Ok(())
    }

    /// What was prepared counts from now on. What this stream has not seen being prepared may
    /// concern any table: all are read anew.
    fn xa_commit(&mut self, text: &str) -> Result<()> {
        let xid = text.split_ascii_whitespace().nth(2).unwrap_or_default();
        if let Some(apart) = self.prepared.remove(xid) {
            return self.xa_apply(apart);
        }
        for mirror in self.source.mirrors() {
            if mirror.state().follows() {
                self.again(&mirror, "an XA transaction was committed whose changes were not seen")?;
            }
        }
        Ok(())
    }

    fn xa_rollback(&mut self, text: &str) {
        let xid = text.split_ascii_whitespace().nth(2).unwrap_or_default();
        self.prepared.remove(xid);
    }

    /// Changes that were kept apart come behind all that was read before. Tables whose copies are
    /// no longer those of then are read anew.
    fn xa_apply(&mut self, apart: Prepared) -> Result<()> {
        self.commit()?;
        let Prepared { batch, tables } = apart;
        self.batch = batch;
        self.batch.keep_followed();
        for (database, table) in &tables {
            let Some(mirror) = self.source.mirror(database, table) else { continue };
            if mirror.state().follows() && !self.batch.is_for(&mirror) {
                self.again(&mirror, "a table was mirrored while an XA transaction was prepared")?;
            }
        }
        Ok(())
    }

    /// A statement that changes definitions, or rows without saying which.
    fn statement(&mut self, query: &Query, text: &str, timestamp: u32) -> Result<()> {
        let effects = follow::effects(self.source, query, text, timestamp);
        if effects.is_empty() {
            return Ok(());
        }
        // What came before it was made for the definitions so far. A definition that was changed
        // must not be changed again after a crash: its position is kept before the next change.
        self.commit()?;
        self.must_keep = true;
        let event = match self.transaction.as_ref().and_then(|it| it.step.as_ref()) {
            Some(step) => format!("{step:?}"),
            None => self.read.to_string(),
        };
        for effect in effects {
            let is_old = |from: &Position| self.is_old(from);
            blocking(|| follow::carry_out(self.source, effect, text, &event, &is_old))?;
        }
        Ok(())
    }

    fn rows(&mut self, rows: &RowsEvent) -> Result<()> {
        if let Some(apart) = self.transaction.as_mut().and_then(|it| it.apart.as_mut()) {
            apart.tables.insert((rows.table.database.clone(), rows.table.table.clone()));
        }
        let cascades = Cascades::of(self.source, rows);
        let followed = self.mirror_of(&rows.table);
        let followed = followed.and_then(|it| Some((it.follower(|from| self.is_old(from))?, it)));
        let Some((copy, mirror)) = followed else { return self.unseen(&cascades) };
        let referred = cascades.referred(&copy);
        let apart = self.transaction.as_ref().and_then(|it| it.apart.as_ref());
        let keeps = apart.map_or(&self.batch, |it| &it.batch).keeps(&mirror, &referred);
        if !keeps {
            self.unseen(&cascades)?;
        }
        let plan = (keeps && cascades.does_something)
            .then(|| Plan::of(self.source, &mirror, &copy, &|from: &Position| self.is_old(from)));
        let transaction = self.transaction.get_or_insert_default();
        if !transaction.touched.iter().any(|it| Arc::ptr_eq(it, &mirror)) {
            transaction.touched.push(Arc::clone(&mirror));
        }
        if let (Some(apart), Some(plan)) = (&mut transaction.apart, &plan) {
            let children = plan.links.iter().map(|link| &link.child.name);
            apart.tables.extend(children.map(|it| (it.database.clone(), it.table.clone())));
        }
        let batch = transaction.apart.as_mut().map_or(&mut self.batch, |it| &mut it.batch);
        let added = batch.add(&mirror, &copy, rows, &self.origin, (&referred, plan));
        if let Ok(Added::WantsStatement) = added {
            // What was read is read again, with statements.
            self.source.want_statements();
            return Err(overtaken());
        }
        if let Err(error) = added {
            batch.forget(&mirror);
            let text = pelorus_error::display_chain(&error);
            if error.code() == Code::TableChanged {
                return self.again(&mirror, &text);
            }
            tracing::warn!(mirror = %mirror.name, error = text, "a mirror cannot follow its table");
            return mirror.stop_in(self.source.store(), State::Failed, Some(text));
        }
        match too_large(batch, || self.source.copies().transaction_bytes()) {
            Some(mirror) => {
                batch.forget(&mirror);
                self.again(
                    &mirror,
                    "a transaction changed more than pelorus_mirror_transaction_size",
                )
            }
            None => Ok(()),
        }
    }

    /// Rows have changed that are not looked at: what foreign keys made of it is not known.
    fn unseen(&mut self, cascades: &Cascades) -> Result<()> {
        if !cascades.does_something {
            return Ok(());
        }
        for child in cascades.children() {
            // What it has so far is thrown away.
            if child.is_gathering() {
                continue;
            }
            if child.follower(|from| self.is_old(from)).is_some() {
                let (database, table) = &cascades.name;
                let why = crate::cascade::depends(database, table, "not followed here");
                self.again(&child, &why)?;
            }
        }
        Ok(())
    }

    fn mirror_of(&self, table: &TableMap) -> Option<Arc<Mirror>> {
        self.source.mirror(&table.database, &table.table)
    }

    /// Whether a copy that began with a position has the transaction that is being read already.
    fn is_old(&self, from: &Position) -> bool {
        let step = self.transaction.as_ref().and_then(|it| it.step.as_ref());
        match (from, step) {
            (Position::MySql(set), Some(Step::MySql(gtid))) => set.contains(gtid),
            (Position::MariaDb(all), Some(Step::MariaDb(gtid))) => all.covers(*gtid),
            // A transaction that begins before that position was whole there.
            (Position::File { .. }, _) => {
                from != &self.read && from.has_passed(&self.read) == Some(true)
            }
            _ => false,
        }
    }

    /// Lets a mirror begin anew.
    fn again(&mut self, mirror: &Arc<Mirror>, reason: &str) -> Result<()> {
        self.batch.forget(mirror);
        begin_again(self.source, mirror, reason)
    }

    /// Sees that nothing is committed for tables whose foreign keys cannot be followed, and carries
    /// out what those of the others do.
    fn follow_foreign_keys(&self, batch: &mut Batch) -> Result<()> {
        self.stop_unguarded(batch)?;
        let lost = blocking(|| batch.cascade(self.source.store()))?;
        for (mirror, reason) in &lost {
            batch.forget(mirror);
            begin_again(self.source, mirror, reason)?;
        }
        self.stop_unguarded(batch)
    }

    /// Lets mirrors begin anew that refer to tables that are not followed; then those that refer to
    /// them.
    fn stop_unguarded(&self, batch: &mut Batch) -> Result<()> {
        loop {
            let lost = crate::cascade::unguarded(self.source);
            if lost.is_empty() {
                return Ok(());
            }
            for (mirror, reason) in &lost {
                batch.forget(mirror);
                begin_again(self.source, mirror, reason)?;
            }
        }
    }

    /// The transaction is read to its end.
    fn end_transaction(&mut self, end: Option<Step>) -> Result<()> {
        self.origin.end();
        let Some(transaction) = self.transaction.take() else {
            return end.map_or(Ok(()), |step| self.read.advance(&step));
        };
        if let Some(step) = end.filter(|_| transaction.step.is_none()).or(transaction.step) {
            self.read.advance(&step)?;
        }
        self.batch.note_transaction(transaction.committed);
        self.batch_since.get_or_insert_with(|| self.source.now());
        Ok(())
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

    fn commit(&mut self) -> Result<()> {
        self.batch_since = None;
        let _moving = self.source.moving.lock();
        if self.must_end() {
            // The stream begins again elsewhere: what was read is read again.
            self.batch = Batch::default();
            return Ok(());
        }
        let now = self.source.now();
        let mut batch = std::mem::take(&mut self.batch);
        let committed = batch.committed();
        batch.keep_followed();
        self.follow_foreign_keys(&mut batch)?;
        let moved = self.source.applied.borrow().as_ref() != Some(&self.read);
        let is_due = self.must_keep || now.saturating_sub(self.kept_at) > KEEP_EVERY;
        if !batch.is_empty() || (moved && is_due) {
            let key = crate::record::position_key(&self.source.link);
            let value = self.read.to_string().into_bytes();
            let from = self.source.position();
            let misfits =
                blocking(|| batch.commit(self.source.store(), from.as_ref(), (key, Some(value))))?;
            for (mirror, reason) in misfits {
                tracing::warn!(mirror = %mirror.name, reason, "a table is mirrored anew");
                self.source.wake();
            }
            self.kept_at = now;
            self.must_keep = false;
        }
        if moved {
            self.source.applied.send_replace(Some(self.read.clone()));
        }
        self.note_committed(committed, now);
        Ok(())
    }

    /// All that was committed before a transaction of the stream is in the copies.
    fn note_committed(&self, committed: u64, now: Duration) {
        if committed == 0 {
            return;
        }
        let wall = self.source.env().clock.since_epoch();
        let wall = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        let ours = committed.saturating_add_signed(-self.skew);
        let age = Duration::from_micros(wall.saturating_sub(ours));
        if let Some(at) = now.checked_sub(age) {
            self.source.note_whole(at);
        }
    }

    /// Makes mirrors live that have caught up.
    fn look_at_mirrors(&mut self) -> Result<()> {
        if self.transaction.is_some() || !self.batch.is_empty() {
            return Ok(());
        }
        let _moving = self.source.moving.lock();
        if self.must_end() {
            // What was read was not committed.
            return Ok(());
        }
        for mirror in self.source.mirrors() {
            if mirror.has_caught_up(&self.read) {
                mirror.update(self.source.store(), |record| {
                    record.state = State::Live;
                    record.early = false;
                    record.until = None;
                })?;
                tracing::info!(mirror = %mirror.name, link = self.source.link, "a mirror is live");
            }
        }
        Ok(())
    }
}

/// The mirror whose changes take most of the memory of a transaction that takes too much.
fn too_large(batch: &Batch, most: impl Fn() -> usize) -> Option<Arc<Mirror>> {
    let is_large = batch.rows() > BATCH_ROWS && batch.bytes() > most();
    is_large.then(|| batch.largest()).flatten()
}

/// Foreign keys that refer to the table of an event.
struct Cascades {
    name: (String, String),
    referrers: Arc<Referrers>,
    /// Whether they may do something to rows that refer to those of the event.
    does_something: bool,
}

impl Cascades {
    fn of(source: &Source, rows: &RowsEvent) -> Self {
        let referrers = source.all_referrers();
        if referrers.is_empty() {
            return Self { name: Default::default(), referrers, does_something: false };
        }
        let name = (rows.table.database.clone(), rows.table.table.clone());
        let does_something = referrers.contains_key(&name)
            && rows.kind != RowsKind::Insert
            && !rows.no_foreign_key_checks;
        Self { name, referrers, does_something }
    }

    fn children(&self) -> Vec<Arc<Mirror>> {
        self.referrers.get(&self.name).cloned().unwrap_or_default()
    }

    /// Positions of the columns that they refer to.
    fn referred(&self, copy: &Arc<dyn CopyTable>) -> Vec<usize> {
        let mut all = Vec::new();
        for child in self.referrers.get(&self.name).into_iter().flatten() {
            let keys = child.foreign_keys();
            for key in keys.iter().filter(|it| it.refers_to(&self.name.0, &self.name.1)) {
                all.extend(positions(copy.as_ref(), &key.referred).unwrap_or_default());
            }
        }
        all
    }
}

fn begin_again(source: &Source, mirror: &Arc<Mirror>, reason: &str) -> Result<()> {
    tracing::warn!(mirror = %mirror.name, reason, "a table is mirrored anew");
    mirror.begin_again(source.store(), Some(reason.to_owned()))?;
    source.wake();
    Ok(())
}

/// An XA identifier as `XA COMMIT` has it in the binlog.
fn identifier(xid: &Xid) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("X'{}',X'{}',{}", hex(&xid.global), hex(&xid.branch), xid.format)
}

/// What the end of a transaction makes of the position.
fn step(gtid: &Gtid) -> Option<Step> {
    Some(match gtid {
        Gtid::MySql { source, tag, sequence } => Step::MySql(pelorus_binlog::gtid::Gtid {
            source: pelorus_binlog::gtid::Source {
                uuid: *source,
                tag: tag.clone().unwrap_or_default(),
            },
            number: *sequence,
        }),
        Gtid::MariaDb { domain, server, sequence } => {
            Step::MariaDb(pelorus_binlog::maria::MariaGtid {
                domain: *domain,
                server: *server,
                sequence: *sequence,
            })
        }
    })
}

fn ended() -> Error {
    Error::new(Code::QueryOnForeign, "the server has ended the stream of changes")
}
