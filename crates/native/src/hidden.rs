//! Hidden databases: their names can be written in no statement and appear in no list. The copies of
//! mirrored tables are stored in them.

/// The first character of their names.
pub const HIDDEN: char = '\u{1}';

/// Whether a database is hidden.
pub fn is_hidden(database: &str) -> bool {
    database.starts_with(HIDDEN)
}
