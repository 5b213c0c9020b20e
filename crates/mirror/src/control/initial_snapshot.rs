//! The initial snapshot: reads a table range by range while its changes are applied.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use pelorus_env::{Reservation, blocking};
use pelorus_error::{Code, Error, Result};
use pelorus_link::{KeyRange, Link};
use pelorus_sql::statement::MirrorFilter;
use pelorus_store::{Commit, Durability, bytes_of};

use crate::apply::foreign_key_actions;
use crate::control::eligibility;
use crate::control::eligibility::Mirrorable;
use crate::model::copies::CopyTable;
use crate::model::filter;
use crate::model::foreign_key::ForeignKey;
use crate::model::mirror::{Mirror, Opened, overtaken};
use crate::model::record::{RangeRecord, State};
use crate::source::reader::{filtered, joined};
use crate::source::{Source, reader};

/// Rows that a range should have: a few seconds of reading, so that little is lost by a restart.
const RANGE_ROWS: u64 = 250_000;
/// Most ranges of a table.
const RANGES_MAX: u64 = 4096;
/// Ranges of one table that are read at the same time.
const READERS: usize = 2;
/// Rows of one commit, and bytes.
const COMMIT_ROWS: usize = 32_768;
const COMMIT_BYTES: usize = 32 << 20;

/// Whether an error only says that another task has taken over.
pub(crate) fn is_overtaken(error: &Error) -> bool {
    error.code() == Code::QueryInterrupted
}

/// One load of one mirror.
struct Load {
    source: Arc<Source>,
    mirror: Arc<Mirror>,
    link: Link,
    turn: u64,
}

/// Loads a mirror from its beginning to the point where only changes are missing, as long as its
/// generation is that one.
///
/// # Errors
/// Failures of the server or of the disk, after which the load is retried where it was, and tables
/// that cannot be mirrored (`Code::NotSupportedYet` and errors of defining the copy).
pub(crate) async fn load(
    source: Arc<Source>,
    mirror: Arc<Mirror>,
    link: Link,
    turn: u64,
) -> Result<()> {
    let load = Load { source, mirror, link, turn };
    load.check_turn()?;
    let is_begun = load.mirror.state() == State::Loading && load.mirror.record().settled;
    if !is_begun && load.mirror.state().follows() {
        // The process was killed before that was certain. The stream must not continue with a copy
        // that is created again under it.
        let reason = load.mirror.record().reason;
        load.mirror.begin_again_in_turn(load.source.store(), turn, reason)?;
        return Err(overtaken());
    }
    if !is_begun || load.mirror.copy().is_none() {
        load.begin().await?;
    }
    load.gather()?;
    let mut is_whole = false;
    while !is_whole {
        load.read_ranges().await?;
        let asked = load.source.env().clock.monotonic();
        let until = load.link.binlog_end().await?;
        // Where `gtid_mode` has changed meanwhile the stream must begin again to find it out.
        load.source.note_end(Some(until.clone()));
        is_whole = load.mirror.end_reading(load.source.store(), turn, (&until, asked))?;
    }
    load.source.wake();
    // Not before: while it takes its time, rows would change that must be read again.
    load.analyze()
}

impl Load {
    fn check_turn(&self) -> Result<()> {
        if self.mirror.turn() == self.turn { Ok(()) } else { Err(overtaken()) }
    }

