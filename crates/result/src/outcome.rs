//! The outcome of a statement: counts, or a stream of rows.

use std::pin::Pin;

use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::Stream;
use pelorus_error::Result;
use pelorus_types::Column;

/// In which form rows should come when they are relayed from a linked server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Rows of the text protocol (`COM_QUERY`).
    Text,
    /// Rows of the binary protocol (`COM_STMT_EXECUTE`).
    Binary,
}

/// The outcome of a statement.
#[derive(Debug)]
pub enum Outcome {
    /// No rows: counts and ids.
    Done(Done),
    /// A result set.
    Rows(ResultSet),
    /// The client is to send a file of this name (`LOAD DATA LOCAL INFILE`): its bytes go to
    /// `Session::load`, and `Session::loaded` then gives the outcome.
    File(String),
}

/// The numbers of an OK packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed (or found).
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value of the statement.
    pub last_insert_id: u64,
    /// Warnings that `SHOW WARNINGS` would list.
    pub warnings: u16,
    /// Text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: String,
}

/// A result set whose rows come as they are made.
pub struct ResultSet {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; the last item is [`Rows::End`] unless the stream fails. Dropping it stops the work.
    pub rows: RowStream,
}

impl std::fmt::Debug for ResultSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultSet").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Rows on their way.
pub type RowStream = Pin<Box<dyn Stream<Item = Result<Rows>> + Send>>;

/// A piece of a result.
#[derive(Debug)]
pub enum Rows {
    /// Rows to be encoded by the edge, in the forms of [`pelorus_types::ColumnType::arrow`].
    Batch(RecordBatch),
    /// Rows that a linked server encoded already in the requested [`RowFormat`]: for each row a
    /// `u32` (little endian) with the length of its payload, then the payload.
    Encoded(Bytes),
    /// The end, with the number of warnings.
    End {
        /// Warnings that `SHOW WARNINGS` would list.
        warnings: u16,
    },
}

/// A convenience for edges.
pub type OutcomeResult = Result<Outcome>;
