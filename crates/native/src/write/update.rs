//! Plans `UPDATE` of one native table.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{NullRule, Numbering, Policy};
use pelorus_functions::value_at;
use pelorus_sql::ast::{TableFactor, TableWithJoins};
use pelorus_sql::dml::Update;
use pelorus_sql::statement::TableName;
use pelorus_sql::{ast_analysis, literal};
use pelorus_store::{Mode, bytes_of};

use super::assign::{Names, changed, picked};
use super::auto::{self, Numbers};
use super::change::joined;
use super::change::{Change, taken};
use super::insert::count;
use super::lookup::{duplicate_entry, duplicate_text, existing, keys_of};
use super::on_duplicate::{number_of, without_last_insert_id};
use super::partition_check::CheckedRows;
use super::warnings::Warnings;
use super::{Plan, Report, Statement, check_bytes};
use crate::constraints::of_one_row;
use crate::definition::NativeDef;
use crate::partition::explicit_selection::NamedPartitions;

/// The number of the warning for a key that is there.
const DUPLICATE: u16 = 1062;

/// A table of a statement, its alias, and its requested columns.
pub(super) type Wanted<'w> = (&'w NativeDef, &'w str, &'w [usize]);

impl Statement<'_> {
    /// Plans an `UPDATE`.
    ///
    /// # Errors
    /// MySQL's errors of the statement.
    pub(super) async fn update(&mut self, update: &Update) -> Result<Plan> {
        self.policy =
            Policy { nulls: NullRule::Replace, numbering: Numbering::Given, ..self.policy };
        let Some((table, alias)) = single(&update.tables) else {
            return self.update_joined(update).await;
        };
        refuse_version(&update.tables, &alias)?;
        let def = self.table(&table)?;
        let only = NamedPartitions::of(&def, &partitions_of(&update.tables, &alias))?;
        let names = Names { table: &alias, new: None, given: &[] };
        let (assignments, told) = without_last_insert_id(&update.assignments);
        let sources = self.sources(&def, &assignments, names)?;
        let told = told.and_then(|column| def.position(&column));
        if update.limit.is_none() {
            self.check_safe(&update.tables, update.selection.as_ref(), (&def, &alias))?;
        }
        let mut tail = String::new();
        if let Some(selection) = &update.selection {
            let _ = write!(tail, " WHERE {selection}");
        }
        tail.push_str(&order_and_limit(&update.order_by, update.limit.as_ref())?);
        let with = update.with.as_ref().map(|with| format!("{with} ")).unwrap_or_default();
        let wanted: Vec<usize> = (0..def.columns.len()).collect();
        let from = format!("{}{tail}", update.tables[0]);
        let old = self.rows_of(&def, &alias, &wanted, &with, &from).await?;
        let mut old = self.stored_rows(&def, &old)?;
        let mut plan = update_plan();
        if count(&old) > 0 {
            let assigned = with_generated(&def, sources.iter().map(|(column, _)| *column));
            if update.order_by.is_empty()
                && let Some(order) = order_of_scan(&def, &old, &assigned)?
            {
                old = taken(&old, &order)?;
            }
            let none = (&[][..], &[][..]);
            let warnings = &mut plan.warnings;
            let new = self.assigned(&def, &alias, &old, none, &sources, warnings).await?;
            // `LAST_INSERT_ID(...)` is what it was given for the last row.
            if let Some(column) = told {
                let value = value_at(&new[column], &def.targets[column].ty, count(&new) - 1)?;
                plan.numbers.first_made = number_of(&value);
            }
            self.updated(&def, (&old, &new), (&assigned, &only), &mut plan)?;
        }
        Ok(plan)
    }

    /// Adds the rows of one table that an `UPDATE` changes to its plan: `rows` as they were and as
    /// they are to be, which differ in the columns `assigned` at most, in the order in which they
    /// change.
    ///
    /// # Errors
    /// A key that another row has (1062), a CHECK that does not hold (3819), a row that leaves the
    /// partitions that are named (1748).
    pub(super) fn updated(
        &self,
        def: &Arc<NativeDef>,
        rows: (&[ArrayRef], &[ArrayRef]),
        (assigned, only): (&[usize], &NamedPartitions),
        plan: &mut Plan,
    ) -> Result<()> {
        let Report::Update { matched, changed: so_far } = &mut plan.report else { return Ok(()) };
        let (old, new) = rows;
        if count(old) == 0 {
            return Ok(());
        }
        self.stop.check()?;
        *matched += count(old) as u64;
        let differs = changed(old, new, assigned)?;
        let mut new = picked(new, &differs)?;
        if count(&new) == 0 {
            return Ok(());
        }
        self.touch(def, assigned, &mut new)?;
        let rules = def.rules(&self.context.eval)?;
        self.fill_generated(def, rules.as_ref(), &mut new, &mut plan.warnings)?;
        check_bytes(bytes_of(&new))?;
        let mut rows =
            CheckedRows::new(new, (differs.true_count() < differs.len()).then(|| set(&differs)));
        self.sift_broken(def, rules.as_ref(), &mut rows, &mut plan.warnings)?;
        rows.sift(only, self.policy.ignore, |_| true, &mut plan.warnings)?;
        self.stop.check()?;
        let mut change = Change::new(Arc::clone(def));
        *so_far += count(&rows.columns) as u64;
        let is_moved =
            |column: &usize| assigned.contains(column) || def.on_update[*column].is_some();
        if def.key.iter().any(is_moved) {
            let old = match &rows.places {
                Some(places) => taken(old, places)?,
                None => old.to_vec(),
            };
            *so_far -= self.moved(&mut change, &old, &rows, &mut plan.warnings)?;
        } else {
            change.puts.push((rows.columns, Mode::Replace));
        }
        if def.auto.as_ref().is_some_and(|auto| assigned.contains(&auto.column)) {
            auto::follow(self.catalog.store(), def, &change.puts)?;
        }
        plan.changes.push(change);
        Ok(())
    }

    /// Columns of the rows that a statement concerns, as the session sees them and in the order of
    /// the query.
    ///
    /// # Errors
    /// Errors of the query, and more rows than one commit takes (1235).
    pub(super) async fn rows_of(
        &self,
        def: &NativeDef,
        alias: &str,
        wanted: &[usize],
        with: &str,
        from: &str,
    ) -> Result<Vec<ArrayRef>> {
        let mut found = self.rows_of_tables(&[(def, alias, wanted)], (with, from)).await?;
        Ok(found.pop().unwrap_or_default())
    }

    /// The same for several tables, by one query: the columns of the tables are next to each other.
    ///
    /// # Errors
    /// As above.
    pub(super) async fn rows_of_tables(
        &self,
        tables: &[Wanted<'_>],
        (with, from): (&str, &str),
    ) -> Result<Vec<Vec<ArrayRef>>> {
        let names: Vec<String> = tables
            .iter()
            .flat_map(|&(def, alias, wanted)| {
                let alias = literal::name(alias);
                wanted
                    .iter()
                    .map(move |&at| format!("{alias}.{}", literal::name(&def.columns[at].name)))
            })
            .collect();
        let sql = format!("{with}SELECT {} FROM {from}", names.join(", "));
        let (_, batches) = self.all(&self.context, &sql).await.map_err(|error| {
            // Of a column that another statement has just dropped or renamed nothing is wrong with
            // this one's text.
            let is_same = tables.iter().all(|&(def, ..)| {
                let now = self.catalog.table(&def.database, &def.name);
                now.is_some_and(|now| now.made_for() == def.made_for())
            });
            if is_same { error } else { Error::table_changed() }
        })?;
        let arrays: Vec<&[ArrayRef]> = batches.iter().map(|batch| batch.columns()).collect();
        let mut columns = joined(&arrays)?.into_iter();
        let of_table = |&(_, _, wanted): &Wanted<'_>| columns.by_ref().take(wanted.len()).collect();
        Ok(tables.iter().map(of_table).collect())
    }

    /// Which keys of rows exist, as the statement sees the table.
    ///
    /// # Errors
    /// Errors of reading.
    pub(super) fn present(
        &self,
        def: &NativeDef,
        columns: &[ArrayRef],
        keys: &HashSet<&[u8]>,
    ) -> Result<HashSet<Vec<u8>>> {
        let found = existing(def, &self.reads.pin, columns, keys, &[])?;
        let mut there: HashSet<Vec<u8>> = found.rows.into_keys().collect();
        if let Some(own) = self.reads.own_of(def.id, keys)? {
            there.retain(|key| !own.hidden.contains(key));
            for batch in &own.rows {
                let own = keys_of(def, batch)?;
                there.extend(own.iter().filter(|key| keys.contains(key)).map(<[u8]>::to_vec));
            }
        }
        Ok(there)
    }

    /// Changes of rows whose keys may change, one after the other: a row cannot take a key that
    /// another row has at that moment. Gives how many rows IGNORE left as they were.
    fn moved(
        &self,
        change: &mut Change,
        old: &[ArrayRef],
        rows: &CheckedRows,
        warnings: &mut Warnings,
    ) -> Result<u64> {
        let def = Arc::clone(&change.def);
        let new = &rows.columns;
        let (from, to) = (keys_of(&def, old)?, keys_of(&def, new)?);
        let left: HashSet<&[u8]> = from.iter().collect();
        let others: HashSet<&[u8]> = to.iter().filter(|key| !left.contains(key)).collect();
        let there = self.present(&def, new, &others)?;
        let mut taken_keys: HashMap<&[u8], bool> = left.iter().map(|key| (*key, true)).collect();
        taken_keys.extend(there.iter().map(|key| (key.as_slice(), true)));
        let mut skipped = vec![false; from.len()];
        for (row, skipped) in skipped.iter_mut().enumerate() {
            let (before, after) = (from.get(row), to.get(row));
            if before == after {
                continue;
            }
            if taken_keys.get(after).copied().unwrap_or(false) {
                if !self.policy.ignore {
                    return Err(duplicate_entry(&def, new, row));
                }
                warnings.push(rows.place(row) + 1, DUPLICATE, duplicate_text(&def, new, row));
                *skipped = true;
                continue;
            }
            taken_keys.insert(before, false);
            taken_keys.insert(after, true);
        }
        let kept = |row: &usize| !skipped[*row];
        let written: HashSet<&[u8]> = (0..from.len()).filter(kept).map(|row| to.get(row)).collect();
        let positions = |rows: Vec<usize>| -> UInt32Array {
            rows.into_iter().filter_map(|row| u32::try_from(row).ok()).collect()
        };
        let gone = (0..from.len()).filter(kept).filter(|row| !written.contains(from.get(*row)));
        change.removes = vec![taken(old, &positions(gone.collect()))?];
        let (over, fresh): (Vec<usize>, Vec<usize>) =
            (0..from.len()).filter(kept).partition(|row| left.contains(to.get(*row)));
        change.puts.push((taken(new, &positions(over))?, Mode::Replace));
        change.puts.push((taken(new, &positions(fresh))?, Mode::Insert));
        change.puts.retain(|(columns, _)| count(columns) > 0);
        Ok(skipped.iter().filter(|skipped| **skipped).count() as u64)
    }
}

