//! Damage to every file of a database (T8): what is read afterwards is right, or an error that
//! names a file; never something else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_env::SimDisk;
use pelorus_error::{Code, Result};
use pelorus_fsck::{Finding, Severity};
use pelorus_store::{Commit, Database, Mode, TableId};

use crate::harness::{Content, Machine, commit, put, read, read_where, remove, row, schema};
use crate::referenced::{blocks, of_log, sample, slots};

/// All that can be read of a database: its values, and its tables at several versions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    values: Vec<(Vec<u8>, Vec<u8>)>,
    tables: Vec<Content>,
}

#[derive(Debug)]
struct Specimen {
    disk: SimDisk,
    /// The files as they were some time before.
    earlier: SimDisk,
    tables: Vec<TableId>,
    versions: Vec<u64>,
    /// The last one is what must be read; after damage at the end of a log that was not closed,
    /// the one before is right, too.
    images: Vec<Image>,
}

impl Image {
    /// What it says of one of two tables.
    fn of_table(&self, at: usize) -> Self {
        let tables = self.tables.iter().skip(at).step_by(2).cloned().collect();
        Self { values: self.values.clone(), tables }
    }
}

fn image(database: &Arc<Database>, tables: &[TableId], versions: &[u64]) -> Result<Image> {
    let mut contents = Vec::new();
    for version in versions.iter().chain([&u64::MAX]) {
        let snapshot = database.snapshot_at(*version);
        for table in tables {
            contents.push(read(&snapshot, *table)?);
        }
    }
    for table in tables {
        database.snapshot().table(*table)?.count_rows()?;
    }
    Ok(Image { values: database.values(b""), tables: contents })
}

/// A database with chunks of several versions, deltas, marks of both, and a log.
fn specimen(closed: bool) -> Specimen {
    let machine = Machine::new(1);
    let database = machine.open().unwrap();
    let mut long = schema();
    long.history.micros = u64::MAX;
    let tables = vec![
        database.create_table(long.clone(), b"one").unwrap(),
        database.create_table(long, b"two").unwrap(),
    ];
    let (mut versions, mut images) = (Vec::new(), Vec::new());
    let mut earlier = machine.disk.snapshot();
    for round in 0..12_i64 {
        let mut writes = Vec::new();
        for &table in &tables {
            let p = round % 2;
            let rows: Vec<_> =
                (0..30).map(|k| ((p, k * (round % 3 + 1)), row(round + k))).collect();
            writes.push(put(table, &rows, Mode::Replace));
            let gone: Vec<_> = (0..4).map(|k| (1 - p, k * 7)).collect();
            writes.push(remove(table, &gone));
        }
        let values = vec![(vec![b'v', u8::try_from(round).unwrap()], Some(vec![7; 20]))];
        let receipt = database.commit(&Commit { writes, values, ..Commit::default() }).unwrap();
        match round {
            2 | 7 => versions.push(receipt.version),
            4 | 6 => while database.maintain().unwrap() {},
            5 | 9 => database.checkpoint().unwrap(),
            _ => {}
        }
        if round == 6 {
            earlier = machine.disk.snapshot();
        }
        images.push(image(&database, &tables, &versions).unwrap());
    }
    if closed {
        database.close().unwrap();
    } else {
        // The last record can be told from a torn write only once another follows it.
        commit(&database, vec![remove(tables[0], &[(0, 1), (0, 2)])]).unwrap();
        images.push(image(&database, &tables, &versions).unwrap());
    }
    let images = images.split_off(images.len() - if closed { 1 } else { 2 });
    drop(database);
    Specimen { disk: machine.disk.snapshot(), earlier, tables, versions, images }
}

impl Specimen {
    fn files(&self) -> Vec<PathBuf> {
        let disk: Arc<dyn pelorus_env::Disk> = Arc::new(self.disk.clone());
        let mut files = Vec::new();
        for folder in ["/data", "/data/log"] {
            let folder = Path::new(folder);
            let names = disk.list(folder).unwrap().into_iter().filter(|name| name.contains('.'));
            files.extend(names.map(|name| folder.join(name)));
        }
        assert!(files.len() >= 4, "{files:?}");
        files
    }

