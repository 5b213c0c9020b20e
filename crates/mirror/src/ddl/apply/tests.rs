//! Tests of DDL on mirrors whose copies cannot follow it, and of DDL that the stream reads again
//! after a crash in the middle of it.

use pelorus_env::Env;
use pelorus_error::Code;
use pelorus_sql::Mode;
use pelorus_store::Commit;

use super::*;
use crate::control::mirrors::Mirrors;
use crate::model::foreign_key::Action;
use crate::model::record;
use crate::model::record::SourceRecord;
use crate::source::tests::{NoLinks, Tables, kept, name, of_database, source, state, states};

fn carry(source: &Arc<Source>, effect: Effect, is_old: bool) -> Result<()> {
    carry_out(source, effect, "the statement", "e", &|_: &Position| is_old)
}

fn renaming(from: &str, to: &str) -> Effect {
    Effect::Renamed(name(from), name(to), 0)
}

#[test]
fn a_copy_that_a_crash_has_left_is_in_nobodys_way() {
    let tables = Tables::new(&["t", "old"]);
    let source = source(&tables, &[("t", of_database(State::Live))]);
    carry(&source, renaming("t", "old"), false).unwrap();
    assert_eq!(states(&tables), [state("old", State::Live)]);
    assert_eq!(tables.names(), ["old"]);
    assert!(source.mirror("d", "t").is_none());
    assert!(source.mirror("d", "old").unwrap().copy().is_some());
    assert!(source.has_renamed(("e", 0)).unwrap() && !source.has_renamed(("e", 1)).unwrap());
}

#[test]
fn what_goes_wrong_with_one_copy_is_a_matter_of_its_table() {
    let tables = Tables::new(&["t"]);
    let source = source(&tables, &[("t", of_database(State::Live))]);
    *tables.fails.lock() = Some(Code::DiskFull);
    let error = carry(&source, renaming("t", "new"), false).unwrap_err();
    assert_eq!(error.code(), Code::DiskFull);
    assert_eq!(states(&tables), [state("t", State::Live)]);
    *tables.fails.lock() = Some(Code::FileDamaged);
    carry(&source, renaming("t", "new"), false).unwrap();
    assert_eq!(states(&tables), [state("new", State::Waiting)]);
    let reason = kept(&tables)["new"].reason.clone().unwrap();
    assert!(reason.contains("as the test wants it"), "{reason}");
    let mirror = source.mirror("d", "new").unwrap();
    carry(&source, Effect::Gone(mirror), false).unwrap();
    assert!(states(&tables).is_empty());
    assert!(source.is_empty());
    // What could not be dropped goes at the next start.
    assert_eq!(tables.names(), ["t"]);
    *tables.fails.lock() = None;
    Mirrors::open(Arc::<Tables>::clone(&tables), Arc::new(NoLinks), Env::in_memory(1)).unwrap();
    assert!(tables.names().is_empty());
}

#[test]
fn tables_that_are_not_read_yet_change_their_names() {
    let tables = Tables::new(&["failed"]);
    let mirrors = [
        ("failed", of_database(State::Failed)),
        ("new", of_database(State::Waiting)),
        ("paused", of_database(State::Paused)),
    ];
    let source = source(&tables, &mirrors);
    for (from, to) in [("failed", "a"), ("new", "b"), ("paused", "c")] {
        carry(&source, renaming(from, to), false).unwrap();
        assert!(source.mirror("d", from).is_none() && kept(&tables)[to].of_database);
        // The next one is of another statement.
        let known = SourceRecord { identity: "one".to_owned(), ..SourceRecord::default() };
        let values = vec![(record::source_key("l"), Some(record::encode(&known).unwrap()))];
        tables.store.commit(&Commit { values, ..Commit::default() }).unwrap();
    }
    assert_eq!(
        states(&tables),
        [state("a", State::Waiting), state("b", State::Waiting), state("c", State::Paused)]
    );
    assert!(tables.names().is_empty());
}

