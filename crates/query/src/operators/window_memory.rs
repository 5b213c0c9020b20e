//! What window functions hold, counted as memory of the query.
//!
//! DataFusion's operator for windows that reach to the end of a partition keeps all rows of its
//! input, twice while it puts them together, and counts none of them.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use futures::StreamExt as _;

use crate::datafusion_adapter::plan_nodes::{only_child, recompute};
use crate::datafusion_adapter::udf::DfResult;

type Plan = Arc<dyn ExecutionPlan>;

/// Counts the rows of windows.
#[derive(Debug)]
pub(crate) struct Held;

impl PhysicalOptimizerRule for Held {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> DfResult<Plan> {
        plan.transform_up(counted).data()
    }

    fn name(&self) -> &'static str {
        "Held"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn counted(plan: Plan) -> DfResult<Transformed<Plan>> {
    let input = plan.downcast_ref::<WindowAggExec>().map(|window| Arc::clone(window.input()));
    let Some(input) = input else { return Ok(Transformed::no(plan)) };
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    let input: Plan = Arc::new(HeldExec(input));
    Ok(Transformed::yes(plan.replace_children(vec![input], keep)?))
}

/// Rows that are kept until all have come.
#[derive(Clone, Debug)]
struct HeldExec(Plan);

impl DisplayAs for HeldExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeldExec")
    }
}

impl ExecutionPlan for HeldExec {
    fn name(&self) -> &'static str {
        "HeldExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.0]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        _: ReplaceChildrenOptions,
    ) -> DfResult<Plan> {
        Ok(Arc::new(Self(only_child(children, "rows are held of one plan")?)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> DfResult<Plan> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        /// The rows, and all of them in one batch.
        const COPIES: usize = 2;
        let memory = MemoryConsumer::new("Window").register(context.memory_pool());
        let mut counter = RecordBatchMemoryCounter::new();
        let rows = self.0.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            memory.try_grow(counter.count_batch(&batch).saturating_mul(COPIES))?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
