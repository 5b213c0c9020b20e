//! Sliced projections: expressions that may return much for few rows (`REPEAT`, `CONCAT` of long
//! texts) run over a part of a batch at a time.
//!
//! A batch has thousands of rows, and a text of a megabyte in each of them exceeds the memory of a
//! machine. The functions count the bytes that they return ([`pelorus_functions::EvalContext`]) and
//! fail at the statement's memory limit. Projections that can be large therefore begin with few
//! rows, take more as the size of the results allows, and fewer after a memory failure: they fail
//! only if a single row is too large. Conditions and arguments of aggregates, whose own values are
//! usually small, are evaluated part by part after a memory failure.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt as _, stream};
use pelorus_error::Code;
use pelorus_functions::EvalContext;

use crate::datafusion_adapter::plan_nodes::{only_child, recompute};
use crate::datafusion_adapter::udf::{DfResult, copied, length_of_call};
use crate::operators::short_circuit;

type Plan = Arc<dyn ExecutionPlan>;
type Expr = Arc<dyn PhysicalExpr>;

/// Finds projections and conditions that may need much memory.
#[derive(Debug)]
pub(crate) struct Sliced {
    /// Texts of so many bytes in each row of a batch are much.
    long: usize,
    /// Bytes that a slice may give.
    bytes: usize,
    eval: Arc<EvalContext>,
}

impl Sliced {
    /// For a query that may hold so many bytes.
    pub(crate) fn new(memory: usize, eval: Arc<EvalContext>) -> Self {
        Self { long: memory >> 15, bytes: (memory / 64).clamp(256 << 10, 4 << 20), eval }
    }

    fn is_large(&self, expr: &Expr) -> bool {
        length(expr) > self.long || expr.children().into_iter().any(|it| self.is_large(it))
    }

    fn sliced(&self, plan: Plan) -> DfResult<Transformed<Plan>> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>()
            && projection.expr().iter().any(|it| self.is_large(&it.expr))
        {
            let (eval, bytes) = (Arc::clone(&self.eval), self.bytes);
            return Ok(Transformed::yes(Arc::new(SlicedExec { plan, eval, bytes })));
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>()
            && self.is_large(filter.predicate())
        {
            let predicate = self.divided(filter.predicate());
            let filter = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
            return Ok(Transformed::yes(Arc::new(filter)));
        }
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>()
            && aggregate.mode().input_mode() == AggregateInputMode::Raw
            && let Some(calls) = self.divided_calls(aggregate)
        {
            return Ok(Transformed::yes(Arc::new(aggregate.with_new_aggr_exprs(calls))));
        }
        Ok(Transformed::no(plan))
    }

    fn divided(&self, expr: &Expr) -> Expr {
        let (inner, eval) = (Arc::clone(expr), Arc::clone(&self.eval));
        Arc::new(Divided { inner, eval, step: Arc::new(AtomicUsize::new(usize::MAX)) })
    }

    /// The aggregates of an operator with divided arguments, if one of these is large.
    fn divided_calls(&self, aggregate: &AggregateExec) -> Option<Vec<Arc<AggregateFunctionExpr>>> {
        let mut is_any = false;
        let calls = aggregate.aggr_expr().iter().map(|call| {
            let args = call.expressions();
            if !args.iter().any(|arg| self.is_large(arg)) {
                return Arc::clone(call);
            }
            let args = args.iter().map(|arg| match self.is_large(arg) {
                true => self.divided(arg),
                false => Arc::clone(arg),
            });
            let orders = call.order_bys().iter().map(|it| Arc::clone(&it.expr)).collect();
            match call.with_new_expressions(args.collect(), orders) {
                Some(divided) => {
                    is_any = true;
                    Arc::new(divided)
                }
                None => Arc::clone(call),
            }
        });
        let calls = calls.collect();
        is_any.then_some(calls)
    }
}

impl PhysicalOptimizerRule for Sliced {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> DfResult<Plan> {
        plan.transform_up(|plan| self.sliced(plan)).data()
    }

    fn name(&self) -> &'static str {
        "Sliced"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Bytes that an expression itself, apart from its arguments, gives for a row at most.
fn length(expr: &Expr) -> usize {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return text_of(literal.value());
    }
    let function = expr.downcast_ref::<ScalarFunctionExpr>().map(ScalarFunctionExpr::fun);
    function.map_or(0, |it| length_of_call(it).max(short_circuit::length(it)))
}

/// How long a constant text is.
fn text_of(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Utf8(Some(text)) => text.len(),
        ScalarValue::Binary(Some(bytes)) => bytes.len(),
        _ => 0,
    }
}

fn is_out_of_memory(error: &DataFusionError) -> bool {
    copied(error).code() == Code::OutOfMemory
}

/// A projection that runs over slices of its batches.
#[derive(Clone, Debug)]
struct SlicedExec {
    /// The projection, which is not executed itself.
    plan: Plan,
    eval: Arc<EvalContext>,
    bytes: usize,
}

impl DisplayAs for SlicedExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sliced")?;
        self.plan.fmt_as(kind, f)
    }
}

