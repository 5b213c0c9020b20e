//! The catalog of a database: its tables, and the engine's own values.
//!
//! The catalog has a block file of its own, whose root block is the whole catalog; it changes only
//! by commits, and a checkpoint of it contains everything up to a log position.

pub(crate) mod change;
pub(crate) mod key_function;
pub(crate) mod schema;
pub(crate) mod schema_version;

use std::collections::BTreeMap;

use pelorus_error::Result;

use crate::catalog::schema::{TableId, TableSchema, Version};
use crate::commit::timestamps::SHARED_MICROS;
use crate::format::bytes::{Reader, Writer};

/// The first byte of a catalog.
const FORMAT: u8 = 1;

/// How exactly the catalog tells when versions were made: of moments up to so many microseconds ago,
/// to so many microseconds. Each is a multiple of the one before it, so that moments which share a
/// slice of time go on sharing one.
const EXACTNESS: [(u64, u64); 4] = [
    (60_000_000, 1000),
    (900_000_000, 10_000),
    (3_600_000_000, 100_000),
    (86_400_000_000, 1_000_000),
];

/// The same of all that is longer ago.
const EXACTNESS_LATER: u64 = 60_000_000;

/// Most moments that are stored, whatever the history; 8 MiB of them. More than half a year of
/// minutes fits in addition to the finer recent ones.
const TIMES_MAX: usize = 1 << 19;

/// Every so many versions, moments that are too many are forgotten.
const TIMES_EVERY: Version = 1 << 14;

/// A table in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) schema: TableSchema,
    pub(crate) definition: Vec<u8>,
    /// The number that the next column gets: no column that was dropped had it.
    pub(crate) next_column: u32,
    /// The log position of its creation, which is that of a data file without a checkpoint.
    pub(crate) created: u64,
    /// The log position of its newest change. A data file that is older needs the log.
    pub(crate) changed: u64,
}

impl TableEntry {
    /// A table that was made by the record that ends at a log position.
    pub(crate) fn new(schema: TableSchema, definition: Vec<u8>, created: u64) -> Self {
        let next_column = schema.next_column_id();
        Self { schema, definition, next_column, created, changed: created }
    }

    /// Another schema and definition.
    pub(crate) fn alter(&mut self, schema: TableSchema, definition: Vec<u8>) {
        self.next_column = self.next_column.max(schema.next_column_id());
        (self.schema, self.definition) = (schema, definition);
    }

    fn write(&self, out: &mut Writer) {
        self.schema.write(out);
        out.bytes(&self.definition);
        out.u32(self.next_column);
        out.u64(self.created);
        out.u64(self.changed);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            schema: TableSchema::read(from)?,
            definition: from.bytes()?.to_vec(),
            next_column: from.u32()?,
            created: from.u64()?,
            changed: from.u64()?,
        })
    }
}

/// Tables and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Catalog {
    /// The newest version.
    pub(crate) version: Version,
    /// The number that the next table gets.
    pub(crate) next_table: u64,
    /// Where the log begins that recovery needs.
    pub(crate) log_start: u64,
    /// The tables.
    pub(crate) tables: BTreeMap<TableId, TableEntry>,
    /// The engine's values.
    pub(crate) values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// When versions were made: microseconds since 1970 and the newest version then, rising.
    pub(crate) times: Vec<(u64, Version)>,
}

impl Catalog {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(FORMAT);
        out.u64(self.version);
        out.u64(self.next_table);
        out.u64(self.log_start);
        out.count(self.tables.len());
        for (id, entry) in &self.tables {
            out.u64(id.0);
            entry.write(&mut out);
        }
        out.count(self.values.len());
        for (key, value) in &self.values {
            out.bytes(key);
            out.bytes(value);
        }
        out.count(self.times.len());
        for (micros, version) in &self.times {
            out.u64(*micros);
            out.u64(*version);
        }
        out.0
    }

    pub(crate) fn from_bytes(bytes: &[u8], what: &str) -> Result<Self> {
        let from = &mut Reader::new(bytes, what);
        let format = from.u8()?;
        if format != FORMAT {
            return Err(from.unknown_format(format));
        }
        let mut this = Self {
            version: from.u64()?,
            next_table: from.u64()?,
            log_start: from.u64()?,
            ..Self::default()
        };
        for _ in 0..from.count()? {
            let id = TableId(from.u64()?);
            this.tables.insert(id, TableEntry::read(from)?);
        }
        for _ in 0..from.count()? {
            let key = from.bytes()?.to_vec();
            this.values.insert(key, from.bytes()?.to_vec());
        }
        for _ in 0..from.count()? {
            this.times.push((from.u64()?, from.u64()?));
        }
        if this.times.len() > TIMES_MAX {
            // A list of a Pelorus that kept every moment.
            this.thin_times();
        }
        Ok(this)
    }

    /// Notes when a version was made, or was still the newest. Moments closer than a millisecond
    /// share an entry; entries older than `keep_micros` are forgotten, but for the newest of them.
    pub(crate) fn note_time(&mut self, micros: u64, version: Version, keep_micros: u64) {
        match self.times.last_mut() {
            // Also where it is earlier, as in logs of a Pelorus whose commits followed a clock that was
            // set back.
            Some((last, newest)) if micros < *last + SHARED_MICROS => {
                *newest = version.max(*newest);
            }
            _ => self.times.push((micros, version)),
        }
        let oldest = micros.saturating_sub(keep_micros);
        let old = self.times.partition_point(|(moment, _)| *moment < oldest);
        // Forgetting now and then keeps this cheap.
        if old > 4096 {
            self.times.drain(..old - 1);
        }
        if version.is_multiple_of(TIMES_EVERY) {
            self.thin_times();
        }
    }

    /// Forgets moments that are closer together than their age is worth. Of those in one slice of
    /// time the last stays: a look-up of a moment returns a version that was the newest less than a
    /// slice before it, and never a later one.
    fn thin_times(&mut self) {
        let Some(&(now, _)) = self.times.last() else { return };
        let times = std::mem::take(&mut self.times);
        let last_of_slice = |at: usize| {
            let slice = exactness(now.saturating_sub(times[at].0));
            let next = times.get(at + 1);
            next.is_none_or(|(next, _)| next / slice != times[at].0 / slice)
        };
        self.times = (0..times.len()).filter(|at| last_of_slice(*at)).map(|at| times[at]).collect();
        while self.times.len() > TIMES_MAX {
            let half = self.times.len() / 2;
            let mut at = 0;
            self.times.retain(|_| {
                at += 1;
                at > half || at % 2 == 1
            });
        }
    }

    /// The newest version that was there at a moment.
    pub(crate) fn version_at(&self, micros: u64) -> Option<Version> {
        let later = self.times.partition_point(|(moment, _)| *moment <= micros);
        later.checked_sub(1).map(|at| self.times[at].1)
    }
}

