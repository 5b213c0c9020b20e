//! Many threads at once: what every reader sees adds up, and of commits that write one row only
//! those succeed that saw each other.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use parking_lot::Mutex;
use pelorus_env::{Env, Random};
use pelorus_error::{Code, Error};
use pelorus_store::{
    ByteWeigher, Commit, Database, History, Mode, Options, Snapshot, StoredColumn, TableId, Write,
};
use pelorus_types::ColumnType;

use crate::harness::{Content, newest, options, put, read, remove, row, schema};

const PARTITIONS: i64 = 3;
const KEYS: i64 = 12;
const MONEY: i64 = 1000;

type Account = (usize, i64, i64);

/// What a commit that succeeded was computed from, what it became, and what it wrote.
type Done = (u64, u64, Vec<Account>);

struct Bank {
    database: Arc<Database>,
    tables: [TableId; 2],
    log: TableId,
    /// From this version on all money is there.
    begin: u64,
    stop: AtomicBool,
    done: Mutex<Vec<Done>>,
    conflicts: AtomicU64,
}

/// A random number below a bound.
fn below(random: &dyn Random, bound: i64) -> i64 {
    let mut bytes = [0; 4];
    random.fill(&mut bytes);
    i64::from(u32::from_le_bytes(bytes)) % bound
}

fn total(snapshot: &Snapshot, tables: [TableId; 2]) -> Result<i64, Error> {
    let mut sum = 0;
    for table in tables {
        sum += read(snapshot, table)?.values().map(|(v, _)| v).sum::<i64>();
    }
    Ok(sum)
}

impl Bank {
    fn new(database: Arc<Database>) -> Self {
        let make = || {
            let history = History { micros: 20_000, bytes: 1 << 20 };
            let mut schema = schema();
            schema.history = history;
            database.create_table(schema, b"").unwrap()
        };
        let tables = [make(), make()];
        let log = make();
        for table in tables {
            for p in 0..PARTITIONS {
                let rows: Vec<_> = (0..KEYS).map(|k| ((p, k), (MONEY, None))).collect();
                let writes = vec![put(table, &rows, Mode::Insert)];
                database.commit(&Commit { writes, ..Commit::default() }).unwrap();
            }
        }
        let (begin, stop, done) = (database.version(), AtomicBool::new(false), Mutex::default());
        Self { database, tables, log, begin, stop, done, conflicts: AtomicU64::new(0) }
    }

    fn balance(&self, snapshot: &Snapshot, (table, p, k): Account) -> Option<i64> {
        let table = snapshot.table(self.tables[table]).unwrap();
        let key = [p, k].map(|it| Arc::new(Int64Array::from(vec![it])) as ArrayRef);
        let rows = table.get(&p.to_be_bytes(), &key, &[2]).unwrap();
        rows.found[0].then(|| rows.columns[0].as_primitive::<Int64Type>().value(0))
    }

    /// Moves money between two accounts; an account without money is closed, and opened again by
    /// whoever has money for it.
    fn transfer(&self, random: &dyn Random) {
        let account = || -> Account {
            let table = usize::from(below(random, 2) == 1);
            (table, below(random, PARTITIONS), below(random, KEYS))
        };
        let (from, to) = (account(), account());
        let snapshot = self.database.snapshot();
        let Some(money) = self.balance(&snapshot, from).filter(|_| from != to) else { return };
        let amount = if below(random, 3) == 0 { money } else { 1 + below(random, money) };
        let there = self.balance(&snapshot, to).unwrap_or(0);
        let mut places: BTreeMap<(usize, i64), (Vec<_>, Vec<_>)> = BTreeMap::new();
        for ((table, p, k), left) in [(from, money - amount), (to, there + amount)] {
            let (puts, removes) = places.entry((table, p)).or_default();
            if left == 0 {
                removes.push((p, k));
            } else {
                puts.push(((p, k), (left, None)));
            }
        }
        let mut writes: Vec<Write> = Vec::new();
        for ((table, _), (puts, removes)) in places {
            if !puts.is_empty() {
                writes.push(put(self.tables[table], &puts, Mode::Replace));
            }
            if !removes.is_empty() {
                writes.push(remove(self.tables[table], &removes));
            }
        }
        let seen = snapshot.version();
        match self.database.commit(&Commit { writes, snapshot: Some(seen), ..Commit::default() }) {
            Ok(receipt) => self.done.lock().push((seen, receipt.version, vec![from, to])),
            Err(error) => {
                assert_eq!(error.code(), Code::Deadlock, "{error}");
                self.conflicts.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn watch(&self, random: &dyn Random) {
        let expected = 2 * PARTITIONS * KEYS * MONEY;
        let snapshot = self.database.snapshot();
        for _ in 0..2 {
            assert_eq!(total(&snapshot, self.tables).unwrap(), expected);
        }
        let newest = self.database.version();
        let old = newest.saturating_sub(below(random, 40).unsigned_abs()).max(self.begin);
        match total(&self.database.snapshot_at(old), self.tables) {
            Ok(found) => assert_eq!(found, expected, "as of {old} of {newest}"),
            Err(error) => assert_eq!(error.code(), Code::HistoryTooOld),
        }
    }

    /// Partitions and columns of a third table come and go; its rows are all of one commit.
    fn churn(&self, random: &dyn Random) {
        let p = below(random, 4);
        match below(random, 8) {
            0..4 => {
                let id = i64::try_from(self.database.version()).unwrap();
                let rows: Vec<_> = (0..30).map(|k| ((p, k), row(id))).collect();
                let writes = vec![put(self.log, &rows, Mode::Replace)];
                match self.database.commit(&Commit { writes, ..Commit::default() }) {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code(), Code::TableChanged),
                }
            }
            4..6 => {
                self.database.drop_partitions(self.log, &[p.to_be_bytes().to_vec()]).unwrap();
            }
            6 => {
                let table = self.database.table(self.log).unwrap();
                let mut schema = table.schema();
                if schema.columns.len() > 4 {
                    schema.columns.pop();
                } else {
                    let (id, ty) = (table.next_column_id(), ColumnType::bigint());
                    schema.columns.push(StoredColumn { id, ty, filler: None });
                }
                self.database.alter_table(self.log, schema, b"").unwrap();
            }
            _ => self.check_churn(),
        }
    }

    /// Of every partition of the third table, all rows are seen or none.
    fn check_churn(&self) {
        let content = match read(&self.database.snapshot(), self.log) {
            Ok(content) => content,
            Err(error) => return assert_eq!(error.code(), Code::TableChanged),
        };
        let mut parts: HashMap<i64, Vec<i64>> = HashMap::new();
        for ((p, _), (v, _)) in &content {
            parts.entry(*p).or_default().push(*v);
        }
        for (p, values) in parts {
            assert_eq!(values.len(), 30, "partition {p}");
            assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "partition {p}");
        }
    }

    /// Tables are made, changed and dropped, by two at once.
    fn tables(&self) {
        let id = self.database.create_table(schema(), b"").unwrap();
        let gone = |result: Result<(), Error>| {
            if let Err(error) = result {
                assert_eq!(error.code(), Code::TableChanged, "{error}");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| gone(self.database.alter_table(id, schema(), b"x")));
            scope.spawn(|| gone(self.database.truncate_table(id)));
            gone(self.database.drop_table(id));
        });
    }

