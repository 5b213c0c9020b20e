//! Changes that are logged as statements: the mirrors that they may affect.

use std::sync::Arc;

use pelorus_binlog::Query;
use pelorus_error::Result;
use pelorus_functions::names;
use pelorus_link::split::quote_text;
use pelorus_link::{Link, SessionSettings};
use pelorus_sql::Mode;
use pelorus_sql::ast_analysis::is_aggregate_name;
use pelorus_sql::statement::{Statement, TableName};

use super::{Effect, Resolver, mode};
use crate::model::mirror::Mirror;
use crate::model::name::MirrorName;
use crate::source::Source;

/// Why tables are read again.
pub(crate) const WHY: &str = "a change was logged as a statement; SET GLOBAL binlog_format = ROW";
/// Databases in which there are no views of tables of others.
const OF_THE_SERVER: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

/// A change that was logged as a statement, and whose text does not say which tables it is of.
pub(crate) struct Unclear {
    /// Tables that are not mirrored, and may be views; without any, a function has made the change.
    names: Vec<MirrorName>,
    /// The mirrors that it may concern.
    mirrors: Vec<Arc<Mirror>>,
}

/// Whether a statement changes objects that it does not name.
pub(crate) fn unclear(source: &Source, query: &Query, text: &str) -> Option<Unclear> {
    let names = match pelorus_sql::classify(text, mode(source, query).0) {
        // What a stored function does is not in the text.
        Ok(Statement::Write(_)) if calls_stored(text, mode(source, query).0) => Vec::new(),
        Ok(Statement::Write(write)) => {
            let resolver = Resolver { source, database: &query.database };
            let others = write.tables.iter().filter(|it| resolver.mirror(it).is_none());
            let mut names: Vec<MirrorName> = others.map(|it| resolver.name(it)).collect();
            names.retain(|it| {
                !OF_THE_SERVER.iter().any(|name| it.database.eq_ignore_ascii_case(name))
            });
            if names.is_empty() {
                return None;
            }
            names
        }
        // Such are in the binlog for the sake of the functions that they call.
        Ok(Statement::Query(_) | Statement::Do(_)) => Vec::new(),
        _ => return None,
    };
    // A MySQL tells of which databases tables were changed, through whatever they were.
    let mirrors = match &query.status.databases {
        Some(databases) if !databases.is_empty() => {
            let mut mirrors: Vec<Arc<Mirror>> =
                databases.iter().flat_map(|it| source.mirrors_of(it)).collect();
            let name = |it: &Arc<Mirror>| source.name_of(&it.name.database, &it.name.table);
            // Foreign keys lead to other databases, too.
            mirrors.extend(source.reached(mirrors.iter().map(name).collect()));
            mirrors
        }
        _ => source.mirrors(),
    };
    (!mirrors.is_empty()).then_some(Unclear { names, mirrors })
}

/// Whether a statement calls a function that no server brings along. One of theirs that is not known
/// here counts as such: that costs a load.
fn calls_stored(text: &str, mode: Mode) -> bool {
    let is_stored = |function: &TableName| {
        let name = function.name.to_ascii_uppercase();
        function.database.is_some() || !(names::is_function(&name) || is_aggregate_name(&name))
    };
    pelorus_sql::statement::calls(text, mode).iter().any(is_stored)
}

impl Unclear {
    /// The effects on mirrors: none if all named objects are tables.
    ///
    /// # Errors
    /// If the server does not return their kinds.
    pub(crate) async fn effects(self, link: &Link) -> Result<Vec<Effect>> {
        let mut is_known = !self.names.is_empty();
        for name in &self.names {
            is_known = is_known && is_table(link, name).await?;
        }
        let mirrors = if is_known { Vec::new() } else { self.mirrors };
        Ok(mirrors.into_iter().map(|it| Effect::Again(it, WHY.to_owned())).collect())
    }
}

/// Whether a name is that of a table, and not of a view or of something that is not shown.
async fn is_table(link: &Link, name: &MirrorName) -> Result<bool> {
    let sql = format!(
        "SELECT table_type FROM information_schema.tables WHERE table_schema = {} AND \
         table_name = {}",
        quote_text(&name.database),
        quote_text(&name.table)
    );
    let rows = link.ask(&SessionSettings::as_stored(), &sql).await?;
    let kind = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
    Ok(kind.is_some_and(|kind| !kind.contains("VIEW")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_users_are_told_from_those_of_servers() {
        let is_stored = |text: &str| calls_stored(text, Mode::default());
        for text in [
            "INSERT INTO x VALUES (1, f(11))",
            "UPDATE x SET a = d.f(a)",
            "DELETE FROM x WHERE a = `f` (1)",
            "INSERT INTO x SELECT d.concat(a) FROM y",
        ] {
            assert!(is_stored(text), "{text}");
        }
        for text in [
            "INSERT INTO x (id, a) VALUES (1, NOW()), (2, CONCAT('a', UUID()))",
            "UPDATE x SET a = (SELECT MAX(a) + COUNT(*) FROM y) WHERE id IN (1, 2)",
            "DELETE FROM d.x WHERE JSON_EXTRACT(j, '$.a') = IF(a, 1, 2)",
        ] {
            assert!(!is_stored(text), "{text}");
        }
    }
}