/// The order in which MySQL would come to rows whose columns `assigned` change: by partition and
/// in each by primary key; only by primary key if that changes. `None` if they are in it. Which
/// rows IGNORE leaves out, which error is the first and the numbers of rows in warnings follow from
/// it, so it must not be that of parallel scans.
///
/// # Errors
/// A collation whose rules are not known (1235).
pub(super) fn order_of_scan(
    def: &NativeDef,
    rows: &[ArrayRef],
    assigned: &[usize],
) -> Result<Option<UInt32Array>> {
    let keys = keys_of(def, rows)?;
    let is_key_changed = assigned.iter().any(|column| def.key.contains(column));
    let mut order: Vec<u32> = Vec::with_capacity(keys.len());
    let mut add = |rows: &mut dyn Iterator<Item = u32>| {
        let begin = order.len();
        order.extend(rows);
        order[begin..].sort_by_key(|&row| keys.get(row as usize));
    };
    if is_key_changed {
        add(&mut (0..keys.len()).filter_map(|row| u32::try_from(row).ok()));
    } else {
        let mut groups = def.partitioner.split(rows)?;
        groups.sort_by_cached_key(|(key, _)| (def.partitioner.place_of(key), key.clone()));
        groups.iter().for_each(|(_, rows)| add(&mut rows.values().iter().copied()));
    }
    let is_ordered = order.iter().zip(0..).all(|(&row, at)| row == at);
    Ok((!is_ordered).then(|| UInt32Array::from(order)))
}

