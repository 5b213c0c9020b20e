//! What a database says of its tables, and the engine's own values.
//!
//! The catalog has a block file of its own, whose root block is the whole catalog; it changes only
//! by commits, and a checkpoint of it holds everything up to a log position.

use std::collections::BTreeMap;

use pelorus_error::Result;

use crate::bytes::{Reader, Writer};
use crate::schema::{TableId, TableSchema, Version};

/// The first byte of a catalog.
const FORMAT: u8 = 1;

/// What the catalog says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) schema: TableSchema,
    pub(crate) definition: Vec<u8>,
    /// The number that the next column gets: no column that was dropped had it.
    pub(crate) next_column: u32,
    /// The log position of its creation. A data file without a checkpoint stands there.
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
            return Err(from.damaged(&format!("unknown format {format}")));
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
        Ok(this)
    }

    /// Notes when a version was made. Moments closer than a millisecond share an entry; entries
    /// older than `keep_micros` are forgotten, but for the newest of them.
    pub(crate) fn note_time(&mut self, micros: u64, version: Version, keep_micros: u64) {
        // After the clock was set back, what lies in its future is no moment any more: left there,
        // it would stand for all that is committed until the clock is there again.
        while self.times.pop_if(|(moment, _)| *moment > micros).is_some() {}
        match self.times.last_mut() {
            Some((last, newest)) if micros < *last + 1000 => *newest = version.max(*newest),
            _ => self.times.push((micros, version)),
        }
        let oldest = micros.saturating_sub(keep_micros);
        let old = self.times.partition_point(|(moment, _)| *moment < oldest);
        // Forgetting now and then keeps this cheap.
        if old > 4096 {
            self.times.drain(..old - 1);
        }
    }

    /// The newest version that was there at a moment.
    pub(crate) fn version_at(&self, micros: u64) -> Option<Version> {
        let later = self.times.partition_point(|(moment, _)| *moment <= micros);
        later.checked_sub(1).map(|at| self.times[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_goes_on() {
        let mut catalog = Catalog::default();
        let hour = 3_600_000_000;
        for (micros, version) in [(hour, 1), (3 * hour, 2), (3 * hour + 5000, 3)] {
            catalog.note_time(micros, version, 10 * hour);
        }
        catalog.note_time(2 * hour, 4, 10 * hour);
        assert_eq!(catalog.version_at(2 * hour - 1), Some(1));
        assert_eq!(catalog.version_at(2 * hour), Some(4));
        catalog.note_time(2 * hour + 5000, 5, 10 * hour);
        assert_eq!(catalog.version_at(2 * hour + 4999), Some(4));
        assert_eq!(catalog.version_at(u64::MAX), Some(5));
        // Before all that is known: nothing of then can be told any more.
        catalog.note_time(hour / 2, 6, 10 * hour);
        assert_eq!(catalog.times, [(hour / 2, 6)]);
        assert_eq!(catalog.version_at(hour / 2 - 1), None);
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
