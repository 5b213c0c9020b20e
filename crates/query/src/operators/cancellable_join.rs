//! Cancellable joins: a join over very many pairs of rows runs in a task that can be stopped and
//! that yields the thread.
//!
//! A join with a selective condition tries billions of pairs before it returns a batch, and does
//! not yield meanwhile: on the threads of sessions it would block the whole server, and `KILL`
//! could not stop it. Such a join therefore runs in a task of its own, and its condition checks
//! batch by batch whether the consumer still waits. Joins that return batches frequently yield
//! after some of them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec,
    NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use futures::Stream;
use pelorus_error::Error;

use super::pass_through::{PassThrough, PassThroughExec, Plan};
use crate::datafusion_adapter::plan_nodes::only_child;
use crate::datafusion_adapter::udf::into_datafusion;

type DfResult<T> = Result<T, DataFusionError>;

/// Whether the consumer of a query's rows is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The rows of the query; when they are dropped, its joins stop.
    pub(crate) fn with(self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        Box::pin(Awaited { rows, stop: self })
    }

    fn set(&self) {
        // Ordering: no other data depends on it.
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> DfResult<()> {
        // Ordering: as in `set`.
        if self.0.load(Ordering::Relaxed) {
            return Err(into_datafusion(Error::interrupted()));
        }
        Ok(())
    }
}

/// The rows of a query that a consumer awaits.
struct Awaited {
    rows: SendableRecordBatchStream,
    stop: Stop,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.stop.set();
    }
}

impl Stream for Awaited {
    type Item = DfResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rows.as_mut().poll_next(context)
    }
}

impl RecordBatchStream for Awaited {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

/// A plan whose joins stop and give way.
pub(crate) fn watched(plan: Plan, stop: &Stop) -> DfResult<Plan> {
    // Joins of one task that give way within each other, below each plan whose parent is still to come.
    let mut nested: Vec<usize> = Vec::new();
    plan.transform_up(|plan| {
        let children = nested.len().saturating_sub(plan.children().len());
        let below = nested.split_off(children).into_iter().max().unwrap_or(0);
        if let Some(join) = with_watch(&plan, stop)? {
            nested.push(0);
            return Ok(Transformed::yes(PassThroughExec::over(join, Spawned)));
        }
        let can_multiply = plan.is::<CrossJoinExec>()
            || plan.is::<NestedLoopJoinExec>()
            || plan.is::<HashJoinExec>()
            || plan.is::<SortMergeJoinExec>();
        if !can_multiply {
            nested.push(below);
            return Ok(Transformed::no(plan));
        }
        let join: Plan = Arc::new(CooperativeExec::new(plan));
        let is_deep = below >= MAX_NESTED;
        nested.push(if is_deep { 0 } else { below + 1 });
        let join: Plan = if is_deep { PassThroughExec::over(join, Spawned) } else { join };
        Ok(Transformed::yes(join))
    })
    .data()
}

/// Of 128 steps that a task has before it must yield, each join takes one before it polls its
/// input. If none is left when the lowest is reached, the task begins at the top again, for ever.
const MAX_NESTED: usize = 32;

/// A join whose condition is watched; `None` of anything else.
fn with_watch(plan: &Plan, stop: &Stop) -> DfResult<Option<Plan>> {
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let filter = Some(watched_filter(filter, stop));
        let join = NestedLoopJoinExecBuilder::from(join).with_filter(filter).build()?;
        return Ok(Some(Arc::new(join)));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let filter = Some(watched_filter(filter, stop));
        return HashJoinExecBuilder::from(join).with_filter(filter).build_exec().map(Some);
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let join = SortMergeJoinExec::try_new(
            Arc::clone(join.left()),
            Arc::clone(join.right()),
            join.on().to_vec(),
            Some(watched_filter(filter, stop)),
            join.join_type(),
            join.sort_options().to_vec(),
            join.null_equality(),
        )?;
        return Ok(Some(Arc::new(join)));
    }
    Ok(None)
}

fn watched_filter(filter: &JoinFilter, stop: &Stop) -> JoinFilter {
    let watched = CancellableCondition {
        inner: Arc::clone(filter.expression()),
        stop: stop.clone(),
        batches: Arc::default(),
    };
    let (columns, schema) = (filter.column_indices().to_vec(), Arc::clone(filter.schema()));
    JoinFilter::new(Arc::new(watched), columns, schema)
}