    /// Makes the copy and says which ranges are to be read.
    async fn begin(&self) -> Result<()> {
        let name = &self.mirror.name;
        // The stream may have met a table that the server does not show yet.
        self.source.settle().await;
        self.wait_until_visible().await?;
        // In this order: what the definition and all ranges show is not older than the position.
        let position = {
            let tables = [(name.database.clone(), name.table.clone())];
            self.link.binlog_position(&tables).await?
        };
        self.link.forget();
        let there = eligibility::check(&self.link, &name.database, &name.table).await?;
        let record = self.mirror.record();
        let filter = record.filter.as_deref().map(MirrorFilter::parse).transpose()?;
        let definition = there.definition(record.layout, filter.unwrap_or_default());
        let Mirrorable { table, text, keys, refers_to, .. } = there;
        if record.filter.is_some() && !keys.is_empty() {
            return Err(foreign_key_actions::in_part(name));
        }
        if record.foreign_keys != keys {
            // Those of a circle wait until they know of each other's keys.
            let keys = keys.clone();
            let store = self.source.store();
            self.mirror.update_in_turn(store, self.turn, |record| record.foreign_keys = keys)?;
            self.source.forget_referrers();
        }
        foreign_key_actions::check_parents(self.source.as_ref(), &self.mirror, &keys)?;
        let in_circle =
            !foreign_key_actions::others_of_circle(self.source.as_ref(), &self.mirror).is_empty();
        let wanted = table.rows.div_ceil(RANGE_ROWS).clamp(1, RANGES_MAX);
        let split = self.link.split(&table, None, usize::try_from(wanted).unwrap_or(1)).await?;
        self.check_turn()?;
        let copy = blocking(|| self.source.copies().create(name, &definition))?;
        self.check_turn()?;
        self.check_keys(&keys, &copy)?;
        self.mirror.set_copy(copy);
        let ranges: Vec<RangeRecord> = split.ranges.iter().map(range_record).collect();
        let from = position.to_string();
        self.source.begin_at(&position)?;
        self.mirror.update_in_turn(self.source.store(), self.turn, |record| {
            record.state = State::Loading;
            record.from = Some(from);
            record.until = None;
            record.ranges = ranges;
            record.rows_loaded = 0;
            record.loads += 1;
            record.early = true;
            record.settled = false;
            record.gathering = in_circle;
            record.cascaded = false;
            record.changing = None;
            record.foreign_keys = keys;
            record.refers_to = refers_to;
        })?;
        self.source.forget_referrers();
        self.settle(&text).await?;
        tracing::info!(mirror = %name, link = name.link, how = split.how, "a table is being mirrored");
        Ok(())
    }

    /// Goes on when all others of its circle of foreign keys are followed. What they did before to
    /// rows of this table was not seen: its copy is emptied, and read from here on.
    fn gather(&self) -> Result<()> {
        if !self.mirror.record().gathering {
            return Ok(());
        }
        let name = &self.mirror.name;
        let others = foreign_key_actions::others_of_circle(self.source.as_ref(), &self.mirror);
        if let Some(other) = others.iter().find(|it| !it.state().follows()) {
            let text = format!(
                "foreign keys lead from '{}' to it and back, and that is {}",
                other.name,
                other.state().word()
            );
            return Err(Error::new(Code::QueryOnForeign, text));
        }
        let _held = self.source.hold();
        let Some(position) = self.source.position() else { return Err(overtaken()) };
        blocking(|| {
            let _window = self.mirror.window();
            self.check_turn()?;
            self.mirror.set_copy(self.source.copies().empty(name)?);
            Ok::<_, Error>(())
        })?;
        self.mirror.update_in_turn(self.source.store(), self.turn, |record| {
            record.gathering = false;
            record.cascaded = false;
            record.from = Some(position.to_string());
        })
    }

    /// Checks that the values of foreign keys can be compared with the referenced ones.
    fn check_keys(&self, keys: &[ForeignKey], copy: &Arc<dyn CopyTable>) -> Result<()> {
        let own = &self.mirror.name;
        for key in keys {
            let parent = match key.refers_to(&own.database, &own.table) {
                true => Some(Arc::clone(copy)),
                false => self.source.mirror(&key.database, &key.table).and_then(|it| it.copy()),
            };
            if let Some(parent) = parent {
                foreign_key_actions::check_types(key, copy.as_ref(), parent.as_ref())?;
            }
        }
        Ok(())
    }

    /// Sees that the definition is still the one that was read: until the copy was there the
    /// stream has passed over what came for this table, statements that change it included.
    async fn settle(&self, text: &str) -> Result<()> {
        self.source.settle().await;
        self.wait_until_visible().await?;
        let name = &self.mirror.name;
        let now = eligibility::definition(&self.link, &name.database, &name.table).await?;
        if eligibility::without_counter(&now) != eligibility::without_counter(text) {
            return Err(Error::new(
                Code::TableChanged,
                format!("the definition of '{name}' changed when its mirror began"),
            ));
        }
        let store = self.source.store();
        self.mirror.update_in_turn(store, self.turn, |record| record.settled = true)
    }

