//! Handles the events of the binlog and assembles them into transactions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_binlog::{AlterPhase, Event, EventHeader, Gtid, LogEvent, Position, Query, Step};
use pelorus_env::blocking;
use pelorus_error::Result;

use super::xa::Prepared;
use super::{Reader, credible};
use crate::ddl::{self, Effect};
use crate::model::mirror::Mirror;

/// A transaction that is being read.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The step of the position at its end; `None` for positions in files, which the end contains.
    pub(super) step: Option<Step>,
    /// Where it ends in files, if it is compressed: the events that come out of it do not say.
    end: Option<Step>,
    /// After its last rows in files: it may be longer than what positions in headers can tell.
    reached: u64,
    /// `BEGIN` has been seen: it ends with a commit.
    pub(super) begun: bool,
    /// When it was committed, in microseconds since 1970; 0 where that is not known.
    pub(super) committed: u64,
    /// Its changes, if it is an XA transaction: `XA COMMIT` comes later, or never.
    pub(super) apart: Option<Prepared>,
    /// The part of a two-phase ALTER TABLE that it is.
    alter: Option<AlterPhase>,
    /// Tables of ours that it has changed.
    pub(super) touched: Vec<Arc<Mirror>>,
}

impl Reader<'_> {
    pub(super) async fn event(&mut self, event: LogEvent) -> Result<()> {
        let header = event.header;
        self.idle_at = None;
        match event.event {
            Event::Rotate(rotate) => {
                self.rotate(&rotate.file, rotate.position)?;
                self.file = rotate.file;
            }
            Event::FormatDescription(_) => {
                self.cut_off()?;
                if header.timestamp > 0 && !self.file.is_empty() {
                    self.source.note_file(&self.file, header.timestamp)?;
                }
            }
            Event::Gtid(gtid) => {
                self.cut_off()?;
                self.begin_at(&header)?;
                let committed = gtid.immediate_commit.or(gtid.original_commit);
                let standalone = gtid.mariadb.as_ref().is_some_and(|it| it.standalone);
                self.transaction = Some(Transaction {
                    step: gtid.gtid.as_ref().and_then(step).filter(|it| self.read.takes(it)),
                    end: None,
                    reached: 0,
                    begun: gtid.mariadb.is_some() && !standalone,
                    committed: committed.unwrap_or(u64::from(header.timestamp) * 1_000_000),
                    apart: gtid
                        .mariadb
                        .as_ref()
                        .and_then(|it| it.prepared_xa.then(Prepared::default)),
                    alter: gtid.mariadb.as_ref().and_then(|it| it.alter),
                    touched: Vec::new(),
                });
            }
            Event::Query(query) => {
                let end = self.end_of(&header, event.inner);
                self.query(&query, &header, end).await?;
            }
            Event::Xid(_) => self.end_transaction(self.end_of(&header, event.inner))?,
            Event::XaPrepare(prepare) => {
                self.xa_prepare(&prepare)?;
                self.end_transaction(self.end_of(&header, event.inner))?;
            }
            Event::TransactionPayload { .. } => {
                let end = self.end_of(&header, event.inner);
                self.transaction.get_or_insert_default().end = end;
            }
            Event::RowsQuery(text) => self.origin.begin_statement(text),
            Event::TableMap(table) => self.origin.note_table(&table),
            Event::Rows(rows) => {
                if let Some(place) = self.place_behind(&header, event.inner)
                    && let Some(transaction) = &mut self.transaction
                {
                    transaction.reached = place;
                }
                self.rows(&rows)?;
            }
            Event::Heartbeat { file, position } if self.transaction.is_none() => {
                if position > 0 && !is_behind(&self.read, &file, position) {
                    self.rotate(&file, position)?;
                }
                self.flush()?;
                self.idle_at = Some((file, position));
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

    /// The position after an event, in files.
    pub(super) fn end_of(&self, header: &EventHeader, inner: bool) -> Option<Step> {
        let offset = self.place_behind(header, inner)?;
        let Position::File { file, .. } = &self.read else { return None };
        Some(Step::File { file: file.clone(), offset })
    }

    /// The offset after an event, in files.
    fn place_behind(&self, header: &EventHeader, inner: bool) -> Option<u64> {
        let Position::File { offset, .. } = &self.read else { return None };
        let reached = self.transaction.as_ref().map_or(0, |it| it.reached).max(*offset);
        (!inner && header.end_position > 0).then(|| grown(reached, header.end_position))
    }

    /// A transaction without its end: the server stopped while it was written, and has rolled it
    /// back.
    pub(super) fn cut_off(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        for mirror in &transaction.touched {
            self.again(mirror, "a transaction in the binlog is cut off")?;
        }
        Ok(())
    }

    /// In files, the place where a transaction begins is where the one before it ends.
    pub(super) fn begin_at(&mut self, header: &EventHeader) -> Result<()> {
        match self.end_of(header, false) {
            Some(Step::File { file, offset }) => {
                let offset = offset.saturating_sub(u64::from(header.length));
                self.read.advance(&Step::File { file, offset })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn rotate(&mut self, name: &str, place: u64) -> Result<()> {
        if let Position::File { .. } = self.read {
            self.read.advance(&Step::File { file: name.to_owned(), offset: place })?;
        }
        Ok(())
    }

    pub(super) async fn query(
        &mut self,
        query: &Query,
        header: &EventHeader,
        end: Option<Step>,
    ) -> Result<()> {
        let text = match query.text() {
            Ok(text) => text.into_owned(),
            // Its first words are ASCII in every charset that a client may have.
            Err(_) => String::from_utf8_lossy(&query.bytes).into_owned(),
        };
        match ddl::kind(&text) {
            ddl::Kind::Begin => {
                self.transaction.get_or_insert_default().begun = true;
                Ok(())
            }
            ddl::Kind::XaStart => {
                let transaction = self.transaction.get_or_insert_default();
                transaction.begun = true;
                transaction.apart.get_or_insert_default();
                Ok(())
            }
            ddl::Kind::Commit => self.end_transaction(end),
            ddl::Kind::Rollback => {
                let touched = self.transaction.as_mut().map(|it| std::mem::take(&mut it.touched));
                for mirror in touched.unwrap_or_default() {
                    self.again(&mirror, "a transaction in the binlog was rolled back")?;
                }
                self.end_transaction(end)
            }
            ddl::Kind::RollbackTo => {
                let touched = self.transaction.as_mut().map(|it| std::mem::take(&mut it.touched));
                for mirror in touched.unwrap_or_default() {
                    self.current_batch().forget(&mirror);
                    self.again(&mirror, "a part of a transaction in the binlog was rolled back")?;
                }
                let is_open = self.transaction.as_ref().is_some_and(|it| it.begun);
                if is_open { Ok(()) } else { self.end_transaction(end) }
            }
            ddl::Kind::XaCommit => {
                self.xa_commit(&text)?;
                self.end_transaction(end)
            }
            ddl::Kind::XaRollback => {
                self.xa_rollback(&text);
                self.end_transaction(end)
            }
            ddl::Kind::Nothing => {
                let is_open = self.transaction.as_ref().is_some_and(|it| it.begun);
                if is_open { Ok(()) } else { self.end_transaction(end) }
            }
            ddl::Kind::Other => {
                let is_open = self.transaction.as_ref().is_some_and(|it| it.begun);
                let alter = self.transaction.as_ref().and_then(|it| it.alter);
                // An ALTER that begins changes nothing yet; the text comes again when it counts.
                if !matches!(alter, Some(AlterPhase::Start | AlterPhase::Rollback)) {
                    let text = ddl::bare(self.source, query, &text);
                    self.statement(query, text, header).await?;
                }
                if is_open { Ok(()) } else { self.end_transaction(end) }
            }
        }
    }

    /// A statement that changes definitions, or rows without saying which.
    async fn statement(&mut self, query: &Query, text: &str, header: &EventHeader) -> Result<()> {
        let mut effects = ddl::effects(self.source, query, text, header);
        if let Some(unclear) = ddl::unclear(self.source, query, text) {
            effects.extend(unclear.effects(&self.link).await?);
        }
        if effects.is_empty() {
            return Ok(());
        }
        // Tables that are resynchronised do not affect the others.
        let is_whole = effects.iter().all(|it| matches!(it, Effect::Again(..)));
        if !is_whole || self.transaction.as_ref().is_none_or(|it| !it.begun) {
            // What came before it was made for the definitions so far. A definition that was changed
            // must not be changed again after a crash: its position is kept before the next change.
            self.commit()?;
        }
        self.must_keep = true;
        let event = match self.transaction.as_ref().and_then(|it| it.step.as_ref()) {
            Some(step) => format!("{step:?}"),
            None => self.read.to_string(),
        };
        for effect in effects {
            let is_old = |from: &Position| self.is_old(from);
            blocking(|| ddl::carry_out(self.source, effect, text, &event, &is_old))?;
        }
        Ok(())
    }

    /// Whether a copy that began with a position has the transaction that is being read already.
    pub(super) fn is_old(&self, from: &Position) -> bool {
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

    /// The transaction is read to its end.
    pub(super) fn end_transaction(&mut self, end: Option<Step>) -> Result<()> {
        self.origin.end();
        let Some(transaction) = self.transaction.take() else {
            return end.map_or(Ok(()), |step| self.read.advance(&step));
        };
        let end = end.or(transaction.end).filter(|_| transaction.step.is_none());
        if let Some(step) = end.or(transaction.step) {
            self.said.note(&step, &self.read);
            self.read.advance(&step)?;
        }
        self.batch.note_transaction(credible(transaction.committed, self.wall()));
        self.batch_since.get_or_insert_with(|| self.source.now());
        Ok(())
    }
}

/// Whether a place is before the one in the same file that was read to. Heartbeats of old servers have
/// the lower 32 bits of where they are.
fn is_behind(read: &Position, file: &str, place: u64) -> bool {
    matches!(read, Position::File { file: at, offset } if at == file && place < *offset)
}

/// The offset in a file, not before `offset`, of which a header has the lower 32 bits.
fn grown(offset: u64, low: u32) -> u64 {
    let end = (offset & !0xFFFF_FFFF) | u64::from(low);
    // Positions only grow within a file.
    if end < offset { end + (1 << 32) } else { end }
}

/// The change of the position by the end of a transaction.
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

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: u64 = 1 << 32;

    #[test]
    fn heartbeats_do_not_lead_back() {
        let read = |offset| Position::File { file: "bin.000007".to_owned(), offset };
        assert!(is_behind(&read(ROUND + 900), "bin.000007", 900));
        assert!(!is_behind(&read(900), "bin.000007", 900));
        assert!(!is_behind(&read(900), "bin.000008", 4));
        let gtids = "mariadb:0-1-4".parse().unwrap();
        assert!(!is_behind(&gtids, "bin.000007", 4));
    }

    #[test]
    fn positions_in_headers_begin_again_after_4_gib() {
        assert_eq!(grown(4, 126), 126);
        assert_eq!(grown(126, 126), 126);
        assert_eq!(grown(126, u32::MAX), ROUND - 1);
        assert_eq!(grown(ROUND - 1, 0), ROUND);
        assert_eq!(grown(ROUND - 1, 99), ROUND + 99);
        assert_eq!(grown(ROUND, 99), ROUND + 99);
        assert_eq!(grown(ROUND + 99, 99), ROUND + 99);
        assert_eq!(grown(ROUND + 99, 98), 2 * ROUND + 98);
        assert_eq!(grown(2 * ROUND - 5, u32::MAX), 2 * ROUND - 1);
    }
}
