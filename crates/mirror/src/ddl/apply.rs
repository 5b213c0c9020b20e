//! Applies the effects of DDL statements to mirrors.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::MutexGuard;
use pelorus_binlog::Position;
use pelorus_error::Result;
use pelorus_sql::ddl::{AlterAction, TableStatement};
use pelorus_sql::statement::MirrorFilter;

use super::Effect;
use crate::apply::foreign_key_actions;
use crate::model::copies::{Circumstances, CopyTable};
use crate::model::filter;
use crate::model::foreign_key::ForeignKey;
use crate::model::mirror::{Mirror, overtaken};
use crate::model::name::MirrorName;
use crate::model::record::{Changing, MirrorRecord, State};
use crate::source::Source;

/// Applies the effect of a statement to a mirror. `event` identifies the statement's position,
/// `is_old` says whether a copy that began at a position has it already.
///
/// # Errors
/// Errors of the store.
pub(crate) fn carry_out(
    source: &Arc<Source>,
    effect: Effect,
    text: &str,
    event: &str,
    is_old: &dyn Fn(&Position) -> bool,
) -> Result<()> {
    match effect {
        Effect::Change(mirror, statement, circumstances) => {
            change(source, &mirror, &statement, &circumstances, (text, event), is_old)
        }
        Effect::Again(mirror, why) => {
            // Foreign keys may have changed rows of those that refer to it, where the binlog does not
            // say so. One that was paused meets this later than the table itself.
            again_with(source, &mirror, &why, is_old)?;
            let has_it = mirror.has(is_old) || mirror.state() == State::Waiting;
            if has_it { Ok(()) } else { again(source, &mirror, why) }
        }
        Effect::Gone(mirror) if mirror.has(is_old) => Ok(()),
        // The name belongs to another table, which was created after this.
        Effect::Gone(_) if source.has_met(is_old)? => Ok(()),
        Effect::Gone(mirror) => gone(source, &mirror, text),
        // It may have another name since, or be gone.
        Effect::Come(_) if source.has_met(is_old)? => Ok(()),
        Effect::Come(name) => come(source, &name),
        Effect::Renamed(from, to, at) => renamed(source, (&from, &to), (text, (event, at)), is_old),
    }
}

/// Keeps the stream where it is.
///
/// # Errors
/// 1317 when it must move to another position.
fn hold(source: &Source) -> Result<MutexGuard<'_, ()>> {
    let held = source.hold();
    if source.must_begin_again() { Err(overtaken()) } else { Ok(held) }
}

/// A mirror that came with its database goes with its table; one that was made by name stays with
/// the name, whatever table has it.
fn renamed(
    source: &Arc<Source>,
    (from, to): (&MirrorName, &MirrorName),
    (text, event): (&str, (&str, usize)),
    is_old: &dyn Fn(&Position) -> bool,
) -> Result<()> {
    // What goes back for another mirror meanwhile, and notes for all what they have, would miss one
    // that has no name for a moment.
    let _held = hold(source)?;
    // Foreign keys go along with the tables that they refer to, or stay with the name: it depends on
    // the session.
    let referrers = source.all_referrers();
    for name in [from, to] {
        for child in
            referrers.get(&(name.database.clone(), name.table.clone())).into_iter().flatten()
        {
            if child.follower(is_old).is_some() {
                again(source, child, format!("a table was renamed that it refers to: {text}"))?;
            }
        }
    }
    forget_references(source, &[from, to])?;
    // It was executed, and the process ended before the position was stored, or the stream has gone
    // back: these names now belong to other tables.
    if source.has_renamed(event)? || source.has_met(is_old)? {
        return Ok(());
    }
    // One that has the event already is of another table, which has come to the name since: the one
    // that was renamed may still have to be mirrored under its new name.
    let is_of_it = |it: &Arc<Mirror>| !it.has(is_old);
    if let Some(mirror) = source.mirror(&from.database, &from.table).filter(is_of_it) {
        let goes_along = mirror.record().of_database && source.has_database(&to.database);
        let naming = source.naming();
        if goes_along && source.mirror(&to.database, &to.table).is_none() {
            return source.rename(&mirror, to, event, &naming);
        }
        drop(naming);
        gone(source, &mirror, text)?;
    }
    match source.mirror(&to.database, &to.table) {
        Some(mirror) if mirror.has(is_old) => Ok(()),
        Some(mirror) => again(source, &mirror, format!("another table took its name: {text}")),
        None if source.has_database(&to.database) => come(source, to),
        None => Ok(()),
    }
}

/// It is not known any more what those refer to that refer to some tables.
fn forget_references(source: &Source, names: &[&MirrorName]) -> Result<()> {
    for mirror in source.mirrors() {
        let Some(there) = mirror.record().refers_to else { continue };
        let is_one = |it: &MirrorName| names.contains(&it);
        if there.iter().any(|(database, table)| is_one(&source.name_of(database, table))) {
            mirror.update(source.store(), |record| record.refers_to = None)?;
        }
    }
    Ok(())
}

/// Mirrors a table with its database. A mirror that a statement has just added is read from here
/// on.
fn come(source: &Source, name: &MirrorName) -> Result<()> {
    let record = MirrorRecord { of_database: true, ..MirrorRecord::default() };
    if source.add(name, record)? {
        tracing::info!(mirror = %name, "a new table of a mirrored database");
    }
    Ok(())
}