    /// Reads all ranges that are not in the copy yet.
    async fn read_ranges(&self) -> Result<()> {
        let copy = reader::copy_of(&self.mirror)?;
        let record = self.mirror.record();
        let todo = (0..).zip(&record.ranges).filter(|(_, range)| !range.done);
        let mut todo: Vec<(usize, RangeRecord)> = todo.map(|(at, it)| (at, it.clone())).collect();
        todo.reverse();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < READERS
                && let Some((at, range)) = todo.pop()
            {
                running.push(self.read_range(at, range, Arc::clone(&copy)));
            }
            match running.next().await {
                Some(done) => done?,
                None => return Ok(()),
            }
        }
    }

    /// Statistics are worth having, and no reason to do without the mirror.
    fn analyze(&self) -> Result<()> {
        self.check_turn()?;
        let name = &self.mirror.name;
        if let Err(error) = blocking(|| self.source.copies().analyze(name)) {
            tracing::warn!(mirror = %name, %error, "a mirror has no statistics");
        }
        Ok(())
    }

    async fn read_range(
        &self,
        at: usize,
        range: RangeRecord,
        copy: Arc<dyn CopyTable>,
    ) -> Result<()> {
        let _permit = self.source.loading_permit().await;
        self.check_turn()?;
        let opened = self.mirror.open_window();
        let rows = self.read_once(&range, &copy, &opened).await?;
        self.mirror.update_in_turn(self.source.store(), self.turn, |record| {
            record.rows_loaded += rows;
            if let Some(range) = record.ranges.get_mut(at) {
                range.done = true;
            }
        })
    }

    /// Puts the rows of a range into the copy, those aside that the stream has changed meanwhile.
    async fn read_once(
        &self,
        range: &RangeRecord,
        copy: &Arc<dyn CopyTable>,
        opened: &Opened,
    ) -> Result<u64> {
        // What the stream has passed over, or has applied without the window's notice, must be in
        // what is read.
        self.source.settle().await;
        self.wait_until_visible().await?;
        let name = &self.mirror.name;
        let memory = self.source.copies().memory();
        let scan = reader::scan(&self.link, name, copy.as_ref(), key_range(range), memory).await?;
        let mut streams = futures::stream::select_all(scan.streams);
        let mut pending: Vec<Vec<ArrayRef>> = Vec::new();
        let mut held: Vec<Reservation> = Vec::new();
        let (mut waiting, mut bytes, mut total) = (0, 0, 0);
        while let Some(batch) = streams.next().await {
            let batch = batch?;
            waiting += batch.num_rows();
            bytes += bytes_of(batch.columns());
            // A copy goes on whatever the limits say.
            held.push(memory.hold(bytes_of(batch.columns())));
            pending.push(batch.columns().to_vec());
            if waiting >= COMMIT_ROWS || bytes >= COMMIT_BYTES {
                total += self.put(copy, &std::mem::take(&mut pending), opened)?;
                held.clear();
                (waiting, bytes) = (0, 0);
            }
        }
        if waiting > 0 {
            total += self.put(copy, &pending, opened)?;
        }
        Ok(total)
    }

    async fn wait_until_visible(&self) -> Result<()> {
        reader::wait_until_visible(&self.source, &self.link, &self.mirror.name).await
    }

    /// Commits rows that were read; gives how many of them the copy is to have.
    fn put(
        &self,
        copy: &Arc<dyn CopyTable>,
        batches: &[Vec<ArrayRef>],
        opened: &Opened,
    ) -> Result<u64> {
        // The stream may have the window while it waits for room in the store.
        blocking(|| self.put_rows(copy, batches, opened))
    }

    fn put_rows(
        &self,
        copy: &Arc<dyn CopyTable>,
        batches: &[Vec<ArrayRef>],
        opened: &Opened,
    ) -> Result<u64> {
        let columns = filter::all_columns(copy.columns(), joined(batches)?);
        let rows = columns.first().map_or(0, |column| column.len());
        let keys = copy.keys(rows, &columns)?;
        let window = self.mirror.window();
        self.check_turn()?;
        let columns = window.fold(&keys, columns)?;
        let columns = match window.untouched(&keys, opened) {
            Some(keep) => filtered(&columns, &BooleanArray::from(keep))?,
            None => columns,
        };
        let columns = window.without_gone(copy.as_ref(), columns, opened)?;
        let count = |columns: &[ArrayRef]| columns.first().map_or(0, |column| column.len());
        let all = count(&columns);
        let columns = match copy.wanted(all, &columns)? {
            Some(wanted) => filtered(&columns, &wanted)?,
            None => columns,
        };
        let left = count(&columns);
        let mut writes = Vec::new();
        crate::apply::writes::put(copy.as_ref(), &columns, &mut writes)?;
        let commit = Commit {
            writes,
            made_for: vec![(copy.id(), copy.generation())],
            durability: Durability::Async,
            ..Commit::default()
        };
        self.source.store().commit(&commit)?;
        drop(window);
        Ok((rows - (all - left)) as u64)
    }
}

fn range_record(range: &KeyRange) -> RangeRecord {
    let (condition, partitions) = range.parts();
    RangeRecord {
        condition: condition.map(str::to_owned),
        partitions: partitions.to_vec(),
        rows: range.est_rows(),
        done: false,
    }
}

fn key_range(range: &RangeRecord) -> KeyRange {
    KeyRange::of_parts(range.condition.clone(), range.partitions.clone(), range.rows)
}
