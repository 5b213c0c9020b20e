//! Charsets and collations of sources: those of a table's columns, those that a statement implies,
//! and whether a server interprets its charsets as we do.

use std::collections::BTreeMap;

use pelorus_binlog::Status;
use pelorus_error::{Error, Result};
use pelorus_link::{Link, SessionSettings};
use pelorus_types::charset::Table;
use pelorus_types::{Collation, collation};

/// The collations of a table's text columns, and its own by an empty name, as the server has them now.
pub(crate) async fn of_table(
    link: &Link,
    database: &str,
    table: &str,
) -> Result<Vec<(String, String)>> {
    link.forget();
    let Some(found) = link.table(database, table).await? else { return Ok(Vec::new()) };
    let own = found.collation.iter().map(|it| (String::new(), it.clone()));
    let columns = found.columns.iter();
    let columns = columns.filter_map(|it| Some((it.name.clone(), it.collation.clone()?)));
    Ok(own.chain(columns).collect())
}

/// Checks that the text of all columns can be read from the binlog as the server shows it, by
/// comparing all characters of their charsets with the server's. Errors call the table `name`.
///
/// # Errors
/// A charset that is not known here, or that the server reads differently, with the column that has
/// it.
pub(crate) async fn check(link: &Link, name: &str, collations: &[(String, String)]) -> Result<()> {
    let mut charsets: BTreeMap<&str, &str> = BTreeMap::new();
    for (column, collation) in collations.iter().filter(|(column, _)| !column.is_empty()) {
        let refused = |what: &str| {
            Error::unsupported(format_args!("mirrors of {name}, whose column '{column}' {what}"))
        };
        let Some(found) = Collation::by_name(collation) else {
            return Err(refused(&format!(
                "has the collation {collation}, which is not known here"
            )));
        };
        let charset = found.charset();
        if charsets.contains_key(charset) {
            continue;
        }
        if let Some(table) = Table::of(charset) {
            if !is_read_alike(link, table).await? {
                return Err(refused(&format!(
                    "is in character set {charset}, which this server reads in another way"
                )));
            }
        } else if !pelorus_binlog::reads(found) {
            return Err(refused(&format!(
                "is in character set {charset}, which is not known here"
            )));
        }
        charsets.insert(charset, column);
    }
    Ok(())
}

/// Whether a server makes the same of every character of a charset.
async fn is_read_alike(link: &Link, table: &Table) -> Result<bool> {
    let bytes = table.characters();
    let mut expected = Vec::new();
    if !table.decode(&bytes, &mut expected) {
        return Ok(false);
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    let sql = format!("SELECT CONVERT(_{} X'{hex}' USING utf8mb4)", table.name());
    let rows = link.ask(&SessionSettings::as_stored(), &sql).await?;
    let text = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
    Ok(text.is_some_and(|text| text.as_bytes() == expected))
}

/// The default collation that a statement implies by a charset, if it differs from ours. A MariaDB
/// says it of those that the session has changed, a MySQL from 8.0 on of `utf8mb4`; before that it
/// was `utf8mb4_general_ci` everywhere. What `utf8` is depends on the session of a MariaDB.
pub(crate) fn of_session(status: &Status, is_mariadb: bool) -> Vec<(String, Option<Collation>)> {
    let told = status.charset_collations.iter();
    let mut all: Vec<(String, Option<Collation>)> =
        told.map(|(charset, to)| (charset.charset().to_owned(), known(*to))).collect();
    if !all.iter().any(|(charset, _)| charset == "utf8mb4") {
        let of_utf8mb4 = status.default_for_utf8mb4.unwrap_or(collation::UTF8MB4_GENERAL_CI);
        all.push(("utf8mb4".to_owned(), known(of_utf8mb4)));
    }
    if is_mariadb {
        all.push(("utf8".to_owned(), None));
    }
    all
}

fn known(collation: Collation) -> Option<Collation> {
    collation.info().map(|_| collation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sessions_mean_by_a_charset() {
        let of = |status: &Status, is_mariadb, charset: &str| {
            let all = of_session(status, is_mariadb);
            all.into_iter().find(|(name, _)| name == charset).map(|(_, to)| to)
        };
        let mut status = Status::default();
        assert_eq!(of(&status, true, "utf8mb4"), Some(Some(collation::UTF8MB4_GENERAL_CI)));
        assert_eq!(of(&status, true, "utf8"), Some(None));
        assert_eq!(of(&status, false, "utf8"), None);
        status.default_for_utf8mb4 = Some(collation::UTF8MB4_0900_AI_CI);
        assert_eq!(of(&status, false, "utf8mb4"), Some(Some(collation::UTF8MB4_0900_AI_CI)));
        let bin = collation::UTF8MB4_BIN;
        status.charset_collations =
            vec![(collation::UTF8MB4_GENERAL_CI, bin), (Collation(8), Collation(60_000))];
        assert_eq!(of(&status, true, "utf8mb4"), Some(Some(bin)));
        assert_eq!(of(&status, true, "latin1"), Some(None));
    }
}
