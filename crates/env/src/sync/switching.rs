//! Helpers for tests under loom and shuttle: a disk at every operation of which another thread may
//! run, and threads with enough stack for it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use super::checker::thread::JoinHandle;

use super::AtomicU64;
use crate::{Disk, Hook, HookedDisk, Step};

/// Words of stack of each thread: headers of files are arrays there.
#[cfg(feature = "loom")]
const STACK_WORDS: usize = 1 << 16;

/// Bytes of stack of each thread: whole commits and merges run there.
#[cfg(not(feature = "loom"))]
const STACK_BYTES: usize = 1 << 20;

/// Runs a scene in every order in which its threads can go on, with at most so many switches away
/// from a thread that could have gone on itself. Returns the number of orders.
#[cfg(feature = "loom")]
pub fn model(preemptions: usize, scene: impl Fn() + Sync + Send + 'static) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    let (scene, count) = (Arc::new(scene), Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let counted = Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let scene = Arc::clone(&scene);
        if spawn(move || scene()).join().is_err() {
            unreachable!("a panic of a thread ends the test at once");
        }
    });
    count.load(Ordering::Relaxed)
}

/// Starts a thread inside of a scene.
#[cfg(feature = "loom")]
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match loom::thread::Builder::new().stack_size(STACK_WORDS).spawn(run) {
        Ok(thread) => thread,
        Err(error) => unreachable!("loom starts threads without the operating system: {error}"),
    }
}

/// Starts a thread inside of a scene.
#[cfg(not(feature = "loom"))]
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    shuttle::thread::spawn(run)
}

/// Runs a scene so many times; at each of its moments the seed decides which thread goes on. A panic
/// of a thread comes out of this.
#[cfg(not(feature = "loom"))]
pub fn simulate(seed: u64, times: usize, scene: impl Fn() + Sync + Send + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    config.silence_warnings = true;
    shuttle::Runner::new(super::seeded::Seeded::new(seed, times), config).run(scene);
}

/// A number below a bound, which is not 0, as the seed of the simulation has it.
#[cfg(not(feature = "loom"))]
pub fn below(bound: u64) -> u64 {
    use shuttle::rand::Rng as _;
    shuttle::rand::thread_rng().gen_range(0..bound)
}

/// All threads change a number, so that the order of their operations matters.
#[derive(Debug)]
struct Switch(AtomicU64);

impl Hook for Switch {
    fn before(&self, step: Step<'_>, _: &Path) -> io::Result<()> {
        if let Step::Read | Step::Write(..) | Step::Sync | Step::Allocate = step {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// A disk whose operations are points at which another thread may go on. To be called inside of a
/// scene.
pub fn switching_disk(inner: Arc<dyn Disk>) -> HookedDisk {
    HookedDisk::new(inner, Switch(AtomicU64::new(0)))
}
