//! Binds expressions: from the syntax tree to DataFusion's expressions, with MySQL's types.

mod column_constants;
mod quotient;
mod row_comparison;
mod subquery;

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::logical_expr::{Expr, Operator, lit};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{self as functions, Arg, CastTarget, Coercibility, Value};
use pelorus_sql::ast_analysis::{self, is_aggregate_name};
use pelorus_sql::operator::function_of;
use pelorus_types::column::DECIMALS_NOT_FIXED;
use pelorus_types::{ColumnType, WireType, collation};
use sqlparser::ast::{
    self, BinaryOperator, CeilFloorKind, FunctionArg, FunctionArgExpr, FunctionArguments,
    TrimWhereField, UnaryOperator, VisitMut, VisitorMut,
};

use super::bound_query::BoundQuery;
use super::function_call::name_of;
use super::scan_predicate::zero_is_null;
use super::scope::Scope;
use super::typed_expression::{Constants, TypedExpr};
use super::{correlated, mariadb_rules, ordered_conjunction};
use crate::context::{Flavour, QueryContext};
use crate::operators::short_circuit;

/// Subqueries of a block, bound beforehand, by their text.
pub(crate) type Subqueries = HashMap<String, BoundQuery>;

/// Expressions that were computed already, by their canonical text.
pub(crate) type Computed = HashMap<String, TypedExpr>;

/// How many conditions a row may have to meet: planning takes the square of their number.
const MAX_CONDITIONS: usize = 4096;

/// Refuses conditions that would take too long to plan.
///
/// # Errors
/// 1235.
pub(crate) fn check_conditions(count: usize) -> Result<()> {
    match count > MAX_CONDITIONS {
        true => Err(Error::unsupported(format_args!(
            "more than {MAX_CONDITIONS} conditions joined by AND"
        ))),
        false => Ok(()),
    }
}

/// Binds the expressions of one clause.
#[derive(Clone, Copy)]
pub(crate) struct ExprBinder<'a> {
    /// The session's side.
    pub(crate) context: &'a QueryContext,
    /// The columns that can be named.
    pub(crate) scope: &'a Scope,
    /// Group keys, aggregates: taken instead of binding the expression again.
    pub(crate) computed: &'a Computed,
    /// Columns may be taken only from `computed`: the block is grouped.
    pub(crate) only_computed: bool,
    /// Bound subqueries.
    pub(crate) subqueries: &'a Subqueries,
    /// The name that errors give the clause.
    pub(crate) clause: &'static str,
    /// Whose answer the query must have; `None` where it is ours.
    pub(crate) answer: Option<Flavour>,
    /// When constants are computed that leave warnings.
    pub(crate) constants: Constants,
}

