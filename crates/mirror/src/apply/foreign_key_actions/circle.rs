//! Preconditions of reading a table with foreign keys, and tables that refer to each other in a
//! circle.
//!
//! A table begins when the stream follows its parent tables, and when these are complete if they
//! have such keys themselves. In a circle no table could be the first. There each table begins as
//! soon as all others can begin: their parents outside of the circle exist, and all of their keys
//! are known. The stream follows it from then on, but it is read only when all others are followed,
//! too. Their earlier actions were not seen, so its copy is emptied at that moment. A change to an
//! incomplete table of the circle cannot be traced further; all followed tables that it may affect
//! are then resynchronised ([`super::plan`]), so that no effect is guessed.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};

use super::referrers::MirrorLookup;
use super::refusals::{depends, in_part};
use crate::model::foreign_key::ForeignKey;
use crate::model::mirror::Mirror;
use crate::model::record::State;

/// Checks whether the chain of copies of all parent tables is complete, so that the table with the
/// keys can begin to be read. The keys are in its record already.
///
/// # Errors
/// The missing condition; columns that cannot be compared (1235).
pub(crate) fn check_parents(
    source: &dyn MirrorLookup,
    mirror: &Arc<Mirror>,
    keys: &[ForeignKey],
) -> Result<()> {
    let mut circle = vec![Arc::clone(mirror)];
    let mut todo: Vec<ForeignKey> = keys.to_vec();
    while let Some(key) = todo.pop() {
        let parent = source.mirror(&key.database, &key.table);
        if parent.as_ref().is_some_and(|it| circle.iter().any(|one| Arc::ptr_eq(one, it))) {
            continue;
        }
        if let Some(parent) = parent.as_ref().filter(|it| can_begin(it.state()))
            && refers_to(source, parent, mirror)
        {
            if parent.record().filter.is_some() {
                return Err(in_part(&parent.name));
            }
            todo.extend(parent.foreign_keys().iter().cloned());
            circle.push(Arc::clone(parent));
            continue;
        }
        check_parent(&key, parent)?;
    }
    Ok(())
}

/// A table outside of a circle.
fn check_parent(key: &ForeignKey, parent: Option<Arc<Mirror>>) -> Result<()> {
    let wait = |how: &str| {
        let text = depends(&key.database, &key.table, how);
        Err(Error::new(Code::QueryOnForeign, text))
    };
    let Some(parent) = parent else {
        return wait(&format!(
            "not mirrored: MIRROR TABLE `{}`.`{}` first",
            key.database, key.table
        ));
    };
    let state = parent.state();
    if !state.follows() {
        return wait(state.word());
    }
    if parent.record().filter.is_some() {
        return Err(in_part(&parent.name));
    }
    // What its own foreign keys do goes on from it only when it is whole.
    let passes_on = !parent.foreign_keys().is_empty();
    if passes_on && state != State::Live {
        return wait(state.word());
    }
    Ok(())
}

/// Whether a mirror of a circle is followed, or will be without an intervention.
fn can_begin(state: State) -> bool {
    state.follows() || state == State::Waiting
}

/// The other tables to which foreign keys lead from a table and back.
pub(crate) fn others_of_circle(
    source: &dyn MirrorLookup,
    mirror: &Arc<Mirror>,
) -> Vec<Arc<Mirror>> {
    let mut all = source.mirrors();
    all.retain(|other| {
        !Arc::ptr_eq(other, mirror)
            && refers_to(source, mirror, other)
            && refers_to(source, other, mirror)
    });
    all
}

/// Whether foreign keys lead from one table to another, directly or through others.
pub(super) fn refers_to(source: &dyn MirrorLookup, one: &Arc<Mirror>, other: &Arc<Mirror>) -> bool {
    let mut seen = vec![Arc::clone(one)];
    let mut todo = vec![Arc::clone(one)];
    while let Some(mirror) = todo.pop() {
        for key in mirror.foreign_keys().iter() {
            let Some(parent) = source.mirror(&key.database, &key.table) else { continue };
            if Arc::ptr_eq(&parent, other) {
                return true;
            }
            if !seen.iter().any(|it| Arc::ptr_eq(it, &parent)) {
                seen.push(Arc::clone(&parent));
                todo.push(parent);
            }
        }
    }
    false
}
