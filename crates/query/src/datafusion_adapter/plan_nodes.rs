//! Helpers for our plan nodes, and constructors of DataFusion's plan nodes that take linear time.
//!
//! `LogicalPlanBuilder` searches the whole plan for every expression. The binder's column names are
//! unique, so that each name is looked up in a map.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::logical_expr::{
    Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Sort, SortExpr, Window,
};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use pelorus_error::{Error, Result};

use crate::datafusion_adapter::udf::{DfResult, from_datafusion, into_datafusion};

/// A reference to a column by a name that no other column of the plan has.
pub(crate) fn column_expr(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// The columns of a plan by their names.
struct Names(HashMap<String, Column>);

impl Names {
    fn of(plan: &LogicalPlan) -> Self {
        let columns = plan.schema().columns().into_iter();
        Self(columns.map(|column| (column.name.clone(), column)).collect())
    }

    /// The expression with the tables that its columns belong to in the plan.
    fn qualified(&self, expr: Expr) -> DfResult<Expr> {
        let qualify = |expr| {
            Ok(match &expr {
                Expr::Column(column) if column.relation.is_none() => {
                    match self.0.get(&column.name) {
                        Some(column) => Transformed::yes(Expr::Column(column.clone())),
                        None => Transformed::no(expr),
                    }
                }
                _ => Transformed::no(expr),
            })
        };
        expr.transform_up(qualify).data()
    }

    fn all(&self, exprs: impl IntoIterator<Item = Expr>) -> DfResult<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.qualified(expr)).collect()
    }

    fn has_all(&self, expr: &Expr) -> bool {
        expr.column_refs().iter().all(|column| self.0.contains_key(&column.name))
    }
}

/// A projection.
///
/// # Errors
/// A column that is not there is an internal error.
pub(crate) fn project(
    plan: LogicalPlan,
    exprs: impl IntoIterator<Item = Expr>,
) -> Result<LogicalPlan> {
    let exprs = Names::of(&plan).all(exprs);
    let projection = exprs.and_then(|exprs| Projection::try_new(exprs, Arc::new(plan)));
    projection.map(LogicalPlan::Projection).map_err(from_datafusion)
}

/// Groups with their aggregates.
///
/// # Errors
/// As for [`project`].
pub(crate) fn aggregate(
    plan: LogicalPlan,
    groups: Vec<Expr>,
    aggregates: Vec<Expr>,
) -> Result<LogicalPlan> {
    let names = Names::of(&plan);
    let both = names.all(groups).and_then(|groups| Ok((groups, names.all(aggregates)?)));
    let made = both.and_then(|(groups, all)| Aggregate::try_new(Arc::new(plan), groups, all));
    made.map(LogicalPlan::Aggregate).map_err(from_datafusion)
}

/// Window functions.
///
/// # Errors
/// As for [`project`].
pub(crate) fn window(plan: LogicalPlan, functions: Vec<Expr>) -> Result<LogicalPlan> {
    let functions = Names::of(&plan).all(functions);
    let window = functions.and_then(|functions| Window::try_new(functions, Arc::new(plan)));
    window.map(LogicalPlan::Window).map_err(from_datafusion)
}

/// Rows in order.
///
/// # Errors
/// As for [`project`].
pub(crate) fn sort(plan: LogicalPlan, keys: Vec<SortExpr>) -> Result<LogicalPlan> {
    let names = Names::of(&plan);
    if !keys.iter().all(|key| names.has_all(&key.expr)) {
        // A key below the projection.
        let sorted = LogicalPlanBuilder::from(plan).sort(keys);
        return sorted.and_then(LogicalPlanBuilder::build).map_err(from_datafusion);
    }
    let qualified = |key: SortExpr| Ok(SortExpr { expr: names.qualified(key.expr)?, ..key });
    let expr = keys.into_iter().map(qualified).collect::<DfResult<_>>().map_err(from_datafusion)?;
    Ok(LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch: None }))
}

/// The child of a node that has one; `what` says so in the error about another number of them.
///
/// # Errors
/// An internal error.
pub(crate) fn only_child<T>(children: Vec<T>, what: &str) -> DfResult<T> {
    match <[T; 1]>::try_from(children) {
        Ok([child]) => Ok(child),
        Err(_) => Err(into_datafusion(Error::internal(what))),
    }
}

/// Children are replaced by any others: the properties of the node are computed again.
pub(crate) fn recompute() -> ReplaceChildrenOptions {
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute)
}

/// The methods of an `ExecutionPlan` that has no expressions of its own: it has nothing to show of
/// them, and takes new children as `replace_children` does.
macro_rules! without_expressions {
    () => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_plan::PhysicalExpr>,
            ) -> $crate::datafusion_adapter::udf::DfResult<
                datafusion::common::tree_node::TreeNodeRecursion,
            >,
        ) -> $crate::datafusion_adapter::udf::DfResult<
            datafusion::common::tree_node::TreeNodeRecursion,
        > {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> $crate::datafusion_adapter::udf::DfResult<
            std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
        > {
            let options = $crate::datafusion_adapter::plan_nodes::recompute();
            self.replace_children(children, options)
        }
    };
}
pub(crate) use without_expressions;
