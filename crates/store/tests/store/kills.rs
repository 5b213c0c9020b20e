//! A process that is killed, again and again, on a real disk (T4): by somebody else at a random
//! moment, or by itself at a random operation of the disk, before it or in the middle of a write.
//!
//! The victim is this program once more. Its two writers tell of each commit that was acknowledged
//! through a pipe, so that what must be there is known outside of the victim; commit `n` of a writer
//! is the same whenever it is made. What this does not show is a loss of power: the operating system
//! goes on, and keeps what was written.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pelorus_env::{Env, Hook, HookedDisk, RealDisk, Step, scaled};
use pelorus_store::{ByteWeigher, Commit, Database, Mode, Options, TableId, Write};

use crate::harness::{Content, newest, options, put, remove, row, schema};

/// Tells the victim what it is: its folder, and the operation of the disk at which it dies.
const FOLDER: &str = "PELORUS_VICTIM_FOLDER";
const OPERATION: &str = "PELORUS_VICTIM_OPERATION";

const TABLES: usize = 3;
const KEYS: u64 = 300;
const WRITERS: [i64; 2] = [0, 1];

/// Random numbers that repeat.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// What commit `n` of a writer does to each table: rows that it puts and keys that it removes.
/// The last table has how many commits there were.
fn changes(writer: i64, n: u64) -> Vec<(Vec<((i64, i64), crate::harness::Row)>, Vec<(i64, i64)>)> {
    let mut dice = Dice(n << 8 | writer.cast_unsigned());
    let number = n.cast_signed();
    let mut made: Vec<_> = (1..TABLES)
        .map(|_| {
            let mut keys: Vec<i64> =
                (0..1 + dice.below(60)).map(|_| dice.below(KEYS).cast_signed()).collect();
            keys.sort_unstable();
            keys.dedup();
            let gone = keys.split_off(keys.len() - keys.len() / 5);
            let rows = keys.into_iter().map(|k| ((writer, k), row(number + k))).collect();
            (rows, gone.into_iter().map(|k| (writer, k)).collect())
        })
        .collect();
    made.push((vec![((writer, 0), row(number))], Vec::new()));
    made
}

fn writes(tables: &[TableId], writer: i64, n: u64) -> Vec<Write> {
    let mut made = Vec::new();
    for (&table, (rows, gone)) in tables.iter().zip(changes(writer, n)) {
        if !rows.is_empty() {
            made.push(put(table, &rows, Mode::Replace));
        }
        if !gone.is_empty() {
            made.push(remove(table, &gone));
        }
    }
    made
}

/// What the tables hold after the commits so far.
fn expect(contents: &mut [Content], writer: i64, n: u64) {
    for (content, (rows, gone)) in contents.iter_mut().zip(changes(writer, n)) {
        content.extend(rows);
        gone.iter().for_each(|key| drop(content.remove(key)));
    }
}

/// How many commits of a writer are there.
fn commits(counts: &Content, writer: i64) -> u64 {
    counts.get(&(writer, 0)).map_or(0, |(n, _)| n.cast_unsigned())
}

fn limits() -> Options {
    Options { flush_rows: 200, checkpoint_micros: 3_000, ..options() }
}

fn open(env: Env, folder: &Path) -> Arc<Database> {
    Database::open(env, folder, limits(), Arc::new(ByteWeigher)).unwrap()
}

fn tables(database: &Database) -> Vec<TableId> {
    let mut ids: Vec<TableId> = database.tables().iter().map(|it| it.id()).collect();
    ids.sort_unstable();
    ids.truncate(TABLES);
    ids
}

/// Counts down operations of the disk that change something, and ends the process at the last.
#[derive(Debug)]
struct Fuse(AtomicU64);

