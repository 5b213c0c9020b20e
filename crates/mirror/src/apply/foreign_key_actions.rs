//! Foreign key actions that the server's binlog does not contain: `ON DELETE` and `ON UPDATE` are
//! replayed on the copies.
//!
//! InnoDB of MariaDB, and of MySQL before 9.6, executes these actions internally: the binlog has
//! the change of the parent row, and nothing of the child rows. The stream therefore does the same
//! to the copies. When rows of a parent table arrive, a `Plan` says which foreign keys lead from
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
mod referrers;
mod refusals;
mod replay;
mod rows;
pub(crate) mod values;

use std::sync::Arc;

use pelorus_error::{Error, Result};
use pelorus_sql::ddl::TableDefinition;

pub(crate) use self::circle::{check_parents, others_of_circle};
pub(crate) use self::fired::{Step, fires};
pub(crate) use self::plan::{Plan, beyond, check_types, positions};
pub(crate) use self::referrers::{MirrorLookup, Referrers, referrers};
pub(crate) use self::refusals::depends;
pub use self::refusals::in_part;
pub(crate) use self::replay::Replay;
pub(crate) use self::rows::{Folded, Images};
use crate::model::foreign_key::{Action, ForeignKey};
use crate::model::mirror::Mirror;
use crate::model::record::State;

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

/// Followed mirrors whose parent table is not followed, with the reason to resynchronise them.
/// Tables of a circle would wait for each other for ever: the events that they miss of each other
/// are detected one by one.
pub(crate) fn unguarded(source: &dyn MirrorLookup) -> Vec<(Arc<Mirror>, String)> {
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
