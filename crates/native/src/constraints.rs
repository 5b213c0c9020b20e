//! Generated columns and CHECK constraints. Both are expressions over the other columns of the row,
//! which are bound again for each statement, since `sql_mode` and the time zone are the session's.

mod place;

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{
    Assigned, Failure, Policy, Target, assign_array, timestamps_from_utc,
};
use pelorus_functions::{EvalContext, Value, value_at};
use pelorus_sql::ddl::{
    CheckDefinition, ColumnDefault, ColumnDefinition, Generated, TableDefinition,
};
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::WireType;
use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator, visit_expressions};

use super::definition::{Derived, NativeDef};
use super::expression::{RowExpression, arguments, unknown_column};
use super::write::change::taken;
pub(crate) use place::{Place, not_of_rows, of_one_row};

/// The rules of a table, bound for a statement.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Generated columns by their positions, in order.
    generated: Vec<(usize, RowExpression)>,
    /// CHECK constraints that are enforced, by their names.
    checks: Vec<(String, RowExpression)>,
}

impl Rules {
    /// Binds the rules of a definition in normal form.
    ///
    /// # Errors
    /// Expressions that are not supported (1235).
    pub(crate) fn of(
        definition: &TableDefinition,
        targets: &[Target],
        mode: Mode,
        context: &Arc<EvalContext>,
    ) -> Result<Self> {
        let (table, scope) = (definition.name.name.as_str(), (targets, mode));
        let generated = definition.columns.iter().enumerate().filter_map(|(at, column)| {
            let tree = &column.generated.as_ref()?.expression.tree;
            let (context, target) = (Arc::clone(context), &targets[at]);
            let bound = RowExpression::of_column(tree, table, scope, context, target);
            Some(bound.map(|bound| (at, bound)))
        });
        let enforced = definition.checks.iter().filter(|check| check.enforced);
        let checks = enforced.map(|check| {
            let tree = &check.expression.tree;
            let bound = RowExpression::of_check(tree, table, scope, Arc::clone(context))?;
            Ok((check_name(check).to_owned(), bound))
        });
        Ok(Self {
            generated: generated.collect::<Result<_>>()?,
            checks: checks.collect::<Result<_>>()?,
        })
    }

    /// Computes the generated columns of rows in stored form, from left to right. Returns the
    /// warnings.
    ///
    /// # Errors
    /// The first row with a value that its column cannot hold.
    pub(crate) fn fill(
        &self,
        targets: &[Target],
        columns: &mut [ArrayRef],
        policy: &Policy,
    ) -> Result<Vec<Assigned>, Failure> {
        let failure = match self.fill_by_column(targets, columns, policy) {
            Err(failure) => failure,
            done => return done,
        };
        // In a column to the right an earlier row may fail.
        let before = usize::try_from(failure.row.saturating_sub(policy.first_row)).unwrap_or(0);
        if before > 0 {
            let mut earlier: Vec<ArrayRef> = columns.iter().map(|it| it.slice(0, before)).collect();
            self.fill(targets, &mut earlier, policy)?;
        }
        Err(failure)
    }

    fn fill_by_column(
        &self,
        targets: &[Target],
        columns: &mut [ArrayRef],
        policy: &Policy,
    ) -> Result<Vec<Assigned>, Failure> {
        let failed = |error| Failure { row: policy.first_row, error };
        let mut left = Vec::with_capacity(self.generated.len());
        for (at, expression) in &self.generated {
            let values = values(expression, targets, columns, policy).map_err(failed)?;
            let mut assigned = assign_array(&targets[*at], policy, &values, &expression.ty())?;
            columns[*at] = Arc::clone(&assigned.array);
            assigned.array = arrow::array::new_empty_array(assigned.array.data_type());
            left.push(assigned);
        }
        Ok(left)
    }

    /// The rows that break a CHECK, in order, each with error 3819 of the first that it breaks.
    ///
    /// # Errors
    /// Errors of the expressions.
    pub(crate) fn broken(
        &self,
        targets: &[Target],
        columns: &[ArrayRef],
        policy: &Policy,
    ) -> Result<Vec<(usize, Error)>> {
        let mut broken: BTreeMap<usize, &str> = BTreeMap::new();
        for (name, expression) in &self.checks {
            let holds = values(expression, targets, columns, policy)?;
            for row in 0..holds.len() {
                if value_at(&holds, &expression.ty(), row)? == Value::Int(0) {
                    broken.entry(row).or_insert(name);
                }
            }
        }
        Ok(broken.into_iter().map(|(row, name)| (row, violated(name))).collect())
    }

