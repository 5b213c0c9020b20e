//! Predicate implication: whether a query can run on a mirror with a part of its table's rows.
//!
//! The conditions of the query must imply the row condition of the copy. That is proved conjunct by
//! conjunct: by ranges and lists of constants of one column, by equal texts that it is compared
//! with, or because the query contains the condition literally. If it cannot be proved the query
//! fails, and the caller runs it on the source table.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::logical_expr::Expr as Bound;
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_error::{Error, Result};
use pelorus_functions::{EvalContext, SqlMode, TimeZone};
use pelorus_sql::literal::{Constant, constant};
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::{WireType, collation};
use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator, VisitMut as _, VisitorMut};

use super::super::from_clause::BlockContext;
use super::super::scan_predicate::{Of, StoredColumns};
use super::super::scope::Scope;
use super::super::typed_expression::TypedExpr;
use crate::context::QueryContext;
use crate::datafusion_adapter::plan_nodes::column_expr;

/// Comparisons of two conditions after which nothing is taken to be shown.
const STEPS_MAX: usize = 20_000;

/// Fails where a query may need rows that are not there.
pub(crate) fn check_rows(
    context: &QueryContext,
    of: Of<'_>,
    around: BlockContext<'_>,
) -> Result<()> {
    let part = of.table.part.as_ref();
    let Some(condition) = part.and_then(|it| it.condition.as_ref()) else { return Ok(()) };
    // The rules that the condition was made under: of a server that shows values as they are stored.
    let mut eval = EvalContext::default();
    eval.time_zone = TimeZone::Utc;
    eval.sql_mode = SqlMode::EMPTY;
    let of_filter = QueryContext { eval: Arc::new(eval), mode: Mode::default(), ..context.clone() };
    let bare = Of { only_table: true, ..of };
    let scope = scope_of(of);
    let asked = Reader { of, context, scope: &scope, zone: of.table.time_zone };
    let mut proof = Proof {
        asked,
        filter: Reader { of: bare, context: &of_filter, scope: &scope, zone: TimeZone::Utc },
        rejects_null: false,
        words: context.mode == Mode { version: context.mode.version, ..Mode::default() }
            && !context.eval.sql_mode.pad_char_to_full_length,
        steps: 0,
    };
    let of_where = around.select.selection.iter().chain(around.joined.iter().copied());
    let asked: Vec<&Expr> = of_where.flat_map(ast_analysis::conjuncts).collect();
    let own: Vec<&Expr> = around.own.map(ast_analysis::conjuncts).unwrap_or_default();
    for part in ast_analysis::conjuncts(condition) {
        proof.rejects_null = false;
        let mut is_implied = own.iter().any(|it| proof.implies(it, part));
        // An outer join fills the table with NULL: what is not true of NULL makes it an inner one.
        proof.rejects_null = !around.filtered;
        is_implied = is_implied || asked.iter().any(|it| proof.implies(it, part));
        if !is_implied {
            return Err(Error::unsupported(format_args!(
                "this query of the mirror of '{}.{}': its conditions do not imply that {part}, which \
                 is true of all rows of the mirror",
                of.table.database, of.table.name
            )));
        }
    }
    Ok(())
}

/// The columns of a table, each by its position in the place of a name in the plan.
fn scope_of(of: Of<'_>) -> Scope {
    let columns = of.table.columns.iter().enumerate().map(|(at, column)| {
        let mut column = column.clone();
        of.alias.clone_into(&mut column.table);
        TypedExpr::column(column_expr(&at.to_string()), &column)
    });
    let mut scope = Scope::default();
    scope.push_relation("", of.alias, columns.collect());
    scope
}

/// Reads conditions on the table under the rules of a session.
#[derive(Clone, Copy)]
struct Reader<'a> {
    of: Of<'a>,
    context: &'a QueryContext,
    scope: &'a Scope,
    /// The time zone of TIMESTAMP constants.
    zone: TimeZone,
}

impl Reader<'_> {
    /// A condition as a test of a column.
    fn condition(&self, expr: &Expr) -> Option<(usize, Predicate)> {
        let position = |expr: &Bound| match expr {
            Bound::Column(column) => column.name.parse().ok(),
            _ => None,
        };
        let columns = &self.of.table.columns;
        let stored = StoredColumns { columns, position: &position, zone: self.zone };
        stored.predicate(&self.of.bound(self.context, self.scope, expr)?)
    }
}

