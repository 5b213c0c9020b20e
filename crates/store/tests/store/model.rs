//! Random operations on the store and on a map of every version, side by side (T3, T14, T15).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::Code;
use pelorus_store::{Commit, Database, Mode, Snapshot, TableId};
use proptest::prelude::*;

use crate::harness::{
    Content, Machine, Row, commit, newest, put, read, read_where, remove, row, schema,
};

#[derive(Clone, Debug)]
enum Step {
    Put(Mode, i64, Vec<i64>),
    Remove(i64, Vec<i64>),
    /// Rows of two partitions, and keys of one that go, together.
    Both(Vec<i64>, Vec<i64>),
    Maintain,
    Checkpoint,
    Hold,
    Release,
    Pass(u64),
    DropPartition(i64),
    Truncate,
    Reopen,
    Crash,
    Conflict(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec(0_i64..120, 1..25);
    let mode = prop_oneof![Just(Mode::Insert), Just(Mode::Ignore), Just(Mode::Replace)];
    prop_oneof![
        12 => (mode, 0_i64..3, keys()).prop_map(|(mode, p, keys)| Step::Put(mode, p, keys)),
        5 => (0_i64..3, keys()).prop_map(|(p, keys)| Step::Remove(p, keys)),
        3 => (keys(), keys()).prop_map(|(a, b)| Step::Both(a, b)),
        4 => Just(Step::Maintain),
        2 => Just(Step::Checkpoint),
        2 => Just(Step::Hold),
        1 => Just(Step::Release),
        2 => (0_u64..2000).prop_map(Step::Pass),
        1 => (0_i64..3).prop_map(Step::DropPartition),
        1 => Just(Step::Truncate),
        1 => Just(Step::Reopen),
        2 => Just(Step::Crash),
        2 => (0_i64..3).prop_map(Step::Conflict),
    ]
}

struct World {
    machine: Machine,
    database: Arc<Database>,
    table: TableId,
    /// What every version holds.
    versions: BTreeMap<u64, Content>,
    held: Vec<Snapshot>,
    number: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        let machine = Machine::new(seed);
        let database = machine.open().unwrap();
        let table = database.create_table(schema(), b"a table").unwrap();
        let versions = BTreeMap::from([(database.version(), Content::new())]);
        Self { machine, database, table, versions, held: Vec::new(), number: 0 }
    }

    fn content(&self) -> Content {
        self.versions.last_key_value().unwrap().1.clone()
    }

    fn next(&mut self) -> Row {
        self.number += 1;
        row(self.number)
    }

    fn note(&mut self, version: u64, content: Content) {
        self.versions.insert(version, content);
    }

