//! Materialised common table expressions: the plan is executed once, and every reference reads the
//! same rows.
//!
//! Every reference has a plan for the same rows, under a node with the same number. The first
//! consumer executes the plan to its end, in a task that runs on even if this consumer waits for
//! another or is gone; later consumers read the buffered batches. No condition and no LIMIT above a
//! node may be pushed below it, since another reference may need the rows. The optimizer therefore
//! does not see the plan below a node, which is optimised separately. Nodes whose number occurs
//! once are removed before: most common table expressions have one reference.
//!
//! Scalar subqueries of a materialised CTE are materialised as well. DataFusion collects them from
//! the top of each block, through the block's inputs, and executes them before the block: once for
//! each block that reads the plan, although all of them need the same rows of a server.
//!
//! The buffered rows belong to one physical plan, and such a plan is executed once: a statement
//! that is executed again computes new rows, and concurrent executions share nothing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::common::{DFSchemaRef, DataFusionError};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, LogicalPlanBuilder, Subquery, UserDefinedLogicalNode,
    UserDefinedLogicalNodeCore,
};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, execute_stream,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use parking_lot::Mutex;
use pelorus_error::Error;

use crate::datafusion_adapter::plan_nodes::{only_child, without_expressions};
use crate::datafusion_adapter::udf::{into_datafusion, next_id};

type DfResult<T> = Result<T, DataFusionError>;
type Plan = Arc<dyn ExecutionPlan>;

/// A plan whose rows are those of all plans that are materialised under its number.
pub(crate) fn materialize(id: u64, name: &str, input: LogicalPlan) -> LogicalPlan {
    MaterializedCte { id, name: name.to_owned(), input, is_shut: false }.into_plan()
}

/// The same plan that materialises only CTEs with several references, for the optimizer.
pub(crate) fn materialize_shared(plan: LogicalPlan) -> DfResult<LogicalPlan> {
    let mut readers: HashMap<u64, usize> = HashMap::new();
    plan.apply_with_subqueries(|node| {
        let Some(cte) = as_materialized(node) else { return Ok(TreeNodeRecursion::Continue) };
        let count = readers.entry(cte.id).or_default();
        *count += 1;
        // What the rows are made of is read once, however many read the rows.
        Ok(if *count > 1 { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue })
    })?;
    if readers.is_empty() {
        return Ok(plan);
    }
    // All references to the same rows have the same values.
    let mut inputs: HashMap<u64, LogicalPlan> = HashMap::new();
    plan.transform_up_with_subqueries(|node| {
        let Some(cte) = as_materialized(&node) else { return Ok(Transformed::no(node)) };
        if readers.get(&cte.id) == Some(&1) {
            return Ok(Transformed::yes(cte.input.clone()));
        }
        let input = match inputs.entry(cte.id) {
            Entry::Occupied(found) => found.get().clone(),
            Entry::Vacant(place) => {
                place.insert(with_materialized_values(&cte.name, cte.input.clone())?).clone()
            }
        };
        let (id, name) = (cte.id, cte.name.clone());
        Ok(Transformed::yes(MaterializedCte { id, name, input, is_shut: true }.into_plan()))
    })
    .data()
}

/// The same plan with materialised subquery values, at any depth. Those that depend on the row
/// become joins, which are executed in place.
fn with_materialized_values(name: &str, input: LogicalPlan) -> DfResult<LogicalPlan> {
    let kept_value = |subquery: Subquery| -> DfResult<Subquery> {
        // A second row is an error, however many there are.
        let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(subquery.subquery))
            .limit(0, Some(2))?
            .build()?;
        let name = format!("a value in {name}");
        let cte = MaterializedCte { id: next_id(), name, input, is_shut: true };
        Ok(Subquery { subquery: Arc::new(cte.into_plan()), ..subquery })
    };
    input
        .transform_up_with_subqueries(|node| {
            node.map_expressions(|expr| {
                expr.transform_up(|expr| match expr {
                    Expr::ScalarSubquery(subquery) if subquery.outer_ref_columns.is_empty() => {
                        Ok(Transformed::yes(Expr::ScalarSubquery(kept_value(subquery)?)))
                    }
                    other => Ok(Transformed::no(other)),
                })
            })
        })
        .data()
}

