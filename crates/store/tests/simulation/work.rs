//! What writers, readers and whoever makes checkpoints do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_env::sync::switching::below;
use pelorus_env::{Tear, rare};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Durability, Mode, Snapshot, TableId};

use crate::found::{added, rows};
use crate::harness::{remove, row};
use crate::history::Read;
use crate::model::{Change, Seen};
use crate::plan::Dice;
use crate::rows::{self, Key, Row};
use crate::world::{PARTITIONS, World};

/// Errors that a commit may meet in good order.
const REFUSALS: [Code; 3] = [Code::Deadlock, Code::TableChanged, Code::LockWaitTimeout];

impl World {
    /// A thread that commits.
    pub(crate) fn write(&self, who: u64) {
        let mut dice = Dice::new(self.seed, who);
        for _ in 0..self.plan.commits {
            self.pass(&mut dice);
            let result = match dice.below(10) {
                0..5 => self.transfer(who, &mut dice),
                5..8 => self.put(who, &mut dice),
                _ => self.remove(who, &mut dice),
            };
            match result {
                Err(error) if error.code() == Code::TableFailed => return self.forgive(&error),
                Err(error) if !REFUSALS.contains(&error.code()) => self.forgive(&error),
                _ => {}
            }
        }
    }

    /// An error that there is no reason for is a bug.
    pub(crate) fn forgive(&self, error: &Error) {
        assert!(self.plan.trouble.is_felt(), "{}", pelorus_error::display_chain(error));
    }

    /// Makes a commit of changes; rows get values in the columns that were added.
    pub(crate) fn commit_of(
        &self,
        changes: &mut [Change],
        snapshot: Option<u64>,
        soon: bool,
    ) -> Result<Commit> {
        let durability = if soon { Durability::Async } else { Durability::Synced };
        let mut commit = Commit { snapshot, durability, ..Commit::default() };
        for change in changes {
            match change {
                Change::Put { table, mode, rows } => {
                    let Some(now) = self.database.table(*table) else {
                        return Err(Error::new(Code::TableChanged, "it is gone"));
                    };
                    let schema = now.schema();
                    let ids: Vec<u32> = schema.columns.iter().map(|column| column.id).collect();
                    for (_, row) in rows.iter_mut() {
                        let value = |id: u32| (row.v % 5 != 0).then_some(row.v + i64::from(id));
                        let ids = ids.iter().filter(|id| **id > 3);
                        row.added = ids.map(|id| (*id, value(*id))).collect();
                    }
                    commit.writes.push(rows::put(*table, &schema, rows, *mode));
                }
                Change::Remove { table, keys } => commit.writes.push(remove(*table, keys)),
                Change::Value { key, value } => {
                    commit.values.push((key.clone(), Some(value.clone())));
                }
                other => panic!("{other:?} is no change of rows"),
            }
        }
        Ok(commit)
    }

    fn is_soon(&self, dice: &mut Dice) -> bool {
        self.plan.soon && dice.once_in(2)
    }

    pub(crate) fn row(&self) -> Row {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (v, t) = row(i64::try_from(number).unwrap());
        Row { v, t, added: BTreeMap::new() }
    }

    fn rows(&self, p: i64, dice: &mut Dice) -> Vec<(Key, Row)> {
        let (most, step) = (1 + dice.number(self.plan.keys), 1 + dice.number(3));
        let first = dice.number(self.plan.keys);
        let keys = (first..self.plan.keys).step_by(usize::try_from(step).unwrap());
        keys.take(usize::try_from(most).unwrap()).map(|k| ((p, k), self.row())).collect()
    }

    fn put(&self, who: u64, dice: &mut Dice) -> Result<()> {
        let rows = self.rows(dice.number(PARTITIONS), dice);
        let mode = dice.pick(&[Mode::Insert, Mode::Ignore, Mode::Replace, Mode::Replace]);
        let put = Change::Put { table: self.churn, mode, rows };
        let soon = self.is_soon(dice);
        match self.commit(who, vec![put], None, soon) {
            Err(error) if mode == Mode::Insert && error.code() == Code::DuplicateKey => {
                rare("a key is inserted twice");
                Ok(())
            }
            result => result.map(|_| ()),
        }
    }

    fn remove(&self, who: u64, dice: &mut Dice) -> Result<()> {
        let p = dice.number(PARTITIONS);
        let keys = self.rows(p, dice).into_iter().map(|(key, _)| key).collect();
        let soon = self.is_soon(dice);
        self.commit(who, vec![Change::Remove { table: self.churn, keys }], None, soon).map(|_| ())
    }

    /// Moves money between two accounts, and tries again when another writer was faster.
    fn transfer(&self, who: u64, dice: &mut Dice) -> Result<()> {
        let mut account =
            || (dice.pick(&self.bank), dice.number(PARTITIONS), dice.number(self.plan.keys));
        let (from, to) = (account(), account());
        let (share, soon) = (dice.below(4), self.is_soon(dice));
        for attempt in 0..3 {
            let snapshot = self.database.snapshot();
            let balance = |(table, p, k)| self.look_up(&snapshot, table, (p, k));
            let Some(money) = balance(from)?.filter(|_| from != to) else { return Ok(()) };
            let there = balance(to)?.unwrap_or(0);
            let amount = if share == 0 { money } else { (money / 3).max(1) };
            let changes = [(from, money - amount), (to, there + amount)];
            let mut changes: Vec<Change> = changes.map(|it| self.set(it.0, it.1)).into();
            if dice.once_in(3) {
                let rows = vec![((from.1, from.2), self.row())];
                changes.push(Change::Put { table: self.churn, mode: Mode::Replace, rows });
            }
            match self.commit(who, changes, Some(snapshot.version()), soon) {
                Err(error) if error.code() == Code::Deadlock && attempt < 2 => {
                    rare("a conflict is tried again");
                }
                result => return result.map(|_| ()),
            }
        }
        Ok(())
    }

