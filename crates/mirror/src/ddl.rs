//! DDL in the binlog: what a statement means for mirrors, and its application to their copies.
//!
//! A statement that changes the definition of a table is applied to its copy by our own `ALTER
//! TABLE`, at its position in the stream. The table is resynchronised instead if that would not
//! give the server's rows (a new column with computed values, a partition that the copy does not
//! have), if the statement cannot be parsed, or if it fails.

mod apply;
mod compatibility;
mod statement_events;

use std::sync::Arc;

use pelorus_binlog::{EventHeader, Query};
use pelorus_sql::Mode;
use pelorus_sql::ddl::{AlterAction, TableStatement};
use pelorus_sql::statement::{Ddl, DdlAction, Statement, TableName};

pub(crate) use self::apply::carry_out;
use self::compatibility::{Altered, hazard, renamed_reference, renames, renames_one};
pub(crate) use self::statement_events::unclear;
use crate::model::charsets;
use crate::model::copies::Circumstances;
use crate::model::mirror::Mirror;
use crate::model::name::MirrorName;
use crate::model::record::State;
use crate::source::Source;

/// The kind of a statement for the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A transaction begins.
    Begin,
    /// It ends.
    Commit,
    /// The transaction ends, and its changes to transactional tables are undone; it is in the
    /// binlog because of its changes to other tables.
    Rollback,
    /// A part of it is undone that the server could not leave out of the binlog.
    RollbackTo,
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
        ("SAVEPOINT" | "RELEASE" | "XA", _) => Kind::Nothing,
        ("ROLLBACK", Some("TO")) => Kind::RollbackTo,
        ("ROLLBACK", _) => Kind::Rollback,
        _ => Kind::Other,
    }
}

/// The effect of a statement on a mirror.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The definition or the partitions change.
    Change(Arc<Mirror>, Box<TableStatement>, Circumstances),
    /// The table must be read again.
    Again(Arc<Mirror>, String),
    /// The table is no longer there.
    Gone(Arc<Mirror>),
    /// A table has come that is to be mirrored.
    Come(MirrorName),
    /// A table has another name: from, to, and how many the statement has renamed before it.
    Renamed(MirrorName, MirrorName, usize),
}

/// The effects of a statement on the mirrors of a source.
pub(crate) fn effects(
    source: &Source,
    query: &Query,
    text: &str,
    header: &EventHeader,
) -> Vec<Effect> {
    let circumstances = circumstances(source, query, header.timestamp);
    let resolved = Resolver { source, database: &query.database };
    let mut effects = resolved.effects(query, text, circumstances);
    if header.is_thread_specific() {
        effects = effects.into_iter().filter_map(|it| without_temporary(source, it)).collect();
    }
    if !is_exact(query) {
        let why = "a statement has text in a character set that is not known";
        for effect in &mut effects {
            if let Effect::Change(mirror, ..) = effect {
                *effect = Effect::Again(Arc::clone(mirror), why.to_owned());
            }
        }
    }
    effects
}

/// The effects of a statement that may be about a temporary table which has the name of a mirrored
/// one: it is logged so by sessions that log statements. (Those that are made and dropped are
/// called `TEMPORARY`.)
fn without_temporary(source: &Source, effect: Effect) -> Option<Effect> {
    let mirror = match effect {
        Effect::Change(mirror, ..) => mirror,
        Effect::Renamed(from, ..) => source.mirror(&from.database, &from.table)?,
        other => return Some(other),
    };
    let why = "a statement named it that may have been about a temporary table";
    Some(Effect::Again(mirror, why.to_owned()))
}

/// Whether the text of a statement is exact. Under the charset `binary` literals are in the charset
/// of their columns.
fn is_exact(query: &Query) -> bool {
    query.bytes.is_ascii() || (query.text().is_ok() && !query.is_binary())
}

/// How the text of a statement is read. Of comments that may be executed servers log only those that
/// they have executed: they put a blank in the place of the exclamation mark of others.
fn mode(source: &Source, query: &Query) -> (Mode, String) {
    let words = mode_words(query.status.sql_mode.unwrap_or_default(), source.is_mariadb());
    (Mode { version: u32::MAX, ..Mode::from_sql_mode(&words) }, words)
}

