//! Statements of the binlog: what they mean for mirrors, and carrying that out.
//!
//! A statement that changes the definition of a table is carried out on its copy by our own `ALTER
//! TABLE`, where it stands in the stream. That is left aside where it would not give the rows that
//! the server got (a new column with computed values, a partition that the copy does not have),
//! where the statement cannot be read, and where it fails: the table is read anew then.

use std::sync::Arc;

use pelorus_binlog::{Position, Query};
use pelorus_error::Result;
use pelorus_sql::Mode;
use pelorus_sql::statement::{Ddl, DdlAction, MirrorFilter, Statement, TableName};
use pelorus_sql::table::{AlterAction, ColumnDefault, ColumnDefinition, TableStatement};

use crate::cascade::ForeignKey;
use crate::charsets;
use crate::copies::Circumstances;
use crate::filter;
use crate::mirror::Mirror;
use crate::mirrors::MirrorName;
use crate::record::{Changing, MirrorRecord, State};
use crate::source::Source;

/// What a statement is to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A transaction begins.
    Begin,
    /// It ends.
    Commit,
    /// It ends, and what it did to tables with transactions is undone; it is in the binlog for what
    /// it did to others.
    Rollback,
    /// An XA transaction begins.
    XaStart,
    /// A transaction that was prepared before is committed.
    XaCommit,
    /// A transaction that was prepared before is rolled back.
    XaRollback,
    /// It changes nothing.
    Nothing,
    /// Definitions, or rows.
    Other,
}

/// Looks at the first words of a statement.
pub(crate) fn kind(text: &str) -> Kind {
    let mut words = text.split_ascii_whitespace().map(str::to_ascii_uppercase);
    let first = words.next().unwrap_or_default();
    match (first.trim_end_matches(';'), words.next().as_deref()) {
        ("BEGIN", _) | ("START", Some("TRANSACTION")) => Kind::Begin,
        ("XA", Some("START" | "BEGIN")) => Kind::XaStart,
        ("XA", Some("ROLLBACK")) => Kind::XaRollback,
        ("COMMIT", _) => Kind::Commit,
        ("XA", Some("COMMIT")) => Kind::XaCommit,
        ("ROLLBACK", Some("TO")) | ("SAVEPOINT" | "RELEASE" | "XA", _) => Kind::Nothing,
        ("ROLLBACK", _) => Kind::Rollback,
        _ => Kind::Other,
    }
}

/// What a statement does to a mirror.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The definition or the partitions change.
    Change(Arc<Mirror>, Box<TableStatement>, Circumstances),
    /// The table must be read anew.
    Again(Arc<Mirror>, String),
    /// The table is no longer there.
    Gone(Arc<Mirror>),
    /// A table has come that is to be mirrored.
    Come(MirrorName),
    /// A table has another name.
    Renamed(MirrorName, MirrorName),
}

/// What a statement does to the mirrors of a source.
pub(crate) fn effects(source: &Source, query: &Query, text: &str, timestamp: u32) -> Vec<Effect> {
    let circumstances = circumstances(source, query, timestamp);
    let resolved = Resolver { source, database: &query.database };
    match pelorus_sql::classify(text, circumstances.mode) {
        Ok(Statement::Ddl(ddl)) if !ddl.temporary => resolved.ddl(&ddl, text, circumstances),
        Ok(Statement::Write(write)) => {
            let why = "a change was logged as a statement; SET GLOBAL binlog_format = ROW";
            resolved.mirrors(&write.tables).map(|it| Effect::Again(it, why.to_owned())).collect()
        }
        Err(_) | Ok(Statement::Unknown(_)) => resolved.unreadable(text),
        _ => Vec::new(),
    }
}

fn circumstances(source: &Source, query: &Query, timestamp: u32) -> Circumstances {
    let sql_mode = query.status.sql_mode.map(mode_words).unwrap_or_default();
    let micros = i64::from(query.status.microseconds.unwrap_or(0));
    Circumstances {
        mode: Mode::from_sql_mode(&sql_mode),
        micros: i64::from(timestamp) * 1_000_000 + micros,
        time_zone: query.status.time_zone.clone(),
        collations: charsets::of_session(&query.status, source.is_mariadb()),
        sql_mode,
    }
}