/// Checks whether the query's conditions imply the condition of the copy.
struct Proof<'a> {
    asked: Reader<'a>,
    filter: Reader<'a>,
    /// Only conditions that reject a row of NULLs count.
    rejects_null: bool,
    /// Whether the same words mean the same on both sides.
    words: bool,
    steps: usize,
}

impl Proof<'_> {
    /// Whether all rows that fulfil `asked` fulfil `filter`.
    fn implies(&mut self, asked: &Expr, filter: &Expr) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return false;
        }
        let (asked, filter) = (ast_analysis::unnested(asked), ast_analysis::unnested(filter));
        let (of_asked, of_filter) = (sides(asked), sides(filter));
        if let Some((BinaryOperator::And, left, right)) = of_filter {
            return self.implies(asked, left) && self.implies(asked, right);
        }
        if self.implies_at_once(asked, filter) {
            return true;
        }
        match of_asked {
            Some((BinaryOperator::Or, left, right))
                if self.implies(left, filter) && self.implies(right, filter) =>
            {
                return true;
            }
            Some((BinaryOperator::And, left, right))
                if self.implies(left, filter) || self.implies(right, filter) =>
            {
                return true;
            }
            _ => {}
        }
        match of_filter {
            Some((BinaryOperator::Or, left, right)) => {
                self.implies(asked, left) || self.implies(asked, right)
            }
            _ => false,
        }
    }

    fn implies_at_once(&self, asked: &Expr, filter: &Expr) -> bool {
        if let (Some((at, asked)), Some((column, filter))) =
            (predicate(&self.asked, asked), predicate(&self.filter, filter))
            && at == column
            && !(self.rejects_null && asked == Predicate::IsNull)
        {
            let is_exact = filter != Predicate::IsNull && filter != Predicate::IsNotNull
                || !self.filter.of.table.columns[column].ty.is_date();
            if is_exact && within(&asked, &filter) {
                return true;
            }
        }
        if let (Some((at, asked)), Some((column, filter))) =
            (texts(&self.asked, asked), texts(&self.filter, filter))
            && at == column
            && asked.iter().all(|it| filter.contains(it))
        {
            return true;
        }
        if let Some(is_null) = null_test(filter)
            && Some(is_null) == null_test(asked)
            && !(self.rejects_null && is_null)
        {
            let column = |reader: &Reader<'_>, expr: &Expr| match expr {
                Expr::IsNull(expr) | Expr::IsNotNull(expr) => reader.of.column(expr),
                _ => None,
            };
            let (at, other) = (column(&self.asked, asked), column(&self.filter, filter));
            return at.is_some() && at == other;
        }
        let counts = !self.rejects_null || is_null_of_null(asked);
        self.words && counts && same_words(&self.asked.of, asked, &self.filter.of, filter)
    }
}

/// Whether a condition is IS NULL; `None` where it is neither that nor IS NOT NULL.
fn null_test(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::IsNull(_) => Some(true),
        Expr::IsNotNull(_) => Some(false),
        _ => None,
    }
}

/// The sides of AND and OR.
fn sides(expr: &Expr) -> Option<(&BinaryOperator, &Expr, &Expr)> {
    match expr {
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            Some((op, left, right))
        }
        _ => None,
    }
}

/// A condition as a test of a column; of a number alone whether it is not zero.
fn predicate(reader: &Reader<'_>, expr: &Expr) -> Option<(usize, Predicate)> {
    let number = |expr: &Expr| {
        let at = reader.of.column(expr)?;
        let ty = &reader.of.table.columns[at].ty;
        (ty.is_integer() && !matches!(ty.wire, WireType::Bit | WireType::Year)).then_some(at)
    };
    let zero = |op| Predicate::Compare(op, Scalar::Int(0));
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => Some((number(expr)?, zero(Op::Eq))),
        expr => match number(expr) {
            Some(at) => Some((at, zero(Op::Ne))),
            None => reader.condition(expr),
        },
    }
}

