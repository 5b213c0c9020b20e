//! Repair: compares rows of a live mirror that seem to differ from their table, and corrects them
//! while both sides change.
//!
//! Rows can be compared only at one position of the binlog, and neither side stops. The comparison
//! uses the same windows as loads: from the moment at which a window is opened the stream notes the
//! keys that it changes. The steps are:
//!
//! 1. a window is opened, and repair waits until the server shows everything that the copy has;
//! 2. the rows are read from the server, and then its position: the rows are not newer than that
//!    position;
//! 3. when the stream has passed that position it is paused. A row that the stream has not changed
//!    since the window was opened has not changed on the server from then to the current position
//!    of the copy. If the copy has a different row, or none, the copy is wrong, and the row that
//!    was read is correct: it is committed at once, before the stream continues.
//!
//! Rows that were changed meanwhile are compared again. So no row is ever reset to a state before
//! an event that the copy has applied, and later events find the rows that they expect.
//!
//! If foreign key actions change rows without a binlog event (`cascade`), the stream finds the
//! affected rows in the copy, and so cannot note a row that is missing there. Rows that were read
//! of such a table count only if nothing has changed in its parent tables.

mod compare;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::{Array as _, ArrayRef};
use futures::StreamExt as _;
use pelorus_binlog::Position;
use pelorus_env::{Reservation, blocking};
use pelorus_error::{Code, Error, Result};
use pelorus_link::{KeyRange, Link};
use pelorus_store::{Commit, Durability, bytes_of, taken};

use crate::apply::writes;
use crate::model::copies::CopyTable;
use crate::model::filter;
use crate::model::mirror::{Mirror, Opened, overtaken};
use crate::model::record::State;
use crate::source::reader::{filtered, joined};
use crate::source::{Source, reader};

/// How often rows that change are looked at.
const ROUNDS: usize = 20;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Groups that are looked at together, and bytes of rows that are held for that.
const GROUPS: usize = 64;
const BYTES: usize = 64 << 20;
/// How long the stream may take to reach the position of the read.
const PATIENCE: Duration = Duration::from_secs(30);

/// Rows that seem to differ, some hundred at most.
#[derive(Clone, Debug)]
pub struct Suspects {
    /// A condition of the server that is true of them; columns are names after a \u{1}, which
    /// occurs nowhere else.
    pub condition: String,
    /// Those that the copy has or may have: the columns of the primary key, in its order.
    pub keys: Vec<ArrayRef>,
}

/// How a row differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differs {
    /// The table has it, the copy has not.
    Missing,
    /// The copy has it, the table has not.
    Surplus,
    /// They have other values.
    Changed,
}

/// A row that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// How.
    pub differs: Differs,
    /// The columns of its primary key, of one row.
    pub key: Vec<ArrayRef>,
}

/// The result of comparing rows.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// Rows that differ, or did before they were corrected.
    pub differences: Vec<Difference>,
    /// Rows that changed whenever they were looked at.
    pub unsettled: usize,
    /// Why rows could not be settled other than by their own changes.
    pub hindered: Option<String>,
    /// Rows that were requested from the server.
    pub read: u64,
    /// The position at which the last of them were corrected.
    pub position: Option<String>,
}

/// Looks at rows of a live mirror, and puts them right if that is wanted.
///
/// # Errors
/// A mirror that is not live or is resynchronised meanwhile, errors of the server, and errors of
/// the store.
pub(crate) async fn examine(
    source: &Source,
    mirror: Arc<Mirror>,
    link: Link,
    suspects: Vec<Suspects>,
    repair: bool,
) -> Result<Examined> {
    let turn = mirror.turn();
    let copy = reader::copy_of(&mirror)?;
    let (found, settled) = (Examined::default(), HashSet::new());
    let mut this = Examination { source, mirror, link, copy, turn, repair, found, settled };
    let mut waiting = VecDeque::from(suspects);
    for round in 0..ROUNDS {
        if round > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let mut again = Vec::new();
        while !waiting.is_empty() {
            again.extend(this.look(&mut waiting).await?);
        }
        waiting = again.into();
        if waiting.is_empty() {
            this.found.hindered = None;
            break;
        }
    }
    this.found.unsettled = waiting.iter().map(|it| it.keys.first().map_or(0, |it| it.len())).sum();
    Ok(this.found)
}