    fn bytes(&self, path: &Path) -> Vec<u8> {
        self.disk.durable_bytes(path).unwrap()
    }

    /// Damages a copy and reads it; whether the damage was found out. `alone` is the table whose
    /// file is damaged, if no other file is: all other tables must be as they were.
    fn check(&self, what: &str, alone: Option<TableId>, damage: impl FnOnce(&SimDisk)) -> bool {
        let disk = self.disk.fork(5);
        damage(&disk);
        let machine = Machine::with(disk, 5);
        let opened = machine.open();
        for (at, table) in self.tables.iter().enumerate() {
            if alone.is_some_and(|alone| alone != *table) {
                let database = opened.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
                let found = image(database, &[*table], &self.versions);
                let found = found.unwrap_or_else(|error| panic!("{what}: another table: {error}"));
                let as_it_was = self.images.iter().any(|image| image.of_table(at) == found);
                assert!(as_it_was, "{what}: something else is read in another table");
            }
        }
        let found = opened.and_then(|it| image(&it, &self.tables, &self.versions));
        match found {
            Ok(found) => {
                assert!(self.images.contains(&found), "{what}: something else is read");
                false
            }
            Err(error) => {
                let codes = [Code::FileDamaged, Code::FileVersion, Code::FileRead];
                assert!(codes.contains(&error.code()), "{what}: {:?} {error}", error.code());
                assert!(error.message().contains("/data"), "{what}: {error} names no file");
                true
            }
        }
    }
}

fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    disk.truncate_raw(path, 0).unwrap();
    disk.overwrite(path, 0, bytes).unwrap();
}

/// Offsets of a file: all near the beginning of blocks, and some others.
fn offsets(length: usize, step: usize) -> impl Iterator<Item = usize> {
    let near = |at: &usize| at % 4096 < 96;
    let picked =
        move |at: &usize| near(at) && at.is_multiple_of(step / 16 + 1) || at.is_multiple_of(step);
    (0..length).filter(picked)
}

fn damage_everything(specimen: &Specimen) {
    for path in specimen.files() {
        let bytes = specimen.bytes(&path);
        let name = path.display();
        let mut found = 0;
        let mut tried = 0;
        let of_table = |id: &&TableId| path.ends_with(format!("table-{}.blocks", id.0));
        let alone = specimen.tables.iter().find(of_table).copied();
        let mut check_with = |what: String, alone, damage: &dyn Fn(&SimDisk)| {
            tried += 1;
            found += u32::from(specimen.check(&format!("{name}: {what}"), alone, damage));
        };
        let mut check = |what: String, damage: &dyn Fn(&SimDisk)| check_with(what, alone, damage);
        for at in offsets(bytes.len(), 131) {
            // Zeros are mostly space that nothing is in.
            if at % 4096 < 96 || bytes[at] != 0 {
                let bit = u8::try_from(at % 8).unwrap();
                check(format!("bit {bit} of {at}"), &|disk| {
                    disk.flip_bit(&path, at as u64, bit).unwrap()
                });
            }
        }
        for at in (0..bytes.len())
            .step_by(512)
            .filter(|at| bytes[*at..].iter().take(512).any(|it| *it != 0))
        {
            let sector = |byte: u8| vec![byte; 512.min(bytes.len() - at)];
            check(format!("zeros at {at}"), &|disk| {
                disk.overwrite(&path, at as u64, &sector(0)).unwrap();
            });
            check(format!("rubbish at {at}"), &|disk| {
                disk.overwrite(&path, at as u64, &sector(0xA5)).unwrap();
            });
        }
        for at in (0..bytes.len()).step_by(1777) {
            check(format!("cut at {at}"), &|disk| disk.truncate_raw(&path, at as u64).unwrap());
        }
        // Blocks that are whole, but not the ones that belong there.
        let units: Vec<usize> = (0..bytes.len() / 4096)
            .filter(|at| bytes[at * 4096..at * 4096 + 64].iter().any(|it| *it != 0))
            .collect();
        for (&a, &b) in units.iter().flat_map(|a| units.iter().map(move |b| (a, b))).step_by(3) {
            let unit = |at: usize| &bytes[at * 4096..at * 4096 + 4096];
            check(format!("units {a} and {b} change places"), &|disk| {
                disk.overwrite(&path, a as u64 * 4096, unit(b)).unwrap();
                disk.overwrite(&path, b as u64 * 4096, unit(a)).unwrap();
            });
            check(format!("unit {a} has the bytes of {b}"), &|disk| {
                disk.overwrite(&path, a as u64 * 4096, unit(b)).unwrap();
            });
        }
        check("it is not there".to_owned(), &|disk| {
            let disk: Arc<dyn pelorus_env::Disk> = Arc::new(disk.clone());
            disk.remove(&path).unwrap();
        });
        if let Ok(old) = specimen.earlier.durable_bytes(&path) {
            check("it is an older one".to_owned(), &|disk| replace(disk, &path, &old));
        }
        for other in specimen.files().iter().filter(|other| **other != path) {
            let theirs = specimen.bytes(other);
            check(format!("it is {}", other.display()), &|disk| replace(disk, &path, &theirs));
        }
        for other in specimen.files().iter().filter(|other| **other != path) {
            let theirs = specimen.bytes(other);
            check_with(format!("it changes places with {}", other.display()), None, &|disk| {
                replace(disk, &path, &theirs);
                replace(disk, other, &bytes);
            });
        }
        assert!(found > 3, "{name}: {found} of {tried} were found out");
    }
}

