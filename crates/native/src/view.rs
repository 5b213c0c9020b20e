//! Native tables as the queries of one statement see them: all at one version, with the uncommitted
//! rows of the session's open transaction over it.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_functions::{Members, TimeZone};
use pelorus_query::{AsOf, NativeDatabase, NativeTable, PartitionPruner, TablePart};
use pelorus_store::{Snapshot, TableSnapshot};
use pelorus_types::Column;

use super::catalog::Catalog;
use super::definition::{NativeDef, key_name};
use super::partition::explicit_selection::NamedPartitions;
use super::transaction::NativeReads;

/// One native database as a statement sees it.
#[derive(Debug)]
pub struct NativeView {
    catalog: Arc<Catalog>,
    database: String,
    /// The name that clients see.
    shown: String,
    reads: NativeReads,
    time_zone: TimeZone,
    /// Now, in microseconds since 1970; later moments are unknown.
    now_micros: i64,
    /// The part of its table that a table is a copy of, if it is one.
    part_of: fn(&NativeDef) -> Option<TablePart>,
}

impl NativeView {
    /// The database of a name as a statement sees it, under the name that clients see.
    pub fn new(
        catalog: Arc<Catalog>,
        (database, shown): (&str, &str),
        reads: NativeReads,
        time_zone: TimeZone,
    ) -> Self {
        let (database, shown) = (database.to_owned(), shown.to_owned());
        let (now_micros, part_of) = (i64::MAX, |_: &NativeDef| None);
        Self { catalog, database, shown, reads, time_zone, now_micros, part_of }
    }

    /// The same, for a statement that began at a moment.
    pub fn at(self, now_micros: i64) -> Self {
        Self { now_micros, ..self }
    }

    /// The same for a database of copies, some of which may have a part of their table only.
    pub fn with_parts(self, part_of: fn(&NativeDef) -> Option<TablePart>) -> Self {
        Self { part_of, ..self }
    }

    /// The columns under the database's name that clients see.
    fn columns(&self, def: &NativeDef) -> Vec<Column> {
        let mut columns = def.columns.clone();
        if self.shown != def.database {
            columns.iter_mut().for_each(|column| column.schema.clone_from(&self.shown));
        }
        columns
    }

    /// The version of a moment.
    fn pin(&self, at: AsOf) -> Result<Arc<Snapshot>> {
        let store = self.catalog.store();
        let newest = store.version();
        let version = match at {
            AsOf::Version(version) if version > newest => {
                return Err(in_future(&format!("version {version}"), newest));
            }
            AsOf::Timestamp(micros) if micros > self.now_micros => {
                return Err(in_future("the moment", newest));
            }
            AsOf::Version(version) => version,
            AsOf::Timestamp(micros) => {
                let micros = u64::try_from(micros).unwrap_or(0);
                store.version_at(micros).ok_or_else(|| {
                    Error::new(
                        Code::HistoryTooOld,
                        "the moment is too old: nothing is known of the versions of then",
                    )
                })?
            }
        };
        Ok(Arc::new(store.snapshot_at(version)))
    }
}

impl NativeDatabase for NativeView {
    fn table(
        &self,
        name: &str,
        partitions: &[&str],
        at: Option<AsOf>,
    ) -> Result<Option<NativeTable>> {
        let found = self.catalog.table(&self.database, name);
        // That any case is right here, mirrors know.
        let is_copy = self.shown != self.database;
        if is_copy && !partitions.is_empty() {
            return Err(Error::unsupported("partitions by name of a mirrored table"));
        }
        let folded = || self.catalog.table(&self.database, &name.to_lowercase());
        let Some(def) = found.or_else(|| is_copy.then(folded).flatten()) else {
            return self.catalog.check_usable(&self.database, name).map(|()| None);
        };
        let (pin, mut own) = match at {
            Some(at) => (self.pin(at)?, None),
            None => (Arc::clone(&self.reads.pin), self.reads.own(def.id)?),
        };
        let table = match at {
            Some(_) => same(&def, pin.table(def.id)?)?,
            None => table_of(&pin, &def)?,
        };
        let mut pruner = pruner(&def);
        if !partitions.is_empty() {
            let named = NamedPartitions::of(&def, partitions)?;
            for rows in own.iter_mut().flat_map(|own| &mut own.rows) {
                *rows = named.kept(rows)?;
            }
            pruner = Some(Arc::new(named));
        }
        Ok(Some(NativeTable {
            database: self.shown.clone(),
            name: def.name.clone(),
            columns: self.columns(&def),
            members: members(&def),
            invisible: def.invisible.clone(),
            is_part: !partitions.is_empty(),
            table,
            pin,
            own,
            pruner,
            statistics: self.catalog.statistics().of(def.id),
            time_zone: self.time_zone,
            part: (self.part_of)(&def),
        }))
    }

    fn check_keys(&self, table: &str, alias: &str, keys: &[&str]) -> Result<()> {
        let Some(def) = self.catalog.table(&self.database, table) else { return Ok(()) };
        match keys.iter().find(|key| !has_key(&def, key)) {
            Some(key) => {
                let text = format!("Key '{key}' doesn't exist in table '{alias}'");
                Err(Error::new(Code::NoSuchKey, text))
            }
            None => Ok(()),
        }
    }
}

/// Whether a table has a key of a name, or just one whose name begins so, as hints may say it.
fn has_key(def: &NativeDef, wanted: &str) -> bool {
    let begins = |name: &str| {
        name.get(..wanted.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(wanted))
    };
    def.key_named(wanted).is_some()
        || def.definition.keys.iter().filter(|key| begins(key_name(key))).count() == 1
}

/// A table of a version, as its definition describes it: positions of columns mean the same in
/// both.
///
/// # Errors
/// A definition that has changed since one of the two was taken (1412).
pub(crate) fn table_of(pin: &Snapshot, def: &NativeDef) -> Result<Arc<TableSnapshot>> {
    let table = pin.table(def.id).map_err(|error| match error.code() {
        // It was written again after the version was pinned.
        Code::HistoryTooOld => Error::table_changed(),
        _ => error,
    })?;
    same(def, table)
}

fn same(def: &NativeDef, table: Arc<TableSnapshot>) -> Result<Arc<TableSnapshot>> {
    if table.generation() == def.generation { Ok(table) } else { Err(Error::table_changed()) }
}

/// Error 1210: a later read of this moment could return other rows.
fn in_future(what: &str, newest: u64) -> Error {
    let text =
        format!("{what} lies in the future; the newest version is {newest} (@@pelorus_version)");
    Error::new(Code::WrongArguments, text)
}

/// The members of ENUM and SET columns.
fn members(def: &NativeDef) -> Vec<Option<Arc<Members>>> {
    let of = |target: &Target| Members::of(&target.ty, &target.members).map(Arc::new);
    def.targets.iter().map(of).collect()
}

fn pruner(def: &NativeDef) -> Option<Arc<dyn PartitionPruner>> {
    (!def.partitioner.is_whole()).then(|| Arc::clone(&def.partitioner) as Arc<dyn PartitionPruner>)
}
