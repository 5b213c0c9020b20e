//! XA transactions: what they change is in the binlog when they are prepared, and counts when they are
//! committed.

use std::collections::BTreeSet;

use pelorus_binlog::{XaPrepare, Xid};
use pelorus_error::Result;

use super::Reader;
use crate::batch::Batch;

/// The changes of an XA transaction, which count when it is committed.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) batch: Batch,
    /// All tables that it has changed: database and name.
    pub(super) tables: BTreeSet<(String, String)>,
}

impl Reader<'_> {
    /// An XA transaction is prepared, or committed at once.
    pub(super) fn xa_prepare(&mut self, prepare: &XaPrepare) -> Result<()> {
        let apart = self.transaction.as_mut().and_then(|it| it.apart.take()).unwrap_or_default();
        if prepare.one_phase {
            return self.xa_apply(apart);
        }
        self.prepared.insert(identifier(&prepare.xid), apart);
        Ok(())
    }

    /// What was prepared counts from now on. What this stream has not seen being prepared may
    /// concern any table: all are read anew.
    pub(super) fn xa_commit(&mut self, text: &str) -> Result<()> {
        let xid = text.split_ascii_whitespace().nth(2).unwrap_or_default();
        if let Some(apart) = self.prepared.remove(xid) {
            return self.xa_apply(apart);
        }
        for mirror in self.source.mirrors() {
            if mirror.state().follows() {
                self.again(&mirror, "an XA transaction was committed whose changes were not seen")?;
            }
        }
        Ok(())
    }

    pub(super) fn xa_rollback(&mut self, text: &str) {
        let xid = text.split_ascii_whitespace().nth(2).unwrap_or_default();
        self.prepared.remove(xid);
    }

    /// Changes that were kept apart come behind all that was read before. Tables whose copies are
    /// no longer those of then are read anew.
    pub(super) fn xa_apply(&mut self, apart: Prepared) -> Result<()> {
        self.commit()?;
        let Prepared { batch, tables } = apart;
        self.batch = batch;
        self.batch.keep_followed();
        for (database, table) in &tables {
            let Some(mirror) = self.source.mirror(database, table) else { continue };
            if mirror.state().follows() && !self.batch.is_for(&mirror) {
                self.again(&mirror, "a table was mirrored while an XA transaction was prepared")?;
            }
        }
        Ok(())
    }
}

/// An XA identifier as `XA COMMIT` has it in the binlog.
fn identifier(xid: &Xid) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("X'{}',X'{}',{}", hex(&xid.global), hex(&xid.branch), xid.format)
}
