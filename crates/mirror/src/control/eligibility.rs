//! Eligibility: which tables can be mirrored, and the facts of a table that a mirror needs.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_link::split::quote_name;
use pelorus_link::{Link, RemoteTable, SessionSettings};
use pelorus_sql::ddl::{
    ColumnDefinition, KeyDefinition, KeyKind, Reference, ReferenceAction, TableStatement,
};
use pelorus_sql::statement::MirrorFilter;

use crate::apply::foreign_key_actions;
use crate::model::charsets;
use crate::model::copies::Definition;
use crate::model::foreign_key::ForeignKey;

/// The first column of a MariaDB's sequence.
const OF_SEQUENCES: &str = "next_not_cached_value";

/// No such table, no such database.
const NO_TABLE: [u16; 2] = [1146, 1049];
/// Access denied: to a database, to a table, to a column, for want of another right.
const DENIED: [u16; 4] = [1044, 1142, 1143, 1227];

/// A table that can be mirrored.
#[derive(Debug)]
pub struct Mirrorable {
    /// The description of the table on the link.
    pub table: Arc<RemoteTable>,
    /// `SHOW CREATE TABLE` as the server writes it in universal time.
    pub text: String,
    /// The collations of the text columns, and of the table by an empty name.
    pub collations: Vec<(String, String)>,
    /// Foreign keys that change its rows without the binlog's having it.
    pub keys: Vec<ForeignKey>,
    /// The tables, by database and name, that foreign keys refer to which change its rows; `None`
    /// where its definition cannot be read.
    pub refers_to: Option<Vec<(String, String)>>,
}

impl Mirrorable {
    /// The definition of its copy, laid out and with the part of it that the user wants.
    pub fn definition(&self, layout: Option<String>, filter: MirrorFilter) -> Definition {
        let (text, collations) = (self.text.clone(), self.collations.clone());
        Definition { text, collations, layout, filter }
    }

    /// The other tables that must be mirrored for it to be: database and name.
    pub fn parents(&self, database: &str) -> Vec<(String, String)> {
        let there = self.keys.iter().filter(|key| !key.refers_to(database, &self.table.name));
        there.map(|key| (key.database.clone(), key.table.clone())).collect()
    }
}

/// Checks whether a table can be mirrored. Its database is given by the server's name.
///
/// # Errors
/// The first reason against it, with the remedy.
pub async fn check(link: &Link, database: &str, table: &str) -> Result<Mirrorable> {
    let name = format!("'{database}.{table}'");
    let local = link.local_database(database).ok_or_else(|| {
        let text = format!("database '{database}' is not among those of server '{}'", link.name());
        Error::new(Code::UnknownDatabase, text)
    })?;
    let Some(found) = link.table(&local, table).await? else {
        return Err(why_absent(link, database, table).await);
    };
    if found.is_view {
        return Err(Error::unsupported(format_args!("mirrors of {name}, which is a view")));
    }
    if found.columns.first().is_some_and(|it| it.name == OF_SEQUENCES) {
        return Err(Error::unsupported(format_args!("mirrors of {name}, which is a sequence")));
    }
    if !found.keys.iter().any(|key| key.name == "PRIMARY") {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, which has no primary key: its rows could not be told apart; add one \
             (ALTER TABLE ... ADD COLUMN id BIGINT AUTO_INCREMENT PRIMARY KEY)"
        )));
    }
    if !found.has_snapshots() {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, whose engine {} shows no snapshot while others write; use InnoDB",
            found.engine
        )));
    }
    let facts = link.source_facts().await?;
    if !facts.logs(database) {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, which the server leaves out of its binlog (binlog_do_db, \
             binlog_ignore_db)"
        )));
    }
    let text = definition(link, database, &found.name).await?;
    if let Some(what) = unknown_feature(&text) {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, {what}; queries of it go to the server"
        )));
    }
    if facts.is_mariadb
        && let Some(key) = hash_key(&text)
    {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, whose unique key '{key}' is a hash (USING HASH): this server's binlog \
             has one column more than the table for it; queries of it go to the server"
        )));
    }
    let collations = charsets::of_table(link, &local, &found.name).await?;
    charsets::check(link, &name, &collations).await?;
    if facts.is_mariadb
        && facts.binlog_row_image == "MINIMAL"
        && let Some(column) = virtual_column(&text)
    {
        return Err(Error::unsupported(format_args!(
            "mirrors of {name}, whose generated column '{column}' is VIRTUAL: this server leaves it \
             out of its binlog under binlog_row_image = MINIMAL; make it STORED, or SET GLOBAL \
             binlog_row_image = FULL and reconnect the clients"
        )));
    }
    let keys = match logs_cascades(link).await? {
        true => Vec::new(),
        false => foreign_keys(database, &text)?,
    };
    let refers_to = refers_to(database, &text);
    Ok(Mirrorable { table: found, text, collations, keys, refers_to })
}

