//! Mirrors: what the engine gives to `pelorus_mirror`, and how queries find the copies.
//!
//! The copies of a linked database are native tables of a hidden database: it has a name that
//! nobody can write, and is in no list.

mod charset;
pub(crate) mod copies;
mod definition;
pub(crate) mod filter;
mod opaque;
mod retyped;
pub(crate) mod wanted;

/// What names of hidden databases begin with.
pub(crate) const HIDDEN: char = '\u{1}';

/// The hidden database for the copies of a linked one.
pub(crate) fn hidden_database(link: &str, database: &str) -> String {
    format!("{HIDDEN}{}{HIDDEN}{database}", link.to_lowercase())
}

/// Whether a database is hidden.
pub(crate) fn is_hidden(database: &str) -> bool {
    database.starts_with(HIDDEN)
}
