//! The fast path of `INSERT ... VALUES`: builds columns from literals, value by value.
//!
//! Literals are copied from the statement's text directly into the builders of the columns. Other
//! values were evaluated before ([`super::insert`]) and are taken in the order of the text.

use arrow::array::ArrayRef;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::array_of;
use pelorus_functions::assignment::{ColumnBuilder, Failure, Literal, Policy, assign_array};
use pelorus_result::scalar::Typed;
use pelorus_sql::dml::{Rows, Value};
use pelorus_sql::literal;

use super::default::Default;
use super::warnings::Warnings;
use crate::constraints::{names, not_assignable};
use crate::definition::{DefaultValue, NativeDef};

/// New rows in stored form.
#[derive(Debug)]
pub(super) struct NewRows {
    /// All columns of the table.
    pub(super) columns: Vec<ArrayRef>,
    /// The warnings of the values.
    pub(super) warnings: Warnings,
    /// Columns whose default is computed, with the rows that it is computed for.
    pub(super) computed: Vec<(usize, Vec<u32>)>,
}

/// Builds rows of a table.
#[derive(Debug)]
pub(super) struct Fill<'a> {
    def: &'a NativeDef,
    defaults: &'a [Default],
    policy: Policy,
    builders: Vec<ColumnBuilder>,
    /// The columns that a row's values go to, in order.
    given: Vec<usize>,
    /// All other columns.
    others: Vec<usize>,
    /// Columns that get their values later, whatever their defaults are.
    assigned: Vec<usize>,
    /// The columns among those of `given` whose `DEFAULT` was evaluated, as it sees the row as it is
    /// by then.
    early: Vec<usize>,
    /// `()` means a row of defaults.
    may_be_empty: bool,
    lacks_value: bool,
    rows: u64,
    warnings: Warnings,
    computed: Vec<(usize, Vec<u32>)>,
}

impl<'a> Fill<'a> {
    /// A table's rows whose values are for the columns `given`; there is room for so many `rows`.
    /// `may_be_empty`: `()` means a row of defaults, since no columns are named.
    ///
    /// # Errors
    /// A column that cannot be stored (1235).
    pub(super) fn new(
        def: &'a NativeDef,
        defaults: &'a [Default],
        policy: Policy,
        given: Vec<usize>,
        (rows, may_be_empty): (usize, bool),
    ) -> Result<Self> {
        let builders = def
            .targets
            .iter()
            .map(|target| ColumnBuilder::with_room(target, policy, rows))
            .collect::<Result<_>>()?;
        let others = (0..def.columns.len()).filter(|at| !given.contains(at)).collect();
        let computed = defaults
            .iter()
            .enumerate()
            .filter(|(_, default)| matches!(default, Default::Computed(_)))
            .map(|(at, _)| (at, Vec::new()))
            .collect();
        let warnings = Warnings::default();
        Ok(Self {
            def,
            defaults,
            policy,
            builders,
            others,
            assigned: Vec::new(),
            early: early(def, &given),
            given,
            may_be_empty,
            lacks_value: false,
            rows: 0,
            warnings,
            computed,
        })
    }

    /// Columns that are assigned after the rows are built: they need no default, and none is
    /// computed for them.
    pub(super) fn assigned_later(mut self, columns: impl Iterator<Item = usize>) -> Self {
        self.assigned = columns.collect();
        self
    }

