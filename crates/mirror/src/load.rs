//! Reading a table for the first time, range by range, while its changes are applied.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, BooleanArray};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use pelorus_error::{Code, Error, Result};
use pelorus_link::split::quote_name;
use pelorus_link::{Fragment, KeyRange, Link, RemoteTable, ScanRequest, SessionSettings};
use pelorus_sql::statement::MirrorFilter;
use pelorus_sql::table::{ColumnDefinition, Reference, ReferenceAction, TableStatement};
use pelorus_store::{Commit, Durability, Mode, Write};

use crate::batch::blocking;
use crate::cascade::{self, ForeignKey};
use crate::charsets;
use crate::copies::{CopyColumn, CopyTable, Definition};
use crate::filter;
use crate::mirror::{Mirror, Opened, overtaken};
use crate::record::{RangeRecord, State};
use crate::source::Source;

/// Rows that a range should have: a few seconds of reading, so that little is lost by a restart.
const RANGE_ROWS: u64 = 250_000;
/// Most ranges of a table.
const RANGES_MAX: u64 = 4096;
/// Ranges of one table that are read at the same time.
const READERS: usize = 2;
/// Rows of one commit.
const COMMIT_ROWS: usize = 32_768;
/// How long the server may take to show what its binlog has already.
const VISIBLE_WITHIN: Duration = Duration::from_secs(60);
/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// Whether an error only says that somebody else has taken over.
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

