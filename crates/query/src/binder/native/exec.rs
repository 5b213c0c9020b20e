//! The scan operator of a native table: a leaf of a physical plan with estimates of its rows and
//! values, from which the join order is chosen.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalSortExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
    SortOrderPushdownResult,
};
use futures::stream;
use pelorus_error::Error;

use super::dynamic_filters::Dynamic;
use super::estimate::Estimate;
use super::scan_streams::{Place, Reading};
use crate::datafusion_adapter::plan_nodes::recompute;
use crate::datafusion_adapter::udf::into_datafusion;

type DfResult<T> = Result<T, DataFusionError>;

/// Reads some columns of a native table in several streams.
#[derive(Clone, Debug)]
pub(super) struct NativeExec {
    reading: Arc<Reading>,
    /// The columns that the scan tests conditions on, for people.
    tested: Arc<str>,
    /// The statistics of the rows, for the columns that are read.
    estimate: Estimate,
    /// Conditions that become known while the query runs.
    dynamic: Arc<Dynamic>,
    /// The columns that such conditions can be about.
    whole: Vec<Option<Field>>,
    /// About how many bytes a row takes.
    row_bytes: usize,
    /// Each stream ends after so many rows.
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl NativeExec {
    pub(super) fn new(
        reading: Reading,
        tested: &str,
        estimate: Estimate,
        whole: Vec<Option<Field>>,
        streams: usize,
    ) -> Self {
        let properties =
            properties(EquivalenceProperties::new(Arc::clone(&reading.schema)), streams);
        let dynamic = Arc::new(Dynamic::new(Vec::new(), whole.clone()));
        let (row_bytes, reading) = (reading.row_bytes(), Arc::new(reading));
        let tested = Arc::from(tested);
        Self { reading, tested, estimate, dynamic, whole, row_bytes, fetch: None, properties }
    }
}

/// About how many bytes rows have that are made of one of each scan of native tables in a plan.
pub(crate) fn row_bytes(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.downcast_ref::<NativeExec>().map_or(0, |scan| scan.row_bytes);
    plan.children().into_iter().map(row_bytes).fold(own, usize::saturating_add)
}

/// The plan properties of a scan in so many streams.
fn properties(orders: EquivalenceProperties, streams: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        orders,
        Partitioning::UnknownPartitioning(streams),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

impl DisplayAs for NativeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.estimate.is_exact { "" } else { "about " };
        write!(f, "NativeExec: {about}{} rows", self.estimate.rows)?;
        let is_sorted = self.properties.output_ordering().is_some();
        f.write_str(if is_sorted { ", in order" } else { "" })?;
        let learns = !self.dynamic.filters().is_empty();
        f.write_str(if learns { ", dynamic filter" } else { "" })?;
        self.fetch.map_or(Ok(()), |fetch| write!(f, ", at most {fetch} each"))?;
        match &*self.tested {
            "" => Ok(()),
            columns => write!(f, "; tested while scanning: {columns}"),
        }
    }
}

impl ExecutionPlan for NativeExec {
    fn name(&self) -> &'static str {
        "NativeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        let mut next = TreeNodeRecursion::Continue;
        for filter in self.dynamic.filters() {
            next = next.visit_sibling(|| f(filter))?;
        }
        Ok(next)
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> DfResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = match phase {
            // Below a LIMIT a condition would let other rows in.
            FilterPushdownPhase::Post if self.fetch.is_none() => {
                child.parent_filters.iter().map(|it| Arc::clone(&it.filter)).collect()
            }
            _ => Vec::new(),
        };
        // They are not promised to be tested of every row.
        let answer = FilterPushdownPropagation::all_unsupported(child);
        if filters.is_empty() {
            return Ok(answer);
        }
        let filters = [self.dynamic.filters(), &filters].concat();
        let dynamic = Arc::new(Dynamic::new(filters, self.whole.clone()));
        Ok(answer.with_updated_node(Arc::new(Self { dynamic, ..self.clone() })))
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => Err(into_datafusion(Error::internal("a scan has no children"))),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, recompute())
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> DfResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let whole = |it: &PhysicalSortExpr| {
            let at = it.expr.downcast_ref::<Column>()?.index();
            self.whole.get(at)?.as_ref().map(|_| (at, it.options.descending))
        };
        let places: Vec<(usize, bool)> = order.iter().map_while(whole).collect();
        if places.is_empty() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let (reading, is_sorted) = self.reading.ordered(&places).map_err(into_datafusion)?;
        let mut inner = Self { reading: Arc::new(reading), ..self.clone() };
        if !is_sorted || places.len() < order.len() {
            return Ok(SortOrderPushdownResult::Inexact { inner: Arc::new(inner) });
        }
        let schema = Arc::clone(&inner.reading.schema);
        let orders = EquivalenceProperties::new_with_orderings(schema, [order.to_vec()]);
        inner.properties = properties(orders, self.properties.partitioning.partition_count());
        Ok(SortOrderPushdownResult::Exact { inner: Arc::new(inner) })
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { fetch, ..self.clone() }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> DfResult<SendableRecordBatchStream> {
        if let Some(groups) = &self.reading.groups {
            groups.count_in(context.memory_pool());
        }
        let (reading, mut place) = (Arc::clone(&self.reading), Place::default());
        let dynamic = Arc::clone(&self.dynamic);
        let mut left = self.fetch.unwrap_or(usize::MAX);
        let rows = std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let batch = reading.next(&mut place, &dynamic).transpose()?;
            Some(batch.map_err(into_datafusion).map(|batch| {
                let batch = batch.slice(0, batch.num_rows().min(left));
                left -= batch.num_rows();
                batch
            }))
        });
        let schema = Arc::clone(&self.reading.schema);
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(schema, stream::iter(rows)))))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DfResult<Arc<Statistics>> {
        let streams = self.properties.partitioning.partition_count();
        let rows = match args.partition() {
            Some(_) => self.estimate.rows.div_ceil(streams),
            None => self.estimate.rows,
        };
        let fields = self.reading.schema.fields();
        let width: usize =
            fields.iter().map(|field| field.data_type().primitive_width().unwrap_or(TEXT)).sum();
        let mut statistics = Statistics::new_unknown(&self.reading.schema);
        statistics.num_rows = match (args.partition(), self.fetch) {
            (None, None) if self.estimate.is_exact => Precision::Exact(rows),
            (_, fetch) => Precision::Inexact(rows.min(fetch.unwrap_or(usize::MAX))),
        };
        statistics.total_byte_size = Precision::Inexact(rows.saturating_mul(width));
        if args.partition().is_none() {
            statistics.column_statistics.clone_from(&self.estimate.columns);
        }
        Ok(Arc::new(statistics))
    }
}

/// Bytes that a text is taken to have.
const TEXT: usize = 24;
