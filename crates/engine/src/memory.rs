//! How much memory native tables may take: what the configuration says, or shares of what the
//! machine has.

use std::path::Path;

use pelorus_env::Env;
use pelorus_store::Options;

use crate::variables::Globals;

/// Bytes for each kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budgets {
    /// Columns that were read.
    pub(crate) cache: u64,
    /// Rows that are not in chunks yet.
    pub(crate) delta: u64,
    /// Key indexes.
    pub(crate) index: u64,
}

impl Budgets {
    /// What is taken if nobody says: it leaves the queries and the operating system about half.
    pub(crate) fn of_machine(env: &Env) -> Self {
        const SMALLEST: u64 = 64 << 20;
        // Where the memory cannot be told, as much as of a machine with this.
        let memory = memory_of_machine(env).unwrap_or(16 << 30);
        Self {
            cache: (memory / 4).clamp(SMALLEST, 16 << 30),
            // More would make the next start, which reads the log again, slower.
            delta: (memory / 16).clamp(SMALLEST, 1 << 30),
            index: (memory / 4).clamp(SMALLEST, 16 << 30),
        }
    }
}

/// How the store is opened.
pub(crate) fn options(globals: &Globals) -> Options {
    let bytes = |name| usize::try_from(globals.get(name).count()).unwrap_or(usize::MAX);
    Options {
        cache_bytes: bytes("pelorus_block_cache"),
        delta_bytes: bytes("pelorus_delta_memory"),
        index_bytes: bytes("pelorus_index_memory"),
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
        let env = Env::in_memory(1);
        for (path, text) in files {
            env.files.replace(Path::new(path), text.as_bytes()).unwrap();
        }
        Budgets::of_machine(&env)
    }

    #[test]
    fn budgets_are_shares_of_the_memory() {
        let machine = ("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree:  1 kB\n");
        let expected = Budgets { cache: 2 << 30, delta: 512 << 20, index: 2 << 30 };
        assert_eq!(budgets(&[machine]), expected);
        let unlimited = ("/sys/fs/cgroup/memory.max", "max\n");
        assert_eq!(budgets(&[machine, unlimited]), expected);
        let limited = ("/sys/fs/cgroup/memory.max", "1073741824\n");
        let expected = Budgets { cache: 256 << 20, delta: 64 << 20, index: 256 << 20 };
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
        assert_eq!(large, Budgets { cache: 16 << 30, delta: 1 << 30, index: 16 << 30 });
        let small = budgets(&[("/proc/meminfo", "MemTotal: 1024 kB\n")]);
        assert_eq!(small, Budgets { cache: 64 << 20, delta: 64 << 20, index: 64 << 20 });
    }

    #[test]
    fn the_configuration_sets_budgets_and_a_session_does_not() {
        let text = |text: &str| text.to_owned();
        let configured = [(text("pelorus_block_cache"), text("2097152"))];
        let globals = Globals::new(Vec::new(), &configured).unwrap();
        assert_eq!(options(&globals).cache_bytes, 2 << 20);
        let variable = crate::variables::find("pelorus_block_cache").unwrap();
        let error = globals.set(variable, &crate::variables::VarValue::UInt(4 << 20)).unwrap_err();
        assert_eq!(error.errno(), 1238);
    }
}
