//! Reads the description of tables from a server.

use pelorus_error::Result;
use pelorus_types::{Collation, ColumnType};

use super::{KeyPart, RemoteColumn, RemoteKey, RemotePartition, RemoteTable, TableName};
use crate::connection::{Connection, TextRow, TextRows};
use crate::split::{quote_name, quote_text};

/// The names of a server's databases.
pub(crate) async fn databases(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection.rows("SHOW DATABASES").await?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// The tables and views of a database.
pub(crate) async fn tables(connection: &mut Connection, database: &str) -> Result<Vec<TableName>> {
    let sql = format!("SHOW FULL TABLES FROM {}", quote_name(database));
    let rows = connection.rows(&sql).await?;
    let name = |row: &Vec<Option<String>>| {
        let name = row.first()?.clone()?;
        let kind = row.get(1)?.as_deref()?;
        Some(TableName { name, is_view: kind.contains("VIEW") })
    };
    Ok(rows.rows.iter().filter_map(name).collect())
}

/// A table with all that is known of it; `None` when there is none of that name.
pub(crate) async fn table(
    connection: &mut Connection,
    database: &str,
    table: &str,
) -> Result<Option<RemoteTable>> {
    let filter = format!(
        "WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote_text(database),
        quote_text(table)
    );
    let select = |what: &str, order: &str| {
        format!("SELECT * FROM information_schema.{what} {filter} ORDER BY TABLE_NAME{order}")
    };
    let queries = [
        "SELECT @@lower_case_table_names".to_owned(),
        select("TABLES", ""),
        select("COLUMNS", ", ORDINAL_POSITION"),
        select("STATISTICS", ", INDEX_NAME, SEQ_IN_INDEX"),
        select("PARTITIONS", ", PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION"),
    ];
    let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
    let results = connection.rows_of_all(&texts).await?;
    let [case, tables, columns, statistics, partitions] = results.as_slice() else {
        return Ok(None);
    };
    let exact = case.single() == Some("0");
    let Some(found) = find_table(tables, table, exact) else { return Ok(None) };
    let name = found.text("TABLE_NAME");
    let of_table = |row: &TextRow<'_>| row.get("TABLE_NAME") == Some(&name);
    let mut columns: Vec<_> =
        columns.iter().filter(of_table).map(|row| read_column(&row)).collect();
    let database = found.text("TABLE_SCHEMA");
    read_types(connection, &database, &name, &mut columns).await?;
    let engine = found.text("ENGINE");
    Ok(Some(RemoteTable {
        is_view: found.text("TABLE_TYPE").contains("VIEW"),
        rows: found.number("TABLE_ROWS").unwrap_or(0),
        bytes: found.number("DATA_LENGTH").unwrap_or(0),
        collation: found.get("TABLE_COLLATION").map(str::to_owned),
        comment: found.text("TABLE_COMMENT"),
        auto_increment: found.number("AUTO_INCREMENT"),
        keys: read_keys(statistics, &name),
        partitions: read_partitions(partitions, &name),
        database,
        name,
        columns,
        engine,
        folds_names: !exact,
    }))
}

fn find_table<'a>(tables: &'a TextRows, name: &str, exact: bool) -> Option<TextRow<'a>> {
    tables.iter().find(|row| row.get("TABLE_NAME") == Some(name)).or_else(|| {
        let same = |row: &TextRow<'_>| {
            row.get("TABLE_NAME").is_some_and(|other| other.to_lowercase() == name.to_lowercase())
        };
        if exact { None } else { tables.iter().find(same) }
    })
}

fn read_column(row: &TextRow<'_>) -> RemoteColumn {
    let owned = |name: &str| row.get(name).map(str::to_owned);
    let extra = row.text("EXTRA");
    RemoteColumn {
        name: row.text("COLUMN_NAME"),
        // Read from the server's own metadata in a second step.
        ty: ColumnType::null(),
        sql_type: row.text("COLUMN_TYPE"),
        charset: owned("CHARACTER_SET_NAME"),
        collation: owned("COLLATION_NAME"),
        nullable: row.get("IS_NULLABLE") == Some("YES"),
        default: owned("COLUMN_DEFAULT"),
        generated: owned("GENERATION_EXPRESSION").filter(|text| !text.is_empty()),
        comment: row.text("COLUMN_COMMENT"),
        invisible: extra.contains("INVISIBLE"),
        extra,
    }
}

