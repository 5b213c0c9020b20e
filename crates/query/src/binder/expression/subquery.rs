//! Binds subqueries as values and conditions.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, Subquery as DfSubquery, lit,
};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{self as functions, EqualityKey, names};
use pelorus_types::ColumnType;
use sqlparser::ast;

use super::{ExprBinder, TypedExpr, are_texts, correlated, mariadb_rules};
use crate::binder::aggregate;
use crate::binder::bound_query::BoundQuery;
use crate::datafusion_adapter::form::maybe_missing;
use crate::datafusion_adapter::udf::from_datafusion;

impl ExprBinder<'_> {
    pub(super) fn subquery(&self, query: &ast::Query) -> Result<&BoundQuery> {
        self.subqueries
            .get(&query.to_string())
            .ok_or_else(|| Error::unsupported(format_args!("subquery in {}", self.clause)))
    }

    pub(super) fn scalar_subquery(&self, query: &ast::Query) -> Result<TypedExpr> {
        let bound = self.subquery(query)?;
        let [column] = &bound.columns[..] else {
            return Err(Error::new(Code::OperandColumns, "Operand should contain 1 column(s)"));
        };
        if correlated::is_correlated(&bound.plan) {
            let may_be = self.filters() || matches!(self.clause, "field list" | "order clause");
            if !may_be || !correlated::is_one_value(&bound.plan) {
                return Err(self.correlated("that is not one aggregate of the rows that fit"));
            }
        }
        let mut rows = plan_of(bound)?;
        if rows.outer_ref_columns.is_empty() && !rows.subquery.schema().field(0).is_nullable() {
            let (table, field) = rows.subquery.schema().qualified_field(0);
            let found = Expr::Column(Column::new(table.cloned(), field.name()));
            let value = maybe_missing(found, column.value.ty, &self.context.eval);
            let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(rows.subquery))
                .project([value.alias("found")])
                .and_then(LogicalPlanBuilder::build)
                .map_err(from_datafusion)?;
            rows = subquery_of(plan);
        }
        let value = TypedExpr::computed(Expr::ScalarSubquery(rows), column.value.ty.nullable());
        let value = value.into_value();
        Ok(value.with_quotient(column.value.is_quotient()))
    }

    /// Whether the clause takes rows or groups out.
    fn filters(&self) -> bool {
        matches!(self.clause, "where clause" | "having clause")
    }

    pub(super) fn correlated(&self, what: &str) -> Error {
        Error::unsupported(format_args!(
            "a subquery in {} over native tables or several servers, which names a column outside of \
             it, {what}; write it as a join",
            self.clause
        ))
    }

    /// EXISTS of a query that depends on the row.
    pub(super) fn correlated_exists(&self, bound: &BoundQuery, negated: bool) -> Result<Expr> {
        let rows = correlated::existing(&bound.plan);
        if !correlated::is_correlated(rows) {
            return self.exists(rows, negated);
        }
        if !self.filters() || !correlated::pulls_up(rows) {
            return Err(self.correlated("elsewhere than in joins and WHERE of its own"));
        }
        Ok(Expr::Exists(Exists { subquery: subquery_of(rows.clone()), negated }))
    }

    /// EXISTS of a query that does not depend on the row: a count, which is allowed anywhere.
    pub(super) fn exists(&self, rows: &LogicalPlan, negated: bool) -> Result<Expr> {
        let (count, _) = aggregate::bind("COUNT", false, Vec::new(), &self.context.eval)?;
        let nothing: [Expr; 0] = [];
        let plan = LogicalPlanBuilder::from(rows.clone())
            .limit(0, Some(1))
            .and_then(|plan| plan.aggregate(nothing, [count.alias("found")]))
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        let count = Expr::ScalarSubquery(subquery_of(plan));
        Ok(if negated { count.eq(lit(0_i64)) } else { count.gt(lit(0_i64)) })
    }

    pub(super) fn in_subquery(
        &self,
        expr: &ast::Expr,
        query: &ast::Query,
        negated: bool,
    ) -> Result<Expr> {
        let bound = self.subquery(query)?;
        let left = self.value(expr)?;
        mariadb_rules::check_digits(&left)?;
        let [column] = &bound.columns[..] else {
            return Err(Error::new(Code::OperandColumns, "Operand should contain 1 column(s)"));
        };
        let is_correlated = correlated::is_correlated(&bound.plan);
        if is_correlated && (negated || !self.filters() || !correlated::pulls_up(&bound.plan)) {
            return Err(
                self.correlated("with NOT IN, or elsewhere than in joins and WHERE of its own")
            );
        }
        let right = column.value.clone();
        if left.ty.is_integer() && right.ty.is_integer() && left.ty.arrow() != right.ty.arrow() {
            // Signed and unsigned ones meet as decimals.
            let common =
                |it: TypedExpr| it.converted(ColumnType::decimal(20, 0), &self.context.eval).expr;
            let found = only(bound, common(right))?;
            return self.among(common(left), found, negated);
        }
        if are_texts(&left, &right) {
            if left.ty.collation != right.ty.collation {
                return Err(Error::unsupported(
                    "IN (subquery) over texts of different collations; COLLATE on both sides gives \
                     them one",
                ));
            }
            let found = only(bound, self.own_key(right))?;
            return self.among(self.own_key(left), found, negated);
        }
        let comparable = left.ty.arrow() == right.ty.arrow()
            && (left.ty.is_integer() && right.ty.is_integer()
                || left.ty.is_decimal() && right.ty.is_decimal()
                || left.ty.is_date() && right.ty.is_date());
        if comparable {
            return self.among(left.expr, plan_of(bound)?, negated);
        }
        self.check_equality(&left, &right)?;
        match left.equality_keys(&right, &self.context.eval)? {
            Some((key, keys)) if !loses_values(key, [&left, &right], negated) => {
                let [left, right] = keys;
                self.among(left, only(bound, right)?, negated)
            }
            _ => Err(Error::unsupported("IN (subquery) over values of different types")),
        }
    }

    /// Whether a value is among those of a subquery's column, as a condition.
    fn among(&self, value: Expr, subquery: DfSubquery, negated: bool) -> Result<Expr> {
        let is_constant = value.column_refs().is_empty();
        if is_constant && value.contains_outer() {
            return Err(self.correlated("as the value that IN or NOT IN looks for"));
        }
        if !negated || !is_constant {
            let expr = Box::new(value);
            return Ok(Expr::InSubquery(InSubquery { expr, subquery, negated }));
        }
        // DataFusion joins by columns; without one it would lose the NULLs. As a condition unknown is
        // false: no row of the subquery may be equal, and none may leave that open.
        let (table, field) = subquery.subquery.schema().qualified_field(0);
        let found = Expr::Column(Column::new(table.cloned(), field.name()));
        let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(subquery.subquery))
            .filter(found.eq(value).is_not_false())
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        self.exists(&plan, true)
    }

    /// Refuses what `left = right` refuses: its keys do not look at that. Nothing is computed, so
    /// that constants leave no warnings here.
    fn check_equality(&self, left: &TypedExpr, right: &TypedExpr) -> Result<()> {
        let described = [left.arg(), right.arg()];
        if self.is_mariadb() {
            names::check_mariadb("=", &described)?;
        }
        functions::resolve("=", &described, &self.context.eval).map(drop)
    }
}