/// A condition of a join that checks for cancellation.
#[derive(Clone, Debug)]
struct CancellableCondition {
    inner: Arc<dyn PhysicalExpr>,
    stop: Stop,
    /// How many batches it was computed for.
    batches: Arc<AtomicUsize>,
}

impl CancellableCondition {
    /// Whether the others are to have the thread now: seldom enough to cost nothing, and not at all
    /// in small joins.
    fn gives_way(&self) -> bool {
        const EACH: usize = 16;
        // Ordering: only a count.
        self.batches.fetch_add(1, Ordering::Relaxed) % EACH == EACH - 1
    }
}

impl PartialEq for CancellableCondition {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for CancellableCondition {}

impl Hash for CancellableCondition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for CancellableCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl PhysicalExpr for CancellableCondition {
    fn data_type(&self, schema: &Schema) -> DfResult<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> DfResult<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
        self.stop.check()?;
        if !self.gives_way() {
            return self.inner.evaluate(batch);
        }
        // Another thread takes over what this one serves, and keeps it until the join has a batch.
        pelorus_env::blocking(|| {
            std::thread::yield_now();
            self.inner.evaluate(batch)
        })
    }

    fn return_field(&self, schema: &Schema) -> DfResult<FieldRef> {
        self.inner.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> DfResult<Arc<dyn PhysicalExpr>> {
        let inner = only_child(children, "a join has one condition")?;
        Ok(Arc::new(Self { inner, ..(*self).clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

/// A join in tasks of its own, so that the consumer of its rows can stop waiting.
#[derive(Debug)]
struct Spawned;

impl PassThrough for Spawned {
    const NAME: &'static str = "SpawnedExec";

    fn renewed(&self) -> Self {
        Self
    }

    fn rows(
        &self,
        input: &Plan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        Ok(spawn_buffered(input.execute(partition, context)?, 1))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, RecordBatchOptions};
    use datafusion::common::JoinType;
    use datafusion::physical_expr::expressions::lit;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use futures::stream;
    use tokio::runtime::Builder;

    use super::*;
    use crate::datafusion_adapter::udf::from_datafusion;

    fn row() -> RecordBatch {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap()
    }

    fn never(stop: &Stop) -> JoinFilter {
        let filter = JoinFilter::new(lit(false), Vec::new(), Arc::new(Schema::empty()));
        watched_filter(&filter, stop)
    }

    fn waits_for(stop: &Stop) -> SendableRecordBatchStream {
        let rows = stream::pending::<DfResult<RecordBatch>>();
        let schema = Arc::new(Schema::empty());
        stop.clone().with(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    #[test]
    fn a_condition_has_its_value_while_somebody_waits() {
        let stop = Stop::default();
        let (filter, rows) = (never(&stop), waits_for(&stop));
        for _ in 0..40 {
            let value = filter.expression().evaluate(&row()).unwrap().into_array(1).unwrap();
            assert!(!value.as_boolean().value(0));
        }
        drop(rows);
        let error = filter.expression().evaluate(&row()).unwrap_err();
        assert_eq!(from_datafusion(error).errno(), 1317);
    }

    #[test]
    fn others_run_beside_a_join_that_never_gives_a_row() {
        let stop = Stop::default();
        let (filter, rows) = (never(&stop), waits_for(&stop));
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let join = runtime.spawn(async move {
            (0..50_000_000).find_map(|_| filter.expression().evaluate(&row()).err())
        });
        runtime.spawn(async move { drop(rows) });
        let error = runtime.block_on(join).unwrap().unwrap();
        assert_eq!(from_datafusion(error).errno(), 1317);
    }

    #[test]
    fn joins_with_conditions_run_apart_and_others_give_way() {
        let stop = Stop::default();
        let input = || -> Plan { Arc::new(EmptyExec::new(Arc::new(Schema::empty()))) };
        let join = |filter| -> Plan {
            let kind = &JoinType::Inner;
            Arc::new(NestedLoopJoinExec::try_new(input(), input(), filter, kind, None).unwrap())
        };
        let filter = JoinFilter::new(lit(false), Vec::new(), Arc::new(Schema::empty()));
        let apart = watched(join(Some(filter)), &stop).unwrap();
        assert!(apart.is::<PassThroughExec<Spawned>>());
        let inner = apart.children()[0].downcast_ref::<NestedLoopJoinExec>().unwrap();
        assert!(inner.filter().unwrap().expression().is::<CancellableCondition>());
        assert!(watched(join(None), &stop).unwrap().is::<CooperativeExec>());
        assert!(watched(input(), &stop).unwrap().is::<EmptyExec>());
    }
}
