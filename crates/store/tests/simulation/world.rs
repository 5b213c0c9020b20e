//! A database on a simulated machine, many threads that work on it, its end, and what is found when
//! it is opened again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pelorus_env::sync::switching::{JoinHandle, spawn, switching_disk};
use pelorus_env::{Disk as _, Fault, rare};
use pelorus_store::{Database, Mode, TableId};

use crate::found::{check_files, newest};
use crate::harness::{Machine, schema};
use crate::history::{Asked, Found, History};
use crate::model::Change;
use crate::plan::{Dice, Plan, Trouble};
use crate::rows::Row;

/// Partitions of each table.
pub(crate) const PARTITIONS: i64 = 2;

/// What each account holds at first.
const MONEY: i64 = 100;

/// What threads share.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) machine: Machine,
    pub(crate) database: Arc<Database>,
    /// Two tables with money, and one with other rows.
    pub(crate) bank: [TableId; 2],
    pub(crate) churn: TableId,
    /// Everybody notes here; nobody goes on elsewhere meanwhile.
    history: Mutex<History>,
    /// What rows have in added columns that are older than these.
    pub(crate) fillers: Arc<Mutex<BTreeMap<(TableId, u32), Option<i64>>>>,
    /// Numbers of rows.
    pub(crate) numbers: AtomicU64,
    /// The writers have ended.
    done: AtomicBool,
}

/// Runs a plan after another on one machine; what came of it in a few words, to compare.
pub(crate) fn run(seed: u64, plans: &[Plan]) -> String {
    let mut machine = Machine::new(seed);
    machine.env.disk = Arc::new(switching_disk(Arc::clone(&machine.env.disk)));
    let first = machine.open_with(plans[0].options.clone()).unwrap();
    let tables = [(); 3].map(|()| first.create_table(schema(), b"").unwrap());
    let mut world = World {
        seed,
        plan: plans[0].clone(),
        machine,
        database: first,
        bank: [tables[0], tables[1]],
        churn: tables[2],
        history: Mutex::default(),
        fillers: Arc::default(),
        numbers: AtomicU64::new(0),
        done: AtomicBool::new(false),
    };
    world.begin();
    let mut reads = 0;
    for (at, plan) in plans.iter().enumerate() {
        world = world.live(plan);
        reads += world.history(|history| history.reads.len());
        let next = plans.get(at + 1).unwrap_or(plan);
        world = world.end(next);
    }
    let (disk, clock) = (&world.machine.disk, &world.machine.clock);
    let (version, operations) = (world.database.version(), disk.operations());
    let clock = clock.0.load(Ordering::Relaxed);
    format!("version {version}, {operations} operations, {reads} reads, clock {clock}")
}