/// Begins those again that refer to a table, directly or through others, and do not have the event
/// yet.
fn again_with(
    source: &Source,
    mirror: &Arc<Mirror>,
    why: &str,
    is_old: &dyn Fn(&Position) -> bool,
) -> Result<()> {
    let children = foreign_key_actions::beyond(&source.all_referrers(), mirror);
    for child in children.iter().filter(|it| !Arc::ptr_eq(it, mirror)) {
        if child.follower(is_old).is_some() {
            let name = &mirror.name;
            again(source, child, format!("'{name}' was changed that it refers to: {why}"))?;
        }
    }
    Ok(())
}

/// Resynchronises a mirror; one that is paused does when it is resumed.
fn again(source: &Source, mirror: &Mirror, why: String) -> Result<()> {
    if mirror.state() == State::Paused {
        return mirror.update(source.store(), |record| record.from = None);
    }
    tracing::warn!(mirror = %mirror.name, why, "a table is mirrored anew");
    mirror.begin_again(source.store(), Some(why))?;
    source.wake();
    Ok(())
}

fn gone(source: &Source, mirror: &Mirror, text: &str) -> Result<()> {
    if mirror.record().of_database {
        tracing::info!(mirror = %mirror.name, "a mirrored table was dropped");
        return source.remove_on_the_way(mirror);
    }
    let why = format!("the table is gone from its server: {text}");
    tracing::warn!(mirror = %mirror.name, why, "a mirror has lost its table");
    mirror.stop_in(source.store(), State::Failed, Some(why))?;
    source.drop_copy(&mirror.name)
}

fn change(
    source: &Source,
    mirror: &Mirror,
    statement: &TableStatement,
    circumstances: &Circumstances,
    (text, event): (&str, &str),
    is_old: &dyn Fn(&Position) -> bool,
) -> Result<()> {
    if mirror.state() == State::Failed && !mirror.has(is_old) {
        // What kept it from being mirrored may be gone: a key has come, another engine.
        return again(source, mirror, text.to_owned());
    }
    // A mirror that is resumed after this is where it was paused: the stream comes by here again
    // for it, and the copy must not be changed before the rows of until then are there.
    let held = hold(source)?;
    let Some(copy) = mirror.follower(is_old) else { return Ok(()) };
    if mirror.record().early {
        return again(source, mirror, format!("its definition changed while it was read: {text}"));
    }
    let definition = source.store().table(copy.id()).map(|table| fingerprint(&table.definition()));
    let before = Changing { event: event.to_owned(), table: copy.id().0, definition, done: false };
    let words = mirror.record().filter;
    let changed = match mirror.record().changing.filter(|it| it.event == event) {
        // It was executed, and the stream ended before the position was stored.
        Some(begun) if begun.done => return Ok(()),
        Some(begun) if begun.definition.is_none() => {
            return again(source, mirror, format!("nobody knows whether it was changed: {text}"));
        }
        // The copy was changed, and the process or the stream ended before the record was.
        Some(begun) if begun != before => followed(words.as_deref(), &copy),
        _ => {
            mirror.update(source.store(), |record| record.changing = Some(before))?;
            drop(held);
            change_copy(source, mirror, (statement, circumstances), words.as_deref())
        }
    };
    match changed {
        Ok(words) => end_change(source, mirror, statement, words),
        Err(error) => again(
            source,
            mirror,
            format!("a change could not be followed ({}): {text}", error.message()),
        ),
    }
}

/// Changes the copy; gives the words of its filter as they are then.
///
/// # Errors
/// What the copy cannot follow.
fn change_copy(
    source: &Source,
    mirror: &Mirror,
    (statement, circumstances): (&TableStatement, &Circumstances),
    words: Option<&str>,
) -> Result<Option<String>> {
    let filter = words.map(MirrorFilter::parse).transpose()?.unwrap_or_default();
    // Until the new copy is known no load may insert rows there from before the statement.
    let _window = mirror.window();
    let copy = source.copies().change(&mirror.name, statement, circumstances, &filter)?;
    let words = followed(words, &copy)?;
    mirror.set_copy(copy);
    Ok(words)
}

/// The words of a filter once its copy has changed.
fn followed(words: Option<&str>, copy: &Arc<dyn CopyTable>) -> Result<Option<String>> {
    words.map(|it| filter::followed(it, copy.columns())).transpose()
}

/// Notes all effects of a statement other than the change of the copy, at once: until that is
/// stored the statement does not count as executed. Foreign keys that no longer exist are
/// forgotten.
fn end_change(
    source: &Source,
    mirror: &Mirror,
    statement: &TableStatement,
    words: Option<String>,
) -> Result<()> {
    let had = mirror.foreign_keys().len();
    mirror.update(source.store(), |record| {
        record.filter = words;
        record.foreign_keys.retain(|it| !drops(statement, it));
        if let Some(changing) = &mut record.changing {
            changing.done = true;
        }
    })?;
    if mirror.foreign_keys().len() != had {
        source.forget_referrers();
    }
    Ok(())
}

/// A fingerprint that distinguishes a definition from the previous one.
fn fingerprint(definition: &[u8]) -> u64 {
    let length = u64::try_from(definition.len()).unwrap_or(u64::MAX);
    length << 32 | u64::from(crc32c::crc32c(definition))
}

/// Whether a statement drops a foreign key.
fn drops(statement: &TableStatement, key: &ForeignKey) -> bool {
    let TableStatement::Alter(alter) = statement else { return false };
    alter.actions.iter().any(|action| match action {
        AlterAction::DropForeignKey(name) | AlterAction::DropConstraint(name) => {
            name.eq_ignore_ascii_case(&key.name)
        }
        _ => false,
    })
}
