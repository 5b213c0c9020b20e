//! Commits the changes of a statement to the store in one commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use pelorus_error::{Code, Error, Result};
use pelorus_result::kill::Stop;
use pelorus_store::{Commit, Database, Keys, Mode, Outcome, ROWS_PER_BATCH_MAX, Receipt, Version};

use super::assign::picked;
use super::change::joined;
use super::change::{Change, Counts, writes_of};
use super::insert::count;
use super::lookup::{duplicate_entry, first_duplicate, keys_of};
use crate::definition::NativeDef;
use crate::durability::Wanted;

/// Commits changes. `snapshot` is the version that they were computed from, if they were.
///
/// # Errors
/// A duplicate key (1062), a conflict with a commit after the version (1213), 1317 if the statement
/// is stopped before the changes are in the log, and errors of the store. Nothing has changed then.
pub fn commit(
    store: &Arc<Database>,
    changes: &mut [Change],
    snapshot: Option<Version>,
    durability: Wanted,
    stop: &Stop,
) -> Result<Counts> {
    let mut settled = Counts::default();
    for change in changes.iter_mut() {
        stop.check()?;
        settled.add(&settle(change, stop)?);
    }
    let mut writes = Vec::new();
    let mut places = Vec::new();
    for change in changes.iter() {
        stop.check()?;
        for (write, of_rows) in writes_of(change)? {
            writes.push(write);
            places.push(of_rows);
        }
    }
    if writes.is_empty() {
        return Ok(settled);
    }
    let durability = durability.of(changes.iter().map(|change| &*change.def));
    let made_for = changes.iter().map(|change| change.def.made_for()).collect();
    let commit = Commit { writes, snapshot, made_for, values: Vec::new(), durability };
    let receipt = match store.commit_unless(&commit, &|| stop.is_asked()) {
        Ok(receipt) => receipt,
        Err(error) if error.code() == Code::DuplicateKey => {
            return Err(named(store, changes, error));
        }
        Err(error) => return Err(error),
    };
    let mut counts = counted(&receipt);
    counts.add(&settled);
    if let [Change { puts, .. }] = changes
        && puts.len() == 1
    {
        counts.ignored_rows = ignored_rows(&receipt, &places);
    }
    Ok(counts)
}

fn counted(receipt: &Receipt) -> Counts {
    let mut counts = Counts::default();
    for outcome in &receipt.outcomes {
        counts.inserted += outcome.inserted;
        counts.replaced += outcome.replaced;
        counts.ignored += outcome.ignored;
        counts.removed += outcome.removed;
    }
    counts
}

/// Error 1062 with the key's values; of several rows the first of the statement, as in MySQL.
fn named(store: &Arc<Database>, changes: &[Change], error: Error) -> Error {
    let found = changes.iter().find_map(|change| {
        let batches: Vec<&[ArrayRef]> = change
            .puts
            .iter()
            .filter(|(_, mode)| *mode == Mode::Insert)
            .map(|(columns, _)| columns.as_slice())
            .collect();
        let found = first_duplicate(&change.def, &store.snapshot(), &batches);
        let (batch, row) = found.ok()??;
        Some(duplicate_entry(&change.def, batches[batch], row))
    });
    // The session that wrote the row may have deleted it meanwhile.
    found.unwrap_or(error)
}

/// The places of the rows that were left out, of a change of one batch.
fn ignored_rows(receipt: &Receipt, places: &[Option<UInt32Array>]) -> Vec<usize> {
    let of_write = |(outcome, places): (&Outcome, &Option<UInt32Array>)| -> Vec<usize> {
        let place = |row: u32| match places {
            None => row as usize,
            Some(places) => places.value(row as usize) as usize,
        };
        outcome.ignored_rows.iter().map(|&row| place(row)).collect()
    };
    let mut rows: Vec<usize> = receipt.outcomes.iter().zip(places).flat_map(of_write).collect();
    rows.sort_unstable();
    rows
}

/// Builds batches for the store: no key is in two of them, and none is too large. Returns the
/// results of the rows that it leaves out.
fn settle(change: &mut Change, stop: &Stop) -> Result<Counts> {
    settle_removes(change)?;
    let total: usize = change.puts.iter().map(|(columns, _)| count(columns)).sum();
    let Some(&(_, first)) = change.puts.first() else { return Ok(Counts::default()) };
    let is_one_mode = change.puts.iter().all(|(_, mode)| *mode == first);
    if change.puts.len() > 1 && is_one_mode && total <= ROWS_PER_BATCH_MAX {
        let batches: Vec<&[ArrayRef]> = change.puts.iter().map(|(it, _)| it.as_slice()).collect();
        change.puts = vec![(joined(&batches)?, first)];
    }
    let cut = |(columns, mode): &(Vec<ArrayRef>, Mode)| -> Vec<(Vec<ArrayRef>, Mode)> {
        pieces(columns).into_iter().map(|piece| (piece, *mode)).collect()
    };
    change.puts = change.puts.iter().flat_map(cut).collect();
    // Batches of several modes have no keys in common.
    if is_one_mode && change.puts.len() > 1 {
        return distinct(&change.def, &mut change.puts, stop);
    }
    Ok(Counts::default())
}