/// A plan that is optimised except for its hidden inputs, with these optimised too.
fn opened(plan: LogicalPlan, session: &dyn Session) -> DfResult<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        Ok(match as_materialized(&node).filter(|cte| cte.is_shut) {
            Some(cte) => {
                let input = opened(session.optimize(&cte.input)?, session)?;
                let (id, name) = (cte.id, cte.name.clone());
                Transformed::yes(MaterializedCte { id, name, input, is_shut: false }.into_plan())
            }
            None => Transformed::no(node),
        })
    })
    .data()
}

fn as_materialized(plan: &LogicalPlan) -> Option<&MaterializedCte> {
    match plan {
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref(),
        _ => None,
    }
}

fn has_kept(plan: &LogicalPlan) -> DfResult<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= as_materialized(node).is_some();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The node of plans.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Hash)]
struct MaterializedCte {
    /// The same for all references, and for nothing else.
    id: u64,
    /// The name of the common table expression.
    name: String,
    input: LogicalPlan,
    /// Whether the input is hidden.
    is_shut: bool,
}

impl MaterializedCte {
    fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl UserDefinedLogicalNodeCore for MaterializedCte {
    fn name(&self) -> &str {
        "MaterializedCte"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        if self.is_shut { Vec::new() } else { vec![&self.input] }
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MaterializedCte: {}", self.name)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> DfResult<Self> {
        let mut inputs = inputs.into_iter();
        match (inputs.next(), inputs.next()) {
            (None, None) if self.is_shut => Ok(self.clone()),
            (Some(input), None) if !self.is_shut => {
                Ok(Self { id: self.id, name: self.name.clone(), input, is_shut: false })
            }
            _ => Err(into_datafusion(Error::internal("a CTE is made of one plan"))),
        }
    }
}

/// DataFusion's planner, with a place for the rows that each of its plans keeps.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> DfResult<Plan> {
        let plan = if has_kept(plan)? {
            Cow::Owned(opened(plan.clone(), session)?)
        } else {
            Cow::Borrowed(plan)
        };
        let keeper: Arc<dyn ExtensionPlanner + Send + Sync> = Arc::new(Keeper::default());
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![keeper]);
        planner.create_physical_plan(&plan, session).await
    }
}

/// The rows that one physical plan keeps, by their numbers.
#[derive(Debug, Default)]
struct Keeper(Mutex<HashMap<u64, Arc<Rows>>>);

#[async_trait]
impl ExtensionPlanner for Keeper {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Plan],
        _session: &dyn Session,
        _planning: &PhysicalPlanningContext,
    ) -> DfResult<Option<Plan>> {
        let (Some(cte), [input]) =
            (node.as_any().downcast_ref::<MaterializedCte>(), physical_inputs)
        else {
            return Ok(None);
        };
        let rows = Arc::clone(self.0.lock().entry(cte.id).or_default());
        Ok(Some(Arc::new(CteScanExec::new(&cte.name, Arc::clone(input), rows))))
    }
}

/// All rows of a plan.
struct Whole {
    batches: Vec<RecordBatch>,
    _memory: MemoryReservation,
}

type Reading = Shared<BoxFuture<'static, Result<Arc<Whole>, Arc<DataFusionError>>>>;

/// Rows for several consumers, from the first poll on.
#[derive(Default)]
struct Rows(Mutex<Option<Reading>>);

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

impl Rows {
    /// The rows, for the first reader from its own plan.
    fn read(&self, input: Plan, context: Arc<TaskContext>) -> Reading {
        let begin = || {
            let read = async move {
                match SpawnedTask::spawn(whole(input, context)).join_unwind().await {
                    Ok(rows) => rows.map(Arc::new).map_err(Arc::new),
                    Err(error) => Err(Arc::new(DataFusionError::External(Box::new(error)))),
                }
            };
            read.boxed().shared()
        };
        self.0.lock().get_or_insert_with(begin).clone()
    }
}

/// Carries a plan out to its end.
async fn whole(input: Plan, context: Arc<TaskContext>) -> DfResult<Whole> {
    let memory = MemoryConsumer::new("MaterializedCte").register(context.memory_pool());
    let mut rows = execute_stream(input, context)?;
    // Batches may be slices of the same arrays.
    let (mut batches, mut counter) = (Vec::new(), RecordBatchMemoryCounter::new());
    while let Some(batch) = rows.next().await.transpose()? {
        memory.try_grow(counter.count_batch(&batch))?;
        batches.push(batch);
    }
    Ok(Whole { batches, _memory: memory })
}

