//! The store and its model, and what each step does to both.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{ArrayRef, Int64Array};
use pelorus_error::Code;
use pelorus_store::{
    Commit, Database, Mode, Options, Receipt, Snapshot, StoredColumn, TableId, TableSchema, Write,
    encode_filler,
};
use pelorus_types::ColumnType;

use super::Step;
use crate::harness::{Machine, options, remove, row, schema};
use crate::rows::{self, Content, Key, Row};

/// A table's present schema, and what columns have in rows older than they are.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) id: TableId,
    pub(super) schema: TableSchema,
    pub(super) fillers: BTreeMap<u32, Option<i64>>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) database: Arc<Database>,
    pub(super) tables: [Shape; 2],
    /// What every version holds.
    pub(super) versions: BTreeMap<u64, [Content; 2]>,
    /// When each version was committed.
    pub(super) times: Vec<(u64, u64)>,
    pub(super) values: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) held: Vec<Snapshot>,
    pub(super) number: i64,
    last: Option<(usize, Vec<(Key, Row)>)>,
}

/// Ways to use memory: little of everything, no flushes at all, no cache, hardly any room for
/// deltas, and checkpoints all the time.
fn variant(number: usize) -> Options {
    let base = options();
    match number {
        1 => Options { flush_rows: usize::MAX, delta_bytes: 1 << 30, ..base },
        2 => Options { cache_bytes: 0, ..base },
        3 => Options { delta_bytes: 2048, ..base },
        4 => Options { checkpoint_log_bytes: 1, ..base },
        _ => base,
    }
}

impl World {
    pub(super) fn new(seed: u64, options: usize) -> Self {
        let machine = Machine::new(seed);
        let database = machine.open_with(variant(options)).unwrap();
        let tables = [0, 1].map(|_| {
            let id = database.create_table(schema(), b"a table").unwrap();
            Shape { id, schema: schema(), fillers: BTreeMap::new() }
        });
        let versions = BTreeMap::from([(database.version(), Default::default())]);
        let now = machine.clock.0.load(Ordering::Relaxed);
        let times = (1..=database.version()).map(|version| (now, version)).collect();
        let (values, held) = (BTreeMap::new(), Vec::new());
        Self { machine, database, tables, versions, times, values, held, number: 0, last: None }
    }

    pub(super) fn content(&self) -> [Content; 2] {
        self.versions.last_key_value().unwrap().1.clone()
    }

    pub(super) fn content_at(&self, version: u64) -> &[Content; 2] {
        self.versions.range(..=version).next_back().unwrap().1
    }

    fn now(&self) -> u64 {
        self.machine.clock.0.load(Ordering::Relaxed)
    }

    fn note(&mut self, version: u64, content: [Content; 2]) {
        self.versions.insert(version, content);
        if self.times.last().is_none_or(|(_, last)| *last < version) {
            self.times.push((self.now(), version));
        }
    }

    fn row(&mut self, table: usize) -> Row {
        self.number += 1;
        let (v, t) = row(self.number);
        let added = self.tables[table].schema.columns.iter().filter(|column| column.id > 3);
        let value = |id: u32| (v % 5 != 0).then_some(v * 10 + i64::from(id));
        Row { v, t, added: added.map(|column| (column.id, value(column.id))).collect() }
    }

    fn rows(&mut self, table: usize, p: i64, keys: &[i64]) -> Vec<(Key, Row)> {
        keys.iter().map(|&k| ((p, k), self.row(table))).collect()
    }

    fn put(&self, table: usize, rows: &[(Key, Row)], mode: Mode) -> Write {
        let shape = &self.tables[table];
        rows::put(shape.id, &shape.schema, rows, mode)
    }