/// A statement without MariaDB's `SET STATEMENT variable = value, ... FOR` before it.
pub(crate) fn bare<'t>(source: &Source, query: &Query, text: &'t str) -> &'t str {
    let (mode, _) = mode(source, query);
    let tokens = pelorus_sql::tokens(text, mode);
    let begins = |words: [&str; 2]| {
        words.iter().zip(&tokens).filter(|(word, token)| token.is_word(text, word)).count() == 2
    };
    if !begins(["SET", "STATEMENT"]) {
        return text;
    }
    let mut depth = 0_usize;
    let end = tokens.iter().find(|token| {
        match text.get(token.span()) {
            Some("(") => depth += 1,
            Some(")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is_word(text, "FOR")
    });
    end.and_then(|token| text.get(token.end..)).unwrap_or(text)
}

fn circumstances(source: &Source, query: &Query, timestamp: u32) -> Circumstances {
    let (mode, sql_mode) = mode(source, query);
    let micros = i64::from(query.status.microseconds.unwrap_or(0));
    Circumstances {
        mode,
        micros: i64::from(timestamp) * 1_000_000 + micros,
        is_mariadb: source.is_mariadb(),
        time_zone: query.status.time_zone.clone(),
        collations: charsets::of_session(&query.status, source.is_mariadb()),
        sql_mode,
    }
}

/// Whether TIMESTAMP columns get defaults that their definitions do not have: what
/// `explicit_defaults_for_timestamp = OFF` means.
fn has_implicit_timestamps(source: &Source, query: &Query) -> bool {
    /// MariaDB's `OPTION_EXPLICIT_DEF_TIMESTAMP`, which servers before 10.10 do not tell; with them
    /// it is off by default.
    const EXPLICIT: u32 = 1 << 24;
    match source.is_mariadb() {
        true => query.status.flags2.is_some_and(|flags| flags & EXPLICIT == 0),
        false => query.status.explicit_defaults_for_timestamp == Some(false),
    }
}

/// Whether a text has a word that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
    text.match_indices(word).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(word).unwrap_or_default();
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// The words of `sql_mode` by their bits, which MySQL and MariaDB share as far as they matter here,
/// but for fractions of seconds: MySQL rounds them by default, MariaDB truncates them.
fn mode_words(bits: u64, is_mariadb: bool) -> String {
    const TRUNCATE: &str = "TIME_TRUNCATE_FRACTIONAL";
    const WORDS: [(u32, &str); 13] = [
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
    ];
    let is_on = |bit: u32| bits >> bit & 1 == 1;
    let on = WORDS.iter().filter(|(bit, _)| is_on(*bit)).map(|(_, word)| *word);
    let truncates = if is_mariadb { !is_on(34) } else { is_on(32) };
    on.chain(truncates.then_some(TRUNCATE)).collect::<Vec<_>>().join(",")
}

/// Finds the mirrors that names of a statement mean.
struct Resolver<'s> {
    source: &'s Source,
    database: &'s str,
}

