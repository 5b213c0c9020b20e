//! Foreign key actions that the server's binlog does not contain: `ON DELETE` and `ON UPDATE` are
//! replayed on the copies.
//!
//! InnoDB of MariaDB, and of MySQL before 9.6, executes these actions internally: the binlog has
//! the change of the parent row, and nothing of the child rows. The stream therefore does the same
//! to the copies. When rows of a parent table arrive, a [`Plan`] says which foreign keys lead from
//! there to copies, directly and through other tables (`plan`). At the commit of the batch its
//! changes are processed in their order, and each change of a row is followed by the foreign key
//! actions that it causes (`replay`). Child rows are looked up in the copies (`find`).
//!
//! This requires complete chains of copies: a table is mirrored only as long as its parent tables
//! are; tables that refer to each other in a circle begin together (`circle`). If rows that are not
//! in a copy yet could hide the effect of an action (a table between two others that is still being
//! read, a table that refers to itself), the table is resynchronised; no effect is ever guessed.
//! The same applies to rows whose result depends on the order of several foreign keys (`plan`), and
//! to more rows than fit the memory limit.

mod circle;
mod find;
mod fired;
mod plan;
mod replay;
mod rows;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray};
use pelorus_error::{Error, Result};
use pelorus_sql::ddl::{ReferenceAction, TableDefinition};
use serde::{Deserialize, Serialize};

pub(crate) use self::circle::{check_parents, others_of_circle};
pub(crate) use self::fired::{Step, fires};
pub(crate) use self::plan::{Plan, beyond, positions};
pub(crate) use self::replay::Replay;
pub(crate) use self::rows::{Folded, Images};
use crate::control::mirrors::MirrorName;
use crate::model::copies::CopyTable;
use crate::model::mirror::Mirror;
use crate::model::record::State;
use crate::source::Source;

/// The action of a foreign key on rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// They go too, or get the new values.
    Cascade,
    /// They refer to nothing any more.
    SetNull,
}

impl Action {
    fn of(action: Option<ReferenceAction>) -> Option<Self> {
        match action {
            Some(ReferenceAction::Cascade) => Some(Self::Cascade),
            Some(ReferenceAction::SetNull) => Some(Self::SetNull),
            // InnoDB does not run `SET DEFAULT`: the change is refused.
            _ => None,
        }
    }
}

/// A foreign key that changes rows of its table, as a mirror remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The database of the table that is referred to.
    pub database: String,
    /// That table.
    pub table: String,
    /// Its columns.
    pub referred: Vec<String>,
    /// `ON DELETE`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_delete: Option<Action>,
    /// `ON UPDATE`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_update: Option<Action>,
}

impl ForeignKey {
    /// Whether it leaves rows there with other values.
    fn alters(&self) -> bool {
        self.on_update.is_some() || self.on_delete == Some(Action::SetNull)
    }

    /// Whether it refers to a table.
    pub(crate) fn refers_to(&self, database: &str, table: &str) -> bool {
        self.database == database && self.table == table
    }
}

/// The foreign keys of a table of `database` that change its rows, in the order in which InnoDB
/// goes through them, which is that of their names.
///
/// # Errors
/// Keys that cannot be followed, with the reason.
pub(crate) fn foreign_keys(
    database: &str,
    definition: &TableDefinition,
) -> Result<Vec<ForeignKey>> {
    let table = &definition.name.name;
    let mut keys = Vec::new();
    for key in &definition.foreign_keys {
        let there = &key.references;
        let key = ForeignKey {
            name: key.name.clone().unwrap_or_default(),
            columns: key.columns.clone(),
            database: there.table.database.clone().unwrap_or_else(|| database.to_owned()),
            table: there.table.name.clone(),
            referred: there.columns.clone(),
            on_delete: Action::of(there.on_delete),
            on_update: Action::of(there.on_update),
        };
        if key.on_delete.is_none() && key.on_update.is_none() {
            continue;
        }
        if key.alters() && definition.columns.iter().any(|column| column.generated.is_some()) {
            return Err(Error::unsupported(format_args!(
                "mirrors of '{database}.{table}', whose foreign key '{}' changes rows that have \
                 generated columns: this server does not write such changes into its binlog, and \
                 their values are computed there only",
                key.name
            )));
        }
        keys.push(key);
    }
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(keys)
}

/// Which mirrors have foreign keys that refer to a table, by database and name.
pub(crate) type Referrers = HashMap<(String, String), Vec<Arc<Mirror>>>;

/// Collects them.
pub(crate) fn referrers(mirrors: &[Arc<Mirror>]) -> Referrers {
    let mut all = Referrers::new();
    for mirror in mirrors {
        let there: BTreeSet<(String, String)> = mirror
            .foreign_keys()
            .iter()
            .map(|key| (key.database.clone(), key.table.clone()))
            .collect();
        for table in there {
            all.entry(table).or_default().push(Arc::clone(mirror));
        }
    }
    all
}

/// Followed mirrors whose parent table is not followed, with the reason to resynchronise them.
/// Tables of a circle would wait for each other for ever: the events that they miss of each other
/// are detected one by one.
pub(crate) fn unguarded(source: &Source) -> Vec<(Arc<Mirror>, String)> {
    let referrers = source.all_referrers();
    let mut found = Vec::new();
    for ((database, table), children) in referrers.iter() {
        let parent = source.mirror(database, table);
        if parent.as_ref().is_some_and(|it| it.state().follows()) {
            continue;
        }
        let waits = parent.as_ref().filter(|it| it.state() == State::Waiting);
        let how = parent.as_ref().map_or("not mirrored", |it| it.state().word());
        for child in children.iter().filter(|it| it.state().follows()) {
            if !waits.is_some_and(|parent| circle::refers_to(source, parent, child)) {
                found.push((Arc::clone(child), depends(database, table, how)));
            }
        }
    }
    found
}

