//! The operator that reads a native table: a leaf of a physical plan that knows about
//! how many rows it has and what their values are like, which decides how tables are joined.

use std::fmt;
use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use futures::stream;
use pelorus_error::Error;

use super::estimate::Estimate;
use super::scan::{Place, Reading};
use crate::udf::into_datafusion;

type DfResult<T> = Result<T, DataFusionError>;

/// Reads some columns of a native table in several streams.
#[derive(Debug)]
pub(super) struct NativeExec {
    reading: Arc<Reading>,
    /// What is known of the rows, for the columns that are read.
    estimate: Estimate,
    properties: Arc<PlanProperties>,
}

impl NativeExec {
    pub(super) fn new(reading: Reading, estimate: Estimate, streams: usize) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&reading.schema)),
            Partitioning::UnknownPartitioning(streams),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { reading: Arc::new(reading), estimate, properties: Arc::new(properties) }
    }
}

impl DisplayAs for NativeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeExec: about {} rows", self.estimate.rows)
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
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
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
        let mode = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, mode)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> DfResult<SendableRecordBatchStream> {
        let (reading, mut place) = (Arc::clone(&self.reading), Place::default());
        let rows = std::iter::from_fn(move || {
            let batch = reading.next(&mut place).transpose()?;
            Some(batch.map_err(into_datafusion))
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
        statistics.num_rows = Precision::Inexact(rows);
        statistics.total_byte_size = Precision::Inexact(rows.saturating_mul(width));
        if args.partition().is_none() {
            statistics.column_statistics.clone_from(&self.estimate.columns);
        }
        Ok(Arc::new(statistics))
    }
}

/// Bytes that a text is taken to have.
const TEXT: usize = 24;
