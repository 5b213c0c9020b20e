//! Verifies a table: its redundant data against its rows.
//!
//! One version is read, part by part, as a scan reads it. No other operation waits for it, except
//! that the key index is read for a few thousand rows at a time under its lock.
//!
//! | check | module |
//! | --- | --- |
//! | zone maps, the order of rows, their versions; keys and hashes of rows in memory | [`part`] |
//! | delete marks, and the number of live rows | [`part`] |
//! | primary keys are distinct, by their encoded form, so under their collations | [`distinct`] |
//! | the key index, if there is one, refers to exactly the current live rows | [`distinct`] |
//!
//! It takes the memory of one decoded column and the keys of one part, and 8 bytes for each of at
//! most [`HASHES`] rows; larger partitions are read in several passes.

mod distinct;
mod part;

use std::fmt;
use std::sync::Arc;

use pelorus_error::{Code, Error, Result, display_chain};

use crate::catalog::schema::{PartitionId, Version};
use crate::partition::delete_marks::Mask;
use crate::partition::part::{Body, Part};
use crate::snapshot::{PartitionSnapshot, TableSnapshot};

/// The largest number of problems in a report.
pub const PROBLEMS_MAX: usize = 50;

/// Hashes of keys that are sorted at one time (128 MiB).
const HASHES: usize = 16 << 20;

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The partition's number.
    pub partition: PartitionId,
    /// Its key.
    pub key: Vec<u8>,
    /// Where in the partition.
    pub place: String,
    /// A description of the problem.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl TableSnapshot {
    /// Verifies all redundant data of the rows of this version; returns at most [`PROBLEMS_MAX`]
    /// problems. Damaged blocks are among them.
    ///
    /// # Errors
    /// Error 1317 if `stop` returns true, which is checked often; other errors of reading.
    pub fn verify(&self, stop: &dyn Fn() -> bool) -> Result<Vec<Problem>> {
        self.verify_in_passes(HASHES, stop)
    }

    /// The same with so many hashes at one time.
    pub(crate) fn verify_in_passes(
        &self,
        hashes: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for partition in &self.partitions {
            let problems = &mut problems;
            Verifier { table: self, partition, hashes, stop, problems }.run()?;
        }
        Ok(problems)
    }
}

/// At work on a partition.
struct Verifier<'a> {
    table: &'a TableSnapshot,
    partition: &'a PartitionSnapshot,
    /// Most hashes at one time.
    hashes: usize,
    stop: &'a dyn Fn() -> bool,
    problems: &'a mut Vec<Problem>,
}

impl Verifier<'_> {
    fn run(mut self) -> Result<()> {
        let parts = Arc::clone(self.partition.parts());
        for part in parts.iter() {
            self.verify_part(part)?;
        }
        for what in self.partition.partition.check_lookup() {
            self.add("rows by keys".to_owned(), what);
        }
        self.verify_keys(&parts)
    }

    /// Fails if the verification was cancelled.
    fn go_on(&self) -> Result<()> {
        if (self.stop)() { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Notes a problem.
    fn add(&mut self, place: String, what: String) {
        let partition = &self.partition.partition;
        let found = Problem { partition: partition.id, key: partition.key.clone(), place, what };
        // What cannot be read is met more than once.
        if self.problems.len() < PROBLEMS_MAX && !self.problems.contains(&found) {
            self.problems.push(found);
        }
    }

    /// Notes a problem of a part.
    fn add_of(&mut self, part: &Part, what: String) {
        self.add(place_of(part), what);
    }

    /// The result of reading a part; damage is a problem like others.
    fn read_of<T>(&mut self, part: &Part, read: Result<T>) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if matches!(error.code(), Code::FileDamaged | Code::ColumnCannotBeNull) => {
                self.add_of(part, display_chain(&error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Where a part is, for people.
fn place_of(part: &Part) -> String {
    match &part.body {
        Body::Delta(_) => format!("rows in memory (slot {})", part.slot),
        Body::Chunk(chunk) => chunk.place(),
    }
}

/// Which rows of a part a version sees.
struct Seen {
    version: Version,
    rows: u32,
    /// Their versions, where some are younger.
    versions: Option<Vec<Version>>,
    dead: Arc<Mask>,
}

impl Seen {
    fn of(part: &Part, version: Version) -> Result<Self> {
        let (rows, versions) = match &part.body {
            Body::Delta(delta) => (delta.rows_at(version), None),
            Body::Chunk(chunk) if chunk.at.versions.1 > version => {
                (chunk.rows(), Some(chunk.versions()?))
            }
            Body::Chunk(chunk) => (chunk.rows(), None),
        };
        Ok(Self { version, rows, versions, dead: part.deletes.at(version) })
    }

    /// Whether a row was there, dead or not.
    fn was_written(&self, row: u32) -> bool {
        let versions = self.versions.as_ref();
        let is_old =
            |all: &Vec<Version>| all.get(row as usize).is_some_and(|it| *it <= self.version);
        row < self.rows && versions.is_none_or(is_old)
    }

    fn is_live(&self, row: u32) -> bool {
        self.was_written(row) && !self.dead.contains(row)
    }
}
