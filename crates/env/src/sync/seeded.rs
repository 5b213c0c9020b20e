//! A seeded scheduler for shuttle: the seed decides which thread runs.
//!
//! Bugs need different schedules: two threads in lockstep, or one that runs long while another does
//! not run. So the seed also decides how long a thread runs at a time, and how much less often than
//! others some threads run.

use std::collections::BTreeMap;

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// How many moments a thread goes on at a time, on average.
const RUNS: [u64; 6] = [1, 2, 5, 15, 60, 250];

/// Of a hundred threads, so many are slow in half of the runs.
const SLOW: u64 = 30;

/// A slow thread gets one turn where others get so many.
const SLOWER: u64 = 12;

/// Decides by a seed.
#[derive(Debug)]
pub(super) struct Seeded {
    random: u64,
    times: usize,
    run: u64,
    some_are_slow: bool,
    /// How many turns each thread gets in relation to others.
    turns: BTreeMap<TaskId, u64>,
}

impl Seeded {
    /// Decides so many executions, one after another.
    pub(super) fn new(seed: u64, times: usize) -> Self {
        Self { random: seed, times, run: 1, some_are_slow: false, turns: BTreeMap::new() }
    }

    /// The next number (splitmix64).
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn turns_of(&mut self, task: TaskId) -> u64 {
        if let Some(turns) = self.turns.get(&task) {
            return *turns;
        }
        let is_slow = self.some_are_slow && self.next() % 100 < SLOW;
        let turns = if is_slow { 1 } else { SLOWER };
        self.turns.insert(task, turns);
        turns
    }
}

impl Scheduler for Seeded {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.times = self.times.checked_sub(1)?;
        let seed = self.next();
        self.run = RUNS[(seed % RUNS.len() as u64) as usize];
        self.some_are_slow = seed >> 63 == 1;
        self.turns.clear();
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let goes_on = current.filter(|it| runnable.iter().any(|task| task.id() == *it));
        if let Some(current) = goes_on.filter(|_| !is_yielding)
            && self.next() % self.run != 0
        {
            return Some(current);
        }
        let turns: Vec<u64> = runnable.iter().map(|task| self.turns_of(task.id())).collect();
        let mut turn = self.next() % turns.iter().sum::<u64>().max(1);
        for (task, turns) in runnable.iter().zip(turns) {
            match turn.checked_sub(turns) {
                Some(rest) => turn = rest,
                None => return Some(task.id()),
            }
        }
        runnable.first().map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.next()
    }
}
