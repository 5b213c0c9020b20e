//! Checks the whole folder of a database.

use std::collections::BTreeMap;
use std::path::Path;

use pelorus_env::Disk;

use crate::blocks::{BlockFile, Expected, Generation, Header};
use crate::bytes::Decoded;
use crate::catalog::Catalog;
use crate::log::{self, Needed};
use crate::part::CATALOG;
use crate::replay::{Replay, TableLog};
use crate::report::{Findings, LogReport, Place, Report, TableReport, advice};
use crate::rows::Sink;
use crate::table::TableFile;

/// The file that tells that there is a database.
const CATALOG_FILE: &str = "catalog.blocks";

/// Checks a database and gives its live rows to `sink`.
pub(crate) fn check(disk: &dyn Disk, folder: &Path, mut sink: Sink<'_>) -> Report {
    let mut report = Report { folder: folder.to_owned(), ..Report::default() };
    let mut findings = Findings::default();
    let path = folder.join(CATALOG_FILE);
    let expected = Expected { database: None, table: Some(0) };
    let file = BlockFile::open(disk, &path, expected, &mut findings);
    let opened = file.as_ref().and_then(|file| check_catalog(file, &mut findings));
    let database = opened.as_ref().map(|(_, header)| header.database);
    let mut tables = table_files(disk, folder, database, &mut findings);
    match opened {
        None => {
            report.not_checked.push(
                "which tables there are, their rows, and the log, since the catalog cannot be read"
                    .to_owned(),
            );
            for table in tables.values_mut() {
                report.tables.push(table.check(None, None, &mut sink, &mut report.not_checked));
                findings.append(&mut table.findings);
            }
        }
        Some((catalog, header)) => {
            let needed = needed((&catalog, &header, &path), &mut tables, &mut findings);
            let mut of_log = LogReport::default();
            let mut replay = begin(&catalog, header.lsn, &tables);
            let folder = folder.join("log");
            let mut found = |lsn: u64, bytes: &[u8]| -> Decoded<()> {
                replay.record(lsn, bytes, &|number| tables.get(&number)?.state())
            };
            let is_whole = log::read(disk, &folder, needed, &mut findings, &mut of_log, &mut found);
            report.version = replay.version;
            report.log = Some(of_log);
            check_tables(&mut replay, is_whole, &mut tables, &mut findings, &mut report, &mut sink);
        }
    }
    report.findings = findings.list;
    report.omitted = findings.omitted;
    report
}

/// Checks all blocks of the catalog's file and reads the newest catalog.
fn check_catalog(file: &BlockFile, findings: &mut Findings) -> Option<(Catalog, Header)> {
    let chosen = file.chosen.as_ref()?;
    if let Some(fallback) = &file.fallback {
        read_catalog(file, fallback, findings, advice::SPARE);
    }
    let catalog = read_catalog(file, chosen, findings, advice::RESTORE)?;
    Some((catalog, chosen.header.clone()))
}

/// Verifies all blocks of one checkpoint of the catalog; gives what its root says.
fn read_catalog(
    file: &BlockFile,
    generation: &Generation,
    findings: &mut Findings,
    advice: &'static str,
) -> Option<Catalog> {
    let mut catalog = None;
    let root = generation.header.root;
    let place = Place::file(&file.path);
    for entry in generation.entries.values() {
        let place = place.block(entry.number).at(entry.offset);
        let read = file.read(&generation.header, entry).and_then(|payload| {
            if entry.number != root {
                return Ok(());
            }
            if entry.kind != CATALOG {
                return Err(format!("the root has kind {} instead of {CATALOG}", entry.kind));
            }
            catalog = Some(Catalog::parse(&payload)?);
            Ok(())
        });
        if let Err(why) = read {
            findings.damage(place, format!("the catalog is damaged: {why}"), advice);
        }
    }
    // A new file's first headers have none.
    if root == 0 && generation.header.checkpoint > 1 {
        findings.damage(place, "there is no catalog in it", advice);
    }
    catalog
}