/// Columns that are assigned, and those that change with them.
pub(super) fn with_generated(def: &NativeDef, assigned: impl Iterator<Item = usize>) -> Vec<usize> {
    assigned.chain((0..def.columns.len()).filter(|at| def.is_generated(*at))).collect()
}

/// The positions that are set.
fn set(mask: &BooleanArray) -> UInt32Array {
    let set = mask.values().set_indices();
    UInt32Array::from_iter_values(set.filter_map(|row| u32::try_from(row).ok()))
}

/// The plan of an `UPDATE` that has found nothing yet.
pub(super) fn update_plan() -> Plan {
    Plan {
        changes: Vec::new(),
        depends: true,
        warnings: Warnings::default(),
        report: Report::Update { matched: 0, changed: 0 },
        numbers: Numbers::default(),
        alike: 0,
    }
}

/// The table and its alias, of a statement with one table.
pub(super) fn single(tables: &[TableWithJoins]) -> Option<(TableName, String)> {
    let [TableWithJoins { relation, joins }] = tables else { return None };
    if !joins.is_empty() {
        return None;
    }
    named(relation)
}

/// A table with its alias.
pub(super) fn named(relation: &TableFactor) -> Option<(TableName, String)> {
    let TableFactor::Table { name, alias, args: None, .. } = relation else { return None };
    let table = ast_analysis::table_name(name);
    let alias = alias.as_ref().map_or_else(|| table.name.clone(), |it| it.name.value.clone());
    Some((table, alias))
}

