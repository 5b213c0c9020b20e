//! A schema with everything that is derived from it, and how columns of an older one are read
//! under a newer one.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array, new_null_array};
use arrow::datatypes::DataType;
use pelorus_error::{Error, Result};

use crate::batch;
use crate::bytes::Reader;
use crate::key::{KeyEncoder, Keys, Weigher};
use crate::schema::{StoredColumn, TableSchema};

/// A schema and its key encoders.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) schema: TableSchema,
    primary: KeyEncoder,
    sorting: KeyEncoder,
}

impl Layout {
    pub(crate) fn new(schema: TableSchema, weigher: &Arc<dyn Weigher>) -> Self {
        let primary = KeyEncoder::primary(&schema, Arc::clone(weigher));
        let sorting = KeyEncoder::sorting(&schema, Arc::clone(weigher));
        Self { schema, primary, sorting }
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
        let rows = columns.first().map_or(0, |column| column.len());
        self.primary.encode(rows, |at| &columns[at])
    }

    /// The primary keys of rows of which only the key's columns are given.
    pub(crate) fn keys_of_keys(&self, columns: &[ArrayRef]) -> Result<Keys> {
        let rows = columns.first().map_or(0, |column| column.len());
        let place = |at: usize| self.schema.key.iter().position(|&it| it == at).unwrap_or(0);
        self.primary.encode(rows, |at| &columns[place(at)])
    }

    /// What whole rows are sorted by.
    pub(crate) fn sort_keys(&self, columns: &[ArrayRef]) -> Result<Keys> {
        let rows = columns.first().map_or(0, |column| column.len());
        self.sorting.encode(rows, |at| &columns[at])
    }

    /// Where the columns of a newer schema are in this one.
    pub(crate) fn sources(&self, newer: &TableSchema, columns: &[usize]) -> Vec<Source> {
        let source = |&at: &usize| {
            let column = &newer.columns[at];
            match self.schema.position(column.id) {
                Some(position) => Source::Stored(position),
                None => Source::Filler(column.clone()),
            }
        };
        columns.iter().map(source).collect()
    }
}

/// Where the values of a column come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The column at a position.
    Stored(usize),
    /// The column is younger than the rows: they all have its filler.
    Filler(StoredColumn),
}

/// The filler of a column as an array.
pub(crate) fn filler(column: &StoredColumn, rows: usize) -> Result<ArrayRef> {
    let ty = column.ty.arrow();
    let Some(bytes) = &column.filler else { return Ok(new_null_array(&ty, rows)) };
    let (values, count) = batch::read(&mut Reader::new(bytes, "the filler of a column"), &[ty])?;
    let [value] = values.as_slice() else {
        return Err(Error::internal("the filler of a column is not one value"));
    };
    if count != 1 {
        return Err(Error::internal("the filler of a column is not one value"));
    }
    arrow::compute::take(value, &UInt32Array::from(vec![0; rows]), None)
        .map_err(|error| Error::internal("a filler cannot be repeated").caused_by(error))
}
