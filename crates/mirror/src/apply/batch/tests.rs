//! Tests of batches against a model: random changes with images that have random columns, cut into
//! random batches, also while the table is read in ranges at different moments.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Int64Array, StringArray, UInt32Array,
};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use pelorus_binlog::{Decoder, Event, Position};
use pelorus_env::{Env, Fault, SimDisk, Tear};
use pelorus_store::{
    ByteWeigher, Commit, Database, History, KeyEncoder, Keys, Mode, Options, StoredColumn, TableId,
    TableSchema, Write, taken,
};
use pelorus_types::{ColumnType, WireType, collation};
use proptest::prelude::*;

use super::*;
use crate::model::copies::{Absent, CopyColumn};
use crate::model::foreign_key::Action;
use crate::model::mirror::Opened;
use crate::model::name::MirrorName;
use crate::model::record::{MirrorRecord, RangeRecord, State};

/// `a`, `b` and the document of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    a: Option<i64>,
    b: Option<i64>,
    j: Option<Vec<i16>>,
}

type Rows = BTreeMap<i64, Row>;

const KEYS: i64 = 8;
const DEFAULT_A: i64 = 7;

/// Numbers that look random.
struct Roll(u64);

impl Roll {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }

    fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn key(&mut self) -> i64 {
        i64::try_from(self.below(KEYS as u64)).unwrap()
    }

    fn number(&mut self) -> Option<i64> {
        if self.chance(5) { None } else { Some(i64::try_from(self.below(100)).unwrap()) }
    }

    fn document(&mut self) -> Option<Vec<i16>> {
        if self.chance(4) {
            return None;
        }
        let length = self.below(3);
        Some((0..length).map(|_| i16::try_from(self.below(50)).unwrap()).collect())
    }

    fn row(&mut self) -> Row {
        Row { a: self.number(), b: self.number(), j: self.document() }
    }
}

// The bytes of events.

fn event(kind: u8, body: &[u8]) -> Bytes {
    let mut bytes = vec![0; 4];
    bytes.push(kind);
    bytes.extend([1, 0, 0, 0]);
    bytes.extend(u32::try_from(19 + body.len()).unwrap().to_le_bytes());
    bytes.extend([0; 6]);
    bytes.extend(body);
    bytes.into()
}

/// Columns `id`, `a`, `b` BIGINT and `j` JSON.
fn table_map() -> Bytes {
    let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0, 1, b'd', 0, 1, b't', 0, 4, 8, 8, 8, 245];
    body.extend([1, 4, 0b1110]);
    event(19, &body)
}

