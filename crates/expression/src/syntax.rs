//! [`bind`]: which functions and operators the syntax of an expression stands for.
//!
//! A [`Binder`] says what names, constants and calls become: columns of a table and calls that are
//! evaluated here ([`crate::TypedValue`]), or expressions of a query's plan.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_functions::{Arg, CastTarget, EvalContext, Value, find, literal as make};
use pelorus_sql::operator::function_of;
use pelorus_sql::{Mode, ast_analysis};
use pelorus_types::{ColumnType, collation};
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CeilFloorKind, DataType, DateTimeField, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, Interval, TrimWhereField, UnaryOperator,
};

use crate::balanced::balanced;
use crate::cast_target::{cast_target, text_in_charset};
use crate::literal::literal;

/// The maximum number of values in rows that are ordered: each one nests the condition deeper.
const MAX_ORDERED: usize = 128;

/// What becomes of the parts of an expression.
pub trait Binder: Clone {
    /// A bound expression.
    type Value: Clone;

    /// The state of the session that functions depend on.
    fn context(&self) -> &Arc<EvalContext>;

    /// How the statement was read.
    fn mode(&self) -> Mode;

    /// A column or variable.
    ///
    /// # Errors
    /// An unknown name.
    fn name(&self, path: &[Ident]) -> Result<Self::Value>;

    /// A constant.
    ///
    /// # Errors
    /// A value that its type cannot hold.
    fn constant(&self, arg: Arg) -> Result<Self::Value>;

    /// A call of a function or operator.
    ///
    /// # Errors
    /// An unknown function, and wrong arguments.
    fn call(&self, name: &str, args: Vec<Self::Value>) -> Result<Self::Value>;

    /// A cast.
    ///
    /// # Errors
    /// A cast that the type of the value does not allow.
    fn cast(&self, value: Self::Value, target: CastTarget) -> Result<Self::Value>;

    /// A function as it is written.
    ///
    /// # Errors
    /// Those of [`Binder::call`]; clauses that only aggregates have.
    fn function(&self, function: &Function) -> Result<Self::Value> {
        let name = ast_analysis::function_name(&function.name);
        call_of(self, &name, plain_arguments(function)?)
    }

    /// The value of an expression that is not taken from its syntax, such as one that was computed
    /// already. It also refuses what cannot be written here.
    ///
    /// # Errors
    /// An expression that is refused.
    fn known(&self, _expr: &Expr) -> Result<Option<Self::Value>> {
        Ok(None)
    }

    /// A value that is compared with others: of a row, or the one that CASE tests.
    ///
    /// # Errors
    /// Those of [`bind`].
    fn compared(&self, expr: &Expr) -> Result<Self::Value> {
        bind(self, expr)
    }

    /// Refuses rows that cannot be compared by `row IN (list)`.
    ///
    /// # Errors
    /// 1235.
    fn check_rows(&self, _row: &Expr, _list: &[Expr]) -> Result<()> {
        Ok(())
    }

    /// The binder of an expression that only some rows reach.
    #[must_use]
    fn branch(&self) -> Self {
        self.clone()
    }

    /// The type of a CAST.
    ///
    /// # Errors
    /// Types that MySQL does not cast to.
    fn cast_target(&self, to: &DataType) -> Result<CastTarget> {
        cast_target(to, self.context().collation)
    }

    /// An expression that is more than a function of rows, such as a subquery.
    ///
    /// # Errors
    /// 1235 where it is not supported.
    fn other(&self, expr: &Expr) -> Result<Self::Value> {
        Err(Error::unsupported(expr))
    }
}