/// One reader of rows.
#[derive(Clone, Debug)]
pub(crate) struct CteScanExec {
    name: String,
    input: Plan,
    rows: Arc<Rows>,
    properties: Arc<PlanProperties>,
}

impl CteScanExec {
    fn new(name: &str, input: Plan, rows: Arc<Rows>) -> Self {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        ));
        Self { name: name.to_owned(), input, rows, properties }
    }
}

impl DisplayAs for CteScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CteScanExec: {}", self.name)
    }
}

impl ExecutionPlan for CteScanExec {
    fn name(&self) -> &'static str {
        "CteScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    /// The rows are held as they come: nothing is gained by spreading them first.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        _: ReplaceChildrenOptions,
    ) -> DfResult<Plan> {
        let input = only_child(children, "a CTE is made of one plan")?;
        Ok(Arc::new(Self::new(&self.name, input, Arc::clone(&self.rows))))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> DfResult<SendableRecordBatchStream> {
        let (rows, input) = (Arc::clone(&self.rows), Arc::clone(&self.input));
        let schema = self.schema();
        let read = async move {
            let whole = rows.read(input, context).await.map_err(DataFusionError::Shared)?;
            let batches = (0..whole.batches.len()).map(move |at| {
                // Each reference has names of its own for the columns.
                let columns = whole.batches[at].columns().to_vec();
                RecordBatch::try_new(Arc::clone(&schema), columns).map_err(DataFusionError::from)
            });
            Ok::<_, DataFusionError>(stream::iter(batches))
        };
        let batches = stream::once(read).try_flatten();
        let batches = RecordBatchStreamAdapter::new(self.schema(), batches);
        Ok(make_cooperative(Box::pin(batches)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use datafusion::logical_expr::lit;
    use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
    use pelorus_error::Code;
    use tokio::runtime::Builder;

    use super::*;
    use crate::datafusion_adapter::memory::Scratch;
    use crate::datafusion_adapter::udf::from_datafusion;

    /// Batches of numbers, others each time.
    #[derive(Debug)]
    struct Numbers {
        schema: SchemaRef,
        rows: usize,
        runs: Arc<AtomicUsize>,
    }

    impl PartitionStream for Numbers {
        fn schema(&self) -> &SchemaRef {
            &self.schema
        }

        fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
            let run = self.runs.fetch_add(1, Ordering::Relaxed);
            let (schema, rows) = (Arc::clone(&self.schema), self.rows);
            let batches = (0..3_usize).map(move |at| {
                let number = i64::try_from(run * 10 + at).unwrap_or_default();
                let numbers: ArrayRef = Arc::new(Int64Array::from(vec![number; rows]));
                RecordBatch::try_new(Arc::clone(&schema), vec![numbers])
                    .map_err(DataFusionError::from)
            });
            let schema = Arc::clone(&self.schema);
            Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches)))
        }
    }

    /// One array in many slices.
    #[derive(Debug)]
    struct Slices(RecordBatch);

    impl PartitionStream for Slices {
        fn schema(&self) -> &SchemaRef {
            self.0.schema_ref()
        }

        fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
            let rows = self.0.num_rows() / 100;
            let slice = |at| Ok(self.0.slice(at * rows, rows));
            let slices: Vec<DfResult<RecordBatch>> = (0..100).map(slice).collect();
            Box::pin(RecordBatchStreamAdapter::new(self.0.schema(), stream::iter(slices)))
        }
    }

    /// A reader whose own plan counts how often it is executed.
    fn reader(name: &str, rows: usize, runs: &Arc<AtomicUsize>, of: &Arc<Rows>) -> CteScanExec {
        let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, true)]));
        let numbers = Numbers { schema: Arc::clone(&schema), rows, runs: Arc::clone(runs) };
        let streams: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(numbers)];
        let input = StreamingTableExec::try_new(schema, streams, None, Vec::new(), false, None);
        CteScanExec::new("c", Arc::new(input.unwrap()), Arc::clone(of))
    }

    fn context(bytes: usize) -> Arc<TaskContext> {
        let runtime =
            Scratch::new(None).unwrap().runtime(bytes, &pelorus_env::Account::unlimited());
        Arc::new(TaskContext::default().with_runtime(runtime))
    }

    async fn all(reader: &CteScanExec, context: &Arc<TaskContext>) -> DfResult<Vec<RecordBatch>> {
        reader.execute(0, Arc::clone(context))?.try_collect().await
    }

    fn wait<T>(work: impl Future<Output = T>) -> T {
        Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn readers_get_the_rows_of_the_first_under_their_own_names() {
        wait(async {
            let (runs, rows, context) = (Arc::default(), Arc::default(), context(0));
            let (one, other) = (reader("a", 1, &runs, &rows), reader("b", 1, &runs, &rows));
            let (one, other) = (all(&one, &context).await, all(&other, &context).await);
            let (one, other) = (one.unwrap(), other.unwrap());
            assert_eq!(runs.load(Ordering::Relaxed), 1);
            assert_eq!((one.len(), other.len()), (3, 3));
            for (one, other) in one.iter().zip(&other) {
                assert_eq!(one.columns(), other.columns());
                assert_eq!(one.schema().field(0).name(), "a");
                assert_eq!(other.schema().field(0).name(), "b");
            }
        });
    }

    #[test]
    fn a_reader_that_goes_takes_nothing_from_the_others() {
        wait(async {
            let (runs, rows, context) = (Arc::default(), Arc::default(), context(0));
            let (one, other) = (reader("a", 1, &runs, &rows), reader("b", 1, &runs, &rows));
            let mut begun = one.execute(0, Arc::clone(&context)).unwrap();
            assert!(begun.next().now_or_never().is_none());
            // While it is there and does not ask, and when it is gone.
            assert_eq!(all(&other, &context).await.unwrap().len(), 3);
            drop((begun, one));
            assert_eq!(all(&other, &context).await.unwrap().len(), 3);
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn rows_take_memory_of_the_query_while_they_are_kept() {
        wait(async {
            let (runs, rows, context) = (Arc::default(), Arc::default(), context(16 << 20));
            let one = reader("a", 1000, &runs, &rows);
            all(&one, &context).await.unwrap();
            assert!(context.memory_pool().reserved() >= 3 * 8000);
            drop((one, rows));
            assert_eq!(context.memory_pool().reserved(), 0);
        });
    }

    #[test]
    fn slices_of_one_array_take_its_memory_once() {
        wait(async {
            let context = context(16 << 20);
            let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
            let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 100_000]));
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![numbers]).unwrap();
            let streams: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(Slices(batch))];
            let input = StreamingTableExec::try_new(schema, streams, None, Vec::new(), false, None);
            let rows: Arc<Rows> = Arc::default();
            let reader = CteScanExec::new("c", Arc::new(input.unwrap()), Arc::clone(&rows));
            assert_eq!(all(&reader, &context).await.unwrap().len(), 100);
            assert!((800_000..1_600_000).contains(&context.memory_pool().reserved()));
        });
    }

    #[test]
    fn all_readers_hear_that_memory_is_short() {
        wait(async {
            let (runs, rows, context) = (Arc::default(), Arc::default(), context(16 << 20));
            for name in ["a", "b"] {
                let reader = reader(name, 1 << 20, &runs, &rows);
                let error = from_datafusion(all(&reader, &context).await.unwrap_err());
                assert_eq!(error.code(), Code::OutOfMemory);
            }
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        });
    }

    #[test]
    fn what_is_read_once_is_not_kept() {
        let one = || {
            let plan = LogicalPlanBuilder::empty(true).project(vec![lit(1_i64).alias("a")]);
            materialize(7, "c", plan.unwrap().build().unwrap())
        };
        assert!(!has_kept(&materialize_shared(one()).unwrap()).unwrap());
        let both = LogicalPlanBuilder::from(one()).union(one()).unwrap().build().unwrap();
        let both = materialize_shared(both).unwrap();
        assert!(has_kept(&both).unwrap());
        // A materialised CTE whose rows another one is made of: the inner one is read once.
        let outer = || materialize(8, "d", one());
        let both = LogicalPlanBuilder::from(outer()).union(outer()).unwrap().build().unwrap();
        let mut is_inner_kept = Vec::new();
        let input_of = |plan: &LogicalPlan| -> Option<LogicalPlan> {
            as_materialized(plan).map(|cte| cte.input.clone())
        };
        for input in materialize_shared(both).unwrap().inputs() {
            let input = input_of(input).or_else(|| input_of(input.inputs()[0])).unwrap();
            is_inner_kept.push(has_kept(&input).unwrap());
        }
        assert_eq!(is_inner_kept, [false, false]);
    }
}
