//! Shared parts of measurements: a clock, a temporary folder, an open store, memory and disk usage.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::Context as _;
use pelorus_env::Env;
use pelorus_store::{ByteWeigher, Database, Options, Table};

use crate::setting;

/// Measures time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch(Instant);

impl Watch {
    /// From now on.
    #[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since the start.
    pub(crate) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A folder for a measurement, which is removed with everything in it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty folder next to the results.
    pub(crate) fn new(name: &str) -> anyhow::Result<Self> {
        let path = setting::figures()?.join(format!("{name}.{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create {path:?}"))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Bytes that its files take on the disk; `of` picks them by their names.
    pub(crate) fn bytes(&self, of: impl Fn(&str) -> bool) -> anyhow::Result<u64> {
        let mut bytes = 0;
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else if of(&entry.file_name().to_string_lossy()) {
                    bytes += entry.metadata()?.blocks() * 512;
                }
            }
        }
        Ok(bytes)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// An open database with its maintenance.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) database: Arc<Database>,
    maintenance: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens or makes the database of a folder.
    pub(crate) fn open(folder: &Folder, options: Options) -> anyhow::Result<Self> {
        let database = Database::open(Env::real(), folder.path(), options, Arc::new(ByteWeigher))?;
        let worker = Arc::clone(&database);
        let maintenance = Some(std::thread::spawn(move || worker.run_maintenance()));
        Ok(Self { database, maintenance })
    }

    /// Runs all due flushes and merges, and writes checkpoints until nothing is left to do and the
    /// unreferenced blocks are free: the file's older header refers to the checkpoint before the
    /// last.
    pub(crate) fn settle(&self) -> anyhow::Result<()> {
        let state = || {
            let of = |table: &Arc<Table>| (table.file_usage(), table.parts_usage());
            self.database.tables().iter().map(of).collect::<Vec<_>>()
        };
        let (mut before, mut same) = (Vec::new(), 0);
        while same < 8 {
            // The thread that maintains the database may be at work as well.
            std::thread::sleep(std::time::Duration::from_millis(250));
            while self.database.maintain()? {}
            self.database.checkpoint()?;
            let now = state();
            same = if now == before { same + 1 } else { 0 };
            before = now;
        }
        Ok(())
    }

    /// Closes it; everything is in its files then.
    pub(crate) fn close(mut self) -> anyhow::Result<()> {
        self.database.close()?;
        if let Some(thread) = self.maintenance.take() {
            thread.join().map_err(|_| anyhow::anyhow!("maintenance has panicked"))?;
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.maintenance.is_some() {
            self.database.stop_maintenance();
        }
    }
}

/// The resources that this process, and others of the machine, have used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort {
    /// Seconds of all cores that this process computed.
    cpu: f64,
    /// The same of whatever else ran, and what the machine's owner gave to others.
    others: f64,
    /// MiB that it wrote to the disk.
    written: f64,
}

impl Effort {
    /// The current values; 0 if the system does not report one.
    pub(crate) fn so_far() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        // Both count in hundredths of a second. The name of the process, in brackets, may hold
        // spaces.
        let ticks = |text: &str, at: &[usize]| -> f64 {
            let words: Vec<f64> =
                text.split_whitespace().map(|word| word.parse().unwrap_or(0.0)).collect();
            at.iter().filter_map(|at| words.get(*at)).sum::<f64>() / 100.0
        };
        let own = read("/proc/self/stat");
        let cpu = ticks(own.rsplit(')').next().unwrap_or_default(), &[11, 12]);
        let machine = read("/proc/stat");
        // User, nice, system, interrupts of both kinds, stolen.
        let all = ticks(machine.lines().next().unwrap_or_default(), &[1, 2, 3, 6, 7, 8]);
        let written = read("/proc/self/io");
        let written = written.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        let written = written.and_then(|bytes| bytes.parse::<f64>().ok()).unwrap_or(0.0);
        Self { cpu, others: all - cpu, written: written / f64::from(1 << 20) }
    }

    /// Cores that this process used since an earlier moment, cores that others used, and MiB a
    /// second that it wrote.
    pub(crate) fn rates_since(self, earlier: Self, seconds: f64) -> [f64; 3] {
        [self.cpu - earlier.cpu, self.others - earlier.others, self.written - earlier.written]
            .map(|it| it / seconds.max(f64::EPSILON))
    }
}

/// The most memory that this process ever held, in MiB.
pub(crate) fn peak_memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// Mixes a number; the same in every run.
pub(crate) fn mix(value: u64) -> u64 {
    let mut word = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word ^ (word >> 32)
}

/// Random numbers that are the same in every run.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// A number below a bound, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(mix(self.0)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_repeat_and_spread() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for number in 0..10 {
            let count = draw(1).iter().filter(|it| **it == number).count();
            assert!((60..140).contains(&count), "{number} came {count} times");
        }
    }

    #[test]
    fn this_process_has_memory() {
        assert!(peak_memory_mib().unwrap() > 1.0);
    }
}
