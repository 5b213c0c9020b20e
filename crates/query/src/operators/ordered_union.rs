//! An ordered UNION ALL: its inputs run one after another if the order of their rows is observable.
//!
//! By default the inputs run in parallel, and their rows arrive in any order. The order is
//! observable if the rows are written, where the last row with a key wins, and if a LIMIT without
//! ORDER BY takes the first rows. In these cases MySQL starts an input after the previous one has
//! returned all its rows, and so does this operator.

use std::fmt;
use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::datafusion_adapter::plan_nodes::{recompute, without_expressions};

type DfResult<T> = Result<T, DataFusionError>;
type Plan = Arc<dyn ExecutionPlan>;

/// Puts arms in order under LIMITs, and where all rows of a query are to come in order.
#[derive(Debug)]
pub(crate) struct Arms {
    pub(crate) is_ordered: bool,
}

impl PhysicalOptimizerRule for Arms {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> DfResult<Plan> {
        let plan = plan.transform_up(limited).data()?;
        let ordered = if self.is_ordered { in_order(&plan)? } else { None };
        Ok(ordered.unwrap_or(plan))
    }

    fn name(&self) -> &'static str {
        "Arms"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Orders the unions of which a LIMIT takes the first rows.
fn limited(plan: Plan) -> DfResult<Transformed<Plan>> {
    let gathered = plan.downcast_ref::<CoalescePartitionsExec>();
    let Some((gathered, fetch)) = gathered.and_then(|it| Some((it, it.fetch()?))) else {
        return Ok(Transformed::no(plan));
    };
    Ok(match in_order(gathered.input())? {
        Some(ordered) => Transformed::yes(Arc::new(LocalLimitExec::new(ordered, fetch))),
        None => Transformed::no(plan),
    })
}

/// A plan in one stream with the rows of its arms one after another; `None` if it is no UNION ALL.
fn in_order(plan: &Plan) -> DfResult<Option<Plan>> {
    if let Some(union) = plan.downcast_ref::<UnionExec>() {
        let arms = union.inputs().iter().map(in_one).collect::<DfResult<Vec<_>>>()?;
        return Ok(Some(Arc::new(OrderedUnionExec::new(arms, plan))));
    }
    if let Some(spread) = plan.downcast_ref::<RepartitionExec>() {
        return match spread.partitioning() {
            Partitioning::RoundRobinBatch(_) => in_order(spread.input()),
            _ => Ok(None),
        };
    }
    let is_row_by_row =
        plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || plan.is::<LocalLimitExec>();
    let input = plan.children().first().map(|&child| Arc::clone(child));
    let Some(input) = input.filter(|_| is_row_by_row) else { return Ok(None) };
    let Some(input) = in_order(&input)? else { return Ok(None) };
    Arc::clone(plan).replace_children(vec![input], recompute()).map(Some)
}

/// An arm in one stream. Its own streams run side by side: some wait for each other.
fn in_one(arm: &Plan) -> DfResult<Plan> {
    if let Some(ordered) = in_order(arm)? {
        return Ok(ordered);
    }
    Ok(match arm.properties().partitioning.partition_count() {
        1 => Arc::clone(arm),
        _ => Arc::new(CoalescePartitionsExec::new(Arc::clone(arm))),
    })
}

/// The rows of several plans, of one stream each, one after another.
#[derive(Clone, Debug)]
struct OrderedUnionExec {
    arms: Vec<Plan>,
    properties: Arc<PlanProperties>,
}

impl OrderedUnionExec {
    /// For a plan that gives the rows of the arms in any order.
    fn new(arms: Vec<Plan>, like: &Plan) -> Self {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(like.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Self { arms, properties }
    }
}

impl DisplayAs for OrderedUnionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OrderedUnionExec")
    }
}

impl ExecutionPlan for OrderedUnionExec {
    fn name(&self) -> &'static str {
        "OrderedUnionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Plan> {
        self.arms.iter().collect()
    }

    without_expressions!();

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        _: ReplaceChildrenOptions,
    ) -> DfResult<Plan> {
        Ok(Arc::new(Self { arms: children, properties: Arc::clone(&self.properties) }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> DfResult<SendableRecordBatchStream> {
        let arms = stream::iter(self.arms.clone());
        let rows = arms.map(move |arm| arm.execute(0, Arc::clone(&context))).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