    /// Whether rows can break a rule.
    pub(crate) fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }
}

/// The values of an expression for rows in stored form.
pub(crate) fn values(
    expression: &RowExpression,
    targets: &[Target],
    columns: &[ArrayRef],
    policy: &Policy,
) -> Result<ArrayRef> {
    let rows = columns.first().map_or(0, |column| column.len());
    let mut shown = columns.to_vec();
    for &at in expression.columns() {
        if targets[at].ty.wire == WireType::Timestamp {
            shown[at] = timestamps_from_utc(&columns[at], policy.time_zone)?;
        }
    }
    let values = expression.evaluate(rows, &|at| &shown[at])?;
    // One value stands for all rows.
    match values.len() == rows {
        true => Ok(values),
        false => Ok(taken(&[values], &UInt32Array::from(vec![0; rows]))?.swap_remove(0)),
    }
}

impl NativeDef {
    /// Whether a column is generated.
    pub(crate) fn is_generated(&self, at: usize) -> bool {
        self.definition.columns[at].generated.is_some()
    }

    /// The rules of the table for a statement; `None` if there are none.
    ///
    /// # Errors
    /// Expressions that are not supported (1235).
    pub(crate) fn rules(&self, context: &Arc<EvalContext>) -> Result<Option<Rules>> {
        let definition = &self.definition;
        let is_ruled = definition.checks.iter().any(|check| check.enforced)
            || definition.columns.iter().any(|column| column.generated.is_some());
        is_ruled.then(|| Rules::of(definition, &self.targets, self.mode, context)).transpose()
    }
}

/// Error 3105: a generated column is given a value.
pub(crate) fn not_assignable(def: &NativeDef, column: usize) -> Error {
    let (name, table) = (&def.columns[column].name, &def.name);
    let text = format!(
        "The value specified for generated column '{name}' in table '{table}' is not allowed."
    );
    Error::new(Code::GeneratedColumnValue, text)
}

/// Error 1221: an option that a generated column cannot have.
pub(crate) fn not_of_generated(what: &str) -> Error {
    let text = format!("Incorrect usage of {what} and generated column");
    Error::new(Code::WrongUsage, text)
}

fn violated(name: &str) -> Error {
    Error::new(Code::CheckViolated, format!("Check constraint '{name}' is violated."))
}

pub(crate) fn check_name(check: &CheckDefinition) -> &str {
    check.name.as_deref().unwrap_or_default()
}

/// Checks the rules of a definition in normal form.
///
/// # Errors
/// What MySQL refuses, and expressions that are not supported (1235).
pub(crate) fn check(definition: &TableDefinition, derived: &Derived, mode: Mode) -> Result<()> {
    for (at, column) in definition.columns.iter().enumerate() {
        if let Some(generated) = &column.generated {
            self::generated(definition, at, column, generated)?;
        }
    }
    let mut seen = HashSet::new();
    for check in &definition.checks {
        let name = check_name(check);
        if !seen.insert(name.to_ascii_lowercase()) {
            let text = format!("Duplicate check constraint name '{name}'.");
            return Err(Error::new(Code::DuplicateCheck, text));
        }
        constraint(definition, check)?;
    }
    Rules::of(definition, &derived.targets, mode, &Arc::default()).map(drop)
}

fn generated(
    definition: &TableDefinition,
    at: usize,
    column: &ColumnDefinition,
    generated: &Generated,
) -> Result<()> {
    let name = &column.name;
    let wrong = |what: &str| Err(not_of_generated(what));
    if column.default.is_some() {
        return wrong("DEFAULT");
    }
    if column.on_update.is_some() {
        return wrong("ON UPDATE");
    }
    if column.auto_increment {
        return wrong("AUTO_INCREMENT");
    }
    let in_primary = |key: &pelorus_sql::ddl::KeyDefinition| {
        key.kind == pelorus_sql::ddl::KeyKind::Primary && key.holds(name)
    };
    if !generated.stored && definition.keys.iter().any(in_primary) {
        let text = "'Defining a virtual generated column as primary key' is not supported for \
                    generated columns.";
        return Err(Error::new(Code::GeneratedColumnUnsupported, text));
    }
    let tree = &generated.expression.tree;
    Place::Generated(name).check(tree)?;
    for used in names(tree) {
        let mut columns = definition.columns.iter().enumerate();
        let found = columns.find(|(_, it)| it.name.eq_ignore_ascii_case(&used));
        let Some((place, other)) = found else {
            return Err(Error::new(
                Code::UnknownColumn,
                format!("Unknown column '{used}' in 'generated column function'"),
            ));
        };
        if other.generated.is_some() && place >= at {
            return Err(generated_later());
        }
        if other.auto_increment {
            let text = format!("Generated column '{name}' cannot refer to auto-increment column.");
            return Err(Error::new(Code::GeneratedColumnAutoIncrement, text));
        }
    }
    Ok(())
}

