//! A version of a schema with everything that is derived from it, and the reading of columns of an
//! older version under a newer one.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array, new_null_array};
use arrow::datatypes::DataType;
use pelorus_chunk::Predicate;
use pelorus_error::{Error, Result};

use crate::catalog::key_function::Function;
use crate::catalog::schema::{StoredColumn, TableSchema};
use crate::format::bytes::{Reader, Writer};
use crate::format::row_batch;
use crate::key::{KeyEncoder, KeyRanges, Keys, SortKeyEncoder};

/// A schema and its key encoders.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) schema: TableSchema,
    /// Grows with every change of the table while it is open.
    pub(crate) generation: u64,
    primary: KeyEncoder,
    sorting: KeyEncoder,
}

impl Layout {
    pub(crate) fn new(
        schema: TableSchema,
        weigher: &Arc<dyn SortKeyEncoder>,
        generation: u64,
    ) -> Self {
        let primary = KeyEncoder::primary(&schema, Arc::clone(weigher));
        let sorting = KeyEncoder::sorting(&schema, Arc::clone(weigher));
        Self { schema, generation, primary, sorting }
    }

    /// The Arrow types of all columns.
    pub(crate) fn types(&self) -> Vec<DataType> {
        self.schema.columns.iter().map(|column| column.ty.arrow()).collect()
    }

    /// The Arrow types of the key's columns.
    pub(crate) fn key_types(&self) -> Vec<DataType> {
        self.schema.key.iter().map(|&at| self.schema.columns[at].ty.arrow()).collect()
    }

    /// The primary keys of whole rows.
    pub(crate) fn keys_of_rows(&self, columns: &[ArrayRef]) -> Result<Keys> {
        self.primary.encode(self.rows_of(columns), |at| &columns[at])
    }

    /// The number of rows, by the first column of the key: in other columns one value may represent
    /// all.
    fn rows_of(&self, columns: &[ArrayRef]) -> usize {
        let column = self.schema.key.first().and_then(|&at| columns.get(at));
        column.map_or(0, |column| column.len())
    }

    /// The primary keys of rows of which only the key's columns are given.
    pub(crate) fn keys_of_keys(&self, columns: &[ArrayRef]) -> Result<Keys> {
        let rows = columns.first().map_or(0, |column| column.len());
        let place = |at: usize| self.schema.key.iter().position(|&it| it == at).unwrap_or(0);
        self.primary.encode(rows, |at| &columns[place(at)])
    }

    /// The sort keys of whole rows.
    pub(crate) fn sort_keys(&self, columns: &[ArrayRef]) -> Result<Keys> {
        self.sorting.encode(self.rows_of(columns), |at| &columns[at])
    }

    /// The first parts of the sort keys of rows; `column` gives the array of a position.
    pub(crate) fn first_sort_keys<'a>(
        &self,
        parts: usize,
        rows: usize,
        column: impl Fn(usize) -> &'a ArrayRef,
    ) -> Result<Keys> {
        self.sorting.encode_first(parts, rows, column)
    }

    /// The ranges of sort keys that conditions on columns leave, and the positions of the columns
    /// in them.
    pub(crate) fn key_ranges(
        &self,
        conditions: &[(usize, Predicate)],
    ) -> Option<(KeyRanges, Vec<usize>)> {
        let ranges = self.sorting.ranges(conditions)?;
        let columns = self.sorting.columns().take(ranges.depth).collect();
        Some((ranges, columns))
    }

    /// Whether rows of both are sorted alike.
    pub(crate) fn sorts_like(&self, other: &Self) -> bool {
        let of = |layout: &Self| -> Vec<_> {
            let part = |(column, function): (usize, Option<Function>)| {
                let column = &layout.schema.columns[column];
                (column.id, column.ty.arrow(), column.ty.collation, function)
            };
            layout.sorting.parts().map(part).collect()
        };
        std::ptr::eq(self, other) || of(self) == of(other)
    }

    /// Where columns of another layout, by position, are in this one.
    ///
    /// # Errors
    /// A column that was dropped after the other layout was taken (1412).
    pub(crate) fn sources<'a>(
        &self,
        other: &'a Layout,
        columns: &[usize],
    ) -> Result<Vec<Source<'a>>> {
        let source = |&at: &usize| {
            let column = other.schema.columns.get(at).ok_or_else(Error::table_changed)?;
            // Nearly always it is in the same place.
            if self.schema.columns.get(at).is_some_and(|it| it.id == column.id) {
                return Ok(Source::Stored(at));
            }
            match self.schema.position(column.id) {
                Some(position) => Ok(Source::Stored(position)),
                None if self.generation <= other.generation => Ok(Source::Filler(column)),
                None => Err(Error::table_changed()),
            }
        };
        columns.iter().map(source).collect()
    }
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// The column at a position.
    Stored(usize),
    /// The column is younger than the rows: they all have its filler.
    Filler(&'a StoredColumn),
}

impl Source<'_> {
    /// The position, if the column exists.
    pub(crate) fn stored(&self) -> Option<usize> {
        match self {
            Self::Stored(position) => Some(*position),
            Self::Filler(_) => None,
        }
    }
}

/// The bytes of a filler ([`StoredColumn::filler`]): an array of one value.
pub fn encode_filler(value: &ArrayRef) -> Vec<u8> {
    let mut out = Writer::default();
    row_batch::write(&[Arc::clone(value)], value.len(), &mut out);
    out.0
}

/// The filler of a column as an array.
pub(crate) fn filler(column: &StoredColumn, rows: usize) -> Result<ArrayRef> {
    let ty = column.ty.arrow();
    let Some(bytes) = &column.filler else { return Ok(new_null_array(&ty, rows)) };
    let (values, count) =
        row_batch::read(&mut Reader::new(bytes, "the filler of a column"), &[ty])?;
    let [value] = values.as_slice() else {
        return Err(Error::internal("the filler of a column is not one value"));
    };
    if count != 1 {
        return Err(Error::internal("the filler of a column is not one value"));
    }
    arrow::compute::take(value, &UInt32Array::from(vec![0; rows]), None)
        .map_err(|error| Error::internal("a filler cannot be repeated").caused_by(error))
}
