//! Hides columns that are constant in a part of a plan only, which DataFusion takes for constant
//! everywhere.
//!
//! DataFusion omits sorts and merges of groups if a column is constant. It wrongly infers two kinds
//! of constants (version 55):
//!
//! - A constant of the nullable side of an outer join, which is NULL in unmatched rows.
//! - A constant of each input of a UNION ALL, different in each. The inputs are sorted by the other
//!   columns only, which is right, but a LIMIT then takes the first rows by these, whatever their
//!   input.
//!
//! This rule removes such constants from the plan's properties.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{JoinType, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};

use crate::datafusion_adapter::plan_nodes::{only_child, recompute, without_expressions};
use crate::datafusion_adapter::udf::DfResult;

type Plan = Arc<dyn ExecutionPlan>;

/// Hides constants that hold for a part of the rows only.
#[derive(Debug)]
pub(crate) struct OuterJoinConstants;

impl PhysicalOptimizerRule for OuterJoinConstants {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> DfResult<Plan> {
        plan.transform_up(hidden).data()
    }

    fn name(&self) -> &'static str {
        "OuterJoinConstants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn hidden(plan: Plan) -> DfResult<Transformed<Plan>> {
    let is_part = parts(&plan);
    let children: Vec<Plan> = plan.children().into_iter().cloned().collect();
    let mut is_new = false;
    let children = children.into_iter().zip(is_part).map(|(child, is_part)| {
        if !is_part || child.properties().equivalence_properties().constants().is_empty() {
            return child;
        }
        is_new = true;
        Arc::new(OuterJoinConstantsExec::new(child)) as Plan
    });
    let children: Vec<Plan> = children.collect();
    if !is_new {
        return Ok(Transformed::no(plan));
    }
    Ok(Transformed::yes(plan.replace_children(children, recompute())?))
}

/// Which children of a node give a part of its rows, of which constants do not hold for all; empty
/// where there is none.
fn parts(plan: &Plan) -> Vec<bool> {
    if plan.is::<UnionExec>() || plan.is::<InterleaveExec>() {
        return vec![true; plan.children().len()];
    }
    let join = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        join.join_type()
    } else {
        return Vec::new();
    };
    match join {
        JoinType::Left => vec![false, true],
        JoinType::Right => vec![true, false],
        JoinType::Full => vec![true, true],
        _ => Vec::new(),
    }
}

/// The same rows, without the property that a column is constant.
#[derive(Clone, Debug)]
struct OuterJoinConstantsExec {
    input: Plan,
    properties: Arc<PlanProperties>,
}

impl OuterJoinConstantsExec {
    fn new(input: Plan) -> Self {
        let known = input.properties().equivalence_properties();
        let orders = EquivalenceProperties::new_with_orderings(
            Arc::clone(known.schema()),
            known.oeq_class().iter().cloned(),
        );
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(orders);
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for OuterJoinConstantsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OuterJoinConstantsExec")
    }
}

impl ExecutionPlan for OuterJoinConstantsExec {
    fn name(&self) -> &'static str {
        "OuterJoinConstantsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    without_expressions!();

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        _: ReplaceChildrenOptions,
    ) -> DfResult<Plan> {
        Ok(Arc::new(Self::new(only_child(children, "constants are hidden of one input")?)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> DfResult<Arc<Statistics>> {
        let known = inputs.first().cloned();
        Ok(known.unwrap_or_else(|| Arc::new(Statistics::new_unknown(&self.schema()))))
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> DfResult<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> DfResult<FilterPushdownPropagation<Plan>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::physical_expr::expressions::lit;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::projection::ProjectionExec;

    use super::*;

    fn constant() -> Plan {
        let rows = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
        Arc::new(ProjectionExec::try_new([(lit(1_i64), "k".to_owned())], rows).unwrap())
    }

    /// Whose constants are hidden, of the inputs of a plan.
    fn hidden_of(plan: Plan) -> Vec<bool> {
        let plan = OuterJoinConstants.optimize(plan, &ConfigOptions::default()).unwrap();
        plan.children().into_iter().map(|it| it.is::<OuterJoinConstantsExec>()).collect()
    }

    #[test]
    fn constants_of_inputs_that_are_filled_with_null_or_united_are_hidden() {
        let join = |kind| -> Plan {
            let join = NestedLoopJoinExec::try_new(constant(), constant(), None, &kind, None);
            Arc::new(join.unwrap())
        };
        assert_eq!(hidden_of(join(JoinType::Left)), [false, true]);
        assert_eq!(hidden_of(join(JoinType::Right)), [true, false]);
        assert_eq!(hidden_of(join(JoinType::Full)), [true, true]);
        assert_eq!(hidden_of(join(JoinType::Inner)), [false, false]);
        assert_eq!(hidden_of(UnionExec::try_new(vec![constant(), constant()]).unwrap()), [true; 2]);
    }
}
