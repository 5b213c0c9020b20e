//! [`HeldLocks`]: the locks that a session holds until it releases them or ends.

use std::collections::{BTreeMap, BTreeSet};

use crate::global_read_lock;

/// Locks of tables and user-level locks. Those of `LOCK TABLES` on a linked server belong to the
/// connection to its primary.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    /// `LOCK TABLES` named native tables. It has no other effect than that `UNLOCK TABLES` commits.
    native_tables: bool,
    /// `FLUSH TABLES WITH READ LOCK` holds until `UNLOCK TABLES`.
    global_read_lock: Option<global_read_lock::Held>,
    /// The links on whose servers the session has taken user-level locks, by name of the lock in
    /// lower case.
    user_locks: BTreeMap<String, String>,
}

impl HeldLocks {
    pub(crate) fn set_native_tables(&mut self, are_locked: bool) {
        self.native_tables = are_locked;
    }

    /// Unlocks native tables; whether they were locked.
    pub(crate) fn take_native_tables(&mut self) -> bool {
        std::mem::take(&mut self.native_tables)
    }

    pub(crate) fn has_global_read_lock(&self) -> bool {
        self.global_read_lock.is_some()
    }

    pub(crate) fn set_global_read_lock(&mut self, held: Option<global_read_lock::Held>) {
        self.global_read_lock = held;
    }

    /// The link on whose server a user-level lock was taken.
    pub(crate) fn link_of_user_lock(&self, name: &str) -> Option<&str> {
        self.user_locks.get(&name.to_lowercase()).map(String::as_str)
    }

    /// A user-level lock was taken on the server of a link.
    pub(crate) fn add_user_lock(&mut self, name: &str, link: &str) {
        self.user_locks.insert(name.to_lowercase(), link.to_owned());
    }

    pub(crate) fn remove_user_lock(&mut self, name: &str) {
        self.user_locks.remove(&name.to_lowercase());
    }

    /// Forgets all user-level locks on linked servers; returns their links.
    pub(crate) fn take_user_locks(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.user_locks).into_values().collect()
    }

    /// The connection to a link was lost, with its user-level locks; whether there were any.
    pub(crate) fn lose_user_locks_on(&mut self, link: &str) -> bool {
        let held = self.user_locks.len();
        self.user_locks.retain(|_, of| of != link);
        self.user_locks.len() < held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_locks_are_lost_with_the_connection_to_their_server() {
        let mut locks = HeldLocks::default();
        locks.add_user_lock("Job", "shop");
        locks.add_user_lock("other", "crm");
        assert_eq!(locks.link_of_user_lock("jOB"), Some("shop"));
        assert!(locks.lose_user_locks_on("shop"));
        assert!(!locks.lose_user_locks_on("shop"));
        assert_eq!(locks.link_of_user_lock("job"), None);
        assert_eq!(locks.take_user_locks(), BTreeSet::from(["crm".to_owned()]));
        assert!(locks.take_user_locks().is_empty());
    }
}
