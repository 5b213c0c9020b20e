//! A small table, a model of it, and ways to compare the two.
//!
//! The table has the columns `p` (its partition), `k` (its key with `p`), `v` and `t`; the model
//! maps keys to values for every version that was committed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::{Field, Int64Type, Schema};
use pelorus_chunk::Predicate;
use pelorus_env::{Clock, Env, SimDisk};
use pelorus_error::Result;
use pelorus_store::{
    ByteWeigher, Commit, Database, Function, History, KeyFunction, Mode, Options, Receipt,
    ScanRequest, Snapshot, StoredColumn, TableId, TableSchema, Write,
};
use pelorus_types::{ColumnType, collation};

pub(crate) type Row = (i64, Option<String>);
pub(crate) type Content = BTreeMap<(i64, i64), Row>;

/// A clock that goes only when it is told to, and by how much what it shows was set back.
#[derive(Debug, Default)]
pub(crate) struct ManualClock(pub(crate) AtomicU64, pub(crate) AtomicU64);

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn since_epoch(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed) - self.1.load(Ordering::Relaxed))
    }
}

/// A machine: a disk and a clock that outlive the process.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) disk: SimDisk,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) env: Env,
}

impl Machine {
    /// Every other seed has a disk that takes space without writing.
    pub(crate) fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        disk.set_allocates(seed.is_multiple_of(2));
        Self::with(disk, seed)
    }

    pub(crate) fn with(disk: SimDisk, seed: u64) -> Self {
        let clock = Arc::new(ManualClock(AtomicU64::new(1_000_000_000), AtomicU64::new(0)));
        let mut env = Env::in_memory(seed);
        env.disk = Arc::new(disk.clone());
        env.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        Self { disk, clock, env }
    }

    pub(crate) fn open(&self) -> Result<Arc<Database>> {
        let mut options = options();
        if self.disk.allocates() {
            // The log asks for space in this way where it needs more at once than this.
            options.log.reserve_bytes = 0;
        }
        self.open_with(options)
    }

    pub(crate) fn open_with(&self, options: Options) -> Result<Arc<Database>> {
        Database::open(self.env.clone(), Path::new("/data"), options, Arc::new(ByteWeigher))
    }
}

/// Small limits, so that rare things happen often.
pub(crate) fn options() -> Options {
    let log = pelorus_log::Options {
        segment_bytes: 16 << 10,
        reserve_bytes: 8 << 10,
        buffer_bytes: 1 << 20,
        spare_segments: 2,
    };
    Options {
        memory: pelorus_env::Account::unlimited(),
        delta_bytes: 64 << 10,
        cache_bytes: 1 << 20,
        index_bytes: 4 << 10,
        index_idle_micros: 0,
        history_marks: 32 << 20,
        flush_rows: 40,
        checkpoint_log_bytes: 64 << 10,
        checkpoint_micros: u64::MAX,
        sync_micros: 1000,
        log,
    }
}

pub(crate) fn schema() -> TableSchema {
    let int = ColumnType::bigint();
    let text = ColumnType::varchar(20, collation::UTF8MB4_0900_AI_CI);
    let column = |(id, ty): (u32, ColumnType)| StoredColumn { id, ty, filler: None };
    TableSchema {
        columns: (0..).zip([int.not_null(), int.not_null(), int, text]).map(column).collect(),
        key: vec![0, 1],
        segment: vec![KeyFunction { column: 1, function: Function::RoundDown(16) }],
        history: History { micros: 1000, bytes: 1 << 30 },
    }
}

fn columns(rows: &[((i64, i64), Row)]) -> Vec<ArrayRef> {
    let texts = rows.iter().map(|(_, (_, text))| text.as_deref());
    vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|((p, _), _)| *p))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|((_, k), _)| *k))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|(_, (v, _))| *v))),
        Arc::new(StringArray::from_iter(texts)),
    ]
}

/// A put of rows that lie in one partition.
pub(crate) fn put(table: TableId, rows: &[((i64, i64), Row)], mode: Mode) -> Write {
    let partition = rows[0].0.0.to_be_bytes().to_vec();
    Write::Put { table, partition, columns: columns(rows), mode }
}

/// A removal of keys that lie in one partition.
pub(crate) fn remove(table: TableId, keys: &[(i64, i64)]) -> Write {
    let partition = keys[0].0.to_be_bytes().to_vec();
    let p = Int64Array::from_iter_values(keys.iter().map(|(p, _)| *p));
    let k = Int64Array::from_iter_values(keys.iter().map(|(_, k)| *k));
    Write::Remove { table, partition, columns: vec![Arc::new(p), Arc::new(k)] }
}

pub(crate) fn commit(database: &Database, writes: Vec<Write>) -> Result<Receipt> {
    database.commit(&Commit { writes, ..Commit::default() })
}

/// All rows of a table that fulfil conditions, at a snapshot.
pub(crate) fn read_where(
    snapshot: &Snapshot,
    table: TableId,
    predicates: Vec<(usize, Predicate)>,
) -> Result<Content> {
    let table = snapshot.table(table)?;
    let fields: Vec<Field> = table
        .schema()
        .columns
        .iter()
        .map(|column| Field::new(column.id.to_string(), column.ty.arrow(), true))
        .collect();
    let request = ScanRequest {
        columns: vec![0, 1, 2, 3],
        predicates,
        tests: Vec::new(),
        schema: Arc::new(Schema::new(fields[..4].to_vec())),
        hidden: None,
        batch_rows: 64,
    };
    let mut found = Content::new();
    for unit in table.scan(request, |_| true)? {
        let mut cursor = unit.open()?;
        while let Some(batch) = cursor.next_batch()? {
            assert!(batch.num_rows() > 0);
            let int = |at: usize| batch.column(at).as_primitive::<Int64Type>().clone();
            let (p, k, v) = (int(0), int(1), int(2));
            let t = batch.column(3).as_string::<i32>();
            for row in 0..batch.num_rows() {
                let text = t.is_valid(row).then(|| t.value(row).to_owned());
                let before = found.insert((p.value(row), k.value(row)), (v.value(row), text));
                assert_eq!(before, None, "two live rows of one key");
            }
        }
    }
    Ok(found)
}

pub(crate) fn read(snapshot: &Snapshot, table: TableId) -> Result<Content> {
    read_where(snapshot, table, Vec::new())
}

pub(crate) fn newest(database: &Arc<Database>, table: TableId) -> Content {
    let snapshot = database.snapshot();
    let content = read(&snapshot, table).unwrap();
    let seen = snapshot.table(table).unwrap();
    assert_eq!(seen.rows(), content.len() as u64);
    assert_eq!(seen.verify(&|| false).unwrap(), []);
    content
}

/// A row that says who wrote it.
pub(crate) fn row(number: i64) -> Row {
    (number, (number % 3 != 0).then(|| format!("text {}", number % 11)))
}