fn binary(document: &[i16]) -> Vec<u8> {
    let count = u16::try_from(document.len()).unwrap();
    let mut bytes = vec![2];
    bytes.extend(count.to_le_bytes());
    bytes.extend((4 + 3 * count).to_le_bytes());
    for number in document {
        bytes.push(5);
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

/// An image of the columns of a mask; `change` stands for the document.
fn image(key: i64, row: &Row, mask: u8, change: Option<&[u8]>) -> Vec<u8> {
    let number = |value: i64| value.to_le_bytes().to_vec();
    let document = |bytes: &[u8]| {
        let mut value = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
        value.extend(bytes);
        value
    };
    let j = match (change, &row.j) {
        (Some(change), _) => Some(document(change)),
        (None, Some(numbers)) => Some(document(&binary(numbers))),
        (None, None) => None,
    };
    let all = [Some(number(key)), row.a.map(number), row.b.map(number), j];
    let there: Vec<_> = (0..4).filter(|at| mask >> at & 1 == 1).map(|at| &all[at]).collect();
    let mut nulls = vec![0_u8; there.len().div_ceil(8)];
    for (bit, value) in there.iter().enumerate() {
        nulls[bit / 8] |= u8::from(value.is_none()) << (bit % 8);
    }
    let values = there.into_iter().flatten().flatten().copied();
    nulls.into_iter().chain(values).collect()
}

/// One change of a row.
#[derive(Clone, Debug)]
struct Change {
    bytes: Bytes,
    /// A MariaDB's, from such a statement.
    statement: Option<&'static str>,
}

fn rows_event(kind: u8, masks: &[u8], images: &[u8]) -> Bytes {
    let mut body = vec![1, 0, 0, 0, 0, 0, 1, 0, 2, 0, 4];
    body.extend(masks);
    body.extend(images);
    event(kind, &body)
}

/// A random change of the model, and its event.
fn change(roll: &mut Roll, model: &mut Rows, documents: bool) -> Change {
    let plain = |bytes| Change { bytes, statement: None };
    let key = roll.key();
    let Some(old) = model.get(&key).cloned() else {
        let mask = 1 | u8::try_from(roll.below(16)).unwrap();
        let mut row = roll.row();
        row.a = if mask & 2 == 0 { Some(DEFAULT_A) } else { row.a };
        row.b = if mask & 4 == 0 { None } else { row.b };
        row.j = if mask & 8 == 0 { None } else { row.j };
        model.insert(key, row.clone());
        return plain(rows_event(30, &[mask], &image(key, &row, mask, None)));
    };
    let before_mask = if roll.chance(3) { 15 } else { 1 };
    let before = image(key, &old, before_mask, None);
    if roll.chance(5) {
        model.remove(&key);
        return plain(rows_event(32, &[before_mask], &before));
    }
    let mut row = roll.row();
    if roll.chance(6) {
        // A REPLACE that a MariaDB logs as an update: what it lacks has its default.
        let mask = 1 | u8::try_from(roll.below(16)).unwrap();
        row.a = if mask & 2 == 0 { Some(DEFAULT_A) } else { row.a };
        row.b = if mask & 4 == 0 { None } else { row.b };
        row.j = if mask & 8 == 0 { None } else { row.j };
        model.insert(key, row.clone());
        let images = [image(key, &old, 1, None), image(key, &row, mask, None)].concat();
        let bytes = rows_event(31, &[1, mask], &images);
        return Change { bytes, statement: Some("REPLACE INTO t (id) VALUES (1)") };
    }
    let free: Vec<i64> = (0..KEYS).filter(|it| !model.contains_key(it)).collect();
    let to = match free.is_empty() || !roll.chance(5) {
        true => key,
        false => free[usize::try_from(roll.below(free.len() as u64)).unwrap()],
    };
    // The columns that change, and some that do not.
    let changed = u8::try_from(roll.below(16)).unwrap();
    let mask =
        changed | u8::try_from(roll.below(16)).unwrap() & u8::try_from(roll.below(16)).unwrap();
    let mask = mask | u8::from(to != key);
    row.a = if changed & 2 == 0 { old.a } else { row.a };
    row.b = if changed & 4 == 0 { old.b } else { row.b };
    row.j = if changed & 8 == 0 { old.j.clone() } else { row.j };
    let mut told = None;
    if let (true, true, Some(numbers)) = (documents, roll.chance(2), &old.j) {
        // A number goes to the front: done twice it would be seen.
        let number = i16::try_from(roll.below(50)).unwrap();
        row.j = Some([&[number], numbers.as_slice()].concat());
        let mut bytes = vec![1, 4];
        bytes.extend(b"$[0]");
        bytes.extend([3, 5]);
        bytes.extend(number.to_le_bytes());
        told = Some(bytes);
    }
    model.remove(&key);
    model.insert(to, row.clone());
    match told {
        Some(told) => {
            let mask = mask | 8;
            let after = image(to, &row, mask, Some(&told));
            let images = [before, vec![1, 1], after].concat();
            plain(rows_event(39, &[before_mask, mask], &images))
        }
        None => {
            let images = [before, image(to, &row, mask, None)].concat();
            plain(rows_event(31, &[before_mask, mask], &images))
        }
    }
}

// The copy.

#[derive(Debug)]
struct Copy {
    id: TableId,
    generation: u64,
    columns: Vec<CopyColumn>,
    encoder: KeyEncoder,
}

impl CopyTable for Copy {
    fn id(&self) -> TableId {
        self.id
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn columns(&self) -> &[CopyColumn] {
        &self.columns
    }

    fn key(&self) -> &[usize] {
        &[0]
    }

    fn keys(&self, rows: usize, columns: &[ArrayRef]) -> Result<Keys> {
        self.encoder.encode(rows, |at| &columns[at])
    }

    fn encoded(&self, columns: &[usize], rows: usize, arrays: &[ArrayRef]) -> Result<Keys> {
        assert_eq!(columns, [0], "nothing refers to other columns");
        self.encoder.encode(rows, |_| &arrays[0])
    }

    fn condition(&self, columns: &[ArrayRef], row: usize) -> Result<String> {
        Ok(columns[0].as_primitive::<Int64Type>().value(row).to_string())
    }

    fn is_filtered(&self) -> bool {
        false
    }

    fn wanted(&self, _: usize, _: &[ArrayRef]) -> Result<Option<BooleanArray>> {
        Ok(None)
    }

    fn pushed(&self) -> Option<String> {
        None
    }

    /// Two partitions.
    fn split(&self, columns: &[ArrayRef]) -> Result<Vec<(Vec<u8>, UInt32Array)>> {
        let keys = columns[0].as_primitive::<Int64Type>();
        let of = |parity: i64| {
            (0_u32..).zip(keys.values()).filter(move |(_, it)| **it % 2 == parity).map(|it| it.0)
        };
        let all = [0, 1].map(|parity| {
            (vec![u8::try_from(parity).unwrap()], UInt32Array::from_iter_values(of(parity)))
        });
        Ok(all.into_iter().filter(|(_, rows)| !rows.is_empty()).collect())
    }
}

pub(crate) struct World {
    pub(crate) store: Arc<Database>,
    pub(crate) copy: Arc<dyn CopyTable>,
    pub(crate) mirror: Arc<Mirror>,
}

fn arrays(rows: &[(i64, Row)]) -> Vec<ArrayRef> {
    vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|it| it.0))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|it| it.1.a))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|it| it.1.b))),
        Arc::new(StringArray::from_iter(rows.iter().map(|it| it.1.j.as_ref().map(|j| text(j))))),
    ]
}