    /// Adds all rows of a statement; `values` are those of its expressions.
    ///
    /// # Errors
    /// The first row that does not fit; too few or too many values in any row (1136) come first.
    pub(super) fn rows(&mut self, mut rows: Rows<'_>, values: Vec<Typed>) -> Result<()> {
        let mut values = values.into_iter();
        let mut row = Vec::with_capacity(self.given.len());
        while rows.next_row(&mut row)? {
            self.check_count(row.len())?;
            if let Err(failure) = self.row(&row, &mut values) {
                // Counts are checked before any value is.
                while rows.next_row(&mut row)? {
                    self.rows += 1;
                    self.check_count(row.len())?;
                }
                return Err(failure.error);
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// Whether adding rows ended at an expression without a value.
    pub(super) fn lacks_value(&self) -> bool {
        self.lacks_value
    }

    /// Adds the row of `SET`.
    ///
    /// # Errors
    /// A value that does not fit.
    pub(super) fn one_row(&mut self, row: &[Value<'_>], values: Vec<Typed>) -> Result<()> {
        self.row(row, &mut values.into_iter())?;
        self.rows += 1;
        Ok(())
    }

    fn check_count(&self, values: usize) -> Result<()> {
        if values == self.given.len() || (values == 0 && self.may_be_empty) {
            return Ok(());
        }
        let row = self.rows + 1;
        Err(Error::new(
            Code::WrongValueCount,
            format!("Column count doesn't match value count at row {row}"),
        ))
    }

    fn row(
        &mut self,
        row: &[Value<'_>],
        values: &mut impl Iterator<Item = Typed>,
    ) -> Result<(), Failure> {
        if row.len() != self.given.len() {
            return (0..self.builders.len()).try_for_each(|column| self.default(column));
        }
        for (at, value) in row.iter().enumerate() {
            self.value(self.given[at], value, values)?;
        }
        for at in 0..self.others.len() {
            self.default(self.others[at])?;
        }
        Ok(())
    }

    fn default(&mut self, column: usize) -> Result<(), Failure> {
        let (builder, implicit) = (&mut self.builders[column], &self.def.implicit[column]);
        match &self.defaults[column] {
            Default::None | Default::Computed(_) if self.assigned.contains(&column) => {
                match self.def.targets[column].ty.is_nullable() {
                    true => builder.append_null(),
                    false => builder.append_value(implicit),
                }
            }
            Default::None => builder.append_default(None, implicit),
            Default::Value(value) => builder.append_default(Some(value), implicit),
            Default::Computed(_) => {
                let rows = self.computed.iter_mut().find(|(at, _)| *at == column);
                let row = u32::try_from(self.rows).unwrap_or(u32::MAX);
                rows.into_iter().for_each(|(_, rows)| rows.push(row));
                builder.append_value(implicit)
            }
        }
    }

    #[inline]
    fn value(
        &mut self,
        column: usize,
        value: &Value<'_>,
        values: &mut impl Iterator<Item = Typed>,
    ) -> Result<(), Failure> {
        if self.def.is_generated(column) && !matches!(value, Value::Default) {
            return Err(self.failure(not_assignable(self.def, column)));
        }
        let builder = &mut self.builders[column];
        match value {
            Value::Integer(text) | Value::Decimal(text) | Value::Float(text) => {
                builder.append_number_text(text)
            }
            Value::Text { text, charset } if is_bytes(*charset) => {
                builder.append_bytes(text.as_bytes())
            }
            Value::Text { text, charset } if is_plain(*charset) => {
                builder.append_text(text.as_bytes())
            }
            Value::Null => builder.append_null(),
            Value::Boolean(value) => builder.append_int(i64::from(*value)),
            Value::Hex { digits, charset: None } => builder.append_hex(&literal::hex_bytes(digits)),
            Value::Bits { digits, charset: None } => {
                builder.append_hex(&literal::bit_bytes(digits))
            }
            // With an introducer they are no numbers.
            Value::Hex { digits, charset } if is_bytes(*charset) => {
                builder.append_bytes(&literal::hex_bytes(digits))
            }
            Value::Bits { digits, charset } if is_bytes(*charset) => {
                builder.append_bytes(&literal::bit_bytes(digits))
            }
            Value::Hex { digits, charset } if is_plain(*charset) => {
                builder.append_text(&literal::hex_bytes(digits))
            }
            Value::Bits { digits, charset } if is_plain(*charset) => {
                builder.append_text(&literal::bit_bytes(digits))
            }
            Value::Default if !self.early.contains(&column) => self.default(column),
            _ => match values.next() {
                Some(value) => self.typed(column, &value),
                None => {
                    self.lacks_value = true;
                    Err(self.failure(Error::internal("an expression was not evaluated")))
                }
            },
        }
    }

    fn failure(&self, error: Error) -> Failure {
        Failure { row: self.policy.first_row + self.rows, error }
    }

    /// A value of an expression, by the rules of its type.
    fn typed(&mut self, column: usize, (value, ty): &Typed) -> Result<(), Failure> {
        if value.is_null() {
            return self.builders[column].append_null();
        }
        let policy = Policy { first_row: self.policy.first_row + self.rows, ..self.policy };
        let target = &self.def.targets[column];
        let array = array_of(value, ty).map_err(|error| self.failure(error))?;
        let assigned = assign_array(target, &policy, &array, ty)?;
        self.warnings.add(assigned.warnings, assigned.warning_count);
        let stored = pelorus_functions::value_at(&assigned.array, &target.ty, 0)
            .map_err(|error| self.failure(error))?;
        self.builders[column].append_value(&stored)
    }

    /// The literals of one row of a file; `None` means a column's default.
    pub(super) fn fields<'v>(
        &mut self,
        fields: impl Iterator<Item = Option<Literal<'v>>>,
    ) -> Result<(), Failure> {
        for (at, field) in fields.enumerate().take(self.given.len()) {
            match field {
                // What a file has for it does not count.
                Some(_) if self.def.is_generated(self.given[at]) => self.default(self.given[at])?,
                Some(literal) => self.builders[self.given[at]].append(literal)?,
                None => self.default(self.given[at])?,
            }
        }
        for at in 0..self.others.len() {
            self.default(self.others[at])?;
        }
        self.rows += 1;
        Ok(())
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> u64 {
        self.rows
    }

    /// The rows.
    pub(super) fn finish(mut self) -> NewRows {
        let mut warnings = std::mem::take(&mut self.warnings);
        let mut columns = Vec::with_capacity(self.builders.len());
        for builder in std::mem::take(&mut self.builders) {
            let assigned = builder.finish();
            warnings.add(assigned.warnings, assigned.warning_count);
            columns.push(assigned.array);
        }
        self.computed.retain(|(_, rows)| !rows.is_empty());
        NewRows { columns, warnings, computed: self.computed }
    }
}

/// The columns of `given` whose default expression reads columns that have no value yet: later
/// columns, and generated columns.
pub(super) fn early(def: &NativeDef, given: &[usize]) -> Vec<usize> {
    let is_early = |(place, &column): (usize, &usize)| {
        let DefaultValue::Expression(expression) = &def.defaults[column] else { return false };
        let before = given.get(..place).unwrap_or_default();
        let is_computed = |at: usize| {
            def.is_generated(at) || matches!(def.defaults[at], DefaultValue::Expression(_))
        };
        let mut used = names(&expression.tree).into_iter().filter_map(|name| def.position(&name));
        used.any(|at| !before.contains(&at) && (given.contains(&at) || is_computed(at)))
    };
    let early = given.iter().enumerate().filter(|it| is_early(*it));
    early.map(|(_, column)| *column).collect()
}

/// Whether a value is in need of the engine of expressions.
pub(super) fn is_evaluated(value: &Value<'_>) -> bool {
    match value {
        Value::Text { charset, .. } | Value::Hex { charset, .. } | Value::Bits { charset, .. } => {
            !is_plain(*charset)
        }
        Value::Placeholder | Value::Expression(_) => true,
        _ => false,
    }
}

/// Whether an introducer says that a string is bytes.
fn is_bytes(charset: Option<&str>) -> bool {
    charset.is_some_and(|name| name.eq_ignore_ascii_case("binary"))
}

/// Whether the bytes of a string are the same in UTF-8, which statements come in.
fn is_plain(charset: Option<&str>) -> bool {
    const PLAIN: [&str; 4] = ["utf8mb4", "utf8mb3", "utf8", "ascii"];
    is_bytes(charset)
        || charset.is_none_or(|name| PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(name)))
}
