//! Mirrors that the configuration defines.
//!
//! They are created once after the start, as soon as their servers answer. With `all`, databases
//! that appear later are mirrored as well. Existing mirrors are left unchanged; a mirror that a
//! statement drops stays dropped until the next start.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pelorus_error::{Code, Error, Result};
use pelorus_mirror::{MirrorName, Mirrors};
use pelorus_sql::statement::{MirrorFilter, MirrorStatement, Statement};

use super::copies::check_wanted;
use super::mirror_database;
use crate::links::{LinkedDatabase, Links, is_own};

/// Where mirrors are created.
#[derive(Clone, Copy)]
pub(crate) struct Place<'e> {
    pub(crate) links: &'e Links,
    pub(crate) mirrors: &'e Mirrors,
}

/// The mirrors to create.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The mirrors that are still to be created.
    left: Vec<Item>,
    /// With `all`: the databases that were made, by link and name there.
    all: Option<BTreeSet<(String, String)>>,
    /// The reported reason for each mirror that could not be created; it is reported once.
    said: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    /// All tables of a database.
    Database(String),
    /// One table: its database, its name, and the clauses after it.
    Table(String, String, How),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Database(name) => f.write_str(name),
            Item::Table(database, table, _) => write!(f, "{database}.{table}"),
        }
    }
}

/// The mirrored part of a table, and the layout of its copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct How {
    layout: Option<String>,
    filter: MirrorFilter,
}

impl How {
    /// Parses the clauses after the table in `MIRROR TABLE`.
    fn new(text: &str) -> Result<Self> {
        let mode = pelorus_sql::Mode::default();
        match pelorus_sql::classify(&format!("MIRROR TABLE t {text}"), mode)? {
            Statement::Mirror(MirrorStatement::Create { layout, filter, .. }) => {
                Ok(Self { layout, filter })
            }
            _ => Ok(Self::default()),
        }
    }
}

impl Wanted {
    /// Parses `all`, `database`, and `database.table` with the clauses of `MIRROR TABLE` after it.
    ///
    /// # Errors
    /// Text of another form (1210), and syntax errors after a table (1064).
    pub(crate) fn new(texts: Vec<String>) -> Result<Self> {
        let read = |text: String| {
            let wrong = || {
                let what =
                    format!("'{text}' cannot be mirrored: write all, database or database.table");
                Error::new(Code::WrongArguments, what)
            };
            match text.split_once('.') {
                None if text.is_empty() => Err(wrong()),
                None => Ok(Item::Database(text)),
                Some((database, table)) if database.is_empty() || table.is_empty() => Err(wrong()),
                Some((database, rest)) => {
                    let (table, how) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                    if table.contains('.') {
                        return Err(wrong());
                    }
                    Ok(Item::Table(database.to_owned(), table.to_owned(), How::new(how)?))
                }
            }
        };
        let is_all = |text: &String| text.eq_ignore_ascii_case("all");
        let all = texts.iter().any(is_all).then(BTreeSet::new);
        let others = texts.into_iter().filter(|text| !is_all(text));
        let left = others.map(read).collect::<Result<_>>()?;
        Ok(Self { left, all, said: BTreeMap::new() })
    }

    /// Creates the mirrors that can be created now. `missing` says why a database is not found.
    pub(crate) async fn make(&mut self, place: Place<'_>, missing: impl Fn() -> String) {
        if let Some(made) = &mut self.all {
            make_all(place, made, &mut self.said).await;
        }
        let mut left = Vec::new();
        for item in std::mem::take(&mut self.left) {
            let why = match make(place, &item).await {
                Ok(true) => continue,
                Ok(false) => missing(),
                Err(error) => pelorus_error::display_chain(&error),
            };
            warn(&mut self.said, item.to_string(), why);
            left.push(item);
        }
        self.left = left;
    }
}

/// Says once why something is not mirrored.
fn warn(said: &mut BTreeMap<String, String>, mirror: String, error: String) {
    if said.get(&mirror) != Some(&error) {
        tracing::warn!(mirror, error, "it cannot be mirrored yet, and is tried again");
        said.insert(mirror, error);
    }
}

/// Mirrors the databases that there are now and that were not there before.
async fn make_all(
    place: Place<'_>,
    made: &mut BTreeSet<(String, String)>,
    said: &mut BTreeMap<String, String>,
) {
    for database in place.links.databases().iter().filter(|it| !is_own(&it.local)) {
        let name = (database.link.name().to_lowercase(), database.remote.clone());
        if made.contains(&name) {
            continue;
        }
        match make_database(place, database).await {
            Ok(()) => {
                made.insert(name);
            }
            Err(error) => {
                warn(said, database.local.clone(), pelorus_error::display_chain(&error));
            }
        }
    }
}

/// Makes the mirrors of one item; `false` while its server has not answered.
async fn make(place: Place<'_>, item: &Item) -> Result<bool> {
    match item {
        Item::Database(name) => match place.links.database(name)? {
            None => Ok(false),
            Some(database) => make_database(place, &database).await.map(|()| true),
        },
        Item::Table(database, table, how) => match place.links.database(database)? {
            None => Ok(false),
            Some(found) => {
                let there = pelorus_mirror::check(&found.link, &found.remote, table).await?;
                let name = MirrorName {
                    link: found.link.name().to_lowercase(),
                    database: found.remote,
                    table: there.table.name.clone(),
                };
                if !place.mirrors.has(&name) {
                    let How { layout, filter } = how;
                    check_wanted(&there.definition(layout.clone(), filter.clone()))?;
                    let words = (!filter.is_empty()).then(|| filter.to_string());
                    place.mirrors.create(&name, layout.clone(), words)?;
                }
                Ok(true)
            }
        },
    }
}

async fn make_database(place: Place<'_>, database: &LinkedDatabase) -> Result<()> {
    let link = database.link.name().to_lowercase();
    if place.mirrors.has_database(&link, &database.remote) {
        return Ok(());
    }
    mirror_database(place.mirrors, database).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read() {
        let read = |text: &str| Wanted::new(vec![text.to_owned()]).map(|it| it.left);
        let all = Wanted::new(vec!["ALL".to_owned(), "shop".to_owned()]).unwrap();
        assert!(all.all.is_some_and(|made| made.is_empty()) && all.left.len() == 1);
        assert_eq!(read("shop").unwrap(), [Item::Database("shop".to_owned())]);
        let table = |how: &str| Item::Table("a".to_owned(), "b".to_owned(), How::new(how).unwrap());
        assert_eq!(read("a.b").unwrap(), [table("")]);
        let how = "EXCEPT COLUMNS (x) WHERE s = 'o.n' SEGMENT BY (s)";
        assert_eq!(read(&format!("a.b {how}")).unwrap(), [table(how)]);
        assert_eq!(read("a.b WHERE").unwrap_err().errno(), 1064);
        for wrong in ["", ".b", "a.", "l.a.b"] {
            assert_eq!(read(wrong).unwrap_err().errno(), 1210, "{wrong}");
        }
    }
}
