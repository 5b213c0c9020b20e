//! Maintenance statements: `ANALYZE`, `CHECK`, `OPTIMIZE`, `REPAIR` and `CHECKSUM TABLE` of native
//! tables.

use pelorus_error::{Code, Error, Result};
use pelorus_result::result_table::{ResultTable, nullable_text};
use pelorus_sql::statement::Maintenance;
use pelorus_types::WireType;

use super::analyze;
use super::ddl::Definer;
use super::definition::NativeDef;

/// MySQL's words for histograms of several tables.
const ONE_TABLE: &str = "Only one table can be specified while modifying histogram statistics.";

/// A message about a table: its kind and its text.
pub(super) type Message = (&'static str, String);

impl Definer {
    /// Runs one of the statements on tables. `CHECK` ends when it is stopped.
    ///
    /// # Errors
    /// A name without database (1046), a table that is named twice (1066), verbs that native tables
    /// do not have (1235), errors of `UPDATE HISTOGRAM`, and 1317 if the statement was stopped.
    pub fn maintain(&self, maintenance: &Maintenance) -> Result<ResultTable> {
        let Maintenance { verb, tables, histogram, quick } = maintenance;
        if !matches!(verb.as_str(), "ANALYZE" | "CHECK" | "OPTIMIZE" | "REPAIR") {
            return Err(Error::unsupported(format_args!("{verb} TABLE of native tables")));
        }
        if let Some(change) = histogram {
            analyze::check(change)?;
        }
        self.check_unique(tables)?;
        let op = if histogram.is_some() { "histogram".into() } else { verb.to_ascii_lowercase() };
        let mut said = nullable_text("Msg_text", 131_072);
        said.ty.wire = WireType::MediumBlob;
        let mut grid = ResultTable::new(vec![
            nullable_text("Table", 128),
            nullable_text("Op", 10),
            nullable_text("Msg_type", 10),
            said,
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
                    None if verb == "CHECK" => match self.check_table(&def, *quick) {
                        Err(error) if error.code() == Code::QueryInterrupted => return Err(error),
                        checked => checked.unwrap_or_else(|error| failed(&error)),
                    },
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
        match verb {
            "ANALYZE" => match self.analyze(def) {
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
}

/// The message of a statement that could not be executed.
fn failed(error: &Error) -> Vec<Message> {
    vec![("error", pelorus_error::display_chain(error)), ("status", "Operation failed".to_owned())]
}
