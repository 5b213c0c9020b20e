//! Cuts wide batches into pieces of a few MiB for operators that buffer them.
//!
//! A scan returns thousands of rows at a time, whatever their width, and some are slices of arrays
//! that are much larger. A sort that buffers such a batch holds all of it, counts all of it, and
//! cannot spill a part of it. Wide batches are therefore copied into pieces before those operators.
//!
//! If a query has run out of memory once, LIMITs of many rows are no longer buffered in memory but
//! sorted, which can spill.

use std::iter;
use std::sync::Arc;

use arrow::array::{Array as _, RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt as _, stream};

use super::pass_through::{PassThrough, PassThroughExec, Plan};
use crate::operators::materialized_cte::CteScanExec;

type DfResult<T> = Result<T, DataFusionError>;

/// Cuts wide batches before operators that buffer them.
#[derive(Debug)]
pub(crate) struct Rebatch {
    bytes: usize,
    /// LIMITs of many rows are sorted as a whole.
    has_low_memory: bool,
}

impl Rebatch {
    /// For a query that may hold so many bytes.
    pub(crate) fn new(memory: usize, has_low_memory: bool) -> Self {
        Self { bytes: (memory / 256).clamp(16 << 10, 1 << 20), has_low_memory }
    }

    fn narrowed(
        &self,
        plan: Arc<dyn ExecutionPlan>,
    ) -> DfResult<Transformed<Arc<dyn ExecutionPlan>>> {
        let first = plan.children().first().map(|&child| Arc::clone(child));
        let Some(input) = first.filter(|child| holds_first(&plan) && is_wide(child)) else {
            return Ok(Transformed::no(plan));
        };
        let input = PassThroughExec::over(input, Rebatched { bytes: self.bytes });
        let others: Vec<_> = plan.children().into_iter().skip(1).cloned().collect();
        let children = iter::once(input).chain(others).collect();
        let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
        let plan = plan.replace_children(children, keep)?;
        Ok(Transformed::yes(if self.has_low_memory { without_heap(plan) } else { plan }))
    }
}

impl PhysicalOptimizerRule for Rebatch {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| self.narrowed(plan)).data()
    }

    fn name(&self) -> &'static str {
        "Rebatch"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an operator keeps the batches of its first input.
fn holds_first(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<SortExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<CteScanExec>()
}

/// Whether rows can be of any width.
fn is_wide(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.schema().fields().iter().any(|field| field.data_type().primitive_width().is_none())
}

/// How many rows a batch has at most in a plan that may hold so many bytes. A merge of spilled data
/// holds several batches of each part: the fewer of them fit, the more often the data is written.
pub(crate) fn batch_rows(plan: &Arc<dyn ExecutionPlan>, row_bytes: usize, memory: usize) -> usize {
    /// Enough for groups, which seldom spill, in batches of the usual size.
    const AMPLE: usize = 128 << 20;
    // Groups are mostly few, and their scan is slower in small batches; where they are many after
    // all, the next try has the small ones.
    let sorts = |plan: &Arc<dyn ExecutionPlan>| {
        let sort = plan.downcast_ref::<SortExec>();
        sort.is_some_and(|sort| sort.fetch().is_none() && !has_groups(sort.input()))
    };
    // Filters and joins gather rows up to a batch, whatever their width.
    let fitting = (memory >> 6) / row_bytes.max(1);
    fitting.max(4).min(if has_wide(plan, &sorts) {
        (memory >> 18).clamp(64, 1024)
    } else if memory < AMPLE && has_wide(plan, &|plan| plan.is::<AggregateExec>()) {
        (memory >> 17).clamp(64, 1024)
    } else {
        usize::MAX
    })
}

/// A plan whose filters gather so many rows at most.
pub(crate) fn gathering(
    plan: Arc<dyn ExecutionPlan>,
    most: usize,
) -> DfResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let filter = plan.downcast_ref::<FilterExec>();
        let Some(filter) = filter.filter(|it| it.batch_size() > most) else {
            return Ok(Transformed::no(plan));
        };
        Ok(Transformed::yes(Arc::new(filter.with_batch_size(most)?)))
    })
    .data()
}

/// Whether a plan has an operator of some kind whose rows can be of any width.
fn has_wide(
    plan: &Arc<dyn ExecutionPlan>,
    is_meant: &dyn Fn(&Arc<dyn ExecutionPlan>) -> bool,
) -> bool {
    is_meant(plan) && is_wide(plan)
        || plan.children().into_iter().any(|child| has_wide(child, is_meant))
}