fn text(document: &[i16]) -> String {
    let numbers: Vec<String> = document.iter().map(i16::to_string).collect();
    format!("[{}]", numbers.join(", "))
}

impl World {
    pub(crate) fn new(record: MirrorRecord) -> Self {
        Self::on(Env::in_memory(1), record)
    }

    pub(crate) fn store(env: Env) -> Arc<Database> {
        let weigher = Arc::new(ByteWeigher);
        Database::open(env, Path::new("/d"), Options::default(), weigher).unwrap()
    }

    pub(crate) fn on(env: Env, record: MirrorRecord) -> Self {
        let store = Self::store(env);
        let json = ColumnType::new(WireType::Json, collation::UTF8MB4_BIN, u32::MAX, 0);
        let types =
            [ColumnType::bigint().not_null(), ColumnType::bigint(), ColumnType::bigint(), json];
        let column = |(id, ty): (u32, &ColumnType)| StoredColumn { id, ty: *ty, filler: None };
        let schema = TableSchema {
            columns: (0..).zip(&types).map(column).collect(),
            key: vec![0],
            segment: Vec::new(),
            history: History { micros: 0, bytes: 1 << 20 },
        };
        let encoder = KeyEncoder::primary(&schema, Arc::new(ByteWeigher));
        let id = store.create_table(schema, b"").unwrap();
        let number = |value: Option<i64>| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let absent = [
            Absent::Implicit(number(Some(0))),
            Absent::Default(number(Some(DEFAULT_A))),
            Absent::Default(number(None)),
            Absent::Default(Arc::new(StringArray::from(vec![None::<&str>]))),
        ];
        let columns = ["id", "a", "b", "j"].iter().zip(types).zip(absent);
        let columns = columns.map(|((name, ty), absent)| CopyColumn {
            form: pelorus_binlog::Form::Plain,
            left_out: false,
            name: (*name).to_owned(),
            ty,
            members: Vec::new(),
            absent,
        });
        let generation = store.table(id).unwrap().generation();
        let copy: Arc<dyn CopyTable> =
            Arc::new(Copy { id, generation, columns: columns.collect(), encoder });
        let name = MirrorName { link: "l".into(), database: "d".into(), table: "t".into() };
        let mirror = Mirror::new(name, record, Some(Arc::clone(&copy))).unwrap();
        Self { store, copy, mirror: Arc::new(mirror) }
    }

