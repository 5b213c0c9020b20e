//! The values of a foreign key's columns.

use arrow::array::{Array as _, ArrayRef, BooleanArray};
use pelorus_error::{Error, Result};

use crate::model::copies::CopyTable;

/// The encoded values of some columns of rows; `None` where one of them is NULL, which refers to
/// nothing (`MATCH SIMPLE`). `arrays` are those columns.
///
/// # Errors
/// A collation whose rules are not known.
pub(crate) fn values(
    copy: &dyn CopyTable,
    columns: &[usize],
    arrays: &[ArrayRef],
) -> Result<Vec<Option<Vec<u8>>>> {
    let rows = arrays.first().map_or(0, |array| array.len());
    if arrays.iter().all(|array| array.null_count() == 0) {
        let keys = copy.encoded(columns, rows, arrays)?;
        return Ok(keys.iter().map(|key| Some(key.to_vec())).collect());
    }
    let is_there: Vec<bool> =
        (0..rows).map(|row| arrays.iter().all(|array| array.is_valid(row))).collect();
    let mask = BooleanArray::from(is_there.clone());
    let there: Vec<ArrayRef> = arrays
        .iter()
        .map(|array| arrow::compute::filter(array, &mask).map_err(cannot))
        .collect::<Result<_>>()?;
    let keys = copy.encoded(columns, mask.true_count(), &there)?;
    let mut keys = keys.iter();
    Ok(is_there
        .into_iter()
        .map(|is_there| if is_there { keys.next().map(<[u8]>::to_vec) } else { None })
        .collect())
}

/// Arrow refused.
pub(crate) fn cannot(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows of foreign keys cannot be put together").caused_by(error)
}
