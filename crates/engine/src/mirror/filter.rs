//! Copies of a part of their table: how a definition says so, and the condition of the rows.
//!
//! A column that is left out is a small column that is always NULL, with a comment that marks it;
//! no other column of a copy has a comment. The condition of the rows is the comment of the table. So
//! both belong to a generation of the copy, and go with it through changes of its definition.
//!
//! A condition is a thing of its row alone: columns, constants, comparisons, and functions that
//! neither fail nor depend on a session. It is read under an empty `sql_mode`, in universal time.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray};
use arrow::datatypes::Int64Type;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assign::Target;
use pelorus_functions::{EvalContext, SqlMode};
use pelorus_query::TablePart;
use pelorus_sql::literal::{Constant, constant};
use pelorus_sql::statement::MirrorFilter;
use pelorus_sql::table::{
    AlterAction, AlterTable, Base, ColumnDefinition, TableDefinition, TableOption, TypeName,
};
use pelorus_sql::{Mode, normalise};
use pelorus_types::{ColumnType, WireType};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use crate::native::definition::NativeDef;
use crate::native::expression::{RowExpression, arguments};

/// The comment of a column that is left out.
const LEFT_OUT: &str = "left out";
/// The option that has the condition.
const COMMENT: &str = "COMMENT";

/// Functions of a row that never fail and that no session changes.
const FUNCTIONS: [&str; 29] = [
    "CHARACTER_LENGTH",
    "CHAR_LENGTH",
    "COALESCE",
    "CRC32",
    "DATE",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "HOUR",
    "IFNULL",
    "ISNULL",
    "LCASE",
    "LEFT",
    "LENGTH",
    "LOWER",
    "MID",
    "MINUTE",
    "MOD",
    "MONTH",
    "OCTET_LENGTH",
    "QUARTER",
    "RIGHT",
    "SECOND",
    "SUBSTR",
    "SUBSTRING",
    "UCASE",
    "UPPER",
    "YEAR",
];
/// Those of them that take dates.
const OF_DATES: [&str; 11] = [
    "DATE",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "MONTH",
    "QUARTER",
    "SECOND",
    "YEAR",
];

/// Makes the definition of a copy that of a part.
///
/// # Errors
/// Columns that are not there (1054), and those that the copy cannot do without.
pub(super) fn apply(definition: &mut TableDefinition, filter: &MirrorFilter) -> Result<()> {
    let has = |name: &str| definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    if let Some(condition) = &filter.condition {
        for name in names_of(&read(condition)?) {
            if !has(&name) {
                return Err(unknown(&name));
            }
            if filter.columns.leave_out(&name) {
                return Err(needed(&name, "the condition WHERE of the mirror"));
            }
        }
        definition.options.push(TableOption {
            name: COMMENT.to_owned(),
            value: condition.clone(),
            quoted: true,
        });
    }
    let keys = definition.keys.clone();
    let segments: Vec<String> =
        definition.segment_by.iter().flat_map(|it| names_of(&it.tree)).collect();
    for column in &mut definition.columns {
        if !filter.columns.leave_out(&column.name) {
            continue;
        }
        if column.primary || keys.iter().any(|key| key.holds(&column.name)) {
            return Err(needed(&column.name, "the primary key"));
        }
        // Partitions are made of the primary key.
        if segments.iter().any(|name| name.eq_ignore_ascii_case(&column.name)) {
            return Err(needed(&column.name, "SEGMENT BY"));
        }
        leave_out(column);
    }
    Ok(())
}

