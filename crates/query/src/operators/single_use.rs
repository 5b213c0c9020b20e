//! Inputs that are executed only once.
//!
//! DataFusion's nested loop join executes its left input again if that does not fit into memory,
//! and other operators can be executed once (a RepartitionExec panics). A second execution is
//! refused here with an out-of-memory error, after which the statement is tried again with a plan
//! for little memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::NestedLoopJoinExec;

use super::pass_through::{PassThrough, PassThroughExec, Plan};
use crate::datafusion_adapter::udf::DfResult;

/// Lets nested loop joins execute their left input once.
#[derive(Debug)]
pub(crate) struct SingleUse;

impl PhysicalOptimizerRule for SingleUse {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> DfResult<Plan> {
        plan.transform_up(guarded).data()
    }

    fn name(&self) -> &'static str {
        "SingleUse"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn guarded(plan: Plan) -> DfResult<Transformed<Plan>> {
    let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() else {
        return Ok(Transformed::no(plan));
    };
    let left = PassThroughExec::over(Arc::clone(join.left()), Once::default());
    let children = vec![left, Arc::clone(join.right())];
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    Ok(Transformed::yes(plan.replace_children(children, keep)?))
}

/// Rows of one partition that are polled once.
#[derive(Debug, Default)]
struct Once(AtomicBool);

impl PassThrough for Once {
    const NAME: &'static str = "SingleUseExec";

    fn renewed(&self) -> Self {
        Self::default()
    }

    fn rows(
        &self,
        input: &Plan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        if self.0.swap(true, Ordering::Relaxed) {
            let text = "the left rows of a nested loop join".to_owned();
            return Err(DataFusionError::ResourcesExhausted(text));
        }
        input.execute(partition, context)
    }
}
