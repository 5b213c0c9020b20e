//! Changes as one commit of the store.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Mode, Outcome, ROWS_PER_BATCH_MAX, Receipt, Version};

use super::assign::picked;
use super::change::{Change, Counts, taken, writes_of};
use super::insert::count;
use super::lookup::{duplicate_entry, first_duplicate, keys_of};
use super::select::joined;
use crate::handle::Stop;
use crate::native::definition::NativeDef;
use crate::native::durability::Wanted;

/// Carries changes out. `snapshot` is the version that they were computed from, if they were.
///
/// # Errors
/// A key that is there (1062), a conflict with a commit after the version (1213), 1317 when `stop`
/// was asked before the changes are in the log, and what the store says. Nothing has changed then.
pub(crate) fn commit(
    store: &Arc<Database>,
    changes: &mut [Change],
    snapshot: Option<Version>,
    durability: Wanted,
    stop: &Stop,
) -> Result<Counts> {
    for change in changes.iter_mut() {
        stop.check()?;
        settle(change, stop)?;
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
    // Whoever wrote the row may have deleted it meanwhile.
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

/// Makes batches that the store takes: no key may stand in two of them, and none is too large.
fn settle(change: &mut Change, stop: &Stop) -> Result<()> {
    settle_removes(change)?;
    let total: usize = change.puts.iter().map(|(columns, _)| count(columns)).sum();
    let Some(&(_, first)) = change.puts.first() else { return Ok(()) };
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
        distinct(&change.def, &mut change.puts, stop)?;
    }
    Ok(())
}

/// A join has rows several times, and a table may stand in it several times.
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
fn distinct(def: &NativeDef, puts: &mut [(Vec<ArrayRef>, Mode)], stop: &Stop) -> Result<()> {
    let mut places: HashMap<Vec<u8>, (usize, usize)> = HashMap::new();
    let mut dropped: Vec<(usize, usize)> = Vec::new();
    for (batch, (columns, mode)) in puts.iter().enumerate() {
        stop.check()?;
        let keys = keys_of(def, columns)?;
        for (row, key) in keys.iter().enumerate() {
            match (places.get_mut(key), mode) {
                (None, _) => {
                    places.insert(key.to_vec(), (batch, row));
                }
                (Some(_), Mode::Insert) => return Err(duplicate_entry(def, columns, row)),
                (Some(_), Mode::Ignore) => dropped.push((batch, row)),
                (Some(place), Mode::Replace) => {
                    dropped.push(*place);
                    *place = (batch, row);
                }
            }
        }
    }
    if dropped.is_empty() {
        return Ok(());
    }
    let dropped: HashSet<(usize, usize)> = dropped.into_iter().collect();
    for (batch, (columns, _)) in puts.iter_mut().enumerate() {
        let kept = (0..count(columns)).filter(|&row| !dropped.contains(&(batch, row)));
        let kept: UInt32Array = kept.filter_map(|row| u32::try_from(row).ok()).collect();
        *columns = taken(columns, &kept)?;
    }
    Ok(())
}
