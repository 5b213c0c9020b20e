//! [`Mirrored`]: the copies that answer a statement.

use std::collections::BTreeMap;

use pelorus_functions::TimeZone;
use pelorus_mirror::Fresh;
use pelorus_query::Flavour;

/// Databases of links whose copies answer a statement.
#[derive(Debug)]
pub(crate) struct Mirrored {
    /// The hidden database by the name of the linked one here.
    pub(crate) databases: BTreeMap<String, String>,
    /// The time zone of TIMESTAMPs in results.
    pub(crate) time_zone: TimeZone,
    /// Filtered copies are read as if they were complete.
    pub(crate) as_whole: bool,
    /// The kind of the one server whose answer this must be; of several, no server has the answer.
    pub(crate) of: Option<Flavour>,
    pub(crate) fresh: Vec<Fresh>,
}

impl Mirrored {
    /// Copies as they are, whatever part of their table they have. `databases` are pairs of a linked
    /// database's name here, and the hidden one.
    pub(crate) fn as_whole(databases: BTreeMap<String, String>, time_zone: TimeZone) -> Self {
        Self { databases, time_zone, as_whole: true, of: None, fresh: Vec::new() }
    }

    /// The hidden database for a linked one, given by its name here.
    pub(crate) fn hidden(&self, local: &str) -> Option<&str> {
        self.databases.get(local).map(String::as_str)
    }

    /// Whether a snapshot that was opened before this call shows the copies as they should be.
    pub(crate) fn holds(&self) -> bool {
        self.fresh.iter().all(Fresh::holds)
    }

    /// Notes that a query was answered.
    pub(crate) fn note_query(&self) {
        self.fresh.iter().for_each(Fresh::note_query);
    }
}
