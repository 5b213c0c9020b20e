//! Helpers for tests: sources without servers.

use std::sync::atomic::AtomicUsize;

use pelorus_env::{Fault, SimDisk, Tear};
use pelorus_error::Code;
use pelorus_link::Link;
use pelorus_sql::ddl::TableStatement;
use pelorus_sql::statement::MirrorFilter;
use pelorus_store::Commit;

use super::*;
use crate::apply::batch::tests::World;
use crate::model::copies::{Circumstances, Definition};
use crate::model::shared::FindLink;

/// Copies by their names, all of them of one table.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) store: Arc<Database>,
    pub(crate) copy: Arc<dyn CopyTable>,
    names: Mutex<BTreeSet<MirrorName>>,
    /// The error of renaming and dropping.
    pub(crate) fails: Mutex<Option<Code>>,
    changes: AtomicUsize,
}

impl Tables {
    pub(crate) fn new(names: &[&str]) -> Arc<Self> {
        Self::on(Env::in_memory(1), names)
    }

    fn on(env: Env, names: &[&str]) -> Arc<Self> {
        let World { store, copy, .. } = World::on(env, MirrorRecord::default());
        Arc::new(Self {
            store,
            copy,
            names: Mutex::new(names.iter().map(|it| name(it)).collect()),
            fails: Mutex::default(),
            changes: AtomicUsize::new(0),
        })
    }

    fn check(&self) -> Result<()> {
        match *self.fails.lock() {
            Some(code) => Err(Error::new(code, "as the test wants it")),
            None => Ok(()),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().iter().map(|it| it.table.clone()).collect()
    }

    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }
}

impl Copies for Tables {
    fn store(&self) -> &Arc<Database> {
        &self.store
    }

    fn transaction_bytes(&self) -> usize {
        1 << 20
    }

    fn memory(&self) -> &pelorus_env::Account {
        static NONE: std::sync::LazyLock<pelorus_env::Account> =
            std::sync::LazyLock::new(pelorus_env::Account::unlimited);
        &NONE
    }

    fn all(&self) -> Vec<MirrorName> {
        self.names.lock().iter().cloned().collect()
    }

    fn find(&self, name: &MirrorName) -> Option<Arc<dyn CopyTable>> {
        self.names.lock().contains(name).then(|| Arc::clone(&self.copy))
    }

    fn create(&self, name: &MirrorName, _: &Definition) -> Result<Arc<dyn CopyTable>> {
        self.names.lock().insert(name.clone());
        Ok(Arc::clone(&self.copy))
    }

    fn drop_copy(&self, name: &MirrorName) -> Result<()> {
        self.check()?;
        self.names.lock().remove(name);
        Ok(())
    }

    fn change(
        &self,
        _: &MirrorName,
        _: &TableStatement,
        _: &Circumstances,
        _: &MirrorFilter,
    ) -> Result<Arc<dyn CopyTable>> {
        let number = self.changes.fetch_add(1, Ordering::Relaxed);
        let definition = format!("changed after {number}").into_bytes();
        self.store.define_tables(vec![(self.copy.id(), definition)])?;
        Ok(Arc::clone(&self.copy))
    }

    fn empty(&self, _: &MirrorName) -> Result<Arc<dyn CopyTable>> {
        Ok(Arc::clone(&self.copy))
    }

    fn analyze(&self, _: &MirrorName) -> Result<()> {
        Ok(())
    }

