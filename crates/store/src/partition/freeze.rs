//! Frozen tables: tables that accept no rows for a while, so that a rewrite misses none.
//!
//! Reads continue. Commits with rows for a frozen table wait, outside of the commit lock, until it
//! accepts rows again. Nearly always the table has been replaced by then, and the commits fail with
//! error 1412.

use std::sync::Arc;
use std::time::Duration;

use pelorus_env::sync::MutexGuard;
use pelorus_error::{Code, Error, Result};

use crate::catalog::schema::TableId;
use crate::commit::write_set::Prepared;
use crate::database::{Committing, Database, go_on};

/// How long a commit waits, as `innodb_lock_wait_timeout` has it.
const WAIT: Duration = Duration::from_secs(50);

/// How often it checks for cancellation meanwhile.
const STOP_ASKED: Duration = Duration::from_millis(100);

/// Keeps rows from being written to a table until it is dropped.
#[derive(Debug)]
pub struct FrozenTable {
    database: Arc<Database>,
    table: TableId,
}

impl Drop for FrozenTable {
    fn drop(&mut self) {
        self.database.committing.lock().frozen.remove(&self.table);
        self.database.thawed.notify_all();
    }
}

impl Database {
    /// Freezes a table: it accepts no rows. A snapshot that is taken afterwards shows all earlier
    /// rows.
    ///
    /// # Errors
    /// No such table, or one that is frozen already (1412); errors of waiting for the disk.
    pub fn freeze(self: &Arc<Self>, id: TableId) -> Result<FrozenTable> {
        let (frozen, lsn, version) = {
            let mut committing = self.committing.lock();
            self.check()?;
            self.require(id)?;
            if !committing.frozen.insert(id) {
                return Err(Error::table_changed());
            }
            let frozen = FrozenTable { database: Arc::clone(self), table: id };
            (frozen, self.log.end(), committing.catalog.version)
        };
        // What was committed before may not be durable yet, and is not seen until it is.
        self.publish(lsn, version)?;
        Ok(frozen)
    }

    /// Waits until all tables of some changes take rows.
    ///
    /// # Errors
    /// 1205 after a while, 1317 when `stop` says so.
    pub(crate) fn wait_until_thawed(
        &self,
        committing: &mut MutexGuard<'_, Committing>,
        changes: &[Prepared],
        stop: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut left = WAIT;
        while changes.iter().any(|it| committing.frozen.contains(&it.table.id())) {
            go_on(stop)?;
            let (begun, pause) = (self.env.clock.monotonic(), left.min(STOP_ASKED));
            let timeout = self.thawed.wait_for(committing, pause).timed_out();
            let waited = self.env.clock.monotonic().saturating_sub(begun);
            left = left.saturating_sub(if timeout { waited.max(pause) } else { waited });
            if left.is_zero() {
                let text = "Lock wait timeout exceeded; try restarting transaction";
                return Err(Error::new(Code::LockWaitTimeout, text));
            }
        }
        Ok(())
    }
}