/// Binds an expression.
///
/// # Errors
/// Unknown names and functions, wrong arguments, syntax that is not supported (1235).
pub fn bind<B: Binder>(binder: &B, expr: &Expr) -> Result<B::Value> {
    if let Some(known) = binder.known(expr)? {
        return Ok(known);
    }
    match expr {
        Expr::Nested(inner) => bind(binder, inner),
        Expr::Identifier(name) => binder.name(std::slice::from_ref(name)),
        Expr::CompoundIdentifier(path) => binder.name(path),
        Expr::Value(_) | Expr::Prefixed { .. } | Expr::TypedString(_) => {
            binder.constant(literal(expr, binder.mode(), binder.context())?)
        }
        Expr::UnaryOp { op, expr } => unary(binder, *op, expr),
        Expr::BinaryOp { left, op, right } => binary(binder, left, op, right),
        Expr::Case { operand, conditions, else_result, .. } => {
            let (operand, otherwise) = (operand.as_deref(), else_result.as_deref());
            bind_case(binder, operand, conditions, otherwise, &bind)
        }
        Expr::Cast { expr, data_type, .. } => {
            binder.cast(bind(binder, expr)?, binder.cast_target(data_type)?)
        }
        Expr::Convert { expr, data_type: None, charset: Some(charset), .. } => {
            let charset = ast_analysis::plain_name(charset);
            binder.cast(bind(binder, expr)?, text_in_charset(None, &charset)?)
        }
        Expr::Function(function) => binder.function(function),
        _ => match predicate(binder, expr)? {
            Some(value) => Ok(value),
            None => special(binder, expr),
        },
    }
}

/// Calls a function with expressions as arguments.
///
/// # Errors
/// Those of [`bind`].
pub fn apply<B: Binder>(binder: &B, name: &str, args: &[&Expr]) -> Result<B::Value> {
    let args = args.iter().map(|arg| bind(binder, arg)).collect::<Result<Vec<_>>>()?;
    binder.call(name, args)
}

/// Calls a function whose arguments may be intervals and units.
///
/// # Errors
/// Those of [`bind`].
pub fn call_of<B: Binder>(binder: &B, name: &str, args: Vec<&Expr>) -> Result<B::Value> {
    let row = find(name);
    let skips = row.is_some_and(pelorus_functions::Function::skips_arguments);
    let takes_unit = row.is_some_and(|row| row.takes_keyword);
    let branch = binder.branch();
    let mut bound = Vec::with_capacity(args.len());
    for (at, arg) in args.into_iter().enumerate() {
        match arg {
            arg if at > 0 && skips => bound.push(bind(&branch, arg)?),
            Expr::Interval(given) => bound.extend(interval(binder, given)?),
            // TIMESTAMPDIFF(DAY, a, b) takes a unit, which parses as a name.
            Expr::Identifier(unit) if at == 0 && takes_unit => {
                bound.push(keyword(binder, &unit.value.to_ascii_uppercase())?);
            }
            arg => bound.push(bind(binder, arg)?),
        }
    }
    binder.call(name, bound)
}

/// The arguments of a call that has nothing but expressions.
///
/// # Errors
/// 1235.
pub fn plain_arguments(function: &Function) -> Result<Vec<&Expr>> {
    match &function.args {
        FunctionArguments::None => Ok(Vec::new()),
        FunctionArguments::Subquery(_) => Err(Error::unsupported(function)),
        FunctionArguments::List(list) => {
            if !list.clauses.is_empty() || list.duplicate_treatment.is_some() {
                return Err(Error::unsupported(function));
            }
            list.args
                .iter()
                .map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
                    _ => Err(Error::unsupported(function)),
                })
                .collect()
        }
    }
}

/// Whether an expression is a row of several values.
pub fn is_row(expr: &Expr) -> bool {
    matches!(ast_analysis::unnested(expr), Expr::Tuple(_))
}

