//! Operators that return the rows of one input unchanged: they count memory, or limit executions.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};

use crate::datafusion_adapter::plan_nodes::{only_child, recompute};
use crate::datafusion_adapter::udf::DfResult;

/// A physical plan.
pub(crate) type Plan = Arc<dyn ExecutionPlan>;

/// The behaviour of such an operator.
pub(crate) trait PassThrough: Default + fmt::Debug + Send + Sync + 'static {
    /// The operator's name in EXPLAIN.
    const NAME: &'static str;

    /// The rows of a partition of the input.
    ///
    /// # Errors
    /// Those of the input.
    fn rows(
        &self,
        input: &Plan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream>;
}

/// The operator over its input.
#[derive(Debug)]
pub(crate) struct PassThroughExec<T> {
    input: Plan,
    what: T,
}

impl<T: PassThrough> PassThroughExec<T> {
    /// The operator over a plan.
    pub(crate) fn over(input: Plan) -> Plan {
        Arc::new(Self { input, what: T::default() })
    }
}

impl<T: PassThrough> DisplayAs for PassThroughExec<T> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }
}

impl<T: PassThrough> ExecutionPlan for PassThroughExec<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
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
        Ok(Self::over(only_child(children, "rows of one plan are passed on")?))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> DfResult<Plan> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        self.what.rows(&self.input, partition, context)
    }
}
