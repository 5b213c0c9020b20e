//! Plans `DELETE` on native tables, of one table or several.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, new_null_array};
use pelorus_error::{Code, Error, Result};
use pelorus_sql::ast::{TableFactor, TableWithJoins};
use pelorus_sql::dml::Delete;
use pelorus_sql::statement::TableName;
use pelorus_types::Column;

use super::assign::picked;
use super::auto::Numbers;
use super::change::Change;
use super::insert::count;
use super::storage_form::stored_keys;
use super::update::{Wanted, named, order_and_limit, refuse_version, single};
use super::warnings::Warnings;
use super::{Plan, Report, Statement};
use crate::ddl::not_unique;
use crate::definition::NativeDef;

impl Statement<'_> {
    /// Plans a `DELETE`.
    ///
    /// # Errors
    /// MySQL's errors of the statement; 1235 for RETURNING.
    pub(super) async fn delete(&self, delete: &Delete) -> Result<Plan> {
        if !delete.returning.is_empty() {
            return Err(Error::unsupported(
                "RETURNING in native tables; SELECT the rows before, in the same transaction",
            ));
        }
        let from: Vec<String> = delete.from.iter().map(ToString::to_string).collect();
        let mut from = from.join(", ");
        if let Some(selection) = &delete.selection {
            let _ = write!(from, " WHERE {selection}");
        }
        from.push_str(&order_and_limit(&delete.order_by, delete.limit.as_ref())?);
        let with = delete.with.as_ref().map(|with| format!("{with} ")).unwrap_or_default();
        let mut tables = Vec::new();
        for (table, alias) in self.targets(delete)? {
            refuse_version(&delete.from, &alias)?;
            let def = self.table(&table)?;
            if delete.limit.is_none() {
                self.check_safe(&delete.from, delete.selection.as_ref(), (&def, &alias))?;
            }
            tables.push((def, alias));
        }
        // One query for all of them: the deleted rows of all tables are from the same result, even
        // if the query is not deterministic.
        let wanted: Vec<Wanted<'_>> =
            tables.iter().map(|(def, alias)| (&**def, alias.as_str(), &*def.key)).collect();
        let found = self.rows_of_tables(&wanted, (&with, &from)).await?;
        let mut changes: Vec<Change> = Vec::new();
        for ((def, _), keys) in tables.iter().zip(found) {
            let columns: Vec<&Column> = def.key.iter().map(|&at| &def.columns[at]).collect();
            let keys = stored_keys(&columns, &without_nulls(keys, 0)?, self.policy.time_zone)?;
            if count(&keys) == 0 {
                continue;
            }
            let rows = rows_of_keys(def, &keys);
            match changes.iter_mut().find(|change| change.def.id == def.id) {
                Some(change) => change.removes.push(rows),
                None => {
                    let mut change = Change::new(Arc::clone(def));
                    change.removes.push(rows);
                    changes.push(change);
                }
            }
        }
        Ok(Plan {
            changes,
            depends: true,
            warnings: Warnings::default(),
            report: Report::Delete,
            numbers: Numbers::default(),
            alike: 0,
        })
    }

    /// The tables from which rows are deleted, with their aliases.
    fn targets(&self, delete: &Delete) -> Result<Vec<(TableName, String)>> {
        if delete.targets.is_empty() {
            let table = single(&delete.from).ok_or_else(|| Error::unsupported("this DELETE"))?;
            return Ok(vec![table]);
        }
        let factors: Vec<&TableFactor> = delete.from.iter().flat_map(factors_of).collect();
        let find = |target: &TableName| {
            let name = &target.name;
            let mut tables = factors.iter().filter_map(|it| self.as_target(it, target));
            match (tables.next(), tables.next()) {
                (Some(table), None) => Ok(table),
                (Some(_), Some(_)) => Err(not_unique(name)),
                (None, _) => {
                    let text = format!("Unknown table '{name}' in MULTI DELETE");
                    Err(Error::new(Code::UnknownTableInFieldList, text))
                }
            }
        };
        let mut found: Vec<(TableName, String)> = Vec::new();
        for target in &delete.targets {
            let table = find(target)?;
            let database = |table: &TableName| {
                table.database.clone().or_else(|| self.database.map(str::to_owned))
            };
            let is_same = |(other, alias): &(TableName, String)| {
                *alias == table.1 && database(other) == database(&table.0)
            };
            if found.iter().any(is_same) {
                return Err(not_unique(&target.name));
            }
            found.push(table);
        }
        Ok(found)
    }

    /// A table of `FROM`, if it is the one that a target names. A name alone means what goes by it, or
    /// a table of the current database; with a database in front it never is an alias.
    fn as_target(&self, factor: &TableFactor, target: &TableName) -> Option<(TableName, String)> {
        let (table, alias) = named(factor)?;
        let has_alias = matches!(factor, TableFactor::Table { alias: Some(_), .. });
        let is_same_database = match has_alias {
            true => target.database.is_none(),
            false => {
                let of_target = target.database.as_deref().or(self.database);
                of_target == table.database.as_deref().or(self.database)
            }
        };
        (is_same_database && alias == target.name).then_some((table, alias))
    }
}

/// Rows without those that an outer join has put there: a column of their key is NULL.
///
/// # Errors
/// Columns of several lengths, which is a bug.
pub(super) fn without_nulls(rows: Vec<ArrayRef>, key: usize) -> Result<Vec<ArrayRef>> {
    if rows.get(key).is_none_or(|key| key.null_count() == 0) {
        return Ok(rows);
    }
    let is_row = arrow::compute::is_not_null(&rows[key])
        .map_err(|error| Error::internal("rows cannot be told apart").caused_by(error))?;
    picked(&rows, &is_row)
}

/// Rows of all columns of which only the key is known.
fn rows_of_keys(def: &NativeDef, keys: &[ArrayRef]) -> Vec<ArrayRef> {
    let rows = count(keys);
    (0..def.columns.len())
        .map(|at| match def.key.iter().position(|&it| it == at) {
            Some(place) => Arc::clone(&keys[place]),
            None => new_null_array(&def.targets[at].ty.arrow(), rows),
        })
        .collect()
}

/// The tables of one element of `FROM`, with their aliases.
pub(super) fn tables_of(tables: &TableWithJoins, out: &mut Vec<(TableName, String)>) {
    out.extend(factors_of(tables).into_iter().filter_map(named));
}

/// All that one element of `FROM` joins.
fn factors_of(tables: &TableWithJoins) -> Vec<&TableFactor> {
    let factors =
        std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation));
    factors
        .flat_map(|factor| match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => factors_of(table_with_joins),
            other => vec![other],
        })
        .collect()
}