/// Comparisons and tests; `None` for other expressions.
fn predicate<B: Binder>(binder: &B, expr: &Expr) -> Result<Option<B::Value>> {
    Ok(Some(match expr {
        Expr::IsNull(inner) | Expr::IsUnknown(inner) => apply(binder, "IS NULL", &[inner])?,
        Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => {
            apply(binder, "IS NOT NULL", &[inner])?
        }
        Expr::IsTrue(inner) => apply(binder, "IS TRUE", &[inner])?,
        Expr::IsNotTrue(inner) => apply(binder, "IS NOT TRUE", &[inner])?,
        Expr::IsFalse(inner) => apply(binder, "IS FALSE", &[inner])?,
        Expr::IsNotFalse(inner) => apply(binder, "IS NOT FALSE", &[inner])?,
        // To MySQL BETWEEN equal bounds is an equality, NOT BETWEEN is not.
        Expr::Between { expr, negated: true, low, high } if low == high => {
            apply(binder, "NOT BETWEEN", &[expr, low, high])?
        }
        Expr::Between { expr, negated, low, high } => {
            let inner = apply(binder, "BETWEEN", &[expr, low, high])?;
            negate_if(binder, *negated, inner)?
        }
        Expr::InList { expr, list, negated } if is_row(expr) => {
            let inner = row_in(binder, expr, list)?;
            negate_if(binder, *negated, inner)?
        }
        Expr::InList { expr, list, negated } => {
            let mut args = vec![expr.as_ref()];
            args.extend(list);
            let inner = apply(binder, "IN", &args)?;
            negate_if(binder, *negated, inner)?
        }
        Expr::Like { negated, any: false, expr, pattern, escape_char } => {
            let mut args = vec![expr.as_ref(), pattern.as_ref()];
            args.extend(escape_char.as_deref());
            let inner = apply(binder, "LIKE", &args)?;
            negate_if(binder, *negated, inner)?
        }
        Expr::RLike { negated, expr, pattern, .. } => {
            let inner = apply(binder, "REGEXP", &[expr, pattern])?;
            negate_if(binder, *negated, inner)?
        }
        _ => return Ok(None),
    }))
}

/// Functions whose arguments have a grammar of their own.
fn special<B: Binder>(binder: &B, expr: &Expr) -> Result<B::Value> {
    match expr {
        Expr::Extract { field, expr, .. } => {
            let unit = keyword(binder, &field.to_string().to_ascii_uppercase())?;
            binder.call("EXTRACT", vec![unit, bind(binder, expr)?])
        }
        Expr::Ceil { expr, field } => rounding(binder, "CEIL", expr, field),
        Expr::Floor { expr, field } => rounding(binder, "FLOOR", expr, field),
        Expr::Position { expr, r#in } => apply(binder, "LOCATE", &[expr, r#in]),
        Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
            let mut args = vec![expr.as_ref(), from.as_ref()];
            args.extend(substring_for.as_deref());
            apply(binder, "SUBSTRING", &args)
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
            let name = match trim_where {
                None | Some(TrimWhereField::Both) => "TRIM",
                Some(TrimWhereField::Leading) => "TRIM LEADING",
                Some(TrimWhereField::Trailing) => "TRIM TRAILING",
            };
            let mut args = vec![expr.as_ref()];
            args.extend(trim_what.as_deref());
            apply(binder, name, &args)
        }
        Expr::Collate { expr, collation } => {
            let name = keyword(binder, &ast_analysis::plain_name(collation))?;
            binder.call("COLLATE", vec![bind(binder, expr)?, name])
        }
        other => binder.other(other),
    }
}

/// A word of the statement as an argument, a text whatever the connection's collation is.
fn keyword<B: Binder>(binder: &B, word: &str) -> Result<B::Value> {
    binder.constant(make::text_of(word, collation::UTF8MB4_0900_AI_CI))
}

fn negate_if<B: Binder>(binder: &B, negated: bool, inner: B::Value) -> Result<B::Value> {
    if negated { binder.call("NOT", vec![inner]) } else { Ok(inner) }
}

