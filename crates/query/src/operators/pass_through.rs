//! Operators that return the rows of one input unchanged: they count memory, or limit executions.

use std::fmt;
use std::sync::Arc;

use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use crate::datafusion_adapter::plan_nodes::{only_child, without_expressions};
use crate::datafusion_adapter::udf::DfResult;

/// A physical plan.
pub(crate) type Plan = Arc<dyn ExecutionPlan>;

/// The behaviour of such an operator.
pub(crate) trait PassThrough: fmt::Debug + Send + Sync + 'static {
    /// The operator's name in EXPLAIN.
    const NAME: &'static str;

    /// The same behaviour over another input.
    fn renewed(&self) -> Self;

    /// More for EXPLAIN than the name.
    fn details(&self) -> String {
        String::new()
    }

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
    pub(crate) fn over(input: Plan, what: T) -> Plan {
        Arc::new(Self { input, what })
    }
}

impl<T: PassThrough> DisplayAs for PassThroughExec<T> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", T::NAME, self.what.details())
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

    without_expressions!();

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        _: ReplaceChildrenOptions,
    ) -> DfResult<Plan> {
        let input = only_child(children, "rows of one plan are passed on")?;
        Ok(Self::over(input, self.what.renewed()))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        self.what.rows(&self.input, partition, context)
    }
}
