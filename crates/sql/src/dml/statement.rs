//! The content of DML statements, as plain data.

use sqlparser::ast::{Expr, OrderByExpr, SelectItem, TableWithJoins, With};

use super::fields::FileFormat;
use super::rows::Rows;
use crate::parse::Parsed;
use crate::statement::name::TableName;

/// `column = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column; with more than one table, the parts of its name: database, table, column.
    pub column: Vec<String>,
    /// Its new value.
    pub value: Assigned,
}

/// The new value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Assigned {
    /// `DEFAULT`
    Default,
    /// Any expression.
    Expression(Box<Expr>),
}

/// `RETURNING` (MariaDB): select items with the names of their columns, which `*` does not have.
pub type Returning = Vec<(SelectItem, Option<String>)>;

/// When an `INSERT` is executed; MySQL 8 does nothing with it on such tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named as its word is")]
pub enum InsertPriority {
    Low,
    Delayed,
    High,
}

/// `INSERT` or `REPLACE`
#[derive(Debug)]
pub struct Insert<'a> {
    /// `REPLACE`
    pub replace: bool,
    /// `LOW_PRIORITY`, `DELAYED` or `HIGH_PRIORITY`
    pub priority: Option<InsertPriority>,
    /// `IGNORE`
    pub ignore: bool,
    /// The table.
    pub table: TableName,
    /// `PARTITION (...)`; empty when not said.
    pub partitions: Vec<String>,
    /// The columns; `None` when there is no list, which means all. With `SET` there is no list.
    pub columns: Option<Vec<String>>,
    /// Where rows come from.
    pub source: InsertSource<'a>,
    /// `AS name [(columns)]`
    pub row_alias: Option<RowAlias>,
    /// `ON DUPLICATE KEY UPDATE`; empty when not said.
    pub on_duplicate: Vec<Assignment>,
    /// `RETURNING`; empty when not said.
    pub returning: Returning,
}

/// Where new rows come from.
#[derive(Debug)]
pub enum InsertSource<'a> {
    /// `VALUES (...), (...)`
    Values(Rows<'a>),
    /// `SET a = 1, ...`: one row.
    Set(Vec<Assignment>),
    /// `SELECT ...`, `TABLE t`, `VALUES ROW(...), ...`: the text and the tree.
    Query(String, Box<Parsed>),
}

/// A name for the new row in `ON DUPLICATE KEY UPDATE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAlias {
    /// The name of the row.
    pub name: String,
    /// Names for its columns; empty when not said.
    pub columns: Vec<String>,
}

/// `UPDATE`
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// `WITH ...`
    pub with: Option<With>,
    /// `LOW_PRIORITY`
    pub low_priority: bool,
    /// `IGNORE`
    pub ignore: bool,
    /// The tables; one without joins is an update of a single table.
    pub tables: Vec<TableWithJoins>,
    /// `SET`
    pub assignments: Vec<Assignment>,
    /// `WHERE`
    pub selection: Option<Expr>,
    /// `ORDER BY`
    pub order_by: Vec<OrderByExpr>,
    /// `LIMIT`: a number or a placeholder.
    pub limit: Option<Expr>,
}

/// `DELETE`
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// `WITH ...`
    pub with: Option<With>,
    /// `LOW_PRIORITY`
    pub low_priority: bool,
    /// `QUICK`
    pub quick: bool,
    /// `IGNORE`
    pub ignore: bool,
    /// The tables or aliases to delete from, of the forms with several tables. Empty for
    /// `DELETE FROM t`, where `from` is the one table without joins.
    pub targets: Vec<TableName>,
    /// The tables to look at.
    pub from: Vec<TableWithJoins>,
    /// `WHERE`
    pub selection: Option<Expr>,
    /// `ORDER BY`
    pub order_by: Vec<OrderByExpr>,
    /// `LIMIT`: a number or a placeholder.
    pub limit: Option<Expr>,
    /// `RETURNING`; empty when not said.
    pub returning: Returning,
}

/// The handling of a row with a duplicate key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// `REPLACE`: the new row wins.
    Replace,
    /// `IGNORE`: the old row stays.
    Ignore,
}

/// `LOAD DATA`
#[derive(Clone, Debug, PartialEq)]
pub struct LoadData {
    /// `LOW_PRIORITY` or `CONCURRENT` was said.
    pub priority: bool,
    /// `LOCAL`: the client sends the file.
    pub local: bool,
    /// The file.
    pub file: String,
    /// `REPLACE` or `IGNORE`
    pub duplicates: Option<Duplicates>,
    /// The table.
    pub table: TableName,
    /// `PARTITION (...)`; empty when not said.
    pub partitions: Vec<String>,
    /// `CHARACTER SET`, in lower case.
    pub charset: Option<String>,
    /// `FIELDS`, `LINES` and `IGNORE n LINES`
    pub format: FileFormat,
    /// Where the fields of a row go, in order; empty means all columns.
    pub targets: Vec<LoadTarget>,
    /// `SET`
    pub assignments: Vec<Assignment>,
}

/// Where a field goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadTarget {
    /// A column.
    Column(String),
    /// A user variable, without its `@`.
    Variable(String),
}
