//! The columns of the information schemas of linked servers, which are read once a link.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::record_batch::RecordBatch;
use parking_lot::RwLock;
use pelorus_error::{Error, Result};
use pelorus_link::{Format, Link, Relay, SessionSettings, Target};

/// Columns of each table of a server's own information schema, in upper case.
pub(super) type Shape = BTreeMap<String, BTreeSet<String>>;

/// The columns of the servers' information schemas, by link; they do not change while a server
/// runs.
#[derive(Debug, Default)]
pub(crate) struct RemoteInfo(RwLock<BTreeMap<String, Arc<Shape>>>);

impl RemoteInfo {
    /// Forgets a link that goes away or becomes another server.
    pub(crate) fn forget(&self, link: &str) {
        self.0.write().remove(link);
    }

    /// The columns that a server has.
    ///
    /// # Errors
    /// Those of the server and of the connection.
    pub(super) async fn shape(&self, link: &Link) -> Result<Arc<Shape>> {
        if let Some(shape) = self.0.read().get(link.name()) {
            return Ok(shape.clone());
        }
        let sql = "SELECT CAST(TABLE_NAME AS CHAR), CAST(COLUMN_NAME AS CHAR) FROM \
                   information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema'";
        let batch = ask(link, sql).await?;
        let mut shape = Shape::new();
        let (tables, columns) = (text_column(&batch, 0)?, text_column(&batch, 1)?);
        for (table, column) in tables.iter().zip(columns) {
            let (Some(table), Some(column)) = (table, column) else { continue };
            shape
                .entry(table.to_ascii_uppercase())
                .or_default()
                .insert(column.to_ascii_uppercase());
        }
        let shape = Arc::new(shape);
        self.0.write().insert(link.name().to_owned(), shape.clone());
        Ok(shape)
    }
}

/// Asks a server for a small result.
pub(super) async fn ask(link: &Link, sql: &str) -> Result<RecordBatch> {
    // The default mode: literals are written for it.
    let settings = SessionSettings { sql_mode: Some(String::new()), ..SessionSettings::default() };
    match link.relay(&settings, sql, Format::Text, Target::Primary).await? {
        Relay::Rows(rows) => rows.collect().await,
        Relay::Done(_) => Err(Error::internal("a query without a result")),
    }
}

fn text_column(batch: &RecordBatch, at: usize) -> Result<&StringArray> {
    batch
        .column(at)
        .as_string_opt::<i32>()
        .ok_or_else(|| Error::internal("a name that is not text"))
}
