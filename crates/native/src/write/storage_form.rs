//! Converts the rows of a query to the form of the store.
//!
//! Queries return TIMESTAMPs in the session's time zone. When clocks are set back, an hour occurs
//! twice and its local time is ambiguous; the moment is then read from the store.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::datatypes::Int64Type;
use pelorus_error::{Error, Result};
use pelorus_functions::TimeZone;
use pelorus_functions::assignment::{shown_twice, timestamp_from_utc, timestamps_to_utc};
use pelorus_types::{Column, WireType};

use super::Statement;
use super::change::taken;
use super::lookup::{existing, keys_of};
use crate::definition::NativeDef;

impl Statement<'_> {
    /// Whole rows of a table.
    ///
    /// # Errors
    /// A TIMESTAMP of the primary key that the session's clock showed twice (1235), errors of
    /// reading.
    pub(super) fn stored_rows(
        &self,
        def: &NativeDef,
        arrays: &[ArrayRef],
    ) -> Result<Vec<ArrayRef>> {
        let columns: Vec<&Column> = def.columns.iter().collect();
        let zone = self.policy.time_zone;
        let (mut rows, unclear) = stored(&columns, arrays, zone)?;
        if unclear.is_empty() {
            return Ok(rows);
        }
        let is_timestamp = |at: &usize| def.columns[*at].ty.wire == WireType::Timestamp;
        if let Some(at) = def.key.iter().copied().find(is_timestamp) {
            return Err(unclear_key(&rows[at], &unclear, zone));
        }
        let timestamps: Vec<usize> = (0..def.columns.len()).filter(is_timestamp).collect();
        let places: UInt32Array = unclear.iter().copied().collect::<Vec<u32>>().into();
        let some = taken(&rows, &places)?;
        let moments = self.moments(def, &some, &timestamps)?;
        let keys = keys_of(def, &some)?;
        for (number, &at) in timestamps.iter().enumerate() {
            let values = rows[at].as_primitive::<Int64Type>();
            let mut fixed = values.values().to_vec();
            for (row, key) in unclear.iter().zip(keys.iter()) {
                if let Some(moments) = moments.get(key) {
                    fixed[*row as usize] = moments[number];
                }
            }
            rows[at] = Arc::new(Int64Array::new(fixed.into(), values.nulls().cloned()));
        }
        Ok(rows)
    }

    /// The values of some columns in the store and the transaction, by key.
    fn moments(
        &self,
        def: &NativeDef,
        rows: &[ArrayRef],
        wanted: &[usize],
    ) -> Result<HashMap<Vec<u8>, Vec<i64>>> {
        let of_row = |columns: &[ArrayRef], row: usize| {
            columns.iter().map(|it| it.as_primitive::<Int64Type>().value(row)).collect()
        };
        let keys = keys_of(def, rows)?;
        let keys: HashSet<&[u8]> = keys.iter().collect();
        let found = existing(def, &self.reads.pin, rows, &keys, wanted)?;
        let in_store = found.rows.into_iter();
        let mut moments: HashMap<Vec<u8>, Vec<i64>> =
            in_store.map(|(key, (batch, row))| (key, of_row(&found.batches[batch], row))).collect();
        for batch in self.reads.own_of(def.id, &keys)?.into_iter().flat_map(|own| own.rows) {
            let columns: Vec<ArrayRef> = wanted.iter().map(|&at| Arc::clone(&batch[at])).collect();
            for (row, key) in keys_of(def, &batch)?.iter().enumerate() {
                if keys.contains(key) {
                    moments.insert(key.to_vec(), of_row(&columns, row));
                }
            }
        }
        Ok(moments)
    }
}

/// The columns of primary keys.
///
/// # Errors
/// A TIMESTAMP that the session's clock showed twice (1235).
pub(super) fn stored_keys(
    columns: &[&Column],
    arrays: &[ArrayRef],
    zone: TimeZone,
) -> Result<Vec<ArrayRef>> {
    let (keys, unclear) = stored(columns, arrays, zone)?;
    if unclear.is_empty() {
        return Ok(keys);
    }
    let at = columns.iter().position(|column| column.ty.wire == WireType::Timestamp);
    Err(unclear_key(&keys[at.unwrap_or(0)], &unclear, zone))
}

fn unclear_key(moments: &ArrayRef, unclear: &BTreeSet<u32>, zone: TimeZone) -> Error {
    let moments = moments.as_primitive::<Int64Type>();
    let first = unclear.first().map_or(0, |row| moments.value(*row as usize));
    shown_twice(timestamp_from_utc(first, zone))
}

/// Columns as queries give them in the form that the store has, with the rows in which a moment is
/// not clear.
fn stored(
    columns: &[&Column],
    arrays: &[ArrayRef],
    zone: TimeZone,
) -> Result<(Vec<ArrayRef>, BTreeSet<u32>)> {
    let mut unclear = BTreeSet::new();
    let stored = |(column, array): (&&Column, &ArrayRef)| -> Result<ArrayRef> {
        let expected = column.ty.arrow();
        if *array.data_type() != expected {
            let found = array.data_type();
            let name = &column.name;
            let text = format!("column '{name}' was read as {found} and not as {expected}");
            return Err(Error::internal(text));
        }
        if column.ty.wire != WireType::Timestamp {
            return Ok(array.clone());
        }
        let (moments, rows) = timestamps_to_utc(array, zone)?;
        unclear.extend(rows);
        Ok(moments)
    };
    let rows = columns.iter().zip(arrays).map(stored).collect::<Result<_>>()?;
    Ok((rows, unclear))
}
