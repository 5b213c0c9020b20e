//! [`Interrupt`]: the cancellation flag of a statement, which work without an `await` checks
//! regularly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pelorus_error::{Error, Result};

/// Whether a statement's work is to stop. All clones are one.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks the work to stop.
    pub fn set(&self) {
        // Ordering: nothing else depends on it.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to stop.
    pub fn is_set(&self) -> bool {
        // Ordering: as in `set`.
        self.0.load(Ordering::Relaxed)
    }

    /// Fails when the work is to stop, or the trees that it builds have no more memory.
    ///
    /// # Errors
    /// 1317 or 1041.
    pub fn check(&self) -> Result<()> {
        if self.is_set() {
            return Err(Error::interrupted());
        }
        pelorus_env::check_stage_memory().map_err(Error::out_of_memory)
    }
}