fn unary<B: Binder>(binder: &B, op: UnaryOperator, expr: &Expr) -> Result<B::Value> {
    let name = match op {
        UnaryOperator::Plus => return bind(binder, expr),
        UnaryOperator::Minus => {
            // `-9223372036854775808` is one literal to MySQL.
            if let Expr::Value(value) = expr
                && let sqlparser::ast::Value::Number(digits, _) = &value.value
                && digits == "9223372036854775808"
            {
                let ty = ColumnType::bigint().not_null();
                let text = "-(9223372036854775808)";
                return binder.constant(Arg::literal(Value::Int(i64::MIN), ty, text));
            }
            "-"
        }
        UnaryOperator::Not | UnaryOperator::BangNot => "NOT",
        UnaryOperator::BitwiseNot => "~",
        other => return Err(Error::unsupported(other)),
    };
    apply(binder, name, &[expr])
}

fn binary<B: Binder>(
    binder: &B,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
) -> Result<B::Value> {
    if let Some(date) = interval_arithmetic(binder, left, op, right)? {
        return Ok(date);
    }
    match (left, right) {
        (Expr::Tuple(left), Expr::Tuple(right)) => {
            return row_comparison(binder, left, op, right);
        }
        (Expr::Tuple(_), Expr::Subquery(_)) | (Expr::Subquery(_), Expr::Tuple(_)) => {
            return Err(Error::unsupported("rows compared with those of a subquery"));
        }
        (Expr::Tuple(row), _) | (_, Expr::Tuple(row)) => return Err(operand_columns(row.len())),
        _ => {}
    }
    let name = function_of(op, binder.mode())
        .ok_or_else(|| Error::unsupported(format_args!("operator {op}")))?;
    apply(binder, name, &[left, right])
}

/// Error 1241.
fn operand_columns(count: usize) -> Error {
    Error::new(Code::OperandColumns, format!("Operand should contain {count} column(s)"))
}

/// `date + INTERVAL 1 DAY`; `None` for other expressions.
fn interval_arithmetic<B: Binder>(
    binder: &B,
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
) -> Result<Option<B::Value>> {
    let (name, date, given) = match (left, op, right) {
        (date, BinaryOperator::Plus, Expr::Interval(given))
        | (Expr::Interval(given), BinaryOperator::Plus, date) => ("DATE_ADD", date, given),
        (date, BinaryOperator::Minus, Expr::Interval(given)) => ("DATE_SUB", date, given),
        _ => return Ok(None),
    };
    let mut args = vec![bind(binder, date)?];
    args.extend(interval(binder, given)?);
    binder.call(name, args).map(Some)
}

/// The amount and the unit of an INTERVAL, as two arguments.
fn interval<B: Binder>(binder: &B, interval: &Interval) -> Result<[B::Value; 2]> {
    let unit = match &interval.leading_field {
        Some(field) if interval.last_field.is_none() => field.to_string().to_ascii_uppercase(),
        _ => return Err(Error::unsupported(interval)),
    };
    Ok([bind(binder, &interval.value)?, keyword(binder, &unit)?])
}

/// Binds a CASE, whose results `result` binds.
///
/// # Errors
/// Those of [`bind`] and of `result`.
pub fn bind_case<B: Binder>(
    binder: &B,
    operand: Option<&Expr>,
    conditions: &[CaseWhen],
    otherwise: Option<&Expr>,
    result: &dyn Fn(&B, &Expr) -> Result<B::Value>,
) -> Result<B::Value> {
    let mut args = Vec::new();
    let operand = operand.map(|operand| binder.compared(operand)).transpose()?;
    let branch = binder.branch();
    for (at, when) in conditions.iter().enumerate() {
        let binder = if at == 0 { binder } else { &branch };
        args.push(match &operand {
            Some(operand) => {
                let value = binder.compared(&when.condition)?;
                binder.call("CASE =", vec![operand.clone(), value])?
            }
            None => bind(binder, &when.condition)?,
        });
        args.push(result(&branch, &when.result)?);
    }
    args.extend(otherwise.map(|otherwise| result(&branch, otherwise)).transpose()?);
    binder.call("CASE", args)
}