/// Names of the user that the table does not have.
///
/// # Errors
/// 1054.
pub(super) fn check_names(definition: &TableDefinition, filter: &MirrorFilter) -> Result<()> {
    let has =
        |name: &String| definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    match filter.columns.names().iter().find(|name| !has(name)) {
        None => Ok(()),
        Some(name) => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Error {
    Error::new(Code::UnknownColumn, format!("Unknown column '{name}' in 'MIRROR'"))
}

fn needed(name: &str, by: &str) -> Error {
    let text = format!("column '{name}' cannot be left out of the mirror: {by} needs it");
    Error::new(Code::WrongArguments, text)
}

/// Makes a column one that is left out.
fn leave_out(column: &mut ColumnDefinition) {
    column.data_type = TypeName::new(Base::TinyInt);
    column.nullable = Some(true);
    column.default = None;
    column.generated = None;
    column.srid = None;
    column.comment = Some(LEFT_OUT.to_owned());
}

pub(super) fn is_left_out(column: &ColumnDefinition) -> bool {
    column.comment.as_deref() == Some(LEFT_OUT)
}

/// What an `ALTER TABLE` of the source is for a copy of a part.
///
/// # Errors
/// Changes after which the copy has to be made anew: of columns that the condition names, and of
/// keys over columns that are left out.
pub(super) fn alter(
    definition: &TableDefinition,
    alter: &mut AlterTable,
    filter: &MirrorFilter,
) -> Result<()> {
    let condition = definition.option(COMMENT).map(read).transpose()?;
    let named = condition.as_ref().map(names_of).unwrap_or_default();
    let is_out = |name: &str| {
        definition.columns.iter().any(|it| it.name.eq_ignore_ascii_case(name) && is_left_out(it))
    };
    alter
        .actions
        .retain(|action| !matches!(action, AlterAction::ColumnDefault(name, _) if is_out(name)));
    for action in &mut alter.actions {
        let touched = match action {
            AlterAction::AddColumn { column, .. } => {
                if filter.columns.leave_out(&column.name) {
                    leave_out(column);
                }
                continue;
            }
            AlterAction::ModifyColumn { column, .. } => {
                let name = column.name.clone();
                if is_out(&name) {
                    leave_out(column);
                }
                name
            }
            AlterAction::ChangeColumn { from, column, .. } => {
                if is_out(from) {
                    leave_out(column);
                }
                from.clone()
            }
            AlterAction::RenameColumn(from, _) => from.clone(),
            AlterAction::DropColumn { name, .. } => name.clone(),
            AlterAction::AddKey(key) => {
                let columns = &definition.columns;
                match columns.iter().find(|it| is_left_out(it) && key.holds(&it.name)) {
                    Some(column) => return Err(needed(&column.name, "the primary key")),
                    None => continue,
                }
            }
            AlterAction::Convert { .. } if condition.is_some() => {
                return Err(Error::unsupported("a change of the charset under a condition"));
            }
            _ => continue,
        };
        if named.iter().any(|name| name.eq_ignore_ascii_case(&touched)) {
            return Err(Error::unsupported(format_args!(
                "a change of column '{touched}', which the condition of the mirror names"
            )));
        }
    }
    Ok(())
}

/// The part of its table that a copy has, for queries.
pub(crate) fn part(def: &NativeDef) -> Option<TablePart> {
    let left_out: Vec<bool> = def.definition.columns.iter().map(is_left_out).collect();
    let condition = def.definition.option(COMMENT);
    if condition.is_none() && !left_out.contains(&true) {
        return None;
    }
    // A condition that cannot be read is implied by nothing.
    let unknown = || Expr::Value(sqlparser::ast::Value::Null.with_empty_span());
    let condition = condition.map(|text| read(text).unwrap_or_else(|_| unknown()));
    Some(TablePart { left_out, condition })
}

/// The condition of a copy's rows as SQL.
pub(crate) fn condition_text(def: &NativeDef) -> Option<&str> {
    def.definition.option(COMMENT)
}

/// The condition of a copy's rows.
#[derive(Debug)]
pub(super) struct RowFilter {
    expression: RowExpression,
    /// What of it servers decide as we do.
    there: Option<String>,
}

impl RowFilter {
    /// The condition of a definition, if it has one.
    ///
    /// # Errors
    /// What a condition cannot have.
    pub(super) fn of(
        definition: &TableDefinition,
        targets: &[Target],
    ) -> Result<Option<RowFilter>> {
        let Some(text) = definition.option(COMMENT) else { return Ok(None) };
        let tree = read(text)?;
        let grammar = Grammar { targets };
        grammar.condition(&tree)?;
        let (table, mode) = (&definition.name.name, Mode::default());
        let expression =
            RowExpression::of_condition(&tree, table, (targets, mode), Arc::new(context()))?;
        let plain: Vec<String> = normalise::conjuncts(&tree)
            .into_iter()
            .filter(|part| grammar.is_plain(part))
            .map(|part| format!("({part})"))
            .collect();
        let there = (!plain.is_empty()).then(|| plain.join(" AND "));
        Ok(Some(RowFilter { expression, there }))
    }

    pub(super) fn there(&self) -> Option<&str> {
        self.there.as_deref()
    }

    /// Which rows fulfil it.
    pub(super) fn wanted(&self, rows: usize, columns: &[ArrayRef]) -> Result<BooleanArray> {
        let values = self.expression.evaluate(rows, &|at| &columns[at])?;
        let values = arrow::compute::cast(&values, &arrow::datatypes::DataType::Int64)
            .map_err(|error| Error::internal("a condition is no number").caused_by(error))?;
        let values = arrow::array::AsArray::as_primitive::<Int64Type>(&values);
        let is_true = |row: usize| values.is_valid(row) && values.value(row) != 0;
        Ok((0..rows).map(|row| Some(is_true(if values.len() == 1 { 0 } else { row }))).collect())
    }
}

/// The circumstances in which conditions are computed.
fn context() -> EvalContext {
    let mut context = EvalContext::default();
    context.sql_mode = SqlMode {
        error_for_division_by_zero: false,
        no_unsigned_subtraction: false,
        no_zero_date: false,
        no_zero_in_date: false,
        no_backslash_escapes: false,
        pad_char_to_full_length: false,
        time_truncate_fractional: false,
        allow_invalid_dates: false,
    };
    context
}

/// Reads a condition.
pub(super) fn read(text: &str) -> Result<Expr> {
    pelorus_sql::parse_expression(text, Mode::default()).map_err(|unparsed| unparsed.error)
}

/// The columns that a condition names.
fn names_of(tree: &Expr) -> Vec<String> {
    let last = |path: Vec<sqlparser::ast::Ident>| path.last().map(|it| it.value.clone());
    normalise::all_columns(tree).into_iter().filter_map(last).collect()
}

/// What conditions may be made of.
struct Grammar<'a> {
    targets: &'a [Target],
}

impl Grammar<'_> {
    fn condition(&self, tree: &Expr) -> Result<()> {
        match tree {
            Expr::Nested(inner) => self.condition(inner),
            Expr::UnaryOp { op: UnaryOperator::Not, expr }
            | Expr::IsTrue(expr)
            | Expr::IsNotTrue(expr)
            | Expr::IsFalse(expr)
            | Expr::IsNotFalse(expr) => self.condition(expr),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
                right,
            } => {
                self.condition(left)?;
                self.condition(right)
            }
            Expr::IsNull(expr) | Expr::IsNotNull(expr) => match self.column(expr) {
                Some(_) => Ok(()),
                None => self.value(expr),
            },
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                self.comparison(tree, &[left, right])
            }
            Expr::Between { expr, low, high, .. } => self.comparison(tree, &[expr, low, high]),
            Expr::InList { expr, list, .. } => {
                let mut all = vec![expr.as_ref()];
                all.extend(list);
                self.comparison(tree, &all)
            }
            Expr::Like { any: false, expr, pattern, escape_char: None, .. } => {
                self.comparison(tree, &[expr, pattern])
            }
            other => self.value(other),
        }
    }

    /// Values that are compared: a column is among them, and dates are compared with dates.
    fn comparison(&self, tree: &Expr, sides: &[&Expr]) -> Result<()> {
        if names_of(tree).is_empty() {
            return Err(refused(tree));
        }
        let is_date = |side: &&&Expr| self.column(side).is_some_and(ColumnType::is_date);
        let dates = sides.iter().filter(is_date).count();
        if dates > 0 {
            let texts = sides.iter().filter(|side| is_date_literal(side)).count();
            for side in sides.iter().filter(|side| self.column(side).is_none()) {
                self.value(side)?;
            }
            if dates > 1 || dates + texts != sides.len() || matches!(tree, Expr::Like { .. }) {
                return Err(Error::new(
                    Code::WrongArguments,
                    format!("a date is compared with a full date as text in mirrors, not {tree}"),
                ));
            }
            return Ok(());
        }
        sides.iter().try_for_each(|side| self.value(side))
    }

    /// A value: a column, a constant, or a function of them.
    fn value(&self, tree: &Expr) -> Result<()> {
        if constant(tree, Mode::default()).is_some() {
            return Ok(());
        }
        match tree {
            Expr::Nested(inner) => self.value(inner),
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr }
                if constant(expr, Mode::default()).is_some() =>
            {
                Ok(())
            }
            Expr::Identifier(_) => self.plain_column(tree),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Modulo | BinaryOperator::MyIntegerDivide,
                right,
            } => {
                self.value(left)?;
                self.value(right)
            }
            Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                self.value(from)?;
                substring_for.iter().try_for_each(|it| self.value(it))?;
                self.value(expr)
            }
            Expr::Function(function) => {
                let name = normalise::function_name(&function.name);
                let args = arguments(function).filter(|_| FUNCTIONS.contains(&name.as_str()));
                let Some(args) = args else { return Err(refused(tree)) };
                if names_of(tree).is_empty() {
                    return Err(refused(tree));
                }
                if !OF_DATES.contains(&name.as_str()) {
                    return args.into_iter().try_for_each(|arg| self.value(arg));
                }
                let is_dated =
                    |ty: &ColumnType| matches!(ty.wire, WireType::Date | WireType::DateTime);
                match args.as_slice() {
                    [arg] if self.column(arg).is_some_and(is_dated) => Ok(()),
                    _ => Err(refused(tree)),
                }
            }
            other => Err(refused(other)),
        }
    }

    fn plain_column(&self, tree: &Expr) -> Result<()> {
        let Some(ty) = self.column(tree) else { return Ok(()) };
        let is_refused = matches!(
            ty.wire,
            WireType::Json
                | WireType::Bit
                | WireType::Time
                | WireType::Timestamp
                | WireType::Geometry
                | WireType::Vector
        );
        if is_refused { Err(refused(tree)) } else { Ok(()) }
    }

    /// The type of a column.
    fn column(&self, tree: &Expr) -> Option<&ColumnType> {
        let Expr::Identifier(name) = normalise::unnested(tree) else { return None };
        let target = self.targets.iter().find(|it| it.name.eq_ignore_ascii_case(&name.value));
        target.map(|it| &it.ty)
    }

    /// Whether every server decides a condition as we do: whole numbers, decimals and dates compared
    /// with constants.
    fn is_plain(&self, tree: &Expr) -> bool {
        let number = |side: &Expr| {
            let side = match normalise::unnested(side) {
                Expr::UnaryOp { op: UnaryOperator::Minus, expr } => expr,
                other => other,
            };
            matches!(
                constant(side, Mode::default()),
                Some(Constant::Integer(_) | Constant::Decimal(_) | Constant::Boolean(_))
            )
        };
        let fits = |column: &Expr, values: &[&Expr]| match self.column(column) {
            Some(ty) if ty.is_date() => values.iter().all(|it| is_date_literal(it)),
            Some(ty) if ty.wire == WireType::Bit || ty.wire == WireType::Year => false,
            Some(ty) if ty.is_integer() || ty.is_decimal() => values.iter().all(|it| number(it)),
            _ => false,
        };
        match normalise::unnested(tree) {
            Expr::IsNull(expr) | Expr::IsNotNull(expr) => {
                self.column(expr).is_some_and(|ty| !ty.is_date())
            }
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                fits(left, &[right]) || fits(right, &[left])
            }
            Expr::Between { expr, low, high, .. } => fits(expr, &[low, high]),
            Expr::InList { expr, list, .. } => fits(expr, &list.iter().collect::<Vec<_>>()),
            _ => false,
        }
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Spaceship
    )
}

