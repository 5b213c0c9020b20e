//! XA transactions: their changes are in the binlog when they are prepared, and take effect when
//! they are committed.
//!
//! The changes are held in memory. The tables that they change are stored with the position: if the
//! stream restarts before the commit, only these tables are resynchronised.

use std::collections::HashMap;
use std::sync::Arc;

use pelorus_binlog::{XaPrepare, Xid};
use pelorus_error::Result;

use super::Reader;
use crate::apply::batch::Batch;
use crate::model::mirror::Mirror;
use crate::model::record;
use crate::model::record::XaTables;

/// Why changes of an XA transaction are not there.
const TOO_LARGE: &str = "XA transactions took more than pelorus_mirror_transaction_size";
const FORGOTTEN: &str = "the stream of changes began again while an XA transaction was prepared";

/// Why all tables are read again.
const UNSEEN: &str = "an XA transaction was committed whose changes were not seen";
const RENAMED: &str = "a table was renamed while an XA transaction was prepared";

/// The changes of an XA transaction, which count when it is committed.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) batch: Batch,
    /// All tables that it has changed.
    pub(super) tables: XaTables,
    /// Bytes that the changes took when it was prepared.
    bytes: usize,
    /// Why the changes are not there.
    lacks: Option<&'static str>,
}

/// Prepared transactions, by their identifiers as statements write them; their number is bounded
/// only by the server's clients.
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
            (largest.batch, largest.bytes) = (Batch::default(), 0);
            largest.lacks = Some(TOO_LARGE);
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
        let (name, most) = (identifier(&prepare.xid), self.transaction_bytes());
        let tables = record::encode(&apart.tables)?;
        self.kept_xa.insert(record::xa_key(&self.source.link, &name), Some(tables));
        self.prepared.insert(name, apart, most);
        Ok(())
    }

    /// `XA COMMIT`: prepared changes take effect. A transaction whose preparation was not seen may
    /// concern any table: all tables that do not have it already are resynchronised.
    pub(super) fn xa_commit(&mut self, text: &str) -> Result<()> {
        let xid = text.split_ascii_whitespace().nth(2).unwrap_or_default();
        let key = record::xa_key(&self.source.link, xid);
        let apart = match self.prepared.remove(xid) {
            Some(apart) => Some(apart),
            None => self.kept_tables(&key)?,
        };
        match apart {
            Some(apart) => self.xa_apply(apart)?,
            None => self.all_again(UNSEEN)?,
        }
        // Not before: it goes together with the changes.
        self.kept_xa.insert(key, None);
        Ok(())
    }

    pub(super) fn xa_rollback(&mut self, text: &str) {
        let xid = text.split_ascii_whitespace().nth(2).unwrap_or_default();
        self.prepared.remove(xid);
        self.kept_xa.insert(record::xa_key(&self.source.link, xid), None);
    }

    /// A transaction that was prepared before this stream began: its tables.
    fn kept_tables(&self, key: &[u8]) -> Result<Option<Prepared>> {
        let Some(kept) = self.source.store().value(key) else { return Ok(None) };
        let tables = record::decode(&kept)?;
        Ok(Some(Prepared { tables, lacks: Some(FORGOTTEN), ..Prepared::default() }))
    }

    /// Changes that were stored separately follow all earlier ones. Tables whose copies have been
    /// replaced since then are resynchronised, and so are those whose changes were not stored.
    pub(super) fn xa_apply(&mut self, apart: Prepared) -> Result<()> {
        self.commit()?;
        let Prepared { batch, tables, lacks, .. } = apart;
        let why = lacks.unwrap_or("a table was mirrored while an XA transaction was prepared");
        self.batch = batch;
        self.batch.keep_followed();
        for (database, table, was_mirrored) in &tables {
            match self.source.mirror(database, table) {
                Some(mirror) if self.batch.is_for(&mirror) => {}
                Some(mirror) => self.again_if_new(&mirror, why)?,
                // Only mirrors of databases go along with their tables; which one it is now is not
                // known.
                None if *was_mirrored && self.source.has_database(database) => {
                    return self.all_again(RENAMED);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Lets all mirrors begin again that do not have the transaction that is being read.
    fn all_again(&mut self, why: &str) -> Result<()> {
        for mirror in self.source.mirrors() {
            self.again_if_new(&mirror, why)?;
        }
        Ok(())
    }

    /// The same for one.
    fn again_if_new(&mut self, mirror: &Arc<Mirror>, why: &str) -> Result<()> {
        let is_there = !mirror.state().follows() || mirror.has(|from| self.is_old(from));
        if is_there { Ok(()) } else { self.again(mirror, why) }
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
    use crate::apply::batch::tests::World;
    use crate::model::record::MirrorRecord;

    fn of_table(world: &World, table: &str, rows: i64) -> Prepared {
        let tables = XaTables::from([("d".to_owned(), table.to_owned(), true)]);
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
            let found = (prepared.lacks.is_some(), prepared.batch.is_empty());
            assert_eq!(found, (is_cut, is_cut), "{name}");
            assert_eq!(prepared.tables.len(), 1);
        }
        // Those that are gone do not count.
        all.insert("d".to_owned(), of_table(&world, "d", 1000), most);
        assert!(all.remove("d").unwrap().lacks.is_none() && all.remove("d").is_none());
    }
}
