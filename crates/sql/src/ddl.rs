//! DDL of native tables: `CREATE TABLE`, `ALTER TABLE` and similar statements as plain data, and a
//! definition as text.
//!
//! [`parse`] parses one complete statement. Clauses of MySQL's grammar that a columnar table does
//! not use (`AVG_ROW_LENGTH`, `USING BTREE`) are parsed and preserved, so that a dump of a MySQL
//! server loads and the definition can be shown again; the engine decides which of them it honours.
//!
//! Expressions are stored as tree and as text. The text has the same meaning only in the [`Mode`]
//! in which the statement was parsed.
//!
//! | module | what it owns |
//! | --- | --- |
//! | `definition` | the data of a table |
//! | `statement` | the data of the statements |
//! | `create` | `CREATE TABLE` |
//! | `column`, `type_name` | columns, their attributes and types |
//! | `key` | keys, foreign keys, checks |
//! | `option` | table options |
//! | `partition` | `PARTITION BY`, `SEGMENT BY` |
//! | `alter` | `ALTER TABLE` |
//! | `other` | databases, indexes, `DROP`, `RENAME`, `TRUNCATE` |
//! | `normal` | the normal form of equivalent definitions |
//! | `dialect` | expressions under another mode |
//! | `printed` | expressions in the form of MySQL's `SHOW CREATE TABLE` |
//! | `render` | `SHOW CREATE TABLE` |

mod alter;
mod column;
mod create;
mod definition;
mod dialect;
mod key;
mod normal;
mod option;
mod other;
mod partition;
mod printed;
mod render;
mod statement;
mod type_name;

use pelorus_error::Result;

pub use definition::{
    Base, CheckDefinition, ColumnDefault, ColumnDefinition, Expression, ForeignKey, Generated,
    KeyDefinition, KeyKind, KeyPart, KeyTarget, QuerySource, Reference, ReferenceAction,
    TableDefinition, TableOption, TypeName, option_value,
};
pub use partition::{
    PartitionBound, PartitionDefinition, PartitionMethod, PartitionValues, Partitioning,
    Subpartitioning,
};
pub use render::{Shown, show_create_table};
pub use statement::{
    AlterAction, AlterTable, CreateIndex, DatabaseDefinition, DropDatabase, DropIndex, DropTables,
    PartitionList, Place, RenameTables, TableStatement,
};

use crate::Mode;
use crate::parse::cursor::Parser;

/// Reads one statement that defines databases or tables. A `;` at the end is allowed.
///
/// # Errors
/// 1064 with MySQL's text for a syntax error; 1235 for unsupported clauses; 1063 for a column type
/// with impossible lengths.
pub fn parse(sql: &str, mode: Mode) -> Result<TableStatement> {
    let mut parser = Parser::new(sql, mode)?;
    parser.versions = true;
    let (statement, query) = parser.table_statement_of()?;
    parser.take_symbol(";");
    parser.expect_end()?;
    Ok(statement.with_query(query, parser))
}

#[cfg(test)]
mod tests;