    fn rename(&self, from: &MirrorName, to: &MirrorName) -> Result<()> {
        self.check()?;
        let mut names = self.names.lock();
        if names.contains(to) {
            return Err(Error::new(Code::TableExists, format!("Table '{to}' already exists")));
        }
        if !names.remove(from) {
            return Err(Error::new(Code::NoSuchTable, format!("Table '{from}' doesn't exist")));
        }
        names.insert(to.clone());
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct NoLinks;

impl FindLink for NoLinks {
    fn link(&self, _: &str) -> Option<Link> {
        None
    }
}

pub(crate) fn name(table: &str) -> MirrorName {
    MirrorName { link: "l".to_owned(), database: "d".to_owned(), table: table.to_owned() }
}

/// The record of a table that came with its database.
pub(crate) fn of_database(state: State) -> MirrorRecord {
    MirrorRecord { state, of_database: true, ..MirrorRecord::default() }
}

/// A source whose database `d` is mirrored, with mirrors.
pub(crate) fn source(tables: &Arc<Tables>, mirrors: &[(&str, MirrorRecord)]) -> Arc<Source> {
    let shared = Shared {
        copies: Arc::<Tables>::clone(tables),
        links: Arc::new(NoLinks),
        env: Env::in_memory(1),
    };
    let source = Source::open("l", Arc::new(shared)).unwrap();
    source.add_database("d");
    let known = SourceRecord { identity: "one".to_owned(), ..SourceRecord::default() };
    let values = vec![(record::source_key("l"), Some(record::encode(&known).unwrap()))];
    tables.store.commit(&Commit { values, ..Commit::default() }).unwrap();
    for (table, record) in mirrors {
        let name = name(table);
        let copy = tables.find(&name);
        let mirror = Mirror::new(name, record.clone(), copy).unwrap();
        mirror.update(&tables.store, |_| {}).unwrap();
        source.insert(Arc::new(mirror));
    }
    source
}

/// The stored records of mirrors, by table.
pub(crate) fn kept(tables: &Tables) -> BTreeMap<String, MirrorRecord> {
    kept_in(&tables.store)
}

fn kept_in(store: &Database) -> BTreeMap<String, MirrorRecord> {
    let all = record::mirrors(store).unwrap();
    all.into_iter().map(|(name, record)| (name.table, record)).collect()
}

pub(crate) fn states(tables: &Tables) -> Vec<(String, State)> {
    kept(tables).into_iter().map(|(table, record)| (table, record.state)).collect()
}

pub(crate) fn state(table: &str, state: State) -> (String, State) {
    (table.to_owned(), state)
}

fn keep_position(tables: &Tables, text: &str) {
    let values = vec![(record::position_key("l"), Some(text.as_bytes().to_vec()))];
    tables.store.commit(&Commit { values, ..Commit::default() }).unwrap();
}

/// Does something with a source whose stream has come to a position, again and again, with crashes
/// that come later each time. What is kept is looked at after each: the position, and the mirrors.
fn crashes(
    mirrors: &[(&str, MirrorRecord)],
    work: impl Fn(&Source) -> Result<()>,
    check: impl Fn(Option<&str>, &BTreeMap<String, MirrorRecord>),
) {
    for count in 0.. {
        let disk = SimDisk::new(1);
        let env = Env { disk: Arc::new(disk.clone()), ..Env::in_memory(1) };
        let tables = Tables::on(env.clone(), &["t", "u"]);
        keep_position(&tables, "file:b.000001:900");
        let source = source(&tables, mirrors);
        disk.fail_after(count, Fault::Crash);
        let is_done = work(source.as_ref()).is_ok();
        drop((source, tables));
        disk.crash_with(Tear::Everything);
        let store = World::store(env);
        let position = store.value(&record::position_key("l"));
        let position = position.map(|it| String::from_utf8(it).unwrap());
        check(position.as_deref(), &kept_in(&store));
        if is_done {
            assert!(count > 0, "nothing was written");
            return;
        }
    }
}

/// A mirror that was paused at an earlier position.
fn paused() -> MirrorRecord {
    MirrorRecord { from: Some("file:b.000001:100".to_owned()), ..of_database(State::Paused) }
}

#[test]
fn a_mirror_is_resumed_together_with_the_stream() {
    let mirrors = [("t", paused()), ("u", of_database(State::Live))];
    crashes(
        &mirrors,
        |source| source.resume(&source.mirror("d", "t").unwrap()),
        |position, kept| {
            let place = match kept["t"].state {
                State::Paused => "file:b.000001:900",
                _ => "file:b.000001:100",
            };
            assert_eq!(position, Some(place));
        },
    );
}

#[test]
fn no_mirror_is_begun_anew_alone_where_all_are() {
    let mirrors = [("t", of_database(State::Live)), ("u", of_database(State::Live))];
    crashes(
        &mirrors,
        |source| source.begin_all_again("as the test wants it"),
        |position, kept| {
            let is_begun = kept.values().any(|it| it.state == State::Waiting);
            assert!(!is_begun || position.is_none(), "{position:?}: {kept:?}");
        },
    );
}

#[test]
fn nothing_is_gone_on_with_that_lacks_a_position() {
    let tables = Tables::new(&["t", "u"]);
    let source = source(&tables, &[("t", paused()), ("u", of_database(State::Live))]);
    source.go_to(&"file:b.000001:900".parse().unwrap()).unwrap();
    assert_eq!(states(&tables), [state("t", State::Paused), state("u", State::Waiting)]);
    assert_eq!(kept(&tables)["t"].from, None);
}

#[test]
fn prepared_transactions_belong_to_the_stream() {
    let tables = Tables::new(&["t"]);
    keep_position(&tables, "file:b.000001:900");
    let source = source(&tables, &[("t", paused())]);
    let values = vec![
        (record::xa_key("l", "X'61',X'',1"), Some(b"[]".to_vec())),
        (record::xa_key("ll", "X'61',X'',1"), Some(b"[]".to_vec())),
    ];
    tables.store.commit(&Commit { values, ..Commit::default() }).unwrap();
    // It may meet another one of that name on its way.
    source.resume(&source.mirror("d", "t").unwrap()).unwrap();
    assert!(tables.store.values(b"xa/l\0").is_empty());
    assert_eq!(tables.store.values(b"xa/ll\0").len(), 1);
}

#[test]
fn a_load_does_not_undo_a_pause() {
    let tables = Tables::new(&["t"]);
    let source = source(&tables, &[("t", of_database(State::Loading))]);
    let mirror = source.mirror("d", "t").unwrap();
    let turn = mirror.waiting_turn().unwrap();
    source.pause(&mirror).unwrap();
    let begun = mirror.begin_again_in_turn(&tables.store, turn, None);
    assert_eq!(begun.unwrap_err().code(), Code::QueryInterrupted);
    assert_eq!(states(&tables), [state("t", State::Paused)]);
    assert_eq!(mirror.waiting_turn(), None);
}

#[test]
fn a_new_series_of_binlogs_is_not_forgotten() {
    let tables = Tables::new(&["t"]);
    let source =
        source(&tables, &[("t", of_database(State::Live)), ("u", of_database(State::Live))]);
    keep_position(&tables, "file:b.000005:900");
    source.note_file("b.000005", 100).unwrap();
    source.note_file("b.000005", 100).unwrap();
    assert_eq!(states(&tables), [state("t", State::Live), state("u", State::Live)]);
    // Another task is ending this one.
    source.mirror("d", "t").unwrap().end(&tables.store, Vec::new()).unwrap();
    source.note_file("b.000001", 200).unwrap();
    assert_eq!(states(&tables), [state("u", State::Waiting)]);
    assert!(tables.store.value(&record::position_key("l")).is_none());
    assert_eq!(source.known().unwrap().unwrap().file, Some(("b.000001".to_owned(), 200)));
}

#[test]
fn a_name_is_given_to_one_mirror() {
    let tables = Tables::new(&[]);
    let source = source(&tables, &[]);
    let add = || source.add(&name("t"), of_database(State::Waiting)).unwrap();
    let added = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(add)).collect();
        all.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count()
    });
    assert_eq!(added, 1);
    let first = source.mirror("d", "t").unwrap();
    assert!(!add() && Arc::ptr_eq(&first, &source.mirror("d", "t").unwrap()));
}

