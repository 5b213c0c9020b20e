//! The memory of the server: one account with sub-accounts for native tables, sessions and
//! statements. The limit is configured, or a share of the machine's memory.
//!
//! The caches and deltas of native tables have budgets of their own and are never refused memory,
//! so their budgets are set aside first. Sessions and statements share the rest; beyond it they get
//! error 1041.

use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use pelorus_env::{Account, Env, give_back_pages, resident, space_of};
use pelorus_store::Options;

use crate::variables::Globals;

/// The variable that limits everything.
pub(crate) const LIMIT: &str = "pelorus_memory_limit";

/// The budgets of native tables.
const NATIVE: [&str; 3] = ["pelorus_block_cache", "pelorus_delta_memory", "pelorus_index_memory"];

/// Bytes for each kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budgets {
    /// Everything that is counted.
    pub(crate) limit: u64,
    /// Columns that were read.
    pub(crate) cache: u64,
    /// Rows that are not in chunks yet.
    pub(crate) delta: u64,
    /// Key indexes.
    pub(crate) index: u64,
}

impl Budgets {
    /// The defaults for the whole machine or for a limit. An eighth is left to the operating
    /// system, the stacks of threads and uncounted memory, and five sixteenths to queries.
    pub(crate) fn of_machine(env: &Env, limit: Option<u64>) -> Self {
        const SMALLEST: u64 = 64 << 20;
        // If the memory of the machine is unknown, this is assumed.
        let machine = memory_of_machine(env).unwrap_or(16 << 30);
        let memory = limit.map_or(machine, |limit| (limit / 7).saturating_mul(8).min(machine));
        let least = SMALLEST.min(memory / 8);
        Self {
            limit: limit.unwrap_or(memory / 8 * 7),
            cache: (memory / 4).clamp(least, 16 << 30),
            // More would make the next start, which reads the log again, slower.
            delta: (memory / 16).clamp(least, 1 << 30),
            index: (memory / 4).clamp(least, 16 << 30),
        }
    }
}

/// Bytes of files that queries spill to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpillBudgets {
    /// All of them together.
    pub(crate) limit: u64,
    /// The bytes that they leave free.
    pub(crate) reserve: u64,
}

impl SpillBudgets {
    /// The defaults: shares of the file system that a folder is on.
    pub(crate) fn of_folder(folder: &Path) -> Self {
        match space_of(folder) {
            Ok(space) => Self { limit: space.total / 2, reserve: (space.total / 20).min(4 << 30) },
            Err(_) => Self { limit: u64::MAX, reserve: 0 },
        }
    }
}

/// The accounts of one server.
#[derive(Debug)]
pub(crate) struct Memory {
    server: Account,
    native: Account,
    statements: Account,
    sessions: Account,
    mirrors: Account,
}

impl Memory {
    /// The accounts, with the limits that are in force.
    pub(crate) fn new(globals: &Globals) -> Self {
        let bytes = |name| usize::try_from(globals.get(name).count()).unwrap_or(usize::MAX);
        let limit = bytes(LIMIT);
        let native = NATIVE.iter().fold(0_usize, |sum, name| sum.saturating_add(bytes(name)));
        let least = limit / 8;
        let left = limit.saturating_sub(native).max(least);
        if left == least {
            tracing::warn!(
                limit,
                native,
                left,
                "the budgets of native tables leave sessions and statements little of {LIMIT}"
            );
        }
        let server = Account::new(LIMIT, usize::MAX);
        let native = server.part("native tables", usize::MAX);
        let work = server.part(LIMIT, left);
        let (statements, sessions) =
            (work.part("statements", usize::MAX), work.part("sessions", usize::MAX));
        let mirrors = work.part("mirrors", usize::MAX);
        Self { server, native, statements, sessions, mirrors }
    }

    /// The memory of all running statements.
    pub(crate) fn statements(&self) -> &Account {
        &self.statements
    }

    /// The memory that all sessions hold between statements.
    pub(crate) fn sessions(&self) -> &Account {
        &self.sessions
    }

    /// Rows on their way from servers to mirrors.
    pub(crate) fn mirrors(&self) -> &Account {
        &self.mirrors
    }

