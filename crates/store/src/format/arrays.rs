//! Helpers for columns as Arrow arrays: selected rows, and memory sizes.

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use pelorus_error::{Error, Result};

/// Rows at some places.
///
/// # Errors
/// Places beyond the end, which is a bug.
pub fn taken(columns: &[ArrayRef], places: &UInt32Array) -> Result<Vec<ArrayRef>> {
    let take = |column: &ArrayRef| {
        arrow::compute::take(column, places, None)
            .map_err(|error| Error::internal("rows cannot be picked").caused_by(error))
    };
    columns.iter().map(take).collect()
}

/// Bytes of memory of some columns.
pub fn bytes_of(columns: &[ArrayRef]) -> usize {
    // A slice of a larger batch counts its own share only.
    columns.iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int32Array;

    use super::*;

    #[test]
    fn slices_count_their_own_rows() {
        let whole: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100_000));
        let slices: Vec<_> = (0..1000).map(|at| whole.slice(at * 100, 100)).collect();
        assert_eq!(bytes_of(&[whole]), 400_000);
        assert_eq!(bytes_of(&slices), 400_000);
    }
}