/// The words of `sql_mode` by their bits, which MySQL and MariaDB share as far as they matter here.
fn mode_words(bits: u64) -> String {
    const WORDS: [(u32, &str); 14] = [
        (1, "PIPES_AS_CONCAT"),
        (2, "ANSI_QUOTES"),
        (3, "IGNORE_SPACE"),
        (6, "NO_UNSIGNED_SUBTRACTION"),
        (19, "NO_AUTO_VALUE_ON_ZERO"),
        (20, "NO_BACKSLASH_ESCAPES"),
        (21, "STRICT_TRANS_TABLES"),
        (22, "STRICT_ALL_TABLES"),
        (23, "NO_ZERO_IN_DATE"),
        (24, "NO_ZERO_DATE"),
        (25, "ALLOW_INVALID_DATES"),
        (26, "ERROR_FOR_DIVISION_BY_ZERO"),
        (29, "HIGH_NOT_PRECEDENCE"),
        (32, "TIME_TRUNCATE_FRACTIONAL"),
    ];
    let on = WORDS.iter().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, word)| *word);
    on.collect::<Vec<_>>().join(",")
}

/// Finds the mirrors that names of a statement mean.
struct Resolver<'s> {
    source: &'s Source,
    database: &'s str,
}

impl Resolver<'_> {
    fn name(&self, table: &TableName) -> MirrorName {
        let database = table.database.as_deref().unwrap_or(self.database);
        self.source.name_of(database, &table.name)
    }

    fn mirror(&self, table: &TableName) -> Option<Arc<Mirror>> {
        let name = self.name(table);
        self.source.mirror(&name.database, &name.table)
    }

    fn mirrors<'t>(&'t self, tables: &'t [TableName]) -> impl Iterator<Item = Arc<Mirror>> + 't {
        tables.iter().filter_map(|table| self.mirror(table))
    }

    /// A statement that cannot be read may do anything to the tables whose names are in it.
    fn unreadable(&self, text: &str) -> Vec<Effect> {
        let text = text.to_lowercase();
        let mut mirrors = self.source.mirrors();
        mirrors.retain(|mirror| text.contains(&mirror.name.table.to_lowercase()));
        let why = |_: &Arc<Mirror>| format!("a statement could not be read: {text}");
        mirrors.into_iter().map(|it| Effect::Again(Arc::clone(&it), why(&it))).collect()
    }

    fn ddl(&self, ddl: &Ddl, text: &str, circumstances: Circumstances) -> Vec<Effect> {
        if !matches!(ddl.object.as_str(), "TABLE" | "INDEX" | "DATABASE" | "SCHEMA") {
            return Vec::new();
        }
        let is_database = matches!(ddl.object.as_str(), "DATABASE" | "SCHEMA");
        let concerns = if is_database {
            ddl.names.iter().any(|it| !self.source.mirrors_of(&it.name).is_empty())
        } else {
            ddl.names.iter().any(|it| {
                self.mirror(it).is_some() || self.source.has_database(&self.name(it).database)
            })
        };
        // The new name of `ALTER TABLE ... RENAME` is only known when all of it has been read.
        let may_rename = ddl.action == DdlAction::Alter
            && ddl.object == "TABLE"
            && text.to_ascii_uppercase().contains("RENAME");
        if !concerns && !may_rename {
            return Vec::new();
        }
        match pelorus_sql::table::parse(text, circumstances.mode) {
            Ok(statement) => self.statement(statement, circumstances),
            // It is known which tables it is about: that is enough to begin anew.
            Err(error) => {
                let why =
                    format!("a statement could not be followed ({}): {text}", error.message());
                let mut effects: Vec<Effect> =
                    self.mirrors(&ddl.names).map(|it| Effect::Again(it, why.clone())).collect();
                if ddl.action == DdlAction::Create {
                    effects.extend(ddl.names.iter().filter_map(|it| self.come(it, true)));
                }
                effects
            }
        }
    }

    fn statement(&self, statement: TableStatement, circumstances: Circumstances) -> Vec<Effect> {
        match &statement {
            TableStatement::Create(create) => {
                self.come(&create.name, create.if_not_exists).into_iter().collect()
            }
            TableStatement::Drop(drop) if drop.temporary => Vec::new(),
            TableStatement::Drop(drop) => self.mirrors(&drop.tables).map(Effect::Gone).collect(),
            TableStatement::DropDatabase(drop) => {
                self.source.mirrors_of(&drop.name).into_iter().map(Effect::Gone).collect()
            }
            TableStatement::Truncate(table) => self.change(table, &statement, &circumstances),
            // Copies have the primary key only.
            TableStatement::CreateIndex(_) => Vec::new(),
            TableStatement::DropIndex(drop) if drop.name.eq_ignore_ascii_case("PRIMARY") => {
                let why = "the primary key was dropped".to_owned();
                self.mirror(&drop.table).map(|it| Effect::Again(it, why)).into_iter().collect()
            }
            TableStatement::DropIndex(_) => Vec::new(),
            TableStatement::Rename(pairs) => self.renamed(pairs),
            TableStatement::Alter(alter) => {
                let Some(mirror) = self.mirror(&alter.table) else {
                    return self.renamed(&renames(&alter.table, &alter.actions));
                };
                let has_layout = mirror.record().layout.is_some();
                let hazard = alter.actions.iter().find_map(|it| hazard(it, has_layout));
                let hazard = hazard.or_else(|| renamed_reference(&mirror, &alter.actions));
                if let Some(why) = hazard {
                    let mut effects = vec![Effect::Again(mirror, why.to_owned())];
                    effects.extend(self.renamed(&renames(&alter.table, &alter.actions)));
                    return effects;
                }
                let mut effects = self.change(&alter.table, &statement, &circumstances);
                effects.extend(self.moved_references(&self.name(&alter.table), &alter.actions));
                effects.extend(self.renamed(&renames(&alter.table, &alter.actions)));
                effects
            }
            TableStatement::CreateDatabase(_) | TableStatement::AlterDatabase(_) => Vec::new(),
        }
    }

    fn change(
        &self,
        table: &TableName,
        statement: &TableStatement,
        circumstances: &Circumstances,
    ) -> Vec<Effect> {
        let mirror = self.mirror(table);
        let statement = || Box::new(statement.clone());
        mirror
            .map(|it| Effect::Change(it, statement(), circumstances.clone()))
            .into_iter()
            .collect()
    }

    /// A table that has been made is mirrored with its database, or was mirrored by its name.
    fn come(&self, table: &TableName, if_not_exists: bool) -> Option<Effect> {
        let name = self.name(table);
        match self.mirror(table) {
            Some(mirror) if mirror.state() == State::Failed => {
                Some(Effect::Again(mirror, "the table was made anew".to_owned()))
            }
            Some(mirror) if !if_not_exists => {
                Some(Effect::Again(mirror, "the table was made anew".to_owned()))
            }
            Some(_) => None,
            None => self.source.has_database(&name.database).then_some(Effect::Come(name)),
        }
    }

    /// Tables with foreign keys that refer to a column that has another name now.
    fn moved_references(&self, name: &MirrorName, actions: &[AlterAction]) -> Vec<Effect> {
        let referrers = self.source.all_referrers();
        let children = referrers.get(&(name.database.clone(), name.table.clone()));
        let moves = |child: &&Arc<Mirror>| {
            let keys = child.record().foreign_keys;
            let mut keys = keys.iter().filter(|it| it.refers_to(&name.database, &name.table));
            keys.any(|key| actions.iter().any(|it| renames_one(it, &key.referred)))
        };
        let why = "a column was renamed that one of its foreign keys refers to";
        let children = children.into_iter().flatten().filter(moves);
        children.map(|child| Effect::Again(Arc::clone(child), why.to_owned())).collect()
    }

    /// One after the other, each as the tables are then: a swap goes through a third name.
    fn renamed(&self, pairs: &[(TableName, TableName)]) -> Vec<Effect> {
        let pair =
            |(from, to): &(TableName, TableName)| Effect::Renamed(self.name(from), self.name(to));
        pairs.iter().map(pair).collect()
    }
}

