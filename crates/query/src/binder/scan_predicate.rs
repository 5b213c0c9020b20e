//! Scan predicates: the conditions of WHERE that a scan of a native table can test on stored
//! values.
//!
//! Only comparisons of a column with literals qualify, and only if comparing stored values means
//! what MySQL means by the comparison: integers, exact decimals, dates that are written as dates,
//! byte strings. Text under a collation is not compared by its bytes; see [`super::native`] for
//! that. The plan tests all other conditions.

use pelorus_chunk::{Op, Predicate, Scalar};
use pelorus_functions::{Arg, EvalContext, TimeZone, Value, assignment, literal};
use pelorus_sql::Mode;
use pelorus_sql::literal::{Constant, constant};
use pelorus_types::temporal::DateTime;
use pelorus_types::{Collation, ColumnType, WireType};
use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator};

use crate::context::{NativeTable, QueryContext};

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
        let is_it = |column: &pelorus_types::Column| column.name.eq_ignore_ascii_case(&name.value);
        self.table.columns.iter().position(is_it)
    }
}

/// A condition on a column of a table, if it is one.
pub(crate) fn tested(context: &QueryContext, expr: &Expr, of: Of<'_>) -> Option<Tested> {
    let reader = Reader::new(context, of);
    let (column, predicates) = match reader.none_of(expr) {
        Some(found) => found,
        None => reader.condition(expr).map(|(column, predicate)| (column, vec![predicate]))?,
    };
    let ty = &of.table.columns[column].ty;
    // Moments repeat when summer time ends.
    let exact = ty.wire != WireType::Timestamp;
    Some(Tested { column, predicates, exact })
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

/// `DATE '...'` or `TIMESTAMP '...'`, packed; `None` for what is no such literal, and for a TIME,
/// which is one of today.
fn typed_date(typed: &ast::TypedString, mode: Mode, eval: &EvalContext) -> Option<i64> {
    let value = pelorus_sql::literal::constant_value(&typed.value.value, mode)?;
    let Constant::Text { text, charset: None } = value else { return None };
    match typed.data_type.to_string().to_ascii_uppercase().as_str() {
        "DATE" => packed(literal::date(&text, eval).ok()?),
        "TIMESTAMP" | "DATETIME" => packed(literal::timestamp(&text, eval).ok()?),
        _ => None,
    }
}

fn packed(arg: Arg) -> Option<i64> {
    match arg.constant? {
        Value::Date(packed) => Some(packed),
        _ => None,
    }
}

/// Reads conditions on one table.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) of: Of<'a>,
    pub(crate) mode: Mode,
    pub(crate) eval: &'a EvalContext,
    /// The time zone of TIMESTAMP literals.
    pub(crate) zone: TimeZone,
}

impl<'a> Reader<'a> {
    /// A reader of the session's conditions.
    pub(crate) fn new(context: &'a QueryContext, of: Of<'a>) -> Self {
        Self { of, mode: context.mode, eval: &context.eval, zone: of.table.time_zone }
    }

    /// `NOT IN` of few values: different from each.
    fn none_of(&self, expr: &Expr) -> Option<(usize, Vec<Predicate>)> {
        /// Each is a test of its own.
        const MOST: usize = 8;
        match expr {
            Expr::Nested(inner) => self.none_of(inner),
            Expr::InList { expr, list, negated: true } if list.len() <= MOST => {
                let column = self.of.column(expr)?;
                let other = |it| Some(Predicate::Compare(Op::Ne, self.scalar(column, it)?));
                Some((column, list.iter().map(other).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// A condition as a test of a column, given by its position.
    pub(crate) fn condition(&self, expr: &Expr) -> Option<(usize, Predicate)> {
        match expr {
            Expr::Nested(inner) => self.condition(inner),
            Expr::IsNull(inner) => {
                let column = self.of.column(inner)?;
                // Of these a date of zeros passes.
                let zero_passes = zero_is_null(&self.of.table.columns[column].ty);
                (!zero_passes).then_some((column, Predicate::IsNull))
            }
            Expr::IsNotNull(inner) => Some((self.of.column(inner)?, Predicate::IsNotNull)),
            Expr::Between { expr, negated: false, low, high } => {
                let column = self.of.column(expr)?;
                let (low, high) = (self.scalar(column, low)?, self.scalar(column, high)?);
                Some((column, Predicate::Between(low, high)))
            }
            Expr::InList { expr, list, negated: false } => {
                let column = self.of.column(expr)?;
                let list: Option<Vec<Scalar>> =
                    list.iter().map(|it| self.scalar(column, it)).collect();
                Some((column, Predicate::In(list?.into())))
            }
            Expr::BinaryOp { left, op, right } => {
                let op = operator(op)?;
                if let Some(column) = self.of.column(left) {
                    return Some((column, Predicate::Compare(op, self.scalar(column, right)?)));
                }
                let column = self.of.column(right)?;
                let scalar = self.scalar(column, left)?;
                Some((column, Predicate::Compare(turned(op), scalar)))
            }
            _ => None,
        }
    }

    /// A literal as a value that a column stores.
    fn scalar(&self, column: usize, expr: &Expr) -> Option<Scalar> {
        let ty = &self.of.table.columns[column].ty;
        if ty.wire == WireType::Bit || ty.wire == WireType::Year {
            return None;
        }
        if ty.is_integer() {
            return integer(expr, self.mode).map(Scalar::Int);
        }
        if ty.is_decimal() {
            return decimal(expr, ty, self.mode);
        }
        if ty.is_date() {
            return self.date(expr, ty);
        }
        if ty.is_binary_string()
            && let Some(Constant::Text { text, charset: None }) = constant(expr, self.mode)
            && is_utf8_in(&text, self.eval.collation)
        {
            return Some(Scalar::Bytes(text.into_bytes()));
        }
        None
    }

    fn date(&self, expr: &Expr, ty: &ColumnType) -> Option<Scalar> {
        let packed = match expr {
            Expr::TypedString(typed) => typed_date(typed, self.mode, self.eval)?,
            other => match constant(other, self.mode)? {
                Constant::Text { text, charset: None } => date(&text, self.eval)?,
                _ => return None,
            },
        };
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

/// Whether a text has the bytes of UTF-8 in the charset of a collation; that of literals is the
/// connection's.
fn is_utf8_in(text: &str, collation: Collation) -> bool {
    match collation.charset() {
        "utf8mb4" | "utf8mb3" | "binary" => true,
        "latin1" | "ascii" => text.is_ascii(),
        _ => false,
    }
}

/// A number as the unscaled value of a decimal column, if it has no more digits than the column.
fn decimal(expr: &Expr, ty: &ColumnType, mode: Mode) -> Option<Scalar> {
    let (negative, expr) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (true, expr.as_ref()),
        other => (false, other),
    };
    let text = match constant(expr, mode)? {
        Constant::Integer(digits) | Constant::Decimal(digits) => digits,
        _ => return None,
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let scale = usize::from(ty.decimals);
    if fraction.len() > scale {
        return None;
    }
    let digits = format!("{whole}{fraction:0<scale$}");
    let value: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    Some(Scalar::Int(if negative { -value } else { value }))
}

fn operator(op: &BinaryOperator) -> Option<Op> {
    Some(match op {
        BinaryOperator::Eq => Op::Eq,
        BinaryOperator::NotEq => Op::Ne,
        BinaryOperator::Lt => Op::Lt,
        BinaryOperator::LtEq => Op::Le,
        BinaryOperator::Gt => Op::Gt,
        BinaryOperator::GtEq => Op::Ge,
        _ => return None,
    })
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