/// Whether all values that fulfil one test fulfil the other.
fn within(asked: &Predicate, filter: &Predicate) -> bool {
    use Predicate::{Between, Compare, In, IsNotNull, IsNull};
    if *filter == IsNotNull {
        return *asked != IsNull;
    }
    if *asked == IsNull || *filter == IsNull {
        return asked == filter;
    }
    if let In(values) = asked {
        return values.iter().all(|value| holds(filter, value) == Some(true));
    }
    if let Compare(Op::Eq, value) = asked {
        return holds(filter, value) == Some(true);
    }
    if asked == filter {
        return true;
    }
    let (low, high) = match asked {
        Compare(Op::Gt, low) => (Some((low, false)), None),
        Compare(Op::Ge, low) => (Some((low, true)), None),
        Compare(Op::Lt, high) => (None, Some((high, false))),
        Compare(Op::Le, high) => (None, Some((high, true))),
        Between(low, high) => (Some((low, true)), Some((high, true))),
        _ => return false,
    };
    let above = |value: &Scalar, inclusive: bool| {
        low.is_some_and(|(low, has_low)| match order(low, value) {
            Some(order) => order.is_gt() || order.is_eq() && (inclusive || !has_low),
            None => false,
        })
    };
    let below = |value: &Scalar, inclusive: bool| {
        high.is_some_and(|(high, has_high)| match order(high, value) {
            Some(order) => order.is_lt() || order.is_eq() && (inclusive || !has_high),
            None => false,
        })
    };
    match filter {
        Compare(Op::Gt, value) => above(value, false),
        Compare(Op::Ge, value) => above(value, true),
        Compare(Op::Lt, value) => below(value, false),
        Compare(Op::Le, value) => below(value, true),
        Compare(Op::Ne, value) => above(value, false) || below(value, false),
        Between(low, high) => above(low, true) && below(high, true),
        _ => false,
    }
}

/// Whether a value fulfils a test; `None` where they cannot be compared.
fn holds(test: &Predicate, value: &Scalar) -> Option<bool> {
    Some(match test {
        Predicate::Compare(op, other) => {
            let order = order(value, other)?;
            match op {
                Op::Eq => order.is_eq(),
                Op::Ne => order.is_ne(),
                Op::Lt => order.is_lt(),
                Op::Le => order.is_le(),
                Op::Gt => order.is_gt(),
                Op::Ge => order.is_ge(),
            }
        }
        Predicate::Between(low, high) => order(value, low)?.is_ge() && order(value, high)?.is_le(),
        Predicate::In(list) => list.has(value.as_value()),
        Predicate::IsNull => false,
        Predicate::IsNotNull => true,
    })
}

fn order(a: &Scalar, b: &Scalar) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
        (Scalar::Bytes(a), Scalar::Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// The texts that a text column is equal to one of. The column's collation rules, whatever that of
/// the connection is.
fn texts(reader: &Reader<'_>, expr: &Expr) -> Option<(usize, Vec<String>)> {
    let (column, values): (_, Vec<&Expr>) = match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match reader.of.column(left) {
            Some(_) => (left, vec![right]),
            None => (right, vec![left]),
        },
        Expr::InList { expr, list, negated: false } => (expr, list.iter().collect()),
        _ => return None,
    };
    let at = reader.of.column(column)?;
    let ty = &reader.of.table.columns[at].ty;
    if !ty.is_string() || ty.wire == WireType::Json || ty.collation == collation::BINARY {
        return None;
    }
    let any = ty.collation.charset() == "utf8mb4";
    let text = |value: &Expr| match constant(ast_analysis::unnested(value), reader.context.mode)? {
        Constant::Text { text, charset: None } if any || text.is_ascii() => Some(text),
        _ => None,
    };
    Some((at, values.into_iter().map(text).collect::<Option<_>>()?))
}

/// Whether a condition is not true of NULL: it compares a column with constants.
fn is_null_of_null(expr: &Expr) -> bool {
    let is_column = |expr: &Expr| {
        matches!(ast_analysis::unnested(expr), Expr::Identifier(_) | Expr::CompoundIdentifier(_))
    };
    match expr {
        Expr::IsNotNull(expr)
        | Expr::InList { expr, .. }
        | Expr::Between { expr, .. }
        | Expr::Like { expr, .. } => is_column(expr),
        Expr::BinaryOp { left, op, right } => {
            let compares = matches!(
                op,
                BinaryOperator::Eq
                    | BinaryOperator::NotEq
                    | BinaryOperator::Lt
                    | BinaryOperator::LtEq
                    | BinaryOperator::Gt
                    | BinaryOperator::GtEq
            );
            compares && (is_column(left) || is_column(right))
        }
        expr => is_column(expr),
    }
}

