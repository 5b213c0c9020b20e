//! Collects a whole result in memory, for small results that the server itself needs.

use arrow::record_batch::RecordBatch;
use futures::StreamExt;
use pelorus_error::Result;
use pelorus_mysql_wire::rows::{Format, RowDecoder, payloads};
use pelorus_types::Column;

use crate::outcome::{RowStream, Rows};

/// All rows of a result in Arrow form. Encoded rows must be in the text format.
pub async fn batches(columns: &[Column], mut rows: RowStream) -> Result<Vec<RecordBatch>> {
    let mut decoder = RowDecoder::new(columns.to_vec(), Format::Text)?;
    let mut batches = Vec::new();
    while let Some(item) = rows.next().await {
        match item? {
            Rows::Batch(batch) => batches.push(batch),
            Rows::Encoded(bytes) => {
                for payload in payloads(&bytes) {
                    decoder.push(payload)?;
                }
            }
            Rows::End { .. } => {}
        }
    }
    if !decoder.is_empty() {
        batches.push(decoder.finish()?);
    }
    Ok(batches)
}

/// Reads a result to its end.
pub async fn drain(mut rows: RowStream) -> Result<()> {
    while let Some(item) = rows.next().await {
        item?;
    }
    Ok(())
}
