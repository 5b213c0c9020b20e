//! The statements on whole tables: `ANALYZE`, `CHECK`, `OPTIMIZE`, `REPAIR` and `CHECKSUM TABLE` of native tables.

use arrow::datatypes::{Field, Schema};
use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_sql::statement::Maintenance;
use pelorus_store::ScanRequest;

use super::analyze;
use super::ddl::Definer;
use super::definition::NativeDef;
use crate::grid::{Grid, nullable_text};

/// Rows of a batch when a table is read only to be checked.
const BATCH_ROWS: usize = 8192;

/// MySQL's words for histograms of several tables.
const ONE_TABLE: &str = "Only one table can be specified while modifying histogram statistics.";

/// What is said of a table: the kind of message and its text.
pub(super) type Message = (&'static str, String);

impl Definer {
    /// Runs one of the statements on tables.
    ///
    /// # Errors
    /// A name without database (1046), verbs that native tables do not have (1235), and what MySQL
    /// refuses in `UPDATE HISTOGRAM`.
    pub(crate) fn maintain(&self, maintenance: &Maintenance) -> Result<Grid> {
        let Maintenance { verb, tables, histogram } = maintenance;
        if !matches!(verb.as_str(), "ANALYZE" | "CHECK" | "OPTIMIZE" | "REPAIR") {
            return Err(Error::unsupported(format_args!("{verb} TABLE of native tables")));
        }
        if let Some(change) = histogram {
            analyze::check(change)?;
        }
        let op = if histogram.is_some() { "histogram".into() } else { verb.to_ascii_lowercase() };
        let mut grid = Grid::new(vec![
            nullable_text("Table", 128),
            nullable_text("Op", 10),
            nullable_text("Msg_type", 10),
            nullable_text("Msg_text", 131_072),
        ]);
        // MySQL answers for the first table when there may be only one.
        let answered = if histogram.is_some() { 1 } else { tables.len() };
        for name in tables.iter().take(answered) {
            let database = self.database_of(name)?;
            let shown = format!("{database}.{}", name.name);
            let messages = match self.catalog.require(database, &name.name) {
                Ok(def) => match histogram {
                    Some(_) if tables.len() > 1 => vec![("Error", ONE_TABLE.to_owned())],
                    Some(change) => self.change_histograms(&def, change)?,
                    None => self.maintain_one(verb, &def),
                },
                Err(error) => vec![
                    ("Error", error.message().to_owned()),
                    ("status", "Operation failed".to_owned()),
                ],
            };
            for (kind, message) in messages {
                grid.push(vec![
                    shown.as_str().into(),
                    op.as_str().into(),
                    kind.into(),
                    message.into(),
                ]);
            }
        }
        Ok(grid)
    }

    fn maintain_one(&self, verb: &str, def: &NativeDef) -> Vec<Message> {
        let ok = || vec![("status", "OK".to_owned())];
        let failed = |error: &Error| {
            vec![
                ("error", pelorus_error::display_chain(error)),
                ("status", "Operation failed".to_owned()),
            ]
        };
        match verb {
            "ANALYZE" => match self.analyze(def) {
                Ok(()) => ok(),
                Err(error) => failed(&error),
            },
            "CHECK" => match self.read_all(def) {
                Ok(()) => ok(),
                Err(error) => failed(&error),
            },
            "OPTIMIZE" => match self.catalog.store().optimize(def.id) {
                Ok(()) => ok(),
                Err(error) => failed(&error),
            },
            _ => {
                vec![("note", "The storage engine for the table doesn't support repair".to_owned())]
            }
        }
    }

    /// Reads every value of every row, which checks every checksum.
    fn read_all(&self, def: &NativeDef) -> Result<()> {
        let snapshot = self.catalog.store().snapshot();
        let table = snapshot.table(def.id)?;
        let fields: Vec<Field> = def.columns.iter().map(pelorus_types::Column::field).collect();
        let request = ScanRequest {
            columns: (0..def.columns.len()).collect(),
            predicates: Vec::new(),
            tests: Vec::new(),
            schema: Arc::new(Schema::new(fields)),
            hidden: None,
            batch_rows: BATCH_ROWS,
        };
        let mut rows = 0_u64;
        for unit in table.scan(request, |_| true)? {
            let mut cursor = unit.open()?;
            while let Some(batch) = cursor.next_batch()? {
                rows += batch.num_rows() as u64;
            }
        }
        let counted = table.rows();
        if rows != counted {
            return Err(Error::internal(format!(
                "{rows} rows were read where {counted} are known"
            )));
        }
        Ok(())
    }
}
