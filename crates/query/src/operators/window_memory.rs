//! Counts the rows that window functions buffer as memory of the query.
//!
//! DataFusion's operator for windows that reach to the end of a partition buffers all rows of its
//! input, twice while it concatenates them, and counts none of them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use futures::StreamExt as _;

use super::pass_through::{PassThrough, PassThroughExec, Plan};
use crate::datafusion_adapter::udf::DfResult;

/// Counts the rows of windows.
#[derive(Debug)]
pub(crate) struct WindowMemory;

impl PhysicalOptimizerRule for WindowMemory {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> DfResult<Plan> {
        plan.transform_up(counted).data()
    }

    fn name(&self) -> &'static str {
        "WindowMemory"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn counted(plan: Plan) -> DfResult<Transformed<Plan>> {
    let input = plan.downcast_ref::<WindowAggExec>().map(|window| Arc::clone(window.input()));
    let Some(input) = input else { return Ok(Transformed::no(plan)) };
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    let input = PassThroughExec::over(input, CountedRows);
    Ok(Transformed::yes(plan.replace_children(vec![input], keep)?))
}

/// Rows that are held until all have come.
#[derive(Debug)]
struct CountedRows;

impl PassThrough for CountedRows {
    const NAME: &'static str = "WindowMemoryExec";

    fn renewed(&self) -> Self {
        Self
    }

    fn rows(
        &self,
        input: &Plan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        /// The rows, and all of them in one batch.
        const COPIES: usize = 2;
        let memory = MemoryConsumer::new("Window").register(context.memory_pool());
        let mut counter = RecordBatchMemoryCounter::new();
        let rows = input.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            memory.try_grow(counter.count_batch(&batch).saturating_mul(COPIES))?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows)))
    }
}
