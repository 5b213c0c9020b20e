//! The result of a query: its columns and its stream of rows.

use std::pin::Pin;

use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::Stream;
use pelorus_error::Result;
use pelorus_link::Condition;
use pelorus_types::Column;

/// In which form the client wants rows that a linked server encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// Rows of the text protocol.
    Text,
    /// Rows of the binary protocol.
    Binary,
}

/// A piece of a result.
#[derive(Debug)]
pub enum Block {
    /// Rows in the columns' Arrow forms.
    Batch(RecordBatch),
    /// Rows as a linked server encoded them: a `u32` length (little endian) and the payload each.
    Encoded(Bytes),
    /// The warnings of a linked server: their number, and those that it returned.
    Warned(u16, Vec<Condition>),
}

/// Rows on their way; dropping it stops the work here and on the servers.
pub type BlockStream = Pin<Box<dyn Stream<Item = Result<Block>> + Send>>;

/// Columns and rows of a query.
pub struct QueryResult {
    /// The columns, as MySQL would describe them.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: BlockStream,
    /// Notes for `SHOW WARNINGS` that planning gave: (code, text).
    pub warnings: Vec<(u16, String)>,
}

impl std::fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryResult").field("columns", &self.columns).finish_non_exhaustive()
    }
}
