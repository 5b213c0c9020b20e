//! Which mirrors refer to a table.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::model::mirror::Mirror;

/// Which mirrors have foreign keys that refer to a table, by database and name.
pub(crate) type Referrers = HashMap<(String, String), Vec<Arc<Mirror>>>;

/// The mirrors of one server, as the actions of foreign keys look them up.
pub(crate) trait MirrorLookup {
    /// All of them.
    fn mirrors(&self) -> Vec<Arc<Mirror>>;
    /// The mirror of a table, by the names that statements have.
    fn mirror(&self, database: &str, table: &str) -> Option<Arc<Mirror>>;
    /// Which mirrors refer to which tables.
    fn all_referrers(&self) -> Arc<Referrers>;
}

/// Collects them.
pub(crate) fn referrers(mirrors: &[Arc<Mirror>]) -> Referrers {
    let mut all = Referrers::new();
    for mirror in mirrors {
        let there: BTreeSet<(String, String)> = mirror
            .foreign_keys()
            .iter()
            .map(|key| (key.database.clone(), key.table.clone()))
            .collect();
        for table in there {
            all.entry(table).or_default().push(Arc::clone(mirror));
        }
    }
    all
}
