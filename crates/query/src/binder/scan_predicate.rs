//! Scan predicates: the conditions that a scan of a native table can test on stored values.
//!
//! Only comparisons of a column with constants qualify, and only if comparing stored values means
//! what MySQL means by the comparison: integers, exact decimals, dates, byte strings. Text under a
//! collation is not compared by its bytes; see [`super::native`] for that. The plan tests all other
//! conditions.
//!
//! Conditions are looked at after they are bound, so that it does not matter how columns are named
//! and how constants are written.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr as Bound, Operator};
use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_expression::Form;
use pelorus_functions::{
    Arg, Call, Coercibility, Decimal, EvalContext, Operand, TimeZone, Value, assignment, literal,
};
use pelorus_sql::literal::{Constant, constant};
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::temporal::DateTime;
use pelorus_types::{Collation, Column, ColumnType, WireType};
use sqlparser::ast::{self, Expr, UnaryOperator};

use super::expression::{Computed, ExprBinder, Subqueries};
use super::scope::Scope;
use super::typed_expression::Constants;
use crate::context::{NativeTable, QueryContext};
use crate::datafusion_adapter::form::FormUdf;
use crate::datafusion_adapter::udf::as_call;

/// A condition that a scan tests.
pub(crate) struct Tested {
    /// The position of the column.
    pub(crate) column: usize,
    /// All of them must hold.
    pub(crate) predicates: Vec<Predicate>,
    /// Stored values meet it exactly if the session's values do, so that the plan need not test it
    /// again.
    pub(crate) exact: bool,
}

/// A table as its block knows it.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) table: &'a NativeTable,
    pub(crate) alias: &'a str,
    /// There is no other table.
    pub(crate) only_table: bool,
}

impl Of<'_> {
    /// The position of a column of this table.
    pub(crate) fn column(&self, expr: &Expr) -> Option<usize> {
        let name = match expr {
            Expr::Nested(inner) => return self.column(inner),
            // A bare name could be another table's; with one table there is no doubt.
            Expr::Identifier(name) if self.only_table => name,
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [table, name] if table.value == self.alias => name,
                _ => return None,
            },
            _ => return None,
        };
        let is_it = |column: &Column| column.name.eq_ignore_ascii_case(&name.value);
        self.table.columns.iter().position(is_it)
    }
}

impl Of<'_> {
    /// A condition on this table alone, bound to a scope of its columns; `None` of others.
    pub(crate) fn bound(
        &self,
        context: &QueryContext,
        scope: &Scope,
        condition: &Expr,
    ) -> Option<Bound> {
        let mut names = ast_analysis::columns(condition).into_iter();
        let is_own = |path: Vec<ast::Ident>| match path.as_slice() {
            [name] => self.only_table || name.value.starts_with('@'),
            [table, _] => table.value == self.alias,
            _ => false,
        };
        let (computed, subqueries) = (Computed::new(), Subqueries::new());
        let binder = ExprBinder {
            context,
            scope,
            computed: &computed,
            only_computed: false,
            subqueries: &subqueries,
            clause: "where clause",
            answer: None,
            constants: Constants::AtOnce,
        };
        if !names.all(is_own) {
            return None;
        }
        // What leaves warnings is bound once more by the block, which gives them.
        let (bound, warned) = context.eval.apart(|| binder.predicate(condition).ok());
        bound.filter(|_| !warned)
    }
}

/// The stored columns that bound conditions are about.
#[derive(Clone, Copy)]
pub(crate) struct StoredColumns<'a> {
    /// The columns of the table.
    pub(crate) columns: &'a [Column],
    /// The position in the table of a column of the plan.
    pub(crate) position: &'a dyn Fn(&Bound) -> Option<usize>,
    /// The time zone of the session, in which constants of TIMESTAMP columns are meant.
    pub(crate) zone: TimeZone,
}

/// A call of a comparison with its arguments.
pub(crate) struct Comparison<'e> {
    pub(crate) call: &'e Arc<Call>,
    pub(crate) args: &'e [Bound],
}

