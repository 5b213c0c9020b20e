//! The row condition of a filtered copy: which expressions it may contain, and its evaluation.
//!
//! It depends on its row alone: columns, constants, comparisons, and functions that neither fail
//! nor depend on a session. It is parsed under an empty `sql_mode` and evaluated in universal time.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray};
use arrow::datatypes::Int64Type;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::Target;
use pelorus_functions::{EvalContext, Filters, SqlMode};
use pelorus_native::expression::{RowExpression, arguments};
use pelorus_sql::ddl::TableDefinition;
use pelorus_sql::literal::{Constant, constant};
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::{ColumnType, WireType};
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{COMMENT, names_of, read};
use crate::mirror::opaque;

/// The condition of a copy's rows.
#[derive(Debug)]
pub(in crate::mirror) struct RowFilter {
    expression: RowExpression,
    /// The part that servers evaluate as we do.
    there: Option<String>,
}

impl RowFilter {
    /// The condition of a definition, if it has one.
    ///
    /// # Errors
    /// What a condition cannot have.
    pub(in crate::mirror) fn of(
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
        let plain: Vec<String> = ast_analysis::conjuncts(&tree)
            .into_iter()
            .filter(|part| grammar.is_plain(part))
            .map(|part| format!("({part})"))
            .collect();
        let there = (!plain.is_empty()).then(|| plain.join(" AND "));
        Ok(Some(RowFilter { expression, there }))
    }

    pub(in crate::mirror) fn there(&self) -> Option<&str> {
        self.there.as_deref()
    }

    /// Which rows fulfil it.
    pub(in crate::mirror) fn wanted(
        &self,
        rows: usize,
        columns: &[ArrayRef],
    ) -> Result<BooleanArray> {
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
    context.sql_mode = SqlMode::EMPTY;
    context
}

/// The constructs that conditions may contain.
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
        match constant(tree, Mode::default()) {
            Some(Constant::Placeholder) => return Err(refused(tree)),
            Some(_) => return Ok(()),
            None => {}
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
                let name = ast_analysis::function_name(&function.name);
                let filters = pelorus_functions::find(&name).map_or(Filters::No, |row| row.filters);
                let args = arguments(function).filter(|_| filters != Filters::No);
                let Some(args) = args else { return Err(refused(tree)) };
                if names_of(tree).is_empty() {
                    return Err(refused(tree));
                }
                if filters == Filters::Yes {
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
        let Some(ty) = self.column(tree) else {
            let is_variable = matches!(tree, Expr::Identifier(name) if name.value.starts_with('@'));
            return if is_variable { Err(refused(tree)) } else { Ok(()) };
        };
        if opaque::is_foreign(ty) {
            return Err(opaque::needed(&tree.to_string(), ty, "the condition WHERE of the mirror"));
        }
        let is_refused = matches!(
            ty.wire,
            WireType::Json
                | WireType::Bit
                | WireType::Time
                | WireType::Timestamp
                | WireType::Geometry
                | WireType::Vector
        ) || ty.is_string() && ty.is_unsigned();
        if is_refused { Err(refused(tree)) } else { Ok(()) }
    }

    /// The type of a column.
    fn column(&self, tree: &Expr) -> Option<&ColumnType> {
        let Expr::Identifier(name) = ast_analysis::unnested(tree) else { return None };
        let target = self.targets.iter().find(|it| it.name.eq_ignore_ascii_case(&name.value));
        target.map(|it| &it.ty)
    }

    /// Whether every server decides a condition as we do: whole numbers, decimals and dates compared
    /// with constants.
    fn is_plain(&self, tree: &Expr) -> bool {
        let number = |side: &Expr| {
            let side = match ast_analysis::unnested(side) {
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
        match ast_analysis::unnested(tree) {
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
        constant(ast_analysis::unnested(tree), Mode::default())
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