impl ExprBinder<'_> {
    /// Binds an expression to its value.
    pub(crate) fn value(&self, expr: &ast::Expr) -> Result<TypedExpr> {
        self.context.eval.interrupt.check()?;
        if let Some(found) = self.computed_value(expr) {
            return Ok(found);
        }
        match expr {
            ast::Expr::Nested(inner) => self.value(inner),
            ast::Expr::Identifier(name) => self.name(std::slice::from_ref(name)),
            ast::Expr::CompoundIdentifier(path) => self.name(path),
            ast::Expr::Value(_) | ast::Expr::Prefixed { .. } | ast::Expr::TypedString(_) => {
                TypedExpr::literal(super::literal::literal(expr, self.context)?)
            }
            ast::Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            ast::Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            ast::Expr::IsNull(inner) => self.apply("IS NULL", &[inner]),
            ast::Expr::IsNotNull(inner) => self.apply("IS NOT NULL", &[inner]),
            ast::Expr::IsTrue(inner) => self.apply("IS TRUE", &[inner]),
            ast::Expr::IsNotTrue(inner) => self.apply("IS NOT TRUE", &[inner]),
            ast::Expr::IsFalse(inner) => self.apply("IS FALSE", &[inner]),
            ast::Expr::IsNotFalse(inner) => self.apply("IS NOT FALSE", &[inner]),
            ast::Expr::IsUnknown(inner) => self.apply("IS NULL", &[inner]),
            ast::Expr::IsNotUnknown(inner) => self.apply("IS NOT NULL", &[inner]),
            ast::Expr::Between { expr, negated, low, high } => {
                if *negated && low == high {
                    // To MySQL BETWEEN equal bounds is an equality, NOT BETWEEN is not.
                    return self.apply("NOT BETWEEN", &[expr, low, high]);
                }
                let inner = self.apply("BETWEEN", &[expr, low, high])?;
                self.negate_if(*negated, inner)
            }
            ast::Expr::InList { expr, list, negated } if is_row(expr) => {
                let inner = self.row_in(expr, list)?;
                self.negate_if(*negated, inner)
            }
            ast::Expr::InList { expr, list, negated } => {
                let mut args = vec![expr.as_ref()];
                args.extend(list);
                let inner = self.apply("IN", &args)?;
                self.negate_if(*negated, inner)
            }
            ast::Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                let mut args = vec![expr.as_ref(), pattern.as_ref()];
                args.extend(escape_char.as_deref());
                let inner = self.apply("LIKE", &args)?;
                self.negate_if(*negated, inner)
            }
            ast::Expr::RLike { negated, expr, pattern, .. } => {
                let inner = self.apply("REGEXP", &[expr, pattern])?;
                self.negate_if(*negated, inner)
            }
            ast::Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            ast::Expr::Cast { expr, data_type, .. } => self.cast(expr, data_type),
            ast::Expr::Convert { expr, data_type: None, charset: Some(charset), .. } => {
                let charset = ast_analysis::plain_name(charset);
                self.cast_to(expr, super::cast::in_charset(None, &charset)?)
            }
            ast::Expr::Extract { field, expr, .. } => {
                let unit = Self::word(&field.to_string().to_ascii_uppercase())?;
                self.call("EXTRACT", vec![unit, self.value(expr)?])
            }
            ast::Expr::Ceil { expr, field } => self.rounding("CEIL", expr, field),
            ast::Expr::Floor { expr, field } => self.rounding("FLOOR", expr, field),
            ast::Expr::Position { expr, r#in } => self.apply("LOCATE", &[expr, r#in]),
            ast::Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                let mut args = vec![expr.as_ref(), from.as_ref()];
                args.extend(substring_for.as_deref());
                self.apply("SUBSTRING", &args)
            }
            ast::Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                self.trim(*trim_where, trim_what.as_deref(), expr)
            }
            ast::Expr::Collate { expr, collation } => {
                let name = Self::word(&ast_analysis::plain_name(collation))?;
                self.call("COLLATE", vec![self.value(expr)?, name])
            }
            ast::Expr::Function(function) => self.function(function),
            ast::Expr::Subquery(query) => self.scalar_subquery(query),
            ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => {
                Ok(number(self.condition(expr, false)?))
            }
            other => Err(Error::unsupported(format_args!("{other}"))),
        }
    }

    /// Binds an expression to a condition: a Boolean with NULL for unknown.
    pub(crate) fn predicate(&self, expr: &ast::Expr) -> Result<Expr> {
        let parts = ast_analysis::conjuncts(expr);
        if parts.len() < 2 || self.computed_value(expr).is_some() {
            return self.condition(expr, true);
        }
        check_conditions(parts.len())?;
        let parts = parts.into_iter().map(|part| self.conjunct(part));
        let all = ordered_conjunction::conjunction(parts.collect::<Result<Vec<_>>>()?, self.scope);
        all.ok_or_else(|| Error::internal("a condition without parts"))
    }

    /// One of several conditions that a row has to meet.
    fn conjunct(&self, expr: &ast::Expr) -> Result<Expr> {
        let condition = self.condition(expr, true)?;
        let waits = ordered_conjunction::is_equality(&condition)
            && short_circuit::is_fallible(&condition)
            && ordered_conjunction::is_of_one_table(&condition, self.scope);
        // An equality of DataFusion's own is computed for all rows.
        if waits { self.value(expr)?.truth(&self.context.eval) } else { Ok(condition) }
    }

    /// `IS NULL` as WHERE takes it of a table's own column that is a date and cannot be NULL: zeros
    /// pass as well, for the sake of old clients. `None` for anything else.
    fn null_or_zero(&self, inner: &ast::Expr) -> Result<Option<Expr>> {
        let path: Vec<&str> = match ast_analysis::unnested(inner) {
            ast::Expr::Identifier(name) => vec![&name.value],
            ast::Expr::CompoundIdentifier(path) => path.iter().map(|it| &*it.value).collect(),
            _ => return Ok(None),
        };
        if self.clause != "where clause" {
            return Ok(None);
        }
        let column = self.scope.find(&path, self.clause)?;
        if column.is_none()
            && let Some(outer) = &self.scope.outer
            && let Some(column) = outer.find(&path, self.clause)?
            && column.value.origin.as_ref().is_some_and(|it| zero_is_null(&it.ty))
        {
            return Err(self.correlated("that is a date that cannot be NULL, by IS NULL"));
        }
        let Some((column, origin)) = column.and_then(|it| Some((it, it.value.origin.as_ref()?)))
        else {
            return Ok(None);
        };
        let is_own = !column.schema.is_empty();
        if !zero_is_null(if is_own { &origin.ty } else { &column.value.ty }) {
            return Ok(None);
        }
        if !is_own {
            // It depends on whether MySQL makes a table of it.
            return Err(Error::unsupported(format_args!(
                "IS NULL of {inner}, a date of a derived table that cannot be NULL"
            )));
        }
        let value = column.value.expr.clone();
        Ok(Some(value.clone().is_null().or(value.eq(lit(0_i64)))))
    }

    /// The same for a part of a condition. `top` says that every row must meet it: elsewhere
    /// DataFusion makes of an IN (subquery) that is unknown one that is false.
    fn condition(&self, expr: &ast::Expr, top: bool) -> Result<Expr> {
        if self.computed_value(expr).is_none() {
            match expr {
                ast::Expr::Nested(inner) => return self.condition(inner, top),
                ast::Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                    let (left, right) = (self.condition(left, top)?, self.condition(right, top)?);
                    return Ok(short_circuit::either(left, Operator::And, right));
                }
                ast::Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                    let (left, right) =
                        (self.condition(left, false)?, self.condition(right, false)?);
                    return Ok(short_circuit::either(left, Operator::Or, right));
                }
                ast::Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                    return Ok(datafusion::logical_expr::not(self.condition(expr, false)?));
                }
                ast::Expr::IsNull(inner) | ast::Expr::IsUnknown(inner) => {
                    if top && let Some(found) = self.null_or_zero(inner)? {
                        return Ok(found);
                    }
                }
                ast::Expr::Function(call) if name_of(call) == "ISNULL" => {
                    if top
                        && let [inner] = plain_arguments(call)?[..]
                        && let Some(found) = self.null_or_zero(inner)?
                    {
                        return Ok(found);
                    }
                }
                ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                    if let Some(native) = self.native_equality(left, right)?
                        && (top || !short_circuit::is_fallible(&native))
                    {
                        return Ok(native);
                    }
                }
                ast::Expr::Exists { subquery, negated } => {
                    let bound = self.subquery(subquery)?;
                    if correlated::is_correlated(&bound.plan) {
                        return self.correlated_exists(bound, *negated);
                    }
                    return self.exists(&bound.plan, *negated);
                }
                ast::Expr::InSubquery { expr, subquery, negated } if top => {
                    return self.in_subquery(expr, subquery, *negated);
                }
                ast::Expr::InSubquery { .. } => {
                    return Err(Error::unsupported(
                        "IN (subquery) within OR, NOT or an expression",
                    ));
                }
                _ => {}
            }
        }
        let value = match self.folded(expr)? {
            Some(folded) => folded,
            None => self.value(expr)?,
        };
        mariadb_rules::check_digits(&value)?;
        if top && let Some(joined) = self.joined_equality(expr)? {
            return Ok(joined);
        }
        value.truth(&self.context.eval)
    }

    /// Binds an equality of columns of different types and tables to one of keys: a join hashes
    /// those, and would compare all rows with all others without.
    fn joined_equality(&self, expr: &ast::Expr) -> Result<Option<Expr>> {
        let ast::Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = expr else {
            return Ok(None);
        };
        if is_row(left) || is_row(right) || self.computed_value(expr).is_some() {
            return Ok(None);
        }
        let mut sides = [self.value(left)?, self.value(right)?];
        mariadb_rules::round_compared(&mut sides, &self.context.eval);
        let [left, right] = sides;
        let joins = [&left, &right]
            .iter()
            .all(|it| short_circuit::is_plain(&it.expr) && !it.expr.column_refs().is_empty());
        if !joins {
            return Ok(None);
        }
        let keys = left.equality_keys(&right, &self.context.eval)?;
        let equality = keys.map(|(_, [left, right])| left.eq(right));
        Ok(equality.filter(|it| !ordered_conjunction::is_of_one_table(it, self.scope)))
    }

    /// The comparison key of texts here: the keys of a server differ.
    fn own_key(&self, side: TypedExpr) -> Expr {
        side.without_key().sort_key(&self.context.eval)
    }

    /// Binds `left = right` to an equality that DataFusion can hash, where that means the same.
    fn native_equality(&self, left: &ast::Expr, right: &ast::Expr) -> Result<Option<Expr>> {
        if matches!(left, ast::Expr::Tuple(_)) || matches!(right, ast::Expr::Tuple(_)) {
            return Ok(None);
        }
        let mut sides = [self.value(left)?, self.value(right)?];
        mariadb_rules::round_compared(&mut sides, &self.context.eval);
        sides.iter().try_for_each(mariadb_rules::check_digits)?;
        let [left, right] = sides;
        let numbers = left.ty.is_integer() && right.ty.is_integer()
            || left.ty.is_decimal() && right.ty.is_decimal();
        // A YEAR takes constants for years.
        let are_years = [&left, &right].map(|side| side.ty.wire == WireType::Year);
        let is_year = are_years[0] != are_years[1];
        let same_numbers = numbers && left.ty.arrow() == right.ty.arrow() && !is_year;
        let dates = left.ty.is_date() && right.ty.is_date();
        if same_numbers || dates {
            return Ok(Some(left.expr.eq(right.expr)));
        }
        if are_texts(&left, &right) && left.ty.collation == right.ty.collation {
            return Ok(Some(self.own_key(left).eq(self.own_key(right))));
        }
        Ok(None)
    }

    fn computed_value(&self, expr: &ast::Expr) -> Option<TypedExpr> {
        if self.computed.is_empty() {
            return None;
        }
        self.computed.get(&canonical(expr, self.scope)).cloned()
    }

    fn name(&self, path: &[ast::Ident]) -> Result<TypedExpr> {
        let parts: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        if let Some(first) = path.first()
            && first.quote_style.is_none()
            && first.value.starts_with('@')
        {
            return self.variable(&parts);
        }
        match self.scope.find(&parts, self.clause)? {
            Some(column) if !self.only_computed => Ok(column.value.clone()),
            Some(column) => Err(Error::new(
                Code::WrongFieldWithGroup,
                format!(
                    "Expression of {} contains nonaggregated column '{}' which is not functionally \
                     dependent on columns in GROUP BY clause; this is incompatible with \
                     sql_mode=only_full_group_by",
                    self.clause,
                    column.full_name(),
                ),
            )),
            None => self.outer(&parts)?.ok_or_else(|| {
                Error::new(
                    Code::UnknownColumn,
                    format!("Unknown column '{}' in '{}'", parts.join("."), self.clause),
                )
            }),
        }
    }

    /// A column of the block around a subquery.
    fn outer(&self, parts: &[&str]) -> Result<Option<TypedExpr>> {
        let Some(outer) = &self.scope.outer else { return Ok(None) };
        let Some(column) = outer.find(parts, self.clause)? else { return Ok(None) };
        let Some(expr) = correlated::reference(&column.value) else {
            return Err(Error::unsupported(format_args!(
                "'{}' in a subquery, a computed column of the block around it",
                parts.join(".")
            )));
        };
        Ok(Some(column.value.at(expr, None)))
    }

    fn variable(&self, parts: &[&str]) -> Result<TypedExpr> {
        let joined = parts.join(".");
        let Some(rest) = joined.strip_prefix("@@") else {
            return self.user_variable(joined.trim_start_matches('@').trim_matches('`'));
        };
        let (scope, name) = match rest.split_once('.') {
            Some((scope, name)) if is_scope(scope) => (scope, name),
            _ => ("", rest),
        };
        let global = scope.eq_ignore_ascii_case("global");
        let (value, ty) = self.context.variables.system(name, global)?;
        Self::system_constant(value, ty)
    }

    /// A variable insists on its collation as a column does: in MySQL even as a number, whose text
    /// is the connection's; in MariaDB as a text.
    fn user_variable(&self, name: &str) -> Result<TypedExpr> {
        let (value, ty) = self.context.variables.user(name);
        // A literal of bits that a variable was set to is a string like any other.
        let decimals = if ty.is_bits() { DECIMALS_NOT_FIXED } else { ty.decimals };
        let arg = Arg::literal(value, ColumnType { decimals, ..ty }, "");
        // A MariaDB does not have the session's collation: the text takes that of what it meets.
        let insists = !self.is_mariadb()
            || arg.ty.is_string() && arg.ty.collation != collation::UTF8MB4_0900_AI_CI;
        let coercibility = if insists { Coercibility::Implicit } else { arg.coercibility };
        TypedExpr::literal(Arg { coercibility, ..arg })
    }

    /// A system constant: as a text its collation has a stronger coercibility than that of
    /// literals.
    fn system_constant(value: Value, ty: ColumnType) -> Result<TypedExpr> {
        let arg = Arg::literal(value, ty, "");
        let coercibility = match ty.is_string() {
            true => Coercibility::SystemConstant,
            false => arg.coercibility,
        };
        TypedExpr::literal(Arg { coercibility, ..arg })
    }

    /// A word of the statement as an argument, a text whatever the connection's collation is.
    fn word(word: &str) -> Result<TypedExpr> {
        TypedExpr::literal(functions::literal::text_of(word, collation::UTF8MB4_0900_AI_CI))
    }

    fn call(&self, name: &str, mut args: Vec<TypedExpr>) -> Result<TypedExpr> {
        let context = &self.context.eval;
        if !self.is_mariadb() {
            if context.has_parameters {
                self.take_dates(name, &mut args)?;
            }
            let value = TypedExpr::apply(name, args, context, self.constants)?;
            return Ok(value.settled_by(name, context));
        }
        if mariadb_rules::is_comparison(name) {
            mariadb_rules::round_compared(&mut args, context);
        }
        let described: Vec<Arg> = args.iter().map(TypedExpr::arg).collect();
        mariadb_rules::check(name, &described)?;
        if name == "/" {
            mariadb_rules::check_scale(&described, context.div_precision_increment)?;
        }
        let is_quotient = mariadb_rules::is_quotient(name, &args)?;
        let value = TypedExpr::apply(name, args, context, self.constants)?;
        Ok(value.with_quotient(is_quotient))
    }

    /// Makes dates of the texts that are compared with some, where they are parameters.
    fn take_dates(&self, name: &str, args: &mut [TypedExpr]) -> Result<()> {
        let compares = mariadb_rules::is_comparison(name)
            || matches!(name, "CASE =" | "BETWEEN" | "NOT BETWEEN" | "IN");
        if !compares || !args.iter().any(|arg| arg.ty.is_date()) {
            return Ok(());
        }
        let are_days = args.iter().all(|arg| !arg.ty.is_date() || arg.ty.wire == WireType::Date);
        for arg in args {
            if let Some(Value::Text(text)) = arg.arg().constant
                && let Some(date) =
                    functions::literal::date_parameter(&text, are_days, &self.context.eval)
            {
                if name == "<=>" && matches!(date.constant, Some(Value::Null)) {
                    // It equals no NULL, though it is none of the dates.
                    return Err(Error::unsupported("a text that is no date beside <=>"));
                }
                *arg = TypedExpr::literal(date)?;
            }
        }
        Ok(())
    }

    /// A binder for what only some rows reach.
    fn branch(&self) -> Self {
        Self { constants: Constants::WhenReached, ..*self }
    }

    /// Whether the answer is to be that of a MariaDB.
    pub(crate) fn is_mariadb(&self) -> bool {
        self.answer == Some(Flavour::MariaDb)
    }

    fn apply(&self, name: &str, args: &[&ast::Expr]) -> Result<TypedExpr> {
        let args = args.iter().map(|arg| self.value(arg)).collect::<Result<Vec<_>>>()?;
        self.call(name, args)
    }

    fn negate_if(&self, negated: bool, inner: TypedExpr) -> Result<TypedExpr> {
        if negated { self.call("NOT", vec![inner]) } else { Ok(inner) }
    }

    fn unary(&self, op: UnaryOperator, expr: &ast::Expr) -> Result<TypedExpr> {
        let name = match op {
            UnaryOperator::Plus => return self.value(expr),
            UnaryOperator::Minus => {
                // `-9223372036854775808` is one literal to MySQL.
                if let ast::Expr::Value(value) = expr
                    && let ast::Value::Number(digits, _) = &value.value
                    && digits == "9223372036854775808"
                {
                    let ty = ColumnType::bigint().not_null();
                    return TypedExpr::literal(Arg::literal(Value::Int(i64::MIN), ty, ""));
                }
                "-"
            }
            UnaryOperator::Not | UnaryOperator::BangNot => "NOT",
            UnaryOperator::BitwiseNot => "~",
            other => return Err(Error::unsupported(other)),
        };
        self.apply(name, &[expr])
    }

    fn binary(
        &self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<TypedExpr> {
        if let Some(typed) = self.interval_arithmetic(left, op, right)? {
            return Ok(typed);
        }
        match (left, right) {
            (ast::Expr::Tuple(left), ast::Expr::Tuple(right)) => {
                return self.row_comparison(left, op, right);
            }
            (ast::Expr::Tuple(_), ast::Expr::Subquery(_))
            | (ast::Expr::Subquery(_), ast::Expr::Tuple(_)) => {
                return Err(Error::unsupported("rows compared with those of a subquery"));
            }
            (ast::Expr::Tuple(row), _) | (_, ast::Expr::Tuple(row)) => {
                return Err(Error::new(
                    Code::OperandColumns,
                    format!("Operand should contain {} column(s)", row.len()),
                ));
            }
            _ => {}
        }
        let name = function_of(op, self.context.mode)
            .ok_or_else(|| Error::unsupported(format_args!("operator {op}")))?;
        self.apply(name, &[left, right])
    }

    fn interval_arithmetic(
        &self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Option<TypedExpr>> {
        let (name, date, interval) = match (left, op, right) {
            (date, BinaryOperator::Plus, ast::Expr::Interval(interval))
            | (ast::Expr::Interval(interval), BinaryOperator::Plus, date) => {
                ("DATE_ADD", date, interval)
            }
            (date, BinaryOperator::Minus, ast::Expr::Interval(interval)) => {
                ("DATE_SUB", date, interval)
            }
            _ => return Ok(None),
        };
        let mut args = vec![self.value(date)?];
        args.extend(self.interval(interval)?);
        self.call(name, args).map(Some)
    }

    /// The amount and the unit of an INTERVAL, as two arguments.
    fn interval(&self, interval: &ast::Interval) -> Result<[TypedExpr; 2]> {
        let unit = match &interval.leading_field {
            Some(field) if interval.last_field.is_none() => field.to_string().to_ascii_uppercase(),
            _ => return Err(Error::unsupported(interval)),
        };
        Ok([self.value(&interval.value)?, Self::word(&unit)?])
    }

    fn case(
        &self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        else_result: Option<&ast::Expr>,
    ) -> Result<TypedExpr> {
        let mut args = Vec::new();
        let operand = operand.map(|operand| self.exact(operand)).transpose()?;
        let branch = self.branch();
        for (at, when) in conditions.iter().enumerate() {
            let binder = if at == 0 { self } else { &branch };
            args.push(match &operand {
                Some(operand) => {
                    let value = binder.exact(&when.condition)?;
                    binder.call("CASE =", vec![operand.clone(), value])?
                }
                None => binder.value(&when.condition)?,
            });
            args.push(branch.value(&when.result)?);
        }
        if let Some(result) = else_result {
            args.push(branch.value(result)?);
        }
        self.call("CASE", args)
    }

    fn cast(&self, expr: &ast::Expr, to: &ast::DataType) -> Result<TypedExpr> {
        if *to == ast::DataType::Real && self.context.options.real_as_float {
            return self.cast_to(expr, CastTarget::Float);
        }
        self.cast_to(expr, super::cast::target(to, self.context.eval.collation)?)
    }

    fn cast_to(&self, expr: &ast::Expr, target: CastTarget) -> Result<TypedExpr> {
        let mut value = self.value(expr)?;
        let is_whole = matches!(target, CastTarget::Signed | CastTarget::Unsigned);
        let is_real =
            matches!(target, CastTarget::Double | CastTarget::Float | CastTarget::Decimal(..));
        if (is_whole || is_real) && (value.arg().hides_number() || value.arg().mixes) {
            value = value.number(is_real, &self.context.eval)?.unwrap_or(value);
        }
        if self.is_mariadb() {
            mariadb_rules::check_digits(&value)?;
            mariadb_rules::check_cast(target, &value.arg())?;
        }
        let call = functions::cast(target, &value.arg(), &self.context.eval)?;
        Ok(TypedExpr::of_call(call, vec![value], self.constants))
    }

    fn rounding(&self, name: &str, expr: &ast::Expr, kind: &CeilFloorKind) -> Result<TypedExpr> {
        match kind {
            CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {
                self.apply(name, &[expr])
            }
            _ => Err(Error::new(
                Code::WrongParameterCount,
                format!("Incorrect parameter count in the call to native function '{name}'"),
            )),
        }
    }

    fn trim(
        &self,
        side: Option<TrimWhereField>,
        what: Option<&ast::Expr>,
        expr: &ast::Expr,
    ) -> Result<TypedExpr> {
        let name = match side {
            None | Some(TrimWhereField::Both) => "TRIM",
            Some(TrimWhereField::Leading) => "TRIM LEADING",
            Some(TrimWhereField::Trailing) => "TRIM TRAILING",
        };
        let mut args = vec![self.value(expr)?];
        args.extend(what.map(|what| self.value(what)).transpose()?);
        self.call(name, args)
    }

    fn function(&self, function: &ast::Function) -> Result<TypedExpr> {
        let name = function.name.to_string().replace('`', "").to_ascii_uppercase();
        if function.over.is_some() {
            return Err(super::function_call::misplaced(&name.to_ascii_lowercase()));
        }
        if name == "ANY_VALUE"
            && !self.only_computed
            && !self.is_mariadb()
            && let [value] = plain_arguments(function)?[..]
        {
            // Where nothing makes groups it is a function of the row.
            return Ok(self.value(value)?.into_value());
        }
        if is_aggregate_name(&name) {
            return Err(Error::new(Code::InvalidGroupFunction, "Invalid use of group function"));
        }
        let args = plain_arguments(function)?;
        if args.is_empty()
            && let Some((value, ty)) = self.context.variables.session_function(&name)
        {
            return Self::system_constant(value, ty);
        }
        if self.is_mariadb()
            && let Some(rounded) = self.rounded(&name, &args)?
        {
            return Ok(rounded);
        }
        let mut bound = Vec::new();
        let branch = self.branch();
        let is_conditional = matches!(name.as_str(), "IF" | "IFNULL" | "COALESCE");
        for (at, arg) in args.into_iter().enumerate() {
            match arg {
                arg if at > 0 && is_conditional => bound.push(branch.value(arg)?),
                ast::Expr::Interval(interval) => bound.extend(self.interval(interval)?),
                // TIMESTAMPDIFF(DAY, a, b) takes a unit, which parses as a name.
                ast::Expr::Identifier(unit)
                    if at == 0
                        && matches!(
                            name.as_str(),
                            "TIMESTAMPDIFF" | "TIMESTAMPADD" | "GET_FORMAT"
                        ) =>
                {
                    bound.push(Self::word(&unit.value.to_ascii_uppercase())?);
                }
                arg => bound.push(self.value(arg)?),
            }
        }
        self.call(&name, bound)
    }
}

/// Whether both are texts, whatever their collations are.
fn are_texts(left: &TypedExpr, right: &TypedExpr) -> bool {
    let is_text = |it: &TypedExpr| it.ty.is_string() && it.ty.wire != WireType::Json;
    is_text(left) && is_text(right)
}

fn is_row(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Nested(inner) => is_row(inner),
        expr => matches!(expr, ast::Expr::Tuple(_)),
    }
}

