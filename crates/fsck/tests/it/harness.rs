//! Two tables of the store, random work on them, and their rows in a form that both sides give.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Decimal128Array, Decimal256Array, Float32Array,
    Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Field, Float32Type, Float64Type, Int64Type, Schema,
    UInt64Type, i256,
};
use pelorus_env::{Clock, Env, SimDisk};
use pelorus_fsck::{Report, Row, Severity, Value, Wide, check_rows};
use pelorus_store::{
    ByteWeigher, Commit, Database, Function, History, KeyFunction, Mode, Options, ScanRequest,
    StoredColumn, TableId, TableSchema, Write,
};
use pelorus_types::{ColumnType, WireType, collation};

/// Rows of all tables as text, each with how often it is there.
pub(crate) type Content = BTreeMap<(u64, Vec<String>), usize>;

/// A clock that goes only when it is told to.
#[derive(Debug)]
pub(crate) struct ManualClock(pub(crate) AtomicU64);

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn since_epoch(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// A disk and a clock.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) disk: SimDisk,
    pub(crate) clock: Arc<ManualClock>,
    env: Env,
}

impl Machine {
    pub(crate) fn new(disk: SimDisk, seed: u64) -> Self {
        let clock = Arc::new(ManualClock(AtomicU64::new(1_000_000_000)));
        let mut env = Env::in_memory(seed);
        env.disk = Arc::new(disk.clone());
        env.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        Self { disk, clock, env }
    }

    pub(crate) fn open(&self) -> Arc<Database> {
        let weigher = Arc::new(ByteWeigher);
        Database::open(self.env.clone(), &folder(), options(), weigher).unwrap()
    }
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from("/data")
}

/// Small limits, so that rare things happen often.
fn options() -> Options {
    let log = pelorus_log::Options {
        segment_bytes: 16 << 10,
        reserve_bytes: 8 << 10,
        buffer_bytes: 1 << 20,
        spare_segments: 2,
    };
    Options {
        memory: pelorus_env::Account::unlimited(),
        delta_bytes: 4 << 20,
        cache_bytes: 1 << 20,
        index_bytes: 4 << 10,
        index_idle_micros: 0,
        history_marks: 32 << 20,
        flush_rows: 40,
        checkpoint_log_bytes: 64 << 10,
        checkpoint_micros: u64::MAX,
        sync_micros: 100_000,
        log,
    }
}

fn column(id: u32, ty: ColumnType) -> StoredColumn {
    StoredColumn { id, ty, filler: None }
}

/// A table with a column of every stored type; the key is an integer and bytes.
pub(crate) fn wide_schema() -> TableSchema {
    let blob = ColumnType::new(WireType::VarString, collation::BINARY, 100, 0);
    let float = ColumnType::new(WireType::Float, collation::BINARY, 12, 31);
    let date = ColumnType::new(WireType::DateTime, collation::BINARY, 19, 0);
    let types = [
        ColumnType::bigint().not_null(),
        blob.not_null(),
        ColumnType::bigint_unsigned(),
        float,
        ColumnType::double(),
        ColumnType::decimal(20, 3),
        ColumnType::decimal(60, 10),
        ColumnType::varchar(60, collation::UTF8MB4_0900_AI_CI),
        blob,
        date,
    ];
    TableSchema {
        columns: (10..).zip(types).map(|(id, ty)| column(id, ty)).collect(),
        key: vec![0, 1],
        segment: vec![KeyFunction { column: 2, function: Function::RoundDown(16) }],
        history: History { micros: 1000, bytes: 1 << 30 },
    }
}

/// A table of one column.
pub(crate) fn narrow_schema() -> TableSchema {
    TableSchema {
        columns: vec![column(0, ColumnType::bigint_unsigned().not_null())],
        key: vec![0],
        segment: Vec::new(),
        history: History { micros: 500, bytes: 1 << 30 },
    }
}

/// Repeatable numbers (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