impl ExecutionPlan for SlicedExec {
    fn name(&self) -> &'static str {
        "SlicedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        self.plan.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Expr) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        self.plan.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Plan>,
        options: ReplaceChildrenOptions,
    ) -> DfResult<Plan> {
        let plan = Arc::clone(&self.plan).replace_children(children, options)?;
        Ok(Arc::new(Self { plan, ..(*self).clone() }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> DfResult<Plan> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        let input = only_child(self.children(), "a projection has one input")?;
        let rows = input.execute(partition, context)?;
        let exprs = match self.plan.downcast_ref::<ProjectionExec>() {
            Some(projection) => projection.expr().iter().map(|it| Arc::clone(&it.expr)).collect(),
            None => Vec::new(),
        };
        let schema = self.schema();
        let slicer = Slicer { exprs, schema, eval: Arc::clone(&self.eval), bytes: self.bytes };
        let state = Some((rows, slicer, Rest::default()));
        let slices = stream::unfold(state, |state| async move {
            let (mut rows, slicer, mut rest) = state?;
            while rest.is_empty() {
                match rows.next().await? {
                    Ok(batch) => rest.begin(batch),
                    Err(error) => return Some((Err(error), None)),
                }
            }
            match slicer.next(&mut rest) {
                Ok(batch) => Some((Ok(batch), Some((rows, slicer, rest)))),
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), slices)))
    }
}

/// Computes the expressions of a projection.
struct Slicer {
    exprs: Vec<Expr>,
    schema: SchemaRef,
    eval: Arc<EvalContext>,
    /// Bytes that a slice is to give.
    bytes: usize,
}

/// The rest of a batch.
struct Rest {
    batch: Option<RecordBatch>,
    from: usize,
    /// How many rows the next slice has.
    step: usize,
}

impl Default for Rest {
    fn default() -> Self {
        /// Rows of the first slice.
        const FIRST: usize = 64;
        Self { batch: None, from: 0, step: FIRST }
    }
}

impl Rest {
    fn is_empty(&self) -> bool {
        self.batch.is_none()
    }

    fn begin(&mut self, batch: RecordBatch) {
        (self.batch, self.from) = ((batch.num_rows() > 0).then_some(batch), 0);
    }
}

impl Slicer {
    /// The values of the next slice.
    fn next(&self, rest: &mut Rest) -> DfResult<RecordBatch> {
        let Some(batch) = &rest.batch else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        };
        loop {
            let rows = rest.step.min(batch.num_rows() - rest.from);
            let slice = batch.slice(rest.from, rows);
            match self.eval.tried(|| self.evaluate(&slice)) {
                Ok(Some(values)) => {
                    rest.step = self.next_step(rows, rest.step, &values)?;
                    rest.from += rows;
                    if rest.from == batch.num_rows() {
                        rest.batch = None;
                    }
                    return Ok(values);
                }
                Ok(None) => {}
                Err(error) if rows > 1 && is_out_of_memory(&error) => {}
                Err(error) => return Err(error),
            }
            rest.step = (rows / 4).max(1);
        }
    }

    /// Rows of the slice after one of so many.
    fn next_step(&self, rows: usize, step: usize, values: &RecordBatch) -> DfResult<usize> {
        /// Rows of a batch at most.
        const MOST: usize = 8192;
        let sizes = values.columns().iter().map(|it| it.to_data().get_slice_memory_size());
        let bytes = sizes.sum::<Result<usize, _>>()?.max(1);
        let fitting = self.bytes.saturating_mul(rows) / bytes;
        // The end of a batch says nothing of the next one.
        let most = if rows < step { step } else { step.saturating_mul(4) };
        Ok(fitting.clamp(1, most.min(MOST)))
    }

    /// The values of all expressions; `None` where constants in all rows would be too much.
    fn evaluate(&self, slice: &RecordBatch) -> DfResult<Option<RecordBatch>> {
        let rows = slice.num_rows();
        let values = self.exprs.iter().map(|expr| expr.evaluate(slice));
        let values = values.collect::<DfResult<Vec<ColumnarValue>>>()?;
        let constants: usize = values
            .iter()
            .map(|value| match value {
                ColumnarValue::Scalar(value) => text_of(value),
                ColumnarValue::Array(_) => 0,
            })
            .sum();
        if rows > 1 && constants.saturating_mul(rows) > self.bytes {
            return Ok(None);
        }
        let arrays = values.into_iter().map(|value| value.into_array(rows));
        let arrays = arrays.collect::<DfResult<Vec<ArrayRef>>>()?;
        // What comes of the functions counts as theirs; what holds a copy counts that.
        let places = UInt64Array::from_iter_values(0..rows as u64);
        let copies = arrays.iter().map(|array| take(array.as_ref(), &places, None));
        let copies = copies.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), copies, &options)?))
    }
}

/// An expression that is computed for parts of a batch when it needs too much memory for all of it.
#[derive(Clone, Debug)]
struct Divided {
    inner: Expr,
    eval: Arc<EvalContext>,
    /// How many rows there was memory for lately.
    step: Arc<AtomicUsize>,
}

