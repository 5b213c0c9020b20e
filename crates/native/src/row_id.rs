//! `sql_generate_invisible_primary_key`: MySQL's invisible column `my_row_id` of tables that are
//! created without a primary key.

use pelorus_error::{Code, Error, Result};
use pelorus_sql::Mode;
use pelorus_sql::ddl::{KeyKind, TableDefinition, TableStatement, parse};

const NAME: &str = "my_row_id";
/// As MySQL defines it.
const TABLE: &str = "CREATE TABLE t (`my_row_id` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE \
                     PRIMARY KEY)";

/// Whether a table has the column, and a primary key of it alone.
pub(super) fn is_made(definition: &TableDefinition) -> bool {
    let Some(column) = definition.columns.first() else { return false };
    column.name.eq_ignore_ascii_case(NAME)
        && column.invisible
        && column.auto_increment
        && definition.keys.iter().any(|key| {
            key.kind == KeyKind::Primary && key.parts.len() == 1 && key.holds(&column.name)
        })
}

/// Puts the column in front of the others of a table that has no primary key.
///
/// # Errors
/// A column of that name (4108), another AUTO_INCREMENT column (4109), partitions (1235).
pub(super) fn add(definition: &mut TableDefinition) -> Result<()> {
    let has_key = definition.keys.iter().any(|key| key.kind == KeyKind::Primary)
        || definition.columns.iter().any(|column| column.primary);
    if has_key {
        return Ok(());
    }
    let failed = |code, why: &str| {
        let text = format!("Failed to generate invisible primary key. {why}");
        Err(Error::new(code, text))
    };
    if definition.partitioning.is_some() {
        return Err(Error::unsupported(
            "generating invisible primary key for the partitioned tables",
        ));
    }
    if definition.columns.iter().any(|column| column.auto_increment) {
        return failed(Code::InvisibleKeyAutoIncrement, "Auto-increment column already exists.");
    }
    if definition.columns.iter().any(|column| column.name.eq_ignore_ascii_case(NAME)) {
        return failed(Code::InvisibleKeyColumnExists, &format!("Column '{NAME}' already exists."));
    }
    let TableStatement::Create(mut made) = parse(TABLE, Mode::default())? else {
        return Err(Error::new(Code::Internal, "a table of a row number"));
    };
    definition.columns.splice(..0, made.columns.drain(..));
    Ok(())
}
