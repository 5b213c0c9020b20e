//! `SET` assignments to the columns of rows, evaluated one after another as in MySQL: a later one
//! sees the value that an earlier one stored.

use std::collections::HashSet;
use std::ops::ControlFlow;

use arrow::array::{ArrayRef, BooleanArray};
use pelorus_error::{Error, Result};
use pelorus_functions::Value;
use pelorus_functions::assignment::{ColumnBuilder, Numbering, assign_array};
use pelorus_sql::ast::{self, Expr, Ident};
use pelorus_sql::ast_analysis;
use pelorus_sql::dml::{Assigned, Assignment};
use pelorus_store::bytes_of;
use pelorus_types::Column;

use super::default::{Default, call_of, defaults, moment, shown, without_default_calls};
use super::insert::count;
use super::warnings::Warnings;
use super::{Statement, check_bytes, unknown_column};
use crate::constraints::{not_assignable, of_one_row};
use crate::definition::NativeDef;

/// The new value of a column.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Its default.
    Default,
    /// The value of an expression, by its text and the columns that it names.
    Expression(String, Vec<usize>),
}

/// How names in assignments are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'n> {
    /// The alias or name of the table.
    pub(super) table: &'n str,
    /// The name and column names of the new row in `ON DUPLICATE KEY UPDATE`; `VALUES(column)` is
    /// read there as well.
    pub(super) new: Option<(&'n str, &'n [String])>,
    /// The columns to which the column names of the new row refer.
    pub(super) given: &'n [usize],
}

/// The name that a column of the new row has among rows in memory.
pub(super) fn new_name(column: &str) -> String {
    format!("\u{1}new.{column}")
}

impl Statement<'_> {
    /// Reads the assignments of a statement to one table.
    ///
    /// # Errors
    /// Unknown columns (1054), generated columns, and errors of DEFAULT.
    pub(super) fn sources(
        &self,
        def: &NativeDef,
        assignments: &[Assignment],
        names: Names<'_>,
    ) -> Result<Vec<(usize, Source)>> {
        let source = |assignment: &Assignment| {
            let name = assignment.column.last().map_or("", String::as_str);
            let whole = || unknown_column(&assignment.column.join("."));
            let column = def.position(name).ok_or_else(whole)?;
            if let [.., table, _] = assignment.column.as_slice()
                && table != names.table
            {
                return Err(whole());
            }
            if def.is_generated(column) {
                // `DEFAULT` leaves it as it is.
                return match assignment.value {
                    Assigned::Default => Ok(None),
                    Assigned::Expression(_) => Err(not_assignable(def, column)),
                };
            }
            let source = match &assignment.value {
                Assigned::Default => Source::Default,
                Assigned::Expression(expr) => {
                    of_one_row(expr)?;
                    let mode = self.context.mode;
                    let mut expr = without_default_calls(expr, def, &self.policy, mode)?;
                    renamed(&mut expr, def, names)?;
                    let used = ast_analysis::all_columns(&expr);
                    let used = used
                        .iter()
                        .filter_map(|parts| def.position(&parts.last()?.value))
                        .collect();
                    Source::Expression(expr.to_string(), used)
                }
            };
            Ok(Some((column, source)))
        };
        assignments.iter().filter_map(|it| source(it).transpose()).collect()
    }

    /// Rows after assignments. `old` and the result are in stored form; `extra` are further columns
    /// that expressions may name, as clients see them.
    ///
    /// # Errors
    /// A value that does not fit, and errors of expressions.
    pub(super) async fn assigned(
        &self,
        def: &NativeDef,
        table: &str,
        old: &[ArrayRef],
        extra: (&[Column], &[ArrayRef]),
        sources: &[(usize, Source)],
        warnings: &mut Warnings,
    ) -> Result<Vec<ArrayRef>> {
        let defaults = defaults(def, &self.policy, self.context.mode);
        let mut rows = old.to_vec();
        let mut rest = sources;
        while !rest.is_empty() {
            self.stop.check()?;
            let (now, later) = rest.split_at(independent(rest, &defaults));
            rest = later;
            let texts: Vec<String> = now
                .iter()
                .filter_map(|(column, source)| match (source, &defaults[*column]) {
                    (Source::Expression(text, _), _) => Some(format!("({text})")),
                    (Source::Default, Default::Computed(text)) => Some(format!("({text})")),
                    (Source::Default, _) => None,
                })
                .collect();
            let mut values = Vec::new().into_iter();
            if !texts.is_empty() {
                let columns = [def.columns.as_slice(), extra.0].concat();
                let mut arrays = shown(&def.columns, &rows, self.policy.time_zone)?;
                arrays.extend_from_slice(extra.1);
                values = self.over_rows(table, &columns, &arrays, &texts).await?.into_iter();
            }
            for (column, source) in now {
                let assigned = match (source, &defaults[*column]) {
                    (Source::Default, Default::Value(value)) => {
                        self.constant(def, *column, Some(value), count(old))?
                    }
                    (Source::Default, Default::None) => {
                        // Of a column that counts it is zero, as long as no number is made.
                        let is_zero = self.policy.numbering != Numbering::Made
                            && def.auto.as_ref().is_some_and(|auto| auto.column == *column);
                        let zero = is_zero.then(|| &def.implicit[*column]);
                        self.constant(def, *column, zero, count(old))?
                    }
                    _ => {
                        let missing = || Error::internal("an assignment has no value");
                        let (array, ty) = values.next().ok_or_else(missing)?;
                        assign_array(&def.targets[*column], &self.policy, &array, &ty)?
                    }
                };
                warnings.add(assigned.warnings, assigned.warning_count);
                rows[*column] = assigned.array;
            }
            let bytes_of_column =
                |(column, _): &(usize, Source)| bytes_of(&rows[*column..=*column]);
            check_bytes(sources.iter().map(bytes_of_column).sum())?;
        }
        Ok(rows)
    }

    fn constant(
        &self,
        def: &NativeDef,
        column: usize,
        value: Option<&Value>,
        rows: usize,
    ) -> Result<pelorus_functions::assignment::Assigned> {
        let mut builder = ColumnBuilder::with_room(&def.targets[column], self.policy, rows)?;
        for _ in 0..rows {
            builder.append_default(value, &def.implicit[column])?;
        }
        Ok(builder.finish())
    }

    /// Sets `ON UPDATE CURRENT_TIMESTAMP` columns that no assignment names.
    ///
    /// # Errors
    /// A column that cannot be stored.
    pub(super) fn touch(
        &self,
        def: &NativeDef,
        assigned: &[usize],
        rows: &mut [ArrayRef],
    ) -> Result<()> {
        for (column, digits) in def.on_update.iter().enumerate() {
            let Some(digits) = digits else { continue };
            if !assigned.contains(&column) {
                let now = moment(def, column, *digits, &self.policy);
                rows[column] = self.constant(def, column, Some(&now), count(rows))?.array;
            }
        }
        Ok(())
    }
}