/// A join may contain a row several times, and a table may occur in it several times.
fn settle_removes(change: &mut Change) -> Result<()> {
    let batches: Vec<&[ArrayRef]> = change.removes.iter().map(Vec::as_slice).collect();
    let total: usize = batches.iter().map(|batch| count(batch)).sum();
    if batches.len() <= 1 && total <= ROWS_PER_BATCH_MAX {
        return Ok(());
    }
    let rows = joined(&batches)?;
    let keys = keys_of(&change.def, &rows)?;
    let mut seen = HashSet::with_capacity(keys.len());
    let first: BooleanArray = keys.iter().map(|key| Some(seen.insert(key))).collect();
    let rows = if first.true_count() < first.len() { picked(&rows, &first)? } else { rows };
    change.removes = pieces(&rows);
    Ok(())
}

/// A batch in pieces that are not too large.
fn pieces(columns: &[ArrayRef]) -> Vec<Vec<ArrayRef>> {
    let rows = count(columns);
    let piece = |begin: usize| -> Vec<ArrayRef> {
        let length = ROWS_PER_BATCH_MAX.min(rows - begin);
        columns.iter().map(|column| column.slice(begin, length)).collect()
    };
    (0..rows).step_by(ROWS_PER_BATCH_MAX).map(piece).collect()
}

/// Leaves one row of each key in all batches together: the last where rows replace, else the first.
/// Those that are left out count as if the rows were written one after another.
fn distinct(def: &NativeDef, puts: &mut [(Vec<ArrayRef>, Mode)], stop: &Stop) -> Result<Counts> {
    let keys: Vec<Keys> =
        puts.iter().map(|(columns, _)| keys_of(def, columns)).collect::<Result<_>>()?;
    let mut places: HashMap<&[u8], (usize, usize)> = HashMap::new();
    let mut kept: Vec<Vec<bool>> = keys.iter().map(|keys| vec![true; keys.len()]).collect();
    let mut left_out = Counts::default();
    for (batch, (columns, mode)) in puts.iter().enumerate() {
        stop.check()?;
        for (row, key) in keys[batch].iter().enumerate() {
            match (places.get_mut(key), mode) {
                (None, _) => {
                    places.insert(key, (batch, row));
                }
                (Some(_), Mode::Insert) => return Err(duplicate_entry(def, columns, row)),
                (Some(_), Mode::Ignore) => {
                    kept[batch][row] = false;
                    left_out.ignored += 1;
                }
                (Some(place), Mode::Replace) => {
                    kept[place.0][place.1] = false;
                    *place = (batch, row);
                    left_out.replaced += 1;
                }
            }
        }
    }
    if left_out.ignored + left_out.replaced > 0 {
        for ((columns, _), kept) in puts.iter_mut().zip(kept) {
            *columns = picked(columns, &BooleanArray::from(kept))?;
        }
    }
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::tests::with_tables;

    #[test]
    fn rows_with_a_key_of_another_batch_are_counted() {
        let catalog = with_tables(&["CREATE TABLE t (id BIGINT PRIMARY KEY)"]);
        let def = catalog.require("d", "t").unwrap();
        let batch = |ids: &[i64], mode: Mode| -> (Vec<ArrayRef>, Mode) {
            (vec![Arc::new(Int64Array::from(ids.to_vec()))], mode)
        };
        for (mode, ignored, replaced, expected) in [
            (Mode::Ignore, 3, 0, [vec![1_i64, 2, 3], vec![4]]),
            (Mode::Replace, 0, 3, [vec![1], vec![3, 4, 2]]),
        ] {
            let mut puts = vec![batch(&[1, 2, 3], mode), batch(&[2, 3, 4, 2], mode)];
            let counts = distinct(&def, &mut puts, &Stop::never()).unwrap();
            assert_eq!((counts.ignored, counts.replaced), (ignored, replaced));
            let left = puts
                .iter()
                .map(|(columns, _)| columns[0].as_primitive::<Int64Type>().values().to_vec());
            assert_eq!(left.collect::<Vec<_>>(), expected);
        }
        let mut puts = vec![batch(&[1], Mode::Insert), batch(&[2, 1], Mode::Insert)];
        let error = distinct(&def, &mut puts, &Stop::never()).unwrap_err();
        assert_eq!(error.errno(), 1062);
    }
}
