//! Writes to a copy: rows grouped by partition, in pieces of bounded size.

use std::collections::HashMap;

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use pelorus_error::Result;
use pelorus_store::{Mode, ROWS_PER_BATCH_MAX, Write, taken};

use crate::model::copies::CopyTable;

/// Adds writes that put rows there, given by all columns, in place of those with the same keys. Of
/// several with one key the last counts where there are more than a batch holds.
///
/// # Errors
/// A row that fits no partition (1526).
pub(crate) fn put(
    copy: &dyn CopyTable,
    columns: &[ArrayRef],
    writes: &mut Vec<Write>,
) -> Result<()> {
    let rows = columns.first().map_or(0, |column| column.len());
    if rows == 0 {
        return Ok(());
    }
    if rows > ROWS_PER_BATCH_MAX {
        return put_in_pieces(copy, columns, rows, writes);
    }
    for (partition, places) in copy.split(columns)? {
        let columns = match places.len() == rows {
            true => columns.to_vec(),
            false => taken(columns, &places)?,
        };
        writes.push(Write::Put { table: copy.id(), partition, columns, mode: Mode::Replace });
    }
    Ok(())
}

/// Batches have a bound, and no two of them may have a key in common.
fn put_in_pieces(
    copy: &dyn CopyTable,
    columns: &[ArrayRef],
    rows: usize,
    writes: &mut Vec<Write>,
) -> Result<()> {
    let keys = copy.keys(rows, columns)?;
    let mut last: HashMap<&[u8], u32> = HashMap::with_capacity(rows);
    for (row, key) in (0_u32..).zip(keys.iter()) {
        last.insert(key, row);
    }
    let mut places: Vec<u32> = last.into_values().collect();
    places.sort_unstable();
    for piece in places.chunks(ROWS_PER_BATCH_MAX) {
        put(copy, &taken(columns, &UInt32Array::from(piece.to_vec()))?, writes)?;
    }
    Ok(())
}

/// Adds writes that remove rows. `columns` are all columns; only those of the key are looked at.
///
/// # Errors
/// A row that fits no partition (1526).
pub(crate) fn remove(
    copy: &dyn CopyTable,
    columns: &[ArrayRef],
    rows: usize,
    writes: &mut Vec<Write>,
) -> Result<()> {
    for begin in (0..rows).step_by(ROWS_PER_BATCH_MAX) {
        let length = ROWS_PER_BATCH_MAX.min(rows - begin);
        let piece: Vec<ArrayRef> = columns.iter().map(|it| it.slice(begin, length)).collect();
        for (partition, places) in copy.split(&piece)? {
            let key: Vec<ArrayRef> =
                copy.key().iter().map(|&at| std::sync::Arc::clone(&piece[at])).collect();
            let columns = taken(&key, &places)?;
            writes.push(Write::Remove { table: copy.id(), partition, columns });
        }
    }
    Ok(())
}