impl PartialEq for Divided {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Divided {}

impl Hash for Divided {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for Divided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl Divided {
    /// The values of a batch, in pieces.
    fn pieces(&self, batch: &RecordBatch) -> DfResult<Vec<ArrayRef>> {
        let all = batch.num_rows();
        // Ordering: a guess. With each batch more is tried.
        let mut step = self.step.load(Ordering::Relaxed).saturating_mul(2).clamp(1, all.max(1));
        let (mut from, mut pieces) = (0, Vec::new());
        while from < all || pieces.is_empty() {
            let rows = step.min(all - from);
            let slice = batch.slice(from, rows);
            match self.eval.tried(|| self.inner.evaluate(&slice)?.into_array(rows)) {
                Ok(values) => pieces.push(values),
                Err(error) if rows > 1 && is_out_of_memory(&error) => {
                    step = rows / 2;
                    self.step.store(step, Ordering::Relaxed);
                    continue;
                }
                Err(error) => return Err(error),
            }
            from += rows;
        }
        Ok(pieces)
    }
}

impl PhysicalExpr for Divided {
    fn data_type(&self, schema: &Schema) -> DfResult<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> DfResult<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
        let pieces = self.pieces(batch)?;
        if let [whole] = pieces.as_slice() {
            return Ok(ColumnarValue::Array(Arc::clone(whole)));
        }
        let pieces: Vec<_> = pieces.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&pieces)?))
    }

    fn return_field(&self, schema: &Schema) -> DfResult<FieldRef> {
        self.inner.return_field(schema)
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.inner]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expr>) -> DfResult<Expr> {
        let inner = only_child(children, "an expression is divided")?;
        Ok(Arc::new(Self { inner, ..(*self).clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray as _, Int64Array};
    use arrow::datatypes::{Field, Int64Type};
    use pelorus_error::Error;

    use super::*;
    use crate::datafusion_adapter::udf::{from_datafusion, into_datafusion};

    /// The first column, which there is memory for so many rows of.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Limited(usize);

    impl fmt::Display for Limited {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {} rows", self.0)
        }
    }

    impl PhysicalExpr for Limited {
        fn data_type(&self, _: &Schema) -> DfResult<DataType> {
            Ok(DataType::Int64)
        }

        fn nullable(&self, _: &Schema) -> DfResult<bool> {
            Ok(false)
        }

        fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
            if batch.num_rows() > self.0 {
                return Err(into_datafusion(Error::out_of_memory("no more")));
            }
            Ok(ColumnarValue::Array(Arc::clone(batch.column(0))))
        }

        fn children(&self) -> Vec<&Expr> {
            Vec::new()
        }

        fn with_new_children(self: Arc<Self>, _: Vec<Expr>) -> DfResult<Expr> {
            Ok(self)
        }

        fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(self, f)
        }
    }

    fn limited(rows: usize) -> Expr {
        Arc::new(Limited(rows))
    }

    fn numbers(rows: i64) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, false)]);
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        RecordBatch::try_new(Arc::new(schema), vec![column]).unwrap()
    }

    fn all(arrays: &[ArrayRef]) -> Vec<i64> {
        arrays.iter().flat_map(|it| it.as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    fn sliced() -> Sliced {
        Sliced::new(16 << 20, Arc::default())
    }

    #[test]
    fn what_there_is_no_memory_for_is_computed_in_parts() {
        let batch = numbers(1000);
        for most in [1, 7, 300, 1000] {
            let divided = sliced().divided(&limited(most));
            for _ in 0..3 {
                let values = divided.evaluate(&batch).unwrap().into_array(1000).unwrap();
                assert_eq!(all(&[values]), (0..1000).collect::<Vec<_>>(), "{most}");
            }
        }
        let error = sliced().divided(&limited(0)).evaluate(&batch).unwrap_err();
        assert_eq!(from_datafusion(error).errno(), 1041);
        let empty = sliced().divided(&limited(0)).evaluate(&numbers(0)).unwrap();
        assert!(empty.into_array(0).unwrap().is_empty());
    }

    #[test]
    fn slices_have_all_rows_in_order_and_as_many_as_fit() {
        let batch = numbers(5000);
        for most in [1, 50, 10_000] {
            let slicer = Slicer {
                exprs: vec![limited(most)],
                schema: batch.schema(),
                eval: Arc::default(),
                bytes: 8000,
            };
            let mut rest = Rest::default();
            let mut slices = Vec::new();
            rest.begin(batch.clone());
            while !rest.is_empty() {
                let slice = slicer.next(&mut rest).unwrap();
                assert!(slice.num_rows() <= most.min(1000), "{}", slice.num_rows());
                slices.push(Arc::clone(slice.column(0)));
            }
            assert_eq!(all(&slices), (0..5000).collect::<Vec<_>>());
            // Few slices where there is memory: more rows are tried with each of them.
            assert!(most < 10_000 || slices.len() < 10, "{}", slices.len());
        }
    }
}
