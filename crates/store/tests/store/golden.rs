//! The files of a small database, checked in (T16): a change here is a change of a format.
//!
//! `golden/database.txt` has each file's bytes in lines of 32, without those that are zeros alone.
//! When a format gets a new version, the files of the old one stay beside it under another name, and
//! must still be read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_env::{Open, read_exact_at, write_all_at};
use pelorus_store::{Commit, Database, Function, KeyFunction, Mode, TableId};

use crate::harness::{Content, Machine, commit, newest, put, remove, row, schema};

const LINE: usize = 32;
const GOLDEN: &str = include_str!("golden/database.txt");

/// Two tables with chunks, dead rows, deltas, a dropped partition and values; the newest commits are
/// in the log alone. As after a crash.
fn database(machine: &Machine) -> (Arc<Database>, [TableId; 2]) {
    let database = machine.open().unwrap();
    let mut other = schema();
    other.segment = vec![KeyFunction { column: 1, function: Function::Hash(3) }];
    let tables = [
        database.create_table(schema(), b"one").unwrap(),
        database.create_table(other, b"other").unwrap(),
    ];
    let rows = |p: i64, keys: std::ops::Range<i64>| -> Vec<_> {
        keys.map(|k| ((p, k), row(k * 7 + p))).collect()
    };
    let step = |writes, values| {
        machine.clock.0.fetch_add(10, std::sync::atomic::Ordering::Relaxed);
        database.commit(&Commit { writes, values, ..Commit::default() }).unwrap();
    };
    step(vec![put(tables[0], &rows(0, 0..60), Mode::Insert)], vec![]);
    step(vec![put(tables[0], &rows(2, 0..5), Mode::Insert)], vec![]);
    step(
        vec![put(tables[1], &rows(1, 0..50), Mode::Insert)],
        vec![(b"a".into(), Some(b"1".into()))],
    );
    database.optimize(tables[0]).unwrap();
    database.drop_partitions(tables[0], &[2_i64.to_be_bytes().to_vec()]).unwrap();
    step(
        vec![
            remove(tables[0], &[(0, 3), (0, 40)]),
            put(tables[1], &rows(1, 48..55), Mode::Replace),
        ],
        vec![(b"b".into(), Some(b"2".into()))],
    );
    database.checkpoint().unwrap();
    step(vec![put(tables[0], &rows(0, 58..63), Mode::Ignore)], vec![(b"a".into(), None)]);
    (database, tables)
}

/// The files of a machine as text.
fn dump(machine: &Machine) -> String {
    let disk = &machine.env.disk;
    let mut text = String::new();
    for folder in ["/data", "/data/log"] {
        for name in disk.list(Path::new(folder)).unwrap() {
            let path = PathBuf::from(folder).join(name);
            let Ok(file) = disk.open(&path, Open::Read) else { continue };
            let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
            read_exact_at(&*file, &mut bytes, 0).unwrap();
            writeln!(text, "file {} {}", path.display(), bytes.len()).unwrap();
            for (at, line) in bytes.chunks(LINE).enumerate() {
                if line.iter().any(|&byte| byte != 0) {
                    write!(text, "{:x} ", at * LINE).unwrap();
                    line.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// A machine with the files of such a text.
fn restore(text: &str) -> Machine {
    let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut bytes = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["file", path, length] = words[..] {
            let length = length.parse().unwrap();
            bytes = Some(files.entry(path.into()).or_insert_with(|| vec![0; length]));
        } else {
            let at = usize::from_str_radix(words[0], 16).unwrap();
            for (index, pair) in words[1].as_bytes().chunks(2).enumerate() {
                let pair = std::str::from_utf8(pair).unwrap();
                bytes.as_mut().unwrap()[at + index] = u8::from_str_radix(pair, 16).unwrap();
            }
        }
    }
    let machine = Machine::new(5);
    let disk = &machine.env.disk;
    disk.create_folder(Path::new("/data/log")).unwrap();
    for (path, bytes) in files {
        let file = disk.open(&path, Open::Create).unwrap();
        write_all_at(&*file, &bytes, 0).unwrap();
        file.sync().unwrap();
    }
    for folder in ["/data", "/data/log"] {
        disk.sync_folder(Path::new(folder)).unwrap();
    }
    machine
}

fn contents(database: &Arc<Database>, tables: [TableId; 2]) -> [Content; 2] {
    tables.map(|table| newest(database, table))
}

#[test]
fn the_files_are_those_of_the_first_version() {
    let machine = Machine::new(5);
    drop(database(&machine).0);
    let found = dump(&machine);
    if found != GOLDEN {
        let at = std::env::temp_dir().join("pelorus-database.txt");
        std::fs::write(&at, &found).unwrap();
        panic!("the files of a database have changed; they are in {}", at.display());
    }
}

#[test]
fn files_of_the_first_version_are_read_and_gone_on_with() {
    let (expected, tables) = {
        let (database, tables) = database(&Machine::new(5));
        (contents(&database, tables), tables)
    };
    assert_eq!(expected[0].len(), 61);
    let machine = restore(GOLDEN);
    let report = pelorus_fsck::check(&*machine.env.disk, Path::new("/data"));
    assert!(report.is_sound(), "{report:?}");
    let database = machine.open().unwrap();
    assert_eq!(contents(&database, tables), expected);
    assert_eq!((database.value(b"a"), database.value(b"b")), (None, Some(b"2".to_vec())));
    commit(&database, vec![put(tables[1], &[((1, 99), row(1))], Mode::Insert)]).unwrap();
    database.close().unwrap();
    drop(database);
    let database = machine.open().unwrap();
    assert_eq!(newest(&database, tables[1]).len(), expected[1].len() + 1);
}
