//! Keys for GROUP BY, DISTINCT, ORDER BY and hash joins: arrays whose plain order and equality are
//! those of the values under MySQL's rules.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryBuilder};
use arrow::datatypes::DataType;
use pelorus_error::Result;
use pelorus_types::{ColumnType, WireType};

use crate::collate::weight::Rules;
use crate::context::EvalContext;
use crate::input::{Input, Slot};

/// Whether the key of a type differs from the values themselves.
pub fn needs_key(ty: &ColumnType) -> bool {
    ty.is_string() && !ty.is_binary_string()
}

/// The Arrow type of the keys of a type.
pub fn key_type(ty: &ColumnType) -> DataType {
    if needs_key(ty) { DataType::Binary } else { ty.arrow() }
}

/// Keys for ORDER BY: those of [`comparison_keys`], except that ENUM and SET are refused, because
/// they order by number, which their text does not tell.
pub fn ordering_keys(array: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef> {
    if crate::shape::is_listed(ty) {
        return Err(pelorus_error::Error::unsupported("ORDER BY of an ENUM or SET"));
    }
    comparison_keys(array, ty)
}

/// The keys of an array: for text its sort key under its collation as `Binary`, all else as it is.
/// Equal values have equal keys.
pub fn comparison_keys(array: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef> {
    if !needs_key(ty) {
        return Ok(Arc::clone(array));
    }
    if ty.wire == WireType::Json {
        return Err(pelorus_error::Error::unsupported("grouping and ordering of JSON values"));
    }
    let rules = Rules::of(ty.collation);
    let ctx = EvalContext::default();
    let slot = Slot::of_type(*ty);
    let input = Input::new(array, &slot, &ctx)?;
    let mut builder = BinaryBuilder::with_capacity(array.len(), array.len() * 16);
    let mut key = Vec::new();
    for row in 0..array.len() {
        match input.text(row)? {
            None => builder.append_null(),
            Some(text) => {
                key.clear();
                rules.key(&text, &mut key)?;
                builder.append_value(&key);
            }
        }
    }
    Ok(Arc::new(builder.finish()))
}
