//! Applies prepared changes to partitions: looks every key up, decides, then writes.
//!
//! The look-ups of all changes of a commit come before its first write, so that a commit that fails
//! has changed nothing.

use std::collections::HashMap;
use std::sync::Arc;

use pelorus_error::{Code, Error, Result};

use crate::catalog::schema::Version;
use crate::commit::write_set::{Kind, Mode, Outcome, Prepared, left_out};
use crate::partition::{Existing, Partition, PartitionWriter, row_ref};
use crate::table::{Table, duplicate_key};

/// A prepared change with the current state of its keys.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) change: Prepared,
    pub(crate) existing: Vec<Option<Existing>>,
    pub(crate) outcome: Outcome,
}

/// Error 1213.
pub(crate) fn conflict() -> Error {
    Error::new(Code::Deadlock, "Deadlock found when trying to get lock; try restarting transaction")
}

/// Looks the keys of a change up and drops the rows that are to be left out.
///
/// # Errors
/// A duplicate key (1062), a row that was written after the snapshot (1213).
pub(crate) fn decide(
    mut change: Prepared,
    writer: &PartitionWriter<'_>,
    snapshot: Option<Version>,
) -> Result<Decided> {
    let mut existing = writer.probe(&change.keys, &change.hashes)?;
    // Of an INSERT it matters only that the key is there, which is error 1062.
    if let Some(snapshot) = snapshot.filter(|_| change.kind != Kind::Put(Mode::Insert)) {
        let is_newer = |(row, hash): (&Option<Existing>, &u64)| match row {
            Some(row) => row.version > snapshot,
            None => change.kind == Kind::Remove || writer.removed_since(*hash, snapshot),
        };
        let dropped = change.table.last_drop() > snapshot;
        if dropped || existing.iter().zip(&change.hashes).any(is_newer) {
            return Err(conflict());
        }
    }
    let mut outcome = Outcome::default();
    let there = existing.iter().flatten().count();
    match change.kind {
        Kind::Put(Mode::Insert) => {
            if let Some(row) = existing.iter().position(Option::is_some) {
                return Err(duplicate_key(row));
            }
        }
        Kind::Put(Mode::Ignore) => {
            let keep: Vec<bool> = existing.iter().map(Option::is_none).collect();
            outcome.ignored_rows = left_out(&change.settled, &keep);
            outcome.ignored = outcome.ignored_rows.len() as u64;
            if there > 0 {
                change.retain(&keep)?;
                existing.retain(Option::is_none);
            }
        }
        Kind::Put(Mode::Replace) => {
            outcome.replaced = (change.settled.len() + there) as u64;
        }
        Kind::Remove => {
            outcome.removed = there as u64;
            if there < existing.len() {
                let keep: Vec<bool> = existing.iter().map(Option::is_some).collect();
                change.retain(&keep)?;
                existing.retain(Option::is_some);
            }
        }
    }
    if let Kind::Put(_) = change.kind {
        outcome.inserted = existing.iter().filter(|row| row.is_none()).count() as u64;
    }
    change.write_bytes();
    Ok(Decided { change, existing, outcome })
}

/// Checks, before anything is logged, that a partition has room for what its changes bring.
///
/// # Errors
/// Error 1114 when merging cannot keep up.
pub(crate) fn check_room(changes: &[Decided], writer: &PartitionWriter<'_>) -> Result<()> {
    let puts = changes.iter().map(|it| &it.change).filter(|it| it.kind != Kind::Remove);
    let (rows, bytes) = puts
        .fold((0, 0), |(rows, bytes), change| (rows + change.rows(), bytes + change.bytes.len()));
    if rows == 0 { Ok(()) } else { writer.room_for(rows, bytes) }
}

/// Writes a decided change under a version. No change that was computed before `oldest` will be
/// committed.
///
/// # Errors
/// Only bugs; the database must not continue after one.
pub(crate) fn write(
    decided: &Decided,
    writer: &mut PartitionWriter<'_>,
    version: Version,
    oldest: Version,
) -> Result<()> {
    let change = &decided.change;
    if change.rows() == 0 {
        return Ok(());
    }
    if change.kind == Kind::Remove {
        let rows = change.hashes.iter().zip(&decided.existing);
        let rows = rows.filter_map(|(&hash, row)| Some((hash, (*row)?)));
        return writer.remove(version, oldest, rows);
    }
    let row_bytes = change.bytes.len() / change.rows();
    let mut begin = 0;
    while begin < change.rows() {
        let layout = change.table.layout();
        let (part, room) = writer.active(row_bytes, |slot| Table::begin_delta(layout, slot))?;
        let count = room.min(change.rows() - begin);
        let Some(delta) = part.delta() else {
            return Err(Error::internal("new rows go to a chunk"));
        };
        let columns = change.columns.iter().map(|column| column.slice(begin, count)).collect();
        let rows = begin..begin + count;
        let keys = rows.clone().map(|row| (change.keys.get(row), change.hashes[row]));
        let before = delta.memory();
        let first = delta.append(version, columns, count, keys)?;
        let grown = delta.memory().saturating_sub(before);
        change.table.delta_bytes.grow(grown);
        let entries = (first..).zip(rows).map(|(number, row)| {
            (change.hashes[row], row_ref(part.slot, number), decided.existing[row])
        });
        writer.enter(version, entries)?;
        begin += count;
    }
    Ok(())
}

/// The changes of a commit by partition: those of one partition share its lock.
pub(crate) type ByPartition = Vec<(Arc<Partition>, Vec<Prepared>)>;

/// Groups changes by partition; `partition` finds or makes it.
pub(crate) fn group(
    changes: Vec<Prepared>,
    mut partition: impl FnMut(&Arc<Table>, &[u8]) -> Result<Arc<Partition>>,
) -> Result<ByPartition> {
    let mut places: HashMap<(u64, u32), usize> = HashMap::new();
    let mut groups: ByPartition = Vec::new();
    for change in changes {
        let found = partition(&change.table, &change.partition)?;
        let at = *places.entry((change.table.id().0, found.id.0)).or_insert_with(|| {
            groups.push((found, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(change);
    }
    Ok(groups)
}