fn has_groups(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<AggregateExec>() || plan.children().into_iter().any(has_groups)
}

/// A sort of all rows in place of one that keeps the first of them in memory, if these are many.
fn without_heap(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    /// So many rows are kept in memory.
    const FEW: usize = 16;
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return plan };
    let Some(fetch) = sort.fetch().filter(|fetch| *fetch > FEW) else { return plan };
    let sort: Arc<dyn ExecutionPlan> = Arc::new(sort.with_fetch(None));
    Arc::new(LocalLimitExec::new(sort, fetch))
}

/// The same rows in batches of so many bytes.
#[derive(Debug)]
struct Rebatched {
    bytes: usize,
}

impl PassThrough for Rebatched {
    const NAME: &'static str = "RebatchExec";

    fn renewed(&self) -> Self {
        Self { bytes: self.bytes }
    }

    fn details(&self) -> String {
        format!(": at most {} bytes", self.bytes)
    }

    fn rows(
        &self,
        input: &Plan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        let bytes = self.bytes;
        let rows = input.execute(partition, context)?;
        let rows = rows.flat_map(move |batch| {
            stream::iter(batch.map_or_else(|error| one(Err(error)), |batch| pieces(batch, bytes)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows)))
    }
}

/// Batches one after another, each built on demand.
type Pieces = Box<dyn Iterator<Item = DfResult<RecordBatch>> + Send>;

fn one(batch: DfResult<RecordBatch>) -> Pieces {
    Box::new(iter::once(batch))
}

/// A batch in pieces of about so many bytes.
fn pieces(batch: RecordBatch, bytes: usize) -> Pieces {
    let rows = batch.num_rows();
    match rows_of_piece(&batch, bytes) {
        Err(error) => one(Err(error)),
        Ok(None) => one(Ok(batch)),
        Ok(Some(step)) => Box::new((0..rows).step_by(step).map(move |start| {
            let places = start as u64..rows.min(start + step) as u64;
            take_record_batch(&batch, &UInt64Array::from_iter_values(places))
                .map_err(DataFusionError::from)
        })),
    }
}

/// How many rows a piece of a batch has; `None` where it can stay as it is.
fn rows_of_piece(batch: &RecordBatch, bytes: usize) -> DfResult<Option<usize>> {
    /// Bytes that arrays may hold in addition to their rows.
    const SLACK: usize = 64 << 10;
    let sizes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
    let own = sizes.sum::<Result<usize, _>>()?;
    let rows = batch.num_rows();
    let count = own.div_ceil(bytes).clamp(1, rows.max(1));
    let holds_more = get_record_batch_memory_size(batch) > own.saturating_mul(2) + SLACK;
    let is_cut = rows > 0 && (count > 1 || holds_more);
    Ok(is_cut.then(|| rows.div_ceil(count)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    fn texts(rows: usize, width: usize) -> RecordBatch {
        let texts: StringArray = (0..rows).map(|row| Some(format!("{row:0width$}"))).collect();
        let schema = Schema::new(vec![Field::new("v", DataType::Utf8, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(texts)]).unwrap()
    }

    fn cut(batch: RecordBatch, bytes: usize) -> Vec<RecordBatch> {
        pieces(batch, bytes).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn wide_batches_come_in_pieces_with_all_rows_in_order() {
        // The last piece is as large as the others, and smaller.
        for rows in [1000, 1003] {
            let parts = cut(texts(rows, 1000), 100 << 10);
            assert!(parts.len() >= 10, "{} pieces", parts.len());
            assert!(parts.iter().all(|it| get_record_batch_memory_size(it) < 200 << 10));
            let seen: Vec<usize> = parts
                .iter()
                .flat_map(|it| it.column(0).as_string::<i32>().iter().flatten())
                .map(|text| text.parse().unwrap())
                .collect();
            assert_eq!(seen, (0..rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_slice_of_much_more_gets_memory_of_its_own() {
        let slice = texts(1000, 1000).slice(500, 10);
        assert!(get_record_batch_memory_size(&slice) > 900_000);
        let parts = cut(slice, 1 << 20);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].num_rows(), 10);
        assert!(get_record_batch_memory_size(&parts[0]) < 20_000);
    }

    #[test]
    fn rows_are_not_cut_and_small_batches_stay() {
        assert_eq!(cut(texts(2, 60_000), 1 << 10).len(), 2);
        assert_eq!(cut(texts(100, 10), 1 << 20).len(), 1);
        assert_eq!(cut(texts(0, 10), 1 << 20).len(), 1);
    }
}
