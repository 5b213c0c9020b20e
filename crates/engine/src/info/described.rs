//! Rows of the information schema that describe our own schemas, tables and columns.

use pelorus_result::result_table::{Cell, ResultTable, add_row};
use pelorus_types::WireType;

use super::definitions::{ALL, ColumnDefinition, Definition};
use crate::session::statement_snapshot::View;

/// Adds the rows of `SCHEMATA`, `TABLES` and `COLUMNS`; the other tables say nothing of ours.
pub(super) fn fill(_view: &View, table: &str, grid: &mut ResultTable) {
    match table {
        "SCHEMATA" => {
            for schema in super::SCHEMAS {
                add_row(grid, |name| schema_cell(schema, name));
            }
        }
        "TABLES" => {
            for definition in ALL.iter() {
                add_row(grid, |name| table_cell(definition, name));
            }
        }
        "COLUMNS" => {
            for definition in ALL.iter() {
                for (at, column) in definition.columns.iter().enumerate() {
                    add_row(grid, |name| column_cell(definition, column, at + 1, name));
                }
            }
        }
        _ => {}
    }
}

fn schema_cell(schema: &str, name: &str) -> Option<Cell> {
    Some(match name {
        "CATALOG_NAME" => "def".into(),
        "SCHEMA_NAME" => schema.into(),
        "DEFAULT_CHARACTER_SET_NAME" => "utf8mb4".into(),
        "DEFAULT_COLLATION_NAME" => "utf8mb4_0900_ai_ci".into(),
        "DEFAULT_ENCRYPTION" => "NO".into(),
        _ => return None,
    })
}

fn table_cell(definition: &Definition, name: &str) -> Option<Cell> {
    Some(match name {
        "TABLE_CATALOG" => "def".into(),
        "TABLE_SCHEMA" => definition.schema.into(),
        "TABLE_NAME" => definition.name.into(),
        "TABLE_TYPE" => "SYSTEM VIEW".into(),
        "VERSION" => Cell::Int(10),
        _ => return None,
    })
}

fn column_cell(
    definition: &Definition,
    column: &ColumnDefinition,
    ordinal: usize,
    name: &str,
) -> Option<Cell> {
    let ty = &column.ty;
    let is_text = ty.is_string() && ty.wire != WireType::Json;
    let bytes = u64::from(ty.length);
    Some(match name {
        "TABLE_CATALOG" => "def".into(),
        "TABLE_SCHEMA" => definition.schema.into(),
        "TABLE_NAME" => definition.name.into(),
        "COLUMN_NAME" => column.name.into(),
        "ORDINAL_POSITION" => ordinal.into(),
        "IS_NULLABLE" => if ty.is_nullable() { "YES" } else { "NO" }.into(),
        "DATA_TYPE" => {
            let end = column.sql_type.find(['(', ' ']).unwrap_or(column.sql_type.len());
            column.sql_type[..end].into()
        }
        "COLUMN_TYPE" => column.sql_type.as_str().into(),
        "CHARACTER_MAXIMUM_LENGTH" if is_text => {
            Cell::Int(i64::from(ty.length / u32::from(ty.collation.bytes_per_char()).max(1)))
        }
        "CHARACTER_OCTET_LENGTH" if is_text => Cell::Int(i64::try_from(bytes).ok()?),
        "NUMERIC_PRECISION" if ty.is_integer() => {
            Cell::UInt(if ty.wire == WireType::LongLong { 20 } else { 10 })
        }
        "NUMERIC_SCALE" if ty.is_integer() => Cell::UInt(0),
        "DATETIME_PRECISION" if ty.is_temporal() => Cell::UInt(u64::from(ty.decimals)),
        "CHARACTER_SET_NAME" if is_text => ty.collation.charset().into(),
        "COLLATION_NAME" if is_text => ty.collation.name().into(),
        "PRIVILEGES" => "select".into(),
        _ => return None,
    })
}