/// Error 3107.
fn generated_later() -> Error {
    let text = "Generated column can refer only to generated columns defined prior to it.";
    Error::new(Code::GeneratedColumnNotPrior, text)
}

/// Checks defaults that are expressions, and that generated columns name no column with such a default
/// which comes after them.
///
/// # Errors
/// What MySQL refuses.
pub(crate) fn defaults(definition: &TableDefinition) -> Result<()> {
    let computed = |column: &ColumnDefinition| {
        column.generated.is_some() || matches!(column.default, Some(ColumnDefault::Expression(_)))
    };
    for (at, column) in definition.columns.iter().enumerate() {
        if let Some(generated) = &column.generated {
            let mut used = names(&generated.expression.tree).into_iter();
            let is_later = |used: String| {
                let mut later = definition.columns.iter().skip(at);
                later.any(|it| it.name.eq_ignore_ascii_case(&used) && computed(it))
            };
            if used.any(is_later) {
                return Err(generated_later());
            }
        }
        let Some(ColumnDefault::Expression(expression)) = &column.default else { continue };
        let name = &column.name;
        Place::Default(name).check(&expression.tree)?;
        for used in names(&expression.tree) {
            let mut columns = definition.columns.iter().enumerate();
            let found = columns.find(|(_, it)| it.name.eq_ignore_ascii_case(&used));
            let Some((place, other)) = found else { continue };
            if place >= at && computed(other) {
                let text = format!(
                    "Default value expression of column '{name}' cannot refer to a column defined \
                     after it if that column is a generated column or has an expression as default \
                     value."
                );
                return Err(Error::new(Code::DefaultNotPrior, text));
            }
            if other.auto_increment {
                let text = format!(
                    "Default value expression of column '{name}' cannot refer to an auto-increment \
                     column."
                );
                return Err(Error::new(Code::DefaultAutoIncrement, text));
            }
        }
    }
    Ok(())
}

/// Refuses a CHECK that names a column which is not there after an `ALTER TABLE`.
///
/// # Errors
/// 1054.
pub(crate) fn check_names(definition: &TableDefinition) -> Result<()> {
    for check in &definition.checks {
        let is_missing = |name: &String| {
            !definition.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name))
        };
        if let Some(name) = names(&check.expression.tree).into_iter().find(is_missing) {
            let place = format!("check constraint {} expression", check_name(check));
            return Err(unknown_column(&name, &place));
        }
    }
    Ok(())
}