/// Brings a mirror from its beginning to the point where only changes are missing.
///
/// # Errors
/// Failures of the server or of the disk, after which it is tried again where it was, and what
/// cannot be mirrored (`Code::NotSupportedYet` and what defining the copy gives).
pub(crate) async fn load(source: Arc<Source>, mirror: Arc<Mirror>, link: Link) -> Result<()> {
    let turn = mirror.turn();
    let load = Load { source, mirror, link, turn };
    let is_begun = load.mirror.state() == State::Loading && load.mirror.record().settled;
    if !is_begun || load.mirror.copy().is_none() {
        load.begin().await?;
    }
    let mut is_whole = false;
    while !is_whole {
        load.read_ranges().await?;
        let until = load.link.binlog_end().await?;
        is_whole = load.mirror.end_reading(load.source.store(), turn, &until)?;
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
        // In this order: what the definition and all ranges show is not older than the position.
        let position = {
            let tables = [(name.database.clone(), name.table.clone())];
            self.link.binlog_position(&tables).await?
        };
        self.link.forget();
        let there = check(&self.link, &name.database, &name.table).await?;
        let record = self.mirror.record();
        if record.filter.is_some() && !there.keys.is_empty() {
            return Err(cascade::in_part(name));
        }
        cascade::check_parents(&self.source, (&name.database, &name.table), &there.keys)?;
        let filter = record.filter.as_deref().map(MirrorFilter::parse).transpose()?;
        let definition = there.definition(record.layout, filter.unwrap_or_default());
        let Mirrorable { table, text, keys, .. } = there;
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
            record.changing = None;
            record.foreign_keys = keys;
        })?;
        self.source.forget_referrers();
        self.settle(&text).await?;
        tracing::info!(mirror = %name, link = name.link, how = split.how, "a table is being mirrored");
        Ok(())
    }

    /// Sees that what foreign keys refer to can be compared with what they have.
    fn check_keys(&self, keys: &[ForeignKey], copy: &Arc<dyn CopyTable>) -> Result<()> {
        let own = &self.mirror.name;
        for key in keys {
            let parent = match key.refers_to(&own.database, &own.table) {
                true => Some(Arc::clone(copy)),
                false => self.source.mirror(&key.database, &key.table).and_then(|it| it.copy()),
            };
            if let Some(parent) = parent {
                cascade::check_types(key, copy.as_ref(), parent.as_ref())?;
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
        let now = definition(&self.link, &name.database, &name.table).await?;
        if without_counter(&now) != without_counter(text) {
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
        let copy = self.mirror.copy().ok_or_else(|| Error::internal("a mirror without a copy"))?;
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
        let kept: Vec<&CopyColumn> = copy.columns().iter().filter(|it| !it.left_out).collect();
        let columns: Vec<String> = kept.iter().map(|it| quote_name(&it.name)).collect();
        let condition = copy.pushed().map_or_else(String::new, |it| format!("({it}) AND "));
        let table = (name.database.clone(), name.table.clone());
        let request = ScanRequest {
            settings: SessionSettings::as_stored(),
            fragment: Fragment {
                parts: [
                    format!(
                        "SELECT {} FROM {}.{}",
                        columns.join(", "),
                        quote_name(&name.database),
                        quote_name(&name.table)
                    ),
                    format!(" AS `t` WHERE {condition}"),
                    String::new(),
                ],
            },
            ranges: vec![key_range(range)],
            qualifier: "t".to_owned(),
            tables: vec![table],
            cut: None,
            streams: 1,
            buffer_whole_range: false,
            expected: Vec::new(),
        };
        let scan = self.link.scan(request).await?;
        let fits = scan.columns.len() == kept.len()
            && scan.columns.iter().zip(&kept).all(|(a, b)| a.ty.arrow() == b.ty.arrow());
        if !fits {
            return Err(Error::new(
                Code::TableChanged,
                format!("the columns of '{name}' are not those of its copy"),
            ));
        }
        let mut streams = futures::stream::select_all(scan.streams);
        let mut pending: Vec<Vec<ArrayRef>> = Vec::new();
        let (mut waiting, mut total) = (0, 0);
        while let Some(batch) = streams.next().await {
            let batch = batch?;
            waiting += batch.num_rows();
            pending.push(batch.columns().to_vec());
            if waiting >= COMMIT_ROWS {
                total += self.put(copy, &std::mem::take(&mut pending), opened)?;
                waiting = 0;
            }
        }
        if waiting > 0 {
            total += self.put(copy, &pending, opened)?;
        }
        Ok(total)
    }

    /// Waits until snapshots show all that the stream has been applied up to: an event can be in the
    /// binlog a moment before others see what it did.
    async fn wait_until_visible(&self) -> Result<()> {
        let name = &self.mirror.name;
        let tables = [(name.database.clone(), name.table.clone())];
        let begun = self.source.env().clock.monotonic();
        while let Some(applied) = self.source.position() {
            let visible = self.link.binlog_position(&tables).await?;
            if visible.has_passed(&applied) == Some(true) {
                break;
            }
            let waited = self.source.env().clock.monotonic().saturating_sub(begun);
            if waited > VISIBLE_WITHIN {
                let text = format!("the server is at {visible}, the stream at {applied}");
                return Err(Error::new(Code::QueryOnForeign, text));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(())
    }

    /// Commits rows that were read; gives how many of them the copy is to have.
    fn put(
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
        let columns = window.without_gone(copy.as_ref(), columns)?;
        let count = |columns: &[ArrayRef]| columns.first().map_or(0, |column| column.len());
        let all = count(&columns);
        let columns = match copy.wanted(all, &columns)? {
            Some(wanted) => filtered(&columns, &wanted)?,
            None => columns,
        };
        let left = count(&columns);
        let writes = copy.split(&columns)?.into_iter().map(|(partition, places)| {
            let columns = match places.len() == left {
                true => columns.clone(),
                false => crate::batch::taken(&columns, &places)?,
            };
            Ok(Write::Put { table: copy.id(), partition, columns, mode: Mode::Replace })
        });
        let commit = Commit {
            writes: writes.collect::<Result<_>>()?,
            made_for: vec![(copy.id(), copy.generation())],
            durability: Durability::Soon,
            ..Commit::default()
        };
        blocking(|| self.source.store().commit(&commit))?;
        drop(window);
        Ok((rows - (all - left)) as u64)
    }
}

/// A table that can be mirrored.
#[derive(Debug)]
pub struct Mirrorable {
    /// What the link knows of it.
    pub table: Arc<RemoteTable>,
    /// `SHOW CREATE TABLE` as the server writes it in universal time.
    pub text: String,
    /// The collations of the text columns, and of the table by an empty name.
    pub collations: Vec<(String, String)>,
    /// Foreign keys that change its rows without the binlog's having it.
    pub keys: Vec<ForeignKey>,
}

impl Mirrorable {
    /// The definition of its copy, laid out and with the part of it that the user wants.
    pub fn definition(&self, layout: Option<String>, filter: MirrorFilter) -> Definition {
        let (text, collations) = (self.text.clone(), self.collations.clone());
        Definition { text, collations, layout, filter }
    }

    /// The other tables that must be mirrored for it to be: database and name.
    pub fn parents(&self, database: &str) -> Vec<(String, String)> {
        let there = self.keys.iter().filter(|key| !key.refers_to(database, &self.table.name));
        there.map(|key| (key.database.clone(), key.table.clone())).collect()
    }
}

/// Looks whether a table can be mirrored. Its database is given by the server's name.
///
/// # Errors
/// The first thing that keeps it from being mirrored, with what to do about it.
pub async fn check(link: &Link, database: &str, table: &str) -> Result<Mirrorable> {
    let name = format!("'{database}.{table}'");
    let local = link.local_database(database).ok_or_else(|| {
        let text = format!("database '{database}' is not among those of server '{}'", link.name());
        Error::new(Code::UnknownDatabase, text)
    })?;
    let found = link.table(&local, table).await?.ok_or_else(|| {
        Error::new(Code::NoSuchTable, format!("Table {name} doesn't exist on its server"))
    })?;
    if found.is_view {
        return Err(Error::unsupported(format_args!("mirrors of {name}, which is a view")));
    }
    if !found.keys.iter().any(|key| key.name == "PRIMARY") {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, which has no primary key: its rows could not be told apart; add one \
             (ALTER TABLE ... ADD COLUMN id BIGINT AUTO_INCREMENT PRIMARY KEY)"
        )));
    }
    if !found.has_snapshots() {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, whose engine {} shows no snapshot while others write; use InnoDB",
            found.engine
        )));
    }
    let facts = link.source_facts().await?;
    if !facts.logs(database) {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, which the server leaves out of its binlog (binlog_do_db, \
             binlog_ignore_db)"
        )));
    }
    let text = definition(link, database, &found.name).await?;
    let collations = charsets::of_table(link, &local, &found.name).await?;
    charsets::check(link, &name, &collations).await?;
    if facts.is_mariadb
        && facts.binlog_row_image == "MINIMAL"
        && let Some(column) = virtual_column(&text)
    {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, whose generated column '{column}' is VIRTUAL: this server leaves it \
             out of its binlog under binlog_row_image = MINIMAL; make it STORED, or SET GLOBAL \
             binlog_row_image = FULL and reconnect the clients"
        )));
    }
    let keys = match logs_cascades(link).await? {
        true => Vec::new(),
        false => foreign_keys(database, &text)?,
    };
    Ok(Mirrorable { table: found, text, collations, keys })
}

