//! Row image completion: the values of columns that the image of a changed row leaves out.
//!
//! In an UPDATE image of MySQL such columns keep their previous values. MariaDB logs a REPLACE of
//! an existing row as an update and leaves out the columns that got their defaults. Only the
//! statement distinguishes the two; the server sends it before the rows on request.

use std::sync::Arc;

use bytes::Bytes;
use pelorus_binlog::{RowsEvent, TableMap};
use pelorus_sql::Mode;
use pelorus_sql::statement::{Statement, Write, WriteKind};

/// The values of columns that the image of a changed row leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// Their previous values.
    Kept,
    /// Their defaults.
    Default,
    /// One or the other: the statement would have to be known.
    Unclear,
}

/// Where the rows at hand come from.
#[derive(Debug, Default)]
pub(crate) struct RowImageCompletion {
    /// A MariaDB.
    pub(crate) is_mariadb: bool,
    /// The server was configured to send statements.
    pub(crate) asked: bool,
    /// The statement, if the server sends it.
    statement: Option<Bytes>,
    /// The tables that it writes to, with those of its triggers.
    tables: Vec<Arc<TableMap>>,
}

impl RowImageCompletion {
    pub(crate) fn new(is_mariadb: bool, asked: bool) -> Self {
        Self { is_mariadb, asked, ..Self::default() }
    }

    /// Rows of another statement follow.
    pub(crate) fn begin_statement(&mut self, text: Bytes) {
        self.tables.clear();
        self.statement = Some(text);
    }

    /// Rows of a table follow.
    pub(crate) fn note_table(&mut self, table: &Arc<TableMap>) {
        if self.statement.is_some() {
            self.tables.push(Arc::clone(table));
        }
    }

    /// A transaction has ended: later rows belong to an unknown statement.
    pub(crate) fn end(&mut self) {
        self.statement = None;
        self.tables.clear();
    }

    /// The values of the columns that changed rows of an event leave out.
    pub(crate) fn lacking(&self, event: &RowsEvent) -> Lacking {
        if !self.is_mariadb {
            return Lacking::Kept;
        }
        let Some(text) = &self.statement else { return Lacking::Unclear };
        let table = &event.table;
        // The current database is not known: a name must mean one table.
        let is_other = |it: &Arc<TableMap>| {
            it.table.eq_ignore_ascii_case(&table.table) && it.database != table.database
        };
        if self.tables.iter().any(is_other) {
            return Lacking::Unclear;
        }
        match pelorus_sql::classify(&String::from_utf8_lossy(text), Mode::default()) {
            Ok(Statement::Write(write)) => of_statement(&write, &table.database, &table.table),
            _ => Lacking::Unclear,
        }
    }
}

/// What a statement leaves in columns of a table that its images of changed rows do not have. What
/// triggers do is no part of it, but they cannot change a table that the statement itself uses.
fn of_statement(write: &Write, database: &str, table: &str) -> Lacking {
    let is_it = |name: &pelorus_sql::statement::TableName| {
        name.name.eq_ignore_ascii_case(table)
            && name.database.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(database))
    };
    let is_first = write.tables.first().is_some_and(is_it);
    match write.kind {
        WriteKind::Update if write.tables.iter().any(is_it) => Lacking::Kept,
        WriteKind::Insert if is_first => Lacking::Kept,
        // Loads change rows with REPLACE only.
        WriteKind::Replace | WriteKind::Load if is_first => Lacking::Default,
        _ => Lacking::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_tell_what_is_left_out() {
        let of = |text: &str| match pelorus_sql::classify(text, Mode::default()) {
            Ok(Statement::Write(write)) => of_statement(&write, "d", "t"),
            other => panic!("{text}: {other:?}"),
        };
        for text in [
            "UPDATE t SET a = 1",
            "UPDATE `d`.`T` JOIN u USING (id) SET t.a = 1, u.a = 2",
            "UPDATE u, t SET t.a = u.a WHERE t.id = u.id",
            "INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
            "/* x */ insert into d.t select * from u on duplicate key update a = 1",
        ] {
            assert_eq!(of(text), Lacking::Kept, "{text}");
        }
        for text in [
            "REPLACE INTO t (id) VALUES (1)",
            "REPLACE t SELECT * FROM u",
            "replace into d.t set id = 1",
            "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t (id)",
        ] {
            assert_eq!(of(text), Lacking::Default, "{text}");
        }
        for text in [
            "UPDATE u SET a = 1",
            "REPLACE INTO u SELECT * FROM t",
            "REPLACE INTO e.t (id) VALUES (1)",
            "INSERT INTO u SELECT * FROM t ON DUPLICATE KEY UPDATE a = 1",
            "CALL t()",
            "DELETE FROM t",
        ] {
            assert_eq!(of(text), Lacking::Unclear, "{text}");
        }
    }
}