#[test]
fn what_waits_for_the_stream_leaves_the_threads_to_others() {
    let tables = Tables::new(&["t"]);
    let source = source(&tables, &[("t", of_database(State::Live))]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let held = source.hold();
    let (of_task, mirror) = (Arc::clone(&source), source.mirror("d", "t").unwrap());
    let paused = runtime.spawn(async move { of_task.pause(&mirror) });
    let (say, hear) = std::sync::mpsc::channel();
    runtime.spawn(async move { say.send(()) });
    hear.recv_timeout(Duration::from_secs(20)).unwrap();
    drop(held);
    runtime.block_on(paused).unwrap().unwrap();
    assert_eq!(states(&tables), [state("t", State::Paused)]);
}

#[test]
fn whoever_begins_while_a_mirror_is_begun_anew_stops() {
    let tables = Tables::new(&["t"]);
    let source = source(&tables, &[("t", of_database(State::Loading))]);
    let mirror = source.mirror("d", "t").unwrap();
    mirror.end_turn();
    // A load that ends at once because of that, and another one that takes its place.
    let turn = mirror.turn();
    mirror.update(&tables.store, |record| record.state = State::Waiting).unwrap();
    let until: Position = "file:b.000001:4".parse().unwrap();
    let ended = mirror.end_reading(&tables.store, turn, (&until, Duration::ZERO));
    assert_eq!(ended.unwrap_err().code(), Code::QueryInterrupted);
    assert_eq!(states(&tables), [state("t", State::Waiting)]);
}

#[test]
fn what_a_server_has_told_is_taken_back_by_the_next_stream_alone() {
    let at = |text: &str| text.parse::<Position>().unwrap();
    let source = source(&Tables::new(&["t"]), &[("t", of_database(State::Live))]);
    source.begin_end(at("mariadb:0-1-900"));
    // It was reset, does not answer, and answers again.
    for end in [Some(at("mariadb:0-1-5")), None, Some(at("mariadb:0-1-6"))] {
        source.note_end(end);
        assert_eq!(source.told(), Some(at("mariadb:0-1-900")));
    }
    source.note_end(Some(at("mariadb:0-1-901")));
    assert_eq!(source.told(), Some(at("mariadb:0-1-901")));
    source.begin_end(at("mariadb:0-1-7"));
    assert_eq!(source.told(), Some(at("mariadb:0-1-7")));
}

#[test]
fn what_foreign_keys_reach_is_found() {
    let refers_to = |there: &[&str]| MirrorRecord {
        refers_to: Some(there.iter().map(|it| ("d".to_owned(), (*it).to_owned())).collect()),
        ..of_database(State::Live)
    };
    let mirrors = [
        ("c", refers_to(&["p"])),
        ("g", refers_to(&["c", "g"])),
        // The parents of these are unknown: a record of an earlier version, and one that depends on
        // others.
        ("old", of_database(State::Live)),
        ("through", refers_to(&["not mirrored"])),
        ("other", refers_to(&[])),
        ("p", refers_to(&["other"])),
    ];
    let source = source(&Tables::new(&[]), &mirrors);
    let reached = |table: &str| -> Vec<String> {
        let found = source.reached(vec![name(table)]);
        let names: BTreeSet<String> = found.iter().map(|it| it.name.table.clone()).collect();
        assert_eq!(names.len(), found.len());
        names.into_iter().collect()
    };
    assert_eq!(reached("p"), ["c", "g", "old", "through"]);
    assert_eq!(reached("other"), ["c", "g", "old", "p", "through"]);
    assert_eq!(reached("g"), ["old", "through"]);
    let known = source.known().unwrap().unwrap();
    source.keep(&SourceRecord { logs_cascades: Some(false), ..known }).unwrap();
    assert!(reached("p").is_empty());
}
