//! Plans `INSERT` and `REPLACE` on native tables.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{NullRule, Policy, assign_array};
use pelorus_result::scalar::Typed;
use pelorus_sql::dml::{Assigned, Assignment, Insert, InsertSource, Rows, Value};
use pelorus_store::Mode;

use super::assign::changed;
use super::auto::{self, Numbers, number};
use super::change::joined;
use super::change::{Change, taken};
use super::default::{Default, defaults, shown, without_default_calls};
use super::lookup::keys_of;
use super::partition_check::CheckedRows;
use super::values_fast_path::{Fill, NewRows, early, is_evaluated};
use super::warnings::Warnings;
use super::{Plan, Report, Statement, unknown_column};
use crate::constraints::{Rules, of_one_row};
use crate::definition::{DefaultValue, NativeDef};
use crate::partition::explicit_selection::NamedPartitions;

/// Of so many rows of a `REPLACE` those that change nothing are distinguished from the others.
const REPLACED_COUNTED: usize = 1000;

/// Most rows of `VALUES` that columns have room for from the beginning.
const ROOM: usize = 1024;

/// Columns that get a computed default, with the rows for which it is.
type Computed = Vec<(usize, Vec<u32>)>;

impl Statement<'_> {
    /// Plans an `INSERT` or `REPLACE`.
    ///
    /// # Errors
    /// MySQL's errors of the statement.
    pub(super) async fn insert(&mut self, insert: &Insert<'_>) -> Result<Plan> {
        let def = self.table(&insert.table)?;
        let only = NamedPartitions::of(&def, &insert.partitions)?;
        if only.is_part() && insert.ignore && !insert.on_duplicate.is_empty() {
            return Err(Error::unsupported(
                "INSERT IGNORE ... PARTITION (...) ... ON DUPLICATE KEY UPDATE",
            ));
        }
        if !insert.returning.is_empty() {
            return Err(Error::unsupported(
                "RETURNING in native tables; SELECT the rows by their keys after the statement",
            ));
        }
        let given = given(&def, insert)?;
        let (batches, report, reads) = match &insert.source {
            InsertSource::Values(rows) => {
                let records = rows.count();
                let (rows, reads) =
                    self.values_rows(&def, given, rows, insert.columns.is_none()).await?;
                let report =
                    Report::Insert { records: records as u64, skipped: 0, info: records > 1 };
                (vec![rows], report, reads)
            }
            InsertSource::Set(assignments) => {
                let (rows, reads) = self.set_row(&def, given, assignments).await?;
                (vec![rows], Report::Insert { records: 1, skipped: 0, info: false }, reads)
            }
            InsertSource::Query(text, _) => {
                let batches = self.query_rows(&def, given, text).await?;
                let records = batches.iter().map(|rows| count(&rows.columns) as u64).sum();
                (batches, Report::Insert { records, skipped: 0, info: true }, true)
            }
        };
        let mut plan = self.completed((&def, &only), batches, mode(insert), report).await?;
        // A row that is computed from what it replaces must not have changed meanwhile.
        plan.depends = insert.replace && reads;
        if insert.replace {
            plan.alike = self.alike(&plan.changes)?;
        }
        if !insert.on_duplicate.is_empty() {
            self.on_duplicate(insert, &mut plan).await?;
            check_partitions(&plan, &only)?;
        }
        Ok(plan)
    }

    /// How many of the rows that a `REPLACE` writes are as they were before, one after another. For
    /// many rows at once the number does not matter, and looking for all of them would take longer
    /// than writing.
    fn alike(&self, changes: &[Change]) -> Result<u64> {
        let [Change { def, puts, .. }] = changes else { return Ok(0) };
        let batches: Vec<&[ArrayRef]> =
            puts.iter().map(|(columns, _)| columns.as_slice()).collect();
        let records: usize = batches.iter().map(|batch| count(batch)).sum();
        if !(1..=REPLACED_COUNTED).contains(&records) {
            return Ok(0);
        }
        let rows = joined(&batches)?;
        let keys = keys_of(def, &rows)?;
        let (there, old) = self.present_rows(def, &rows, &keys.iter().collect())?;
        let mut latest: HashMap<&[u8], (usize, usize)> = HashMap::new();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (row, key) in keys.iter().enumerate() {
            let known = latest.insert(key, (0, row));
            if let Some(place) = known.or_else(|| there.get(key).map(|&row| (1, row))) {
                before.push(place);
                after.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
        let before = rows.iter().zip(&old).map(|(new, old)| {
            arrow::compute::interleave(&[new.as_ref(), old.as_ref()], &before)
                .map_err(|error| Error::internal("rows differ").caused_by(error))
        });
        let before = before.collect::<Result<Vec<_>>>()?;
        let all: Vec<usize> = (0..rows.len()).collect();
        let differs = changed(&before, &taken(&rows, &UInt32Array::from(after))?, &all)?;
        Ok((differs.len() - differs.true_count()) as u64)
    }

    /// Gives new rows their AUTO_INCREMENT numbers and computed defaults, and checks them and
    /// their partitions.
    pub(super) async fn completed(
        &self,
        (def, only): (&Arc<NativeDef>, &NamedPartitions),
        batches: Vec<NewRows>,
        mode: Mode,
        mut report: Report,
    ) -> Result<Plan> {
        let mut change = Change::new(Arc::clone(def));
        let mut warnings = Warnings::default();
        let mut numbers = Numbers::default();
        let mut steps = self.steps;
        let is_single = batches.len() == 1;
        let rules = def.rules(&self.context.eval)?;
        for rows in batches {
            let NewRows { columns, warnings: left, computed } = rows;
            warnings.append(left);
            if count(&columns) == 0 {
                continue;
            }
            let (records, ignore) = (count(&columns), self.policy.ignore);
            let lacking = auto::lacking(def, &columns, self.steps);
            let mut rows = CheckedRows::new(columns, None);
            // A number that is given to a row that is not written moves no counter.
            if let Some(lacking) = &lacking
                && auto::decides(def)
                && computed.is_empty()
            {
                rows.sift(only, ignore, |row| !lacking[row], &mut warnings)?;
            }
            let store = self.catalog.store();
            self.stop.check()?;
            let made = number(store, def, &mut rows.columns, steps)?;
            if let (Some(_), Some(_), Some(last)) = (steps.first, made.first_made, made.last) {
                // Later rows continue after it.
                steps.first = last.checked_add(1);
            }
            numbers = numbers.then(made);
            if !computed.is_empty() {
                self.compute_defaults(def, &mut rows.columns, computed, &mut warnings).await?;
            }
            self.fill_generated(def, rules.as_ref(), &mut rows.columns, &mut warnings)?;
            self.sift_broken(def, rules.as_ref(), &mut rows, &mut warnings)?;
            // Of rows without a partition the commit says so too, unless they are to be left out.
            if ignore || only.is_part() {
                rows.sift(only, ignore, |_| true, &mut warnings)?;
            }
            report.leave_out(records - count(&rows.columns));
            if let Some(lacking) = lacking {
                change.add_made(lacking, rows.places.as_ref());
            }
            change.places = rows.places.filter(|_| is_single);
            change.puts.push((rows.columns, mode));
        }
        Ok(Plan { changes: vec![change], depends: false, warnings, report, numbers, alike: 0 })
    }

    /// Rows of `VALUES`, and whether their values come from tables.
    async fn values_rows(
        &self,
        def: &Arc<NativeDef>,
        given: Vec<usize>,
        rows: &Rows<'_>,
        may_be_empty: bool,
    ) -> Result<(NewRows, bool)> {
        let nulls = if rows.count() == 1 { NullRule::Refuse } else { NullRule::Replace };
        let policy = Policy { nulls, ..self.policy };
        let defaults = defaults(def, &policy, self.context.mode);
        // Most statements hold nothing but literals, and are read once.
        let shape = (rows.count().min(ROOM), may_be_empty);
        let mut fill = Fill::new(def, &defaults, policy, given.clone(), shape)?;
        match fill.rows(rows.clone(), Vec::new()) {
            Ok(()) => return Ok((fill.finish(), false)),
            Err(error) if !fill.lacks_value() => return Err(error),
            Err(_) => {}
        }
        let texts = self.expressions(def, &given, rows.clone())?;
        let values = match self.each_once(&texts).await {
            Err(error) if error.code() == Code::UnknownColumn => {
                self.values_over_rows(def, &defaults, policy, &given, rows.clone()).await?
            }
            values => values?,
        };
        let mut fill = Fill::new(def, &defaults, policy, given, shape)?;
        fill.rows(rows.clone(), values)?;
        Ok((fill.finish(), texts.iter().any(|text| has_query(text))))
    }

    /// The texts of all values that are no literals, for the columns `given`.
    fn expressions(
        &self,
        def: &NativeDef,
        given: &[usize],
        mut rows: Rows<'_>,
    ) -> Result<Vec<String>> {
        let early = early(def, given);
        let mut texts = Vec::new();
        let mut row = Vec::new();
        while rows.next_row(&mut row)? {
            for (value, column) in row.iter().zip(given) {
                texts.extend(self.text_of(def, (*column, &early), value)?);
            }
        }
        Ok(texts)
    }

    /// The text of a value for a column that is evaluated; `None` for others. `early` are the columns
    /// whose `DEFAULT` is.
    fn text_of(
        &self,
        def: &NativeDef,
        (column, early): (usize, &[usize]),
        value: &Value<'_>,
    ) -> Result<Option<String>> {
        if matches!(value, Value::Default) && early.contains(&column) {
            let DefaultValue::Expression(default) = &def.defaults[column] else { return Ok(None) };
            return Ok(Some(format!("({})", default.text_in(def.mode, self.context.mode))));
        }
        match is_evaluated(value) {
            true => self.text(def, value).map(Some),
            false => Ok(None),
        }
    }

    fn text(&self, def: &NativeDef, value: &Value<'_>) -> Result<String> {
        let quoted = |text: &str| pelorus_sql::literal::text(text, self.context.mode);
        let charset =
            |charset: &Option<&str>| charset.map(|name| format!("_{name} ")).unwrap_or_default();
        Ok(match value {
            Value::Expression(expr) => {
                of_one_row(expr)?;
                without_default_calls(expr, def, &self.policy, self.context.mode)?.to_string()
            }
            Value::Text { text, charset: of } => format!("{}{}", charset(of), quoted(text)),
            Value::Hex { digits, charset: of } => format!("{}0x{digits}", charset(of)),
            Value::Bits { digits, charset: of } => format!("{}0b{digits}", charset(of)),
            _ => return Err(Error::unsupported("placeholders in a statement that is carried out")),
        })
    }

    /// The values of expressions; equal deterministic expressions are computed once.
    async fn each_once(&self, texts: &[String]) -> Result<Vec<Typed>> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut distinct: Vec<String> = Vec::new();
        let mut at = Vec::with_capacity(texts.len());
        for text in texts {
            let is_volatile = is_volatile(text);
            let known = places.get(text.as_str()).copied().filter(|_| !is_volatile);
            let place = known.unwrap_or_else(|| {
                distinct.push(text.clone());
                distinct.len() - 1
            });
            places.insert(text, place);
            at.push(place);
        }
        let values = self.values(&distinct).await?;
        Ok(at.into_iter().map(|place| values[place].clone()).collect())
    }

    /// The values of the expressions of rows, some of which name columns of the table. Rows with the
    /// same expressions, one after another, are computed at once.
    async fn values_over_rows(
        &self,
        def: &NativeDef,
        defaults: &[Default],
        policy: Policy,
        given: &[usize],
        mut rows: Rows<'_>,
    ) -> Result<Vec<Typed>> {
        let (mut values, mut first_row) = (Vec::new(), policy.first_row);
        let (mut alike, mut texts) = (Vec::new(), Vec::new());
        loop {
            let mut row = Vec::new();
            let of_row = match rows.next_row(&mut row)? {
                true => Some(self.texts_of_row(def, given, &row)?),
                false => None,
            };
            if of_row.as_ref() != Some(&texts) || alike.len() >= ROOM {
                self.stop.check()?;
                let policy = Policy { first_row, ..policy };
                first_row += alike.len() as u64;
                let some = std::mem::take(&mut alike);
                values.extend(self.values_over(def, defaults, policy, given, &some, &texts).await?);
            }
            match of_row {
                Some(of_row) => texts = of_row,
                None => return Ok(values),
            }
            alike.push(row);
        }
    }

    /// The places and texts of the values of a row that are no literals.
    fn texts_of_row(
        &self,
        def: &NativeDef,
        given: &[usize],
        row: &[Value<'_>],
    ) -> Result<Vec<(usize, String)>> {
        let early = early(def, given);
        let mut texts = Vec::new();
        for (at, (value, column)) in row.iter().zip(given).enumerate() {
            if let Some(text) = self.text_of(def, (*column, &early), value)? {
                texts.push((at, text));
            }
        }
        Ok(texts)
    }

    /// The values of the same expressions of some rows, row by row; the first row that fails gives
    /// the error.
    async fn values_over(
        &self,
        def: &NativeDef,
        defaults: &[Default],
        policy: Policy,
        given: &[usize],
        rows: &[Vec<Value<'_>>],
        texts: &[(usize, String)],
    ) -> Result<Vec<Typed>> {
        let at_once = self.values_at_once(def, defaults, policy, given, rows, texts).await;
        if at_once.is_ok() || rows.len() == 1 {
            return at_once;
        }
        let mut values = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let policy = Policy { first_row: policy.first_row + at as u64, ..policy };
            let row = std::slice::from_ref(row);
            values.extend(self.values_at_once(def, defaults, policy, given, row, texts).await?);
        }
        Ok(values)
    }

    /// The same, each expression over the rows as they are by then: the columns in front of it are
    /// assigned to, all others have their defaults.
    async fn values_at_once(
        &self,
        def: &NativeDef,
        defaults: &[Default],
        policy: Policy,
        given: &[usize],
        rows: &[Vec<Value<'_>>],
        texts: &[(usize, String)],
    ) -> Result<Vec<Typed>> {
        let mut values: Vec<Vec<Typed>> = vec![Vec::new(); rows.len()];
        for (at, text) in texts.iter().filter(|_| !rows.is_empty()) {
            let assigned = given.get(..*at).unwrap_or(given).to_vec();
            let fill = Fill::new(def, defaults, policy, assigned, (rows.len(), false))?;
            let mut fill = fill.assigned_later(0..def.columns.len());
            for (row, values) in rows.iter().zip(&values) {
                fill.one_row(row.get(..*at).unwrap_or_default(), values.clone())?;
            }
            let columns = shown(&def.columns, &fill.finish().columns, policy.time_zone)?;
            let text = std::slice::from_ref(text);
            let found = self.over_rows(&def.name, &def.columns, &columns, text).await?;
            let [(array, ty)] = found.as_slice() else {
                return Err(Error::internal("a value has more than one column"));
            };
            for (place, values) in values.iter_mut().enumerate() {
                values.push((pelorus_result::scalar::value_at(array, ty, place)?, *ty));
            }
        }
        Ok(values.into_iter().flatten().collect())
    }

    /// The row of `SET`, and whether its values come from tables.
    async fn set_row(
        &self,
        def: &Arc<NativeDef>,
        given: Vec<usize>,
        assignments: &[Assignment],
    ) -> Result<(NewRows, bool)> {
        let policy = self.policy;
        let defaults = defaults(def, &policy, self.context.mode);
        let row: Vec<Value<'static>> = assignments
            .iter()
            .map(|assignment| match &assignment.value {
                Assigned::Default => Value::Default,
                Assigned::Expression(expr) => Value::Expression(expr.clone()),
            })
            .collect();
        let of_row = self.texts_of_row(def, &given, &row)?;
        let texts: Vec<String> = of_row.iter().map(|(_, text)| text.clone()).collect();
        let values = match self.values(&texts).await {
            Err(error) if error.code() == Code::UnknownColumn => {
                let row = std::slice::from_ref(&row);
                self.values_at_once(def, &defaults, policy, &given, row, &of_row).await?
            }
            values => values?,
        };
        let mut fill = Fill::new(def, &defaults, policy, given, (1, false))?;
        fill.one_row(&row, values)?;
        Ok((fill.finish(), texts.iter().any(|text| has_query(text))))
    }

    /// Computes defaults that are expressions, which may use the other columns.
    pub(super) async fn compute_defaults(
        &self,
        def: &NativeDef,
        columns: &mut [ArrayRef],
        computed: Computed,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let defaults = defaults(def, &self.policy, self.context.mode);
        for (column, rows) in computed {
            let Default::Computed(text) = &defaults[column] else { continue };
            let rows = UInt32Array::from(rows);
            let some = shown(&def.columns, &taken(columns, &rows)?, self.policy.time_zone)?;
            let texts = [text.clone()];
            let values = self.over_rows(&def.name, &def.columns, &some, &texts).await?;
            let [(array, ty)] = values.as_slice() else {
                return Err(Error::internal("a default has more than one column"));
            };
            let assigned = assign_array(&def.targets[column], &self.policy, array, ty)?;
            warnings.add(assigned.warnings, assigned.warning_count);
            columns[column] = placed(&columns[column], &assigned.array, &rows)?;
        }
        Ok(())
    }

    /// Computes the generated columns of rows.
    ///
    /// # Errors
    /// A value that its column cannot hold.
    pub(super) fn fill_generated(
        &self,
        def: &NativeDef,
        rules: Option<&Rules>,
        columns: &mut [ArrayRef],
        warnings: &mut Warnings,
    ) -> Result<()> {
        let Some(rules) = rules.filter(|_| count(columns) > 0) else { return Ok(()) };
        let policy = Policy { nulls: NullRule::Refuse, ..self.policy };
        for left in rules.fill(&def.targets, columns, &policy)? {
            warnings.add(left.warnings, left.warning_count);
        }
        self.told(&self.context)
    }

    /// Leaves out rows that break a CHECK of their table under IGNORE.
    ///
    /// # Errors
    /// Otherwise the first of them (3819).
    pub(super) fn sift_broken(
        &self,
        def: &NativeDef,
        rules: Option<&Rules>,
        rows: &mut CheckedRows,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let Some(rules) = rules.filter(|it| it.has_checks()) else { return Ok(()) };
        if count(&rows.columns) == 0 {
            return Ok(());
        }
        let broken = rules.broken(&def.targets, &rows.columns, &self.policy)?;
        self.told(&self.context)?;
        rows.leave_out(broken, self.policy.ignore, warnings)
    }
}

/// Error 1748 for a row of another partition than those that are named.
fn check_partitions(plan: &Plan, only: &NamedPartitions) -> Result<()> {
    let mut puts = plan.changes.iter().flat_map(|change| &change.puts);
    puts.try_for_each(|(rows, _)| {
        let misfit = only.misfits(rows)?.into_iter().next();
        misfit.map_or(Ok(()), |(_, error)| Err(error))
    })
}

/// An array with other values in some rows.
fn placed(array: &ArrayRef, values: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    let mut places: Vec<(usize, usize)> = (0..array.len()).map(|row| (0, row)).collect();
    for (at, row) in rows.values().iter().enumerate() {
        let place = usize::try_from(*row).ok().and_then(|row| places.get_mut(row));
        *place.ok_or_else(|| Error::internal("a computed row is not there"))? = (1, at);
    }
    arrow::compute::interleave(&[array.as_ref(), values.as_ref()], &places)
        .map_err(|error| Error::internal("a default has another type").caused_by(error))
}

/// Functions that give something else each time.
fn is_volatile(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    let is_there = |word: &str| upper.contains(word);
    has_query(text) || ["UUID", "RAND", "SLEEP", "RANDOM_BYTES"].into_iter().any(is_there)
}

/// Whether an expression may have a subquery; of a text that has the word this says so as well.
fn has_query(text: &str) -> bool {
    text.to_ascii_uppercase().contains("SELECT")
}

/// How many rows a batch has.
pub(crate) fn count(columns: &[ArrayRef]) -> usize {
    columns.first().map_or(0, |column| column.len())
}

/// The handling of existing keys.
fn mode(insert: &Insert<'_>) -> Mode {
    match (insert.replace, insert.ignore) {
        (true, _) => Mode::Replace,
        (false, true) => Mode::Ignore,
        (false, false) => Mode::Insert,
    }
}

/// The columns that values are given for, in the order of the values.
pub(super) fn given(def: &NativeDef, insert: &Insert<'_>) -> Result<Vec<usize>> {
    match (&insert.source, &insert.columns) {
        (InsertSource::Set(assignments), _) => {
            let names = assignments.iter().filter_map(|it| it.column.last());
            positions(def, names.map(String::as_str))
        }
        (_, Some(names)) if !names.is_empty() => positions(def, names.iter().map(String::as_str)),
        (InsertSource::Values(_), Some(_))
            if insert.columns.as_ref().is_some_and(Vec::is_empty) =>
        {
            Ok(Vec::new())
        }
        _ => Ok((0..def.columns.len()).filter(|&at| !def.invisible[at]).collect()),
    }
}

/// Columns by name, each at most once.
pub(super) fn positions<'n>(
    def: &NativeDef,
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for name in names {
        let at = def.position(name).ok_or_else(|| unknown_column(name))?;
        if positions.contains(&at) {
            return Err(Error::new(
                Code::ColumnSpecifiedTwice,
                format!("Column '{name}' specified twice"),
            ));
        }
        positions.push(at);
    }
    Ok(positions)
}
