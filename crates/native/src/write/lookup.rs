//! Looks rows up by primary key: which keys exist, and MySQL's error for a duplicate key.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{KeyEncoder, Keys, Snapshot};

use super::change::taken;
use crate::collation_keys::CollationKeys;
use crate::definition::NativeDef;
use crate::view::table_of;

/// The encoded primary keys of a batch of all columns.
///
/// # Errors
/// NULL in a key (1048), a collation that is not known.
pub(crate) fn keys_of(def: &NativeDef, columns: &[ArrayRef]) -> Result<Keys> {
    let rows = columns.first().map_or(0, |column| column.len());
    encoder(def).encode(rows, |at| &columns[at])
}

/// Encodes primary keys.
pub fn encoder(def: &NativeDef) -> KeyEncoder {
    KeyEncoder::primary(&def.schema, Arc::new(CollationKeys))
}

/// Encodes other columns as if they were the primary key.
pub fn encoder_of(def: &NativeDef, columns: &[usize]) -> KeyEncoder {
    let mut schema = def.schema.clone();
    schema.key = columns.to_vec();
    KeyEncoder::primary(&schema, Arc::new(CollationKeys))
}

/// Rows that were found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Batch and row by encoded key.
    pub(crate) rows: HashMap<Vec<u8>, (usize, usize)>,
    /// The requested columns.
    pub(crate) batches: Vec<Vec<ArrayRef>>,
}

/// Looks for rows by keys, which are those of rows of the batch `columns`. `wanted` are the columns
/// to read.
///
/// # Errors
/// A definition that has changed since the version was pinned (1412), and errors of reading.
pub(crate) fn existing(
    def: &NativeDef,
    pin: &Snapshot,
    columns: &[ArrayRef],
    keys: &HashSet<&[u8]>,
    wanted: &[usize],
) -> Result<Found> {
    let table = table_of(pin, def)?;
    let mut found = Found::default();
    let all = keys_of(def, columns)?;
    let mut seen: HashSet<&[u8]> = HashSet::new();
    for (partition, rows) in def.partitioner.split(columns)? {
        let asked = rows.values().iter().copied().filter(|&row| {
            let key = all.get(row as usize);
            keys.contains(key) && seen.insert(key)
        });
        let asked = UInt32Array::from_iter_values(asked);
        if asked.is_empty() {
            continue;
        }
        let parts: Vec<ArrayRef> = def.key.iter().map(|&at| Arc::clone(&columns[at])).collect();
        let there = table.get(&partition, &taken(&parts, &asked)?, wanted)?;
        let rows = asked.values().iter().zip(&there.found).filter(|(_, is_there)| **is_there);
        let batch = found.batches.len();
        for (place, (row, _)) in rows.enumerate() {
            found.rows.insert(all.get(*row as usize).to_vec(), (batch, place));
        }
        found.batches.push(there.columns);
    }
    Ok(found)
}

/// Error 1062 for a row of a batch.
pub(crate) fn duplicate_entry(def: &NativeDef, columns: &[ArrayRef], row: usize) -> Error {
    Error::new(Code::DuplicateKey, duplicate_text(def, columns, row))
}

/// MySQL's text for a duplicate key.
pub fn duplicate_text(def: &NativeDef, columns: &[ArrayRef], row: usize) -> String {
    let parts: Vec<String> =
        def.key.iter().map(|&at| key_text(def, at, columns[at].as_ref(), row)).collect();
    format!("Duplicate entry '{}' for key '{}.PRIMARY'", parts.join("-"), def.name)
}

fn key_text(def: &NativeDef, at: usize, values: &dyn Array, row: usize) -> String {
    let ty = &def.columns[at].ty;
    pelorus_result::scalar::value_at(values, ty, row)
        .map_or_else(|_| String::new(), |value| pelorus_result::scalar::text_of(&value, ty))
}

/// The first row of some batches whose key exists in a version of the table or in an earlier row.
///
/// # Errors
/// Errors of [`existing`].
pub(crate) fn first_duplicate(
    def: &NativeDef,
    pin: &Snapshot,
    batches: &[&[ArrayRef]],
) -> Result<Option<(usize, usize)>> {
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    for (number, columns) in batches.iter().enumerate() {
        let keys = keys_of(def, columns)?;
        let wanted: HashSet<&[u8]> = keys.iter().collect();
        let found = existing(def, pin, columns, &wanted, &[])?;
        for (row, key) in keys.iter().enumerate() {
            if found.rows.contains_key(key) || !seen.insert(key.to_vec()) {
                return Ok(Some((number, row)));
            }
        }
    }
    Ok(None)
}