/// A flipped bit of any byte that is referred to is found out when the database is opened and read,
/// or, where the store has another copy of what it needs, by the second decoder.
fn flip_what_is_referred_to(specimen: &Specimen) {
    let folder = Path::new("/data");
    let mut pieces = of_log(&specimen.disk, folder);
    for path in specimen.files().iter().filter(|path| path.to_string_lossy().ends_with(".blocks")) {
        pieces.extend(slots(&specimen.disk, path));
        pieces.extend(blocks(&specimen.disk, path).into_iter().map(|(piece, _)| piece));
    }
    let samples = sample(&pieces, 1000, 3);
    let mut by_store = 0;
    for (number, at, bit) in &samples {
        let path = &pieces[*number].0;
        let what = format!("{}: bit {bit} of {at}", path.display());
        let of_table = |id: &&TableId| path.ends_with(format!("table-{}.blocks", id.0));
        let alone = specimen.tables.iter().find(of_table).copied();
        let damage = |disk: &SimDisk| disk.flip_bit(path, *at, *bit).unwrap();
        if specimen.check(&what, alone, damage) {
            by_store += 1;
            continue;
        }
        let disk = specimen.disk.fork(5);
        damage(&disk);
        let report = pelorus_fsck::check(&disk, folder);
        let is_it = |it: &Finding| it.severity >= Severity::Warning && it.file == *path;
        assert!(report.findings.iter().any(is_it), "{what}: nobody notices");
    }
    assert!(by_store > samples.len() / 10, "{by_store} of {}", samples.len());
}

#[test]
fn what_is_referred_to_is_guarded() {
    flip_what_is_referred_to(&specimen(true));
    flip_what_is_referred_to(&specimen(false));
}

#[test]
fn damage_to_a_closed_database_is_found_out_or_harmless() {
    damage_everything(&specimen(true));
}

#[test]
fn damage_to_a_database_that_was_not_closed_is_found_out_or_harmless() {
    damage_everything(&specimen(false));
}

/// Bytes of chunks are verified when they are read, the description of their columns included.
#[test]
fn no_byte_of_a_chunk_can_change_unnoticed() {
    let specimen = specimen(true);
    let path = PathBuf::from(format!("/data/table-{}.blocks", specimen.tables[0].0));
    let bytes = specimen.bytes(&path);
    let found = (65536..bytes.len())
        .filter(|at| bytes[*at] != 0)
        .step_by(5)
        .filter(|at| {
            let what = format!("byte {at}");
            specimen.check(&what, Some(specimen.tables[0]), |disk| {
                disk.overwrite(&path, *at as u64, &[0]).unwrap();
            })
        })
        .count();
    assert!(found > 100, "{found}");
}

