//! ORDER BY and LIMIT of a query or a block.

use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use pelorus_error::{Code, Error, Result};
use sqlparser::ast::{self, LimitClause, OrderByExpr, OrderByKind};

use crate::datafusion_adapter::plan_nodes;
use crate::datafusion_adapter::row_key::few_terms;
use crate::datafusion_adapter::udf::from_datafusion;
use pelorus_expression::is_placeholder;

/// LIMIT with its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Rows left out first.
    pub(crate) skip: usize,
    /// Rows at most; `None` for more than there ever are.
    pub(crate) fetch: Option<usize>,
}

impl Limit {
    /// More rows than there ever are. Planners add such numbers and take them as signed ones,
    /// which must not overflow.
    const ENDLESS: u64 = 1 << 60;

    /// `LIMIT skip, fetch`. Statements without an end (`LIMIT 5, 18446744073709551615`) have none.
    fn of(skip: u64, fetch: u64) -> Self {
        if skip >= Self::ENDLESS {
            return Self { skip: 0, fetch: Some(0) };
        }
        let rows = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let fetch = (fetch < Self::ENDLESS).then(|| rows(fetch));
        Self { skip: rows(skip), fetch }
    }

    /// The rows that the limit looks at, from the first one; `None` for all.
    pub(crate) fn reach(self) -> Option<usize> {
        self.fetch.map(|fetch| self.skip.saturating_add(fetch))
    }
}

/// ORDER BY and LIMIT of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockOrder<'a> {
    /// The terms.
    pub(crate) by: &'a [OrderByExpr],
    /// How many rows.
    pub(crate) limit: Option<Limit>,
}

/// Adds a sort and a limit to a plan.
pub(crate) fn ordered(
    plan: LogicalPlan,
    keys: Vec<SortExpr>,
    limit: Option<Limit>,
) -> Result<LogicalPlan> {
    let plan = match keys.is_empty() {
        true => plan,
        false => plan_nodes::sort(plan, few_terms(keys))?,
    };
    let Some(limit) = limit else { return Ok(plan) };
    let limited = LogicalPlanBuilder::from(plan).limit(limit.skip, limit.fetch);
    limited.and_then(LogicalPlanBuilder::build).map_err(from_datafusion)
}

/// One term of ORDER BY over a key. NULL is MySQL's smallest value.
pub(crate) fn sort_term(key: Expr, term: &OrderByExpr) -> Result<SortExpr> {
    if term.options.nulls_first.is_some() || term.with_fill.is_some() {
        return Err(Error::unsupported(term));
    }
    let ascending = is_ascending(term)?;
    Ok(SortExpr::new(key, ascending, ascending))
}

/// Whether a term of ORDER BY goes up.
pub(crate) fn is_ascending(term: &OrderByExpr) -> Result<bool> {
    match &term.options.sort {
        None | Some(ast::OrderBySort::Asc) => Ok(true),
        Some(ast::OrderBySort::Desc) => Ok(false),
        Some(_) => Err(Error::unsupported(term)),
    }
}

/// The terms of ORDER BY; empty without one.
pub(crate) fn order_of(query: &ast::Query) -> Result<&[OrderByExpr]> {
    match &query.order_by {
        None => Ok(&[]),
        Some(order) => match &order.kind {
            OrderByKind::Expressions(terms) if order.interpolate.is_none() => Ok(terms),
            _ => Err(Error::unsupported(order)),
        },
    }
}

/// LIMIT in numbers.
pub(crate) fn limit_of(query: &ast::Query) -> Result<Option<Limit>> {
    let count = |expr: &ast::Expr| -> Result<u64> {
        if is_placeholder(expr) {
            // A statement that is prepared has the same columns whatever the number will be.
            return Ok(1);
        }
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(digits, _) = &value.value
            && let Ok(count) = digits.parse::<u64>()
        {
            return Ok(count);
        }
        Err(Error::unsupported(format_args!("LIMIT {expr}")))
    };
    match &query.limit_clause {
        None => Ok(None),
        Some(LimitClause::LimitOffset { limit: Some(limit), offset, limit_by })
            if limit_by.is_empty() =>
        {
            let skip = offset.as_ref().map_or(Ok(0), |offset| count(&offset.value))?;
            Ok(Some(Limit::of(skip, count(limit)?)))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok(Some(Limit::of(count(offset)?, count(limit)?)))
        }
        Some(other) => Err(Error::unsupported(other)),
    }
}

/// The column that `ORDER BY 2` or `GROUP BY 2` means, from 0. `None` for a value that is not an
/// integer, which orders nothing.
///
/// # Errors
/// 1054 for a number out of range; the error names `clause`.
pub(crate) fn ordinal(value: &ast::Value, columns: usize, clause: &str) -> Result<Option<usize>> {
    let ast::Value::Number(digits, _) = value else { return Ok(None) };
    let Ok(position) = digits.parse::<usize>() else { return Ok(None) };
    if position == 0 || position > columns {
        return Err(Error::new(
            Code::UnknownColumn,
            format!("Unknown column '{digits}' in '{clause}'"),
        ));
    }
    Ok(Some(position - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_without_an_end_are_none() {
        let of = |skip, fetch| (Limit::of(skip, fetch).skip, Limit::of(skip, fetch).fetch);
        assert_eq!(of(1, u64::MAX), (1, None));
        assert_eq!(of(1, (1 << 60) - 1), (1, Some((1 << 60) - 1)));
        assert_eq!(of(u64::MAX, u64::MAX), (0, Some(0)));
        assert_eq!(of(7, 9), (7, Some(9)));
        assert_eq!(Limit::of(7, 9).reach(), Some(16));
        assert_eq!(Limit::of(7, u64::MAX).reach(), None);
    }
}