/// Why a server does not show a table: it shows none that the account may not read.
async fn why_absent(link: &Link, database: &str, table: &str) -> Error {
    let quoted = format!("{}.{}", quote_name(database), quote_name(table));
    let ask = format!("SELECT 1 FROM {quoted} LIMIT 0");
    match link.ask(&SessionSettings::as_stored(), &ask).await {
        Err(error) if NO_TABLE.contains(&error.errno()) => Error::new(
            Code::NoSuchTable,
            format!("Table '{database}.{table}' doesn't exist on its server"),
        ),
        Err(error) if DENIED.contains(&error.errno()) => {
            let said = error.message();
            let text = format!(
                "the account of server '{}' may not read '{database}.{table}': GRANT SELECT ON \
                 {quoted} to it ({said})",
                link.name()
            );
            error.with_message(text)
        }
        Err(error) => error,
        // It has come meanwhile.
        Ok(_) => Error::new(
            Code::QueryOnForeign,
            format!("Table '{database}.{table}' was not shown by its server"),
        ),
    }
}

/// The foreign keys of a definition that change its table's rows.
fn foreign_keys(database: &str, text: &str) -> Result<Vec<ForeignKey>> {
    match pelorus_sql::ddl::parse(text, pelorus_sql::Mode::default())? {
        TableStatement::Create(definition) => {
            foreign_key_actions::foreign_keys(database, &definition)
        }
        _ => Ok(Vec::new()),
    }
}

/// The tables that foreign keys of a definition refer to which change its table's rows; `None` where
/// it cannot be read.
fn refers_to(database: &str, text: &str) -> Option<Vec<(String, String)>> {
    let statement = pelorus_sql::ddl::parse(text, pelorus_sql::Mode::default()).ok()?;
    let TableStatement::Create(definition) = statement else { return None };
    let there = definition.foreign_keys.iter().map(|key| &key.references);
    let name = |it: &Reference| {
        let database = it.table.database.clone().unwrap_or_else(|| database.to_owned());
        (database, it.table.name.clone())
    };
    Some(there.filter(|it| cascades(it)).map(name).collect())
}

/// The feature of a definition that copies do not support, as text.
fn unknown_feature(text: &str) -> Option<&'static str> {
    let tokens = pelorus_sql::tokens(text, pelorus_sql::Mode::default());
    let has = |first: &str, second: &str| {
        let mut pairs = tokens.iter().zip(tokens.iter().skip(1));
        pairs.any(|(one, other)| one.is_word(text, first) && other.is_word(text, second))
    };
    match () {
        () if has("SYSTEM", "VERSIONING") => Some("which is system-versioned"),
        () if has("PERIOD", "FOR") => Some("which has a period (PERIOD FOR)"),
        () => None,
    }
}

/// The first unique key that a MariaDB keeps as a hash, in a hidden column: keys that are too long
/// for a tree, and those that are declared so.
fn hash_key(text: &str) -> Option<String> {
    let statement = pelorus_sql::ddl::parse(text, pelorus_sql::Mode::default()).ok()?;
    let TableStatement::Create(definition) = statement else { return None };
    let is_hash =
        |key: &&KeyDefinition| key.kind == KeyKind::Unique && key.using.as_deref() == Some("HASH");
    definition.keys.iter().find(is_hash).map(|key| key.name.clone().unwrap_or_default())
}

/// The first column that is computed whenever it is read.
fn virtual_column(text: &str) -> Option<String> {
    let statement = pelorus_sql::ddl::parse(text, pelorus_sql::Mode::default()).ok()?;
    let TableStatement::Create(definition) = statement else { return None };
    let is_virtual = |column: &&ColumnDefinition| {
        column.generated.as_ref().is_some_and(|generated| !generated.stored)
    };
    definition.columns.iter().find(is_virtual).map(|column| column.name.clone())
}

/// The `CREATE TABLE` of a table as its server writes it in an empty `sql_mode` and universal time,
/// and the collations of its text columns, its own by an empty name. Its database is given by the
/// name here and by the server's.
///
/// # Errors
/// 1146 where there is no such table, 1347 for a view, 1235 for an object that is not a base table.
pub async fn written_definition(
    link: &Link,
    (local, remote): (&str, &str),
    table: &str,
) -> Result<(String, Vec<(String, String)>)> {
    let collations = charsets::of_table(link, local, table).await?;
    let Some(found) = link.table(local, table).await? else {
        let text = format!("Table '{local}.{table}' doesn't exist");
        return Err(Error::new(Code::NoSuchTable, text));
    };
    if found.is_view {
        return Err(Error::new(Code::WrongObject, format!("'{local}.{table}' is not BASE TABLE")));
    }
    let text = definition(link, remote, &found.name).await?;
    match unknown_feature(&text) {
        Some(what) => Err(Error::unsupported(format_args!("a copy of '{local}.{table}', {what}"))),
        None => Ok((text, collations)),
    }
}