    fn run(&self, transfers: u64) {
        let random = |seed| Env::in_memory(seed).random;
        let goes_on = || !self.stop.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|seed| {
                    scope.spawn(move || {
                        let random = random(seed);
                        (0..transfers).for_each(|_| self.transfer(&*random));
                    })
                })
                .collect();
            let _stop = Stop(&self.stop, &self.database);
            scope.spawn(|| self.database.run_maintenance());
            for seed in 10..12 {
                let random = random(seed);
                scope.spawn(move || {
                    while goes_on() {
                        self.watch(&*random);
                    }
                });
            }
            scope.spawn(|| {
                let random = random(20);
                while goes_on() {
                    self.churn(&*random);
                }
            });
            scope.spawn(|| {
                while goes_on() {
                    self.database.checkpoint().unwrap();
                    self.tables();
                }
            });
            writers.into_iter().for_each(|it| it.join().unwrap());
        });
        assert_eq!(self.database.failure(), None);
        self.check_conflicts();
    }

    /// Of commits that wrote one row, each had seen the one before it.
    fn check_conflicts(&self) {
        let mut done = self.done.lock().clone();
        done.sort_unstable_by_key(|(_, version, _)| *version);
        assert!(done.len() > 50, "{} of all commits succeeded", done.len());
        let mut last: HashMap<Account, u64> = HashMap::new();
        for (seen, version, accounts) in done {
            for account in accounts {
                let before = last.insert(account, version).unwrap_or(0);
                assert!(before <= seen, "{account:?}: {version} saw {seen}, not {before}");
            }
        }
    }

    fn contents(&self) -> Vec<Content> {
        self.tables.iter().chain([&self.log]).map(|&it| newest(&self.database, it)).collect()
    }
}

/// Ends the other threads, also when one has panicked.
struct Stop<'a>(&'a AtomicBool, &'a Database);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.stop_maintenance();
    }
}

fn limits() -> Options {
    Options { flush_rows: 30, delta_bytes: 16 << 10, checkpoint_micros: 50_000, ..options() }
}

fn scenario(env: &Env, folder: &Path, transfers: u64) {
    let open = || Database::open(env.clone(), folder, limits(), Arc::new(ByteWeigher)).unwrap();
    let bank = Bank::new(open());
    bank.run(transfers);
    let before = bank.contents();
    let (tables, log) = (bank.tables, bank.log);
    drop(bank);
    let database = open();
    let found: Vec<Content> =
        tables.iter().chain([&log]).map(|&it| newest(&database, it)).collect();
    assert_eq!(found, before);
    assert_eq!(database.tables().len(), 3);
    while database.maintain().unwrap() {}
    database.close().unwrap();
}

#[test]
fn sums_never_waver_on_a_simulated_disk() {
    for seed in 0..u64::from(pelorus_env::scaled(3)) {
        let env = Env::in_memory(seed);
        scenario(&env, Path::new("/data"), 1000);
    }
}

#[test]
fn sums_never_waver_on_a_real_disk() {
    let folder = std::env::temp_dir().join(format!("pelorus-store-{}", std::process::id()));
    scenario(&Env::real(), &folder, 400);
    std::fs::remove_dir_all(folder).unwrap();
}
