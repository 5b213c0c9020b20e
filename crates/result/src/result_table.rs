//! [`ResultTable`]: a small result that is built row by row and converted to Arrow at the end.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use pelorus_error::{Error, Result};
use pelorus_types::{Column, ColumnType, WireType, collation};

use crate::pattern::Like;

/// A value of a small result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(String),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Cell::UInt(value)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Cell::UInt(value as u64)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// A small result.
#[derive(Clone, Debug, Default)]
pub struct ResultTable {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

impl ResultTable {
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Keeps the rows whose text in a column fits a `LIKE` pattern of a `SHOW` statement.
    pub fn keep_like(&mut self, column: usize, pattern: &str) {
        let like = Like::show(pattern);
        self.rows.retain(|row| match row.get(column) {
            Some(Cell::Text(text)) => like.matches(text),
            _ => false,
        });
    }

    /// The rows in the columns' Arrow forms.
    pub fn batch(&self) -> Result<RecordBatch> {
        let fields: Vec<_> = self.columns.iter().map(Column::field).collect();
        let arrays: Vec<ArrayRef> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| self.array(at, column))
            .collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|error| Error::internal("cannot build a result").caused_by(error))
    }

    fn array(&self, at: usize, column: &Column) -> Result<ArrayRef> {
        let cells = self.rows.iter().map(|row| row.get(at).unwrap_or(&Cell::Null));
        let misfit =
            |cell: &Cell| Error::internal(format!("column {} cannot hold {cell:?}", column.name));
        macro_rules! build {
            ($builder:expr, $read:expr) => {{
                let mut builder = $builder;
                for cell in cells {
                    match cell {
                        Cell::Null => builder.append_null(),
                        cell => builder.append_value($read(cell).ok_or_else(|| misfit(cell))?),
                    }
                }
                Ok(Arc::new(builder.finish()))
            }};
        }
        match column.ty.arrow() {
            DataType::Int64 => build!(Int64Builder::new(), as_int),
            DataType::UInt64 => build!(UInt64Builder::new(), as_uint),
            DataType::Float64 => build!(Float64Builder::new(), as_double),
            DataType::Utf8 => build!(StringBuilder::new(), as_text),
            DataType::Binary => build!(BinaryBuilder::new(), as_text),
            other => Err(Error::internal(format!("no cells for {other}"))),
        }
    }
}

fn as_int(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(*value),
        Cell::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

fn as_uint(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::UInt(value) => Some(*value),
        Cell::Int(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

fn as_double(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Double(value) => Some(*value),
        _ => None,
    }
}

fn as_text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Int(value) => Some(value.to_string()),
        Cell::UInt(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A text column of at most so many characters.
pub fn text(name: &str, chars: u32) -> Column {
    let ty = ColumnType::varchar(chars, collation::UTF8MB4_0900_AI_CI);
    Column::computed(name, ty.not_null())
}

/// The same that can be NULL.
pub fn nullable_text(name: &str, chars: u32) -> Column {
    let column = text(name, chars);
    Column { ty: column.ty.nullable(), ..column }
}

/// A signed BIGINT column.
pub fn int(name: &str) -> Column {
    Column::computed(name, ColumnType::bigint().not_null())
}

/// An unsigned BIGINT column.
pub fn uint(name: &str) -> Column {
    Column::computed(name, ColumnType::bigint_unsigned().not_null())
}

/// The same that can be NULL.
pub fn nullable_uint(name: &str) -> Column {
    Column::computed(name, ColumnType::bigint_unsigned().nullable())
}

/// An INT column of a display width.
pub fn small_int(name: &str, width: u32, unsigned: bool) -> Column {
    let mut ty = if unsigned { ColumnType::bigint_unsigned() } else { ColumnType::bigint() };
    ty.wire = WireType::Long;
    ty.length = width;
    Column::computed(name, ty.not_null())
}

/// Adds a row; columns of which nothing is said are NULL, empty or zero, as they can be.
pub fn add_row(grid: &mut ResultTable, cell: impl Fn(&str) -> Option<Cell>) {
    let row = grid
        .columns
        .iter()
        .map(|column| cell(&column.name).unwrap_or_else(|| empty(&column.ty)))
        .collect();
    grid.push(row);
}

fn empty(ty: &ColumnType) -> Cell {
    if ty.is_nullable() {
        Cell::Null
    } else if ty.is_string() {
        Cell::Text(String::new())
    } else if ty.is_unsigned() {
        Cell::UInt(0)
    } else {
        Cell::Int(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_arrow_of_the_columns() {
        let mut grid = ResultTable::new(vec![text("a", 10), nullable_text("b", 10), uint("n")]);
        grid.push(vec!["x".into(), Cell::Null, 7_u64.into()]);
        grid.push(vec!["yy".into(), "z".into(), 8_usize.into()]);
        let batch = grid.batch().unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, 3));
        grid.keep_like(0, "Y%");
        assert_eq!(grid.batch().unwrap().num_rows(), 1);
        grid.push(vec![Cell::Int(1), Cell::Null, Cell::Int(-1)]);
        assert!(grid.batch().is_err());
    }
}
