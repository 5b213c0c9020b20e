//! `INSERT ... ON DUPLICATE KEY UPDATE`.
//!
//! MySQL processes rows one after another: the second of two new rows with one key changes the
//! first. Here the first rows of all keys are processed together, then all second rows, and so on.
//! No two rows of a round have a key in common, so the order within a round does not matter.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use pelorus_error::{Error, Result};
use pelorus_functions::assignment::{NullRule, Numbering, Policy};
use pelorus_functions::{Value, value_at};
use pelorus_sql::ast::Expr;
use pelorus_sql::ast_analysis;
use pelorus_sql::dml::{Assigned, Assignment, Insert, InsertSource};
use pelorus_store::{Keys, Mode, bytes_of};
use pelorus_types::Column;

use super::assign::{Names, Source, changed, new_name};
use super::assignment_fast_path::Direct;
use super::auto::{self, Numbers};
use super::change::joined;
use super::change::taken;
use super::default::shown;
use super::insert::{count, given};
use super::lookup::{existing, keys_of};
use super::warnings::Warnings;
use super::{Plan, Report, Statement, check_bytes};
use crate::constraints::Rules;
use crate::definition::NativeDef;
use crate::expression::arguments;

/// Rounds that may ask a query each. Of more, only the first does, where the others can do without.
const QUERIES_MAX: usize = 4;

/// Rows by key, while the statement is applied to them.
struct Merged {
    /// The rows as they are now, in stored form.
    rows: Vec<ArrayRef>,
    /// The row was not there before.
    is_new: Vec<bool>,
    /// The rows of the statement that were new, and the place of its last row.
    new: Vec<usize>,
    last: usize,
    /// The row differs from its previous state.
    is_changed: Vec<bool>,
    updated: u64,
    unchanged: u64,
    /// The last argument of `LAST_INSERT_ID(...)`, with the row of the statement.
    told: Option<(u32, u64)>,
}

impl Merged {
    /// The number of the first row that was new, else what `LAST_INSERT_ID(...)` was given. The
    /// client receives the number of the last row if there is neither, if any row was written.
    fn numbers(&self, def: &NativeDef, given: &[ArrayRef], made: Option<&[bool]>) -> Numbers {
        let told = self.told.map(|(_, number)| number);
        let Some(column) = def.auto.as_ref().map(|auto| auto.column) else {
            return Numbers { first_made: told, last: None };
        };
        let is_made = |row: &&usize| made.and_then(|made| made.get(**row)) == Some(&true);
        let first = self.new.iter().find(is_made);
        let first = first.and_then(|row| auto::number_in(&given[column], *row));
        let is_written = !self.new.is_empty() || self.updated > 0;
        let last = auto::number_in(&self.rows[column], self.last).filter(|_| is_written);
        Numbers { first_made: first.or(told), last }
    }
}

/// Assignments in which `column = LAST_INSERT_ID(expression)` is `column = expression`, and the
/// last such column: the session records its value.
pub(super) fn without_last_insert_id(
    assignments: &[Assignment],
) -> (Vec<Assignment>, Option<String>) {
    let mut told = None;
    let mut assignments = assignments.to_vec();
    for assignment in &mut assignments {
        let Assigned::Expression(expr) = &mut assignment.value else { continue };
        let Expr::Function(function) = expr.as_ref() else { continue };
        if ast_analysis::function_name(&function.name) != "LAST_INSERT_ID" {
            continue;
        }
        if let Some([inner]) = arguments(function).as_deref() {
            **expr = (*inner).clone();
            told = assignment.column.last().cloned();
        }
    }
    (assignments, told)
}

/// Refuses columns of the query's own tables in assignments, which MySQL knows.
fn refuse_of_query(insert: &Insert<'_>, def: &NativeDef) -> Result<()> {
    if !matches!(insert.source, InsertSource::Query(..)) {
        return Ok(());
    }
    for assignment in &insert.on_duplicate {
        let Assigned::Expression(expr) = &assignment.value else { continue };
        for parts in ast_analysis::columns(expr) {
            let [.., table, column] = parts.as_slice() else { continue };
            let names = [Some(&def.name), insert.row_alias.as_ref().map(|alias| &alias.name)];
            if !names.into_iter().flatten().any(|name| table.value == *name) {
                return Err(Error::unsupported(format_args!(
                    "ON DUPLICATE KEY UPDATE with '{table}.{column}' of the SELECT; select the \
                     value into a column and say VALUES(column)"
                )));
            }
        }
    }
    Ok(())
}

