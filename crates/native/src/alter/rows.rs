//! Reads the rows of a table partition by partition and converts them to a new definition.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::datatypes::Schema;
use pelorus_error::{Error, Result};
use pelorus_functions::assignment::{
    Assigned, Failure, NullRule, Policy, Target, assign_array, timestamps_from_utc,
};
use pelorus_functions::{EvalContext, array_of};
use pelorus_sql::ddl::TableDefinition;
use pelorus_store::{ScanCursor, ScanRequest, ScanUnit, TableSnapshot, bytes_of};
use pelorus_types::{Column, ColumnType, Flags, WireType};

use super::convert;
use super::plan::{Plan, Source, not_computed};
use crate::constraints::{self, Rules};
use crate::definition::{Derived, NativeDef};
use crate::expression::RowExpression;
use crate::hidden::is_hidden;
use crate::write::change::joined;
use crate::write::change::taken;
use crate::write::lookup::keys_of;
use crate::write::warnings::Warnings;

/// Rows of a batch of a scan.
const BATCH_ROWS: usize = 8192;
/// Most rows and about most bytes that are made again at a time.
pub(super) const PIECE_ROWS: usize = 1 << 17;
const PIECE_BYTES: usize = 64 << 20;

/// Rows of one partition.
#[derive(Debug)]
pub(super) struct Piece {
    /// Which partition it is, in the order of the definition.
    pub(super) partition: usize,
    /// All columns, in stored form.
    pub(super) columns: Vec<ArrayRef>,
}

/// Reads all rows of a table, partition after partition.
#[derive(Debug)]
pub(super) struct Reader<'d> {
    def: &'d NativeDef,
    /// Sort each piece by the primary key, which is the order of rows in MySQL.
    sorted: bool,
    units: VecDeque<(usize, ScanUnit)>,
    open: Option<(usize, ScanCursor)>,
}

impl<'d> Reader<'d> {
    /// A reader of the rows that a snapshot has.
    ///
    /// # Errors
    /// Errors of reading the descriptions of chunks.
    pub(super) fn new(def: &'d NativeDef, table: &TableSnapshot, sorted: bool) -> Result<Self> {
        let request = ScanRequest {
            columns: (0..def.columns.len()).collect(),
            predicates: Vec::new(),
            tests: Vec::new(),
            schema: Arc::new(Schema::new(
                def.columns.iter().map(Column::field).collect::<Vec<_>>(),
            )),
            hidden: None,
            batch_rows: BATCH_ROWS,
        };
        let named = def.partitioner.named();
        let mut order: Vec<(usize, &[u8])> = table
            .partitions()
            .iter()
            .enumerate()
            .map(|(at, it)| (named.iter().position(|n| n.key == it.key()).unwrap_or(at), it.key()))
            .collect();
        order.sort_unstable();
        let mut units = VecDeque::new();
        for (place, key) in order {
            let of_partition = table.scan(request.clone(), |it| it.key() == key)?;
            units.extend(of_partition.into_iter().map(|unit| (place, unit)));
        }
        Ok(Self { def, sorted, units, open: None })
    }

    /// The next rows.
    ///
    /// # Errors
    /// Errors of reading.
    pub(super) fn next(&mut self) -> Result<Option<Piece>> {
        let mut batches: Vec<Vec<ArrayRef>> = Vec::new();
        let (mut partition, mut rows, mut bytes) = (None, 0, 0);
        while rows < PIECE_ROWS && bytes < PIECE_BYTES {
            let Some((of, cursor)) = &mut self.open else {
                match self.units.front() {
                    Some((next, _)) if partition.is_none_or(|it| it == *next) => {
                        let Some((next, unit)) = self.units.pop_front() else { break };
                        self.open = Some((next, unit.open()?));
                        continue;
                    }
                    _ => break,
                }
            };
            if partition.is_some_and(|it| it != *of) {
                break;
            }
            let of = *of;
            match cursor.next_batch()? {
                Some(batch) => {
                    partition = Some(of);
                    rows += batch.num_rows();
                    bytes += bytes_of(batch.columns());
                    batches.push(batch.columns().to_vec());
                }
                None => self.open = None,
            }
        }
        let Some(partition) = partition else { return Ok(None) };
        let columns = match batches.as_slice() {
            [one] => one.clone(),
            many => joined(&many.iter().map(Vec::as_slice).collect::<Vec<_>>())?,
        };
        let columns = if self.sorted { by_key(self.def, &columns)? } else { columns };
        Ok(Some(Piece { partition, columns }))
    }
}