impl World {
    /// Notes something, or looks at what was noted. Nobody else goes on meanwhile, so `run` must not
    /// do anything at which somebody could.
    pub(crate) fn history<T>(&self, run: impl FnOnce(&mut History) -> T) -> T {
        run(&mut self.history.lock().unwrap())
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// Whether the machine has crashed.
    pub(crate) fn is_down(&self) -> bool {
        self.machine.disk.list(Path::new("/")).is_err()
    }

    /// Lets time pass, now and then much of it.
    pub(crate) fn pass(&self, dice: &mut Dice) {
        let micros = if dice.once_in(12) { 1_500_000 } else { dice.below(600) };
        self.machine.clock.0.fetch_add(micros, Ordering::Relaxed);
    }

    /// Gives all accounts money.
    fn begin(&mut self) {
        let begin = self.database.version();
        self.history(|history| {
            history.begin = begin;
            for table in [self.bank[0], self.bank[1], self.churn] {
                history.state.tables.insert(table, crate::model::Table::default());
            }
        });
        for table in self.bank {
            for p in 0..PARTITIONS {
                let row = |k| ((p, k), Row { v: MONEY, t: None, added: BTreeMap::new() });
                let rows = (0..self.plan.keys).map(row).collect();
                let put = Change::Put { table, mode: Mode::Insert, rows };
                self.commit(9, vec![put], None, false).unwrap();
            }
        }
        let found = newest(&self.database, &self.fillers());
        self.next(found);
    }

    pub(crate) fn fillers(&self) -> BTreeMap<(TableId, u32), Option<i64>> {
        self.fillers.lock().unwrap().clone()
    }

    /// Checks what happened so far, and goes on from what is found.
    fn next(&mut self, found: Found) {
        let bank = self.bank.to_vec();
        self.history(|history| {
            history.resolve(&found);
            history.check(&found);
            let Found { version, state } = found;
            *history = History { begin: version, state, bank, ..History::default() };
        });
    }

    /// Lets all threads work until the writers have ended.
    fn live(mut self, plan: &Plan) -> Self {
        self.plan = plan.clone();
        self.done = AtomicBool::new(false);
        if let Trouble::Fault(after, fault) = plan.trouble {
            self.machine.disk.fail_after(after, fault);
        }
        let world = Arc::new(self);
        let start = |run: fn(&World, u64), who: u64| -> JoinHandle<()> {
            let world = Arc::clone(&world);
            spawn(move || run(&world, who))
        };
        let mut until = vec![start(World::change_catalog, 1)];
        until.extend((0..plan.writers).map(|who| start(World::write, 10 + who)));
        let mut others = vec![start(World::checkpoint, 2)];
        others.extend((0..plan.readers).map(|who| start(World::read, 20 + who)));
        if plan.maintenance {
            others.push(start(|world, _| world.database.run_maintenance(), 3));
        }
        if plan.soon {
            others.push(start(|world, _| world.database.run_syncing(), 4));
        }
        until.into_iter().for_each(|it| it.join().unwrap());
        world.done.store(true, Ordering::Relaxed);
        world.database.stop_maintenance();
        world.database.stop_syncing();
        others.into_iter().for_each(|it| it.join().unwrap());
        Arc::into_inner(world).unwrap()
    }

    /// Closes the database or lets the machine crash, and opens it again; everything must be
    /// explained then.
    fn end(mut self, next: &Plan) -> Self {
        let disk = self.machine.disk.clone();
        let has_hit = disk.clear_faults() == 0;
        if let Trouble::Fault(_, fault) = self.plan.trouble
            && has_hit
        {
            self.note_fault(fault);
        }
        if !self.plan.trouble.is_felt() {
            assert_eq!(self.database.failure(), None);
            let found = newest(&self.database, &self.fillers());
            self.next(found);
        }
        match self.plan.crash {
            Some(tear) => disk.crash_with(tear),
            None => self.database.close().unwrap(),
        }
        let files = disk.fork(self.seed);
        self.database = self.open_again(next);
        assert_eq!(self.database.broken_tables(), []);
        let found = newest(&self.database, &self.fillers());
        check_files(&files, &found, self.plan.crash.is_some());
        self.next(found);
        self
    }

    fn note_fault(&self, fault: Fault) {
        match fault {
            Fault::Crash => rare("the machine crashes at work"),
            Fault::Sync(_) => rare("a sync fails"),
            Fault::DiskFull => rare("the disk is full"),
            Fault::WriteError => rare("a write fails"),
            Fault::ReadError => rare("a read fails"),
            _ => rare("a read or write is cut short"),
        }
    }

    /// Opens the database; the machine may crash once more before that has ended.
    fn open_again(&self, plan: &Plan) -> Arc<Database> {
        let disk = &self.machine.disk;
        if let (Some(after), Some(tear)) = (self.plan.crash_again, self.plan.crash) {
            disk.fail_after(after, Fault::Crash);
            if self.machine.open_with(plan.options.clone()).is_err() {
                rare("the machine crashes while a database is opened");
            }
            disk.crash_with(tear);
        }
        self.machine.open_with(plan.options.clone()).unwrap()
    }

    /// Does a commit and notes it. `who` is written as a value in each.
    pub(crate) fn commit(
        &self,
        who: u64,
        mut changes: Vec<Change>,
        seen: Option<u64>,
        soon: bool,
    ) -> Result<u64, pelorus_error::Error> {
        let value = self.numbers.fetch_add(1, Ordering::Relaxed).to_be_bytes().to_vec();
        changes.push(Change::Value { key: vec![b'w', u8::try_from(who).unwrap()], value });
        let commit = self.commit_of(&mut changes, seen, soon)?;
        let result = self.database.commit(&commit);
        let mut asked = Asked { changes, seen, outcomes: None, soon };
        match result {
            Ok(receipt) => {
                asked.outcomes = Some(receipt.outcomes);
                self.history(|history| history.note(receipt.version, asked));
                Ok(receipt.version)
            }
            Err(error) => {
                if error.code() == pelorus_error::Code::TableFailed {
                    self.history(|history| history.open.push(asked));
                }
                Err(error)
            }
        }
    }
}
