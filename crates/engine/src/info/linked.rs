//! Rows of the information schema that come from linked servers.
//!
//! The query to each server selects the columns that this server has, cast to the types that we
//! show; columns that it lacks are NULL. Database names become those of this side, and rows of
//! databases that are not shown here are left out. `column = text` conditions on names are pushed
//! down, so that the description of one table does not read those of all tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, new_null_array};
use arrow::datatypes::Schema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use pelorus_error::{Error, Result};
use pelorus_sql::{Mode, literal};
use pelorus_types::{Column, WireType};

use super::remote_columns::ask;
use crate::links::LinkedDatabase;
use crate::session::statement_snapshot::View;

/// Tables whose rows come from servers, with the column that names the database of a row.
const LINKED: &[(&str, &str)] = &[
    ("CHECK_CONSTRAINTS", "CONSTRAINT_SCHEMA"),
    ("COLUMNS", "TABLE_SCHEMA"),
    ("COLUMN_STATISTICS", "SCHEMA_NAME"),
    ("COLUMNS_EXTENSIONS", "TABLE_SCHEMA"),
    ("EVENTS", "EVENT_SCHEMA"),
    ("KEY_COLUMN_USAGE", "TABLE_SCHEMA"),
    ("PARAMETERS", "SPECIFIC_SCHEMA"),
    ("PARTITIONS", "TABLE_SCHEMA"),
    ("REFERENTIAL_CONSTRAINTS", "CONSTRAINT_SCHEMA"),
    ("ROUTINES", "ROUTINE_SCHEMA"),
    ("SCHEMATA", "SCHEMA_NAME"),
    ("SCHEMATA_EXTENSIONS", "SCHEMA_NAME"),
    ("STATISTICS", "TABLE_SCHEMA"),
    ("TABLES", "TABLE_SCHEMA"),
    ("TABLES_EXTENSIONS", "TABLE_SCHEMA"),
    ("TABLE_CONSTRAINTS", "TABLE_SCHEMA"),
    ("TABLE_CONSTRAINTS_EXTENSIONS", "CONSTRAINT_SCHEMA"),
    ("TRIGGERS", "TRIGGER_SCHEMA"),
    ("VIEWS", "TABLE_SCHEMA"),
    ("VIEW_ROUTINE_USAGE", "TABLE_SCHEMA"),
    ("VIEW_TABLE_USAGE", "TABLE_SCHEMA"),
];

/// Columns that hold names of objects; conditions on them may be handed on, because servers compare
/// them no more strictly than we do, and every row that comes back is checked here again.
const NAMES: &[&str] = &[
    "TABLE_NAME",
    "COLUMN_NAME",
    "CONSTRAINT_NAME",
    "ROUTINE_NAME",
    "TRIGGER_NAME",
    "EVENT_NAME",
    "INDEX_NAME",
    "SPECIFIC_NAME",
    "ROUTINE_TYPE",
    "TABLE_TYPE",
    "EVENT_OBJECT_TABLE",
];

/// Whether the rows of a table come from servers.
pub(super) fn is_linked(table: &str) -> bool {
    LINKED.iter().any(|(name, _)| *name == table)
}

/// The rows of all linked servers.
pub(super) async fn rows(
    view: &View,
    table: &str,
    columns: &[Column],
    equals: &[(String, String)],
) -> Result<Vec<RecordBatch>> {
    let Some((_, schema_column)) = LINKED.iter().find(|(name, _)| *name == table) else {
        return Ok(Vec::new());
    };
    view.engine.links().refresh().await;
    let mut by_link: BTreeMap<String, Vec<LinkedDatabase>> = BTreeMap::new();
    let wanted = equals.iter().find(|(column, _)| column.eq_ignore_ascii_case(schema_column));
    for database in view.engine.links().databases() {
        if wanted.is_none_or(|(_, name)| name.eq_ignore_ascii_case(&database.local)) {
            by_link.entry(database.link.name().to_owned()).or_default().push(database);
        }
    }
    let questions = by_link.into_values().map(|databases| {
        let question = Question { table, columns, equals, schema_column, databases };
        async move { question.ask(view).await }
    });
    futures::future::try_join_all(questions).await.map(|all| all.into_iter().flatten().collect())
}

/// The query for one server.
struct Question<'a> {
    table: &'a str,
    columns: &'a [Column],
    equals: &'a [(String, String)],
    schema_column: &'a str,
    databases: Vec<LinkedDatabase>,
}

