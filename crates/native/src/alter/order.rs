//! The order in which the actions of one `ALTER TABLE` take effect. Actions name columns as they
//! were before the statement, whatever other actions make of them.

use std::collections::HashSet;

use pelorus_error::{Code, Error, Result};
use pelorus_sql::ddl::{AlterAction, ColumnDefinition, KeyTarget};

use super::actions::Draft;
use crate::check::{duplicate_column, has_beginning};
use crate::foreign_key_renames::rename_referred;
use crate::hidden::is_hidden;

/// When an action takes effect, as in MySQL: what goes is gone before names change, and all names
/// change at once before anything new refers to them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// Partitioning and sorting, which may free columns to be dropped or renamed.
    Places,
    DropKey,
    DropColumn,
    /// The charset of the table, which columns that are there do not follow, and new ones do.
    Charset,
    /// After the names of columns have changed.
    Rest,
    /// Gives all columns a charset, including new ones.
    Convert,
}

fn turn(action: &AlterAction) -> Turn {
    match action {
        AlterAction::PartitionBy(_)
        | AlterAction::RemovePartitioning
        | AlterAction::SegmentBy(_) => Turn::Places,
        AlterAction::DropPrimaryKey
        | AlterAction::DropKey { .. }
        | AlterAction::DropForeignKey(_)
        | AlterAction::DropCheck(_)
        | AlterAction::DropConstraint(_) => Turn::DropKey,
        AlterAction::DropColumn { .. } => Turn::DropColumn,
        AlterAction::Option(option) if matches!(option.name.as_str(), "CHARSET" | "COLLATE") => {
            Turn::Charset
        }
        AlterAction::Convert { .. } => Turn::Convert,
        _ => Turn::Rest,
    }
}

impl Draft<'_> {
    /// Executes all actions of a statement.
    ///
    /// # Errors
    /// Objects that do not exist, or exist already; 1235 for what native tables do not do.
    pub(super) fn apply_all(&mut self, actions: &[AlterAction]) -> Result<()> {
        self.check_once(actions)?;
        let mut ordered: Vec<&AlterAction> = actions.iter().collect();
        ordered.sort_by_key(|action| turn(action));
        let (first, rest) = ordered.split_at(ordered.partition_point(|it| turn(it) < Turn::Rest));
        first.iter().try_for_each(|action| self.apply(action))?;
        self.rename_columns(actions)?;
        rest.iter().try_for_each(|action| self.apply(action))?;
        self.widen_keys();
        if self.definition.columns.is_empty() {
            let text = "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
            return Err(Error::new(Code::CannotRemoveAllColumns, text));
        }
        Ok(())
    }

    /// Keys of the beginnings of columns that have another type now, of which no such part can be taken,
    /// are keys of the whole columns.
    fn widen_keys(&mut self) {
        let before = &self.def.definition.columns;
        let columns = self.definition.columns.iter().zip(&self.origins);
        let changed: Vec<&ColumnDefinition> = columns
            .filter(|(column, origin)| {
                origin.is_some_and(|at| before[at].data_type != column.data_type)
            })
            .map(|(column, _)| column)
            .collect();
        for part in self.definition.keys.iter_mut().flat_map(|key| &mut key.parts) {
            let KeyTarget::Column(name) = &part.target else { continue };
            let column = changed.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            part.length =
                part.length.filter(|length| column.is_none_or(|it| has_beginning(it, *length)));
        }
    }

    /// Refuses two actions that define or rename one column, as MySQL does: the second one does not
    /// find it any more.
    fn check_once(&self, actions: &[AlterAction]) -> Result<()> {
        let mut seen: HashSet<String> = HashSet::new();
        for action in actions {
            let name = match action {
                AlterAction::ModifyColumn { column, .. } => &column.name,
                AlterAction::ChangeColumn { from: name, .. }
                | AlterAction::RenameColumn(name, _)
                | AlterAction::ColumnDefault(name, _)
                | AlterAction::ColumnVisible(name, _) => name,
                _ => continue,
            };
            if !seen.insert(name.to_ascii_lowercase()) && !is_hidden(&self.def.database) {
                return Err(self.unknown_column(name));
            }
        }
        Ok(())
    }

    /// The position of a column by the name that it had before the statement, or error 1054.
    pub(super) fn column_that_was(&self, name: &str) -> Result<usize> {
        let was = self.def.position(name);
        let at = was.and_then(|was| self.origins.iter().position(|it| *it == Some(was)));
        at.ok_or_else(|| self.unknown_column(name))
    }

    /// Gives columns the new names of `RENAME COLUMN` and `CHANGE`, so that names can be exchanged.
    fn rename_columns(&mut self, actions: &[AlterAction]) -> Result<()> {
        let mut renamed: Vec<(usize, &str, &str)> = Vec::new();
        for action in actions {
            let (from, to, what) = match action {
                AlterAction::RenameColumn(from, to) => (from, to, "RENAME COLUMN"),
                AlterAction::ChangeColumn { if_exists: true, from, .. }
                    if self.column_that_was(from).is_err() =>
                {
                    continue;
                }
                AlterAction::ChangeColumn { from, column, .. } => (from, &column.name, "CHANGE"),
                _ => continue,
            };
            let at = self.column_that_was(from)?;
            if renamed.iter().any(|(other, ..)| *other == at) {
                return Err(self.unknown_column(from));
            }
            if !from.eq_ignore_ascii_case(to) {
                self.check_not_placing(from, what)?;
                self.check_not_computed_of(from)?;
            }
            renamed.push((at, from, to));
        }
        let new_name = |name: &mut String| {
            let found = renamed.iter().find(|(_, from, _)| from.eq_ignore_ascii_case(name));
            if let Some((.., to)) = found {
                (*to).clone_into(name);
            }
        };
        for part in self.definition.keys.iter_mut().flat_map(|key| &mut key.parts) {
            if let KeyTarget::Column(name) = &mut part.target {
                new_name(name);
            }
        }
        self.definition.foreign_keys.iter_mut().flat_map(|key| &mut key.columns).for_each(new_name);
        // Keys that refer to the table itself follow; those that are new name columns as they are
        // called now.
        let pairs = renamed.iter().map(|(_, from, to)| ((*from).to_owned(), (*to).to_owned()));
        let itself = (self.def.database.as_str(), self.def.name.as_str());
        let pairs: Vec<(String, String)> = pairs.collect();
        rename_referred(&mut self.definition, &self.def.database, itself, &pairs);
        for (at, _, to) in renamed {
            to.clone_into(&mut self.definition.columns[at].name);
        }
        let columns = &self.definition.columns;
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|it| it.name.eq_ignore_ascii_case(&column.name)) {
                return Err(duplicate_column(&column.name));
            }
        }
        Ok(())
    }

    /// Error 1054.
    pub(super) fn unknown_column(&self, name: &str) -> Error {
        let text = format!("Unknown column '{name}' in '{}'", self.def.name);
        Error::new(Code::UnknownColumn, text)
    }
}