/// Columns of the wide table for some keys. `style` says how values are spread, so that every
/// codec is met.
pub(crate) fn wide_columns(keys: &[i64], style: u64, seed: u64) -> Vec<ArrayRef> {
    let mut numbers = Numbers(seed);
    let mut raw = |row: usize| -> Option<i64> {
        let random = numbers.next();
        let row = row as i64;
        match style % 8 {
            0 => (!random.is_multiple_of(5)).then_some((random % 1000) as i64 - 500),
            1 => Some(row * 3 + (random % 3) as i64),
            2 => Some(row / 300),
            3 => Some(7),
            4 => None,
            5 => Some(random.cast_signed()),
            6 => Some((random % 4) as i64 * 1_000_000_007),
            _ => (!random.is_multiple_of(900)).then_some(row * 60_000),
        }
    };
    let values: Vec<Option<i64>> = (0..keys.len()).map(&mut raw).collect();
    let each = || values.iter().copied();
    let text = |value: i64| match style % 3 {
        0 => format!("text {}", value % 11),
        1 => format!("a common beginning of more than thirty-two bytes {value}"),
        _ => format!("{value:x}ä"),
    };
    let wide = |value: i64| i256::from_i128(i128::from(value) << (style % 2 * 60)) * i256::from(97);
    let float = |value: i64| match style % 5 {
        0 if value % 14 == 0 => f64::NAN,
        1 if value % 7 == 0 => -0.0,
        _ => value as f64 / 100.0,
    };
    let decimal = Decimal128Array::from_iter(each().map(|it| it.map(i128::from)));
    let wide = Decimal256Array::from_iter(each().map(|it| it.map(wide)));
    let blob = |it: i64| it.to_le_bytes()[..it.unsigned_abs() as usize % 9].to_vec();
    vec![
        Arc::new(Int64Array::from_iter_values(keys.iter().copied())),
        Arc::new(BinaryArray::from_iter_values(keys.iter().map(|key| format!("k\0{key}")))),
        Arc::new(UInt64Array::from_iter(each().map(|it| it.map(i64::unsigned_abs)))),
        Arc::new(Float32Array::from_iter(each().map(|it| it.map(|it| float(it) as f32)))),
        Arc::new(Float64Array::from_iter(each().map(|it| it.map(float)))),
        Arc::new(decimal.with_precision_and_scale(38, 3).unwrap()),
        Arc::new(wide.with_precision_and_scale(76, 10).unwrap()),
        Arc::new(StringArray::from_iter(each().map(|it| it.map(text)))),
        Arc::new(BinaryArray::from_iter(each().map(|it| it.map(blob)))),
        Arc::new(Int64Array::from_iter(each().map(|it| it.map(|it| it.wrapping_abs() << 24)))),
    ]
}

pub(crate) fn put(table: TableId, partition: u8, columns: Vec<ArrayRef>) -> Write {
    Write::Put { table, partition: vec![partition], columns, mode: Mode::Replace }
}

pub(crate) fn commit(database: &Database, writes: Vec<Write>) {
    database.commit(&Commit { writes, ..Commit::default() }).unwrap();
}

/// All rows by the store's own scan.
pub(crate) fn by_store(database: &Arc<Database>) -> Content {
    let snapshot = database.snapshot();
    let mut found = Content::new();
    for table in database.tables() {
        let id = table.id();
        let table = snapshot.table(id).unwrap();
        let columns = table.schema().columns.clone();
        let fields: Vec<Field> =
            columns.iter().map(|it| Field::new(it.id.to_string(), it.ty.arrow(), true)).collect();
        let request = ScanRequest {
            columns: (0..columns.len()).collect(),
            predicates: Vec::new(),
            tests: Vec::new(),
            schema: Arc::new(Schema::new(fields)),
            hidden: None,
            batch_rows: 1000,
        };
        for unit in table.scan(request, |_| true).unwrap() {
            let mut cursor = unit.open().unwrap();
            while let Some(batch) = cursor.next_batch().unwrap() {
                for row in 0..batch.num_rows() {
                    let cells = batch.columns().iter().map(|column| cell(column, row)).collect();
                    *found.entry((id.0, cells)).or_default() += 1;
                }
            }
        }
    }
    found
}

fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return text(Value::Null);
    }
    let wide;
    text(match column.data_type() {
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => Value::UInt(column.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => Value::Float(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => {
            Value::Decimal(column.as_primitive::<Decimal128Type>().value(row))
        }
        DataType::Decimal256(..) => {
            let (low, high) = column.as_primitive::<Decimal256Type>().value(row).to_parts();
            wide = Wide { high, low };
            Value::WideDecimal(wide)
        }
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row)),
        DataType::Binary => Value::Bytes(column.as_binary::<i32>().value(row)),
        other => panic!("{other}"),
    })
}

fn text(value: Value<'_>) -> String {
    match value {
        // Every bit counts.
        Value::Float(value) => format!("float {:x}", value.to_bits()),
        Value::Double(value) => format!("double {:x}", value.to_bits()),
        other => format!("{other:?}"),
    }
}

/// All rows and the report of the second decoder.
pub(crate) fn by_fsck(disk: &SimDisk) -> (Content, Report) {
    let mut found = Content::new();
    let report = check_rows(disk, &folder(), &mut |row: &Row<'_>| {
        let cells = row.values.iter().map(|value| text(*value)).collect();
        *found.entry((row.table, cells)).or_default() += 1;
    });
    (found, report)
}

/// The findings from a severity on, one a line.
pub(crate) fn findings(report: &Report, from: Severity) -> String {
    let lines = report.findings.iter().filter(|it| it.severity >= from);
    lines.map(|finding| format!("{finding:?}\n")).collect()
}

/// All files of the database with their lengths.
pub(crate) fn files(disk: &SimDisk) -> Vec<(PathBuf, u64)> {
    use pelorus_env::{Disk as _, Open};
    let of = |folder: &Path| -> Vec<PathBuf> {
        disk.list(folder).unwrap().into_iter().map(|name| folder.join(name)).collect()
    };
    let all = [of(&folder()), of(&folder().join("log"))].concat();
    let length = |path: &PathBuf| Some(disk.open(path, Open::Read).ok()?.length().unwrap());
    all.into_iter().filter_map(|path| Some((path.clone(), length(&path)?))).collect()
}
