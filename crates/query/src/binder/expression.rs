//! Binds expressions: from the syntax tree to DataFusion's expressions, with MySQL's types.

mod column_constants;
mod quotient;
mod subquery;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::logical_expr::{Expr, Operator, lit};
use pelorus_error::{Code, Error, Result};
use pelorus_expression::syntax::{self, bind, is_row, plain_arguments};
use pelorus_expression::{Binder, cast_target};
use pelorus_functions::{
    self as functions, Arg, CastTarget, Coercibility, EvalContext, Value, mariadb, names,
};
use pelorus_sql::Mode;
use pelorus_sql::ast_analysis::{self, is_aggregate_name};
use pelorus_types::column::DECIMALS_NOT_FIXED;
use pelorus_types::{ColumnType, WireType, collation};
use sqlparser::ast::{self, BinaryOperator, UnaryOperator, VisitMut, VisitorMut};

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
        bind(self, expr)
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
        // A scan tests a comparison with a constant, which it would not find in keys.
        let is_constant = [&left, &right].iter().any(|side| side.arg().constant.is_some());
        if !is_constant && are_texts(&left, &right) && left.ty.collation == right.ty.collation {
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

    fn named(&self, path: &[ast::Ident]) -> Result<TypedExpr> {
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

    fn resolved(&self, name: &str, mut args: Vec<TypedExpr>) -> Result<TypedExpr> {
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
        names::check_mariadb(name, &described)?;
        if name == "/" {
            mariadb::check_scale(&described, context.div_precision_increment)?;
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

    /// Whether the answer is to be that of a MariaDB.
    pub(crate) fn is_mariadb(&self) -> bool {
        self.answer == Some(Flavour::MariaDb)
    }

    fn cast_value(&self, mut value: TypedExpr, target: CastTarget) -> Result<TypedExpr> {
        let is_whole = matches!(target, CastTarget::Signed | CastTarget::Unsigned);
        let is_real =
            matches!(target, CastTarget::Double | CastTarget::Float | CastTarget::Decimal(..));
        if (is_whole || is_real) && (value.arg().hides_number() || value.arg().mixes) {
            value = value.number(is_real, &self.context.eval)?.unwrap_or(value);
        }
        if self.is_mariadb() {
            mariadb_rules::check_digits(&value)?;
            mariadb::check_cast(target, &value.arg())?;
        }
        let call = functions::cast(target, &value.arg(), &self.context.eval)?;
        Ok(TypedExpr::of_call(call, vec![value], self.constants))
    }

    fn function_call(&self, function: &ast::Function) -> Result<TypedExpr> {
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
        syntax::call_of(self, &name, args)
    }
}

impl Binder for ExprBinder<'_> {
    type Value = TypedExpr;

    fn context(&self) -> &Arc<EvalContext> {
        &self.context.eval
    }

    fn mode(&self) -> Mode {
        self.context.mode
    }

    fn known(&self, expr: &ast::Expr) -> Result<Option<TypedExpr>> {
        self.context.eval.interrupt.check()?;
        Ok(self.computed_value(expr))
    }

    fn name(&self, path: &[ast::Ident]) -> Result<TypedExpr> {
        self.named(path)
    }

    fn constant(&self, arg: Arg) -> Result<TypedExpr> {
        TypedExpr::literal(arg)
    }

    fn call(&self, name: &str, args: Vec<TypedExpr>) -> Result<TypedExpr> {
        self.resolved(name, args)
    }

    fn cast(&self, value: TypedExpr, target: CastTarget) -> Result<TypedExpr> {
        self.cast_value(value, target)
    }

    fn cast_target(&self, to: &ast::DataType) -> Result<CastTarget> {
        match to {
            ast::DataType::Real if self.context.options.real_as_float => Ok(CastTarget::Float),
            _ => cast_target(to, self.context.eval.collation),
        }
    }

    fn function(&self, function: &ast::Function) -> Result<TypedExpr> {
        self.function_call(function)
    }

    fn compared(&self, expr: &ast::Expr) -> Result<TypedExpr> {
        self.exact(expr)
    }

    fn check_rows(&self, row: &ast::Expr, list: &[ast::Expr]) -> Result<()> {
        self.check_quotients(std::iter::once(row).chain(list))
    }

    fn branch(&self) -> Self {
        Self { constants: Constants::WhenReached, ..*self }
    }

    fn other(&self, expr: &ast::Expr) -> Result<TypedExpr> {
        match expr {
            ast::Expr::Subquery(query) => self.scalar_subquery(query),
            ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => {
                Ok(number(self.condition(expr, false)?))
            }
            other => Err(Error::unsupported(format_args!("{other}"))),
        }
    }
}

/// Whether both are texts, whatever their collations are.
fn are_texts(left: &TypedExpr, right: &TypedExpr) -> bool {
    let is_text = |it: &TypedExpr| it.ty.is_string() && it.ty.wire != WireType::Json;
    is_text(left) && is_text(right)
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