impl Resolver<'_> {
    fn effects(&self, query: &Query, text: &str, circumstances: Circumstances) -> Vec<Effect> {
        match pelorus_sql::classify(text, circumstances.mode) {
            Ok(Statement::Ddl(ddl)) if !ddl.temporary => {
                let implicit = has_implicit_timestamps(self.source, query);
                self.ddl(&ddl, text, (circumstances, implicit))
            }
            Ok(Statement::Write(write)) => {
                let again = |it| Effect::Again(it, statement_events::WHY.to_owned());
                let mirrors = self.mirrors(&write.tables);
                let names = write.tables.iter().map(|it| self.name(it)).collect();
                mirrors.chain(self.reached(names)).map(again).collect()
            }
            Err(_) | Ok(Statement::Unknown(_)) => self.unreadable(text),
            _ => Vec::new(),
        }
    }

    /// Mirrors that rows may have changed in with those of some tables. One that has failed, or is not
    /// read yet, has nothing that could be wrong.
    fn reached(&self, names: Vec<MirrorName>) -> impl Iterator<Item = Arc<Mirror>> {
        let is_concerned = |it: &Arc<Mirror>| it.state().follows() || it.state() == State::Paused;
        self.source.reached(names).into_iter().filter(is_concerned)
    }

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
        let has = |name: &str| has_word(&text, &name.to_lowercase());
        let mut mirrors = self.source.mirrors();
        mirrors.retain(|mirror| {
            let MirrorName { database, table, .. } = &mirror.name;
            has(table) && (database.eq_ignore_ascii_case(self.database) || has(database))
        });
        let why = |_: &Arc<Mirror>| format!("a statement could not be read: {text}");
        mirrors.into_iter().map(|it| Effect::Again(Arc::clone(&it), why(&it))).collect()
    }

    fn ddl(
        &self,
        ddl: &Ddl,
        text: &str,
        (circumstances, implicit): (Circumstances, bool),
    ) -> Vec<Effect> {
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
        // What other tables an `ALTER TABLE` concerns is only known when all of it has been read.
        let is_alter = ddl.action == DdlAction::Alter && ddl.object == "TABLE";
        let upper = text.to_ascii_uppercase();
        let names_others = ["RENAME", "EXCHANGE", "CONVERT"].iter().any(|it| upper.contains(it));
        if !(concerns || is_alter && names_others) {
            return Vec::new();
        }
        match pelorus_sql::ddl::parse(text, circumstances.mode) {
            Ok(statement) => self.statement(statement, circumstances, implicit),
            // The tables that it concerns are known: that is enough to resynchronise them.
            Err(error) => {
                let why =
                    format!("a statement could not be followed ({}): {text}", error.message());
                let mut effects: Vec<Effect> =
                    self.mirrors(&ddl.names).map(|it| Effect::Again(it, why.clone())).collect();
                if ddl.action == DdlAction::Create {
                    effects.extend(ddl.names.iter().filter_map(|it| self.come(it, true)));
                }
                if is_alter {
                    effects.extend(self.unreadable(text));
                    let converted = compatibility::converted_to(text, circumstances.mode);
                    effects.extend(converted.and_then(|it| self.come(&it, true)));
                }
                effects
            }
        }
    }

    fn statement(
        &self,
        statement: TableStatement,
        circumstances: Circumstances,
        implicit_timestamps: bool,
    ) -> Vec<Effect> {
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
            TableStatement::Rename(rename) => {
                let mut effects = self.renamed(&rename.pairs);
                if rename.if_exists {
                    effects.retain(|it| self.may_happen(it, &rename.pairs));
                }
                effects
            }
            TableStatement::Alter(alter) => {
                let others = self.exchanged(&alter.actions);
                let Some(mirror) = self.mirror(&alter.table) else {
                    let pairs = renames(&alter.table, &alter.actions);
                    let mut renamed = self.renamed(&pairs);
                    if alter.if_exists {
                        renamed.retain(|it| self.may_happen(it, &pairs));
                    }
                    return others.chain(renamed).collect();
                };
                let altered = Altered::of(&mirror, implicit_timestamps);
                let hazard = alter.actions.iter().find_map(|it| hazard(it, altered));
                let hazard = hazard.or_else(|| renamed_reference(&mirror, &alter.actions));
                if let Some(why) = hazard {
                    let mut effects = vec![Effect::Again(mirror, why.to_owned())];
                    effects.extend(others);
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

    /// Tables that have got the rows of partitions.
    fn exchanged<'t>(&'t self, actions: &'t [AlterAction]) -> impl Iterator<Item = Effect> + 't {
        let other = |action: &'t AlterAction| match action {
            AlterAction::ExchangePartition { table, .. } => self.mirror(table),
            _ => None,
        };
        let again =
            |it| Effect::Again(it, "its rows and those of a partition were exchanged".to_owned());
        actions.iter().filter_map(other).map(again)
    }

    /// Tables with foreign keys that refer to a column that has another name now.
    fn moved_references(&self, name: &MirrorName, actions: &[AlterAction]) -> Vec<Effect> {
        let referrers = self.source.all_referrers();
        let children = referrers.get(&(name.database.clone(), name.table.clone()));
        let moves = |child: &&Arc<Mirror>| {
            let keys = child.foreign_keys();
            let mut keys = keys.iter().filter(|it| it.refers_to(&name.database, &name.table));
            keys.any(|key| actions.iter().any(|it| renames_one(it, &key.referred)))
        };
        let why = "a column was renamed that one of its foreign keys refers to";
        let children = children.into_iter().flatten().filter(moves);
        children.map(|child| Effect::Again(Arc::clone(child), why.to_owned())).collect()
    }

    /// Whether the table of a renaming may be there: in a database that is mirrored there is none
    /// that nothing is known of, but for those that the same statement has renamed.
    fn may_happen(&self, effect: &Effect, pairs: &[(TableName, TableName)]) -> bool {
        let Effect::Renamed(from, ..) = effect else { return true };
        self.source.mirror(&from.database, &from.table).is_some()
            || !self.source.has_database(&from.database)
            || pairs.iter().any(|(_, to)| self.name(to) == *from)
    }

    /// One after the other, each as the tables are then: a swap goes through a third name.
    fn renamed(&self, pairs: &[(TableName, TableName)]) -> Vec<Effect> {
        let pair = |(at, (from, to)): (usize, &(TableName, TableName))| {
            Effect::Renamed(self.name(from), self.name(to), at)
        };
        pairs.iter().enumerate().map(pair).collect()
    }
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
            ("ROLLBACK TO `a`", Kind::RollbackTo),
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
    fn words_are_not_parts_of_others() {
        for text in ["alter table t foo", "t", "x.`t`", "(t)", "é t", "tt t"] {
            assert!(has_word(text, "t"), "{text}");
        }
        for text in ["alter table tt", "table_t", "$t", "ét", ""] {
            assert!(!has_word(text, "t"), "{text}");
        }
    }

    #[test]
    fn modes_have_their_words() {
        assert_eq!(mode_words(0, false), "");
        assert_eq!(mode_words(1 << 2 | 1 << 21, false), "ANSI_QUOTES,STRICT_TRANS_TABLES");
        assert_eq!(mode_words(1 << 32, false), "TIME_TRUNCATE_FRACTIONAL");
        assert_eq!(mode_words(1 << 32, true), "TIME_TRUNCATE_FRACTIONAL");
        assert_eq!(mode_words(1 << 34 | 1 << 2, true), "ANSI_QUOTES");
    }
}
