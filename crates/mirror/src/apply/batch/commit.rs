//! Commits a batch: computes and writes its changes table by table. An error in one table takes
//! only that table out of the batch.

use std::sync::Arc;

use parking_lot::MutexGuard;
use pelorus_binlog::Position;
use pelorus_error::{Code, Error, Result};
use pelorus_store::{Commit, Database, Durability, TableId, Write, bytes_of};

use super::Batch;
use super::table::{Changes, TableBatch};
use crate::apply::partial_row_images::too_large;
use crate::apply::snapshot_window::Window;
use crate::model::mirror::{Mirror, Values};
use crate::model::record::State;

/// The resulting changes of one table.
struct Made<'m> {
    mirror: &'m Arc<Mirror>,
    window: Option<MutexGuard<'m, Window>>,
    made_for: (TableId, u64),
    changes: Changes,
}

/// A mirror that was taken out of a commit, and why.
pub(crate) type Misfit = (Arc<Mirror>, String);

impl Batch {
    /// Commits all changes, which come after a position, with the position that they reach and its
    /// other values. Mirrors whose changes do not fit their copies, or take more than `most` bytes,
    /// begin again before that, and those that cannot follow their tables stop; they are returned
    /// with the reasons.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn commit(
        self,
        store: &Arc<Database>,
        from: Option<&Position>,
        values: Values,
        most: usize,
    ) -> Result<Vec<Misfit>> {
        let mut tables = self.tables;
        let mirrors: Vec<Arc<Mirror>> = tables.iter().map(|it| Arc::clone(&it.mirror)).collect();
        let (mut made, mut misfits) = (Vec::with_capacity(tables.len()), Vec::new());
        for (table, mirror) in tables.iter_mut().zip(&mirrors) {
            // What the copy has of rows in part must stay as it is until they are committed.
            let mut window = table.in_part.then(|| mirror.window());
            let result = finish(table, (store, from), window.as_deref_mut(), most);
            let made_for = (table.copy.id(), table.copy.generation());
            match result {
                Ok(changes) => made.push(Made { mirror, window, made_for, changes }),
                Err(error) if is_of_one(&error) && mirror.follows_in(&table.copy) => {
                    drop(window);
                    misfits.push(take_out(mirror, store, &error)?);
                }
                Err(error) => return Err(error),
            }
        }
        // From here to the end of the commit no load may insert older rows.
        for Made { mirror, window, changes, .. } in &mut made {
            let window = window.get_or_insert_with(|| mirror.window());
            changes.keys.iter().for_each(|keys| window.touch(keys));
        }
        while let Err(error) = store.commit(&commit_of(&made, &values)) {
            let largest = (0..made.len()).max_by_key(|&at| bytes(&made[at].changes.writes));
            let Some(at) = largest.filter(|_| error.code() == Code::RowTooLarge) else {
                return Err(error);
            };
            let mirror = made.swap_remove(at).mirror;
            misfits.push(take_out(mirror, store, &too_large().caused_by(error))?);
        }
        for Made { mirror, window, changes, .. } in made {
            drop(window);
            mirror.note_changes(changes.rows);
        }
        Ok(misfits)
    }
}

/// Computes the resulting changes of a table.
fn finish(
    table: &mut TableBatch,
    (store, from): (&Arc<Database>, Option<&Position>),
    window: Option<&mut Window>,
    most: usize,
) -> Result<Changes> {
    let mirror = Arc::clone(&table.mirror);
    if table.has_updates_in_part() && mirror.is_cascaded() {
        let text = "a foreign key changed rows while the table was read, and the binlog has changes \
                    of rows in part; SET GLOBAL binlog_row_image = FULL and reconnect the clients";
        return Err(Error::new(Code::TableChanged, text));
    }
    // Whole images were counted as they came.
    let grows = window.is_some() || table.folded.is_some();
    let changes = match window {
        Some(window) => table.finish_parts(store, &mirror.doubts(from), window, most)?,
        None => table.finish()?,
    };
    if grows && bytes(&changes.writes) > most {
        return Err(too_large());
    }
    if table.in_part {
        let rows = usize::try_from(changes.rows).unwrap_or(usize::MAX);
        mirror.note_width(bytes(&changes.writes) / rows.max(1));
    }
    if let (keys, conditions @ [_, ..]) = (&changes.again.0, &changes.again.1[..]) {
        mirror.ask_again(store, keys, conditions)?;
    }
    Ok(changes)
}

fn commit_of(made: &[Made<'_>], values: &Values) -> Commit {
    Commit {
        values: values.clone(),
        writes: made.iter().flat_map(|it| it.changes.writes.iter().cloned()).collect(),
        made_for: made.iter().map(|it| it.made_for).collect(),
        durability: Durability::Async,
        ..Commit::default()
    }
}

/// Whether an error of a table's copy is one of that table, and not of the disk or the log.
pub(crate) fn is_of_one(error: &Error) -> bool {
    !matches!(error.code(), Code::DiskFull | Code::FileWrite | Code::TableFailed)
}

/// Resynchronises a mirror whose changes do not fit its copy, and stops one whose changes will not
/// fit another copy either.
fn take_out(mirror: &Arc<Mirror>, store: &Database, error: &Error) -> Result<Misfit> {
    let reason = pelorus_error::display_chain(error);
    if error.code() == Code::TableChanged {
        tracing::warn!(mirror = %mirror.name, reason, "a table is mirrored anew");
        mirror.begin_again(store, Some(reason.clone()))?;
    } else {
        tracing::warn!(mirror = %mirror.name, reason, "a mirror cannot follow its table");
        mirror.stop_in(store, State::Failed, Some(reason.clone()))?;
    }
    Ok((Arc::clone(mirror), reason))
}

/// Bytes of rows.
fn bytes(writes: &[Write]) -> usize {
    let of = |write: &Write| match write {
        Write::Put { columns, .. } | Write::Remove { columns, .. } => bytes_of(columns),
    };
    writes.iter().map(of).sum()
}