/// The call of a function within a condition: a truth value, or the number that it is made of.
pub(crate) fn call_of(condition: &Bound) -> Option<Comparison<'_>> {
    let Bound::ScalarFunction(function) = condition else { return None };
    let inner = |function: &ScalarFunction| -> bool {
        let form = function.func.inner().downcast_ref::<FormUdf>();
        form.is_some_and(|udf| matches!(*udf.form, Form::Truth(_)))
    };
    match function.args.as_slice() {
        [argument] if inner(function) => call_of(argument),
        args => Some(Comparison { call: as_call(function)?, args }),
    }
}

impl StoredColumns<'_> {
    fn ty(&self, column: usize) -> &ColumnType {
        &self.columns[column].ty
    }

    /// A condition on a column, if it is one.
    pub(crate) fn tested(&self, condition: &Bound) -> Option<Tested> {
        let (column, predicates) = match self.none_of(condition) {
            Some(found) => found,
            None => {
                let (column, predicate) = self.predicate(condition)?;
                (column, vec![predicate])
            }
        };
        // Moments repeat when summer time ends.
        let exact = self.ty(column).wire != WireType::Timestamp;
        Some(Tested { column, predicates, exact })
    }

    /// `NOT IN` of few values: different from each.
    fn none_of(&self, condition: &Bound) -> Option<(usize, Vec<Predicate>)> {
        /// Each is a test of its own.
        const MOST: usize = 8;
        let Comparison { call, args } = call_of(condition)?;
        let [inner] = args else { return None };
        let within = call_of(inner).filter(|_| call.name() == "NOT")?;
        let [_, list @ ..] = within.call.operands() else { return None };
        if within.call.name() != "IN" || list.len() > MOST || !are_known(within.args) {
            return None;
        }
        let column = (self.position)(within.args.first()?)?;
        let other = |it| Some(Predicate::Compare(Op::Ne, self.scalar(column, it, within.call)?));
        Some((column, list.iter().map(other).collect::<Option<_>>()?))
    }

    /// A condition as a test of a column, given by its position.
    pub(crate) fn predicate(&self, condition: &Bound) -> Option<(usize, Predicate)> {
        match condition {
            Bound::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                let (column, value) = match (&**left, &**right) {
                    (column, Bound::Literal(value, _)) | (Bound::Literal(value, _), column) => {
                        ((self.position)(column)?, value)
                    }
                    _ => return None,
                };
                let value = self.stored(column, value)?;
                Some((column, Predicate::Compare(Op::Eq, value)))
            }
            _ => self.of_call(&call_of(condition)?),
        }
    }

    fn of_call(&self, Comparison { call, args }: &Comparison<'_>) -> Option<(usize, Predicate)> {
        let column = |at: usize| (self.position)(args.get(at)?);
        if !are_known(args) {
            return None;
        }
        match (call.name(), call.operands()) {
            ("IS NULL" | "ISNULL", _) => {
                let column = column(0)?;
                // Of these a date of zeros passes in WHERE.
                (!zero_is_null(self.ty(column))).then_some((column, Predicate::IsNull))
            }
            ("IS NOT NULL", _) => Some((column(0)?, Predicate::IsNotNull)),
            ("BETWEEN", [_, low, high]) => {
                let column = column(0)?;
                let (low, high) =
                    (self.scalar(column, low, call)?, self.scalar(column, high, call)?);
                Some((column, Predicate::Between(low, high)))
            }
            ("IN", [_, list @ ..]) => {
                let column = column(0)?;
                let list: Option<Vec<Scalar>> =
                    list.iter().map(|it| self.scalar(column, it, call)).collect();
                Some((column, Predicate::In(list?.into())))
            }
            (name, [left, right]) => {
                let op = operator(name)?;
                match column(0) {
                    Some(column) => {
                        Some((column, Predicate::Compare(op, self.scalar(column, right, call)?)))
                    }
                    None => {
                        let column = column(1)?;
                        let scalar = self.scalar(column, left, call)?;
                        Some((column, Predicate::Compare(turned(op), scalar)))
                    }
                }
            }
            _ => None,
        }
    }

    /// A constant as a value that a column stores.
    fn scalar(&self, column: usize, operand: &Operand, call: &Call) -> Option<Scalar> {
        let (ty, value) = (self.ty(column), operand.constant.as_ref()?);
        if matches!(ty.wire, WireType::Bit | WireType::Year)
            || matches!(operand.ty.wire, WireType::Bit | WireType::Year)
        {
            return None;
        }
        match value {
            Value::Int(value) if ty.is_integer() => Some(Scalar::Int((*value).into())),
            Value::UInt(value) if ty.is_integer() => Some(Scalar::Int((*value).into())),
            Value::Int(value) if ty.is_decimal() => {
                unscaled(Decimal::from_i128((*value).into()), ty)
            }
            Value::UInt(value) if ty.is_decimal() => {
                unscaled(Decimal::from_i128((*value).into()), ty)
            }
            Value::Decimal(value) if ty.is_decimal() => unscaled(*value, ty),
            Value::Date(packed) if ty.is_date() && operand.ty.is_date() => self.moment(*packed, ty),
            // Of a text in a list a DATE takes the day, with a warning where it has more.
            Value::Text(text) if ty.wire == WireType::Date && call.name() == "IN" => {
                let packed = date(text, call.context())?;
                let is_day = DateTime::unpack(packed).time_micros() == 0 && !text.contains(':');
                if is_day { self.moment(packed, ty) } else { None }
            }
            Value::Text(text) if ty.is_date() => self.moment(date(text, call.context())?, ty),
            Value::Text(text)
                if ty.is_binary_string()
                    && is_utf8_in(text, operand.ty.collation)
                    && by_collation_of_column(call) =>
            {
                Some(Scalar::Bytes(text.clone().into_bytes()))
            }
            _ => None,
        }
    }

    /// A literal of a column's own type as a value that it stores.
    fn stored(&self, column: usize, value: &ScalarValue) -> Option<Scalar> {
        let ty = self.ty(column);
        match value {
            ScalarValue::Int64(Some(packed)) if ty.is_date() => self.moment(*packed, ty),
            ScalarValue::Int64(Some(value)) if is_number(ty) => Some(Scalar::Int((*value).into())),
            ScalarValue::UInt64(Some(value)) if is_number(ty) => Some(Scalar::Int((*value).into())),
            ScalarValue::Decimal128(Some(units), _, _) if ty.arrow() == value.data_type() => {
                Some(Scalar::Int(*units))
            }
            _ => None,
        }
    }

    /// A date or a moment as a column stores it.
    fn moment(&self, packed: i64, ty: &ColumnType) -> Option<Scalar> {
        let packed = match ty.wire {
            // 30 February is no moment (`ALLOW_INVALID_DATES`).
            WireType::Timestamp if packed != 0 && !DateTime::unpack(packed).is_valid() => {
                return None;
            }
            // Around moments at which a clock is set, order differs from that of moments.
            WireType::Timestamp => assignment::timestamp_to_utc(packed, self.zone).exact()?,
            _ => packed,
        };
        Some(Scalar::Int(packed.into()))
    }
}

