//! Catalogs, manifests, deltas, chunks and records of the log that are damaged under right checksums:
//! the store and the second decoder must agree on them. Tests and the fuzz target `store` run it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, UInt64Array};
use pelorus_env::SimDisk;
use pelorus_fsck::{Kind, inspect, render};
use pelorus_store::{ByteWeigher, Database, Options};

use crate::harness::{
    Content, Machine, by_fsck, by_store, commit, files, folder, narrow_schema, put, wide_columns,
    wide_schema,
};
use crate::reseal::{reseal, reseal_column, reseal_record};

/// A database with chunks, deltas, dead rows, both checkpoints, and a log beyond them: a copy of
/// one of a few.
pub(crate) fn database(seed: u64) -> SimDisk {
    static MADE: OnceLock<Vec<SimDisk>> = OnceLock::new();
    let made = MADE.get_or_init(|| (0..4).map(make).collect());
    made[usize::try_from(seed % 4).unwrap()].fork(seed)
}

fn make(seed: u64) -> SimDisk {
    let machine = Machine::new(SimDisk::new(seed), seed);
    let database = machine.open();
    let wide = database.create_table(wide_schema(), b"wide").unwrap();
    let narrow = database.create_table(narrow_schema(), b"").unwrap();
    let keys = |from: i64| -> Vec<i64> { (from..from + 60).collect() };
    let numbers = |from: u64| -> Vec<ArrayRef> {
        vec![Arc::new(UInt64Array::from_iter_values(from..from + 30))]
    };
    for round in 0..8_i64 {
        let number = round.unsigned_abs();
        let columns = wide_columns(&keys(round * 20), seed + number, number);
        let columns_of_other = wide_columns(&keys(5), 1, number);
        commit(
            &database,
            vec![
                put(wide, 1, columns),
                put(wide, 0, columns_of_other),
                put(narrow, 0, numbers(number * 7)),
            ],
        );
        if round == 2 || round == 4 {
            while database.maintain().unwrap() {}
        }
        if round == 3 || round == 5 {
            database.checkpoint().unwrap();
        }
    }
    machine.disk
}

/// Opens with the store and reads all rows.
pub(crate) fn store_reads(disk: &SimDisk) -> Result<Content, String> {
    let mut env = pelorus_env::Env::in_memory(1);
    env.disk = Arc::new(disk.clone());
    let opened = Database::open(env, &folder(), Options::default(), Arc::new(ByteWeigher));
    let database = opened.map_err(|error| pelorus_error::display_chain(&error))?;
    if let Some((id, _)) = database.broken_tables().first() {
        return Err(format!("table {} is left out", id.0));
    }
    let read = std::panic::AssertUnwindSafe(|| by_store(&database));
    std::panic::catch_unwind(read).map_err(|_| "rows cannot be read".to_owned())
}

pub(crate) fn data_files(disk: &SimDisk) -> Vec<PathBuf> {
    let is_data = |path: &PathBuf| path.extension().is_some_and(|it| it == "blocks");
    files(disk).into_iter().map(|(path, _)| path).filter(is_data).collect()
}

/// Changes bytes of a block of a data file. Nothing panics, and where nothing is complained about, the
/// store has the rows that the second decoder has.
pub(crate) fn agree_on_a_block(seed: u64, of: u16, block: u16, changes: &[(u32, u8)]) {
    let disk = database(seed);
    let all = data_files(&disk);
    let path = &all[usize::from(of) % all.len()];
    let view = inspect(&disk, path);
    let block = &view.blocks[usize::from(block) % view.blocks.len()];
    match changes {
        [(at, byte), ..] if block.kind == Kind::Chunk => {
            reseal_column(&disk, path, &view, block, *at, *byte);
        }
        _ => reseal(&disk, path, &view, block, changes),
    }
    let (rows, report) = by_fsck(&disk);
    render(&report);
    render(&inspect(&disk, path));
    // Whatever the second decoder says, the store may refuse, and nothing worse.
    let by_store = store_reads(&disk);
    if report.is_sound() {
        assert!(by_store == Ok(rows), "{path:?} {block:?}: {:?}", by_store.err());
    }
}

/// The same of a byte of a record of the log.
pub(crate) fn agree_on_a_record(seed: u64, record: u16, at: u32, byte: u8) {
    let disk = database(seed);
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|it| it == "log");
    let segments = files(&disk).into_iter().map(|(path, _)| path).filter(is_segment);
    reseal_record(&disk, &segments.collect::<Vec<_>>(), record, at, byte);
    let (rows, report) = by_fsck(&disk);
    let by_store = store_reads(&disk);
    if report.is_sound() {
        assert!(by_store == Ok(rows), "{:?}", by_store.err());
    }
}

/// What an input of bytes says to change: a block or a record, and where.
pub(crate) fn run(input: &[u8]) {
    let Some(([what, of, block, more], rest)) = input.split_first_chunk() else { return };
    let block = u16::from_le_bytes([*block, *more]);
    let change = |[a, b, c, d, byte]: &[u8; 5]| (u32::from_le_bytes([*a, *b, *c, *d]), *byte);
    let changes: Vec<(u32, u8)> = rest.as_chunks::<5>().0.iter().take(4).map(change).collect();
    match changes.as_slice() {
        [] => {}
        [(at, byte), ..] if what % 4 == 0 => agree_on_a_record((*of).into(), block, *at, *byte),
        changes => agree_on_a_block((what / 4).into(), (*of).into(), block, changes),
    }
}
