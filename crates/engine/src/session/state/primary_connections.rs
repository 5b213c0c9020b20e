//! [`PrimaryConnections`]: the session's own connections to the primaries of linked servers, at
//! most one to each, and what only these connections know.

use std::collections::{BTreeMap, BTreeSet};

use pelorus_link::{Link, Pinned};

/// Connections by name of their link. They stay open once made, because `LAST_INSERT_ID()` inside a
/// later statement, temporary tables and locks belong to them.
#[derive(Debug, Default)]
pub(crate) struct PrimaryConnections {
    by_link: BTreeMap<String, PrimaryConnection>,
    /// The link whose connection ran the latest statement; it has its warnings.
    warnings_on: Option<String>,
    /// The link whose connection knows the `FOUND_ROWS()` of the latest query.
    found_rows_on: Option<String>,
    /// The link whose connection has written a row with an AUTO_INCREMENT column since: only the
    /// server knows whether it has made the number, or the statement.
    insert_id_on: Option<String>,
    /// Linked servers that something was written to since their mirrors were last seen to have it,
    /// by their names in lower case.
    written: BTreeSet<String>,
}

/// A connection of the session's own.
#[derive(Debug)]
pub(crate) struct PrimaryConnection {
    pub(crate) link: Link,
    pub(crate) pinned: Pinned,
    /// Temporary tables and other state that only this connection has.
    pub(crate) has_temporary: bool,
    /// `LOCK TABLES` is in force.
    pub(crate) has_locks: bool,
    /// Its `LAST_INSERT_ID()` as it was last read.
    pub(crate) insert_id: u64,
    /// A transaction is being started on the connection, and the session has no confirmation yet. A
    /// transaction that is open after a kill is then abandoned; without this flag, a procedure has
    /// started it.
    pub(crate) is_beginning: bool,
}

impl PrimaryConnection {
    /// A new connection.
    pub(crate) fn new(link: Link, pinned: Pinned) -> Self {
        Self {
            link,
            pinned,
            has_temporary: false,
            has_locks: false,
            insert_id: 0,
            is_beginning: false,
        }
    }

    fn holds_state(&self) -> bool {
        self.has_temporary || self.has_locks
    }
}

impl PrimaryConnections {
    /// Closes all connections. What was written to servers stays written.
    pub(crate) fn reset(&mut self) {
        let written = std::mem::take(&mut self.written);
        *self = Self { written, ..Self::default() };
    }

    pub(crate) fn get(&self, link: &str) -> Option<&PrimaryConnection> {
        self.by_link.get(link)
    }

    pub(crate) fn get_mut(&mut self, link: &str) -> Option<&mut PrimaryConnection> {
        self.by_link.get_mut(link)
    }

    pub(crate) fn contains(&self, link: &str) -> bool {
        self.by_link.contains_key(link)
    }

    pub(crate) fn insert(&mut self, link: String, connection: PrimaryConnection) {
        self.by_link.insert(link, connection);
    }

    /// Closes the connection to a link.
    pub(crate) fn remove(&mut self, link: &str) {
        self.by_link.remove(link);
    }

    /// All connections with the names of their links.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &PrimaryConnection)> {
        self.by_link.iter()
    }

    /// Whether some connection has state that others do not see.
    pub(crate) fn holds_state(&self) -> bool {
        self.by_link.values().any(PrimaryConnection::holds_state)
    }

    /// Whether the connection to a link has state that others do not see.
    pub(crate) fn holds_state_on(&self, link: &str) -> bool {
        self.by_link.get(link).is_some_and(PrimaryConnection::holds_state)
    }

    /// The links on whose connections `LOCK TABLES` is in force.
    pub(crate) fn links_with_locks(&self) -> Vec<String> {
        let locked = self.by_link.iter().filter(|(_, connection)| connection.has_locks);
        locked.map(|(link, _)| link.clone()).collect()
    }

    pub(crate) fn set_locked(&mut self, link: &str, has_locks: bool) {
        if let Some(connection) = self.by_link.get_mut(link) {
            connection.has_locks = has_locks;
        }
    }

    pub(crate) fn warnings_on(&self) -> Option<&str> {
        self.warnings_on.as_deref()
    }

    /// The connection to a link has the warnings of the latest statement; `None`: Pelorus has them.
    pub(crate) fn set_warnings_on(&mut self, link: Option<String>) {
        self.warnings_on = link;
    }

    pub(crate) fn found_rows_on(&self) -> Option<&str> {
        self.found_rows_on.as_deref()
    }

    /// The connection to a link knows `FOUND_ROWS()`; `None`: Pelorus knows it.
    pub(crate) fn set_found_rows_on(&mut self, link: Option<String>) {
        self.found_rows_on = link;
    }

    pub(crate) fn insert_id_on(&self) -> Option<&str> {
        self.insert_id_on.as_deref()
    }

    /// The connection to a link knows `LAST_INSERT_ID()`; `None`: Pelorus knows it.
    pub(crate) fn set_insert_id_on(&mut self, link: Option<String>) {
        self.insert_id_on = link;
    }

    /// A statement that may write is about to run on a link.
    pub(crate) fn note_write(&mut self, link: &str) {
        self.written.insert(link.to_lowercase());
    }

    /// Whether mirrors of a link, given in lower case, may lack what the session has written.
    pub(crate) fn has_written(&self, link: &str) -> bool {
        self.written.contains(link)
    }

    /// The mirrors of a link, given in lower case, have what the session has written.
    pub(crate) fn mirrors_have_writes(&mut self, link: &str) {
        self.written.remove(link);
    }
}