    fn commit(&self, writes: Vec<Write>) -> pelorus_error::Result<Receipt> {
        self.database.commit(&Commit { writes, ..Commit::default() })
    }

    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Put(table, mode, p, keys) => {
                let rows = self.rows(table, p, &keys);
                self.put_rows(table, mode, rows);
            }
            Step::Remove(table, p, keys) => self.remove(table, p, &keys),
            Step::Together(a, b, value) => self.together(&a, &b, value),
            Step::Again(mode) => self.again(mode),
            Step::Value(key, is_there) => {
                let value = is_there.then(|| self.number.to_be_bytes().to_vec());
                let values = vec![(vec![b'k', key], value.clone())];
                let commit = Commit { values, ..Commit::default() };
                let receipt = self.database.commit(&commit).unwrap();
                match value {
                    Some(value) => self.values.insert(vec![b'k', key], value),
                    None => self.values.remove(&vec![b'k', key]),
                };
                self.note(receipt.version, self.content());
            }
            Step::Maintain => while self.database.maintain().unwrap() {},
            Step::Checkpoint => self.database.checkpoint().unwrap(),
            Step::Hold => self.held.push(self.database.snapshot()),
            Step::Release => {
                self.held.pop();
            }
            Step::Pass(micros) => {
                self.machine.clock.0.fetch_add(micros, Ordering::Relaxed);
            }
            Step::DropPartition(table, p) => {
                let keys = [p.to_be_bytes().to_vec()];
                let before = self.database.version();
                let count = self.database.drop_partitions(self.tables[table].id, &keys).unwrap();
                assert_eq!(self.database.version(), before + count as u64);
                self.drop_rows(table, |key| key.0 == p);
            }
            Step::Truncate(table) => {
                self.database.truncate_table(self.tables[table].id).unwrap();
                self.drop_rows(table, |_| true);
            }
            Step::AddColumn(table, filler) => self.add_column(table, filler),
            Step::DropColumn(table) => {
                let mut schema = self.tables[table].schema.clone();
                schema.columns.retain({
                    let mut left = 1;
                    move |column| column.id < 4 || std::mem::replace(&mut left, 0) == 0
                });
                self.alter(table, schema);
            }
            Step::TurnColumns(table) => {
                let mut schema = self.tables[table].schema.clone();
                schema.columns.rotate_left(1);
                self.alter(table, schema);
            }
            Step::Reopen(options) => {
                self.held.clear();
                self.database.close().unwrap();
                self.database = self.machine.open_with(variant(options)).unwrap();
            }
            Step::Crash(options) => {
                self.held.clear();
                self.machine.disk.crash();
                self.database = self.machine.open_with(variant(options)).unwrap();
            }
            Step::Conflict(table, p) => self.conflict(table, p),
        }
    }

    fn drop_rows(&mut self, table: usize, goes: impl Fn(&Key) -> bool) {
        let mut content = self.content();
        content[table].retain(|key, _| !goes(key));
        self.note(self.database.version(), content);
    }

    fn put_rows(&mut self, table: usize, mode: Mode, rows: Vec<(Key, Row)>) {
        let mut content = self.content();
        let there = &mut content[table];
        let mut seen = HashSet::new();
        let twice = rows.iter().any(|(key, _)| there.contains_key(key) || !seen.insert(*key));
        let result = self.commit(vec![self.put(table, &rows, mode)]);
        if mode == Mode::Insert && twice {
            assert_eq!(result.unwrap_err().code(), Code::DuplicateKey);
            return;
        }
        let receipt = result.unwrap();
        let outcome = receipt.outcomes[0].clone();
        let (before, count) = (there.len(), rows.len() as u64);
        let mut ignored = 0;
        for (key, row) in rows.clone() {
            if mode == Mode::Ignore && there.contains_key(&key) {
                ignored += 1;
            } else {
                there.insert(key, row);
            }
        }
        assert_eq!(outcome.inserted, (there.len() - before) as u64);
        assert_eq!(outcome.ignored, ignored);
        assert_eq!(outcome.inserted + outcome.replaced + outcome.ignored, count);
        if mode == Mode::Ignore && outcome.inserted == 0 {
            assert_eq!(receipt.version, *self.versions.last_key_value().unwrap().0);
        }
        self.note(receipt.version, content);
        self.last = Some((table, rows));
    }

    /// The same rows again change nothing that can be read.
    fn again(&mut self, mode: Mode) {
        let Some((table, rows)) = self.last.take() else { return };
        let columns = self.tables[table].schema.columns.iter();
        let ids: Vec<u32> = columns.map(|column| column.id).filter(|id| *id > 3).collect();
        if rows.iter().all(|(_, row)| ids.iter().all(|id| row.added.contains_key(id))) {
            self.put_rows(table, mode, rows);
        }
    }

    fn remove(&mut self, table: usize, p: i64, keys: &[i64]) {
        let keys: Vec<Key> = keys.iter().map(|&k| (p, k)).collect();
        let receipt = self.commit(vec![remove(self.tables[table].id, &keys)]).unwrap();
        let mut content = self.content();
        let removed = keys.iter().filter(|key| content[table].remove(*key).is_some()).count();
        assert_eq!(receipt.outcomes[0].removed, removed as u64);
        self.note(receipt.version, content);
    }

    fn together(&mut self, a: &[i64], b: &[i64], value: u8) {
        let (first, second) = (self.rows(0, 0, a), self.rows(0, 1, b));
        let other = self.rows(1, 0, b);
        let gone: Vec<Key> =
            (0..super::KEYS).filter(|k| !a.contains(k)).step_by(7).map(|k| (0, k)).collect();
        let writes = vec![
            self.put(0, &first, Mode::Replace),
            remove(self.tables[0].id, &gone),
            self.put(1, &other, Mode::Replace),
            self.put(0, &second, Mode::Replace),
        ];
        let pair = (vec![b'k', value], self.number.to_be_bytes().to_vec());
        let values = vec![(pair.0.clone(), Some(pair.1.clone()))];
        let commit = Commit { writes, values, ..Commit::default() };
        let receipt = self.database.commit(&commit).unwrap();
        self.values.insert(pair.0, pair.1);
        let mut content = self.content();
        content[0].extend(first);
        content[0].extend(second);
        content[0].retain(|key, _| !gone.contains(key));
        content[1].extend(other);
        self.note(receipt.version, content);
    }

    fn add_column(&mut self, table: usize, filler: Option<i64>) {
        let shape = &mut self.tables[table];
        let id = self.database.table(shape.id).unwrap().next_column_id();
        let mut schema = shape.schema.clone();
        let bytes = filler.map(|value| {
            let value: ArrayRef = Arc::new(Int64Array::from(vec![value]));
            encode_filler(&value)
        });
        shape.fillers.insert(id, filler);
        let ty = ColumnType::bigint();
        schema.columns.insert(id as usize % 3, StoredColumn { id, ty, filler: bytes });
        self.alter(table, schema);
    }

    fn alter(&mut self, table: usize, mut schema: TableSchema) {
        let place = |id| schema.position(id).unwrap();
        let (p, k) = (place(0), place(1));
        schema.key = vec![p, k];
        schema.segment[0].column = k;
        let shape = &mut self.tables[table];
        self.database.alter_table(shape.id, schema.clone(), b"another").unwrap();
        shape.schema = schema;
        self.note(self.database.version(), self.content());
    }

    /// Of two that read the same version and write the same row, one is told to try again,
    /// whatever both do to the row.
    fn conflict(&mut self, table: usize, p: i64) {
        let seen = self.database.snapshot();
        let mut content = self.content();
        let there: Vec<Key> = content[table].keys().filter(|key| key.0 == p).copied().collect();
        let key = there.first().copied().unwrap_or((p, 1));
        let rows = [(key, self.row(table))];
        let write = |write: Write| Commit {
            writes: vec![write],
            snapshot: Some(seen.version()),
            ..Commit::default()
        };
        let put = write(self.put(table, &rows, Mode::Replace));
        let remove = write(remove(self.tables[table].id, &[key]));
        let removes = self.number % 2 == 0 && !there.is_empty();
        let receipt = self.database.commit(if removes { &remove } else { &put }).unwrap();
        content[table].remove(&key);
        if !removes {
            content[table].extend(rows);
        }
        self.note(receipt.version, content);
        for other in [&put, &remove] {
            assert_eq!(self.database.commit(other).unwrap_err().code(), Code::Deadlock);
        }
    }
}
