//! Decimals as unscaled 64-bit integers, if their type has at most 18 digits: for sums and
//! products, which need no more.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Decimal128Type;
use pelorus_error::{Error, Result};

use super::{Column, Data, IntSource};
use crate::selection::{Picked, Which};

impl Column {
    /// Decodes picked rows of a column of decimals as 64-bit integers: 1.50 in a column of two
    /// digits after the point is 150.
    ///
    /// # Errors
    /// `Internal` for rows outside, columns of another type, and numbers beyond 64 bits.
    pub fn decode_units(&self, picked: &Picked) -> Result<ArrayRef> {
        self.check(&picked.range)?;
        let Data::Ints(ints) = &self.data else { return units(&self.decode_picked(picked)?) };
        let nulls = self.nulls_of(picked)?;
        let many = picked.many();
        let source = match (&picked.which, &many) {
            (_, Some(many)) => IntSource::Many(ints, many),
            (Which::Few(rows), None) => IntSource::Rows(ints, rows),
            (_, None) => IntSource::Range(ints, picked.range.clone()),
        };
        Ok(Arc::new(Int64Array::new(source.whole_numbers().into(), nulls)))
    }
}

/// An array of decimals as 64-bit integers, as [`Column::decode_units`] gives them.
///
/// # Errors
/// `Internal` for arrays of another type, and numbers beyond 64 bits.
pub fn units(array: &ArrayRef) -> Result<ArrayRef> {
    let decimals = array
        .as_primitive_opt::<Decimal128Type>()
        .ok_or_else(|| Error::internal(format!("units of {}", array.data_type())))?;
    let narrow: Result<Int64Array> = decimals.try_unary(|value| {
        i64::try_from(value).map_err(|_| Error::internal("a decimal of more than 64 bits"))
    });
    Ok(Arc::new(narrow?))
}