/// `(a, b) < (c, d)`: the first pair that is not equal decides.
fn row_comparison<B: Binder>(
    binder: &B,
    left: &[Expr],
    op: &BinaryOperator,
    right: &[Expr],
) -> Result<B::Value> {
    if left.len() != right.len() {
        return Err(operand_columns(left.len()));
    }
    // What decides before the last pair, and what at it.
    let (before, last) = match op {
        BinaryOperator::Eq => return same_rows(binder, "=", left, right),
        BinaryOperator::NotEq => {
            return binder.call("NOT", vec![same_rows(binder, "=", left, right)?]);
        }
        BinaryOperator::Spaceship => return same_rows(binder, "<=>", left, right),
        BinaryOperator::Lt => ("<", "<"),
        BinaryOperator::LtEq => ("<", "<="),
        BinaryOperator::Gt => (">", ">"),
        BinaryOperator::GtEq => (">", ">="),
        other => return Err(Error::unsupported(format_args!("rows joined by {other}"))),
    };
    if left.len() > MAX_ORDERED {
        return Err(Error::unsupported(format_args!(
            "{op} of rows of more than {MAX_ORDERED} values"
        )));
    }
    let mut pairs = left.iter().zip(right).rev();
    let Some((a, b)) = pairs.next() else { return Err(Error::unsupported("empty rows")) };
    let mut all = apply(binder, last, &[a, b])?;
    for (a, b) in pairs {
        all = binder.call("AND", vec![apply(binder, "=", &[a, b])?, all])?;
        all = binder.call("OR", vec![apply(binder, before, &[a, b])?, all])?;
    }
    Ok(all)
}

/// Whether all pairs are equal.
fn same_rows<B: Binder>(binder: &B, op: &str, left: &[Expr], right: &[Expr]) -> Result<B::Value> {
    let each = left.iter().zip(right).map(|(a, b)| apply(binder, op, &[a, b]));
    let each = each.collect::<Result<Vec<_>>>()?;
    let all = balanced(each, |left, right| binder.call("AND", vec![left, right]))?;
    all.ok_or_else(|| Error::unsupported("empty rows"))
}

/// `(a, b) IN ((c, d), ...)`; the values of several rows are compared as they are.
fn row_in<B: Binder>(binder: &B, row: &Expr, list: &[Expr]) -> Result<B::Value> {
    binder.check_rows(row, list)?;
    let each = list.iter().map(|other| match (row, other) {
        (Expr::Tuple(left), Expr::Tuple(right)) if list.len() > 1 && left.len() == right.len() => {
            same_rows(binder, "CASE =", left, right)
        }
        _ => binary(binder, row, &BinaryOperator::Eq, other),
    });
    let each = each.collect::<Result<Vec<_>>>()?;
    let any = balanced(each, |left, right| binder.call("OR", vec![left, right]))?;
    any.ok_or_else(|| Error::unsupported("IN ()"))
}