/// To how many microseconds it is known when a version was made so long ago.
fn exactness(age: u64) -> u64 {
    let known = EXACTNESS.iter().find(|(up_to, _)| age <= *up_to);
    known.map_or(EXACTNESS_LATER, |(_, slice)| *slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The older a moment, the coarser its version; a version never contains later commits.
    #[test]
    fn older_moments_are_known_less_exactly_and_never_too_late() {
        const STEP: u64 = 7000;
        let mut catalog = Catalog::default();
        let newest = TIMES_EVERY * 60;
        for version in 1..=newest {
            catalog.note_time(version * STEP, version, u64::MAX);
        }
        let now = newest * STEP;
        assert!(now > 3_600_000_000, "all but the last slice occur");
        assert!(catalog.times.len() < 150_000, "{}", catalog.times.len());
        for moment in (STEP * 20_000..=now).step_by(999_983) {
            let found = catalog.version_at(moment).unwrap();
            let slice = exactness(now - moment);
            assert!(found * STEP <= moment, "version {found} at {moment}");
            assert!((found + 1) * STEP + slice > moment, "version {found} at {moment}");
        }
    }

    #[test]
    fn a_catalog_of_a_newer_format_is_not_said_to_be_damaged() {
        let mut bytes = Catalog::default().to_bytes();
        bytes[0] += 1;
        let error = Catalog::from_bytes(&bytes, "the catalog").unwrap_err();
        assert_eq!(error.code(), pelorus_error::Code::FileVersion);
        assert!(error.message().contains("the catalog has format 2"), "{error}");
    }

    #[test]
    fn the_longest_history_has_a_limited_number_of_moments() {
        let mut catalog = Catalog::default();
        let minute = EXACTNESS_LATER;
        let most = TIMES_MAX as u64 + 3 * TIMES_EVERY;
        for version in 1..=most {
            catalog.note_time(version * minute, version, u64::MAX);
        }
        assert!(catalog.times.len() <= TIMES_MAX);
        assert!(catalog.times.is_sorted());
        assert_eq!(catalog.version_at(minute), Some(1));
        assert_eq!(catalog.version_at(most * minute - 1), Some(most - 1));
        let moment = most / 8 * minute;
        let found = catalog.version_at(moment).unwrap();
        assert!((most / 8 - 8..=most / 8).contains(&found), "{found}");
    }

    #[test]
    fn times_of_an_old_log_that_go_back_are_those_before_them() {
        let mut catalog = Catalog::default();
        let hour = 3_600_000_000;
        for (micros, version) in [(hour, 1), (3 * hour, 2), (2 * hour, 3), (hour / 2, 4)] {
            catalog.note_time(micros, version, 10 * hour);
        }
        assert_eq!(catalog.times, [(hour, 1), (3 * hour, 4)]);
        assert_eq!(catalog.version_at(2 * hour), Some(1));
        assert_eq!(catalog.version_at(u64::MAX), Some(4));
    }

    #[test]
    fn times_lead_to_versions() {
        let mut catalog = Catalog::default();
        for version in 1..=20_000 {
            catalog.note_time(version * 500, version, 1_000_000);
        }
        // Two versions share a millisecond; the newer one counts.
        assert_eq!(catalog.version_at(9_999_000), Some(19_998));
        assert_eq!(catalog.version_at(u64::MAX), Some(20_000));
        assert_eq!(catalog.version_at(400), None);
        assert!(catalog.times.len() < 8200);
        let bytes = catalog.to_bytes();
        assert_eq!(Catalog::from_bytes(&bytes, "a test").unwrap(), catalog);
        for cut in 0..30 {
            Catalog::from_bytes(&bytes[..cut], "a test").unwrap_err();
        }
    }
}
