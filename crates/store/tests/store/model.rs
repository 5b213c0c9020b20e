//! Random operations on the store and on a map of every version, side by side (T3, T14, T15).
//!
//! The world has two tables that one commit can change together, schemas that change, values of
//! the engine, partitions that come and go, snapshots that are held, a clock, and crashes. After
//! every step all that can be read is compared: by scans, by keys, with rows hidden, at the newest
//! version, at every version that is held, and as of moments of the clock.

mod check;
mod world;

use pelorus_store::Mode;
use proptest::prelude::*;

use world::World;

/// Keys of a partition are below this.
const KEYS: i64 = 120;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Mode, i64, Vec<i64>),
    Remove(usize, i64, Vec<i64>),
    /// Rows of two partitions of one table, keys of one that go, rows of the other table, and a
    /// value, together.
    Together(Vec<i64>, Vec<i64>, u8),
    /// The last rows once more: replaced by themselves, or left out.
    Again(Mode),
    Value(u8, bool),
    Maintain,
    Checkpoint,
    Hold,
    Release,
    Pass(u64),
    DropPartition(usize, i64),
    Truncate(usize),
    AddColumn(usize, Option<i64>),
    DropColumn(usize),
    TurnColumns(usize),
    Reopen(usize),
    Crash(usize),
    Conflict(usize, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::vec(0..KEYS, 1..25);
    let mode = || prop_oneof![Just(Mode::Insert), Just(Mode::Ignore), Just(Mode::Replace)];
    let table = || 0_usize..2;
    let p = || 0_i64..3;
    prop_oneof![
        12 => (table(), mode(), p(), keys()).prop_map(|(t, m, p, keys)| Step::Put(t, m, p, keys)),
        5 => (table(), p(), keys()).prop_map(|(table, p, keys)| Step::Remove(table, p, keys)),
        3 => (keys(), keys(), 0_u8..4).prop_map(|(a, b, value)| Step::Together(a, b, value)),
        2 => mode().prop_map(Step::Again),
        1 => (0_u8..4, any::<bool>()).prop_map(|(key, is_there)| Step::Value(key, is_there)),
        4 => Just(Step::Maintain),
        2 => Just(Step::Checkpoint),
        2 => Just(Step::Hold),
        1 => Just(Step::Release),
        2 => (0_u64..2000).prop_map(Step::Pass),
        1 => (table(), p()).prop_map(|(table, p)| Step::DropPartition(table, p)),
        1 => table().prop_map(Step::Truncate),
        1 => (table(), prop::option::of(0_i64..9)).prop_map(|(t, it)| Step::AddColumn(t, it)),
        1 => table().prop_map(Step::DropColumn),
        1 => table().prop_map(Step::TurnColumns),
        1 => (0_usize..5).prop_map(Step::Reopen),
        2 => (0_usize..5).prop_map(Step::Crash),
        2 => (table(), p()).prop_map(|(table, p)| Step::Conflict(table, p)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(1200)))]

    #[test]
    fn the_store_is_a_versioned_map(
        seed: u64,
        options in 0_usize..5,
        steps in prop::collection::vec(step(), 1..50),
    ) {
        let mut world = World::new(seed, options);
        for step in steps {
            world.step(step);
            world.check();
        }
        world.check_history();
    }
}