    /// Puts rows there as they are read.
    fn put(&self, rows: &[(i64, Row)], opened: &Opened) {
        let columns = arrays(rows);
        let keys = self.copy.keys(rows.len(), &columns).unwrap();
        let window = self.mirror.window();
        let columns = window.fold(&keys, columns).unwrap();
        let keep = window.untouched(&keys, opened).unwrap_or_else(|| vec![true; rows.len()]);
        let places: UInt32Array = (0_u32..).zip(keep).filter(|it| it.1).map(|it| it.0).collect();
        let columns = taken(&columns, &places).unwrap();
        let writes = self.copy.split(&columns).unwrap().into_iter().map(|(partition, places)| {
            let columns = taken(&columns, &places).unwrap();
            Write::Put { table: self.copy.id(), partition, columns, mode: Mode::Replace }
        });
        let commit = Commit { writes: writes.collect(), ..Commit::default() };
        self.store.commit(&commit).unwrap();
    }

    /// So many rows that are inserted.
    pub(crate) fn batch_of(&self, rows: i64) -> Batch {
        let row = Row { a: Some(1), b: None, j: None };
        let insert = |key| Change {
            bytes: rows_event(30, &[0b1111], &image(key, &row, 0b1111, None)),
            statement: None,
        };
        self.batch(&(0..rows).map(insert).collect::<Vec<_>>())
    }

    fn batch(&self, changes: &[Change]) -> Batch {
        let mut batch = Batch::default();
        for change in changes {
            let mut origin = RowImageCompletion::new(change.statement.is_some(), true);
            if let Some(text) = change.statement {
                origin.begin_statement(Bytes::from_static(text.as_bytes()));
            }
            let mut decoder = Decoder::new();
            for bytes in [table_map(), change.bytes.clone()] {
                decoder.push(bytes).unwrap();
                while let Some(event) = decoder.next_event().unwrap() {
                    if let Event::Rows(rows) = event.event {
                        let added = batch
                            .add(&self.mirror, &self.copy, &rows, &origin, (&[], None))
                            .unwrap();
                        assert_eq!(added, Added::Yes);
                    }
                }
            }
        }
        batch
    }

    /// Applies changes, which come after a position, as one batch.
    fn apply(&self, from: usize, changes: &[Change]) {
        let misfits = self
            .batch(changes)
            .commit(
                &self.store,
                Some(&position(from)),
                vec![(b"at".to_vec(), Some(b"x".to_vec()))],
                1 << 20,
            )
            .unwrap();
        assert!(misfits.is_empty(), "{:?}", misfits[0].1);
    }

    fn rows(&self) -> BTreeMap<i64, (Option<i64>, Option<i64>, Option<String>)> {
        let keys: Vec<i64> = (0..KEYS).collect();
        let table = self.store.snapshot().table(self.copy.id()).unwrap();
        let mut found = BTreeMap::new();
        for parity in 0..2_i64 {
            let keys: Vec<i64> = keys.iter().copied().filter(|it| it % 2 == parity).collect();
            let array: ArrayRef = Arc::new(Int64Array::from(keys));
            let there =
                table.get(&[u8::try_from(parity).unwrap()], &[array], &[0, 1, 2, 3]).unwrap();
            let number = |column: usize, row: usize| {
                let array = there.columns[column].as_primitive::<Int64Type>();
                (!array.is_null(row)).then(|| array.value(row))
            };
            for row in 0..there.columns[0].len() {
                let texts = there.columns[3].as_string::<i32>();
                let document = (!texts.is_null(row)).then(|| texts.value(row).to_owned());
                found.insert(number(0, row).unwrap(), (number(1, row), number(2, row), document));
            }
        }
        found
    }

    fn assert_is(&self, model: &Rows) {
        let model: BTreeMap<_, _> = model
            .iter()
            .map(|(key, row)| (*key, (row.a, row.b, row.j.as_ref().map(|j| text(j)))))
            .collect();
        assert_eq!(self.rows(), model);
    }
}

fn position(at: usize) -> Position {
    Position::File { file: "b.000001".to_owned(), offset: at as u64 }
}