/// Why a table is not mirrored that refers to another.
pub(crate) fn depends(database: &str, table: &str, how: &str) -> String {
    format!(
        "a foreign key changes its rows when those of '{database}.{table}' change, and that table \
         is {how}"
    )
}

/// Mirrors of a part of a table do not go with foreign keys that are followed here.
pub fn in_part(name: &MirrorName) -> Error {
    Error::unsupported(format_args!(
        "mirrors of a part of '{name}', where foreign keys change rows and this server does not \
         write that into its binlog; mirror all of it"
    ))
}

/// Checks whether the values of a foreign key can be compared with those that they refer to, as the
/// copies have them.
///
/// # Errors
/// The difference (1235).
pub(crate) fn check_types(
    key: &ForeignKey,
    child: &dyn CopyTable,
    parent: &dyn CopyTable,
) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::unsupported(format_args!(
            "mirrors of tables whose foreign key '{}' changes rows and {why}: this server does not \
             write such changes into its binlog",
            key.name
        )))
    };
    let (Some(here), Some(there)) =
        (positions(child, &key.columns), positions(parent, &key.referred))
    else {
        return refuse("has columns that the copies do not have");
    };
    for (&here, &there) in here.iter().zip(&there) {
        let (here, there) = (&child.columns()[here], &parent.columns()[there]);
        let alike = here.ty.arrow() == there.ty.arrow()
            && here.ty.collation == there.ty.collation
            && here.members == there.members;
        if !alike {
            return refuse("whose columns are of other types than those that they refer to");
        }
        if here.ty.arrow().is_floating() {
            return refuse("whose columns are FLOAT or DOUBLE");
        }
        if here.ty.arrow() == arrow::datatypes::DataType::Utf8 {
            if !here.ty.collation.has_plain_charset() {
                return refuse("whose columns are in a character set that mirrors only show");
            }
            // Says so when the collation's rules are not known.
            let text: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["a"]));
            let at = positions(child, std::slice::from_ref(&here.name)).unwrap_or_default();
            child.encoded(&at, 1, &[text])?;
        }
    }
    Ok(())
}

/// The encoded values of some columns of rows; `None` where one of them is NULL, which refers to
/// nothing (`MATCH SIMPLE`). `arrays` are those columns.
///
/// # Errors
/// A collation whose rules are not known.
pub(crate) fn values(
    copy: &dyn CopyTable,
    columns: &[usize],
    arrays: &[ArrayRef],
) -> Result<Vec<Option<Vec<u8>>>> {
    let rows = arrays.first().map_or(0, |array| array.len());
    if arrays.iter().all(|array| array.null_count() == 0) {
        let keys = copy.encoded(columns, rows, arrays)?;
        return Ok(keys.iter().map(|key| Some(key.to_vec())).collect());
    }
    let is_there: Vec<bool> =
        (0..rows).map(|row| arrays.iter().all(|array| array.is_valid(row))).collect();
    let mask = BooleanArray::from(is_there.clone());
    let there: Vec<ArrayRef> = arrays
        .iter()
        .map(|array| arrow::compute::filter(array, &mask).map_err(cannot))
        .collect::<Result<_>>()?;
    let keys = copy.encoded(columns, mask.true_count(), &there)?;
    let mut keys = keys.iter();
    Ok(is_there
        .into_iter()
        .map(|is_there| if is_there { keys.next().map(<[u8]>::to_vec) } else { None })
        .collect())
}

fn cannot(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows of foreign keys cannot be put together").caused_by(error)
}

#[cfg(test)]
mod tests {
    use pelorus_sql::ddl::TableStatement;

    use super::*;

    fn keys(text: &str) -> Result<Vec<ForeignKey>> {
        match pelorus_sql::ddl::parse(text, pelorus_sql::Mode::default())? {
            TableStatement::Create(definition) => foreign_keys("d", &definition),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn keys_that_change_rows_are_kept_in_their_order() {
        let found = keys(
            "CREATE TABLE `t` (`id` int NOT NULL, `a` int, `b` int, PRIMARY KEY (`id`), \
             CONSTRAINT `y` FOREIGN KEY (`a`) REFERENCES `p` (`id`) ON DELETE CASCADE, \
             CONSTRAINT `x` FOREIGN KEY (`a`, `b`) REFERENCES `e`.`q` (`c`, `d`) \
             ON DELETE SET NULL ON UPDATE CASCADE, \
             CONSTRAINT `z` FOREIGN KEY (`b`) REFERENCES `p` (`id`) ON DELETE NO ACTION)",
        )
        .unwrap();
        assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
        assert!(found[0].refers_to("e", "q") && found[1].refers_to("d", "p"));
        assert_eq!(found[0].on_delete, Some(Action::SetNull));
        assert_eq!((found[1].on_delete, found[1].on_update), (Some(Action::Cascade), None));
    }

    #[test]
    fn generated_columns_of_rows_that_change_are_refused() {
        let text = |action: &str| {
            format!(
                "CREATE TABLE `t` (`id` int NOT NULL, `a` int, `g` int GENERATED ALWAYS AS (`a`), \
                 PRIMARY KEY (`id`), \
                 CONSTRAINT `y` FOREIGN KEY (`a`) REFERENCES `p` (`id`) {action})"
            )
        };
        assert_eq!(keys(&text("ON DELETE CASCADE")).unwrap().len(), 1);
        assert!(keys(&text("ON DELETE SET NULL")).is_err());
        assert!(keys(&text("ON UPDATE CASCADE")).is_err());
    }
}