/// The data files in the folder; notes what else is there.
fn table_files(
    disk: &dyn Disk,
    folder: &Path,
    database: Option<[u8; 16]>,
    findings: &mut Findings,
) -> BTreeMap<u64, TableFile> {
    let mut tables = BTreeMap::new();
    let names = match disk.list(folder) {
        Ok(names) => names,
        Err(error) => {
            let what = format!("the folder cannot be read: {error}");
            findings.damage(Place::file(folder), what, advice::READ);
            return tables;
        }
    };
    for name in names {
        let path = folder.join(&name);
        let number = name.strip_prefix("table-").and_then(|it| it.strip_suffix(".blocks"));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        match number {
            Some(number) if name == format!("table-{number}.blocks") => {
                tables.insert(number, TableFile::open(disk, &path, number, database));
            }
            _ if name == CATALOG_FILE || name == "log" => {}
            _ if name == "catalog.draft" => findings.note(
                Place::file(&path),
                "a catalog that was never finished",
                advice::NOTHING,
            ),
            _ => findings.note(Place::file(&path), "it is not the database's", advice::NOTHING),
        }
    }
    tables
}

/// Up to which log position the file of a table holds everything.
fn holds(tables: &BTreeMap<u64, TableFile>, number: u64, created: u64) -> Option<u64> {
    tables.get(&number)?.state().map(|(lsn, _)| lsn.max(created))
}

/// Which part of the log is needed; reports files that are too old for that.
fn needed(
    (catalog, header, path): (&Catalog, &Header, &Path),
    tables: &mut BTreeMap<u64, TableFile>,
    findings: &mut Findings,
) -> Needed {
    let (mut from, mut known) = (header.lsn, header.lsn);
    for (&number, entry) in &catalog.tables {
        let Some(holds) = holds(tables, number, entry.created) else { continue };
        known = known.max(holds);
        if entry.changed > header.lsn {
            let what = format!(
                "the catalog says that table {number} was changed at {}, but it ends at {}",
                entry.changed, header.lsn
            );
            let place = Place::file(path).block(header.root);
            findings.damage(place, what, advice::RESTORE);
        }
        if holds >= entry.changed {
            continue;
        }
        if holds >= catalog.log_start {
            from = from.min(holds);
        } else if let Some(table) = tables.get_mut(&number) {
            table.is_old(format!(
                "the file is older than the catalog: it ends at log position {holds}, the table \
                 was changed at {}, and the log before {} is gone",
                entry.changed, catalog.log_start
            ));
        }
    }
    Needed { uuid: header.database, from, known }
}

/// The state that the data files hold.
fn begin(catalog: &Catalog, lsn: u64, tables: &BTreeMap<u64, TableFile>) -> Replay {
    let mut replay = Replay::new(lsn, catalog.version);
    for (&number, entry) in &catalog.tables {
        replay.call(number, entry.name.clone());
        match tables.get(&number).and_then(TableFile::state) {
            Some((lsn, manifest)) => {
                replay.version = replay.version.max(manifest.map_or(0, |it| it.version));
                let holds = lsn.max(entry.created);
                let table = TableLog::new(entry.schema.clone(), holds, manifest);
                replay.tables.insert(number, table);
            }
            None => {
                replay.lost.insert(number);
            }
        }
    }
    replay
}

/// Checks the tables that are there once the log was read.
fn check_tables(
    replay: &mut Replay,
    is_whole: bool,
    tables: &mut BTreeMap<u64, TableFile>,
    findings: &mut Findings,
    report: &mut Report,
    sink: &mut Sink<'_>,
) {
    for table in replay.tables.values_mut() {
        table.is_broken |= !is_whole;
    }
    let newest = is_whole.then_some(replay.version);
    for (number, table) in &mut *tables {
        let log = replay.tables.get(number);
        if log.is_none() && !replay.lost.contains(number) {
            let path = report.folder.join(format!("table-{number}.blocks"));
            let what = "no table has this file: it was dropped, or never finished being made";
            findings.note(Place::file(&path), what, advice::LEFT_OVER);
            continue;
        }
        let of_table = table.check(newest, log, sink, &mut report.not_checked);
        let name = replay.names.get(number).cloned();
        report.tables.push(TableReport { name, ..of_table });
        findings.append(&mut table.findings);
    }
    for number in replay.lost.iter().filter(|number| !tables.contains_key(number)) {
        let path = report.folder.join(format!("table-{number}.blocks"));
        let name = replay.names.get(number).map(|name| format!(" ({name})")).unwrap_or_default();
        let what = format!("the file of table {number}{name} is missing");
        findings.damage(Place::file(&path), what, advice::MISSING);
    }
}
