//! DataFusion's filter pushdown, except below groups that exist without rows.
//!
//! An aggregate without GROUP BY has one row over no rows, as the totals of WITH ROLLUP have. A
//! condition on that row which names no column (a constant of a derived table, an EXISTS) is not
//! one on the rows below: DataFusion 55 pushes it below the aggregate, and the row stays.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};

use crate::datafusion_adapter::udf::DfResult;

/// DataFusion's rules with this one in its place.
pub(crate) fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    for rule in &mut rules {
        if rule.name() == PushDownFilter::new().name() {
            *rule = Arc::new(Pushed(PushDownFilter::new()));
        }
    }
    rules
}

#[derive(Debug)]
struct Pushed(PushDownFilter);

impl OptimizerRule for Pushed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> DfResult<Transformed<LogicalPlan>> {
        if is_over_lasting_groups(&plan) {
            return Ok(Transformed::no(plan));
        }
        self.0.rewrite(plan, config)
    }
}

/// Whether a plan is conditions, which the rule takes together, on groups that need no rows.
fn is_over_lasting_groups(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else { return false };
    match filter.input.as_ref() {
        LogicalPlan::Aggregate(Aggregate { group_expr, .. }) => {
            group_expr.is_empty() || group_expr.iter().any(|it| matches!(it, Expr::GroupingSet(_)))
        }
        input => is_over_lasting_groups(input),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_has_its_place() {
        let names = |rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>| -> Vec<String> {
            rules.iter().map(|rule| rule.name().to_owned()).collect()
        };
        assert_eq!(names(rules()), names(Optimizer::new().rules));
        let ours = rules().into_iter().filter(|rule| format!("{rule:?}").starts_with("Pushed("));
        assert_eq!(ours.count(), 1);
    }
}