impl Question<'_> {
    async fn ask(&self, view: &View) -> Result<Option<RecordBatch>> {
        let Some(first) = self.databases.first() else { return Ok(None) };
        let link = first.link.clone();
        let shape = view.engine.remote_info().shape(&link).await?;
        // A server that lacks the whole table has nothing to show.
        let Some(known) = shape.get(self.table) else { return Ok(None) };
        let batch = ask(&link, &self.sql(known)).await?;
        self.shaped(&batch, known).map(Some)
    }

    fn sql(&self, known: &BTreeSet<String>) -> String {
        let items: Vec<String> = self
            .columns
            .iter()
            .filter(|column| known.contains(&column.name.to_ascii_uppercase()))
            .map(cast)
            .collect();
        let databases: Vec<String> =
            self.databases.iter().map(|database| text(&database.remote)).collect();
        let mut conditions = vec![format!("{} IN ({})", self.schema_column, databases.join(", "))];
        for (column, value) in self.equals {
            let column = column.to_ascii_uppercase();
            if NAMES.contains(&column.as_str()) && known.contains(&column) {
                conditions.push(format!("{column} = {}", text(value)));
            }
        }
        format!(
            "SELECT {} FROM information_schema.{} WHERE {}",
            items.join(", "),
            self.table,
            conditions.join(" AND ")
        )
    }

    /// Converts a server's rows to our columns: missing columns are NULL, database names are ours.
    fn shaped(&self, batch: &RecordBatch, known: &BTreeSet<String>) -> Result<RecordBatch> {
        let mut given = batch.columns().iter();
        let rows = batch.num_rows();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            let ty = column.ty.arrow();
            if !known.contains(&column.name.to_ascii_uppercase()) {
                arrays.push(new_null_array(&ty, rows));
                continue;
            }
            let array = given.next().ok_or_else(|| Error::internal("a column is missing"))?;
            if *array.data_type() != ty {
                return Err(Error::internal(format!(
                    "column {} of {} came as {} instead of {ty}",
                    column.name,
                    self.table,
                    array.data_type()
                )));
            }
            arrays.push(if is_schema_name(&column.name) {
                self.local_names(array)
            } else {
                array.clone()
            });
        }
        let fields: Vec<_> = self.columns.iter().map(Column::field).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|error| Error::internal("cannot build an information table").caused_by(error))
    }

    fn local_names(&self, array: &ArrayRef) -> ArrayRef {
        let Some(names) = array.as_string_opt::<i32>() else { return array.clone() };
        let local = |name: &str| -> String {
            self.databases
                .iter()
                .find(|database| database.remote == name)
                .map_or_else(|| name.to_owned(), |database| database.local.clone())
        };
        let renamed: StringArray = names.iter().map(|name| name.map(local)).collect();
        Arc::new(renamed)
    }
}

/// Columns that name a database.
fn is_schema_name(column: &str) -> bool {
    column == "SCHEMA_NAME" || column.ends_with("_SCHEMA")
}

/// A column under a cast to the type that we show, so that servers of all versions agree.
fn cast(column: &Column) -> String {
    let name = literal::name(&column.name);
    let cast = match column.ty.wire {
        WireType::DateTime | WireType::Timestamp => format!("CAST({name} AS DATETIME)"),
        _ if column.ty.is_integer() && column.ty.is_unsigned() => {
            format!("CAST({name} AS UNSIGNED)")
        }
        _ if column.ty.is_integer() => format!("CAST({name} AS SIGNED)"),
        _ => format!("CAST({name} AS CHAR CHARACTER SET utf8mb4)"),
    };
    format!("{cast} AS {name}")
}

fn text(value: &str) -> String {
    literal::text(value, Mode::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::definitions;

    #[test]
    fn every_linked_table_names_its_database() {
        for (table, schema_column) in LINKED {
            let columns = definitions::columns("information_schema", table, false).unwrap();
            assert!(columns.iter().any(|column| column.name == *schema_column), "{table}");
        }
    }

    #[test]
    fn columns_are_cast_to_what_we_show() {
        let columns = definitions::columns("information_schema", "TABLES", false).unwrap();
        let find = |name: &str| columns.iter().find(|column| column.name == name).unwrap();
        assert_eq!(cast(find("TABLE_ROWS")), "CAST(`TABLE_ROWS` AS UNSIGNED) AS `TABLE_ROWS`");
        assert_eq!(cast(find("CREATE_TIME")), "CAST(`CREATE_TIME` AS DATETIME) AS `CREATE_TIME`");
    }
}
