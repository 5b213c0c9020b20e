//! [`PreparedStatements`]: by number for the binary protocol, by name for `PREPARE`.
//!
//! A statement is stored as text. Its parameters become literals when it is executed, so that a
//! linked server receives the text of a client that writes literals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pelorus_env::{Account, Reservation};
use pelorus_error::{Code, Error, Result};
use pelorus_result::scalar::sql_of_parameter;
use pelorus_sql::Mode;
use pelorus_types::Column;

use crate::api::{Outcome, Parameter};

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    numbered: BTreeMap<u32, PreparedStatement>,
    /// By name in lower case.
    named: BTreeMap<String, PreparedStatement>,
    last: u32,
}

/// A prepared statement.
#[derive(Clone, Debug)]
pub(crate) struct PreparedStatement {
    sql: Arc<str>,
    parameters: u16,
    /// The names of its columns: those of the text with `?`, not with values.
    names: Arc<[String]>,
    /// The database of names without one: the current database when it was prepared.
    database: Option<String>,
    /// How its text is to be read.
    mode: Mode,
    /// Its memory reservation.
    held: Arc<PreparedMemory>,
}

/// One of the prepared statements of all sessions, with its memory.
#[derive(Debug)]
pub(crate) struct PreparedMemory {
    count: Arc<AtomicUsize>,
    memory: Reservation,
}

impl PreparedMemory {
    /// One more, unless there are as many as there may be (1461).
    pub(crate) fn new(count: &Arc<AtomicUsize>, limit: u64, memory: &Account) -> Result<Self> {
        // Ordering: a count, which publishes nothing else.
        let more = |count: usize| ((count as u64) < limit).then_some(count + 1);
        if count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return Err(Error::new(
                Code::TooManyPrepared,
                format!(
                    "Can't create more than max_prepared_stmt_count statements (current value: \
                     {limit})"
                ),
            ));
        }
        Ok(Self { count: Arc::clone(count), memory: memory.empty() })
    }

    /// Takes memory for texts of so many bytes (1041).
    fn resize(&mut self, texts: usize) -> Result<()> {
        /// The overhead of a statement apart from texts, here and at the edge.
        const OVERHEAD: usize = 512;
        self.memory.try_resize(OVERHEAD + texts).map_err(Error::out_of_memory)
    }
}

impl Drop for PreparedMemory {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PreparedStatement {
    /// A statement of a text, as it is read now; its columns are not known yet.
    ///
    /// # Errors
    /// Too many prepared statements (1461), no memory for the text (1041).
    pub(crate) fn new(
        sql: &str,
        mode: Mode,
        database: Option<String>,
        mut held: PreparedMemory,
    ) -> Result<Self> {
        held.resize(sql.len())?;
        let (names, held) = (Arc::default(), Arc::new(held));
        Ok(Self { sql: sql.into(), parameters: 0, names, database, mode, held })
    }

    pub(crate) fn set_parameters(&mut self, parameters: u16) {
        self.parameters = parameters;
    }

    /// Its columns, whose names results have.
    ///
    /// # Errors
    /// No memory for them (1041).
    pub(crate) fn set_columns(&mut self, columns: &[Column]) -> Result<()> {
        self.names = columns.iter().map(|column| column.name.clone()).collect();
        if let Some(held) = Arc::get_mut(&mut self.held) {
            let names: usize = self.names.iter().map(|name| name.len() + size_of::<String>()).sum();
            held.resize(self.sql.len() + names)?;
        }
        Ok(())
    }

    /// The text that runs: with a time limit in front that was not read with the rest.
    pub(crate) fn set_text(&mut self, sql: &str) {
        self.sql = sql.into();
    }

    pub(crate) fn parameters(&self) -> u16 {
        self.parameters
    }

    /// How its text is read.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// The database of names without one.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Its text with literals in the places of parameters.
    ///
    /// # Errors
    /// A wrong number of them (1210).
    pub(crate) fn bind(&self, literals: &[String]) -> Result<String> {
        pelorus_sql::bind(&self.sql, self.mode, literals)
    }

    /// Names the columns of a result as they were when the statement was prepared.
    pub(crate) fn with_names(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Rows(mut set) if set.columns.len() == self.names.len() => {
                for (column, name) in set.columns.iter_mut().zip(self.names.iter()) {
                    column.name.clone_from(name);
                }
                Outcome::Rows(set)
            }
            other => other,
        }
    }
}

impl PreparedStatements {
    /// Keeps a statement under the next number.
    pub(crate) fn add(&mut self, statement: PreparedStatement) -> u32 {
        // Numbers are used again only after four billion statements; skip those still in use.
        loop {
            self.last = self.last.wrapping_add(1).max(1);
            if !self.numbered.contains_key(&self.last) {
                break;
            }
        }
        self.numbered.insert(self.last, statement);
        self.last
    }

    pub(crate) fn parameter_count(&self, id: u32) -> Option<u16> {
        self.numbered.get(&id).map(|statement| statement.parameters)
    }

    pub(crate) fn close(&mut self, id: u32) {
        self.numbered.remove(&id);
    }

    /// The text of a numbered statement with its parameters, and the statement.
    ///
    /// # Errors
    /// No such statement (1243), a wrong number of parameters (1210).
    pub(crate) fn bound(
        &self,
        id: u32,
        parameters: &[Parameter],
    ) -> Result<(String, PreparedStatement)> {
        let missing = || unknown(&id.to_string(), "mysqld_stmt_execute");
        let statement = self.numbered.get(&id).ok_or_else(missing)?;
        let literals = parameters
            .iter()
            .map(|parameter| sql_of_parameter(parameter, statement.mode))
            .collect::<Result<Vec<_>>>()?;
        Ok((statement.bind(&literals)?, statement.clone()))
    }

    /// Keeps a statement under a name.
    pub(crate) fn add_named(&mut self, name: &str, statement: PreparedStatement) {
        self.named.insert(name.to_lowercase(), statement);
    }

    /// The statement of a name.
    ///
    /// # Errors
    /// 1243, which says for which command.
    pub(crate) fn named(&self, name: &str, command: &str) -> Result<PreparedStatement> {
        self.named.get(&name.to_lowercase()).cloned().ok_or_else(|| unknown(name, command))
    }

    /// Forgets the statement of a name, if there is one.
    pub(crate) fn remove_named(&mut self, name: &str) {
        self.named.remove(&name.to_lowercase());
    }
}

/// Error 1243.
fn unknown(name: &str, command: &str) -> Error {
    Error::new(
        Code::UnknownStatement,
        format!("Unknown prepared statement handler ({name}) given to {command}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_numbers_and_names_and_count_as_long_as_they_are_kept() {
        let count = Arc::new(AtomicUsize::new(0));
        let memory = Account::new("a session", 1 << 20);
        let statement = || -> Result<PreparedStatement> {
            let held = PreparedMemory::new(&count, 2, &memory)?;
            PreparedStatement::new("SELECT ?", Mode::default(), None, held)
        };
        let mut all = PreparedStatements { last: u32::MAX, ..PreparedStatements::default() };
        assert_eq!(all.add(statement().unwrap()), 1);
        all.add_named("S", statement().unwrap());
        assert_eq!(statement().unwrap_err().errno(), 1461);
        assert_eq!(all.bound(1, &[Parameter::Int(5)]).unwrap().0, "SELECT 5");
        assert_eq!(all.bound(2, &[]).unwrap_err().errno(), 1243);
        assert!(all.named("s", "EXECUTE").is_ok());
        all.remove_named("s");
        all.close(1);
        assert_eq!(all.named("s", "EXECUTE").unwrap_err().errno(), 1243);
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}