#[test]
fn whoever_works_for_a_mirror_that_is_gone_stops() {
    let tables = Tables::new(&["t"]);
    let source = source(&tables, &[("t", of_database(State::Live))]);
    let mirror = source.mirror("d", "t").unwrap();
    let turn = mirror.turn();
    carry(&source, Effect::Gone(Arc::clone(&mirror)), false).unwrap();
    assert!(!mirror.state().follows() && mirror.turn() != turn);
    let error = mirror.update(&tables.store, |record| record.state = State::Live).unwrap_err();
    assert_eq!(error.code(), Code::QueryInterrupted);
    assert!(states(&tables).is_empty());
}

#[test]
fn a_table_that_gave_its_name_away_is_mirrored_under_its_new_one() {
    let tables = Tables::new(&["t"]);
    let from = Some("file:b.000001:900".to_owned());
    let record = MirrorRecord { from, ..of_database(State::Live) };
    let source = source(&tables, &[("t", record)]);
    carry(&source, renaming("t", "old"), true).unwrap();
    assert_eq!(states(&tables), [state("old", State::Waiting), state("t", State::Live)]);
    assert_eq!(tables.names(), ["t"]);
}

#[test]
fn what_was_dropped_before_the_stream_went_back_is_another_table() {
    let tables = Tables::new(&["t"]);
    // It has no primary key, and so no beginning.
    let source = source(&tables, &[("t", of_database(State::Failed))]);
    let known = SourceRecord {
        identity: "one".to_owned(),
        reached: Some("file:b.000001:900".to_owned()),
        ..SourceRecord::default()
    };
    source.keep_values(vec![source_value(&known)]).unwrap();
    let gone = || Effect::Gone(source.mirror("d", "t").unwrap());
    carry(&source, gone(), true).unwrap();
    assert_eq!(states(&tables), [state("t", State::Failed)]);
    carry(&source, gone(), false).unwrap();
    assert!(states(&tables).is_empty());
}

fn source_value(known: &SourceRecord) -> (Vec<u8>, Option<Vec<u8>>) {
    (record::source_key("l"), Some(record::encode(known).unwrap()))
}

#[test]
fn those_that_lack_an_event_begin_anew_with_what_they_refer_to() {
    let tables = Tables::new(&["p", "c", "g", "other"]);
    let later = Some("file:b.000001:900".to_owned());
    let live = || of_database(State::Live);
    let mirrors = [
        ("p", MirrorRecord { from: later.clone(), ..live() }),
        // Resynchronised since, and so are not those that refer to it.
        ("c", MirrorRecord { from: later, foreign_keys: vec![key_to("p")], ..live() }),
        ("g", MirrorRecord { foreign_keys: vec![key_to("c")], ..live() }),
        ("other", live()),
    ];
    let source = source(&tables, &mirrors);
    let again = || Effect::Again(source.mirror("d", "p").unwrap(), "the test".to_owned());
    carry(&source, again(), true).unwrap();
    let expected = |c, p| {
        let g = state("g", State::Waiting);
        [state("c", c), g, state("other", State::Live), state("p", p)]
    };
    assert_eq!(states(&tables), expected(State::Live, State::Live));
    // No mirror has it.
    carry(&source, again(), false).unwrap();
    assert_eq!(states(&tables), expected(State::Waiting, State::Waiting));
}

#[test]
fn what_is_referred_to_is_not_known_once_it_has_another_name() {
    let tables = Tables::new(&["p", "c", "other"]);
    let refers_to = |table: &str| MirrorRecord {
        refers_to: Some(vec![("d".to_owned(), table.to_owned())]),
        ..of_database(State::Live)
    };
    let mirrors =
        [("p", refers_to("other")), ("c", refers_to("p")), ("other", of_database(State::Live))];
    let source = source(&tables, &mirrors);
    carry(&source, renaming("p", "q"), false).unwrap();
    let kept = kept(&tables);
    assert!(kept["c"].refers_to.is_none() && kept["q"].refers_to.is_some());
}