fn by_key(def: &NativeDef, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let keys = keys_of(def, columns)?;
    let rows = u32::try_from(keys.len()).map_err(|_| Error::internal("a piece of 2^32 rows"))?;
    let mut order: Vec<u32> = (0..rows).collect();
    order.sort_unstable_by_key(|&row| keys.get(row as usize));
    taken(columns, &UInt32Array::from(order))
}

/// Makes rows of the new definition of rows of the old one.
#[derive(Debug)]
pub(super) struct Maker<'a> {
    old: &'a NativeDef,
    targets: &'a [Target],
    plan: &'a Plan,
    policy: Policy,
    /// Columns that are computed of others.
    computed: Vec<(usize, RowExpression)>,
    /// The new definition's rules for rows.
    rules: Rules,
}

/// Rows that were made.
#[derive(Debug)]
pub(super) struct Made {
    /// All columns; those that count by themselves are NULL.
    pub(super) columns: Vec<ArrayRef>,
    /// The warnings of the values.
    pub(super) warnings: Warnings,
}

impl<'a> Maker<'a> {
    /// A maker under the policy of a session.
    ///
    /// # Errors
    /// 1235 for expressions that are not computed here.
    pub(super) fn new(
        old: &'a NativeDef,
        derived: &'a Derived,
        plan: &'a Plan,
        definition: &TableDefinition,
        (policy, context): (Policy, &Arc<EvalContext>),
    ) -> Result<Self> {
        let targets = &derived.targets[..];
        let mut computed = Vec::new();
        for (at, source) in plan.sources.iter().enumerate() {
            let Source::Computed(expression) = source else { continue };
            let bound = RowExpression::of_column(
                &expression.tree,
                &old.name,
                (targets, old.mode),
                Arc::clone(context),
                &targets[at],
            );
            computed.push((at, bound.map_err(|_| not_computed(&targets[at].name))?));
        }
        // Of a TIMESTAMP that cannot be NULL any more, NULL becomes the moment of the statement.
        let null_is_now = policy.null_is_now || !is_hidden(&old.database);
        let policy = Policy { nulls: NullRule::Alter, null_is_now, ..policy };
        let rules = Rules::of(definition, targets, old.mode, context)?;
        Ok(Self { old, targets, plan, policy, computed, rules })
    }

    /// Whether values can be refused or leave a warning, which name a row.
    pub(super) fn tells_rows(&self) -> bool {
        self.rules.has_checks()
            || self.plan.odd_dates.is_some()
            || self
                .plan
                .sources
                .iter()
                .any(|it| !matches!(it, Source::Kept(_) | Source::Constant(_)))
    }

    /// Makes rows; the first is number `first`.
    ///
    /// # Errors
    /// The first row that does not fit.
    pub(super) fn make(&self, old: &[ArrayRef], first: u64) -> Result<Made, Failure> {
        let mut rows = old.first().map_or(0, |column| column.len());
        let mut met: Option<Failure> = None;
        // MySQL makes one row after another: of those before one that does not fit, another column
        // may not fit.
        loop {
            let some: Vec<ArrayRef> = old.iter().map(|column| column.slice(0, rows)).collect();
            match self.make_all(&some, first) {
                Ok(made) => return met.map_or(Ok(made), Err),
                Err(failure) => {
                    let before = usize::try_from(failure.row.saturating_sub(first)).unwrap_or(0);
                    if before == 0 || before >= rows {
                        return Err(failure);
                    }
                    (rows, met) = (before, Some(failure));
                }
            }
        }
    }

    /// Makes rows.
    ///
    /// # Errors
    /// A value that does not fit: in the first column that has one, the first.
    fn make_all(&self, old: &[ArrayRef], first: u64) -> Result<Made, Failure> {
        let rows = old.first().map_or(0, |column| column.len());
        let policy = Policy { first_row: first, ..self.policy };
        let mut warnings = Warnings::default();
        let mut columns = Vec::with_capacity(self.targets.len());
        for (at, source) in self.plan.sources.iter().enumerate() {
            let target = &self.targets[at];
            let assigned = match source {
                Source::Kept(from) => self.kept(&old[*from], target, &policy)?,
                Source::Converted(from) => self.converted(*from, &old[*from], target, &policy)?,
                Source::Constant(value) => repeated(value, &target.ty, rows, first)?,
                Source::Computed(_) | Source::Numbered => {
                    untouched(&arrow::array::new_null_array(&target.ty.arrow(), rows))
                }
            };
            warnings.add(assigned.warnings, assigned.warning_count);
            columns.push(assigned.array);
        }
        for (at, expression) in &self.computed {
            let policy = Policy { nulls: NullRule::Replace, null_is_now: false, ..policy };
            let assigned = self.computed(expression, &columns, &self.targets[*at], &policy)?;
            warnings.add(assigned.warnings, assigned.warning_count);
            columns[*at] = assigned.array;
        }
        if self.rules.has_checks() {
            let broken = self.rules.broken(self.targets, &columns, &policy);
            let broken = broken.map_err(|error| failed(error, &policy))?;
            if let Some((row, error)) = broken.into_iter().next() {
                return Err(Failure { row: first + row as u64, error });
            }
        }
        Ok(Made { columns, warnings })
    }