fn rounding<B: Binder>(
    binder: &B,
    name: &str,
    expr: &Expr,
    kind: &CeilFloorKind,
) -> Result<B::Value> {
    match kind {
        CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => apply(binder, name, &[expr]),
        _ => Err(Error::new(
            Code::WrongParameterCount,
            format!("Incorrect parameter count in the call to native function '{name}'"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes texts of expressions: the functions that the syntax stands for.
    #[derive(Clone)]
    struct Texts {
        context: Arc<EvalContext>,
        is_branch: bool,
    }

    impl Binder for Texts {
        type Value = String;

        fn context(&self) -> &Arc<EvalContext> {
            &self.context
        }

        fn mode(&self) -> Mode {
            Mode::default()
        }

        fn name(&self, path: &[Ident]) -> Result<String> {
            let parts: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
            Ok(parts.join(".") + if self.is_branch { "?" } else { "" })
        }

        fn constant(&self, arg: Arg) -> Result<String> {
            Ok(format!("{:?}", arg.constant.unwrap_or(Value::Null)))
        }

        fn call(&self, name: &str, args: Vec<String>) -> Result<String> {
            Ok(format!("[{name} {}]", args.join(" ")))
        }

        fn cast(&self, value: String, target: CastTarget) -> Result<String> {
            Ok(format!("[CAST {value} {target:?}]"))
        }

        fn branch(&self) -> Self {
            Self { is_branch: true, ..self.clone() }
        }
    }

    fn bound(sql: &str) -> Result<String> {
        let texts = Texts { context: Arc::new(EvalContext::default()), is_branch: false };
        bind(&texts, &pelorus_sql::parse_expression(sql, Mode::default()).unwrap())
    }

    #[test]
    fn syntax_stands_for_functions() {
        let minimum = i64::MIN.to_string();
        for (sql, calls) in [
            ("a + b.c * 2", "[+ a [* b.c Int(2)]]"),
            ("-9223372036854775808", &format!("Int({minimum})")),
            ("-a", "[- a]"),
            ("NOT (a)", "[NOT a]"),
            ("a BETWEEN 1 AND 1", "[BETWEEN a Int(1) Int(1)]"),
            ("a NOT BETWEEN 1 AND 1", "[NOT BETWEEN a Int(1) Int(1)]"),
            ("a NOT BETWEEN 1 AND 2", "[NOT [BETWEEN a Int(1) Int(2)]]"),
            ("a NOT IN (1, b)", "[NOT [IN a Int(1) b]]"),
            ("a IS NOT UNKNOWN", "[IS NOT NULL a]"),
            ("a LIKE b ESCAPE c", "[LIKE a b c]"),
            ("a NOT REGEXP b", "[NOT [REGEXP a b]]"),
            ("CASE a WHEN b THEN c ELSE d END", "[CASE [CASE = a b] c? d?]"),
            ("CASE WHEN a THEN b WHEN c THEN d END", "[CASE a b? c? d?]"),
            ("IF(a, b, c)", "[IF a b? c?]"),
            ("COALESCE(a, b)", "[COALESCE a b?]"),
            ("NULLIF(a, b)", "[NULLIF a b]"),
            ("a + INTERVAL 1 DAY", "[DATE_ADD a Int(1) Text(\"DAY\")]"),
            ("INTERVAL 1 DAY + a", "[DATE_ADD a Int(1) Text(\"DAY\")]"),
            ("a - INTERVAL b MONTH", "[DATE_SUB a b Text(\"MONTH\")]"),
            ("DATE_ADD(a, INTERVAL 1 HOUR)", "[DATE_ADD a Int(1) Text(\"HOUR\")]"),
            ("TIMESTAMPDIFF(month, a, b)", "[TIMESTAMPDIFF Text(\"MONTH\") a b]"),
            ("EXTRACT(YEAR FROM a)", "[EXTRACT Text(\"YEAR\") a]"),
            ("POSITION(a IN b)", "[LOCATE a b]"),
            ("SUBSTRING(a FROM 2 FOR 3)", "[SUBSTRING a Int(2) Int(3)]"),
            ("TRIM(LEADING b FROM a)", "[TRIM LEADING a b]"),
            ("CEIL(a)", "[CEIL a]"),
            ("CAST(a AS SIGNED)", "[CAST a Signed]"),
            ("(a, b) = (c, d)", "[AND [= a c] [= b d]]"),
            ("(a, b) <> (c, d)", "[NOT [AND [= a c] [= b d]]]"),
            ("(a, b) < (c, d)", "[OR [< a c] [AND [= a c] [< b d]]]"),
            ("(a, b) IN ((1, 2))", "[AND [= a Int(1)] [= b Int(2)]]"),
        ] {
            assert_eq!(bound(sql).unwrap(), calls, "{sql}");
        }
    }

    #[test]
    fn rows_and_values_are_not_compared() {
        for sql in ["(a, b) = 1", "1 < (a, b)", "(a, b) = (1, 2, 3)"] {
            assert_eq!(bound(sql).unwrap_err().code(), Code::OperandColumns, "{sql}");
        }
        assert_eq!(bound("(SELECT 1)").unwrap_err().code(), Code::NotSupportedYet);
    }
}
