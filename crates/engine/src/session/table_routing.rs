//! Table routing: which linked server holds the tables of a statement.

use std::collections::BTreeMap;
use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use pelorus_sql::statement::TableName;

use super::state::client_settings::ClientSettings;
use crate::engine::Engine;
use crate::info::InfoTables;

/// Where the tables of a statement are.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// By name of the link.
    links: BTreeMap<String, Link>,
    /// Databases whose name here is not the one on the server: (here, there).
    renamed: Vec<(String, String)>,
    /// The first of our own databases that is named.
    pub(crate) own: Option<String>,
    /// The first native database that is named.
    pub(crate) native: Option<String>,
}

impl Place {
    /// The one link that everything is on; `None` when there is no linked table.
    ///
    /// # Errors
    /// More than one link, or a mix with our own tables (1235).
    pub(crate) fn only_link(&self, what: &str) -> Result<Option<Link>> {
        let mut links = self.links.values();
        let Some(link) = links.next() else { return Ok(None) };
        if let Some(other) = links.next() {
            return Err(Error::unsupported(format_args!(
                "{what} on tables of the servers '{}' and '{}' at once",
                link.name(),
                other.name()
            )));
        }
        if let Some(own) = self.own.as_ref().or(self.native.as_ref()) {
            return Err(Error::unsupported(format_args!(
                "{what} on tables of server '{}' and of {own} at once",
                link.name()
            )));
        }
        Ok(Some(link.clone()))
    }
}

/// Finds tables among native databases and linked servers.
#[derive(Clone, Copy)]
pub(crate) struct TableRouting<'a> {
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) settings: &'a ClientSettings,
}

impl TableRouting<'_> {
    /// Finds the servers of the tables that a statement names.
    ///
    /// # Errors
    /// A name without database when none is chosen (1046), an unknown database (1049).
    pub(crate) async fn place(self, tables: &[TableName]) -> Result<Place> {
        let mut place = Place::default();
        if tables.is_empty() {
            return Ok(place);
        }
        self.refresh_links(tables).await;
        for table in tables {
            let is_dual = table.database.is_none() && table.name.eq_ignore_ascii_case("dual");
            if is_dual {
                continue;
            }
            let database = self.settings.database_of(table)?;
            self.place_database(&mut place, database)?;
        }
        Ok(place)
    }

    /// Renews the list of the linked servers' databases, for the tables of a statement. An unknown
    /// database may have been created a moment ago: then the servers are asked at once.
    pub(crate) async fn refresh_links(self, tables: &[TableName]) {
        let databases = tables.iter().filter_map(|table| self.settings.database_of(table).ok());
        let databases: Vec<&str> = databases.collect();
        self.refresh_links_for(&databases).await;
    }

    /// The same for some databases.
    pub(crate) async fn refresh_links_for(self, databases: &[&str]) {
        let links = self.engine.links();
        links.refresh().await;
        let is_unknown = |name: &str| {
            !InfoTables::is_schema(name)
                && !self.engine.native().has(name)
                && matches!(links.database(name), Ok(None))
        };
        if databases.iter().any(|name| is_unknown(name)) {
            links.look_again().await;
        }
    }

    /// Whether a table is in a native database.
    pub(crate) fn is_native(self, table: &TableName) -> bool {
        self.settings.database_of(table).is_ok_and(|database| self.engine.native().has(database))
    }

    /// Whether one of some tables is in a native database.
    pub(crate) fn names_native(self, tables: &[TableName]) -> bool {
        tables.iter().any(|table| self.is_native(table))
    }

    fn place_database(self, place: &mut Place, database: &str) -> Result<()> {
        if InfoTables::is_schema(database) {
            place.own.get_or_insert_with(|| database.to_owned());
            return Ok(());
        }
        if self.engine.native().has(database) {
            place.native.get_or_insert_with(|| database.to_owned());
            return Ok(());
        }
        let found =
            self.engine.links().database(database)?.ok_or_else(|| unknown_database(database))?;
        if found.local != found.remote {
            place.renamed.push((found.local.clone(), found.remote.clone()));
        }
        place.links.insert(found.link.name().to_owned(), found.link);
        Ok(())
    }

    /// Refuses a text that must be sent unchanged but names a database by its name here, which the
    /// server does not know.
    pub(crate) fn check_names(self, place: &Place, sql: &str) -> Result<()> {
        if place.renamed.is_empty() {
            return Ok(());
        }
        let references = pelorus_sql::statement::references(sql, self.settings.mode());
        let qualified = |name: &str| {
            references.qualifiers.iter().any(|qualifier| qualifier.eq_ignore_ascii_case(name))
                || references.tables.iter().any(|table| {
                    table.database.as_deref().is_some_and(|db| db.eq_ignore_ascii_case(name))
                })
        };
        match place.renamed.iter().find(|(here, _)| qualified(here)) {
            Some((here, there)) => Err(Error::unsupported(format_args!(
                "the name `{here}` in a statement for its server, where it is `{there}`; write USE \
                 `{here}` and leave the name out"
            ))),
            None => Ok(()),
        }
    }

    /// The current database by its name on a server; `None` when it is not there.
    pub(crate) fn remote_database(self, link: &Link) -> Option<String> {
        let current = self.settings.database()?;
        let found = self.engine.links().database(current).ok()??;
        (found.link.name() == link.name()).then_some(found.remote)
    }

    /// A name that two links show is refused before anything is planned.
    pub(crate) fn check_ambiguous(self, tables: &[TableName]) -> Result<()> {
        for table in tables {
            if let Some(database) = table.database.as_deref().or(self.settings.database())
                && !self.engine.native().has(database)
            {
                self.engine.links().database(database)?;
            }
        }
        Ok(())
    }

    /// The link of the current database; without one, the only existing link.
    pub(crate) fn current_link(self) -> Option<Link> {
        let links = self.engine.links();
        match self.settings.database() {
            Some(database) if self.engine.native().has(database) => None,
            Some(database) => links.database(database).ok().flatten().map(|found| found.link),
            None => match links.all().as_slice() {
                [link] => Some(link.clone()),
                _ => None,
            },
        }
    }
}

/// Error 1049.
pub(crate) fn unknown_database(name: &str) -> Error {
    Error::new(Code::UnknownDatabase, format!("Unknown database '{name}'"))
}
