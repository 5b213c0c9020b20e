//! Placement: finds the servers that store the tables of a query.

use std::collections::HashSet;

use pelorus_error::{Code, Error, Result};
use pelorus_link::Link;
use pelorus_sql::ast_analysis;
use sqlparser::ast;

use crate::context::{Database, QueryContext};

/// Where the tables of a query live.
pub(crate) enum Place {
    /// The query reads no table.
    Nowhere,
    /// All tables are on one linked server.
    Server(Link),
    /// Tables of several servers, native tables, or tables that show Pelorus's inside.
    Here,
}

/// Looks at every table of a query and its subqueries. `known` are names that common table
/// expressions around the query define; a query that uses one is bound here.
pub(crate) fn place(
    context: &QueryContext,
    query: &ast::Query,
    known: &HashSet<String>,
) -> Result<Place> {
    let mut found: Option<Link> = None;
    for reference in ast_analysis::table_references(query) {
        let name = &reference.table;
        if name.database.is_none() && known.contains(&name.name.to_ascii_lowercase()) {
            return Ok(Place::Here);
        }
        match resolve(context, name.database.as_deref())? {
            Database::Info(_) | Database::Native(_) => return Ok(Place::Here),
            Database::Linked { link, .. } => match &found {
                Some(first) if first.name() != link.name() => return Ok(Place::Here),
                Some(_) => {}
                None => found = Some(link),
            },
        }
    }
    Ok(found.map_or(Place::Nowhere, Place::Server))
}

/// Where a database leads, or the current one where none is named.
pub(crate) fn resolve(context: &QueryContext, database: Option<&str>) -> Result<Database> {
    let name = database
        .or(context.database.as_deref())
        .ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))?;
    context
        .catalog
        .database(name)
        .ok_or_else(|| Error::new(Code::UnknownDatabase, format!("Unknown database '{name}'")))
}

/// The name of a database that a table reference means.
pub(crate) fn database_name<'a>(
    context: &'a QueryContext,
    database: Option<&'a str>,
) -> Result<&'a str> {
    database
        .or(context.database.as_deref())
        .ok_or_else(|| Error::new(Code::NoDatabase, "No database selected"))
}