/// Whether arguments are columns and values: a constant that is still to be computed leaves a
/// warning then.
fn are_known(args: &[Bound]) -> bool {
    args.iter().all(|it| matches!(it, Bound::Literal(..) | Bound::Column(_)))
}

/// Whether no constant of a comparison insists on its collation as much as a column does.
pub(crate) fn by_collation_of_column(call: &Call) -> bool {
    let mut constants = call.operands().iter().filter(|it| it.constant.is_some());
    constants.all(|it| it.coercibility > Coercibility::Implicit)
}

/// Whether a column stores whole numbers that are compared as such.
fn is_number(ty: &ColumnType) -> bool {
    ty.is_integer() && !matches!(ty.wire, WireType::Bit | WireType::Year)
}

/// A number as the unscaled value of a decimal column, if it has no more digits than the column.
fn unscaled(value: Decimal, ty: &ColumnType) -> Option<Scalar> {
    let rounded = value.rescale(ty.decimals)?;
    rounded.compare(value).is_eq().then(|| rounded.units.to_i128().map(Scalar::Int))?
}

fn operator(name: &str) -> Option<Op> {
    Some(match name {
        "=" => Op::Eq,
        "<>" | "!=" => Op::Ne,
        "<" => Op::Lt,
        "<=" => Op::Le,
        ">" => Op::Gt,
        ">=" => Op::Ge,
        _ => return None,
    })
}