/// How many assignments from the first on use no column that one of them assigned before.
fn independent(sources: &[(usize, Source)], defaults: &[Default]) -> usize {
    let mut assigned = HashSet::new();
    let uses_earlier = |(column, source): &(usize, Source)| {
        let uses = match source {
            Source::Expression(_, used) => used.iter().any(|column| assigned.contains(column)),
            // It may name any column. Of one that is assigned twice the second value stays.
            Source::Default => {
                !assigned.is_empty() && matches!(defaults[*column], Default::Computed(_))
            }
        };
        assigned.insert(*column);
        uses
    };
    sources.iter().position(uses_earlier).unwrap_or(sources.len())
}

/// Which rows differ in the columns that were assigned.
///
/// # Errors
/// Arrays of different types, which is a bug.
pub(super) fn changed(
    old: &[ArrayRef],
    new: &[ArrayRef],
    assigned: &[usize],
) -> Result<BooleanArray> {
    let mut any = BooleanArray::from(vec![false; count(old)]);
    for column in assigned {
        let differs = arrow::compute::kernels::cmp::distinct(&old[*column], &new[*column])
            .and_then(|differs| arrow::compute::or(&any, &differs));
        any = differs.map_err(|error| Error::internal("rows differ in type").caused_by(error))?;
    }
    Ok(any)
}

/// The rows of a batch that a mask picks.
///
/// # Errors
/// A mask of another length, which is a bug.
pub(super) fn picked(columns: &[ArrayRef], mask: &BooleanArray) -> Result<Vec<ArrayRef>> {
    let pick = |column: &ArrayRef| {
        arrow::compute::filter(column, mask)
            .map_err(|error| Error::internal("rows cannot be picked").caused_by(error))
    };
    columns.iter().map(pick).collect()
}

/// Makes names fit rows in memory: the database is left out, and the new row's columns are columns
/// like others.
fn renamed(expr: &mut Expr, def: &NativeDef, names: Names<'_>) -> Result<()> {
    let of_new = |column: &str| -> Result<Expr> {
        let at = def.position(column).ok_or_else(|| unknown_column(column))?;
        let name = new_name(&def.columns[at].name);
        Ok(Expr::Identifier(Ident::with_quote('`', name)))
    };
    let by_alias = |alias_columns: &[String], column: &str| match alias_columns {
        [] => Some(column.to_owned()),
        listed => {
            let at = listed.iter().position(|it| it.eq_ignore_ascii_case(column))?;
            Some(def.columns[*names.given.get(at)?].name.clone())
        }
    };
    let outcome = ast::visit_expressions_mut(expr, |inner| {
        let replaced = match &*inner {
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [database, _, _] if database.value == def.database => {
                    Some(Ok(Expr::CompoundIdentifier(parts[1..].to_vec())))
                }
                [table, column] => names.new.and_then(|(name, columns)| {
                    let is_new = table.value == *name;
                    let column = by_alias(columns, &column.value).filter(|_| is_new)?;
                    Some(of_new(&column))
                }),
                _ => None,
            },
            Expr::Identifier(name) => names.new.and_then(|(_, columns)| {
                let is_own = columns.is_empty() || def.position(&name.value).is_some();
                let column = by_alias(columns, &name.value).filter(|_| !is_own)?;
                Some(of_new(&column))
            }),
            other if names.new.is_some() => call_of(other, "VALUES").map(|column| of_new(&column)),
            _ => None,
        };
        match replaced {
            Some(Ok(other)) => *inner = other,
            Some(Err(error)) => return ControlFlow::Break(error),
            None => {}
        }
        ControlFlow::Continue(())
    });
    match outcome {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}
