//! What `ALTER TABLE` does that copies cannot follow with the server's result, and new names.

use pelorus_sql::statement::TableName;
use pelorus_sql::table::{AlterAction, ColumnDefault, ColumnDefinition};

use crate::cascade::ForeignKey;
use crate::mirror::Mirror;
use crate::mirrorable;

/// The renaming among the actions of an `ALTER TABLE`. A new name without a database is one of the
/// session's database, whichever the table comes from.
pub(super) fn renames(table: &TableName, actions: &[AlterAction]) -> Vec<(TableName, TableName)> {
    let to = actions.iter().rev().find_map(|action| match action {
        AlterAction::Rename(to) => Some(to.clone()),
        _ => None,
    });
    to.map(|to| (table.clone(), to)).into_iter().collect()
}

/// Whether an action gives one of some columns another name.
pub(super) fn renames_one(action: &AlterAction, columns: &[String]) -> bool {
    let is_one = |name: &String| columns.iter().any(|it| it.eq_ignore_ascii_case(name));
    match action {
        AlterAction::ChangeColumn { from, column, .. } => {
            is_one(from) && !from.eq_ignore_ascii_case(&column.name)
        }
        AlterAction::RenameColumn(from, _) => is_one(from),
        _ => false,
    }
}

/// The same of the columns of a mirror's own foreign keys.
pub(super) fn renamed_reference(mirror: &Mirror, actions: &[AlterAction]) -> Option<&'static str> {
    let keys = mirror.foreign_keys();
    let renames = |key: &ForeignKey| actions.iter().any(|it| renames_one(it, &key.columns));
    keys.iter().any(renames).then_some("a column of a foreign key was renamed")
}

/// Why an action cannot be carried out on a copy with the server's result.
pub(super) fn hazard(action: &AlterAction, has_layout: bool) -> Option<&'static str> {
    let computed = |column: &ColumnDefinition| -> Option<&'static str> {
        if column.generated.is_some() {
            return Some("a generated column was added or changed");
        }
        if column.auto_increment || column.primary {
            return Some("a column that numbers rows was added or changed");
        }
        // The moment depends on the session's time zone, which the binlog need not tell.
        matches!(
            column.default,
            Some(ColumnDefault::Expression(_) | ColumnDefault::CurrentTimestamp(_))
        )
        .then_some("a column with a computed default was added or changed")
    };
    match action {
        // MariaDB makes a foreign key of it.
        AlterAction::AddColumn { column, .. }
            if column.references.as_ref().is_some_and(mirrorable::cascades) =>
        {
            Some("a foreign key was added that changes rows")
        }
        AlterAction::AddColumn { column, .. } => computed(column),
        AlterAction::ModifyColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
            column.generated.is_some().then_some("a generated column was changed")
        }
        AlterAction::AddForeignKey(key) if mirrorable::cascades(&key.references) => {
            Some("a foreign key was added that changes rows")
        }
        AlterAction::ImportTablespace(_) => Some("a tablespace was exchanged"),
        AlterAction::ExchangePartition { .. } => Some("a partition was exchanged"),
        AlterAction::DropPartitions { .. } | AlterAction::TruncatePartitions(_) if has_layout => {
            Some("rows went with partitions that the copy does not have")
        }
        AlterAction::DropPrimaryKey => Some("the primary key was dropped"),
        AlterAction::Convert { charset: None, .. } => {
            Some("the table was converted to the charset of its database")
        }
        AlterAction::Option(option)
            if option.name == "CHARSET" && option.value.eq_ignore_ascii_case("default") =>
        {
            Some("the table has got the charset of its database")
        }
        _ => None,
    }
}
