//! Mirrors: the copies that the engine gives to `pelorus_mirror`, and how queries find them.
//!
//! The copies of a linked database are native tables of a hidden database. Its name cannot be
//! written in a statement and appears in no list.

pub(crate) mod answering;
pub(crate) mod charset;
pub(crate) mod copies;
mod definition;
pub(crate) mod filter;
mod opaque;
mod retyped;
pub(crate) mod status;
pub(crate) mod wanted;
pub(crate) mod zones;

use pelorus_error::Result;
use pelorus_mirror::Mirrors;
use pelorus_native::hidden::HIDDEN;

use crate::links::LinkedDatabase;

/// Mirrors all tables of a database, those to come included.
pub(crate) async fn mirror_database(mirrors: &Mirrors, database: &LinkedDatabase) -> Result<()> {
    let LinkedDatabase { link, local, remote } = database;
    let name = link.name().to_lowercase();
    mirrors.begin_database(&name, remote)?;
    // One that was made a moment ago is in no list of before.
    link.forget();
    match link.tables(local).await {
        Ok(tables) => {
            let tables = tables.into_iter().filter(|it| !it.is_view).map(|it| it.name);
            mirrors.add_tables(&name, remote, &tables.collect::<Vec<_>>())
        }
        Err(error) => {
            mirrors.end_database(&name, remote)?;
            Err(error)
        }
    }
}

/// The hidden database for the copies of a linked one.
pub(crate) fn hidden_database(link: &str, database: &str) -> String {
    format!("{HIDDEN}{}{HIDDEN}{database}", link.to_lowercase())
}

/// The link and the database whose copies a hidden database has.
pub(crate) fn of_hidden(hidden: &str) -> Option<(&str, &str)> {
    hidden.strip_prefix(HIDDEN)?.split_once(HIDDEN)
}
