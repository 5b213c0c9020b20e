//! Names of mirrored tables.

/// A mirrored table: its link, and its name there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MirrorName {
    /// The link, by its name in lower case.
    pub link: String,
    /// The database, by the server's name.
    pub database: String,
    /// The table, as the server spells it.
    pub table: String,
}

impl std::fmt::Display for MirrorName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
    }
}