impl Fuse {
    /// Whether it is this operation.
    fn burns(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

impl Hook for Fuse {
    fn before(&self, step: Step<'_>, _: &Path) -> io::Result<()> {
        if !matches!(step, Step::Read) && self.burns() {
            if let Step::Write(file, bytes, offset) = step {
                // Half of it is there.
                let _ = file.write_at(&bytes[..bytes.len() / 2], offset);
            }
            std::process::abort();
        }
        Ok(())
    }
}

/// The process that is killed; without its folder this is no test of its own.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut env = Env::real();
    if let Ok(text) = std::env::var(OPERATION) {
        let fuse = Fuse(AtomicU64::new(text.parse().unwrap()));
        env.disk = Arc::new(HookedDisk::new(Arc::new(RealDisk), fuse));
    }
    let database = open(env, &folder);
    let tables = tables(&database);
    let counts = newest(&database, tables[TABLES - 1]);
    thread::scope(|scope| {
        scope.spawn(|| database.run_maintenance());
        for writer in WRITERS {
            let (database, tables) = (&database, &tables);
            let begun = commits(&counts, writer) + 1;
            scope.spawn(move || {
                for n in begun.. {
                    let writes = writes(tables, writer, n);
                    database.commit(&Commit { writes, ..Commit::default() }).unwrap();
                    // Of no account to whoever captures what tests print.
                    writeln!(io::stdout(), "\nacknowledged {writer} {n}").unwrap();
                    if writer == 1 && n % 40 == 0 {
                        come_and_go(database, n);
                    }
                }
            });
        }
    });
}

/// A further table is made, written to and dropped.
fn come_and_go(database: &Database, n: u64) {
    let id = database.create_table(schema(), b"scratch").unwrap();
    let writes = vec![put(id, &[((1, 1), row(n.cast_signed()))], Mode::Insert)];
    database.commit(&Commit { writes, ..Commit::default() }).unwrap();
    database.drop_table(id).unwrap();
}

fn start(folder: &Path, operation: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::victim", "--nocapture"]).env(FOLDER, folder);
    if let Some(operation) = operation {
        command.env(OPERATION, operation.to_string());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Lets a victim work until it is dead; how many commits of each writer were acknowledged at most,
/// or 0.
fn die(folder: &Path, dice: &mut Dice) -> [u64; 2] {
    let itself = dice.below(2) == 0;
    // The first ones are those of opening.
    let most = if dice.below(3) == 0 { 20 } else { 700 };
    let operation = itself.then(|| 1 + dice.below(most));
    let mut victim = start(folder, operation);
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let (enough, pause) = (dice.below(120), Duration::from_micros(dice.below(4000)));
    let (mut acknowledged, mut seen) = ([0; 2], 0);
    for line in lines {
        let line = line.unwrap();
        let Some(text) = line.strip_prefix("acknowledged ") else { continue };
        let Some((writer, n)) = text.split_once(' ') else { continue };
        acknowledged[writer.parse::<usize>().unwrap()] = n.parse().unwrap();
        seen += 1;
        if !itself && seen == enough + 1 {
            thread::sleep(pause);
            victim.kill().unwrap();
        }
    }
    let status = victim.wait().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    let mut said = String::new();
    victim.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    // A victim that panics does not die of it: its other threads go on.
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(signal, Some(if itself { 6 } else { 9 }), "{status}: {said}");
    acknowledged
}

#[test]
fn what_was_acknowledged_survives_kills() {
    let folder = std::env::temp_dir().join(format!("pelorus-kills-{}", std::process::id()));
    let database = open(Env::real(), &folder);
    for _ in 0..TABLES {
        database.create_table(schema(), b"").unwrap();
    }
    database.close().unwrap();
    drop(database);
    let (mut contents, mut done) = (vec![Content::new(); TABLES], [0_u64; 2]);
    let mut dice = Dice(7);
    let (mut between, kills) = (0, scaled(200));
    for kill in 0..kills {
        let acknowledged = die(&folder, &mut dice);
        if kill % 8 == 0 {
            let report = pelorus_fsck::check(&RealDisk, &folder);
            assert!(report.is_sound(), "kill {kill}: {report:?}");
        }
        let database = open(Env::real(), &folder);
        let tables = tables(&database);
        let counts = newest(&database, tables[TABLES - 1]);
        for (writer, done) in WRITERS.into_iter().zip(&mut done) {
            let there = commits(&counts, writer);
            let least = acknowledged[usize::try_from(writer).unwrap()].max(*done);
            assert!((least..=least + 1).contains(&there), "kill {kill}: {there}, not {least}");
            between += u32::from(there > least);
            (*done + 1..=there).for_each(|n| expect(&mut contents, writer, n));
            *done = there;
        }
        for (table, content) in tables.iter().zip(&contents) {
            assert!(newest(&database, *table) == *content, "kill {kill}: {table:?}");
        }
    }
    println!("{kills} kills, {between} commits between their sync and their word, {done:?} in all");
    assert!(between > 0, "no kill met a commit that was not acknowledged yet");
    std::fs::remove_dir_all(folder).unwrap();
}