/// Whether a text is a date under every `sql_mode`.
fn is_date_literal(tree: &Expr) -> bool {
    let Some(Constant::Text { text, charset: None }) =
        constant(normalise::unnested(tree), Mode::default())
    else {
        return false;
    };
    let strict = EvalContext::default();
    let date = pelorus_functions::literal::timestamp(&text, &strict)
        .or_else(|_| pelorus_functions::literal::date(&text, &strict));
    date.is_ok_and(|arg| arg.constant.is_some())
}

fn refused(tree: &Expr) -> Error {
    Error::unsupported(format_args!(
        "{tree} in the condition of a mirror: it is made of columns, constants, comparisons, AND, OR, \
         NOT, IN, BETWEEN, LIKE, IS NULL, and functions of them that depend on nothing else"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::definition::copy_of;
    use super::*;
    use crate::native::definition::Derived;

    const TABLE: &str = "CREATE TABLE `t` (`id` int NOT NULL, `s` varchar(9) COMMENT 'left out', \
        `d` datetime, `at` timestamp NULL, `j` json, `n` decimal(9,2), PRIMARY KEY (`id`))";

    fn filter(text: &str) -> Result<Option<RowFilter>> {
        let mut definition = copy_of(TABLE, None, &MirrorFilter::parse(text)?)?;
        definition.normalise();
        let derived = Derived::of("", &definition, Mode::default())?;
        RowFilter::of(&definition, &derived.targets)
    }

    #[test]
    fn conditions_are_those_of_a_row() {
        for good in [
            "id > 5 AND s = 'open' OR NOT (n IS NULL)",
            "s IN ('a', 'b') AND d >= '2026-01-01'",
            "at < '2026-01-01 10:00:00' XOR id % 10 = 3",
            "LEFT(s, 2) = 'ab' AND YEAR(d) = 2026 AND s LIKE 'x%' AND id",
            "at IS NULL AND n BETWEEN -1.5 AND 2",
        ] {
            assert!(filter(&format!("WHERE {good}")).unwrap().is_some(), "{good}");
        }
        for bad in [
            "d > NOW()",
            "id = @x",
            "id = (SELECT 1)",
            "id IN (SELECT 1)",
            "RAND() < 1",
            "'a' = 'A'",
            "j = '1'",
            "YEAR(at) = 2026",
            "at = d",
            "id + 1 > 5",
            "d > '2026-02-31'",
            "d > 20260101",
            "t.id = 1",
            "id = ?",
            "s REGEXP 'x'",
            "x = 1",
            "SUM(id) > 1",
            "at LIKE '2026%'",
        ] {
            assert!(filter(&format!("WHERE {bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn rows_are_wanted_when_the_condition_is_true() {
        let filter = filter("WHERE s <> 'B' AND n > 1 AND id IN (1, 2, 3, 4)").unwrap().unwrap();
        assert_eq!(filter.there(), Some("(n > 1) AND (id IN (1, 2, 3, 4))"));
        let ids: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![1, 2, 3, 4]));
        let texts: ArrayRef =
            Arc::new(arrow::array::StringArray::from(vec![Some("a"), Some("b"), None, Some("c")]));
        let numbers = arrow::array::Decimal128Array::from(vec![200, 200, 200, 50]);
        let numbers: ArrayRef = Arc::new(numbers.with_precision_and_scale(9, 2).unwrap());
        let other = arrow::array::new_null_array(&arrow::datatypes::DataType::Int64, 4);
        let columns =
            [ids, texts, Arc::clone(&other), Arc::clone(&other), Arc::clone(&other), numbers];
        let wanted: Vec<bool> = filter.wanted(4, &columns).unwrap().values().iter().collect();
        assert_eq!(wanted, [true, false, false, false]);
    }

    #[test]
    fn some_columns_cannot_be_left_out() {
        let error = |text: &str, layout: Option<&str>| {
            copy_of(TABLE, layout, &MirrorFilter::parse(text).unwrap()).unwrap_err().to_string()
        };
        assert!(error("EXCEPT COLUMNS (id)", None).contains("primary key"));
        assert!(error("COLUMNS (id) WHERE s = 'a'", None).contains("WHERE"));
        assert!(error("COLUMNS (id)", Some("SEGMENT BY (s)")).contains("SEGMENT BY"));
        let copy = copy_of(TABLE, None, &MirrorFilter::parse("COLUMNS (id, d)").unwrap()).unwrap();
        let out: Vec<bool> = copy.columns.iter().map(is_left_out).collect();
        // The comment of the user marks nothing.
        assert_eq!(out, [false, true, false, true, true, true]);
    }

    #[test]
    fn changes_keep_columns_left_out() {
        let words = MirrorFilter::parse("COLUMNS (id, d) WHERE d IS NOT NULL").unwrap();
        let copy = copy_of(TABLE, None, &words).unwrap();
        let after = |sql: &str| {
            let statement = pelorus_sql::table::parse(sql, Mode::default()).unwrap();
            let pelorus_sql::table::TableStatement::Alter(mut of) = statement else {
                panic!("{sql}")
            };
            alter(&copy, &mut of, &words).map(|()| of.actions)
        };
        let is_marked = |sql: &str| match after(sql).unwrap().as_slice() {
            [AlterAction::AddColumn { column, .. }]
            | [AlterAction::ModifyColumn { column, .. }]
            | [AlterAction::ChangeColumn { column, .. }] => is_left_out(column),
            other => panic!("{other:?}"),
        };
        assert!(is_marked("ALTER TABLE t ADD COLUMN x INT NOT NULL"));
        assert!(is_marked("ALTER TABLE t MODIFY s BLOB NOT NULL"));
        assert!(is_marked("ALTER TABLE t CHANGE s z INT"));
        assert!(!is_marked("ALTER TABLE t MODIFY id BIGINT"));
        assert!(after("ALTER TABLE t ALTER s SET DEFAULT 'abc'").unwrap().is_empty());
        for bad in [
            "ALTER TABLE t MODIFY d DATE",
            "ALTER TABLE t DROP COLUMN d",
            "ALTER TABLE t RENAME COLUMN d TO e",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (s)",
        ] {
            assert!(after(bad).is_err(), "{bad}");
        }
    }
}