/// The renaming among the actions of an `ALTER TABLE`. A new name without a database is one of the
/// session's database, whichever the table comes from.
fn renames(table: &TableName, actions: &[AlterAction]) -> Vec<(TableName, TableName)> {
    let to = actions.iter().rev().find_map(|action| match action {
        AlterAction::Rename(to) => Some(to.clone()),
        _ => None,
    });
    to.map(|to| (table.clone(), to)).into_iter().collect()
}

/// Whether an action gives one of some columns another name.
fn renames_one(action: &AlterAction, columns: &[String]) -> bool {
    let is_one = |name: &String| columns.iter().any(|it| it.eq_ignore_ascii_case(name));
    match action {
        AlterAction::ChangeColumn { from, column, .. } => {
            is_one(from) && !from.eq_ignore_ascii_case(&column.name)
        }
        AlterAction::RenameColumn(from, _) => is_one(from),
        _ => false,
    }
}

/// The same of the columns of a mirror's own foreign keys.
fn renamed_reference(mirror: &Mirror, actions: &[AlterAction]) -> Option<&'static str> {
    let keys = mirror.record().foreign_keys;
    let renames = |key: &ForeignKey| actions.iter().any(|it| renames_one(it, &key.columns));
    keys.iter().any(renames).then_some("a column of a foreign key was renamed")
}