/// Types come from the metadata of a prepared statement: what results will say.
async fn read_types(
    connection: &mut Connection,
    database: &str,
    table: &str,
    columns: &mut [RemoteColumn],
) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = columns.iter().map(|column| quote_name(&column.name)).collect();
    let sql =
        format!("SELECT {} FROM {}.{}", names.join(", "), quote_name(database), quote_name(table));
    let statement = connection.prepare(&sql).await?;
    connection.close_statement(statement.id);
    for (column, described) in columns.iter_mut().zip(&statement.columns) {
        column.ty = own_collation(described.ty, column.collation.as_deref());
    }
    Ok(())
}

/// Results carry the collation of the connection; the column's own decides how it compares.
fn own_collation(mut ty: ColumnType, collation: Option<&str>) -> ColumnType {
    let Some(own) = collation.and_then(Collation::by_name) else { return ty };
    if ty.is_string() && !ty.is_binary_string() {
        let chars = ty.length / u32::from(ty.collation.bytes_per_char());
        // LONGTEXT reports as many bytes as there can be, whatever the charset.
        if ty.length != u32::MAX {
            ty.length = chars.saturating_mul(u32::from(own.bytes_per_char()));
        }
        ty.collation = own;
    }
    ty
}

fn read_keys(statistics: &TextRows, table: &str) -> Vec<RemoteKey> {
    let mut keys: Vec<RemoteKey> = Vec::new();
    for row in statistics.iter().filter(|row| row.get("TABLE_NAME") == Some(table)) {
        let name = row.text("INDEX_NAME");
        if keys.last().is_none_or(|key| key.name != name) {
            keys.push(RemoteKey {
                unique: row.get("NON_UNIQUE") == Some("0"),
                kind: row.text("INDEX_TYPE"),
                parts: Vec::new(),
                comment: row.text("INDEX_COMMENT"),
                ignored: row.get("IS_VISIBLE") == Some("NO") || row.get("IGNORED") == Some("YES"),
                name,
            });
        }
        let part = KeyPart {
            column: row.text("COLUMN_NAME"),
            cardinality: row.number("CARDINALITY"),
            prefix: row.number("SUB_PART"),
            nullable: row.get("NULLABLE") == Some("YES"),
            descending: row.get("COLLATION") == Some("D"),
            expression: row.get("EXPRESSION").map(str::to_owned),
        };
        if let Some(key) = keys.last_mut() {
            key.parts.push(part);
        }
    }
    // The primary key first, then unique ones, otherwise by name.
    keys.sort_by_key(|key| (key.name != "PRIMARY", !key.unique));
    keys
}

fn read_partitions(partitions: &TextRows, table: &str) -> Vec<RemotePartition> {
    let mut all: Vec<RemotePartition> = Vec::new();
    for row in partitions.iter().filter(|row| row.get("TABLE_NAME") == Some(table)) {
        let Some(name) = row.get("PARTITION_NAME") else { continue };
        let rows = row.number("TABLE_ROWS").unwrap_or(0);
        let bytes = row.number("DATA_LENGTH").unwrap_or(0);
        // Subpartitions come as rows of their own.
        if let Some(last) = all.last_mut().filter(|last| last.name == name) {
            last.rows += rows;
            last.bytes += bytes;
            continue;
        }
        all.push(RemotePartition {
            name: name.to_owned(),
            method: row.text("PARTITION_METHOD"),
            expression: row.text("PARTITION_EXPRESSION"),
            description: row.get("PARTITION_DESCRIPTION").map(str::to_owned),
            rows,
            bytes,
        });
    }
    all
}
