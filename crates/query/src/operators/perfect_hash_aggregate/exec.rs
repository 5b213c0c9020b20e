//! The operator of perfect-hash aggregation: a partial aggregation by a [`Table`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Statistics};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, EmptyRecordBatchStream, ExecutionPlan, PhysicalExpr,
    PlanProperties,
};
use futures::{StreamExt as _, stream};
use pelorus_error::Error;

use super::table::Table;
use crate::datafusion_adapter::plan_nodes::recompute;
use crate::datafusion_adapter::udf::{into_datafusion, is_shared};

type DfResult<T> = Result<T, DataFusionError>;

/// A partial aggregation by integers.
#[derive(Clone, Debug)]
pub(super) struct PerfectHashAggregateExec {
    aggregate: AggregateExec,
}

impl PerfectHashAggregateExec {
    pub(super) fn new(aggregate: AggregateExec) -> Self {
        Self { aggregate }
    }
}

impl DisplayAs for PerfectHashAggregateExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PerfectHashAggregateExec: ")?;
        self.aggregate.fmt_as(kind, f)
    }
}

impl ExecutionPlan for PerfectHashAggregateExec {
    fn name(&self) -> &'static str {
        "PerfectHashAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.aggregate.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        self.aggregate.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        let aggregate = Arc::new(self.aggregate.clone()).replace_children(children, options)?;
        Ok(match aggregate.downcast_ref::<AggregateExec>() {
            Some(aggregate) => Arc::new(Self::new(aggregate.clone())),
            None => aggregate,
        })
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        let work = Work::new(&self.aggregate, partition, context)?;
        let rows = stream::try_unfold(work, |mut work| async move {
            Ok(work.next().await?.map(|batch| (batch, work)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DfResult<Arc<Statistics>> {
        self.aggregate.statistics_from_inputs(inputs, args)
    }
}

/// The first of the aggregates that have the same partial states, for each.
fn leaders(aggregate: &AggregateExec) -> Vec<usize> {
    let (all, filters) = (aggregate.aggr_expr(), aggregate.filter_expr());
    let leader = |at: usize| {
        let same = |first: &usize| {
            filters[*first].is_none() && filters[at].is_none() && is_shared(&all[*first], &all[at])
        };
        (0..at).find(same).unwrap_or(at)
    };
    (0..all.len()).map(leader).collect()
}

/// One stream of it.
struct Work {
    aggregate: AggregateExec,
    context: Arc<TaskContext>,
    reservation: MemoryReservation,
    /// The input; after a fallback the output of DataFusion's operator for the rest.
    input: SendableRecordBatchStream,
    stage: Stage,
    table: Table,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    /// The first aggregate with the same partial states as each, which represents it.
    leaders: Vec<usize>,
    ready: VecDeque<RecordBatch>,
    /// Room for the groups of a batch.
    groups: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Aggregating,
    /// The rest of the input goes through DataFusion's operator.
    Passing,
    Ended,
}

impl Work {
    fn new(
        aggregate: &AggregateExec,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<Self> {
        let keys = aggregate.group_expr().group_schema(&aggregate.input_schema())?;
        let accumulators = aggregate.aggr_expr().iter().map(|it| it.create_groups_accumulator());
        let name = format!("PerfectHashAggregateExec[{partition}]");
        Ok(Self {
            reservation: MemoryConsumer::new(name).register(context.memory_pool()),
            input: aggregate.input().execute(partition, Arc::clone(&context))?,
            stage: Stage::Aggregating,
            table: Table::new(keys)?,
            accumulators: accumulators.collect::<DfResult<_>>()?,
            leaders: leaders(aggregate),
            ready: VecDeque::new(),
            groups: Vec::new(),
            aggregate: aggregate.clone(),
            context,
        })
    }

    async fn next(&mut self) -> DfResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.stage == Stage::Ended {
                return Ok(None);
            }
            let batch = self.input.next().await.transpose()?;
            match (batch, self.stage) {
                (Some(batch), Stage::Aggregating) => self.take(batch)?,
                (None, Stage::Aggregating) => {
                    self.stage = Stage::Ended;
                    self.give()?;
                }
                (Some(batch), _) => return Ok(Some(batch)),
                (None, _) => self.stage = Stage::Ended,
            }
        }
    }

    /// Aggregates a batch, or leaves it and the rest to DataFusion.
    fn take(&mut self, batch: RecordBatch) -> DfResult<()> {
        let keys = self.aggregate.group_expr().input_exprs();
        let keys = keys.iter().map(|key| key.evaluate(&batch)?.into_array(batch.num_rows()));
        let keys = keys.collect::<DfResult<Vec<_>>>()?;
        if !self.table.find(&keys, &mut self.groups)? {
            self.give()?;
            return self.pass(batch);
        }
        let (count, rows) = (self.table.groups(), batch.num_rows());
        let expressions = self.aggregate.aggr_expr().iter().zip(self.aggregate.filter_expr());
        let accumulators = self.accumulators.iter_mut().zip(&self.leaders).enumerate();
        for ((expression, filter), (at, (accumulator, leader))) in expressions.zip(accumulators) {
            if *leader != at {
                continue;
            }
            let values = expression.expressions();
            let values = values.iter().map(|it| it.evaluate(&batch)?.into_array(rows));
            let values = values.collect::<DfResult<Vec<ArrayRef>>>()?;
            let filter = filter.as_ref().map(|it| it.evaluate(&batch)?.into_array(rows));
            let filter: Option<ArrayRef> = filter.transpose()?;
            let filter: Option<&BooleanArray> = filter.as_ref().map(|it| it.as_boolean());
            accumulator.update_batch(&values, &self.groups, filter, count)?;
        }
        let memory = self.accumulators.iter().map(|it| it.size()).sum::<usize>();
        if self.reservation.try_resize(memory + self.table.memory()).is_err() {
            // The final aggregation puts together what comes in parts.
            self.give()?;
        }
        Ok(())
    }

    /// Gives the groups so far away.
    fn give(&mut self) -> DfResult<()> {
        if self.table.groups() > 0 {
            let mut columns = self.table.take()?;
            let mut states: Vec<Vec<ArrayRef>> = Vec::with_capacity(self.leaders.len());
            for (at, accumulator) in self.accumulators.iter_mut().enumerate() {
                // A leader comes before those for which it stands.
                states.push(match self.leaders[at] {
                    leader if leader < at => states[leader].clone(),
                    _ => accumulator.state(EmitTo::All)?,
                });
            }
            columns.extend(states.into_iter().flatten());
            let all = RecordBatch::try_new(self.aggregate.schema(), columns)?;
            let step = self.context.session_config().batch_size();
            for from in (0..all.num_rows()).step_by(step) {
                self.ready.push_back(all.slice(from, step.min(all.num_rows() - from)));
            }
        }
        self.reservation.free();
        Ok(())
    }

    /// Lets DataFusion aggregate a batch and what comes after it.
    fn pass(&mut self, batch: RecordBatch) -> DfResult<()> {
        let schema = self.aggregate.input_schema();
        let none = Box::pin(EmptyRecordBatchStream::new(Arc::clone(&schema)));
        let input = std::mem::replace(&mut self.input, none);
        let rest = stream::iter([Ok(batch)]).chain(input);
        let rest = Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), rest));
        let once = Arc::new(Once { schema: Arc::clone(&schema), rest: Mutex::new(Some(rest)) });
        let once = StreamingTableExec::try_new(schema, vec![once], None, [], false, None)?;
        let aggregate = Arc::new(self.aggregate.clone());
        let plan = aggregate.replace_children(vec![Arc::new(once)], recompute())?;
        self.input = plan.execute(0, Arc::clone(&self.context))?;
        self.stage = Stage::Passing;
        Ok(())
    }
}

/// A stream that is read once.
struct Once {
    schema: SchemaRef,
    rest: Mutex<Option<SendableRecordBatchStream>>,
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

impl PartitionStream for Once {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner).take();
        rest.unwrap_or_else(|| {
            let error = into_datafusion(Error::internal("rows are read a second time"));
            let schema = Arc::clone(&self.schema);
            Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter([Err(error)])))
        })
    }
}