    /// Names of `SHOW STATUS` with bytes.
    pub(crate) fn status(&self) -> [(&'static str, u64); 6] {
        [
            ("Pelorus_memory_mirrors", self.mirrors.held() as u64),
            ("Pelorus_memory_native", self.native.held() as u64),
            ("Pelorus_memory_peak", self.server.most() as u64),
            ("Pelorus_memory_sessions", self.sessions.held() as u64),
            ("Pelorus_memory_statements", self.statements.held() as u64),
            ("Pelorus_memory_used", self.server.held() as u64),
        ]
    }
}

/// Returns freed pages to the system if the process exceeds its limit: the allocator keeps them for
/// seconds, separately for each thread.
pub(crate) async fn keep_within(globals: Weak<Globals>) {
    const EACH: Duration = Duration::from_millis(50);
    loop {
        tokio::time::sleep(EACH).await;
        let Some(globals) = globals.upgrade() else { return };
        let limit = globals.get(LIMIT).count();
        drop(globals);
        if resident().is_some_and(|bytes| bytes > limit) {
            pelorus_env::blocking(give_back_pages);
        }
    }
}

/// How the store is opened.
pub(crate) fn options(globals: &Globals, memory: &Memory) -> Options {
    let bytes = |name| usize::try_from(globals.get(name).count()).unwrap_or(usize::MAX);
    Options {
        cache_bytes: bytes("pelorus_block_cache"),
        delta_bytes: bytes("pelorus_delta_memory"),
        index_bytes: bytes("pelorus_index_memory"),
        memory: memory.native.clone(),
        ..Options::default()
    }
}

/// Bytes of memory that the machine has, or that the container may use in which this runs.
fn memory_of_machine(env: &Env) -> Option<u64> {
    let read = |path: &str| {
        let bytes = env.files.read(Path::new(path)).ok().flatten()?;
        String::from_utf8(bytes).ok()
    };
    let total = total_of(&read("/proc/meminfo")?)?;
    // The word `max` there means no limit.
    let limit = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    Some(limit.map_or(total, |limit| limit.min(total)))
}

/// The first line of interest of `/proc/meminfo`: `MemTotal:       16311356 kB`.
fn total_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budgets(files: &[(&str, &str)]) -> Budgets {
        limited(files, None)
    }

    fn limited(files: &[(&str, &str)], limit: Option<u64>) -> Budgets {
        let env = Env::in_memory(1);
        for (path, text) in files {
            env.files.replace(Path::new(path), text.as_bytes()).unwrap();
        }
        Budgets::of_machine(&env, limit)
    }

    #[test]
    fn budgets_are_shares_of_the_memory() {
        let machine = ("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree:  1 kB\n");
        let expected = Budgets { limit: 7 << 30, cache: 2 << 30, delta: 512 << 20, index: 2 << 30 };
        assert_eq!(budgets(&[machine]), expected);
        let unlimited = ("/sys/fs/cgroup/memory.max", "max\n");
        assert_eq!(budgets(&[machine, unlimited]), expected);
        let limited = ("/sys/fs/cgroup/memory.max", "1073741824\n");
        let expected =
            Budgets { limit: 896 << 20, cache: 256 << 20, delta: 64 << 20, index: 256 << 20 };
        assert_eq!(budgets(&[machine, limited]), expected);
    }

    #[test]
    fn budgets_have_bounds() {
        let usual = Options::default();
        let unknown = budgets(&[]);
        assert_eq!(unknown.cache, usual.cache_bytes as u64);
        assert_eq!(unknown.delta, usual.delta_bytes as u64);
        assert_eq!(unknown.index, usual.index_bytes as u64);
        let large = budgets(&[("/proc/meminfo", "MemTotal: 1073741824 kB\n")]);
        assert_eq!((large.cache, large.delta, large.index), (16 << 30, 1 << 30, 16 << 30));
        let small = budgets(&[("/proc/meminfo", "MemTotal: 262144 kB\n")]);
        assert_eq!((small.cache, small.delta, small.index), (64 << 20, 32 << 20, 64 << 20));
    }

    #[test]
    fn budgets_are_shares_of_a_limit() {
        let machine = ("/proc/meminfo", "MemTotal:        8388608 kB\n");
        let expected =
            Budgets { limit: 448 << 20, cache: 128 << 20, delta: 64 << 20, index: 128 << 20 };
        assert_eq!(limited(&[machine], Some(448 << 20)), expected);
        // More than there is.
        assert_eq!(limited(&[machine], Some(1 << 40)).cache, 2 << 30);
    }

    #[test]
    fn sessions_and_statements_share_what_native_tables_leave() {
        let set = |name: &str, bytes: u64| (name.to_owned(), bytes.to_string());
        let configured = [
            set(LIMIT, 100 << 20),
            set("pelorus_block_cache", 30 << 20),
            set("pelorus_delta_memory", 10 << 20),
            set("pelorus_index_memory", 10 << 20),
        ];
        let globals = Globals::new(Vec::new(), &configured).unwrap();
        let memory = Memory::new(&globals);
        let statement = memory.statements().reserve(40 << 20).unwrap();
        let refused = memory.sessions().reserve(11 << 20).unwrap_err();
        assert_eq!((refused.name, refused.limit), (LIMIT, 50 << 20));
        // Native tables are never refused anything.
        options(&globals, &memory).memory.grow(90 << 20);
        drop(statement);
        drop(memory.sessions().reserve(50 << 20).unwrap());
        let status: Vec<u64> = memory.status().into_iter().map(|it| it.1 >> 20).collect();
        assert_eq!(status, [0, 90, 140, 0, 0, 90]);
    }

    #[test]
    fn the_configuration_sets_budgets_and_a_session_does_not() {
        let text = |text: &str| text.to_owned();
        let configured = [(text("pelorus_block_cache"), text("2097152"))];
        let globals = Globals::new(Vec::new(), &configured).unwrap();
        assert_eq!(options(&globals, &Memory::new(&globals)).cache_bytes, 2 << 20);
        let variable = crate::variables::find("pelorus_block_cache").unwrap();
        let error = globals.set(variable, &crate::variables::VarValue::UInt(4 << 20)).unwrap_err();
        assert_eq!(error.errno(), 1238);
    }
}