/// Why an action cannot be carried out on a copy with the server's result.
fn hazard(action: &AlterAction, has_layout: bool) -> Option<&'static str> {
    let computed = |column: &ColumnDefinition| -> Option<&'static str> {
        if column.generated.is_some() {
            return Some("a generated column was added or changed");
        }
        if column.auto_increment || column.primary {
            return Some("a column that numbers rows was added or changed");
        }
        // The moment depends on the session's time zone, which the binlog need not tell.
        matches!(
            column.default,
            Some(ColumnDefault::Expression(_) | ColumnDefault::CurrentTimestamp(_))
        )
        .then_some("a column with a computed default was added or changed")
    };
    match action {
        // MariaDB makes a foreign key of it.
        AlterAction::AddColumn { column, .. }
            if column.references.as_ref().is_some_and(crate::load::cascades) =>
        {
            Some("a foreign key was added that changes rows")
        }
        AlterAction::AddColumn { column, .. } => computed(column),
        AlterAction::ModifyColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
            column.generated.is_some().then_some("a generated column was changed")
        }
        AlterAction::AddForeignKey(key) if crate::load::cascades(&key.references) => {
            Some("a foreign key was added that changes rows")
        }
        AlterAction::ImportTablespace(_) => Some("a tablespace was exchanged"),
        AlterAction::ExchangePartition { .. } => Some("a partition was exchanged"),
        AlterAction::DropPartitions { .. } | AlterAction::TruncatePartitions(_) if has_layout => {
            Some("rows went with partitions that the copy does not have")
        }
        AlterAction::DropPrimaryKey => Some("the primary key was dropped"),
        AlterAction::Convert { charset: None, .. } => {
            Some("the table was converted to the charset of its database")
        }
        AlterAction::Option(option)
            if option.name == "CHARSET" && option.value.eq_ignore_ascii_case("default") =>
        {
            Some("the table has got the charset of its database")
        }
        _ => None,
    }
}

/// Carries out what a statement does to a mirror. `event` names the statement's place, `is_old`
/// says whether a copy that began at a position has it already.
///
/// # Errors
/// What the store gives.
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
        Effect::Again(mirror, why) => match mirror.state() {
            State::Paused => mirror.update(source.store(), |record| record.from = None),
            State::Waiting => Ok(()),
            // It has begun after the statement.
            _ if mirror.state().follows() && mirror.follower(is_old).is_none() => Ok(()),
            _ => again(source, &mirror, why),
        },
        Effect::Gone(mirror) => {
            if mirror.state().follows() && mirror.follower(is_old).is_none() {
                return Ok(());
            }
            gone(source, &mirror, text)
        }
        Effect::Come(name) => {
            tracing::info!(mirror = %name, "a new table of a mirrored database");
            source.add(&name, MirrorRecord { of_database: true, ..MirrorRecord::default() })
        }
        Effect::Renamed(from, to) => renamed(source, &from, &to, text, is_old),
    }
}

/// A mirror that came with its database goes with its table; one that was made by name stays with
/// the name, whatever table has it.
fn renamed(
    source: &Arc<Source>,
    from: &MirrorName,
    to: &MirrorName,
    text: &str,
    is_old: &dyn Fn(&Position) -> bool,
) -> Result<()> {
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
    let target = source.mirror(&to.database, &to.table);
    if let Some(mirror) = source.mirror(&from.database, &from.table) {
        if mirror.state().follows() && mirror.follower(is_old).is_none() {
            return Ok(());
        }
        let goes_along = mirror.record().of_database && source.has_database(&to.database);
        if goes_along && target.is_none() {
            return source.rename(&mirror, to);
        }
        gone(source, &mirror, text)?;
    }
    match target {
        Some(mirror) => again(source, &mirror, format!("another table took its name: {text}")),
        None if source.has_database(&to.database) => {
            source.add(to, MirrorRecord { of_database: true, ..MirrorRecord::default() })
        }
        None => Ok(()),
    }
}

