//! Collation keys: texts in keys are ordered by the weights that comparisons in queries use.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_store::SortKeyEncoder;
use pelorus_types::{Collation, ColumnType};

/// Encodes texts as the weights of their collation.
#[derive(Debug)]
pub(crate) struct CollationKeys;

impl SortKeyEncoder for CollationKeys {
    fn weigh(&self, collation: Collation, text: &str, out: &mut Vec<u8>) -> Result<()> {
        if collation.is_binary_order() && collation.is_no_pad() && is_unicode(collation) {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let one: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let weights = weights(&one, collation)?;
        out.extend_from_slice(weights.as_binary::<i32>().value(0));
        Ok(())
    }
}

fn is_unicode(collation: Collation) -> bool {
    collation.charset().starts_with("utf8")
}

/// The weights of texts as byte strings, which are equal for texts that the collation calls equal.
///
/// # Errors
/// A collation whose rules are not known (1235).
pub(crate) fn weights(texts: &ArrayRef, collation: Collation) -> Result<ArrayRef> {
    let ty = ColumnType::varchar(1, collation);
    let keys = pelorus_functions::comparison_keys(texts, &ty, &Account::unlimited())?;
    match keys.as_binary_opt::<i32>() {
        Some(_) => Ok(keys),
        None => Err(Error::internal(format!("weights came as {}", keys.data_type()))),
    }
}