/// Whether values may have no key that are not NULL, for which they would be taken: integers beyond
/// BIGINT, and texts that are no dates. These equal nothing, so that it shows in `NOT IN` alone.
fn loses_values(key: EqualityKey, sides: [&TypedExpr; 2], negated: bool) -> bool {
    match key {
        EqualityKey::Integer => true,
        EqualityKey::Date | EqualityKey::Day => negated && sides.iter().any(|it| it.ty.is_string()),
        EqualityKey::Decimal { .. }
        | EqualityKey::Real
        | EqualityKey::RealOfTexts
        | EqualityKey::Fixed(_)
        | EqualityKey::Time => false,
    }
}

/// A subquery that gives one value, made of its column, instead of that.
fn only(bound: &BoundQuery, value: Expr) -> Result<DfSubquery> {
    let plan = LogicalPlanBuilder::from(bound.plan.clone())
        .project([value.alias("found")])
        .and_then(LogicalPlanBuilder::build)
        .map_err(from_datafusion)?;
    Ok(subquery_of(plan))
}

/// A subquery of one column. What it is ordered or grouped by stays within it.
fn plan_of(bound: &BoundQuery) -> Result<DfSubquery> {
    match &bound.columns[..] {
        [column] if bound.plan.schema().fields().len() > 1 => {
            only(bound, column.value.expr.clone())
        }
        _ => Ok(subquery_of(bound.plan.clone())),
    }
}

fn subquery_of(plan: LogicalPlan) -> DfSubquery {
    DfSubquery {
        outer_ref_columns: correlated::references(&plan),
        subquery: Arc::new(plan),
        spans: datafusion::common::Spans::new(),
    }
}