/// What says where which values are is verified before anything is left out by it.
#[test]
fn no_zone_can_change_and_hide_rows() {
    let machine = Machine::new(8);
    let database = machine.open().unwrap();
    let table = database.create_table(schema(), b"").unwrap();
    let rows: Vec<_> = (0..100).map(|k| ((1, k), row(k))).collect();
    commit(&database, vec![put(table, &rows, Mode::Insert)]).unwrap();
    while database.maintain().unwrap() {}
    database.close().unwrap();
    drop(database);
    let path = PathBuf::from(format!("/data/table-{}.blocks", table.0));
    let bytes = machine.disk.durable_bytes(&path).unwrap();
    let mut found = 0;
    for at in (65536..bytes.len()).filter(|at| bytes[*at] != 0) {
        let copy = Machine::with(machine.disk.fork(1), 1);
        copy.disk.overwrite(&path, at as u64, &[bytes[at] ^ 1]).unwrap();
        let database = copy.open().unwrap();
        for (column, key) in [(1, 0), (1, 99), (2, 1), (2, 98)] {
            let predicate = Predicate::Compare(Op::Eq, Scalar::Int(key));
            let snapshot = database.snapshot();
            match read_where(&snapshot, table, vec![(column, predicate)]) {
                Ok(content) => assert_eq!(content.len(), 1, "byte {at}"),
                Err(error) => {
                    assert_eq!(error.code(), Code::FileDamaged, "byte {at}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 100, "{found}");
}

/// A table whose file is damaged or missing is left out: others go on, through more commits,
/// checkpoints and restarts; the log that it needs is kept; it is whole again when the file is back.
#[test]
fn a_damaged_table_stops_alone_and_loses_nothing() {
    for missing in [false, true] {
        let machine = Machine::new(3);
        let database = machine.open().unwrap();
        let [one, two] = [b"one", b"two"].map(|it| database.create_table(schema(), it).unwrap());
        let rows =
            |from: i64| -> Vec<_> { (from..from + 50).map(|k| ((k % 2, k), row(k))).collect() };
        commit(
            &database,
            vec![put(one, &rows(0), Mode::Replace), put(two, &rows(0), Mode::Replace)],
        )
        .unwrap();
        database.checkpoint().unwrap();
        // What follows is only in the log.
        commit(
            &database,
            vec![put(one, &rows(20), Mode::Replace), put(two, &rows(20), Mode::Replace)],
        )
        .unwrap();
        let expected = read(&database.snapshot(), one).unwrap();
        drop(database);
        let path = PathBuf::from(format!("/data/table-{}.blocks", one.0));
        let bytes = machine.disk.durable_bytes(&path).unwrap();
        if missing {
            let disk: Arc<dyn pelorus_env::Disk> = Arc::new(machine.disk.clone());
            disk.remove(&path).unwrap();
        } else {
            machine.disk.overwrite(&path, 0, &[0xA5; 65536]).unwrap();
        }
        let mut more = 100;
        for _ in 0..3 {
            let database = machine.open().unwrap();
            assert_eq!(database.broken_tables(), [(one, b"one".to_vec())]);
            let error = commit(&database, vec![put(one, &rows(0), Mode::Replace)]).unwrap_err();
            assert_eq!(error.code(), Code::FileDamaged);
            assert!(error.message().contains("table-"), "{error}");
            for _ in 0..20 {
                commit(&database, vec![put(two, &rows(more), Mode::Replace)]).unwrap();
                more += 50;
                database.checkpoint().unwrap();
            }
            database.close().unwrap();
        }
        if !missing {
            machine.disk.overwrite(&path, 0, &bytes).unwrap();
            let database = machine.open().unwrap();
            assert!(database.broken_tables().is_empty());
            assert_eq!(read(&database.snapshot(), one).unwrap(), expected);
            let there = i64::try_from(read(&database.snapshot(), two).unwrap().len());
            assert_eq!(there, Ok(more - 100 + 70));
            database.close().unwrap();
            continue;
        }
        let database = machine.open().unwrap();
        database.drop_table(one).unwrap();
        assert!(database.broken_tables().is_empty());
        assert_eq!(
            commit(&database, vec![remove(one, &[(0, 0)])]).unwrap_err().code(),
            Code::TableChanged
        );
        database.close().unwrap();
        assert!(machine.open().unwrap().broken_tables().is_empty());
    }
}