/// Whether `IS NULL` in WHERE finds zeros of a column: of a DATE or DATETIME that cannot be NULL.
pub(crate) fn zero_is_null(ty: &ColumnType) -> bool {
    matches!(ty.wire, WireType::Date | WireType::DateTime) && !ty.is_nullable()
}

/// The integer of a literal.
pub(crate) fn integer(expr: &Expr, mode: Mode) -> Option<i128> {
    match expr {
        Expr::Nested(inner) => integer(inner, mode),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => integer(expr, mode)?.checked_neg(),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => integer(expr, mode),
        _ => match constant(expr, mode)? {
            Constant::Integer(digits) => digits.parse().ok(),
            Constant::Boolean(truth) => Some(i128::from(truth)),
            _ => None,
        },
    }
}

/// A moment in microseconds since 1970 UTC, from a literal in the session's time zone.
pub(crate) fn moment(context: &QueryContext, expr: &Expr) -> Option<i64> {
    let expr = match expr {
        Expr::TypedString(typed) => return of_text(context, &typed.value.value, context.mode),
        other => other,
    };
    match expr {
        Expr::Value(value) => of_text(context, &value.value, context.mode),
        _ => None,
    }
}

fn of_text(context: &QueryContext, value: &ast::Value, mode: Mode) -> Option<i64> {
    let Constant::Text { text, .. } = pelorus_sql::literal::constant_value(value, mode)? else {
        return None;
    };
    let packed = date(&text, &context.eval)?;
    // Far from now, where TIMESTAMP has no values, hours do not matter.
    let utc = match (1971..2038).contains(&DateTime::unpack(packed).year) {
        true => assignment::timestamp_to_utc(packed, context.eval.time_zone).taken()?,
        false => packed,
    };
    let moment = DateTime::unpack(utc);
    /// Days from year 0 to 1970.
    const EPOCH: i64 = 719_528;
    Some((moment.day_number() - EPOCH) * 86_400_000_000 + moment.time_micros())
}

/// A date with or without a time, packed; `None` for other texts.
fn date(text: &str, eval: &EvalContext) -> Option<i64> {
    packed(literal::timestamp(text, eval).or_else(|_| literal::date(text, eval)).ok()?)
}

fn packed(arg: Arg) -> Option<i64> {
    match arg.constant? {
        Value::Date(packed) => Some(packed),
        _ => None,
    }
}

/// Whether a text has the bytes of UTF-8 in the charset of a collation; that of literals is the
/// connection's.
fn is_utf8_in(text: &str, collation: Collation) -> bool {
    match collation.charset() {
        "utf8mb4" | "utf8mb3" | "binary" => true,
        "latin1" | "ascii" => text.is_ascii(),
        _ => false,
    }
}

/// The operator with its sides exchanged.
pub(crate) fn turned(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        Op::Eq | Op::Ne => op,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_other_charsets_are_not_compared_as_utf8() {
        let is =
            |text, collation| is_utf8_in(text, Collation::by_name(collation).expect(collation));
        assert!(is("ä", "utf8mb4_0900_ai_ci") && is("ä", "utf8mb3_general_ci"));
        assert!(is("a", "latin1_swedish_ci") && !is("ä", "latin1_swedish_ci"));
        assert!(is("ä", "binary") && !is("a", "utf16_general_ci"));
    }
}
