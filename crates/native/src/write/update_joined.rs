//! `UPDATE` of a join.
//!
//! Every expression sees the rows as they were before the statement. A row that occurs several
//! times in the join is changed once, by its first occurrence, as in MySQL.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::assign_array;
use pelorus_sql::dml::{Assigned, Assignment, Update};
use pelorus_sql::literal;
use pelorus_types::Column;

use super::assign::picked;
use super::change::joined;
use super::change::taken;
use super::default::without_default_calls;
use super::delete::{tables_of, without_nulls};
use super::insert::count;
use super::lookup::keys_of;
use super::update::{order_of_scan, partitions_of, refuse_version, update_plan, with_generated};
use super::warnings::Warnings;
use super::{Plan, Statement, unknown_column};
use crate::constraints::{not_assignable, of_one_row};
use crate::definition::NativeDef;
use crate::partition::explicit_selection::NamedPartitions;

/// A table of the join.
struct Joined {
    alias: String,
    /// `None` for tables that are not native, which can only be read.
    def: Option<Arc<NativeDef>>,
}

impl Statement<'_> {
    /// Plans an `UPDATE` of several tables.
    ///
    /// # Errors
    /// MySQL's errors of the statement.
    pub(super) async fn update_joined(&self, update: &Update) -> Result<Plan> {
        let mut tables = Vec::new();
        update.tables.iter().for_each(|element| tables_of(element, &mut tables));
        let tables: Vec<Joined> = tables
            .into_iter()
            .map(|(table, alias)| Joined { def: self.table(&table).ok(), alias })
            .collect();
        let mut targets: BTreeMap<usize, Vec<(usize, &Assigned)>> = BTreeMap::new();
        for assignment in &update.assignments {
            let (table, column) = target(&tables, assignment)?;
            if let Some(def) = &tables[table].def
                && def.is_generated(column)
            {
                return Err(not_assignable(def, column));
            }
            if let Assigned::Expression(expr) = &assignment.value {
                of_one_row(expr)?;
            }
            targets.entry(table).or_default().push((column, &assignment.value));
        }
        let mut changed: Vec<&NativeDef> = Vec::new();
        for table in targets.keys() {
            let Joined { alias, def: Some(def) } = &tables[*table] else { continue };
            refuse_version(&update.tables, alias)?;
            self.check_safe(&update.tables, update.selection.as_ref(), (def, alias))?;
            if changed.iter().any(|other| other.id == def.id) {
                // Both could change one row.
                return Err(Error::unsupported(format_args!(
                    "an UPDATE of table '{}' under two names; write two statements",
                    def.name
                )));
            }
            changed.push(def);
        }
        let from: Vec<String> = update.tables.iter().map(ToString::to_string).collect();
        let mut from = from.join(", ");
        if let Some(selection) = &update.selection {
            let _ = write!(from, " WHERE {selection}");
        }
        let with = update.with.as_ref().map(|with| format!("{with} ")).unwrap_or_default();
        // One query for all tables: the changed rows of all tables are from the same result, even
        // if the query is not deterministic.
        let mut wanted: Vec<String> = Vec::new();
        for (table, assignments) in &targets {
            let Joined { alias, def: Some(def) } = &tables[*table] else { continue };
            self.wanted((def, alias), assignments, &mut wanted)?;
        }
        let sql = format!("{with}SELECT {} FROM {from}", wanted.join(", "));
        let (described, batches) = self.all(&self.context, &sql).await?;
        let arrays: Vec<&[ArrayRef]> = batches.iter().map(|batch| batch.columns()).collect();
        let rows = joined(&arrays)?;
        drop(batches);
        let mut plan = update_plan();
        if rows.is_empty() {
            return Ok(plan);
        }
        let mut begin = 0;
        for (table, assignments) in targets {
            let Joined { alias, def: Some(def) } = &tables[table] else { continue };
            let of_table = begin..begin + def.columns.len() + assignments.len();
            begin = of_table.end;
            let found = (&described[of_table.clone()], &rows[of_table]);
            let (old, new) = self.joined_rows(def, &assignments, found, &mut plan)?;
            let assigned = with_generated(def, assignments.iter().map(|(column, _)| *column));
            let only = NamedPartitions::of(def, &partitions_of(&update.tables, alias))?;
            self.updated(def, (&old, &new), (&assigned, &only), &mut plan)?;
        }
        Ok(plan)
    }

    /// Adds the requested columns of a table: all its columns, and the assigned values.
    fn wanted(
        &self,
        (def, alias): (&NativeDef, &str),
        assignments: &[(usize, &Assigned)],
        wanted: &mut Vec<String>,
    ) -> Result<()> {
        let column = |it: &Column| format!("{}.{}", literal::name(alias), literal::name(&it.name));
        wanted.extend(def.columns.iter().map(column));
        for (column, value) in assignments {
            let Assigned::Expression(expr) = value else {
                let name = &def.columns[*column].name;
                return Err(Error::unsupported(format_args!(
                    "{name} = DEFAULT in an UPDATE of several tables; DEFAULT({name}) does the same"
                )));
            };
            let expr = without_default_calls(expr, def, &self.policy, self.context.mode)?;
            wanted.push(format!("({expr})"));
        }
        Ok(())
    }

    /// The rows of one table before and after the assignments, each once, from the result of the
    /// query.
    fn joined_rows(
        &self,
        def: &NativeDef,
        assignments: &[(usize, &Assigned)],
        (described, rows): (&[Column], &[ArrayRef]),
        plan: &mut Plan,
    ) -> Result<(Vec<ArrayRef>, Vec<ArrayRef>)> {
        let rows = without_nulls(rows.to_vec(), def.key[0])?;
        let (own, values) = rows.split_at(def.columns.len());
        let old = self.stored_rows(def, own)?;
        let keys = keys_of(def, &old)?;
        let mut seen = HashSet::new();
        let first: BooleanArray = keys.iter().map(|key| Some(seen.insert(key))).collect();
        let (mut old, mut values) = (picked(&old, &first)?, picked(values, &first)?);
        let assigned = with_generated(def, assignments.iter().map(|(column, _)| *column));
        if let Some(order) = order_of_scan(def, &old, &assigned)? {
            (old, values) = (taken(&old, &order)?, taken(&values, &order)?);
        }
        let mut new = old.clone();
        let mut warnings = Warnings::default();
        for (at, (column, _)) in assignments.iter().enumerate() {
            let ty = &described[def.columns.len() + at].ty;
            let assigned = assign_array(&def.targets[*column], &self.policy, &values[at], ty)?;
            warnings.add(assigned.warnings, assigned.warning_count);
            new[*column] = assigned.array;
        }
        debug_assert_eq!(count(&old), count(&new));
        plan.warnings.append(warnings);
        Ok((old, new))
    }
}

/// The table and column of an assignment.
fn target(tables: &[Joined], assignment: &Assignment) -> Result<(usize, usize)> {
    let whole = assignment.column.join(".");
    let name = assignment.column.last().map_or("", String::as_str);
    let qualifier = assignment.column.iter().rev().nth(1);
    let mut found = None;
    for (at, table) in tables.iter().enumerate() {
        let is_its = |qualifier: &String| match table.def {
            Some(_) => *qualifier == table.alias,
            None => qualifier.eq_ignore_ascii_case(&table.alias),
        };
        if qualifier.is_some_and(|qualifier| !is_its(qualifier)) {
            continue;
        }
        let Some(def) = &table.def else {
            if qualifier.is_some() {
                return Err(Error::unsupported(format_args!(
                    "an UPDATE of the linked table '{}' together with native tables",
                    table.alias
                )));
            }
            continue;
        };
        let Some(column) = def.position(name) else { continue };
        if found.replace((at, column)).is_some() {
            return Err(Error::new(
                Code::AmbiguousColumn,
                format!("Column '{name}' in field list is ambiguous"),
            ));
        }
    }
    found.ok_or_else(|| unknown_column(&whole))
}
