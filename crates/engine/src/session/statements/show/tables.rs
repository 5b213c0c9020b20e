//! `SHOW TABLES`, `SHOW COLUMNS` and similar statements about our own schemas.

use pelorus_error::{Code, Error, Result};
use pelorus_result::result_table::{Cell, ResultTable, int, nullable_text, text};
use pelorus_sql::statement::{Show, ShowKind};

use crate::info::definitions::{ALL, Definition};

/// The result of a `SHOW` about one of our schemas.
pub(super) fn own(schema: &str, show: &Show) -> Result<ResultTable> {
    match show.kind {
        ShowKind::Tables => Ok(tables(schema, show)),
        ShowKind::TableStatus => Ok(table_status(schema)),
        ShowKind::Columns => definition(schema, show).map(|table| columns(table, show.full)),
        ShowKind::Index => definition(schema, show).map(|_| no_indexes()),
        ShowKind::Triggers => Ok(named(&[
            "Trigger",
            "Event",
            "Table",
            "Statement",
            "Timing",
            "Created",
            "sql_mode",
            "Definer",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ])),
        ShowKind::Events => Ok(named(&[
            "Db",
            "Name",
            "Definer",
            "Time zone",
            "Type",
            "Execute at",
            "Interval value",
            "Interval field",
            "Starts",
            "Ends",
            "Status",
            "Originator",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ])),
        ShowKind::OpenTables => Ok(no_open_tables()),
        ShowKind::CreateTable | ShowKind::CreateView => definition(schema, show).map(create_table),
        other => Err(Error::unsupported(format_args!("SHOW {other:?} of {schema}"))),
    }
}

fn named(names: &[&str]) -> ResultTable {
    ResultTable::new(names.iter().map(|name| text(name, 64)).collect())
}

/// Tables are open on linked servers only.
pub(super) fn no_open_tables() -> ResultTable {
    ResultTable::new(vec![
        text("Database", 64),
        text("Table", 64),
        int("In_use"),
        int("Name_locked"),
    ])
}

fn no_indexes() -> ResultTable {
    named(&[
        "Table",
        "Non_unique",
        "Key_name",
        "Seq_in_index",
        "Column_name",
        "Collation",
        "Cardinality",
        "Sub_part",
        "Packed",
        "Null",
        "Index_type",
        "Comment",
        "Index_comment",
        "Visible",
        "Expression",
    ])
}

fn of_schema(schema: &str) -> impl Iterator<Item = &'static Definition> {
    ALL.iter().filter(move |definition| definition.schema == schema)
}

fn definition(schema: &str, show: &Show) -> Result<&'static Definition> {
    let name = show.table.as_ref().map(|table| table.name.as_str()).unwrap_or_default();
    ALL.iter()
        .find(|table| table.schema == schema && table.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| {
            Error::new(Code::NoSuchTable, format!("Table '{schema}.{name}' doesn't exist"))
        })
}

fn tables(schema: &str, show: &Show) -> ResultTable {
    let pattern = show.like.as_ref().map(|like| format!(" ({like})")).unwrap_or_default();
    let mut columns = vec![text(&format!("Tables_in_{schema}{pattern}"), 64)];
    if show.full {
        columns.push(text("Table_type", 11));
    }
    let mut grid = ResultTable::new(columns);
    for table in of_schema(schema) {
        let mut row: Vec<Cell> = vec![table.name.into()];
        if show.full {
            row.push("SYSTEM VIEW".into());
        }
        grid.push(row);
    }
    grid
}

fn table_status(schema: &str) -> ResultTable {
    const NAMES: [&str; 18] = [
        "Name",
        "Engine",
        "Version",
        "Row_format",
        "Rows",
        "Avg_row_length",
        "Data_length",
        "Max_data_length",
        "Index_length",
        "Data_free",
        "Auto_increment",
        "Create_time",
        "Update_time",
        "Check_time",
        "Collation",
        "Checksum",
        "Create_options",
        "Comment",
    ];
    let mut grid = ResultTable::new(NAMES.iter().map(|name| nullable_text(name, 64)).collect());
    for table in of_schema(schema) {
        let mut row = vec![Cell::Null; NAMES.len()];
        row[0] = table.name.into();
        row[NAMES.len() - 1] = "".into();
        grid.push(row);
    }
    grid
}

fn columns(table: &Definition, full: bool) -> ResultTable {
    let mut head = vec![text("Field", 64), text("Type", 1024)];
    if full {
        head.push(nullable_text("Collation", 64));
    }
    head.extend([
        text("Null", 3),
        text("Key", 3),
        nullable_text("Default", 1024),
        text("Extra", 256),
    ]);
    if full {
        head.extend([text("Privileges", 154), text("Comment", 1024)]);
    }
    let mut grid = ResultTable::new(head);
    for column in &table.columns {
        let mut row: Vec<Cell> = vec![column.name.into(), column.sql_type.as_str().into()];
        if full {
            row.push(column.ty.is_string().then(|| column.ty.collation.name()).into());
        }
        let nullable = if column.ty.is_nullable() { "YES" } else { "NO" };
        row.extend([nullable.into(), "".into(), Cell::Null, "".into()]);
        if full {
            row.extend(["select".into(), "".into()]);
        }
        grid.push(row);
    }
    grid
}

fn create_table(table: &Definition) -> ResultTable {
    let lines: Vec<String> = table
        .columns
        .iter()
        .map(|column| {
            let null = if column.ty.is_nullable() { "" } else { " NOT NULL" };
            let name = pelorus_sql::literal::name(column.name);
            format!("  {name} {}{null}", column.sql_type)
        })
        .collect();
    let name = pelorus_sql::literal::name(table.name);
    let sql = format!("CREATE TEMPORARY TABLE {name} (\n{}\n)", lines.join(",\n"));
    let mut grid = ResultTable::new(vec![text("Table", 64), text("Create Table", 1024)]);
    grid.push(vec![table.name.into(), sql.into()]);
    grid
}

/// `SHOW CREATE DATABASE` of one of ours.
pub(super) fn create_database(schema: &str) -> ResultTable {
    let schema = schema.to_ascii_lowercase();
    let sql = format!(
        "CREATE DATABASE {} /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */",
        pelorus_sql::literal::name(&schema)
    );
    let mut grid = ResultTable::new(vec![text("Database", 64), text("Create Database", 1024)]);
    grid.push(vec![schema.into(), sql.into()]);
    grid
}