pub(crate) async fn definition(link: &Link, database: &str, table: &str) -> Result<String> {
    let sql = format!("SHOW CREATE TABLE {}.{}", quote_name(database), quote_name(table));
    let rows = link.ask(&SessionSettings::as_stored(), &sql).await?;
    let text = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    text.filter(|text| text.starts_with("CREATE TABLE")).ok_or_else(|| {
        Error::unsupported(format_args!("copies of '{database}.{table}', which is no plain table"))
    })
}

/// A definition without the next number that it would give, which changes with rows.
pub(crate) fn without_counter(text: &str) -> String {
    const WORD: &str = " AUTO_INCREMENT=";
    match text.rsplit_once(WORD) {
        Some((before, behind)) => {
            format!("{before}{}", behind.trim_start_matches(|it: char| it.is_ascii_digit()))
        }
        None => text.to_owned(),
    }
}

/// Whether rows of the table with the foreign key change with those that it refers to.
pub(crate) fn cascades(there: &Reference) -> bool {
    use ReferenceAction::{Cascade, SetNull};
    let changes = |action: &Option<ReferenceAction>| matches!(action, Some(Cascade | SetNull));
    changes(&there.on_delete) || changes(&there.on_update)
}

/// Whether the server's binlog has the changes of foreign key actions. MySQL logs them if its
/// InnoDB leaves foreign keys to the server (from 9.6 on, unless `innodb_native_foreign_keys` is
/// on).
pub(crate) async fn logs_cascades(link: &Link) -> Result<bool> {
    let ask = "SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'";
    let rows = link.ask(&SessionSettings::as_stored(), ask).await?;
    Ok(rows.first().and_then(|row| row.get(1)).cloned().flatten().as_deref() == Some("OFF"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_copies_lack_are_named() {
        for (text, word) in [
            ("CREATE TABLE `t` (`a` int) ENGINE=InnoDB WITH SYSTEM VERSIONING", "system-versioned"),
            ("CREATE TABLE `t` (`a` date, `b` date, PERIOD FOR `p` (`a`, `b`))", "PERIOD FOR"),
        ] {
            assert!(unknown_feature(text).unwrap().contains(word), "{text}");
        }
        let plain = "CREATE TABLE `t` (`system` int COMMENT 'SYSTEM VERSIONING', `period` int)";
        assert_eq!(unknown_feature(plain), None);
    }

    #[test]
    fn unique_keys_that_are_hashes_are_named() {
        let of = |key: &str| hash_key(&format!("CREATE TABLE `t` (`a` int, `b` text, {key})"));
        assert_eq!(of("UNIQUE KEY `u` (`b`) USING HASH").as_deref(), Some("u"));
        assert_eq!(of("UNIQUE KEY `u` (`a`), KEY `k` (`a`) USING HASH"), None);
    }

    #[test]
    fn tables_that_rows_go_with_are_known() {
        let found = refers_to(
            "d",
            "CREATE TABLE `t` (`id` int NOT NULL, `a` int, `b` int, PRIMARY KEY (`id`), \
             CONSTRAINT `x` FOREIGN KEY (`a`) REFERENCES `p` (`id`) ON DELETE CASCADE, \
             CONSTRAINT `y` FOREIGN KEY (`b`) REFERENCES `e`.`q` (`id`) ON UPDATE SET NULL, \
             CONSTRAINT `z` FOREIGN KEY (`b`) REFERENCES `r` (`id`))",
        );
        let name = |database: &str, table: &str| (database.to_owned(), table.to_owned());
        assert_eq!(found, Some(vec![name("d", "p"), name("e", "q")]));
        assert_eq!(refers_to("d", "CREATE TABLE `t` (`id` int)"), Some(Vec::new()));
        assert_eq!(refers_to("d", "nothing of the kind"), None);
    }

    #[test]
    fn counters_are_no_part_of_definitions() {
        assert_eq!(
            without_counter(
                "CREATE TABLE `t` (`a` int) ENGINE=InnoDB AUTO_INCREMENT=17 COMMENT='x'"
            ),
            "CREATE TABLE `t` (`a` int) ENGINE=InnoDB COMMENT='x'"
        );
        assert_eq!(without_counter("CREATE TABLE `t`"), "CREATE TABLE `t`");
    }
}
