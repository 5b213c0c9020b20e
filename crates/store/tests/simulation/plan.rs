//! What one seed does: how small everything is, how much is done by whom, and what goes wrong.

use pelorus_env::{Fault, SyncFailure, Tear};
use pelorus_store::Options;

/// Numbers that a seed decides (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, who: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ who);
        dice.below(2);
        dice
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % bound
    }

    /// Whether a thing happens that happens once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    pub(crate) fn number(&mut self, bound: i64) -> i64 {
        i64::try_from(self.below(bound.unsigned_abs())).unwrap()
    }
}

/// What goes wrong while threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// The disk fails once, after so many operations.
    Fault(u64, Fault),
}

impl Trouble {
    /// Whether somebody may be told of it.
    pub(crate) fn is_felt(self) -> bool {
        let unfelt =
            [Fault::ShortRead, Fault::ShortWrite, Fault::InterruptedRead, Fault::InterruptedWrite];
        match self {
            Self::None => false,
            Self::Fault(_, fault) => !unfelt.contains(&fault),
        }
    }
}

/// What a world does between opening and closing a database, or its crash.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) options: Options,
    /// Keys of a partition are below this.
    pub(crate) keys: i64,
    pub(crate) writers: u64,
    /// Commits of each writer.
    pub(crate) commits: u64,
    pub(crate) readers: u64,
    /// How often each reader reads at most.
    pub(crate) reads: u64,
    /// A thread flushes and merges; else writers do, and a thread that calls for it.
    pub(crate) maintenance: bool,
    /// How often a thread makes checkpoints, flushes and merges at most.
    pub(crate) checkpoints: u64,
    /// Changes of the catalog.
    pub(crate) changes: u64,
    /// Some commits are acknowledged before they are durable.
    pub(crate) soon: bool,
    pub(crate) trouble: Trouble,
    /// What survives the crash at the end; without one, the database is closed.
    pub(crate) crash: Option<Tear>,
    /// The crash is followed by another one, so many operations later.
    pub(crate) crash_again: Option<u64>,
}

impl Plan {
    /// A plan with a bit of everything.
    pub(crate) fn large(dice: &mut Dice) -> Self {
        let trouble = trouble(dice, 1100);
        let must_crash = trouble.is_felt();
        Self {
            options: options(dice),
            keys: dice.pick(&[6, 24, 60, 200]),
            writers: 2,
            commits: 6 + dice.below(14),
            readers: 2,
            reads: 10,
            maintenance: !dice.once_in(4),
            checkpoints: dice.pick(&[2, 6, 12]),
            changes: dice.pick(&[0, 3, 8]),
            soon: dice.once_in(3),
            trouble,
            crash: (must_crash || dice.once_in(2)).then(|| tear(dice)),
            crash_again: dice.once_in(3).then(|| dice.below(40)),
        }
    }

    /// One commit of each of two writers, and one of everything else.
    pub(crate) fn small(dice: &mut Dice) -> Self {
        let trouble = if dice.once_in(8) { trouble(dice, 60) } else { Trouble::None };
        let must_crash = trouble.is_felt();
        Self {
            options: options(dice),
            keys: 3,
            writers: 2,
            commits: 1 + dice.below(2),
            readers: 1,
            reads: 1,
            maintenance: false,
            checkpoints: 1 + dice.below(2),
            changes: dice.below(2),
            soon: false,
            trouble,
            crash: (must_crash || dice.once_in(4)).then(|| tear(dice)),
            crash_again: None,
        }
    }
}

fn tear(dice: &mut Dice) -> Tear {
    dice.pick(&[Tear::Nothing, Tear::Everything, Tear::Random, Tear::Random, Tear::Torn])
}

fn trouble(dice: &mut Dice, operations: u64) -> Trouble {
    let faults = [
        Fault::WriteError,
        Fault::DiskFull,
        Fault::ReadError,
        Fault::ShortRead,
        Fault::ShortWrite,
        Fault::InterruptedRead,
        Fault::InterruptedWrite,
    ];
    let after = dice.below(operations);
    match dice.below(10) {
        0..4 => Trouble::None,
        4..7 => Trouble::Fault(after, Fault::Crash),
        7 => Trouble::Fault(after, Fault::Sync(dice.pick(&SyncFailure::ALL))),
        _ => Trouble::Fault(after, dice.pick(&faults)),
    }
}

/// Limits of which each is now and then very low.
fn options(dice: &mut Dice) -> Options {
    let log = pelorus_log::Options {
        segment_bytes: dice.pick(&[4 << 10, 16 << 10, 64 << 10]),
        reserve_bytes: dice.pick(&[0, 4 << 10, 8 << 10]),
        buffer_bytes: dice.pick(&[512, 4 << 10, 1 << 20]),
        spare_segments: dice.pick(&[0, 1, 4]),
    };
    Options {
        delta_bytes: dice.pick(&[1 << 10, 4 << 10, 64 << 10]),
        cache_bytes: dice.pick(&[0, 32 << 10, 1 << 20]),
        index_bytes: dice.pick(&[0, 2 << 10, 1 << 20]),
        index_idle_micros: 0,
        history_marks: 32 << 20,
        flush_rows: dice.pick(&[1, 8, 30, 200]),
        checkpoint_log_bytes: dice.pick(&[1, 4 << 10, 64 << 10]),
        checkpoint_micros: dice.pick(&[1000, u64::MAX]),
        sync_micros: 1000,
        log,
    }
}