    /// An account without money is closed.
    fn set(&self, (table, p, k): (TableId, i64, i64), money: i64) -> Change {
        if money == 0 {
            return Change::Remove { table, keys: vec![(p, k)] };
        }
        let row = Row { v: money, t: None, added: BTreeMap::new() };
        Change::Put { table, mode: Mode::Replace, rows: vec![((p, k), row)] }
    }

    /// `v` of a row by its key.
    fn look_up(&self, snapshot: &Snapshot, table: TableId, key: Key) -> Result<Option<i64>> {
        let seen = snapshot.table(table)?;
        let v = seen.schema().position(2).unwrap();
        let columns = [key.0, key.1].map(|it| Arc::new(Int64Array::from(vec![it])) as ArrayRef);
        let rows = seen.get(&key.0.to_be_bytes(), &columns, &[v])?;
        let found = rows.found[0].then(|| rows.columns[0].as_primitive::<Int64Type>().value(0));
        self.saw(snapshot, table, Seen::Point(key, found));
        Ok(found)
    }

    fn saw(&self, snapshot: &Snapshot, table: TableId, seen: Seen) {
        let read = Read { version: snapshot.version(), table, seen };
        self.history(|history| history.reads.push(read));
    }

    /// A thread that reads.
    pub(crate) fn read(&self, who: u64) {
        let mut dice = Dice::new(self.seed, who);
        for _ in 0..self.plan.reads {
            let result = self.read_once(&mut dice);
            match result {
                // A column or a table that goes while it is read.
                Err(error) if error.code() == Code::TableChanged => rare("a reader is in the way"),
                Err(error) => return self.forgive(&error),
                Ok(()) => {}
            }
            if self.is_done() {
                return;
            }
        }
    }

    fn read_once(&self, dice: &mut Dice) -> Result<()> {
        let snapshot = self.database.snapshot();
        self.read_all(&snapshot)?;
        for _ in 0..below(30) {
            self.pass(dice);
            self.database.version();
        }
        if dice.once_in(3) {
            // Others may be in the middle of anything.
            self.check_crash(dice);
        }
        // The same parts again, then those that are there now.
        self.read_all(&snapshot)?;
        self.read_all(&self.database.snapshot_at(snapshot.version()))?;
        for _ in 0..2 {
            let key = (dice.number(PARTITIONS), dice.number(self.plan.keys));
            self.look_up(&snapshot, dice.pick(&[self.bank[0], self.bank[1], self.churn]), key)?;
        }
        drop(snapshot);
        let old = self.database.version().saturating_sub(dice.below(12));
        let begin = self.history(|history| history.begin);
        let old = self.database.snapshot_at(old.max(begin));
        match self.read_all(&old) {
            Err(error) if error.code() == Code::HistoryTooOld => {
                rare("a version is too old to be read");
                Ok(())
            }
            result => result,
        }
    }

    /// Reads all tables.
    fn read_all(&self, snapshot: &Snapshot) -> Result<()> {
        for table in self.database.tables() {
            let id = table.id();
            let is_own = ![self.bank[0], self.bank[1], self.churn].contains(&id);
            let seen = match snapshot.table(id) {
                // Its history ends where it took the place of another.
                Err(error) if is_own && error.code() == Code::HistoryTooOld => continue,
                result => result?,
            };
            let columns = added(id, seen.schema(), &self.fillers.lock().unwrap());
            let content = rows(&seen)?;
            let count = seen.count_rows()?;
            self.saw(snapshot, id, Seen::All(columns, content));
            self.saw(snapshot, id, Seen::Count(count));
        }
        Ok(())
    }

    /// A thread that makes checkpoints, flushes and merges.
    pub(crate) fn checkpoint(&self, _who: u64) {
        let mut dice = Dice::new(self.seed, 2);
        for _ in 0..self.plan.checkpoints {
            self.pass(&mut dice);
            let result = match dice.below(4) {
                0 => self.database.maintain().map(|_| ()),
                1 => self.database.optimize(dice.pick(&[self.bank[0], self.churn])),
                _ => self.database.checkpoint(),
            };
            if let Err(error) = result {
                if self.is_down() {
                    rare("the machine crashes in a checkpoint or a merge");
                }
                return self.forgive(&error);
            }
            if dice.once_in(2) {
                self.check_crash(&mut dice);
            }
            if self.is_done() {
                return;
            }
        }
    }

    /// What a crash at this moment would leave is sound.
    fn check_crash(&self, dice: &mut Dice) {
        let disk = self.machine.disk.fork(dice.below(1 << 32));
        disk.crash_with(dice.pick(&Tear::ALL));
        let report = pelorus_fsck::check(&disk, Path::new("/data"));
        assert!(report.is_sound(), "{:#?}", report.findings);
    }
}