/// The foreign keys of a definition that change its table's rows.
fn foreign_keys(database: &str, text: &str) -> Result<Vec<ForeignKey>> {
    match pelorus_sql::table::parse(text, pelorus_sql::Mode::default())? {
        TableStatement::Create(definition) => cascade::foreign_keys(database, &definition),
        _ => Ok(Vec::new()),
    }
}

/// The first column that is computed whenever it is read.
fn virtual_column(text: &str) -> Option<String> {
    let statement = pelorus_sql::table::parse(text, pelorus_sql::Mode::default()).ok()?;
    let TableStatement::Create(definition) = statement else { return None };
    let is_virtual = |column: &&ColumnDefinition| {
        column.generated.as_ref().is_some_and(|generated| !generated.stored)
    };
    definition.columns.iter().find(is_virtual).map(|column| column.name.clone())
}

async fn definition(link: &Link, database: &str, table: &str) -> Result<String> {
    let sql = format!("SHOW CREATE TABLE {}.{}", quote_name(database), quote_name(table));
    let rows = link.ask(&SessionSettings::as_stored(), &sql).await?;
    let text = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    text.filter(|text| text.starts_with("CREATE TABLE")).ok_or_else(|| {
        Error::unsupported(format_args!("mirrors of '{database}.{table}', which is no plain table"))
    })
}

/// A definition without the next number that it would give, which changes with rows.
fn without_counter(text: &str) -> String {
    const WORD: &str = " AUTO_INCREMENT=";
    match text.rsplit_once(WORD) {
        Some((before, behind)) => {
            format!("{before}{}", behind.trim_start_matches(|it: char| it.is_ascii_digit()))
        }
        None => text.to_owned(),
    }
}

/// Whether rows of the table with the foreign key change with those that it refers to.
pub(crate) fn cascades(there: &Reference) -> bool {
    use ReferenceAction::{Cascade, SetNull};
    let changes = |action: &Option<ReferenceAction>| matches!(action, Some(Cascade | SetNull));
    changes(&there.on_delete) || changes(&there.on_update)
}

/// Whether the server's binlog has what foreign keys change. MySQL does so where its InnoDB leaves
/// foreign keys to the server (from 9.6 on, unless `innodb_native_foreign_keys` is on).
pub(crate) async fn logs_cascades(link: &Link) -> Result<bool> {
    let ask = "SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'";
    let rows = link.ask(&SessionSettings::as_stored(), ask).await?;
    Ok(rows.first().and_then(|row| row.get(1)).cloned().flatten().as_deref() == Some("OFF"))
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

fn joined(batches: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>> {
    let Some(first) = batches.first() else { return Ok(Vec::new()) };
    if batches.len() == 1 {
        return Ok(first.clone());
    }
    let column = |at: usize| {
        let parts: Vec<&dyn arrow::array::Array> =
            batches.iter().filter_map(|batch| batch.get(at)).map(AsRef::as_ref).collect();
        arrow::compute::concat(&parts).map_err(cannot)
    };
    (0..first.len()).map(column).collect()
}

fn filtered(columns: &[ArrayRef], keep: &BooleanArray) -> Result<Vec<ArrayRef>> {
    columns.iter().map(|it| arrow::compute::filter(it, keep).map_err(cannot)).collect()
}

fn cannot(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows that were read cannot be put together").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_no_part_of_definitions() {
        assert_eq!(
            without_counter(
                "CREATE TABLE `t` (`a` int) ENGINE=InnoDB AUTO_INCREMENT=17 COMMENT='x'"
            ),
            "CREATE TABLE `t` (`a` int) ENGINE=InnoDB COMMENT='x'"
        );
        assert_eq!(without_counter("CREATE TABLE `t`"), "CREATE TABLE `t`");
    }
}
