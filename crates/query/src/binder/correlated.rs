//! Correlated subqueries: subqueries that name columns of the enclosing block.
//!
//! DataFusion turns them into joins: EXISTS and IN become a semi join, a scalar subquery becomes an
//! outer join with the groups of one aggregate. Only the forms that DataFusion converts correctly
//! are passed to it: conditions above nothing but inner joins, with equality between columns if
//! there is an aggregate.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::JoinType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{
    BinaryExpr, Expr, FetchType, LogicalPlan, Operator, SkipType, utils,
};

use super::typed_expression::TypedExpr;

/// A column of the enclosing block, as a subquery names it; `None` for other expressions.
pub(crate) fn reference(value: &TypedExpr) -> Option<Expr> {
    let Expr::Column(column) = &value.expr else { return None };
    let field = Field::new(&column.name, value.ty.arrow(), true);
    Some(Expr::OuterReferenceColumn(Arc::new(field), column.clone()))
}

/// The columns of the enclosing block that a plan names, without its own subqueries.
pub(crate) fn references(plan: &LogicalPlan) -> Vec<Expr> {
    let mut found = Vec::new();
    // The ways through plans and expressions never fail by themselves.
    let _ = plan.apply(|node| {
        references_of(node, &mut found);
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

/// The columns of the enclosing block that one node of a plan names.
fn references_of(node: &LogicalPlan, found: &mut Vec<Expr>) {
    let _ = node.apply_expressions(|expr| {
        expr.apply(|expr| {
            if matches!(expr, Expr::OuterReferenceColumn(..)) && !found.contains(expr) {
                found.push(expr.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
    });
}

/// Whether a subquery depends on the row for which it is evaluated.
pub(crate) fn is_correlated(plan: &LogicalPlan) -> bool {
    !references(plan).is_empty()
}

/// The part of a plan that decides whether it has a row.
pub(crate) fn existing(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Projection(projection) => existing(&projection.input),
        LogicalPlan::Sort(sort) => existing(&sort.input),
        LogicalPlan::Aggregate(groups) if !groups.group_expr.is_empty() => existing(&groups.input),
        LogicalPlan::Limit(limit) if leaves_some(limit) => existing(&limit.input),
        _ => plan,
    }
}

fn leaves_some(limit: &datafusion::logical_expr::Limit) -> bool {
    matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)))
        && matches!(limit.get_fetch_type(), Ok(FetchType::Literal(most)) if most != Some(0))
}

/// Whether the conditions that name outer columns are above nothing but inner joins.
pub(crate) fn pulls_up(plan: &LogicalPlan) -> bool {
    if !is_correlated(plan) {
        return true;
    }
    let mut own = Vec::new();
    references_of(plan, &mut own);
    match plan {
        LogicalPlan::Filter(filter) => pulls_up(&filter.input),
        LogicalPlan::Projection(projection) => own.is_empty() && pulls_up(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => pulls_up(&alias.input),
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            own.is_empty() && pulls_up(&join.left) && pulls_up(&join.right)
        }
        _ => false,
    }
}

/// Whether a subquery is an aggregate of all rows that meet equalities with outer columns: it has
/// one value for each row.
pub(crate) fn is_one_value(plan: &LogicalPlan) -> bool {
    let mut own = Vec::new();
    references_of(plan, &mut own);
    match plan {
        LogicalPlan::Projection(projection) => own.is_empty() && is_one_value(&projection.input),
        LogicalPlan::Aggregate(aggregate) => {
            own.is_empty()
                && aggregate.group_expr.is_empty()
                && pulls_up(&aggregate.input)
                && compares_columns(&aggregate.input)
        }
        _ => false,
    }
}

/// Whether all conditions that name outer columns say that a column is equal to one of them.
fn compares_columns(plan: &LogicalPlan) -> bool {
    let mut all = true;
    let _ = plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            let conditions = utils::split_conjunction(&filter.predicate);
            all &= conditions.into_iter().all(|it| !it.contains_outer() || is_equality(it));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    all
}

fn is_equality(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
        return false;
    };
    matches!(
        (left.as_ref(), right.as_ref()),
        (Expr::Column(_), Expr::OuterReferenceColumn(..))
            | (Expr::OuterReferenceColumn(..), Expr::Column(_))
    )
}
