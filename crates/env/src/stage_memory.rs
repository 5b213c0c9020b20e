//! The memory of the stages of a statement that build trees: reading, binding and planning.
//!
//! Nobody can say beforehand how large the trees of a text become, and what builds them asks no
//! account. So the allocator is asked how much this thread has taken since the stage began. A stage
//! calls [`check_stage_memory`] now and then, and ends with an error when the account has no more.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::memory::thread_balance;
use crate::{Account, Refused, Reservation};

/// Growth below which the account is not asked again.
const STEP: usize = 256 << 10;

/// What the trees of one statement hold of an account, from their stage on until all clones of this
/// are dropped.
#[derive(Clone)]
pub struct StageMemory(Arc<Mutex<Held>>);

struct Held {
    reservation: Reservation,
    /// Once the account has refused, no later stage begins.
    refused: Option<Refused>,
}

/// The stage that runs on a thread.
struct Stage {
    memory: StageMemory,
    /// The thread's balance, and what the statement held, when the stage began.
    balance: i64,
    before: usize,
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

impl Stage {
    /// What the statement holds now.
    fn bytes(&self) -> usize {
        let grown = thread_balance() - self.balance;
        usize::try_from(grown.saturating_add_unsigned(self.before as u64)).unwrap_or(0)
    }

    /// Brings the account up to date where that has changed by more than a step.
    fn check(&self, step: usize) -> Result<(), Refused> {
        let mut held = self.memory.0.lock();
        if let Some(refused) = &held.refused {
            return Err(refused.clone());
        }
        let bytes = self.bytes();
        if bytes.abs_diff(held.reservation.bytes()) <= step {
            return Ok(());
        }
        let resized = held.reservation.try_resize(bytes);
        held.refused = resized.clone().err();
        resized
    }
}

/// Ends the stage of a thread when it is dropped.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(stage) = STAGE.with(|running| running.borrow_mut().take()) {
            // A refusal is kept for the next stage.
            stage.check(0).ok();
        }
    }
}

impl StageMemory {
    /// Nothing yet, of an account.
    pub fn new(account: &Account) -> Self {
        Self(Arc::new(Mutex::new(Held { reservation: account.empty(), refused: None })))
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.0.lock().reservation.bytes()
    }

    /// What the account has refused.
    pub fn refused(&self) -> Option<Refused> {
        self.0.lock().refused.clone()
    }

    /// Runs a stage, or a step of it, and counts what it leaves in memory. Inside of another stage it
    /// is a part of that.
    pub fn count<T>(&self, stage: impl FnOnce() -> T) -> T {
        let is_inner = STAGE.with(|running| running.borrow().is_some());
        if is_inner {
            return stage();
        }
        let begun = Stage { memory: self.clone(), balance: thread_balance(), before: self.bytes() };
        STAGE.with(|running| *running.borrow_mut() = Some(begun));
        let _ends = Ends;
        stage()
    }
}

impl fmt::Debug for StageMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of trees", self.bytes())
    }
}

/// Whether the stage that runs on this thread may go on; where none runs, it may.
///
/// # Errors
/// What an account refused.
pub fn check_stage_memory() -> Result<(), Refused> {
    STAGE.with(|running| running.borrow().as_ref().map_or(Ok(()), |stage| stage.check(STEP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::use_jemalloc!();

    fn kibibytes(count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|_| vec![1; 1024]).collect()
    }

    #[test]
    fn what_stages_leave_is_held_until_the_statement_ends() {
        let account = Account::new("limit", 16 << 20);
        let memory = StageMemory::new(&account);
        let tree = memory.count(|| {
            drop(kibibytes(4096));
            kibibytes(2048)
        });
        let held = memory.bytes();
        assert!((2 << 20..3 << 20).contains(&held), "{held}");
        // Another stage frees it.
        memory.count(|| drop(tree));
        assert!(memory.bytes() < 1 << 20, "{memory:?}");
        let tree = memory.count(|| memory.count(|| kibibytes(1024)));
        assert!(account.held() >= 1 << 20 && account.held() == memory.bytes());
        drop(memory);
        assert_eq!((account.held(), tree.len()), (0, 1024));
    }

    #[test]
    fn a_stage_ends_where_the_account_has_no_more() {
        let account = Account::new("limit", 4 << 20);
        let memory = StageMemory::new(&account);
        check_stage_memory().unwrap();
        let grown = memory.count(|| {
            let mut tree = Vec::new();
            while check_stage_memory().is_ok() {
                tree.extend(kibibytes(64));
            }
            tree.len()
        });
        assert!((3 << 10..5 << 10).contains(&grown), "{grown}");
        assert_eq!(memory.refused().unwrap().name, "limit");
        // It stays refused, and other statements do not.
        memory.count(check_stage_memory).unwrap_err();
        StageMemory::new(&account).count(check_stage_memory).unwrap();
        drop(memory);
        assert_eq!(account.held(), 0);
    }
}