/// The partitions that the statement selects of the table with this alias.
pub(super) fn partitions_of(tables: &[TableWithJoins], alias: &str) -> Vec<String> {
    match factor_of(tables, alias) {
        Some(TableFactor::Table { partitions, .. }) => {
            partitions.iter().map(|it| it.value.clone()).collect()
        }
        _ => Vec::new(),
    }
}

/// The past cannot be changed.
///
/// # Errors
/// `FOR SYSTEM_TIME` after the table with this alias (1064).
pub(super) fn refuse_version(tables: &[TableWithJoins], alias: &str) -> Result<()> {
    match factor_of(tables, alias) {
        Some(TableFactor::Table { version: Some(version), .. }) => Err(Error::new(
            Code::Syntax,
            format!(
                "You have an error in your SQL syntax: '{version}' behind '{alias}', whose rows change; only the newest version can"
            ),
        )),
        _ => Ok(()),
    }
}

/// The table factor with an alias.
fn factor_of<'t>(tables: &'t [TableWithJoins], alias: &str) -> Option<&'t TableFactor> {
    let mut factors = tables.iter().flat_map(|it| {
        std::iter::once(&it.relation).chain(it.joins.iter().map(|join| &join.relation))
    });
    factors.find_map(|factor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => {
            factor_of(std::slice::from_ref(table_with_joins), alias)
        }
        _ => named(factor).filter(|(_, known)| known == alias).map(|_| factor),
    })
}

/// ` ORDER BY ... LIMIT ...`
///
/// # Errors
/// An aggregate or a window function (1111, 3593).
pub(super) fn order_and_limit(
    order_by: &[pelorus_sql::ast::OrderByExpr],
    limit: Option<&pelorus_sql::ast::Expr>,
) -> Result<String> {
    let mut text = String::new();
    if !order_by.is_empty() {
        order_by.iter().try_for_each(|term| of_one_row(&term.expr))?;
        let list: Vec<String> = order_by.iter().map(ToString::to_string).collect();
        let _ = write!(text, " ORDER BY {}", list.join(", "));
    }
    if let Some(limit) = limit {
        let _ = write!(text, " LIMIT {limit}");
    }
    Ok(text)
}