/// Rows of several batches, by batch and row.
fn interleaved(batches: &[&[ArrayRef]], places: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
    let columns = batches.first().map_or(0, |batch| batch.len());
    (0..columns)
        .map(|at| {
            let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch[at].as_ref()).collect();
            arrow::compute::interleave(&arrays, places)
                .map_err(|error| Error::internal("rows differ").caused_by(error))
        })
        .collect()
}

/// An integer as `LAST_INSERT_ID()` gives it.
pub(super) fn number_of(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => Some(number.cast_unsigned()),
        Value::UInt(number) => Some(*number),
        _ => None,
    }
}

/// Rows that change have the keys that they had. By assignments, ON UPDATE or generated columns they
/// could have others, which other rows may have as well.
fn check_keys(
    def: &NativeDef,
    (old, new): (&[ArrayRef], &[ArrayRef]),
    differs: &BooleanArray,
) -> Result<()> {
    let (old, new) = (keys_of(def, old)?, keys_of(def, new)?);
    let mut changed = differs.values().set_indices();
    if changed.any(|row| old.get(row) != new.get(row)) {
        return Err(Error::unsupported("ON DUPLICATE KEY UPDATE that changes the primary key"));
    }
    Ok(())
}

impl Statement<'_> {
    /// Turns the plan of an `INSERT` into one that changes existing rows.
    ///
    /// # Errors
    /// A row that would change its primary key (1235), and errors of expressions.
    pub(super) async fn on_duplicate(
        &mut self,
        insert: &Insert<'_>,
        plan: &mut Plan,
    ) -> Result<()> {
        let Some(mut change) = plan.changes.pop() else { return Ok(()) };
        let def = change.def.clone();
        self.policy =
            Policy { nulls: NullRule::Replace, numbering: Numbering::Zero, ..self.policy };
        refuse_of_query(insert, &def)?;
        let given = given(&def, insert)?;
        let alias = insert.row_alias.as_ref();
        let new = alias.map_or(("", &[][..]), |alias| (&alias.name, &alias.columns));
        let names = Names { table: &def.name, new: Some(new), given: &given };
        let (assignments, told) = without_last_insert_id(&insert.on_duplicate);
        let sources = self.sources(&def, &assignments, names)?;
        let told = told.and_then(|column| def.position(&column));
        let batches: Vec<&[ArrayRef]> = change.puts.iter().map(|(it, _)| it.as_slice()).collect();
        let rows = joined(&batches)?;
        let records = count(&rows);
        let info = records > 1 || matches!(plan.report, Report::Insert { info: true, .. });
        plan.depends = true;
        plan.numbers = Numbers::default();
        change.puts.clear();
        let (mut inserted, mut updated, mut unchanged) = (0, 0, 0);
        if records > 0 {
            let merged = self.merged(&def, &rows, (&sources, told), plan).await?;
            plan.numbers = merged.numbers(&def, &rows, change.made.as_deref());
            inserted = merged.is_new.iter().filter(|is_new| **is_new).count() as u64;
            (updated, unchanged) = (merged.updated, merged.unchanged);
            let written = merged.is_new.iter().zip(&merged.is_changed).enumerate();
            let written: UInt32Array = written
                .filter(|(_, (is_new, is_changed))| **is_new || **is_changed)
                .filter_map(|(row, _)| u32::try_from(row).ok())
                .collect();
            if !written.is_empty() {
                // A key that another session writes meanwhile is a conflict, new or not.
                let rows = taken(&merged.rows, &written)?;
                check_bytes(bytes_of(&rows))?;
                change.puts.push((rows, Mode::Replace));
                auto::follow(self.catalog.store(), &def, &change.puts)?;
            }
        }
        change.made = None;
        let (records, ignore) = (records as u64, self.policy.ignore);
        plan.report = Report::Merge { records, inserted, updated, unchanged, ignore, info };
        plan.changes.push(change);
        Ok(())
    }

    async fn merged(
        &self,
        def: &NativeDef,
        rows: &[ArrayRef],
        (sources, told): (&[(usize, Source)], Option<usize>),
        plan: &mut Plan,
    ) -> Result<Merged> {
        let keys = keys_of(def, rows)?;
        let rules = def.rules(&self.context.eval)?;
        let (mut merged, rounds) = self.before(def, rows, &keys)?;
        let sizes: Vec<usize> = rounds.iter().map(Vec::len).collect();
        let named: Vec<Column> = def
            .columns
            .iter()
            .map(|column| Column { name: new_name(&column.name), ..column.clone() })
            .collect();
        let assigned: Vec<usize> = sources.iter().map(|(column, _)| *column).collect();
        let direct = match rounds.len() > QUERIES_MAX {
            true => Direct::of(def, sources, self.context.mode, &self.context.eval),
            false => None,
        };
        // A round has no places but those of the one before, whose rows are `now`, each at the
        // `position` of its place. What becomes of a place stands in the batch of its last round.
        let mut now = merged.rows.clone();
        let mut position: Vec<u32> = (0..).take(merged.is_new.len()).collect();
        let mut batches = vec![std::mem::take(&mut merged.rows)];
        let mut last: Vec<(usize, usize)> = (0..position.len()).map(|place| (0, place)).collect();
        for (number, round) in rounds.into_iter().enumerate() {
            self.stop.check()?;
            let (places, new): (Vec<usize>, Vec<u32>) =
                round.into_iter().map(|(place, row)| (place as usize, row)).unzip();
            let here: UInt32Array = places.iter().map(|place| position[*place]).collect();
            let new = UInt32Array::from(new);
            let old = taken(&now, &here)?;
            let new_rows = taken(rows, &new)?;
            let warnings = &mut plan.warnings;
            // The first round finds out what is wrong with names.
            let mut after = match direct.as_ref().filter(|_| number > 0) {
                Some(direct) => direct.assigned(&old, &new_rows, &self.policy, warnings)?,
                None => {
                    let shown = shown(&def.columns, &new_rows, self.policy.time_zone)?;
                    let extra = (named.as_slice(), shown.as_slice());
                    self.assigned(def, &def.name, &old, extra, sources, warnings).await?
                }
            };
            self.told(&self.context)?;
            let differs = changed(&old, &after, &assigned)?;
            self.touch(def, &assigned, &mut after)?;
            self.fill_generated(def, rules.as_ref(), &mut after, &mut plan.warnings)?;
            let differs =
                self.unbroken(def, rules.as_ref(), (&after, &new), differs, &mut plan.warnings)?;
            check_keys(def, (&old, &after), &differs)?;
            if let Some(column) = told
                && let Some((at, &row)) =
                    new.values().iter().enumerate().max_by_key(|(_, row)| **row)
                && merged.told.is_none_or(|(last, _)| last < row)
            {
                let value = value_at(&after[column], &def.targets[column].ty, at)?;
                merged.told = number_of(&value).map(|number| (row, number)).or(merged.told);
            }
            let mut order: Vec<(usize, usize)> = Vec::with_capacity(places.len());
            for (row, place) in (0..).zip(&places) {
                position[*place] = row;
                let row = row as usize;
                let is_changed = differs.value(row);
                order.push((usize::from(is_changed), row));
                if is_changed {
                    merged.is_changed[*place] = true;
                    merged.updated += 1;
                } else {
                    merged.unchanged += 1;
                }
            }
            now = interleaved(&[&old, &after], &order)?;
            if sizes.get(number + 1).is_none_or(|next| *next < places.len()) {
                for (row, place) in places.iter().enumerate() {
                    last[*place] = (batches.len(), row);
                }
                batches.push(now.clone());
            }
        }
        let batches: Vec<&[ArrayRef]> = batches.iter().map(Vec::as_slice).collect();
        merged.rows = interleaved(&batches, &last)?;
        Ok(merged)
    }

    /// Which rows of a round change: those that would break a CHECK stay as they are under IGNORE.
    ///
    /// # Errors
    /// Otherwise the first of them (3819).
    fn unbroken(
        &self,
        def: &NativeDef,
        rules: Option<&Rules>,
        (after, rows): (&[ArrayRef], &UInt32Array),
        differs: BooleanArray,
        warnings: &mut Warnings,
    ) -> Result<BooleanArray> {
        let Some(rules) = rules.filter(|it| it.has_checks()) else { return Ok(differs) };
        let broken = rules.broken(&def.targets, after, &self.policy)?;
        self.told(&self.context)?;
        let mut differs: Vec<bool> = differs.values().iter().collect();
        for (row, error) in broken {
            if !self.policy.ignore {
                return Err(error);
            }
            let number = u64::from(rows.value(row)) + 1;
            warnings.push(number, error.errno(), error.message().to_owned());
            differs[row] = false;
        }
        Ok(BooleanArray::from(differs))
    }

    /// One row for each key: the one that is there, else the first new one. The rounds hold for each
    /// further row its key's place and its position.
    fn before(
        &self,
        def: &NativeDef,
        rows: &[ArrayRef],
        keys: &Keys,
    ) -> Result<(Merged, Vec<Vec<(u32, u32)>>)> {
        let wanted: HashSet<&[u8]> = keys.iter().collect();
        let (there, old) = self.present_rows(def, rows, &wanted)?;
        let mut places: HashMap<&[u8], (u32, usize)> = HashMap::new();
        let mut first: Vec<(usize, usize)> = Vec::new();
        let mut rounds: Vec<Vec<(u32, u32)>> = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            let number = u32::try_from(row).unwrap_or(u32::MAX);
            if let Some((place, round)) = places.get_mut(key) {
                if rounds.len() <= *round {
                    rounds.push(Vec::new());
                }
                rounds[*round].push((*place, number));
                *round += 1;
                continue;
            }
            let place = u32::try_from(first.len()).unwrap_or(u32::MAX);
            match there.get(key) {
                Some(&old) => {
                    first.push((1, old));
                    if rounds.is_empty() {
                        rounds.push(Vec::new());
                    }
                    rounds[0].push((place, number));
                    places.insert(key, (place, 1));
                }
                None => {
                    first.push((0, row));
                    places.insert(key, (place, 0));
                }
            }
        }
        let last = keys.len().checked_sub(1).and_then(|row| places.get(keys.get(row)));
        let last = last.map_or(0, |(place, _)| *place as usize);
        let merged = Merged {
            rows: interleaved(&[rows, &old], &first)?,
            is_new: first.iter().map(|(source, _)| *source == 0).collect(),
            new: first.iter().filter(|(source, _)| *source == 0).map(|(_, row)| *row).collect(),
            last,
            is_changed: vec![false; first.len()],
            updated: 0,
            unchanged: 0,
            told: None,
        };
        Ok((merged, rounds))
    }

    /// The rows of existing keys as the statement sees the table: positions in the returned
    /// columns.
    pub(super) fn present_rows(
        &self,
        def: &NativeDef,
        rows: &[ArrayRef],
        keys: &HashSet<&[u8]>,
    ) -> Result<(HashMap<Vec<u8>, usize>, Vec<ArrayRef>)> {
        let all: Vec<usize> = (0..def.columns.len()).collect();
        let found = existing(def, &self.reads.pin, rows, keys, &all)?;
        let (mut batches, mut places) = (found.batches, found.rows);
        if let Some(own) = self.reads.own_of(def.id, keys)? {
            places.retain(|key, _| !own.hidden.contains(key));
            for batch in &own.rows {
                let own = keys_of(def, batch)?;
                for (row, key) in own.iter().enumerate().filter(|(_, key)| keys.contains(key)) {
                    places.insert(key.to_vec(), (batches.len(), row));
                }
                batches.push(batch.clone());
            }
        }
        let mut begins = Vec::with_capacity(batches.len());
        let mut begin = 0;
        for batch in &batches {
            begins.push(begin);
            begin += count(batch);
        }
        // The types are those of the table, also without rows.
        batches.push(rows.iter().map(|column| column.slice(0, 0)).collect());
        let parts: Vec<&[ArrayRef]> = batches.iter().map(Vec::as_slice).collect();
        let places = places.into_iter().map(|(key, (batch, row))| (key, begins[batch] + row));
        Ok((places.collect(), joined(&parts)?))
    }
}
