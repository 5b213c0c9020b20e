//! XA transactions: what they change is in the binlog when they are prepared, and counts when they are
//! committed.

use std::collections::{BTreeSet, HashMap};

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
    /// Bytes that the changes took when it was prepared.
    bytes: usize,
    /// The changes were too large to be kept.
    is_cut: bool,
}

/// Transactions that are prepared, by their identifiers as statements write them: they may stay so for
/// as long as somebody likes.
#[derive(Debug, Default)]
pub(super) struct AllPrepared(HashMap<String, Prepared>);

impl AllPrepared {
    /// Keeps one. Beyond `most` bytes of all together the changes of the largest ones are thrown away;
    /// which tables they are of is not.
    fn insert(&mut self, identifier: String, prepared: Prepared, most: usize) {
        let bytes = prepared.batch.bytes();
        self.0.insert(identifier, Prepared { bytes, ..prepared });
        let mut all: usize = self.0.values().map(|it| it.bytes).sum();
        while all > most {
            let Some(largest) = self.0.values_mut().max_by_key(|it| it.bytes) else { return };
            all -= largest.bytes;
            (largest.batch, largest.bytes, largest.is_cut) = (Batch::default(), 0, true);
        }
    }

    fn remove(&mut self, identifier: &str) -> Option<Prepared> {
        self.0.remove(identifier)
    }
}

impl Reader<'_> {
    /// An XA transaction is prepared, or committed at once.
    pub(super) fn xa_prepare(&mut self, prepare: &XaPrepare) -> Result<()> {
        let apart = self.transaction.as_mut().and_then(|it| it.apart.take()).unwrap_or_default();
        if prepare.one_phase {
            return self.xa_apply(apart);
        }
        let most = self.transaction_bytes();
        self.prepared.insert(identifier(&prepare.xid), apart, most);
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
    /// no longer those of then are read anew, and so are those whose changes were not kept.
    pub(super) fn xa_apply(&mut self, apart: Prepared) -> Result<()> {
        self.commit()?;
        let Prepared { batch, tables, is_cut, .. } = apart;
        let why = match is_cut {
            true => "XA transactions took more than pelorus_mirror_transaction_size",
            false => "a table was mirrored while an XA transaction was prepared",
        };
        self.batch = batch;
        self.batch.keep_followed();
        for (database, table) in &tables {
            let Some(mirror) = self.source.mirror(database, table) else { continue };
            if mirror.state().follows() && !self.batch.is_for(&mirror) {
                self.again(&mirror, why)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::World;
    use crate::record::MirrorRecord;

    fn of_table(world: &World, table: &str, rows: i64) -> Prepared {
        let tables = BTreeSet::from([("d".to_owned(), table.to_owned())]);
        Prepared { batch: world.batch_of(rows), tables, ..Prepared::default() }
    }

    #[test]
    fn prepared_transactions_take_no_more_than_may_be() {
        let world = World::new(MirrorRecord::default());
        let (small, large) = (world.batch_of(10).bytes(), world.batch_of(1000).bytes());
        assert!(small > 0 && large > 2 * small);
        let (mut all, most) = (AllPrepared::default(), large + small);
        for (name, rows) in [("a", 10), ("b", 1000), ("c", 10)] {
            all.insert(name.to_owned(), of_table(&world, name, rows), most);
        }
        // The last one was too much, and the largest has made room for it.
        for (name, is_cut) in [("a", false), ("b", true), ("c", false)] {
            let prepared = all.remove(name).unwrap();
            assert_eq!((prepared.is_cut, prepared.batch.is_empty()), (is_cut, is_cut), "{name}");
            assert_eq!(prepared.tables.len(), 1);
        }
        // Those that are gone do not count.
        all.insert("d".to_owned(), of_table(&world, "d", 1000), most);
        assert!(!all.remove("d").unwrap().is_cut && all.remove("d").is_none());
    }
}
