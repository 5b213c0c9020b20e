//! `CHECK TABLE`: verifies the rows, the indexes and the partitions of a table.
//!
//! The store verifies its redundant data against the rows ([`TableSnapshot::verify`]); the
//! partition of each row is verified here. All checks read one version and block no other session.

use std::ptr;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use pelorus_error::{Code, Result};
use pelorus_result::kill::Stop;
use pelorus_store::{PROBLEMS_MAX, ScanRequest, TableSnapshot};

use super::ddl::Definer;
use super::definition::NativeDef;
use super::maintain::Message;
use super::view::table_of;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

impl Definer {
    /// Messages about a table. `quick` reads its rows, which verifies all checksums, and counts
    /// them; otherwise everything is verified.
    ///
    /// # Errors
    /// A definition that changes meanwhile (1412), 1317 if the statement is stopped, and errors of
    /// reading.
    pub(super) fn check_table(&self, def: &NativeDef, quick: bool) -> Result<Vec<Message>> {
        let snapshot = self.catalog.store().snapshot();
        let table = table_of(&snapshot, def)?;
        let reader = Reader { def, table: &table, stop: &self.stop };
        let problems = if quick { reader.count()? } else { reader.verify()? };
        if problems.is_empty() {
            return Ok(vec![("status", "OK".to_owned())]);
        }
        let is_full = problems.len() >= PROBLEMS_MAX;
        let mut said: Vec<Message> = problems.into_iter().map(|it| ("error", it)).collect();
        if is_full {
            said.push(("note", "There may be more problems than these".to_owned()));
        }
        said.push(("error", "Corrupt".to_owned()));
        Ok(said)
    }
}

/// Reads a table to check it.
struct Reader<'a> {
    def: &'a NativeDef,
    table: &'a TableSnapshot,
    stop: &'a Stop,
}

impl Reader<'_> {
    /// Reads every value of every row; whether there are as many rows as are known.
    fn count(&self) -> Result<Vec<String>> {
        let all: Vec<usize> = (0..self.def.columns.len()).collect();
        let mut rows = 0;
        self.read(&all, |_, read, _| {
            rows += read as u64;
            Ok(())
        })?;
        Ok(self.miscounted(rows).into_iter().collect())
    }

    /// Verifies everything that is known of the rows.
    fn verify(&self) -> Result<Vec<String>> {
        let problems = self.table.verify(&|| self.stop.is_asked())?;
        let mut said: Vec<String> =
            problems.iter().map(|it| format!("{}, {it}", self.place(&it.key))).collect();
        match self.placed() {
            // A part that cannot be read has been reported.
            Err(error) if error.code() == Code::FileDamaged && !said.is_empty() => {}
            found => said.extend(found?),
        }
        Ok(said)
    }

    /// Whether rows lie in the partitions that they belong to, and a scan finds all of them.
    fn placed(&self) -> Result<Vec<String>> {
        let partitioner = &self.def.partitioner;
        let mut columns = partitioner.columns();
        if columns.is_empty() {
            columns.clone_from(&self.def.key);
        }
        columns.sort_unstable();
        columns.dedup();
        let mut rows = 0;
        let mut strays: Vec<(&[u8], usize)> = Vec::new();
        self.read(&columns, |key, read, batch| {
            rows += read as u64;
            let column = |at: usize| batch.column(columns.binary_search(&at).unwrap_or(0));
            let found = partitioner.strays(key, read, &column)?;
            match strays.last_mut() {
                Some((last, count)) if *last == key => *count += found,
                _ => strays.push((key, found)),
            }
            Ok(())
        })?;
        let told = strays.iter().filter(|(_, count)| *count > 0).take(PROBLEMS_MAX);
        let text = |(key, count): &(&[u8], usize)| {
            format!("{}: {count} rows belong into other partitions", self.place(key))
        };
        Ok(told.map(text).chain(self.miscounted(rows)).collect())
    }

    fn miscounted(&self, rows: u64) -> Option<String> {
        let known = self.table.rows();
        let table = self.name();
        (rows != known).then(|| format!("{table}: {rows} rows were read where {known} are known"))
    }

    /// Reads columns of all rows: `run` gets the key of the partition, how many rows there are, and
    /// the columns.
    fn read<'t>(
        &'t self,
        columns: &[usize],
        mut run: impl FnMut(&'t [u8], usize, &RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let field = |&at: &usize| self.def.columns[at].field();
        let request = ScanRequest {
            columns: columns.to_vec(),
            predicates: Vec::new(),
            tests: Vec::new(),
            schema: Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>())),
            hidden: None,
            batch_rows: BATCH_ROWS,
        };
        for partition in self.table.partitions() {
            for unit in self.table.scan(request.clone(), |it| ptr::eq(it, partition))? {
                let mut cursor = unit.open()?;
                while let Some(batch) = cursor.next_batch()? {
                    self.stop.check()?;
                    run(partition.key(), batch.num_rows(), &batch)?;
                }
            }
        }
        Ok(())
    }

    /// The table and a partition of it by its key, for people.
    fn place(&self, key: &[u8]) -> String {
        let partitioner = &self.def.partitioner;
        let named = partitioner.named().iter().find(|it| it.key == key);
        let name = named.map(|it| it.name.clone()).or_else(|| partitioner.describe(key));
        match name {
            Some(name) => format!("{}, partition {name}", self.name()),
            None => self.name(),
        }
    }

    fn name(&self) -> String {
        format!("table {}.{}", self.def.database, self.def.name)
    }
}