struct Examination<'s> {
    source: &'s Source,
    mirror: Arc<Mirror>,
    link: Link,
    copy: Arc<dyn CopyTable>,
    turn: u64,
    repair: bool,
    found: Examined,
    /// Keys of rows whose state is certain.
    settled: HashSet<Vec<u8>>,
}

/// A group of suspects, and the server's rows of them.
struct Looked {
    suspects: Suspects,
    /// All columns.
    rows: Vec<ArrayRef>,
}

impl Examination<'_> {
    /// Looks at some of the groups; gives those that must be looked at again.
    async fn look(&mut self, waiting: &mut VecDeque<Suspects>) -> Result<Vec<Suspects>> {
        let opened = self.mirror.open_window();
        let above = changes_above(self.source, &self.mirror);
        // What the copy has must be in what is read.
        self.source.settle().await;
        self.wait_until_visible().await?;
        let mut looked = Vec::new();
        let mut bytes = 0;
        while looked.len() < GROUPS && bytes < BYTES {
            let Some(suspects) = waiting.pop_front() else { break };
            let rows = self.rows(&suspects.condition).await?;
            bytes += rows.iter().map(|it| it.get_array_memory_size()).sum::<usize>();
            looked.push(Looked { suspects, rows });
        }
        let end = self.link.binlog_end().await?;
        if !self.source.reach(&end, PATIENCE).await {
            let text = format!("'{}' does not catch up with its server", self.mirror.name);
            return Err(Error::new(Code::QueryInterrupted, text));
        }
        blocking(|| self.settle(looked, (&opened, above), &end))
    }

    async fn wait_until_visible(&self) -> Result<()> {
        let name = &self.mirror.name;
        reader::wait_until_visible(self.source, &self.link, name).await?;
        // The stream may have gone back for the sake of another mirror.
        let from = self.mirror.record().from;
        let Some(from) = from.and_then(|it| it.parse::<Position>().ok()) else { return Ok(()) };
        match reader::shows(&self.link, name, &from).await?.0 {
            true => Ok(()),
            false => Err(Error::new(
                Code::QueryOnForeign,
                format!("the server does not show yet what '{name}' has"),
            )),
        }
    }

    /// The rows of a condition that the copy is to have, as the server has them now.
    async fn rows(&mut self, condition: &str) -> Result<Vec<ArrayRef>> {
        let copy = self.copy.as_ref();
        let range = KeyRange::of_parts(Some(condition.to_owned()), Vec::new(), 0);
        let memory = self.source.copies().memory();
        let scan = reader::scan(&self.link, &self.mirror.name, copy, range, memory).await?;
        let empty =
            |column: &pelorus_types::Column| arrow::array::new_empty_array(&column.ty.arrow());
        let mut batches: Vec<Vec<ArrayRef>> = vec![scan.columns.iter().map(empty).collect()];
        let mut streams = futures::stream::select_all(scan.streams);
        let mut held: Vec<Reservation> = Vec::new();
        while let Some(batch) = streams.next().await {
            batches.push(batch?.columns().to_vec());
            held.extend(batches.last().map(|columns| memory.hold(bytes_of(columns))));
        }
        let columns = filter::all_columns(copy.columns(), joined(&batches)?);
        let count = columns.first().map_or(0, |column| column.len());
        self.found.read += count as u64;
        match copy.wanted(count, &columns)? {
            Some(wanted) => filtered(&columns, &wanted),
            None => Ok(columns),
        }
    }

    /// Compares the rows that were read with the copy, which shows one position now, and corrects
    /// the rows whose state is certain. Returns the rows that must be compared again.
    fn settle(
        &mut self,
        looked: Vec<Looked>,
        (opened, above): (&Opened, u64),
        end: &Position,
    ) -> Result<Vec<Suspects>> {
        let again = |looked: Vec<Looked>| Ok(looked.into_iter().map(|it| it.suspects).collect());
        let mirror = Arc::clone(&self.mirror);
        let _held = self.source.hold();
        // A statement may be changing the copy's definition.
        let Some(window) = mirror.try_window() else { return again(looked) };
        let is_same = mirror.turn() == self.turn && mirror.follows_in(&self.copy);
        if !is_same || mirror.state() != State::Live {
            return Err(overtaken());
        }
        let position = self.source.position();
        if position.as_ref().is_none_or(|at| at.has_passed(end) != Some(true)) {
            return again(looked);
        }
        self.found.hindered = (above != changes_above(self.source, &mirror)).then(|| {
            "rows that its foreign keys refer to changed whenever it was looked at".to_owned()
        });
        let store = self.source.store();
        let table = store.snapshot().table(self.copy.id())?;
        let (mut writes, mut rest) = (Vec::new(), Vec::new());
        for looked in looked {
            let (keys, all) = self.keys(&looked)?;
            let candidates = self.compare(&looked, &keys, &all, &table)?;
            let stays = window.untouched(&keys, opened);
            let stays = |place: u32| stays.as_ref().is_none_or(|it| it[place as usize]);
            let (mut puts, mut gone, mut unclear) = (Vec::new(), Vec::new(), Vec::new());
            for it in candidates {
                let key = keys.get(it.place as usize);
                if self.settled.contains(key) {
                    continue;
                }
                let Some(differs) = it.state else {
                    self.settled.insert(key.to_vec());
                    continue;
                };
                if !stays(it.place) || self.found.hindered.is_some() {
                    unclear.push(it.place);
                    continue;
                }
                self.settled.insert(key.to_vec());
                match it.there {
                    Some(row) => puts.push(row),
                    None => gone.push(it.place),
                }
                let place = it.place as usize;
                let key = self.copy.key().iter().map(|&at| all[at].slice(place, 1)).collect();
                self.found.differences.push(Difference { differs, key });
            }
            if self.repair {
                let (copy, count) = (self.copy.as_ref(), gone.len());
                writes::put(copy, &taken(&looked.rows, &puts.into())?, &mut writes)?;
                writes::remove(copy, &taken(&all, &gone.into())?, count, &mut writes)?;
            }
            if !unclear.is_empty() {
                rest.push(self.suspects(looked.suspects, &all, unclear)?);
            }
        }
        if !writes.is_empty() {
            let commit = Commit {
                writes,
                made_for: vec![(self.copy.id(), self.copy.generation())],
                durability: Durability::Synced,
                ..Commit::default()
            };
            store.commit(&commit)?;
            self.found.position = position.map(|it| it.to_string());
        }
        Ok(rest)
    }
}

/// How many changes the stream has made in the tables from which foreign keys lead to a mirror.
fn changes_above(source: &Source, mirror: &Arc<Mirror>) -> u64 {
    let mut above: Vec<Arc<Mirror>> = Vec::new();
    let mut todo = vec![Arc::clone(mirror)];
    while let Some(child) = todo.pop() {
        for key in child.foreign_keys().iter() {
            let Some(parent) = source.mirror(&key.database, &key.table) else { continue };
            if !above.iter().any(|it| Arc::ptr_eq(it, &parent)) {
                above.push(Arc::clone(&parent));
                todo.push(parent);
            }
        }
    }
    // Ordering: counted under the lock that this is asked under at the end.
    above.iter().map(|it| it.changes.load(Ordering::Relaxed)).sum()
}