fn some_rows(roll: &mut Roll) -> Rows {
    (0..KEYS)
        .filter_map(|key| if roll.chance(3) { None } else { Some((key, roll.row())) })
        .collect()
}

fn record(state: State) -> MirrorRecord {
    MirrorRecord { state, early: state != State::Live, ..MirrorRecord::default() }
}

/// The states of a table, and the changes between them.
fn history(roll: &mut Roll, length: u64, documents: bool) -> (Vec<Rows>, Vec<Change>) {
    let mut states = vec![some_rows(roll)];
    let mut changes = Vec::new();
    for _ in 0..length {
        let mut rows = states[states.len() - 1].clone();
        changes.push(change(roll, &mut rows, documents));
        states.push(rows);
    }
    (states, changes)
}

/// A range that is being read.
struct Reading {
    range: usize,
    rows: Vec<(i64, Row)>,
    window: Opened,
}

/// Which keys a range has: first two that share them all, later those that are asked for again.
fn is_in(range: usize, record: &RangeRecord, key: i64) -> bool {
    match &record.condition {
        Some(condition) => {
            let keys = condition.trim_matches(['(', ')']).split(" OR ");
            keys.into_iter().any(|it| it == key.to_string())
        }
        None => (key < KEYS / 2) == (range == 0),
    }
}

/// Reads a table in ranges while its changes are applied, and goes on to the end of them.
fn read_meanwhile(seed: u64, length: u64, documents: bool) {
    let mut roll = Roll(seed);
    let range = || RangeRecord { condition: None, partitions: Vec::new(), rows: 1, done: false };
    let world =
        World::new(MirrorRecord { ranges: vec![range(), range()], ..record(State::Loading) });
    let (states, changes) = history(&mut roll, length, documents);
    let (mut at, mut reading): (usize, Vec<Reading>) = (0, Vec::new());
    // The latest moment of this round of reading.
    let mut read = 0;
    loop {
        let ranges = world.mirror.record().ranges;
        let todo: Vec<usize> = (0..ranges.len())
            .filter(|&it| !ranges[it].done && reading.iter().all(|r| r.range != it))
            .collect();
        let is_read = todo.is_empty() && reading.is_empty();
        if world.mirror.state() == State::Loading && is_read && roll.chance(2) {
            // The last range was read at a moment that is not later than now.
            let now = (at + usize::try_from(roll.below(6)).unwrap()).max(read).min(changes.len());
            let until = (&position(now), Duration::ZERO);
            assert!(world.mirror.end_reading(&world.store, 0, until).unwrap());
            read = 0;
        }
        if world.mirror.has_caught_up(&position(at)) {
            world
                .mirror
                .update(&world.store, |it| {
                    it.state = State::Live;
                    it.early = false;
                })
                .unwrap();
        }
        if at == changes.len() && world.mirror.state() == State::Live {
            break;
        }
        match roll.below(4) {
            0 if !todo.is_empty() => {
                let range = todo[usize::try_from(roll.below(todo.len() as u64)).unwrap()];
                let window = world.mirror.open_window();
                // A moment that is not before what has been applied.
                let ahead = roll.below((changes.len() - at) as u64 + 1);
                let moment = at + usize::try_from(ahead.min(roll.below(12))).unwrap();
                read = read.max(moment);
                let rows = states[moment].iter().map(|(key, row)| (*key, row.clone()));
                let rows = rows.filter(|(key, _)| is_in(range, &ranges[range], *key)).collect();
                reading.push(Reading { range, rows, window });
            }
            1 if !reading.is_empty() => {
                let place = usize::try_from(roll.below(reading.len() as u64)).unwrap();
                let half = reading[place].rows.len() / 2;
                let rows = reading[place].rows.split_off(half);
                world.put(&rows, &reading[place].window);
                if reading[place].rows.is_empty() {
                    let done = reading.swap_remove(place);
                    world
                        .mirror
                        .update(&world.store, |it| it.ranges[done.range].done = true)
                        .unwrap();
                }
            }
            _ if at < changes.len() => {
                let to = (at + 1 + usize::try_from(roll.below(4)).unwrap()).min(changes.len());
                world.apply(at, &changes[at..to]);
                at = to;
            }
            _ => {}
        }
    }
    world.assert_is(&states[changes.len()]);
}