/// Whether two conditions say the same in the same words, of columns of one table.
fn same_words(of: &Of<'_>, asked: &Expr, other: &Of<'_>, filter: &Expr) -> bool {
    match (words(of, asked), words(other, filter)) {
        (Some(asked), Some(filter)) => asked == filter,
        _ => false,
    }
}

/// A condition with the numbers of columns in place of their names; `None` where it names others,
/// or TIMESTAMPs, of which the same words mean another moment in another time zone.
fn words(of: &Of<'_>, expr: &Expr) -> Option<String> {
    let mut copy = expr.clone();
    let mut numbers = Numbers { of };
    match copy.visit(&mut numbers) {
        ControlFlow::Continue(()) => Some(copy.to_string()),
        ControlFlow::Break(()) => None,
    }
}

struct Numbers<'a> {
    of: &'a Of<'a>,
}

impl VisitorMut for Numbers<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                let at = self.of.column(expr);
                let is_timestamp =
                    |at: usize| self.of.table.columns[at].ty.wire == WireType::Timestamp;
                match at {
                    Some(at) if !is_timestamp(at) => {
                        *expr = Expr::Identifier(ast::Ident::with_quote('`', at.to_string()));
                        ControlFlow::Continue(())
                    }
                    _ => ControlFlow::Break(()),
                }
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                ControlFlow::Break(())
            }
            Expr::Function(function) => {
                for part in &mut function.name.0 {
                    if let ast::ObjectNamePart::Identifier(name) = part {
                        name.value = name.value.to_ascii_uppercase();
                        name.quote_style = None;
                    }
                }
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests of whole numbers, in a short form.
    fn test(text: &str) -> Predicate {
        // Twice the number, so that there are values between two of them.
        let number = |text: &str| Scalar::Int(2 * text.parse::<i128>().unwrap());
        let compare = |op, text: &str| Predicate::Compare(op, number(text));
        match text.split_once(' ').unwrap_or((text, "")) {
            ("=", value) => compare(Op::Eq, value),
            ("<>", value) => compare(Op::Ne, value),
            ("<", value) => compare(Op::Lt, value),
            ("<=", value) => compare(Op::Le, value),
            (">", value) => compare(Op::Gt, value),
            (">=", value) => compare(Op::Ge, value),
            ("null", _) => Predicate::IsNull,
            ("value", _) => Predicate::IsNotNull,
            ("in", list) => Predicate::In(list.split(' ').map(number).collect()),
            ("between", pair) => {
                let (low, high) = pair.split_once(' ').unwrap();
                Predicate::Between(number(low), number(high))
            }
            other => panic!("{other:?}"),
        }
    }

    /// Every pair of tests is looked at with all values that can matter: what is said to be implied
    /// is, and of ranges and lists everything that is implied is found.
    #[test]
    fn tests_are_within_others_when_all_their_values_are() {
        let tests = [
            "= 1",
            "= 2",
            "<> 1",
            "<> 4",
            "< 1",
            "< 2",
            "<= 1",
            "<= 2",
            "> 1",
            "> 2",
            ">= 1",
            ">= 2",
            "in 1",
            "in 1 2",
            "in 2 3",
            "in 1 2 3",
            "between 1 2",
            "between 1 3",
            "between 2 2",
            "null",
            "value",
        ];
        let matches = |text: &str, value: Option<i128>| match (test(text), value) {
            (Predicate::IsNull, value) => value.is_none(),
            (_, None) => false,
            (test, Some(value)) => holds(&test, &Scalar::Int(value)).unwrap(),
        };
        for asked in tests {
            for filter in tests {
                let mut values = (-2..=12).map(Some).chain([None]);
                let is_implied =
                    values.all(|value| !matches(asked, value) || matches(filter, value));
                let found = within(&test(asked), &test(filter));
                assert!(is_implied || !found, "{asked} does not imply {filter}");
                // A range is not looked at value by value.
                let is_hard = filter.starts_with("in") || filter.starts_with("= ");
                assert!(found || !is_implied || is_hard, "{asked} implies {filter}");
            }
        }
    }

    #[test]
    fn values_of_other_kinds_show_nothing() {
        let text = |text: &str| Predicate::Compare(Op::Eq, Scalar::Bytes(text.into()));
        assert!(within(&text("a"), &text("a")));
        assert!(!within(&text("a"), &text("b")));
        assert!(!within(&text("1"), &test("= 1")));
        assert!(!within(&test("> 1"), &text("a")));
    }
}