fn again(source: &Source, mirror: &Mirror, why: String) -> Result<()> {
    tracing::warn!(mirror = %mirror.name, why, "a table is mirrored anew");
    mirror.begin_again(source.store(), Some(why))?;
    source.wake();
    Ok(())
}

fn gone(source: &Source, mirror: &Mirror, text: &str) -> Result<()> {
    if mirror.record().of_database {
        tracing::info!(mirror = %mirror.name, "a mirrored table was dropped");
        return source.remove(&mirror.name.database, &mirror.name.table).map(drop);
    }
    let why = format!("the table is gone from its server: {text}");
    tracing::warn!(mirror = %mirror.name, why, "a mirror has lost its table");
    mirror.stop_in(source.store(), State::Failed, Some(why))?;
    source.copies().drop_copy(&mirror.name)
}

fn change(
    source: &Source,
    mirror: &Mirror,
    statement: &TableStatement,
    circumstances: &Circumstances,
    (text, event): (&str, &str),
    is_old: &dyn Fn(&Position) -> bool,
) -> Result<()> {
    let Some(copy) = mirror.follower(is_old) else { return Ok(()) };
    if mirror.record().early {
        return again(source, mirror, format!("its definition changed while it was read: {text}"));
    }
    let before =
        Changing { event: event.to_owned(), table: copy.id().0, generation: copy.generation() };
    let begun = mirror.record().changing;
    if begun.is_some_and(|it| {
        it.event == event && (it.table, it.generation) != (before.table, before.generation)
    }) {
        // It was carried out, and the process ended before the position was kept.
        return Ok(());
    }
    mirror.update(source.store(), |record| record.changing = Some(before))?;
    let words = mirror.record().filter;
    let filter = words.as_deref().map(MirrorFilter::parse).transpose()?.unwrap_or_default();
    let changed =
        source.copies().change(&mirror.name, statement, circumstances, &filter).and_then(|copy| {
            let words = words.as_deref().map(|it| filter::followed(it, copy.columns()));
            Ok((copy, words.transpose()?))
        });
    match changed {
        Ok((copy, now)) => {
            mirror.set_copy(copy);
            if now != words {
                mirror.update(source.store(), |record| record.filter = now)?;
            }
            drop_foreign_keys(source, mirror, statement)
        }
        Err(error) => again(
            source,
            mirror,
            format!("a change could not be followed ({}): {text}", error.message()),
        ),
    }
}

/// Forgets foreign keys that are gone.
fn drop_foreign_keys(source: &Source, mirror: &Mirror, statement: &TableStatement) -> Result<()> {
    let TableStatement::Alter(alter) = statement else { return Ok(()) };
    let is_gone = |key: &ForeignKey| {
        alter.actions.iter().any(|action| match action {
            AlterAction::DropForeignKey(name) | AlterAction::DropConstraint(name) => {
                name.eq_ignore_ascii_case(&key.name)
            }
            _ => false,
        })
    };
    if mirror.record().foreign_keys.iter().any(is_gone) {
        mirror.update(source.store(), |record| record.foreign_keys.retain(|it| !is_gone(it)))?;
        source.forget_referrers();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_transactions_are_told_apart() {
        for (text, expected) in [
            ("BEGIN", Kind::Begin),
            ("START TRANSACTION", Kind::Begin),
            ("XA START X'61',X'',1", Kind::XaStart),
            ("COMMIT", Kind::Commit),
            ("COMMIT /* x */", Kind::Commit),
            ("ROLLBACK", Kind::Rollback),
            ("ROLLBACK TO `a`", Kind::Nothing),
            ("SAVEPOINT `a`", Kind::Nothing),
            ("XA END X'61',X'',1", Kind::Nothing),
            ("XA COMMIT X'61',X'',1", Kind::XaCommit),
            ("XA ROLLBACK X'61',X'',1", Kind::XaRollback),
            ("ALTER TABLE t ADD c INT", Kind::Other),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn modes_have_their_words() {
        assert_eq!(mode_words(0), "");
        assert_eq!(mode_words(1 << 2 | 1 << 21), "ANSI_QUOTES,STRICT_TRANS_TABLES");
    }
}