    /// The values of a column as they are. Dates are stored again where MySQL copies the rows, which may
    /// be refused or leave warnings.
    fn kept(
        &self,
        array: &ArrayRef,
        target: &Target,
        policy: &Policy,
    ) -> Result<Assigned, Failure> {
        let odd = self.plan.odd_dates.filter(|_| target.ty.is_date());
        if !odd.is_some_and(|odd| odd.any(array)) {
            return Ok(untouched(array));
        }
        let shown = self.shown(array, &target.ty).map_err(|error| failed(error, policy))?;
        let assigned = assign_array(target, policy, &shown, &target.ty)?;
        Ok(Assigned { array: Arc::clone(array), ..assigned })
    }

    fn converted(
        &self,
        from: usize,
        array: &ArrayRef,
        target: &Target,
        policy: &Policy,
    ) -> Result<Assigned, Failure> {
        let source = &self.old.targets[from];
        if convert::is_odd(&source.ty, &target.ty) && array.null_count() < array.len() {
            let error = Error::unsupported(format_args!(
                "ALTER TABLE that makes values of column '{}' into ones of another kind; add a \
                 column, fill it with UPDATE and drop the old one",
                source.name
            ));
            return Err(failed(error, policy));
        }
        let is_listed = source.ty.flags.has(Flags::ENUM) || source.ty.flags.has(Flags::SET);
        if is_listed && !target.ty.is_string() && target.ty.wire != WireType::Json {
            return assign_array(target, policy, &numbers(source, array), &NUMBERS);
        }
        if convert::is_by_text(&source.ty, &target.ty) {
            let (texts, ty) = convert::texts(array, &source.ty).map_err(|it| failed(it, policy))?;
            return assign_array(target, policy, &texts, &ty);
        }
        if target.ty.wire == WireType::Time
            && let Some(texts) = convert::without_empty(array)
        {
            return assign_array(target, policy, &texts, &source.ty);
        }
        let shown = self.shown(array, &source.ty).map_err(|error| failed(error, policy))?;
        assign_array(target, policy, &shown, &source.ty)
    }

    fn computed(
        &self,
        expression: &RowExpression,
        columns: &[ArrayRef],
        target: &Target,
        policy: &Policy,
    ) -> Result<Assigned, Failure> {
        let values = constraints::values(expression, self.targets, columns, policy);
        let values = values.map_err(|error| failed(error, policy))?;
        assign_array(target, policy, &values, &expression.ty())
    }

    /// A stored column as expressions see it: TIMESTAMPs in the session's zone.
    fn shown(&self, array: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef> {
        match ty.wire {
            WireType::Timestamp => timestamps_from_utc(array, self.policy.time_zone),
            _ => Ok(Arc::clone(array)),
        }
    }
}

fn untouched(array: &ArrayRef) -> Assigned {
    Assigned { array: Arc::clone(array), warnings: Vec::new(), warning_count: 0 }
}

fn failed(error: Error, policy: &Policy) -> Failure {
    Failure { row: policy.first_row, error }
}

/// A value for all rows.
fn repeated(
    value: &pelorus_functions::Value,
    ty: &ColumnType,
    rows: usize,
    first: u64,
) -> Result<Assigned, Failure> {
    let array = array_of(value, ty)
        .and_then(|one| taken(&[one], &UInt32Array::from(vec![0; rows])))
        .map_err(|error| Failure { row: first, error })?;
    Ok(untouched(&array[0]))
}

/// The type of the numbers of ENUM and SET values.
const NUMBERS: ColumnType = ColumnType::bigint_unsigned();

/// The numbers that MySQL stores for the values of an ENUM or SET.
fn numbers(source: &Target, array: &ArrayRef) -> ArrayRef {
    let place = |text: &str| source.members.iter().position(|it| it == text);
    let number = |text: &str| -> u64 {
        if source.ty.flags.has(Flags::ENUM) {
            return place(text).map_or(0, |at| at as u64 + 1);
        }
        text.split(',').filter_map(place).fold(0, |bits, at| bits | 1 << at.min(63))
    };
    let text = |row: usize| array.as_string_opt::<i32>().filter(|it| it.is_valid(row));
    let value = |row: usize| text(row).map(|texts| number(texts.value(row)));
    Arc::new((0..array.len()).map(value).collect::<UInt64Array>())
}
