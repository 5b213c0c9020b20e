//! Putting prepared changes into partitions: look every key up, decide, then write.
//!
//! The look-ups of all changes of a commit come before its first write, so that a commit that
//! fails has changed nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelorus_error::{Code, Error, Result};

use crate::partition::{Existing, Partition, PartitionWriter, row_ref};
use crate::schema::Version;
use crate::table::Table;
use crate::write::{Kind, Mode, Outcome, Prepared};

/// A prepared change with what its keys have now.
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
/// A key that is there (1062), a row that was written after the snapshot (1213).
pub(crate) fn decide(
    mut change: Prepared,
    writer: &PartitionWriter<'_>,
    snapshot: Option<Version>,
) -> Result<Decided> {
    let mut existing = writer.probe(&change.keys, &change.hashes)?;
    // Of an INSERT it matters only that the key is there, which is error 1062.
    if let Some(snapshot) = snapshot.filter(|_| change.kind != Kind::Put(Mode::Insert)) {
        let gone = change.kind == Kind::Remove && existing.iter().any(Option::is_none);
        if gone || existing.iter().flatten().any(|row| row.version > snapshot) {
            return Err(conflict());
        }
    }
    let mut outcome = Outcome::default();
    let there = existing.iter().flatten().count();
    match change.kind {
        Kind::Put(Mode::Insert) => {
            if let Some(row) = existing.iter().position(Option::is_some) {
                return Err(change.table.duplicate(&change.columns, row));
            }
        }
        Kind::Put(Mode::Ignore) => {
            outcome.ignored = change.settled + there as u64;
            if there > 0 {
                let keep: Vec<bool> = existing.iter().map(Option::is_none).collect();
                change.retain(&keep)?;
                existing.retain(Option::is_none);
            }
        }
        Kind::Put(Mode::Replace) => outcome.replaced = change.settled + there as u64,
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

/// Writes a decided change under a version.
///
/// # Errors
/// Only what is a bug, or the limit of parts; the database must not go on after it.
pub(crate) fn write(
    decided: &Decided,
    writer: &mut PartitionWriter<'_>,
    version: Version,
) -> Result<()> {
    let change = &decided.change;
    if change.rows() == 0 {
        return Ok(());
    }
    if change.kind == Kind::Remove {
        let rows = change.hashes.iter().zip(&decided.existing);
        return writer.remove(version, rows.filter_map(|(&hash, row)| Some((hash, (*row)?))));
    }
    let mut begin = 0;
    while begin < change.rows() {
        let layout = change.table.layout();
        let (part, room) = writer.active(|slot| Table::begin_delta(layout, slot))?;
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
        change.table.delta_bytes.fetch_add(grown, Ordering::Relaxed);
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