/// A condition as MySQL's 1, 0 or NULL.
fn number(condition: Expr) -> TypedExpr {
    let expr = datafusion::logical_expr::cast(condition, arrow::datatypes::DataType::Int64);
    TypedExpr::computed(expr, ColumnType::boolean())
}

fn is_scope(word: &str) -> bool {
    ["global", "session", "local", "persist", "persist_only"]
        .iter()
        .any(|scope| word.eq_ignore_ascii_case(scope))
}

/// The arguments of a call that has nothing but expressions.
pub(crate) fn plain_arguments(function: &ast::Function) -> Result<Vec<&ast::Expr>> {
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

/// The text of an expression in which every spelling of a column and of a function is the same, so
/// that equal expressions have equal texts.
pub(crate) fn canonical(expr: &ast::Expr, scope: &Scope) -> String {
    let mut copy = expr.clone();
    while let ast::Expr::Nested(inner) = copy {
        copy = *inner;
    }
    let mut visitor = Canonical { scope };
    // The visitor never breaks off.
    let _: ControlFlow<()> = copy.visit(&mut visitor);
    copy.to_string()
}

struct Canonical<'a> {
    scope: &'a Scope,
}

impl VisitorMut for Canonical<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let path: Vec<&str> = match expr {
            ast::Expr::Identifier(name) => vec![name.value.as_str()],
            ast::Expr::CompoundIdentifier(path) => {
                path.iter().map(|part| part.value.as_str()).collect()
            }
            ast::Expr::Function(function) => {
                for part in &mut function.name.0 {
                    if let ast::ObjectNamePart::Identifier(ident) = part {
                        ident.value = ident.value.to_ascii_uppercase();
                        ident.quote_style = None;
                    }
                }
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        if let Ok(Some(column)) = self.scope.find(&path, "") {
            *expr = ast::Expr::CompoundIdentifier(vec![
                ast::Ident::with_quote('`', column.schema.clone()),
                ast::Ident::with_quote('`', column.table.clone()),
                ast::Ident::with_quote('`', column.name.to_ascii_lowercase()),
            ]);
        }
        ControlFlow::Continue(())
    }
}