/// A foreign key whose rows go with those of a table.
fn key_to(table: &str) -> ForeignKey {
    ForeignKey {
        name: "fk".to_owned(),
        columns: vec!["p".to_owned()],
        database: "d".to_owned(),
        table: table.to_owned(),
        referred: vec!["id".to_owned()],
        on_delete: Some(Action::Cascade),
        on_update: None,
    }
}

/// A table with a foreign key, and the statement that drops it.
fn dropping(tables: &Arc<Tables>, changing: Option<Changing>) -> (Arc<Source>, impl Fn() + use<>) {
    let foreign_keys = vec![key_to("p")];
    let record = MirrorRecord { foreign_keys, changing, ..of_database(State::Live) };
    let source = source(tables, &[("c", record)]);
    let of_carry = Arc::clone(&source);
    let drops = move || {
        let text = "ALTER TABLE c DROP FOREIGN KEY fk, ADD COLUMN n INT DEFAULT 3";
        let statement = pelorus_sql::ddl::parse(text, Mode::default()).unwrap();
        let circumstances = Circumstances {
            is_mariadb: true,
            mode: Mode::default(),
            sql_mode: String::new(),
            micros: 0,
            time_zone: None,
            collations: Vec::new(),
        };
        let mirror = of_carry.mirror("d", "c").unwrap();
        let effect = Effect::Change(mirror, Box::new(statement), circumstances);
        carry(&of_carry, effect, false).unwrap();
    };
    (source, drops)
}

#[test]
fn a_change_is_carried_out_once_with_all_that_it_does() {
    let tables = Tables::new(&["c"]);
    let (source, drops) = dropping(&tables, None);
    for _ in 0..2 {
        drops();
        assert_eq!(tables.changes(), 1);
        let record = kept(&tables)["c"].clone();
        assert!(record.foreign_keys.is_empty() && record.changing.unwrap().done);
    }
    assert!(source.mirror("d", "c").unwrap().foreign_keys().is_empty());
}

#[test]
fn what_a_crash_has_kept_from_the_record_is_made_up_for() {
    let tables = Tables::new(&["c"]);
    // The definition of before is not the one that the copy has.
    let begun = Changing {
        event: "e".to_owned(),
        table: tables.copy.id().0,
        definition: Some(1),
        done: false,
    };
    let (source, drops) = dropping(&tables, Some(begun));
    drops();
    assert_eq!(tables.changes(), 0);
    let record = kept(&tables)["c"].clone();
    assert!(record.foreign_keys.is_empty() && record.changing.unwrap().done);
    assert_eq!(record.state, State::Live);
    assert!(source.mirror("d", "c").unwrap().foreign_keys().is_empty());
}

#[test]
fn a_start_tidies_up() {
    let tables = Tables::new(&["t", "nobodys"]);
    let left = Some("is being dropped".to_owned());
    let mirrors = [
        ("t", of_database(State::Live)),
        ("lost", of_database(State::Live)),
        // As an earlier version has left it.
        ("left", MirrorRecord { reason: left, ..of_database(State::Paused) }),
        ("paused", of_database(State::Paused)),
    ];
    source(&tables, &mirrors);
    Mirrors::open(Arc::<Tables>::clone(&tables), Arc::new(NoLinks), Env::in_memory(1)).unwrap();
    assert_eq!(tables.names(), ["t"]);
    assert_eq!(
        states(&tables),
        [
            state("left", State::Waiting),
            state("lost", State::Waiting),
            state("paused", State::Paused),
            state("t", State::Live)
        ]
    );
}

#[test]
fn a_table_that_somebody_else_has_added_is_mirrored_once() {
    let tables = Tables::new(&[]);
    let source = source(&tables, &[("t", MirrorRecord::default())]);
    let mirror = source.mirror("d", "t").unwrap();
    carry(&source, Effect::Come(name("t")), false).unwrap();
    assert!(Arc::ptr_eq(&mirror, &source.mirror("d", "t").unwrap()));
    assert!(!kept(&tables)["t"].of_database);
}