fn constraint(definition: &TableDefinition, check: &CheckDefinition) -> Result<()> {
    let (name, tree) = (check_name(check), &check.expression.tree);
    if !is_condition(tree) {
        let text =
            format!("An expression of non-boolean type specified to a check constraint '{name}'.");
        return Err(Error::new(Code::CheckNotBoolean, text));
    }
    Place::Check(name).check(tree)?;
    for used in names(tree) {
        let mut columns = definition.columns.iter();
        match columns.find(|it| it.name.eq_ignore_ascii_case(&used)) {
            None => {
                let text =
                    format!("Check constraint '{name}' refers to non-existing column '{used}'.");
                return Err(Error::new(Code::CheckUnknownColumn, text));
            }
            Some(column) if column.auto_increment => {
                let text =
                    format!("Check constraint '{name}' cannot refer to an auto-increment column.");
                return Err(Error::new(Code::CheckAutoIncrement, text));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Refuses to drop or rename columns that rules are made of, unless these go as well, and to make
/// generated columns of others in place.
///
/// # Errors
/// 3108, 3766, 3959 and 3106.
pub(crate) fn check_kept(
    def: &NativeDef,
    definition: &TableDefinition,
    origins: &[Option<usize>],
) -> Result<()> {
    let before = &def.definition;
    // The first column that an expression names and that has another name or is gone.
    let lost = |tree: &Expr| {
        names(tree).into_iter().find(|name| {
            let is = |column: &ColumnDefinition| column.name.eq_ignore_ascii_case(name);
            let place = definition.columns.iter().position(is);
            let origin = place.and_then(|at| origins[at]);
            before.columns.iter().any(is) && origin.is_none_or(|old| !is(&before.columns[old]))
        })
    };
    for (column, origin) in definition.columns.iter().zip(origins) {
        let Some(old) = origin.map(|old| &before.columns[old]) else { continue };
        let status = |column: &ColumnDefinition| column.generated.as_ref().map(|it| it.stored);
        let is_virtual = status(old) == Some(false) || status(column) == Some(false);
        if is_virtual && status(old) != status(column) {
            let text = "'Changing the STORED status' is not supported for generated columns.";
            return Err(Error::new(Code::GeneratedColumnUnsupported, text));
        }
        if let Some(generated) =
            column.generated.as_ref().filter(|it| old.generated.as_ref() == Some(*it))
            && let Some(name) = lost(&generated.expression.tree)
        {
            let text = format!("Column '{name}' has a generated column dependency.");
            return Err(Error::new(Code::DependsOnGeneratedColumn, text));
        }
    }
    for (column, origin) in definition.columns.iter().zip(origins) {
        let old = origin.map(|old| &before.columns[old]);
        if let Some(ColumnDefault::Expression(default)) = &column.default
            && old.is_some_and(|old| old.default == column.default)
            && let Some(name) = lost(&default.tree)
        {
            let text = format!(
                "Column '{name}' of table '{}' has a default value expression dependency and \
                 cannot be dropped or renamed.",
                def.name
            );
            return Err(Error::new(Code::DependsOnDefault, text));
        }
    }
    for check in definition.checks.iter().filter(|check| before.checks.contains(check)) {
        if let Some(column) = lost(&check.expression.tree) {
            let name = check_name(check);
            let text = format!(
                "Check constraint '{name}' uses column '{column}', hence column cannot be dropped \
                 or renamed."
            );
            return Err(Error::new(Code::DependsOnCheck, text));
        }
    }
    Ok(())
}

/// Whether rows have to fulfil a CHECK that was not there.
pub(crate) fn adds_check(before: &TableDefinition, after: &TableDefinition) -> bool {
    after.checks.iter().any(|check| check.enforced && !before.checks.contains(check))
}

/// Error 3813 for a CHECK at a column of a definition as written.
pub(crate) fn of_other_column(definition: &TableDefinition, check: &CheckDefinition) -> Error {
    // Its name may be one that it is given.
    let mut normal = definition.clone();
    normal.normalise();
    let named = normal.checks.iter().find(|it| it.expression == check.expression);
    let name = check_name(named.unwrap_or(check));
    let text = format!("Column check constraint '{name}' references other column.");
    Error::new(Code::CheckOtherColumn, text)
}

/// The columns that an expression names, by their names as written.
pub(crate) fn names(tree: &Expr) -> Vec<String> {
    let columns = ast_analysis::all_columns(tree);
    let mut names: Vec<String> =
        columns.into_iter().filter_map(|path| Some(path.last()?.value.clone())).collect();
    // Units parse as names.
    let _ = visit_expressions(tree, |expr| {
        if let Expr::Function(function) = expr
            && matches!(
                ast_analysis::function_name(&function.name).as_str(),
                "TIMESTAMPDIFF" | "TIMESTAMPADD"
            )
            && let Some(Expr::Identifier(unit)) =
                arguments(function).and_then(|it| it.first().copied())
            && let Some(at) = names.iter().position(|name| *name == unit.value)
        {
            names.remove(at);
        }
        ControlFlow::<()>::Continue(())
    });
    names
}

/// Whether MySQL takes an expression as a condition: the value of others is a number.
fn is_condition(tree: &Expr) -> bool {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or, Spaceship, Xor};
    match tree {
        Expr::Nested(inner) => is_condition(inner),
        Expr::BinaryOp {
            op: And | Or | Xor | Eq | NotEq | Gt | GtEq | Lt | LtEq | Spaceship,
            ..
        } => true,
        Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, .. } => true,
        Expr::Value(value) => matches!(value.value, ast::Value::Boolean(_)),
        Expr::Function(function) => matches!(
            ast_analysis::function_name(&function.name).as_str(),
            "ISNULL"
                | "JSON_VALID"
                | "JSON_CONTAINS"
                | "JSON_CONTAINS_PATH"
                | "JSON_OVERLAPS"
                | "REGEXP_LIKE"
                | "JSON_SCHEMA_VALID"
        ),
        other => matches!(
            other,
            Expr::IsNull(_)
                | Expr::IsNotNull(_)
                | Expr::IsTrue(_)
                | Expr::IsNotTrue(_)
                | Expr::IsFalse(_)
                | Expr::IsNotFalse(_)
                | Expr::IsUnknown(_)
                | Expr::IsNotUnknown(_)
                | Expr::Between { .. }
                | Expr::InList { .. }
                | Expr::Like { .. }
                | Expr::RLike { .. }
        ),
    }
}