#[test]
fn rows_in_part_behind_a_cascade_begin_anew_until_the_mirror_is_live() {
    let row = Row { a: Some(1), b: None, j: None };
    let images = [image(1, &row, 1, None), image(1, &row, 2, None)].concat();
    let update = Change { bytes: rows_event(31, &[1, 2], &images), statement: None };
    for (state, cascaded, begins) in [
        (State::Loading, false, false),
        (State::Loading, true, true),
        (State::CatchingUp, true, true),
        (State::Live, true, false),
    ] {
        let world = World::new(MirrorRecord { cascaded, ..record(state) });
        world.put(&[(1, row.clone())], &world.mirror.open_window());
        let batch = world.batch(std::slice::from_ref(&update));
        let misfits = batch.commit(&world.store, Some(&position(0)), Vec::new(), 1 << 20).unwrap();
        assert_eq!(misfits.len(), usize::from(begins), "{state:?} {cascaded}");
        assert_eq!(world.mirror.state() == State::Waiting, begins);
        // Rows that are whole need nothing of the copy.
        let world = World::new(MirrorRecord { cascaded, ..record(state) });
        let batch = world.batch_of(3);
        assert!(batch.commit(&world.store, None, Vec::new(), 1 << 20).unwrap().is_empty());
    }
}

#[test]
fn a_crash_leaves_rows_with_their_position_or_neither() {
    for count in 0.. {
        let disk = SimDisk::new(1);
        let env = Env { disk: Arc::new(disk.clone()), ..Env::in_memory(1) };
        let world = World::on(env.clone(), record(State::Live));
        disk.fail_after(count, Fault::Crash);
        let values = |key: &[u8]| vec![(key.to_vec(), Some(b"x".to_vec()))];
        let end = Commit { values: values(b"end"), ..Commit::default() };
        let committed = world.batch_of(3).commit(&world.store, None, values(b"at"), 1 << 20);
        let is_done = committed.is_ok() && world.store.commit(&end).is_ok();
        let id = world.copy.id();
        drop(world);
        disk.crash_with(Tear::Everything);
        let store = World::store(env);
        let rows = store.snapshot().table(id).unwrap().rows();
        assert_eq!(store.value(b"at").is_some(), rows == 3, "{count}: {rows} rows");
        if is_done {
            assert!(count > 0 && rows == 3, "{count}: {rows} rows");
            return;
        }
    }
}

#[test]
fn what_keys_did_before_a_window_is_in_what_is_read() {
    let world = World::new(record(State::Loading));
    let columns = arrays(&[(1, Row { a: None, b: None, j: None })]);
    let value = world.copy.encoded(&[0], 1, &columns[..1]).unwrap().get(0).to_vec();
    let first = world.mirror.open_window();
    world.mirror.window().note_gone(&[0], Action::Cascade, &value);
    let second = world.mirror.open_window();
    let left = |opened: &Opened| {
        let window = world.mirror.window();
        let rows = window.without_gone(world.copy.as_ref(), columns.clone(), opened).unwrap();
        rows[0].len()
    };
    assert_eq!((left(&first), left(&second)), (0, 1));
}

#[test]
fn a_row_that_went_away_and_came_back_in_one_batch_is_read_again() {
    // Its own range is read while it is away, the one of the other key when it is back.
    read_meanwhile(2_483_942_480_992_407_939, 18, false);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn live_copies_are_what_the_table_is(seed: u64, length in 1..60_u64) {
        let mut roll = Roll(seed);
        let world = World::new(record(State::Live));
        let (states, changes) = history(&mut roll, length, true);
        let rows: Vec<(i64, Row)> = states[0].clone().into_iter().collect();
        world.put(&rows, &world.mirror.open_window());
        let mut at = 0;
        while at < changes.len() {
            let to = (at + 1 + usize::try_from(roll.below(9)).unwrap()).min(changes.len());
            world.apply(at, &changes[at..to]);
            at = to;
            world.assert_is(&states[at]);
        }
    }

    #[test]
    fn copies_that_are_read_meanwhile_become_what_the_table_is(
        seed: u64, length in 1..60_u64, documents: bool,
    ) {
        read_meanwhile(seed, length, documents);
    }
}