    fn rows(&mut self, p: i64, keys: &[i64]) -> Vec<((i64, i64), Row)> {
        keys.iter().map(|&k| ((p, k), self.next())).collect()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(mode, p, keys) => self.put(mode, p, &keys),
            Step::Remove(p, keys) => {
                let keys: Vec<(i64, i64)> = keys.into_iter().map(|k| (p, k)).collect();
                let receipt = commit(&self.database, vec![remove(self.table, &keys)]).unwrap();
                let mut content = self.content();
                let removed = keys.iter().filter(|key| content.remove(*key).is_some()).count();
                assert_eq!(receipt.outcomes[0].removed, removed as u64);
                self.note(receipt.version, content);
            }
            Step::Both(a, b) => self.both(&a, &b),
            Step::Maintain => while self.database.maintain().unwrap() {},
            Step::Checkpoint => self.database.checkpoint().unwrap(),
            Step::Hold => self.held.push(self.database.snapshot()),
            Step::Release => {
                self.held.pop();
            }
            Step::Pass(micros) => {
                self.machine.clock.0.fetch_add(micros, Ordering::Relaxed);
            }
            Step::DropPartition(p) => {
                let keys = [p.to_be_bytes().to_vec()];
                self.database.drop_partitions(self.table, &keys).unwrap();
                let mut content = self.content();
                content.retain(|key, _| key.0 != p);
                self.note(self.database.version(), content);
            }
            Step::Truncate => {
                self.database.truncate_table(self.table).unwrap();
                self.note(self.database.version(), Content::new());
            }
            Step::Reopen => {
                self.held.clear();
                self.database.close().unwrap();
                self.database = self.machine.open().unwrap();
            }
            Step::Crash => {
                self.held.clear();
                self.machine.disk.crash();
                self.database = self.machine.open().unwrap();
            }
            Step::Conflict(p) => self.conflict(p),
        }
    }

    fn put(&mut self, mode: Mode, p: i64, keys: &[i64]) {
        let rows = self.rows(p, keys);
        let mut content = self.content();
        let twice = {
            let mut seen = std::collections::HashSet::new();
            rows.iter().any(|(key, _)| content.contains_key(key) || !seen.insert(*key))
        };
        let result = commit(&self.database, vec![put(self.table, &rows, mode)]);
        if mode == Mode::Insert && twice {
            assert_eq!(result.unwrap_err().code(), Code::DuplicateKey);
            return;
        }
        let receipt = result.unwrap();
        let outcome = receipt.outcomes[0];
        let before = content.len();
        let mut ignored = 0;
        for (key, row) in rows {
            if mode == Mode::Ignore && content.contains_key(&key) {
                ignored += 1;
            } else {
                content.insert(key, row);
            }
        }
        assert_eq!(outcome.inserted, (content.len() - before) as u64);
        assert_eq!(outcome.ignored, ignored);
        assert_eq!(outcome.inserted + outcome.replaced + outcome.ignored, keys.len() as u64);
        self.note(receipt.version, content);
    }

    fn both(&mut self, a: &[i64], b: &[i64]) {
        let (first, second) = (self.rows(0, a), self.rows(1, b));
        let gone: Vec<(i64, i64)> =
            (0..120).filter(|k| !a.contains(k)).step_by(7).map(|k| (0, k)).collect();
        let writes = vec![
            put(self.table, &first, Mode::Replace),
            remove(self.table, &gone),
            put(self.table, &second, Mode::Replace),
        ];
        let receipt = commit(&self.database, writes).unwrap();
        let mut content = self.content();
        content.extend(first);
        content.extend(second);
        content.retain(|key, _| !gone.contains(key));
        self.note(receipt.version, content);
    }

    /// Two that read the same version write the same row: one of them is told to try again.
    fn conflict(&mut self, p: i64) {
        let seen = self.database.snapshot().version();
        let rows = self.rows(p, &[1, 2]);
        let mine = Commit {
            writes: vec![put(self.table, &rows, Mode::Replace)],
            snapshot: Some(seen),
            ..Commit::default()
        };
        let receipt = self.database.commit(&mine).unwrap();
        let mut content = self.content();
        content.extend(rows);
        self.note(receipt.version, content);
        let rows = self.rows(p, &[2]);
        let other = Commit { writes: vec![put(self.table, &rows, Mode::Replace)], ..mine };
        assert_eq!(self.database.commit(&other).unwrap_err().code(), Code::Deadlock);
    }

    fn check(&self) {
        assert_eq!(newest(&self.database, self.table), self.content());
        for snapshot in &self.held {
            let (_, expected) = self.versions.range(..=snapshot.version()).next_back().unwrap();
            match read(snapshot, self.table) {
                Ok(found) => assert_eq!(&found, expected, "version {}", snapshot.version()),
                // A partition was dropped since.
                Err(error) => assert_eq!(error.code(), Code::HistoryTooOld),
            }
        }
        for snapshot in self.held.iter().take(2) {
            self.check_points(snapshot);
        }
        let all = self.database.snapshot();
        self.check_points(&all);
        let predicate = Predicate::Between(Scalar::Int(20), Scalar::Int(60));
        let low = Predicate::Compare(Op::Lt, Scalar::Int((self.number / 2).into()));
        let found = read_where(&all, self.table, vec![(1, predicate), (2, low)]).unwrap();
        let mut expected = self.content();
        let half = self.number / 2;
        expected.retain(|(_, k), (v, _)| (20..=60).contains(k) && *v < half);
        assert_eq!(found, expected);
    }

    /// Rows that are looked up by their keys are those of the version.
    fn check_points(&self, snapshot: &Snapshot) {
        let Ok(table) = snapshot.table(self.table) else { return };
        let (_, expected) = self.versions.range(..=snapshot.version()).next_back().unwrap();
        let numbers: Vec<i64> = (0..120).step_by(13).collect();
        let p: ArrayRef = Arc::new(Int64Array::from(vec![1; numbers.len()]));
        let k: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
        let rows = table.get(&1_i64.to_be_bytes(), &[p, k], &[2]).unwrap();
        let mut values = rows.columns[0].as_primitive::<Int64Type>().values().iter();
        for (number, found) in numbers.iter().zip(&rows.found) {
            let value = found.then(|| *values.next().unwrap());
            assert_eq!(value, expected.get(&(1, *number)).map(|(v, _)| *v));
        }
    }

    /// Every version that can still be read is what it was.
    fn check_history(&self) {
        let floor = self.database.table(self.table).unwrap().floor();
        for (version, expected) in self.versions.range(floor..) {
            let snapshot = self.database.snapshot_at(*version);
            match read(&snapshot, self.table) {
                Ok(found) => assert_eq!(&found, expected, "version {version}"),
                Err(error) => assert_eq!(error.code(), Code::HistoryTooOld),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_a_versioned_map(seed: u64, steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new(seed);
        for step in steps {
            world.step(step);
            world.check();
        }
        world.check_history();
    }
}
