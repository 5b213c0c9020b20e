//! [`Target`]: a requested column of row images, and the decoded result.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use pelorus_types::{Collation, ColumnType};

/// A column that is wanted.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name, for errors.
    pub name: String,
    /// Its number in the table of the log, from 0.
    pub source: usize,
    /// Its type: the type of the array.
    pub ty: ColumnType,
    /// The collation of the source's column, for text of which the log does not tell it (MariaDB's
    /// `binlog_row_metadata = NO_LOG`, which is its default); `None` to take that of `ty`.
    pub charset: Option<Collation>,
    /// The members of an ENUM or SET in UTF-8; `None` to take those that the log tells.
    pub members: Option<Arc<[String]>>,
    /// How MariaDB's types that the log shows as bytes are to be read.
    pub form: Form,
}

/// How bytes are to be read where the log does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As the type says.
    #[default]
    Plain,
    /// MariaDB's UUID.
    Uuid,
    /// MariaDB's INET4.
    Inet4,
    /// MariaDB's INET6.
    Inet6,
}

/// Which image of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// The row before an update or delete.
    Before,
    /// The row after an insert or update.
    After,
    /// The same, where columns that it leaves out are those of the image of before, as far as that
    /// has them.
    Completed,
}

/// The result of an [`ImageBuilder`](crate::ImageBuilder).
#[derive(Debug)]
pub struct Images {
    /// One array for each target.
    pub arrays: Vec<ArrayRef>,
    /// Which rows had the column, for each target; `None` when all had it.
    pub present: Vec<Option<BooleanBuffer>>,
    /// Changes of documents whose text before is not in the log, in the order of the rows; the array
    /// has NULL there.
    pub changes: Vec<DocumentChange>,
    /// Rows of each array.
    pub rows: usize,
}

/// A change of a JSON document, to be applied with [`apply_changes`](crate::apply_changes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentChange {
    /// The number of the target.
    pub target: usize,
    /// The row in its array.
    pub row: usize,
    /// The change, as bytes in the log.
    pub bytes: Bytes,
}
